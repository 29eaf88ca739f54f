"""Descriptions of scenes, by name and seed."""

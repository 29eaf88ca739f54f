"""Clips on disk."""

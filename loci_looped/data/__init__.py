"""Worlds and readers: where clips come from."""

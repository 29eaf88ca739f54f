"""Seeing: overlays, slot panels, timelines and films."""

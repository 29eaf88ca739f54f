"""Metrics: pure functions with a protocol id."""

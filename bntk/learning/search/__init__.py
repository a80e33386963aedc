"""Searches over structures."""

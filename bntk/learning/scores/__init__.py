"""Scores of structures."""

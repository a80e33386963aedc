"""Rows that stay where they are: files, datasets, databases, read batch by batch in passes."""

from bntk.learning.streams.scan import Scan, scan

__all__ = ["Scan", "scan"]

"""Data: variables, coded tables, readers of files and data frames, and cuts of numbers into states."""

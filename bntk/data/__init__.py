"""Data: variables, coded tables, readers of files and data frames, and discretisation of numbers."""

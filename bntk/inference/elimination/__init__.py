"""Exact inference row by row: each row sums out only its own missing values."""

"""The explorer's interpreter against Python, and how fast it is: ``python -m benchmarks.explorer``."""

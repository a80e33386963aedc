"""Measurements: all by ``python -m benchmarks``, each by ``python -m benchmarks.NAME``."""

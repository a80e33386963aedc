"""Classifiers with several class variables."""

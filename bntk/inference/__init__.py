"""Inference: what a network says about rows of data."""

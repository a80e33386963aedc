"""Approximate inference: loopy belief propagation and sampling."""

"""Kernels of naive Bayes: sums of log terms over features. They trust their arguments.

The log tables of all features are one flat array; that of feature f starts at ``starts[f]``, ends where the next one
starts, and has the shape (classes, states + 1), the last column, for a missing cell, being zero. Scores have one row a
class, so that the innermost loops run over neighbours.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

from bntk._kernels import njit


@njit(
    cache=True, nogil=True,
    steps=lambda codes, tables, starts, start, stop, out: codes.shape[0] * out.shape[0] * (stop - start),
)  # fmt: skip
def add_log_terms(codes, tables, starts, start, stop, out):
    """Add the terms of all features to the class log scores of the rows ``start`` to ``stop``."""
    n_classes = out.shape[0]
    for f in range(codes.shape[0]):
        width = (starts[f + 1] - starts[f]) // n_classes
        for k in range(n_classes):
            terms = tables[starts[f] + k * width : starts[f] + (k + 1) * width]
            for i in range(start, stop):
                out[k, i] += terms[codes[f, i]]


@njit(
    cache=True, nogil=True,
    steps=lambda codes, tables, starts, factors, start, stop, out: factors.size * (stop - start),
)  # fmt: skip
def sum_log_terms(codes, tables, starts, factors, start, stop, out):
    """For the features ``start`` to ``stop`` the sum of their terms times ``factors``, one for each class and row."""
    n_classes = factors.shape[0]
    for f in range(start, stop):
        width = (starts[f + 1] - starts[f]) // n_classes
        total = 0.0
        for k in range(n_classes):
            terms = tables[starts[f] + k * width : starts[f] + (k + 1) * width]
            for i in range(codes.shape[1]):
                total += factors[k, i] * terms[codes[f, i]]
        out[f] = total

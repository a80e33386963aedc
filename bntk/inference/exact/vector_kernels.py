"""Loops over contiguous stretches of a buffer, short enough for the compiler to make vector instructions of them.

Stretches are given by where they begin; they are equal or do not overlap. All arrays are trusted. Indices are unsigned,
since a signed one is tested for being negative, and no slices are made, since each would be counted as a reference.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np

from bntk._kernels import njit

# Sums may be reordered by the compiler, which is what lets it use vectors; no infinities or NaNs arise.
FAST = {"reassoc", "contract", "nsz", "arcp"}
# Called by other kernels only: without a way in from Python, they compile in half the time.
INNER = {"cache": True, "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


@njit(fastmath=FAST, **INNER)
def add_up(data, at, n):
    """The sum of a stretch."""
    x = np.uint64(at)
    total = 0.0
    for i in range(np.uint64(n)):
        total += data[x + i]
    return total


@njit(fastmath=FAST, **INNER)
def dot(data, one, two, n):
    """The sum of the products of two stretches."""
    x, y = np.uint64(one), np.uint64(two)
    total = 0.0
    for i in range(np.uint64(n)):
        total += data[x + i] * data[y + i]
    return total


@njit(fastmath=FAST, **INNER)
def multiply(data, target, one, two, n):
    """Write the products of two stretches."""
    z, x, y = np.uint64(target), np.uint64(one), np.uint64(two)
    for i in range(np.uint64(n)):
        data[z + i] = data[x + i] * data[y + i]


@njit(fastmath=FAST, **INNER)
def add(data, target, one, n, factor):
    """Add a stretch times a number to another."""
    z, x = np.uint64(target), np.uint64(one)
    for i in range(np.uint64(n)):
        data[z + i] += factor * data[x + i]


@njit(fastmath=FAST, **INNER)
def add_product(data, target, one, two, n, factor):
    """Add the products of two stretches times a number to a third; returns the sum of the products."""
    z, x, y = np.uint64(target), np.uint64(one), np.uint64(two)
    total = 0.0
    for i in range(np.uint64(n)):
        value = data[x + i] * data[y + i]
        total += value
        data[z + i] += factor * value
    return total


@njit(fastmath=FAST, **INNER)
def add_product_twice(data, target, other, one, two, n, factor):
    """Add the products of two stretches times a number to two others; returns the sum of the products."""
    z, u, x, y = np.uint64(target), np.uint64(other), np.uint64(one), np.uint64(two)
    total = 0.0
    for i in range(np.uint64(n)):
        value = factor * (data[x + i] * data[y + i])
        total += value
        data[z + i] += value
        data[u + i] += value
    return total

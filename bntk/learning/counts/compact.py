"""Tables of families with many parents: only the parent configurations that were seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bntk.data.table import Table
from bntk.errors import TooLargeError
from bntk.learning.counts import kernels

_LARGEST_KEY = 2**63 - 1


@dataclass(frozen=True)
class CompactTable:
    """Counts of a family: one row per parent configuration, one column per state of the child.

    Attributes
    ----------
    counts : ndarray of shape (m, r)
        N_ijk; integers, or floats when rows have weights.
    configurations : ndarray of shape (m, k) or None
        Codes of the k parents in each row of ``counts``, in lexicographic order. None means that all configurations are
        there, in order (the last parent fastest).
    q : int
        Number of parent configurations that exist, seen or not. A Python integer: it may exceed 64 bits.
    """

    counts: np.ndarray
    configurations: np.ndarray | None
    q: int


def count_compact(family: Sequence[int], table: Table, weights: np.ndarray | None, max_entries: int) -> CompactTable:
    """Sparse counts of one family (parents, then child) in one block of rows; never makes the dense table."""
    codes = table.codes[list(family)]
    incomplete = [k for k, v in enumerate(family) if table.has_missing[v]]
    cards = [table.variables[v].n_states for v in family]
    if incomplete:
        complete = np.logical_and.reduce([codes[k] != cards[k] for k in incomplete])
        codes = codes[:, complete]
        weights = weights if weights is None else weights[complete]
    numbers, firsts = number_configurations(codes[:-1], cards[:-1])
    m, r = len(firsts), cards[-1]
    if m * r > max_entries:
        raise TooLargeError(
            f"the table of {table.variables[family[-1]].name} given {len(family) - 1} parents has {m:,} parent "
            f"configurations that were seen, so {m * r:,} entries; the limit is max_entries = {max_entries:,}"
        )
    flat: np.ndarray = np.bincount(numbers * r + codes[-1], weights, minlength=m * r)
    counts = flat.astype(np.int64 if weights is None else np.float64, copy=False).reshape(m, r)
    return CompactTable(counts, np.ascontiguousarray(codes[:-1, firsts].T), math.prod(cards[:-1]))


def add_compact(one: CompactTable, other: CompactTable, cards: Sequence[int]) -> CompactTable:
    """The counts of two blocks of rows together."""
    if one.configurations is None or other.configurations is None:
        return CompactTable(one.counts + other.counts, None, one.q)
    configurations = np.concatenate((one.configurations, other.configurations))
    numbers, firsts = number_configurations(configurations.T, cards)
    dtype = np.result_type(one.counts, other.counts)
    counts = np.zeros((len(firsts), one.counts.shape[1]), dtype)
    # Within one block every configuration occurs once, so plain fancy indexing adds each exactly once.
    counts[numbers[: len(one.counts)]] += one.counts
    counts[numbers[len(one.counts) :]] += other.counts
    return CompactTable(counts, configurations[firsts], one.q)


def number_configurations(columns: np.ndarray, cards: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct configurations (columns of a 2-D array) in lexicographic order.

    Returns the number of every configuration, and where each is first found. The mixed-radix key is renumbered whenever
    the next digit might not fit; numbers keep the order of the keys, so the result is lexicographic however many
    digits there are.
    """
    keys = np.zeros(columns.shape[1], dtype=np.int64)
    bound = 1
    for column, card in zip(columns, cards, strict=True):
        if bound * card > _LARGEST_KEY:
            keys, firsts = _renumber(keys)
            bound = max(1, len(firsts))
        keys = keys * card + column
        bound *= card
    return _renumber(keys)


def _renumber(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number keys by their rank among the distinct ones; also where each distinct one is first found."""
    slots = np.full(1 << (2 * len(keys)).bit_length(), -1, dtype=np.int64)
    numbers, firsts = np.empty_like(keys), np.empty_like(keys)
    firsts = firsts[: kernels.number_distinct(keys, slots, numbers, firsts)]
    order = np.argsort(keys[firsts])
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks[numbers], firsts[order]

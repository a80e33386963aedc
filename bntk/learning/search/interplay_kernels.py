"""Kernels that look for pairs of variables that tell something about a third only together.

They trust their arguments and release the GIL.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np

from bntk._kernels import njit, part
from bntk.learning.counts.plane_kernels import count_common

# Variables whose planes are counted with one pair after the other, so that they stay in a second-level cache.
TILE = 32


@njit(cache=True, nogil=True)
def count_planes(planes, begin, end, common):
    """Enter how many ones each two planes have in common, the first of each two from ``begin`` to ``end``."""
    flat, n_words = planes.reshape(-1), planes.shape[1]
    for one in range(begin, end):
        for other in range(planes.shape[0]):
            common[one, other] = count_common(flat, np.uint64(one * n_words), flat, np.uint64(other * n_words), n_words)


@part
def complete_table(table, i, j, k, first, cards, common):
    """Fill in the last states of three variables in their table, which has all others."""
    r_i, r_j, r_k = cards[i], cards[j], cards[k]
    for a in range(r_i - 1):
        for b in range(r_j - 1):
            left = np.int64(common[first[i] + a, first[j] + b])
            for c in range(r_k - 1):
                left -= table[a, b, c]
            table[a, b, r_k - 1] = left
        for c in range(r_k):
            left = np.int64(common[first[i] + a, first[k] + c])
            for b in range(r_j - 1):
                left -= table[a, b, c]
            table[a, r_j - 1, c] = left
    for b in range(r_j):
        for c in range(r_k):
            left = np.int64(common[first[j] + b, first[k] + c])
            for a in range(r_i - 1):
                left -= table[a, b, c]
            table[r_i - 1, b, c] = left


@part
def sum_of_logs(i, j, first, cards, common, n_log_n):
    """The sum of n log n over the table of two variables, or of one and itself."""
    total = 0.0
    for a in range(first[i], first[i] + cards[i]):
        for b in range(first[j], first[j] + cards[j]):
            total += n_log_n[common[a, b]]
    return total


@njit(cache=True, nogil=True)
def sums_of_logs(i, variables, first, cards, common, n_log_n, out):
    """:func:`sum_of_logs` of a variable and each of some."""
    for j in variables:
        out[i, j] = sum_of_logs(i, j, first, cards, common, n_log_n)


@part
def note_pair(child, a, b, interplay, price, weights, least, found, gains, n_found):
    """Note a pair that gains enough beside a child for which neither gains anything, if there is room."""
    if weights[a, child] <= 0 and weights[b, child] <= 0:
        gain = weights[a, child] + weights[b, child] + interplay - price
        if gain > least and n_found < gains.size:
            found[n_found, 0], found[n_found, 1], found[n_found, 2] = child, a, b
            gains[n_found] = gain
            n_found += 1
    return n_found


@part
def sum_of_binary(both, i, j, k, first, common, n_log_n):
    """The sum of n log n over the table of three binary variables, of which ``both`` rows have all first states."""
    a, b, c = first[i], first[j], first[k]
    one, two, three = np.int64(common[a, a]), np.int64(common[b, b]), np.int64(common[c, c])
    ij, ik, jk = np.int64(common[a, b]), np.int64(common[a, c]), np.int64(common[b, c])
    rest = n_log_n.size - 1 - one - two - three + ij + ik + jk - both
    return (
        (n_log_n[both] + n_log_n[ij - both])
        + (n_log_n[ik - both] + n_log_n[jk - both])
        + (n_log_n[one - ij - ik + both] + n_log_n[two - ij - jk + both])
        + (n_log_n[three - ik - jk + both] + n_log_n[rest])
    )


@part
def join_planes(rows, flat, i, j, first, cards, n_words):
    """The planes of all states of two variables but the last of each."""
    for a in range(cards[i] - 1):
        one = np.uint64((first[i] + a) * n_words)
        for b in range(cards[j] - 1):
            other = np.uint64((first[j] + b) * n_words)
            target = np.uint64((a * (cards[j] - 1) + b) * n_words)
            for word in range(n_words):
                step = np.uint64(word)
                rows[target + step] = flat[one + step] & flat[other + step]


@part
def sum_of_three(table, rows, flat, i, j, k, first, cards, common, n_words, n_log_n):
    """The sum of n log n over the table of three variables."""
    for s in range((cards[i] - 1) * (cards[j] - 1)):
        for c in range(cards[k] - 1):
            count = count_common(rows, np.uint64(s * n_words), flat, np.uint64((first[k] + c) * n_words), n_words)
            table[s // (cards[j] - 1), s % (cards[j] - 1), c] = count
    complete_table(table, i, j, k, first, cards, common)
    total = 0.0
    for a in range(cards[i]):
        for b in range(cards[j]):
            for c in range(cards[k]):
                total += n_log_n[table[a, b, c]]
    return total


@njit(cache=True, nogil=True)
def find_pairs(planes, first, cards, variables, at, common, logs, n_log_n, weights, price, least, found, gains):
    """The pairs that gain together, though neither does so alone, among triples with ``variables[at]`` and later ones.

    ``logs`` has the sums of n log n of each two variables, ``weights`` what each (row) gains as the only parent of each
    other one (column), ``price`` is that of a parameter. Returns how many were found.
    """
    flat, n_words = planes.reshape(-1), planes.shape[1]
    i, n_found = variables[at], 0
    most = 1
    for v in variables:
        most = max(most, cards[v])
    table = np.zeros((most, most, most), np.int64)
    rows = np.empty((most - 1) ** 2 * n_words, np.uint64)
    for tile in range(at + 2, variables.size, TILE):
        end = min(tile + TILE, variables.size)
        for of_j in range(at + 1, end - 1):
            j = variables[of_j]
            join_planes(rows, flat, i, j, first, cards, n_words)
            before = logs[i, i] + logs[j, j] - logs[i, j] - n_log_n[n_log_n.size - 1]
            for of_k in range(max(tile, of_j + 1), end):
                k = variables[of_k]
                if cards[i] == 2 and cards[j] == 2 and cards[k] == 2:
                    both = count_common(rows, np.uint64(0), flat, np.uint64(first[k] * n_words), n_words)
                    together = sum_of_binary(both, i, j, k, first, common, n_log_n)
                else:
                    together = sum_of_three(table, rows, flat, i, j, k, first, cards, common, n_words, n_log_n)
                interplay = before + logs[k, k] - logs[i, k] - logs[j, k] + together
                cost = price * (cards[i] - 1) * (cards[j] - 1) * (cards[k] - 1)
                if interplay - cost > least:
                    n_found = note_pair(i, j, k, interplay, cost, weights, least, found, gains, n_found)
                    n_found = note_pair(j, i, k, interplay, cost, weights, least, found, gains, n_found)
                    n_found = note_pair(k, i, j, interplay, cost, weights, least, found, gains, n_found)
    return n_found

"""Kernels of scores that are differences of functions of sets, for all sets of some variables.

Variables are decided one by one, the highest first: a set has it, or has not. On the way down, rows that agree in all
variables that the set has so far are in a cell; rows of a cell that agree in all variables that are left to decide as
well are one, as nothing can tell them apart any more. A cell of one such row is settled: it is a cell of all sets
further down. Of a cell of two rows, all that matters is which of the last variables tell them apart: such pairs are
counted by the variables in which they agree, and taken apart, or not, all at once. So the further down, the fewer rows
are left, and a set costs little more than looking at the rows of its last variables.

For BDeu, the pseudo-count a of a cell depends on the set, and a settled cell must serve all of them. With H(k) for the
sum of 1 / i^k over i = 1 ... N - 1, and a < 1,

    log G(N + a) - log G(a) = log a + log G(N) + a H(1) - a^2 / 2 H(2) + a^3 / 3 H(3) - ...

so that sums of these terms over cells are kept instead, one for each power of a.

What is the sum for the parents of a child and for the child with them is the score of the family, so that all families
are scored at once.

They trust their arguments and release the GIL.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np

from bntk._kernels import njit, part

#: Sums that are kept of cells: their number, log G(N), and six powers of a.
N_TERMS = 8
#: The largest pseudo-count of a cell for which the powers suffice: what is left out is below 1e-13 of each H(1).
MOST_ALPHA = 1 / 64
#: Pairs of rows are kept by the last variables in which they agree: at most so many, of 256 states each at the most.
MOST_PAIRED, MOST_STATES = 8, 256

_LOWEST_BITS, _TO_HIGHEST = np.uint64(0x0101010101010101), np.uint64(0x0102040810204080)


def terms_of_cells(n_rows):
    """The terms of cells of 0, 1, 2 ... rows, one line a cell."""
    from scipy.special import gammaln

    terms = np.zeros((n_rows + 1, N_TERMS))
    if n_rows:
        terms[1:, 0] = 1.0
        terms[1:, 1] = gammaln(np.arange(1, n_rows + 1))
        below = np.arange(1, n_rows, dtype=float)
        for power in range(1, N_TERMS - 1):
            terms[2:, 1 + power] = np.cumsum(below**-power) * (-1) ** (power + 1) / power
    return terms


@part
def _settle(terms, weight, sums):
    """Add the terms of a cell."""
    for k in range(N_TERMS):
        sums[k] += terms[weight, k]


@part
def _agreeing(one, other):
    """The bytes in which two words agree, as bits."""
    differ = one ^ other
    differ |= differ >> np.uint64(4)
    differ |= differ >> np.uint64(2)
    differ |= differ >> np.uint64(1)
    return np.int64((~differ & _LOWEST_BITS) * _TO_HIGHEST >> np.uint64(56))


@part
def _pair(agreeing, weight, other, terms, sums, pairs):
    """Add the terms of two rows as if they were cells, and what it makes if they are one to the pairs."""
    for k in range(N_TERMS):
        apart = terms[weight, k] + terms[other, k]
        sums[k] += apart
        pairs[agreeing, k] += terms[weight + other, k] - apart


@part
def _leave_out(
    ids, words, left, n_cells, begins, rows, weights, new_begins, new_rows, new_weights, terms, sums, pairs
):  # fmt: skip
    """Go on without a variable; rows that have the same of ``ids`` become one. Returns how many cells are left."""
    n_new, end = 0, 0
    for cell in range(n_cells):
        first = end
        row = rows[begins[cell]]
        last = ids[row]
        new_rows[end], new_weights[end] = row, weights[begins[cell]]
        for i in range(begins[cell] + 1, begins[cell + 1]):
            row = rows[i]
            if ids[row] == last:
                new_weights[end] += weights[i]
            else:
                end += 1
                last = ids[row]
                new_rows[end], new_weights[end] = row, weights[i]
        end += 1
        if end - first == 1:
            end = first
            _settle(terms, new_weights[end], sums)
        elif end - first == 2 and left >= 0:
            end = first
            agreeing = _agreeing(words[new_rows[end]], words[row]) & left
            _pair(agreeing, new_weights[end], new_weights[end + 1], terms, sums, pairs)
        else:
            new_begins[n_new] = first
            n_new += 1
    new_begins[n_new] = end
    return n_new


@part
def _take_in(
    codes, card, words, left, n_cells, begins, rows, weights, new_begins, new_rows, new_weights, terms, sums, pairs,
    counts, places,
):  # fmt: skip
    """Split the cells by the states of a variable. Returns how many cells are left."""
    n_new, end = 0, 0
    kept = 3 if left >= 0 else 2
    for cell in range(n_cells):
        for k in range(card):
            counts[k] = 0
        for i in range(begins[cell], begins[cell + 1]):
            counts[codes[rows[i]]] += 1
        for k in range(card):
            places[k] = -1
            if counts[k] >= kept:
                places[k] = end
                new_begins[n_new] = end
                n_new += 1
                end += counts[k]
        for i in range(begins[cell], begins[cell + 1]):
            row = rows[i]
            k = codes[row]
            if counts[k] >= kept:
                new_rows[places[k]], new_weights[places[k]] = row, weights[i]
                places[k] += 1
            elif counts[k] == 1:
                _settle(terms, weights[i], sums)
            elif places[k] < 0:
                places[k] = i
            else:
                other = places[k]
                agreeing = _agreeing(words[rows[other]], words[row]) & left
                _pair(agreeing, weights[other], weights[i], terms, sums, pairs)
    new_begins[n_new] = end
    return n_new


@part
def _decide_pairs(bit, taken, pairs, new_pairs):
    """Pairs by the variables in which they agree but for the highest; apart where it tells them apart."""
    for agreeing in range(bit):
        for k in range(N_TERMS):
            new_pairs[agreeing, k] = pairs[agreeing | bit, k]
    if not taken:
        for agreeing in range(bit):
            for k in range(N_TERMS):
                new_pairs[agreeing, k] += pairs[agreeing, k]


@njit(cache=True, nogil=True)
def sum_over_all(start, stop, codes, runs, words, paired, weights, cards, terms, alpha, most_entries, out):
    """The sum of log G(N + a) - log G(a) over the cells of each set of variables from ``start`` to ``stop``.

    Bit v of a set stands for variable v, and the result is at the place that is the set as a number; NaN where a is
    more than :data:`MOST_ALPHA`, and -inf where the table has more entries than that.

    ``codes`` are distinct rows, one line a variable, in the order of the states of variable 0, then 1, and so on;
    ``weights`` how often each was seen; ``runs[v]`` numbers the joint states of the variables below v; byte v of
    ``words`` is the state of variable v < ``paired``; and ``terms[N]`` are those of a cell of N rows.
    """
    n, n_rows = codes.shape
    rows, row_weights = np.empty((n + 1, n_rows), np.int32), np.empty((n + 1, n_rows), np.int32)
    begins, n_cells = np.empty((n + 1, n_rows + 1), np.int32), np.zeros(n + 1, np.int64)
    sums, entries = np.zeros((n + 1, N_TERMS)), np.ones(n + 1)
    pairs = np.zeros((n + 1, 1 << paired, N_TERMS))
    widest = 1
    for v in range(n):
        widest = max(widest, cards[v])
    counts, places = np.zeros(widest, np.int64), np.zeros(widest, np.int64)
    for i in range(n_rows):
        rows[0, i], row_weights[0, i] = i, weights[i]
    begins[0, 0], begins[0, 1], n_cells[0] = 0, n_rows, 1
    if n_rows == 1:
        n_cells[0] = 0
        _settle(terms, weights[0], sums[0])
    for s in range(start, stop):
        d = 0  # so many variables are decided as they were for the set before
        if s > start:
            while not (s ^ (s - 1)) >> (n - 1 - d) & 1:
                d += 1
        while d < n:
            v = n - 1 - d
            taken = s >> v & 1
            left = (1 << v) - 1 if v <= paired else -1
            sums[d + 1] = sums[d]
            if v < paired:
                _decide_pairs(1 << v, taken, pairs[d], pairs[d + 1])
            elif v == paired:
                pairs[d + 1] = 0.0
            if taken:
                entries[d + 1] = entries[d] * cards[v]
                n_cells[d + 1] = _take_in(
                    codes[v], cards[v], words, left, n_cells[d], begins[d], rows[d], row_weights[d], begins[d + 1],
                    rows[d + 1], row_weights[d + 1], terms, sums[d + 1], pairs[d + 1], counts, places,
                )  # fmt: skip
            else:
                entries[d + 1] = entries[d]
                n_cells[d + 1] = _leave_out(
                    runs[v], words, left, n_cells[d], begins[d], rows[d], row_weights[d], begins[d + 1], rows[d + 1],
                    row_weights[d + 1], terms, sums[d + 1], pairs[d + 1],
                )  # fmt: skip
            d += 1
        a = alpha / entries[n]
        if a > MOST_ALPHA or entries[n] > most_entries:
            out[s] = math.nan if entries[n] <= most_entries else -math.inf
            continue
        value = 0.0
        for k in range(N_TERMS - 1, 1, -1):
            value = value * a + (sums[n, k] + pairs[n, 0, k])
        out[s] = (sums[n, 0] + pairs[n, 0, 0]) * math.log(a) + sums[n, 1] + pairs[n, 0, 1] + a * value


@njit(cache=True, nogil=True)
def find_better(values, child, needs, free, limit, start, stop, best, found):
    """Write down the parent sets of a child that score better than all their subsets.

    They are ``needs`` and the subsets of ``free`` from number ``start`` to ``stop``, of at most ``limit`` variables;
    ``best`` holds the best score among each one's subsets, itself included, as far as this has come. Returns where it
    ended, for that is where ``found`` is full, and how many were found.
    """
    child_bit = np.int64(1) << child
    parents = np.int64(0)
    rest, bit = start, 0
    while rest:
        while not free >> bit & 1:
            bit += 1
        if rest & 1:
            parents |= np.int64(1) << bit
        rest >>= 1
        bit += 1
    n_found = 0
    for number in range(start, stop):
        if n_found == found.size:
            return number, n_found
        below, size = -math.inf, 0
        rest = number
        while rest:
            size += 1
            below = max(below, best[number ^ (rest & -rest)])
            rest &= rest - 1
        if size <= limit:
            with_child, without = values[needs | parents | child_bit], values[needs | parents]
            score = with_child - without
            if score > below + 1e-13 * (abs(with_child) + abs(without)) or number == 0:
                found[n_found] = needs | parents
                n_found += 1
                below = score
        best[number] = below
        parents = (parents - free) & free
    return stop, n_found

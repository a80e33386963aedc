"""Kernels that go through sets of variables by size: for parent sets (:mod:`.levels`) and for orders (:mod:`.exact`).

A level holds all sets of m variables, in the order of their bit masks: the place of a set with the elements
e_1 < e_2 < ... is the sum of C(e_i, i). A bit of ``open[place]`` stands for the child x and the rest of the set as its
parents. ``best[first[place] + j]`` is the best score among the subsets of these parents, themselves included, for the
j-th bit of ``tried[place]``.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np

from bntk._kernels import njit, part
from bntk.learning.search.kernels import first_fit

_ONE = np.uint32(1)
_LONG = np.uint64(1)


@part
def _elements(place, size, binomials, elements):
    """The elements, ascending, of the set at a place."""
    for i in range(size, 0, -1):
        e = i - 1
        while binomials[e + 1, i] <= place:
            e += 1
        elements[i - 1] = e
        place -= binomials[e, i]


@part
def _next(elements, size):
    """The next set of the same size, in place."""
    i = 0
    while i + 1 < size and elements[i] + 1 == elements[i + 1]:
        elements[i] = i
        i += 1
    elements[i] += 1


@part
def _places_without(elements, size, binomials, places):
    """The places of the sets without one element each, one level below."""
    after = 0
    for i in range(1, size):
        after += binomials[elements[i], i]
    before = 0
    for i in range(size):
        places[i] = before + after
        before += binomials[elements[i], i + 1]
        if i + 1 < size:
            after -= binomials[elements[i + 1], i + 1]


@part
def _place_without_two(elements, size, binomials, i, j):
    """The place of the set without its i-th and j-th elements, two levels below; i < j."""
    place = 0
    for k in range(size):
        if k != i and k != j:
            place += binomials[elements[k], k + 1 - (k > i) - (k > j)]
    return place


@part
def _count_bits(mask):
    count = 0
    while mask:
        mask &= mask - _ONE
        count += 1
    return count


@njit(cache=True, nogil=True)
def propose(
    start, stop, size, binomials, cards, takes, needs, required, limits, most_entries, open_below, tried, need,
):  # fmt: skip
    """Which children may have the rest of each set as parents, as far as their open subsets tell.

    ``takes[y]`` and ``needs[y]`` are the children that may and must have y as a parent. The places of the sets of
    parents are marked in ``need``. Returns how many children were tried.
    """
    elements, places = np.empty(size, np.int64), np.empty(size, np.int64)
    _elements(start, size, binomials, elements)
    n_tried = 0
    for place in range(start, stop):
        _places_without(elements, size, binomials, places)
        children, entries, whole = np.uint32(0xFFFFFFFF), 1.0, np.uint32(0)
        for i in range(size):
            y = elements[i]
            bit = _ONE << np.uint32(y)
            whole |= bit
            entries *= cards[y]
            children &= (open_below[places[i]] & takes[y]) | needs[y] | bit
        children &= whole
        if entries > most_entries:
            children = np.uint32(0)
        for i in range(size):
            x = elements[i]
            bit = _ONE << np.uint32(x)
            if children & bit:
                parents = whole ^ bit
                if parents & required[x] != required[x] or size - 1 > limits[x]:
                    children ^= bit
                    continue
                n_tried += 1
                need[places[i]] = True
        tried[place] = children
        if place + 1 < stop:
            _next(elements, size)
    return n_tried


@njit(cache=True, nogil=True)
def close(
    start, stop, size, binomials, cards, required, penalty, alpha, ceilings, ceilings_without,
    tried_below, first_below, best_below, likelihoods_below, cells_below, likelihoods_two_below,
    tried, first, open_now, best,
):  # fmt: skip
    """Close the parent sets that neither they nor any larger ones can be better than their subsets.

    The bounds are told in :mod:`.levels`. ``best`` gets the best score among the proper subsets; returns how many sets
    are left.
    """
    elements, places = np.empty(size, np.int64), np.empty(size, np.int64)
    _elements(start, size, binomials, elements)
    n_left = 0
    for place in range(start, stop):
        children = tried[place]
        open_now[place] = children
        if children:
            _places_without(elements, size, binomials, places)
            entries = 1.0
            for i in range(size):
                entries *= cards[elements[i]]
            slot = first[place]
            for i in range(size):
                x = elements[i]
                bit = _ONE << np.uint32(x)
                if not children & bit:
                    continue
                below = -np.inf
                fit = likelihoods_below[places[i]]
                reach = ceilings[x]
                without = entries / cards[x]
                useless = False
                for j in range(size):
                    y = elements[j]
                    if j == i or required[x] & (_ONE << np.uint32(y)):
                        continue
                    found = first_below[places[j]] + _count_bits(tried_below[places[j]] & (bit - _ONE))
                    below = max(below, best_below[found])
                    if size > 1:
                        at = _place_without_two(elements, size, binomials, min(i, j), max(i, j))
                        gap = ceilings[y] - fit + likelihoods_two_below[at]  # not a number where it is not known
                        if ceilings_without[x, y] + gap < reach:
                            reach = ceilings_without[x, y] + gap
                        if alpha == 0:
                            less = without / cards[y]
                            useless |= gap <= penalty * (cards[x] - 1) * (without - less)
                if alpha == 0:
                    reach -= penalty * (cards[x] - 1) * without
                elif entries >= 4 * alpha:
                    reach -= math.log(cards[x]) * cells_below[places[i]]
                reach += 1e-11 * (1 + abs(reach))
                best[slot] = below
                slot += 1
                if useless or reach <= below:
                    open_now[place] ^= bit
                else:
                    n_left += 1
        if place + 1 < stop:
            _next(elements, size)
    return n_left


@njit(cache=True, nogil=True)
def absorb(
    start, stop, size, binomials, cards, required, penalty, alpha, tried, first, open_now, best, values, values_below,
    children, masks,
):  # fmt: skip
    """Score the parent sets that are open; write down those that are better than their subsets, return how many."""
    elements, places = np.empty(size, np.int64), np.empty(size, np.int64)
    _elements(start, size, binomials, elements)
    n_kept = 0
    for place in range(start, stop):
        if open_now[place]:
            _places_without(elements, size, binomials, places)
            entries, whole = 1.0, np.uint32(0)
            for i in range(size):
                entries *= cards[elements[i]]
                whole |= _ONE << np.uint32(elements[i])
            slot = first[place]
            for i in range(size):
                x = elements[i]
                bit = _ONE << np.uint32(x)
                if not tried[place] & bit:
                    continue
                if open_now[place] & bit:
                    score = values[place] - values_below[places[i]]
                    if alpha == 0:
                        score -= penalty * (cards[x] - 1) * entries / cards[x]
                    room = 1e-13 * (abs(values[place]) + abs(values_below[places[i]]))
                    if score > best[slot] + room or whole ^ bit == required[x]:
                        best[slot] = score
                        children[n_kept], masks[n_kept] = x, whole ^ bit
                        n_kept += 1
                slot += 1
        if place + 1 < stop:
            _next(elements, size)
    return n_kept


@njit(cache=True, nogil=True)
def masks_at(places, size, binomials):
    """The sets at some places, as bit masks."""
    elements, masks = np.empty(size, np.int64), np.zeros(places.size, np.uint64)
    for k in range(places.size):
        _elements(places[k], size, binomials, elements)
        for i in range(size):
            masks[k] |= np.uint64(1) << np.uint64(elements[i])
    return masks


@njit(cache=True, nogil=True)
def count_bits(masks, first):
    """Where the slots of each set begin: the bits of all masks before it."""
    total = 0
    for k in range(masks.size):
        first[k] = total
        total += _count_bits(masks[k])
    return total


# ------------------------------------------------------------------------------------------------ orders
#
# Parent sets are masks over all nodes; those of x are ``parents[offsets[x] : offsets[x + 1]]``, the best first.


@part
def _best_fit(x, available, parents, scores, offsets):
    """The score of the best parent set within the nodes that are available."""
    found = first_fit(parents, offsets[x], offsets[x + 1], available)
    return scores[found] if found < offsets[x + 1] else -np.inf


@njit(cache=True, nogil=True)
def bound_part(part_begin, part_end, n, parents, scores, offsets, after):
    """For each subset of some nodes in a row, the best sum of the scores of the others of them, which come after it.

    All nodes that are not in the row may be parents of each.
    """
    size = part_end - part_begin
    others = ((_LONG << np.uint64(n)) - _LONG) ^ ((_LONG << np.uint64(part_end)) - (_LONG << np.uint64(part_begin)))
    after[after.size - 1] = 0.0
    for subset in range(after.size - 2, -1, -1):
        available = others | (np.uint64(subset) << np.uint64(part_begin))
        after[subset] = -np.inf
        for k in range(size):
            if not subset >> k & 1:
                value = after[subset | 1 << k] + _best_fit(part_begin + k, available, parents, scores, offsets)
                after[subset] = max(after[subset], value)


@njit(cache=True, nogil=True)
def sum_over_sinks(
    start, stop, size, binomials, columns, parents, scores, offsets, low, after_low, after_high, least, below, totals,
    sinks,
):  # fmt: skip
    """The score of the best order of each set of a span, and its last node; of equals, the last column.

    Sets are left out where the bounds say that no order of all nodes that begins with them reaches ``least``. Returns
    how many are left.
    """
    elements, places = np.empty(size, np.int64), np.empty(size, np.int64)
    _elements(start, size, binomials, elements)
    n_left = 0
    for place in range(start, stop):
        whole = np.uint64(0)
        for i in range(size):
            whole |= _LONG << np.uint64(elements[i])
        best, sink = -np.inf, 0
        _places_without(elements, size, binomials, places)
        for i in range(size):
            total = below[places[i]]
            if total > -np.inf:
                x = elements[i]
                value = total + _best_fit(x, whole ^ (_LONG << np.uint64(x)), parents, scores, offsets)
                if value > best or (value == best and value > -np.inf and columns[x] > columns[sink]):
                    best, sink = value, x
        if best + after_low[whole & ((_LONG << np.uint64(low)) - _LONG)] + after_high[whole >> np.uint64(low)] < least:
            best = -np.inf
        n_left += best > -np.inf
        totals[place], sinks[place] = best, sink
        if place + 1 < stop:
            _next(elements, size)
    return n_left

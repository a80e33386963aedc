"""Kernels of discretisation: the best cuts of one sorted column by entropy, the bins of its values, and which bins of
several columns to merge.

Entropies are sums of n log2 n over counts. They are added up as whole numbers, multiples of a small power of two, so
that updating them from row to row loses nothing. Cuts whose sums differ by no more than the rounding of the logarithms
are equally good, and the lowest of them is taken: which one it is depends neither on the names of the classes nor on
the last bit of a float.

Kernels trust their arguments and release the GIL.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np

from bntk._kernels import njit, part

# Largest sum, in bits, and what rounding can make of it: logarithms are right to 53 bits, a sum has a few of that size.
SUM_BITS = 60
TIE = 1 << 11
# Rows that are coded at once: values, codes and cuts stay in the first-level cache.
BLOCK = 1024
# Up to this many cuts, comparing with all of them (vectorised) is quicker than a binary search.
COMPARE_UP_TO = 128


@part
def n_log_n(n, scale):
    """``n log2 n`` as a multiple of ``1 / scale``; what rounding has left of an empty cell counts as empty."""
    return np.int64(round(scale * n * math.log2(n))) if n > 0 else np.int64(0)


@njit(cache=True, nogil=True, steps=lambda n, scale: 2 * n)
def n_log_n_table(n, scale):
    """:func:`n_log_n` of 0 ... n."""
    table = np.empty(n + 1, dtype=np.int64)
    for k in range(n + 1):
        table[k] = n_log_n(float(k), scale)
    return table


@part
def look_up(n, table, scale):
    """:func:`n_log_n`, from the table where there is one."""
    return table[int(n)] if table.size else n_log_n(n, scale)


@part
def entropy(counts):
    """Entropy of class counts in bits, and the number of classes that occur."""
    total, plogp, present = 0.0, 0.0, 0
    for n in counts:
        if n > 0:
            total += n
            plogp += n * math.log2(n)
            present += 1
    return (math.log2(total) - plogp / total if total > 0 else 0.0), present


@part
def group(values, order, classes, weights, n_classes, item_class, item_weight, ends_block, low, high):
    """Rows, sorted by value, as items: so much weight of one class. Returns the number of items.

    The items of one value form a block. Neighbouring values that hold the same class alone form one block too, for
    no best cut is between them (Fayyad and Irani 1992). ``low`` has the smallest value of a block at its first item,
    ``high`` the largest at its last, which ``ends_block`` marks.
    """
    held = np.zeros(n_classes)
    n, n_items, lone, i = order.size, 0, -1, 0  # lone: the class that the last block holds alone
    while i < n:
        value, first, mixed = values[order[i]], classes[order[i]], False
        while i < n and values[order[i]] == value:
            row = order[i]
            held[classes[row]] += weights[row] if weights.size else 1.0
            mixed |= classes[row] != first
            i += 1
        if first == lone and not mixed:
            item_weight[n_items - 1] += held[first]
            held[first] = 0.0
        else:
            low[n_items] = value
            for c in range(n_classes) if mixed else range(first, first + 1):
                if held[c] > 0:
                    item_class[n_items], item_weight[n_items] = c, held[c]
                    held[c] = 0.0
                    n_items += 1
            ends_block[n_items - 1] = True
            lone = -1 if mixed else first
        high[n_items - 1] = value
    return n_items


@part
def count_classes(item_class, item_weight, start, stop, counts):
    """Class counts of some items; their sum."""
    counts[:] = 0.0
    total = 0.0
    for i in range(start, stop):
        counts[item_class[i]] += item_weight[i]
        total += item_weight[i]
    return total


@part
def best_cut(item_class, item_weight, ends_block, start, stop, left, right, total, table, scale):
    """The item after which the classes are told apart best, the first of several; -1 where no cut is possible.

    ``right`` has the class counts of all the items, ``left`` is scratch. What is largest is
    sum of n log n over the class counts of both sides, less that of the two sizes: minus the entropy, times the rows.
    """
    left[:] = 0.0
    cells = np.int64(0)
    for n in right:
        cells += look_up(n, table, scale)
    best, best_value, size = -1, np.int64(0), 0.0
    for i in range(start, stop - 1):
        c, w = item_class[i], item_weight[i]
        cells -= look_up(left[c], table, scale) + look_up(right[c], table, scale)
        left[c] += w
        right[c] -= w
        size += w
        cells += look_up(left[c], table, scale) + look_up(right[c], table, scale)
        if ends_block[i]:
            value = cells - look_up(size, table, scale) - look_up(total - size, table, scale)
            if best < 0 or value > best_value + TIE:
                best, best_value = i, value
    return best


@part
def accepted(both, left, right, total):
    """The MDL criterion of Fayyad and Irani (1993): gain > (log2(N - 1) + delta) / N."""
    entropy_both, k = entropy(both)
    entropy_left, k_left = entropy(left)
    entropy_right, k_right = entropy(right)
    gain = entropy_both - (left.sum() * entropy_left + right.sum() * entropy_right) / total
    delta = math.log2(3.0**k - 2.0) if k < 600 else k * math.log2(3.0)
    delta -= k * entropy_both - k_left * entropy_left - k_right * entropy_right
    return gain > (math.log2(max(total - 1.0, 1.0)) + delta) / total


@njit(cache=True, nogil=True, steps=lambda values, order, *rest: 30 * order.size)
def mdl_kernel(values, order, classes, weights, n_classes, table, scale):
    """The cuts of one column, in no order: for each, the largest value on its left and the smallest on its right.

    ``order`` sorts the rows that count; ``weights`` may be empty, for ones. A segment whose best cut is accepted is cut
    there, and both parts are looked at in turn.
    """
    n = order.size
    item_class = np.empty(n, dtype=np.int32)
    item_weight, low, high = np.empty(n), np.empty(n), np.empty(n)
    ends_block = np.zeros(n, dtype=np.bool_)
    n_items = group(values, order, classes, weights, n_classes, item_class, item_weight, ends_block, low, high)
    whole, left, right = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    cuts = np.empty((2, n_items))
    n_cuts = 0
    pending = [(0, n_items)]
    while len(pending) > 0:
        start, stop = pending.pop()
        total = count_classes(item_class, item_weight, start, stop, whole)
        for c in range(n_classes):  # to copy the array, numba would compile its error messages
            right[c] = whole[c]
        best = best_cut(item_class, item_weight, ends_block, start, stop, left, right, total, table, scale)
        if best < 0:
            continue
        count_classes(item_class, item_weight, start, best + 1, left)
        count_classes(item_class, item_weight, best + 1, stop, right)
        if accepted(whole, left, right, total):
            cuts[0, n_cuts], cuts[1, n_cuts] = high[best], low[best + 1]
            n_cuts += 1
            pending.append((start, best + 1))
            pending.append((best + 1, stop))
    return cuts[:, :n_cuts].copy()


@njit(cache=True, nogil=True, steps=lambda codes, cards, starts, weights, target, counts: codes[target:].size)
def count_with_later(codes, cards, starts, weights, target, counts):
    """Count the states of one variable together with those of each later one, into the columns of ``counts`` from
    ``starts`` on. A code that is not below ``cards`` is missing, and the row is left out."""
    for other in range(target + 1, codes.shape[0]):
        for row in range(codes.shape[1]):
            a, b = codes[target, row], codes[other, row]
            if a < cards[target] and b < cards[other]:
                counts[a, starts[other] + b] += weights[row] if weights.size else 1.0


@part
def least_informative_cut(counts, target, cards, starts, table, scale):
    """The state whose union with the next one leaves most mutual information with the other variables, all together.

    With f(n) = n log n, the mutual information with a variable of states b, times the rows, changes by
    sum_b [f(n_ab + n_a'b) - f(n_ab) - f(n_a'b)] - [f(n_a + n_a') - f(n_a) - f(n_a')].
    The first of several is taken that are equally good.
    """
    n_states = cards[target]
    change, size, own = np.zeros(n_states), np.zeros(n_states), np.zeros(n_states, dtype=np.int64)
    slack = 0.0
    for other in range(cards.size):
        start, stop = starts[other], starts[other] + cards[other]
        total = 0.0
        for a in range(n_states):
            size[a], own[a] = 0.0, 0
            for cell in range(start, stop):
                size[a] += counts[a, cell]
                own[a] += look_up(counts[a, cell], table, scale)
            own[a] -= look_up(size[a], table, scale)
            total += size[a]
        if other == target or total <= 0.0:
            continue
        slack += TIE / total
        for a in range(n_states - 1):
            both = np.int64(0)
            for cell in range(start, stop):
                both += look_up(counts[a, cell] + counts[a + 1, cell], table, scale)
            both -= look_up(size[a] + size[a + 1], table, scale)
            change[a] += (both - own[a] - own[a + 1]) / total
    best = 0
    for a in range(1, n_states - 1):
        if change[a] > change[best] + slack:
            best = a
    return best


@njit(
    cache=True, nogil=True,
    steps=lambda counts, cards, starts, n_bins, table, scale, merged: 2 * counts.size,
)  # fmt: skip
def merge_kernel(counts, cards, starts, n_bins, table, scale, merged):
    """One round of Hartemink's method: of each variable with more than ``n_bins`` states, two neighbours become one.

    ``counts[i, a, starts[j] + b]`` is how often variable i has state a where variable j has state b; the first
    variables are those that are cut. ``merged`` gets the state that was united with the next one, or -1.
    """
    for i in range(merged.size):
        merged[i] = -1
        if cards[i] <= n_bins:
            continue
        at = least_informative_cut(counts[i], i, cards, starts, table, scale)
        merged[i] = at
        for cell in range(counts.shape[2]):
            counts[i, at, cell] += counts[i, at + 1, cell]
            for a in range(at + 1, cards[i] - 1):
                counts[i, a, cell] = counts[i, a + 1, cell]
        first = starts[i] + at
        for other in range(merged.size):
            for a in range(cards[other]):
                counts[other, a, first] += counts[other, a, first + 1]
                for cell in range(first + 1, starts[i] + cards[i] - 1):
                    counts[other, a, cell] = counts[other, a, cell + 1]
        cards[i] -= 1


@njit(cache=True, nogil=True, steps=lambda values, cuts, codes: values.size * (1 + cuts.size))
def code_kernel(values, cuts, codes):
    """How many cuts are below each value, into ``codes``; one more than there are cuts where the value is NaN."""
    one, missing = codes.dtype.type(1), codes.dtype.type(cuts.size + 1)
    if cuts.size <= COMPARE_UP_TO:
        for start in range(0, values.size, BLOCK):
            block, into = values[start : start + BLOCK], codes[start : start + BLOCK]
            into[:] = 0
            for cut in cuts:
                for i in range(block.size):
                    into[i] += one if block[i] > cut else codes.dtype.type(0)
    else:
        for i in range(values.size):
            codes[i] = np.searchsorted(cuts, values[i])
    for i in range(values.size):
        if values[i] != values[i]:
            codes[i] = missing

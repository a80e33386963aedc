"""Kernels of the averaged n-dependence classifiers: from counts to log tables, and from log tables to class scores.

The ensemble is flat. A *context* is one configuration of the superparents of one member; its *head* is the log of
P(class, superparents), for each class, and its *line* the log of P(x_j | superparents, class) for each state of each
feature, one feature after the other (those of the superparents themselves are 0). So a row's log joint in a member is
the head and one entry of the line for each observed feature, and a superparent that is missing is summed out by taking
all the contexts that agree with the row.

All of them trust their arguments and release the GIL.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np

from bntk._kernels import njit, part

LOG2_E = 1.4426950408889634
# log(2) in two parts, of which the first has so few bits that its product with an exponent is exact.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
SHIFT = 1.5 * 2.0**52
# Values whose exponentials are made at once.
CHUNK = 512


# ---- tables ----------------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, steps=lambda counts, starts, columns, *rest: 2 * counts.size / columns.size)
def spread_pairs(counts, starts, columns, i, lines):
    """The counts of the pairs (i, j), j > i, given the class, into the lines of the contexts of i and of j."""
    n, n_classes = columns.size - 1, lines.shape[1]
    at = starts[i]
    for j in range(i + 1, n):
        for c in range(n_classes):
            for a in range(columns[i], columns[i + 1]):
                for b in range(columns[j], columns[j + 1]):
                    lines[a, c, b] = lines[b, c, a] = counts[at]
                    at += 1


@njit(cache=True, nogil=True, steps=lambda counts, *rest: 2 * counts.size)
def spread_triples(counts, starts, columns, i, first_contexts, lines):
    """The counts of the triples (i, j, k), i < j < k, given the class, into the lines of their three pairs.

    ``counts`` are pair counts of the features after i given (class, i), and ``first_contexts[i, j]`` is where the
    contexts of a pair begin.
    """
    n, n_classes = columns.size - 1, lines.shape[1]
    r_i = columns[i + 1] - columns[i]
    for j in range(i + 1, n):
        r_j, at = columns[j + 1] - columns[j], starts[j - i - 1]
        for k in range(j + 1, n):
            r_k = columns[k + 1] - columns[k]
            for c in range(n_classes):
                for a in range(r_i):
                    for b in range(r_j):
                        for d in range(r_k):
                            count = counts[at]
                            lines[first_contexts[i, j] + a * r_j + b, c, columns[k] + d] = count
                            lines[first_contexts[i, k] + a * r_k + d, c, columns[j] + b] = count
                            lines[first_contexts[j, k] + b * r_k + d, c, columns[i] + a] = count
                            at += 1


@njit(cache=True, nogil=True, steps=lambda lines, *rest: lines.size)
def counts_to_logs(lines, columns, alphas, own):
    """log of (N + alpha) / (sum of N + alpha) for each feature in the lines of one member; 0 for its superparents."""
    for context in range(lines.shape[0]):
        for c in range(lines.shape[1]):
            line = lines[context, c]
            for j in range(columns.size - 1):
                total = 0.0
                for s in range(columns[j], columns[j + 1]):
                    line[s] += alphas[c, s]
                    total += line[s]
                for s in range(columns[j], columns[j + 1]):
                    if total > 0.0:
                        line[s] = math.log(line[s] / total) if line[s] > 0.0 else -np.inf
                    else:
                        line[s] = -math.log(columns[j + 1] - columns[j])
            for j in own:
                line[columns[j] : columns[j + 1]] = 0.0


# ---- rows ------------------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def group_rows(codes, start, groups, widths, slots):
    """Which slot of each group of features a row is in: the mixed-radix number of its codes there."""
    for g in range(groups.size - 1):
        for row in range(slots.shape[0]):
            slots[row, g] = 0
        for j in range(groups[g], groups[g + 1]):
            for row in range(slots.shape[0]):
                slots[row, g] = slots[row, g] * widths[j] + codes[j, start + row]


@part
def group_line(line, columns, groups, widths, offsets, table):
    """The sums of a line's entries over all configurations of each group. A missing cell adds nothing."""
    for g in range(groups.size - 1):
        part = table[offsets[g] : offsets[g + 1]]
        part[0], size = 0.0, 1
        for j in range(groups[g], groups[g + 1]):
            width, n_states = widths[j], columns[j + 1] - columns[j]
            for s in range(size - 1, -1, -1):  # backwards, as a sum makes room for several at or after its own place
                known = part[s]
                for x in range(width - 1, -1, -1):
                    part[s * width + x] = known + (line[columns[j] + x] if x < n_states else 0.0)
            size *= width


@part
def sum_groups(table, offsets, slots, head, rows, values):
    """The head and the slots' sums of some rows; four rows at once, as each of them is a chain of additions."""
    n_groups = offsets.size - 1
    whole = rows.size // 4 * 4
    for k in range(0, whole, 4):
        first, second, third, fourth = slots[rows[k]], slots[rows[k + 1]], slots[rows[k + 2]], slots[rows[k + 3]]
        s0 = s1 = s2 = s3 = head
        for g in range(n_groups):
            at = np.uint64(offsets[g])  # unsigned: an index that may be negative costs a comparison
            s0 += table[at + np.uint64(first[g])]
            s1 += table[at + np.uint64(second[g])]
            s2 += table[at + np.uint64(third[g])]
            s3 += table[at + np.uint64(fourth[g])]
        values[k], values[k + 1], values[k + 2], values[k + 3] = s0, s1, s2, s3
    for k in range(whole, rows.size):
        total = head
        for g in range(n_groups):
            total += table[np.uint64(offsets[g]) + np.uint64(slots[rows[k], g])]
        values[k] = total


@njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, fastmath={"contract"})
def exp_all(x, scale, out):
    """exp of numbers up to 0, within two units in the last place; below -700 it is exp(-700), which is next to nothing.

    exp(x) = 2^k exp(r) with |r| <= log(2) / 2, and exp(r) is its Taylor polynomial. Adding ``SHIFT`` rounds to a whole
    number and leaves it in the last bits, from where it becomes the exponent. So the compiler can do several at once,
    which takes a quarter of the time of ``math.exp``.
    """
    for k in range(x.size):
        limited = x[k] if x[k] > -700.0 else -700.0
        shifted = limited * LOG2_E + SHIFT
        whole = shifted - SHIFT
        r = (limited - whole * LN2_HIGH) - whole * LN2_LOW
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        out[k] = p * r + 1.0
        scale[k] = shifted
    bits = scale.view(np.int64)
    for k in range(x.size):
        bits[k] = (bits[k] << 52) + (1023 << 52)
    for k in range(x.size):
        out[k] *= scale[k]


@part
def add_logs(rows, values, tops, sums, gaps, scale, powers):
    """Add exp(value) to the sum of each row, which is kept as ``sums * exp(tops)``."""
    for begin in range(0, rows.size, gaps.size):
        some, news = rows[begin : begin + gaps.size], values[begin : begin + gaps.size]
        for k in range(some.size):
            gaps[k] = -abs(news[k] - tops[some[k]])
        exp_all(gaps[: some.size], scale[: some.size], powers[: some.size])
        for k in range(some.size):
            row, value = some[k], news[k]
            if value > tops[row]:
                sums[row] = sums[row] * powers[k] + 1.0
                tops[row] = value
            elif value > -np.inf:
                sums[row] += powers[k]


@part
def sort_rows(codes, start, parents, cards, contexts, begins, order):
    """Sort rows by their context in a member; returns how many have a missing superparent, which come last."""
    n_contexts = begins.size - 2
    for row in range(contexts.size):
        contexts[row] = 0
    for p in parents:
        card = cards[p]
        for row in range(contexts.size):
            code = codes[p, start + row]
            known = contexts[row] < n_contexts and code < card
            contexts[row] = contexts[row] * card + code if known else n_contexts
    begins[:] = 0
    for row in range(contexts.size):
        begins[contexts[row] + 1] += 1
    for context in range(n_contexts + 1):
        begins[context + 1] += begins[context]
    for row in range(contexts.size):
        order[begins[contexts[row]]] = row
        begins[contexts[row]] += 1
    for context in range(n_contexts + 1, 0, -1):
        begins[context] = begins[context - 1]
    begins[0] = 0
    return contexts.size - begins[n_contexts]


@part
def agreeing(codes, start, parents, cards, context, rows, out):
    """Those of the rows whose observed superparents are as in a context."""
    found = 0
    for row in rows:
        rest, agrees = context, True
        for p in parents[::-1]:
            code = codes[p, start + row]
            agrees &= code == cards[p] or code == rest % cards[p]
            rest //= cards[p]
        if agrees:
            out[found] = row
            found += 1
    return out[:found]


@njit(cache=True, nogil=True)
def add_members(
    codes, start, cards, columns, parents, first_contexts, weights, open_contexts, sum_out, heads, lines,
    groups, widths, offsets, slots, tops, sums, weight,
):  # fmt: skip
    """Add all members' joint probabilities to those of some rows, as ``sums * exp(tops)``, shape (K, rows).

    Rows are taken context by context: the line of a context is turned into sums over groups of features once, for all
    its rows, which then need one look-up per group instead of one per feature.

    A context takes part in the classes in which it is open, ``open_contexts[context, class]``. Members with a missing
    superparent take part, in all classes and with all contexts that agree with the row, only with ``sum_out``.
    ``weight``, of shape (K, rows), gets the weight of the members that took part.
    """
    n_rows, n_classes = slots.shape[0], heads.shape[1]
    contexts = np.empty(n_rows, dtype=np.int64)
    order, chosen = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    values, table = np.empty(n_rows), np.empty(offsets[-1])
    gaps, scale, powers = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    for m in range(parents.shape[0]):
        if weights[m] <= 0.0:
            continue
        n_contexts = first_contexts[m + 1] - first_contexts[m]
        begins = np.empty(n_contexts + 2, dtype=np.int64)
        n_incomplete = sort_rows(codes, start, parents[m], cards, contexts, begins, order)
        incomplete = order[n_rows - n_incomplete :]
        if sum_out:
            for c in range(n_classes):
                for row in incomplete:
                    weight[c, row] += weights[m]
        for context in range(n_contexts):
            at = first_contexts[m] + context
            rows = order[begins[context] : begins[context + 1]]
            for c in range(n_classes):
                if open_contexts[at, c]:
                    for row in rows:
                        weight[c, row] += weights[m]
            n_complete = rows.size
            if sum_out and n_incomplete:
                for k in range(rows.size):  # assigning a slice would bring in the text of an error, slow to compile
                    chosen[k] = rows[k]
                more = agreeing(codes, start, parents[m], cards, context, incomplete, chosen[rows.size :])
                rows = chosen[: rows.size + more.size]
            for c in range(n_classes):
                some = rows if open_contexts[at, c] else rows[n_complete:]
                if some.size:
                    group_line(lines[at, c], columns, groups, widths, offsets, table)
                    sum_groups(table, offsets, slots, heads[at, c] + math.log(weights[m]), some, values)
                    add_logs(some, values, tops[c], sums[c], gaps, scale, powers)

"""Tests of independence on bit planes: tables are counted and tested one by one, until one decides.

A *pair* is to be separated: sets of variables are given, one after the other, until one makes its two variables
independent. Sets are the parts of a first pool, by size and then in the order of the pool, and beside them those of a
second pool that are not parts of the first. The kernels trust their arguments.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np

from bntk._kernels import njit, part
from bntk.learning.counts.plane_kernels import count_extensions
from bntk.learning.independence.kernels import X2, plain_statistic

# What has become of a pair: its set is to be tested; that set is done with, or there is none yet; that set has made it
# independent; none has; or the table of that set is too large for planes.
OPEN, DONE_WITH, INDEPENDENT, DEPENDENT, TOO_LARGE = range(5)
# Rows for each cell of the table that a test with adjusted degrees of freedom needs, as in R's bnlearn: with fewer it
# has no power, and its statistic is 0.
FEWEST_ROWS = 5
# Columns of ``progress``: the status, the size of the set, its pool, and how many sets have been tested.
STATUS, SIZE, POOL, TESTED = range(4)
# A p-value is compared with alpha to about this many digits; those that are nearer are compared by who asks.
SLACK = 1e-6


@part
def upper_tail(statistic, df):
    """The probability that a chi-squared variable is at least the statistic, by a series or a continued fraction."""
    a, x = df / 2.0, statistic / 2.0
    if a <= 0.0 or x <= 0.0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1.0:
        term = 1.0 / a
        total = term
        n = a
        while term > 1e-14 * total:
            n += 1.0
            term *= x / n
            total += term
        return 1.0 - front * total
    b = x + 1.0 - a
    c = 1e300
    d = 1.0 / b
    found = d
    change = 0.0
    i = 0.0
    while abs(change - 1.0) > 1e-14 and i < 1e6:  # Lentz's method
        i += 1.0
        factor = i * (a - i)
        b += 2.0
        d = 1.0 / (factor * d + b)
        c = b + factor / c
        change = c * d
        found *= change
    return front * found


@part
def goes_on(places, size, length):
    """Move to the next part of a pool that has this size; False when there is none."""
    i = size - 1
    while i >= 0 and places[i] == length - size + i:
        i -= 1
    if i < 0:
        return False
    places[i] += 1
    for j in range(i + 1, size):
        places[j] = places[j - 1] + 1
    return True


@part
def starts(places, size):
    """Move to the first part of a pool that has this size."""
    for i in range(size):
        places[i] = i


@part
def is_part(chosen, pool):
    """Whether all that is chosen is in a pool."""
    for v in chosen:
        inside = False
        for other in pool:
            inside |= other == v
        if not inside:
            return False
    return True


@part
def to_next_set(progress, places, pools, lengths, largest):
    """Move to the next set of a pair that is to be tested; False when there is none.

    Before the first set the size is one too small, and the pool is none of the two.
    """
    more = progress[POOL] < 2 and goes_on(places, progress[SIZE], lengths[progress[POOL]])
    while True:
        while not more:
            if progress[POOL] == 0:
                progress[POOL] = 1
            else:
                progress[POOL] = 0
                progress[SIZE] += 1
            if progress[SIZE] > largest:
                return False
            more = progress[SIZE] <= lengths[progress[POOL]]
            if more:
                starts(places, progress[SIZE])
        if progress[POOL] == 0 or not is_part(pools[1][places[: progress[SIZE]]], pools[0][: lengths[0]]):
            return True
        more = goes_on(places, progress[SIZE], lengths[1])


@part
def sorted_set(pool, places, size, base):
    """The variables at some places of a pool, ascending, into ``base``."""
    for i in range(size):
        v = pool[places[i]]
        j = i
        while j > 0 and base[j - 1] > v:
            base[j] = base[j - 1]
            j -= 1
        base[j] = v


def _steps_of_separating(*arguments):
    """About how many microseconds :func:`separate_pairs` takes without the compiler, if each pair takes two tests."""
    planes, xs = arguments[0], arguments[5]
    return xs.size * (400 + 2 * planes.shape[1])


@njit(cache=True, nogil=True, steps=_steps_of_separating)
def separate_pairs(
    planes, first_planes, cards, widths, most, xs, ys, pools, lengths, largest, alpha, kind, adjusted, most_tests,
    progress, places, found, dfs
):  # fmt: skip
    """Test the sets of each pair from where it stands on, until one has a p-value above alpha.

    ``pools[p, 0, :lengths[p, 0]]`` is the first pool of pair p, ``largest[p]`` the largest size. ``progress`` and
    ``places`` say which set it stands at; they are changed, and so many tests are made at the most. ``found`` and
    ``dfs`` receive the statistic and the degrees of freedom of the last test.
    """
    base, other = np.empty(places.shape[1] + 1, np.int64), np.empty(1, np.int64)
    begins = np.zeros(2, np.int64)
    table, totals = np.empty(2 * most, np.int64), np.empty(most, np.int64)
    rows, columns = np.empty(most), np.empty(most)
    limit = alpha * (1.0 - SLACK) - 1e-290
    for p in range(xs.size):
        x, y = xs[p], ys[p]
        now = progress[p]
        tests = 0
        while now[STATUS] <= DONE_WITH and tests < most_tests:
            if now[STATUS] == DONE_WITH and not to_next_set(now, places[p], pools[p], lengths[p], largest[p]):
                now[STATUS] = DEPENDENT
                break
            size = now[SIZE]
            sorted_set(pools[p, now[POOL]], places[p], size, base)
            base[size] = x
            q = 1
            has_planes = first_planes[x] >= 0 and first_planes[y] >= 0
            for k in range(size):
                has_planes &= first_planes[base[k]] >= 0
                q = min(q * cards[base[k]], most + 1)
            if not has_planes or q * cards[x] * max(1, widths[y]) > most:
                now[STATUS] = TOO_LARGE
                break
            cells = cards[x] * cards[y]
            other[0] = y
            begins[1] = q * cells
            counted = table[: q * cells]
            counted[:] = 0
            margin = totals[: q * cards[x]]
            margin[:] = 0
            count_extensions(
                planes, first_planes, cards, widths, base[: size + 1], other, begins, counted, margin
            )  # fmt: skip
            statistic, df = plain_statistic(counted, q, cards[x], cards[y], rows, columns, kind == X2)
            if not adjusted:
                df = float((cards[x] - 1) * (cards[y] - 1) * q)
            elif counted.sum() < FEWEST_ROWS * cells * q:
                statistic = 0.0
            found[p], dfs[p] = statistic, df
            tests += 1
            now[TESTED] += 1
            now[STATUS] = INDEPENDENT if alpha < 0.0 or upper_tail(statistic, df) > limit else DONE_WITH

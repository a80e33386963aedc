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
from bntk.learning.counts.plane_kernels import count_common, count_extensions_plainly, count_ones
from bntk.learning.independence.kernels import X2, plain_statistic

# What has become of a pair: its set is to be tested; that set is done with, or there is none yet; that set has made it
# independent; none has; or the table of that set is too large for planes.
OPEN, DONE_WITH, INDEPENDENT, DEPENDENT, TOO_LARGE = range(5)
# Words of planes that are worked on together: a run of some given variables stays in the first-level cache.
RUN = 512
# Columns of ``progress``: the status, the size of the set, its pool, and how many sets have been tested.
STATUS, SIZE, POOL, TESTED = range(4)
# A p-value is compared with alpha to about this many digits; those that are nearer are compared by who asks.
SLACK = 1e-6


@part
def narrow_plane(rows, source, flat, plane, target, words):
    """The AND of a run of ``rows`` and one of ``flat``, into another run of ``rows``; returns its number of ones."""
    ones = np.uint64(0)
    for word in range(words):
        step = np.uint64(word)
        common = rows[source + step] & flat[plane + step]
        rows[target + step] = common
        ones += count_ones(common)
    return np.int64(ones)


@part
def add_stratum(flat, n_words, begin, words, x, width_x, card_x, y, width_y, card_y, rows, at, n, table, to):
    """Add the table of two variables, in the ``n`` rows of the run ``at``, to ``table[to:]``.

    Their planes are ``x`` and ``y`` and those that follow. Where a variable has one fewer to be counted than states,
    its last state is what is left. The run after ``at`` is used.
    """
    here, narrowed = np.uint64(at), np.uint64(at + RUN)
    last_row = to + width_x * card_y
    rest = n  # the rows with the last state of both, where these are what is left
    if width_x < card_x:
        for b in range(width_y):
            count = count_common(rows, here, flat, np.uint64((y + b) * n_words + begin), words)
            table[last_row + b] += count
            rest -= count
    for a in range(width_x):
        left = narrow_plane(rows, here, flat, np.uint64((x + a) * n_words + begin), narrowed, words)
        if left == 0:
            continue
        row = to + a * card_y
        for b in range(width_y):
            count = count_common(rows, narrowed, flat, np.uint64((y + b) * n_words + begin), words)
            table[row + b] += count
            left -= count
            if width_x < card_x:
                table[last_row + b] -= count
        rest -= left
        if width_y < card_y:
            table[row + width_y] += left
    if width_x < card_x and width_y < card_y:
        table[last_row + width_y] += rest


def count_strata_plainly(planes, n_rows, first_planes, cards, widths, given, x, y, rows, states, table):
    """:func:`count_strata` by numpy."""
    base, totals = np.append(given, x), np.zeros(table.size // cards[y], np.int64)
    begins = np.array([0, table.size])
    count_extensions_plainly(planes, first_planes, cards, widths, base, np.array([y]), begins, table, totals)


@part(plain=count_strata_plainly)
def count_strata(planes, n_rows, first_planes, cards, widths, given, x, y, rows, states, table):
    """Count the table of ``(*given, x, y)``, which is zero before, by planes.

    The configurations of the given variables are a tree that is gone through; its branches without rows are left out.
    ``rows`` has ``RUN`` words for each variable given and two times more, ``states`` a place for each and one more.
    """
    flat, n_words, depth = planes.reshape(-1), planes.shape[1], given.size
    for word in range(RUN):
        rows[word] = np.uint64(0xFFFFFFFFFFFFFFFF)
    for begin in range(0, n_words, RUN):
        words = min(RUN, n_words - begin)
        n = min(64 * words, n_rows - 64 * begin)
        level = 0
        states[0] = 0
        while level >= 0:
            if level < depth and states[level] < cards[given[level]]:
                plane = np.uint64((first_planes[given[level]] + states[level]) * n_words + begin)
                n = narrow_plane(rows, np.uint64(level * RUN), flat, plane, np.uint64((level + 1) * RUN), words)
                if n > 0:
                    level += 1
                    states[level] = 0
                else:
                    states[level] += 1
                continue
            if level == depth:
                configuration = 0
                for k in range(depth):
                    configuration = configuration * cards[given[k]] + states[k]
                add_stratum(
                    flat, n_words, begin, words, first_planes[x], widths[x], cards[x], first_planes[y], widths[y],
                    cards[y], rows, depth * RUN, n, table, configuration * cards[x] * cards[y]
                )  # fmt: skip
            level -= 1
            if level >= 0:
                states[level] += 1


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
def is_in_both(places, size, pools, length):
    """Whether the variables at some places of the second pool are all in the first, which has this length."""
    for i in range(size):
        inside = False
        for j in range(length):
            inside |= pools[0, j] == pools[1, places[i]]
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
        if progress[POOL] == 0 or not is_in_both(places, progress[SIZE], pools, lengths[0]):
            return True
        more = goes_on(places, progress[SIZE], lengths[1])


@part
def sorted_set(pools, which, places, size, base):
    """The variables at some places of one of two pools, ascending, into ``base``."""
    for i in range(size):
        v = pools[which, places[i]]
        j = i
        while j > 0 and base[j - 1] > v:
            base[j] = base[j - 1]
            j -= 1
        base[j] = v


def _steps_of_separating(*arguments):
    """About how many microseconds :func:`separate_pairs` takes without the compiler, if each pair takes two tests."""
    planes, xs = arguments[0], arguments[6]
    return xs.size * (400 + 2 * planes.shape[1])


@njit(cache=True, nogil=True, steps=_steps_of_separating)
def separate_pairs(
    planes, first_planes, cards, widths, most, n_rows, xs, ys, pools, lengths, largest, alpha, kind, fewest, most_tests,
    progress, places, found, dfs
):  # fmt: skip
    """Test the sets of each pair from where it stands on, until one has a p-value above alpha.

    ``pools[p, 0, :lengths[p, 0]]`` is the first pool of pair p, ``largest[p]`` the largest size. ``progress`` and
    ``places`` say which set it stands at; they are changed, and so many tests are made at the most. ``found`` and
    ``dfs`` receive the statistic and the degrees of freedom of the last test. With ``fewest`` from 0 on these are
    adjusted, and the statistic is 0 where there are fewer rows for each cell of the table.
    """
    base = np.empty(places.shape[1], np.int64)
    table = np.empty(2 * most, np.int64)
    words, states = np.empty((places.shape[1] + 2) * RUN, np.uint64), np.empty(places.shape[1] + 1, np.int64)
    rows, columns = np.empty(most), np.empty(most)
    limit = alpha * (1.0 - SLACK) - 1e-290
    for p in range(xs.size):
        x, y = xs[p], ys[p]
        now, at, pool, length = progress[p], places[p], pools[p], lengths[p]
        tests = 0
        while now[STATUS] <= DONE_WITH and tests < most_tests:
            if now[STATUS] == DONE_WITH and not to_next_set(now, at, pool, length, largest[p]):
                now[STATUS] = DEPENDENT
                break
            size = now[SIZE]
            sorted_set(pool, now[POOL], at, size, base)
            q = 1
            has_planes = first_planes[x] >= 0 and first_planes[y] >= 0
            for k in range(size):
                has_planes &= first_planes[base[k]] >= 0
                q = min(q * cards[base[k]], most + 1)
            if not has_planes or q * cards[x] * max(1, widths[y]) > most:
                now[STATUS] = TOO_LARGE
                break
            cells = cards[x] * cards[y]
            counted = table[: q * cells]
            for cell in range(counted.size):
                counted[cell] = 0
            count_strata(planes, n_rows, first_planes, cards, widths, base[:size], x, y, words, states, counted)
            statistic, df = plain_statistic(counted, q, cards[x], cards[y], rows, columns, kind == X2)
            if fewest < 0.0:
                df = float((cards[x] - 1) * (cards[y] - 1) * q)
            else:
                total = 0
                for count in counted:
                    total += count
                if total < fewest * cells * q:
                    statistic = 0.0
            found[p], dfs[p] = statistic, df
            tests += 1
            now[TESTED] += 1
            now[STATUS] = INDEPENDENT if alpha < 0.0 or upper_tail(statistic, df) > limit else DONE_WITH

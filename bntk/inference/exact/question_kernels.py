"""One question answered by one kernel: which tables matter, in what order to sum out, and the sums themselves.

Tables hold open variables only, observed ones being fixed when a table is read. The axes of every table are sorted by
when their variables are summed out, the next one innermost: so what is summed is contiguous in all tables, and axes
that tables share can be run through as one. All arrays are trusted.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np

from bntk._kernels import njit
from bntk.graph.kernels import INNER, WEIGHTED_MIN_FILL, order_nodes
from bntk.inference.exact.pass_kernels import FAINT, IMPOSSIBLE, LOST, POSSIBLE

#: Tables that are multiplied at once; with more, products could underflow before they are rescaled.
MOST_FACTORS = 8
#: Axes of a table: each has two states or more, so that there are not more than the logarithm of its entries.
MOST_AXES = 64

# What a family is needed for: its numbers, or its zeros alone.
NUMBERS, ZEROS = 1, 2
# The lines of ``table``: where it begins, where its axes are listed and how many, the next table of the same step, and
# whether it is about zeros alone.
BEGIN, AXES, N_AXES, NEXT, IS_ZEROS = 0, 1, 2, 3, 4
N_LINES = 5
# The lines of ``loop``: the axes of a step, where each is among them, their lengths and counters; the tables of a step
# and where they are being read.
AXIS, PLACE, LENGTH, COUNTER, AT = 0, 1, 2, 3, 4


@njit(**INNER)
def find_families(
    starts, members, child_starts, children, zeros, observed, targets, everything, role, passed_down, balls
):
    """Mark the families that the answer depends on, and those whose zeros could exclude the other findings.

    The first are found by the Bayes ball (Shachter 1998), from the targets and from uncertain findings; without
    targets, they are all that the probability of the findings depends on.
    """
    n = role.size
    n_sources = 0
    if everything:
        for v in range(n):
            role[v] = NUMBERS
        return
    any_target = targets.size > 0
    for k in range(targets.size):
        balls[n_sources] = 2 * targets[k]  # 2 v is a ball from a child of v, 2 v + 1 one from a parent
        n_sources += 1
    for v in range(n):
        if observed[v] < -1 or (not any_target and observed[v] >= 0):
            balls[n_sources] = 2 * v
            n_sources += 1
    n_balls = n_sources
    while n_balls:
        n_balls -= 1
        v = balls[n_balls] >> 1
        from_parent = balls[n_balls] & 1
        known = any_target and observed[v] >= 0
        if known == (from_parent == 1) and role[v] == 0:
            role[v] = NUMBERS
            for a in range(starts[v], starts[v + 1] - 1):
                balls[n_balls] = 2 * members[a]
                n_balls += 1
        if not known and passed_down[v] == 0 and any_target:
            passed_down[v] = 1
            for a in range(child_starts[v], child_starts[v + 1]):
                balls[n_balls] = 2 * children[a] + 1
                n_balls += 1
    # Findings that the answer does not depend on: upwards through families that do not allow everything.
    n_balls = 0
    for v in range(n):
        if observed[v] >= 0 and role[v] == 0 and zeros[v]:
            role[v] = ZEROS
            balls[n_balls] = v
            n_balls += 1
    while n_balls:
        n_balls -= 1
        v = balls[n_balls]
        for a in range(starts[v], starts[v + 1] - 1):
            u = members[a]
            if role[u] == 0 and zeros[u]:
                role[u] = ZEROS
                balls[n_balls] = u
                n_balls += 1


@njit(**INNER)
def join_families(starts, members, observed, role, who, local):
    """Number the open variables of the families that matter, and join those of each family: a row of bits for each."""
    m = 0
    for f in range(role.size):
        if role[f]:
            for a in range(starts[f], starts[f + 1]):
                v = members[a]
                if observed[v] < 0 and local[v] < 0:
                    local[v] = m
                    who[m] = v
                    m += 1
    rows = np.zeros((m, (m + 63) >> 6), np.uint64)
    for f in range(role.size):
        if role[f]:
            for a in range(starts[f], starts[f + 1]):
                i = local[members[a]]
                for b in range(starts[f], starts[f + 1]):
                    j = local[members[b]]
                    if i >= 0 and j >= 0 and i != j:
                        rows[i, j >> 6] |= np.uint64(1) << np.uint64(j & 63)
    return rows


@njit(**INNER)
def insert_axis(axes, n, variable, rank):
    """Insert a variable into n axes that are sorted by rank, the highest first; returns where."""
    at = n
    while at > 0 and rank[axes[at - 1]] < rank[variable]:
        axes[at] = axes[at - 1]
        at -= 1
    axes[at] = variable
    return at


@njit(**INNER)
def read_table(
    starts, members, strides, f, begin, is_zeros, observed, local, rank, who, cards, tables, loop, steps, data, end
):
    """Copy what the findings leave of a family's table, axes in order; returns their number and where it ends."""
    axes = loop[AXIS]
    n = np.int64(0)
    for a in range(starts[f], starts[f + 1]):
        v = members[a]
        if observed[v] >= 0:
            begin += observed[v] * strides[a]
        else:
            at = insert_axis(axes, n, local[v], rank)
            for i in range(n, at, -1):
                steps[i, 0] = steps[i - 1, 0]
            steps[at, 0] = strides[a]
            n += 1
    for i in range(n):
        loop[LENGTH, i] = cards[who[axes[i]]]
        loop[COUNTER, i] = 0
    inner = loop[LENGTH, n - 1] if n else 1
    step = steps[n - 1, 0] if n else 0
    level = n
    while level >= 0:
        for s in range(inner):
            value = tables[begin + s * step]
            data[end + s] = 1.0 if is_zeros and value > 0.0 else value
        end += inner
        level = n - 2
        while level >= 0:
            loop[COUNTER, level] += 1
            begin += steps[level, 0]
            if loop[COUNTER, level] < loop[LENGTH, level]:
                break
            begin -= loop[LENGTH, level] * steps[level, 0]
            loop[COUNTER, level] = 0
            level -= 1
    return n, end


@njit(**INNER)
def plan_product(pick, first, last, summed, table, axes, rank, who, cards, loop, steps):
    """The loops over the product of some tables summed over a variable (-1: none): number of axes, loops and entries.

    The axes of the result are ``loop[AXIS]``. Neighbouring axes that all tables have, or lack, alike are one loop.
    """
    place = loop[PLACE]
    n = np.int64(0)
    for j in range(first, last):
        begin = table[AXES, pick[j]]
        for a in range(begin, begin + table[N_AXES, pick[j]]):
            v = axes[a]
            if v != summed and place[v] < 0:
                insert_axis(loop[AXIS], n, v, rank)
                place[v] = 0
                n += 1
    for i in range(n):
        place[loop[AXIS, i]] = i
        for j in range(last - first):
            steps[i, j] = 0
    for j in range(first, last):
        begin = table[AXES, pick[j]]
        step = 1
        for a in range(begin + table[N_AXES, pick[j]] - 1, begin - 1, -1):
            if axes[a] != summed:
                steps[place[axes[a]], j - first] = step
            step *= cards[who[axes[a]]]
    n_loops = 0
    size = 1
    for i in range(n):
        length = cards[who[loop[AXIS, i]]]
        size *= length
        place[loop[AXIS, i]] = -1
        alike = n_loops > 0
        for j in range(last - first):
            alike = alike and steps[n_loops - 1, j] == steps[i, j] * length
        if not alike:
            n_loops += 1
            loop[LENGTH, n_loops - 1] = 1
        loop[LENGTH, n_loops - 1] *= length
        for j in range(last - first):
            steps[n_loops - 1, j] = steps[i, j]
    for j in range(first, last):
        loop[AT, j - first] = table[BEGIN, pick[j]]
    return n, n_loops, size


@njit(**INNER)
def write_product(n_tables, n_loops, r, loop, steps, data, end):
    """Write the sums over r contiguous entries of the products of some tables, from ``end`` on."""
    at = loop[AT]
    many = n_loops - 1
    length = loop[LENGTH, many] if n_loops else 1
    second = 1 if n_tables > 1 else 0
    a_step = steps[many, 0] if n_loops else 0
    b_step = steps[many, second] if n_loops else 0
    for i in range(n_loops):
        loop[COUNTER, i] = 0
    level = n_loops
    while level >= 0:
        a = at[0]
        b = at[second]
        for x in range(length):
            total = 0.0
            if n_tables == 1:
                for s in range(r):
                    total += data[a + s]
            elif n_tables == 2:
                for s in range(r):
                    total += data[a + s] * data[b + s]
            else:
                for s in range(r):
                    product = data[a + s] * data[b + s]
                    for j in range(2, n_tables):
                        product *= data[at[j] + (x * steps[many, j] if n_loops else 0) + s]
                    total += product
            data[end + x] = total
            a += a_step
            b += b_step
        end += length
        level = n_loops - 2
        while level >= 0:
            loop[COUNTER, level] += 1
            is_over = loop[COUNTER, level] == loop[LENGTH, level]
            back = loop[LENGTH, level] - 1 if is_over else -1
            for j in range(n_tables):
                at[j] -= back * steps[level, j]
            if not is_over:
                break
            loop[COUNTER, level] = 0
            level -= 1


@njit(**INNER)
def settle(data, begin, size, is_zeros, floor, is_careful):
    """Make a new table fit for products: what was found, its smallest entry that is not zero, what it is divided by.

    A table about zeros has only zeros and ones. If products may be too small for floats (``is_careful``), the largest
    entry becomes 1; ``floor`` is a bound from below on products that are not zero.
    """
    if is_zeros:
        for i in range(begin, begin + size):
            data[i] = 1.0 if data[i] > 0.0 else 0.0
        return POSSIBLE, 1.0, 1.0
    if not is_careful:
        return POSSIBLE, 1.0, 1.0
    top = 0.0
    low = np.inf
    least = np.inf
    for i in range(begin, begin + size):
        value = data[i]
        top = max(top, value)
        least = min(least, value)
        if value > 0.0:
            low = min(low, value)
    if low < FAINT or (least == 0.0 and floor < FAINT):
        return LOST, low, 1.0
    if top == 0.0:
        return IMPOSSIBLE, low, 1.0
    for i in range(begin, begin + size):
        data[i] /= top
    return POSSIBLE, low / top, top


@njit(
    cache=True,
    nogil=True,
    error_model="numpy",
    steps=lambda cards, starts, members, *rest: 6 * cards.size * members.size,
)
def plan_question(
    cards, starts, members, child_starts, children, zeros, observed, targets, everything, limit, room, order
):  # fmt: skip
    """What a question depends on, and the order of summing out: the number of open variables, and of entries.

    Family f has the variables ``members[starts[f]:starts[f + 1]]``, parents and then the child; ``zeros`` tells whether
    its table has any. ``observed`` has the state of a variable, -1 for an open one, less for one with an uncertain
    finding. Variables with one state are observed. The question is about the posterior of the targets, or without any
    about the probability of the findings, or about ``everything``. ``order`` has the open variables as they are summed
    out, then the targets; if the tables of all steps have more entries than the limit, it is not finished.

    ``room`` is memory for five numbers a variable and two a member. By variable: what its family is needed for, and its
    number among the open ones; by open variable: which it is, and its place in the order, in which the first target is
    the last.
    """
    n = cards.size
    role, local, who, rank, balls = room[:n], room[n : 2 * n], room[2 * n : 3 * n], room[3 * n : 4 * n], room[4 * n :]
    for v in range(n):
        role[v] = 0
        local[v] = -1
        rank[v] = 0
    find_families(starts, members, child_starts, children, zeros, observed, targets, everything, role, rank, balls)
    rows = join_families(starts, members, observed, role, who, local)
    m = rows.shape[0]
    n_steps = m - targets.size
    alive = balls
    sizes = np.empty(m)
    for i in range(m):
        sizes[i] = cards[who[i]]
        rank[i] = i
        alive[i] = 1
    for k in range(targets.size):
        alive[local[targets[k]]] = 0
        order[n_steps + k] = local[targets[k]]
    entries = order_nodes(rows, sizes, sizes, rank, WEIGHTED_MIN_FILL, alive, order[:n_steps], float(limit))
    if entries <= limit:
        for k in range(m):
            rank[order[k]] = k if k < n_steps else n_steps + m - 1 - k
            order[k] = who[order[k]]
    return m, entries


def _steps_of_running(cards, *rest):
    entries = rest[10]
    return 30 * cards.size + 6 * entries


@njit(cache=True, nogil=True, error_model="numpy", steps=_steps_of_running)
def run_question(
    cards, starts, members, strides, offsets, tables, lows, observed, likelihood, n_steps, m, entries, room,
    order, out,
):  # fmt: skip
    """The joint posterior of the targets in ``out``, and behind it the log probability of the findings it depends on.

    ``room`` and ``order`` are from :func:`plan_question`. The table of family f begins at ``offsets[f]`` and has
    ``strides``; its smallest entry that is not zero is ``lows[f]``. A variable with an uncertain finding has in
    ``observed`` -2 less where its vector begins in ``likelihood``, whose entries are at most 1.

    Returns what was found: POSSIBLE, IMPOSSIBLE or LOST.
    """
    n = cards.size
    role, local, who, rank = room[:n], room[n : 2 * n], room[2 * n : 3 * n], room[3 * n : 4 * n]
    # The tables that the findings leave, each with those that are summed out at the same step.
    n_tables, n_axes, need, floor = 0, 0, 64, 1.0
    for f in range(n):
        if role[f]:
            n_tables += 1
            n_axes += starts[f + 1] - starts[f]
            size = 1
            for a in range(starts[f], starts[f + 1]):
                if observed[members[a]] < 0:
                    size *= cards[members[a]]
            need += size
            if role[f] == NUMBERS:
                floor *= lows[f]
        if observed[f] < -1:
            n_tables += 1
            n_axes += 1
            need += cards[f]
            lowest = 1.0
            for s in range(cards[f]):
                value = likelihood[-2 - observed[f] + s]
                if value > 0.0:
                    lowest = min(lowest, value)
            floor *= lowest
    is_careful = floor < FAINT
    most = 2 * (n_tables + n_steps) + 2
    lines = max(m, MOST_AXES) + 1
    n_axes += (n_steps + n_tables + 2) * MOST_AXES
    ends = most * (N_LINES + 1) + n_steps + 1
    ints = np.empty(ends + 5 * lines + n_axes, np.int64)
    table = ints[: N_LINES * most].reshape(N_LINES, most)
    pick = ints[N_LINES * most : N_LINES * most + most]
    heads = ints[N_LINES * most + most : ends]
    loop = ints[ends : ends + 5 * lines].reshape(5, lines)
    axes = ints[ends + 5 * lines :]
    for k in range(n_steps + 1):
        heads[k] = -1
    for i in range(lines):
        loop[PLACE, i] = -1
    steps = np.empty((MOST_AXES, MOST_FACTORS), np.int64)
    # It begins with the smallest entry of each table, and with what a product was divided by.
    data = np.empty(2 * most + need + np.int64(entries))
    t, end, log_z = np.int64(0), np.int64(2 * most), 0.0
    n_axes = 0
    for f in range(2 * n):
        v = f >> 1
        begin = end
        width = 0
        if f & 1 == 0 and role[v]:
            width, end = read_table(
                starts, members, strides, v, offsets[v], role[v] == ZEROS, observed, local, rank, who, cards, tables,
                loop, steps, data, end,
            )  # fmt: skip
            data[t] = lows[v]
        elif f & 1 and observed[v] < -1:
            width = 1
            loop[AXIS, 0] = local[v]
            lowest = 1.0
            for s in range(cards[v]):
                value = likelihood[-2 - observed[v] + s]
                data[end] = value
                if value > 0.0:
                    lowest = min(lowest, value)
                end += 1
            data[t] = lowest
        else:
            continue
        if width == 0:
            if data[begin] == 0.0:
                return IMPOSSIBLE
            if role[v] == NUMBERS:
                log_z += np.log(data[begin])
            continue
        table[BEGIN, t] = begin
        table[AXES, t] = n_axes
        table[N_AXES, t] = width
        table[IS_ZEROS, t] = role[v] == ZEROS
        for i in range(width):
            axes[n_axes + i] = loop[AXIS, i]
        n_axes += width
        k = min(rank[axes[n_axes - 1]], n_steps)
        table[NEXT, t] = heads[k]
        heads[k] = t
        t += 1
    # Step by step: the product of all tables that have a variable, summed over it. The last one has the targets alone.
    n_picked = np.int64(0)
    first = np.int64(0)
    for k in range(n_steps + 1):
        at = heads[k]
        while at >= 0:
            pick[n_picked] = at
            n_picked += 1
            at = table[NEXT, at]
        while first < n_picked:
            last = min(n_picked, first + MOST_FACTORS)
            summed = np.int64(-1)
            r = np.int64(1)
            if last == n_picked and k < n_steps:
                summed = local[order[k]]
                r = cards[order[k]]
            width, n_loops, size = plan_product(pick, first, last, summed, table, axes, rank, who, cards, loop, steps)
            if end + size > data.size:
                larger = np.empty(2 * data.size + size)
                for i in range(end):
                    larger[i] = data[i]
                data = larger
            bound = 1.0
            for j in range(first, last):
                bound *= data[pick[j]]
            is_zeros = table[IS_ZEROS, pick[first]]
            write_product(last - first, n_loops, r, loop, steps, data, end)
            found, data[t], data[most + t] = settle(data, end, size, is_zeros, bound, is_careful)
            if found != POSSIBLE:
                return found
            log_z += np.log(data[most + t])
            table[BEGIN, t] = end
            table[AXES, t] = n_axes
            table[N_AXES, t] = width
            table[IS_ZEROS, t] = is_zeros
            for i in range(width):
                axes[n_axes + i] = loop[AXIS, i]
            n_axes += width
            end += size
            first = last
            if last < n_picked:  # the product of some is one of the others
                pick[n_picked] = t
                n_picked += 1
            elif width == 0:
                if data[end - 1] == 0.0:
                    return IMPOSSIBLE
                if not is_zeros:
                    log_z += np.log(data[end - 1])
            elif k < n_steps:
                at = min(rank[axes[n_axes - 1]], n_steps)
                table[NEXT, t] = heads[at]
                heads[at] = t
            t += 1
    out[out.size - 1] = log_z
    size = out.size - 1
    total = 0.0
    for i in range(size):
        out[i] = data[end - size + i] if n_steps < m else 1.0
        total += out[i]
    if total == 0.0:
        return IMPOSSIBLE
    for i in range(size):
        out[i] /= total
    out[size] += np.log(total)
    return POSSIBLE

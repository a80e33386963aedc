"""Kernels that sum a component of missing values out of a row: those that its observed cells and the target separate.

A component of one variable is summed at once. For a larger one its variables get local numbers, which are bits of a
word; then they are summed out, cheapest first. Functions that are called for each row or component take few arrays:
handing one over costs as much as summing a few states. So numbers of all kinds share one array, ``ints``, with a line
for each kind. All arrays are trusted.

To numba a constant is a type of its own, and a function that is called with one is compiled once more: numbers that are
handed on begin as ``np.int64``. Each level of calls is optimised once more with all that is below it: some functions
that are called in one place are inlined before that, which takes a third less time to compile.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np

from bntk._kernels import njit
from bntk.inference.elimination.lookup_kernels import INNER
from bntk.inference.exact.pass_kernels import FAINT

#: Variables of one component, the target among them, that are bits of a word.
MOST_LOCAL = 62
#: Tables that are multiplied at once; with more, their product could underflow before it is rescaled.
MOST_FACTORS = 8
#: A table whose largest entry is smaller is rescaled.
SMALL = 1e-10

#: What summing out is reckoned to cost, in nanoseconds or so: for each variable, and for each entry of its table.
STEP_COST, ENTRY_COST = 150, 4

#: In the place of a table's number. What has numbers too small for products is left to others, as what is too large.
DONE, IMPOSSIBLE, TOO_LARGE = 1, -1, -2

# The lines of ``ints``. By variable of the network: the row in which a variable or family was last met, local number.
SEEN, ENTERED, MET, PLACE = 0, 1, 2, 3
# By local variable: which of the network, number of states, its neighbours, the entries that summing it out takes.
VARIABLE, CARD, NEIGHBORS, COST, ORDER = 4, 5, 6, 7, 8
# By table: its local variables as bits, where it begins; tables yet to be multiplied; those chosen for a step.
MASK, BEGIN, ACTIVE, CHOSEN = 9, 10, 11, 12
# By step: where its tables begin among all STEP_TABLES, and which local variable it sums over (-1: none).
STEP_START, STEP_TABLES, STEP_SUM = 13, 14, 15
# Of the loops of one step, by axis: length and counter; by table: where it is, and its stride along the inner loop.
LENGTH, COUNTER, AT, INNER_STRIDE = 16, 17, 18, 19
# Numbers of local variables, families, tables and steps; the cost of the row so far; whether products may be too small.
SIZES = 20
# Missing cells to begin with; the families of a component.
SEEDS, FAMILY = 21, 22
N_LINES = 23


@njit(**INNER)
def sum_component(row, stamp, seed, families, target, budget, state, allowed, room):
    """Sum the component of a seed out; what it leaves over the states of the target is in the end of ``room.product``.

    Returns DONE and the log of what it was divided by, or (IMPOSSIBLE, 0), or (TOO_LARGE, 0).
    """
    ints, product, data = room.ints, room.product, room.data
    ints[SIZES, 4] += STEP_COST
    if ints[SIZES, 4] > budget:
        return TOO_LARGE, 0.0
    done, log_scale = sum_single(
        row, stamp, seed, families.starts, families.around, families.cards, state, allowed, target, ints, data,
        families.tables.size, product
    )  # fmt: skip
    if done != 0:
        return done, log_scale
    table = solve(row, stamp, seed, families, target, budget, state, allowed, room)
    if table < 0:
        return table, 0.0
    for step in range(ints[SIZES, 3]):
        if room.scales[step] != 1.0:
            log_scale -= np.log(room.scales[step])
    begin, stride = ints[BEGIN, table], 1 if ints[MASK, table] else 0
    width = product.size // 2
    for s in range(width):
        product[width + s] = data[begin + s * stride]
    return DONE, log_scale


@njit(**INNER)
def sum_single(row, stamp, seed, starts, around, cards, state, allowed, target, ints, data, lows, product):
    """Sum a component of one variable out; what it leaves over the states of the target is in the end of ``product``.

    ``lows`` is where the smallest numbers of the tables are in ``data``. Returns DONE and the log of what it was
    divided by, or (0, 0) if the component is larger, or (IMPOSSIBLE, 0), or (TOO_LARGE, 0) if products are too small.
    """
    r, width, end, floor = cards[seed], product.size // 2, lows + cards.size, 1.0
    for i in range(end, end + r):
        data[i] = 1.0
    with_target, log_scale, n_families = False, 0.0, 0
    a = starts[seed]
    while a < starts[seed + 1]:
        family, begin, size = around[a], around[a + 1], around[a + 2]
        a += 3
        if not allowed[family, row]:
            a += 2 * size
            continue
        inner, outer = 0, 0
        for m in range(a, a + 2 * size, 2):
            u = around[m]
            if u == seed:
                inner = around[m + 1]
            elif u == target:
                outer = around[m + 1]
            elif state[u, row] < 0:
                return 0, 0.0
            else:
                begin += state[u, row] * around[m + 1]
        a += 2 * size
        if outer > 0 and not with_target:
            with_target = True
            for k in range(1, width):
                for s in range(r):
                    data[end + k * r + s] = data[end + s]
        if with_target:
            for k in range(width):
                for s in range(r):
                    data[end + k * r + s] *= data[begin + k * outer + s * inner]
        else:
            for s in range(r):
                data[end + s] *= data[begin + s * inner]
        n_families += 1
        floor *= data[lows + family]
        if n_families % MOST_FACTORS == 0:
            last, top = end + (width * r if with_target else r), 0.0
            if floor < FAINT:
                floor = smallest(data, end, last)
                if floor < FAINT:
                    return TOO_LARGE, 0.0
            for i in range(end, last):
                top = max(top, data[i])
            if top == 0.0:
                break
            if top < SMALL:
                log_scale += np.log(top)
                floor /= top
                for i in range(end, last):
                    data[i] /= top
    if floor < FAINT and smallest(data, end, end + (width * r if with_target else r)) < FAINT:
        return TOO_LARGE, 0.0
    ints[SEEN, seed] = stamp
    top = 0.0
    for k in range(width):
        total = 0.0
        begin = end + (k * r if with_target else 0)
        for s in range(r):
            total += data[begin + s]
        product[width + k] = total
        top = max(top, total)
    return DONE if top > 0.0 else IMPOSSIBLE, log_scale


@njit(**INNER)
def smallest(data, begin, end):
    """The smallest entry of a stretch."""
    least = np.inf
    for i in range(begin, end):
        least = min(least, data[i])
    return least


@njit(**INNER)
def solve(row, stamp, seed, families, target, budget, state, allowed, room):
    """Sum the component of a seed out: the number of its last table, IMPOSSIBLE or TOO_LARGE."""
    ints, strides = room.ints, room.strides
    if not find_component(row, stamp, seed, families.starts, families.around, state, allowed, target, ints, strides):
        return TOO_LARGE
    if not choose_order(families.cards, budget, ints):
        return TOO_LARGE
    lows, floor = families.tables.size, 1.0
    for f in range(ints[SIZES, 1]):
        floor *= room.data[lows + ints[FAMILY, f]]
    ints[SIZES, 5] = floor < FAINT
    return sum_out(lows + families.cards.size, ints, strides, room.outer, room.scales, room.data)


@njit(**INNER)
def find_component(row, stamp, seed, starts, around, state, allowed, target, ints, strides):
    """Collect the missing values connected with the seed and the families that have them; False if there are too many.

    No variable or family of a row is in two components; ``stamp`` marks those that were met.
    """
    n_variables, n_tables, done = 2, 0, 1
    ints[VARIABLE, 0], ints[VARIABLE, 1] = target, seed
    ints[PLACE, seed], ints[SEEN, seed] = 1, stamp
    while done < n_variables:
        v = ints[VARIABLE, done]
        done += 1
        a = starts[v]
        while a < starts[v + 1]:
            family, begin, size = around[a], np.int64(around[a + 1]), around[a + 2]
            a += 3
            if ints[ENTERED, family] == stamp or not allowed[family, row]:
                a += 2 * size
                continue
            ints[ENTERED, family] = stamp
            ints[FAMILY, n_tables] = family
            mask = 0
            for m in range(a, a + 2 * size, 2):
                u = around[m]
                local = 0
                if u != target:
                    if state[u, row] >= 0:
                        begin += state[u, row] * around[m + 1]
                        continue
                    if ints[SEEN, u] != stamp:
                        if n_variables == MOST_LOCAL:
                            return False
                        ints[PLACE, u], ints[SEEN, u] = n_variables, stamp
                        ints[VARIABLE, n_variables] = u
                        n_variables += 1
                    local = ints[PLACE, u]
                mask |= 1 << local
                strides[n_tables, local] = around[m + 1]
            a += 2 * size
            ints[MASK, n_tables] = mask
            ints[BEGIN, n_tables] = begin
            n_tables += 1
    ints[SIZES, 0], ints[SIZES, 1] = n_variables, n_tables
    return True


@njit(**INNER)
def choose_order(cards, budget, ints):
    """Choose the order of summing out: always the variable with the smallest product table next.

    False when the row would cost more than the budget.
    """
    n_variables, n_tables = ints[SIZES, 0], ints[SIZES, 1]
    for local in range(n_variables):
        v = ints[VARIABLE, local]
        ints[CARD, local] = cards[v] if v >= 0 else 1
        ints[NEIGHBORS, local] = 0
    for f in range(n_tables):
        mask, bits, local = ints[MASK, f], ints[MASK, f], 0
        while bits:
            if bits & 1:
                ints[NEIGHBORS, local] |= mask
            bits >>= 1
            local += 1
    for local in range(1, n_variables):
        ints[COST, local] = _entries(ints[NEIGHBORS, local], ints, budget)
    spent = ints[SIZES, 4]
    for step in range(n_variables - 1):
        best = 0
        for local in range(1, n_variables):
            if ints[COST, local] >= 0 and (best == 0 or ints[COST, local] < ints[COST, best]):
                best = local
        ints[ORDER, step] = best
        spent += STEP_COST + ENTRY_COST * ints[COST, best]
        if spent > budget:
            return False
        ints[COST, best] = -1
        joined, local = ints[NEIGHBORS, best] & ~(1 << best), 1
        while joined >> local:
            if joined >> local & 1:
                ints[NEIGHBORS, local] = (ints[NEIGHBORS, local] | joined) & ~(1 << best)
                ints[COST, local] = _entries(ints[NEIGHBORS, local], ints, budget)
            local += 1
    ints[SIZES, 4] = spent
    return True


@njit(**INNER)
def _entries(mask, ints, budget):
    """The number of joint states of local variables, or some number beyond the budget."""
    size, local = 1, 0
    while mask and size <= budget:
        if mask & 1:
            size *= ints[CARD, local]
        mask >>= 1
        local += 1
    return size


@njit(**INNER)
def sum_out(n_entries, ints, strides, outer, scales, data):
    """Sum all local variables but the target out, in the order chosen; the number of the last table, or IMPOSSIBLE.

    There is room in ``data`` from ``n_entries`` on; TOO_LARGE if it does not suffice, or if products are too small.
    """
    n_active, end = ints[SIZES, 1], n_entries
    ints[SIZES, 2], ints[SIZES, 3], ints[STEP_START, 0] = n_active, 0, 0
    for f in range(n_active):
        ints[ACTIVE, f] = f
    for k in range(ints[SIZES, 0] - 1):
        summed = ints[ORDER, k]
        n_chosen, left, first = np.int64(0), 0, np.int64(0)
        for a in range(n_active):
            f = ints[ACTIVE, a]
            if ints[MASK, f] >> summed & 1:
                ints[CHOSEN, n_chosen] = f
                n_chosen += 1
            else:
                ints[ACTIVE, left] = f
                left += 1
        while first < n_chosen and end >= 0:
            last, over = n_chosen, summed
            if n_chosen - first > MOST_FACTORS:  # the product of some takes the place of the last of them
                last, over = first + MOST_FACTORS, np.int64(-1)
            end = multiply(first, last, over, end, ints, strides, outer, scales, data)
            first = last
            if last < n_chosen:
                first -= 1
                ints[CHOSEN, first] = ints[SIZES, 2] - 1
        if end < 0:
            return TOO_LARGE
        if scales[ints[SIZES, 3] - 1] == 0.0:
            return IMPOSSIBLE
        ints[ACTIVE, left] = ints[SIZES, 2] - 1
        n_active = left + 1
    return ints[SIZES, 2] - 1


@njit(**INNER)
def multiply(first, last, summed, end, ints, strides, outer, scales, data):
    """Make a table at ``end``: the product of the tables ``ints[CHOSEN, first:last]`` summed over a local variable.

    Returns where it ends, or -1 if there is no room or its numbers are too small. Its scale is 0 if it is zero
    everywhere.
    """
    made, step = ints[SIZES, 2], ints[SIZES, 3]
    begin, mask = ints[STEP_START, step], 0
    for i in range(first, last):
        f = ints[CHOSEN, i]
        ints[STEP_TABLES, begin + i - first] = f
        mask |= ints[MASK, f]
    ints[STEP_START, step + 1] = begin + last - first
    ints[STEP_SUM, step] = summed
    if summed >= 0:
        mask &= ~(1 << summed)
    n_axes, length = start_loop(step, mask, ints, strides, outer)
    size = np.int64(1)
    for local in range(ints[SIZES, 0] - 1, -1, -1):
        if mask >> local & 1:
            strides[made, local] = size
            size *= ints[CARD, local]
    if end + size > data.size:
        return -1
    ints[MASK, made], ints[BEGIN, made] = mask, end
    ints[SIZES, 2], ints[SIZES, 3] = made + 1, step + 1
    top = write_products(end, size, last - first, n_axes, length, ints, outer, data)
    if ints[SIZES, 5] and smallest(data, end, end + size) < FAINT:
        return -1
    scales[step] = 1.0
    if top < SMALL:
        scales[step] = 1.0 / top if top > 0.0 else 0.0
        for i in range(end, end + size):
            data[i] *= scales[step]
    return end + size


@njit(**INNER)
def start_loop(step, mask, ints, strides, outer):
    """Set the loops of a step up, over the variables in the mask; returns how many, and the length of the inner one."""
    begin, summed = ints[STEP_START, step], ints[STEP_SUM, step]
    n_tables = ints[STEP_START, step + 1] - begin
    n_axes, local = 0, 0
    while mask >> local:
        if mask >> local & 1:
            ints[LENGTH, n_axes] = ints[CARD, local]
            ints[COUNTER, n_axes] = 0
            for j in range(n_tables):
                f = ints[STEP_TABLES, begin + j]
                outer[n_axes, j] = strides[f, local] if ints[MASK, f] >> local & 1 else 0
            n_axes += 1
        local += 1
    for j in range(n_tables):
        f = ints[STEP_TABLES, begin + j]
        ints[AT, j] = ints[BEGIN, f]
        ints[INNER_STRIDE, j] = strides[f, summed] if summed >= 0 else 0
    return n_axes, ints[CARD, summed] if summed >= 0 else 1


@njit(**INNER)
def advance(n_tables, n_axes, ints, outer):
    """Go on to the next joint state of the axes."""
    for axis in range(n_axes - 1, -1, -1):
        ints[COUNTER, axis] += 1
        if ints[COUNTER, axis] < ints[LENGTH, axis]:
            for j in range(n_tables):
                ints[AT, j] += outer[axis, j]
            return
        ints[COUNTER, axis] = 0
        for j in range(n_tables):
            ints[AT, j] -= outer[axis, j] * (ints[LENGTH, axis] - 1)


@njit(**INNER)
def write_products(begin, size, n_tables, n_axes, length, ints, outer, data):
    """Write the sums of products of a step; returns the largest."""
    top = 0.0
    for entry in range(begin, begin + size):
        total = 0.0
        a, step_a = ints[AT, 0], ints[INNER_STRIDE, 0]
        b, step_b = ints[AT, 1], ints[INNER_STRIDE, 1]
        c, step_c = ints[AT, 2], ints[INNER_STRIDE, 2]
        if n_tables == 1:
            for s in range(length):
                total += data[a + s * step_a]
        elif n_tables == 2:
            for s in range(length):
                total += data[a + s * step_a] * data[b + s * step_b]
        else:
            for s in range(length):
                product = data[a + s * step_a] * data[b + s * step_b] * data[c + s * step_c]
                for j in range(3, n_tables):
                    product *= data[ints[AT, j] + s * ints[INNER_STRIDE, j]]
                total += product
        data[entry] = total
        top = max(top, total)
        advance(n_tables, n_axes, ints, outer)
    return top


@njit(**INNER)
def spread(beliefs, ints, strides, outer, scales, data):
    """From the belief in the last table to those in all, each step backwards: a product has its share of the sum."""
    made = ints[SIZES, 2] - 1
    end = ints[BEGIN, made] + 1
    for step in range(ints[SIZES, 3] - 1, -1, -1):
        n_axes, length = start_loop(step, ints[MASK, made], ints, strides, outer)
        n_tables = ints[STEP_START, step + 1] - ints[STEP_START, step]
        for entry in range(ints[BEGIN, made], end):
            if data[entry] > 0.0:
                share = beliefs[entry] * scales[step] / data[entry]
                for s in range(length):
                    product = share
                    for j in range(n_tables):
                        product *= data[ints[AT, j] + s * ints[INNER_STRIDE, j]]
                    for j in range(n_tables):
                        beliefs[ints[AT, j] + s * ints[INNER_STRIDE, j]] += product
            advance(n_tables, n_axes, ints, outer)
        end = ints[BEGIN, made]
        made -= 1

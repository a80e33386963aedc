"""Kernels for rows with missing cells: what the observed cells cut off is looked up, the rest is summed out row by row.

In a row, a variable that is neither observed nor above an observed one (or the target) sums to one and is left out. A
family all of whose other members are observed is a look-up in a log table. The missing cells that are left fall apart
into components, often of one or two variables, which the observed cells and the target separate; each is summed out
alone, cheapest variable first. What a row costs depends on its own missing cells, not on the size of the network.

Look-ups run for ``BLOCK`` rows side by side. Functions that are called for each row or component take few arrays:
handing one over costs as much as summing a few states. So numbers of all kinds share one array, ``ints``, with a line
for each kind. All arrays are trusted.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from bntk.inference.program_kernels import INNER as INNER_OPTIONS

# Without reference counts, which two threads would fight over: nothing is allocated here.
OUTER = {"cache": True, "nogil": True, "_nrt": False}
INNER = {**INNER_OPTIONS, "_nrt": False}

BLOCK = 64
#: Variables of one component, the target among them, that are bits of a word.
MOST_LOCAL = 62
#: Tables that are multiplied at once; with more, their product could underflow before it is rescaled.
MOST_FACTORS = 8
#: A table whose largest entry is smaller is rescaled.
SMALL = 1e-10
#: A product over components is kept as a number until it is smaller; logarithms are slow.
TINY = 1e-200

#: What summing out is reckoned to cost, in nanoseconds or so: for each variable, and for each entry of its table.
STEP_COST, ENTRY_COST = 150, 4

#: In the place of a table's number.
IMPOSSIBLE, TOO_LARGE = -1, -2
#: In the place of a code: missing, and missing without telling anything about other cells.
MISSING, LEFT_OUT = -1, -2
#: What a family with zeros says of a row, its missing cells summed out: nothing is possible, something, everything.
NOTHING, SOMETHING, EVERYTHING = 0, 1, 2
#: What is left to do for a row: components that its answer depends on, families that could exclude each other.
OPEN, DOUBTFUL = 1, 2

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
# Numbers of local variables, families, tables and steps; the cost of the row so far.
SIZES = 20
N_LINES = 21


class Families(NamedTuple):
    """The families of a network.

    The families with variable v are listed in ``around[starts[v]:starts[v + 1]]``, its own first: child, where its
    table begins in ``tables``, number of members, and for each member its variable and stride. ``order`` has every
    child after its parents.
    """

    cards: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    around: np.ndarray
    tables: np.ndarray


class Lookups(NamedTuple):
    """Families that an answer depends on, as log tables with the states of the target innermost.

    Look-up k is of the family of ``children[k]`` and reads the ``members[starts[k]:starts[k + 1]]``, which are without
    the target, with ``strides``. Its table begins at ``offsets[k]`` of ``log_tables``, whose first entries are zeros
    for families that a row does not use. It has the target if ``has_target[k]``. ``seeds`` are all members.
    """

    children: np.ndarray
    has_target: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    strides: np.ndarray
    offsets: np.ndarray
    log_tables: np.ndarray
    seeds: np.ndarray


class Supports(NamedTuple):
    """Families whose zeros can make a row impossible, as tables of NOTHING, SOMETHING, EVERYTHING.

    Laid out as :class:`Lookups`, with one more state for a missing cell; children come before their parents.
    """

    children: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    strides: np.ndarray
    offsets: np.ndarray
    says: np.ndarray


class Block(NamedTuple):
    """What is known of a block of rows, by variable or family and row.

    ``cells`` are codes as they are in the table; ``state`` has MISSING or LEFT_OUT in the place of a missing one. Only
    families with zeros are ever ``doubtful``.
    """

    cells: np.ndarray
    missing: np.ndarray
    live: np.ndarray
    state: np.ndarray
    incomplete: np.ndarray
    entry: np.ndarray
    used: np.ndarray
    keep: np.ndarray
    doubtful: np.ndarray
    scores: np.ndarray
    rest: np.ndarray
    is_open: np.ndarray


class Room(NamedTuple):
    """Working memory for one component: see the lines of ``ints``; ``data`` begins with the tables of the network."""

    ints: np.ndarray
    strides: np.ndarray
    outer: np.ndarray
    scales: np.ndarray
    product: np.ndarray
    data: np.ndarray


# ---- blocks of rows --------------------------------------------------------------------------------------------------


@njit(**INNER)
def load_block(codes, first, n, families, target, prune, block):
    """Read n rows from ``first`` on, and find what is left out."""
    cells, missing, live, state = block.cells, block.missing, block.live, block.state
    for v in range(families.cards.size):
        r = families.cards[v]
        some = np.uint8(0)
        for i in range(n):
            cells[v, i] = codes[v, first + i]
            missing[v, i] = codes[v, first + i] >= r
            some |= missing[v, i]
        block.incomplete[v] = some != 0 and v != target
    if target >= 0:
        missing[target, :n] = 0
    for k in range(families.order.size - 1, -1, -1):
        v = families.order[k]
        if not block.incomplete[v] or not prune:
            live[v, :n] = 1
            continue
        for i in range(n):
            live[v, i] = 1 - missing[v, i]
        a = families.starts[v]
        a += 3 + 2 * families.around[a + 2]
        while a < families.starts[v + 1]:
            child = families.around[a]
            for i in range(n):
                live[v, i] |= live[child, i]
            a += 3 + 2 * families.around[a + 2]
    for v in range(families.cards.size):
        for i in range(n):
            state[v, i] = cells[v, i] if not missing[v, i] else MISSING if live[v, i] else LEFT_OUT


@njit(**INNER)
def look_up(n, lookups, block):
    """Add up the log tables of all families without missing cells, and mark the rows that have others."""
    index, scores, rest, tables = block.entry, block.scores, block.rest, lookups.log_tables
    width = scores.shape[1]
    scores[:n] = 0.0
    rest[:n] = 0.0
    block.is_open[:n] = 0
    for k in range(lookups.children.size):
        child = lookups.children[k]
        complete = not block.incomplete[child]
        index[:n] = lookups.offsets[k]
        for m in range(lookups.starts[k], lookups.starts[k + 1]):
            column, stride = block.cells[lookups.members[m]], lookups.strides[m]
            for i in range(n):
                index[i] += column[i] * stride
            complete &= not block.incomplete[lookups.members[m]]
        if not complete:
            _leave_out(n, k, child, lookups, block)
        if not lookups.has_target[k]:
            for i in range(n):
                rest[i] += tables[index[i]]
        elif width == 2:
            for i in range(n):
                scores[i, 0] += tables[index[i]]
                scores[i, 1] += tables[index[i] + 1]
        else:
            for i in range(n):
                for s in range(width):
                    scores[i, s] += tables[index[i] + s]


@njit(**INNER)
def _leave_out(n, k, child, lookups, block):
    """Let the rows that have a missing cell in the family, or do not depend on it, look up a zero."""
    index, used, live = block.entry, block.used, block.live[child]
    for i in range(n):
        used[i] = live[i]
    for m in range(lookups.starts[k], lookups.starts[k + 1]):
        gone = block.missing[lookups.members[m]]
        for i in range(n):
            used[i] &= 1 - gone[i]
    for i in range(n):
        block.is_open[i] |= live[i] & (1 - used[i])
        index[i] *= used[i]


@njit(**INNER)
def look_for_zeros(n, families, supports, block):
    """Find the rows that a single family makes impossible, and those in which two could exclude each other."""
    index, rest, n_doubtful = block.entry, block.rest, block.used
    n_doubtful[:n] = 0
    for k in range(supports.children.size):
        v = supports.children[k]
        index[:n] = supports.offsets[k]
        for m in range(supports.starts[k], supports.starts[k + 1]):
            column, stride = block.cells[supports.members[m]], supports.strides[m]
            for i in range(n):
                index[i] += column[i] * stride
        doubtful = block.doubtful[v]
        for i in range(n):
            says = supports.says[index[i]]
            if says == NOTHING:
                rest[i] = -np.inf
            doubtful[i] = says == SOMETHING
        if block.incomplete[v]:
            _without_free_children(n, v, families, block)
        for i in range(n):
            n_doubtful[i] += doubtful[i] & (n_doubtful[i] < 2)
    for i in range(n):
        if n_doubtful[i] == 2:
            block.is_open[i] |= DOUBTFUL


@njit(**INNER)
def _without_free_children(n, v, families, block):
    """A missing child has some possible state whatever its parents are; unless another family is in doubt over it."""
    keep, doubtful, gone = block.keep, block.doubtful[v], block.missing[v]
    for i in range(n):
        keep[i] = 1 - gone[i]
    a = families.starts[v]
    a += 3 + 2 * families.around[a + 2]
    while a < families.starts[v + 1]:
        below = block.doubtful[families.around[a]]
        for i in range(n):
            keep[i] |= below[i]
        a += 3 + 2 * families.around[a + 2]
    for i in range(n):
        doubtful[i] &= keep[i]


# ---- components ------------------------------------------------------------------------------------------------------


@njit(**INNER)
def sum_single(row, stamp, seed, starts, around, cards, state, allowed, target, ints, data, end, product):
    """Sum a component of one variable out, and multiply ``product`` by what is left over the states of the target.

    Returns (1, log of the divisor) if that was done, (0, 0) if the component is larger, (IMPOSSIBLE, 0) if nothing is
    left.
    """
    r, width = cards[seed], product.size
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
        if n_families % MOST_FACTORS == 0:
            last, top = end + (width * r if with_target else r), 0.0
            for i in range(end, last):
                top = max(top, data[i])
            if top == 0.0:
                break
            if top < SMALL:
                log_scale += np.log(top)
                for i in range(end, last):
                    data[i] /= top
    ints[SEEN, seed] = stamp
    top = 0.0
    for k in range(width):
        total = 0.0
        begin = end + (k * r if with_target else 0)
        for s in range(r):
            total += data[begin + s]
        product[k] *= total
        top = max(top, total)
    return 1 if top > 0.0 else IMPOSSIBLE, log_scale


@njit(**INNER)
def find_component(row, stamp, seed, starts, around, state, allowed, target, ints, strides):
    """Collect the missing cells connected with the seed and the families that they are in; False if there are too many.

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
def sum_out(n_entries, ints, strides, outer, scales, data):
    """Sum all local variables but the target out, in the order chosen; the number of the last table, or IMPOSSIBLE.

    ``n_entries`` are the entries of the network's tables, after which there is room; TOO_LARGE if it does not suffice.
    """
    n_active, end = ints[SIZES, 1], n_entries
    ints[SIZES, 2], ints[SIZES, 3], ints[STEP_START, 0] = n_active, 0, 0
    for f in range(n_active):
        ints[ACTIVE, f] = f
    for k in range(ints[SIZES, 0] - 1):
        summed = ints[ORDER, k]
        n_chosen, left = 0, 0
        for a in range(n_active):
            f = ints[ACTIVE, a]
            if ints[MASK, f] >> summed & 1:
                ints[CHOSEN, n_chosen] = f
                n_chosen += 1
            else:
                ints[ACTIVE, left] = f
                left += 1
        first = 0
        while n_chosen - first > MOST_FACTORS and end >= 0:  # the product of some takes the place of the last of them
            end = multiply(first, first + MOST_FACTORS, -1, end, ints, strides, outer, scales, data)
            first += MOST_FACTORS - 1
            ints[CHOSEN, first] = ints[SIZES, 2] - 1
        if end >= 0:
            end = multiply(first, n_chosen, summed, end, ints, strides, outer, scales, data)
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

    Returns where it ends, or -1 if there is no room. Its scale is 0 if it is zero everywhere.
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
    size = 1
    for local in range(ints[SIZES, 0] - 1, -1, -1):
        if mask >> local & 1:
            strides[made, local] = size
            size *= ints[CARD, local]
    if end + size > data.size:
        return -1
    ints[MASK, made], ints[BEGIN, made] = mask, end
    ints[SIZES, 2], ints[SIZES, 3] = made + 1, step + 1
    top = write_products(end, size, last - first, n_axes, length, ints, outer, data)
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
def solve(row, stamp, seed, families, target, budget, state, allowed, room):
    """Sum the component of a seed out: the number of its last table, IMPOSSIBLE or TOO_LARGE."""
    ints, strides = room.ints, room.strides
    if not find_component(row, stamp, seed, families.starts, families.around, state, allowed, target, ints, strides):
        return TOO_LARGE
    if not choose_order(families.cards, budget, ints):
        return TOO_LARGE
    return sum_out(families.tables.size, ints, strides, room.outer, room.scales, room.data)


# ---- answers ---------------------------------------------------------------------------------------------------------


@njit(**INNER)
def add_component(row, stamp, seed, families, target, budget, allowed, block, room):
    """Multiply ``room.product`` by the component of a seed, and add what does not depend on the target to the rest.

    False when it is too large.
    """
    state, ints, product, data, rest = block.state, room.ints, room.product, room.data, block.rest
    end = families.tables.size
    starts, around, cards = families.starts, families.around, families.cards
    ints[SIZES, 4] += STEP_COST
    if ints[SIZES, 4] > budget:
        return False
    done, log_scale = sum_single(
        row, stamp, seed, starts, around, cards, state, allowed, target, ints, data, end, product
    )
    if done == 1:
        rest[row] += log_scale
    elif done == IMPOSSIBLE:
        rest[row] = -np.inf
    else:
        table = solve(row, stamp, seed, families, target, budget, state, allowed, room)
        if table == TOO_LARGE:
            return False
        if table == IMPOSSIBLE:
            rest[row] = -np.inf
            return True
        for step in range(ints[SIZES, 3]):
            if room.scales[step] != 1.0:
                rest[row] -= np.log(room.scales[step])
        begin, stride = ints[BEGIN, table], 1 if ints[MASK, table] else 0
        for s in range(product.size):
            product[s] *= data[begin + s * stride]
    for s in range(product.size):
        if product[s] < TINY:
            _use_product(row, product, block.scores)
    return True


@njit(**INNER)
def _use_product(row, product, scores):
    for s in range(product.size):
        if product[s] != 1.0:
            scores[row, s] += np.log(product[s])
            product[s] = 1.0


@njit(**INNER)
def add_components(row, stamp, families, lookups, target, budget, block, room):
    """Add the components of a row that matter to its scores; False when one of them is too large."""
    room.product[:] = 1.0
    state, seen = block.state, room.ints[SEEN]
    for i in range(lookups.seeds.size):
        seed = lookups.seeds[i]
        if state[seed, row] != MISSING or seen[seed] == stamp:
            continue
        if not add_component(row, stamp, seed, families, target, budget, block.live, block, room):
            return False
    _use_product(row, room.product, block.scores)
    return True


@njit(**INNER)
def exclude(row, stamp, families, supports, budget, block, room):
    """Find out whether the families that allow something, but not everything, leave any state of the missing cells.

    All others allow everything, and so are left out here. False when there are too many.
    """
    state, seen, doubtful = block.state, room.ints[SEEN], block.doubtful
    if not _share_cells(row, stamp, supports, block, room.ints[MET]):
        return True
    for k in range(supports.children.size):
        if not doubtful[supports.children[k], row]:
            continue
        for m in range(supports.starts[k], supports.starts[k + 1]):
            seed = supports.members[m]
            if state[seed, row] == MISSING and seen[seed] != stamp:
                room.product[:] = 1.0
                if not add_component(row, stamp, seed, families, -1, budget, doubtful, block, room):
                    return False
    return True


@njit(**INNER)
def _share_cells(row, stamp, supports, block, met):
    """Whether two of the families in doubt have a missing cell in common; if not, each can have its way."""
    for k in range(supports.children.size):
        if block.doubtful[supports.children[k], row]:
            for m in range(supports.starts[k], supports.starts[k + 1]):
                v = supports.members[m]
                if block.state[v, row] == MISSING:
                    if met[v] == stamp:
                        return True
                    met[v] = stamp
    return False


@njit(**OUTER)
def score_rows(codes, begin, end, families, lookups, supports, target, budget, normalise, block, room, out, too_large):
    """out[row] = log P(target, observed cells), or normalised the posterior of the target, for rows begin..end.

    Without a target (-1) it is log P(observed cells). Rows that would cost more than the budget are marked in
    ``too_large``.
    """
    for first in range(begin, end, BLOCK):
        n = min(BLOCK, end - first)
        load_block(codes, first, n, families, target, True, block)
        look_up(n, lookups, block)
        look_for_zeros(n, families, supports, block)
        for i in range(n):
            row = first + i
            answered = True
            room.ints[SIZES, 4] = 0
            if block.is_open[i] & OPEN and block.rest[i] > -np.inf:
                answered = add_components(i, 2 * row, families, lookups, target, budget, block, room)
            if block.is_open[i] & DOUBTFUL and block.rest[i] > -np.inf:
                answered &= exclude(i, 2 * row + 1, families, supports, budget, block, room)
            too_large[row] = not answered
            if normalise:
                _normalise(block.scores[i], block.rest[i], out[row])
            else:
                for s in range(out.shape[1]):
                    out[row, s] = block.scores[i, s] + block.rest[i]


@njit(**INNER)
def _normalise(scores, rest, out):
    top = -np.inf
    for s in range(scores.size):
        top = max(top, scores[s])
    if top == -np.inf or rest == -np.inf:
        out[:] = np.nan
        return
    total = 0.0
    for s in range(scores.size):
        out[s] = np.exp(scores[s] - top)
        total += out[s]
    for s in range(scores.size):
        out[s] /= total


@njit(**OUTER)
def count_rows(codes, weights, begin, end, families, budget, block, room, beliefs, too_large):
    """Add P(family | row) to the beliefs, for rows begin..end and families with missing cells, weighted.

    The first entries of ``beliefs`` are over those of the network's tables; the rest is room to work. Returns the sum
    of the logs of the components; rows with one that is too large are marked.
    """
    total = 0.0
    ints, data, scales, n_entries = room.ints, room.data, room.scales, families.tables.size
    for first in range(begin, end, BLOCK):
        n = min(BLOCK, end - first)
        load_block(codes, first, n, families, -1, False, block)  # a cell that tells nothing has expected counts too
        for i in range(n):
            row, weight = first + i, weights[first + i]
            ints[SIZES, 4] = 0
            for seed in range(families.cards.size):
                if block.state[seed, i] != MISSING or ints[SEEN, seed] == row:
                    continue
                table = solve(i, row, seed, families, -1, budget, block.state, block.live, room)
                if table == TOO_LARGE:
                    too_large[row] = True
                    break
                if table == IMPOSSIBLE:
                    if weight > 0.0:
                        total = -np.inf
                    continue
                last = ints[BEGIN, table]
                total += weight * np.log(data[last])
                for step in range(ints[SIZES, 3]):
                    if scales[step] != 1.0:
                        total -= weight * np.log(scales[step])
                beliefs[n_entries:last] = 0.0
                beliefs[last] = weight
                spread(beliefs, ints, room.strides, room.outer, scales, data)
    return total


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

"""Kernels for rows with missing values: what observed cells cut off is looked up, the rest is summed out row by row.

In a row, a variable that is neither observed nor above an observed one (or the target) sums to one and is left out. A
family all of whose other members are observed is a look-up in a log table. The missing values that are left fall apart
into components, often of one or two variables, which the observed cells and the target separate; each is summed out
alone, cheapest variable first. What a row costs depends on its own missing values, not on the size of the network.

:mod:`bntk.inference.elimination.lookup_kernels` has the look-ups, which run for ``BLOCK`` rows side by side, and
:mod:`bntk.inference.elimination.component_kernels` the sums. All arrays are trusted.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bntk._kernels import njit
from bntk.inference.elimination.component_kernels import (
    BEGIN,
    IMPOSSIBLE,
    MET,
    SEEDS,
    SEEN,
    SIZES,
    TOO_LARGE,
    solve,
    spread,
    sum_component,
)
from bntk.inference.elimination.lookup_kernels import (
    BLOCK,
    DOUBTFUL,
    INNER,
    MISSING,
    NOTHING,
    OPEN,
    OUTER,
    add_entries,
    find_entries,
    finish_rows,
    has_missing,
    load_block,
    look_for_zeros,
    look_up,
)
from bntk.inference.exact.pass_kernels import FAINT

#: Numbers that the line of a family has at least, see :class:`Families`.
LINE = 5
LOG_FAINT = np.log(FAINT)
#: A product over components is kept as a number until it is smaller; logarithms are slow.
TINY = 1e-200


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
    """Tables of families, one after another: logs, with the states of the target innermost, or what zeros say.

    Look-up k is of the family of ``children[k]`` and reads the ``members[starts[k]:starts[k + 1]]``, which are without
    the target, with ``strides``. Its table begins at ``offsets[k]`` of ``tables``. It has the target if
    ``has_target[k]``. ``seeds`` are all members.

    The first entries of log tables are zeros for families that a row does not use. Families whose zeros can make a row
    impossible have tables of NOTHING, SOMETHING, EVERYTHING, with one more state for a missing value, children before
    their parents.
    """

    children: np.ndarray
    has_target: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    strides: np.ndarray
    offsets: np.ndarray
    tables: np.ndarray
    seeds: np.ndarray


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
    """Working memory for one component: see the lines of ``ints``.

    ``data`` begins with the tables of the network, and the smallest number of each that is not zero. ``product`` has
    the product over components by state of the target, and behind that what the last component left.
    """

    ints: np.ndarray
    strides: np.ndarray
    outer: np.ndarray
    scales: np.ndarray
    product: np.ndarray
    data: np.ndarray


@njit(**OUTER, steps=lambda codes, begin, end, cards, lookups, *rest: (end - begin) * lookups.members.size)
def look_up_rows(codes, begin, end, cards, lookups, supports, normalise, entry, rest, out, open_blocks):
    """out[row] = log P(target, observed cells), or normalised the posterior of the target, for blocks of rows.

    Blocks with a missing value that an answer could depend on are only marked in ``open_blocks``; returns how many of
    them there are. Complete rows need nothing else, and this compiles quickly.
    """
    n_open = 0
    for first in range(begin, end, BLOCK):
        n = min(BLOCK, end - first)
        if has_missing(codes, first, n, lookups.seeds, cards) or has_missing(codes, first, n, supports.seeds, cards):
            open_blocks[first // BLOCK] = True
            n_open += 1
            continue
        for i in range(n):
            rest[i] = 0.0
            for s in range(out.shape[1]):
                out[first + i, s] = 0.0
        for k in range(lookups.children.size):
            a, b = lookups.starts[k], lookups.starts[k + 1]
            find_entries(codes, first, n, lookups.offsets[k], a, b, lookups.members, lookups.strides, entry)
            add_entries(first, n, lookups.has_target[k], entry, lookups.tables, out, rest)
        for k in range(supports.children.size):
            a, b = supports.starts[k], supports.starts[k + 1]
            find_entries(codes, first, n, supports.offsets[k], a, b, supports.members, supports.strides, entry)
            for i in range(n):
                if supports.tables[entry[i]] == NOTHING:
                    rest[i] = -np.inf
        finish_rows(n, first, out, rest, normalise, first, out)
    return n_open


@njit(**OUTER, steps=lambda codes, begin, end, blocks, families, *rest: (end - begin) * (60 + families.around.size / 3))
def score_rows(
    codes, begin, end, open_blocks, families, lookups, supports, target, budget, normalise, block, room, out, too_large
):  # fmt: skip
    """out[row] = log P(target, observed cells), or normalised the posterior of the target, for rows begin..end.

    Only rows of blocks that are open. Without a target (-1) it is log P(observed cells). Rows that would cost more than
    the budget are marked in ``too_large``.
    """
    prune = True
    for first in range(begin, end, BLOCK):
        if not open_blocks[first // BLOCK]:
            continue
        n = min(BLOCK, end - first)
        load_block(codes, first, n, families, target, prune, block)
        look_up(n, lookups, block)
        look_for_zeros(n, families, supports, block)
        for i in range(n):
            if block.is_open[i]:
                too_large[first + i] = not score_row(
                    i, 2 * (first + i), families, lookups, supports, target, budget, block, room
                )
        finish_rows(n, np.int64(0), block.scores, block.rest, normalise, first, out)


@njit(**INNER)
def score_row(row, stamp, families, lookups, supports, target, budget, block, room):
    """Add the components that matter to the scores of a row; False when they are too large.

    First those of missing values that the answer depends on, then those that could leave nothing possible.
    """
    ints, product, rest = room.ints, room.product, block.rest
    ints[SIZES, 4] = 0
    for part in range(OPEN, DOUBTFUL + 1):
        if not block.is_open[row] & part or rest[row] == -np.inf:
            continue
        allowed, n_seeds = block.live, np.int64(0)
        if part == OPEN:
            n_seeds = open_cells(row, lookups.seeds, block.state, ints)
        else:
            stamp, target, allowed = stamp + 1, np.int64(-1), block.doubtful
            n_seeds = doubtful_cells(row, stamp, supports, block.state, allowed, ints)
        width = product.size // 2
        for s in range(width):
            product[s] = 1.0
        for k in range(n_seeds):
            seed = ints[SEEDS, k]
            if ints[SEEN, seed] == stamp:
                continue
            done, log_scale = sum_component(row, stamp, seed, families, target, budget, block.state, allowed, room)
            if done == TOO_LARGE:
                return False
            rest[row] = -np.inf if done == IMPOSSIBLE else rest[row] + log_scale
            multiply_in(row, product, block.scores)
        if part == OPEN:
            for s in range(width):
                if product[s] != 1.0:
                    block.scores[row, s] += np.log(product[s])
    return True


@njit(**INNER)
def multiply_in(row, product, scores):
    """Multiply the product by what a component left; where that would be small, both go to the scores of the row."""
    width = product.size // 2
    for s in range(width):
        both = product[s] * product[width + s]
        if both < TINY:
            scores[row, s] += np.log(product[s]) + np.log(product[width + s])
            both = 1.0
        product[s] = both


@njit(**INNER)
def open_cells(row, seeds, state, ints):
    """List the missing values among some variables; returns how many."""
    found = 0
    for i in range(seeds.size):
        if state[seeds[i], row] == MISSING:
            ints[SEEDS, found] = seeds[i]
            found += 1
    return found


@njit(**INNER)
def doubtful_cells(row, stamp, supports, state, doubtful, ints):
    """List the missing values of the families that allow something, but not everything; returns how many.

    All others allow everything. None if no two of them have a missing value in common: then each can have its way.
    """
    found, shared = 0, False
    for k in range(supports.children.size):
        if doubtful[supports.children[k], row]:
            for m in range(supports.starts[k], supports.starts[k + 1]):
                v = supports.members[m]
                if state[v, row] == MISSING:
                    if ints[MET, v] == stamp:
                        shared = True
                    else:
                        ints[MET, v] = stamp
                        ints[SEEDS, found] = v
                        found += 1
    return found if shared else 0


@njit(
    **OUTER, steps=lambda codes, weights, begin, end, families, *rest: (end - begin) * (200 + families.around.size / 2)
)
def count_rows(codes, weights, begin, end, families, budget, log_low, block, room, beliefs, too_large):
    """Add P(family | row) to the beliefs, for rows begin..end and families with missing values, weighted.

    The first entries of ``beliefs`` are over those of the network's tables; the rest is room to work. Returns the sum
    of the logs of the components. Rows with a component that is too large, or whose numbers are too small, are marked
    and add nothing. ``log_low`` is the log of the smallest number in a table; where it could make a product too small,
    all components of a row are tried before any is counted.
    """
    total = 0.0
    ints, data, scales, n_entries = room.ints, room.data, room.scales, families.tables.size
    no_target, prune = np.int64(-1), False  # a cell that tells nothing has expected counts too
    for first in range(begin, end, BLOCK):
        n = min(BLOCK, end - first)
        load_block(codes, first, n, families, no_target, prune, block)
        n_tables = block.entry
        for i in range(n):
            n_tables[i] = 0
        for v in range(families.cards.size):
            around_v = (families.starts[v + 1] - families.starts[v]) // LINE
            for i in range(n):
                n_tables[i] += around_v * block.missing[v, i]
        for i in range(n):
            row, weight = first + i, weights[first + i]
            counts_at = 1 if n_tables[i] * log_low < LOG_FAINT else 0  # once more
            for time in range(counts_at + 1):
                stamp = 2 * row + time
                ints[SIZES, 4] = 0
                for seed in range(families.cards.size):
                    if block.state[seed, i] != MISSING or ints[SEEN, seed] == stamp or too_large[row]:
                        continue
                    table = solve(i, stamp, seed, families, no_target, budget, block.state, block.live, room)
                    if table == TOO_LARGE:
                        too_large[row] = True
                    if table < 0 or time < counts_at:
                        if table == IMPOSSIBLE and weight > 0.0:
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

"""Kernels that read rows: contingency tables of families, and numbers for distinct keys.

All of them trust their arguments; names, bounds and sizes are checked where a :class:`Counter` is called. Each
releases the GIL, so that plain threads run them side by side.

A family is counted in two steps for each block of rows: the mixed-radix index of every row (vectorised by the
compiler), then one increment per row. Two things make the second step quick for small tables.
``benchmarks/counting.py`` shows both beside a plain kernel: 37 families of alarm's shape, 1,000,000 rows, one thread,
0.017 s and 0.18 s. In the sketch that they were chosen with, on such data, blocks alone took 0.075 s, lanes 0.026 s,
and both 0.014 s:

- *packing*: while ``slots ** c`` fits the scratch table, the indices of ``c`` rows become one index, so that one
  increment counts ``c`` rows; the scratch table is folded back at the end;
- *lanes*: neighbouring increments go to four copies of the scratch table. Data are skewed, so neighbours often hit
  the same entry, and a processor that has to load what it has just stored waits for it. Weights have lanes too.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np

from bntk._kernels import njit, part

# Rows whose index is made at once: it stays in the first-level cache and divides by 2, 3, 4 and 6.
BLOCK = 6144
# Rows for which the index of the shared variables is kept; the scratch table is folded once for each stretch.
STRETCH = 1 << 16
# Largest scratch table: four lanes of 2048 unsigned 32-bit entries fill a first-level cache of 32 KiB.
SCRATCH = 2048
LANES = 4


@part
def append_digit(index, column, radix):
    """``index * radix + column``, in place."""
    for k in range(index.size):
        index[k] = index[k] * radix + column[k]


@part
def append_columns(codes, start, variables, cards, missing, index, incomplete):
    """Append the codes of some variables to the index of a block of rows; mark the rows with a missing cell."""
    for variable in variables:
        column = codes[variable, start : start + index.size]
        append_digit(index, column, cards[variable])
        if missing[variable]:
            absent = codes.dtype.type(cards[variable])
            for k in range(column.size):
                incomplete[k] |= column[k] == absent


@part
def index_block(
    codes, start, members, cards, missing, base_index, base_incomplete, entries, missing_slot, index, incomplete
):  # fmt: skip
    """Index of a block of rows in one family, after the index of the shared variables.

    A row with a missing cell gets the index one past the last entry, so that counting itself needs no branch;
    ``missing_slot`` is 1 when there may be such rows, else 0.
    """
    for k in range(index.size):
        index[k] = base_index[k]
        incomplete[k] = base_incomplete[k]
    append_columns(codes, start, members, cards, missing, index, incomplete)
    if missing_slot:
        for k in range(index.size):
            if incomplete[k]:
                index[k] = entries


@part
def fold(scratch, slots, packed, table):
    """Add a scratch table of ``slots ** packed`` entries (the first lane) to the table of single rows."""
    size = slots**packed
    while packed > 1:
        size //= slots
        packed -= 1
        for u in range(size):
            total = np.uint32(0)
            for v in range(slots):
                count = scratch[u * slots + v]
                total += count
                table[v] += count
            scratch[u] = total
    for v in range(slots):
        table[v] += scratch[v]


@part
def increment_lanes(index, scratch, size):
    """One increment for each index, in turn in four copies of the scratch table."""
    one = np.uint32(1)
    first, second = scratch[:size], scratch[size : 2 * size]
    third, fourth = scratch[2 * size : 3 * size], scratch[3 * size : 4 * size]
    whole = index.size // 4 * 4
    for k in range(0, whole, 4):
        first[index[k]] += one
        second[index[k + 1]] += one
        third[index[k + 2]] += one
        fourth[index[k + 3]] += one
    for k in range(whole, index.size):
        first[index[k]] += one


@part
def add_lanes(index, weights, scratch, size):
    """Add the weight of each index, in turn in four copies of the scratch table."""
    first, second = scratch[:size], scratch[size : 2 * size]
    third, fourth = scratch[2 * size : 3 * size], scratch[3 * size : 4 * size]
    whole = index.size // 4 * 4
    for k in range(0, whole, 4):
        first[index[k]] += weights[k]
        second[index[k + 1]] += weights[k + 1]
        third[index[k + 2]] += weights[k + 2]
        fourth[index[k + 3]] += weights[k + 3]
    for k in range(whole, index.size):
        first[index[k]] += weights[k]


@part
def sum_lanes(scratch, size):
    """Sum the four copies of the scratch table into the first."""
    for k in range(size):
        scratch[k] = (scratch[k] + scratch[size + k]) + (scratch[2 * size + k] + scratch[3 * size + k])


@part
def rows_per_increment(slots, rows):
    """How many rows are packed into one increment; 0 when even the scratch table of single rows would not pay."""
    limit = min(SCRATCH, rows // 8)
    packed, size = 0, slots
    while size <= limit and packed < 8:
        packed += 1
        size *= max(slots, 2)
    return packed


@part
def count_packed(
    codes, start, stop, members, cards, missing, base_index, base_incomplete, entries, missing_slot, index, incomplete,
    packed, scratch, table
):  # fmt: skip
    """Count one family over a stretch of rows through the scratch table."""
    slots = entries + missing_slot
    size = slots**packed
    for k in range(LANES * size):
        scratch[k] = 0
    for first in range(start, stop, BLOCK):
        rows = min(BLOCK, stop - first)
        block, flags = index[:rows], incomplete[:rows]
        done = first - start
        index_block(
            codes, first, members, cards, missing, base_index[done : done + rows],
            base_incomplete[done : done + rows], entries, missing_slot, block, flags
        )  # fmt: skip
        part = rows // packed
        together = block[:part]
        for p in range(1, packed):
            append_digit(together, block[p * part : (p + 1) * part], slots)
        for k in range(packed * part, rows):
            table[block[k]] += 1
        increment_lanes(together, scratch, size)
    sum_lanes(scratch, size)
    fold(scratch, slots, packed, table)


@part
def count_directly(
    codes, start, stop, members, cards, missing, base_index, base_incomplete, entries, missing_slot, index, incomplete,
    weights, lanes, table
):  # fmt: skip
    """Count one family over a stretch of rows, one at a time; weights of None mean weight one."""
    size = table.size
    use_lanes = False
    if weights is not None:
        use_lanes = LANES * size <= lanes.size and 8 * size <= stop - start
        for k in range(LANES * size if use_lanes else 0):
            lanes[k] = 0
    for first in range(start, stop, BLOCK):
        rows = min(BLOCK, stop - first)
        block, flags = index[:rows], incomplete[:rows]
        done = first - start
        index_block(
            codes, first, members, cards, missing, base_index[done : done + rows],
            base_incomplete[done : done + rows], entries, missing_slot, block, flags
        )  # fmt: skip
        if weights is None:
            for k in range(rows):
                table[block[k]] += 1
        elif use_lanes:
            add_lanes(block, weights[first : first + rows], lanes, size)
        else:
            for k in range(rows):
                table[block[k]] += weights[first + k]
    if weights is not None and use_lanes:
        sum_lanes(lanes, size)
        for k in range(size):
            table[k] += lanes[k]


@part
def any_missing(missing, variables):
    """One when some of the variables have missing values, else zero."""
    found = np.int64(0)
    for variable in variables:
        if missing[variable]:
            found = np.int64(1)
    return found


def _steps_of_counting(codes, start, stop, cards, missing, base, pointers, members, offsets, weights, out):
    """About how many microseconds :func:`count_families_plainly` takes."""
    n_families = pointers.size - 1
    used = (base.size + 2) * n_families + int(pointers[-1] - pointers[0])
    return 8 * n_families + used * (stop - start) / (300 if weights is None else 50)


def count_families_plainly(codes, start, stop, cards, missing, base, pointers, members, offsets, weights, out):
    """:func:`count_families` by numpy, for few rows; weights are added in the same order."""
    for first in range(start, stop, STRETCH):
        last = min(first + STRETCH, stop)
        base_index = np.zeros(last - first, np.int64)
        base_incomplete = np.zeros(last - first, np.bool_)
        append_plainly(codes[:, first:last], base, cards, missing, base_index, base_incomplete)
        for f in range(pointers.size - 1):
            index, incomplete = base_index.copy(), base_incomplete.copy()
            others = members[pointers[f] : pointers[f + 1]]
            append_plainly(codes[:, first:last], others, cards, missing, index, incomplete)
            table = out[offsets[f] : offsets[f + 1]]
            index[incomplete] = table.size - 1
            if weights is None:
                table += np.bincount(index, minlength=table.size)
            else:
                add_plainly(index, weights[first:last], table)


def append_plainly(codes, variables, cards, missing, index, incomplete):
    """:func:`append_columns` by numpy."""
    for variable in variables.tolist():
        column = codes[variable]
        index *= cards[variable]
        index += column
        if missing[variable]:
            incomplete |= column == cards[variable]


def add_plainly(index, weights, table):
    """Add weights to a table as :func:`count_directly` does: in four lanes where they pay."""
    size, n = table.size, index.size
    if LANES * size > LANES * SCRATCH // 2 or 8 * size > n:
        np.add.at(table, index, weights)
        return
    lane = np.arange(n) % LANES
    lane[n // LANES * LANES :] = 0
    lanes = np.bincount(index + size * lane, weights, minlength=LANES * size).reshape(LANES, size)
    table += (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])


@njit(cache=True, nogil=True, steps=_steps_of_counting, plain=count_families_plainly)
def count_families(codes, start, stop, cards, missing, base, pointers, members, offsets, weights, out):
    """Add the rows ``start:stop`` to the tables of all families.

    ``base`` are the first variables of every family; the others of family ``f`` are
    ``members[pointers[f]:pointers[f + 1]]``. Its table is ``out[offsets[f]:offsets[f + 1]]``: one entry for each
    configuration, the last variable fastest, and one more that collects the incomplete rows. ``weights`` is None for
    plain counts (``out`` of integers), else one per row (``out`` of floats); each is compiled without the other.
    """
    stretch = min(STRETCH, stop - start)
    base_index = np.empty(stretch, np.uint32)
    base_incomplete = np.empty(stretch, np.bool_)
    narrow = np.empty(min(BLOCK, stretch), np.uint16)
    wide = np.empty(min(BLOCK, stretch), np.uint32)
    incomplete = np.empty(min(BLOCK, stretch), np.bool_)
    scratch = np.empty(LANES * SCRATCH, np.uint32)
    lanes = np.empty(LANES * SCRATCH // 2, np.float64)
    for first in range(start, stop, STRETCH):
        last = min(first + STRETCH, stop)
        for k in range(last - first):
            base_index[k] = 0
            base_incomplete[k] = False
        append_columns(codes, first, base, cards, missing, base_index[: last - first], base_incomplete[: last - first])
        for f in range(pointers.size - 1):
            others = members[pointers[f] : pointers[f + 1]]
            table = out[offsets[f] : offsets[f + 1]]
            entries = table.size - 1
            missing_slot = max(any_missing(missing, base), any_missing(missing, others))
            packed = 0
            if weights is None:
                packed = rows_per_increment(entries + missing_slot, last - first)
                if packed:
                    count_packed(
                        codes, first, last, others, cards, missing, base_index, base_incomplete, entries, missing_slot,
                        narrow, incomplete, packed, scratch, table
                    )  # fmt: skip
            if not packed:
                count_directly(
                    codes, first, last, others, cards, missing, base_index, base_incomplete, entries, missing_slot,
                    wide, incomplete, weights, lanes, table
                )  # fmt: skip


@njit(cache=True, nogil=True)
def number_distinct(keys, slots, numbers, firsts):
    """Number the distinct keys in the order of their first appearance; returns how many there are.

    ``slots`` is the hash table: a power of two larger than the number of keys, filled with -1; it holds positions in
    ``firsts``, which receives where each distinct key is first found. ``numbers`` receives the number of every key.
    """
    mask = np.uint64(slots.size - 1)
    shift = np.uint64(29)
    found = 0
    for k in range(keys.size):
        key = keys[k]
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)  # 2 ** 64 / golden ratio spreads neighbouring keys
        slot = (mixed ^ (mixed >> shift)) & mask
        while slots[slot] >= 0 and keys[firsts[slots[slot]]] != key:
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0:
            slots[slot] = found
            firsts[found] = k
            found += 1
        numbers[k] = slots[slot]
    return found

"""Kernels of the bit planes: pair tables, and families extended by one variable, by AND and population count.

A *plane* is the bit vector of one state of one variable. For pairs, the rows are grouped by class; the segment of each
class starts at a whole 64-bit word. The number of rows of class k with x_i = a and x_j = b is then the number of ones
in the AND of two planes within the segment of k. A variable without missing values needs no plane for its last state,
since its counts follow from the margins: a pair of binary variables costs one population count per word, not four.

For a family and one more variable, the planes of the configurations of the family come first, by ANDs, and each is
counted with those of the variable.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from bntk._kernels import njit, part

# Words of a plane that are worked on together: 4 KiB, so that the planes of two tiles stay in the second-level cache.
WORDS = 512
# Words that are packed at a time.
PACK = 64
# Code that is no state of a variable with planes: it fills the last word of a segment.
PADDING = 127
# Words of the planes of all configurations of a family that are worked on together: half of a first-level cache.
FAMILY_WORDS = 2048
# But no fewer of each plane, since a shorter loop spends its time on starting and ending.
FEWEST_WORDS = 64
# Classes up to which rows are grouped by one pass for each class.
MOST_PASSES = 5


@intrinsic
def count_ones(typing_context, word):
    """Number of one bits of an unsigned 64-bit word."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


count_ones.plain = lambda word: int(word).bit_count()  # what Python does in its place


@njit(cache=True, nogil=True)
def group_rows(classes, order, counts):
    """Rows in the order of their class, and the number of rows of each class; rows without a class are left out.

    ``order`` has one place more than there are rows. A pass for each class without a branch (0.7 ns per row) is quicker
    than one that looks up where each class stands (3 to 6 ns per row, as rows wait for the one before them), until
    there are many classes.
    """
    n_classes = counts.size
    place = 0
    if n_classes <= MOST_PASSES:
        for k in range(n_classes):
            begin = place
            for row in range(classes.size):
                order[place] = row
                place += classes[row] == k
            counts[k] = place - begin
        return
    places = np.zeros(n_classes + 1, np.int64)
    for row in range(classes.size):
        places[classes[row]] += 1
    for k in range(n_classes):
        counts[k] = places[k]
        places[k] = place
        place += counts[k]
    places[n_classes] = place
    for row in range(classes.size):
        order[places[classes[row]]] = row
        places[classes[row]] += 1


@part
def pack_states(cells, plane_words):
    """Planes of the states 0, 1, ... of a block of cells (bytes below 128, a whole number of words).

    Eight cells are compared with a state at once: ``0x80 - (cell ^ state)`` has its high bit set exactly where they are
    equal. Eight such results, each moved by one bit more, fill a word. The bits are then not in the order of the rows,
    but in the same order for all planes.
    """
    eights = cells.view(np.uint64)
    ones, highs, seven = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080), np.uint64(7)
    for state in range(plane_words.shape[0]):
        pattern = np.uint64(state) * ones
        for word in range(plane_words.shape[1]):
            bits = np.uint64(0)
            for byte in range(8):
                equal = (highs - (eights[8 * word + byte] ^ pattern)) & highs
                bits |= (equal >> seven) << np.uint64(byte)
            plane_words[state, word] = bits


@njit(
    cache=True, nogil=True,
    steps=lambda codes, start, order, counts, words, variables, first, planes, margins: (
        order.size * variables.size + 16 * planes.size
    ),
)  # fmt: skip
def pack_planes(codes, start, order, counts, words, variables, first_planes, planes, margins):
    """Make the planes of some variables and their margins.

    ``variables[v]`` has the planes ``first_planes[v]:first_planes[v + 1]``; the segment of class k is
    ``words[k]:words[k + 1]``. ``margins[k, plane]`` receives the number of ones of a plane in the segment of k.
    """
    cells = np.empty(64 * PACK, np.uint8)
    begin = 0
    for k in range(counts.size):
        for done in range(0, counts[k], 64 * PACK):
            rows = order[begin + done : begin + min(counts[k], done + 64 * PACK)]
            n_words = (rows.size + 63) // 64
            cells[rows.size : 64 * n_words] = PADDING
            word = words[k] + done // 64
            for v in range(variables.size):
                column = codes[variables[v], start:]
                for cell in range(rows.size):
                    cells[cell] = column[rows[cell]]
                block = planes[first_planes[v] : first_planes[v + 1], word : word + n_words]
                pack_states(cells[: 64 * n_words], block)
                for state in range(block.shape[0]):
                    ones = np.uint64(0)
                    for w in range(n_words):
                        ones += count_ones(block[state, w])
                    margins[k, first_planes[v] + state] += np.int64(ones)
        begin += counts[k]


@part
def count_common(flat, one, other_flat, other, n_words):
    """Number of bits that are one in both of two runs of words of flat arrays.

    The places are unsigned: an index that might be negative would keep the compiler from vectorising the loop.
    """
    common = np.uint64(0)
    for word in range(n_words):
        step = np.uint64(word)
        common += count_ones(flat[one + step] & other_flat[other + step])
    return np.int64(common)


@part
def add_completed(common, row, p_i, column, p_j, margin, i, j, rows, r_i, r_j, below, out, at):
    """Add one pair table (of one class) to ``out[at:]``; the states without planes follow from the margins.

    ``common[row:row + p_i, column:column + p_j]`` holds the states with planes, ``margin[i:i + p_i]`` and
    ``margin[j:j + p_j]`` their margins. Scalars instead of slices, since making the slices of a small table costs more
    than adding it.
    """
    rest = rows  # what is left for both last states
    for b in range(p_j):
        below[b] = margin[j + b]  # what is left for the last state of i
    for a in range(p_i):
        left = margin[i + a]
        rest -= left
        for b in range(p_j):
            count = common[row + a, column + b]
            out[at + a * r_j + b] += count
            left -= count
            below[b] -= count
        if p_j < r_j:
            out[at + a * r_j + p_j] += left
    if p_i < r_i:
        for b in range(p_j):
            out[at + p_i * r_j + b] += below[b]
            rest -= below[b]
        if p_j < r_j:
            out[at + p_i * r_j + p_j] += rest


@njit(cache=True, nogil=True)
def count_tile(
    planes, words, margins, counts, first_planes, cards, positions, starts, columns, tile_i, tile_j, most, out
):  # fmt: skip
    """Add the pair tables of two tiles of variables (ranges ``tile_i``, ``tile_j``) that have planes.

    Variable v of the planes is variable ``positions[v]`` of the pair tables, laid out as :class:`PairLayout` says
    (``starts``, ``columns``). Pairs with more than ``most`` products of planes are left to the other technique. One
    long function because the classes, the word blocks and the tiles are one loop nest over shared buffers.
    """
    n_classes, row_words = counts.size, planes.shape[1]
    flat = planes.reshape(-1)
    low_i, low_j = first_planes[tile_i[0]], first_planes[tile_j[0]]
    common = np.empty((first_planes[tile_i[1]] - low_i, first_planes[tile_j[1]] - low_j), np.int64)
    below = np.empty(common.shape[1], np.int64)
    for k in range(n_classes):
        common[:] = 0
        for begin in range(words[k], words[k + 1], WORDS):
            end = min(begin + WORDS, words[k + 1])
            for i in range(tile_i[0], tile_i[1]):
                for j in range(max(i + 1, tile_j[0]), tile_j[1]):
                    first_i, last_i, first_j, last_j = (
                        first_planes[i], first_planes[i + 1], first_planes[j], first_planes[j + 1]
                    )  # fmt: skip
                    if (last_i - first_i) * (last_j - first_j) > most:
                        continue
                    for a in range(first_i, last_i):
                        one = np.uint64(a * row_words + begin)
                        for b in range(first_j, last_j):
                            other = np.uint64(b * row_words + begin)
                            common[a - low_i, b - low_j] += count_common(flat, one, flat, other, end - begin)
        margin = margins[k]
        for i in range(tile_i[0], tile_i[1]):
            first_i, p_i, r_i = first_planes[i], first_planes[i + 1] - first_planes[i], cards[i]
            for j in range(max(i + 1, tile_j[0]), tile_j[1]):
                first_j, p_j, r_j = first_planes[j], first_planes[j + 1] - first_planes[j], cards[j]
                if p_i * p_j > most:
                    continue
                at = starts[positions[i]] + n_classes * r_i * (columns[positions[j]] - columns[positions[i] + 1])
                add_completed(
                    common, first_i - low_i, p_i, first_j - low_j, p_j, margin, first_i, first_j, counts[k],
                    r_i, r_j, below, out, at + k * r_i * r_j
                )  # fmt: skip


@part
def split_plane(rows, source, flat, plane, target, n_words):
    """The AND of a run of ``rows`` and one of ``flat``, into another run of ``rows``."""
    for word in range(n_words):
        step = np.uint64(word)
        rows[target + step] = rows[source + step] & flat[plane + step]


def count_extensions_plainly(planes, first_planes, cards, widths, base, others, begins, out, totals):
    """:func:`count_extensions` by numpy."""
    rows = np.full((1, planes.shape[1]), np.uint64(0xFFFFFFFFFFFFFFFF))
    for v in base.tolist():
        own = planes[first_planes[v] : first_planes[v] + cards[v]]
        rows = (rows[:, None] & own).reshape(-1, planes.shape[1])
    ones = np.unpackbits(rows.view(np.uint8), axis=1).sum(axis=1, dtype=np.int64)
    totals += ones
    for f, v in enumerate(others.tolist()):
        own = planes[first_planes[v] : first_planes[v] + widths[v]]
        table = out[begins[f] : begins[f + 1]].reshape(totals.size, cards[v])
        common = np.unpackbits((rows[:, None] & own).view(np.uint8), axis=2).sum(axis=2, dtype=np.int64)
        table[:, : widths[v]] += common
        if widths[v] < cards[v]:
            table[:, widths[v]] += ones - common.sum(axis=1)


@part(plain=count_extensions_plainly)
def count_extensions(planes, first_planes, cards, widths, base, others, begins, out, totals):
    """The table of the variables ``base``, and those of ``(*base, x)`` for each of some other variables x.

    Variable v has the planes from ``first_planes[v]`` on; ``widths[v]`` of them are counted, and where that is one
    fewer than its states, the last state is what is left. The table of ``others[f]`` begins at ``out[begins[f]]``, that
    of ``base`` is ``totals``; both are zero before. The planes of the configurations of ``base`` are made a block of
    words at a time. Only kernels call it.
    """
    n_words = planes.shape[1]
    flat = planes.reshape(-1)
    block = max(FEWEST_WORDS, FAMILY_WORDS // totals.size)
    rows = np.empty(totals.size * block, np.uint64)
    ones = np.empty(totals.size, np.int64)
    for begin in range(0, n_words, block):
        words = min(block, n_words - begin)
        for word in range(words):
            rows[word] = np.uint64(0xFFFFFFFFFFFFFFFF)
        made = 1
        for v in base:
            for s in range(made - 1, -1, -1):  # backwards, so that no plane is overwritten before it is split
                for x in range(cards[v] - 1, -1, -1):
                    plane = np.uint64((first_planes[v] + x) * n_words + begin)
                    split_plane(rows, np.uint64(s * block), flat, plane, np.uint64((s * cards[v] + x) * block), words)
            made *= cards[v]
        for s in range(totals.size):
            one = np.uint64(s * block)
            ones[s] = count_common(rows, one, rows, one, words)
            totals[s] += ones[s]
        for f in range(others.size):
            v = others[f]
            for s in range(totals.size):
                if ones[s] == 0:
                    continue
                at, left = begins[f] + s * cards[v], ones[s]
                for x in range(widths[v]):
                    plane = np.uint64((first_planes[v] + x) * n_words + begin)
                    count = count_common(rows, np.uint64(s * block), flat, plane, words)
                    out[at + x] += count
                    left -= count
                if widths[v] < cards[v]:
                    out[at + widths[v]] += left

"""Bit planes of the rows of a table that are kept, for the many small families that a search looks at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bntk.data.table import Table
from bntk.learning.counts import plane_kernels
from bntk.learning.counts.planes import CHUNK, MOST_PLANES, MOST_PRODUCTS

# Products of planes that are allowed beyond that, however few the rows.
ANY_ROWS = 1000


class StatePlanes(NamedTuple):
    """A bit vector over the rows for each state of the variables with few states; the fields are what kernels take.

    Attributes
    ----------
    planes : ndarray of uint64, of shape (states, words)
    first_planes : ndarray of int
        Where the planes of each variable begin.
    cards : ndarray of int
    widths : ndarray of int
        How many planes of each variable are to be counted: all but that of the last state, which is what is left, when
        no cell is missing. For variables without planes, too many to pay.
    most : int
        A family is counted by planes when its configurations times the width of the variable added are no more. Few
        rows are counted so quickly that what matters is to need no plan and no buffer for the tables.
    """

    planes: np.ndarray
    first_planes: np.ndarray
    cards: np.ndarray
    widths: np.ndarray
    most: int

    @classmethod
    def of(cls, table: Table) -> StatePlanes:
        """The planes of the variables with the fewest states; they take no more memory than the table."""
        cards = table.cards
        order = np.argsort(cards, kind="stable")
        room = 8 * table.codes.itemsize * len(cards)
        narrow = order[(np.cumsum(cards[order]) <= room) & (cards[order] <= MOST_PLANES)]
        edges = np.concatenate(([0], np.cumsum(cards[narrow], dtype=np.int64)))
        first_planes = np.full(len(cards), -1, dtype=np.int64)
        first_planes[narrow] = edges[:-1]
        widths = np.full(len(cards), MOST_PRODUCTS + ANY_ROWS + 1, dtype=np.int64)
        widths[narrow] = cards[narrow] - ~table.has_missing[narrow]
        most = MOST_PRODUCTS + min(ANY_ROWS, 1_500_000 // max(1, table.n_rows))
        return cls(_packed(table, narrow, edges), first_planes, cards, widths, most)


def _packed(table: Table, variables: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The planes of all states of some variables, those of the k-th from ``edges[k]`` on."""
    n_words = -(-table.n_rows // 64)
    planes = np.zeros((int(edges[-1]), n_words), dtype=np.uint64)
    margins = np.zeros((1, int(edges[-1])), dtype=np.int64)
    order = np.arange(min(CHUNK, table.n_rows) + 1, dtype=np.uint32)
    for begin in range(0, table.n_rows, CHUNK):
        counts = np.array([min(CHUNK, table.n_rows - begin)], dtype=np.int64)
        words = np.array([begin // 64, n_words], dtype=np.int64)
        plane_kernels.pack_planes(table.codes, begin, order, counts, words, variables, edges, planes, margins)
    return planes

"""Counting rows that are in memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from bntk.data.table import Table
from bntk.data.weights import checked_weights
from bntk.learning.counts.base import Block, Counter
from bntk.learning.counts.state_planes import StatePlanes


class TableCounter(Counter):
    """A counter of the rows of a table.

    Parameters
    ----------
    table : Table
    weights : array of shape (n_rows,), optional
        How much each row counts: finite and not negative. Copied.

    Examples
    --------
    >>> import bntk
    >>> table = bntk.Table.from_columns({"rain": ["no", "no", "yes"]})
    >>> TableCounter(table)
    TableCounter: 3 rows x 1 variables
    >>> TableCounter(table, weights=[1, 0.5, 2]).tables([["rain"]])
    [array([1.5, 2. ])]
    """

    def __init__(self, table: Table, weights: np.ndarray | None = None) -> None:
        super().__init__(table.variables)
        self.table = table
        self.weights = None if weights is None else _own_weights(weights, table.n_rows)

    @property
    def n_rows(self) -> int:
        """Number of rows, complete or not."""
        return self.table.n_rows

    @property
    def weighted(self) -> bool:
        """True when rows have weights; tables then hold floats."""
        return self.weights is not None

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all rows; their number when they have no weights."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    @cached_property
    def planes(self) -> StatePlanes | None:
        """The rows as bit planes; None when they have weights."""
        return StatePlanes.of(self.table) if self.weights is None else None

    def _blocks(self) -> Iterator[Block]:
        yield self.table, self.weights


def _own_weights(weights: np.ndarray, n_rows: int) -> np.ndarray:
    """A private copy of the weights, which later changes of the caller's array cannot reach."""
    own = checked_weights(np.array(weights, dtype=np.float64), n_rows)
    own.flags.writeable = False
    return own

"""Counting rows that are in memory, and ``as_counter``, through which learning takes data of any kind."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bntk.data.coding import lacking_columns
from bntk.data.dask_frames import is_dask_frame
from bntk.data.numbers import Reading
from bntk.data.table import Table, as_table
from bntk.data.variable import Variable
from bntk.data.weights import checked_weights
from bntk.errors import DataError
from bntk.learning.counts.base import Block, Counter
from bntk.learning.counts.dask_partitions import DaskPartitions
from bntk.learning.counts.partitions import Partitions
from bntk.learning.counts.state_planes import StatePlanes


class TableCounter(Counter):
    """A counter of the rows of a table.

    Parameters
    ----------
    table : Table
        The rows.
    weights : array of shape (n_rows,), optional
        How much each row counts: 0, or a number from 1e-300, with a sum of up to 1e100. Copied.

    Examples
    --------
    >>> import bntk
    >>> table = bntk.Table.from_columns({"rain": ["no", "no", "yes"]})
    >>> TableCounter(table)
    TableCounter: 3 rows x 1 variables
    >>> TableCounter(table, weights=[1, 0.5, 2]).tables([["rain"]])
    [array([1.5, 2. ])]
    """

    def __init__(self, table: Table, weights: ArrayLike | None = None) -> None:
        super().__init__(table.variables)
        self.table = table
        self.weights = None if weights is None else _own_weights(weights, table.n_rows)

    @classmethod
    def _of_shares(cls, table: Table, weights: np.ndarray | None) -> TableCounter:
        """A counter with weights that EM works out, which may be as small as floats are."""
        counter = cls(table)
        counter.weights = weights
        return counter

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

    @cached_property
    def incomplete(self) -> tuple[str, ...]:
        """The variables with missing cells."""
        return tuple([name for name, missing in zip(self.names, self.table.has_missing, strict=True) if missing])

    def select(self, names: Sequence[str]) -> TableCounter:
        """A counter of the same rows over some of the variables, in this order."""
        return TableCounter(self.table.select(names), self.weights)

    def _blocks(self) -> Iterator[Block]:
        yield self.table, self.weights


def _own_weights(weights: ArrayLike, n_rows: int) -> np.ndarray:
    """A private copy of the weights, which later changes of the caller's array cannot reach."""
    own = np.array(checked_weights(weights, n_rows))
    own.flags.writeable = False
    return own


def as_counter(
    data: Any,
    *,
    variables: Sequence[Variable] | None = None,
    weights: ArrayLike | None = None,
    only: Collection[str] | None = None,
    require_rows: bool = False,
    reading: Reading | None = None,
) -> Counter:
    """A counter of data of any kind.

    Parameters
    ----------
    data : Table, data frame, mapping of columns, Dask DataFrame, Counter, or Partitions
        A counter is returned as it is; rows in partitions, such as :func:`bntk.scan` gives, stay where they are.
    variables : sequence of Variable, optional
        Declared states, where the data may not show all of them.
    weights : array_like, optional
        One non-negative number per row.
    only : collection of str, optional
        The columns that are needed; others are not read.
    require_rows : bool
        Refuse data without rows.
    reading : Reading, optional
        Without ``variables``: how columns of numbers become states. By default each number is one.

    Examples
    --------
    >>> as_counter({"rain": ["no", "yes", "no"]}, weights=[1, 2, 1]).tables([["rain"]])
    [array([2., 2.])]
    """
    if is_dask_frame(data):
        data, weights = DaskPartitions.of(data, weights), None
    if isinstance(data, Counter):
        if weights is not None or variables is not None:
            raise DataError("a Counter has its weights and variables already; give them where it is made")
        counter: Counter = data
    elif isinstance(data, Partitions):
        if weights is not None:
            raise DataError('weights of rows that are read in passes are a column: bntk.scan(source, weights="column")')
        counter = data.counter(reading, only, variables)
    else:
        table = as_table(
            data, variables=variables, only=only, require_rows=require_rows, reading=reading, weights=weights
        )
        counter = TableCounter(table, weights)
    absent = [name for name in only or () if name not in counter._positions]
    if absent:
        raise lacking_columns(absent, counter.names)
    return counter

"""Counting rows that are in memory, and ``as_counter``, through which learning takes data of any kind."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bntk._warnings import warn
from bntk.data.coding import lacking_columns
from bntk.data.dask_frames import is_dask_frame
from bntk.data.interventions import Mask, read_intervened, separated
from bntk.data.numbers import Reading
from bntk.data.table import Table, as_table, column_names
from bntk.data.variable import Variable, format_states
from bntk.data.weights import checked_weights
from bntk.errors import DataError, ExperimentWarning
from bntk.learning.counts.base import Block, Counter
from bntk.learning.counts.dask_partitions import DaskPartitions
from bntk.learning.counts.partitions import Partitions
from bntk.learning.counts.state_planes import StatePlanes


class CounterInMemory(Counter):
    """The base of counters of rows in memory: of a ``table``, with ``weights`` or None."""

    table: Table
    weights: np.ndarray | None

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

    def complete_columns(self) -> np.ndarray:
        """Which variables have a value in every row."""
        return ~self.table.has_missing


class TableCounter(CounterInMemory):
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

    @cached_property
    def planes(self) -> StatePlanes | None:
        """The rows as bit planes; None when they have weights."""
        return StatePlanes.of(self.table) if self.weights is None else None

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
    intervened: Any = None,
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
    intervened : optional
        Which variables were set by an experiment in which rows, in one of the forms of :func:`bntk.fit`.
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
        if weights is not None or variables is not None or intervened is not None:
            raise DataError(
                "a Counter has its weights, its variables and what was set in its rows already; give them where it is "
                "made (bntk.learning.counts.ExperimentCounter for what was set)"
            )
        counter: Counter = data
    elif isinstance(data, Partitions):
        refuse_for_partitions(weights, intervened)
        counter = data.counter(reading, only, variables)
    else:
        data, intervened = separated(data, intervened)
        table = as_table(
            data, variables=variables, only=only, require_rows=require_rows, reading=reading, weights=weights
        )
        mask = read_intervened(intervened, table.names, column_names(data) or table.names, table.n_rows)
        warn_of_always_set(table, mask)
        counter = counter_of(table, None if weights is None else _own_weights(weights, table.n_rows), mask)
    absent = [name for name in only or () if name not in counter._positions]
    if absent:
        raise lacking_columns(absent, counter.names)
    return counter


def refuse_for_partitions(weights: Any, intervened: Any) -> None:
    """Refuse what goes with rows in memory, where rows are read in passes."""
    if weights is not None:
        raise DataError('weights of rows that are read in passes are a column: bntk.scan(source, weights="column")')
    if intervened is not None:
        raise DataError("intervened= needs rows in memory: give a data frame or a Table instead of a scan")


def counter_of(table: Table, weights: np.ndarray | None, intervened: Mask | None) -> Counter:
    """A counter of rows with weights that are right; of an experiment, where variables were set in some rows."""
    if intervened is None or not intervened.any():
        return TableCounter._of_shares(table, weights)
    from bntk.learning.counts.experiments import ExperimentCounter

    return ExperimentCounter._of_shares(table, intervened, weights)


def warn_of_always_set(table: Table, intervened: Mask | None) -> None:
    """Name the variables that were set in every row."""
    if intervened is None or not table.n_rows:
        return
    always = [name for name, was_set in zip(table.names, np.all(intervened, axis=0).tolist(), strict=True) if was_set]
    if always:
        warn(
            lambda names: (
                f"{format_states(names)} {'was' if len(names) == 1 else 'were'} set in every row, so that no row tells "
                "what they depend on: their tables are those of the prior"
            ),
            ExperimentWarning,
            always,
        )

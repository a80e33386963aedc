"""Rows of a Dask data frame: each partition is counted where it lies, and results are added as a tree on the workers.

Only the sum travels to the client. A pass is one graph: a task for each partition, and tasks that add up to
:data:`FAN_IN` results each. No task changes what another one has made, so that what is lost with a worker can be worked
out again, and the result is the same.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from uuid import uuid4

from bntk import _checking
from bntk.data.coding import check_column_names, lacking_columns
from bntk.data.dask_frames import check_columns, is_dask_frame, is_dask_series, naming_partition, naming_partitions
from bntk.data.variable import Variable, checked_variables
from bntk.errors import DataError
from bntk.learning.counts.partitions import Partitions

R = TypeVar("R")

#: How many results a task adds: more make the tree flatter, and keep more tables in the memory of a worker.
FAN_IN = 8


class DaskPartitions(Partitions):
    """The rows of a Dask data frame, for learning.

    Every function that learns makes one of a Dask DataFrame by itself. A pass over the rows computes the partitions,
    unless they are persisted: ``frame = frame.persist()`` keeps them in the memory of the workers, and
    ``frame.categorize().persist()`` takes one byte for a cell of up to 127 categories. Columns that a pass does not
    need are not read. It runs on the cluster of the current ``distributed.Client``, else in threads.

    Parameters
    ----------
    frame : Dask DataFrame
    weights : str, optional
        The column of the weights of rows.
    variables : sequence of Variable, optional
        Declared states and cut points; they are found in a first pass otherwise.
    columns : sequence of str, optional
        The columns, and their order; by default all.

    Examples
    --------
    >>> import bntk
    >>> import dask.dataframe as dd                                              # doctest: +SKIP
    >>> frame = dd.read_parquet("folder").persist()                              # doctest: +SKIP
    >>> tan = bntk.TAN().fit(frame, "class")                                     # doctest: +SKIP
    >>> tan.predict_proba(frame.drop(columns="class")).to_parquet("predicted")   # doctest: +SKIP
    """

    def __init__(
        self,
        frame: Any,
        weights: str | None = None,
        variables: Sequence[Variable] | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        if not is_dask_frame(frame):
            raise _checking.wrong("frame", "a Dask DataFrame", frame, DataError)
        self.frame = frame
        self.weights = weights
        self.variables = None if variables is None else checked_variables(variables)
        self._beside: dict[str, Any] = {}
        self._names = tuple(frame.columns.tolist())
        check_column_names(self._names)
        wanted = [*([] if weights is None else [weights]), *(columns or ())]
        lacking = [name for name in wanted if name not in self._names]
        if lacking:
            raise lacking_columns(lacking, self._names)
        if columns is not None:
            self._names = tuple(dict.fromkeys([*columns, *([] if weights is None else [weights])]))
            self.frame = frame[list(self._names)]

    @classmethod
    def of(cls, frame: Any, weights: Any = None) -> DaskPartitions:
        """The rows of a Dask data frame, with the weights that a function was given: a name, a Dask Series or None."""
        if weights is None or isinstance(weights, str):
            return cls(frame, weights)
        name = "weights"
        while name in frame.columns:
            name += "_"
        found = cls(frame).with_column(name, weights, "weights")
        found.weights = name
        return found

    @classmethod
    def of_classes(cls, frame: Any, y: Any, weights: Any = None) -> tuple[DaskPartitions, str | list[str]]:
        """The rows with one or several class variables, and the names of these.

        Parameters
        ----------
        frame : Dask DataFrame
        y : str, list of str, Dask Series or Dask DataFrame
            The columns of the frame, or further ones with the same partitions.
        weights : str or Dask Series, optional
        """
        found = cls.of(frame, weights)
        if isinstance(y, str) or (isinstance(y, (list, tuple)) and all(isinstance(name, str) for name in y)):
            return found, y if isinstance(y, str) else list(y)
        if is_dask_frame(y):
            for name in y.columns:
                found = found.with_column(name, y[name], "Y")
            return found, y.columns.tolist()
        name = getattr(y, "name", None)
        name = name if isinstance(name, str) and name.strip() else "class"
        while name in found.names:
            name += "_"
        return found.with_column(name, y), name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return (*self._names, *self._beside)

    def with_column(self, name: str, column: Any, what: str = "y") -> DaskPartitions:
        """The same rows with a further column, a Dask Series with the same partitions.

        Parameters
        ----------
        name : str
            Of the column, whatever the name of the series.
        column : Dask Series
        what : str
            What it is, for errors.
        """
        if not is_dask_series(column):
            raise _checking.wrong(what, "a Dask Series, or the name of a column of the data frame", column, DataError)
        if column.npartitions != self.frame.npartitions:
            raise DataError(
                f"{what} has {column.npartitions:,} partitions, and the data frame has {self.frame.npartitions:,}: "
                f"give a Dask Series with the same partitions, or {what} as a column of the data frame, by its name"
            )
        if name in self.names:
            raise DataError(f"the data frame has a column {name!r} already; rename {what}")
        more = copy.copy(self)
        more.__dict__.pop("_summaries", None)
        more._beside = {**self._beside, name: column}
        return more

    def reduce(self, task: Callable[[Any], R], add: Callable[[R, R], R], columns: Sequence[str], what: str) -> R:
        """``task(partition)`` for each partition, added as a tree; see :class:`Partitions`."""
        from dask import compute, delayed

        shared = delayed(task, traverse=False), delayed(add, traverse=False)
        own = [name for name in self._names if name in columns]
        undeclared = [name for name in columns if self._has_unknown_categories(name)]
        beside = [name for name in self._beside if name in columns]
        parts = zip(
            self._narrowed(own).to_delayed(), *(self._beside[name].to_delayed() for name in beside), strict=True
        )
        key, step = f"bntk-{what}-{uuid4().hex}", delayed(_of_partition, pure=False)
        level = [
            ((number, number), step(shared[0], number, own, beside, undeclared, *part, dask_key_name=f"{key}-{number}"))
            for number, part in enumerate(parts)
        ]
        depth, join = 0, delayed(_sum, pure=False)
        while len(level) > 1:
            depth += 1
            groups = [level[start : start + FAN_IN] for start in range(0, len(level), FAN_IN)]
            level = [
                (
                    (spans[0][0], spans[-1][1]),
                    join(shared[1], spans, *results, dask_key_name=f"{key}-add-{depth}-{number}"),
                )
                for number, (spans, results) in enumerate(zip(*group, strict=True) for group in groups)
            ]
        (found,) = compute(level[0][1])
        return copy.deepcopy(found.value)  # what comes from a worker may be read-only

    def _narrowed(self, columns: Sequence[str]) -> Any:
        """The data frame with the columns that are needed; one of them, where none is, as each has the rows."""
        wanted = list(columns) or list(self._names[:1])
        return self.frame if wanted == list(self._names) else self.frame[wanted]

    def _column(self, name: str) -> Any:
        return self._beside[name] if name in self._beside else self.frame[name]

    def _has_unknown_categories(self, name: str) -> bool:
        """Whether each partition has categories of its own, whose order says nothing."""
        import pandas as pd

        column = self._column(name)
        return isinstance(column.dtype, pd.CategoricalDtype) and not column.cat.known

    def __repr__(self) -> str:
        n = self.frame.npartitions
        return f"DaskPartitions: {n:,} partition{'' if n == 1 else 's'} x {len(self.names)} columns"


class _Result:
    """A result that tells Dask its size, so that tasks are placed and memory is kept by it."""

    __slots__ = ("n_bytes", "value")

    def __init__(self, value: Any) -> None:
        buffers: list[pickle.PickleBuffer] = []
        own = len(pickle.dumps(value, protocol=5, buffer_callback=buffers.append))
        self.value = value
        self.n_bytes = own + sum(buffer.raw().nbytes for buffer in buffers)

    def __sizeof__(self) -> int:
        return self.n_bytes


def _of_partition(
    task: Callable[[Any], R], number: int, columns: Sequence[str], beside: Sequence[str], undeclared: Sequence[str],
    partition: Any, *others: Any,
) -> _Result:  # fmt: skip
    """What a task makes of one partition."""
    with naming_partition(number):
        check_columns([name for name in partition.columns if name in columns], columns)
        data = {name: partition[name] for name in columns}
        for name, column in zip(beside, others, strict=True):
            if len(column) != len(partition):
                raise DataError(f"{name!r} has {len(column):,} rows, and the data frame has {len(partition):,}")
            data[name] = column
        for name in undeclared:
            if hasattr(data[name], "cat"):
                data[name] = data[name].astype(data[name].cat.categories.dtype)
        return _Result(task(data))


def _sum(add: Callable[[R, R], R], spans: Sequence[tuple[int, int]], *results: _Result) -> _Result:
    """The sum of results; the first is copied, because ``add`` may change it."""
    total: Any = copy.deepcopy(results[0].value)
    for place, result in enumerate(results[1:], 1):
        with naming_partitions((spans[0][0], spans[place - 1][1]), spans[place]):
            total = add(total, result.value)
    return _Result(total)

"""Dask data frames: recognising them without importing Dask, and functions of rows that stay partitioned and lazy.

A task gives bntk one thread: Dask runs as many tasks at once as a worker has threads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bntk._threads import using_threads
from bntk.data.variable import format_states
from bntk.errors import BntkError, DataError

_PACKAGES = frozenset({"dask", "dask_expr"})


def is_dask_frame(data: Any) -> bool:
    """Whether data is a Dask DataFrame. Nothing is imported for it."""
    return _is_dask(data, "DataFrame")


def is_dask_series(data: Any) -> bool:
    """Whether data is a Dask Series. Nothing is imported for it."""
    return _is_dask(data, "Series")


def _is_dask(data: Any, name: str) -> bool:
    return any(kind.__name__ == name and kind.__module__.partition(".")[0] in _PACKAGES for kind in type(data).__mro__)


@contextlib.contextmanager
def naming_partition(number: int) -> Iterator[None]:
    """Errors about the data of a partition name it; within the block there is one thread."""
    with _naming(f"partition {number} of the Dask data frame"), using_threads(1):
        yield


@contextlib.contextmanager
def naming_partitions(one: tuple[int, int], other: tuple[int, int]) -> Iterator[None]:
    """Errors about partitions that do not agree name them; each is given by the first and the last of some."""
    with _naming(f"{_some(one)} and {_some(other)} of the Dask data frame"):
        yield


def _some(span: tuple[int, int]) -> str:
    return f"partition {span[0]}" if span[0] == span[1] else f"partitions {span[0]} to {span[1]}"


@contextlib.contextmanager
def _naming(where: str) -> Iterator[None]:
    try:
        yield
    except (BntkError, ValueError, TypeError, KeyError) as error:
        if len(error.args) != 1:
            error.add_note(f"in {where}")
            raise
        kind = type(error) if isinstance(error, BntkError) else DataError
        raise kind(f"{where}: {error.args[0]}") from error


def check_columns(given: Sequence[Any], expected: Sequence[Any]) -> None:
    """Refuse a partition whose columns are not those that the data frame is said to have."""
    lacking = [name for name in expected if name not in given]
    more = [name for name in given if name not in expected]
    if not lacking and not more:
        return
    columns = f"the column {lacking[0]!r} is lacking" if lacking else f"there is a column {more[0]!r}"
    raise DataError(
        f"{columns}; it has {format_states(list(given))}, and the data frame says {format_states(list(expected))}: "
        "make all partitions alike"
    )


def by_partition(function: Callable[..., Any], model: Any, frame: Any, meta: Any, *arguments: Any) -> Any:
    """``function(model, partition, *arguments)`` of each partition, as a Dask collection; nothing runs yet.

    The model is one task of the graph, on which those of the partitions depend, so that it is sent once to a worker.

    Parameters
    ----------
    function : callable
        One that can be pickled.
    model : object
    frame : Dask DataFrame
    meta : pandas DataFrame or Series
        What the function gives for no rows; also what is given for a partition without rows.
    """
    from dask import delayed

    columns = frame.columns.tolist()
    return frame.map_partitions(
        _answer, delayed(model, traverse=False), function, columns, meta, *arguments, meta=meta, enforce_metadata=False
    )


def _answer(
    partition: Any, model: Any, function: Callable[..., Any], columns: list[Any], meta: Any, *arguments: Any,
    partition_info: Any = None,
) -> Any:  # fmt: skip
    with naming_partition((partition_info or {}).get("number", 0)):
        check_columns(partition.columns.tolist(), columns)
        if not len(partition):
            return meta
        return function(model, partition[columns], *arguments)

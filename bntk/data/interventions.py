"""Which cells of a table were set by an experiment: ``intervened=`` in its several forms, read into a mask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.data.table import Table, column_names
from bntk.data.variable import is_missing
from bntk.errors import DataError, UnknownNameError, did_you_mean

Mask = NDArray[np.bool_]

EXPECTED = (
    "one entry per row (None, a variable, or several), a frame or mapping from variables to booleans or rows, an array "
    "of booleans with the columns of the data, or the name of a column"
)


def separated(data: Any, intervened: Any) -> tuple[Any, Any]:
    """The data, and what was set in each row: where that is a column of the data, without this column.

    Examples
    --------
    >>> separated({"a": [0, 1], "set": [None, "a"]}, "set")
    ({'a': [0, 1]}, [None, 'a'])
    """
    if not isinstance(intervened, str):
        return data, intervened
    names = column_names(data) or []
    if intervened not in names:
        raise UnknownNameError(
            f"intervened={intervened!r} is not a column of the data{did_you_mean(intervened, names)}; give {EXPECTED}"
        )
    if isinstance(data, Table):
        states = (*data.variable(intervened).states, None)
        entries: Any = [states[code] for code in data.column(intervened).tolist()]
        return data.select([name for name in names if name != intervened]), entries
    if isinstance(data, Mapping):
        return {name: column for name, column in data.items() if name != intervened}, data[intervened]
    import narwhals as nw

    frame = nw.from_native(data)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame.drop(intervened).to_native(), frame[intervened].to_list()


def read_intervened(intervened: Any, names: Sequence[str], columns: Sequence[str], n_rows: int) -> Mask | None:
    """Which cells were set, as an array of shape (n_rows, number of names); None when nothing was given.

    Parameters
    ----------
    intervened : sequence, frame, mapping, array of booleans, or None
    names : sequence of str
        The variables that are wanted, in the order of the result.
    columns : sequence of str
        All columns of the data, which may be named, and which an array has; the names are among them.
    n_rows : int

    Examples
    --------
    >>> read_intervened([None, "a", ["a", "b"]], ["a", "b"], ["a", "b"], 3)
    array([[False, False],
           [ True, False],
           [ True,  True]])
    """
    if intervened is None:
        return None
    columns = [*columns, *(name for name in names if name not in columns)]
    if isinstance(intervened, Mapping):
        found = {name: _flags_of(name, given, n_rows) for name, given in intervened.items()}
    elif getattr(intervened, "ndim", 1) == 2 or hasattr(intervened, "columns"):
        found = _of_array(intervened, names, columns, n_rows)
    else:
        found = _of_entries(intervened, columns, n_rows)
    for name in found:
        _known(name, columns)
    nothing = np.zeros(n_rows, dtype=bool)
    return np.array([found.get(name, nothing) for name in names], dtype=bool).reshape(len(names), n_rows).T.copy()


def _known(name: Any, columns: Sequence[str]) -> None:
    if name not in columns:
        raise UnknownNameError(
            f"intervened names {name!r}, which is not a column of the data{did_you_mean(name, columns)}; the columns "
            f"are {', '.join(map(repr, columns[:12]))}{', ...' if len(columns) > 12 else ''}"
        )


def _of_array(array: Any, names: Sequence[str], columns: Sequence[str], n_rows: int) -> dict[str, Mask]:
    """A frame, whose columns are named, or an array with the columns of the data."""
    if hasattr(array, "columns"):
        return {name: _flags_of(name, array[name], n_rows, frame=True) for name in map(str, array.columns)}
    mask = np.asarray(array)
    order = next((some for some in (columns, names) if mask.shape == (n_rows, len(some))), None)
    if order is None or mask.dtype != bool:
        raise DataError(
            f"intervened must be an array of booleans with {n_rows:,} rows and the {len(columns):,} columns of the "
            f"data; got {mask.dtype} of the shape {mask.shape}"
        )
    return dict(zip(order, mask.T, strict=True))


def _flags_of(name: str, given: Any, n_rows: int, frame: bool = False) -> Mask:
    """One boolean per row, for one variable: as given, or of the rows whose positions are given."""
    if isinstance(given, (bool, np.bool_)):
        return np.full(n_rows, given)
    values = _checking.array(f"intervened[{name!r}]", given, "booleans, one per row, or positions of rows")
    if values.dtype == object and all(isinstance(value, (bool, np.bool_)) for value in values.ravel()):
        values = values.astype(bool)
    if frame and values.dtype.kind in "iu" and values.shape == (n_rows,) and np.isin(values, (0, 1)).all():
        values = values.astype(bool)
    if values.dtype == bool and values.shape == (n_rows,):
        return values
    positions = values.dtype.kind in "iu" or values.size == 0
    if frame or not positions or values.ndim != 1:
        raise DataError(
            f"intervened[{name!r}] must be booleans, one for each of the {n_rows:,} rows"
            f"{'' if frame else ', or positions of rows'}; got {values.dtype} of the shape {values.shape}"
        )
    flags = np.zeros(n_rows, dtype=bool)
    rows = values.astype(np.int64)
    if rows.size and (rows.min() < 0 or rows.max() >= n_rows or len(np.unique(rows)) < len(rows)):
        raise DataError(
            f"intervened[{name!r}] has whole numbers, which are positions of rows: each from 0 to {n_rows - 1:,}, and "
            "none twice; one mark per row must be a boolean"
        )
    flags[rows] = True
    return flags


def _of_entries(entries: Any, columns: Sequence[str], n_rows: int) -> dict[str, Mask]:
    """One entry per row: nothing, a variable, or several."""
    listed = entries.to_list() if hasattr(entries, "to_list") else _checking.several("intervened", entries, EXPECTED)
    if len(listed) != n_rows:
        raise DataError(f"intervened must have one entry for each of the {n_rows:,} rows; got {len(listed):,}")
    found: dict[str, Mask] = {}
    for row, entry in enumerate(listed):
        for name in _names_of(entry, row):
            if name not in found:
                _known(name, columns)
                found[name] = np.zeros(n_rows, dtype=bool)
            found[name][row] = True
    return found


def _names_of(entry: Any, row: int) -> Iterable[str]:
    if isinstance(entry, str):
        return (entry,)
    if entry is None or (not _is_collection(entry) and is_missing(entry)):
        return ()
    if _is_collection(entry) and all(isinstance(name, str) for name in entry):
        return tuple(entry)
    raise DataError(
        f"intervened: the entry of row {row} is {_checking.shown(entry)}; expected the name of the variable that was "
        "set in it, several names, or None where nothing was set"
    )


def _is_collection(entry: Any) -> bool:
    return isinstance(entry, (list, tuple, set, frozenset, np.ndarray))

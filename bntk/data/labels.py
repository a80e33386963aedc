"""Labels of several class variables: from ``Y`` to codes, and from codes to labels.

``Y`` is a data frame (pandas, polars, pyarrow), a mapping of columns, a :class:`bntk.Table`, or an array or list of
shape (n_rows, n_targets). Labels may be strings, numbers or truth values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from bntk import _checking
from bntk.data.coding import CodedColumn, check_column_names
from bntk.data.columns import code_column, columns_of_frame
from bntk.data.table import Table
from bntk.data.variable import Variable, format_states, is_missing, plain_state
from bntk.errors import DataError

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Labels:
    """The class variables of training rows; make it with :func:`read_labels`.

    Attributes
    ----------
    names : tuple of str
        One per class variable; ``y0``, ``y1`` ... for an array.
    classes : tuple of ndarray
        The labels of each class variable, sorted and distinct, as scikit-learn's ``classes_``.
    frame : str, optional
        The library of the data frame ``Y`` (``"pandas"``, ``"polars"``, ``"pyarrow"``); predictions are of the same
        kind. None where they are an array.
    """

    names: tuple[str, ...]
    classes: tuple[NDArray[Any], ...]
    frame: str | None = None

    def _check(self) -> None:
        """Refuse what was read from a file if its parts do not fit together."""
        check_column_names(self.names)
        if not self.names or len(self.classes) != len(self.names):
            raise DataError("there must be a list of classes for each class variable")
        for name, classes in zip(self.names, self.classes, strict=True):
            if not classes.size or not np.array_equal(np.unique(classes), classes):
                raise DataError(f"the classes of {name!r} are not sorted, or one is there twice")
        if self.frame not in (None, "pandas", "polars", "pyarrow", "modin", "cudf"):
            raise DataError(f"predictions cannot be a data frame of {self.frame!r}")

    @cached_property
    def cards(self) -> tuple[int, ...]:
        """The number of classes of each variable."""
        return tuple(map(len, self.classes))

    def variables(self, features: Sequence[str] = ()) -> tuple[Variable, ...]:
        """The class variables, with an underscore after names that a feature has already."""
        taken = {*features, *self.names}
        found = []
        for name, classes in zip(self.names, self.classes, strict=True):
            free = name
            while free in taken and (free != name or free in features):
                free += "_"
            taken.add(free)
            found.append(Variable(free, classes.tolist()))
        return tuple(found)

    def of_rows(self, codes: Codes, rows: NDArray[np.intp]) -> tuple[Labels, Codes]:
        """The labels that some rows have, and the codes of all rows by these; any other label counts as missing."""
        classes: list[NDArray[Any]] = []
        recoded = np.empty_like(codes)
        for j, of in enumerate(self.classes):
            seen = np.unique(codes[j, rows])
            seen = seen[seen < len(of)]
            if not seen.size:
                raise DataError(f"none of the {len(rows):,} rows to learn from has a label of {self.names[j]!r}")
            places = np.full(len(of) + 1, len(seen))
            places[seen] = np.arange(len(seen))
            recoded[j] = places[codes[j]]
            classes.append(of[seen])
        return replace(self, classes=tuple(classes)), recoded

    def encode(self, Y: Any) -> Codes:
        """The codes of other rows, shape (n_targets, n_rows); the number of classes stands for a missing label."""
        columns, _ = _columns(Y)
        names = tuple(name for name, _ in columns)
        if names != self.names:
            raise DataError(f"Y has the class variables {list(names)}; expected {list(self.names)}")
        codes = np.empty((len(columns), _n_rows(columns)), dtype=np.int64)
        for j, ((name, column), classes) in enumerate(zip(columns, self.classes, strict=True)):
            codes[j] = _look_up(name, code_column(name, column), classes)
        return codes

    def decode(self, codes: NDArray[Any], X: Any = None) -> Any:
        """The labels behind codes of shape (n_targets, n_rows).

        Returns
        -------
        ndarray of shape (n_rows, n_targets), or a data frame where ``Y`` was one
            A data frame of pandas has the index of ``X``, if that is one, too.
        """
        columns = {name: c[k] for name, c, k in zip(self.names, self.classes, codes, strict=True)}
        if self.frame is None:
            return _side_by_side(list(columns.values()))
        if self.frame == "pandas":
            import pandas as pd

            return pd.DataFrame(columns, index=X.index if isinstance(X, pd.DataFrame) else None)
        import narwhals as nw

        return nw.from_dict(columns, backend=self.frame).to_native()  # type: ignore[arg-type]


def read_labels(Y: Any, n_rows: int | None = None, missing: bool = False) -> tuple[Labels, Codes]:
    """Read the labels of training rows.

    Parameters
    ----------
    Y : data frame, mapping of columns, Table, or array_like of shape (n_rows, n_targets)
    n_rows : int, optional
        How many rows there must be.
    missing : bool
        Whether labels may be missing (None, NaN ...).

    Returns
    -------
    Labels
    ndarray of int, shape (n_targets, n_rows)
        The position of each label in the classes of its variable; the number of these where it is missing.

    Examples
    --------
    >>> labels, codes = read_labels([["b", "x"], ["a", "y"], ["b", "x"]])
    >>> labels.names, labels.cards, codes.tolist()
    (('y0', 'y1'), (2, 2), [[1, 0, 1], [0, 1, 0]])
    >>> labels.decode(codes[:, :2]).tolist()
    [['b', 'x'], ['a', 'y']]
    """
    columns, frame = _columns(Y)
    found = _n_rows(columns)
    if n_rows is not None and found != n_rows:
        raise ValueError(f"X has {n_rows:,} rows, but Y has {found:,}: inconsistent numbers of samples")
    codes = np.empty((len(columns), found), dtype=np.int64)
    classes = []
    for j, (name, column) in enumerate(columns):
        coded = code_column(name, column)
        classes.append(_classes(name, coded))
        codes[j] = _look_up(name, coded, classes[j])
        where = np.flatnonzero(codes[j] == len(classes[j]))
        if where.size and not missing:
            raise ValueError(
                f"Input Y contains NaN or None: the label of {name!r} in row {where[0]} is missing; leave such rows out"
            )
    return Labels(tuple(name for name, _ in columns), tuple(classes), frame), codes


def pair_counts(codes: NDArray[Any], cards: Sequence[int], weights: Floats | None = None) -> Floats:
    """How often each two labels occur together, for all labels of all class variables; missing ones are ignored.

    Examples
    --------
    >>> pair_counts(np.array([[0, 1, 1], [1, 0, 2]]), [2, 2]).tolist()
    [[1.0, 0.0, 0.0, 1.0], [0.0, 2.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]]
    """
    seen = np.array([row == k for row, card in zip(codes, cards, strict=True) for k in range(card)], dtype=np.float64)
    return np.asarray((seen if weights is None else seen * weights) @ seen.T)


# ---- columns and their labels ------------------------------------------------------------------------------------


def _columns(Y: Any) -> tuple[list[tuple[str, Any]], str | None]:
    """The names and native columns of Y, and the library of its data frame."""
    import narwhals as nw

    frame = None
    if isinstance(Y, Table):
        columns: list[tuple[str, Any]] = list(Y.coded_columns())
    elif isinstance(Y, Mapping) and not issparse(Y):
        columns = [(str(name), column) for name, column in Y.items()]
    elif nw.dependencies.is_into_dataframe(Y):
        columns = columns_of_frame(Y)
        frame = nw.from_native(Y).implementation.name.lower()
    else:
        columns = _columns_of_array(Y)
    check_column_names([name for name, _ in columns])
    if not columns:
        raise ValueError("Y has no columns; at least one class variable is needed")
    return columns, frame


def _columns_of_array(Y: Any) -> list[tuple[str, Any]]:
    array = Y.toarray() if issparse(Y) else _checking.array("Y", Y, "a table of labels, one column per class variable")
    if not issparse(Y) and not isinstance(Y, np.ndarray) and array.dtype.kind == "U":
        array = np.asarray(Y, dtype=object)  # a list that mixes text and numbers or None would become text
    if array.ndim != 2:
        raise ValueError(
            f"Y must have the shape (n_rows, n_targets), got {array.shape}; for one class variable, use a classifier "
            "of one, such as bntk.TAN, or Y[:, None]"
        )
    return [(f"y{j}", column) for j, column in enumerate(array.T)]


def _n_rows(columns: Sequence[tuple[str, Any]]) -> int:
    for name, column in columns:
        if not isinstance(column, CodedColumn) and not hasattr(column, "__len__"):
            raise _checking.wrong(f"column {name!r} of Y", "a list of labels", column, DataError)
    lengths = {name: len(c.codes) if isinstance(c, CodedColumn) else len(c) for name, c in columns}
    first = next(iter(lengths))
    for name, length in lengths.items():
        if length != lengths[first]:
            raise DataError(f"column {first!r} of Y has {lengths[first]:,} rows, but column {name!r} has {length:,}")
    return lengths[first]


def _classes(name: str, column: CodedColumn) -> NDArray[Any]:
    """The labels in use, sorted."""
    used = np.unique(column.codes[column.codes >= 0]).tolist()
    labels = list(dict.fromkeys(label for code in used if not is_missing(label := plain_state(column.labels[code]))))
    if not labels:
        raise DataError(f"the class variable {name!r} has no label: every row is missing it; leave it out")
    fraction = next((x for x in labels if isinstance(x, float) and not x.is_integer()), None)
    if fraction is not None:
        raise ValueError(f"Unknown label type: the class variable {name!r} holds continuous numbers, as {fraction}")
    try:
        labels = sorted(labels)  # type: ignore[type-var]
    except TypeError:
        raise DataError(
            f"the class variable {name!r} mixes kinds of labels that have no order: {format_states(labels)}; make them "
            "all text, or all numbers"
        ) from None
    array = np.array(labels)
    return array.astype(object) if array.dtype.kind == "U" else array


def _look_up(name: str, column: CodedColumn, classes: NDArray[Any]) -> Codes:
    position = {label: k for k, label in enumerate(classes.tolist())}
    lookup = np.full(len(column.labels) + 1, len(classes), dtype=np.int64)  # a code of -1 reads the last
    for code in np.unique(column.codes).tolist():
        label = plain_state(column.labels[code]) if code >= 0 else None
        if is_missing(label):
            continue
        if label not in position:
            row = int(np.flatnonzero(column.codes == code)[0])
            raise ValueError(
                f"the class {label!r} of {name!r} in row {row} is none of the known ones: {classes.tolist()}"
            )
        lookup[code] = position[label]
    return lookup[column.codes.astype(np.int64)]


def _side_by_side(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Columns as one array, of objects where their kinds differ."""
    kinds = {column.dtype.kind for column in columns}
    same = len(kinds) == 1 or kinds <= set("iuf")
    return np.column_stack(columns if same else [column.astype(object) for column in columns])

"""What is to be predicted: one class variable or several, their classes, and the rows that have a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.classifiers.base import _n_rows, _rows_of
from bntk.data.class_order import label_column, positions_in_order
from bntk.data.coding import CodedColumn, codes_in_use, declared_order
from bntk.data.labels import read_labels
from bntk.data.table import Table
from bntk.data.variable import State, format_states, is_missing, natural_order, plain_state
from bntk.errors import DataError


@dataclass(frozen=True)
class Target:
    """The labels of all rows.

    Attributes
    ----------
    y : Any
        As they were given.
    known : ndarray of bool
        Which rows have every label.
    several : bool
        Whether there are several class variables.
    classes : tuple
        The classes of one class variable, from the lowest to the highest if they have an order; empty for several.
    has_order : bool
        Whether they have an order.
    codes : ndarray of int
        The place of each row's class among them; -1 where it is missing.
    """

    y: Any
    known: NDArray[np.bool_]
    several: bool
    classes: tuple[State, ...] = ()
    has_order: bool = False
    codes: NDArray[np.intp] | None = None

    @classmethod
    def read(cls, y: Any) -> Target:
        """Read labels of any kind: one column, or a table with a column per class variable."""
        if _is_several(y):
            labels, codes = read_labels(y, missing=True)
            cards = np.array(labels.cards)
            return cls(y, np.asarray((codes < cards[:, None]).all(axis=0)), True)
        column = label_column("y", y)
        classes, has_order = _classes(column)
        place = {label: k for k, label in enumerate(classes)}
        lookup = np.array([place.get(plain_state(label), -1) for label in (*column.labels, None)], dtype=np.intp)
        codes = np.take(lookup, column.codes.astype(np.intp), mode="wrap")
        return cls(y, codes >= 0, False, classes, has_order, codes)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.known)

    def rows(self, rows: NDArray[np.intp]) -> Any:
        """The labels of some rows, as they were given."""
        return _rows_of(self.y, rows)

    def require_order(self, measure: str) -> None:
        """Refuse classes without an order for a measure that needs one."""
        if not self.has_order:
            raise DataError(
                f"the measure {measure} needs ordered classes, but {format_states(self.classes)} have no order; "
                "declare it, the lowest class first (a pandas column with ordered categories, a polars Enum, an "
                "ordered bntk.Variable), or use numbers"
            )

    def check(self, X: Any, estimators: Mapping[str, Any], unlabelled: str) -> None:
        """Refuse labels that do not fit the rows or the estimators, and missing ones unless they are allowed."""
        n = rows_in(X)
        if n != self.n_rows:
            raise DataError(f"X has {n:,} rows, but y has {self.n_rows:,} labels")
        _checking.one_of("unlabelled", unlabelled, ("error", "drop", "train"))
        missing = np.flatnonzero(~self.known)
        if missing.size and unlabelled == "error":
            raise DataError(
                f"the label of row {missing[0]} is missing (there are {missing.size:,} such rows); leave them out "
                "(unlabelled='drop'), or give them to estimators that learn from them (unlabelled='train')"
            )
        if missing.size == self.n_rows:
            raise DataError("no row has a label")
        for name, estimator in estimators.items():
            self._check_estimator(name, estimator)

    def _check_estimator(self, name: str, estimator: Any) -> None:
        from bntk.classifiers.base import RowReader
        from bntk.classifiers.multidim.base import MultiTargetClassifier

        for_several = isinstance(estimator, MultiTargetClassifier)
        if self.several and not for_several and _n_columns(self.y) == 1:
            raise DataError("y is a table of one column; give the column itself, such as y['class'] or y.ravel()")
        if isinstance(estimator, RowReader) and for_several != self.several:
            wanted, given = ("several class variables", "one") if for_several else ("one class variable", "several")
            raise DataError(f"{name} ({type(estimator).__name__}) is for {wanted}, but y has {given}")


def rows_in(X: Any) -> int:
    """The number of rows of data of any kind."""
    if isinstance(X, Table):
        return X.n_rows
    return int(X.shape[0]) if hasattr(X, "shape") else _n_rows(X)


def _n_columns(y: Any) -> int:
    """The number of columns of labels with two dimensions."""
    return int(y.shape[1]) if hasattr(y, "shape") else len(y) if isinstance(y, Mapping) else len(next(iter(y)))


def _is_several(y: Any) -> bool:
    """Whether labels have two dimensions: a column per class variable."""
    if isinstance(y, Table):
        return len(y.names) > 1
    if isinstance(y, Mapping):
        return True
    if hasattr(y, "shape"):
        return len(y.shape) == 2
    first = next(iter(y), None) if hasattr(y, "__len__") else None
    return isinstance(first, (list, tuple, np.ndarray))


def _classes(column: CodedColumn) -> tuple[tuple[State, ...], bool]:
    """All classes, in the order that is declared, or that of numbers, or sorted; and whether this is an order."""
    declared = declared_order(column)
    if declared is not None:
        return tuple(declared), True
    labels = [plain_state(column.labels[code]) for code in codes_in_use(column, seen=True) if code < len(column.labels)]
    states = natural_order(dict.fromkeys(label for label in labels if not is_missing(label)))
    places = positions_in_order(states, ordered=False)
    return tuple(states if places is None else [states[k] for k in places]), places is not None

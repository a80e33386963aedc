"""The labels of a class variable: coded as every other column is, their distinct values sorted as scikit-learn does."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from bntk.data.coding import CodedColumn, codes_in_use
from bntk.data.columns import code_column
from bntk.data.variable import format_states, is_missing, plain_state

Codes = NDArray[Any]


class ClassColumn:
    """The labels of rows: the distinct ones, and which of them each row has.

    Attributes
    ----------
    labels : ndarray
        Sorted and distinct; each occurs in some row.
    codes : ndarray of int
        The position of each row's label.
    """

    def __init__(self, labels: NDArray[Any], codes: Codes) -> None:
        self.labels, self.codes = labels, codes

    @classmethod
    def read(cls, y: Any) -> ClassColumn:
        """Read ``y``: a list, an array, or a series of pandas, polars or pyarrow; no label may be missing.

        Examples
        --------
        >>> column = ClassColumn.read(["yes", "no", "yes"])
        >>> column.labels.tolist(), column.codes.tolist()
        (['no', 'yes'], [1, 0, 1])
        """
        column = y if _is_series(y) else column_or_1d(y, warn=True)
        first = column.iloc[:1] if hasattr(column, "iloc") else column[:1]
        coded = code_column("y", column)
        used = [code for code in codes_in_use(coded, seen=True) if not is_missing(coded.labels[code])]
        _refuse_missing(coded, used)
        labels = _as_array([coded.labels[code] for code in used], np.asarray(first).dtype)
        if labels.dtype.kind == "f" and np.isinf(labels).any():
            raise ValueError("Input y contains infinity")
        if labels.dtype.kind not in "biuU":
            _check_kind(labels)
        labels, places = np.unique(labels, return_inverse=True)
        lookup = np.zeros(len(coded.labels) + 1, dtype=np.int64)
        lookup[used] = places
        _warn_of_many(len(labels), len(coded.codes))
        return cls(labels, np.take(lookup, coded.codes, mode="wrap"))

    def take(self, rows: NDArray[np.intp]) -> ClassColumn:
        """The labels of some of the rows."""
        codes = self.codes[rows]
        used, codes = np.unique(codes, return_inverse=True)
        return ClassColumn(self.labels[used], codes)

    def among(self, classes: NDArray[Any]) -> Codes:
        """The position of each row's label in a sorted array of labels; a label that it lacks is refused."""
        if classes is self.labels or np.array_equal(classes, self.labels):
            return self.codes
        places = np.minimum(np.searchsorted(classes, self.labels), len(classes) - 1)
        strange = np.flatnonzero(classes[places] != self.labels)
        if strange.size:
            rows = np.flatnonzero(np.isin(self.codes, strange))
            label = plain_state(self.labels[self.codes[rows[0]]])
            raise ValueError(f"the class {label!r} in row {rows[0]} is none of the known ones: {classes.tolist()}")
        return places[self.codes]

    def __len__(self) -> int:
        return len(self.codes)


def _is_series(y: Any) -> bool:
    """Whether ``y`` is one column of a library that has a quicker way to code it than to make an array of it."""
    import narwhals as nw

    if nw.dependencies.is_into_series(y):
        return True
    return type(y).__module__.partition(".")[0] == "pyarrow" and hasattr(y, "dictionary_encode")


def _as_array(labels: list[Any], dtype: Any) -> NDArray[Any]:
    """Labels as an array of the type that the whole column would have."""
    if dtype.kind == "O":
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
        return array
    return np.array(labels, dtype=dtype)


def _refuse_missing(coded: CodedColumn, used: list[int]) -> None:
    known = np.zeros(len(coded.labels) + 1, dtype=bool)  # a negative code reads the last
    known[used] = True
    if known[:-1].all() and (coded.codes.dtype.kind == "u" or coded.codes.min(initial=0) >= 0):
        return
    missing = ~np.take(known, coded.codes, mode="wrap")
    if missing.any():
        raise ValueError(
            f"Input y contains NaN or None: the class of row {int(np.argmax(missing))} is missing; leave such rows "
            "out, or learn from them by EM (bntk.fit_em)"
        )


def _warn_of_many(n_labels: int, n_rows: int) -> None:
    if n_rows > 20 and n_labels > round(n_rows / 2):
        warnings.warn(
            f"The number of unique classes is greater than 50% of the number of samples: y has {n_labels:,} labels in "
            f"{n_rows:,} rows. It could be a regression problem, or y an identifier.",
            UserWarning,
            stacklevel=5,
        )


def _check_kind(labels: NDArray[Any]) -> None:
    """scikit-learn's check that labels are discrete; what it asks about rows does not matter for distinct labels."""
    try:
        check_classification_targets(labels[:20])
        if labels.dtype.kind == "f":
            check_classification_targets(labels[labels != np.floor(labels)][:20])
        elif labels.dtype.kind == "O":
            sorted(labels.tolist())
    except TypeError as error:
        if "bytes" in str(error):
            raise
        raise ValueError(
            f"the labels of y are of kinds that have no order: {format_states(labels.tolist())}; make them all text, "
            "or all numbers"
        ) from None

"""Rows of counts as sparse matrices of scipy, for naive Bayes: nothing is as large as all cells together.

Cells that are not stored are 0. With ``numeric="multinomial"`` the matrix takes the place of the numbers of the rows;
with ``"bernoulli"`` only how often each column is above 0 in each class has to be counted, and predictions add what
stored cells change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk.classifiers.features import Features, Rows
from bntk.data.table import Table, code_dtype
from bntk.data.variable import Variable
from bntk.errors import ArgumentError, DataError
from bntk.learning.counts.base import Block, Counter

Floats = NDArray[np.float64]

#: The ways in which sparse rows are taken, of all columns at once.
WAYS = ("multinomial", "bernoulli")
#: Cells of a block of rows that is written out, where that cannot be avoided.
CELLS_AT_ONCE = 1 << 24


def refuse_sparse(X: Any, who: str, numeric: Any) -> ArgumentError:
    """The error for a sparse matrix where rows must be written out."""
    n_rows, n_columns = X.shape
    able = "NaiveBayes with numeric='multinomial' or 'bernoulli' takes them as they are"
    ways = f" with numeric={numeric!r}" if who == "NaiveBayes" else ""
    return ArgumentError(
        f"X is sparse, but {who}{ways} takes rows with all cells: give X.toarray(), which needs "
        f"{8 * n_rows * n_columns:,} bytes for {n_rows:,} rows and {n_columns:,} columns; of sparse rows, {able}"
    )


def sparse_features(X: Any, way: str) -> Features:
    """The features of the columns of a sparse matrix, the same as those of the array."""
    names = tuple([f"x{column}" for column in range(X.shape[1])])
    if way == "multinomial":
        return Features(names, (), frozenset(), {}, dict.fromkeys(names, way))
    states = Variable.of_intervals("present", [0.0]).states
    seen = tuple([Variable._trusted(name, states, ordered=True) for name in names])  # there may be very many
    return Features(names, seen, frozenset(), {name: np.zeros(1) for name in names}, {})


def sparse_rows(X: Any, features: Features) -> Rows:
    """Rows of a sparse matrix: of counts of words, or of what is present and absent."""
    ways = {*features.continuous.values()}
    if ways == {"multinomial"} and len(features.continuous) == len(features.names):
        return Rows(_nothing(X.shape[0]), X)
    if len(features.cuts) != len(features.names) or any(cuts.tolist() != [0.0] for cuts in features.cuts.values()):
        raise DataError(
            "X is sparse, but the classifier was fitted to columns that are not all counts of words "
            "(numeric='multinomial'), or all present or absent ('bernoulli'): give X.toarray()"
        )
    missing = np.flatnonzero(np.isnan(X.data))
    if missing.size:
        row = int(np.searchsorted(X.indptr, missing[0], side="right")) - 1
        raise DataError(
            f"column {features.names[X.indices[missing[0]]]!r} holds NaN in row {row}: sparse rows that are present or "
            "absent have no missing values; give X.toarray(), or remove the row"
        )
    present = X.copy()
    present.data = (X.data > 0).astype(np.float64)
    present.eliminate_zeros()
    return Rows(_nothing(X.shape[0]), present)


def _nothing(n_rows: int) -> Table:
    """Rows without a feature that has a column of codes."""
    return Table._make(np.empty((0, n_rows), dtype=np.uint8), ())


def sums_by_class(X: Any, classes: NDArray[Any], n_classes: int, weights: Floats | None) -> Floats:
    """The sum of each column over the rows of each class, shape (n_columns, n_classes)."""
    members = np.zeros((len(classes), n_classes))
    members[np.arange(len(classes)), classes] = 1.0 if weights is None else weights
    return np.asarray(X.T @ members)


class PresenceCounter(Counter):
    """Counts of features that are present or absent, each with the class, from a sparse matrix.

    Parameters
    ----------
    present : sparse matrix of shape (n_rows, n_features), of ones
    classes : ndarray of int
    variables : iterable of Variable
        The features, with two states each, and the class.
    weights : ndarray, optional
    """

    def __init__(
        self, present: Any, classes: NDArray[Any], variables: Iterable[Variable], weights: Floats | None
    ) -> None:
        super().__init__(variables)
        self._present, self._classes, self._weights = present, classes, weights
        n_classes = self.variables[-1].n_states
        self._of_classes = np.bincount(classes, weights, n_classes)
        self._sums = sums_by_class(present, classes, n_classes, weights)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._classes)

    @property
    def weighted(self) -> bool:
        """True when rows have weights."""
        return self._weights is not None

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all rows."""
        return float(self.n_rows if self._weights is None else self._weights.sum())

    def tables(self, families: Iterable[Iterable[str | int]], **limits: Any) -> list[np.ndarray]:
        """Contingency tables; those of one feature, with or without the class, do not look at the rows again."""
        chosen = [tuple([self._places[place] for place in family]) for family in families]
        if any(len({*family} - {len(self.cards) - 1}) > 1 for family in chosen):
            return super().tables(chosen, **limits)
        return [self._table(family) for family in chosen]

    def _table(self, family: tuple[int, ...]) -> np.ndarray:
        target = len(self.cards) - 1
        features = [v for v in family if v != target]
        found = self._of_classes
        if features:
            present = self._sums[features[0]]
            found = np.stack([np.maximum(self._of_classes - present, 0.0), present], axis=-1)
            found = found if family[0] == target else found.T
            found = found if target in family else found.sum(axis=1)
        return found if self.weighted else np.rint(found).astype(np.int64)

    def _blocks(self) -> Iterator[Block]:
        size = max(1, CELLS_AT_ONCE // len(self.cards))
        for start in range(0, max(1, self.n_rows), size):
            rows = slice(start, start + size)
            codes = np.empty((len(self.cards), len(self._classes[rows])), dtype=code_dtype(self.variables))
            codes[:-1], codes[-1] = self._present[rows].toarray().T, self._classes[rows]
            yield Table._make(codes, self.variables), None if self._weights is None else self._weights[rows]

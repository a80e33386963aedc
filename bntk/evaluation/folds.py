"""Folds of rows with several labels, in which every label has its share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import BaseCrossValidator

from bntk import _checking
from bntk.data.labels import read_labels
from bntk.evaluation.metrics import indicators


class MultilabelStratifiedKFold(BaseCrossValidator):
    """Cross-validation splitter for several labels, by iterative stratification.

    The folds keep the share of every label (Sechidis, Tsoumakas and Vlahavas 2011). The rows of the rarest label are
    assigned first, each to the fold that lacks most rows with this label, since a rare label cannot be balanced later,
    but a frequent one can. Ties go to the fold that lacks most rows, then to a random one. It can be used as ``cv`` in
    scikit-learn.

    Parameters
    ----------
    n_splits : int
        The number of folds, at least 2.
    seed : int
        Determines the random choices: the same seed gives the same folds.
    absent : label
        The state that means that a label is absent (0, and so False); None if every state is a label. As in
        ``bntk.evaluation.metrics``, each other state of a class variable is a label. Missing values are ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from bntk.evaluation import MultilabelStratifiedKFold
    >>> Y = np.array([[1, 0], [1, 0], [1, 1], [1, 1], [0, 0], [0, 0]])
    >>> for train, test in MultilabelStratifiedKFold(2).split(Y, Y):
    ...     print(Y[test].sum(axis=0))
    [2 1]
    [2 1]
    """

    def __init__(self, n_splits: int = 5, *, seed: int = 0, absent: Any = 0) -> None:
        self.n_splits = _checking.whole_number("n_splits", n_splits, least=2)
        self.seed, self.absent = _checking.whole_number("seed", seed, least=0), absent

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return self.n_splits

    def _iter_test_masks(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[NDArray[np.bool_]]:
        if y is None:
            raise ValueError("MultilabelStratifiedKFold needs y, the labels whose shares it keeps")
        present = _present(y, self.absent)
        n_rows = len(present)
        if self.n_splits > n_rows:
            raise _checking.wrong("n_splits", f"from 2 to the number of rows, {n_rows}", self.n_splits)
        fold = stratified_folds(present, np.full(self.n_splits, 1 / self.n_splits), self.seed)
        for k in range(self.n_splits):
            yield fold == k


def stratified_parts(Y: Any, shares: ArrayLike, seed: int = 0, absent: Any = 0) -> NDArray[np.intp]:
    """The part of each row: each part has about its share of all rows, and of those of every label."""
    return stratified_folds(_present(Y, absent), np.asarray(shares, dtype=np.float64), seed)


def _present(Y: Any, absent: Any) -> NDArray[np.bool_]:
    labels, codes = read_labels(Y, missing=True)
    return indicators(codes, [classes.tolist() for classes in labels.classes], absent)


def stratified_folds(present: NDArray[np.bool_], shares: NDArray[np.float64], seed: int = 0) -> NDArray[np.intp]:
    """The fold of each row; ``present`` has the shape (n_rows, n_labels), ``shares`` are those of the folds."""
    generator = np.random.default_rng(seed)
    n_rows = len(present)
    fold = np.full(n_rows, -1, dtype=np.intp)
    wanted_rows = n_rows * shares
    wanted = np.outer(shares, present.sum(axis=0))
    order = generator.permutation(n_rows)  # so that rows that lie together are not dealt out together

    def deal(row: int, wish: NDArray[np.float64]) -> None:
        best = np.flatnonzero(wish == wish.max())
        best = best[wanted_rows[best] == wanted_rows[best].max()]
        chosen = int(best[0] if len(best) == 1 else generator.choice(best))
        fold[row] = chosen
        wanted_rows[chosen] -= 1
        wanted[chosen, present[row]] -= 1

    left = present.sum(axis=0)
    while left.any():
        rarest = int(np.argmin(np.where(left > 0, left, n_rows + 1)))
        rows = order[present[order, rarest] & (fold[order] < 0)]
        for row in rows.tolist():
            deal(row, wanted[:, rarest])
        left -= present[rows].sum(axis=0)
    for row in order[fold[order] < 0].tolist():  # rows without a label
        deal(row, wanted_rows)
    return fold

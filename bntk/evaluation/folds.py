"""Folds of rows with several labels, in which every label has its share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator

from bntk.data.labels import read_labels
from bntk.evaluation.metrics import indicators


class MultilabelStratifiedKFold(BaseCrossValidator):
    """Folds by iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011), a splitter for scikit-learn.

    The rows of the rarest label are dealt out first, each to the fold that wants most rows with it; a label that is
    rare cannot be made up for later, a frequent one can. Ties go to the fold that wants most rows, then by lot.

    Parameters
    ----------
    n_splits : int
    seed : int
        The same seed gives the same folds.
    absent : label
        The label that does not count as one (0, and so False); None counts every one. As in
        ``bntk.evaluation.metrics``, each other state of a class variable is a label. Missing labels do not count.

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
        self.n_splits, self.seed, self.absent = n_splits, seed, absent

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return self.n_splits

    def _iter_test_masks(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[NDArray[np.bool_]]:
        if y is None:
            raise ValueError("MultilabelStratifiedKFold needs y, the labels whose shares it keeps")
        labels, codes = read_labels(y, missing=True)
        n_rows = codes.shape[1]
        if not 2 <= self.n_splits <= n_rows:
            raise ValueError(f"n_splits must be from 2 to the number of rows, {n_rows}, not {self.n_splits!r}")
        present = indicators(codes, [classes.tolist() for classes in labels.classes], self.absent)
        fold = stratified_folds(present, self.n_splits, self.seed)
        for k in range(self.n_splits):
            yield fold == k


def stratified_folds(present: NDArray[np.bool_], n_folds: int, seed: int = 0) -> NDArray[np.intp]:
    """The fold of each row; ``present`` has a row a row and a column a label."""
    generator = np.random.default_rng(seed)
    n_rows = len(present)
    fold = np.full(n_rows, -1, dtype=np.intp)
    wanted_rows = np.full(n_folds, n_rows / n_folds)
    wanted = np.outer(np.full(n_folds, 1 / n_folds), present.sum(axis=0))
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

"""Which rows are left out when a row is predicted: plans for leave-one-out, folds, and one row after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk.data.weights import copies_of
from bntk.errors import DataError
from bntk.learning.counts import TableCounter
from bntk.learning.scores.predictive_kernels import FOLDS, LEAVE_ONE, RUNNING

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class HoldoutPlan:
    """An order of the rows in which those that are left out together are neighbours.

    Attributes
    ----------
    scheme : int
        One of those of :mod:`.predictive_kernels`.
    order : ndarray of shape (M,)
        Positions of rows. Repeated cross-validation has every row once a repeat, all of the first repeat first.
    starts : ndarray
        Where folds begin in ``order``, and its length.
    """

    scheme: int
    order: Ints
    starts: Ints

    def fold_shares(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each row adds to a mean over folds: its weight over that of its fold and the number of folds.

        Folds without weight do not count. When single rows are left out, each has the share of its own weight.
        """
        weights = weights[self.order]
        if self.scheme != FOLDS:
            return weights / weights.sum()
        sizes = np.add.reduceat(weights, self.starts[:-1])
        shares = np.divide(1, sizes, out=np.zeros_like(sizes), where=sizes > 0) / np.count_nonzero(sizes > 0)
        return weights * np.repeat(shares, np.diff(self.starts))


def one_by_one(counter: TableCounter) -> TableCounter:
    """A counter in which a row of weight 2 is two rows; the same where weights are not whole, or the rows too many."""
    copies = None if counter.weights is None else copies_of(counter.weights)
    return counter if copies is None else TableCounter(counter.table.take(copies))


def leave_one_out(y: Ints) -> HoldoutPlan:
    """Each row alone is left out; rows are ordered by class, which makes them neighbours in the tables."""
    return HoldoutPlan(LEAVE_ONE, np.argsort(y, kind="stable"), np.array([0, len(y)]))


def one_after_the_other(y: Ints, shuffle: int | None) -> HoldoutPlan:
    """Each row and all after it are left out."""
    order = np.arange(len(y)) if shuffle is None else np.random.default_rng(shuffle).permutation(len(y))
    return HoldoutPlan(RUNNING, order, np.array([0, len(y)]))


def in_folds(numbers: Ints) -> HoldoutPlan:
    """Each fold is left out; ``numbers`` has the shape (repeats, n) and gives the fold of each row."""
    orders, starts, n = [], [np.array([0])], numbers.shape[1]
    for repeat, row in enumerate(numbers):
        order = np.argsort(row, kind="stable")
        orders.append(order)
        starts.append(repeat * n + np.append(np.flatnonzero(np.diff(row[order])) + 1, n))
    return HoldoutPlan(FOLDS, np.concatenate(orders), np.concatenate(starts))


def stratified(y: Ints, folds: int, repeats: int, seed: int) -> Ints:
    """Fold numbers of the shape (repeats, n): the rows of each class, shuffled, are dealt to the folds in turn.

    So the folds differ by at most one row, and by at most one row of each class. Classes take turns in the order in
    which they come up first, so that the folds do not depend on how classes are ordered or called.

    >>> stratified(np.array([0, 0, 0, 0, 1, 1]), folds=2, repeats=1, seed=0)
    array([[0, 1, 1, 0, 1, 0]])
    """
    if folds > len(y):
        raise DataError(f"{folds} folds cannot be made of {len(y)} rows whose class is known; give fewer folds")
    numbers = np.empty((repeats, len(y)), dtype=np.int64)
    _, first, place = np.unique(y, return_index=True, return_inverse=True)
    turn = first[place]
    for repeat in range(repeats):
        shuffled = np.random.default_rng([seed, repeat]).permutation(len(y))
        by_class = shuffled[np.argsort(turn[shuffled], kind="stable")]
        numbers[repeat, by_class] = np.arange(len(y)) % folds
    return numbers


class FoldNumbers(tuple[tuple[int, ...], ...]):
    """Fold numbers of rows, one tuple a repeat: a value that can be compared and hashed, with a short repr."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<folds of {len(self[0])} rows>" if len(self) == 1 else f"<{len(self)} x folds of {len(self[0])} rows>"


def check_folds(folds: Any, repeats: int) -> tuple[int | str | FoldNumbers, int]:
    """``folds`` and ``repeats`` as scores keep them; an array of fold numbers says how many repeats there are."""
    repeats = _checking.whole_number("repeats", repeats, least=1)
    if _checking.is_whole(folds):
        return _checking.whole_number("folds", folds, least=2), repeats
    if isinstance(folds, str) and folds == "loo":
        if repeats != 1:
            raise ValueError(
                f'repeats={repeats}, but folds="loo" leaves out the same rows each time; repeats must be 1'
            )
        return folds, 1
    if isinstance(folds, FoldNumbers):
        return folds, len(folds)
    numbers = np.atleast_2d(_fold_array(folds))
    if repeats not in (1, len(numbers)):
        raise ValueError(f"repeats={repeats}, but fold numbers for {len(numbers)} repeats were given")
    return FoldNumbers(tuple(row) for row in numbers.tolist()), len(numbers)


def _fold_array(folds: ArrayLike) -> NDArray[Any]:
    try:
        numbers = np.asarray(folds)
    except ValueError:  # rows of different lengths
        numbers = np.empty(0)
    if numbers.ndim not in (1, 2) or numbers.size == 0 or numbers.dtype.kind not in "iu":
        raise ValueError(
            'folds must be a whole number from 2, "loo", or an array of the shape (rows,) or (repeats, rows) with '
            f"the number of the fold of each row; not {folds!r}"
        )
    for row in np.atleast_2d(numbers):
        if (row == row[0]).all():
            raise ValueError(
                f"folds: all rows are in fold {row[0]}, so that none is left to learn from; give two or more"
            )
    return numbers


def fold_numbers(folds: int | FoldNumbers, repeats: int, y: Ints, kept: NDArray[np.bool_], seed: int) -> Ints:
    """The fold of each kept row, in an array of the shape (repeats, n)."""
    if isinstance(folds, int):
        return stratified(y, folds, repeats, seed)
    if len(folds[0]) != len(kept):
        raise DataError(f"folds gives the fold of {len(folds[0])} rows, but the data have {len(kept)}")
    return np.array(folds, dtype=np.int64)[:, kept]

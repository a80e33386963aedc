"""Splits into training and test rows: stratified folds, hold-out, or those of any splitter; the same for everyone."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk._warnings import warn
from bntk.errors import ArgumentError, BntkWarning, DataError
from bntk.evaluation.targets import Target

Rows = NDArray[np.intp]

#: The share of test rows of ``cv="holdout"``.
HOLDOUT = 0.3


class Split(NamedTuple):
    """Training and test rows, and which repeat and fold they are, from 0."""

    repeat: int
    fold: int
    train: Rows
    test: Rows


def make_splits(
    X: Any, target: Target, cv: Any, repeats: int, random_state: int, unlabelled: str = "error", groups: Any = None
) -> list[Split]:
    """The splits that ``cv`` and ``repeats`` describe, see :func:`bntk.evaluation.cross_validate`.

    Rows without a label are in no test part; with ``unlabelled="train"`` they are in every training part that
    ``cv`` does not name row by row.
    """
    repeats = _checking.whole_number("repeats", repeats, least=1)
    random_state = _checking.whole_number("random_state", random_state, 0, 2**32 - 1)
    if isinstance(cv, str) and cv != "holdout":
        raise ValueError(f"cv={cv!r} is not known; give a number of folds, 'holdout', a share, a splitter or splits")
    if isinstance(cv, (str, int, float, np.number)) and not isinstance(cv, bool):
        return _own_splits(target, cv, repeats, random_state, unlabelled)
    if repeats > 1:
        raise ValueError(f"repeats={repeats} is for cv as a number or 'holdout'; a splitter repeats by itself")
    given = _given_splits(X, target, cv, groups)
    splits = [_checked(split, target, unlabelled) for split in given]
    lost = [len(before.test) - len(after.test) for before, after in zip(given, splits, strict=True)]
    if any(lost):
        where = f"{np.count_nonzero(lost):,} of {len(lost):,} test parts"
        warn(f"{sum(lost):,} rows in {where} have no label, and are left out", BntkWarning)
    return splits


# ---- our own ---------------------------------------------------------------------------------------------------------


def _own_splits(target: Target, cv: Any, repeats: int, seed: int, unlabelled: str) -> list[Split]:
    """Splits of the rows that have labels; the others are for training, or for nothing."""
    labelled, rest = np.flatnonzero(target.known), np.flatnonzero(~target.known)
    rest = rest if unlabelled == "train" else rest[:0]
    share = HOLDOUT if isinstance(cv, str) else float(cv) if isinstance(cv, (float, np.floating)) else None
    if share is not None:
        pairs = _holdout(target, labelled, share, repeats, seed)
        n_folds = 1
    else:
        pairs, n_folds = _folds(target, labelled, int(cv), repeats, seed), int(cv)
    return [
        Split(i // n_folds, i % n_folds, np.sort(np.concatenate([labelled[train], rest])), labelled[test])
        for i, (train, test) in enumerate(pairs)
    ]


def _folds(target: Target, labelled: Rows, n_folds: int, repeats: int, seed: int) -> list[tuple[Rows, Rows]]:
    if not 2 <= n_folds <= len(labelled):
        raise DataError(f"cv must be from 2 to the number of rows with labels, {len(labelled):,}; got {n_folds}")
    if target.several:
        from bntk.evaluation.folds import MultilabelStratifiedKFold

        Y = target.rows(labelled)
        folds = [MultilabelStratifiedKFold(n_folds, seed=seed + repeat) for repeat in range(repeats)]
        return [pair for each in folds for pair in each.split(np.empty((len(labelled), 0)), Y)]
    from sklearn.model_selection import RepeatedStratifiedKFold

    assert target.codes is not None
    codes = target.codes[labelled]
    if np.bincount(codes).max() < n_folds:
        n_labels = len(np.unique(codes))
        raise DataError(
            f"no class has {n_folds} rows, one for each fold, as y has {n_labels:,} labels; take fewer folds"
        )
    folds = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=repeats, random_state=seed)
    with warnings.catch_warnings():  # measures allow for classes that some folds lack
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(folds.split(np.empty((len(codes), 0)), codes))


def _holdout(target: Target, labelled: Rows, share: float, repeats: int, seed: int) -> list[tuple[Rows, Rows]]:
    if not 0 < share < 1:
        raise DataError(f"cv as a share of test rows must be above 0 and below 1; got {share}")
    if target.several:
        from bntk.evaluation.folds import stratified_parts

        Y, found = target.rows(labelled), []
        for repeat in range(repeats):
            part = stratified_parts(Y, [share, 1 - share], seed + repeat)
            found.append((np.flatnonzero(part == 1), np.flatnonzero(part == 0)))
        return found
    from sklearn.model_selection import StratifiedShuffleSplit

    assert target.codes is not None
    codes = target.codes[labelled]
    counts = np.bincount(codes, minlength=len(target.classes))
    if (counts == 1).any():
        label = target.classes[int(np.argmax(counts == 1))]
        raise DataError(
            f"the class {label!r} has one row, which cannot be both in training and in test rows: leave it out, or use "
            "folds (cv=10)"
        )
    splitter = StratifiedShuffleSplit(n_splits=repeats, test_size=share, random_state=seed)
    return list(splitter.split(np.empty((len(codes), 0)), codes))


# ---- given -----------------------------------------------------------------------------------------------------------


def _given_splits(X: Any, target: Target, cv: Any, groups: Any) -> list[Split]:
    if hasattr(cv, "split") and not isinstance(cv, (type, str, bytes)):
        pairs: Iterable[Any] = cv.split(np.empty((target.n_rows, 0)), target.y, groups)
        repeats = int(getattr(cv, "n_repeats", 1))
    elif isinstance(cv, Iterable):
        pairs, repeats = cv, 1
    else:
        raise _checking.wrong("cv", "a number of folds, 'holdout', a share, a splitter or splits", cv)
    found = [_as_rows(pair, i, target.n_rows) for i, pair in enumerate(pairs)]
    if not found:
        raise DataError("cv has no splits")
    each = max(1, len(found) // repeats)
    return [Split(i // each, i % each, train, test) for i, (train, test) in enumerate(found)]


def _as_rows(pair: Sequence[Any], number: int, n_rows: int) -> tuple[Rows, Rows]:
    """Training and test rows as numbers; masks are allowed, too."""
    try:
        train, test = (np.asarray(part) for part in pair)
    except (TypeError, ValueError):
        raise ArgumentError(f"split {number} of cv must be a pair of training rows and test rows") from None
    rows = [np.flatnonzero(part) if part.dtype == bool else part.astype(np.intp) for part in (train, test)]
    for part, name in zip(rows, ("training", "test"), strict=True):
        if not part.size:
            raise DataError(f"split {number} of cv has no {name} rows")
        if part.min() < -n_rows or part.max() >= n_rows:
            raise DataError(f"split {number} of cv names the row {part.max()}, but there are {n_rows:,} rows")
    return rows[0], rows[1]


def _checked(split: Split, target: Target, unlabelled: str) -> Split:
    """A given split without test rows that have no label, and where these are dropped, without such training rows."""
    test = split.test[target.known[split.test]]
    train = split.train[target.known[split.train]] if unlabelled == "drop" else split.train
    if not test.size:
        raise DataError(f"no test row of repeat {split.repeat}, fold {split.fold} has a label")
    return split._replace(train=train, test=test)

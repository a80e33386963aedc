"""Splits are those of scikit-learn, stratified, and the same for everyone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, RepeatedKFold, RepeatedStratifiedKFold, train_test_split

from bntk.errors import BntkWarning, DataError
from bntk.evaluation.splits import make_splits
from bntk.evaluation.targets import Target

Y = np.array(["a"] * 60 + ["b"] * 30 + ["c"] * 10)
X = np.arange(100)[:, None]


def splits(y=Y, cv=5, repeats=1, seed=0, **options):
    return make_splits(np.empty((len(y), 1)), Target.read(y), cv, repeats, seed, **options)


def test_folds_are_those_of_scikit_learn():
    found = splits(cv=5, repeats=3, seed=7)
    expected = list(RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=7).split(X, Y))
    assert [(s.repeat, s.fold) for s in found] == [(r, f) for r in range(3) for f in range(5)]
    for split, (train, test) in zip(found, expected, strict=True):
        np.testing.assert_array_equal(split.train, np.sort(train))
        np.testing.assert_array_equal(split.test, test)


@pytest.mark.parametrize(("cv", "share"), [("holdout", 0.3), (0.3, 0.3), (0.5, 0.5)])
def test_hold_out_is_stratified_and_repeats_differ(cv, share):
    found = splits(cv=cv, repeats=4)
    assert [(s.repeat, s.fold) for s in found] == [(r, 0) for r in range(4)]
    assert len({tuple(sorted(s.test)) for s in found}) == 4
    for split in found:
        assert not set(split.train) & set(split.test)
        assert len(split.train) + len(split.test) == 100
        assert np.unique(Y[split.test], return_counts=True)[1].tolist() == [60 * share, 30 * share, 10 * share]


def test_one_hold_out_is_that_of_train_test_split():
    (found,) = splits(cv="holdout", seed=3)
    _, test = train_test_split(np.arange(100), test_size=0.3, stratify=Y, random_state=3)
    assert set(found.test) == set(test)


def test_several_class_variables_are_stratified_too():
    rng = np.random.default_rng(0)
    many = pd.DataFrame(rng.random((200, 3)) < [0.5, 0.2, 0.05], columns=list("abc")).astype(int)
    for cv, n in ((4, 4), ("holdout", 1)):
        for split in splits(many, cv=cv):
            share = len(split.test) / 200
            assert share == pytest.approx(1 / n if n > 1 else 0.3, abs=0.02)
            expected = many.sum() * share
            assert (many.iloc[split.test].sum() - expected).abs().max() <= 1.5


def test_splitters_masks_and_pairs_are_taken_as_they_are():
    groups = np.repeat(np.arange(10), 10)
    for split in splits(cv=GroupKFold(5), groups=groups):
        assert not set(groups[split.train]) & set(groups[split.test])
    found = splits(cv=RepeatedKFold(n_splits=4, n_repeats=2, random_state=0))
    assert [(s.repeat, s.fold) for s in found] == [(r, f) for r in range(2) for f in range(4)]
    mask = np.arange(100) < 70
    (split,) = splits(cv=[(mask, ~mask)])
    assert (split.train.tolist(), split.test.tolist()) == (list(range(70)), list(range(70, 100)))


def test_rows_without_a_label_are_never_tested():
    y = np.array([*Y, *[None] * 20], dtype=object)
    dropped, kept = splits(y, unlabelled="drop"), splits(y, unlabelled="train")
    for without, everywhere in zip(dropped, kept, strict=True):
        assert set(without.train) | set(without.test) == set(range(100))
        assert set(everywhere.train) - set(without.train) == set(range(100, 120))
        assert set(everywhere.test) == set(without.test)
    with pytest.warns(BntkWarning, match="5 rows in 1 of 1 test parts have no label"):
        (split,) = splits(y, cv=[(np.arange(50), np.arange(95, 105))], unlabelled="train")
    assert split.test.tolist() == list(range(95, 100))


@pytest.mark.parametrize(
    ("options", "kind", "named"),
    [
        ({"cv": 1}, DataError, "from 2 to the number of rows with labels, 100; got 1"),
        ({"cv": 70}, DataError, "no class has 70 rows"),
        ({"cv": 1.5}, DataError, "above 0 and below 1"),
        ({"cv": "leave-one-out"}, ValueError, "leave-one-out"),
        ({"cv": 5, "repeats": 0}, ValueError, "repeats"),
        ({"cv": GroupKFold(5), "repeats": 2}, ValueError, "a splitter repeats by itself"),
        ({"cv": []}, DataError, "no splits"),
        ({"cv": [(np.arange(50), np.arange(50, 101))]}, DataError, "names the row 100"),
        ({"cv": [(np.arange(50), [])]}, DataError, "no test rows"),
        ({"cv": [1, 2]}, TypeError, "pair"),
        ({"cv": None}, TypeError, "cv must be"),
    ],
)
def test_errors_say_what_is_wrong_with_cv(options, kind, named):
    with pytest.raises(kind, match=named):
        splits(**options)


def test_hold_out_names_the_class_of_a_single_row():
    with pytest.raises(DataError, match="'z' has one row"):
        splits(np.array([*Y, "z"]), cv="holdout")

"""Folds in which every label has its share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from references import shared
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score

import bntk
from bntk.evaluation import MultilabelStratifiedKFold


def rare_labels(seed=0, n=300, m=8):
    g = np.random.default_rng(seed)
    return (g.random((n, m)) < np.linspace(0.02, 0.4, m)).astype(int)


def distance(splitter, Y):
    """The mean distance of label shares in folds from those in all rows: the measure of Sechidis et al. (2011)."""
    share = Y.mean(axis=0)
    return np.mean([np.abs(Y[test].mean(axis=0) - share).mean() for _, test in splitter.split(Y, Y)])


@pytest.mark.parametrize("seed", range(5))
def test_label_shares_are_closer_than_in_plain_folds(seed):
    Y = rare_labels(seed)
    plain = distance(KFold(5, shuffle=True, random_state=seed), Y)
    assert distance(MultilabelStratifiedKFold(5, seed=seed), Y) < 0.5 * plain


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 4), st.integers(6, 40))
def test_folds_cut_the_rows_into_parts(seed, n_splits, m, n):
    Y = np.random.default_rng(seed).integers(0, 2, (n, m))
    folds = list(MultilabelStratifiedKFold(n_splits, seed=seed).split(np.zeros(n), Y))
    assert len(folds) == n_splits
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(n))
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(n))


@given(st.integers(0, 10**6), st.integers(2, 5))
def test_the_rarest_label_is_spread_evenly(seed, n_splits):
    Y = rare_labels(seed, n=100)
    Y[:, 0] = 0
    Y[:7, 0] = 1  # rarer than all others, most likely, and then dealt out first
    Y[:, 1:] |= np.random.default_rng(seed).random((100, 7)) < 0.2
    counts = [Y[test, 0].sum() for _, test in MultilabelStratifiedKFold(n_splits, seed=seed).split(Y, Y)]
    assert max(counts) - min(counts) <= 1


def test_one_label_a_row_is_stratified_exactly():
    y = np.repeat(["a", "b", "c"], [50, 30, 20])
    for _, test in MultilabelStratifiedKFold(10).split(y, pd.DataFrame({"y": y})):
        assert np.unique(y[test], return_counts=True)[1].tolist() == [5, 3, 2]


def test_the_seed_decides():
    Y = rare_labels()
    first, again, other = (
        [test.tolist() for _, test in MultilabelStratifiedKFold(4, seed=s).split(Y, Y)] for s in (1, 1, 2)
    )
    assert first == again != other


def test_a_splitter_of_scikit_learn():
    Y = rare_labels()
    X = Y + np.random.default_rng(0).normal(size=Y.shape)
    folds = MultilabelStratifiedKFold(3, seed=1)
    assert folds.get_n_splits() == 3
    assert repr(folds) == "MultilabelStratifiedKFold(absent=0, n_splits=3, seed=1)"
    model = bntk.BinaryRelevance()
    by_hand = [clone(model).fit(X[train], Y[train]).score(X[test], Y[test]) for train, test in folds.split(X, Y)]
    assert cross_val_score(model, X, Y, cv=folds).tolist() == by_hand


def test_labels_may_be_missing_and_of_any_kind():
    Y = pd.DataFrame({"a": ["x", None, "y", "x"] * 10, "b": [0.0, 1.0, np.nan, 1.0] * 10})
    for _, test in MultilabelStratifiedKFold(2).split(Y, Y):
        part = Y.iloc[test]
        assert (part["a"] == "x").sum() == 10
        assert (part["b"] == 1).sum() == 10


def test_wrong_requests_are_refused():
    Y = rare_labels(n=10)
    with pytest.raises(ValueError, match="needs y"):
        next(MultilabelStratifiedKFold(3).split(Y))
    for wrong in (1, 11):
        with pytest.raises(ValueError, match=f"n_splits must be .*from 2.*, not {wrong}"):
            next(MultilabelStratifiedKFold(wrong).split(Y, Y))


def test_real_labels_have_their_shares():
    folder = shared("data/multilabel")
    _, Y = bntk.read_multilabel(folder / "yeast.arff.gz", folder / "yeast.xml")
    Y = Y.to_numpy()
    assert distance(MultilabelStratifiedKFold(10), Y) < 0.3 * distance(KFold(10, shuffle=True, random_state=0), Y)

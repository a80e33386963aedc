"""The decision function: log odds of two classes, log probabilities of others, as scikit-learn's tools take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier

import bntk
from bntk._declared import CLASSIFIERS

SMALL: dict[str, dict[str, Any]] = {"EnsembleKDB": {"n_members": 3}, "RMCV": {"criterion": "accuracy"}}
EVERY = [(cls(**SMALL.get(name, {}))) for name, cls in CLASSIFIERS.load().items()]


def rows(n_classes: int, n: int = 300) -> tuple[pd.DataFrame, Any]:
    """Labels and a number, and classes that depend on both."""
    rng = np.random.default_rng(5)
    y = rng.integers(n_classes, size=n)
    X = pd.DataFrame({"a": rng.normal(y, 1.0), "b": np.where(rng.random(n) < 0.6, y, rng.integers(n_classes, size=n))})
    return X.assign(b=X["b"].astype(str)), np.array(["no", "perhaps", "yes"])[y]


@pytest.mark.parametrize("classifier", EVERY, ids=repr)
def test_of_two_classes_it_is_the_log_odds(classifier: Any) -> None:
    X, y = rows(2)
    odds = classifier.fit(X, y).decision_function(X)
    proba = classifier.predict_proba(X)
    assert odds.shape == (len(X),)
    np.testing.assert_allclose(odds, np.log(proba[:, 1] / proba[:, 0]), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(classifier.classes_[(odds > 0).astype(int)], classifier.predict(X))


@pytest.mark.parametrize("classifier", EVERY, ids=repr)
def test_of_several_classes_it_is_the_log_of_each_probability(classifier: Any) -> None:
    X, y = rows(3)
    found = classifier.fit(X, y).decision_function(X)
    np.testing.assert_array_equal(found, classifier.predict_log_proba(X))
    np.testing.assert_array_equal(classifier.classes_[found.argmax(axis=1)], classifier.predict(X))


def test_a_declared_order_does_not_turn_it_round() -> None:
    X, y = rows(2)
    ordered = pd.Series(pd.Categorical(y, ["perhaps", "no"], ordered=True))
    plain, other = bntk.TAN().fit(X, y), bntk.TAN().fit(X, ordered)
    np.testing.assert_allclose(other.decision_function(X), plain.decision_function(X), rtol=1e-9)


def test_impossible_classes_and_rows_have_finite_values() -> None:
    X = pd.DataFrame({"a": ["x", "x", "y", "y", "z"], "b": ["u", "u", "u", "v", "v"]})
    y = ["no", "no", "yes", "yes", "yes"]
    nb = bntk.NaiveBayes(prior="mle", identifiers="keep").fit(X, y)
    rows = pd.DataFrame({"a": ["x", "z", "x", "x"], "b": ["u", "v", "v", None]})
    assert nb.decision_function(rows).tolist() == [-1e10, 1e10, 0.0, -1e10]
    assert roc_auc_score([0, 1, 0, 0], nb.decision_function(rows)) == 1.0
    several = bntk.NaiveBayes(prior="mle").fit(X, ["no", "no", "yes", "yes", "what"])
    assert np.isfinite(several.decision_function(rows)).all()


def test_log_odds_are_told_apart_where_probabilities_are_not() -> None:
    X = np.repeat(np.arange(2), 200)[:, None] * np.ones((1, 40))
    nb = bntk.NaiveBayes(numeric="category").fit(X, X[:, 0] > 0)
    rows = np.tril(np.ones((40, 40)))[20:]
    assert (np.diff(nb.decision_function(rows)) > 0).all()
    assert nb.predict_proba(rows)[-1, 1] == nb.predict_proba(rows)[-2, 1] == 1.0


def test_scorers_and_other_estimators_take_it() -> None:
    X, y = rows(2)
    scores = cross_val_score(bntk.TAN(), X, y, scoring="roc_auc", cv=4)
    assert scores.mean() > 0.8
    model = bntk.TAN().fit(X, y)
    area = roc_auc_score(y, model.decision_function(X))
    assert area == pytest.approx(roc_auc_score(y, model.predict_proba(X)[:, 1]), abs=1e-9)
    calibrated = CalibratedClassifierCV(bntk.TAN(), method="sigmoid", cv=3).fit(X, y)
    assert roc_auc_score(y, calibrated.predict_proba(X)[:, 1]) > 0.8
    X, y = rows(3)
    assert OneVsRestClassifier(bntk.NaiveBayes()).fit(X, y).score(X, y) > 0.5
    assert cross_val_score(bntk.TAN(), X, y, scoring="roc_auc_ovr", cv=3).mean() > 0.7


@pytest.mark.parametrize("n_classes", [2, 3])
def test_of_a_dask_frame_it_is_lazy(n_classes: int) -> None:
    dd = pytest.importorskip("dask.dataframe")
    X, y = rows(n_classes)
    model = bntk.NaiveBayes().fit(X, y)
    lazy = model.decision_function(dd.from_pandas(X, npartitions=3))
    found = lazy.compute()
    assert found.index.equals(X.index)
    np.testing.assert_allclose(found.to_numpy(), model.decision_function(X), rtol=1e-12)
    assert [*np.atleast_1d(lazy.dtypes)] == [np.dtype(float)] * (1 if n_classes == 2 else 3)

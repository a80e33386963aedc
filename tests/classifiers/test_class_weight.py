"""Weights of classes: the same as weights of rows made by hand, everywhere where these work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import recall_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.utils.class_weight import compute_sample_weight

import bntk
from bntk._declared import CLASSIFIERS
from bntk.errors import ArgumentError

SMALL: dict[str, dict[str, Any]] = {"EnsembleKDB": {"n_members": 3}, "RMCV": {"criterion": "accuracy"}}
EVERY = [(cls(**SMALL.get(name, {}))) for name, cls in CLASSIFIERS.load().items()]
EVERY += [bntk.AWNB(bntk.TAN()), bntk.NaiveBayes(numeric="gaussian"), bntk.TAN(numeric="averaged")]


def rare(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Two labels and a number; one class of three is rare."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["common", "rare", "usual"], n, p=[0.5, 0.1, 0.4])
    sky = np.where(rng.random(n) < 0.7, np.select([y == "rare", y == "usual"], ["rain", "sun"], "cloud"), "sun")
    degrees = rng.normal(np.select([y == "rare", y == "usual"], [3.0, 1.0], 0.0), 2.0).round(1)
    wind = rng.choice(["no", "yes"], n)
    return pd.DataFrame({"sky": sky, "degrees": degrees, "wind": wind}), pd.Series(y, name="what")


def of(estimator: Any, X: pd.DataFrame) -> pd.DataFrame:
    """The columns that the estimator takes: densities have no labels."""
    return X[["degrees"]] if getattr(estimator, "numeric", None) == "gaussian" else X


@pytest.mark.parametrize("estimator", EVERY, ids=repr)
@pytest.mark.parametrize("class_weight", ["balanced", {"rare": 3.0, "usual": 0.5}], ids=["balanced", "mapping"])
def test_they_are_weights_of_rows(estimator: Any, class_weight: Any) -> None:
    X, y = rare()
    X = of(estimator, X)
    known = {"common": 1.0, **class_weight} if isinstance(class_weight, dict) else class_weight
    by_hand = clone(estimator).fit(X, y, sample_weight=compute_sample_weight(known, y))
    ours = clone(estimator).set_params(class_weight=class_weight).fit(X, y)
    np.testing.assert_array_equal(ours.predict_log_proba(X), by_hand.predict_log_proba(X))
    assert np.abs(ours.predict_proba(X) - clone(estimator).fit(X, y).predict_proba(X)).max() > 0.01


def test_an_estimator_inside_may_have_them() -> None:
    X, y = rare()
    inside = bntk.AWNB(bntk.TAN(class_weight="balanced")).fit(X, y)
    outside = bntk.AWNB(bntk.TAN(), class_weight="balanced").fit(X, y)
    np.testing.assert_array_equal(inside.predict_proba(X), outside.predict_proba(X))
    with pytest.raises(ArgumentError, match="both AWNB and its estimator have a class_weight"):
        inside.set_params(class_weight="balanced").fit(X, y)


def test_they_multiply_weights_of_rows_and_a_row_of_weight_two_is_two() -> None:
    X, y = rare()
    weights = np.random.default_rng(1).integers(0, 4, len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    for class_weight in ("balanced", {"rare": 3, "usual": 2}):
        ours = bntk.TAN(numeric="mdl", class_weight=class_weight).fit(X, y, sample_weight=weights)
        rows = bntk.TAN(numeric="mdl", class_weight=class_weight).fit(X.iloc[repeated], y.iloc[repeated])
        assert ours.dag_ == rows.dag_
        np.testing.assert_allclose(ours.predict_proba(X), rows.predict_proba(X), rtol=1e-9)


def test_balanced_classes_are_equally_probable_and_their_rows_keep_their_number() -> None:
    X, y = rare()
    balanced = bntk.NaiveBayes(prior="mle", class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.network_.cpt("what").values, 1 / 3, rtol=1e-12)
    assert np.asarray(balanced.network_.cpt("what").counts).sum() == pytest.approx(len(y), rel=1e-12)
    plain = bntk.NaiveBayes().fit(X, y)
    is_rare = y == "rare"
    assert (balanced.predict(X)[is_rare] == "rare").mean() > (plain.predict(X)[is_rare] == "rare").mean()


def test_rows_without_a_label_keep_their_weight() -> None:
    X, y = rare()
    some = y.where(np.arange(len(y)) % 3 > 0)
    labelled = some.dropna()
    weights = pd.Series(1.0, some.index)
    weights[labelled.index] = compute_sample_weight("balanced", labelled)
    np.testing.assert_array_equal(
        bntk.NaiveBayes(class_weight="balanced").fit(X, some).predict_proba(X),
        bntk.NaiveBayes().fit(X, some, sample_weight=weights).predict_proba(X),
    )
    with pytest.raises(ArgumentError, match="class_weight is for rows that have a class, and none has one"):
        bntk.NaiveBayes(class_weight="balanced", n_classes=2).fit(X, None)


def test_more_rows_have_the_weights_of_their_classes() -> None:
    X, y = rare()
    X["sky"] = pd.Categorical(X["sky"], ["sun", "cloud", "rain"])
    weights = {"rare": 5, "usual": 2}
    row_weights = y.map({"common": 1, **weights}).to_numpy()
    for estimator in (bntk.NaiveBayes(), bntk.AODE(numeric="mdl"), bntk.AWNB(n_trees=2), bntk.TAN(numeric="averaged")):
        ours, by_hand = clone(estimator).set_params(class_weight=weights), clone(estimator)
        for part in (slice(0, 200), slice(200, 300)):
            ours.partial_fit(X[part], y[part])
            by_hand.partial_fit(X[part], y[part], sample_weight=row_weights[part])
        np.testing.assert_array_equal(ours.predict_proba(X), by_hand.predict_proba(X))


def test_a_class_that_is_still_to_come_may_have_a_weight() -> None:
    X, y = rare()
    X["sky"], early = pd.Categorical(X["sky"]), y != "rare"
    nb = bntk.NaiveBayes(class_weight={"rare": 5})
    nb.partial_fit(X[early], y[early], classes=["common", "rare", "usual"]).partial_fit(X[~early], y[~early])
    assert nb.network_.cpt("what").counts[1] == pytest.approx(5 * (~early).sum())
    with pytest.raises(ArgumentError, match="class_weight='balanced' needs all rows, and partial_fit sees a part"):
        bntk.NaiveBayes(class_weight="balanced").partial_fit(X, y)


@pytest.mark.parametrize(
    ("class_weight", "match"),
    [
        ({"rar": 5}, r"class_weight has a weight for 'rar', which is no class; did you mean 'rare'\?.*the classes are"),
        ({"rare": 0}, "class_weight of 'rare' must be a positive number, not 0"),
        ({"rare": -1}, "class_weight of 'rare'"),
        ({"rare": "2"}, "class_weight of 'rare'"),
        ({"rare": float("nan")}, "class_weight of 'rare'"),
        ({"rare": float("inf")}, "class_weight of 'rare'"),
        ({"rare": 1e200}, "the sum of sample_weight times class_weight is"),
        ("auto", "class_weight must be None, 'balanced', or a mapping"),
        ([1, 2, 3], "class_weight must be None, 'balanced', or a mapping"),
    ],
)
def test_what_is_no_weight_of_a_class_is_refused(class_weight: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        bntk.TAN(class_weight=class_weight).fit(*rare())


def test_a_fold_may_lack_a_class_that_has_a_weight() -> None:
    """As in scikit-learn: a label that is no class is refused only where it may stand for a class without a weight."""
    X, y = rare()
    weights = {"common": 1, "usual": 2, "rare": 9}
    X, known = X.assign(sky=pd.Categorical(X["sky"])), y != "rare"
    some = bntk.NaiveBayes(class_weight=weights).fit(X[known], y[known])
    same = bntk.NaiveBayes(class_weight={"usual": 2}).fit(X[known], y[known])
    np.testing.assert_array_equal(some.predict_proba(X), same.predict_proba(X))


def test_labels_of_any_type_have_weights() -> None:
    X, y = rare()
    for labels in ({"common": 0, "rare": 1, "usual": 2}, {"common": False, "rare": True, "usual": False}):
        numbers = y.map(labels)
        ours = bntk.NaiveBayes(class_weight={1: 4}).fit(X, numbers)
        by_hand = bntk.NaiveBayes().fit(X, numbers, sample_weight=np.where(numbers == 1, 4, 1))
        np.testing.assert_array_equal(ours.predict_proba(X), by_hand.predict_proba(X))
    ordered = pd.Series(pd.Categorical(y, ["usual", "common", "rare"], ordered=True))
    ours = bntk.NaiveBayes(class_weight={"rare": 4}).fit(X, ordered)
    by_hand = bntk.NaiveBayes().fit(X, ordered, sample_weight=np.where(y == "rare", 4, 1))
    np.testing.assert_array_equal(ours.predict_proba(X), by_hand.predict_proba(X))


def test_they_are_saved_and_go_on(tmp_path: Any) -> None:
    X, y = rare()
    nb = bntk.NaiveBayes(class_weight={"rare": 5, "usual": 2}).partial_fit(X[:200], y[:200])
    nb.save(tmp_path / "nb.json")
    again = bntk.load(tmp_path / "nb.json")
    assert again.get_params() == nb.get_params()
    for model in (nb, again):
        model.partial_fit(X[200:], y[200:])
    np.testing.assert_array_equal(again.predict_proba(X), nb.predict_proba(X))


def test_they_are_searched() -> None:
    X, y = rare()
    grid = {"class_weight": [None, "balanced", {"rare": 3}]}
    search = GridSearchCV(bntk.NaiveBayes(), grid, cv=StratifiedKFold(3), scoring="recall_macro").fit(X, y)
    scores = []
    for class_weight in grid["class_weight"]:
        folds = []
        for learned, left in StratifiedKFold(3).split(X, y):
            known = {"common": 1, "usual": 1, **class_weight} if isinstance(class_weight, dict) else class_weight
            weights = compute_sample_weight(known, y.iloc[learned])
            nb = bntk.NaiveBayes().fit(X.iloc[learned], y.iloc[learned], sample_weight=weights)
            folds.append(recall_score(y.iloc[left], nb.predict(X.iloc[left]), average="macro"))
        scores.append(np.mean(folds))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores, rtol=1e-12)
    assert len({*scores}) == 3


def test_rows_in_passes_have_a_column_of_weights(tmp_path: Any) -> None:
    X, y = rare()
    X.assign(what=y, weight=compute_sample_weight("balanced", y)).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ArgumentError, match=r"class_weight='balanced': weights of rows .* bntk.scan\(source, weights="):
        bntk.NaiveBayes(class_weight="balanced").fit(bntk.scan(tmp_path / "rows.parquet"), "what")
    scanned = bntk.TAN().fit(bntk.scan(tmp_path / "rows.parquet", weights="weight"), "what")
    ours = bntk.TAN(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(scanned.predict_proba(X), ours.predict_proba(X), rtol=1e-9)


def test_of_several_class_variables_each_has_its_own() -> None:
    X, y = rare()
    Y = pd.DataFrame({"what": y, "windy": np.where(X["degrees"] > 2, "rare", "usual")})
    alone = bntk.NaiveBayes(class_weight="balanced", numeric="mdl")
    first = clone(alone).fit(X, y)
    given_first = X.assign(what=pd.Categorical(y))
    second = clone(alone).fit(given_first, Y["windy"])
    relevance, chain = bntk.BinaryRelevance(alone).fit(X, Y), bntk.ClassifierChain(alone).fit(X, Y)
    windy = clone(alone).fit(X, Y["windy"])
    np.testing.assert_allclose(relevance.estimators_[1].predict_proba(X), windy.predict_proba(X), rtol=1e-12)
    for ours in (relevance, chain):
        np.testing.assert_allclose(ours.estimators_[0].predict_proba(X), first.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(
        chain.estimators_[1].predict_proba(given_first), second.predict_proba(given_first), rtol=1e-12
    )

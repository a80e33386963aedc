"""BayesNetClassifier keeps the class by default, does what it is told with a space, and tells of a weak structure."""

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from references import shared
from sklearn.metrics import log_loss

import bntk
from bntk.classifiers import held_out
from bntk.classifiers.general import TIE
from bntk.classifiers.held_out import FOLDS
from bntk.errors import WeakClassifierWarning
from bntk.learning.counts import TableCounter
from bntk.learning.scores.leaving_out import stratified


def any_dag(features: tuple[str, ...], target: str) -> bntk.Space:
    return bntk.spaces.dag([*features, target])


def weak_signs(n_rows: int = 150, n_features: int = 12, n_classes: int = 8, seed: int = 0) -> Any:
    """Many signs of many classes, each too weak for BDeu to pay for the table that an arc needs."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    common = rng.random((n_classes, n_features)) < 0.5
    X = rng.random((n_rows, n_features)) < np.where(common[y], 0.7, 0.3)
    return pd.DataFrame(np.where(X, "yes", "no"), columns=[f"f{i}" for i in range(n_features)]), pd.Series(y, name="c")


def refitted_log_loss(structure: bntk.DAG, X: pd.DataFrame, y: pd.Series, **options: Any) -> float:
    """The log loss in the folds, by fitting and predicting as anybody would."""
    folds = stratified(y.to_numpy(), FOLDS, 1, seed=0)[0]
    found = np.empty((len(y), y.nunique()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakClassifierWarning)
        for fold in range(FOLDS):
            held = folds == fold
            model = bntk.BayesNetClassifier(structure=structure, **options).fit(X[~held], y[~held])
            found[held] = model.predict_proba(X[held])
    return float(log_loss(y, found))


def figures(message: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d\.\d+", message)]


# ---- the class is kept -----------------------------------------------------------------------------------------------


def test_the_default_keeps_a_class_that_the_best_dag_loses() -> None:
    X, y = weak_signs()
    with pytest.warns(WeakClassifierWarning):
        lost = bntk.BayesNetClassifier(space=any_dag).fit(X, y)
    kept = bntk.BayesNetClassifier().fit(X, y)
    assert len(lost.features_in_use_) <= 2
    assert kept.features_in_use_ == list(X.columns)
    assert kept.score(X, y) > lost.score(X, y) + 0.2


def test_the_default_takes_any_dag_where_that_predicts_better() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.integers(2, size=(500, 4)), columns=list("abcd"))
    y = (X["a"] & X["b"]) | (X["c"] ^ X["d"])
    model = bntk.BayesNetClassifier().fit(X, y)
    assert len(model.dag_.parents("class")) == 4
    assert "any DAG, by the quadratic loss of the class in five folds" in model.search_.search


def test_the_default_has_no_more_binary_parents_than_their_configurations_have_rows() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((40, 9)) < 0.1, columns=list("abcdefghi"))  # rare states: BDeu asks for all parents
    y = X.sum(axis=1) % 2
    free, model = bntk.BayesNetClassifier(space=any_dag).fit(X, y), bntk.BayesNetClassifier().fit(X, y)
    assert "any DAG, by the quadratic loss" in model.search_.search
    assert max(map(len, free.dag_.parent_indices)) == 9
    assert max(map(len, model.dag_.parent_indices)) <= 5  # 2^5 <= 40 < 2^6


def test_the_search_says_what_was_taken() -> None:
    X, y = weak_signs()
    search = bntk.BayesNetClassifier().fit(X, y).search_.search
    losses = dict(re.findall(r"(a forest below the class|naive Bayes|any DAG) (\d\.\d+)", search))
    assert len(losses) == 3
    best = min(losses, key=lambda name: float(losses[name]))
    assert f"; {best}, by the quadratic loss" in search


def test_a_space_of_the_user_is_not_second_guessed() -> None:
    X, y = weak_signs(n_features=5)
    with pytest.warns(WeakClassifierWarning):
        told = bntk.BayesNetClassifier(space=any_dag, search="hc").fit(X, y)
    best = bntk.learning.learn.learn_structure(X.assign(c=y), "bdeu", any_dag(tuple(X), "c"), search="hc")
    assert told.dag_ == best.dag
    assert told.search_.search == best.search


@pytest.mark.filterwarnings("ignore::bntk.errors.WeakClassifierWarning")
def test_a_criterion_of_predictions_finds_any_dag() -> None:
    X, y = weak_signs(n_features=5)
    score = bntk.scores.LOO("c", alpha=bntk.BayesNetClassifier().prior)
    best = bntk.learning.learn.learn_structure(X.assign(c=y), score, any_dag(tuple(X), "c"), search="hc")
    assert bntk.BayesNetClassifier(criterion="loo", search="hc").fit(X, y).dag_ == best.dag


def test_a_class_prior_excludes_structures_in_which_the_class_has_parents() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.integers(2, size=(300, 3)), columns=list("abc"))
    y = X["a"] ^ X["b"]
    assert bntk.BayesNetClassifier(class_prior="uniform").fit(X, y).dag_.parents("class") == ()


def test_weights_are_repetitions_and_fits_are_equal() -> None:
    X, y = weak_signs(60)
    weights = np.random.default_rng(0).integers(1, 3, size=len(y))
    again = np.repeat(np.arange(len(y)), weights)
    weighted = bntk.BayesNetClassifier().fit(X, y, sample_weight=weights)
    repeated = bntk.BayesNetClassifier().fit(X.iloc[again], y.iloc[again])
    assert weighted.dag_ == repeated.dag_ == bntk.BayesNetClassifier().fit(X.iloc[again], y.iloc[again]).dag_


@pytest.mark.parametrize("rows", range(6, 12))
def test_few_rows_with_weights_are_as_many_as_their_repetitions(rows: int) -> None:
    X, y = weak_signs(rows, 2, 2)
    weights = np.random.default_rng(rows).integers(0, 3, size=rows)
    again = np.repeat(np.arange(rows), weights)
    weighted = bntk.BayesNetClassifier().fit(X, y, sample_weight=weights)
    repeated = bntk.BayesNetClassifier().fit(X.iloc[again], y.iloc[again])
    assert weighted.search_.search == repeated.search_.search
    assert np.allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9, atol=0)


@pytest.mark.parametrize(("name", "least"), [("heart-h", 0.77), ("primary-tumor", 0.43), ("audiology", 0.63)])
@pytest.mark.filterwarnings("ignore::bntk.errors.BntkWarning")
def test_sets_on_which_the_best_dag_loses_the_class(name: str, least: float) -> None:
    from benchmarks.accuracy import read_set

    X, y = read_set(shared("data/uci"), name)
    held = stratified(pd.factorize(y)[0], FOLDS, 1, seed=0)[0] == 0
    assert bntk.BayesNetClassifier(search="hc").fit(X[~held], y[~held]).score(X[held], y[held]) >= least


@pytest.mark.parametrize("name", ["heart-h", "primary-tumor", "audiology"])
def test_on_these_sets_the_best_dag_is_warned_of(name: str) -> None:
    from benchmarks.accuracy import read_set

    def few_parents(features: tuple[str, ...], target: str) -> bntk.Space:
        return bntk.spaces.dag([*features, target], max_parents=5)

    X, y = read_set(shared("data/uci"), name)
    held = stratified(pd.factorize(y)[0], FOLDS, 1, seed=0)[0] == 0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        bntk.BayesNetClassifier(space=few_parents, search="hc").fit(X[~held], y[~held])
    assert WeakClassifierWarning in [warning.category for warning in told]


# ---- the warning -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"prior": 0.5}, {"prior": "mle", "class_prior": "uniform"}], ids=repr)
def test_the_figures_of_the_warning_are_those_of_refitting(options: dict[str, Any]) -> None:
    X, y = weak_signs(300, n_features=6, n_classes=3)
    X.iloc[::7, 1] = None
    with pytest.warns(WeakClassifierWarning) as told:
        model = bntk.BayesNetClassifier(structure="c -> f0 -> f1; f2", **options).fit(X, y)
    naive = bntk.DAG([*X, "c"], [("c", name) for name in X])
    expected = [refitted_log_loss(dag, X, y, **options) for dag in (model.dag_, naive)]
    assert len(told) == 1
    assert figures(str(told[0].message)) == pytest.approx(expected, rel=1e-3)
    assert "TAN()" in str(told[0].message)


def test_a_structure_as_good_as_naive_bayes_is_not_warned_of() -> None:
    X, y = weak_signs()
    bntk.BayesNetClassifier(space=bntk.spaces.naive_bayes).fit(X, y)
    bntk.BayesNetClassifier().fit(X, y)
    rng = np.random.default_rng(2)
    noise = pd.DataFrame(rng.integers(2, size=(200, 3)), columns=list("abc"))
    bntk.BayesNetClassifier(structure="class -> a").fit(noise, rng.integers(2, size=200))  # by chance, if at all


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_worse_than_naive_bayes_in_folds_is_warned_of(seed: int) -> None:
    X, y = weak_signs(120, n_features=4, n_classes=3, seed=seed)
    naive = refitted_log_loss(bntk.DAG([*X, "c"], [("c", name) for name in X]), X, y)
    for structure in ("c", "c -> f0", "f0 -> c <- f1", "c -> f0 -> f1 <- c; c -> f2; c -> f3", "f0 -> c -> f1"):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = bntk.BayesNetClassifier(structure=structure).fit(X, y)
        if refitted_log_loss(model.dag_, X, y) > naive + TIE:
            assert [warning.category for warning in told] == [WeakClassifierWarning]
            assert "its log loss is" in str(told[0].message)


def test_a_class_that_was_lost_is_told_of_also_where_naive_bayes_is_too_sure() -> None:
    rng = np.random.default_rng(0)
    y = pd.Series(rng.integers(2, size=200), name="c")
    sign = np.where(rng.random(200) < 0.85, y, 1 - y)
    X = pd.DataFrame({f"f{i}": sign for i in range(40)})  # the same sign counts forty times
    with pytest.warns(WeakClassifierWarning, match="its quadratic loss is 0.49"):
        bntk.BayesNetClassifier(structure="c").fit(X, y)


def test_one_class_or_few_rows_are_not_warned_of() -> None:
    X, y = weak_signs(40)
    bntk.BayesNetClassifier(structure="c").fit(X, y * 0)
    bntk.BayesNetClassifier(structure="c").fit(X[:9], y[:9])


def test_labelled_rows_alone_are_compared() -> None:
    X, y = weak_signs(200, n_features=6, n_classes=3)
    structure = "c -> f0"
    with pytest.warns(WeakClassifierWarning) as alone:
        bntk.BayesNetClassifier(structure=structure).fit(X[:150], y[:150])
    with pytest.warns(WeakClassifierWarning) as among:
        bntk.BayesNetClassifier(structure=structure).fit(X, y.where(np.arange(200) < 150))
    assert figures(str(alone[0].message)) == figures(str(among[0].message))
    bntk.BayesNetClassifier(structure=structure.replace("c ", "class "), n_classes=3).fit(X, None)


def test_cross_validation_of_a_kept_structure_does_not_warn() -> None:
    X, y = weak_signs(200, n_features=4, n_classes=3)
    with pytest.warns(WeakClassifierWarning) as told:
        bntk.evaluation.cross_validate(
            bntk.BayesNetClassifier(structure="c -> f0"), X, y, cv=3, relearn="parameters", scoring="accuracy"
        )
    assert len(told) == 1  # by the fit to all rows


def test_after_a_row_that_is_too_costly_no_further_fold_is_looked_at_where_all_rows_are_needed(monkeypatch):
    table = bntk.datasets.asia().sample(100, seed=1).select(["tub", "lung", "either"])
    counter, dag, asked = TableCounter(table), bntk.DAG(table.names, [("either", "tub")]), []
    one, other = (held_out.held_out(dag, counter, bntk.fit, whole=whole) for whole in (False, True))
    assert np.array_equal(one.probabilities, other.probabilities)
    assert other.is_whole

    def first_is_too_large(network, codes, target):
        asked.append(codes.shape[1])
        return np.full((codes.shape[1], 2), 0.5), np.arange(codes.shape[1]) == 0

    monkeypatch.setattr(held_out, "quick_posterior", first_is_too_large)
    for whole, n_folds in ((False, 5), (True, 1)):
        asked.clear()
        found = held_out.held_out(dag, counter, bntk.fit, whole=whole)
        assert not found.is_whole
        assert len(asked) == n_folds

"""Importances: information in the fitted model, by brute force; what scikit-learn's selectors do with them."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, RFECV, SelectFromModel
from sklearn.pipeline import make_pipeline

import bntk
from bntk._declared import CLASSIFIERS
from bntk.classifiers import importances

SMALL: dict[str, dict[str, Any]] = {"EnsembleKDB": {"n_members": 5}, "RMCV": {"criterion": "accuracy"}}
EVERY = [(cls(**SMALL.get(name, {}))) for name, cls in CLASSIFIERS.load().items()]
EVERY += [bntk.TAN(numeric="averaged"), bntk.AWNB(bntk.TAN()), bntk.EnsembleKDB(5, prior="hdp")]


def rows(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Two columns that tell the class, one that tells little, noise, a constant and an identifier."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = {
        "noise": rng.choice(["u", "v"], n),
        "good": np.where(rng.random(n) < 0.9, y, 1 - y).astype(str),
        "number": rng.normal(y * 1.5, 1.0),
        "weak": np.where(rng.random(n) < 0.6, y, 1 - y).astype(str),
        "constant": ["x"] * n,
        "id": [f"row {i}" for i in range(n)],
    }
    return pd.DataFrame(X), np.array(["no", "yes"])[y]


@pytest.mark.parametrize("classifier", EVERY, ids=repr)
def test_every_classifier_has_one_number_for_each_column(classifier: Any) -> None:
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = clone(classifier).fit(X, y)
    found = dict(zip(X.columns, classifier.feature_importances_, strict=True))
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)
    assert min(found.values()) >= 0
    assert found["constant"] == found["id"] == 0
    assert found["good"] > found["weak"] > found["noise"] or found["weak"] == found["noise"] == 0
    assert found["good"] > 0.4
    used = getattr(classifier, "features_in_use_", X.columns)
    assert all(value == 0 for name, value in found.items() if name not in used)


# ---- brute force -----------------------------------------------------------------------------------------------------


def joint(network: bntk.BayesianNetwork) -> dict[tuple[int, ...], float]:
    """The probability of every configuration, from the tables alone."""
    found = {}
    for codes in product(*(range(v.n_states) for v in network.variables)):
        p = 1.0
        for v, cpt in enumerate(network.cpts):
            p *= cpt.values[tuple(codes[u] for u in (*network.dag.parent_indices[v], v))]
        found[codes] = p
    return found


def information(cells: dict[tuple[int, ...], float], x: tuple[int, ...], y: int, given: tuple[int, ...]) -> float:
    """I(X; Y | Z) by its definition."""

    def p(codes: tuple[int, ...], kept: tuple[int, ...]) -> float:
        return sum(value for other, value in cells.items() if all(other[v] == codes[v] for v in kept))

    total = 0.0
    for codes, value in cells.items():
        if value > 0:
            above = p(codes, (*x, y, *given)) * p(codes, given)
            total += value * np.log(above / (p(codes, (*x, *given)) * p(codes, (y, *given))))
    return total


@pytest.mark.parametrize(
    "classifier",
    [bntk.NaiveBayes(), bntk.TAN(), bntk.KDB(2), bntk.BAN(), bntk.MANB(), bntk.AWNB(), bntk.SelectiveKDB()],
    ids=repr,
)
def test_of_a_class_without_parents_it_is_the_information_given_the_parents(classifier: Any) -> None:
    rows = bntk.datasets.asia().sample(500, seed=3).to_pandas()[["smoke", "bronc", "xray", "dysp", "lung"]]
    model = classifier.fit(rows.drop(columns="bronc"), rows["bronc"])
    network, target = model.network_, len(model.network_.names) - 1
    cells = joint(network)
    expected = []
    for v, parents in enumerate(network.dag.parent_indices[:-1]):
        told = target in parents
        others = tuple(u for u in parents if u != target)
        expected.append(information(cells, (v,), target, others) if told else 0.0)
    np.testing.assert_allclose(model.feature_importances_, np.array(expected) / sum(expected), atol=1e-9)


def test_parents_of_the_class_and_of_its_children_share_what_is_told() -> None:
    rows = bntk.datasets.asia().sample(2000, seed=1).to_pandas()[["smoke", "lung", "bronc", "either", "dysp", "xray"]]
    model = bntk.BayesNetClassifier(structure="smoke -> bronc; lung -> bronc; bronc -> dysp; either -> dysp; xray").fit(
        rows.drop(columns="bronc"), rows["bronc"]
    )
    network = model.network_
    at, cells = {name: v for v, name in enumerate(network.names)}, joint(model.network_)
    target = at["bronc"]

    def told(x: list[str], *given: str) -> float:
        return information(cells, tuple(at[name] for name in x), target, tuple(at[name] for name in given))

    smoke, lung, both = told(["smoke"]), told(["lung"]), told(["smoke", "lung"])
    alone, knowing = told(["dysp"]), told(["dysp"], "either")
    expected = {
        "smoke": (smoke + both - lung) / 2,
        "lung": (lung + both - smoke) / 2,
        "dysp": (alone + knowing) / 2,
        "either": (knowing - alone) / 2,
        "xray": 0.0,
    }
    total = sum(expected.values())
    for name, value in zip(model.features_.names, model.feature_importances_, strict=True):
        assert value == pytest.approx(expected[name] / total, abs=1e-9), name
    assert min(expected[name] for name in ("smoke", "lung", "dysp", "either")) > 0


def test_averages_of_networks_are_means_of_their_members() -> None:
    rows = bntk.datasets.asia().sample(500, seed=3).to_pandas()[["smoke", "bronc", "xray", "dysp", "lung"]]
    for model in (bntk.AODE(prior=1), bntk.AODE(prior=1, weights="mi")):
        model.fit(rows.drop(columns="bronc"), rows["bronc"])
        expected = np.zeros(4)
        for names, weight in zip(model.superparents_, model.weights_, strict=True):
            network = model.member(*names)
            cells, target = joint(network), network.dag.index("bronc")
            of_member = [
                information(cells, (v,), target, tuple(u for u in parents if u != target))
                for v, parents in enumerate(network.dag.parent_indices[:4])
            ]
            expected += weight * np.array(of_member)
        np.testing.assert_allclose(model.feature_importances_, expected / expected.sum(), atol=1e-9)


def test_two_superparents_share_what_they_tell_together() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(4000, 2))
    model = bntk.A2DE(numeric="category").fit(X, X[:, 0] ^ X[:, 1])
    np.testing.assert_allclose(model.feature_importances_, [0.5, 0.5], atol=0.01)


def test_members_of_an_ensemble_say_what_their_networks_do() -> None:
    """On all rows, where parents are distributed as in the network itself: one parent, and no smoothing to speak of."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=250)
    X = np.column_stack([np.where(rng.random(250) < p, y, rng.integers(3, size=250)) for p in (0.7, 0.4, 0.2)])
    model = bntk.EnsembleKDB(4, max_k=1, numeric="category", prior=1e-3).fit(X, y)
    expected = np.zeros(3)
    for i, weight in enumerate(model.weights_):
        network = model.member(i)
        expected += weight * np.array([importances.in_network(network, 3)[name] for name in network.names[:3]])
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum(), atol=0.01)


def test_wide_networks_are_told_from_rows_that_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = bntk.datasets.asia().sample(2000, seed=3).to_pandas()
    model = bntk.KDB(2).fit(rows.drop(columns="bronc"), rows["bronc"])
    exact = model.feature_importances_
    monkeypatch.setattr(importances, "MOST_ENTRIES", 1)
    drawn = model.feature_importances_
    np.testing.assert_allclose(drawn, exact, atol=0.01)
    np.testing.assert_array_equal(drawn, model.feature_importances_)


# ---- densities -------------------------------------------------------------------------------------------------------


def by_sum(shares: Any, densities: Any, low: float, high: float) -> float:
    """The information of a number about the class, by a sum over a fine grid."""
    x = np.linspace(low, high, 400_001)
    f = np.array([density(x) for density in densities])
    mixed = np.asarray(shares) @ f
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(f > 1e-250, f * np.log(f / mixed), 0.0)
    return float(np.asarray(shares) @ terms.sum(axis=1) * (x[1] - x[0]))


@pytest.mark.parametrize("numeric", ["gaussian", "kde"])
def test_densities_tell_what_an_integral_says(numeric: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(3, 300, p=[0.5, 0.3, 0.2])
    X = np.column_stack([rng.normal(y, 1), rng.normal(0, 1 + y), rng.normal(0, 1, 300), rng.normal(y * 20, 0.5)])
    model = bntk.NaiveBayes(numeric=numeric).fit(X, y)
    shares = model.network_.cpts[-1].values
    expected = []
    for column in range(4):

        def density(k: int, column: int = column) -> Any:
            def f(x: Any) -> Any:
                rows = np.full((4, len(x)), np.nan)
                rows[column] = x
                return np.exp(sum(d.log_density(rows) for d in model.densities_)[:, k])

            return f

        low, high = X[:, column].min() - 60, X[:, column].max() + 60
        expected.append(by_sum(shares, [density(k) for k in range(3)], low, high))
    np.testing.assert_allclose(model.feature_importances_, np.array(expected) / sum(expected), atol=1e-3)


def test_words_tell_by_how_often_each_class_has_them() -> None:
    X = np.array([[4.0, 0, 1], [4, 1, 1], [0, 4, 1], [1, 4, 1]])
    model = bntk.NaiveBayes(numeric="multinomial", prior=1).fit(X, [0, 0, 1, 1])
    (words,) = model.densities_
    p = np.exp(words.log_probabilities())
    expected = [sum(0.5 * q * np.log(q / row.mean()) for q in row) for row in p]
    np.testing.assert_allclose(model.feature_importances_, np.array(expected) / sum(expected), rtol=1e-9)


# ---- what users do with them -----------------------------------------------------------------------------------------


def test_it_needs_a_fitted_classifier_and_something_to_tell() -> None:
    with pytest.raises(NotFittedError):
        bntk.TAN().feature_importances_
    assert not hasattr(bntk.TAN(), "feature_importances_")
    nothing = bntk.NaiveBayes(numeric="category").fit([[0, 1], [0, 1], [0, 0], [0, 0]], [0, 1, 0, 1])
    assert nothing.feature_importances_.tolist() == [0, 0]
    one_class = bntk.TAN().fit([[0, 1], [1, 1], [0, 0]], [0, 0, 0])
    assert one_class.feature_importances_.tolist() == [0, 0]


@pytest.mark.parametrize("classifier", [bntk.NaiveBayes(), bntk.TAN(), bntk.AODE(), bntk.EnsembleKDB(5)], ids=repr)
def test_features_are_eliminated_one_after_the_other(classifier: Any) -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(2, size=400)
    X = rng.normal(size=(400, 12))
    X[:, [3, 8]] += 2 * y[:, None]
    X[::9, 3] = np.nan
    assert RFE(classifier, n_features_to_select=2).fit(X, y).get_support(indices=True).tolist() == [3, 8]


def test_the_number_of_features_is_found_in_folds() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(2, size=300)
    X = rng.normal(size=(300, 6))
    X[:, 2] += 3 * y
    found = RFECV(bntk.NaiveBayes(), cv=3).fit(X, y)
    assert found.ranking_[2] == 1
    assert found.score(X, y) > 0.9


def test_features_are_selected_from_a_model_and_keep_their_names() -> None:
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = SelectFromModel(bntk.TAN()).set_output(transform="pandas").fit(X, y)
        assert selector.get_feature_names_out().tolist() == ["good", "number"]
        pipeline = make_pipeline(selector, bntk.TAN()).fit(X, y)
    assert pipeline.score(X, y) > 0.85
    assert list(pipeline[-1].feature_names_in_) == ["good", "number"]


def test_a_copy_counts_as_much_and_the_order_of_columns_does_not_matter() -> None:
    X, y = rows()
    X = X[["good", "weak", "noise"]].assign(again=X["good"])
    nb = bntk.NaiveBayes().fit(X, y)
    found = pd.Series(nb.feature_importances_, X.columns)
    assert found["good"] == pytest.approx(found["again"], rel=1e-12)
    turned = bntk.NaiveBayes().fit(X[X.columns[::-1]], y)
    np.testing.assert_allclose(turned.feature_importances_[::-1], found, rtol=1e-12, atol=1e-14)


def test_they_are_the_same_after_loading_and_on_any_number_of_threads(tmp_path: Any) -> None:
    X, y = rows()
    X = X.drop(columns=["id", "constant"])
    for model in (bntk.TAN(), bntk.AODE(), bntk.EnsembleKDB(6), bntk.NaiveBayes(numeric={"number": "kde"})):
        model.fit(X, y).save(tmp_path / "model.json")
        again = bntk.load(tmp_path / "model.json")
        np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
        np.testing.assert_array_equal(model.set_params(n_jobs=1).feature_importances_, again.feature_importances_)

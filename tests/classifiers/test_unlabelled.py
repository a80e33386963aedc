"""Missing labels: EM over tables and densities equals loops in plain Python and never falls; refusals are named."""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.utils.validation import check_is_fitted

import bntk
from bntk import classifiers
from bntk.classifiers import unlabelled
from bntk.classifiers.base import BayesClassifier, NetworkClassifier
from bntk.classifiers.saving import dump, parse
from bntk.classifiers.unlabelled import ClassExpectation, Model, UnlabelledRows
from bntk.errors import ColumnWarning
from bntk.learning.em import EMResult
from bntk.learning.priors import Dirichlet, MaximumLikelihood

TAKING = [
    cls for name in classifiers.__all__
    if isinstance(cls := getattr(classifiers, name), type) and issubclass(cls, BayesClassifier)
    and cls._takes_unlabelled and cls is not NetworkClassifier
]  # fmt: skip


def mixture(n: int, labelled: float, seed: int = 0, n_features: int = 5) -> tuple[pd.DataFrame, Any, Any]:
    """Rows of a naive Bayes model with three classes: features, all labels, and labels most of which are missing."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    below = np.random.default_rng(99).dirichlet(np.full(3, 0.7), size=(n_features, 3)).cumsum(axis=2)
    columns = {
        f"f{f}": np.array(["low", "mid", "top"])[(below[f, y, :2] <= rng.random((n, 1))).sum(axis=1)]
        for f in range(n_features)
    }
    names = np.array(["a", "b", "c"])[y]
    shown = np.where(rng.random(n) < labelled, names, None)
    return pd.DataFrame(columns), names, shown


def observed_log_likelihood(classifier: Any, X: Any, y: Any, weights: Any = 1.0) -> float:
    """log P(c, x) of labelled rows, and log P(x) of the others, by what the classifier predicts."""
    scores = classifier.log_joint(X)
    place = {label: k for k, label in enumerate(classifier.classes_.tolist())}
    each = [logsumexp(row) if pd.isna(label) else row[place[label]] for row, label in zip(scores, y, strict=True)]
    return float(np.sum(np.asarray(weights) * each))


# ---- plain Python --------------------------------------------------------------------------------------------------


def family_of(dag: bntk.DAG, name: str) -> tuple[str, ...]:
    return (*dag.parents(name), name)


def brute_force(
    dag: bntk.DAG, cards: dict[str, int], rows: list[dict[str, Any]], numbers: list[list[float]], weights: list[float],
    tables: dict[str, dict], normals: list[list[tuple[float, float]]], alpha: float, iterations: int,
    class_fixed: bool = False, one_more: float = 0.0,
) -> tuple[dict[str, dict], list[list[tuple[float, float]]]]:  # fmt: skip
    """EM by loops: every completion of every row, and for each number a normal distribution per class.

    ``rows`` map names to codes or None; ``numbers`` has a list for each continuous feature; the class comes last.
    """
    target, K = dag.nodes[-1], cards[dag.nodes[-1]]
    spreads = []
    for column in numbers:
        there = [(w, x) for w, x in zip(weights, column) if not math.isnan(x)]
        mean = sum(w * x for w, x in there) / sum(w for w, _ in there)
        spreads.append(sum(w * (x - mean) ** 2 for w, x in there) / sum(w for w, _ in there))
    for _ in range(iterations):
        counts = {n: dict.fromkeys(tables[n], alpha) for n in dag.nodes}
        shares = [[0.0] * K for _ in rows]
        for i, row in enumerate(rows):
            found = {}
            for states in itertools.product(*[range(cards[n]) if row[n] is None else [row[n]] for n in dag.nodes]):
                codes = dict(zip(dag.nodes, states))
                p = math.prod(tables[n][tuple(codes[v] for v in family_of(dag, n))] for n in dag.nodes)
                for f, column in enumerate(numbers):
                    if not math.isnan(column[i]):
                        m, v = normals[f][codes[target]]
                        p *= math.exp(-((column[i] - m) ** 2) / (2 * v)) / math.sqrt(2 * math.pi * v)
                found[states] = p
            total = sum(found.values())
            for states, p in found.items():
                codes = dict(zip(dag.nodes, states))
                for n in dag.nodes:
                    counts[n][tuple(codes[v] for v in family_of(dag, n))] += weights[i] * p / total
                shares[i][codes[target]] += weights[i] * p / total
        for n in dag.nodes:
            if class_fixed and n == target:
                continue
            for key in counts[n]:
                whole = sum(counts[n][(*key[:-1], k)] for k in range(cards[n]))
                tables[n][key] = counts[n][key] / whole if whole > 0 else 1 / cards[n]
        for f, column in enumerate(numbers):
            for k in range(K):
                there = [(shares[i][k], x) for i, x in enumerate(column) if not math.isnan(x)]
                n_k = sum(w for w, _ in there)
                mean = sum(w * x for w, x in there) / n_k
                squares = sum(w * (x - mean) ** 2 for w, x in there)
                normals[f][k] = (mean, (squares + one_more * spreads[f]) / (n_k + one_more))
    return tables, normals


def start_by_hand(
    dag: bntk.DAG, cards: dict[str, int], rows: list[dict[str, Any]], weights: list[float], alpha: float | None
) -> dict[str, dict]:
    """The estimates from the labelled rows, each family from the rows that have it whole.

    If that leaves a zero anywhere, one row is spread over the cells of each table instead of ``alpha``.
    """
    tables: dict[str, dict] = {}
    for n in dag.nodes:
        family = family_of(dag, n)
        keys = list(itertools.product(*[range(cards[v]) for v in family]))
        counts = dict.fromkeys(keys, 1 / len(keys) if alpha is None else alpha)
        for row, weight in zip(rows, weights):
            key = tuple(row[v] for v in family)
            if row[dag.nodes[-1]] is not None and None not in key:
                counts[key] += weight
        totals = {key: sum(counts[(*key[:-1], k)] for k in range(cards[n])) for key in keys}
        tables[n] = {key: counts[key] / totals[key] if totals[key] else 1 / cards[n] for key in keys}
    if any(p == 0 for table in tables.values() for p in table.values()):
        return start_by_hand(dag, cards, rows, weights, None)
    return tables


def assert_tables(network: bntk.BayesianNetwork, tables: dict[str, dict], tolerance: float = 1e-9) -> None:
    for cpt in network.cpts:
        cpt = cpt.reorder(network.dag.parents(cpt.name))
        for key, value in tables[cpt.name].items():
            assert cpt.values[key] == pytest.approx(value, abs=tolerance), (cpt.name, key)


def small_rows(seed: int, share_missing: float = 0.0, n: int = 60) -> tuple[pd.DataFrame, list[Any], list[dict]]:
    """Three binary features of two classes, two thirds of the labels missing; as a frame, labels, and codes by name."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = np.array([(rng.random(n) < 0.25 + 0.5 * (y if f < 2 else 1 - y)).astype(int) for f in range(3)])
    X[2] = np.where(rng.random(n) < 0.5, X[1], X[2])
    X[:, 0], X[:, 1] = 0, 1  # every state occurs
    shown = [int(label) if i < n // 3 else None for i, label in enumerate(y)]
    shown[:2] = [0, 1]
    holes = rng.random((3, n)) < share_missing
    holes[:, :2] = False
    frame = pd.DataFrame(
        {f"f{f}": pd.array(np.where(holes[f], None, X[f].astype(str)), dtype=object) for f in range(3)}
    )
    rows = [{**{f"f{f}": None if holes[f, i] else int(X[f, i]) for f in range(3)}, "class": shown[i]} for i in range(n)]
    return frame, shown, rows


CARDS = {"f0": 2, "f1": 2, "f2": 2, "class": 2}


@pytest.mark.parametrize("share_missing", [0.0, 0.3])
@pytest.mark.parametrize(
    "structure", ["class -> f0; class -> f1; class -> f2", "class -> f0; class -> f1 -> f2; class -> f2"]
)
@pytest.mark.parametrize("prior", [1.0, 0.3, "mle"])
@pytest.mark.filterwarnings("ignore::bntk.errors.WeakClassifierWarning")
def test_em_equals_loops_from_the_estimates_of_the_labelled_rows(
    prior: Any, structure: str, share_missing: float
) -> None:
    frame, shown, rows = small_rows(3, share_missing)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], len(rows)).tolist()
    model = bntk.BayesNetClassifier(structure=structure, prior=prior).fit(frame, shown, sample_weight=weights)
    alpha = 0.0 if prior == "mle" else prior
    start = start_by_hand(model.dag_, CARDS, rows, weights, alpha)
    tables, _ = brute_force(model.dag_, CARDS, rows, [], weights, start, [], alpha, model.network_.report.iterations)
    assert_tables(model.network_, tables)
    assert model.network_.report.log_likelihood == pytest.approx(observed_log_likelihood(model, frame, shown, weights))


def test_naive_bayes_and_tan_are_the_same_em_on_their_structures() -> None:
    frame, shown, _ = small_rows(5, 0.2)
    for model in (bntk.NaiveBayes(prior=0.5), bntk.TAN(prior=0.5)):
        model.fit(frame, shown)
        known = bntk.BayesNetClassifier(structure=model.dag_, prior=0.5).fit(frame, shown)
        np.testing.assert_allclose(model.predict_proba(frame), known.predict_proba(frame), rtol=1e-12)


@pytest.mark.parametrize("given", ["uniform", [0.9, 0.1]])
def test_a_given_class_prior_is_held_in_every_iteration(given: Any) -> None:
    frame, shown, rows = small_rows(4)
    nb = bntk.NaiveBayes(prior=1, class_prior=given).fit(frame, shown)
    start = start_by_hand(nb.dag_, CARDS, rows, [1.0] * len(rows), 1.0)
    values = [0.5, 0.5] if given == "uniform" else given
    start["class"] = {(k,): p for k, p in enumerate(values)}
    tables, _ = brute_force(
        nb.dag_, CARDS, rows, [], [1.0] * len(rows), start, [], 1.0, nb.network_.report.iterations, class_fixed=True
    )
    assert_tables(nb.network_, tables)
    np.testing.assert_allclose(nb.network_.cpt("class").values, values)


def test_tables_are_shrunk_at_the_end_where_the_prior_is_backoff() -> None:
    frame, shown, rows = small_rows(6)
    tan = bntk.TAN(prior=bntk.priors.Backoff(rows=4, alpha=0.5)).fit(frame, shown)
    for cpt in tan.network_.cpts[:-1]:
        if len(cpt.parents) == 2:
            cpt = cpt.reorder([next(p.name for p in cpt.parents if p.name != "class"), "class"])
            given_class = cpt.counts.sum(axis=0) + 0.5
            simple = given_class / given_class.sum(axis=1, keepdims=True)
            expected = (cpt.counts + 4 * simple) / (cpt.counts.sum(axis=-1, keepdims=True) + 4)
            np.testing.assert_allclose(cpt.values, expected)
    assert sum(cpt.counts.sum() for cpt in tan.network_.cpts) == pytest.approx(4 * len(rows))


@pytest.mark.parametrize("prior", [1.0, "mle"])
@pytest.mark.filterwarnings("ignore::bntk.errors.WeakClassifierWarning")
def test_normal_distributions_and_tables_together_equal_loops(prior: Any) -> None:
    frame, shown, rows = small_rows(7, 0.2)
    rng = np.random.default_rng(1)
    numbers = [rng.normal([1.5 * (row["f0"] or 0) for row in rows], 1.0) for _ in range(2)]
    numbers[1][::5] = np.nan
    frame["g0"], frame["g1"] = numbers
    weights = rng.choice([0.5, 1.0, 3.0], len(rows))
    structure = "class -> f0; class -> f1 -> f2; class -> f2"
    model = bntk.BayesNetClassifier(structure=structure, prior=prior, numeric="gaussian")
    model.fit(frame, shown, sample_weight=weights)
    alpha, one_more = (0.0, 0.0) if prior == "mle" else (1.0, 1.0)
    start = start_by_hand(model.dag_, CARDS, rows, weights.tolist(), alpha)
    labelled = np.array([row["class"] is not None for row in rows])
    normals = []
    for column in numbers:
        there = ~np.isnan(column)
        spread = np.cov(column[there], aweights=weights[there], ddof=0)
        each = []
        for k in range(2):
            own = there & labelled & np.array([row["class"] == k for row in rows])
            mean = np.average(column[own], weights=weights[own])
            squares = (weights[own] * (column[own] - mean) ** 2).sum()
            each.append((mean, (squares + spread) / (weights[own].sum() + 1)))
        normals.append(each)
    tables, normals = brute_force(
        model.dag_, CARDS, rows, [c.tolist() for c in numbers], weights.tolist(), start, normals, alpha,
        model.network_.report.iterations, one_more=one_more,
    )  # fmt: skip
    assert_tables(model.network_, tables, 1e-6)
    means, variances = model.densities_[0].parameters()
    np.testing.assert_allclose(means, [[m for m, _ in each] for each in normals], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(variances, [[v for _, v in each] for each in normals], rtol=1e-5)
    assert model.network_.report.log_likelihood == pytest.approx(
        observed_log_likelihood(model, frame, shown, weights), rel=1e-9
    )


# ---- the climb -----------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["mle", 0.3, 1.0, bntk.priors.BDeu(2)]),
    st.sampled_from(["gaussian", "multinomial", "width"]),
    st.sampled_from(["empirical", "uniform"]),
    st.booleans(),
)
def test_the_objective_never_falls_and_ends_at_what_is_predicted(
    seed: int, prior: Any, numeric: str, class_prior: str, holes: bool
) -> None:
    rng = np.random.default_rng(seed)
    n = 50
    y = rng.integers(3, size=n)
    y[:3] = [0, 1, 2]
    X = pd.DataFrame({"s": rng.choice(["u", "v", "w"], n), "t": np.where(rng.random(n) < 0.3 + 0.2 * y, "p", "q")})
    X["m"], X["c"] = rng.poisson(1 + 2 * y).astype(float), rng.poisson(2, n).astype(float)
    if holes:
        X.loc[rng.random(n) < 0.2, ["s", "m"]] = None
    shown = pd.Series(y).where(rng.random(n) < 0.4)
    shown[:3] = [0.0, 1.0, 2.0]
    model = bntk.TAN(prior=prior, numeric=numeric, class_prior=class_prior).fit(X, shown)
    report = model.network_.report
    assert (np.diff(report.objectives) >= -1e-9 * abs(report.objectives[-1])).all()
    if prior == "mle" and numeric != "multinomial":
        assert report.objectives == report.log_likelihoods
    assert report.log_likelihood == pytest.approx(observed_log_likelihood(model, X, shown), rel=1e-8)


def test_one_step_of_each_density_is_the_weighted_estimate() -> None:
    """From one model: shares by Bayes' theorem with scipy's densities, then weighted moments, words and kernels."""
    rng = np.random.default_rng(2)
    n, K = 40, 2
    numbers = np.array([rng.normal(size=n), rng.normal(3, 2, size=n), rng.poisson(2, n), rng.poisson(1, n)])
    classes = np.where(np.arange(n) < 10, rng.integers(2, size=n), 2)
    continuous = {"a": "gaussian", "b": "kde", "u": "multinomial", "v": "multinomial"}
    variable = bntk.Variable("class", ["no", "yes"])
    table = bntk.Table.from_codes(classes[None], [variable])
    weights = rng.choice([1.0, 2.0], n)
    rows = UnlabelledRows(table, numbers, weights, continuous, Dirichlet(0.5))
    dag = bntk.DAG(["class"], [])
    em = ClassExpectation(dag, rows)
    start = rows.start(dag, rows.labelled())
    expected, log_likelihood = em.expect(start)
    model = em.maximise(expected)

    log_f = np.log(start.tables[0])[None] + sum(d.log_density(numbers) for d in start.densities)
    known = classes < K
    shares = np.exp(log_f - logsumexp(log_f, axis=1, keepdims=True))
    shares[known] = np.eye(K)[classes[known]]
    assert log_likelihood == pytest.approx(
        weights @ np.where(known, log_f[np.arange(n), np.minimum(classes, 1)], logsumexp(log_f, axis=1))
    )
    shares *= weights[:, None]
    gaussian, kernels, words = model.densities
    means = shares.T @ numbers[0] / shares.sum(axis=0)
    spread = np.cov(numbers[0], aweights=weights, ddof=0)
    squares = (shares * (numbers[0][:, None] - means) ** 2).sum(axis=0)
    np.testing.assert_allclose(gaussian.parameters()[0][0], means)
    np.testing.assert_allclose(gaussian.parameters()[1][0], (squares + spread) / (shares.sum(axis=0) + 1), rtol=1e-6)
    counts = numbers[2:] @ shares + 0.5
    np.testing.assert_allclose(np.exp(words.log_probabilities()), counts / counts.sum(axis=0))
    spread = math.sqrt(np.cov(numbers[1], aweights=weights, ddof=0))
    for k in range(K):
        width = 1.06 * spread * shares[:, k].sum() ** -0.2
        direct = norm.pdf(numbers[1][:, None], numbers[1], width) @ shares[:, k] / shares[:, k].sum()
        np.testing.assert_allclose(np.exp(kernels.log_density(numbers)[:, k]), direct, rtol=1e-6)
    np.testing.assert_allclose(model.tables[0], (shares.sum(axis=0) + 0.5) / (weights.sum() + 1))


def test_threads_and_runs_change_nothing() -> None:
    X, _, shown = mixture(2100, 0.02)  # three pieces of rows
    X["number"] = np.random.default_rng(0).normal(size=len(X)) + (X["f0"] == "low")
    for model in (bntk.TAN(), bntk.TAN(numeric="gaussian"), bntk.NaiveBayes(n_classes=3, numeric="gaussian")):
        y = None if model.n_classes else shown
        one, two = (clone(model).set_params(n_jobs=n).fit(X, y).predict_proba(X) for n in (1, 2))
        np.testing.assert_array_equal(one, two)
    again = [bntk.NaiveBayes(n_classes=3, random_state=s).fit(X.drop(columns="number"), None) for s in (1, 1, 2)]
    assert again[0].network_ == again[1].network_
    assert again[0].network_.report.starts != again[2].network_.report.starts


# ---- what the rows without a label do --------------------------------------------------------------------------------


def test_without_missing_labels_there_is_no_em() -> None:
    X, y, _ = mixture(200, 1.0)
    for model in (bntk.NaiveBayes(), bntk.TAN(), bntk.NaiveBayes(numeric="gaussian")):
        model.fit(X, y)
        assert model.network_.report is model.search_
        direct = bntk.fit(model.dag_, X.assign(**{"class": y}), model._prior)
        assert model.network_ == direct
        as_objects = clone(model).fit(X, y.astype(object))
        np.testing.assert_array_equal(as_objects.predict_proba(X), model.predict_proba(X))


def test_labels_missing_completely_at_random_change_estimates_by_their_standard_error_only() -> None:
    errors = []
    for n in (2000, 40000):
        X, y, shown = mixture(n, 0.5, seed=1)
        full, partly = bntk.NaiveBayes().fit(X, y), bntk.NaiveBayes().fit(X, shown)
        distance = []
        for one, other in zip(full.network_.cpts, partly.network_.cpts, strict=True):
            rows = n * full.network_.cpt("class").values.reshape(-1, *[1] * bool(one.parents))
            error = np.sqrt(one.values * (1 - one.values) / (rows if one.parents else n)) + 1 / n
            assert (np.abs(one.values - other.values) < 5 * error).all()
            distance.append(np.abs(one.values - other.values).max())
        errors.append(max(distance))
    assert errors[1] < errors[0] / 2


def test_unlabelled_rows_help_where_naive_bayes_is_true() -> None:
    X, y, shown = mixture(4000, 0.005, seed=3)
    known = pd.notna(shown)
    alone = bntk.NaiveBayes(prior=1).fit(X[known], shown[known])
    assert bntk.NaiveBayes(prior=1).fit(X, shown).score(X, y) > alone.score(X, y) + 0.02


def test_copies_of_unlabelled_rows_are_weights() -> None:
    X, _, shown = mixture(300, 0.2)
    X["number"] = np.random.default_rng(0).normal(size=len(X))
    times = np.where(pd.isna(shown), 3, 1)
    for model in (bntk.TAN(), bntk.NaiveBayes(numeric="gaussian"), bntk.NaiveBayes(numeric="kde")):
        repeated = clone(model).fit(X.loc[X.index.repeat(times)], np.repeat(shown, times))
        weighted = clone(model).fit(X, shown, sample_weight=times)
        assert repeated.dag_ == weighted.dag_
        np.testing.assert_allclose(repeated.predict_proba(X), weighted.predict_proba(X), rtol=1e-6, atol=1e-9)


def test_rows_of_weight_zero_are_as_if_absent() -> None:
    X, _, shown = mixture(200, 0.3)
    weights = np.random.default_rng(0).integers(0, 2, len(X)).astype(float)
    shown[:5], weights[:5], X.loc[:4, "f0"] = "never", 0.0, "unseen"
    there = weights > 0
    for model in (bntk.TAN(), bntk.RMCV(criterion="accuracy", cv=3)):
        one = clone(model).fit(X, shown, sample_weight=weights)
        other = clone(model).fit(X[there], shown[there])
        assert one.classes_.tolist() == ["a", "b", "c"]
        assert one.network_ == other.network_
    with pytest.raises(ValueError, match="at least one"):
        bntk.NaiveBayes().fit(X, shown, sample_weight=np.zeros(len(X)))
    for model in (bntk.NaiveBayes(n_classes=2), bntk.RMCV(n_classes=2, criterion="accuracy", cv=3)):
        one, other = clone(model).fit(X, None, sample_weight=weights), clone(model).fit(X[there], None)
        assert one.network_ == other.network_


def test_a_feature_without_any_number_says_nothing() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60), "b": np.nan})
    shown = np.where(np.arange(60) < 20, X["a"] > 0, np.nan)
    for numeric in ("gaussian", "kde"):
        for y, options in ((shown, {}), (None, {"n_classes": 2})):
            with pytest.warns(ColumnWarning, match="'b' has no value"):
                nb = bntk.NaiveBayes(numeric=numeric, **options).fit(X, y)
            alone = bntk.NaiveBayes(numeric=numeric, **options).fit(X[["a"]], y)
            np.testing.assert_allclose(nb.predict_proba(X), alone.predict_proba(X[["a"]]), rtol=1e-9)


@pytest.mark.parametrize("cls", TAKING)
def test_the_structure_and_the_cuts_are_those_of_the_labelled_rows(cls: Any) -> None:
    X, y, shown = mixture(400, 0.4, seed=5)
    X["number"] = np.random.default_rng(0).normal(size=len(X)) + 2 * (y == "b")
    known = pd.notna(shown)
    settings_of = {"criterion": "accuracy", "cv": 3} if cls is bntk.RMCV else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bntk.errors.BntkWarning)
        partly = cls(numeric="mdl", **settings_of).fit(X, pd.Series(shown, name="kind"))
        alone = cls(numeric="mdl", **settings_of).fit(X[known], pd.Series(shown[known], name="kind"))
    assert partly.dag_ == alone.dag_
    np.testing.assert_array_equal(partly.features_.cuts["number"], alone.features_.cuts["number"])
    assert isinstance(partly.network_.report, EMResult)
    assert partly.network_.report.converged
    assert partly.target_name_ == "kind"
    assert sum(partly.network_.cpt("kind").counts.ravel()) == pytest.approx(len(X))
    again = parse(dump(partly))
    np.testing.assert_array_equal(again.predict_proba(X), partly.predict_proba(X))
    assert dump(again) == dump(partly)
    for each in (partly, again):
        with pytest.raises(ValueError, match=f"this {cls.__name__} was fitted by EM"):
            each.partial_fit(X[known], shown[known])


@pytest.mark.parametrize("prior", ["mle", 1.0, "backoff", bntk.priors.Backoff(alpha=0)])
def test_states_that_no_labelled_row_has_are_learned(prior: Any) -> None:
    X, _, shown = mixture(300, 0.2)
    X.loc[pd.isna(shown) & (np.arange(300) % 3 == 0), "f1"] = "rare"
    for model in (bntk.NaiveBayes(prior=prior), bntk.TAN(prior=prior), bntk.TAN(prior=prior, missing="state")):
        model.fit(X, shown)
        assert "rare" in model.network_.variable("f1").states
        rare = model.network_.query("f1").values[model.network_.variable("f1").code("rare")]
        assert 0.15 < rare < 0.35
        assert np.isfinite(model.predict_proba(X)).all()


def test_words_that_no_labelled_row_has_are_no_obstacle() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.poisson(np.where(y[:, None], [4, 1, 1], [1, 4, 1])).astype(float)
    X[:10, 2] = 0
    shown = np.where(np.arange(200) < 10, y, np.nan)
    nb = bntk.NaiveBayes(numeric="multinomial", prior="mle").fit(X, shown)
    assert nb.score(X, y) > 0.85


def test_one_class_only_takes_all_rows() -> None:
    X, _, _ = mixture(30, 1.0)
    nb = bntk.NaiveBayes().fit(X, ["a"] + [None] * 29)
    assert nb.classes_.tolist() == ["a"]
    for cpt, known in zip(nb.network_.cpts, bntk.NaiveBayes().fit(X, ["a"] * 30).network_.cpts, strict=True):
        np.testing.assert_allclose(cpt.values, known.values, rtol=1e-12)


def test_a_class_of_one_labelled_row_gets_a_variance() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.normal(y[:, None] * 4.0, 1.0, size=(300, 2)).round(1)
    shown = np.where(np.arange(300) < 2, y, np.nan)
    for numeric in ("gaussian", "kde"):
        nb = bntk.NaiveBayes(numeric=numeric).fit(X, shown)
        assert nb.score(X, y) > 0.98
    means, variances = bntk.NaiveBayes(numeric="gaussian").fit(X, shown).densities_[0].parameters()
    np.testing.assert_allclose(means, [[0, 4], [0, 4]], atol=0.3)
    np.testing.assert_allclose(variances, 1, atol=0.3)


# ---- labels of all kinds ---------------------------------------------------------------------------------------------

KINDS = {
    "list": ["a", None, "b", "a", None, "b"],
    "not a number in a list": ["a", np.nan, "b", "a", np.nan, "b"],
    "objects": np.array(["a", None, "b", "a", np.nan, "b"], dtype=object),
    "strings": pd.Series(["a", pd.NA, "b", "a", pd.NA, "b"], dtype="string"),
    "series of objects": pd.Series(["a", None, "b", "a", pd.NaT, "b"], dtype=object),
    "categories": pd.Series(["a", None, "b", "a", None, "b"], dtype="category"),
    "a categorical": pd.Categorical(["a", None, "b", "a", None, "b"], ["b", "a", "never"]),
    "polars": pl.Series(["a", None, "b", "a", None, "b"]),
    "polars enum": pl.Series(["a", None, "b", "a", None, "b"], dtype=pl.Enum(["b", "a"])),
    "arrow": pa.array(["a", None, "b", "a", None, "b"]),
    "arrow dictionary": pa.array(["a", None, "b", "a", None, "b"]).dictionary_encode(),
    "table": bntk.Table.from_columns({"y": ["a", None, "b", "a", None, "b"]}),
    "floats": np.array([0.0, np.nan, 1.0, 0.0, np.nan, 1.0]),
    "whole numbers in a list": [0, None, 1, 0, None, 1],
    "nullable numbers": pd.Series([0, pd.NA, 1, 0, pd.NA, 1], dtype="Int64"),
    "first missing": [None, 0, 1, 0, None, 1],
    "nullable, first missing": pd.Series([pd.NA, 0, 1, 0, pd.NA, 1], dtype="Int64"),
    "polars numbers": pl.Series([0, None, 1, 0, None, 1]),
    "truth values": [False, None, True, False, None, True],
}


@pytest.mark.parametrize("kind", KINDS)
def test_missing_labels_of_any_kind_are_the_same(kind: str) -> None:
    X = {"x": ["u", "v", "v", "u", "u", "v"], "z": ["p", "p", "q", "p", "q", "q"]}
    y = KINDS[kind]
    expected = bntk.NaiveBayes().fit(X, KINDS["list"] if "first" not in kind else [None, "a", "b", "a", None, "b"])
    nb = bntk.NaiveBayes().fit(X, y)
    assert [str(label) for label in nb.classes_.tolist()] in (["a", "b"], ["0", "1"], ["0.0", "1.0"], ["False", "True"])
    if kind in (
        "whole numbers in a list",
        "nullable numbers",
        "first missing",
        "nullable, first missing",
        "polars numbers",
    ):
        assert nb.classes_.dtype.kind == "i"
    if kind == "truth values":
        assert nb.classes_.dtype.kind == "b"
    np.testing.assert_allclose(nb.predict_proba(X), expected.predict_proba(X), rtol=1e-12)


def test_the_declared_order_is_kept() -> None:
    X, y, _ = mixture(200, 1.0)
    shown = pd.Series(pd.Categorical(np.where(np.arange(200) % 3, None, y), ["c", "a", "b"], ordered=True))
    plain = bntk.TAN(class_prior=[0.2, 0.3, 0.5], numeric="gaussian").fit(X, shown.astype(object))
    X["number"] = np.random.default_rng(0).normal(size=200)
    plain = clone(plain).fit(X, shown.astype(object).where(shown.notna(), None))
    ordered = clone(plain).fit(X, shown)
    assert ordered.classes_.tolist() == ["a", "b", "c"]
    assert ordered.class_order_.tolist() == ["c", "a", "b"]
    assert ordered.network_.variable("class").states == ("c", "a", "b")
    np.testing.assert_allclose(ordered.predict_proba(X), plain.predict_proba(X), rtol=1e-9)


# ---- no labels at all ------------------------------------------------------------------------------------------------


def test_latent_classes_are_a_maximum_that_one_more_step_of_loops_leaves() -> None:
    frame, _, rows = small_rows(11, n=200)
    rows = [{**row, "class": None} for row in rows]
    nb = bntk.NaiveBayes(n_classes=2, prior="mle").fit(frame, None)
    tables = {
        cpt.name: {key: float(cpt.values[key]) for key in np.ndindex(cpt.values.shape)} for cpt in nb.network_.cpts
    }
    before = observed_log_likelihood(nb, frame, [None] * 200)
    assert before == pytest.approx(nb.network_.report.log_likelihood)
    stepped, _ = brute_force(nb.dag_, CARDS, rows, [], [1.0] * 200, tables, [], 0.0, 1)
    assert_tables(nb.network_, stepped, 2e-3)
    # By hand from a start of its own, to the end: no higher.
    start = {n: {(k, s): 0.3 + 0.4 * (k == s) for k in range(2) for s in range(2)} for n in ("f0", "f1", "f2")}
    start["class"] = {(0,): 0.5, (1,): 0.5}
    times = Counter(tuple(row.items()) for row in rows)
    distinct = [dict(row) for row in times]
    by_hand, _ = brute_force(nb.dag_, CARDS, distinct, [], [*map(float, times.values())], start, [], 0.0, 300)
    reached = sum(
        math.log(
            sum(by_hand["class"][k,] * math.prod(by_hand[n][k, row[n]] for n in ("f0", "f1", "f2")) for k in range(2))
        )
        for row in rows
    )
    assert before >= reached - 1e-3


def test_random_starts_climb_as_loops_do(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, _, rows = small_rows(12)
    rows = [{**row, "class": None} for row in rows]
    begun: list[Model] = []
    plain = UnlabelledRows.random_starts

    def remembered(self: Any, dag: Any, seed: int) -> Any:
        begun.append(next(plain(self, dag, seed)))
        return iter(begun)

    monkeypatch.setattr(UnlabelledRows, "random_starts", remembered)
    nb = bntk.NaiveBayes(prior=1, n_classes=2, random_state=5).fit(frame, None)
    (first,) = begun
    start = {
        cpt.name: {key: float(table[key]) for key in np.ndindex(table.shape)}
        for cpt, table in zip(nb.network_.cpts, first.tables, strict=True)
    }
    iterations = nb.network_.report.iterations
    assert len(nb.network_.report.objectives) == iterations + 1
    tables, _ = brute_force(nb.dag_, CARDS, rows, [], [1.0] * len(rows), start, [], 1.0, iterations)
    assert_tables(nb.network_, tables)


def test_classes_without_labels_are_those_that_made_the_rows() -> None:
    X, y, _ = mixture(4000, 0.0, n_features=8)
    nb = bntk.NaiveBayes(n_classes=3).fit(X, None)
    assert nb.classes_.tolist() == [0, 1, 2]
    best = bntk.NaiveBayes().fit(X, y)
    assert adjusted_rand_score(nb.predict(X), y) > adjusted_rand_score(best.predict(X), y) - 0.05
    assert len(nb.network_.report.starts) == unlabelled.N_STARTS
    assert max(nb.network_.report.starts) <= nb.network_.report.objectives[-1]


def test_gaussian_clusters_are_those_of_a_mixture_with_diagonal_covariances() -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(3, 600, p=[0.5, 0.3, 0.2])
    X = rng.normal(np.array([[0, 0], [3, 1], [0, 4]])[y], np.array([[1, 0.5], [0.7, 1], [1.5, 0.6]])[y])
    nb = bntk.NaiveBayes(n_classes=3, numeric="gaussian", prior="mle").fit(X, None)
    means, variances = nb.densities_[0].parameters()
    weights = nb.network_.cpt("class").values
    theirs = GaussianMixture(
        3, covariance_type="diag", reg_covar=0, tol=1e-10, max_iter=2000, weights_init=weights, means_init=means.T,
        precisions_init=1 / variances.T,
    ).fit(X)  # fmt: skip
    ours = nb.network_.report.log_likelihood
    assert ours == pytest.approx(observed_log_likelihood(nb, X, [None] * 600))
    assert ours == pytest.approx(theirs.score(X) * 600, abs=0.01)
    np.testing.assert_allclose(means.T, theirs.means_, atol=0.02)
    np.testing.assert_allclose(variances.T, theirs.covariances_, rtol=0.03)
    np.testing.assert_allclose(nb.predict_proba(X), theirs.predict_proba(X), atol=0.01)
    alone = GaussianMixture(3, covariance_type="diag", n_init=10, random_state=0).fit(X)
    assert ours >= alone.score(X) * 600 - 0.05


def test_equal_numbers_are_no_class_of_their_own() -> None:
    """A third of one cluster has the same number: without a prior of the variance, that would be the best class."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.normal(6.0 * y[:, None], 1.0, size=(300, 2))
    X[::6, 0] = 0.1
    nb = bntk.NaiveBayes(n_classes=2, numeric="gaussian").fit(X, None)
    assert adjusted_rand_score(nb.predict(X), y) > 0.95


@pytest.mark.parametrize("cls", TAKING)
def test_every_network_classifier_finds_classes(cls: Any) -> None:
    X, y, _ = mixture(600, 0.0, n_features=8)
    settings_of = {"criterion": "accuracy", "cv": 3, "start": "naive"} if cls is bntk.RMCV else {}
    model = cls(n_classes=3, random_state=0, **settings_of).fit(X, np.full(600, np.nan))
    assert adjusted_rand_score(model.predict(X), y) > 0.3
    assert model.network_.names[-1] == "class"
    assert isinstance(model.network_.report, EMResult)
    again = parse(dump(model))
    assert again.n_classes == 3
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("numeric", ["gaussian", "kde", "frequency", "width", {"a": "multinomial", "b": "multinomial"}])
def test_clusters_of_numbers(numeric: Any) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=200)
    X = pd.DataFrame({"a": rng.poisson(np.where(y, 9, 2)), "b": rng.poisson(np.where(y, 2, 9))}).astype(float)
    X.loc[::17, "a"] = np.nan
    nb = bntk.NaiveBayes(n_classes=2, numeric=numeric).fit(X, None)
    assert adjusted_rand_score(nb.predict(X), y) > 0.7


@pytest.mark.parametrize(
    "y",
    [
        pd.Categorical([None] * 60, ["b", "a"]),
        pd.Series(pd.Categorical([None] * 60, ["b", "a"], ordered=True)),
        pl.Series([None] * 60, dtype=pl.Enum(["b", "a"])),
        bntk.Table.from_codes(np.full((1, 60), 2), [bntk.Variable("y", ["b", "a"])]),
    ],
    ids=["categorical", "ordered", "enum", "table"],
)
def test_declared_classes_are_those_to_find(y: Any) -> None:
    frame, _, _ = small_rows(1)
    nb = bntk.NaiveBayes().fit(frame, y)
    assert nb.classes_.tolist() == ["a", "b"]
    assert {*nb.predict(frame)} <= {"a", "b"}
    ordered = getattr(getattr(y, "dtype", None), "ordered", False) or isinstance(y, pl.Series)
    assert nb.class_order_.tolist() == (["b", "a"] if ordered else ["a", "b"])
    assert bntk.NaiveBayes(n_classes=2).fit(frame, y).network_ == nb.network_


def test_declared_numbers_are_classes() -> None:
    frame, _, _ = small_rows(1)
    nb = bntk.NaiveBayes().fit(frame, pd.Categorical([None] * 60, [3, 1, 2]))
    assert nb.classes_.tolist() == [1, 2, 3]


# ---- what is refused -------------------------------------------------------------------------------------------------


def refused(model: Any, X: Any, y: Any, message: str, **options: Any) -> None:
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **options)


def test_without_labels_the_number_of_classes_is_needed() -> None:
    frame, _, _ = small_rows(1)
    for y in ([None] * 60, np.full(60, np.nan), pd.Series([pd.NA] * 60, dtype="string"), pl.Series([None] * 60)):
        refused(bntk.TAN(), frame, y, r"Input y contains NaN or None in every row.*TAN\(n_classes=2\)")
    refused(bntk.TAN(), frame, None, "requires y to be passed, but the target y is None")
    refused(bntk.NaiveBayes(), frame, np.full(60, np.inf), "Input y contains infinity")
    refused(bntk.NaiveBayes(), frame, [np.inf, np.nan] * 30, "Input y contains infinity")
    for wrong in (0, -1, 2.0, True, "3"):
        refused(bntk.NaiveBayes(n_classes=wrong), frame, None, "n_classes must be None or a whole number from 1")


def test_the_number_of_classes_is_not_for_rows_with_labels() -> None:
    frame, shown, _ = small_rows(1)
    refused(bntk.NaiveBayes(n_classes=3), frame, shown, "n_classes=3, but y has 2 classes: .0, 1.")
    declared = pd.Categorical([None] * 60, ["a", "b"])
    refused(bntk.NaiveBayes(n_classes=3), frame, declared, "n_classes=3, but y has 2 classes")
    assert bntk.NaiveBayes(n_classes=2).fit(frame, shown).network_ == bntk.NaiveBayes().fit(frame, shown).network_


OTHERS = sorted(
    name for name in classifiers.__all__
    if isinstance(cls := getattr(classifiers, name), type) and issubclass(cls, BayesClassifier)
    and cls not in (BayesClassifier, NetworkClassifier) and not cls._takes_unlabelled
)  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_classifiers_name_the_row_and_those_that_take_it(name: str) -> None:
    frame, shown, _ = small_rows(1)
    model = getattr(classifiers, name)()
    message = f"the class of row 20 is missing; {name} learns from labelled rows only: leave such rows out.* by EM: BAN"
    refused(model, frame, shown, message)
    refused(model, frame, [None] * 60, "the class of row 0 is missing")
    assert "n_classes" not in model.get_params()
    known = ~pd.isna(pd.Series(shown))
    check_is_fitted(model.fit(frame[known], np.array(shown)[known].astype(int)))


def test_partial_fit_refuses_rows_without_a_label() -> None:
    frame, shown, _ = small_rows(1)
    nb = bntk.NaiveBayes()
    with pytest.raises(ValueError, match="the class of row 20 is missing; partial_fit adds"):
        nb.partial_fit(frame, shown)
    nb.partial_fit(frame[:20], shown[:20])
    before = nb.network_
    with pytest.raises(ValueError, match="the class of row 20 is missing; partial_fit adds"):
        nb.partial_fit(frame, shown)
    assert nb.network_ is before
    with pytest.raises(ValueError, match="this NaiveBayes was fitted by EM"):
        bntk.NaiveBayes().fit(frame, shown).partial_fit(frame[:20], shown[:20])


def test_what_em_cannot_do_is_named() -> None:
    frame, shown, _ = small_rows(1)
    frame["number"] = np.arange(60.0)
    refused(
        bntk.NaiveBayes(n_classes=2, numeric="mdl"),
        frame,
        None,
        "numeric='mdl' cuts numbers .* for the column 'number' choose",
    )
    refused(bntk.NaiveBayes(class_prior=[1, 0]), frame, shown, "class_prior gives the class 1 the probability 0")
    refused(
        bntk.BayesNetClassifier(structure="f0 -> class", class_prior="uniform"), frame, shown, "a class with parents"
    )
    refused(bntk.RMCV(alpha="auto", n_classes=2, numeric="width"), frame, None, "alpha='auto' is chosen by the labels")
    refused(bntk.NaiveBayes(numeric="gaussian"), frame.assign(number=[1.0] * 50 + [np.inf] * 10), shown, "row 50")
    refused(bntk.NaiveBayes(), frame[:10], shown, "inconsistent numbers of samples")


def test_the_parameter_of_rmcv_is_chosen_on_the_labelled_rows() -> None:
    X, _, shown = mixture(300, 0.4)
    codes = np.where(pd.isna(shown), np.nan, pd.Series(shown).map({"a": 0, "b": 1, "c": 2}).to_numpy(dtype=float))
    known = ~np.isnan(codes)
    folds = np.arange(300) % 4
    partly = bntk.RMCV(alpha="auto", cv=folds, start="naive").fit(X, codes)
    alone = bntk.RMCV(alpha="auto", cv=folds[known], start="naive").fit(X[known], codes[known])
    assert (partly.alpha_, partly.dag_) == (alone.alpha_, alone.dag_)


def test_maximum_likelihood_adds_nothing_to_variances() -> None:
    """Whatever EM begins with: at the end, the variances are those of the rows, by their shares."""
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = rng.normal(3.0 * y[:, None], 1.0, size=(100, 1))
    shown = np.where(np.arange(100) < 30, y, np.nan)
    nb = bntk.NaiveBayes(numeric="gaussian", prior="mle").fit(X, shown)
    assert isinstance(nb.network_.report.prior, MaximumLikelihood)
    assert nb.densities_[0].totals.sum() == pytest.approx(100)
    assert bntk.NaiveBayes(numeric="gaussian").fit(X, shown).densities_[0].totals.sum() == pytest.approx(102)

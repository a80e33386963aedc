"""Averaged arcs (MANB) and weights of features (AWNB, also of any network, and WANBIA)."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import ORACLE, declared, oracle_json, read_json, reference_table, shared
from scipy.optimize import approx_fprime, minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import bntk
from bntk.classifiers.base import BayesClassifier
from bntk.classifiers.features import ClassColumn
from bntk.classifiers.naive import log_tables
from bntk.classifiers.tree_weights import depths_in_trees, weights_from_depths
from bntk.classifiers.weighted import ConditionalLikelihood
from bntk.errors import UnseenStateWarning
from bntk.learning.counts import TableCounter

OWN = ("mixed", "mixed_missing", "binary", "sparse")
OTHERS = ("car", "voting", "voting_complete")
PRIORS = [f"prior{p}_smooth{s}" for p in (0.1, 0.5, 0.9) for s in (0.5, 1)]

Data = tuple[pd.DataFrame, pd.Series, list[Any]]


def reference_rows(name: str) -> Data:
    """X, y and the order of the classes of a data set of the references."""
    if name in OWN:
        table, levels = ORACLE / f"{name}.csv", ORACLE / f"{name}.levels.json"
    else:
        table, levels = (shared(f"oracle/bnclassify/{name}{end}") for end in (".csv", ".levels.json"))
    rows = bntk.read_table(table, variables=declared(levels), unseen="error").to_pandas()
    target = next(column for column in rows if column.lower() == "class")
    return rows.drop(columns=target), rows[target].astype(object), read_json(levels)[target]


def reference_file(name: str, kind: str) -> Any:
    if name in OWN:
        return oracle_json(f"{name}_{kind}")
    folder = shared("oracle/bnclassify")
    found: list[Path] = sorted(folder.glob(f"{name}_{kind}.json*"))
    return read_json(found[0])


def assert_same_network(model: BayesClassifier, cpts: dict[str, Any], classes: list[Any]) -> None:
    """Every table as in a reference, whose classes are in another order."""
    target = model._class_variable.name
    order = [classes.index(label) for label in model.classes_.tolist()]
    for cpt in model.network_.cpts:
        parents = () if cpt.name == target else (target,)
        expected = reference_table(cpts[cpt.name], parents)[order]
        np.testing.assert_allclose(cpt.values, expected, rtol=1e-9, atol=1e-12, err_msg=cpt.name)


def assert_same_posteriors(model: BayesClassifier, X: pd.DataFrame, expected: Any, classes: list[Any]) -> None:
    order = [classes.index(label) for label in model.classes_.tolist()]
    found = model.predict_proba(X.iloc[: len(expected)])
    np.testing.assert_allclose(found, np.array(expected)[:, order], rtol=1e-9, atol=1e-12)


def small_rows(n: int = 60, seed: int = 0, holes: float = 0.1) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    noise = rng.integers(3, size=(n, 4))
    X = pd.DataFrame(np.where(rng.random((n, 4)) < [0.9, 0.5, 0.2, 0.0], y[:, None], noise), columns=list("abcd"))
    return X.astype(str).mask(rng.random((n, 4)) < holes), y


def counter_of(model: BayesClassifier, X: pd.DataFrame, y: Any, weights: np.ndarray | None = None) -> TableCounter:
    return model._counter(model.features_.read(X), ClassColumn.read(y).among(model.classes_), weights)


# ---- MANB ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", PRIORS)
@pytest.mark.parametrize("name", OWN + OTHERS)
def test_manb_equals_bnclassify(name: str, key: str) -> None:
    X, y, classes = reference_rows(name)
    entry = reference_file(name, "manb")[key]
    prior, smooth = (float(part) for part in key.removeprefix("prior").split("_smooth"))
    model = bntk.MANB(arc_prior=prior, prior=smooth).fit(X, y)
    assert_same_network(model, entry["cpts"], classes)
    arcs = pd.Series(entry["arc_posterior"], dtype=float)[model.arc_posteriors_.index]
    np.testing.assert_allclose(model.arc_posteriors_, arcs, rtol=1e-9, atol=1e-12)
    posteriors = entry["posteriors"] if "posteriors" in entry else entry["predict_first50"]
    assert_same_posteriors(model, X, posteriors, classes)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.floats(0.1, 3), st.lists(st.floats(0.05, 0.95), min_size=3, max_size=3))
def test_manb_is_the_mean_over_all_subsets_of_features(seed: int, alpha: float, arc_prior: list[float]) -> None:
    X, y = small_rows(25, seed, holes=0.0)
    X = X[["a", "b", "d"]]
    model = bntk.MANB(prior=alpha, arc_prior=arc_prior).fit(X, y)
    log_weights, joints = [], []
    for chosen in itertools.product([False, True], repeat=3):
        arcs = [("class", name) for name, arc in zip(X, chosen, strict=True) if arc]
        table = bntk.Table.from_frame(X.assign(**{"class": y}))
        network = bntk.fit(bntk.DAG([*X, "class"], arcs), table, alpha)
        evidence = sum(
            sum(
                math.lgamma(row.size * alpha)
                - math.lgamma(row.sum() + row.size * alpha)
                + sum(math.lgamma(n + alpha) - math.lgamma(alpha) for n in row)
                for row in np.asarray(network.cpt(name).counts).reshape(-1, network.cpt(name).child.n_states)
            )
            for name in X
        )
        log_weights.append(
            evidence + sum(np.log(p if arc else 1 - p) for p, arc in zip(arc_prior, chosen, strict=True))
        )
        joints.append(
            [[network.probability({**row, "class": k}) for k in model.classes_] for row in X.head(5).to_dict("records")]
        )
    weights = np.exp(log_weights - np.max(log_weights))
    expected = np.average(joints, axis=0, weights=weights)
    np.testing.assert_allclose(np.exp(model.log_joint(X.head(5))), expected, rtol=1e-9)


def test_arcs_that_are_certain_give_naive_bayes_and_those_that_are_impossible_the_class_prior() -> None:
    X, y = small_rows()
    naive = bntk.NaiveBayes(prior=1).fit(X, y)
    np.testing.assert_allclose(bntk.MANB(arc_prior=1).fit(X, y).predict_proba(X), naive.predict_proba(X), rtol=1e-12)
    without = bntk.MANB(arc_prior=0).fit(X, y)
    np.testing.assert_allclose(without.predict_proba(X), np.tile(naive.network_.cpt("class").values, (len(y), 1)))
    some = bntk.MANB(arc_prior={"a": 1, "b": 0, "c": 1, "d": 1}).fit(X, y)
    np.testing.assert_allclose(some.predict_proba(X), naive.predict_proba(X.assign(b=None)), rtol=1e-9)


def test_manb_needs_a_prior_and_probabilities_of_arcs() -> None:
    X, y = small_rows()
    with pytest.raises(ValueError, match="positive Dirichlet prior for 'a'"):
        bntk.MANB(prior="mle").fit(X, y)
    with pytest.raises(ValueError, match="from 0 to 1"):
        bntk.MANB(arc_prior=1.5).fit(X, y)
    with pytest.raises(ValueError, match="none for 'b'"):
        bntk.MANB(arc_prior={"a": 0.5}).fit(X, y)
    with pytest.raises(ValueError, match="each of the 4 features"):
        bntk.MANB(arc_prior=[0.5, 0.5]).fit(X, y)


# ---- AWNB ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", ["seed0", "seed1", "seed2"])
@pytest.mark.parametrize("name", OTHERS)
def test_awnb_equals_bnclassify_given_its_trees(name: str, seed: str) -> None:
    X, y, classes = reference_rows(name)
    entry = reference_file(name, "awnb")[seed]
    depths = [[tree.get(feature, 0) for feature in X] for tree in entry["min_depths_per_tree"]]
    weights = weights_from_depths(depths)
    np.testing.assert_allclose(weights, [entry["weights"][feature] for feature in X], rtol=1e-9)
    model = bntk.AWNB(weights=dict(zip(X, weights, strict=True)), prior=1).fit(X, y)
    assert_same_network(model, entry["cpts"], classes)
    assert_same_posteriors(model, X, entry["predict_first50"], classes)


def least_depths_by_recursion(tree: Any, owners: np.ndarray, node: int = 0, depth: int = 1) -> dict[int, int]:
    if tree.children_left[node] < 0:
        return {}
    found = {int(owners[tree.feature[node]]): depth}
    for child in (tree.children_left[node], tree.children_right[node]):
        for feature, least in least_depths_by_recursion(tree, owners, child, depth + 1).items():
            found[feature] = min(found.get(feature, least), least)
    return found


def test_depths_are_the_least_at_which_a_tree_tests_a_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    from bntk.classifiers import tree_weights

    X, y = small_rows(200)
    plain, seen = tree_weights.least_depths, []

    def recorded(tree: Any, owners: np.ndarray, n: int) -> np.ndarray:
        expected = least_depths_by_recursion(tree, owners)
        found = plain(tree, owners, n)
        seen.append(len(expected))
        assert {f: d for f, d in enumerate(found.tolist()) if d} == expected
        return found

    monkeypatch.setattr(tree_weights, "least_depths", recorded)
    model = bntk.AWNB(n_trees=5).fit(X, y)
    assert len(seen) == 5
    assert max(seen) > 1
    assert model.weights_["a"] == 1.0 == model.weights_.max()  # the best feature is the root of every tree


def test_awnb_does_not_depend_on_the_order_of_rows_and_takes_weights_for_repeats() -> None:
    X, y = small_rows(100)
    repeats = np.random.default_rng(1).integers(4, size=len(y))
    again = np.random.default_rng(2).permutation(np.repeat(np.arange(len(y)), repeats))
    weighted, repeated = bntk.AWNB().fit(X, y, repeats), bntk.AWNB().fit(X.iloc[again], y[again])
    pd.testing.assert_series_equal(weighted.weights_, repeated.weights_)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9)
    assert not bntk.AWNB(random_state=1).fit(X, y).weights_.equals(bntk.AWNB(random_state=2).fit(X, y).weights_)


def test_awnb_with_weights_of_one_is_naive_bayes_and_with_zero_the_prior() -> None:
    X, y = small_rows()
    naive = bntk.NaiveBayes(prior=0.25).fit(X, y)
    np.testing.assert_allclose(bntk.AWNB(weights=1).fit(X, y).predict_proba(X), naive.predict_proba(X), rtol=1e-12)
    none = bntk.AWNB(weights=0).fit(X, y)
    np.testing.assert_allclose(none.predict_proba(X), np.tile(naive.network_.cpt("class").values, (len(y), 1)))
    assert none.features_in_use_ == []
    assert bntk.AWNB(weights=[1, 0, 0.5, 0]).fit(X, y).features_in_use_ == ["a", "c"]


def test_a_feature_that_no_tree_tests_has_no_weight() -> None:
    X, y = small_rows(holes=0.0)
    model = bntk.AWNB().fit(X.assign(same="x"), y)
    assert model.weights_["same"] == 0.0


def test_bad_weights_are_refused() -> None:
    X, y = small_rows()
    with pytest.raises(ValueError, match="no feature 'e'"):
        bntk.AWNB(weights=dict.fromkeys("abcde", 1.0)).fit(X, y)
    with pytest.raises(ValueError, match="numbers from 0 to"):
        bntk.AWNB(weights=[1, 1, 1, -1]).fit(X, y)
    with pytest.raises(ValueError, match="n_trees must be"):
        bntk.AWNB(n_trees=0).fit(X, y)


# ---- AWNB of any network ---------------------------------------------------------------------------------------------

NETWORKS = (
    bntk.NaiveBayes(), bntk.TAN(), bntk.TAN(root="c", missing="em"), bntk.FAN(criterion="aic"), bntk.MANB(),
    bntk.KDB(2), bntk.SelectiveKDB(), bntk.STAN(), bntk.STAND(), bntk.SPODE(), bntk.SemiNaiveBayes(search="bsej"),
    bntk.BayesNetClassifier(structure="a -> class -> b; b -> c <- class; d -> c"), bntk.RMCV(start="naive"),
    bntk.BAN(criterion=bntk.scores.BIC(missing="average"), prior=2), bntk.TAN(missing="state", class_prior="uniform"),
)  # fmt: skip
IDS = [str(estimator).replace("\n", "")[:40] for estimator in NETWORKS]


def posteriors_by_enumeration(network: bntk.BayesianNetwork, weights: dict[str, float], X: pd.DataFrame) -> np.ndarray:
    """P(class | observed features) with the weighted tables, by summing over all completions of each row."""
    *features, target = network.names
    states = {name: network.variable(name).states for name in network.names}
    tables = {}
    for cpt in network.cpts:
        theta = np.asarray(cpt.values) ** weights.get(cpt.name, 1.0)
        tables[cpt.name] = theta / theta.sum(axis=-1, keepdims=True)
    found = np.zeros((len(X), len(states[target])))
    for row, observed in enumerate(X.to_dict("records")):
        options = [states[name] if pd.isna(observed[name]) else (observed[name],) for name in features]
        for cells in itertools.product(*options, states[target]):
            at = {name: states[name].index(cell) for name, cell in zip(network.names, cells, strict=True)}
            factors = [
                tables[name][tuple(at[parent] for parent in (*network.dag.parents(name), name))]
                for name in network.names
            ]
            found[row, at[target]] += np.prod(factors)
    return found / found.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("estimator", NETWORKS, ids=IDS)
@pytest.mark.filterwarnings("ignore::bntk.errors.WeakClassifierWarning")
def test_weighted_tables_of_any_network_predict_as_enumeration_says(estimator: Any) -> None:
    X, y = small_rows(90, holes=0.15)
    fitted, weights = clone(estimator).fit(X, y), {"a": 0.7, "b": 0.0, "c": 1.8, "d": 0.4}
    model = bntk.AWNB(estimator, weights=weights).fit(X, y)
    assert model.dag_ == fitted.dag_
    observed = X.fillna("missing") if estimator.missing == "state" else X
    expected = posteriors_by_enumeration(fitted.network_, weights, observed)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)
    assert not np.allclose(expected, fitted.predict_proba(X), atol=0.01)
    posteriors = model.network_.posterior(observed[:5], "class")
    np.testing.assert_allclose(posteriors, model.predict_proba(X[:5]), rtol=1e-9)


@pytest.mark.parametrize("estimator", NETWORKS, ids=IDS)
@pytest.mark.filterwarnings("ignore::bntk.errors.WeakClassifierWarning")
def test_weights_of_one_leave_a_classifier_as_it_is(estimator: Any) -> None:
    X, y = small_rows(90, holes=0.15)
    plain, weighted = clone(estimator).fit(X, y), bntk.AWNB(estimator, weights=1).fit(X, y)
    np.testing.assert_allclose(weighted.log_joint(X), plain.log_joint(X), rtol=1e-9)
    assert weighted.search_.dag == plain.search_.dag
    assert set(weighted.features_in_use_) == set(plain.features_in_use_)


@pytest.mark.parametrize(
    "options",
    [{}, {"prior": 0.5, "missing": "state", "class_prior": "uniform"}, {"numeric": "width", "n_bins": 2}],
    ids=str,
)
def test_by_default_the_estimator_is_naive_bayes(options: dict[str, Any]) -> None:
    X, y = small_rows(120)
    X["size"] = np.random.default_rng(0).normal(size=120) + y
    inner = bntk.NaiveBayes(**{"prior": 0.25, **options})
    default, given = bntk.AWNB(**options).fit(X, y), bntk.AWNB(inner).fit(X, y)
    pd.testing.assert_series_equal(default.weights_, given.weights_, check_exact=True)
    np.testing.assert_array_equal(default.log_joint(X), given.log_joint(X))


def test_trees_give_the_same_weights_whatever_the_network() -> None:
    X, y = small_rows(150)
    repeats = np.random.default_rng(1).integers(3, size=150)
    naive, tree = (bntk.AWNB(e, random_state=3).fit(X, y, repeats) for e in (None, bntk.TAN(random_state=7)))
    pd.testing.assert_series_equal(naive.weights_, tree.weights_, check_exact=True)


def test_rows_of_weight_zero_have_no_say_in_the_weights() -> None:
    X, y = small_rows(150)
    odd = X.assign(a="never seen elsewhere")
    both, counts = pd.concat([X, odd], ignore_index=True), np.repeat([1.0, 0.0], 150)
    labels = np.concatenate([y, np.full(150, 99)])
    alone, beside = bntk.AWNB(bntk.TAN()).fit(X, y), bntk.AWNB(bntk.TAN()).fit(both, labels, counts)
    pd.testing.assert_series_equal(alone.weights_, beside.weights_)
    np.testing.assert_allclose(alone.predict_proba(X), beside.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("estimator", [bntk.TAN(), bntk.KDB(2, prior=1), bntk.MANB()], ids=str)
def test_partial_fit_adds_counts_to_the_structure_and_weights_of_the_first_rows(estimator: Any) -> None:
    X, y = small_rows(200)
    model = bntk.AWNB(estimator).partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    weights, before = model.weights_.copy(), copy.copy(model)
    first = before.predict_proba(X)
    model.partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(before.predict_proba(X), first)  # a copy does not learn with it
    plain = clone(estimator).partial_fit(X[:100], y[:100], classes=[0, 1, 2]).partial_fit(X[100:], y[100:])
    pd.testing.assert_series_equal(model.weights_, weights)
    expected = posteriors_by_enumeration(plain.network_, weights.to_dict(), X[:40])
    np.testing.assert_allclose(model.predict_proba(X[:40]), expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::bntk.errors.WeakClassifierWarning")
def test_a_feature_without_weight_is_in_use_where_it_is_the_parent_of_one_with_weight() -> None:
    X, y = small_rows(200, holes=0.0)
    known = bntk.BayesNetClassifier(structure="class -> a -> b -> c; class -> b; class -> d")
    every = pd.DataFrame(itertools.product(*(X[name].unique() for name in X)), columns=list(X))
    for weights in itertools.product([0.0, 0.8], repeat=4):
        model = bntk.AWNB(known, weights=weights).fit(X, y)
        p = model.predict_proba(every)
        changing = [
            name
            for name in X
            if any(
                np.ptp(p[rows], axis=0).max() > 1e-9
                for rows in every.groupby([n for n in X if n != name]).indices.values()
            )
        ]
        assert model.features_in_use_ == changing
    assert bntk.AWNB(known, weights=[0, 1, 1, 1]).fit(X, y).features_in_use_ == ["a", "b", "d"]


def test_parameters_of_the_estimator_are_parameters() -> None:
    X, y = small_rows(150)
    model = bntk.AWNB(bntk.TAN(), n_trees=2)
    assert model.get_params()["estimator__root"] is None
    by_setting = clone(model).set_params(estimator__root="d").fit(X, y)
    assert by_setting.dag_.parents("d") == ("class",)
    assert model.estimator.root is None
    assert not hasattr(by_setting.estimator, "classes_")  # the estimator that is given is never fitted
    search = GridSearchCV(model, {"estimator__prior": [0.5, 2], "estimator": [bntk.TAN(), bntk.FAN()]}, cv=3).fit(X, y)
    assert set(search.best_params_) == {"estimator__prior", "estimator"}
    explained = by_setting.explain(X.iloc[[3]], of=0, against=1)["log_odds"].sum()
    assert explained == pytest.approx(np.subtract(*by_setting.log_joint(X.iloc[[3]])[0, :2]), rel=1e-9)


def test_the_estimator_says_what_becomes_of_unseen_states() -> None:
    X, y = small_rows(100, holes=0.0)
    new, strict = X[:3].assign(a="new"), bntk.AWNB(bntk.TAN(unseen="error")).fit(X, y)
    with pytest.raises(ValueError, match="new"):
        strict.predict(new)
    with pytest.raises(ValueError, match="new"):
        strict.partial_fit(new, y[:3])
    with pytest.warns(UnseenStateWarning):
        bntk.AWNB(bntk.TAN()).fit(X, y).predict(new)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (bntk.AWNB(bntk.AODE()), TypeError, "one network, such as bntk.TAN.*not AODE"),
        (bntk.AWNB(DecisionTreeClassifier()), TypeError, "one network"),  # type: ignore[arg-type]
        (bntk.AWNB(bntk.WANBIA()), TypeError, "weights of its own"),
        (bntk.AWNB(bntk.AWNB()), TypeError, "weights of its own"),
        (bntk.AWNB(bntk.TAN(), prior=2), ValueError, r"prior=2 is not for AWNB with an estimator; .* TAN\(prior=2\)"),
        (bntk.AWNB(bntk.TAN(), class_prior=[0.2, 0.3, 0.5]), ValueError, "class_prior=.* is not for AWNB"),
        (bntk.AWNB(bntk.TAN(), n_trees=0), ValueError, "n_trees must be"),
    ],
)
def test_estimators_that_cannot_be_weighted_are_refused(model: Any, error: type[Exception], message: str) -> None:
    X, y = small_rows()
    with pytest.raises(error, match=message):
        model.fit(X, y)


# ---- WANBIA ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OTHERS)
def test_wanbia_reaches_at_least_the_likelihood_of_bnclassify(name: str) -> None:
    X, y, _ = reference_rows(name)
    entry = reference_file(name, "wanbia")
    model = bntk.WANBIA(prior=1).fit(X, y)
    goal = ConditionalLikelihood.of(counter_of(model, X, y), log_tables(model.network_))
    value, gradient = goal.value_and_gradient(np.ones(X.shape[1]))
    assert value == pytest.approx(entry["cll_at_w1"], rel=1e-9)
    np.testing.assert_allclose(-gradient, [entry["grad_negcll_at_w1"][feature] for feature in X], rtol=1e-9)
    assert model.conditional_log_likelihood_ >= entry["cll_at_optimum"] - 1e-9
    of_theirs = goal.log_likelihood(np.array([entry["weights"][feature] for feature in X], dtype=float))
    assert model.conditional_log_likelihood_ >= of_theirs - 1e-9
    if name == "voting_complete":
        assert model.conditional_log_likelihood_ > -19.174


@pytest.mark.parametrize("regularization", [0.0, 2.5])
def test_the_gradient_is_that_of_the_likelihood(regularization: float) -> None:
    X, y = small_rows()
    model = bntk.NaiveBayes().fit(X, y)
    weights = np.random.default_rng(1).random(len(y)) * 2
    goal = ConditionalLikelihood.of(counter_of(model, X, y, weights), log_tables(model.network_), regularization)
    for at in np.random.default_rng(0).uniform(-0.5, 2, size=(5, 4)):
        numeric = approx_fprime(at, lambda w: goal.value_and_gradient(w)[0], 1e-7)
        np.testing.assert_allclose(goal.value_and_gradient(at)[1], numeric, rtol=1e-4, atol=1e-4)


def test_the_likelihood_is_that_of_the_rows_one_by_one() -> None:
    X, y = small_rows()
    rows = np.random.default_rng(1).random(len(y)) * 2
    model = bntk.WANBIA().fit(X, y, rows)
    network, weights = model.network_, model.weights_
    total = 0.0
    for (_, cells), k, row_weight in zip(X.iterrows(), y, rows, strict=True):
        scores = np.log(network.cpt("class").values)
        for name in X:
            if isinstance(cells[name], str):
                cpt = network.cpt(name)
                scores = scores + weights[name] * np.log(cpt.values[:, cpt.child.code(cells[name])])
        posterior = np.exp(scores) / np.exp(scores).sum()
        np.testing.assert_allclose(model.predict_proba(cells.to_frame().T)[0], posterior, rtol=1e-9)
        total += row_weight * np.log(posterior[k])
    assert model.conditional_log_likelihood_ == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.2, 0.7), None])
@pytest.mark.parametrize("regularization", [0.0, 3.0])
def test_no_other_weights_are_better(bounds: tuple[float, float] | None, regularization: float) -> None:
    X, y = small_rows(300)
    model = bntk.WANBIA(bounds=bounds, regularization=regularization).fit(X, y)
    goal = ConditionalLikelihood.of(counter_of(model, X, y), log_tables(model.network_), regularization)
    low, high = bounds or (-np.inf, np.inf)
    weights = model.weights_.to_numpy()
    value, gradient = goal.value_and_gradient(weights)
    # The conditions of a maximum, which is the only one of a concave function.
    assert np.abs(np.clip(weights + gradient, low, high) - weights).max() < 1e-4
    other = minimize(
        lambda w: -goal.value_and_gradient(w)[0], np.full(4, 0.5), bounds=[(low, high)] * 4, method="Powell", tol=1e-10
    )
    assert value >= -other.fun - 1e-9


def test_regularization_holds_weights_at_one() -> None:
    X, y = small_rows()
    held = bntk.WANBIA(regularization=1e9).fit(X, y)
    np.testing.assert_allclose(held.weights_, 1.0, atol=1e-6)
    np.testing.assert_allclose(held.predict_proba(X), bntk.NaiveBayes().fit(X, y).predict_proba(X), rtol=1e-5)


def test_wanbia_on_complete_rows_is_a_network_with_another_class_prior() -> None:
    X, y = small_rows(holes=0.0)
    wanbia = bntk.WANBIA().fit(X, y)
    awnb = bntk.AWNB(weights=wanbia.weights_, prior=0.5).fit(X, y)
    # theta^w is the normalised table times a sum that depends on the class alone.
    sums = [(wanbia.network_.cpt(name).values ** wanbia.weights_[name]).sum(axis=1) for name in X]
    bent = awnb.network_.cpt("class").values * np.prod(sums, axis=0)
    bent_awnb = clone(awnb).set_params(class_prior=bent / bent.sum()).fit(X, y)
    np.testing.assert_allclose(wanbia.predict_proba(X), bent_awnb.predict_proba(X), rtol=1e-9)


def test_without_bounds_weights_grow_until_classes_are_told_apart() -> None:
    X = pd.DataFrame({"a": ["x", "y", "x", "y"] * 20, "b": ["x", "x", "y", "y"] * 20})
    y = X["a"]
    bounded, free = bntk.WANBIA().fit(X, y), bntk.WANBIA(bounds=None).fit(X, y)
    assert bounded.weights_["a"] == 1.0
    assert free.weights_["a"] > 1.5
    assert bounded.conditional_log_likelihood_ < free.conditional_log_likelihood_ < 0


def test_wanbia_says_that_weights_are_not_the_best() -> None:
    with pytest.warns(ConvergenceWarning, match="have not converged"):
        bntk.WANBIA()._warn_if_far(np.zeros(2), np.array([-1.0, 1.0]), 0.0, 1.0)
    bntk.WANBIA()._warn_if_far(np.array([1.0, 0.0]), np.array([-1.0, 1.0]), 0.0, 1.0)  # at the bounds


def test_wanbia_refuses_what_it_cannot_do() -> None:
    X, y = small_rows()
    with pytest.raises(ValueError, match=r"P\(a \| class\) has a zero"):
        bntk.WANBIA(prior="mle").fit(X.assign(a=y.astype(str)), y)
    with pytest.raises(ValueError, match="least and the greatest"):
        bntk.WANBIA(bounds=(1, 0)).fit(X, y)
    with pytest.raises(ValueError, match="must be a number from 0"):
        bntk.WANBIA(regularization=-1).fit(X, y)


# ---- all three -------------------------------------------------------------------------------------------------------

ALL = (bntk.MANB(), bntk.AWNB(), bntk.WANBIA())
AND_TREES = (*ALL, bntk.AWNB(bntk.TAN()))


@pytest.mark.parametrize("model", ALL, ids=repr)
def test_partial_fit_adds_counts_and_keeps_weights(model: Any) -> None:
    X, y = small_rows(90)
    parts = clone(model).partial_fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    if isinstance(model, bntk.MANB):
        whole = clone(model).fit(X, y)
    else:
        weights = clone(model).fit(X[:40], y[:40]).weights_
        pd.testing.assert_series_equal(parts.weights_, weights)
        whole = clone(model).fit(X, y)
        whole.weights_ = weights
        if isinstance(model, bntk.AWNB):
            whole = bntk.AWNB(weights=weights).fit(X, y)
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("model", AND_TREES, ids=repr)
def test_whole_weights_are_repeated_rows(model: Any) -> None:
    X, y = small_rows(90)
    repeats = np.random.default_rng(1).integers(3, size=len(y))
    again = np.repeat(np.arange(len(y)), repeats)
    weighted, repeated = clone(model).fit(X, y, repeats), clone(model).fit(X.iloc[again], y[again])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("model", AND_TREES, ids=repr)
def test_a_row_with_everything_missing_gets_the_class_prior(model: Any) -> None:
    X, y = small_rows()
    fitted = clone(model).fit(X, y)
    nothing = pd.DataFrame({name: [None] for name in X}, dtype=object)
    np.testing.assert_allclose(fitted.predict_proba(nothing)[0], fitted.network_.cpt("class").values, rtol=1e-12)


@pytest.mark.parametrize("model", AND_TREES, ids=repr)
def test_threads_and_pickling_do_not_change_answers(model: Any) -> None:
    X, y = small_rows(5000)
    one = clone(model).set_params(n_jobs=1).fit(X, y)
    three = clone(model).set_params(n_jobs=3).fit(X, y)
    np.testing.assert_array_equal(one.log_joint(X), three.log_joint(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).log_joint(X), one.log_joint(X))


@pytest.mark.parametrize("model", ALL, ids=repr)
def test_numbers_are_cut_into_intervals_or_refused(model: Any) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    X = pd.DataFrame({"size": rng.normal(size=200) + 2 * y, "noise": rng.normal(size=200)})
    assert clone(model).fit(X, y).score(X, y) > 0.75
    with pytest.raises(ValueError, match="'size' has numeric='gaussian'.*NaiveBayes"):
        clone(model).set_params(numeric="gaussian").fit(X, y)
    with pytest.raises(ValueError, match="AWNB is for discrete features, and the column 'size'"):
        bntk.AWNB(bntk.TAN(numeric="gaussian")).fit(X, y)


@pytest.mark.parametrize("model", AND_TREES, ids=repr)
def test_explanations_sum_to_the_log_odds(model: Any) -> None:
    X, y = small_rows()
    fitted = clone(model).fit(X, y)
    row = X.iloc[[3]]
    log_p = fitted.predict_log_proba(row)[0]
    assert fitted.explain(row, of=0, against=1)["log_odds"].sum() == pytest.approx(log_p[0] - log_p[1], rel=1e-9)


def test_trees_do_not_mind_missing_cells_and_single_classes() -> None:
    X, y = small_rows(50, holes=0.5)
    naive = bntk.NaiveBayes().fit(X, y)
    assert depths_in_trees(counter_of(naive, X, y), 3, 0, naive._sorted_states).max(axis=1).min() >= 1
    alone = bntk.NaiveBayes().fit(X, np.zeros(50, dtype=int))
    assert not depths_in_trees(counter_of(alone, X, np.zeros(50, dtype=int)), 3, 0, alone._sorted_states).any()


@parametrize_with_checks(list(AND_TREES))
def test_scikit_learn_checks(estimator: BayesClassifier, check: Any) -> None:
    check(estimator)

"""Tables smoothed by a hierarchical Dirichlet process are posterior means, wherever parameters are estimated."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import cache
from math import exp, lgamma

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import random_network
from scipy.special import gammaln

import bntk
from bntk.errors import ArgumentError
from bntk.io import json_network
from bntk.learning import hdp
from bntk.learning.hdp import chain_of, estimate_trees
from bntk.learning.priors import HDP, Backoff

QUICK = HDP(iterations=40, burn_in=10)


# ---- the posterior by enumeration ------------------------------------------------------------------------------------


@cache
def stirling(n: int, t: int) -> int:
    """Unsigned Stirling numbers of the first kind."""
    if n == 0 or t == 0:
        return int(n == t)
    return stirling(n - 1, t - 1) + (n - 1) * stirling(n - 1, t)


def all_table_counts(parent: list[int], counts: np.ndarray, node: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(n, t) of all nodes for every choice of table counts, from ``node`` up; nodes after it are chosen already."""
    if node < 0:
        yield counts, np.zeros(counts.shape, dtype=int)
        return
    for choice in np.ndindex(*np.maximum(counts[node], 1)):
        t = np.where(counts[node] > 0, np.array(choice) + 1, 0)
        more = counts.copy()
        if parent[node] >= 0:
            more[parent[node]] += t
        for n, others in all_table_counts(parent, more, node - 1):
            yield n, others + np.where(np.arange(len(n))[:, None] == node, t, 0)


def by_enumeration(parent: list[int], alpha: list[float], own: np.ndarray) -> tuple[np.ndarray, float]:
    """The posterior mean of theta for given concentrations of nodes, and the probability of what was counted."""
    own, k = np.asarray(own), np.shape(own)[1]
    mean, total = np.zeros(own.shape), 0.0
    for n, t in all_table_counts(parent, own.copy(), len(parent) - 1):
        weight, theta = 1.0, np.zeros(own.shape)
        for u, above in enumerate(parent):
            weight *= alpha[u] ** t[u].sum() * exp(lgamma(alpha[u]) - lgamma(alpha[u] + n[u].sum()))
            weight *= np.prod([float(stirling(n[u, s], t[u, s])) for s in range(k)])
            weight *= (1 / k) ** t[u].sum() if above < 0 else 1.0
            base = theta[above] if above >= 0 else np.full(k, 1 / k)
            theta[u] = (n[u] + alpha[u] * base) / (n[u].sum() + alpha[u])
        mean += weight * theta
        total += weight
    return mean / total, total


TREES = {
    "two leaves": ([-1, 0, 0], [0, 1, 1], [[0, 0], [4, 1], [1, 0]]),
    "an only child": ([-1, 0], [0, 1], [[0, 0], [5, 3]]),
    "three states": ([-1, 0, 0], [0, 1, 1], [[0, 0, 0], [2, 0, 2], [1, 3, 0]]),
    "three levels": ([-1, 0, 0, 1, 1, 2], [0, 1, 1, 2, 2, 2], [[0, 0], [0, 0], [0, 0], [3, 0], [1, 1], [0, 4]]),
    "four levels": ([-1, 0, 1, 2, 2], [0, 1, 2, 3, 3], [[0, 0], [0, 0], [0, 0], [3, 1], [2, 0]]),
    "rows at inner nodes": ([-1, 0, 0], [0, 1, 1], [[1, 2], [3, 0], [0, 2]]),
    "two trees": ([-1, -1, 0, 1], [0, 0, 1, 1], [[0, 0], [0, 0], [3, 1], [0, 5]]),
}


@pytest.mark.parametrize("concentration", [0.2, 1.0, 6.0])
@pytest.mark.parametrize("name", TREES)
def test_sampled_means_equal_enumeration_over_all_table_counts(name, concentration):
    parent, level, own = TREES[name]
    exact, _ = by_enumeration(parent, [concentration] * len(parent), own)
    rule = HDP(iterations=40_000, burn_in=100, concentration=concentration, seed=1)
    found = estimate_trees(np.array(parent), np.array(level), np.array(own), rule)
    # The largest error over four other seeds was 0.0009.
    np.testing.assert_allclose(found.theta, exact, atol=0.0025)


def test_sampled_concentrations_equal_numerical_integration():
    parent, level, own = [-1, 0, 0], [0, 1, 1], np.array([[0, 0], [3, 0], [1, 3]])
    shape, rate = 2.0, 0.5
    grid = np.exp(np.linspace(np.log(1e-3), np.log(60), 24))
    density = grid**shape * np.exp(-rate * grid)  # of log alpha
    mean, alphas, total = np.zeros(own.shape), np.zeros(2), 0.0
    for a, p in zip(grid, density, strict=True):
        for b, q in zip(grid, density, strict=True):
            theta, evidence = by_enumeration(parent, [a, b, b], own)
            mean, alphas, total = (
                mean + p * q * evidence * theta,
                alphas + p * q * evidence * np.array([a, b]),
                total + p * q * evidence,
            )
    rule = HDP(iterations=200_000, burn_in=1000, shape=shape, rate=rate, seed=3)
    found = estimate_trees(np.array(parent), np.array(level), own, rule)
    np.testing.assert_allclose(found.theta, mean / total, atol=0.004)
    np.testing.assert_allclose(found.concentrations, alphas / total, rtol=0.02)


# ---- trees -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 60), min_size=1, max_size=5), st.sampled_from([0.3, 1.0, 20.0]))
@settings(max_examples=30)
def test_one_level_is_the_dirichlet_posterior_mean(counts, alpha):
    own = np.array([counts])
    found = estimate_trees(np.array([-1]), np.array([0]), own, HDP(iterations=7, burn_in=1, concentration=alpha))
    expected = (own + alpha / own.size) / (own.sum() + alpha)
    np.testing.assert_allclose(found.theta, expected, rtol=1e-12)
    np.testing.assert_allclose(found.concentrations, [alpha])


@given(st.data())
@settings(max_examples=40)
def test_every_node_has_a_distribution_and_an_empty_one_that_of_its_parent(data):
    n = data.draw(st.integers(1, 12))
    parent = np.array([-1, *(data.draw(st.integers(-1, u)) for u in range(n - 1))])
    level = np.zeros(n, dtype=np.int64)
    for u in range(n):
        level[u] = 0 if parent[u] < 0 else level[parent[u]] + 1
    cell = st.one_of(st.just(0), st.integers(0, 5), st.integers(0, 10**9), st.floats(0, 30))
    own = np.array([[data.draw(cell) for _ in range(3)] for _ in range(n)], dtype=float)
    fixed = data.draw(st.sampled_from([None, 0.01, 1.0, 50.0]))
    theta = estimate_trees(parent, level, own, HDP(iterations=5, burn_in=2, concentration=fixed)).theta
    assert (theta > 0).all()
    np.testing.assert_allclose(theta.sum(axis=1), 1.0)
    below = own.copy()
    for u in range(n - 1, -1, -1):
        if parent[u] >= 0:
            below[parent[u]] += below[u]
    for u in np.flatnonzero(below.sum(axis=1) == 0):
        np.testing.assert_allclose(theta[u], theta[parent[u]] if parent[u] >= 0 else 1 / 3)


def test_permuting_states_permutes_the_estimates():
    parent, level, own = (np.array(each) for each in TREES["three states"])
    rule = HDP(iterations=40_000, concentration=1.0)
    plain = estimate_trees(parent, level, own, rule).theta
    order = [2, 0, 1]
    np.testing.assert_allclose(estimate_trees(parent, level, own[:, order], rule).theta, plain[:, order], atol=0.003)


@pytest.mark.parametrize("n", [12, 3000])
def test_the_concentration_of_nodes_with_many_rows_equals_numerical_integration(n):
    """Table counts of many rows, where stretches without a new table are skipped, are seen through alpha."""
    shape, rate = 3.0, 0.5
    # Under a root whose theta is certain, by very many rows, those of the leaf are Dirichlet-multinomial around it.
    own = np.array([[10**9, 10**9], [n, n]])
    rule = HDP(iterations=60_000, burn_in=200, shape=shape, rate=rate, seed=2)
    found = estimate_trees(np.array([-1, 0]), np.array([0, 1]), own, rule).concentrations[1]
    grid = np.linspace(0.005, 100, 20_000)
    log_p = (shape - 1) * np.log(grid) - rate * grid + gammaln(grid) - gammaln(grid + 2 * n)
    log_p += 2 * (gammaln(grid / 2 + n) - gammaln(grid / 2))
    p = np.exp(log_p - log_p.max())
    assert found == pytest.approx((p * grid).sum() / p.sum(), rel=0.03)


def test_the_estimate_depends_on_the_seed_and_on_nothing_beside():
    rows = bntk.datasets.network("car").sample(400, seed=1)
    dag = bntk.datasets.network("car").dag
    alone = bntk.fit(dag, rows, prior=QUICK)
    results: list[bntk.BayesianNetwork] = []

    def work() -> None:
        for _ in range(3):
            np.random.random(100)  # noqa: NPY002 - numpy's shared generator is what should not matter
            results.append(bntk.fit(dag, rows, prior=QUICK))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 12
    for other in results:
        for one, two in zip(alone.cpts, other.cpts, strict=True):
            np.testing.assert_array_equal(one.values, two.values)
    before = bntk.n_threads()
    bntk.set_threads(1 if before > 1 else 2)
    try:
        assert bntk.fit(dag, rows, prior=QUICK) == alone
    finally:
        bntk.set_threads(None)
    assert bntk.fit(dag, rows, prior=HDP(40, 10, seed=1)) != alone


# ---- tables ----------------------------------------------------------------------------------------------------------


def sample(seed: int, n: int = 60, missing: float = 0.0) -> tuple[bntk.BayesianNetwork, bntk.Table]:
    truth = random_network(seed, n=5, max_parents=3, max_states=3)
    rows = truth.sample(n, seed=seed).to_pandas()
    rows = rows.mask(np.random.default_rng(seed).random(rows.shape) < missing)
    return truth, bntk.Table.from_frame(rows, truth.variables)


def test_a_table_is_the_tree_of_its_configurations_with_data():
    rows = pd.DataFrame({"a": list("xxxyyyxx"), "b": list("ppqqqppp"), "c": list("00010110")})
    rows["a"] = pd.Categorical(rows["a"], ["x", "y", "z"])
    rule = HDP(iterations=60, burn_in=5, given=("b",))
    values = bntk.fit("a -> c; b -> c", rows, prior=rule).cpt("c").values  # axes a, b, c
    # The root; b = p, b = q; then (p, x), (p, y), (q, x), (q, y).
    leaves = [[((rows.b == b) & (rows.a == a) & (rows.c == c)).sum() for c in "01"] for b in "pq" for a in "xy"]
    own = np.array([[0, 0]] * 3 + leaves)
    theta = estimate_trees(np.array([-1, 0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 2, 2, 2, 2]), own, rule).theta
    np.testing.assert_array_equal(values[:2], theta[[[3, 5], [4, 6]]])
    np.testing.assert_array_equal(values[2], theta[1:3])  # a = z was never seen: the estimate given b alone


@given(st.integers(0, 10**6), st.sampled_from([(), ("x1",), ("x2", "x0")]))
@settings(max_examples=20)
def test_rows_of_tables_sum_to_one_and_a_renamed_order_of_parents_changes_nothing(seed, given):
    truth, table = sample(seed)
    fitted = bntk.fit(truth.dag, table, prior=HDP(20, 5, given=given))
    for cpt in fitted.cpts:
        np.testing.assert_allclose(cpt.values.sum(axis=-1), 1.0)
        assert (cpt.values > 0).all()
        chain = [cpt.parents[axis].name for axis in chain_of(cpt.family, np.asarray(cpt.counts), given)]
        swapped = cpt.reorder([p.name for p in reversed(cpt.parents)])
        again = [swapped.parents[axis].name for axis in chain_of(swapped.family, np.asarray(swapped.counts), given)]
        if chain == again:  # unless two parents say equally much
            (values,) = hdp.estimate_tables([swapped.family], [np.asarray(swapped.counts)], fitted.prior)
            np.testing.assert_array_equal(values, swapped.values)


def test_the_chain_begins_with_the_given_and_goes_on_by_information():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 2, (4000, 4)), columns=list("abcd"))
    rows["x"] = np.where(rng.random(4000) < 0.9, rows["c"], np.where(rng.random(4000) < 0.9, rows["a"], rows["d"]))
    family = bntk.fit("a -> x; b -> x; c -> x; d -> x", rows, prior=1).cpt("x")
    counts = np.asarray(family.counts)
    assert chain_of(family.family, counts, ())[:2] == [2, 0]
    assert chain_of(family.family, counts, ("d", "nobody"))[:3] == [3, 2, 0]
    # b and a copy of it say equally much, to the last bit or nearly so: they come in the order of the axes.
    same = np.moveaxis(counts, 0, 1) + counts
    order = chain_of(family.family, same, ())
    assert order.index(0) < order.index(1)


def test_a_parent_that_says_something_only_given_the_class_comes_first_there():
    """The exclusive or of class and parent: alone the parent says nothing."""
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.integers(0, 2, (2000, 3)), columns=["class", "a", "b"])
    rows["x"] = np.where(rng.random(2000) < 0.7, rows["class"] ^ rows["b"], rows["a"])
    cpt = bntk.fit("class -> x; a -> x; b -> x", rows, prior=1).cpt("x")
    names = [p.name for p in cpt.parents]
    ordered = {g: [names[axis] for axis in chain_of(cpt.family, np.asarray(cpt.counts), g)] for g in ((), ("class",))}
    assert ordered[()][0] == "a"
    assert ordered["class",] == ["class", "b", "a"]


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.2]))
@settings(max_examples=15)
def test_updating_equals_fitting_all_rows_also_from_a_file(seed, missing):
    truth, table = sample(seed, missing=missing)
    prior = HDP(iterations=20, burn_in=5, seed=4, given=("x0",))
    whole = bntk.fit(truth.dag, table, prior=prior)
    half = bntk.fit(truth.dag, table.take(slice(0, 30)), prior=prior)
    text = json_network.dump(half)
    for first in (half, json_network.parse(text)):
        assert first.update(table.take(slice(30, None))) == whole
    assert json_network.parse(text).prior == prior


def test_a_fixed_concentration_is_kept_in_files():
    truth, table = sample(1)
    prior = HDP(iterations=3, burn_in=0, concentration=2.5)
    assert json_network.parse(json_network.dump(bntk.fit(truth.dag, table, prior=prior))).prior == prior


def test_by_name_by_object_and_through_learn():
    truth, table = sample(3)
    assert bntk.fit(truth.dag, table, prior="hdp") == bntk.fit(truth.dag, table, prior=HDP())
    learned = bntk.learn(table, "bic", prior=QUICK)
    assert learned == bntk.fit(learned.dag, table, prior=QUICK)


def test_tables_of_the_model_are_estimated_better_than_by_other_priors():
    """Where theta is drawn level by level, the posterior mean has the smallest mean divergence from it."""
    rng = np.random.default_rng(0)
    variables = {name: bntk.Variable(name, range(3)) for name in "abcx"}
    divergence = {"hdp": 0.0, "backoff": 0.0, "laplace": 0.0}
    priors = {"hdp": HDP(given=("a", "b", "c")), "backoff": Backoff(), "laplace": 1.0}
    for _ in range(30):
        theta = rng.dirichlet(np.ones(3))
        for alpha in (3.0, 10.0, 30.0):
            theta = np.array([rng.dirichlet(alpha * row, 3) for row in theta.reshape(-1, 3)]).reshape(-1, 3) + 1e-9
            theta = theta / theta.sum(axis=1, keepdims=True)
        parents = rng.integers(0, 3, (3, 150))
        x = [rng.choice(3, p=theta[9 * a + 3 * b + c]) for a, b, c in parents.T]
        rows = bntk.Table.from_codes(np.array([*parents, x]), list(variables.values()))
        for name, prior in priors.items():
            found = bntk.fit("a -> x; b -> x; c -> x", rows, prior=prior).cpt("x").values.reshape(-1, 3)
            divergence[name] += float((theta * np.log(theta / found)).sum())
    assert divergence["hdp"] < 0.9 * min(divergence["backoff"], divergence["laplace"])


# ---- weights and EM --------------------------------------------------------------------------------------------------


def test_whole_weights_are_rows_that_are_repeated():
    truth, table = sample(8)
    repeats = np.arange(60) % 3
    weighted = bntk.fit(truth.dag, table, prior=QUICK, weights=repeats)
    repeated = bntk.fit(truth.dag, table.take(np.repeat(np.arange(60), repeats)), prior=QUICK)
    assert all(np.array_equal(a.values, b.values) for a, b in zip(weighted.cpts, repeated.cpts, strict=True))


def test_parts_of_rows_are_between_whole_ones():
    """The root under two leaves with 2 to 3 rows each: its estimate moves evenly with the counts."""
    rule = HDP(iterations=20_000, concentration=1.0)
    roots = [
        estimate_trees(
            np.array([-1, 0, 0]), np.array([0, 1, 1]), np.array([[0.0, 0.0], [n, 0.0], [0.0, 2.0]]), rule
        ).theta[0, 0]
        for n in (0.0, 0.25, 0.5, 1.0, 2.0, 2.5, 3.0, 30.0)
    ]
    assert (np.diff(roots) > 0).all()
    assert roots[5] - roots[4] == pytest.approx(roots[6] - roots[5], abs=0.01)


def test_em_runs_with_one_row_in_each_cell_and_smooths_at_the_end():
    truth, table = sample(11, missing=0.3)
    by_em = bntk.fit_em(truth.dag, table, prior=QUICK)
    plain = bntk.fit_em(truth.dag, table, prior=1)
    for cpt, other in zip(by_em.cpts, plain.cpts, strict=True):
        np.testing.assert_allclose(cpt.counts, other.counts)
        (expected,) = hdp.estimate_tables([cpt.family], [np.asarray(cpt.counts)], QUICK)
        np.testing.assert_array_equal(cpt.values, expected)


# ---- classifiers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "classifier", [bntk.NaiveBayes(), bntk.TAN(), bntk.KDB(k=2), bntk.BAN(), bntk.SPODE(), bntk.SelectiveKDB()]
)
def test_classifiers_have_the_class_next_to_the_root(classifier):
    rows = bntk.datasets.asia().sample(300, seed=1).to_pandas()
    X, y = rows.drop(columns="dysp"), rows["dysp"]
    fitted = classifier.set_params(prior=QUICK).fit(X, y)
    same = bntk.fit(fitted.dag_, rows, prior=HDP(40, 10, given=("dysp",)))
    assert fitted.network_.is_close(same, 1e-12)
    more = bntk.datasets.asia().sample(100, seed=2).to_pandas()
    fitted.partial_fit(more.drop(columns="dysp"), more["dysp"])
    assert fitted.network_.is_close(bntk.fit(fitted.dag_, pd.concat([rows, more]), prior=same.prior), 1e-12)


def test_several_class_variables_and_rows_without_a_class():
    rows = bntk.datasets.asia().sample(300, seed=1).to_pandas()
    X, Y = rows.drop(columns=["lung", "bronc"]), rows[["lung", "bronc"]]
    both = bntk.MDBNC(feature_shape="tree", prior=QUICK).fit(X, Y)
    same = bntk.fit(both.dag_, rows, prior=HDP(40, 10, given=("lung", "bronc")))
    assert both.network_.is_close(same, 1e-12)
    some = Y["bronc"].mask(np.arange(300) % 3 == 0)
    np.testing.assert_allclose(bntk.TAN(prior=QUICK).fit(X, some).predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("classifier", [bntk.AODE(), bntk.A2DE(), bntk.MANB()])
def test_classifiers_that_add_pseudo_counts_say_so(classifier):
    rows = bntk.datasets.asia().sample(100, seed=1).to_pandas()
    with pytest.raises(ArgumentError, match="has no pseudo-counts"):
        classifier.set_params(prior=QUICK).fit(rows.drop(columns="lung"), rows["lung"])


@pytest.mark.parametrize(
    "wrong",
    [{"iterations": 0}, {"iterations": 2.5}, {"burn_in": -1}, {"shape": 0}, {"rate": -1}, {"rate": float("inf")},
     {"concentration": 0.0}, {"concentration": "1"}, {"seed": -1}, {"seed": 0.5}, {"given": "class"}, {"given": [1]}],
)  # fmt: skip
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        HDP(**wrong)

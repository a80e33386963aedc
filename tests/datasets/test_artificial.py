from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import all_rows, joint

import bntk
from bntk.datasets import Drawn, geometric_shares, make_blanket, make_imbalanced, make_multilabel, make_ordinal
from bntk.datasets.logit import cumulative_logit, expit
from bntk.errors import TooLargeError

MAKERS = [make_blanket, make_ordinal, make_imbalanced, make_multilabel]
seeds = st.integers(0, 2**32 - 1)


@st.composite
def shares(draw, least: int = 2, most: int = 6) -> list[float]:
    parts = draw(st.lists(st.integers(1, 100), min_size=least, max_size=most))
    return [part / sum(parts) for part in parts]


def marginal(network: bntk.BayesianNetwork, name: str) -> np.ndarray:
    return network.query(name).values


# ---- the table of which they are made --------------------------------------------------------------------------


@given(seeds, shares(), st.integers(1, 3))
def test_a_cumulative_logit_table_has_the_asked_marginal_and_parallel_log_odds(seed, asked, n_parents) -> None:
    rng = np.random.default_rng(seed)
    parents = [bntk.Variable(f"p{i}", range(int(rng.integers(1, 4)))) for i in range(n_parents)]
    shape = [p.n_states for p in parents]
    scores = rng.normal(0, 2, shape)
    weights = rng.dirichlet(np.ones(scores.size)).reshape(shape)
    child = bntk.Variable("x", range(len(asked)))
    table = cumulative_logit(child, np.array(asked), parents, scores, weights).values
    np.testing.assert_allclose((weights[..., None] * table).sum(tuple(range(n_parents))), asked, atol=1e-12)
    below = table.cumsum(-1)[..., :-1]
    log_odds = np.log(below / (1 - below)) + scores[..., None]  # the threshold, whatever the parents
    np.testing.assert_allclose(log_odds, np.broadcast_to(log_odds[(0,) * n_parents], log_odds.shape), atol=1e-5)


def test_expit_is_right_at_both_ends() -> None:
    np.testing.assert_allclose(expit(np.array([-1000.0, -700, 0, 2, 1000])), [0, np.exp(-700), 0.5, 0.880797078, 1])


# ---- what all of them have in common ---------------------------------------------------------------------------


@pytest.mark.parametrize("make", MAKERS)
def test_a_seed_gives_the_same_rows_and_another_seed_others(make: Callable[..., Drawn]) -> None:
    first, again, other = make(200, seed=4), make(200, seed=4), make(200, seed=5)
    assert first.X.equals(again.X)
    assert first.y.equals(again.y)
    assert first.network.cpts == again.network.cpts
    assert not first.y.equals(other.y)
    assert first.network.cpts != other.network.cpts


@pytest.mark.parametrize("make", MAKERS)
def test_rows_come_from_the_network(make: Callable[..., Drawn]) -> None:
    n = 20_000
    X, y, network = make(n, seed=1)
    frame = X.join(y)
    assert set(frame.columns) == set(network.names)
    for name in frame.columns:
        expected = marginal(network, name)
        found = frame[name].value_counts(normalize=True).reindex(network.variable(name).states, fill_value=0)
        assert (np.abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / n)).all()
    # The log-likelihood of the rows is what the network's own rows have on average.
    ours, theirs = (network.log_likelihood(rows) / n for rows in (frame, network.sample(n, seed=99)))
    assert ours == pytest.approx(theirs, rel=0.02)


@pytest.mark.parametrize("make", MAKERS)
def test_all_states_are_declared_even_in_few_rows(make: Callable[..., Drawn]) -> None:
    X, _, network = make(3, seed=0)
    assert len(X) == 3
    for name in X.columns:
        assert tuple(X[name].cat.categories) == network.variable(name).states


@settings(max_examples=20)
@given(seeds)
def test_bayes_accuracy_is_the_mean_of_the_best_posterior_by_enumeration(seed) -> None:
    drawn = make_ordinal(50, n_classes=3, n_features=3, n_states=2, seed=seed)
    p = joint(drawn.network)  # axes x1, x2, x3, class
    rows = p[tuple(drawn.X[name].to_numpy().astype(int) for name in drawn.X)]
    assert drawn.bayes_accuracy() == pytest.approx((rows.max(1) / rows.sum(1)).mean(), abs=1e-9)


def test_bayes_accuracy_of_many_rows_is_that_of_the_distribution() -> None:
    drawn = make_ordinal(40_000, n_classes=3, n_features=4, seed=2)
    assert drawn.bayes_accuracy() == pytest.approx(joint(drawn.network).max(-1).sum(), abs=0.01)


def test_the_right_classifier_comes_close_to_the_best_accuracy_and_none_exceeds_it() -> None:
    drawn = make_ordinal(20_000, seed=1)
    fresh = drawn.fresh(20_000, seed=2)
    accuracy = bntk.NaiveBayes().fit(drawn.X, drawn.y).score(fresh.X, fresh.y)
    assert fresh.bayes_accuracy() - 0.02 < accuracy < fresh.bayes_accuracy() + 0.02


@pytest.mark.parametrize("make", MAKERS)
def test_fresh_rows_are_others_of_the_same_network(make: Callable[..., Drawn]) -> None:
    drawn = make(50, seed=3)
    fresh = drawn.fresh(70, seed=4)
    assert fresh.network is drawn.network
    assert len(fresh.X) == len(fresh.y) == 70
    assert not fresh.X[:50].equals(drawn.X)
    assert (fresh.X.dtypes == drawn.X.dtypes).all()
    assert fresh.y.equals(drawn.fresh(70, seed=4).y)


@given(st.integers(2, 9), st.floats(1e-3, 1e3))
def test_geometric_shares_have_the_ratio_and_one_factor(n, ratio) -> None:
    found = geometric_shares(n, ratio)
    assert found.sum() == pytest.approx(1)
    assert found[0] / found[-1] == pytest.approx(ratio)
    np.testing.assert_allclose(found[1:] / found[:-1], ratio ** (-1 / (n - 1)))


# ---- each of them ----------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(seeds, shares(2, 9), st.integers(0, 4), st.integers(1, 4), st.integers(0, 4), st.integers(0, 5))
def test_the_class_has_the_blanket_and_the_shares_asked_for(seed, asked, parents, children, spouses, rest) -> None:
    drawn = make_blanket(
        10,
        len(asked),
        class_shares=asked,
        n_variables=1 + parents + children + spouses + rest,
        n_parents=parents,
        n_children=children,
        n_spouses=spouses,
        n_states=2,
        seed=seed,
    )
    dag = drawn.network.dag
    assert len(dag.parents("class")) == parents
    assert len(dag.children("class")) == children
    assert len(dag.markov_blanket("class")) == parents + children + spouses
    assert len(dag.nodes) == 1 + parents + children + spouses + rest
    np.testing.assert_allclose(marginal(drawn.network, "class"), asked, atol=1e-9)
    for name in drawn.X:
        np.testing.assert_allclose(marginal(drawn.network, name), 0.5, atol=1e-9)


def test_a_table_beyond_all_memory_is_refused_before_it_is_made() -> None:
    with pytest.raises(TooLargeError, match=r"P\(class \| parent1, .* would have"):
        make_blanket(10, n_variables=60, n_parents=40)


def test_the_defaults_are_those_of_the_paper() -> None:
    X, y, network = make_blanket()
    assert X.shape == (2000, 19)
    assert y.nunique() == 4
    dag = network.dag
    assert (len(dag.parents("class")), len(dag.children("class")), len(dag.markov_blanket("class"))) == (4, 3, 10)


def test_features_outside_the_blanket_say_nothing_more() -> None:
    drawn = make_blanket(50, seed=3)
    blanket = list(drawn.network.dag.markov_blanket("class"))
    every, within = (drawn.network.posterior(X, "class") for X in (drawn.X, drawn.X[blanket]))
    pd.testing.assert_frame_equal(every, within)


@settings(max_examples=20, deadline=None)
@given(seeds, shares(3, 6))
def test_confusions_of_ordinal_classes_are_mostly_between_neighbours(seed, asked) -> None:
    network = make_ordinal(1, len(asked), 3, class_shares=asked, n_states=3, seed=seed).network
    p = joint(network).reshape(-1, len(asked))
    posterior = p / p.sum(1, keepdims=True)
    # The likelihood of the classes given any row rises to a peak and falls from there.
    likelihood = posterior / np.array(asked)
    rising = np.diff(likelihood, axis=1) > 1e-12
    falling = np.diff(likelihood, axis=1) < -1e-12
    for up, down in zip(rising, falling):
        first_fall = down.argmax() if down.any() else len(down)
        assert not up[first_fall:].any()


def test_irrelevant_features_are_independent_of_the_class() -> None:
    X, _, network = make_ordinal(10, n_features=2, n_irrelevant=3)
    assert list(X) == ["x1", "x2", "noise1", "noise2", "noise3"]
    assert all(network.dag.d_separated(f"noise{i}", "class") for i in (1, 2, 3))


@settings(max_examples=20, deadline=None)
@given(seeds, shares(2, 5))
def test_classes_that_overlap_fully_cannot_be_told_apart(seed, asked) -> None:
    drawn = make_imbalanced(20, asked, 4, overlap=1, seed=seed)
    np.testing.assert_allclose(drawn.network.posterior(drawn.X, "class"), np.tile(asked, (20, 1)), atol=1e-9)
    assert drawn.bayes_accuracy() == pytest.approx(max(asked))


@settings(max_examples=20, deadline=None)
@given(seeds, st.floats(0, 1), st.floats(0, 1))
def test_overlap_makes_a_class_harder_and_leaves_the_largest_alone(seed, one, other) -> None:
    less, more = (make_imbalanced(1, [0.2, 0.8], 3, overlap=[o, 0.3], seed=seed).network for o in sorted((one, other)))
    assert joint(more).max(-1).sum() <= joint(less).max(-1).sum() + 1e-12
    np.testing.assert_allclose(marginal(less, "class"), [0.2, 0.8])
    for name in ("x1", "x2", "x3"):
        np.testing.assert_array_equal(less.cpt(name).row({"class": 1}), more.cpt(name).row({"class": 1}))


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(2, 7), st.floats(0.05, 0.95), st.floats(0, 2), st.floats(0, 3))
def test_labels_have_the_cardinality_and_the_odds_ratios_asked_for(seed, n, density, skew, dependence) -> None:
    _, Y, network = make_multilabel(
        5, n, 3, cardinality=density * n, skew=skew, dependence=dependence, labels_per_feature=2, seed=seed
    )
    ones = np.array([marginal(network, name)[1] for name in Y])
    assert ones.sum() == pytest.approx(density * n, abs=1e-9)
    odds = np.sort(ones / (1 - ones))[::-1]
    np.testing.assert_allclose(odds * np.arange(1, n + 1) ** skew, odds[0], rtol=1e-6)
    arcs = [(a, b) for a, b in network.dag.arcs if b in Y]
    assert len(arcs) == n - 1
    for parent, child in arcs:
        p = network.query([parent, child]).values
        assert abs(np.log(p[0, 0] * p[1, 1] / (p[0, 1] * p[1, 0]))) == pytest.approx(dependence, abs=1e-6)
    for name in ("x1", "x2", "x3"):
        assert len(network.dag.parents(name)) == 2
        assert marginal(network, name)[1] == pytest.approx(0.5, abs=1e-9)


def test_without_dependence_labels_are_independent() -> None:
    _, Y, network = make_multilabel(5, 4, 2, dependence=0)
    for a, b in combinations(Y, 2):
        expected = np.outer(marginal(network, a), marginal(network, b))
        np.testing.assert_allclose(network.query([a, b]).values, expected, atol=1e-12)


def test_labels_are_numbers_and_classifiers_of_several_classes_take_them() -> None:
    X, Y, network = make_multilabel(300, 3, 6, seed=1)
    assert Y.isin([0, 1]).all(axis=None)
    assert all(dtype.kind == "i" for dtype in Y.dtypes)
    predicted = bntk.BinaryRelevance().fit(X, Y).predict(X)
    assert np.shape(predicted) == Y.shape
    assert 0.5 < make_multilabel(300, 3, 6, seed=1).bayes_accuracy() <= 1
    assert all_rows(network).n_rows == 2**9


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: make_blanket(10, 3, class_shares=[0.5, 0.5]),
            r"class_shares must be 3 positive numbers that sum to 1",
        ),
        (lambda: make_blanket(10, 2, class_shares=[1.0, 0.0]), r"class_shares must be 2 positive numbers"),
        (lambda: make_blanket(10, 1), "n_classes must be a whole number from 2, not 1"),
        (lambda: make_blanket(10, n_variables=10), "n_variables=10 is less than the class and its blanket, 11"),
        (lambda: make_blanket(10, n_children=0), "n_spouses are parents of children of the class"),
        (
            lambda: geometric_shares(3, 0),
            "that of the largest to the smallest class, must be a positive number, not 0",
        ),
        (lambda: make_ordinal(10, class_shares=[0.2] * 4), "class_shares must be 5 positive numbers"),
        (lambda: make_ordinal(10, n_states=1), "n_states must be a whole number from 2, not 1"),
        (
            lambda: make_imbalanced(10, concentration=0),
            "concentration must be a number above 0 and up to 1,000,000, not 0",
        ),
        (lambda: make_imbalanced(10, [0.5, 0.6]), "class_shares must be 2 positive numbers"),
        (lambda: make_imbalanced(10, overlap=[0.1] * 3), "overlap must be a number from 0 to 1, or one for each of 2"),
        (lambda: make_imbalanced(10, overlap=1.1), "overlap must be a number from 0 to 1"),
        (lambda: make_multilabel(10, 3, cardinality=3), "cardinality must be more than 0 and less than n_labels=3"),
        (
            lambda: make_multilabel(10, 3, labels_per_feature=4),
            "labels_per_feature must be from 0 to n_labels=3; got 4",
        ),
    ],
)
def test_what_cannot_be_made_is_refused_with_the_argument(make: Callable[[], Drawn], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()

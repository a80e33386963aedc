"""Sampling given evidence: within the errors that it states, and the same for every number of threads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from inference.brute_force import given, onto, random_likelihood
from random_networks import joint, random_network

import bntk
from bntk.errors import DataError, ImpossibleEvidence, TooLargeError
from bntk.inference import choose
from bntk.inference.approximate.sampling import gibbs, likelihood_weighting, sample

seeds = st.integers(0, 2**32 - 1)


def findings_of(network: bntk.BayesianNetwork, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Random hard, set and soft evidence by name, and the joint times its likelihoods; possible evidence only."""
    cards = [variable.n_states for variable in network.variables]
    likelihood = {v: vector for v, vector in random_likelihood(seed, cards).items() if vector.any()}
    return {network.names[v]: vector for v, vector in likelihood.items()}, given(joint(network), likelihood)


def assert_close(found, network: bntk.BayesianNetwork, expected: np.ndarray, errors: float = 5.0) -> None:
    """Every state of every variable is within the stated errors of the truth."""
    for v, name in enumerate(network.names):
        truth = onto(expected, [v]) / expected.sum()
        # Of a state that was never seen the error is stated as zero, so that the rule of three bounds it.
        bound = errors * found.standard_error(name) + 15 / found.table.n_rows
        assert (np.abs(found.marginal(name).values - truth) <= bound).all(), name


# ---- likelihood weighting --------------------------------------------------------------------------------------------


@settings(max_examples=15)
@drawn(seeds)
def test_weighted_estimates_are_within_their_standard_errors(seed):
    network = random_network(seed, 5)
    soft, expected = findings_of(network, seed)
    found = likelihood_weighting(network, soft=soft, n=20_000, seed=seed)
    assert_close(found, network, expected)
    assert 0 < found.effective_size <= 20_000 + 1e-6
    spread = 1 / math.sqrt(found.effective_size)
    assert found.log_probability == pytest.approx(math.log(expected.sum()), abs=6 * spread + 1e-12)


def test_weights_are_equal_when_evidence_has_no_unobserved_ancestors():
    found = likelihood_weighting(bntk.datasets.asia(), {"asia": "yes", "tub": "yes"}, n=500)
    assert found.effective_size == pytest.approx(500)
    assert found.log_probability == pytest.approx(math.log(0.01 * 0.05))


def test_impossible_evidence_is_told_from_unlikely_evidence():
    network = bntk.datasets.asia()
    with pytest.raises(ImpossibleEvidence, match="tub='yes'"):
        likelihood_weighting(network, {"tub": "yes", "either": "no"})
    with pytest.raises(ImpossibleEvidence):
        gibbs(network, {"tub": "yes", "either": "no"})
    with pytest.raises(ImpossibleEvidence):
        sample(network, 10, given={"tub": "yes", "either": "no"})
    with pytest.raises(DataError, match="none of 2 rows"):
        likelihood_weighting(network, {"tub": "no", "either": "yes"}, n=2)


# ---- Gibbs -----------------------------------------------------------------------------------------------------------


@settings(max_examples=10)
@drawn(seeds)
def test_chains_are_within_their_standard_errors(seed):
    network = random_network(seed, 5)
    soft, expected = findings_of(network, seed)
    found = gibbs(network, soft=soft, n=40_000, seed=seed)
    assert not found.may_be_stuck
    assert_close(found, network, expected, errors=7.0)  # the batch means of slow chains understate the error


def test_effective_sizes_tell_slow_chains_from_fast_ones():
    a, b = bntk.Variable("a", [0, 1]), bntk.Variable("b", [0, 1])
    slow = bntk.BayesianNetwork("a -> b", [bntk.CPT(a, [0.5, 0.5]), bntk.CPT(b, [[0.99, 0.01], [0.01, 0.99]], [a])])
    fast = bntk.BayesianNetwork("a -> b", [bntk.CPT(a, [0.5, 0.5]), bntk.CPT(b, [[0.5, 0.5], [0.4, 0.6]], [a])])
    sizes = [gibbs(network, n=20_000).effective_size("a") for network in (slow, fast)]
    assert sizes[0] < 2_000
    assert sizes[1] > 10_000


def test_observed_variables_keep_their_state_and_sets_are_respected():
    found = gibbs(bntk.datasets.asia(), {"dysp": "yes", "smoke": ["no", "yes"]}, n=100, chains=3, thin=2)
    assert found.table.n_rows == 102
    assert set(found.table.column("dysp")) == {1}
    assert math.isnan(found.effective_size("dysp"))
    assert found.may_be_stuck


def test_many_children_do_not_underflow():
    a = bntk.Variable("a", [0, 1])
    children = [bntk.Variable(f"b{i}", range(50)) for i in range(400)]
    cpts = [bntk.CPT(child, np.full((2, 50), 0.02), [a]) for child in children]
    network = bntk.BayesianNetwork.from_cpts([bntk.CPT(a, [0.3, 0.7]), *cpts])
    found = gibbs(network, {child.name: 0 for child in children}, n=2000, burn_in=0)
    assert found.marginal("a")[0] == pytest.approx(0.3, abs=0.06)


# ---- exact sampling given evidence -----------------------------------------------------------------------------------


@settings(max_examples=15)
@drawn(seeds)
def test_samples_given_evidence_have_the_posterior_as_their_distribution(seed):
    network = random_network(seed, 5, zeros=bool(seed % 2))
    soft, expected = findings_of(network, seed)
    if expected.sum() == 0:
        return
    n = 20_000
    table = sample(network, n, seed=seed, soft=soft)
    posterior = (expected / expected.sum()).ravel()
    counts = np.bincount(np.ravel_multi_index(tuple(table.codes.astype(int)), expected.shape), minlength=posterior.size)
    assert counts[posterior == 0].sum() == 0
    error = np.sqrt(posterior * (1 - posterior) / n)
    assert (np.abs(counts / n - posterior) <= 6 * error + 1e-9 + (posterior > 0) * 10 / n).all()


def test_samples_agree_with_evidence_that_cuts_a_large_network():
    network = random_network(5, 8, max_parents=3, max_states=3)
    evidence = {name: network.variable(name).states[-1] for name in network.names[::3]}
    vectors = {network.dag.index(n): np.eye(network.variable(n).n_states)[-1] for n in evidence}
    expected = given(joint(network), vectors)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "RECOMPILE_ENTRIES", 0)
        table = sample(network, 20_000, seed=1, given=evidence)
    for v in range(8):
        found = np.bincount(table.codes[v], minlength=expected.shape[v]) / 20_000
        np.testing.assert_allclose(found, onto(expected, [v]) / expected.sum(), atol=0.02)


def test_evidence_on_roots_is_drawn_forward_and_large_tables_are_refused():
    network = bntk.datasets.asia()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "SAMPLING_ENTRIES", 10)
        assert set(sample(network, 50, given={"asia": "yes"}).column("asia")) == {1}
        with pytest.raises(TooLargeError, match="likelihood_weighting"):
            sample(network, 50, given={"dysp": "yes"})


# ---- all of them -----------------------------------------------------------------------------------------------------


def draw_in_every_way(network: bntk.BayesianNetwork, n: int) -> list[np.ndarray]:
    evidence = {"dysp": "yes"}
    return [
        sample(network, n, seed=3).codes,
        sample(network, n, seed=3, given=evidence).codes,
        likelihood_weighting(network, evidence, n, seed=3).table.codes,
        gibbs(network, evidence, n, seed=3).table.codes,
    ]


def test_rows_depend_on_the_seed_and_not_on_the_number_of_threads():
    network, found = bntk.datasets.asia(), []
    for threads in (1, 3):
        bntk.set_threads(threads)
        try:
            found.append(draw_in_every_way(network, 10_000))
        finally:
            bntk.set_threads(None)
    for one, three in zip(*found, strict=True):
        np.testing.assert_array_equal(one, three)
    for short, long in zip(draw_in_every_way(network, 100)[:3], found[0], strict=False):
        np.testing.assert_array_equal(short, long[:, :100])
    assert not np.array_equal(sample(network, 100, seed=4).codes, found[0][0][:, :100])


@pytest.mark.parametrize("engine", ["weighting", "gibbs"])
def test_approximate_marginals_state_their_errors(engine):
    found = bntk.datasets.sprinkler().marginals({"wet": "yes"}, engine=engine, n=20_000, seed=1)
    assert found.engine == engine
    assert found.settings == {"n": 20_000, "seed": 1}
    assert abs(found["rain"]["yes"] - 0.7079) < 5 * found.standard_errors["rain"][1]
    assert "standard error" in found.report


def test_numbers_that_make_no_sense_are_refused():
    for options in ({"n": 0}, {"chains": 0}, {"thin": 0}, {"burn_in": -1}):
        with pytest.raises(ValueError, match=f"{next(iter(options))} must be a whole number from"):
            gibbs(bntk.datasets.asia(), **options)


def test_variables_with_many_states_are_drawn_as_their_table_says():
    p = np.arange(1.0, 31.0) / 465
    wide = bntk.BayesianNetwork.from_cpts([bntk.CPT(bntk.Variable("wide", range(30)), p)])
    counts = np.bincount(wide.sample(100_000, seed=5).codes[0], minlength=30)
    assert (np.abs(counts / 100_000 - p) < 6 * np.sqrt(p / 100_000)).all()

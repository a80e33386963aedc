"""Loopy belief propagation: exact without loops, close with few, honest about convergence."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from inference.brute_force import given, onto, product, random_likelihood, random_rows, row_likelihood
from random_networks import joint, random_network

import bntk
from bntk.errors import ImpossibleEvidence
from bntk.inference.approximate.loopy import LoopyProgram, loopy_network
from bntk.inference.exact.program import Factor, compile_network

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=40)
SCHEDULES = ("residual", "flooding", "sweeping")
ways = st.sampled_from([(schedule, damping) for schedule in SCHEDULES for damping in (0.0, 0.4)])
exactly = {"tolerance": 1e-14}


def cards_of(network: bntk.BayesianNetwork) -> list[int]:
    return [variable.n_states for variable in network.variables]


def polytree(seed: int) -> bntk.BayesianNetwork:
    """A random network of up to seven variables without loops, some with several parents, some tables with zeros."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    variables = [bntk.Variable(f"x{i}", range(rng.integers(1, 4))) for i in range(n)]
    parents: list[list[bntk.Variable]] = [[] for _ in variables]
    for i in range(1, n):
        if rng.random() < 0.9:
            other = int(rng.integers(i))
            child, parent = (i, other) if rng.random() < 0.5 else (other, i)
            parents[child].append(variables[parent])
    cpts = []
    for variable, above in zip(variables, parents, strict=True):
        values = rng.dirichlet(np.full(variable.n_states, 0.7), size=[p.n_states for p in above] or None)
        if seed % 2:
            values = np.where(values >= values.max(-1, keepdims=True) / 4, values, 0)
        cpts.append(bntk.CPT(variable, values / values.sum(-1, keepdims=True), above))
    return bntk.BayesianNetwork.from_cpts(cpts)


def ring(n: int = 5, strength: float = 0.8) -> LoopyProgram:
    rng = np.random.default_rng(n)
    pairs = [Factor((i, (i + 1) % n), np.exp(strength * rng.normal(size=(3, 3)))) for i in range(n)]
    return LoopyProgram(pairs, [3] * n)


# ---- without loops ---------------------------------------------------------------------------------------------------


@few
@drawn(seeds, ways)
def test_without_loops_beliefs_and_probability_equal_enumeration(seed, way):
    network = polytree(seed)
    likelihood = random_likelihood(seed, cards_of(network))
    expected = given(joint(network), likelihood)
    found = loopy_network(network).calibrate(likelihood, schedule=way[0], damping=way[1], **exactly)
    if expected.sum() == 0:
        assert found.log_z == -math.inf
        assert not found.convergence.converged
        assert all(np.isnan(marginal).all() for marginal in found.marginals)
        return
    assert found.convergence.converged
    assert found.log_z == pytest.approx(math.log(expected.sum()), abs=1e-9)
    for v in range(expected.ndim):
        np.testing.assert_allclose(found.marginal(v), onto(expected, [v]) / expected.sum(), atol=1e-9)


@few
@drawn(seeds, ways)
def test_without_loops_max_product_finds_a_most_probable_explanation(seed, way):
    network = polytree(seed)
    likelihood = random_likelihood(seed, cards_of(network))
    expected = given(joint(network), likelihood)
    states, log_top, _ = loopy_network(network).mpe(likelihood, schedule=way[0], damping=way[1], **exactly)
    if expected.max() == 0:
        assert log_top == -math.inf
        return
    assert log_top == pytest.approx(math.log(expected.max()), abs=1e-9)
    assert expected[tuple(states)] == pytest.approx(expected.max(), rel=1e-9)


def test_ties_are_broken_consistently():
    differ = np.array([[0.0, 1.0], [1.0, 0.0]])
    chain = LoopyProgram([Factor((i, i + 1), differ) for i in range(6)], [2] * 7)
    states, log_top, _ = chain.mpe()
    assert log_top == 0.0
    assert (np.diff(states) != 0).all()


def test_factors_without_variables_and_variables_without_factors_count():
    program = LoopyProgram([Factor((), np.array(3.0)), Factor((0,), np.array([1.0, 3.0]))], [2, 4])
    found = program.calibrate({1: [1, 1, 0, 0]})
    assert found.log_z == pytest.approx(math.log(3 * 4 * 2))
    np.testing.assert_allclose(found.marginal(1), [0.5, 0.5, 0, 0])


# ---- with loops ------------------------------------------------------------------------------------------------------


def test_asia_converges_to_posteriors_that_are_nearly_right():
    network = bntk.datasets.asia()
    exact = compile_network(network)
    for findings in ({}, {"dysp": "yes"}, {"xray": "yes", "smoke": "no"}):
        likelihood = {network.dag.index(name): np.eye(2)[["no", "yes"].index(s)] for name, s in findings.items()}
        found, expected = loopy_network(network).calibrate(likelihood), exact.calibrate(likelihood)
        assert found.convergence.converged
        assert found.log_z == pytest.approx(expected.log_z, abs=0.02)
        for v in range(8):
            np.testing.assert_allclose(found.marginal(v), expected.marginal(v), atol=0.03)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_schedules_and_damping_lead_to_the_same_fixed_point(schedule, damping):
    program = ring()
    reference = program.calibrate({0: [1, 2, 3]}, **exactly)
    found = program.calibrate({0: [1, 2, 3]}, schedule=schedule, damping=damping, **exactly)
    assert found.convergence.converged
    assert found.log_z == pytest.approx(reference.log_z, abs=1e-10)
    np.testing.assert_allclose(found.marginals, reference.marginals, atol=1e-10)


def test_too_few_rounds_are_reported():
    found = ring(strength=3.0).calibrate(max_iter=1, schedule="flooding")
    assert found.convergence.iterations == 1
    assert found.convergence.largest_change > 0
    assert not found.convergence.converged
    assert "NOT converged" in str(found.convergence)


def test_messages_that_oscillate_are_not_taken_for_impossible_evidence():
    clash = np.array([[1e-30, 1.0], [1.0, 1e-30]])  # an odd ring of neighbours that want to differ
    program = LoopyProgram(
        [Factor((i, (i + 1) % 7), clash) for i in range(7)] + [Factor((0,), np.array([0.4, 0.6]))], [2] * 7
    )
    for schedule in SCHEDULES:
        found = program.calibrate(schedule=schedule, max_iter=300)
        assert math.isfinite(found.log_z)
        assert np.isfinite(found.marginals).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_many_messages_to_one_variable_do_not_underflow(schedule):
    n = 2000
    rng = np.random.default_rng(0)
    tables = rng.dirichlet(np.ones(3), size=(n, 2))
    program = LoopyProgram([Factor((0, i + 1), table) for i, table in enumerate(tables)], [2] + [3] * n)
    codes = rng.integers(3, size=n)
    likelihood = {i + 1: np.eye(3)[code] for i, code in enumerate(codes)}
    logs = np.log(tables[np.arange(n), :, codes]).sum(axis=0)
    found = program.calibrate(likelihood, schedule=schedule)
    assert found.log_z == pytest.approx(np.logaddexp(*logs), rel=1e-12)
    assert found.marginal(0)[0] == pytest.approx(1 / (1 + math.exp(logs[1] - logs[0])), abs=1e-12)


# ---- rows ------------------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@drawn(seeds, ways)
def test_rows_have_the_answers_of_single_evidence_sets(seed, way):
    network = random_network(seed, 6, zeros=bool(seed % 2))
    cards = cards_of(network)
    codes = random_rows(seed, cards, n=20)
    program, options = loopy_network(network), {"schedule": way[0], "damping": way[1], "max_iter": 50}
    found = program.marginals_rows(codes, **options)
    for row in range(codes.shape[1]):
        single = program.calibrate(row_likelihood(codes[:, row], cards), **options)
        assert found.log_z[row] == single.log_z or found.log_z[row] == pytest.approx(single.log_z, abs=1e-12)
        assert found.iterations[row] == single.convergence.iterations
        assert found.converged[row] == single.convergence.converged
        for v in range(len(cards)):
            np.testing.assert_allclose(found.marginals[v][row], single.marginal(v), atol=1e-13)


def test_rows_do_not_depend_on_the_number_of_threads():
    network = bntk.datasets.asia()
    codes = random_rows(3, cards_of(network), n=300)
    found = []
    for threads in (1, 3):
        bntk.set_threads(threads)
        try:
            rows = loopy_network(network).marginals_rows(codes, targets=[3, 1])
        finally:
            bntk.set_threads(None)
        found.append(np.hstack(rows.marginals))
    np.testing.assert_array_equal(*found)
    assert found[0].shape == (300, 4)


# ---- labelled --------------------------------------------------------------------------------------------------------


def test_approximate_marginals_say_how_they_were_made():
    found = bntk.datasets.asia().marginals({"dysp": "yes"}, engine="loopy", damping=0.1)
    assert found.engine == "loopy"
    assert found.settings == {"damping": 0.1}
    assert found.converged
    assert "dysp" not in found
    assert "converged after" in repr(found)
    with pytest.raises(ValueError, match="engine must be 'exact', 'auto', 'loopy'"):
        bntk.datasets.asia().marginals(engine="magic")


def test_impossible_evidence_is_refused_by_name():
    with pytest.raises(ImpossibleEvidence, match="tub='yes'"):
        bntk.datasets.asia().marginals({"tub": "yes", "either": "no"}, engine="loopy")


@pytest.mark.parametrize(
    ("option", "message"),
    [({"damping": 1.0}, "damping"), ({"schedule": "random"}, "schedule"), ({"max_iter": 0}, "max_iter")],
)
def test_settings_are_checked(option, message):
    with pytest.raises(ValueError, match=message):
        ring().calibrate(**option)


def test_the_choice_of_engine_gives_its_reason():
    network = random_network(1, 12, max_parents=4, max_states=3)
    everything = {name: network.variable(name).states[0] for name in network.names}
    assert network.marginals(engine="auto").engine == "exact"
    found = network.marginals(engine="auto", max_entries=3)
    assert found.engine == "loopy"
    assert "over the limit of 3 entries" in found.report
    assert "given the evidence" in network.marginals(everything, engine="auto", max_entries=3).report


def test_markov_networks_run_too():
    rng = np.random.default_rng(4)
    factors = [Factor(scope, rng.random([2] * len(scope)) + 0.5) for scope in [(0, 1, 2), (2, 3), (3, 0), (1,)]]
    expected = product(factors, [2] * 4)
    found = LoopyProgram(factors, [2] * 4).calibrate()
    assert found.log_z == pytest.approx(math.log(expected.sum()), abs=0.02)
    for v in range(4):
        np.testing.assert_allclose(found.marginal(v), onto(expected, [v]) / expected.sum(), atol=0.02)


def test_auto_says_which_engine_it_took_and_evidence_can_make_it_exact():
    network = bntk.datasets.asia()
    exact = network.marginals({"xray": "yes", "smoke": "no", "bronc": "no"})
    assert exact.engine == "exact"
    chosen = network.marginals({"xray": "yes"}, engine="auto")
    assert chosen.engine == "exact"
    assert chosen.report.startswith("exact: the cliques have 40 entries")
    # The whole network has 40 entries, given the evidence 24.
    small = network.marginals({"xray": "yes", "smoke": "no", "bronc": "no"}, engine="auto", max_entries=30)
    assert small.engine == "exact"
    assert "given the evidence" in small.report
    assert small.log_probability == pytest.approx(exact.log_probability, abs=1e-12)
    for name in exact:
        np.testing.assert_allclose(small[name].values, exact[name].values, atol=1e-12)
    loopy = network.marginals({"xray": "yes"}, engine="auto", max_entries=10)
    assert loopy.engine == "loopy"
    assert loopy.report.startswith("loopy: the cliques of exact inference are over the limit")
    with pytest.raises(ValueError, match="has no settings"):
        network.marginals(damping=0.5)


def test_samples_given_evidence_have_the_posterior():
    network = bntk.datasets.asia()
    rows = network.sample(20_000, seed=2, given={"dysp": "yes"})
    share = (rows.column("bronc") == 1).mean()
    assert abs(share - network.query("bronc", {"dysp": "yes"})["yes"]) < 5 * np.sqrt(0.25 / 20_000)

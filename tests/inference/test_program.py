"""The exact engine: junction trees for one evidence set and for many rows."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from inference.brute_force import (
    compiled,
    factors_of,
    given,
    onto,
    product,
    random_likelihood,
    random_rows,
    row_likelihood,
)
from random_networks import joint, networks, random_network
from references import oracle_json, read_json, shared, true_network

import bntk
from bntk.errors import TooLargeError
from bntk.inference import choose
from bntk.inference.choose import EngineChoice
from bntk.inference.exact import program as program_module
from bntk.inference.exact import strided
from bntk.inference.exact.junction import JunctionTree
from bntk.inference.exact.program import Factor, compile_factors, compile_network
from bntk.inference.exact.small import SmallEngine

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=40)


def cards_of(network: bntk.BayesianNetwork) -> list[int]:
    return [variable.n_states for variable in network.variables]


def assert_calibrated(program: program_module.Program, whole: np.ndarray, likelihood: dict[int, np.ndarray]) -> None:
    """All answers for one evidence set are those of the enumerated joint, by numpy and by compiled loops."""
    for small in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(choose, "exact_engine", engine_rule(small))
            fresh = program.with_factors(factor.values for factor in program._factors)
            assert_answers(fresh, whole, likelihood)


def engine_rule(small: bool) -> Callable[[JunctionTree], EngineChoice]:
    """Everything by numpy, or nothing; it does not run trees with known variables, which are made for large ones."""
    return lambda tree: EngineChoice("numpy" if small and not tree.known else "strided", "for the test")


def assert_answers(program: program_module.Program, whole: np.ndarray, likelihood: dict[int, np.ndarray]) -> None:
    expected, answer = given(whole, likelihood), program.calibrate(likelihood)
    states, log_top = program.mpe(likelihood)
    if expected.sum() == 0:
        assert answer.log_z == log_top == -math.inf
        assert all(np.isnan(answer.marginal(v)).all() for v in range(whole.ndim))
        assert np.isnan(answer.joint((0,))).all()
        return
    assert answer.log_z == pytest.approx(math.log(expected.sum()), abs=1e-10)
    for v in range(whole.ndim):
        np.testing.assert_allclose(answer.marginal(v), onto(expected, [v]) / expected.sum(), rtol=1e-9, atol=1e-13)
    for clique in program.tree.cliques:
        table = onto(expected, clique) / expected.sum()
        np.testing.assert_allclose(answer.joint(clique), table, rtol=1e-9, atol=1e-13)
    assert log_top == pytest.approx(math.log(expected.max()), abs=1e-10)
    assert expected[tuple(states)] == pytest.approx(expected.max(), rel=1e-10)


# ---- one evidence set ------------------------------------------------------------------------------------------------


@few
@drawn(networks(), seeds)
def test_answers_equal_enumeration_with_hard_set_and_soft_evidence(network, seed):
    assert_calibrated(compiled(network), joint(network), random_likelihood(seed, cards_of(network)))


@settings(max_examples=20)
@drawn(seeds, st.integers(5, 8))
def test_answers_are_the_same_when_evidence_recompiles_and_cliques_are_split(seed, n):
    network = random_network(seed, n, max_parents=4, zeros=bool(seed % 2))
    likelihood = random_likelihood(seed, cards_of(network))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "RECOMPILE_ENTRIES", 0)
        patch.setattr(choose, "WORTH_RECOMPILING", math.inf)
        patch.setattr(choose, "SPLIT_ENTRIES", 8)  # also the room for joints
        patch.setattr(choose, "FOLD_ENTRIES", 0)
        assert_calibrated(compiled(network), joint(network), likelihood)


def test_large_cliques_equal_enumeration_over_any_number_of_threads():
    rng = np.random.default_rng(1)
    cards = [2, 3, 4, 2, 5, 3, 4, 2, 3, 3]  # 51,840 joint states in cliques of several levels, rows and columns
    scopes = [(0, 1, 2, 3, 4), (4, 5, 6, 7, 0), (6, 7, 8, 9, 2), (9, 1, 5)]
    factors = [Factor(scope, rng.random([cards[v] for v in scope])) for scope in scopes]
    whole = product(factors, cards)
    likelihood = {3: np.array([0.0, 1.0]), 6: np.array([0.1, 0.0, 2.0, 0.3])}
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "exact_engine", engine_rule(False))
        patch.setattr(choose, "SPLIT_ENTRIES", 64)
        for threads in (1, 3):
            bntk.set_threads(threads)
            try:
                program = compile_factors(factors, cards)
                assert_calibrated(program, whole, likelihood)
                found.append(np.concatenate([program.calibrate(likelihood).marginal(v) for v in range(len(cards))]))
            finally:
                bntk.set_threads(None)
    assert np.array_equal(*found)


@settings(max_examples=30)
@drawn(seeds)
def test_cliques_of_any_shape_equal_enumeration(seed):
    """Cliques of thousands of entries, of all shapes: columns of tables in place, copied and expanded."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 8, rng.integers(5, 8))
    while math.prod(cards.tolist()) > 60_000:
        cards[cards.argmax()] -= 1
    scopes = [tuple(rng.permutation(cards.size)[: rng.integers(1, cards.size + 1)].tolist()) for _ in range(5)]
    factors = [Factor(scope, rng.random([cards[v] for v in scope])) for scope in scopes]
    factors = [Factor(f.variables, f.values * (rng.random(f.values.shape) < 0.9)) for f in factors]
    likelihood = random_likelihood(seed, cards.tolist())
    for split in (64, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(choose, "exact_engine", engine_rule(False))
            patch.setattr(choose, "SPLIT_ENTRIES", split)
            patch.setattr(choose, "FOLD_ENTRIES", 0)
            program = compile_factors(factors, cards.tolist())
            assert_calibrated(program, product(factors, cards.tolist()), likelihood)


@settings(max_examples=20)
@drawn(seeds)
def test_the_probability_of_evidence_sends_messages_inwards_only(seed):
    network = random_network(seed, 6)
    program = compile_network(network)
    likelihood = random_likelihood(seed, cards_of(network))
    expected = given(joint(network), likelihood).sum()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "exact_engine", engine_rule(False))
        patch.setattr(strided.StridedEngine, "distribute", lambda *_: pytest.fail("messages were sent outwards"))
        assert math.exp(program.calibrate(likelihood).log_z) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("small", [True, False])
def test_most_probable_states_are_the_lowest_of_equals(small, monkeypatch):
    monkeypatch.setattr(choose, "exact_engine", engine_rule(small))
    flat = Factor((0, 1, 2), np.ones((2, 3, 2)))
    program = compile_factors([flat], [2, 3, 2])
    assert program.mpe()[0].tolist() == [0, 0, 0]
    assert program.mpe({1: [0, 1, 1]})[0].tolist() == [0, 1, 0]
    codes = np.array([[2, 1], [3, 3], [2, 2]], dtype=np.uint8)
    assert program.mpe_rows(codes)[0].T.tolist() == [[0, 0, 0], [1, 0, 0]]


def test_joint_targets_share_a_clique_when_asked_to():
    network = bntk.datasets.asia()
    ends = (network.dag.index("asia"), network.dag.index("dysp"))
    program = compile_network(network, must_share=[ends])
    expected = onto(joint(network), ends)
    np.testing.assert_allclose(program.calibrate().joint(ends), expected, atol=1e-14)
    np.testing.assert_allclose(program.calibrate().joint(ends[::-1]), expected.T, atol=1e-14)


@few
@drawn(networks(), seeds)
def test_pruned_programs_have_the_posteriors_of_their_targets(network, seed):
    rng = np.random.default_rng(seed)
    cards, n = cards_of(network), len(network.names)
    roles = rng.integers(3, size=n)
    targets, evidence = np.flatnonzero(roles == 0).tolist(), np.flatnonzero(roles == 1).tolist()
    likelihood = {v: np.eye(cards[v])[rng.integers(cards[v])] for v in evidence}
    expected = given(joint(network), likelihood)
    if expected.sum() == 0:
        return
    answer = compile_network(network, targets=targets, evidence=evidence).calibrate(likelihood)
    for target in targets:
        np.testing.assert_allclose(answer.marginal(target), onto(expected, [target]) / expected.sum(), atol=1e-12)


def test_markov_networks_with_loops_equal_enumeration():
    rng = np.random.default_rng(7)
    position = np.arange(16).reshape(4, 4)
    pairs = [*zip(position[:, :-1].ravel(), position[:, 1:].ravel()), *zip(position[:-1].ravel(), position[1:].ravel())]
    factors = [Factor((int(a), int(b)), np.exp(rng.normal(size=(2, 2)) * 5)) for a, b in pairs]
    factors += [Factor((int(v),), np.exp(rng.normal(size=2))) for v in range(16)]
    assert_calibrated(compile_factors(factors, [2] * 16), product(factors, [2] * 16), {5: np.array([1.0, 0.0])})


def test_variables_without_factors_are_uniform():
    program = compile_factors([Factor((0,), np.array([1.0, 3.0]))], [2, 4])
    np.testing.assert_allclose(program.calibrate().marginal(1), np.full(4, 0.25))
    assert program.calibrate().log_z == pytest.approx(math.log(16))


def test_small_trees_are_run_by_numpy_and_others_by_compiled_loops():
    assert isinstance(compile_network(bntk.datasets.asia()).engine, SmallEngine)
    long, cards = hidden_chain(100)
    assert isinstance(compile_factors(long, cards).engine, strided.StridedEngine)
    wide = Factor(tuple(range(15)), np.ones([2] * 15))
    assert isinstance(compile_factors([wide], [2] * 15).engine, strided.StridedEngine)
    constants = [Factor((v, v + 1), np.ones((1, 1))) for v in range(40)] + [Factor((0, 40), np.ones((1, 1)))]
    all_in_one = compile_factors(constants, [1] * 41, must_share=[tuple(range(41))])
    assert all_in_one.calibrate().marginal(3).tolist() == [1.0]  # more axes than an array can have


def test_no_variables_at_all_have_probability_one():
    assert compile_factors([], []).calibrate().log_z == 0
    assert compile_factors([Factor((), np.array(0.5))], [3]).calibrate().log_z == pytest.approx(math.log(1.5))


# ---- long networks ---------------------------------------------------------------------------------------------------


def hidden_chain(n: int) -> tuple[list[Factor], list[int]]:
    step = np.array([[0.95, 0.05], [0.1, 0.9]])
    factors = [Factor((0,), np.array([0.5, 0.5])), *(Factor((i, i + 1), step) for i in range(n - 1))]
    return factors, [2] * n


def test_a_chain_of_thousands_of_variables_does_not_underflow():
    n = 4_000
    factors, cards = hidden_chain(n)
    weak = {v: np.array([1e-3, 2e-3]) for v in range(0, n, 2)}
    program = compile_factors(factors, cards, tries=0, heuristics=("min_degree",))
    log_z, message = 0.0, factors[0].values
    for v in range(n):  # the forward algorithm
        message = message * weak.get(v, 1.0)
        log_z += math.log(message.sum())
        message = message / message.sum()
        if v < n - 1:
            message = message @ factors[1].values
    answer = program.calibrate(weak)
    assert answer.log_z == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(answer.marginal(n - 1), message, atol=1e-12)
    codes = np.full((n, 1), 2, dtype=np.uint8)
    codes[::2] = 1
    hard = {v: np.array([0.0, 1.0]) for v in range(0, n, 2)}
    assert program.log_z_rows(codes)[0] == pytest.approx(program.calibrate(hard).log_z, rel=1e-12)


def test_thousands_of_children_of_one_variable_do_not_underflow():
    n = 4_000
    child = np.array([[0.52, 0.48], [0.48, 0.52]])
    factors = [Factor((0,), np.array([0.3, 0.7])), *(Factor((0, v), child) for v in range(1, n))]
    program = compile_factors(factors, [2] * n, tries=0, heuristics=("min_degree",))
    codes = np.zeros((n, 2), dtype=np.uint8)
    codes[1::2] = 1
    codes[0] = 2
    codes[0, 1] = 0
    ones = np.array([codes[1:, 0].sum(), (codes[1:, 0] == 0).sum()])
    log = np.log([0.3, 0.7]) + ones @ np.log(child[:, [1, 0]]).T
    assert program.log_z_rows(codes)[0] == pytest.approx(np.logaddexp(*log), rel=1e-12)
    expected = np.exp(log - np.logaddexp(*log))
    np.testing.assert_allclose(program.posterior_rows(codes, 0), [expected, [1, 0]], atol=1e-10)
    answer = program.calibrate(row_likelihood(codes[:, 0], [2] * n))
    np.testing.assert_allclose(answer.marginal(0), expected, atol=1e-10)


# ---- rows ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lane_entries", [2**17, 0], ids=["side by side", "row by row"])
@settings(max_examples=25)
@drawn(network=networks(), seed=seeds)
def test_rows_equal_enumeration(lane_entries, network, seed):
    cards, whole = cards_of(network), joint(network)
    program, codes = compiled(network), random_rows(seed, cards)
    target = seed % len(cards)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "LANE_ENTRIES", lane_entries)
        log_z, marginals = program.log_z_rows(codes), program.marginals_rows(codes)
        filled, log_top = program.mpe_rows(codes)
        single = program.posterior_rows(codes, target)
    assert [marginal.shape for marginal in marginals] == [(codes.shape[1], card) for card in cards]
    for row in range(codes.shape[1]):
        expected = given(whole, row_likelihood(codes[:, row], cards))
        if expected.sum() == 0:
            assert log_z[row] == log_top[row] == -math.inf
            assert np.isnan(single[row]).all()
            assert all(np.isnan(marginal[row]).all() for marginal in marginals)
            assert np.array_equal(filled[:, row], codes[:, row])
            continue
        assert log_z[row] == pytest.approx(math.log(expected.sum()), abs=1e-10)
        for v, marginal in enumerate(marginals):
            np.testing.assert_allclose(marginal[row], onto(expected, [v]) / expected.sum(), atol=1e-12)
        np.testing.assert_allclose(single[row], marginals[target][row], atol=1e-12)
        assert log_top[row] == pytest.approx(math.log(expected.max()), abs=1e-10)
        assert expected[tuple(filled[:, row])] == pytest.approx(expected.max(), rel=1e-10)


@pytest.mark.parametrize("lane_entries", [2**17, 0], ids=["side by side", "row by row"])
@settings(max_examples=15)
@drawn(network=networks(), seed=seeds)
def test_expected_counts_are_sums_of_posteriors(lane_entries, network, seed):
    cards, whole = cards_of(network), joint(network)
    program = compiled(network)
    codes, families = random_rows(seed, cards), [factor.variables for factor in factors_of(network)]
    weights = np.random.default_rng(seed).integers(0, 3, codes.shape[1]).astype(float)
    expected, log_likelihood = [np.zeros([cards[v] for v in family]) for family in families], 0.0
    for row, weight in zip(codes.T, weights, strict=True):
        possible = given(whole, row_likelihood(row, cards))
        if weight == 0:
            continue
        log_likelihood += weight * math.log(possible.sum()) if possible.sum() > 0 else -math.inf
        if possible.sum() > 0:
            for table, family in zip(expected, families, strict=True):
                table += weight * onto(possible, family) / possible.sum()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "LANE_ENTRIES", lane_entries)
        counts, found = program.expected_counts(codes, families, weights)
    assert found == pytest.approx(log_likelihood, rel=1e-10)
    for table, reference in zip(counts, expected, strict=True):
        np.testing.assert_allclose(table, reference, atol=1e-9)


def test_counts_of_complete_rows_are_plain_counts():
    network = bntk.datasets.asia()
    table = network.sample(500, seed=3)
    families = [factor.variables for factor in factors_of(network)]
    counts, log_likelihood = compile_network(network).expected_counts(table.codes, families)
    for family, found in zip(families, counts, strict=True):
        plain = np.zeros(found.shape)
        np.add.at(plain, tuple(table.codes[list(family)]), 1)
        np.testing.assert_allclose(found, plain, atol=1e-9)
    assert log_likelihood == pytest.approx(network.log_likelihood(table), rel=1e-12)


def test_rows_do_not_depend_on_the_number_of_threads_nor_on_their_order():
    network = random_network(11, n=9, zeros=True)
    codes = random_rows(5, cards_of(network), n=5000)
    families = [factor.variables for factor in factors_of(network)]
    order = np.random.default_rng(0).permutation(codes.shape[1])
    results = []
    for threads in (1, 2, 5):
        bntk.set_threads(threads)
        try:
            program = compiled(network)
            counts = np.concatenate([table.ravel() for table in program.expected_counts(codes, families)[0]])
            results.append((program.posterior_rows(codes, 2), program.log_z_rows(codes), counts))
        finally:
            bntk.set_threads(None)
    for other in results[1:]:
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(results[0], other, strict=True))
    shuffled = program.posterior_rows(codes[:, order], 2)
    assert np.array_equal(shuffled, results[0][0][order], equal_nan=True)


def test_an_empty_table_has_empty_answers():
    program = compile_network(bntk.datasets.asia())
    codes = np.empty((8, 0), dtype=np.uint8)
    assert program.posterior_rows(codes, 3).shape == (0, 2)
    assert program.log_z_rows(codes).shape == (0,)
    assert program.mpe_rows(codes)[0].shape == (8, 0)
    counts, log_likelihood = program.expected_counts(codes, [(0,)])
    assert counts[0].tolist() == [0, 0]
    assert log_likelihood == 0


def test_other_numbers_in_the_same_program():
    first, second = random_network(4, n=6), random_network(4, n=6)
    tables = [np.random.default_rng(1).dirichlet(np.ones(t.values.shape[-1]), t.values.shape[:-1]) for t in first.cpts]
    second = bntk.BayesianNetwork(first.dag, [bntk.CPT(c.child, t, c.parents) for c, t in zip(first.cpts, tables)])
    program = compiled(first).with_factors([cpt.values for cpt in second.cpts])
    assert_calibrated(program, joint(second), {})


# ---- plans and limits ------------------------------------------------------------------------------------------------


def test_a_plan_counts_entries_and_names_the_largest_clique():
    factors = [Factor((0, 1), np.ones((2, 3))), Factor((1, 2), np.ones((3, 4)))]
    plan = compile_factors(factors, [2, 3, 4], names=["a", "b", "c"]).plan
    assert (plan.n_cliques, plan.total_entries, plan.largest_entries) == (2, 18, 12)
    assert plan.largest_clique == ("b", "c")
    assert plan.separator_entries == 4
    assert "18 entries" in str(plan)
    assert repr(plan) == str(plan)


def test_too_large_a_program_is_refused_with_numbers_and_ways_out():
    n = 60
    factors = [Factor((i, j), np.ones((2, 2))) for i in range(n) for j in range(i)]
    with pytest.raises(TooLargeError, match=r"1,152,921,504,606,846,976 entries(.|\n)*loopy belief propagation"):
        compile_factors(factors, [2] * n)


def test_programs_are_kept_with_the_network_and_not_pickled():
    network = bntk.datasets.asia()
    assert compile_network(network) is compile_network(network)
    assert compile_network(network, targets=[0]) is not compile_network(network)
    with pytest.raises(TooLargeError, match="more than the 10 clique entries"):
        compile_network(network, max_entries=10)
    assert pickle.loads(pickle.dumps(network)) == network


# ---- numbers that we did not compute ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mixed", "net8"])
def test_answers_equal_grain(name):
    network, reference = true_network(name), oracle_json(f"{name}_grain")
    for query in [{"evidence": {}, "marginals": reference["no_evidence"]}, *reference["queries"]]:
        known = {network.dag.index(v): network.variable(v).states.index(x) for v, x in query["evidence"].items()}
        likelihood = {v: np.eye(network.variables[v].n_states)[x] for v, x in known.items()}
        pair = [network.dag.index(v) for v in query["joint"]["vars"]] if "joint" in query else []
        answer = compile_network(network, must_share=[tuple(pair)] if pair else []).calibrate(likelihood)
        assert math.exp(answer.log_z) == pytest.approx(query.get("pEvidence", 1.0), rel=1e-9)
        for variable, values in query["marginals"].items():
            np.testing.assert_allclose(answer.marginal(network.dag.index(variable)), values, atol=1e-9)
        if pair:
            values = np.reshape(query["joint"]["values_colmajor"], query["joint"]["dim"], order="F")
            np.testing.assert_allclose(answer.joint(pair), values, atol=1e-9)


@pytest.mark.parametrize("name", ["asia", "insurance", "alarm"])
def test_answers_on_well_known_networks_equal_grain(name):
    reference = read_json(shared(f"oracle/grain/{name}.json"))
    network = bntk.load(shared(f"oracle/bnlearn/{name}_bayes_iss10.bif"))
    program = compile_network(network)
    cards = cards_of(network)
    for query in [{"evidence": {}, "marginals": reference["no_evidence"]}, *reference["queries"]]:
        row = np.array(cards, dtype=np.uint8)
        for variable, state in query["evidence"].items():
            row[network.dag.index(variable)] = _state(network, variable, state)
        answer = program.calibrate(row_likelihood(row, cards))
        rows = program.marginals_rows(row[:, None])
        assert math.exp(answer.log_z) == pytest.approx(query.get("pEvidence", 1.0), rel=1e-8)
        for variable, states in query["marginals"].items():
            v = network.dag.index(variable)
            expected = np.empty(cards[v])
            for state, p in states.items():
                expected[_state(network, variable, state)] = p
            np.testing.assert_allclose(answer.marginal(v), expected, atol=1e-9)
            np.testing.assert_allclose(rows[v][0], expected, atol=1e-9)


def _state(network: bntk.BayesianNetwork, variable: str, state: str) -> int:
    return [str(s) for s in network.variable(variable).states].index(state)

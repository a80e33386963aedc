"""Numbers whose products are too small for a float: every engine equals enumeration in extended precision."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import examples
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from inference.extended import (
    Extended,
    assert_equal,
    assert_same_log,
    extended_joint,
    given,
    needs_extended,
    onto,
    row_likelihood,
    tiny_network,
)

import bntk
from bntk.inference.engines import Evidence
from bntk.inference.exact.lanes import LaneEngine
from bntk.inference.exact.program import compile_network
from bntk.inference.exact.small import SmallEngine
from bntk.inference.exact.strided import StridedEngine
from bntk.inference.exact.strided_rows import StridedRows
from bntk.inference.rows import log_joint_rows, log_probability_rows, posterior_rows
from bntk.learning.em import IncompleteRows
from bntk.learning.priors import as_prior

few = settings(max_examples=examples(20, 40), deadline=None)
seeds = st.integers(0, 2**32 - 1)
leasts = st.sampled_from([1e-300, 1e-120, 1e-60])


def cards_of(bn: bntk.BayesianNetwork) -> list[int]:
    return [v.n_states for v in bn.variables]


def some_rows(bn: bntk.BayesianNetwork, seed: int, n: int = 20) -> np.ndarray:
    """Codes of uniformly drawn rows with missing cells."""
    rng = np.random.default_rng(seed)
    columns = [np.where(rng.random(n) < 0.4, card, rng.integers(card, size=n)) for card in cards_of(bn)]
    return np.array(columns, dtype=np.uint8)


@needs_extended
@pytest.mark.parametrize("kind", [SmallEngine, StridedEngine])
@few
@drawn(seeds, leasts)
def test_one_evidence_set(kind: Any, seed: int, least: float) -> None:
    bn, rng = tiny_network(seed, least=least), np.random.default_rng(seed)
    cards, program = cards_of(bn), compile_network(bn)
    likelihood = {}
    for v, card in enumerate(cards):
        chance = rng.random()
        if chance < 0.35:
            likelihood[v] = np.eye(card)[rng.integers(card)]
        elif chance < 0.45:
            likelihood[v] = least ** rng.random(card) / least ** rng.random()
    joint, evidence = given(extended_joint(bn), likelihood), Evidence.of(likelihood, len(cards))
    tables, log_constant = program._scaled
    engine = kind(program.tree, tables)
    run = engine.calibrate(evidence)
    states, log_top = engine.mpe(evidence)
    assert_same_log(run.log_z + log_constant, joint.sum())
    assert_same_log(log_top + log_constant, joint.max())
    if not joint.any():
        return
    assert joint[tuple(states)] >= joint.max() * (1 - 1e-9)
    for v in range(len(cards)):
        assert_equal(run.marginal(v), onto(joint, (v,)))
    for clique in program.tree.cliques:
        scope = tuple(v for v in clique if evidence.observed[v] < 0)
        if scope:
            assert_equal(run.joint(scope), onto(joint, scope))


@needs_extended
@pytest.mark.parametrize("kind", [LaneEngine, StridedRows])
@few
@drawn(seeds, leasts)
def test_many_rows(kind: Any, seed: int, least: float) -> None:
    bn = tiny_network(seed, least=least)
    cards, program, codes = cards_of(bn), compile_network(bn), some_rows(bn, seed)
    tables, log_constant = program._scaled
    outputs = program._outputs([*((v,) for v in range(len(cards))), *program.tree.cliques])
    ends = np.cumsum([program.tree.entries(output.scope) for output in outputs])
    engine, whole = kind(program.tree, tables, (), outputs), extended_joint(bn)
    found, log_z = engine.run(codes)
    filled, log_top = engine.explain(codes)
    expected_counts = np.zeros(ends[-1], Extended)
    for i, row in enumerate(codes.T):
        joint = given(whole, row_likelihood(row, cards))
        assert_same_log(log_z[i] + log_constant, joint.sum())
        assert_same_log(log_top[i] + log_constant, joint.max())
        if not joint.any():
            assert np.isnan(found[i]).all()
            continue
        assert joint[tuple(filled[:, i])] >= joint.max() * (1 - 1e-9)
        parts = [onto(joint, output.scope).ravel() for output in outputs]
        assert_equal(found[i], np.concatenate(parts))
        expected_counts += np.concatenate(parts)
    counts, _ = engine.count(codes, np.ones(codes.shape[1]))
    assert_equal(counts, expected_counts)


@needs_extended
@few
@drawn(seeds, leasts)
def test_rows_by_elimination(seed: int, least: float) -> None:
    bn = tiny_network(seed, 7, least)
    cards, codes, whole = cards_of(bn), some_rows(bn, seed), extended_joint(bn)
    target = int(np.random.default_rng(seed).integers(len(cards)))
    log_z = log_probability_rows(bn, codes)
    log_joint, posterior = log_joint_rows(bn, codes.copy(), target), posterior_rows(bn, codes, target)
    for i, row in enumerate(codes.T):
        assert_same_log(log_z[i], given(whole, row_likelihood(row, cards)).sum())
        others = np.where(np.arange(len(cards)) == target, cards[target], row)
        joint = given(whole, row_likelihood(others, cards))
        by_state = joint.sum(axis=tuple(a for a in range(joint.ndim) if a != target))
        for state, expected in enumerate(by_state):
            assert_same_log(log_joint[i, state], expected)
        if joint.any():
            assert_equal(posterior[i], by_state / by_state.sum())
        else:
            assert np.isnan(posterior[i]).all()


@needs_extended
@few
@drawn(seeds, leasts)
def test_expected_counts(seed: int, least: float) -> None:
    bn, rng = tiny_network(seed, 7, least), np.random.default_rng(seed)
    cards, codes, whole = cards_of(bn), some_rows(bn, seed), extended_joint(bn)
    codes = codes[:, log_probability_rows(bn, codes) > -math.inf]
    if not codes.size:
        return
    weights = rng.integers(1, 4, codes.shape[1]).astype(float)
    table = bntk.Table.from_codes(codes, bn.variables)
    counts, log_z = IncompleteRows(bn.dag, table, weights, as_prior(1.0)).expect([cpt.values for cpt in bn.cpts])
    families = [(*parents, v) for v, parents in enumerate(bn.dag.parent_indices)]
    expected, total = [np.zeros(cpt.values.shape, Extended) for cpt in bn.cpts], Extended(0)
    for row, weight in zip(codes.T, weights, strict=True):
        joint = given(whole, row_likelihood(row, cards))
        total += weight * np.log(joint.sum())
        for family, part in zip(families, expected, strict=True):
            part += weight * onto(joint, family)
    assert log_z == pytest.approx(float(total), rel=1e-9)
    for found, part in zip(counts, expected, strict=True):
        np.testing.assert_allclose(found, part.astype(float), rtol=1e-9, atol=1e-14)


@needs_extended
@few
@drawn(seeds, leasts, st.sampled_from(["exact", "loopy"]))
def test_queries_by_name(seed: int, least: float, engine: Any) -> None:
    bn, rng = tiny_network(seed, least=least), np.random.default_rng(seed)
    seen = {int(v): int(rng.integers(cards_of(bn)[v])) for v in rng.choice(6, size=2, replace=False)}
    joint = given(extended_joint(bn), {v: np.eye(cards_of(bn)[v])[state] for v, state in seen.items()})
    findings = {bn.names[v]: f"s{state}" for v, state in seen.items()}
    open_ones = [v for v in range(6) if v not in seen]
    if not joint.any():
        with pytest.raises(bntk.errors.ImpossibleEvidence):
            bn.query([bn.names[v] for v in open_ones[:2]], findings, engine=engine)
        return
    if engine == "exact":
        pair = tuple(open_ones[:2])
        assert_equal(bn.query([bn.names[v] for v in pair], findings).values, onto(joint, pair))
        assert_same_log(bn.log_probability(findings), joint.sum())
        best = bn.map([bn.names[v] for v in open_ones[:2]], findings)
        assert best.probability == pytest.approx(float(onto(joint, pair).max()), rel=1e-9)
        explained = bn.mpe(findings)
        states = [seen[v] if v in seen else bn.variables[v].code(explained[bn.names[v]]) for v in range(6)]
        assert joint[tuple(states)] >= joint.max() * (1 - 1e-9)
    elif _is_tree(bn.dag):
        for v in open_ones:
            assert_equal(bn.query(bn.names[v], findings, engine="loopy", tolerance=0.0).values, onto(joint, (v,)))


def _is_tree(dag: bntk.DAG) -> bool:
    return len(dag.arcs) < len(dag.nodes) and all(len(parents) < 2 for parents in dag.parent_indices)


def naive(n: int, rows: list[list[float]], prior: list[float]) -> bntk.BayesianNetwork:
    """A class with n features, all with the same table."""
    target = bntk.Variable("c", [f"s{k}" for k in range(len(prior))])
    features = [bntk.Variable(f"f{i}", ["s0", "s1"]) for i in range(n)]
    dag = bntk.DAG(["c", *(f.name for f in features)], [("c", f.name) for f in features])
    return bntk.BayesianNetwork(dag, [bntk.CPT(target, prior), *(bntk.CPT(f, rows, [target]) for f in features)])


@pytest.mark.parametrize("engine", ["exact", "loopy", "weighting"])
def test_three_features_of_a_tiny_probability(engine: Any) -> None:
    bn = naive(3, [[1e-120, 1.0], [2e-120, 1.0]], [0.5, 0.5])
    seen = {f"f{i}": "s0" for i in range(3)}
    expected = 3 * math.log(1e-120) + math.log(4.5)
    assert bn.log_probability(seen, engine=engine) == pytest.approx(
        expected, rel=1e-4 if engine == "weighting" else 1e-12
    )
    if engine != "weighting":
        np.testing.assert_allclose(bn.query("c", seen, engine=engine).values, [1 / 9, 8 / 9], rtol=1e-9)
    rows = bntk.Table.from_codes(np.array([[2], [0], [0], [0]]), bn.variables)
    np.testing.assert_allclose(bn.posterior(rows, "c").to_numpy(), [[1 / 9, 8 / 9]], rtol=1e-9)
    assert bn.impute(rows).codes[0, 0] == bn.impute(rows, "mode").codes[0, 0] == 1
    assert bn.row_log_likelihood(rows)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("entry", [0.3, 1e-20, 1e-300, 5e-324])
def test_thousands_of_findings(entry: float) -> None:
    """Each half of the findings speaks for one of two states, and one more finding for the first."""
    n = 1000
    target = bntk.Variable("c", ["s0", "s1", "never"])
    features = [bntk.Variable(f"f{i}", ["s0", "s1"]) for i in range(n + 1)]
    this = [[entry, 1 - entry], [2 * entry, 1 - 2 * entry], [0.0, 1.0]]
    that, last = [this[1], this[0], this[2]], [[0.6, 0.4], [0.2, 0.8], [1.0, 0.0]]
    tables = [this if i % 2 else that for i in range(n)] + [last]
    cpts = [bntk.CPT(f, table, [target]) for f, table in zip(features, tables, strict=True)]
    dag = bntk.DAG(["c", *(f.name for f in features)], [("c", f.name) for f in features])
    bn = bntk.BayesianNetwork(dag, [bntk.CPT(target, [0.5, 0.25, 0.25]), *cpts])
    seen = {f.name: "s0" for f in features}
    weights = [Fraction(0.5) * Fraction(0.6), Fraction(0.25) * Fraction(0.2)]  # both times the same product
    log_z = n // 2 * (math.log(entry) + math.log(2 * entry)) + math.log(float(sum(weights)))
    expected = [float(w / sum(weights)) for w in weights] + [0.0]
    np.testing.assert_allclose(bn.query("c", seen).values, expected, rtol=1e-9)
    assert bn.log_probability(seen) == pytest.approx(log_z, rel=1e-12)
    assert [*bn.mpe(seen).values()] == ["s0"]
    rows = bntk.Table.from_codes(np.array([[3], *[[0]] * (n + 1)]), bn.variables)
    np.testing.assert_allclose(bn.posterior(rows, "c").to_numpy()[0], expected, rtol=1e-9)
    assert bn.row_log_likelihood(rows)[0] == pytest.approx(log_z, rel=1e-12)
    assert bn.impute(rows).codes[0, 0] == 0


@needs_extended
@pytest.mark.parametrize("engine", ["weighting", "gibbs"])
def test_samplers_do_not_lose_states(engine: Any) -> None:
    """Two features exclude the first state but for 1e-600, two others the second: together they say nothing."""
    target = bntk.Variable("c", ["s0", "s1"])
    features = [bntk.Variable(f"f{i}", ["s0", "s1"]) for i in range(4)]
    this, that = [[1e-300, 1.0], [1.0, 0.0]], [[1.0, 0.0], [1e-300, 1.0]]
    cpts = [bntk.CPT(f, table, [target]) for f, table in zip(features, (this, this, that, that), strict=True)]
    dag = bntk.DAG(["c", *(f.name for f in features)], [("c", f.name) for f in features])
    bn = bntk.BayesianNetwork(dag, [bntk.CPT(target, [0.25, 0.75]), *cpts])
    found = bn.query("c", {f.name: "s0" for f in features}, engine=engine, n=20_000)
    np.testing.assert_allclose(found.values, [0.25, 0.75], atol=0.02)


@pytest.mark.parametrize("engine", ["exact", "loopy", "weighting", "gibbs"])
def test_likelihoods_whose_ratio_is_beyond_floats(engine: Any) -> None:
    """A table that allows the second state with 1e-300 alone, and a likelihood that speaks against it by 1e-600."""
    cause, effect = bntk.Variable("x", ["a", "b"]), bntk.Variable("y", ["s0", "s1", "s2"])
    cpts = [bntk.CPT(cause, [0.5, 0.5]), bntk.CPT(effect, [[0.0, 1e-300, 1.0], [0.0, 3e-300, 1.0]], [cause])]
    bn = bntk.BayesianNetwork(bntk.DAG(["x", "y"], [("x", "y")]), cpts)
    options = {"n": 20_000} if engine in ("weighting", "gibbs") else {}
    found = bn.query("x", soft={"y": [1e300, 1e-300, 0.0]}, engine=engine, **options)
    np.testing.assert_allclose(found.values, [0.25, 0.75], rtol=1e-9 if not options else 0.05)


@needs_extended
@pytest.mark.parametrize("least", [1e-3, 1e-300])
def test_small_differences_after_thousands_of_findings(least: float) -> None:
    """The states of the class differ by a percent in each feature, whose probabilities are tiny in both."""
    rng, n = np.random.default_rng(1), 1000
    entries = 0.4 * least ** rng.random(n)
    others = entries * np.exp(0.01 * rng.normal(size=n))
    target = bntk.Variable("c", ["s0", "s1"])
    features = [bntk.Variable(f"f{i}", ["s0", "s1"]) for i in range(n)]
    pairs = zip(features, entries, others, strict=True)
    cpts = [bntk.CPT(f, [[a, 1 - a], [b, 1 - b]], [target]) for f, a, b in pairs]
    dag = bntk.DAG(["c", *(f.name for f in features)], [("c", f.name) for f in features])
    bn = bntk.BayesianNetwork(dag, [bntk.CPT(target, [0.5, 0.5]), *cpts])
    scores = np.sum([np.log(cpt.values[:, 0].astype(Extended)) for cpt in bn.cpts[1:]], axis=0)
    expected = np.exp(scores - scores.max())
    expected /= expected.sum()
    rows = bntk.Table.from_codes(np.array([[2], *[[0]] * n]), bn.variables)
    assert_equal(bn.query("c", {f.name: "s0" for f in features}).values, expected)
    assert_equal(bn.posterior(rows, "c").to_numpy()[0], expected)
    log_joint = log_joint_rows(bn, rows.codes, 0)[0]
    assert_equal(np.exp(log_joint - log_joint.max()) / np.exp(log_joint - log_joint.max()).sum(), expected)

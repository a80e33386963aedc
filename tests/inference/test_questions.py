"""Questions that are answered by summing out, without a junction tree: they equal enumeration, and pyAgrum."""

from __future__ import annotations

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from inference import extended
from inference.brute_force import given, onto, random_likelihood
from random_networks import joint, random_network

import bntk
from bntk.errors import ImpossibleEvidence, TooLargeError
from bntk.inference import choose
from bntk.inference.engines import Evidence
from bntk.inference.exact.questions import Questions

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=150, deadline=None)
NO_LIMIT = 1 << 62


def case(seed: int) -> tuple[bntk.BayesianNetwork, Evidence, list[int], np.ndarray]:
    """A network, evidence of all kinds, some open variables, and the joint distribution with the evidence."""
    rng = np.random.default_rng(seed)
    bn = random_network(seed, int(rng.integers(1, 8)), zeros=bool(seed % 2))
    cards = [v.n_states for v in bn.variables]
    likelihood = {v: vector for v, vector in random_likelihood(seed, cards).items() if vector.any()}
    evidence = Evidence.of(likelihood, len(cards))
    open_ones = rng.permutation(np.flatnonzero(evidence.observed < 0)).tolist()
    return bn, evidence, open_ones, given(joint(bn), likelihood)


@few
@drawn(seeds, st.integers(1, 3))
def test_joint_posteriors_equal_enumeration(seed: int, n_targets: int) -> None:
    bn, evidence, open_ones, expected = case(seed)
    targets = open_ones[:n_targets]
    if not targets:
        return
    found = Questions(bn).ask(targets, evidence, NO_LIMIT)
    assert found is not None
    assert (found.log_z > -math.inf) == (expected.sum() > 0)
    if expected.sum() > 0:
        np.testing.assert_allclose(
            found.joint(targets), onto(expected, targets) / expected.sum(), rtol=1e-9, atol=1e-14
        )


@few
@drawn(seeds)
def test_all_posteriors_and_the_probability_equal_enumeration(seed: int) -> None:
    bn, evidence, _, expected = case(seed)
    for targets in ((), None):
        found = Questions(bn).ask(targets, evidence, NO_LIMIT)
        assert found is not None
        if expected.sum() == 0:
            assert found.log_z == -math.inf
            continue
        assert found.log_z == pytest.approx(math.log(expected.sum()), rel=1e-9, abs=1e-9)
        for v in range(len(bn.cpts)) if targets is None else ():
            assert found.marginal(v) == pytest.approx(onto(expected, [v]) / expected.sum(), rel=1e-9, abs=1e-14)


@extended.needs_extended
@few
@drawn(seeds, st.sampled_from([1e-300, 1e-120, 1e-60, 1e-20]))
def test_numbers_that_are_too_small_are_left_to_others_and_never_lost(seed: int, least: float) -> None:
    rng = np.random.default_rng(seed)
    bn = extended.tiny_network(seed, int(rng.integers(2, 10)), least)
    cards = [v.n_states for v in bn.variables]
    seen = rng.choice(len(cards), size=len(cards) // 2, replace=False).tolist()
    likelihood = {v: np.eye(cards[v])[rng.integers(cards[v])] for v in seen}
    whole = extended.given(extended.extended_joint(bn), likelihood)
    evidence, target = Evidence.of(likelihood, len(cards)), next(v for v in range(len(cards)) if v not in seen)
    for targets in ((target,), (), None):
        found = Questions(bn).ask(targets, evidence, NO_LIMIT)
        if found is None:
            continue
        assert (found.log_z > -math.inf) == bool(whole.any())
        if whole.any() and targets != (target,):
            extended.assert_same_log(found.log_z, whole.sum())
        if whole.any() and targets != ():
            for v in targets or range(len(cards)):
                extended.assert_equal(found.marginal(v), extended.onto(whole, (v,)))


@few
@drawn(seeds)
def test_the_plan_has_the_products_that_are_run(seed: int) -> None:
    """Whatever the states are that are observed; at the limit a question is answered, below it is not."""
    bn, evidence, open_ones, _ = case(seed)
    hard = Evidence.of(
        {v: np.eye(bn.variables[v].n_states)[s] for v, s in enumerate(evidence.observed) if s >= 0}, len(bn.cpts)
    )
    questions = Questions(bn)
    for targets in (open_ones[:1], open_ones[:2], [], None):
        plan = questions.plan(targets, hard.observed, NO_LIMIT)
        found = questions.ask(targets, hard, NO_LIMIT)
        assert plan is not None
        assert found is not None
        assert plan.engine == "elimination"
        result = math.prod(bn.variables[v].n_states for v in targets or ())
        if targets is None:  # the order is that of no findings
            assert plan.total_entries <= max(1, found.entries)
        else:
            assert found.entries <= plan.total_entries <= found.entries + result
        assert plan.largest_entries == plan.largest_open <= plan.total_entries
        if targets is not None and found.entries >= result:
            assert questions.ask(targets, hard, found.entries) is not None
        if targets is None:
            assert Questions(bn).plan(None, hard.observed, found.entries) is not None
        if found.entries > 0:
            assert questions.ask(targets, hard, found.entries - 1) is None
            assert questions.plan(targets, hard.observed, found.entries - 1) is None


@settings(max_examples=60, deadline=None)
@drawn(seeds)
def test_by_name_it_equals_a_junction_tree(seed: int) -> None:
    """Queries of every kind, with and without summing out."""
    answers = []
    for by_elimination in (False, True):
        bn = random_network(seed, 7, zeros=True)
        names = [str(name) for name in np.random.default_rng(seed).permutation(bn.names)]
        row = bn.sample(1, seed=seed % 1000).codes[:, 0]
        known = {name: bn.variable(name).states[row[bn.dag.index(name)]] for name in names[:2]}
        soft = {names[2]: np.random.default_rng(seed).random(bn.variable(names[2]).n_states) + 0.1}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(choose, "NUMPY_VARIABLES", -1 if by_elimination else 7)
            patch.setattr(choose, "NUMPY_ENTRIES", 1 << 40)
            patch.setattr(choose, "NUMPY_CLIQUES", 1 << 40)
            found = [
                bn.query(names[3], known, soft).values,
                bn.query(names[2:5], known, soft).values,
                bn.query([names[0], names[4]], known).values,
                bn.query(names[:2], known).values,
                bn.query(names[3], known, soft, engine="auto").values,
                np.array(bn.log_probability(known, soft)),
                *(posterior.values for posterior in bn.marginals(known, soft).values()),
                np.array(bn.marginals(known, soft).log_probability),
                np.array(bn.map(names[3:5], known).probability),
                bn.jeffrey(names[3], {names[4]: np.full(n := bn.variable(names[4]).n_states, 1 / n)}).values
                if bn.query(names[4]).values.all()
                else np.zeros(0),
            ]
            answers.append(found)
    for one, other in zip(*answers, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-13)


def test_findings_that_the_target_does_not_depend_on_are_refused_if_they_are_impossible(monkeypatch) -> None:
    monkeypatch.setattr(choose, "NUMPY_VARIABLES", -1)
    asia = bntk.datasets.asia()
    contradiction = {"tub": "yes", "either": "no"}
    for ask in (lambda: asia.query("smoke", contradiction), lambda: asia.marginals(contradiction)):
        with pytest.raises(ImpossibleEvidence, match="tub='yes', either='no'"):
            ask()
    assert asia.log_probability(contradiction) == -math.inf
    assert asia.query("asia", {"either": "no"}).report == "exact"


def test_many_tables_over_one_variable() -> None:
    """More than are multiplied at once; the log probability has thousands of terms."""
    n = 300
    cause = bntk.Variable("c", ["s0", "s1"])
    effects = [bntk.Variable(f"f{i}", ["s0", "s1"]) for i in range(n)]
    dag = bntk.DAG(["c", *(f.name for f in effects)], [("c", f.name) for f in effects])
    rows = [[0.3, 0.7], [0.31, 0.69]]
    bn = bntk.BayesianNetwork(dag, [bntk.CPT(cause, [0.5, 0.5]), *(bntk.CPT(f, rows, [cause]) for f in effects)])
    for seen in (n // 10, n):
        logs = math.log(0.5) + np.array([seen * math.log(0.3), seen * math.log(0.31)])
        findings = {f.name: "s0" for f in effects[:seen]}
        np.testing.assert_allclose(bn.query("c", findings).values, np.exp(logs) / np.exp(logs).sum(), rtol=1e-9)
        assert bn.log_probability(findings) == pytest.approx(np.logaddexp(*logs), rel=1e-12)
        all_of_them = bn.marginals(findings)
        np.testing.assert_allclose(all_of_them["c"].values, np.exp(logs) / np.exp(logs).sum(), rtol=1e-9)


def test_what_is_too_large_goes_to_a_junction_tree_or_is_refused(monkeypatch) -> None:
    bn = random_network(4, 30, max_parents=4, max_states=4)
    expected = bn.query(bn.names[-1]).values
    monkeypatch.setattr(choose, "QUESTION_ENTRIES", 1)
    np.testing.assert_allclose(bn.query(bn.names[-1]).values, expected, rtol=1e-12)
    with pytest.raises(TooLargeError, match="max_entries"):
        bn.query(bn.names[-1], max_entries=1)


def test_posteriors_are_built_when_they_are_looked_at_and_are_then_the_same() -> None:
    bn = random_network(4, 30, max_parents=2, max_states=3)
    found = bn.marginals({"x3": "s0"})
    assert found["x1"] is found["x1"]
    assert not found["x1"].values.flags.writeable
    assert [*found] == [name for name in bn.names if name != "x3"]
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.log_probability == found.log_probability


def test_threads_ask_at_the_same_time() -> None:
    bn = random_network(5, 40, max_parents=3, max_states=3)
    rows = bn.sample(40, seed=1).codes

    def ask(i: int) -> np.ndarray:
        known = {bn.names[v]: bn.variables[v].states[rows[v, i]] for v in range(i % 7, 40, 9)}
        return bn.query(bn.names[(i % 7 + 1) % 40], known).values

    alone = [ask(i) for i in range(40)]
    with ThreadPoolExecutor(4) as pool:
        for one, other in zip(alone, pool.map(ask, range(40)), strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("certain", [[1.0, 0.0], [0.25, 0.75]])
def test_new_beliefs_may_be_certain(certain: list[float]) -> None:
    bn = bntk.datasets.random_network(30, max_parents=2, seed=4)
    one, other, target = bn.names[3], bn.names[17], bn.names[29]
    second = dict(zip(bn.variable(other).states, [0.4, 0.6], strict=True))
    first = dict(zip(bn.variable(one).states, certain, strict=True))
    found = bn.jeffrey(target, {one: first, other: second})
    # By definition: the mixture over both variables that has these margins and is nearest to the old one.
    joint_of = bn.query([one, other]).values
    for _ in range(2000):
        joint_of = joint_of * (np.array(certain) / np.maximum(joint_of.sum(axis=1), 1e-300))[:, None]
        joint_of = joint_of * np.array([0.4, 0.6]) / joint_of.sum(axis=0)
    given_both = bn.query([one, other, target]).values / bn.query([one, other]).values[:, :, None]
    np.testing.assert_allclose(found.values, np.einsum("ab,abt->t", joint_of, given_both), rtol=1e-8)

"""Impossible findings are refused by every question, and possible ones by none."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import joint, random_network

import bntk
from bntk.errors import DataError, ImpossibleEvidence, ImpossibleRowsWarning
from bntk.inference import choose

Question = Callable[[bntk.BayesianNetwork, list[str], dict[str, Any]], object]

QUESTIONS: dict[str, Question] = {
    "query": lambda bn, targets, given: bn.query(targets[0], given),
    "query of several": lambda bn, targets, given: bn.query(targets, given),
    "query by loopy": lambda bn, targets, given: bn.query(targets[0], given, engine="loopy"),
    "query by auto": lambda bn, targets, given: bn.query(targets, given, engine="auto"),
    "marginals": lambda bn, targets, given: bn.marginals(given),
    "mpe": lambda bn, targets, given: bn.mpe(given),
    "map": lambda bn, targets, given: bn.map(targets, given),
    "jeffrey": lambda bn, targets, given: bn.jeffrey(targets[1], {targets[0]: _belief(bn, targets[0], given)}, given),
    "sample": lambda bn, targets, given: bn.sample(3, given=given),
    "value_of_information": lambda bn, targets, given: bn.value_of_information(targets[0], given),
    "relevant_findings": lambda bn, targets, given: bn.relevant_findings(targets[0], given),
    "sensitivities": lambda bn, targets, given: bn.sensitivities(targets[0], "s0", given),
}  # fmt: skip


def _belief(bn: bntk.BayesianNetwork, name: str, given: dict[str, Any]) -> np.ndarray:
    """A belief that the findings allow, if they are possible."""
    codes = {name: bn.variable(name).code(state) for name, state in given.items()}
    table = joint(bn)[tuple(slice(codes[n], codes[n] + 1) if n in codes else slice(None) for n in bn.names)]
    belief: np.ndarray = table.sum(axis=tuple(a for a, n in enumerate(bn.names) if n != name))
    return belief / belief.sum() if belief.any() else np.full(belief.size, 1 / belief.size)


def _case(seed: int) -> tuple[bntk.BayesianNetwork, list[str], dict[str, Any], bool]:
    """A network with zeros, two targets, findings about others, and whether these are possible."""
    rng = np.random.default_rng(seed)
    bn = random_network(seed, int(rng.integers(3, 8)), max_parents=2, max_states=3, zeros=True)
    names = [str(name) for name in rng.permutation(bn.names)]
    codes = {name: int(rng.integers(bn.variable(name).n_states)) for name in names[2 : 2 + rng.integers(1, 4)]}
    found = joint(bn)[tuple(codes.get(name, slice(None)) for name in bn.names)].sum()
    return bn, names[:2], {name: f"s{code}" for name, code in codes.items()}, bool(found > 0)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("way", ["whole", "pruned", "summed out"])
@settings(max_examples=examples(20, 40), deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_impossible_findings_are_refused_and_possible_ones_answered(question: str, way: str, seed: int) -> None:
    bn, targets, findings, possible = _case(seed)
    with pytest.MonkeyPatch.context() as patch:
        if way == "summed out":
            patch.setattr(choose, "NUMPY_VARIABLES", 0)
        if way == "pruned":  # as in a large network: only the part that the answer depends on is compiled
            patch.setattr(choose, "WHOLE_ENTRIES", 0)
            patch.setattr(choose, "MEDIUM_ENTRIES", 0)
        if possible:
            QUESTIONS[question](bn, targets, findings)
        else:
            with pytest.raises(ImpossibleEvidence):
                QUESTIONS[question](bn, targets, findings)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), engine=st.sampled_from(["exact", "loopy", "weighting"]))
def test_the_probability_of_impossible_findings_is_zero(seed: int, engine: Any) -> None:
    bn, _, findings, possible = _case(seed)
    try:
        found = bn.log_probability(findings, engine=engine)
    except DataError:  # the samplers may find no row that is possible though rare
        assert engine == "weighting"
        return
    assert (found > -math.inf) == possible


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), engine=st.sampled_from(["weighting", "gibbs"]))
def test_samplers_do_not_answer_impossible_findings(seed: int, engine: Any) -> None:
    bn, targets, findings, possible = _case(seed)
    if not possible:
        with pytest.raises((DataError, ImpossibleEvidence)):
            bn.query(targets, findings, engine=engine, n=50)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_impossible_rows_have_no_posterior_and_stay_as_they_are(seed: int) -> None:
    bn, (target, *_), findings, possible = _case(seed)
    row = {name: [findings.get(name)] for name in bn.names}
    table = bntk.Table.from_codes(
        np.array([[bn.variable(n).n_states if s is None else bn.variable(n).code(s)] for n, (s,) in row.items()]),
        bn.variables,
    )
    if possible:
        assert not np.isnan(bn.posterior(table, target).to_numpy()).any()
        assert not bn.impute(table).has_missing.any()
        return
    with pytest.warns(ImpossibleRowsWarning):
        assert np.isnan(bn.posterior(table, target).to_numpy()).all()
    assert bn.row_log_likelihood(table)[0] == -math.inf
    for how in ("mpe", "mode", "sample"):
        with pytest.warns(ImpossibleRowsWarning):
            assert np.array_equal(bn.impute(table, how).codes, table.codes)


def test_findings_that_were_not_looked_at_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "POSSIBLE_ENTRIES", -1)
    x, y, z = (bntk.Variable(name, ["s0", "s1"]) for name in "xyz")
    dag = bntk.DAG(["x", "y", "z"], [])
    bn = bntk.BayesianNetwork(dag, [bntk.CPT(x, [0.5, 0.5]), bntk.CPT(y, [0.5, 0.5]), bntk.CPT(z, [1.0, 0.0])])
    assert "not checked" in bn.query(["x", "y"], {"z": "s0"}).report
    assert "not checked" not in bn.query(["x", "z"], {"z": "s0"}).report
    assert "not checked" not in bn.query(["x", "y"]).report


def test_new_beliefs_do_not_hide_a_contradiction_among_findings() -> None:
    asia = bntk.datasets.asia()
    contradiction = {"tub": "yes", "either": "no"}
    for engine in ("exact", "auto", "loopy", "weighting", "gibbs"):
        with pytest.raises(ImpossibleEvidence, match="tub='yes', either='no'"):
            asia.jeffrey("lung", {"xray": [0.5, 0.5]}, contradiction, engine=engine)
    with pytest.raises(ImpossibleEvidence, match="tub='yes', either='no'"):
        asia.jeffrey("lung", {"xray": [0.5, 0.5], "bronc": [0.2, 0.8]}, contradiction)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_beliefs=st.integers(1, 3))
def test_new_beliefs_equal_proportional_fitting_of_the_joint(seed: int, n_beliefs: int) -> None:
    """Iterative proportional fitting by enumeration, on the joint distribution given the findings."""
    rng = np.random.default_rng(seed)
    bn = random_network(seed, 6, max_parents=2, max_states=3)
    names = [str(name) for name in rng.permutation(bn.names)]
    found, told, targets = names[0], names[1 : 1 + n_beliefs], names[4:]
    state = int(rng.integers(bn.variable(found).n_states))
    fitted = np.zeros([v.n_states for v in bn.variables])
    here = tuple(state if name == found else slice(None) for name in bn.names)
    fitted[here] = joint(bn)[here] / joint(bn)[here].sum()
    beliefs = {name: rng.dirichlet(np.full(bn.variable(name).n_states, 5.0)) for name in told}
    for _ in range(3000):
        before = fitted
        for name, belief in beliefs.items():
            v = bn.names.index(name)
            now = fitted.sum(axis=tuple(a for a in range(fitted.ndim) if a != v))
            fitted = fitted * (belief / now).reshape([-1 if a == v else 1 for a in range(fitted.ndim)])
        if np.abs(fitted - before).max() < 1e-15:
            break
    at = [bn.names.index(name) for name in targets]
    expected = fitted.sum(axis=tuple(a for a in range(fitted.ndim) if a not in at))
    expected = expected.transpose([sorted(at).index(v) for v in at])
    answer = bn.jeffrey(targets, beliefs, {found: bn.variable(found).states[state]})
    np.testing.assert_allclose(answer.values, expected, rtol=1e-7, atol=1e-9)
    for name, belief in beliefs.items():
        own = bn.jeffrey(name, beliefs, {found: bn.variable(found).states[state]})
        np.testing.assert_allclose(own.values, belief, atol=1e-9)

"""Every engine gives the posterior of the enumerated joint, through the protocols; the plan names the one that runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, settings
from hypothesis import given as drawn
from hypothesis import strategies as st
from inference.brute_force import compiled, given, onto, random_likelihood, random_rows, row_likelihood
from random_networks import joint, networks, random_network

import bntk
from bntk.errors import TooLargeError
from bntk.inference import choose
from bntk.inference.approximate.answers import ApproximateRows, approximate_engine
from bntk.inference.approximate.loopy import LoopyProgram
from bntk.inference.choose import Options
from bntk.inference.engines import CountingEngine, Engine, Evidence, RowsEngine
from bntk.inference.exact.junction import Output
from bntk.inference.exact.program import EXACT_ENGINES, ROWS_ENGINES, Program
from bntk.inference.exact.questions import Questions
from bntk.inference.exact.small import SmallEngine
from bntk.inference.exact.strided import StridedEngine

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=25)


def cards_of(network: bntk.BayesianNetwork) -> list[int]:
    return [variable.n_states for variable in network.variables]


def tables_of(program: Program) -> list[tuple[tuple[int, ...], np.ndarray]]:
    return [(factor.variables, factor.values) for factor in program._factors]


def one_evidence_set(name: str, network: bntk.BayesianNetwork) -> Engine:
    """The engine of that name on a network: one of the two on a junction tree, the program, or an approximation."""
    program = compiled(network)
    if name == "program":
        return program
    if name in EXACT_ENGINES:
        return EXACT_ENGINES[name](program.tree, tables_of(program))
    return approximate_engine(network, Options(name))  # type: ignore[arg-type]


def many_rows(name: str, network: bntk.BayesianNetwork) -> RowsEngine:
    """The engine of that name for the posteriors of all variables."""
    everything = range(len(network.cpts))
    if name == "loopy":
        return ApproximateRows(network, Options("loopy"), everything)
    return counting(name, network)


def counting(name: str, network: bntk.BayesianNetwork) -> CountingEngine:
    program = compiled(network)
    outputs = [Output((v,), program.tree.smallest_clique((v,))) for v in range(len(network.cpts))]
    return ROWS_ENGINES[name](program.tree, tables_of(program), (), outputs)


# ---- one evidence set ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*EXACT_ENGINES, "program", "loopy"])
@few
@drawn(seed=seeds)
def test_engines_for_one_evidence_set_equal_enumeration(name, seed):
    """Loopy propagation on forests, where it is exact; the others on any network."""
    network = random_network(seed, 6, max_parents=1 if name == "loopy" else 3, zeros=bool(seed % 2))
    cards = cards_of(network)
    likelihood = random_likelihood(seed, cards)
    whole, engine = given(joint(network), likelihood), one_evidence_set(name, network)
    evidence = Evidence.of(likelihood, len(cards))
    assume(evidence.log_weight > -math.inf)
    answer = engine.calibrate(evidence)
    if whole.sum() == 0:
        assert answer.log_z == -math.inf
        return
    assert answer.log_z == pytest.approx(math.log(whole.sum()), abs=1e-7)
    for v in range(len(cards)):
        np.testing.assert_allclose(answer.marginal(v), onto(whole, [v]) / whole.sum(), atol=1e-7)
    family = next(((*above, v) for v, above in enumerate(network.dag.parent_indices) if above), (0,))
    unknown = [v for v in family if evidence.observed[v] < 0]
    if unknown:
        np.testing.assert_allclose(answer.joint(unknown), onto(whole, unknown) / whole.sum(), atol=1e-7)
    states, log_top = engine.mpe(evidence)
    assert log_top == pytest.approx(math.log(whole.max()), abs=1e-7)
    assert whole[tuple(states)] == pytest.approx(whole.max(), rel=1e-7)


@pytest.mark.parametrize("name", ["weighting", "gibbs"])
@settings(max_examples=6)
@drawn(seed=seeds)
def test_samples_estimate_marginals_and_joints(name, seed):
    network = random_network(seed, 5, max_parents=2, zeros=False)
    likelihood = {1: np.eye(cards_of(network)[1])[0]}
    whole = given(joint(network), likelihood)
    answer = one_evidence_set(name, network).calibrate(Evidence.of(likelihood, 5))
    for at in ([0], [2, 4], [4, 3, 0]):
        np.testing.assert_allclose(answer.joint(at), onto(whole, at) / whole.sum(), atol=0.08)
    assert (
        math.isnan(answer.log_z) if name == "gibbs" else answer.log_z == pytest.approx(math.log(whole.sum()), abs=0.2)
    )


# ---- many rows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*ROWS_ENGINES, "loopy"])
@settings(max_examples=15)
@drawn(seed=seeds)
def test_engines_for_many_rows_equal_enumeration(name, seed):
    network = random_network(seed, 5, max_parents=1 if name == "loopy" else 3, zeros=bool(seed % 2))
    cards, whole = cards_of(network), joint(network)
    codes, engine = random_rows(seed, cards, n=40), many_rows(name, network)
    (tables, log_z), (filled, log_top) = engine.run(codes), engine.explain(codes)
    for row in range(codes.shape[1]):
        expected = given(whole, row_likelihood(codes[:, row], cards))
        if expected.sum() == 0:
            assert log_z[row] == log_top[row] == -math.inf
            assert np.isnan(tables[row]).all()
            continue
        marginals = [onto(expected, [v]) / expected.sum() for v in range(len(cards))]
        np.testing.assert_allclose(tables[row], np.concatenate(marginals), atol=1e-7)
        assert log_z[row] == pytest.approx(math.log(expected.sum()), abs=1e-7)
        assert log_top[row] == pytest.approx(math.log(expected.max()), abs=1e-7)
        assert expected[tuple(filled[:, row])] == pytest.approx(expected.max(), rel=1e-7)


@pytest.mark.parametrize("name", ROWS_ENGINES)
@pytest.mark.parametrize("held", [1, 1 << 18])
def test_counts_are_the_weighted_sums_of_the_posteriors(name, held, monkeypatch):
    monkeypatch.setattr("bntk.inference.exact.strided_rows.HELD", held)
    monkeypatch.setattr("bntk.inference.exact.strided_rows.FEWEST", 8)
    network = bntk.datasets.asia()
    codes = random_rows(1, cards_of(network), n=200)
    weights = np.random.default_rng(1).integers(0, 3, 200).astype(float)
    engine = counting(name, network)
    tables, log_z = engine.run(codes)
    possible = log_z > -math.inf
    counts, log_likelihood = engine.count(codes, np.where(possible, weights, 0.0))
    np.testing.assert_allclose(counts, weights[possible] @ tables[possible], rtol=1e-12)
    assert log_likelihood == pytest.approx(weights[possible] @ log_z[possible])
    everything, total = engine.count(codes, np.ones(200))
    np.testing.assert_allclose(everything, tables[possible].sum(axis=0), rtol=1e-12)
    assert total == (math.fsum(log_z) if possible.all() else -math.inf)


# ---- the plan --------------------------------------------------------------------------------------------------------


@pytest.fixture
def runs(monkeypatch):
    """The names of the engines that run while a test does."""
    seen = []
    for name, kind in (("numpy", SmallEngine), ("strided", StridedEngine), ("loopy", LoopyProgram)):

        def calibrate(self, *arguments, name=name, before=kind.calibrate, **options):
            seen.append(name)
            return before(self, *arguments, **options)

        monkeypatch.setattr(kind, "calibrate", calibrate)

    def ask(self, *arguments, before=Questions.ask):
        found = before(self, *arguments)
        seen.extend(["elimination"] * (found is not None))
        return found

    monkeypatch.setattr(Questions, "ask", ask)
    return seen


WIDE = random_network(4, 30, max_parents=4, max_states=4)


@pytest.mark.parametrize(
    ("network", "targets", "given_names", "engine"),
    [
        (bntk.datasets.asia(), "lung", ["xray"], "numpy"),
        (bntk.datasets.asia(), ["lung", "bronc"], [], "numpy"),
        (WIDE, WIDE.names[-1], [], "elimination"),
        (WIDE, [WIDE.names[0], WIDE.names[20]], [WIDE.names[3], WIDE.names[9]], "elimination"),
        (WIDE, WIDE.names[-1], [], "strided"),
        (WIDE, [WIDE.names[0], WIDE.names[20]], [WIDE.names[3], WIDE.names[9]], "strided"),
    ],
)
def test_the_plan_names_the_engine_that_runs(network, targets, given_names, engine, runs, monkeypatch):
    if engine == "strided":  # as for a network that is larger than all limits of the other two
        monkeypatch.setattr(choose, "QUESTION_ENTRIES", 1)
        monkeypatch.setattr(choose, "NUMPY_CLIQUES", 1)
    plan = network.plan(targets, given_names)
    assert not runs
    network.query(targets, {name: network.variable(name).states[0] for name in given_names})
    assert runs == [plan.engine] == [engine]
    assert f"engine: {engine} (exact): {plan.reason}" in str(plan)
    assert "whole tables: elimination" in str(plan)


def test_the_plan_of_what_is_too_large_says_that_exact_inference_is_refused(runs):
    asia = bntk.datasets.asia()
    plan = asia.plan("dysp", max_entries=10)
    assert plan.engine == "loopy"
    assert "exact inference is refused" in str(plan)
    assert 'engine="auto" takes loopy' in str(plan)
    with pytest.raises(TooLargeError, match='engine="auto"'):
        asia.query("dysp", max_entries=10)
    assert not runs
    found = asia.query("dysp", engine="auto", max_entries=10)
    assert runs == [plan.engine]
    assert "over the limit of 10" in found.report
    everything = [name for name in asia.names if name != "dysp"]
    assert asia.plan("dysp", everything, max_entries=10).engine == "numpy"


def test_evidence_can_make_any_query_small_enough():
    asia = bntk.datasets.asia()
    known = {"xray": "yes", "smoke": "no", "bronc": "no"}  # 40 entries without it, 24 with it
    for ask in (
        lambda **options: asia.query("lung", known, **options).values,
        lambda **options: asia.query(["tub", "dysp"], known, **options).values,
        lambda **options: asia.log_probability(known, **options),
        lambda **options: asia.mpe(known, **options).log_probability,
        lambda **options: asia.marginals(known, **options)["tub"].values,
    ):
        np.testing.assert_allclose(ask(max_entries=30), ask(), rtol=1e-12)
    with pytest.raises(TooLargeError):
        asia.marginals(max_entries=30)
    np.testing.assert_allclose(asia.query("bronc", max_entries=6).values, [0.55, 0.45])  # smoke and bronc suffice
    assert asia.probability({"bronc": "yes"}, max_entries=6) == pytest.approx(0.45)


# ---- engine= wherever an answer is computed --------------------------------------------------------------------------

#: How close to the exact answer on a network without loops, where propagation is exact.
CLOSE = {"loopy": 1e-6, "weighting": 0.03, "gibbs": 0.05, "auto": 1e-12}
SEEN = {"hear_bark": "yes"}
DOG = bntk.datasets.dog()
ROWS = {
    "family_out": ["yes", None, "no"],
    "bowel_problem": [None, None, "yes"],
    "light_on": [None, "no", None],
    "dog_out": [None, "yes", None],
    "hear_bark": ["yes", "yes", None],
}

ANSWERS = {
    "query": lambda **engine: DOG.query("family_out", SEEN, **engine).values,
    "joint": lambda **engine: DOG.query(["light_on", "hear_bark", "family_out"], SEEN, **engine).values,
    "marginals": lambda **engine: DOG.marginals(SEEN, **engine)["light_on"].values,
    "map": lambda **engine: DOG.map(["family_out", "light_on"], SEEN, **engine).probability,
    "jeffrey": lambda **engine: DOG.jeffrey("family_out", {"light_on": [0.3, 0.7]}, **engine).values,
    "posterior": lambda **engine: DOG.posterior(ROWS, "light_on", **engine).to_numpy(),
    "mode": lambda **engine: DOG.impute(ROWS, "mode", **engine).codes.astype(float),
    "sample": lambda **engine: DOG.impute(ROWS, "sample", **engine).codes.shape,
}
PROBABILITIES = {
    "probability": lambda **engine: DOG.probability(SEEN, **engine),
    "log_likelihood": lambda **engine: DOG.log_likelihood(ROWS, **engine) / 30,
    "row_log_likelihood": lambda **engine: np.exp(DOG.row_log_likelihood(ROWS, **engine)),
}
EXPLANATIONS = {
    "mpe": lambda **engine: DOG.mpe(SEEN, **engine).probability,
    "impute": lambda **engine: DOG.impute(ROWS, **engine).codes.astype(float),
}


@pytest.mark.parametrize("engine", CLOSE)
@pytest.mark.parametrize("answer", ANSWERS)
def test_every_answer_takes_an_engine_and_is_close_to_the_exact_one(answer, engine):
    ask = ANSWERS[answer]
    np.testing.assert_allclose(ask(engine=engine), ask(), atol=CLOSE[engine])


@pytest.mark.parametrize("engine", ["auto", "loopy", "weighting"])
@pytest.mark.parametrize("answer", PROBABILITIES)
def test_probabilities_of_evidence_are_close_to_the_exact_ones(answer, engine):
    ask = PROBABILITIES[answer]
    np.testing.assert_allclose(ask(engine=engine), ask(), atol=CLOSE[engine])
    with pytest.raises(
        ValueError, match='engine="gibbs" has no probability .*; use engine="exact" or "auto" or "loopy"'
    ):
        ask(engine="gibbs")


@pytest.mark.parametrize("answer", EXPLANATIONS)
def test_explanations_come_from_exact_inference_and_from_propagation(answer):
    ask = EXPLANATIONS[answer]
    np.testing.assert_allclose(ask(engine="loopy"), ask(), atol=1e-6)
    np.testing.assert_allclose(ask(engine="auto", max_entries=3), ask(), atol=1e-6)
    for engine in ("weighting", "gibbs"):
        with pytest.raises(
            ValueError, match=f'engine="{engine}" has no most .*use engine="exact" or "auto" or "loopy"'
        ):
            ask(engine=engine)


def test_decisions_take_the_engines_whose_answers_can_be_compared():
    exact, loopy = (DOG.value_of_information("family_out", SEEN, engine=engine) for engine in ("exact", "loopy"))
    np.testing.assert_allclose(loopy.loc[exact.index], exact, atol=1e-6)
    given_rows = (DOG.relevant_findings("family_out", {**SEEN, "light_on": "no"}, engine=e) for e in ("exact", "loopy"))
    np.testing.assert_allclose(*(frame["divergence"] for frame in given_rows), atol=1e-6)
    with pytest.raises(ValueError, match='has no value of information; use engine="exact"'):
        DOG.value_of_information("family_out", engine="gibbs")


def test_what_an_engine_cannot_do_is_refused_by_name():
    beliefs = {"light_on": [0.3, 0.7], "dog_out": [0.5, 0.5]}
    with pytest.raises(ValueError, match='several new beliefs.*use engine="exact"'):
        DOG.jeffrey("family_out", beliefs, engine="weighting")
    assert DOG.jeffrey("family_out", beliefs, engine="auto").report.startswith("exact")
    with pytest.raises(
        ValueError, match="engine must be 'exact', 'auto', 'loopy', 'weighting' or 'gibbs', not 'magic'"
    ):
        DOG.query("family_out", engine="magic")
    with pytest.raises(ValueError, match='engine="exact" has no settings; got n'):
        DOG.query("family_out", n=100)
    with pytest.raises(ValueError, match='engine="weighting" has the settings n, seed; got burn_in'):
        DOG.query("family_out", engine="weighting", burn_in=3)


def test_a_joint_distribution_by_too_many_loopy_runs_is_refused(monkeypatch):
    monkeypatch.setattr(choose, "LOOPY_RUNS", 3)
    with pytest.raises(TooLargeError, match='4 runs of loopy propagation.*"weighting"'):
        DOG.query(["light_on", "family_out", "dog_out"], engine="loopy")


def test_settings_reach_the_engine_and_reports_tell_how_it_went():
    few_rows = DOG.query("family_out", SEEN, engine="weighting", n=100, seed=3)
    assert few_rows.report.startswith("likelihood weighting: 100 rows")
    assert "Gibbs sampling: 80 rows of 4 chains" in DOG.query("family_out", engine="gibbs", n=80, chains=4).report
    assert "loopy belief propagation: NOT converged" in DOG.query("family_out", SEEN, engine="loopy", max_iter=1).report
    assert DOG.query("family_out").report == "exact"


@few
@drawn(networks(), seeds)
def test_tables_of_a_network_that_is_too_large_are_exact_where_elimination_is(network, seed):
    """With "auto" only the rows that elimination leaves over are approximated."""
    codes = random_rows(seed, cards_of(network), n=30)
    table = bntk.Table.from_codes(codes, network.variables)
    found = network.row_log_likelihood(table, engine="auto", max_entries=1)
    np.testing.assert_allclose(found, network.row_log_likelihood(table), rtol=1e-9, atol=1e-12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "QUICK", 0)
        patch.setattr(choose, "MOST", 0)
        np.testing.assert_allclose(
            network.row_log_likelihood(table, engine="auto", max_entries=1),
            network.row_log_likelihood(table, engine="loopy"),
            rtol=1e-7,
            atol=1e-12,
        )


# ---- names -----------------------------------------------------------------------------------------------------------


def test_the_public_names_are_all_that_is_shown():
    assert dir(bntk.inference) == bntk.inference.__all__
    for name in bntk.inference.__all__:
        assert getattr(bntk.inference, name).__name__ == name


def test_one_question_is_answered_by_numpy_as_by_compiled_loops():
    network, again = random_network(3, n=120, max_parents=2), random_network(3, n=120, max_parents=2)
    with choose.one_question():
        assert network.plan().engine == "numpy"
        found, states = network.marginals(given={"x2": "s0"}), network.mpe(given={"x2": "s0"})
    assert again.plan().engine == "elimination"
    expected, expected_states = again.marginals(given={"x2": "s0"}), again.mpe(given={"x2": "s0"})
    for name, distribution in expected.items():
        np.testing.assert_allclose(found[name].values, distribution.values, rtol=1e-12)
    assert found.log_probability == pytest.approx(expected.log_probability, rel=1e-12)
    assert dict(states) == dict(expected_states)

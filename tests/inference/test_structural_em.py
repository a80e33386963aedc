"""Structural EM, and the completed rows that it searches on."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inference.test_em import assert_close, observed_log_likelihood, with_holes
from random_networks import joint, networks

import bntk
from bntk import DAG, Table, Variable
from bntk.errors import DataError, InterruptedWarning
from bntk.learning import completion, scores
from bntk.learning import structural_em as module
from bntk.learning.completion import hard_completion, soft_completion
from bntk.learning.learn import learn
from bntk.learning.search import HillClimbing
from bntk.learning.space import named as spaces
from bntk.learning.structural_em import structural_em

ASIA = bntk.datasets.asia()
SPRINKLER = bntk.datasets.sprinkler()


def posterior(network: bntk.BayesianNetwork, row: np.ndarray) -> np.ndarray:
    """The joint posterior of all variables given the observed cells of a row."""
    whole = joint(network)
    observed = np.zeros_like(whole)
    index = tuple(slice(None) if c == v.n_states else int(c) for c, v in zip(row, network.variables))
    observed[index] = whole[index]
    return observed / observed.sum()


# ---- completed rows ----------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(networks(max_states=3), st.integers(0, 10**6))
def test_soft_completion_counts_what_is_expected_of_any_family(network, seed):
    table = with_holes(network.sample(30, seed=seed), 0.3, seed)
    weights = np.random.default_rng(seed).integers(0, 3, 30).astype(float)
    expected = sum(w * posterior(network, row) for row, w in zip(table.codes.T, weights))
    counter = soft_completion(network, table, weights, max_completions=10**6)
    n = len(network.names)
    for family in itertools.chain(*(itertools.combinations(range(n), k) for k in (1, 2, 3))):
        (counts,) = counter.tables([family])
        others = tuple(a for a in range(n) if a not in family)
        np.testing.assert_allclose(counts, np.sum(expected, axis=others), atol=1e-9)
    assert counter.total_weight == pytest.approx(weights.sum())
    assert not counter.table.has_missing.any()


def test_drawn_completions_are_close_to_what_is_expected():
    table = with_holes(ASIA.sample(4000, seed=0), 0.4)
    exact, drawn = (soft_completion(ASIA, table, max_completions=most) for most in (256, 1))
    families = [*itertools.combinations(range(8), 2)]
    for one, other in zip(exact.tables(families), drawn.tables(families), strict=True):
        np.testing.assert_allclose(one, other, atol=40)
    assert drawn.total_weight == pytest.approx(4000)
    assert np.isfinite(ASIA.row_log_likelihood(drawn.table)).all()


def test_where_there_is_no_room_completions_are_drawn(monkeypatch):
    table = with_holes(ASIA.sample(300, seed=0), 0.4)
    drawn = soft_completion(ASIA, table, max_completions=1)
    monkeypatch.setattr(completion, "MOST_CELLS", 0)
    without_room = soft_completion(ASIA, table)
    assert without_room.table == drawn.table
    np.testing.assert_array_equal(without_room.weights, drawn.weights)


@settings(max_examples=20, deadline=None)
@given(networks(max_states=3), st.integers(0, 10**6))
def test_hard_completion_takes_a_most_probable_explanation(network, seed):
    table = with_holes(network.sample(12, seed=seed), 0.4, seed)
    counter = hard_completion(network, table)
    best = sum(np.log((joint(network) * (posterior(network, row) > 0)).max()) for row in table.codes.T)
    found = network.row_log_likelihood(counter.table) @ counter.weights
    assert found == pytest.approx(best, abs=1e-8)
    assert counter.total_weight == 12


# ---- structures --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["bic", "bdeu", "k2"])
@pytest.mark.parametrize("method", ["soft", "hard"])
def test_on_complete_data_it_is_plain_learning(score, method):
    table = ASIA.sample(600, seed=2)
    expected = learn(table, score, search="hc")
    found = structural_em(table, score, search="hc", method=method)
    assert found.dag == expected.dag
    assert_close(found, expected)
    result = found.report
    assert result.converged
    assert result.objective == pytest.approx(scores.score(found.dag, table, score))


@pytest.mark.parametrize("method", ["soft", "hard"])
@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_the_objective_rises_from_round_to_round(score, method):
    table = with_holes(ASIA.sample(1000, seed=5), 0.2)
    result = structural_em(table, score, search="hc", method=method).report
    assert len(result.rounds) > 1
    assert (np.diff(result.trace_frame()["objective"]) > 0).all()


def test_the_objective_of_bic_is_the_observed_likelihood_less_the_penalty():
    table = with_holes(SPRINKLER.sample(400, seed=1), 0.2)
    found = structural_em(table, "bic", prior="mle", tolerance=1e-10)
    likelihood = observed_log_likelihood(found, table)
    penalty = 0.5 * np.log(400) * found.n_parameters
    assert found.report.objective == pytest.approx(likelihood - penalty, abs=1e-3)
    assert found.report.em.log_likelihood == pytest.approx(likelihood)


def test_a_round_gains_at_least_what_the_search_promises():
    """Friedman's theorem, for maximum likelihood and exact expected counts."""
    table = with_holes(SPRINKLER.sample(500, seed=3), 0.25)
    start = structural_em(table, "bic", prior="mle", start="cloudy -> rain", max_rounds=0, tolerance=1e-9)
    counter = soft_completion(start, table)
    better = DAG.parse("cloudy -> rain; cloudy -> sprinkler; rain -> wet; sprinkler -> wet", nodes=table.names)
    promised = scores.score(better, counter, "bic") - scores.score(start.dag, counter, "bic")
    after = structural_em(table, "bic", prior="mle", start=better, max_rounds=0, tolerance=1e-9)
    gained = after.report.objective - start.report.objective
    assert gained >= promised - 1e-6 > 0


def test_structure_is_found_through_the_holes():
    table = with_holes(SPRINKLER.sample(5000, seed=1), 0.2)
    assert structural_em(table).dag.is_equivalent(SPRINKLER.dag)


def test_the_space_is_respected():
    table = with_holes(ASIA.sample(500, seed=0), 0.1)
    assert structural_em(table, space=spaces.tree(table.names)).dag.n_arcs == 7
    space = spaces.dag(table.names, required=[("asia", "xray")], forbidden=[("smoke", "lung")])
    found = structural_em(table, space=space, search="hc").dag
    assert ("asia", "xray") in found.arcs
    assert ("smoke", "lung") not in found.arcs


def test_arc_weights_count():
    table = with_holes(SPRINKLER.sample(200, seed=0), 0.1)
    space = spaces.dag(table.names, arc_weights={("cloudy", "wet"): 1000.0})
    found = structural_em(table, space=space)
    assert ("cloudy", "wet") in found.dag.arcs
    plain = structural_em(table, start=found.dag, max_rounds=0)
    assert found.report.objective == pytest.approx(plain.report.objective + 1000, abs=0.1)


# ---- hidden variables, weights, the same again -------------------------------------------------------------------


def test_a_hidden_variable_is_kept_where_it_explains_and_must_be_connected():
    kind = Variable("kind", [0, 1])
    leaves = [Variable(f"f{i}", [0, 1]) for i in range(4)]
    cpts = [bntk.CPT(kind, [0.5, 0.5]), *(bntk.CPT(f, [[0.9, 0.1], [0.1, 0.9]], [kind]) for f in leaves)]
    true = bntk.BayesianNetwork.from_cpts(cpts)
    rows = true.sample(1500, seed=0).to_pandas().drop(columns="kind")
    with pytest.raises(DataError, match="kind"):
        structural_em(rows, variables=[kind])
    found = structural_em(rows, variables=[kind], start="kind -> f0; kind -> f1; kind -> f2; kind -> f3", search="hc")
    without = structural_em(rows, search="hc")
    assert found.report.objective > without.report.objective


def test_weights_are_repetitions():
    table = with_holes(SPRINKLER.sample(80, seed=2), 0.2)
    times = np.random.default_rng(0).integers(0, 4, 80)
    weighted = structural_em(table, weights=times)
    repeated = structural_em(table.take(np.repeat(np.arange(80), times)))
    assert weighted.dag == repeated.dag
    assert_close(weighted, repeated)


def test_threads_and_repetition_change_nothing():
    table = with_holes(ASIA.sample(1500, seed=0), 0.3)
    results = []
    try:
        for threads in (1, 3):
            bntk.set_threads(threads)
            results.append(structural_em(table, search=HillClimbing(restarts=2), max_completions=4, seed=3))
    finally:
        bntk.set_threads(None)
    assert results[0] == results[1]


def test_an_interrupt_returns_the_last_accepted_network(monkeypatch):
    table = with_holes(SPRINKLER.sample(300, seed=0), 0.2)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "soft_completion", interrupted)
    with pytest.warns(InterruptedWarning, match="structural EM accepted"):
        found = structural_em(table)
    assert found.report.interrupted
    assert found.dag.n_arcs == 0


def test_what_cannot_be_done_is_refused():
    table = with_holes(SPRINKLER.sample(50, seed=0), 0.2)
    with pytest.raises(ValueError, match="'soft' or 'hard'"):
        structural_em(table, method="medium")

    class Other(scores.Score):
        name = "other"

        def evaluator(self, counter, dag=None, *, arc_weights=None):
            raise NotImplementedError

    with pytest.raises(ValueError, match="sum over families"):
        structural_em(table, Other())
    assert bntk.fit(SPRINKLER.dag, table).report is None


def test_data_of_any_kind_and_columns_beside_the_space():
    frame = with_holes(SPRINKLER.sample(200, seed=0), 0.2).to_pandas()
    frame["number"] = np.arange(200) % 3
    found = structural_em(frame, space=spaces.dag(SPRINKLER.names))
    assert found.names == SPRINKLER.names
    assert structural_em(Table.from_frame(frame)).names == (*SPRINKLER.names, "number")

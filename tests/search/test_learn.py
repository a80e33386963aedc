"""Structure and parameters in one call."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
from processes import answers_of_processes
from random_networks import random_network

import bntk
from bntk.learning import priors, scores
from bntk.learning.counts import Counter, TableCounter
from bntk.learning.learn import OrderThenClimb, automatic, default_prior, learn, learn_structure
from bntk.learning.search import BOSS, NAMES, HillClimbing, Tabu
from bntk.learning.space import Space
from bntk.learning.space import named as spaces


@pytest.fixture(scope="module")
def table() -> bntk.Table:
    return bntk.datasets.asia().sample(600, seed=1)


@pytest.mark.parametrize("search", ["auto", HillClimbing(restarts=10), Tabu(restarts=5), "order", "exact"], ids=repr)
@pytest.mark.parametrize("score", ["bdeu", "bic"])
def test_many_rows_give_the_true_equivalence_class(score: str, search: str | HillClimbing) -> None:
    # A plain hill climb ends in a local optimum here.
    truth = bntk.datasets.sprinkler()
    network = learn(truth.sample(20_000, seed=1), score, search=search)
    assert network.dag.is_equivalent(truth.dag)
    if set(network.dag.arcs) == set(truth.dag.arcs):
        assert network.is_close(truth, 0.03)


def test_parameters_are_those_of_fit(table: bntk.Table) -> None:
    network = learn(table, scores.BDeu(7), search="hc")
    assert network == bntk.fit(network.dag, table, bntk.priors.BDeu(7))
    assert learn(table, "bic", search="hc", prior="mle").prior == priors.MaximumLikelihood()
    assert learn(table, "bic", search="hc", prior=2).prior == priors.Dirichlet(2)


@pytest.mark.parametrize(
    ("score", "prior"),
    [
        (scores.BDeu(4), priors.BDeu(4)),
        (scores.BDs(2), priors.BDeu(2)),
        (scores.K2(), priors.Dirichlet(1.0)),
        (scores.HGC(0.5), priors.Dirichlet(0.5)),
        (scores.SB(3), priors.Dirichlet(2.0)),
        (scores.SB(1), priors.BDeu(1.0)),
        (scores.BIC(), priors.BDeu(1.0)),
        (scores.AIC(), priors.BDeu(1.0)),
        (scores.FNML(), priors.BDeu(1.0)),
    ],
    ids=repr,
)
def test_the_default_prior_is_the_one_that_the_score_assumes(score: scores.Score, prior: priors.Prior) -> None:
    assert default_prior(score) == prior


def test_the_report_of_the_search_stays_with_the_network(table: bntk.Table) -> None:
    network = learn(table, "bic", search="tabu", seed=3)
    found = network.report
    again = learn_structure(table, "bic", search="tabu", seed=3)
    assert found is not None
    assert found.dag == network.dag == again.dag
    assert found.score == again.score == pytest.approx(scores.score(network.dag, table, "bic"), rel=1e-12)
    assert found.n_evaluated > 0
    assert found.seconds > 0
    assert "Tabu" in found.search
    assert pickle.loads(pickle.dumps(network)).report == found
    assert bntk.datasets.asia().report is None


@pytest.mark.parametrize("kind", ["pandas", "columns", "counter", "codes"])
def test_data_may_come_in_many_forms(table: bntk.Table, kind: str) -> None:
    frame = table.to_pandas()
    data = {
        "pandas": frame,
        "columns": {name: frame[name].tolist() for name in frame},
        "counter": TableCounter(table.take(slice(200))) + TableCounter(table.take(slice(200, None))),
        "codes": table,
    }[kind]
    declared = None if kind == "counter" else table.variables
    network = learn(data, "bdeu", search="hc", variables=declared)
    assert network == learn(table, "bdeu", search="hc")


def test_weights_repeat_rows(table: bntk.Table) -> None:
    times = np.random.default_rng(0).integers(0, 3, table.n_rows)
    weighted = learn(table, "bic", search="hc", weights=times)
    assert weighted.is_close(learn(table.take(np.repeat(np.arange(table.n_rows), times)), "bic", search="hc"))


def test_missing_cells_mislead_scores_that_add_up_rows() -> None:
    truth = bntk.datasets.sprinkler()
    frame = truth.sample(5000, seed=3).to_pandas()
    hidden = np.random.default_rng(1).random(frame.shape) < 0.02
    table = bntk.Table.from_frame(frame.mask(hidden), truth.variables)
    assert learn(table.drop_missing(), "bic").dag.is_equivalent(truth.dag)
    assert learn(table, scores.BIC(missing="average")).dag.is_equivalent(truth.dag)
    warning = "missing values in .*'cloudy', 'sprinkler', 'rain', 'wet'.* favours parents with missing values"
    for data in (table, TableCounter(table) + TableCounter(table)):
        with pytest.warns(bntk.errors.BntkWarning, match=warning):
            assert learn(data, "bic").dag.n_arcs == 6
    learn(table, "bic", spaces.tree(table.names))  # no warning: all trees have equally many arcs


def test_a_space_may_speak_of_some_of_the_columns_in_its_own_order(table: bntk.Table) -> None:
    names = ("xray", "either", "lung", "tub")
    network = learn(table, "bic", Space(names, forbidden=[("xray", "either")]))
    assert network.names == names
    assert network.dag.has_arc("either", "xray")
    with pytest.raises(bntk.errors.DataError, match="'rain'"):
        learn(table, "bic", Space(["xray", "rain"]))
    stream: Counter = TableCounter(table) + TableCounter(table)
    with pytest.raises(bntk.errors.DataError, match="differ in their variables"):
        learn(stream, "bic", Space(names))


def test_soft_knowledge_tips_the_scales(table: bntk.Table) -> None:
    plain = learn_structure(table, "bic", search="exact")
    arc = ("asia", "xray")
    assert not plain.dag.has_arc(*arc)
    urged = learn_structure(table, "bic", Space(table.names, arc_weights={arc: 100.0}), "exact")
    assert urged.dag.has_arc(*arc)
    assert urged.score == pytest.approx(scores.score(urged.dag, table, "bic") + 100)


def test_the_start_may_be_text(table: bntk.Table) -> None:
    found = learn_structure(table, "bic", search=HillClimbing(max_iter=0), start="smoke -> lung -> either")
    assert found.dag.arcs == (("smoke", "lung"), ("lung", "either"))


def test_wrong_names_are_answered_with_the_choices(table: bntk.Table) -> None:
    with pytest.raises(ValueError, match="'annealing' is not known; the choices are " + ", ".join(NAMES)):
        learn(table, search="annealing")
    with pytest.raises(ValueError, match="'bica' is not known"):
        learn(table, "bica")
    with pytest.raises(bntk.errors.DataError, match="no rows"):
        learn(table.take(slice(0)))
    with pytest.raises(bntk.errors.DataError, match="where it is made"):
        learn(TableCounter(table), weights=np.ones(600))


# ---- the search that is chosen -----------------------------------------------------------------------------------


def chosen(space: Space, rows: int = 50) -> str:
    codes = np.random.default_rng(0).integers(2, size=(space.n_nodes, rows))
    counter = TableCounter(bntk.Table.from_codes(codes, [bntk.Variable(name, [0, 1]) for name in space.nodes]))
    return type(automatic(scores.BIC().evaluator(counter), space)).__name__


def test_the_search_suits_the_space() -> None:
    few, many = [f"x{i}" for i in range(8)], [f"x{i}" for i in range(30)]
    assert chosen(spaces.tree(many)) == "SpanningTree"
    assert chosen(spaces.tan(few[:-1], few[-1])) == "SpanningTree"
    assert chosen(spaces.dag(few)) == "Exact"
    assert chosen(spaces.dag(many)) == "OrderThenClimb"
    assert chosen(spaces.dag(many, max_parents=2)) == "OrderThenClimb"
    assert chosen(spaces.dag(many[:16])) == "OrderThenClimb"
    assert chosen(spaces.dag(many[:16], max_parents=3)) == "Exact"
    assert chosen(spaces.polytree(few)) == "Tabu"
    assert chosen(spaces.polytree(many)) == "Tabu"


@pytest.mark.parametrize(
    "space",
    [
        spaces.tree([f"x{i}" for i in range(6)]),
        spaces.forest([f"x{i}" for i in range(6)]),
        spaces.polytree([f"x{i}" for i in range(6)]),
        spaces.tan([f"x{i}" for i in range(5)], "x5"),
        spaces.stand([f"x{i}" for i in range(5)], "x5"),
        spaces.kdb([f"x{i}" for i in range(5)], "x5", 2),
        spaces.naive_bayes([f"x{i}" for i in range(5)], "x5"),
        spaces.selective_naive_bayes([f"x{i}" for i in range(5)], "x5"),
        spaces.spode([f"x{i}" for i in range(5)], "x5"),
        spaces.mdbnc([f"x{i}" for i in range(4)], ["x4", "x5"]),
        spaces.mdbnc([f"x{i}" for i in range(3)], ["x3", "x4", "x5"], class_shape="dag", feature_shape="polytree"),
    ],
    ids=repr,
)
def test_every_named_space_can_be_searched(space: Space) -> None:
    table = random_network(2, 6).sample(300, seed=0)
    found = learn_structure(table, "bdeu", space)
    assert space.violations(found.dag) == []
    for search in (HillClimbing(), Tabu()):
        assert space.violations(learn_structure(table, "bdeu", space, search).dag) == []


def test_the_default_is_no_worse_than_tabu_search() -> None:
    for seed in range(3):
        table = random_network(seed, 9).sample(500, seed=seed)
        best = learn_structure(table, "bdeu")
        assert best.exact
        assert best.score >= learn_structure(table, "bdeu", search=Tabu(restarts=5)).score - 1e-7


def test_the_default_passes_the_true_structure_on_thirty_variables() -> None:
    truth = random_network(7, 30, max_states=3)
    table = truth.sample(2000, seed=7)
    found = learn_structure(table, "bdeu")
    assert found.score >= scores.score(truth.dag, table, "bdeu")


def test_more_than_a_hundred_variables_are_for_best_order_score_search_unless_values_are_missing_or_weighted() -> None:
    for n, missing, weights, expected in (
        (101, 0.0, None, BOSS),
        (100, 0.0, None, OrderThenClimb),
        (101, 0.1, None, OrderThenClimb),
        (101, 0.0, np.full(20, 0.5), OrderThenClimb),
    ):
        rng = np.random.default_rng(n)
        codes = np.where(rng.random((n, 20)) < missing, 2, rng.integers(2, size=(n, 20)))
        table = bntk.Table.from_codes(codes, [bntk.Variable(f"x{i}", ["no", "yes"]) for i in range(n)])
        evaluator = scores.BIC().evaluator(TableCounter(table, weights))
        assert isinstance(automatic(evaluator, Space(table.names)), expected)


PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
from random_networks import random_network
import bntk
from bntk.learning.learn import learn_structure
from bntk.learning.search import BOSS, HillClimbing, OrderSearch, Tabu
from bntk.learning.search.bootstrap import bootstrap_strengths
table = random_network(3, 9).sample(5000, seed=3)
runs = {"auto": "auto", "hc": HillClimbing(restarts=3), "tabu": Tabu(restarts=2), "order": OrderSearch(restarts=1),
        "boss": BOSS(patience=20)}
found = {key: learn_structure(table, "bdeu", search=search, seed=5) for key, search in runs.items()}
answers = {key: [one.score, one.dag.arcs, [s.what for s in one.trace]] for key, one in found.items()}
answers["bootstrap"] = bootstrap_strengths(table.take(slice(300)), n=3, seed=1).arcs.tolist()
print(json.dumps(answers))
"""


def test_nothing_depends_on_hash_seeds_or_threads() -> None:
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    assert len(answers_of_processes(PROGRAM, here, threads=(1, 2, 3))) == 1

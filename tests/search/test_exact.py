"""Exact search equals brute force, and is never beaten."""

from __future__ import annotations

import logging
import os
from itertools import combinations, permutations, product

import numpy as np
import pytest
from processes import answers_of_processes
from random_networks import random_network
from readings import ReadCounter

import bntk
from bntk.errors import InterruptedWarning, SpaceError, TooLargeError
from bntk.learning.counts import TableCounter
from bntk.learning.scores import AIC, BIC, K2, BDeu, LogLikelihood
from bntk.learning.search import exact as module
from bntk.learning.search import parent_sets
from bntk.learning.search.exact import Exact, best_structure
from bntk.learning.search.greedy import HillClimbing
from bntk.learning.search.order import OrderSearch
from bntk.learning.search.parent_sets import ParentSets
from bntk.learning.space import Group, Space
from bntk.learning.space import named as spaces


def evaluator_of(score, n=4, seed=0, rows=200):
    return score.evaluator(TableCounter(random_network(seed, n, max_states=3).sample(rows, seed=seed)))


def subsets(nodes):
    return [s for k in range(len(nodes) + 1) for s in combinations(nodes, k)]


def all_dags(names):
    n = len(names)
    for parents in product(*(subsets([u for u in range(n) if u != v]) for v in range(n))):
        dag = bntk.DAG._trusted(tuple(names), parents)
        if len(dag.topological_indices) == n:
            yield dag


FOUR = list(all_dags(["x0", "x1", "x2", "x3"]))

SPACES = {
    "any": Space(["x0", "x1", "x2", "x3"]),
    "required": Space(["x0", "x1", "x2", "x3"], required=[("x3", "x0"), ("x0", "x1")]),
    "forbidden": Space(["x0", "x1", "x2", "x3"], forbidden=[("x0", "x1"), ("x1", "x0"), ("x2", "x3")]),
    "tiers": Space(["x0", "x1", "x2", "x3"], tiers=[["x2"], ["x0", "x3"], ["x1"]]),
    "max_parents": Space(["x0", "x1", "x2", "x3"], max_parents={"x0": 0, "x1": 1}),
    "weights": Space(["x0", "x1", "x2", "x3"], arc_weights={("x0", "x1"): 30.0, ("x2", "x3"): -30.0}),
    "forest": Space(["x0", "x1", "x2", "x3"], groups=[Group(["x0", "x1", "x2"], "forest")]),
    "naive": spaces.selective_naive_bayes(["x0", "x1", "x2"], "x3"),
    "kdb": spaces.kdb(["x0", "x1", "x2"], "x3", 1),
}


def test_there_are_543_dags_over_four_nodes():
    assert len(FOUR) == 543


@pytest.mark.parametrize("score", [BIC(), AIC(), BDeu(5), K2(), LogLikelihood()], ids=repr)
@pytest.mark.parametrize("name", SPACES)
def test_no_legal_structure_over_four_nodes_is_better(score, name):
    space = SPACES[name]
    table = random_network(1, 4, max_states=3).sample(200, seed=1)
    evaluator = score.evaluator(TableCounter(table), arc_weights=space.arc_weight_matrix())
    result = Exact().run(evaluator, space)
    best = max(evaluator.locals(list(enumerate(d.parent_indices))).sum() for d in FOUR if space.allows(d))
    assert result.exact
    assert space.allows(result.dag)
    assert result.score == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("score", [BIC(), BDeu(10)], ids=repr)
def test_no_structure_over_five_nodes_is_better(score):
    for seed in range(3):
        evaluator = evaluator_of(score, 5, seed)
        best_parents = {
            (v, before): max(evaluator.local(v, s) for s in subsets(before))
            for v in range(5)
            for before in subsets([u for u in range(5) if u != v])
        }
        best = max(
            sum(best_parents[v, tuple(sorted(order[:i]))] for i, v in enumerate(order))
            for order in permutations(range(5))
        )
        assert Exact().run(evaluator, Space(evaluator.names)).score == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("n", [8, 10, 12])
def test_no_other_search_is_better(n):
    table = random_network(n, n, max_states=3).sample(500, seed=n)
    space = Space(table.names, max_parents=3)
    for score in (BIC(), BDeu(2)):
        evaluator = score.evaluator(TableCounter(table))
        best = Exact().run(evaluator, space)
        for other in (HillClimbing(restarts=3), OrderSearch()):
            found = other.run(evaluator, space, seed=1)
            assert best.score >= found.score - 1e-9
            assert not found.exact
    assert best.n_evaluated <= evaluator.n_evaluated
    assert best.trace[-1].score == pytest.approx(best.score)


def test_the_order_of_the_columns_does_not_change_the_score():
    table = random_network(8, 7).sample(300, seed=8)
    backwards = table.select(table.names[::-1])
    there, back = (Exact().run(BDeu(1).evaluator(TableCounter(t)), Space(t.names)) for t in (table, backwards))
    assert there.score == pytest.approx(back.score)


def test_equal_structures_follow_the_columns():
    table = bntk.Table.from_columns({"a": [0, 1] * 50, "b": [0, 1] * 50})
    assert Exact().run(BIC().evaluator(TableCounter(table)), Space(["a", "b"])).dag.arcs == (("a", "b"),)


@pytest.mark.parametrize("n", [1, 2, 7, 9])
def test_the_sum_over_sinks_equals_all_orders(n):
    rng = np.random.default_rng(n)
    sets = []
    for child in range(n):
        others = np.array([v for v in range(n) if v != child], np.int64)
        masks = np.unique(rng.integers(0, 2 ** (n - 1), size=6).astype(np.uint64))
        masks = np.unique(np.append(masks, np.uint64(0)))
        scores = np.sort(rng.normal(size=len(masks)))[::-1].copy()
        sets.append(ParentSets(child, others, rng.permutation(masks), scores, True))
    parents = best_structure(sets)
    assert parents is not None
    dag = bntk.DAG._trusted(tuple(f"x{v}" for v in range(n)), tuple(parents))
    assert len(dag.topological_indices) == n
    if n <= 7:
        tables = [{frozenset(s.parents(k)): s.scores[k] for k in range(len(s))} for s in sets]
        best = max(
            sum(max(x for p, x in tables[v].items() if p <= set(order[:i])) for i, v in enumerate(order))
            for order in permutations(range(n))
        )
        assert sum(tables[v][frozenset(p)] for v, p in enumerate(parents)) == pytest.approx(best)


def test_many_parent_sets_need_wider_ranks():
    n = 18
    others = [np.array([v for v in range(n) if v != child], np.int64) for child in range(n)]
    masks = np.arange(2**16, dtype=np.uint64)[::-1].copy()
    few = [ParentSets(c, others[c], np.zeros(1, np.uint64), np.zeros(1), True) for c in range(1, n)]
    parents = best_structure([ParentSets(0, others[0], masks, -np.arange(2.0**16), True), *few])
    assert parents is not None
    assert parents[0] == tuple(range(1, 17))


def test_memory_is_announced_and_refused_beyond_the_limit(caplog):
    evaluator = evaluator_of(BIC(), 6)
    with caplog.at_level(logging.INFO):
        Exact().run(evaluator, Space(evaluator.names))
    assert "64 sets" in caplog.text
    before = evaluator.n_evaluated
    with pytest.raises(TooLargeError, match="6 variables needs .* raise max_memory"):
        Exact(max_memory=1e-9).run(evaluator, Space(evaluator.names))
    assert evaluator.n_evaluated == before
    assert Exact.gigabytes(26) < 0.3 < 3 < Exact.gigabytes(30) < 4
    assert 0.8 < Exact.gigabytes(26, "bdeu") < 0.81 < 12.8 < Exact.gigabytes(30, "bdeu") < 12.9


def test_shapes_that_tie_families_together_are_refused():
    evaluator = evaluator_of(BIC(), 5)
    *features, target = evaluator.names
    for space in (spaces.tan(features, target), spaces.polytree(evaluator.names), spaces.stand(features, target)):
        with pytest.raises(SpaceError, match="cannot keep this rule"):
            Exact().run(evaluator, space)


@pytest.mark.parametrize("where", ["scores", "sinks"])
def test_an_interrupt_returns_a_good_legal_structure(monkeypatch, where):
    evaluator = evaluator_of(BIC(), 7, seed=2, rows=500)
    names = evaluator.names
    space = Space(names, required=[(names[3], names[1])])

    def stop(*_):
        raise KeyboardInterrupt

    if where == "sinks":
        monkeypatch.setattr(module.kernels, "sum_over_sinks", stop)
    else:
        monkeypatch.setattr(parent_sets, "_BATCH", 4)  # in the middle of a level
        answers = iter(range(12))
        locals_ = evaluator.locals
        monkeypatch.setattr(evaluator, "locals", lambda f: stop() if next(answers, None) == 10 else locals_(f))
    with pytest.warns(InterruptedWarning, match="best structure so far"):
        result = Exact().run(evaluator, space)
    assert result.interrupted
    assert not result.exact
    assert space.allows(result.dag)
    assert result.score >= evaluator.locals(list(enumerate(space.start().parent_indices))).sum() - 1e-6


def test_a_limit_of_the_search_alone_is_not_called_exact():
    evaluator = evaluator_of(BIC(), 6)
    limited = Exact(max_parents=1).run(evaluator, Space(evaluator.names))
    restricted = Exact().run(evaluator, Space(evaluator.names, max_parents=1))
    assert limited.dag == restricted.dag
    assert (limited.exact, restricted.exact) == (False, True)


def test_a_time_budget_ends_it():
    evaluator = evaluator_of(BIC(), 7, seed=2)
    result = Exact(time_budget=0.0).run(evaluator, Space(evaluator.names))
    assert result.interrupted
    assert not result.exact


@pytest.mark.parametrize(("score", "readings_per_level"), [(BIC(), 1), (BDeu(1), 3)], ids=["bic", "bdeu"])
def test_rows_are_read_for_the_families_of_all_children_at_once(score, readings_per_level):
    counter = ReadCounter(bntk.datasets.asia().sample(2000, seed=1))
    Exact().run(score.evaluator(counter), Space(counter.names))
    n_levels = len(counter.names)  # parent sets of 0, 1, ..., 7 nodes
    assert counter.n_readings <= readings_per_level * n_levels + 3  # and single variables, ceilings, the first bound


SCRIPT = """
import sys; sys.path.insert(0, sys.argv[1])
from random_networks import random_network
from bntk.learning.counts import TableCounter
from bntk.learning.scores import BDeu
from bntk.learning.search import Exact, K2Search, OrderSearch
from bntk.learning.space import Space
table = random_network(5, 10).sample(400, seed=5)
space = Space(table.names, max_parents=3)
for search in (Exact(), OrderSearch(candidates=5, max_iter=40), K2Search()):
    result = search.run(BDeu(1).evaluator(TableCounter(table)), space, seed=7)
    print(result.dag.arcs, result.score.hex(), result.n_evaluated)
"""


def test_hash_seed_and_threads_change_nothing():
    tests = os.path.dirname(os.path.dirname(__file__))
    assert len(answers_of_processes(SCRIPT, tests)) == 1

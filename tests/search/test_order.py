"""Order search finds what exact search finds on small problems; K2 does what its paper says."""

from __future__ import annotations

import numpy as np
import pytest
from random_networks import random_network
from references import shared

import bntk
from bntk.errors import GraphError, InterruptedWarning, SpaceError
from bntk.learning.counts import TableCounter
from bntk.learning.scores import BIC, K2, BDeu, LogLikelihood
from bntk.learning.search import kernels
from bntk.learning.search import order as module
from bntk.learning.search.exact import Exact
from bntk.learning.search.greedy import HillClimbing
from bntk.learning.search.order import FlatSets, K2Search, OrderSearch, climb_from
from bntk.learning.search.parent_sets import ParentSetFinder, find_parent_sets
from bntk.learning.space import Group, Space
from bntk.learning.space import named as spaces


def evaluator_of(score, n=6, seed=0, rows=300, max_states=3):
    return score.evaluator(TableCounter(random_network(seed, n, max_states=max_states).sample(rows, seed=seed)))


def worth(evaluator, parents):
    return evaluator.locals(list(enumerate(parents))).sum()


# ---- order search


@pytest.mark.parametrize("score", [BIC(), BDeu(1), K2()], ids=repr)
def test_on_few_variables_the_best_structure_is_found(score):
    for seed in range(6):
        evaluator = evaluator_of(score, 8, seed)
        space = Space(evaluator.names)
        best, found = (search.run(evaluator, space, seed=seed) for search in (Exact(), OrderSearch()))
        assert found.score == pytest.approx(best.score)
        assert found.score == pytest.approx(evaluator.total())


@pytest.mark.parametrize("seed", range(5))
def test_constraints_are_kept_and_the_best_structure_under_them_is_found(seed):
    evaluator = evaluator_of(BDeu(1), 8, seed, rows=500)
    names = evaluator.names
    space = Space(
        names,
        required=[(names[6], names[0]), (names[7], names[6])],
        forbidden=[(names[1], names[2])],
        max_parents=2,
        groups=[Group(names[2:6], "forest")],
    )
    best, found = (search.run(evaluator, space, seed=seed) for search in (Exact(), OrderSearch()))
    assert space.allows(found.dag)
    assert found.score == pytest.approx(best.score)


def test_few_candidates_are_widened_when_that_gains():
    network = random_network(3, 15, max_parents=3, max_states=3)
    table = network.sample(2000, seed=3)
    space = Space(table.names, max_parents=3)
    best = Exact().run(BIC().evaluator(TableCounter(table)), space).score
    found = OrderSearch(candidates=2).run(BIC().evaluator(TableCounter(table)), space)
    assert found.score >= best - 1e-4 * abs(best)


def test_the_true_structure_is_not_better():
    network = random_network(21, 30, max_parents=3, max_states=3)
    evaluator = BDeu(1).evaluator(TableCounter(network.sample(3000, seed=1)))
    found = OrderSearch().run(evaluator, Space(evaluator.names))
    assert found.score >= worth(evaluator, network.dag.parent_indices) - 1e-6


@pytest.mark.parametrize("score", [BIC(), BDeu(10)], ids=repr)
def test_on_alarm_it_passes_the_true_structure(score):
    alarm = bntk.load(shared("data/networks/alarm.bif.gz"))
    evaluator = score.evaluator(TableCounter(alarm.sample(5000, seed=1)))
    found = OrderSearch().run(evaluator, Space(evaluator.names))
    assert found.score > worth(evaluator, alarm.dag.parent_indices)


def test_more_than_64_variables():
    network = random_network(4, 90, max_parents=2, max_states=2)
    evaluator = BIC().evaluator(TableCounter(network.sample(500, seed=1)))
    found = OrderSearch(restarts=0, max_iter=5).run(evaluator, Space(evaluator.names))
    assert found.score >= worth(evaluator, network.dag.parent_indices) - 1e-6


def test_the_result_is_never_worse_than_the_start_or_hill_climbing_from_it():
    evaluator = evaluator_of(LogLikelihood(), 7, rows=50)
    order = evaluator.names
    full = bntk.DAG(order, [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]])
    search = OrderSearch(candidates=1, restarts=0, max_iter=0)
    for start in (full, None):
        found = search.run(evaluator, Space(order), start=start)
        assert found.score >= HillClimbing().run(evaluator, Space(order), start=start).score - 1e-6
    with pytest.raises(SpaceError, match="not legal"):
        OrderSearch(max_parents=1).run(evaluator, Space(order), start=full)


def test_a_seed_gives_the_same_result_and_the_score_rises_along_the_trace():
    evaluator = evaluator_of(BIC(), 12, 5)
    space = Space(evaluator.names)
    one, two = (OrderSearch(max_iter=20).run(evaluator, space, seed=3) for _ in range(2))
    assert one.dag == two.dag
    assert one.trace_frame()["score"].is_monotonic_increasing
    assert one.trace[-1].score == pytest.approx(one.score)


def test_an_order_is_worth_the_best_parents_before_each_node():
    evaluator = evaluator_of(BDeu(1), 7, 2)
    sets = find_parent_sets(evaluator, Space(evaluator.names))
    flat = FlatSets.of(sets)
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(7)
        for i, v in enumerate(order):
            rank = int(flat.best_ranks(order)[v])
            fits = [k for k in range(len(sets[v])) if set(sets[v].parents(k)) <= set(order[:i].tolist())]
            assert rank == fits[0]


def test_at_a_local_optimum_no_insertion_gains():
    evaluator = evaluator_of(BIC(), 9, 6)
    space = Space(evaluator.names)
    sets = find_parent_sets(evaluator, space)
    flat = FlatSets.of(sets)

    def score(order):
        return sum(s.scores[k] for s, k in zip(sets, flat.best_ranks(np.array(order)), strict=True))

    for seed in range(5):
        order = np.random.default_rng(seed).permutation(9)
        before = score(order)
        parents = climb_from(order, sets, space.required_matrix, seed)
        assert sorted(order) == list(range(9))
        assert worth(evaluator, parents) == pytest.approx(score(order))
        assert score(order) >= before
        for i in range(9):
            rest = [*order[:i], *order[i + 1 :]]
            assert all(score([*rest[:j], order[i], *rest[j:]]) <= score(order) + 1e-8 for j in range(9))


@pytest.mark.parametrize("where", ["candidates", "sets", "climb"])
def test_an_interrupt_returns_the_best_so_far(monkeypatch, where):
    evaluator = evaluator_of(BIC(), 8, 1)
    space = Space(evaluator.names, required=[evaluator.names[:2]])

    def stop(*_, **__):
        raise KeyboardInterrupt

    if where == "candidates":
        monkeypatch.setattr(module, "select_candidates", stop)
    elif where == "sets":
        monkeypatch.setattr(ParentSetFinder, "run", stop)
    else:
        climb, calls = kernels.climb_orders, iter(range(100))
        monkeypatch.setattr(module.kernels, "climb_orders", lambda *a: stop() if next(calls) == 2 else climb(*a))
    with pytest.warns(InterruptedWarning, match="best structure so far"):
        result = OrderSearch().run(evaluator, space)
    assert result.interrupted
    assert space.allows(result.dag)
    assert result.score >= worth(evaluator, space.start().parent_indices) - 1e-6


def test_a_time_budget_ends_it():
    evaluator = evaluator_of(BIC(), 8, 1)
    result = OrderSearch(time_budget=0.0).run(evaluator, Space(evaluator.names))
    assert result.interrupted


def test_a_progress_bar_is_shown_when_asked_for(capsys):
    evaluator = evaluator_of(BIC(), 5, 1)
    OrderSearch(max_iter=1).run(evaluator, Space(evaluator.names), progress=True)
    assert "OrderSearch" in capsys.readouterr().err


def test_trees_are_refused():
    evaluator = evaluator_of(BIC())
    for search in (OrderSearch(), K2Search()):
        with pytest.raises(SpaceError, match="cannot keep this rule: tree"):
            search.run(evaluator, spaces.tree(evaluator.names))


# ---- K2


def test_k2_adds_the_best_earlier_node_while_it_gains():
    for seed in range(4):
        evaluator = evaluator_of(K2(), 7, seed)
        order = np.random.default_rng(seed).permutation(evaluator.names).tolist()
        found = K2Search(order, max_parents=2).run(evaluator, Space(evaluator.names)).dag
        for i, name in enumerate(order):
            parents: list[str] = []
            child = evaluator.names.index(name)

            def score(nodes, child=child, evaluator=evaluator):
                return evaluator.local(child, [evaluator.names.index(p) for p in nodes])

            while len(parents) < 2:
                left = [x for x in evaluator.names if x in order[:i] and x not in parents]
                best = max(left, key=lambda x: score([*parents, x]), default=None)
                if best is None or score([*parents, best]) <= score(parents):
                    break
                parents.append(best)
            assert set(found.parents(name)) == set(parents)


def test_k2_keeps_to_the_space():
    evaluator = evaluator_of(LogLikelihood(), 6)
    a, b, c, d, e, f = evaluator.names
    space = Space(evaluator.names, required=[(f, a)], forbidden=[(c, d)], groups=[Group([b, c, d, e], "kdb", k=1)])
    found = K2Search([f, a, b, c, d, e]).run(evaluator, space)
    assert space.allows(found.dag)
    with pytest.raises(GraphError, match=r"is required, but 'x0' comes first"):
        K2Search().run(evaluator, space)


def test_a_wrong_order_is_refused():
    evaluator = evaluator_of(BIC(), 3)
    for order, odd in ((["x0", "x1"], "'x2'"), (["x0", "x1", "x1", "x2"], "'x1'"), (["x0", "x1", "y"], "'x2', 'y'")):
        with pytest.raises(GraphError, match=f"every node once; wrong with {odd}"):
            K2Search(order).run(evaluator, Space(evaluator.names))


def test_k2_stops_in_time():
    evaluator = evaluator_of(BIC(), 6)
    result = K2Search(time_budget=0.0).run(evaluator, Space(evaluator.names))
    assert result.interrupted
    assert max(map(len, result.dag.parent_indices)) <= 1

"""Hill climbing and tabu search: where they end, what they keep to, and R's bnlearn beside them."""

from __future__ import annotations

import math
import re
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_networks import random_network
from references import bnlearn_table, oracle_json, oracle_table, read_json, shared

import bntk
from bntk.errors import InterruptedWarning
from bntk.graph.dag import DAG
from bntk.learning.counts import TableCounter
from bntk.learning.learn import learn_structure
from bntk.learning.moves import ADD, REVERSE, Move
from bntk.learning.scores import AIC, BIC, K2, BDeu, LogLikelihood
from bntk.learning.scores.base import Evaluator, Score
from bntk.learning.search import HillClimbing, SearchResult, Tabu
from bntk.learning.search.greedy import _NOTHING, _RecentStructures
from bntk.learning.search.kernels import first_best
from bntk.learning.space import Space

SEARCHES = [HillClimbing(), HillClimbing(restarts=3), Tabu(), Tabu(restarts=2, tabu=5, max_tabu=7)]


def sample(seed: int, n: int = 7, rows: int = 400) -> bntk.Table:
    return random_network(seed, n).sample(rows, seed=seed)


def evaluator_at(table: bntk.Table, score: Score, dag: DAG) -> Evaluator:
    return score.evaluator(TableCounter(table), dag)


def legal_gains(table: bntk.Table, score: Score, space: Space, dag: DAG) -> np.ndarray:
    return evaluator_at(table, score, dag).gains(space.walk(dag).moves())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("score", [BIC(), BDeu(5), K2()], ids=lambda score: score.name)
def test_no_legal_move_improves_the_result_of_hill_climbing(seed: int, score: Score) -> None:
    table = sample(seed)
    space = Space(table.names, max_parents=2, forbidden=[("x0", "x1")])
    found = learn_structure(table, score, space, HillClimbing())
    assert (legal_gains(table, score, space, found.dag) < 1e-7).all()
    assert math.isclose(found.score, evaluator_at(table, score, found.dag).total(), rel_tol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_trace_retells_the_climb(seed: int) -> None:
    table = sample(seed)
    found = learn_structure(table, "bic", search=HillClimbing())
    dag = DAG(table.names)
    edit = {"add": DAG.add_arc, "delete": DAG.remove_arc, "reverse": DAG.reverse_arc}
    for step in found.trace:
        word, tail, _, head = step.what.split()
        dag = edit[word](dag, tail, head)
        assert math.isclose(step.score, evaluator_at(table, BIC(), dag).total(), rel_tol=1e-12)
    assert dag == found.dag
    assert found.trace_frame()["score"].is_monotonic_increasing
    assert found.trace_frame()["seconds"].is_monotonic_increasing
    assert found.trace[-1].seconds <= found.seconds
    assert found.n_evaluated > len(found.trace)
    assert not found.exact
    assert not found.interrupted


@pytest.mark.parametrize("seed", range(5))
def test_restarts_never_lose_and_tabu_is_no_worse_than_hill_climbing(seed: int) -> None:
    table = sample(seed, n=8)
    scores = {search: learn_structure(table, "bdeu", search=search, seed=seed).score for search in SEARCHES}
    plain = scores[HillClimbing()]
    assert all(score >= plain - 1e-7 for score in scores.values())
    assert scores[SEARCHES[3]] >= learn_structure(table, "bdeu", search=Tabu(tabu=5, max_tabu=7)).score - 1e-7


def test_restarts_find_what_a_plain_climb_misses() -> None:
    gained = 0.0
    for seed in range(4):
        table = sample(seed, n=10, rows=1000)
        plain, restarted = (
            learn_structure(table, "bic", search=HillClimbing(restarts=restarts)).score for restarts in (0, 20)
        )
        gained += restarted - plain
    assert gained > 1


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_constraints_hold(search: HillClimbing) -> None:
    table = sample(3)
    space = Space(
        table.names,
        required=[("x6", "x0")],
        forbidden=[("x1", "x2"), ("x3", "x2")],
        max_parents=2,
        tiers=[["x6", "x5"], ["x0", "x1"]],
    )
    found = learn_structure(table, "aic", space, search)
    assert space.violations(found.dag) == []
    assert found.dag.has_arc("x6", "x0")
    assert max(map(len, found.dag.parent_indices)) == 2


def test_the_search_begins_where_it_is_told() -> None:
    table = sample(1)
    start = learn_structure(table, "bic", search="hc").dag
    assert learn_structure(table, "bic", search="hc", start=start).trace == ()
    reordered = start.reorder(sorted(start.nodes, reverse=True))
    assert learn_structure(table, "bic", search="hc", start=reordered).dag == start
    far = DAG(table.names, [("x6", "x0"), ("x5", "x0")])
    assert learn_structure(table, "bic", search=HillClimbing(max_iter=0), start=far).dag == far
    with pytest.raises(bntk.errors.SpaceError, match="x6 -> x0 is forbidden"):
        learn_structure(table, "bic", Space(table.names, forbidden=[("x6", "x0")]), "hc", start=far)


def test_max_iter_counts_the_steps() -> None:
    table = sample(2)
    whole = learn_structure(table, "bic", search="hc")
    some = learn_structure(table, "bic", search=HillClimbing(max_iter=3))
    assert [step.what for step in some.trace] == [step.what for step in whole.trace[:3]]
    assert not some.interrupted


@pytest.mark.parametrize("kind", [HillClimbing, Tabu])
def test_a_time_budget_ends_the_search(kind: type[HillClimbing]) -> None:
    table = sample(2)
    began = time.perf_counter()
    found = learn_structure(table, "bic", search=kind(time_budget=0.2, restarts=10**6))
    assert found.interrupted
    assert time.perf_counter() - began < 20
    assert found.score >= learn_structure(table, "bic", search="hc").score - 1e-7


class Interrupted(Evaluator):
    """An evaluator during which someone presses Ctrl-C when gains are asked for once too often."""

    def __init__(self, inner: Evaluator, after: int) -> None:
        self.inner, self.names, self.left = inner, inner.names, after

    def gains(self, moves: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return self.inner.gains(moves)

    parents = property(lambda self: self.inner.parents)
    n_evaluated = property(lambda self: self.inner.n_evaluated)

    def total(self) -> float:
        return self.inner.total()

    def apply(self, move: Move) -> None:
        self.inner.apply(move)

    def reset(self, dag: DAG) -> None:
        self.inner.reset(dag)


@pytest.mark.parametrize("search", [HillClimbing(), Tabu()], ids=str)
@pytest.mark.parametrize("after", [0, 1, 4])
def test_an_interrupt_returns_the_best_so_far(search: HillClimbing, after: int) -> None:
    table = sample(1)
    inner = BIC().evaluator(TableCounter(table))
    with pytest.warns(InterruptedWarning, match="best structure so far"):
        found = search.run(Interrupted(inner, after), Space(table.names))
    assert found.interrupted
    assert len(found.trace) == after
    best = max([step.score for step in found.trace], default=found.score)
    assert math.isclose(found.score, best)
    assert math.isclose(found.score, evaluator_at(table, BIC(), found.dag).total(), rel_tol=1e-12)


class Toy(Evaluator):
    """A score that does not decompose: minus the distance to a DAG, by arcs. It knows no data."""

    def __init__(self, goal: DAG) -> None:
        self.names, self.goal = goal.nodes, goal.adjacency()
        self.n_asked = 0
        self.reset(DAG(goal.nodes))

    parents = property(lambda self: [frozenset(np.flatnonzero(column).tolist()) for column in self.arcs.T])
    n_evaluated = property(lambda self: self.n_asked)

    def total(self) -> float:
        return -float((self.arcs != self.goal).sum())

    def gains(self, moves: Any) -> Any:
        self.n_asked += len(moves)
        before = self.arcs.copy()
        values = np.empty(len(moves))
        for k, move in enumerate(moves.tolist()):
            self.apply(Move(*move))
            values[k] = self.total()
            self.arcs = before.copy()
        return values - self.total()

    def apply(self, move: Move) -> None:
        self.arcs[move.tail, move.head] ^= True
        if move.kind > ADD + 1:
            self.arcs[move.head, move.tail] ^= True

    def reset(self, dag: DAG) -> None:
        self.arcs = dag.adjacency()


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_any_evaluator_will_do(search: HillClimbing) -> None:
    goal = random_network(5, 6).dag
    evaluator = Toy(goal)
    found = search.run(evaluator, Space(goal.nodes), start=DAG(goal.nodes, [(goal.nodes[-1], goal.nodes[0])]))
    assert found.dag == goal
    assert found.score == 0
    assert evaluator.dag == goal
    assert found.n_evaluated == evaluator.n_asked > 0


@given(st.data())
def test_the_first_of_the_best_moves_to_a_structure_not_held_lately_is_chosen(data: st.DataObject) -> None:
    dag = random_network(data.draw(st.integers(0, 50)), 5).dag
    moves = Space(dag.nodes).walk(dag).moves()
    gains = np.array(
        data.draw(st.lists(st.sampled_from([-1.0, 0.5, 0.99, 1.0]), min_size=len(moves), max_size=len(moves)))
    )
    edits = [DAG.add_arc, DAG.remove_arc, DAG.reverse_arc]
    after = [edits[kind](dag, dag.nodes[tail], dag.nodes[head]) for kind, tail, head in moves]
    held = data.draw(st.lists(st.sampled_from(range(len(moves))), max_size=6))
    evaluator = Toy(dag)
    evaluator.reset(dag)
    recent = _RecentStructures(evaluator, 13)
    for k in held:  # go there and back
        there = Move(*moves[k].tolist())
        back = Move(REVERSE, there.head, there.tail) if there.kind == REVERSE else Move(1 - there.kind, *there[1:])
        recent.add(there)
        recent.add(back)
    barred = [after[k] for k in held]
    open_moves = [k for k in range(len(moves)) if after[k] not in barred]
    top = max((gains[k] for k in open_moves), default=0.0)
    expected = next((k for k in open_moves if gains[k] >= top - 0.02), -1)
    assert first_best(moves, gains, 0.02, recent.numbers, recent.key, recent.keys) == expected
    assert first_best(moves, gains, 0.02, *_NOTHING) == int(np.argmax(gains >= gains.max() - 0.02))


@pytest.mark.parametrize("search", SEARCHES[:3], ids=str)
def test_a_space_with_one_structure_is_no_problem(search: HillClimbing) -> None:
    table = sample(0, n=2)
    space = Space(table.names, forbidden=[("x0", "x1"), ("x1", "x0")])
    assert learn_structure(table, "loglik", space, search).dag.n_arcs == 0


def test_the_order_of_columns_does_not_matter_where_nothing_ties() -> None:
    # K2 tells equivalent structures apart, so that no two moves tie but by accident.
    table = sample(4, n=8, rows=1000)
    rng = np.random.default_rng(0)
    for search in (HillClimbing(), Tabu()):
        found = learn_structure(table, K2(), search=search)
        for _ in range(3):
            permuted = table.select(rng.permutation(table.names).tolist())
            again = learn_structure(permuted, K2(), search=search)
            assert math.isclose(again.score, found.score, rel_tol=1e-12)
            assert again.dag.reorder(table.names) == found.dag


def test_a_seed_gives_one_result() -> None:
    table = sample(4, n=8)
    search = HillClimbing(restarts=4, perturb=5)
    first, second = (learn_structure(table, "bic", search=search, seed=7) for _ in range(2))
    assert [s.what for s in first.trace] == [s.what for s in second.trace]
    other = learn_structure(table, "bic", search=search, seed=8)
    assert [s.what for s in first.trace] != [s.what for s in other.trace]


def test_progress_is_shown_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    table = sample(0, n=4)
    learn_structure(table, search=Tabu(), progress=True)
    assert "best score" in capsys.readouterr().err
    learn_structure(table, search=Tabu())
    assert capsys.readouterr().err == ""


# ---- R's bnlearn -------------------------------------------------------------------------------------------------


def reference_runs(learned: dict[str, Any]) -> list[str]:
    return [key for key in learned if re.match(r"(hc|tabu)_", key) and "restart" not in key]


def run_as(key: str, table: bntk.Table) -> SearchResult:
    """What a key such as ``tabu_bde_iss10`` or ``hc_loglik_maxp2`` stands for."""
    numbers = {word: int(number) for word, number in re.findall(r"(iss|maxp)(\d+)", key)}
    scores: dict[str, Score] = {"bic": BIC(), "aic": AIC(), "k2": K2(), "loglik": LogLikelihood()}
    search, score = key.split("_")[:2]
    rule = BDeu(numbers["iss"]) if score == "bde" else scores[score]
    space = Space(table.names, max_parents=numbers.get("maxp"))
    return learn_structure(table, rule, space, search)


@pytest.mark.parametrize("name", ["mixed", "net8"])
def test_the_arcs_of_bnlearn_on_small_data(name: str) -> None:
    table, learned = oracle_table(name), oracle_json(f"{name}_bnlearn_learn")
    for key in reference_runs(learned):
        found = run_as(key, table)
        assert set(found.dag.arcs) == set(map(tuple, learned[key]["arcs"])), key
        assert math.isclose(found.score, learned[key]["score"], rel_tol=1e-12), key


@pytest.mark.parametrize("name", ["asia", "learning.test", "insurance", "alarm"])
def test_the_arcs_of_bnlearn_on_its_own_data(name: str) -> None:
    table, learned = bnlearn_table(name), read_json(shared(f"oracle/bnlearn/{name}_learn.json"))
    for key in reference_runs(learned):
        found = run_as(key, table)
        assert found.score >= learned[key]["score"] * (1 + 1e-12), key
        assert set(found.dag.arcs) == set(map(tuple, learned[key]["arcs"])), key

"""Grow-shrink trees hold what brute force finds, and best order score search finds what exact search finds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from random_networks import random_network

import bntk
from bntk.errors import InterruptedWarning, SpaceError
from bntk.learning.counts import TableCounter, as_counter
from bntk.learning.learn import learn_structure
from bntk.learning.scores import BIC, FNML, K2, SB, BDeu, BDs, LogLikelihood
from bntk.learning.scores.decomposable import DecomposableScore
from bntk.learning.search import boss, interplay
from bntk.learning.search import grow_shrink_kernels as kernels
from bntk.learning.search.boss import BOSS
from bntk.learning.search.exact import Exact
from bntk.learning.search.grow_shrink import GrowShrinkTrees
from bntk.learning.space import Group, Space
from bntk.learning.space import named as spaces


def counter_of(n=7, seed=0, rows=300, missing=0.0, weighted=False, max_states=3):
    table = random_network(seed, n, max_states=max_states).sample(rows, seed=seed)
    rng = np.random.default_rng(seed)
    codes = table.codes.copy()
    gone = rng.random(codes.shape) < missing
    codes[gone] = np.broadcast_to(table.cards[:, None], codes.shape)[gone]
    weights = rng.random(rows) if weighted else None
    return TableCounter(bntk.Table.from_codes(codes, table.variables), weights)


def worth(evaluator, parents):
    return evaluator.locals(list(enumerate(parents))).sum()


# ---- a family with one parent more


class _Plain(DecomposableScore):
    """A score that no kernel knows."""

    name = "plain"

    def __repr__(self):  # names the test, in every process alike
        return "Plain()"

    def family(self, counts, q=None, n=None):
        return BIC().family(counts, q, n)


COUNTERS = {
    "rows": counter_of(),
    "few rows": counter_of(rows=12, max_states=6),
    "many states": counter_of(rows=200, max_states=30),
    "weights": counter_of(weighted=True),
    "missing values": counter_of(missing=0.2),
    "many states and missing values": counter_of(rows=200, max_states=30, missing=0.1),
    "an experiment": as_counter(counter_of().table, intervened=[["x0"], None, ["x1", "x2"]] * 100),
}


@pytest.mark.parametrize("counter", COUNTERS.values(), ids=COUNTERS)
@pytest.mark.parametrize("score", [BIC(), BDeu(1), K2(), FNML(), BDs(1), SB(2), LogLikelihood(), _Plain()], ids=repr)
def test_an_enlarged_family_scores_as_it_does_by_itself(score, counter):
    n = len(counter.names)
    weights = np.random.default_rng(1).random((n, n))
    evaluator, other = (score.evaluator(counter, arc_weights=weights) for _ in range(2))
    for child, *parents in ([0], [1, 2], [4, 0, 5], [3, 6, 1, 2]):
        others = np.setdiff1d(np.arange(n), [child, *parents])
        values = evaluator.enlarged(child, parents, others)
        assert values == pytest.approx(other.locals([(child, (*parents, x)) for x in others]), rel=1e-11)
    assert evaluator.n_evaluated <= n  # the caller counts; those without parents may be known


@pytest.mark.parametrize("score", [BIC(), BDeu(1), K2(), LogLikelihood()], ids=repr)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_large_tables_score_the_same_to_the_last_digit_in_any_order_of_rows_and_for_rows_with_whole_weights(
    score, missing
):
    counter = counter_of(n=9, rows=150, max_states=20, missing=missing)
    rng = np.random.default_rng(2)
    copies = rng.integers(0, 4, 150)
    turn = rng.permutation(copies.sum())
    repeated = counter.table.take(np.repeat(np.arange(150), copies))
    weighted = TableCounter(counter.table, copies.astype(float))
    others = np.arange(4, 9)
    shuffled = TableCounter(repeated.take(turn))
    one, two, three = (score.evaluator(each) for each in (TableCounter(repeated), shuffled, weighted))
    values = one.enlarged(0, [1, 2, 3], others)
    assert (two.enlarged(0, [1, 2, 3], others) == values).all()
    assert (three.enlarged(0, [1, 2, 3], others) == values).all()
    families = [(child, tuple(v for v in range(8) if v != child)) for child in range(8)]
    assert (two.locals(families) == one.locals(families)).all()
    assert (three.locals(families) == one.locals(families)).all()


def test_an_enlarged_family_with_a_table_beyond_the_limit_is_worth_nothing():
    evaluator, other = (BDeu(1).evaluator(COUNTERS["many states"]) for _ in range(2))
    for each in (evaluator, other):
        each.limit_tables(100)
    others = np.arange(2, 7)
    values = evaluator.enlarged(0, [1], others)
    assert np.isneginf(values).any()
    assert values == pytest.approx(other.locals([(0, (1, x)) for x in others]))


# ---- trees and orders


def grown_and_shrunk(evaluator, child, possible):
    """Parents of a child among some variables, by the definition."""
    parents, score = (), evaluator.local(child, ())
    while rest := sorted(set(possible) - set(parents)):
        values = evaluator.locals([(child, (*parents, x)) for x in rest])
        if values.max() <= score + 1e-9:
            break
        parents, score = (*parents, rest[int(values.argmax())]), values.max()
    while parents:
        fewer = [tuple(p for p in parents if p != x) for x in parents]
        values = evaluator.locals([(child, few) for few in fewer])
        if values.max() <= score + 1e-9:
            break
        parents, score = fewer[int(values.argmax())], values.max()
    return tuple(sorted(parents)), score


class Walk:
    """An order and the trees that it walks."""

    def __init__(self, evaluator, order):
        n = len(order)
        self.trees = GrowShrinkTrees(evaluator, Space(evaluator.names))
        self.order, self.places = np.array(order), np.empty(n, np.int64)
        self.values, self.leaves = np.empty(n), np.empty(n, np.int64)
        self.settle()

    def settle(self):
        lacking = np.empty((len(self.order), 2), np.int64)
        while m := kernels.settle(self.trees.flat, self.order, self.places, self.values, self.leaves, lacking):
            self.trees.provide(lacking[:m])
        return self.values.sum()

    def improve(self, variable):
        """Move one variable to where it gains most."""
        n, requests = len(self.order), np.empty((8, 2), np.int64)
        required, k = np.zeros((n, n), bool), 0
        while k < 1:
            k, _, m = kernels.improve(
                self.trees.flat, np.array([variable]), 0, 0, self.order, self.places, required, self.values,
                self.leaves, 1e-9, 1, requests,
            )  # fmt: skip
            if m:
                self.trees.provide(requests[:m])


def proxy_rows():
    """Rows with variables whose first parent is a proxy of two others, which make it superfluous."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(2, size=(2, 2000))
    noisy = [np.where(rng.random(2000) < 0.9, a + b, rng.integers(3, size=2000)) for _ in range(3)]
    return {"x0": noisy[0], "x1": noisy[1], "x2": a, "x3": b, "x4": noisy[2], "x5": rng.integers(3, size=2000)}


@pytest.mark.parametrize("score", [BIC(), BDeu(5), LogLikelihood()], ids=repr)
def test_in_an_order_every_variable_has_the_parents_that_greedy_growing_and_shrinking_finds(score):
    evaluator = score.evaluator(as_counter(proxy_rows()))
    rng = np.random.default_rng(0)
    shrunk = 0
    for _ in range(30):
        walk = Walk(evaluator, rng.permutation(6))
        parents = walk.trees.parents(walk.leaves.tolist())
        for place, child in enumerate(walk.order.tolist()):
            expected, value = grown_and_shrunk(evaluator, child, walk.order[:place].tolist())
            assert parents[child] == expected
            assert walk.values[child] == pytest.approx(value)
            shrunk += len(walk.trees._growths[walk.leaves[child]].parents) > len(expected)
    assert shrunk or isinstance(score, LogLikelihood)


def test_a_variable_is_moved_to_the_place_where_the_order_is_worth_most():
    evaluator = BIC().evaluator(counter_of(9, 6))
    rng = np.random.default_rng(1)
    moved = 0
    for _ in range(12):
        order, variable = rng.permutation(9), int(rng.integers(9))
        rest = [v for v in order.tolist() if v != variable]
        worths = [Walk(evaluator, [*rest[:k], variable, *rest[k:]]).settle() for k in range(9)]
        walk = Walk(evaluator, order)
        before = walk.values.sum()
        walk.improve(variable)
        values = walk.values.copy()
        assert values.sum() == pytest.approx(max(worths))
        walk.settle()
        assert walk.values == pytest.approx(values)
        moved += values.sum() > before + 1e-6
    assert moved


# ---- pairs of parents that gain only together


def rows_with_interplay(seed=0, n=9, n_rows=500):
    """Rows of variables of two and three states, two of which are nearly sums, modulo two and three, of others."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, np.array([2, 3, 3, 2, 2, 2, 3, 3, 2])[:, None], size=(n, n_rows))
    codes[3] = (codes[0] + codes[5] + (rng.random(n_rows) < 0.2)) % 2
    codes[7] = (codes[1] + codes[2] + (rng.random(n_rows) < 0.2)) % 3
    return bntk.Table.from_columns({f"x{k}": column for k, column in enumerate(codes)})


def pairs_by_definition(evaluator):
    """For each child the best pairs that gain together, though neither of them alone, by looking at all."""
    n = len(evaluator.names)
    found = []
    for child in range(n):
        alone, gains = evaluator.local(child, ()), {}
        possible = [v for v in range(n) if v != child and evaluator.local(child, (v,)) <= alone]
        for pair in combinations(possible, 2):
            gains[pair] = evaluator.local(child, pair) - alone
        best = sorted((pair for pair in gains if gains[pair] > np.log(n)), key=lambda pair: (-gains[pair], pair))
        found.append(best[: interplay.PAIRS])
    return found


@pytest.mark.parametrize("seed", range(8))
def test_pairs_that_gain_only_together_are_those_of_a_look_at_all(seed):
    evaluator = BIC().evaluator(TableCounter(rows_with_interplay(seed)))
    found = interplay.pairs_that_gain_together(evaluator, evaluator.pair_weights())
    assert [list(map(tuple, pairs)) for pairs in found] == pairs_by_definition(evaluator)
    assert any(found)


def test_pairs_that_gain_only_together_do_not_depend_on_the_order_of_rows_nor_on_how_often_they_are_written_down():
    table = rows_with_interplay(2)
    rng = np.random.default_rng(3)
    copies = rng.integers(1, 4, table.n_rows)
    repeated = table.take(rng.permutation(np.repeat(np.arange(table.n_rows), copies)))
    evaluators = [BIC().evaluator(TableCounter(*rows)) for rows in ((repeated,), (table, copies.astype(float)))]
    one, two = (interplay.pairs_that_gain_together(each, each.pair_weights()) for each in evaluators)
    assert any(one)
    assert one == two


def test_of_many_rows_a_share_tells_which_pairs_gain_together_whatever_their_order():
    codes = np.random.default_rng(4).integers(2, size=(40, 21_000))
    codes[3] = codes[0] ^ codes[5]
    table = bntk.Table.from_columns({f"x{k}": column for k, column in enumerate(codes)})
    assert 4_000 < interplay._share(table).n_rows < 6_500
    turned = table.take(np.random.default_rng(5).permutation(table.n_rows))
    evaluators = [BIC().evaluator(TableCounter(rows)) for rows in (table, turned)]
    one, two = (interplay.pairs_that_gain_together(each, each.pair_weights()) for each in evaluators)
    assert one == two
    assert one[3] == [(0, 5)]
    alike = bntk.Table.from_columns({"a": codes[0], "b": codes[1], "c": codes[2]})
    assert interplay._share(alike).n_rows > 1_000


def test_of_too_much_work_no_pairs_are_looked_for(monkeypatch):
    evaluator = BIC().evaluator(TableCounter(rows_with_interplay()))
    monkeypatch.setattr(interplay, "MOST_WORDS", 1)
    assert not any(interplay.pairs_that_gain_together(evaluator, evaluator.pair_weights()))


def test_parents_that_gain_only_together_are_found_among_many_variables():
    rng = np.random.default_rng(1)
    codes = rng.integers(2, size=(120, 3000))
    for child in range(0, 60, 3):
        codes[child] = codes[child + 1] ^ codes[child + 2] ^ (rng.random(3000) < 0.1)
    found = learn_structure({f"x{k}": column for k, column in enumerate(codes)}, "bic", search=BOSS(patience=0)).dag
    for child in range(0, 60, 3):
        assert {f"x{child + 1}", f"x{child + 2}"} <= set(found.markov_blanket(f"x{child}"))


# ---- the search


@pytest.mark.parametrize("score", [BIC(), BDeu(1), K2(), _Plain()], ids=repr)
def test_on_few_variables_the_best_structure_is_found(score):
    for seed in range(6):
        evaluator = score.evaluator(counter_of(8, seed))
        space = Space(evaluator.names)
        best = Exact().run(BIC().evaluator(evaluator.counter) if isinstance(score, _Plain) else evaluator, space)
        found = BOSS().run(evaluator, space, seed=seed)
        assert found.score == pytest.approx(best.score)
        assert found.score == pytest.approx(evaluator.total())


@pytest.mark.parametrize("kind", ["weights", "missing values", "an experiment", "few rows"])
def test_with_rows_of_any_kind_the_best_structure_is_found(kind):
    evaluator = BDeu(1).evaluator(COUNTERS[kind])
    space = Space(evaluator.names)
    best, found = (search.run(evaluator, space) for search in (Exact(), BOSS()))
    assert found.score == pytest.approx(best.score)


@pytest.mark.parametrize("seed", range(5))
def test_constraints_are_kept_and_the_best_structure_under_them_is_found(seed):
    evaluator = BDeu(1).evaluator(counter_of(8, seed, rows=500))
    names = evaluator.names
    space = Space(
        names,
        required=[(names[6], names[0]), (names[7], names[6])],
        forbidden=[(names[1], names[2])],
        max_parents=2,
        groups=[Group(names[2:6], "forest")],
    )
    best, found = (search.run(evaluator, space, seed=seed) for search in (Exact(), BOSS()))
    assert space.allows(found.dag)
    assert found.score == pytest.approx(best.score)


def test_the_true_structure_of_many_variables_is_not_better():
    network = random_network(21, 90, max_parents=3, max_states=3)
    evaluator = BDeu(1).evaluator(TableCounter(network.sample(3000, seed=1)))
    found = BOSS(patience=20).run(evaluator, Space(evaluator.names))
    assert found.score >= worth(evaluator, network.dag.parent_indices) - 1e-6


def test_the_skeleton_of_a_random_network_is_found():
    network = bntk.datasets.random_network(60, n_states=2, n_arcs=120, treewidth=None, max_parents=4, seed=5)
    found = learn_structure(network.sample(20_000, seed=1), "bic", search=BOSS()).dag
    true, learned = ({frozenset(arc) for arc in dag.arcs} for dag in (network.dag, found))
    assert 2 * len(true & learned) / (len(true) + len(learned)) >= 0.95


def test_a_parent_that_tells_nothing_alone_is_found():
    rng = np.random.default_rng(0)
    a, b, which = rng.integers(2, size=(3, 2000))
    other = rng.integers(2, size=(70, 2000))
    rows = {"child": np.where(which, a, b), "a": a, "b": b, "which": which, **{f"o{k}": x for k, x in enumerate(other)}}
    found = learn_structure(rows, "bic", search=BOSS(patience=5))
    around = found.dag.markov_blanket("child")
    assert {"a", "b", "which"} <= set(around)


def test_the_result_is_never_worse_than_the_start():
    evaluator = LogLikelihood().evaluator(counter_of(7, rows=50))
    order = evaluator.names
    full = bntk.DAG(order, [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]])
    search = BOSS(patience=0)
    for start in (full, None):
        before = worth(evaluator, (full if start else Space(order).start()).parent_indices)
        assert search.run(evaluator, Space(order), start=start).score >= before - 1e-6
    with pytest.raises(SpaceError, match="not legal"):
        BOSS(max_parents=1).run(evaluator, Space(order), start=full)


def test_arcs_that_gain_less_than_asked_for_are_left_out():
    evaluator = BIC().evaluator(counter_of(9, 4))
    space = Space(evaluator.names, required=[(evaluator.names[0], evaluator.names[8])])
    whole = BOSS(patience=3).run(evaluator, space)
    found = BOSS(patience=3, epsilon=10).run(evaluator, space)
    assert space.allows(found.dag)
    assert set(found.dag.arcs) < set(whole.dag.arcs)
    for child, parents in enumerate(found.dag.parent_indices):
        for less in parents:
            gain = evaluator.local(child, parents) - evaluator.local(child, [p for p in parents if p != less])
            assert gain >= 10 or (less, child) == (0, 8)
    assert found.score == pytest.approx(found.trace[-1].score)
    assert found.score == pytest.approx(worth(evaluator, found.dag.parent_indices))


def test_no_variable_has_more_parents_than_allowed():
    evaluator = LogLikelihood().evaluator(counter_of(8, 2))
    found = BOSS(max_parents=2, patience=3).run(evaluator, Space(evaluator.names))
    assert max(map(len, found.dag.parent_indices)) == 2


def test_a_seed_gives_the_same_result_on_any_number_of_threads_and_the_score_rises_along_the_trace():
    network = random_network(5, 40, max_states=3)
    table = network.sample(300, seed=1)
    results = []
    for threads in (1, 2, 5):
        bntk.set_threads(threads)
        try:
            results.append(learn_structure(table, "bic", search=BOSS(patience=20), seed=3))
        finally:
            bntk.set_threads(None)
    for each in results:
        assert each.dag == results[0].dag
        assert each.n_evaluated == results[0].n_evaluated
        assert [(step.what, step.score) for step in each.trace] == [(s.what, s.score) for s in results[0].trace]
    assert results[0].trace_frame()["score"].is_monotonic_increasing
    assert results[0].trace[-1].score == pytest.approx(results[0].score)


@pytest.mark.parametrize("at", [1, 3, 6])
def test_an_interrupt_returns_the_best_so_far(monkeypatch, at):
    evaluator = BIC().evaluator(counter_of(12, 1))
    space = Space(evaluator.names, required=[evaluator.names[:2]])
    provide, calls = GrowShrinkTrees.provide, iter(range(1, 1000))

    def stop(self, requests):
        if next(calls) == at:
            raise KeyboardInterrupt
        provide(self, requests)

    monkeypatch.setattr(GrowShrinkTrees, "provide", stop)
    with pytest.warns(InterruptedWarning, match="best structure so far"):
        result = BOSS().run(evaluator, space)
    assert result.interrupted
    assert space.allows(result.dag)
    assert result.score >= worth(evaluator, space.start().parent_indices) - 1e-6


def test_a_time_budget_ends_it_with_what_it_has(monkeypatch):
    table = random_network(5, 60, max_states=3).sample(1000, seed=1)
    whole = learn_structure(table, "bic", search=BOSS(patience=5))
    scores = []
    for n_looks in (0, 2, 5, 10):
        clock = iter([0.0] * n_looks + [2.0] * 100)
        monkeypatch.setattr(boss, "out_of_time", lambda began, budget, clock=clock: next(clock) > budget)
        found = learn_structure(table, "bic", search=BOSS(time_budget=1.0))
        assert found.interrupted
        scores.append(found.score)
    monkeypatch.undo()
    assert scores == sorted(scores)
    assert scores[0] < scores[-1] <= whole.score + 1e-6
    assert learn_structure(table, "bic", search=BOSS(time_budget=0.0)).score == scores[0]


def test_after_much_work_nothing_is_shaken(monkeypatch):
    evaluator = BIC().evaluator(counter_of(20, 1))
    space = Space(evaluator.names)
    n_families = BOSS(patience=0).run(evaluator, space).n_evaluated
    for most, is_shaken in ((0, False), (10**12, True)):
        monkeypatch.setattr(boss, "MOST_WORK", most)
        found = BOSS().run(BIC().evaluator(evaluator.counter), space)
        assert (found.n_evaluated > n_families) == is_shaken


def test_progress_shows_how_far_it_is(capsys):
    evaluator = BIC().evaluator(counter_of(5, 1))
    BOSS(max_iter=1).run(evaluator, Space(evaluator.names), progress=True)
    shown = capsys.readouterr().err
    assert "BOSS, sweep 1" in shown
    assert "BOSS, shakes without gain" in shown
    assert "0/200" in shown
    assert "best score" in shown


def test_trees_are_refused():
    evaluator = BIC().evaluator(counter_of(5, 1))
    with pytest.raises(SpaceError, match="cannot keep this rule: tree"):
        BOSS().run(evaluator, spaces.tree(evaluator.names))

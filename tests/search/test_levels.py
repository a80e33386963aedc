"""Parent sets of all children at once are those of each child by itself, and what is left out is worth nothing."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from counts.samples import make_table
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import random_network

import bntk
from bntk._threads import spans, using_threads
from bntk.errors import InterruptedWarning, TooLargeError
from bntk.learning.counts import TableCounter
from bntk.learning.learn import learn_structure
from bntk.learning.scores import AIC, BIC, K2, SB, BDeu, LogLikelihood
from bntk.learning.scores.set_values import SetValues
from bntk.learning.search import levels, parent_sets
from bntk.learning.search.exact import Exact, best_structure
from bntk.learning.search.levels import Levels
from bntk.learning.search.parent_sets import ParentSetFinder, find_parent_sets
from bntk.learning.space import Group, Space

SCORES = [BIC(), AIC(), LogLikelihood(), BDeu(0.1), BDeu(1), BDeu(30)]


def evaluator_of(score, n=6, seed=0, rows=200):
    return score.evaluator(TableCounter(random_network(seed, n, max_states=4).sample(rows, seed=seed)))


def found(evaluator, space, shared, at_once=False, **options):
    """The parent sets of each child with their scores, and the highest score within each set of other nodes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parent_sets, "_SHARED_FROM", -1 if shared else math.inf)
        patch.setattr(levels, "_SLOWER", math.inf if at_once else 0)
        patch.setattr(levels, "_SMALL", 1)
        patch.setattr(levels, "_FEW", 0)
        patch.setattr(levels, "_FOUND", 3)  # what is found is put away often
        sets = find_parent_sets(evaluator, space, **options)
    assert all(one.complete for one in sets)
    best = {}
    for one in sets:
        scores = {frozenset(one.parents(k)): one.scores[k] for k in range(len(one))}
        others = [v for v in range(len(sets)) if v != one.child]
        for size in range(len(sets)):
            for within in combinations(others, size):
                fitting = [score for parents, score in scores.items() if parents <= set(within)]
                best[one.child, within] = max(fitting, default=-np.inf)
    return best


NAMES = [f"x{k}" for k in range(6)]
SPACES = {
    "any": Space(NAMES),
    "required": Space(NAMES, required=[("x3", "x0"), ("x0", "x1"), ("x5", "x1")]),
    "forbidden": Space(NAMES, forbidden=[("x0", "x1"), ("x1", "x0"), ("x2", "x3")]),
    "tiers": Space(NAMES, tiers=[["x2"], ["x0", "x3", "x4"], ["x1", "x5"]]),
    "max_parents": Space(NAMES, max_parents={"x0": 0, "x1": 1, "x4": 3}),
}


@pytest.mark.parametrize("score", SCORES, ids=repr)
@pytest.mark.parametrize("name", SPACES)
def test_best_parents_are_those_of_each_child_by_itself(score, name):
    for seed in range(3):
        evaluator = evaluator_of(score, 6, seed, rows=(20, 200, 3000)[seed])
        alone = found(evaluator, SPACES[name], False)
        for at_once in (False, True):
            both = found(evaluator, SPACES[name], True, at_once)
            assert both.keys() == alone.keys()
            assert list(both.values()) == pytest.approx(list(alone.values()), abs=1e-7)


@pytest.mark.parametrize("at_once", [False, True])
def test_tables_beyond_the_limit_are_left_out_by_both(at_once):
    evaluator = evaluator_of(BDeu(1), 6, 3, rows=1000)
    evaluator.limit_tables(20)
    both, alone = found(evaluator, Space(NAMES), True, at_once), found(evaluator, Space(NAMES), False)
    assert list(both.values()) == pytest.approx(list(alone.values()), abs=1e-7)


@pytest.mark.parametrize("score", [BIC(), BDeu(1), BDeu(10)], ids=repr)
def test_structures_of_many_variables_are_those_of_each_child_by_itself(score, monkeypatch):
    table = random_network(4, 14, max_states=3).sample(300, seed=4)
    shared = learn_structure(table, score, search=Exact())
    monkeypatch.setattr(parent_sets, "_SHARED_FROM", math.inf)
    alone = learn_structure(table, score, Space(table.names), search=Exact(max_sets=10**9))
    assert shared.exact
    assert shared.gap == alone.gap == 0
    assert shared.score == pytest.approx(alone.score, abs=1e-7)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    cards=st.lists(st.integers(1, 4), min_size=1, max_size=11),
    n_rows=st.integers(1, 300),
    ess=st.sampled_from([0.01, 0.5, 1.0, 10.0, 100.0]),
    n_spans=st.integers(1, 5),
)
def test_all_sets_at_once_are_the_sets_one_by_one(seed, cards, n_rows, ess, n_spans):
    evaluator = BDeu(ess).evaluator(TableCounter(make_table(seed, cards, n_rows, 0.0, skew=0.7)))
    values = SetValues(evaluator)
    every = np.arange(1 << len(cards), dtype=np.uint64)
    most_entries = float(np.random.default_rng(seed).choice([np.inf, 12, 100]))
    all_values = values.counting_all(most_entries)
    for span in spans(len(every), n_spans):
        all_values.count(*span)
    sizes = np.bitwise_count(every)
    for size in range(len(cards) + 1):
        some = every[sizes == size]
        one_by_one = values.of(some).values if size else values.of_none().values
        entries = [math.prod(int(c) for v, c in enumerate(values.cards) if int(s) >> v & 1) for s in some]
        expected = np.where(np.array(entries) <= most_entries, one_by_one, -np.inf)
        np.testing.assert_allclose(all_values.values[some.astype(int)], expected, rtol=1e-12, atol=1e-9)


def test_states_beyond_a_byte_are_told_apart():
    rng = np.random.default_rng(0)
    columns = {"many": rng.integers(300, size=2000), "a": rng.integers(2, size=2000), "b": rng.integers(600, size=2000)}
    values = SetValues(BDeu(5).evaluator(TableCounter(bntk.Table.from_columns(columns))))
    all_values = values.counting_all()
    all_values.count(0, 8)
    for mask in range(1, 8):
        assert all_values.values[mask] == pytest.approx(values.of(np.array([mask], np.uint64)).values[0], rel=1e-12)


@pytest.mark.parametrize("score", [BIC(), BDeu(3)], ids=repr)
def test_differences_of_sets_are_the_scores_of_families(score):
    evaluator = evaluator_of(score, 5, 1, rows=400)
    values = SetValues(evaluator)
    place = {int(v): k for k, v in enumerate(values.order)}

    def g(nodes):
        mask = np.array([sum(1 << place[v] for v in nodes)], np.uint64)
        return (values.of(mask) if nodes else values.of_none()).values[0]

    cards = evaluator.counter.cards
    for child in range(5):
        others = [v for v in range(5) if v != child]
        for parents in (p for k in range(5) for p in combinations(others, k)):
            penalty = values.penalty * (cards[child] - 1) * math.prod(cards[v] for v in parents)
            difference = g((*parents, child)) - g(parents) - (penalty if values.alpha == 0 else 0)
            assert difference == pytest.approx(evaluator.local(child, parents), abs=1e-8)


def test_cells_with_very_many_equal_rows_count_in_full():
    table = bntk.Table.from_columns({"a": [0] * 700 + [1] * 300, "b": [0] * 650 + [1] * 350})
    evaluator = BDeu(1).evaluator(TableCounter(table))
    values = SetValues(evaluator)
    both = values.of(np.array([3], np.uint64)).values[0]
    for k, v in enumerate(values.order):
        single = values.of(np.array([1 << k], np.uint64)).values[0]
        assert both - single == pytest.approx(evaluator.local(1 - int(v), [int(v)]), abs=1e-9)


def test_only_scores_and_data_that_it_holds_for_are_served():
    table = random_network(1, 5, max_states=3).sample(100, seed=1)
    space = Space(table.names)
    assert Levels.serves(BIC().evaluator(TableCounter(table)), space)
    for score in (K2(), SB(2)):
        assert not Levels.serves(score.evaluator(TableCounter(table)), space)
    assert not Levels.serves(BIC().evaluator(TableCounter(table, np.linspace(0, 1, 100))), space)
    holes = bntk.datasets.with_missing(table, 0.2, seed=1)
    assert not Levels.serves(BIC().evaluator(TableCounter(holes)), space)
    assert not Levels.serves(BIC().evaluator(TableCounter(table), arc_weights=np.ones((5, 5))), space)
    features = table.names[:3]
    assert not Levels.serves(
        BIC().evaluator(TableCounter(table)), Space(table.names, groups=[Group(features, "forest")])
    )


class Subclass(BIC):
    """A score that is none of sets."""

    name = "subclass"

    def evaluate(self, batch, n):
        return super().evaluate(batch, n) * 0.5


def test_a_score_derived_from_one_of_sets_is_not_taken_for_it():
    assert not Levels.serves(evaluator_of(Subclass(), 5), Space([f"x{k}" for k in range(5)]))


@pytest.mark.parametrize("n_looks", [0, 5, 12, 25])
@pytest.mark.parametrize("score", [BIC(), BDeu(1)], ids=repr)
def test_stopped_early_it_tells_how_far_the_best_can_be(score, n_looks, monkeypatch):
    table = random_network(6, 14, max_states=3).sample(500, seed=6)
    best = learn_structure(table, score, search=Exact()).score
    looks = iter(range(n_looks))
    monkeypatch.setattr(levels, "_FEW", 10)  # small sets are gone through by size first

    def look(self):
        if next(looks, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(Levels, "_look_at_the_clock", look)
    with pytest.warns(InterruptedWarning, match="best structure so far"):
        result = learn_structure(table, score, search=Exact())
    assert result.interrupted
    assert not result.exact
    assert result.gap is not None
    assert 0 <= best - result.score + 1e-7 <= result.gap + 2e-7


def test_the_clock_is_looked_at_while_sets_are_counted():
    table = random_network(6, 15, max_states=3).sample(500, seed=6)
    result = learn_structure(table, "bdeu", search=Exact(time_budget=0.0))
    assert result.interrupted
    assert result.gap > 0


def test_memory_and_numbers_of_sets_are_refused_with_figures():
    table = random_network(6, 15, max_states=3).sample(200, seed=6)
    evaluator = BDeu(1).evaluator(TableCounter(table))
    space = Space(table.names)
    with pytest.raises(TooLargeError, match=r"take 0.0[0-9]+ GB, more than the limit of 0\.0001 GB; raise max_memory"):
        ParentSetFinder(evaluator, space, max_memory=1e-4).run()
    with pytest.raises(TooLargeError, match="parent sets have to be scored, more than the limit of 1,000"):
        learn_structure(table, "bdeu", search=Exact(max_sets=1000))


def test_a_known_structure_excludes_no_better_one():
    for seed in range(20):
        sets = find_parent_sets(evaluator_of(BIC(), 7, seed, rows=60), Space([f"x{k}" for k in range(7)]))
        nothing = best_structure(sets, known=[()] * 7)
        assert nothing is not None
        for known in (None, nothing):
            again = best_structure(sets, known=known)
            assert sum(s.score_of(p) for s, p in zip(sets, again)) == pytest.approx(
                sum(s.score_of(p) for s, p in zip(sets, nothing))
            )


def test_more_variables_than_bits_are_refused():
    table = bntk.Table.from_columns({f"x{k}": [0, 1] for k in range(45)})
    with pytest.raises(TooLargeError, match="at most 40 variables"):
        learn_structure(table, "bic", search=Exact(max_memory=math.inf))
    with pytest.raises(TooLargeError, match=r"33 variables needs 27\.\d GB, more than the limit of 8 GB"):
        learn_structure(table.select(table.names[:33]), "bic", search=Exact())


def test_the_number_of_threads_changes_nothing():
    table = random_network(9, 14, max_states=3).sample(300, seed=9)
    results = []
    for n_threads in (1, 3):
        with using_threads(n_threads):
            results.append(learn_structure(table, "bdeu", search=Exact()))
    first, second = results
    assert first.dag.arcs == second.dag.arcs
    assert (first.score, first.n_evaluated) == (second.score, second.n_evaluated)

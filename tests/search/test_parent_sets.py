"""Pruned parent sets lose nothing, and keep to the space."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from random_networks import random_network

import bntk
from bntk.errors import TooLargeError
from bntk.learning.counts import TableCounter
from bntk.learning.scores import AIC, BIC, FNML, K2, QNML, BDeu, BDs, LogLikelihood
from bntk.learning.search.parent_sets import (
    ParentSetFinder,
    count_parent_sets,
    find_parent_sets,
    grow_parents,
    select_candidates,
)
from bntk.learning.space import Group, Space


def subsets(nodes):
    return chain.from_iterable(combinations(nodes, k) for k in range(len(nodes) + 1))


def evaluator_of(score, n=6, seed=0, rows=200, holes=0.0, **options):
    table = random_network(seed, n, max_states=3).sample(rows, seed=seed)
    if holes:
        codes = np.array(table.codes)
        missing = np.array([v.n_states for v in table.variables])[:, None]
        codes = np.where(np.random.default_rng(seed).random(codes.shape) < holes, missing, codes)
        table = bntk.Table.from_codes(codes, table.variables)
    return score.evaluator(TableCounter(table), **options)


def evaluator_of_noise(score, n=6, rows=200):
    """Independent columns, so that the log-likelihood rises with every parent."""
    codes = np.random.default_rng(0).integers(0, 3, size=(n, rows))
    table = bntk.Table.from_codes(codes, [bntk.Variable(f"x{i}", ["a", "b", "c"]) for i in range(n)])
    return score.evaluator(TableCounter(table))


def best_within(sets, available):
    """Score of the first parent set within some nodes."""
    for rank in range(len(sets)):
        if set(sets.parents(rank)) <= set(available):
            return float(sets.scores[rank])
    return -np.inf


@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize(
    "score", [BIC(), AIC(), LogLikelihood(), BDeu(1), BDeu(10), K2(), BDs(1), FNML(), QNML()], ids=repr
)
def test_the_best_parents_within_any_set_are_those_of_brute_force(score, holes):
    for seed in range(2):
        evaluator = evaluator_of(score, seed=seed, holes=holes)
        n = len(evaluator.names)
        for sets in find_parent_sets(evaluator, Space(evaluator.names)):
            assert sets.complete
            others = [v for v in range(n) if v != sets.child]
            scores = {s: evaluator.local(sets.child, s) for s in subsets(others)}
            for available in subsets(others):
                best = max(scores[s] for s in subsets(available))
                assert best_within(sets, available) == pytest.approx(best, abs=1e-9)


def test_arc_weights_count():
    weights = np.random.default_rng(0).normal(0, 20, size=(5, 5))
    evaluator = evaluator_of(BIC(), n=5, arc_weights=weights)
    for sets in find_parent_sets(evaluator, Space(evaluator.names)):
        others = [v for v in range(5) if v != sets.child]
        assert sets.scores[0] == pytest.approx(max(evaluator.local(sets.child, s) for s in subsets(others)))


def test_every_set_is_better_than_its_subsets_and_the_best_comes_first():
    evaluator = evaluator_of(BDeu(5), seed=3)
    for sets in find_parent_sets(evaluator, Space(evaluator.names)):
        assert (np.diff(sets.scores) <= 0).all()
        for rank in range(len(sets)):
            parents = sets.parents(rank)
            assert sets.scores[rank] == evaluator.local(sets.child, parents)
            assert all(evaluator.local(sets.child, s) < sets.scores[rank] for s in subsets(parents) if s != parents)


def test_pruning_by_the_bound_saves_work():
    evaluator = evaluator_of_noise(BIC(), n=9, rows=100)
    find_parent_sets(evaluator, Space(evaluator.names))
    assert evaluator.n_evaluated < count_parent_sets(Space(evaluator.names)) / 2


def test_sets_keep_to_the_space():
    evaluator = evaluator_of_noise(LogLikelihood())  # wants as many parents as it can get
    a, b, c, d, e, f = evaluator.names
    space = Space(
        evaluator.names,
        required=[(a, b)],
        forbidden=[(c, d), (e, b)],
        max_parents={f: 2},
        groups=[Group([c, d, e, f], "kdb", k=1)],
    )
    sets = find_parent_sets(evaluator, space)
    for one in sets:
        for rank in range(len(one)):
            parents = set(one.parents(rank))
            assert all(space.allowed[p, one.child] for p in parents)
            assert one.child != 1 or 0 in parents
            assert one.child != 5 or len(parents) <= 2
            assert one.child < 2 or len(parents & {2, 3, 4, 5}) <= 1
    assert max(len(sets[1].parents(rank)) for rank in range(len(sets[1]))) == int(space.allowed[:, 1].sum()) == 4


def test_max_parents_of_the_search_adds_to_the_space():
    evaluator = evaluator_of_noise(LogLikelihood())
    for limit in (0, 1, 3):
        sets = find_parent_sets(evaluator, Space(evaluator.names), max_parents=limit)
        assert max(len(one.parents(rank)) for one in sets for rank in range(len(one))) == limit


def test_only_candidates_are_looked_at():
    evaluator = evaluator_of(LogLikelihood())
    sets = find_parent_sets(evaluator, Space(evaluator.names), candidates=[np.array([1, 3])] * 6)
    assert sets[0].candidates.tolist() == [1, 3]
    assert sets[1].candidates.tolist() == [3]


def test_too_many_sets_are_refused_with_ways_out():
    evaluator = evaluator_of(AIC(), n=8)
    with pytest.raises(TooLargeError, match="limit of 30; set max_parents"):
        find_parent_sets(evaluator, Space(evaluator.names), max_sets=30)
    wide = BIC().evaluator(TableCounter(bntk.Table.from_columns({f"x{i}": [0, 1] for i in range(70)})))
    with pytest.raises(TooLargeError, match="69 nodes may be parents of 'x0', more than 64"):
        find_parent_sets(wide, Space(wide.names))


def test_a_score_without_a_bound_is_refused_before_anything_is_scored():
    class Unbounded(BIC):
        def bounds(self, reach):
            return np.full(len(reach.cards), np.inf)

    evaluator = evaluator_of(Unbounded(), n=8)
    before = evaluator.n_evaluated
    with pytest.raises(TooLargeError, match="1,024 parent sets would have"):
        find_parent_sets(evaluator, Space(evaluator.names), max_sets=500)
    assert evaluator.n_evaluated == before
    assert count_parent_sets(Space(evaluator.names)) == 1024


def test_the_number_of_sets_respects_the_space():
    space = Space(list("abcd"), required=[("a", "b")], forbidden=[("c", "b")], max_parents=2)
    a = 1 + 2 + 1  # nothing from b into a
    b = 1 + 1  # always a, and d or not
    c = d = 1 + 3 + 3
    assert count_parent_sets(space) == a + b + c + d


def test_the_clock_stops_the_search_with_what_it_has():
    evaluator = evaluator_of(BIC())
    finder = ParentSetFinder(evaluator, Space(evaluator.names))
    finder.run(deadline=0.0)
    assert not finder.complete
    assert [len(one) for one in finder.results()] == [1] * 6
    finder.run()
    assert finder.complete


def test_more_sets_can_join():
    evaluator = evaluator_of(BIC())
    sets = find_parent_sets(evaluator, Space(evaluator.names), candidates=[np.array([1, 5])] * 6, max_parents=1)[3]
    more = [(0, 5), (1, 2, 5), ()]
    extended = sets.extended(more, evaluator.locals([(3, parents) for parents in more]))
    assert extended.candidates.tolist() == [0, 1, 2, 5]
    found = {extended.parents(rank): extended.scores[rank] for rank in range(len(extended))}
    assert set(found) == {*more, *(sets.parents(rank) for rank in range(len(sets)))}
    assert all(score == evaluator.local(3, parents) for parents, score in found.items())
    assert (np.diff(extended.scores) <= 0).all()


def test_growing_takes_the_best_parent_one_after_the_other():
    evaluator = evaluator_of(BIC(), seed=7)
    parents: list[list[int]] = [[] for _ in range(6)]
    gains = list(grow_parents(evaluator, parents, [[u for u in range(6) if u != v] for v in range(6)], [5] * 6))
    for v in range(6):
        grown: list[int] = []
        while True:
            scores = {x: evaluator.local(v, (*grown, x)) for x in range(6) if x not in (v, *grown)}
            best = max(scores, key=lambda x: scores[x], default=None)
            if best is None or scores[best] <= evaluator.local(v, grown):
                break
            grown.append(best)
        assert parents[v] == grown
    gained = evaluator.locals(list(enumerate(parents))).sum() - evaluator.locals([(v, ()) for v in range(6)]).sum()
    assert sum(gains) == pytest.approx(gained)


def test_candidates_hold_required_parents_and_those_that_matter():
    network = random_network(11, 12, max_parents=2, max_states=3)
    evaluator = BDeu(1).evaluator(TableCounter(network.sample(3000, seed=1)))
    names = evaluator.names
    space = Space(names, required=[(names[0], names[5])], forbidden=[(names[1], names[2])])
    candidates = select_candidates(evaluator, space, 4)
    assert 0 in candidates[5]
    assert 1 not in candidates[2]
    assert all(v not in chosen and len(chosen) >= 4 for v, chosen in enumerate(candidates))
    for v, pool in enumerate(candidates):  # the best single parent is always there
        allowed = np.flatnonzero(space.allowed[:, v])
        base = np.flatnonzero(space.required_matrix[:, v]).tolist()
        best = max((x for x in allowed if x not in base), key=lambda x: evaluator.local(v, (*base, x)))
        assert best in pool or evaluator.local(v, (*base, best)) <= evaluator.local(v, base)

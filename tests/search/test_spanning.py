"""Spanning trees and arborescences equal brute force and networkx; the search on top of them is exact."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest
from random_networks import random_network
from readings import ReadCounter

import bntk
from bntk.errors import DataError, GraphError, SpaceError
from bntk.learning.counts import TableCounter
from bntk.learning.scores import AIC, BIC, HGC, LOO, BDeu, LogLikelihood
from bntk.learning.search.spanning import SpanningTree, maximum_arborescence, maximum_spanning_tree
from bntk.learning.space import named as spaces


def all_parent_lists(n: int, forest: bool) -> list[tuple[int, ...]]:
    """Every directed tree (or forest) over n nodes, as the parent of each node; -1 for a root."""
    return [
        tails
        for tails in product(range(-1, n), repeat=n)
        if (forest or tails.count(-1) == 1) and all(_reaches_a_root(tails, v) for v in range(n))
    ]


def _reaches_a_root(tails: tuple[int, ...], v: int) -> bool:
    for _ in tails:
        v = tails[v]
        if v < 0:
            return True
    return False


def value(weights: np.ndarray, tails) -> float:
    return float(sum(weights[tail, head] for head, tail in enumerate(tails) if tail >= 0))


def some_weights(seed: int, n: int, symmetric: bool, ties: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    weights = rng.integers(-3, 5, size=(n, n)).astype(float) if ties else rng.normal(0.3, 1, size=(n, n))
    return weights + weights.T if symmetric else weights


TREES = {(n, forest): all_parent_lists(n, forest) for n in range(1, 6) for forest in (False, True)}


@pytest.mark.parametrize("forest", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_no_tree_is_better_than_the_spanning_tree(forest, ties):
    for n in range(1, 6):
        for seed in range(6):
            weights = some_weights(seed, n, symmetric=True, ties=ties)
            found = maximum_spanning_tree(weights, forest=forest)
            best = max(value(weights, tails) for tails in TREES[n, forest])
            assert tuple(found.tolist()) in TREES[n, forest]
            assert value(weights, found) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("forest", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_no_directed_tree_is_better_than_the_arborescence(forest, ties):
    for n in range(1, 6):
        for seed in range(12):
            weights = some_weights(seed, n, symmetric=False, ties=ties)
            for root in (None, n - 1):
                found = maximum_arborescence(weights, forest=forest, root=root)
                legal = [t for t in TREES[n, forest] if root is None or t[root] < 0]
                assert tuple(found.tolist()) in legal
                best = max(value(weights, tails) for tails in legal)
                assert value(weights, found) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("forest", [False, True])
def test_required_and_forbidden_arcs_are_kept(forest):
    rng = np.random.default_rng(0)
    n, n_impossible = 4, 0
    for seed in range(60):
        weights = some_weights(seed, n, symmetric=False, ties=False)
        allowed, required = rng.random((n, n)) < 0.6, rng.random((n, n)) < 0.08
        np.fill_diagonal(required, False)
        allowed |= required
        legal = [t for t in TREES[n, forest] if _keeps_to(t, allowed, required)]
        if legal:
            found = maximum_arborescence(weights, allowed=allowed, required=required, forest=forest)
            assert tuple(found.tolist()) in legal
            assert value(weights, found) == pytest.approx(max(value(weights, t) for t in legal), abs=1e-12)
        else:
            n_impossible += 1
            with pytest.raises(GraphError, match="no tree keeps"):
                maximum_arborescence(weights, allowed=allowed, required=required, forest=forest)
    assert 0 < n_impossible < 60


def _keeps_to(tails: tuple[int, ...], allowed: np.ndarray, required: np.ndarray) -> bool:
    arcs = {(tail, head) for head, tail in enumerate(tails) if tail >= 0}
    return all(allowed[arc] for arc in arcs) and all(tuple(arc) in arcs for arc in np.argwhere(required).tolist())


@pytest.mark.parametrize("forest", [False, True])
def test_required_and_forbidden_edges_are_kept(forest):
    n = 5
    for seed in range(20):
        weights = some_weights(seed, n, symmetric=True, ties=False)
        allowed, required = np.ones((n, n), bool), np.zeros((n, n), bool)
        required[1, 3] = allowed[0, 2] = True
        allowed[0, 1] = allowed[1, 0] = False
        found = maximum_spanning_tree(weights, allowed=allowed, required=required, forest=forest).tolist()

        def is_legal(tails):
            edges = {frozenset((head, tail)) for head, tail in enumerate(tails) if tail >= 0}
            return frozenset((1, 3)) in edges and frozenset((0, 1)) not in edges

        assert is_legal(found)
        best = max(value(weights, t) for t in TREES[n, forest] if is_legal(t))
        assert value(weights, found) == pytest.approx(best, abs=1e-12)


def test_trees_weigh_as_much_as_those_of_networkx():
    for seed in range(3):
        weights = some_weights(seed, 30, symmetric=True, ties=False)
        graph = nx.from_numpy_array(weights - np.diag(np.diag(weights)))
        expected = nx.maximum_spanning_tree(graph).size("weight")
        assert value(weights, maximum_spanning_tree(weights)) == pytest.approx(expected)


def test_arborescences_weigh_as_much_as_those_of_networkx():
    for seed in range(3):
        weights = some_weights(seed, 25, symmetric=False, ties=False)
        np.fill_diagonal(weights, 0)
        graph = nx.from_numpy_array(weights, create_using=nx.DiGraph)
        expected = nx.maximum_spanning_arborescence(graph).size("weight")
        assert value(weights, maximum_arborescence(weights)) == pytest.approx(expected)


def test_on_symmetric_weights_both_algorithms_agree():
    for seed in range(5):
        weights = some_weights(seed, 60, symmetric=True, ties=False)
        tree, arborescence = maximum_spanning_tree(weights), maximum_arborescence(weights)
        assert value(weights, tree) == pytest.approx(value(weights, arborescence))


def test_equal_edges_are_taken_in_column_order():
    assert maximum_spanning_tree(np.ones((5, 5))).tolist() == [-1, 0, 0, 0, 0]
    assert maximum_spanning_tree(np.ones((5, 5)), root=2).tolist() == [2, 0, -1, 0, 0]
    assert maximum_arborescence(np.ones((5, 5))).tolist()[0] == -1


def test_the_root_does_not_change_the_tree():
    weights = some_weights(3, 12, symmetric=True, ties=True)

    def edges(root):
        return {frozenset((h, t)) for h, t in enumerate(maximum_spanning_tree(weights, root=root).tolist()) if t >= 0}

    assert all(edges(root) == edges(None) for root in range(12))
    assert all(maximum_spanning_tree(weights, root=root)[root] == -1 for root in range(12))


def test_the_first_node_of_each_part_of_a_forest_is_its_root():
    weights = np.full((6, 6), -1.0)
    for a, b in [(1, 4), (4, 2), (3, 5)]:
        weights[a, b] = weights[b, a] = 1
    assert maximum_spanning_tree(weights, forest=True).tolist() == [-1, -1, 4, -1, 1, 3]
    assert maximum_spanning_tree(weights, forest=True, root=4).tolist() == [-1, 4, 4, -1, -1, 3]


def test_a_gain_of_zero_is_no_gain():
    assert maximum_spanning_tree(np.zeros((3, 3)), forest=True).tolist() == [-1, -1, -1]
    assert maximum_arborescence(np.zeros((3, 3)), forest=True).tolist() == [-1, -1, -1]


def test_what_cannot_be_is_refused():
    nothing = np.zeros((3, 3), bool)
    with pytest.raises(GraphError, match="do not connect"):
        maximum_spanning_tree(np.ones((3, 3)), allowed=nothing)
    with pytest.raises(GraphError, match="form a cycle"):
        maximum_spanning_tree(np.ones((3, 3)), required=~np.eye(3, dtype=bool))
    with pytest.raises(GraphError, match="square"):
        maximum_spanning_tree(np.ones((3, 2)))
    with pytest.raises(GraphError, match="from 0 to 2 is not a number"):
        maximum_arborescence(np.array([[0, 1, np.nan], [1, 0, 1], [1, 1, 0]]))


# ---- the search


def evaluator_of(score, n: int = 5, seed: int = 0, rows: int = 300):
    return score.evaluator(TableCounter(random_network(seed, n, max_states=3).sample(rows, seed=seed)))


def best_by_force(evaluator, space, choices) -> float:
    """The highest score of a legal structure among some, given as the parents of each node."""
    legal = [c for c in choices if space.allows(bntk.DAG._trusted(space.nodes, tuple(map(tuple, map(sorted, c)))))]
    return max(evaluator.locals(list(enumerate(parents))).sum() for parents in legal)


def trees_given(n: int, others: list[list[tuple[int, ...]]], forest: bool):
    """All trees over the first n nodes, each node with each of some sets of other parents."""
    for tails in TREES[n, forest]:
        for more in product(*others):
            yield [(*more[v], tails[v]) if v < n and tails[v] >= 0 else more[v] for v in range(len(more))]


@pytest.mark.parametrize("score", [BIC(), BDeu(2), LogLikelihood(), HGC(0.5)], ids=repr)
@pytest.mark.parametrize("forest", [False, True])
def test_the_best_tree_is_found(score, forest):
    evaluator = evaluator_of(score)
    space = spaces.forest(evaluator.names) if forest else spaces.tree(evaluator.names)
    result = SpanningTree().run(evaluator, space)
    assert result.exact
    assert space.allows(result.dag)
    assert result.score == pytest.approx(best_by_force(evaluator, space, trees_given(5, [[()]] * 5, forest)))


@pytest.mark.parametrize("score", [BIC(), BDeu(2), HGC(0.5)], ids=repr)
@pytest.mark.parametrize("space_of", [spaces.tan, spaces.fan, spaces.stan, spaces.sfan])
def test_the_best_tree_given_the_class_is_found(score, space_of):
    evaluator = evaluator_of(score, n=5, seed=1)
    *features, target = evaluator.names
    space = space_of(features, target)
    result = SpanningTree().run(evaluator, space)
    class_arcs = [(), (4,)] if space_of in (spaces.stan, spaces.sfan) else [(4,)]
    choices = trees_given(4, [class_arcs] * 4 + [[()]], forest=space_of in (spaces.fan, spaces.sfan))
    assert result.exact
    assert space.allows(result.dag)
    assert result.score == pytest.approx(best_by_force(evaluator, space, choices))


def test_constraints_on_the_tree_are_kept():
    evaluator = evaluator_of(AIC(), seed=2)
    names = evaluator.names
    space = spaces.tree(names).restrict(required=[(names[3], names[1])], forbidden=[(names[0], names[2])])
    result = SpanningTree().run(evaluator, space)
    assert space.allows(result.dag)
    assert result.score == pytest.approx(best_by_force(evaluator, space, trees_given(5, [[()]] * 5, False)))


def test_the_chosen_root_is_the_root():
    evaluator = evaluator_of(BIC(), seed=3)
    for root in evaluator.names:
        rooted = SpanningTree().run(evaluator, spaces.tree(evaluator.names, root=root))
        assert rooted.dag.roots == (root,)
        free = SpanningTree().run(evaluator, spaces.tree(evaluator.names))
        assert free.dag.roots == evaluator.names[:1]
        assert rooted.score == pytest.approx(free.score)


@pytest.mark.parametrize("space_of", [spaces.stand, spaces.sfand])
def test_discarding_gives_a_legal_structure(space_of):
    for seed in range(4):
        evaluator = evaluator_of(BIC(), n=6, seed=seed)
        space = space_of(evaluator.names[:-1], evaluator.names[-1])
        assert space.allows(SpanningTree().run(evaluator, space).dag)


def test_class_and_features_can_both_be_trees():
    evaluator = evaluator_of(BDeu(1), n=6, seed=5)
    space = spaces.multi_tan(evaluator.names[:4], evaluator.names[4:])
    result = SpanningTree().run(evaluator, space)
    assert result.exact
    assert space.allows(result.dag)
    bridges = [(), (4,), (5,), (4, 5)]

    def best_family(v, tail):
        return max(evaluator.local(v, (*bridge, tail) if tail >= 0 else bridge) for bridge in bridges)

    features = max(sum(best_family(v, tails[v]) for v in range(4)) for tails in TREES[4, False])
    classes = max(evaluator.local(4, ()) + evaluator.local(5, (4,)), evaluator.local(5, ()) + evaluator.local(4, (5,)))
    assert result.score == pytest.approx(features + classes)


def test_the_order_of_the_columns_does_not_change_the_score():
    table = random_network(8, 7).sample(400, seed=8)
    backwards = table.names[::-1]
    there = SpanningTree().run(BIC().evaluator(TableCounter(table)), spaces.tree(table.names))
    back = SpanningTree().run(BIC().evaluator(TableCounter(table.select(backwards))), spaces.tree(backwards))
    assert there.score == pytest.approx(back.score)


def test_other_spaces_and_scores_are_refused():
    evaluator = evaluator_of(BIC())
    with pytest.raises(SpaceError, match="only trees and forests"):
        SpanningTree().run(evaluator, spaces.dag(evaluator.names))
    of_predictions = LOO(target=evaluator.names[0]).evaluator(evaluator.counter)
    with pytest.raises(DataError, match="sum over families"):
        SpanningTree().run(of_predictions, spaces.tree(evaluator.names))


@pytest.mark.parametrize("space", [spaces.tan, spaces.fan, lambda features, target: spaces.tree((*features, target))])
def test_rows_are_read_once(space):
    counter = ReadCounter(random_network(3, 8).sample(300, seed=3))
    *features, target = counter.names
    evaluator = BIC().evaluator(counter)
    found = SpanningTree().run(evaluator, space(features, target))
    assert counter.n_readings == 1
    assert found.score == pytest.approx(bntk.score(found.dag, counter, "bic"), rel=1e-12)

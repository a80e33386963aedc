"""Greedy orders against a plain rewriting, triangulations and clique trees against their definitions."""

from __future__ import annotations

import math
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import dags, undirected_graphs

import bntk
from bntk.errors import GraphError, UnknownNameError
from bntk.graph import (
    DAG,
    UndirectedGraph,
    best_elimination_order,
    clique_tree,
    elimination_order,
    triangulate,
)
from bntk.graph.triangulation import HEURISTICS, _later_neighbors, _log_total_size

GREEDY = ("min_fill", "min_weight", "weighted_min_fill", "min_degree")
heuristics = st.sampled_from(HEURISTICS)
square = UndirectedGraph(list("ABCD"), [("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")])


def cost(graph: nx.Graph, node: str, heuristic: str, states: dict[str, int]) -> int:
    around = list(graph[node])
    if heuristic == "min_degree":
        return len(around)
    if heuristic == "min_weight":
        return math.prod(states[n] for n in [node, *around])
    missing = [(a, b) for a, b in combinations(around, 2) if not graph.has_edge(a, b)]
    return sum(states[a] * states[b] if heuristic == "weighted_min_fill" else 1 for a, b in missing)


def plain_order(graph: UndirectedGraph, heuristic: str, states: dict[str, int]) -> tuple[str, ...]:
    """Greedy elimination word by word: everything is recomputed, the first of the best is taken."""
    left = graph.to_networkx()
    order = []
    while left:
        node = min(graph.nodes, key=lambda n: cost(left, n, heuristic, states) if n in left else math.inf)
        left.add_edges_from(combinations(list(left[node]), 2))
        left.remove_node(node)
        order.append(node)
    return tuple(order)


def log_states(states: dict[str, int]) -> dict[str, float]:
    return {name: math.log(count) for name, count in states.items()}


@given(undirected_graphs(), st.sampled_from(GREEDY), st.data())
def test_greedy_orders_equal_the_plain_algorithm(graph, heuristic, data):
    states = {name: data.draw(st.integers(1, 5)) for name in graph.nodes}
    assert elimination_order(graph, log_states(states), heuristic) == plain_order(graph, heuristic, states)


@pytest.mark.parametrize("heuristic", GREEDY)
@pytest.mark.parametrize("n", [64, 65, 150])
def test_greedy_orders_of_graphs_of_more_than_one_machine_word(heuristic, n):
    reference = nx.gnm_random_graph(n, 2 * n, seed=n)
    graph = UndirectedGraph([f"x{i}" for i in range(n)], [(f"x{a}", f"x{b}") for a, b in reference.edges])
    states = {name: 2 + i % 4 for i, name in enumerate(graph.nodes)}
    assert elimination_order(graph, log_states(states), heuristic) == plain_order(graph, heuristic, states)


@given(undirected_graphs(), heuristics, st.none() | st.integers(0, 9), st.randoms(use_true_random=False))
def test_an_order_depends_on_the_graph_and_seed_alone(graph, heuristic, seed, random):
    order = elimination_order(graph, None, heuristic, seed)
    assert sorted(order) == sorted(graph.nodes)
    shuffled = UndirectedGraph(graph.nodes, random.sample(graph.edges, graph.n_edges))
    assert elimination_order(shuffled, [math.log(2)] * graph.n_nodes, heuristic, seed) == order


@given(undirected_graphs(), st.sampled_from(GREEDY), st.integers(0, 9), st.data())
def test_with_a_seed_every_step_is_still_one_of_the_cheapest(graph, heuristic, seed, data):
    states = {name: data.draw(st.integers(1, 5)) for name in graph.nodes}
    left = graph.to_networkx()
    for node in elimination_order(graph, log_states(states), heuristic, seed):
        assert cost(left, node, heuristic, states) == min(cost(left, n, heuristic, states) for n in left)
        left.add_edges_from(combinations(list(left[node]), 2))
        left.remove_node(node)


def test_seeds_choose_among_equals():
    graph = UndirectedGraph([f"x{i}" for i in range(6)])
    assert elimination_order(graph) == graph.nodes
    assert len({elimination_order(graph, seed=seed) for seed in range(8)}) > 3


@given(undirected_graphs(), heuristics)
def test_a_chordal_graph_needs_no_edge_and_others_become_chordal(graph, heuristic):
    filled = triangulate(graph, elimination_order(graph, None, heuristic))
    assert set(graph.edges) <= set(filled.edges)
    assert nx.is_chordal(filled.to_networkx())
    for perfect in ("min_fill", "max_cardinality"):
        assert triangulate(filled, elimination_order(filled, None, perfect)) == filled


@given(undirected_graphs(), st.data())
def test_triangulation_joins_what_elimination_joins(graph, data):
    order = data.draw(st.permutations(graph.nodes))
    left, filled = graph.to_networkx(), graph.to_networkx()
    for node in order:
        new = list(combinations(list(left[node]), 2))
        left.add_edges_from(new)
        filled.add_edges_from(new)
        left.remove_node(node)
    assert triangulate(graph, order) == UndirectedGraph(graph.nodes, filled.edges)


@given(undirected_graphs(), st.data())
def test_a_clique_tree_has_the_maximal_cliques_and_the_running_intersection_property(graph, data):
    order = data.draw(st.permutations(graph.nodes))
    tree = clique_tree(graph, order)
    maximal = nx.find_cliques(triangulate(graph, order).to_networkx())
    assert sorted(map(sorted, tree.cliques)) == sorted(map(sorted, maximal))
    assert tree.parent[:1] == (-1,) * min(1, tree.n_cliques)
    for child, (parent, separator) in enumerate(zip(tree.parent, tree.separators)):
        assert parent < child
        shared = set() if parent < 0 else set(tree.cliques[child]) & set(tree.cliques[parent])
        assert set(separator) == shared
        assert parent >= 0 or child == 0
    for name in graph.nodes:  # a part of a tree is connected when it has one edge less than cliques
        assert len(tree.containing([name])) == 1 + sum(name in separator for separator in tree.separators)
    for names, indices in zip(tree.cliques + tree.separators, tree.clique_indices + tree.separator_indices):
        assert tuple(graph.nodes[i] for i in indices) == names
        assert list(indices) == sorted(indices)


@given(dags(min_nodes=1), heuristics)
def test_every_family_lies_in_a_clique(dag, heuristic):
    moral = dag.moral_graph()
    tree = clique_tree(moral, elimination_order(moral, None, heuristic))
    for name in dag.nodes:
        family = {name, *dag.parents(name)}
        found = tree.containing(family)
        assert found
        assert [i for i, clique in enumerate(tree.cliques) if family <= set(clique)] == list(found)


@given(undirected_graphs(), st.data())
def test_the_size_that_orders_are_chosen_by_is_that_of_the_clique_tree(graph, data):
    order = data.draw(st.permutations(graph.nodes))
    logs = np.log(data.draw(st.lists(st.integers(1, 9), min_size=graph.n_nodes, max_size=graph.n_nodes)))
    places = [graph.index(name) for name in order]
    size = _log_total_size(_later_neighbors(graph, places), logs[places].tolist())
    assert size == pytest.approx(clique_tree(graph, order).log_total_size(logs), abs=1e-12)


@settings(max_examples=50)
@given(undirected_graphs(), st.data())
def test_the_best_order_is_no_worse_than_any_it_tried(graph, data):
    states = {name: data.draw(st.integers(2, 5)) for name in graph.nodes}
    weights = log_states(states)
    best = clique_tree(graph, best_elimination_order(graph, weights, GREEDY, tries=2))
    total = sum(math.prod(states[n] for n in clique) for clique in best.cliques)
    assert math.isclose(math.exp(best.log_total_size(weights)), total, rel_tol=1e-9)
    for heuristic in GREEDY:
        tree = clique_tree(graph, elimination_order(graph, weights, heuristic))
        assert total <= sum(math.prod(states[n] for n in clique) for clique in tree.cliques)


def test_the_best_order_is_the_same_for_every_number_of_threads():
    reference = nx.gnm_random_graph(60, 150, seed=1)
    graph = UndirectedGraph([f"x{i}" for i in range(60)], [(f"x{a}", f"x{b}") for a, b in reference.edges])
    orders = set()
    for threads in (1, 3):
        bntk.set_threads(threads)
        orders.add(best_elimination_order(graph, tries=3, seed=5))
    bntk.set_threads(None)
    assert len(orders) == 1


def test_sizes_of_a_known_tree():
    tree = clique_tree(square, list("ABCD"))
    assert tree.cliques == (("B", "C", "D"), ("A", "B", "D"))
    np.testing.assert_allclose(np.exp(tree.log_sizes(np.log([2, 3, 4, 5]))), [60, 30])
    assert math.isclose(tree.log_total_size(np.log([2, 3, 4, 5])), math.log(90))
    assert tree.width == 2
    assert clique_tree(UndirectedGraph([]), []).log_total_size() == -math.inf


def test_naive_bayes_takes_one_small_clique_a_feature():
    dag = DAG(["class", "x", "y", "z"], [("class", f) for f in "xyz"])
    tree = clique_tree(dag.moral_graph(), best_elimination_order(dag.moral_graph()))
    assert sorted(tree.cliques) == [("class", "x"), ("class", "y"), ("class", "z")]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: elimination_order(square, heuristic="magic"), GraphError, "min_fill, min_weight"),
        (lambda: best_elimination_order(square, heuristics=["magic"]), GraphError, "'magic'"),
        (lambda: elimination_order(square, [1.0]), GraphError, "4 nodes"),
        (lambda: elimination_order(square, {"A": 1.0, "B": 1.0}), GraphError, "'C', 'D'"),
        (lambda: elimination_order(square, [1, 1, 1, math.nan]), GraphError, "finite"),
        (lambda: elimination_order(square, [1, 1, 1, -1]), GraphError, "negative"),
        (lambda: clique_tree(square, list("ABC")), GraphError, "leaves out 'D'"),
        (lambda: triangulate(square, list("ABCC")), GraphError, "'C' is given twice"),
        (lambda: triangulate(square, list("ABCZ")), UnknownNameError, "'Z'"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()

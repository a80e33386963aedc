"""Undirected graphs agree with networkx."""

from __future__ import annotations

import pickle

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import undirected_graphs

from bntk.errors import GraphError, UnknownNameError
from bntk.graph import UndirectedGraph


@given(undirected_graphs(), st.data())
def test_agrees_with_networkx(graph, data):
    reference = graph.to_networkx()
    assert list(reference.nodes) == list(graph.nodes)
    assert graph.n_edges == len(graph.edges) == reference.number_of_edges()
    for a in graph.nodes:
        assert set(graph.neighbors(a)) == set(reference.neighbors(a))
        assert all(graph.has_edge(a, b) == reference.has_edge(a, b) for b in graph.nodes)
    assert {frozenset(c) for c in graph.connected_components()} == set(
        map(frozenset, nx.connected_components(reference))
    )
    chosen = data.draw(st.lists(st.sampled_from(graph.nodes), unique=True)) if graph.nodes else []
    part = graph.subgraph(chosen)
    assert part == UndirectedGraph(sorted(chosen, key=graph.index), reference.subgraph(chosen).edges)


@given(undirected_graphs(), st.randoms(use_true_random=False))
def test_edges_may_come_in_any_order_and_direction(graph, random):
    edges = [random.choice([(a, b), (b, a)]) for a, b in random.sample(graph.edges, graph.n_edges)]
    same = UndirectedGraph(graph.nodes, edges)
    assert same == graph
    assert hash(same) == hash(graph)
    assert pickle.loads(pickle.dumps(graph)) == graph


@pytest.mark.parametrize(
    ("edges", "error", "message"),
    [
        ([("A", "B"), ("B", "A")], GraphError, "'B' and 'A' is given twice"),
        ([("A", "A")], GraphError, "itself"),
        ([("A", "Z")], UnknownNameError, "'Z'"),
        (["AB"], GraphError, "pair"),
    ],
)
def test_what_is_no_edge_is_refused(edges, error, message):
    with pytest.raises(error, match=message):
        UndirectedGraph(["A", "B"], edges)

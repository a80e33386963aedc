"""Equivalence classes against enumeration of all DAGs on four nodes, and laws on random ones."""

from __future__ import annotations

import pickle
from collections import defaultdict
from functools import cache
from itertools import combinations, product

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import dags

from bntk.errors import CycleError, GraphError, UnknownNameError
from bntk.graph import (
    DAG,
    PDAG,
    compare,
    consistent_extension,
    cpdag,
    hamming,
    is_equivalent,
    meek,
    shd,
    v_structures,
)

NODES = tuple("ABCD")


@cache
def all_dags() -> tuple[DAG, ...]:
    found = []
    for choice in product([0, 1, 2], repeat=6):
        pairs = zip(combinations(NODES, 2), choice)
        arcs = [pair if way == 1 else pair[::-1] for pair, way in pairs if way]
        if nx.is_directed_acyclic_graph(nx.DiGraph(arcs)):
            found.append(DAG(NODES, arcs))
    return tuple(found)


@cache
def classes() -> tuple[tuple[DAG, ...], ...]:
    """All DAGs on four nodes, grouped by the d-separations that networkx finds in them."""
    questions = [
        ({x}, {y}, set(given))
        for x, y in combinations(NODES, 2)
        for size in range(3)
        for given in combinations([n for n in NODES if n not in (x, y)], size)
    ]
    groups = defaultdict(list)
    for dag in all_dags():
        graph = dag.to_networkx()
        groups[tuple(nx.is_d_separator(graph, *question) for question in questions)].append(dag)
    return tuple(map(tuple, groups.values()))


def test_there_are_as_many_dags_and_classes_as_published():
    assert len(all_dags()) == 543  # Robinson (1973)
    assert len(classes()) == 185  # Gillispie and Perlman (2001)


def test_the_cpdag_has_the_arcs_on_which_the_whole_class_agrees():
    for members in classes():
        agreed = set.intersection(*(set(dag.arcs) for dag in members))
        open_edges = {frozenset(arc) for arc in members[0].arcs} - {frozenset(arc) for arc in agreed}
        expected = PDAG(NODES, agreed, [tuple(edge) for edge in open_edges])
        assert all(cpdag(dag) == expected for dag in members)


def test_equivalent_means_the_same_d_separations():
    firsts = [members[0] for members in classes()]
    lasts = [members[-1] for members in classes()]
    for i, a in enumerate(firsts):
        for j, b in enumerate(lasts):
            assert is_equivalent(a, b) == (i == j)
            assert (shd(a, b) == 0) == (i == j)


def test_the_consistent_extension_of_a_cpdag_is_in_its_class():
    for members in classes():
        assert consistent_extension(cpdag(members[0])) in members


def test_meek_closes_the_v_structures_to_the_cpdag():
    for members in classes():
        dag = members[0]
        compelled = {(p, child) for a, child, b in v_structures(dag) for p in (a, b)}
        pattern = PDAG(NODES, compelled, [arc for arc in dag.arcs if arc not in compelled])
        assert meek(pattern) == cpdag(dag)
        assert meek(cpdag(dag)) == cpdag(dag)


def test_meek_with_background_knowledge_keeps_what_the_members_that_have_it_agree_on():
    for members in classes():
        graph = cpdag(members[0])
        for a, b in graph.undirected:
            with_arc = [dag for dag in members if dag.has_arc(a, b)]
            rest = [edge for edge in graph.undirected if edge != (a, b)]
            agreed = set.intersection(*(set(dag.arcs) for dag in with_arc))
            assert set(meek(PDAG(NODES, [*graph.directed, (a, b)], rest)).directed) == agreed


def test_the_fourth_rule_of_meek():
    # a -- b, a -- c, a -- d, c -> d -> b, and c and b are not adjacent: only a -> b is compelled.
    closed = meek(PDAG(list("abcd"), [("c", "d"), ("d", "b")], [("a", "b"), ("a", "c"), ("a", "d")]))
    assert closed.directed == (("a", "b"), ("c", "d"), ("d", "b"))


@given(dags(max_nodes=9))
def test_larger_graphs_meek_and_chickering_agree(dag):
    compelled = {(p, child) for a, child, b in v_structures(dag) for p in (a, b)}
    pattern = PDAG(dag.nodes, compelled, [arc for arc in dag.arcs if arc not in compelled])
    assert meek(pattern) == dag.cpdag()
    assert dag.is_equivalent(consistent_extension(pattern))
    assert dag.is_equivalent(consistent_extension(dag.cpdag()))


@st.composite
def two_dags_on_the_same_nodes(draw) -> tuple[DAG, DAG]:
    """The second has its nodes in another order."""
    first, second = draw(dags(min_nodes=5, max_nodes=5)), draw(dags(min_nodes=5, max_nodes=5))
    return first, second.relabel(dict(zip(second.nodes, draw(st.permutations(first.nodes)))))


@given(two_dags_on_the_same_nodes())
def test_shd_is_a_distance_between_classes(pair):
    a, b = pair
    assert shd(a, a) == 0
    assert shd(a, b) == shd(b, a) == shd(a.cpdag(), b.cpdag()) == shd(a, b.reorder(a.nodes))
    assert hamming(a, b) == hamming(b, a) <= shd(a, b)
    assert is_equivalent(a, b) == is_equivalent(b, a) == (shd(a, b) == 0)


@given(two_dags_on_the_same_nodes())
def test_comparison_sorts_every_arc_into_one_place(pair):
    learned, reference = pair
    result = compare(learned, reference)
    assert sorted(result.correct + result.added + result.reversed) == sorted(learned.arcs)
    turned = tuple((b, a) for a, b in result.reversed)
    assert sorted(result.correct + result.missing + turned) == sorted(reference.arcs)
    assert (result.tp + result.fp, result.tp + result.fn) == (learned.n_arcs, reference.n_arcs)
    assert hamming(learned, reference) == len(result.added) + len(result.missing)


def test_comparison_reads_well():
    result = compare(DAG.parse("A -> B; C -> B; A -> D"), DAG.parse("D; C; B; A -> B -> C -> D"))
    assert (result.correct, result.added) == ((("A", "B"),), (("A", "D"),))
    assert (result.missing, result.reversed) == ((("C", "D"),), (("C", "B"),))
    assert "reversed    1  C -> B" in repr(result)


@pytest.mark.parametrize("function", [is_equivalent, shd, hamming, compare])
def test_graphs_on_different_nodes_are_not_compared(function):
    with pytest.raises(GraphError, match="'C'"):
        function(DAG.parse("A -> B"), DAG.parse("A -> C; B"))


def test_a_pdag_without_extension_is_refused():
    square = PDAG(NODES, [], [("A", "B"), ("B", "C"), ("C", "D"), ("A", "D")])
    with pytest.raises(GraphError, match="among 'A', 'B', 'C', 'D'"):
        consistent_extension(square)


@pytest.mark.parametrize(
    ("directed", "undirected", "error", "message"),
    [
        ([("A", "B")], [("B", "A")], GraphError, "joined twice"),
        ([("A", "B"), ("B", "A")], [], GraphError, "joined twice"),
        ([("A", "B"), ("B", "C"), ("C", "A")], [], CycleError, "A -> B -> C -> A"),
        ([], [("A", "Z")], UnknownNameError, "'Z'"),
        ([], [("A", "A")], GraphError, "itself"),
    ],
)
def test_what_is_no_pdag_is_refused(directed, undirected, error, message):
    with pytest.raises(error, match=message):
        PDAG(NODES, directed, undirected)


@given(dags())
def test_a_pdag_is_a_value(dag):
    graph = dag.cpdag()
    same = PDAG(graph.nodes, graph.directed[::-1], [(b, a) for a, b in graph.undirected])
    assert same == graph
    assert hash(same) == hash(graph)
    assert pickle.loads(pickle.dumps(graph)) == graph
    assert {frozenset(e) for e in graph.skeleton().edges} == {frozenset(arc) for arc in dag.arcs}
    for name in graph.nodes:
        around = {*graph.parents(name), *graph.children(name), *graph.neighbors(name)}
        assert around == set(dag.parents(name)) | set(dag.children(name))

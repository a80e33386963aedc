"""A DAG checks what it is given, never changes, and answers as networkx does."""

from __future__ import annotations

import pickle
import subprocess
import sys
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import dags, odd_names

from bntk.errors import CycleError, GraphError, UnknownNameError
from bntk.graph import DAG


def in_node_order(dag: DAG, names) -> tuple[str, ...]:
    return tuple(sorted(names, key=dag.index))


@pytest.mark.parametrize(
    ("nodes", "arcs", "error", "named"),
    [
        (["A", "A"], [], GraphError, "'A' is given twice"),
        (["A", 3], [], GraphError, "3"),
        ([""], [], GraphError, "''"),
        ("AB", [], GraphError, "'AB'"),
        (["A", "B"], ["AB"], GraphError, "'AB'"),
        (["A", "B"], [("A", "B", "A")], GraphError, "('A', 'B', 'A')"),
        (["A", "B"], [("A", "A")], GraphError, "'A'"),
        (["A", "B"], [("A", "B"), ("A", "B")], GraphError, "'A' -> 'B' is given twice"),
        (["A", "B"], [("A", "Z")], UnknownNameError, "'Z'"),
        (["smoke", "lung"], [("smok", "lung")], UnknownNameError, "did you mean 'smoke'"),
        (["A", "B"], [("A", ["B"])], UnknownNameError, "['B']"),
    ],
)
def test_what_is_no_graph_is_refused_by_name(nodes, arcs, error, named):
    with pytest.raises(error) as caught:
        DAG(nodes, arcs)
    assert named in str(caught.value)


@given(dags(min_nodes=2), st.data())
def test_a_cycle_is_refused_and_the_cycle_named_exists(dag, data):
    pairs = [(a, d) for a in dag.nodes for d in dag.descendants(a)]
    if not pairs:
        return
    start, end = data.draw(st.sampled_from(pairs))
    arcs = [*dag.arcs, (end, start)]
    with pytest.raises(CycleError) as caught:
        DAG(dag.nodes, arcs)
    cycle = caught.value.cycle
    assert cycle[0] == cycle[-1]
    assert len(set(cycle)) == len(cycle) - 1
    assert set(pairwise(cycle)) <= set(arcs)
    # There is one new arc, so the shortest cycle is the shortest way round it.
    assert len(cycle) - 1 == nx.shortest_path_length(dag.to_networkx(), start, end) + 1
    with pytest.raises(CycleError) as again:
        DAG(dag.nodes, data.draw(st.permutations(arcs)))
    assert again.value.cycle == cycle


def test_a_two_cycle_is_preferred_to_a_long_one():
    with pytest.raises(CycleError, match="B -> C -> B"):
        DAG(list("ABCDE"), [("A", "B"), ("B", "C"), ("C", "D"), ("D", "E"), ("E", "A"), ("C", "B")])


def test_a_dag_cannot_be_changed():
    dag = DAG.parse("A -> B")
    with pytest.raises(AttributeError):
        dag.nodes = ()
    with pytest.raises(AttributeError):
        dag.note = "new"
    with pytest.raises(AttributeError):
        del dag.nodes


@given(dags(names=odd_names))
def test_equality_hash_and_pickle_go_by_nodes_in_order_and_arcs(dag):
    same = DAG(dag.nodes, dag.arcs[::-1])
    assert same == dag
    assert hash(same) == hash(dag)
    copy = pickle.loads(pickle.dumps(dag))
    assert copy == dag
    assert copy.topological_order == dag.topological_order
    assert dag != dag.add_node("one more")
    if dag.n_nodes > 1:
        assert dag.reorder(dag.nodes[::-1]) != dag
    if dag.arcs:
        assert dag.remove_arc(*dag.arcs[0]) != dag


def test_a_dag_differs_from_other_kinds_of_graph():
    dag = DAG(["A", "B"])
    assert dag != dag.moral_graph()
    assert dag != dag.cpdag()
    assert dag != "A; B"


@given(dags())
def test_families_agree_with_networkx(dag):
    graph = dag.to_networkx()
    assert list(graph.nodes) == list(dag.nodes)
    assert set(graph.edges) == set(dag.arcs)
    assert dag.n_arcs == len(dag.arcs) == graph.number_of_edges()
    assert list(dag.arcs) == sorted(dag.arcs, key=lambda arc: (dag.index(arc[0]), dag.index(arc[1])))
    for name in dag.nodes:
        assert dag.parents(name) == in_node_order(dag, graph.predecessors(name))
        assert dag.children(name) == in_node_order(dag, graph.successors(name))
        assert dag.ancestors(name) == in_node_order(dag, nx.ancestors(graph, name))
        assert dag.descendants(name) == in_node_order(dag, nx.descendants(graph, name))
    assert dag.roots == tuple(n for n in dag.nodes if graph.in_degree(n) == 0)
    assert dag.leaves == tuple(n for n in dag.nodes if graph.out_degree(n) == 0)
    assert all(dag.has_arc(a, b) == graph.has_edge(a, b) for a in dag.nodes for b in dag.nodes)
    assert dag.is_forest == (dag.n_nodes == 0 or nx.is_branching(graph))
    assert dag.is_tree == (dag.n_nodes > 0 and nx.is_arborescence(graph))


@given(dags(), st.data())
def test_ancestors_of_several_nodes_are_those_of_each(dag, data):
    some = data.draw(st.lists(st.sampled_from(dag.nodes), unique=True)) if dag.nodes else []
    graph = dag.to_networkx()
    assert set(dag.ancestors(some)) == set().union(*(nx.ancestors(graph, n) for n in some)) - set(some)
    assert set(dag.descendants(some)) == set().union(*(nx.descendants(graph, n) for n in some)) - set(some)


@given(dags(max_nodes=9))
def test_topological_order_takes_the_first_node_that_is_free(dag):
    reference = nx.lexicographical_topological_sort(dag.to_networkx(), key=dag.index)
    assert dag.topological_order == tuple(reference)


@given(dags())
def test_moral_graph_agrees_with_networkx(dag):
    reference = nx.moral_graph(dag.to_networkx())
    moral = dag.moral_graph()
    assert moral.nodes == dag.nodes
    assert {frozenset(edge) for edge in moral.edges} == {frozenset(edge) for edge in reference.edges}


@given(dags(min_nodes=1), st.data())
def test_the_markov_blanket_is_the_least_set_that_shields_a_node(dag, data):
    node = data.draw(st.sampled_from(dag.nodes))
    blanket = set(dag.markov_blanket(node))
    others = set(dag.nodes) - blanket - {node}
    graph = dag.to_networkx()
    assert not others or nx.is_d_separator(graph, {node}, others, blanket)
    for member in blanket:
        assert not nx.is_d_separator(graph, {node}, {member}, set(dag.nodes) - {node, member})


@given(dags(min_nodes=2), st.data())
def test_adding_and_removing_an_arc_undo_each_other(dag, data):
    a, b = data.draw(st.permutations(dag.nodes))[:2]
    if dag.has_arc(a, b):
        smaller = dag.remove_arc(a, b)
        assert set(smaller.arcs) == set(dag.arcs) - {(a, b)}
        assert smaller.add_arc(a, b) == dag
        with pytest.raises(GraphError, match="already"):
            dag.add_arc(a, b)
    elif b in dag.ancestors(a):
        with pytest.raises(CycleError):
            dag.add_arc(a, b)
    else:
        assert dag.add_arc(a, b).remove_arc(a, b) == dag
        with pytest.raises(GraphError, match="no arc"):
            dag.remove_arc(a, b)


def test_reversing_an_arc():
    dag = DAG.parse("A -> B -> C; A -> C")
    assert dag.reverse_arc("A", "B") == DAG.parse("B -> A; B -> C; A -> C", nodes=["A", "B", "C"])
    with pytest.raises(CycleError, match="A -> B -> C -> A"):
        dag.reverse_arc("A", "C")
    with pytest.raises(GraphError, match="other way"):
        dag.reverse_arc("B", "A")
    with pytest.raises(UnknownNameError, match="'Z'"):
        dag.add_arc("A", "Z")
    with pytest.raises(GraphError, match="itself"):
        dag.add_arc("A", "A")


@given(dags(min_nodes=1), st.data())
def test_an_intervention_removes_the_arcs_into_its_nodes_and_no_other(dag, data):
    chosen = data.draw(st.lists(st.sampled_from(dag.nodes), unique=True))
    assert set(dag.do(*chosen).arcs) == {(a, b) for a, b in dag.arcs if b not in chosen}


@given(dags(min_nodes=1), st.data())
def test_subgraph_agrees_with_networkx_and_keeps_the_order(dag, data):
    chosen = data.draw(st.lists(st.sampled_from(dag.nodes), unique=True))
    part = dag.subgraph(chosen)
    assert part.nodes == in_node_order(dag, chosen)
    assert set(part.arcs) == set(dag.to_networkx().subgraph(chosen).edges)


@given(dags(), st.randoms(use_true_random=False))
def test_reordering_keeps_the_arcs(dag, random):
    order = random.sample(dag.nodes, dag.n_nodes)
    moved = dag.reorder(order)
    assert moved.nodes == tuple(order)
    assert set(moved.arcs) == set(dag.arcs)
    assert moved.reorder(dag.nodes) == dag


@given(dags())
def test_renaming_and_renaming_back(dag):
    forth = {name: f"new {name}" for name in dag.nodes[::2]}
    renamed = dag.relabel(forth)
    assert set(renamed.arcs) == {(forth.get(a, a), forth.get(b, b)) for a, b in dag.arcs}
    assert renamed.relabel({new: old for old, new in forth.items()}) == dag


def test_edits_refuse_what_does_not_fit():
    dag = DAG.parse("A -> B -> C")
    with pytest.raises(GraphError, match="leaves out 'C'"):
        dag.reorder(["B", "A"])
    with pytest.raises(GraphError, match="'A' is given twice"):
        dag.relabel({"B": "A"})
    with pytest.raises(UnknownNameError, match="'Z'"):
        dag.relabel({"Z": "A"})
    with pytest.raises(GraphError, match="'A' is given twice"):
        dag.add_node("A")
    with pytest.raises(UnknownNameError, match="the nodes are: 'A', 'B', 'C'"):
        dag.subgraph(["A", "Z"])


@given(dags())
def test_matrix_and_networkx_round_trips(dag):
    matrix = dag.adjacency()
    assert {(dag.nodes[i], dag.nodes[j]) for i, j in np.argwhere(matrix)} == set(dag.arcs)
    assert DAG.from_adjacency(matrix, dag.nodes) == dag
    assert DAG.from_adjacency(matrix.astype(int).tolist() or np.zeros((0, 0)), dag.nodes) == dag
    assert DAG.from_networkx(dag.to_networkx()) == dag


@pytest.mark.parametrize("matrix", [[[0, 1]], [[0, 2], [0, 0]], [[0, 0.5], [0, 0]]])
def test_a_matrix_that_is_no_adjacency_matrix_is_refused(matrix):
    with pytest.raises(GraphError):
        DAG.from_adjacency(matrix, ["A", "B"])


def test_networkx_graphs_that_cannot_be_dags_are_refused_with_advice():
    with pytest.raises(GraphError, match="relabel_nodes"):
        DAG.from_networkx(nx.DiGraph([(1, 2)]))
    with pytest.raises(GraphError, match="undirected"):
        DAG.from_networkx(nx.Graph([("A", "B")]))


def test_ten_thousand_nodes_in_a_row():
    n = 10_000
    nodes = [f"x{i}" for i in range(n)]
    dag = DAG(nodes, pairwise(nodes))
    assert dag.topological_order == dag.nodes
    assert len(dag.ancestors(nodes[-1])) == n - 1
    assert not dag.d_separated(nodes[0], nodes[-1])
    assert dag.d_separated(nodes[0], nodes[-1], given=nodes[n // 2])
    assert dag.cpdag().directed == ()
    assert DAG.parse(str(dag)) == dag
    with pytest.raises(CycleError) as caught:
        dag.add_arc(nodes[-1], nodes[0])
    assert len(caught.value.cycle) == n + 1


def test_importing_graphs_is_light():
    code = (
        "import sys, bntk.graph; d = bntk.graph.DAG.parse('A -> B'); d.cpdag(), d.topological_order;"
        "print(*{'numba', 'networkx', 'matplotlib', 'pandas', 'scipy'} & set(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == ""

"""d-separation agrees with networkx; pruning keeps exactly what an answer depends on."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import dags, disjoint_sets

from bntk.errors import GraphError, UnknownNameError
from bntk.graph import DAG, d_separated, minimal_separator, reachable, relevant_evidence, relevant_nodes


@given(dags(min_nodes=2, max_nodes=8), st.data())
def test_d_separation_agrees_with_networkx(dag, data):
    x, y, known = data.draw(disjoint_sets(dag))
    expected = nx.is_d_separator(dag.to_networkx(), set(x), set(y), set(known))
    assert d_separated(dag, x, y, known) == dag.d_separated(y, x, known) == expected


@given(dags(min_nodes=2), st.data())
def test_reachable_nodes_are_those_that_are_not_d_separated(dag, data):
    x, _, known = data.draw(disjoint_sets(dag))
    graph = dag.to_networkx()
    others = [n for n in dag.nodes if n not in x and n not in known]
    expected = tuple(n for n in others if not nx.is_d_separator(graph, set(x), {n}, set(known)))
    assert reachable(dag, x, known) == expected


@pytest.mark.parametrize(("x", "y", "known"), [("A", "A", []), ("A", "B", ["A"]), (["A", "B"], "C", ["B"])])
def test_sets_that_overlap_are_refused(x, y, known):
    with pytest.raises(GraphError, match="two of them"):
        d_separated(DAG.parse("A -> B -> C"), x, y, known)


def test_an_unknown_node_is_refused():
    with pytest.raises(UnknownNameError, match="'Z'"):
        d_separated(DAG.parse("A -> B"), "A", "B", given="Z")


@given(dags(min_nodes=2), st.data())
def test_a_minimal_separator_separates_and_no_part_of_it_does(dag, data):
    x, y = data.draw(st.permutations(dag.nodes))[:2]
    found = minimal_separator(dag, x, y)
    if dag.has_arc(x, y) or dag.has_arc(y, x):
        assert found is None
        return
    graph = dag.to_networkx()
    assert nx.is_d_separator(graph, {x}, {y}, set(found))
    for size in range(len(found)):
        for part in combinations(found, size):
            assert not nx.is_d_separator(graph, {x}, {y}, set(part))


def random_tables(dag: DAG, seed: int) -> list[np.ndarray]:
    """A table for each node with an axis for every node, of length 2 for its family and 1 for the others."""
    rng = np.random.default_rng(seed)
    tables = []
    for node, parents in enumerate(dag.parent_indices):
        shape = [2 if i == node or i in parents else 1 for i in range(dag.n_nodes)]
        table = rng.uniform(0.1, 0.9, shape)
        tables.append(table / table.sum(axis=node, keepdims=True))
    return tables


def conditional(dag: DAG, tables: list[np.ndarray], targets: list[str], known: list[str]) -> np.ndarray:
    """P(targets | known) by enumeration, an axis for every node."""
    joint = np.ones([2] * dag.n_nodes)
    for table in tables:
        joint = joint * table
    summed = tuple(i for i, name in enumerate(dag.nodes) if name not in targets and name not in known)
    joint = joint.sum(axis=summed, keepdims=True)
    return joint / joint.sum(axis=tuple(dag.index(t) for t in targets), keepdims=True)


@settings(max_examples=60)
@given(dags(min_nodes=2, max_nodes=6), st.data(), st.integers(0, 2**32 - 1))
def test_an_answer_depends_on_the_tables_of_the_relevant_nodes_and_no_others(dag, data, seed):
    targets, _, known = data.draw(disjoint_sets(dag))
    relevant = relevant_nodes(dag, targets, known)
    tables, others = random_tables(dag, seed), random_tables(dag, seed + 1)
    answer = conditional(dag, tables, targets, known)
    for node, name in enumerate(dag.nodes):
        changed = conditional(dag, [*tables[:node], others[node], *tables[node + 1 :]], targets, known)
        assert np.allclose(changed, answer, rtol=0, atol=1e-12) == (name not in relevant)


@settings(max_examples=60)
@given(dags(min_nodes=2, max_nodes=6), st.data(), st.integers(0, 2**32 - 1))
def test_an_answer_depends_on_the_values_of_the_relevant_evidence_and_no_other(dag, data, seed):
    targets, _, known = data.draw(disjoint_sets(dag))
    answer = conditional(dag, random_tables(dag, seed), targets, known)
    relevant = relevant_evidence(dag, targets, known)
    for name in known:
        flipped = np.flip(answer, axis=dag.index(name))
        assert np.allclose(flipped, answer, rtol=0, atol=1e-12) == (name not in relevant)


def test_a_target_that_is_given_needs_no_table():
    assert relevant_nodes(DAG.parse("A -> B"), "B", given="B") == ()

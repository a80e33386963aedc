from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bntk import DAG
from bntk.datasets import random_dag, random_network
from bntk.errors import GraphError, TooLargeError
from bntk.graph import UndirectedGraph, clique_tree, elimination_order


def exact_treewidth(graph: UndirectedGraph) -> int:
    """Over all orders: the best worst number of nodes that a node sees through those eliminated before it."""
    neighbors = graph.neighbor_indices

    def degree(node: int, gone: frozenset[int]) -> int:
        seen, stack, found = {node}, [node], 0
        while stack:
            for other in neighbors[stack.pop()]:
                if other not in seen:
                    seen.add(other)
                    if other in gone:
                        stack.append(other)
                    else:
                        found += 1
        return found

    @cache
    def best(gone: frozenset[int]) -> int:
        return min((max(best(gone - {v}), degree(v, gone - {v})) for v in gone), default=0)

    return best(frozenset(range(graph.n_nodes)))


def width_found(dag: DAG, heuristic: str = "min_fill") -> int:
    moral = dag.moral_graph()
    return clique_tree(moral, elimination_order(moral, heuristic=heuristic)).width


seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 8), st.integers(0, 5), st.integers(0, 20), st.integers(0, 8))
def test_treewidth_is_bounded_and_exact_where_a_node_may_have_so_many_parents(seed, n, k, n_arcs, most) -> None:
    k = min(k, n - 1)
    full = random_dag(n, treewidth=k, max_parents=most, seed=seed)
    assume(n_arcs <= full.n_arcs)
    dag = random_dag(n, treewidth=k, max_parents=most, n_arcs=n_arcs, seed=seed)
    width = exact_treewidth(dag.moral_graph())
    assert dag.n_arcs == n_arcs
    assert max(len(dag.parents(node)) for node in dag.nodes) <= most
    assert width <= k
    if k <= min(most, n_arcs):
        assert width == k


@given(seeds, st.integers(2, 60), st.integers(1, 6))
def test_with_all_arcs_the_moral_graph_is_a_k_tree(seed, n, k) -> None:
    low = min(k, n - 1)
    dag = random_dag(n, treewidth=low, seed=seed)
    assert dag.n_arcs == dag.moral_graph().n_edges == low * n - low * (low + 1) // 2
    assert width_found(dag) == low


@given(seeds, st.integers(3, 80), st.integers(1, 2))
def test_large_graphs_keep_a_bound_of_one_or_two(seed, n, k) -> None:
    dag = random_dag(n, treewidth=k, n_arcs=n - 1, seed=seed)
    assert (
        width_found(dag, "min_degree") == k
    )  # which is exact up to two: such graphs have a node of degree two or less


def test_without_a_bound_every_pair_may_be_joined() -> None:
    assert random_dag(9, treewidth=None).n_arcs == 36
    assert random_dag(9, treewidth=None, max_parents=2).n_arcs == 1 + 2 * 7


def test_every_arc_is_drawn_now_and_then_in_either_direction() -> None:
    seen = {arc for seed in range(200) for arc in random_dag(list("abcd"), treewidth=1, seed=seed).arcs}
    assert len(seen) == 12


@given(seeds)
def test_a_seed_gives_one_dag_and_the_order_of_nodes_does_not_tell_the_arcs(seed) -> None:
    dag = random_dag(12, seed=seed)
    assert dag == random_dag(12, seed=seed)
    assert dag.nodes == tuple(f"x{i}" for i in range(1, 13))


def test_seeds_differ() -> None:
    dags = [random_dag(12, seed=seed) for seed in range(20)]
    assert len(set(dags)) == 20
    assert any(dag.topological_order != dag.nodes for dag in dags)


def test_bounds_that_cannot_be_kept_are_named() -> None:
    with pytest.raises(
        GraphError, match="n_arcs=20 is more than the 9 arcs that treewidth and max_parents allow for 6"
    ):
        random_dag(6, treewidth=2, n_arcs=20)
    with pytest.raises(ValueError, match="max_parents must be None or a whole number from 0, not -1"):
        random_dag(6, max_parents=-1)


@given(seeds, st.integers(0, 12), st.sampled_from([2, (2, 5), (1, 3)]), st.sampled_from([0.05, 1.0, 20.0]))
def test_tables_are_distributions_of_the_asked_sizes(seed, n, n_states, concentration) -> None:
    network = random_network(n, n_states=n_states, treewidth=2, concentration=concentration, seed=seed)
    low, high = (n_states, n_states) if isinstance(n_states, int) else n_states
    assert network.dag == random_dag(n, treewidth=2, seed=seed)
    assert all(low <= v.n_states <= high for v in network.variables)
    for cpt in network.cpts:
        np.testing.assert_allclose(cpt.values.sum(-1), 1, atol=1e-12)
    assert (
        network.cpts == random_network(n, n_states=n_states, treewidth=2, concentration=concentration, seed=seed).cpts
    )


@pytest.mark.parametrize("concentration", [0.2, 1.0, 5.0])
def test_rows_spread_as_those_of_a_dirichlet_distribution(concentration: float) -> None:
    network = random_network(400, n_states=3, concentration=concentration, seed=5)
    rows = np.concatenate([cpt.matrix for cpt in network.cpts])
    variance = (1 / 3) * (2 / 3) / (3 * concentration + 1)
    assert len(rows) > 5000
    np.testing.assert_allclose(rows.var(axis=0), variance, rtol=0.1)


def test_deterministic_variables_are_functions_of_their_parents() -> None:
    for share in (0.0, 0.5, 1.0):
        network = random_network(200, n_states=3, deterministic=share, seed=2)
        below = [cpt for cpt in network.cpts if cpt.parents]
        functions = [set(np.unique(cpt.values)) <= {0.0, 1.0} for cpt in below]
        assert abs(np.mean(functions) - share) <= 5 * np.sqrt(share * (1 - share) / len(below))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_states": 0}, "n_states must be a whole number from 1 to"),
        ({"n_states": (3, 2)}, "n_states must be a whole number from 1 to"),
        ({"concentration": 0}, "concentration must be a number above 0 and up to 1,000,000, not 0"),
        ({"deterministic": 1.5}, "deterministic must be a number from 0 to 1, not 1.5"),
    ],
)
def test_options_that_make_no_network_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        random_network(4, **options)


def test_a_table_beyond_all_memory_is_refused_before_it_is_made() -> None:
    with pytest.raises(TooLargeError):
        random_network(60, n_states=4, treewidth=50)

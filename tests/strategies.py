"""Hypothesis strategies for graphs."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from hypothesis import strategies as st

from bntk.graph import DAG, UndirectedGraph

plain_names = st.integers(0, 999).map(lambda i: f"x{i}")
odd_names = st.text(min_size=1, max_size=6).filter(str.strip) | st.sampled_from(
    ["a b", "a->b", '"', "\\", "\\n", "a\nb", "[A|B]", "a;b", "-", "<", "x,y", " lead", "trail ", "Straße", "1.5"]
)


@st.composite
def dags(draw: Any, min_nodes: int = 0, max_nodes: int = 7, names: st.SearchStrategy[str] = plain_names) -> DAG:
    """DAGs whose node order is seldom a topological order."""
    nodes = draw(st.lists(names, min_size=min_nodes, max_size=max_nodes, unique=True))
    pairs = list(combinations(draw(st.permutations(nodes)), 2))
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return DAG(nodes, [pair for pair, keep in zip(pairs, chosen) if keep])


@st.composite
def undirected_graphs(draw: Any, min_nodes: int = 0, max_nodes: int = 9) -> UndirectedGraph:
    """Undirected graphs of all densities."""
    nodes = draw(st.lists(plain_names, min_size=min_nodes, max_size=max_nodes, unique=True))
    pairs = list(combinations(nodes, 2))
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return UndirectedGraph(nodes, [pair for pair, keep in zip(pairs, chosen) if keep])


@st.composite
def disjoint_sets(draw: Any, dag: DAG) -> tuple[list[str], list[str], list[str]]:
    """Two sets of nodes that are not empty and a third, without overlap; the DAG needs two nodes."""
    first, second, *rest = draw(st.permutations(dag.nodes))
    x, y, given = [first], [second], []
    for node in rest:
        chosen = draw(st.sampled_from([x, y, given, None]))
        if chosen is not None:
            chosen.append(node)
    return x, y, given

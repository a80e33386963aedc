"""Adjustment in an equivalence class: sets that are valid in each of its DAGs.

The class is that of all DAGs with the skeleton, the arcs and the v-structures of a partially directed graph, such as
a CPDAG, or one with further arcs from background knowledge. A set is valid in all of them exactly where (Perkovic,
Kalisch and Maathuis 2017) no possibly causal path from x begins with an undirected edge, no node of the set is
forbidden in any of the DAGs, and the set blocks the paths that are not causal, in one DAG or in all.

References
----------
E. Perkovic, M. Kalisch and M. H. Maathuis (2017). Interpreting and using CPDAGs with background knowledge. UAI 33.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from bntk.causal.adjustment import Problem
from bntk.graph.equivalence import PDAG, consistent_extension, meek
from bntk.graph.undirected import sorted_rows


def class_problem(pdag: PDAG, x: frozenset[int], y: frozenset[int]) -> Problem:
    """The adjustment sets that are valid in every DAG of a class."""
    dag = consistent_extension(pdag)
    closed = meek(pdag)
    edge = _undirected_start(closed, x, y)
    hopeless = ""
    if edge:
        a, b = (pdag.nodes[node] for node in edge)
        hopeless = f"{a} -- {b} may point either way, and may begin a causal path"
    return Problem(dag, x, y, _forbidden(closed, x, y), hopeless)


def _undirected_start(pdag: PDAG, x: frozenset[int], y: frozenset[int]) -> tuple[int, int] | None:
    """An undirected edge from x that is the first of a causal path in some DAG of the class."""
    for node in sorted(x):
        for other in pdag.neighbor_indices[node]:
            if other in x:
                continue
            pointed = _directed(pdag, node, other)
            if not possible_descendants(pointed, [other], without=x).isdisjoint(y):
                return node, other
    return None


def _directed(pdag: PDAG, tail: int, head: int) -> PDAG:
    """The class of the DAGs in which an undirected edge points in one of its directions."""
    parents, neighbors = ([set(row) for row in rows] for rows in (pdag.parent_indices, pdag.neighbor_indices))
    parents[head].add(tail)
    neighbors[head].discard(tail)
    neighbors[tail].discard(head)
    return meek(PDAG._trusted(pdag.nodes, sorted_rows(parents), sorted_rows(neighbors)))


def possible_descendants(pdag: PDAG, nodes: Iterable[int], without: Collection[int] = ()) -> set[int]:
    """The nodes to which some DAG of a class has a directed path from one of the nodes, and these.

    There is such a path where there is one whose edges point forwards or in no direction, and whose nodes two steps
    apart are not adjacent, as long as Meek's rules leave nothing to direct.
    """
    adjacent = [set(row) for row in pdag.skeleton().neighbor_indices]
    forwards = [(*children, *edges) for children, edges in zip(pdag.child_indices, pdag.neighbor_indices)]
    steps = [(-1, node) for node in nodes]
    seen = set(steps)
    while steps:
        before, node = steps.pop()
        for after in forwards[node]:
            step = (node, after)
            if after not in without and step not in seen and (before < 0 or after not in adjacent[before] | {before}):
                seen.add(step)
                steps.append(step)
    return {node for _, node in seen}


def _forbidden(pdag: PDAG, x: frozenset[int], y: frozenset[int]) -> set[int]:
    """The nodes that are forbidden in some DAG of a class: possible descendants of those on possibly causal paths."""
    starts = [node for node in range(pdag.n_nodes) if node not in x and not x.isdisjoint(pdag.parent_indices[node])]
    below = possible_descendants(pdag, starts, without=x)
    causal = [node for node in sorted(below) if not possible_descendants(pdag, [node], without=x).isdisjoint(y)]
    return possible_descendants(pdag, causal) | set(causal)

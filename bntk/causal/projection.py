"""Latent projection: what a DAG with latent variables says about the observed ones (Verma and Pearl 1990).

An arc from A to B stands for a directed path whose inner nodes are latent. A and B are *confounded*, A <-> B, where
some latent variable has such paths to both. Sets of nodes that are connected by confounding are C-components (Tian
and Pearl 2002), or districts.

References
----------
T. Verma and J. Pearl (1990). Equivalence and synthesis of causal models. UAI 6, 220-227.

J. Tian and J. Pearl (2002). A general identification condition for causal effects. AAAI 18, 567-573.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations

from bntk.graph.dag import DAG
from bntk.graph.undirected import closure

Rows = list[set[int]]


class Projection:
    """The latent projection of a DAG; nodes keep their positions in it.

    Attributes
    ----------
    dag : DAG
        The DAG with its latent variables.
    observed : tuple of int
        The observed nodes in topological order.
    parents, children, spouses : list of sets of int
        The arcs and the confounded pairs, for every node; empty for latent ones.
    """

    def __init__(self, dag: DAG, latent: Collection[int]) -> None:
        self.dag, self.latent = dag, frozenset(latent)
        self.observed = tuple(node for node in dag.topological_indices if node not in self.latent)
        seen = _observed_below(dag, self.latent)
        self.children: Rows = [set() for _ in dag.nodes]
        self.parents: Rows = [set() for _ in dag.nodes]
        self.spouses: Rows = [set() for _ in dag.nodes]
        for node in self.observed:
            for child in dag.child_indices[node]:
                self.children[node] |= seen[child] if child in self.latent else {child}
            for child in self.children[node]:
                self.parents[child].add(node)
        for node in self.latent:
            # What is below a latent node is below its latent parents, too.
            if self.latent.isdisjoint(dag.parent_indices[node]):
                for a, b in combinations(seen[node], 2):
                    self.spouses[a].add(b)
                    self.spouses[b].add(a)

    def ancestors(self, nodes: Iterable[int], within: Collection[int], cut: Collection[int] = ()) -> set[int]:
        """The nodes and their ancestors, along arcs between nodes of a set that do not lead into those that are cut."""
        found = set(nodes)
        stack = list(found)
        while stack:
            node = stack.pop()
            if node not in cut:
                fresh = [parent for parent in self.parents[node] if parent in within and parent not in found]
                found.update(fresh)
                stack.extend(fresh)
        return found

    def district(self, node: int, within: Collection[int]) -> set[int]:
        """The C-component of a node in the graph on some nodes."""
        found = {node}
        stack = [node]
        while stack:
            fresh = [other for other in self.spouses[stack.pop()] if other in within and other not in found]
            found.update(fresh)
            stack.extend(fresh)
        return found

    def districts(self, within: Collection[int]) -> list[set[int]]:
        """All C-components of the graph on some nodes, that of the first node in topological order first."""
        parts: list[set[int]] = []
        left = set(within)
        for node in self.observed:
            if node in left:
                parts.append(self.district(node, within))
                left -= parts[-1]
        return parts


def _observed_below(dag: DAG, latent: Collection[int]) -> dict[int, set[int]]:
    """For every latent node the observed ones to which paths of latent nodes lead."""
    seen: dict[int, set[int]] = {}
    for node in reversed(dag.topological_indices):
        if node in latent:
            seen[node] = set()
            for child in dag.child_indices[node]:
                seen[node] |= seen[child] if child in latent else {child}
    return seen


def mutilated(dag: DAG, into: Collection[int] = (), out_of: Collection[int] = ()) -> DAG:
    """The DAG without the arcs into some nodes and without those out of others."""
    rows = [
        () if node in into else tuple(parent for parent in parents if parent not in out_of)
        for node, parents in enumerate(dag.parent_indices)
    ]
    return DAG._trusted(dag.nodes, tuple(rows))


def descendants(dag: DAG, nodes: Iterable[int]) -> set[int]:
    """The nodes and all their descendants."""
    return closure(nodes, dag.child_indices)

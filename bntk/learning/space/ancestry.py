"""Ancestors of every node in a matrix that follows the structure arc by arc. Row i marks the ancestors of node i.

With it, whether an arc would close a cycle is one look-up: ``tail -> head`` does when the head is an ancestor of the
tail. It is exact; a matrix of numbers of paths would be simpler to update, but these outgrow any integer (there are
2**64 paths from the first to the last node of a complete DAG of 66 nodes, which is zero in 64 bits).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bntk.graph.dag import DAG

Matrix = NDArray[np.bool_]


def ancestor_matrix(dag: DAG) -> Matrix:
    """Which nodes (columns) are ancestors of which (rows)."""
    ancestors = np.zeros((dag.n_nodes, dag.n_nodes), dtype=bool)
    for node in dag.topological_indices:
        parents = list(dag.parent_indices[node])
        if parents:
            ancestors[node] = ancestors[parents].any(axis=0)
            ancestors[node, parents] = True
    return ancestors


def join_ancestors(ancestors: Matrix, tail: int, head: int) -> None:
    """Update the ancestors for a new arc."""
    gained = ancestors[tail].copy()
    gained[tail] = True
    below = ancestors[:, head].copy()
    below[head] = True
    ancestors[below] |= gained


def part_ancestors(ancestors: Matrix, arcs: Matrix, head: int) -> None:
    """Update the ancestors for an arc into ``head`` that has been taken away from ``arcs``.

    Only the head and its descendants can lose ancestors. A node has more ancestors than any of its own ancestors, so
    their number sorts parents before children; when the head loses none, nor do the others.
    """
    below = np.flatnonzero(ancestors[:, head])
    below = below[np.argsort(ancestors[below].sum(axis=1), kind="stable")]
    for node in (head, *below.tolist()):
        parents = arcs[:, node]
        row = parents | ancestors[parents].any(axis=0)
        if node == head and (row == ancestors[node]).all():
            return
        ancestors[node] = row

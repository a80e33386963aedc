"""Ancestors of every node in a matrix that follows the structure arc by arc. Row i marks the ancestors of node i.

With it, whether an arc would close a cycle is one look-up: ``tail -> head`` does when the head is an ancestor of the
tail. It is exact; a matrix of numbers of paths would be simpler to update, but these outgrow any integer (there are
2**64 paths from the first to the last node of a complete DAG of 66 nodes, which is zero in 64 bits).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bntk.graph.dag import DAG
from bntk.learning.space.kernels import join_ancestors, part_ancestors

__all__ = ["ancestor_matrix", "join_ancestors", "part_ancestors"]

Matrix = NDArray[np.bool_]


def ancestor_matrix(dag: DAG) -> Matrix:
    """Which nodes (columns) are ancestors of which (rows)."""
    ancestors = np.zeros((dag.n_nodes, dag.n_nodes), dtype=bool)
    for head in dag.topological_indices:
        for tail in dag.parent_indices[head]:
            join_ancestors(ancestors, tail, head)
    return ancestors

"""The trees of selective classifiers, compiled: one for each class arc that might be added."""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from numba import njit

from bntk.learning.search.kernels import NONE, arborescence


@njit(cache=True, nogil=True)
def trees_with(added, linked, unlinked, given, root, forest, discard, tails):
    """For each feature of ``added``, the best tree when it has a class arc besides those that are ``linked``.

    ``unlinked[v, u]`` and ``given[v, u]`` are the weights of the arc from u to v without and with a class arc into v.
    With ``discard`` only features with a class arc are in the tree. The root is ``root`` where that is in the tree,
    else the first feature that is. A ``forest`` may have any roots, and only arcs with positive weights. Writes a line
    of ``tails`` for each tree: the feature that is the parent of each, or -1. A feature -1 adds nothing.
    """
    n = linked.size
    nodes = np.empty(n, np.int64)
    for k in range(added.size):
        m = 0
        first = 0
        for v in range(n):
            tails[k, v] = NONE
            if not discard or linked[v] or v == added[k]:
                if v == root:
                    first = m
                nodes[m] = v
                m += 1
        if m == 0:
            continue
        # One node more is the parent of the root, or of all roots.
        entering = np.empty((m + 1, m + 1))
        for b in range(m):
            v = nodes[b]
            weights = given[v] if linked[v] or v == added[k] else unlinked[v]
            for a in range(m):
                weight = weights[nodes[a]]
                entering[b, a] = weight if weight > 0 or not forest else -np.inf
            entering[b, b] = -np.inf
            entering[b, m] = 0.0 if forest or b == first else -np.inf
        chosen, _ = arborescence(entering, False)
        for b in range(m):
            if chosen[b] != m:
                tails[k, nodes[b]] = nodes[chosen[b]]

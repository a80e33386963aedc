"""The trees of selective classifiers, compiled: one for each class arc that might be added."""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from numba import njit

from bntk.learning.search.kernels import NONE, _expand


@njit(cache=True, nogil=True)
def trees_with(added, linked, alone, given, root, forest, discard, tails):
    """For each feature of ``added``, the best tree when it has a class arc besides those that are ``linked``.

    ``alone[v, u]`` and ``given[v, u]`` are the weights of the arc from u to v without and with a class arc into v. With
    ``discard`` only features with a class arc are in the tree. The root is ``root`` where that is in the tree, else the
    first feature that is. A ``forest`` may have any roots, and only arcs with positive weights. Writes a line of
    ``tails`` for each tree: the feature that is the parent of each, or -1. A feature -1 adds nothing.
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
            weights = given[v] if linked[v] or v == added[k] else alone[v]
            for a in range(m):
                weight = weights[nodes[a]]
                entering[b, a] = weight if weight > 0 or not forest else -np.inf
            entering[b, b] = -np.inf
            entering[b, m] = 0.0 if forest or b == first else -np.inf
        chosen = arborescence(entering)
        for b in range(m):
            if chosen[b] != m:
                tails[k, nodes[b]] = nodes[chosen[b]]


@njit(cache=True, nogil=True)
def arborescence(entering):
    """The parents in the heaviest arborescence from the last node, which must exist; ``entering[v, u]``: from u to v.

    Edmonds' algorithm for dense matrices in O(n^2), as in :func:`.kernels.arborescence`: walk backwards along the best
    entering arcs, and contract cycles as they are met (Tarjan 1977). Here tails are never merged, only the lines of the
    heads of a cycle, so that memory is read in order: that is four to ten times faster. The matrix is overwritten; in a
    line of a contracted cycle, arcs from within it are ``-inf``. Of equal arcs, the one with the first tail, then the
    first head is taken.
    """
    size = entering.shape[0]
    root = size - 1
    head_of = np.empty((size, size), np.int32)
    for v in range(size):
        head_of[v] = v
    slot_of = np.arange(size)  # the line that stands for a node
    ident = np.arange(size)  # the node, or contracted cycle, that a line stands for
    n_ids = size
    up = np.full(2 * size, NONE)
    enter_tail = np.full(2 * size, NONE)
    enter_head = np.full(2 * size, NONE)
    enter_weight = np.zeros(size)
    done = np.zeros(size, np.bool_)
    done[root] = True
    place = np.full(size, NONE)  # position in the path, or -1
    path = np.empty(size, np.int64)
    for start in range(root):
        if done[slot_of[start]]:
            continue
        length = 1
        path[0] = slot_of[start]
        place[path[0]] = 0
        while length:
            v = path[length - 1]
            tail, best = NONE, -np.inf
            for u in range(size):
                if entering[v, u] > best:
                    tail, best = u, entering[v, u]
            enter_tail[ident[v]] = tail
            enter_head[ident[v]] = head_of[v, tail]
            enter_weight[v] = best
            before = slot_of[tail]
            if done[before]:
                for k in range(length):
                    done[path[k]] = True
                    place[path[k]] = NONE
                length = 0
            elif place[before] == NONE:
                place[before] = length
                path[length] = before
                length += 1
            else:
                first = place[before]
                for k in range(first, length):
                    up[ident[path[k]]] = n_ids
                _merge(path[first:length], entering, head_of, slot_of, place, enter_weight)
                ident[before] = n_ids
                n_ids += 1
                length = first + 1
    return _expand(n_ids, size, up, enter_tail, enter_head)


@njit(cache=True, nogil=True)
def _merge(cycle, entering, head_of, slot_of, place, enter_weight):
    """The best arc from each node into a cycle, less the arc of the cycle that it replaces, in the first one's line."""
    slot = cycle[0]
    line, heads = entering[slot], head_of[slot]
    less = enter_weight[slot]
    for u in range(line.size):
        line[u] -= less
    for k in range(1, cycle.size):
        other, other_heads, less = entering[cycle[k]], head_of[cycle[k]], enter_weight[cycle[k]]
        for u in range(line.size):
            weight = other[u] - less
            if weight > line[u] or (weight == line[u] and other_heads[u] < heads[u]):
                line[u], heads[u] = weight, other_heads[u]
    first = place[slot]
    for u in range(line.size):
        at = place[slot_of[u]]
        if at >= first:  # the cycle is the end of the path
            slot_of[u] = slot
            line[u] = -np.inf
    for k in range(1, cycle.size):
        place[cycle[k]] = NONE

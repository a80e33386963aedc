"""Layers for drawing a DAG: every arc points down, and the arcs together are as short as can be.

The network simplex method of Gansner, Koutsofios, North and Vo (1993), "A technique for drawing directed graphs".
With arcs of equal weight a cut value needs no bookkeeping: arcs inside a part of the tree cancel, so that it is the sum
of (arcs out - arcs in) over the nodes of the part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def shortest_levels(n_nodes: int, arcs: Sequence[tuple[int, int]]) -> list[int]:
    """The level of each node of a connected DAG, from 0 at the top, with the least sum of arc lengths.

    Examples
    --------
    >>> shortest_levels(5, [(0, 1), (1, 2), (2, 3), (4, 3)])
    [0, 1, 2, 3, 2]
    """
    if n_nodes == 1 or not arcs:
        return [0] * n_nodes
    tails, heads = (np.array(ends, dtype=np.int64) for ends in zip(*arcs, strict=True))
    level = _longest_paths(n_nodes, arcs)
    tree = _tight_tree(level, tails, heads)
    pull = np.bincount(tails, minlength=n_nodes) - np.bincount(heads, minlength=n_nodes)
    for _ in range(10 * n_nodes):  # far more than it takes; any levels on the way are valid
        if not _pivot(level, tails, heads, tree, pull):
            break
    level -= level.min()
    return [int(k) for k in level]


def _longest_paths(n_nodes: int, arcs: Sequence[tuple[int, int]]) -> Ints:
    level = np.zeros(n_nodes, dtype=np.int64)
    waiting = np.bincount([head for _, head in arcs], minlength=n_nodes)
    below: list[list[int]] = [[] for _ in range(n_nodes)]
    for tail, head in arcs:
        below[tail].append(head)
    ready = [v for v in range(n_nodes) if not waiting[v]]
    for v in ready:  # grows as nodes lose their last unseen parent
        for child in below[v]:
            level[child] = max(level[child], level[v] + 1)
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    return level


def _tight_tree(level: Ints, tails: Ints, heads: Ints) -> NDArray[np.bool_]:
    """Which arcs form a spanning tree of arcs of length one; the levels are shifted where that needs it."""
    inside = np.zeros(level.size, dtype=bool)
    inside[0] = True
    tree = np.zeros(tails.size, dtype=bool)
    for _ in range(level.size - 1):
        border = np.flatnonzero(inside[tails] != inside[heads])
        slack = level[heads[border]] - level[tails[border]] - 1
        arc = border[np.argmin(slack)]
        if inside[tails[arc]]:
            level[inside] += slack.min()
        else:
            level[inside] -= slack.min()
        inside[tails[arc]] = inside[heads[arc]] = True
        tree[arc] = True
    return tree


def _pivot(level: Ints, tails: Ints, heads: Ints, tree: NDArray[np.bool_], pull: Ints) -> bool:
    """Exchange one arc of the tree for a better one; False when there is none, and the levels are the best."""
    up, order = _rooted(tree, tails, heads, level.size)
    part = pull.copy()  # sum over the subtree of each node
    for v in reversed(order[1:]):
        arc = up[v]
        part[heads[arc] if tails[arc] == v else tails[arc]] += part[v]
    below = np.array(order[1:])
    leaving = np.array([up[v] for v in below])
    cut = np.where(tails[leaving] == below, part[below], -part[below])
    if cut.min() >= 0:
        return False
    worst = int(np.argmin(cut))
    v, arc = int(below[worst]), int(leaving[worst])
    inside = _subtree(v, order, up, tails, heads)
    rising = tails[arc] == v
    source, sink = (~inside, inside) if rising else (inside, ~inside)
    candidates = np.flatnonzero(source[tails] & sink[heads])
    slack = level[heads[candidates]] - level[tails[candidates]] - 1
    level[inside] += -slack.min() if rising else slack.min()
    tree[arc], tree[candidates[np.argmin(slack)]] = False, True
    return True


def _rooted(tree: NDArray[np.bool_], tails: Ints, heads: Ints, n_nodes: int) -> tuple[list[int], list[int]]:
    """The arc of each node towards node 0 in the tree, and the nodes from there outwards."""
    beside: list[list[tuple[int, int]]] = [[] for _ in range(n_nodes)]
    for arc in np.flatnonzero(tree).tolist():
        tail, head = int(tails[arc]), int(heads[arc])
        beside[tail].append((head, arc))
        beside[head].append((tail, arc))
    up, order = [-1] * n_nodes, [0]
    for v in order:
        for neighbour, arc in beside[v]:
            if arc != up[v]:
                up[neighbour] = arc
                order.append(neighbour)
    return up, order


def _subtree(top: int, order: list[int], up: list[int], tails: Ints, heads: Ints) -> NDArray[np.bool_]:
    inside = np.zeros(len(order), dtype=bool)
    inside[top] = True
    for v in order[order.index(top) + 1 :]:
        arc = up[v]
        inside[v] = inside[heads[arc] if tails[arc] == v else tails[arc]]
    return inside

"""Where to draw the nodes of a DAG: layers from top to bottom, few crossings, straight arcs.

The steps of Sugiyama, Tagawa and Toda (1981): layers by longest path, invisible nodes where an arc passes a
layer, orders within layers by barycentres, then positions by least squares with a minimum distance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bntk.graph.dag import DAG

Point = tuple[float, float]


@dataclass(frozen=True)
class Layout:
    """Centre of each node, and the points by which each arc goes from centre to centre; y grows upwards."""

    positions: dict[str, Point]
    routes: dict[tuple[str, str], tuple[Point, ...]]


def layered_layout(
    dag: DAG, widths: Mapping[str, float] | None = None, *, gap: float = 0.35, layer_distance: float = 1.0
) -> Layout:
    """Lay a DAG out in layers, every arc pointing downwards. Deterministic.

    Parameters
    ----------
    dag : DAG
    widths : mapping of node to float, optional
        How wide each node is drawn (1 by default); nodes of a layer never overlap.
    gap : float
        Free space between neighbours of a layer.
    layer_distance : float

    Examples
    --------
    >>> positions = layered_layout(DAG.parse("a->b; a->c")).positions
    >>> {node: (round(x, 2), round(y, 2)) for node, (x, y) in positions.items() if node != "a"}
    {'b': (-0.68, -1.0), 'c': (0.68, -1.0)}
    """
    layers, links, chains = _with_waypoints(dag, _levels(dag))
    layers = _fewest_crossings(layers, links)
    size = [1.0 if widths is None else widths[node] for node in dag.nodes]
    size += [0.0] * (sum(map(len, layers)) - dag.n_nodes)
    x = _place(layers, links, np.array(size), gap)
    level = {v: k for k, layer in enumerate(layers) for v in layer}
    points = [(float(x[v]), -layer_distance * level[v]) for v in range(len(size))]
    routes = {(dag.nodes[chain[0]], dag.nodes[chain[-1]]): tuple(points[v] for v in chain) for chain in chains}
    return Layout({node: points[i] for i, node in enumerate(dag.nodes)}, routes)


def _levels(dag: DAG) -> list[int]:
    """Longest path from a root; then each root is drawn down to just above its highest child."""
    level = [0] * dag.n_nodes
    for node in dag.topological_order:
        v = dag.index(node)
        level[v] = max((level[p] + 1 for p in dag.parent_indices[v]), default=0)
    for v in range(dag.n_nodes):
        if not dag.parent_indices[v] and dag.child_indices[v]:
            level[v] = min(level[c] for c in dag.child_indices[v]) - 1
    return level


def _with_waypoints(dag: DAG, level: Sequence[int]) -> tuple[list[list[int]], list[tuple[int, int]], list[list[int]]]:
    """Layers of node numbers with a waypoint wherever an arc passes a layer, links, and the chain of each arc."""
    layers: list[list[int]] = [[] for _ in range(max(level, default=-1) + 1)]
    for v, k in enumerate(level):
        layers[k].append(v)
    following, links, chains = dag.n_nodes, [], []
    for child, parents in enumerate(dag.parent_indices):
        for parent in parents:
            chain = [parent]
            for k in range(level[parent] + 1, level[child]):
                layers[k].append(following)
                chain.append(following)
                following += 1
            chain.append(child)
            chains.append(chain)
            links += list(pairwise(chain))
    return layers, links, chains


def _neighbours(links: Sequence[tuple[int, int]], n: int) -> tuple[list[list[int]], list[list[int]]]:
    above: list[list[int]] = [[] for _ in range(n)]
    below: list[list[int]] = [[] for _ in range(n)]
    for a, b in links:
        below[a].append(b)
        above[b].append(a)
    return above, below


def _fewest_crossings(layers: list[list[int]], links: Sequence[tuple[int, int]], sweeps: int = 24) -> list[list[int]]:
    """Sort each layer by the mean position of its neighbours, down and up, and keep the best order met."""
    n = sum(map(len, layers))
    above, below = _neighbours(links, n)
    position = np.zeros(n)
    current = [list(layer) for layer in layers]
    best, fewest = current, _crossings(current, below, position)
    for sweep in range(sweeps):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        beside = above if downwards else below
        order = range(1, len(current)) if downwards else range(len(current) - 2, -1, -1)
        current = [list(layer) for layer in current]
        for k in order:
            centre = {v: np.mean([position[u] for u in beside[v]]) if beside[v] else position[v] for v in current[k]}
            current[k].sort(key=lambda v: (centre[v], position[v]))
            position[current[k]] = np.arange(len(current[k]))
        crossings = _crossings(current, below, position)
        if crossings < fewest:
            best, fewest = current, crossings
    return best


def _crossings(layers: list[list[int]], below: list[list[int]], position: NDArray[np.float64]) -> int:
    """Number of pairs of links that cross, layer by layer (inversions of the lower ends)."""
    for layer in layers:
        position[layer] = np.arange(len(layer))
    total = 0
    for layer in layers:
        ends = np.array([end for v in layer for end in sorted(position[u] for u in below[v])])
        if ends.size > 1:
            total += int(sum((ends[:k] > ends[k]).sum() for k in range(1, ends.size)))
    return total


def _place(
    layers: list[list[int]], links: Sequence[tuple[int, int]], size: NDArray[np.float64], gap: float, rounds: int = 40
) -> NDArray[np.float64]:
    """Horizontal positions: each node near the mean of its neighbours, neighbours of a layer kept apart."""
    above, below = _neighbours(links, size.size)
    x = np.zeros(size.size)
    for layer in layers:
        x[layer] = _apart(np.zeros(len(layer)), np.ones(len(layer)), size[layer], gap)
    for sweep in range(rounds):
        order = layers if sweep % 2 == 0 else layers[::-1]
        for layer in order:
            wanted = np.array([np.mean(x[above[v] + below[v]]) if above[v] or below[v] else x[v] for v in layer])
            # Waypoints pull harder than nodes: a long arc should be straight.
            weight = np.where(size[layer] > 0, 1.0, 4.0)
            x[layer] = _apart(wanted, weight, size[layer], gap)
    return x - (x.min(initial=0.0) + x.max(initial=0.0)) / 2


def _apart(
    wanted: NDArray[np.float64], weight: NDArray[np.float64], size: NDArray[np.float64], gap: float
) -> NDArray[np.float64]:
    """The positions nearest to ``wanted`` (least squares) that keep the order and the distances.

    Subtracting the least distances turns this into isotonic regression, solved by pooling adjacent violators.
    """
    distance = np.concatenate([[0.0], np.cumsum((size[:-1] + size[1:]) / 2 + gap)])
    pools: list[list[float]] = []  # mean, weight, members
    for value, w in zip(wanted - distance, weight, strict=True):
        pools.append([float(value), float(w), 1])
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            mean, pooled, members = pools.pop()
            last = pools[-1]
            last[0] = (last[0] * last[1] + mean * pooled) / (last[1] + pooled)
            last[1] += pooled
            last[2] += members
    return np.repeat([p[0] for p in pools], [int(p[2]) for p in pools]) + distance

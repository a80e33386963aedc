"""The order within layers: few crossings, by barycentre sweeps and moves of single nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Layers = list[list[int]]
Adjacent = list[list[int]]

#: In larger graphs, nodes and waypoints together, moves of single nodes take too long.
_MOST_SIFTED = 1500


def fewest_crossings(layers: Layers, links: Sequence[tuple[int, int]], patience: int = 6) -> Layers:
    """The layers reordered so that few links between them cross. Deterministic.

    Sweeps down and up sort each layer by the mean position of its neighbours, then single nodes move within their layer
    while that helps; the best order met is kept, and the search ends when ``patience`` sweeps have not bettered it.
    """
    n = sum(map(len, layers))
    above: Adjacent = [[] for _ in range(n)]
    below: Adjacent = [[] for _ in range(n)]
    for a, b in links:
        below[a].append(b)
        above[b].append(a)
    best, least = [list(layer) for layer in layers], _cost(layers, below)
    turned = [layer[::-1] for layer in layers]
    for start in (layers, *(_by_depth_first_search(each, above, below) for each in (layers, turned))):
        current, since = [list(layer) for layer in start], 0
        cost = _cost(current, below)
        if cost[0] < least[0]:
            best, least = [list(layer) for layer in current], cost
        for sweep in range(40):
            if not least[0] or since >= patience:
                break
            _sweep(current, above, below, downwards=sweep % 2 == 0, turn=sweep % 4 > 1)
            if n <= _MOST_SIFTED:
                _sift(current, below)
            cost, since = _cost(current, below), since + 1
            if cost < least:
                since = since if cost[0] == least[0] else 0
                best, least = [list(layer) for layer in current], cost
    return best


def _by_depth_first_search(layers: Layers, above: Adjacent, below: Adjacent) -> Layers:
    """Subtrees side by side: nodes in the order in which a walk from the first one meets them."""
    rank: dict[int, int] = {}
    for start in (v for layer in layers for v in layer):
        stack = [start]
        while stack:
            v = stack.pop()
            if v not in rank:
                rank[v] = len(rank)
                stack += [u for u in (*reversed(above[v]), *reversed(below[v])) if u not in rank]
    return [sorted(layer, key=rank.__getitem__) for layer in layers]


def _sweep(layers: Layers, above: Adjacent, below: Adjacent, downwards: bool, turn: bool) -> None:
    """Sort each layer by its neighbours in the one before; ``turn`` reverses ties, which leads out of dead ends."""
    position = {v: i for layer in layers for i, v in enumerate(layer)}
    beside = above if downwards else below
    for k in range(1, len(layers)) if downwards else range(len(layers) - 2, -1, -1):
        centre = {
            v: sum(position[u] for u in beside[v]) / len(beside[v]) if beside[v] else float(position[v])
            for v in layers[k]
        }
        layers[k].sort(key=lambda v: (centre[v], -position[v] if turn else position[v]))
        position.update((v, i) for i, v in enumerate(layers[k]))


def _sift(layers: Layers, below: Adjacent, rounds: int = 2) -> None:
    """Move single nodes within their layers to where fewest links cross, while that helps."""
    for _ in range(rounds):
        changed = False
        for k, layer in enumerate(layers):
            excess = np.zeros((len(layer), len(layer)))
            if k:
                excess += _excess(_incidence(layers[k - 1], layer, below).T)
            if k + 1 < len(layers):
                excess += _excess(_incidence(layer, layers[k + 1], below))
            order = _insertions(excess)
            if order is not None:
                layers[k] = [layer[i] for i in order]
                changed = True
        if not changed:
            return


def _incidence(upper: list[int], lower: list[int], below: Adjacent) -> NDArray[np.float64]:
    place = {v: i for i, v in enumerate(lower)}
    matrix = np.zeros((len(upper), len(lower)))
    for i, v in enumerate(upper):
        for u in below[v]:
            matrix[i, place[u]] = 1.0
    return matrix


def _excess(incidence: NDArray[np.float64]) -> NDArray[np.float64]:
    """For rows u and v: the crossings of their links if u is left of v, minus those if it is right of it."""
    before = np.cumsum(incidence, axis=1) - incidence
    crossings = incidence @ before.T
    return np.asarray(crossings - crossings.T)


def _insertions(excess: NDArray[np.float64]) -> list[int] | None:
    """An order that no move of a single node betters; None if that is the one there is."""
    n = len(excess)
    order = np.arange(n)
    settled, at = 0, 0
    while settled < n:
        v = order[at]
        costs = np.zeros(n)  # of moving it to each place
        costs[at + 1 :] = np.cumsum(excess[order[at + 1 :], v])
        costs[:at] = np.cumsum(excess[v, order[:at]][::-1])[::-1]
        to = int(np.argmin(costs))
        if costs[to] < 0:
            order = np.insert(np.delete(order, at), to, v)
            settled = 0
        else:
            settled += 1
            at = (at + 1) % n
    return None if (order == np.arange(n)).all() else [int(i) for i in order]


def _cost(layers: Layers, below: Adjacent) -> tuple[int, float]:
    """The crossings, and of orders with equally many, how far links lean when every layer is centred."""
    place = {v: i - (len(layer) - 1) / 2 for layer in layers for i, v in enumerate(layer)}
    return _count(layers, below), sum(abs(place[v] - place[u]) for layer in layers for v in layer for u in below[v])


def _count(layers: Layers, below: Adjacent) -> int:
    """Number of pairs of links that cross: inversions of the lower ends, layer by layer."""
    position = {v: i for layer in layers for i, v in enumerate(layer)}
    total = 0
    for layer in layers:
        ends = np.array([end for v in layer for end in sorted(position[u] for u in below[v])], dtype=np.int64)
        if 1 < ends.size <= 600:
            total += int(np.triu(ends[:, None] > ends[None, :]).sum())
        elif ends.size:
            total += int(sum((ends[:k] > ends[k]).sum() for k in range(1, ends.size)))
    return total

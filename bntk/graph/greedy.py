"""Greedy node elimination without the compiler: for small graphs, as long as there is no compiled kernel at hand.

The order is that of :func:`bntk.graph.kernels.eliminate` to the last tie: costs are the same sums in the same order,
and are compared in the same way. A set of neighbours is a whole number whose bits are the positions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

#: The largest graph, and the sum of squared numbers of nodes after which the compiler is loaded: by then eliminating
#: has taken about as long as loading takes.
MOST_NODES, MOST_WORK = 128, 1 << 20
#: Microseconds for each of these squares.
STEPS = 5
_done = 0


def pays(n_nodes: int) -> bool:
    """Whether a graph is eliminated here, which counts as done."""
    global _done
    if n_nodes > MOST_NODES:
        return False
    if "bntk.graph.kernels" in sys.modules:
        from bntk.graph.kernels import allowance

        return not allowance.pays(STEPS * n_nodes * n_nodes)
    _done += n_nodes * n_nodes
    return _done <= MOST_WORK


def eliminate(
    rows: Sequence[int], weights: Sequence[float], sizes: Sequence[float], priority: Sequence[int], heuristic: str
) -> list[int]:
    """Positions in the order of greedy elimination; the arguments are as for the kernel, but in plain Python."""
    rows = list(rows)
    cost_of = _costs(rows, weights, sizes)[heuristic]
    cost = {node: cost_of(node) for node in range(len(rows))}  # of the nodes that are left, in their order
    order = []
    while cost:
        node = _cheapest(cost, priority)
        order.append(node)
        del cost[node]
        for other in members(_join_neighbors(rows, node)):
            cost[other] = cost_of(other)
    return order


def members(row: int) -> list[int]:
    """The elements of a set, ascending."""
    found = []
    while row:
        lowest = row & -row
        found.append(lowest.bit_length() - 1)
        row ^= lowest
    return found


def _costs(rows: list[int], weights: Sequence[float], sizes: Sequence[float]) -> dict[str, Callable[[int], float]]:
    """What it costs to eliminate a node now, by heuristic."""

    def fill(node: int) -> float:
        row = rows[node]
        inside = members(row)
        return (sum((row & ~rows[a]).bit_count() for a in inside) - len(inside)) / 2.0

    def weight(node: int) -> float:
        total = weights[node]
        for a in members(rows[node]):
            total += weights[a]
        return total

    def weighted_fill(node: int) -> float:
        row, total = rows[node], 0.0
        for a in members(row):
            for b in members(row & ~rows[a] & ((1 << a) - 1)):
                total += 2.0 * sizes[a] * sizes[b]
        return total / 2.0

    def degree(node: int) -> float:
        return float(rows[node].bit_count())

    return {"min_fill": fill, "min_weight": weight, "weighted_min_fill": weighted_fill, "min_degree": degree}


def _cheapest(cost: dict[int, float], priority: Sequence[int]) -> int:
    """The node of least cost; costs that differ by rounding only are equal, and then priority decides."""
    nodes = iter(cost.items())
    best, least = next(nodes)
    slack = 1e-9 * abs(least)
    for node, value in nodes:
        if value <= least + slack and (value < least - slack or priority[node] < priority[best]):
            best, least = node, value
            slack = 1e-9 * abs(least)
    return best


def _join_neighbors(rows: list[int], node: int) -> int:
    """Remove a node, join its neighbours to each other, and return every node whose cost may have changed."""
    stale = joined = rows[node]
    for a in members(joined):
        rows[a] ^= 1 << node
        for b in members(joined & ~rows[a] & ((1 << a) - 1)):
            rows[a] |= 1 << b
            rows[b] |= 1 << a
            stale |= rows[a] & rows[b]
    return stale

"""The inner loop of greedy node elimination, compiled.

A row of the graph is a set of neighbours held as bits: bit ``j % 64`` of word ``j // 64``. The kernels trust their
arguments.
"""

from __future__ import annotations

import numpy as np

from bntk._kernels import Allowance, njit

MIN_FILL, MIN_WEIGHT, WEIGHTED_MIN_FILL, MIN_DEGREE = range(4)

_ONE = np.uint64(1)
_LOW6 = 63

# Called by other kernels only: without a way in from Python, they compile in half the time.
INNER = {"cache": True, "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


@njit(**INNER)
def _count(word: np.uint64) -> np.int64:
    """Number of bits set; the compiler knows this form and emits a single instruction where there is one."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(**INNER)
def _members(row: np.ndarray, members: np.ndarray) -> int:
    """Write the elements of a set into ``members``, ascending, and return how many there are."""
    count = 0
    for word in range(row.size):
        bits = row[word]
        while bits:
            members[count] = 64 * word + _count((bits & (~bits + _ONE)) - _ONE)
            count += 1
            bits &= bits - _ONE
    return count


@njit(**INNER)
def _cost(
    rows: np.ndarray, node: int, heuristic: int, weights: np.ndarray, sizes: np.ndarray, members: np.ndarray
) -> float:
    """What it costs to eliminate a node now, in the terms of the heuristic."""
    row = rows[node]
    count = _members(row, members)
    if heuristic == MIN_DEGREE:
        return float(count)
    if heuristic == MIN_WEIGHT:
        total = weights[node]
        for i in range(count):
            total += weights[members[i]]
        return total
    total = 0.0
    for i in range(count):
        a = members[i]
        if heuristic == MIN_FILL:
            missing = -1  # a is not its own neighbour
            for word in range(row.size):
                missing += _count(row[word] & ~rows[a, word])
            total += missing
        else:
            for j in range(i):
                b = members[j]
                if not (rows[a, b >> 6] >> np.uint64(b & _LOW6)) & _ONE:
                    total += 2.0 * sizes[a] * sizes[b]
    return total / 2.0


@njit(**INNER)
def _cheapest(cost: np.ndarray, alive: np.ndarray, priority: np.ndarray) -> int:
    """The node of least cost; costs that differ by rounding only are equal, and then priority decides."""
    best = -1
    for node in range(cost.size):
        if alive[node]:
            if best < 0:
                best = node
                continue
            slack = 1e-9 * abs(cost[best])
            if cost[node] < cost[best] - slack or (
                cost[node] <= cost[best] + slack and priority[node] < priority[best]
            ):
                best = node
    return best


@njit(**INNER)
def _join_neighbors(rows: np.ndarray, node: int, members: np.ndarray, count: int, stale: np.ndarray) -> None:
    """Remove a node, join its neighbours to each other, and mark every node whose cost may have changed."""
    words = rows.shape[1]
    for i in range(count):
        rows[members[i], node >> 6] &= ~(_ONE << np.uint64(node & _LOW6))
    for word in range(words):  # assigning a slice would bring in the text of an error, slow to compile
        stale[word] = rows[node, word]
    for i in range(count):
        a = members[i]
        for j in range(i):
            b = members[j]
            if not (rows[a, b >> 6] >> np.uint64(b & _LOW6)) & _ONE:
                rows[a, b >> 6] |= _ONE << np.uint64(b & _LOW6)
                rows[b, a >> 6] |= _ONE << np.uint64(a & _LOW6)
                for word in range(words):
                    stale[word] |= rows[a, word] & rows[b, word]


@njit(**INNER)
def order_nodes(
    rows: np.ndarray,
    weights: np.ndarray,
    sizes: np.ndarray,
    priority: np.ndarray,
    heuristic: int,
    alive: np.ndarray,
    order: np.ndarray,
    limit: float,
) -> float:
    """Write the order in which nodes that are ``alive`` are eliminated greedily, into ``order``; both are used up.

    Returns the entries of the tables over each and its neighbours, all together; ends early where they exceed a limit.
    """
    n, words = rows.shape
    members = np.empty(n, dtype=np.int64)
    touched = np.empty(n, dtype=np.int64)
    stale = np.empty(words, dtype=np.uint64)
    cost = np.empty(n)
    entries = 0.0
    for node in range(n):
        if alive[node]:
            cost[node] = _cost(rows, node, heuristic, weights, sizes, members)
    for step in range(order.size):
        node = _cheapest(cost, alive, priority)
        order[step] = node
        alive[node] = False
        count = _members(rows[node], members)
        size = sizes[node]
        for i in range(count):
            size *= sizes[members[i]]
        entries += size
        if entries > limit:
            break
        _join_neighbors(rows, node, members, count, stale)
        count = _members(stale, touched)
        for i in range(count):
            if alive[touched[i]]:
                cost[touched[i]] = _cost(rows, touched[i], heuristic, weights, sizes, members)
    return entries


@njit(cache=True, nogil=True)
def eliminate(
    rows: np.ndarray, weights: np.ndarray, sizes: np.ndarray, priority: np.ndarray, heuristic: int
) -> np.ndarray:
    """Positions in the order of greedy elimination; ``rows`` is used up.

    rows : uint64 (n, words); weights, sizes : float64 (n,), the log cardinalities and the cardinalities;
    priority : int64 (n,), distinct, lower first among equals; heuristic : one of the constants above.
    """
    order = np.empty(rows.shape[0], dtype=np.int64)
    order_nodes(rows, weights, sizes, priority, heuristic, np.ones(order.size, dtype=np.int64), order, np.inf)
    return order


#: What :mod:`bntk.graph.greedy` may do before this is compiled.
allowance = Allowance(eliminate)

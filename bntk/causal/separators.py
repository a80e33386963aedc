"""Minimal separators of two sets of nodes in an undirected graph: all of them, or the smallest ones without the others.

A minimal separator is the boundary of a connected *region* around the source, and is also the boundary of what is left
around the sink (Takata 2010). The minimal separators whose region contains some nodes have all the nodes in it that the
first separator around these nodes closes off. So the separators split into those whose region takes in a node of that
first separator, and those that keep the node; neither part is empty if its first separator keeps what it has to. This
finds all of them with polynomial delay.

The smallest ones are found by splitting the separators, around one that is known, by which of its nodes they have and
which one they lack (Lawler 1972). Parts are looked at in the order of a lower bound, the smallest separator in them,
minimal or not, which is a minimum cut. Of separators of the same size, the one that has the first node in which they
differ comes first; weights of the nodes make that one the minimum cut.

References
----------
K. Takata (2010). Space-optimal, backtracking algorithms to list the minimal vertex separators of a graph. Discrete
Applied Mathematics 158, 1660-1667.

E. L. Lawler (1972). A procedure for computing the K best solutions to discrete optimization problems. Management
Science 18, 401-405.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bntk.graph.undirected import closure

Set = frozenset[int]


class _Part(NamedTuple):
    """Separators whose region contains some nodes and that keep others."""

    region: Set
    boundary: Set
    keeps: Set


class Separators:
    """The minimal separators of two sets of nodes that are made of allowed nodes.

    Parameters
    ----------
    rows : sequence of collections of int
        The neighbours of each node.
    source, sink : collection of int
        The two sets, disjoint and not empty.
    allowed : collection of int
        The nodes that separators may have, none of them in the two sets.
    """

    def __init__(
        self, rows: Sequence[Iterable[int]], source: Iterable[int], sink: Iterable[int], allowed: Iterable[int]
    ) -> None:
        self._rows, self._source, self._sink = rows, frozenset(source), frozenset(sink)
        self._allowed = frozenset(allowed)
        self._place = {node: place for place, node in enumerate(sorted(self._allowed))}

    def first(self) -> Set | None:
        """The minimal separator that is nearest to the source; None where there is none."""
        part = self._part(self._source, frozenset())
        return None if part is None else part.boundary

    def all(self) -> list[Set]:
        """All minimal separators, by size, then by their nodes."""
        found: list[Set] = []
        root = self._part(self._source, frozenset())
        waiting = [] if root is None else [root]
        while waiting:
            part = waiting.pop()
            open_nodes = part.boundary - part.keeps
            if open_nodes:
                waiting += self._split(part, min(open_nodes))
            else:
                found.append(part.boundary)
        return sorted(found, key=lambda nodes: (len(nodes), sorted(nodes)))

    def ranked(self) -> Iterator[Set]:
        """All minimal separators in the same order, each found when it is asked for."""
        nothing: Set = frozenset()
        # Entries: lower bound (size, then nodes), how good it is, a number, what is kept and what is left out, a cut.
        waiting: list[tuple[int, int, int, int, Set, Set, Set]] = [(0, 0, 0, 0, nothing, nothing, nothing)]
        number = 1
        while waiting:
            size, weight, stage, _, keeps, lacks, cut = heapq.heappop(waiting)
            if stage == 2:
                if self._is_minimal(cut):
                    yield cut
                parts = [(size, weight, 0, *part, nothing) for part in _split(cut, keeps, lacks)]
            else:
                found = self._minimum_cut(keeps, lacks, weighted=stage == 1)
                if found is None:
                    continue
                bound = (len(found), self._weight(found) if stage == 1 else -self._most)
                parts = [(*max((size, weight), bound), stage + 1, keeps, lacks, found)]
            for bound_and_stage in parts:
                heapq.heappush(waiting, (*bound_and_stage[:3], number, *bound_and_stage[3:]))
                number += 1

    # ---- parts ----------------------------------------------------------------------------------------------------

    def _part(self, region: Set, keeps: Set) -> _Part | None:
        """The part with all that its first separator closes off; None where there is no such separator."""
        boundary = self._boundary(region)
        if boundary is None:
            return None
        outside = self._component(self._sink, boundary)
        near = frozenset(node for node in boundary if not outside.isdisjoint(self._rows[node]))
        inside = self._component(self._source, near)
        return None if inside & keeps else _Part(frozenset(inside), near, keeps)

    def _boundary(self, region: Set) -> Set | None:
        """The allowed nodes around a region, after it has taken in what is not allowed; None if it meets the sink."""
        found, boundary = set(region), set()
        stack = list(region)
        while stack:
            for node in self._rows[stack.pop()]:
                if node in self._sink:
                    return None
                if node in self._allowed and node not in found:
                    boundary.add(node)
                elif node not in found:
                    found.add(node)
                    stack.append(node)
        return frozenset(boundary)

    def _component(self, starts: Iterable[int], without: Set) -> set[int]:
        """What is connected to some nodes without passing others."""
        found = set(starts)
        stack = list(found)
        while stack:
            fresh = [node for node in self._rows[stack.pop()] if node not in found and node not in without]
            found.update(fresh)
            stack.extend(fresh)
        return found

    def _split(self, part: _Part, node: int) -> list[_Part]:
        """The part by whether a node of its boundary is in the region or is kept; empty ones are left out."""
        grown = self._part(part.region | {node}, part.keeps)
        kept = part._replace(keeps=part.keeps | {node})
        return [kept] if grown is None else [grown, kept]

    def _is_minimal(self, nodes: Set) -> bool:
        near, far = self._component(self._source, nodes), self._component(self._sink, nodes)
        return not any(near.isdisjoint(self._rows[node]) or far.isdisjoint(self._rows[node]) for node in nodes)

    # ---- minimum cuts ---------------------------------------------------------------------------------------------

    @property
    def _most(self) -> int:
        return 1 << len(self._place)

    def _weight(self, nodes: Iterable[int]) -> int:
        """Less for nodes that come first; different for different sets."""
        return -sum(self._most >> 1 + self._place[node] for node in nodes)

    def _minimum_cut(self, keeps: Set, lacks: Set, weighted: bool) -> Set | None:
        """The smallest separator that has some nodes and lacks others; if weighted, the first of these."""
        left = dict.fromkeys(self._allowed - keeps - lacks, 1)
        if weighted:
            left = {node: self._most - (self._most >> 1 + self._place[node]) for node in left}
        reached = _Flow(self._rows, left, keeps).saturated(self._source, self._sink)
        if reached is None:
            return None
        return keeps | {node for node in left if (node, False) in reached and (node, True) not in reached}


def _split(cut: Set, keeps: Set, lacks: Set) -> Iterator[tuple[Set, Set]]:
    """The separators that are not that one, nor contain it, by the first of its nodes that they lack."""
    for node in sorted(cut - keeps):
        yield keeps, lacks | {node}
        keeps = keeps | {node}


class _Flow:
    """A flow through nodes of limited capacity, found along shortest paths. A node has a side in and a side out."""

    def __init__(self, rows: Sequence[Iterable[int]], capacity: dict[int, int], removed: Set) -> None:
        self._rows, self._left, self._removed = rows, dict(capacity), removed
        self._flow: dict[tuple[int, int], int] = {}  # from the side out of one node to the side in of another
        self._through: dict[int, int] = dict.fromkeys(capacity, 0)

    def saturated(self, source: Set, sink: Set) -> set[tuple[int, bool]] | None:
        """The sides that the source still reaches after as much as possible flows to the sink; None if any flow can."""
        while True:
            came_from, last = self._search(source, sink)
            if last is None:
                return set(came_from)
            if not self._push(came_from, last):
                return None

    def _search(
        self, source: Set, sink: Set
    ) -> tuple[dict[tuple[int, bool], tuple[int, bool] | None], tuple[int, bool] | None]:
        came_from: dict[tuple[int, bool], tuple[int, bool] | None] = {(node, True): None for node in sorted(source)}
        waiting = deque(came_from)
        while waiting:
            side = waiting.popleft()
            for other in self._following(side):
                if other not in came_from:
                    came_from[other] = side
                    if other[0] in sink:
                        return came_from, other
                    waiting.append(other)
        return came_from, None

    def _following(self, side: tuple[int, bool]) -> Iterator[tuple[int, bool]]:
        """Where more can flow from one side of a node: (node, False) is the side in, (node, True) the side out."""
        node, out = side
        if out:
            for other in self._rows[node]:
                if other not in self._removed:
                    yield other, False
            if self._through.get(node, 1):
                yield node, False
        else:
            if self._left.get(node, 1):
                yield node, True
            for other in self._rows[node]:
                if self._flow.get((other, node), 0):
                    yield other, True

    def _push(self, came_from: dict[tuple[int, bool], tuple[int, bool] | None], last: tuple[int, bool]) -> bool:
        """Let more flow along the path that was found; False if that is not limited."""
        path = [last]
        while (before := came_from[path[-1]]) is not None:
            path.append(before)
        steps = list(zip(path[1:], path))
        room = [limit for a, b in steps if (limit := self._room(a, b)) is not None]
        if not room:
            return False
        amount = min(room)
        for (node, out), (other, _) in steps:
            if node == other:
                if node in self._left:
                    sign = -1 if out else 1
                    self._left[node] -= sign * amount
                    self._through[node] += sign * amount
            elif out:
                self._flow[node, other] = self._flow.get((node, other), 0) + amount
            else:
                self._flow[other, node] -= amount
        return True

    def _room(self, side: tuple[int, bool], other: tuple[int, bool]) -> int | None:
        """How much more can flow from one side to another; None if that is not limited."""
        (node, out), (second, _) = side, other
        if node == second:
            return (self._through if out else self._left).get(node)
        return None if out else self._flow[second, node]


def moral_rows(parents: Sequence[Sequence[int]], kept: Iterable[int]) -> list[set[int]]:
    """The moral graph of the ancestors of some nodes: the neighbours of each, none for other nodes."""
    rows: list[set[int]] = [set() for _ in parents]
    for child in closure(kept, parents):
        family = (*parents[child], child)
        for member in family if len(family) > 1 else ():
            rows[member].update(family)
    for node, row in enumerate(rows):
        row.discard(node)
    return rows

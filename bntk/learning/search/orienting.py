"""From a skeleton and its separating sets to a partially directed graph, and to a DAG with the same skeleton.

References
----------
T. Verma and J. Pearl (1992). An algorithm for deciding if a set of observed independencies has a causal explanation.
UAI 8, 323-330.

C. Meek (1995). Causal inference and causal explanation with background knowledge. UAI 11, 403-410.

D. Colombo and M. H. Maathuis (2014). Order-independent constraint-based causal structure learning. Journal of Machine
Learning Research 15, 3921-3962.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._warnings import warn
from bntk.errors import CycleError, GraphError, StructureWarning
from bntk.graph.dag import DAG
from bntk.graph.equivalence import PDAG, _v_structures, consistent_extension, meek_in_rounds
from bntk.graph.undirected import sorted_rows

#: A triple a - child - b, in positions, a before b.
Triple = tuple[int, int, int]


class Collider(NamedTuple):
    """The triple a -> child <- b, and how sure it is: larger is surer.

    The p-value of a and b being independent; where it is the same, how strongly both depend on the child.
    """

    a: int
    child: int
    b: int
    certainty: float
    strength: float

    @property
    def triple(self) -> Triple:
        """The nodes alone."""
        return self.a, self.child, self.b


@dataclass
class Oriented:
    """What becomes of a skeleton: the PDAG, a DAG with the same skeleton, and the colliders that were dropped.

    ``added`` are v-structures that the DAG needs besides those of the PDAG.
    """

    pdag: PDAG
    dag: DAG
    dropped: list[Triple] = field(default_factory=list)
    added: list[Triple] = field(default_factory=list)


def unshielded_triples(adjacent: Sequence[Collection[int]]) -> Iterator[Triple]:
    """All a - child - b with a and b not adjacent, a before b, by child."""
    for child, around in enumerate(adjacent):
        for a, b in combinations(sorted(around), 2):
            if b not in adjacent[a]:
                yield a, child, b


def orient(
    names: tuple[str, ...],
    adjacent: Sequence[set[int]],
    colliders: Sequence[Collider],
    unclear: Collection[Triple],
    allowed: NDArray[np.bool_],
) -> Oriented:
    """Direct what the knowledge (arcs that are allowed one way only), the colliders and Meek's rules direct.

    Colliders come in the order of their certainty, ties in node order. One that would turn an arc or close a cycle is
    dropped; then, as long as no DAG without further v-structures fits the rest, the next one from which on none does.
    A skeleton that no such DAG fits, even without colliders, keeps all, and its DAG has v-structures of its own.
    """
    draft = _Draft(names, adjacent, unclear, allowed)
    ordered = sorted(colliders, key=lambda c: (-c.certainty, -c.strength, c.child, c.a, c.b))
    kept, dropped = draft.compatible(ordered)
    dag = draft.extension(kept)
    if dag is None and draft.extension([]) is not None:
        kept, more = draft.largest_that_fits(kept)
        dropped += more
        dag = draft.extension(kept)
    pdag = draft.pdag(kept)
    if pdag is None:  # the rules close a cycle
        pdag = draft.marked(kept)
    if dag is None:
        dag = relaxed_extension(pdag)
    known = draft.v_structures(kept)
    added = [triple for triple in _v_structures(dag) if triple not in known]
    return Oriented(pdag, dag, [c.triple for c in dropped], added)


class _Draft:
    """A skeleton with what is known about directions beforehand."""

    def __init__(
        self, names: tuple[str, ...], adjacent: Sequence[set[int]], unclear: Collection[Triple],
        allowed: NDArray[np.bool_],
    ) -> None:  # fmt: skip
        self.names, self.adjacent, self.unclear = names, adjacent, frozenset(unclear)
        self.known = {(a, b) for a, row in enumerate(adjacent) for b in row if allowed[a, b] and not allowed[b, a]}

    def by_knowledge(self) -> set[Triple]:
        """The v-structures that the knowledge alone makes."""
        into: dict[int, list[int]] = {}
        for tail, head in sorted(self.known):
            into.setdefault(head, []).append(tail)
        pairs = ((a, head, b) for head, tails in into.items() for a, b in combinations(tails, 2))
        return {(a, head, b) for a, head, b in pairs if b not in self.adjacent[a]}

    def compatible(self, colliders: Sequence[Collider]) -> tuple[list[Collider], list[Collider]]:
        """The colliders that turn no arc and close no cycle with those before them; and the others."""
        arcs = set(self.known)
        below: dict[int, set[int]] = {}
        for tail, head in arcs:
            below.setdefault(tail, set()).add(head)
        kept, dropped = [], []
        for collider in colliders:
            new = [(tail, collider.child) for tail in (collider.a, collider.b) if (tail, collider.child) not in arcs]
            closes = any((head, tail) in arcs or _reaches(below, head, tail) for tail, head in new)
            if closes:
                dropped.append(collider)
                continue
            kept.append(collider)
            for tail, head in new:
                arcs.add((tail, head))
                below.setdefault(tail, set()).add(head)
        return kept, dropped

    def marked(self, colliders: Sequence[Collider]) -> PDAG:
        """The skeleton with the arcs of the knowledge and of the colliders, before any rule."""
        arcs = self.known | {(tail, c.child) for c in colliders for tail in (c.a, c.b)}
        parents: list[set[int]] = [set() for _ in self.names]
        for tail, head in arcs:
            parents[head].add(tail)
        neighbors = [
            {b for b in row if (a, b) not in arcs and (b, a) not in arcs} for a, row in enumerate(self.adjacent)
        ]
        return PDAG._trusted(self.names, sorted_rows(parents), sorted_rows(neighbors))

    def pdag(self, colliders: Sequence[Collider]) -> PDAG | None:
        """The same, closed under the rules; None when these close a cycle."""
        try:
            return meek_in_rounds(self.marked(colliders), self.unclear)
        except CycleError:
            return None

    def v_structures(self, colliders: Sequence[Collider]) -> set[Triple]:
        """The v-structures that a DAG with these colliders may have."""
        return {c.triple for c in colliders} | self.unclear | self.by_knowledge()

    def extension(self, colliders: Sequence[Collider]) -> DAG | None:
        """A DAG with these colliders and no others, but for unclear triples; None when none is found."""
        pdag = self.pdag(colliders)
        if pdag is None:
            return None
        allowed = self.v_structures(colliders)
        try:
            found = consistent_extension(pdag)
        except GraphError:
            # Whether unclear triples could be v-structures such that all fits is hard to say; what is directed must.
            directed = _v_structures_among(pdag)
            return relaxed_extension(pdag) if self.unclear and allowed.issuperset(directed) else None
        return found if allowed.issuperset(_v_structures(found)) else None

    def largest_that_fits(self, colliders: Sequence[Collider]) -> tuple[list[Collider], list[Collider]]:
        """The colliders without those from which on, one after the other, nothing fits; and these."""
        left, dropped = list(colliders), []
        while self.extension(left) is None:
            low, high = 0, len(left)  # the first ``low`` fit, the first ``high`` do not
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self.extension(left[:middle]) is not None else (low, middle)
            dropped.append(left.pop(high - 1))
        return left, dropped


def _v_structures_among(pdag: PDAG) -> Iterator[Triple]:
    """The v-structures of the arcs of a PDAG."""
    adjacent = pdag.skeleton().neighbor_indices
    for child, parents in enumerate(pdag.parent_indices):
        for a, b in combinations(parents, 2):
            if b not in adjacent[a]:
                yield a, child, b


def _reaches(below: dict[int, set[int]], start: int, goal: int) -> bool:
    stack, seen = [start], {start}
    while stack:
        node = stack.pop()
        if node == goal:
            return True
        new = below.get(node, set()) - seen
        seen |= new
        stack.extend(new)
    return False


def relaxed_extension(pdag: PDAG) -> DAG:
    """A DAG with the skeleton and the arcs of a PDAG, with as few other v-structures as one look ahead avoids.

    As in Dor and Tarsi's algorithm nodes without children are taken away one by one; where none can go without a
    v-structure, the one that makes fewest goes, of several the last.
    """
    parents = [set(row) for row in pdag.parent_indices]
    children = [set(row) for row in pdag.child_indices]
    neighbors = [set(row) for row in pdag.neighbor_indices]
    adjacent = [set(row) for row in pdag.skeleton().neighbor_indices]

    def price(node: int) -> int:
        return sum(len(adjacent[node] - {other} - adjacent[other]) for other in neighbors[node])

    waiting = [(price(node), -node) for node in range(len(parents)) if not children[node]]
    heapq.heapify(waiting)
    gone: set[int] = set()
    while waiting:
        cost, node = heapq.heappop(waiting)
        node = -node
        if node in gone or children[node] or cost != price(node):
            continue
        gone.add(node)
        parents[node] |= neighbors[node]
        around = adjacent[node]
        for other in around:
            for rows in (adjacent, children, neighbors):
                rows[other].discard(node)
        for other in around.union(*(adjacent[near] for near in around)):
            if other not in gone and not children[other]:
                heapq.heappush(waiting, (price(other), -other))
    return DAG._trusted(pdag.nodes, sorted_rows(parents))


def warn_of_conflicts(names: tuple[str, ...], found: Oriented, search: str) -> None:
    """One warning that names the colliders that were dropped, and the v-structures that the DAG has besides."""
    if not found.dropped and not found.added:
        return

    def listed(triples: Sequence[Triple]) -> str:
        shown = ", ".join(f"{names[a]} -> {names[c]} <- {names[b]}" for a, c, b in triples[:8])
        return f"{shown}, ... ({len(triples)})" if len(triples) > 8 else shown

    parts = []
    if found.dropped:
        parts.append(f"dropped, as no DAG has them together with surer ones: {listed(found.dropped)}")
    if found.added:
        parts.append(f"v-structures that every DAG with this skeleton, or this one, has besides: {listed(found.added)}")
    warn(
        f"the tests of {search} contradict each other: {'; '.join(parts)}. A smaller alpha or more rows may help; "
        "pdag and separating_sets of the result show what was found",
        StructureWarning,
    )

r"""Front-door sets: :math:`P(y \mid do(x)) = \sum_z P(z \mid x) \sum_{x'} P(y \mid x', z) P(x')` (Pearl 1995).

Such a set z is on all directed paths from x to y, no back-door path from x to it is open, and x blocks all back-door
paths from it to y, in the graph without the arcs out of z.

A set that fails has a witness: a directed path past it, or an open path into one of its nodes. Every larger set that
does not fail has a node of that witness, one from which the witness goes on. So the sets are grown by the nodes of
witnesses, all sets of one size before those of the next.

References
----------
J. Pearl (1995). Causal diagrams for empirical research. Biometrika 82, 669-710.

H. Jeong, J. Tian and E. Bareinboim (2022). Finding and listing front-door adjustment sets. NeurIPS 35.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice, pairwise

from bntk.causal.adjustment import open_path, shortest_directed
from bntk.causal.arguments import Names, Sides, checked_limit
from bntk.causal.projection import mutilated
from bntk.graph.dag import DAG
from bntk.graph.separation import bayes_ball

Set = frozenset[int]


def front_door_sets(
    dag: DAG, x: Names, y: Names, latent: Names = (), limit: int | None = None
) -> list[tuple[str, ...]]:
    """See :meth:`bntk.DAG.front_door_sets`."""
    checked_limit(limit)
    sides = Sides(dag, latent, x=x, y=y)
    found = _FrontDoor(dag, frozenset(sides["x"]), frozenset(sides["y"]), sides.latent).minimal()
    return [dag._names(nodes) for nodes in islice(found, limit)]


class _FrontDoor:
    def __init__(self, dag: DAG, x: Set, y: Set, latent: Set) -> None:
        self.dag, self.x, self.y = dag, x, y
        _, reached, _ = bayes_ball(mutilated(dag, out_of=x), x, ())
        self.candidates = self._largest(set(range(dag.n_nodes)) - x - y - latent - reached)

    def minimal(self) -> Iterator[Set]:
        """The sets of which no part is one, by size, then by their nodes."""
        if self._passing(self.candidates):
            return
        found: list[Set] = []
        level: set[Set] = {frozenset()}
        while level:
            following: set[Set] = set()
            for nodes in sorted(level, key=sorted):
                if any(smaller <= nodes for smaller in found):
                    continue
                ways = self._ways_to_mend(nodes)
                if ways is None:
                    found.append(nodes)
                    yield nodes
                else:
                    following.update(nodes | {node} for node in ways)
            level = following

    def _largest(self, nodes: set[int]) -> set[int]:
        """The largest of the sets whose back-door paths to y are blocked by x: nodes with open ones are taken away."""
        while True:
            cut = mutilated(self.dag, out_of=nodes)
            _, reached, _ = bayes_ball(cut, self.y, self.x)
            if nodes.isdisjoint(reached):
                return nodes
            nodes = nodes - reached

    def _passing(self, nodes: Collection[int]) -> tuple[int, ...]:
        """A directed path from x to y that has none of the nodes."""
        return shortest_directed(self.dag, self.x, self.y, nodes)

    def _ways_to_mend(self, nodes: Set) -> set[int] | None:
        """Nodes of which any larger set without failure has one; None if there is no failure."""
        path = self._passing(nodes)
        if path:
            return self.candidates.intersection(path)
        cut = mutilated(self.dag, out_of=nodes)
        path = open_path(cut, nodes, self.y, self.x)
        if not path:
            return None
        arcs = [(a, b) if a in cut.parent_indices[b] else (b, a) for a, b in pairwise(path)]
        arcs += self._opening(cut, path)
        return self.candidates.intersection(tail for tail, _ in arcs) - nodes

    def _opening(self, dag: DAG, path: tuple[int, ...]) -> Iterator[tuple[int, int]]:
        """The arcs of directed paths from the colliders of an open path to x."""
        for a, b, c in zip(path, path[1:], path[2:]):
            if {a, c} <= set(dag.parent_indices[b]) and b not in self.x:
                yield from pairwise(shortest_directed(dag, [b], self.x, ()))

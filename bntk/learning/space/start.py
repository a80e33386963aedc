"""A smallest legal structure of a space, for searches to begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk.errors import SpaceError
from bntk.graph.dag import DAG
from bntk.learning.space.checks import broken_rules, kept_members
from bntk.learning.space.rules import Group

if TYPE_CHECKING:
    from bntk.learning.space import Space


def smallest_structure(space: Space) -> DAG:
    """The compulsory arcs, and for each tree and star the first one found from the first root possible.

    Rules can be combined so that it is hard to tell whether any structure keeps them all. When the arcs found here,
    taken greedily in node order, do not, the error says which rules remain broken.
    """
    draft = _Draft(space)
    draft.keep_what_has_arcs()
    # Of two trees of which one is part of the other, the smaller one has less choice.
    for group, member in sorted(zip(space.groups, space._members), key=lambda pair: len(pair[0].nodes)):
        if group.spans:
            draft.span(group, member)
    broken = broken_rules(space, draft.arcs)
    if broken:
        raise SpaceError(
            f"no structure was found that keeps all constraints; of the smallest one tried: {'; '.join(broken[:3])}"
        )
    return DAG.from_adjacency(draft.arcs, space.nodes)


class _Draft:
    """A structure under construction, acyclic all the time."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.arcs = space.required_matrix.copy()
        self.ancestors = space._required_dag.ancestor_matrix()

    def fitting(self, tail: int) -> NDArray[np.bool_]:
        """The heads to which one more arc closes no cycle and gives no node too many parents.

        Arcs from one tail to several such heads do not get into each other's way.
        """
        heads = self.space.allowed[tail] & ~self.ancestors[tail]
        for quota in self.space.quotas:
            if quota.tails[tail]:
                heads &= ~(quota.heads & (quota.counts(self.arcs) >= quota.limits))
        return heads

    def add(self, tail: int, heads: NDArray[np.int64]) -> None:
        """Add arcs from a node to several others."""
        self.arcs[tail, heads] = True
        later = np.asarray(self.ancestors[:, heads].any(axis=1))
        later[heads] = True
        self.ancestors[later] |= self.ancestors[tail]
        self.ancestors[later, tail] = True

    def keep_what_has_arcs(self) -> None:
        """Where a required arc touches a discarded node, keep that node by its first possible class arc."""
        for discard in self.space.discards:
            inner = self.arcs & discard.inner
            touched = inner.any(axis=0) | inner.any(axis=1)
            for head in np.flatnonzero(touched & ~discard.kept(self.arcs)).tolist():
                tail = next((t for t in np.flatnonzero(discard.tails).tolist() if self.fitting(t)[head]), None)
                if tail is not None:
                    self.add(tail, np.array([head]))

    def span(self, group: Group, member: NDArray[np.bool_]) -> None:
        """Connect the nodes of a tree or star from the first root that reaches them all."""
        before = self.arcs.copy(), self.ancestors.copy()
        wanted = kept_members(self.space, member, self.arcs)
        roots = np.flatnonzero(wanted & ~(self.arcs & np.outer(member, member)).any(axis=0))
        for root in roots.tolist():
            if group.root in (None, self.space.nodes[root]) and self.grow(root, wanted, group.shape == "star"):
                return
            self.arcs, self.ancestors = before[0].copy(), before[1].copy()

    def grow(self, root: int, wanted: NDArray[np.bool_], only_from_root: bool) -> bool:
        """Add arcs away from the root, nearest nodes first; True when every node wanted is reached."""
        left, queue = wanted.copy(), [root]
        left[root] = False
        for tail in queue:
            new = left & ~self.arcs[tail] & self.fitting(tail)
            self.add(tail, np.flatnonzero(new))
            found = left & self.arcs[tail]
            left &= ~found
            queue += np.flatnonzero(found).tolist()
            if only_from_root or not left.any():
                break
        return not left.any()

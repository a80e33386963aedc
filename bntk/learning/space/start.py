"""A smallest legal structure of a space, for searches to begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk.errors import SpaceError
from bntk.graph.dag import DAG
from bntk.learning.space.ancestry import ancestor_matrix, join_ancestors
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
        self.ancestors = ancestor_matrix(space._required_dag)

    def fits(self, tail: int, head: int) -> bool:
        """True when one more arc closes no cycle and gives no node too many parents."""
        if not self.space.allowed[tail, head] or self.ancestors[tail, head]:
            return False
        parents = self.arcs[:, head]
        return all(
            (parents & quota.tails).sum() < quota.limits[head]
            for quota in self.space.quotas
            if quota.tails[tail] and quota.heads[head]
        )

    def add(self, tail: int, head: int) -> None:
        self.arcs[tail, head] = True
        join_ancestors(self.ancestors, tail, head)

    def keep_what_has_arcs(self) -> None:
        """Where a required arc touches a discarded node, keep that node by its first possible class arc."""
        for discard in self.space.discards:
            inner = self.arcs & discard.inner
            touched = inner.any(axis=0) | inner.any(axis=1)
            for head in np.flatnonzero(touched & ~discard.kept(self.arcs)).tolist():
                tail = next((t for t in np.flatnonzero(discard.tails).tolist() if self.fits(t, head)), None)
                if tail is not None:
                    self.add(tail, head)

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
        reached, queue = {root}, [root]
        for tail in queue:
            for head in np.flatnonzero(wanted).tolist():
                if head in reached or (only_from_root and tail != root):
                    continue
                if not self.arcs[tail, head]:
                    if not self.fits(tail, head):
                        continue
                    self.add(tail, head)
                reached.add(head)
                queue.append(head)
        return len(reached) == wanted.sum()

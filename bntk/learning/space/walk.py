"""The state of a search that goes from structure to structure by legal moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk.errors import SpaceError
from bntk.graph.dag import DAG
from bntk.graph.undirected import sorted_rows
from bntk.learning.moves import ADD, DELETE, REVERSE, Move, Moves
from bntk.learning.space import kernels
from bntk.learning.space.kernels import join_ancestors, part_ancestors
from bntk.learning.space.rules import discardable, frozen

if TYPE_CHECKING:
    from bntk.learning.space import Space

Matrix = NDArray[np.bool_]


class Masks(NamedTuple):
    """The legal moves as three matrices (row: tail, column: head), one for each kind of move."""

    add: Matrix
    delete: Matrix
    reverse: Matrix


class Walk:
    """A structure in a space, and the legal moves that lead on from it.

    A move is legal when the structure after it is. A tree (or star) has a fixed number of arcs, so among its nodes the
    only legal moves are those that reverse an arc from the root and so choose another root; spaces with trees are meant
    for the spanning-tree search, and a walk in them changes the other arcs.

    Made by :meth:`bntk.learning.space.Space.walk`.

    Attributes
    ----------
    space : Space
    nodes : tuple of str
        Moves give positions in it.

    Examples
    --------
    >>> from bntk.learning.space import Space
    >>> walk = Space(["A", "B", "C"], forbidden=[("C", "A"), ("C", "B"), ("B", "A")]).walk()
    >>> [Move(*move).describe(walk.nodes) for move in walk.moves().tolist()]
    ['add A -> B', 'add A -> C', 'add B -> C']
    >>> walk.apply(Move(ADD, 0, 2))
    >>> walk.dag.arcs
    (('A', 'C'),)
    """

    def __init__(self, space: Space, dag: DAG) -> None:
        self.space = space
        self.nodes = space.nodes
        self._arcs = dag.adjacency()
        self._ancestors = dag.ancestor_matrix()
        self._parents = [frozenset(row) for row in dag.parent_indices]
        self._counts = [quota.counts(self._arcs) for quota in space.quotas]
        self._bridges = [discard.counts(self._arcs) for discard in space.discards]
        self._rules = space._move_rules
        self._labels = [component_labels(self._arcs, member) for member in self._rules.polytrees]
        self._masks: Masks | None = None

    def at(self, dag: DAG) -> Walk:
        """A walk in the same space from another structure; that it is legal is the caller's business."""
        return Walk(self.space, dag)

    def copy(self) -> Walk:
        """A walk of its own from the same structure."""
        twin = Walk.__new__(Walk)
        twin.__dict__.update(self.__dict__)
        twin._arcs, twin._ancestors = self._arcs.copy(), self._ancestors.copy()
        twin._parents = list(self._parents)
        twin._counts = [counts.copy() for counts in self._counts]
        twin._bridges = [counts.copy() for counts in self._bridges]
        twin._labels = [labels.copy() for labels in self._labels]
        return twin

    @property
    def parents(self) -> tuple[frozenset[int], ...]:
        """The positions of the parents of each node."""
        return tuple(self._parents)

    @property
    def dag(self) -> DAG:
        """The structure."""
        return DAG._trusted(self.nodes, sorted_rows(self._parents))

    # Legal moves

    def moves(self) -> Moves:
        """All legal moves, ordered by kind, tail and head."""
        moves: Moves = kernels.list_moves(*self.masks())
        return moves

    def is_legal(self, move: Move) -> bool:
        """True when the structure after the move is legal."""
        kind, tail, head = move
        return bool(self.masks()[kind][tail, head])

    def masks(self) -> Masks:
        """All legal moves as matrices, for searches that keep gains so; read-only, and valid until the next move."""
        if self._masks is None:
            self._masks = self._find_masks()
        return self._masks

    def _find_masks(self) -> Masks:
        rules = self._rules
        add, delete, reverse = np.empty((3, *self._arcs.shape), dtype=bool)
        kernels.mask_moves(
            rules.addable, rules.deletable, rules.reversible, self._arcs, self._ancestors, add, delete, reverse
        )
        self._mask_quotas(add, reverse)
        for labels in self._labels:
            add &= labels[:, None] != labels
        if self.space.discards:
            self._mask_discards(add, delete)
        self._mask_spans(add, reverse)
        return Masks(frozen(add), frozen(delete), frozen(reverse))

    def _mask_quotas(self, add: Matrix, reverse: Matrix) -> None:
        """No arc into a node that has as many parents as a rule allows."""
        for quota, counts in zip(self.space.quotas, self._counts):
            full = quota.heads & (counts >= quota.limits)
            if full.any():
                room = ~(quota.tails[:, None] & full)
                add &= room
                reverse &= room.T

    def _mask_discards(self, add: Matrix, delete: Matrix) -> None:
        """No inner arc at a discarded node; no last class arc taken from a node with inner arcs."""
        for discard, counts in zip(self.space.discards, self._bridges):
            kept = ~discard.heads | (counts > 0)
            add &= ~discard.inner | (kept[:, None] & kept)
            inner = self._arcs & discard.inner
            held = (counts == 1) & discard.heads & (inner.any(axis=0) | inner.any(axis=1))
            delete &= ~(discard.tails[:, None] & held)

    def _mask_spans(self, add: Matrix, reverse: Matrix) -> None:
        """A discarded node cannot come alone into a tree that has nodes; a star can turn only when it has two."""
        for member, is_star, can_lose_nodes in self._rules.spans:
            if not (is_star or can_lose_nodes):
                continue
            missing = np.zeros(len(member), dtype=np.int64)  # how many links discard each node
            mended = np.zeros(add.shape, dtype=np.int64)  # for how many of these an arc makes up
            for discard, counts in zip(self.space.discards, self._bridges):
                discarded = discard.heads & (counts == 0)
                missing += discarded
                mended += discard.tails[:, None] & discarded
            n_kept = int((member & (missing == 0)).sum())
            if is_star and n_kept != 2:
                reverse &= ~(member[:, None] & member)
            if can_lose_nodes and n_kept:
                add &= ~(member & (missing > 0) & (mended == missing))

    # Making a move

    def apply(self, move: Move) -> None:
        """Make a legal move; any other is refused."""
        kind, tail, head = (int(part) for part in move)
        if not self.is_legal(Move(kind, tail, head)):
            raise SpaceError(f"the move is not legal here: {Move(kind, tail, head).describe(self.nodes)}")
        self._masks = None
        if kind != ADD:
            self._toggle(tail, head, -1)
            part_ancestors(self._ancestors, self._arcs, head)
        if kind != DELETE:
            tail, head = (head, tail) if kind == REVERSE else (tail, head)
            self._toggle(tail, head, 1)
            join_ancestors(self._ancestors, tail, head)
        if kind != REVERSE:  # which leaves the skeleton as it was
            self._relabel(kind, tail, head)

    def _toggle(self, tail: int, head: int, change: int) -> None:
        """Add (change 1) or take away (-1) an arc in everything but the ancestors and components."""
        self._arcs[tail, head] = change > 0
        self._parents[head] = self._parents[head] ^ {tail}
        for quota, counts in zip(self.space.quotas, self._counts):
            counts[head] += change * int(quota.tails[tail])
        for discard, counts in zip(self.space.discards, self._bridges):
            counts[head] += change * int(discard.tails[tail])

    def _relabel(self, kind: int, tail: int, head: int) -> None:
        """Bring the components of polytrees up to date; each is labelled by its first node."""
        for member, labels in zip(self._rules.polytrees, self._labels):
            if member[tail] and member[head]:
                if kind == ADD:
                    first, second = sorted((labels[tail], labels[head]))
                    labels[labels == second] = first
                else:
                    for node in (tail, head):
                        part = connected_part(self._arcs, member, node)
                        labels[part] = part[0]

    def __repr__(self) -> str:
        return f"<Walk at {self.dag!r}>"


class Span(NamedTuple):
    """A tree or star: its nodes, which of the two, and whether nodes of it can be discarded."""

    member: NDArray[np.bool_]
    is_star: bool
    can_lose_nodes: bool


class MoveRules(NamedTuple):
    """The rules of a space about moves that do not depend on the structure; shared by all walks in it."""

    addable: Matrix
    deletable: Matrix
    reversible: Matrix
    polytrees: tuple[NDArray[np.bool_], ...]
    spans: tuple[Span, ...]


def move_rules(space: Space) -> MoveRules:
    """The part of the legality of moves that never changes."""
    sealed = np.zeros_like(space.allowed)
    spans = []
    for group, member in zip(space.groups, space._members):
        if group.spans:
            sealed |= np.outer(member, member)
            spans.append(Span(member, group.shape == "star", bool((member & discardable(space)).any())))
    return MoveRules(
        addable=space.allowed & ~sealed,
        deletable=~space.required_matrix & ~sealed,
        reversible=np.ascontiguousarray(space.allowed.T) & ~space.required_matrix,
        polytrees=tuple(m for group, m in zip(space.groups, space._members) if group.shape == "polytree"),
        spans=tuple(spans),
    )


def component_labels(arcs: Matrix, member: NDArray[np.bool_]) -> NDArray[np.int64]:
    """A number for each node: the same within a connected part of the members, and one of its own for other nodes."""
    labels = np.arange(len(arcs))
    for node in np.flatnonzero(member).tolist():
        if labels[node] == node:
            labels[connected_part(arcs, member, node)] = node
    return labels


def connected_part(arcs: Matrix, member: NDArray[np.bool_], start: int) -> NDArray[np.int64]:
    """The members that are connected with one of them by arcs among members, ascending."""
    new = member.copy()
    new[start] = False
    stack = [start]
    while stack:
        node = stack.pop()
        found = (arcs[node] | arcs[:, node]) & new
        new &= ~found
        stack.extend(np.flatnonzero(found).tolist())
    return np.flatnonzero(member & ~new)

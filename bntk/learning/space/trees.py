"""Spaces that a spanning-tree search can solve: trees and forests among nodes whose other parents are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk.graph.dag import DAG
from bntk.graph.undirected import sorted_rows

if TYPE_CHECKING:
    from bntk.learning.space import Space

Matrix = NDArray[np.bool_]
Rows = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class TreePart:
    """One tree or forest to be found.

    Attributes
    ----------
    nodes : tuple of int
        Positions in the space's nodes. Nodes that can only be discarded are left out.
    allowed, required : ndarray of bool, shape (m, m)
        Arcs among ``nodes`` (row: tail, column: head, by place in ``nodes``) that may, and must, be in the tree.
    connected : bool
        True for a tree, False when a forest will do.
    root : int or None
        Position of the chosen root in the space's nodes; the tree may have any root when None.
    """

    nodes: tuple[int, ...]
    allowed: Matrix
    required: Matrix
    connected: bool
    root: int | None


@dataclass(frozen=True)
class TreeProblem:
    """Trees and forests that can be chosen independently of each other, and the arcs around them.

    Every choice of one tree or forest for each part, together with the fixed arcs and any of the optional ones, is
    acyclic and legal; except that a node of ``discarding`` is in its tree only with at least one optional arc into it.
    Without optional arcs, the best structure is the best tree of each part.

    Attributes
    ----------
    parts : tuple of TreePart
    fixed_parents : tuple of tuples of int
        For every node, its compulsory parents other than those within a part: for example the class.
    optional_parents : tuple of tuples of int
        For every node, the parents that it may also have, such as the class in selective structures.
    discarding : frozenset of int
        Nodes that leave their part while they have none of their optional parents.
    """

    parts: tuple[TreePart, ...]
    fixed_parents: Rows
    optional_parents: Rows
    discarding: frozenset[int]

    @property
    def is_plain(self) -> bool:
        """True when there is nothing to choose but the trees."""
        return not any(self.optional_parents)


def tree_problem(space: Space) -> TreeProblem | None:
    """The trees and forests of a space; None when something else must be chosen jointly with them."""
    members = [m for group, m in zip(space.groups, space._members) if group.shape in ("tree", "forest")]
    if not members or (np.sum(members, axis=0) > 1).any():
        return None
    inside = np.any([np.outer(member, member) for member in members], axis=0)
    fixed = space.required_matrix & ~inside
    optional = space.allowed & ~space.required_matrix & ~inside
    if not (_choices_are_free(space, inside, optional) and _order_is_fixed(space, members, fixed | optional)):
        return None
    dropped, discarding = _discards(space, fixed, optional)
    return TreeProblem(
        parts=tuple(
            _part(space, member & ~dropped, group.shape == "tree", group.root)
            for group, member in zip(space.groups, space._members)
            if group.shape in ("tree", "forest")
        ),
        fixed_parents=_parent_rows(fixed),
        optional_parents=_parent_rows(optional),
        discarding=frozenset(np.flatnonzero(discarding).tolist()),
    )


def _part(space: Space, member: NDArray[np.bool_], connected: bool, root: str | None) -> TreePart:
    nodes = np.flatnonzero(member)
    block = np.ix_(nodes, nodes)
    chosen = None if root is None or not member[space.index(root)] else space.index(root)
    return TreePart(tuple(nodes.tolist()), space.allowed[block], space.required_matrix[block], connected, chosen)


def _choices_are_free(space: Space, inside: Matrix, optional: Matrix) -> bool:
    """True when optional arcs can be chosen one by one, whatever the trees and the other optional arcs."""
    open_arcs = space.allowed & ~space.required_matrix
    for group, member in zip(space.groups, space._members):
        if group.shape in ("star", "polytree", "kdb") and (open_arcs & np.outer(member, member)).any():
            return False
    if any((optional & discard.inner).any() for discard in space.discards):
        return False
    if space.discards and (np.sum([discard.heads for discard in space.discards], axis=0) > 1).any():
        return False
    most = space.required_matrix | optional
    for quota in space.quotas:
        tree_parent = (open_arcs & inside)[quota.tails].any(axis=0)
        if (quota.heads & (quota.counts(most) + tree_parent > quota.limits)).any():
            return False
    return True


def _order_is_fixed(space: Space, members: list[NDArray[np.bool_]], between: Matrix) -> bool:
    """True when the parts, each taken as one node, and the other nodes cannot form a cycle."""
    block = np.arange(space.n_nodes)
    for member in members:
        block[member] = np.flatnonzero(member)[:1]  # a part may be empty
    tails, heads = np.nonzero(between)
    merged = np.zeros_like(between)
    merged[block[tails], block[heads]] = True
    if merged.diagonal().any():
        return False
    order = DAG._trusted(space.nodes, _parent_rows(merged))
    return len(order.topological_indices) == space.n_nodes


def _discards(space: Space, fixed: Matrix, optional: Matrix) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The nodes that are discarded in any case, and those that are unless they get an optional arc."""
    dropped = np.zeros(space.n_nodes, dtype=bool)
    discarding = dropped.copy()
    for discard in space.discards:
        lone = discard.heads & ~fixed[discard.tails].any(axis=0)
        possible = optional[discard.tails].any(axis=0)
        dropped |= lone & ~possible
        discarding |= lone & possible
    return dropped, discarding & ~dropped


def _parent_rows(arcs: Matrix) -> Rows:
    rows: list[list[int]] = [[] for _ in arcs]
    for head, tail in np.argwhere(arcs.T).tolist():
        rows[head].append(tail)
    return sorted_rows(rows)

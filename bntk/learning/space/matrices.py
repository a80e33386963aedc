"""The rules of a space as arrays over positions; in a matrix, the row is the tail of an arc, the column its head."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from bntk.learning.space.rules import Discard, Group, Quota

if TYPE_CHECKING:
    from bntk.learning.space import Space

Matrix = NDArray[np.bool_]
Array = TypeVar("Array", bound=np.ndarray)


def frozen(array: Array) -> Array:
    """The same array, read-only: it is shared by all who ask."""
    array.flags.writeable = False
    return array


def covered(space: Space) -> Matrix:
    """The arcs that some group or link speaks of, in either direction."""
    matrix = np.zeros((space.n_nodes, space.n_nodes), dtype=bool)
    for member in space._members:
        matrix |= np.outer(member, member)
    for tails, heads in space._ends:
        matrix |= np.outer(tails, heads) | np.outer(heads, tails)
    return matrix


def against_tiers(space: Space) -> Matrix:
    """The arcs from a later tier into an earlier one."""
    tier_of = np.full(space.n_nodes, -1)
    for place, tier in enumerate(space.tiers):
        tier_of[space._member(tier)] = place
    return (tier_of[:, None] > tier_of) & (tier_of >= 0)


def quotas(space: Space) -> tuple[Quota, ...]:
    """Every rule that limits how many of some nodes may be parents of others."""
    n = space.n_nodes
    found = []
    if (space.parent_limits < n - 1).any():
        everything = np.ones(n, dtype=bool)
        found.append(Quota("max_parents", everything, everything, space.parent_limits))
    for group, member in zip(space.groups, space._members):
        if group.parent_limit is not None:
            found.append(Quota(str(group), member, member, np.full(n, group.parent_limit)))
    for link, (tails, heads) in zip(space.links, space._ends):
        if link.max_parents is not None:
            found.append(Quota(str(link), tails, heads, np.full(n, link.max_parents)))
    return tuple(found)


def discards(space: Space) -> tuple[Discard, ...]:
    """The discarding links."""
    found = []
    for link, (tails, heads) in zip(space.links, space._ends):
        if link.mode == "discard":
            inner = np.outer(heads, heads)
            for member in space._members:
                shared = np.outer(member & heads, member)
                inner |= shared | shared.T
            found.append(Discard(tails, heads, inner & ~np.outer(tails, heads)))
    return tuple(found)


def discardable(space: Space) -> NDArray[np.bool_]:
    """The nodes that some link may discard."""
    nodes = np.zeros(space.n_nodes, dtype=bool)
    for discard in space.discards:
        nodes |= discard.heads
    return nodes


def required(space: Space) -> Matrix:
    """The required arcs, and those that links and stars with a chosen root make compulsory."""
    matrix = space._arc_matrix(space.required)
    for link, (tails, heads) in zip(space.links, space._ends):
        if link.mode == "all":
            matrix |= np.outer(tails, heads)
    for group, member in zip(space.groups, space._members):
        if group.shape == "star" and group.root is not None and not (member & discardable(space)).any():
            root = space.index(group.root)
            matrix[root] |= member
            matrix[root, root] = False
    return matrix


def allowed(space: Space) -> Matrix:
    """The arcs that no rule excludes by itself or together with the required arcs."""
    matrix = ~np.eye(space.n_nodes, dtype=bool) & ~space._arc_matrix(space.forbidden) & ~space._against_tiers
    if not space.free:
        matrix &= space._covered
    for group, member in zip(space.groups, space._members):
        _exclude_by_shape(matrix, group, member, None if group.root is None else space.index(group.root))
    for link, (tails, heads) in zip(space.links, space._ends):
        matrix &= ~np.outer(heads, tails)
        if link.mode == "none":
            matrix &= ~np.outer(tails, heads)
    matrix &= ~space._required_dag.ancestor_matrix()
    for quota in space.quotas:
        full = quota.heads & (quota.counts(space.required_matrix) >= quota.limits)
        matrix &= ~np.outer(quota.tails, full) | space.required_matrix
    return matrix


def _exclude_by_shape(matrix: Matrix, group: Group, member: NDArray[np.bool_], root: int | None) -> None:
    """Clear the arcs of a group that its shape never has."""
    if group.shape == "empty":
        matrix[np.outer(member, member)] = False
    if root is not None:
        matrix[member, root] = False
        if group.shape == "star":
            others = member.copy()
            others[root] = False
            matrix[np.outer(others, member)] = False

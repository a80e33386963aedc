"""The two kinds of rules that a space is composed of: the shape of a group of nodes, and the arcs between groups.

What they say about arcs is read as arrays over positions; in a matrix, the row is the tail of an arc, the column its
head.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.errors import SpaceError

if TYPE_CHECKING:
    from bntk.learning.space import Space

Matrix = NDArray[np.bool_]
Array = TypeVar("Array", bound=np.ndarray)

#: The shapes of the graph among the nodes of a group.
SHAPES = ("empty", "tree", "forest", "star", "polytree", "kdb", "dag")

#: The modes of a link: which arcs from its tails to its heads are compulsory or allowed.
MODES = ("all", "optional", "discard", "none")


@dataclass(frozen=True)
class Group:
    """Some nodes, and the shape of the subgraph of the arcs among them.

    Parameters
    ----------
    nodes : sequence of str
    shape : str
        * ``"empty"``: no arcs;
        * ``"tree"``: connected, and every node but one (the root) has one parent in the group;
        * ``"forest"``: at most one parent in the group for each node;
        * ``"star"``: one node (the root) is the parent of all others, and there are no other arcs;
        * ``"polytree"``: no cycles even when directions are ignored;
        * ``"kdb"``: at most ``k`` parents in the group for each node;
        * ``"dag"``: any arcs.

        A tree or a star spans the nodes that no :class:`Link` with the mode ``"discard"`` has discarded.
    k : int, optional
        For ``"kdb"`` only.
    root : str, optional
        For ``"tree"`` and ``"star"``: this node has no parent in the group. By default any node may be the root.

    Examples
    --------
    >>> print(Group(["rain", "sprinkler", "wet"], "tree", root="rain"))
    tree with root rain over rain, sprinkler, wet
    """

    nodes: Sequence[str]
    shape: str
    k: int | None = None
    root: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", _distinct(self.nodes, "a group"))
        if not isinstance(self.shape, str) or self.shape not in SHAPES:
            raise SpaceError(f"there is no shape {self.shape!r}; the shapes are {', '.join(SHAPES)}")
        if (self.shape == "kdb") != (self.k is not None):
            raise SpaceError(f"k is for the shape 'kdb' and only for it; got the shape {self.shape!r} with k={self.k}")
        if self.k is not None and (not _checking.is_whole(self.k) or self.k < 0):
            raise SpaceError(f"k is the largest number of parents in the group, so not negative; got {self.k!r}")
        if self.root is not None and self.shape not in ("tree", "star"):
            raise SpaceError(f"only a tree or a star has a chosen root, not the shape {self.shape!r}")
        if self.root is not None and (not isinstance(self.root, str) or self.root not in self.nodes):
            raise SpaceError(f"the root {self.root!r} is not in its group ({listed(self.nodes)})")

    @property
    def parent_limit(self) -> int | None:
        """How many parents in the group a node may have; None when the shape has no limit."""
        return self.k if self.shape == "kdb" else 1 if self.shape in ("tree", "forest", "star") else None

    @property
    def spans(self) -> bool:
        """True when the shape has a fixed number of arcs, so that no single arc can be added or deleted."""
        return self.shape in ("tree", "star")

    def __str__(self) -> str:
        most = f"DAG with at most {self.k} {'parent' if self.k == 1 else 'parents'}"
        what = {"empty": "empty graph", "kdb": most, "dag": "DAG"}.get(self.shape, self.shape)
        root = f" with root {self.root}" if self.root is not None else ""
        return f"{what}{root} over {listed(self.nodes)}"


@dataclass(frozen=True)
class Link:
    """A rule about the arcs from one set of nodes to another. Arcs from the heads to the tails are never allowed.

    Parameters
    ----------
    tails, heads : sequence of str
        The two sets of nodes, which must not overlap.
    mode : str
        * ``"all"``: every arc from a tail to a head is compulsory;
        * ``"optional"``: any of them may be there;
        * ``"discard"``: optional, but a head without any arc from the tails is discarded: it has no arc to or from the
          other heads, nor to or from the other nodes of a group that it is in;
        * ``"none"``: none.
    max_parents : int, optional
        How many of the tails may be parents of one head.

    Examples
    --------
    >>> print(Link(["class"], ["colour", "size"], "discard"))
    discarding arcs from class to colour, size
    """

    tails: Sequence[str]
    heads: Sequence[str]
    mode: str = "optional"
    max_parents: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tails", _distinct(self.tails, "the tails of a link"))
        object.__setattr__(self, "heads", _distinct(self.heads, "the heads of a link"))
        if not isinstance(self.mode, str) or self.mode not in MODES:
            raise SpaceError(f"there is no link mode {self.mode!r}; the modes are {', '.join(MODES)}")
        both = [name for name in self.tails if name in set(self.heads)]
        if both:
            raise SpaceError(f"a node cannot be both tail and head of a link: {listed(both)}")
        if self.max_parents is not None and (not _checking.is_whole(self.max_parents) or self.max_parents < 0):
            raise SpaceError(f"max_parents of a link is a number of tails, so not negative; got {self.max_parents!r}")

    def __str__(self) -> str:
        word = {"all": "all", "optional": "optional", "discard": "discarding", "none": "no"}[self.mode]
        limit = "" if self.max_parents is None else f", at most {self.max_parents} into each"
        return f"{word} arcs from {listed(self.tails)} to {listed(self.heads)}{limit}"


class Quota(NamedTuple):
    """A rule of the form: so many of these tails may be parents of each of these heads."""

    rule: str
    tails: NDArray[np.bool_]
    heads: NDArray[np.bool_]
    limits: NDArray[np.int64]

    def counts(self, arcs: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many of the tails each node has as parents."""
        return arcs[self.tails].sum(axis=0, dtype=np.int64)


class Discard(NamedTuple):
    """A discarding link in positions; ``inner`` marks the arcs that a discarded head may not touch."""

    tails: NDArray[np.bool_]
    heads: NDArray[np.bool_]
    inner: NDArray[np.bool_]

    def counts(self, arcs: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many of the tails each node has as parents."""
        return arcs[self.tails].sum(axis=0, dtype=np.int64)

    def kept(self, arcs: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The nodes that the link does not discard, given the arcs that there are."""
        return ~self.heads | (self.counts(arcs) > 0)


def listed(names: Iterable[str], most: int = 6) -> str:
    """Names in a row, cut short when there are many.

    >>> listed("abcdefgh")
    'a, b, c, d, e, ... (8)'
    """
    names = list(names)
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])}, ... ({len(names)})"


def _distinct(names: Iterable[str], where: str) -> tuple[str, ...]:
    names = tuple(_checking.several(where, names, "names", SpaceError))
    for name in names:
        _checking.text(f"each node of {where}", name, "a name", SpaceError)
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise SpaceError(f"{where} must be distinct nodes; given more than once: {listed(repeated)}")
    return names


# ---- as arrays -------------------------------------------------------------------------------------------------------


def frozen(array: Array) -> Array:
    """The same array, read-only, since all callers share it."""
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

"""Spaces: which structures a search may visit.

A space is composed of plain rules (:class:`Group`, :class:`Link`, arcs, tiers, limits); a structure is legal when it
keeps all of them. Named spaces for the usual classifiers are in :mod:`bntk.learning.space.named`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.errors import SpaceError
from bntk.graph.dag import DAG
from bntk.graph.undirected import NamedNodes, checked_nodes, checked_pair, unknown_node
from bntk.learning.space import rules
from bntk.learning.space.checks import broken_rules, refuse_contradictions
from bntk.learning.space.rules import Discard, Group, Link, Quota, listed
from bntk.learning.space.start import smallest_structure
from bntk.learning.space.trees import TreeProblem, tree_problem
from bntk.learning.space.walk import MoveRules, Walk, move_rules

Arc = tuple[str, str]
#: What users write: pairs, text, or a frame with the columns from and to.
Arcs = Iterable[Sequence[str]] | str
Matrix = NDArray[np.bool_]
# What a space is made of, in the order of its key.
_FIELDS = ("nodes", "required", "forbidden", "tiers", "_limits", "groups", "links", "free", "_weights")


class Space(NamedNodes):
    """A set of legal structures over some nodes: the constraints of a search.

    A space cannot be changed; every edit returns a new one. Constraints that contradict each other are refused at once,
    with the arcs or nodes that clash.

    Parameters
    ----------
    nodes : iterable of str
        Distinct names; positions in moves and matrices follow their order.
    required, forbidden : iterable of (from, to), iterable of str, str, or data frame
        Arcs that must, or must not, be present: pairs of names; text such as ``"A -> B"`` or ``"A -> B <- C; D -> B"``,
        as :meth:`DAG.parse` reads it; or a frame with the columns ``from`` and ``to``, as R's bnlearn has them.
    tiers : iterable of lists of str
        No arc from a node of a later tier into one of an earlier tier. Nodes that are in no tier are free.
    max_parents : int or mapping of node to int, optional
        The largest number of parents of a node.
    groups : iterable of Group
        Shapes of the subgraphs among some nodes; groups may overlap, and then all their shapes hold.
    links : iterable of Link
        Arcs between sets of nodes, for example from the class to the features.
    free : bool
        Whether arcs between two nodes that no group and no link mentions are allowed.
    arc_weights : mapping of (from, to) to float, optional
        Prior knowledge about arcs: a logarithm that is added to any score when the arc is present.

    Examples
    --------
    >>> features = ["colour", "size", "price"]
    >>> space = Space(
    ...     [*features, "class"],
    ...     groups=[Group(features, "forest")],
    ...     links=[Link(["class"], features, "all")],
    ...     forbidden=[("price", "size")],
    ... )
    >>> space
    <Space of 4 nodes: forest over colour, size, price; all arcs from class to colour, size, price;
    forbidden price -> size>
    >>> space.start().arcs
    (('class', 'colour'), ('class', 'size'), ('class', 'price'))
    >>> space.violations(DAG.parse("class -> colour; price -> size; class -> price", nodes=space.nodes))
    ['price -> size is forbidden', 'class -> size is missing (all arcs from class to colour, size, price)']
    """

    required: tuple[Arc, ...]
    forbidden: tuple[Arc, ...]
    tiers: tuple[tuple[str, ...], ...]
    groups: tuple[Group, ...]
    links: tuple[Link, ...]
    free: bool
    _limits: tuple[int, ...]
    _weights: tuple[tuple[Arc, float], ...]

    def __init__(
        self,
        nodes: Iterable[str],
        *,
        required: Arcs = (),
        forbidden: Arcs = (),
        tiers: Iterable[Iterable[str]] = (),
        max_parents: int | Mapping[str, int] | None = None,
        groups: Iterable[Group] = (),
        links: Iterable[Link] = (),
        free: bool = True,
        arc_weights: Mapping[Arc, float] | None = None,
    ) -> None:
        self._fill(nodes=checked_nodes(nodes), free=_checking.flag("free", free))
        self._fill(groups=_rules("groups", groups, Group), links=_rules("links", links, Link))
        self._fill(required=self._sorted_arcs(required, "required"))
        self._fill(forbidden=self._sorted_arcs(forbidden, "forbidden"))
        listed_tiers = _checking.several("tiers", tiers, "lists of names", SpaceError)
        self._fill(tiers=tuple(tuple(_checking.several("each tier", tier, error=SpaceError)) for tier in listed_tiers))
        weights = {} if arc_weights is None else arc_weights
        self._fill(_limits=self._checked_limits(max_parents), _weights=self._checked_weights(weights))
        self._refuse_unknown_names()
        refuse_contradictions(self)

    def _key(self) -> tuple[Any, ...]:
        return (
            *(self.nodes, self.required, self.forbidden, self.tiers),
            *(self._limits, self.groups, self.links, self.free, self._weights),
        )

    @classmethod
    def _trusted(cls, *key: Any) -> Space:
        space = cls.__new__(cls)
        space._fill(**dict(zip(_FIELDS, key)))
        return space

    @classmethod
    def _of_rules(cls, nodes: Iterable[str], groups: Iterable[Group], links: Iterable[Link]) -> Space:
        """A space of groups and links over these nodes that are known not to contradict each other."""
        names = checked_nodes(nodes)
        most = max(len(names) - 1, 0)
        return cls._trusted(names, (), (), (), (most,) * len(names), tuple(groups), tuple(links), True, ())

    # What the constructor is given

    def _sorted_arcs(self, arcs: Arcs, argument: str) -> tuple[Arc, ...]:
        pairs = {checked_pair(arc, self._positions, "arc") for arc in _listed_arcs(arcs, argument, self.nodes)}
        return tuple((self.nodes[tail], self.nodes[head]) for tail, head in sorted(pairs))

    def _checked_limits(self, max_parents: int | Mapping[str, int] | None) -> tuple[int, ...]:
        most = max(self.n_nodes - 1, 0)
        if isinstance(max_parents, Mapping):
            given = {self.index(name): limit for name, limit in max_parents.items()}
            limits = [given.get(position, most) for position in range(self.n_nodes)]
        else:
            limits = [most if max_parents is None else max_parents] * self.n_nodes
        for name, limit in zip(self.nodes, limits):
            if not _checking.is_whole(limit) or limit < 0:
                raise SpaceError(f"max_parents is a number of parents, 0 or more; got {limit!r} for {name}")
        return tuple([min(int(limit), most) for limit in limits])

    def _checked_weights(self, weights: Mapping[Arc, float]) -> tuple[tuple[Arc, float], ...]:
        _checking.mapping("arc_weights", weights, "{(from, to): number}", SpaceError)
        sorted_arcs = self._sorted_arcs(weights, "arc_weights")
        for (tail, head), weight in weights.items():
            if not _checking.is_number(weight) or math.isinf(weight):
                raise SpaceError(
                    f"the weight of {tail} -> {head} is {_checking.shown(weight)}, but weights are finite numbers;"
                    " required and forbidden arcs say what is certain"
                )
        return tuple((arc, float(weights[arc])) for arc in sorted_arcs)

    def _refuse_unknown_names(self) -> None:
        named = [(str(group), group.nodes) for group in self.groups]
        named += [(str(link), (*link.tails, *link.heads)) for link in self.links]
        named += [(f"tier {place}", tier) for place, tier in enumerate(self.tiers, 1)]
        for rule, names in named:
            for name in names:
                if not isinstance(name, str) or name not in self._positions:
                    raise unknown_node(name, self.nodes, f" ({rule})")
        tiered = Counter(name for tier in self.tiers for name in tier)
        repeated = [name for name, times in tiered.items() if times > 1]
        if repeated:
            raise SpaceError(f"a node has one tier; given more than once: {listed(repeated)}")

    # The rules as arrays: row is the tail, column the head of an arc

    def _member(self, names: Iterable[str]) -> NDArray[np.bool_]:
        member = np.zeros(self.n_nodes, dtype=bool)
        member[[self._positions[name] for name in names]] = True
        return member

    def _arc_matrix(self, arcs: Iterable[Arc]) -> Matrix:
        matrix = np.zeros((self.n_nodes, self.n_nodes), dtype=bool)
        for tail, head in arcs:
            matrix[self._positions[tail], self._positions[head]] = True
        return matrix

    @cached_property
    def _members(self) -> tuple[NDArray[np.bool_], ...]:
        """The nodes of each group."""
        return tuple(self._member(group.nodes) for group in self.groups)

    @cached_property
    def _ends(self) -> tuple[tuple[NDArray[np.bool_], NDArray[np.bool_]], ...]:
        """The tails and the heads of each link."""
        return tuple((self._member(link.tails), self._member(link.heads)) for link in self.links)

    @cached_property
    def _covered(self) -> Matrix:
        return rules.covered(self)

    @cached_property
    def _against_tiers(self) -> Matrix:
        return rules.against_tiers(self)

    @cached_property
    def _required_dag(self) -> DAG:
        return DAG.from_adjacency(self.required_matrix, self.nodes)

    @cached_property
    def _move_rules(self) -> MoveRules:
        return move_rules(self)

    @cached_property
    def parent_limits(self) -> NDArray[np.int64]:
        """The largest number of parents of each node."""
        return rules.frozen(np.array(self._limits, dtype=np.int64))

    @cached_property
    def quotas(self) -> tuple[Quota, ...]:
        """Every rule that limits how many of some nodes may be parents of others."""
        return rules.quotas(self)

    @cached_property
    def discards(self) -> tuple[Discard, ...]:
        """The discarding links."""
        return rules.discards(self)

    @cached_property
    def required_matrix(self) -> Matrix:
        """The arcs of every legal structure: the required ones, and those that links and stars make compulsory."""
        return rules.frozen(rules.required(self))

    @cached_property
    def allowed(self) -> Matrix:
        """The arcs that may occur: those that no rule excludes by itself or together with the required arcs.

        Not every one of them need be in a legal structure, as rules can exclude an arc jointly in deeper ways.
        """
        return rules.frozen(rules.allowed(self))

    # Soft knowledge

    @property
    def arc_weights(self) -> dict[Arc, float]:
        """The arcs with a weight, and their weights."""
        return dict(self._weights)

    def arc_weight_matrix(self) -> NDArray[np.float64] | None:
        """The weights as a matrix (row: tail, column: head), zero where none was given; None without any."""
        if not self._weights:
            return None
        matrix = np.zeros((self.n_nodes, self.n_nodes))
        for (tail, head), weight in self._weights:
            matrix[self.index(tail), self.index(head)] = weight
        return matrix

    # Queries

    def violations(self, dag: DAG) -> list[str]:
        """The rules that a structure breaks, one sentence for each; empty when it is legal.

        Parameters
        ----------
        dag : DAG
            Over the nodes of the space, in any order.
        """
        _checking.instance("dag", dag, DAG, error=SpaceError)
        if set(dag.nodes) != set(self.nodes):
            raise SpaceError(
                f"the structure is over {listed(dag.nodes)}, but the space is over {listed(self.nodes)};"
                " they must have the same nodes"
            )
        return broken_rules(self, dag.reorder(self.nodes).adjacency())

    def allows(self, dag: DAG) -> bool:
        """True when a structure is legal."""
        if isinstance(dag, DAG) and dag.nodes == self.nodes:  # most structures fail here, without a sentence being made
            arcs = dag.adjacency()
            if (arcs & ~self.allowed).any() or (self.required_matrix & ~arcs).any():
                return False
        return not self.violations(dag)

    def start(self) -> DAG:
        """A smallest legal structure: compulsory arcs only, and some tree where the shape needs one."""
        return self._start

    @cached_property
    def _start(self) -> DAG:
        return smallest_structure(self)

    def check(self) -> None:
        """Raise :class:`~bntk.errors.SpaceError` unless a legal structure is found; for searches to call first."""
        self.start()

    def walk(self, dag: DAG | None = None) -> Walk:
        """The state of a search that begins at a legal structure; by default at :meth:`start`."""
        if dag is None:
            return Walk(self, self.start())
        wrong = self.violations(dag)
        if wrong:
            raise SpaceError(f"the structure to begin with is not legal: {listed(wrong, 4)}")
        return Walk(self, dag.reorder(self.nodes))

    def tree_problem(self) -> TreeProblem | None:
        """The space as a problem for a spanning-tree search; None when it is not made of trees and forests."""
        return self._tree_problem

    @cached_property
    def _tree_problem(self) -> TreeProblem | None:
        return tree_problem(self)

    # New spaces

    def _replace(self, **changes: Any) -> Space:
        options: dict[str, Any] = {
            name: getattr(self, name) for name in ("nodes", "required", "forbidden", "tiers", "groups", "links", "free")
        }
        options |= {"max_parents": dict(zip(self.nodes, self._limits)), "arc_weights": self.arc_weights}
        return Space(**(options | changes))

    def restrict(
        self,
        *,
        required: Arcs = (),
        forbidden: Arcs = (),
        max_parents: int | Mapping[str, int] | None = None,
    ) -> Space:
        """The same space with more constraints.

        Examples
        --------
        >>> Space(["A", "B", "C"]).restrict(required=[("A", "B")], max_parents={"C": 1})
        <Space of 3 nodes: required A -> B; at most 1 parent of C>
        """
        return self & Space(self.nodes, required=required, forbidden=forbidden, max_parents=max_parents)

    def _without(self, arcs: Matrix) -> Space:
        """The same space without these arcs (row: tail); quicker than :meth:`restrict` where they are many."""
        forbidden = np.argwhere(self._arc_matrix(self.forbidden) | arcs).tolist()
        fields = dict(zip(_FIELDS, self._key()))
        fields["forbidden"] = tuple([(self.nodes[tail], self.nodes[head]) for tail, head in forbidden])
        space = Space._trusted(*fields.values())
        refuse_contradictions(space)
        return space

    def with_weights(self, arc_weights: Mapping[Arc, float]) -> Space:
        """The same space with other arc weights."""
        return self._replace(arc_weights=arc_weights)

    def reorder(self, nodes: Iterable[str]) -> Space:
        """The same space with the nodes in another order."""
        names = checked_nodes(nodes)
        if set(names) != set(self.nodes):
            raise SpaceError(f"the new order must have the nodes of the space: {listed(self.nodes)}")
        return self._replace(nodes=names)

    def __and__(self, other: Space) -> Space:
        """The rules of both spaces together: the structures that are legal in both. Arc weights add up.

        A discarding link then acts on the groups of both: a tree of one spans what a link of the other has left.
        """
        if not isinstance(other, Space):
            return NotImplemented
        other = other.reorder(self.nodes) if other.nodes != self.nodes else other
        free, excluded = _joint_freedom(self, other)
        # Two tierings at once have no other common form than the arcs that they forbid.
        later = _named(other, other._against_tiers) if self.tiers and self.tiers != other.tiers else []
        weights = self.arc_weights
        for arc, weight in other._weights:
            weights[arc] = weights.get(arc, 0.0) + weight
        return self._replace(
            required=(*self.required, *other.required),
            forbidden=(*self.forbidden, *other.forbidden, *excluded, *later),
            tiers=self.tiers or other.tiers,
            max_parents=dict(zip(self.nodes, map(min, self._limits, other._limits))),
            groups=tuple(dict.fromkeys((*self.groups, *other.groups))),
            links=tuple(dict.fromkeys((*self.links, *other.links))),
            free=free,
            arc_weights=weights,
        )

    def plot(self, **options: Any) -> Any:
        """Draw the rules, arcs and tiers; the options are those of :func:`bntk.viz.plot_space`.

        Returns matplotlib Axes.
        """
        from bntk.viz.space import plot_space

        return plot_space(self, **options)

    def _repr_svg_(self) -> str | None:
        from bntk.viz.notebook import space_svg

        return space_svg(self)

    def rules_in_words(self) -> list[str]:
        """The rules that are about more than single arcs and tiers: shapes, links, numbers of parents."""
        free = [] if self.free else ["no other arcs"]
        return [*map(str, self.groups), *map(str, self.links), *self._limits_in_words(), *free]

    def __repr__(self) -> str:
        rules = [*map(str, self.groups), *map(str, self.links)]
        if self.tiers:
            rules.append("tiers " + " | ".join(listed(tier) for tier in self.tiers))
        for word, arcs in (("required", self.required), ("forbidden", self.forbidden)):
            if arcs:
                rules.append(f"{word} " + listed((f"{tail} -> {head}" for tail, head in arcs), 4))
        rules += self._limits_in_words()
        if not self.free:
            rules.append("no other arcs")
        if self._weights:
            rules.append(f"{len(self._weights)} arc weights")
        return f"<Space of {self.n_nodes} nodes: {'; '.join(rules) or 'any DAG'}>"

    def _limits_in_words(self) -> list[str]:
        by_limit: dict[int, list[str]] = {}
        for name, limit in zip(self.nodes, self._limits):
            if limit < self.n_nodes - 1:
                by_limit.setdefault(limit, []).append(name)
        return [
            f"at most {limit} {'parent' if limit == 1 else 'parents'}"
            + (f" of {listed(names)}" if len(names) < self.n_nodes else "")
            for limit, names in sorted(by_limit.items())
        ]


def _rules(argument: str, rules: Iterable[Any], kind: type[Any]) -> tuple[Any, ...]:
    given = _checking.several(argument, rules, f"{kind.__name__} objects", SpaceError)
    return tuple(_checking.instance(f"each of {argument}", rule, kind, error=SpaceError) for rule in given)


def _joint_freedom(a: Space, b: Space) -> tuple[bool, list[Arc]]:
    """Whether both spaces together leave uncovered arcs free, and the arcs to forbid one by one instead.

    The rules of one space would cover arcs that the other excludes as covered by none of its own, so those are
    forbidden explicitly, unless the other space brings no groups or links.
    """
    if a.free and b.free:
        return True, []
    if not (b.groups or b.links) and b.free:
        return False, []
    if not (a.groups or a.links) and a.free:
        return False, []
    excluded = np.zeros_like(a._covered)
    for space in (a, b):
        if not space.free:
            excluded |= ~space._covered
    np.fill_diagonal(excluded, False)
    return True, _named(a, excluded)


def _named(space: Space, matrix: Matrix) -> list[Arc]:
    return [(space.nodes[tail], space.nodes[head]) for tail, head in np.argwhere(matrix).tolist()]


def _listed_arcs(arcs: Any, argument: str, nodes: tuple[str, ...]) -> list[Sequence[str]]:
    """Arcs as pairs, from pairs, text, or a frame."""
    if isinstance(arcs, str):
        return _arcs_of_text(arcs, nodes)
    if hasattr(arcs, "columns"):
        columns = [*arcs.columns]
        if "from" not in columns or "to" not in columns:
            raise SpaceError(f"{argument}: a frame of arcs needs the columns 'from' and 'to'; it has {columns[:8]}")
        return [*zip(arcs["from"], arcs["to"], strict=True)]
    found: list[Sequence[str]] = []
    for arc in _checking.several(argument, arcs, 'arcs: (from, to), or "from -> to"', SpaceError):
        found += _arcs_of_text(arc, nodes) if isinstance(arc, str) else [arc]
    return found


def _arcs_of_text(text: str, nodes: tuple[str, ...]) -> list[Sequence[str]]:
    named = DAG.parse(text)
    for name in named.nodes:
        if name not in nodes:
            raise unknown_node(name, nodes, f" in {text!r}")
    if not named.n_arcs:
        raise SpaceError(f'{text!r} names no arc; write "from -> to"')
    return [*named.arcs]

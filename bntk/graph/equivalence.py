"""Markov equivalence: DAGs that imply the same independences, and the distance between such classes.

References
----------
T. Verma and J. Pearl (1990). Equivalence and synthesis of causal models. UAI 6, 220-227.

D. Dor and M. Tarsi (1992). A simple algorithm to construct a consistent extension of a partially oriented graph.
Technical report R-185, UCLA.

D. M. Chickering (1995). A transformational characterization of equivalent Bayesian network structures. UAI 11, 87-98.

C. Meek (1995). Causal inference and causal explanation with background knowledge. UAI 11, 403-410.

I. Tsamardinos, L. E. Brown and C. F. Aliferis (2006). The max-min hill-climbing Bayesian network structure learning
algorithm. Machine Learning 65, 31-78.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from bntk._checking import instance, names, several
from bntk.errors import GraphError
from bntk.graph.dag import DAG, Rows
from bntk.graph.undirected import NamedNodes, UndirectedGraph, checked_nodes, checked_pair, sorted_rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from bntk.causal.adjustment import AdjustmentCheck, OptimalAdjustmentSet

Pair = tuple[int, int]


class PDAG(NamedNodes):
    """A partially directed graph without directed cycles, that cannot be changed.

    Parameters
    ----------
    nodes : iterable of str
        Distinct names; their order is kept.
    directed : iterable of (from, to)
        The arcs.
    undirected : iterable of pairs
        The edges. Two nodes are joined by one arc or one edge at most.

    Examples
    --------
    >>> pdag = PDAG(["A", "B", "C", "D"], [("A", "C"), ("B", "C")], [("A", "D")])
    >>> pdag
    PDAG(['A', 'B', 'C', 'D'], [('A', 'C'), ('B', 'C')], [('A', 'D')])
    >>> pdag.neighbors("A"), pdag.children("A")
    (('D',), ('C',))
    """

    parent_indices: Rows
    neighbor_indices: Rows

    def __init__(
        self,
        nodes: Iterable[str],
        directed: Iterable[Sequence[str]] = (),
        undirected: Iterable[Sequence[str]] = (),
    ) -> None:
        names = checked_nodes(nodes)
        positions = {name: position for position, name in enumerate(names)}
        parents: list[set[int]] = [set() for _ in names]
        neighbors: list[set[int]] = [set() for _ in names]
        joined: set[Pair] = set()
        pairs_of = {"arc": several("directed", directed, "pairs (from, to)", GraphError)}
        pairs_of["edge"] = several("undirected", undirected, "pairs of nodes", GraphError)
        for kind, pairs in pairs_of.items():
            for pair in pairs:
                a, b = checked_pair(pair, positions, kind)
                if (a, b) in joined:
                    raise GraphError(f"{names[a]!r} and {names[b]!r} are joined twice")
                joined |= {(a, b), (b, a)}
                if kind == "arc":
                    parents[b].add(a)
                else:
                    neighbors[a].add(b)
                    neighbors[b].add(a)
        DAG._trusted(names, sorted_rows(parents))._refuse_cycle()
        self._fill(
            nodes=names,
            _positions=positions,
            parent_indices=sorted_rows(parents),
            neighbor_indices=sorted_rows(neighbors),
        )

    @classmethod
    def _trusted(cls, nodes: tuple[str, ...], parent_indices: Rows, neighbor_indices: Rows) -> PDAG:
        """A PDAG from sorted positions of the parents and of the undirected neighbours, unchecked."""
        pdag = cls.__new__(cls)
        pdag._fill(nodes=nodes, parent_indices=parent_indices, neighbor_indices=neighbor_indices)
        return pdag

    def _key(self) -> tuple[Any, ...]:
        return self.nodes, self.parent_indices, self.neighbor_indices

    @cached_property
    def _arcs(self) -> DAG:
        """The directed part."""
        return DAG._trusted(self.nodes, self.parent_indices)

    @property
    def directed(self) -> tuple[tuple[str, str], ...]:
        """The arcs as (from, to), sorted by node order."""
        return self._arcs.arcs

    @cached_property
    def undirected(self) -> tuple[tuple[str, str], ...]:
        """The undirected edges, each with the earlier node first, sorted by node order."""
        return UndirectedGraph._trusted(self.nodes, self.neighbor_indices).edges

    @property
    def child_indices(self) -> Rows:
        """Positions of the children of each node, ascending."""
        return self._arcs.child_indices

    def parents(self, name: str) -> tuple[str, ...]:
        """The nodes with an arc into a node."""
        return self._arcs.parents(name)

    def children(self, name: str) -> tuple[str, ...]:
        """The nodes with an arc from a node."""
        return self._arcs.children(name)

    def neighbors(self, name: str) -> tuple[str, ...]:
        """The nodes joined to a node by an undirected edge."""
        return self._names(self.neighbor_indices[self.index(name)])

    def skeleton(self) -> UndirectedGraph:
        """The graph with all directions removed."""
        rows = zip(self.parent_indices, self.child_indices, self.neighbor_indices)
        return UndirectedGraph._trusted(self.nodes, sorted_rows((*p, *c, *n) for p, c, n in rows))

    def adjustment_sets(
        self,
        x: str | Iterable[str],
        y: str | Iterable[str],
        latent: str | Iterable[str] = (),
        limit: int | None = None,
    ) -> list[tuple[str, ...]]:
        """The minimal adjustment sets for the effect of ``x`` on ``y`` that are valid in every DAG of the class.

        The class has all DAGs with the skeleton, the arcs and the v-structures of this graph. The criterion is
        complete (Perkovic, Kalisch and Maathuis 2017): without such a set, some DAG of the class has another effect
        than adjustment would find.

        Parameters
        ----------
        x, y, latent, limit
            See :meth:`bntk.DAG.adjustment_sets`.

        Examples
        --------
        >>> pdag = DAG.parse("w -> x -> y <- z -> x").cpdag()
        >>> pdag.adjustment_sets("x", "y")
        [('z',)]
        >>> PDAG(["x", "y"], [], [("x", "y")]).adjustment_sets("x", "y")
        []
        """
        from bntk.causal.adjustment import adjustment_sets

        return adjustment_sets(self, x, y, latent, limit)

    def is_adjustment_set(
        self,
        x: str | Iterable[str],
        y: str | Iterable[str],
        z: str | Iterable[str] = (),
        latent: str | Iterable[str] = (),
    ) -> AdjustmentCheck:
        """Whether some covariates are an adjustment set in every DAG of the class, and if not, why not.

        Parameters
        ----------
        x, y, z, latent
            See :meth:`bntk.DAG.is_adjustment_set`.

        Examples
        --------
        >>> print(PDAG(["x", "y"], [], [("x", "y")]).is_adjustment_set("x", "y"))
        no adjustment set: x -- y may point either way, and may begin a causal path
        """
        from bntk.causal.adjustment import is_adjustment_set

        return is_adjustment_set(self, x, y, z, latent)

    def optimal_adjustment_set(
        self, x: str | Iterable[str], y: str | Iterable[str], latent: str | Iterable[str] = ()
    ) -> OptimalAdjustmentSet:
        """The adjustment set whose estimates vary least in large samples, which is the same in every DAG of the class.

        Parameters
        ----------
        x, y, latent
            See :meth:`bntk.DAG.optimal_adjustment_set`.

        Examples
        --------
        >>> print(DAG.parse("w -> x -> y <- z -> x").cpdag().optimal_adjustment_set("x", "y"))
        {z}
        """
        from bntk.causal.adjustment import optimal_adjustment_set

        return optimal_adjustment_set(self, x, y, latent)

    def __str__(self) -> str:
        lines = [f"{tail} -> {head}" for tail, head in self.directed]
        return "; ".join(lines + [f"{a} -- {b}" for a, b in self.undirected])

    def plot(self, **options: Any) -> Any:
        """Draw the graph, edges without an arrow head; the options are those of :func:`bntk.viz.plot_pdag`.

        Returns matplotlib Axes.
        """
        from bntk.viz.pdag import plot_pdag

        return plot_pdag(self, **options)

    def _repr_svg_(self) -> str | None:
        from bntk.viz.notebook import pdag_svg

        return pdag_svg(self)

    def __repr__(self) -> str:
        text = f"PDAG({list(self.nodes)!r}, {list(self.directed)!r}, {list(self.undirected)!r})"
        if len(text) <= 200:
            return text
        return f"<PDAG: {self.n_nodes} nodes, {len(self.directed)} arcs, {len(self.undirected)} undirected edges>"


def v_structures(dag: DAG) -> tuple[tuple[str, str, str], ...]:
    """The v-structures (parent, child, other parent): the parents are not adjacent, the earlier one first.

    Parameters
    ----------
    dag : DAG
        The graph.

    Examples
    --------
    >>> v_structures(DAG.parse("A -> C <- B; C -> D"))
    (('A', 'C', 'B'),)
    """
    names = instance("dag", dag, DAG, error=GraphError).nodes
    return tuple((names[a], names[child], names[b]) for a, child, b in _v_structures(dag))


def _v_structures(dag: DAG) -> Iterator[tuple[int, int, int]]:
    above = [set(row) for row in dag.parent_indices]
    for child, parents in enumerate(dag.parent_indices):
        for place, a in enumerate(parents):
            for b in parents[place + 1 :]:
                if a not in above[b] and b not in above[a]:
                    yield a, child, b


def cpdag(dag: DAG) -> PDAG:
    """The completed PDAG of a DAG: an arc where all Markov-equivalent DAGs agree, an edge where they differ.

    The arcs are labelled in Chickering's (1995) order, from the top. The time is linear in the number of arcs for a
    bounded number of parents.

    Parameters
    ----------
    dag : DAG
        The graph.

    Examples
    --------
    >>> print(cpdag(DAG.parse("A -> B -> C <- D; C -> E")))
    B -> C; C -> E; D -> C; A -- B
    """
    dag = instance("dag", dag, DAG, error=GraphError)
    rank = {node: place for place, node in enumerate(dag.topological_indices)}
    above = [set(row) for row in dag.parent_indices]
    compelled: list[set[int]] = [set() for _ in dag.nodes]
    for child in dag.topological_indices:
        compelled[child] = _compelled_parents(child, above, compelled, rank)
    neighbors: list[set[int]] = [set() for _ in dag.nodes]
    for child, parents in enumerate(above):
        for parent in parents - compelled[child]:
            neighbors[child].add(parent)
            neighbors[parent].add(child)
    return PDAG._trusted(dag.nodes, sorted_rows(compelled), sorted_rows(neighbors))


def _compelled_parents(child: int, above: list[set[int]], compelled: list[set[int]], rank: dict[int, int]) -> set[int]:
    """The parents whose arcs into ``child`` are compelled, once those into its ancestors are known."""
    parents = above[child]
    if not parents:
        return set()
    x = max(parents, key=rank.__getitem__)  # the labels of the other arcs follow from this one
    if not compelled[x] <= parents:  # w -> x -> child with w and child not adjacent
        return parents
    if parents - above[x] - {x}:  # x -> child <- z, and z is no parent of x
        return parents
    return compelled[x]  # w -> x -> child and w -> child: turning that arc alone would close a cycle


def meek(pdag: PDAG) -> PDAG:
    """Direct every edge that no DAG with these arcs and v-structures can direct otherwise: Meek's (1995) four rules.

    Parameters
    ----------
    pdag : PDAG
        The graph.

    Examples
    --------
    >>> print(meek(PDAG(["A", "B", "C"], [("A", "B")], [("B", "C")])))
    A -> B; B -> C
    """
    marks = _Marks(instance("pdag", pdag, PDAG, error=GraphError))
    waiting = [(a, b) for a, row in enumerate(pdag.neighbor_indices) for b in row if a < b]
    while waiting:
        a, b = waiting.pop()
        if b not in marks.neighbors[a]:
            continue
        for tail, head in ((a, b), (b, a)):
            if marks.must_point(tail, head):
                marks.direct(tail, head)
                waiting.extend(marks.touched(tail, head))
                break
    return marks.closed(pdag)


def meek_in_rounds(pdag: PDAG, unclear: Collection[tuple[int, int, int]] = ()) -> PDAG:
    """:func:`meek` for graphs that may contradict themselves: what the rules direct both ways stays an edge.

    The rules are applied to all edges at once, again and again, so that the order of the nodes does not matter.
    ``unclear`` as for :class:`_Marks`.
    """
    marks = _Marks(pdag, unclear)
    edges = [(a, b) for a, row in enumerate(pdag.neighbor_indices) for b in row if a < b]
    while True:
        found = [(marks.must_point(a, b), marks.must_point(b, a)) for a, b in edges]
        if not any(one != other for one, other in found):
            return marks.closed(pdag)
        for (a, b), (one, other) in zip(edges, found, strict=True):
            if one != other:
                marks.direct(*((a, b) if one else (b, a)))
        edges = [edge for edge, (one, other) in zip(edges, found, strict=True) if one == other]


def interventional_cpdag(dag: DAG, targets: Iterable[str | Iterable[str]]) -> PDAG:
    """The class of a DAG among those that experiments cannot tell apart (Hauser and Bühlmann 2012).

    An edge is directed where an experiment sets one of its ends and not the other, or where other directions follow
    from that by Meek's rules.

    Parameters
    ----------
    dag : DAG
        The structure.
    targets : iterable of names, or of sets of names
        The variables that each experiment set. There must be rows in which each variable was not set.

    Examples
    --------
    >>> chain = DAG.parse("a -> b -> c")
    >>> print(cpdag(chain))
    a -- b; b -- c
    >>> print(interventional_cpdag(chain, ["a"]))
    a -> b; b -> c
    """
    nodes = instance("dag", dag, DAG, error=GraphError).nodes
    sets = []
    for number, target in enumerate(several("targets", targets, "names, or of sets of names", GraphError)):
        sets.append({dag.index(name) for name in names(f"targets[{number}]", target, error=GraphError)})
    pattern = cpdag(dag)
    above, beside = ([set(row) for row in rows] for rows in (pattern.parent_indices, pattern.neighbor_indices))
    for head, parents in enumerate(dag.parent_indices):
        for tail in parents:
            if tail in beside[head] and any((tail in s) != (head in s) for s in sets):
                beside[head].discard(tail)
                beside[tail].discard(head)
                above[head].add(tail)
    return meek(PDAG._trusted(nodes, sorted_rows(above), sorted_rows(beside)))


class _Marks:
    """The sets that Meek's rules read and change.

    ``unclear`` are triples (a, c, b), a before b, of which it is not known that they are no v-structure: rules 1 and 3
    do not apply to them.
    """

    def __init__(self, pdag: PDAG, unclear: Collection[tuple[int, int, int]] = ()) -> None:
        self.unclear = frozenset(unclear)
        self.parents = [set(row) for row in pdag.parent_indices]
        self.children = [set(row) for row in pdag.child_indices]
        self.neighbors = [set(row) for row in pdag.neighbor_indices]
        self.adjacent = [set(row) for row in pdag.skeleton().neighbor_indices]

    def must_point(self, a: int, b: int) -> bool:
        """True when one of the four rules turns the edge a -- b into a -> b."""
        into_b, around_a = self.parents[b], self.adjacent[a]
        loose = self.parents[a] - self.adjacent[b]  # 1: c -> a -- b, c and b not adjacent
        if loose and not (self.unclear and all(self._is_unclear(c, a, b) for c in loose)):
            return True
        if self.children[a] & into_b:  # 2: a -> c -> b
            return True
        sides = self.neighbors[a] & into_b  # 3: a -- c -> b and a -- d -> b, c and d not adjacent
        if any(not self._is_unclear(c, a, d) for c in sides for d in sides - self.adjacent[c] - {c}):
            return True
        # 4: a -- c -> d -> b, a and d adjacent, c and b not adjacent
        far = self.neighbors[a] - self.adjacent[b] - {b}
        return any(self.parents[d] & far for d in into_b & around_a)

    def _is_unclear(self, one: int, middle: int, other: int) -> bool:
        return bool(self.unclear) and (min(one, other), middle, max(one, other)) in self.unclear

    def closed(self, pdag: PDAG) -> PDAG:
        """The graph that the rules have led to; refused when it has a cycle."""
        closed = PDAG._trusted(pdag.nodes, sorted_rows(self.parents), sorted_rows(self.neighbors))
        closed._arcs._refuse_cycle()
        return closed

    def direct(self, tail: int, head: int) -> None:
        self.neighbors[tail].discard(head)
        self.neighbors[head].discard(tail)
        self.parents[head].add(tail)
        self.children[tail].add(head)

    def touched(self, tail: int, head: int) -> Iterator[Pair]:
        """The edges to which a rule may apply now that tail -> head."""
        for node in (tail, head, *self.children[head]):
            for other in self.neighbors[node]:
                yield node, other


def consistent_extension(pdag: PDAG) -> DAG:
    """A DAG with the skeleton, the arcs and the v-structures of a PDAG (Dor and Tarsi 1992).

    A node can be last when it has no children and each undirected neighbour is adjacent to everything else around it.
    Such nodes are taken away one by one, of several the last in node order, so that free arcs run along that order.

    Parameters
    ----------
    pdag : PDAG
        The graph.

    Raises
    ------
    GraphError
        When there is no such DAG.

    Examples
    --------
    >>> print(consistent_extension(PDAG(["A", "B", "C"], [], [("A", "B"), ("B", "C")])))
    A -> B -> C
    """
    marks = _Marks(instance("pdag", pdag, PDAG, error=GraphError))
    parents = [set(row) for row in pdag.parent_indices]
    candidates = [-node for node in range(pdag.n_nodes)]
    heapq.heapify(candidates)
    gone: set[int] = set()
    while candidates:
        node = -heapq.heappop(candidates)
        if node in gone or not _can_be_last(node, marks):
            continue
        gone.add(node)
        parents[node] |= marks.neighbors[node]
        for other in marks.adjacent[node]:
            for rows in (marks.adjacent, marks.children, marks.neighbors):
                rows[other].discard(node)
            heapq.heappush(candidates, -other)  # only the nodes around it may have become free
    if len(gone) < pdag.n_nodes:
        left = ", ".join(map(repr, pdag._names(set(range(pdag.n_nodes)) - gone)[:12]))
        raise GraphError(f"no DAG has these arcs and no other v-structures; the conflict is among {left}")
    return DAG._trusted(pdag.nodes, sorted_rows(parents))


def _can_be_last(node: int, marks: _Marks) -> bool:
    around = marks.adjacent[node]
    return not marks.children[node] and all(
        around - {other} <= marks.adjacent[other] for other in marks.neighbors[node]
    )


def is_equivalent(a: DAG, b: DAG) -> bool:
    """True when two DAGs on the same nodes have the same skeleton and v-structures (Verma and Pearl 1990).

    Parameters
    ----------
    a, b : DAG
        The two graphs, over the same nodes in any order.

    Examples
    --------
    >>> chain = DAG.parse("A -> B -> C")
    >>> is_equivalent(chain, DAG.parse("A <- B -> C")), is_equivalent(chain, DAG.parse("A -> B <- C"))
    (True, False)
    """
    b = _aligned(b, a, DAG)
    return _links(a).keys() == _links(b).keys() and set(_v_structures(a)) == set(_v_structures(b))


def shd(a: DAG | PDAG, b: DAG | PDAG) -> int:
    """Structural Hamming distance: the number of node pairs joined differently in the two equivalence classes.

    A DAG stands for its class (:func:`cpdag`); a PDAG is taken as it is. Following Tsamardinos, Brown and Aliferis
    (2006), a pair counts once whether its link is missing, extra or directed otherwise.

    Parameters
    ----------
    a, b : DAG or PDAG
        The two graphs, over the same nodes in any order.

    Examples
    --------
    >>> shd(DAG.parse("A -> B -> C"), DAG.parse("A <- B <- C"))
    0
    >>> shd(DAG.parse("A -> B -> C"), DAG.parse("A -> B <- C"))
    2
    """
    first, second = (_links(cpdag(g) if isinstance(g, DAG) else g) for g in (a, _aligned(b, a, DAG, PDAG)))
    return sum(first.get(pair) != second.get(pair) for pair in first.keys() | second.keys())


def hamming(a: DAG | PDAG, b: DAG | PDAG) -> int:
    """The number of node pairs joined in one graph and not in the other, whatever the directions.

    Parameters
    ----------
    a, b : DAG or PDAG
        The two graphs, over the same nodes in any order.

    Examples
    --------
    >>> hamming(DAG.parse("A -> B -> C"), DAG.parse("A; B; C; C -> A -> B"))
    2
    """
    b = _aligned(b, a, DAG, PDAG)
    return len(_links(a).keys() ^ _links(b).keys())


def _links(graph: DAG | PDAG) -> dict[Pair, int]:
    """The joined pairs, lower position first: 1 for an arc to the higher, -1 to the lower one, 0 for an edge."""
    links: dict[Pair, int] = {}
    for head, parents in enumerate(graph.parent_indices):
        for tail in parents:
            links[min(tail, head), max(tail, head)] = 1 if tail < head else -1
    if isinstance(graph, PDAG):
        links.update({(a, b): 0 for a, row in enumerate(graph.neighbor_indices) for b in row if a < b})
    return links


def _aligned(graph: Any, reference: NamedNodes, *kinds: type) -> Any:
    """The graph with its nodes in the order of the reference; they must be the same nodes."""
    for each in (graph, reference):
        instance("a graph that is compared", each, *kinds, error=GraphError)
    if graph.nodes == reference.nodes:
        return graph
    differing = set(graph.nodes) ^ set(reference.nodes)
    if differing:
        names = ", ".join(map(repr, sorted(differing)[:12]))
        raise GraphError(f"the two graphs must have the same nodes; only one of them has {names}")
    if isinstance(graph, DAG):
        return graph.reorder(reference.nodes)
    return PDAG(reference.nodes, graph.directed, graph.undirected)


class Agreement(NamedTuple):
    """How many of some things two structures share: arcs, edges of the skeleton, or v-structures.

    Attributes
    ----------
    tp, fp, fn : int
        In both; in the learned structure only; in the reference only.

    Examples
    --------
    >>> found = Agreement(tp=3, fp=1, fn=0)
    >>> found.precision, found.recall, round(found.f1, 3)
    (0.75, 1.0, 0.857)
    """

    tp: int
    fp: int
    fn: int

    @property
    def precision(self) -> float:
        """The share of what was learned that is in the reference; 1 when nothing was learned."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else 1.0

    @property
    def recall(self) -> float:
        """The share of the reference that was learned; 1 when there is nothing."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall: 2 tp / (2 tp + fp + fn); 1 when both have nothing."""
        whole = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / whole if whole else 1.0

    @classmethod
    def of(cls, ours: Collection[Any], theirs: Collection[Any]) -> Agreement:
        """The agreement of two collections of things."""
        first, second = set(ours), set(theirs)
        return cls(len(first & second), len(first - second), len(second - first))


@dataclass(frozen=True)
class ArcComparison:
    """A learned structure against a reference: lists of arcs, agreement, and distances.

    Arcs are (from, to). A reversed arc is listed as learned. As in bnlearn, it is both a false positive and a false
    negative. An arc that the other graph has as an edge without direction is one of these, by the graph that has the
    arc, and listed apart.

    Attributes
    ----------
    correct, added, missing, reversed : tuple of (str, str)
        The arcs: in both graphs; between nodes that the reference, or the learned graph, does not join; and those that
        the reference has the other way round.
    learned, reference : DAG or PDAG
        The structures.
    kl_by_family : dict of str to float, or None
        Of two networks: the terms of the Kullback-Leibler divergence of the learned one from the reference, in nats.
    """

    correct: tuple[tuple[str, str], ...]
    added: tuple[tuple[str, str], ...]
    missing: tuple[tuple[str, str], ...]
    reversed: tuple[tuple[str, str], ...]
    learned: DAG | PDAG
    reference: DAG | PDAG
    kl_by_family: Mapping[str, float] | None = field(default=None, compare=False)

    @property
    def tp(self) -> int:
        """Arcs of the reference that were learned."""
        return len(self.correct)

    @property
    def fp(self) -> int:
        """Learned arcs that the reference does not have, or has the other way round or without direction."""
        return len(self.added) + len(self.reversed) + len(self.directed_in_learned)

    @property
    def fn(self) -> int:
        """Arcs of the reference that were not learned, or learned the other way round or without direction."""
        return len(self.missing) + len(self.reversed) + len(self.directed_in_reference)

    @property
    def directed_in_learned(self) -> tuple[tuple[str, str], ...]:
        """Learned arcs that are edges without direction in the reference."""
        return _arcs_among_edges(self.learned, self.reference)

    @property
    def directed_in_reference(self) -> tuple[tuple[str, str], ...]:
        """Arcs of the reference that were learned as edges without direction."""
        return _arcs_among_edges(self.reference, self.learned)

    @property
    def shd(self) -> int:
        """The structural Hamming distance of the equivalence classes, see :func:`shd`."""
        return shd(self.learned, self.reference)

    @property
    def arcs(self) -> Agreement:
        """The agreement of the arcs."""
        return Agreement(self.tp, self.fp, self.fn)

    @property
    def skeleton(self) -> Agreement:
        """The agreement of the skeletons, whatever the directions."""
        return Agreement.of(_links(self.learned), _links(self.reference))

    @property
    def v_structures(self) -> Agreement:
        """The agreement of the v-structures."""
        return Agreement.of(*(set(_colliders(graph)) for graph in (self.learned, self.reference)))

    @property
    def kl(self) -> float | None:
        """The Kullback-Leibler divergence of the learned network from the reference, in nats; None without networks."""
        return None if self.kl_by_family is None else max(0.0, sum(self.kl_by_family.values()))

    def to_frame(self) -> pd.DataFrame:
        """The agreement as a data frame: a row each for skeleton, arcs and v-structures."""
        import pandas as pd

        rows = {"skeleton": self.skeleton, "arcs": self.arcs, "v-structures": self.v_structures}
        columns = ("tp", "fp", "fn", "precision", "recall", "f1")
        return pd.DataFrame([[getattr(row, name) for name in columns] for row in rows.values()], [*rows], columns)

    def plot(self, **options: Any) -> Axes:
        """Draw the arcs of both; the options are those of :func:`bntk.viz.plot_comparison`.

        Returns matplotlib Axes.
        """
        from bntk.viz.comparison import plot_comparison

        return plot_comparison(self.learned, self.reference, **options)

    def __repr__(self) -> str:
        kl = "" if self.kl is None else f", KL {self.kl:.4g}"
        lines = [f"ArcComparison: SHD {self.shd}{kl}"]
        rows = (("skeleton", self.skeleton), ("arcs", self.arcs), ("v-structures", self.v_structures))
        for what, found in rows:
            lines.append(
                f"  {what}: {found.tp} true positive, {found.fp} false positive, {found.fn} false negative; "
                f"F1 {found.f1:.3f}"
            )
        for kind in ("correct", "added", "missing", "reversed", "directed_in_learned", "directed_in_reference"):
            arcs = getattr(self, kind)
            if "_" in kind and not arcs:
                continue
            words = (
                kind.replace("_in_", " in ").replace("learned", "learned only").replace("reference", "reference only")
            )
            shown = ", ".join(f"{tail} -> {head}" for tail, head in arcs[:8])
            lines.append(f"  {words:9}{len(arcs):4}  {shown}{', ...' if len(arcs) > 8 else ''}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from bntk.viz.notebook import comparison_svg

        words = f"SHD {self.shd}{'' if self.kl is None else f', KL {self.kl:.4g}'}"
        return f"<p>{words}</p>{self.to_frame().to_html()}{comparison_svg(self)}"


def _arcs_among_edges(one: DAG | PDAG, other: DAG | PDAG) -> tuple[tuple[str, str], ...]:
    """The arcs of a graph between nodes that another one joins by an edge without direction."""
    if isinstance(other, DAG) or not other.undirected:
        return ()
    edges = {frozenset(edge) for edge in other.undirected}
    return tuple(arc for arc in (one.arcs if isinstance(one, DAG) else one.directed) if frozenset(arc) in edges)


def _colliders(graph: DAG | PDAG) -> Iterator[tuple[str, str, str]]:
    """The v-structures by name, those of a PDAG among its arcs; the other parent later by name."""
    joined = _links(graph)
    for child, parents in enumerate(graph.parent_indices):
        for a, b in combinations(parents, 2):
            if (a, b) not in joined:
                one, other = sorted((graph.nodes[a], graph.nodes[b]))
                yield one, graph.nodes[child], other


def compare(learned: DAG | PDAG, reference: DAG | PDAG) -> ArcComparison:
    """A learned structure against a reference on the same nodes.

    Parameters
    ----------
    learned, reference : DAG or PDAG
        The two graphs, over the same nodes in any order.

    Examples
    --------
    >>> compare(DAG.parse("A -> B; C -> B; A -> D"), DAG.parse("A -> B -> C -> D"))
    ArcComparison: SHD 4
      skeleton: 2 true positive, 1 false positive, 1 false negative; F1 0.667
      arcs: 1 true positive, 2 false positive, 2 false negative; F1 0.333
      v-structures: 0 true positive, 1 false positive, 0 false negative; F1 0.000
      correct     1  A -> B
      added       1  A -> D
      missing     1  C -> D
      reversed    1  C -> B
    """
    reference = _aligned(reference, learned, DAG, PDAG)
    learned_arcs, reference_arcs = (g.arcs if isinstance(g, DAG) else g.directed for g in (learned, reference))
    theirs = set(reference_arcs)
    flipped = {(head, tail) for tail, head in theirs}
    joined, joined_in_reference = (
        {frozenset((g.nodes[a], g.nodes[b])) for a, b in _links(g)} for g in (learned, reference)
    )
    return ArcComparison(
        correct=tuple(arc for arc in learned_arcs if arc in theirs),
        added=tuple(arc for arc in learned_arcs if frozenset(arc) not in joined_in_reference),
        missing=tuple(arc for arc in reference_arcs if frozenset(arc) not in joined),
        reversed=tuple(arc for arc in learned_arcs if arc in flipped),
        learned=learned,
        reference=reference,
    )

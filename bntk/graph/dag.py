"""Directed acyclic graphs: the structures of Bayesian networks."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.errors import CycleError, GraphError
from bntk.graph.text import read_dag, write_chains, write_dot, write_mermaid, write_model_string
from bntk.graph.undirected import (
    NamedNodes,
    UndirectedGraph,
    checked_nodes,
    checked_pair,
    closure,
    induced_rows,
    sorted_rows,
)

if TYPE_CHECKING:
    from bntk.causal.adjustment import AdjustmentCheck, OptimalAdjustmentSet
    from bntk.causal.formula import Formula
    from bntk.causal.identification import Hedge
    from bntk.graph.equivalence import PDAG, ArcComparison

Rows = tuple[tuple[int, ...], ...]


class DAG(NamedNodes):
    """A directed acyclic graph that cannot be changed; every edit returns a new one.

    Two DAGs are equal when they have the same nodes *in the same order* and the same arcs. Comparisons of structure
    (:meth:`is_equivalent`, :meth:`shd`, :meth:`compare`) only need the same nodes, in any order.

    Parameters
    ----------
    nodes : iterable of str
        Distinct names; their order is kept, and all results list nodes in this order.
    arcs : iterable of (from, to)
        Pairs of nodes, each given once, that form no directed cycle.

    Attributes
    ----------
    nodes : tuple of str
    parent_indices : tuple of tuples of int
        Positions of the parents of each node, ascending.

    Examples
    --------
    >>> dag = DAG(["A", "B", "C", "D"], [("A", "B"), ("C", "B"), ("B", "D")])
    >>> print(dag)
    A -> B <- C; B -> D
    >>> dag.parents("B"), dag.d_separated("A", "C"), dag.d_separated("A", "C", given="D")
    (('A', 'C'), True, False)
    >>> dag == DAG.parse("A->B<-C; B->D")
    True
    """

    parent_indices: Rows

    def __init__(self, nodes: Iterable[str], arcs: Iterable[Sequence[str]] = ()) -> None:
        names = checked_nodes(nodes)
        positions = {name: position for position, name in enumerate(names)}
        parents: list[set[int]] = [set() for _ in names]
        for arc in _checking.several("arcs", arcs, "pairs (from, to)", GraphError):
            tail, head = checked_pair(arc, positions, "arc")
            if tail in parents[head]:
                raise GraphError(f"the arc {names[tail]!r} -> {names[head]!r} is given twice")
            parents[head].add(tail)
        self._fill(nodes=names, _positions=positions, parent_indices=sorted_rows(parents))
        self._refuse_cycle()

    @classmethod
    def _trusted(cls, nodes: tuple[str, ...], parent_indices: Rows) -> DAG:
        """A DAG from ascending parent positions of each node, unchecked; for searches."""
        dag = cls.__new__(cls)
        dag._fill(nodes=nodes, parent_indices=parent_indices)
        return dag

    @classmethod
    def parse(cls, text: str, *, nodes: Iterable[str] | None = None) -> DAG:
        """Read a DAG from text, as ``str(dag)`` writes it or as a bnlearn model string.

        Parameters
        ----------
        text : str
            Chains such as ``A -> B <- C``, separated by ``;`` or line ends; a single name is a node. A name with blanks
            or any of ``; , " < > - [ ] | : \\`` is put in double quotes, where ``\\"``, ``\\\\`` and ``\\n``
            stand for a quote, a backslash and a line end. Or a model string such as ``[A][B][C|A:B]``.
        nodes : iterable of str, optional
            All nodes, in the order wanted. Without it, nodes are ordered as the text first names them.

        Examples
        --------
        >>> DAG.parse('"light rain" -> wet <- sprinkler').parents("wet")
        ('light rain', 'sprinkler')
        >>> DAG.parse("[A][B][C|A:B]").arcs
        (('A', 'C'), ('B', 'C'))
        >>> DAG.parse("B -> C", nodes=["A", "B", "C"]).roots
        ('A', 'B')
        """
        _checking.text("text", text, 'a string such as "A -> B <- C"', GraphError)
        names = None if nodes is None else checked_nodes(nodes)
        mentioned, arcs = read_dag(text, None if names is None else set(names))
        return cls(mentioned if names is None else names, arcs)

    @classmethod
    def from_adjacency(cls, matrix: Any, nodes: Iterable[str]) -> DAG:
        """A DAG from a square matrix of zeros and ones: row ``i``, column ``j`` is one for an arc from i to j.

        Parameters
        ----------
        matrix : array of shape (n_nodes, n_nodes)
            Zeros and ones, or booleans.
        nodes : iterable of str
            The names of the rows and columns.

        Examples
        --------
        >>> print(DAG.from_adjacency([[0, 1], [0, 0]], ["A", "B"]))
        A -> B
        """
        names = checked_nodes(nodes)
        cells = _checking.numbers("matrix", matrix, "a square matrix of zeros and ones", GraphError)
        if cells.shape != (len(names), len(names)):
            raise GraphError(f"{len(names)} nodes need a square matrix of that size, not shape {cells.shape}")
        if not np.isin(cells, (0, 1)).all():
            raise GraphError("an adjacency matrix holds only zeros and ones (or booleans)")
        loops = np.flatnonzero(np.diag(cells))
        if loops.size:
            raise GraphError(f"the arc {names[loops[0]]!r}, {names[loops[0]]!r} joins a node to itself")
        parents: list[list[int]] = [[] for _ in names]
        for head, tail in np.argwhere(cells.T).tolist():
            parents[head].append(tail)
        dag = cls._trusted(names, tuple(map(tuple, parents)))
        dag._refuse_cycle()
        return dag

    @classmethod
    def from_networkx(cls, graph: Any) -> DAG:
        """A DAG from a directed networkx graph; attributes of nodes and edges are left behind.

        Parameters
        ----------
        graph : networkx.DiGraph
            Its nodes must be strings.
        """
        if not (hasattr(graph, "is_directed") and hasattr(graph, "edges")):
            raise _checking.wrong("graph", "a networkx.DiGraph", graph, GraphError)
        if not graph.is_directed():
            raise GraphError("the networkx graph is undirected; a DAG needs a DiGraph")
        for node in graph.nodes:
            if not isinstance(node, str):
                raise GraphError(
                    f"nodes are named by strings, but one of the networkx graph is {node!r};"
                    " networkx.relabel_nodes(graph, str) turns all names into strings"
                )
        return cls(list(graph.nodes), [(tail, head) for tail, head in graph.edges()])

    def _key(self) -> tuple[Any, ...]:
        return self.nodes, self.parent_indices

    # Arcs and families

    @cached_property
    def child_indices(self) -> Rows:
        """Positions of the children of each node, ascending."""
        children: list[list[int]] = [[] for _ in self.nodes]
        for head, parents in enumerate(self.parent_indices):
            for tail in parents:
                children[tail].append(head)
        return tuple(map(tuple, children))

    @cached_property
    def arcs(self) -> tuple[tuple[str, str], ...]:
        """The arcs as (from, to), sorted by node order."""
        names = self.nodes
        return tuple([(names[tail], names[head]) for tail, row in enumerate(self.child_indices) for head in row])

    @property
    def n_arcs(self) -> int:
        """Number of arcs."""
        return sum(map(len, self.parent_indices))

    def parents(self, name: str) -> tuple[str, ...]:
        """The parents of a node, in node order."""
        return self._names(self.parent_indices[self.index(name)])

    def children(self, name: str) -> tuple[str, ...]:
        """The children of a node, in node order."""
        return self._names(self.child_indices[self.index(name)])

    def has_arc(self, tail: str, head: str) -> bool:
        """True when there is an arc from ``tail`` to ``head``."""
        return self.index(tail) in self.parent_indices[self.index(head)]

    @property
    def roots(self) -> tuple[str, ...]:
        """The nodes without parents."""
        return tuple(name for name, row in zip(self.nodes, self.parent_indices) if not row)

    @property
    def leaves(self) -> tuple[str, ...]:
        """The nodes without children."""
        return tuple(name for name, row in zip(self.nodes, self.child_indices) if not row)

    @property
    def is_forest(self) -> bool:
        """True when no node has more than one parent."""
        return all(len(row) <= 1 for row in self.parent_indices)

    @property
    def is_tree(self) -> bool:
        """True for a forest with exactly one root."""
        return self.is_forest and len(self.roots) == 1

    # Orders and relatives

    @cached_property
    def topological_indices(self) -> tuple[int, ...]:
        """The topological order as positions."""
        waiting = [len(row) for row in self.parent_indices]
        ready = [i for i, count in enumerate(waiting) if count == 0]  # ascending, so already a heap
        order: list[int] = []
        while ready:
            node = heapq.heappop(ready)
            order.append(node)
            for child in self.child_indices[node]:
                waiting[child] -= 1
                if waiting[child] == 0:
                    heapq.heappush(ready, child)
        return tuple(order)

    @property
    def topological_order(self) -> tuple[str, ...]:
        """The nodes, parents before children; of those that could come next, always the first in node order.

        Examples
        --------
        >>> DAG(["C", "A", "B"], [("A", "C"), ("B", "C")]).topological_order
        ('A', 'B', 'C')
        """
        return tuple(self.nodes[i] for i in self.topological_indices)

    def _refuse_cycle(self) -> None:
        if len(self.topological_indices) < self.n_nodes:
            raise CycleError(tuple(self.nodes[i] for i in _short_cycle(self)))

    def ancestors(self, names: str | Iterable[str]) -> tuple[str, ...]:
        """The ancestors of a node, or of any of several nodes, without those given; in node order.

        Parameters
        ----------
        names : str or iterable of str
            One node, or several.
        """
        given = self._indices(names)
        return self._names(closure(given, self.parent_indices).difference(given))

    def descendants(self, names: str | Iterable[str]) -> tuple[str, ...]:
        """The descendants of a node, or of any of several nodes, without those given; in node order.

        Parameters
        ----------
        names : str or iterable of str
            One node, or several.
        """
        given = self._indices(names)
        return self._names(closure(given, self.child_indices).difference(given))

    def ancestor_matrix(self) -> NDArray[np.bool_]:
        """The boolean matrix whose row ``i``, column ``j`` is True when node j is an ancestor of node i.

        Examples
        --------
        >>> DAG.parse("A -> B -> C").ancestor_matrix().astype(int)
        array([[0, 0, 0],
               [1, 0, 0],
               [1, 1, 0]])
        """
        n, sets = len(self.nodes), [0] * len(self.nodes)  # the ancestors of each node as bits of a whole number
        for node in self.topological_indices:
            for parent in self.parent_indices[node]:
                sets[node] |= sets[parent] | 1 << parent
        width = n // 8 + 1
        packed = np.array([list(bits.to_bytes(width, "little")) for bits in sets], dtype=np.uint8).reshape(n, width)
        return np.unpackbits(packed, axis=1, count=n, bitorder="little").view(np.bool_)

    def markov_blanket(self, name: str) -> tuple[str, ...]:
        """The Markov blanket of a node: its parents, its children and the other parents of its children.

        Parameters
        ----------
        name : str
            The node.

        Examples
        --------
        >>> DAG.parse("A -> B -> C <- D; C -> E").markov_blanket("B")
        ('A', 'C', 'D')
        """
        node = self.index(name)
        children = self.child_indices[node]
        blanket = {*self.parent_indices[node], *children}
        blanket.update(*(self.parent_indices[child] for child in children))
        return self._names(blanket - {node})

    def d_separated(self, x: str | Iterable[str], y: str | Iterable[str], given: str | Iterable[str] = ()) -> bool:
        """True when ``given`` blocks every trail between ``x`` and ``y``; see :func:`bntk.graph.d_separated`.

        Parameters
        ----------
        x, y : str or iterable of str
            The two sets of nodes.
        given : str or iterable of str
            The observed nodes.
        """
        from bntk.graph.separation import d_separated

        return d_separated(self, x, y, given)

    def moral_graph(self) -> UndirectedGraph:
        """The undirected graph in which every node is joined to its parents, and these to each other.

        Examples
        --------
        >>> DAG.parse("A -> C <- B").moral_graph().edges
        (('A', 'C'), ('A', 'B'), ('C', 'B'))
        """
        neighbors: list[set[int]] = [set() for _ in self.nodes]
        for child, parents in enumerate(self.parent_indices):
            family = (*parents, child)
            for member in family if parents else ():
                neighbors[member].update(family)
        for node, row in enumerate(neighbors):
            row.discard(node)
        return UndirectedGraph._trusted(self.nodes, sorted_rows(neighbors))

    # Equivalence

    def v_structures(self) -> tuple[tuple[str, str, str], ...]:
        """The v-structures (parent, child, other parent), the parents not adjacent."""
        from bntk.graph.equivalence import v_structures

        return v_structures(self)

    def cpdag(self) -> PDAG:
        """The completed partially directed graph that stands for all Markov-equivalent DAGs."""
        from bntk.graph.equivalence import cpdag

        return cpdag(self)

    def is_equivalent(self, other: DAG) -> bool:
        """True when both DAGs are Markov equivalent: they imply the same independences.

        Parameters
        ----------
        other : DAG
            A graph on the same nodes, in any order.
        """
        from bntk.graph.equivalence import is_equivalent

        return is_equivalent(self, other)

    def shd(self, other: DAG | PDAG) -> int:
        """Structural Hamming distance between the two equivalence classes.

        Parameters
        ----------
        other : DAG or PDAG
            A graph on the same nodes, in any order.
        """
        from bntk.graph.equivalence import shd

        return shd(self, other)

    def compare(self, reference: DAG | PDAG) -> ArcComparison:
        """This DAG against a reference: arcs, skeleton, v-structures, distance. See :func:`bntk.compare_structures`.

        Parameters
        ----------
        reference : DAG or PDAG
            A graph on the same nodes, in any order, such as the true one.
        """
        from bntk.graph.equivalence import compare

        return compare(self, reference)

    # Causal questions

    def adjustment_sets(
        self,
        x: str | Iterable[str],
        y: str | Iterable[str],
        latent: str | Iterable[str] = (),
        limit: int | None = None,
    ) -> list[tuple[str, ...]]:
        """The minimal sets of covariates that identify the effect of ``x`` on ``y`` by adjustment.

        With such a set z, P(y | do(x)) is the sum over z of P(y | x, z) P(z), if the arcs are causal and the DAG has
        all common causes. The criterion is complete (Shpitser, VanderWeele and Robins 2010; van der Zander,
        Liskiewicz and Textor 2019): where there is no set, adjustment is impossible, and :meth:`identify` may still
        find another formula. A set is minimal if no part of it is a set.

        Parameters
        ----------
        x, y : str or iterable of str
            The causes and the effects, disjoint.
        latent : str or iterable of str
            Nodes that are not observed, and cannot be in a set.
        limit : int, optional
            How many sets are wanted; the first ones are found without finding all, of which there may be very many.

        Returns
        -------
        list of tuple of str
            Smallest sets first; sets of the same size in the order of their first nodes that differ. The empty tuple
            means that nothing needs to be adjusted for, the empty list that there is no set.

        Examples
        --------
        >>> dag = DAG.parse("age -> diet -> weight <- sport <- age; sport <- job -> diet")
        >>> dag.adjustment_sets("diet", "weight")
        [('sport',), ('age', 'job')]
        >>> dag.adjustment_sets("diet", "weight", latent=["sport", "age"])
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
        """Whether some covariates identify the effect of ``x`` on ``y`` by adjustment, and if not, why not.

        Parameters
        ----------
        x, y : str or iterable of str
            The causes and the effects, disjoint.
        z : str or iterable of str
            The covariates; none at all is a set, too.
        latent : str or iterable of str
            Nodes that are not observed.

        Returns
        -------
        AdjustmentCheck
            True or false as a condition; its ``reason`` names a forbidden variable or a path that is open.

        Examples
        --------
        >>> dag = DAG.parse("z -> x -> m -> y <- z; m -> s")
        >>> bool(dag.is_adjustment_set("x", "y", "z"))
        True
        >>> print(dag.is_adjustment_set("x", "y"))
        no adjustment set: the path x <- z -> y is open
        >>> print(dag.is_adjustment_set("x", "y", ["z", "s"]))
        no adjustment set: 's' is forbidden, as it lies on a causal path or below one
        """
        from bntk.causal.adjustment import is_adjustment_set

        return is_adjustment_set(self, x, y, z, latent)

    def optimal_adjustment_set(
        self, x: str | Iterable[str], y: str | Iterable[str], latent: str | Iterable[str] = ()
    ) -> OptimalAdjustmentSet:
        """The adjustment set whose estimates of the effect vary least in large samples, if the structure tells.

        It has the parents of the variables on causal paths, without these and what they lead to (Henckel, Perkovic and
        Maathuis 2022; for discrete variables Rotnitzky and Smucler 2020). Where one of these parents is latent and
        does more than add noise to a single variable, none is given. Other sets remain valid, but which of them
        is best may then depend on the probabilities (Runge 2021).

        Parameters
        ----------
        x, y : str or iterable of str
            The causes and the effects, disjoint.
        latent : str or iterable of str
            Nodes that are not observed.

        Returns
        -------
        OptimalAdjustmentSet
            Its ``names``, and it can be used as a collection of them. Where there is none, it is false, ``names`` is
            None, and ``reason`` says why.

        Examples
        --------
        >>> dag = DAG.parse("z -> x -> y <- w -> z")
        >>> print(dag.optimal_adjustment_set("x", "y"))
        {w}
        >>> print(dag.optimal_adjustment_set("x", "y", latent="w"))
        none: it would have 'w', which is latent
        """
        from bntk.causal.adjustment import optimal_adjustment_set

        return optimal_adjustment_set(self, x, y, latent)

    def front_door_sets(
        self,
        x: str | Iterable[str],
        y: str | Iterable[str],
        latent: str | Iterable[str] = (),
        limit: int | None = None,
    ) -> list[tuple[str, ...]]:
        """The minimal sets of mediators that identify the effect of ``x`` on ``y`` by the front-door criterion.

        With such a set z (Pearl 1995), P(y | do(x)) is the sum over z of P(z | x) times the sum over x' of
        P(y | x', z) P(x'). A set is minimal if no part of it is a set.

        Parameters
        ----------
        x, y : str or iterable of str
            The causes and the effects, disjoint.
        latent : str or iterable of str
            Nodes that are not observed.
        limit : int, optional
            How many sets are wanted; the first ones are found without finding all.

        Returns
        -------
        list of tuple of str
            Smallest sets first; sets of the same size in the order of their first nodes that differ.

        Examples
        --------
        >>> dag = DAG.parse("smoking -> tar -> cancer; smoking <- gene -> cancer")
        >>> dag.front_door_sets("smoking", "cancer", latent="gene")
        [('tar',)]
        """
        from bntk.causal.front_door import front_door_sets

        return front_door_sets(self, x, y, latent, limit)

    def instruments(
        self, x: str, y: str, latent: str | Iterable[str] = (), limit: int | None = None
    ) -> list[tuple[str, tuple[str, ...]]]:
        """The instruments for the effect of ``x`` on ``y``, each with what it has to be given.

        A variable z is an instrument given w (Pearl 2009) if z and w do not depend on x, and if z, given w, has to do
        with x, and with y through x only: w separates z and y in the graph without the arcs into x. With further
        assumptions, such as linearity, an instrument identifies the effect where adjustment cannot. Of the w that make
        z an instrument, a minimal one among the ancestors of z and y is listed, the smallest one or the nearest to y.
        Where there are instruments at all, some have such a w (van der Zander, Textor and Liskiewicz 2015).

        Parameters
        ----------
        x, y : str
            The cause and the effect.
        latent : str or iterable of str
            Nodes that are not observed.
        limit : int, optional
            How many are wanted.

        Returns
        -------
        list of (str, tuple of str)
            Each an instrument and what it is given; those with few of these first, then in the order of the nodes.

        Examples
        --------
        >>> dag = DAG.parse("z -> x -> y; x <- u -> y; z <- w -> y")
        >>> dag.instruments("x", "y", latent="u")
        [('z', ('w',))]
        """
        from bntk.causal.instruments import instruments

        return instruments(self, x, y, latent, limit)

    def identify(
        self,
        y: str | Iterable[str],
        do: str | Iterable[str],
        given: str | Iterable[str] = (),
        latent: str | Iterable[str] = (),
    ) -> Formula | Hedge:
        """The effect of an intervention as a formula of the observed variables, or why there is none.

        By the algorithms ID and IDC of Shpitser and Pearl (2006), which find a formula wherever there is one. It is
        simplified by independences, and that of the smallest adjustment set is preferred if it has fewer variables.
        The arcs are taken to be causal, and the DAG to have all latent common causes as nodes.

        Parameters
        ----------
        y : str or iterable of str
            The targets of the effect.
        do : str or iterable of str
            The variables that are set.
        given : str or iterable of str
            Variables that are observed after the intervention.
        latent : str or iterable of str
            Nodes that are not observed.

        Returns
        -------
        Formula or Hedge
            The formula is true as a condition, prints itself as text and in LaTeX, and is evaluated on networks and
            distributions of the observed variables. The hedge is false, and names the two sets that forbid it.

        Examples
        --------
        >>> front_door = DAG.parse("smoking -> tar -> cancer; smoking <- gene -> cancer")
        >>> print(front_door.identify("cancer", do="smoking", latent="gene"))
        P(cancer | do(smoking)) = sum_{tar} P(tar | smoking) sum_{smoking'} P(smoking') P(cancer | smoking', tar)
        >>> print(front_door.remove_arc("smoking", "tar").add_arc("smoking", "cancer").identify(
        ...     "cancer", do="smoking", latent="gene"))
        P(cancer | do(smoking)) is not identified: the C-forests {smoking, cancer} and {cancer}, both with the roots
        {cancer}, form a hedge
        """
        from bntk.causal.identification import identify

        return identify(self, y, do, given, latent)

    # Edits

    def _with_parents(self, changes: Mapping[int, Iterable[int]]) -> DAG:
        rows = list(self.parent_indices)
        for node, parents in changes.items():
            rows[node] = tuple(sorted(parents))
        return DAG._trusted(self.nodes, tuple(rows))

    def add_arc(self, tail: str, head: str) -> DAG:
        """A new DAG with one more arc.

        Parameters
        ----------
        tail, head : str
            The nodes that the arc leads from and to.

        Examples
        --------
        >>> print(DAG.parse("A -> B").add_arc("B", "A"))
        Traceback (most recent call last):
        bntk.errors.CycleError: the arcs form a cycle: A -> B -> A; remove or reverse one of them
        """
        i, j = checked_pair((tail, head), self._positions, "arc")
        if i in self.parent_indices[j]:
            raise GraphError(f"there already is an arc {tail!r} -> {head!r}")
        dag = self._with_parents({j: (*self.parent_indices[j], i)})
        dag._refuse_cycle()
        return dag

    def remove_arc(self, tail: str, head: str) -> DAG:
        """A new DAG with one arc less.

        Parameters
        ----------
        tail, head : str
            The nodes that the arc leads from and to.
        """
        i, j = self.index(tail), self.index(head)
        if i not in self.parent_indices[j]:
            hint = "; the arc points the other way" if j in self.parent_indices[i] else ""
            raise GraphError(f"there is no arc {tail!r} -> {head!r}{hint}")
        return self._with_parents({j: set(self.parent_indices[j]) - {i}})

    def reverse_arc(self, tail: str, head: str) -> DAG:
        """A new DAG in which the arc from ``tail`` to ``head`` points the other way.

        Parameters
        ----------
        tail, head : str
            The nodes that the arc leads from and to.
        """
        return self.remove_arc(tail, head).add_arc(head, tail)

    def add_node(self, name: str) -> DAG:
        """A new DAG with one more node, the last, without arcs.

        Parameters
        ----------
        name : str
            The new node.
        """
        return DAG._trusted(checked_nodes((*self.nodes, name)), (*self.parent_indices, ()))

    def do(self, *nodes: str) -> DAG:
        """The mutilated DAG of an intervention on some nodes: the arcs into them are removed.

        Parameters
        ----------
        *nodes : str
            The nodes that are set by the intervention.

        Examples
        --------
        >>> print(DAG.parse("A -> B -> C").do("B"))
        A; B -> C
        """
        return self._with_parents(dict.fromkeys(self._indices(nodes, "nodes"), ()))

    def subgraph(self, nodes: str | Iterable[str]) -> DAG:
        """The DAG on some of the nodes, in the order of this DAG, with all arcs among them.

        Parameters
        ----------
        nodes : str or iterable of str
            The nodes to keep.
        """
        kept = sorted(self._indices(nodes, "nodes"))
        return DAG._trusted(self._names(kept), induced_rows(self.parent_indices, kept))

    def relabel(self, mapping: Mapping[str, str]) -> DAG:
        """A new DAG with some nodes renamed, each in its old place.

        Parameters
        ----------
        mapping : mapping of str to str
            Old names to new ones; other nodes keep their names.
        """
        for old in _checking.mapping("mapping", mapping, "{old name: new name}", GraphError):
            self.index(old)
        return DAG._trusted(checked_nodes([mapping.get(n, n) for n in self.nodes]), self.parent_indices)

    def reorder(self, nodes: Iterable[str]) -> DAG:
        """A new DAG with the same arcs and the nodes in another order.

        Parameters
        ----------
        nodes : iterable of str
            All nodes, in the new order.
        """
        names = checked_nodes(nodes)
        kept = self._indices(names)
        if len(kept) < self.n_nodes:
            left_out = self._names(set(range(self.n_nodes)) - set(kept))
            raise GraphError(f"the new order leaves out {', '.join(map(repr, left_out))}")
        return DAG._trusted(names, induced_rows(self.parent_indices, kept))

    # Other forms

    def adjacency(self) -> np.ndarray:
        """The boolean matrix whose row ``i``, column ``j`` is True for an arc from node i to node j."""
        matrix = np.zeros((self.n_nodes, self.n_nodes), dtype=bool)
        arcs = [(tail, head) for head, parents in enumerate(self.parent_indices) for tail in parents]
        if arcs:
            matrix[tuple(np.array(arcs).T)] = True
        return matrix

    def to_networkx(self) -> Any:
        """The same graph as a ``networkx.DiGraph``."""
        import networkx as nx

        graph = nx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.arcs)
        return graph

    def to_dot(self) -> str:
        """The graph in the DOT language of Graphviz.

        Examples
        --------
        >>> print(DAG.parse("rain -> wet").to_dot())
        digraph {
          "rain";
          "wet";
          "rain" -> "wet";
        }
        """
        return "\n".join(write_dot(self))

    def to_modelstring(self) -> str:
        """The model string of the graph, as R's bnlearn writes it; :meth:`parse` and ``model2network`` read it.

        Parents come before their children. Names with blanks around them or any of ``[ ] | :`` are refused.

        Examples
        --------
        >>> DAG.parse("C <- A; B -> C").to_modelstring()
        '[A][B][C|A:B]'
        """
        return write_model_string(self)

    def to_mermaid(self) -> str:
        """The graph as a Mermaid flowchart, which many pages of Markdown show as a picture.

        Examples
        --------
        >>> print(DAG.parse("rain -> wet").to_mermaid())
        flowchart TD
          n0["rain"]
          n1["wet"]
          n0 --> n1
        """
        return "\n".join(write_mermaid(self))

    def plot(
        self,
        *,
        target: str | Iterable[str] = (),
        strengths: Any = None,
        arc_labels: Any = None,
        highlight: str | Iterable[str] = (),
        ax: Any = None,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        font_size: float | None = None,
        layout: str = "auto",
    ) -> Any:
        """Draw the graph in layers; see :func:`bntk.viz.plot_dag`. Returns matplotlib Axes.

        Parameters
        ----------
        target, highlight : str or iterable of str
            Nodes to colour: class variables, and others.
        strengths : mapping of (parent, child) to number, or bootstrap strengths, optional
            Strong arcs are drawn wide.
        arc_labels : True, or mapping of (parent, child) to number or text, optional
            What to write beside arcs; ``True`` writes their strengths.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure of the size that the graph needs.
        title : str, optional
            The title of the picture.
        figsize : (float, float), optional
            Width and height of the new figure in inches, which the picture is fitted into.
        font_size : float, optional
            Size of the names in points, 10 by default.
        layout : {"auto", "layered", "graphviz"}
            How nodes are placed.
        """
        from bntk.viz.network import plot_dag

        return plot_dag(
            self,
            target=target,
            strengths=strengths,
            arc_labels=arc_labels,
            highlight=highlight,
            ax=ax,
            title=title,
            figsize=figsize,
            font_size=font_size,
            layout=layout,
        )

    def _repr_svg_(self) -> str | None:
        from bntk.viz.notebook import structure_svg

        return structure_svg(self)

    def __str__(self) -> str:
        return "; ".join(write_chains(self))

    def __repr__(self) -> str:
        text = str(self)
        if len(text) <= 200:
            return f"DAG.parse({text!r})"
        return f"<DAG: {self.n_nodes} nodes, {self.n_arcs} arcs>"


def as_dag(dag: DAG | str, argument: str = "dag", nodes: Iterable[str] | None = None) -> DAG:
    """A DAG as it is; a string as :meth:`DAG.parse` reads it. Anything else is refused."""
    if isinstance(dag, str):
        return DAG.parse(dag, nodes=nodes)
    return _checking.instance(argument, dag, DAG, what='a DAG, or a string such as "A -> B"', error=GraphError)


def _short_cycle(dag: DAG) -> list[int]:
    """A cycle among the nodes that the topological order left out, its first node repeated at the end.

    Walking from parent to parent ends in some cycle; of the shortest cycles through its nodes, the shortest is taken.
    """
    left = set(range(dag.n_nodes)).difference(dag.topological_indices)
    node = min(left)
    walk: dict[int, None] = {}
    while node not in walk:
        walk[node] = None
        node = next(parent for parent in dag.parent_indices[node] if parent in left)
    nodes = list(walk)
    found = nodes[nodes.index(node) :]
    # Enough starts to find a short cycle, few enough to stay linear.
    cycles = [_shortest_cycle_through(start, dag.child_indices) for start in sorted(found)[:50]]
    cycle = min(cycles, key=lambda c: (len(c), c))
    first = cycle.index(min(cycle))
    return [*cycle[first:], *cycle[: first + 1]]


def _shortest_cycle_through(start: int, children: Rows) -> list[int]:
    """The nodes of a shortest cycle through a node that is known to lie on one, by breadth first search."""
    came_from: dict[int, int] = {}
    layer = [start]
    while start not in came_from:
        following: list[int] = []
        for node in layer:
            for child in children[node]:
                if child not in came_from:
                    came_from[child] = node
                    following.append(child)
        layer = following
    cycle = [start]
    while came_from[cycle[-1]] != start:
        cycle.append(came_from[cycle[-1]])
    return cycle[::-1]

"""Undirected graphs, and what all graphs of this package share: named nodes in a given order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from bntk import _checking
from bntk.errors import GraphError, UnknownNameError, did_you_mean

Self = TypeVar("Self", bound="NamedNodes")


class NamedNodes(ABC):
    """Named nodes in a given order, compared and hashed by content, never changed.

    A subclass sets its attributes with :meth:`_fill` and names them in :meth:`_key`; its ``_trusted`` takes
    that key apart again without checking it.
    """

    nodes: tuple[str, ...]

    def _fill(self, **attributes: object) -> None:
        self.__dict__.update(attributes)

    @abstractmethod
    def _key(self) -> tuple[Any, ...]:
        """Everything that the graph is made of."""

    @classmethod
    @abstractmethod
    def _trusted(cls: type[Self], *key: Any) -> Self:
        """A graph from its key, unchecked."""

    def __setattr__(self, attribute: str, value: object) -> None:
        kind = type(self).__name__
        raise AttributeError(f"a {kind} cannot be changed (attribute {attribute!r}); make a new one instead")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed")

    @cached_property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.nodes)}

    def index(self, name: str) -> int:
        """Position of a node in ``nodes``; an unknown name is an error that lists the known ones."""
        try:
            return self._positions[name]
        except (KeyError, TypeError):
            raise unknown_node(name, self.nodes) from None

    def _indices(self, names: str | Iterable[str], argument: str = "names") -> list[int]:
        """Positions of one node or of several, each once, in the order given."""
        return list(dict.fromkeys(self.index(name) for name in _checking.names(argument, names, "names of nodes")))

    def _names(self, indices: Iterable[int]) -> tuple[str, ...]:
        """Names for positions, in node order."""
        return tuple(map(self.nodes.__getitem__, sorted(indices)))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._positions

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    @cached_property
    def _hash(self) -> int:
        return hash((type(self).__name__, *self._key()))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._trusted, self._key()


class UndirectedGraph(NamedNodes):
    """An undirected graph that cannot be changed.

    Parameters
    ----------
    nodes : iterable of str
        Distinct names; their order is kept.
    edges : iterable of pairs
        Each two different nodes, in either order, given once.

    Examples
    --------
    >>> graph = UndirectedGraph("A B C D".split(), [("B", "A"), ("B", "C")])
    >>> graph.edges
    (('A', 'B'), ('B', 'C'))
    >>> graph.connected_components()
    (('A', 'B', 'C'), ('D',))
    """

    neighbor_indices: tuple[tuple[int, ...], ...]

    def __init__(self, nodes: Iterable[str], edges: Iterable[Sequence[str]] = ()) -> None:
        names = checked_nodes(nodes)
        positions = {name: position for position, name in enumerate(names)}
        neighbors: list[set[int]] = [set() for _ in names]
        for edge in _checking.several("edges", edges, "pairs of nodes", GraphError):
            a, b = checked_pair(edge, positions, "edge")
            if b in neighbors[a]:
                raise GraphError(f"the edge between {names[a]!r} and {names[b]!r} is given twice")
            neighbors[a].add(b)
            neighbors[b].add(a)
        self._fill(nodes=names, _positions=positions, neighbor_indices=sorted_rows(neighbors))

    @classmethod
    def _trusted(cls, nodes: tuple[str, ...], neighbor_indices: tuple[tuple[int, ...], ...]) -> UndirectedGraph:
        """A graph from sorted neighbour positions, unchecked."""
        graph = cls.__new__(cls)
        graph._fill(nodes=nodes, neighbor_indices=neighbor_indices)
        return graph

    def _key(self) -> tuple[Any, ...]:
        return self.nodes, self.neighbor_indices

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """The edges, each with the earlier node first, sorted by node order."""
        names = self.nodes
        return tuple((names[a], names[b]) for a, row in enumerate(self.neighbor_indices) for b in row if a < b)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return sum(map(len, self.neighbor_indices)) // 2

    def neighbors(self, name: str) -> tuple[str, ...]:
        """The nodes joined to a node, in node order."""
        return self._names(self.neighbor_indices[self.index(name)])

    def has_edge(self, a: str, b: str) -> bool:
        """True when two nodes are joined."""
        return self.index(b) in self.neighbor_indices[self.index(a)]

    def subgraph(self, nodes: str | Iterable[str]) -> UndirectedGraph:
        """The graph on some of the nodes, in the order of this graph, with all edges among them."""
        kept = sorted(self._indices(nodes, "nodes"))
        return UndirectedGraph._trusted(self._names(kept), induced_rows(self.neighbor_indices, kept))

    def connected_components(self) -> tuple[tuple[str, ...], ...]:
        """The connected parts, each in node order, the part of the first node first."""
        parts: list[tuple[str, ...]] = []
        seen: set[int] = set()
        for start in range(self.n_nodes):
            if start not in seen:
                part = closure([start], self.neighbor_indices)
                seen |= part
                parts.append(self._names(part))
        return tuple(parts)

    def to_networkx(self) -> Any:
        """The same graph as a ``networkx.Graph``."""
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph

    def __repr__(self) -> str:
        text = f"UndirectedGraph({list(self.nodes)!r}, {list(self.edges)!r})"
        return text if len(text) <= 200 else f"<UndirectedGraph: {self.n_nodes} nodes, {self.n_edges} edges>"


def checked_nodes(nodes: Iterable[str]) -> tuple[str, ...]:
    """The names as a tuple: distinct strings that are not blank."""
    names = tuple(nodes if isinstance(nodes, (list, tuple)) else _checking.several("nodes", nodes, error=GraphError))
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise GraphError(f"a node is named by a string that is not blank; got {name!r}")
        if name in seen:
            raise GraphError(f"the node {name!r} is given twice")
        seen.add(name)
    return names


def checked_pair(pair: Sequence[str], positions: Mapping[str, int], kind: str) -> tuple[int, int]:
    """Positions of the two different ends of an arc or edge."""
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise GraphError(f"an {kind} is a pair of node names; got {pair!r}")
    for name in pair:
        if not isinstance(name, str) or name not in positions:
            raise unknown_node(name, tuple(positions), f" of the {kind} {pair[0]!r}, {pair[1]!r}")
    if pair[0] == pair[1]:
        raise GraphError(f"the {kind} {pair[0]!r}, {pair[1]!r} joins a node to itself")
    return positions[pair[0]], positions[pair[1]]


def unknown_node(name: object, nodes: Sequence[str], where: str = "") -> UnknownNameError:
    """The error for a name that is not a node: similar names first, then the nodes."""
    hint = did_you_mean(name, nodes)
    shown = ", ".join(map(repr, nodes[:12])) + (f", ... ({len(nodes)} nodes)" if len(nodes) > 12 else "")
    return UnknownNameError(f"there is no node {name!r}{where}{hint}; the nodes are: {shown or '(none)'}")


def sorted_rows(rows: Iterable[Iterable[int]]) -> tuple[tuple[int, ...], ...]:
    """Sets of positions as sorted tuples."""
    return tuple([tuple(sorted(row)) for row in rows])


def induced_rows(rows: Sequence[Iterable[int]], kept: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The rows of the kept nodes, restricted to them and renumbered by place in ``kept``."""
    place = {node: new for new, node in enumerate(kept)}
    return sorted_rows([place[j] for j in rows[i] if j in place] for i in kept)


def closure(starts: Iterable[int], rows: Sequence[Iterable[int]]) -> set[int]:
    """All positions that can be reached from the starts along the rows, the starts included."""
    found = set(starts)
    stack = list(found)
    while stack:
        fresh = [j for j in rows[stack.pop()] if j not in found]
        found.update(fresh)
        stack.extend(fresh)
    return found

"""Elimination orders, triangulated graphs and clique trees: the structure that exact inference runs on.

Weights are the logarithms of the numbers of states, so that the table over a clique has exp(sum of weights) entries.

References
----------
R. E. Tarjan and M. Yannakakis (1984). Simple linear-time algorithms to test chordality of graphs, test acyclicity of
hypergraphs, and selectively reduce acyclic hypergraphs. SIAM Journal on Computing 13, 566-579.

U. Kjaerulff (1990). Triangulation of graphs: algorithms giving small total state space. Technical report R 90-09,
Aalborg University.

J. R. S. Blair and B. Peyton (1993). An introduction to chordal graphs and clique trees. In Graph Theory and Sparse
Matrix Computation, 1-29. Springer.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bntk import _checking
from bntk.errors import GraphError
from bntk.graph import greedy
from bntk.graph.undirected import UndirectedGraph, checked_nodes, unknown_node

# The first four are numbered as in the kernels.
HEURISTICS = ("min_fill", "min_weight", "weighted_min_fill", "min_degree", "max_cardinality")

Weights = Mapping[str, float] | Sequence[float] | np.ndarray


@dataclass(frozen=True)
class CliqueTree:
    """The maximal cliques of a triangulated graph, joined into one rooted tree with the running intersection property.

    A clique comes after its parent, so ``range(n_cliques)`` runs from the root outwards and its reverse collects
    towards the root. Parts of the graph that are not connected hang on clique 0 by an empty separator (a table of one
    entry), so there is always one root and a message runs between any two cliques.

    Attributes
    ----------
    nodes : tuple of str
        The nodes of the graph.
    cliques : tuple of tuples of str
        The nodes of each clique, in node order.
    parent : tuple of int
        The number of each clique's parent; -1 for clique 0, the root.
    separators : tuple of tuples of str
        What each clique shares with its parent, in node order; empty for the root.

    Examples
    --------
    >>> graph = UndirectedGraph(list("ABCD"), [("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")])
    >>> tree = clique_tree(graph, elimination_order(graph))
    >>> tree.cliques, tree.parent, tree.separators
    ((('B', 'C', 'D'), ('A', 'B', 'D')), (-1, 0), ((), ('B', 'D')))
    """

    nodes: tuple[str, ...]
    cliques: tuple[tuple[str, ...], ...]
    parent: tuple[int, ...]
    separators: tuple[tuple[str, ...], ...]

    @property
    def n_cliques(self) -> int:
        """Number of cliques."""
        return len(self.cliques)

    @property
    def width(self) -> int:
        """The treewidth that this tree attains: the size of the largest clique, less one."""
        return max(map(len, self.cliques), default=0) - 1

    @cached_property
    def clique_indices(self) -> tuple[tuple[int, ...], ...]:
        """The cliques as positions in ``nodes``, ascending."""
        return self._positions(self.cliques)

    @cached_property
    def separator_indices(self) -> tuple[tuple[int, ...], ...]:
        """The separators as positions in ``nodes``, ascending."""
        return self._positions(self.separators)

    def _positions(self, groups: Iterable[tuple[str, ...]]) -> tuple[tuple[int, ...], ...]:
        position = {name: i for i, name in enumerate(self.nodes)}
        return tuple(tuple(position[name] for name in group) for group in groups)

    @cached_property
    def _cliques_of(self) -> dict[str, set[int]]:
        found: dict[str, set[int]] = {name: set() for name in self.nodes}
        for number, clique in enumerate(self.cliques):
            for name in clique:
                found[name].add(number)
        return found

    def containing(self, names: Iterable[str]) -> tuple[int, ...]:
        """The numbers of the cliques that contain all of the nodes, ascending."""
        wanted = _checking.names("names", names, "names of nodes", GraphError)
        for name in wanted:
            if not isinstance(name, str) or name not in self._cliques_of:
                raise unknown_node(name, self.nodes)
        sets = [self._cliques_of[name] for name in wanted]
        return tuple(sorted(set.intersection(*sets))) if sets else tuple(range(self.n_cliques))

    def log_sizes(self, weights: Weights | None = None) -> np.ndarray:
        """The logarithm of the table size of each clique."""
        logs = _checked_weights(self.nodes, weights)
        return np.array([logs[list(clique)].sum() for clique in self.clique_indices], dtype=float)

    def log_total_size(self, weights: Weights | None = None) -> float:
        """The logarithm of the number of entries in all clique tables together; -inf without cliques."""
        return _log_sum(self.log_sizes(weights))

    def __repr__(self) -> str:
        largest = max(self.cliques, key=len, default=())
        return f"<CliqueTree: {len(self.nodes)} nodes, {self.n_cliques} cliques, the largest of {len(largest)} nodes>"


def elimination_order(
    graph: UndirectedGraph,
    weights: Weights | None = None,
    heuristic: str = "min_fill",
    seed: int | None = None,
) -> tuple[str, ...]:
    """An order in which to eliminate the nodes of a graph, found greedily.

    Parameters
    ----------
    graph : UndirectedGraph
        For a Bayesian network, the moral graph.
    weights : mapping or sequence of float, optional
        The logarithm of the number of states of each node; all nodes binary by default.
    heuristic : str
        The quantity that is smallest for the node eliminated next. ``"min_fill"``: the number of edges to be added
        between its neighbours; ``"weighted_min_fill"``: the same, an edge counting as the product of its ends' numbers
        of states; ``"min_weight"``: the table over the node and its neighbours; ``"min_degree"``: the number of
        neighbours. ``"max_cardinality"`` is the reverse of maximum cardinality search, which adds no edge to a graph
        that is already triangulated.
    seed : int, optional
        Equally good nodes are taken in node order, or with a seed in a random order.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> star = UndirectedGraph(["hub", "a", "b"], [("hub", "a"), ("hub", "b")])
    >>> elimination_order(star)
    ('a', 'hub', 'b')
    """
    _check_heuristic(heuristic)
    _checking.optional_whole_number("seed", seed, least=0)
    logs = _checked_weights(_a_graph(graph).nodes, weights)
    sequence = _greedy_order(graph, _bit_rows(graph), logs, heuristic, seed)
    return tuple(graph.nodes[i] for i in sequence)


def _greedy_order(
    graph: UndirectedGraph, rows: np.ndarray, logs: np.ndarray, heuristic: str, seed: int | None
) -> list[int]:
    """The order as positions; ``rows`` is used up."""
    priority = np.arange(graph.n_nodes, dtype=np.int64)
    if seed is not None:
        priority = np.random.default_rng(seed).permutation(graph.n_nodes)
    if heuristic == "max_cardinality":
        return _max_cardinality_order(graph, priority.tolist())
    # Only the weighted fill reads sizes; whole numbers keep its sums exact, and so the ties.
    sizes = np.rint(np.exp(logs)) if heuristic == "weighted_min_fill" else logs
    if greedy.pays(graph.n_nodes):
        sets = [sum(1 << j for j in row) for row in graph.neighbor_indices]
        return greedy.eliminate(sets, logs.tolist(), sizes.tolist(), priority.tolist(), heuristic)
    from bntk.graph.kernels import eliminate  # numba is loaded only when it is needed

    order: list[int] = eliminate(rows, logs, sizes, priority, HEURISTICS.index(heuristic)).tolist()
    return order


def _bit_rows(graph: UndirectedGraph) -> np.ndarray:
    """The neighbours of each node as bits of 64-bit words."""
    rows = np.zeros((graph.n_nodes, -(-graph.n_nodes // 64)), dtype=np.uint64)
    degrees = [len(row) for row in graph.neighbor_indices]
    sources = np.repeat(np.arange(graph.n_nodes), degrees)
    targets = np.fromiter((j for row in graph.neighbor_indices for j in row), np.int64, sum(degrees))
    bits = np.left_shift(np.uint64(1), (targets % 64).astype(np.uint64))
    np.bitwise_or.at(rows, (sources, targets // 64), bits)
    return rows


def _max_cardinality_order(graph: UndirectedGraph, priority: Sequence[int]) -> list[int]:
    """The reverse of visiting, again and again, a node with the most visited neighbours."""
    visited_neighbors = [0] * graph.n_nodes
    visited: dict[int, None] = {}
    queue = [(0, priority[node], node) for node in range(graph.n_nodes)]
    heapq.heapify(queue)
    while queue:
        _, _, node = heapq.heappop(queue)
        if node in visited:
            continue
        visited[node] = None
        for other in graph.neighbor_indices[node]:
            visited_neighbors[other] += 1
            heapq.heappush(queue, (-visited_neighbors[other], priority[other], other))
    return list(visited)[::-1]


def best_elimination_order(
    graph: UndirectedGraph,
    weights: Weights | None = None,
    heuristics: Sequence[str] = ("min_fill", "weighted_min_fill", "min_weight"),
    tries: int = 4,
    seed: int = 0,
) -> tuple[str, ...]:
    """The order with the smallest total clique table size, of several heuristics and random choices among ties.

    Parameters
    ----------
    graph, weights
        As for :func:`elimination_order`.
    heuristics : sequence of str
        Each is run once with ties in node order; an empty sequence means ``"min_fill"`` only.
    tries : int
        How often each is run again with ties in random order.
    seed : int
        Fixes those random orders; the result does not depend on the number of threads.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> graph = UndirectedGraph(list("ABCD"), [("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")])
    >>> order = best_elimination_order(graph, weights=np.log([9, 2, 9, 2]))
    >>> clique_tree(graph, order).cliques  # joins B and D, the small ones
    (('B', 'C', 'D'), ('A', 'B', 'D'))
    """
    from bntk._threads import run_parallel

    for heuristic in _checking.several("heuristics", heuristics):
        _check_heuristic(heuristic)
    tries, seed = _checking.whole_number("tries", tries, least=0), _checking.whole_number("seed", seed, least=0)
    logs = _checked_weights(_a_graph(graph).nodes, weights)
    rows = _bit_rows(graph)

    def attempt(plan: tuple[str, int | None]) -> tuple[float, int, list[int]]:
        sequence = _greedy_order(graph, rows.copy(), logs, *plan)
        later = _later_neighbors(graph, sequence)
        n_edges = sum(rest.bit_count() for rest in later)
        return _log_total_size(later, logs[sequence].tolist()), n_edges, sequence

    seeds = [None, *np.random.SeedSequence(seed).generate_state(tries).tolist()]
    first, *others = [(heuristic, each) for each in seeds for heuristic in heuristics or ("min_fill",)]
    results = [attempt(first)]
    if results[0][1] > graph.n_edges:  # else the graph is triangulated already, and nothing is to be gained
        results += run_parallel(attempt, others)
    return tuple(graph.nodes[i] for i in min(results, key=lambda result: result[0])[2])


def _log_total_size(later: Sequence[int], logs: Sequence[float]) -> float:
    """The logarithm of the total table size of the maximal cliques; the weights are by place in the order."""
    maximal = [True] * len(later)
    for rest in later:
        if rest:
            first = _lowest_bit(rest)
            maximal[first] &= rest != later[first] | 1 << first  # else its clique lies within this one
    places = (place for place, is_maximal in enumerate(maximal) if is_maximal)
    return _log_sum(np.array([logs[p] + sum(logs[q] for q in _bits(later[p])) for p in places]))


def triangulate(graph: UndirectedGraph, order: Iterable[str]) -> UndirectedGraph:
    """The chordal graph that results when nodes are eliminated in the given order.

    Parameters
    ----------
    graph : UndirectedGraph
        The graph.
    order : iterable of str
        All nodes, in the order of elimination.

    Examples
    --------
    >>> square = UndirectedGraph(list("ABCD"), [("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")])
    >>> set(triangulate(square, list("ABCD")).edges) - set(square.edges)
    {('B', 'D')}
    """
    sequence = _checked_order(graph, order)
    neighbors: list[set[int]] = [set() for _ in graph.nodes]
    for node, later in zip(sequence, _later_neighbors(graph, sequence)):
        for place in _bits(later):
            neighbors[node].add(sequence[place])
            neighbors[sequence[place]].add(node)
    return UndirectedGraph._trusted(graph.nodes, tuple(tuple(sorted(row)) for row in neighbors))


def clique_tree(graph: UndirectedGraph, order: Iterable[str]) -> CliqueTree:
    """The clique tree of the graph triangulated by an elimination order (Blair and Peyton 1993).

    Against the order, each node either enlarges the clique of the next node eliminated after it among its neighbours,
    or begins a clique of its own below that one. So only maximal cliques arise.

    Parameters
    ----------
    graph : UndirectedGraph
        The graph, for example the moral graph of a DAG.
    order : iterable of str
        All nodes, in the order of elimination.

    Examples
    --------
    >>> from bntk import DAG
    >>> moral = DAG.parse("A -> B -> C; D -> E").moral_graph()
    >>> tree = clique_tree(moral, elimination_order(moral))
    >>> tree.cliques, tree.parent
    ((('D', 'E'), ('B', 'C'), ('A', 'B')), (-1, 0, 1))
    """
    sequence = _checked_order(graph, order)
    later = _later_neighbors(graph, sequence)
    cliques: list[int] = []  # as bits by place in the order
    separators: list[int] = []
    parent: list[int] = []
    clique_of = [0] * len(sequence)
    for place in reversed(range(len(sequence))):
        rest = later[place]
        above = clique_of[_lowest_bit(rest)] if rest else 0
        if rest and cliques[above] == rest:
            cliques[above] |= 1 << place
            clique_of[place] = above
        else:
            clique_of[place] = len(cliques)
            parent.append(above if cliques else -1)
            separators.append(rest)
            cliques.append(rest | 1 << place)

    def names(bits: int) -> tuple[str, ...]:
        return graph._names(sequence[place] for place in _bits(bits))

    return CliqueTree(graph.nodes, tuple(map(names, cliques)), tuple(parent), tuple(map(names, separators)))


def _later_neighbors(graph: UndirectedGraph, sequence: Sequence[int]) -> list[int]:
    """For each place in the order, the places of its neighbours still there when it is eliminated, as bits.

    Eliminating a node hands its later neighbours on to the first of them, and need be told to no other.
    """
    place_of = {node: place for place, node in enumerate(sequence)}
    later = [0] * len(sequence)
    for place, node in enumerate(sequence):
        for other in graph.neighbor_indices[node]:
            if place_of[other] > place:
                later[place] |= 1 << place_of[other]
    for rest in later:  # entries ahead of the loop grow; each is complete when it is reached
        if rest:
            first = _lowest_bit(rest)
            later[first] |= rest ^ (1 << first)
    return later


def _lowest_bit(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _bits(bits: int) -> Iterator[int]:
    while bits:
        yield _lowest_bit(bits)
        bits &= bits - 1


def _a_graph(graph: UndirectedGraph) -> UndirectedGraph:
    return _checking.instance("graph", graph, UndirectedGraph, error=GraphError)


def _check_heuristic(heuristic: str) -> None:
    if not isinstance(heuristic, str) or heuristic not in HEURISTICS:
        raise GraphError(f"unknown heuristic {heuristic!r}; choose one of {', '.join(HEURISTICS)}")


def _checked_order(graph: UndirectedGraph, order: Iterable[str]) -> list[int]:
    sequence = _a_graph(graph)._indices(checked_nodes(_checking.several("order", order, "nodes", GraphError)))
    if len(sequence) < graph.n_nodes:
        left_out = graph._names(set(range(graph.n_nodes)) - set(sequence))
        raise GraphError(f"the order leaves out {', '.join(map(repr, left_out[:12]))}")
    return sequence


def _checked_weights(nodes: Sequence[str], weights: Weights | None) -> np.ndarray:
    """The weights as an array in node order; log 2 each when there are none."""
    if weights is None:
        return np.full(len(nodes), math.log(2.0))
    if isinstance(weights, Mapping):
        missing = [name for name in nodes if name not in weights]
        if missing:
            raise GraphError(f"there is no weight for {', '.join(map(repr, missing[:12]))}")
        weights = [weights[name] for name in nodes]
    values = _checking.numbers("weights", weights, "a mapping or a list of numbers, one for each node", GraphError)
    if values.shape != (len(nodes),):
        raise GraphError(f"{len(nodes)} nodes need as many weights; got shape {values.shape}")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise GraphError("weights are logarithms of numbers of states: finite and not negative")
    return np.ascontiguousarray(values)


def _log_sum(logs: np.ndarray) -> float:
    """log of the sum of exponentials, without overflow."""
    if logs.size == 0:
        return -math.inf
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))

"""Random structures of bounded treewidth, and networks on them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bntk import _checking
from bntk.cpt import CPT, check_table_size
from bntk.data.variable import Variable
from bntk.errors import DataError, GraphError
from bntk.graph.dag import DAG
from bntk.graph.undirected import checked_nodes
from bntk.network import BayesianNetwork

#: The treewidth unless told otherwise, the most nodes, and the most states of a variable.
TREEWIDTH, MOST_NODES, MOST_STATES = 3, 1_000_000, 1_000_000


def random_dag(
    nodes: int | Iterable[str],
    *,
    treewidth: int | None = TREEWIDTH,
    max_parents: int | None = None,
    n_arcs: int | None = None,
    seed: int = 0,
) -> DAG:
    """A random DAG whose moral graph has a given treewidth.

    In a random order, the first k + 1 nodes form a clique, and each later node is joined to k nodes of a clique that
    is there already: a random k-tree. Its edges become arcs from earlier to later nodes, and some of them are left
    out. The parents of a node stay within a clique, so that the moral graph is part of the k-tree and has treewidth k
    at most; it is exactly k when some node keeps k parents, which one is made to do where the other bounds allow it.

    Parameters
    ----------
    nodes : int or iterable of str
        The names, or how many: then ``x1``, ``x2``, ... The order of the nodes is not a topological one.
    treewidth : int, optional
        k, of the moral graph, less than the number of nodes; the default is lowered for three nodes or fewer. None
        for no bound.
    max_parents : int, optional
        The most parents a node may have; below k, the treewidth is k at most, and may be less.
    n_arcs : int, optional
        The number of arcs; by default as many as the bounds allow in this k-tree.
    seed : int
        The same seed gives the same structure.

    Returns
    -------
    DAG

    References
    ----------
    S. Arnborg, D. G. Corneil and A. Proskurowski (1987). Complexity of finding embeddings in a k-tree. SIAM Journal on
    Algebraic and Discrete Methods 8, 277-284.

    Examples
    --------
    >>> from bntk.graph import clique_tree, elimination_order
    >>> dag = random_dag(50, treewidth=4, n_arcs=100, seed=1)
    >>> dag.n_arcs
    100
    >>> moral = dag.moral_graph()
    >>> clique_tree(moral, elimination_order(moral)).width
    4
    """
    names = _names(nodes)
    n = len(names)
    for argument, value in (("treewidth", treewidth), ("max_parents", max_parents), ("n_arcs", n_arcs)):
        _checking.optional_whole_number(argument, value, least=0)
    if treewidth is not None and treewidth > max(n - 1, TREEWIDTH):
        raise GraphError(
            f"treewidth={treewidth} takes more than {treewidth} nodes, and there are {n}; give less, or None for no "
            "bound"
        )
    rng = np.random.default_rng(_checking.whole_number("seed", seed, least=0))
    k = n if treewidth is None else treewidth
    most = n if max_parents is None else max_parents
    earlier = _partial_order_cliques(rng, n, k)
    parents = _thinned(rng, earlier, most, n_arcs, full=k if k < n else None)
    order = rng.permutation(n)
    return DAG(names, [(names[order[p]], names[order[i]]) for i in range(n) for p in parents[i]])


def _names(nodes: int | Iterable[str]) -> tuple[str, ...]:
    if _checking.is_whole(nodes):
        return tuple(f"x{i + 1}" for i in range(_checking.whole_number("nodes", nodes, 0, MOST_NODES)))
    if isinstance(nodes, (bool, float)):
        raise _checking.wrong(
            "nodes", f"a whole number from 0 to {MOST_NODES:,}, or a list of names", nodes, GraphError
        )
    return checked_nodes(nodes)  # type: ignore[arg-type]


def _partial_order_cliques(rng: np.random.Generator, n: int, k: int) -> list[list[int]]:
    """For each node of a random k-tree the earlier nodes that it is joined to: all, or k of a clique."""
    earlier = [list(range(i)) for i in range(min(n, k + 1))]
    for i in range(k + 1, n):
        member = int(rng.integers(k, i))  # with its earlier neighbours, a clique of k + 1 nodes
        clique = [*earlier[member], member]
        del clique[int(rng.integers(k + 1))]
        earlier.append(clique)
    return earlier


def _thinned(
    rng: np.random.Generator, earlier: list[list[int]], most: int, n_arcs: int | None, full: int | None
) -> list[list[int]]:
    """Parents chosen from the earlier neighbours, ``most`` each and ``n_arcs`` in all; one node with ``full``."""
    possible = sum(min(len(each), most) for each in earlier)
    wanted = possible if n_arcs is None else n_arcs
    if wanted > possible:
        raise GraphError(
            f"n_arcs={wanted} is more than the {possible} arcs that treewidth and max_parents allow for "
            f"{len(earlier)} nodes; choose fewer arcs, or raise a bound"
        )
    parents: list[list[int]] = [[] for _ in earlier]
    if full is not None and full <= most and full <= wanted:
        chosen = int(rng.integers(full, len(earlier)))
        parents[chosen] = earlier[chosen].copy()
    pairs = [(i, p) for i, each in enumerate(earlier) for p in each]
    left = wanted - sum(map(len, parents))
    for at in rng.permutation(len(pairs)):
        i, p = pairs[at]
        if left and len(parents[i]) < most and p not in parents[i]:
            parents[i].append(p)
            left -= 1
    return parents


def random_network(
    nodes: int | Iterable[str],
    *,
    n_states: int | tuple[int, int] = 2,
    treewidth: int | None = TREEWIDTH,
    max_parents: int | None = None,
    n_arcs: int | None = None,
    concentration: float = 1.0,
    deterministic: float = 0.0,
    seed: int = 0,
) -> BayesianNetwork:
    """A random network of a given treewidth, for experiments with inference and learning.

    Parameters
    ----------
    nodes : int or iterable of str
        The names of the variables, or how many: then ``x1``, ``x2``, ...
    treewidth : int, optional
        The treewidth of the moral graph, see :func:`random_dag`. None for no bound.
    max_parents : int, optional
        The largest number of parents of a variable.
    n_arcs : int, optional
        The number of arcs; by default as many as the bounds allow.
    n_states : int or (int, int)
        The number of states of every variable, or the smallest and the largest number to choose from.
    concentration : float
        Each row of a table is drawn from a Dirichlet distribution with this parameter: 1 makes all distributions
        equally likely, less makes them more extreme, more makes them more uniform.
    deterministic : float
        The probability that a variable with parents is a function of them, drawn at random.
    seed : int
        The same seed gives the same network.

    Returns
    -------
    BayesianNetwork

    Examples
    --------
    >>> network = random_network(30, n_states=(2, 4), treewidth=2, seed=7)
    >>> sorted({v.n_states for v in network.variables}), max(len(cpt.parents) for cpt in network.cpts)
    ([2, 3, 4], 2)
    >>> random_network(30, seed=7).cpts == random_network(30, seed=7).cpts
    True
    """
    low, high = _bounds(n_states)
    concentration = _checking.number("concentration", concentration, 0, 1e6, above=True)
    _checking.number("deterministic", deterministic, 0, 1)
    dag = random_dag(nodes, treewidth=treewidth, max_parents=max_parents, n_arcs=n_arcs, seed=seed)
    rng = np.random.default_rng([seed, 1])  # the structure does not depend on the parameters
    variables = [Variable(name, range(int(rng.integers(low, high + 1)))) for name in dag.nodes]
    cpts = []
    for child, at in zip(variables, dag.parent_indices):
        parents = [variables[p] for p in at]
        check_table_size(child, parents)
        shape = tuple(parent.n_states for parent in parents)
        if parents and rng.random() < deterministic:
            values = np.eye(child.n_states)[rng.integers(child.n_states, size=shape)]
        else:
            values = rng.dirichlet(np.full(child.n_states, concentration), size=shape or None)
        cpts.append(CPT(child, values, parents))
    return BayesianNetwork(dag, cpts)


def _bounds(n_states: int | tuple[int, int]) -> tuple[int, int]:
    """The smallest and the largest number of states."""
    both: Any = [n_states, n_states] if _checking.is_whole(n_states) else n_states
    if isinstance(both, (list, tuple)) and len(both) == 2 and all(map(_checking.is_whole, both)):
        low, high = both
        if 1 <= low <= high <= MOST_STATES:
            return int(low), int(high)
    expected = f"a whole number from 1 to {MOST_STATES:,}, or the smallest and the largest one"
    raise _checking.wrong("n_states", expected, n_states, DataError)

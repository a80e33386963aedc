"""Random structures of bounded treewidth, and networks on them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bntk.cpt import CPT, check_table_size
from bntk.data.variable import Variable
from bntk.errors import DataError, GraphError
from bntk.graph.dag import DAG
from bntk.network import BayesianNetwork


def random_dag(
    nodes: int | Iterable[str],
    *,
    treewidth: int | None = 3,
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
        k, of the moral graph. None for no bound. With fewer than k + 1 nodes, all of them may be joined.
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
    names = [f"x{i + 1}" for i in range(nodes)] if isinstance(nodes, int) else list(nodes)
    for argument, value in (("treewidth", treewidth), ("max_parents", max_parents), ("n_arcs", n_arcs)):
        if value is not None and value < 0:
            raise GraphError(f"{argument} must not be negative; got {value}")
    rng = np.random.default_rng(seed)
    n = len(names)
    k = n if treewidth is None else treewidth
    most = n if max_parents is None else max_parents
    earlier = _partial_order_cliques(rng, n, k)
    parents = _thinned(rng, earlier, most, n_arcs, full=k if k < n else None)
    order = rng.permutation(n)
    return DAG(names, [(names[order[p]], names[order[i]]) for i in range(n) for p in parents[i]])


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
    treewidth: int | None = 3,
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
    low, high = (n_states, n_states) if isinstance(n_states, int) else n_states
    if not 1 <= low <= high:
        raise DataError(f"n_states must be a positive number, or the smallest and the largest one; got {n_states!r}")
    if not concentration > 0:
        raise DataError(f"concentration must be positive; got {concentration!r}")
    if not 0 <= deterministic <= 1:
        raise DataError(f"deterministic is a probability, from 0 to 1; got {deterministic!r}")
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

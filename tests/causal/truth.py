"""Effects by brute force: from the joint distribution of all variables, latent ones as well."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from random_networks import joint

import bntk


def random_dag(rng: np.random.Generator, n: int, density: float = 0.5) -> bntk.DAG:
    """A DAG whose node order is not a topological one."""
    names = [f"v{i}" for i in range(n)]
    order = rng.permutation(n)
    arcs = [(names[order[a]], names[order[b]]) for a in range(n) for b in range(a + 1, n) if rng.random() < density]
    return bntk.DAG(names, arcs)


def random_tables(rng: np.random.Generator, dag: bntk.DAG, most_states: int = 3) -> bntk.BayesianNetwork:
    """A network on a DAG with random tables, all of whose entries are positive."""
    variables = {name: bntk.Variable(name, list(range(rng.integers(2, most_states + 1)))) for name in dag.nodes}
    cpts = []
    for name in dag.nodes:
        parents = [variables[parent] for parent in dag.parents(name)]
        shape = [parent.n_states for parent in parents]
        values = rng.dirichlet(np.ones(variables[name].n_states), size=shape or None)
        cpts.append(bntk.CPT(variables[name], 0.9 * values + 0.1 / variables[name].n_states, parents))
    return bntk.BayesianNetwork(dag, cpts)


def truth(network: bntk.BayesianNetwork, y: Sequence[str], do: Sequence[str], given: Sequence[str] = ()) -> np.ndarray:
    """P(y | do, given): an axis for each variable of do, given and y, in this order."""
    flat = [
        bntk.CPT(cpt.child, np.full(cpt.child.n_states, 1 / cpt.child.n_states)) if cpt.name in do else cpt
        for cpt in network.cpts
    ]
    whole = joint(bntk.BayesianNetwork(network.dag.do(*do), flat))
    wanted = [network.dag.index(name) for name in (*do, *given, *y)]
    table = np.einsum(whole, list(range(whole.ndim)), wanted)
    return table / table.sum(axis=tuple(range(len(do) + len(given), table.ndim)), keepdims=True)

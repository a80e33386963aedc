"""Networks with random tables, on a structure that is given."""

from __future__ import annotations

import numpy as np

import bntk


def drawn_network(dag: bntk.DAG | str, seed: int, cards: int = 2) -> bntk.BayesianNetwork:
    """A network with random tables over variables that have states 0, 1, ..."""
    rng = np.random.default_rng(seed)
    dag = dag if isinstance(dag, bntk.DAG) else bntk.DAG.parse(dag)
    variables = {name: bntk.Variable(name, list(range(cards))) for name in dag.nodes}
    tables = []
    for name in dag.nodes:
        parents = [variables[parent] for parent in dag.parents(name)]
        shape = [parent.n_states for parent in parents]
        tables.append(bntk.CPT(variables[name], rng.dirichlet(np.ones(cards), size=shape or None), parents))
    return bntk.BayesianNetwork(dag, tables)

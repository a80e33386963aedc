"""Random networks for the tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import bntk


def random_network(
    seed: int, n: int = 5, max_parents: int = 3, max_states: int = 4, zeros: bool = False
) -> bntk.BayesianNetwork:
    """A random network whose node order is not a topological one; with ``zeros``, some entries are 0."""
    rng = np.random.default_rng(seed)
    variables = [bntk.Variable(f"x{i}", [f"s{k}" for k in range(rng.integers(1, max_states + 1))]) for i in range(n)]
    order = rng.permutation(n)
    cpts: list[bntk.CPT] = []
    for position, i in enumerate(order):
        k = int(rng.integers(0, min(position, max_parents) + 1))
        parents = [variables[p] for p in rng.choice(order[:position], size=k, replace=False)]
        shape = [p.n_states for p in parents]
        values = rng.dirichlet(np.ones(variables[i].n_states), size=shape or None)
        if zeros and variables[i].n_states > 1:
            values = np.where(values < 0.12, 0, values)
            values = np.where(values.sum(-1, keepdims=True) == 0, 1.0, values)
            values /= values.sum(-1, keepdims=True)
        cpts.append(bntk.CPT(variables[i], values, parents))
    dag = bntk.DAG([v.name for v in variables], [(p.name, c.name) for c in cpts for p in c.parents])
    return bntk.BayesianNetwork(dag, cpts)


def networks(**options: object) -> st.SearchStrategy[bntk.BayesianNetwork]:
    """Hypothesis strategy over random networks of one to six variables."""
    return st.builds(
        lambda seed, n, zeros: random_network(seed, n, zeros=zeros, **options),  # type: ignore[arg-type]
        st.integers(0, 2**32 - 1),
        st.integers(1, 6),
        st.booleans(),
    )


def all_rows(network: bntk.BayesianNetwork) -> bntk.Table:
    """Every joint configuration once."""
    cards = [v.n_states for v in network.variables]
    return bntk.Table.from_codes(np.indices(cards).reshape(len(cards), -1), network.variables)


def joint(network: bntk.BayesianNetwork) -> np.ndarray:
    """The joint distribution by plain multiplication, one axis a variable."""
    cards = [v.n_states for v in network.variables]
    product = np.ones(cards)
    for i, cpt in enumerate(network.cpts):
        axes = [*network.dag.parent_indices[i], i]
        order = np.argsort(axes)
        shape = [cards[a] if a in axes else 1 for a in range(len(cards))]
        product = product * cpt.values.transpose(order).reshape(shape)
    return product

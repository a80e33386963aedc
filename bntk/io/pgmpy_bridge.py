"""Networks to and from pgmpy (the extra ``pgmpy``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bntk._checking import wrong
from bntk.cpt import CPT
from bntk.data.variable import Variable
from bntk.errors import NetworkError
from bntk.network import BayesianNetwork


def to_pgmpy(network: BayesianNetwork) -> Any:
    """The network as a ``pgmpy.models.DiscreteBayesianNetwork``; names, states and numbers stay as they are.

    Examples
    --------
    >>> import bntk
    >>> model = to_pgmpy(bntk.datasets.asia())                                 # doctest: +SKIP
    """
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    model = DiscreteBayesianNetwork()
    model.add_nodes_from(network.names)
    model.add_edges_from(network.dag.arcs)
    for cpt in network.cpts:
        model.add_cpds(
            TabularCPD(
                cpt.name,
                cpt.child.n_states,
                cpt.matrix.T,
                evidence=[p.name for p in cpt.parents] or None,
                evidence_card=[p.n_states for p in cpt.parents] or None,
                state_names={v.name: list(v.states) for v in cpt.family},
            )
        )
    return model


def from_pgmpy(model: Any) -> BayesianNetwork:
    """The network of a ``pgmpy.models.DiscreteBayesianNetwork`` whose tables are all given.

    Nodes keep the order of ``model.nodes``; their names must be text.
    """
    if not hasattr(model, "nodes") or not hasattr(model, "get_cpds"):
        raise wrong("model", "a pgmpy.models.DiscreteBayesianNetwork", model, NetworkError)
    names = list(model.nodes)
    for name in names:
        if not isinstance(name, str):
            raise NetworkError(f"nodes are named by text here, but one of the pgmpy model is {name!r}; rename it")
    cpds = {cpd.variable: cpd for cpd in model.get_cpds()}
    absent = [name for name in names if name not in cpds]
    if absent:
        raise NetworkError(f"the pgmpy model has no table for {absent[:5]}")
    variables = {name: Variable(name, cpds[name].state_names[name]) for name in names}
    return BayesianNetwork.from_cpts([_cpt(cpds[name], variables) for name in names])


def _cpt(cpd: Any, variables: dict[str, Variable]) -> CPT:
    """Their first axis is the child's, our last. A table may list a parent's states in an order of its own."""
    child, *parents = cpd.variables
    values = np.moveaxis(np.asarray(cpd.values, dtype=np.float64), 0, -1)
    for axis, parent in enumerate(parents):
        own = variables[parent]
        order = [Variable(parent, cpd.state_names[parent]).code(state) for state in own.states]
        if len(order) != values.shape[axis]:
            raise NetworkError(f"the pgmpy table of {child!r} has other states of {parent!r} than its own table")
        values = np.take(values, order, axis=axis)
    return CPT(variables[child], values, [variables[p] for p in parents])

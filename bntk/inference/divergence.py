"""Structures beside each other, and how far the distribution of one network is from that of another."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from bntk import _checking
from bntk.data.variable import format_states
from bntk.errors import GraphError, NetworkError
from bntk.graph.dag import DAG
from bntk.graph.equivalence import PDAG, ArcComparison, compare
from bntk.network import BayesianNetwork


def compare_structures(learned: Any, reference: Any) -> ArcComparison:
    """Compare a structure with a reference, such as the true one: arcs, skeletons, v-structures; and networks.

    Parameters
    ----------
    learned, reference : BayesianNetwork, DAG, PDAG, result of a search, or str
        Over the same nodes in any order; a string as in ``DAG.parse``. Of two networks the distributions are compared,
        too: the Kullback-Leibler divergence of the learned one from the reference, by family.

    Returns
    -------
    ArcComparison
        With ``shd``, the agreement (``precision``, ``recall``, ``f1``) of ``skeleton``, ``arcs`` and ``v_structures``,
        the lists of arcs, ``kl`` and ``kl_by_family``, and :meth:`~bntk.graph.ArcComparison.plot`.

    Examples
    --------
    >>> import bntk
    >>> true = bntk.datasets.asia()
    >>> learned = bntk.learn(true.sample(5000, seed=1), "bic")
    >>> found = bntk.compare_structures(learned, true)
    >>> found.shd, found.skeleton.recall, round(found.kl, 4)
    (1, 0.875, 0.0016)
    """
    ours, theirs = (_graph(each) for each in (learned, reference))
    found = compare(ours, theirs)
    if not (isinstance(learned, BayesianNetwork) and isinstance(reference, BayesianNetwork)):
        return found
    return replace(found, kl_by_family=kl_by_family(reference, learned))


def _graph(structure: Any) -> DAG | PDAG:
    if isinstance(structure, str):
        return DAG.parse(structure)
    if isinstance(structure, (DAG, PDAG)):
        return structure
    dag = getattr(structure, "dag", None)  # a network, or the result of a search
    what = "a network, a DAG, a PDAG, the result of a search, or a string such as 'A -> B'"
    return _checking.instance("each structure", dag, DAG, what=what, error=GraphError)


def kl_by_family(p: BayesianNetwork, q: BayesianNetwork) -> dict[str, float]:
    """The terms of KL(P || Q), one for each variable, in nats.

    KL(P || Q) = sum_i [ sum_x P(x_i, pa_P(i)) log P(x_i | pa_P(i)) - sum_x P(x_i, pa_Q(i)) log Q(x_i | pa_Q(i)) ],

    with pa_P and pa_Q the parents of a variable in the two networks. Where these differ, a term can be negative; the
    sum cannot. It is infinite where Q excludes what P does not.

    Parameters
    ----------
    p, q : BayesianNetwork
        The reference, and the network that stands in for it; with the same variables and states.

    Examples
    --------
    >>> import bntk
    >>> bn = bntk.datasets.sprinkler()
    >>> kl_by_family(bn, bn)
    {'cloudy': 0.0, 'sprinkler': 0.0, 'rain': 0.0, 'wet': 0.0}
    """
    _refuse_other_states(p, q)
    found = {}
    for name in p.names:
        found[name] = _mean_log(p, p, name) - _mean_log(p, q, name) if p.cpt(name) != q.cpt(name) else 0.0
    return found


def _mean_log(p: BayesianNetwork, q: BayesianNetwork, name: str) -> float:
    """The mean, under P, of log Q(x | parents of x in Q)."""
    cpt = q.cpt(name)
    axes = [*cpt.parents, q.variable(name)]
    joint = p.query([axis.name for axis in axes]).values
    for place, axis in enumerate(axes):  # the states of P, in the order of Q
        states = p.variable(axis.name).states
        if states != axis.states:
            joint = np.take(joint, [states.index(state) for state in axis.states], axis=place)
    seen = joint > 0
    if (cpt.values[seen] <= 0).any():
        return -math.inf
    return float((joint[seen] * np.log(cpt.values[seen])).sum())


def _refuse_other_states(p: BayesianNetwork, q: BayesianNetwork) -> None:
    for variable in q.variables:
        states = p.variable(variable.name).states
        if set(states) != set(variable.states):
            raise NetworkError(
                f"the networks differ in the states of {variable.name!r}: {format_states(states)} in the reference, "
                f"{format_states(variable.states)} in the other; give both the same (variables= in bntk.learn)"
            )

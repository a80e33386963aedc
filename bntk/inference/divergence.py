"""The entropy of a network, and how far another one is from it: the Kullback-Leibler divergence by variables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bntk.cpt import CPT
from bntk.data.variable import format_states
from bntk.errors import NetworkError
from bntk.inference.engines import Floats
from bntk.network import BayesianNetwork, a_network

if TYPE_CHECKING:
    import pandas as pd


def divergence(network: BayesianNetwork, other: BayesianNetwork, max_entries: int | None = None) -> pd.DataFrame:
    """The divergence of each variable; see :meth:`BayesianNetwork.divergence`."""
    import pandas as pd

    rows = [*_terms(network, a_network(other, "other"), max_entries).values()]
    found = pd.DataFrame(rows, columns=["divergence", "difference"], index=pd.Index(network.names, name="variable"))
    return found.astype(float).sort_values("divergence", ascending=False, kind="stable")


def entropy(network: BayesianNetwork, max_entries: int | None = None) -> float:
    """The entropy of the joint distribution; see :meth:`BayesianNetwork.entropy`."""
    terms = []
    for cpt in network.cpts:
        joint = network.query([v.name for v in cpt.family], max_entries=max_entries).values
        terms.append(_expected(joint, cpt.values))
    return max(-math.fsum(terms), 0.0)


def kl_by_family(p: BayesianNetwork, q: BayesianNetwork, max_entries: int | None = None) -> dict[str, float]:
    """The terms of KL(P || Q), one for each variable, in nats.

    KL(P || Q) = sum_i [ sum_x P(x_i, pa_P(i)) log P(x_i | pa_P(i)) - sum_x P(x_i, pa_Q(i)) log Q(x_i | pa_Q(i)) ],

    with pa_P and pa_Q the parents of a variable in the two networks. Where these differ, a term can be negative; the
    sum cannot. It is infinite where Q excludes what P does not.

    Parameters
    ----------
    p, q : BayesianNetwork
        The reference, and the network that stands in for it; with the same variables and states.
    max_entries : int, optional
        The limit of queries of P.

    Examples
    --------
    >>> import bntk
    >>> bn = bntk.datasets.sprinkler()
    >>> kl_by_family(bn, bn)
    {'cloudy': 0.0, 'sprinkler': 0.0, 'rain': 0.0, 'wet': 0.0}
    """
    return {name: term for name, (term, _) in _terms(p, q, max_entries).items()}


def _terms(p: BayesianNetwork, q: BayesianNetwork, max_entries: int | None) -> dict[str, tuple[float, float]]:
    """For each variable its term, and the largest difference of the two tables."""
    refuse_other_variables(p, q)
    return {name: _of_variable(p, p.cpt(name), q.cpt(name), max_entries) for name in p.names}


def refuse_other_variables(network: BayesianNetwork, other: BayesianNetwork) -> None:
    """Refuse two networks that are not over the same variables with the same states."""
    own, others = ({v.name: v for v in each.variables} for each in (network, other))
    for name in [*own, *others]:
        if name not in own or name not in others:
            raise NetworkError(f"only one of the networks has the variable {name!r}; both need the same variables")
        if set(own[name].states) != set(others[name].states):
            one, two = format_states(own[name].states), format_states(others[name].states)
            raise NetworkError(
                f"{name!r} has the states {one} in one network and {two} in the other; both need the same states: "
                "give variables= to what learns or fits them"
            )


def _of_variable(network: BayesianNetwork, own: CPT, other: CPT, max_entries: int | None) -> tuple[float, float]:
    """What a variable adds to the divergence, and the largest difference of the two tables, if they have one shape."""
    given = [parent.name for parent in own.parents]
    same = sorted(given) == sorted(parent.name for parent in other.parents)
    other = other.reorder(given) if same else other
    table = _with_states_of(network, other)
    joint = network.query([*given, own.name], max_entries=max_entries).values
    if same:
        return _expected(joint, own.values) - _expected(joint, table), float(np.abs(own.values - table).max())
    elsewhere = network.query([*(parent.name for parent in other.parents), other.name], max_entries=max_entries).values
    return _expected(joint, own.values) - _expected(elsewhere, table), float("nan")


def _with_states_of(network: BayesianNetwork, cpt: CPT) -> Floats:
    """The values of a table, its states in the order that a network has them."""
    values = cpt.values
    for axis, variable in enumerate((*cpt.parents, cpt.child)):
        states = network.variable(variable.name).states
        if states != variable.states:
            values = np.take(values, [variable.states.index(state) for state in states], axis=axis)
    return values


def _expected(joint: Floats, table: Floats) -> float:
    """The expected logarithm of an entry; -inf where what is possible has the entry 0."""
    possible = joint > 0
    with np.errstate(divide="ignore"):
        return float((joint[possible] * np.log(table[possible])).sum())

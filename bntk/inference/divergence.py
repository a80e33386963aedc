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

    refuse_other_variables(network, a_network(other, "other"))
    rows = [_of_variable(network, network.cpt(name), other.cpt(name), max_entries) for name in network.names]
    found = pd.DataFrame(rows, columns=["divergence", "difference"], index=pd.Index(network.names, name="variable"))
    return found.astype(float).sort_values("divergence", ascending=False, kind="stable")


def entropy(network: BayesianNetwork, max_entries: int | None = None) -> float:
    """The entropy of the joint distribution; see :meth:`BayesianNetwork.entropy`."""
    terms = []
    for cpt in network.cpts:
        joint = network.query([v.name for v in cpt.family], max_entries=max_entries).values
        terms.append(_expected(joint, cpt.values))
    return max(-math.fsum(terms), 0.0)


def refuse_other_variables(network: BayesianNetwork, other: BayesianNetwork) -> None:
    """Refuse two networks that are not over the same variables with the same states."""
    own, others = ({v.name: v for v in each.variables} for each in (network, other))
    for name in [*own, *others]:
        if name not in own or name not in others:
            raise NetworkError(f"only one of the networks has the variable {name!r}; both need the same variables")
        if own[name].states != others[name].states:
            one, two = format_states(own[name].states), format_states(others[name].states)
            raise NetworkError(
                f"{name!r} has the states {one} in one network and {two} in the other; both need the "
                "same states in the same order"
            )


def _of_variable(network: BayesianNetwork, own: CPT, other: CPT, max_entries: int | None) -> tuple[float, float]:
    """What a variable adds to the divergence, and the largest difference of the two tables, if they have one shape."""
    given = [parent.name for parent in own.parents]
    joint = network.query([*given, own.name], max_entries=max_entries).values
    if sorted(given) == sorted(parent.name for parent in other.parents):
        table = other.reorder(given).values
        return _expected(joint, own.values) - _expected(joint, table), float(np.abs(own.values - table).max())
    elsewhere = network.query([*(parent.name for parent in other.parents), other.name], max_entries=max_entries).values
    return _expected(joint, own.values) - _expected(elsewhere, other.values), float("nan")


def _expected(joint: Floats, table: Floats) -> float:
    """The expected logarithm of an entry; -inf where what is possible has the entry 0."""
    possible = joint > 0
    with np.errstate(divide="ignore"):
        return float((joint[possible] * np.log(table[possible])).sum())

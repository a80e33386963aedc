"""The strengths of arcs, as numbers for the width of their lines."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from bntk._checking import is_number, shown
from bntk.errors import ArgumentError, DataError, UnknownNameError
from bntk.graph.dag import DAG
from bntk.learning.information import conditional_information
from bntk.network import BayesianNetwork, a_network

Arc = tuple[str, str]


def arc_information(network: BayesianNetwork) -> dict[Arc, float]:
    """The strength of each arc: the mutual information of parent and child given the child's other parents, in nats.

    It is exact, from the network's own distribution, and zero if the child does not depend on that parent.

    Parameters
    ----------
    network : BayesianNetwork
        The network.

    Examples
    --------
    >>> import bntk
    >>> {arc: round(number, 3) for arc, number in arc_information(bntk.datasets.sprinkler()).items()}
    {('cloudy', 'sprinkler'): 0.102, ('cloudy', 'rain'): 0.193, ('sprinkler', 'wet'): 0.269, ('rain', 'wet'): 0.356}
    """
    found = {}
    for cpt in a_network(network).cpts:
        if not cpt.parents:
            continue
        names = [parent.name for parent in cpt.parents]
        joint = network.query(names).values[..., None] * cpt.values
        for axis, name in enumerate(names):
            others = [other for other in range(len(names)) if other != axis]
            found[name, cpt.name] = conditional_information(joint, [axis], [len(names)], others)
    return {arc: found[arc] for arc in network.dag.arcs}


@dataclass(frozen=True)
class Strengths:
    """A number for each arc of a structure, and what to call it."""

    of: Mapping[Arc, float]
    what: str

    @property
    def most(self) -> float:
        """The largest number, which the widest line stands for; 0 if none is above."""
        return max([0.0, *self.of.values()])


def arc_strengths(
    dag: DAG, strengths: Any, network: BayesianNetwork | None = None, argument: str = "strengths"
) -> Strengths:
    """A number for each arc of a DAG from whatever a user gives.

    Parameters
    ----------
    dag : DAG
    strengths : mapping of arc to number, "mi", ArcSupport, ArcStrengths, or its data frame
        Arcs that are not named have strength zero.
    network : BayesianNetwork, optional
        For ``"mi"``.
    argument : str
        What an error calls it.
    """
    least = 0.0 if argument == "strengths" else -math.inf
    if isinstance(strengths, str):
        if strengths != "mi":
            raise ArgumentError(f"{argument}={strengths!r} is not known; give 'mi', or a number for each arc")
        if network is None:
            raise ArgumentError(f"{argument}='mi' needs the probabilities of a network, and this is a DAG")
        return Strengths(arc_information(network), "mutual information (nats)")
    if isinstance(strengths, Mapping):
        given, what = dict(strengths), "strength"
        if hasattr(strengths, "what"):  # ArcSupport, which may be negative
            what, least = strengths.what, -math.inf
    elif hasattr(strengths, "to_frame") or hasattr(strengths, "columns"):
        frame = strengths if hasattr(strengths, "columns") else strengths.to_frame()
        absent = [name for name in ("from", "to", "strength") if name not in frame.columns]
        if absent:
            raise DataError(f"{argument}: the data frame lacks the columns {absent}; it needs from, to and strength")
        columns = (frame[name].tolist() for name in ("from", "to", "strength"))
        given = {(tail, head): value for tail, head, value in zip(*columns, strict=True)}
        # Every pair that was ever joined is there, in both directions; only arcs of this DAG are drawn.
        given = {
            arc: value for arc, value in given.items() if arc[0] not in dag or arc[1] not in dag or dag.has_arc(*arc)
        }
        what = "share of resamples"
    else:
        raise DataError(f"{argument} must be 'mi', a number for each arc, or bootstrap strengths; got {strengths!r}")
    return Strengths(_checked(dag, given, argument, least), what)


def _checked(dag: DAG, given: Mapping[Any, Any], argument: str, least: float) -> dict[Arc, float]:
    known = set(dag.arcs)
    unknown = [arc for arc in given if not isinstance(arc, Hashable) or arc not in known]
    if unknown:
        raise UnknownNameError(f"{argument}: {unknown[0]!r} is not an arc (parent, child) of this graph")
    found = {arc: given.get(arc, 0.0) for arc in dag.arcs}
    expected = "a strength is a number from 0 upwards" if least == 0 else "it must be a finite number"
    for arc, value in found.items():
        if not is_number(value) or not least <= value < math.inf or value == -math.inf:
            raise DataError(f"{argument}: the arc {arc} has {shown(value)}; {expected}")
    return {arc: float(value) for arc, value in found.items()}

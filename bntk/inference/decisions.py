"""Value of information, relevance of findings, and sensitivity to parameters.

References
----------
F. V. Jensen and T. D. Nielsen (2007). Bayesian Networks and Decision Graphs, chapters 5 and 11. Springer.

V. M. H. Coupé and L. C. van der Gaag (2002). Properties of sensitivity analysis of Bayesian belief networks. Annals of
Mathematics and Artificial Intelligence 36, 323-356.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bntk import _checking
from bntk.data.variable import State
from bntk.errors import DataError, NetworkError
from bntk.inference import choose
from bntk.inference.engines import Floats
from bntk.inference.evidence import Findings
from bntk.inference.query import ConditionedNetwork

if TYPE_CHECKING:
    import pandas as pd


# ---- what to look at, and what mattered ----------------------------------------------------------------------------


def value_of_information(
    conditioned: ConditionedNetwork, target: str, candidates: Iterable[str] | None
) -> pd.DataFrame:
    """The information of each variable about the target; see :meth:`bntk.BayesianNetwork.value_of_information`."""
    import pandas as pd

    choose.require(conditioned.options, choose.COMPARE, "value of information")
    network = conditioned.network
    goal, names = network.dag.index(target), _candidates(conditioned, target, candidates)
    posterior = conditioned.posteriors()
    prior = posterior.marginal(goal)
    gains = np.zeros(len(names))
    for state in np.flatnonzero(prior):
        given = _also(conditioned, goal, int(state))
        conditional = given.summed_out(None) or given.calibrate()
        for i, name in enumerate(names):
            position = network.dag.index(name)
            own, all_states = conditional.marginal(position), posterior.marginal(position)
            gains[i] += prior[state] * divergence(own, all_states, float(prior[state]))
    entropy = -float(prior[prior > 0] @ np.log(prior[prior > 0]))
    columns = {"information": gains, "share": gains / entropy if entropy > 1e-12 else np.zeros(len(gains))}
    return _sorted(pd.DataFrame(columns, index=pd.Index(names, name="variable")), "information")


def relevant_findings(conditioned: ConditionedNetwork, target: str, given: Mapping[str, Any]) -> pd.DataFrame:
    """The effect of each finding on the posterior; see :meth:`bntk.BayesianNetwork.relevant_findings`."""
    import pandas as pd

    choose.require(conditioned.options, choose.COMPARE, "relevance of findings")
    goal, findings = conditioned.network.dag.index(target), conditioned.findings
    posterior = conditioned.distribution([goal]).values
    rows = []
    names = [conditioned.network.names[v] for v in findings.vectors]
    for finding, name in zip(findings.vectors, names, strict=True):
        others = findings.only([v for v in findings.vectors if v != finding])
        without = conditioned.with_findings(others).distribution([goal]).values
        rows.append((given[name], divergence(posterior, without), float(np.abs(posterior - without).max())))
    frame = pd.DataFrame(rows, columns=["finding", "divergence", "change"], index=pd.Index(names, name="variable"))
    return _sorted(frame, "divergence")


def divergence(p: Floats, q: Floats, share: float = 0.0) -> float:
    """The Kullback-Leibler divergence of p from q, in nats; never below zero.

    ``share`` is the least part of q that p is known to be: q >= share * p, also where q is too small for a float.
    """
    used = p > 0
    with np.errstate(divide="ignore"):
        log_p, log_q, log_share = np.log(p[used]), np.log(q[used]), np.log(share)
    return max(0.0, float(p[used] @ (log_p - np.maximum(log_q, log_share + log_p))))


# ---- which numbers matter ------------------------------------------------------------------------------------------

#: The logarithm of the largest float, or nearly.
MOST_LOG = 700.0


@dataclass(frozen=True)
class Sensitivity:
    """A posterior as a function of one entry of a table: (a x + b) / (c x + d).

    Attributes
    ----------
    a, b, c, d : float
        Scaled so that c x + d, which is proportional to the probability of the evidence, is 1 at the present value.
    value : float
        The present value of the entry.
    posterior : float
        The posterior there.
    derivative : float
        The derivative of the posterior there.
    ends : pair of pairs of float
        (b, d) and (a + b, c + d), without the rounding of these sums: the terms with the entry at 0 and at 1.

    Examples
    --------
    >>> import bntk
    >>> asia = bntk.datasets.asia()
    >>> found = asia.sensitivity("lung", "yes", {"xray": "yes"}, table="xray", entry="yes", parents={"either": "no"})
    >>> round(found.posterior, 3), round(found.derivative, 2), round(found(0.01), 3)
    (0.489, -4.14, 0.74)
    >>> [round(x, 4) for x in found.admissible(at_least=0.6)]
    [0.0, 0.0281]
    """

    a: float
    b: float
    c: float
    d: float
    value: float
    posterior: float
    derivative: float
    ends: tuple[tuple[float, float], tuple[float, float]] = field(repr=False)

    def __call__(self, x: float) -> float:
        """The posterior with the entry at x; NaN where the evidence is then impossible."""
        both, evidence = ((1 - x) * at_0 + x * at_1 for at_0, at_1 in zip(*self.ends, strict=True))
        return min(1.0, max(0.0, both / evidence)) if evidence > 0 else math.nan

    def admissible(self, at_least: float = 0.0, at_most: float = 1.0) -> tuple[float, float] | None:
        """The values of the entry, from lowest to highest, for which the posterior is within limits; None if none is.

        The function is monotone, so that these values are an interval.
        """
        _checking.number("at_least", at_least)
        _checking.number("at_most", at_most)
        low, high = 0.0, 1.0
        for limit, sign in ((at_least, 1.0), (at_most, -1.0)):
            # sign * (a x + b - limit (c x + d)) >= 0 is one linear inequality in x.
            slope, level = sign * (self.a - limit * self.c), sign * (self.b - limit * self.d)
            if slope > 0:
                low = max(low, -level / slope)
            elif slope < 0:
                high = min(high, -level / slope)
            elif level < 0:
                return None
        return (low, high) if low <= high else None


def sensitivity(
    conditioned: ConditionedNetwork,
    target: str,
    state: State,
    table: str,
    entry: State,
    parents: Mapping[str, State] | None,
) -> Sensitivity:
    """A posterior as a function of one entry of a table; see :meth:`bntk.BayesianNetwork.sensitivity`."""
    network, findings = conditioned.network, conditioned.findings
    goal, code = network.dag.index(target), network.variable(target).code(state)
    node, cpt = network.dag.index(table), network.cpt(table)
    present, position = cpt.row(parents), cpt.child.code(entry)
    place = tuple(parent.code(parents[parent.name]) for parent in cpt.parents) if parents else ()
    if len(present) < 2:
        raise NetworkError(f"{table!r} has one state only; its probability cannot vary")
    program, now = conditioned.program(), conditioned.posterior()

    def run(row: Floats) -> tuple[float, float]:
        """P(target = state, given) and P(given) with another row in the table, both divided by P(given)."""
        values = cpt.values.copy()
        values[place] = row
        tables = [values if v == node else other.values for v, other in enumerate(network.cpts)]
        changed = program.with_factors(tables).calibrate(findings.vectors, conditioned.options.max_entries)
        if changed.log_z == -math.inf:
            return 0.0, 0.0
        log_ratio = changed.log_z - now.log_z
        if log_ratio > MOST_LOG:
            raise NetworkError(
                f"with {entry!r} of {table!r} at 0 or 1 the findings are exp({log_ratio:.0f}) times as probable as "
                "now, which no float holds"
            )
        ratio = math.exp(log_ratio)
        return ratio * float(changed.marginal(goal)[code]), ratio

    (b, d), (top, whole) = run(_covaried(present, position, 0.0)), run(_covaried(present, position, 1.0))
    a, c, x = top - b, whole - d, float(present[position])
    slope = top * d - b * whole  # over (c x + d)^2, which is 1 at the present value
    return Sensitivity(a, b, c, d, x, float(now.marginal(goal)[code]), slope, ((b, d), (top, whole)))


def _covaried(row: Floats, position: int, x: float) -> Floats:
    """A row with one entry at x and the others in their present proportions, or equal where these are all 0."""
    others = np.delete(row, position)
    total = others.sum()
    rest = (1 - x) * (others / total if total > 0 else np.full(len(others), 1 / len(others)))
    return np.insert(rest, position, x)


def sensitivities(conditioned: ConditionedNetwork, target: str, state: State) -> pd.DataFrame:
    """The derivative of a posterior to every entry of every table; see :meth:`bntk.BayesianNetwork.sensitivities`."""
    network, everything = conditioned.network, conditioned.posterior()
    goal, code = network.dag.index(target), network.variable(target).code(state)
    posterior = float(everything.marginal(goal)[code])
    narrowed = _also(conditioned, goal, code).calibrate() if posterior > 0 else everything
    slopes = []
    for node, cpt in enumerate(network.cpts):
        scope = (*network.dag.parent_indices[node], node)
        # P(target = state, family | given) less what it would be if the two were independent.
        surplus = posterior * (narrowed.joint(scope) - everything.joint(scope))
        slopes.append(_slopes(cpt.values, surplus).ravel())
    frame = network.to_frame().assign(derivative=np.concatenate(slopes))
    frame = frame[(frame["p"] > 0) & (frame["p"] < 1)]
    return frame.sort_values("derivative", key=lambda column: -column.abs(), kind="stable", ignore_index=True)


def _slopes(theta: Floats, surplus: Floats) -> Floats:
    """The derivative of the posterior to each entry of a table, 0 at entries that are 0 or 1.

    By the quotient rule the partial derivative is u_k = surplus_k / theta_k; when the others of the row make way in
    proportion, it becomes u_k - sum over l != k of theta_l u_l / (1 - theta_k).
    """
    inner = (theta > 0) & (theta < 1)
    others = surplus.sum(axis=-1, keepdims=True) - surplus
    slopes: Floats = np.divide(surplus, theta, out=np.zeros_like(theta), where=inner)
    slopes -= np.divide(others, 1 - theta, out=np.zeros_like(theta), where=inner)
    return slopes


# ---- helpers -------------------------------------------------------------------------------------------------------


def _also(conditioned: ConditionedNetwork, variable: int, state: int) -> ConditionedNetwork:
    """The same with one more variable observed."""
    network, given = conditioned.network, conditioned.findings
    seen = Findings.of(network, {variable: np.eye(1, network.cpts[variable].child.n_states, state)[0]})
    return conditioned.with_findings(Findings(given.vectors | seen.vectors, given.texts | seen.texts))


def _candidates(conditioned: ConditionedNetwork, target: str, candidates: Iterable[str] | None) -> list[str]:
    """The variables that could be observed: those named, or all that are not known yet."""
    network, known = conditioned.network, conditioned.findings.observed
    if candidates is not None:
        names = _checking.names("candidates", candidates, "names of variables", DataError)
        for name in names:
            network.dag.index(name)
        return names
    return [name for position, name in enumerate(network.names) if position not in known and name != target]


def _sorted(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    return frame.sort_values(column, ascending=False, kind="stable")

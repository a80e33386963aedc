"""Approximate posteriors with a report of how they were made, and the choice between exact and approximate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bntk.errors import ImpossibleEvidence, TooLargeError
from bntk.inference.approximate.loopy import loopy_network
from bntk.inference.approximate.sampling import gibbs, likelihood_weighting
from bntk.inference.evidence import Findings, Given, read_findings
from bntk.inference.exact.program import MAX_ENTRIES, compile_network
from bntk.inference.query import marginals, program_given
from bntk.inference.results import Distribution, Marginals
from bntk.network import BayesianNetwork

Floats = NDArray[np.float64]
Engine = Literal["loopy", "weighting", "gibbs"]


class ApproximateMarginals(Marginals):
    """Estimated posteriors of every unobserved variable, by name.

    Attributes
    ----------
    engine : str
        ``"loopy"``, ``"weighting"`` or ``"gibbs"``.
    settings : dict
        The options of the engine as they were given.
    report : str
        How the run ended, and what is known about its error.
    standard_errors : dict of str to ndarray, or None
        For each state of each variable, when the engine samples.
    converged : bool or None
        For loopy belief propagation.
    log_probability : float
        An estimate of log P(given); NaN for Gibbs sampling, which has none.
    """

    def __init__(
        self,
        distributions: Mapping[str, Distribution],
        log_probability: float,
        *,
        engine: Engine,
        settings: Mapping[str, Any],
        report: str,
        standard_errors: Mapping[str, Floats] | None = None,
        converged: bool | None = None,
    ) -> None:
        super().__init__(distributions, log_probability, engine, report)
        self.settings = dict(settings)
        self.standard_errors = None if standard_errors is None else dict(standard_errors)
        self.converged = converged

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n{self.report}"


def approximate_marginals(
    network: BayesianNetwork,
    given: Given | None = None,
    *,
    soft: Given | None = None,
    engine: Engine = "loopy",
    **settings: Any,
) -> ApproximateMarginals:
    """Estimate the posterior of every unobserved variable.

    Parameters
    ----------
    network : BayesianNetwork
    given, soft : mapping, optional
        Findings by variable: a state, a collection of states; a likelihood for each state.
    engine : {"loopy", "weighting", "gibbs"}
        Loopy belief propagation, likelihood weighting, or Gibbs sampling.
    **settings
        For ``"loopy"``: ``damping``, ``max_iter``, ``tolerance``, ``schedule``; for ``"weighting"``: ``n``, ``seed``;
        for ``"gibbs"``: ``n``, ``burn_in``, ``chains``, ``thin``, ``seed``.

    Raises
    ------
    ImpossibleEvidence
        When the engine finds that the evidence has probability zero; not every engine always can.

    Examples
    --------
    >>> import bntk
    >>> found = approximate_marginals(bntk.datasets.asia(), {"dysp": "yes"})
    >>> found["bronc"]
    P(bronc | dysp='yes')
    no   0.1765  ####
    yes  0.8235  ################
    >>> print(found.report)
    loopy belief propagation: converged after ... rounds, largest change ...; exact without loops, no error bound...
    """
    engines: dict[str, Callable[..., ApproximateMarginals]] = {
        "loopy": _by_propagation,
        "weighting": _by_weighting,
        "gibbs": _by_chains,
    }
    if engine not in engines:
        raise ValueError(f"the engine must be exact, auto, {', '.join(engines)}, not {engine!r}")
    return engines[engine](network, given, soft, settings)


def _by_propagation(
    network: BayesianNetwork, given: Given | None, soft: Given | None, settings: dict[str, Any]
) -> ApproximateMarginals:
    findings = read_findings(network, given, soft)
    found = loopy_network(network).calibrate(findings.vectors, **settings)
    if found.log_z == -math.inf:
        raise ImpossibleEvidence(findings.texts.values(), minimal=False)
    distributions = {
        network.names[v]: Distribution([network.variables[v]], found.marginal(v), findings.text)
        for v in _unobserved(network, findings)
    }
    report = f"loopy belief propagation: {found.convergence}; exact without loops, no error bound with them"
    converged = found.convergence.converged
    return ApproximateMarginals(
        distributions, found.log_z, engine="loopy", settings=settings, report=report, converged=converged
    )


def _by_weighting(
    network: BayesianNetwork, given: Given | None, soft: Given | None, settings: dict[str, Any]
) -> ApproximateMarginals:
    found = likelihood_weighting(network, given, soft=soft, **settings)
    names = [network.names[v] for v in _unobserved(network, found.findings)]
    errors = {name: found.standard_error(name) for name in names}
    report = (
        f"likelihood weighting: {found.table.n_rows:,} rows, worth {found.effective_size:,.0f} of equal weight; "
        f"largest standard error {_largest(errors):.2g}"
    )
    return ApproximateMarginals(
        {name: found.marginal(name) for name in names},
        found.log_probability,
        engine="weighting",
        settings=settings,
        report=report,
        standard_errors=errors,
    )


def _by_chains(
    network: BayesianNetwork, given: Given | None, soft: Given | None, settings: dict[str, Any]
) -> ApproximateMarginals:
    found = gibbs(network, given, soft=soft, **settings)
    names = [network.names[v] for v in _unobserved(network, found.findings)]
    errors = {name: found.standard_error(name) for name in names}
    sizes = [size for name in names if not math.isnan(size := found.effective_size(name))]
    worth = f"worth at least {min(sizes):,.0f} independent ones for each variable" if sizes else "none that differ"
    stuck = "; tables have zeros, so that chains may not reach every possible state" if found.may_be_stuck else ""
    report = (
        f"Gibbs sampling: {found.table.n_rows:,} rows of {found.chains} chains, {worth}; "
        f"largest standard error {_largest(errors):.2g}{stuck}"
    )
    return ApproximateMarginals(
        {name: found.marginal(name) for name in names},
        math.nan,
        engine="gibbs",
        settings=settings,
        report=report,
        standard_errors=errors,
    )


def _unobserved(network: BayesianNetwork, findings: Findings) -> list[int]:
    return [v for v in range(len(network.cpts)) if v not in findings.observed]


def _largest(errors: Mapping[str, Floats]) -> float:
    return max((float(error.max()) for error in errors.values()), default=0.0)


# ---- the choice ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EngineChoice:
    """Which engine suits a query, and why."""

    engine: Literal["exact", "loopy"]
    reason: str

    def __str__(self) -> str:
        return f"{self.engine}: {self.reason}"


def marginals_by(
    engine: str,
    network: BayesianNetwork,
    given: Given | None,
    soft: Given | None,
    settings: dict[str, Any],
    max_entries: int = MAX_ENTRIES,
) -> Marginals:
    """The marginals by a named engine; see :meth:`bntk.BayesianNetwork.marginals`."""
    if engine not in ("exact", "auto"):
        return approximate_marginals(network, given, soft=soft, engine=engine, **settings)  # type: ignore[arg-type]
    if settings:
        raise ValueError(f"engine={engine!r} has no settings, got {list(settings)}")
    if engine == "exact":
        return marginals(network, given, soft, max_entries)
    choice = choose_engine(network, given, max_entries)
    if choice.engine == "exact":
        found = marginals(network, given, soft, max_entries)
    else:
        found = approximate_marginals(network, given, soft=soft, engine=choice.engine)
    found.report = f"{choice}; {found.report}"
    return found


def choose_engine(network: BayesianNetwork, given: Given | None = None, max_entries: int = MAX_ENTRIES) -> EngineChoice:
    """Exact inference when its cliques have at most ``max_entries`` entries together, else loopy belief propagation.

    Examples
    --------
    >>> import bntk
    >>> print(choose_engine(bntk.datasets.asia()))
    exact: the cliques have 40 entries, within the limit of 2,147,483,648
    """
    limit = f"the limit of {max_entries:,}"
    try:
        entries = compile_network(network, max_entries=max_entries).plan.total_entries
    except TooLargeError:
        entries = max_entries + 1
    if entries <= max_entries:
        return EngineChoice("exact", f"the cliques have {entries:,} entries, within {limit}")
    observed = read_findings(network, given).observed
    try:
        entries = program_given(network, observed, max_entries).plan.total_entries
    except TooLargeError:
        return EngineChoice("loopy", f"the cliques of exact inference are over {limit} entries")
    return EngineChoice("exact", f"given the evidence, the cliques have {entries:,} entries, within {limit}")

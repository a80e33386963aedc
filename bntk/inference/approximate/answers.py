"""Engines that approximate, behind the protocols of :mod:`bntk.inference.engines`, with reports of how they did."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bntk.errors import DataError, ImpossibleEvidence
from bntk.inference import choose
from bntk.inference.choose import Options
from bntk.inference.engines import Codes, Evidence, Floats, Ints
from bntk.inference.evidence import Findings
from bntk.inference.exact.strided_rows import distinct_rows
from bntk.network import BayesianNetwork

if TYPE_CHECKING:  # exact queries import this module as well
    from bntk.inference.approximate.loopy import LoopyMarginals
    from bntk.inference.approximate.samples import ChainSample, WeightedSample


class Propagated:
    """What loopy belief propagation found, and how it ended."""

    def __init__(self, engine: Propagation, likelihood: Mapping[int, ArrayLike], found: LoopyMarginals) -> None:
        self._engine, self._likelihood, self._found = engine, likelihood, found
        self.log_z, self.converged = found.log_z, found.convergence.converged

    def marginal(self, variable: int) -> Floats:
        """The belief of one variable."""
        return self._found.marginal(variable)

    def joint(self, variables: Sequence[int]) -> Floats:
        """By the chain rule, P(x) P(y | x) ..., with one run for each joint state of all variables but the last."""
        first, rest = self.marginal(variables[0]), variables[1:]
        if not rest:
            return first
        choose.refuse_loopy_joint(math.prod(self.marginal(v).size for v in variables[:-1]))
        table = np.zeros([self.marginal(v).size for v in variables])
        for state in np.flatnonzero(first > 0):
            given = self._engine.run({**self._likelihood, variables[0]: np.eye(1, first.size, int(state))[0]})
            if given.log_z > -math.inf:
                table[state] = first[state] * given.joint(rest)
        return table / table.sum()

    def standard_errors(self, variables: Sequence[int]) -> None:
        """None: nothing is known about the error."""

    def report(self, variables: Sequence[int]) -> str:
        """How the messages ended."""
        return f"loopy belief propagation: {self._found.convergence}; exact without loops, no error bound with them"


class Propagation:
    """Loopy belief propagation on the tables of a network."""

    def __init__(self, network: BayesianNetwork, settings: Mapping[str, Any]) -> None:
        from bntk.inference.approximate.loopy import loopy_network

        self._program, self._settings = loopy_network(network), dict(settings)

    def run(self, likelihood: Mapping[int, ArrayLike]) -> Propagated:
        """The beliefs given likelihoods of some variables."""
        return Propagated(self, likelihood, self._program.calibrate(likelihood, **self._settings))

    def calibrate(self, evidence: Evidence) -> Propagated:
        """The beliefs given the evidence."""
        return self.run(evidence.likelihood)

    def mpe(self, evidence: Evidence) -> tuple[Ints, float]:
        """States of high joint probability by max-product, and the log of it."""
        states, log_top, convergence = self._program.mpe(evidence.likelihood, **self._settings)
        if log_top == -math.inf:
            raise DataError(
                f"max-product propagation found no possible joint state ({convergence}); try damping=0.5, or "
                'engine="exact"'
            )
        return states, log_top

    def marginals_rows(self, codes: Codes, targets: Sequence[int]) -> tuple[list[Floats], Floats]:
        """The beliefs of the targets in each row, and the estimates of the log probabilities."""
        found = self._program.marginals_rows(codes, targets, **self._settings)
        return found.marginals, found.log_z


class Sampled:
    """Estimates from rows drawn from the posterior, and how reliable they are."""

    converged = None

    def __init__(self, sample: WeightedSample | ChainSample) -> None:
        self.sample = sample
        self.log_z = getattr(sample, "log_probability", math.nan)  # chains have none

    def marginal(self, variable: int) -> Floats:
        """The share of the rows that has each state."""
        return self.sample.estimate([variable])

    def joint(self, variables: Sequence[int]) -> Floats:
        """The share of the rows that has each joint state."""
        return self.sample.estimate(variables)

    def standard_errors(self, variables: Sequence[int]) -> list[Floats]:
        """Of the probability of each state of some variables."""
        return [self.sample.standard_error(name) for name in self._names(variables)]

    def report(self, variables: Sequence[int]) -> str:
        """The effective sample size, and the largest standard error."""
        from bntk.inference.approximate.samples import WeightedSample

        n = f"{self.sample.table.n_rows:,} rows"
        error = max((float(error.max()) for error in self.standard_errors(variables)), default=0.0)
        if isinstance(self.sample, WeightedSample):
            how = f"likelihood weighting: {n}, worth {self.sample.effective_size:,.0f} of equal weight"
            return f"{how}; largest standard error {error:.2g}"
        sizes = [self.sample.effective_size(name) for name in self._names(variables)]
        least = min((size for size in sizes if not math.isnan(size)), default=math.nan)
        worth = "none that differ"
        if not math.isnan(least):
            worth = f"worth at least {least:,.0f} independent ones for each variable"
        stuck = "; tables have zeros, so that chains may not reach every possible state"
        how = f"Gibbs sampling: {n} of {self.sample.chains} chains, {worth}; largest standard error {error:.2g}"
        return how + (stuck if self.sample.may_be_stuck else "")

    def _names(self, variables: Sequence[int]) -> list[str]:
        return [self.sample.table.names[v] for v in variables]


class Sampler:
    """Likelihood weighting or Gibbs sampling."""

    def __init__(self, network: BayesianNetwork, options: Options) -> None:
        self._network, self._options = network, options

    def calibrate(self, evidence: Evidence) -> Sampled:
        """Rows drawn given the evidence."""
        from bntk.inference.approximate.sampling import gibbs, likelihood_weighting

        findings = Findings.of(self._network, evidence.likelihood)
        draw = likelihood_weighting if self._options.engine == "weighting" else gibbs
        return Sampled(draw(self._network, findings, **self._options.settings))

    def mpe(self, evidence: Evidence) -> tuple[Ints, float]:
        """Refused: rows that are drawn seldom hold the most probable state."""
        choose.require(self._options, choose.FIND_EXPLANATION, "most probable explanation")
        raise NotImplementedError


#: The posteriors that are approximate, which have a report beside what every posterior has.
APPROXIMATIONS = (Propagated, Sampled)


def approximate_engine(network: BayesianNetwork, options: Options) -> Propagation | Sampler:
    """The engine of that name; loopy belief propagation for ``"auto"``."""
    if options.engine in ("auto", "loopy"):
        return Propagation(network, options.settings)
    return Sampler(network, options)


class ApproximateRows:
    """Many rows by an engine that approximates, each kind of row once.

    Parameters
    ----------
    network : BayesianNetwork
    options : Options
    targets : sequence of int
        The variables whose posteriors :meth:`run` gives, side by side.
    """

    def __init__(self, network: BayesianNetwork, options: Options, targets: Sequence[int] = ()) -> None:
        self._cards = [cpt.child.n_states for cpt in network.cpts]
        self._engine, self._targets = approximate_engine(network, options), targets

    def run(self, codes: Codes) -> tuple[Floats, Floats]:
        """The posteriors of the targets in each row, side by side, and the log probabilities of the rows."""
        first, inverse = distinct_rows(codes)
        kinds = codes[:, first]
        if isinstance(self._engine, Propagation):
            parts, log_z = self._engine.marginals_rows(kinds, self._targets)
            tables = np.hstack([np.empty((len(log_z), 0)), *parts])
        else:
            width = sum(self._cards[v] for v in self._targets)
            tables, log_z = np.full((len(first), width), np.nan), np.full(len(first), -math.inf)
            for i, row in enumerate(kinds.T):
                try:
                    answer = self._engine.calibrate(self._evidence(row))
                except ImpossibleEvidence:
                    continue
                tables[i] = np.concatenate([np.empty(0), *(answer.marginal(v) for v in self._targets)])
                log_z[i] = answer.log_z
        return tables[inverse], log_z[inverse]

    def explain(self, codes: Codes) -> tuple[Codes, Floats]:
        """The rows filled in by a most probable explanation, and its log probability; -inf where none was found."""
        first, inverse = distinct_rows(codes)
        filled, log_top = codes[:, first].copy(), np.full(len(first), -math.inf)
        for i, row in enumerate(codes[:, first].T):
            try:
                states, log_top[i] = self._engine.mpe(self._evidence(row))
            except DataError:
                continue
            filled[:, i] = states
        return filled[:, inverse], log_top[inverse]

    def _evidence(self, row: Codes) -> Evidence:
        seen = {v: np.eye(1, card, int(row[v]))[0] for v, card in enumerate(self._cards) if row[v] < card}
        return Evidence.of(seen, len(self._cards))

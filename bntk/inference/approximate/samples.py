"""Samples given evidence, with estimates and their errors: weighted rows, and rows of Markov chains."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bntk.data.table import Table
from bntk.inference.engines import Floats
from bntk.inference.evidence import Findings
from bntk.inference.results import Distribution


@dataclass(frozen=True, eq=False)
class Sample(ABC):
    """Rows that were drawn given findings, by whatever way."""

    table: Table
    findings: Findings

    def marginal(self, name: str) -> Distribution:
        """The estimated posterior of one variable."""
        at = self.table.index(name)
        return Distribution([self.table.variables[at]], self.estimate([at]), self.findings.text)

    def estimate(self, at: Sequence[int]) -> Floats:
        """The estimated joint posterior of variables by position: the share of the rows that has each joint state."""
        shape = tuple(self.table.variables[v].n_states for v in at)
        codes = [self.table.codes[v] for v in at]
        joint = codes[0] if len(at) == 1 else np.ravel_multi_index(codes, shape)
        counts = np.bincount(joint, self._weights, minlength=math.prod(shape)).reshape(shape)
        return np.asarray(counts / max(counts.sum(), 1e-300), dtype=float)

    @property
    @abstractmethod
    def _weights(self) -> Floats | None:
        """Of the rows; None when they are equal."""

    @abstractmethod
    def standard_error(self, name: str) -> Floats:
        """Of the estimated probability of each state."""


@dataclass(frozen=True, eq=False)
class WeightedSample(Sample):
    """Rows with weights, from :func:`bntk.inference.approximate.sampling.likelihood_weighting`.

    Attributes
    ----------
    table : Table
    findings : Findings
    log_weights : ndarray
        Of each row; -inf for a row that is impossible given the evidence.
    """

    log_weights: Floats

    @cached_property
    def weights(self) -> Floats:
        """The weights, with sum one."""
        scaled = np.exp(self.log_weights - self.log_weights.max())
        return np.asarray(scaled / scaled.sum())

    @property
    def _weights(self) -> Floats:
        return self.weights

    @cached_property
    def effective_size(self) -> float:
        """The effective sample size of Kish: the inverse of the sum of squared weights."""
        return float(1.0 / np.square(self.weights).sum())

    @cached_property
    def log_probability(self) -> float:
        """The log of the mean weight, an estimate of the log probability of the evidence."""
        top = float(self.log_weights.max())
        return top + math.log(float(np.exp(self.log_weights - top).mean()))

    def standard_error(self, name: str) -> Floats:
        """Of the estimated probability of each state, from the squared weights (the delta method)."""
        at = self.table.index(name)
        p, squares = self.estimate([at]), np.square(self.weights)
        here = np.bincount(self.table.codes[at], squares, minlength=p.size)
        elsewhere = np.maximum(squares.sum() - here, 0.0)  # rounding must not make it negative
        return np.sqrt(here * (1 - p) ** 2 + elsewhere * p**2)


@dataclass(frozen=True, eq=False)
class ChainSample(Sample):
    """Rows of Markov chains, one chain after another, from :func:`bntk.inference.approximate.sampling.gibbs`.

    Attributes
    ----------
    table : Table
    findings : Findings
    chains : int
    may_be_stuck : bool
        True when tables of the network have zeros, so that a chain may not reach every possible state.
    """

    chains: int
    may_be_stuck: bool

    @property
    def _weights(self) -> None:
        return None

    def standard_error(self, name: str) -> Floats:
        """Of the estimated probability of each state, by batch means; NaN when the chains are too short."""
        return np.sqrt(self._long_run_variance(self.table.index(name)) / self.table.n_rows)

    def effective_size(self, name: str) -> float:
        """The effective sample size of a variable: that of its state that mixes worst.

        NaN when the variable has one and the same state in all rows.
        """
        at = self.table.index(name)
        p, variance = self.estimate([at]), self._long_run_variance(at)
        seen = (p > 0) & (p < 1)
        if not seen.any() or np.isnan(variance).any():
            return math.nan
        n = float(self.table.n_rows)
        ratios = [spread / long for spread, long in zip((p * (1 - p))[seen], variance[seen], strict=True) if long > 0]
        return n * min([1.0, *map(float, ratios)])

    def _long_run_variance(self, at: int) -> Floats:
        """n times the variance of a mean over n rows, from the means of batches about the square root of a chain long.

        Batches of all chains are compared with the common mean, so that chains that disagree count as error.
        """
        length = self.table.n_rows // self.chains
        size = max(1, math.isqrt(length))
        batches = length // size
        card = self.table.variables[at].n_states
        if batches * self.chains < 2:
            return np.full(card, np.nan)
        codes = self.table.codes[at].reshape(self.chains, length)[:, : batches * size].reshape(-1, size)
        means = np.stack([(codes == state).mean(axis=1) for state in range(card)])
        return np.asarray(size * means.var(axis=1, ddof=1))

"""The interface of engines: two protocols, one for one evidence set and one for many rows. Variables are positions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(slots=True)
class Evidence:
    """One evidence set: the observed state of each variable or -1, likelihoods of the others, and a constant.

    ``likelihood`` has it as it was given: a number for each state of some variables. ``log_weight`` is the logarithm of
    what the likelihoods were divided by. ``lowest`` has the smallest number of each vector that was not zero, which may
    be too small for a float after that division.
    """

    likelihood: Mapping[int, ArrayLike]
    observed: Ints
    soft: NDArray[np.bool_]
    vectors: dict[int, Floats]
    log_weight: float
    lowest: dict[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, likelihood: Mapping[int, ArrayLike], n_variables: int) -> Evidence:
        """From a non-negative number for each state of some variables; a single positive one is an observation."""
        observed = np.empty(n_variables, dtype=np.int64)
        observed.fill(-1)
        soft = np.zeros(n_variables, dtype=np.bool_)
        vectors, lowest, log_weight = {}, {}, 0.0
        for variable, numbers in likelihood.items():
            vector = np.asarray(numbers, dtype=float)
            possible = np.flatnonzero(vector)
            top = float(vector.max(initial=0.0))
            log_weight += math.log(top) if top > 0 else -math.inf
            if possible.size == 1:
                observed[variable] = possible[0]
            elif possible.size > 1:
                soft[variable] = True
                vectors[variable] = vector / top
                lowest[variable] = float(vector[possible].min()) / top
        return cls(likelihood, observed, soft, vectors, log_weight, lowest)


class Posterior(Protocol):
    """What an engine found for one evidence set."""

    @property
    def log_z(self) -> float:
        """The log probability of the evidence; -inf when it is impossible, NaN when the engine has none."""

    def marginal(self, variable: int, /) -> Floats:
        """The posterior of one variable."""

    def joint(self, variables: Sequence[int], /) -> Floats:
        """The joint posterior of several variables, one axis for each, in the order given."""


class Engine(Protocol):
    """An engine for one evidence set."""

    def calibrate(self, evidence: Evidence, /) -> Posterior:
        """The posterior given the evidence."""

    def mpe(self, evidence: Evidence, /) -> tuple[Ints, float]:
        """A most probable state of every variable, and the log of their joint probability with the evidence."""


class RowsEngine(Protocol):
    """An engine for many rows of codes, of shape (n_variables, n_rows); the number of states is a missing value."""

    def run(self, codes: Codes, /) -> tuple[Floats, Floats]:
        """The posteriors that the engine was made for, side by side in each row; the log probabilities of the rows.

        Rows without probability have NaN and -inf.
        """

    def explain(self, codes: Codes, /) -> tuple[Codes, Floats]:
        """The rows with missing values filled in by a most probable explanation, and the log of its probability."""


class CountingEngine(RowsEngine, Protocol):
    """An engine for many rows that also sums its posteriors over them: the E-step of EM."""

    def count(self, codes: Codes, weights: Floats, /) -> tuple[Floats, float]:
        """The sum over rows of the posteriors, weighted, and the log-likelihood."""

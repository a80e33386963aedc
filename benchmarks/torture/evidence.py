"""Random evidence: one state, several states, likelihoods, on any variables; possible or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import bntk
from benchmarks.torture.case import Case


@dataclass
class Found:
    """Evidence as users give it, and as vectors by position."""

    given: dict[str, Any] = field(default_factory=dict)
    soft: dict[str, Any] = field(default_factory=dict)
    vectors: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def open_sets(self) -> bool:
        """Whether anything is not a single state."""
        return any(np.count_nonzero(vector) != 1 or vector.max() != 1 for vector in self.vectors.values())


def evidence(case: Case, network: bntk.BayesianNetwork, only_given: bool = False) -> Found:
    """Evidence about some of the variables; now and then so much or so odd that it is impossible."""
    found, share = Found(), case.pick([0.0, 0.2, 0.4, 0.8])
    for v, variable in enumerate(network.variables):
        if not case.chance(share):
            continue
        way = int(case.rng.integers(10))
        if way < 5:
            add(found, v, one_hot(case, variable.n_states), variable, "state")
        elif way < 7:
            chosen = (case.rng.random(variable.n_states) < 0.6).astype(float)
            chosen[int(case.rng.integers(variable.n_states))] = 1.0
            add(found, v, chosen, variable, case.pick(["set", "list", "tuple"]))
        elif way < 9 or only_given:
            add(found, v, likelihood(case, variable.n_states), variable, "mapping")
        else:
            add(found, v, likelihood(case, variable.n_states), variable, case.pick(["array", "soft mapping"]))
    case.note(given=found.given, soft=found.soft)
    return found


def one_hot(case: Case, n: int) -> np.ndarray:
    """One state; the identity matrix of all of them would take 32 GB for 65,000 states."""
    vector = np.zeros(n)
    vector[int(case.rng.integers(n))] = 1.0
    return vector


def likelihood(case: Case, n: int) -> np.ndarray:
    """A number for each state, not all zero; of any size now and then."""
    numbers = case.rng.random(n) * 3
    if case.chance(0.2):
        numbers = np.where(case.rng.random(n) < 0.5, 0.0, numbers)
    if case.chance(0.2):
        numbers = numbers * 10.0 ** case.rng.uniform(-200, 200)
    if not numbers.any():
        numbers[int(case.rng.integers(n))] = 1.0
    return numbers


def add(found: Found, v: int, vector: np.ndarray, variable: bntk.Variable, way: str) -> None:
    """Put a finding in the form that is named."""
    name, labels = variable.name, [variable.states[i] for i in np.flatnonzero(vector)]
    by_state = dict(zip(variable.states, vector.tolist(), strict=True))
    if way == "state":
        found.given[name] = labels[0]
    elif way in ("set", "list", "tuple"):
        made = {"set": set, "list": list, "tuple": tuple}[way](labels)
        if variable.find(made) is not None:  # a label that is a tuple of labels would be taken for one
            made = list(labels)
        found.given[name] = made
    elif way == "mapping":
        found.given[name] = by_state
    else:
        found.soft[name] = vector.tolist() if way == "array" else by_state
    found.vectors[v] = vector

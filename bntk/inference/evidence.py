"""Evidence: findings about variables, as a likelihood for each of their states.

A finding is a state, a collection of states (any of them), or a number for each state. All three become a vector of
non-negative numbers, by which the engine multiplies (virtual evidence, Pearl 1988, section 2.2.2).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bntk.data.variable import State, Variable, format_states, is_missing
from bntk.errors import DataError, ImpossibleEvidence
from bntk.inference.engines import Floats
from bntk.network import BayesianNetwork

Given = Mapping[str, Any]


@dataclass(frozen=True)
class Findings:
    """Likelihoods of the states of some variables, by position, and how the user put them.

    ``vectors[v]`` has one number per state. ``texts[v]`` reads ``name='state'``, ``name in ['a', 'b']`` or
    ``name ~ [0.2, 0.8]``.
    """

    vectors: dict[int, Floats]
    texts: dict[int, str]

    @classmethod
    def of(cls, network: BayesianNetwork, likelihood: Mapping[int, ArrayLike]) -> Findings:
        """From likelihoods by position, as the engines have them."""
        vectors = {v: np.asarray(numbers, dtype=float) for v, numbers in likelihood.items()}
        found = cls(vectors, {v: _text(network.cpts[v].child, vector) for v, vector in vectors.items()})
        for v, state in found.observed.items():
            found.texts[v] = f"{network.names[v]}={network.cpts[v].child.states[state]!r}"
        return found

    @cached_property
    def observed(self) -> dict[int, int]:
        """The variables that only one state is left for, and that state."""
        pairs = ((v, np.flatnonzero(vector)) for v, vector in self.vectors.items())
        return {v: int(possible[0]) for v, possible in pairs if possible.size == 1}

    @property
    def text(self) -> str:
        """All findings, for the title of a distribution."""
        return ", ".join(self.texts.values())

    def only(self, variables: Collection[int]) -> Findings:
        """The findings about some of the variables."""
        chosen = [v for v in self.vectors if v in variables]
        return Findings({v: self.vectors[v] for v in chosen}, {v: self.texts[v] for v in chosen})


def read_findings(
    network: BayesianNetwork, given: Given | Findings | None = None, soft: Given | None = None
) -> Findings:
    """The findings of ``given`` and ``soft``; those of one variable in both are multiplied.

    A missing value (None, NaN) is ignored. Findings that were read before are taken as they are.
    """
    if isinstance(given, Findings):
        return given
    findings = Findings({}, {})
    for source, what, read in ((given, "given", _hard), (soft, "soft", _soft)):
        if source is None:
            continue
        if not isinstance(source, Mapping):
            raise DataError(f"{what} must map variables to findings, as in {{'x': 'yes'}}; got {source!r}")
        for name, finding in source.items():
            at = network.dag.index(name)
            if is_missing(finding):
                continue
            _add(findings, at, *read(network.cpts[at].child, finding))
    return findings


def _add(findings: Findings, at: int, vector: Floats, text: str) -> None:
    if at in findings.vectors:
        vector, text = vector * findings.vectors[at], f"{findings.texts[at]}, {text}"
        if not vector.any():
            raise ImpossibleEvidence([text])
    findings.vectors[at], findings.texts[at] = vector, text


def _hard(variable: Variable, finding: Any) -> tuple[Floats, str]:
    """A state, a collection of states, or a mapping with a likelihood for each state."""
    if isinstance(finding, Mapping):
        return _soft(variable, finding)
    # A label may itself be a tuple, so that it is looked up before it is taken for a collection.
    if variable.find(finding) is not None or not _is_collection(finding):
        states, text = [finding], f"{variable.name}={variable.states[variable.code(finding)]!r}"
    else:
        states = list(finding)
        known = sorted({variable.code(state) for state in states})
        text = f"{variable.name} in {format_states([variable.states[code] for code in known])}"
    if not states:
        raise DataError(f"no state is left for {variable.name!r}; its states are {format_states(variable.states)}")
    vector = np.zeros(variable.n_states)
    vector[[variable.code(state) for state in states]] = 1.0
    return vector, text


def _is_collection(finding: Any) -> bool:
    return isinstance(finding, Collection) and not isinstance(finding, (str, bytes))


def _soft(variable: Variable, finding: Any) -> tuple[Floats, str]:
    vector = numbers_by_state(variable, finding, "likelihood")
    return vector, _text(variable, vector)


def _text(variable: Variable, vector: Floats) -> str:
    shown = ", ".join(f"{x:.4g}" for x in vector[:8]) + (", ..." if vector.size > 8 else "")
    return f"{variable.name} ~ [{shown}]"


def numbers_by_state(variable: Variable, numbers: Any, what: str) -> Floats:
    """Non-negative numbers, not all zero, from a mapping over all states or an array in their order."""
    if isinstance(numbers, Mapping):
        numbers = _in_order(variable, numbers, what)
    try:
        vector = np.array(numbers, dtype=float)
    except (TypeError, ValueError):
        vector = np.empty((0, 0))
    if vector.shape != (variable.n_states,):
        raise DataError(
            f"the {what} of {variable.name!r} must be {variable.n_states} numbers, one for each of its states "
            f"{format_states(variable.states)}; got {numbers!r}"
        )
    if not (np.isfinite(vector).all() and (vector >= 0).all() and vector.any()):
        raise DataError(f"the {what} of {variable.name!r} must be numbers from 0, not all zero; got {vector.tolist()}")
    return vector


def _in_order(variable: Variable, numbers: Mapping[State, Any], what: str) -> list[Any]:
    by_code = {variable.code(state): number for state, number in numbers.items()}
    absent = [state for code, state in enumerate(variable.states) if code not in by_code]
    if absent or len(numbers) > len(by_code):
        problem = f"has no number for {format_states(absent)}" if absent else "names a state twice"
        raise DataError(f"the {what} of {variable.name!r} {problem}; give one for each state")
    return [by_code[code] for code in range(variable.n_states)]


def clashing(findings: Findings, is_possible: Callable[[Findings], bool]) -> ImpossibleEvidence:
    """The error for impossible findings, naming some that clash and of which none can be left out.

    Findings are left out one by one; those without which the rest becomes possible are kept.
    """
    kept = list(findings.vectors)
    for variable in list(kept):
        rest = [v for v in kept if v != variable]
        if not is_possible(findings.only(rest)):
            kept = rest
    return ImpossibleEvidence(_in(findings, kept))


def _in(findings: Findings, variables: Iterable[int]) -> list[str]:
    return [findings.texts[v] for v in variables]

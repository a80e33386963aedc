"""Evidence: findings about variables, as a likelihood for each of their states.

A finding is a state, a collection of states (any of them), or a number for each state. All three become a vector of
non-negative numbers, by which the engine multiplies (virtual evidence, Pearl 1988, section 2.2.2).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bntk.data.variable import NEVER_MISSING, State, Variable, format_states, is_missing
from bntk.errors import DataError, ImpossibleEvidence
from bntk.inference.engines import Evidence, Floats
from bntk.network import BayesianNetwork

Given = Mapping[str, Any]
#: A state, and how many the variable has.
OneState = tuple[int, int]


class Findings:
    """Likelihoods of the states of some variables, by position, and how the user put them.

    ``texts[v]`` reads ``name='state'``, ``name in ['a', 'b']`` or ``name ~ [0.2, 0.8]``.

    Parameters
    ----------
    found : mapping
        For a variable, a number for each state, or a single state and how many there are.
    texts : mapping
    """

    def __init__(self, found: Mapping[int, Floats | OneState], texts: dict[int, str]) -> None:
        self.found, self.texts = found, texts
        self._observed: dict[int, int] | None = None

    @classmethod
    def of(cls, network: BayesianNetwork, likelihood: Mapping[int, ArrayLike]) -> Findings:
        """From likelihoods by position, as the engines have them."""
        vectors = {v: np.asarray(numbers, dtype=float) for v, numbers in likelihood.items()}
        found = cls(vectors, {v: _text(network.cpts[v].child, vector) for v, vector in vectors.items()})
        for v, state in found.observed.items():
            found.texts[v] = f"{network.names[v]}={network.cpts[v].child.states[state]!r}"
        return found

    @cached_property
    def vectors(self) -> dict[int, Floats]:
        """For each variable that there is a finding about, a number for each of its states."""
        return {v: _vector(*finding) if isinstance(finding, tuple) else finding for v, finding in self.found.items()}

    @property
    def observed(self) -> dict[int, int]:
        """The variables that only one state is left for, and that state."""
        if self._observed is None:  # a cached property would take a lock
            found = {}
            for v, finding in self.found.items():
                if isinstance(finding, tuple):
                    found[v] = finding[0]
                elif (possible := np.flatnonzero(finding)).size == 1:
                    found[v] = int(possible[0])
            self._observed = found
        return self._observed

    def evidence(self, n_variables: int) -> Evidence:
        """The form that exact inference reads."""
        observed = self.observed
        vectors = {v: finding for v, finding in self.found.items() if not isinstance(finding, tuple)}
        evidence = Evidence.of(vectors, n_variables)
        for v in observed:
            evidence.observed[v] = observed[v]
        return evidence

    @property
    def text(self) -> str:
        """All findings, for the title of a distribution."""
        return ", ".join(self.texts.values())

    def only(self, variables: Collection[int]) -> Findings:
        """The findings about some of the variables."""
        chosen = [v for v in self.found if v in variables]
        return Findings({v: self.found[v] for v in chosen}, {v: self.texts[v] for v in chosen})


def _vector(state: int, n_states: int) -> Floats:
    vector = np.zeros(n_states)
    vector[state] = 1.0
    return vector


def read_findings(
    network: BayesianNetwork, given: Given | Findings | None = None, soft: Given | None = None
) -> Findings:
    """The findings of ``given`` and ``soft``; those of one variable in both are multiplied.

    A missing value (None, NaN) is ignored. Findings that were read before are taken as they are.
    """
    if isinstance(given, Findings):
        return given
    found: dict[int, Floats | OneState] = {}
    texts: dict[int, str] = {}
    cpts, position = network.cpts, network.dag.index
    for source, what, read in ((given, "given", _hard), (soft, "soft", _soft)):
        if source is None:
            continue
        if not isinstance(source, Mapping):
            raise DataError(f"{what} must map variables to findings, as in {{'x': 'yes'}}; got {source!r}")
        for name, finding in source.items():
            at = position(name)
            if type(finding) in NEVER_MISSING or not is_missing(finding):
                new, text = read(cpts[at].child, finding)
                if at in found:
                    new, text = _both(found[at], new), f"{texts[at]}, {text}"
                    if not new.any():
                        raise ImpossibleEvidence([text])
                found[at], texts[at] = new, text
    return Findings(found, texts)


def _both(one: Floats | OneState, other: Floats | OneState) -> Floats:
    first, second = (_vector(*finding) if isinstance(finding, tuple) else finding for finding in (one, other))
    return first * second


def _hard(variable: Variable, finding: Any) -> tuple[Floats | OneState, str]:
    """A state, a collection of states, or a mapping with a likelihood for each state."""
    if type(finding) is not str and isinstance(finding, Mapping):
        return _soft(variable, finding)
    # A label may itself be a tuple, so that it is looked up before it is taken for a collection.
    code = variable.find(finding)
    if code is None and not _is_collection(finding):
        code = variable.code(finding)  # which says that there is none
    if code is not None:
        return (code, variable.n_states), f"{variable.name}={variable.states[code]!r}"
    states = list(finding)
    known = sorted({variable.code(state) for state in states})
    text = f"{variable.name} in {format_states([variable.states[code] for code in known])}"
    if not states:
        raise DataError(f"no state is left for {variable.name!r}; its states are {format_states(variable.states)}")
    vector = np.zeros(variable.n_states)
    vector[known] = 1.0
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
    kept = list(findings.found)
    for variable in list(kept):
        rest = [v for v in kept if v != variable]
        if not is_possible(findings.only(rest)):
            kept = rest
    return ImpossibleEvidence(_in(findings, kept))


def _in(findings: Findings, variables: Iterable[int]) -> list[str]:
    return [findings.texts[v] for v in variables]

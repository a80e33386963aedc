"""Findings as the page has them: by name, states as text, in four parts.

``{"observed": {name: state}, "excluded": {name: [state]}, "likelihood": {name: [number]}, "intervened": {...}}``
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bntk import _checking
from bntk.data.variable import State, Variable, state_texts
from bntk.errors import DataError, did_you_mean
from bntk.inference.evidence import Findings, numbers_by_state
from bntk.network import BayesianNetwork

Case = dict[str, dict[str, Any]]
PARTS = ("observed", "excluded", "likelihood", "intervened")


def empty_case() -> Case:
    """A case without findings."""
    return {part: {} for part in PARTS}


def case_of(network: BayesianNetwork, findings: Findings, interventions: Mapping[int, int] | None = None) -> Case:
    """Findings and interventions as a case: a state, states that are excluded, or a likelihood."""
    case = empty_case()
    for v, vector in findings.vectors.items():
        name, texts = network.names[v], state_texts(network.variables[v])
        if v in findings.observed and vector.max() == 1:
            case["observed"][name] = texts[findings.observed[v]]
        elif np.isin(vector, (0, 1)).all():
            case["excluded"][name] = [texts[code] for code in np.flatnonzero(vector == 0)]
        else:
            case["likelihood"][name] = vector.tolist()
    for v, code in (interventions or {}).items():
        case["intervened"][network.names[v]] = state_texts(network.variables[v])[code]
    case["excluded"] = {name: states for name, states in case["excluded"].items() if states}
    return case


def checked_case(network: BayesianNetwork, given: Any) -> Case:
    """A case that was given, with all parts; names and states that the network does not have are refused."""
    case = empty_case()
    for part, entries in _checking.mapping("case", given, "{part: {name: finding}}", DataError).items():
        if part not in PARTS:
            raise DataError(f"a case has no part {part!r}{did_you_mean(part, PARTS)}; its parts are {', '.join(PARTS)}")
        for name, finding in _checking.mapping(part, entries, "{name: finding}", DataError).items():
            case[part][name] = _finding(network.variable(name), part, finding)
    return case


def _finding(variable: Variable, part: str, finding: Any) -> Any:
    texts = state_texts(variable)
    if part == "excluded":
        states = _checking.several(f"the excluded states of {variable.name!r}", finding, "states", DataError)
        return [texts[code] for code in sorted({code_of(variable, state) for state in states})]
    if part == "likelihood":
        return numbers_by_state(variable, finding, "likelihood").tolist()
    return texts[code_of(variable, finding)]


def code_of(variable: Variable, state: State) -> int:
    """The position of a state by its text in the page, or as Python finds it."""
    texts = state_texts(variable)
    return texts.index(state) if state in texts else variable.code(state)


def labels_of(network: BayesianNetwork, case: Case, part: str) -> dict[str, State]:
    """The states of a part of a case, as the network has them."""
    found = {}
    for name, state in case[part].items():
        variable = network.variable(name)
        found[name] = variable.states[code_of(variable, state)]
    return found


def given_of(network: BayesianNetwork, case: Case) -> dict[str, Any]:
    """Observed states, and for variables with excluded ones the list of those left, for ``bn.query(..., given)``."""
    found: dict[str, Any] = dict(labels_of(network, case, "observed"))
    for name, excluded in case["excluded"].items():
        if name not in found:
            variable = network.variable(name)
            codes = {code_of(variable, state) for state in excluded}
            found[name] = [state for code, state in enumerate(variable.states) if code not in codes]
    return {name: found[name] for name in network.names if name in found}

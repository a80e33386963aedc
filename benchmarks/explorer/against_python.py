"""Random findings, and where the answers of the interpreter differ from those of Python."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import bntk
from benchmarks.torture import networks
from benchmarks.torture.case import Case
from bntk.explore.model import model_of
from bntk.inference.decisions import relevant_findings, value_of_information
from bntk.inference.evidence import Findings, clashing
from bntk.inference.query import ConditionedNetwork

#: Relative difference that is allowed, and what may vanish.
RELATIVE, SMALLEST = 1e-9, 1e-290

Finding = dict[str, dict[int, Any]]


def random_network(seed: int) -> bntk.BayesianNetwork:
    """A small network with zeros, tiny probabilities, deterministic tables, odd names, single states, lonely nodes."""
    return networks.network(Case("explorer", seed, 0))


def random_case(network: bntk.BayesianNetwork, rng: np.random.Generator, share: float = 0.35) -> Finding:
    """Findings of each kind about some of the variables; possible or not."""
    found: Finding = {"observed": {}, "excluded": {}, "likelihood": {}, "intervened": {}}
    kinds = rng.choice([*found, "all"], p=[0.5, 0.1, 0.1, 0.1, 0.2])
    for v, variable in enumerate(network.variables):
        if rng.random() > share:
            continue
        kind = kinds if kinds != "all" else rng.choice([*found])
        k = variable.n_states
        if kind in ("observed", "intervened"):
            found[kind][v] = int(rng.integers(k))
        elif kind == "excluded":
            out = sorted(map(int, rng.choice(k, size=int(rng.integers(0, k)), replace=False)))
            if out:
                found[kind][v] = out
        else:
            numbers = rng.random(k) * 10.0 ** rng.integers(-3, 3) * (rng.random(k) < 0.8)
            if numbers.any():
                found[kind][v] = numbers.tolist()
    return found


@dataclass
class Question:
    """A network with findings, as Python has them."""

    network: bntk.BayesianNetwork
    case: Finding
    target: int

    @cached_property
    def changed(self) -> bntk.BayesianNetwork:
        """The network after the interventions."""
        variables = self.network.variables
        return self.network.do({variables[v].name: variables[v].states[s] for v, s in self.case["intervened"].items()})

    @cached_property
    def vectors(self) -> dict[int, np.ndarray]:
        """The likelihoods of the variables with evidence, in their order."""
        found: dict[int, np.ndarray] = {}
        cards = [variable.n_states for variable in self.network.variables]
        for v, state in self.case["observed"].items():
            found[v] = np.eye(cards[v])[state]
        for v, states in self.case["excluded"].items():
            own = found.setdefault(v, np.ones(cards[v]))
            own[states] = 0
        for v, numbers in self.case["likelihood"].items():
            found[v] = found.get(v, np.ones(cards[v])) * numbers
        return dict(sorted(found.items()))

    def conditioned(self, vectors: Mapping[int, np.ndarray] | None = None) -> ConditionedNetwork:
        """The changed network with evidence."""
        vectors = self.vectors if vectors is None else vectors
        return ConditionedNetwork(self.changed, Findings.of(self.changed, vectors))

    def log_probability(self, vectors: Mapping[int, np.ndarray] | None = None) -> float:
        """Of the evidence."""
        vectors = self.vectors if vectors is None else vectors
        if any(not vector.any() for vector in vectors.values()):
            return -math.inf
        return float(self.conditioned(vectors).log_probability())

    @cached_property
    def log_z(self) -> float:
        return self.log_probability()

    def marginals(self, vectors: Mapping[int, np.ndarray] | None = None) -> list[np.ndarray]:
        """Of all variables, the observed ones among them."""
        conditioned = self.conditioned(vectors)
        posterior = conditioned.posterior()
        return [posterior.marginal(v) for v in range(len(self.network.names))]


def model(network: bntk.BayesianNetwork) -> Any:
    """The model as the page reads it."""
    return json.loads(json.dumps(model_of(network)))


def differences(question: Question, found: Mapping[str, Any]) -> Iterator[str]:
    """Where the interpreter's answers are not those of Python."""
    log_z = question.log_z
    yield from _case_differences(question, found)
    for name in ("run", "conflict"):
        if not _close(_number(found[name]["logProbability"]), log_z):
            yield f"{name}: log probability {found[name]['logProbability']}, not {log_z}"
    if log_z == -math.inf:
        yield from _impossible_differences(question, found)
        return
    if found["contradiction"] is not None or not found["run"]["possible"] or not found["mpe"]["possible"]:
        yield "possible findings are taken for impossible"
        return
    yield from _marginal_differences(question, found)
    yield from _mpe_differences(question, found["mpe"])
    yield from _conflict_differences(question, found["conflict"])
    yield from _influence_differences(question, found["influence"])
    yield from _value_differences(question, found["value"])
    yield from _relevance_differences(question, found["relevant"])


def _case_differences(question: Question, found: Mapping[str, Any]) -> Iterator[str]:
    """Cases survive being written, coded and checked."""
    plain = json.loads(json.dumps(question.case))
    for way in ("coded", "named", "checked"):
        if found[way] != {"case": plain, "problems": []}:
            yield f"{way}: {found[way]}, not {plain}"


def _marginal_differences(question: Question, found: Mapping[str, Any]) -> Iterator[str]:
    expected = question.marginals()
    for v, (own, other) in enumerate(zip(found["run"]["marginals"], expected, strict=True)):
        if not _all_close(own, other):
            yield f"marginal of {v}: {own}, not {other}"
    if not _all_close(found["posterior"], expected[question.target]):
        yield f"posterior of {question.target}: {found['posterior']}, not {expected[question.target]}"
    by_code = eval(found["python"], {"bn": question.network, "inf": math.inf})
    for name, distribution in by_code.items():
        if not _all_close(found["run"]["marginals"][question.network.dag.index(name)], distribution.values):
            yield f"{found['python']} has another posterior of {name}"


def _impossible_differences(question: Question, found: Mapping[str, Any]) -> Iterator[str]:
    if found["run"]["possible"] or found["mpe"]["possible"] or found["value"] is not None or found["influence"]:
        yield "impossible findings are taken for possible"
    if found["contradiction"] is None:
        yield "no contradiction is found"
        return
    vectors = question.vectors
    everything = Findings(vectors, {v: str(v) for v in vectors})

    def is_possible(some: Findings) -> bool:
        return question.log_probability(dict(some.found)) > -math.inf

    expected = [int(v) for v in clashing(everything, is_possible).findings]
    if found["contradiction"]["findings"] != expected:
        yield f"contradiction: {found['contradiction']}, not {expected}"


def _mpe_differences(question: Question, found: Mapping[str, Any]) -> Iterator[str]:
    variables, states = question.network.variables, found["states"]
    expected = question.conditioned().mpe().log_probability
    if not _close(_number(found["logProbability"]), expected):
        yield f"mpe: {found['logProbability']}, not {expected}"
    joint = sum(
        _log(cpt.values[tuple(states[question.changed.dag.index(p.name)] for p in cpt.parents)][states[v]])
        for v, cpt in enumerate(question.changed.cpts)
    ) + sum(_log(vector[states[v]]) for v, vector in question.vectors.items())
    if not _close(joint - question.log_z, expected):
        yield f"mpe: the states {[variables[v].states[s] for v, s in enumerate(states)]} are not the most probable"


def _conflict_differences(question: Question, found: Mapping[str, Any]) -> Iterator[str]:
    single = {v: question.log_probability({v: vector}) for v, vector in question.vectors.items()}
    expected = sum(single.values()) - question.log_z
    if not _close(found["conflict"], expected) or [v for v, _ in found["single"]] != list(single):
        yield f"conflict: {found}, not {expected} of {single}"


def _influence_differences(question: Question, found: list[dict[str, Any]]) -> Iterator[str]:
    names = question.network.names
    target = names[question.target]
    given = {names[v]: v for v in question.vectors}
    frame = relevant_findings(question.conditioned(), target, given)
    own = {effect["variable"]: effect for effect in found if effect["kind"] == "finding"}
    if sorted(own) != sorted(frame["finding"]):
        yield f"influence: of {sorted(own)}, not of {sorted(frame['finding'])}"
        return
    for row in frame.itertuples():
        effect = own[row.finding]
        if not _near(effect["divergence"], row.divergence) or not _near(effect["change"], row.change):
            yield f"influence of {row.finding}: {effect}, not {row.divergence}, {row.change}"
    for effect in (effect for effect in found if effect["kind"] == "intervention"):
        fewer = {v: s for v, s in question.case["intervened"].items() if v != effect["variable"]}
        other = Question(question.network, {**question.case, "intervened": fewer}, question.target)
        if other.log_z == -math.inf:
            if effect["without"] is not None:
                yield f"influence of do({effect['variable']}): {effect}, but the others are impossible"
        elif not _all_close(effect["without"], other.marginals()[question.target]):
            yield f"influence of do({effect['variable']}): {effect}"


def _value_differences(question: Question, found: Mapping[str, Any]) -> Iterator[str]:
    names = question.network.names
    frame = value_of_information(question.conditioned(), names[question.target], None)
    set_to = {names[v] for v in question.case["intervened"]}
    own = {names[value["variable"]]: value for value in found["values"]}
    if set(own) != set(frame.index) - set_to:
        yield f"value of information: of {sorted(own)}, not of {sorted(set(frame.index) - set_to)}"
        return
    for name, value in own.items():
        row = frame.loc[name]
        # Information is a sum of differences, and its share is divided by an entropy that may be small.
        unit = min(1.0, found["entropy"])
        if not _near(value["information"], row["information"]) or not _near(unit * value["share"], unit * row["share"]):
            yield f"value of information of {name}: {value}, not {row.to_dict()}"


def _relevance_differences(question: Question, found: list[bool]) -> Iterator[str]:
    """By d-separation in a graph where each likelihood is a child that is observed; findings by leaving them out."""
    names = [str(v) for v in range(len(question.network.names))]
    soft = [v for v, vector in question.vectors.items() if np.count_nonzero(vector) > 1]
    hard = [v for v in question.vectors if v not in soft]
    parents = question.network.dag.parent_indices
    intervened = question.case["intervened"]
    arcs = [(str(p), str(v)) for v in range(len(names)) if v not in intervened for p in parents[v]]
    dag = bntk.DAG([*names, *(f"e{v}" for v in soft)], [*arcs, *((str(v), f"e{v}") for v in soft)])
    known = {*map(str, hard), *map(str, intervened), *(f"e{v}" for v in soft)}
    goal = str(question.target)
    for v, name in enumerate(names):
        if name == goal or name in known or goal in known:
            continue
        if found[v] == dag.d_separated([name], [goal], sorted(known)):
            yield f"relevance of {v}: {found[v]}"
    posterior = question.marginals()[question.target]
    for v in question.vectors:
        if not found[v]:
            fewer = {u: vector for u, vector in question.vectors.items() if u != v}
            if not _all_close(question.marginals(fewer)[question.target], posterior):
                yield f"the finding about {v} matters, but is not relevant"


# ---- numbers ---------------------------------------------------------------------------------------------------------


def _number(value: Any) -> float:
    return {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}.get(value, value)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def _close(a: float, b: float) -> bool:
    return a == b or abs(a - b) <= RELATIVE * max(1.0, abs(b))


def _near(a: float, b: float) -> bool:
    return _number(a) == b or abs(_number(a) - b) <= RELATIVE


def _all_close(a: Any, b: Any) -> bool:
    return a is not None and np.allclose(a, b, rtol=RELATIVE, atol=SMALLEST)

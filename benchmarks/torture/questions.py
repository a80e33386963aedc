"""Questions about random networks, by every exact engine, against the enumerated joint distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

import bntk
from benchmarks.torture import networks
from benchmarks.torture.case import DOCUMENTED, SMALLEST, Case, kind, log
from benchmarks.torture.evidence import Found, evidence
from benchmarks.torture.reference import Joint, fitted_beliefs
from bntk.errors import DataError, ImpossibleEvidence

#: Routes that matter for one evidence set.
ONE_SET = [name for name in networks.ROUTES if not name.startswith(("rows", "each"))]


@kind("questions", 5)
def questions(case: Case) -> None:
    """Every question about one evidence set: posteriors, probabilities, explanations, beliefs, value of information."""
    network = networks.network(case)
    joint = Joint.of(network)
    for _ in range(6):
        route = case.pick(ONE_SET)
        case.note(route=route)
        with networks.route(route):
            ask(case, networks.again(network), joint, evidence(case, network))


@kind("interventions", 0.5)
def interventions(case: Case) -> None:
    """do(): tables of the variables that are set are replaced, all others stay."""
    network = networks.network(case)
    chosen = case.some(range(len(network.names)))
    set_to = {v: int(case.rng.integers(network.variables[v].n_states)) for v in chosen}
    case.note(do={network.names[v]: network.variables[v].states[code] for v, code in set_to.items()})
    changed = network.do({network.names[v]: network.variables[v].states[code] for v, code in set_to.items()})
    tables = [
        np.eye(cpt.child.n_states)[set_to[v]] + np.zeros_like(cpt.values) if v in set_to else cpt.values
        for v, cpt in enumerate(network.cpts)
    ]
    cpts = [bntk.CPT(c.child, t, c.parents) for c, t in zip(network.cpts, tables, strict=True)]
    ask(case, changed, Joint.of(bntk.BayesianNetwork(network.dag, cpts)), evidence(case, network))


@kind("wide", 0.5)
def wide(case: Case) -> None:
    """Variables with very many states: 300, or 65,000; or two dozen variables in one chain of tiny probabilities."""
    n = case.pick([255, 256, 257, 300, 65_535, 65_536, 65_000])
    rng, big = case.rng, bntk.Variable("big", range(n), ordered=case.chance(0.5))
    small = bntk.Variable("small", ["no", "yes"])
    first = networks.rows_of_table(case, case.pick(["plain", "zeros", "tiny"]), 1, n)[0]
    second = networks.rows_of_table(case, case.pick(["plain", "zeros", "tiny"]), n, 2)
    network = bntk.BayesianNetwork.from_cpts([bntk.CPT(big, first), bntk.CPT(small, second, [big])])
    case.note(states=n)
    joint = Joint.of(network)
    for _ in range(2):
        ask(case, network, joint, evidence(case, network), n_marginals=2)
    codes = np.array([rng.integers(0, n + 1, size=20), rng.integers(0, 3, size=20)])
    table = bntk.Table.from_codes(codes, network.variables)
    expected = [log(joint.row(row).total) for row in codes.T]
    case.logs("row_log_likelihood", network.row_log_likelihood(table), expected)


def ask(case: Case, network: bntk.BayesianNetwork, joint: Joint, found: Found, n_marginals: int = 99) -> None:
    """All questions given one evidence set; impossible evidence must be refused by all of them alike."""
    told: dict[str, Any] = {"given": found.given or None, "soft": found.soft or None}
    if case.chance(0.2):
        told["engine"] = "auto"
    given, n = joint.times(found.vectors), len(network.names)
    targets = case.some(range(n), 1)[:3]
    if np.prod([network.variables[v].n_states for v in targets]) > 1e5:
        targets = targets[:1]
    names = [network.names[v] for v in targets]
    case.note(targets=names)
    case.logs(
        "log_probability", case.answer("log_probability", lambda: network.log_probability(**told)), log(given.total)
    )
    if given.total == 0:
        refuse(case, network, told, names)
        return
    with np.errstate(over="ignore"):
        expected = np.float64(given.total)
    ours = case.answer("probability", lambda: network.probability(**told), DOCUMENTED)
    if ours is not None:
        case.close("probability", ours, expected, smallest=1e-280)
    for some in ([targets[0]], targets):
        answer = case.answer("query", lambda some=some: network.query([network.names[v] for v in some], **told))
        if answer is not None:
            case.close(f"query of {len(some)}", answer.values, given.posterior(some))
    posteriors = case.answer("marginals", lambda: network.marginals(**told))
    for name in list(posteriors or ())[:n_marginals]:
        case.close("marginals", posteriors[name].values, given.posterior([network.dag.index(name)]))
    explanation(case, "mpe", network, given, found, range(n), case.answer("mpe", lambda: network.mpe(**told)))
    explanation(case, "map", network, given, found, targets, case.answer("map", lambda: network.map(names, **told)))
    if not found.soft:
        beliefs(case, network, joint, found, names)
        information(case, network, given, found, targets[0])


def refuse(case: Case, network: bntk.BayesianNetwork, told: dict[str, Any], names: list[str]) -> None:
    """Impossible evidence: the same error from every question."""
    case.same("probability", network.probability(**told), 0.0)
    asked = {
        "query of one, impossible": lambda: network.query(names[0], **told),
        "query of several, impossible": lambda: network.query(names, **told),
        "marginals, impossible": lambda: network.marginals(**told),
        "mpe, impossible": lambda: network.mpe(**told),
        "map, impossible": lambda: network.map(names, **told),
        "sample, impossible": lambda: network.sample(3, given=told["given"], soft=told["soft"]),
    }
    if told["soft"] is None:
        asked["value_of_information, impossible"] = lambda: network.value_of_information(names[0], told["given"])
        free = [name for name in network.names if name not in (told["given"] or {})]
        if free:
            r = network.variable(free[0]).n_states
            asked["jeffrey, impossible"] = lambda: network.jeffrey(names, {free[0]: [1 / r] * r}, told["given"])
    for what, call in asked.items():
        case.refused(what, call, ImpossibleEvidence)


def explanation(
    case: Case, what: str, network: bntk.BayesianNetwork, given: Joint, found: Found, at: Any, answer: Any
) -> None:
    """The states are those of the highest probability (or of one of several that have it), which is right."""
    if answer is None:
        return
    observed = {v: int(np.argmax(vector)) for v, vector in found.vectors.items() if np.count_nonzero(vector) == 1}
    at = [v for v in at if v not in observed]
    if not case.check(f"{what}: the variables", [*answer] == [network.names[v] for v in at], lambda: dict(answer)):
        return
    table = given.posterior(at) if at else np.ones((), dtype=np.longdouble)
    codes = tuple(network.variables[v].states.index(answer[network.names[v]]) for v in at)
    case.close(f"{what}: the states", table[codes], table.max(), smallest=0.0)
    case.logs(f"{what}: the log probability", answer.log_probability, log(table.max()))


def beliefs(case: Case, network: bntk.BayesianNetwork, joint: Joint, found: Found, names: list[str]) -> None:
    """Jeffrey's rule for one or two new beliefs."""
    free = [v for v in range(len(network.names)) if v not in found.vectors]
    chosen = case.some(free)[: case.pick([1, 1, 2])]
    if not chosen or max(network.variables[v].n_states for v in chosen) > 1000:
        return
    wanted = {
        v: networks.rows_of_table(case, case.pick(["plain", "zeros"]), 1, network.variables[v].n_states)[0]
        for v in chosen
    }
    case.note(beliefs={network.names[v]: belief.tolist() for v, belief in wanted.items()})
    told = {network.names[v]: belief.tolist() for v, belief in wanted.items()}
    given = joint.times(found.vectors)
    chances = [given.posterior([v])[belief > 0].min() for v, belief in wanted.items()]
    if min(chances) == 0:
        case.refused(
            "jeffrey with a belief in an impossible state",
            lambda: network.jeffrey(names, told, found.given),
            DataError,
        )
        return
    exact = {v: belief.astype(np.longdouble) / belief.astype(np.longdouble).sum() for v, belief in wanted.items()}
    after = fitted_beliefs(given, exact)
    unsure = after is None or len(wanted) > 1 or min(chances) < SMALLEST  # such posteriors may vanish
    answer = case.answer("jeffrey", lambda: network.jeffrey(names, told, found.given), DataError if unsure else ())
    if answer is not None and after is not None:
        loose = {"relative": 1e-6, "smallest": 1e-8} if len(wanted) > 1 else {}
        case.close("jeffrey", answer.values, after.posterior([network.dag.index(name) for name in names]), **loose)


def information(case: Case, network: bntk.BayesianNetwork, given: Joint, found: Found, target: int) -> None:
    """The mutual information of the target and each candidate, given the evidence."""
    if network.variables[target].n_states > 300 or not case.chance(0.4):
        return
    frame = case.answer(
        "value_of_information", lambda: network.value_of_information(network.names[target], found.given)
    )
    if frame is None:
        return
    gains = frame["information"].to_numpy()
    case.check("value_of_information: sorted", bool((np.diff(gains) <= 0).all()), gains)
    for name, ours in zip(frame.index, gains, strict=True):
        v = network.dag.index(name)
        pair = given.posterior([target, v]) if v != target else np.diag(given.posterior([v]))
        outer = pair.sum(axis=1, keepdims=True) * pair.sum(axis=0, keepdims=True)
        used = pair > 0
        expected = (pair[used] * (np.log(pair[used]) - np.log(outer[used]))).sum()
        case.close("value_of_information", ours, expected, smallest=1e-9)

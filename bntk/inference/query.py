"""Questions about one evidence set, by name: posteriors, probabilities, explanations, new beliefs, and their cost.

Up to ``SMALL_ENTRIES`` clique entries, the program of the whole network serves every question: running it takes less
time than compiling a part. Up to ``MEDIUM_ENTRIES`` it serves those that depend on a good part of the network. Else a
program is compiled for the tables that the answer depends on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bntk.errors import DataError, ImpossibleEvidence, TooLargeError
from bntk.graph.separation import bayes_ball
from bntk.inference.evidence import Findings, Floats, Given, clashing, numbers_by_state, read_findings
from bntk.inference.exact.program import (
    MAX_ENTRIES,
    Calibrated,
    Factor,
    Plan,
    Program,
    compile_factors,
    compile_network,
)
from bntk.inference.results import Distribution, Explanation, Marginals
from bntk.network import BayesianNetwork

#: Entries of all cliques up to which the program of the whole network is used for every question.
SMALL_ENTRIES = 1 << 16
#: And up to which it is used for questions that depend on at least one in ``PART`` of the variables: compiling takes
#: about a tenth of a millisecond for each of these, running it a few milliseconds.
MEDIUM_ENTRIES, PART = 1 << 20, 4
#: Joint states of the targets of a marginal MAP question up to which all of them are compared.
MAP_ENTRIES = 1 << 24
#: Clique entries times findings up to which a minimal set of clashing findings is looked for.
CLASH_ENTRIES = 1 << 26
#: Jeffrey's rule for several variables stops when no belief is off by more, or gives up after so many rounds.
BELIEF_TOLERANCE, MOST_ROUNDS = 1e-12, 1000

Names = str | Sequence[str]


def query(
    network: BayesianNetwork,
    targets: Names,
    given: Given | None = None,
    soft: Given | None = None,
    max_entries: int = MAX_ENTRIES,
) -> Distribution:
    """The joint posterior of the targets; see :meth:`bntk.BayesianNetwork.query`."""
    findings = read_findings(network, given, soft)
    return _posterior(network, positions(network, targets), findings, max_entries)


def marginals(
    network: BayesianNetwork, given: Given | None = None, soft: Given | None = None, max_entries: int = MAX_ENTRIES
) -> Marginals:
    """The posterior of every unobserved variable; see :meth:`bntk.BayesianNetwork.marginals`."""
    findings = read_findings(network, given, soft)
    observed, text = findings.observed, findings.text
    try:
        answer = _calibrated(network, compile_network(network, max_entries=max_entries), findings, max_entries)
    except TooLargeError:
        if not observed:
            raise
        answer = _calibrated_given(network, findings, max_entries)
    return Marginals(
        {
            variable.name: Distribution([variable], answer.marginal(v), text)
            for v, variable in enumerate(network.variables)
            if v not in observed
        },
        answer.log_z,
    )


def program_given(network: BayesianNetwork, observed: Mapping[int, int], max_entries: int = MAX_ENTRIES) -> Program:
    """The program of the tables at the observed states, for networks that are too large without evidence."""
    factors = []
    for node, (cpt, parents) in enumerate(zip(network.cpts, network.dag.parent_indices, strict=True)):
        family = (*parents, node)
        at = tuple(observed.get(v, slice(None)) for v in family)
        factors.append(Factor(tuple(v for v in family if v not in observed), np.asarray(cpt.values[at])))
    cards = [variable.n_states for variable in network.variables]
    rest = [v for v in range(len(cards)) if v not in observed]
    return compile_factors(factors, cards, names=network.names, variables=rest, max_entries=max_entries)


def _calibrated_given(network: BayesianNetwork, findings: Findings, max_entries: int) -> Calibrated:
    observed = findings.observed
    program = program_given(network, observed, max_entries)
    answer = program.calibrate({v: vector for v, vector in findings.vectors.items() if v not in observed})
    if answer.log_z == -math.inf:
        raise ImpossibleEvidence(findings.texts.values(), minimal=False)
    answer.log_z += sum(math.log(float(findings.vectors[v].max())) for v in observed)
    return answer


def log_probability(
    network: BayesianNetwork, given: Given | None = None, soft: Given | None = None, max_entries: int = MAX_ENTRIES
) -> float:
    """log P(given); see :meth:`bntk.BayesianNetwork.log_probability`."""
    try:
        findings = read_findings(network, given, soft)
    except ImpossibleEvidence:  # two findings about one variable
        return -math.inf
    if not findings.vectors:
        return 0.0
    return _evidence_program(network, findings, max_entries).calibrate(findings.vectors).log_z


def mpe(
    network: BayesianNetwork, given: Given | None = None, soft: Given | None = None, max_entries: int = MAX_ENTRIES
) -> Explanation:
    """The most probable state of all unobserved variables together; see :meth:`bntk.BayesianNetwork.mpe`."""
    findings = read_findings(network, given, soft)
    everything = range(len(network.cpts))
    return _explained(network, everything, compile_network(network, max_entries=max_entries), findings, max_entries)


def marginal_map(
    network: BayesianNetwork,
    targets: Names,
    given: Given | None = None,
    soft: Given | None = None,
    max_entries: int = MAX_ENTRIES,
) -> Explanation:
    """The most probable joint state of the targets, all else summed out; see :meth:`bntk.BayesianNetwork.map`."""
    at = positions(network, targets)
    findings = read_findings(network, given, soft)
    observed = findings.observed
    relevant = bayes_ball(network.dag, [*at, *findings.vectors], set())[0]
    if relevant <= {*at, *observed}:  # nothing to sum out but variables that sum to one
        program = compile_network(network, targets=sorted(relevant), max_entries=max_entries)
        return _explained(network, at, program, findings, max_entries)
    entries = math.prod(network.cpts[v].child.n_states for v in at if v not in observed)
    if entries > MAP_ENTRIES:
        raise TooLargeError(
            f"the {len(at)} targets have {entries:,} joint states, more than the {MAP_ENTRIES:,} that are compared one "
            "by one; ask for fewer targets or give more evidence. bn.mpe maximises over all variables and has no limit"
        )
    joint = _posterior(network, at, findings, max_entries)
    best = joint.mode()
    states = {name: state for v, (name, state) in zip(at, best.items(), strict=True) if v not in observed}
    return Explanation(states, math.log(joint.probability(best)))


def jeffrey(
    network: BayesianNetwork,
    targets: Names,
    beliefs: Given,
    given: Given | None = None,
    max_entries: int = MAX_ENTRIES,
) -> Distribution:
    """The targets after beliefs about other variables changed; see :meth:`bntk.BayesianNetwork.jeffrey`."""
    at, findings = positions(network, targets), read_findings(network, given)
    wanted = _read_beliefs(network, beliefs, findings)
    texts = {v: f"{network.names[v]} := [{', '.join(f'{x:.4g}' for x in q[:8])}]" for v, q in wanted.items()}
    fitted = Findings({**findings.vectors, **_fitted(network, wanted, findings, max_entries)}, findings.texts | texts)
    return _posterior(network, at, fitted, max_entries)


def plan(network: BayesianNetwork, targets: Names | None = None, given: Given | Iterable[str] | None = None) -> Plan:
    """What a question will cost; see :meth:`bntk.BayesianNetwork.plan`."""
    if given is not None and not isinstance(given, Mapping):
        names = [given] if isinstance(given, str) else list(given)
        given = {name: network.variable(name).states[0] for name in names}
    findings = read_findings(network, given)
    at = None if targets is None else positions(network, targets)
    try:
        return _program(network, at, findings, MAX_ENTRIES).plan_given(findings.observed)
    except TooLargeError:
        unkept = BayesianNetwork(network.dag, network.cpts)  # a copy, so that what is over the limit is not kept
        return _program(unkept, at, findings, 1 << 200).plan_given(findings.observed)


def positions(network: BayesianNetwork, targets: Names) -> tuple[int, ...]:
    """The positions of one or several targets, each named once."""
    names = [targets] if isinstance(targets, str) else list(targets)
    at = tuple(network.dag.index(name) for name in names)
    if not at:
        raise DataError("no target is named; give the name of a variable, or several")
    if len(set(at)) < len(at):
        raise DataError(f"a target is named twice in {names}")
    return at


# ---- programs --------------------------------------------------------------------------------------------------------


def is_small(network: BayesianNetwork) -> bool:
    """Whether the program of the whole network is small enough to answer every question."""
    return _whole_entries(network) <= SMALL_ENTRIES


def _whole_entries(network: BayesianNetwork) -> float:
    """Entries of the program of the whole network; infinite if there are more than ``MEDIUM_ENTRIES``."""
    if "whole_entries" not in network._cache:
        try:
            entries: float = compile_network(network, max_entries=MEDIUM_ENTRIES).plan.total_entries
        except TooLargeError:
            entries = math.inf
        network._cache["whole_entries"] = entries
    found: float = network._cache["whole_entries"]
    return found


def _program(network: BayesianNetwork, at: Sequence[int] | None, findings: Findings, max_entries: int) -> Program:
    """A program in which the targets that are not observed share a clique; all variables, without targets."""
    if at is None:
        return compile_network(network, max_entries=max_entries)
    observed = findings.observed
    unknown = tuple(v for v in at if v not in observed)
    if not unknown:
        return _evidence_program(network, findings, max_entries)
    # Uncertain evidence is a table that one more child would have: the tables of its variable are needed as well.
    needed = {*unknown, *(v for v in findings.vectors if v not in observed)}
    entries = _whole_entries(network)  # infinite if it is no program of middling size either
    if entries <= max_entries and (
        entries <= SMALL_ENTRIES or PART * _n_relevant(network, needed, observed) >= len(network.cpts)
    ):
        whole = compile_network(network, max_entries=max_entries)
        if whole.tree.smallest_clique(unknown) >= 0:
            return whole
    return compile_network(
        network, targets=sorted(needed), evidence=sorted(observed), must_share=[unknown], max_entries=max_entries
    )


def _n_relevant(network: BayesianNetwork, needed: Iterable[int], observed: Iterable[int]) -> int:
    """How many tables the posterior of some variables depends on."""
    return len(bayes_ball(network.dag, sorted(needed), set(observed))[0])


def _evidence_program(network: BayesianNetwork, findings: Findings, max_entries: int) -> Program:
    """A program that gives the probability of the findings: without the variables that sum to one."""
    targets = None if is_small(network) else sorted(findings.vectors)
    return compile_network(network, targets=targets, max_entries=max_entries)


# ---- answers ---------------------------------------------------------------------------------------------------------


def _posterior(network: BayesianNetwork, at: Sequence[int], findings: Findings, max_entries: int) -> Distribution:
    observed = findings.observed
    variables = [network.cpts[v].child for v in at]
    values = np.zeros([variable.n_states for variable in variables])
    # A target that is observed has all of its mass on that state.
    where = tuple(observed.get(v, slice(None)) for v in at)
    values[where] = _joint(network, [v for v in at if v not in observed], findings, max_entries)
    return Distribution(variables, values, findings.text)


def _joint(network: BayesianNetwork, unknown: Sequence[int], findings: Findings, max_entries: int) -> Floats | float:
    """The joint posterior of variables that are not observed, one axis each."""
    answer = _calibrated(network, _program(network, unknown, findings, max_entries), findings, max_entries)
    if not unknown:
        return 1.0
    if len(unknown) == 1:
        return answer.marginal(unknown[0])
    return answer.joint(unknown)


def _calibrated(network: BayesianNetwork, program: Program, findings: Findings, max_entries: int) -> Calibrated:
    answer = program.calibrate(findings.vectors)
    if answer.log_z == -math.inf:
        raise _impossible(network, findings, max_entries)
    return answer


def _impossible(network: BayesianNetwork, findings: Findings, max_entries: int) -> ImpossibleEvidence:
    program = _evidence_program(network, findings, max_entries)
    if program.plan.total_entries * len(findings.vectors) > CLASH_ENTRIES:
        return ImpossibleEvidence(findings.texts.values(), minimal=False)
    return clashing(findings, lambda some: program.calibrate(some.vectors).log_z > -math.inf)


def _explained(
    network: BayesianNetwork, at: Iterable[int], program: Program, findings: Findings, max_entries: int
) -> Explanation:
    """The most probable states by a program that has no other variables to sum out."""
    log_evidence = _calibrated(network, program, findings, max_entries).log_z
    states, log_top = program.mpe(findings.vectors)
    observed = findings.observed
    chosen = {network.names[v]: network.cpts[v].child.states[int(states[v])] for v in at if v not in observed}
    return Explanation(chosen, log_top - log_evidence)


# ---- new beliefs -----------------------------------------------------------------------------------------------------


def _read_beliefs(network: BayesianNetwork, beliefs: Given, findings: Findings) -> dict[int, Floats]:
    if not isinstance(beliefs, Mapping):
        raise DataError(f"beliefs must map variables to distributions over their states; got {beliefs!r}")
    wanted = {}
    for name, numbers in beliefs.items():
        v = network.dag.index(name)
        belief = numbers_by_state(network.cpts[v].child, numbers, "new belief")
        if abs(belief.sum() - 1) > 1e-6:
            raise DataError(f"the new belief of {name!r} must sum to 1; it sums to {belief.sum():g}")
        if v in findings.vectors:
            raise DataError(f"{name!r} is given; a new belief about it would contradict that: leave one of them out")
        wanted[v] = belief / belief.sum()
    return wanted


def _fitted(
    network: BayesianNetwork, wanted: dict[int, Floats], findings: Findings, max_entries: int
) -> dict[int, Floats]:
    """Likelihoods with which each variable has the wanted posterior.

    For one variable it is the ratio of new and old belief. For several, each in turn is multiplied by that ratio until
    all agree: iterative proportional fitting (Deming and Stephan 1940), whose limit is the distribution nearest to the
    old one (in relative entropy) with these marginals.
    """
    program = compile_network(network, max_entries=max_entries)
    vectors = {v: np.ones(belief.size) for v, belief in wanted.items()}
    gap = 0.0
    for _ in range(MOST_ROUNDS):
        gap = 0.0
        for v, belief in wanted.items():
            answer = _calibrated(
                network, program, Findings({**findings.vectors, **vectors}, findings.texts), max_entries
            )
            current = answer.marginal(v)
            _refuse_lost_states(network, v, belief, current)
            gap = max(gap, float(np.abs(current - belief).max()))
            ratio = np.divide(belief, current, out=np.zeros_like(belief), where=current > 0)
            vectors[v] = vectors[v] * ratio / (vectors[v] * ratio).max()
        if gap <= BELIEF_TOLERANCE:
            return vectors
    names = [network.names[v] for v in wanted]
    raise DataError(
        f"the new beliefs about {names} contradict each other or nearly so: after {MOST_ROUNDS:,} rounds one of them "
        f"is still off by {gap:.2g}; give beliefs that can hold together"
    )


def _refuse_lost_states(network: BayesianNetwork, v: int, belief: Floats, current: Floats) -> None:
    lost = (belief > 0) & ~(current > 0)
    if lost.any():
        variable = network.cpts[v].child
        state = variable.states[int(np.argmax(lost))]
        raise DataError(
            f"the new belief gives {variable.name}={state!r} a probability of {belief[lost][0]:g}, but it has none "
            "given the evidence and the other beliefs; no evidence can make it possible"
        )

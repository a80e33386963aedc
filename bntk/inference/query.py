"""Queries about one evidence set, by name: posteriors, probabilities, explanations, new beliefs, and their cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from bntk.errors import DataError, ImpossibleEvidence
from bntk.graph.separation import bayes_ball
from bntk.inference import choose
from bntk.inference.approximate.answers import Approximation, approximate_engine
from bntk.inference.choose import EXACT, EngineChoice, Options
from bntk.inference.engines import Engine, Evidence, Floats, Posterior
from bntk.inference.evidence import Findings, Given, clashing, numbers_by_state, read_findings
from bntk.inference.exact.program import Program, compile_network
from bntk.inference.plan import Plan
from bntk.inference.results import ApproximateMarginals, Distribution, Explanation, Marginals
from bntk.network import BayesianNetwork

#: Jeffrey's rule for several variables stops when no belief is off by more, or gives up after so many rounds.
BELIEF_TOLERANCE, MOST_ROUNDS = 1e-12, 1000

Names = str | Sequence[str]


def query(
    network: BayesianNetwork,
    targets: Names,
    given: Given | None = None,
    soft: Given | None = None,
    options: Options = EXACT,
) -> Distribution:
    """The joint posterior of the targets; see :meth:`bntk.BayesianNetwork.query`."""
    question = Question(network, read_findings(network, given, soft), options)
    return question.distribution(positions(network, targets))


def marginals(
    network: BayesianNetwork, given: Given | None = None, soft: Given | None = None, options: Options = EXACT
) -> Marginals:
    """The posterior of every unobserved variable; see :meth:`bntk.BayesianNetwork.marginals`."""
    question = Question(network, read_findings(network, given, soft), options)
    answer = question.posterior()
    findings = question.findings
    unknown = [v for v in range(len(network.cpts)) if v not in findings.observed]
    found = {
        network.names[v]: Distribution([network.cpts[v].child], answer.marginal(v), findings.text) for v in unknown
    }
    report = question.report(answer, unknown)
    if not isinstance(answer, Approximation):
        return Marginals(found, answer.log_z, "exact", report)
    errors = answer.standard_errors(unknown)
    return ApproximateMarginals(
        found,
        answer.log_z,
        engine="loopy" if options.engine == "auto" else options.engine,
        settings=options.settings,
        report=report,
        standard_errors=None if errors is None else dict(zip(found, errors, strict=True)),
        converged=answer.converged,
    )


def log_probability(
    network: BayesianNetwork, given: Given | None = None, soft: Given | None = None, options: Options = EXACT
) -> float:
    """log P(given); see :meth:`bntk.BayesianNetwork.log_probability`."""
    choose.require(options, choose.KNOW_PROBABILITY, "probability of the evidence")
    try:
        findings = read_findings(network, given, soft)
        return Question(network, findings, options).calibrate(()).log_z if findings.vectors else 0.0
    except ImpossibleEvidence:  # two findings about one variable, or no row that could be drawn
        return -math.inf


def mpe(
    network: BayesianNetwork, given: Given | None = None, soft: Given | None = None, options: Options = EXACT
) -> Explanation:
    """The most probable state of all unobserved variables together; see :meth:`bntk.BayesianNetwork.mpe`."""
    choose.require(options, choose.FIND_EXPLANATION, "most probable explanation")
    question = Question(network, read_findings(network, given, soft), options)
    return question.explanation(range(len(network.cpts)), question.engine(question.program))


def marginal_map(
    network: BayesianNetwork,
    targets: Names,
    given: Given | None = None,
    soft: Given | None = None,
    options: Options = EXACT,
) -> Explanation:
    """The most probable joint state of the targets, all else summed out; see :meth:`bntk.BayesianNetwork.map`."""
    at = positions(network, targets)
    question = Question(network, read_findings(network, given, soft), options)
    findings = question.findings
    relevant = bayes_ball(network.dag, [*at, *findings.vectors], set())[0]
    if relevant <= {*at, *findings.observed} and options.engine in choose.FIND_EXPLANATION:
        # Nothing to sum out but variables that sum to one: the most probable explanation of what is left.
        engine = question.engine(lambda: compile_network(network, targets=sorted(relevant), max_entries=math.inf))
        if isinstance(engine, Program) or len(relevant) == len(network.cpts):
            return question.explanation(at, engine)
    open_ones = [v for v in at if v not in findings.observed]
    choose.refuse_map(math.prod(network.cpts[v].child.n_states for v in open_ones), len(at))
    joint = question.distribution(at)
    best = joint.mode()
    states = {network.names[v]: best[network.names[v]] for v in open_ones}
    return Explanation(states, math.log(joint.probability(best)))


def jeffrey(
    network: BayesianNetwork,
    targets: Names,
    beliefs: Given,
    given: Given | None = None,
    options: Options = EXACT,
) -> Distribution:
    """The targets after beliefs about other variables changed; see :meth:`bntk.BayesianNetwork.jeffrey`."""
    at, findings = positions(network, targets), read_findings(network, given)
    wanted = _read_beliefs(network, beliefs, findings)
    texts = {v: f"{network.names[v]} := [{', '.join(f'{x:.4g}' for x in q[:8])}]" for v, q in wanted.items()}
    told = findings.texts | texts
    question = Question(network, findings, options)
    if isinstance(question.engine(question.program), Program):
        vectors = _fitted(question, wanted)
        return Question(network, Findings({**findings.vectors, **vectors}, told), options).distribution(at)
    if len(wanted) > 1:
        choose.require(options, choose.FIT_BELIEFS, "posterior for several new beliefs at the same time")
    # Jeffrey's rule as it is written: sum over x of P(targets | x, given) q(x).
    total = np.zeros([network.cpts[v].child.n_states for v in at])
    for v, belief in wanted.items():
        for state in np.flatnonzero(belief):
            case = Findings({**findings.vectors, v: np.eye(belief.size)[state]}, told)
            total += belief[state] * Question(network, case, options).distribution(at).values
    return Distribution([network.cpts[v].child for v in at], total, ", ".join(told.values()), options.engine)


def plan(
    network: BayesianNetwork,
    targets: Names | None = None,
    given: Given | Iterable[str] | None = None,
    options: Options = EXACT,
) -> Plan:
    """What a query will cost; see :meth:`bntk.BayesianNetwork.plan`."""
    if given is not None and not isinstance(given, Mapping):
        names = [given] if isinstance(given, str) else list(given)
        given = {name: network.variable(name).states[0] for name in names}
    question = Question(network, read_findings(network, given), options)
    at = None if targets is None else positions(network, targets)
    found = question.plan(question.program(at))
    choice = choose.exact_or_loopy(found.total_entries, found.open_entries, options.max_entries)
    rows = f"elimination of missing values row by row; where that costs more, {choose.rows_engine(found.total_entries)}"
    if choice.engine == "exact":
        return replace(found, rows=rows)
    return replace(
        found,
        engine=choice.engine,
        reason=f'{choice.reason}, so that exact inference is refused; engine="auto" takes loopy belief propagation',
        rows="as for one evidence set, unless elimination of missing values row by row is cheap enough",
    )


def positions(network: BayesianNetwork, targets: Names) -> tuple[int, ...]:
    """The positions of one or several targets, each named once."""
    names = [targets] if isinstance(targets, str) else list(targets)
    at = tuple(network.dag.index(name) for name in names)
    if not at:
        raise DataError("no target is named; give the name of a variable, or several")
    if len(set(at)) < len(at):
        raise DataError(f"a target is named twice in {names}")
    return at


def whole_entries(network: BayesianNetwork) -> int:
    """Clique entries of the program of the whole network."""
    return compile_network(network, max_entries=math.inf).plan.total_entries


# ---- one evidence set ------------------------------------------------------------------------------------------------


class Question:
    """Findings about a network, and how queries given them are to be answered. Variables are positions."""

    def __init__(self, network: BayesianNetwork, findings: Findings, options: Options = EXACT) -> None:
        self.network, self.findings, self.options = network, findings, options

    # ---- answers ---------------------------------------------------------------------------------------------

    def distribution(self, at: Sequence[int]) -> Distribution:
        """The joint posterior of some variables; one that is observed has all of its mass on that state."""
        observed = self.findings.observed
        variables = [self.network.cpts[v].child for v in at]
        unknown = [v for v in at if v not in observed]
        answer = self.posterior(unknown)
        report = self.report(answer, unknown)
        table = answer.marginal(unknown[0]) if len(unknown) == 1 else answer.joint(unknown) if unknown else 1.0
        if len(unknown) == len(at):
            return Distribution(variables, table, self.findings.text, report)
        values = np.zeros([variable.n_states for variable in variables])
        values[tuple(observed.get(v, slice(None)) for v in at)] = table
        return Distribution(variables, values, self.findings.text, report)

    def explanation(self, at: Iterable[int], engine: Engine | Program) -> Explanation:
        """The most probable states by an engine that has no other variables to sum out."""
        log_evidence = self._possible(self._calibrated(engine)).log_z
        likelihood = self.findings.vectors
        if isinstance(engine, Program):
            states, log_top = engine.mpe(likelihood, self.options.max_entries)
        else:
            states, log_top = engine.mpe(Evidence.of(likelihood, len(self.network.cpts)))
        children = {v: self.network.cpts[v].child for v in at if v not in self.findings.observed}
        chosen = {child.name: child.states[int(states[v])] for v, child in children.items()}
        return Explanation(chosen, log_top - log_evidence)

    def posterior(self, at: Sequence[int] | None = None) -> Posterior:
        """What the engine finds about some variables together, or about each one; the findings must be possible."""
        return self._possible(self.calibrate(at))

    def calibrate(self, at: Sequence[int] | None = None) -> Posterior:
        """As :meth:`posterior`, with a ``log_z`` of -inf when the findings are impossible."""
        return self._calibrated(self.engine(lambda: self.program(at)))

    def _calibrated(self, engine: Engine | Program) -> Posterior:
        if isinstance(engine, Program):
            return engine.calibrate(self.findings.vectors, self.options.max_entries)
        return engine.calibrate(Evidence.of(self.findings.vectors, len(self.network.cpts)))

    def _possible(self, answer: Posterior) -> Posterior:
        if answer.log_z == -math.inf:
            raise self._impossible()
        return answer

    def _impossible(self) -> ImpossibleEvidence:
        program = self._evidence_program()
        if not choose.explains_clash(program.plan.total_entries, len(self.findings.vectors)):
            return ImpossibleEvidence(self.findings.texts.values(), minimal=False)
        return clashing(self.findings, lambda some: program.calibrate(some.vectors).log_z > -math.inf)

    def report(self, answer: Posterior, at: Sequence[int]) -> str:
        """How an answer was found."""
        text = answer.report(at) if isinstance(answer, Approximation) else "exact"
        return f"{self._choice}; {text}" if self.options.engine == "auto" else text

    # ---- engines ---------------------------------------------------------------------------------------------

    def engine(self, program: Callable[[], Program]) -> Engine | Program:
        """What answers: the program that exact inference would run, or an engine that approximates."""
        if self.options.engine == "exact":
            return program()
        if self.options.engine == "auto":
            found = self.plan(program())
            limit = self.options.max_entries
            self._choice = choose.exact_or_loopy(found.total_entries, found.open_entries, limit)
            if self._choice.engine == "exact":
                return program()
        return approximate_engine(self.network, self.options)

    _choice: EngineChoice

    def plan(self, program: Program) -> Plan:
        """What running a program given the findings takes."""
        return program.plan_given(self.findings.observed, self.options.max_entries)

    def program(self, at: Sequence[int] | None = None) -> Program:
        """A program in which the variables that are not observed share a clique; of all variables, without any."""
        network, observed = self.network, self.findings.observed
        if at is None:
            return compile_network(network, max_entries=math.inf)
        unknown = tuple(v for v in at if v not in observed)
        if not unknown:
            return self._evidence_program()
        # Uncertain evidence is a table that one more child would have: the tables of its variable are needed as well.
        needed = sorted({*unknown, *(v for v in self.findings.vectors if v not in observed)})

        def part() -> float:
            return len(bayes_ball(network.dag, needed, set(observed))[0]) / len(network.cpts)

        whole = compile_network(network, max_entries=math.inf)
        if choose.whole_network_serves(whole.plan.total_entries, part) and whole.tree.smallest_clique(unknown) >= 0:
            return whole
        return compile_network(
            network, targets=needed, evidence=sorted(observed), must_share=[unknown], max_entries=math.inf
        )

    def _evidence_program(self) -> Program:
        """A program that gives the probability of the findings: without the variables that sum to one."""
        serves = choose.whole_network_serves(whole_entries(self.network))
        targets = None if serves else sorted(self.findings.vectors)
        return compile_network(self.network, targets=targets, max_entries=math.inf)


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


def _fitted(question: Question, wanted: dict[int, Floats]) -> dict[int, Floats]:
    """Likelihoods with which each variable has the wanted posterior.

    For one variable it is the ratio of new and old belief. For several, each in turn is multiplied by that ratio until
    all agree: iterative proportional fitting (Deming and Stephan 1940), whose limit is the distribution nearest to the
    old one (in relative entropy) with these marginals.
    """
    network, findings = question.network, question.findings
    vectors = {v: np.ones(belief.size) for v, belief in wanted.items()}
    gap = 0.0
    for _ in range(MOST_ROUNDS):
        gap = 0.0
        for v, belief in wanted.items():
            present = Findings({**findings.vectors, **vectors}, findings.texts)
            current = Question(network, present, question.options).posterior().marginal(v)
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

"""Queries about one evidence set, by name: posteriors, probabilities, explanations, new beliefs, and their cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar, overload

import numpy as np

from bntk import _checking
from bntk._memory import says_what_to_do
from bntk.errors import DataError, ImpossibleEvidence
from bntk.graph.separation import bayes_ball
from bntk.inference import choose
from bntk.inference.approximate.answers import APPROXIMATIONS, Sampled, approximate_engine
from bntk.inference.choose import EXACT, EngineChoice, Options
from bntk.inference.engines import Engine, Evidence, Floats, Posterior
from bntk.inference.evidence import Findings, Given, clashing, numbers_by_state, read_findings
from bntk.inference.exact.program import Program, compile_network, whole_entries
from bntk.inference.exact.questions import AllSummedOut, SummedOut, questions_of
from bntk.inference.plan import Plan
from bntk.inference.results import Distribution, Explanation, Marginals
from bntk.inference.support import is_possible
from bntk.network import BayesianNetwork

#: Jeffrey's rule for several variables stops when no belief is off by more, or gives up after so many rounds.
BELIEF_TOLERANCE, MOST_ROUNDS = 1e-12, 1000

#: How tables of rows are answered, whatever the engine of one evidence set is.
ROWS = "elimination of missing values row by row; where that costs more, "

Names = str | Sequence[str]
Summed = TypeVar("Summed", SummedOut, AllSummedOut)


class ConditionedNetwork:
    """A network given findings, and how queries about it are answered.

    Parameters
    ----------
    network : BayesianNetwork
    given, soft : mapping, optional
        As users give them; ``given`` may also be findings that were read before.
    options : Options
    """

    def __init__(
        self,
        network: BayesianNetwork,
        given: Given | Findings | None = None,
        soft: Given | None = None,
        options: Options = EXACT,
    ) -> None:
        self.network, self.options = network, options
        self._given, self._soft = given, soft
        self._findings: Findings | None = None

    @property
    def findings(self) -> Findings:
        """What was given, by position."""
        if self._findings is None:  # a cached property would take a lock
            self._findings = read_findings(self.network, self._given, self._soft)
        return self._findings

    def with_findings(self, findings: Findings) -> ConditionedNetwork:
        """The same network and options with other findings."""
        return ConditionedNetwork(self.network, findings, None, self.options)

    # ---- by name: see the methods of BayesianNetwork ---------------------------------------------------------

    @says_what_to_do(choose.LESS_MEMORY)
    def query(self, targets: Names) -> Distribution:
        """The joint posterior of the targets."""
        return self.distribution(positions(self.network, targets))

    @says_what_to_do(choose.LESS_MEMORY)
    def marginals(self) -> Marginals:
        """The posterior of every unobserved variable."""
        answer = self.posteriors()
        cpts, names, text = self.network.cpts, self.network.names, self.findings.text
        unknown = self.network.dag._positions.copy()
        for v in self.findings.observed:
            del unknown[names[v]]
        report = self.report(answer, [*unknown.values()])
        if not isinstance(answer, APPROXIMATIONS):
            if isinstance(answer, AllSummedOut):
                children = questions_of(self.network).children
                build = Distribution._builder(children, answer.values, answer.spans, text)
            else:
                read = partial(_read_only, answer.marginal)
                for v in [*unknown.values()][:1]:
                    read(v)  # which computes all of them; what is left is to label them

                def build(v: int) -> Distribution:
                    return Distribution._trusted((cpts[v].child,), read(v), text)

            return Marginals(unknown, answer.log_z, "exact", report, build=build)
        found = {name: Distribution([cpts[v].child], answer.marginal(v), text) for name, v in unknown.items()}
        errors = answer.standard_errors([*unknown.values()])
        return Marginals(
            found,
            answer.log_z,
            "loopy" if self.options.engine == "auto" else self.options.engine,
            report,
            settings=self.options.settings,
            standard_errors=None if errors is None else dict(zip(found, errors, strict=True)),
            converged=answer.converged,
        )

    @says_what_to_do(choose.LESS_MEMORY)
    def log_probability(self) -> float:
        """log P(given)."""
        choose.require(self.options, choose.KNOW_PROBABILITY, "probability of the evidence")
        try:
            if not self.findings.found:
                return 0.0
            summed = self.summed_out(())
            if summed is not None:
                return summed.log_z
            engine = self.engine(partial(self.program, ()))
            answer = self._calibrated(engine)
            return answer.log_z if self._is_possible(answer, engine) else -math.inf
        except ImpossibleEvidence:  # two findings about one variable, or no row that could be drawn
            return -math.inf

    @says_what_to_do(choose.LESS_MEMORY)
    def mpe(self) -> Explanation:
        """The most probable state of all unobserved variables together."""
        choose.require(self.options, choose.FIND_EXPLANATION, "most probable explanation")
        return self.explanation(range(len(self.network.cpts)), self.engine(self.program))

    @says_what_to_do(choose.LESS_MEMORY)
    def map(self, targets: Names) -> Explanation:
        """The most probable joint state of the targets, all else summed out."""
        network, findings = self.network, self.findings
        at = positions(network, targets)
        relevant = bayes_ball(network.dag, [*at, *findings.vectors], set())[0]
        if relevant <= {*at, *findings.observed} and self.options.engine in choose.FIND_EXPLANATION:
            # Nothing to sum out but variables that sum to one: the most probable explanation of what is left.
            engine = self.engine(lambda: compile_network(network, targets=sorted(relevant), max_entries=math.inf))
            if isinstance(engine, Program) or len(relevant) == len(network.cpts):
                return self.explanation(at, engine)
        open_ones = [v for v in at if v not in findings.observed]
        choose.refuse_map(math.prod(network.cpts[v].child.n_states for v in open_ones), len(at))
        joint = self.distribution(at)
        best = joint.mode()
        states = {network.names[v]: best[network.names[v]] for v in open_ones}
        return Explanation(states, math.log(joint.probability(best)))

    @says_what_to_do(choose.LESS_MEMORY)
    def jeffrey(self, targets: Names, beliefs: Given) -> Distribution:
        """The targets after beliefs about other variables changed."""
        network, findings = self.network, self.findings
        at = positions(network, targets)
        wanted = _read_beliefs(network, beliefs, findings)
        texts = {v: f"{network.names[v]} := [{', '.join(f'{x:.4g}' for x in q[:8])}]" for v, q in wanted.items()}
        told = findings.texts | texts
        if isinstance(self.engine(self.program), Program):
            likelihoods = _fitted(self, wanted, told)
            return self.with_findings(Findings({**findings.vectors, **likelihoods}, told)).distribution(at)
        if len(wanted) > 1:
            choose.require(self.options, choose.FIT_BELIEFS, "posterior for several new beliefs at the same time")
        # Jeffrey's rule as it is written: sum over x of P(targets | x, given) q(x).
        total = np.zeros([network.cpts[v].child.n_states for v in at])
        for v, belief in wanted.items():
            for state in np.flatnonzero(belief):
                case = Findings({**findings.vectors, v: np.eye(1, belief.size, int(state))[0]}, told)
                total += belief[state] * self.with_findings(case).distribution(at).values
        return Distribution([network.cpts[v].child for v in at], total, ", ".join(told.values()), self.options.engine)

    def plan(self, targets: Names | None) -> Plan:
        """What a query will cost, and which engine runs it."""
        at = None if targets is None else positions(self.network, targets)
        summed, limit = self._plan_of_summing_out(at), self.options.max_entries
        if summed is not None and at is not None:
            return replace(summed, rows=f"{ROWS}{choose.rows_engine(summed.total_entries)}")
        found = self._plan(self.program(at))
        choice = choose.exact_or_loopy(found.total_entries, found.open_entries, limit)
        rest = choose.rows_engine(found.total_entries)
        if choice.engine != "exact":
            rest = choice
            refused = f'{choice.reason}, so that exact inference is refused; engine="auto" takes loopy propagation'
            found = replace(found, engine=choice.engine, reason=refused)
        elif summed is not None:  # all posteriors; the tree is for explanations and rows
            found = replace(found, engine=summed.engine, reason=summed.reason)
        return replace(found, rows=f"{ROWS}{rest}")

    # ---- by position -----------------------------------------------------------------------------------------

    def distribution(self, at: Sequence[int]) -> Distribution:
        """The joint posterior of some variables; one that is observed has all of its mass on that state."""
        observed = self.findings.observed
        variables = [self.network.cpts[v].child for v in at]
        unknown = [v for v in at if v not in observed]
        answer = self.posterior(unknown)
        report = self.report(answer, unknown)
        table = answer.marginal(unknown[0]) if len(unknown) == 1 else answer.joint(unknown) if unknown else 1.0
        if len(unknown) == len(at):
            values = np.asarray(table, dtype=float)
            values.setflags(write=False)
            return Distribution._trusted(tuple(variables), values, self.findings.text, report)
        values = np.zeros([variable.n_states for variable in variables])
        values[tuple(observed.get(v, slice(None)) for v in at)] = table
        return Distribution(variables, values, self.findings.text, report)

    def explanation(self, at: Iterable[int], engine: Engine) -> Explanation:
        """The most probable states by an engine that has no other variables to sum out."""
        log_evidence = self._possible(engine).log_z
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
        summed = None if at is None else self.summed_out(at)
        if summed is not None:
            return self._refused_if_impossible(summed)
        return self._possible(self.engine(partial(self.program, at)))

    def posteriors(self) -> Posterior | AllSummedOut:
        """What the engine finds about each variable; the findings must be possible."""
        summed = self.summed_out(None)
        return self.posterior() if summed is None else self._refused_if_impossible(summed)

    def _refused_if_impossible(self, summed: Summed) -> Summed:
        if summed.log_z == -math.inf:
            raise self._impossible()
        return summed

    def calibrate(self, at: Sequence[int] | None = None) -> Posterior:
        """As :meth:`posterior`, with a ``log_z`` of -inf when the findings are impossible, and by a junction tree."""
        return self._calibrated(self.engine(partial(self.program, at)))

    def _calibrated(self, engine: Engine) -> Posterior:
        if isinstance(engine, Program):
            return engine.calibrate(self.findings.evidence(len(self.network.cpts)), self.options.max_entries)
        return engine.calibrate(Evidence.of(self.findings.vectors, len(self.network.cpts)))

    def _possible(self, engine: Engine) -> Posterior:
        answer = self._calibrated(engine)
        if not self._is_possible(answer, engine):
            raise self._impossible()
        return answer

    def _is_possible(self, answer: Posterior, engine: Engine) -> bool:
        """Whether the findings are possible, those that the answer does not depend on as well."""
        if answer.log_z == -math.inf:
            return False
        if isinstance(answer, Sampled):  # of which every row is possible
            return True
        known = engine.families if isinstance(engine, Program) else frozenset[int]()
        found = is_possible(self.network, self.findings, known)
        self._unchecked = found is None
        return found is not False

    def _impossible(self) -> ImpossibleEvidence:
        program = self._evidence_program()
        if not choose.explains_clash(program.plan.total_entries, len(self.findings.vectors)):
            return ImpossibleEvidence(self.findings.texts.values(), minimal=False)
        return clashing(self.findings, lambda some: program.calibrate(some.vectors).log_z > -math.inf)

    def report(self, answer: Posterior | AllSummedOut, at: Sequence[int]) -> str:
        """How an answer was found."""
        text = answer.report(at) if isinstance(answer, APPROXIMATIONS) else "exact"
        if self._unchecked:
            text += "; not checked: whether the findings are possible together, which would take longer"
        return f"{self._choice}; {text}" if self.options.engine == "auto" else text

    # ---- engines ---------------------------------------------------------------------------------------------

    @overload
    def summed_out(self, at: Sequence[int]) -> SummedOut | None: ...
    @overload
    def summed_out(self, at: None) -> AllSummedOut | None: ...
    def summed_out(self, at: Sequence[int] | None) -> SummedOut | AllSummedOut | None:
        """The answer without a junction tree: of unobserved targets, of all variables, or of the findings alone.

        None where one is better, or an approximation is asked for.
        """
        if not self._sums_out:
            return None
        limit = choose.question_entries(None if at is None else len(at), self.options.max_entries)
        found = questions_of(self.network).ask(at, self.findings.evidence(len(self.network.cpts)), limit)
        if found is not None and self.options.engine == "auto":
            self._choice = choose.exact_or_loopy(found.entries, found.entries, self.options.max_entries)
        return found

    def _plan_of_summing_out(self, at: Sequence[int] | None) -> Plan | None:
        if not self._sums_out:
            return None
        limit = choose.question_entries(None if at is None else len(at), self.options.max_entries)
        open_ones = None if at is None else [v for v in at if v not in self.findings.observed]
        return questions_of(self.network).plan(
            open_ones, self.findings.evidence(len(self.network.cpts)).observed, limit
        )

    @property
    def _sums_out(self) -> bool:
        """Whether a question is answered without a junction tree, if that does not take too long."""
        if self.options.engine not in ("exact", "auto"):
            return False
        if not choose.may_be_for_numpy(len(self.network.cpts)):
            return True
        cache, key = self.network._cache, "for_numpy_alone" if choose.is_alone() else "for_numpy"
        if key not in cache:
            whole = compile_network(self.network, max_entries=math.inf)
            cache[key] = choose.exact_engine(whole.tree).engine == "numpy"
        return not cache[key]

    def engine(self, program: Callable[[], Program]) -> Engine:
        """What answers: the program that exact inference would run, or an engine that approximates."""
        if self.options.engine == "exact":
            return program()
        if self.options.engine == "auto":
            found = self._plan(program())
            limit = self.options.max_entries
            self._choice = choose.exact_or_loopy(found.total_entries, found.open_entries, limit)
            if self._choice.engine == "exact":
                return program()
        return approximate_engine(self.network, self.options)

    _choice: EngineChoice
    _unchecked = False

    def _plan(self, program: Program) -> Plan:
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

        if choose.whole_network_serves(whole_entries(network), self.options.max_entries, part):
            whole = compile_network(network, max_entries=math.inf)
            if whole.tree.smallest_clique(unknown) >= 0:
                return whole
        return compile_network(
            network, targets=needed, evidence=sorted(observed), must_share=[unknown], max_entries=math.inf
        )

    def _evidence_program(self) -> Program:
        """A program that gives the probability of the findings: without the variables that sum to one."""
        serves = choose.whole_network_serves(whole_entries(self.network), self.options.max_entries)
        targets = None if serves else sorted(self.findings.vectors)
        return compile_network(self.network, targets=targets, max_entries=math.inf)


def _read_only(read: Callable[[int], Floats], variable: int) -> Floats:
    """The posterior of a variable, which nobody can change."""
    values = read(variable)
    values.setflags(write=False)
    return values


def positions(network: BayesianNetwork, targets: Names) -> tuple[int, ...]:
    """The positions of one or several targets, each named once."""
    if isinstance(targets, (bytes, Mapping)):
        raise _checking.wrong("targets", "the name of a variable, or several", targets, DataError)
    names = _checking.names("targets", targets, "names of variables", DataError)
    at = tuple(network.dag.index(name) for name in names)
    if not at:
        raise DataError("no target is named; give the name of a variable, or several")
    if len(set(at)) < len(at):
        raise DataError(f"a target is named twice in {names}")
    return at


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


def _fitted(conditioned: ConditionedNetwork, wanted: dict[int, Floats], texts: dict[int, str]) -> dict[int, Floats]:
    """Likelihoods with which each variable has the wanted posterior.

    For one variable it is the ratio of new and old belief. For several, each in turn is multiplied by that ratio until
    all agree: iterative proportional fitting (Deming and Stephan 1940), whose limit is the distribution nearest to the
    old one (in relative entropy) with these marginals.
    """
    network, findings = conditioned.network, conditioned.findings
    logs = {v: np.zeros(belief.size) for v, belief in wanted.items()}  # of likelihoods, whose ratios may be any
    vectors = {v: np.ones(belief.size) for v, belief in wanted.items()}
    gap = 0.0
    for _ in range(MOST_ROUNDS):
        gap = 0.0
        for v, belief in wanted.items():
            present = Findings({**findings.vectors, **vectors}, texts)
            current = conditioned.with_findings(present).distribution([v]).values
            _refuse_lost_states(network, v, belief, current)
            gap = max(gap, float(np.abs(current - belief).max()))
            with np.errstate(divide="ignore"):
                logs[v] = np.where(current > 0, logs[v] + np.log(belief) - np.log(np.maximum(current, 5e-324)), -np.inf)
            logs[v] -= logs[v].max()
            vectors[v] = np.exp(logs[v])
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

r"""Counterfactuals in a network whose tables are all known: what would have been, given what was.

A twin network (Balke and Pearl 1994) has the world as it was, and beside it, for each variable that is affected by the
intervention, what it would have been. Both worlds share the noise of each table. A table says how probable each state
is for each parent configuration, but not how the states for two configurations go together: that is its coupling.

- ``"monotone"``: one uniform number :math:`u` for each variable; the state is the first k, in the order of the states,
  with :math:`F(k \mid \mathrm{pa}) \ge u`. So
  :math:`P(v, v^* \mid \mathrm{pa}, \mathrm{pa}^*)` is the length of the intersection of the two intervals of :math:`u`.
- ``"independent"``: for each parent configuration the state is drawn by itself, which is the coupling of the largest
  entropy: :math:`P(v \mid \mathrm{pa})\, P(v^* \mid \mathrm{pa}^*)` for different configurations, the same state for
  the same.

Bounds are over all couplings, independent for different variables: over all distributions of the response functions
:math:`r` from parent configurations to states with :math:`\sum_{r:\, r(j) = k} q_r = \theta_{jk}`. The probability of
the evidence does not depend on the coupling, and the joint probability is linear in the distribution of each variable.
So its bounds are at vertices for all but one variable, and found by linear programming for that one.

References
----------
A. Balke and J. Pearl (1994). Probabilistic evaluation of counterfactual queries. AAAI 12, 230-237.

J. Tian and J. Pearl (2000). Probabilities of causation: bounds and identification. Annals of Mathematics and Artificial
Intelligence 28, 287-313.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.causal.questions import Names, Question, read_question, read_states, refuse_large
from bntk.cpt import CPT, MAX_TABLE_ENTRIES
from bntk.data.variable import State, Variable, state_text
from bntk.errors import DataError, TooLargeError
from bntk.graph.dag import DAG
from bntk.inference.results import Distribution
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

COUPLINGS = ("monotone", "independent")
#: Response functions of a variable, and choices of columns among which the vertices of its couplings are looked for.
MOST_RESPONSES, MOST_BASES = 4_096, 50_000
#: Linear programs for the bounds of one question.
MOST_PROGRAMS = 2_000
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """What an outcome would have been.

    Attributes
    ----------
    distribution : Distribution
        Under the coupling that was chosen.
    coupling : str
    lower, upper : ndarray or None
        The bounds of each probability over all couplings, with the shape of the distribution's values.
    coupled : tuple of str
        The variables on whose coupling the answer may depend.
    """

    distribution: Distribution
    coupling: str
    coupled: tuple[str, ...]
    lower: Floats | None = None
    upper: Floats | None = None

    def __getitem__(self, state: State) -> float:
        """The probability of a state of the outcome."""
        return self.distribution[state]

    @property
    def identified(self) -> bool:
        """Whether the answer is the same for all couplings."""
        if not self.coupled:
            return True
        lower, upper = self._bounds()
        return bool(np.allclose(lower, upper, rtol=0, atol=1e-7))

    def bounds(self, state: State) -> tuple[float, float]:
        """The bounds of the probability of a state, over all couplings."""
        lower, upper = self._bounds()
        variables = self.distribution.variables
        states = (state,) if len(variables) == 1 else state
        at = tuple(variable.code(one) for variable, one in zip(variables, states, strict=True))  # type: ignore[call-overload]
        return float(lower[at]), float(upper[at])

    def _bounds(self) -> tuple[Floats, Floats]:
        if self.lower is None or self.upper is None:
            raise DataError("there are no bounds: ask with bounds=True")
        return self.lower, self.upper

    def to_frame(self) -> pd.DataFrame:
        """One row per state of the outcome: its probability and, where they were asked for, the bounds."""
        frame = self.distribution.to_frame()
        if self.lower is not None and self.upper is not None:
            frame["lower"], frame["upper"] = self.lower.ravel(), self.upper.ravel()
        return frame

    def _remark(self) -> str:
        if not self.coupled:
            return "the same for all couplings of the tables"
        remark = f"coupling: {self.coupling}, of {', '.join(self.coupled)}"
        return remark if self.lower is None else f"{remark}; lower and upper: over all couplings"

    def __repr__(self) -> str:
        return f"{self.distribution.heading}\n{self.to_frame().round(4).to_string(index=False)}\n{self._remark()}"

    def _repr_html_(self) -> str:
        table = self.to_frame().round(4).to_html(index=False)
        return f"<p>{escape(self.distribution.heading)}</p>{table}<p>{escape(self._remark())}</p>"


def counterfactual(
    network: BayesianNetwork,
    y: Names,
    do: Mapping[str, Any],
    given: Mapping[str, Any] | None = None,
    *,
    coupling: str = "monotone",
    bounds: bool = False,
) -> Counterfactual:
    """What would have been; see :meth:`bntk.BayesianNetwork.counterfactual`."""
    _checking.one_of("coupling", coupling, COUPLINGS)
    question = _question(network, y, do, given)
    twin = _Twin(network, question)
    network.probability(question.given)  # says which findings clash, if they do
    found = twin.with_coupling(coupling).query(twin.outcomes, question.given)
    done = ", ".join(f"{name}={_shown(state)}" for name, state in question.settings[0].items())
    seen = ", ".join(f"{name}={_shown(state)}" for name, state in question.given.items())
    heading = f"do({done})" + (f"; observed {seen}" if seen else "")
    distribution = Distribution(question.outcome, found.values, heading, found.report)
    if not _checking.flag("bounds", bounds):
        return Counterfactual(distribution, coupling, twin.coupled)
    if not twin.coupled:
        return Counterfactual(distribution, coupling, (), distribution.values, distribution.values)
    lower, upper = _bounds(twin)
    return Counterfactual(distribution, coupling, twin.coupled, lower, upper)


def _shown(state: State) -> str:
    return repr(state_text(state)) if isinstance(state, str) else str(state)


def _question(network: BayesianNetwork, y: Names, do: Any, given: Any) -> Question:
    """The question; what is set, and the outcome, may have been observed, and perhaps to be different."""
    variables = dict(zip(network.names, network.variables, strict=True))
    question = read_question(variables, y, do)
    if len(question.settings) > 1 or not isinstance(do, Mapping):
        raise DataError("do must say what each variable would have been set to: {variable: state}")
    return Question(
        question.outcome, question.settings, None, read_states(variables, {} if given is None else given, "given"), ()
    )


# ---- the twin network ------------------------------------------------------------------------------------------


class _Twin:
    """The two worlds of a question.

    Attributes
    ----------
    affected : list of str
        The variables with a twin: effects of what is set, that lead to the outcome.
    coupled : tuple of str
        Those of them on whose coupling the answer may depend: their factual state, or one of its effects, is observed.
    outcomes : list of str
        The outcomes in the twin network.
    """

    def __init__(self, network: BayesianNetwork, question: Question) -> None:
        self.network, self.question = network, question
        dag, done = network.dag, question.settings[0]
        names = [variable.name for variable in question.outcome]
        cut = dag.do(*done)
        below, above = set(cut.descendants(list(done))), {*cut.ancestors(names), *names}
        self.affected = [name for name in dag.topological_order if name in below and name in above]
        self._twins = _fresh_names(self.affected, dag.nodes)
        self.outcomes = [self._twins.get(name, name) for name in names]
        observed = list(question.given)
        telling = {*dag.ancestors(observed), *observed} if observed else set()
        same = all(question.given.get(name) == state for name, state in done.items())
        self.coupled = () if same else tuple(name for name in self.affected if name in telling)

    def with_coupling(self, coupling: str) -> BayesianNetwork:
        """The twin network of a coupling, in which what would have been depends on what was, and on both parents."""
        twins = []
        for name in self.affected:
            cpt = self.network.cpt(name)
            parents, shape = self._both_parents(cpt)
            if name not in self.coupled and not self._same_everywhere():
                twins.append(self._alone(cpt))
                continue
            cards = [parent.n_states for parent in parents]
            labels = [parent.name for parent in parents]
            refuse_large(
                [*labels, name], [*cards, *2 * [cpt.child.n_states]], f"the table of {name!r} in both worlds",
                "join states, or take out parents", MAX_TABLE_ENTRIES // 8,
            )  # fmt: skip
            first, second = (np.broadcast_to(rows, (*cards, cpt.child.n_states)) for rows in shape)
            equal = self._equal_parents(cpt, parents)
            joint = _coupled(first, second, equal, coupling)
            total = joint.sum(axis=-1, keepdims=True)
            even = 1 / cpt.child.n_states
            table = np.where(total > 0, joint / np.where(total > 0, total, 1), even)
            twins.append(CPT(self._twin(cpt.child), table, [*parents, cpt.child]))
        return _network([*self.network.cpts, *twins])

    def _same_everywhere(self) -> bool:
        done, given = self.question.settings[0], self.question.given
        return all(given.get(name) == state for name, state in done.items())

    def _twin(self, variable: Variable) -> Variable:
        return Variable(self._twins[variable.name], variable.states, ordered=variable.ordered)

    def _alone(self, cpt: CPT) -> CPT:
        """The twin's table where its coupling does not matter: that of the variable, with the parents of its world."""
        done = self.question.settings[0]
        left = [parent for parent in cpt.parents if parent.name not in done]
        parents = [self._twin(parent) if parent.name in self._twins else parent for parent in left]
        return CPT(self._twin(cpt.child), cpt.values[self._fixed(cpt)], parents)

    def _fixed(self, cpt: CPT) -> tuple[Any, ...]:
        """The part of a table that belongs to the states that are set."""
        done = self.question.settings[0]
        return tuple(p.code(done[p.name]) if p.name in done else slice(None) for p in cpt.parents)

    def _both_parents(self, cpt: CPT) -> tuple[list[Variable], tuple[Floats, Floats]]:
        """The parents in both worlds, each once, and the table of each world over all of them."""
        done = self.question.settings[0]
        parents = [*cpt.parents, *(self._twin(p) for p in cpt.parents if p.name in self._twins)]
        places = {parent.name: place for place, parent in enumerate(parents)}
        n = len(parents)
        first = cpt.values.reshape((*cpt.values.shape[:-1], *[1] * (n - len(cpt.parents)), cpt.child.n_states))
        second = cpt.values[self._fixed(cpt)]
        kept = [parent for parent in cpt.parents if parent.name not in done]
        axes = [places[self._twins.get(parent.name, parent.name)] for parent in kept]
        order = np.argsort(axes)
        second = second.transpose([*order.tolist(), len(axes)])
        shape = [1] * n
        for parent, axis in zip(kept, axes, strict=True):
            shape[axis] = parent.n_states
        return parents, (first, second.reshape((*shape, cpt.child.n_states)))

    def _equal_parents(self, cpt: CPT, parents: Sequence[Variable]) -> NDArray[np.bool_]:
        """Where the parents have the same states in both worlds."""
        done = self.question.settings[0]
        places = {parent.name: place for place, parent in enumerate(parents)}
        index = np.indices([parent.n_states for parent in parents], sparse=True)
        equal = np.ones([parent.n_states for parent in parents], dtype=bool)
        for parent in cpt.parents:
            own = index[places[parent.name]]
            if parent.name in done:
                equal &= own == parent.code(done[parent.name])
            elif parent.name in self._twins:
                equal &= own == index[places[self._twins[parent.name]]]
        return equal

    # ---- response functions ----------------------------------------------------------------------------------

    def with_responses(self, distributions: Mapping[str, Floats]) -> BayesianNetwork:
        """The twin network in which the coupled variables are functions of their parents that are drawn beforehand."""
        cpts = [cpt for cpt in self.network.cpts if cpt.name not in distributions]
        for name, q in distributions.items():
            cpt, which = self.network.cpt(name), self.response_variable(name)
            cpts.append(CPT(which, q / q.sum()))
            shape = (len(q), *cpt.values.shape[:-1], cpt.child.n_states)
            table = np.eye(cpt.child.n_states)[self.responses(name).states].reshape(shape)
            follows = CPT(cpt.child, table, [which, *cpt.parents])
            cpts += [follows, self._alone(follows)]
        cpts += [self._alone(self.network.cpt(name)) for name in self.affected if name not in distributions]
        return _network(cpts)

    def responses(self, name: str) -> _Responses:
        """The response functions of a variable, on the parent configurations that what was observed leaves possible."""
        cpt, done = self.network.cpt(name), self.question.settings[0]
        observed = {v: state for v, state in self.question.given.items() if v not in self.affected}
        possible = np.zeros(cpt.values.shape[:-1], dtype=bool)
        for world in ({**self.question.given}, {**observed, **done}):
            possible[tuple(p.code(world[p.name]) if p.name in world else slice(None) for p in cpt.parents)] = True
        return _Responses(cpt, np.flatnonzero(possible))

    def response_variable(self, name: str) -> Variable:
        """The response function of a variable, as a variable."""
        label = _fresh_names([name], [*self.network.names, *self._twins.values()], "response of {}")[name]
        return Variable(label, list(range(len(self.responses(name)))))


def _coupled(first: Floats, second: Floats, equal: NDArray[np.bool_], coupling: str) -> Floats:
    """P(v, v* | parents of both worlds)."""
    if coupling == "independent":
        r = first.shape[-1]
        apart = first[..., :, None] * second[..., None, :]
        together = first[..., :, None] * np.eye(r)
        return np.where(equal[..., None, None], together, apart)
    (begins, ends), (other_begins, other_ends) = _intervals(first), _intervals(second)
    low = np.maximum(begins[..., :, None], other_begins[..., None, :])
    high = np.minimum(ends[..., :, None], other_ends[..., None, :])
    return np.maximum(high - low, 0.0)


def _intervals(table: Floats) -> tuple[Floats, Floats]:
    """Where the interval of each state begins and ends, when those of all states fill 0 to 1."""
    ends = np.cumsum(table, axis=-1)
    ends[..., -1] = 1.0
    return np.concatenate([np.zeros_like(ends[..., :1]), ends[..., :-1]], axis=-1), ends


def _network(cpts: Sequence[CPT]) -> BayesianNetwork:
    arcs = [(parent.name, cpt.name) for cpt in cpts for parent in cpt.parents]
    return BayesianNetwork(DAG([cpt.name for cpt in cpts], arcs), cpts)


def _fresh_names(names: Sequence[str], taken: Sequence[str], pattern: str = "{}*") -> dict[str, str]:
    """A name for each twin that no variable has."""
    used, found = set(taken), {}
    for name in names:
        label = pattern.format(name)
        while label in used:
            label += "*"
        used.add(label)
        found[name] = label
    return found


# ---- bounds ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Responses:
    """The functions from parent configurations to states of a variable.

    Attributes
    ----------
    cpt : CPT
    possible : ndarray of int
        The configurations that are possible, in one of the worlds; for the others every function has the first state.
    """

    cpt: CPT
    possible: NDArray[np.intp]

    def __len__(self) -> int:
        return int(self.cpt.child.n_states ** len(self.possible))

    @property
    def states(self) -> NDArray[np.int64]:
        """One row for each function, with a state for each configuration."""
        q, r = math.prod(self.cpt.values.shape[:-1]), self.cpt.child.n_states
        found = np.zeros((len(self), q), dtype=np.int64)
        found[:, self.possible] = list(itertools.product(range(r), repeat=len(self.possible)))
        return found

    @property
    def rank(self) -> int:
        """How many equations the distributions of the functions have to fulfil."""
        return len(self.possible) * (self.cpt.child.n_states - 1) + 1

    def constraints(self) -> tuple[Floats, Floats]:
        """The equations of the distributions that have the table as their marginals."""
        r, states = self.cpt.child.n_states, self.states
        rows = self.cpt.values.reshape(-1, r)
        cells = [(j, k) for j in self.possible.tolist() for k in range(r - 1)]
        left = np.array([*(states[:, j] == k for j, k in cells), np.ones(len(self))], dtype=np.float64)
        return left, np.array([*(rows[j, k] for j, k in cells), 1.0])


def _bounds(twin: _Twin) -> tuple[Floats, Floats]:
    """The smallest and the largest probability of each state of the outcome, over all couplings."""
    responses = {name: twin.responses(name) for name in twin.coupled}
    _refuse_large_bounds(responses)
    # The variable with the most response functions is left to the linear program.
    last = max(twin.coupled, key=lambda name: (len(responses[name]), name))
    others = [name for name in twin.coupled if name != last]
    vertices = [_vertices(responses[name]) for name in others]
    n_outcomes = math.prod(variable.n_states for variable in twin.question.outcome)
    n_programs = 2 * n_outcomes * math.prod(map(len, vertices))
    if n_programs > MOST_PROGRAMS:
        raise TooLargeError(
            f"bounds over the couplings of {', '.join(twin.coupled)} would need {n_programs:,} linear programs, more "
            f"than {MOST_PROGRAMS:,}; leave out bounds, or ask of a smaller network"
        )
    left, right = responses[last].constraints()
    # Where there are few vertices they are quicker than a linear program.
    few = math.comb(len(responses[last]), responses[last].rank) <= MOST_BASES
    ends = np.array(_vertices(responses[last])) if few else None
    p_evidence = twin.network.probability(twin.question.given)
    lower, upper = np.full(n_outcomes, np.inf), np.full(n_outcomes, -np.inf)
    for chosen in itertools.product(*vertices):
        costs = _costs(twin, dict(zip(others, chosen, strict=True)), last) / p_evidence
        low, high = _optima(costs, ends) if ends is not None else _optima_by_program(costs, left, right)
        lower, upper = np.minimum(lower, low), np.maximum(upper, high)
    shape = [variable.n_states for variable in twin.question.outcome]
    return np.clip(lower, 0, 1).reshape(shape), np.clip(upper, 0, 1).reshape(shape)


def _costs(twin: _Twin, distributions: Mapping[str, Floats], last: str) -> Floats:
    """P(outcome, evidence | response function of the last variable): one row for each state of the outcome."""
    n = len(twin.responses(last))
    network = twin.with_responses({**distributions, last: np.ones(n)})
    responses = twin.response_variable(last).name
    given = twin.question.given
    p = network.probability(given)
    outcomes = twin.outcomes
    joint = network.query([*outcomes, responses], given).values * p * n
    return joint.reshape(-1, n)


def _optima(costs: Floats, vertices: Floats) -> tuple[Floats, Floats]:
    """The smallest and the largest value of each of some linear functions, at vertices."""
    values = costs @ vertices.T
    return values.min(axis=1), values.max(axis=1)


def _optima_by_program(costs: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
    low = np.array([_optimum(cost, left, right) for cost in costs])
    return low, -np.array([_optimum(-cost, left, right) for cost in costs])


def _optimum(cost: Floats, left: Floats, right: Floats) -> float:
    """The smallest value of a linear function of a distribution with given marginals."""
    from scipy.optimize import linprog

    if np.ptp(cost) < _ROUNDING * max(1.0, float(np.abs(cost).max())):
        return float(cost.mean())
    found = linprog(cost, A_eq=left, b_eq=right, bounds=(0, None), method="highs")
    if not found.success:  # by rounding alone: the independent coupling is always there
        raise DataError(f"the linear program of the bounds was not solved: {found.message}")
    return float(found.fun)


def _vertices(responses: _Responses) -> list[Floats]:
    """The vertices of the distributions of response functions with the table as their marginals."""
    left, right = responses.constraints()
    found: dict[bytes, Floats] = {}
    columns = np.array(list(itertools.combinations(range(left.shape[1]), left.shape[0])))
    parts = left[:, columns].swapaxes(0, 1)
    regular = np.abs(np.linalg.det(parts)) > 0.5  # a whole number, as all entries are 0 or 1
    solutions = np.linalg.solve(parts[regular], right[:, None])[..., 0]
    for chosen, solution in zip(columns[regular], solutions, strict=True):
        if solution.min() >= -_ROUNDING:
            vertex = np.zeros(left.shape[1])
            vertex[chosen] = np.maximum(solution, 0)
            found.setdefault(np.round(vertex, 10).tobytes(), vertex)
    return list(found.values())


def _refuse_large_bounds(responses: Mapping[str, _Responses]) -> None:
    sizes = {name: one.cpt.child.n_states ** len(one.possible) for name, one in responses.items()}
    largest = max(sizes, key=lambda name: (sizes[name], name))
    if sizes[largest] > MOST_RESPONSES:
        raise TooLargeError(
            f"bounds over the couplings of {largest!r} would need its {_figure(sizes[largest])} response functions, "
            f"more than {MOST_RESPONSES:,}; leave out bounds, or ask of a smaller network"
        )
    for name, size in sizes.items():
        if name == largest:
            continue
        bases = math.comb(size, responses[name].rank)
        if bases > MOST_BASES:
            raise TooLargeError(
                f"bounds over the couplings of {', '.join(responses)} would need the vertices of {name!r} among "
                f"{_figure(bases)} choices, more than {MOST_BASES:,}; leave out bounds, or ask of a smaller network"
            )


def _figure(number: int) -> str:
    return f"{number:,}" if number < 10**12 else f"about 10^{len(str(number)) - 1}"

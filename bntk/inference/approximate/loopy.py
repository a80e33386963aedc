"""Loopy belief propagation: approximate posteriors where the cliques of exact inference do not fit.

Messages run along the edges of the factor graph until they no longer change. The answers are exact when the graph has
no loops; with loops the fixed points are stationary points of the Bethe free energy, and neither convergence nor
closeness is promised, so every answer comes with its :class:`Convergence`.

References
----------
J. S. Yedidia, W. T. Freeman and Y. Weiss (2005). Constructing free-energy approximations and generalized belief
propagation algorithms. IEEE Transactions on Information Theory 51, 2282-2312.

G. Elidan, I. McGraw and D. Koller (2006). Residual belief propagation: informed scheduling for asynchronous message
passing. UAI 22, 165-173.

C. Sutton and A. McCallum (2007). Improved dynamic schedules for belief propagation. UAI 23, 376-383.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk._threads import run_parallel, spans
from bntk.inference.exact.program import Factor

if TYPE_CHECKING:
    from bntk.network import BayesianNetwork

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Schedule = Literal["flooding", "residual"]

SCHEDULES = ("flooding", "residual")
#: Pieces that the rows are cut into, whatever the number of threads.
PIECES = 64


@dataclass(frozen=True)
class Convergence:
    """How a run ended.

    Attributes
    ----------
    iterations : int
        Rounds; in a round of the residual schedule as many factors are updated as there are, some of them repeatedly.
    largest_change : float
        Of a message in the last round; for the residual schedule, the largest sum of changes that have reached a factor
        and that it has not passed on. NaN when the evidence is impossible.
    converged : bool
        Whether the largest change came down to the tolerance.
    """

    iterations: int
    largest_change: float
    converged: bool

    def __str__(self) -> str:
        how = "converged" if self.converged else "NOT converged"
        return f"{how} after {self.iterations:,} rounds, largest change {self.largest_change:.1e}"


@dataclass(frozen=True)
class LoopyMarginals:
    """The beliefs given one evidence set.

    Attributes
    ----------
    marginals : list of ndarray
        The belief of each variable; NaN when the evidence is found to be impossible.
    log_z : float
        The Bethe estimate of the log probability of the evidence; -inf when it is found to be impossible.
    convergence : Convergence
    """

    marginals: list[Floats]
    log_z: float
    convergence: Convergence

    def marginal(self, variable: int) -> Floats:
        """The belief of one variable."""
        return self.marginals[variable]


@dataclass(frozen=True)
class LoopyRows:
    """The beliefs of many rows: ``marginals[i]`` has the shape (n_rows, states of target i), the others (n_rows,)."""

    marginals: list[Floats]
    log_z: Floats
    iterations: Ints
    largest_change: Floats
    converged: NDArray[np.bool_]


class LoopyProgram:
    """A factor graph, ready to propagate. Variables are positions.

    Parameters
    ----------
    factors : iterable of Factor
        Non-negative tables, such as those of a network (:func:`loopy_network`) or of a Markov network.
    cards : sequence of int
        The number of states of each variable.

    Examples
    --------
    >>> agree = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> ring = LoopyProgram([Factor((0, 1), agree), Factor((1, 2), agree), Factor((0, 2), agree)], [2, 2, 2])
    >>> found = ring.calibrate({0: [0, 1]})
    >>> found.marginal(2).round(3), found.convergence.converged
    (array([0.286, 0.714]), True)
    """

    def __init__(self, factors: Iterable[Factor], cards: Sequence[int]) -> None:
        self.cards = tuple(int(card) for card in cards)
        self._tables: list[tuple[tuple[int, ...], Floats]] = []
        self._log_constant = 0.0
        for factor in factors:
            values = np.asarray(factor.values, dtype=np.float64)
            top = float(values.max(initial=0.0))
            self._log_constant += math.log(top) if top > 0 else -math.inf
            if factor.variables:
                scaled = values / top if top > 0 else values
                self._tables.append((tuple(factor.variables), np.ascontiguousarray(scaled)))

    @cached_property
    def _graph(self) -> Any:
        return factor_graph([scope for scope, _ in self._tables], self.cards, [table for _, table in self._tables])

    def calibrate(
        self,
        likelihood: Mapping[int, ArrayLike] | None = None,
        *,
        damping: float = 0.0,
        max_iter: int = 1000,
        tolerance: float = 1e-9,
        schedule: Schedule = "residual",
    ) -> LoopyMarginals:
        """Beliefs and the Bethe estimate of log Z for one evidence set.

        Parameters
        ----------
        likelihood : mapping of int to array, optional
            For a variable, a non-negative number for each of its states, as for :meth:`Program.calibrate`.
        damping : float
            The share of the old message in the new one, from 0 up to but not including 1. A half often makes
            oscillating messages converge; the fixed points are the same.
        max_iter : int
            Rounds after which to give up.
        tolerance : float
            The largest change of a message with which it counts as converged.
        schedule : {"residual", "flooding"}
            The factor that is most out of date first, or all of them in every round. The former converges more often
            and in fewer updates; the latter is faster where a variable is in thousands of factors.
        """
        beliefs, convergence, log_z = self._run(likelihood or {}, False, damping, max_iter, tolerance, schedule)
        marginals = np.split(beliefs.belief, self._graph.state_start[1:])
        return LoopyMarginals(marginals, log_z, convergence)

    def mpe(
        self,
        likelihood: Mapping[int, ArrayLike] | None = None,
        *,
        damping: float = 0.0,
        max_iter: int = 1000,
        tolerance: float = 1e-9,
        schedule: Schedule = "residual",
    ) -> tuple[Ints, float, Convergence]:
        """Max-product: states of high joint probability, the log of it, and how the run ended.

        Exact without loops. With loops the states are those that the messages point at; their log is that of the states
        and no estimate, and is -inf (with states that may be -1) when none that is possible was found.
        """
        likelihood = likelihood or {}
        beliefs, convergence, log_z = self._run(likelihood, True, damping, max_iter, tolerance, schedule)
        states = np.full(len(self.cards), -1, dtype=np.int64)
        if log_z == -math.inf:
            return states, log_z, convergence
        self._decode(beliefs, states)
        return states, self._log_weight(states, likelihood), convergence

    def marginals_rows(
        self,
        codes: NDArray[Any],
        targets: Sequence[int] | None = None,
        *,
        damping: float = 0.0,
        max_iter: int = 1000,
        tolerance: float = 1e-9,
        schedule: Schedule = "residual",
    ) -> LoopyRows:
        """The beliefs of several variables (all by default) for each row of codes, as in a table."""
        from bntk.inference.approximate.loopy_kernels import beliefs_for, run

        settings = _checked(damping, max_iter, tolerance, schedule)
        n = codes.shape[1]
        found = np.full((n, sum(self.cards)), np.nan)
        rounds, changes, log_z = np.zeros(n, np.int64), np.zeros(n), np.full(n, -math.inf)

        def work(span: tuple[int, int]) -> None:
            rows = slice(*span)
            evidence, room = self._evidence_rows(codes[:, rows]), beliefs_for(self._graph)
            ends = (found[rows], rounds[rows], changes[rows], log_z[rows])
            run(self._graph, *evidence, False, *settings, room, *ends)

        if self._log_constant > -math.inf:
            run_parallel(work, spans(n, PIECES))
        changes[log_z == -math.inf] = np.nan
        starts = _starts(self.cards)
        chosen = range(len(self.cards)) if targets is None else targets
        marginals = [found[:, starts[v] : starts[v + 1]] for v in chosen]
        return LoopyRows(marginals, log_z + self._log_constant, rounds, changes, changes <= tolerance)

    def _evidence_rows(self, codes: NDArray[Any]) -> tuple[Floats, Ints]:
        """For rows of codes, one number a state, and the observed states with -1 where there is none."""
        cards = np.array(self.cards, dtype=np.int64)
        wide = codes.T.astype(np.int64)
        observed = np.where(wide < cards, wide, -1)
        every_state = np.arange(cards.sum()) - np.repeat(_starts(cards)[:-1], cards)
        seen = np.repeat(observed, cards, axis=1)
        return np.where(seen < 0, 1.0, seen == every_state), observed

    def _run(
        self, likelihood: Mapping[int, ArrayLike], maximise: bool, damping: float, max_iter: int, tolerance: float,
        schedule: str,
    ) -> tuple[Any, Convergence, float]:  # fmt: skip
        from bntk.inference.approximate.loopy_kernels import beliefs_for, run

        residual, *settings = _checked(damping, max_iter, tolerance, schedule)
        flat, observed, log_scale = self._evidence(likelihood)
        beliefs = beliefs_for(self._graph)
        log_z = log_scale + self._log_constant
        if log_z == -math.inf:  # a factor or a likelihood without a positive number
            beliefs.belief[:] = np.nan
            return beliefs, Convergence(0, math.nan, False), log_z
        rounds, changes, log_run = np.zeros(1, np.int64), np.zeros(1), np.zeros(1)
        ends = (beliefs.belief[None, :].copy(), rounds, changes, log_run)
        run(self._graph, flat[None, :], observed[None, :], maximise, residual, *settings, beliefs, *ends)
        change = float(changes[0]) if changes[0] >= 0 else math.nan
        return beliefs, Convergence(int(rounds[0]), change, change <= tolerance), log_z + float(log_run[0])

    def _evidence(self, likelihood: Mapping[int, ArrayLike]) -> tuple[Floats, Ints, float]:
        """One number a state, the observed state of variables with a single possible one, the log of the scales."""
        flat, log_scale = np.ones(sum(self.cards)), 0.0
        observed = np.full(len(self.cards), -1, dtype=np.int64)
        starts = _starts(self.cards)
        for variable, numbers in likelihood.items():
            vector = np.asarray(numbers, dtype=float)
            top = float(vector.max(initial=0.0))
            log_scale += math.log(top) if top > 0 else -math.inf
            flat[starts[variable] : starts[variable + 1]] = vector / top if top > 0 else vector
            if np.count_nonzero(vector) == 1:
                observed[variable] = int(np.argmax(vector))
        return flat, observed, log_scale

    def _decode(self, beliefs: Any, states: Ints) -> None:
        """Choose states factor by factor, walking outwards, so that ties are broken consistently."""
        graph = self._graph
        done = np.zeros(len(self._tables), dtype=np.bool_)
        for root in range(len(self.cards)):
            if states[root] >= 0:
                continue
            first = graph.state_start[root]
            states[root] = int(np.argmax(beliefs.belief[first : first + self.cards[root]]))
            waiting = [root]
            while waiting:
                v = waiting.pop()
                for edge in graph.near[graph.near_start[v] : graph.near_start[v + 1]]:
                    factor = int(graph.edge_factor[edge])
                    if not done[factor]:
                        done[factor] = True
                        waiting += self._choose(factor, beliefs, states)

    def _choose(self, factor: int, beliefs: Any, states: Ints) -> list[int]:
        """Give the open variables of a factor their best joint state given the chosen ones; those variables."""
        scope, table = self._tables[factor]
        open_axes = [a for a, v in enumerate(scope) if states[v] < 0]
        if not open_axes:
            return []
        product = table[tuple(slice(None) if states[v] < 0 else int(states[v]) for v in scope)]
        edges = self._graph.edge_start[factor] + np.array(open_axes)
        for place, edge in enumerate(edges):
            start, end = self._graph.message_start[edge : edge + 2]
            shape = [-1 if a == place else 1 for a in range(len(open_axes))]
            product = product * beliefs.to_factor[start:end].reshape(shape)
        best = np.unravel_index(int(np.argmax(product)), product.shape)
        for a, state in zip(open_axes, best, strict=True):
            states[scope[a]] = state
        return [scope[a] for a in open_axes]

    def _log_weight(self, states: Ints, likelihood: Mapping[int, ArrayLike]) -> float:
        """The log of the product of all factors and likelihoods at some states."""
        entries = [float(table[tuple(states[v] for v in scope)]) for scope, table in self._tables]
        entries += [float(np.asarray(numbers)[states[v]]) for v, numbers in likelihood.items()]
        if not all(entries):
            return -math.inf
        return self._log_constant + math.fsum(map(math.log, entries))


def factor_graph(scopes: Sequence[tuple[int, ...]], cards: Sequence[int], tables: Sequence[Floats] = ()) -> Any:
    """The factor graph of tables in C order with these scopes, for the kernels."""
    from bntk.inference.approximate.loopy_kernels import Graph

    variable = np.array([v for scope in scopes for v in scope], dtype=np.int64)
    factor = np.repeat(np.arange(len(scopes)), [len(scope) for scope in scopes])
    shapes = [[cards[v] for v in scope] for scope in scopes]
    strides = [math.prod(shape[axis + 1 :]) for shape in shapes for axis in range(len(shape))]
    states = np.array(cards, dtype=np.int64)
    return Graph(
        cards=states,
        state_start=_starts(states)[:-1],
        edge_start=_starts([len(scope) for scope in scopes]),
        edge_variable=variable,
        edge_factor=factor.astype(np.int64),
        edge_stride=np.array(strides, dtype=np.int64),
        message_start=_starts(states[variable]),
        near_start=_starts(np.bincount(variable, minlength=states.size)),
        near=np.argsort(variable, kind="stable"),
        table_start=_starts([math.prod(shape) for shape in shapes]),
        tables=np.concatenate([np.empty(0), *(table.ravel() for table in tables)]),
    )


def loopy_network(network: BayesianNetwork) -> LoopyProgram:
    """The factor graph of a network's tables, kept with it."""
    if "loopy" not in network._cache:
        families = [(*parents, node) for node, parents in enumerate(network.dag.parent_indices)]
        factors = [Factor(family, cpt.values) for family, cpt in zip(families, network.cpts, strict=True)]
        network._cache["loopy"] = LoopyProgram(factors, [variable.n_states for variable in network.variables])
    program: LoopyProgram = network._cache["loopy"]
    return program


def _checked(damping: float, max_iter: int, tolerance: float, schedule: str) -> tuple[bool, float, int, float]:
    if not 0 <= damping < 1:
        raise ValueError(f"damping must be from 0 up to but not including 1, got {damping}")
    if max_iter < 1 or not tolerance >= 0:
        raise ValueError(f"max_iter must be at least 1 and tolerance not negative, got {max_iter} and {tolerance}")
    if schedule not in SCHEDULES:
        raise ValueError(f"the schedule must be one of {list(SCHEDULES)}, not {schedule!r}")
    return schedule == "residual", float(damping), int(max_iter), float(tolerance)


def _starts(sizes: ArrayLike) -> Ints:
    """Where parts of these sizes begin when laid one after another, and the end of the last."""
    return np.cumsum(np.concatenate([np.zeros(1), np.asarray(sizes, dtype=float)])).astype(np.int64)

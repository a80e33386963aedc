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

from bntk import _checking
from bntk._threads import pieces_for, run_parallel, spans
from bntk.inference.exact.program import Factor

if TYPE_CHECKING:
    from bntk.network import BayesianNetwork

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Schedule = Literal["residual", "flooding", "sweeping"]

SCHEDULES = ("residual", "flooding", "sweeping")
#: More rounds are not counted.
MOST_ROUNDS = (1 << 63) - 1
#: Pieces that the rows are cut into at least, whatever the number of threads.
PIECES = 64


@dataclass(frozen=True)
class LoopySettings:
    """The options of message passing.

    Attributes
    ----------
    damping : float
        The share of the old message in the new one, from 0 up to but not including 1. A half often makes oscillating
        messages converge; the fixed points are the same.
    max_iter : int
        Rounds after which to give up.
    tolerance : float
        The largest change of a message with which it counts as converged.
    schedule : {"residual", "flooding", "sweeping"}
        The factor that is most out of date first; or all of them in every round, at once or one after another. The
        first converges more often and in fewer updates; flooding is faster where a variable is in thousands of factors,
        and sweeping for many small problems.
    """

    damping: float = 0.0
    max_iter: int = 1000
    tolerance: float = 1e-9
    schedule: Schedule = "residual"

    def __post_init__(self) -> None:
        if not _checking.is_number(self.damping) or not 0 <= self.damping < 1:
            raise _checking.wrong("damping", "a number from 0 up to but not including 1", self.damping)
        _checking.whole_number("max_iter", self.max_iter, 1, MOST_ROUNDS)
        _checking.number("tolerance", self.tolerance, 0)
        _checking.one_of("schedule", self.schedule, SCHEDULES)

    @property
    def of_kernel(self) -> tuple[int, float, int, float]:
        """As the kernel takes them."""
        return SCHEDULES.index(self.schedule), float(self.damping), int(self.max_iter), float(self.tolerance)


@dataclass(frozen=True)
class Convergence:
    """The convergence of a run of belief propagation.

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
        factors = list(factors)
        with np.errstate(divide="ignore"):
            logs = [np.log(np.asarray(factor.values, dtype=np.float64)) for factor in factors]
        self._tables = [(tuple(f.variables), table) for f, table in zip(factors, logs, strict=True) if f.variables]
        self._log_constant = float(sum(table for f, table in zip(factors, logs, strict=True) if not f.variables))

    @cached_property
    def _graph(self) -> Any:
        return factor_graph([scope for scope, _ in self._tables], self.cards)

    @cached_property
    def _scaled(self) -> tuple[Any, Floats]:
        return scaled_tables(self._graph, np.concatenate([np.empty(0), *(t.ravel() for _, t in self._tables)])[None])

    def calibrate(self, likelihood: Mapping[int, ArrayLike] | None = None, **settings: Any) -> LoopyMarginals:
        """Beliefs and the Bethe estimate of log Z for one evidence set.

        Parameters
        ----------
        likelihood : mapping of int to array, optional
            For a variable, a non-negative number for each of its states, as for :meth:`Program.calibrate`.
        **settings
            Those of :class:`LoopySettings`.
        """
        beliefs, convergence, log_z = self._run(likelihood or {}, False, LoopySettings(**settings))
        return LoopyMarginals(np.split(_numbers(beliefs.belief), self._graph.state_start[1:]), log_z, convergence)

    def mpe(
        self, likelihood: Mapping[int, ArrayLike] | None = None, **settings: Any
    ) -> tuple[Ints, float, Convergence]:
        """Max-product: states of high joint probability, the log of it, and how the run ended.

        Exact without loops. With loops the states are those that the messages point at; their log is that of the states
        and no estimate, and is -inf (with states that may be -1) when none that is possible was found.
        """
        likelihood = likelihood or {}
        beliefs, convergence, log_z = self._run(likelihood, True, LoopySettings(**settings))
        states = np.full(len(self.cards), -1, dtype=np.int64)
        if log_z == -math.inf:
            return states, log_z, convergence
        self._decode(beliefs, states)
        return states, self._log_weight(states, likelihood), convergence

    def marginals_rows(self, codes: NDArray[Any], targets: Sequence[int] | None = None, **settings: Any) -> LoopyRows:
        """The beliefs of several variables (all by default) for each row of codes, as in a table."""
        how, cards = LoopySettings(**settings), np.array(self.cards, dtype=np.int64)
        wide = np.repeat(codes.T.astype(np.int64), cards, axis=1)
        every_state = np.arange(cards.sum()) - np.repeat(_starts(cards)[:-1], cards)
        possible = (wide == every_state) | (wide == np.repeat(cards, cards))
        likelihood = np.where(possible, 0.0, -math.inf)[:, None]
        found = propagate(self._graph, self._scaled[0], likelihood, False, how)
        beliefs, changes = _numbers(found[0][:, 0]), np.where(found[2] < 0, np.nan, found[2])[:, 0]
        chosen = range(len(self.cards)) if targets is None else targets
        starts = _starts(self.cards)
        marginals = [beliefs[:, starts[v] : starts[v + 1]] for v in chosen]
        log_z = found[3][:, 0] + self._scaled[1] + self._log_constant
        return LoopyRows(marginals, log_z, found[1][:, 0], changes, changes <= how.tolerance)

    def _run(
        self, likelihood: Mapping[int, ArrayLike], maximise: bool, settings: LoopySettings
    ) -> tuple[Any, Convergence, float]:
        """What one run leaves behind, how it ended, and the Bethe log Z."""
        from bntk.inference.approximate.loopy_kernels import room_for, run

        logs, room, ends = np.zeros((1, 1, sum(self.cards))), room_for(self._graph), _ends(1, 1, sum(self.cards))
        starts = _starts(self.cards)
        with np.errstate(divide="ignore"):
            for variable, numbers in likelihood.items():
                logs[..., starts[variable] : starts[variable + 1]] = np.log(np.asarray(numbers, dtype=float))
        run(self._graph, self._scaled[0], logs, maximise, *settings.of_kernel, room, *ends)
        _, rounds, changes, log_z = (array[0, 0] for array in ends)
        change = float(changes) if changes >= 0 else math.nan
        convergence = Convergence(int(rounds), change, change <= settings.tolerance)
        return room, convergence, float(log_z + self._scaled[1][0]) + self._log_constant

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
        logs = table[tuple(slice(None) if states[v] < 0 else int(states[v]) for v in scope)]
        edges = self._graph.edge_start[factor] + np.array(open_axes)
        for place, edge in enumerate(edges):
            start, end = self._graph.message_start[edge : edge + 2]
            logs = logs + beliefs.to_factor[start:end].reshape([-1 if a == place else 1 for a in range(len(edges))])
        best = np.unravel_index(int(np.argmax(logs)), logs.shape)
        for a, state in zip(open_axes, best, strict=True):
            states[scope[a]] = state
        return [scope[a] for a in open_axes]

    def _log_weight(self, states: Ints, likelihood: Mapping[int, ArrayLike]) -> float:
        """The log of the product of all factors and likelihoods at some states."""
        logs = [float(table[tuple(states[v] for v in scope)]) for scope, table in self._tables]
        numbers = [float(np.asarray(numbers)[states[v]]) for v, numbers in likelihood.items()]
        logs += [math.log(x) if x else -math.inf for x in numbers]
        return math.fsum((self._log_constant, *logs)) if min(logs, default=0.0) > -math.inf else -math.inf


# ---- for the kernels -------------------------------------------------------------------------------------------------


def factor_graph(scopes: Sequence[tuple[int, ...]], cards: Sequence[int]) -> Any:
    """The factor graph of tables with these scopes."""
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
    )


def scaled_tables(graph: Any, logs: Floats) -> tuple[Any, Floats]:
    """The tables of a graph from their logs, one line for all rows or one per row, and the log of what they lost."""
    from bntk.inference.approximate.loopy_kernels import Tables

    starts = graph.table_start[:-1]
    if not starts.size:
        return Tables(logs, logs, logs), np.zeros(len(logs))
    top = np.maximum.reduceat(logs, starts, axis=1)
    logs = logs - np.repeat(np.where(np.isfinite(top), top, 0.0), np.diff(graph.table_start), axis=1)
    low = np.minimum.reduceat(np.where(np.isfinite(logs), logs, 0.0), starts, axis=1)
    return Tables(logs, np.exp(logs), low), top.sum(axis=1)


def propagate(
    graph: Any, tables: Any, likelihood: Floats, maximise: bool, settings: LoopySettings
) -> tuple[Floats, Ints, Floats, Floats]:
    """Log beliefs, rounds, largest changes (-1: impossible) and log Z, per row and component of log likelihoods."""
    from bntk.inference.approximate.loopy_kernels import room_for, run

    ends = _ends(*likelihood.shape)

    def work(span: tuple[int, int]) -> None:
        rows = slice(*span)
        mine = tables if len(tables.logs) == 1 else tables._make(array[rows] for array in tables)
        run(graph, mine, likelihood[rows], maximise, *settings.of_kernel, room_for(graph), *(e[rows] for e in ends))

    # A row takes some rounds, each of which goes through all tables several times.
    run_parallel(work, spans(len(likelihood), pieces_for(256 * len(likelihood) * tables.logs.shape[1], PIECES)))
    return ends


def _ends(n_rows: int, n_components: int, n_states: int) -> tuple[Floats, Ints, Floats, Floats]:
    shape = (n_rows, n_components)
    return np.empty((*shape, n_states)), np.empty(shape, dtype=np.int64), np.empty(shape), np.empty(shape)


def _numbers(logs: Floats) -> Floats:
    """Beliefs from their logs; NaN where the evidence is impossible, which leaves all of them without a number."""
    impossible = np.isneginf(logs).all(axis=-1, keepdims=True)
    return np.where(impossible, np.nan, np.exp(logs))


def loopy_network(network: BayesianNetwork) -> LoopyProgram:
    """The factor graph of a network's tables, kept with it."""
    from bntk.network import a_network

    if "loopy" not in a_network(network)._cache:
        families = [(*parents, node) for node, parents in enumerate(network.dag.parent_indices)]
        factors = [Factor(family, cpt.values) for family, cpt in zip(families, network.cpts, strict=True)]
        network._cache["loopy"] = LoopyProgram(factors, [variable.n_states for variable in network.variables])
    program: LoopyProgram = network._cache["loopy"]
    return program


def _starts(sizes: ArrayLike) -> Ints:
    """Where parts of these sizes begin when laid one after another, and the end of the last."""
    return np.cumsum(np.concatenate([np.zeros(1), np.asarray(sizes, dtype=float)])).astype(np.int64)

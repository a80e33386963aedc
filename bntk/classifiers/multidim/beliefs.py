"""Posteriors of few open variables from log tables, for all rows at once: exact on a junction tree, or loopy.

All sums are of logs, so that thousands of features cannot make a row underflow. Tables are as in
:mod:`bntk.classifiers.multidim.evidence`: axes for their scope, then rows, then components of a mixture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._threads import run_parallel, spans
from bntk.classifiers.multidim.evidence import Floats, Scope, Tables
from bntk.inference.approximate.loopy import LoopyProgram
from bntk.inference.exact.junction import junction_tree
from bntk.inference.exact.program import Factor

#: Numbers that one pass over a junction tree may hold; rows are cut into pieces accordingly.
ENTRIES_AT_ONCE = 1 << 21
#: Loopy belief propagation: rounds before it gives up, and the change of a message that counts as none.
LOOPY_ROUNDS, LOOPY_TOLERANCE = 200, 1e-6
#: Rows that one thread propagates at a time.
LOOPY_ROWS = 32
#: A sum of numbers of which the largest was scaled to 1 is exact enough where it is at least this.
LEAST_SUM = 1e-200


class Beliefs(NamedTuple):
    """log P(state of a variable, evidence) for each variable asked for, (states, rows, components); log P(evidence)."""

    log_marginals: list[Floats]
    log_z: Floats
    converged: NDArray[np.bool_]


class Alone:
    """A variable that shares no table with another: what rows say of it, and its own table for each component.

    Only sums over its states that would be too small are added up as logs.
    """

    def __init__(self, by_rows: Floats, own: Floats, n_rows: int) -> None:
        self._logs = np.broadcast_to(by_rows[..., 0].T, (n_rows, len(by_rows)))
        self._own_logs = own[:, 0, :]
        top = self._logs.max(axis=1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        self._plain, self._own = np.exp(self._logs - top), np.exp(self._own_logs)
        # Not by a product of matrices: there the last digit of a row can depend on which rows are beside it.
        self._sums = np.einsum("rs,sk->rk", self._plain, self._own)
        self._low = np.nonzero(self._sums < LEAST_SUM)
        self._sums[self._low] = 1.0
        self.log_z = np.log(self._sums) + top
        self._exact = self._logs[self._low[0]] + self._own_logs[:, self._low[1]].T
        self.log_z[self._low] = log_sum(self._exact, (1,))

    def shares(self, components: Floats) -> Floats:
        """The probabilities of its states, (rows, states), with those of the components in each row."""
        weights = components / self._sums
        weights[self._low] = 0.0
        found: Floats = self._plain * np.einsum("rk,sk->rs", weights, self._own)
        total = self.log_z[self._low]
        exact = np.exp(self._exact - np.where(np.isfinite(total), total, np.inf)[:, None])
        np.add.at(found, self._low[0], components[self._low][:, None] * exact)
        return found

    def best(self) -> NDArray[np.int64]:
        """The best state in each row, of the first component."""
        return (self._logs + self._own_logs[:, 0]).argmax(axis=1)


class LogTree:
    """A junction tree for tables with known scopes."""

    def __init__(self, scopes: Iterable[Scope], cards: Sequence[int], variables: Sequence[int]) -> None:
        self.cards = tuple(cards)
        tree = junction_tree(scopes, cards, variables)
        self.cliques = [tuple(sorted(clique)) for clique in tree.cliques]  # none, if there are no variables
        self.parent, self.entries = tree.parent, sum(tree.sizes)
        self._tree = tree
        self._shared = [
            tuple(v for v in clique if above >= 0 and v in self.cliques[above])
            for clique, above in zip(self.cliques, self.parent, strict=True)
        ]

    def beliefs(self, tables: Tables, targets: Sequence[Scope]) -> Beliefs:
        """The marginals of the targets, each of which lies in a clique."""
        potentials, upward = self._collected(tables, log_sum)
        log_z = self._whole(potentials)
        for i in range(1, len(self.cliques)):
            above = self.parent[i]
            downward = self._onto(potentials[above], self.cliques[above], self._shared[i], log_sum)
            with np.errstate(invalid="ignore"):  # -inf - -inf: what is impossible stays so
                downward = np.nan_to_num(downward - upward[i], nan=-np.inf, neginf=-np.inf, posinf=np.inf)
            potentials[i] = potentials[i] + self._aligned(downward, self._shared[i], self.cliques[i])
        found = []
        for target in targets:
            home = self._tree.smallest_clique(target)
            found.append(self._onto(potentials[home], self.cliques[home], target, log_sum))
        return Beliefs(found, log_z, np.ones(log_z.shape, dtype=bool))

    def log_z(self, tables: Tables) -> Floats:
        """The log of the sum of the products of all tables."""
        return self._whole(self._collected(tables, log_sum)[0])

    def _whole(self, potentials: list[Floats]) -> Floats:
        if not potentials:
            return np.zeros((1, 1))
        return log_sum(potentials[0], tuple(range(len(self.cliques[0]))))

    def most_probable(self, tables: Tables) -> NDArray[np.int64]:
        """The jointly best state of each variable (a line each) in each row; of equals a lower one. One component."""
        potentials, _ = self._collected(tables, lambda x, axes: x.max(axis=axes))
        n_rows = max((potential.shape[-2] for potential in potentials), default=1)
        states = np.zeros((len(self.cards), n_rows), dtype=np.int64)
        for clique, shared, potential in zip(self.cliques, self._shared, potentials, strict=True):
            free = [v for v in clique if v not in shared]
            if not free:
                continue
            axes = [clique.index(v) for v in (*shared, *free)]
            table = np.broadcast_to(potential[..., 0], (*potential.shape[:-2], n_rows)).transpose(*axes, len(clique))
            # Rows come first, with or without a place of the shared variables to look at.
            here = (*(states[v] for v in shared), ..., np.arange(n_rows))
            table = table[here] if shared else np.moveaxis(table, -1, 0)
            best = table.reshape(n_rows, -1).argmax(axis=1)
            for v, state in zip(free, np.unravel_index(best, [self.cards[v] for v in free]), strict=True):
                states[v] = state
        return states

    def _collected(self, tables: Tables, reduce: Any) -> tuple[list[Floats], list[Floats]]:
        """The cliques with all messages from below, and these messages."""
        potentials: list[Any] = [np.zeros([self.cards[v] for v in clique] + [1, 1]) for clique in self.cliques]
        for scope, table in tables.items():
            home = self._tree.smallest_clique(scope)
            potentials[home] = potentials[home] + self._aligned(table, scope, self.cliques[home])
        upward: list[Any] = [None] * len(self.cliques)
        for i in range(len(self.cliques) - 1, 0, -1):
            above = self.parent[i]
            upward[i] = self._onto(potentials[i], self.cliques[i], self._shared[i], reduce)
            potentials[above] = potentials[above] + self._aligned(upward[i], self._shared[i], self.cliques[above])
        return potentials, upward

    def _aligned(self, table: Floats, scope: Scope, clique: Scope) -> Floats:
        return table.reshape([self.cards[v] if v in scope else 1 for v in clique] + list(table.shape[-2:]))

    def _onto(self, table: Floats, clique: Scope, scope: Scope, reduce: Any) -> Floats:
        axes = tuple(i for i, v in enumerate(clique) if v not in scope)
        return reduce(table, axes) if axes else table


def log_sum(x: Floats, axes: tuple[int, ...]) -> Floats:
    """The log of the sum of exp over some axes."""
    top = x.max(axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(x - top).sum(axis=axes)) + top.squeeze(axis=axes))


class Loops:
    """Loopy belief propagation on tables with known scopes, each row with its own numbers."""

    def __init__(self, scopes: Iterable[Scope], cards: Sequence[int]) -> None:
        self.cards = tuple(cards)
        self.scopes = sorted(scope for scope in scopes if len(scope) > 1)
        factors = [Factor(scope, np.ones([cards[v] for v in scope])) for scope in self.scopes]
        self._graph = LoopyProgram(factors, cards)._graph

    def beliefs(self, tables: Tables, targets: Sequence[Scope], maximise: bool = False) -> Beliefs:
        """The beliefs of the targets, single variables, scaled to the Bethe estimate of log P(evidence)."""
        from bntk.classifiers.multidim.kernels import propagate

        n_rows = max((table.shape[-2] for table in tables.values()), default=1)
        n_components = max((table.shape[-1] for table in tables.values()), default=1)
        numbers, likelihood = self._numbers(tables, n_rows), self._likelihoods(tables, n_rows, n_components)
        found = np.empty(likelihood.shape)
        changes, log_z = np.empty((n_rows, n_components)), np.empty((n_rows, n_components))

        def work(span: tuple[int, int]) -> None:
            part = slice(*span)
            propagate(
                self._graph, numbers[part], likelihood[part], maximise, LOOPY_ROUNDS, LOOPY_TOLERANCE,
                found[part], changes[part], log_z[part],
            )  # fmt: skip

        run_parallel(work, spans(n_rows, -(-n_rows // LOOPY_ROWS)))
        found += log_z[..., None]
        starts = [*self._graph.state_start.tolist(), sum(self.cards)]
        marginals = [np.moveaxis(found[..., starts[v] : starts[v + 1]], -1, 0) for (v,) in targets]
        return Beliefs(marginals, log_z, changes <= LOOPY_TOLERANCE)

    def log_z(self, tables: Tables) -> Floats:
        """The Bethe estimate of the log of the sum of the products of all tables."""
        return self.beliefs(tables, []).log_z

    def _numbers(self, tables: Tables, n_rows: int) -> Floats:
        """The log tables of several variables, a line for each row."""
        numbers = np.empty((n_rows, int(self._graph.table_start[-1])))
        for i, scope in enumerate(self.scopes):
            table = tables[scope][..., 0].reshape(-1, tables[scope].shape[-2]).T
            numbers[:, self._graph.table_start[i] : self._graph.table_start[i + 1]] = _possible(table)
        return numbers

    def _likelihoods(self, tables: Tables, n_rows: int, n_components: int) -> Floats:
        """The log tables of single variables, (rows, components, states)."""
        likelihood = np.zeros((n_rows, n_components, sum(self.cards)))
        starts = [*self._graph.state_start.tolist(), sum(self.cards)]
        for scope, table in tables.items():
            if len(scope) == 1:
                likelihood[..., starts[scope[0]] : starts[scope[0] + 1]] = _possible(np.moveaxis(table, 0, -1))
        return likelihood


def _possible(logs: Floats) -> Floats:
    from bntk.classifiers.multidim.kernels import IMPOSSIBLE

    return np.maximum(logs, IMPOSSIBLE)

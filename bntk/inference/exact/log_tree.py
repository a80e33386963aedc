"""Junction trees in log space for tables that differ by row, and by component of a mixture.

The other engines of this room hold one set of tables for all rows. Here each row may have its own: a table has one axis
per variable of its scope, in ascending order, then one for rows and one for the components of a mixture; either of
these may have the length 1, for all rows or components alike. All sums are of logs, so that the product of thousands of
tables cannot make a row underflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk.inference.exact.junction import Scope, junction_tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Tables = dict[Scope, Floats]
Reduce = Callable[[Floats, tuple[int, ...]], Floats]

#: A sum of numbers of which the largest was scaled to 1 is exact enough where it is at least this.
LEAST_SUM = 1e-200


class LogBeliefs(NamedTuple):
    """log P(scope, evidence) of each scope of a query, with axes for rows and components; log P(evidence)."""

    log_marginals: list[Floats]
    log_z: Floats
    converged: NDArray[np.bool_]


class LogTree:
    """A junction tree of some variables, for log tables with known scopes.

    Examples
    --------
    Two variables that tend to agree; the second row says more about the first of them:

    >>> tree = LogTree([(0, 1), (0,)], cards=[2, 2], variables=[0, 1])
    >>> agree = np.log([[0.4, 0.1], [0.1, 0.4]])[..., None, None]
    >>> by_row = np.log([[0.5, 0.9], [0.5, 0.1]])[..., None]
    >>> found = tree.beliefs({(0, 1): agree, (0,): by_row}, [(1,)])
    >>> np.exp(found.log_marginals[0] - found.log_z)[..., 0].round(2)
    array([[0.5 , 0.74],
           [0.5 , 0.26]])
    """

    def __init__(self, scopes: Iterable[Scope], cards: Sequence[int], variables: Sequence[int]) -> None:
        self.cards, self._tree = tuple(cards), junction_tree(scopes, cards, variables)
        self.cliques = [tuple(sorted(clique)) for clique in self._tree.cliques]
        self.entries = sum(self._tree.sizes)
        self._separators = [tuple(sorted(separator)) for separator in self._tree.separators]

    def beliefs(self, tables: Tables, scopes: Sequence[Scope]) -> LogBeliefs:
        """The marginals of some scopes, each of which lies within a clique."""
        potentials, upward = self._collected(tables, log_sum)
        log_z = self._reduced(potentials[0], self.cliques[0], (), log_sum)
        for i in range(1, len(self.cliques)):
            above, separator = self._tree.parent[i], self._separators[i]
            downward = self._reduced(potentials[above], self.cliques[above], separator, log_sum)
            with np.errstate(invalid="ignore"):  # -inf - -inf: what is impossible stays so
                downward = np.nan_to_num(downward - upward[i], nan=-np.inf, neginf=-np.inf, posinf=np.inf)
            potentials[i] = potentials[i] + self._aligned(downward, separator, self.cliques[i])
        homes = [self._tree.smallest_clique(scope) for scope in scopes]
        found = [
            self._reduced(potentials[home], self.cliques[home], scope, log_sum)
            for home, scope in zip(homes, scopes, strict=True)
        ]
        return LogBeliefs(found, log_z, np.ones(log_z.shape, dtype=bool))

    def log_z(self, tables: Tables) -> Floats:
        """The log of the sum of the product of all tables, shape (rows, components)."""
        return self._reduced(self._collected(tables, log_sum)[0][0], self.cliques[0], (), log_sum)

    def most_probable(self, tables: Tables) -> dict[int, Ints]:
        """The jointly best state of each variable, per row; of equals a lower one. Of the first component."""
        potentials, _ = self._collected(tables, lambda table, axes: table.max(axis=axes))
        n_rows = max(potential.shape[-2] for potential in potentials)
        states: dict[int, Ints] = {}
        for clique, separator, potential in zip(self.cliques, self._separators, potentials, strict=True):
            free = [v for v in clique if v not in separator]
            if free:
                axes = [clique.index(v) for v in (*separator, *free)]
                table = np.broadcast_to(potential[..., 0], (*potential.shape[:-2], n_rows))
                table = np.moveaxis(table.transpose(*axes, len(clique)), -1, 0)  # rows first
                given = table[np.arange(n_rows), *(states[v] for v in separator)].reshape(n_rows, -1)
                best = np.unravel_index(given.argmax(axis=1), [self.cards[v] for v in free])
                states.update(zip(free, best, strict=True))
        return states

    def _collected(self, tables: Tables, reduce: Reduce) -> tuple[list[Floats], list[Any]]:
        """The cliques with all messages from below, and these messages."""
        potentials = [np.zeros([*(self.cards[v] for v in clique), 1, 1]) for clique in self.cliques]
        for scope, table in tables.items():
            home = self._tree.smallest_clique(scope)
            potentials[home] = potentials[home] + self._aligned(table, scope, self.cliques[home])
        upward: list[Any] = [None] * len(self.cliques)
        for i in range(len(self.cliques) - 1, 0, -1):
            above, separator = self._tree.parent[i], self._separators[i]
            upward[i] = self._reduced(potentials[i], self.cliques[i], separator, reduce)
            potentials[above] = potentials[above] + self._aligned(upward[i], separator, self.cliques[above])
        return potentials, upward

    def _aligned(self, table: Floats, scope: Scope, clique: Scope) -> Floats:
        return table.reshape([*(self.cards[v] if v in scope else 1 for v in clique), *table.shape[-2:]])

    def _reduced(self, table: Floats, clique: Scope, scope: Scope, reduce: Reduce) -> Floats:
        axes = tuple(i for i, v in enumerate(clique) if v not in scope)
        return reduce(table, axes) if axes else table


class IsolatedVariable:
    """A variable that shares no table with another: a table by row, and one by component of a mixture.

    What is summed per row and component is one product of matrices; only sums that are too small are of logs.
    """

    def __init__(self, by_row: Floats, by_component: Floats, n_rows: int) -> None:
        self._logs = np.broadcast_to(by_row[..., 0].T, (n_rows, len(by_row)))
        self._own_logs = by_component[:, 0, :]
        top = self._logs.max(axis=1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        self._plain, self._own = np.exp(self._logs - top), np.exp(self._own_logs)
        # Not by matmul: there the last digit of a row can depend on which rows are beside it.
        self._sums = np.einsum("rs,sk->rk", self._plain, self._own)
        self._low = np.nonzero(self._sums < LEAST_SUM)
        self._sums[self._low] = 1.0
        self.log_z = np.log(self._sums) + top
        self._exact = self._logs[self._low[0]] + self._own_logs[:, self._low[1]].T
        self.log_z[self._low] = log_sum(self._exact, (1,))

    def marginal(self, components: Floats) -> Floats:
        """The probabilities of its states, (rows, states), with those of the components in each row."""
        weights = components / self._sums
        weights[self._low] = 0.0
        found: Floats = self._plain * np.einsum("rk,sk->rs", weights, self._own)
        total = self.log_z[self._low]
        exact = np.exp(self._exact - np.where(np.isfinite(total), total, np.inf)[:, None])
        np.add.at(found, self._low[0], components[self._low][:, None] * exact)
        return found

    def most_probable(self) -> Ints:
        """The best state per row; of equals the lowest. Of the first component."""
        return (self._logs + self._own_logs[:, 0]).argmax(axis=1)


def log_sum(logs: Floats, axes: tuple[int, ...]) -> Floats:
    """The log of the sum of exp over some axes."""
    top = logs.max(axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - top).sum(axis=axes)) + top.squeeze(axis=axes))


def normalised(logs: Floats, axis: int) -> Floats:
    """Probabilities from logs, which sum to one along an axis; equal ones where nothing is possible."""
    top = logs.max(axis=axis, keepdims=True)
    possible = np.isfinite(top)
    values = np.exp(np.where(possible, logs, 0.0) - np.where(possible, top, 0.0))
    return np.asarray(values / values.sum(axis=axis, keepdims=True))


def log(values: Floats) -> Floats:
    """The logs of probabilities, some of which may be zero."""
    with np.errstate(divide="ignore"):
        return np.log(values)

"""Loopy belief propagation where each row has its own tables, in log space.

For the tables of :mod:`bntk.inference.exact.log_tree`, where a junction tree of them would be too large.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bntk._threads import run_parallel, spans
from bntk.inference.approximate.loopy import factor_graph
from bntk.inference.exact.junction import Scope
from bntk.inference.exact.log_tree import Floats, Ints, LogBeliefs, Tables

#: Sweeps over all factors before a row is given up, and the change of a message that counts as none.
MAX_SWEEPS, TOLERANCE = 200, 1e-6
#: Rows that one thread propagates at a time.
ROWS_AT_ONCE = 32


class LogLoopy:
    """Loopy belief propagation among some variables, for log tables with known scopes; exact without loops.

    Only the tables of single variables may differ by component.
    """

    def __init__(self, scopes: Iterable[Scope], cards: Sequence[int], variables: Sequence[int]) -> None:
        self.scopes = sorted(scope for scope in scopes if len(scope) > 1)
        place = {v: i for i, v in enumerate(variables)}
        mine = [cards[v] for v in variables]
        self._graph = factor_graph([tuple(place[v] for v in scope) for scope in self.scopes], mine)
        ends = np.cumsum(mine).tolist()
        self._states = {v: slice(end - cards[v], end) for v, end in zip(variables, ends, strict=True)}
        self._n_states = sum(mine)

    def beliefs(self, tables: Tables, scopes: Sequence[Scope], maximise: bool = False) -> LogBeliefs:
        """The beliefs of single variables, scaled to the Bethe estimate of log P(evidence)."""
        from bntk.inference.approximate.log_loopy_kernels import IMPOSSIBLE, propagate

        n_rows = max((table.shape[-2] for table in tables.values()), default=1)
        n_components = max((table.shape[-1] for table in tables.values()), default=1)
        numbers = np.empty((n_rows, int(self._graph.table_start[-1])))
        for scope, first, end in zip(self.scopes, self._graph.table_start, self._graph.table_start[1:], strict=False):
            numbers[:, first:end] = tables[scope][..., 0].reshape(end - first, -1).T
        likelihood = np.zeros((n_rows, n_components, self._n_states))
        for scope, table in tables.items():
            if len(scope) == 1:
                likelihood[..., self._states[scope[0]]] = np.moveaxis(table, 0, -1)
        for logs in (numbers, likelihood):
            np.maximum(logs, IMPOSSIBLE, out=logs)
        found, changes, log_z = np.empty(likelihood.shape), *np.empty((2, n_rows, n_components))

        def work(span: tuple[int, int]) -> None:
            rows = slice(*span)
            ends = (found[rows], changes[rows], log_z[rows])
            propagate(self._graph, numbers[rows], likelihood[rows], maximise, MAX_SWEEPS, TOLERANCE, *ends)

        run_parallel(work, spans(n_rows, -(-n_rows // ROWS_AT_ONCE)))
        found += log_z[..., None]
        marginals = [np.moveaxis(found[..., self._states[v]], -1, 0) for (v,) in scopes]
        return LogBeliefs(marginals, log_z, changes <= TOLERANCE)

    def log_z(self, tables: Tables) -> Floats:
        """The Bethe estimate of the log of the sum of the product of all tables, shape (rows, components)."""
        return self.beliefs(tables, []).log_z

    def most_probable(self, tables: Tables) -> dict[int, Ints]:
        """The state of each variable that max-product points at, per row; of equals the lowest."""
        found = self.beliefs(tables, [(v,) for v in self._states], maximise=True).log_marginals
        return {v: belief[..., 0].argmax(axis=0) for v, belief in zip(self._states, found, strict=True)}

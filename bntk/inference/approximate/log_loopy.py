"""Loopy belief propagation where each row has its own tables.

For the tables of :mod:`bntk.inference.exact.log_tree`, where a junction tree of them would be too large.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bntk.inference.approximate.loopy import LoopySettings, factor_graph, propagate, scaled_tables
from bntk.inference.exact.junction import Scope
from bntk.inference.exact.log_tree import Floats, Ints, LogBeliefs, Tables

#: Coarser than for one evidence set, as there are many rows and components.
SETTINGS = LoopySettings(max_iter=200, tolerance=1e-6, schedule="sweeping")


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
        n_rows = max((table.shape[-2] for table in tables.values()), default=1)
        n_components = max((table.shape[-1] for table in tables.values()), default=1)
        numbers = np.empty((n_rows, int(self._graph.table_start[-1])))
        for scope, first, end in zip(self.scopes, self._graph.table_start, self._graph.table_start[1:], strict=False):
            numbers[:, first:end] = tables[scope][..., 0].reshape(end - first, -1).T
        likelihood = np.zeros((n_rows, n_components, self._n_states))
        for scope, table in tables.items():
            if len(scope) == 1:
                likelihood[..., self._states[scope[0]]] = np.moveaxis(table, 0, -1)
        scaled, lost = scaled_tables(self._graph, numbers)
        found, _, changes, log_z = propagate(self._graph, scaled, likelihood, maximise, SETTINGS)
        log_z = log_z + lost[:, None]
        found += log_z[..., None]
        marginals = [np.moveaxis(found[..., self._states[v]], -1, 0) for (v,) in scopes]
        return LogBeliefs(marginals, log_z, (changes >= 0) & (changes <= SETTINGS.tolerance))

    def log_z(self, tables: Tables) -> Floats:
        """The Bethe estimate of the log of the sum of the product of all tables, shape (rows, components)."""
        return self.beliefs(tables, []).log_z

    def most_probable(self, tables: Tables) -> dict[int, Ints]:
        """The state of each variable that max-product points at, per row; of equals the lowest."""
        found = self.beliefs(tables, [(v,) for v in self._states], maximise=True).log_marginals
        return {v: belief[..., 0].argmax(axis=0) for v, belief in zip(self._states, found, strict=True)}

"""The families of a network as tables over few open variables, one per row.

Given the observed cells of a row, each family is a log table over those of its members that are open: the targets of
the query, and missing variables above an observed one or a target. Families with the same open members share one table.
So a thousand observed variables become a handful of tables. A missing variable below which nothing is observed sums to
one and adds nothing.

Tables are as in :mod:`bntk.inference.exact.log_tree`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk.inference.exact.junction import Scope
from bntk.inference.exact.log_tree import Floats, Tables, log
from bntk.network import BayesianNetwork

Codes = NDArray[Any]


class OpenTables(NamedTuple):
    """The tables of rows by scope, those that all rows share, and what families without open members add per row."""

    by_row: Tables
    shared: Tables
    constant: Floats


class Reduction:
    """The families of a network, ready to be reduced.

    Parameters
    ----------
    network : BayesianNetwork
    targets : collection of int
        Variables that are open in every row.
    instead : mapping of scope to log table, optional
        What takes the place of the targets' own families, such as the components of a mixture.
    """

    def __init__(self, network: BayesianNetwork, targets: Collection[int], instead: Mapping[Scope, Floats] | None):
        self.targets, self._instead = [*targets], dict(instead or {})
        self.cards = tuple(variable.n_states for variable in network.variables)
        self._missing = np.array(self.cards)[:, None]
        parents, fixed = network.dag.parent_indices, {*targets} if instead is not None else set()
        self._families = [
            ((*parents[child], child), log(cpt.values))
            for child, cpt in enumerate(network.cpts)
            if child not in fixed
        ]  # fmt: skip
        self._children = network.dag.child_indices
        order = reversed(network.dag.topological_indices)
        self._upwards = [v for v in order if self._children[v] and v not in {*targets}]

    def missing_between(self, codes: Codes) -> NDArray[np.bool_]:
        """Where a variable is missing above an observed one or a target, with only missing ones between them."""
        known = codes != self._missing
        known[self.targets] = True
        needed = np.zeros(codes.shape, dtype=bool)
        for v in self._upwards:
            below = list(self._children[v])
            needed[v] = ~known[v] & (known[below] | needed[below]).any(axis=0)
        return needed

    def opened_in_all(self, needed: NDArray[np.bool_], codes: Codes) -> frozenset[int]:
        """The variables to be opened for all of some rows: those needed, and any missing ones above these."""
        opened = {*np.flatnonzero(needed.any(axis=1)).tolist()}
        missing = (codes == self._missing).any(axis=1)
        for v in self._upwards:
            if missing[v] and not opened.isdisjoint(self._children[v]):
                opened.add(v)
        return frozenset(opened)

    def scopes(self, opened: Collection[int]) -> set[Scope]:
        """The scopes of :meth:`tables`."""
        is_open = {*self.targets, *opened}
        found = {_open_members(members, is_open) for members, _ in self._families}
        return {*found, *self._instead, *((v,) for v in is_open)} - {()}

    def tables(self, codes: Codes, opened: Collection[int] = ()) -> OpenTables:
        """The tables of rows of codes, one code per variable; where an open variable is observed, it is a finding."""
        is_open = {*self.targets, *opened}
        found = OpenTables({}, dict(self._instead), np.zeros(codes.shape[1]))
        for members, log_values in self._families:
            scope = _open_members(members, is_open)
            flat = self._given_rows(members, log_values, scope, codes)
            if not scope:
                found.constant[:] += flat[0]
            else:
                self._add(found.by_row if len(scope) < len(members) else found.shared, scope, flat)
        for v in sorted(is_open):
            if (codes[v] != self.cards[v]).any():
                possible = np.vstack([log(np.eye(self.cards[v])), np.zeros(self.cards[v])])
                self._add(found.by_row, (v,), possible[codes[v]].T)
        return found

    def _add(self, tables: Tables, scope: Scope, flat: Floats) -> None:
        table = flat.reshape(*(self.cards[v] for v in scope), -1, 1)
        tables[scope] = tables[scope] + table if scope in tables else table

    def _given_rows(self, members: Scope, log_values: Floats, scope: Scope, codes: Codes) -> Floats:
        """The table of a family over its open members, flat, per row; zero where another member is missing."""
        closed = [v for v in members if v not in scope]
        axes = [members.index(v) for v in (*scope, *closed)]
        flat = log_values.transpose(axes).reshape(math.prod(self.cards[v] for v in scope), -1)
        if not closed:
            return flat
        place = np.zeros(codes.shape[1], dtype=np.intp)
        unknown = np.zeros(codes.shape[1], dtype=bool)
        for v in closed:
            place = place * self.cards[v] + codes[v]
            unknown |= codes[v] == self.cards[v]
        place[unknown] = flat.shape[1]
        return np.take(np.concatenate([flat, np.zeros((len(flat), 1))], axis=1), place, axis=1)


def _open_members(members: Scope, is_open: Collection[int]) -> Scope:
    return tuple(sorted(v for v in members if v in is_open))

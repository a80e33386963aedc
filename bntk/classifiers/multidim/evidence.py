"""What the features of rows say about the classes: tables over few classes, one for each row.

Given the features, only the classes are open. A feature whose parents are the classes S adds its log probability to a
table over S, and features with the same S share that table. So a thousand features become a handful of tables, and
inference is about the classes alone. A missing feature adds nothing, unless a feature below it is observed: then it is
one more open variable.

Tables have one axis for each variable of their scope, in ascending order, and then one for rows and one for the
components of a mixture; either of these may have the length 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk.cpt import CPT
from bntk.network import BayesianNetwork

Floats = NDArray[np.float64]
Scope = tuple[int, ...]
Tables = dict[Scope, Floats]


class _Family(NamedTuple):
    """A feature's log table, with the axes of its members."""

    child: int
    members: Scope
    log_values: Floats


class FeatureEvidence:
    """The tables of the features of a network, whose nodes are the features and then the classes."""

    def __init__(self, network: BayesianNetwork, n_features: int) -> None:
        self.n_features = n_features
        self.cards = tuple(variable.n_states for variable in network.variables)
        self._families = []
        self._children: list[list[int]] = [[] for _ in range(n_features)]
        for child, parents in enumerate(network.dag.parent_indices[:n_features]):
            for parent in parents:
                if parent < n_features:
                    self._children[parent].append(child)
            if parents:
                self._families.append(_Family(child, (*parents, child), log(network.cpts[child].values)))
        self._alone = {child: log(cpt.values) for child, cpt in enumerate(network.cpts[:n_features]) if not cpt.parents}
        order = [node for node in network.dag.topological_indices if node < n_features]
        self._upwards = [feature for feature in reversed(order) if self._children[feature]]

    def scopes(self, opened: frozenset[int]) -> set[Scope]:
        """The scopes of :meth:`tables`."""
        found = {self._open_members(family, opened) for family in self._families}
        return {*found, *((feature,) for feature in opened)} - {()}

    def _open_members(self, family: _Family, opened: frozenset[int]) -> Scope:
        return tuple(sorted(v for v in family.members if v >= self.n_features or v in opened))

    def missing_between(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        """Where a feature is missing and some feature below it is not, with only missing ones between them."""
        seen = codes != np.array(self.cards[: self.n_features])[:, None]
        needed = np.zeros(codes.shape, dtype=bool)
        for feature in self._upwards:
            below = self._children[feature]
            needed[feature] = ~seen[feature] & (seen[below] | needed[below]).any(axis=0)
        return needed

    def closed_upwards(self, needed: NDArray[np.bool_], codes: NDArray[Any]) -> frozenset[int]:
        """The features to be opened for all of some rows: those needed, and any missing ones above these."""
        opened: NDArray[np.bool_] = np.asarray(needed.any(axis=1))
        holes = (codes == np.array(self.cards[: self.n_features])[:, None]).any(axis=1)
        for feature in self._upwards:
            opened[feature] |= holes[feature] and bool(opened[self._children[feature]].any())
        return frozenset(np.flatnonzero(opened).tolist())

    def tables(self, codes: NDArray[Any], opened: frozenset[int] = frozenset()) -> tuple[Tables, Floats]:
        """The tables of rows, by scope, and what features that no open variable explains add to each row."""
        constant = np.zeros(codes.shape[1])
        for feature, log_values in self._alone.items():
            if feature not in opened:
                constant += np.append(log_values, 0.0)[codes[feature]]
        sums: Tables = {}
        for family in self._families:
            scope = self._open_members(family, opened)
            part = self._given_rows(family, scope, codes)
            if not scope:
                constant += part[0]
            elif scope in sums:
                sums[scope] += part
            else:
                sums[scope] = part
        for feature in opened:
            known = np.concatenate([log(np.eye(self.cards[feature])), np.zeros((1, self.cards[feature]))])
            base = self._alone.get(feature, np.zeros(1))
            part = (known + base)[codes[feature]].T
            sums[feature,] = sums[feature,] + part if (feature,) in sums else part
        shaped = {scope: table.reshape(*(self.cards[v] for v in scope), -1, 1) for scope, table in sorted(sums.items())}
        return shaped, constant

    def _given_rows(self, family: _Family, scope: Scope, codes: NDArray[Any]) -> Floats:
        """The log table of a feature over its open members, flat, in each row; zero where the feature is missing."""
        closed = [v for v in family.members if v not in scope]
        axes = [family.members.index(v) for v in (*scope, *closed)]
        size = int(np.prod([self.cards[v] for v in scope]))
        flat = family.log_values.transpose(axes).reshape(size, -1)
        if not closed:
            return np.repeat(flat, codes.shape[1], axis=1)
        place = np.zeros(codes.shape[1], dtype=np.intp)
        unknown = np.zeros(codes.shape[1], dtype=bool)
        for v in closed:
            place = place * self.cards[v] + codes[v]
            unknown |= codes[v] == self.cards[v]
        place[unknown] = flat.shape[1]
        return np.take(np.concatenate([flat, np.zeros((size, 1))], axis=1), place, axis=1)


def class_tables(cpts: Iterable[CPT], at: dict[str, int]) -> Tables:
    """The log tables of classes given classes, the same for all rows; those of the same scope as one."""
    sums: Tables = {}
    for cpt in cpts:
        members = [at[variable.name] for variable in cpt.family]
        scope = tuple(sorted(members))
        table = log(cpt.values).transpose([members.index(v) for v in scope])[..., None, None]
        sums[scope] = sums[scope] + table if scope in sums else table
    return sums


def log(values: Floats) -> Floats:
    """The logs of probabilities, some of which may be zero."""
    with np.errstate(divide="ignore"):
        return np.log(values)

"""The posterior of several classes given the features of rows, of one network or of a mixture that shares its features.

The classes' own tables may have several components, as the members of an average do; what the features say is the same
for all of them. What is asked is answered exactly where the junction tree of the classes is small enough, and else by
loopy belief propagation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk.classifiers.multidim.beliefs import ENTRIES_AT_ONCE, LogTree, Loops, log_sum
from bntk.classifiers.multidim.evidence import FeatureEvidence, Floats, Scope, Tables
from bntk.errors import TooLargeError

#: Rows whose features are looked up at a time.
ROWS_AT_ONCE = 4096
#: For how many sets of open variables the plan is kept.
KEPT_PLANS = 64

Codes = NDArray[Any]


class ClassPosterior:
    """Inference about classes, given rows of features.

    Parameters
    ----------
    evidence : FeatureEvidence
    tables : dict
        The log tables of the classes among themselves, by scope.
    log_weights : array of shape (n_components,)
        Of the components of these tables.
    max_entries : int
        Exact inference may cost so many entries of cliques a row.
    """

    def __init__(self, evidence: FeatureEvidence, tables: Tables, log_weights: Floats, max_entries: int) -> None:
        self.evidence, self.tables, self.log_weights = evidence, tables, log_weights
        self.max_entries = max_entries
        self.classes = tuple(range(evidence.n_features, len(evidence.cards)))
        self._plans: dict[tuple[frozenset[int], bool], _Plan] = {}

    def plan(self, opened: frozenset[int] = frozenset(), together: bool = False) -> _Plan:
        """How rows are answered in which these features are open, beside the classes (all in one clique if together).

        What is planned is kept.
        """
        key = (opened, together)
        if key not in self._plans:
            if len(self._plans) >= KEPT_PLANS:
                self._plans.pop(next(iter(self._plans)))
            scopes = {*self.evidence.scopes(opened), *self.tables, *((c,) for c in self.classes)}
            if together:
                scopes.add(self.classes)
            most = self.max_entries // len(self.log_weights)
            self._plans[key] = _Plan(scopes, sorted((*opened, *self.classes)), self.evidence.cards, most)
        return self._plans[key]

    def describe(self) -> str:
        """How rows without missing features are answered."""
        plan, n = self.plan(), len(self.log_weights)
        times = f" for each of {n:,} components" if n > 1 else ""
        if plan.exact:
            return f"exact: the cliques of the classes have {plan.entries:,} entries{times}"
        return (
            f"loopy belief propagation: the cliques of the classes would have {plan.entries:,} entries{times}, over "
            f"the limit of {self.max_entries:,} (max_entries)"
        )

    # ---- answers -----------------------------------------------------------------------------------------------------

    def marginals(self, codes: Codes) -> list[Floats]:
        """The posterior of each class, shape (n_rows, states); equal numbers where a row is impossible."""
        cards = [self.evidence.cards[c] for c in self.classes]
        found = [np.empty((codes.shape[1], card)) for card in cards]
        for rows, plan, tables, _ in self._pieces(codes):
            beliefs = plan.engine.beliefs(tables, plan.places([(c,) for c in self.classes]))
            for out, log_marginal in zip(found, beliefs.log_marginals, strict=True):
                out[rows] = _normalised(self._mixed(log_marginal)).T
        return found

    def most_probable(self, codes: Codes) -> NDArray[np.int64]:
        """The jointly most probable states of the classes, shape (n_classes, n_rows), of a single component.

        Missing features are summed out; where there are too many classes for that and a missing feature has an observed
        one below it, it is maximised with the classes.
        """
        found = np.empty((len(self.classes), codes.shape[1]), dtype=np.int64)
        for rows, plan, tables, _ in self._pieces(codes):
            places = plan.places([(c,) for c in self.classes])
            opened = frozenset(plan.variables) - {*self.classes}
            if opened and self.plan(opened, together=True).exact:  # missing features are to be summed out first
                found[:, rows] = self._best_of_joint(codes[:, rows])
            elif isinstance(plan.engine, LogTree):
                found[:, rows] = plan.engine.most_probable(tables)[[place for (place,) in places]]
            else:
                beliefs = plan.engine.beliefs(tables, places, maximise=True)
                found[:, rows] = [log_marginal[..., 0].argmax(axis=0) for log_marginal in beliefs.log_marginals]
        return found

    def _best_of_joint(self, codes: Codes) -> Any:
        shape = [self.evidence.cards[c] for c in self.classes]
        return np.unravel_index(self.log_joint_table(codes).argmax(axis=1), shape)

    def log_joint_table(self, codes: Codes) -> Floats:
        """log P(classes, features) of all joint states of the classes, (n_rows, states); the last changes first."""
        size = math.prod(self.evidence.cards[c] for c in self.classes)
        found = np.empty((codes.shape[1], size))
        for rows, plan, tables, constant in self._pieces(codes, together=True):
            if not isinstance(plan.engine, LogTree):
                raise TooLargeError(
                    f"the {len(self.classes)} classes have {size:,} joint states, and with them the cliques "
                    f"{plan.entries:,} entries, over the limit of {self.max_entries:,} (max_entries)"
                )
            beliefs = plan.engine.beliefs(tables, plan.places([self.classes]))
            found[rows] = self._mixed(beliefs.log_marginals[0]).reshape(size, -1).T + constant[:, None]
        return found

    def log_likelihood(self, codes: Codes, labels: Codes) -> Floats:
        """log P(observed labels and features) in each row."""
        found = np.empty(codes.shape[1])
        for rows, plan, tables, constant in self._pieces(codes, labels):
            if isinstance(plan.engine, LogTree):
                log_z = plan.engine.log_z(tables)
            else:
                log_z = plan.engine.beliefs(tables, []).log_z
            found[rows] = self._mixed(log_z) + constant
        return found

    def _mixed(self, logs: Floats) -> Floats:
        """Without the last axis, the components."""
        weighted = logs + self.log_weights
        return weighted[..., 0] if weighted.shape[-1] == 1 else log_sum(weighted, (logs.ndim - 1,))

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _pieces(
        self, codes: Codes, labels: Codes | None = None, together: bool = False
    ) -> Iterator[tuple[NDArray[np.intp], _Plan, Tables, Floats]]:
        """Rows with what is to be done with them: their plan, all tables, and a log constant."""
        for rows, opened in self._groups(codes, together):
            plan = self.plan(opened, together)
            size = max(1, ENTRIES_AT_ONCE // (plan.entries * len(self.log_weights))) if plan.exact else ROWS_AT_ONCE
            for first in range(0, len(rows), ROWS_AT_ONCE):
                many = rows[first : first + ROWS_AT_ONCE]
                tables, constant = self.evidence.tables(codes[:, many], opened)
                for scope, table in (_clamped(labels[:, many], self) if labels is not None else {}).items():
                    tables[scope] = tables[scope] + table if scope in tables else table
                for start in range(0, len(many), size):
                    part = slice(start, start + size)
                    yield many[part], plan, self._all_tables(tables, part, plan), constant[part]

    def _all_tables(self, tables: Tables, part: slice, plan: _Plan) -> Tables:
        mine = {scope: table[..., part, :] for scope, table in tables.items()}
        for scope, table in self.tables.items():
            mine[scope] = mine[scope] + table if scope in mine else table
        return {plan.place(scope): table for scope, table in mine.items()}

    def _groups(self, codes: Codes, together: bool) -> Iterator[tuple[NDArray[np.intp], frozenset[int]]]:
        """Rows that can be answered together, and the missing features that are open in them.

        Where a tree for all missing features is too large, rows that lack the same ones are answered together, so that
        the answer for a row never depends on other rows.
        """
        needed = self.evidence.missing_between(codes)
        open_rows = needed.any(axis=0)
        if not open_rows.all():
            yield np.flatnonzero(~open_rows), frozenset()
        if not open_rows.any():
            return
        rows = np.flatnonzero(open_rows)
        opened = self.evidence.closed_upwards(needed[:, rows], codes[:, rows])
        if self.plan(opened, together).exact:
            yield rows, opened
            return
        patterns, which = np.unique(needed[:, rows], axis=1, return_inverse=True)
        for number, pattern in enumerate(patterns.T):
            yield rows[which == number], frozenset(np.flatnonzero(pattern).tolist())


class _Plan:
    """The engine for a set of open variables, which it knows by their places among these."""

    engine: LogTree | Loops

    def __init__(self, scopes: set[Scope], variables: Sequence[int], cards: Sequence[int], most: int) -> None:
        self.variables = variables
        self._places = {v: i for i, v in enumerate(variables)}
        mine = sorted(self.place(scope) for scope in scopes)
        sizes = [cards[v] for v in variables]
        tree = LogTree(mine, sizes, range(len(variables)))
        self.entries, self.exact = tree.entries, tree.entries <= most
        self.engine = tree if self.exact else Loops(mine, sizes)

    def place(self, scope: Scope) -> Scope:
        return tuple(self._places[v] for v in scope)

    def places(self, scopes: Sequence[Scope]) -> list[Scope]:
        return list(map(self.place, scopes))


def _clamped(labels: Codes, posterior: ClassPosterior) -> Tables:
    """Tables that leave only the observed labels possible; all where the label is missing."""
    tables: Tables = {}
    for c, codes in zip(posterior.classes, labels, strict=True):
        card = posterior.evidence.cards[c]
        possible = np.full((card + 1, card), -np.inf)
        np.fill_diagonal(possible, 0.0)
        possible[card] = 0.0
        tables[c,] = possible[codes].T[..., None]
    return tables


def _normalised(logs: Floats) -> Floats:
    """Probabilities from logs, over the first axis; equal ones where nothing is possible."""
    top = logs.max(axis=0)
    impossible = ~np.isfinite(top)
    values = np.exp(logs - np.where(impossible, 0.0, top))
    values[:, impossible] = 1.0
    return np.asarray(values / values.sum(axis=0))

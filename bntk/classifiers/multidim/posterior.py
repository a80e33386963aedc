"""The posterior of several classes given the features of rows, of one network or of a mixture that shares its features.

The classes' own tables may have several components, as the members of an average do; what the features say is the same
for all of them. What is asked is answered exactly where the junction tree of the classes is small enough, and else by
loopy belief propagation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._threads import run_parallel
from bntk.classifiers.multidim.beliefs import ENTRIES_AT_ONCE, Alone, LogTree, Loops, log_sum
from bntk.classifiers.multidim.evidence import FeatureEvidence, Floats, Scope, Tables
from bntk.errors import TooLargeError

#: Rows whose features are looked up at a time.
ROWS_AT_ONCE = 4096
#: For how many sets of open variables the plan is kept.
KEPT_PLANS = 64

Codes = NDArray[Any]
Rows = NDArray[np.intp]
Work = Callable[["_Piece"], None]


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
            self._plans[key] = _Plan(scopes, sorted((*opened, *self.classes)), self.evidence.cards, most, together)
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
        found = [np.empty((codes.shape[1], self.evidence.cards[c])) for c in self.classes]

        def work(piece: _Piece) -> None:
            beliefs = piece.plan.engine.beliefs(piece.linked, linked := piece.plan.linked_among(self.classes))
            weights = sum((one.log_z for one in piece.alone.values()), start=self.log_weights)
            of_linked = dict(zip(linked, beliefs.log_marginals, strict=True))
            components, possible = _component_shares(weights + beliefs.log_z)
            for out, c in zip(found, self.classes, strict=True):
                place = piece.plan.place((c,))
                if place in of_linked:
                    out[piece.rows] = _normalised(_mixed(of_linked[place] + weights)).T
                else:
                    shares = piece.alone[place].shares(components)
                    out[piece.rows] = np.where(possible[:, None], shares, 1.0 / shares.shape[1])

        for rows, opened in self._groups(codes):
            self._answer(codes, rows, opened, work)
        return found

    def most_probable(self, codes: Codes) -> NDArray[np.int64]:
        """The jointly most probable states of the classes, shape (n_classes, n_rows), of a single component.

        Missing features are summed out; where there are too many classes for that and a missing feature has an observed
        one below it, it is maximised with the classes.
        """
        found = np.empty((len(self.classes), codes.shape[1]), dtype=np.int64)

        def work(piece: _Piece) -> None:
            engine, linked = piece.plan.engine, piece.plan.linked_among(self.classes)
            best = {place: one.best() for place, one in piece.alone.items()}
            if isinstance(engine, LogTree):
                states = engine.most_probable(piece.linked)
                best |= {place: states[place[0]] for place in linked}
            else:
                beliefs = engine.beliefs(piece.linked, linked, maximise=True).log_marginals
                best |= {place: belief[..., 0].argmax(axis=0) for place, belief in zip(linked, beliefs, strict=True)}
            for i, c in enumerate(self.classes):
                found[i, piece.rows] = best[piece.plan.place((c,))]

        for rows, opened in self._groups(codes):
            if opened and self.plan(opened, together=True).exact:  # missing features are to be summed out first
                found[:, rows] = self._best_of_joint(codes[:, rows])
            else:
                self._answer(codes, rows, opened, work)
        return found

    def _best_of_joint(self, codes: Codes) -> Any:
        shape = [self.evidence.cards[c] for c in self.classes]
        return np.unravel_index(self.log_joint_table(codes).argmax(axis=1), shape)

    def log_joint_table(self, codes: Codes) -> Floats:
        """log P(classes, features) of all joint states of the classes, (n_rows, states); the last changes first."""
        size = math.prod(self.evidence.cards[c] for c in self.classes)
        found = np.empty((codes.shape[1], size))

        def work(piece: _Piece) -> None:
            beliefs = piece.plan.engine.beliefs(piece.linked, [piece.plan.place(self.classes)])
            joint = _mixed(beliefs.log_marginals[0] + self.log_weights)
            found[piece.rows] = joint.reshape(size, -1).T + piece.constant[:, None]

        for rows, opened in self._groups(codes, together=True):
            plan = self.plan(opened, together=True)
            if not plan.exact:
                raise TooLargeError(
                    f"the {len(self.classes)} classes have {size:,} joint states, and with them the cliques "
                    f"{plan.entries:,} entries, over the limit of {self.max_entries:,} (max_entries)"
                )
            self._answer(codes, rows, opened, work, together=True)
        return found

    def log_likelihood(self, codes: Codes, labels: Codes) -> Floats:
        """log P(observed labels and features) in each row."""
        found = np.empty(codes.shape[1])

        def work(piece: _Piece) -> None:
            engine = piece.plan.engine
            log_z = (
                engine.log_z(piece.linked) if isinstance(engine, LogTree) else engine.beliefs(piece.linked, []).log_z
            )
            for one in piece.alone.values():
                log_z = log_z + one.log_z
            found[piece.rows] = _mixed(log_z + self.log_weights) + piece.constant

        for rows, opened in self._groups(codes):
            self._answer(codes, rows, opened, work, labels)
        return found

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _answer(
        self, codes: Codes, rows: Rows, opened: frozenset[int], work: Work, labels: Codes | None = None,
        together: bool = False,
    ) -> None:  # fmt: skip
        """Do the work for some rows in which the same features are open, in pieces, over the threads in use."""
        plan = self.plan(opened, together)
        size = max(1, ENTRIES_AT_ONCE // (plan.entries * len(self.log_weights))) if plan.exact else ROWS_AT_ONCE
        for first in range(0, len(rows), ROWS_AT_ONCE):
            many = rows[first : first + ROWS_AT_ONCE]
            tables, constant = self.evidence.tables(codes[:, many], opened)
            for scope, table in (_clamped(labels[:, many], self) if labels is not None else {}).items():
                tables[scope] = tables[scope] + table if scope in tables else table
            spans = [slice(start, start + size) for start in range(0, len(many), size)]
            run_parallel(partial(self._work_on, work, plan, many, tables, constant), spans)

    def _work_on(self, work: Work, plan: _Plan, rows: Rows, tables: Tables, constant: Floats, part: slice) -> None:
        by_rows = {plan.place(scope): table[..., part, :] for scope, table in tables.items()}
        shared = {plan.place(scope): table for scope, table in self.tables.items()}
        alone: dict[Scope, Alone] = {}
        for v in sorted(plan.alone):
            nothing = np.zeros((plan.cards[v], 1, 1))
            alone[v,] = Alone(by_rows.pop((v,), nothing), shared.pop((v,), nothing), len(constant[part]))
        for scope, table in shared.items():
            by_rows[scope] = by_rows[scope] + table if scope in by_rows else table
        work(_Piece(rows[part], plan, by_rows, alone, constant[part]))

    def _groups(self, codes: Codes, together: bool = False) -> Iterator[tuple[Rows, frozenset[int]]]:
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
    """The engine for a set of open variables, which it knows by their places among these.

    Variables that share a table with no other need none; they are ``alone``.
    """

    engine: LogTree | Loops

    def __init__(
        self, scopes: set[Scope], variables: Sequence[int], cards: Sequence[int], most: int, together: bool
    ) -> None:
        self.variables = variables
        self._places = {v: i for i, v in enumerate(variables)}
        self.cards = [cards[v] for v in variables]
        mine = sorted(self.place(scope) for scope in scopes)
        linked = {v for scope in mine for v in scope if together or len(scope) > 1}
        self.alone = frozenset(range(len(variables))) - linked
        mine = [scope for scope in mine if scope[0] in linked]
        tree = LogTree(mine, self.cards, sorted(linked))
        self.entries = tree.entries + sum(self.cards[v] for v in self.alone)
        self.exact = self.entries <= most
        self.engine = tree if self.exact else Loops(mine, self.cards)

    def place(self, scope: Scope) -> Scope:
        """The places of variables."""
        return tuple(self._places[v] for v in scope)

    def linked_among(self, variables: Iterable[int]) -> list[Scope]:
        """The places of those variables that are not alone, as scopes."""
        return [(self._places[v],) for v in variables if self._places[v] not in self.alone]


class _Piece(NamedTuple):
    """Some rows with the tables of variables that are linked, and those of variables that are alone."""

    rows: Rows
    plan: _Plan
    linked: Tables
    alone: dict[Scope, Alone]
    constant: Floats


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


def _component_shares(log_weights: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The probability of each component in each row, (rows, components), and which rows are possible at all."""
    top = log_weights.max(axis=-1)
    possible = np.isfinite(top)
    values = np.exp(log_weights - np.where(possible, top, 0.0)[..., None])
    values[~possible] = 1.0
    return values / values.sum(axis=-1, keepdims=True), possible


def _mixed(logs: Floats) -> Floats:
    """Without the last axis, the components."""
    return logs[..., 0] if logs.shape[-1] == 1 else log_sum(logs, (logs.ndim - 1,))


def _normalised(logs: Floats) -> Floats:
    """Probabilities from logs, over the first axis; equal ones where nothing is possible."""
    top = logs.max(axis=0)
    impossible = ~np.isfinite(top)
    values = np.exp(logs - np.where(impossible, 0.0, top))
    values[:, impossible] = 1.0
    return np.asarray(values / values.sum(axis=0))

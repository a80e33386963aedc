"""Several target variables in many rows: their posteriors, most probable states, joint tables and log-likelihoods.

The rows' observed cells are reduced to tables over the targets (:mod:`bntk.inference.elimination.reduction`), which a
junction tree in log space answers exactly where it is small enough, and else loopy belief propagation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._threads import run_parallel
from bntk.inference.approximate.log_loopy import LogLoopy
from bntk.inference.choose import refuse_joint_table, targets_engine
from bntk.inference.elimination.reduction import Codes, OpenTables, Reduction
from bntk.inference.exact.junction import Scope
from bntk.inference.exact.log_tree import Floats, Ints, IsolatedVariable, LogTree, Tables, log_sum, normalised
from bntk.network import BayesianNetwork

#: Rows that are reduced at a time.
ROWS_AT_ONCE = 4096
#: Numbers that one pass over a junction tree may hold; rows are cut into pieces accordingly.
ENTRIES_AT_ONCE = 1 << 21
#: For how many sets of open variables the plan is kept.
KEPT_PLANS = 64

Rows = NDArray[np.intp]
Work = Callable[["_Piece"], None]


class Mixture(NamedTuple):
    """Log tables among the targets, in place of their own families, and the log weights of their components."""

    tables: Tables
    log_weights: Floats


class TargetPosterior:
    """Inference about some variables of a network, given rows of codes with missing values.

    Rows are arrays of shape (n_variables, n_rows); the number of a variable's states is the code of a missing value.
    What a row is answered never depends on other rows.

    Parameters
    ----------
    network : BayesianNetwork
    targets : sequence of int
        Positions of variables.
    max_entries : int
        Inference is exact where the cliques of the open variables have at most so many entries per row.
    mixture : Mixture, optional
        What takes the place of the targets' families. The other families are those of all components.

    Examples
    --------
    >>> import bntk
    >>> asia = bntk.datasets.asia()
    >>> targets = [asia.names.index(name) for name in ("lung", "bronc")]
    >>> both = TargetPosterior(asia, targets, max_entries=1000)
    >>> codes = np.full((8, 1), 2)
    >>> codes[asia.names.index("dysp")] = asia.variable("dysp").states.index("yes")
    >>> [table.round(3).tolist() for table in both.marginals(codes)]
    [[[0.897, 0.103]], [[0.166, 0.834]]]
    """

    def __init__(
        self, network: BayesianNetwork, targets: Sequence[int], max_entries: int, mixture: Mixture | None = None
    ) -> None:
        self.targets, self.max_entries = tuple(targets), max_entries
        self.log_weights: Floats = np.zeros(1) if mixture is None else mixture.log_weights
        self._reduction = Reduction(network, targets, None if mixture is None else mixture.tables)
        self.cards = [self._reduction.cards[v] for v in targets]
        self._plans: dict[tuple[frozenset[int], bool], TargetPlan] = {}

    def plan(self, opened: frozenset[int] = frozenset(), together: bool = False) -> TargetPlan:
        """How rows are answered in which these missing variables are open (all targets in one clique if together)."""
        key = (opened, together)
        if key not in self._plans:
            if len(self._plans) >= KEPT_PLANS:
                self._plans.pop(next(iter(self._plans)))
            scopes = self._reduction.scopes(opened) | ({tuple(sorted(self.targets))} if together else set())
            plan = TargetPlan(scopes, self._reduction.cards, len(self.log_weights), self.max_entries, together)
            self._plans[key] = plan
        return self._plans[key]

    def describe(self) -> str:
        """How rows in which all other variables are observed are answered, and why."""
        return str(self.plan().choice)

    # ---- answers -----------------------------------------------------------------------------------------------------

    def marginals(self, codes: Codes) -> list[Floats]:
        """The posterior of each target, shape (n_rows, states); equal numbers where a row is impossible."""
        found = [np.empty((codes.shape[1], card)) for card in self.cards]

        def work(piece: _Piece) -> None:
            linked = [(v,) for v in self.targets if v not in piece.isolated]
            beliefs = piece.plan.engine.beliefs(piece.linked, linked)
            of_linked = dict(zip(linked, beliefs.log_marginals, strict=True))
            impossible = np.where(np.isneginf(piece.constant), -np.inf, 0.0)[:, None]
            weights = sum((one.log_z for one in piece.isolated.values()), start=self.log_weights + impossible)
            total = weights + beliefs.log_z
            components = normalised(total, axis=1)
            possible = np.isfinite(total.max(axis=1, keepdims=True))
            for table, v in zip(found, self.targets, strict=True):
                if v in piece.isolated:
                    marginal = piece.isolated[v].marginal(components)
                    table[piece.rows] = np.where(possible, marginal, 1.0 / marginal.shape[1])
                else:
                    table[piece.rows] = normalised(_mixed(of_linked[v,] + weights), axis=0).T

        self._answer(codes, work)
        return found

    def most_probable(self, codes: Codes) -> Ints:
        """The jointly most probable states of the targets, shape (n_targets, n_rows), of a single component.

        Missing variables are summed out; where there are too many targets for that and a missing variable is above an
        observed one, it is maximised with the targets.
        """
        found = np.empty((len(self.targets), codes.shape[1]), dtype=np.int64)

        def work(piece: _Piece) -> None:
            best = piece.plan.engine.most_probable(piece.linked)
            best |= {v: one.most_probable() for v, one in piece.isolated.items()}
            for i, v in enumerate(self.targets):
                found[i, piece.rows] = best[v]

        for rows, opened in self._groups(codes):
            if opened and self.plan(opened, together=True).exact:
                joint = self.log_joint_table(codes[:, rows])
                found[:, rows] = np.unravel_index(joint.argmax(axis=1), self.cards)
            else:
                self._answer_group(codes, rows, opened, False, work)
        return found

    def log_joint_table(self, codes: Codes) -> Floats:
        """log P(targets, observed cells) of all joint states of the targets, (n_rows, states), the last fastest."""
        size, order = math.prod(self.cards), np.argsort(self.targets)
        found = np.empty((codes.shape[1], size))

        def work(piece: _Piece) -> None:
            beliefs = piece.plan.engine.beliefs(piece.linked, [tuple(sorted(self.targets))])
            joint = _mixed(beliefs.log_marginals[0] + self.log_weights).transpose(*np.argsort(order), len(order))
            found[piece.rows] = joint.reshape(size, -1).T + piece.constant[:, None]

        self._answer(codes, work, together=True)
        return found

    def log_likelihood(self, codes: Codes) -> Floats:
        """log P(observed cells) per row; targets that are observed are among them."""
        found = np.empty(codes.shape[1])

        def work(piece: _Piece) -> None:
            log_z = piece.plan.engine.log_z(piece.linked)
            log_z = sum((one.log_z for one in piece.isolated.values()), start=log_z)
            found[piece.rows] = _mixed(log_z + self.log_weights) + piece.constant

        self._answer(codes, work)
        return found

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _groups(self, codes: Codes, together: bool = False) -> Iterator[tuple[Rows, frozenset[int]]]:
        """Rows that can be answered together, and the missing variables that are open in them.

        Where a tree for all missing variables is too large, rows that lack the same ones are answered together, so that
        it does not depend on other rows whether a row is answered exactly.
        """
        needed = self._reduction.missing_between(codes)
        some = needed.any(axis=0)
        if not some.all():
            yield np.flatnonzero(~some), frozenset()
        if not some.any():
            return
        rows = np.flatnonzero(some)
        opened = self._reduction.opened_in_all(needed[:, rows], codes[:, rows])
        if self.plan(opened, together).exact:
            yield rows, opened
            return
        patterns, which = np.unique(needed[:, rows], axis=1, return_inverse=True)
        for number, pattern in enumerate(patterns.T):
            yield rows[which == number], frozenset(np.flatnonzero(pattern).tolist())

    def _answer(self, codes: Codes, work: Work, together: bool = False) -> None:
        for rows, opened in self._groups(codes, together):
            self._answer_group(codes, rows, opened, together, work)

    def _answer_group(self, codes: Codes, rows: Rows, opened: frozenset[int], together: bool, work: Work) -> None:
        """Do the work for rows in which the same variables are open, in pieces, over the threads in use."""
        plan = self.plan(opened, together)
        if together:
            refuse_joint_table(plan.choice, len(self.targets), math.prod(self.cards))
        size = max(2, ENTRIES_AT_ONCE // (plan.entries * len(self.log_weights))) if plan.exact else ROWS_AT_ONCE
        for first in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[first : first + ROWS_AT_ONCE]
            # Numpy adds up one row in another order than several, so that no row is alone: it has itself beside it, or
            # the last one of the part before.
            some = np.repeat(some, 2) if len(some) == 1 else some
            tables = self._reduction.tables(codes[:, some], opened)
            parts = [slice(min(start, len(some) - 2), start + size) for start in range(0, len(some), size)]
            run_parallel(partial(self._work_on, work, plan, some, tables), parts)

    def _work_on(self, work: Work, plan: TargetPlan, rows: Rows, tables: OpenTables, part: slice) -> None:
        by_row = {scope: table[..., part, :] for scope, table in tables.by_row.items()}
        shared, constant = dict(tables.shared), tables.constant[part]
        isolated = {}
        for v in sorted(plan.isolated):
            nothing = np.zeros((self._reduction.cards[v], 1, 1))
            isolated[v] = IsolatedVariable(by_row.pop((v,), nothing), shared.pop((v,), nothing), len(constant))
        for scope, table in shared.items():
            by_row[scope] = by_row[scope] + table if scope in by_row else table
        work(_Piece(plan, rows[part], by_row, isolated, constant))


class TargetPlan:
    """The engine for tables of some scopes.

    Attributes
    ----------
    isolated : frozenset of int
        Variables that share a table with no other, which need no engine.
    entries : int
        Of the cliques of exact inference.
    choice : EngineChoice
        Which engine it is, and why.
    """

    engine: LogTree | LogLoopy

    def __init__(
        self, scopes: Collection[Scope], cards: Sequence[int], n_components: int, max_entries: int, together: bool
    ) -> None:
        linked = {v for scope in scopes for v in scope if together or len(scope) > 1}
        self.isolated = frozenset(v for scope in scopes for v in scope) - linked
        mine = sorted(scope for scope in scopes if scope[0] in linked)
        tree = LogTree(mine, cards, sorted(linked))
        self.entries = tree.entries + sum(cards[v] for v in self.isolated)
        self.choice = targets_engine(self.entries, n_components, max_entries)
        self.engine = tree if self.exact or not linked else LogLoopy(mine, cards, sorted(linked))

    @property
    def exact(self) -> bool:
        """Whether the engine is a junction tree."""
        return self.choice.engine == "exact"


class _Piece(NamedTuple):
    """Some rows, with the tables of variables that are linked and those that are not."""

    plan: TargetPlan
    rows: Rows
    linked: Tables
    isolated: dict[int, IsolatedVariable]
    constant: Floats


def _mixed(logs: Floats) -> Floats:
    """Without the last axis, the components."""
    return logs[..., 0] if logs.shape[-1] == 1 else log_sum(logs, (logs.ndim - 1,))

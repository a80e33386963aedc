"""Terms of predictive scores that sum missing cells out exactly.

With the observed cells o of a row, its missing cells m, and the tables theta of the rows that it is predicted from,

    p(c, o) = prod_{f complete in o} theta_f(c, o) * sum_m prod_{f with cells in m} theta_f(c, o, m).

The first product is a sum of the terms of families, as for complete rows. The logarithm of the sum over m is one more
term, which depends on the structure as a whole. Only families in which a cell of the row is missing are in it, and in
these the row is not counted (available cases): when it alone is left out, the tables are those of all rows. So one set
of tables serves all rows of LOO, one for each fold those of CV, and for LC the tables grow row by row.

A change of some families leaves the sums of all rows as they are that are complete in these, before and after.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk._threads import run_parallel
from bntk.data.table import Table
from bntk.data.variable import Variable
from bntk.graph.dag import DAG
from bntk.graph.undirected import sorted_rows
from bntk.inference.choose import MOST
from bntk.inference.elimination.engine import families_around, working_memory
from bntk.inference.elimination.flat import flat_families
from bntk.inference.rows import log_joint_rows
from bntk.learning.counts import TableCounter
from bntk.learning.parameters import fit
from bntk.learning.scores.predictive_kernels import FOLDS, RUNNING
from bntk.learning.scores.predictive_terms import (
    MAX_TERM_ENTRIES,
    Family,
    LabelledRows,
    Matrix,
    Structure,
    Terms,
    Wanted,
    as_ints,
    threads_for,
)
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    from bntk.inference.elimination.elimination_kernels import Families

Ints = NDArray[np.int64]
Marks = NDArray[np.bool_]


class ExactTerms(Terms):
    """A pool of terms in which a family adds nothing where a cell of it is missing, and structures have terms as well.

    The term of a :class:`Structure` is the logarithm of the sums over missing cells, up to a number for each row.

    Parameters
    ----------
    rows : LabelledRows
    names : sequence of str
        For errors.
    """

    def __init__(self, rows: LabelledRows, names: Sequence[str]) -> None:
        super().__init__(rows, names)
        self._missing: Marks = rows.codes == rows.cards[:, None]
        self._incomplete: Marks = self._missing.any(axis=0)
        self._codes = np.ascontiguousarray(rows.codes, dtype=np.uint32)  # one type, for which kernels are compiled
        self._alike = _first_alike(rows, self._codes, self._incomplete)
        self._near: tuple[Structure, Matrix] | None = None

    def matters(self, variables: set[int]) -> bool:
        """Whether a row has a missing cell of some variables."""
        return bool(self.rows.has_missing[list(variables)].any())

    def hold(self, structure: Structure) -> None:
        """Remember the sums of a structure: those of structures that differ in few families take less work then."""
        if self._near is None or self._near[0] != structure:
            sums = np.zeros(self.shape)
            self._sum(structure, sums)
            self._near = structure, sums

    def _compute(self, wanted: list[Wanted], places: list[int], pool: NDArray[np.float64]) -> None:
        structures: list[tuple[Structure, int]] = []
        families: list[Wanted] = []
        of_families: list[int] = []
        for (term, logs), place in zip(wanted, places, strict=True):
            if isinstance(term, Structure):
                structures.append((term, place))
            else:
                families.append((term, logs))
                of_families.append(place)
        super()._compute(families, of_families, pool)
        for (family, logs), place in zip(families, of_families, strict=True):
            pool[place][:, self._missing_in(family)] = 0.0 if logs else 1.0  # type: ignore[arg-type]
        threads = threads_for(len(structures) * math.prod(self.shape))
        run_parallel(lambda each: self._sum(each[0], pool[each[1]]), structures, threads)

    def _missing_in(self, family: Family) -> Marks:
        """The rows with a missing cell in a family."""
        return np.logical_or.reduce(self._missing[[family[0], *family[1]]], axis=0)

    # ---------------------------------------------------------------- sums

    def _sum(self, structure: Structure, out: Matrix) -> None:
        """The sums over missing cells of each row, by class; 0 for complete rows."""
        wanted = self._incomplete
        if self._near is None:
            out[:] = 0.0
        else:
            out[:] = self._near[1]
            wanted = np.logical_or.reduce(self._missing[sorted(structure.changed(self._near[0]))], axis=0)
        if not wanted.any():
            return
        too_large = self._by_elimination(structure, wanted, out)
        if too_large.any():
            self._by_junction_tree(structure, np.flatnonzero(too_large), out)

    def _by_elimination(self, structure: Structure, wanted: Marks, out: Matrix) -> Marks:
        """Fill in the sums of the wanted rows; returns those that would take too long."""
        from bntk.learning.scores.missing_kernels import sum_missing_cells

        rows, target = self.rows, self.rows.target
        members = [self._members(node, parents) for node, parents in enumerate(structure.parents)]
        cards = rows.cards.tolist()
        flat = flat_families(members, cards)
        uniform = np.concatenate([np.full(math.prod(cards[v] for v in m), 1.0 / cards[m[-1]]) for m in members])
        order = DAG._trusted(tuple(self._names), sorted_rows(structure.parents)).topological_indices
        families: Families = families_around(flat, order, uniform)
        counted = as_ints(node for node, family in enumerate(members) if self.matters({*family}))
        seeds = {v for family in members if target in family for v in family if rows.has_missing[v]}
        too_large = np.zeros(len(rows.y), dtype=np.bool_)
        sum_missing_cells(
            rows.scheme, rows.starts, rows.n_rows, self._codes, rows.weights, flat, counted, rows.alpha,
            np.zeros(len(uniform)), families, as_ints(sorted(seeds)), target, MOST,
            *working_memory(families, self.shape[0], MOST), wanted, self._alike, too_large, out,
        )  # fmt: skip
        return too_large

    def _members(self, node: int, parents: frozenset[int]) -> list[int]:
        """The variables of a family, the child last; of a family that is complete in all rows, nothing is needed."""
        family = [*sorted(parents), node]
        if not self.matters({*family}):
            return [node]
        n_entries = math.prod(self.rows.cards[family].tolist())
        if n_entries > MAX_TERM_ENTRIES:
            self._refuse((node, parents), n_entries)
        return family

    # ---------------------------------------------------------------- rows with too much to sum out

    def _by_junction_tree(self, structure: Structure, places: Ints, out: Matrix) -> None:
        """The sums of some rows: log p(c, o) by exact inference in a network, without its families that are complete.

        The network is fitted to the rows that each of them, or of its fold, is predicted from.
        """
        dag = DAG._trusted(tuple(self._names), sorted_rows(structure.parents))
        variables = [Variable(n, range(r)) for n, r in zip(self._names, self.rows.cards.tolist(), strict=True)]
        groups = self._group(places)
        for group in np.unique(groups):
            rows, learned_from = places[groups == group], self._predicted_from(int(group))
            table = Table.from_codes(self._codes[:, learned_from], variables)
            counter = TableCounter(table, self.rows.weights[learned_from])
            network = fit(dag, counter, self.rows.alpha, missing="available")
            out[:, rows] = log_joint_rows(network, self.rows.codes[:, rows], self.rows.target).T
            for node in range(len(variables)):
                out[:, rows] -= self._complete_part(network, node, rows)

    def _group(self, places: Ints) -> Ints:
        """Rows with the same number are predicted from the same rows."""
        if self.rows.scheme == RUNNING:
            return places
        starts = self.rows.starts if self.rows.scheme == FOLDS else self.rows.starts[:1]
        return np.searchsorted(starts, places, side="right") - 1

    def _predicted_from(self, group: int) -> Ints:
        rows = self.rows
        if rows.scheme == RUNNING:
            return np.arange(group)
        if rows.scheme != FOLDS:
            return np.arange(rows.n_rows)
        first, end = rows.starts[group], rows.starts[group + 1]
        begin = first - first % rows.n_rows  # of the repeat
        return np.concatenate([np.arange(begin, first), np.arange(end, begin + rows.n_rows)])

    def _complete_part(self, network: BayesianNetwork, node: int, rows: Ints) -> Matrix:
        """log theta of a family with the class where the family is complete, and 0 elsewhere; a line for each class."""
        target, (*parents, child) = self.rows.target, (*network.dag.parent_indices[node], node)
        family = [*parents, child]
        found = np.zeros((self.shape[0], len(rows)))
        if target not in family:
            return found
        whole = np.flatnonzero(~self._missing[family][:, rows].any(axis=0))
        table = np.moveaxis(np.log(network.cpts[node].values), family.index(target), 0)
        others = tuple(self._codes[v, rows[whole]] for v in family if v != target)
        found[:, whole] = table[(slice(None), *others)] if others else table[:, None]
        return found


def _first_alike(rows: LabelledRows, codes: NDArray[np.uint32], incomplete: Marks) -> Ints:
    """The first row with the same cells (but the class) that is predicted from the same rows, for incomplete rows."""
    alike = np.arange(len(rows.y))
    places = np.flatnonzero(incomplete)
    if rows.scheme == RUNNING or not places.size:
        return alike
    cells = codes[:, places]
    cells[rows.target] = np.searchsorted(rows.starts, places, side="right") if rows.scheme == FOLDS else 0
    _, first, which = np.unique(cells, axis=1, return_index=True, return_inverse=True)
    alike[places] = places[first[which.ravel()]]
    return alike

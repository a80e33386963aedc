"""Scores that are differences of a function of sets: local(x | S) = g(S + x) - g(S).

That holds for every score-equivalent score on complete data. So one table serves the families of all its variables, and
what costs most, counting, is done once for a set instead of once for each child in it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._threads import n_threads, run_parallel, spans
from bntk.learning.scores import lattice_kernels as lattice
from bntk.learning.scores.decomposable import AIC, BIC, BDeu, KernelScore, LogLikelihood
from bntk.learning.scores.set_kernels import sum_over_cells

if TYPE_CHECKING:
    from bntk.learning.counts import TableCounter
    from bntk.learning.scores.family_evaluator import FamilyEvaluator

Masks = NDArray[np.uint64]
Floats = NDArray[np.float64]

#: The scores that are known to be such differences.
SCORES = (LogLikelihood, AIC, BIC, BDeu)
# Log gamma of counts below this number is looked up. Sets that one thread takes at a time.
_LISTED = 256
_PIECE = 2000


class Sums(NamedTuple):
    """Of some sets of variables: sum of N log N over the cells, the score's g, and how many cells have rows."""

    likelihoods: Floats
    values: Floats
    cells: Floats


class SetValues:
    """The function g of a score on the rows of a table, for many sets of variables at a time.

    Sets are bit masks; bit k stands for the variable ``order[k]`` of the counter. The penalty of a likelihood is not
    part of g.

    Attributes
    ----------
    order : ndarray of int
        The variable with the least entropy first: rows are sorted by the higher ones first, and the lower ones split
        few cells of these.
    penalty, alpha : float
        The penalty of one parameter; the equivalent sample size, 0 for likelihoods.
    """

    def __init__(self, evaluator: FamilyEvaluator) -> None:
        counter: TableCounter = evaluator.counter  # type: ignore[assignment]
        score = evaluator.score
        assert isinstance(score, KernelScore)
        rule = score._rule(counter.total_weight)
        self.penalty, self.alpha = float(rule.penalty), float(rule.alpha)
        rows = np.column_stack([np.asarray(counter.table.codes[k]) for k in range(len(counter.names))])
        distinct, weights = np.unique(rows, axis=0, return_counts=True)
        self._weights = weights.astype(np.int64)
        self.n_rows = len(rows)
        whole = np.arange(self.n_rows + 1, dtype=float)
        self._n_log_n = whole * np.log(np.maximum(whole, 1))
        self.order = np.arange(rows.shape[1])
        self.cards = np.array(counter.cards, np.int64)
        self._codes = np.ascontiguousarray(distinct.T.astype(np.int32))
        singles = self.of(np.array([1 << x for x in range(rows.shape[1])], np.uint64)).likelihoods
        self.order = np.argsort(-singles, kind="stable")
        self.cards = self.cards[self.order]
        ordered = self._codes[self.order]
        by_first = np.lexsort(ordered[::-1])
        self._codes, self._weights = np.ascontiguousarray(ordered[:, by_first]), self._weights[by_first]

    @staticmethod
    def serves(evaluator: FamilyEvaluator) -> bool:
        """Whether the score is such a difference, and the rows are in memory."""
        from bntk.learning.counts import TableCounter

        counter, score = evaluator.counter, evaluator.score
        if not (type(counter) is TableCounter and type(score) in SCORES):  # a score derived from these may differ
            return False
        return not counter.weighted and counter.n_rows > 0 and bool(counter.complete_columns().all())

    # ---------------------------------------------------------------- sums

    def of(self, masks: Masks) -> Sums:
        """The sums for sets of one size, which is not 0; best ascending."""
        sums = Sums(*(np.empty(len(masks)) for _ in range(3)))
        alphas, group, log_gammas = self._gammas(masks)

        def work(span: tuple[int, int]) -> None:
            part = slice(*span)
            sum_over_cells(
                self._codes, self._weights, self.cards, masks[part], self._n_log_n, alphas, group[part], log_gammas,
                *(one[part] for one in sums),
            )  # fmt: skip

        run_parallel(work, spans(len(masks), max(n_threads(), len(masks) // _PIECE)))
        return sums if self.alpha else Sums(sums.likelihoods, sums.likelihoods, sums.cells)

    def of_none(self) -> Sums:
        """The sums for the empty set: one cell with all rows."""
        value = math.lgamma(self.n_rows + self.alpha) - math.lgamma(self.alpha) if self.alpha else self._n_log_n[-1]
        return Sums(self._n_log_n[-1:], np.array([value]), np.ones(1))

    def counting_all(self, most_entries: float = math.inf) -> AllValues:
        """What counts all sets, for BDeu; those whose tables have more entries than that are worth -inf."""
        return AllValues(self, self._codes, self._weights, most_entries)

    def _gammas(self, masks: Masks) -> tuple[Floats, NDArray[np.int64], Floats]:
        """The pseudo-counts of a cell in each of the sets, as groups of equal ones, and their lists of log gammas."""
        if not self.alpha:
            return np.empty(0), np.zeros(len(masks), np.int64), np.zeros((1, _LISTED))
        from scipy.special import gammaln

        entries = np.ones(len(masks))
        for k, card in enumerate(self.cards.tolist()):
            entries[(masks >> np.uint64(k) & np.uint64(1)).astype(bool)] *= card
        sizes, group = np.unique(entries, return_inverse=True)
        alphas = self.alpha / sizes
        listed = gammaln(np.arange(_LISTED) + alphas[:, None]) - gammaln(alphas)[:, None]
        return alphas, group.astype(np.int64), listed


class AllValues:
    """The function g of BDeu for all sets of variables; they are counted span by span.

    Attributes
    ----------
    values : ndarray of float
        Of each set, at the place that is its bit mask.
    """

    def __init__(
        self, sets: SetValues, codes: NDArray[np.int32], weights: NDArray[np.int64], most_entries: float
    ) -> None:
        n, n_rows = codes.shape
        self._sets, self._codes, self._weights, self._most_entries = sets, codes, weights, most_entries
        self._runs, joint = np.zeros((n, n_rows), np.int32), np.zeros(n_rows, np.int64)
        for v in range(1, n):  # rows are in the order of these
            joint = joint * sets.cards[v - 1] + codes[v - 1]
            joint = np.cumsum(np.diff(joint, prepend=joint[:1]) != 0)
            self._runs[v] = joint
        few = np.minimum.accumulate(sets.cards <= lattice.MOST_STATES)
        self._n_paired = int(few[: lattice.MOST_PAIRED].sum())
        self._words = np.zeros(n_rows, np.uint64)
        for v in range(self._n_paired):
            self._words |= codes[v].astype(np.uint64) << np.uint64(8 * v)
        self._terms, self.values = lattice.terms_of_cells(sets.n_rows), np.empty(1 << n)

    def count(self, start: int, stop: int) -> None:
        """Count the sets from one number to another."""
        lattice.sum_over_all(
            start, stop, self._codes, self._runs, self._words, self._n_paired, self._weights, self._sets.cards,
            self._terms, self._sets.alpha, self._most_entries, self.values,
        )  # fmt: skip
        lacking = start + np.flatnonzero(np.isnan(self.values[start:stop]))  # too few cells for a series
        sizes = np.bitwise_count(lacking)
        for size in np.unique(sizes).tolist():
            some = lacking[sizes == size]
            sums = self._sets.of(some.astype(np.uint64)) if size else self._sets.of_none()
            self.values[some] = sums.values

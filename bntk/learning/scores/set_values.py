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
from bntk.learning.scores.decomposable import AIC, BIC, BDeu, KernelScore, LogLikelihood
from bntk.learning.scores.set_kernels import reaches, sum_over_cells

if TYPE_CHECKING:
    from bntk.learning.counts import TableCounter
    from bntk.learning.scores.family_evaluator import FamilyEvaluator

Masks = NDArray[np.uint64]
Floats = NDArray[np.float64]

#: The scores that are known to be such differences.
SCORES = (LogLikelihood, AIC, BIC, BDeu)
# Joint states of variables are kept in no more than so many numbers (256 MB).
_MOST_JOINED = 1 << 26
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
        The least informative variable first, by the sum of its mutual information with all others: bounds that speak
        of the lower variables are tighter so.
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
        self._take(distinct, np.array(counter.cards, np.int64))
        self.order = np.argsort(self._information(), kind="stable")
        self._take(distinct[:, self.order], self.cards[self.order])
        self._join_runs()

    @staticmethod
    def serves(evaluator: FamilyEvaluator) -> bool:
        """Whether the score is such a difference, and the rows are in memory."""
        from bntk.learning.counts import TableCounter

        counter, score = evaluator.counter, evaluator.score
        if not (type(counter) is TableCounter and type(score) in SCORES):  # a score derived from these may differ
            return False
        return not counter.weighted and counter.n_rows > 0 and bool(counter.complete_columns().all())

    def _take(self, distinct: NDArray[np.integer], cards: NDArray[np.int64]) -> None:
        self._codes, self.cards = np.ascontiguousarray(distinct.T.astype(np.int32)), cards
        self._columns, self._column_cards = self._codes, cards

    def _information(self) -> Floats:
        n = len(self.cards)
        singles = self.of(np.array([1 << x for x in range(n)], np.uint64)).likelihoods
        low, high = np.tril_indices(n, -1)
        pairs = self.of((np.uint64(1) << low.astype(np.uint64)) | (np.uint64(1) << high.astype(np.uint64))).likelihoods
        gains = pairs - singles[low] - singles[high] + self._n_log_n[-1]
        return np.asarray(np.bincount(low, gains, n) + np.bincount(high, gains, n), np.float64)

    def _join_runs(self) -> None:
        """Columns for the joint states of the variables 0..b, and of these without one of them; a = n is none."""
        n, n_rows = self._codes.shape
        columns, cards = [*self._codes], [*self.cards.tolist()]
        self._run_at = np.full((n, n + 1), -1)
        for b in range(n):
            if n_rows * (len(columns) + b + 1) > _MOST_JOINED:
                break
            for left_out in (*range(b), n):
                if left_out == n:
                    before, last = (np.zeros(n_rows, np.int32) if b == 0 else columns[self._run_at[b - 1, n]]), b
                elif left_out == b - 1:
                    before, last = (np.zeros(n_rows, np.int32) if b == 1 else columns[self._run_at[b - 2, n]]), b
                else:
                    before, last = columns[self._run_at[b - 1, left_out]], b
                joint = before.astype(np.int64) * self.cards[last] + self._codes[last]
                states, joined = np.unique(joint, return_inverse=True)
                self._run_at[b, left_out] = len(columns)
                columns.append(joined.astype(np.int32))
                cards.append(len(states))
        self._columns, self._column_cards = np.array(columns), np.array(cards, np.int64)
        self._narrowest = np.ones((n + 1, n))
        for b in range(1, n + 1):
            for x in range(n):
                self._narrowest[b, x] = min((self.cards[v] for v in range(b) if v != x), default=1)

    # ---------------------------------------------------------------- sums

    def of(self, masks: Masks) -> Sums:
        """The sums for sets of one size, which is not 0; best ascending."""
        low = masks & (~masks + np.uint64(1))
        return self._sums(masks ^ low, np.log2(low.astype(float)).astype(np.int64), masks)

    def of_none(self) -> Sums:
        """The sums for the empty set: one cell with all rows."""
        value = math.lgamma(self.n_rows + self.alpha) - math.lgamma(self.alpha) if self.alpha else self._n_log_n[-1]
        return Sums(self._n_log_n[-1:], np.array([value]), np.ones(1))

    def reaches(self, masks: Masks, children: NDArray[np.int64], below: NDArray[np.int64]) -> Floats:
        """What each child can score with the parents of a set and at least one variable below a bit, for BDeu.

        Neighbours should have the same set. Infinite where the joint states of these variables are not kept.
        """
        left_out = np.where(children < below, children, len(self.cards))
        tops = below - 1 - (children == below - 1)
        result = np.empty(len(masks))
        narrowest = self._narrowest[below, children]
        last = self._run_at[np.maximum(tops, 0), np.where(left_out > tops, len(self.cards), left_out)]

        def work(span: tuple[int, int]) -> None:
            part = slice(*span)
            reaches(
                self._codes, self._weights, self.cards, self._columns, self._column_cards, masks[part],
                children[part], last[part], self._n_log_n, self.alpha, narrowest[part], result[part],
            )  # fmt: skip

        run_parallel(work, spans(len(masks), max(n_threads(), len(masks) // _PIECE)))
        result[last < 0] = np.inf
        result[tops < 0] = -np.inf  # nothing may join
        return result

    def _sums(self, masks: Masks, last: NDArray[np.int64], scored: Masks | None) -> Sums:
        sums = Sums(*(np.empty(len(masks)) for _ in range(3)))
        alphas, group, log_gammas = self._gammas(scored)

        def work(span: tuple[int, int]) -> None:
            part = slice(*span)
            sum_over_cells(
                self._codes, self._weights, self.cards, self._columns, self._column_cards, masks[part], last[part],
                self._n_log_n, alphas, group[part], log_gammas, *(one[part] for one in sums),
            )  # fmt: skip

        run_parallel(work, spans(len(masks), max(n_threads(), len(masks) // _PIECE)))
        return sums if scored is not None and self.alpha else Sums(sums.likelihoods, sums.likelihoods, sums.cells)

    def _gammas(self, masks: Masks | None) -> tuple[Floats, NDArray[np.int64], Floats]:
        """The pseudo-counts of a cell in each of the sets, as groups of equal ones, and their lists of log gammas."""
        if masks is None or not self.alpha:
            n_sets = 0 if masks is None else len(masks)
            return np.empty(0), np.zeros(n_sets, np.int64), np.zeros((1, _LISTED))
        from scipy.special import gammaln

        entries = np.ones(len(masks))
        for k, card in enumerate(self.cards.tolist()):
            entries[(masks >> np.uint64(k) & np.uint64(1)).astype(bool)] *= card
        sizes, group = np.unique(entries, return_inverse=True)
        alphas = self.alpha / sizes
        listed = gammaln(np.arange(_LISTED) + alphas[:, None]) - gammaln(alphas)[:, None]
        return alphas, group.astype(np.int64), listed

"""Selective k-dependence: how many features, and how many parents of each, by leave-one-out.

References
----------
A. M. Martínez, G. I. Webb, S. Chen and N. A. Zaidi (2016). Scalable learning of Bayesian network classifiers. Journal
of Machine Learning Research 17, 1-35.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk._interrupts import BestSoFar
from bntk._threads import run_parallel, stop_if_over
from bntk.errors import ArgumentError
from bntk.graph.dag import DAG
from bntk.learning.scores.base import Evaluator
from bntk.learning.scores.predictive_evaluator import PredictiveEvaluator
from bntk.learning.search import k_dependence_kernels as kernels
from bntk.learning.search.base import BEST_STRUCTURE, COUNT, Search, SearchResult, Step, check_options
from bntk.learning.search.k_dependence import feature_information, k_dependence, structure
from bntk.learning.search.selection_in_passes import finished, has_small_table, losses_in_passes
from bntk.learning.search.stepwise import class_and_features

if TYPE_CHECKING:
    from bntk.learning.counts import Counter
    from bntk.learning.space import Space

LOSSES = {"rmse": kernels.SQUARED, "log": kernels.LOG, "zero_one": kernels.ZERO_ONE}
# Losses that differ by less than this share are equal: it hides rounding.
TIE_SHARE = 1e-12


@dataclass(frozen=True)
class SelectiveKDependence(Search):
    """Selective k-dependence: the k and the number of features of Sahami's algorithm with the least leave-one-out loss.

    Features are added by falling mutual information with the class (:class:`KDependence`). For each k up to ``max_k``
    and each number of features, all rows are predicted as the evaluator's score defines, which is leave-one-out for
    :class:`bntk.scores.LOO`. The structure with the least loss is returned; ties go to the smaller k, then to fewer
    features (Martínez et al. 2016). A k is tried up to the feature whose table would be too large for memory. The score
    of the result is the negative loss.

    Parameters
    ----------
    max_k : int
        The largest k to try.
    loss : {"rmse", "log", "zero_one"}
        Root mean squared error of the probability of the true class, its mean negative log, or the share of wrong
        labels.
    """

    max_k: int = 5
    loss: str = "rmse"

    def __post_init__(self) -> None:
        check_options(self, max_k=COUNT)
        _checking.one_of("loss", self.loss, LOSSES)

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search; ``start``, ``seed`` and ``progress`` are ignored."""
        began = time.perf_counter()
        if not isinstance(evaluator, PredictiveEvaluator):
            raise ArgumentError("SelectiveKDependence predicts rows: give a predictive score, such as LOO")
        target, features = class_and_features(space, type(self).__name__)
        order, parents = k_dependence(feature_information(evaluator.counter, target, features), self.max_k)
        families = [(features[v], [features[p] for p in parents[v]]) for v in order]
        losses = np.full((max(1, min(self.max_k + 1, len(order))), len(order) + 1), math.inf)
        with BestSoFar(BEST_STRUCTURE) as so_far:
            run_parallel(lambda k: self._measure(evaluator, target, families, k, losses[k]), range(len(losses)))
        k, n = _first_least(losses)
        dag = structure(space.nodes, target, [(v, row[:k]) for v, row in families[:n]])
        evaluator.reset(dag)
        seconds = time.perf_counter() - began
        trace = [Step(_words(k, int(row.argmin())), -float(row.min()), seconds) for k, row in enumerate(losses)]
        return SearchResult(
            dag, -float(losses[k, n]), repr(self), interrupted=so_far.interrupted, n_evaluated=losses.size,
            seconds=seconds, trace=tuple(trace),
        )  # fmt: skip

    def run_in_passes(self, counter: Counter, space: Space, alpha: float) -> SearchResult:
        """The same with leave-one-out on rows that are read in passes: pairs, tables, and losses."""
        began = time.perf_counter()
        target, features = class_and_features(space, type(self).__name__)
        order, parents = k_dependence(feature_information(counter, target, features), self.max_k)
        families = [(features[v], [features[p] for p in parents[v]]) for v in order]
        kind, n_rows = LOSSES[self.loss], max(1, min(self.max_k + 1, len(order)))
        losses = finished(losses_in_passes(counter, target, families, n_rows, kind, alpha), kind)
        k, n = _first_least(losses)
        dag = structure(space.nodes, target, [(v, row[:k]) for v, row in families[:n]])
        seconds = time.perf_counter() - began
        trace = [Step(_words(k, int(row.argmin())), -float(row.min()), seconds) for k, row in enumerate(losses)]
        return SearchResult(
            dag, -float(losses[k, n]), repr(self), n_evaluated=losses.size, seconds=seconds, trace=tuple(trace)
        )

    def _measure(
        self, evaluator: PredictiveEvaluator, target: int, families: list[tuple[int, list[int]]], k: int,
        losses: NDArray[np.float64],
    ) -> None:  # fmt: skip
        """Fill in the losses with the first 0, 1, 2 ... features and up to k parents of each, while tables fit."""
        y, weights, kind = evaluator.classes, evaluator.row_weights, LOSSES[self.loss]
        variables = evaluator.counter.variables
        terms = evaluator.term(target, ())
        scores = np.zeros_like(terms)
        for n in range(len(families) + 1):
            stop_if_over()
            if n:
                child, parents = families[n - 1]
                scope = (target, *parents[:k])
                if k and not (has_small_table(variables, child, scope) and evaluator.fits(child, scope)):
                    return
                terms = evaluator.term(child, scope)
            loss = kernels.add_and_measure(scores, terms, y, weights, kind) / weights.sum()
            losses[n] = math.sqrt(loss) if kind == kernels.SQUARED else loss


def _words(k: int, n: int) -> str:
    return f"{n} features, k = {k}"


def _first_least(losses: NDArray[np.float64]) -> tuple[int, int]:
    """Row and column of the smallest entry; of equal ones the first by row."""
    least = losses.min()
    if not math.isfinite(least):
        return 0, 0
    row, column = np.unravel_index(int(np.argmax(losses <= least + TIE_SHARE * abs(least))), losses.shape)
    return int(row), int(column)

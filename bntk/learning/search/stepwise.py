"""What stepwise searches share: of some listed steps they take the best, as long as it gains enough.

They are made for scores of classifiers (wrappers), and take any other score as well.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk._interrupts import BestSoFar
from bntk._progress import progress_bar
from bntk.errors import SpaceError
from bntk.graph.dag import DAG
from bntk.learning.scores.base import Evaluator
from bntk.learning.search.base import BEST_STRUCTURE, Search, SearchResult, Step, check_options

if TYPE_CHECKING:
    from bntk.learning.space import Space

#: New parents of some nodes, all at once.
Change = dict[int, frozenset[int]]

# Gains that differ by less, or by less than this share of the score, are equal. R's bnclassify has the same for
# accuracies.
TIE, TIE_SHARE = 1.5e-8, 1e-10
# Rounding alone does not keep a gain from reaching the threshold.
ROUNDING = 1e-12


class Path(ABC):
    """A structure that an evaluator holds, and the steps that lead on from it."""

    @abstractmethod
    def gains(self) -> NDArray[np.float64]:
        """What each possible step would gain; of equal ones the first is preferred. Empty at the end of the path."""

    @abstractmethod
    def describe(self, step: int) -> str:
        """The step in words."""

    @abstractmethod
    def take(self, step: int) -> None:
        """Go on by one of the steps that :meth:`gains` has listed."""


@dataclass(frozen=True, kw_only=True)
class StepwiseSearch(Search):
    """Take the best step as long as it gains at least ``epsilon``; no step is undone.

    Parameters
    ----------
    epsilon : float
        The least gain of a step, in units of the score: 0.01 is one row in a hundred for accuracies. With 0, steps
        that neither gain nor lose are taken, too.
    max_iter : int, optional
        The largest number of steps.
    time_budget : float, optional
        Seconds after which the search ends with the structure so far. Only with a time budget can the result depend on
        the machine.
    """

    epsilon: float = 0.01
    max_iter: int | None = None
    time_budget: float | None = None

    def __post_init__(self) -> None:
        check_options(self)

    @abstractmethod
    def _begin(self, evaluator: Evaluator, space: Space, start: DAG | None) -> Path:
        """Let the evaluator hold the structure to begin with, which must be legal."""

    def _takes(self, path: Path, gain: float, score: float) -> bool:
        """Whether the best step is taken; ``score`` is that of the structure so far."""
        return gain >= self.epsilon - ROUNDING * max(1.0, abs(score))

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search; ``seed`` is ignored, as nothing is random."""
        began = time.perf_counter()
        bar = progress_bar(progress, desc=type(self).__name__, unit=" steps", total=self.max_iter)
        path = self._begin(evaluator, space, None if start is None else start.reorder(space.nodes))
        held, score, out_of_time = evaluator.dag, evaluator.total(), False
        trace = [Step("start", score, time.perf_counter() - began)]
        with BestSoFar(BEST_STRUCTURE) as so_far:
            while self.max_iter is None or len(trace) <= self.max_iter:
                if self.time_budget is not None and time.perf_counter() - began >= self.time_budget:
                    out_of_time = True
                    break
                gains = path.gains()
                best = first_best(gains, score)
                if best is None or not self._takes(path, gains[best], score):
                    break
                what = path.describe(best)
                path.take(best)
                held, score = evaluator.dag, evaluator.total()
                trace.append(Step(what, score, time.perf_counter() - began))
                bar.set_postfix_str(f"score {score:,.4f}", refresh=False)
                bar.update()
        if so_far.interrupted:
            evaluator.reset(held)
        bar.close()
        return SearchResult(
            dag=held,
            score=score,
            search=repr(self),
            interrupted=out_of_time or so_far.interrupted,
            n_evaluated=evaluator.n_evaluated,
            seconds=time.perf_counter() - began,
            trace=tuple(trace),
        )


def first_best(gains: NDArray[np.float64], score: float) -> int | None:
    """Position of the first of the largest gains; None when there are none."""
    if not len(gains):
        return None
    return int(np.argmax(gains >= gains.max() - max(TIE, TIE_SHARE * abs(score))))


def class_and_features(space: Space, search: str) -> tuple[int, list[int]]:
    """The positions of the one class of a space, and of its features."""
    if len(space.links) != 1 or len(space.links[0].tails) != 1:
        raise SpaceError(
            f"{search} needs a space with one class and its features, such as those of spaces.augmented; not {space!r}"
        )
    (link,) = space.links
    return space.index(link.tails[0]), sorted(space.index(name) for name in link.heads)

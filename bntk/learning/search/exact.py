"""The best of all structures, by dynamic programming over sets of nodes.

Some node of the best structure over a set S has no children in S: the sink. So the best score of S is that of S
without the sink, plus that of the sink's best parents among the others:

    total(S) = max over x in S of total(S - x) + best(x, S - x)

and the best parents of x within a set are a candidate parent set itself, or the best within the set less one node.
Both take one pass over the 2^n sets, in order of their bit masks.

Scores are kept in double precision. What is stored for each child and set is not a score but its rank among the parent
sets of that child, which are sorted by score: two bytes for up to 65,534 parent sets, exact, and the greatest score is
the smallest rank.

References
----------
T. Silander and P. Myllymäki (2006). A simple approach for finding the globally optimal Bayesian network structure.
UAI, 445-452.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk._interrupts import BestSoFar
from bntk._threads import run_parallel, stop_if_over
from bntk.errors import TooLargeError
from bntk.graph.dag import DAG
from bntk.learning.scores.base import Evaluator
from bntk.learning.search import kernels
from bntk.learning.search.base import BEST_STRUCTURE, COUNT, Search, SearchResult, Step, check_options
from bntk.learning.search.order import climb_from
from bntk.learning.search.parent_sets import (
    MAX_SETS,
    ParentSetFinder,
    ParentSets,
    finish,
    refuse_shapes,
)

if TYPE_CHECKING:
    from bntk.learning.scores.family_evaluator import FamilyEvaluator
    from bntk.learning.space import Space

Parents = Sequence[tuple[int, ...]]

_log = logging.getLogger(__name__)

# The sets are cut into 64 spans by their six highest elements, or more where spans were long. Spans with
# equally many of these do not need each other.
_SPAN_BITS = 6
# So many sets are worked on at a time, 2 to this power: their ranks stay in the cache, and Ctrl-C is answered soon.
_CHUNK_BITS = 18


@dataclass(frozen=True, kw_only=True)
class Exact(Search):
    """Exact search by dynamic programming: the best of all legal structures, for up to about 25 variables.

    For scores that are sums over families. The space may have required and forbidden arcs, tiers, limits on parents,
    and groups of the shapes empty, forest, kdb and dag; spaces with other rules are refused. Ties go to the structure
    that agrees more with the order of the columns. For BDeu and other scores with weak bounds, the running time depends
    mostly on ``max_parents``.

    An interrupt, by hand or by ``time_budget``, returns what one climb over orders finds in the parent sets scored so
    far.

    Parameters
    ----------
    max_parents : int, optional
        The largest number of parents of a node. When the space allows more, the result is the best under this limit,
        and not marked as exact; ``space.restrict(max_parents=...)`` puts the limit into the space.
    max_memory : float
        Refuse to start when more gigabytes would be needed; the estimate is logged (and printed beside the progress
        bar) before anything is allocated.
    max_sets : int
        Refuse to score more parent sets than this.
    time_budget : float, optional
        Seconds after which the search ends with what it has. Only with a time budget can the result depend on the
        machine.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.learn import learn_structure
    >>> found = learn_structure(bntk.datasets.asia().sample(2000, seed=3), search=Exact())
    >>> found.exact
    True
    >>> round(Exact.gigabytes(22), 2), round(Exact.gigabytes(26), 2)
    (0.13, 2.28)
    """

    name = "exact"
    max_parents: int | None = None
    max_memory: float = 8.0
    max_sets: int = MAX_SETS
    time_budget: float | None = None

    def __post_init__(self) -> None:
        positive = partial(_checking.number, least=0, finite=False)
        check_options(self, max_memory=positive, max_sets=COUNT)

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search; ``start`` and ``seed`` are used only when it is interrupted."""
        began = time.perf_counter()
        families = evaluator.by_family("Exact")
        refuse_shapes(space, "Exact")
        self._announce(len(space.nodes), progress)
        deadline = None if self.time_budget is None else began + self.time_budget
        first = space.start() if start is None else start.reorder(space.nodes)
        trace = [_step("start", families, first.parent_indices, began)]
        found, finder = None, None
        with BestSoFar(BEST_STRUCTURE):
            finder = ParentSetFinder(families, space, max_parents=self.max_parents, max_sets=self.max_sets)
            finder.run(deadline, progress)
            if finder.complete:
                found = self._solve(finder.results(), deadline)
        parents = found if found is not None else _climb(families, space, first, finder, seed)
        trace.append(_step("best of all" if found is not None else "best so far", families, parents, began))
        exact = self.max_parents is None or bool((space.parent_limits <= self.max_parents).all())
        return finish(families, parents, repr(self), began, trace, exact=exact, interrupted=found is None)

    def _solve(self, sets: list[ParentSets], deadline: float | None) -> Parents | None:
        if _rank_type(sets) != np.uint16:
            self._announce(len(sets), False, rank_bytes=4)
        return best_structure(sets, deadline)

    def _announce(self, n: int, progress: bool, rank_bytes: int = 2) -> None:
        """Say how much memory is needed, and refuse beyond the limit."""
        need = self.gigabytes(n, rank_bytes)
        if need > self.max_memory:
            raise TooLargeError(
                f"the best structure over {n} variables needs {need:,.1f} GB, more than the limit of"
                f" {self.max_memory:g} GB; raise max_memory, leave out variables, or use OrderSearch, which usually"
                " finds the same structure"
            )
        text = f"Exact search over {n} variables: {2**n:,} sets, {need:.2g} GB"
        _log.info(text)
        if progress:
            print(text, file=sys.stderr)

    @staticmethod
    def gigabytes(n: int, rank_bytes: int = 2) -> float:
        """Memory for ``n`` variables: a rank for each child and set of others, and a score for each set."""
        n = _checking.whole_number("n", n, 0, 1000)
        rank_bytes = _checking.whole_number("rank_bytes", rank_bytes, 1, 8)
        return (rank_bytes * n * 2 ** max(0, n - 1) + 8 * 2**n) / 1e9


def best_structure(sets: Sequence[ParentSets], deadline: float | None = None) -> Parents | None:
    """The parents of each node in the acyclic structure with the highest sum of scores; None when time is over.

    Parameters
    ----------
    sets : list of ParentSets
        Of each node, in order.
    deadline : float, optional
        A time of ``time.perf_counter()``.
    """
    n = len(sets)
    ranks = np.empty((n, 1 << (n - 1)), _rank_type(sets))
    run_parallel(lambda one: _fill_ranks(one, ranks[one.child]), sets)
    scores = np.concatenate([one.scores for one in sets])
    offsets = np.cumsum([0, *map(len, sets)])
    totals = np.zeros(1 << n)
    for spans in _layers(n):
        if deadline is not None and time.perf_counter() > deadline:
            return None
        run_parallel(lambda span: kernels.sum_over_sinks(*span, ranks, scores, offsets, totals), spans)
    return _read_back(sets, ranks, scores, offsets, totals)


def _rank_type(sets: Sequence[ParentSets]) -> type[np.unsignedinteger]:
    """The smallest type for ranks; its largest value stands for no parent set."""
    return np.uint16 if max(map(len, sets)) < 2**16 - 1 else np.uint32


def _fill_ranks(sets: ParentSets, ranks: NDArray[np.unsignedinteger]) -> None:
    """For every set of other nodes, the rank of the child's best parent set within it."""
    masks = np.zeros(len(sets), np.int64)
    for bit, node in enumerate(sets.candidates.tolist()):
        place = node - (node > sets.child)  # the child itself takes no bit
        masks |= (sets.masks >> np.uint64(bit) & np.uint64(1)).astype(np.int64) << place
    ranks.fill(np.iinfo(ranks.dtype).max)
    ranks[masks] = np.arange(len(sets))
    n = len(ranks).bit_length() - 1
    low = min(n, _CHUNK_BITS)
    for begin in range(0, len(ranks), 1 << low):  # sets that differ in the first few elements only are near each other
        stop_if_over()
        kernels.lower_to_subsets(ranks[begin : begin + (1 << low)], 0, low)
    for bit in range(low, n):
        stop_if_over()
        kernels.lower_to_subsets(ranks, bit, bit + 1)


def _layers(n: int) -> Iterator[list[tuple[int, int]]]:
    """Spans of sets that can be worked on side by side, layer after layer."""
    high = max(min(n, _SPAN_BITS), n - _CHUNK_BITS)
    size = 1 << (n - high)
    for level in range(high + 1):
        yield [(top * size, (top + 1) * size) for top in range(1 << high) if top.bit_count() == level]


def _read_back(
    sets: Sequence[ParentSets],
    ranks: NDArray[np.unsignedinteger],
    scores: NDArray[np.float64],
    offsets: NDArray[np.int64],
    totals: NDArray[np.float64],
) -> Parents:
    """Take away sink after sink, and look up the parents of each."""
    parents: list[tuple[int, ...]] = [()] * len(sets)
    subset = len(totals) - 1
    while subset:
        _, sink = kernels.best_sink(subset, ranks, scores, offsets, totals)
        subset ^= 1 << sink
        others = (subset & ((1 << sink) - 1)) | (subset >> (sink + 1) << sink)
        parents[sink] = sets[sink].parents(int(ranks[sink, others]))
    return parents


def _climb(evaluator: FamilyEvaluator, space: Space, first: DAG, finder: ParentSetFinder | None, seed: int) -> Parents:
    """What can be had from the parent sets scored so far, and no worse than the start."""
    if finder is None:
        return first.parent_indices
    order = np.array(first.topological_indices, np.int64)
    found = climb_from(order, finder.results(), space.required_matrix, seed)
    better = (
        evaluator.locals(list(enumerate(found))).sum() > evaluator.locals(list(enumerate(first.parent_indices))).sum()
    )
    return found if better else first.parent_indices


def _step(what: str, evaluator: FamilyEvaluator, parents: Parents, began: float) -> Step:
    score = float(evaluator.locals(list(enumerate(parents))).sum())
    return Step(what, score, time.perf_counter() - began)

"""The best of all structures, by dynamic programming over sets of nodes.

Some node of the best structure over a set S has no children in S: the sink. So the best score of S is that of S
without the sink, plus that of the sink's best parents among the others:

    total(S) = max over x in S of total(S - x) + best(x, S - x)

Sets are gone through by size, so that the scores of two sizes are in memory at a time, and one byte for each set: its
sink (Malone, Yuan and Hansen 2011). A set is left out when no order of all nodes that begins with it can be as good as
a structure that is known, which a climb over orders finds. The bound for what comes after a set is the sum of two: for
each half of the nodes, the best order of those that are not in the set, which may have all nodes of the other half as
parents (the static pattern databases of Yuan and Malone 2013).

References
----------
B. Malone, C. Yuan and E. A. Hansen (2011). Memory-efficient dynamic programming for learning optimal Bayesian networks.
AAAI, 1057-1062.

T. Silander and P. Myllymäki (2006). A simple approach for finding the globally optimal Bayesian network structure.
UAI, 445-452.

C. Yuan and B. Malone (2013). Learning optimal Bayesian networks: a shortest path perspective. Journal of Artificial
Intelligence Research 48, 23-65.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk._interrupts import BestSoFar
from bntk._threads import run_parallel, spans, stop_if_over
from bntk.errors import TooLargeError
from bntk.graph.dag import DAG
from bntk.graph.undirected import sorted_rows
from bntk.learning.scores.base import Evaluator, Score, by_name
from bntk.learning.scores.decomposable import BDeu
from bntk.learning.search import level_kernels as kernels
from bntk.learning.search.base import BEST_STRUCTURE, STEPS, Search, SearchResult, Step, check_options
from bntk.learning.search.order import climb_from
from bntk.learning.search.parent_sets import (
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

#: Nodes that an exact search may have: the bits of a mask, and of the number of a set.
MAX_NODES = 40

# Rounds of the climb that finds a structure which excludes worse ones; it takes a second at the most.
_ROUNDS = 1000
# Sets that one thread takes at a time.
_PIECE = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Exact(Search):
    """Exact search by dynamic programming: the best of all legal structures, for up to about 30 variables.

    For scores that are sums over families. The space may have required and forbidden arcs, tiers, limits on parents,
    and groups of the shapes empty, forest, kdb and dag; spaces with other rules are refused. Ties go to the structure
    that agrees more with the order of the columns.

    Most of the time is spent on the parent sets, which depend on the data. For BIC and AIC of complete data in memory,
    bounds leave few of them; for BDeu, all sets of variables are counted, which takes about a microsecond and 12 to 16
    bytes each: twice as much with each variable, a minute or two for 26. For other scores, ``max_parents`` decides.

    An interrupt, by hand or by ``time_budget``, returns what one climb over orders finds in the parent sets scored so
    far; the result's ``gap`` says how much better the best structure can be at the most.

    Parameters
    ----------
    max_parents : int, optional
        The largest number of parents of a node. When the space allows more, the result is the best under this limit,
        and not marked as exact; ``space.restrict(max_parents=...)`` puts the limit into the space.
    max_memory : float
        Refuse to start when more gigabytes would be needed; the estimate is logged (and printed beside the progress
        bar) before anything is allocated.
    max_sets : int, optional
        Refuse to score more parent sets than this; by default 2 million, 200 million for BIC and AIC of complete data,
        and no limit but ``max_memory`` for BDeu of complete data.
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
    >>> round(Exact.gigabytes(26), 2), round(Exact.gigabytes(26, "bdeu"), 2)
    (0.23, 0.81)
    """

    name = "exact"
    max_parents: int | None = None
    max_memory: float = 8.0
    max_sets: int | None = None
    time_budget: float | None = None

    def __post_init__(self) -> None:
        positive = partial(_checking.number, least=0, finite=False)
        check_options(self, max_memory=positive, max_sets=STEPS)

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
        found: Parents | None = None
        finder: ParentSetFinder | None = None
        with BestSoFar(BEST_STRUCTURE):
            finder = ParentSetFinder(
                families, space, max_parents=self.max_parents, max_sets=self.max_sets, max_memory=self.max_memory
            )
            finder.run(deadline, progress)
            if finder.complete:
                sets = finder.results()
                order = np.array(first.topological_indices, np.int64)
                known = climb_from(order, sets, space.required_matrix, n_rounds=_ROUNDS)
                found = best_structure(sets, deadline, known=known)
        parents = found if found is not None else _climb(families, space, first, finder, seed)
        trace.append(_step("best of all" if found is not None else "best so far", families, parents, began))
        exact = self.max_parents is None or bool((space.parent_limits <= self.max_parents).all())
        result = finish(families, parents, repr(self), began, trace, exact=exact, interrupted=found is None)
        if finder is None:
            return result
        gap = None  # where a limit of the search leaves structures out, they may be better
        if exact:
            gap = 0.0 if result.exact else max(0.0, float(finder.reach().sum()) - result.score)
        return replace(result, gap=gap, n_evaluated=result.n_evaluated + finder.n_shared)

    def _announce(self, n: int, progress: bool) -> None:
        """Say how much memory is needed, and refuse beyond the limit."""
        need = self.gigabytes(n)
        if need > self.max_memory or n > MAX_NODES:
            raise TooLargeError(
                f"the best structure over {n} variables needs {need:,.1f} GB, more than the limit of"
                f" {self.max_memory:g} GB; raise max_memory, leave out variables, or use OrderSearch, which usually"
                " finds the same structure"
                if n <= MAX_NODES
                else f"the best structure over {n} variables would need {need:,.1f} GB; at most {MAX_NODES} variables"
                " are searched; leave out variables, or use OrderSearch, which usually finds the same structure"
            )
        text = f"Exact search over {n} variables: {2**n:,} sets, {need:.2g} GB"
        _log.info(text)
        if progress:
            print(text, file=sys.stderr)

    @staticmethod
    def gigabytes(n: int, score: str | Score = "bic") -> float:
        """Memory for ``n`` variables: of orders, a byte for each set, and scores for those of two sizes, at the most.

        For BDeu of complete data, the scores of all sets need more. That of other parent sets depends on the data.

        Parameters
        ----------
        n : int
        score : str or Score

        Returns
        -------
        float
        """
        n = _checking.whole_number("n", n, 0, 1000)
        orders = 2**n + 8 * (comb(n, n // 2) + comb(n, (n + 1) // 2))
        return (max(orders, 12 * 2**n) if isinstance(by_name(score), BDeu) else orders) / 1e9


def best_structure(
    sets: Sequence[ParentSets], deadline: float | None = None, *, known: Parents | None = None
) -> Parents | None:
    """The parents of each node in the acyclic structure with the highest sum of scores; None when time is over.

    Parameters
    ----------
    sets : list of ParentSets
        Of each node, in order.
    deadline : float, optional
        A time of ``time.perf_counter()``.
    known : sequence of tuples of int, optional
        The parents in an acyclic structure, whose score excludes worse ones early.
    """
    n = len(sets)
    columns, least = np.arange(n), -np.inf
    if known is not None:
        dag = DAG._trusted(tuple(map(str, range(n))), sorted_rows(known))
        columns = np.array(dag.topological_indices)
        least = sum(one.score_of(parents) for one, parents in zip(sets, known, strict=True))
        least -= 1e-9 * (1 + abs(least))
    parents, scores, offsets = _renumbered(sets, columns)
    low = n // 2
    after_low, after_high = np.empty(1 << low), np.empty(1 << (n - low))
    kernels.bound_part(0, low, n, parents, scores, offsets, after_low)
    kernels.bound_part(low, n, n, parents, scores, offsets, after_high)
    binomials = np.array([[comb(i, j) for j in range(n + 2)] for i in range(n + 2)], np.int64)
    totals, sinks = np.zeros(1), [np.zeros(1, np.uint8)]
    for size in range(1, n + 1):
        below, totals = totals, np.empty(comb(n, size))
        last = np.empty(len(totals), np.uint8)

        def work(span: tuple[int, int], size=size, below=below, totals=totals, last=last) -> None:  # type: ignore[no-untyped-def]
            stop_if_over()
            if deadline is None or time.perf_counter() < deadline:
                kernels.sum_over_sinks(
                    *span, size, binomials, columns, parents, scores, offsets, low, after_low, after_high, least,
                    below, totals, last,
                )  # fmt: skip

        run_parallel(work, spans(len(totals), max(1, len(totals) // _PIECE)))
        if deadline is not None and time.perf_counter() >= deadline:
            return None
        sinks.append(last)
    return _read_back(sets, columns, sinks)


def _renumbered(
    sets: Sequence[ParentSets], columns: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.int64]]:
    """The parent sets of all nodes one after the other, as masks over the nodes in another order."""
    place = np.argsort(columns)
    masks = []
    for child in columns.tolist():
        one = sets[child]
        found = np.zeros(len(one), np.uint64)
        for bit, node in enumerate(one.candidates.tolist()):
            found |= (one.masks >> np.uint64(bit) & np.uint64(1)) << np.uint64(place[node])
        masks.append(found)
    ordered = [sets[child] for child in columns.tolist()]
    offsets = np.cumsum([0, *map(len, ordered)])
    return np.concatenate(masks), np.concatenate([one.scores for one in ordered]), offsets


def _read_back(sets: Sequence[ParentSets], columns: NDArray[np.int64], sinks: Sequence[NDArray[np.uint8]]) -> Parents:
    """Take away sink after sink, and look up the parents of each."""
    parents: list[tuple[int, ...]] = [()] * len(sets)
    rest = list(range(len(sets)))
    while rest:
        sink = int(sinks[len(rest)][sum(comb(v, i + 1) for i, v in enumerate(rest))])
        rest.remove(sink)
        available = {int(columns[v]) for v in rest}
        one = sets[columns[sink]]
        parents[columns[sink]] = next(p for p in map(one.parents, range(len(one))) if available.issuperset(p))
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

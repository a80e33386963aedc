"""Searches that learn the Markov blanket of each variable first: grow-shrink and incremental association.

References
----------
D. Margaritis and S. Thrun (2000). Bayesian network induction via local neighborhoods. NIPS 12, 505-511.

I. Tsamardinos, C. F. Aliferis and A. Statnikov (2003). Algorithms for large scale Markov blanket discovery. FLAIRS,
376-381.

S. Yaramakala and D. Margaritis (2005). Speculative Markov blanket discovery for optimal feature selection. ICDM,
809-812.

J. M. Pena (2008). Learning Gaussian graphical models of gene networks with false discovery rate control. EvoBIO,
165-176.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from bntk import _checking
from bntk.graph.dag import DAG
from bntk.learning.independence.separating import Pairs
from bntk.learning.independence.tests import Answers
from bntk.learning.scores.base import Evaluator
from bntk.learning.search.base import SearchResult
from bntk.learning.search.by_tests import (
    Asking,
    Floats,
    SearchByTests,
    Task,
    excess,
    in_batches,
    names_of,
    question,
    smaller_first,
    strongest,
    symmetric,
)
from bntk.learning.search.local import asking_about

if TYPE_CHECKING:
    from bntk.learning.space import Space


@dataclass(frozen=True, kw_only=True)
class BlanketSearch(SearchByTests):
    """The base of searches that begin with the Markov blanket of each variable."""

    @abstractmethod
    def _blanket(self, asking: Asking, target: int, affinity: Floats) -> Task[set[int]]:
        """Ask for the Markov blanket of a variable."""

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search; ``start`` and ``seed`` are ignored."""
        began = time.perf_counter()
        asking = self._tester(evaluator, space, progress)
        affinity = asking.affinities()
        blankets = asking.together(self._blanket(asking, v, affinity) for v in range(asking.n))
        skeleton = neighbors_within(asking, symmetric(blankets), affinity)
        return self._directed(asking, skeleton, evaluator, began)

    def markov_blanket(self, data: Any, target: str, **options: Any) -> tuple[str, ...]:
        """The Markov blanket of one variable: all others are independent of it given these.

        Parameters
        ----------
        data : Table, data frame, mapping of columns, or Counter
            The rows.
        target : str
            The variable.
        **options
            ``variables``, ``weights``, ``numeric``, ``n_bins`` and ``identifiers``, as in :func:`bntk.learn`.

        Returns
        -------
        tuple of str
            In the order of the columns.
        """
        asking, place = asking_about(self, data, target, options)
        (found,) = asking.together([self._blanket(asking, place, asking.affinities_of(place))])
        return names_of(asking.space, found)


@dataclass(frozen=True, kw_only=True)
class GS(BlanketSearch):
    """Grow-shrink: Markov blankets by adding dependent variables and removing independent ones; then as PC.

    (Margaritis and Thrun 2000.) For any score, which only says what the structure found is worth.

    Parameters
    ----------
    test : str, IndependenceTest or callable
        The test, as in :func:`bntk.independence`; or a function ``(x, y, given) -> p`` of names.
    alpha : float
        Variables are taken as independent where the p-value is above.
    max_given : int, optional
        The largest number of variables given, and of a Markov blanket.
    order : {"association", "columns"}
        In which order variables are looked at: the strongest unconditional dependence on the target first, so that the
        result does not depend on the order of the columns; or by columns, as R's bnlearn.

    Examples
    --------
    >>> import bntk
    >>> GS().markov_blanket(bntk.datasets.asia().sample(5000, seed=1), "bronc")
    ('smoke', 'either', 'dysp')
    """

    name = "gs"
    order: str = "association"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checking.one_of("order", self.order, ("association", "columns"))

    def _blanket(self, asking: Asking, target: int, affinity: Floats) -> Task[set[int]]:
        forced = asking.required_of(target)
        found = set(forced)
        if self.order == "columns":
            affinity = np.zeros_like(affinity)
        order = sorted(set(range(asking.n)) - {target}, key=lambda v: (-affinity[target, v], v))
        while len(found) < asking.most_given(asking.n):
            added = yield from _first_dependent(asking, target, [v for v in order if v not in found], found)
            if added is None:
                break
            found.add(added)
        return (yield from shrink(asking, target, found, forced, affinity))


@dataclass(frozen=True, kw_only=True)
class IAMB(BlanketSearch):
    """Incremental association: Markov blankets by adding the variable that depends most, then as PC.

    (Tsamardinos, Aliferis and Statnikov 2003.) For any score, which only says what the structure found is worth.

    Parameters
    ----------
    test : str, IndependenceTest or callable
        The test, as in :func:`bntk.independence`; or a function ``(x, y, given) -> p`` of names.
    alpha : float
        Variables are taken as independent where the p-value is above; for ``form="fdr"``, the share of variables in the
        blanket that may be false.
    max_given : int, optional
        The largest number of variables given, and of a Markov blanket.
    form : {"iamb", "inter", "fdr"}
        ``"inter"`` removes independent variables after each one that is added, so that fewer are given (Yaramakala and
        Margaritis 2005); ``"fdr"`` controls the false discovery rate, by the procedure of Benjamini and Yekutieli (Pena
        2008).

    Examples
    --------
    >>> import bntk
    >>> IAMB(form="inter").markov_blanket(bntk.datasets.asia().sample(5000, seed=1), "bronc")
    ('smoke', 'either', 'dysp')
    """

    name = "iamb"
    form: str = "iamb"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checking.one_of("form", self.form, ("iamb", "inter", "fdr"))

    def _blanket(self, asking: Asking, target: int, affinity: Floats) -> Task[set[int]]:
        if self.form == "fdr":
            return (yield from self._by_discovery_rate(asking, target))
        forced = asking.required_of(target)
        found, refused = set(forced), set[int]()
        seen = {frozenset(found)}
        while len(found) < asking.most_given(asking.n):
            others = sorted(set(range(asking.n)) - found - refused - {target})
            if not others:
                break
            answers = yield [question(target, v, found) for v in others]
            best = strongest(answers)
            if answers.p_value[best] > asking.alpha:
                asking.leave_out(target, found, others, answers.p_value)
                break
            found.add(others[best])
            if self.form == "inter":
                kept = yield from shrink(asking, target, found, forced | {others[best]}, affinity)
                found = yield from shrink(asking, target, kept, forced, affinity)
                if others[best] not in found or frozenset(found) in seen:
                    refused.add(others[best])  # or it would be added again, or what it led away from, for ever
                seen.add(frozenset(found))
        return (yield from shrink(asking, target, found, forced, affinity))

    def _by_discovery_rate(self, asking: Asking, target: int) -> Task[set[int]]:
        """Remove the member with the largest p-value that is not significant, or add the other with the smallest.

        With m variables, the i-th smallest p-value times m / i times sum_j 1 / j must not exceed alpha. A blanket that
        comes back ends the search, as all moves from it are known.
        """
        forced = asking.required_of(target)
        others = [v for v in range(asking.n) if v != target]
        m = len(others)
        factor = m / np.arange(1.0, m + 1) * (1 / np.arange(1.0, m + 1)).sum()
        found, seen = set(forced), set[frozenset[int]]()
        while others and frozenset(found) not in seen and len(found) <= asking.most_given(asking.n):
            seen.add(frozenset(found))
            answers: Answers = yield [question(target, v, found - {v}) for v in others]
            rank = np.searchsorted(np.sort(answers.p_value), answers.p_value, side="right")  # of equal ones, the last
            corrected = answers.p_value * factor[rank - 1]
            false = [k for k, v in enumerate(others) if v in found - forced and corrected[k] > asking.alpha]
            true = [k for k, v in enumerate(others) if v not in found and corrected[k] <= asking.alpha]
            if false:
                weakness = -excess(answers)
                found = found - {others[max(false, key=lambda k: (corrected[k], weakness[k], -k))]}
            elif true:
                chosen = Answers(*(values[true] for values in answers))
                found = found | {others[true[strongest(chosen)]]}
            else:
                apart = [k for k, v in enumerate(others) if v not in found]
                asking.leave_out(target, found, [others[k] for k in apart], answers.p_value[apart])
        return found


def _first_dependent(asking: Asking, target: int, order: list[int], given: set[int]) -> Task[int | None]:
    """The first variable that depends on the target, given some."""
    p_values: list[float] = []
    for batch in in_batches(order, 4):
        answers = yield [question(target, v, given) for v in batch]
        dependent = np.flatnonzero(answers.p_value <= asking.alpha)
        if len(dependent):
            return batch[dependent[0]]
        p_values += answers.p_value.tolist()
    asking.leave_out(target, given, order, p_values)
    return None


def shrink(asking: Asking, target: int, found: set[int], kept: set[int], affinity: Floats) -> Task[set[int]]:
    """Remove what is independent of the target given the others, the weakest first, one after the other."""
    found = set(found)
    while True:
        order = sorted(found - kept, key=lambda v: (affinity[target, v], v))
        removed = None
        for batch in in_batches(order, 4):
            answers = yield [question(target, v, found - {v}) for v in batch]
            independent = np.flatnonzero(answers.p_value > asking.alpha)
            if len(independent):
                removed = batch[independent[0]]
                asking.leave_out(target, found - {removed}, [removed], answers.p_value[independent[:1]])
                break
        if removed is None:
            return found
        found.discard(removed)


def neighbors_within(asking: Asking, blankets: list[set[int]], affinity: Floats) -> list[set[int]]:
    """The neighbours among the members of Markov blankets: those that no part of the smaller blanket separates.

    Of two blankets of the same size, no part of either. Others are separated by the smaller blanket; where the test
    does not agree, by what was given when one was left out of the blanket of the other.
    """
    possible, required = asking.possible(), asking.required()
    skeleton = [set(row) for row in required]
    pairs, apart = [], []
    for x in range(asking.n):
        for y in range(x + 1, asking.n):
            if y in required[x]:
                continue
            pools = smaller_first(blankets[x] - {y}, blankets[y] - {x}, np.minimum(affinity[x], affinity[y]))
            if y not in blankets[x]:
                apart.append(question(x, y, pools[0]))
            elif y in possible[x]:
                pairs += [(x, y, pool) for pool in pools if len(pool) == len(pools[0])]
                skeleton[x].add(y)
                skeleton[y].add(x)
    for (x, y, given), p in zip(apart, asking.tester.p_values(apart).tolist()):
        if p > asking.alpha:
            asking.separate(x, y, given, p)
        elif (x, y) in asking.outside:
            asking.separate(x, y, *asking.outside[x, y])
    ranked = [_ranked(pool, x, y, affinity) for x, y, pool in pairs]
    largest = np.array([asking.most_given(len(pool)) for pool in ranked], dtype=np.int64)
    xs, ys = [x for x, _, _ in pairs], [y for _, y, _ in pairs]
    separators = asking.first_separators(Pairs.of_pools(xs, ys, ranked, np.zeros_like(largest), largest))
    for (x, y, _), found in zip(pairs, separators, strict=True):
        if found is not None and y in skeleton[x]:
            asking.separate(x, y, *found)
            skeleton[x].discard(y)
            skeleton[y].discard(x)
    separate_forbidden(asking, skeleton, affinity)
    return skeleton


def separate_forbidden(asking: Asking, skeleton: list[set[int]], affinity: Floats) -> None:
    """Find what separates the ends of triples that no arc may join: it tells whether the middle is a collider."""
    pairs = sorted({(a, b) for a, _, b in asking.untold(skeleton)})
    pools = [smaller_first(skeleton[x], skeleton[y], np.minimum(affinity[x], affinity[y])) for x, y in pairs]
    for one in (0, 1):
        left = [place for place, pair in enumerate(pairs) if pair not in asking.separators]
        tasks = [separate(asking, *pairs[place], pools[place][one], affinity) for place in left]
        for place, found in zip(left, asking.together(tasks)):
            if found is not None:
                asking.separate(*pairs[place], *found)


def separate(
    asking: Asking, x: int, y: int, pool: set[int], affinity: Floats
) -> Task[tuple[tuple[int, ...], float] | None]:
    """The smallest part of a pool that separates two variables, of these the first; None when none does."""
    for batch in in_batches(subsets(asking, x, y, pool, affinity)):
        answers = yield [question(x, y, given) for given in batch]
        for given, p in zip(batch, answers.p_value.tolist()):
            if p > asking.alpha:
                return given, p
    return None


def subsets(asking: Asking, x: int, y: int, pool: set[int], affinity: Floats) -> Iterator[tuple[int, ...]]:
    """The parts of a pool by size, those that depend most on both variables first."""
    ranked = _ranked(pool, x, y, affinity)
    for size in range(asking.most_given(len(ranked)) + 1):
        yield from combinations(ranked, size)


def _ranked(pool: set[int], x: int, y: int, affinity: Floats) -> list[int]:
    """The variables of a pool, those that depend most on both x and y first."""
    shared = np.minimum(affinity[x], affinity[y]).tolist()
    return sorted(pool, key=lambda v: (-shared[v], v))

"""Searches on rows that are read in passes: few passes, and the very structure that rows in memory give.

A search asks for the scores of families, and each question would be a pass. So it is run as a whole, again and again: a
family that has not been counted yet has a score that is estimated from a sample of the rows, and what was estimated is
counted in one pass before the search is run anew. The run in which nothing is estimated has seen the scores of all rows
alone, and is the answer. The estimate is the score on the sample times the number of rows for each of the sample: as
careful as the sample is small, so that the search does not follow chance far.
"""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk._interrupts import BestSoFar
from bntk.errors import ArgumentError
from bntk.graph.dag import DAG
from bntk.learning.counts import PartitionCounter, TableCounter
from bntk.learning.scores.decomposable import DecomposableScore
from bntk.learning.scores.family_evaluator import FamilyEvaluator
from bntk.learning.scores.store import BATCH_ENTRIES, Family, FamilyStore
from bntk.learning.search.base import BEST_STRUCTURE, Search, SearchResult

if TYPE_CHECKING:
    from bntk.learning.space import Space

Floats = NDArray[np.float64]


def needs_rows(what: str, instead: str) -> ArgumentError:
    """The error for what looks at single rows, which are not in memory."""
    return ArgumentError(
        f"{what} looks at single rows, which a scan does not keep in memory; what can be learned in passes is "
        f"{instead}; or read the rows into memory (bntk.read_table)"
    )


class CountedStore(FamilyStore):
    """The scores of families on all rows, counted when a batch of them is asked for."""

    def __init__(self, score: DecomposableScore, counter: PartitionCounter) -> None:
        super().__init__(score, counter)
        self.ceiling_free = True
        self.known_bounds: dict[Family, float] = {}
        self._gains: dict[object, Floats] = {}

    def find(self, family: Family) -> float | None:
        """The score of a family, if it is known."""
        value = self._known.get(family)
        if value is None and len(family[1]) == 1 and (family[0], ()) in self._toggled:
            value = float(self._toggled[family[0], ()][family[1][0]])
            value = None if np.isnan(value) else value
        if value is None and self._pairs:
            value = self._known_as_pairs([family]).get(family)
        if value is None and self._size(family) > self.most_entries:
            return -np.inf
        return value

    def pair_gains(self, target: int | None, chosen: list[int], same_rows: bool) -> Floats:
        """The gains of pairs, which are counted once."""
        key = target, tuple(chosen), same_rows
        if key not in self._gains:
            self._gains[key] = super().pair_gains(target, chosen, same_rows)
        return self._gains[key].copy()

    def count(self, families: list[Family], bounds: list[Family]) -> None:
        """Score families, and the bounds of some, in one pass if their tables fit into one batch."""
        wanted = [*dict.fromkeys([*families, *bounds])]
        sizes, entries = self._sizes(wanted), 0
        taken: list[Family] = []
        for family, size in zip(wanted, sizes, strict=True):
            entries += min(size, self._n_rows * self._cards[family[0]])
            if taken and entries > BATCH_ENTRIES:
                break
            taken.append(family)
        known, with_bounds = {*families}, {*bounds}
        self.values([family for family in taken if family in known])
        limited = [family for family in taken if family in with_bounds]
        if limited:
            self.known_bounds.update(zip(limited, self.bounds(limited).tolist(), strict=True))

    def _ceilings_of(self, children: list[int]) -> Floats:
        """Zero: the table of a child given all other variables may be as large as the data."""
        return np.zeros(len(children))


class EstimatingStore(FamilyStore):
    """The scores of families: those that have been counted, and estimates of others, which are noted.

    Attributes
    ----------
    wanted, wanted_bounds : dict
        The families that were estimated, in the order of being asked for.
    """

    def __init__(self, counted: CountedStore, sample: FamilyStore | None, factor: float) -> None:
        self.__dict__.update(copy.copy(counted).__dict__)
        self._counted, self._sample, self._factor = counted, sample, factor
        self._known, self._toggled, self._pairs, self._rule = {}, {}, {}, None
        self.n_evaluated = 0
        self.wanted: dict[Family, None] = {}
        self.wanted_bounds: dict[Family, None] = {}

    def limit(self, most_entries: int) -> None:
        """Give families whose tables have more entries the score -inf from now on."""
        super().limit(most_entries)
        self._counted.limit(most_entries)
        if self._sample is not None:
            self._sample.limit(most_entries)

    def values(self, families: list[Family]) -> list[float]:  # type: ignore[override]
        """The scores of families, counted or estimated."""
        found, unknown = {}, []
        for family in dict.fromkeys(families):
            value = self._known.get(family)
            if value is None:
                value = self._counted.find(family)
                if value is None:
                    unknown.append(family)
                    continue
                self._known[family] = value
                self.n_evaluated += 1
            found[family] = value
        if unknown:
            self.wanted.update(dict.fromkeys(unknown))
            found.update(zip(unknown, self._estimated(unknown), strict=True))
        return [found[family] for family in families]

    def _estimated(self, families: list[Family]) -> list[float]:
        if self._sample is None:
            return [-np.inf] * len(families)
        return [self._factor * value for value in self._sample.values(families)]

    def toggled(self, family: Family, wanted: NDArray[np.bool_]) -> Floats:
        """The score of a family with each wanted variable added to its parents, or removed when it is one."""
        values = self._toggled.setdefault(family, np.full(len(self._cards), np.nan))
        child, parents = family
        others = np.flatnonzero(wanted & np.isnan(values)).tolist()
        changed = [
            (child, tuple(p for p in parents if p != x) if x in parents else tuple(sorted((*parents, x))))
            for x in others
        ]
        values[others] = self.values(changed)
        return values

    def remember_toggle(self, family: Family, variable: int, result: Family) -> None:
        """Nothing: what is estimated is not to be remembered."""

    def learn_all_pairs(self) -> None:
        """The scores of all pairs, which are counted."""
        if (0, ()) not in self._counted._toggled:
            self._counted.learn_all_pairs()
        for child in range(len(self._cards)):
            self._toggled[child, ()] = self._counted._toggled[child, ()].copy()

    def pair_gains(self, target: int | None, chosen: list[int], same_rows: bool) -> Floats:
        """What each variable adds as a parent of each other one; all pairs are counted."""
        return self._counted.pair_gains(target, chosen, same_rows)

    def bounds(self, families: list[Family]) -> Floats:  # type: ignore[override]
        """Upper bounds, exact or estimated."""
        known = self._counted.known_bounds
        unknown = [family for family in families if family not in known]
        estimates: dict[Family, float] = {}
        if unknown:
            self.wanted_bounds.update(dict.fromkeys(unknown))
            sample = self._sample
            found = np.zeros(len(unknown)) if sample is None else self._factor * sample.bounds(unknown)
            estimates = dict(zip(unknown, found.tolist(), strict=True))
        return np.array([known.get(family, estimates.get(family, 0.0)) for family in families])


class StreamedSearch:
    """A search on rows that are read in passes.

    Parameters
    ----------
    score : DecomposableScore
    counter : PartitionCounter
    arc_weights : ndarray, optional
    """

    def __init__(self, score: DecomposableScore, counter: PartitionCounter, arc_weights: Floats | None = None) -> None:
        self.score, self.counter, self._arc_weights = score, counter, arc_weights
        if score not in counter.stores:
            counter.stores[score] = CountedStore(score, counter)
        self._counted: CountedStore = counter.stores[score]
        sample = counter.sample
        self._sample: FamilyStore | None = None
        self._factor = 1.0
        if sample is not None and sample.n_rows:
            self._sample = FamilyStore(score, TableCounter(sample))
            self._factor = counter.total_weight / sample.n_rows

    def limit_tables(self, most_entries: int) -> None:
        """Give families whose tables have more entries the score -inf, so that no search chooses them."""
        self._counted.limit(most_entries)
        if self._sample is not None:
            self._sample.limit(most_entries)

    def evaluator(self) -> FamilyEvaluator:
        """An evaluator that estimates what has not been counted."""
        store = EstimatingStore(self._counted, self._sample, self._factor)
        return FamilyEvaluator(self.score, self.counter, arc_weights=self._arc_weights, store=store)

    def run(self, search: Search, space: Space, start: DAG | None, seed: int) -> SearchResult:
        """Run the search until nothing is estimated; interrupted, it gives the structure of the last run."""
        began = time.perf_counter()
        found: SearchResult | None = None
        with BestSoFar(BEST_STRUCTURE, lambda: found is not None) as so_far:
            while True:
                evaluator = self.evaluator()
                found = search.run(evaluator, space, start=start, seed=seed)
                store = evaluator._store
                assert isinstance(store, EstimatingStore)
                if found.interrupted or not (store.wanted or store.wanted_bounds):
                    break
                self._counted.count([*store.wanted], [*store.wanted_bounds])
        assert found is not None
        return replace(found, interrupted=so_far.interrupted or found.interrupted, seconds=time.perf_counter() - began)

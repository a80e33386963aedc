"""The scores of families: counted in batches, scored once, remembered."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk._threads import n_threads, pieces_for, run_parallel, spans
from bntk.errors import DataError
from bntk.learning.counts import Counter, PairTables
from bntk.learning.counts.base import ALWAYS_DENSE
from bntk.learning.counts.families import WORTH_A_THREAD
from bntk.learning.counts.memory import TableCounter
from bntk.learning.scores import kernels
from bntk.learning.scores.base import (
    MOST_CONFIGURATIONS,
    TableBatch,
    compact_batch,
    dense_batch,
    extension_batch,
    gather,
    margins,
    pair_batch,
    single_batch,
)
from bntk.learning.scores.decomposable import DecomposableScore, KernelScore, LogLikelihood, Reach
from bntk.learning.scores.enlarging_kernels import score_enlarged
from bntk.learning.scores.leaving_out import one_by_one
from bntk.learning.scores.toggle_kernels import score_toggles

#: A family: the child, and its parents ascending; all of them positions.
Family = tuple[int, tuple[int, ...]]

# Tables are counted in batches of about so many entries (128 MB).
BATCH_ENTRIES = 1 << 24


class FamilyStore:
    """A score on the rows of a counter, family by family.

    Attributes
    ----------
    n_evaluated : int
        Families evaluated so far.
    complete : boolean array of shape (n,)
        Which columns have no missing values.
    """

    def __init__(self, score: DecomposableScore, counter: Counter) -> None:
        self.score = score
        self.counter = counter
        self.n_evaluated = 0
        self._cards = [variable.n_states for variable in counter.variables]
        self._card_array = np.array(self._cards, dtype=np.int64)
        self._rows = float(counter.total_weight)
        self._n_rows = counter.n_rows
        # Whole weights are rows that are there several times, for which the ways to count are the same.
        self._dense_limit = max(self._n_rows, round(self._rows), ALWAYS_DENSE)
        self._rule = score._rule(self._rows) if isinstance(score, KernelScore) else None
        self.most_entries: float = math.inf  # larger tables have the score -inf
        self._safe = len(self._cards)  # so many parents and one more are within the limit, whatever their states
        self._known: dict[Family, float] = {}
        self._toggled: dict[Family, NDArray[np.float64]] = {}
        # The score of each variable (row) with each other one (column) as a parent, beside a target or None.
        self._pairs: dict[int | None, NDArray[np.float64]] = {}
        self._ceilings: dict[int, float] = {}
        self.complete = self._find_complete()
        self._all_complete = bool(self.complete.all())
        self._whole = self._all_complete and not counter.weighted
        if counter.directed and self._rule is not None:
            if self._rule.average:
                raise DataError(
                    f"{score!r} takes the average over complete rows times all rows, but where variables were set by "
                    'an experiment (intervened=) not all rows count: give missing="available", or use structural_em'
                )
            self._whole &= self._rule.formula != kernels.QNML  # whose bounds need the rows of each family
        # For each child, of how many configurations all other variables have together.
        everything = math.prod(self._cards)
        self._most = np.array([float(min(everything // r, MOST_CONFIGURATIONS)) for r in self._cards])

    def limit(self, most_entries: int) -> None:
        """Give families whose tables have more entries the score -inf from now on."""
        largest = max(self._cards, default=1)
        self.most_entries, self._safe, size = most_entries, -1, largest**2  # of a child and one parent
        while size <= most_entries and self._safe < len(self._cards):
            self._safe, size = self._safe + 1, size * largest

    def _find_complete(self) -> NDArray[np.bool_]:
        """Which columns are complete; where a table in memory does not tell, the counts do."""
        known = self.counter.complete_columns()
        if known is not None and (known.all() or self.counter.directed):
            return known
        sums = self._evaluate_singles()
        return np.asarray(sums >= self._rows * (1 - 1e-12), dtype=bool)  # weights are summed in another order

    def _evaluate_singles(self) -> NDArray[np.float64]:
        """Evaluate every variable without parents; returns the rows in which each has a value."""
        tables = self.counter.tables([[v] for v in range(len(self._cards))])
        if tables:
            self._evaluate_tables([(v, ()) for v in range(len(tables))], gather(tables, 1, self._cards, 1))
        return np.array([float(table.sum()) for table in tables])

    def values(self, families: Sequence[Family]) -> list[float]:
        """The scores of families; rows are read once for all that are new."""
        new = [family for family in dict.fromkeys(families) if family not in self._known]
        if new and self._pairs:
            self._known.update(self._known_as_pairs(new))
            new = [family for family in new if family not in self._known]
        if new:
            self._evaluate(new)
        return [self._known[family] for family in families]

    def _known_as_pairs(self, families: Sequence[Family]) -> dict[Family, float]:
        """Of some families, those that were evaluated as a pair, alone or given a target."""
        found: dict[Family, float] = {}
        for child, parents in families:
            if len(parents) == 1:
                places: list[tuple[int | None, int]] = [(None, parents[0])]
            elif len(parents) == 2:
                places = [(parents[0], parents[1]), (parents[1], parents[0])]
            else:
                continue
            for target, tail in places:
                values = self._pairs.get(target)
                if values is not None and not math.isnan(values[child, tail]):
                    found[child, parents] = float(values[child, tail])
        return found

    def _evaluate(self, families: list[Family]) -> None:
        """Count and score families; where one variable without parents is wanted, all are, as the others will be."""
        grown = [family for family in families if family[1]]
        if len(grown) < len(families):
            self._evaluate_singles()
        sizes = self._sizes(grown)
        if max(sizes, default=0) > self.most_entries:
            self._known.update((f, -math.inf) for f, size in zip(grown, sizes, strict=True) if size > self.most_entries)
            grown = [family for family in grown if family not in self._known]
            sizes = self._sizes(grown)
        if self.for_threads:
            self._evaluate_sparse(
                [family for family, size in zip(grown, sizes, strict=True) if size > self._dense_limit]
            )
            grown = [family for family in grown if family not in self._known]
            sizes = self._sizes(grown)
        for places, count in self._batches(grown, sizes):
            self._evaluate_tables([grown[f] for f in places], count())

    def _evaluate_sparse(self, families: list[Family]) -> None:
        """Evaluate families with tables larger than the data by the kernel that never makes these."""
        last = [np.array(parents[-1:], dtype=np.int64) for _, parents in families]
        jobs = [((child, parents[:-1]), other) for (child, parents), other in zip(families, last, strict=True)]
        spans_of_jobs = spans(len(jobs), pieces_for(float(len(jobs)) * self._n_rows * 8, 4 * n_threads()))

        def evaluate(span: tuple[int, int]) -> list[float]:
            return [float(self._by_kernel(*job)[0]) for job in jobs[slice(*span)]]

        threads = 1 if len(jobs) * self._n_rows < WORTH_A_THREAD >> 5 else n_threads()
        values = run_parallel(evaluate, spans_of_jobs, threads)
        self._known.update(zip(families, chain.from_iterable(values), strict=True))
        self.n_evaluated += len(families)

    def _batches(
        self, families: Sequence[Family], sizes: Sequence[int]
    ) -> Iterator[tuple[list[int], Callable[[], TableBatch]]]:
        """Cut families into batches that fit in memory: the places of each batch, and a function that counts it.

        Densely, or only what was seen where the table would be larger than the data.
        """
        dense = [(f, size) for f, size in enumerate(sizes) if size <= self._dense_limit]
        large = [(f, self._n_rows * self._cards[families[f][0]]) for f, s in enumerate(sizes) if s > self._dense_limit]
        for sized, count in ((dense, dense_batch), (large, compact_batch)):
            for places in _in_batches(sized):
                yield places, partial(count, self.counter, [families[f] for f in places])

    def _evaluate_tables(self, families: list[Family], batch: TableBatch) -> NDArray[np.float64]:
        values, before = self.score.evaluate(batch, self._rows), len(self._known)
        self._known.update(zip(families, values.tolist(), strict=True))
        self.n_evaluated += len(self._known) - before
        return values

    def _sizes(self, families: Iterable[Family]) -> list[int]:
        """Entries of the dense table of each family; Python integers, which do not overflow."""
        card = self._cards.__getitem__
        return [math.prod(map(card, parents)) * card(child) for child, parents in families]

    def _size(self, family: Family) -> int:
        """Entries of the dense table of a family."""
        return self._sizes([family])[0]

    # ---------------------------------------------------------------- families that differ by one parent

    def toggled(self, family: Family, wanted: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The score of a family with each wanted variable added to its parents, or removed when it is one.

        NaN where that is neither wanted nor known; the array is the store's own.
        """
        values = self._toggled.get(family)
        if values is None:
            values = self._toggled[family] = np.full(len(self._cards), np.nan)
            if len(family[1]) > self._safe:
                too_large = np.array(self._cards) > self.most_entries / self._size(family)
                too_large[list(family[1])] = False  # which would be removed
                values[too_large] = -math.inf
        if self._rule is not None and self.counter.planes is not None:
            base = np.array((*family[1], family[0]), dtype=np.int64)
            done, left = score_toggles(*self.counter.planes, base, wanted, *self._rule, self._rows, values)
            self.n_evaluated += done
            if not left:
                return values
        others = np.flatnonzero(wanted & np.isnan(values)).tolist()
        self._evaluate_toggled(family, others, values)
        return values

    def remember_toggle(self, family: Family, variable: int, result: Family) -> None:
        """Remember the score of a family after adding or removing a variable, if it is known."""
        values = self._toggled.get(family)
        if values is not None and not math.isnan(values[variable]):
            self._known[result] = float(values[variable])

    def _evaluate_toggled(self, family: Family, others: list[int], values: NDArray[np.float64]) -> None:
        """Fill in toggles of any size, of any score, on any counter."""
        child, parents = family
        room = self._dense_limit // self._size(family)
        added = [x for x in others if x not in parents]
        dense = [x for x in added if self._cards[x] <= room]
        extended = self._evaluate_larger(family, dense, values)
        if len(dense) < len(added):
            large = [x for x in added if self._cards[x] > room]
            values[large] = self.values([(child, tuple(sorted((*parents, x)))) for x in large])
        if len(added) < len(others):
            removed = [x for x in others if x in parents]
            smaller = [(child, tuple(p for p in parents if p != x)) for x in removed]
            self._evaluate_smaller(family, [f for f in smaller if f not in self._known], extended)
            values[removed] = self.values(smaller)

    def _evaluate_larger(
        self, family: Family, added: list[int], values: NDArray[np.float64]
    ) -> tuple[TableBatch, int] | None:
        """Fill in the score of a family with each variable added; returns a table that its own is the sum of."""
        child, parents = family
        extended = None
        largest = self._size(family) * max((self._cards[x] for x in added), default=1)
        step = max(1, BATCH_ENTRIES // largest)
        for start in range(0, len(added), step):
            part = added[start : start + step]
            batch = extension_batch(self.counter, parents, child, part)
            values[part] = self.score.evaluate(batch, self._rows)
            self.n_evaluated += len(part)
            extended = next(((batch, f) for f, x in enumerate(part) if self.complete[x]), extended)
        return extended

    def _evaluate_smaller(self, family: Family, smaller: list[Family], extended: tuple[TableBatch, int] | None) -> None:
        """Evaluate families with one parent less by summing out axes of the table of the family, where that is right.

        With missing values other rows would count, and a table larger than the data is not made.
        """
        child, parents = family
        if not smaller or not self.complete[[child, *parents]].all() or self._size(family) > self._dense_limit:
            return
        if extended is None:
            (counts,) = self.counter.tables([(*parents, child)])
        else:
            batch, f = extended
            counts = batch.table(f).sum(axis=-1)
        counts = counts.reshape([self._cards[v] for v in (*parents, child)])
        axes = [next(k for k, p in enumerate(parents) if p not in kept) for _, kept in smaller]
        sums = [counts.sum(axis=k) for k in axes]
        self._evaluate_tables(smaller, gather(sums, [s.size // s.shape[-1] for s in sums], self._cards[child], 1))

    def enlarged(self, family: Family, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """The score of a family with each of some other variables as one more parent; neither remembered nor counted.

        Where it is :attr:`for_threads`, kernels do all of it, so that threads may call this side by side.
        """
        child, parents = family
        values = np.full(len(self._cards), np.nan)
        if len(parents) >= self._safe:
            values[self._card_array > self.most_entries / self._size(family)] = -math.inf
        wanted = np.zeros(len(self._cards), dtype=bool)
        wanted[others] = True
        left = len(others)
        if self._rule is not None and self.counter.planes is not None:
            base = np.array((*parents, child), dtype=np.int64)
            _, left = score_toggles(*self.counter.planes, base, wanted, *self._rule, self._rows, values)
        rest = others[np.isnan(values[others])] if left else others[:0]
        if len(rest) and self.for_threads:
            values[rest] = self._by_kernel(family, rest)
        elif len(rest):
            before = self.n_evaluated
            self._evaluate_enlarged(family, rest, values)
            self.n_evaluated = before
        return values[others]

    def _by_kernel(self, family: Family, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """The score of a family with each of some other variables as one more parent, where a kernel can do it."""
        assert self._codes is not None
        assert self._rule is not None
        child, parents = family
        out = np.empty(len(others))
        formula, spread, alpha, penalty, _ = self._rule
        q = float(min(math.prod(map(self._cards.__getitem__, parents)), MOST_CONFIGURATIONS))
        score_enlarged(
            self._codes, self._card_array, np.array(parents, dtype=np.int64), child, others, q, formula, spread, alpha,
            penalty, out,
        )  # fmt: skip
        return out

    def _evaluate_enlarged(self, family: Family, others: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Fill in the score of a family with each of some other variables, of any score, on any counter."""
        child, parents = family
        sizes = self._size(family) * np.array(self._cards, dtype=float)[others]
        self._evaluate_larger(family, others[sizes <= self._dense_limit].tolist(), values)
        large = others[sizes > self._dense_limit]
        families = [(child, tuple(sorted((*parents, x)))) for x in large.tolist()]
        for places, count in self._batches(families, self._sizes(families)):
            values[large[places]] = self.score.evaluate(count(), self._rows)

    @property
    def for_threads(self) -> bool:
        """Whether kernels do all of :meth:`enlarged`."""
        return self._codes is not None

    @cached_property
    def _codes(self) -> NDArray[Any] | None:
        """The rows, where a kernel can read them and the score is a sum of terms of cells that are not empty.

        A row of weight 2 is two rows; other weights than whole ones, the kernel does not know.
        """
        rule = self._rule
        if rule is None or not isinstance(self.counter, TableCounter) or not self._n_rows:
            return None
        counter = one_by_one(self.counter)
        if counter.weighted:
            return None
        if rule.average and not self._all_complete:
            return None
        plain = rule.formula == kernels.LIKELIHOOD and rule.alpha == 0
        dirichlet = rule.formula == kernels.DIRICHLET and rule.spread != kernels.SEEN_CELLS
        return counter.table.codes if plain or dirichlet else None

    # ---------------------------------------------------------------- all pairs

    @property
    def pairs_fit(self) -> bool:
        """True when the tables of all pairs are small enough to be counted at once, and serve both directions."""
        return not self.counter.directed and sum(self._cards) ** 2 < 2 * BATCH_ENTRIES

    def learn_all_pairs(self) -> None:
        """Evaluate each variable with each other one as its only parent."""
        batch, tails, heads = pair_batch(self.counter.pairs())
        values = np.full((len(self._cards),) * 2, np.nan)
        values[heads, tails] = self.score.evaluate(batch, self._rows)
        self.n_evaluated += len(batch)
        cards = np.array(self._cards, dtype=float)
        values[np.outer(cards, cards) > self.most_entries] = -math.inf
        self._toggled.update(((child, ()), row) for child, row in enumerate(values))

    def pair_gains(self, target: int | None, chosen: list[int], same_rows: bool) -> NDArray[np.float64]:
        """What each variable (row: tail) adds as a parent of each other one (column: head), given the target."""
        result = np.full((len(self._cards),) * 2, np.nan)
        if len(chosen) < 2:
            return result
        self._pairs[target] = np.full_like(result, np.nan)
        if self.counter.directed:
            self._fill_gains_by_head(target, chosen, same_rows, result)
            return result
        for places, pairs in self.counter.pair_parts(target, chosen):
            self._fill_pair_gains(target, np.array(chosen)[places], pairs, same_rows, result)
        self.n_evaluated += len(chosen) * (len(chosen) - 1)
        return result

    def _fill_pair_gains(
        self, target: int | None, index: NDArray[np.int64], pairs: PairTables, same_rows: bool,
        result: NDArray[np.float64],
    ) -> None:  # fmt: skip
        """Enter the gains of some pairs, of the variables that ``index`` names."""
        batch, tails, heads = pair_batch(pairs)
        base = () if target is None else (target,)
        if target is not None:
            self._evaluate_tables([(target, ())], gather([pairs.class_counts], 1, self._cards[target], 1))
        singles = self._evaluate_tables([(v, base) for v in index.tolist()], single_batch(pairs))
        values = self.score.evaluate(batch, self._rows)
        if same_rows and not self.complete[[*index, *base]].all():
            gains = values - self.score.evaluate(margins(batch), self._rows)
        else:
            gains = values - singles[heads]
        self._pairs[target][index[heads], index[tails]] = values
        result[index[tails], index[heads]] = gains

    def _fill_gains_by_head(
        self, target: int | None, chosen: list[int], same_rows: bool, result: NDArray[np.float64]
    ) -> None:
        """Enter the gains of all pairs, counted for each head by itself, as other rows count for each."""
        base = () if target is None else (target,)
        singles = self.values([(head, base) for head in chosen])
        for head, single in zip(chosen, singles, strict=True):
            tails = [tail for tail in chosen if tail != head]
            values = self.toggled((head, base), np.isin(np.arange(len(self._cards)), tails))[tails]
            self._pairs[target][head, tails] = values
            result[tails, head] = values - single
            if same_rows and not self.complete[[*chosen, *base]].all():
                batch = extension_batch(self.counter, base, head, tails)
                result[tails, head] = values - self.score.evaluate(margins(batch), self._rows)

    # ---------------------------------------------------------------- bounds

    def bounds(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """For each family, an upper bound on the score of every family with the same and more parents."""
        ceilings = self._ceilings_of([child for child, _ in families])
        sizes = self._sizes(families)
        bounds = np.empty(len(families))
        for places, count in self._batches(families, sizes):
            children = np.array([families[f][0] for f in places])
            cards = np.array([self._cards[child] for child in children])
            most = self._most[children]
            reach = Reach(
                tables=cache(count),
                cards=cards,
                qs=np.array([float(min(sizes[f] // r, MOST_CONFIGURATIONS)) for f, r in zip(places, cards.tolist())]),
                n=self._rows,
                ceilings=ceilings[places],
                most_configurations=most,
                most_seen=np.clip(most, 1.0, max(1.0, float(self._n_rows))),
                whole=self._whole,
            )
            bounds[places] = self.score.bounds(reach)
        bounds[np.array(sizes, dtype=float) > self.most_entries] = -math.inf
        finite = np.isfinite(bounds)
        bounds[finite] += 1e-11 * (1 + np.abs(bounds[finite]))  # room for rounding
        return bounds

    def _ceilings_of(self, children: list[int]) -> NDArray[np.float64]:
        """The log-likelihood of each child given all other variables; with missing values other rows would count: 0."""
        if not self._all_complete:
            return np.zeros(len(children))
        variables = range(len(self._cards))
        new = [(v, tuple(x for x in variables if x != v)) for v in sorted(set(children) - self._ceilings.keys())]
        for places, count in self._batches(new, self._sizes(new)):
            values = LogLikelihood().evaluate(count(), self._rows)
            self._ceilings.update(zip([new[f][0] for f in places], values.tolist(), strict=True))
        return np.array([self._ceilings[child] for child in children])


def _in_batches(sized: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Cut places, each with the size of its table, into batches that fit in memory."""
    batch: list[int] = []
    entries = 0
    for place, size in sized:
        if batch and entries + size > BATCH_ENTRIES:
            yield batch
            batch, entries = [], 0
        batch.append(place)
        entries += size
    if batch:
        yield batch

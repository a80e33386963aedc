"""The terms that families add to the class log scores: computed when they are first needed, and kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from bntk._threads import n_threads, pieces_for, run_parallel, spans
from bntk.errors import TooLargeError
from bntk.learning.scores import predictive_kernels as kernels

#: A node and its parents.
Family = tuple[int, frozenset[int]]
Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]

# Bytes of terms that are kept for later, and of others at one time: these should fit into the processor's cache.
KEPT_BYTES, PASSING_BYTES = 1 << 27, 1 << 24
LEAST_PASSING = 4
# With less to do (about a millisecond) a thread costs more than it saves: entries of matrices.
WORTH_A_THREAD = 1 << 20
# The table that one term is looked up in may have so many entries, fewer than a table of counts elsewhere
# (cpt.MAX_TABLE_ENTRIES): threads work on several terms at once, each with tables of its own. Larger ones are reduced
# to the configurations that occur, which needs parents without missing values.
MAX_TERM_ENTRIES = 1 << 24
ALWAYS_DENSE = 1 << 14


class Structure(NamedTuple):
    """The parents of each node. Its term is that of missing cells, for :class:`~.missing_sums.ExactTerms` alone."""

    parents: tuple[frozenset[int], ...]

    def changed(self, other: Structure) -> set[int]:
        """The variables of the families in which two structures differ."""
        pairs = enumerate(zip(self.parents, other.parents, strict=True))
        return {v for node, (one, two) in pairs if one != two for v in (node, *one, *two)}


#: What a term is of, and whether it is wanted as logarithms.
Wanted = tuple[Family | Structure, bool]


class LabelledRows(NamedTuple):
    """The rows whose class is known, in the order of a :class:`~.leaving_out.HoldoutPlan`."""

    scheme: int
    starts: Ints
    n_rows: int
    y: NDArray[np.uint32]
    weights: NDArray[np.float64]
    weighted: bool
    codes: NDArray[np.unsignedinteger]
    cards: Ints
    has_missing: NDArray[np.bool_]
    target: int
    alpha: float
    log_counts: NDArray[np.float64]


class Terms:
    """A pool of terms, each a matrix with a line for each class and a column for each row.

    A batch of structures is evaluated in blocks. In a block, :meth:`find` says where in the pool a term will be, and
    :meth:`fill` computes those that are new. While there is room, terms stay; then new ones take the places of those
    that have not been used for longest, but never of those used in the same batch: of a batch that is larger than the
    pool, some terms are kept and the others pass through places of their own, which are free again after the block.

    Terms do not depend on what is kept.

    Parameters
    ----------
    rows : LabelledRows
    names : sequence of str
        For errors.
    """

    def __init__(self, rows: LabelledRows, names: Sequence[str]) -> None:
        self.rows = rows
        self._names = names
        self._sizes = (rows.cards + rows.has_missing).tolist()
        self.shape = (int(rows.cards[rows.target]), len(rows.y))
        n_bytes = 8 * math.prod(self.shape)
        self._n_kept = KEPT_BYTES // n_bytes
        #: Places that are free at the beginning of each block; so many terms at least can be had at once.
        self.n_passing = max(LEAST_PASSING, PASSING_BYTES // n_bytes)
        self._pool: NDArray[np.float64] | None = None
        self._where: dict[Wanted, int] = {}  # the kept ones, the longest unused first
        self._last_batch: list[int] = []  # for each place of a kept term, when it was used
        self._passing: dict[Wanted, int] = {}
        self._new: list[tuple[Wanted, int]] = []
        self._batch = self._n_in_use = 0

    @property
    def pool(self) -> NDArray[np.float64]:
        """The terms, by place."""
        if self._pool is None:  # memory that is not written to is not taken
            self._pool = np.empty((self._n_kept + self.n_passing, *self.shape))
        return self._pool

    def begin_batch(self) -> None:
        """What has been used before may be forgotten."""
        if self._new:  # the last batch ended early, by an error or an interrupt, and not all places are filled
            self._new.clear()
            self._where.clear()
            self._last_batch.clear()
        self._batch += 1
        self._n_in_use = 0
        self.begin_block()

    def begin_block(self) -> None:
        """What is passing may be forgotten."""
        self._passing.clear()

    @property
    def room(self) -> int:
        """So many more terms can be had in this block."""
        return self._n_kept - self._n_in_use + self.n_passing - len(self._passing)

    def find(self, wanted: Wanted) -> int:
        """The place of a term in the pool, where it is after :meth:`fill`."""
        place = self._where.pop(wanted, None)
        if place is not None:
            self._where[wanted] = place
            if self._last_batch[place] != self._batch:
                self._last_batch[place] = self._batch
                self._n_in_use += 1
            return place
        place = self._passing.get(wanted)
        if place is None:
            place = self._take_place(wanted)
            self._new.append((wanted, place))
        return place

    def _take_place(self, wanted: Wanted) -> int:
        if self._n_in_use == self._n_kept:
            place = self._passing[wanted] = self._n_kept + len(self._passing)
            return place
        if len(self._where) < self._n_kept:
            place = len(self._last_batch)
            self._last_batch.append(self._batch)
        else:
            place = self._where.pop(next(iter(self._where)))
            self._last_batch[place] = self._batch
        self._where[wanted] = place
        self._n_in_use += 1
        return place

    def fill(self) -> None:
        """Compute the terms that are needed and not there yet."""
        if self._new:
            self._compute([wanted for wanted, _ in self._new], [place for _, place in self._new], self.pool)
            self._new.clear()

    def compute(self, family: Family) -> Matrix:
        """The logarithmic term of a family; threads may compute several at the same time."""
        pool = np.empty((1, *self.shape))
        self._compute([(family, True)], [0], pool)
        return pool[0]

    # ---------------------------------------------------------------- computing

    def _compute(self, wanted: list[Wanted], places: list[int], pool: NDArray[np.float64]) -> None:
        """Compute terms into their places of the pool; here all of them are of families."""
        dense = []
        for (family, logs), place in zip(cast(list[tuple[Family, bool]], wanted), places, strict=True):
            if self._is_dense(family):
                dense.append((family, logs, place))
            else:
                self._compute_sparse(family, logs, pool[place])
        if not dense:
            return
        features = [self._features(family) for family, _, _ in dense]
        starts = np.zeros(len(dense) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in features], out=starts[1:])
        packed = as_ints(v for row in features for v in row)
        children = as_ints(child for (child, _), _, _ in dense)
        logs_, places_ = np.array([logs for _, logs, _ in dense]), as_ints(place for _, _, place in dense)
        threads = threads_for(len(dense) * math.prod(self.shape))
        run_parallel(
            lambda span: kernels.fill_pool(*self.rows, children, packed, starts, logs_, places_, *span, pool),
            spans(len(dense), pieces_for(len(dense) * math.prod(self.shape), 4 * threads if threads > 1 else 1)),
            threads,
        )

    def _features(self, family: Family) -> list[int]:
        return sorted(family[1] - {self.rows.target})

    def _is_dense(self, family: Family) -> bool:
        """Whether the table has a line for each configuration of the parents, and not only for those that occur."""
        features = self._features(family)
        n_entries = math.prod([self._sizes[v] for v in features]) * self._n_slots(family[0]) * self.shape[0]
        # A table that is much larger than what is looked up in it is reduced.
        if n_entries <= max(ALWAYS_DENSE, 4 * math.prod(self.shape)):
            return True
        if not any(self.rows.has_missing[v] for v in features):
            return False
        if n_entries > MAX_TERM_ENTRIES:
            self._refuse(family, n_entries)
        return True

    def fits(self, family: Family) -> bool:
        """Whether the term of a family can be computed: whether its table is not too large."""
        features = self._features(family)
        configurations = math.prod([self._sizes[v] for v in features])
        if not any(self.rows.has_missing[v] for v in features):
            configurations = min(configurations, self.shape[1])  # only those that occur
        entries = configurations * self._n_slots(family[0]) * self.shape[0]
        return entries <= max(MAX_TERM_ENTRIES, 4 * math.prod(self.shape))

    def _n_slots(self, child: int) -> int:
        return 1 if child == self.rows.target else self._sizes[child]

    def _compute_sparse(self, family: Family, logs: bool, out: Matrix) -> None:
        """Number the configurations of the parents that occur, which have no missing values, and make do with them."""
        child, features = family[0], self._features(family)
        found, n_found = np.zeros(self.shape[1], dtype=np.int64), 1
        for v in features:
            _, found = np.unique(found * self._sizes[v] + self.rows.codes[v], return_inverse=True)
            n_found = int(found.max()) + 1
        n_entries = n_found * self._n_slots(child) * self.shape[0]
        if n_entries > max(MAX_TERM_ENTRIES, 4 * math.prod(self.shape)):
            self._refuse(family, n_entries)
        pa = found.astype(np.uint32)
        strides, missing = as_ints([0] * len(features)), as_ints([-1] * len(features))
        kernels.fill_family(
            *self.rows, child, as_ints(features), strides, missing, n_found, logs, pa, np.empty_like(pa),
            np.ones(len(pa), dtype=bool), out,
        )  # fmt: skip

    def _refuse(self, family: Family, n_entries: int) -> NoReturn:
        child, parents = family
        raise TooLargeError(
            f"the table of {self._names[child]!r} given {[self._names[v] for v in sorted(parents)]} needs "
            f"{n_entries:,} entries; the limit is {MAX_TERM_ENTRIES:,}: allow fewer parents (max_parents of a "
            "space, k of KDB, max_k of SelectiveKDB), or join rare states"
        )


def as_ints(numbers: Iterable[int]) -> Ints:
    """An array for kernels."""
    return np.array(list(numbers), dtype=np.int64)


def threads_for(n_entries: int) -> int:
    """How many threads are worth their cost for so many entries of matrices."""
    return 1 if n_entries < WORTH_A_THREAD else n_threads()

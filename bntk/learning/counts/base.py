"""The counter, through which all learning reads rows. All its results are sums over blocks of rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import TypeVar

import numpy as np

from bntk._threads import run_parallel
from bntk.cpt import MAX_TABLE_ENTRIES
from bntk.data.table import Table
from bntk.data.variable import Variable, cards_of, names_of
from bntk.errors import DataError
from bntk.learning.counts.compact import CompactTable, add_compact, count_compact
from bntk.learning.counts.families import FamilyPlan, count_block, plan_families
from bntk.learning.counts.pairs import PairTables, RememberedPairs, count_pairs, find_variable, layout_pairs, pair_parts
from bntk.learning.counts.state_planes import StatePlanes

R = TypeVar("R")
Block = tuple[Table, "np.ndarray | None"]
Job = Callable[[Table, "np.ndarray | None"], R]

# Pair tables with at most this many entries are remembered (128 MiB).
MOST_REMEMBERED = 2**24
MAX_ENTRIES = MAX_TABLE_ENTRIES
# Dense tables up to this size are always cheaper than finding the configurations that were seen.
ALWAYS_DENSE = 2**12


class Counter(ABC):
    """The base of all counters: contingency tables of rows, wherever these are stored.

    Counting never changes a counter; adding two gives a new one. Pair tables are cached, and families whose counts are
    in them are not counted again. So a tree and the parameters of its network are learned in one pass over the rows.

    A source of rows has only to define ``_blocks``, ``n_rows``, ``total_weight`` and ``weighted``. One that counts
    elsewhere (another process or machine) overrides ``_reduce`` and runs the same jobs there; they can be pickled. See
    ``bntk.learning.counts.partitions``.

    Attributes
    ----------
    variables : tuple of Variable
    names : tuple of str
    cards : tuple of int
        Number of states of each variable.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.counts import TableCounter
    >>> table = bntk.Table.from_columns({"rain": ["no", "no", "yes"], "grass": ["dry", "wet", "wet"]})
    >>> counter = TableCounter(table)
    >>> counter.tables([["rain", "grass"], ["grass"]])
    [array([[1, 1],
           [0, 1]]), array([1, 2])]
    >>> (counter + counter).n_rows
    6
    """

    def __init__(self, variables: Iterable[Variable]) -> None:
        self.variables = tuple(variables)
        self.names = names_of(self.variables)
        self._positions = {name: k for k, name in enumerate(self.names)}
        self._places: dict[str | int, int] = {place: place for place in range(len(self.names))}
        self._places.update(self._positions)
        self.cards = cards_of(self.variables)
        self._remembered: RememberedPairs | None = None

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows, complete or not."""

    @property
    @abstractmethod
    def weighted(self) -> bool:
        """True when rows have weights; tables then hold floats."""

    @property
    @abstractmethod
    def total_weight(self) -> float:
        """Sum of the weights of all rows; their number when they have no weights."""

    @property
    def planes(self) -> StatePlanes | None:
        """The rows as bit planes, for kernels that count and score at once; None when there are none."""
        return None

    @property
    def directed(self) -> bool:
        """Whether the rows that count for a family depend on which of its variables is the child, the last one."""
        return False

    def complete_columns(self) -> np.ndarray | None:
        """Which variables have a value in every row, as booleans; None where only counts can tell."""
        return None

    @abstractmethod
    def _blocks(self) -> Iterator[Block]:
        """All rows, as one or more tables of ``self.variables``, each with the weights of its rows or None."""

    def _map_blocks(self, job: Job[R]) -> Iterator[R]:
        """The result of a job for each block, in the order of the blocks."""
        for table, weights in self._blocks():
            yield job(table, weights)

    def _reduce(self, job: Job[R], add: Callable[[R, R], R], needed: Collection[int] | None = None) -> R:
        """The results of a job for all blocks, added; ``add`` may change and return its first argument.

        The job looks at the ``needed`` variables only, or at all of them.
        """
        parts = self._map_blocks(job)
        total = next(parts)
        for part in parts:
            total = add(total, part)
        return total

    # ---------------------------------------------------------------- dense tables

    def tables(self, families: Iterable[Iterable[str | int]], *, max_entries: int = MAX_ENTRIES) -> list[np.ndarray]:
        """Contingency tables of a batch of families.

        Parameters
        ----------
        families : iterable of sequences of variables
            Each by name or index; by convention the parents first, then the child.
        max_entries : int
            Refuse the batch when its tables have more entries together.

        Returns
        -------
        list of ndarray
            One table per family, with one axis per variable in the given order; integers, or floats when rows have
            weights. Tables of one batch are views of one buffer. A row counts for a family when it is complete in that
            family.

        Raises
        ------
        TooLargeError
            Before anything is allocated.
        """
        return self._dense((), self._find_families(families), max_entries)

    def extensions(
        self, base: Iterable[str | int], others: Iterable[str | int], *, max_entries: int = MAX_ENTRIES
    ) -> list[np.ndarray]:
        """``tables([(*base, x) for x in others])``, with the work for ``base`` shared: the inner loop of a search.

        Parameters
        ----------
        base : sequence of variables
            The first variables of every family, by name or index.
        others : sequence of variables
            The last variable of each family.
        max_entries : int
            Refuse the batch when its tables have more entries together.

        Examples
        --------
        >>> import bntk
        >>> from bntk.learning.counts import TableCounter
        >>> table = bntk.Table.from_columns({"a": [0, 0, 1], "b": [0, 1, 1], "c": [1, 1, 0]})
        >>> TableCounter(table).extensions(["a"], ["b", "c"])
        [array([[1, 1],
               [0, 1]]), array([[0, 2],
               [1, 0]])]
        """
        shared = self._find_family(base)
        chosen = [(self._find(variable),) for variable in others]
        for (variable,) in chosen:
            if variable in shared:
                self._refuse_repeat((*shared, variable))
        return self._dense(shared, chosen, max_entries)

    def flat_tables(
        self, base: Sequence[int], families: Sequence[Sequence[int]], *, max_entries: int = MAX_ENTRIES
    ) -> tuple[np.ndarray, FamilyPlan]:
        """Tables of ``(*base, *family)`` for each family in one flat buffer, and their places: the form for kernels.

        Variables are positions, and trusted. The table of family f has the shape ``plan.shapes[f]`` and begins at
        ``plan.offsets[f]``.
        """
        plan = plan_families(self.cards, base, families, max_entries, self.names)
        if self._remembered is not None and not base and max(map(len, families), default=0) <= 3:
            known = self._remembered.tables(families, max_entries)
            if type(None) not in map(type, known):
                return plan.filled(known), plan  # type: ignore[arg-type]
        needed = {*plan.base.tolist(), *plan.members.tolist()}
        (flat,) = self._sum_blocks(partial(_count_families, plan), needed)
        return flat, plan

    def extended_tables(
        self, parents: Sequence[int], child: int, others: Sequence[int]
    ) -> tuple[np.ndarray, FamilyPlan]:
        """Tables of ``(*parents, child, x)`` for each of some further parents x, as :meth:`flat_tables` gives them."""
        return self.flat_tables((*parents, child), [(x,) for x in others])

    def _dense(self, base: Sequence[int], families: Sequence[Sequence[int]], max_entries: int) -> list[np.ndarray]:
        known: list[np.ndarray | None] = [None] * len(families)
        if self._remembered is not None and not base:
            known = self._remembered.tables(families, max_entries)
        unknown = [family for family, table in zip(families, known, strict=True) if table is None]
        if not unknown and families:
            return known  # type: ignore[return-value]
        flat, plan = self.flat_tables(base, unknown, max_entries=max_entries)
        counted = iter(plan.tables(flat))
        return [next(counted) if table is None else table for table in known]

    # ---------------------------------------------------------------- tables for scores

    def compact(self, families: Iterable[Iterable[str | int]], *, max_entries: int = MAX_ENTRIES) -> list[CompactTable]:
        """Counts of families (parents, then child) as matrices with one row per parent configuration.

        All configurations are there, in order, when the dense table has no more entries than there are rows (or is
        small). Else only those that were seen, sorted; the dense table is never made, so any number of parents will do.

        Parameters
        ----------
        families : iterable of sequences of variables
            The parents, then the child, each by name or index.
        max_entries : int
            Refuse the batch when its tables have more entries together.

        Examples
        --------
        >>> import bntk
        >>> from bntk.learning.counts import TableCounter
        >>> table = bntk.Table.from_columns({"a": [0, 0, 1], "b": [0, 1, 1]})
        >>> (compact,) = TableCounter(table).compact([["a", "b"]])
        >>> compact.counts
        array([[1, 1],
               [0, 1]])
        >>> compact.q, compact.configurations is None
        (2, True)
        """
        chosen = self._find_families(families)
        if not all(chosen):
            raise DataError("a family needs at least a child; an empty one was given")
        limit = max(self.n_rows, ALWAYS_DENSE)
        card = self.cards.__getitem__
        sparse = [len(family) > 1 and math.prod(map(card, family)) > limit for family in chosen]
        dense = [family for family, is_sparse in zip(chosen, sparse, strict=True) if not is_sparse]
        tables = iter(self._dense((), dense, 2**63) if dense else ())
        seen = iter(self._sparse([f for f, is_sparse in zip(chosen, sparse, strict=True) if is_sparse], max_entries))
        return [next(seen) if is_sparse else _as_compact(next(tables)) for is_sparse in sparse]

    def _sparse(self, families: list[tuple[int, ...]], max_entries: int) -> list[CompactTable]:
        if not families:
            return []
        cards = [[self.cards[v] for v in family[:-1]] for family in families]
        needed = {*chain.from_iterable(families)}
        return self._reduce(partial(_count_sparse, families, max_entries), partial(_add_all_compact, cards), needed)

    # ---------------------------------------------------------------- all pairs

    def pairs(
        self, target: str | int | None = None, among: Iterable[str | int] | None = None, *,
        max_entries: int | None = None,
    ) -> PairTables:  # fmt: skip
        """The tables of all pairs of variables, given the target when there is one.

        Parameters
        ----------
        target : variable, optional
            The variable that the tables are given, by name or index.
        among : iterable of variables, optional
            The variables to pair, in this order; all but the target when not given.
        max_entries : int, optional
            Refuse when all tables have more entries together; by default 2**27.

        Examples
        --------
        >>> import bntk
        >>> from bntk.learning.counts import TableCounter
        >>> table = bntk.Table.from_columns({"a": [0, 0, 1], "b": [0, 1, 1], "c": [1, 1, 0]})
        >>> TableCounter(table).pairs().table("a", "c")
        array([[0, 2],
               [1, 0]])
        """
        goal = None if target is None else self._find(target)
        if among is None:
            features = tuple(v for v in range(len(self.variables)) if v != goal)
        else:
            features = self._find_family(among)
        if goal in features:
            raise DataError(f"the target {self.variables[goal].name!r} cannot also be one of the variables to pair")
        if self._remembered is not None and self._remembered.is_about(goal, features):
            return self._remembered.pairs
        n_classes = 1 if goal is None else self.cards[goal]
        layout = layout_pairs([self.cards[v] for v in features], n_classes, max_entries)
        needed = {*features} if goal is None else {*features, goal}
        buffers = self._sum_blocks(partial(count_pairs, features, goal, layout), needed)
        variables = [self.variables[v] for v in features]
        pairs = PairTables(variables, None if goal is None else self.variables[goal], layout, *buffers)
        if pairs.counts.size <= MOST_REMEMBERED:
            self._remembered = RememberedPairs(pairs, goal, features, self.total_weight)
        return pairs

    def pair_parts(
        self, target: str | int | None = None, among: Sequence[str | int] | None = None
    ) -> Iterator[tuple[np.ndarray, PairTables]]:
        """All pairs part by part, for what needs each table only once: any number of variables will do.

        Parameters
        ----------
        target, among
            As for :meth:`pairs`.

        Returns
        -------
        iterator of (array of int, PairTables)
            The places in ``among`` of the variables of each part, and the tables. Each two variables are in some part,
            and may be in several; where there are few of them there is one part.
        """
        goal = None if target is None else self._find(target)
        chosen = [v for v in range(len(self.variables)) if v != goal] if among is None else self._find_family(among)
        n_classes = 1 if goal is None else self.cards[goal]
        for places in pair_parts([self.cards[v] for v in chosen], n_classes):
            yield np.array(places, dtype=np.int64), self.pairs(goal, [chosen[place] for place in places])

    # ---------------------------------------------------------------- what is missing, and some of the variables

    @cached_property
    def incomplete(self) -> tuple[str, ...]:
        """The variables with missing cells."""
        complete = self.complete_columns()
        if complete is not None:
            return tuple([name for name, known in zip(self.names, complete, strict=True) if not known])
        counts = self.tables([[v] for v in range(len(self.names))])
        whole = self.total_weight * (1 - 1e-12)  # weights are summed in another order
        return tuple([name for name, table in zip(self.names, counts, strict=True) if table.sum() < whole])

    def select(self, names: Sequence[str]) -> Counter:
        """A counter of the same rows over some of the variables, in this order."""
        raise DataError(
            f"the variables of a {type(self).__name__} cannot be chosen among: give it those that are wanted"
        )

    # ---------------------------------------------------------------- adding

    def __add__(self, other: Counter) -> Counter:
        """A counter of the rows of both; no row is copied."""
        return other._after(self) if isinstance(other, Counter) else NotImplemented

    def _after(self, other: Counter) -> Counter:
        """A counter of the rows of another one, and then of these."""
        return SumCounter((other, self))

    def update(self, table: Table, weights: np.ndarray | None = None) -> Counter:
        """A counter of these rows and those of a table; this one stays as it is.

        Parameters
        ----------
        table : Table
            Further rows of the same variables.
        weights : array of shape (n_rows,), optional
            How much each of them counts.
        """
        from bntk.learning.counts.memory import TableCounter

        return self + TableCounter(table, weights)

    def __repr__(self) -> str:
        weighted = ", weighted" if self.weighted else ""
        return f"{type(self).__name__}: {self.n_rows:,} rows x {len(self.variables)} variables{weighted}"

    # ---------------------------------------------------------------- helpers

    def _sum_blocks(self, job: Job[tuple[np.ndarray, ...]], needed: Collection[int]) -> tuple[np.ndarray, ...]:
        """Sum of the arrays that a job returns for each block, in place from the second block on."""
        return self._reduce(partial(_with_type, job, np.float64 if self.weighted else np.int64), add_arrays, needed)

    def _find(self, variable: str | int) -> int:
        return find_variable(variable, self._positions)

    def _find_families(self, families: Iterable[Iterable[str | int]]) -> list[tuple[int, ...]]:
        """The positions of the variables of each family; all at once, as there may be thousands."""
        position = self._places.get
        found = []
        for family in families:
            places = tuple(map(position, family)) if not isinstance(family, str) else (None,)
            if None in places or len({*places}) < len(places):
                places = self._find_family(family)  # other types of numbers, or an error that says what is wrong
            found.append(places)
        return found  # type: ignore[return-value]

    def _find_family(self, family: Iterable[str | int]) -> tuple[int, ...]:
        if isinstance(family, str):
            raise DataError(f"a family is a sequence of variables, as in [{family!r}], not the string {family!r}")
        found = tuple(self._find(variable) for variable in family)
        if len(set(found)) < len(found):
            self._refuse_repeat(found)
        return found

    def _refuse_repeat(self, family: tuple[int, ...]) -> None:
        names = [self.names[v] for v in family]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"variable {twice!r} is given twice in the family ({', '.join(names)})")


class SumCounter(Counter):
    """The rows of several counters together. Made by adding counters."""

    def __init__(self, parts: Sequence[Counter]) -> None:
        super().__init__(parts[0].variables)
        for part in parts[1:]:
            check_same_variables(self.variables, part.variables)
        self.parts: tuple[Counter, ...] = ()
        for part in parts:
            self.parts += part.parts if isinstance(part, SumCounter) else (part,)

    @property
    def n_rows(self) -> int:
        """Number of rows, complete or not."""
        return sum(part.n_rows for part in self.parts)

    @property
    def weighted(self) -> bool:
        """True when some rows have weights; the others weigh one."""
        return any(part.weighted for part in self.parts)

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all rows."""
        return sum(part.total_weight for part in self.parts)

    def _blocks(self) -> Iterator[Block]:
        return chain.from_iterable(part._blocks() for part in self.parts)

    def _map_blocks(self, job: Job[R]) -> Iterator[R]:
        return chain.from_iterable(part._map_blocks(job) for part in self.parts)


def check_same_variables(expected: Sequence[Variable], given: Sequence[Variable]) -> None:
    """Refuse variables that are not the expected ones, and name the first that differs."""
    for one, other in zip(expected, given, strict=False):
        if one != other:
            raise DataError(f"counters of different variables cannot be added: {one!r} here, {other!r} there")
    if len(expected) != len(given):
        longer = expected if len(expected) > len(given) else given
        extra = longer[min(len(expected), len(given))].name
        raise DataError(
            f"counters of different variables cannot be added: {len(expected)} here, {len(given)} there, "
            f"{extra!r} in one only"
        )


# Jobs are functions of a module, not closures, so that they can be sent to another process.


def _with_type(
    job: Job[tuple[np.ndarray, ...]], dtype: type, table: Table, weights: np.ndarray | None
) -> tuple[np.ndarray, ...]:
    return tuple([array.astype(dtype, copy=False) for array in job(table, weights)])


def add_arrays(totals: tuple[np.ndarray, ...], more: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Sums of arrays, in place."""
    for total, array in zip(totals, more, strict=True):
        total += array
    return totals


def _add_all_compact(
    cards: list[list[int]], totals: list[CompactTable], more: list[CompactTable]
) -> list[CompactTable]:
    return [add_compact(one, other, own) for one, other, own in zip(totals, more, cards, strict=True)]


def _count_families(plan: FamilyPlan, table: Table, weights: np.ndarray | None) -> tuple[np.ndarray]:
    return (count_block(plan, table, weights),)


def _count_sparse(
    families: list[tuple[int, ...]], max_entries: int, table: Table, weights: np.ndarray | None
) -> list[CompactTable]:
    return run_parallel(lambda family: count_compact(family, table, weights, max_entries), families)


def _as_compact(table: np.ndarray) -> CompactTable:
    q = math.prod(table.shape[:-1])
    return CompactTable(table.reshape(q, table.shape[-1]), None, q)

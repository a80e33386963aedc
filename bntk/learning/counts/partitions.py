"""Rows in partitions, in other places than this process's memory: files, a database, the workers of an engine.

Learning is counting, and counts add. So all that a place of rows has to do is to apply a function to each partition,
and to add the results. There are two such functions for each of the two kinds of passes, and all of them and their
arguments can be pickled:

1. *What columns hold:* :func:`~bntk.data.summaries.summarise_partition` and
   :func:`~bntk.data.summaries.add_summaries`; :func:`~bntk.data.found_states.variables_of_summary` gives the states and
   cut points.
2. *Tables:* :func:`count_partition`, given a :class:`Coding` (variables and the column of weights) and a
   :class:`Request`, and :func:`add_tables`.

A partition is a data frame (pandas, polars, an Arrow table or record batch), a mapping of columns or a
:class:`~bntk.data.table.Table`. The result does not depend on how rows are cut into partitions, nor in which order and
grouping results are added (sums of weights that are no whole numbers but for rounding; categories are in the order of
the first partition).

To learn from an engine, derive from :class:`Partitions` and define ``names`` and ``reduce``: every learner that takes a
:class:`~bntk.learning.counts.base.Counter` then takes it, by :class:`PartitionCounter`, and classifiers do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from bntk._threads import n_threads, run_parallel, spans
from bntk.data.arrow_cells import MOST_RANGE, Cells, check_codes, chunks_of, is_arrow, translated
from bntk.data.coding import CodedColumn, _match, lacking_columns, settle_against
from bntk.data.columns import Texts, code_column, n_rows_of, numbers_of
from bntk.data.cuts import code_columns
from bntk.data.found_states import states_for_reading
from bntk.data.label_types import typed_labels
from bntk.data.numbers import Reading
from bntk.data.summaries import Summary, TextColumn, add_summaries, partition_columns, row_weights, summarise_partition
from bntk.data.table import Table, Unseen, code_dtype
from bntk.data.variable import Variable, checked_variables, names_of
from bntk.data.weights import ROUNDING
from bntk.errors import DataError
from bntk.learning.counts.base import MAX_ENTRIES, Block, Counter, Job
from bntk.learning.counts.compact import CompactTable, add_compact, count_compact
from bntk.learning.counts.families import FamilyPlan, count_block, plan_families
from bntk.learning.counts.pairs import (
    PairTables,
    RememberedPairs,
    count_pairs,
    find_variable,
    layout_pairs,
    pair_entries,
)

R = TypeVar("R")


@dataclass(frozen=True)
class Coding:
    """How the columns of a partition become codes and weights.

    Attributes
    ----------
    variables : tuple of Variable
        The columns to read, with their states or cut points.
    weights : str, optional
        The column of the weights of rows.
    unseen : {"error", "missing"}
        Whether a value that is none of the states is refused, or taken as missing, with a warning.
    scale : float
        What weights are multiplied by.
    open : frozenset of str
        Variables whose last state is that of a missing cell.
    drops_empty : bool
        Whether rows of the weight 0 are left out.
    hidden : frozenset of str
        Variables that have no column, and are missing in every row.

    Examples
    --------
    >>> table, _ = Coding((Variable("rain", ["no", "yes"]),)).block({"rain": ["yes", None], "wind": [3, 4]})
    >>> table.codes
    array([[1, 2]], dtype=uint8)
    """

    variables: tuple[Variable, ...]
    weights: str | None = None
    unseen: Unseen = "error"
    scale: float = 1.0
    open: frozenset[str] = field(default_factory=frozenset)
    drops_empty: bool = False
    hidden: frozenset[str] = field(default_factory=frozenset)

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        own = [] if self.weights is None or self.weights in names_of(self.variables) else [self.weights]
        return [*names_of(self.variables), *own]

    def select(self, names: Sequence[str]) -> Coding:
        """The same for some of the variables, in this order."""
        from dataclasses import replace

        by_name = {variable.name: variable for variable in self.variables}
        return replace(self, variables=tuple([by_name[name] for name in names]))

    def block(self, data: Any, names: Collection[str] | None = None) -> Block:
        """The rows of a partition as a table, and their weights; of the named columns, the others are not filled in."""
        given = partition_columns(data)
        chosen = [(k, v) for k, v in enumerate(self.variables) if names is None or v.name in names]
        lacking = [v.name for _, v in chosen if v.name not in given and v.name not in self.hidden]
        if lacking:
            raise lacking_columns(lacking, list(given))
        if self.weights is not None:
            check_codes(given.get(self.weights))
        weights = row_weights(given, self.weights)
        if self.drops_empty and weights is not None and not weights.all():
            given, weights = {name: _taken(column, weights > 0) for name, column in given.items()}, weights[weights > 0]
        first = next(iter(given.values()), ())
        n_rows = n_rows_of(first)
        make = np.empty if len(chosen) == len(self.variables) else np.zeros
        codes = make((len(self.variables), n_rows), dtype=code_dtype(self.variables))
        quick: list[tuple[int, Variable]] = []
        labelled: list[tuple[int, CodedColumn]] = []
        for place, variable in chosen:
            if variable.name in self.hidden:
                codes[place] = variable.n_states
                continue
            column = given[variable.name]
            if is_arrow(column) and not variable.cuts:
                quick.append((place, variable))
                continue
            check_codes(column)
            if not self._cut(variable, column, codes[place]):
                labelled.append((place, _typed(code_column(variable.name, column), variable)))
        for place in self._looked_up(quick, given, codes):
            name = self.variables[place].name
            check_codes(given[name])
            labelled.append((place, code_column(name, given[name])))
        if labelled:
            known = [_closed(self.variables[place], self.open) for place, _ in labelled]
            rows, _ = settle_against([column for _, column in labelled], known, self.unseen)
            for (place, _), row in zip(labelled, rows, strict=True):
                codes[place] = row
        return Table._make(codes, self.variables), None if weights is None else self._scaled(weights)

    def _looked_up(self, quick: list[tuple[int, Variable]], given: dict[str, Any], codes: NDArray[Any]) -> list[int]:
        """Fill in columns of Arrow by looking up the codes of dictionaries; the places of those that are left."""

        def fill(item: tuple[int, Variable]) -> bool:
            place, variable = item
            return _look_up_cells(_closed(variable, self.open), given[variable.name], codes[place])

        n_pieces = spans(len(quick), 4 * n_threads())
        threads = None if codes.size >= WORTH_A_THREAD else 1
        done = run_parallel(lambda span: [fill(item) for item in quick[slice(*span)]], n_pieces, threads)
        flat = [filled for part in done for filled in part]
        return [place for (place, _), filled in zip(quick, flat, strict=True) if not filled]

    def _cut(self, variable: Variable, column: Any, out: NDArray[Any]) -> bool:
        """Fill in the intervals of a column of numbers; False for other columns and variables."""
        if variable.cuts is None or isinstance(column, CodedColumn):
            return False
        numbers = numbers_of(column)
        if numbers is None:
            return False
        out[:] = code_columns([numbers], [np.array(variable.cuts)], out.dtype)[0]
        return True

    def _scaled(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.scale == 1:
            return weights
        scaled = weights * self.scale
        whole = np.rint(scaled)
        return np.where(np.abs(scaled - whole) <= ROUNDING * whole, whole, scaled)


#: With fewer cells, a thread costs more than it saves.
WORTH_A_THREAD = 1 << 20


def _look_up_cells(variable: Variable, column: Any, out: NDArray[Any]) -> bool:
    """Fill in the codes of a column of Arrow; False where it must be coded label by label."""
    chunks = chunks_of(column)
    if chunks is None or variable.n_states >= MOST_RANGE - 2:
        return False
    by_number = _numbered(variable) if chunks and chunks[0].dictionary is None else None
    if chunks and chunks[0].dictionary is None and by_number is None:
        return False

    def lookup(cells: Cells) -> tuple[NDArray[Any], int]:
        if by_number is not None:
            return by_number
        places, unknown = _match(CodedColumn(variable.name, cells.dictionary.to_pylist(), cells.indices), variable)
        found = np.array(places, dtype=np.uint16)
        found[unknown] = variable.n_states + 1
        return found, 0

    return translated(chunks, lookup, variable.n_states, out) == 0


def _numbered(variable: Variable) -> tuple[NDArray[np.uint16], int] | None:
    """The codes of the whole numbers of a narrow range, and the least of them; None where states are anything else."""
    if any(type(state) is not int for state in variable.states):
        return None
    low, high = min(variable.states), max(variable.states)  # type: ignore[type-var]
    if high - low >= MOST_RANGE or abs(low) >= 2**62:  # type: ignore[operator, arg-type]
        return None
    found = np.full(high - low + 1, variable.n_states + 1, dtype=np.uint16)  # type: ignore[operator]
    found[np.array(variable.states) - low] = np.arange(variable.n_states)
    return found, low  # type: ignore[return-value]


def _taken(column: Any, rows: NDArray[np.bool_]) -> Any:
    """Some rows of a column."""
    from dataclasses import replace

    if isinstance(column, CodedColumn):
        return replace(column, codes=column.codes[rows], all_used=False)
    if isinstance(column, Texts):
        return Texts(column.column.filter(rows))
    if hasattr(column, "filter") and not hasattr(column, "iloc"):
        return column.filter(rows)
    return column[rows] if hasattr(column, "dtype") else [value for value, kept in zip(column, rows) if kept]


def _typed(column: CodedColumn, variable: Variable) -> CodedColumn:
    """A column of a text file with labels of the type of the states of a variable."""
    if not isinstance(column, TextColumn):
        return column
    kinds = {float} if variable.cuts is not None else {*map(type, variable.states)}
    kind = kinds.pop() if len(kinds) == 1 else str
    if kind not in (int, float, bool):
        return column
    labels = [None if text is None else _value(text, kind, column.decimal) for text in column.labels]
    return CodedColumn(column.name, labels, column.codes, texts=["" if t is None else str(t) for t in column.labels])


def _value(text: Any, kind: type, decimal: str) -> Any:
    """A text as a value of this type, or as it is where it is none."""
    try:
        return typed_labels("", [text], (), kind, decimal)[0]
    except (DataError, ValueError):
        return text


def _closed(variable: Variable, open_: Collection[str]) -> Variable:
    """A variable without its last state, if that stands for a missing cell."""
    return Variable(variable.name, variable.states[:-1], cuts=variable.cuts) if variable.name in open_ else variable


# -------------------------------------------------------------------- a partition to tables, and add tables


@dataclass(frozen=True)
class Request:
    """Which tables are wanted; variables by name.

    Attributes
    ----------
    families : tuple of tuples of str
        Contingency tables, the last axis that of the last variable.
    compact : tuple of tuples of str
        Families (parents, then child) of which only the configurations that were seen are wanted.
    pairs : tuple of (target or None, tuple of str)
        All pairs of some variables, given a target or not.
    """

    families: tuple[tuple[str, ...], ...] = ()
    compact: tuple[tuple[str, ...], ...] = ()
    pairs: tuple[tuple[str | None, tuple[str, ...]], ...] = ()


@dataclass
class PartitionTables:
    """The tables of some rows; made by :func:`count_partition`, added by :func:`add_tables`.

    Attributes
    ----------
    n_rows : int
    total_weight : float
    families : list of ndarray
    compact : list of CompactTable
    pairs : list of PairTables
    cards : list of lists of int
        The numbers of states of the parents of each compact table.
    """

    n_rows: int
    total_weight: float
    families: list[NDArray[Any]]
    compact: list[CompactTable]
    pairs: list[PairTables]
    cards: list[list[int]]


def count_partition(data: Any, coding: Coding, request: Request, *, max_entries: int = MAX_ENTRIES) -> PartitionTables:
    """A partition to tables: a pass over rows that are elsewhere.

    Parameters
    ----------
    data : data frame (pandas, polars, pyarrow table or record batch), mapping of columns, or Table
        Some of the rows.
    coding : Coding
        Variables and weights.
    request : Request
        The tables.
    max_entries : int
        Refuse families when their tables have more entries together.

    Returns
    -------
    PartitionTables
        It can be pickled.

    Examples
    --------
    >>> coding = Coding((Variable("a", [0, 1]), Variable("b", ["x", "y"])))
    >>> one = count_partition({"a": [0, 1, 1], "b": ["x", "y", None]}, coding, Request(families=(("a", "b"), ("a",))))
    >>> other = count_partition({"a": [0], "b": ["x"]}, coding, Request(families=(("a", "b"), ("a",))))
    >>> add_tables(one, other).families
    [array([[2, 0],
           [0, 1]]), array([2, 2])]
    """
    return _count_request(request, max_entries, *coding.block(data))


def add_tables(one: PartitionTables, other: PartitionTables) -> PartitionTables:
    """The tables of the rows of both.

    Parameters
    ----------
    one, other : PartitionTables
        Of the same request.
    """
    return PartitionTables(
        one.n_rows + other.n_rows,
        one.total_weight + other.total_weight,
        [mine + theirs for mine, theirs in zip(one.families, other.families, strict=True)],
        [
            add_compact(mine, theirs, own)
            for mine, theirs, own in zip(one.compact, other.compact, one.cards, strict=True)
        ],
        [mine + theirs for mine, theirs in zip(one.pairs, other.pairs, strict=True)],
        one.cards,
    )


def _count_request(request: Request, max_entries: int, table: Table, weights: NDArray[Any] | None) -> PartitionTables:
    at = {name: place for place, name in enumerate(table.names)}

    def places(family: Sequence[str]) -> tuple[int, ...]:
        return tuple([find_variable(name, at) for name in family])

    cards = table.cards.tolist()
    plan = plan_families(cards, (), [places(family) for family in request.families], max_entries, table.names)
    families = [np.array(counts) for counts in plan.tables(count_block(plan, table, weights))]
    sparse = [places(family) for family in request.compact]
    pairs = []
    for target, among in request.pairs:
        goal, features = (None if target is None else find_variable(target, at)), places(among)
        layout = layout_pairs([cards[v] for v in features], 1 if goal is None else cards[goal])
        counted = count_pairs(features, goal, layout, table, weights)
        variables = [table.variables[v] for v in features]
        pairs.append(PairTables(variables, None if goal is None else table.variables[goal], layout, *counted))
    return PartitionTables(
        table.n_rows, float(table.n_rows if weights is None else weights.sum()), families,
        [count_compact(family, table, weights, max_entries) for family in sparse], pairs,
        [[cards[v] for v in family[:-1]] for family in sparse],
    )  # fmt: skip


# -------------------------------------------------------------------- a place of rows, and its counter


class Partitions(ABC):
    """Rows in partitions: what an engine has to define so that everything can be learned from its rows.

    Attributes
    ----------
    names : tuple of str
        The columns.
    weights : str, optional
        The column of the weights of rows.
    variables : tuple of Variable, optional
        Declared states and cut points; they are found in one pass over the rows otherwise.
    """

    weights: str | None = None
    variables: tuple[Variable, ...] | None = None
    #: Whether it finds out by itself when rows change between passes; else their numbers of states are compared.
    is_checked: bool = False

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""

    @abstractmethod
    def reduce(self, task: Callable[[Any], R], add: Callable[[R, R], R], columns: Sequence[str], what: str) -> R:
        """``task(partition)`` for each partition, added.

        Parameters
        ----------
        task : callable
            It takes a partition that has (at least) some columns. It can be pickled.
        add : callable
            It takes two results; it may change and return the first. Any grouping will do, in the order of partitions.
        columns : sequence of str
            The columns that the task needs.
        what : str
            What the pass is for, to be shown while it goes on: "states", "tables" and the like.
        """

    def summary(self, columns: Sequence[str] | None = None, target: str | None = None) -> Summary:
        """What columns hold, in one pass over the rows; remembered."""
        own = tuple(name for name in self.names if name != self.weights) if columns is None else tuple(columns)
        known: dict[Any, Summary] = self.__dict__.setdefault("_summaries", {})
        key = own, target
        if key not in known:
            lacking = [name for name in own if name not in self.names]
            if lacking:
                raise lacking_columns(lacking, self.names)
            task = partial(summarise_partition, columns=own, target=target, weights=self.weights)
            read = list(dict.fromkeys([*own, *(name for name in (target, self.weights) if name is not None)]))
            found = self.reduce(task, add_summaries, read, "states")
            if found.n_rows == 0:
                raise DataError("the data has no rows; at least one is needed")
            known[key] = found.settled()
        return known[key]

    def coding(
        self, reading: Reading, only: Iterable[str] | None = None, variables: Sequence[Variable] | None = None
    ) -> Coding:
        """The states of the columns that are wanted, declared or found."""
        declared = self.variables if variables is None else checked_variables(variables)
        wanted = None if only is None else list(only)
        if declared is not None:
            return Coding(declared, self.weights, "missing")
        found = states_for_reading(self.summary(wanted), reading)
        return Coding(tuple(found.variables.values()), self.weights)

    def counter(
        self,
        reading: Reading | None = None,
        only: Iterable[str] | None = None,
        variables: Sequence[Variable] | None = None,
    ) -> PartitionCounter:
        """A counter of the rows."""
        return PartitionCounter(self, self.coding(reading or Reading(), only, variables))


class PartitionCounter(Counter):
    """A counter of rows in partitions; each request is one pass over them.

    Parameters
    ----------
    source : Partitions
    coding : Coding
        The variables and weights.

    Examples
    --------
    >>> import bntk
    >>> frames = [{"rain": ["no", "yes"]}, {"rain": ["no"]}]
    >>> counter = bntk.scan(lambda: iter(frames)).counter()
    >>> counter.tables([["rain"]]), counter.n_rows
    ([array([2, 1])], 3)
    """

    def __init__(self, source: Partitions, coding: Coding, target: str | None = None) -> None:
        super().__init__(coding.variables)
        self.source, self.coding, self.target = source, coding, target
        self._sizes: tuple[int, float] | None = None
        self._kept: dict[frozenset[int], tuple[tuple[int, ...], NDArray[Any]]] = {}
        self._n_kept = 0
        self._selected: dict[tuple[str, ...], PartitionCounter] = {}
        self._whole: PartitionCounter | None = None
        self.stores: dict[Any, Any] = {}
        self.sample: Table | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows, complete or not."""
        return self._counted()[0]

    @property
    def weighted(self) -> bool:
        """True when rows have weights; tables then hold floats."""
        return self.coding.weights is not None

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all rows; their number when they have no weights."""
        return self._counted()[1]

    def select(self, names: Sequence[str]) -> PartitionCounter:
        """A counter of the same rows over some of the variables, in this order."""
        names = tuple(names)
        if names not in self._selected:
            target = self.target if self.target in names else None
            self._selected[names] = PartitionCounter(self.source, self.coding.select(names), target)
            self._selected[names]._whole = self
        return self._selected[names]

    def pairs(
        self, target: str | int | None = None, among: Iterable[str | int] | None = None, *,
        max_entries: int | None = None,
    ) -> PairTables:  # fmt: skip
        """The tables of all pairs; those of some of the variables of another counter are taken from its own."""
        goal = None if target is None else self.names[self._find(target)]
        if self._whole is not None and among is None and goal == self.target:
            before = self._whole._remembered
            self._whole._look_ahead()
            if self._whole._remembered is not None and (before is None or before is self._whole._remembered):
                found = _some_pairs(self._whole._remembered.pairs, [v for v in self.variables if v.name != goal])
                if found is not None and (found.target.name if found.target else None) == goal:
                    features = tuple(k for k, name in enumerate(self.names) if name != goal)
                    place = None if goal is None else self._positions[goal]
                    self._sizes, self.sample = self._whole._sizes, self._sample_of_whole()
                    self._remembered = RememberedPairs(found, place, features, self.total_weight)
                    return found
        return super().pairs(target, among, max_entries=max_entries)

    def _sample_of_whole(self) -> Table | None:
        whole = self._whole
        return whole.sample.select(self.names) if whole is not None and whole.sample is not None else None

    def _counted(self) -> tuple[int, float]:
        """The numbers of rows and their weight: those of an earlier pass, or of one that counts what is needed next."""
        if self._sizes is None:
            self._look_ahead()
        if self._sizes is None:
            self._reduce(_nothing, _neither, ())
        assert self._sizes is not None
        return self._sizes

    # ---------------------------------------------------------------- few passes

    def _look_ahead(self) -> None:
        """Count all pairs, given the target where there is one, when these are not too many.

        Whoever asks for the numbers of single variables will next ask for pairs.
        """
        if self._remembered is not None:
            return
        cards = [card for name, card in zip(self.names, self.cards, strict=True) if name != self.target]
        n_classes = 1 if self.target is None else self.cards[self._positions[self.target]]
        if pair_entries(cards, n_classes) <= MOST_AHEAD:
            self.pairs(self.target)

    def _dense(self, base: Sequence[int], families: Sequence[Sequence[int]], max_entries: int) -> list[NDArray[Any]]:
        singles = not base and len(families) > 1 and all(len(family) == 1 for family in families)
        if singles and len(families) == len(self.names):
            self._look_ahead()
        return super()._dense(base, families, max_entries)

    def flat_tables(
        self, base: Sequence[int], families: Sequence[Sequence[int]], *, max_entries: int = MAX_ENTRIES
    ) -> tuple[NDArray[Any], FamilyPlan]:
        """The tables, those that were counted before without a pass; see :meth:`Counter.flat_tables`."""
        scopes = [(*base, *family) for family in families]
        known = [self._known(scope) for scope in scopes]
        if type(None) not in map(type, known):
            plan = plan_families(self.cards, base, families, max_entries, self.names)
            return plan.filled(known), plan  # type: ignore[arg-type]
        flat, plan = super().flat_tables(base, families, max_entries=max_entries)
        for scope, table in zip(scopes, plan.tables(flat), strict=True):
            self._keep(scope, table)
        return flat, plan

    def _known(self, scope: tuple[int, ...]) -> NDArray[Any] | None:
        """A table that was counted before, with its axes in this order."""
        order, table = self._kept.get(frozenset(scope), ((), None))
        for part in self._selected.values() if table is None else ():
            own = [part._positions.get(self.names[v], -1) for v in scope]
            if min(own) >= 0 and (found := part._known(tuple(own))) is not None:
                return found
        if table is None:
            return None
        return table if order == scope else np.ascontiguousarray(table.transpose([order.index(v) for v in scope]))

    def _keep(self, scope: tuple[int, ...], table: NDArray[Any]) -> None:
        if self._n_kept + table.size <= MOST_KEPT and frozenset(scope) not in self._kept:
            self._kept[frozenset(scope)] = scope, table.copy()
            self._n_kept += table.size

    # ---------------------------------------------------------------- passes

    def _blocks(self) -> Iterator[Block]:
        raise NotImplementedError("rows in partitions are not taken out of them; see _reduce")

    def _reduce(self, job: Job[R], add: Callable[[R, R], R], needed: Collection[int] | None = None) -> R:
        names = self.names if needed is None else [self.names[v] for v in sorted(needed)]
        whole = len(names) == len(self.names)
        task = partial(
            _run_job, self.coding, None if whole else frozenset(names), whole and self.sample is None,
            not self.source.is_checked, job,
        )  # fmt: skip
        read = [
            *([name for name in names if name not in self.coding.hidden] or self.source.names[:1]),
            *([] if self.coding.weights is None else [self.coding.weights]),
        ]
        found = self.source.reduce(task, partial(_add_counted, add), list(dict.fromkeys(read)), "tables")
        self._sizes = found.n_rows, found.total_weight
        if found.sample is not None:
            self.sample = Table._make(found.sample, self.variables)
        self._check_prints(found.prints)
        return found.result

    def _check_prints(self, prints: dict[str, NDArray[Any]]) -> None:
        """Refuse rows whose columns hold other numbers of each state than in an earlier pass."""
        before: dict[Any, NDArray[Any]] = self.source.__dict__.setdefault("_prints", {})
        for name, counts in prints.items():
            key = self.variables[self._positions[name]]
            if not np.array_equal(before.setdefault(key, counts), counts):
                raise DataError(
                    f"column {name!r} holds other values than in an earlier pass: rows must stay as they are while "
                    "they are learned from"
                )


def _some_pairs(pairs: PairTables, variables: Sequence[Variable]) -> PairTables | None:
    """The tables of the pairs of some variables, in this order; None where one is not among them."""
    if any(variable.name not in pairs.names for variable in variables):
        return None
    layout = layout_pairs([v.n_states for v in variables], pairs.layout.n_classes)
    names, n = names_of(variables), len(variables)
    parts = [pairs.table(names[i], names[j]).ravel() for i in range(n) for j in range(i + 1, n)]
    singles = [pairs.single(name).ravel() for name in names]
    dtype = pairs.counts.dtype
    return PairTables(
        variables, pairs.target, layout, np.concatenate([np.zeros(0, dtype), *parts]),
        np.concatenate([np.zeros(0, dtype), *singles]), pairs.class_counts,
    )  # fmt: skip


#: Entries of pair tables that are counted before they are asked for, and of tables that are kept.
MOST_AHEAD = 1 << 23
MOST_KEPT = 1 << 23
#: Rows of a sample.
SAMPLE = 1 << 14


@dataclass
class _Counted(Generic[R]):
    """What a pass gives beside its result: the rows, some of them, and how many have each state."""

    result: R
    n_rows: int
    total_weight: float
    sample: NDArray[Any] | None
    prints: dict[str, NDArray[Any]]


def _run_job(
    coding: Coding, names: frozenset[str] | None, sampled: bool, printed: bool, job: Job[R], data: Any
) -> _Counted[R]:
    table, weights = coding.block(data, names)
    prints = {}
    for variable, codes in zip(table.variables, table.codes, strict=True) if printed else ():
        if names is None or variable.name in names:
            prints[variable.name] = np.bincount(codes, minlength=variable.n_states + 1)
    total = float(table.n_rows if weights is None else weights.sum())
    return _Counted(job(table, weights), table.n_rows, total, _some(table.codes) if sampled else None, prints)


def _some(codes: NDArray[Any]) -> NDArray[Any]:
    """Every so many columns, such that they are not more than a sample."""
    return np.ascontiguousarray(codes[:, :: -(-codes.shape[1] // SAMPLE) or 1])


def _add_counted(add: Callable[[R, R], R], one: _Counted[R], other: _Counted[R]) -> _Counted[R]:
    one.result = add(one.result, other.result)
    one.n_rows += other.n_rows
    one.total_weight += other.total_weight
    if one.sample is not None and other.sample is not None:
        one.sample = _thinned(one, other)
    for name, counts in other.prints.items():
        one.prints[name] = one.prints[name] + counts
    return one


def _thinned(one: _Counted[R], other: _Counted[R]) -> NDArray[Any]:
    """A sample of both, with about the same share of the rows of each."""
    assert one.sample is not None
    assert other.sample is not None
    n_rows, room = one.n_rows, SAMPLE
    mine = round(room * (n_rows - other.n_rows) / max(1, n_rows))
    parts = []
    for sample, share in ((one.sample, mine), (other.sample, room - mine)):
        size = sample.shape[1]
        chosen = slice(None) if size <= share else np.arange(share) * size // max(1, share)
        parts.append(sample[:, chosen])
    return np.concatenate(parts, axis=1)


def _nothing(table: Table, weights: NDArray[Any] | None) -> None:
    return None


def _neither(one: None, other: None) -> None:
    return None

"""The tables of all pairs of variables, given a target or not: TAN, kDB, AODE and Chow-Liu trees need no others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bntk._memory import require
from bntk._threads import n_threads, run_parallel
from bntk.cpt import MAX_TABLE_ENTRIES
from bntk.data.table import Table
from bntk.data.variable import Variable
from bntk.errors import DataError, TooLargeError, UnknownNameError, did_you_mean
from bntk.learning.counts.families import count_block, plan_families
from bntk.learning.counts.planes import PlanePlan, count_pairs_by_planes, plan_planes, plane_allowance

# Entries of pair tables that are counted at a time (256 MiB), where all of them are not needed at the same time.
PART_ENTRIES = 1 << 25


@dataclass(frozen=True)
class PairLayout:
    """Where each pair table is in the flat buffer; a formula, so that it costs no memory for each pair.

    The table of (i, j), i < j, begins at ``starts[i] + n_classes * r_i * (columns[j] - columns[i + 1])`` and has the
    shape ``(n_classes, r_i, r_j)``, the last axis fastest; without a target ``n_classes`` is 1. The single table of i
    begins at ``n_classes * columns[i]``, in a buffer of its own. ``columns`` are the cumulated numbers of states.
    """

    n_classes: int
    cards: np.ndarray
    columns: np.ndarray
    starts: np.ndarray

    def offsets(self, i: int, j: np.ndarray | int) -> np.ndarray | int:
        """Where the tables of (i, j) begin, i < j."""
        return self.starts[i] + self.n_classes * self.cards[i] * (self.columns[j] - self.columns[i + 1])


def pair_entries(cards: Sequence[int], n_classes: int) -> int:
    """Entries of all pair tables together; Python integers do not overflow."""
    return n_classes * (sum(cards) ** 2 - sum(card**2 for card in cards)) // 2


def pair_parts(cards: Sequence[int], n_classes: int) -> list[list[int]]:
    """Sets of positions such that each two variables are in one of them, and the tables of each set are not too large.

    One set where that is possible; else the variables are cut into groups, and each two groups are a set.
    """
    if pair_entries(cards, n_classes) <= PART_ENTRIES:
        return [[*range(len(cards))]]
    most_states = math.isqrt(2 * PART_ENTRIES // n_classes) // 2  # of a group
    groups: list[list[int]] = []
    left = 0
    for place, card in enumerate(cards):
        if card > left:
            groups.append([])
            left = most_states
        groups[-1].append(place)
        left -= card
    return [one + other for one, other in combinations(groups, 2)] or groups


def layout_pairs(cards: Sequence[int], n_classes: int, max_entries: int | None = None) -> PairLayout:
    """Lay out all pair tables; refuse them, before anything is allocated, when they are too large together."""
    total, limit = pair_entries(cards, n_classes), MAX_TABLE_ENTRIES if max_entries is None else max_entries
    what = f"the pair tables of {len(cards):,} variables given {n_classes} classes"
    way_out = "take fewer variables, join rare states of those that have many, or use NaiveBayes, which needs no pairs"
    if total > limit:
        raise_it = "" if max_entries is None else ", or raise it (max_entries)"
        raise TooLargeError(
            f"{what} would have {total:,} entries ({8 * total:,} bytes), over the limit of {limit:,}; "
            f"{way_out}{raise_it}"
        )
    require(8 * total, what, way_out)
    r = np.array(cards, dtype=np.int64)
    columns = np.concatenate(([0], np.cumsum(r)))
    starts = np.concatenate(([0], np.cumsum(n_classes * r * (columns[-1] - columns[1:]))))
    return PairLayout(n_classes, r, columns, starts)


class PairTables:
    """Contingency tables of all pairs of some variables, given a target or not. Made by :meth:`Counter.pairs`.

    A row counts for a pair when it is complete in both variables and in the target.

    Attributes
    ----------
    variables : tuple of Variable
        In the order of the indices below; the target is not among them.
    target : Variable or None
    counts : ndarray
        All pair tables in one flat buffer: (0, 1), (0, 2), ..., (1, 2), ...; ``layout`` says where each begins.
    single_counts : ndarray
        The tables of (target, variable) for each variable, flat.
    class_counts : ndarray of shape (n_classes,)
        Rows (or weight) of each state of the target; without a target, one number: all rows.
    layout : PairLayout

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.counts import TableCounter
    >>> table = bntk.Table.from_columns({"a": [0, 0, 1, 1], "b": [0, 1, 1, 1], "c": ["x", "x", "y", None]})
    >>> pairs = TableCounter(table).pairs(target="c")
    >>> pairs.table("a", "b")[1]
    array([[0, 0],
           [0, 1]])
    >>> pairs.class_counts
    array([2, 1])
    """

    def __init__(
        self, variables: Sequence[Variable], target: Variable | None, layout: PairLayout, counts: np.ndarray,
        single_counts: np.ndarray, class_counts: np.ndarray,
    ) -> None:  # fmt: skip
        self.variables = tuple(variables)
        self.target = target
        self.layout = layout
        self.counts = counts
        self.single_counts = single_counts
        self.class_counts = class_counts
        self._positions = {variable.name: k for k, variable in enumerate(self.variables)}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(self._positions)

    @property
    def offsets(self) -> np.ndarray:
        """Where each pair table begins in ``counts``, in the order of iteration; made anew at each call."""
        n = len(self.variables)
        rows = [self.layout.offsets(i, np.arange(i + 1, n)) for i in range(n)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *rows])

    def index(self, variable: str | int) -> int:
        """Index of a variable given by name or index."""
        return find_variable(variable, self._positions)

    def table(self, one: str | int, other: str | int) -> np.ndarray:
        """The table of a pair, a view of shape (r_one, r_other); with a target (n_classes, r_one, r_other)."""
        i = one if type(one) is int else self.index(one)
        j = other if type(other) is int else self.index(other)
        if i == j:
            raise DataError(f"a pair needs two variables; {self.variables[i].name!r} is given twice")
        low, high = min(i, j), max(i, j)
        k, r, s = self.layout.n_classes, self.variables[low].n_states, self.variables[high].n_states
        at = int(self.layout.offsets(low, high))
        table = self.counts[at : at + k * r * s].reshape((k, r, s) if self.target else (r, s))
        return table if i < j else table.swapaxes(-1, -2)

    def single(self, variable: str | int) -> np.ndarray:
        """The table of one variable, a view of shape (r,); with a target (n_classes, r)."""
        i = variable if type(variable) is int else self.index(variable)
        k, r, at = self.layout.n_classes, self.variables[i].n_states, int(self.layout.columns[i])
        return self.single_counts[k * at : k * (at + r)].reshape((k, r) if self.target else (r,))

    def __iter__(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """``(i, j, table)`` for each i < j."""
        for i, j in combinations(range(len(self.variables)), 2):
            yield i, j, self.table(i, j)

    def __add__(self, other: PairTables) -> PairTables:
        if not isinstance(other, PairTables):
            return NotImplemented
        if (self.variables, self.target) != (other.variables, other.target):
            raise DataError("pair tables can be added when they are about the same variables and the same target")
        return PairTables(
            self.variables, self.target, self.layout, self.counts + other.counts,
            self.single_counts + other.single_counts, self.class_counts + other.class_counts,
        )  # fmt: skip

    def __repr__(self) -> str:
        given = f" given {self.target.name}" if self.target else ""
        n = len(self.variables)
        return f"PairTables: {n * (n - 1) // 2:,} pairs of {n} variables{given}, {self.counts.nbytes:,} bytes"


class RememberedPairs:
    """The pair tables that a counter has counted last, as a source of the tables of small families.

    Parameters
    ----------
    pairs : PairTables
    target : int, optional
        Its position among the variables of the counter.
    features : sequence of int
        The positions of the other variables.
    total : float
        The weight of all rows.
    """

    def __init__(self, pairs: PairTables, target: int | None, features: Sequence[int], total: float) -> None:
        self.pairs, self._target, self._features = pairs, target, tuple(features)
        self._places = {v: place for place, v in enumerate(features)}
        # Where the target is never missing, families without it are sums over its states.
        self._target_known = bool(np.isclose(pairs.class_counts.sum(), total, rtol=1e-12, atol=0))

    def is_about(self, target: int | None, features: Sequence[int]) -> bool:
        """Whether these are the pairs of some variables, in this order, given a target."""
        return target == self._target and tuple(features) == self._features

    def tables(self, families: Sequence[Sequence[int]], max_entries: int) -> list[np.ndarray | None]:
        """The tables of the families that can be had from the pairs, as copies; None for the others."""
        found, left = [], max_entries
        for family in families:
            table = self._table(family)
            left -= 0 if table is None else table.size
            found.append(np.array(table, order="C") if table is not None and left >= 0 else None)
        return found

    def _table(self, family: Sequence[int]) -> np.ndarray | None:
        """A view of the pair, single or class counts with the axes of a family."""
        target, place = self._target, self._places.get
        has_target = target is not None and target in family
        inside = sorted(filter(self._places.__contains__, family), key=place)  # type: ignore[arg-type]
        if len(inside) > 2 or len(inside) + has_target < len(family) or not (inside or has_target):
            return None
        if not inside:
            return self.pairs.class_counts
        if target is not None and not has_target and not self._target_known:
            return None
        places = map(place, inside)
        table = self.pairs.table(*places) if len(inside) == 2 else self.pairs.single(*places)  # type: ignore[arg-type]
        if target is not None and not has_target:
            table = table.sum(axis=0)
        axes = [target, *inside] if has_target else inside
        return table if list(family) == axes else table.transpose(list(map(axes.index, family)))


def find_variable(variable: str | int, positions: dict[str, int]) -> int:
    """Index of a variable given by name or index; an unknown one is an error that lists the known ones."""
    if isinstance(variable, str):
        found = positions.get(variable, -1)
        if found >= 0:
            return found
    elif isinstance(variable, (int, np.integer)) and 0 <= variable < len(positions):
        return int(variable)
    names = list(positions)
    shown = ", ".join(map(repr, names[:12])) + (f", ... ({len(names)} variables)" if len(names) > 12 else "")
    raise UnknownNameError(
        f"there is no variable {variable!r}{did_you_mean(variable, names)}; the variables are {shown}"
    )


def count_pairs(
    features: Sequence[int], target: int | None, layout: PairLayout, table: Table, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pair counts, single counts and class counts in one block of rows."""
    chosen = np.array(features, dtype=np.int64)
    dtype = np.int64 if weights is None else np.float64
    pairs = np.zeros(int(layout.starts[-1]), dtype)
    singles = np.zeros(layout.n_classes * int(layout.columns[-1]), dtype)
    planes = plan_planes(table, chosen) if weights is None and _pays_planes(table, chosen.size) else None
    if planes is not None and len(planes.positions):
        count_pairs_by_planes(planes, table, target, layout.starts, layout.columns, pairs, singles)
    base = () if target is None else (target,)
    _count_other_singles(planes, chosen, base, layout, table, weights, singles)
    _count_other_pairs(planes, chosen, base, layout, table, weights, pairs)
    return pairs, singles, _class_counts(table, target, weights)


def _pays_planes(table: Table, n_features: int) -> bool:
    """Whether there are enough rows and pairs to compile what makes and counts planes."""
    n_pairs = n_features * (n_features + 1) // 2
    return plane_allowance.pays(n_pairs * (50 + table.n_rows / 100))


def _class_counts(table: Table, target: int | None, weights: np.ndarray | None) -> np.ndarray:
    """The rows (or the weight) of each state of the target; without a target, of all rows."""
    if target is None:
        return np.array([table.n_rows if weights is None else weights.sum()])
    n_classes = table.variables[target].n_states
    return np.bincount(table.codes[target], weights, minlength=n_classes)[:n_classes]


def _count(
    table: Table,
    weights: np.ndarray | None,
    base: Sequence[int],
    families: Sequence[Sequence[int]],
    threads: int | None,
) -> np.ndarray:
    """Tables of a batch of families, flat, one after the other."""
    plan = plan_families(table.cards.tolist(), base, families, 2**63, table.names)
    return np.delete(count_block(plan, table, weights, threads), plan.offsets[1:] - 1)


def _count_other_singles(
    planes: PlanePlan | None, features: np.ndarray, base: tuple[int, ...], layout: PairLayout, table: Table,
    weights: np.ndarray | None, singles: np.ndarray,
) -> None:  # fmt: skip
    """Add the single tables of the variables without planes."""
    left = np.ones(len(features), dtype=bool)
    if planes is not None:
        left[planes.positions] = False
    others = np.flatnonzero(left)
    if len(others):
        k, sizes = layout.n_classes, layout.n_classes * layout.cards[others]
        counts = _count(table, weights, base, [(v,) for v in features[others].tolist()], None)
        singles[_places(k * layout.columns[others], sizes)] += counts


def _count_other_pairs(
    planes: PlanePlan | None, features: np.ndarray, base: tuple[int, ...], layout: PairLayout, table: Table,
    weights: np.ndarray | None, pairs: np.ndarray,
) -> None:  # fmt: skip
    """Add the pair tables that are not counted by planes: for each variable, its extensions by the later ones."""
    if planes is not None and planes.covers_all:
        return
    n = len(features)
    work: list[tuple[int, np.ndarray]] = []
    for i in range(n - 1):
        left = np.ones(n, dtype=bool) if planes is None else ~planes.covers(i)
        left[: i + 1] = False
        if left.any():
            work.append((i, np.flatnonzero(left)))
    many = len(work) >= 2 * n_threads()  # threads over the variables when there are many, else inside of each

    def count(piece: tuple[int, np.ndarray]) -> None:
        i, others = piece
        families = [(v,) for v in features[others].tolist()]
        counts = _count(table, weights, (*base, int(features[i])), families, 1 if many else None)
        sizes = layout.n_classes * layout.cards[i] * layout.cards[others]
        pairs[_places(np.asarray(layout.offsets(i, others)), sizes)] += counts

    run_parallel(count, work, None if many else 1)


def _places(begins: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Indices of several runs ``begin, begin + 1, ...`` of the given sizes, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1]) + np.repeat(begins - (ends - sizes), sizes)

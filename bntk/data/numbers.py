"""Columns of numbers: the one rule by which they become states, in learning, in classifiers and in the command.

The rule, ``numeric="auto"``: a column of at most ten different whole numbers has these as its states, because such
numbers are codes of categories or small counts; where rows are so few that it has more numbers than half its rows, only
if they are two, or 0, 1, 2 ... or 1, 2, 3 ... without gaps. Any other column of numbers is cut into intervals: where
the class changes (MDL) if rows have a class, else into ``n_bins`` intervals with about the same number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk._warnings import warn
from bntk.data.coding import IDENTIFIERS, MOST_STATES, left_out
from bntk.data.columns import check_same_length, code_column, columns_of, n_rows_of, numbers_of
from bntk.data.cuts import code_columns, hartemink_cuts, learn_cuts
from bntk.data.table import Table, code_dtype
from bntk.data.tree_cuts import tree_cuts
from bntk.data.variable import Variable, format_states
from bntk.data.weights import checked_weights
from bntk.errors import ColumnWarning, DataError, did_you_mean

Column = tuple[str, Any]
Floats = NDArray[np.float64]

#: Ways to cut numbers into intervals.
CUTTING = ("mdl", "joint", "width", "frequency", "hartemink")
#: Cut, and interpolated between the intervals. After a colon, the number of intervals with about as many rows in each,
#: or another way to cut: "smooth:8", "smooth:joint".
SMOOTH = "smooth"
#: Several models, each with other cuts, see :data:`AVERAGED_WAYS`.
AVERAGED = "averaged"
#: Ways to leave numbers what they are.
CONTINUOUS = ("gaussian", "kde", "multinomial")
#: Left what they are, and cut anew for each member of an ensemble.
DRAWN = "drawn"
#: All ways but the rule itself.
WAYS = (*CUTTING, SMOOTH, AVERAGED, *CONTINUOUS, "bernoulli", "category")
#: Given for all columns, these are for those that the rule cuts: a few whole numbers stay states.
BY_RULE = ("joint", "hartemink", SMOOTH, AVERAGED)
#: Those for rows without a class.
WITHOUT_CLASS = ("width", "frequency", "hartemink", "bernoulli", "category")

#: As many different whole numbers are states as they are.
MOST_WHOLE = 10
#: More states of a table that are numbers look like measurements.
MANY_NUMBERS = 50
#: The intervals of a column where there is no class.
N_BINS = 5
#: What becomes of a column in each of the models that are averaged. By cross-validation on UCI sets, these three are
#: nearly as good as six, and better than as many without interpolation; the first has the fewest intervals.
AVERAGED_WAYS = ("smooth:joint", "smooth:5", "smooth:8")

ADVICE = (
    'numeric="category" makes each number a state, numeric="frequency" or "width" with n_bins= other intervals, and '
    "numeric={column: [cut points]} those that you know"
)

_EXACT = 2.0**53  # whole numbers up to here are floats
_GLANCE = 1000  # rows that show for most columns that they have many numbers


@dataclass(frozen=True)
class Reading:
    """How the columns of a data frame become variables for learning without a class.

    Attributes
    ----------
    numeric : str or mapping
        What becomes of columns of numbers: ``"auto"`` (see :mod:`bntk.data.numbers`), ``"frequency"``, ``"width"``,
        ``"hartemink"``, ``"bernoulli"``, ``"category"``, or for single columns one of these or cut points.
    n_bins : int
        The number of intervals.
    identifiers : {"drop", "keep", None}
        Whether columns that identify rows, dates, and columns without a value are left out, only the latter, or none.
    advice : str
        How to choose something else, for the warning about columns that are cut.
    """

    numeric: str | Mapping[str, Any] = "auto"
    n_bins: int = N_BINS
    identifiers: str | None = None
    advice: str = ADVICE

    def __post_init__(self) -> None:
        _checking.whole_number("n_bins", self.n_bins, 1, MOST_STATES)
        if self.identifiers is not None:
            _checking.one_of("identifiers", self.identifiers, IDENTIFIERS)
        if not isinstance(self.numeric, (str, Mapping)):
            raise _checking.wrong("numeric", f"auto, {', '.join(WITHOUT_CLASS)}, or a mapping of columns", self.numeric)

    @property
    def leaves_tables(self) -> bool:
        """Whether the states of a :class:`Table` are left as they are, unless ``numeric`` asks for something else."""
        return isinstance(self.numeric, str) and self.numeric in ("auto", "category")

    def table(self, columns: Sequence[Column], weights: Any = None) -> Table:
        """The columns, coded; what was cut or left out without being asked for is named in a warning."""
        names = [name for name, _ in columns]
        check_same_length(columns[:1], columns[1:])
        numbers = columns_of_numbers(columns)
        own = None if weights is None else checked_weights(weights, n_rows_of(columns[0][1]))
        ways = ways_of(self.numeric, columns, numbers, "frequency", WITHOUT_CLASS, own)
        empty = columns_without_value(numbers)
        ways = {name: way for name, way in ways.items() if name not in empty}
        coded = [code_column(name, column) for name, column in columns if _is_labelled(ways.get(name))]
        unused = [] if self.identifiers is None else left_out(coded, self.identifiers)
        kept = [column for column in coded if column.name not in unused]
        if not kept and len(coded) == len(names):
            raise DataError(f"no column is left to learn from: {format_states(names)}; at least one is needed")
        labels = Table._from_coded(kept, None, "missing") if kept else None
        cuts = cut_points(ways, numbers, weights=own, n_bins=self.n_bins, labels=labels)
        variables = variables_of(names, labels, cuts)
        self._tell(cuts, numbers)
        sources = dict(zip(labels.names, labels._sources, strict=True)) if labels is not None else {}
        codes = assembled(variables, labels, numbers, cuts, n_rows_of(columns[0][1]))
        return Table._make(codes, variables, [sources.get(variable.name) for variable in variables])

    def unused(self, data: Any, but: Sequence[str] = ()) -> list[str]:
        """The columns of data that are left out, named in a warning, except some."""
        if self.identifiers is None or isinstance(data, (Table, np.ndarray)):
            return []
        coded = [code_column(name, column) for name, column in columns_of(data) if name not in but]
        return left_out(coded, self.identifiers)

    def _tell(self, cuts: Mapping[str, Floats], numbers: Mapping[str, Floats]) -> None:
        """Name the columns that are cut by the rule, for no class tells where to cut them."""
        self.tell(cuts, lambda name: f"{n_different(numbers[name]):,}")

    def tell(self, cuts: Collection[str], n_numbers: Callable[[str], str]) -> None:
        """The same, given how many different numbers a column has, in words."""
        asked = self.numeric if isinstance(self.numeric, Mapping) else {}
        told = [name for name in cuts if name not in asked]
        if not told or (isinstance(self.numeric, str) and self.numeric != "auto"):
            return
        warn(
            lambda names: (
                f"columns of numbers that are cut into {self.n_bins} intervals with about the same number of rows: "
                f"{listed([f'{name!r} ({n_numbers(name)} different numbers)' for name in names])}; {self.advice}"
            ),
            ColumnWarning,
            told,
        )


def _is_labelled(way: Any) -> bool:
    """Whether a column, of which this becomes if it holds numbers, has its labels as states."""
    return way is None or (isinstance(way, str) and way == "category")


def listed(words: Sequence[str], most: int = 5) -> str:
    """Words for a message, the first of them where they are many."""
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


def warn_of_many_numbers(table: Table) -> None:
    """A warning if states of a table are many numbers, which are rather measurements."""
    many = [v for v in table.variables if v.n_states > MANY_NUMBERS and all(map(_is_number, v.states))]
    sizes = {v.name: v.n_states for v in many}
    if many:
        warn(
            lambda names: (
                "variables of the table that have many numbers as their states: "
                f"{listed([f'{name!r} ({sizes[name]:,} numbers)' for name in names])}; "
                'numeric="frequency" or "width" cuts them into intervals, numeric="category" takes them as they are'
            ),
            ColumnWarning,
            [*sizes],
        )


def _is_number(state: Any) -> bool:
    return isinstance(state, (int, float)) and not isinstance(state, bool)


# ---- the rule --------------------------------------------------------------------------------------------------------


def columns_of_numbers(columns: Sequence[Column]) -> dict[str, Floats]:
    """The columns that hold numbers, as floats; NaN where one is missing."""
    found = {name: numbers_of(column) for name, column in columns}
    return {name: column for name, column in found.items() if column is not None}


def columns_without_value(numbers: Mapping[str, Floats]) -> list[str]:
    """The columns of numbers in which every one is missing."""
    return [name for name, own in numbers.items() if len(own) and np.isnan(own[0]) and np.isnan(own).all()]


def ways_of(
    numeric: str | Mapping[str, Any],
    columns: Sequence[Column],
    numbers: Mapping[str, Floats],
    cutting: str = "mdl",
    known: Sequence[str] = WAYS,
    weights: Floats | None = None,
) -> dict[str, Any]:
    """What becomes of each column of numbers: one of the ``known`` ways, or its cut points.

    ``cutting`` is the way in which the rule cuts. Whole numbers that floats cannot tell apart are refused, unless each
    is a state.
    """
    check_named_columns(numeric, [name for name, _ in columns], numbers)
    native = dict(columns)
    return {name: way_of(name, numeric, own, native[name], cutting, known, weights) for name, own in numbers.items()}


def check_named_columns(numeric: str | Mapping[str, Any], names: Sequence[str], numbers: Collection[str]) -> None:
    """Refuse a mapping that names a column which the data has not, or which does not hold numbers."""
    if not isinstance(numeric, Mapping):
        return
    unknown = [name for name in numeric if name not in names]
    if unknown:
        hint = did_you_mean(unknown[0], names)
        raise DataError(f"numeric names the column {unknown[0]!r}, which the data has not{hint}; it has {names}")
    labelled = [name for name in numeric if name not in numbers]
    if labelled:
        raise DataError(f"numeric names the column {labelled[0]!r}, which does not hold numbers")


def way_of(
    name: str,
    numeric: str | Mapping[str, Any],
    own: Floats,
    native: Any,
    cutting: str = "mdl",
    known: Sequence[str] = WAYS,
    weights: Floats | None = None,
) -> Any:
    """What becomes of one column of numbers, given as floats and as it is; see :func:`ways_of`."""
    way = numeric.get(name, "auto") if isinstance(numeric, Mapping) else numeric
    if isinstance(way, str) and way not in ("auto", *known) and not (SMOOTH in known and smooth_way(way)):
        raise _unknown_way(name, way, known)
    colliding = colliding_numbers(name, own, native)
    if isinstance(way, str) and (way == "auto" or (isinstance(numeric, str) and way.partition(":")[0] in BY_RULE)):
        few = len(colliding) <= MOST_WHOLE if colliding else has_few_whole(own, weights)
        way = "category" if few else cutting if way == "auto" else way
    if colliding and not (isinstance(way, str) and way == "category"):
        raise DataError(
            f"column {name!r} holds whole numbers beyond 2**53, such as {max(colliding, key=abs)}, some of which "
            "are the same as floats: subtract a number from all of them, give them as text, or make each a state "
            f'(numeric={{{name!r}: "category"}})'
        )
    return way


def smooth_way(way: Any) -> tuple[str, int] | None:
    """How a column that is interpolated is cut, and into how many intervals; None for any other way.

    >>> smooth_way("smooth"), smooth_way("smooth:8"), smooth_way("smooth:joint"), smooth_way("mdl")
    (('frequency', 5), ('frequency', 8), ('joint', 5), None)
    """
    if not isinstance(way, str) or way.partition(":")[0] != SMOOTH:
        return None
    _, colon, cutting = way.partition(":")
    if not colon:
        return "frequency", N_BINS
    if cutting in CUTTING:
        return cutting, N_BINS
    if not cutting.isascii() or not cutting.isdigit() or not 1 <= int(cutting[:9]) <= MOST_STATES:
        return None
    return "frequency", int(cutting)


def looks_at_others(way: Any) -> bool:
    """Whether the cuts of a column depend on other columns, too.

    >>> [looks_at_others(way) for way in ("averaged", "joint", "smooth:joint", "smooth:8", "mdl", [0.5])]
    [True, True, True, False, False, False]
    """
    smooth = smooth_way(way)
    return (smooth[0] if smooth else way) in ("joint", "hartemink", AVERAGED) if isinstance(way, str) else False


def averaged_ways(numeric: str | Mapping[str, Any]) -> list[str | dict[str, Any]]:
    """What ``numeric`` is for each of the models that are averaged; empty if it does not ask for several.

    >>> averaged_ways({"x": "averaged", "z": [0.5]})[1:]
    [{'x': 'smooth:5', 'z': [0.5]}, {'x': 'smooth:8', 'z': [0.5]}]
    """
    if isinstance(numeric, str):
        return [*AVERAGED_WAYS] if numeric == AVERAGED else []
    asked = [name for name, way in numeric.items() if isinstance(way, str) and way == AVERAGED]
    return [{**numeric, **dict.fromkeys(asked, way)} for way in AVERAGED_WAYS] if asked else []


def _unknown_way(name: str, way: str, known: Sequence[str]) -> ValueError:
    why = "is for rows with a class" if way in WAYS else "is not known"
    return ValueError(
        f"numeric={way!r} (column {name!r}) {why}; the choices are auto, {', '.join(known)}, or a mapping of column to "
        "one of these or to cut points"
    )


def colliding_numbers(name: str, numbers: Floats, column: Any) -> list[int]:
    """The different whole numbers of a column, if two of them are one float; else none."""
    if not (np.abs(numbers) >= _EXACT).any():
        return []
    coded = code_column(name, column)  # whose labels may be a whole range, of which some do not occur
    labels = [coded.labels[code] for code in np.unique(coded.codes).tolist() if 0 <= code < len(coded.labels)]
    whole = {int(label) for label in labels if isinstance(label, (int, np.integer))}
    return sorted(whole) if len({float(number) for number in whole}) < len(whole) else []


def has_few_whole(numbers: Floats, weights: Floats | None = None) -> bool:
    """Whether the numbers of a column are states as they are: few, and all of them whole.

    Few are at most :data:`MOST_WHOLE`. More than half as many as there are rows with a number must be two, or a row of
    numbers from 0 or 1 on: four ages of six people are no categories, but 0, 1, 2 are.

    >>> has_few_whole(np.array([0.0, 3, np.nan, 3, 0])), has_few_whole(np.array([0.5, 1] * 5))
    (True, False)
    >>> has_few_whole(np.array([1.0, 0, 2])), has_few_whole(np.array([31.0, 40, 62]))
    (True, False)
    """
    import pandas as pd

    for rows in (numbers[:_GLANCE], numbers):
        found = pd.unique(rows)
        found = found[~np.isnan(found)]
        if len(found) > MOST_WHOLE or not np.isfinite(found).all() or (found % 1).any():
            return False
    if not len(found):
        return False
    known = ~np.isnan(numbers)
    n_rows = np.count_nonzero(known) if weights is None else weights[known].sum()  # a row of weight 2 is two rows
    return bool(2 * len(found) <= n_rows or _counts_on(found))


def _counts_on(found: Floats) -> bool:
    """Whether numbers are two, or 0, 1, 2 ... or 1, 2, 3 ... in some order."""
    return len(found) <= 2 or bool(found.min() in (0, 1) and found.max() - found.min() == len(found) - 1)


def n_different(numbers: Floats) -> int:
    """How many different numbers a column has."""
    import pandas as pd

    return len(pd.unique(numbers[~np.isnan(numbers)]))


# ---- cutting ---------------------------------------------------------------------------------------------------------


def cut_points(
    ways: Mapping[str, Any],
    numbers: Mapping[str, Floats],
    classes: NDArray[np.int64] | None = None,
    n_classes: int = 0,
    weights: Floats | None = None,
    n_bins: int = N_BINS,
    labels: Table | None = None,
) -> dict[str, Floats]:
    """The cut points of the columns that are cut; a row without a class has ``n_classes`` as its code.

    ``labels`` are the columns of labels, which ``"joint"`` and ``"hartemink"`` look at, too.
    """
    cuts: dict[str, Floats] = {}
    together = _by_cutting(ways, n_bins)
    merged = {key: chosen for key, chosen in together.items() if key[0] == "hartemink"}
    for (way, bins), chosen in together.items():
        if way == "hartemink":
            continue
        rows = _labelled_rows(classes, n_classes, chosen[0], way) if way in ("mdl", "joint") else slice(None)
        own, given = None if weights is None else weights[rows], None if classes is None else classes[rows]
        if way == "joint":
            known = {name: column[rows] for name, column in numbers.items()}
            beside = None if labels is None else labels.take(np.arange(labels.n_rows)[rows])
            points = tree_cuts(chosen, known, beside, np.asarray(given), own)
        else:
            columns = [numbers[name][rows] for name in chosen]
            points = learn_cuts(columns, way, classes=given, weights=own, n_bins=bins, n_classes=n_classes)
        cuts.update(zip(chosen, points, strict=True))
    for name, way in ways.items():
        if isinstance(way, str) and way == "bernoulli":
            cuts[name] = np.zeros(1)  # present or absent
        elif not isinstance(way, str):
            cuts[name] = np.unique(np.asarray(way, dtype=np.float64))
    for (_, bins), chosen in merged.items():
        others = _others(labels, numbers, cuts, classes, n_classes)
        points = hartemink_cuts([numbers[name] for name in chosen], bins, weights, others=others)
        cuts.update(zip(chosen, points, strict=True))
    return {name: cuts[name] for name in numbers if name in cuts}


def _others(
    labels: Table | None,
    numbers: Mapping[str, Floats],
    cuts: Mapping[str, Floats],
    classes: NDArray[np.int64] | None,
    n_classes: int,
) -> Table | None:
    """The variables beside columns that are still to be cut: labels, columns that are cut already, and the class."""
    variables = variables_of([*(labels.names if labels is not None else ()), *cuts], labels, cuts)
    n_rows = n_rows_of(next(iter(numbers.values())))
    found = [assembled(variables, labels, numbers, cuts, n_rows)] if variables else []
    if classes is not None:
        variables = (*variables, Variable("the class", range(n_classes)))
        found.append(classes.astype(code_dtype(variables[-1:]))[None])
    return Table._make(np.vstack(found), variables) if found else None


def _by_cutting(ways: Mapping[str, Any], n_bins: int) -> dict[tuple[str, int], list[str]]:
    """The columns that are cut in the same way, and the number of intervals, where the way has one."""
    found: dict[tuple[str, int], list[str]] = {}
    for name, way in ways.items():
        how = (way, n_bins) if isinstance(way, str) and way in CUTTING else smooth_way(way)
        if how is not None:
            found.setdefault(how, []).append(name)
    return found


def _labelled_rows(classes: NDArray[np.int64] | None, n_classes: int, column: str, way: str) -> Any:
    """The rows that have a class, for cuts by the class."""
    known = np.zeros(0, dtype=bool) if classes is None else classes < n_classes
    if not known.any():
        named = f"numeric={way!r}" + (", also a part of 'averaged'," if way == "joint" else "")
        raise ValueError(
            f"{named} cuts numbers where the class changes, but no row has a class: for the column {column!r} "
            "choose numeric='gaussian', 'kde', 'smooth', 'frequency', 'width' or 'category', or give cut points"
        )
    return slice(None) if known.all() else known


# ---- columns of both kinds together ----------------------------------------------------------------------------------


def variables_of(names: Sequence[str], labels: Table | None, cuts: Mapping[str, Floats]) -> tuple[Variable, ...]:
    """The variables of columns of labels and of columns that are cut, in the order of the names."""
    found = dict(zip(labels.names, labels.variables, strict=True)) if labels is not None else {}
    found |= {name: Variable.of_intervals(name, points.tolist()) for name, points in cuts.items()}
    return tuple([found[name] for name in names if name in found])


def assembled(
    variables: Sequence[Variable],
    labels: Table | None,
    numbers: Mapping[str, Any],
    cuts: Mapping[str, Floats],
    n_rows: int,
) -> NDArray[Any]:
    """The codes of columns of labels and of numbers that are cut, a row per variable."""
    if labels is not None and not cuts:
        return labels.codes
    codes = np.empty((len(variables), n_rows), dtype=code_dtype(variables))
    at = {variable.name: i for i, variable in enumerate(variables)}
    if cuts:
        cut = code_columns([numbers[name] for name in cuts], list(cuts.values()), codes.dtype)
        codes[[at[name] for name in cuts]] = cut
    for name in labels.names if labels is not None else ():
        codes[at[name]] = labels.column(name)  # type: ignore[union-attr]
    return codes

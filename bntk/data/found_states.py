"""From the summary of columns to variables: the same states and cuts that the rows in memory would have.

The rule for numbers and the rules for columns that are left out are those of :mod:`bntk.data.numbers` and
:mod:`bntk.data.coding`, applied to distinct values with their weights instead of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk._warnings import warn
from bntk.data.coding import (
    EMPTY,
    MOST_STATES,
    CodedColumn,
    of_instants,
    of_rows,
    settle,
    tell_left_out,
    too_many_numbers,
    too_many_states,
)
from bntk.data.cuts import between, learn_cuts
from bntk.data.numbers import (
    CONTINUOUS,
    WITHOUT_CLASS,
    Reading,
    check_named_columns,
    cut_points,
    listed,
    smooth_way,
    way_of,
)
from bntk.data.summaries import MOST_NUMBERS, LabelSummary, NumberSummary, Summary
from bntk.data.variable import Variable, format_states
from bntk.errors import ColumnWarning, DataError

Floats = NDArray[np.float64]

#: A larger share of the rows by which a cut may be off is told.
LARGE_ERROR = 0.01


@dataclass
class FoundStates:
    """What becomes of each column of a summary.

    Attributes
    ----------
    variables : dict of str to Variable
        In the order of the columns, without those that are left out.
    cuts : dict of str to ndarray
    ways : dict of str
        What becomes of each column of numbers.
    unused : tuple of str
    """

    variables: dict[str, Variable] = field(default_factory=dict)
    cuts: dict[str, Floats] = field(default_factory=dict)
    ways: dict[str, Any] = field(default_factory=dict)
    unused: tuple[str, ...] = ()


def variables_of_summary(
    summary: Summary, numeric: str | Mapping[str, Any] = "auto", n_bins: int = 5, identifiers: str | None = "drop"
) -> tuple[Variable, ...]:
    """The states of columns, as :func:`bntk.learn` finds them in rows in memory.

    Parameters
    ----------
    summary : Summary
        Of all rows.
    numeric : str or mapping
        What becomes of columns of numbers, as in :func:`bntk.learn`.
    n_bins : int
        The number of intervals.
    identifiers : {"drop", "keep", None}
        What becomes of columns that identify rows, dates, and columns without a value; with None all are kept.

    Examples
    --------
    >>> from bntk.data.summaries import summarise_partition
    >>> variables_of_summary(summarise_partition({"size": [3, 12, 3, 12], "kind": ["b", "a", None, "b"]}))
    (Variable('size', [3, 12]), Variable('kind', ['a', 'b']))
    """
    return tuple(states_for_reading(summary, Reading(numeric, n_bins, identifiers)).variables.values())


def states_for_reading(summary: Summary, reading: Reading) -> FoundStates:
    """The states for learning without a class."""
    found = find_states(
        summary, reading.numeric, "frequency", WITHOUT_CLASS, reading.n_bins, reading.identifiers, weighted_rows=False
    )
    reading.tell(found.cuts, lambda name: in_words(summary.columns[name]))
    return found


def in_words(column: Any) -> str:
    """How many different numbers a column has."""
    return f"{len(column.keys):,}" if not column.shift else f"more than {MOST_NUMBERS:,}"


def find_states(
    summary: Summary,
    numeric: str | Mapping[str, Any],
    cutting: str,
    known: Sequence[str],
    n_bins: int,
    identifiers: str | None,
    *,
    class_order: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    weighted_rows: bool = True,
) -> FoundStates:
    """What becomes of each column; see :class:`bntk.data.numbers.Reading` and the features of classifiers.

    Parameters
    ----------
    cutting, known : str, sequence of str
        How the rule cuts numbers, and the ways that are allowed.
    class_order : sequence of int, optional
        The code of each class of the summary among the states of the class variable, for cuts by the class.
    names : sequence of str, optional
        The columns; all but the target by default.
    weighted_rows : bool
        Whether a row of weight 2 is two rows, and one of weight 0 none, in what is said about rows.
    """
    summary = summary.settled()
    names = [name for name in summary.columns if name != summary.target] if names is None else list(names)
    columns: dict[str, Any] = {name: summary.columns[name] for name in names}
    numbers = {name: c for name, c in columns.items() if isinstance(c, NumberSummary)}
    check_named_columns(numeric, names, numbers)
    found, reasons, labelled = FoundStates(), {}, {}
    for name, column in columns.items():
        if isinstance(column, NumberSummary):
            kept = _of_weight(column) if weighted_rows else column
            if kept.has_value:
                found.ways[name] = _way(kept, numeric, cutting, known)
                continue
            reasons[name] = EMPTY
        else:
            labelled[name] = column
            if (reason := _reason(column, identifiers == "drop", weighted_rows)) is not None:
                reasons[name] = reason
    if identifiers is not None:
        tell_left_out(reasons)
        found.unused = tuple(name for name in names if name in reasons)
    for name, way in found.ways.items():
        if not (isinstance(way, str) and (way == "category" or way in CONTINUOUS)):
            found.cuts[name] = _cuts(_of_weight(numbers[name]), way, n_bins, class_order)
    _tell_of_errors({name: numbers[name] for name in found.cuts if not isinstance(found.ways[name], (list, tuple))})
    for name, column in columns.items():
        if name not in found.unused and not (found.ways.get(name) in CONTINUOUS if _is_word(found, name) else False):
            found.variables[name] = _variable(name, column, found, weighted_rows)
    if not found.variables and not any(_is_word(found, name) for name in found.ways):
        raise DataError(f"no column is left to learn from: {format_states(names)}; at least one is needed")
    return found


def _is_word(found: FoundStates, name: str) -> bool:
    return isinstance(found.ways.get(name), str)


def _of_weight(column: NumberSummary) -> NumberSummary:
    """The buckets of a positive weight."""
    from dataclasses import replace

    kept = column.totals > 0
    if kept.all():
        return column
    place = np.cumsum(kept) - 1
    own = kept[column.places]
    return replace(
        column, keys=column.keys[kept], low=column.low[kept], high=column.high[kept],
        places=place[column.places[own]], classes=column.classes[own], weights=column.weights[own],
    )  # fmt: skip


def _way(column: NumberSummary, numeric: str | Mapping[str, Any], cutting: str, known: Sequence[str]) -> Any:
    values = column.low.astype(np.float64)
    if column.shift and column.lossy:
        raise DataError(
            f"column {column.name!r} holds whole numbers beyond 2**53, such as {max(column.high.tolist(), key=abs)}, "
            "some of which are the same as floats: subtract a number from all of them, or give them as text"
        )
    return way_of(column.name, numeric, values, column.low, cutting, known, column.totals)


def _reason(column: LabelSummary, drop: bool, weighted_rows: bool) -> str | None:
    """Why a column of labels is left out, as :func:`bntk.data.coding.left_out` has it."""
    if column.hashes is None and (not column.labels or not (column.declared or column.seen.any())):
        return EMPTY
    if not drop or (column.labels and all(isinstance(label, (int, float, np.number)) for label in column.labels)):
        return None
    used = column.seen if not weighted_rows else column.weights > 0
    n_labels = round(column.n_distinct) if column.hashes is not None else len(column.labels)
    if column.instants:
        return of_instants(n_labels)
    known = column.known if weighted_rows else float(column.n_known)
    if column.hashes is not None:
        return of_rows(n_labels, known, "about ")
    return of_rows(int(np.count_nonzero(used)), known) if n_labels > 10 else None


def _variable(name: str, column: Any, found: FoundStates, weighted_rows: bool) -> Variable:
    if name in found.cuts:
        return Variable.of_intervals(name, found.cuts[name].tolist())
    if isinstance(column, NumberSummary):
        kept = _of_weight(column) if weighted_rows else column
        if kept.shift:
            raise too_many_states(name, kept.states()[0]) if kept.whole else too_many_numbers(name, MOST_NUMBERS + 1)
        coded = CodedColumn(name, kept.states(), np.arange(len(kept.keys)), all_used=True)
    elif column.hashes is not None:
        raise too_many_states(name, column.example)
    else:
        coded = column.coded(positive=weighted_rows)
    if len(coded.labels) <= MOST_STATES or not column.has_value:
        return settle([coded])[1][0]
    raise too_many_states(name, coded.labels[0])


# -------------------------------------------------------------------- cuts


def _cuts(column: NumberSummary, way: Any, n_bins: int, class_order: Sequence[int] | None) -> Floats:
    """The cut points of a column: cuts by rows or classes are looked for among the ranks of its numbers."""
    smooth = smooth_way(way)
    method, bins = smooth if smooth is not None else (way, n_bins)
    if not isinstance(method, str) or method == "bernoulli":
        return cut_points({column.name: method}, {column.name: np.zeros(0)})[column.name]
    if method == "width":
        return learn_cuts([np.concatenate([column.low, column.high])], "width", n_bins=bins)[0]
    places, weights, classes, n_classes = column.places, column.weights, None, None
    if method == "mdl":
        order = np.append(np.asarray(class_order, dtype=np.int64), -1)  # the last for a missing class
        classes = order[column.classes]
        labelled = classes >= 0
        places, weights, classes, n_classes = places[labelled], weights[labelled], classes[labelled], len(order) - 1
    elif method != "frequency":
        raise DataError(
            f"numeric={way!r} (column {column.name!r}) looks at whole rows, which a stream does not keep: choose "
            "'auto', 'mdl', 'width', 'frequency', 'smooth' or cut points, or read the rows into memory"
        )
    kept, ranks = np.unique(places, return_inverse=True)
    found = learn_cuts([ranks.astype(np.float64)], method, classes, weights, bins, n_classes)[0]
    below = np.floor(found).astype(np.int64)
    if method == "mdl" and column.shift and len(below) > 1:
        # A bucket that the exact cut would divide is cut off on both sides, where there should be one cut.
        joined = (column.low < column.high)[kept]
        twice = np.append(False, (below[1:] == below[:-1] + 1) & joined[below[1:]])
        below = below[~(twice & ~np.append(False, twice[:-1]))]
    low, high = column.low.astype(np.float64)[kept], column.high.astype(np.float64)[kept]
    return between(high[below], low[below + 1])


def _tell_of_errors(columns: Mapping[str, NumberSummary]) -> None:
    errors = {name: column.error for name, column in columns.items() if column.shift and column.error > LARGE_ERROR}
    if errors:
        warn(
            lambda names: (
                f"cuts of columns with more than {MOST_NUMBERS:,} distinct numbers are approximate, and may be off by "
                f"so many rows: {listed([f'{name!r} {100 * errors[name]:.2g}%' for name in names])}; give cut points "
                "that you know (numeric={column: [...]})"
            ),
            ColumnWarning,
            errors,
        )

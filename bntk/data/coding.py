"""From columns of labels and codes to variables.

Every source (pandas, polars, pyarrow, numpy, a file) gives :class:`CodedColumn` objects: the distinct labels and, for
each row, the number of its label. From there on all take the same path. Labels are handled one by one, in Python; rows
only through arrays. The sources themselves are in :mod:`bntk.data.columns` and :mod:`bntk.data.readers`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bntk._checking import one_of, shown
from bntk._warnings import warn
from bntk.data.variable import (
    NEVER_MISSING,
    State,
    Variable,
    format_states,
    is_missing,
    natural_order,
    plain_state,
    plain_states,
)
from bntk.errors import ColumnWarning, DataError, UnseenStateWarning, did_you_mean

MOST_FLOATS = 256  # distinct floats; beyond that, a column is a measurement, not a category
MOST_STATES = 65_535  # distinct values of anything else; beyond that, it is an identifier
_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls an index without a name in a file


@dataclass(frozen=True)
class CodedColumn:
    """One column: ``labels[codes[row]]`` is the value in a row; a negative code is a missing cell.

    Labels may be missing values, or repeat one another; :func:`settle` deals with both. A label need not be used.

    Attributes
    ----------
    declared : bool
        The labels are the states, in this order, whether used or not.
    all_used : bool
        Every label occurs in some row, so that the rows need not be searched.
    source : pandas dtype, optional
        The dtype of the column, so that it can be restored.
    texts : list of str, optional
        How each label was written in a text file; this is compared with known states first.
    """

    name: str
    labels: Sequence[State]
    codes: np.ndarray
    declared: bool = False
    ordered: bool = False
    all_used: bool = False
    source: Any = None
    texts: Sequence[str] | None = None


# -------------------------------------------------------------------- from labels and codes to variables


def settle(columns: Iterable[CodedColumn]) -> tuple[list[np.ndarray], list[Variable], list[Any]]:
    """Variables, their rows of codes, and the source dtypes; the states are those declared, or else seen."""
    rows, variables, sources = [], [], []
    for column in columns:
        in_use = codes_in_use(column)
        if len(in_use) > MOST_STATES:  # a million numbers can be refused without a look at all of them
            first = plain_states([column.labels[code] for code in in_use[: MOST_STATES + 2]])
            _check_size(column.name, _distinct(first), column.declared)
        labels = plain_states([column.labels[code] for code in in_use])
        states = _states(column, labels)
        if labels == states and len(labels) == len(column.labels):
            rows.append(_as_they_are(column.codes, len(states)))
        else:
            lookup = _positions(labels, in_use, states, len(column.labels))
            rows.append(look_up(lookup, len(states), column.codes))
        variables.append(Variable._trusted(column.name, states, column.ordered))
        sources.append(column.source)
    return rows, variables, sources


def _positions(labels: Sequence[State], codes: Sequence[int], states: Sequence[State], size: int) -> np.ndarray:
    """The position of each label among the states; the number of states for labels that are missing or not used."""
    position = {state: place for place, state in enumerate(states)}
    lookup = np.full(size, len(states))
    for code, label in zip(codes, labels, strict=True):
        if not is_missing(label):
            lookup[code] = position[label]
    return lookup


def _as_they_are(codes: np.ndarray, n_states: int) -> np.ndarray:
    """Codes in the smallest unsigned type, a missing cell (-1 or above the last state) as the number of states."""
    if codes.dtype.kind == "u":
        return codes if codes.itemsize == 1 else codes.astype(np.min_scalar_type(n_states))
    unsigned = codes.view(f"u{codes.itemsize}")  # -1 becomes the largest number
    clamped: np.ndarray = np.minimum(unsigned, unsigned.dtype.type(n_states))
    return clamped.astype(np.min_scalar_type(n_states), copy=False)


def codes_in_use(column: CodedColumn, seen: bool = False) -> Sequence[int]:
    """The codes of the labels that occur, and of those declared unless only labels that are ``seen`` count."""
    if column.all_used or (column.declared and not seen):
        return range(len(column.labels))
    codes = column.codes
    if codes.itemsize == 1:  # -1 is 255
        counts = np.bincount(codes.view(np.uint8), minlength=256)[: len(column.labels)]
    else:
        counts = np.bincount(codes[codes >= 0] if codes.dtype.kind == "i" else codes)
    used: list[int] = np.flatnonzero(counts).tolist()
    return used


def has_states(column: CodedColumn, seen: bool = False) -> bool:
    """Whether a column has a value in some row, or declares one unless only values that are ``seen`` count."""
    return any(not is_missing(column.labels[code]) for code in codes_in_use(column, seen))


def _distinct(labels: Sequence[State]) -> list[State]:
    """The labels that are not missing, each once."""
    if {*map(type, labels)} <= NEVER_MISSING:
        return list(dict.fromkeys(labels))
    return list(dict.fromkeys([label for label in labels if not is_missing(label)]))


def _states(column: CodedColumn, labels: Sequence[State]) -> list[State]:
    states = _distinct(labels)
    _check_size(column.name, states, column.declared)
    if not states:
        what = "every cell is missing" if len(column.codes) else "there are no rows"
        raise DataError(
            f"column {column.name!r} has no states: {what}; drop the column, or give its states with variables= "
            "or as a categorical column"
        )
    return states if column.declared else natural_order(states)


def _check_size(name: str, states: Sequence[State], declared: bool = False) -> None:
    if len(states) > MOST_FLOATS and not declared and any(isinstance(state, float) for state in states):
        raise too_many_numbers(name, len(states))
    if len(states) > MOST_STATES:
        raise too_many_states(name, states[0])


def too_many_numbers(name: str, n: int) -> DataError:
    """The error for a column of measurements."""
    return DataError(
        f"column {name!r} holds {n:,} distinct floats, more than the {MOST_FLOATS} that can be states; cut them into "
        "intervals first (bntk.Discretizer), or give a data frame to bntk.learn or a classifier, which cut them "
        '(numeric=); or, if they are whole numbers that name something, convert the column: .astype("Int64")'
    )


def too_many_states(name: str, example: State) -> DataError:
    """The error for a column that looks like an identifier."""
    return DataError(
        f"column {name!r} holds more than {MOST_STATES:,} distinct values, such as {example!r}; it looks like an "
        "identifier: drop it, or group its values"
    )


def settle_against(
    columns: Iterable[CodedColumn], variables: Sequence[Variable], unseen: str
) -> tuple[list[np.ndarray], list[Any]]:
    """Rows of codes for known variables, and the source dtypes; see ``unseen`` of ``Table.from_frame``."""
    rows, sources, found = [], [], []
    if not variables:
        raise DataError("the list of variables is empty; name at least one")
    for column, variable in zip(columns, variables, strict=True):
        lookup, unknown = _match(column, variable)
        if unknown:
            found += _unknown_values(column, variable, unknown)
        rows.append(look_up(np.array(lookup, dtype=np.int64), variable.n_states, column.codes))
        sources.append(column.source)
    if found:
        _report(found, unseen)
    return rows, sources


def _match(column: CodedColumn, variable: Variable) -> tuple[list[int], list[int]]:
    """The code in ``variable`` of each label, and which labels are none of its states."""
    if variable.cuts and (numbers := _as_numbers(column.labels)) is not None:
        places = np.where(np.isnan(numbers), variable.n_states, np.searchsorted(variable.cuts, numbers))
        return places.tolist(), []
    lookup, unknown = [], []
    for code, label in enumerate(column.labels):
        if is_missing(label):
            lookup.append(variable.n_states)
            continue
        found = variable.find(column.texts[code]) if column.texts is not None else None
        if found is None:
            found = variable.find(label)
        if found is None:
            unknown.append(code)
        lookup.append(variable.n_states if found is None else found)
    return lookup, unknown


def _as_numbers(labels: Sequence[State]) -> np.ndarray | None:
    """Labels that are all numbers as floats, NaN for missing ones; None if one is anything else."""
    kinds = {*map(type, labels)}
    if not all(issubclass(kind, (int, float, np.number)) or kind is type(None) for kind in kinds) or bool in kinds:
        return None
    return np.array([math.nan if label is None else label for label in labels], dtype=np.float64)


def declared_order(column: CodedColumn) -> list[State] | None:
    """The labels of an ordered column in their order, whether used or not; None if none was declared."""
    if not column.ordered:
        return None
    return plain_states([label for label in column.labels if not is_missing(label)])


def look_up(lookup: np.ndarray, missing: int, codes: np.ndarray) -> np.ndarray:
    """``lookup[codes]`` in the smallest type; negative codes give ``missing``."""
    dtype = np.min_scalar_type(missing)
    if codes.dtype.kind == "u" and codes.itemsize >= dtype.itemsize and np.array_equal(lookup, np.arange(len(lookup))):
        return codes
    if codes.dtype.kind == "i" and len(lookup) == missing and np.array_equal(lookup, np.arange(missing)):
        return _as_they_are(codes, missing)
    table = np.append(lookup, missing).astype(dtype)  # -1 finds the last entry
    return np.take(table, codes, mode="wrap")


@dataclass(frozen=True)
class _Unknown:
    """Values of a column that are none of the states of its variable, and how many rows have each."""

    variable: Variable
    rows: dict[State, int]
    first_row: int
    first_label: State


def _unknown_values(column: CodedColumn, variable: Variable, unknown: list[int]) -> list[_Unknown]:
    flagged = np.zeros(len(column.labels) + 1, dtype=bool)
    flagged[unknown] = True
    hit = np.take(flagged, column.codes, mode="wrap")
    first = int(np.argmax(hit)) if len(hit) else 0
    if not len(hit) or not hit[first]:  # an unknown category that no row uses does no harm
        return []
    seen, counts = np.unique(column.codes[hit], return_counts=True)
    rows: dict[State, int] = {}
    for code, count in zip(seen.tolist(), counts.tolist(), strict=True):
        label = plain_state(column.labels[code])
        rows[label] = rows.get(label, 0) + count
    return [_Unknown(variable, rows, first, plain_state(column.labels[int(column.codes[first])]))]


def _report(unknown_values: Sequence[_Unknown], unseen: str) -> None:
    if unseen == "error":
        worst = unknown_values[0]
        raise DataError(
            f"column {worst.variable.name!r}, row {worst.first_row}: {worst.first_label!r} is not a known state"
            f"{did_you_mean(worst.first_label, worst.variable.states)}; the "
            f'states are {format_states(worst.variable.states)}; unseen="missing" takes such cells as missing'
        )
    causes = [(values.variable.name, label) for values in unknown_values for label in values.rows]
    warn(lambda told: _unseen_text(unknown_values, {*told}), UnseenStateWarning, causes)


def _unseen_text(unknown_values: Sequence[_Unknown], told: set[tuple[str, State]]) -> str:
    """The message about some values of columns."""
    parts = []
    for values in unknown_values:
        name, known = values.variable.name, format_states(values.variable.states, 8)
        labels = [label for label in values.rows if (name, label) in told]
        n_rows = sum(values.rows[label] for label in labels)
        rows = f"{n_rows:,} row{'s' if n_rows > 1 else ''}"
        parts += [f"column {name!r}: {format_states(labels, 5)} in {rows} (known: {known})"] if labels else []
    more = [f"and {len(parts) - 5} more columns"] if len(parts) > 5 else []
    return "values that are not known states are taken as missing: " + "; ".join([*parts[:5], *more])


def lacking_columns(lacking: Sequence[str], names: Sequence[str]) -> DataError:
    """The error for data without some of the columns that are needed."""
    s = "" if len(lacking) == 1 else "s"
    hint = did_you_mean(lacking[0], names)
    return DataError(f"the data has no column{s} {format_states(lacking)[1:-1]}{hint}; it has {format_states(names)}")


def without_index(names: Iterable[str]) -> list[str]:
    """The names of the columns of a Parquet file, without an index of pandas that has no name of its own."""
    return [name for name in names if not _INDEX.fullmatch(name)]


def check_column_names(names: Sequence[str]) -> None:
    """Every column needs a name of its own."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names):
        if not isinstance(name, str):
            raise DataError(f"a column is named by a string, not {shown(name)}")
        if not name.strip():
            raise DataError(f"column {position + 1} has no name; every column needs one")
        if name in seen:
            raise DataError(f"columns {seen[name] + 1} and {position + 1} are both named {name!r}; rename one of them")
        seen[name] = position


# -------------------------------------------------------------------- columns that nothing can be learned from

#: Rows with a value from which on a column can be seen to identify them.
FEWEST_ROWS = 20
#: What may become of columns that identify rows.
IDENTIFIERS = ("drop", "keep")

_CLOCK = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?"
_DAY = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})"
_INSTANT = re.compile(rf"({_DAY})([T ]\s*{_CLOCK}\s*(Z|[+-]\d{{2}}:?\d{{2}})?)?|{_CLOCK}")


def left_out(
    columns: Sequence[CodedColumn],
    identifiers: str = "drop",
    empty: Sequence[str] = (),
    weights: np.ndarray | None = None,
) -> list[str]:
    """The names of columns of labels that are left out, named in one warning.

    A column is left out if it has no value; if its labels are dates or times; or if it has more states than half its
    rows with a value, of which there are at least 20. The last two are kept with ``identifiers="keep"``. ``empty`` are
    further columns without a value. With ``weights``, a row counts as so many.
    """
    one_of("identifiers", identifiers, IDENTIFIERS)
    reasons = dict.fromkeys(empty, EMPTY)
    reasons |= {
        column.name: reason for column in columns if (reason := reason_left_out(column, identifiers == "drop", weights))
    }
    tell_left_out(reasons)
    return list(reasons)


def tell_left_out(reasons: Mapping[str, str]) -> None:
    """One warning that names the columns that are left out, and why."""
    if reasons:
        warn(lambda names: _left_out_text({name: reasons[name] for name in names}), ColumnWarning, reasons)


def _left_out_text(reasons: Mapping[str, str]) -> str:
    told = "; ".join(f"{name!r} {reason}" for name, reason in [*reasons.items()][:8])
    more = f"; and {len(reasons) - 8} more" if len(reasons) > 8 else ""
    advice = "" if all(reason == EMPTY for reason in reasons.values()) else f" ({ADVICE})"
    return f"columns that are left out: {told}{more}{advice}"


EMPTY = "has no value"
ADVICE = 'identifiers="keep" uses them as they are'


def reason_left_out(column: CodedColumn, drop: bool = True, weights: np.ndarray | None = None) -> str | None:
    """Why a column is left out, or None; the rows are looked at only where it has many labels."""
    labels = [label for label in column.labels if not is_missing(label)]
    if not labels or (len(labels) < len(column.labels) and not has_states(column, seen=not column.declared)):
        return EMPTY
    if not drop or all(isinstance(label, (int, float, np.number)) for label in labels):
        return None  # numbers and truth values
    if all(map(is_instant, labels)):
        return of_instants(len(labels))
    if len(labels) <= FEWEST_ROWS / 2:
        return None
    n_states = sum(not is_missing(column.labels[code]) for code in codes_in_use(column, seen=True))
    return of_rows(n_states, _n_known(column, weights))


def of_instants(n_labels: int) -> str:
    """Why a column of dates and times is left out."""
    return f"holds dates or times, {n_labels:,} different ones"


def of_rows(n_states: int, known: float, about: str = "") -> str | None:
    """Why a column with so many states in so many rows with a value is left out; None if it is not."""
    if known >= FEWEST_ROWS and n_states > known / 2:
        return f"identifies rows: {about}{n_states:,} states in {round(known):,} rows"
    return None


def is_instant(state: Any) -> bool:
    """Whether a label is a date or a time."""
    if isinstance(state, str):
        return _INSTANT.fullmatch(state.strip()) is not None
    return hasattr(state, "isoformat") or isinstance(state, np.datetime64)


def _n_known(column: CodedColumn, weights: np.ndarray | None) -> float:
    """How many rows have a value."""
    missing = np.array([is_missing(label) for label in column.labels] + [True])
    known = ~np.take(missing, column.codes.astype(np.intp), mode="wrap")
    return float(np.count_nonzero(known) if weights is None else weights[known].sum())

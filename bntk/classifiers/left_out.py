"""Columns that no classifier can learn from: those that identify rows, dates and times, and columns without a value."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from bntk.data.coding import CodedColumn, caller_level, codes_in_use
from bntk.data.variable import is_missing
from bntk.errors import ColumnWarning

#: Rows with a value from which on a column can be seen to identify them.
FEWEST_ROWS = 20
#: What may become of columns that identify rows.
IDENTIFIERS = ("drop", "keep")

_CLOCK = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?"
_DAY = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})"
_INSTANT = re.compile(rf"({_DAY})([T ]\s*{_CLOCK}\s*(Z|[+-]\d{{2}}:?\d{{2}})?)?|{_CLOCK}")


def left_out(columns: Sequence[CodedColumn], identifiers: str = "drop") -> list[str]:
    """The names of columns of labels that are left out, named in one warning.

    A column is left out if it has no value; if its labels are dates or times; or if it has more states than half its
    rows with a value, of which there are at least 20. The last two are kept with ``identifiers="keep"``.
    """
    if identifiers not in IDENTIFIERS:
        raise ValueError(f"identifiers must be 'drop' or 'keep', not {identifiers!r}")
    reasons = {column.name: reason for column in columns if (reason := _reason(column, identifiers == "drop"))}
    if reasons:
        told = "; ".join(f"{name!r} {reason}" for name, reason in [*reasons.items()][:8])
        more = f"; and {len(reasons) - 8} more" if len(reasons) > 8 else ""
        warnings.warn(
            f"columns that are left out: {told}{more}"
            + ("" if all(reason == EMPTY for reason in reasons.values()) else f" ({ADVICE})"),
            ColumnWarning,
            stacklevel=caller_level(),
        )
    return list(reasons)


EMPTY = "has no value"
ADVICE = 'identifiers="keep" uses them as they are'


def _reason(column: CodedColumn, drop: bool) -> str | None:
    labels = [column.labels[code] for code in codes_in_use(column, seen=True)]
    states = [label for label in labels if not is_missing(label)]
    if not states:  # declared ones may come with more rows
        return None if column.declared and not all(map(is_missing, column.labels)) else EMPTY
    if not drop or all(isinstance(state, (int, float, np.number)) for state in states):
        return None  # numbers and truth values
    if all(_is_instant(state) for state in states):
        return f"holds dates or times, {len(states):,} different ones"
    known = _n_known(column)
    if known >= FEWEST_ROWS and len(states) > known / 2:
        return f"identifies rows: {len(states):,} states in {known:,} rows"
    return None


def _is_instant(state: Any) -> bool:
    if isinstance(state, str):
        return _INSTANT.fullmatch(state.strip()) is not None
    return hasattr(state, "isoformat") or isinstance(state, np.datetime64)


def _n_known(column: CodedColumn) -> int:
    """How many rows have a value."""
    missing = np.array([is_missing(label) for label in column.labels] + [True])
    return int(np.count_nonzero(~np.take(missing, column.codes.astype(np.intp), mode="wrap")))

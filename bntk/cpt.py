"""Conditional probability tables with named axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk._warnings import warn
from bntk.data.variable import State, Variable, state_text
from bntk.errors import NetworkError, NormalisationWarning, TooLargeError, UnknownNameError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

#: A table with more entries is refused before it is allocated (2**27 doubles are one GiB).
MAX_TABLE_ENTRIES = 2**27
#: Whatever the number of variables, a search may choose tables of so many entries.
LEAST_SEARCH_ENTRIES = 2**20

# Rows off by more than TOLERANCE are refused; by more than ROUNDING, normalised with a message; what is below
# is the rounding of printed digits and normalised silently; below EXACT a row is kept to the last bit, so that
# a network which is written and read again is the same.
TOLERANCE, ROUNDING, EXACT = 1e-3, 1e-6, 1e-9


@runtime_checkable
class LocalDistribution(Protocol):
    """A distribution of a node given its parents, which can be expanded to a conditional probability table."""

    def to_cpt(self) -> CPT:
        """The conditional probability table of this distribution."""
        ...


class CPT:
    """A conditional probability table P(child | parents), with one axis per parent and the child's as the last.

    Parameters
    ----------
    child : Variable
        The variable whose distribution it is.
    values : array_like
        Probabilities of shape ``(r_parent1, ..., r_parentk, r_child)``, or two-dimensional with one row per parent
        configuration, the last parent changing fastest. Each row sums to one: rows off by at most 1e-3 are
        normalised with a warning, others are refused.
    parents : sequence of Variable
        The parents, in the order of the axes.
    counts : array_like, optional
        The counts behind the numbers, of the same shape; a fitted network keeps them.

    Examples
    --------
    >>> rain = Variable("rain", ["no", "yes"])
    >>> wet = Variable("wet", ["no", "yes"])
    >>> cpt = CPT(wet, [[0.9, 0.1], [0.2, 0.8]], [rain])
    >>> cpt.probability("yes", {"rain": "yes"})
    0.8
    >>> cpt
    P(wet | rain)
    rain | no  yes
    no   | 0.9 0.1
    yes  | 0.2 0.8
    """

    __slots__ = ("child", "counts", "parents", "values")

    child: Variable
    parents: tuple[Variable, ...]
    values: NDArray[np.float64]
    counts: NDArray[Any] | None

    def __init__(
        self,
        child: Variable,
        values: ArrayLike,
        parents: Sequence[Variable] = (),
        *,
        counts: ArrayLike | None = None,
    ) -> None:
        parents = _checked_family(child, parents)
        table = _shaped(child, parents, values)
        table, off = normalised(child, parents, table)
        if off > ROUNDING:
            warn_normalised(f"{family_text(child, parents)}: rows", off)
        if counts is not None:
            what = f"{family_text(child, parents)}: counts"
            kept = _checking.numbers(what, counts, "numbers from 0", NetworkError)
            if not (np.isfinite(kept) & (kept >= 0)).all():
                raise _checking.wrong(what, "numbers from 0", counts, NetworkError)
        self._set(child, parents, table, counts)

    def _set(
        self, child: Variable, parents: tuple[Variable, ...], table: NDArray[np.float64], counts: ArrayLike | None
    ) -> None:
        table = np.ascontiguousarray(table)  # kernels read it as a flat buffer
        table.setflags(write=False)
        kept = None if counts is None else np.array(counts, order="C")
        if kept is not None:
            if kept.shape != table.shape:
                raise NetworkError(
                    f"{family_text(child, parents)}: counts have shape {kept.shape}, the table {table.shape}"
                )
            kept.setflags(write=False)
        for slot, value in (("child", child), ("parents", parents), ("values", table), ("counts", kept)):
            object.__setattr__(self, slot, value)

    @classmethod
    def _trusted(
        cls,
        child: Variable,
        values: NDArray[np.float64],
        parents: tuple[Variable, ...],
        counts: NDArray[Any] | None = None,
    ) -> CPT:
        """A table whose shape and rows are known to be right."""
        cpt = object.__new__(cls)
        cpt._set(child, parents, values, counts)
        return cpt

    @classmethod
    def from_dict(cls, child: Variable, table: Mapping[State, Any], parents: Sequence[Variable] = ()) -> CPT:
        """A table from nested mappings.

        Parameters
        ----------
        child : Variable
            The variable whose distribution it is.
        table : mapping
            One level per parent, from its states to the next level; the last is a mapping or a list over the states
            of the child.
        parents : sequence of Variable
            The parents, in the order of the levels.

        Examples
        --------
        >>> rain = Variable("rain", ["no", "yes"])
        >>> wet = Variable("wet", ["no", "yes"])
        >>> CPT.from_dict(wet, {"yes": {"yes": 0.8, "no": 0.2}, "no": [0.9, 0.1]}, [rain]).values
        array([[0.9, 0.1],
               [0.2, 0.8]])
        """
        parents = _checked_family(child, parents)
        values = empty_table(child, parents)
        for index in np.ndindex(*values.shape[:-1]):
            values[index] = _dict_row(child, parents, table, index)
        return cls(child, values, parents)

    @classmethod
    def from_frame(
        cls, child: Variable, frame: pd.DataFrame, parents: Sequence[Variable] = (), *, value: str | None = None
    ) -> CPT:
        """A table from a tidy data frame, the inverse of :meth:`to_frame`.

        The frame has one column per variable, in any order, and one of probabilities. Every combination of states must
        be there exactly once. Or, as tables are often written, it has one column per parent, and one per state of the
        child with its probabilities, which make one row per parent configuration.

        Parameters
        ----------
        child : Variable
            The variable whose distribution it is.
        frame : pandas.DataFrame
            One row per combination of states.
        parents : sequence of Variable
            The parents, in the order of the axes.
        value : str, optional
            The column of probabilities; by default ``p``, as :meth:`to_frame` names it.

        Examples
        --------
        >>> import pandas as pd
        >>> rain, wet = Variable("rain", ["no", "yes"]), Variable("wet", ["no", "yes"])
        >>> rows = pd.DataFrame({"rain": ["yes", "no"], "no": [0.2, 0.9], "yes": [0.8, 0.1]})
        >>> CPT.from_frame(wet, rows, [rain]).values
        array([[0.9, 0.1],
               [0.2, 0.8]])
        """
        from bntk.data.columns import entry_name

        parents = _checked_family(child, parents)
        value = (
            entry_name((*parents, child)) if value is None else _checking.text("value", value, "the name of a column")
        )
        return cls(child, entries_of_frame(child, frame, parents, value), parents)

    @classmethod
    def uniform(cls, child: Variable, parents: Sequence[Variable] = ()) -> CPT:
        """The table in which every state is equally probable.

        Parameters
        ----------
        child : Variable
            The variable whose distribution it is.
        parents : sequence of Variable
            The parents, in the order of the axes.
        """
        parents = _checked_family(child, parents)
        values = empty_table(child, parents)
        values[...] = 1.0 / child.n_states
        return cls._trusted(child, values, parents)

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError("a CPT cannot be changed; make a new one")

    # ---- contents --------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the child."""
        return self.child.name

    @property
    def family(self) -> tuple[Variable, ...]:
        """The variables of the axes: parents, then the child."""
        return (*self.parents, self.child)

    @property
    def n_configurations(self) -> int:
        """Number q of parent configurations."""
        return self.values.size // self.child.n_states

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, q (r - 1)."""
        return self.n_configurations * (self.child.n_states - 1)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The table of shape ``(q, r)``: one row per parent configuration, the last parent changing fastest."""
        return self.values.reshape(-1, self.child.n_states)

    def row(self, given: Mapping[str, State] | None = None) -> NDArray[np.float64]:
        """Probabilities of the child's states for one state of every parent.

        Parameters
        ----------
        given : mapping
            A state of every parent, by name.
        """
        given = {} if given is None else _checking.mapping("given", given, "{parent: state}", NetworkError)
        unknown = set(given) - {p.name for p in self.parents}
        absent = [p.name for p in self.parents if p.name not in given]
        if unknown or absent:
            raise UnknownNameError(
                f"{self.heading} needs a state for each of {[p.name for p in self.parents]}, got {list(given)}"
                + did_you_mean(next(iter(unknown), None), absent)
            )
        return self.values[tuple(p.code(given[p.name]) for p in self.parents)]

    def probability(self, state: State, given: Mapping[str, State] | None = None) -> float:
        """P(child = state | given), with ``given`` a state for every parent.

        Parameters
        ----------
        state : state
            The state of the child.
        given : mapping
            A state of every parent, by name.
        """
        return float(self.row(given)[self.child.code(state)])

    def reorder(self, parents: Sequence[str]) -> CPT:
        """The same table with its parent axes in another order.

        Parameters
        ----------
        parents : sequence of str
            The names of the parents in the new order.
        """
        names = [p.name for p in self.parents]
        parents = _checking.several("parents", parents, "names", NetworkError)
        if not all(isinstance(p, str) for p in parents) or sorted(parents) != sorted(names):
            raise UnknownNameError(f"{self.heading} has the parents {names}, not {_checking.shown(parents)}")
        if parents == names:
            return self
        axes = [names.index(p) for p in parents] + [len(names)]
        counts = None if self.counts is None else self.counts.transpose(axes).copy()
        ordered = tuple(self.parents[a] for a in axes[:-1])
        return CPT._trusted(self.child, self.values.transpose(axes).copy(), ordered, counts)

    def to_cpt(self) -> CPT:
        """The table itself."""
        return self

    def to_frame(self) -> pd.DataFrame:
        """A tidy data frame with one row per entry: columns for the parents and the child, and ``p``.

        Where one of them is named ``p``, the column of probabilities is ``p_``.
        """
        from bntk.data.columns import tidy_frame

        return tidy_frame(self.family, self.values)

    def plot(self, **options: Any) -> Any:
        """Draw the table as a heat map; the options are those of :func:`bntk.viz.plot_cpt`. Returns matplotlib Axes."""
        from bntk.viz.tables import plot_cpt

        return plot_cpt(self, **options)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CPT):
            return NotImplemented
        return self.family == other.family and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        return CPT._trusted, (self.child, self.values.copy(), self.parents, self.counts)

    @property
    def heading(self) -> str:
        """What the table is: ``P(child | parent, parent)``."""
        return family_text(self.child, self.parents)

    def __repr__(self) -> str:
        return "\n".join([self.heading, *_text_rows(self, most=16)])

    def _repr_html_(self) -> str:
        return "\n".join(_html_rows(self, most=64))


# ---- building blocks -------------------------------------------------------------------------------------------


def family_text(child: Variable, parents: Sequence[Variable]) -> str:
    """``P(child | parent, parent)``, as messages name a table."""
    given = ", ".join(p.name for p in parents)
    return f"P({child.name} | {given})" if given else f"P({child.name})"


def row_text(child: Variable, parents: Sequence[Variable], index: Sequence[int]) -> str:
    """``P(child | parent='state', ...)``, as messages name a row."""
    given = ", ".join(f"{p.name}={p.states[i]!r}" for p, i in zip(parents, index, strict=True))
    return f"P({child.name} | {given})" if given else f"P({child.name})"


def table_entries(child: Variable, parents: Sequence[Variable]) -> int:
    """Number of entries of the table, as an exact Python integer."""
    return child.n_states * math.prod(p.n_states for p in parents)


def search_limit(n_variables: int) -> int:
    """Entries of a table up to which a search for a structure may choose it, so that all tables can be stored."""
    return max(LEAST_SEARCH_ENTRIES, MAX_TABLE_ENTRIES // max(n_variables, 1))


def check_table_size(child: Variable, parents: Sequence[Variable], limit: int = MAX_TABLE_ENTRIES) -> None:
    """Refuse a table with more than ``limit`` entries, before anything is allocated."""
    entries = table_entries(child, parents)
    if entries > limit:
        sizes = " x ".join(str(v.n_states) for v in (*parents, child))
        raise TooLargeError(
            f"{family_text(child, parents)} would have {sizes} = {entries:,} entries "
            f"({entries * 8 / 2**30:,.1f} GiB), over the limit of {limit:,}; give {child.name!r} fewer parents "
            "(max_parents of a space, k of KDB), merge states, or raise the limit where you can (max_entries of "
            "bntk.fit)"
        )


def empty_table(child: Variable, parents: Sequence[Variable], limit: int = MAX_TABLE_ENTRIES) -> NDArray[np.float64]:
    """An uninitialised table of the right shape, if it is within the limit."""
    check_table_size(child, parents, limit)
    return np.empty((*(p.n_states for p in parents), child.n_states))


def normalised(
    child: Variable, parents: Sequence[Variable], table: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """The table with rows that sum to one, and the largest distance from one that was corrected.

    Negative, non-finite or badly summing rows are refused with the row named.
    """
    rows = table.reshape(-1, child.n_states)
    sums = _sums(rows)
    off = np.abs(sums - 1)
    most = float(off.max(initial=0.0))
    if not (most <= TOLERANCE and rows.min(initial=0.0) >= 0):  # what is not finite has no such sum
        wrong = (rows < 0).any(axis=1) | ~(off <= TOLERANCE)
        first = int(np.argmax(wrong))
        index = np.unravel_index(first, table.shape[:-1]) if parents else ()
        shown = ", ".join(f"{x:g}" for x in rows[first][:8]) + (", ..." if child.n_states > 8 else "")
        raise NetworkError(
            f"{row_text(child, parents, [int(i) for i in index])}: the row [{shown}] sums to {sums[first]:g}; "
            "expected numbers from 0 to 1 that sum to 1"
            + (f" ({int(wrong.sum())} such rows)" if wrong.sum() > 1 else "")
        )
    if most > EXACT:
        mend = off > EXACT
        table = table.copy()
        table.reshape(rows.shape)[mend] /= sums[mend, None]
    return table, most


def to_be_normalised(tables: Sequence[NDArray[np.float64]]) -> list[int]:
    """The numbers of those tables that :func:`normalised` does not leave as they are, most often few or none."""
    by_length: dict[int, list[int]] = {}
    for number, table in enumerate(tables):
        by_length.setdefault(table.shape[-1], []).append(number)
    found: set[int] = set()
    for length, numbers in by_length.items():
        rows = np.concatenate([tables[number].ravel() for number in numbers]).reshape(-1, length)
        exact = (np.abs(_sums(rows) - 1) <= EXACT) & (rows.min(axis=1) >= 0)
        if not exact.all():
            ends = np.cumsum([tables[number].size // length for number in numbers])
            places = np.searchsorted(ends, np.flatnonzero(~exact), side="right")
            found.update(numbers[place] for place in places.tolist())
    return sorted(found)


def _sums(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of each row; not finite where numbers are not, or are far too large."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums: NDArray[np.float64] = rows.sum(axis=1)
    return sums


def warn_normalised(what: str, off: float) -> None:
    """The one message about rows that did not sum to one."""
    warn(f"{what} summed to 1 only within {off:.2g} and were normalised", NormalisationWarning, [what])


def _checked_family(child: Variable, parents: Sequence[Variable]) -> tuple[Variable, ...]:
    parents = _checking.several("parents", parents, "Variable objects", NetworkError)
    for variable in (child, *parents):
        if not isinstance(variable, Variable):
            raise NetworkError(f"a CPT is made of Variable objects; got {_checking.shown(variable)}")
    names = [v.name for v in (child, *parents)]
    for name in names:
        if names.count(name) > 1:
            raise NetworkError(f"{family_text(child, parents)}: {name!r} is there twice")
    return tuple(parents)


def _shaped(child: Variable, parents: tuple[Variable, ...], values: ArrayLike) -> NDArray[np.float64]:
    table = np.array(_checking.numbers(f"{family_text(child, parents)}: values", values, error=NetworkError))
    shape = (*(p.n_states for p in parents), child.n_states)
    rows = (math.prod(shape[:-1]), shape[-1])
    if table.shape not in (shape, rows):
        axes = ", ".join(f"{v.name} {v.n_states}" for v in (*parents, child))
        expected = f"{shape} ({axes})" + ("" if shape == rows or not parents else f", or {rows}")
        raise NetworkError(f"{family_text(child, parents)}: values have shape {table.shape}, expected {expected}")
    return table.reshape(shape)


def _dict_row(
    child: Variable, parents: Sequence[Variable], table: Mapping[State, Any], index: Sequence[int]
) -> list[float]:
    where = row_text(child, parents, index)
    level: Any = table
    for parent, i in zip(parents, index, strict=True):
        level = _entry(level, parent, i, where)
    if isinstance(level, Mapping):
        level = [_entry(level, child, i, where) for i in range(child.n_states)]
    row = _checking.numbers(where, level, "numbers, one for each state", NetworkError).ravel().tolist()
    if len(row) != child.n_states:
        raise NetworkError(f"{where}: {len(row)} numbers for the {child.n_states} states of {child.name!r}")
    return row


def _entry(level: Any, variable: Variable, code: int, where: str) -> Any:
    if not isinstance(level, Mapping):
        raise NetworkError(f"{where}: expected a mapping over the states of {variable.name!r}, got {level!r}")
    codes = [variable.code(state) for state in level]
    if sorted(codes) != list(range(variable.n_states)):
        absent = [variable.states[c] for c in range(variable.n_states) if codes.count(c) != 1]
        raise NetworkError(f"{where}: states {absent} of {variable.name!r} are not given exactly once")
    return list(level.values())[codes.index(code)]


def entries_of_frame(
    child: Variable, frame: pd.DataFrame, parents: Sequence[Variable], value: str
) -> NDArray[np.float64]:
    """The entries of a family's table from a data frame of either form that :meth:`CPT.from_frame` reads."""
    if not hasattr(frame, "columns") or not hasattr(frame, "to_numpy"):
        raise _checking.wrong("frame", "a pandas DataFrame", frame, NetworkError)
    family = (*parents, child)
    value = _checking.text("value", value, "the name of a column")
    frame = _one_row_per_entry(child, parents, frame, value)
    _check_columns(child, parents, list(frame.columns), value)
    values = empty_table(child, parents)
    flat, seen = values.reshape(-1), np.zeros(values.size, dtype=np.int64)
    position = np.zeros(len(frame), dtype=np.int64)
    for variable in family:
        codes = [variable.code(label) for label in frame[variable.name].tolist()]
        position = position * variable.n_states + np.array(codes, dtype=np.int64)
    np.add.at(seen, position, 1)
    if not (seen == 1).all():
        where = np.unravel_index(int(np.argmax(seen != 1)), values.shape)
        labels = ", ".join(f"{v.name}={v.states[i]!r}" for v, i in zip(family, where, strict=True))
        times = int(seen[np.ravel_multi_index(where, values.shape)])
        raise NetworkError(
            f"{family_text(child, parents)}: the frame has {times} rows for {labels}; it needs exactly one"
        )
    flat[position] = _checking.numbers(f"the column {value!r}", frame[value], error=NetworkError)
    return values


def _one_row_per_entry(child: Variable, parents: Sequence[Variable], frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """A frame with a column per state of the child as one with a row per entry; any other frame as it is."""
    given, columns = [p.name for p in parents], list(frame.columns)
    others = [column for column in columns if column not in given]
    codes = [child.find(column) for column in others]
    wide = len(columns) == len(given) + child.n_states and sorted(c for c in codes if c is not None) == [
        *range(child.n_states)
    ]
    if not wide or child.name in others or value in given or not {*given} <= {*columns}:
        return frame
    return frame.melt(given, others, child.name, value)


def _check_columns(child: Variable, parents: Sequence[Variable], columns: list[Any], value: str) -> None:
    expected = [v.name for v in (*parents, child)] + [value]
    absent = [name for name in expected if name not in columns]
    extra = [name for name in columns if name not in expected]
    if absent or extra:
        raise NetworkError(
            f"{family_text(child, parents)}: the frame needs the columns {expected}, in any order"
            + (f"; it lacks {absent}" if absent else "")
            + (f"; it has {extra} too many" if extra else "")
        )


def _shown_rows(cpt: CPT, most: int) -> Iterator[tuple[list[str], list[str]]]:
    """Parent states and probabilities of the first rows, as text."""
    configurations = itertools.product(*(p.states for p in cpt.parents))
    for states, row in zip(itertools.islice(configurations, most), cpt.matrix, strict=False):
        yield [state_text(s) for s in states], [f"{x:.4g}" for x in row]


def _text_rows(cpt: CPT, most: int) -> list[str]:
    head = [[p.name for p in cpt.parents] + ["|"] + [state_text(s) for s in cpt.child.states]]
    body = [[*states, "|", *numbers] for states, numbers in _shown_rows(cpt, most)]
    cells = head + body
    if not cpt.parents:
        cells = [row[1:] for row in cells]
    widths = [max(len(row[c]) for row in cells) for c in range(len(cells[0]))]
    lines = [" ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in cells]
    hidden = cpt.n_configurations - most
    return [*lines, f"... {hidden:,} more rows"] if hidden > 0 else lines


def _html_rows(cpt: CPT, most: int) -> Iterator[str]:
    from html import escape

    def cells(tag: str, texts: Sequence[str]) -> str:
        return "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)

    yield f"<table><caption>{escape(cpt.heading)}</caption>"
    head = [p.name for p in cpt.parents] + [state_text(s) for s in cpt.child.states]
    yield f"<thead><tr>{cells('th', head)}</tr></thead><tbody>"
    for states, numbers in _shown_rows(cpt, most):
        yield f"<tr>{cells('th', states)}{cells('td', numbers)}</tr>"
    hidden = cpt.n_configurations - most
    if hidden > 0:
        yield f"<tr><td colspan={len(head)}>... {hidden:,} more rows</td></tr>"
    yield "</tbody></table>"

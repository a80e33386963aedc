"""Tables of discrete data: columns coded as small unsigned integers, with their labels.

Everything that learns or predicts takes its data through :func:`as_table`. How a column of each kind becomes labels
and codes is in :mod:`bntk.data.coding`; files are read in :mod:`bntk.data.readers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bntk import _checking
from bntk.data.dask_frames import is_dask_frame
from bntk.data.variable import Variable, cards_of, checked_variables, format_states, names_of
from bntk.errors import DataError, UnknownNameError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from bntk.data.coding import CodedColumn
    from bntk.data.numbers import Reading

Unseen = Literal["missing", "error"]


class Table:
    """A table of discrete data: rows of states, coded as small integers.

    A table cannot be changed. Make one with :meth:`from_frame`, :meth:`from_columns`, :meth:`from_numpy`,
    :meth:`from_codes` or :func:`bntk.read_table`.

    Attributes
    ----------
    variables : tuple of Variable
        The columns: their names and states.
    codes : ndarray of shape (n_variables, n_rows), read-only
        Column-major: ``codes[i]`` holds the state codes of variable ``i``, in the smallest unsigned type that fits all
        columns. A missing cell of variable ``i`` has the code ``variables[i].n_states``.

    Examples
    --------
    >>> import bntk
    >>> table = bntk.Table.from_columns({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", None]})
    >>> table
    Table: 3 rows x 2 variables, 16.7% of the cells missing
      rain   ['no', 'yes']
      grass  ['dry', 'wet']
    >>> table.codes
    array([[0, 1, 0],
           [0, 1, 2]], dtype=uint8)
    """

    __slots__ = ("__dict__", "_sources", "codes", "variables")

    variables: tuple[Variable, ...]
    codes: np.ndarray
    _sources: tuple[Any, ...]  # the pandas dtype that each column came from, or None

    def __init__(self) -> None:
        raise TypeError("make a Table with Table.from_frame, from_columns, from_numpy, from_codes or bntk.read_table")

    @classmethod
    def _make(cls, codes: np.ndarray, variables: Sequence[Variable], sources: Sequence[Any] | None = None) -> Table:
        """A table of parts that are known to be right."""
        table = object.__new__(cls)
        read_only = codes.view()
        read_only.flags.writeable = False
        object.__setattr__(table, "codes", read_only)
        object.__setattr__(table, "variables", tuple(variables))
        object.__setattr__(table, "_sources", tuple(sources) if sources else (None,) * len(table.variables))
        return table

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a Table cannot be changed; make a new one with other {attribute}")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.codes, self.variables, self._sources)

    # ---------------------------------------------------------------- making tables

    @classmethod
    def from_codes(cls, codes: np.ndarray, variables: Iterable[Variable]) -> Table:
        """Make a table of codes.

        Parameters
        ----------
        codes : array of integers, shape (n_variables, n_rows)
            One row per variable, with the positions of states; the number of states is a missing value. It is used as
            it is, without a copy, when it is C-contiguous and has the smallest unsigned type that fits; do not write to
            it afterwards.
        variables : iterable of Variable
            The variable of each row of ``codes``.

        Examples
        --------
        >>> import numpy as np
        >>> from bntk import Table, Variable
        >>> Table.from_codes(np.array([[0, 1, 2]]), [Variable("rain", ["no", "yes"])])
        Table: 3 rows x 1 variable, 33.3% of the cells missing
          rain  ['no', 'yes']
        """
        variables = checked_variables(variables)
        _check_names([variable.name for variable in variables])
        given = np.asarray(codes)
        if given.ndim != 2 or len(given) != len(variables):
            raise DataError(
                f"codes must have the shape (n_variables, n_rows) = ({len(variables)}, ...), not {given.shape}"
            )
        if given.dtype.kind not in "iu":
            raise DataError(f"codes must be integers, not {given.dtype}")
        _check_codes(given, variables)
        return cls._make(np.ascontiguousarray(given, dtype=code_dtype(variables)), variables)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        variables: Iterable[Variable] | None = None,
        unseen: Unseen = "missing",
        *,
        only: Iterable[str] | None = None,
    ) -> Table:
        """Make a table from a data frame of pandas, polars, pyarrow, or another library that narwhals supports.

        Categorical columns keep their declared states and their order, whether seen or not. The states of other
        columns are the values seen, in natural order. None, NaN, NaT and NA are missing.

        Parameters
        ----------
        frame : data frame
            One case per row.
        variables : iterable of Variable, optional
            Code against these variables, in this order; other columns are ignored. A label also matches a state of
            another type that is written the same (``1`` and ``"1"``).
        unseen : {"missing", "error"}
            What to do with a value that is none of the states of ``variables``: take it as missing, with one warning,
            or refuse.
        only : iterable of str, optional
            Without ``variables``: the columns to code, in this order; the others are not read.

        Examples
        --------
        >>> import bntk, pandas as pd
        >>> frame = pd.DataFrame({"size": ["10", "9", None], "n": [3, 1, 3]})
        >>> table = bntk.Table.from_frame(frame)
        >>> table.variables
        (Variable('size', ['9', '10']), Variable('n', [1, 3]))
        >>> table.to_pandas().equals(frame)
        True
        """
        from bntk.data import columns as adapters

        variables = None if variables is None else checked_variables(variables)
        return cls._from_coded(adapters.frame_columns(frame, _wanted(variables, only)), variables, unseen)

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[Any, Any],
        variables: Iterable[Variable] | None = None,
        unseen: Unseen = "missing",
        *,
        only: Iterable[str] | None = None,
    ) -> Table:
        """Make a table from a mapping of names to columns.

        Parameters
        ----------
        columns : mapping from name to list, array or series
            The columns, all of the same length.
        variables : iterable of Variable, optional
            Code against these variables, in this order; other columns are ignored.
        unseen : {"missing", "error"}
            Whether a value that is none of the states of ``variables`` is taken as missing, with one warning, or
            refused.
        only : iterable of str, optional
            Without ``variables``: the columns to code, in this order; the others are not read.

        Examples
        --------
        >>> import bntk
        >>> bntk.Table.from_columns({"a": [1, 2, 1], "b": ["x", "y", "z"]}).cards
        array([2, 3])
        """
        from bntk.data import columns as adapters

        variables = None if variables is None else checked_variables(variables)
        return cls._from_coded(adapters.mapping_columns(columns, _wanted(variables, only)), variables, unseen)

    @classmethod
    def from_numpy(
        cls,
        array: np.ndarray,
        names: Iterable[str] | None = None,
        variables: Iterable[Variable] | None = None,
        unseen: Unseen = "missing",
    ) -> Table:
        """Make a table from a numpy array.

        Parameters
        ----------
        array : array of shape (n_rows, n_columns)
            One case per row.
        names : iterable of str, optional
            The names of the columns; by default those of ``variables``.
        variables : iterable of Variable, optional
            Code against these variables, in this order; other columns are ignored.
        unseen : {"missing", "error"}
            Whether a value that is none of the states of ``variables`` is taken as missing, with one warning, or
            refused.

        Examples
        --------
        >>> import bntk, numpy as np
        >>> bntk.Table.from_numpy(np.array([[0, 5], [1, 7]]), names=["a", "b"]).variables
        (Variable('a', [0, 1]), Variable('b', [5, 7]))
        """
        variables = None if variables is None else checked_variables(variables)
        if names is None:
            if variables is None:
                raise DataError('a numpy array has no column names; give them, as in names=["a", "b"]')
            names = _names(variables) or []
        names = _checking.several("names", names, error=DataError)
        array = np.asarray(array)
        if array.ndim != 2 or array.shape[1] != len(names):
            raise DataError(
                f"the array must have the shape (n_rows, {len(names)}), one column for each name; it has {array.shape}"
            )
        _check_names(names)
        return cls.from_columns(dict(zip(names, array.T, strict=True)), variables, unseen)

    @classmethod
    def _from_coded(cls, columns: Iterable[CodedColumn], variables: Sequence[Variable] | None, unseen: Unseen) -> Table:
        """The one way from labels and codes, of whatever origin, to a table."""
        from bntk.data import coding

        _checking.one_of("unseen", unseen, ("missing", "error"))
        if variables is None:
            rows, variables, sources = coding.settle(columns)
        else:
            _check_names(names_of(variables))
            rows, sources = coding.settle_against(columns, variables, unseen)
        return cls._make(_stack(rows, variables), variables, sources)

    @classmethod
    def concat(cls, tables: Iterable[Table]) -> Table:
        """The rows of several tables with the same variables, one below the other.

        Parameters
        ----------
        tables : iterable of Table
            At least one; all have the same variables.

        Examples
        --------
        >>> import bntk
        >>> table = bntk.Table.from_columns({"a": [1, 2, 1]})
        >>> bntk.Table.concat([table, table]).n_rows
        6
        """
        tables = _checking.several("tables", tables, "Table objects", DataError)
        for table in tables:
            _checking.instance("each of tables", table, Table, error=DataError)
        if not tables:
            raise DataError("there are no tables to put together; give at least one")
        first = tables[0]
        for table in tables[1:]:
            if table.variables != first.variables:
                differing = sorted({v.name for v in set(table.variables) ^ set(first.variables)})
                raise DataError(
                    f"the tables differ in their variables ({', '.join(differing) or 'in their order'}); "
                    "recode them first: table.recode(other.variables)"
                )
        return cls._make(np.concatenate([t.codes for t in tables], axis=1), first.variables, first._sources)

    # ---------------------------------------------------------------- looking

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.codes.shape[1]

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.variables)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in order."""
        return names_of(self.variables)

    @cached_property
    def cards(self) -> np.ndarray:
        """Number of states of each variable."""
        return _frozen(np.array(cards_of(self.variables), dtype=np.int64))

    @cached_property
    def has_missing(self) -> np.ndarray:
        """Whether each variable has missing values."""
        return _frozen(self.codes.max(axis=1, initial=0) == self.cards)

    @cached_property
    def _n_missing(self) -> np.ndarray:
        pairs = zip(self.codes, self.variables, strict=True)
        return np.array([np.count_nonzero(row == v.n_states) for row, v in pairs], dtype=np.int64)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """Position of a variable."""
        position = self._positions.get(name) if isinstance(name, str) else None
        if position is None:
            raise UnknownNameError(
                f"the table has no variable {name!r}{did_you_mean(name, self.names)}"
                f"; it has {format_states(self.names)}"
            )
        return position

    def variable(self, name: str) -> Variable:
        """The variable with this name."""
        return self.variables[self.index(name)]

    def column(self, name: str) -> np.ndarray:
        """Codes of one variable, read-only."""
        return self.codes[self.index(name)]

    def __len__(self) -> int:
        return self.n_rows

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._positions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return self.variables == other.variables and np.array_equal(self.codes, other.codes)

    __hash__ = None  # type: ignore[assignment]  # comparing two tables reads every row

    def __repr__(self) -> str:
        cells = self.codes.size
        missing = f", {100 * self._n_missing.sum() / cells:.1f}% of the cells missing" if self.has_missing.any() else ""
        head = f"Table: {_count(self.n_rows, 'row')} x {_count(self.n_variables, 'variable')}{missing}"
        shown = self.variables[:10]
        width = max((len(v.name) for v in shown), default=0)
        lines = [f"  {v.name:<{width}}  {format_states(v.states, 8)}" for v in shown]
        if len(shown) < self.n_variables:
            lines.append(f"  ... and {self.n_variables - len(shown)} more")
        return "\n".join([head, *lines])

    # ---------------------------------------------------------------- other tables from this one

    def plot(self, names: str | Iterable[str] | None = None, **options: Any) -> Any:
        """Draw the shares of the states of each variable; see :func:`bntk.viz.plot_table`. Returns matplotlib Axes.

        Parameters
        ----------
        names : str or iterable of str, optional
            Which variables; by default the first 60.
        **options
            ``ax``, ``title``, ``figsize`` and ``font_size``, as in :func:`bntk.viz.plot_table`.
        """
        from bntk.viz.columns import plot_table

        return plot_table(self, names, **options)

    def _repr_svg_(self) -> str | None:
        from bntk.viz.notebook import table_svg

        return table_svg(self)

    def select(self, names: Iterable[str]) -> Table:
        """The table of some of the variables, in this order.

        Parameters
        ----------
        names : iterable of str
            The variables to keep.

        Examples
        --------
        >>> import bntk
        >>> bntk.Table.from_columns({"a": [1, 2], "b": [3, 4]}).select(["b"]).names
        ('b',)
        """
        at = [self.index(name) for name in _checking.names("names", names, error=DataError)]
        variables = [self.variables[i] for i in at]
        _check_names([variable.name for variable in variables])
        if at == list(range(len(at))):
            codes = self.codes[: len(at)]
        else:
            codes = self.codes[at]
        codes = np.ascontiguousarray(codes, dtype=code_dtype(variables))
        return Table._make(codes, variables, [self._sources[i] for i in at])

    def take(self, rows: np.ndarray | slice | Sequence[int] | Sequence[bool]) -> Table:
        """The table of some of the rows.

        Parameters
        ----------
        rows : sequence of int, slice, or sequence of bool
            Positions of the rows, a slice, or a mask with one boolean per row.

        Examples
        --------
        >>> import bntk
        >>> table = bntk.Table.from_columns({"a": [1, 2, 3]})
        >>> table.take([2, 0]).codes, table.take(slice(1)).n_rows
        (array([[2, 0]], dtype=uint8), 1)
        """
        if isinstance(rows, slice):
            return Table._make(np.ascontiguousarray(self.codes[:, rows]), self.variables, self._sources)
        chosen = _positions(rows)
        if chosen.size == 0 and chosen.dtype.kind == "f":  # an empty list
            chosen = chosen.astype(np.intp)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iub":
            raise DataError("rows must be a list of positions, a slice, or a mask of booleans")
        if chosen.dtype.kind == "b":
            if len(chosen) != self.n_rows:
                raise DataError(f"the mask has {len(chosen)} entries, the table {_count(self.n_rows, 'row')}")
            chosen = np.flatnonzero(chosen)
        elif chosen.size and (chosen.max() >= self.n_rows or chosen.min() < -self.n_rows):
            raise DataError(
                f"there are {_count(self.n_rows, 'row')}, so that row {chosen.max()} or {chosen.min()} does not exist"
            )
        return Table._make(np.take(self.codes, chosen, axis=1), self.variables, self._sources)

    def complete_rows(self) -> np.ndarray:
        """Mask of the rows without missing values."""
        complete = np.ones(self.n_rows, dtype=bool)
        for i in np.flatnonzero(self.has_missing):
            complete &= self.codes[i] != self.variables[i].n_states
        return complete

    def drop_missing(self) -> Table:
        """The table of the rows without missing values; the table itself when there are none.

        Examples
        --------
        >>> import bntk
        >>> bntk.Table.from_columns({"a": [1, None, 2], "b": ["x", "y", "z"]}).drop_missing().n_rows
        2
        """
        return self.take(self.complete_rows()) if self.has_missing.any() else self

    def recode(self, variables: Iterable[Variable], unseen: Unseen = "missing") -> Table:
        """The same rows coded against other variables, matched by name; other columns are dropped.

        Parameters
        ----------
        variables : iterable of Variable
            The variables of the result, in this order.
        unseen : {"missing", "error"}
            Whether a value that is none of the states of ``variables`` is taken as missing, with one warning, or
            refused.

        Examples
        --------
        >>> import bntk
        >>> table = bntk.Table.from_columns({"a": [1, 2, 1]})
        >>> table.recode([bntk.Variable("a", ["2", "1"])]).codes
        array([[1, 0, 1]], dtype=uint8)
        """
        from bntk.data import coding

        variables = checked_variables(variables)
        _checking.one_of("unseen", unseen, ("missing", "error"))
        if variables == self.variables:
            return self
        missing = [variable.name for variable in variables if variable.name not in self]
        if missing:
            raise coding.lacking_columns(missing, self.names)
        columns = (self._coded(self.index(variable.name)) for variable in variables)
        return Table._from_coded(columns, variables, unseen)

    def _coded(self, position: int) -> CodedColumn:
        from bntk.data.coding import CodedColumn

        variable = self.variables[position]
        labels = [*variable.states, None]
        return CodedColumn(variable.name, labels, self.codes[position], source=self._sources[position])

    def coded_columns(self) -> list[tuple[str, CodedColumn]]:
        """The name of each column, and the column with its labels and codes."""
        from dataclasses import replace

        declared = [replace(self._coded(i), declared=True, ordered=v.ordered) for i, v in enumerate(self.variables)]
        return list(zip(self.names, declared, strict=True))

    def require_rows(self) -> Table:
        """The table itself; an error when it has no rows."""
        if self.n_rows == 0:
            raise DataError("the data has no rows; at least one is needed")
        return self

    def to_pandas(self) -> pd.DataFrame:
        """A pandas data frame with the labels.

        A column that came from pandas gets its dtype back; others become categorical, with all states.

        Examples
        --------
        >>> import bntk
        >>> bntk.Table.from_columns({"a": ["x", None], "b": [True, False]}).to_pandas()
             a      b
        0    x   True
        1  NaN  False
        """
        import pandas as pd

        from bntk.data.columns import decode

        parts = zip(self.variables, self.codes, self._sources, strict=True)
        columns = {v.name: decode(v, codes, source) for v, codes, source in parts}
        return pd.DataFrame(columns, index=pd.RangeIndex(self.n_rows), copy=False)


def as_table(
    data: Any,
    variables: Iterable[Variable] | None = None,
    unseen: Unseen = "missing",
    *,
    only: Iterable[str] | None = None,
    require_rows: bool = False,
    reading: Reading | None = None,
    weights: Any = None,
) -> Table:
    """Data of any kind as a table. All functions that learn or predict take their data through it.

    Parameters
    ----------
    data : Table, pandas, polars or pyarrow data frame, or mapping from names to columns
        A numpy array will do as well when ``variables`` names its columns.
    variables : iterable of Variable, optional
        Code against these variables, in this order; other columns are ignored.
    unseen : {"missing", "error"}
        Whether a value that is none of the known states is taken as missing, with one warning, or refused.
    only : iterable of str, optional
        Without ``variables``: the columns to code, in this order; the others are not read.
    require_rows : bool
        Refuse data without rows.
    reading : Reading, optional
        Without ``variables``: how columns of numbers become states. By default each number is one.
    weights : array_like, optional
        With ``reading``: one number per row, for cuts by the number of rows.

    Examples
    --------
    >>> as_table({"a": [1, 2, 1]}).n_rows
    3
    """
    variables = None if variables is None else checked_variables(variables)
    only = None if only is None else list(only)
    if is_dask_frame(data):
        raise DataError(
            "this takes rows in memory, not a Dask DataFrame: give it data.compute(), or one partition after the other"
        )
    if isinstance(data, Table) and (variables is not None or reading is None or reading.leaves_tables):
        table = _select(data, only) if variables is None else data.recode(variables, unseen)
    elif variables is None and reading is not None and not isinstance(data, np.ndarray):
        from bntk.data.columns import columns_of, wanted_columns

        table = reading.table(wanted_columns(columns_of(data), only), weights)
    elif isinstance(data, Mapping):
        table = Table.from_columns(data, variables, unseen, only=only)
    elif isinstance(data, np.ndarray):
        if variables is None:
            raise DataError('a numpy array has no column names; use bntk.Table.from_numpy(array, names=["a", "b"])')
        table = Table.from_numpy(data, None, variables, unseen)
    else:
        table = Table.from_frame(data, variables, unseen, only=only)
    return table.require_rows() if require_rows else table


def column_names(data: Any) -> list[str] | None:
    """The names of the columns of data of any kind, in order; None where it has none, as a numpy array.

    Examples
    --------
    >>> column_names({"a": [1, 2], "b": [3, 4]})
    ['a', 'b']
    """
    if isinstance(data, Table):
        return list(data.names)
    if isinstance(data, Mapping):
        return [str(name) for name in data]
    if isinstance(data, np.ndarray):
        return None
    import narwhals as nw

    try:
        return [str(name) for name in nw.from_native(data).collect_schema().names()]
    except TypeError:
        return None  # as_table says what it can take


def code_dtype(variables: Iterable[Variable]) -> np.dtype:
    """The smallest unsigned type that holds every code of these variables and the code of a missing cell."""
    return np.min_scalar_type(max(cards_of(variables), default=0))


def _stack(rows: Sequence[np.ndarray], variables: Sequence[Variable]) -> np.ndarray:
    """Rows of codes as one array; without a copy when they are the rows of one already."""
    n_rows, dtype = (len(rows[0]) if rows else 0), code_dtype(variables)
    whole = rows[0].base if rows else None
    if isinstance(whole, np.ndarray) and whole.shape == (len(rows), n_rows) and whole.dtype == dtype:
        addresses = [row.__array_interface__["data"][0] for row in rows]
        if addresses == [row.__array_interface__["data"][0] for row in whole] and whole.flags.c_contiguous:
            return whole
    codes = np.empty((len(variables), n_rows), dtype=dtype)
    for target, row in zip(codes, rows, strict=True):
        target[:] = row
    return codes


def _check_codes(codes: np.ndarray, variables: Sequence[Variable]) -> None:
    for row, variable in zip(codes, variables, strict=True):
        if row.size == 0:
            continue
        lowest, highest = int(row.min()), int(row.max())
        if lowest < 0 or highest > variable.n_states:
            wrong = lowest if lowest < 0 else highest
            raise DataError(
                f"variable {variable.name!r}: code {wrong} in row {int(np.argmax(row == wrong))}; codes go from 0 to "
                f"{variable.n_states - 1}, and {variable.n_states} marks a missing cell"
            )


def _select(table: Table, only: list[str] | None) -> Table:
    if only is None or tuple(only) == table.names:
        return table
    lacking = [name for name in only if name not in table]
    if lacking:
        from bntk.data.coding import lacking_columns

        raise lacking_columns(lacking, table.names)
    return table.select(only)


def _names(variables: Sequence[Variable] | None) -> list[str] | None:
    return None if variables is None else list(names_of(variables))


def _wanted(variables: Sequence[Variable] | None, only: Iterable[str] | None) -> list[str] | None:
    """The columns to take, in order, or None for all."""
    return _names(variables) or (None if only is None else _checking.names("only", only, error=DataError))


def _positions(rows: Any) -> np.ndarray:
    try:
        return np.asarray(rows)
    except ValueError:  # lists of different lengths
        raise DataError(f"rows must be a list of positions, not {_checking.shown(rows)}") from None


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise DataError(f"a variable is named by a string; got {_checking.shown(name)}")
    if len({*names}) == len(names):
        return
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"the name {name!r} is used twice; every variable needs a name of its own")
        seen.add(name)


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _rebuild(codes: np.ndarray, variables: tuple[Variable, ...], sources: tuple[Any, ...]) -> Table:
    return Table._make(codes, variables, sources)

"""Columns of pandas, polars, pyarrow and plain Python as labels and codes, and back to pandas.

Each library has its own fast way to code a column; narwhals tells them apart without importing any of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bntk import _checking
from bntk.data.coding import CodedColumn, check_column_names, lacking_columns
from bntk.data.table import Table
from bntk.data.variable import Variable, is_missing
from bntk.errors import DataError

_MOST_OFFSETS = 1024  # whole numbers within so narrow a range are coded by subtraction


class Objects(NamedTuple):
    """The source of a pandas column of objects: how it writes a missing cell (None, NaN ...)."""

    missing: Any


class Texts(NamedTuple):
    """A column of Arrow whose dictionary only abbreviates texts: it declares no states."""

    column: Any


def named_for_sklearn(frame: Any) -> Any:
    """A data frame in which each version of scikit-learn finds the names of the columns.

    Versions differ in the frames of other packages whose names they know: these become one of pandas without rows.
    """
    import narwhals as nw

    if nw.dependencies.is_pandas_dataframe(frame):
        return frame
    import pandas as pd

    return pd.DataFrame(columns=nw.from_native(frame, eager_only=True).columns)


def frame_columns(frame: Any, wanted: Sequence[str] | None = None) -> Iterator[CodedColumn]:
    """The columns of a data frame, coded, in the order of ``wanted`` when given."""
    return _coded(columns_of_frame(frame), wanted)


def mapping_columns(columns: Mapping[Any, Any], wanted: Sequence[str] | None = None) -> Iterator[CodedColumn]:
    """The columns of a mapping, coded, in the order of ``wanted`` when given."""
    given = _checking.mapping("columns", columns, "{name: values}", DataError)
    return _coded([(str(name), values) for name, values in given.items()], wanted)


def _coded(columns: list[tuple[str, Any]], wanted: Sequence[str] | None) -> Iterator[CodedColumn]:
    coded: list[tuple[str, CodedColumn]] = []
    for name, column in wanted_columns(columns, wanted):
        coded.append((name, code_column(name, column)))
        check_same_length(coded[:1], coded[-1:])
        yield coded[-1][1]


def wanted_columns(columns: Sequence[tuple[str, Any]], wanted: Sequence[str] | None) -> list[tuple[str, Any]]:
    """These columns in this order, or all; each has a name of its own, and there is at least one."""
    names = [name for name, _ in columns]
    check_column_names(names)
    by_name = dict(columns)
    if wanted is not None:
        lacking = [name for name in wanted if name not in by_name]
        if lacking:
            raise lacking_columns(lacking, names)
        names = list(wanted)
    if not names:
        raise DataError("the data has no columns; at least one is needed")
    return [(name, by_name[name]) for name in names]


def check_same_length(first: Sequence[tuple[str, Any]], others: Sequence[tuple[str, Any]]) -> None:
    """Refuse columns that have not as many rows as the first."""
    for name, column in first:
        for other, rest in others:
            n, m = n_rows_of(column), n_rows_of(rest)
            if n != m:
                raise DataError(
                    f"column {name!r} has {n:,} rows, but column {other!r} has {m:,}; all columns need the same number"
                )


def n_rows_of(column: Any) -> int:
    """The number of rows of a column."""
    if isinstance(column, Texts):
        return len(column.column)
    return len(column.codes if isinstance(column, CodedColumn) else column)


def columns_of(data: Any, names: Sequence[str] | None = None) -> list[tuple[str, Any]]:
    """The names and native columns of data; those of an array are ``x0``, ``x1`` ..., or as given."""
    if isinstance(data, Table):
        columns: list[tuple[str, Any]] = list(data.coded_columns())
    elif isinstance(data, Mapping):
        columns = [(str(name), column) for name, column in data.items()]
    elif isinstance(data, np.ndarray):
        columns = list(zip(names or [f"x{i}" for i in range(data.shape[1])], data.T, strict=True))
    else:
        columns = columns_of_frame(data)
    check_column_names([name for name, _ in columns])
    return columns


def columns_of_frame(frame: Any) -> list[tuple[str, Any]]:
    """Names and native columns of any data frame that narwhals recognises."""
    import narwhals as nw

    dependencies = nw.dependencies
    if dependencies.is_pandas_dataframe(frame):
        return [(str(name), series) for name, series in frame.items()]
    if dependencies.is_polars_lazyframe(frame):
        frame = frame.collect()
    if dependencies.is_polars_dataframe(frame):
        return [(series.name, series) for series in frame.get_columns()]
    if dependencies.is_pyarrow_table(frame):
        return list(zip(map(str, frame.column_names), frame.columns, strict=True))
    refuse_rows_elsewhere(frame)
    try:
        known = nw.from_native(frame, eager_only=True)
    except TypeError:
        is_path = isinstance(frame, (str, os.PathLike))
        hint = "read a file with bntk.read_table" if is_path else "give a pandas, polars or pyarrow data frame"
        raise DataError(
            f"cannot take {type(frame).__name__} for data; {hint}, or a dict of columns to Table.from_columns"
        ) from None
    return columns_of_frame(known.to_pandas())


def refuse_rows_elsewhere(data: Any) -> None:
    """Refuse rows that are read in passes, where they are needed in memory."""
    if hasattr(data, "summary") and hasattr(data, "reduce") and hasattr(data, "counter"):
        raise DataError(
            f"this looks at single rows, and a {type(data).__name__} does not keep them in memory; what can be learned "
            "in passes is bntk.learn, bntk.fit, bntk.fit_em, and classifiers such as NaiveBayes, TAN, KDB and AODE; or "
            "read the rows batch by batch, or into memory (bntk.read_table)"
        )


def code_column(name: str, column: Any) -> CodedColumn:
    """One column of any kind, coded."""
    if isinstance(column, CodedColumn):
        return column
    if isinstance(column, Texts):
        return code_arrow(name, column.column, declared=False)
    if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "iu":
        return CodedColumn(name, *code_integers(np.ascontiguousarray(column)), source=column.dtype)
    library = _library(column)
    if library == "polars":
        return code_polars(name, column)
    return code_arrow(name, column) if library == "pyarrow" else code_pandas(name, column)


def _library(column: Any) -> str:
    """Where the type of a column is from."""
    return type(column).__module__.partition(".")[0]


def numbers_of(column: Any) -> np.ndarray | None:
    """A column of numbers as floats, missing values NaN; None for a column of anything else (truth values, too)."""
    if isinstance(column, Texts):
        return None
    if isinstance(column, CodedColumn):
        column = np.append(np.array(column.labels, dtype=object), np.nan)[column.codes.astype(np.intp)]
    library = _library(column)
    if library == "polars":
        return column.cast(float).to_numpy() if column.dtype.is_numeric() else None
    if library == "pyarrow":
        import pyarrow as pa

        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            return None
        return np.asarray(column.cast("float64", safe=False).to_numpy(), dtype=np.float64)
    return _numbers_of_pandas(column)


def _numbers_of_pandas(column: Any) -> np.ndarray | None:
    import pandas as pd

    if isinstance(column, np.ndarray) and column.dtype.kind in "fiu":
        return column.astype(np.float64, copy=False)
    if isinstance(getattr(column, "dtype", None), (pd.CategoricalDtype, pd.StringDtype)):
        return None
    series = pd.Series(column)
    dtype = series.dtype
    if dtype == np.dtype(object):
        if pd.api.types.infer_dtype(series, skipna=True) not in {
            "floating",
            "integer",
            "mixed-integer-float",
            "decimal",
            "empty",  # every cell is missing
        }:
            return None
    elif not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype) or dtype.kind == "c":
        return None
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def nested_values(name: str, example: Any) -> DataError:
    """The error for a column of lists, dicts and the like."""
    return DataError(
        f"column {name!r} holds nested values, such as {example!r}; every cell must be one label: split the column "
        "first"
    )


def code_integers(values: np.ndarray, missing: np.ndarray | None = None) -> tuple[Sequence[Any], np.ndarray]:
    """Labels and codes of whole numbers; where ``missing`` is true, the cell is missing."""
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    labels: list[Any]
    if high - low < _MOST_OFFSETS:
        # Differences are right modulo the width of the type, whatever its sign.
        offsets = (values - values.dtype.type(low)).view(f"u{values.dtype.itemsize}")
        codes = offsets.astype(np.min_scalar_type(high - low + 1))
        labels = list(range(low, high + 1))
    else:
        import pandas as pd

        codes, distinct = pd.factorize(values)
        labels = list(distinct)
    if missing is not None and missing.any():
        codes[missing] = len(labels)
        labels.append(None)
    return labels, codes


# -------------------------------------------------------------------- pandas


def code_pandas(name: str, column: Any) -> CodedColumn:
    """A pandas series, or anything that pandas can make one of."""
    import pandas as pd

    series = column if isinstance(column, pd.Series) else _as_series(name, column)
    dtype = series.dtype
    if not hasattr(column, "dtype"):  # plain Python: values as they are, not as floats because one is missing
        series = pd.Series(column, dtype=object)
        return CodedColumn(name, *_code_any(name, series), all_used=True, source=dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        codes: np.ndarray = series.array.codes  # type: ignore[union-attr]
        return CodedColumn(name, list(dtype.categories), codes, True, bool(dtype.ordered), source=dtype)
    if pd.api.types.is_integer_dtype(dtype):
        labels, codes = _code_pandas_integers(series)
        return CodedColumn(name, labels, codes, source=dtype)
    if dtype == np.dtype(bool):
        return CodedColumn(name, [False, True], series.to_numpy().view(np.uint8), source=dtype)
    labels, codes = _code_any(name, series)
    missing = np.flatnonzero(codes < 0)
    if dtype == np.dtype(object) and missing.size:
        return CodedColumn(name, labels, codes, all_used=True, source=Objects(series.iloc[missing[0]]))
    return CodedColumn(name, labels, codes, all_used=True, source=dtype)


def _code_any(name: str, series: Any) -> tuple[list[Any], np.ndarray]:
    import pandas as pd

    try:
        codes, distinct = pd.factorize(series)
    except (TypeError, NotImplementedError):
        raise nested_values(name, series.iloc[0]) from None
    labels = list(distinct)
    if series.dtype == np.dtype(object) and any(type(label) is not str and label in (0, 1) for label in labels):
        _refuse_mixed_truth_values(name, series)
    return labels, codes


def _refuse_mixed_truth_values(name: str, series: Any) -> None:
    """Refuse a column with both True and 1, or False and 0: they are equal, so that they would be one state."""
    for truth in (True, False):
        equal = [value for value in series if type(value) is not str and not is_missing(value) and value == truth]
        if len({isinstance(value, (bool, np.bool_)) for value in equal}) > 1:
            raise DataError(
                f"column {name!r} holds both {truth} and {int(truth)}, which are equal in Python and would be one "
                'state: write them as text, such as "True" and "1", or use one of the two'
            )


def _as_series(name: str, column: Any) -> Any:
    import pandas as pd

    if isinstance(column, (str, bytes, set, frozenset)) or not hasattr(column, "__len__"):
        raise DataError(f"column {name!r} must be a list, an array or a series, not {type(column).__name__}")
    if isinstance(column, np.ndarray) and column.ndim != 1:
        raise DataError(f"column {name!r} must have one dimension; it has the shape {column.shape}")
    return pd.Series(column)


def _code_pandas_integers(series: Any) -> tuple[Sequence[Any], np.ndarray]:
    if isinstance(series.dtype, np.dtype):
        return code_integers(series.to_numpy())
    dtype = getattr(series.dtype, "numpy_dtype", np.dtype(np.int64))  # Int64 and the like
    return code_integers(series.to_numpy(dtype=dtype, na_value=0), series.isna().to_numpy())


def decode(variable: Variable, codes: np.ndarray, source: Any) -> Any:
    """Labels as a pandas array: of the source dtype where that can hold every state, else categorical."""
    import pandas as pd

    positions = codes.astype(np.int64)
    positions[codes == variable.n_states] = -1
    if isinstance(source, pd.CategoricalDtype):
        categories = Variable(variable.name, source.categories)
        places = [categories.find(state) for state in variable.states]
        if None not in places:
            return pd.Categorical.from_codes(np.array([*places, -1])[positions], dtype=source)
    elif isinstance(source, Objects):
        labels = pd.Series([*variable.states, source.missing], dtype=object)
        return labels.iloc[positions].reset_index(drop=True)  # -1 is the last one
    elif source is not None:
        missing = bool((positions < 0).any())
        labels = _labels_as(variable, source, missing)
        if labels is not None:
            taken = labels.take(positions, allow_fill=missing)
            return pd.Series(taken, dtype=labels.dtype, copy=False)  # an array of objects might be taken for text
    states = state_index(variable)
    return pd.Categorical.from_codes(positions, states, ordered=variable.ordered)


def state_index(variable: Variable) -> Any:
    """The states of a variable as a pandas index with its name; tuples stay what they are."""
    import pandas as pd

    states: Any = list(variable.states)
    if any(isinstance(state, tuple) for state in states):
        states = np.empty(variable.n_states, dtype=object)
        for place, state in enumerate(variable.states):
            states[place] = state
    return pd.Index(states, name=variable.name, tupleize_cols=False)


def tidy_frame(variables: Sequence[Variable], values: np.ndarray) -> Any:
    """A data frame with one row per entry of a table: a column per variable, and the entry."""
    import pandas as pd

    codes = np.indices(values.shape).reshape(values.ndim, -1)
    columns: dict[str, Any] = {
        v.name: pd.Categorical.from_codes(c, categories=state_index(v).rename(None), ordered=v.ordered)
        for v, c in zip(variables, codes, strict=True)
    }
    return pd.DataFrame({**columns, entry_name(variables): values.ravel()})


def entry_name(variables: Sequence[Variable]) -> str:
    """The name of the column of probabilities: ``p``, unless a variable has this name, and then ``p_``."""
    name = "p"
    while any(variable.name == name for variable in variables):
        name += "_"
    return name


def _labels_as(variable: Variable, dtype: Any, missing: bool) -> Any:
    """The states as a pandas array of this dtype, or None when it cannot hold them."""
    import pandas as pd

    if missing and isinstance(dtype, np.dtype) and dtype.kind in "iub":
        dtype = "boolean" if dtype.kind == "b" else "Int64"
    try:
        labels = pd.Series(list(variable.states), dtype=dtype).array
        same = all(label == state for label, state in zip(labels, variable.states, strict=True))
    except (TypeError, ValueError, OverflowError):
        return None
    return labels if same else None


# -------------------------------------------------------------------- polars


def code_polars(name: str, series: Any) -> CodedColumn:
    """A polars series."""
    import polars as pl

    dtype = series.dtype
    if dtype.is_nested() or dtype == pl.Object:
        raise nested_values(name, series.to_list()[0] if len(series) else dtype)
    if isinstance(dtype, pl.Enum):
        return CodedColumn(name, *_code_enum(series), declared=True, ordered=True)
    if dtype == pl.String:  # an Enum of the values seen looks up each cell once
        return CodedColumn(name, *_code_enum(series.cast(pl.Enum(series.unique().drop_nulls()))), all_used=True)
    if dtype == pl.Categorical:  # its categories belong to a pool shared with other columns
        return code_polars(name, series.cast(pl.String))
    if dtype.is_integer():
        return CodedColumn(name, *code_integers(*_polars_codes(series)))
    if dtype == pl.Boolean:
        labels, codes = code_integers(*_polars_codes(series.cast(pl.UInt8)))
        return CodedColumn(name, [None if label is None else bool(label) for label in labels], codes)
    if dtype.is_float():
        return code_pandas(name, series.to_numpy())
    return code_pandas(name, series.to_list())


def _polars_codes(series: Any) -> tuple[np.ndarray, np.ndarray]:
    missing = series.is_null().to_numpy()
    return series.fill_null(0).to_numpy(), missing


def _code_enum(series: Any) -> tuple[list[Any], np.ndarray]:
    labels = series.dtype.categories.to_list()
    codes, missing = _polars_codes(series.to_physical())
    if missing.any():
        codes = codes.astype(np.min_scalar_type(len(labels)))
        codes[missing] = len(labels)
        labels.append(None)
    return labels, codes


# -------------------------------------------------------------------- pyarrow


def code_arrow(name: str, column: Any, declared: bool = True) -> CodedColumn:
    """A pyarrow array; ``declared`` says whether the values of a dictionary are the states, in order."""
    import pyarrow as pa

    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    kind = column.type
    if pa.types.is_nested(kind):
        raise nested_values(name, column[0].as_py() if len(column) else kind)
    if pa.types.is_integer(kind):
        missing = column.is_null().to_numpy()
        return CodedColumn(name, *code_integers(column.fill_null(0).to_numpy(), missing))
    is_dictionary = pa.types.is_dictionary(kind)
    if not is_dictionary:
        try:
            column = column.dictionary_encode()
        except (NotImplementedError, pa.ArrowInvalid):
            return code_pandas(name, column.to_pylist())
    labels, codes = _arrow_dictionary(column)
    if is_dictionary:
        return CodedColumn(name, labels, codes, declared, bool(kind.ordered))
    return CodedColumn(name, labels, codes, all_used=True)


#: Signed types that hold all numbers of an unsigned one.
_SIGNED = {"int8": "int16", "int16": "int32", "int32": "int64", "int64": "int64"}


def _arrow_dictionary(column: Any) -> tuple[list[Any], np.ndarray]:
    """Labels and codes of a dictionary-encoded column, whose chunks may have different dictionaries."""
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return [], np.empty(0, dtype=np.int64)
    indices = [_arrow_indices(chunk.indices) for chunk in column.chunks]
    return column.chunk(0).dictionary.to_pylist(), indices[0] if len(indices) == 1 else np.concatenate(indices)


def _arrow_indices(indices: Any) -> np.ndarray:
    """Indices into a dictionary, -1 where there is none; without a copy where none is missing."""
    if indices.null_count:
        wider = str(indices.type)[1:] if str(indices.type)[:1] == "u" else None
        indices = (indices if wider is None else indices.cast(_SIGNED[wider])).fill_null(-1)
    found: np.ndarray = indices.to_numpy(zero_copy_only=False)
    return found

"""Frames of every library give the same table, and pandas frames come back as they were."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bntk import Table, Variable
from bntk.data.table import as_table
from bntk.errors import DataError, UnseenStateWarning

words = st.text(st.characters(codec="utf-8"), max_size=5)
COLUMN_KINDS = {
    "int64": st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1) | st.integers(2**64 - 4, 2**64 - 1),
    "int8": st.integers(-128, 127),
    "Int64": st.none() | st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
    "UInt8": st.none() | st.integers(0, 255),
    "bool": st.booleans(),
    "boolean": st.none() | st.booleans(),
    "float64": st.floats(allow_nan=True),
    "float32": st.floats(width=32, allow_nan=True),
    "Float64": st.none() | st.floats(allow_nan=False),
    "object": st.none() | words | st.integers(2, 99),
    "str": st.none() | words,
    "string": st.none() | words,
    "datetime64[ns]": st.none() | st.datetimes(datetime.datetime(1990, 1, 1), datetime.datetime(2050, 1, 1)),
}


def is_blank(series):
    return series.isna().all() and not isinstance(series.dtype, pd.CategoricalDtype)


@st.composite
def frames(draw):
    n_rows = draw(st.integers(1, 8))
    columns = {}
    for name in draw(st.lists(st.text("abcdef", min_size=1), min_size=1, max_size=4, unique=True)):
        kind = draw(st.sampled_from([*COLUMN_KINDS, "category"]))
        if kind == "category":
            categories = draw(st.lists(words, min_size=1, max_size=4, unique=True))
            values = draw(st.lists(st.none() | st.sampled_from(categories), min_size=n_rows, max_size=n_rows))
            columns[name] = pd.Series(pd.Categorical(values, categories, ordered=draw(st.booleans())))
        else:
            values = draw(st.lists(COLUMN_KINDS[kind], min_size=n_rows, max_size=n_rows))
            columns[name] = pd.Series(values, dtype=kind)
        if is_blank(columns[name]):
            del columns[name]
    if not columns:
        columns["x"] = pd.Series(range(n_rows))
    return pd.DataFrame(columns)


@given(frames())
def test_a_pandas_frame_comes_back_as_it_was(frame):
    pd.testing.assert_frame_equal(Table.from_frame(frame).to_pandas(), frame)


@given(frames(), st.data())
def test_permuting_columns_permutes_codes(frame, data):
    order = data.draw(st.permutations(list(frame.columns)))
    assert Table.from_frame(frame[order]) == Table.from_frame(frame).select(order)


@given(frames(), st.data())
def test_known_variables_give_the_same_codes_for_any_rows(frame, data):
    table = Table.from_frame(frame)
    rows = data.draw(st.lists(st.integers(0, len(frame) - 1), max_size=6))
    part = as_table(frame.iloc[rows], table.variables, unseen="error")
    assert part == table.take(np.array(rows, dtype=int))
    pd.testing.assert_frame_equal(part.to_pandas(), frame.iloc[rows].reset_index(drop=True))


common_columns = st.one_of(
    *(
        st.lists(st.none() | values, min_size=5, max_size=5)
        for values in (words, st.integers(-5, 5), st.integers(-(2**62), 2**62), st.booleans(), st.floats(-9, 9))
    ),
).filter(lambda values: any(value is not None for value in values))


@given(st.lists(common_columns, min_size=1, max_size=3))
@settings(max_examples=60)
def test_pandas_polars_pyarrow_and_a_dict_agree(columns):
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    data = {f"c{i}": values for i, values in enumerate(columns)}
    table = as_table(data)
    arrow = pa.table(data)
    for frame in (
        pl.DataFrame(data),
        pl.DataFrame(data).lazy(),
        arrow,
        pa.concat_tables([arrow.slice(0, 2), arrow.slice(2)]),
        arrow.to_pandas(types_mapper=pd.ArrowDtype),
    ):
        again = as_table(frame)
        assert again.codes.tolist() == table.codes.tolist()
        assert [v.states for v in again.variables] == [v.states for v in table.variables]
        assert again.recode(table.variables, unseen="error") == table


def test_labels_are_plain_python_values():
    table = as_table(pd.DataFrame({"i": [1, 2], "f": [0.5, 1.5], "b": [True, False], "s": ["x", "y"]}))
    assert [type(v.states[0]) for v in table.variables] == [int, float, bool, str]


def test_declared_states_are_kept_in_order_whether_seen_or_not():
    sizes = ["small", "large", "huge"]
    column = pd.Categorical(["large", None], sizes, ordered=True)
    [variable] = as_table(pd.DataFrame({"size": column})).variables
    assert variable == Variable("size", sizes, ordered=True)
    pl = pytest.importorskip("polars")
    enum = pl.DataFrame({"size": pl.Series(["large", None], dtype=pl.Enum(sizes))})
    assert as_table(enum).variables == (Variable("size", sizes, ordered=True),)  # an Enum compares by its order
    assert as_table(enum).codes.tolist() == [[1, 3]]
    pa = pytest.importorskip("pyarrow")
    arrow = pa.table({"size": pa.DictionaryArray.from_arrays([1, None], sizes, ordered=True)})
    assert as_table(arrow).variables == (variable,)
    assert as_table(arrow).codes.tolist() == [[1, 3]]


def test_a_polars_categorical_declares_no_order():
    pl = pytest.importorskip("polars")
    pl.Series(["unrelated", "z", "b"], dtype=pl.Categorical)
    frame = pl.DataFrame({"x": pl.Series(["b10", None, "b9"], dtype=pl.Categorical)})
    assert as_table(frame).variables == (Variable("x", ["b9", "b10"]),)


def test_arrow_dictionaries_may_differ_between_chunks_and_hold_nulls():
    pa = pytest.importorskip("pyarrow")
    first = pa.DictionaryArray.from_arrays([0, 1], ["a", "b"])
    second = pa.DictionaryArray.from_arrays([0, 1, None], ["b", "c"])
    table = as_table(pa.table({"x": pa.chunked_array([first, second])}))
    assert table.variables[0].states == ("a", "b", "c")
    assert table.codes.tolist() == [[0, 1, 1, 2, 3]]


def test_dates_and_intervals_are_labels_too():
    days = [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1), None]
    assert as_table({"day": days}).codes.tolist() == [[1, 0, 2]]
    ages = pd.DataFrame({"age": pd.cut([1, 50, 99], [0, 18, 65, 120])})
    assert as_table(ages).cards.tolist() == [3]
    pd.testing.assert_frame_equal(as_table(ages).to_pandas(), ages)
    pl = pytest.importorskip("polars")
    assert as_table(pl.DataFrame({"day": days})).codes.tolist() == [[1, 0, 2]]


def test_names_that_are_numbers_become_text():
    assert as_table(pd.DataFrame([[1, 2]])).names == ("0", "1")


def test_a_whole_number_column_with_new_missing_cells_stays_whole():
    known = as_table({"n": np.array([1, 2]), "b": np.array([True, False])}).variables
    with pytest.warns(UnseenStateWarning):
        back = as_table(pd.DataFrame({"n": [1, 3], "b": [True, True]}), known).to_pandas()
    assert str(back["n"].dtype) == "Int64"
    assert back["n"].tolist() == [1, pd.NA]


def test_states_that_do_not_fit_the_source_dtype_come_back_as_categories():
    table = as_table(pd.DataFrame({"n": [1, 2]}), [Variable("n", ["1", "2"])])
    assert table.to_pandas()["n"].tolist() == ["1", "2"]
    frame = pd.DataFrame({"n": pd.Categorical([1, 2], [2, 1, 0])})
    assert as_table(frame, [Variable("n", ["1", "2"])]).to_pandas().equals(frame)
    assert as_table(frame, [Variable("n", ["1", "2", "many"])]).to_pandas()["n"].tolist() == ["1", "2"]


def test_pairs_can_be_states():
    table = as_table({"pair": [("a", 1), ("b", 2), None]})
    assert table.variables[0].states == (("a", 1), ("b", 2))
    assert as_table(table.to_pandas()) == table


def test_an_unused_unknown_category_is_no_unseen_state():
    frame = pd.DataFrame({"x": pd.Categorical(["a"], ["a", "b"])})
    assert as_table(frame, [Variable("x", ["a"])]).codes.tolist() == [[0]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": [1, 2], "b": [1]}, "column 'a' has 2 rows, but column 'b' has 1"),
        ({"a": [1], " ": [1]}, "column 2 has no name"),
        ({"1": [1], 1: [1]}, "columns 1 and 2 are both named '1'"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "columns 1 and 2 are both named 'a'"),
        ({}, "no columns"),
        ({"a": [None, None]}, "column 'a' has no states: every cell is missing; drop"),
        ({"a": []}, "column 'a' has no states: there are no rows"),
        ({"a": [[1], [2]]}, r"column 'a' holds nested values, such as \[1\]"),
        ({"a": np.zeros((2, 2))}, r"column 'a' must have one dimension; it has the shape \(2, 2\)"),
        ({"a": "text"}, "column 'a' must be a list"),
        ({"a": np.arange(257) + 0.5}, "column 'a' holds 257 distinct floats.*bntk.Discretizer.*numeric="),
        ({"a": np.arange(70_000)}, "column 'a' holds more than 65,535 distinct values.*identifier"),
        (3, "cannot take int for data; give a pandas"),
        ("x.csv", "cannot take str for data; read a file with bntk.read_table"),
    ],
)
def test_data_that_cannot_be_used_is_refused(data, message):
    with pytest.raises(DataError, match=message):
        as_table(data)


def test_nested_values_are_refused_whatever_the_library():
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    for frame in (pl.DataFrame({"a": [[1], [2]]}), pa.table({"a": [[1], [2]]})):
        with pytest.raises(DataError, match=r"column 'a' holds nested values, such as \[1\]"):
            as_table(frame)


def test_declared_numbers_are_states_however_many():
    values = np.arange(300) + 0.5
    assert as_table(pd.DataFrame({"a": pd.Categorical(values)})).cards.tolist() == [300]


def test_a_million_numbers_are_refused_at_once():
    pl = pytest.importorskip("polars")
    for data in ({"a": np.arange(1e6) + 0.5}, pl.DataFrame({"a": np.arange(1e6) + 0.5})):
        with pytest.raises(DataError, match="column 'a' holds .* distinct floats"):
            as_table(data)


def test_whole_numbers_as_floats_are_measurements_until_declared_to_be_names():
    floats = np.append(np.arange(300.0), np.nan)
    with pytest.raises(DataError, match=r'300 distinct floats.*astype\("Int64"\)'):
        as_table({"a": floats})
    assert as_table({"a": pd.Series(floats).astype("Int64")}).cards.tolist() == [300]
    assert as_table({"a": np.append(np.arange(256.0), np.nan)}).cards.tolist() == [256]


def test_only_the_columns_asked_for_are_looked_at():
    data = {"a": [0, 1], "b": [[1], [2]], "c": ["x", "y"]}
    assert as_table(data, only=["c", "a"]).names == ("c", "a")
    assert as_table(pd.DataFrame(data), only=["a"]) == as_table(
        as_table(pd.DataFrame({"a": [0, 1], "c": [1, 2]})), only=["a"]
    )
    with pytest.raises(DataError, match="no column 'z'"):
        as_table(as_table({"a": [1]}), only=["z"])

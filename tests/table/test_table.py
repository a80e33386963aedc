"""What a table promises whatever it was made from."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bntk import Table, Variable
from bntk.data.table import as_table
from bntk.errors import DataError, UnknownNameError, UnseenStateWarning

LAWN = Table.from_columns({"rain": ["no", "yes", None, "no"], "grass": ["dry", "wet", "wet", None]})


@st.composite
def coded_tables(draw):
    n_rows = draw(st.integers(0, 8))
    cards = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    variables = [Variable(f"v{i}", range(card)) for i, card in enumerate(cards)]
    cell = [st.lists(st.integers(0, card), min_size=n_rows, max_size=n_rows) for card in cards]
    codes = np.array([draw(c) for c in cell], dtype=np.int64).reshape(len(cards), n_rows)
    return Table.from_codes(codes, variables)


def test_a_missing_cell_has_the_code_after_the_last_state():
    assert LAWN.codes.tolist() == [[0, 1, 2, 0], [0, 1, 1, 2]]
    assert LAWN.has_missing.tolist() == [True, True]
    assert LAWN.cards.tolist() == [2, 2]


@pytest.mark.parametrize(("n_states", "dtype"), [(255, "u1"), (256, "u2"), (65_535, "u2")])
def test_codes_have_the_smallest_type_that_holds_the_missing_code_too(n_states, dtype):
    table = Table.from_codes(np.array([[0, n_states]]), [Variable("x", range(n_states))])
    assert table.codes.dtype == np.dtype(dtype)
    assert table.codes.tolist() == [[0, n_states]]


def test_codes_of_the_right_type_are_not_copied():
    codes = np.array([[0, 1], [1, 0]], dtype=np.uint8)
    variables = [Variable("a", ["x", "y"]), Variable("b", ["x", "y"])]
    assert np.shares_memory(Table.from_codes(codes, variables).codes, codes)


def test_a_table_cannot_be_changed():
    with pytest.raises(AttributeError, match="cannot be changed"):
        LAWN.codes = None
    with pytest.raises(ValueError, match="read-only"):
        LAWN.codes[0, 0] = 1
    with pytest.raises(TypeError, match="from_frame"):
        Table()


def test_names_are_looked_up_and_unknown_ones_listed():
    assert (LAWN.index("grass"), LAWN.variable("rain").states) == (1, ("no", "yes"))
    assert "rain" in LAWN
    assert "snow" not in LAWN
    with pytest.raises(UnknownNameError, match=r"'snow'; it has \['rain', 'grass'\]"):
        LAWN.index("snow")


def test_the_repr_says_what_is_in_the_table():
    text = repr(Table.from_codes(np.zeros((12, 1000), int), [Variable(f"v{i}", ["a"]) for i in range(12)]))
    assert text.startswith("Table: 1,000 rows x 12 variables\n  v0  ['a']\n")
    assert text.endswith("... and 2 more")
    assert "25.0% of the cells missing" in repr(LAWN)


@given(coded_tables(), st.data())
def test_selecting_permutes_the_rows_of_codes(table, data):
    order = data.draw(st.permutations(range(table.n_variables)))
    chosen = table.select([table.names[i] for i in order])
    assert chosen.variables == tuple(table.variables[i] for i in order)
    assert np.array_equal(chosen.codes, table.codes[list(order)])
    assert chosen.codes.flags.c_contiguous


@given(coded_tables(), st.data())
def test_a_mask_positions_and_a_slice_take_the_same_rows(table, data):
    stop = data.draw(st.integers(0, table.n_rows))
    by_slice = table.take(slice(stop))
    assert by_slice == table.take(np.arange(table.n_rows) < stop) == table.take(list(range(stop)))
    assert by_slice.codes.flags.c_contiguous


@given(coded_tables(), st.data())
def test_a_table_cut_in_two_and_put_together_is_the_same(table, data):
    at = data.draw(st.integers(0, table.n_rows))
    assert Table.concat([table.take(slice(at)), table.take(slice(at, None))]) == table


@given(coded_tables())
def test_complete_rows_have_no_missing_cell(table):
    complete = table.drop_missing()
    assert not complete.has_missing.any()
    assert complete.n_rows == np.count_nonzero((table.codes < table.cards[:, None]).all(axis=0))


@given(coded_tables(), st.data())
def test_recoding_keeps_the_labels(table, data):
    shuffled = [Variable(v.name, data.draw(st.permutations(v.states))) for v in table.variables]
    again = table.recode(reversed(shuffled)).recode(table.variables)
    assert again == table


@given(coded_tables())
def test_pickling_and_pandas_give_the_table_back(table):
    assert pickle.loads(pickle.dumps(table)) == table
    assert Table.from_frame(table.to_pandas()) == table


def test_recoding_matches_labels_that_are_written_the_same():
    table = Table.from_columns({"a": [1, 2, None]})
    assert table.recode([Variable("a", ["2", "1"])]).codes.tolist() == [[1, 0, 2]]


def test_one_warning_names_every_unseen_value():
    known = [Variable("a", ["x"]), Variable("b", [1, 2])]
    with pytest.warns(UnseenStateWarning) as caught:
        table = as_table({"a": ["x", "y", "y"], "b": [1, 2, 7]}, known)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "column 'a': ['y'] in 2 rows (known: ['x'])" in message
    assert "column 'b': [7] in 1 row (known: [1, 2])" in message
    assert caught[0].filename == __file__
    assert table.codes.tolist() == [[0, 1, 1], [0, 1, 2]]


def test_an_unseen_value_can_be_refused():
    with pytest.raises(DataError, match=r"column 'a', row 1: 'y' is not a known state; the states are \['x'\]"):
        as_table({"a": ["x", "y"]}, [Variable("a", ["x"])], unseen="error")
    with pytest.raises(ValueError, match="'missing' or 'error'"):
        as_table({"a": ["x", "y"]}, [Variable("a", ["x"])], unseen="ignore")


def test_known_variables_choose_and_order_the_columns():
    table = as_table({"b": [1], "extra": ["?"], "a": ["x"]}, [Variable("a", ["x"]), Variable("b", [1])])
    assert table.names == ("a", "b")
    with pytest.raises(DataError, match=r"no columns 'c', 'd'; it has \['a', 'b'\]"):
        as_table({"a": [1], "b": [1]}, [Variable("a", [1]), Variable("c", [1]), Variable("d", [1])])
    with pytest.raises(DataError, match=r"no column 'c'; it has \['a'\]"):
        as_table({"a": [1]}).recode([Variable("c", [1])])


def test_numpy_needs_names_or_variables():
    array = np.array([["x", "1"], ["y", "2"]])
    with pytest.raises(DataError, match=r"no column names.*from_numpy"):
        as_table(array)
    with pytest.raises(DataError, match="no column names"):
        Table.from_numpy(array)
    table = Table.from_numpy(array, ["a", "b"])
    assert as_table(array, table.variables) == table
    with pytest.raises(DataError, match=r"\(n_rows, 3\).*\(2, 2\)"):
        Table.from_numpy(array, ["a", "b", "c"])


def test_rows_can_be_required():
    empty = LAWN.take(slice(0))
    assert as_table(empty) is empty
    with pytest.raises(DataError, match="no rows"):
        as_table(empty, require_rows=True)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([[0, 3]], "'x': code 3 in row 1; codes go from 0 to 1, and 2 marks"),
        ([[-1, 0]], "'x': code -1 in row 0"),
        ([[0.0, 1.0]], "integers, not float64"),
        ([0, 1], r"\(n_variables, n_rows\)"),
        ([[0], [1]], r"\(n_variables, n_rows\)"),
    ],
)
def test_bad_codes_are_refused(codes, message):
    with pytest.raises(DataError, match=message):
        Table.from_codes(np.array(codes), [Variable("x", ["a", "b"])])


def test_duplicate_names_are_refused():
    with pytest.raises(DataError, match="'x' is used twice"):
        Table.from_codes(np.zeros((2, 1), int), [Variable("x", ["a"]), Variable("x", ["b"])])
    with pytest.raises(DataError, match="'rain' is used twice"):
        LAWN.select(["rain", "rain"])


@pytest.mark.parametrize("rows", [[4], [-5], [0.5], [[0]], [True, False]])
def test_rows_that_do_not_exist_are_refused(rows):
    with pytest.raises(DataError, match="row"):
        LAWN.take(rows)


def test_tables_with_other_variables_cannot_be_put_together():
    with pytest.raises(DataError, match=r"differ in their variables \(grass\).*recode"):
        Table.concat([LAWN, LAWN.select(["rain"])])
    with pytest.raises(DataError, match="no tables"):
        Table.concat([])


def test_importing_a_table_imports_no_data_frame_library():
    code = "import bntk, sys; bntk.Table; print({'pandas', 'narwhals', 'numba', 'polars'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"

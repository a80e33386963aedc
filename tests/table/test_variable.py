"""Labels are looked up in one place, and sorted as people sort them."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bntk import Variable
from bntk.data.variable import natural_order, state_text
from bntk.errors import DataError, UnknownNameError

labels = st.one_of(st.text(max_size=6), st.integers(), st.floats(allow_nan=False), st.booleans())


@pytest.mark.parametrize("label", ["1", 1, 1.0, np.int64(1), np.float32(1)])
@pytest.mark.parametrize("state", ["1", 1, 1.0])
def test_a_label_finds_the_state_that_is_written_the_same(label, state):
    assert Variable("x", ["zero", state]).find(label) == 1


@pytest.mark.parametrize("spelling", ["True", "true", "TRUE"])
def test_a_boolean_finds_its_text_and_text_its_boolean(spelling):
    assert Variable("x", ["no", spelling]).find(True) == 1
    assert Variable("x", [False, True]).find(spelling) == 1


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, pd.NaT])
def test_a_missing_value_is_never_a_state(missing):
    assert Variable("x", ["None", "nan", "<NA>", "NaT"]).find(missing) is None
    with pytest.raises(DataError, match="missing"):
        Variable("x", ["a", missing])


def test_states_that_are_written_alike_are_told_apart_by_type_only():
    variable = Variable("x", [1, "1"])
    assert (variable.find(1), variable.find("1"), variable.find(1.0)) == (0, 1, 0)


def test_an_unhashable_label_is_not_found():
    assert Variable("x", ["a"]).find(["a"]) is None


def test_an_unknown_state_is_an_error_that_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"'rain' has no state 'maybe'.*\['no', 'yes'\]"):
        Variable("rain", ["no", "yes"]).code("maybe")


@pytest.mark.parametrize(
    ("name", "states", "message"),
    [("", ["a"], "name"), ("  ", ["a"], "name"), ("x", [], "no states"), ("x", ["a", "a"], "twice")],
)
def test_bad_variables_are_refused(name, states, message):
    with pytest.raises(DataError, match=message):
        Variable(name, states)


def test_a_variable_cannot_be_changed_and_can_be_pickled():
    variable = Variable("x", ["a", 2, 2.5, True], ordered=True)
    with pytest.raises(AttributeError, match="cannot be changed"):
        variable.name = "y"
    assert pickle.loads(pickle.dumps(variable)) == variable


@given(st.lists(labels, unique_by=lambda label: (type(label), label)))
def test_natural_order_is_a_permutation_that_does_not_depend_on_the_input_order(states):
    ordered = natural_order(states)
    assert sorted(map(repr, ordered)) == sorted(map(repr, states))
    assert list(map(state_text, natural_order(reversed(states)))) == list(map(state_text, ordered))


@given(st.lists(st.integers(), unique=True))
def test_numbers_are_sorted_by_value_also_when_they_are_text(numbers):
    assert natural_order(numbers) == sorted(numbers)
    small = [n for n in numbers if abs(n) < 2**53]
    assert natural_order(map(str, small)) == [str(n) for n in sorted(small)]


def test_digits_inside_text_are_sorted_by_value_however_long():
    long = "9" * 5000
    assert natural_order([f"x{long}", "x10", "x9", "y"]) == ["x9", "x10", f"x{long}", "y"]


def test_a_single_string_is_no_list_of_states():
    with pytest.raises(DataError, match="'a': the states must be a list of labels, not 'yes'"):
        Variable("a", "yes")

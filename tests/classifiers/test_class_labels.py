"""Labels of any kind are coded as scikit-learn's np.unique would, without a look at each row."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bntk
from bntk.classifiers.features import ClassColumn

PLAIN = {
    "strings": ["b", "a", "c", "a", "b", "a"],
    "numbers": [3, 1, 2, 1, 3, 1],
    "negative": [-1, 1, 1, -1, 1, 1],
    "truth": [True, False, True, True, False, False],
    "floats": [1.0, 2.0, 1.0, 2.0, 2.0, 1.0],
}
KINDS = {
    "list": list,
    "array": np.array,
    "objects": lambda values: np.array(values, dtype=object),
    "series": pd.Series,
    "series with an index": lambda values: pd.Series(values, index=[7, 7, 3, 2, 1, 0]),
    "categorical": lambda values: pd.Series(values, dtype="category"),
    "unused categories": lambda values: pd.Series(pd.Categorical(values, [*sorted({*values}, reverse=True), "never"])),
    "polars": pl.Series,
    "arrow": pa.array,
    "chunked": lambda values: pa.chunked_array([values[:2], values[2:]]),
    "dictionary": lambda values: pa.array(values).dictionary_encode(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", PLAIN)
def test_labels_are_sorted_and_distinct(values, kind):
    plain = PLAIN[values]
    if kind in ("objects", "categorical", "unused categories") and values != "strings":
        pytest.skip("scikit-learn takes an array of objects for labels only if they are text")
    if kind == "dictionary" and values == "truth":
        pytest.skip("pyarrow has no dictionaries of truth values")
    column = ClassColumn.read(KINDS[kind](plain))
    labels, codes = np.unique(np.array(plain), return_inverse=True)
    assert column.labels.tolist() == labels.tolist()
    np.testing.assert_array_equal(column.codes, codes)


def test_the_type_of_an_array_is_kept():
    for array in (np.array(["ab", "c"]), np.array([1, 2], np.int8), np.array([True, False]), np.array([1.0, 2.0])):
        assert ClassColumn.read(array).labels.dtype == array.dtype


@pytest.mark.parametrize(
    "y",
    [
        ["a", None, "b"],
        ["a", float("nan"), "b"],
        [1.0, np.nan, 2.0],
        pd.Series(["a", pd.NA, "b"], dtype="string"),
        pd.Series([1, pd.NA, 2], dtype="Int64"),
        pd.Series(["a", None, "b"], dtype="category"),
        pl.Series(["a", None, "b"]),
        pa.array(["a", None, "b"]),
    ],
)
def test_the_first_missing_label_is_named(y):
    with pytest.raises(ValueError, match="Input y contains NaN or None: the class of row 1 is missing"):
        bntk.AODE().fit({"x": [0, 1, 0]}, y)
    column = ClassColumn.read(y)
    assert column.codes.tolist() == [0, 2, 1]
    assert column.known.tolist() == [True, False, True]
    assert column.take(np.array([1, 2])).codes.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.5, 1.0, 2.0], "Unknown label type: continuous"),
        ([np.inf, 1.0, 2.0], "Input y contains infinity"),
        (np.array(["a", 1, "b"], dtype=object), "no order|Unknown label type"),
        ([["a"], ["b"]], "3 rows|inconsistent"),
        (None, "requires y"),
    ],
)
def test_other_labels_are_refused(y, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=message):
            bntk.NaiveBayes().fit({"x": [0, 1, 0]}, y)


def test_an_unknown_class_is_named_with_its_row():
    nb = bntk.NaiveBayes().fit({"x": [0, 1, 0]}, ["a", "b", "a"])
    with pytest.raises(ValueError, match="the class 'c' in row 1 is none of the known ones"):
        nb.partial_fit({"x": [0, 1]}, ["a", "c"])


def test_rows_of_weight_zero_leave_no_class():
    nb = bntk.NaiveBayes().fit({"x": [0, 1, 0]}, ["a", "b", "c"], sample_weight=[1, 0, 1])
    assert nb.classes_.tolist() == ["a", "c"]


def test_an_identifier_as_y_is_warned_of():
    with pytest.warns(UserWarning, match="unique classes"):
        bntk.NaiveBayes().fit({"x": [0, 1] * 15}, [f"id{i}" for i in range(30)])


def test_labels_of_any_length_are_kept_whole():
    labels = ["no", "perhaps", "yes"] * 10
    X = {"a": ["x", "y", "z"] * 10}
    for y in (labels, np.array(labels), pd.Series(labels), pl.Series("y", labels), pa.array(labels)):
        assert bntk.NaiveBayes().fit(X, y).classes_.tolist() == ["no", "perhaps", "yes"]


def test_class_priors_and_costs_may_be_given_by_label():
    X, y = {"a": ["x", "y", "z", "x"] * 5}, ["well", "ill", "well", "well"] * 5
    by_label = bntk.NaiveBayes(class_prior={"well": 0.7, "ill": 0.3}).fit(X, y)
    by_place = bntk.NaiveBayes(class_prior=[0.3, 0.7]).fit(X, y)
    np.testing.assert_array_equal(by_label.predict_proba(X), by_place.predict_proba(X))
    costs = {"well": {"ill": 1, "well": 0}, "ill": {"well": 50, "ill": 0}}
    assert by_label.predict(X, costs=costs).tolist() == by_place.predict(X, costs=[[0, 50], [1, 0]]).tolist()
    with pytest.raises(ValueError, match=r"class_prior: 'sick' is no class.*'ill', 'well'"):
        bntk.NaiveBayes(class_prior={"well": 0.7, "sick": 0.3}).fit(X, y)
    with pytest.raises(ValueError, match=r"true class.*'well' is lacking"):
        by_label.predict(X, costs={"well": {"ill": 1}, "ill": {"well": 50, "ill": 0}})
    with pytest.raises(ValueError, match="mapping of each true class"):
        by_label.predict(X, costs={"well": 1, "ill": 2})

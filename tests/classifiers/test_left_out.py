"""Columns that identify rows, dates and columns without a value are left out, and named in one warning."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bntk
from bntk.errors import ColumnWarning


@pytest.fixture(scope="module")
def car():
    return bntk.datasets.car()


def messy(X: pd.DataFrame) -> pd.DataFrame:
    n = len(X)
    return X.assign(
        id=[f"row {i}" for i in range(n)],
        when=pd.date_range("2024-01-01", periods=n, freq="h"),
        day=[f"2024-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(n)],
        text=[f"{'long ' * (i % 7)}text {i % (n - 300)}" for i in range(n)],
        none=pd.Series([None] * n, dtype=object),
        unused=pd.Series([np.nan] * n, dtype="category"),
    )


@pytest.mark.parametrize(
    "classifier",
    [
        bntk.NaiveBayes(),
        bntk.NaiveBayes(missing="state"),
        bntk.TAN(),
        bntk.AODE(),
        bntk.STAN(),
        bntk.BayesNetClassifier(),
    ],
    ids=repr,
)
def test_predictions_are_those_without_the_columns(car, classifier):
    X, y = car
    with pytest.warns(ColumnWarning) as caught:
        with_them = classifier.fit(messy(X), y).predict_proba(messy(X))
    (warning,) = caught
    for name in ("id", "when", "day", "text", "none", "unused"):
        assert f"'{name}'" in str(warning.message)
    assert "1,728 states in 1,728 rows" in str(warning.message)
    np.testing.assert_allclose(with_them, classifier.fit(X, y).predict_proba(X), rtol=1e-12)


def test_they_are_not_in_the_network_and_come_back_from_a_file(car, tmp_path):
    X, y = car
    with pytest.warns(ColumnWarning):
        tan = bntk.TAN().fit(messy(X), y)
    assert set(tan.features_.unused) == {"id", "when", "day", "text", "none", "unused"}
    assert set(tan.features_in_use_) <= set(X.columns)
    assert not {"id", "when", "day", "text", "unused"} & set(tan.network_.names)
    tan.save(tmp_path / "tan.json")
    again = bntk.load(tmp_path / "tan.json")
    np.testing.assert_array_equal(again.predict_proba(messy(X)), tan.predict_proba(messy(X)))


def test_they_can_be_kept(car):
    X, y = car
    kept = X.assign(id=[f"row {i}" for i in range(len(X))])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "id" in bntk.NaiveBayes(identifiers="keep").fit(kept, y).features_in_use_
    with pytest.raises(ValueError, match="'drop' or 'keep'"):
        bntk.NaiveBayes(identifiers="ignore").fit(kept, y)


@pytest.mark.parametrize(
    ("n_rows", "n_states", "left"), [(20, 11, True), (20, 10, False), (19, 19, False), (40, 20, False)]
)
def test_more_states_than_half_the_rows_from_twenty_rows_on(n_rows, n_states, left):
    X = pd.DataFrame(
        {"a": [f"s{i % n_states}" for i in range(n_rows)], "b": ["x", "y"] * (n_rows // 2) + ["x"] * (n_rows % 2)}
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nb = bntk.NaiveBayes().fit(X, X["b"].to_numpy())
    assert ("a" in nb.features_.unused) == left == bool(caught)


def test_numbers_are_not_labels():
    X = {"number": np.arange(100), "measure": np.arange(100) / 7, "flag": [True, False] * 50}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bntk.NaiveBayes().fit(X, [0, 1] * 50).features_.unused == ()


@pytest.mark.parametrize(
    "dates",
    [
        pd.Series(pd.date_range("2024-01-01", periods=30)),
        [datetime.date(2024, 1, 1 + i % 28) for i in range(30)],
        pl.Series([datetime.datetime(2024, 1, 1, i % 24) for i in range(30)]),
        ["01.02.2024", "3/4/24", "2024-01-31T10:30:00Z"] * 10,
        ["10:30", "11:45:10"] * 15,
    ],
    ids=["pandas", "dates", "polars", "text", "clock"],
)
def test_dates_and_times_of_any_kind_are_left_out(dates):
    X = {"when": dates, "b": ["x", "y"] * 15}
    with pytest.warns(ColumnWarning, match="'when' holds dates or times"):
        assert bntk.TAN().fit(X, ["x", "y"] * 15).features_.unused == ("when",)


def test_several_class_variables_leave_them_out_as_well(car):
    X, y = car
    Y = pd.DataFrame({"class": y, "good": (y == "acc").map({True: "yes", False: "no"})})
    with pytest.warns(ColumnWarning, match="'id' identifies rows"):
        model = bntk.MDBNC().fit(X.assign(id=[f"row {i}" for i in range(len(X))]), Y)
    assert "id" not in model.network_.names


def test_features_with_one_state_have_no_arcs_and_are_not_in_use():
    X = pd.DataFrame({"a": ["x", "y"] * 20, "constant": ["same"] * 40, "b": ["u", "u", "v", "v"] * 10})
    y = ["no", "yes"] * 20
    for classifier in (bntk.NaiveBayes(), bntk.TAN(), bntk.KDB(2), bntk.BAN(), bntk.STAN()):
        fitted = classifier.fit(X, y)
        assert "constant" not in fitted.features_in_use_
        assert all("constant" not in arc for arc in fitted.dag_.arcs)
        np.testing.assert_allclose(
            fitted.predict_proba(X), type(classifier)(**classifier.get_params()).fit(X.drop(columns="constant"), y)
            .predict_proba(X.drop(columns="constant")), rtol=1e-12,
        )  # fmt: skip

"""Classifiers made of others, where a column has no value in the rows to predict, or in those to learn from."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

import bntk
from bntk._declared import MULTI_CLASSIFIERS
from bntk.errors import ColumnWarning

EVERY = [cls() for cls in MULTI_CLASSIFIERS.load().values()]
WITH_TREES = [
    bntk.BinaryRelevance(bntk.TAN()),
    bntk.LabelPowerset(bntk.AODE()),
    bntk.ClassifierChain(bntk.TAN(), search="exact"),
    bntk.CircularChain(bntk.KDB(1)),
    bntk.BayesianChain(bntk.TAN(), given="features", cv=3),
    bntk.ChainEnsemble(bntk.NaiveBayes(missing="state"), n_chains=2),
]


@cache
def patients(n: int = 120) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = bntk.datasets.asia().sample(n, seed=1).to_pandas().astype("str")
    return rows[["asia", "smoke", "xray", "dysp"]], rows[["lung", "bronc", "either"]]


@cache
def fitted(model: Any, dropped: str = "") -> Any:
    """Fitted to the patients, or to them without a column: once for all types of an empty column."""
    X, Y = patients()
    return clone(model).fit(X.drop(columns=[dropped] if dropped else []), Y)


def without(X: pd.DataFrame, name: str, dtype: Any) -> pd.DataFrame:
    return X.assign(**{name: pd.Series([None] * len(X), index=X.index, dtype=dtype)})


def check_equal(ours: Any, theirs: Any) -> None:
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", [*EVERY, *WITH_TREES], ids=repr)
def test_a_row_alone_is_predicted_as_among_others(model: Any) -> None:
    X, Y = patients()
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    model = clone(model).fit(X, Y)
    together, labels = model.predict_proba(X), model.predict(X)
    for row in range(0, 60, 7):  # most of them lack a cell
        check_equal(model.predict_proba(X.iloc[[row]]), [p[[row]] for p in together])
        assert model.predict(X.iloc[[row]]).to_numpy().tolist() == labels.iloc[[row]].to_numpy().tolist()


DTYPES = [object, "str", "string", "category", pd.CategoricalDtype(["yes", "no"]), float, "Int64", "boolean"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("model", [*EVERY, *WITH_TREES], ids=repr)
def test_a_column_without_a_value_is_summed_out_whatever_its_type(model: Any, dtype: Any) -> None:
    X, model = patients()[0], fitted(model)
    expected = model.predict_proba(X.assign(xray=pd.Series([None] * 119 + ["yes"], dtype="str")))
    check_equal([p[:119] for p in model.predict_proba(without(X, "xray", dtype))], [p[:119] for p in expected])


@pytest.mark.parametrize("dtype", [*DTYPES, "datetime64[ns]"], ids=str)
@pytest.mark.parametrize("model", [bntk.MDBNC(), bntk.BinaryRelevance(), bntk.ClassifierChain(bntk.TAN())], ids=repr)
def test_a_column_of_numbers_may_be_without_a_value_of_any_type(model: Any, dtype: Any) -> None:
    X, Y = patients()
    rng = np.random.default_rng(0)
    X = X.assign(fever=np.where(Y["lung"] == "yes", 39.0, 37.0) + rng.normal(0, 0.5, len(X)).round(1))
    model = clone(model).fit(X, Y)
    check_equal(model.predict_proba(without(X, "fever", dtype)), model.predict_proba(X.assign(fever=np.nan)))
    alone = bntk.TAN().fit(X, Y["lung"])
    expected = alone.predict_proba(X.assign(fever=np.nan))
    np.testing.assert_array_equal(alone.predict_proba(without(X, "fever", dtype)), expected)


@pytest.mark.parametrize("model", [bntk.BinaryRelevance(), bntk.ClassifierChain(bntk.TAN())], ids=repr)
def test_other_kinds_of_frames_with_a_column_without_a_value(model: Any) -> None:
    X, model = patients()[0], fitted(model)
    expected = model.predict_proba(X.assign(xray=pd.Series([None] * 120, dtype=object)))
    columns = {name: X[name].tolist() for name in X}
    nothing = [None] * 120
    for other in (
        pl.DataFrame({**columns, "xray": pl.Series(nothing, dtype=pl.String)}),
        pl.DataFrame({**columns, "xray": pl.Series(nothing, dtype=pl.Null)}),
        pa.table({**columns, "xray": pa.nulls(120)}),
        pa.table({**columns, "xray": pa.array(nothing, pa.string())}),
        {**columns, "xray": nothing},
        X.assign(xray=None).to_numpy(dtype=object),
    ):
        named = other if not isinstance(other, np.ndarray) else pd.DataFrame(other, columns=X.columns)
        check_equal(model.predict_proba(named), expected)


@pytest.mark.parametrize("dtype", ["str", object, "category", float], ids=str)
@pytest.mark.parametrize("model", [*EVERY, *WITH_TREES[:3]], ids=repr)
def test_a_column_without_a_value_in_training_is_left_out(model: Any, dtype: Any) -> None:
    X, Y = patients()
    empty = without(X, "xray", dtype)
    with pytest.warns(ColumnWarning, match="'xray' has no value"):
        found = clone(model).fit(empty, Y)
    expected = fitted(model, dropped="xray").predict_proba(X.drop(columns="xray"))
    check_equal(found.predict_proba(empty), expected)
    check_equal(found.predict_proba(X), expected)


@pytest.mark.parametrize("model", [*EVERY, *WITH_TREES[:2]], ids=repr)
def test_cross_validation_goes_through_where_a_part_has_no_value_of_a_column(model: Any) -> None:
    X, Y = patients()
    X = X.assign(note=pd.Series(["a", "b"] * 15 + [None] * 90, dtype="str"))
    with pytest.warns(ColumnWarning, match="'note' has no value"):
        found = cross_val_predict(
            clone(model), X, Y, cv=[(np.arange(30, 120), np.arange(30)), (np.arange(30), np.arange(30, 120))]
        )
    assert found.shape == (120, 3)

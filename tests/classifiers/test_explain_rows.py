"""Explanations of many rows: the same as row by row, for every classifier, with labels, missing cells and pictures."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import bntk
from bntk._declared import CLASSIFIERS
from bntk.errors import ArgumentError, DataError, UnknownNameError

SMALL: dict[str, dict[str, Any]] = {"EnsembleKDB": {"n_members": 3}, "RMCV": {"criterion": "accuracy"}}
EVERY = [(cls(**SMALL.get(name, {}))) for name, cls in CLASSIFIERS.load().items()]
EVERY += [
    bntk.TAN(numeric="averaged"), bntk.TAN(numeric="mdl"), bntk.NaiveBayes(numeric={"number": "kde"}),
    bntk.AODE(numeric={"number": "gaussian"}), bntk.EnsembleKDB(3, numeric="smooth"),
]  # fmt: skip


def rows(n: int = 300, n_classes: int = 3) -> tuple[pd.DataFrame, Any]:
    """Labels and a number that tell the class, and later some missing cells."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n)
    X = pd.DataFrame({
        "good": np.where(rng.random(n) < 0.7, y, rng.integers(n_classes, size=n)).astype(str),
        "number": rng.normal(y, 1.0),
        "weak": np.where(rng.random(n) < 0.3, y, rng.integers(n_classes, size=n)).astype(str),
        "noise": rng.choice(["u", "v"], n),
    })  # fmt: skip
    return X, np.array(["low", "middle", "high"])[y]


def holed(X: pd.DataFrame) -> pd.DataFrame:
    """Twelve rows, some of them with missing cells; their index is no count."""
    some = X.iloc[:12].copy()
    some.loc[1, "good"] = None
    some.loc[2, "number"] = np.nan
    some.loc[3, ["weak", "noise"]] = None
    some.loc[4] = None
    return some.set_axis([f"row {i}" for i in range(12)])


def log_odds(model: Any, X: pd.DataFrame, of: str, against: str) -> Any:
    log_p, classes = model.predict_log_proba(X), model.classes_.tolist()
    return log_p[:, classes.index(of)] - log_p[:, classes.index(against)]


@pytest.mark.parametrize("classifier", EVERY, ids=repr)
def test_each_row_is_explained_as_by_itself(classifier: Any) -> None:
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(classifier).fit(X, y)
        some = holed(X)
        for classes in ({}, {"of": "high"}, {"against": "low"}, {"of": "low", "against": "middle"}):
            told = model.explain_rows(some, **classes)
            assert len(told) == 12
            for i in range(12):
                alone = model.explain(some.iloc[[i]], **classes)
                pd.testing.assert_frame_equal(
                    told.row(i).sort_index(), alone.sort_index(), rtol=1e-9, atol=1e-9, check_names=True
                )
                assert told.row(i).index.name == f"{told.of[i]} against {told.against[i]}"


@pytest.mark.parametrize("classifier", EVERY, ids=repr)
def test_contributions_sum_to_the_log_odds(classifier: Any) -> None:
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(classifier).fit(X, y)
        some = holed(X)
        told = model.explain_rows(some, of="high", against="low")
        np.testing.assert_allclose(told.total, log_odds(model, some, "high", "low"), atol=1e-9)
        assert told.log_odds.index.equals(some.index)
        assert told.log_odds.columns[0] == model.target_name_
        by_rows = told.to_frame().groupby("row", sort=False)["log_odds"].sum()
        np.testing.assert_allclose(by_rows.loc[some.index], told.total, atol=1e-12)


STRUCTURE = "smoke -> lung -> either <- tub; either -> xray; either -> dysp <- bronc; bronc <- smoke; asia -> tub"


@pytest.mark.parametrize("target", ["lung", "bronc", "smoke", "either", "dysp"])
def test_parents_of_the_class_and_of_its_children(target: str) -> None:
    """Where what is seen decides who shares: rows with every pattern of missing cells."""
    table = bntk.datasets.asia().sample(2000, seed=1).to_pandas()
    network = bntk.fit(bntk.DAG.parse(STRUCTURE), table, prior=1)
    arcs = "; ".join(f"{a} -> {b}" for a, b in network.dag.arcs)
    model = bntk.BayesNetClassifier(structure=arcs, prior=1).fit(table.drop(columns=target), table[target])
    some = table.drop(columns=target).iloc[:60].astype(object)
    some = some.mask(np.random.default_rng(0).random(some.shape) < 0.3, None)
    told = model.explain_rows(some, of="yes")
    np.testing.assert_allclose(told.total, log_odds(model, some, "yes", "no"), atol=1e-9)
    for i in range(60):
        pd.testing.assert_frame_equal(
            told.row(i).sort_index(), model.explain(some.iloc[[i]], of="yes").sort_index(), rtol=1e-9, atol=1e-9
        )


def test_states_are_those_of_the_rows() -> None:
    X, y = rows()
    some, model = holed(X), bntk.TAN(numeric="mdl").fit(X, y)
    told = model.explain_rows(some)
    assert told.states["good"].tolist() == some["good"].where(some["good"].notna(), None).tolist()
    assert told.states.iloc[4].isna().all()
    assert told.states[model.target_name_].isna().all()
    codes = np.searchsorted(model.features_.cuts["number"], some["number"].to_numpy(), side="left")
    for i in (0, 1, 3, 5):
        assert told.states["number"].iloc[i] == model.network_.variable("number").states[codes[i]]
    densities = bntk.NaiveBayes(numeric={"number": "gaussian"}).fit(X, y).explain_rows(some)
    assert densities.states["number"].iloc[0] == some["number"].iloc[0]


def test_by_default_it_is_the_most_probable_class_against_the_next() -> None:
    X, y = rows()
    model = bntk.NaiveBayes().fit(X, y)
    told = model.explain_rows(X)
    assert told.of.tolist() == model.predict(X).tolist()
    ranked = model.classes_[np.argsort(-model.predict_proba(X), axis=1, kind="stable")]
    assert told.against.tolist() == ranked[:, 1].tolist()
    assert (told.total >= 0).all()
    assert repr(told).startswith("Explanations of 300 rows, each class against the next; mean size of contributions:\n")
    assert "high against low" in repr(model.explain_rows(X, of="high", against="low"))


def test_the_mean_size_of_contributions_ranks_features() -> None:
    X, y = rows()
    told = bntk.NaiveBayes().fit(X, y).explain_rows(X, of="high", against="low")
    assert told.mean_abs.index[-1] == "noise"
    assert told.mean_abs["good"] == pytest.approx(told.log_odds["good"].abs().mean())


def test_rows_of_any_kind(tmp_path: Any) -> None:
    X, y = rows()
    model = bntk.TAN(numeric="category").fit(X[["good", "weak"]], y)
    frame = model.explain_rows(X[["good", "weak"]], of="high", against="low")
    table = bntk.Table.from_frame(X[["good", "weak"]])
    for other in (pl.from_pandas(X[["good", "weak"]]), X[["good", "weak"]].to_dict("list"), table):
        np.testing.assert_array_equal(model.explain_rows(other, of="high", against="low").log_odds, frame.log_odds)
    model.save(tmp_path / "tan.json")
    again = bntk.load(tmp_path / "tan.json").explain_rows(X[["good", "weak"]], of="high", against="low")
    pd.testing.assert_frame_equal(again.log_odds, frame.log_odds)


def test_what_is_wrong_is_named() -> None:
    X, y = rows()
    model = bntk.TAN().fit(X, y)
    with pytest.raises(DataError, match=r"X has 300 rows: give X.iloc\[i\], or take explain_rows\(X\)"):
        model.explain(X)
    with pytest.raises(UnknownNameError, match="there is no class 'hig'"):
        model.explain_rows(X, of="hig")
    with pytest.raises(DataError, match="a class has no odds against itself"):
        model.explain_rows(X, of="high", against="high")
    with pytest.raises(ArgumentError, match="i must be"):
        model.explain_rows(X.head(3)).row(3)


def test_the_picture_has_a_line_for_each_feature_and_a_point_for_each_row() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    X, y = rows()
    told = (
        bntk.NaiveBayes()
        .fit(X.rename(columns={"weak": "we$ak$"}), y)
        .explain_rows(holed(X).rename(columns={"weak": "we$ak$"}), of="high", against="low")
    )
    ax = told.plot(title="why")
    assert [text.get_text() for text in ax.get_yticklabels()] == told.mean_abs.index.tolist()
    for name, points in zip(told.mean_abs.index, ax.collections, strict=True):
        at = told.log_odds.columns.get_loc(name)
        np.testing.assert_array_equal(points.get_offsets()[:, 0], told.log_odds[name].to_numpy()[told._present[:, at]])
    assert ax.get_xlabel() == "added to the log odds of high against low"
    assert len(told.plot(most=2).collections) == 2
    with pytest.raises(ArgumentError, match="explanations must be the result of explain_rows"):
        bntk.viz.plot_explanations(told.log_odds)
    plt.close("all")

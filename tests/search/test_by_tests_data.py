"""Searches by tests and over classes with data of other kinds: identifiers, streams, experiments."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import bntk
from bntk import search
from bntk.errors import ArgumentError, ColumnWarning, DataError, UnknownNameError


def frame() -> pd.DataFrame:
    """A chain a - b - c with gaps in b, beside an identifier, a date and a column without a value."""
    rng = np.random.default_rng(0)
    n = 400
    a = rng.integers(2, size=n)
    b = a ^ (rng.random(n) < 0.2)
    c = b ^ (rng.random(n) < 0.2)
    rows = pd.DataFrame({"row": [f"r{k}" for k in range(n)], "day": pd.date_range("2020-01-01", periods=n)})
    rows["nothing"] = np.nan
    return rows.assign(a=a, b=pd.Series(b).map({0: "low", 1: "high"}).where(rng.random(n) > 0.1), c=c)


def test_one_variable_is_asked_about_beside_identifiers():
    with pytest.warns(ColumnWarning, match="'row' identifies rows.*'nothing' has no value"):
        assert search.IAMB().markov_blanket(frame(), "b") == ("a", "c")
    with pytest.warns(ColumnWarning):
        assert search.MMPC().neighbors(frame(), "a") == ("b",)
    with pytest.warns(ColumnWarning), pytest.raises(UnknownNameError, match=r"no variable 'row'.*identifiers=\"keep\""):
        search.GS().markov_blanket(frame(), "row")
    kept = frame()[["a", "row"]]
    assert search.GS().markov_blanket(kept, "row", identifiers="keep") == search.GS().markov_blanket(
        bntk.Table.from_frame(kept), "row"
    )


@pytest.mark.parametrize("name", ["pc", "gs", "iamb", "mmpc"])
def test_gaps_in_streamed_rows_mislead_no_score_either(tmp_path, name):
    frame()[["a", "b", "c"]].to_csv(tmp_path / "rows.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        streamed = bntk.learn_structure(bntk.scan(tmp_path / "rows.csv"), search=name)
        assert streamed.pdag == bntk.learn_structure(bntk.read_table(tmp_path / "rows.csv"), search=name).pdag


@pytest.mark.parametrize("name", ["pc", "gs", "iamb", "mmpc", "mmhc"])
def test_experiments_are_refused_by_tests(name):
    rows = {"a": [0, 1] * 20, "b": [0, 1] * 20}
    with pytest.raises(DataError, match=r"tests of independence do not know.*intervened="):
        bntk.learn_structure(rows, search=name, intervened=["a", None] * 20)


def test_experiments_on_variables_with_many_states_are_refused_as_well():
    """Their pairs are not counted all at once."""
    many = [f"s{k}" for k in range(3000)]
    rows = {"a": many, "b": many[::-1]}
    with pytest.raises(DataError, match="tests of independence do not know"):
        bntk.learn_structure(rows, search="pc", intervened=["a", None] * 1500, identifiers="keep")


def test_experiments_are_refused_where_classes_are_searched():
    """They tell members of a class apart, which GES takes as equal."""
    rows = {"a": [0, 1] * 20, "b": [0, 1] * 20}
    with pytest.raises(ArgumentError, match="different scores where variables were set by an experiment"):
        bntk.learn_structure(rows, "bic", search="ges", intervened=["a", None] * 20)

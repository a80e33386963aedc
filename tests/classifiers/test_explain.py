"""Explanations: the contributions of the prior and of every feature in use sum to the log odds."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

import bntk


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return bntk.datasets.asia().sample(3000, seed=1).to_pandas()


def anywhere(rows: pd.DataFrame, target: str, arcs: str) -> bntk.BayesNetClassifier:
    """A classifier with a given structure, in which the class may have parents."""
    dag = bntk.DAG.parse(arcs)
    required = list(dag.arcs)
    space = bntk.spaces.dag(rows.columns).restrict(
        required=required,
        forbidden=[(a, b) for a in rows for b in rows if a != b and (a, b) not in required],
    )
    return bntk.BayesNetClassifier(space=space, criterion="bic", prior=1).fit(rows.drop(columns=target), rows[target])


STRUCTURE = "smoke -> lung -> either <- tub; either -> xray; either -> dysp <- bronc; bronc <- smoke; asia -> tub"


def odds(model: bntk.BayesNetClassifier, row: pd.DataFrame) -> float:
    log_p = model.predict_log_proba(row)[0]
    return float(log_p[1] - log_p[0])


@pytest.mark.parametrize("target", ["lung", "bronc", "smoke", "tub", "asia"])
def test_every_feature_in_use_has_a_row_and_the_rows_sum_to_the_log_odds(rows, target):
    model = anywhere(rows, target, STRUCTURE)
    X, told_priors = rows.drop(columns=target), set()
    prior = model.network_.query(target)
    for i in range(0, 60, 7):
        told = model.explain(X.iloc[[i]], of="yes", against="no")
        assert set(told.index) == {target, *model.features_in_use_}
        assert told["log_odds"].sum() == pytest.approx(odds(model, X.iloc[[i]]), abs=1e-9)
        told_priors.add(round(told["log_odds"].loc[target], 9))
    assert told_priors == {round(float(np.log(prior["yes"] / prior["no"])), 9)}


def test_parents_of_the_class_share_what_they_add_by_the_mean_over_orders(rows):
    model = anywhere(rows, "dysp", STRUCTURE)
    network, row = model.network_, rows.drop(columns="dysp").iloc[[0]]
    told = model.explain(row, of="yes", against="no")["log_odds"]
    values = row.iloc[0].to_dict()

    def known(names):
        found = network.query("dysp", {name: values[name] for name in names})
        return np.log(found["yes"] / found["no"])

    parents = network.dag.parents("dysp")
    for parent in parents:
        gains = []
        for order in permutations(parents):
            before = order[: order.index(parent)]
            gains.append(known((*before, parent)) - known(before))
        assert told[parent] == pytest.approx(np.mean(gains), abs=1e-9)


@pytest.mark.filterwarnings("ignore::bntk.errors.WeakClassifierWarning")  # only the structure matters here
def test_another_parent_of_a_child_has_its_own_row(rows):
    model = anywhere(rows, "either", "either -> dysp <- bronc; either -> xray; smoke; tub; lung; asia")
    row = rows.drop(columns="either").iloc[[3]]
    told = model.explain(row, of="yes", against="no")["log_odds"]
    assert set(told.index) == {"either", "dysp", "bronc", "xray"}
    network, values = model.network_, row.iloc[0].to_dict()
    dysp, bronc = values["dysp"], values["bronc"]

    def log_p(state, **given):
        return np.log(network.query("dysp", {"either": state, **given})[dysp])

    child = log_p("yes") - log_p("no")
    assert told["dysp"] == pytest.approx(child, abs=1e-9)
    assert told["bronc"] == pytest.approx(log_p("yes", bronc=bronc) - log_p("no", bronc=bronc) - child, abs=1e-9)


def test_missing_values_go_to_one_row_for_what_is_around_them(rows):
    model = anywhere(rows, "bronc", STRUCTURE)
    X = rows.drop(columns="bronc").astype(object)
    for name in ("smoke", "dysp", "either"):
        row = X.iloc[[0]].copy()
        row[name] = None
        told = model.explain(row, of="yes", against="no")
        assert name not in told.index
        assert told["log_odds"].sum() == pytest.approx(odds(model, row), abs=1e-9)


def test_a_row_of_a_data_frame_is_explained_as_the_frame_of_that_row():
    """``frame.iloc[i]`` has the type object where columns differ; numbers and missing cells stay what they are."""
    generator = np.random.default_rng(4)
    frame = pd.DataFrame({"a": generator.integers(0, 50, 200), "b": generator.choice(["x", "y"], 200), "c": 1.5})
    frame.loc[::7, "b"] = None
    y = np.where(frame["a"] > 25, "high", "low")
    model = bntk.TAN().fit(frame, y)
    for i in (0, 1):
        pd.testing.assert_frame_equal(model.explain(frame.iloc[i]), model.explain(frame.iloc[[i]]))
    with pytest.raises(ValueError, match="one row is explained at a time; X has 2 rows"):
        model.explain(frame.iloc[:2])

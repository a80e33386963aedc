"""The selector of Markov blankets: scikit-learn's checks, pipelines, data of any kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import bntk
from bntk.errors import ArgumentError
from bntk.graph import d_separated

METHODS = ("iamb", "inter-iamb", "iamb-fdr", "gs", "mmpc")


@parametrize_with_checks([bntk.MarkovBlanketSelector(method=method) for method in METHODS])
@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", METHODS)
def test_it_finds_the_markov_blanket(method):
    dag = bntk.DAG.parse("a -> t <- b; t -> c <- d; e -> a; c -> f")
    rows = {name: [0, 1] * 10 for name in dag.nodes if name != "t"}

    def test(x, y, given):
        x, y, *given = ("t" if name == "target" else name for name in (x, y, *given))
        return d_separated(dag, x, y, given)

    selector = bntk.MarkovBlanketSelector(method, test=test).fit(pd.DataFrame(rows), [0, 1] * 10)
    wanted = {"a", "b", "c"} if method == "mmpc" else {"a", "b", "c", "d"}
    assert set(selector.get_feature_names_out()) == wanted


def test_frames_stay_frames_with_labels_and_missing_cells():
    rows = bntk.datasets.with_missing(bntk.datasets.asia().sample(2000, seed=1), 0.05, seed=0).to_pandas()
    rows = rows.dropna(subset=["bronc"])
    X, y = rows.drop(columns="bronc"), rows["bronc"]
    chosen = bntk.MarkovBlanketSelector(alpha=0.01).fit(X, y)
    assert {"smoke", "dysp"} <= set(chosen.get_feature_names_out())
    pd.testing.assert_frame_equal(chosen.transform(X), X[list(chosen.get_feature_names_out())])
    frame = pl.from_pandas(X.astype(object).where(X.notna(), None))
    other = bntk.MarkovBlanketSelector(alpha=0.01).fit(frame, y.tolist())
    assert other.transform(frame).columns == list(chosen.get_feature_names_out())
    pipeline = make_pipeline(bntk.MarkovBlanketSelector(alpha=0.01), bntk.NaiveBayes()).fit(X, y)
    assert pipeline.score(X, y) > 0.7


def test_numbers_and_a_numeric_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 6))
    y = X[:, 1] - X[:, 4] + 0.3 * rng.normal(size=800)
    pipeline = make_pipeline(bntk.MarkovBlanketSelector(), RandomForestRegressor(10, random_state=0)).fit(X, y)
    assert pipeline[0].get_support().tolist() == [False, True, False, False, True, False]
    search = GridSearchCV(pipeline, {"markovblanketselector__alpha": [0.001, 0.05]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.5


def test_wrong_options_are_named():
    for wrong, match in (
        ({"method": "pc"}, "method must be"),
        ({"alpha": 3}, "alpha must be"),
        ({"test": "t"}, "test='t'"),
    ):
        with pytest.raises(ArgumentError, match=match):
            bntk.MarkovBlanketSelector(**wrong).fit([[0], [1]], [0, 1])


def asia() -> tuple[pd.DataFrame, pd.Series]:
    rows = bntk.datasets.asia().sample(2000, seed=1).to_pandas()
    return rows.drop(columns="bronc"), rows["bronc"]


def test_the_output_is_what_set_output_says():
    X, y = asia()
    names = ["smoke", "either", "dysp"]
    for rows in (X, pl.from_pandas(X)):
        for kind, frame in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
            selector = bntk.MarkovBlanketSelector(alpha=0.01).set_output(transform=kind).fit(rows, y)
            found = selector.transform(rows)
            assert isinstance(found, frame)
            assert list(found.columns) == selector.get_feature_names_out().tolist() == names
    numbers = np.random.default_rng(0).normal(size=(300, 3))
    selector = bntk.MarkovBlanketSelector().set_output(transform="pandas").fit(numbers, numbers[:, 1] > 0)
    assert selector.transform(numbers).columns.tolist() == ["x1"]
    assert selector.get_feature_names_out(["a", "b", "c"]).tolist() == ["b"]
    np.testing.assert_array_equal(selector.inverse_transform(numbers[:, [1]])[:, 1], numbers[:, 1])


def test_its_parameters_and_those_of_the_classifier_are_searched_together():
    X, y = asia()
    pipeline = make_pipeline(bntk.MarkovBlanketSelector(), bntk.TAN()).set_output(transform="pandas")
    grid = {"markovblanketselector__method": ["iamb", "mmpc"], "tan__class_weight": [None, "balanced"]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.8
    best = search.best_estimator_
    assert list(best[-1].feature_names_in_) == best[0].get_feature_names_out().tolist()
    importances = pd.Series(best[-1].feature_importances_, best[:-1].get_feature_names_out())
    assert importances.idxmax() == "dysp"


def test_it_selects_some_of_the_columns_in_a_column_transformer():
    X, y = asia()
    selector = bntk.MarkovBlanketSelector(alpha=0.01)
    columns = ColumnTransformer([("some", selector, ["smoke", "tub", "asia"])], remainder="drop").fit(X, y)
    assert columns.get_feature_names_out().tolist() == ["some__smoke"]


def test_columns_of_any_name_and_data_of_any_kind():
    X, y = asia()
    numbered = X.set_axis(range(X.shape[1]), axis=1)
    assert bntk.MarkovBlanketSelector(alpha=0.01).fit(numbered, y).transform(numbered).columns.tolist() == [2, 4, 6]
    expected = bntk.MarkovBlanketSelector(alpha=0.01).fit_transform(X, y)
    for other in (X.to_dict("list"), bntk.Table.from_frame(X)):
        found = bntk.MarkovBlanketSelector(alpha=0.01).fit_transform(other, y)
        assert found.columns.tolist() == expected.columns.tolist()
        assert (found.astype(str).to_numpy() == expected.astype(str).to_numpy()).all()


def test_nothing_selected_is_a_frame_with_all_rows_and_a_warning():
    rng = np.random.default_rng(0)
    noise = pd.DataFrame(rng.integers(2, size=(200, 2)), columns=["a", "b"], index=range(5, 205))
    selector = bntk.MarkovBlanketSelector(alpha=1e-6).fit(noise, rng.integers(2, size=200))
    with pytest.warns(UserWarning, match="No features were selected: all are independent of the target"):
        found = selector.transform(noise)
    assert found.shape == (200, 0)
    assert found.index.equals(noise.index)
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(pl.from_pandas(noise)).columns == []


@pytest.mark.parametrize("y", [np.full(20, np.nan), [None] * 20, pd.Series([None] * 20, dtype="string")])
def test_a_target_without_a_value_is_refused(y):
    with pytest.raises(ValueError, match="target y has no value"):
        bntk.MarkovBlanketSelector().fit(pd.DataFrame({"a": [0, 1] * 10}), y)

"""The selector of Markov blankets: scikit-learn's checks, pipelines, data of any kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import bntk
from bntk.errors import ArgumentError
from bntk.graph import d_separated

METHODS = ("iamb", "inter-iamb", "iamb-fdr", "gs", "mmpc")


@parametrize_with_checks([bntk.MarkovBlanketSelector(method=method) for method in ("iamb", "mmpc")])
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

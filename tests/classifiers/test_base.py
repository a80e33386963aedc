"""What every classifier does: scikit-learn's rules, labels, missing and unseen values, costs, weights, more rows."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import bntk
from bntk.errors import DataError, UnseenStateWarning
from bntk.learning.scores import BDeu

CLASSIFIERS = [
    bntk.NaiveBayes(),
    bntk.TAN(),
    bntk.FAN(),
    bntk.BAN(),
    bntk.BayesNetClassifier(),
    bntk.TAN(missing="state", numeric="frequency", n_bins=4),
    bntk.TAN(prior=0.5, numeric="width"),
    bntk.TAN(numeric="joint"),
    bntk.TAN(numeric="smooth"),
    bntk.TAN(numeric="averaged"),
]


@parametrize_with_checks(CLASSIFIERS)
def test_scikit_learn_rules(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("classifier", [bntk.NaiveBayes(), bntk.EnsembleKDB(2), bntk.MDBNC()], ids=repr)
def test_two_columns_of_one_name_are_refused_by_name(classifier: Any) -> None:
    twice = pd.DataFrame(np.arange(60).reshape(20, 3), columns=["a", "b", "a"])
    y = pd.DataFrame({"p": [0, 1] * 10, "q": [0, 1] * 10}) if isinstance(classifier, bntk.MDBNC) else [0, 1] * 10
    with pytest.raises(DataError, match="columns 1 and 3 are both named 'a'"):
        classifier.fit(twice, y)


def weather(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Sky and wind as labels, degrees as a number, and whether to play."""
    rng = np.random.default_rng(seed)
    sky = rng.choice(["sun", "cloud", "rain"], n, p=[0.4, 0.3, 0.3])
    wind = np.where(sky == "rain", rng.choice(["no", "yes"], n, p=[0.3, 0.7]), rng.choice(["no", "yes"], n))
    degrees = rng.normal(np.select([sky == "sun", sky == "cloud"], [25.0, 18.0], 12.0), 4.0)
    odds = (sky == "sun") * 2.0 + (degrees > 16) * 1.5 - (wind == "yes") * 1.5 - 1.0
    play = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "play", "stay")
    return pd.DataFrame({"sky": sky, "wind": wind, "degrees": degrees.round(1)}), pd.Series(play, name="what")


def test_labels_and_names_come_back() -> None:
    X, y = weather()
    tan = bntk.TAN().fit(X, y)
    assert tan.classes_.tolist() == ["play", "stay"]
    assert tan.network_.names == ("sky", "wind", "degrees", "what")
    assert set(tan.predict(X)) == {"play", "stay"}
    assert tan.features_in_use_ == ["sky", "wind", "degrees"]
    assert tan.features_.cuts["degrees"].size >= 1
    assert tan.network_.variable("degrees").ordered
    assert tan.search_.exact
    assert tan.score(X, y) > 0.7


def test_the_criterion_is_a_parameter_and_score_a_method() -> None:
    X, y = weather()
    tan = bntk.TAN(criterion=BDeu(5)).fit(X, y)
    assert tan.get_params()["criterion"] == BDeu(5)
    assert clone(tan).get_params()["criterion"] == BDeu(5)
    assert tan.score(X, y) == np.mean(tan.predict(X) == y)
    assert tan.set_params(criterion="bic").get_params()["criterion"] == "bic"
    assert "criterion='bic'" in repr(tan)


def test_random_state_is_a_number_nothing_or_a_generator() -> None:
    X, y = weather()

    def weights(random_state: Any) -> Any:
        return bntk.AWNB(numeric="mdl", random_state=random_state).fit(X, y).weights_

    assert weights(None).equals(weights(0))
    assert weights(np.int64(3)).equals(weights(3))
    for kind in (np.random.default_rng, np.random.RandomState):
        assert weights(kind(5)).equals(weights(kind(5)))
        generator = kind(5)
        assert not weights(generator).equals(weights(generator))
    with pytest.raises(ValueError, match="random_state must be a whole number from 0, None or a generator"):
        weights("now")


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas, lambda X: X.to_dict("list")])
def test_other_containers_give_the_same(convert: Any) -> None:
    X, y = weather()
    ours = bntk.TAN().fit(X, y)
    other = bntk.TAN().fit(convert(X), y.tolist())
    assert other.dag_.arcs == tuple((a.replace("what", "class"), b.replace("what", "class")) for a, b in ours.dag_.arcs)
    np.testing.assert_allclose(other.predict_proba(convert(X)), ours.predict_proba(X), rtol=1e-12)


def test_a_table_is_taken_as_it_is() -> None:
    X, y = weather()
    table = bntk.Table.from_frame(X.assign(degrees=X["degrees"] > 15))
    nb = bntk.NaiveBayes().fit(table, y)
    assert nb.features_.cuts == {}
    np.testing.assert_allclose(
        nb.predict_proba(table), bntk.NaiveBayes().fit(table.to_pandas(), y).predict_proba(table.to_pandas())
    )


def test_an_array_has_columns_x0_x1() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    assert bntk.NaiveBayes().fit(X, X[:, 0] > 0).network_.names == ("x0", "x1", "class")


def test_a_feature_may_be_named_class() -> None:
    X, y = weather()
    nb = bntk.NaiveBayes().fit(X.rename(columns={"sky": "class"}), y.tolist())
    assert nb.network_.names == ("class", "wind", "degrees", "class_")


def test_unseen_states() -> None:
    X, y = weather()
    nb = bntk.NaiveBayes().fit(X, y)
    new = X.iloc[:3].assign(sky=["snow", "sun", "rain"])
    with pytest.warns(UnseenStateWarning, match="column 'sky': \\['snow'\\]"):
        strange = nb.predict_proba(new)
    np.testing.assert_allclose(strange[0], nb.predict_proba(new.assign(sky=None))[0])
    with pytest.raises(DataError, match="column 'sky', row 0: 'snow'"):
        bntk.NaiveBayes(unseen="error").fit(X, y).predict(new)


def test_nothing_observed_gives_the_class_prior() -> None:
    X, y = weather()
    nothing = pd.DataFrame({"sky": [None], "wind": [None], "degrees": [np.nan]})
    share = (y == "play").mean()
    assert bntk.TAN(prior="mle").fit(X, y).predict_proba(nothing)[0, 0] == pytest.approx(share)
    for prior, expected in (("uniform", [0.5, 0.5]), ([0.9, 0.1], [0.9, 0.1])):
        tan = bntk.TAN(class_prior=prior).fit(X, y)
        np.testing.assert_allclose(tan.predict_proba(nothing)[0], expected)
        np.testing.assert_allclose(tan.network_.cpt("what").values, expected)


@pytest.mark.parametrize("prior", ["equal", [0.5, 0.6], [1.0], [1.5, -0.5]])
def test_a_wrong_class_prior_is_refused(prior: Any) -> None:
    with pytest.raises(ValueError, match="class_prior"):
        bntk.NaiveBayes(class_prior=prior).fit(*weather())


def test_missing_as_a_state() -> None:
    """Where being missing tells the class, it helps to know it; a column that was complete in fit is summed out."""
    X, y = weather()
    X.loc[y == "play", "wind"] = None
    told = bntk.NaiveBayes(missing="state").fit(X, y)
    assert told.network_.variable("wind").states == ("no", "yes", "missing")
    assert told.score(X, y) == 1.0
    assert bntk.NaiveBayes().fit(X, y).score(X, y) < 0.95
    labelled = X.assign(wind=X["wind"].fillna("missing"))
    np.testing.assert_allclose(
        told.predict_proba(X), bntk.NaiveBayes().fit(labelled, y).predict_proba(labelled), rtol=1e-12
    )
    holes = X.assign(sky=None)
    np.testing.assert_allclose(
        told.predict_proba(holes), bntk.NaiveBayes().fit(labelled, y).predict_proba(labelled.assign(sky=None))
    )


@pytest.mark.filterwarnings("ignore::bntk.errors.WeakClassifierWarning")  # what available cases distort
def test_em_recovers_what_available_cases_distort() -> None:
    """A cell that is missing whenever another has a certain state: EM sees that, available cases cannot."""
    rng = np.random.default_rng(3)
    n = 4000
    y = rng.integers(2, size=n)
    flag = rng.random(n) < 0.1 + 0.2 * y
    value = np.where(rng.random(n) < 0.5, "low", "high").astype(object)
    value[flag] = None
    X = pd.DataFrame({"value": value, "flag": np.where(flag, "on", "off")})
    given = "class -> value -> flag; class -> flag"
    for how, close in (("em", True), ("marginal", False)):
        model = bntk.BayesNetClassifier(structure=given, missing=how, prior=0.01).fit(X, y)
        seen = pd.DataFrame({"value": [None], "flag": ["on"]})
        expected = flag[y == 1].mean() * y.mean() / flag.mean()
        assert (abs(model.predict_proba(seen)[0, 1] - expected) < 0.01) == close


def test_costs_move_the_decision() -> None:
    X, y = weather()
    nb = bntk.NaiveBayes().fit(X, y)
    proba = nb.predict_proba(X)
    np.testing.assert_array_equal(nb.predict(X, costs=[[0, 1], [1, 0]]), nb.predict(X))
    costs = np.array([[0.0, 1.0], [5.0, 0.0]])
    np.testing.assert_array_equal(nb.predict(X, costs=costs), nb.classes_[np.argmin(proba @ costs, axis=1)])
    assert (nb.predict(X, costs=costs) == "stay").sum() > (nb.predict(X) == "stay").sum()
    with pytest.raises(ValueError, match=r"costs must be a finite array of shape \(2, 2\)"):
        nb.predict(X, costs=[[0, 1, 2]])


@pytest.mark.parametrize("classifier", [bntk.NaiveBayes(), bntk.TAN(), bntk.TAN(numeric="width")])
def test_weights_are_repetitions(classifier: Any) -> None:
    X, y = weather()
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = clone(classifier).fit(X, y, sample_weight=weights)
    repeated = clone(classifier).fit(X.loc[X.index.repeat(weights)], y.loc[y.index.repeat(weights)])
    assert weighted.dag_ == repeated.dag_
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-10)


@pytest.mark.filterwarnings("ignore::bntk.errors.WeakClassifierWarning")  # naive Bayes is as good on these rows
@pytest.mark.parametrize("classifier", [bntk.NaiveBayes(), bntk.TAN(), bntk.BAN(class_prior="uniform")])
@pytest.mark.parametrize("numeric", ["mdl", "frequency"])
def test_more_rows_are_added_exactly(classifier: Any, numeric: str) -> None:
    X, y = weather()
    X["sky"] = pd.Categorical(X["sky"], ["sun", "cloud", "rain"])
    classifier = clone(classifier).set_params(numeric=numeric)
    first = clone(classifier).fit(X[:200], y[:200])
    both = clone(classifier).partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    assert both.dag_ == first.dag_
    known = bntk.BayesNetClassifier(
        structure=first.dag_, prior=first.prior, class_prior=first.class_prior, numeric=dict(first.features_.cuts)
    ).fit(X, y)
    np.testing.assert_allclose(both.predict_proba(X), known.predict_proba(X), rtol=1e-12)


def test_partial_fit_with_classes_to_come() -> None:
    X, y = weather()
    nb = bntk.NaiveBayes().partial_fit(X[:50], y[:50], classes=["play", "stay", "travel"])
    assert nb.predict_proba(X).shape == (400, 3)
    with pytest.raises(ValueError, match="the class 'sleep' in row 1 is none of the known ones"):
        nb.partial_fit(X[:2], ["play", "sleep"])


def test_categories_as_numbers_equal_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(4, size=(300, 6)), rng.integers(3, size=300)
    ours = bntk.NaiveBayes(numeric="category", prior=1, class_prior=np.bincount(y) / 300).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), CategoricalNB(alpha=1).fit(X, y).predict_proba(X), rtol=1e-9)


def test_in_the_tools_of_scikit_learn() -> None:
    X, y = weather()
    grid = GridSearchCV(bntk.TAN(), {"criterion": ["loglik", "bic", BDeu(10)], "prior": [0.5, "backoff"]}, cv=3).fit(
        X, y
    )
    assert grid.best_score_ > 0.6
    pipe = make_pipeline(FunctionTransformer(lambda frame: frame.drop(columns="wind")), bntk.NaiveBayes())
    assert pipe.fit(X, y).score(X, y) > 0.6
    calibrated = CalibratedClassifierCV(bntk.TAN(), cv=3).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(1), 1)
    scores = [cross_val_score(bntk.TAN(), X, y, cv=4, n_jobs=jobs) for jobs in (1, 2)]
    np.testing.assert_array_equal(*scores)


def test_pickle() -> None:
    X, y = weather()
    tan = bntk.TAN().fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tan)).predict_proba(X), tan.predict_proba(X))


def test_n_jobs_changes_nothing() -> None:
    X, y = weather()
    one, two, all_cores = (bntk.TAN(n_jobs=n).fit(X, y).predict_proba(X) for n in (1, 2, -1))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, all_cores)
    with pytest.raises(ValueError, match="n_jobs must be a number of threads, -1 for all cores, or None, not 0"):
        bntk.TAN(n_jobs=0).fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"numeric": "median"}, "numeric='median'"),
        ({"numeric": {"height": "mdl"}}, "numeric names the column 'height', which the data has not"),
        ({"numeric": {"sky": "mdl"}}, "numeric names the column 'sky', which does not hold numbers"),
        ({"missing": "drop"}, "missing must be"),
        ({"prior": "flat"}, "prior='flat' is not known"),
    ],
)
def test_wrong_options_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bntk.TAN(**change).fit(*weather())


def test_a_missing_class_is_named() -> None:
    X, y = weather()
    y[7] = None
    with pytest.raises(ValueError, match="the class of row 7 is missing; A2DE learns from labelled rows only"):
        bntk.A2DE().fit(X, y)


def test_a_column_that_is_no_longer_numbers_is_named() -> None:
    X, y = weather()
    with pytest.raises(DataError, match="column 'degrees' held numbers"):
        bntk.NaiveBayes().fit(X, y).predict(X.assign(degrees="warm"))


# ---- explaining ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classifier", [bntk.NaiveBayes(), bntk.TAN(), bntk.NaiveBayes(numeric="gaussian")])
def test_contributions_sum_to_the_log_odds(classifier: Any) -> None:
    X, y = weather()
    classifier = clone(classifier).fit(X, y)
    for row in (X.iloc[[0]], X.iloc[[1]].assign(sky=None), X.iloc[[2]].assign(wind=None, degrees=np.nan)):
        told = classifier.explain(row, of="play", against="stay")
        log_proba = classifier.predict_log_proba(row)[0]
        assert told["log_odds"].sum() == pytest.approx(log_proba[0] - log_proba[1], abs=1e-9)
        np.testing.assert_allclose(classifier.explain(row, of="stay")["log_odds"].sum(), -told["log_odds"].sum())


def test_a_contribution_is_the_log_ratio_of_the_table() -> None:
    X, y = weather()
    nb = bntk.NaiveBayes().fit(X, y)
    told = nb.explain(X.iloc[[0]], of="play")
    cpt = nb.network_.cpt("sky")
    state = cpt.child.code(X["sky"].iloc[0])
    assert told.loc["sky", "log_odds"] == pytest.approx(np.log(cpt.values[0, state] / cpt.values[1, state]))
    assert told.loc["sky", "state"] == X["sky"].iloc[0]
    assert told.index[0] == "what"


def test_only_one_row_is_explained() -> None:
    X, y = weather()
    nb = bntk.NaiveBayes().fit(X, y)
    with pytest.raises(DataError, match="one row is explained at a time"):
        nb.explain(X)
    with pytest.raises(KeyError, match="there is no class 'go'"):
        nb.explain(X.iloc[[0]], of="go")


# ---- the pseudo-count of criteria ------------------------------------------------------------------------------------

WITH_CRITERION = [
    bntk.STAN(), bntk.STAND(), bntk.STAN(forest=True), bntk.SPODE(), bntk.BAN(max_parents=2), bntk.TAN(search="hc"),
    bntk.KDB(2, search="hc"), bntk.SemiNaiveBayes(), bntk.BayesNetClassifier(search="hc"),
]  # fmt: skip
ALPHAS = [
    (0.3, 0.3), (bntk.priors.Dirichlet(2.0), 2.0), (bntk.priors.Backoff(rows=3, alpha=0.5), 0.5), ("backoff", 1.0),
    ("mle", 1.0), (bntk.priors.BDeu(4), 1.0),
]  # fmt: skip


@pytest.mark.parametrize("model", WITH_CRITERION, ids=repr)
@pytest.mark.parametrize(("criterion", "field"), [("loo", "alpha"), ("lc", "alpha"), ("accuracy", "prior")])
def test_a_predictive_criterion_given_by_name_has_the_pseudo_count_of_the_prior(model, criterion, field):
    rows = bntk.datasets.asia().sample(120, seed=3).to_pandas()
    rows = rows[["smoke", "lung", "bronc", "xray", "dysp"]]
    X, y = rows.drop(columns="dysp"), rows["dysp"]
    kind = type(bntk.scores.by_name(criterion))
    folds = {"folds": np.arange(len(y)) % 4} if criterion == "accuracy" else {}
    for prior, alpha in ALPHAS:
        named = clone(model).set_params(criterion=criterion, prior=prior).fit(X, y)
        same = clone(model).set_params(criterion=kind(**{field: alpha}), prior=prior).fit(X, y)
        assert named.dag_ == same.dag_
        assert named.search_.score == same.search_.score
        given = clone(model).set_params(criterion=kind(**{field: 0.7}, **folds), prior=prior).fit(X, y)
        expected = bntk.score(given.dag_, rows, kind(target="dysp", **{field: 0.7}, **folds))
        assert given.search_.score == pytest.approx(expected, rel=1e-9)

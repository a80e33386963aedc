"""Cross-validation against scikit-learn, R's bnclassify, and loops written out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from references import declared, read_json, shared
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import KFold, RepeatedStratifiedKFold
from sklearn.model_selection import cross_validate as of_sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

import bntk
from bntk.errors import DataError, EvaluationError, UnknownNameError
from bntk.evaluation import cross_validate

SECONDS = ["fit_seconds", "predict_seconds"]


def asia(target: str = "dysp", n: int = 300):
    """Without the columns whose states are so rare that some training rows lack them."""
    rows = bntk.datasets.asia().sample(n, seed=1).to_pandas().astype(object)
    return rows.drop(columns=[target, "asia", "tub"]), rows[target]


def logistic():
    return make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())


class Failing(ClassifierMixin, BaseEstimator):
    """Refuses training rows without a certain one."""

    def __init__(self, row=0):
        self.row = row

    def fit(self, X, y):
        if self.row not in X.index:
            raise RuntimeError(f"row {self.row} is not here")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


# ---- what is measured ------------------------------------------------------------------------------------------------


def test_it_is_the_cross_validation_of_scikit_learn():
    X, y = asia()
    folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=5)
    scoring = {"accuracy": "accuracy", "log_loss": "neg_log_loss", "auc": "roc_auc", "kept": "neg_log_loss"}
    models = {"tan": bntk.TAN(), "logistic": logistic()}
    result = cross_validate(
        models, X, y, cv=4, repeats=2, random_state=5,
        scoring={"accuracy": "accuracy", "log_loss": "log-loss", "auc": "auc", "kept": "neg_log_loss"},
    )  # fmt: skip
    for name, model in models.items():
        expected = of_sklearn(model, X, y, cv=folds, scoring=scoring)
        for measure in scoring:
            sign = -1 if measure == "log_loss" else 1
            np.testing.assert_allclose(result.values(name, measure), sign * expected[f"test_{measure}"], rtol=1e-10)


def test_the_frame_is_tidy_and_complete():
    X, y = asia()
    result = cross_validate({"nb": bntk.NaiveBayes(), "tan": bntk.TAN()}, X, y, cv=3, repeats=2, scoring="accuracy")
    frame = result.frame
    assert frame.columns.tolist() == ["estimator", "repeat", "fold", "accuracy", *SECONDS, "n_train", "n_test"]
    assert frame.groupby("estimator", sort=False).size().to_dict() == {"nb": 6, "tan": 6}
    assert not frame.duplicated(["estimator", "repeat", "fold"]).any()
    assert (frame["n_train"] + frame["n_test"] == 300).all()
    assert (frame[SECONDS] > 0).all(axis=None)
    told = result.summary()
    own = result.values("tan")
    expected = [own.mean(), own.std(), own.std() / np.sqrt(6)]  # pandas may add groups in another order than columns
    np.testing.assert_allclose(told.loc[("tan", "accuracy"), ["mean", "std", "sem"]], expected, rtol=1e-14)
    assert told.loc[("tan", "fit_seconds"), "n"] == 6
    assert result.n_computed == 12


def test_measures_by_class_are_columns_with_the_class_in_brackets():
    X, y = asia()
    result = cross_validate(bntk.TAN(), X, y, cv=3, scoring=["recall_by_class", "precision-by-class"])
    assert list(result.measures) == ["recall[no]", "recall[yes]", "precision[no]", "precision[yes]"]
    scorer = make_scorer(recall_score, pos_label="yes")
    expected = of_sklearn(
        bntk.TAN(), X, y, cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=1, random_state=0), scoring=scorer
    )
    np.testing.assert_allclose(result.values("TAN", "recall[yes]"), expected["test_score"])


def test_callables_and_scorers_may_be_measures():
    X, y = asia()

    def n_rows(estimator, X, y):
        assert hasattr(estimator, "network_")
        return float(len(X) + len(y))

    scorer = make_scorer(recall_score, pos_label="no")
    frame = cross_validate(bntk.TAN(), X, y, cv=3, scoring=[n_rows, scorer, "roc_auc"]).frame
    assert frame["n_rows"].tolist() == [200.0] * 3
    assert {"recall_score", "roc_auc"} <= set(frame.columns)
    with pytest.raises(ValueError, match="same name"):
        cross_validate(bntk.TAN(), X, y, cv=3, scoring=[scorer, make_scorer(recall_score, pos_label="yes")])


def test_all_measures_are_those_that_apply():
    X, y = asia()
    every = cross_validate(bntk.TAN(), X, y, cv=2, scoring="all").measures
    assert {"log_likelihood", "mae", "auc", "f1[yes]"} <= set(every)
    without_joint = cross_validate({"tan": bntk.TAN(), "lr": logistic()}, X, y, cv=2, scoring="all").measures
    assert set(every) - set(without_joint) == {"log_likelihood"}
    labels_only = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LinearSVC())
    few = cross_validate(labels_only, X, y, cv=2, scoring="all").measures
    assert "accuracy" in few
    assert not {"log_loss", "auc", "brier"} & set(few)
    assert list(cross_validate(labels_only, X, y, cv=2).measures) == ["accuracy"]
    three = np.resize(["low", "high", "middle"], len(y))
    assert not {"im", "mae"} & set(cross_validate(bntk.NaiveBayes(), X, three, cv=2, scoring="all").measures)


def test_the_declared_order_of_classes_counts():
    X, _ = asia()
    order = ["slight", "severe", "fatal"]
    y = pd.Series(pd.Categorical(np.resize(order, len(X)), categories=order, ordered=True), name="harm")
    found = cross_validate(bntk.NaiveBayes(), X, y, cv=3, scoring=["mae", "im"])
    for split, mae in zip(
        RepeatedStratifiedKFold(n_splits=3, n_repeats=1, random_state=0).split(X, y),
        found.values("NaiveBayes", "mae"),
        strict=True,
    ):
        model = bntk.NaiveBayes().fit(X.iloc[split[0]], y.iloc[split[0]])
        truth, said = y.iloc[split[1]], model.predict(X.iloc[split[1]])
        assert mae == pytest.approx(bntk.evaluation.mean_absolute_error(truth, said, labels=order))


def test_several_class_variables_have_their_measures():
    rows = bntk.datasets.asia().sample(300, seed=2).to_pandas().astype(object)
    X, Y = rows.drop(columns=["lung", "bronc"]), rows[["lung", "bronc"]]
    models = {"mdbnc": bntk.MDBNC(), "br": bntk.BinaryRelevance(bntk.NaiveBayes())}
    result = cross_validate(models, X, Y, cv=3, scoring=["mean-accuracy", "global_accuracy", "jaccard", "f1-micro"])
    for split, value in zip(
        bntk.evaluation.MultilabelStratifiedKFold(3, seed=0).split(X, Y), result.values("mdbnc"), strict=True
    ):
        model = bntk.MDBNC().fit(X.iloc[split[0]], Y.iloc[split[0]])
        assert value == bntk.evaluation.mean_accuracy(Y.iloc[split[1]], model.predict(X.iloc[split[1]]))
    assert list(cross_validate(models, X, Y, cv="holdout").measures) == ["global_accuracy", "mean_accuracy"]


@pytest.mark.parametrize("kind", ["numpy", "polars", "table", "mapping"])
def test_the_kind_of_data_does_not_matter(kind):
    import polars as pl

    X, y = asia()
    expected = cross_validate(bntk.TAN(), X, y, cv=3, scoring=["accuracy", "log_loss"]).frame.drop(columns=SECONDS)
    data = {
        "numpy": (X.to_numpy(), y.to_numpy()),
        "polars": (pl.DataFrame({name: X[name].tolist() for name in X}), y.tolist()),
        "table": (bntk.Table.from_frame(X), y.tolist()),
        "mapping": ({name: X[name].tolist() for name in X}, y.tolist()),
    }[kind]
    found = cross_validate(bntk.TAN(), *data, cv=3, scoring=["accuracy", "log_loss"]).frame.drop(columns=SECONDS)
    pd.testing.assert_frame_equal(found, expected)


def test_the_result_does_not_depend_on_the_number_of_processes():
    X, y = asia()
    models = {"tan": bntk.TAN(search="hc"), "aode": bntk.AODE(), "logistic": logistic()}
    one, two = (
        cross_validate(models, X, y, cv=3, scoring=["accuracy", "brier"], n_jobs=n).frame.drop(columns=SECONDS)
        for n in (1, 2)
    )
    pd.testing.assert_frame_equal(one, two, check_exact=True)


# ---- references ------------------------------------------------------------------------------------------------------

BNCLASSIFY = {
    "nb": bntk.NaiveBayes(prior=1),
    "nb_s0.01": bntk.NaiveBayes(prior=0.01),
    "tan_cl_loglik": bntk.TAN(prior=1),
    "tan_cl_aic": bntk.FAN(criterion="aic", prior=1),
    "tan_cl_bic": bntk.FAN(criterion="bic", prior=1),
    "manb": bntk.MANB(prior=1),
    "aode": bntk.AODE(prior=1),
}


@pytest.mark.parametrize(
    "case", ["car_k5", "car_k10", "voting_complete_k5", "voting_complete_k10", "voting_k5", "voting_k10"]
)
def test_folds_have_the_accuracies_of_bnclassify(case):
    oracle = read_json(shared("oracle/bnclassify/cv.json"))[case]
    name = case.rpartition("_")[0]
    variables = declared(shared(f"oracle/bnclassify/{name}.levels.json"))
    rows = bntk.read_table(shared(f"oracle/bnclassify/{name}.csv"), variables=variables, unseen="error").to_pandas()
    target = variables[-1].name
    tests = [np.array(fold) - 1 for fold in oracle["test_folds_1based"].values()]
    splits = [(np.setdiff1d(np.arange(len(rows)), test), test) for test in tests]
    chosen = {name: BNCLASSIFY[name] for name in oracle["accuracy_per_fold"]}
    result = cross_validate(chosen, rows.drop(columns=target), rows[target], cv=splits, scoring="accuracy")
    for model, expected in oracle["accuracy_per_fold"].items():
        if case.startswith("voting_k") and model == "tan_cl_loglik":
            continue  # with missing values, bnclassify compares families on different rows
        np.testing.assert_allclose(result.values(model), expected, rtol=1e-12, err_msg=model)


# ---- the structure of all rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [bntk.TAN(prior=0.5), bntk.KDB(2, prior="backoff"), bntk.SelectiveKDB(), bntk.SemiNaiveBayes(), bntk.STAND()],
    ids=lambda e: type(e).__name__,
)
def test_kept_structures_are_those_of_all_rows_with_parameters_of_the_training_rows(estimator):
    X, y = asia(n=400)
    result = cross_validate(estimator, X, y, cv=4, relearn="parameters", scoring="log_loss")
    dag = clone(estimator).fit(X, y).dag_
    prior = estimator.get_params()["prior"]
    folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=1, random_state=0).split(X, y)
    for (train, test), value in zip(folds, result.values(type(estimator).__name__), strict=True):
        # the class last, as in classifiers; its probability in each row by queries of the fitted network
        rows = pd.concat([X, y], axis=1)
        table = bntk.Table.from_frame(rows)
        prior_of = bntk.priors.Backoff(given=(y.name,)) if prior == "backoff" else prior
        network = bntk.fit(dag, table.take(train), prior=prior_of)
        proba = network.posterior(X.iloc[test], y.name)
        expected = -np.mean(np.log([proba.iloc[i][y.iloc[row]] for i, row in enumerate(test)]))
        assert value == pytest.approx(expected, rel=1e-6)


def test_keeping_the_structure_is_learning_it_where_it_does_not_depend_on_the_rows():
    X, y = asia()
    models = {"nb": bntk.NaiveBayes(), "awnb": bntk.AWNB(), "manb": bntk.MANB(), "aode": bntk.AODE()}
    kept, learned = (
        cross_validate(models, X, y, cv=3, relearn=relearn).frame.drop(columns=SECONDS)
        for relearn in ("parameters", "all")
    )
    pd.testing.assert_frame_equal(kept, learned, check_exact=True)


@pytest.mark.filterwarnings("ignore::bntk.errors.WeakClassifierWarning")  # naive Bayes is as good on these rows
def test_weights_on_a_network_are_fitted_anew_on_the_structure_that_is_kept():
    X, y = asia()
    dag = bntk.TAN().fit(X, y).dag_
    kept = cross_validate(bntk.AWNB(bntk.TAN()), X, y, cv=3, relearn="parameters").frame
    known = bntk.AWNB(bntk.BayesNetClassifier(structure=dag, prior=bntk.TAN().prior))
    expected = cross_validate(known, X, y, cv=3).frame
    np.testing.assert_array_equal(kept["log_loss"], expected["log_loss"])


def test_the_estimate_with_a_kept_structure_can_be_optimistic():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (60, 30)).astype(str), columns=[f"x{i}" for i in range(30)])
    y = rng.choice(["no", "yes"], 60)  # independent of X
    wrapper = bntk.SemiNaiveBayes(epsilon=0.0)
    kept = cross_validate(wrapper, X, y, cv=5, scoring="accuracy", relearn="parameters").frame["accuracy"].mean()
    learned = cross_validate(wrapper, X, y, cv=5, scoring="accuracy").frame["accuracy"].mean()
    assert kept > learned + 0.05


def test_networks_of_several_classes_and_pipelines_keep_their_structures(monkeypatch):
    rows = bntk.datasets.asia().sample(300, seed=2).to_pandas().astype(object)
    X, Y = rows.drop(columns=["lung", "bronc"]), rows[["lung", "bronc"]]
    searched = []
    original = bntk.MDBNC._find

    def counting(self, *arguments):
        searched.append(type(self).__name__)
        return original(self, *arguments)

    for kind in (bntk.MDBNC, bntk.AMODE):
        monkeypatch.setattr(kind, "_find", counting)
        cross_validate(kind(), X, Y, cv=3, relearn="parameters")
    assert searched == ["MDBNC", "AMODE"]  # once each, from all rows
    X, y = asia()
    pipeline = make_pipeline(bntk.Discretizer(), bntk.TAN())
    plain, piped = (
        cross_validate({"m": m}, X, y, cv=3, relearn="parameters").values("m", "log_loss")
        for m in (bntk.TAN(), pipeline)
    )
    np.testing.assert_allclose(plain, piped, rtol=1e-12)


def test_an_estimator_without_a_structure_cannot_keep_it():
    X, y = asia()
    with pytest.raises(ValueError, match="lr .LogisticRegression. has none"):
        cross_validate({"tan": bntk.TAN(), "lr": logistic()}, X, y, relearn="parameters")
    with pytest.raises(ValueError, match="relearn must be"):
        cross_validate(bntk.TAN(), X, y, relearn="nothing")


# ---- failures, missing labels ----------------------------------------------------------------------------------------


def test_a_failure_names_the_estimator_and_the_split():
    X, y = asia()
    splits = [(np.arange(200), np.arange(200, 300)), (np.arange(100, 300), np.arange(100))]
    models = {"tan": bntk.TAN(), "fragile": Failing()}
    for n_jobs in (1, 2):
        with pytest.raises(EvaluationError, match="fragile failed in repeat 0, fold 1: RuntimeError: row 0 is not"):
            cross_validate(models, X, y, cv=splits * 4, scoring="accuracy", n_jobs=n_jobs)
    result = cross_validate(models, X, y, cv=splits, scoring="accuracy", errors="record")
    assert result.failures.to_dict("records") == [
        {"estimator": "fragile", "repeat": 0, "fold": 1, "error": "RuntimeError: row 0 is not here"}
    ]
    assert result.values("fragile").isna().tolist() == [False, True]
    assert result.summary().loc[("fragile", "accuracy"), "n"] == 1
    assert "1 cells failed" in repr(result)


def test_warnings_of_estimators_are_told_once():
    class Grumbling(DummyClassifier):
        def fit(self, X, y):
            import warnings

            warnings.warn("this is slow", UserWarning, stacklevel=1)
            return super().fit(X, y)

    X, y = asia()
    with pytest.warns(UserWarning, match="grumbling: this is slow") as caught:
        cross_validate({"grumbling": Grumbling()}, X, y, cv=3, scoring="accuracy")
    assert len(caught) == 1


def test_a_missing_label_is_named_unless_it_is_allowed():
    X, y = asia()
    y[[3, 7]] = None
    with pytest.raises(DataError, match="label of row 3 is missing .there are 2"):
        cross_validate(bntk.TAN(), X, y)
    dropped = cross_validate(bntk.TAN(), X, y, cv=3, unlabelled="drop")
    there = y.notna()
    complete = cross_validate(bntk.TAN(), X[there], y[there], cv=3)
    pd.testing.assert_frame_equal(dropped.frame.drop(columns=SECONDS), complete.frame.drop(columns=SECONDS))

    class Counting(DummyClassifier):
        def fit(self, X, y):
            self.n_missing_ = int(y.isna().sum())
            return super().fit(X[y.notna()], y[y.notna()])

    def n_missing(estimator, X, y):
        assert y.notna().all()
        return estimator.n_missing_

    kept = cross_validate(Counting(), X, y, cv=3, scoring=n_missing, unlabelled="train")
    assert kept.frame["n_missing"].tolist() == [2.0] * 3


@pytest.mark.parametrize(
    ("change", "kind", "named"),
    [
        ({"estimators": bntk.TAN}, TypeError, r"TAN\(\)"),
        ({"estimators": {}}, ValueError, "no estimators"),
        ({"estimators": bntk.MDBNC()}, DataError, "several class variables"),
        ({"scoring": "acuracy"}, ValueError, "did you mean 'accuracy'"),
        ({"scoring": "jaccard"}, DataError, "not for one class variable"),
        ({"scoring": []}, ValueError, "scoring is empty"),
        ({"scoring": [3]}, TypeError, "not 3"),
        ({"errors": "ignore"}, ValueError, "errors must be"),
        ({"unlabelled": "keep"}, ValueError, "unlabelled must be"),
        ({"y": asia()[1].to_frame()}, DataError, "give the column itself"),
        ({"y": [["no"]] * 300, "estimators": LinearSVC()}, DataError, "give the column itself"),
        ({"y": asia()[0]}, DataError, "is for one class variable, but y has several"),
        ({"y": ["no"] * 10}, DataError, "X has 300 rows, but y has 10"),
        ({"y": ["u", "v", "w"] * 100, "scoring": "mae"}, DataError, "mae needs ordered classes"),
        ({"estimators": LinearSVC(), "scoring": "brier"}, DataError, "predict_proba, which LinearSVC does not have"),
    ],
)
def test_errors_say_what_is_wrong(change, kind, named):
    X, y = asia()
    given = {"estimators": bntk.NaiveBayes(), "X": X, "y": y, **change}
    with pytest.raises(kind, match=named):
        cross_validate(given.pop("estimators"), given.pop("X"), given.pop("y"), **given)


def test_unknown_names_list_those_that_exist():
    X, y = asia()
    result = cross_validate({"nb": bntk.NaiveBayes(), "tan": bntk.TAN()}, X, y, cv=3)
    with pytest.raises(UnknownNameError, match="'nb', 'tan'"):
        result.difference("aode", "nb")
    with pytest.raises(UnknownNameError, match="'accuracy', 'log_loss'"):
        result.values("nb", "auc")
    with pytest.raises(ValueError, match="'corrected', 'paired' or 'wilcoxon'"):
        result.difference("tan", "nb", test="sign")


def test_differences_are_those_of_the_free_functions():
    X, y = asia()
    result = cross_validate({"nb": bntk.NaiveBayes(), "tan": bntk.TAN()}, X, y, cv=4, repeats=2)
    for test, function in (("paired", bntk.evaluation.paired_t), ("wilcoxon", bntk.evaluation.wilcoxon)):
        found = result.difference("tan", "nb", "log-loss", test=test)
        assert found == function(result.values("tan", "log_loss"), result.values("nb", "log_loss")) or found.p == 1
    found = result.difference("tan", "nb", "log_loss")
    expected = bntk.evaluation.corrected_t(result.values("tan", "log_loss"), result.values("nb", "log_loss"), 225, 75)
    assert found == expected


@pytest.mark.parametrize("model", [bntk.TAN(), bntk.MDBNC(), bntk.AMODE()], ids=repr)
def test_a_kept_structure_goes_without_the_columns_that_a_split_leaves_out(model):
    """A column of labels may identify the rows of some splits and not those of all, or have no value there."""
    generator = np.random.default_rng(0)
    y = generator.choice(["a", "b"], 200)
    city = [f"L{i}" for i in generator.integers(0, 96, 200)]
    X = pd.DataFrame({"city": city, "z": np.where(generator.random(200) < 0.8, y, "c")})
    X["seldom"] = [None] * 160 + ["p", "q"] * 20
    Y = pd.DataFrame({"one": y, "two": generator.choice(["a", "b"], 200)})
    assert len(set(city)) <= 100  # half the rows at most: the column is in use
    several = isinstance(model, bntk.MDBNC | bntk.AMODE)
    with pytest.warns(bntk.errors.ColumnWarning, match="'city' identifies rows"):
        result = cross_validate(model, X, Y if several else y, cv=KFold(5), relearn="parameters")
    assert result.frame.notna().all(axis=None)

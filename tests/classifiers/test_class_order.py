"""The order of the classes that y declares is kept, and what users get is in the sorted order of scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.metrics import get_scorer, roc_auc_score

import bntk
from bntk import classifiers
from bntk.classifiers.base import BayesClassifier, NetworkClassifier
from bntk.classifiers.saving import dump, parse
from bntk.errors import BntkWarning, ParseError

ORDER = ["slight", "severe", "fatal"]
#: All classifiers of one class variable; a new one is tested without a change here.
SINGLE = [
    name
    for name in sorted({*classifiers.__all__} - {"BayesClassifier", "NetworkClassifier"})
    if issubclass(getattr(classifiers, name), BayesClassifier)
]
DECLARED = {
    "series": lambda y: pd.Series(pd.Categorical(y, ORDER, ordered=True), name="harm"),
    "categorical": lambda y: pd.Categorical(y, ORDER, ordered=True),
    "unused categories": lambda y: pd.Series(pd.Categorical(y, ["none", *ORDER, "end"], ordered=True)),
    "enum": lambda y: pl.Series("harm", y, dtype=pl.Enum(ORDER)),
    "dictionary": lambda y: pa.DictionaryArray.from_arrays([ORDER.index(x) for x in y], ORDER, ordered=True),
    "table": lambda y: bntk.Table.from_columns({"harm": y}, variables=[bntk.Variable("harm", ORDER, ordered=True)]),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    severity = rng.choice(3, p=[0.5, 0.3, 0.2], size=240)
    X = pd.DataFrame(
        {
            "road": np.array(["city", "land", "fast"])[np.minimum(2, severity * rng.integers(2, size=240))],
            "belt": np.where(rng.random(240) < 0.8 - 0.2 * severity, "yes", "no"),
            "speed": 50 + 20 * severity + rng.normal(0, 12, size=240),
        }
    )
    X.loc[::9, "belt"] = None
    return X, [ORDER[k] for k in severity]


def fitted(classifier, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BntkWarning)
        return classifier.fit(X, y, **options)


def declared(y):
    return DECLARED["series"](y)


@pytest.mark.parametrize("kind", DECLARED)
def test_the_declared_order_is_kept(kind, data):
    X, y = data
    tan = fitted(bntk.TAN(), X, DECLARED[kind](y))
    assert tan.classes_.tolist() == ["fatal", "severe", "slight"]
    assert tan.class_order_.tolist() == ORDER
    assert tan.class_order_.dtype == tan.classes_.dtype
    assert tan.network_.variable(tan.target_name_) == bntk.Variable(tan.target_name_, ORDER, ordered=True)
    assert tan.target_name_ == ("harm" if kind in ("series", "enum", "table") else "class")


@pytest.mark.parametrize(
    "y", [["b", "a", "c"] * 20, [3, 1, 2] * 20, pd.Categorical(["b", "a", "c"] * 20, ["b", "c", "a"])]
)
def test_without_a_declaration_it_is_that_of_the_sorted_classes(y):
    nb = bntk.NaiveBayes().fit({"x": list(y)}, y)
    assert nb.class_order_.tolist() == nb.classes_.tolist() == sorted(set(y))
    assert not nb.network_.variable("class").ordered


@pytest.mark.parametrize("name", SINGLE)
def test_declaring_an_order_changes_no_prediction(name, data):
    X, y = data
    # The default criterion of RMCV is for ordered classes only.
    options = {"criterion": "accuracy", "start": "naive"} if name == "RMCV" else {}
    model = getattr(classifiers, name)(**options)
    plain, ordered = fitted(clone(model), X, pd.Series(y, name="harm")), fitted(clone(model), X, declared(y))
    assert ordered.class_order_.tolist() == ORDER
    np.testing.assert_allclose(ordered.predict_proba(X), plain.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(ordered.log_joint(X), plain.log_joint(X), atol=1e-10)
    assert ordered.predict(X).tolist() == plain.predict(X).tolist()
    costs = [[0, 1, 5], [2, 0, 1], [1, 1, 0]]
    assert ordered.predict(X, costs=costs).tolist() == plain.predict(X, costs=costs).tolist()
    row = X.iloc[[1]]
    for of, against in ((None, None), ("fatal", None), (None, "slight"), ("severe", "slight")):
        mine, theirs = ordered.explain(row, of, against), plain.explain(row, of, against)
        assert mine.index.name == theirs.index.name
        np.testing.assert_allclose(mine["log_odds"].sort_values(), theirs["log_odds"].sort_values(), atol=1e-9)
    for scoring in ("accuracy", "neg_log_loss"):
        scorer = get_scorer(scoring)
        assert scorer(ordered, X, y) == pytest.approx(scorer(plain, X, y), abs=1e-9)
    # Rounded, because rows with equal probabilities may differ in the last bit, and then in their ranks.
    areas = [roc_auc_score(y, one.predict_proba(X).round(12), multi_class="ovr") for one in (ordered, plain)]
    assert areas[0] == pytest.approx(areas[1], abs=1e-9)


@pytest.mark.parametrize("name", SINGLE)
def test_files_keep_the_order(name, data):
    X, y = data
    model = fitted(getattr(classifiers, name)(), X, declared(y))
    again = parse(dump(model))
    assert again.class_order_.tolist() == ORDER
    assert again._class_variable == model._class_variable
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    if isinstance(model, NetworkClassifier):
        assert again.network_.variable("harm").ordered


def test_a_file_with_other_states_of_the_class_is_refused(data):
    X, y = data
    text = dump(bntk.NaiveBayes().fit(X, declared(y)))
    text = text.decode() if isinstance(text, bytes) else text
    for new in ('"deadly"', '"slight"'):
        with pytest.raises(ParseError):
            parse(text.replace('"fatal"', new, 1))


@pytest.mark.parametrize("name", ["NaiveBayes", "TAN", "AODE", "KDB"])
def test_partial_fit_keeps_the_order(name, data):
    X, y = data
    y = declared(y)
    whole = fitted(getattr(classifiers, name)(numeric="category"), X[["road", "belt"]], y)
    halves = clone(whole).partial_fit(X[["road", "belt"]], y)
    halves.partial_fit(X[["road", "belt"]], y.astype(str))  # which may leave it out
    halves.partial_fit(X[["road", "belt"]].iloc[:50], y.iloc[:50])
    assert halves.class_order_.tolist() == ORDER
    counts = halves.network_.cpts[-1].counts if hasattr(halves, "network_") else halves._class_cpt.counts
    expected = y.value_counts().reindex(ORDER) * 2 + y.iloc[:50].value_counts().reindex(ORDER)
    assert counts.tolist() == expected.tolist()
    with pytest.raises(ValueError, match=r"declares the order \['fatal', 'severe', 'slight'\].*first call"):
        halves.partial_fit(X[["road", "belt"]], y.cat.reorder_categories(ORDER[::-1]))


def test_all_classes_of_the_first_call_need_a_place_in_the_order(data):
    X, y = data
    few = declared(y)[np.array(y) != "fatal"].cat.remove_unused_categories()
    rows = X[np.array(y) != "fatal"]
    with pytest.raises(ValueError, match="'fatal' is not in the declared order"):
        bntk.NaiveBayes().partial_fit(rows, few, classes=sorted(ORDER))
    given = bntk.NaiveBayes().partial_fit(rows, few, classes=pd.Categorical(ORDER, ORDER, ordered=True))
    assert given.class_order_.tolist() == ORDER
    assert bntk.NaiveBayes().partial_fit(rows, few.astype(str), classes=ORDER).class_order_.tolist() == sorted(ORDER)


def test_rows_of_weight_zero_and_given_class_probabilities(data):
    X, y = data
    y = declared(y)
    weights = (y != "severe").to_numpy(dtype=float)
    two = bntk.NaiveBayes().fit(X, y, sample_weight=weights)
    assert two.class_order_.tolist() == ["slight", "fatal"]
    prior = bntk.NaiveBayes(class_prior=[0.2, 0.3, 0.5]).fit(X, y)  # fatal, severe, slight
    assert prior.network_.cpt("harm").values.tolist() == pytest.approx([0.5, 0.3, 0.2])


def test_numbers_and_truth_values_can_be_declared_too(data):
    X, y = data
    numbers = pd.Series(pd.Categorical([{"slight": 3, "severe": 1, "fatal": 2}[x] for x in y], [3, 1, 2], ordered=True))
    nb = bntk.NaiveBayes().fit(X, numbers)
    assert nb.classes_.tolist() == [1, 2, 3]
    assert nb.class_order_.tolist() == [3, 1, 2]
    assert {*nb.predict(X).tolist()} <= {1, 2, 3}


def test_a_table_of_several_columns_is_no_class(data):
    X, y = data
    with pytest.raises(bntk.errors.DataError, match="one column"):
        bntk.NaiveBayes().fit(X, bntk.Table.from_columns({"a": y, "b": y}))


def test_a_criterion_that_needs_the_order_is_saved_with_the_classifier(data):
    X, y = data
    criterion = bntk.scores.IM(5, alpha=4, prior=0.5)
    tan = fitted(bntk.TAN(search="hc", criterion=criterion), X, declared(y))
    again = parse(dump(tan))
    assert again.criterion == criterion
    assert again.search_.score == tan.search_.score
    refitted = fitted(clone(again), X, declared(y))
    np.testing.assert_array_equal(refitted.predict_proba(X), tan.predict_proba(X))
    with pytest.raises(bntk.errors.DataError, match="IM needs ordered classes"):
        fitted(clone(again), X, y)

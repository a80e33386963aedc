"""Sparse rows: naive Bayes of counts and of presence takes them as they are, equal to arrays and to scikit-learn."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import bntk
from bntk._declared import CLASSIFIERS
from bntk.classifiers import sparse
from bntk.errors import ArgumentError, DataError

WAYS = ("multinomial", "bernoulli")


def words(n: int = 200, n_words: int = 40, seed: int = 0) -> tuple[Any, Any]:
    """Counts of words, most of them 0, and three classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    rates = rng.gamma(0.3, 0.6, size=(3, n_words))
    X = rng.poisson(rates[y]).astype(np.float64)
    X[:, 5] = 0  # a word that does not occur
    X[:, 6] = 1  # and one that always does
    return X, np.array(["a", "b", "c"])[y]


def nb(way: str, **options: Any) -> bntk.NaiveBayes:
    return bntk.NaiveBayes(numeric=way, **options)


def not_for_counts(estimator: Any) -> dict[str, str]:
    """Checks that give numbers below 0 to whatever has class weights, or a decision function."""
    why = "gives numbers below 0, which are no counts"
    checks = ("check_class_weight_classifiers", "check_decision_proba_consistency")
    return dict.fromkeys(checks, why) if estimator.numeric == "multinomial" else {}


@parametrize_with_checks([nb(way) for way in WAYS], expected_failed_checks=not_for_counts)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_rules(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prior": 1},
        {"prior": "mle"},
        {"class_prior": "uniform"},
        {"class_weight": "balanced"},
        {"prior": "backoff"},
    ],
    ids=repr,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_they_are_equal_to_arrays(way: str, options: dict[str, Any], weighted: bool) -> None:
    X, y = words()
    weights = np.random.default_rng(1).integers(0, 4, len(y)) + 0.25 * (np.arange(len(y)) % 2) if weighted else None
    dense = nb(way, **options).fit(X, y, sample_weight=weights)
    for make in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.coo_array):
        ours = nb(way, **options).fit(make(X), y, sample_weight=weights)
        assert ours.features_.names == dense.features_.names
        assert ours.features_.variables == dense.features_.variables
        for rows in (make(X), X):
            np.testing.assert_allclose(ours.predict_log_proba(rows), dense.predict_log_proba(X), rtol=1e-9, atol=1e-9)
            np.testing.assert_array_equal(ours.predict(rows), dense.predict(X))
        np.testing.assert_allclose(ours.log_joint(make(X)), dense.log_joint(X), rtol=1e-9)
        np.testing.assert_allclose(dense.predict_proba(make(X)), dense.predict_proba(X), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours.feature_importances_, dense.feature_importances_, rtol=1e-9, atol=1e-12)


def test_they_equal_scikit_learn() -> None:
    X, y = words()
    share = np.unique(y, return_counts=True)[1] / len(y)
    rows = sp.csr_matrix(X)
    for ours, theirs in ((nb("multinomial", prior=1), MultinomialNB()), (nb("bernoulli", prior=1), BernoulliNB())):
        ours.set_params(class_prior=share).fit(rows, y)
        theirs.fit(rows, y)
        np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), rtol=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_more_rows_are_added_exactly(way: str) -> None:
    X, y = words()
    rows = sp.csr_matrix(X)
    parts = (
        nb(way).partial_fit(rows[:120], y[:120]).partial_fit(X[120:150], y[120:150]).partial_fit(rows[150:], y[150:])
    )
    np.testing.assert_allclose(parts.predict_proba(rows), nb(way).fit(X, y).predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_entries_that_are_twice_are_added_and_stored_zeros_are_none(way: str) -> None:
    X, y = words()
    coo = sp.coo_array(X)
    twice = sp.csr_array(
        (np.append(coo.data * 0.75, coo.data * 0.25), (np.tile(coo.coords[0], 2), np.tile(coo.coords[1], 2))), X.shape
    )
    stored = sp.csr_array(X + 1)
    stored.data -= 1
    repeated = sp.csr_array((np.repeat(stored.data / 2, 2), np.repeat(stored.indices, 2), stored.indptr * 2), X.shape)
    expected = nb(way, prior="mle").fit(X, y).predict_proba(X)
    for rows in (twice, stored, repeated):
        before = rows.copy()
        np.testing.assert_allclose(nb(way, prior="mle").fit(rows, y).predict_proba(rows), expected, atol=1e-9)
        assert (rows.data == before.data).all()  # what was given is not changed


def test_text_goes_through_a_pipeline_and_a_search(tmp_path: Any) -> None:
    texts = ["good fine nice", "bad awful", "fine good", "awful bad poor", "nice good good", "poor bad"] * 10
    y = ["yes", "no"] * 30
    for way, vectorizer in (("multinomial", TfidfVectorizer()), ("bernoulli", CountVectorizer())):
        pipeline = make_pipeline(vectorizer, nb(way)).fit(texts, y)
        assert pipeline.predict(["a good one", "an awful one"]).tolist() == ["yes", "no"]
        search = GridSearchCV(pipeline, {"naivebayes__prior": [0.1, 1]}, cv=2, error_score="raise").fit(texts, y)
        assert search.best_score_ == 1
        model, rows = pipeline[-1], pipeline[0].transform(texts)
        model.save(tmp_path / "nb.json")
        np.testing.assert_array_equal(bntk.load(tmp_path / "nb.json").predict_proba(rows), model.predict_proba(rows))


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_as_large_as_all_cells(way: str) -> None:
    """20,000 rows of 3,000 words would be 480 MB, or 60 MB in bytes."""
    rng = np.random.default_rng(0)
    X = sp.random(20_000, 3000, 0.001, format="csr", random_state=0)
    y = rng.integers(2, size=20_000)
    nb(way).fit(X[:50], y[:50])
    tracemalloc.start()
    nb(way).fit(X, y).predict(X)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 30e6


def test_of_present_features_any_table_is_counted() -> None:
    X, y = words()
    codes, present = np.searchsorted(["a", "b", "c"], y), (X > 0).astype(float)
    dense = nb("bernoulli").fit(X, y)
    variables = (*dense.features_.variables, dense._class_variable)
    table = bntk.Table.from_codes(np.vstack([present.T, codes]).astype(np.uint8), variables)
    weights = np.random.default_rng(0).random(len(y)) + 0.5
    families = [("x3", "class"), ("class", "x3"), ("class",), ("x6",), ("x1", "x2", "class"), ("class", "x5")]
    for own in (None, weights):
        expected = bntk.learning.counts.TableCounter(table, own).tables(families)
        ours = sparse.PresenceCounter(sp.csr_array(present), codes, variables, own).tables(families)
        for one, other in zip(ours, expected, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


# ---- what is refused -------------------------------------------------------------------------------------------------


SMALL: dict[str, dict[str, Any]] = {"EnsembleKDB": {"n_members": 3}}


@pytest.mark.parametrize(
    "classifier", [cls(**SMALL.get(name, {})) for name, cls in CLASSIFIERS.load().items()], ids=repr
)
def test_others_say_what_to_do(classifier: Any) -> None:
    X, y = words()
    name = type(classifier).__name__
    with pytest.raises(
        ArgumentError, match=rf"X is sparse, but {name}.* takes rows with all cells: give X.toarray\(\)"
    ):
        clone(classifier).fit(sp.csr_matrix(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = bntk.TAN().fit(X[:, :4], y)
    with pytest.raises(ArgumentError, match="64,000 bytes for 200 rows and 40 columns"):
        model.predict(sp.csr_matrix(X))


def test_several_class_variables_say_so_too() -> None:
    X, y = words()
    with pytest.raises(ArgumentError, match="X is sparse, but BinaryRelevance takes rows with all cells"):
        bntk.BinaryRelevance().fit(sp.csr_matrix(X), np.column_stack([y, y]))


def test_what_cannot_be_learned_from_sparse_rows_is_named() -> None:
    X, y = words()
    rows = sp.csr_matrix(X)
    wrong = rows.copy()
    wrong.data[3] = -1
    row, column = int(np.searchsorted(wrong.indptr, 3, side="right")) - 1, wrong.indices[3]
    with pytest.raises(DataError, match=f"column 'x{column}' holds -1 in row {row}; multinomial counts are finite"):
        nb("multinomial").fit(wrong, y)
    wrong.data[3] = np.nan
    with pytest.raises(DataError, match=f"column 'x{column}' holds NaN in row {row}: sparse rows"):
        nb("bernoulli").fit(wrong, y)
    nothing = X.copy()
    nothing[row, column] = np.nan
    np.testing.assert_allclose(
        nb("multinomial").fit(wrong, y).predict_proba(wrong), nb("multinomial").fit(nothing, y).predict_proba(nothing)
    )
    with pytest.raises(DataError, match="X is sparse, and some rows have no label"):
        nb("bernoulli").fit(rows, [None, *y[1:]])
    with pytest.raises(ValueError, match="40 features"):
        nb("bernoulli").fit(rows, y).predict(rows[:, :10])
    mixed = bntk.NaiveBayes(numeric="mdl").fit(X, y).set_params(numeric="bernoulli")
    with pytest.raises(DataError, match="X is sparse, but the classifier was fitted to columns that are not all"):
        mixed.predict(rows)
    with pytest.raises(DataError, match=r"give some rows of X, X\[:10\].toarray\(\)"):
        nb("bernoulli").fit(rows, y).explain_rows(rows)

"""Features that stay numbers: normal and kernel densities, bags of words, given the class."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gaussian_kde, multinomial, norm
from sklearn.base import clone
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.utils.estimator_checks import parametrize_with_checks

import bntk
from bntk.classifiers import kde
from bntk.classifiers.kde import KernelDensity
from bntk.errors import ColumnWarning, DataError

KINDS = ("gaussian", "kde", "multinomial")


def numbers(n: int = 200, n_classes: int = 3, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, 4)) * [1, 5, 0.1, 1] + np.outer(y, [1, 0, 0.1, -1])
    return pd.DataFrame(np.round(X, 2), columns=list("abcd")), y


def counts(n: int = 120, n_words: int = 6, seed: int = 1) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.poisson(rng.gamma(1, 2, size=(3, n_words))[y])
    return pd.DataFrame(X, columns=[f"w{i}" for i in range(n_words)]), y


def data_for(kind: str) -> tuple[pd.DataFrame, np.ndarray]:
    return counts() if kind == "multinomial" else numbers()


def with_holes(X: pd.DataFrame, seed: int = 2) -> pd.DataFrame:
    return X.astype(float).mask(np.random.default_rng(seed).random(X.shape) < 0.2)


def nb(kind: object, **options: object) -> bntk.NaiveBayes:
    return bntk.NaiveBayes(numeric=kind, **options)


def frequencies(y: np.ndarray) -> np.ndarray:
    return np.bincount(y) / len(y)


# ---- scikit-learn's classifiers --------------------------------------------------------------------------------------


def test_gaussian_equals_scikit_learn() -> None:
    X, y = numbers()
    ours, theirs = nb("gaussian", prior="mle").fit(X, y), GaussianNB().fit(X, y)
    means, variances = ours.densities_[0].parameters()
    np.testing.assert_allclose(means.T, theirs.theta_, rtol=1e-12)
    np.testing.assert_allclose(variances.T, theirs.var_, rtol=1e-12)
    np.testing.assert_allclose(ours.log_joint(X), theirs.predict_joint_log_proba(X), rtol=1e-9)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-9, atol=1e-12)


def test_gaussian_has_the_variance_floor_of_scikit_learn() -> None:
    X, y = numbers()
    X["c"] = np.where(y == 1, 7.0, X["c"])  # no variance at all in one class
    ours, theirs = nb("gaussian", prior="mle").fit(X, y), GaussianNB().fit(X, y)
    np.testing.assert_allclose(ours.log_joint(X), theirs.predict_joint_log_proba(X), rtol=1e-9)


def test_gaussian_with_weights_equals_scikit_learn() -> None:
    X, y = numbers()
    weights = np.random.default_rng(3).random(len(y)) * 3
    # The floor of scikit-learn is from the variance without weights: give it the share that makes the two the same.
    means = np.average(X, axis=0, weights=weights)
    largest = np.average((X - means) ** 2, axis=0, weights=weights).max()
    theirs = GaussianNB(var_smoothing=1e-9 * largest / X.to_numpy().var(axis=0).max()).fit(X, y, weights)
    ours = nb("gaussian", prior="mle").fit(X, y, weights)
    np.testing.assert_allclose(ours.log_joint(X), theirs.predict_joint_log_proba(X), rtol=1e-9)


@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_multinomial_equals_scikit_learn(alpha: float) -> None:
    X, y = counts()
    weights = np.random.default_rng(3).random(len(y)) * 3
    prior = np.bincount(y, weights) / weights.sum()
    ours = nb("multinomial", prior=alpha, class_prior=prior).fit(X, y, weights)
    theirs = MultinomialNB(alpha=alpha).fit(X, y, weights)
    np.testing.assert_allclose(ours.densities_[0].log_probabilities().T, theirs.feature_log_prob_, rtol=1e-12)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-9, atol=1e-12)


def test_multinomial_gives_the_probabilities_of_bags() -> None:
    X, y = counts(n_words=3)
    model = nb("multinomial").fit(X, y)
    p = np.exp(model.densities_[0].log_probabilities()).T
    log_bag = np.array([[multinomial.logpmf(row, row.sum(), p_k) for p_k in p] for row in X.to_numpy()])
    scores = log_bag + np.log(model.network_.cpt("class").values)
    expected = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(X), expected / expected.sum(axis=1, keepdims=True), rtol=1e-9)


def test_bernoulli_equals_scikit_learn() -> None:
    X, y = counts()
    ours = nb("bernoulli", prior=1, class_prior=frequencies(y)).fit(X, y)
    theirs = BernoulliNB(alpha=1).fit(X, y)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-9, atol=1e-12)


# ---- kernel densities ------------------------------------------------------------------------------------------------


def log_density(density: KernelDensity, at: np.ndarray) -> np.ndarray:
    out = np.zeros((density.n_classes, len(at)))
    density.add_log_density(at, out)
    return out.T


@pytest.mark.parametrize("n", [20, 5000])
def test_kernel_density_equals_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y, w = rng.normal(size=n) + 3 * (rng.random(n) < 0.3), rng.integers(2, size=n), rng.random(n) + 0.01
    density = KernelDensity.empty(2).updated(x, y, w)
    at = np.linspace(-5, 8, 200)
    for k, width in enumerate(density.widths()):
        own = y == k
        factor = width / np.sqrt(np.cov(x[own], aweights=w[own]))
        expected = gaussian_kde(x[own], bw_method=factor, weights=w[own]).logpdf(at)
        np.testing.assert_allclose(log_density(density, at)[:, k], expected, rtol=1e-9, atol=1e-11)


def test_the_bandwidth_is_the_normal_reference_rule_with_the_spread_of_all_rows() -> None:
    X, y = numbers()
    weights = np.random.default_rng(5).random(len(y))
    density = KernelDensity.empty(3).updated(X["b"].to_numpy(), y, weights)
    spread = np.sqrt(np.cov(X["b"], aweights=weights, ddof=0))
    np.testing.assert_allclose(density.widths(), 1.06 * spread * np.bincount(y, weights) ** -0.2, rtol=1e-12)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.floats(-100, 100), st.integers(0, 2), st.floats(0.01, 10)), min_size=1, max_size=30),
    st.lists(st.floats(-300, 300), min_size=1, max_size=5),
)
def test_kernel_density_is_the_mean_of_normal_densities(rows: list[tuple[float, int, float]], at: list[float]) -> None:
    x, y, w = (np.array(part) for part in zip(*rows, strict=True))
    density = KernelDensity.empty(3).updated(x, y, w)
    found = log_density(density, np.array(at))
    for k, width in enumerate(density.widths()):
        own = y == k if (y == k).any() else np.full(len(y), True)
        terms = norm.logpdf(np.array(at)[:, None], x[own], width) + np.log(w[own] / w[own].sum())
        np.testing.assert_allclose(found[:, k], np.logaddexp.reduce(terms, axis=1), rtol=1e-9, atol=1e-9)


def test_sums_over_boxes_equal_sums_over_points(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    # Heavy tails, a dense lump and weights over six orders of magnitude.
    x = np.concatenate([rng.standard_t(3, size=4000), rng.normal(8, 0.01, size=4000)])
    y, w = rng.integers(2, size=8000), 10.0 ** rng.uniform(-3, 3, size=8000)
    density = KernelDensity.empty(2).updated(x, y, w)
    at = np.concatenate([np.linspace(x.min() - 1, x.max() + 1, 3000), x[:500], [-1e3, 1e6]])
    assert all(len(kde._boxes(*density.of_class(k), width)[2]) for k, width in enumerate(density.widths()))
    by_boxes = log_density(density, at)
    monkeypatch.setattr(kde, "POINTS_A_BOX", 10**9)
    assert not len(kde._boxes(*density.of_class(0), density.widths()[0])[2])
    np.testing.assert_allclose(by_boxes, log_density(density, at), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", ["gaussian", "kde"])
def test_rows_far_away_from_all_others_have_finite_log_densities(kind: str) -> None:
    X, y = numbers()
    far = pd.DataFrame([[1e6, -1e6, 1e6, 1e6]], columns=X.columns)
    assert np.isfinite(nb(kind).fit(X, y).log_joint(far)).all()


@pytest.mark.parametrize("kind", ["gaussian", "kde"])
def test_units_of_measurement_do_not_matter(kind: str) -> None:
    X, y = numbers()
    one = X[["b"]]
    other = one * 2.54 - 7
    np.testing.assert_allclose(
        nb(kind).fit(one, y).predict_proba(one), nb(kind).fit(other, y).predict_proba(other), rtol=1e-6
    )


# ---- what holds for all kinds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_adding_rows_equals_fitting_all_at_once(kind: str) -> None:
    X, y = data_for(kind)
    X, weights = with_holes(X), np.random.default_rng(3).integers(3, size=len(y)).astype(float)
    whole = nb(kind).fit(X, y, weights)
    parts = nb(kind)
    for rows in np.array_split(np.arange(len(y)), 7):
        parts.partial_fit(X.iloc[rows], y[rows], classes=[0, 1, 2], sample_weight=weights[rows])
    np.testing.assert_allclose(parts.log_joint(X), whole.log_joint(X), rtol=1e-9)


def test_gaussian_moments_stay_exact_far_from_zero() -> None:
    X, y = numbers()
    shifted = X + 1e6
    model = nb("gaussian")
    for rows in np.array_split(np.arange(len(y)), 50):
        model.partial_fit(shifted.iloc[rows], y[rows], classes=[0, 1, 2])
    np.testing.assert_allclose(model.densities_[0].parameters()[1].T, GaussianNB().fit(X, y).var_, rtol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_whole_weights_are_repeated_rows(kind: str) -> None:
    X, y = data_for(kind)
    weights = np.random.default_rng(3).integers(4, size=len(y))
    again = np.repeat(np.arange(len(y)), weights)
    weighted, repeated = nb(kind).fit(X, y, weights), nb(kind).fit(X.iloc[again], y[again])
    np.testing.assert_allclose(weighted.log_joint(X), repeated.log_joint(X), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_number_adds_nothing(kind: str) -> None:
    X, y = data_for(kind)
    model = nb(kind).fit(with_holes(X), y)
    nothing = X.astype(float) * np.nan
    prior = np.broadcast_to(np.log(model.network_.cpt("class").values), (len(y), 3))
    np.testing.assert_allclose(model.log_joint(nothing), prior, rtol=1e-12)
    alone = [nothing.assign(**{name: X[name]}) for name in X]
    sums = prior + sum(model.log_joint(rows) - prior for rows in alone)
    np.testing.assert_allclose(model.log_joint(X), sums, rtol=1e-9)


def test_gaussian_features_are_learned_from_the_rows_that_have_them() -> None:
    X, y = numbers()
    holes = with_holes(X)
    means, variances = nb("gaussian").fit(holes, y).densities_[0].parameters()
    by_class = holes.groupby(y)
    np.testing.assert_allclose(means.T, by_class.mean(), rtol=1e-12)
    np.testing.assert_allclose(variances.T, by_class.var(ddof=0) + 1e-9 * holes.var(ddof=0).max(), rtol=1e-12)


def test_kernel_densities_are_learned_from_the_rows_that_have_them() -> None:
    X, y = numbers()
    holes = with_holes(X)
    model = nb("kde").fit(holes, y)
    prior = model.network_.cpt("class").values
    for name in X:
        there = holes[name].notna().to_numpy()
        single = nb("kde", class_prior=prior).fit(holes.loc[there, [name]], y[there])
        others_missing = X.assign(**{other: np.nan for other in X if other != name})
        np.testing.assert_allclose(model.log_joint(others_missing), single.log_joint(X[[name]]), rtol=1e-9)


def test_a_mapping_mixes_kinds() -> None:
    X, y = numbers()
    words, _ = counts(len(y))
    X = pd.concat([X, words[["w0", "w1"]]], axis=1)
    ways = {"a": "gaussian", "b": "kde", "c": [0.0, 0.1], "w0": "multinomial", "w1": "multinomial", "d": "gaussian"}
    mixed = nb(ways).fit(X, y)
    prior = np.log(mixed.network_.cpt("class").values)
    groups = {"gaussian": ["a", "d"], "kde": ["b"], "multinomial": ["w0", "w1"]}
    parts = [nb(kind).fit(X[names], y).log_joint(X[names]) - prior for kind, names in groups.items()]
    parts.append(nb({"c": [0.0, 0.1]}).fit(X[["c"]], y).log_joint(X[["c"]]) - prior)
    np.testing.assert_allclose(mixed.log_joint(X), prior + sum(parts), rtol=1e-9)


def test_densities_are_leaves_of_other_networks() -> None:
    X, y = numbers()
    rng = np.random.default_rng(4)
    states = pd.DataFrame({"u": (y + rng.integers(2, size=len(y))) % 3, "v": rng.integers(2, size=len(y)), "z": y % 2})
    states = states.astype(str)
    states["v"] = np.where(rng.random(len(y)) < 0.7, states["u"], states["v"])
    both = pd.concat([X, states], axis=1)
    ways = {"a": "gaussian", "b": "kde", "c": "gaussian", "d": "kde"}
    mixed, discrete = bntk.TAN(numeric=ways).fit(both, y), bntk.TAN().fit(states, y)
    densities = nb(ways).fit(X, y)
    prior = np.log(densities.network_.cpt("class").values)
    assert mixed.dag_ == discrete.dag_
    expected = np.empty((len(y), 3))
    for k, (row, cells) in itertools.product(range(3), enumerate(states.to_dict("records"))):
        expected[row, k] = np.log(discrete.network_.probability({**cells, "class": k}))
    np.testing.assert_allclose(mixed.log_joint(both), expected + densities.log_joint(X) - prior, rtol=1e-9)


@pytest.mark.parametrize("kind", ["gaussian", "kde"])
def test_a_class_without_numbers_has_the_density_of_all_rows(kind: str) -> None:
    X, y = numbers()
    X.loc[y == 2, "a"] = np.nan
    one = X[["a"]]
    model = nb(kind, class_prior="uniform").fit(one, y)
    pooled = nb(kind, class_prior="uniform").fit(one, np.zeros(len(y), dtype=int))
    seen = one.dropna()
    np.testing.assert_allclose(model.log_joint(seen)[:, 2], pooled.log_joint(seen)[:, 0] - np.log(3), rtol=1e-9)


@pytest.mark.parametrize("kind", ["gaussian", "kde"])
def test_columns_that_say_nothing_change_nothing(kind: str) -> None:
    X, y = numbers()
    expected = nb(kind).fit(X, y).predict_proba(X)
    more = X.assign(constant=0.1, empty=np.nan)
    with pytest.warns(ColumnWarning, match="'empty' has no value"):
        np.testing.assert_allclose(nb(kind).fit(more, y).predict_proba(more), expected, rtol=1e-9)
    only = more[["constant", "empty"]]
    with pytest.warns(ColumnWarning, match="'empty' has no value"):
        alone = nb(kind, class_prior="uniform").fit(only, y)
    np.testing.assert_allclose(alone.predict_proba(only), 1 / 3, rtol=1e-12)


@pytest.mark.parametrize("kind", ["gaussian", "kde"])
def test_numbers_that_differ_by_next_to_nothing_have_finite_densities(kind: str) -> None:
    X = pd.DataFrame({"a": [0.0, 2e-313, 0.0, 1e-313]})
    assert np.isfinite(nb(kind).fit(X, [0, 0, 1, 1]).log_joint(X)).all()


def test_without_a_prior_a_word_that_a_class_never_had_excludes_it() -> None:
    X = pd.DataFrame({"ham": [3, 2, 0, 0], "spam": [0, 0, 4, 1]})
    model = nb("multinomial", prior="mle").fit(X, [0, 0, 1, 1])
    new = pd.DataFrame({"ham": [1, 0, 1, 0], "spam": [0, 2, 1, 0]})
    np.testing.assert_array_equal(model.predict_proba(new), [[1, 0], [0, 1], [0.5, 0.5], [0.5, 0.5]])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_threads_do_not_change_answers(kind: str, threads: int) -> None:
    X, y = numbers(6000) if kind != "multinomial" else counts(6000)
    expected = nb(kind, n_jobs=2).fit(X, y).log_joint(X)
    np.testing.assert_array_equal(nb(kind, n_jobs=threads).fit(X, y).log_joint(X), expected)


def test_many_features_do_not_underflow() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = 1.0 * (rng.random((100, 3000)) < np.where(y == 1, 0.8, 0.2)[:, None])
    ours = nb("bernoulli", prior=1, class_prior=[0.5, 0.5]).fit(X, y)
    theirs = BernoulliNB(alpha=1).fit(X, y).predict_log_proba(X)
    assert theirs.min() < -750  # beyond what a double can hold as a probability
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs, rtol=1e-9, atol=1e-12)


# ---- refusals --------------------------------------------------------------------------------------------------------


def test_negative_counts_are_refused_by_column_and_row() -> None:
    X, y = counts()
    bad = X.copy()
    bad.loc[7, "w2"] = -1
    with pytest.raises(DataError, match="column 'w2' holds -1 in row 7; multinomial counts"):
        nb("multinomial").fit(bad, y)
    with pytest.raises(DataError, match="column 'w2' holds -1 in row 7"):
        nb("multinomial").fit(X, y).predict(bad)


@pytest.mark.parametrize("kind", KINDS)
def test_infinite_numbers_are_refused_by_column_and_row(kind: str) -> None:
    X, y = data_for(kind)
    bad = X.astype(float)
    bad.iloc[5, 1] = np.inf
    with pytest.raises(DataError, match=f"column {X.columns[1]!r} holds inf in row 5"):
        nb(kind).fit(bad, y)


def test_refused_rows_leave_a_classifier_as_it_was() -> None:
    X, y = counts()
    model = nb("multinomial").fit(X, y)
    before = model.log_joint(X)
    with pytest.raises(DataError):
        model.partial_fit(-X, y)
    np.testing.assert_array_equal(model.log_joint(X), before)


# ---- scikit-learn's own checks ---------------------------------------------------------------------------------------


@parametrize_with_checks([nb("gaussian"), nb("kde")])
def test_scikit_learn_checks(estimator: bntk.NaiveBayes, check: object) -> None:
    check(clone(estimator))  # type: ignore[operator]


# ---- the largest numbers ---------------------------------------------------------------------------------------------


def test_a_normal_density_does_not_depend_on_the_unit_up_to_the_largest_variance() -> None:
    """The class without a number has the variance of all rows, of which 2 pi times is no float."""
    X, y = np.array([[-0.7], [0.7], [np.nan]]), np.array([0, 1, 2])
    small = nb("gaussian").fit(X, y).predict_proba(X)
    assert nb("gaussian").fit(X * 1e154, y).predict_proba(X * 1e154) == pytest.approx(small, rel=1e-9)


def test_classes_so_far_apart_that_all_rows_have_no_variance_are_refused() -> None:
    X, y = np.repeat([[-1e154], [1e154]], 9, axis=0), np.repeat([0, 1], 9)
    with pytest.raises(DataError, match="column 'x0' holds numbers so large"):
        nb("gaussian").fit(X, y)

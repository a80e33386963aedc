"""Numbers: probabilities that do not jump at cuts, means over several cuts, and cuts with all columns in view."""

from __future__ import annotations

import pickle
import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bntk
from bntk import classifiers
from bntk.classifiers.features import Places, centres_of, places_among
from bntk.classifiers.interpolation import CODINGS_AT_ONCE, codings_of, interpolated, mean_log_joint
from bntk.classifiers.saving import dump, parse
from bntk.data.numbers import AVERAGED_WAYS
from bntk.errors import ArgumentError, BntkWarning, DataError, ParseError, UnseenStateWarning

WAYS = ["joint", "smooth", "smooth:joint", "averaged"]
#: Those with one class variable; a new one is in the tests below without a change here.
NAMES = [
    name
    for name in sorted({*classifiers.__all__} - {"BayesClassifier", "NetworkClassifier"})
    if issubclass(getattr(classifiers, name), classifiers.BayesClassifier)
]


def made(name: str, **parameters: Any) -> Any:
    """One with these parameters; but the default measure of RMCV needs classes with an order."""
    return getattr(classifiers, name)(**parameters, **({"criterion": "accuracy"} if name == "RMCV" else {}))


@cache
def rows(n: int = 120, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Two numbers with missing cells, a label, a few whole numbers, and three classes."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(3, size=n)
    X = pd.DataFrame({
        "size": rng.normal(kind, 1.0), "weight": rng.gamma(2.0 + (kind == 1), 1.0), "count": rng.integers(0, 4, n),
        "colour": np.where(rng.random(n) < 0.6, np.array(["red", "green", "blue"])[kind], "red"),
    })  # fmt: skip
    X.loc[::9, "size"] = np.nan
    X.loc[4::10, "weight"] = np.nan
    return X, pd.Series(np.array(list("abc"))[kind], name="kind")


def fitted(classifier: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BntkWarning)  # of scores that do not like missing cells
        return classifier.fit(*rows())


def xor(n: int = 400) -> tuple[pd.DataFrame, Any]:
    """Two numbers that say nothing about the class each, and everything together."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.uniform(-1, 1, (n, 2)), columns=["x", "y"])
    return X, np.where(X["x"] * X["y"] > 0, "same", "other")


# ---- every classifier ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_every_classifier_predicts_and_comes_back(name: str, way: str) -> None:
    X, _ = rows()
    one = fitted(made(name, numeric=way))
    found = one.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-9)
    assert (one.predict(X) == one.classes_[found.argmax(axis=1)]).all()
    np.testing.assert_array_equal(np.concatenate([one.predict_proba(X[i : i + 1]) for i in range(8)]), found[:8])
    for other in (parse(dump(one)), pickle.loads(pickle.dumps(one))):
        np.testing.assert_array_equal(other.predict_proba(X), found)
        np.testing.assert_array_equal(other.log_joint(X), one.log_joint(X))
    assert {v.name: v.n_states for v in one.features_.variables}["count"] == 4  # a few whole numbers are states
    assert ("members_" in vars(one)) == (way == "averaged")


@pytest.mark.parametrize("name", NAMES)
def test_probabilities_do_not_jump_at_a_cut(name: str) -> None:
    X, _ = rows()
    for way in ("smooth", "averaged"):
        model = fitted(made(name, numeric=way))
        cuts = np.concatenate([m.features_.cuts["size"] for m in getattr(model, "members_", [model])])
        row = pd.concat([X[1:2]] * (2 * len(cuts)), ignore_index=True)
        found = model.predict_proba(row.assign(size=np.concatenate([cuts, np.nextafter(cuts, np.inf)])))
        np.testing.assert_allclose(found[: len(cuts)], found[len(cuts) :], atol=1e-9)
        assert np.ptp(found[: len(cuts)], axis=0).max() > 0 or name in ("RMCV", "STAN", "STAND")  # which may drop it


@pytest.mark.parametrize("way", ["smooth", "averaged", "frequency", "category", {"size": [0.0], "weight": "joint"}])
@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_a_table_are_those_of_a_frame_where_something_is_asked_for(name: str, way: Any) -> None:
    X, _ = rows()
    way = "smooth:6" if way == made(name).numeric else way  # the default leaves the states of a table
    one = fitted(made(name, numeric=way))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BntkWarning)
        table = bntk.Table.from_frame(X)
        other = made(name, numeric=way).fit(table, rows()[1])
    assert other.features_.cuts.keys() == one.features_.cuts.keys()
    for own, same in zip(other.features_.variables, one.features_.variables, strict=True):
        assert own.states == same.states
    np.testing.assert_array_equal(other.predict_proba(table), one.predict_proba(X))
    np.testing.assert_array_equal(other.predict_proba(X), one.predict_proba(X))


@pytest.mark.parametrize("name", NAMES)
def test_states_of_a_table_are_left_as_they_are_by_default(name: str) -> None:
    X, y = rows()
    table = bntk.Table.from_frame(X.round())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BntkWarning)
        model = made(name).fit(table, y)
    assert [v.states for v in model.features_.variables] == [v.states for v in table.variables]


@pytest.mark.parametrize("numeric", ["frequency", "mdl", {"size": [0.5]}])
def test_numbers_of_a_table_for_several_classes(numeric: Any) -> None:
    X, y = rows()
    X = X.dropna(ignore_index=True)
    Y = pd.DataFrame({"kind": y[: len(X)], "big": X["size"] > 0, "level": X["count"] % 2})
    table = bntk.Table.from_frame(X)
    for model in (bntk.MDBNC(numeric=numeric), bntk.ClassifierChain(bntk.TAN(numeric=numeric))):
        one, other = clone(model).fit(X, Y), clone(model).fit(table, Y)
        for got, expected in zip(other.predict_proba(table), one.predict_proba(X), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_without_interpolation_they_do() -> None:
    X, _ = rows()
    model = fitted(bntk.NaiveBayes(numeric="joint"))
    (cut, *_) = model.features_.cuts["size"]
    both = pd.concat([X[1:2]] * 2).assign(size=[cut, np.nextafter(cut, np.inf)])
    assert np.ptp(model.predict_proba(both), axis=0).max() > 0.01


# ---- the interpolation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [bntk.NaiveBayes(numeric="smooth"), bntk.TAN(numeric="smooth"), bntk.AODE(numeric="smooth")]
)
def test_the_posterior_is_the_mean_over_all_u(model: Any) -> None:
    """The definition, with every number in its upper interval where its share is above u, for u from 0 to 1."""
    X, _ = rows()
    fitted(model)
    read = model._read(X)
    places = read.places
    lower = np.floor(places.among)
    steps = 4000
    mean = np.zeros((len(X), 3))
    for u in (np.arange(steps) + 0.5) / steps:
        codes = read.table.codes.copy()
        states = lower + (places.among - lower > u)
        codes[places.features] = np.where(np.isnan(states), codes[places.features], states)
        scores = model._log_scores(bntk.Table._make(codes, read.table.variables))
        mean += np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None]) / steps
    np.testing.assert_allclose(model.predict_proba(X), mean, atol=3 / steps)


def test_at_the_centres_it_is_the_classifier_itself_and_beyond_the_outer_ones_too() -> None:
    X, _ = rows()
    model = fitted(bntk.TAN(numeric={"size": "smooth", "weight": "frequency"}, n_bins=3))
    plain = bntk.TAN(numeric=dict(model.features_.cuts)).fit(*rows())
    centres = model.features_.centres["size"]
    for size in (*centres, centres[0] - 5, centres[-1] + 5, -np.inf, np.inf):
        row = X[1:2].assign(size=size)
        np.testing.assert_allclose(model.predict_proba(row), plain.predict_proba(row), rtol=1e-9)
    between = X[1:2].assign(size=centres[:2].mean())
    assert np.abs(model.predict_proba(between) - plain.predict_proba(between)).max() > 1e-3


def test_between_two_centres_it_is_linear() -> None:
    X, _ = rows()
    model = fitted(bntk.KDB(numeric={"size": "smooth", "weight": "category"}))
    low, high = model.features_.centres["size"][1:3]
    way = np.linspace(0, 1, 7)
    found = model.predict_proba(pd.concat([X[1:2]] * 7).assign(size=low + way * (high - low)))
    np.testing.assert_allclose(found, found[:1] + way[:, None] * (found[-1:] - found[:1]), atol=1e-12)


def test_shares_of_codings_sum_to_one_and_have_the_numbers_as_their_means() -> None:
    rng = np.random.default_rng(3)
    variables = [bntk.Variable(name, range(5)) for name in "abcd"]
    among = rng.uniform(0, 4, (3, 50))
    among[0, :5], among[1, 3:9], among[2, 9:20] = np.nan, 2.0, among[1, 9:20] % 1  # missing, at a centre, equal shares
    table = bntk.Table._make(np.where(np.isnan(np.vstack([among, among[:1]])), 5, 1).astype(np.uint8), variables)
    codings = codings_of(table, Places(np.array([0, 1, 2]), among))
    assert (codings.shares > 0).all()
    np.testing.assert_allclose(np.add.reduceat(codings.shares, codings.starts), 1)
    assert np.diff(np.append(codings.starts, len(codings.shares))).max() <= 4
    means = np.add.reduceat(codings.shares * codings.table.codes[:3], codings.starts, axis=1)
    np.testing.assert_allclose(means, np.where(np.isnan(among), 5, among))
    np.testing.assert_array_equal(codings.table.codes[3], table.codes[3][codings.rows])


INTO_CLASS = "size -> kind <- weight; size -> count; kind -> colour <- weight"
SUMS = [
    bntk.NaiveBayes(numeric="smooth"),
    bntk.NaiveBayes(numeric="smooth:8", missing="state"),
    bntk.NaiveBayes(numeric={"size": "smooth", "weight": "gaussian"}),
    bntk.NaiveBayes(numeric={"size": "smooth", "weight": "smooth", "count": "smooth:3"}, class_prior="uniform"),
    bntk.MANB(numeric="smooth"),
    bntk.WANBIA(numeric="smooth"),
    bntk.AWNB(numeric="smooth"),
    bntk.AWNB(bntk.TAN(numeric="smooth")),
    bntk.TAN(numeric={"size": "smooth", "weight": "kde", "count": "smooth"}),
    bntk.TAN(numeric={"size": "smooth", "weight": "smooth", "count": "smooth:3"}, class_prior=[0.6, 0.3, 0.1]),
    bntk.KDB(2, numeric="smooth:8"),
    bntk.SelectiveKDB(numeric="smooth"),
    bntk.SPODE(numeric="smooth"),
    bntk.STAN(numeric="smooth"),
    bntk.SemiNaiveBayes(numeric="smooth"),
    bntk.BAN(numeric="smooth"),
    bntk.BayesNetClassifier(numeric="smooth"),
    bntk.BayesNetClassifier(numeric="smooth", structure=INTO_CLASS),
    bntk.BayesNetClassifier(numeric="smooth", structure="size -> weight -> colour"),
]


@pytest.mark.parametrize("model", SUMS, ids=repr)
@pytest.mark.filterwarnings("ignore::bntk.errors.WeakClassifierWarning")
def test_exchanging_terms_is_the_same_as_predicting_all_codings(model: Any, monkeypatch: Any) -> None:
    X, _ = rows()
    fitted(model)
    read = model._read(X)
    assert model._family_terms() is not None
    expected = interpolated(model._log_scores, read, model._log_densities(read))
    np.testing.assert_allclose(model.log_joint(X), expected, rtol=1e-12, atol=1e-12)
    whole = model.predict_proba(X)
    for limit in ("CODINGS_AT_ONCE", "MOVES_AT_ONCE"):
        monkeypatch.setattr(f"bntk.classifiers.interpolation.{limit}", 10)
    np.testing.assert_array_equal(model.predict_proba(X), whole)
    one_by_one = np.concatenate([model.predict_proba(X[i : i + 1]) for i in range(len(X))])
    np.testing.assert_allclose(one_by_one, whole, rtol=1e-13)


def test_a_thousand_moves_lose_nothing() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(0.05 * y[:, None], 1.0, (60, 1000))
    model = bntk.TAN(numeric="smooth").fit(X, y)
    read = model._read(X[:3])
    expected = interpolated(model._log_scores, read, 0.0)
    np.testing.assert_allclose(model.log_joint(X[:3]), expected, rtol=1e-12)
    np.testing.assert_allclose(
        model.predict_proba(X[:3]), np.exp(expected - np.logaddexp.reduce(expected, axis=1)[:, None])
    )


@pytest.mark.parametrize("model", [bntk.NaiveBayes(prior="mle"), bntk.TAN(prior="mle")], ids=repr)
def test_impossible_states_are_left_to_the_codings(model: Any) -> None:
    X, y = rows()
    model = model.set_params(numeric="smooth").fit(X, y)
    read = model._read(X)
    assert model._family_terms() is None
    np.testing.assert_array_equal(model.log_joint(X), interpolated(model._log_scores, read, 0.0))


@pytest.mark.parametrize("model", [bntk.NaiveBayes(numeric="smooth"), bntk.TAN(numeric="smooth")], ids=repr)
def test_what_is_added_may_rule_out_some_classes_or_all(model: Any) -> None:
    fitted(model)
    read = model._read(rows()[0][:12])
    added = np.zeros((12, 3))
    added[1::2, 0], added[2::4, 1:], added[4::4] = -np.inf, -np.inf, -np.inf
    found, expected = model._between_intervals(read, added), interpolated(model._log_scores, read, added)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (found[4::4] == -np.inf).all()
    assert np.isfinite(found[2::4, 0]).all()


def test_terms_that_would_take_much_memory_are_not_made(monkeypatch: Any) -> None:
    X, _ = rows()
    model = fitted(bntk.KDB(numeric="smooth"))
    quick = model.predict_proba(X)
    monkeypatch.setattr("bntk.classifiers.family_terms.MOST_ENTRIES", 100)
    model.network_._cache.clear()
    assert model._family_terms() is None
    np.testing.assert_allclose(model.predict_proba(X), quick, rtol=1e-12)


def test_many_rows_are_predicted_in_blocks_to_the_same_bits(monkeypatch: Any) -> None:
    X, _ = rows()
    model = fitted(bntk.AODE(numeric="smooth"))
    whole = model.predict_proba(X)
    monkeypatch.setattr("bntk.classifiers.interpolation.CODINGS_AT_ONCE", 10)
    assert 3 * len(X) < CODINGS_AT_ONCE
    np.testing.assert_array_equal(model.predict_proba(X), whole)


def test_an_impossible_part_says_nothing_about_the_class() -> None:
    never = [-np.inf, -np.inf]
    scores, starts = np.array([never, np.log([0.1, 0.3]), never, never]), np.array([0, 2])
    found = mean_log_joint(scores, np.array([0.5, 0.5, 0.25, 0.75]), starts)
    np.testing.assert_allclose(np.exp(found[0]), 0.2 * np.array([0.375, 0.625]))
    assert (found[1] == -np.inf).all()
    X, y = rows()
    model = bntk.NaiveBayes(numeric="smooth", prior="mle").fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_the_log_joint_has_the_posterior_and_the_mean_probability_of_the_row() -> None:
    X, _ = rows()
    for way in ("smooth", "averaged"):
        model = fitted(bntk.TAN(numeric=way))
        joint = model.log_joint(X)
        normal = joint - np.logaddexp.reduce(joint, axis=1)[:, None]
        np.testing.assert_allclose(normal, model.predict_log_proba(X), atol=1e-9)
    each = [np.exp(np.logaddexp.reduce(member.log_joint(X), axis=1)) for member in model.members_]
    np.testing.assert_allclose(np.exp(np.logaddexp.reduce(joint, axis=1)), np.mean(each, axis=0))


def test_centres_are_medians_and_weights_are_copies() -> None:
    rng = np.random.default_rng(0)
    numbers, weights, cuts = rng.normal(size=60).round(1), rng.integers(0, 4, 60), np.array([-0.55, 0.33])
    again = np.repeat(numbers, weights)
    medians = [np.median(again[np.searchsorted(cuts, again) == k]) for k in range(3)]
    np.testing.assert_allclose(centres_of(numbers, cuts, weights.astype(float)), medians)
    np.testing.assert_array_equal(centres_of(again, cuts), centres_of(numbers, cuts, weights.astype(float)))


def test_an_interval_without_numbers_has_its_middle_as_its_centre() -> None:
    cuts = np.array([2.0, 4.0, 8.0])
    np.testing.assert_array_equal(centres_of(np.array([1.0, 1.5, 4.0, 9.0, 10.0]), cuts), [1.25, 4.0, 6.0, 9.5])
    np.testing.assert_array_equal(centres_of(np.array([5.0]), cuts), [2.0, 3.0, 5.0, 8.0])
    generator = np.random.default_rng(0)
    far = np.append(generator.normal(size=100), [100.5, 1000.7])  # equal widths, of which some have no row
    X, y = pd.DataFrame({"far": far, "near": generator.normal(size=102)}), generator.integers(0, 2, 102)
    model = bntk.TAN(numeric="smooth:width").fit(X, y)
    assert (np.diff(model.features_.centres["far"]) > 0).all()
    np.testing.assert_array_equal(parse(dump(model)).predict_proba(X), model.predict_proba(X))
    row = pd.DataFrame({"far": np.linspace(-10, 1100, 20_001), "near": 0.3})
    assert np.abs(np.diff(model.predict_proba(row), axis=0)).max() < 1e-3


@pytest.mark.parametrize("way", ["smooth", "smooth:8", "averaged"])
@pytest.mark.parametrize(
    "values",
    [
        [np.finfo(float).max, np.inf, 0.5, 1.7, -np.finfo(float).max, -np.inf, 3.3],
        [k * 5e-324 for k in range(20)],
        [0.0, 5e-324, 1e-310, 1.5, 1e10, 1e300, 1e308, 1.7e308, -1.7e308],
    ],
    ids=["largest", "smallest", "both"],
)
def test_numbers_of_any_size_have_centres_that_increase(values: list[float], way: str) -> None:
    generator = np.random.default_rng(1)
    X, y = pd.DataFrame({"x": generator.choice(values, 200)}), generator.integers(0, 2, 200)
    model = bntk.NaiveBayes(numeric=way).fit(X, y)
    found = model.predict_proba(X)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_array_equal(parse(dump(model)).predict_proba(X), found)
    for member in getattr(model, "members_", [model]):
        centres = member.features_.centres["x"]
        assert np.isfinite(centres).all()
        assert (np.diff(centres / 2) >= 0).all()
        assert (centres[1:] > centres[:-1]).all()
        np.testing.assert_array_equal(places_among(centres, centres), np.arange(len(centres)))


def test_places_are_those_of_linear_interpolation() -> None:
    generator = np.random.default_rng(2)
    centres, numbers = np.sort(generator.normal(size=6)), 2 * generator.normal(size=300)
    numbers[::9] = np.nan
    np.testing.assert_allclose(places_among(numbers, centres), np.interp(numbers, centres, np.arange(6)), atol=1e-12)
    ends = places_among(np.array([-1.7e308, 0.0, 1.7e308]), np.array([-1.7e308, 1.7e308]))
    np.testing.assert_array_equal(ends, [0.0, 0.5, 1.0])


def test_infinite_numbers_are_in_the_outer_intervals() -> None:
    X, y = rows()
    X = X.assign(size=np.where(X["size"] > 1.5, np.inf, X["size"]))
    for way in WAYS:
        assert np.isfinite(bntk.TAN(numeric=way).fit(X, y).predict_proba(X)).all()


@pytest.mark.filterwarnings("ignore:columns that are left out")
def test_a_constant_number_and_a_number_that_is_absent_later() -> None:
    X, y = rows()
    for way in WAYS:
        model = bntk.TAN(numeric=way).fit(X.assign(size=2.5, empty=np.nan), y)
        assert len(model.features_.cuts["size"]) == 0
        assert np.isfinite(model.predict_proba(X.assign(empty=1.0))).all()
        assert np.isfinite(model.predict_proba(X.assign(weight=None, empty=np.nan))).all()


# ---- several cuts ----------------------------------------------------------------------------------------------------


def test_averaged_is_the_mean_of_its_members() -> None:
    X, _ = rows()
    model = fitted(bntk.TAN(numeric="averaged", random_state=np.random.default_rng(1)))
    assert [member.numeric for member in model.members_] == [*AVERAGED_WAYS]
    assert len({len(member.features_.cuts["size"]) for member in model.members_}) > 1
    np.testing.assert_allclose(
        model.predict_proba(X), np.mean([m.predict_proba(X) for m in model.members_], axis=0), rtol=1e-9
    )
    assert model.network_ is model.members_[0].network_
    assert model.numeric == "averaged"


def test_members_share_what_is_not_averaged() -> None:
    model = fitted(bntk.NaiveBayes(numeric={"size": "averaged", "weight": [1.0, 2.0]}))
    assert {len(member.features_.cuts["weight"]) for member in model.members_} == {2}
    assert [member.numeric["size"] for member in model.members_] == [*AVERAGED_WAYS]


def test_without_numbers_there_is_one_model() -> None:
    X, y = rows()
    one = bntk.TAN(numeric="averaged").fit(X, y)
    assert "members_" in vars(one)
    one.fit(X[["count", "colour"]], y)
    assert "members_" not in vars(one)
    plain = bntk.TAN().fit(X[["count", "colour"]], y)
    np.testing.assert_array_equal(
        one.predict_proba(X[["count", "colour"]]), plain.predict_proba(X[["count", "colour"]])
    )


@pytest.mark.parametrize("way", WAYS)
def test_more_rows_are_added_exactly(way: str) -> None:
    X, y = rows()
    half = bntk.TAN(numeric=way).partial_fit(X[:70], y[:70])
    half.partial_fit(X[70:], y[70:])
    for part in getattr(half, "members_", [half]):
        whole = clone(part).set_params(numeric=dict(part.features_.cuts)).fit(X, y)
        if part.dag_ == whole.dag_:
            assert part.network_.cpt("size").counts.sum() == whole.network_.cpt("size").counts.sum()
        assert part.network_.cpts[-1].counts.sum() == len(X)
    twice = bntk.TAN(numeric=way).partial_fit(X[:70], y[:70])
    assert np.abs(twice.predict_proba(X) - half.predict_proba(X)).max() > 0


def test_one_warning_tells_of_an_unseen_state() -> None:
    X, _ = rows()
    model = fitted(bntk.TAN(numeric="averaged"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.predict(X[:3].assign(colour="pink"))
        model.explain(X[:1].assign(colour="pink"))
    assert [w.category for w in told] == [UnseenStateWarning] * 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_and_declared_orders_change_nothing(n_jobs: int) -> None:
    X, y = rows()
    order = pd.Categorical(y, ["c", "a", "b"], ordered=True)
    for way in WAYS:
        plain = bntk.AODE(numeric=way).fit(X, y)
        other = bntk.AODE(numeric=way, n_jobs=n_jobs).fit(X, order)
        assert other.class_order_.tolist() == ["c", "a", "b"]
        np.testing.assert_allclose(other.predict_proba(X), plain.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model", [bntk.TAN(), bntk.AODE(), bntk.NaiveBayes(missing="state")], ids=repr)
def test_contributions_sum_to_the_log_odds(model: Any, way: str) -> None:
    X, _ = rows()
    model = fitted(clone(model).set_params(numeric=way))
    for i in (0, 1, 4):
        told = model.explain(X.iloc[i], of="a", against="b")
        log_odds = np.subtract(*model.predict_log_proba(X[i : i + 1])[0, :2])
        assert told["log_odds"].sum() == pytest.approx(log_odds)
        assert told.index[0] == "kind"
    assert model.explain(X.iloc[1]).loc["colour", "state"] == X["colour"][1]


def test_labels_may_be_missing_but_not_all() -> None:
    X, y = rows()
    some = y.where(np.arange(len(y)) % 3 > 0)
    for way in WAYS:
        model = bntk.NaiveBayes(numeric=way).fit(X, some)
        assert model.score(X, y) > 0.6
    assert bntk.NaiveBayes(numeric="smooth", n_classes=2).fit(X, None).predict_proba(X).shape == (len(X), 2)
    for way in ("joint", "averaged"):
        with pytest.raises(ValueError, match="'joint', also a part of 'averaged', cuts numbers .* no row has a class"):
            bntk.NaiveBayes(numeric=way, n_classes=2).fit(X, None)


# ---- cuts with all columns in view -----------------------------------------------------------------------------------


def test_a_column_that_matters_only_with_another_is_not_lost() -> None:
    X, y = xor()
    train, test = slice(None, 300), slice(300, None)
    mdl = bntk.TAN(numeric="mdl").fit(X[train], y[train])
    assert [v.n_states for v in mdl.features_.variables] == [1, 1]
    for way in WAYS:
        model = bntk.TAN(numeric=way).fit(X[train], y[train])
        assert model.score(X[test], y[test]) > 0.85 > 0.6 > mdl.score(X[test], y[test])
    cuts = bntk.TAN(numeric="joint").fit(X, y).features_.cuts
    assert min(np.diff([-1, *cuts["x"], 1])) > 0.05
    assert min(np.abs(cuts["x"])) < 0.05
    assert min(np.abs(cuts["y"])) < 0.05


def test_labels_are_in_view_too() -> None:
    """A number whose meaning depends on a label: large is one class for some, small for others."""
    rng = np.random.default_rng(5)
    side, number = rng.choice(["left", "right"], 300), rng.normal(size=300)
    X = pd.DataFrame({"side": side, "number": number, "noise": rng.normal(size=300)})
    y = (number > 0.7) ^ (side == "left")
    cuts = bntk.TAN(numeric="joint").fit(X, y).features_.cuts
    assert np.abs(cuts["number"] - 0.7).min() < 0.02


def test_cuts_do_not_depend_on_the_scale_of_numbers() -> None:
    X, y = xor()
    plain = bntk.TAN(numeric="joint").fit(X, y).features_.cuts
    far = bntk.TAN(numeric="joint").fit(2.0**40 + X * 2.0**10, y).features_.cuts  # the same as floats of 32 bits
    for name, points in plain.items():
        np.testing.assert_allclose(far[name], 2.0**40 + points * 2.0**10, rtol=0, atol=1e-3)


def test_every_interval_has_many_rows_and_rows_without_a_class_do_not_cut() -> None:
    X, y = rows()
    known = bntk.NaiveBayes(numeric="joint").fit(X, y)
    more = pd.concat([X, X.assign(size=99.0)], ignore_index=True)
    both = bntk.NaiveBayes(numeric="joint").fit(more, pd.concat([y, y.where(y != y)], ignore_index=True))
    for name, points in known.features_.cuts.items():
        np.testing.assert_array_equal(both.features_.cuts[name], points)
        counts = np.bincount(np.searchsorted(points, X[name].dropna()), minlength=len(points) + 1)
        assert counts.min() >= 10  # the square root of the rows


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["smoothly", "smooth:", "smooth:0", "smooth:-3", "smooth:gaussian", "average"])
def test_unknown_ways_are_named(way: str) -> None:
    with pytest.raises(
        ValueError, match=r"numeric='.*' \(column 'size'\) is not known; the choices are auto, mdl, joint"
    ):
        bntk.TAN(numeric=way).fit(*rows())
    with pytest.raises(ValueError, match=r"\(column 'weight'\) is not known"):
        bntk.TAN(numeric={"weight": way}).fit(*rows())


@pytest.mark.parametrize("way", ["joint", "smooth", "averaged", "smooth:8"])
def test_several_class_variables_and_learning_without_one_refuse_them(way: str) -> None:
    X, y = rows()
    Y = pd.DataFrame({"kind": y, "big": X["size"].fillna(0) > 0})
    with pytest.raises(ValueError, match="is for one class variable"):
        bntk.MDBNC(numeric=way).fit(X, Y)
    with pytest.raises(ValueError, match="is for one class variable"):
        bntk.AMODE(numeric={"size": way}).fit(X, Y)
    with pytest.raises(ValueError, match="numeric="):
        bntk.learn(X, numeric=way)


def test_weights_of_features_are_for_one_network() -> None:
    with pytest.raises(ArgumentError, match="is several networks"):
        bntk.AWNB(bntk.TAN(numeric="averaged")).fit(*rows())
    X, _ = rows()
    assert np.isfinite(bntk.AWNB(bntk.TAN(numeric="smooth"), n_trees=2).fit(*rows()).predict_proba(X)).all()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"centres": {"dict": [["size"', '"centres": {"dict": [["colour"'),
        ('"centres": {"dict": [["size", {"array": "float64", "shape": [5], "values": [', None),
    ],
)
def test_centres_in_a_file_must_fit(old: str, new: str | None) -> None:
    text = dump(fitted(bntk.NaiveBayes(numeric="smooth")))
    assert old in text
    with pytest.raises((ParseError, DataError), match="centre"):
        parse(
            text.replace(old, new if new is not None else old + "1e9, ", 1).replace(
                '"shape": [5], "values": [1e9', '"shape": [6], "values": [1e9'
            )
        )


def test_members_in_a_file_must_be_of_one_kind() -> None:
    text = dump(fitted(bntk.NaiveBayes(numeric="averaged")))
    with pytest.raises(ParseError, match="averaged"):
        parse(_without_members(text))


def _without_members(text: str) -> str:
    start = text.index('"members_": [') + len('"members_": [')
    return text[:start] + text[text.index("]", start) :]

"""Weights of rows, for every estimator: a weight is a number of rows, zero is absence, and small sums are scaled up."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import every
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import bntk
from bntk._declared import CLASSIFIERS, MULTI_CLASSIFIERS
from bntk.errors import ColumnWarning, DataError, UnseenStateWarning
from bntk.learning.counts import TableCounter

SHUFFLED = StratifiedKFold(3, shuffle=True, random_state=0)
# Where cells are missing, sums of families are said to be misled; that is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::bntk.errors.MissingValuesWarning")
ONE = [cls() for cls in CLASSIFIERS.load().values()]
SEVERAL = [cls() for cls in MULTI_CLASSIFIERS.load().values()]
ONE_MORE = [
    bntk.NaiveBayes(numeric="gaussian"),
    bntk.NaiveBayes(numeric="kde"),
    bntk.NaiveBayes(numeric="width", missing="state"),
    bntk.TAN(numeric="frequency", missing="em"),
    bntk.TAN(numeric="joint"),
    bntk.AODE(numeric="smooth"),
    bntk.AWNB(numeric="smooth:joint", n_trees=3),
    bntk.KDB(numeric="averaged"),
    bntk.TAN(search="hc"),
    bntk.TAN(search="superparent", criterion="lc"),
    bntk.KDB(search="hc", criterion="cv"),
    bntk.STAN(criterion="cv"),
    bntk.BAN(criterion=bntk.scores.LC(shuffle=3), max_parents=2),
    bntk.SemiNaiveBayes(search="bsej"),
    bntk.AWNB(bntk.TAN()),
    bntk.RMCV(criterion="accuracy", cv=StratifiedKFold(3, shuffle=True, random_state=1)),
    bntk.RMCV(alpha="auto", max_parents=2),
]
SEVERAL_MORE = [
    bntk.MDBNC(missing="em", class_shape="tree"),
    bntk.AMODE(missing="state"),
    bntk.BinaryRelevance(bntk.TAN(search="hc")),
    bntk.LabelPowerset(bntk.TAN()),
    bntk.ClassifierChain(bntk.AODE(), search="exact"),
    bntk.ClassifierChain(bntk.NaiveBayes(missing="state")),
    bntk.BayesianChain(bntk.KDB(1), structure="dag"),
    bntk.BayesianChain(given="features"),
    bntk.BayesianChain(given="features", cv=KFold(3, shuffle=True, random_state=1)),
    bntk.ChainEnsemble(bntk.TAN(), n_chains=2, proba="sampling", n_samples=20),
]


@cache
def rows(n: int = 60, seed: int = 0, holes: float = 0.08) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Labels, numbers and missing cells, and three class variables."""
    rng = np.random.default_rng(seed)
    c = rng.integers(3, size=n)
    a = np.where(rng.random(n) < 0.7, c, rng.integers(3, size=n))
    b = np.where(rng.random(n) < 0.6, (a + c) % 3, rng.integers(3, size=n))
    e = np.where(rng.random(n) < 0.8, b, rng.integers(4, size=n))
    X = pd.DataFrame({"a": np.array(list("pqr"))[a], "b": np.array(list("xyz"))[b], "e": np.array(list("klmn"))[e]})
    X = X.astype(object).assign(d=rng.choice(list("uvw"), n), x=rng.normal(c, 1.0).round(1))
    Y = pd.DataFrame({"y": c, "s": np.where(rng.random(n) < 0.7, a, e) % 2, "t": np.array(list("fgh"))[b]})
    return X.mask(rng.random(X.shape) < holes), Y


def weighted_and_repeated(estimator: Any, X: Any, y: Any, seed: int = 0) -> tuple[Any, Any]:
    """Two fits: with whole weights, some of them 0, and with rows that are there so many times."""
    weights = np.random.default_rng(seed).integers(0, 4, len(X))
    weights[0] = 0
    again = np.repeat(np.arange(len(X)), weights)
    return clone(estimator).fit(X, y, sample_weight=weights), clone(estimator).fit(X.iloc[again], y.iloc[again])


def check_same(one: Any, other: Any, X: Any) -> None:
    ours, theirs = one.predict_proba(X), other.predict_proba(X)
    for a, b in zip(ours, theirs, strict=True) if isinstance(ours, list) else [(ours, theirs)]:
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)
    for name in ("dag_", "order_", "alpha_", "features_"):
        if name == "features_" and hasattr(one, name):
            assert one.features_.variables == other.features_.variables
        elif hasattr(one, name):
            assert getattr(one, name) == getattr(other, name)


def with_strangers(X: pd.DataFrame, Y: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The same rows; the first has a state and classes that no other has."""
    X, Y = X.copy(), Y.copy()
    X.loc[0, "a"], Y.loc[0, "y"], Y.loc[0, "t"] = "never", 7, "never"
    return X, Y


@pytest.mark.parametrize("estimator", [*ONE, *ONE_MORE], ids=repr)
@pytest.mark.parametrize("seed", every(2, range(2)))
def test_a_weight_is_a_number_of_rows(estimator: Any, seed: int) -> None:
    X, Y = with_strangers(*rows(seed=seed))
    one, other = weighted_and_repeated(estimator, X, Y["y"], seed)
    assert 7 not in one.classes_
    check_same(one, other, X.iloc[1:])


@pytest.mark.parametrize("estimator", [*SEVERAL, *SEVERAL_MORE], ids=repr)
@pytest.mark.parametrize("seed", every(2, range(2)))
def test_a_weight_is_a_number_of_rows_for_several_class_variables(estimator: Any, seed: int) -> None:
    X, Y = with_strangers(*rows(seed=seed))
    Y = Y.astype(object).mask(np.random.default_rng(seed).random(Y.shape) < 0.1)
    one, other = weighted_and_repeated(estimator, X, Y, seed)
    assert [labels.tolist() for labels in one.classes_] == [labels.tolist() for labels in other.classes_]
    check_same(one, other, X.iloc[1:])


@pytest.mark.parametrize(
    "inner", [DecisionTreeClassifier(random_state=0), LogisticRegression(tol=1e-12, max_iter=5000)]
)
@pytest.mark.parametrize("kind", [bntk.BinaryRelevance, bntk.LabelPowerset, bntk.ClassifierChain, bntk.CircularChain])
def test_weights_reach_classifiers_of_other_packages(kind: Any, inner: Any) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)).round(1), columns=list("uvw"))
    Y = pd.DataFrame({"s": (X["u"] + rng.normal(size=80) > 0).astype(int), "t": (X["v"] > X["u"]).astype(int)})
    one, other = weighted_and_repeated(kind(inner), X, Y)
    for a, b in zip(one.predict_proba(X), other.predict_proba(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_an_estimator_that_takes_no_weights_is_named() -> None:
    X, Y = pd.DataFrame({"u": np.arange(10.0)}), pd.DataFrame({"s": [0, 1] * 5})
    with pytest.raises(TypeError, match="KNeighborsClassifier takes no sample_weight"):
        bntk.BinaryRelevance(KNeighborsClassifier()).fit(X, Y, sample_weight=np.ones(10))


@pytest.mark.parametrize(
    ("estimator", "known"),
    [
        (bntk.TAN(), 0.5),
        (bntk.NaiveBayes(numeric="gaussian"), 0.5),
        (bntk.NaiveBayes(numeric="kde"), 0.5),
        (bntk.TAN(n_classes=2), 0.0),
        (bntk.NaiveBayes(n_classes=2, numeric="gaussian"), 0.0),
    ],
    ids=repr,
)
def test_a_weight_is_a_number_of_rows_where_labels_are_missing(estimator: Any, known: float) -> None:
    X, Y = rows(holes=0)
    y = Y["s"].astype(object).where(np.random.default_rng(1).random(len(Y)) < known)
    X = X if known or isinstance(estimator, bntk.NaiveBayes) else X.drop(columns="x")
    one, other = weighted_and_repeated(estimator, X, y)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-7)


def test_a_column_that_identifies_rows_is_judged_by_their_weights() -> None:
    X, y = pd.DataFrame({"id": [f"r{i}" for i in range(30)], "a": list("xyz") * 10}), [0, 1] * 15
    with pytest.warns(ColumnWarning, match="'id' identifies rows: 30 states in 30 rows"):
        assert bntk.NaiveBayes().fit(X, y, np.full(30, 0.1)).features_.unused == ("id",)
    assert bntk.NaiveBayes().fit(X, y, np.full(30, 2)).features_.unused == ()
    assert bntk.NaiveBayes().fit(pd.concat([X, X]), y + y).features_.unused == ()


# ---- zero is absence -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "classifier", [bntk.TAN(), bntk.AODE(), bntk.AWNB(), bntk.RMCV(criterion="accuracy")], ids=repr
)
def test_what_a_row_of_weight_zero_holds_does_not_matter(classifier: Any) -> None:
    X, Y = rows()
    weights = np.ones(len(X))
    weights[[3, 8]] = 0
    y = Y["y"].astype(object)
    y[3] = None
    fitted = clone(classifier).fit(X, y, sample_weight=weights)
    check_same(fitted, clone(classifier).fit(X[weights > 0], Y["y"][weights > 0]), X)
    y[4] = None
    if not fitted._takes_unlabelled:
        with pytest.raises(ValueError, match="the class of row 4 is missing"):
            clone(classifier).fit(X, y, sample_weight=weights)


def test_more_rows_of_weight_zero_change_nothing() -> None:
    X, Y = rows()
    both, one = (bntk.TAN().partial_fit(X, Y["y"]) for _ in range(2))
    strange, labels = X.copy(), Y["y"].astype(object)
    strange.loc[1:, "a"], labels[1], labels[2] = "never", "no class", None
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnseenStateWarning)
        both.partial_fit(strange, Y["y"], sample_weight=np.r_[1.0, np.zeros(len(X) - 1)])
    one.partial_fit(X[:1], Y["y"][:1])
    np.testing.assert_array_equal(both.predict_proba(X), one.predict_proba(X))
    both.partial_fit(strange[:3], [0, 7, None], sample_weight=[2, 0, 0])
    one.partial_fit(X.iloc[[0, 0]], [0, 0])
    np.testing.assert_array_equal(both.predict_proba(X), one.predict_proba(X))


@pytest.mark.parametrize("estimator", [*ONE, *SEVERAL], ids=repr)
def test_all_weights_zero_are_refused(estimator: Any) -> None:
    X, Y = rows(20)
    with pytest.raises(ValueError, match="at least one non-zero number"):
        clone(estimator).fit(X, Y["y"] if estimator in ONE else Y, sample_weight=np.zeros(20))


def test_folds_that_are_given_are_those_of_all_rows() -> None:
    X, Y = rows()
    weights = np.random.default_rng(3).integers(0, 3, len(X))
    there, folds = weights > 0, np.arange(len(X)) % 3
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]
    kept = folds[there]
    of_kept = [(np.flatnonzero(kept != k), np.flatnonzero(kept == k)) for k in range(3)]
    for mine, theirs in ((folds, kept), (splits, of_kept)):
        one = bntk.RMCV(cv=mine).fit(X, Y["y"], weights)
        check_same(one, bntk.RMCV(cv=theirs).fit(X[there], Y["y"][there], weights[there]), X)
    chain = bntk.BayesianChain(given="features", cv=splits).fit(X, Y, weights)
    other = bntk.BayesianChain(given="features", cv=of_kept).fit(X[there], Y[there], weights[there])
    np.testing.assert_allclose(chain.gains_, other.gains_, rtol=1e-12)


# ---- small sums are scaled up ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [*ONE, *ONE_MORE, *SEVERAL, *SEVERAL_MORE], ids=repr)
def test_equal_weights_of_a_small_sum_are_no_weights(estimator: Any) -> None:
    X, Y = rows(40)
    y = Y["y"] if isinstance(estimator, tuple(CLASSIFIERS.load().values())) else Y
    plain = clone(estimator).fit(X, y)
    for weight in (1 / 40, 1e-9):
        check_same(clone(estimator).fit(X, y, sample_weight=np.full(40, weight)), plain, X)


@pytest.mark.parametrize("estimator", [bntk.TAN(), bntk.AODE(), bntk.MDBNC(), bntk.BinaryRelevance()], ids=repr)
def test_weights_are_scaled_up_to_the_number_of_rows_that_count_and_never_down(estimator: Any) -> None:
    X, Y = rows()
    y = Y["y"] if isinstance(estimator, tuple(CLASSIFIERS.load().values())) else Y
    weights = np.random.default_rng(0).random(len(X))
    weights[:5] = 0
    share = weights * 55 / weights.sum()
    check_same(clone(estimator).fit(X, y, weights / weights.sum()), clone(estimator).fit(X, y, share), X)
    heavy = clone(estimator).fit(X, y, np.full(len(X), 50))
    again = np.repeat(np.arange(len(X)), 50)
    check_same(heavy, clone(estimator).fit(X.iloc[again], y.iloc[again]), X)


def test_a_discretizer_scales_weights_too() -> None:
    X, Y = rows(200, holes=0)
    plain = bntk.Discretizer().fit(X[["x"]], Y["y"]).cuts_["x"]
    assert len(plain)
    np.testing.assert_array_equal(bntk.Discretizer().fit(X[["x"]], Y["y"], np.full(200, 1 / 200)).cuts_["x"], plain)


def test_partial_fit_takes_weights_as_they_are() -> None:
    X, Y = rows(holes=0)
    X, y, weights = X.drop(columns="x"), Y["y"], np.random.default_rng(0).random(60) * 4
    weights[:30] *= 0.1
    assert weights.sum() > 60 > weights[:30].sum() * 3
    parts = bntk.NaiveBayes()
    for part in (slice(0, 30), slice(30, 60)):
        parts.partial_fit(X[part], y[part], classes=[0, 1, 2], sample_weight=weights[part])
    check_same(parts, bntk.NaiveBayes().fit(X, y, weights), X)


def test_counts_are_not_scaled() -> None:
    bn = bntk.fit("a", {"a": ["x", "y"]}, prior=1, weights=[0.1, 0.3])
    np.testing.assert_allclose(bn.cpt("a").values, [1.1 / 2.4, 1.3 / 2.4])


# ---- scikit-learn's ensembles ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("inner", [bntk.NaiveBayes(), bntk.TAN(), bntk.KDB(2), bntk.AODE()], ids=repr)
def test_boosting_is_no_worse_than_what_it_boosts(inner: Any) -> None:
    X, y = bntk.datasets.car()
    alone = clone(inner).fit(X, y).score(X, y)
    boosted = AdaBoostClassifier(inner, n_estimators=10, random_state=0).fit(X, y)
    assert alone > 0.85
    assert boosted.score(X, y) >= alone - 0.005
    assert boosted.classes_.tolist() == ["acc", "good", "unacc", "vgood"]


PARTS = [("nb", bntk.NaiveBayes()), ("tan", bntk.TAN())]
#: Ensembles whose own part does not depend on the scale of weights, and those with a penalty or a prior of their own.
FREE = [
    BaggingClassifier(bntk.TAN(), n_estimators=5, random_state=0),
    StackingClassifier(PARTS, bntk.NaiveBayes(), cv=SHUFFLED),
    VotingClassifier(PARTS, voting="soft"),
    CalibratedClassifierCV(bntk.TAN(), method="isotonic", cv=SHUFFLED),
]
PENALISED = [
    StackingClassifier(PARTS, LogisticRegression(), cv=SHUFFLED),
    CalibratedClassifierCV(bntk.NaiveBayes(), cv=SHUFFLED),
]


@pytest.mark.parametrize(
    ("ensemble", "weight"),
    [
        *((each, w) for each in FREE for w in (None, 1 / 346, 2.0)),
        *((each, w) for each in PENALISED for w in (None, 2.0)),
    ],
)
@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_ensembles_take_frames_labels_weights_and_missing_values(ensemble: Any, weight: Any, holes: float) -> None:
    X, y = (each[::5] for each in bntk.datasets.car())  # every state of every column is there
    X = X.mask(np.random.default_rng(0).random(X.shape) < holes)
    model = clone(ensemble).fit(X, y, **({} if weight is None else {"sample_weight": np.full(len(y), weight)}))
    assert model.score(X, y) > 0.8
    assert model.predict_proba(X[:3]).shape == (3, 4)


# ---- sums that are no numbers of rows --------------------------------------------------------------------------------


def many(value: float) -> np.ndarray:
    return np.full(60, value)


@pytest.mark.parametrize("estimator", [*ONE, *SEVERAL], ids=repr)
def test_weights_that_overflow_or_that_floats_cannot_count_are_refused_by_estimators(estimator: Any) -> None:
    X, Y = rows()
    y = Y["y"] if estimator in ONE else Y
    with pytest.raises(DataError, match="the sum of sample_weight is inf.*divide all of them"):
        clone(estimator).fit(X, y, sample_weight=many(1e308))
    with pytest.raises(DataError, match="sample_weight: the weight of row 0 is 9.99989e-321, and the sum of all is"):
        clone(estimator).fit(X, y, sample_weight=many(1e-320))


TABLE, LABELS = rows(holes=0)[0][["a", "b"]], rows()[1]["y"]
DOORS = {
    "fit": lambda w: bntk.fit("a -> b", TABLE, weights=w),
    "em": lambda w: bntk.fit("a -> b", TABLE, weights=w, missing="em"),
    "hidden": lambda w: bntk.fit("h -> a; h -> b", TABLE, 1, weights=w, variables=[bntk.Variable("h", [0, 1])]),
    "learn": lambda w: bntk.learn(TABLE, weights=w),
    "structural_em": lambda w: bntk.structural_em(TABLE, weights=w),
    "counter": lambda w: TableCounter(bntk.Table.from_frame(TABLE), w),
    "update": lambda w: TableCounter(bntk.Table.from_frame(TABLE)).update(bntk.Table.from_frame(TABLE), w),
    "cuts": lambda w: bntk.cuts.mdl_cuts(np.arange(60), LABELS, w),
    "frequency": lambda w: bntk.cuts.frequency_cuts(np.arange(60), weights=w),
}


@pytest.mark.parametrize("door", DOORS)
def test_weights_that_overflow_or_that_floats_cannot_count_are_refused(door: str) -> None:
    with pytest.raises(DataError, match="the sum of weights is inf, above 1e\\+100"):
        DOORS[door](many(1e308))
    with pytest.raises(DataError, match="the sum of weights is 6e\\+119"):
        DOORS[door](many(1e118))
    with pytest.raises(DataError, match="the weight of row 0 is 9.99989e-321, and the sum of all is 5.99993e-319"):
        DOORS[door](many(1e-320))


@pytest.mark.parametrize("size", [1e-299, 1e-9, 1e9, 1e97])
@pytest.mark.parametrize("how", ["gaussian", "kde", "multinomial", "mdl"])
def test_weights_within_the_limits_give_probabilities(size: float, how: str) -> None:
    X, Y = rows(holes=0)
    X, y = X[["x"]] + 10, Y["y"]
    plain, model = (bntk.NaiveBayes(numeric=how, prior="mle").fit(X, y, many(each)) for each in (100.0, size))
    if how != "kde" and how != "mdl":  # whose widths and cuts depend on the number of rows
        np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-9)
    assert np.isfinite(model.predict_proba(X)).all()
    more = model.partial_fit(X, y, sample_weight=many(size))
    assert np.isfinite(more.predict_proba(X)).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: bntk.fit("a -> b", TABLE, prior=1e308),
        lambda: bntk.fit("a -> b", TABLE, prior=1e308, missing="em"),
        lambda: bntk.fit("a -> b", TABLE, prior={"a": [1, 1, 1e308]}),
        lambda: bntk.NaiveBayes(prior=1e308).fit(TABLE, LABELS),
        lambda: bntk.AMODE(prior=1e308).fit(TABLE, LABELS.to_frame()),
        lambda: bntk.ClassifierChain(bntk.NaiveBayes(prior=1e308)).fit(TABLE, LABELS.to_frame()),
        lambda: bntk.priors.BDeu(1e308),
        lambda: bntk.priors.BDeu.per_class(1e308),
        lambda: bntk.priors.BDeu.per_class(9e99, n_classes=20),
        lambda: bntk.priors.Backoff(rows=1e308),
        lambda: bntk.priors.Backoff(alpha=1e-320),
        lambda: bntk.scores.BDeu(1e308),
        lambda: bntk.fit("a -> b", TABLE, prior=Own(1e308)),
        lambda: bntk.fit("a -> b", TABLE, prior=Own([1.0, 1.0, 1e308])),
        lambda: bntk.AODE(prior=Own(1e308)).fit(TABLE, LABELS),
        lambda: bntk.fit("a", TABLE, prior=Own(float("nan"))),
    ],
)
def test_priors_that_overflow_are_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="pseudo-count"):
        make()


class Own(bntk.priors.Prior):
    """A prior of the user's own."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def pseudo_count(self, child: Any, q: int) -> Any:
        return self.value if isinstance(self.value, float) else np.array(self.value)


@pytest.mark.parametrize("how", ["gaussian", "kde", "multinomial"])
def test_numbers_that_a_density_cannot_add_up_are_refused_by_column(how: str) -> None:
    X = pd.DataFrame({"small": np.arange(60.0), "large": np.linspace(1e307, 1e308, 60)})
    with pytest.raises(DataError, match="column 'large' holds numbers so large that their"):
        bntk.NaiveBayes(numeric=how).fit(X, LABELS)


def test_counts_of_a_network_that_overflow_are_refused_when_rows_are_added() -> None:
    bn = bntk.fit("a", {"a": [0, 1]})
    (cpt,) = bn.cpts
    huge = bn._with_cpts([bntk.CPT._trusted(cpt.child, cpt.values, (), np.full(2, 1e308))])
    with pytest.raises(bntk.errors.NetworkError, match=r"the counts of \['a'\] sum to inf"):
        huge.update({"a": [0, 1]})


@pytest.mark.parametrize("labels", [[1, True, 2, 1, True, 2], [0.0, False, None, 0.0, False, 1.0]])
def test_truth_values_and_equal_numbers_in_an_array_of_objects_are_refused_by_name(labels: list[Any]) -> None:
    X = np.array([labels, [1, 2, 3, 4, 5, 6]], dtype=object).T
    with pytest.raises(DataError, match="column 'x0' holds both"):
        bntk.NaiveBayes().fit(X, [0, 1, 0, 1, 0, 1])


def test_large_whole_numbers_in_an_array_of_objects_are_told_apart() -> None:
    y = np.arange(40) % 2
    X = np.array([[2**53 + int(label), 2**70 + int(label)] for label in y], dtype=object)
    assert (bntk.NaiveBayes(numeric="category").fit(X, y).predict(X) == y).all()
    with pytest.raises(DataError, match=r"column 'x0' holds whole numbers beyond 2\*\*53"):
        bntk.NaiveBayes(numeric="mdl").fit(X, y)


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, lambda rows: rows.tolist()], ids=["array", "frame", "list"])
def test_a_discretizer_refuses_whole_numbers_that_floats_cannot_tell_apart(make: Any) -> None:
    y = np.arange(40) % 2
    X = make((2**53 + y).reshape(-1, 1))
    with pytest.raises(DataError, match=r"holds whole numbers beyond 2\*\*53"):
        bntk.Discretizer().fit(X, y)
    bntk.Discretizer().fit(make((2**53 + 2 * y).reshape(-1, 1)), y)  # all of them floats

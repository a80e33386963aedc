"""Classifiers of several class variables made of classifiers of one: equal to what their definitions say, by hand."""

from __future__ import annotations

import itertools
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mutual_info_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.multioutput import ClassifierChain as SklearnChain
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import bntk
from bntk.classifiers.base import BayesClassifier
from bntk.classifiers.composed import chain_search
from bntk.errors import DataError, TooLargeError

ALL = [
    bntk.BinaryRelevance,
    bntk.LabelPowerset,
    bntk.ClassifierChain,
    bntk.CircularChain,
    bntk.BayesianChain,
    bntk.ChainEnsemble,
]
LABELS = {"colour": ["blue", "green", "red"], "big": [0, 1], "old": [False, True], "shape": ["flat", "round"]}


@pytest.mark.parametrize("chain", [bntk.ClassifierChain, bntk.CircularChain, bntk.ChainEnsemble])
@pytest.mark.parametrize(
    "numeric", ["auto", {"a": [0.0]}, "smooth", "frequency", "joint", "hartemink", "averaged", {"a": "smooth:joint"}]
)
def test_labels_are_features_of_naive_bayes_also_where_numbers_are_interpolated(chain, numeric):
    X, Y = data(numbers=True)
    one, other = (
        chain(kind(numeric=numeric)).fit(X, Y).predict_proba(X) for kind in (bntk.NaiveBayes, OtherNaiveBayes)
    )
    for got, expected in zip(one, other, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9)


class OtherNaiveBayes(bntk.NaiveBayes):
    """Naive Bayes that is not recognised as such, so that labels go through columns of X."""


def data(seed=0, n=80, numbers=False, holes=0.0, lacking=0.0):
    """Features and labels that depend on them and on each other; holes in X, lacking labels in Y."""
    g = np.random.default_rng(seed)
    x = g.normal(size=(n, 4))
    big = (x[:, 0] + 0.7 * g.normal(size=n) > 0).astype(int)
    colour = np.digitize(x[:, 1] + big + 0.7 * g.normal(size=n), [0, 1])
    old = (x[:, 2] + colour - 1 + 0.7 * g.normal(size=n)) > 0
    shape = (big + old + 0.7 * g.normal(size=n)) > 1
    Y = pd.DataFrame({"colour": np.array(LABELS["colour"])[colour], "big": big, "old": old})
    Y["shape"] = np.array(LABELS["shape"])[shape.astype(int)]
    for name, labels in LABELS.items():  # so that every label is there
        Y.loc[Y.index[: len(labels)], name] = labels
    X = pd.DataFrame(x, columns=list("abcd"))
    if not numbers:
        X = X.apply(lambda column: pd.cut(column, [-9, -0.5, 0.5, 9], labels=["low", "mid", "high"]))
    X = X.mask(g.random(X.shape) < holes)
    if lacking:
        Y = Y.astype(object).mask(g.random(Y.shape) < lacking)
    return X, Y


def label_column(name, labels):
    return pd.Categorical(labels, categories=LABELS[name])


def by_hand(base, X, Y, parents):
    """One fitted classifier for each class variable, given its parents, and P(label | X, labels of the parents)."""
    models = {}
    for name in Y:
        known = Y[name].notna().to_numpy()
        more = X[known].assign(**{p: label_column(p, Y.loc[known, p]) for p in parents[name]})
        models[name] = clone(base).fit(more, Y.loc[known, name].to_numpy(dtype=type(LABELS[name][0])))

    def probability(name, rows, given):
        return models[name].predict_proba(
            rows.assign(**{p: label_column(p, [given[p]] * len(rows)) for p in parents[name]})
        )

    return models, probability


def joint_by_hand(probability, X, names):
    """P(combination | row) for all combinations, the last name fastest."""
    columns = []
    for combination in itertools.product(*(LABELS[name] for name in names)):
        given = dict(zip(names, combination, strict=True))
        factors = [probability(name, X, given)[:, LABELS[name].index(given[name])] for name in names]
        columns.append(np.prod(factors, axis=0))
    return np.column_stack(columns)


def chain_parents(order):
    return {name: list(order[:place]) for place, name in enumerate(order)}


def marginals_by_hand(joint, names):
    cells = list(itertools.product(*(LABELS[name] for name in names)))
    return [
        np.column_stack(
            [joint[:, [k for k, cell in enumerate(cells) if cell[j] == label]].sum(axis=1) for label in LABELS[name]]
        )
        for j, name in enumerate(names)
    ]


def probability_of(joint, predicted, names):
    """The probability that each row's predicted combination has."""
    cells = {cell: k for k, cell in enumerate(itertools.product(*(LABELS[name] for name in names)))}
    return joint[np.arange(len(joint)), [cells[tuple(row)] for row in predicted.itertuples(index=False)]]


# ---- chains against enumeration ----------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [bntk.NaiveBayes(), OtherNaiveBayes(), bntk.TAN()], ids=["nb", "columns", "tan"])
@pytest.mark.parametrize("order", [["colour", "big", "old", "shape"], ["shape", "old", "colour", "big"]])
def test_a_chain_is_the_product_of_its_links(base, order):
    X, Y = data()
    _, probability = by_hand(base, X, Y, chain_parents(order))
    expected = joint_by_hand(probability, X, list(Y))
    chain = bntk.ClassifierChain(base, order=order, search="exact").fit(X, Y)
    np.testing.assert_allclose(chain.predict_joint_proba(X), expected, atol=1e-12)
    np.testing.assert_allclose(expected.sum(axis=1), 1, atol=1e-12)
    assert chain.proba_ == "exact"
    for ours, theirs in zip(chain.predict_proba(X), marginals_by_hand(expected, list(Y)), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    np.testing.assert_allclose(probability_of(expected, chain.predict(X), list(Y)), expected.max(axis=1), atol=1e-12)
    assert chain.order_ == order


@pytest.mark.parametrize("few", [1, 10_000])
@pytest.mark.parametrize("base", [bntk.NaiveBayes(), bntk.TAN(), LogisticRegression()], ids=["nb", "tan", "logistic"])
def test_exact_search_finds_the_mode(base, few, monkeypatch):
    monkeypatch.setattr(chain_search, "FEW_COMBINATIONS", few)  # best first, or all at once
    X, Y = data(seed=1, numbers=True)
    chain = bntk.ClassifierChain(base, search="exact", order="random", random_state=3).fit(X, Y)
    joint = chain.predict_joint_proba(X)
    np.testing.assert_allclose(probability_of(joint, chain.predict(X), list(Y)), joint.max(axis=1), rtol=1e-12)
    assert (chain.predict(X) != clone(chain).set_params(search="greedy").fit(X, Y).predict(X)).any(axis=None)


@given(st.integers(0, 10**6), st.sampled_from([1, 3, 24, 100]))
@settings(max_examples=15)
def test_beam_search_lies_between_greedy_and_exact(seed, width):
    X, Y = data(seed=seed, n=40)
    chain = bntk.ClassifierChain(search="beam", beam=width, order="random", random_state=seed).fit(X, Y)
    other = clone(chain).set_params(search="greedy" if width == 1 else "exact").fit(X, Y)
    joint = chain.predict_joint_proba(X)
    found, best = (probability_of(joint, model.predict(X), list(Y)) for model in (chain, other))
    if width in (1, 24, 100):  # of 24 combinations
        pd.testing.assert_frame_equal(chain.predict(X), other.predict(X))
    assert (found <= best + 1e-12).all()


def test_of_equally_probable_combinations_the_first_in_the_chain_wins():
    X = pd.DataFrame({"a": ["x", "x", "x", "x"]})
    Y = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])  # every label is even odds, whatever came before it
    beams = [{"search": "beam", "beam": width} for width in (1, 2, 3, 8)]
    for options in ({"search": "exact"}, {"search": "greedy"}, *beams):
        chain = bntk.ClassifierChain(estimator=bntk.NaiveBayes(prior=1e6), **options).fit(X, Y)
        assert chain.predict(X[:1]).tolist() == [[0, 0, 0]]


# ---- naive Bayes by its terms ------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [1.0, "mle", bntk.priors.BDeu(5.0), bntk.priors.Dirichlet({"big": 3.0, "a": 2.0})])
@pytest.mark.parametrize("kind", ["labels", "numbers", "gaussian", "holes", "lacking"])
def test_naive_bayes_by_terms_is_naive_bayes_by_columns(kind, prior):
    X, Y = data(
        seed=4,
        numbers=kind in ("numbers", "gaussian"),
        holes=0.2 * (kind == "holes"),
        lacking=0.2 * (kind == "lacking"),
    )
    options = {"prior": prior, "numeric": "gaussian" if kind == "gaussian" else "mdl"}
    for chain in (bntk.ClassifierChain(search="exact"), bntk.BayesianChain(), bntk.CircularChain()):
        terms = clone(chain).set_params(estimator=bntk.NaiveBayes(**options)).fit(X, Y)
        columns = clone(chain).set_params(estimator=OtherNaiveBayes(**options)).fit(X, Y)
        for ours, theirs in zip(terms.predict_proba(X), columns.predict_proba(X), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_the_whole_naive_bayes_of_a_link_can_be_had():
    X, Y = data(seed=5)
    order = list(Y)
    models, _ = by_hand(bntk.NaiveBayes(), X, Y, chain_parents(order))
    chain = bntk.ClassifierChain().fit(X, Y)
    for name, ours in zip(Y, chain.estimators_, strict=True):
        theirs = models[name]
        assert ours.feature_names_in_.tolist() == theirs.feature_names_in_.tolist()
        assert {v.name for v in ours.network_.variables} - {name} == {*X.columns, *order[: order.index(name)]}
        more = X.assign(**{p: label_column(p, Y[p]) for p in order[: order.index(name)]})
        np.testing.assert_allclose(ours.predict_proba(more), theirs.predict_proba(more), atol=1e-12)


# ---- missing labels ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [bntk.NaiveBayes(), bntk.TAN(), bntk.NaiveBayes(missing="state")])
def test_a_row_without_a_label_counts_for_the_others(base):
    X, Y = data(seed=6, lacking=0.15)
    order = list(Y)
    _, probability = by_hand(base, X, Y, chain_parents(order))
    chain = bntk.ClassifierChain(base).fit(X, Y)
    np.testing.assert_allclose(chain.predict_joint_proba(X), joint_by_hand(probability, X, order), atol=1e-12)
    _, probability = by_hand(base, X, Y, {name: [] for name in Y})
    alone = bntk.BinaryRelevance(estimator=base).fit(X, Y)
    for name, ours in zip(Y, alone.predict_proba(X), strict=True):
        np.testing.assert_allclose(ours, probability(name, X, {}), atol=1e-12)


def test_a_base_that_refuses_missing_cells_learns_from_rows_with_the_labels_of_all_parents():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    Y = pd.DataFrame({"a": X[:, 0] + rng.normal(size=300) > 0, "b": X[:, 1] + X[:, 0] > 0}).astype(float)
    lacking = Y.mask(rng.random(Y.shape) < 0.2)
    chain = bntk.ClassifierChain(estimator=LogisticRegression()).fit(X, lacking)
    with_a, with_both = lacking["a"].notna(), lacking.notna().all(axis=1)
    first = LogisticRegression().fit(X[with_a], lacking["a"][with_a])
    second = LogisticRegression().fit(np.column_stack([X, lacking["a"]])[with_both], lacking["b"][with_both])
    np.testing.assert_allclose(chain.estimators_[0].coef_, first.coef_)
    np.testing.assert_allclose(chain.estimators_[1].coef_, second.coef_)
    takes_them = bntk.ClassifierChain(estimator=HistGradientBoostingClassifier(max_iter=3)).fit(X, lacking)
    every_b = HistGradientBoostingClassifier(max_iter=3)
    with_b = lacking["b"].notna()
    every_b.fit(np.column_stack([X, lacking["a"]])[with_b], lacking["b"][with_b])
    both = np.column_stack([X, np.zeros(len(X))])
    np.testing.assert_allclose(takes_them.estimators_[1].predict_proba(both), every_b.predict_proba(both))
    nobody = pd.DataFrame({"a": [0, 1] * 2 + [None] * 4, "b": [None] * 4 + [0, 1] * 2})
    with pytest.raises(DataError, match="no row has all the labels of 'b', 'a'"):
        bntk.ClassifierChain(estimator=LogisticRegression()).fit(X[:8], nobody)


def test_label_powerset_learns_from_rows_with_all_labels():
    X, Y = data(seed=6, lacking=0.1)
    whole = Y.notna().all(axis=1)
    ours = bntk.LabelPowerset().fit(X, Y).predict_proba(X)
    theirs = bntk.LabelPowerset().fit(X[whole], Y[whole].astype({"big": int, "old": bool})).predict_proba(X)
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p, q, atol=1e-12)
    with pytest.raises(DataError, match="every row lacks a label"):
        bntk.LabelPowerset().fit(X[:2], [[0.0, np.nan], [np.nan, 1.0]])


# ---- binary relevance and label powerset -------------------------------------------------------------------------


@pytest.mark.parametrize("base", [bntk.NaiveBayes(), bntk.TAN(), bntk.AODE(), DecisionTreeClassifier(random_state=0)])
def test_binary_relevance_is_one_classifier_for_each_class_variable(base):
    X, Y = data(seed=7, numbers=True)
    model = bntk.BinaryRelevance(estimator=base).fit(X, Y)
    predicted, probabilities = model.predict(X), model.predict_proba(X)
    joint = np.ones((len(X), 1))
    for name, ours in zip(Y, probabilities, strict=True):
        alone = clone(base).fit(X, Y[name])
        np.testing.assert_allclose(ours, alone.predict_proba(X), atol=1e-12)
        assert predicted[name].tolist() == alone.predict(X).tolist()
        joint = (joint[:, :, None] * ours[:, None, :]).reshape(len(X), -1)
    np.testing.assert_allclose(model.predict_joint_proba(X), joint, atol=1e-12)


@pytest.mark.parametrize("base", [bntk.NaiveBayes(), bntk.TAN(), LogisticRegression()], ids=["nb", "tan", "logistic"])
def test_label_powerset_is_one_classifier_of_the_combinations(base):
    X, Y = data(seed=8, numbers=True)
    together = Y.astype(str).agg("|".join, axis=1)
    alone = clone(base).fit(X, together)
    model = bntk.LabelPowerset(estimator=base).fit(X, Y)
    assert model.predict(X).astype(str).agg("|".join, axis=1).tolist() == alone.predict(X).tolist()
    cells = ["|".join(map(str, cell)) for cell in itertools.product(*LABELS.values())]
    joint = np.zeros((len(X), len(cells)))
    joint[:, [cells.index(label) for label in alone.classes_]] = alone.predict_proba(X)
    np.testing.assert_allclose(model.predict_joint_proba(X), joint, atol=1e-12)
    for ours, theirs in zip(model.predict_proba(X), marginals_by_hand(joint, list(Y)), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


# ---- circular chains ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [bntk.NaiveBayes(), bntk.TAN()], ids=["nb", "tan"])
def test_a_circular_chain_ends_where_no_label_would_change(base):
    X, Y = data(seed=9)
    chain = bntk.CircularChain(estimator=base, max_iter=50).fit(X, Y)
    converged = chain.convergence(X).converged
    assert converged.mean() > 0.9
    X = X[converged]
    predicted = chain.predict(X)
    models, _ = by_hand(base, *data(seed=9), {name: [other for other in Y if other != name] for name in Y})
    for name, model in models.items():
        more = X.assign(**{p: label_column(p, predicted[p]) for p in Y if p != name})
        assert model.predict(more).tolist() == predicted[name].tolist()
        np.testing.assert_allclose(chain.predict_proba(X)[list(Y).index(name)], model.predict_proba(more), atol=1e-12)


def test_the_first_cycle_is_that_of_a_chain_and_later_ones_go_on_from_it():
    X, Y = data(seed=10, n=300)
    once = bntk.CircularChain(max_iter=1, order="random", random_state=2).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match=r"300 of 300 rows still change after max_iter=1"):
        predicted = once.predict(X)
    pd.testing.assert_frame_equal(predicted, bntk.ClassifierChain(order="random", random_state=2).fit(X, Y).predict(X))
    twice = bntk.CircularChain(max_iter=2, order=once.order_).fit(X, Y)
    by_turns, at_once = predicted.copy(), predicted.copy()
    for name in once.order_:
        for found, others in ((by_turns, by_turns), (at_once, predicted)):
            more = X.assign(**{p: label_column(p, others[p]) for p in Y if p != name})
            found[name] = twice.estimators_[list(Y).index(name)].predict(more)
    settled = twice.convergence(X)
    assert (settled.cycles == 2).all()
    assert 0 < settled.converged.mean() < 1
    with pytest.warns(ConvergenceWarning):
        second = twice.predict(X)
    assert (second == by_turns).all(axis=None)
    assert (by_turns != at_once).any(axis=None)


# ---- Bayesian chains ---------------------------------------------------------------------------------------------


def test_the_tree_of_a_bayesian_chain_is_the_maximum_spanning_tree_by_mutual_information():
    X, Y = data(seed=11, n=300)
    graph = nx.Graph()
    for a, b in itertools.combinations(Y, 2):
        graph.add_edge(a, b, weight=mutual_info_score(Y[a], Y[b]))
    expected = {frozenset(edge) for edge in nx.maximum_spanning_tree(graph).edges}
    for root in (None, "old"):
        dag = bntk.BayesianChain(root=root).fit(X, Y).dag_
        assert {frozenset(arc) for arc in dag.arcs} == expected
        assert [name for name in Y if not dag.parents(name)] == [root or "colour"]


@pytest.mark.parametrize("structure", ["tree", "dag", "big -> colour; big -> shape; old -> shape; colour -> shape"])
@pytest.mark.parametrize("base", [bntk.NaiveBayes(), bntk.TAN()], ids=["nb", "tan"])
def test_a_bayesian_chain_is_the_product_over_its_network(structure, base):
    X, Y = data(seed=12, n=200)
    chain = bntk.BayesianChain(estimator=base, structure=structure, search="exact").fit(X, Y)
    assert chain.dag_.arcs
    X = X[:50]
    parents = {name: sorted(chain.dag_.parents(name), key=list(Y).index) for name in Y}
    _, probability = by_hand(base, *data(seed=12, n=200), parents)
    expected = joint_by_hand(probability, X, list(Y))
    np.testing.assert_allclose(chain.predict_joint_proba(X), expected, atol=1e-12)
    for ours, theirs in zip(chain.predict_proba(X), marginals_by_hand(expected, list(Y)), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    np.testing.assert_allclose(probability_of(expected, chain.predict(X), list(Y)), expected.max(axis=1), atol=1e-12)


def test_a_tree_of_many_class_variables_is_exact():
    g = np.random.default_rng(0)
    Y = (g.random((60, 40)).cumsum(axis=1) > np.arange(1, 41) / 2).astype(int)
    X = np.column_stack([Y[:, ::7] + g.normal(size=(60, 6))])
    chain = bntk.BayesianChain(search="exact").fit(X, Y)
    assert chain.proba_ == "exact"
    sampled = clone(chain).set_params(proba="sampling", n_samples=2000).fit(X, Y).predict_proba(X)
    for exact, estimate in zip(chain.predict_proba(X), sampled, strict=True):
        np.testing.assert_allclose(exact.sum(axis=1), 1, atol=1e-12)
        assert np.abs(exact - estimate).max() < 5 * 0.5 / np.sqrt(2000)
    with pytest.raises(TooLargeError, match="combinations of labels"):
        chain.predict_joint_proba(X)


# ---- Bayesian chains given the features ----------------------------------------------------------------------------


def data_with_a_common_cause(seed=0, n=3000):
    """y0 and y1 depend on each other through x only; y2 depends on y0 also given x, but less than y1 without x."""
    g = np.random.default_rng(seed)
    x = g.integers(2, size=n)
    y0, y1 = (np.where(g.random(n) < 0.1, 1 - x, x) for _ in range(2))
    y2 = np.where(g.random(n) < 0.25, 1 - y0, y0)
    return pd.DataFrame({"x": np.array(["u", "v"])[x]}), pd.DataFrame({"y0": y0, "y1": y1, "y2": y2})


def one_hot_logistic():
    return make_pipeline(OneHotEncoder(drop="if_binary"), LogisticRegression())


@pytest.mark.parametrize("base", [bntk.NaiveBayes(), bntk.TAN(), one_hot_logistic()], ids=["nb", "tan", "logistic"])
def test_labels_with_a_common_cause_among_the_features_are_joined_only_without_the_features(base):
    X, Y = data_with_a_common_cause()
    marginal, conditional = (bntk.BayesianChain(base, given=given).fit(X, Y) for given in (None, "features"))
    assert ("y0", "y1") in marginal.dag_.arcs
    assert marginal.gains_ is None
    joined = {frozenset(arc) for arc in conditional.dag_.arcs}
    assert frozenset(("y0", "y1")) not in joined
    assert frozenset(("y0", "y2")) in joined


def test_gains_estimate_the_conditional_mutual_information():
    X, Y = data_with_a_common_cause(seed=1, n=20_000)
    chain = bntk.BayesianChain(bntk.TAN(), given="features").fit(X, Y)
    within = [
        [np.average([mutual_info_score(Y.loc[rows, a], Y.loc[rows, b]) for rows in X.groupby("x").groups.values()],
                    weights=X.groupby("x").size()) for a in Y] for b in Y
    ]  # fmt: skip
    np.testing.assert_allclose(
        chain.gains_[~np.eye(3, dtype=bool)], np.array(within)[~np.eye(3, dtype=bool)], atol=2e-3
    )


def gains_by_hand(base, X, Y, splits, lists=LABELS):
    """The mean gains with scikit-learn's cross_val_predict; probabilities are at least 1 / rows learned from."""
    least = np.empty(len(X))
    for learned, held in splits:
        least[held] = 1 / len(learned)

    def logs(name, features):
        labels = np.searchsorted(lists[name], Y[name])
        p = cross_val_predict(base, features, labels, cv=splits, method="predict_proba")
        return np.log(np.maximum(p[np.arange(len(X)), labels], least))

    found = np.zeros((Y.shape[1], Y.shape[1]))
    for i, name in enumerate(Y):
        alone = logs(name, X)
        for j, other in enumerate(Y):
            if i != j:
                if isinstance(base, BayesClassifier):
                    more = X.assign(**{other: pd.Categorical(Y[other], categories=lists[other])})
                else:
                    codes = np.searchsorted(lists[other], Y[other])
                    columns = [codes] if len(lists[other]) == 2 else [codes == k for k in range(len(lists[other]))]
                    more = np.column_stack([X, *columns])
                found[i, j] = np.mean(logs(name, more) - alone)
    return found


WITH_EVERY_CV = bntk.NaiveBayes(), DecisionTreeClassifier(random_state=0)  # the way to the folds is the same for all


@pytest.mark.parametrize(
    "base",
    [
        WITH_EVERY_CV[0], OtherNaiveBayes(), bntk.TAN(), bntk.AWNB(bntk.FAN(), n_trees=2), LogisticRegression(),
        WITH_EVERY_CV[1], make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=["nb", "columns", "tan", "awnb", "logistic", "tree", "pipeline"],
)  # fmt: skip
def test_gains_are_those_of_cross_validated_predictions(base):
    X, Y = data(seed=20, n=150, numbers=not isinstance(base, BayesClassifier))
    Y = Y[["colour", "big", "shape"]]
    splits = list(KFold(3, shuffle=True, random_state=3).split(X))
    expected = gains_by_hand(base, X if isinstance(base, BayesClassifier) else X.to_numpy(), Y, splits)
    for cv in (3, KFold(3, shuffle=True, random_state=3), splits) if base in WITH_EVERY_CV else (3,):
        chain = bntk.BayesianChain(base, given="features", cv=cv, random_state=3).fit(X, Y)
        np.testing.assert_allclose(chain.gains_, expected, atol=1e-9)
    graph = nx.Graph()
    graph.add_nodes_from(Y)
    mean = (expected + expected.T) / 2
    for (i, a), (j, b) in itertools.combinations(enumerate(Y), 2):
        if mean[i, j] > 0:
            graph.add_edge(a, b, weight=mean[i, j])
    edges = {frozenset(edge) for edge in nx.maximum_spanning_tree(graph).edges}
    assert {frozenset(arc) for arc in chain.dag_.arcs} == edges
    rooted = bntk.BayesianChain(base, given="features", cv=splits, root="shape").fit(X, Y).dag_
    assert {frozenset(arc) for arc in rooted.arcs} == edges
    assert rooted.parents("shape") == ()
    assert all(len(rooted.parents(name)) <= 1 for name in Y)


@pytest.mark.parametrize("base", [bntk.NaiveBayes(), bntk.TAN(), LogisticRegression()], ids=["nb", "tan", "logistic"])
def test_a_tree_given_the_features_does_not_depend_on_threads(base):
    X, Y = data(seed=21, n=200, numbers=True)
    one, three = (bntk.BayesianChain(base, given="features", cv=3, n_jobs=n).fit(X, Y) for n in (1, 3))
    np.testing.assert_array_equal(one.gains_, three.gains_)
    assert one.dag_ == three.dag_
    other = bntk.BayesianChain(base, given="features", cv=3, random_state=1).fit(X, Y)
    assert not np.array_equal(one.gains_, other.gains_)  # other folds


@pytest.mark.parametrize("base", [bntk.NaiveBayes(), bntk.TAN(unseen="error"), LogisticRegression()])
def test_labels_and_states_that_a_fold_lacks_are_no_trouble(base):
    X, Y = data(seed=22, n=120, numbers=not isinstance(base, BayesClassifier), lacking=0.15)
    Y["colour"] = Y["colour"].replace("red", "blue")
    Y.loc[7, "colour"] = "red"  # once
    if isinstance(base, BayesClassifier):
        X = X.astype(object)
        X.loc[11, "a"] = "only here"
    splits = [(np.arange(30, 120), np.arange(30)), (np.arange(60), np.arange(60, 120))]
    chain = bntk.BayesianChain(base, given="features", cv=splits, search="exact").fit(X, Y)
    assert np.isfinite(chain.gains_).all()
    assert (chain.gains_ != 0).sum() == 12
    assert np.isfinite(np.concatenate([p.ravel() for p in chain.predict_proba(X)])).all()


def test_a_tree_given_the_features_comes_back_from_a_file(tmp_path):
    X, Y = data(seed=23, n=200)
    chain = bntk.BayesianChain(bntk.TAN(), given="features").fit(X, Y)
    chain.save(tmp_path / "chain.json")
    again = bntk.load(tmp_path / "chain.json")
    np.testing.assert_array_equal(again.gains_, chain.gains_)
    assert (again.given, again.dag_) == ("features", chain.dag_)
    pd.testing.assert_frame_equal(again.predict(X), chain.predict(X))


# ---- probabilities -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [bntk.NaiveBayes(), bntk.TAN()], ids=["nb", "tan"])
def test_samples_estimate_the_marginals(base):
    X, Y = data(seed=13)
    exact = bntk.ClassifierChain(base, proba="exact").fit(X, Y)
    sampling = bntk.ClassifierChain(base, proba="sampling", n_samples=1000).fit(X, Y)
    first, again = sampling.predict_proba(X), sampling.predict_proba(X)
    assert sampling.proba_ == "sampling"
    for p, q, r in zip(exact.predict_proba(X), first, again, strict=True):
        assert np.array_equal(q, r)
        assert np.abs(p - q).max() < 5 * 0.5 / np.sqrt(1000)
    np.testing.assert_allclose(exact.predict_proba(X)[0], first[0], atol=1e-12)  # nothing is sampled before it


def test_exact_probabilities_of_too_many_combinations_are_refused():
    g = np.random.default_rng(0)
    X, Y = g.normal(size=(40, 3)), g.integers(0, 2, (40, 20))
    with pytest.raises(TooLargeError, match="1,048,576 combinations"):
        bntk.ClassifierChain(proba="exact").fit(X, Y)
    assert bntk.ClassifierChain(search="beam").fit(X, Y).proba_ == "sampling"
    assert bntk.ClassifierChain().fit(X, Y).proba_ == "path"


def test_an_ensemble_is_the_mean_of_its_chains():
    X, Y = data(seed=14, numbers=True)
    for base in (bntk.NaiveBayes(), bntk.TAN(), DecisionTreeClassifier(max_depth=3, random_state=0)):
        ensemble = bntk.ChainEnsemble(base, n_chains=4, random_state=1).fit(X, Y)
        assert len({tuple(chain.order_) for chain in ensemble.chains_}) > 1
        members = [
            bntk.ClassifierChain(base, order=chain.order_).fit(X, Y).predict_proba(X) for chain in ensemble.chains_
        ]
        predicted = ensemble.predict(X)
        for j, ours in enumerate(ensemble.predict_proba(X)):
            mean = np.mean([member[j] for member in members], axis=0)
            np.testing.assert_allclose(ours, mean, atol=1e-12)
            assert predicted.iloc[:, j].tolist() == ensemble.classes_[j][ours.argmax(axis=1)].tolist()
        np.testing.assert_allclose(
            ensemble.predict_joint_proba(X),
            np.mean([chain.predict_joint_proba(X) for chain in ensemble.chains_], axis=0),
            atol=1e-12,
        )


# ---- scikit-learn ------------------------------------------------------------------------------------------------


def binary_data(n=150, m=4, seed=0):
    g = np.random.default_rng(seed)
    X = g.normal(size=(n, 5))
    Y = np.zeros((n, m), dtype=int)
    for j in range(m):
        Y[:, j] = X[:, j] + 0.8 * Y[:, j - 1] + g.normal(size=n) > 0.3
    return X, Y


@pytest.mark.parametrize("base", [LogisticRegression(), DecisionTreeClassifier(max_depth=3, random_state=0)])
def test_equal_to_the_chains_of_scikit_learn(base):
    X, Y = binary_data()
    order = [2, 0, 3, 1]
    theirs = SklearnChain(base, order=order).fit(X, Y)
    ours = bntk.ClassifierChain(base, order=order).fit(X, Y)
    assert (ours.predict(X) == theirs.predict(X)).all()
    probabilities = np.column_stack([p[:, 1] for p in ours.predict_proba(X)])
    np.testing.assert_allclose(probabilities, theirs.predict_proba(X), atol=1e-12)
    many = MultiOutputClassifier(base).fit(X, Y)
    alone = bntk.BinaryRelevance(estimator=base).fit(X, Y)
    assert (alone.predict(X) == many.predict(X)).all()
    for p, q in zip(alone.predict_proba(X), many.predict_proba(X), strict=True):
        np.testing.assert_allclose(p, q, atol=1e-12)
    assert alone.score(X, Y) == many.score(X, Y)


def test_numbers_for_classifiers_of_other_packages():
    X, Y = data(seed=15, numbers=True)
    chain = bntk.ClassifierChain(estimator=LogisticRegression()).fit(X, Y)
    by_name = [list(model.feature_names_in_[4:]) for model in chain.estimators_]
    three = ["colour=blue", "colour=green", "colour=red"]
    assert by_name == [[], three, [*three, "big"], [*three, "big", "old"]]
    more = X.assign(**{name: (Y["colour"] == name.partition("=")[2]).astype(float) for name in three})
    alone = LogisticRegression().fit(more, Y["big"])
    np.testing.assert_allclose(chain.estimators_[1].predict_proba(more), alone.predict_proba(more), atol=1e-9)
    in_polars = bntk.ClassifierChain(estimator=LogisticRegression()).fit(pl.from_pandas(X), pl.from_pandas(Y))
    assert in_polars.predict(pl.from_pandas(X)).to_pandas().equals(chain.predict(X))
    for other in (X.to_numpy(), dict(X), X.set_axis(range(4), axis=1)):
        again = bntk.ClassifierChain(estimator=LogisticRegression()).fit(other, Y)
        assert again.predict(other).to_numpy().tolist() == chain.predict(X).to_numpy().tolist()


def test_a_base_without_probabilities_predicts_labels():
    X, Y = binary_data()
    base = make_pipeline(StandardScaler(), LinearSVC(dual=False))
    ours = bntk.ClassifierChain(base).fit(X, Y)
    assert (ours.predict(X) == SklearnChain(base).fit(X, Y).predict(X)).all()
    for model in (
        bntk.BinaryRelevance(estimator=base),
        bntk.LabelPowerset(estimator=base),
        bntk.CircularChain(estimator=base),
    ):
        assert model.fit(X, Y).predict(X).shape == Y.shape
    with pytest.raises(AttributeError, match="Pipeline has no predict_proba"):
        ours.predict_proba(X)
    with pytest.raises(AttributeError, match="has no predict_proba"):
        bntk.ClassifierChain(base, search="exact").fit(X, Y).predict(X)


@pytest.mark.parametrize("kind", ALL)
def test_works_with_the_tools_of_scikit_learn(kind):
    X, Y = binary_data(n=60, m=3)
    model = kind(estimator=bntk.NaiveBayes(prior=2.0))
    fitted = clone(model).fit(X, Y)
    assert fitted.predict(X).shape == Y.shape
    assert [p.shape for p in fitted.predict_proba(X)] == [(60, 2)] * 3
    assert [c.tolist() for c in fitted.classes_] == [[0, 1]] * 3
    back = pickle.loads(pickle.dumps(fitted))
    assert all(np.array_equal(p, q) for p, q in zip(back.predict_proba(X), fitted.predict_proba(X), strict=True))
    assert fitted.score(X, Y) == np.mean((fitted.predict(X) == Y).all(axis=1))
    assert cross_val_score(model, X, Y, cv=3).shape == (3,)
    search = GridSearchCV(model, {"estimator__prior": [0.1, 10.0]}, cv=3).fit(X, Y)
    assert search.best_params_["estimator__prior"] in (0.1, 10.0)
    assert "prior=2.0" in repr(model)


# ---- what may be given -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
def test_the_kind_of_data_does_not_matter(kind):
    X, Y = data(seed=16)
    model = kind().fit(X, Y)
    expected = model.predict(X)
    assert list(expected.columns) == list(Y)
    for other in (bntk.Table.from_frame(X), pl.from_pandas(X), dict(X)):
        again = kind().fit(other, Y)
        for p, q in zip(model.predict_proba(X), again.predict_proba(other), strict=True):
            np.testing.assert_allclose(p, q, atol=1e-12)
    assert kind().fit(X, Y.to_numpy()).predict(X).tolist() == expected.to_numpy().tolist()
    assert kind().fit(X, pl.from_pandas(Y)).predict(X).rows() == list(expected.itertuples(index=False, name=None))
    assert expected.index.equals(X.index)
    assert kind().fit(X, Y).predict(X.set_index(X.index + 7)).index[0] == 7


def test_labels_and_features_may_have_the_same_names():
    X, Y = data(seed=17)
    renamed = X.set_axis(list(Y), axis=1)
    for kind in ALL:
        for p, q in zip(kind().fit(X, Y).predict_proba(X), kind().fit(renamed, Y).predict_proba(renamed), strict=True):
            np.testing.assert_allclose(p, q, atol=1e-12)


@pytest.mark.parametrize("base", [None, bntk.TAN(), LogisticRegression()])
@pytest.mark.parametrize("kind", ALL)
def test_a_class_variable_with_one_label_is_no_trouble(kind, base):
    X, Y = binary_data(n=60, m=3)
    with_constant = np.insert(Y, 1, 7, axis=1)
    model = kind(estimator=base).fit(X, with_constant)
    assert (model.predict(X)[:, 1] == 7).all()
    assert (model.predict_proba(X)[1] == 1).all() or kind is bntk.LabelPowerset
    only = kind(estimator=base).fit(X, np.full((60, 2), 3))
    assert (only.predict(X) == 3).all()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (bntk.ClassifierChain(order="sorted"), "order must be None, 'random' or a list"),
        (bntk.ClassifierChain(order=["big", "old"]), "each of the class variables"),
        (bntk.ClassifierChain(order=["big", "old", "colour", "size"]), "'size', which is no class variable"),
        (bntk.ClassifierChain(search="widest"), "search must be 'greedy', 'beam' or 'exact'"),
        (bntk.ClassifierChain(proba="some"), "proba must be"),
        (bntk.ClassifierChain(beam=0), "beam must be a whole number from 1"),
        (bntk.CircularChain(max_iter=0), "max_iter must be a whole number from 1"),
        (bntk.ChainEnsemble(n_chains=0), "n_chains must be a whole number from 1"),
        (bntk.BayesianChain(structure="big -> old"), "the class variables are"),
        (bntk.BayesianChain(given="X"), "given must be None or 'features', not 'X'"),
        (bntk.BayesianChain(given="features", structure="dag"), "is for structure='tree', not for structure='dag'"),
        (bntk.BayesianChain(given="features", root="size"), "root='size' is no class variable"),
        (bntk.BayesianChain(given="features", cv=1), "cv=1 must be from 2 to the number of rows, 80"),
    ],
)
def test_wrong_options_are_refused(model, message):
    X, Y = data()
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


def test_a_tree_given_the_features_needs_probabilities():
    X, Y = data(numbers=True)
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba; choose an estimator that has, or given=None"):
        bntk.BayesianChain(LinearSVC(), given="features").fit(X, Y)


@pytest.mark.parametrize("kind", ALL)
def test_wrong_data_is_refused(kind):
    X, Y = data()
    with pytest.raises(ValueError, match="80 rows, but Y has 79"):
        kind().fit(X, Y[:-1])
    with pytest.raises(ValueError, match="requires Y"):
        kind().fit(X, None)
    model = kind().fit(X, Y)
    with pytest.raises(ValueError, match="[Ff]eature names"):
        model.predict(X.rename(columns={"a": "z"}))
    with pytest.raises(DataError, match="fitted with"):
        model.predict(dict(X.rename(columns={"a": "z"})))


@pytest.mark.parametrize("kind", ALL)
def test_the_same_seed_gives_the_same_answers(kind):
    X, Y = data(seed=18)
    options = {"random_state": 5} if hasattr(kind(), "random_state") else {}
    first, second = (kind(n_jobs=n, **options).fit(X, Y).predict_proba(X) for n in (1, 2))
    assert all(np.array_equal(p, q) for p, q in zip(first, second, strict=True))


def test_a_circle_has_no_joint_distribution():
    rng = np.random.default_rng(0)
    X, Y = pd.DataFrame({"a": rng.choice(["p", "q"], 40)}), rng.integers(2, size=(40, 2))
    circle = bntk.CircularChain().fit(X, Y)
    with pytest.raises(TypeError, match="CircularChain do not make up a joint distribution"):
        circle.predict_joint_proba(X)

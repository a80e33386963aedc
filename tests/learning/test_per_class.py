"""The equivalent sample size of each class: BDeu.per_class of priors and scores, against the formula of the lecture."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from learning.predictive_reference import random_table
from scipy.special import gammaln

import bntk
from bntk import DAG, priors, scores
from bntk.data.variable import Variable
from bntk.errors import DataError
from bntk.learning.learn import default_prior

#: Numbers of classes, and of the states of the features.
CARDS = {k: [k, 3, 2, 4] for k in (2, 3, 4)}


def table_and_tree(k, root="v1", missing=0.0):
    """Rows with k classes, and a tree over the features given the class with this root."""
    table = random_table(k, CARDS[k], 80, missing=missing)
    arcs = {"v1": [("v1", "v2"), ("v2", "v3")], "v2": [("v2", "v1"), ("v2", "v3")], "v3": [("v3", "v2"), ("v2", "v1")]}
    return table, DAG(table.names, [*(("v0", f) for f in table.names[1:]), *arcs[root]])


def frame_of(table):
    frame = table.to_pandas()
    return frame.drop(columns="v0"), frame["v0"]


def pair_weight(table, i, j, alpha):
    """The lecture's weight of an arc, transcribed: the log marginal likelihood of x_i given x_j and c.

    N_{x_i x_j c} and alpha_{x_i x_j | c} = alpha / (r_i r_j), whose sum over x_i is alpha_{x_j | c} = alpha / r_j.
    """
    cards = dict(zip(table.names, table.cards.tolist()))
    c, x, z = (table.column(name).astype(int) for name in ("v0", i, j))
    value = 0.0
    for klass, b in product(range(cards["v0"]), range(cards[j])):
        counts = [np.sum((c == klass) & (z == b) & (x == a)) for a in range(cards[i])]
        cell, line = alpha / (cards[i] * cards[j]), alpha / cards[j]
        value += gammaln(line) - gammaln(line + sum(counts))
        value += sum(gammaln(cell + n) - gammaln(cell) for n in counts)
    return value


# ---- the formula -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", CARDS)
def test_scores_of_features_given_the_class_and_another_feature_are_those_of_the_lecture(k):
    table, tree = table_and_tree(k)
    by_node = scores.score_by_node(tree, table, scores.BDeu.per_class(1.5, target="v0"))
    assert by_node["v2"] == pytest.approx(pair_weight(table, "v2", "v1", 1.5), rel=1e-12)
    assert by_node["v3"] == pytest.approx(pair_weight(table, "v3", "v2", 1.5), rel=1e-12)


@pytest.mark.parametrize("k", CARDS)
def test_every_table_has_the_same_number_of_imagined_rows_in_each_class(k):
    table, tree = table_and_tree(k)
    network = bntk.fit(tree, table, prior=priors.BDeu.per_class(2, target="v0"))
    for cpt in network.cpts:
        others = np.prod([v.n_states for v in cpt.family if v.name != "v0"])
        cells = 2 / others  # alpha_c / (r_i r_j)
        expected = (cpt.counts + cells) / (cpt.counts + cells).sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(cpt.values, expected, rtol=1e-12)


def test_a_family_without_the_class_has_the_sample_of_all_classes():
    table, _ = table_and_tree(3)
    network = bntk.fit("v1 -> v2; v0; v3", table, prior=priors.BDeu.per_class(2, target="v0"))
    cells = 2 * 3 / (3 * 2)  # alpha K / (q r)
    counts = network.cpt("v2").counts
    np.testing.assert_allclose(network.cpt("v2").values, (counts + cells) / (counts + cells).sum(axis=1, keepdims=True))


# ---- equal to BDeu -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", CARDS)
@pytest.mark.parametrize(
    "kind", [bntk.TAN, bntk.NaiveBayes, bntk.AODE, bntk.MANB, bntk.BAN, bntk.FAN], ids=lambda kind: kind.__name__
)
def test_classifiers_are_those_with_the_sample_of_all_classes(kind, k):
    X, y = frame_of(random_table(k, CARDS[k], 80))
    per_class, explicit = {"prior": priors.BDeu.per_class(2)}, {"prior": priors.BDeu(2 * k)}
    if "criterion" in kind().get_params():
        per_class["criterion"], explicit["criterion"] = scores.BDeu.per_class(2), scores.BDeu(2 * k)
    one, other = kind(**per_class).fit(X, y), kind(**explicit).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    if kind is not bntk.AODE:
        assert one.dag_ == other.dag_
        np.testing.assert_array_equal(one.search_.score, other.search_.score)  # NaN where nothing was searched
        assert one.network_.prior == priors.BDeu(2 * k)


@pytest.mark.parametrize("k", CARDS)
def test_trees_with_another_root_have_the_same_score_and_the_same_distribution(k):
    found = [table_and_tree(k, root) for root in ("v1", "v2", "v3")]
    rule, prior = scores.BDeu.per_class(2, target="v0"), priors.BDeu.per_class(2, target="v0")
    assert rule.equivalent
    values = [bntk.score(tree, table, rule) for table, tree in found]
    assert values == pytest.approx([values[0]] * 3, rel=1e-12)
    rows = random_table(99, CARDS[k], 30)
    logs = [bntk.fit(tree, table, prior=prior).row_log_likelihood(rows) for table, tree in found]
    np.testing.assert_allclose(logs[1], logs[0], rtol=1e-9)
    np.testing.assert_allclose(logs[2], logs[0], rtol=1e-9)


def test_a_number_of_classes_gives_plain_bdeu():
    assert scores.BDeu.per_class(2, 3) == scores.BDeu.per_class(2, n_classes=3) == scores.BDeu(6)
    assert priors.BDeu.per_class(2, 3) == priors.BDeu.per_class(2, n_classes=3) == priors.BDeu(6)
    for kind in (scores.BDeu, priors.BDeu):
        with pytest.raises(ValueError, match="n_classes must be a whole number from 1"):
            kind.per_class(1, 0)


def test_learning_fits_the_parameters_with_the_prior_of_the_score():
    table, _ = table_and_tree(3)
    rule = scores.BDeu.per_class(2, target="v0")
    network = bntk.learn(table, rule)
    assert network.prior == priors.BDeu(6)
    assert network.dag == bntk.learn(table, scores.BDeu(6)).dag
    assert default_prior(rule.for_variables(table.variables)) == priors.BDeu(6)


def test_em_takes_it():
    table, tree = table_and_tree(3, missing=0.2)
    prior = priors.BDeu.per_class(2, target="v0")
    one, other = (bntk.fit_em(tree, table, each) for each in (prior, priors.BDeu(6)))
    assert one.log_likelihood(table) == other.log_likelihood(table)
    one, other = (
        bntk.structural_em(table, rule, max_rounds=2)
        for rule in (scores.BDeu.per_class(2, target="v0"), scores.BDeu(6))
    )
    assert one.report == other.report


def test_chains_of_naive_bayes_have_the_classes_of_each_label():
    rows = random_table(4, [2, 2, 3, 3], 60).to_pandas()
    X, Y = rows[["v2", "v3"]], rows[["v0", "v1"]]
    one, other = (
        bntk.ClassifierChain(bntk.NaiveBayes(prior=p)).fit(X, Y) for p in (priors.BDeu.per_class(2), priors.BDeu(4))
    )
    for mine, theirs in zip(one.predict_proba(X), other.predict_proba(X)):
        np.testing.assert_array_equal(mine, theirs)


# ---- as values ---------------------------------------------------------------------------------------------------


def test_they_are_values_with_a_repr():
    assert (
        repr(scores.BDeu.per_class(2.0)) == repr(priors.BDeu.per_class(2.0)) == "BDeuPerClass(alpha=2.0, target=None)"
    )
    assert scores.BDeu.per_class(2).with_target("c") == scores.BDeuPerClass(2, "c") != scores.BDeuPerClass(2)
    assert scores.by_name("bdeu_per_class") == scores.BDeuPerClass(1.0)
    assert priors.BDeu.per_class(2, target="c") == priors.BDeuPerClass(2, "c")


def test_files_of_classifiers_hold_them(tmp_path):
    X, y = frame_of(random_table(3, CARDS[3], 80))
    tan = bntk.TAN(criterion=scores.BDeu.per_class(2), prior=priors.BDeu.per_class(2)).fit(X, y)
    tan.save(tmp_path / "tan.json")
    tan.network_.save(tmp_path / "network.json")
    read = bntk.load(tmp_path / "tan.json")
    assert (read.criterion, read.prior) == (scores.BDeuPerClass(2), priors.BDeuPerClass(2))
    np.testing.assert_array_equal(read.predict_proba(X), tan.predict_proba(X))
    assert bntk.load(tmp_path / "network.json").prior == priors.BDeu(6)


# ---- misuse ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0, -1.0, np.nan, np.inf])
def test_sizes_must_be_positive(alpha):
    for kind in (scores.BDeu, priors.BDeu):
        with pytest.raises(ValueError, match="positive number"):
            kind.per_class(alpha)


def test_without_a_class_one_error_says_what_to_do():
    table, tree = table_and_tree(3)
    with pytest.raises(DataError, match=r"must know the class variable: BDeu.per_class\(alpha, target=\.\.\.\)"):
        bntk.fit(tree, table, prior=priors.BDeu.per_class(2))
    with pytest.raises(DataError, match=r"must know the class variable: BDeu.per_class\(alpha, target=\.\.\.\)"):
        bntk.score(tree, table, scores.BDeu.per_class(2))
    with pytest.raises(DataError, match="must know the class variable"):
        bntk.learn(table, "bdeu_per_class")
    with pytest.raises(DataError, match="class 'colour' .* is not among the variables"):
        bntk.fit(tree, table, prior=priors.BDeu.per_class(2, target="colour"))
    with pytest.raises(DataError, match="n_classes="):
        scores.BDeu.per_class(2).family([[1, 2]])
    with pytest.raises(DataError, match="must know the class variable"):
        priors.BDeu.per_class(2).pseudo_count(Variable("a", ["x", "y"]), 1)
    of_class = priors.BDeu.per_class(2, target="a").pseudo_count(Variable("a", ["x", "y"]), 1)
    assert of_class == 2


def test_several_class_variables_are_refused():
    rows = random_table(4, [2, 2, 3, 3], 60).to_pandas()
    with pytest.raises(DataError, match=r"one class variable, not of 2: \['v0', 'v1'\]; give BDeu\(ess\)"):
        bntk.MDBNC(prior=priors.BDeu.per_class(2)).fit(rows[["v2", "v3"]], rows[["v0", "v1"]])

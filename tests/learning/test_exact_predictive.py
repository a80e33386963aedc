"""Predictive scores with ``missing="exact"`` equal networks that are fitted without the rows and queried exactly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from learning.predictive_reference import random_table, structures
from learning.test_predictive import (
    CARDS,
    FOLDS,
    KINDS,
    RULES,
    TARGET,
    legal_moves,
    slow_score,
)
from strategies import dags

import bntk
from bntk import DAG
from bntk.errors import DataError, TooLargeError
from bntk.learning import scores
from bntk.learning.counts import TableCounter
from bntk.learning.moves import as_moves
from bntk.learning.scores import CEN, CV, IM, LC, LOO, MAE, MCC, MI, Accuracy, missing_sums

EXACT = [replace(rule, missing="exact") for rule in RULES]


LAST = []  # what a network was fitted to, and the network: the same for all rows of a fold


def queried_posterior(dag, table, train, i, target, alpha, weights):
    """p(class | observed cells of row i) by exact inference in a network that is fitted to the training rows."""
    key = dag, [*train], alpha, weights[train].tolist()
    if not LAST or LAST[0] is not table or LAST[1] != key:
        rest = table.take(np.array(train, dtype=int))
        prior = bntk.priors.Dirichlet(alpha)
        LAST[:] = [table, key, bntk.fit(dag, rest, prior=prior, weights=weights[train], missing="available")]
    return LAST[2].posterior(table.take([i]), target).to_numpy()[0]


def exact_score(rule, dag, table, weights=None):
    return slow_score(rule, dag, table, weights, queried_posterior)


# ---- equal to refitting ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("rule", EXACT, ids=repr)
def test_scores_equal_networks_that_are_fitted_without_the_rows(rule, weighted, kind):
    table = random_table(2, CARDS, len(FOLDS), missing=0.3, missing_class=0.1)
    weights = np.random.default_rng(0).integers(0, 5, table.n_rows) / 2 if weighted else None
    dag = structures(table.names, TARGET)[kind]
    expected = exact_score(rule, dag, table, weights)
    assert scores.score(dag, TableCounter(table, weights), rule) == pytest.approx(expected, rel=0, abs=1e-10)


@settings(max_examples=examples(30, 60))
@given(
    st.integers(0, 1000),
    dags(min_nodes=5, max_nodes=5),
    st.sampled_from(EXACT),
    st.integers(0, 4),
    st.sampled_from([0.1, 0.4, 0.8]),
)
def test_any_structure_and_any_class_equal_the_networks(seed, shape, rule, target, share):
    table = random_table(seed, CARDS, len(FOLDS), missing=share, missing_class=share / 4, target=target)
    rename = dict(zip(shape.nodes, table.names))
    dag = DAG(table.names, [(rename[a], rename[b]) for a, b in shape.arcs])
    rule = rule.with_target(f"v{target}")
    assert scores.score(dag, table, rule) == pytest.approx(exact_score(rule, dag, table), rel=0, abs=1e-10)


@pytest.mark.parametrize("rule", EXACT, ids=repr)
def test_rows_that_are_too_large_to_eliminate_are_the_same_in_junction_trees(monkeypatch, rule):
    table = random_table(5, CARDS, len(FOLDS), missing=0.4)
    weights = np.random.default_rng(0).integers(1, 5, table.n_rows) / 2
    for dag in structures(table.names, TARGET).values():
        for counter in (TableCounter(table), TableCounter(table, weights)):
            expected = scores.score(dag, counter, rule)
            with monkeypatch.context() as patched:
                patched.setattr(missing_sums, "MOST", 0)
                assert scores.score(dag, counter, rule) == pytest.approx(expected, rel=0, abs=1e-10)


@pytest.mark.parametrize("kind", [IM, MI, MAE, MCC, CEN, Accuracy])
def test_every_score_of_the_confusion_matrix_is_that_of_the_exact_labels(kind):
    table = random_table(3, [2, 3, 2, 3, 2], len(FOLDS), missing=0.3)
    dag = structures(table.names, TARGET)["tree"]
    y, matrix = table.column(TARGET).astype(int), np.zeros((2, 2))
    for fold in np.unique(FOLDS):
        train, test = np.flatnonzero(fold != FOLDS), np.flatnonzero(fold == FOLDS)
        for i in test:
            p = queried_posterior(dag, table, train, i, TARGET, 1.0, np.ones(table.n_rows))
            matrix[y[i], np.flatnonzero(p >= p.max() * (1 - 1e-9))[0]] += 1 / (3 * len(test))
    rule = kind(FOLDS, target=TARGET, missing="exact")
    assert scores.score(dag, table, rule) == pytest.approx(rule.values(matrix[None])[0], abs=1e-12)


def test_exact_scores_are_those_of_the_classifier_itself():
    """Leave-one-out by fitting the classifier anew for each row: its own probabilities, not those of a network."""
    frame = bntk.datasets.with_missing(bntk.datasets.asia().sample(60, seed=3), 0.15, seed=2).to_pandas()
    frame = frame[frame["lung"].notna()]
    X, y = frame.drop(columns="lung"), frame["lung"]
    model = bntk.TAN(criterion=LOO(missing="exact"), search="hc", prior=1.0, missing="marginal").fit(X, y)
    value = 0.0
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        refitted = bntk.fit(model.dag_, frame[others], prior=1.0, variables=model.network_.variables)
        value += np.log(refitted.posterior(X.iloc[[i]], "lung")[y.iloc[i]].iloc[0])
    assert model.search_.score == pytest.approx(value, rel=0, abs=1e-10)


# ---- against the approximation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_without_missing_values_both_are_the_same_to_the_last_bit(rule):
    counter = TableCounter(random_table(1, CARDS, len(FOLDS)))
    for dag in structures(counter.names, TARGET).values():
        quick = rule.evaluator(counter, dag)
        exact = replace(rule, missing="exact").evaluator(counter, dag)
        moves = as_moves(legal_moves(dag))
        assert exact.total() == quick.total()
        np.testing.assert_array_equal(exact.gains(moves), quick.gains(moves))


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_both_are_the_same_where_only_children_without_children_are_missing(rule):
    table = random_table(7, CARDS, len(FOLDS), missing=0.3)
    dag = structures(table.names, TARGET)["naive"]
    exact = scores.score(dag, table, replace(rule, missing="exact"))
    assert scores.score(dag, table, rule) == pytest.approx(exact, rel=0, abs=1e-10)


def test_exact_scores_rank_structures_as_refitting_does_where_the_approximation_does_not():
    """A tree that predicts better than naive Bayes seems to predict worse."""
    table = random_table(91, [2, 2, 2, 2], 60, missing=0.3)
    naive = DAG(table.names, [(TARGET, f) for f in ("v1", "v2", "v3")])
    tree = DAG(table.names, [*naive.arcs, ("v3", "v2"), ("v2", "v1")])
    refitted = [exact_score(LOO(TARGET), dag, table) for dag in (naive, tree)]
    exact = [scores.score(dag, table, LOO(TARGET, missing="exact")) for dag in (naive, tree)]
    quick = [scores.score(dag, table, LOO(TARGET)) for dag in (naive, tree)]
    assert exact == pytest.approx(refitted, rel=0, abs=1e-10)
    assert refitted[1] > refitted[0] + 0.5
    assert quick[1] < quick[0] - 0.5


# ---- moves and changes -------------------------------------------------------------------------------------------


@settings(max_examples=examples(20, 40))
@given(st.data(), st.sampled_from(EXACT), st.booleans(), st.booleans())
def test_moves_lead_to_what_they_promise(data, rule, weighted, arcs_count):
    table = random_table(5, CARDS, len(FOLDS), missing=0.2)
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    counter = TableCounter(table, rng.random(table.n_rows) * 3 if weighted else None)
    arc_weights = rng.normal(size=(5, 5)) if arcs_count else None
    evaluator = rule.evaluator(counter, arc_weights=arc_weights)
    for _ in range(6):
        moves = legal_moves(evaluator.dag)
        gains, before = evaluator.gains(as_moves(moves)), evaluator.total()
        k = data.draw(st.integers(0, len(moves) - 1))
        evaluator.apply(moves[k])
        assert evaluator.total() - before == pytest.approx(gains[k], rel=0, abs=1e-9)
        fresh = rule.evaluator(counter, evaluator.dag, arc_weights=arc_weights)
        assert evaluator.total() == pytest.approx(fresh.total(), rel=1e-13)
        later = as_moves(legal_moves(evaluator.dag))
        np.testing.assert_allclose(evaluator.gains(later), fresh.gains(later), rtol=0, atol=1e-9)


@pytest.mark.parametrize("rule", EXACT, ids=repr)
def test_changes_gain_what_whole_structures_differ_in(rule):
    counter = TableCounter(random_table(6, CARDS, len(FOLDS), missing=0.2))
    kinds = structures(counter.names, TARGET)
    for start in kinds.values():
        evaluator = rule.evaluator(counter, start)
        ends = [rule.evaluator(counter, dag) for dag in kinds.values()]
        gains = evaluator.change_gains([dict(enumerate(end.parents)) for end in ends])
        np.testing.assert_allclose(gains, [end.total() - evaluator.total() for end in ends], rtol=0, atol=1e-9)


def test_an_arc_between_features_matters_only_where_missing_cells_tie_it_to_the_class():
    table = random_table(8, [2, 2, 2, 2], 40, missing=0.3)
    arcs = {"tied": [("v0", "v1"), ("v1", "v2")], "apart": [("v0", "v1")]}
    for name, some in arcs.items():
        evaluator = LOO(TARGET, missing="exact").evaluator(TableCounter(table), DAG(table.names, some))
        gain = evaluator.change_gains([{3: frozenset([2])}])[0]
        assert (abs(gain) > 1e-6) == (name == "tied")


@pytest.mark.parametrize("threads", [1, 3])
def test_results_do_not_depend_on_the_number_of_threads_or_on_what_is_kept(monkeypatch, threads):
    table = random_table(9, CARDS, 400, missing=0.2)
    monkeypatch.setattr(missing_sums, "threads_for", lambda n_entries: threads)
    rule, counter = CV(5, target=TARGET, missing="exact"), TableCounter(table)
    evaluator = rule.evaluator(counter, structures(table.names, TARGET)["tree"])
    moves = as_moves(legal_moves(evaluator.dag))
    alone = [rule.evaluator(counter, evaluator.dag).gains(move[None])[0] for move in moves]
    np.testing.assert_array_equal(evaluator.gains(moves), alone)


# ---- use, and misuse ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", [each(missing="exact") for each in (LOO, LC, Accuracy)], ids=repr)
@pytest.mark.parametrize(
    "classifier",
    [bntk.TAN(search="hc"), bntk.STAN(), bntk.BAN(), bntk.FAN(search="hc"), bntk.SemiNaiveBayes()],
    ids=lambda each: type(each).__name__,
)
def test_searches_take_exact_scores(classifier, criterion):
    data = bntk.datasets.with_missing(bntk.datasets.asia().sample(80, seed=4), 0.1, seed=5)
    frame = data.select([n for n in data.names if n not in ("asia", "tub", "either")]).to_pandas()
    frame = frame[frame["lung"].notna()]
    X, y = frame.drop(columns="lung"), frame["lung"]
    model = classifier.set_params(criterion=criterion).fit(X, y)
    expected = bntk.score(model.dag_, frame, criterion.with_target("lung"))
    assert model.search_.score == pytest.approx(expected, rel=0, abs=1e-9)


def test_an_unknown_value_lists_the_choices():
    for rule in (LOO, LC, CV, Accuracy, IM):
        with pytest.raises(ValueError, match="missing must be 'approximate' or 'exact', not 'average'"):
            rule(missing="average")


def test_it_is_part_of_the_value_and_of_what_is_written():
    assert LOO("c", missing="exact") != LOO("c") == LOO("c", missing="approximate")
    assert repr(LOO("c", missing="exact")) == "LOO(target='c', alpha=1.0, missing='exact')"
    assert LOO(missing="exact").with_target("c") == LOO("c", missing="exact")
    with pytest.raises(TypeError):
        LOO("c", 1.0, "exact")


@pytest.mark.parametrize("rule", [LOO, LC, CV, Accuracy, IM, MI, MAE, MCC, CEN])
def test_files_of_classifiers_hold_it(tmp_path, rule):
    X = bntk.Table.from_columns({"a": ["x", "y", None, "x"] * 3, "b": ["u", "u", "v", None] * 3})
    tan = bntk.TAN(search="hc", criterion=rule(missing="exact")).fit(X.to_pandas(), ["p", "q", "q", "p"] * 3)
    tan.save(tmp_path / "tan.json")
    assert bntk.load(tmp_path / "tan.json").criterion == rule(missing="exact")


def test_a_search_that_adds_families_up_is_refused_where_values_are_missing():
    evaluator = LOO(TARGET, missing="exact").evaluator(TableCounter(random_table(1, CARDS, 25, missing=0.2)))
    with pytest.raises(DataError, match="no sum over families.*missing='approximate'"):
        evaluator.term(1, (0,))
    complete = TableCounter(random_table(1, CARDS, 25))
    np.testing.assert_array_equal(
        LOO(TARGET, missing="exact").evaluator(complete).term(1, (0,)), LOO(TARGET).evaluator(complete).term(1, (0,))
    )


def test_tables_that_do_not_fit_are_refused_before_they_are_made():
    table = random_table(13, [2, *[30] * 6], 40, missing=0.1)
    dag = DAG(table.names, [("v0", "v6"), *((f"v{k}", "v6") for k in range(1, 6))])
    with pytest.raises(TooLargeError, match="'v6' given .*max_parents"):
        scores.score(dag, table, LOO(TARGET, missing="exact"))


def test_many_features_do_not_underflow():
    """Children of one missing feature, far more than floating point numbers could hold the product of."""
    rng = np.random.default_rng(0)
    y, hidden = np.arange(60) % 2, rng.integers(0, 2, 60)
    columns = {f"f{k}": np.where(rng.random(60) < 0.05, 1 - y, y) for k in range(700)}
    missing = np.where(np.arange(60) < 20, None, hidden)
    table = bntk.Table.from_columns({"v0": y, "h": missing, **columns})
    arcs = [("v0", f) for f in columns] + [("h", f) for f in columns] + [("v0", "h")]
    value = scores.score(DAG(table.names, arcs), table, LOO(TARGET, missing="exact"))
    assert -1e-3 < value <= 0

"""Predictive scores equal refitting for every prediction, and do not depend on how a structure came about."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning.predictive_reference import random_table, refitted_posterior, ruled_posterior, structures
from strategies import dags

import bntk
from bntk import DAG
from bntk.errors import DataError, TooLargeError, UnknownNameError
from bntk.learning import scores
from bntk.learning.counts import TableCounter
from bntk.learning.moves import ADD, DELETE, REVERSE, Move, as_moves
from bntk.learning.scores import BIC, CV, LC, LOO, Accuracy, leaving_out, predictive_evaluator, predictive_terms

CARDS = [3, 2, 3, 4, 2]
TARGET = "v0"
FOLDS = np.array([0, 1, 2, 0, 1, 2, 0, 0, 1, 2, 1, 0, 2, 2, 0, 1, 0, 1, 2, 2, 0, 1, 1, 0, 2])
TWO_WAYS = np.array([FOLDS, FOLDS[::-1] % 2])
RULES = [
    LOO(TARGET), LOO(TARGET, alpha=0.3), LC(TARGET), LC(TARGET, shuffle=3), CV(FOLDS, target=TARGET),
    CV(TWO_WAYS, target=TARGET, alpha=0.5), CV(4, repeats=2, target=TARGET, seed=5), CV("loo", target=TARGET),
    Accuracy(FOLDS, target=TARGET), Accuracy(TWO_WAYS, target=TARGET, prior=2), Accuracy("loo", target=TARGET),
    Accuracy(4, repeats=2, target=TARGET, seed=5),
]  # fmt: skip
KINDS = ["no arcs", "naive", "tree", "class with parents", "general"]


@pytest.fixture(autouse=True)
def default_threads():
    yield
    bntk.set_threads(None)


def splits(rule, y, known):
    """(test rows, training rows) of a score, and the share of a fold in an accuracy."""
    rows = np.flatnonzero(known)
    if isinstance(rule, LC):
        order = rows if rule.shuffle is None else rows[np.random.default_rng(rule.shuffle).permutation(len(rows))]
        return [([order[k]], order[:k].tolist()) for k in range(len(order))]
    if isinstance(rule, LOO) or isinstance(rule.folds, str):
        return [([i], [t for t in rows if t != i]) for i in rows]
    numbers = (
        leaving_out.stratified(y[known], rule.folds, rule.repeats, rule.seed)
        if isinstance(rule.folds, int)
        else np.array(rule.folds)[:, known]
    )
    return [
        (rows[row == fold].tolist(), rows[row != fold].tolist())
        for row in numbers
        for fold in sorted(set(row.tolist()))
    ]


def slow_score(rule, dag, table, weights=None, posterior=ruled_posterior):
    """A score by one refit for each prediction."""
    y = table.column(rule.target).astype(int)
    known = y < table.variable(rule.target).n_states
    w = np.ones(table.n_rows) if weights is None else weights
    parts, single = splits(rule, y, known), not isinstance(rule, LC | LOO) and not isinstance(rule.folds, str)
    value = 0.0
    for test, train in parts:
        for i in test:
            if single or isinstance(rule, LC):
                p = posterior(dag, table, train, i, rule.target, rule.pseudo_count, w)
            else:  # of the rows that a weighted row stands for, one is left out
                rest = np.where(np.arange(table.n_rows) == i, np.maximum(w - 1, 0), w)
                p = posterior(dag, table, [*train, i] if rest[i] else train, i, rule.target, rule.pseudo_count, rest)
            if isinstance(rule, Accuracy):
                right = np.flatnonzero(p >= p.max() * (1 - 1e-9))[0] == y[i]
                value += right * w[i] / (w[test].sum() * len(parts) if single else w[known].sum())
            else:
                value += w[i] * np.log(p[y[i]])
    return value


def by_refitting(dag, table, train, i, target, alpha, weights):
    return refitted_posterior(dag, table.take(np.array(train, dtype=int)), table.take([i]), target, alpha)


# ---- equal to refitting ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", [LOO(TARGET, 0.3), CV(FOLDS, target=TARGET), Accuracy(FOLDS, target=TARGET)], ids=repr)
def test_scores_equal_networks_that_are_fitted_without_the_rows(rule, kind):
    table = random_table(1, CARDS, len(FOLDS))
    dag = structures(table.names, TARGET)[kind]
    expected = slow_score(rule, dag, table, posterior=by_refitting)
    assert scores.score(dag, table, rule) == pytest.approx(expected, rel=0, abs=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("holes", ["complete", "missing", "missing class"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_scores_equal_the_rule_in_plain_python(rule, weighted, holes, kind):
    share = 0.25 if holes != "complete" else 0.0
    table = random_table(2, CARDS, len(FOLDS), missing=share, missing_class=0.2 if holes == "missing class" else 0.0)
    weights = np.random.default_rng(0).integers(0, 5, table.n_rows) / 2 if weighted else None
    dag = structures(table.names, TARGET)[kind]
    expected = slow_score(rule, dag, table, weights)
    assert scores.score(dag, TableCounter(table, weights), rule) == pytest.approx(expected, rel=0, abs=1e-10)


@settings(max_examples=60)
@given(st.data(), dags(min_nodes=5, max_nodes=5), st.sampled_from(RULES), st.integers(0, 4), st.booleans())
def test_any_structure_and_any_class_equal_the_rule(data, shape, rule, target, holes):
    seed = data.draw(st.integers(0, 1000))
    share = 0.2 if holes else 0.0
    table = random_table(seed, CARDS, len(FOLDS), missing=share, missing_class=share / 2, target=target)
    rename = dict(zip(shape.nodes, table.names))
    dag = DAG(table.names, [(rename[a], rename[b]) for a, b in shape.arcs])
    rule = rule.with_target(f"v{target}")
    assert scores.score(dag, table, rule) == pytest.approx(slow_score(rule, dag, table), rel=0, abs=1e-10)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_families_that_are_larger_than_the_rows_equal_the_rule(monkeypatch, rule):
    """Their tables are reduced to the configurations that occur."""
    monkeypatch.setattr(predictive_terms, "ALWAYS_DENSE", 0)
    table = random_table(4, [3, 5, 6, 7, 6], len(FOLDS))
    dag = DAG(table.names, [("v0", "v4"), ("v1", "v4"), ("v2", "v4"), ("v3", "v4"), ("v1", "v0"), ("v2", "v0")])
    assert scores.score(dag, table, rule) == pytest.approx(slow_score(rule, dag, table), rel=0, abs=1e-10)


def test_leave_one_out_is_cross_validation_with_a_fold_for_each_row():
    table = random_table(3, CARDS, 40, missing=0.1)
    for dag in structures(table.names, TARGET).values():
        loo = scores.score(dag, table, LOO(TARGET))
        for folds in (40, np.arange(40)):
            assert scores.score(dag, table, CV(folds, target=TARGET)) == pytest.approx(loo, rel=1e-12)
        labels = scores.score(dag, table, Accuracy(40, target=TARGET))
        assert labels == pytest.approx(scores.score(dag, table, Accuracy("loo", target=TARGET)), rel=1e-12)


def test_many_features_do_not_underflow():
    """The class of some rows has a probability below the smallest number: its logarithm is still right."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    columns = {f"f{k}": np.where(rng.random(40) < 0.02, 1 - y, y) for k in range(900)}
    columns = {name: np.where(np.arange(40) == 7, 1 - y, column) for name, column in columns.items()}
    table = bntk.Table.from_columns({"v0": y, **columns})
    dag = DAG(table.names, [("v0", f) for f in columns])
    value = scores.score(dag, table, LOO(TARGET))
    assert -np.inf < value < -1000
    counts = np.array([[np.sum(np.array(c)[y == k] == 1) for c in columns.values()] for k in (0, 1)])
    expected = 0.0
    for i in range(40):
        logs = np.empty(2)
        for k in (0, 1):
            own = float(k == y[i])
            cells = np.array([c[i] for c in columns.values()])
            n = np.where(cells == 1, counts[k], 20 - counts[k]) - own
            logs[k] = np.log(21 - own) + np.log((n + 1) / (22 - own)).sum()
        expected += logs[y[i]] - np.logaddexp(*logs)
    assert value == pytest.approx(expected, rel=1e-12)


# ---- moves and changes -------------------------------------------------------------------------------------------


def legal_moves(dag):
    moves = []
    for tail in range(len(dag.nodes)):
        for head in range(len(dag.nodes)):
            a, b = dag.nodes[tail], dag.nodes[head]
            arcs = set(dag.arcs)
            if tail == head:
                continue
            if (a, b) in arcs:
                moves.append(Move(DELETE, tail, head))
                if acyclic(dag.nodes, (arcs - {(a, b)}) | {(b, a)}):
                    moves.append(Move(REVERSE, tail, head))
            elif (b, a) not in arcs and acyclic(dag.nodes, arcs | {(a, b)}):
                moves.append(Move(ADD, tail, head))
    return moves


def acyclic(nodes, arcs):
    try:
        DAG(nodes, list(arcs))
    except bntk.errors.CycleError:
        return False
    return True


@settings(max_examples=40)
@given(st.data(), st.sampled_from([*RULES, BIC()]), st.booleans(), st.booleans(), st.booleans())
def test_moves_lead_to_what_they_promise(data, rule, holes, weighted, arcs_count):
    table = random_table(5, CARDS, len(FOLDS), missing=0.15 if holes else 0.0)
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    counter = TableCounter(table, rng.random(table.n_rows) * 3 if weighted else None)
    arc_weights = rng.normal(size=(5, 5)) if arcs_count else None
    evaluator = rule.evaluator(counter, arc_weights=arc_weights)
    for _ in range(6):
        moves = legal_moves(evaluator.dag)
        gains = evaluator.gains(as_moves(moves))
        before = evaluator.total()
        k = data.draw(st.integers(0, len(moves) - 1))
        evaluator.apply(moves[k])
        assert evaluator.total() - before == pytest.approx(gains[k], rel=0, abs=1e-9)
        fresh = rule.evaluator(counter, evaluator.dag, arc_weights=arc_weights)
        assert evaluator.total() == pytest.approx(fresh.total(), rel=1e-13)
        np.testing.assert_allclose(
            evaluator.gains(moves := as_moves(legal_moves(evaluator.dag))), fresh.gains(moves), atol=1e-9
        )


@pytest.mark.parametrize("rule", [LOO("v0"), Accuracy("loo", target="v0")], ids=repr)
def test_a_weight_is_a_number_of_rows_of_which_one_is_left_out(rule):
    table = random_table(4, [2, 3, 2, 2], 30)
    weights = np.random.default_rng(2).integers(0, 4, 30)
    dag = bntk.DAG.parse("v0 -> v1 -> v2; v0 -> v2; v3 -> v0", nodes=table.names)
    repeated = table.take(np.repeat(np.arange(30), weights))
    weighted = scores.score(dag, TableCounter(table, weights.astype(float)), rule)
    assert weighted == pytest.approx(scores.score(dag, repeated, rule), rel=1e-12)


@pytest.mark.parametrize("weighted_arcs", [False, True])
@pytest.mark.parametrize("rule", [*RULES, BIC()], ids=repr)
def test_changes_gain_what_whole_structures_differ_in(rule, weighted_arcs):
    table = random_table(6, CARDS, len(FOLDS), missing=0.1)
    arc_weights = np.random.default_rng(1).normal(size=(5, 5)) if weighted_arcs else None
    counter = TableCounter(table)
    kinds = structures(table.names, TARGET)
    for start in kinds.values():
        evaluator = rule.evaluator(counter, start, arc_weights=arc_weights)
        before = evaluator.total()
        ends = [rule.evaluator(counter, dag, arc_weights=arc_weights) for dag in kinds.values()]
        changes = [dict(enumerate(end.parents)) for end in ends]
        gains = evaluator.change_gains(changes)
        np.testing.assert_allclose(gains, [end.total() - before for end in ends], rtol=0, atol=1e-9)
        np.testing.assert_allclose(gains, scores.Evaluator.change_gains(evaluator, changes), rtol=0, atol=1e-9)
        assert evaluator.dag == start
        evaluator.change(changes[-1])
        assert evaluator.dag == ends[-1].dag
        assert evaluator.total() == pytest.approx(ends[-1].total(), rel=1e-12)
        moves = as_moves(legal_moves(evaluator.dag))
        np.testing.assert_allclose(evaluator.gains(moves), ends[-1].gains(moves), rtol=0, atol=1e-9)
    assert len(evaluator.change_gains([])) == 0
    assert evaluator.change_gains([{}]).tolist() == [0.0]


@pytest.mark.parametrize("rule", [LOO(TARGET), BIC()], ids=repr)
def test_changes_are_judged_without_holding_other_structures(rule, monkeypatch):
    table = random_table(6, CARDS, 30)
    evaluator = rule.evaluator(TableCounter(table))
    monkeypatch.setattr(evaluator, "reset", None)
    change = {1: frozenset([0]), 2: frozenset([0, 1])}
    (gain,) = evaluator.change_gains([change])
    before = evaluator.total()
    evaluator.change(change)
    assert evaluator.total() - before == pytest.approx(gain, abs=1e-9)


def test_arcs_that_do_not_touch_the_class_gain_exactly_nothing():
    table = random_table(7, CARDS, 30)
    evaluator = LOO(TARGET).evaluator(TableCounter(table), DAG(table.names, [("v0", "v1")]))
    evaluator.total()
    n = evaluator.n_evaluated
    assert evaluator.gains(as_moves([Move(ADD, 2, 3), Move(ADD, 1, 4)])).tolist() == [0.0, 0.0]
    assert evaluator.n_evaluated == n


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_permuting_columns_leaves_scores_equal(rule):
    table = random_table(8, CARDS, len(FOLDS), missing=0.1)
    turned = table.select(table.names[::-1])
    for dag in structures(table.names, TARGET).values():
        other = DAG(turned.names, dag.arcs)
        assert scores.score(dag, table, rule) == pytest.approx(scores.score(other, turned, rule), rel=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_answers_do_not_depend_on_the_number_of_threads(rule, monkeypatch):
    monkeypatch.setattr(predictive_terms, "WORTH_A_THREAD", 0)
    monkeypatch.setattr(predictive_evaluator, "SHARED_BY", 2)
    table = random_table(9, CARDS, len(FOLDS), missing=0.1)
    results = []
    for threads in (1, 3):
        bntk.set_threads(threads)
        evaluator = rule.evaluator(TableCounter(table), structures(table.names, TARGET)["general"])
        results.append(evaluator.gains(as_moves(legal_moves(evaluator.dag))))
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_answers_do_not_depend_on_how_many_terms_are_kept(rule, weighted, monkeypatch):
    table = random_table(14, [2, 3, 2, 3, 2, 2, 3, 2], len(FOLDS), missing=0.1)
    counter = TableCounter(table, np.random.default_rng(1).random(table.n_rows) if weighted else None)
    one_term = 8 * 2 * len(FOLDS)
    star = {v: frozenset([0, 7]) for v in range(1, 7)}
    trees = [star, {**star, 7: frozenset([0])}, {v: frozenset([0, v - 1]) for v in range(2, 8)}]
    results = []
    for kept in (0, 1, 3, 1000):
        monkeypatch.setattr(predictive_terms, "KEPT_BYTES", kept * one_term)
        monkeypatch.setattr(predictive_terms, "PASSING_BYTES", 0)
        evaluator, found = rule.evaluator(counter), []
        for _ in range(4):
            moves = as_moves(legal_moves(evaluator.dag))
            gains = evaluator.gains(moves)
            found += [gains, evaluator.change_gains(trees), evaluator.gains(moves), [evaluator.total()]]
            evaluator.apply(Move(*moves[gains.argmax()].tolist()))
        results.append(np.concatenate(found))
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_terms_that_were_computed_once_are_not_computed_again(monkeypatch):
    table = random_table(15, CARDS, 60)
    evaluator = Accuracy(5, target=TARGET).evaluator(TableCounter(table))
    moves = as_moves(legal_moves(evaluator.dag))
    expected = evaluator.gains(moves)
    monkeypatch.setattr(predictive_terms.kernels, "fill_pool", None)
    np.testing.assert_array_equal(evaluator.gains(moves), expected)


def test_an_interrupt_leaves_no_wrong_terms_behind(monkeypatch):
    table = random_table(16, CARDS, 60)
    rule = LOO(TARGET)
    evaluator = rule.evaluator(TableCounter(table))
    evaluator.total()
    moves = as_moves(legal_moves(evaluator.dag))

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(predictive_terms.kernels, "fill_pool", interrupt)
        with pytest.raises(KeyboardInterrupt):
            evaluator.gains(moves)
    np.testing.assert_array_equal(evaluator.gains(moves), rule.evaluator(TableCounter(table)).gains(moves))


# ---- weights -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", [CV, Accuracy])
def test_weights_are_repeated_rows_when_copies_share_a_fold(rule, kind):
    table = random_table(10, CARDS, len(FOLDS), missing=0.1)
    weights = np.random.default_rng(1).integers(0, 4, table.n_rows)
    copies = np.repeat(np.arange(table.n_rows), weights)
    dag = structures(table.names, TARGET)[kind]
    weighted = scores.score(dag, TableCounter(table, weights), rule(TWO_WAYS, target=TARGET))
    repeated = scores.score(dag, table.take(copies), rule(TWO_WAYS[:, copies], target=TARGET))
    assert weighted == pytest.approx(repeated, rel=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_weights_of_one_change_nothing(rule):
    table = random_table(11, CARDS, len(FOLDS), missing=0.1)
    for dag in structures(table.names, TARGET).values():
        weighted = scores.score(dag, TableCounter(table, np.ones(table.n_rows)), rule)
        assert weighted == pytest.approx(scores.score(dag, table, rule), rel=1e-12)


# ---- labels and folds --------------------------------------------------------------------------------------------


def test_equally_probable_classes_get_the_first_label_whatever_the_order_of_the_features():
    rng = np.random.default_rng(2)
    half = rng.integers(0, 3, size=(12, 200))
    rows = np.concatenate([half, half], axis=1)  # the same rows in both classes: all labels are ties
    columns = {f"f{k}": row for k, row in enumerate(rows)}
    columns["v0"] = np.repeat([0, 1], 200)
    folds = np.tile(np.arange(200) % 5, 2)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(list(columns)).tolist()
        table = bntk.Table.from_columns({name: columns[name] for name in order})
        dag = DAG(order, [("v0", name) for name in order if name != "v0"])
        assert scores.score(dag, table, Accuracy(folds, target=TARGET)) == pytest.approx(0.5, abs=1e-12)
        evaluator = Accuracy(folds, target=TARGET).evaluator(TableCounter(table), dag)
        moves = as_moves([Move(DELETE, order.index("v0"), order.index(f)) for f in order if f != "v0"])
        np.testing.assert_allclose(evaluator.gains(moves), 0, atol=1e-12)


def test_accuracy_is_the_mean_of_the_accuracies_of_folds_of_any_size():
    table = bntk.Table.from_columns({"v0": ["a", "a", "a", "b"], "f": ["x", "x", "y", "y"]})
    # Without arcs the label is the majority of the other fold: fold 0 (3 rows of a) gets b, fold 1 (1 row of b) gets a.
    assert scores.score(DAG(table.names, []), table, Accuracy([0, 0, 0, 1], target="v0")) == 0.0
    # Fold 0 is a, a with the label a (a leads 1:1 as the first); fold 1 is a, b with the label a.
    assert scores.score(DAG(table.names, []), table, Accuracy([0, 0, 1, 1], target="v0")) == pytest.approx(
        (1 + 0.5) / 2
    )


@given(st.lists(st.integers(0, 3), min_size=5, max_size=60), st.integers(2, 5), st.integers(0, 99))
def test_folds_are_stratified_and_depend_on_the_seed_alone(classes, folds, seed):
    y = np.array(classes)
    numbers = leaving_out.stratified(y, folds, 3, seed)
    np.testing.assert_array_equal(numbers, leaving_out.stratified(y, folds, 3, seed))
    for row in numbers:
        for rows in (row, *(row[y == c] for c in set(classes))):
            sizes = np.bincount(rows, minlength=folds)
            assert sizes.max() - sizes.min() <= 1


# ---- use, and misuse ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", [bntk.search.HillClimbing(), "tabu", "auto"], ids=repr)
@pytest.mark.parametrize("rule", [LOO("class"), Accuracy(5, target="class")], ids=repr)
def test_searches_find_the_features_that_predict(rule, search):
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=300)
    columns = {"noise": rng.integers(2, size=300), "good": np.where(rng.random(300) < 0.1, 1 - y, y), "class": y}
    space = bntk.Space(list(columns), max_parents=2)
    network = bntk.learn(columns, score=rule, space=space, search=search)
    assert {"class", "good"} in [set(arc) for arc in network.dag.arcs]
    found = network.report
    assert found.score == pytest.approx(bntk.score(found.dag, columns, rule), rel=1e-12)
    evaluator = rule.evaluator(TableCounter(bntk.Table.from_columns(columns)), found.dag)
    if search != "tabu":
        assert evaluator.gains(as_moves(legal_moves_with(found.dag, 2))).max() <= 1e-9


def legal_moves_with(dag, max_parents):
    full = {k for k, parents in enumerate(dag.parent_indices) if len(parents) == max_parents}
    grows = {ADD: "head", REVERSE: "tail"}
    return [m for m in legal_moves(dag) if m.kind == DELETE or getattr(m, grows[m.kind]) not in full]


def test_the_default_prior_is_that_of_the_score():
    data = {"class": ["a", "a", "b"], "f": ["x", "y", "y"]}
    network = bntk.learn(
        data, score=LOO("class", alpha=2.0), space=bntk.spaces.dag(["class", "f"]), search="hc", start="class; f"
    )
    assert network.cpt("class").values.tolist() == pytest.approx([4 / 7, 3 / 7])


def test_scores_by_name_and_as_values():
    for name, rule in {"loo": LOO, "LC": LC, "cv": CV, "Accuracy": Accuracy}.items():
        assert scores.by_name(name) == rule()
    assert CV([0, 1, 1]) == CV(np.array([[0, 1, 1]])) != CV([0, 1, 0])
    assert hash(CV([0, 1, 1])) == hash(CV([[0, 1, 1]]))
    shown = "CV(folds=<folds of 3 rows>, repeats=1, target='c', alpha=1.0, seed=0, missing='approximate')"
    assert repr(CV([0, 1, 1], target="c")) == shown
    assert Accuracy(TWO_WAYS).with_target("c") == Accuracy(TWO_WAYS, target="c")


def test_bad_arguments_are_refused():
    for alpha in (0, -1.0, np.nan, np.inf, "1"):
        with pytest.raises(ValueError, match="alpha must be a number above 0"):
            LOO("v0", alpha=alpha)
    for folds in (1, 0, 2.5, [], "all", [[[0, 1]]], [0.0, 1.0], True):
        with pytest.raises(ValueError, match="folds"):
            CV(folds)
    with pytest.raises(ValueError, match="all rows are in fold 2"):
        CV([2, 2, 2])
    with pytest.raises(ValueError, match="repeats"):
        CV(5, repeats=0)
    with pytest.raises(ValueError, match="repeats"):
        CV(TWO_WAYS, repeats=3)
    with pytest.raises(ValueError, match="repeats"):
        Accuracy("loo", repeats=2)


def test_bad_data_are_refused():
    table = random_table(12, CARDS, 25)
    counter = TableCounter(table)
    with pytest.raises(DataError, match=r"LOO predicts a class.*LOO\(target="):
        LOO().evaluator(counter)
    with pytest.raises(UnknownNameError, match="colour"):
        LOO("colour").evaluator(counter)
    with pytest.raises(DataError, match="in memory.*SumCounter"):
        LOO(TARGET).evaluator(counter + counter)
    with pytest.raises(DataError, match="26 folds cannot be made of 25 rows"):
        CV(26, target=TARGET).evaluator(counter)
    with pytest.raises(DataError, match="the fold of 3 rows, but the data have 25"):
        CV([0, 1, 1], target=TARGET).evaluator(counter)
    with pytest.raises(DataError, match="all cells of 'v0' are missing"):
        LOO(TARGET).evaluator(TableCounter(random_table(12, CARDS, 25, missing_class=1.1)))
    with pytest.raises(DataError, match="weight 0"):
        LOO(TARGET).evaluator(TableCounter(table, np.zeros(25)))
    evaluator = LOO(TARGET).evaluator(counter)
    with pytest.raises(DataError, match="w"):
        evaluator.reset(DAG(["v0", "w"]))
    with pytest.raises(ValueError, match="delete v0 -> v1: the arc is not there"):
        evaluator.apply(Move(DELETE, 0, 1))
    with pytest.raises(TypeError, match="not a sum over families"):
        scores.score_by_node(DAG(table.names), table, LOO(TARGET))


def test_tables_that_do_not_fit_are_refused_before_they_are_made():
    table = random_table(13, [2, *[30] * 6], 40, missing=0.1)
    dag = DAG(table.names, [("v0", "v6"), *((f"v{k}", "v6") for k in range(1, 6))])
    with pytest.raises(TooLargeError, match="'v6' given .*max_parents"):
        scores.score(dag, table, LOO(TARGET))

"""What evaluators answer agrees with totals of whole structures, however families come about."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from counts.samples import count_slowly, make_table, tables
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import dags

import bntk
from bntk import DAG, Table
from bntk.errors import DataError
from bntk.learning import scores
from bntk.learning.counts import TableCounter, state_planes
from bntk.learning.moves import ADD, DELETE, REVERSE, Move
from bntk.learning.scores import AIC, BIC, FNML, HGC, K2, QNML, SB, BDeu, BDs, LogLikelihood

ALL = [
    LogLikelihood(), LogLikelihood("average"), AIC(), AIC("average"), BIC(), BIC("average"), BDeu(3), BDs(3), K2(),
    HGC(0.5), SB(1.5), FNML(), QNML(),
]  # fmt: skip
CARDS = (2, 3, 2, 4, 3, 2)


@pytest.fixture(autouse=True)
def default_threads():
    yield
    bntk.set_threads(None)


def counters(seed=0, n_rows=120):
    """Complete, with missing cells, weighted, both, and in two parts."""
    rng = np.random.default_rng(seed)
    whole, holed = make_table(seed, CARDS, n_rows), make_table(seed, CARDS, n_rows, missing=0.2)
    weights = rng.random(n_rows) * 2
    return {
        "complete": TableCounter(whole),
        "missing": TableCounter(holed),
        "weighted": TableCounter(whole, weights),
        "weighted and missing": TableCounter(holed, weights),
        "sum": TableCounter(whole) + TableCounter(holed),
    }


KINDS = list(counters())


def random_walk(evaluator, rng, steps):
    """Legal moves, each made after it was yielded together with all others that were legal."""
    n = len(evaluator.names)
    for _ in range(steps):
        dag = evaluator.dag
        moves = []
        for tail in range(n):
            for head in range(n):
                arc = dag.nodes[tail], dag.nodes[head]
                if tail == head:
                    continue
                if dag.has_arc(*arc):
                    moves.append(Move(DELETE, tail, head))
                    if arc[1] not in dag.remove_arc(*arc).descendants(arc[0]):
                        moves.append(Move(REVERSE, tail, head))
                elif arc[0] not in dag.descendants(arc[1]) and arc[1] not in dag.parents(arc[0]):
                    moves.append(Move(ADD, tail, head))
        chosen = moves[rng.integers(len(moves))]
        yield np.array(moves), chosen
        evaluator.apply(chosen)


def after(dag: DAG, move) -> DAG:
    kind, tail, head = move
    edit = (dag.add_arc, dag.remove_arc, dag.reverse_arc)[kind]
    return edit(dag.nodes[tail], dag.nodes[head])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", ALL, ids=repr)
def test_gains_are_differences_of_totals(rule, kind):
    counter = counters()[kind]
    rng = np.random.default_rng(7)
    weights = rng.normal(size=(len(CARDS),) * 2)
    evaluator = rule.evaluator(counter, arc_weights=weights)
    fresh = rule.evaluator(counter, arc_weights=weights)

    def total(dag):
        prior = sum(weights[counter.names.index(tail), counter.names.index(head)] for tail, head in dag.arcs)
        fresh.reset(dag)
        assert fresh.total() == pytest.approx(scores.score(dag, counter, rule) + prior)
        return fresh.total()

    for moves, _ in random_walk(evaluator, rng, 8):
        now = evaluator.total()
        assert now == pytest.approx(total(evaluator.dag))
        some = rng.choice(len(moves), 5)
        np.testing.assert_allclose(
            evaluator.gains(moves[some]), [total(after(evaluator.dag, m)) - now for m in moves[some]], atol=1e-8
        )
        np.testing.assert_allclose(evaluator.gains(moves)[some], evaluator.gains(moves[some]), atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_large_families_are_counted_sparsely_with_the_same_result(kind):
    counter = counters()[kind]
    dag = DAG(counter.names, [(tail, "v3") for tail in ("v0", "v1", "v4")])
    dense = BDeu(2).evaluator(counter, dag)
    sparse = BDeu(2).evaluator(counter, dag)
    sparse._store._rule = None  # not by bit planes
    sparse._store._dense_limit = 20
    np.testing.assert_allclose(sparse.toggles(3), dense.toggles(3), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_small_batches_give_the_same_result(kind, monkeypatch):
    counter = counters()[kind]
    dag = DAG(counter.names, [(tail, "v3") for tail in ("v0", "v1")])
    large = FNML().evaluator(counter, dag).toggles(3)
    monkeypatch.setattr(scores.store, "BATCH_ENTRIES", 30)
    small = FNML().evaluator(counter, dag)
    small._store._rule = None  # not by bit planes
    np.testing.assert_allclose(small.toggles(3), large, atol=1e-9)


@given(tables(max_variables=5, max_rows=150), st.data())
@settings(max_examples=80)
def test_toggles_are_what_the_formula_says_of_tables_counted_row_by_row(table, data):
    rule = data.draw(st.sampled_from(ALL))
    variables = data.draw(st.permutations(range(len(table.variables))))
    child, parents = variables[0], sorted(variables[1 : data.draw(st.integers(1, len(variables)))])
    dag = DAG(table.names, [(table.names[p], table.names[child]) for p in parents])

    def worth(parents):
        counts = count_slowly(table, (*sorted(parents), child))
        return rule.family(counts.reshape(-1, counts.shape[-1]), n=table.n_rows)

    expected = [worth({*parents} ^ {x}) - worth(parents) if x != child else np.nan for x in range(len(variables))]
    found = rule.evaluator(TableCounter(table), dag).toggles(child)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_families_of_many_rows_are_worth_the_same_by_bit_planes_and_by_increments(missing, monkeypatch):
    """Enough rows for several blocks of words, packed in several chunks; in parts, they are not counted by planes."""
    monkeypatch.setattr(state_planes, "CHUNK", 64 * 50)
    table = make_table(4, (2, 3, 2, 4, 3, 2, 20, 1), 20_001, missing)
    parts = [Table.from_codes(table.codes[:, part], table.variables) for part in (slice(7000), slice(7000, None))]
    dag = DAG(table.names, [("v0", "v3"), ("v1", "v3"), ("v2", "v4"), ("v6", "v5")])
    whole = BDeu(2).evaluator(TableCounter(table), dag)
    apart = BDeu(2).evaluator(TableCounter(parts[0]) + TableCounter(parts[1]), dag)
    for child in range(8):
        np.testing.assert_array_equal(whole.toggles(child), apart.toggles(child))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", ALL, ids=repr)
def test_all_first_arcs_at_once_gain_what_they_gain_child_by_child(rule, kind):
    counter = counters()[kind]
    moves = np.array([(ADD, tail, head) for tail in range(6) for head in range(6) if tail != head])
    together, alone = rule.evaluator(counter), rule.evaluator(counter)
    expected = [alone.toggles(head)[tail] for _, tail, head in moves]
    if "weighted" in kind:
        np.testing.assert_allclose(together.gains(moves), expected, atol=1e-9)
    else:
        np.testing.assert_array_equal(together.gains(moves), expected)


def test_toggles_say_what_each_change_of_a_child_gains():
    counter = counters()["missing"]
    dag = DAG(counter.names, [("v0", "v3"), ("v4", "v3")])
    evaluator = K2().evaluator(counter, dag)
    mask = np.array([True, True, False, True, False, False])
    partial = evaluator.toggles(3, mask)
    assert evaluator.n_evaluated <= len(CARDS) + 3
    assert np.isnan(partial).tolist() == [False, False, True, True, True, True]
    whole = evaluator.toggles(3)
    assert partial[1] == whole[1]
    now = evaluator.local(3, [0, 4])
    for x in (0, 1, 2, 4, 5):
        assert whole[x] == pytest.approx(evaluator.local(3, {0, 4} ^ {x}) - now)
    done = evaluator.n_evaluated
    evaluator.toggles(3)
    assert evaluator.n_evaluated == done
    evaluator.apply(Move(ADD, 1, 3))
    evaluator.toggles(3)
    evaluator.apply(Move(DELETE, 1, 3))
    done = evaluator.n_evaluated
    np.testing.assert_array_equal(evaluator.toggles(3), whole)
    assert evaluator.n_evaluated == done


def test_only_the_families_that_moves_need_are_evaluated():
    evaluator = BIC().evaluator(counters()["complete"])
    evaluator.total()  # the families held
    done = evaluator.n_evaluated
    evaluator.gains(np.array([[ADD, 0, 1], [ADD, 2, 1], [ADD, 1, 4]]))
    assert evaluator.n_evaluated == done + 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", ALL, ids=repr)
def test_a_batch_of_families_is_each_family_alone(rule, kind, monkeypatch):
    counter = counters()[kind]
    families = [(3, ()), (3, (1,)), (0, (5, 1)), (3, (1, 0, 2, 4, 5)), (0, (1, 5)), (1, (4,))]
    monkeypatch.setattr(scores.store, "BATCH_ENTRIES", 50)
    batch = rule.evaluator(counter).locals(families)
    for value, (child, parents) in zip(batch, families):
        assert rule.evaluator(counter).local(child, parents) == pytest.approx(value)
        (table,) = counter.compact([(*parents, child)])
        assert rule.family(table.counts, table.q, counter.total_weight) == pytest.approx(value)


@pytest.mark.parametrize("target", [None, "v1"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", ALL, ids=repr)
def test_pair_weights_are_differences_of_families(rule, kind, target):
    counter = counters()[kind]
    arc_weights = np.random.default_rng(1).normal(size=(len(CARDS),) * 2)
    evaluator = rule.evaluator(counter, arc_weights=arc_weights)
    weights = evaluator.pair_weights(target)
    base = () if target is None else (1,)
    others = [v for v in range(len(CARDS)) if v not in base]
    for tail in range(len(CARDS)):
        for head in range(len(CARDS)):
            if tail == head or tail not in others or head not in others:
                assert np.isnan(weights[tail, head])
            else:
                gain = evaluator.local(head, (*base, tail)) - evaluator.local(head, base)
                assert weights[tail, head] == pytest.approx(gain, abs=1e-9)
    some = evaluator.pair_weights(target, among=["v4", 0])
    assert np.isfinite(some).sum() == 2
    assert some[0, 4] == weights[0, 4]
    np.testing.assert_array_equal(some, evaluator.pair_weights(target, among=np.arange(6) % 4 == 0))


@pytest.mark.parametrize("rule", [LogLikelihood(), AIC(), BIC(), QNML(), BDeu.per_class(2, 3)], ids=repr)
def test_tree_weights_of_equivalent_scores_do_not_depend_on_the_direction(rule):
    assert rule.equivalent
    weights = rule.evaluator(counters()["complete"]).pair_weights("v1")
    np.testing.assert_allclose(weights, weights.T, rtol=1e-9, atol=1e-9)


def test_class_conditional_sample_size_spreads_over_pairs_of_states():
    """alpha_{x_i x_j | c} = alpha_c / (r_i r_j), here r_i = 4, r_j = 2 and three classes."""
    counts = np.random.default_rng(0).integers(0, 9, (6, 4))
    assert BDeu.per_class(5, n_classes=3).family(counts) == pytest.approx(HGC(5 / (4 * 2)).family(counts))
    with pytest.raises(ValueError, match="n_classes must be a whole number from 1"):
        BDeu.per_class(1, 0)


@pytest.mark.parametrize("rule", [HGC(2.0), K2(), SB(3.0), BDs(1), FNML()], ids=repr)
def test_other_scores_are_not_equivalent_and_say_so(rule):
    table = make_table(5, [2, 4], 9)
    assert not rule.equivalent
    assert scores.score("v0 -> v1", table, rule) != pytest.approx(scores.score("v1 -> v0", table, rule), rel=1e-6)


@settings(max_examples=40)
@given(dags(min_nodes=2, max_nodes=5), st.integers(0, 2**32 - 1), st.data())
def test_markov_equivalent_structures_score_the_same(dag, seed, data):
    table = make_table(seed, data.draw(st.permutations([2, 3, 4, 2, 3]))[: dag.n_nodes], 40)
    variables = [bntk.Variable(n, v.states) for n, v in zip(dag.nodes, table.variables, strict=True)]
    table = bntk.Table.from_codes(table.codes.astype(np.int64), variables)
    other = dag
    for _ in range(4):
        # An arc is covered when its ends have the same parents but for each other; reversing it keeps equivalence.
        covered = [(a, b) for a, b in other.arcs if {*other.parents(a), a} == set(other.parents(b))]
        if covered:
            other = other.reverse_arc(*data.draw(st.sampled_from(covered)))
    assert dag.is_equivalent(other)
    for rule in (LogLikelihood(), AIC(), BIC(), BDeu(1), BDeu(10), SB(1.0), QNML()):
        assert scores.score(dag, table, rule) == pytest.approx(scores.score(other, table, rule), rel=1e-9)


@pytest.mark.parametrize("rule", ALL, ids=repr)
def test_permuting_columns_leaves_scores_equal(rule):
    table = make_table(4, CARDS, 90, missing=0.1)
    arcs = [("v0", "v3"), ("v4", "v3"), ("v3", "v1"), ("v1", "v5")]
    turned = table.select(table.names[::-1])
    one, other = scores.score(DAG(table.names, arcs), table, rule), scores.score(DAG(turned.names, arcs), turned, rule)
    assert one == pytest.approx(other, rel=1e-12)


@pytest.mark.parametrize("rule", ALL, ids=repr)
def test_two_counters_score_as_one_of_all_rows(rule):
    table = make_table(8, CARDS, 100, missing=0.1)
    parts = TableCounter(table.take(np.arange(40))) + TableCounter(table.take(np.arange(40, 100)))
    dag = DAG(table.names, list(combinations(table.names[:4], 2)))
    assert scores.score(dag, parts, rule) == scores.score(dag, table, rule)


def test_answers_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(scores.base, "WORTH_A_THREAD", 0)
    counter = counters()["missing"]
    results = []
    for threads in (1, 3):
        bntk.set_threads(threads)
        results.append(BDeu(2).evaluator(counter).pair_weights("v1"))
    np.testing.assert_array_equal(*results)


def test_reset_takes_another_structure_in_any_order_of_nodes():
    counter = counters()["complete"]
    evaluator = BIC().evaluator(counter)
    dag = DAG(counter.names[::-1], [("v5", "v0"), ("v2", "v0")])
    evaluator.reset(dag)
    assert evaluator.dag == dag.reorder(counter.names)
    assert evaluator.total() == pytest.approx(scores.score(dag, counter, "bic"))
    with pytest.raises(DataError, match="w"):
        evaluator.reset(DAG(["v0", "w"]))


def test_wrong_moves_and_weights_are_refused():
    counter = counters()["complete"]
    evaluator = BIC().evaluator(counter)
    with pytest.raises(ValueError, match="delete v0 -> v1: the arc is not there"):
        evaluator.apply(Move(DELETE, 0, 1))
    evaluator.apply(Move(ADD, 0, 1))
    with pytest.raises(ValueError, match="add v0 -> v1: the arc is already there"):
        evaluator.apply(Move(ADD, 0, 1))
    with pytest.raises(ValueError, match="shape"):
        BIC().evaluator(counter, arc_weights=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="finite"):
        BIC().evaluator(counter, arc_weights=np.full((6, 6), -np.inf))


def test_no_rows_and_one_variable_are_allowed():
    empty = make_table(0, [2, 3], 0)
    one = make_table(0, [3], 10)
    for rule in ALL:
        evaluator = rule.evaluator(TableCounter(empty))
        assert np.isfinite(evaluator.total())
        assert np.isfinite(evaluator.gains(np.array([[ADD, 0, 1]]))).all()
        assert np.isnan(rule.evaluator(TableCounter(one)).pair_weights()).all()


@pytest.mark.parametrize("rule", ALL, ids=repr)
def test_any_number_of_parents_has_a_finite_score(rule):
    """Every row has a configuration of its own, so that a fit sees 20 times one row, whatever q may be."""
    evaluator = rule.evaluator(TableCounter(make_table(0, [2] * 1101, 20, skew=50)))
    value = evaluator.local(0, range(1, 1101))
    assert np.isfinite(value)
    if isinstance(rule, (BDeu, BDs, K2, HGC, FNML, QNML)):
        assert value == pytest.approx(-20 * np.log(2))


def test_an_arc_from_a_variable_to_itself_gains_nothing_known():
    gains = BIC().evaluator(counters()["complete"]).gains(np.array([[ADD, 2, 2], [ADD, 2, 1]]))
    assert np.isnan(gains).tolist() == [True, False]


class Entropy(scores.DecomposableScore):
    """A score of one function, as a user would write it."""

    name = "entropy"

    def family(self, counts, q=None, n=None):
        return LogLikelihood().family(counts, q, n)


@pytest.mark.parametrize("kind", KINDS)
def test_a_score_needs_only_its_formula(kind):
    counter = counters()[kind]
    dag = DAG(counter.names, [("v0", "v3"), ("v4", "v3")])
    own, ours = Entropy().evaluator(counter, dag), LogLikelihood().evaluator(counter, dag)
    assert own.total() == pytest.approx(ours.total())
    np.testing.assert_allclose(own.toggles(3), ours.toggles(3), atol=1e-9)
    np.testing.assert_allclose(own.pair_weights("v1"), ours.pair_weights("v1"), atol=1e-9)
    assert own.bound(3, ()) == np.inf
    assert Entropy().explain(counter, "v3", ["v0"]).penalty == 0

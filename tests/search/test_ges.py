"""Greedy equivalence search finds the class of a network from its exact distribution, and keeps to constraints."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from cases import every
from search.test_by_tests import random_dag
from search.test_separating_sets import members, true_knowledge

import bntk
from bntk import DAG, search
from bntk.errors import ArgumentError, CycleError
from bntk.learning.counts import TableCounter


def exact_counts(dag: DAG, seed: int, n: float = 1e10) -> TableCounter:
    """Every configuration of binary variables, weighted by its probability under random tables.

    With fewer rows, some dependence is too weak to be worth its parameters; with more, the penalty is lost in rounding.
    """
    rng = np.random.default_rng(seed)
    codes = np.indices((2,) * dag.n_nodes).reshape(dag.n_nodes, -1).astype(np.uint8)
    probability = np.ones(codes.shape[1])
    for v, parents in enumerate(dag.parent_indices):
        table = rng.uniform(0.05, 0.95, (2,) * len(parents))
        one = table[tuple(codes[list(parents)])]
        probability *= np.where(codes[v] == 1, one, 1 - one)
    variables = [bntk.Variable(name, ["0", "1"]) for name in dag.nodes]
    return TableCounter(bntk.Table.from_codes(codes, variables), n * probability)


@pytest.mark.parametrize("turning", [True, False])
@pytest.mark.parametrize("seed", every(8, range(100)))
def test_exact_counts_give_the_class(seed, turning):
    dag = random_dag(seed, 8)
    found = bntk.learn_structure(exact_counts(dag, seed), "bic", search=search.GES(turning=turning))
    assert found.pdag == dag.cpdag()
    assert found.dag.is_equivalent(dag)


def test_steps_add_up_to_the_score():
    rows = bntk.datasets.random_network(15, max_parents=3, seed=1).sample(1000, seed=0)
    for score in ("bic", "bdeu"):
        found = bntk.learn_structure(rows, score, search="ges")
        assert found.trace[-1].score == pytest.approx(found.score, rel=1e-9)
        assert found.trace_frame()["score"].is_monotonic_increasing
        assert found.score >= bntk.learn_structure(rows, score, search=search.GES(turning=False)).score


def test_a_class_has_no_better_neighbour_in_a_small_case():
    """All classes over four variables: GES ends where no DAG one arc from a DAG of the class is better."""
    rows = bntk.datasets.random_network(4, max_parents=3, seed=5).sample(300, seed=2)
    found = bntk.learn_structure(rows, "bic", search="ges")
    best = bntk.learn_structure(rows, "bic", search="exact")
    assert found.score <= best.score + 1e-9
    climbed = bntk.learn_structure(rows, "bic", search="hc", start=found.dag)
    assert climbed.score == pytest.approx(found.score)


def test_the_order_of_the_columns_does_not_matter():
    rows = bntk.datasets.random_network(12, max_parents=3, seed=3).sample(3000, seed=0)
    first = bntk.learn_structure(rows, "bic", search="ges")
    order = np.random.default_rng(0).permutation(rows.names)
    other = bntk.learn_structure(rows.select(order), "bic", search="ges")
    assert other.dag.shd(first.dag.reorder(other.dag.nodes)) == 0


@pytest.mark.filterwarnings("ignore::bntk.errors.MissingValuesWarning")
@pytest.mark.parametrize("seed", range(5))
def test_it_ends_where_missing_values_tell_members_of_a_class_apart(seed):
    rows = bntk.datasets.random_network(6, max_parents=2, seed=seed).sample(300, seed=seed)
    found = bntk.learn_structure(bntk.datasets.with_missing(rows, 0.2, seed=seed), "bdeu", search="ges")
    assert found.trace_frame()["score"].is_monotonic_increasing
    assert found.score == pytest.approx(found.trace[-1].score)


def test_limits_on_parents_are_kept():
    rows = bntk.datasets.asia().sample(2000, seed=1)
    space = bntk.Space(rows.names, max_parents=1)
    found = bntk.learn_structure(rows, "bic", space, "ges")
    assert max(map(len, found.dag.parent_indices)) == 1


def test_it_begins_where_it_is_told():
    rows = bntk.datasets.asia().sample(500, seed=1)
    best = bntk.learn_structure(rows, "bic", search="exact").dag
    assert bntk.learn_structure(rows, "bic", search="ges", start=best).trace == ()


@pytest.mark.parametrize("score", ["k2", "bds", "fnml"])
def test_scores_that_tell_members_of_a_class_apart_are_refused(score):
    with pytest.raises(ArgumentError, match="not the same for all structures of a class"):
        bntk.learn_structure(bntk.datasets.asia().sample(50), score, search="ges")


def test_weights_of_one_direction_are_refused():
    space = bntk.Space(["a", "b"], arc_weights={("a", "b"): 1.0})
    with pytest.raises(ArgumentError, match="arc_weights"):
        bntk.learn_structure({"a": [0, 1], "b": [0, 1]}, "bic", space, "ges")
    both = bntk.Space(["a", "b"], arc_weights={("a", "b"): 9.0, ("b", "a"): 9.0})
    assert bntk.learn_structure({"a": [0, 1], "b": [0, 1]}, "bic", both, "ges").dag.n_arcs == 1


def test_a_time_budget_gives_the_class_so_far():
    rows = bntk.datasets.asia().sample(500, seed=1)
    found = bntk.learn_structure(rows, "bic", search=search.GES(time_budget=0))
    assert found.interrupted
    assert len(found.trace) == 1


def neighbours(dag: DAG, space: bntk.Space) -> list[DAG]:
    """The legal structures that differ from a structure in one arc: added, deleted or reversed."""
    arcs, found = set(dag.arcs), []
    for tail, head in permutations(dag.nodes, 2):
        changes = [arcs ^ {(tail, head)}]
        if (tail, head) in arcs:
            changes.append(arcs ^ {(tail, head), (head, tail)})
        for change in changes if (head, tail) not in arcs else []:
            try:
                found.append(DAG(dag.nodes, change))
            except CycleError:
                continue
    return [other for other in found if not space.violations(other)]


@pytest.mark.parametrize("seed", [13, 143, 228, *every(10, range(250))])
def test_under_constraints_no_legal_structure_one_arc_from_a_legal_member_is_better(seed):
    rng = np.random.default_rng(seed)
    network = bntk.datasets.random_network(int(rng.integers(3, 6)), max_parents=3, seed=seed)
    rows = network.sample(int(rng.choice([50, 300, 2000])), seed=seed)
    order = rng.permutation(rows.names).tolist()
    space = bntk.Space(rows.names, tiers=[order[:2], order[2:]])
    found = bntk.learn_structure(rows, "bic", space, "ges")
    assert found.dag.cpdag().skeleton() == found.pdag.skeleton()
    assert {frozenset(arc) for arc in found.dag.cpdag().directed} <= {frozenset(arc) for arc in found.pdag.directed}
    for member in (other for other in members(found.dag) if not space.violations(other)):
        for other in neighbours(member, space):
            assert bntk.score(other, rows, "bic") <= found.score + 1e-6


@pytest.mark.parametrize("seed", every(8, range(150)))
def test_exact_counts_and_true_knowledge_give_the_legal_part_of_the_class(seed):
    dag = random_dag(seed, 7)
    space = true_knowledge(dag, seed)
    found = bntk.learn_structure(exact_counts(dag, seed), "bic", space, "ges")
    legal = [other for other in members(dag) if not space.violations(other)]
    assert found.dag in legal
    assert set(found.pdag.directed) == set.intersection(*(set(other.arcs) for other in legal))


def test_without_tolerance_every_gain_counts():
    rows = bntk.datasets.asia().sample(500, seed=1)
    assert bntk.learn_structure(rows, "bic", search=search.GES(tolerance=0)).score == pytest.approx(
        bntk.learn_structure(rows, "bic", search="ges").score
    )

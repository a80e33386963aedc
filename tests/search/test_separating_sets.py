"""Searches by tests under constraints, against all structures of a class; separating sets; equal p-values."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from cases import every
from search.test_by_tests import SEARCHES, random_dag, separation, two_rows, with_test

import bntk
from bntk import DAG, search
from bntk.errors import CycleError, StructureWarning
from bntk.graph import v_structures
from bntk.learning.counts import as_counter
from bntk.learning.independence import IndependenceTest, IndependenceTester
from bntk.learning.search.by_tests import strongest


def members(dag: DAG) -> list[DAG]:
    """All DAGs of the class, by trying every direction of every edge."""
    edges = dag.cpdag().skeleton().edges
    found = []
    for turned in itertools.product([False, True], repeat=len(edges)):
        try:
            other = DAG(dag.nodes, [(b, a) if turn else (a, b) for (a, b), turn in zip(edges, turned, strict=True)])
        except CycleError:
            continue
        if set(v_structures(other)) == set(v_structures(dag)):
            found.append(other)
    return found


def true_knowledge(dag: DAG, seed: int) -> bntk.Space:
    """Required arcs that are there, forbidden ones that are not (often both directions), and tiers."""
    rng = np.random.default_rng(seed)
    absent = [pair for pair in itertools.permutations(dag.nodes, 2) if not dag.has_arc(*pair)]
    order = list(dag.topological_order)
    cut = int(rng.integers(1, len(order)))
    few, many = (0.3 * rng.integers(2), 0.9 * rng.integers(2))
    return bntk.Space(
        dag.nodes,
        forbidden=[pair for pair in absent if rng.random() < many],
        required=[arc for arc in dag.arcs if rng.random() < few],
        tiers=[order[:cut], order[cut:]] if rng.random() < 0.3 else [],
    )


@pytest.mark.parametrize(
    "one", [*SEARCHES[:5], search.PC(colliders="conservative"), search.PC(colliders="majority")], ids=repr
)
@pytest.mark.parametrize("seed", every(30, range(1000)))
def test_what_all_legal_structures_of_the_class_agree_in_is_directed(seed, one):
    dag = random_dag(seed, 6)
    space = true_knowledge(dag, seed)
    found = bntk.learn_structure(two_rows(dag), space=space, search=with_test(one, separation(dag)))
    legal = [other for other in members(dag) if not space.violations(other)]
    assert set(found.pdag.directed) == set.intersection(*(set(other.arcs) for other in legal))
    assert found.pdag.skeleton() == dag.cpdag().skeleton()
    assert found.dag in legal


@pytest.mark.parametrize("one", [search.PC(), search.PC(colliders="majority"), search.GS(), search.IAMB()], ids=repr)
def test_colliders_are_found_between_variables_that_no_arc_may_join(one):
    dag = DAG.parse("a -> c <- b; c -> d")
    space = bntk.Space(dag.nodes, forbidden=[("a", "b"), ("b", "a")])
    found = bntk.learn_structure(two_rows(dag), space=space, search=with_test(one, separation(dag)))
    assert found.pdag == dag.cpdag()
    assert found.separating_sets["a", "b"] == ()


def test_what_only_a_constraint_keeps_apart_is_directed_neither_way():
    # a and b depend on each other whatever is given, so that the middle may be a collider or not.
    space = bntk.Space(["a", "c", "b"], forbidden=[("a", "b"), ("b", "a")])
    found = bntk.learn_structure(two_rows(DAG(list("acb"), [])), space=space, search=search.PC(test=lambda *_: 0.0))
    assert str(found.pdag) == "a -- c; c -- b"
    assert ("a", "b") not in found.separating_sets
    named = bntk.Space(["a", "c", "b"], forbidden=[("a", "b"), ("b", "a"), ("c", "a")])
    found = bntk.learn_structure(two_rows(DAG(list("acb"), [])), space=named, search=search.PC(test=lambda *_: 0.0))
    assert str(found.pdag) == "a -> c; c -- b"


@pytest.mark.parametrize("one", [*SEARCHES[:4], search.MMPC(), search.MMHC()], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_separating_sets_separate(seed, one):
    rows = (bntk.datasets.asia() if seed == 2 else bntk.datasets.random_network(9, max_parents=3, seed=seed)).sample(
        2000
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StructureWarning)
        found = bntk.learn_structure(rows, "bic", search=one)
    joined = {frozenset(edge) for edge in found.pdag.skeleton().edges}
    for (x, y), given in found.separating_sets.items():
        assert bntk.independence(rows, x, y, given).p_value > 0.05
        assert frozenset((x, y)) not in joined
    if not isinstance(one, search.MMHC):  # which also leaves out what does not pay
        assert len(found.separating_sets) + len(joined) == len(rows.names) * (len(rows.names) - 1) / 2


@pytest.mark.parametrize("test", ["mi", "bdeu", "mc-mi", "smc-mi", "mc-x2"])
def test_of_equal_p_values_the_strongest_dependence_is_taken(test):
    """For a float or for some hundred permutations, all of these are the same."""
    rng = np.random.default_rng(0)
    target = rng.integers(2, size=6000)
    strong, weak = (np.where(rng.random(6000) < share, 1 - target, target) for share in (0.02, 0.1))
    many = 10 * weak + rng.integers(8, size=6000)  # a larger statistic than weak has, but not for its many states
    rows = {"many": many, "weak": weak, "strong": strong, "target": target}
    if "mc" in test:
        test = IndependenceTest(name=test, n_permutations=50)
    order = []
    variables = [bntk.Variable(name, np.unique(column)) for name, column in rows.items()]
    tester = IndependenceTester(as_counter(rows, variables=variables), test)
    left = [0, 1, 2]
    while left:
        answers = tester.ask([(v, 3, ()) for v in left])
        order.append(left.pop(strongest(answers)))
    assert order == [2, 1, 0]


@pytest.mark.parametrize("name", ["mc-mi", "smc-mi", "mc-x2"])
@pytest.mark.parametrize("one", SEARCHES, ids=repr)
def test_draws_of_permutations_do_not_depend_on_the_order_of_the_columns(one, name):
    test = IndependenceTest(name=name, n_permutations=99)
    rows = bntk.datasets.random_network(8, max_parents=3, seed=3).sample(500, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StructureWarning)
        first = bntk.learn_structure(rows, search=with_test(one, test))
        turned = bntk.learn_structure(rows.select(rows.names[::-1]), search=with_test(one, test))
    assert bntk.graph.PDAG(rows.names, turned.pdag.directed, turned.pdag.undirected) == first.pdag
    if getattr(one, "form", "") != "fdr":
        for (x, y), given in first.separating_sets.items():
            assert bntk.independence(rows, x, y, given, test).p_value > 0.05


@pytest.mark.parametrize("seed", range(20))
def test_blankets_end_whatever_the_test_answers(seed):
    """Variables that remove each other from a blanket must not follow each other for ever."""
    rng = np.random.default_rng(seed)
    names = [f"x{k}" for k in range(int(rng.integers(3, 7)))]
    answers: dict[object, float] = {}
    share = rng.uniform(0, 0.5)

    def test(x, y, given):
        return answers.setdefault((x, y, given), float(rng.random() < share) * rng.uniform(0.1, 1))

    for one in SEARCHES[1:]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StructureWarning)
            found = bntk.learn_structure({name: [0, 1] for name in names}, search=with_test(one, test))
        assert found.dag.cpdag().skeleton() == found.pdag.skeleton()

"""Selective trees: the greedy search said slowly, with all trees listed, and what is true of every result."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning.predictive_reference import random_table
from sklearn.utils.estimator_checks import parametrize_with_checks

import bntk
from bntk.errors import SpaceError
from bntk.learning.counts import TableCounter
from bntk.learning.learn import learn_structure
from bntk.learning.scores import BIC, CV, HGC, LC, LOO, SB, Accuracy, BDeu, LogLikelihood, Score, score_by_node
from bntk.learning.search import SearchResult, SelectiveTrees, selective_tree_kernels
from bntk.learning.space import Space
from bntk.learning.space import named as spaces

SCORES = [HGC(), SB(), BIC(), BDeu(5), LOO("v0"), LC("v0"), CV(5, target="v0"), Accuracy(5, target="v0")]
KINDS = {"stan": spaces.stan, "stand": spaces.stand, "sfan": spaces.sfan, "sfand": spaces.sfand}
Weight = Callable[[str, str, bool], float]
Tree = dict[str, str | None]


@parametrize_with_checks(
    [bntk.STAN(), bntk.STAND(), bntk.STAN(forest=True, criterion="bic"), bntk.STAND(criterion="hgc")]
)
def test_scikit_learn_rules(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


# ---- the search, said slowly -----------------------------------------------------------------------------------------


def data(seed: int, n_features: int = 4, n_rows: int = 80) -> bntk.Table:
    """A class v0, and features that depend on it and on the feature before them."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(2 + seed % 2, size=n_rows)]
    for k in range(1, n_features + 1):
        card, source = 2 + (seed + k) % 2, rng.choice(3, n_rows, p=[0.3, 0.3, 0.4])
        columns.append(np.choose(source, [columns[0], columns[-1], rng.integers(card, size=n_rows)]) % card)
    return bntk.Table.from_columns({f"v{k}": column for k, column in enumerate(columns)})


def space_of(kind: str, table: bntk.Table, **options: Any) -> Space:
    return KINDS[kind](table.names[1:], "v0", **options).reorder(table.names)


def found_by(search: SelectiveTrees, kind: str, table: bntk.Table, score: Score, **options: Any) -> SearchResult:
    return learn_structure(table, score, space_of(kind, table, **options), search)


def entropy(table: bntk.Table, names: list[str]) -> float:
    counts = Counter(zip(*(table.column(name).tolist() for name in names)))
    return -sum(n / table.n_rows * math.log(n / table.n_rows) for n in counts.values())


def mutual_information(table: bntk.Table) -> Weight:
    """I(tail; head), given the class if the head is its child."""

    def weight(tail: str, head: str, linked: bool) -> float:
        c = ["v0"] if linked else []
        parts = entropy(table, [tail, *c]) + entropy(table, [head, *c]) - entropy(table, [tail, head, *c])
        return parts - (entropy(table, c) if linked else 0.0)

    return weight


def score_gain(table: bntk.Table, score: Score) -> Weight:
    """What an arc adds to the score of its head."""

    def local(head: str, parents: list[str]) -> float:
        return score_by_node(bntk.DAG(table.names, [(p, head) for p in parents]), table, score)[head]

    def weight(tail: str, head: str, linked: bool) -> float:
        c = ["v0"] if linked else []
        return local(head, [*c, tail]) - local(head, c)

    return weight


def all_forests(nodes: list[str]) -> Iterator[Tree]:
    for tails in product(*([None, *(u for u in nodes if u != v)] for v in nodes)):
        tree = dict(zip(nodes, tails))
        if is_acyclic(tree):
            yield tree


def is_acyclic(tree: Tree) -> bool:
    graph = nx.DiGraph([(tail, head) for head, tail in tree.items() if tail is not None])
    return nx.is_directed_acyclic_graph(graph)


def slow_tree(nodes: list[str], linked: set[str], weight: Weight, root: str | None, forest: bool) -> Tree:
    """The heaviest of all trees with the root, by default the first node; or of all forests."""
    root = root if root in nodes else min(nodes, default=None)
    trees = [t for t in all_forests(nodes) if forest or [v for v in nodes if t[v] is None] == ([root] if nodes else [])]
    weights = {(u, v): weight(u, v, v in linked) for u in nodes for v in nodes if u != v}
    return max(trees, key=lambda tree: sum(weights[tail, head] for head, tail in tree.items() if tail is not None))


def slow_dag(table: bntk.Table, linked: set[str], kind: str, weight: Weight, root: str | None) -> bntk.DAG:
    nodes = [v for v in table.names[1:] if v in linked or not kind.endswith("d")]
    tree = slow_tree(nodes, linked, weight, root, kind.startswith("sf"))
    arcs = [("v0", v) for v in sorted(linked)] + [(tail, head) for head, tail in tree.items() if tail is not None]
    return bntk.DAG(table.names, arcs)


def slow_search(table: bntk.Table, kind: str, score: Score, weight: Weight, root: str | None = None) -> list[bntk.DAG]:
    """The structures after each class arc."""
    linked: set[str] = set()
    steps = [slow_dag(table, linked, kind, weight, root)]
    while len(linked) < len(table.names) - 1:
        left = [v for v in table.names[1:] if v not in linked]
        dags = [slow_dag(table, {*linked, v}, kind, weight, root) for v in left]
        values = [bntk.score(dag, table, score) for dag in dags]
        best = next(k for k, value in enumerate(values) if value > max(values) - 1e-8)
        if linked and values[best] <= bntk.score(steps[-1], table, score) + 1e-8:
            break
        linked.add(left[best])
        steps.append(dags[best])
    return steps


@pytest.mark.parametrize("kind", ["stan", "stand"])
@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
@pytest.mark.parametrize("seed", range(4))
def test_the_search_is_the_greedy_one_over_all_trees(seed: int, score: Score, kind: str) -> None:
    table = data(seed)
    steps = slow_search(table, kind, score, mutual_information(table))
    found = found_by(SelectiveTrees(), kind, table, score)
    assert set(found.dag.arcs) == set(steps[-1].arcs)
    assert len(found.trace) == len(steps)
    np.testing.assert_allclose([s.score for s in found.trace], [bntk.score(dag, table, score) for dag in steps])


@pytest.mark.parametrize("kind", ["stan", "stand"])
@pytest.mark.parametrize("score", [HGC(), SB(), BIC()], ids=lambda score: score.name)
@pytest.mark.parametrize("seed", range(2))
def test_the_weights_may_be_those_of_the_score_and_the_root_is_chosen(seed: int, score: Score, kind: str) -> None:
    table = data(seed)
    steps = slow_search(table, kind, score, score_gain(table, score), root="v3")
    found = found_by(SelectiveTrees(weights="score"), kind, table, score, root="v3")
    assert found.dag.children("v0") == steps[-1].children("v0")
    assert found.score == pytest.approx(bntk.score(steps[-1], table, score))
    if "v3" in found.dag.children("v0") or kind == "stan":
        assert set(found.dag.parents("v3")) <= {"v0"}


@pytest.mark.parametrize("kind", ["sfan", "sfand"])
@pytest.mark.parametrize("seed", range(4))
def test_forests_are_the_best_by_the_score(seed: int, kind: str) -> None:
    table = data(seed, n_features=3)
    steps = slow_search(table, kind, BIC(), score_gain(table, BIC()))
    found = found_by(SelectiveTrees(), kind, table, BIC())
    assert found.dag.children("v0") == steps[-1].children("v0")
    assert found.score == pytest.approx(bntk.score(steps[-1], table, BIC()))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.booleans(), st.integers(0, 10**6))
def test_the_kernel_finds_the_arborescence_of_networkx(n: int, forest: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    alone, given_class = rng.integers(-6, 12, size=(2, n, n)).astype(float)  # row: head; many ties
    linked, root = rng.random(n) < 0.5, int(rng.integers(n))
    tails = np.empty((1, n), np.int64)
    selective_tree_kernels.trees_with(np.array([-1]), linked, alone, given_class, root, forest, False, tails)
    weights = np.where(linked[:, None], given_class, alone)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    arcs = [(u, v) for u in range(n) for v in range(n) if u != v and (forest or v != root)]
    graph.add_edges_from((u, v, {"weight": weights[v, u]}) for u, v in arcs)
    find = nx.maximum_branching if forest else nx.maximum_spanning_arborescence
    best = sum(d["weight"] for *_, d in find(graph).edges(data=True)) if n > 1 else 0.0
    chosen = [(int(u), v) for v, u in enumerate(tails[0]) if u >= 0]
    assert sum(weights[v, u] for u, v in chosen) == pytest.approx(best)
    assert nx.is_forest(nx.DiGraph(chosen)) if chosen else True
    assert forest or (tails[0] < 0).sum() == 1


# ---- what is true of every result ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("score", [HGC(), LOO("v0")], ids=lambda score: score.name)
def test_results_are_legal_and_get_better_step_by_step(kind: str, score: Score) -> None:
    table = data(3, n_features=9, n_rows=200)
    found = found_by(SelectiveTrees(), kind, table, score)
    assert space_of(kind, table).allows(found.dag)
    children = found.dag.children("v0")
    assert sorted(s.what for s in found.trace[1:]) == [f"add v0 -> {v}" for v in children]
    scores = [step.score for step in found.trace]
    assert scores == sorted(scores)
    assert found.score == pytest.approx(bntk.score(found.dag, table, score))
    if kind.endswith("d"):
        assert all(not found.dag.parents(v) and not found.dag.children(v) for v in table.names[1:] if v not in children)


def test_a_forest_has_only_arcs_that_pay_and_begins_with_the_first_feature() -> None:
    table = data(5, n_features=8, n_rows=1000)
    dag = found_by(SelectiveTrees(), "sfand", table, LOO("v0")).dag
    tree = [(u, v) for u, v in dag.arcs if u != "v0"]
    gain = score_gain(table, BIC())
    assert tree
    assert all(gain(u, v, True) > 0 for u, v in tree)
    for part in nx.weakly_connected_components(nx.DiGraph(tree)):
        assert not set(dag.parents(min(part))) - {"v0"}


def test_with_a_class_arc_everywhere_it_is_the_tree_of_friedman() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    columns = {f"x{k}": (y + (rng.random(400) < 0.2) + (rng.random(400) < 0.1)) % 3 for k in range(6)}
    for kind in (bntk.STAN, bntk.STAND):
        found = kind(criterion="loo").fit(columns, y)
        assert len(found.dag_.children("class")) == 6
        assert found.dag_ == bntk.TAN().fit(columns, y).dag_


@pytest.mark.parametrize("kind", ["stan", "stand"])
@pytest.mark.parametrize("score", [BIC(), LOO("v0")], ids=lambda score: score.name)
def test_there_is_a_class_arc_even_if_none_pays(kind: str, score: Score) -> None:
    rng = np.random.default_rng(1)
    table = bntk.Table.from_columns({f"v{k}": rng.integers(2, size=300) for k in range(5)})
    found = found_by(SelectiveTrees(), kind, table, score)
    weight = mutual_information(table)
    single = [bntk.score(slow_dag(table, {v}, kind, weight, None), table, score) for v in table.names[1:]]
    assert len(found.dag.children("v0")) == 1
    assert found.score == pytest.approx(max(single))
    assert found.score < found.trace[0].score


@pytest.mark.parametrize("score", [SB(), LOO("v0")], ids=lambda score: score.name)
@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_threads_changes_nothing(kind: str, score: Score) -> None:
    table = data(7, n_features=20, n_rows=300)
    results = []
    for threads in (1, 3):
        bntk.set_threads(threads)
        results.append(found_by(SelectiveTrees(), kind, table, score))
    bntk.set_threads(None)
    assert results[0].dag == results[1].dag
    assert [s.what for s in results[0].trace] == [s.what for s in results[1].trace]


def test_of_equal_features_the_first_is_taken() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=200)
    x = (y + (rng.random(200) < 0.1)) % 2
    noise = rng.integers(2, size=200)
    stand = bntk.STAND(criterion="accuracy").fit({"noise": noise, "copy": x, "x": x, "again": x}, y)
    assert stand.search_.trace[1].what == "add class -> copy"


@pytest.mark.parametrize("kind", ["stan", "stand"])
@pytest.mark.parametrize("score", [BIC(), LOO("v0")], ids=lambda score: score.name)
def test_few_candidates_end_where_no_other_arc_pays(kind: str, score: Score) -> None:
    table = data(2, n_features=5, n_rows=150)
    everything = found_by(SelectiveTrees(), kind, table, score)
    assert found_by(SelectiveTrees(candidates=5), kind, table, score).dag == everything.dag
    found = found_by(SelectiveTrees(candidates=1), kind, table, score)
    linked, weight = set(found.dag.children("v0")), mutual_information(table)
    assert set(found.dag.arcs) == set(slow_dag(table, linked, kind, weight, None).arcs)
    for v in set(table.names[1:]) - linked:
        assert bntk.score(slow_dag(table, {*linked, v}, kind, weight, None), table, score) <= found.score + 1e-8


def test_fewer_candidates_are_evaluated() -> None:
    table = data(2, n_features=15, n_rows=150)
    few, everything = (found_by(SelectiveTrees(candidates=k), "stan", table, LOO("v0")) for k in (2, None))
    assert few.n_evaluated < everything.n_evaluated / 2


def test_missing_cells_and_weights_of_rows_are_taken() -> None:
    table = random_table(4, [2, 3, 2, 3, 2], 200, missing=0.2)
    frame = table.to_pandas()
    X, y = frame.drop(columns="v0"), frame["v0"]
    twice = frame.index.repeat(2)
    for kind in (bntk.STAN, bntk.STAND):
        assert np.isfinite(kind().fit(X, y).predict_log_proba(X)).all()
        weighted = kind(criterion="bdeu").fit(X, y, sample_weight=np.full(len(y), 2.0))
        assert kind(criterion="bdeu").fit(X.loc[twice], y.loc[twice]).dag_ == weighted.dag_


def test_features_may_all_be_continuous() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    for kind in (bntk.STAN, bntk.STAND):
        fitted = kind(numeric="gaussian").fit(X, X[:, 0] > 0)
        assert fitted.dag_.arcs == ()
        assert fitted.score(X, X[:, 0] > 0) > 0.9


def test_a_time_budget_ends_the_search() -> None:
    table = data(1, n_features=8)
    found = found_by(SelectiveTrees(time_budget=0.0), "stan", table, LOO("v0"))
    assert found.interrupted
    assert len(found.trace) == 1


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_what_is_refused() -> None:
    table = data(0)
    counter = TableCounter(table)
    with pytest.raises(SpaceError, match="stan, stand, sfan and sfand"):
        SelectiveTrees().run(BIC().evaluator(counter), spaces.tan(table.names[1:], "v0").reorder(table.names))
    for kind in KINDS:
        for rule in ({"forbidden": [("v1", "v2")]}, {"forbidden": [("v0", "v2")]}, {"required": [("v0", "v1")]}):
            barred = space_of(kind, table).restrict(**rule)
            with pytest.raises(SpaceError, match="without further required or forbidden arcs"):
                SelectiveTrees().run(BIC().evaluator(counter), barred)
    with pytest.raises(ValueError, match='weights="score" needs a score that is a sum over families'):
        found_by(SelectiveTrees(weights="score"), "stan", table, LOO("v0"))
    with pytest.raises(ValueError, match="weights='loo' is no score that is a sum over families"):
        found_by(SelectiveTrees(weights="loo"), "stan", table, BIC())
    with pytest.raises(ValueError, match="candidates is how many features are tried"):
        SelectiveTrees(candidates=0)
    with pytest.raises(ValueError, match="leave out start"):
        learn_structure(table, "bic", space_of("stan", table), SelectiveTrees(), start=bntk.DAG(table.names))
    frame = table.to_pandas()
    with pytest.raises(ValueError, match="root='v1' is for a tree"):
        bntk.STAN(forest=True, root="v1").fit(frame.drop(columns="v0"), frame["v0"])


def test_the_score_of_the_weights_can_be_named() -> None:
    table = data(6, n_features=6)
    by_name, by_object, default = (
        found_by(SelectiveTrees(weights=weights), "stan", table, LOO("v0"))
        for weights in ("loglik", LogLikelihood(), None)
    )
    assert by_name.dag == by_object.dag == default.dag

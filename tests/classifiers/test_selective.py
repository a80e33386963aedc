"""Selective trees: the greedy search said slowly, with all trees listed, and what is true of every result."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pytest
from cases import every, examples
from hypothesis import given, settings
from hypothesis import strategies as st
from learning.predictive_reference import random_table
from sklearn.utils.estimator_checks import parametrize_with_checks

import bntk
from bntk.errors import SpaceError
from bntk.learning.counts import TableCounter
from bntk.learning.learn import learn_structure
from bntk.learning.scores import (
    BIC,
    CV,
    HGC,
    LC,
    LOO,
    SB,
    Accuracy,
    BDeu,
    DecomposableScore,
    FamilyEvaluator,
    LogLikelihood,
    Score,
    score_by_node,
)
from bntk.learning.search import SearchResult, SelectiveTrees, selective_trees
from bntk.learning.search import selective_tree_kernels as kernels
from bntk.learning.search.selective_trees import _levelled, _Trees
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


@lru_cache
def all_forests(nodes: tuple[str, ...]) -> list[Tree]:
    trees = (dict(zip(nodes, tails)) for tails in product(*([None, *(u for u in nodes if u != v)] for v in nodes)))
    return [tree for tree in trees if is_acyclic(tree)]


def is_acyclic(tree: Tree) -> bool:
    graph = nx.DiGraph([(tail, head) for head, tail in tree.items() if tail is not None])
    return nx.is_directed_acyclic_graph(graph)


def slow_trees(nodes: list[str], linked: set[str], weight: Weight, root: str | None, forest: bool) -> list[Tree]:
    """The heaviest of all trees with the root, if it is a node, or else with any; or of all forests."""
    trees = all_forests(tuple(nodes))
    if not forest and nodes:
        roots = [[v for v in nodes if tree[v] is None] for tree in trees]
        trees = [t for t, r in zip(trees, roots) if len(r) == 1 and (root not in nodes or r == [root])]
    weights = {(u, v): weight(u, v, v in linked) for u in nodes for v in nodes if u != v}
    arcs = [[(tail, head) for head, tail in tree.items() if tail is not None] for tree in trees]
    if forest:
        trees, arcs = zip(*((t, a) for t, a in zip(trees, arcs) if all(weights[arc] > 1e-9 for arc in a)))
    totals = [sum(weights[arc] for arc in some) for some in arcs]
    return [tree for tree, total in zip(trees, totals) if total > max(totals) - 1e-9]


def slow_dags(
    table: bntk.Table, linked: set[str], kind: str, weight: Weight, root: str | None = None
) -> list[bntk.DAG]:
    """The structures with these class arcs and each of the heaviest trees."""
    nodes = [v for v in table.names[1:] if v in linked or not kind.endswith("d")]
    class_arcs = [("v0", v) for v in sorted(linked)]
    return [
        bntk.DAG(table.names, [*class_arcs, *((tail, head) for head, tail in tree.items() if tail is not None)])
        for tree in slow_trees(nodes, linked, weight, root, kind.startswith("sf"))
    ]


def best_score(dags: list[bntk.DAG], table: bntk.Table, score: Score) -> float:
    return max(bntk.score(dag, table, score) for dag in dags)


def tried_score(dags: list[bntk.DAG], table: bntk.Table, score: Score) -> float:
    """The score with which a class arc is tried: of the trees with the highest Bayesian score."""
    if isinstance(score, DecomposableScore):
        return best_score(dags, table, score)
    values = [bntk.score(dag, table, HGC()) for dag in dags]
    return best_score([dag for dag, value in zip(dags, values) if value > max(values) - 1e-7], table, score)


class Slow(NamedTuple):
    """What a slow search found: the class arcs, the scores after each, and the heaviest trees for them."""

    linked: set[str]
    scores: list[float]
    dags: list[bntk.DAG]


def slow_search(table: bntk.Table, kind: str, score: Score, weight: Weight, root: str | None = None) -> Slow:
    """The search as its docstring states it, with all trees listed."""
    linked: set[str] = set()
    dags = slow_dags(table, linked, kind, weight, root)
    scores = [tried_score(dags, table, score)]
    while left := [v for v in table.names[1:] if v not in linked]:
        each = {v: slow_dags(table, {*linked, v}, kind, weight, root) for v in left}
        values = {v: tried_score(dags, table, score) for v, dags in each.items()}
        best = next(v for v in left if values[v] > max(values.values()) - 1e-8)
        values[best] = best_score(each[best], table, score)
        if values[best] <= scores[-1] + 1e-8:
            values = {v: best_score(dags, table, score) for v, dags in each.items()}
            best = next(v for v in left if values[v] > max(values.values()) - 1e-8)
        if linked and values[best] <= scores[-1] + 1e-8:
            break
        linked.add(best)
        scores.append(values[best])
        dags = each[best]
    return Slow(linked, scores, dags)


@pytest.mark.parametrize("kind", ["stan", "stand"])
@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
@pytest.mark.parametrize("seed", range(4))
def test_the_search_is_the_greedy_one_over_all_trees(seed: int, score: Score, kind: str) -> None:
    table = data(seed)
    slow = slow_search(table, kind, score, mutual_information(table))
    found = found_by(SelectiveTrees(), kind, table, score)
    assert set(found.dag.children("v0")) == slow.linked
    np.testing.assert_allclose([s.score for s in found.trace], slow.scores, rtol=1e-9)
    assert set(found.dag.arcs) in [set(dag.arcs) for dag in slow.dags]
    assert found.score == pytest.approx(best_score(slow.dags, table, score), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["stan", "stand", "sfan", "sfand"]), st.sampled_from([LOO("v0"), HGC()]))
def test_no_tree_of_equal_weight_and_no_class_arc_scores_higher(seed: int, kind: str, score: Score) -> None:
    table = data(seed, n_features=1 + seed % 4, n_rows=8 + seed % 40)  # so few rows that many weights are equal
    forest = kind.startswith("sf")
    found = found_by(SelectiveTrees(weights="bic" if forest else "mi"), kind, table, score)
    weight = score_gain(table, BIC()) if forest else mutual_information(table)
    linked = set(found.dag.children("v0"))
    dags = slow_dags(table, linked, kind, weight)
    assert set(found.dag.arcs) in [set(dag.arcs) for dag in dags]
    assert found.score == pytest.approx(best_score(dags, table, score), abs=1e-7)
    for v in set(table.names[1:]) - linked:
        assert best_score(slow_dags(table, {*linked, v}, kind, weight), table, score) <= found.score + 1e-7


@pytest.mark.parametrize("kind", ["stan", "stand"])
@pytest.mark.parametrize("score", [HGC(), SB(), BIC()], ids=lambda score: score.name)
@pytest.mark.parametrize("seed", range(2))
def test_the_weights_may_be_those_of_the_score_and_the_root_is_chosen(seed: int, score: Score, kind: str) -> None:
    table = data(seed)
    slow = slow_search(table, kind, score, score_gain(table, score), root="v3")
    found = found_by(SelectiveTrees(weights="score"), kind, table, score, root="v3")
    assert set(found.dag.children("v0")) == slow.linked
    assert found.score == pytest.approx(slow.scores[-1])
    if "v3" in found.dag.children("v0") or kind == "stan":
        assert set(found.dag.parents("v3")) <= {"v0"}


@pytest.mark.parametrize("kind", ["sfan", "sfand"])
@pytest.mark.parametrize("seed", range(4))
def test_forests_are_the_best_by_the_score(seed: int, kind: str) -> None:
    table = data(seed, n_features=3)
    slow = slow_search(table, kind, BIC(), score_gain(table, BIC()))
    found = found_by(SelectiveTrees(), kind, table, BIC())
    assert set(found.dag.children("v0")) == slow.linked
    assert found.score == pytest.approx(slow.scores[-1])


# ---- the kernels -----------------------------------------------------------------------------------------------------


class Arcs(NamedTuple):
    """Weights and values of arcs among a few features, and the rules of their trees."""

    weights: np.ndarray
    values: np.ndarray
    linked: np.ndarray
    informative: np.ndarray
    added: int
    root: int
    forest: bool
    discard: bool

    @property
    def rules(self) -> tuple[Any, ...]:
        return self.root, self.forest, self.discard


@st.composite
def few_arcs(draw: Any, most: int = 5) -> Arcs:
    """Whole numbers, so few that there are many ties; mostly the same in both directions, as mutual information is."""
    n, seed = draw(st.integers(1, most)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    weights = rng.integers(draw(st.sampled_from([-2, 0])), draw(st.sampled_from([1, 3, 50])), (2, n, n)).astype(float)
    weights = weights + weights.transpose(0, 2, 1) if draw(st.booleans()) else weights
    values = rng.integers(-3, draw(st.sampled_from([-2, 2, 40])), size=(2, n, n)).astype(float)
    forest, root = draw(st.booleans()), draw(st.integers(-1, n - 1))
    linked, informative = rng.random((2, n)) < [[0.6], [0.9]]
    return Arcs(weights, values, linked, informative, int(rng.integers(-1, n)), root, forest, draw(st.booleans()))


def listed_trees(arcs: Arcs) -> list[tuple[tuple[int, ...], float]]:
    """All heaviest trees, by listing every choice of a tail, and the sum of values of each."""
    n, (weights, values, linked, _, added, root, forest, discard) = len(arcs.linked), arcs
    with_class = linked | (np.arange(n) == added)
    inside = [v for v in range(n) if not discard or with_class[v]]
    best, found = -np.inf, []
    for tree in all_forests(tuple(str(v) for v in inside)):
        tails = [-1 if tree.get(str(v)) is None else int(tree[str(v)]) for v in range(n)]
        chosen = [(int(with_class[v]), v, u) for v, u in enumerate(tails) if u >= 0]
        roots = [v for v in inside if tails[v] < 0]
        if forest and any(weights[arc] <= 0 for arc in chosen):
            continue
        if not forest and inside and (len(roots) > 1 or (root in inside and roots != [root])):
            continue
        weight = sum(weights[arc] for arc in chosen)
        if weight > best:
            best, found = weight, []
        if weight == best:
            found.append((tuple(tails), sum(values[arc] for arc in chosen)))
    return found


@settings(max_examples=examples(100, 300), deadline=None)
@given(few_arcs())
def test_the_kernels_list_all_heaviest_trees_and_those_with_the_largest_values(arcs: Arcs) -> None:
    n, expected = len(arcs.linked), listed_trees(arcs)
    relevant = np.flatnonzero((arcs.linked | (np.arange(n) == arcs.added)) & arcs.informative)
    tails = np.empty((2000, n), np.int64)
    count, complete = kernels.equal_trees(arcs.added, arcs.linked, arcs.informative, arcs.weights, *arcs.rules, tails)
    found = [tuple(tree[relevant]) for tree in tails[:count]]
    assert complete
    assert len(found) == len(set(found))
    assert set(found) == {tuple(np.array(tree)[relevant]) for tree, _ in expected}
    assert {tuple(tree) for tree in tails[:count].tolist()} <= {tree for tree, _ in expected}
    best = {tree for tree, value in expected if value == max(value for _, value in expected)}
    for room in (1, 2000):
        tails, counts = np.empty((1, room, n), np.int64), np.empty(1, np.int64)
        weights = (arcs.weights, arcs.values, 2.0**20)
        kernels.trees_with(np.array([arcs.added]), arcs.linked, arcs.informative, *weights, *arcs.rules, tails, counts)
        trees = [tuple(tree) for tree in tails[0, : counts[0]].tolist()]
        differing = {tuple(np.array(tree)[relevant]) for tree in trees}
        assert set(trees) <= best
        assert len(trees) == len(differing)
        assert room == 1 or differing == {tuple(np.array(tree)[relevant]) for tree in best}


@settings(max_examples=100, deadline=None)
@given(few_arcs(), st.integers(0, 100))
def test_trees_nearby_are_heaviest_and_have_every_arc_that_these_have(arcs: Arcs, which: int) -> None:
    n, expected = len(arcs.linked), [tree for tree, _ in listed_trees(arcs)]
    held = np.array(expected[which % len(expected)], dtype=np.int64).reshape(n)
    tails = np.empty((2000, n), np.int64)
    count = kernels.nearby_trees(arcs.added, arcs.linked, arcs.informative, arcs.weights, *arcs.rules, held, tails)
    near = [tuple(tree) for tree in tails[:count].tolist()]
    assert set(near) <= set(expected)
    for v in np.flatnonzero((arcs.linked | (np.arange(n) == arcs.added)) & arcs.informative):
        assert {tree[v] for tree in expected} == {int(held[v])} | {tree[v] for tree in near}


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.booleans(), st.booleans(), st.integers(0, 10**6))
def test_the_kernel_finds_the_arborescence_of_networkx(n: int, forest: bool, rooted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    both = rng.integers(-6, 12, size=(2, n, n)).astype(float)  # row: head; many ties
    linked, root = rng.random(n) < 0.5, int(rng.integers(n)) if rooted else -1
    tails, counts = np.empty((1, 1, n), np.int64), np.empty(1, np.int64)
    everything = np.ones(n, dtype=bool)
    kernels.trees_with(np.array([-1]), linked, everything, both, both, 2.0**20, root, forest, False, tails, counts)
    weights = np.where(linked[:, None], both[1], both[0])
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    arcs = [(u, v) for u in range(n) for v in range(n) if u != v and (forest or v != root)]
    graph.add_edges_from((u, v, {"weight": weights[v, u]}) for u, v in arcs)
    find = nx.maximum_branching if forest else nx.maximum_spanning_arborescence
    best = sum(d["weight"] for *_, d in find(graph).edges(data=True)) if n > 1 else 0.0
    chosen = [(int(u), v) for v, u in enumerate(tails[0, 0]) if u >= 0]
    assert sum(weights[v, u] for u, v in chosen) == pytest.approx(best)
    assert nx.is_forest(nx.DiGraph(chosen)) if chosen else True
    assert forest or (tails[0, 0] < 0).sum() == 1


# ---- columns in any order --------------------------------------------------------------------------------------------

# In these samples two class arcs have the same score at one step, as their features have the same counts in each class.
# Only then the order of the columns decides, and the steps after it differ.
TIED = {(5, "asia"), (9, "smoke")}


def scores_in_any_order(X: Any, y: Any, seed: int, **options: Any) -> list[list[float]]:
    """For STAN and STAND, the scores with the columns as they are, reversed, and shuffled."""
    names = list(X.columns)
    orders = [names, names[::-1], np.random.default_rng(seed).permutation(names)]
    return [
        [kind(**options).fit(X[list(order)], y).search_.score for order in orders] for kind in (bntk.STAN, bntk.STAND)
    ]


OTHERS = ["asia", "tub", "smoke", "lung", "bronc", "either", "xray"]
OPTIONS: list[dict[str, Any]] = [{}, {"forest": True}, {"criterion": "hgc"}, {"prior": 0.3}]


@pytest.mark.parametrize(
    ("seed", "options"),
    [(seed, options) for start, options in enumerate(OPTIONS) for seed in every(4, range(1, 21), start)],
    ids=repr,
)
def test_the_order_of_columns_does_not_change_the_score(seed: int, options: dict[str, Any]) -> None:
    rows = bntk.datasets.asia().sample(300, seed=seed).to_pandas()
    for scores in scores_in_any_order(rows.drop(columns="dysp"), rows["dysp"], seed, **options):
        assert scores == pytest.approx([scores[0]] * 3, rel=0, abs=1e-9)


@pytest.mark.parametrize("options", OPTIONS[:2], ids=repr)
@pytest.mark.parametrize("target", OTHERS)
def test_the_order_of_columns_does_not_change_the_score_of_other_classes(target: str, options: dict[str, Any]) -> None:
    for seed in every(10, range(1, 21), 2 * OTHERS.index(target) + len(options)):
        rows = bntk.datasets.asia().sample(300, seed=seed).to_pandas()
        if (seed, target) in TIED or rows[target].nunique() == 1:
            continue
        for scores in scores_in_any_order(rows.drop(columns=target), rows[target], seed, **options):
            assert scores == pytest.approx([scores[0]] * 3, rel=0, abs=1e-9)


def test_class_arcs_of_equal_score_are_taken_in_the_order_of_the_columns() -> None:
    rows = bntk.datasets.asia().sample(300, seed=5).to_pandas()
    X, y = rows[["bronc", "dysp"]], rows["asia"]
    assert sorted(Counter(zip(y, X["bronc"])).values()) == sorted(Counter(zip(y, X["dysp"])).values())
    for names in (["bronc", "dysp"], ["dysp", "bronc"]):
        assert bntk.STAND().fit(X[names], y).search_.trace[1].what == f"add asia -> {names[0]}"


def test_weights_that_differ_by_rounding_are_equal() -> None:
    rng = np.random.default_rng(0)
    exact = np.array([0.0, 1e-3, 1.0, 1.0 + 1e-6, 250.0])
    noisy = exact[:, None] + 1e-12 * rng.standard_normal((5, 40))
    levels = _levelled(noisy, 1e-10)
    assert [len(set(line)) for line in levels.tolist()] == [1] * 5
    assert len(set(levels.ravel().tolist())) == 5
    assert (levels[0] == 0).all()
    np.testing.assert_allclose(levels, noisy, atol=1e-10)


def test_rounding_of_weights_does_not_choose_between_trees(monkeypatch: Any) -> None:
    rows = bntk.datasets.asia().sample(300, seed=4).to_pandas()
    X, y = rows.drop(columns="dysp"), rows["dysp"]
    scores = [kind().fit(X, y).search_.score for kind in (bntk.STAN, bntk.STAND)]
    exact, rng = FamilyEvaluator.pair_weights, np.random.default_rng(0)

    def noisy(self: Any, *arguments: Any, **options: Any) -> np.ndarray:
        weights = exact(self, *arguments, **options)
        return weights + 1e-11 * rng.standard_normal(weights.shape)

    monkeypatch.setattr(FamilyEvaluator, "pair_weights", noisy)
    monkeypatch.setattr(selective_trees, "GRID_BITS", 48)  # so that the grid alone does not hide it
    for _ in range(5):
        assert [kind().fit(X, y).search_.score for kind in (bntk.STAN, bntk.STAND)] == pytest.approx(scores, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_states_and_rows_does_not_change_the_score(seed: int) -> None:
    table = data(seed, n_features=6, n_rows=150)
    rng = np.random.default_rng(seed)
    turned = {name: -table.column(name).astype(int)[::-1] for name in rng.permutation(table.names[1:])}
    X, y = table.select(table.names[1:]), table.column("v0")
    for kind in (bntk.STAN, bntk.STAND):
        plain, other = kind().fit(X, y), kind(numeric="category").fit(turned, y[::-1])
        assert other.search_.score == pytest.approx(plain.search_.score, abs=1e-9)


@pytest.mark.parametrize("kind", ["stan", "stand", "sfan", "sfand"])
def test_where_equal_trees_are_not_listed_better_ones_nearby_are_found(kind: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(_Trees, "equal", lambda self, linked, added: None)
    for seed in range(6):
        table, weights = data(seed, n_rows=30), "bic" if kind.startswith("sf") else "mi"
        found = found_by(SelectiveTrees(weights=weights), kind, table, LOO("v0"))
        weight = score_gain(table, BIC()) if kind.startswith("sf") else mutual_information(table)
        dags = slow_dags(table, set(found.dag.children("v0")), kind, weight)
        assert set(found.dag.arcs) in [set(dag.arcs) for dag in dags]
        assert found.score == pytest.approx(best_score(dags, table, LOO("v0")), abs=1e-7)


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


def test_a_forest_has_only_arcs_that_pay() -> None:
    table = data(5, n_features=8, n_rows=1000)
    dag = found_by(SelectiveTrees(), "sfand", table, LOO("v0")).dag
    tree = [(u, v) for u, v in dag.arcs if u != "v0"]
    gain = score_gain(table, BIC())
    assert tree
    assert all(gain(u, v, True) > 0 for u, v in tree)


def test_with_a_class_arc_everywhere_it_is_the_tree_of_friedman() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    columns = {f"x{k}": (y + (rng.random(400) < 0.2) + (rng.random(400) < 0.1)) % 3 for k in range(6)}
    for kind in (bntk.STAN, bntk.STAND):
        found = kind(criterion="loo").fit(columns, y)
        assert len(found.dag_.children("class")) == 6
        tan = bntk.TAN().fit(columns, y)
        assert {frozenset(arc) for arc in found.dag_.arcs} == {frozenset(arc) for arc in tan.dag_.arcs}
        rooted = kind(criterion="loo", root="x0").fit(columns, y)
        assert rooted.dag_ == tan.dag_
        assert rooted.search_.score <= found.search_.score + 1e-9


@pytest.mark.parametrize("kind", ["stan", "stand"])
@pytest.mark.parametrize("score", [BIC(), LOO("v0")], ids=lambda score: score.name)
def test_there_is_a_class_arc_even_if_none_pays(kind: str, score: Score) -> None:
    rng = np.random.default_rng(1)
    table = bntk.Table.from_columns({f"v{k}": rng.integers(2, size=300) for k in range(5)})
    found = found_by(SelectiveTrees(), kind, table, score)
    weight = mutual_information(table)
    single = [best_score(slow_dags(table, {v}, kind, weight), table, score) for v in table.names[1:]]
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
    dags = slow_dags(table, linked, kind, weight)
    assert set(found.dag.arcs) in [set(dag.arcs) for dag in dags]
    assert found.score == pytest.approx(best_score(dags, table, score))
    for v in set(table.names[1:]) - linked:
        assert best_score(slow_dags(table, {*linked, v}, kind, weight), table, score) <= found.score + 1e-8


def test_fewer_candidates_are_evaluated() -> None:
    table = data(2, n_features=15, n_rows=150)
    few, everything = (found_by(SelectiveTrees(candidates=k), "stan", table, LOO("v0")) for k in (2, None))
    assert few.n_evaluated < everything.n_evaluated


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
    with pytest.raises(ValueError, match="candidates must be None or a whole number from 1"):
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

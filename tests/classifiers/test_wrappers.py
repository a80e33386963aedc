"""Searches for classifiers, step by step: every structure that R's bnclassify tried, its score, and what was chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from classifiers.recording import Recorder, Structure
from references import declared, oracle_json, oracle_table, read_json, shared

import bntk
from bntk.errors import InterruptedWarning, SpaceError
from bntk.graph.dag import DAG
from bntk.learning.counts import TableCounter
from bntk.learning.scores import BIC, LOO, Accuracy, BDeu, Score
from bntk.learning.search import (
    BackwardJoining,
    BestStar,
    ForwardJoining,
    GreedyAdditions,
    Search,
    SearchResult,
    SuperparentAdditions,
    by_name,
)
from bntk.learning.search.stepwise import StepwiseSearch
from bntk.learning.space import Space
from bntk.learning.space import named as spaces

ALGORITHMS = ("fssj", "bsej", "tan_hc", "tan_hcsp", "kdb")
SHARED_RUNS = [
    (data, f"{algorithm}_seed0_k5_eps{epsilon}_first")
    for data in ("car", "voting_complete")
    for algorithm in ALGORITHMS
    for epsilon in ("0.01", "0.001")
]


def search_of(algorithm: str, epsilon: float) -> Search:
    """What an algorithm of bnclassify is called here."""
    if algorithm == "fssj":
        return ForwardJoining(epsilon=epsilon)
    if algorithm == "bsej":
        return BackwardJoining(epsilon=epsilon)
    if algorithm == "tan_hcsp":
        return SuperparentAdditions(epsilon=epsilon)
    return GreedyAdditions(epsilon=epsilon, both_directions=algorithm == "kdb")


def space_of(algorithm: str, names: tuple[str, ...], target: str) -> Space:
    features = [name for name in names if name != target]
    if algorithm in ("fssj", "bsej"):
        return spaces.augmented(features, target, "dag", "discard").reorder(names)
    return (spaces.kdb(features, target, 2) if algorithm == "kdb" else spaces.fan(features, target)).reorder(names)


def check_run(run: dict[str, Any], table: bntk.Table, tests: list[list[int]]) -> None:
    """Same candidates in the same order, same scores, same way, same end."""
    folds = np.empty(table.n_rows, dtype=int)
    for fold, rows in enumerate(tests):
        folds[np.array(rows) - 1] = fold
    target, algorithm = table.names[0 if table.names[0] == "class" else -1], run["alg"]
    score = Accuracy(folds=folds, target=target, prior=run["smooth"])
    evaluator = Recorder(score.evaluator(TableCounter(table)))
    space = space_of(algorithm, table.names, target)
    found = search_of(algorithm, run["epsilon"]).run(evaluator, space)

    at = {name: place for place, name in enumerate(table.names)}

    def structure(candidate: dict[str, Any]) -> Structure:
        parents: list[set[int]] = [set() for _ in at]
        for feature in np.atleast_1d(candidate["features"]).tolist():
            parents[at[feature]].add(at[target])
        for tail, head in candidate["arcs"]:
            parents[at[head]].add(at[tail])
        return tuple(map(frozenset, parents))

    recorded = run["trace"][1:]
    assert len(evaluator.rounds) == len(recorded)
    for (structures, scores), one in zip(evaluator.rounds, recorded, strict=True):
        assert structures == [structure(candidate) for candidate in one["candidates"]]
        np.testing.assert_allclose(scores, np.atleast_1d(one["scores"]), rtol=0, atol=1e-9)
    np.testing.assert_allclose([step.score for step in found.trace], run["scores_log"], rtol=0, atol=1e-9)
    assert found.dag == DAG(table.names, run["arcs"])
    assert found.score == pytest.approx(run["scores_log"][-1], abs=1e-9)
    assert space.allows(found.dag)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", ["mixed", "binary", "sparse"])
def test_every_step_is_that_of_bnclassify(name: str, algorithm: str) -> None:
    runs = oracle_json(f"{name}_wrappers")
    check_run(runs[algorithm], oracle_table(name), runs["folds"]["test_folds_1based"])


@pytest.mark.parametrize(("name", "run"), SHARED_RUNS)
def test_every_step_is_that_of_bnclassify_on_larger_data(name: str, run: str) -> None:
    folder = shared("oracle/bnclassify")
    table = bntk.read_table(folder / f"{name}.csv", variables=declared(folder / f"{name}.levels.json"), unseen="error")
    recorded = read_json(folder / f"{name}_wrappers.json.gz")[run]
    check_run(recorded, table, list(recorded["test_folds_1based"].values()))


# ---- what holds for every score, decomposable or predictive ------------------------------------------------------


SCORES: list[Score] = [BIC(), BDeu(5), LOO("y"), Accuracy(folds=4, target="y")]
SEARCHES: list[StepwiseSearch] = [
    GreedyAdditions(epsilon=0.005),
    GreedyAdditions(epsilon=0.005, both_directions=False),
    SuperparentAdditions(epsilon=0.005),
    ForwardJoining(epsilon=0.005),
    BackwardJoining(epsilon=0.005),
]


def tangled(seed: int, n_rows: int = 150, n_features: int = 5, missing: float = 0.0) -> bntk.Table:
    """Features that depend on the class and on each other, of two and three states."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rows)
    columns: dict[str, Any] = {}
    before = y
    for f in range(n_features):
        column = np.where(rng.random(n_rows) < 0.5, (before + y) % (2 + f % 2), rng.integers(2 + f % 2, size=n_rows))
        columns[f"x{f}"], before = column, column
    holes = {
        name: [None if hole else int(cell) for cell, hole in zip(column, rng.random(n_rows) < missing, strict=True)]
        for name, column in columns.items()
    }
    return bntk.Table.from_columns({**holes, "y": y.tolist()})


def legal_space(search: Search, table: bntk.Table) -> Space:
    features = [name for name in table.names if name != "y"]
    if isinstance(search, (ForwardJoining, BackwardJoining)):
        return spaces.augmented(features, "y", "dag", "discard").reorder(table.names)
    return spaces.kdb(features, "y", 2).reorder(table.names)


def run(search: Search, score: Score, table: bntk.Table, **options: Any) -> SearchResult:
    return search.run(score.evaluator(TableCounter(table)), legal_space(search, table), **options)


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
@pytest.mark.parametrize("search", SEARCHES, ids=repr)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_each_step_pays_and_none_is_left_that_would(search: StepwiseSearch, score: Score, missing: float) -> None:
    for seed in range(3):
        table = tangled(seed, missing=missing)
        recorder = Recorder(score.evaluator(TableCounter(table)))
        space = legal_space(search, table)
        found = search.run(recorder, space)
        assert space.allows(found.dag)
        assert found.score == pytest.approx(bntk.score(found.dag, table, score), rel=1e-12)
        values = [step.score for step in found.trace]
        assert (np.diff(values) >= search.epsilon - 1e-9).all()
        assert values[-1] == pytest.approx(found.score)
        assert recorder.dag == found.dag
        _, last = recorder.rounds[-1]
        assert last.max() - found.score < search.epsilon or len(space.walk(found.dag).moves()) == 0


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
def test_greedy_additions_take_the_best_of_all_legal_arcs(score: Score) -> None:
    table = tangled(7)
    space = legal_space(GreedyAdditions(), table)
    dag = space.start()
    for step in run(GreedyAdditions(epsilon=0.005), score, table).trace[1:]:
        arcs = [(tail, head) for tail in table.names for head in table.names if tail != head]
        ahead = [DAG(table.names, [*dag.arcs, arc]) for arc in arcs if arc not in dag.arcs and acyclic(dag, arc)]
        values = [bntk.score(one, table, score) for one in ahead if space.allows(one)]
        assert step.score == pytest.approx(max(values), rel=1e-12)
        tail, head = step.what.removeprefix("add ").split(" -> ")
        dag = DAG(table.names, [*dag.arcs, (tail, head)])
        assert bntk.score(dag, table, score) == pytest.approx(step.score, rel=1e-12)


def acyclic(dag: DAG, arc: tuple[str, str]) -> bool:
    return arc[1] != arc[0] and arc[1] not in dag.ancestors(arc[0])


@pytest.mark.parametrize("search", [GreedyAdditions(epsilon=0.1), SuperparentAdditions(epsilon=0.1)], ids=repr)
def test_the_order_of_columns_does_not_matter_where_nothing_ties(search: Search) -> None:
    table = tangled(3, n_features=6)
    turned = table.select([*reversed(table.names[:-1]), "y"])
    one, other = run(search, LOO("y"), table), run(search, LOO("y"), turned)
    assert set(one.dag.arcs) == set(other.dag.arcs)
    assert len(one.trace) > 1


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
def test_twice_the_same_and_with_any_number_of_threads(search: Search) -> None:
    table = tangled(5, n_rows=400, n_features=8)
    first = run(search, Accuracy(target="y"), table)
    bntk.set_threads(1)
    try:
        second = run(search, Accuracy(target="y"), table, seed=3)
    finally:
        bntk.set_threads(None)
    assert first.dag == second.dag
    assert [(step.what, step.score) for step in first.trace] == [(step.what, step.score) for step in second.trace]


@pytest.mark.parametrize("search", [ForwardJoining(epsilon=0), BackwardJoining(epsilon=0)], ids=repr)
def test_joining_ends_with_complete_groups_that_are_apart(search: Search) -> None:
    for seed in range(5):
        found = run(search, LOO("y"), tangled(seed))
        groups: list[set[str]] = []
        for name in found.dag.topological_order:
            parents = set(found.dag.parents(name)) - {"y"}
            if name == "y" or "y" not in found.dag.parents(name):
                assert not parents
                continue
            inside = [group for group in groups if parents == group]
            assert inside or not parents
            if inside and parents:
                inside[0].add(name)
            else:
                groups.append({name})


# ---- limits, and what is refused -----------------------------------------------------------------------------------


def test_forbidden_arcs_and_limits_are_kept_when_groups_are_joined() -> None:
    table = tangled(1)
    free = run(BackwardJoining(epsilon=0), LOO("y"), table)
    joined = next(arc for arc in free.dag.arcs if arc[0] != "y")
    space = legal_space(BackwardJoining(), table).restrict(forbidden=[joined])
    evaluator = LOO("y").evaluator(TableCounter(table))
    found = BackwardJoining(epsilon=0).run(evaluator, space)
    assert space.allows(found.dag)
    assert joined not in found.dag.arcs
    small = legal_space(BackwardJoining(), table).restrict(max_parents=1)
    assert BackwardJoining(epsilon=0).run(evaluator, small).dag.n_arcs <= len(table.names) - 1


def test_steps_and_time_can_be_limited() -> None:
    table = tangled(7)
    for search in (GreedyAdditions, SuperparentAdditions, ForwardJoining, BackwardJoining):
        assert len(run(search(epsilon=0, max_iter=1), LOO("y"), table).trace) == 2
        nothing = run(search(epsilon=0, time_budget=0), LOO("y"), table)
        assert nothing.interrupted
        assert [step.what for step in nothing.trace] == ["start"]


def test_an_interrupt_gives_the_structure_so_far() -> None:
    table = tangled(7)
    whole = run(GreedyAdditions(epsilon=0), LOO("y"), table)

    class Stopped(Recorder):
        def gains(self, moves: Any) -> np.ndarray:
            if len(self.rounds) == 2:
                raise KeyboardInterrupt
            return super().gains(moves)

    evaluator = Stopped(LOO("y").evaluator(TableCounter(table)))
    with pytest.warns(InterruptedWarning, match="best structure so far"):
        found = GreedyAdditions(epsilon=0).run(evaluator, legal_space(GreedyAdditions(), table))
    assert found.interrupted
    assert [step.what for step in found.trace] == [step.what for step in whole.trace[:3]]
    assert evaluator.dag == found.dag


def test_a_search_goes_on_from_a_start() -> None:
    table = tangled(7)
    for search in SEARCHES:
        whole = run(search, LOO("y"), table)
        first = run(type(search)(**{**vars(search), "max_iter": 1}), LOO("y"), table)
        rest = run(search, LOO("y"), table, start=first.dag)
        assert [step.what for step in whole.trace[2:]] == [step.what for step in rest.trace[1:]]
        assert rest.dag == whole.dag


def test_what_cannot_be_searched_is_refused() -> None:
    table = tangled(1)
    with pytest.raises(ValueError, match="epsilon"):
        GreedyAdditions(epsilon=-1)
    with pytest.raises(SpaceError, match="one class"):
        ForwardJoining().run(BIC().evaluator(TableCounter(table)), Space(table.names))
    with pytest.raises(SpaceError, match="not a semi-naive"):
        run(BackwardJoining(), BIC(), table, start=DAG(table.names, chain()))
    with pytest.raises(SpaceError, match="not legal"):
        run(GreedyAdditions(), BIC(), table, start=DAG(table.names, []))
    with pytest.raises(SpaceError, match="one star"):
        run(BestStar(), BIC(), table)


def chain() -> list[tuple[str, str]]:
    """x0 -> x1 -> x2 without x0 -> x2, all three children of the class."""
    return [("x0", "x1"), ("x1", "x2"), ("y", "x0"), ("y", "x1"), ("y", "x2")]


def test_searches_have_names() -> None:
    found = [type(by_name(name)) for name in ("additions", "superparent", "fssj", "bsej", "star")]
    assert found == [GreedyAdditions, SuperparentAdditions, ForwardJoining, BackwardJoining, BestStar]

"""Ctrl-C: the best so far of a search that stands alone, with one warning; an error in loops, and the second time."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import bntk
from bntk._interrupts import BestSoFar, raising_interrupts
from bntk.errors import InterruptedWarning
from bntk.learning.counts import TableCounter
from bntk.learning.em import IncompleteRows
from bntk.learning.learn import learn_structure
from bntk.learning.scores import BIC, LOO
from bntk.learning.search import (
    BOSS,
    BestStar,
    Exact,
    GreedyAdditions,
    HillClimbing,
    K2Search,
    KDependence,
    OrderSearch,
    SelectiveTrees,
    SpanningTree,
    SubgraphSearch,
    Tabu,
)
from bntk.learning.search.k_dependence_selection import SelectiveKDependence
from bntk.learning.space import Space

ASIA = bntk.datasets.asia()
ROWS = ASIA.sample(300, seed=1)
FRAME = ROWS.to_pandas()
X, Y = FRAME.drop(columns="dysp"), FRAME["dysp"]
FEATURES = tuple(X.columns)


@contextmanager
def interrupting(module: str, function: str, *, at: int = 1, again: bool = False) -> Iterator[list[int]]:
    """Press Ctrl-C when a function is called for the ``at``-th time; ``again``: every time from then on."""
    calls: list[int] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or frame.f_code.co_name != function or frame.f_globals["__name__"] != module:
            return
        calls.append(1)
        if len(calls) == at or (again and len(calls) > at):
            raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(look)
    try:
        yield calls
    finally:
        sys.settrace(before)


CLIMBS = ("bntk.learning.search.greedy", "best_move")


# ---- a search that stands alone --------------------------------------------------------------------------------------


def test_the_best_so_far_comes_with_one_warning_that_points_at_the_caller() -> None:
    with interrupting(*CLIMBS, at=3), pytest.warns(InterruptedWarning) as told:
        network = bntk.learn(ROWS, "bic", search="hc")
    assert network.report.interrupted
    assert network.dag.n_arcs == 2
    assert len(told) == 1
    assert told[0].filename == __file__


def test_nested_searches_warn_once() -> None:
    with interrupting(*CLIMBS, at=3), pytest.warns(InterruptedWarning) as told:
        found = learn_structure(ROWS, "bic", search=OrderSearch())
    assert found.interrupted
    assert found.dag.n_arcs >= 2  # what hill climbing had found, before any order was looked at
    assert len(told) == 1


def test_a_second_interrupt_always_raises() -> None:
    def twice() -> None:
        with BestSoFar("all"):
            learn_structure(ROWS, "bic", search="hc")
            raise KeyboardInterrupt

    with interrupting(*CLIMBS, at=3), pytest.raises(KeyboardInterrupt):
        twice()


def test_no_search_begins_after_one_that_was_cut_off_within_another() -> None:
    begun = []

    def several() -> bool:
        with BestSoFar("the outer one") as so_far:
            for number in range(5):
                learn_structure(ROWS, "bic", search="hc")
                begun.append(number)
        return so_far.interrupted

    with interrupting(*CLIMBS, at=2), pytest.warns(InterruptedWarning, match="the outer one"):
        assert several()
    assert begun == [0]


def test_nothing_to_give_yet_is_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), BestSoFar("nothing", lambda: False):
        raise KeyboardInterrupt


def test_an_interrupt_as_a_block_is_left_does_not_spoil_the_next_search() -> None:
    with interrupting("bntk._interrupts", "__exit__"), pytest.raises(KeyboardInterrupt):
        learn_structure(ROWS, "bic", search="hc")
    with interrupting(*CLIMBS, at=2), pytest.warns(InterruptedWarning) as told:
        assert learn_structure(ROWS, "bic", search=OrderSearch()).interrupted
    assert len(told) == 1


def test_a_classifier_alone_or_in_a_pipeline_keeps_its_best_so_far() -> None:
    ban = bntk.BayesNetClassifier(space=bntk.spaces.ban, criterion="bic", search="hc")
    with interrupting(*CLIMBS, at=2), pytest.warns(InterruptedWarning):
        assert ban.fit(X, Y).search_.interrupted
    piped = make_pipeline(FunctionTransformer(), ban)
    with interrupting(*CLIMBS, at=2), pytest.warns(InterruptedWarning):
        assert piped.fit(X, Y)[-1].search_.interrupted


# ---- loops -----------------------------------------------------------------------------------------------------------


def ban() -> bntk.BayesNetClassifier:
    """A classifier that searches."""
    return bntk.BayesNetClassifier(space=bntk.spaces.ban, criterion="bic", search="hc")


LOOPS: dict[str, Callable[[], Any]] = {
    "bootstrap": lambda: bntk.bootstrap_strengths(ROWS, "bic", n=3),
    "cross_validate": lambda: bntk.evaluation.cross_validate(ban(), X, Y, cv=2),
    "relearn parameters": lambda: bntk.evaluation.cross_validate(ban(), X, Y, cv=2, relearn="parameters"),
    "compare": lambda: bntk.evaluation.compare({"ban": ban()}, {"asia": (X, Y)}, cv=2),
    "cross_val_score": lambda: cross_val_score(ban(), X, Y, cv=2),
    "grid search": lambda: GridSearchCV(ban(), {"prior": [1.0, 2.0]}, cv=2).fit(X, Y),
    "grid search of a pipeline": lambda: GridSearchCV(
        make_pipeline(FunctionTransformer(), ban()), {"bayesnetclassifier__prior": [1.0]}, cv=2
    ).fit(X, Y),
    "bagging": lambda: BaggingClassifier(ban(), n_estimators=2, random_state=0).fit(X.apply(lambda c: c.cat.codes), Y),
    "chain": lambda: bntk.ClassifierChain(ban()).fit(X.drop(columns="xray"), FRAME[["dysp", "xray"]]),
    "chains": lambda: bntk.ChainEnsemble(ban(), n_chains=2).fit(X.drop(columns="xray"), FRAME[["dysp", "xray"]]),
    "binary relevance": lambda: bntk.BinaryRelevance(ban()).fit(X.drop(columns="xray"), FRAME[["dysp", "xray"]]),
    "unlabelled rows": lambda: ban().fit(X, Y.astype(object).where(np.arange(len(Y)) % 3 > 0)),
}


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_over_fits_raises(loop: str, at: int) -> None:
    with interrupting(*CLIMBS, at=at) as calls, pytest.raises(KeyboardInterrupt):
        LOOPS[loop]()
    assert len(calls) == at


def test_the_last_fit_of_a_loop_raises_as_well() -> None:
    with interrupting(*CLIMBS, at=10**9) as calls:
        cross_val_score(ban(), X, Y, cv=2)
    with interrupting(*CLIMBS, at=len(calls)), pytest.raises(KeyboardInterrupt):
        cross_val_score(ban(), X, Y, cv=2)


def test_a_loop_of_the_user_goes_on_to_no_other_search() -> None:
    found = []

    def loop() -> None:
        for seed in range(3):
            found.append(bntk.learn(ROWS, "bic", search="hc", seed=seed))  # noqa: PERF401

    with interrupting(*CLIMBS, at=3), pytest.warns(InterruptedWarning), pytest.raises(KeyboardInterrupt):
        loop()
    assert [network.report.interrupted for network in found] == [True]


def test_a_loop_with_a_function_around_the_search_goes_on_to_no_other() -> None:
    def search(seed: int) -> Any:
        return ban().set_params(random_state=seed).fit(X, Y)

    with interrupting(*CLIMBS, at=3), pytest.warns(InterruptedWarning), pytest.raises(KeyboardInterrupt):
        list(map(search, range(3)))


def test_another_search_after_one_that_was_cut_off_is_as_ever() -> None:
    with interrupting(*CLIMBS, at=3), pytest.warns(InterruptedWarning):
        cut = learn_structure(ROWS, "bic", search="hc")
    whole = learn_structure(ROWS, "bic", search="hc")
    assert cut.score < whole.score
    assert not whole.interrupted


def test_the_same_line_at_a_prompt_is_no_loop() -> None:
    line = "found = learn_structure(ROWS, 'bic', search='hc')"
    for _ in range(2):
        typed: dict[str, Any] = {"__name__": "__main__", "learn_structure": learn_structure, "ROWS": ROWS}
        with interrupting(*CLIMBS, at=3), pytest.warns(InterruptedWarning):
            exec(compile(line, "<stdin>", "single"), typed)
        assert typed["found"].interrupted


def test_structural_em_accepts_no_network_whose_search_was_cut_off() -> None:
    rows = bntk.datasets.with_missing(ROWS, 0.1, seed=1)
    whole = bntk.structural_em(rows, "bic", search="hc")
    assert len(whole.report.rounds) > 1
    with interrupting(*CLIMBS, at=3), pytest.warns(InterruptedWarning):
        cut = bntk.structural_em(rows, "bic", search="hc")
    assert cut.report.interrupted
    assert cut.dag.n_arcs == 0  # the start: the first search had found two arcs, and not ended


def test_searches_that_run_out_of_time_do_not_end_structural_em() -> None:
    rows = bntk.datasets.with_missing(ROWS, 0.1, seed=1)
    found = bntk.structural_em(rows, "bic", search=HillClimbing(time_budget=1e9))
    assert found == bntk.structural_em(rows, "bic", search="hc")


def test_em_gives_the_best_of_the_starts_that_have_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = bntk.datasets.with_missing(ROWS, 0.2, seed=1)
    expect, n_calls = IncompleteRows.expect, []
    first = bntk.fit_em(ASIA.dag, rows, n_starts=1)

    def stopping(self: IncompleteRows, tables: Any) -> Any:
        n_calls.append(1)
        if len(n_calls) == first.report.iterations + 2:  # the first iteration of the second start
            raise KeyboardInterrupt
        return expect(self, tables)

    monkeypatch.setattr(IncompleteRows, "expect", stopping)
    with pytest.warns(InterruptedWarning, match="the last iteration of EM"):
        found = bntk.fit_em(ASIA.dag, rows, n_starts=3)
    assert found == first
    assert found.report.interrupted
    assert not found.report.converged


def test_raising_is_for_a_block() -> None:
    with raising_interrupts(), interrupting(*CLIMBS, at=3), pytest.raises(KeyboardInterrupt):
        bntk.learn(ROWS, "bic", search="hc")
    with interrupting(*CLIMBS, at=3), pytest.warns(InterruptedWarning):
        bntk.learn(ROWS, "bic", search="hc")


# ---- at any time -----------------------------------------------------------------------------------------------------


def space_of(kind: str, **options: Any) -> Space:
    """A space of classifiers over the columns of the rows."""
    return getattr(bntk.spaces, kind)(FEATURES, "dysp", **options).reorder(ROWS.names)


SEARCHES: dict[str, tuple[Any, Any, Space]] = {
    "hc": (HillClimbing(restarts=1), BIC(), Space(ROWS.names)),
    "tabu": (Tabu(), BIC(), Space(ROWS.names)),
    "order": (OrderSearch(patience=5), BIC(), Space(ROWS.names)),
    "boss": (BOSS(patience=5), BIC(), Space(ROWS.names)),
    "exact": (Exact(), BIC(), Space(ROWS.names)),
    "k2": (K2Search(), BIC(), Space(ROWS.names)),
    "tree": (SpanningTree(), BIC(), bntk.spaces.tree(ROWS.names)),
    "star": (BestStar(), LOO("dysp"), space_of("spode")),
    "kdb": (KDependence(1), BIC(), space_of("kdb", k=1)),
    "skdb": (SelectiveKDependence(2), LOO("dysp"), space_of("augmented", shape="kdb", class_arcs="discard", k=2)),
    "stan": (SelectiveTrees(), LOO("dysp"), space_of("stan")),
    "additions": (GreedyAdditions(epsilon=0.0), LOO("dysp"), space_of("ban")),
    "subgraphs": (SubgraphSearch(), BIC(), bntk.spaces.mdbnc(ROWS.names[:5], ROWS.names[5:])),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_whenever_it_comes_the_result_is_legal_and_says_so_or_it_raises(name: str) -> None:
    search, score, space = SEARCHES[name]

    def run(at: int) -> tuple[Any, int, int]:
        calls = 0

        def look(frame: FrameType, event: str, _: Any) -> None:
            nonlocal calls
            if event == "call" and frame.f_globals.get("__name__", "").startswith("bntk."):
                calls += 1
                if calls == at:
                    sys.settrace(None)
                    raise KeyboardInterrupt

        evaluator = score.evaluator(TableCounter(ROWS.select(space.nodes)))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            sys.settrace(look)
            try:
                found = search.run(evaluator, space)
            except KeyboardInterrupt:
                found = None
            finally:
                sys.settrace(None)
        return found, calls, sum(issubclass(each.category, InterruptedWarning) for each in told)

    bntk.set_threads(1)  # all calls are in this thread, and in the same order
    try:
        run(0)  # some things are made only once
        whole, n_calls, _ = run(0)
        outcomes = [run(at) for at in np.random.default_rng(0).integers(1, n_calls, size=12).tolist()]
    finally:
        bntk.set_threads(None)
    assert not whole.interrupted
    for found, _, n_warned in outcomes:
        assert n_warned == (found is not None)
        if found is not None:
            assert found.interrupted
            assert not found.exact
            assert space.allows(found.dag)
            assert found.score <= whole.score + 1e-9 * abs(whole.score) or not whole.exact

"""RMCV: its evaluator equals refitting for each fold, its search ends, and what the paper says of CEN."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

import bntk
from bntk.errors import DataError, InterruptedWarning, SpaceError, UnseenStateWarning
from bntk.learning.counts import TableCounter
from bntk.learning.moves import Move
from bntk.learning.scores import IM, Accuracy, PredictiveEvaluator
from bntk.learning.scores.leaving_out import stratified
from bntk.learning.space import named as spaces
from bntk.learning.space.walk import Walk

FOLDS = 3
TARGET = "v2"


NO_ORDER = {"check_classifiers_classes": "the classes are the words one, two and three, in no declared order"}


@parametrize_with_checks(
    [bntk.RMCV(), bntk.RMCV(criterion="accuracy"), bntk.RMCV(criterion="accuracy", start="naive", cv=3)],
    expected_failed_checks=lambda estimator: NO_ORDER if estimator.criterion == "im" else {},
)
def test_scikit_learn_rules(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


# ---- the evaluator ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cells(Accuracy):
    """A number that is another one for every confusion matrix, so that equal scores mean equal matrices."""

    def values(self, confusions: np.ndarray) -> np.ndarray:
        return confusions.reshape(len(confusions), -1) @ key(confusions.shape[1])


def key(n_classes: int) -> np.ndarray:
    return np.random.default_rng(0).random(n_classes**2)


def small_table(seed: int, n: int = 90) -> bntk.Table:
    """Five variables that depend on each other, the class in the middle; every state is declared."""
    rng = np.random.default_rng(seed)
    cards = [2, 3, 3, 2, 3]
    codes = np.empty((len(cards), n), dtype=np.int64)
    for k, card in enumerate(cards):
        noise = rng.integers(card, size=n)
        codes[k] = np.where(rng.random(n) < 0.4, noise, (codes[k - 1] + codes[max(k - 2, 0)] if k else noise) % card)
    variables = [bntk.Variable(f"v{k}", [f"s{j}" for j in range(card)]) for k, card in enumerate(cards)]
    return bntk.Table.from_codes(codes, variables)


def joint_by_enumeration(network: bntk.BayesianNetwork, rows: bntk.Table, target: str) -> np.ndarray:
    """P(class, other cells of the row), one class after the other: the product of all tables, shape (N, K)."""
    codes = {name: rows.column(name).astype(int) for name in rows.names}
    joint = np.ones((rows.n_rows, network.variable(target).n_states))
    for c in range(joint.shape[1]):
        seen = {**codes, target: np.full(rows.n_rows, c)}
        for cpt in network.cpts:
            joint[:, c] *= cpt.values[tuple(seen[v.name] for v in (*cpt.parents, cpt.child))]
    return joint


def refitted_confusion(dag: bntk.DAG, table: bntk.Table, folds: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The confusion matrix when a network is fitted anew for each fold; each fold has the same share."""
    K = int(table.cards[table.names.index(TARGET)])
    confusion, y = np.zeros((K, K)), table.column(TARGET).astype(int)
    for fold in np.unique(folds):
        inside, outside = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        counter = TableCounter(table.take(outside), weights[outside])
        joint = joint_by_enumeration(bntk.fit(dag, counter, prior=1.0), table.take(inside), TARGET)
        labels = np.argmax(joint >= joint.max(axis=1, keepdims=True) * (1 - 1e-9), axis=1)  # the first of equals
        share = weights[inside] / weights[inside].sum() / len(np.unique(folds))
        np.add.at(confusion, (y[inside], labels), share)
    return confusion


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_after_any_moves_the_score_is_that_of_refitting_for_each_fold(seed: int, weighted: bool) -> None:
    table, rng = small_table(seed), np.random.default_rng(seed)
    folds = rng.permutation(np.arange(table.n_rows) % FOLDS)
    weights = rng.choice([0.5, 1.0, 3.0], table.n_rows) if weighted else np.ones(table.n_rows)
    evaluator = Cells(folds, target=TARGET).evaluator(TableCounter(table, weights if weighted else None))
    walk = spaces.dag(table.names).walk()
    had_parents = False
    for _ in range(15):
        moves = walk.moves()
        some = moves[rng.choice(len(moves), 6, replace=False)]
        gains = evaluator.gains(some)
        before = refitted_confusion(walk.dag, table, folds, weights).ravel() @ key(3)
        for move, gain in zip(some.tolist(), gains, strict=True):
            after = refitted_confusion(moved(walk, move), table, folds, weights).ravel() @ key(3)
            assert gain == pytest.approx(after - before, abs=1e-12)
        chosen = Move(*some[0].tolist())
        evaluator.apply(chosen)
        walk.apply(chosen)
        had_parents |= bool(walk.dag.parents(TARGET))
        after = refitted_confusion(walk.dag, table, folds, weights).ravel() @ key(3)
        assert evaluator.total() == pytest.approx(after, abs=1e-12)
    assert had_parents


def moved(walk: Walk, move: list[int]) -> bntk.DAG:
    other = walk.copy()
    other.apply(Move(*move))
    return other.dag


@pytest.mark.parametrize("seed", range(3))
def test_a_move_that_leaves_the_families_of_the_class_costs_nothing_and_gains_zero(seed: int) -> None:
    X, y, _ = bntk.datasets.make_blanket(300, 3, seed=seed, n_variables=14)
    table = bntk.Table.from_frame(X.assign(**{str(y.name): y}))
    target = table.names.index(str(y.name))
    evaluator = Accuracy(5, target=str(y.name)).evaluator(TableCounter(table))
    walk, rng = spaces.dag(table.names).walk(), np.random.default_rng(seed)
    for _ in range(25):
        move = Move(*rng.permutation(walk.moves())[0].tolist())
        evaluator.apply(move)
        walk.apply(move)
    evaluator.total()
    moves = walk.moves()
    inside = np.array([touches_class(evaluator, move, target) for move in moves.tolist()])
    assert inside.any()
    assert not inside.all()
    n_before = evaluator.n_evaluated
    assert (evaluator.gains(moves[~inside]) == 0.0).all()
    assert evaluator.n_evaluated == n_before  # nothing was predicted for them
    evaluator.gains(moves)
    assert evaluator.n_evaluated == n_before + inside.sum()


def touches_class(evaluator: PredictiveEvaluator, move: list[int], target: int) -> bool:
    """Whether a family that a move changes contains the class: the head's; in a reversal the tail's as well."""
    kind, tail, head = move
    changed = {head: evaluator.parents[head] | {tail}}
    if kind == 2:
        changed[tail] = evaluator.parents[tail] | {head}
    return any(target in {node, *parents} for node, parents in changed.items())


# ---- the classifier --------------------------------------------------------------------------------------------------


def blanket(n: int = 600, n_classes: int = 3, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    X, y, _ = bntk.datasets.make_blanket(n, n_classes, seed=seed, n_variables=12)
    return X, y


def table_of(X: pd.DataFrame, y: pd.Series) -> bntk.Table:
    return bntk.Table.from_frame(X.assign(**{str(y.name): y}))


@pytest.mark.parametrize("start", ["empty", "naive"])
@pytest.mark.parametrize("criterion", ["im", "accuracy", "mi", "mae", "mcc"])
def test_the_result_is_better_than_the_start_and_no_single_change_improves_it(criterion: str, start: str) -> None:
    X, y = blanket()
    rmcv = bntk.RMCV(criterion=criterion, start=start).fit(X, y)
    target = str(y.name)
    table = TableCounter(table_of(X, y))
    evaluator = rmcv._measure(5, len(X), 0).with_target(target).evaluator(table, rmcv.dag_)
    assert evaluator.total() == pytest.approx(rmcv.search_.score, abs=1e-12)
    assert (evaluator.gains(spaces.dag(rmcv.dag_.nodes).walk(rmcv.dag_).moves()) <= 1e-9).all()
    first = bntk.DAG(rmcv.dag_.nodes, [(target, x) for x in X] if start == "naive" else [])
    evaluator.reset(first)
    assert rmcv.search_.score > evaluator.total()
    assert [step.score for step in rmcv.search_.trace] == sorted({step.score for step in rmcv.search_.trace})


def test_every_arc_that_was_added_matters_to_the_class() -> None:
    X, y = blanket()
    rmcv = bntk.RMCV().fit(X, y)
    target = str(y.name)
    for tail, head in rmcv.dag_.arcs:
        assert target in (tail, head) or target in rmcv.dag_.parents(head)


def test_a_start_of_ones_own() -> None:
    X, y = blanket()
    first = X.columns[0]
    search = bntk.search.HillClimbing(max_iter=0)
    for start in (f"{first} -> {y.name}", bntk.DAG.parse(f"{first} -> {y.name}")):
        assert bntk.RMCV(start=start, search=search).fit(X, y).dag_.arcs == ((first, y.name),)
    assert bntk.RMCV(start="naive", search=search).fit(X, y).dag_.children(str(y.name)) == tuple(X.columns)
    with pytest.raises(DataError, match=r"start has \['stranger'\]"):
        bntk.RMCV(start=f"stranger -> {y.name}").fit(X, y)


def test_the_number_of_parents_is_limited() -> None:
    X, y = blanket()
    dag = bntk.RMCV(max_parents=1).fit(X, y).dag_
    assert dag.n_arcs
    assert max(len(dag.parents(x)) for x in dag.nodes) == 1
    with pytest.raises(SpaceError):
        bntk.RMCV(max_parents=1, start=f"{X.columns[0]} -> {y.name} <- {X.columns[1]}").fit(X, y)


def test_the_same_seed_gives_the_same_network_and_other_folds_may_give_another() -> None:
    X, y = blanket()
    one, two = (bntk.RMCV(random_state=3).fit(X, y) for _ in range(2))
    assert one.network_ == two.network_
    generator = bntk.RMCV(random_state=np.random.default_rng(1)).fit(X, y)
    assert generator.network_ == bntk.RMCV(random_state=np.random.default_rng(1)).fit(X, y).network_
    assert len({bntk.RMCV(random_state=seed).fit(X, y).dag_.arcs for seed in range(4)}) > 1


def test_whole_weights_are_repeated_rows_for_the_tables_and_zero_weights_are_ignored() -> None:
    X, y = blanket(200)
    weights = np.random.default_rng(0).choice([0, 1, 2], len(X))
    weighted = bntk.RMCV(prior=1).fit(X, y, sample_weight=weights)
    kept = weights > 0
    assert weighted.network_ == bntk.RMCV(prior=1).fit(X[kept], y[kept], sample_weight=weights[kept]).network_
    repeated = table_of(X, y).take(np.repeat(np.arange(len(X)), weights))
    again = bntk.fit(weighted.dag_, repeated.select(weighted.dag_.nodes), prior=1.0)
    for cpt in weighted.network_.cpts:
        np.testing.assert_allclose(cpt.values, again.cpt(cpt.name).values, rtol=1e-12)


def test_missing_values() -> None:
    X, y = blanket()
    full = bntk.RMCV().fit(X, y)
    less = X.astype(object).mask(np.random.default_rng(0).random(X.shape) < 0.1)
    for missing in ("marginal", "em", "state"):
        rmcv = bntk.RMCV(missing=missing).fit(less, y)
        assert rmcv.score(less, y) > full.score(X, y) - 0.25
        np.testing.assert_allclose(rmcv.predict_proba(less).sum(axis=1), 1.0)


def test_few_rows_are_left_out_one_by_one() -> None:
    rows, y = [["a"], ["a"], ["b"], ["b"]], [0, 0, 1, 1]
    rmcv = bntk.RMCV(criterion="accuracy", cv=5).fit(rows, y)
    assert rmcv.predict([["b"]]) == [1]
    assert rmcv.network_ == bntk.RMCV(criterion="accuracy", cv="loo").fit(rows, y).network_


def test_folds_may_be_given() -> None:
    X, y = blanket(300)
    folds = np.random.default_rng(0).permutation(np.arange(300) % 4)
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(4)]
    ways = [folds, splits, PredefinedSplit(folds)]
    one, *others = [bntk.RMCV(cv=cv, prior=1).fit(X, y) for cv in ways]
    assert all(other.network_ == one.network_ for other in others)
    assert one.search_.score == bntk.score(one.dag_, table_of(X, y), IM(folds, target=str(y.name)))
    assert bntk.RMCV(cv=folds, alpha="auto").fit(X, y).alpha_ == bntk.RMCV(cv=splits, alpha="auto").fit(X, y).alpha_
    for wrong in (splits[:3], [*splits, splits[0]], [(learned[1:], held) for learned, held in splits]):
        with pytest.raises(ValueError, match="cv must leave out each row once"):
            bntk.RMCV(cv=wrong).fit(X, y)
    with pytest.raises(ValueError, match="cv has the fold of 299 rows, but there are 300"):
        bntk.RMCV(cv=folds[1:]).fit(X, y)


@pytest.mark.parametrize(("prior", "pseudo_count"), [(0.25, 0.25), ("mle", 1.0), ("backoff", 1.0)])
def test_the_pseudo_count_of_the_folds_is_the_prior(prior: Any, pseudo_count: float) -> None:
    X, y = blanket(100)
    rmcv = bntk.RMCV(criterion="accuracy", prior=prior).fit(X, y)
    assert rmcv._measure(5, 100, 0).prior == pseudo_count


def test_a_score_object_is_used_as_it_is() -> None:
    X, y = blanket()
    by_name = bntk.RMCV(criterion="accuracy", cv=4, prior=1, random_state=2).fit(X, y)
    by_object = bntk.RMCV(criterion=Accuracy(4, seed=2), prior=1).fit(X, y)
    assert by_name.network_ == by_object.network_
    assert by_name.alpha_ is None
    assert by_name.search_.score == bntk.score(by_name.dag_, table_of(X, y), Accuracy(4, target=str(y.name), seed=2))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"criterion": "bic"}, TypeError, "a measure of the confusion matrix, not BIC"),
        ({"criterion": "loo"}, TypeError, r"BayesNetClassifier\(criterion=..., search='hc'\)"),
        ({"criterion": "nonsense"}, ValueError, "'nonsense' is not known"),
        ({"criterion": "accuracy", "alpha": 2}, ValueError, "alpha=2 is for criterion='im'"),
        ({"criterion": Accuracy(), "alpha": "auto"}, ValueError, "alpha='auto' is for criterion='im'"),
        ({"alpha": 0}, ValueError, "alpha of the information measure must be a number above 0"),
        ({"alpha": "best"}, ValueError, "alpha must be a number above 0 or 'auto', not 'best'"),
        ({"alpha": None}, ValueError, "alpha of the information measure must be a number above 0 .*, not None"),
        ({"alpha": True}, ValueError, "alpha of the information measure must be a number above 0 .*, not True"),
        ({"cv": 1}, ValueError, "folds must be a whole number from 2"),
    ],
)
def test_what_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    X, y = blanket(100)
    with pytest.raises(error, match=message):
        bntk.RMCV(**options).fit(X, y)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C interrupts, whatever started the tests: a shell lets programs in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_keeps_the_best_structure_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = blanket()
    steps = []

    def interrupting(self: Any, move: Any) -> None:
        if len(steps) == 2:
            signal.raise_signal(signal.SIGINT)
        steps.append(move)
        apply(self, move)

    whole = bntk.RMCV(criterion="accuracy").fit(X, y)
    apply = PredictiveEvaluator.apply
    monkeypatch.setattr(PredictiveEvaluator, "apply", interrupting)
    with pytest.warns(InterruptedWarning, match="best structure so far"):
        cut = bntk.RMCV(criterion="accuracy").fit(X, y)
    assert cut.search_.interrupted
    assert [step.what for step in cut.search_.trace] == [step.what for step in whole.search_.trace][:2]
    assert cut.dag_.n_arcs == 2
    assert len(cut.predict(X)) == len(X)


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    from bntk._progress import showing_progress

    with showing_progress():
        bntk.RMCV(criterion="accuracy").fit(*blanket())
    assert "HillClimbing" in capsys.readouterr().err


def test_it_is_saved(tmp_path: Any) -> None:
    X, y = blanket()
    rmcv = bntk.RMCV(alpha=2.5, start=f"{y.name} -> {X.columns[0]}", max_parents=3).fit(X, y)
    rmcv.save(tmp_path / "rmcv.json")
    again = bntk.load(tmp_path / "rmcv.json")
    assert again.get_params() == rmcv.get_params()
    assert again.alpha_ == 2.5
    assert again.network_ == rmcv.network_
    assert (again.predict_proba(X) == rmcv.predict_proba(X)).all()
    assert clone(again).fit(X, y).network_ == rmcv.network_


# ---- alpha -----------------------------------------------------------------------------------------------------------


def test_alpha_is_chosen_on_rows_that_learning_does_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = blanket(500, n_classes=4)
    tried: list[tuple[float, list[int], list[int]]] = []
    learn, predict = bntk.RMCV._fit_rows, bntk.RMCV.predict_log_proba

    def recording_fit(self: Any, counted: Any, *rest: Any) -> Any:
        tried.append((self.alpha, counted.X.index.tolist(), []))
        return learn(self, counted, *rest)

    def recording_predict(self: Any, X: Any) -> Any:
        tried[-1][2].extend(X.index.tolist())
        return predict(self, X)

    monkeypatch.setattr(bntk.RMCV, "_fit_rows", recording_fit)
    monkeypatch.setattr(bntk.RMCV, "predict_log_proba", recording_predict)
    rmcv = bntk.RMCV(alpha="auto").fit(X, y)
    (whole, rows, _), *candidates = tried
    assert (whole, len(rows)) == ("auto", 500)
    assert [alpha for alpha, _, _ in candidates] == [2, 3, 4, 16, 64]
    for _, learned, held in candidates:
        assert sorted(learned + held) == list(range(500))
        shares = y[held].value_counts() - y.value_counts() / 5
        assert (shares.abs() <= 1).all()
    assert rmcv.alpha_ in (2, 3, 4, 16, 64)
    monkeypatch.undo()
    assert rmcv.network_ == bntk.RMCV(alpha=rmcv.alpha_).fit(X, y).network_


def test_alpha_is_chosen_from_any_kind_of_data() -> None:
    import polars as pl
    import pyarrow as pa

    X, y = blanket(200)
    frame = bntk.RMCV(alpha="auto").fit(X, y)
    for data, labels in [
        (pl.from_pandas(X.astype(str)), y.tolist()),
        (X.astype(str).to_numpy(), y.to_numpy()),
        (X.astype(str).to_dict("list"), y),
        (bntk.Table.from_frame(X), pl.Series(y.tolist())),
        (pa.Table.from_pandas(X.astype(str)), pa.array(y.tolist())),
    ]:
        other = bntk.RMCV(alpha="auto").fit(data, labels)
        assert other.alpha_ == frame.alpha_
        assert (other.predict(data) == frame.predict(X)).all()


def test_states_that_only_rows_held_out_have_are_no_matter() -> None:
    X, y = blanket(200)
    names = X.assign(name=[f"row {k}" for k in range(len(X))])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnseenStateWarning)
        assert bntk.RMCV(alpha="auto", unseen="error", identifiers="keep").fit(names, y).alpha_ in (2, 3, 9, 27)


def accidents(n: int = 400) -> tuple[pd.DataFrame, pd.Series]:
    """Three classes whose declared order is not that of the alphabet."""
    X, y = blanket(n)
    order = ["slight", "severe", "fatal"]
    return X, pd.Series(pd.Categorical([order[k] for k in y.cat.codes], order, ordered=True), name="harm")


@pytest.mark.parametrize("alpha", [1, "auto"])
def test_the_declared_order_of_the_classes_counts(alpha: Any) -> None:
    X, harm = accidents()
    by_words = bntk.RMCV(alpha=alpha).fit(X, harm)
    by_codes = bntk.RMCV(alpha=alpha).fit(X, harm.cat.codes.rename("harm"))
    assert by_words.dag_ == by_codes.dag_
    assert by_words.alpha_ == by_codes.alpha_
    assert by_words.search_.score == by_codes.search_.score
    assert (by_words.predict(X) == np.array(harm.cat.categories)[by_codes.predict(X)]).all()
    bare = bntk.RMCV(alpha=alpha).fit(X, pd.Categorical(harm))
    assert bare.dag_.n_arcs == by_words.dag_.n_arcs
    with pytest.raises(DataError, match="IM needs ordered classes"):
        bntk.RMCV(alpha=alpha).fit(X, harm.astype(str))


def test_alpha_is_the_one_with_the_best_normalised_measure_on_the_rows_held_out() -> None:
    X, harm = accidents()
    weights = np.random.default_rng(0).choice([1.0, 2.5], len(X))  # which are not split
    part = stratified(np.unique(harm.astype(str), return_inverse=True)[1], 5, 1, 0)[0]
    values = {}
    for alpha in (2, 3, 9, 27):
        seen, held = part != 0, part == 0
        model = bntk.RMCV(alpha=alpha).fit(X[seen], harm[seen], weights[seen])
        values[alpha] = bntk.evaluation.information_measure(
            harm[held], model.predict(X[held]), sample_weight=weights[held], alpha=alpha, normalize=True
        )
    assert bntk.RMCV(alpha="auto").fit(X, harm, weights).alpha_ == max(values, key=lambda alpha: values[alpha])


def test_alpha_of_weighted_rows_one_class_and_too_few_rows() -> None:
    X, y = blanket(200)
    weights = np.random.default_rng(0).choice([0, 1, 2], len(X))
    there = weights > 0
    first = bntk.RMCV(alpha="auto").fit(X, y, weights)
    assert first.alpha_ == bntk.RMCV(alpha="auto").fit(X[there], y[there], weights[there]).alpha_
    assert bntk.RMCV(alpha="auto").fit(X, np.zeros(len(X), dtype=int)).alpha_ == 1.0
    with pytest.raises(DataError, match="needs 5 or more, not 4"):
        bntk.RMCV(alpha="auto").fit(X[:4], [0, 1, 0, 1])


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_the_choice_of_alpha(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = blanket()
    applied = []

    def interrupting(self: Any, move: Any) -> None:
        applied.append(move)
        if len(applied) == 2:
            signal.raise_signal(signal.SIGINT)
        apply(self, move)

    apply = PredictiveEvaluator.apply
    monkeypatch.setattr(PredictiveEvaluator, "apply", interrupting)
    with pytest.raises(KeyboardInterrupt):
        bntk.RMCV(alpha="auto").fit(X, y)


# ---- what the paper says of CEN, and what it does not say ------------------------------------------------------------


@pytest.mark.parametrize("unbalanced", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 4, 6])
def test_confusion_entropy_stays_at_the_empty_graph(n_classes: int, unbalanced: bool) -> None:
    """As Halbersberg and Lerner say. With two classes the empty graph is a local optimum only.

    With more, on these data, one label everywhere has a lower confusion entropy than what is found from naive Bayes,
    which is right for many more rows: a better search would not help.
    """
    shares = np.arange(1.0, n_classes + 1) ** (2 if unbalanced else 0)
    X, y, _ = bntk.datasets.make_blanket(2000, n_classes, class_shares=shares / shares.sum(), seed=1)
    empty = bntk.RMCV(criterion="cen").fit(X, y)
    naive = bntk.RMCV(criterion="cen", start="naive").fit(X, y)
    assert empty.dag_.n_arcs == 0
    assert len(set(empty.predict(X))) == 1
    assert naive.score(X, y) > empty.score(X, y) + 0.1
    assert (naive.search_.score > empty.search_.score) == (n_classes == 2)


@pytest.mark.parametrize("criterion", ["im", "mi", "mae", "mcc", "accuracy"])
def test_every_measure_stays_at_the_empty_graph_if_no_single_arc_changes_a_label(criterion: str) -> None:
    X, y, _ = bntk.datasets.make_blanket(2000, 2, class_shares=[0.9, 0.1], seed=1)
    empty, naive = (bntk.RMCV(criterion=criterion, start=start).fit(X, y) for start in ("empty", "naive"))
    assert empty.dag_.n_arcs == 0
    assert naive.search_.score > empty.search_.score
    moves = spaces.dag(empty.dag_.nodes).walk().moves()
    score = empty._measure(5, len(X), 0).with_target(str(y.name))
    assert (score.evaluator(TableCounter(table_of(X, y))).gains(moves) == 0.0).all()

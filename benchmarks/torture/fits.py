"""Every classifier on odd tables: probabilities that sum to one, same bits however rows come, weight as repetition."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.torture import tables
from benchmarks.torture.case import DOCUMENTED, RELATIVE, Case, kind
from benchmarks.torture.reference import Joint
from benchmarks.torture.rows import in_containers
from bntk._declared import CLASSIFIERS, MULTI_CLASSIFIERS
from bntk.classifiers.saving import dump, parse
from bntk.errors import DataError

#: Parameters that a classifier needs on tables such as these: the default measure of RMCV needs ordered classes.
NEEDED: dict[str, dict[str, Any]] = {"rmcv": {"criterion": "accuracy", "cv": 2}, "ecc": {"n_chains": 3}}
#: Those that split rows into folds or draw them: repeated rows fall into other folds.
BY_FOLDS = {"rmcv", "semi", "awnb", "bcc"}
#: Those with weights of features, which are a network on complete rows only; those of WANBIA are found step by step.
WEIGHTED, STEPWISE = {"wanbia", "awnb"}, {"wanbia"}
#: Parameters that are drawn where a classifier has them.
DRAWN: dict[str, list[Any]] = {
    "prior": [1.0, 0.5, "mle", "backoff"],
    "numeric": ["mdl", "mdl", "width", "frequency", "category", "gaussian", "kde", "bernoulli"],
    "missing": ["marginal", "marginal", "state", "em"],
    "identifiers": ["drop", "keep"],
    "class_prior": ["empirical", "empirical", "uniform"],
    "loss": ["hamming", "subset"],
    "m": [0, 1, 30],
}


#: Parameters that are drawn where nothing may be refused.
TAKEN: dict[str, list[Any]] = {
    "prior": [1.0, 0.5],
    "numeric": ["mdl", "width", "frequency", "category"],
    "missing": ["marginal", "state"],
    "identifiers": ["drop", "keep"],
}


def classifier(case: Case, name: str, declared: Any, drawn: dict[str, list[Any]] = DRAWN) -> Any:
    """A classifier with some of its parameters drawn."""
    cls, several = declared[name], declared is MULTI_CLASSIFIERS
    known = inspect.signature(cls.__init__).parameters
    chosen = {key: case.pick(values) for key, values in drawn.items() if key in known and case.chance(0.4)}
    if name == "skdb":
        chosen.pop("loss", None)
    if several and chosen.get("numeric") in ("gaussian", "kde"):
        del chosen["numeric"]
    made = cls(**{**chosen, **{k: v for k, v in NEEDED.get(name, {}).items() if k in known}})
    case.note(classifier=repr(made))
    return made


@kind("fits", 5)
def fits(case: Case) -> None:
    """Classifiers of one class variable: finite probabilities that sum to one, labels as given, argmax, same bits."""
    names = list(CLASSIFIERS.helps)
    name = names[case.number % len(names)]
    n = int(case.pick([1, 2, 3, 5, 12, 30]))
    ordinary = case.chance(0.5)
    X, y = tables.features(case, n, tables.ORDINARY if ordinary else tables.COLUMNS), tables.labels(case, n)
    weights = drawn_weights(case, n)
    case.note(X=X.to_dict("list"), y=y.tolist(), weights=weights)
    made = classifier(case, name, CLASSIFIERS, TAKEN if ordinary else DRAWN)
    attack(case, made, name, X, y, weights, must=ordinary and is_taken(y, weights))


@kind("several", 3)
def several(case: Case) -> None:
    """Classifiers of several class variables: the same, for each of their labels."""
    names = list(MULTI_CLASSIFIERS.helps)
    name = names[case.number % len(names)]
    n = int(case.pick([1, 2, 3, 5, 12, 30]))
    ordinary = case.chance(0.5)
    X = tables.features(case, n, tables.ORDINARY if ordinary else tables.COLUMNS)
    Y = pd.concat([tables.labels(case, n, f"y{i}") for i in range(case.pick([1, 2, 3]))], axis=1)
    weights = drawn_weights(case, n)
    case.note(X=X.to_dict("list"), Y=Y.to_dict("list"), weights=weights)
    made = classifier(case, name, MULTI_CLASSIFIERS, TAKEN if ordinary else DRAWN)
    attack(case, made, name, X, Y, weights, must=ordinary and all(is_taken(Y[each], weights) for each in Y))


def is_taken(y: pd.Series, weights: np.ndarray | None) -> bool:
    """Whether scikit-learn's checks take these labels and weights."""
    return (
        y.dtype.kind != "f"
        and not (y.dtype == object and not isinstance(y[0], str))
        and (weights is None or weights.any())
    )


def drawn_weights(case: Case, n: int) -> np.ndarray | None:
    """None mostly; small whole numbers, with zeros."""
    return case.rng.integers(0, 4, size=n).astype(float) if case.chance(0.4) else None


def attack(case: Case, made: Any, name: str, X: pd.DataFrame, y: Any, weights: np.ndarray | None, must: bool) -> None:
    """Fit, predict, and everything that must not change what is predicted; ``must`` says that nothing is refused."""
    told = {} if weights is None else {"sample_weight": weights}
    if weights is not None and "sample_weight" not in inspect.signature(made.fit).parameters:
        told, weights = {}, None
    if case.answer("fit", lambda: made.fit(X, y, **told), () if must else DOCUMENTED) is None:
        return
    new = to_predict(case, X)
    case.note(new=new.to_dict("list"))
    proba = probabilities(case, made, new, y if weights is None else y[weights > 0])
    if proba is None:
        return
    enumerated(case, made, new, proba)
    alone(case, made, new, proba)
    saved(case, made, new, proba)
    in_others(case, made, X, y, told, new, proba)
    if weights is not None and name not in BY_FOLDS:
        repeated(case, made, X, y, weights, new, proba)


def to_predict(case: Case, X: pd.DataFrame) -> pd.DataFrame:
    """Rows of the table again, rows with missing cells, and a label that nobody has seen."""
    chosen = X.iloc[case.rng.integers(len(X), size=5)].reset_index(drop=True)
    for name in chosen:
        if chosen[name].dtype == object and case.chance(0.5):
            has_text = any(isinstance(value, str) for value in X[name])  # where there were numbers, text is refused
            chosen.loc[case.rng.random(len(chosen)) < 0.4, name] = case.pick([None, "never seen" if has_text else None])
        elif chosen[name].dtype.kind == "f" and case.chance(0.5):
            chosen.loc[case.rng.random(len(chosen)) < 0.4, name] = np.nan
    return chosen


def predicted(made: Any, X: Any) -> list[np.ndarray]:
    """The probabilities of each class variable."""
    found = made.predict_proba(X)
    return list(found) if isinstance(found, list) else [found]


class TextForNumbersError(Exception):
    """New text in a column of numbers, which is refused."""


def _predicted(made: Any, X: Any) -> list[np.ndarray]:
    try:
        return predicted(made, X)
    except DataError as error:
        if "held numbers when" in str(error):
            raise TextForNumbersError from error
        raise


def probabilities(case: Case, made: Any, new: Any, y: Any) -> list[np.ndarray] | None:
    """What is predicted for some rows, if it makes sense."""
    found = case.answer("predict_proba", lambda: _predicted(made, new), TextForNumbersError)
    if found is None:
        return None
    columns = [y] if isinstance(y, pd.Series) else [y[name] for name in y]
    classes = made.classes_ if isinstance(made.classes_, list) else [made.classes_]
    labels = case.answer("predict", lambda: made.predict(new))
    for i, (table, column, known) in enumerate(zip(found, columns, classes, strict=True)):
        given = sorted(column.dropna().unique().tolist())
        case.check("classes as given", list(known) == given, lambda known=known, given=given: f"{known} {given}")
        case.check("finite", np.isfinite(table).all(), lambda table=table: table)
        case.close("sums to one", table.sum(axis=1), np.ones(len(new)))
        if labels is not None and getattr(made, "loss", "hamming") != "subset" and hasattr(made, "log_joint"):
            ours = np.asarray(labels if labels.ndim == 1 else np.asarray(labels)[:, i])
            case.check(
                "predict is the most probable class",
                all(table[r, list(known).index(label)] >= table[r].max() * (1 - 1e-12) for r, label in enumerate(ours)),
                lambda ours=ours, table=table: f"{ours} {table}",
            )
    return found


def enumerated(case: Case, made: Any, new: pd.DataFrame, proba: list[np.ndarray]) -> None:
    """The probabilities are those of the network, by enumeration in extended precision, missing cells summed out."""
    network = getattr(made, "network_", None)
    if network is None or not hasattr(made, "target_name_") or made.densities_ or made.name in WEIGHTED:
        return
    cards = [v.n_states for v in network.variables]
    if np.prod(cards, dtype=float) > 20_000:
        return
    target = network.names.index(made.target_name_)
    rows = made.features_.read(new, made.unseen).table
    joint, order = (
        Joint.of(network),
        [network.variable(made.target_name_).states.index(c) for c in made.classes_.tolist()],
    )
    for i in range(len(new)):
        codes = [rows.column(v.name)[i] if v.name in rows.names else v.n_states for v in network.variables]
        codes[target] = cards[target]
        table = joint.row(codes).onto([target])
        if table.sum() > 0:
            case.close("the probabilities of its network", proba[0][i], (table / table.sum())[order])


def alone(case: Case, made: Any, new: pd.DataFrame, proba: list[np.ndarray]) -> None:
    """A row alone, and among others, gives the same bits."""
    for i in {0, int(case.rng.integers(len(new)))}:
        single = case.answer("a row alone", lambda i=i: predicted(made, new.iloc[[i]]))
        for one, table in zip(single or (), proba, strict=False):
            case.same("a row alone", one[0], table[i])
    many = pd.concat([new] * 60, ignore_index=True)
    tables_ = case.answer("a row among many", lambda: predicted(made, many))
    for one, table in zip(tables_ or (), proba, strict=False):
        case.same("a row among many", one, np.concatenate([table] * 60))


def saved(case: Case, made: Any, new: pd.DataFrame, proba: list[np.ndarray]) -> None:
    """From its file, and pickled, it predicts the same bits."""
    text = case.answer("save", lambda: dump(made), DOCUMENTED)
    for what, make in (("load", lambda: parse(text)), ("pickle", lambda: pickle.loads(pickle.dumps(made)))):
        if what == "load" and text is None:
            continue
        again = case.answer(what, make)
        tables_ = (
            None if again is None else case.answer(f"predict after {what}", lambda again=again: predicted(again, new))
        )
        for one, table in zip(tables_ or (), proba, strict=False):
            case.same(f"predict after {what}", one, table)


def in_others(
    case: Case, made: Any, X: pd.DataFrame, y: Any, told: dict[str, Any], new: pd.DataFrame, proba: list[np.ndarray]
) -> None:
    """Text in any container, to fit and to predict: the same bits."""
    if not all(isinstance(dtype, np.dtype) and dtype.kind == "O" for dtype in X.dtypes):
        return
    if not all(value is None or isinstance(value, str) for name in X for value in [*X[name], *new[name]]):
        return
    fit_on = in_containers({name: [*X[name]] for name in X})
    if any(weight == 0 for weight in told.get("sample_weight", ())):
        del fit_on["categories"]  # which declare states that only rows of weight 0 have
    new_in = in_containers({name: [*new[name]] for name in new})
    for what, rows in ((what, rows) for what, rows in new_in.items() if what in fit_on):
        again = case.answer(
            f"fit on {what}", lambda what=what: type(made)(**made.get_params(deep=False)).fit(fit_on[what], y, **told)
        )
        tables_ = (
            None
            if again is None
            else case.answer(f"predict {what}", lambda again=again, rows=rows: predicted(again, rows))
        )
        for one, table in zip(tables_ or (), proba, strict=False):
            if what == "categories":  # which declare an order of the states, in which numbers are then summed up
                case.close(f"rows as {what}", one, table, smallest=1e-12)
            else:
                case.same(f"rows as {what}", one, table)


def repeated(
    case: Case, made: Any, X: pd.DataFrame, y: Any, weights: np.ndarray, new: pd.DataFrame, proba: list[np.ndarray]
) -> None:
    """A weight is a repetition: of weight 0 absent, of weight 2 twice."""
    mixed = DataError if "mixed" in case.notes["columns"] else ()  # where only numbers are left, text is refused
    at = np.repeat(np.arange(len(X)), weights.astype(int))
    rows, labels = X.iloc[at].reset_index(drop=True), y.iloc[at].reset_index(drop=True)
    again = case.answer("fit on repeated rows", lambda: type(made)(**made.get_params(deep=False)).fit(rows, labels))
    tables_ = (
        None if again is None else case.answer("predict after repeated rows", lambda: predicted(again, new), mixed)
    )
    for one, table in zip(tables_ or (), proba, strict=False):
        case.close("weight is repetition", table, one, 1e-4 if made.name in STEPWISE else RELATIVE, 1e-12)

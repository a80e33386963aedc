"""Checks of the parameters of classifiers, made by ``fit``: in scikit-learn, ``__init__`` stores what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk._checking import Check
from bntk.classifiers.class_weights import check_class_weight
from bntk.data.coding import IDENTIFIERS
from bntk.data.cuts import MOST_BINS
from bntk.graph.dag import DAG
from bntk.learning.priors import as_prior
from bntk.learning.scores import by_name
from bntk.learning.search import Search

#: A class variable with more labels is none.
MOST_CLASSES = 1_000_000
WAYS = "a way to treat numbers such as 'mdl', cut points, or a mapping of column to one of these"


def _prior(name: str, value: Any) -> None:
    if isinstance(value, Mapping):
        expected = 'a number, "mle", "backoff" or a Prior (for numbers by variable bntk.priors.Dirichlet({...}))'
        raise _checking.wrong(name, expected, value)
    as_prior(value)


def _class_prior(name: str, value: Any) -> None:
    expected = "'empirical', 'uniform', or probabilities, one for each class"
    if isinstance(value, str):
        if value not in ("empirical", "uniform"):
            raise _checking.wrong(name, expected, value)
    elif isinstance(value, Mapping):
        for label, share in value.items():
            _checking.number(f"{name} of {label!r}", share, 0, 1)
    else:
        _checking.numbers(name, value, expected)


def _numeric(name: str, value: Any) -> None:
    """The ways to treat numbers are known to :mod:`bntk.classifiers.features`, which refuses unknown ones."""
    for way in value.values() if isinstance(value, Mapping) else [value]:
        if not isinstance(way, str):
            cuts = _checking.numbers(name, way, WAYS)
            if cuts.ndim != 1 or not np.isfinite(cuts).all():
                raise _checking.wrong(name, WAYS, way)


def _random_state(name: str, value: Any) -> None:
    generator = value is None or isinstance(value, (np.random.Generator, np.random.RandomState))
    if not generator and (not _checking.is_whole(value) or value < 0):
        raise _checking.wrong(name, "a whole number from 0, None or a generator of numpy", value)


def _jobs(name: str, value: Any) -> None:
    _checking.jobs(value)


def _criterion(name: str, value: Any) -> None:
    by_name(value, name)


def _search(name: str, value: Any) -> None:
    """Which names are known depends on the classifier."""
    _checking.instance(name, value, str, Search, what="the name of a search, or a search such as Tabu(restarts=5)")


def _structure(name: str, value: Any) -> None:
    _checking.instance(name, value, str, DAG, what='a DAG, or a string such as "A -> B"')


def given_splits(cv: Any, n_rows: int, labels: Any) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The rows to learn from and to hold out that a splitter or a list of splits gives; anything else is refused."""
    from sklearn.model_selection import check_cv  # slow to import, and seldom needed

    try:
        pairs = [(np.asarray(a), np.asarray(b)) for a, b in check_cv(cv).split(np.empty((n_rows, 0)), labels)]
        rows = [tuple(np.flatnonzero(x) if x.dtype == bool else x for x in pair) for pair in pairs]
        for row in (row for pair in rows for part in pair for row in part.tolist()):
            _checking.whole_number("each row of cv", row, 0, n_rows - 1)
    except (TypeError, ValueError, IndexError) as error:
        raise _checking.wrong("cv", f"a number of folds, a splitter, or splits of the rows ({error})", cv) from error
    return rows  # type: ignore[return-value]


def optional(check: Check) -> Check:
    """A check that lets None pass."""
    return lambda name, value: None if value is None else check(name, value)


#: What a parameter may be, by its name, wherever a classifier of this package has one of that name and does not say
#: otherwise.
PARAMETERS: dict[str, Check] = {
    "prior": _prior,
    "class_prior": _class_prior,
    "class_weight": check_class_weight,
    "numeric": _numeric,
    "n_bins": partial(_checking.whole_number, least=1, most=MOST_BINS),
    "missing": partial(_checking.one_of, choices=("marginal", "em", "state")),
    "identifiers": partial(_checking.one_of, choices=IDENTIFIERS),
    "unseen": partial(_checking.one_of, choices=("missing", "error")),
    "random_state": _random_state,
    "n_jobs": _jobs,
    "n_classes": partial(_checking.optional_whole_number, least=1, most=MOST_CLASSES),
    "criterion": _criterion,
    "search": _search,
    "structure": optional(_structure),
    "start": _structure,
    "epsilon": partial(_checking.number, least=0),
    "k": partial(_checking.whole_number, least=0, most=_checking.MOST),
    "max_k": partial(_checking.whole_number, least=0, most=_checking.MOST),
    "max_parents": partial(_checking.optional_whole_number, least=0, most=_checking.MOST),
    "max_bridge_parents": partial(_checking.optional_whole_number, least=0, most=_checking.MOST),
    "root": optional(_checking.text),
    "superparent": optional(_checking.text),
    "forest": _checking.flag,
    "both_directions": _checking.flag,
    "candidates": partial(_checking.optional_whole_number, least=1, most=_checking.MOST),
    "max_entries": _checking.limit,
    "max_iter": partial(_checking.whole_number, least=1, most=_checking.MOST),
    "class_shape": _checking.text,
    "feature_shape": _checking.text,
}


def check_parameters(estimator: Any) -> None:
    """Check all parameters of a classifier, by name."""
    for name, check in _checks_of(type(estimator)):  # type: ignore[arg-type]
        check(name, getattr(estimator, name))


@cache
def _checks_of(cls: Any) -> tuple[tuple[str, Check], ...]:
    """The checks of a class's parameters: those that it or a class above it states, else those of ``PARAMETERS``.

    Parameters that a class outside of this package adds are its own business.
    """
    stated: dict[str, Check] = {}
    for base in reversed(cls.__mro__):
        stated |= vars(base).get("_checks", {})
    found = {field.name: stated.get(field.name) or _known(cls, field.name) for field in fields(cls)}
    return tuple((name, check) for name, check in found.items() if check is not None)


def _known(cls: type, name: str) -> Check | None:
    owner = next(base for base in cls.__mro__ if name in vars(base).get("__annotations__", {}))
    return PARAMETERS.get(name) if owner.__module__.startswith("bntk.") else None

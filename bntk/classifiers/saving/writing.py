"""Values as plain JSON: what JSON has no word for is an object with one tag.

=====================================================  ================================================
``{"float": "inf"}``                                   a number that JSON cannot write
``{"tuple": [...]}``, ``{"frozenset": [...]}``         as they say; lists are lists
``{"dict": [[key, value], ...]}``
``{"array": "float64", "shape": [2, 3], "values": []}``  an array, flat, the last axis fastest
``{"scalar": "int64", "value": 1}``                    a number or text of numpy
``{"label": ["datetime.date", "2024-02-29"]}``         a date, time or interval, see :mod:`bntk.io.json_labels`
``{"series": [names], "values": {"array": ...}}``      a pandas Series
``{"variable": 0}``, ``{"classifier": 0}``             one of the lists of variables and classifiers of the file
``{"network": {...}, "prior": ...}``                   a network as in a file of its own
``{"object": "scores.BDeu", "parts": {...}}``          of a class in the table of :mod:`.kinds`
``{"function": "spaces.tan"}``                         of that table, too
``{"unsaved": "MyScore()"}``                           what a parameter was that cannot be written
=====================================================  ================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk.classifiers.base import RowReader
from bntk.classifiers.saving.kinds import (
    classifier_class,
    classifier_classes,
    functions,
    kinds,
    names_of_kinds,
    parameter_types,
    state_types,
)
from bntk.classifiers.unsaved import Unsaved
from bntk.data.variable import Variable
from bntk.errors import DataError
from bntk.io.json_labels import label_parts
from bntk.io.json_network import document_of, variable_entry
from bntk.io.sizes import Parts, tables_of
from bntk.network import BayesianNetwork

_LONGEST_TEXT = 200


class Writer:
    """Collects what a file holds: its variables, and its classifiers, each after those that it is made of."""

    def __init__(self) -> None:
        self.variables: list[dict[str, Any]] = []
        self.classifiers: list[dict[str, Any]] = []
        self._variable_at: dict[tuple[object, ...], int] = {}
        self._classifier_at: dict[int, int] = {}

    # ---------------------------------------------------------------- classifiers

    def classifier(self, classifier: RowReader) -> int:
        """Add a classifier, fitted or not; returns its place. One that is used several times is written once."""
        if id(classifier) not in self._classifier_at:
            entry = self._entry(classifier)  # adds those that it is made of
            self._classifier_at[id(classifier)] = len(self.classifiers)
            self.classifiers.append(entry)
        return self._classifier_at[id(classifier)]

    def _entry(self, classifier: RowReader) -> dict[str, Any]:
        cls = type(classifier)
        if classifier_class(cls.__name__) is not cls:
            raise DataError(
                f"{cls.__name__} is no classifier of this package, so a file cannot say how it predicts; use one of "
                f"{', '.join(classifier_classes())}, or derive a class from one of these and give it a name of its own"
            )
        given = classifier.get_params(deep=False)
        params = {name: self._parameter(cls, name, given[name]) for name in parameter_types(cls)}
        fitted = {name: getattr(classifier, name) for name in state_types(cls) if name in vars(classifier)}
        written = {name: self.value(value, f"{cls.__name__}.{name}") for name, value in fitted.items()}
        return {"class": cls.__name__, "params": params, **({"fitted": written} if written else {})}

    def _parameter(self, cls: type[RowReader], name: str, value: Any) -> Any:
        try:
            return self.value(value, f"{cls.__name__}({name}=...)")
        except DataError:
            if name in cls._needed_to_predict:
                raise
            return {"unsaved": repr(value)[:_LONGEST_TEXT]}

    # ---------------------------------------------------------------- values

    def value(self, value: Any, path: str) -> Any:
        """A value as JSON; ``path`` says where it was, for messages."""
        kind = type(value)
        if value is None or kind in (str, bool, int) or (kind is float and math.isfinite(value)):
            return value
        if kind is float:
            return {"float": repr(value)}
        if kind is list:
            return [self.value(item, path) for item in value]
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return {"tuple": [self.value(item, path) for item in value]}
        if kind is frozenset:
            return {"frozenset": sorted(self.value(item, path) for item in value)}
        if isinstance(value, Mapping):
            return {"dict": [[self.value(k, path), self.value(v, path)] for k, v in value.items()]}
        if kind is np.ndarray:
            return self._array(value, path)
        if (parts := label_parts(value, lambda end: self.value(end, path))) is not None:
            return {"label": parts}
        if isinstance(value, np.generic):
            entry = self._array(np.asarray(value), path)
            return {"scalar": entry["array"], "value": entry["values"][0]}
        return self._object(value, path)

    def _object(self, value: Any, path: str) -> Any:
        if isinstance(value, Variable):
            return {"variable": self._variable(value)}
        if isinstance(value, BayesianNetwork):
            return {"network": document_of(value, prior=False), "prior": self._prior(value.prior, path)}
        if isinstance(value, RowReader):
            return {"classifier": self.classifier(value)}
        if isinstance(value, Unsaved):
            return {"unsaved": value.text}
        name = names_of_kinds().get(type(value))
        if name is not None:
            parts = kinds()[name].take_apart(value)
            return {"object": name, "parts": {part: self.value(v, f"{path}.{part}") for part, v in parts.items()}}
        for name, function in functions().items():
            if value is function:
                return {"function": name}
        if _is_series(value):
            return {
                "series": [self.value(label, path) for label in value.index],
                "values": self.value(value.to_numpy(), path),
            }
        raise DataError(
            f"{path} is {repr(value)[:_LONGEST_TEXT]}, which a file cannot hold; files hold plain values and what this "
            "package defines. Use such a value in its place, or keep the classifier by other means, such as joblib"
        )

    def _variable(self, variable: Variable) -> int:
        key = variable._key()
        if key not in self._variable_at:
            self._variable_at[key] = len(self.variables)
            self.variables.append(variable_entry(variable))
        return self._variable_at[key]

    def _prior(self, prior: Any, path: str) -> Any:
        """The prior of a network, which is needed only to add more rows."""
        try:
            return self.value(prior, f"{path}.prior")
        except DataError:
            return {"unsaved": repr(prior)[:_LONGEST_TEXT]}

    def _array(self, array: NDArray[Any], path: str) -> dict[str, Any]:
        kind = array.dtype.kind
        if kind in "mM":
            array, name = array.view(np.int64), array.dtype.name
            return {"array": name, "shape": list(array.shape), "values": array.ravel().tolist()}
        values = array.ravel().tolist()
        if kind not in "biufUO" or (kind == "f" and array.dtype.itemsize > 8):
            raise DataError(f"{path} is an array of {array.dtype}, which a file cannot hold; use text or numbers")
        if kind == "O":
            values = [self.value(value, path) for value in values]
        elif kind == "f" and not np.isfinite(array).all():
            values = [value if math.isfinite(value) else repr(value) for value in values]
        name = f"U{array.dtype.itemsize // 4}" if kind == "U" else array.dtype.name
        return {"array": name, "shape": list(array.shape), "values": values}


# ---- how large it becomes ------------------------------------------------------------------------------------------


def numbers_of(value: Any, name: str = "", seen: set[int] | None = None) -> Parts:
    """The numbers that the text of a value will hold, each array with a name; nothing is made of them."""
    seen = set() if seen is None else seen
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, BayesianNetwork):
        yield from tables_of(value, counts=True)
    elif isinstance(value, RowReader):
        if id(value) not in seen:
            seen.add(id(value))
            inner = [(f"{type(value).__name__}.{part}", vars(value).get(part)) for part in state_types(type(value))]
            yield from chain.from_iterable(numbers_of(item, part, seen) for part, item in inner)
    elif type(value) in names_of_kinds():
        parts = kinds()[names_of_kinds()[type(value)]].take_apart(value)
        yield from chain.from_iterable(numbers_of(item, f"{name}.{part}", seen) for part, item in parts.items())
    elif isinstance(value, (list, tuple, Mapping)):
        items = value.values() if isinstance(value, Mapping) else value
        yield from chain.from_iterable(numbers_of(item, name, seen) for item in items)
    elif _is_series(value):
        yield name, value.to_numpy()


def _is_series(value: Any) -> bool:
    import pandas as pd

    return isinstance(value, pd.Series)

"""Values from plain JSON, strictly: see :mod:`.writing` for the tags. Anything unexpected is one ParseError."""

from __future__ import annotations

import math
import re
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bntk.classifiers.base import RowReader
from bntk.classifiers.saving.hints import conforms, is_plain
from bntk.classifiers.saving.kinds import classifier_class, functions, kinds, parameter_types, state_types
from bntk.classifiers.saving.writing import Writer
from bntk.classifiers.unsaved import Unsaved
from bntk.data.variable import Variable
from bntk.errors import ParseError
from bntk.io.json_labels import read_label
from bntk.io.json_network import read_network, read_variable
from bntk.io.json_text import shown
from bntk.learning.priors import Prior
from bntk.network import BayesianNetwork

_MAX_DEPTH = 60
_TEXTS = re.compile(r"U([0-9]{1,6})")
_MOMENTS = re.compile(r"(datetime|timedelta)64\[(Y|M|W|D|h|m|s|ms|us|ns)\]")
_SIZES = (8, 16, 32, 64)
_NUMBERS = {"bool", "float16", "float32", "float64", *(f"{sign}int{size}" for size in _SIZES for sign in ("", "u"))}
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
#: Texts of an array all take the room of the longest: beyond so many characters only if they are mostly in use.
_MOST_ROOM = 1 << 20


class Reader:
    """Makes the classifiers of a file, one after the other."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.variables: list[Variable] = []
        self.classifiers: list[RowReader] = []

    def fail(self, path: str, message: str) -> NoReturn:
        """Raise the error."""
        raise ParseError(f"{path}: {message}", source=self.source) from None

    def read(self, variables: Any, classifiers: Any) -> RowReader:
        """The last classifier, which is what the file is about."""
        for i, entry in enumerate(self._list(variables, "variables")):
            self.variables.append(self._variable(entry, f"variables[{i}]"))
        for i, entry in enumerate(self._list(classifiers, "classifiers")):
            self.classifiers.append(self._classifier(entry, f"classifiers[{i}]"))
        if not self.classifiers or "fitted" not in classifiers[-1]:
            self.fail("classifiers", "there is no fitted classifier")
        return self.classifiers[-1]

    def _variable(self, entry: Any, path: str) -> Variable:
        try:
            return read_variable(entry, self.source)
        except ParseError as error:
            self.fail(path, error.message)

    # ---------------------------------------------------------------- classifiers

    def _classifier(self, entry: Any, path: str) -> RowReader:
        name = self._keys(entry, path, {"class", "params"}, {"fitted"})["class"]
        cls = classifier_class(name) if isinstance(name, str) else None
        if cls is None:
            self.fail(f"{path}.class", f"the classifier {shown(name)} is not known")
        params = self._parameters(cls, entry["params"], f"{path}.params")
        state = self._state(cls, entry["fitted"], f"{path}.fitted") if "fitted" in entry else {}
        classifier = cls(**params)
        classifier.__dict__.update(state)
        if state:
            try:
                classifier._restore()
            except Exception as error:  # whatever a manipulated file makes it stumble over
                self.fail(f"{path}.fitted", _message(error))
        return classifier

    def _parameters(self, cls: type[RowReader], entries: Any, path: str) -> dict[str, Any]:
        types = parameter_types(cls)
        found = {}
        for name, entry in self._keys(entries, path, {*types}).items():
            value = self.value(entry, f"{path}.{name}")
            if isinstance(value, Unsaved) and (name in cls._needed_to_predict or is_plain(types[name])):
                self.fail(f"{path}.{name}", f"{value!r}, and without it there are no predictions")
            if not isinstance(value, Unsaved):
                self._check(value, types[name], f"{path}.{name}")
            found[name] = value
        return found

    def _state(self, cls: type[RowReader], entries: Any, path: str) -> dict[str, Any]:
        types = state_types(cls)
        optional = {name for name, hint in types.items() if hint is not Any and conforms(None, hint)}
        found = {}
        for name, entry in self._keys(entries, path, {*types} - optional, optional).items():
            found[name] = self.value(entry, f"{path}.{name}")
            self._check(found[name], types[name], f"{path}.{name}")
        return found

    # ---------------------------------------------------------------- values

    def value(self, entry: Any, path: str, depth: int = 0) -> Any:
        """The value that JSON stands for."""
        if entry is None or isinstance(entry, (str, bool, int, float)):
            return entry
        if depth > _MAX_DEPTH:
            self.fail(path, "too many things within each other")
        if isinstance(entry, list):
            return [self.value(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(entry)]
        tag = next((key for key in entry if key in _TAGS), None)
        if tag is None:
            self.fail(path, f"expected a value, found an object with the keys {shown(', '.join(entry))}")
        self._keys(entry, path, {tag, *_TAGS[tag]})
        return getattr(self, f"_read_{tag}")(entry, path, depth + 1)

    def _read_float(self, entry: Any, path: str, depth: int) -> float:
        text = entry["float"]
        if not isinstance(text, str) or text not in _NOT_FINITE:
            self.fail(path, f"{shown(text)} is none of {list(_NOT_FINITE)}")
        return _NOT_FINITE[text]

    def _read_tuple(self, entry: Any, path: str, depth: int) -> tuple[Any, ...]:
        return tuple(self.value(self._list(entry["tuple"], path), path, depth))

    def _read_frozenset(self, entry: Any, path: str, depth: int) -> frozenset[Any]:
        try:
            return frozenset(self.value(self._list(entry["frozenset"], path), path, depth))
        except TypeError:
            self.fail(path, "a set of things that cannot be in one")

    def _read_dict(self, entry: Any, path: str, depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for i, pair in enumerate(self._list(entry["dict"], path)):
            if not isinstance(pair, list) or len(pair) != 2:
                self.fail(f"{path}[{i}]", "expected a pair of a key and a value")
            key = self.value(pair[0], f"{path}[{i}][0]", depth)
            try:
                known = key in found
            except TypeError:
                self.fail(f"{path}[{i}]", "this cannot be a key")
            if known:
                self.fail(f"{path}[{i}]", f"the key {shown(key)} is there twice")
            found[key] = self.value(pair[1], f"{path}[{i}][1]", depth)
        return found

    def _read_array(self, entry: Any, path: str, depth: int) -> NDArray[Any]:
        shape, values = entry["shape"], self._list(entry["values"], f"{path}.values")
        whole = isinstance(shape, list) and all(type(n) is int and 0 <= n <= 2**40 for n in shape)
        if not whole or len(shape) > 32 or math.prod(shape) != len(values):
            self.fail(path, f"the shape {shape if whole else shown(shape)} is not that of {len(values):,} values")
        return self._flat(entry["array"], values, path, depth).reshape(shape)

    def _read_scalar(self, entry: Any, path: str, depth: int) -> Any:
        if entry["scalar"] == "object":
            self.fail(path, "an object is no scalar")
        return self._flat(entry["scalar"], [entry["value"]], path, depth)[0]

    def _flat(self, dtype: Any, values: list[Any], path: str, depth: int) -> NDArray[Any]:
        texts = _TEXTS.fullmatch(dtype) if isinstance(dtype, str) else None
        types = {type(value) for value in values}
        if dtype == "object":
            array = np.empty(len(values), dtype=object)
            array[:] = [self.value(value, f"{path}.values[{i}]", depth) for i, value in enumerate(values)]
            return array
        if texts is not None:
            longest = int(texts[1])
            used = max(map(len, values), default=0) if types <= {str} else math.inf
            if used > longest or longest * len(values) > max(_MOST_ROOM, 16 * used * len(values)):
                self.fail(path, f"not texts of up to {longest} characters")
            return np.array(values, dtype=f"U{max(longest, 1)}")
        if isinstance(dtype, str) and _MOMENTS.fullmatch(dtype):
            return self._flat("int64", values, path, depth).view(dtype)
        if not isinstance(dtype, str) or dtype not in _NUMBERS:
            self.fail(path, f"an array of {shown(dtype)} is not known")
        expected = {bool} if dtype == "bool" else {int} if "int" in dtype else {int, float}
        if "float" in dtype and str in types:
            values = [_NOT_FINITE.get(value, value) if isinstance(value, str) else value for value in values]
            types = {type(value) for value in values}
        try:
            if not types <= expected:
                raise TypeError
            return np.array(values, dtype=dtype)
        except (TypeError, ValueError, OverflowError):
            self.fail(path, f"not values of {dtype}")

    def _read_label(self, entry: Any, path: str, depth: int) -> Any:
        try:
            return read_label(
                self._list(entry["label"], path),
                lambda end: self.value(end, path, depth),
                lambda end: Writer().value(end, path),
            )
        except ValueError as error:
            self.fail(path, f"{shown(entry['label'])} {error}")

    def _read_series(self, entry: Any, path: str, depth: int) -> Any:
        import pandas as pd

        index = self._list(entry["series"], path)
        values = self.value(entry["values"], f"{path}.values", depth)
        if not all(isinstance(name, str) for name in index):
            self.fail(path, "the index of a series must be names")
        if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.shape != (len(index),):
            self.fail(path, f"expected {len(index)} numbers, one for each name")
        try:
            return pd.Series(values, index=index)
        except UnicodeError:  # half of a surrogate pair: no text, where Arrow keeps it
            self.fail(path, "the index of a series must be names")

    def _read_variable(self, entry: Any, path: str, depth: int) -> Variable:
        return self._one_of(self.variables, entry["variable"], path, "variable")

    def _read_classifier(self, entry: Any, path: str, depth: int) -> RowReader:
        return self._one_of(self.classifiers, entry["classifier"], path, "classifier")

    def _read_network(self, entry: Any, path: str, depth: int) -> BayesianNetwork:
        if not isinstance(entry["network"], dict):
            self.fail(path, f"expected a network, not {shown(entry['network'])}")
        try:
            network = read_network(entry["network"], self.source)
        except ParseError as error:
            self.fail(path, error.message)
        prior = self.value(entry["prior"], f"{path}.prior", depth)
        if prior is not None and not isinstance(prior, Prior):
            self.fail(f"{path}.prior", f"{shown(prior)} is no prior")
        parts = {"prior_counts": network.prior_counts, "positions": network.positions}
        return BayesianNetwork._trusted(network.dag, network.cpts, prior=prior, **parts)

    def _read_object(self, entry: Any, path: str, depth: int) -> Any:
        name = entry["object"]
        if not isinstance(name, str) or name not in kinds():
            self.fail(path, f"a {shown(name)} is not known")
        kind, parts = kinds()[name], {}
        for part, value in self._keys(entry["parts"], path, {*kind.parts}).items():
            parts[part] = self.value(value, f"{path}.{part}", depth)
            self._check(parts[part], kind.parts[part], f"{path}.{part}")
        try:
            made = kind.put_together(**parts)
            if hasattr(made, "_check"):
                made._check()
        except Exception as error:  # each class has its own ways to refuse
            self.fail(path, _message(error))
        return made

    def _read_function(self, entry: Any, path: str, depth: int) -> Any:
        name = entry["function"]
        if not isinstance(name, str) or name not in functions():
            self.fail(path, f"the function {shown(name)} is not known")
        return functions()[name]

    def _read_unsaved(self, entry: Any, path: str, depth: int) -> Unsaved:
        if not isinstance(entry["unsaved"], str):
            self.fail(path, "what could not be written must be text")
        return Unsaved(entry["unsaved"])

    # ---------------------------------------------------------------- small checks

    def _one_of(self, things: list[Any], place: Any, path: str, what: str) -> Any:
        if type(place) is not int or not 0 <= place < len(things):
            self.fail(path, f"there is no {what} {shown(place)} before it")
        return things[place]

    def _check(self, value: Any, hint: Any, path: str) -> None:
        if not conforms(value, hint):
            self.fail(path, f"{shown(value)} is not what belongs there, {_named(hint)}")

    def _list(self, value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            self.fail(path, f"expected a list, not {shown(value)}")
        return value

    def _keys(
        self, entry: Any, path: str, required: set[str], optional: set[str] | frozenset[str] = frozenset()
    ) -> Any:
        """An object, once it is sure that it has these keys and no others."""
        if not isinstance(entry, dict):
            self.fail(path, f"expected an object, not {shown(entry)}")
        absent = sorted(required - {*entry})
        strange = [key for key in entry if key not in required and key not in optional]
        if absent or strange:
            self.fail(path, f"{absent[0]!r} is missing" if absent else f"{shown(strange[0])} is not known")
        return entry


# Tag -> the other keys that come with it. The method that reads it has its name, too.
_TAGS: dict[str, tuple[str, ...]] = {
    "float": (),
    "tuple": (),
    "frozenset": (),
    "dict": (),
    "array": ("shape", "values"),
    "scalar": ("value",),
    "label": (),
    "series": ("values",),
    "variable": (),
    "classifier": (),
    "network": ("prior",),
    "object": ("parts",),
    "function": (),
    "unsaved": (),
}


def _named(hint: Any) -> str:
    name = getattr(hint, "__name__", None)
    return name if isinstance(hint, type) and name and not getattr(hint, "__args__", ()) else str(hint)


def _message(error: Exception) -> str:
    return str(error) or type(error).__name__

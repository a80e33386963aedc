"""Networks as JSON, bntk's own format, which keeps everything to the last bit.

Kept are states with their types (text, numbers, booleans, dates, times, intervals, tuples of these) and whether they
are ordered, the order of nodes, the tables, and where there are any the counts behind them and the prior, so that a
fitted network can still be updated, and the positions of nodes in pictures. Keys that the reader does not know are
skipped; a later version may add some. ``values`` and ``counts`` are flat: the child's states change fastest, then
those of the last parent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from numbers import Integral
from typing import Any

import numpy as np

from bntk.cpt import CPT
from bntk.data.variable import State, Variable
from bntk.errors import DataError
from bntk.io.building import NOWHERE, NetworkBuilder
from bntk.io.json_labels import label_parts, read_label
from bntk.io.json_text import json_text, read_json, shown
from bntk.learning.priors import HDP, Backoff, BDeu, Dirichlet, ExpertCounts, MaximumLikelihood, PriorNetwork
from bntk.network import BayesianNetwork

FORMAT, VERSION = "bntk network", 1

_MAX_DEPTH = 20  # of tuples in tuples
_LARGE = 1.7976931348623157e308  # the largest double; a whole number may be larger, and infinity is

# Name in the file -> class and its fields.
_PRIORS: dict[str, tuple[type, tuple[str, ...]]] = {
    "mle": (MaximumLikelihood, ()),
    "dirichlet": (Dirichlet, ("value", "default")),
    "bdeu": (BDeu, ("ess",)),
    "backoff": (Backoff, ("rows", "alpha", "given")),
    "hdp": (HDP, ("iterations", "burn_in", "shape", "rate", "concentration", "seed", "given")),
    "expert_counts": (ExpertCounts, ("tables", "default")),
    "network": (PriorNetwork, ("network", "ess", "rows")),
}


def parse(text: str, source: str = "", normalize: bool = False) -> BayesianNetwork:
    """Read a network from JSON text.

    Examples
    --------
    >>> bn = parse('''{"format": "bntk network", "version": 1,
    ...   "variables": [{"name": "a", "states": [0, 2.5, true, "x"]}],
    ...   "tables": [{"child": "a", "values": [0.25, 0.25, 0.25, 0.25]}]}''')
    >>> bn.variable("a").states
    (0, 2.5, True, 'x')
    """
    return read_network(read_json(text, source), source, normalize)


def read_network(document: dict[str, Any], source: str = "", normalize: bool = False) -> BayesianNetwork:
    """Read a network from the object in a JSON text."""
    return _Reader(source, normalize).network(document)


def read_variable(entry: Any, source: str = "") -> Variable:
    """Read a variable from its entry in the list of variables."""
    reader = _Reader(source)
    reader.variable(reader._object(entry, "a variable"))
    (variable,) = reader.build.variables.values()
    return variable


class _Reader:
    def __init__(self, source: str, normalize: bool = False) -> None:
        self.build = NetworkBuilder(source, "JSON", normalize)

    def network(self, data: dict[str, Any]) -> BayesianNetwork:
        if data.get("format") != FORMAT:
            self.build.fail(f'expected "format": "{FORMAT}", found {shown(data.get("format"))}')
        version = data.get("version")
        if type(version) is not int or version != VERSION:
            self.build.fail(f"version {shown(version)} of the format is not known; this is version {VERSION}")
        for entry in self._list(data, "variables", "the file"):
            self.variable(self._object(entry, "a variable"))
        for entry in self._list(data, "tables", "the file"):
            self._table(self._object(entry, "a table"))
        network = self.build.network()
        prior = None if data.get("prior") is None else self._prior(self._object(data["prior"], "the prior"))
        positions = None if data.get("positions") is None else self._positions(data["positions"])
        beside = self._list(data, "prior_counts", "the file") if data.get("prior_counts") is not None else []
        prior_counts = dict(self._prior_counts(self._object(entry, "a table of prior_counts")) for entry in beside)
        labels = None if data.get("labels") is None else self._labels(data["labels"])
        return BayesianNetwork(
            network.dag, network.cpts, prior=prior, prior_counts=prior_counts, positions=positions, labels=labels
        )

    def _labels(self, entry: Any) -> dict[str, str]:
        for name, text in self._object(entry, "labels").items():
            self.build.variable(name, NOWHERE)
            if not isinstance(text, str):
                self.build.fail(f"the label of {name!r} must be text, not {shown(text)}")
        return dict(entry)

    def variable(self, entry: dict[str, Any]) -> None:
        name = entry.get("name")
        if not isinstance(name, str):
            self.build.fail(f"a variable's name must be text, not {shown(name)}")
        ordered = entry.get("ordered", False)
        if not isinstance(ordered, bool):
            self.build.fail(f"variable {name!r}: ordered must be true or false, not {shown(ordered)}")
        states = [self._state(state, name) for state in self._list(entry, "states", f"variable {name!r}")]
        cuts = None if entry.get("cuts") is None else self._list(entry, "cuts", f"variable {name!r}")
        if cuts is not None:
            cuts = [self._state(cut, name) for cut in cuts]  # a number is written as a state is
            if not all(type(cut) in (int, float) for cut in cuts):
                self.build.fail(f"variable {name!r}: cuts must be numbers, not {shown(cuts)}")
        self.build.add_variable(name, states, NOWHERE, ordered, cuts)

    def _state(self, state: Any, name: str, depth: int = 0) -> State:
        if isinstance(state, (str, int, float)):
            return state
        entry = state if isinstance(state, dict) and len(state) == 1 else {}
        if entry.get("float") in ("inf", "-inf"):
            return float(entry["float"])
        if isinstance(entry.get("label"), list) and depth < _MAX_DEPTH:
            try:
                found: State = read_label(
                    entry["label"], lambda end: self._state(end, name, depth + 1), lambda end: _state_entry(end, name)
                )
            except ValueError as error:
                self.build.fail(f"variable {name!r}: {shown(entry['label'])} {error}")
            return found
        if not isinstance(entry.get("tuple"), list) or depth >= _MAX_DEPTH:
            self.build.fail(f"variable {name!r}: {shown(state)} is no state")
        return tuple(self._state(part, name, depth + 1) for part in entry["tuple"])

    def _table(self, entry: dict[str, Any]) -> None:
        child = entry.get("child")
        where = f"the table of {shown(child)}"
        parents = self._list(entry, "parents", where) if "parents" in entry else []
        if not all(isinstance(name, str) for name in (child, *parents)):
            self.build.fail(f"{where}: child and parents must be names")
        values = self._numbers(entry, "values", where)
        counts = None if entry.get("counts") is None else self._numbers(entry, "counts", where)
        if counts is not None and (len(counts) != len(values) or any(not 0 <= n <= 2**62 for n in counts)):
            self.build.fail(f"{where}: counts must be as many numbers as there are values, from 0 on")
        self.build.add_table(child, parents, values, NOWHERE, counts)  # type: ignore[arg-type]

    def _prior(self, entry: dict[str, Any]) -> Any:
        kind = entry.get("kind")
        if not isinstance(kind, str) or kind not in _PRIORS:
            self.build.fail(f"the prior {shown(kind)} is not known; known are {list(_PRIORS)}")
        cls, fields = _PRIORS[kind]
        given = {field: entry[field] for field in fields if field in entry}
        if cls is PriorNetwork:
            given["network"] = read_network(self._object(given.get("network"), "the prior network"), self.build.source)
        if cls is ExpertCounts:
            tables = self._object(given.get("tables"), "the tables of the prior").items()
            given["tables"] = {name: self._expert_table(name, table) for name, table in tables}
        try:
            return cls(**given)
        except (TypeError, ValueError, OverflowError) as error:
            self.build.fail(f"the prior {kind!r}: {error}")

    def _expert_table(self, name: str, entry: Any) -> Any:
        """Counts as nested lists, or by columns: pairs of a name, which may be a state, and its cells."""
        if not isinstance(entry, dict):
            return entry
        where = f"the prior's counts of {name!r}"
        columns = {}
        for pair in self._list(entry, "columns", where):
            if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], list):
                self.build.fail(f"{where}: a column is a name and a list of cells, not {shown(pair)}")
            columns[self._state(pair[0], name)] = [self._state(cell, name) for cell in pair[1]]
        return columns

    def _prior_counts(self, entry: dict[str, Any]) -> tuple[tuple[str, ...], np.ndarray]:
        """The names of a family, and its counts."""
        names, where = self._list(entry, "family", "prior_counts"), "prior_counts"
        if not names or not all(isinstance(name, str) for name in names) or len({*names}) < len(names):
            self.build.fail(f"{where}: a family is a list of different names, not {shown(names)}")
        shape = [self.build.variable(name, NOWHERE).n_states for name in names]
        counts = self._numbers(entry, "counts", where)
        if len(counts) != math.prod(shape) or any(not 0 <= n <= 2**62 for n in counts):
            self.build.fail(f"{where}: the family {names} needs {math.prod(shape):,} counts, from 0 on")
        return tuple(names), np.array(counts).reshape(shape)

    def _positions(self, entry: Any) -> dict[str, list[float]]:
        places = self._object(entry, "positions")
        for name in places:
            self.build.variable(name, NOWHERE)
            if len(self._numbers(places, name, "positions")) != 2:
                self.build.fail(f"the position of {name!r} must be two numbers")
        return places

    def _numbers(self, entry: dict[str, Any], key: str, where: str) -> list[float]:
        numbers = self._list(entry, key, where)
        if not {type(number) for number in numbers} <= {int, float} or any(not -_LARGE <= n <= _LARGE for n in numbers):
            self.build.fail(f"{where}: {key} must be a list of finite numbers")
        return numbers

    def _object(self, value: Any, what: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.build.fail(f"{what} must be an object {{...}}, not {shown(value)}")
        return value

    def _list(self, entry: dict[str, Any], key: str, where: str) -> list[Any]:
        value = entry.get(key)
        if not isinstance(value, list):
            self.build.fail(f"{where} needs {key!r}, a list, not {shown(value)}")
        return value


# ---- writing ---------------------------------------------------------------------------------------------------


def dump(network: BayesianNetwork) -> str:
    """The network as JSON text, with one line per variable and per table."""
    parts = []
    for key, value in document_of(network).items():
        lines = isinstance(value, list)
        text = "[\n" + ",\n".join(map(json_text, value)) + "\n]" if lines else json_text(value)
        parts.append(f'"{key}": {text}')
    return "{" + ",\n".join(parts) + "}\n"


def document_of(network: BayesianNetwork, prior: bool = True) -> dict[str, Any]:
    """The content of the file, as plain values; without the prior if that is kept elsewhere."""
    document: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if network.prior is not None and prior:
        document["prior"] = _prior_entry(network.prior)
    if network.positions is not None:
        document["positions"] = {name: list(place) for name, place in network.positions.items()}
    if network.labels:
        document["labels"] = network.labels
    document["variables"] = [variable_entry(v) for v in network.variables]
    document["tables"] = [dict(_table_entry(cpt)) for cpt in network.cpts]
    if network.prior_counts:
        beside = network.prior_counts.items()
        document["prior_counts"] = [{"family": list(f), "counts": table.ravel().tolist()} for f, table in beside]
    return document


def variable_entry(variable: Variable) -> dict[str, Any]:
    """The entry of a variable in the list of variables."""
    states = [_state_entry(state, variable.name) for state in variable.states]
    entry: dict[str, Any] = {"name": variable.name, "states": states}
    if variable.ordered:
        entry["ordered"] = True
    if variable._given_cuts is not None:
        entry["cuts"] = [_state_entry(cut, variable.name) for cut in variable._given_cuts]
    return entry


def _state_entry(state: State, name: str) -> Any:
    if type(state) in (str, bool, int) or (type(state) is float and math.isfinite(state)):
        return state
    if type(state) is float:
        return {"float": repr(state)}
    if type(state) is tuple:
        return {"tuple": [_state_entry(part, name) for part in state]}
    parts = label_parts(state, lambda end: _state_entry(end, name))
    if parts is not None:
        return {"label": parts}
    raise DataError(
        f"variable {name!r} has the state {state!r} of type {type(state).__name__}; files hold text, numbers, "
        "booleans, dates, times, intervals and tuples of these: rename it"
    )


def _table_entry(cpt: CPT) -> Iterator[tuple[str, Any]]:
    yield "child", cpt.name
    if cpt.parents:
        yield "parents", [p.name for p in cpt.parents]
    yield "values", cpt.values.ravel().tolist()
    if cpt.counts is not None:
        yield "counts", cpt.counts.ravel().tolist()


def _prior_entry(prior: Any) -> dict[str, Any]:
    for kind, (cls, fields) in _PRIORS.items():
        if type(prior) is cls:
            parts = {field: getattr(prior, field) for field in fields}
            if isinstance(prior, ExpertCounts):
                parts["tables"] = {name: _expert_entry(name, table) for name, table in prior.tables.items()}
                return {"kind": kind, **parts}
            return {"kind": kind, **{field: _plain(value) for field, value in parts.items()}}
    raise DataError(f"the prior {prior!r} cannot be written to JSON; other formats leave priors and counts out")


def _expert_entry(name: str, table: Any) -> Any:
    """Counts as nested lists, or by columns."""
    if not isinstance(table, Mapping):
        return _plain(np.asarray(table))
    cells = ((column, [_state_entry(cell, name) for cell in own]) for column, own in table.items())
    return {"columns": [[_state_entry(column, name), own] for column, own in cells]}


def _plain(value: Any) -> Any:
    """Numbers, names, networks, lists and mappings of them without numpy."""
    if isinstance(value, BayesianNetwork):
        return document_of(value, prior=False)
    if isinstance(value, tuple):
        return list(value)
    if value is None or isinstance(value, Integral):
        return value if value is None else int(value)
    if isinstance(value, Mapping):
        return {name: _plain(number) for name, number in value.items()}
    return np.asarray(value, dtype=np.float64).tolist()

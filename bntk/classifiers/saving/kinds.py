"""The fixed table of what a classifier file may hold: names in files, and the classes and functions that they mean.

Nothing else is ever made from a file, and nothing is imported because a file says so. Most are dataclasses and named
tuples, which are their fields; the others say here what they are made of.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from bntk._declared import CLASSIFIERS, MULTI_CLASSIFIERS
from bntk.classifiers.averaged import Counts
from bntk.classifiers.base import RowReader
from bntk.classifiers.chains import Member, TrainingRows
from bntk.classifiers.composed.links import ConstantLink, EstimatorLink, NaiveLink
from bntk.classifiers.densities import Columns, Gaussian, KernelDensities, Multinomial
from bntk.classifiers.features import Features
from bntk.classifiers.kde import KernelDensity
from bntk.data.labels import Labels
from bntk.data.variable import Variable
from bntk.graph.dag import DAG
from bntk.graph.equivalence import PDAG
from bntk.learning import priors, scores, search
from bntk.learning.counts.pairs import PairTables, layout_pairs
from bntk.learning.independence import IndependenceTest
from bntk.learning.space import Group, Link, Space
from bntk.learning.space import named as spaces


@dataclass(frozen=True)
class Kind:
    """A class that files may hold: the types of its parts, and how it is taken apart and put together."""

    cls: type
    parts: Mapping[str, Any]
    take_apart: Callable[[Any], dict[str, Any]]
    put_together: Callable[..., Any]


def _by_fields(cls: type) -> Kind:
    """A dataclass, or a named tuple."""
    names = [f.name for f in fields(cls) if f.init] if is_dataclass(cls) else list(cls._fields)  # type: ignore[attr-defined]
    hints = get_type_hints(cls)
    parts = {name: hints[name] for name in names if not name.startswith("_")}
    return Kind(cls, parts, lambda value: {name: getattr(value, name) for name in parts}, cls)


def _dag() -> Kind:
    def put_together(nodes: list[str], arcs: list[tuple[str, str]]) -> DAG:
        return DAG(nodes, arcs)

    def take_apart(dag: DAG) -> dict[str, Any]:
        return {"nodes": list(dag.nodes), "arcs": [list(arc) for arc in dag.arcs]}

    return Kind(DAG, {"nodes": list[str], "arcs": list[list[str]]}, take_apart, put_together)


def _pdag() -> Kind:
    def take_apart(pdag: PDAG) -> dict[str, Any]:
        pairs = {"directed": pdag.directed, "undirected": pdag.undirected}
        return {"nodes": list(pdag.nodes), **{name: [list(pair) for pair in some] for name, some in pairs.items()}}

    parts = {"nodes": list[str], "directed": list[list[str]], "undirected": list[list[str]]}
    return Kind(PDAG, parts, take_apart, PDAG)


def _space() -> Kind:
    arcs = tuple[tuple[str, str], ...]
    parts = {
        "nodes": tuple[str, ...], "required": arcs, "forbidden": arcs, "tiers": tuple[tuple[str, ...], ...],
        "max_parents": dict[str, int], "groups": tuple[Group, ...], "links": tuple[Link, ...], "free": bool,
        "arc_weights": dict[tuple[str, str], float],
    }  # fmt: skip

    def take_apart(space: Space) -> dict[str, Any]:
        plain = {name: getattr(space, name) for name in parts if name not in ("max_parents", "arc_weights")}
        limits = dict(zip(space.nodes, space._limits, strict=True))
        return {**plain, "max_parents": limits, "arc_weights": dict(space._weights)}

    return Kind(Space, parts, take_apart, Space)


def _pair_tables() -> Kind:
    parts = {
        "variables": tuple[Variable, ...], "target": Variable | None, "counts": NDArray[Any],
        "single_counts": NDArray[Any], "class_counts": NDArray[Any],
    }  # fmt: skip

    def put_together(
        variables: tuple[Variable, ...], target: Variable | None, counts: Any, single_counts: Any, class_counts: Any
    ) -> PairTables:
        n_classes = 1 if target is None else target.n_states
        layout = layout_pairs([v.n_states for v in variables], n_classes, counts.size)
        sizes = int(layout.starts[-1]), n_classes * int(layout.columns[-1]), n_classes
        for array, size in zip((counts, single_counts, class_counts), sizes, strict=True):
            if array.shape != (size,) or array.dtype not in (np.int64, np.float64) or not (array >= 0).all():
                raise ValueError(f"expected {size:,} counts from 0, not an array of shape {array.shape}")
        return PairTables(variables, target, layout, counts, single_counts, class_counts)

    return Kind(PairTables, parts, lambda value: {name: getattr(value, name) for name in parts}, put_together)


@cache
def kinds() -> dict[str, Kind]:
    """The classes of values, by their names in files."""
    families: dict[str, list[type]] = {
        "priors": [p for p in _public(priors) if is_dataclass(p)],
        "scores": [s for s in _public(scores) if issubclass(s, scores.Score) and not inspect.isabstract(s)],
        "search": [s for s in _public(search) if is_dataclass(s)],
        "space": [Group, Link],
        "independence": [IndependenceTest],
        "features": [Features, Columns, Gaussian, Multinomial, KernelDensities, KernelDensity],
        "counts": [Counts],
        "ensemble": [Member, TrainingRows],
        "labels": [Labels, ConstantLink, EstimatorLink, NaiveLink],
    }
    found = {f"{family}.{cls.__name__}": _by_fields(cls) for family, some in families.items() for cls in some}
    others = {"graph.DAG": _dag(), "graph.PDAG": _pdag(), "space.Space": _space(), "counts.PairTables": _pair_tables()}
    return {**found, **others}


@cache
def names_of_kinds() -> dict[type, str]:
    """The names of classes of values in files."""
    return {kind.cls: name for name, kind in kinds().items()}


@cache
def functions() -> dict[str, Callable[..., Any]]:
    """The functions that a parameter may be: those that give spaces."""
    public = inspect.getmembers(spaces, inspect.isfunction)
    return {f"spaces.{name}": f for name, f in public if f.__module__ == spaces.__name__ and not name.startswith("_")}


def classifier_classes() -> dict[str, type[RowReader]]:
    """The classifiers: those of the package, and those with a name that this process has defined."""
    of_users = CLASSIFIERS.of_users() | MULTI_CLASSIFIERS.of_users()
    return of_users | CLASSIFIERS.load() | MULTI_CLASSIFIERS.load()


def classifier_class(name: str) -> type[RowReader] | None:
    """The classifier of that name, without importing the others; None if there is none."""
    own = CLASSIFIERS.classes | MULTI_CLASSIFIERS.classes
    if name in own:
        found: type[RowReader] = own[name].load()
        return found
    return (CLASSIFIERS.of_users() | MULTI_CLASSIFIERS.of_users()).get(name)


def state_types(cls: type[RowReader]) -> dict[str, Any]:
    """What a fitted classifier consists of: attributes and their types, of its class and the classes above it."""
    return {name: hint for base in reversed(cls.__mro__) for name, hint in base.__dict__.get("_state", {}).items()}


def parameter_types(cls: type[RowReader]) -> dict[str, Any]:
    """The parameters of a classifier and their types."""
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in fields(cls) if f.init}


def _public(module: Any) -> list[type]:
    return [found for name in module.__all__ if inspect.isclass(found := getattr(module, name))]

"""A network as the data of a page: names, tables, the compiled junction tree and a layout.

``engine.js`` reads it, and describes it at its top.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from bntk.data.variable import State, Variable, state_texts
from bntk.explore.placing import placed
from bntk.inference.engines import Floats
from bntk.inference.exact.junction import JunctionTree
from bntk.inference.exact.program import compile_network
from bntk.network import BayesianNetwork

FORMAT = "bntk explorer 1"


def model_of(
    network: BayesianNetwork, target: int | None = None, case: dict[str, Any] | None = None, title: str | None = None
) -> dict[str, Any]:
    """What a page needs of a network, as plain lists and numbers."""
    tables, places = distinct_tables([cpt.values for cpt in network.cpts])
    return {
        "format": FORMAT,
        "title": title,
        "variables": [described(variable) for variable in network.variables],
        "parents": [list(parents) for parents in network.dag.parent_indices],
        "tables": tables,
        "table": places,
        "tree": tree_of(compile_network(network).tree, network),
        "layout": placed(network),
        "target": target,
        "case": case,
    }


def described(variable: Variable) -> dict[str, Any]:
    """A variable: its name, its states as distinct texts, and how Python and numbers name them."""
    found: dict[str, Any] = {"name": variable.name, "states": state_texts(variable)}
    if any(not isinstance(state, str) for state in variable.states) or found["states"] != list(variable.states):
        found["literals"] = [literal(state) for state in variable.states]
    if variable.cuts is not None:
        found["cuts"] = [number if np.isfinite(number) else -1e308 for number in variable.cuts]
    return found


def literal(state: State) -> str:
    """A state as Python writes it."""
    infinite = isinstance(state, float) and not np.isfinite(state)
    return f"float({str(state)!r})" if infinite else repr(state)


def distinct_tables(tables: list[Floats]) -> tuple[list[Any], list[int]]:
    """Tables as they are written, each once, and for each variable which one it has."""
    written: list[Any] = []
    places: dict[bytes, int] = {}
    found = []
    for table in tables:
        key = np.ascontiguousarray(table, dtype="<f8").tobytes()
        if key not in places:
            places[key] = len(written)
            written.append(written_table(np.ravel(table), key))
        found.append(places[key])
    return written, found


def written_table(numbers: Floats, raw: bytes) -> Any:
    """A list of numbers, or their bytes in base64 where that is shorter; both are exact."""
    # Whole numbers need no point.
    listed = [int(x) if x == int(x) else x for x in numbers.tolist()]
    packed = base64.b64encode(raw).decode()
    return listed if len(json.dumps(listed, separators=(",", ":"))) <= len(packed) + 2 else packed


def tree_of(tree: JunctionTree, network: BayesianNetwork) -> dict[str, Any]:
    """The junction tree, and the clique that each table is multiplied into."""
    families = [(*parents, v) for v, parents in enumerate(network.dag.parent_indices)]
    return {
        "cliques": [list(clique) for clique in tree.cliques],
        "parent": list(tree.parent),
        "home": [tree.clique_with(family) for family in families],
    }

"""Families as flat arrays, the form that kernels read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from operator import mul
from typing import NamedTuple

import numpy as np

from bntk.inference.engines import Floats, Ints
from bntk.network import BayesianNetwork


class FlatFamilies(NamedTuple):
    """Family f has the variables ``members[starts[f]:starts[f + 1]]`` (parents, then the child) with mixed-radix
    ``strides``; its table begins at ``offsets[f]`` of a flat buffer; its child has ``cards[f]`` states.
    """

    starts: Ints
    members: Ints
    strides: Ints
    offsets: Ints
    cards: Ints


def flat_families(families: Sequence[Sequence[int]], cards: Sequence[int]) -> FlatFamilies:
    """The flat form of families, each its parents and then its child, of variables with so many states."""
    shapes = [[cards[v] for v in family] for family in families]
    starts = np.cumsum([0, *map(len, families)])
    ends = np.cumsum([0, *(int(np.prod(shape, dtype=np.int64)) for shape in shapes)])
    columns = (
        starts,
        [v for family in families for v in family],
        [step for shape in shapes for step in strides_of(shape)],
        ends[:-1],
        [shape[-1] for shape in shapes],
    )
    return FlatFamilies(*(np.array(column, dtype=np.int64) for column in columns))


def strides_of(shape: Sequence[int]) -> list[int]:
    """The strides of a table, the last axis innermost."""
    return [*accumulate(shape[:0:-1], mul, initial=1)][::-1] if shape else []


def network_families(network: BayesianNetwork) -> FlatFamilies:
    """The flat form of a network's families, made once for each network."""
    if "flat" not in network._cache:
        families = [(*parents, node) for node, parents in enumerate(network.dag.parent_indices)]
        network._cache["flat"] = flat_families(families, [cpt.child.n_states for cpt in network.cpts])
    flat: FlatFamilies = network._cache["flat"]
    return flat


def flat_tables(network: BayesianNetwork, transform: Callable[[Floats], Floats]) -> Floats:
    """All tables, transformed as ``(q, r)`` matrices, one after another in one buffer."""
    if not network.cpts:
        return np.empty(0)
    return np.concatenate([transform(cpt.matrix).ravel() for cpt in network.cpts])


def lines_of(flat: FlatFamilies) -> list[list[int]]:
    """Each family as one list: child, where its table begins, number of members, and each with its stride."""
    lines = []
    for (a, b), begin in zip(pairwise(flat.starts.tolist()), flat.offsets.tolist(), strict=True):
        pairs = np.stack([flat.members[a:b], flat.strides[a:b]], axis=1).ravel().tolist()
        lines.append([pairs[-2], begin, b - a, *pairs])
    return lines

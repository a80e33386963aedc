"""The families of a network as flat arrays, the form that kernels over rows read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bntk.network import BayesianNetwork


@dataclass(frozen=True)
class FlatFamilies:
    """Family f has the variables ``members[starts[f]:starts[f + 1]]`` (parents, then the child) with mixed-radix
    ``strides``; its table begins at ``offsets[f]`` of a flat buffer; its child has ``cards[f]`` states.
    """

    starts: NDArray[np.int64]
    members: NDArray[np.int64]
    strides: NDArray[np.int64]
    offsets: NDArray[np.int64]
    cards: NDArray[np.int64]


def flat_families(network: BayesianNetwork) -> FlatFamilies:
    """The flat form of a network's families, made once for each network."""
    if "flat" not in network._cache:
        network._cache["flat"] = _flatten(network)
    flat: FlatFamilies = network._cache["flat"]
    return flat


def _flatten(network: BayesianNetwork) -> FlatFamilies:
    starts, members, strides, offsets = [0], [], [], [0]
    for node, (cpt, parents) in enumerate(zip(network.cpts, network.dag.parent_indices, strict=True)):
        members += [*parents, node]
        strides += [step // cpt.values.itemsize for step in cpt.values.strides]
        starts.append(len(members))
        offsets.append(offsets[-1] + cpt.values.size)
    cards = [cpt.child.n_states for cpt in network.cpts]
    columns = (starts, members, strides, offsets[:-1], cards)
    return FlatFamilies(*(np.array(column, dtype=np.int64) for column in columns))


def flat_tables(
    network: BayesianNetwork, transform: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """All tables, transformed as ``(q, r)`` matrices, one after another in one buffer."""
    if not network.cpts:
        return np.empty(0)
    return np.concatenate([transform(cpt.matrix).ravel() for cpt in network.cpts])

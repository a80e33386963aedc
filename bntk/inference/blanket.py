"""The posterior of a variable given its Markov blanket: its own table times those of its children, looked up."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._threads import n_threads, run_parallel, spans
from bntk.network import BayesianNetwork

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Blanket(NamedTuple):
    """The tables around a target, flat, in the form that :func:`blanket_posterior` reads."""

    variables: Ints
    starts: Ints
    members: Ints
    strides: Ints
    offsets: Ints
    log_tables: Floats


def blanket_of(network: BayesianNetwork, target: int) -> Blanket:
    """The tables with the target in them; made once for each target."""
    key = ("blanket", target)
    if key not in network._cache:
        network._cache[key] = _flatten(network, target)
    blanket: Blanket = network._cache[key]
    return blanket


def _flatten(network: BayesianNetwork, target: int) -> Blanket:
    families = [(*network.dag.parent_indices[v], v) for v in (target, *network.dag.child_indices[target])]
    variables = sorted({v for family in families for v in family} - {target})
    starts, members, strides, tables, offsets = [0], [], [], [], [0]
    for family in families:
        axis = family.index(target)
        table = np.ascontiguousarray(np.moveaxis(network.cpts[family[-1]].values, axis, -1))
        others = [v for v in family if v != target]
        members += [variables.index(v) for v in others]
        strides += [step // table.itemsize for step in table.strides[:-1]]
        starts.append(len(members))
        offsets.append(offsets[-1] + table.size)
        tables.append(table.ravel())
    with np.errstate(divide="ignore"):
        log_tables = np.log(np.concatenate(tables))
    return Blanket(
        np.array(variables, dtype=np.int64),
        np.array(starts, dtype=np.int64),
        np.array(members, dtype=np.int64),
        np.array(strides, dtype=np.int64),
        np.array(offsets[:-1], dtype=np.int64),
        log_tables,
    )


def has_blanket(network: BayesianNetwork, codes: NDArray[Any], target: int) -> NDArray[np.bool_]:
    """Whether each row has the whole Markov blanket of the target observed."""
    observed = np.ones(codes.shape[1], dtype=bool)
    for v in blanket_of(network, target).variables.tolist():
        observed &= codes[v] != network.cpts[v].child.n_states
    return observed


def posterior_by_blanket(network: BayesianNetwork, codes: NDArray[Any], target: int, rows: Ints) -> Floats:
    """The posterior of the target in some rows, whose blankets are observed; NaN where it has no possible state."""
    from bntk.inference.blanket_kernels import blanket_posterior

    blanket = blanket_of(network, target)
    known = np.ascontiguousarray(codes[blanket.variables][:, rows])
    out = np.empty((rows.size, network.cpts[target].child.n_states))

    def work(span: tuple[int, int]) -> None:
        blanket_posterior(known, *blanket[1:], *span, out)

    run_parallel(work, spans(rows.size, n_threads(), multiple=4096))
    return out

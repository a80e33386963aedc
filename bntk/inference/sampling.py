"""Drawing rows from a network."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bntk._threads import n_threads, run_parallel, spans
from bntk.inference.flat import flat_families, flat_tables
from bntk.network import BayesianNetwork
from bntk.table import Table

_WORD = 2**64 - 1


def forward_sample(network: BayesianNetwork, n: int, seed: int) -> Table:
    """Draw ``n`` rows, parents before children (logic sampling, Henrion 1988).

    Every cell has its own random number, made from the seed, the variable's position and the row by SplitMix64:
    the rows do not depend on the number of threads, and the first rows of a longer sample are the shorter one.
    """
    from bntk.inference import kernels

    if n < 0:
        raise ValueError(f"the number of rows to draw must not be negative, got {n}")
    flat = flat_families(network)
    if "cumulative" not in network._cache:
        network._cache["cumulative"] = flat_tables(network, _cumulative)
    cumulative = network._cache["cumulative"]
    dtype = np.min_scalar_type(int(flat.cards.max(initial=1)))
    codes = np.zeros((len(network.cpts), n), dtype=dtype)
    order = np.array([network.dag.index(name) for name in network.dag.topological_order], dtype=np.int64)
    keys = _keys(seed, len(network.cpts))

    def work(span: tuple[int, int]) -> None:
        kernels.forward_sample(
            codes, order, flat.starts, flat.members, flat.strides, flat.offsets, flat.cards, cumulative, keys, *span
        )

    run_parallel(work, spans(n, n_threads(), multiple=4096))
    return Table.from_codes(codes, network.variables)


def _cumulative(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cumulative rows, infinite from the last possible state on: rounding can never draw an impossible one."""
    cumulative = np.cumsum(matrix, axis=1)
    r = matrix.shape[1]
    last = r - 1 - np.argmax(matrix[:, ::-1] > 0, axis=1)
    cumulative[np.arange(r) >= last[:, None]] = np.inf
    return cumulative


def _keys(seed: int, n: int) -> NDArray[np.uint64]:
    """The start of each variable's random stream, spread by numpy's seed sequence."""
    return np.random.SeedSequence(seed & _WORD).generate_state(max(n, 1), np.uint64).astype(np.uint64)

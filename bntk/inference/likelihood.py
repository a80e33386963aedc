"""Log-likelihood of rows: a gather over the log tables where they are complete, else missing cells are summed out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk._threads import n_threads, run_parallel, spans
from bntk.data.table import as_table
from bntk.inference.elimination.engine import log_joint_by_elimination
from bntk.inference.exact.program import MAX_ENTRIES, compile_network
from bntk.inference.flat import flat_families, flat_tables
from bntk.network import BayesianNetwork

Floats = NDArray[np.float64]


def row_log_likelihood(network: BayesianNetwork, data: Any, max_entries: int = MAX_ENTRIES) -> Floats:
    """log P(observed cells) for each row; -inf where a row is impossible."""
    table = as_table(data, variables=network.variables)
    if not table.has_missing.any():
        return complete_log_likelihood(network, table.codes)
    complete = table.complete_rows()
    out = np.empty(table.n_rows)
    out[complete] = complete_log_likelihood(network, table.take(complete).codes)
    out[~complete] = incomplete_log_likelihood(network, table.take(~complete).codes, max_entries)
    return out


def complete_log_likelihood(network: BayesianNetwork, codes: NDArray[Any]) -> Floats:
    """log P(row) for rows without a missing cell."""
    from bntk.inference.kernels import sum_log_tables

    flat = flat_families(network)
    if "log_tables" not in network._cache:
        network._cache["log_tables"] = flat_tables(network, _log)
    log_tables = network._cache["log_tables"]
    out = np.zeros(codes.shape[1])

    def work(span: tuple[int, int]) -> None:
        sum_log_tables(codes, flat.starts, flat.members, flat.strides, flat.offsets, log_tables, *span, out)

    run_parallel(work, spans(codes.shape[1], n_threads(), multiple=4096))
    return out


def incomplete_log_likelihood(network: BayesianNetwork, codes: NDArray[Any], max_entries: int = MAX_ENTRIES) -> Floats:
    """log P(observed cells) for rows with missing cells, by exact inference."""
    answer = log_joint_by_elimination(network, codes, None)
    out, too_large = answer.values[:, 0], answer.too_large
    if too_large.any():
        out[too_large] = _by_junction_tree(network, np.compress(too_large, codes, axis=1), max_entries)
    return out


def _by_junction_tree(network: BayesianNetwork, codes: NDArray[Any], max_entries: int) -> Floats:
    seen = [v for v, cpt in enumerate(network.cpts) if (codes[v] != cpt.child.n_states).any()]
    # Variables that no row shows, nor any of their descendants, sum to one and are left out.
    targets = None if len(seen) == len(network.cpts) else seen
    return compile_network(network, targets=targets, max_entries=max_entries).log_z_rows(codes)


def _log(matrix: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(matrix)

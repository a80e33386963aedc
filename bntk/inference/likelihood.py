"""Log-likelihood of complete rows: a gather over the log tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk._threads import n_threads, run_parallel, spans
from bntk.errors import DataError
from bntk.inference.flat import flat_families, flat_tables
from bntk.network import BayesianNetwork
from bntk.table import Table, as_table


def complete_log_likelihood(network: BayesianNetwork, data: Any) -> NDArray[np.float64]:
    """log P(row) for each row; a row with a missing cell is refused by number and column."""
    from bntk.inference.kernels import sum_log_tables

    table = as_table(data, variables=network.variables)
    _refuse_missing(table)
    flat = flat_families(network)
    if "log_tables" not in network._cache:
        network._cache["log_tables"] = flat_tables(network, _log)
    log_tables = network._cache["log_tables"]
    out = np.zeros(table.n_rows)

    def work(span: tuple[int, int]) -> None:
        sum_log_tables(table.codes, flat.starts, flat.members, flat.strides, flat.offsets, log_tables, *span, out)

    run_parallel(work, spans(table.n_rows, n_threads(), multiple=4096))
    return out


def _log(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.log(matrix)


def _refuse_missing(table: Table) -> None:
    if not table.has_missing.any():
        return
    missing = table.codes == table.cards[:, None]
    row = int(np.argmax(missing.any(axis=0)))
    name = table.names[int(np.argmax(missing[:, row]))]
    rows = int(missing.any(axis=0).sum())
    raise DataError(
        f"row {row} has a missing cell in {name!r} ({rows:,} of {table.n_rows:,} rows are incomplete); the "
        "likelihood is defined here for complete rows: drop the others with table.drop_missing()"
    )

"""Whole tables of rows with missing cells: posteriors and imputation, without a Python step for each row."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bntk.data.table import Table, as_table, code_dtype, column_names
from bntk.errors import ImpossibleRowsWarning
from bntk.inference.elimination.engine import junction_tree_cost, log_joint_by_elimination, posterior_by_elimination
from bntk.inference.exact.program import MAX_ENTRIES, Program, compile_network
from bntk.inference.likelihood import incomplete_log_likelihood
from bntk.inference.query import is_small, positions
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas as pd

#: For fewer rows of a small network, the program of the whole network is used rather than compiling a part.
FEW_ROWS = 256
#: What all posteriors of a row cost in a junction tree, beside its probability; what one cell alone costs, in ns or so.
BOTH_WAYS, ONE_CELL = 3, 600

Codes = NDArray[Any]
Floats = NDArray[np.float64]


def posterior(
    network: BayesianNetwork, data: Any, targets: str | Sequence[str], max_entries: int = MAX_ENTRIES
) -> pd.DataFrame | dict[str, pd.DataFrame]:
    """The posteriors of the targets in each row; see :meth:`bntk.BayesianNetwork.posterior`."""
    at = positions(network, targets)
    codes = read_rows(network, data).codes
    tables = {v: posterior_rows(network, codes, v, max_entries) for v in at}
    _warn_impossible(
        np.logical_or.reduce([np.isnan(table[:, 0]) for table in tables.values()]), "their posteriors are NaN"
    )
    frames = {network.names[v]: _frame(network, v, table, data) for v, table in tables.items()}
    return frames[targets] if isinstance(targets, str) else frames


def posterior_rows(network: BayesianNetwork, codes: Codes, target: int, max_entries: int = MAX_ENTRIES) -> Floats:
    """The posterior of one variable in each row of codes, its own column ignored; NaN where a row is impossible.

    Parameters
    ----------
    network : BayesianNetwork
    codes : array of unsigned int, shape (n_variables, n_rows)
        As in :attr:`bntk.Table.codes`, a line for each variable of the network; the number of states where missing.
    target : int
        The position of the variable.
    max_entries : int
        Of a junction tree, for rows with too many missing cells to sum them out one by one.

    Returns
    -------
    ndarray of shape (n_rows, number of states of the target)
    """
    table, too_large = posterior_by_elimination(network, codes, target)
    if too_large.any():
        rest = np.compress(too_large, codes, axis=1)
        rest[target] = network.cpts[target].child.n_states
        program = _row_program(network, rest, [target], max_entries)
        table[too_large] = program.posterior_rows(_without_others(network, rest, program), target)
    return table


def log_joint_rows(network: BayesianNetwork, codes: Codes, target: int, max_entries: int = MAX_ENTRIES) -> Floats:
    """log P(target, observed cells) in each row of codes, by the state of the target; its own column is ignored.

    Parameters and the shape of the result are as for :func:`posterior_rows`; -inf for what is impossible.
    """
    table, too_large = log_joint_by_elimination(network, codes, target)
    if too_large.any():
        rest = np.compress(too_large, codes, axis=1)
        for state in range(table.shape[1]):
            rest[target] = state
            table[too_large, state] = incomplete_log_likelihood(network, rest, max_entries)
    return table


def _row_program(network: BayesianNetwork, codes: Codes, targets: Sequence[int], max_entries: int) -> Program:
    """A program with the tables that the posterior of the targets can depend on in any of the rows."""
    if codes.shape[1] < FEW_ROWS and is_small(network):
        return compile_network(network, max_entries=max_entries)
    seen = [column != cpt.child.n_states for column, cpt in zip(codes, network.cpts, strict=True)]
    always: list[int] = []
    # Cells seen in every row cut off what is behind them. Tables with zeros there could still make a row impossible,
    # and an answer must not depend on which other rows are asked with it.
    if _is_positive(network):
        always = [v for v, observed in enumerate(seen) if observed.all() and v not in targets]
    needed = sorted({*targets, *(v for v, observed in enumerate(seen) if observed.any())} - {*always})
    everything = len(needed) == len(network.cpts)
    return compile_network(network, targets=None if everything else needed, evidence=always, max_entries=max_entries)


def _is_positive(network: BayesianNetwork) -> bool:
    """Whether no probability is zero, so that every row is possible."""
    if "positive" not in network._cache:
        network._cache["positive"] = all(bool((cpt.values > 0).all()) for cpt in network.cpts)
    return bool(network._cache["positive"])


def _without_others(network: BayesianNetwork, codes: Codes, program: Program) -> Codes:
    """The codes with the variables that the program does not have missing, so that more rows are alike."""
    others = sorted({*range(len(codes))} - {*program.variables})
    for v in others:
        codes[v] = network.cpts[v].child.n_states
    return codes


# ---- imputation ------------------------------------------------------------------------------------------------------


def impute(
    network: BayesianNetwork, data: Any, how: str = "mpe", seed: int = 0, max_entries: int = MAX_ENTRIES
) -> Table:
    """The rows with their missing cells filled in; see :meth:`bntk.BayesianNetwork.impute`."""
    ways = {"mpe": _jointly_most_probable, "mode": _each_most_probable, "sample": _sampled}
    if how not in ways:
        raise ValueError(f"how must be one of {list(ways)}, not {how!r}")
    table = read_rows(network, data)
    open_rows = np.flatnonzero(~table.complete_rows())
    codes = table.codes.copy()
    if open_rows.size:
        rows = np.take(codes, open_rows, axis=1)
        filled, impossible = ways[how](network, rows, open_rows, seed, max_entries)
        codes[:, open_rows] = np.where(impossible, rows, filled)
        everywhere = np.zeros(table.n_rows, dtype=bool)
        everywhere[open_rows] = impossible
        _warn_impossible(everywhere, "their missing cells stay missing")
    return Table._make(codes, table.variables, table._sources)


def _jointly_most_probable(
    network: BayesianNetwork, codes: Codes, rows: Codes, seed: int, max_entries: int
) -> tuple[Codes, Codes]:
    filled, log_top = compile_network(network, max_entries=max_entries).mpe_rows(codes)
    return filled, log_top == -np.inf


def _each_most_probable(
    network: BayesianNetwork, codes: Codes, rows: Codes, seed: int, max_entries: int
) -> tuple[Codes, Codes]:
    filled, impossible = codes.copy(), np.zeros(codes.shape[1], dtype=bool)
    targets = _with_missing(network, codes)
    together: list[Floats] | None = None
    n_missing = sum(np.count_nonzero(codes[v] == network.cpts[v].child.n_states) for v in targets)
    if BOTH_WAYS * codes.shape[1] * junction_tree_cost(network) < ONE_CELL * n_missing:
        together = compile_network(network, max_entries=max_entries).marginals_rows(codes, targets)
    for i, v in enumerate(targets):
        missing = np.flatnonzero(codes[v] == network.cpts[v].child.n_states)
        if together is None:
            table = posterior_rows(network, np.take(codes, missing, axis=1), v, max_entries)
        else:
            table = together[i][missing]
        impossible[missing] |= np.isnan(table[:, 0])
        filled[v, missing] = np.argmax(table, axis=1)
    return filled, impossible


def _sampled(network: BayesianNetwork, codes: Codes, rows: Codes, seed: int, max_entries: int) -> tuple[Codes, Codes]:
    """Each missing cell drawn given the observed cells and those drawn before it: together a draw from their joint.

    The number behind a cell depends on the seed, its variable and its row alone.
    """
    filled = codes.copy()
    impossible = incomplete_log_likelihood(network, codes, max_entries) == -np.inf
    missing_in = set(_with_missing(network, codes))
    for v in (v for v in network.dag.topological_indices if v in missing_in):
        open_rows = np.flatnonzero((codes[v] == network.cpts[v].child.n_states) & ~impossible)
        table = posterior_rows(network, np.take(filled, open_rows, axis=1), v, max_entries)
        uniform = np.random.default_rng([seed, v]).random(int(rows[-1]) + 1)[rows[open_rows]]
        filled[v, open_rows] = _drawn(table, uniform)
    return filled, impossible


def _drawn(table: Floats, uniform: Floats) -> NDArray[np.int64]:
    """A state for each row of probabilities; rounding never draws one whose probability is zero."""
    last = table.shape[1] - 1 - np.argmax(table[:, ::-1] > 0, axis=1)
    states: NDArray[np.int64] = np.minimum((np.cumsum(table, axis=1) <= uniform[:, None]).sum(axis=1), last)
    return states


def _with_missing(network: BayesianNetwork, codes: Codes) -> list[int]:
    return [v for v, cpt in enumerate(network.cpts) if (codes[v] == cpt.child.n_states).any()]


# ---- in and out ------------------------------------------------------------------------------------------------------


def read_rows(network: BayesianNetwork, data: Any) -> Table:
    """The data coded against the network; columns that it does not have are missing everywhere."""
    names = column_names(data)
    known = [variable for variable in network.variables if names is None or variable.name in names]
    if not known or len(known) == len(network.cpts):  # without any column of the network, the error names them
        return as_table(data, variables=network.variables)
    table = as_table(data, variables=known)
    codes = np.empty((len(network.cpts), table.n_rows), dtype=code_dtype(network.variables))
    sources: list[Any] = []
    for row, variable in zip(codes, network.variables, strict=True):
        row[:] = table.column(variable.name) if variable.name in table else variable.n_states
        sources.append(table._sources[table.index(variable.name)] if variable.name in table else None)
    return Table._make(codes, network.variables, sources)


def _frame(network: BayesianNetwork, target: int, table: Floats, data: Any) -> pd.DataFrame:
    import pandas as pd

    variable = network.cpts[target].child
    columns = pd.Index(variable.states, name=variable.name, tupleize_cols=False)
    return pd.DataFrame(table, index=data.index if isinstance(data, pd.DataFrame) else None, columns=columns)


def _warn_impossible(impossible: NDArray[np.bool_], consequence: str) -> None:
    n = int(impossible.sum())
    if n:
        rows = f"{n:,} of {impossible.size:,} rows" if impossible.size > 1 else "the row"
        warnings.warn(
            f"{rows} cannot occur in this network (the first is row {int(np.argmax(impossible))}): {consequence}",
            ImpossibleRowsWarning,
            stacklevel=4,
        )

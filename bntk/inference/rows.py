"""Whole tables of rows with missing values: posteriors and imputation, without a Python step for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk._memory import says_what_to_do
from bntk._warnings import warn
from bntk.data.dask_frames import by_partition, is_dask_frame
from bntk.data.table import Table, as_table, code_dtype, column_names
from bntk.errors import ImpossibleRowsWarning
from bntk.inference import choose
from bntk.inference.approximate.answers import ApproximateRows
from bntk.inference.choose import EXACT, Options
from bntk.inference.elimination.engine import log_joint_by_elimination, posterior_by_elimination
from bntk.inference.engines import Codes, Floats, RowsEngine
from bntk.inference.exact.program import Program, compile_network, whole_entries
from bntk.inference.query import positions
from bntk.inference.support import families_with_zeros
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas as pd


@says_what_to_do(choose.FEWER_ROWS)
def posterior(
    network: BayesianNetwork, data: Any, targets: str | Sequence[str], options: Options = EXACT
) -> pd.DataFrame | dict[str, pd.DataFrame]:
    """The posteriors of the targets in each row; see :meth:`bntk.BayesianNetwork.posterior`."""
    at = positions(network, targets)
    if is_dask_frame(data):
        lazy = {network.names[v]: _lazy_posterior(network, data, v, options) for v in at}
        return lazy[targets] if isinstance(targets, str) else lazy
    codes = read_rows(network, data).codes
    n_states = sum(network.cpts[v].child.n_states for v in at)
    choose.refuse_memory(codes.shape[1] * n_states, f"the posteriors of {codes.shape[1]:,} rows", choose.FEWER_ROWS)
    tables = {v: posterior_rows(network, codes, v, options) for v in at}
    _warn_impossible(
        np.logical_or.reduce([np.isnan(table[:, 0]) for table in tables.values()]), "their posteriors are NaN"
    )
    frames = {network.names[v]: _frame(network, v, table, data) for v, table in tables.items()}
    return frames[targets] if isinstance(targets, str) else frames


@says_what_to_do(choose.FEWER_ROWS)
def row_log_likelihood(network: BayesianNetwork, data: Any, options: Options = EXACT) -> Floats:
    """log P(observed cells) for each row; see :meth:`bntk.BayesianNetwork.row_log_likelihood`."""
    choose.require(options, choose.KNOW_PROBABILITY, "probability of a row")
    table = as_table(data, variables=network.variables)
    if not table.has_missing.any():
        return log_probability_rows(network, table.codes)
    complete = table.complete_rows()  # these need look-ups alone, whatever the engine
    out = np.empty(table.n_rows)
    out[complete] = log_probability_rows(network, table.take(complete).codes)
    out[~complete] = log_probability_rows(network, table.take(~complete).codes, options)
    return out


# ---- coded rows ------------------------------------------------------------------------------------------------------


def posterior_rows(network: BayesianNetwork, codes: Codes, target: int, options: Options = EXACT) -> Floats:
    """The posterior of one variable in each row of codes, its own column ignored; NaN where a row is impossible.

    Parameters
    ----------
    network : BayesianNetwork
    codes : array of unsigned int, shape (n_variables, n_rows)
        As in :attr:`bntk.Table.codes`, a line for each variable of the network; the number of states where missing.
    target : int
        The position of the variable.
    options : Options
        The engine. Exact inference eliminates missing values row by row, with a junction tree for rows with too many.

    Returns
    -------
    ndarray of shape (n_rows, number of states of the target)
    """
    if options.engine in choose.APPROXIMATE:
        return _approximate(network, _without(network, codes, [target]), options, [target])[0]
    table, too_large = posterior_by_elimination(network, codes, target)
    if too_large.any():
        rest = _without(network, np.compress(too_large, codes, axis=1), [target])
        if _is_refused(network, options):
            table[too_large] = _approximate(network, rest, options, [target])[0]
        else:
            program = _row_program(network, rest, [target], options.max_entries)
            others = sorted({*range(len(codes))} - {*program.variables})  # so that more rows are alike
            table[too_large] = program.posterior_rows(_without(network, rest, others), target)
    return table


def log_probability_rows(network: BayesianNetwork, codes: Codes, options: Options = EXACT) -> Floats:
    """log P(observed cells) for each row of codes, -inf where it is impossible; as for :func:`posterior_rows`."""
    if options.engine in choose.APPROXIMATE:
        return _approximate(network, codes, options)[1]
    answer = log_joint_by_elimination(network, codes, None)
    out, too_large = answer.values[:, 0], answer.too_large
    if too_large.any():
        rest = np.compress(too_large, codes, axis=1)
        if _is_refused(network, options):
            out[too_large] = _approximate(network, rest, options)[1]
        else:
            targets = None
            if not choose.serves_rows(whole_entries(network)):
                # Variables that no row shows, nor any of their descendants, sum to one and are left out.
                targets = [v for v, cpt in enumerate(network.cpts) if (rest[v] != cpt.child.n_states).any()]
            program = compile_network(network, targets=targets, max_entries=options.max_entries)
            out[too_large] = program.log_z_rows(rest)
    return out


def log_joint_rows(network: BayesianNetwork, codes: Codes, target: int) -> Floats:
    """log P(target, observed cells) in each row of codes, by the state of the target; its own column is ignored.

    Parameters and the shape of the result are as for :func:`posterior_rows`; -inf for what is impossible.
    """
    table, too_large = log_joint_by_elimination(network, codes, target)
    if too_large.any():
        rest = np.compress(too_large, codes, axis=1)
        for state in range(table.shape[1]):
            rest[target] = state
            table[too_large, state] = log_probability_rows(network, rest)
    return table


def _approximate(
    network: BayesianNetwork, codes: Codes, options: Options, targets: Sequence[int] = ()
) -> tuple[Floats, Floats]:
    engine: RowsEngine = ApproximateRows(network, options, targets)
    return engine.run(codes)


def _is_refused(network: BayesianNetwork, options: Options) -> bool:
    """Whether what exact inference cannot answer is to be approximated."""
    if options.engine != "auto":
        return False
    entries = whole_entries(network)
    return choose.exact_or_loopy(entries, entries, options.max_entries).engine != "exact"


def _without(network: BayesianNetwork, codes: Codes, variables: Sequence[int]) -> Codes:
    """A copy of the codes in which some variables are missing."""
    codes = codes.copy()
    for v in variables:
        codes[v] = network.cpts[v].child.n_states
    return codes


def _row_program(network: BayesianNetwork, codes: Codes, targets: Sequence[int], max_entries: int) -> Program:
    """A program with the tables that the posterior of the targets can depend on in any of the rows."""
    if choose.serves_rows(whole_entries(network)):
        return compile_network(network, max_entries=max_entries)
    seen = [column != cpt.child.n_states for column, cpt in zip(codes, network.cpts, strict=True)]
    always: list[int] = []
    # Cells seen in every row cut off what is behind them. Tables with zeros there could still make a row impossible,
    # and an answer must not depend on which other rows come with it.
    if not families_with_zeros(network):  # so that every row is possible
        always = [v for v, observed in enumerate(seen) if observed.all() and v not in targets]
    needed = sorted({*targets, *(v for v, observed in enumerate(seen) if observed.any())} - {*always})
    everything = len(needed) == len(network.cpts)
    return compile_network(network, targets=None if everything else needed, evidence=always, max_entries=max_entries)


# ---- imputation ------------------------------------------------------------------------------------------------------


@says_what_to_do(choose.FEWER_ROWS)
def impute(network: BayesianNetwork, data: Any, how: str = "mpe", seed: int = 0, options: Options = EXACT) -> Table:
    """The rows with their missing values filled in; see :meth:`bntk.BayesianNetwork.impute`."""
    ways = ("mpe", "mode", "sample")
    _checking.one_of("how", how, ways)
    _checking.seed(seed)
    if how == "mpe":
        choose.require(options, choose.FIND_EXPLANATION, 'most probable explanation (how="mpe")')
    table = read_rows(network, data)
    open_rows = np.flatnonzero(~table.complete_rows())
    codes = table.codes.copy()
    if open_rows.size:
        rows = np.take(codes, open_rows, axis=1)
        if how == "sample":
            filled, impossible = _sampled(network, rows, options, seed, open_rows)
        else:
            fill = _jointly_most_probable if how == "mpe" else _each_most_probable
            filled, impossible = fill(network, rows, options)
        codes[:, open_rows] = np.where(impossible, rows, filled)
        everywhere = np.zeros(table.n_rows, dtype=bool)
        everywhere[open_rows] = impossible
        _warn_impossible(everywhere, "their missing values stay missing")
    return Table._make(codes, table.variables, table._sources)


def _jointly_most_probable(network: BayesianNetwork, codes: Codes, options: Options) -> tuple[Codes, Codes]:
    if options.engine in choose.APPROXIMATE or _is_refused(network, options):
        filled, log_top = ApproximateRows(network, options).explain(codes)
    else:
        filled, log_top = compile_network(network, max_entries=options.max_entries).mpe_rows(codes)
    return filled, log_top == -np.inf


def _each_most_probable(network: BayesianNetwork, codes: Codes, options: Options) -> tuple[Codes, Codes]:
    filled, impossible = codes.copy(), np.zeros(codes.shape[1], dtype=bool)
    targets = _with_missing(network, codes)
    together = _all_marginals(network, codes, targets, options)
    for i, v in enumerate(targets):
        missing = np.flatnonzero(codes[v] == network.cpts[v].child.n_states)
        if together is None:
            table = posterior_rows(network, np.take(codes, missing, axis=1), v, options)
        else:
            table = together[i][missing]
        impossible[missing] |= np.isnan(table[:, 0])
        filled[v, missing] = np.argmax(table, axis=1)
    return filled, impossible


def _all_marginals(
    network: BayesianNetwork, codes: Codes, targets: Sequence[int], options: Options
) -> list[Floats] | None:
    """The posteriors of the targets in every row from one run for each; None if one cell at a time is faster."""
    if options.engine in choose.APPROXIMATE:
        ends = np.cumsum([network.cpts[v].child.n_states for v in targets])
        return np.split(_approximate(network, codes, options, targets)[0], ends[:-1], axis=1)
    n_missing = sum(int(np.count_nonzero(codes[v] == network.cpts[v].child.n_states)) for v in targets)
    if choose.all_marginals_at_once(codes.shape[1], n_missing, whole_entries(network)):
        return compile_network(network, max_entries=options.max_entries).marginals_rows(codes, targets)
    return None


def _sampled(network: BayesianNetwork, codes: Codes, options: Options, seed: int, rows: Codes) -> tuple[Codes, Codes]:
    able = options if options.engine in choose.KNOW_PROBABILITY else Options("auto", options.max_entries)
    impossible = log_probability_rows(network, codes, able) == -np.inf
    possible = np.flatnonzero(~impossible)
    filled = codes.copy()
    filled[:, possible] = draw_missing(network, codes[:, possible], seed, rows[possible], options)
    return filled, impossible


def draw_missing(
    network: BayesianNetwork, codes: Codes, seed: int, rows: Codes | None = None, options: Options = EXACT
) -> Codes:
    """Each missing cell drawn given the observed cells and those drawn before it: together a draw from their joint.

    The number behind a cell depends on the seed, its variable and the number of its row alone. Rows must be possible.
    """
    if not codes.size:
        return codes
    filled, rows = codes.copy(), np.arange(codes.shape[1]) if rows is None else rows
    missing_in = set(_with_missing(network, codes))
    for v in (v for v in network.dag.topological_indices if v in missing_in):
        open_rows = np.flatnonzero(codes[v] == network.cpts[v].child.n_states)
        table = posterior_rows(network, np.take(filled, open_rows, axis=1), v, options)
        uniform = np.random.default_rng([seed, v]).random(int(rows[-1]) + 1)[rows[open_rows]]
        filled[v, open_rows] = _drawn(table, uniform)
    return filled


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


def _lazy_posterior(network: BayesianNetwork, data: Any, target: int, options: Options) -> Any:
    """The posterior of one variable in the rows of a Dask data frame, partition by partition; nothing runs yet."""
    names = [str(name) for name in data.columns]
    if not any(name in names for name in network.names):
        read_rows(network, data._meta)  # whose error says so now
    meta = _frame(network, target, np.empty((0, network.cpts[target].child.n_states)), data._meta)
    return by_partition(_posterior_of_partition, network, data, meta, network.names[target], options)


def _posterior_of_partition(network: BayesianNetwork, rows: pd.DataFrame, target: str, options: Options) -> Any:
    return posterior(network, rows, target, options)


def _frame(network: BayesianNetwork, target: int, table: Floats, data: Any) -> pd.DataFrame:
    import pandas as pd

    from bntk.data.columns import state_index

    variable = network.cpts[target].child
    columns = state_index(variable)
    return pd.DataFrame(table, index=data.index if isinstance(data, pd.DataFrame) else None, columns=columns)


def _warn_impossible(impossible: NDArray[np.bool_], consequence: str) -> None:
    n = int(impossible.sum())
    if n:
        rows = f"{n:,} of {impossible.size:,} rows" if impossible.size > 1 else "the row"
        warn(
            f"{rows} cannot occur in this network (the first is row {int(np.argmax(impossible))}): {consequence}",
            ImpossibleRowsWarning,
            [consequence],
        )

"""Parameters from incomplete rows by expectation maximisation, with exact expected counts.

References
----------
A. P. Dempster, N. M. Laird and D. B. Rubin (1977). Maximum likelihood from incomplete data via the EM algorithm.
Journal of the Royal Statistical Society B 39, 1-38.

S. L. Lauritzen (1995). The EM algorithm for graphical association models with missing data. Computational Statistics
and Data Analysis 19, 191-201.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk._interrupts import BestSoFar
from bntk._memory import says_what_to_do
from bntk._progress import progress_bar
from bntk.cpt import CPT, MAX_TABLE_ENTRIES
from bntk.data.dask_frames import is_dask_frame
from bntk.data.interventions import Mask, read_intervened, separated
from bntk.data.numbers import N_BINS, Reading
from bntk.data.table import Table, as_table, column_names
from bntk.data.variable import Variable, checked_variables, names_of
from bntk.data.weights import checked_weights
from bntk.errors import DataError
from bntk.graph.dag import DAG, as_dag
from bntk.inference import choose
from bntk.inference.elimination.engine import ExpectedCounts, families_around, second_budget
from bntk.inference.elimination.flat import flat_families
from bntk.inference.exact.program import Factor, Program, compile_factors
from bntk.learning.completion import kinds_of_rows
from bntk.learning.counts import (
    Counter,
    DaskPartitions,
    ExperimentCounter,
    PartitionCounter,
    Partitions,
    TableCounter,
    as_counter,
)
from bntk.learning.counts.memory import counter_of, refuse_for_partitions, warn_of_always_set
from bntk.learning.parameters import sized_families
from bntk.learning.priors import Family, Prior, Tables, as_prior, posterior_mean
from bntk.network import BayesianNetwork, a_network

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EMResult:
    """The report of a run of EM.

    Attributes
    ----------
    log_likelihood : float
        Log-likelihood of the observed values under the network.
    iterations : int
        Number of M-steps of the start that was kept.
    converged : bool
        False when ``max_iter`` was reached first, or EM was interrupted.
    interrupted : bool
        True when EM was stopped by hand.
    prior : Prior
        The prior of the parameters.
    objectives : tuple of float
        The objective log-likelihood + sum of alpha_ijk log theta_ijk at the start and after each iteration. It never
        falls.
    log_likelihoods : tuple of float
        The same without the prior; equal to the objectives for maximum likelihood.
    starts : tuple of float
        The objective that each start has reached; the best start was kept.
    """

    log_likelihood: float
    iterations: int
    converged: bool
    interrupted: bool
    prior: Prior
    objectives: tuple[float, ...] = field(repr=False)
    log_likelihoods: tuple[float, ...] = field(repr=False)
    starts: tuple[float, ...] = field(default=(), repr=False)

    def after(self, earlier: EMResult) -> EMResult:
        """The report of two runs together, of which this one went on where the earlier one had stopped."""
        return replace(
            self,
            iterations=earlier.iterations + self.iterations,
            objectives=earlier.objectives + self.objectives[1:],
            log_likelihoods=earlier.log_likelihoods + self.log_likelihoods[1:],
            starts=earlier.starts,
        )

    def trace_frame(self) -> pd.DataFrame:
        """The trace as a data frame with the columns ``objective`` and ``log_likelihood``."""
        import pandas as pd

        return pd.DataFrame({"objective": self.objectives, "log_likelihood": self.log_likelihoods})


@says_what_to_do("leave out arcs, or join rare states, so that tables have fewer entries")
def fit_em(
    dag: DAG | str,
    data: Any,
    prior: Prior | str | float | Mapping[str, ArrayLike] = "mle",
    *,
    start: BayesianNetwork | None = None,
    n_starts: int = 1,
    max_iter: int = 200,
    tolerance: float = 1e-6,
    seed: int = 0,
    progress: bool = False,
    variables: Sequence[Variable] | None = None,
    weights: ArrayLike | None = None,
    intervened: Any = None,
    numeric: str | Mapping[str, Any] = "auto",
    n_bins: int = N_BINS,
    max_entries: int = MAX_TABLE_ENTRIES,
) -> BayesianNetwork:
    """Estimate the parameters of a network from rows with missing values, by expectation maximisation.

    Each iteration replaces the unknown counts by their exact expectations under the present tables, E[N_ijk], and then
    estimates as :func:`bntk.fit` does:

        theta_ijk = (E[N_ijk] + alpha_ijk) / sum_k (E[N_ijk] + alpha_ijk).

    No iteration lowers log P(observed values | theta) + sum of alpha_ijk log theta_ijk. For ``"mle"`` that is the
    log-likelihood. Otherwise it is, up to a constant, the log posterior of theta under Dirichlet priors with parameters
    alpha_ijk + 1, whose mode is found: on complete data, that mode is the posterior mean under alpha_ijk.

    EM assumes that values are missing at random: given the observed values, whether a value is missing does not depend
    on the value itself. It converges to a local optimum, which depends on the start.

    Parameters
    ----------
    dag : DAG or str
        The structure; a string is read by :meth:`DAG.parse`.
    data : Table, data frame, mapping of columns, TableCounter, or Scan
        Of a scan (:func:`bntk.scan`), one pass gathers what EM needs, unless there are very many different rows with
        missing cells: then each iteration is a pass. Must have a column for each node that is not hidden; others are
        ignored.
    prior : "mle", "backoff", "hdp", float, mapping, or Prior
        Maximum likelihood, or a prior: a number is the Dirichlet alpha of every cell; a mapping gives it by variable
        (a number, or one per state); ``bntk.priors.BDeu(ess)`` spreads an equivalent sample size. With ``"backoff"``
        (:class:`bntk.priors.Backoff`) EM runs with its ``alpha``, and the tables are shrunk at the end; with ``"hdp"``
        (:class:`bntk.priors.HDP`) it runs with one row added to each cell, and the tables are smoothed at the end.
    start : BayesianNetwork, optional
        The network to begin with, over the same structure and states. By default the estimates from available cases
        with one row added to each cell, and random tables in families with a hidden variable.
    n_starts : int
        Number of starts; all but the first have random tables wherever values are missing. The best is kept.
    max_iter : int
        The largest number of iterations of each start.
    tolerance : float
        A start ends when an iteration raises the objective by no more than this share of it.
    seed : int
        Seed of the random tables.
    progress : bool
        Show a progress bar.
    variables : sequence of Variable, optional
        Variables with all their states. One without a column in the data is hidden: missing in every row.
    weights : array_like of shape (n_rows,), optional
        One non-negative number per row.
    intervened : sequence, frame, mapping, array, or str, optional
        Which variables were set by an experiment in which rows: one entry per row (None, a name, or several); a frame
        or mapping from names to booleans (a mapping also to positions of rows); an array of booleans with the columns
        of the data; or the name of a column with such entries. A row does not count for the family of a variable that
        was set in it, and its missing values are completed by the network without the arcs into that variable.
    numeric : str or mapping
        What becomes of columns of numbers in a data frame or mapping. ``"auto"``: at most ten different whole numbers
        are states as they are; others are cut into ``n_bins`` intervals with about the same number of rows, and a
        warning names them. ``"frequency"`` and ``"width"`` cut them into intervals with the same number of rows or of
        the same width, ``"hartemink"`` into intervals that keep much of the mutual information between the columns
        (:func:`bntk.cuts.hartemink_cuts`), ``"category"`` makes each number a state, and ``"bernoulli"`` only
        distinguishes numbers above zero from others. A mapping chooses for each column, and may give cut points. A
        :class:`bntk.Table` has states already, and ``"auto"`` leaves them as they are.
    n_bins : int
        The number of intervals.
    max_entries : int
        A table with more entries, or tables that have more together, are refused before they are allocated.

    Returns
    -------
    BayesianNetwork
        With the expected counts behind its tables; its ``report`` is the :class:`EMResult`. It cannot be updated with
        more rows, because they would change what is expected of the earlier ones: fit all rows again, and give this
        network as the start. Ctrl-C ends EM, with a warning: the network is that of the last finished iteration, of the
        best start so far; but in a loop over fits, and the second time, it raises ``KeyboardInterrupt``.

    Examples
    --------
    >>> rows = {"rain": ["no", "no", "yes", None, "yes"], "wet": ["no", "no", "yes", "yes", None]}
    >>> bn = fit_em("rain -> wet", rows)
    >>> bn.cpt("rain")
    P(rain)
    no  yes
    0.4 0.6
    >>> bn.report.converged
    True

    A hidden variable is declared, and has no column:

    >>> import bntk
    >>> mixture = fit_em("kind -> a; kind -> b", {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1]}, n_starts=3,
    ...                  variables=[bntk.Variable("kind", ["one", "other"])])
    >>> round(mixture.report.log_likelihood, 2)
    -2.77
    """
    dag = as_dag(dag)
    for name, number in (("max_iter", max_iter), ("n_starts", n_starts)):
        _checking.whole_number(name, number, 1, _checking.MOST)
    _checking.number("tolerance", tolerance)
    _checking.whole_number("seed", seed, least=0)
    _checking.flag("progress", progress)
    _checking.limit("max_entries", max_entries)
    if start is not None:
        a_network(start, "start")
    rows = _rows(dag, data, prior, variables, weights, intervened, Reading(numeric, n_bins), max_entries)
    rule = rows.prior
    starts = _starts(rows, start, 1 if rows.is_complete else n_starts, seed)
    best, report = best_climb(rows, starts, rule, max_iter=max_iter, tolerance=tolerance, progress=progress)
    return rows.network(dag, best.statistics)._with_report(report)


def _rows(
    dag: DAG, data: Any, prior: Any, variables: Sequence[Variable] | None, weights: ArrayLike | None, intervened: Any,
    reading: Reading, max_entries: int,
) -> IncompleteRows | ExperimentRows:  # fmt: skip
    """The rows as EM sees them, in memory or in passes."""
    if is_dask_frame(data):
        data, weights = DaskPartitions.of(data, weights), None
    if isinstance(data, (Partitions, PartitionCounter)):
        from bntk.learning.em_in_passes import StreamedRows, rows_in_passes

        refuse_for_partitions(weights, intervened)
        counter = rows_in_passes(dag, data, variables, reading)
        rule = as_prior(prior).for_variables(counter.variables)
    else:
        table, row_weights, was_set, _ = incomplete_table(dag.nodes, data, variables, weights, intervened, reading)
        rule = as_prior(prior).for_variables(table.variables)
    if not isinstance(data, Counter):
        rule.check_names(dag.nodes)
    if isinstance(data, (Partitions, PartitionCounter)):
        return StreamedRows(dag, counter, rule, max_entries)
    return rows_for_em(dag, table, row_weights, was_set, rule, max_entries)


# ---- what users may give -----------------------------------------------------------------------------------------


def hidden_names(names: Sequence[str], data: Any, variables: Sequence[Variable] | None) -> list[str]:
    """The declared variables among the names that have no column in the data."""
    if isinstance(data, Partitions):
        names_known = {*data.names}
        return [v.name for v in variables or data.variables or () if v.name in names and v.name not in names_known]
    if variables is None or isinstance(data, (Counter, np.ndarray)):
        return []
    columns = set(column_names(data) or ())
    declared = {variable.name for variable in variables}
    return [name for name in names if name in declared and name not in columns] if columns else []


def incomplete_table(
    names: Sequence[str],
    data: Any,
    variables: Sequence[Variable] | None,
    weights: ArrayLike | None,
    intervened: Any,
    reading: Reading,
) -> tuple[Table, Floats | None, Mask | None, list[str]]:
    """The columns of these names as a table, weights, what was set, and the hidden variables, missing in every row."""
    if isinstance(data, Counter):
        counter = as_counter(data, variables=variables, weights=weights, intervened=intervened)
        if isinstance(counter, ExperimentCounter):
            chosen = counter.select(names)
            return chosen.table.require_rows(), chosen.weights, chosen.intervened, []
        if not isinstance(counter, TableCounter):
            raise DataError("EM looks at single rows: give it a table, not a counter of rows that are elsewhere")
        return as_table(counter.table, only=names, require_rows=True), counter.weights, None, []
    data, intervened = separated(data, intervened)
    variables = None if variables is None else checked_variables(variables)
    hidden = hidden_names(names, data, variables)
    declared = {variable.name: variable for variable in variables or ()}
    seen = [name for name in names if name not in hidden]
    known, others = [n for n in seen if n in declared], [n for n in seen if n not in declared]
    tables = []
    if known:
        tables.append(as_table(data, variables=[declared[name] for name in known], require_rows=True))
    if others:
        tables.append(as_table(data, only=others, require_rows=True, reading=reading, weights=weights))
    table = _joined(tables, names, [declared[name] for name in hidden])
    was_set = read_intervened(intervened, names, column_names(data) or names, table.n_rows)
    warn_of_always_set(table, was_set)
    return table, None if weights is None else checked_weights(weights, table.n_rows), was_set, hidden


def _joined(tables: Sequence[Table], names: Sequence[str], hidden: Sequence[Variable]) -> Table:
    """The columns of tables side by side, with hidden variables, whose cells are all missing, by these names."""
    if len(tables) == 1 and not hidden:
        return as_table(tables[0], only=names)
    variables = {variable.name: variable for table in tables for variable in table.variables}
    variables |= {variable.name: variable for variable in hidden}
    columns = {name: table.column(name) for table in tables for name in table.names}
    columns |= {variable.name: np.full(tables[0].n_rows, variable.n_states) for variable in hidden}
    return Table.from_codes(np.array([columns[name] for name in names]), [variables[name] for name in names])


# ---- rows, as EM sees them ---------------------------------------------------------------------------------------


class FamilyEstimates:
    """The families of a structure with their prior: the M-step, and the network in the end.

    Parameters
    ----------
    dag : DAG
    table : Table
        Of the nodes, in their order.
    prior : Prior
    max_entries : int
    fixed : mapping, optional
        Tables by node that are given, not estimated.

    Attributes
    ----------
    families : list of tuples of Variable
        (parents..., child) for each node.
    scopes : list of tuples of int
        The same by position.
    """

    def __init__(
        self, dag: DAG, table: Table, prior: Prior, max_entries: int, fixed: Mapping[int, Floats] | None = None
    ) -> None:
        self.table, self.prior, self.fixed = table, prior, fixed or {}
        self.families = sized_families(dag, table.variables, max_entries)
        self.scopes = [(*parents, node) for node, parents in enumerate(dag.parent_indices)]
        self._alphas = [_alpha(family, prior.within_em()) for family in self.families]

    def maximise(self, counts: Sequence[Floats]) -> list[Floats]:
        """The M-step: the tables for expected counts."""
        estimates = [posterior_mean(table, alpha) for table, alpha in zip(counts, self._alphas, strict=True)]
        return [self.fixed.get(node, table) for node, table in enumerate(estimates)]

    def log_prior(self, tables: Sequence[Floats]) -> float:
        """The sum of alpha_ijk log theta_ijk over the tables that are estimated."""
        free = [node for node in range(len(tables)) if node not in self.fixed]
        alphas = [np.broadcast_to(self._alphas[node], tables[node].shape) for node in free]
        return log_product(alphas, [tables[node] for node in free])

    def network(self, dag: DAG, counts: Sequence[Floats]) -> BayesianNetwork:
        """The network with the estimates from expected counts, under the whole prior: tables are shrunk here."""
        tables = self.prior.estimates(self.families, counts, _prior_counts(self.prior, self.families, counts))
        parts = zip(self.families, tables, counts, strict=True)
        # Without a prior the network refuses to be updated, which expected counts do not allow.
        return BayesianNetwork(dag, [CPT._trusted(f[-1], values, f[:-1], counted) for f, values, counted in parts])

    @property
    def never_seen(self) -> set[int]:
        """The variables that are missing in every row."""
        pairs = enumerate(zip(self.table.codes, self.table.cards, strict=True))
        return {v for v, (codes, card) in pairs if (codes == card).all()}


class IncompleteRows(FamilyEstimates):
    """Rows prepared for many E-steps on one structure: what can be counted is counted once.

    Parameters
    ----------
    dag : DAG
    table : Table
        Of the nodes, in their order.
    weights : array, optional
    prior : Prior
    max_entries : int
    fixed : mapping, optional
        Tables by node that are given, not estimated.

    Attributes
    ----------
    families : list of tuples of Variable
        (parents..., child) for each node.
    scopes : list of tuples of int
        The same by position.
    open : list of int
        The nodes whose family has missing values.
    is_complete : bool
    """

    def __init__(
        self,
        dag: DAG,
        table: Table,
        weights: Floats | None,
        prior: Prior,
        max_entries: int = MAX_TABLE_ENTRIES,
        fixed: Mapping[int, Floats] | None = None,
    ) -> None:
        super().__init__(dag, table, prior, max_entries, fixed)
        self.open = [node for node, scope in enumerate(self.scopes) if table.has_missing[list(scope)].any()]
        self.is_complete = not self.open
        self._whole = table.complete_rows()
        self._partial, self._numbers = kinds_of_rows(table.codes[:, ~self._whole])
        self._cells = self._expected(dag)
        # Rows with too many missing values to be summed out one by one go through a junction tree as a whole.
        self._is_large = self._cells.too_large
        self._program = self._compiled() if self._is_large.any() else None
        self._complete_rows = table.take(self._whole)
        self._weigh(weights)

    def with_weights(self, weights: Floats) -> IncompleteRows:
        """The same rows with other weights; what does not depend on them is not worked out again."""
        other = copy.copy(self)
        other._weigh(weights)
        return other

    def _weigh(self, weights: Floats | None) -> None:
        self.weights = weights
        repeats = np.bincount(
            self._numbers, None if weights is None else weights[~self._whole], minlength=self._partial.shape[1]
        ).astype(float)
        large, self._repeats = self._is_large, repeats
        self._cells = self._cells.with_weights(repeats)
        self._large, self._large_weights = np.ascontiguousarray(self._partial[:, large]), repeats[large]
        complete = TableCounter._of_shares(self._complete_rows, None if weights is None else weights[self._whole])
        partly = self._count(self._partial[:, ~large], repeats[~large])
        self._complete = [counts + more for counts, more in zip(complete.tables(self.scopes), partly, strict=True)]
        apart = self._count(self._large, self._large_weights)
        self._fixed = [
            counts if node in self.open else counts + more
            for node, (counts, more) in enumerate(zip(self._complete, apart, strict=True))
        ]

    def _count(self, codes: NDArray[Any], weights: Floats) -> list[Floats]:
        """The counts of the families in rows where they have no missing cell."""
        return TableCounter._of_shares(Table.from_codes(codes, self.table.variables), weights).tables(self.scopes)

    def _expected(self, dag: DAG) -> ExpectedCounts:
        codes, weights = self._partial, np.ones(self._partial.shape[1])
        cards = self.table.cards.tolist()
        ones = np.ones(sum(math.prod(cards[v] for v in scope) for scope in self.scopes))
        families = families_around(flat_families(self.scopes, cards), dag.topological_indices, ones)
        quick = ExpectedCounts(families, codes, weights, choose.first_budget())
        n_left = int(np.count_nonzero(quick.too_large))
        budget = second_budget(n_left, lambda: self._compiled().plan.total_entries, len(cards))
        return quick if budget is None else ExpectedCounts(families, codes, weights, budget)

    def _compiled(self) -> Program:
        cards = self.table.cards.tolist()
        factors = [Factor(scope, np.ones([cards[v] for v in scope])) for scope in self.scopes]
        return compile_factors(factors, cards, names=self.table.names)

    def expect(self, tables: Sequence[Floats]) -> tuple[list[Floats], float]:
        """The E-step: the expected counts of every family, and the log-likelihood of the observed cells."""
        counts, log_likelihood = list(self._fixed), log_product(self._complete, tables)
        if self.open:
            found, log_z, left = self._cells.count(np.concatenate([table.ravel() for table in tables]))
            log_likelihood += log_z
            ends = np.cumsum([table.size for table in tables])
            for node in self.open:
                part = found[ends[node] - tables[node].size : ends[node]]
                counts[node] = counts[node] + part.reshape(tables[node].shape)
            if left.any():
                log_likelihood += self._expect_apart(tables, left, counts)
        if self._program is not None:
            wanted = [self.scopes[node] for node in self.open]
            program = self._program.with_factors(tables)
            expected, log_z = program.expected_counts(self._large, wanted, self._large_weights)
            log_likelihood += log_z
            for node, part in zip(self.open, expected, strict=True):
                counts[node] = counts[node] + part
        if log_likelihood == -np.inf:
            raise DataError(
                "some rows have probability zero under the tables that EM starts with; begin with tables without "
                "zeros, such as start=bntk.fit(dag, data, prior=1)"
            )
        return counts, log_likelihood

    def _expect_apart(self, tables: Sequence[Floats], left: NDArray[np.bool_], counts: list[Floats]) -> float:
        """Add the open families of rows whose numbers are too small for sums over their missing cells alone.

        Their complete families, and the logs of these, are counted already.
        """
        codes, weights = self._partial[:, ~self._is_large][:, left], self._repeats[~self._is_large][left]
        wanted = [self.scopes[node] for node in self.open]
        program = (self._program or self._compiled()).with_factors(tables)
        expected, log_z = program.expected_counts(codes, wanted, weights)
        before = self._count(codes, weights)
        for node, part in zip(self.open, expected, strict=True):
            counts[node] = counts[node] + np.maximum(part - before[node], 0.0)
        return log_z - log_product(before, tables)

    def available(self) -> list[Floats]:
        """Estimates from the available cases with one more row in each cell, so that nothing is impossible."""
        counts = TableCounter._of_shares(self.table, self.weights).tables(self.scopes)
        return [posterior_mean(table, np.float64(1)) for table in counts]


class ExperimentRows(FamilyEstimates):
    """Rows in which some variables were set by an experiment, prepared for many E-steps on one structure.

    In rows in which the variables S were set, the others have the distribution prod P(x | parents) over the variables
    that are not in S: that of the structure without the arcs into S. So the rows of each set S are rows of this
    structure, and the tables of S do not count in them.

    Parameters
    ----------
    dag : DAG
    table : Table
        Of the nodes, in their order.
    weights : array, optional
    intervened : boolean array of shape (n_rows, n_nodes)
    prior : Prior
    max_entries : int
    """

    def __init__(
        self, dag: DAG, table: Table, weights: Floats | None, intervened: Mask, prior: Prior, max_entries: int
    ) -> None:
        super().__init__(dag, table, prior, max_entries)
        self._counter = counter_of(table, weights, intervened)
        self._parts: list[tuple[list[int], IncompleteRows]] = []
        for was_set, rows in rows_by_target(table, intervened):
            cut = dag.do(*(table.names[v] for v in was_set)) if was_set else dag
            own = None if weights is None else weights[rows]
            self._parts.append((was_set, IncompleteRows(cut, table.take(rows), own, prior, max_entries)))
        self.open = sorted({v for was_set, part in self._parts for v in part.open if v not in was_set})
        self.is_complete = not self.open

    def expect(self, tables: Sequence[Floats]) -> tuple[list[Floats], float]:
        """The E-step: the expected counts of every family where it was at work, and the log-likelihood."""
        totals = [np.zeros_like(table) for table in tables]
        log_likelihood = 0.0
        for was_set, rows in self._parts:
            # What was set has no probability: a factor of one, whatever its state.
            own = [np.ones(t.shape[-1]) if v in was_set else t for v, t in enumerate(tables)]
            counts, log_p = rows.expect(own)
            log_likelihood += log_p
            for v, part in enumerate(counts):
                if v not in was_set:
                    totals[v] += part
        return totals, log_likelihood

    def available(self) -> list[Floats]:
        """Estimates from the available cases with one more row in each cell, so that nothing is impossible."""
        return [posterior_mean(table, np.float64(1)) for table in self._counter.tables(self.scopes)]


def rows_for_em(
    dag: DAG,
    table: Table,
    weights: Floats | None,
    intervened: Mask | None,
    prior: Prior,
    max_entries: int = MAX_TABLE_ENTRIES,
) -> IncompleteRows | ExperimentRows:
    """Rows prepared for many E-steps; ``intervened`` says which cells were set by an experiment."""
    if intervened is None or not intervened.any():
        return IncompleteRows(dag, table, weights, prior, max_entries)
    return ExperimentRows(dag, table, weights, intervened, prior, max_entries)


def rows_by_target(table: Table, intervened: Mask) -> Iterator[tuple[list[int], NDArray[np.intp]]]:
    """Each set of variables that were set together, by position, with the rows in which they were."""
    unknown = np.argwhere(intervened & (table.codes == table.cards[:, None]).T)
    if len(unknown):
        row, v = unknown[0].tolist()
        raise DataError(
            f"row {row}: {table.names[v]!r} was set by an experiment, but its value is missing; what was set must be "
            "known: enter the value, or leave the row out"
        )
    patterns, numbers = np.unique(intervened, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield np.flatnonzero(pattern).tolist(), np.flatnonzero(numbers.ravel() == number)


def _alpha(family: Family, prior: Prior) -> Floats:
    return np.asarray(prior.of_family(family), dtype=np.float64)


def _prior_counts(prior: Prior, families: Sequence[Family], counts: Sequence[Floats]) -> Tables:
    """The expected counts that a prior needs: those of families with fewer parents, so sums of those that are here."""
    by_child = {family[-1]: (family, table) for family, table in zip(families, counts, strict=True)}
    found = {}
    for smaller in prior.needed(families):
        family, table = by_child[smaller[-1]]
        found[names_of(smaller)] = table.sum(axis=tuple(a for a, v in enumerate(family) if v not in smaller))
    return found


def log_product(powers: Sequence[NDArray[Any]], tables: Sequence[Floats]) -> float:
    """The sum of power times log table over all entries, with 0 log 0 = 0."""
    total = 0.0
    for power, table in zip(powers, tables, strict=True):
        used = power > 0
        with np.errstate(divide="ignore"):
            total += float(power[used] @ np.log(table[used]))
    return total


# ---- climbing ----------------------------------------------------------------------------------------------------


class Expectation(Protocol):
    """What EM climbs on: rows, and a model whose parameters and statistics only it has to know."""

    is_complete: bool

    def expect(self, parameters: Any) -> tuple[Any, float]:
        """The E-step: expected statistics, and the log-likelihood of what was observed."""

    def maximise(self, statistics: Any) -> Any:
        """The M-step: the parameters."""

    def log_prior(self, parameters: Any) -> float:
        """What is added to the log-likelihood."""


@dataclass
class Climb:
    """One run of EM: its parameters, and the expected statistics that they were made from."""

    parameters: Any
    statistics: Any = None
    objectives: list[float] = field(default_factory=list)
    log_likelihoods: list[float] = field(default_factory=list)
    iterations: int = 0
    converged: bool = False


def best_climb(
    rows: Expectation,
    starts: Iterable[Any],
    prior: Prior,
    *,
    max_iter: int = 200,
    tolerance: float = 1e-6,
    progress: bool = False,
) -> tuple[Climb, EMResult]:
    """EM from each start; the climb that ends highest, of equal ones the first, and its report.

    An interrupt gives the best so far, of the climbs that have finished an iteration.
    """
    climbs: list[Climb] = []
    with (
        BestSoFar("the last iteration of EM", lambda: climbs[0].iterations > 0 if climbs else False) as so_far,
        progress_bar(progress, desc="EM", unit=" iterations") as bar,
    ):
        for parameters in starts:
            climbs.append(Climb(parameters))
            _climb(rows, climbs[-1], max_iter, tolerance, bar)
    climbs = [climb for climb in climbs if climb.iterations]
    best = max(climbs, key=lambda climb: climb.objectives[-1])
    report = EMResult(
        best.log_likelihoods[-1],
        best.iterations,
        best.converged and not so_far.interrupted,
        so_far.interrupted,
        prior,
        tuple(best.objectives),
        tuple(best.log_likelihoods),
        tuple(climb.objectives[-1] for climb in climbs),
    )
    return best, report


def _climb(rows: Expectation, climb: Climb, max_iter: int, tolerance: float, bar: Any) -> None:
    while not climb.converged and climb.iterations <= max_iter:
        expected, log_likelihood = rows.expect(climb.parameters)
        objective = log_likelihood + rows.log_prior(climb.parameters)
        climb.log_likelihoods.append(log_likelihood)
        climb.objectives.append(objective)
        if climb.iterations:
            gain = objective - climb.objectives[-2]
            climb.converged = rows.is_complete or gain <= tolerance * abs(objective)
        if climb.converged or climb.iterations == max_iter:
            break
        climb.parameters, climb.statistics = rows.maximise(expected), expected
        climb.iterations += 1
        bar.update()
        bar.set_postfix_str(f"objective {objective:.6g}", refresh=False)


def _starts(
    rows: IncompleteRows | ExperimentRows, start: BayesianNetwork | None, n_starts: int, seed: int
) -> Iterator[list[Floats]]:
    """The tables that each climb begins with."""
    rng = np.random.default_rng(seed)
    first = rows.available() if start is None else _tables_of(start, rows)
    # From equal tables for all states of a hidden variable no step would ever lead away.
    never = rows.never_seen
    unknown = [node for node in rows.open if start is None and never.intersection(rows.scopes[node])]
    for number in range(n_starts):
        yield with_random_tables(first, unknown if number == 0 else rows.open, rng)


def with_random_tables(tables: Sequence[Floats], nodes: Iterable[int], rng: np.random.Generator) -> list[Floats]:
    """The tables with those of some nodes drawn at random, all distributions being equally likely."""
    drawn = list(tables)
    for node in nodes:
        *shape, r = drawn[node].shape
        drawn[node] = rng.dirichlet(np.ones(r), size=shape or None)
    return drawn


def _tables_of(network: BayesianNetwork, rows: FamilyEstimates) -> list[Floats]:
    """The tables of a network given as a start, after checking that it is over the same families."""
    by_name = {cpt.name: cpt for cpt in network.cpts}
    tables = []
    for *parents, child in rows.families:
        cpt = by_name.get(child.name)
        if cpt is None or {p.name for p in cpt.parents} != {p.name for p in parents}:
            raise DataError(f"the start must have the structure that is fitted; they differ in {child.name!r}")
        cpt = cpt.reorder([parent.name for parent in parents])
        if [v.states for v in cpt.family] != [v.states for v in (*parents, child)]:
            raise DataError(f"the start has other states than the data in {cpt.heading}; declare them by variables=")
        tables.append(cpt.values)
    return tables

"""Structure and parameters from incomplete rows: structural EM.

References
----------
N. Friedman (1997). Learning belief networks in the presence of missing values and hidden variables. ICML, 125-133.

N. Friedman (1998). The Bayesian structural EM algorithm. UAI, 129-138.

P. Cheeseman and J. Stutz (1996). Bayesian classification (AutoClass): theory and results. In Advances in Knowledge
Discovery and Data Mining, 153-180. AAAI Press.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk._interrupts import BestSoFar, raising_interrupts
from bntk._progress import progress_bar
from bntk.cpt import CPT
from bntk.data.interventions import Mask, separated
from bntk.data.numbers import N_BINS, Reading
from bntk.data.table import Table, column_names
from bntk.data.variable import Variable, checked_variables
from bntk.errors import DataError
from bntk.graph.dag import DAG, as_dag
from bntk.learning import scores
from bntk.learning.completion import hard_completion, soft_completion
from bntk.learning.counts import Counter, ExperimentCounter, Partitions, TableCounter
from bntk.learning.counts.memory import counter_of
from bntk.learning.em import EMResult, fit_em, incomplete_table, log_product, rows_by_target, rows_for_em
from bntk.learning.learn import a_space, default_prior, learn_structure
from bntk.learning.parameters import fit
from bntk.learning.priors import BDeu, Prior, as_prior
from bntk.learning.scores.base import Score
from bntk.learning.scores.decomposable import DecomposableScore
from bntk.learning.search import Search
from bntk.learning.search.in_passes import needs_rows
from bntk.learning.space import Space
from bntk.learning.space import named as spaces
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas as pd

#: What completes the rows of a table by a network.
Complete = Callable[[BayesianNetwork, Table, "NDArray[np.float64] | None"], TableCounter]


@dataclass(frozen=True)
class Round:
    """A structure that structural EM accepted: its objective, and the log-likelihood of the observed values."""

    dag: DAG
    objective: float
    log_likelihood: float


@dataclass(frozen=True)
class StructuralEMResult:
    """The report of a run of structural EM.

    Attributes
    ----------
    objective : float
        The value that is maximised; see :func:`structural_em`.
    converged : bool
        True when no further structure was found that raises the objective.
    interrupted : bool
        True when it was stopped by hand.
    rounds : tuple of Round
        The start, and every structure that was accepted after it. The objective rises from each to the next.
    em : EMResult
        How EM came to the tables of the last structure.
    """

    objective: float
    converged: bool
    interrupted: bool
    rounds: tuple[Round, ...] = field(repr=False)
    em: EMResult = field(repr=False)

    def trace_frame(self) -> pd.DataFrame:
        """The rounds as a data frame with the columns ``arcs``, ``objective`` and ``log_likelihood``."""
        import pandas as pd

        rows = [(r.dag.n_arcs, r.objective, r.log_likelihood) for r in self.rounds]
        return pd.DataFrame(rows, columns=["arcs", "objective", "log_likelihood"])


def structural_em(
    data: Any,
    score: str | Score = "bdeu",
    space: Space | None = None,
    search: str | Search = "auto",
    prior: Prior | str | float | Mapping[str, ArrayLike] | None = None,
    *,
    method: str = "soft",
    start: DAG | str | None = None,
    max_rounds: int = 20,
    tolerance: float = 1e-6,
    max_completions: int = 256,
    variables: Sequence[Variable] | None = None,
    weights: ArrayLike | None = None,
    intervened: Any = None,
    numeric: str | Mapping[str, Any] = "auto",
    n_bins: int = N_BINS,
    identifiers: str = "drop",
    seed: int = 0,
    progress: bool = False,
) -> BayesianNetwork:
    """Learn a network from rows with missing values by structural EM: structure and parameters in turn.

    Each round completes the rows by their posterior distribution under the present network, searches a structure for
    the completed rows, and estimates its parameters by EM. The structure is accepted if that raises

        score(E[N]) - log P(E[N] | theta) + log P(observed values | theta),

    where E[N] are the expected counts of the structure's families under its own tables theta. For penalised likelihoods
    with maximum likelihood estimates, such as BIC, this is the log-likelihood of the observed values minus the penalty,
    and Friedman's theorem says that a structure that is better on softly completed rows raises it. For BDeu and other
    marginal likelihoods it is the approximation of Cheeseman and Stutz. On complete rows it is the score, and the
    result is that of :func:`bntk.learn`.

    Parameters
    ----------
    data : Table, data frame, or mapping of columns
        One case per row; values may be missing.
    score : str or Score
        A score that is a sum over families: a name such as ``"bdeu"`` or ``"bic"``, or an object such as
        ``bntk.scores.BDeu(10)``.
    space : Space, optional
        Which structures are legal; by default any DAG over the columns and hidden variables.
    search : str or Search
        The search of each round: ``"auto"``, a name such as ``"hc"``, or an object such as
        ``bntk.search.Tabu(restarts=20)``; see :func:`bntk.learn`.
    prior : Prior, str, float or mapping, optional
        Prior of the parameters, in EM as well; by default the one that the score assumes, see :func:`bntk.learn`.
    method : {"soft", "hard"}
        How rows are completed. ``"soft"``: in all ways, each weighted by its posterior probability, so that the search
        uses exact expected counts; rows with more than ``max_completions`` completions are represented by samples from
        their posterior. ``"hard"``: by a most probable explanation, which is faster but overestimates dependences.
    start : DAG or str, optional
        The structure to begin with; by default the smallest legal one. The result depends on it.
    max_rounds : int
        The largest number of rounds.
    tolerance : float
        The least gain of a round, as a share of the objective; also for each run of EM.
    max_completions : int
        Rows with more completions are sampled, see ``method``.
    variables : sequence of Variable, optional
        Variables with all their states. One without a column in the data is hidden; the start must connect it to
        others, as no round would add its first arc.
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
    identifiers : {"drop", "keep"}
        Without a ``space``, what becomes of columns of a data frame or mapping that identify rows rather than describe
        them: labels (not numbers) with more states than half their rows with a value, from 20 rows on, dates and times,
        and columns without a value. ``"drop"`` leaves them out, and names them in one warning.
    seed : int
        Seed of random choices; the same seed gives the same network.
    progress : bool
        Show a progress bar.

    Returns
    -------
    BayesianNetwork
        Its ``report`` is the :class:`StructuralEMResult`. Ctrl-C ends the rounds, with a warning: the network is the
        last one that was accepted; but in a loop over fits, and the second time, it raises ``KeyboardInterrupt``.

    Examples
    --------
    >>> import bntk, numpy as np
    >>> true = bntk.datasets.sprinkler()
    >>> rows = true.sample(2000, seed=1)
    >>> missing = np.random.default_rng(0).random(rows.codes.shape) < 0.1
    >>> rows = bntk.Table.from_codes(np.where(missing, rows.cards[:, None], rows.codes), rows.variables)
    >>> bn = structural_em(rows)
    >>> bn.dag.is_equivalent(true.dag)
    True
    >>> bn.report.trace_frame()["objective"].is_monotonic_increasing
    True
    """
    rule = scores.by_name(score)
    if not isinstance(rule, DecomposableScore):
        raise ValueError(f"structural EM needs a score that is a sum over families; {rule!r} is none")
    _checking.one_of("method", method, ("soft", "hard"))
    _checking.whole_number("max_rounds", max_rounds, 0, _checking.MOST)
    _checking.whole_number("max_completions", max_completions, 1, _checking.MOST)
    _checking.number("tolerance", tolerance)
    _checking.whole_number("seed", seed, least=0)
    _checking.flag("progress", progress)
    if isinstance(data, Partitions):
        raise needs_rows("structural EM", "bntk.learn, and bntk.fit_em for a structure that is known")
    variables = None if variables is None else checked_variables(variables)
    reading = Reading(numeric, n_bins, identifiers)
    data, intervened = separated(data, intervened)
    names = _names(data, variables, reading) if space is None else a_space(space).nodes
    space = spaces.dag(names) if space is None else space
    reading = replace(reading, identifiers=None)
    table, row_weights, was_set, hidden = incomplete_table(names, data, variables, weights, intervened, reading)
    first, rule = _first(space, start, hidden), rule.for_variables(table.variables)
    estimates = as_prior(default_prior(rule) if prior is None else prior).for_variables(table.variables)
    task = _Task(table, row_weights, was_set, rule, space, estimates, tolerance, seed)

    def complete(network: BayesianNetwork, table: Table, weights: NDArray[np.float64] | None) -> TableCounter:
        if method == "hard":
            return hard_completion(network, table, weights)
        return soft_completion(network, table, weights, max_completions=max_completions, seed=seed)

    return _alternate(task, first, search, lambda network: task.completed(network, complete), max_rounds, progress)


# ---- what users may give -----------------------------------------------------------------------------------------


def _names(data: Any, variables: Sequence[Variable] | None, reading: Reading) -> list[str]:
    """The columns of the data that are used, and the declared variables that have none."""
    declared = [variable.name for variable in variables or ()]
    unused = reading.unused(data, but=declared)
    columns = [name for name in column_names(data) or [] if name not in unused]
    return [*columns, *(name for name in declared if name not in columns)]


def _first(space: Space, start: DAG | str | None, hidden: Sequence[str]) -> DAG:
    space.check()
    if start is None:
        dag = space.start()
    else:
        dag = as_dag(start, "start", space.nodes).reorder(space.nodes)
    for name in hidden:
        if not dag.parents(name) and not dag.children(name):
            raise DataError(
                f"{name!r} has no column in the data, and no arc in the structure that structural EM begins with; "
                "nothing would ever connect it: give a start with arcs from it to what it is to explain"
            )
    return dag


# ---- the rounds --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    """What stays the same in all rounds."""

    table: Table
    weights: NDArray[np.float64] | None
    intervened: Mask | None
    score: DecomposableScore
    space: Space
    prior: Prior
    tolerance: float
    seed: int

    def estimate(self, dag: DAG, start: BayesianNetwork | None = None) -> tuple[BayesianNetwork, Round]:
        """The network of a structure with parameters by EM, and its objective and log-likelihood."""
        counter = counter_of(self.table, self.weights, self.intervened)
        network = fit_em(dag, counter, self.prior, start=start, tolerance=self.tolerance, seed=self.seed)
        rows = rows_for_em(dag, self.table, self.weights, self.intervened, self.prior)
        tables = [cpt.values for cpt in network.cpts]
        expected, log_likelihood = rows.expect(tables)
        score = sum(
            self.score.family(counts.reshape(-1, counts.shape[-1]), n=counter.total_weight) for counts in expected
        )
        arc_weights = self.space.arc_weight_matrix()
        if arc_weights is not None:
            score += sum(float(arc_weights[scope[:-1], scope[-1]].sum()) for scope in rows.scopes)
        objective = score - log_product(expected, tables) + log_likelihood
        return network, Round(dag, objective, log_likelihood)

    def completed(self, network: BayesianNetwork, complete: Complete) -> Counter:
        """The rows, completed: those with variables that were set by the network without the arcs into these."""
        if self.intervened is None or not self.intervened.any():
            return complete(network, self.table, self.weights)
        parts, masks = [], []
        for was_set, rows in rows_by_target(self.table, self.intervened):
            weights = None if self.weights is None else self.weights[rows]
            parts.append(complete(_with_free_roots(network, was_set), self.table.take(rows), weights))
            mask = np.isin(np.arange(len(self.table.variables)), was_set)
            masks.append(np.repeat(mask[None], parts[-1].n_rows, axis=0))
        weights = np.concatenate([np.asarray(part.weights) for part in parts])
        table = Table.concat([part.table for part in parts])
        return ExperimentCounter._of_shares(table, np.concatenate(masks), weights)


def _with_free_roots(network: BayesianNetwork, nodes: Sequence[int]) -> BayesianNetwork:
    """The network in which some nodes have no parents, and equal probabilities."""
    names = [network.names[v] for v in nodes]
    free = {
        name: CPT(network.variable(name), [1 / network.variable(name).n_states] * network.variable(name).n_states)
        for name in names
    }
    return BayesianNetwork(network.dag.do(*names), [free.get(cpt.name, cpt) for cpt in network.cpts])


def _alternate(
    task: _Task, first: DAG, search: str | Search, complete: Any, max_rounds: int, progress: bool
) -> BayesianNetwork:
    rounds: list[Round] = []
    converged = False
    accepted = BestSoFar("the last network that structural EM accepted", lambda: bool(rounds))
    with accepted as so_far, raising_interrupts():  # no search or EM that was cut off is gone on with
        network, reached = task.estimate(first)
        rounds.append(reached)
        for _ in progress_bar(progress, range(max_rounds), desc="structural EM", unit=" rounds"):
            counter = complete(network)
            found = learn_structure(counter, task.score, task.space, search, start=network.dag, seed=task.seed)
            # Tables without zeros, so that no row is impossible.
            begin = fit(found.dag, counter, BDeu(1.0))
            candidate, reached = task.estimate(found.dag, begin)
            gain = reached.objective - rounds[-1].objective
            converged = not gain > task.tolerance * abs(reached.objective)
            if converged:
                break
            network = candidate
            rounds.append(reached)
    em, interrupted = _em_report(network), so_far.interrupted
    return network._with_report(StructuralEMResult(rounds[-1].objective, converged, interrupted, tuple(rounds), em))


def _em_report(network: BayesianNetwork) -> EMResult:
    assert isinstance(network.report, EMResult)
    return network.report

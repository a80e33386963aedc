"""Structure and parameters from data, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any

from numpy.typing import ArrayLike

from bntk import _checking
from bntk._memory import require, says_what_to_do
from bntk._progress import SHOWN, showing_progress
from bntk._warnings import warn
from bntk.cpt import search_limit
from bntk.data.dask_frames import is_dask_frame
from bntk.data.numbers import N_BINS, Reading, warn_of_many_numbers
from bntk.data.table import Table
from bntk.data.variable import Variable, format_states
from bntk.errors import DataError, MissingValuesWarning, SpaceError
from bntk.graph.dag import DAG, as_dag
from bntk.learning import scores
from bntk.learning import search as searches
from bntk.learning.counts import Counter, DaskPartitions, PartitionCounter, Partitions, as_counter
from bntk.learning.parameters import fit
from bntk.learning.priors import BDeu, Dirichlet, Prior
from bntk.learning.scores.base import Evaluator, Score
from bntk.learning.scores.decomposable import DecomposableScore
from bntk.learning.scores.family_evaluator import FamilyEvaluator
from bntk.learning.search import BOSS, Exact, HillClimbing, OrderSearch, Search, SearchResult, SpanningTree, Tabu
from bntk.learning.search.in_passes import StreamedSearch, needs_rows
from bntk.learning.search.parent_sets import refuse_shapes
from bntk.learning.space import Space
from bntk.learning.space import named as spaces
from bntk.network import BayesianNetwork

# The default search is exact up to so many variables and parent sets: two to three seconds for 12 variables without
# constraints, or 18 with up to three parents.
MAX_EXACT, MAX_EXACT_SETS = 20, 30_000
# With more variables than these, the default search walks grow-shrink trees: order search would take minutes.
MANY_VARIABLES = 100
# Of so many arcs that there may be, some gain a little by chance: of those that gain less, most are not true.
LEAST_GAIN = 1.0
# What a search takes for each two variables: the gain of an arc, what is allowed, and copies of these.
BYTES_AN_ARC = 100
# With more rows, the order search that is taken by default looks at fewer candidates: half the families to score.
MANY_ROWS, FEW_CANDIDATES = 20_000, 6


@says_what_to_do("take fewer columns, join rare states, or allow fewer parents (max_parents)")
def learn(
    data: Any,
    score: str | Score = "bdeu",
    space: Space | None = None,
    search: str | Search = "auto",
    prior: Prior | str | float | Mapping[str, ArrayLike] | None = None,
    *,
    variables: Sequence[Variable] | None = None,
    weights: ArrayLike | None = None,
    intervened: Any = None,
    numeric: str | Mapping[str, Any] = "auto",
    n_bins: int = N_BINS,
    identifiers: str = "drop",
    start: DAG | str | None = None,
    seed: int = 0,
    progress: bool = False,
) -> BayesianNetwork:
    """Learn a network: its structure by a search, then its parameters.

    The network's ``report`` is the :class:`~bntk.search.SearchResult` of the search: score, trace, families evaluated,
    seconds. :func:`learn_structure` returns it without estimating parameters.

    Parameters
    ----------
    data : Table, data frame, mapping of columns, Counter, or Scan
        Rows that do not fit into memory are given by :func:`bntk.scan`.
        With missing values, a row counts for each family in which it is complete (available cases). Most scores are
        sums over rows, so that they favour families with more parents, for which fewer rows count; a warning says so.
        Drop incomplete rows (``table.drop_missing()``) where there are enough others, or use
        :func:`bntk.structural_em`. ``bntk.scores.BIC(missing="average")`` also finds too many arcs, but fewer.
    score : str or Score
        The score to maximise: a name such as ``"bdeu"``, ``"bic"`` or ``"k2"``, or an object such as
        ``bntk.scores.BDeu(10)``.
    space : Space, optional
        Which structures are legal; by default any DAG over the columns. Only the columns of the space are used.
    search : str or Search
        ``"auto"`` uses, for a score that is a sum over families, the spanning tree where the space is made of trees,
        exact search for up to 12 variables (more when parents are limited), else order search followed by hill climbing
        with restarts; for more than 100 variables without missing values, if rows have whole weights or none, best
        order score search that leaves out arcs that gain less than 1 (``BOSS(epsilon=1)``); and tabu search in spaces
        with other shapes and for other scores. Or a name (``"hc"``, ``"tabu"``, ``"order"``, ``"exact"``,
        ``"spanning_tree"``, ``"k2"``), or an object with options such as ``bntk.search.Tabu(restarts=20)``.
    prior : Prior, str, float or mapping, optional
        Prior of the parameters, as in :func:`bntk.fit`. By default the one that the score assumes, if any: the same
        equivalent sample size for BDeu and BDs, alpha = 1 for K2, and so on; otherwise ``BDeu(1)``, which is close to
        maximum likelihood but has no zeros.
    variables : sequence of Variable, optional
        Variables with all their states, where the data may not show all of them.
    weights : array_like of shape (n_rows,), optional
        One non-negative number per row.
    intervened : sequence, frame, mapping, array, or str, optional
        Which variables were set by an experiment in which rows: one entry per row (None, a name, or several); a frame
        or mapping from names to booleans (a mapping also to positions of rows); an array of booleans with the columns
        of the data; or the name of a column with such entries. A row does not count for the family of a variable that
        was set in it (Cooper and Yoo 1999).
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
    start : DAG or str, optional
        The structure that the search begins with; by default the smallest legal one.
    seed : int
        Seed of random choices; the same seed gives the same network.
    progress : bool
        Show a progress bar.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.sprinkler().sample(2000, seed=1)
    >>> bn = learn(rows, "bic")
    >>> bn.dag.is_equivalent(bntk.datasets.sprinkler().dag)
    True
    >>> bn.report.exact, round(bn.report.score, 1)
    (True, -3806.3)

    Constraints are a space:

    >>> from bntk.learning.space import Space
    >>> causal = Space(rows.names, tiers=[["cloudy"], ["sprinkler", "rain"], ["wet"]])
    >>> print(learn(rows, "bic", causal).dag)
    cloudy -> sprinkler; cloudy -> rain -> wet <- sprinkler
    """
    rule = score if isinstance(score, Score) else scores.by_name(score)
    if is_dask_frame(data):
        data, weights = DaskPartitions.of(data, weights), None
    if isinstance(data, Partitions):
        _refuse_predictive(rule)
    reading = Reading(numeric, n_bins, identifiers)
    with showing_progress(progress or SHOWN.get()):
        counter, space = _counter_and_space(data, weights, intervened, variables, space, reading)
    rule = rule.for_variables(counter.variables)
    found = _search(counter, rule, space, search, start, seed, progress)
    with showing_progress(progress or SHOWN.get()):
        network = fit(found.dag, counter, default_prior(rule) if prior is None else prior)
    return network._with_report(found)


@says_what_to_do("take fewer columns, join rare states, or allow fewer parents (max_parents)")
def learn_structure(
    data: Any,
    score: str | Score = "bdeu",
    space: Space | None = None,
    search: str | Search = "auto",
    *,
    variables: Sequence[Variable] | None = None,
    weights: ArrayLike | None = None,
    intervened: Any = None,
    numeric: str | Mapping[str, Any] = "auto",
    n_bins: int = N_BINS,
    identifiers: str = "drop",
    start: DAG | str | None = None,
    seed: int = 0,
    progress: bool = False,
) -> SearchResult:
    """Learn a structure by a search, without parameters.

    Parameters
    ----------
    data : Table, data frame, mapping of columns, Counter, or Scan
        Rows that do not fit into memory are given by :func:`bntk.scan`.
        With missing values, a row counts for each family in which it is complete; see :func:`learn`.
    score : str or Score
        The score to maximise: a name such as ``"bdeu"``, ``"bic"`` or ``"k2"``, or an object such as
        ``bntk.scores.BDeu(10)``.
    space : Space, optional
        Which structures are legal; by default any DAG over the columns. Only the columns of the space are used.
    search : str or Search
        ``"auto"``, a name such as ``"hc"``, or an object such as ``bntk.search.Tabu(restarts=20)``; see :func:`learn`.
    variables : sequence of Variable, optional
        Variables with all their states, where the data may not show all of them.
    weights : array_like of shape (n_rows,), optional
        One non-negative number per row.
    intervened : sequence, frame, mapping, array, or str, optional
        Which variables were set by an experiment in which rows: one entry per row (None, a name, or several); a frame
        or mapping from names to booleans (a mapping also to positions of rows); an array of booleans with the columns
        of the data; or the name of a column with such entries. A row does not count for the family of a variable that
        was set in it (Cooper and Yoo 1999).
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
    start : DAG or str, optional
        The structure that the search begins with; by default the smallest legal one.
    seed : int
        Seed of random choices; the same seed gives the same structure.
    progress : bool
        Show a progress bar.

    Returns
    -------
    SearchResult
        The structure with its score, the trace of the search and what it cost.

    Examples
    --------
    >>> import bntk
    >>> found = learn_structure(bntk.datasets.asia().sample(1000, seed=0), "bic", search="hc")
    >>> found.trace_frame()["score"].is_monotonic_increasing
    True
    """
    reading = Reading(numeric, n_bins, identifiers)
    counter, space = _counter_and_space(data, weights, intervened, variables, space, reading)
    return _search(
        counter, score if isinstance(score, Score) else scores.by_name(score), space, search, start, seed, progress
    )


def default_prior(score: Score) -> Prior:
    """The prior of the parameters that a score assumes; ``BDeu(1)`` for a score that assumes none.

    Examples
    --------
    >>> default_prior(scores.BDeu(10)), default_prior(scores.K2()), default_prior(scores.BIC())
    (BDeu(ess=10), Dirichlet(value=1.0, default=1.0), BDeu(ess=1.0))
    """
    match score:
        case scores.BDeu(ess=ess) | scores.BDs(ess=ess):
            return BDeu(ess)
        case scores.HGC(alpha=alpha) | scores.PredictiveScore(pseudo_count=alpha):
            return Dirichlet(alpha)
        case scores.K2():
            return Dirichlet(1.0)
        case scores.SB(alpha=alpha) if alpha > 1:
            return Dirichlet(alpha - 1)  # the mode under alpha is the mean under alpha - 1
    return BDeu(1.0)


# ---- what users may give -----------------------------------------------------------------------------------------


def _counter_and_space(
    data: Any, weights: ArrayLike | None, intervened: Any, variables: Sequence[Variable] | None, space: Space | None,
    reading: Reading,
) -> tuple[Counter, Space]:  # fmt: skip
    """A counter and a space over the same variables in the same order."""
    only = None
    if space is not None:  # which names the columns that are wanted
        reading = replace(reading, identifiers=None)
        only = a_space(space).nodes if variables is None and not isinstance(data, Counter) else None
    counter = as_counter(
        data, variables=variables, weights=weights, intervened=intervened, only=only, require_rows=True, reading=reading
    )
    if isinstance(data, Table) and reading.numeric == "auto":
        warn_of_many_numbers(data)
    if space is None:
        return counter, spaces.dag(counter.names)
    return _select(counter, a_space(space).nodes), space


def a_space(space: Space) -> Space:
    """A space as it is; anything else is refused."""
    return _checking.instance("space", space, Space, what="a Space such as bntk.spaces.tree(names), or None")


def _select(counter: Counter, names: tuple[str, ...]) -> Counter:
    if counter.names == names:
        return counter
    absent = [name for name in names if name not in counter.names]
    if absent:
        raise DataError(f"the space has the nodes {absent}, which the data have not: {list(counter.names)}")
    if type(counter).select is Counter.select:
        raise DataError(f"the space and the counter differ in their variables: {list(names)}, {list(counter.names)}")
    return counter.select(names)


# ---- searching ---------------------------------------------------------------------------------------------------


def _search(
    counter: Counter, score: Score, space: Space, search: str | Search, start: DAG | str | None, seed: int,
    progress: bool,
) -> SearchResult:  # fmt: skip
    n = len(space.nodes)
    require(
        BYTES_AN_ARC * n * n, f"a search for a structure over {n:,} variables, with the gain of each arc,",
        "take fewer columns, or a model without a search, as NaiveBayes",
    )  # fmt: skip
    start = None if start is None else as_dag(start, "start", space.nodes)
    seed, progress = _checking.whole_number("seed", seed, least=0), _checking.flag("progress", progress)
    if isinstance(counter, PartitionCounter):
        with showing_progress(progress or SHOWN.get()):
            return _search_in_passes(counter, score, space, search, start, seed)
    evaluator = score.evaluator(counter, arc_weights=space.arc_weight_matrix())
    evaluator.limit_tables(search_limit(len(counter.names)))
    search = _chosen(search, evaluator, space)
    if not isinstance(search, SpanningTree):  # which finds out by itself whether there is a legal structure
        space.check()
    if search.uses_score:
        _warn_of_missing_cells(evaluator, space)
    return search.run(evaluator, space, start=start, seed=seed, progress=progress or SHOWN.get())


def _search_in_passes(
    counter: PartitionCounter, score: Score, space: Space, search: str | Search, start: DAG | None, seed: int
) -> SearchResult:
    """The search on rows that are elsewhere."""
    _refuse_predictive(score)
    assert isinstance(score, DecomposableScore)
    streamed = StreamedSearch(score, counter, space.arc_weight_matrix())
    streamed.limit_tables(search_limit(len(counter.names)))
    evaluator = streamed.evaluator()
    chosen = _chosen(search, evaluator, space)
    if not isinstance(chosen, SpanningTree):
        space.check()
    if chosen.uses_score:
        _warn_of_missing_cells(evaluator, space)
    return streamed.run(chosen, space, start, seed)


def _refuse_predictive(score: Score) -> None:
    """Refuse a score that predicts rows, before any is read."""
    if not isinstance(score, DecomposableScore):
        raise needs_rows(f"the score {score!r}", "a score that is a sum over families, such as 'bic', 'bdeu' or 'hgc'")


def _chosen(search: str | Search, evaluator: Evaluator, space: Space) -> Search:
    if isinstance(search, Search):
        return search
    return automatic(evaluator, space) if isinstance(search, str) and search == "auto" else searches.by_name(search)


def _warn_of_missing_cells(evaluator: Evaluator, space: Space) -> None:
    """Trees are not concerned: all their families have the same size."""
    if not isinstance(evaluator, FamilyEvaluator) or space.tree_problem() is not None:
        return
    incomplete = list(evaluator.counter.incomplete)
    if incomplete and getattr(evaluator.score, "missing", "available") != "average":
        better = 'bntk.scores.BIC(missing="average") as score or criterion is misled less'
        if evaluator.counter.directed:  # where averages are not defined
            better = "bntk.structural_em uses every value"
        warn(
            lambda names: (
                f"missing values in {format_states(names)}: {evaluator.score!r} adds up the rows that are complete in "
                f"a family, which favours parents with missing values; {better}, and complete rows alone do not mislead"
            ),
            MissingValuesWarning,
            incomplete,
        )


def automatic(evaluator: Evaluator, space: Space) -> Search:
    """The search that ``search="auto"`` stands for: the one that reaches the best score in a few seconds.

    It depends on the space, the kind of score and the numbers of variables and rows, never on the machine.
    """
    if not isinstance(evaluator, FamilyEvaluator):
        return Tabu()
    if space.tree_problem() is not None:
        return SpanningTree()
    if not _families_are_free(space):
        return Tabu(restarts=20)
    if len(space.nodes) <= MAX_EXACT and _n_parent_sets(space) <= MAX_EXACT_SETS:
        return Exact()
    if len(space.nodes) > MANY_VARIABLES and evaluator.for_threads and not evaluator.counter.incomplete:
        return BOSS(epsilon=LEAST_GAIN)
    candidates = OrderSearch.candidates if evaluator.counter.total_weight <= MANY_ROWS else FEW_CANDIDATES
    return OrderThenClimb(OrderSearch(candidates=candidates), HillClimbing(restarts=20))


@dataclass(frozen=True)
class OrderThenClimb(Search):
    """Order search, and hill climbing with restarts from what it found.

    Order search makes large steps and looks at the most promising parents only; hill climbing makes small ones and
    looks at all. Samples of 5,000 rows of alarm, insurance and hailfinder and of 100,000 rows of alarm were searched
    with BDeu(1), BDeu(10) and BIC. In 11 such cases the two together found the best score of all searches that were
    tried 9 times, order search alone 7 times, hill climbing with 50 restarts of 20 moves 6 times (of 10 moves 3 times),
    and tabu search with 30 restarts of 20 moves 5 times. The two together always passed the true structure.
    """

    order: OrderSearch
    climb: HillClimbing

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search; the result is never worse than that of the order search."""
        first = self.order.run(evaluator, space, start=start, seed=seed, progress=progress)
        if first.interrupted:
            return first
        second = self.climb.run(evaluator, space, start=first.dag, seed=seed, progress=progress)
        later = tuple(replace(step, seconds=step.seconds + first.seconds) for step in second.trace)
        return replace(
            second,
            search=f"{first.search}, then {second.search}",
            seconds=first.seconds + second.seconds,
            trace=first.trace + later,
        )


def _n_parent_sets(space: Space) -> int:
    """How many families an exact search may have to score."""
    candidates, limits = space.allowed.sum(axis=0).tolist(), space.parent_limits.tolist()
    return sum(comb(m, k) for m, most in zip(candidates, limits, strict=True) for k in range(min(m, most) + 1))


def _families_are_free(space: Space) -> bool:
    """Whether every rule of the space speaks of one child and its parents alone, as exact and order search need."""
    try:
        refuse_shapes(space, "auto")
    except SpaceError:
        return False
    return True

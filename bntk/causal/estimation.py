"""Effects from rows: the formula of the effect, evaluated on the shares of the rows, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk._progress import progress_bar
from bntk.causal.classes import possible_descendants
from bntk.causal.effects import path_effect
from bntk.causal.formula import Expression, Formula, Fraction, Probability, Product, Sum
from bntk.causal.questions import (
    Names,
    Question,
    Setting,
    numbers_of,
    read_question,
    refuse_large,
)
from bntk.causal.results import Effect, EmptyStratum
from bntk.data.numbers import N_BINS, Reading
from bntk.data.table import Table, as_table, column_names
from bntk.data.variable import Variable, checked_variables
from bntk.data.weights import checked_weights
from bntk.errors import DataError, did_you_mean
from bntk.graph.dag import DAG, as_dag
from bntk.graph.equivalence import PDAG
from bntk.learning.completion import kinds_of_rows
from bntk.learning.counts import TableCounter
from bntk.learning.parameters import fit
from bntk.learning.search.bootstrap import row_weights

Floats = NDArray[np.float64]

#: The largest table that a formula is evaluated on, over all of its variables (128 MiB).
MOST_ENTRIES = 2**24
#: Combinations without rows that are looked at one by one.
MOST_PROBES = 1_000
NAME_LATENT = "variables that are not observed are named in latent="
WAY_OUT = "adjust for fewer variables, join rare states, or fit a network and ask it (bn.effect)"


def estimate_effect(
    graph: DAG | PDAG | str,
    data: Any,
    y: Names,
    do: Any,
    given: Mapping[str, Any] | None = None,
    *,
    versus: Mapping[str, Any] | None = None,
    by: Names = (),
    values: Any = None,
    latent: Names = (),
    adjust: Names | None = None,
    empty: str = "leave",
    variables: Sequence[Variable] | None = None,
    weights: ArrayLike | None = None,
    numeric: str | Mapping[str, Any] = "auto",
    n_bins: int = N_BINS,
    resamples: int = 500,
    level: float = 0.95,
    seed: int = 0,
    progress: bool = False,
) -> Effect:
    """An effect from rows, by a formula that a causal graph justifies.

    The formula is adjustment for the optimal set where there is one, or for the set that is given; else what
    :meth:`bntk.DAG.identify` finds. Its probabilities are the shares of the rows. Intervals are quantiles over
    bootstrap samples of the rows. Rows with missing values among the variables of the formula are left out and counted.

    Parameters
    ----------
    graph : DAG, PDAG or str
        The causal graph. Of an equivalence class, such as ``bn.dag.cpdag()``, the set that is adjusted for is valid in
        every DAG; where there is none, see :func:`possible_effects`.
    data : Table, data frame, or mapping of columns
        Rows of the observed variables, without interventions.
    y : str or iterable of str
        The outcome, or several, whose joint distribution is wanted.
    do : mapping, or names
        The state that each variable is set to; or names, for all of their states in turn.
    given : mapping, optional
        States that are observed after that.
    versus : mapping, optional
        The setting to compare with: differences and ratios of probabilities and, for numbers, of expected values.
    by : str or iterable of str
        Variables whose states are strata, with an effect in each.
    values : mapping or sequence, optional
        The number that each state of the outcome stands for; by default the states, if they are numbers.
    latent : str or iterable of str
        Variables of the graph that are not observed.
    adjust : str or iterable of str, optional
        The variables to adjust for. Refused when they are no valid adjustment set.
    empty : {"leave", "drop"}
        What becomes of strata of the adjustment set that have rows, but none with the states that are set.
        ``"leave"``: effects that depend on them are NaN. ``"drop"``: their rows are left out, so that the effect is
        that in the others. Either way they are listed (``empty`` of the result).
    variables : sequence of Variable, optional
        Variables with all their states, where the data may not show all of them.
    weights : array_like of shape (n_rows,), optional
        One non-negative number per row.
    numeric, n_bins
        How columns of numbers become states, as in :func:`bntk.fit`.
    resamples : int
        Number of bootstrap samples; 0 for no intervals.
    level : float
        The probability of the intervals.
    seed : int
        Seed of the samples; the same seed gives the same intervals.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Effect

    Examples
    --------
    >>> import bntk
    >>> bn = bntk.datasets.sprinkler()
    >>> rows = bn.sample(5000, seed=1)
    >>> found = estimate_effect(bn.dag, rows, "wet", {"rain": "yes"}, versus={"rain": "no"}, resamples=200)
    >>> truth = bn.effect("wet", {"rain": "yes"}, versus={"rain": "no"})
    >>> low, high = found.interval("yes")
    >>> low < truth.difference["yes"] < high
    True
    """
    graph = graph if isinstance(graph, PDAG) else as_dag(graph, "graph")
    _checking.one_of("empty", empty, ("leave", "drop"))
    hidden = _checking.names("latent", latent)
    table, own = rows_of(graph, data, hidden, variables, weights, Reading(numeric, n_bins), NAME_LATENT)
    question = read_question(_by_name(table), y, do, versus, given, by)
    numbers = numbers_of(question.outcome, values)
    formula, adjusting = formula_for(graph, question, hidden, adjust)
    sampling = Sampling(resamples, level, seed, progress)
    return from_rows(table, own, question, numbers, formula, adjusting, empty, sampling)


def estimate_path_effect(
    dag: DAG | str,
    data: Any,
    y: str,
    do: Mapping[str, Any],
    versus: Mapping[str, Any],
    given: Mapping[str, Any] | None = None,
    *,
    by: Names = (),
    values: Any = None,
    along: Any = None,
    through: Names = (),
    variables: Sequence[Variable] | None = None,
    weights: ArrayLike | None = None,
    numeric: str | Mapping[str, Any] = "auto",
    n_bins: int = N_BINS,
    resamples: int = 500,
    level: float = 0.95,
    seed: int = 0,
    progress: bool = False,
) -> Effect:
    """An effect along some of the paths, from rows of all variables of a causal graph.

    The tables of the network are the shares of the rows, and the effect is that of
    :meth:`bntk.BayesianNetwork.path_effect`; intervals are quantiles over bootstrap samples of the rows.

    Parameters
    ----------
    dag : DAG or str
        The causal graph, without latent variables.
    data : Table, data frame, or mapping of columns
        Rows of all variables.
    y, do, versus, given, by, values, along, through
        As for :meth:`bntk.BayesianNetwork.path_effect`.
    variables, weights, numeric, n_bins, resamples, level, seed, progress
        As for :func:`estimate_effect`.

    Returns
    -------
    Effect

    Examples
    --------
    >>> import bntk
    >>> bn = bntk.datasets.sprinkler()
    >>> rows = bn.sample(4000, seed=2)
    >>> cloudy, clear = {"cloudy": "yes"}, {"cloudy": "no"}
    >>> found = estimate_path_effect(bn.dag, rows, "wet", cloudy, clear, through="rain", resamples=0)
    >>> exact = bn.path_effect("wet", cloudy, clear, through="rain")
    >>> abs(found.difference["yes"] - exact.difference["yes"]) < 0.03
    True
    """
    dag = as_dag(dag)
    table, own = rows_of(dag, data, [], variables, weights, Reading(numeric, n_bins))
    rows = _Kinds.of(table, own, list(dag.nodes))

    def ask(weights: Floats) -> Effect:
        network = fit(dag, TableCounter._of_shares(rows.table, weights))
        return path_effect(network, y, do, versus, given, by=by, values=values, along=along, through=through)

    found = ask(rows.weights)

    def estimate(weights: Floats) -> Floats:
        drawn = ask(weights)
        return drawn.p if drawn.strata == found.strata else np.full_like(found.p, np.nan)

    sampling = Sampling(resamples, level, seed, progress)
    draws = sampling.run(rows, estimate)
    lacking = tuple(_unseen_parents(dag, rows))
    how = found.method.replace("exact, from the network", f"from {rows.total:,.6g} rows")
    notes = (*found.notes, *rows.notes(draws))
    return Effect(found.question, found.strata, found.p, found.values, draws, sampling.level, how, lacking, notes)


# ---- rows ------------------------------------------------------------------------------------------------------


def rows_of(
    dag: DAG | PDAG,
    data: Any,
    latent: Sequence[str],
    variables: Sequence[Variable] | None,
    weights: Any,
    reading: Reading,
    advice: str = "all of its variables are needed here",
) -> tuple[Table, Floats | None]:
    """The observed columns as a table, and the weights."""
    for name in latent:
        dag.index(name)
    observed = [name for name in dag.nodes if name not in latent]
    absent = [name for name in observed if name not in (column_names(data) or observed)]
    if absent:
        raise DataError(
            f"the data have no column {absent[0]!r}, which the graph has"
            f"{did_you_mean(absent[0], column_names(data) or ())}; {advice}"
        )
    declared = None
    if variables is not None:
        by_name = {variable.name: variable for variable in checked_variables(variables)}
        declared = [by_name[name] for name in observed if name in by_name]
        if len(declared) < len(observed):
            lacking = next(name for name in observed if name not in by_name)
            raise DataError(f"variables lacks {lacking!r}; declare all observed variables of the graph, or none")
    own = None if weights is None else _checking.numbers("weights", weights, "numbers, one for each row", DataError)
    table = as_table(
        data, variables=declared, only=None if declared else observed, require_rows=True, reading=reading, weights=own
    )
    return table, None if weights is None else checked_weights(weights, table.n_rows)


def _by_name(table: Table) -> dict[str, Variable]:
    return dict(zip(table.names, table.variables, strict=True))


class _Kinds:
    """The complete rows of some variables, each kind once, with what is needed to draw rows again."""

    def __init__(self, table: Table, numbers: NDArray[np.int64], own: Floats, n_incomplete: int) -> None:
        self.table, self._numbers, self._own, self.n_incomplete = table, numbers, own, n_incomplete
        self.weights = self.of_rows(np.ones(len(numbers)))
        self.total = float(own.sum())

    @classmethod
    def of(cls, table: Table, weights: Floats | None, names: Sequence[str]) -> _Kinds:
        chosen = table.select(names)
        complete = chosen.complete_rows()
        if not complete.any():
            raise DataError(f"no row has a value of each of {', '.join(map(repr, names))}")
        codes = chosen.codes[:, complete]
        own = np.ones(codes.shape[1]) if weights is None else weights[complete]
        if not own.sum() > 0:
            raise DataError("all rows have the weight 0")
        kinds, numbers = kinds_of_rows(codes)
        return cls(Table.from_codes(kinds, chosen.variables), numbers, own, int(table.n_rows - complete.sum()))

    def of_rows(self, repeats: Floats) -> Floats:
        """The weight of each kind when rows are taken so many times."""
        return np.bincount(self._numbers, self._own * repeats, minlength=self.table.n_rows).astype(float)

    def drawn(self, seed: int, resample: int) -> Floats:
        """The weight of each kind in a bootstrap sample."""
        return self.of_rows(row_weights(len(self._numbers), seed, resample))

    def notes(self, draws: Floats | None) -> tuple[str, ...]:
        """What is to be said of the rows and the samples."""
        notes = []
        if self.n_incomplete:
            notes.append(f"{self.n_incomplete:,} rows with missing values were left out")
        undefined = 0 if draws is None else int(np.isnan(draws.reshape(len(draws), -1)).any(axis=1).sum())
        if undefined and draws is not None:
            notes.append(
                f"in {undefined:,} of {len(draws):,} bootstrap samples some number is undefined, as rows are lacking; "
                "its interval is from the others"
            )
        return tuple(notes)


class RowProbabilities:
    """The shares of weighted rows as probabilities, on which a formula is evaluated.

    Parameters
    ----------
    table : Table
        Rows without missing values.
    weights : array of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np, bntk
    >>> rows = bntk.Table.from_columns({"x": [0, 0, 1, 1], "y": [0, 1, 1, 1]})
    >>> RowProbabilities(rows, np.ones(4)).conditional(("y",), ("x",))
    array([[0.5, 0. ],
           [0.5, 1. ]])
    """

    def __init__(self, table: Table, weights: Floats) -> None:
        self.table, self.weights = table, weights
        self._counts: dict[tuple[str, ...], Floats] = {}

    def variable(self, name: str) -> Variable:
        """The variable of a name."""
        return self.table.variable(name)

    def counts(self, names: Sequence[str]) -> Floats:
        """The weight of the rows with each joint state, one axis per name."""
        key = tuple(names)
        if key not in self._counts:
            places = [self.table.index(name) for name in names]
            cards = [int(self.table.cards[place]) for place in places]
            at = np.zeros(self.table.n_rows, dtype=np.int64)
            for place, card in zip(places, cards, strict=True):
                at = at * card + self.table.codes[place]
            size = int(np.prod(cards, dtype=np.int64))
            self._counts[key] = np.bincount(at, self.weights, minlength=size).astype(float).reshape(cards)
        return self._counts[key]

    def conditional(self, variables: Sequence[str], given: Sequence[str]) -> Floats:
        """P(variables | given), NaN where no row has the given states."""
        joint = self.counts((*variables, *given))
        below = self.counts(given)
        return joint / np.where(below > 0, below, np.nan)


@dataclass(frozen=True)
class Sampling:
    """How bootstrap samples are drawn, and what interval they give."""

    resamples: int = 500
    level: float = 0.95
    seed: int = 0
    progress: bool = False

    def __post_init__(self) -> None:
        _checking.whole_number("resamples", self.resamples, 0, _checking.MOST)
        _checking.whole_number("seed", self.seed, least=0)
        _checking.flag("progress", self.progress)
        if not _checking.is_number(self.level) or not 0 < self.level < 1:
            raise _checking.wrong("level", "a number between 0 and 1, such as 0.95", self.level)

    def run(self, rows: _Kinds, estimate: Callable[[Floats], Floats]) -> Floats | None:
        """The estimates from samples of the rows; every sample has its own random numbers."""
        if not self.resamples:
            return None
        shown = progress_bar(self.progress, range(self.resamples), desc="bootstrap")
        return np.array([estimate(rows.drawn(self.seed, k)) for k in shown])


def from_rows(
    table: Table,
    weights: Floats | None,
    question: Question,
    values: Floats | None,
    formula: Formula,
    adjusting: Sequence[str] | None,
    empty: str,
    sampling: Sampling,
) -> Effect:
    """An effect by its formula, which adjusts for a set or not, evaluated on the shares of the rows."""
    if empty == "drop" and adjusting is None:
        raise DataError(
            f'empty="drop" leaves out strata of an adjustment set, and this effect has another formula, {formula}: '
            'give empty="leave"'
        )
    rows = _Kinds.of(table, weights, sorted({*_names_in(formula.expression), *_asked_names(question)}))
    refuse_large(rows.table.names, rows.table.cards.tolist(), f"the formula {formula}", WAY_OUT, MOST_ENTRIES)
    strata = question.strata()

    def evaluated(source: RowProbabilities) -> tuple[Floats, RowProbabilities, list[EmptyStratum]]:
        lacking: list[EmptyStratum] = []
        if empty == "drop" and adjusting is not None:
            source, lacking = _trimmed(source, question, adjusting)
        p = at_settings(formula.evaluate(source).values, formula, question, strata, source.variable)
        return p, source, lacking

    p, source, lacking = evaluated(RowProbabilities(rows.table, rows.weights))
    if np.isnan(p).any():
        lacking = [*lacking, *_lacking(formula, source, question, strata)]
    draws = sampling.run(rows, lambda weights: evaluated(RowProbabilities(rows.table, weights))[0])
    how = f"by {formula}, from {rows.total:,.6g} rows"
    return Effect(question, strata, p, values, draws, sampling.level, how, tuple(lacking), rows.notes(draws))


# ---- the formula -----------------------------------------------------------------------------------------------


def adjustment_formula(
    y: Sequence[str], do: Sequence[str], adjust: Sequence[str] = (), given: Sequence[str] = ()
) -> Formula:
    """The formula of adjustment: sum over z of P(y | do, z, given) P(z | given).

    Examples
    --------
    >>> print(adjustment_formula(["y"], ["x"], ["z"]))
    P(y | do(x)) = sum_{z} P(y | x, z) P(z)
    """
    inner = Probability(tuple(y), (*do, *adjust, *given))
    if not adjust:
        return Formula(tuple(y), tuple(do), tuple(given), inner)
    weighted = Product((inner, Probability(tuple(adjust), tuple(given))))
    return Formula(tuple(y), tuple(do), tuple(given), Sum(tuple(adjust), weighted))


def _asked_names(question: Question) -> list[str]:
    return [*(v.name for v in question.outcome), *question.set_names, *_conditions(question)]


def _conditions(question: Question) -> list[str]:
    return [*question.given, *(variable.name for variable in question.by)]


def formula_for(
    graph: DAG | PDAG, question: Question, latent: Sequence[str], adjust: Names | None = None
) -> tuple[Formula, list[str] | None]:
    """The formula of an effect, and the set that it adjusts for, when it does."""
    y, x, given = [v.name for v in question.outcome], list(question.set_names), _conditions(question)
    late = [name for name in given if name in descendants(graph, x)]
    if adjust is not None:
        chosen = [name for name in _checking.names("adjust", adjust) if name not in given]
        if late:
            raise DataError(
                f"given or by names {late[0]!r}, a descendant of {', '.join(map(repr, x))}, for which adjustment does "
                "not find the effect: leave out adjust"
            )
        verdict = graph.is_adjustment_set(x, y, [*chosen, *given], latent)
        if not verdict:
            raise DataError(f"adjust={chosen}: {verdict}")
        return adjustment_formula(y, x, chosen, given), chosen
    found = None if late else _valid_set(graph, x, y, given, latent)
    if found is not None:
        return adjustment_formula(y, x, found, given), found
    if isinstance(graph, PDAG):
        raise DataError(
            "no set is valid for adjustment in every DAG of the class; bntk.causal.possible_effects gives the effect "
            "in each of them"
        )
    formula = graph.identify(y, do=x, given=given, latent=latent)
    if not isinstance(formula, Formula):
        raise DataError(f"the effect cannot be had from the variables that are observed: {formula}")
    return formula, None


def _valid_set(
    graph: DAG | PDAG, x: list[str], y: list[str], given: list[str], latent: Sequence[str]
) -> list[str] | None:
    """What to adjust for beside what is given: the optimal set, else the first minimal one; None without one."""
    best = graph.optimal_adjustment_set(x, y, latent)
    if best.names is not None:
        chosen = [name for name in best.names if name not in given]
        if graph.is_adjustment_set(x, y, [*chosen, *given], latent):
            return chosen
    for names in graph.adjustment_sets(x, y, latent, 1):
        chosen = [name for name in names if name not in given]
        if graph.is_adjustment_set(x, y, [*chosen, *given], latent):
            return chosen
    return None


def descendants(graph: DAG | PDAG, names: Sequence[str]) -> set[str]:
    """The descendants of some nodes; of an equivalence class, those in any of its DAGs."""
    if isinstance(graph, DAG):
        return set(graph.descendants(names))
    places = [graph.index(name) for name in names]
    return {graph.nodes[v] for v in possible_descendants(graph, places)}.difference(names)


def at_settings(
    values: Floats,
    formula: Formula,
    question: Question,
    strata: Sequence[Setting],
    variable: Callable[[str], Variable],
) -> Floats:
    """The effects asked for, of shape (n_strata, n_settings, n_outcomes), from those for all states."""
    names = (*formula.do, *formula.given)
    order = [formula.y.index(variable.name) for variable in question.outcome]
    values = values.transpose([*range(len(names)), *(len(names) + axis for axis in order)])
    wanted = []
    for stratum, setting in product(strata, question.all_settings):
        states = {**question.given, **stratum, **setting}
        wanted.append(values[tuple(variable(name).code(states[name]) for name in names)].ravel())
    return np.array(wanted).reshape(len(strata), len(question.all_settings), -1)


# ---- what the rows lack ----------------------------------------------------------------------------------------


def _trimmed(
    source: RowProbabilities, question: Question, adjust: Sequence[str]
) -> tuple[RowProbabilities, list[EmptyStratum]]:
    """The rows without those of strata of the adjustment set in which some setting has no rows; and these strata."""
    table = source.table
    conditions = _conditions(question)
    around = [*adjust, *conditions]
    there = source.counts(around)
    kept, lacking = there > 0, []
    for setting in question.all_settings:
        names = [*question.set_names, *around]
        codes = tuple(table.variable(name).code(setting[name]) for name in question.set_names)
        found = source.counts(names)[codes] > 0
        lost = kept & ~found
        kept &= found
        for at in np.argwhere(lost & _asked_for(question, around, table)):
            states = {name: table.variable(name).states[k] for name, k in zip(around, at.tolist(), strict=True)}
            lacking.append(EmptyStratum({**setting, **states}, float(there[tuple(at)]), "these are left out"))
    places = tuple(table.codes[table.index(name)] for name in around)
    inside = np.broadcast_to(kept[places] if around else kept, table.n_rows)
    return RowProbabilities(table, np.where(inside, source.weights, 0.0)), lacking


def _asked_for(question: Question, names: Sequence[str], table: Table) -> Any:
    """Which joint states of some variables belong to a stratum that is asked for."""
    known = [name for name in names if name in question.given]
    where: list[Any] = [slice(None)] * len(names)
    for name in known:
        where[names.index(name)] = table.variable(name).code(question.given[name])
    asked = np.zeros([table.variable(name).n_states for name in names], dtype=bool)
    asked[tuple(where)] = True
    return asked


def _lacking(
    formula: Formula, source: RowProbabilities, question: Question, strata: Sequence[Setting]
) -> list[EmptyStratum]:
    """The combinations of states that the formula needs at the settings, and that no row has."""
    found: list[EmptyStratum] = []
    seen = set()
    for leaf, bound in _leaves(formula.expression):
        if not leaf.given:
            continue
        empty = np.argwhere(source.counts(leaf.given) == 0)
        if len(empty) > MOST_PROBES:
            continue
        for at in empty.tolist():
            states = {name: source.variable(name).states[k] for name, k in zip(leaf.given, at, strict=True)}
            key = tuple(sorted((name, k) for name, k in zip(leaf.given, at, strict=True)))
            fixed = {name: state for name, state in states.items() if name not in bound}
            asked = [{**question.given, **s, **x} for s, x in product(strata, question.all_settings)]
            if key in seen or not any(all(a.get(n, v) == v for n, v in fixed.items()) for a in asked):
                continue
            probe = _Probe(source, leaf, tuple(at))
            if np.isnan(at_settings(formula.evaluate(probe).values, formula, question, strata, source.variable)).any():
                seen.add(key)
                found.append(_empty_stratum(states, question, source))
    if not found:
        found = [EmptyStratum({}, 0.0, "probabilities that the formula needs have no rows; the effect is NaN")]
    return found


def _empty_stratum(states: Setting, question: Question, source: RowProbabilities) -> EmptyStratum:
    others = [name for name in states if name not in question.set_names]
    at = tuple(source.variable(name).code(states[name]) for name in others)
    rows = float(source.counts(others)[at]) if len(others) < len(states) else 0.0
    return EmptyStratum(states, rows, "the effect is NaN where it depends on this")


def _leaves(
    expression: Expression, bound: frozenset[str] = frozenset()
) -> Iterator[tuple[Probability, frozenset[str]]]:
    """The probabilities in an expression, each with the variables that sums around it bind."""
    match expression:
        case Probability():
            yield expression, bound
        case Product(factors=factors):
            for factor in factors:
                yield from _leaves(factor, bound)
        case Sum(over=over, body=body):
            yield from _leaves(body, bound | frozenset(over))
        case Fraction(numerator=above, denominator=below):
            yield from _leaves(above, bound)
            yield from _leaves(below, bound)


def _names_in(expression: Expression) -> set[str]:
    """All variables of an expression, free or bound."""
    return {name for leaf, _ in _leaves(expression) for name in (*leaf.variables, *leaf.given)}


class _Probe:
    """Probabilities of rows in which one combination is undefined, and all others without rows are uniform."""

    def __init__(self, source: RowProbabilities, leaf: Probability, at: tuple[int, ...]) -> None:
        self._source, self._leaf, self._at = source, leaf, at

    def variable(self, name: str) -> Variable:
        """The variable of a name."""
        return self._source.variable(name)

    def conditional(self, variables: Sequence[str], given: Sequence[str]) -> Floats:
        """P(variables | given), NaN for the one combination."""
        size = int(np.prod([self.variable(name).n_states for name in variables]))
        found = np.nan_to_num(self._source.conditional(variables, given), nan=1 / size)
        if (tuple(variables), tuple(given)) == (self._leaf.variables, self._leaf.given):
            where: tuple[Any, ...] = (..., *self._at)
            found[where] = np.nan
        return found


def _unseen_parents(dag: DAG, rows: _Kinds) -> Iterable[EmptyStratum]:
    """The parent configurations without rows, whose distributions are taken to be uniform."""
    source = RowProbabilities(rows.table, rows.weights)
    for node in dag.nodes:
        parents = dag.parents(node)
        for at in np.argwhere(source.counts(parents) == 0)[:MOST_PROBES].tolist() if parents else ():
            states = {name: source.variable(name).states[k] for name, k in zip(parents, at, strict=True)}
            yield EmptyStratum(states, 0.0, f"P({node} | ...) is taken to be uniform there")

"""Possible effects: the effect in each DAG of an equivalence class, without listing the DAGs (IDA).

References
----------
M. H. Maathuis, M. Kalisch and P. Bühlmann (2009). Estimating high-dimensional intervention effects from observational
data. Annals of Statistics 37, 3133-3164.

E. Perković, M. Kalisch and M. H. Maathuis (2017). Interpreting and using CPDAGs with background knowledge. UAI 33.

J. Witte, L. Henckel, M. H. Maathuis and V. Didelez (2020). On efficient adjustment in causal graphs. Journal of Machine
Learning Research 21(246).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk.causal.estimation import (
    Sampling,
    adjustment_formula,
    at_settings,
    descendants,
    from_rows,
    rows_of,
)
from bntk.causal.formula import Formula, Probability, as_probabilities
from bntk.causal.questions import Question, numbers_of, read_question
from bntk.causal.results import Effect
from bntk.data.numbers import N_BINS, Reading
from bntk.data.variable import Variable
from bntk.errors import DataError, GraphError, TooLargeError
from bntk.graph.dag import DAG
from bntk.graph.equivalence import PDAG, consistent_extension, meek
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

METHODS = ("optimal", "local")
#: Neighbours without direction of the variable that is set: of so many, all subsets are tried.
MOST_NEIGHBORS = 16


@dataclass(frozen=True, eq=False)
class PossibleEffects:
    """The effects of a variable in the DAGs of an equivalence class, one for each set of its parents.

    Attributes
    ----------
    parents : tuple of tuples of str
        The sets of parents that the variable has in some DAG of the class.
    adjusted : tuple of tuples of str, or None
        What each effect adjusts for; None where the outcome is no effect of the variable.
    effects : tuple of Effect
        The effect for each set of parents.
    """

    parents: tuple[tuple[str, ...], ...]
    adjusted: tuple[tuple[str, ...] | None, ...]
    effects: tuple[Effect, ...]

    def __len__(self) -> int:
        return len(self.effects)

    def __iter__(self) -> Iterator[Effect]:
        return iter(self.effects)

    @property
    def averages(self) -> Floats:
        """The multiset of average effects: differences of expected values, in increasing order."""
        return np.sort([effect.average for effect in self.effects])

    def differences(self, state: Any) -> Floats:
        """The multiset of differences of the probability of a state, in increasing order."""
        (variable,) = self.effects[0].question.outcome
        state = variable.states[variable.code(state)]
        return np.sort([effect.difference[state] for effect in self.effects])

    def to_frame(self) -> pd.DataFrame:
        """The frames of all effects, below one another, with the parents and what is adjusted for."""
        import pandas as pd

        frames = []
        for parents, adjusted, effect in zip(self.parents, self.adjusted, self.effects, strict=True):
            frame = effect.to_frame()
            frame.insert(0, "parents", ", ".join(parents) or "-")
            frame.insert(1, "adjusted for", "no effect" if adjusted is None else ", ".join(adjusted) or "-")
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    @property
    def heading(self) -> str:
        """What was asked for."""
        return f"{len(self)} possible effects: {self.effects[0].heading}"

    def __repr__(self) -> str:
        return f"{self.heading}\n{self.to_frame().round(4).to_string(index=False)}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.heading)}</p>{self.to_frame().round(4).to_html(index=False)}"


def possible_effects(
    graph: PDAG | DAG,
    source: Any,
    y: str,
    do: Mapping[str, Any] | str,
    *,
    versus: Mapping[str, Any] | None = None,
    values: Any = None,
    method: str = "optimal",
    variables: Sequence[Variable] | None = None,
    weights: ArrayLike | None = None,
    numeric: str | Mapping[str, Any] = "auto",
    n_bins: int = N_BINS,
    resamples: int = 0,
    level: float = 0.95,
    seed: int = 0,
    progress: bool = False,
) -> PossibleEffects:
    """The effects that a variable may have, when only the equivalence class of the causal graph is known (IDA).

    For each set of parents that the variable has in some DAG of the class, its effect is found by adjustment: for these
    parents (``"local"``, Maathuis, Kalisch and Bühlmann 2009) or for the optimal set in all DAGs with these parents
    (``"optimal"``, Witte et al. 2020), which varies less from sample to sample. With probabilities in place of rows
    both are the same. Where the outcome is no descendant, there is no effect: it keeps its distribution. A set of
    parents counts once, in however many DAGs it is; so the distinct effects are those of all DAGs, not how often they
    occur.

    Parameters
    ----------
    graph : PDAG or DAG
        The equivalence class, such as ``bn.dag.cpdag()``, perhaps with further arcs that are known; a DAG stands for
        its class. Nothing else is a common cause.
    source : Table, data frame, mapping of columns, or BayesianNetwork
        Rows of all variables, or a network that has their probabilities, such as one that was fitted to any DAG of the
        class.
    y : str
        The outcome.
    do : mapping or str
        The variable that is set, to a state or to all of its states in turn.
    versus : mapping, optional
        The setting to compare with.
    values : mapping or sequence, optional
        The number that each state of the outcome stands for; by default the states, if they are numbers.
    method : {"optimal", "local"}
        What to adjust for.
    variables, weights, numeric, n_bins, resamples, level, seed, progress
        As for :func:`estimate_effect`, when the source has rows.

    Returns
    -------
    PossibleEffects

    Examples
    --------
    >>> import bntk
    >>> bn = bntk.datasets.sprinkler()
    >>> found = possible_effects(bn.dag.cpdag(), bn, "wet", {"rain": "yes"}, versus={"rain": "no"})
    >>> found.parents
    ((), ('cloudy',))
    >>> found.differences("yes").round(3)
    array([0.538, 0.657])
    """
    _checking.one_of("method", method, METHODS)
    pdag = graph.cpdag() if isinstance(graph, DAG) else _checking.instance("graph", graph, PDAG)
    sampling = Sampling(resamples, level, seed, progress)
    if isinstance(source, BayesianNetwork):
        rows, known = None, dict(zip(source.names, source.variables, strict=True))
    else:
        rows = rows_of(pdag, source, [], variables, weights, Reading(numeric, n_bins))
        known = dict(zip(rows[0].names, rows[0].variables, strict=True))
    question = read_question(known, y, do, versus)
    if len(question.set_names) != 1 or len(question.outcome) != 1:
        raise DataError("possible effects are those of one variable on another: y and do name one each")
    numbers, (x,), outcome = numbers_of(question.outcome, values), question.set_names, question.outcome[0].name
    for name in (x, outcome):
        pdag.index(name)
    parents, adjusted, effects = [], [], []
    for chosen, directed in _orientations(pdag, x):
        formula, adjusting = _formula(directed, x, outcome, chosen, method)
        parents.append(chosen)
        adjusted.append(adjusting)
        if rows is None:
            effects.append(_from_network(source, question, numbers, formula))
        else:
            effects.append(from_rows(*rows, question, numbers, formula, adjusting, "leave", sampling))
    return PossibleEffects(tuple(parents), tuple(adjusted), tuple(effects))


def possible_parents(graph: PDAG | DAG, x: str) -> list[tuple[str, ...]]:
    """The sets of parents that a node has in the DAGs of an equivalence class.

    Parameters
    ----------
    graph : PDAG or DAG
        The class; a DAG stands for its class.
    x : str
        The node.

    Examples
    --------
    >>> import bntk
    >>> possible_parents(bntk.DAG.parse("a -> b -> c"), "b")
    [(), ('a',), ('c',)]
    """
    pdag = graph.cpdag() if isinstance(graph, DAG) else _checking.instance("graph", graph, PDAG)
    return [chosen for chosen, _ in _orientations(pdag, x)]


def _orientations(pdag: PDAG, x: str) -> Iterator[tuple[tuple[str, ...], PDAG]]:
    """Each set of parents of a node in the DAGs of a class, with the class of the DAGs that have it.

    Smaller sets first, in node order. A set is one when the edges of the node can be directed so, without a cycle or a
    v-structure that the class has not.
    """
    node = pdag.index(x)
    around = pdag.neighbor_indices[node]
    if len(around) > MOST_NEIGHBORS:
        raise TooLargeError(
            f"{x!r} has {len(around)} edges without a direction, so that {2 ** len(around):,} sets of parents would be "
            f"tried; at most {MOST_NEIGHBORS} edges are allowed: direct some that are known"
        )
    expected = set(_extension(pdag).v_structures())
    for size in range(len(around) + 1):
        for tails in combinations(around, size):
            try:
                directed = meek(_directed_at(pdag, node, tails))
                inside = set(consistent_extension(directed).v_structures()) == expected
            except GraphError:
                continue
            if inside:
                yield directed.parents(x), directed


def _extension(pdag: PDAG) -> DAG:
    try:
        return consistent_extension(pdag)
    except GraphError as error:
        raise GraphError(
            f"the graph is no equivalence class: no DAG has its arcs, edges and v-structures ({error})"
        ) from None


def _directed_at(pdag: PDAG, node: int, tails: Sequence[int]) -> PDAG:
    """The graph in which some edges of a node lead into it, and all others away from it."""
    nodes = pdag.nodes
    arcs = [*pdag.directed, *((nodes[u], nodes[node]) for u in tails)]
    arcs += [(nodes[node], nodes[u]) for u in pdag.neighbor_indices[node] if u not in tails]
    edges = [edge for edge in pdag.undirected if nodes[node] not in edge]
    return PDAG(nodes, arcs, edges)


def _formula(
    graph: PDAG, x: str, y: str, parents: Sequence[str], method: str
) -> tuple[Formula, tuple[str, ...] | None]:
    """The formula of the effect in the DAGs of a class in which all edges of ``x`` have a direction."""
    if y not in descendants(graph, [x]):
        return Formula((y,), (x,), (), Probability((y,))), None
    adjusting = tuple(parents)
    if method == "optimal":
        best = graph.optimal_adjustment_set(x, y)
        adjusting = adjusting if best.names is None else tuple(best.names)
    return adjustment_formula([y], [x], adjusting), adjusting


def _from_network(network: BayesianNetwork, question: Question, values: Floats | None, formula: Formula) -> Effect:
    probabilities = as_probabilities(network)
    p = at_settings(formula.evaluate(probabilities).values, formula, question, [{}], probabilities.variable)
    return Effect(question, [{}], p, values, method=f"by {formula}, from the network")

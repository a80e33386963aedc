"""Scores: how good a structure is for data, in natural logarithms; higher is better, always.

Any score can be given by name; see :func:`by_name`. The classes in the modules of this package that declare a ``name``
are its scores: nothing else lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from bntk._declared import SCORES
from bntk.data.numbers import N_BINS, Reading
from bntk.errors import ArgumentError
from bntk.graph.dag import DAG, as_dag
from bntk.learning.counts import as_counter
from bntk.learning.moves import DELETE, Move, as_moves
from bntk.learning.scores.base import Evaluator, Score, by_name
from bntk.learning.scores.confusion import MI as MI
from bntk.learning.scores.confusion import ConfusionScore
from bntk.learning.scores.decomposable import DecomposableScore
from bntk.learning.scores.explain import ScoreTerms, explain
from bntk.learning.scores.family_evaluator import FamilyEvaluator
from bntk.learning.scores.predictive import PredictiveScore
from bntk.learning.scores.predictive_evaluator import PredictiveEvaluator
from bntk.learning.scores.support import ArcSupport

if TYPE_CHECKING:  # editors and type checkers see these; a score that is not here works all the same
    from bntk.learning.scores.confusion import CEN as CEN
    from bntk.learning.scores.confusion import IM as IM
    from bntk.learning.scores.confusion import MAE as MAE
    from bntk.learning.scores.confusion import MCC as MCC
    from bntk.learning.scores.confusion import Accuracy as Accuracy
    from bntk.learning.scores.confusion import MutualInformation as MutualInformation
    from bntk.learning.scores.decomposable import AIC as AIC
    from bntk.learning.scores.decomposable import BIC as BIC
    from bntk.learning.scores.decomposable import FNML as FNML
    from bntk.learning.scores.decomposable import HGC as HGC
    from bntk.learning.scores.decomposable import K2 as K2
    from bntk.learning.scores.decomposable import QNML as QNML
    from bntk.learning.scores.decomposable import SB as SB
    from bntk.learning.scores.decomposable import BDeu as BDeu
    from bntk.learning.scores.decomposable import BDeuPerClass as BDeuPerClass
    from bntk.learning.scores.decomposable import BDs as BDs
    from bntk.learning.scores.decomposable import LogLikelihood as LogLikelihood
    from bntk.learning.scores.predictive import CV as CV
    from bntk.learning.scores.predictive import LC as LC
    from bntk.learning.scores.predictive import LOO as LOO

globals().update(SCORES.load())

__all__ = [
    *SCORES.classes,
    "ArcSupport",
    "ConfusionScore",
    "DecomposableScore",
    "Evaluator",
    "FamilyEvaluator",
    "PredictiveEvaluator",
    "PredictiveScore",
    "Score",
    "ScoreTerms",
    "arc_strength",
    "by_name",
    "explain",
    "score",
    "score_by_node",
]


def score(
    dag: DAG | str,
    data: Any,
    score: str | Score = "bdeu",
    *,
    weights: ArrayLike | None = None,
    intervened: Any = None,
    numeric: str | Mapping[str, Any] = "auto",
    n_bins: int = N_BINS,
) -> float:
    """The score of a structure on data.

    Parameters
    ----------
    dag : DAG or str
        The structure; a string is read by :meth:`DAG.parse`.
    data : Table, data frame, mapping of columns, or Counter
        Must have a column for each node; others are ignored.
    score : str or Score
        A name such as ``"bdeu"`` or ``"bic"``, or an object such as ``bntk.scores.BDeu(10)``.
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

    Examples
    --------
    >>> data = {"rain": ["no", "no", "yes", "yes"], "wet": ["no", "yes", "yes", "yes"]}
    >>> round(score("rain -> wet", data, "bic"), 4), round(score("wet -> rain", data, "bic"), 4)
    (-6.2383, -6.2383)
    """
    nodes, evaluator = _evaluator(dag, data, by_name(score), weights, intervened, Reading(numeric, n_bins))
    if isinstance(evaluator, FamilyEvaluator):
        return float(evaluator.locals([(node, evaluator.parents[node]) for node in nodes]).sum())
    return evaluator.total()


def score_by_node(
    dag: DAG | str,
    data: Any,
    score: str | Score = "bdeu",
    *,
    weights: ArrayLike | None = None,
    intervened: Any = None,
    numeric: str | Mapping[str, Any] = "auto",
    n_bins: int = N_BINS,
) -> dict[str, float]:
    """The score of each node given its parents, for scores that are sums over families; see :func:`score`.

    Examples
    --------
    >>> data = {"rain": ["no", "no", "yes", "yes"], "wet": ["no", "yes", "yes", "yes"]}
    >>> {name: round(value, 4) for name, value in score_by_node("rain -> wet", data, "k2").items()}
    {'rain': -3.4012, 'wet': -2.8904}
    """
    nodes, evaluator = _evaluator(dag, data, by_name(score), weights, intervened, Reading(numeric, n_bins))
    if not isinstance(evaluator, FamilyEvaluator):
        raise ArgumentError(f"{score!r} is not a sum over families, so that no node has a score of its own")
    values = evaluator.locals([(node, evaluator.parents[node]) for node in nodes])
    return {evaluator.names[node]: value for node, value in zip(nodes, values.tolist(), strict=True)}


def arc_strength(
    structure: Any,
    data: Any,
    score: str | Score = "bdeu",
    *,
    weights: ArrayLike | None = None,
    intervened: Any = None,
    numeric: str | Mapping[str, Any] = "auto",
    n_bins: int = N_BINS,
) -> ArcSupport:
    """The strength of each arc by a score: how much the score falls when the arc alone is taken away.

    Parameters
    ----------
    structure : DAG, BayesianNetwork, result of a search, or str
        The structure; a string is read by :meth:`DAG.parse`.
    data : Table, data frame, mapping of columns, or Counter
        Must have a column for each node; others are ignored.
    score : str or Score
        Any score: a name such as ``"bdeu"`` or ``"bic"``, or an object such as ``bntk.scores.LOO("dysp")``.
    weights, intervened, numeric, n_bins
        See :func:`score`.

    Returns
    -------
    ArcSupport
        A mapping from arcs to numbers, with ``to_frame()`` and ``plot()``. It may be given as ``strengths`` to other
        plots of the structure.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.sprinkler().sample(1000, seed=0)
    >>> found = arc_strength("cloudy -> rain -> wet <- sprinkler; cloudy -> wet", rows, "bic")
    >>> {arc: round(value, 1) for arc, value in found.items()}
    {('cloudy', 'rain'): 179.8, ('cloudy', 'wet'): -12.7, ('rain', 'wet'): 249.3, ('sprinkler', 'wet'): 220.4}
    """
    dag = as_dag(getattr(structure, "dag", structure), "structure")
    kind = by_name(score)
    nodes, evaluator = _evaluator(dag, data, kind, weights, intervened, Reading(numeric, n_bins))
    place = dict(zip(dag.nodes, nodes, strict=True))
    moves = as_moves([Move(DELETE, place[tail], place[head]) for tail, head in dag.arcs])
    changes = evaluator.gains(moves).tolist() if len(moves) else []
    return ArcSupport(
        dag,
        score if isinstance(score, str) else str(kind),
        {arc: -change for arc, change in zip(dag.arcs, changes, strict=True)},
    )


def _evaluator(
    dag: DAG | str, data: Any, score: Score, weights: ArrayLike | None, intervened: Any, reading: Reading
) -> tuple[list[int], Evaluator]:
    """An evaluator that holds the structure, and the positions of its nodes among the variables of the data."""
    dag = as_dag(dag)
    counter = as_counter(data, weights=weights, intervened=intervened, only=dag.nodes, reading=reading)
    nodes = [counter.names.index(name) for name in dag.nodes]
    return nodes, score.evaluator(counter, DAG(counter.names, dag.arcs))

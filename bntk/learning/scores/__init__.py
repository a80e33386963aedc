"""Scores: what a structure is worth on data. Natural logarithms, and higher is better, always.

Any score can be given by name; see :func:`by_name`.
"""

from __future__ import annotations

from typing import Any

from bntk.data.table import as_table
from bntk.errors import DataError
from bntk.graph.dag import DAG
from bntk.learning.counts import Counter, TableCounter
from bntk.learning.scores.base import Evaluator, Score
from bntk.learning.scores.confusion import Accuracy, ConfusionScore
from bntk.learning.scores.decomposable import (
    AIC,
    BIC,
    FNML,
    HGC,
    K2,
    QNML,
    SB,
    BDeu,
    BDs,
    DecomposableScore,
    LogLikelihood,
)
from bntk.learning.scores.explain import ScoreTerms, explain
from bntk.learning.scores.family_evaluator import FamilyEvaluator
from bntk.learning.scores.predictive import CV, LC, LOO, PredictiveScore
from bntk.learning.scores.predictive_evaluator import PredictiveEvaluator

__all__ = [
    "AIC",
    "BIC",
    "CV",
    "FNML",
    "HGC",
    "K2",
    "LC",
    "LOO",
    "QNML",
    "SB",
    "Accuracy",
    "BDeu",
    "BDs",
    "ConfusionScore",
    "DecomposableScore",
    "Evaluator",
    "FamilyEvaluator",
    "LogLikelihood",
    "PredictiveEvaluator",
    "PredictiveScore",
    "Score",
    "ScoreTerms",
    "by_name",
    "explain",
    "score",
    "score_by_node",
]

_BY_NAME: dict[str, type[Score]] = {
    "loglik": LogLikelihood,
    "ll": LogLikelihood,
    "aic": AIC,
    "bic": BIC,
    "bdeu": BDeu,
    "bds": BDs,
    "k2": K2,
    "hgc": HGC,
    "sb": SB,
    "fnml": FNML,
    "qnml": QNML,
    "loo": LOO,
    "lc": LC,
    "cv": CV,
    "accuracy": Accuracy,
}


def by_name(score: str | Score) -> Score:
    """A score by its name, in any case and with its default parameters; a score is returned as it is.

    Examples
    --------
    >>> by_name("BDeu"), by_name(HGC(alpha=0.5))
    (BDeu(ess=1.0), HGC(alpha=0.5))
    """
    if isinstance(score, Score):
        return score
    found = _BY_NAME.get(score.lower()) if isinstance(score, str) else None
    if found is None:
        raise ValueError(
            f"score={score!r} is not known; the choices are {', '.join(_BY_NAME)}, or a score such as BDeu(ess=10)"
        )
    return found()


def score(dag: DAG | str, data: Any, score: str | Score = "bdeu") -> float:
    """The score of a structure on data.

    Parameters
    ----------
    dag : DAG or str
        The structure; a string is read by :meth:`DAG.parse`.
    data : Table, data frame, mapping of columns, or Counter
        Must have a column for each node; others are ignored.
    score : str or Score
        A name such as ``"bdeu"`` or ``"bic"``, or an object such as ``bntk.scores.BDeu(10)``.

    Examples
    --------
    >>> data = {"rain": ["no", "no", "yes", "yes"], "wet": ["no", "yes", "yes", "yes"]}
    >>> round(score("rain -> wet", data, "bic"), 4), round(score("wet -> rain", data, "bic"), 4)
    (-6.2383, -6.2383)
    """
    nodes, evaluator = _evaluator(dag, data, by_name(score))
    if isinstance(evaluator, FamilyEvaluator):
        return float(evaluator.locals([(node, evaluator.parents[node]) for node in nodes]).sum())
    return evaluator.total()


def score_by_node(dag: DAG | str, data: Any, score: str | Score = "bdeu") -> dict[str, float]:
    """The score of each node given its parents, for scores that are sums over families; see :func:`score`.

    Examples
    --------
    >>> data = {"rain": ["no", "no", "yes", "yes"], "wet": ["no", "yes", "yes", "yes"]}
    >>> {name: round(value, 4) for name, value in score_by_node("rain -> wet", data, "k2").items()}
    {'rain': -3.4012, 'wet': -2.8904}
    """
    nodes, evaluator = _evaluator(dag, data, by_name(score))
    if not isinstance(evaluator, FamilyEvaluator):
        raise TypeError(f"{score!r} is not a sum over families, so that no node has a score of its own")
    values = evaluator.locals([(node, evaluator.parents[node]) for node in nodes])
    return {evaluator.names[node]: value for node, value in zip(nodes, values.tolist(), strict=True)}


def _evaluator(dag: DAG | str, data: Any, score: Score) -> tuple[list[int], Evaluator]:
    """An evaluator that holds the structure, and the positions of its nodes among the variables of the data."""
    dag = DAG.parse(dag) if isinstance(dag, str) else dag
    counter = data if isinstance(data, Counter) else TableCounter(as_table(data, only=dag.nodes))
    absent = [name for name in dag.nodes if name not in counter.names]
    if absent:
        raise DataError(f"the data have no column for {absent}; they have {list(counter.names)}")
    nodes = [counter.names.index(name) for name in dag.nodes]
    return nodes, score.evaluator(counter, DAG(counter.names, dag.arcs))

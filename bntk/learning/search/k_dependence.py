"""Sahami's k-dependence classifiers: parents straight from mutual information, without a search.

References
----------
M. Sahami (1996). Learning limited dependence Bayesian classifiers. KDD-96, 335-338.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._interrupts import BestSoFar
from bntk.graph.dag import DAG
from bntk.learning.counts import Counter, PairTables
from bntk.learning.information import mutual_information
from bntk.learning.scores import LogLikelihood
from bntk.learning.scores.base import Evaluator, margins, pair_batch, single_batch
from bntk.learning.search.base import BEST_STRUCTURE, COUNT, Search, SearchResult, Step, check_options
from bntk.learning.search.stepwise import class_and_features

if TYPE_CHECKING:
    from bntk.learning.space import Space

Floats = NDArray[np.float64]

# Values that differ by less than this share of the largest are equal: it hides rounding.
TIE_SHARE = 1e-12


class FeatureInformation(NamedTuple):
    """The mutual information of features and the class, in nats.

    Attributes
    ----------
    with_class : ndarray of shape (n_features,)
        I(X_i; C): the mutual information of each feature and the class.
    given_class : ndarray of shape (n_features, n_features)
        I(X_i; X_j | C): that of each two features given the class; zero on the diagonal.
    """

    with_class: Floats
    given_class: Floats


def feature_information(counter: Counter, target: int, features: list[int]) -> FeatureInformation:
    """The mutual information of features and the class, each on the rows complete in its two or three variables.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.counts import TableCounter
    >>> rows = bntk.Table.from_columns({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "c": [0, 1, 0, 1]})
    >>> feature_information(TableCounter(rows), 2, [0, 1]).given_class.round(4)
    array([[0.    , 0.6931],
           [0.6931, 0.    ]])
    """
    with_class, given_class = np.zeros(len(features)), np.zeros((len(features), len(features)))
    for places, pairs in counter.pair_parts(target, features):
        with_class[places] = [mutual_information(pairs.single(i)) for i in range(len(places))]
        _fill_given_class(pairs, places, given_class)
    return FeatureInformation(with_class, given_class)


def _fill_given_class(pairs: PairTables, places: NDArray[np.int64], result: Floats) -> None:
    """Enter the information of each two features of some pair tables at the places of these features."""
    n = len(pairs.variables)
    batch, tails, heads = pair_batch(pairs)
    if not len(batch):
        return
    half = len(batch) // 2  # each pair is there twice, in both directions, with the same information
    loglik = LogLikelihood()
    singles = np.array([pairs.single(i).sum() for i in range(n)], dtype=np.float64)
    rows = np.add.reduceat(pairs.counts, batch.begins[:half]).astype(np.float64)
    gains = loglik.evaluate(batch, 0.0)
    if (rows < singles[heads[:half]] * (1 - TIE_SHARE)).any():
        gains -= loglik.evaluate(margins(batch), 0.0)
    else:
        gains -= loglik.evaluate(single_batch(pairs), 0.0)[heads]
    values = np.divide(gains[:half], rows, out=np.zeros(half), where=rows > 0)
    i, j = places[tails[:half]], places[heads[:half]]
    result[i, j] = result[j, i] = np.maximum(values, 0.0)


def k_dependence(found: FeatureInformation, k: int) -> tuple[list[int], list[list[int]]]:
    """The features by falling mutual information with the class, and the parents of each, the most informative first.

    The parents of a feature are the k features before it with the largest mutual information given the class; ties go
    to the first column.
    """
    order = _falling(found.with_class)
    parents: list[list[int]] = [[] for _ in order]
    for place, feature in enumerate(order):
        earlier = sorted(order[:place])
        chosen = _falling(found.given_class[feature, earlier])[:k]
        parents[feature] = [earlier[choice] for choice in chosen]
    return order, parents


def _falling(values: Floats) -> list[int]:
    """Positions from the largest value to the smallest; of equal ones the first comes first."""
    scale = TIE_SHARE * max(1.0, float(values.max(initial=0.0)))
    return np.argsort(-np.round(values / scale), kind="stable").tolist()


@dataclass(frozen=True)
class KDependence(Search):
    """Sahami's algorithm for k-dependence classifiers: parents chosen by mutual information, without a search.

    Features are ordered by falling mutual information with the class, I(X_i; C). The parents of a feature are the class
    and those k of the features before it with the largest conditional mutual information given the class,
    I(X_i; X_j | C). The score is used only to report the score of the result.

    Parameters
    ----------
    k : int
        The largest number of features that are parents of a feature.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.learn import learn_structure
    >>> table = bntk.datasets.asia().sample(1000, seed=1)
    >>> features = [name for name in table.names if name != "lung"]
    >>> space = bntk.spaces.kdb(features, "lung", k=1).reorder(table.names)
    >>> learn_structure(table, "loglik", space, KDependence(k=1)).dag.parents("xray")
    ('lung', 'either')
    """

    name = "kdb"
    aliases = ("sahami",)
    k: int = 2

    def __post_init__(self) -> None:
        check_options(self, k=COUNT)

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Find the structure; ``start``, ``seed`` and ``progress`` are ignored, as there is only one step."""
        began = time.perf_counter()
        target, features = class_and_features(space, type(self).__name__)
        counter: Counter = evaluator.counter  # type: ignore[attr-defined]
        dag = space.start()
        with BestSoFar(BEST_STRUCTURE) as so_far:
            _, parents = k_dependence(feature_information(counter, target, features), self.k)
            families = [(features[v], [features[p] for p in row]) for v, row in enumerate(parents)]
            dag = structure(space.nodes, target, families)
        evaluator.reset(dag)
        score, seconds = evaluator.total(), time.perf_counter() - began
        return SearchResult(
            dag, score, repr(self), interrupted=so_far.interrupted, n_evaluated=evaluator.n_evaluated, seconds=seconds,
            trace=(Step("start" if so_far.interrupted else "parents by mutual information", score, seconds),),
        )  # fmt: skip


def structure(nodes: tuple[str, ...], target: int, families: Iterable[tuple[int, list[int]]]) -> DAG:
    """The DAG in which the class and some other features are the parents of some features; all given by positions."""
    rows: list[tuple[int, ...]] = [()] * len(nodes)
    for child, parents in families:
        rows[child] = tuple(sorted((target, *parents)))
    return DAG._trusted(nodes, tuple(rows))

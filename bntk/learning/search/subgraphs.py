"""Class, bridge and feature subgraphs of a multi-dimensional classifier, part by part.

No arc leads from a feature into a class. So for a score that is a sum over families the best arcs among the classes do
not depend on the features; and with no arcs among features, the best classes for one feature do not depend on the other
features. With a tree or forest of few features, the best classes beside each possible parent in the tree are found, and
then the best tree. Else the two kinds of arcs into features are chosen by turns, each the best or nearly so given the
other, until nothing is gained.

References
----------
C. Bielza, G. Li, P. Larrañaga (2011). Multi-dimensional classification with Bayesian networks. International Journal of
Approximate Reasoning 52, 705-727.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk._interrupts import BestSoFar
from bntk.errors import DataError, SpaceError
from bntk.graph.dag import DAG
from bntk.learning.counts import Counter
from bntk.learning.scores import Score
from bntk.learning.scores.base import Evaluator
from bntk.learning.search.base import BEST_STRUCTURE, Search, SearchResult, Step
from bntk.learning.search.spanning import best_tree
from bntk.learning.space import Group, Space
from bntk.learning.space.named import mdbnc

if TYPE_CHECKING:
    from bntk.learning.scores.family_evaluator import FamilyEvaluator

#: All sets of classes are looked at for each feature where that are no more families than this; else a greedy choice.
MAX_FAMILIES = 60_000
#: Families that are scored at a time.
BATCH = 20_000
#: Features and classes up to which arcs of any shape into features are chosen by one search.
MAX_TOGETHER = 40
#: Rounds of choosing arcs from classes and arcs among features by turns.
MAX_ROUNDS = 10
#: A gain must be larger than this part of the score's size, so that rounding does not add arcs.
LEAST_GAIN = 1e-12

Parents = tuple[int, ...]


@dataclass(frozen=True)
class SubgraphSearch(Search):
    """Several classes: the best class, bridge and feature subgraphs of :func:`bntk.spaces.mdbnc`, one after the other.

    The class subgraph is learned from the classes alone, which loses nothing (a DAG of more than 40 classes by hill
    climbing); the parents of each feature among the classes by trying all sets (or, for very many, by the best step at
    a time); and the feature subgraph given these, by turns until nothing is gained.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.learn import learn_structure
    >>> rows = bntk.datasets.asia().sample(3000, seed=1)
    >>> space = bntk.spaces.mdbnc(["xray", "dysp"], ["lung", "bronc"], feature_shape="empty")
    >>> found = learn_structure(rows, "bic", space, SubgraphSearch())
    >>> found.exact, found.dag.parents("dysp"), found.dag.parents("xray")
    (True, ('lung', 'bronc'), ('lung',))
    """

    name = "subgraphs"

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search; where it begins is ignored."""
        return _Run(evaluator.by_family("SubgraphSearch"), space, seed).result()


def score_for(score: Score, counter: Counter) -> Score:
    """The score; where cells are missing, one that can compares families by their average over complete rows.

    The sum over the rows that are complete in a family favours families with many parents, which have fewer of them.
    """
    if counter.incomplete and getattr(score, "missing", None) == "available":
        return replace(score, missing="average")  # type: ignore[type-var]
    return score


class _Bridge:
    """The arcs from classes to features: which are best for a feature, given its other parents.

    Parameters
    ----------
    evaluator : FamilyEvaluator
        Over the features and then the classes.
    n_features : int
    limit : int, optional
        Largest number of classes that are parents of one feature.
    """

    def __init__(self, evaluator: FamilyEvaluator, n_features: int, limit: int | None) -> None:
        self.evaluator, self.n_features = evaluator, n_features
        self.classes = range(n_features, len(evaluator.names))
        self.limit = len(self.classes) if limit is None else min(limit, len(self.classes))
        n_sets = sum(comb(len(self.classes), k) for k in range(self.limit + 1))
        self.exact = n_features * n_sets <= MAX_FAMILIES
        self.all_pairs_too = n_features**2 * n_sets <= MAX_FAMILIES

    def choose(self, beside: list[Parents], at_least_one: set[int]) -> list[Parents]:
        """The classes for each feature, given its parents among the features; of equals fewer, then the first.

        Features of ``at_least_one`` must have some.
        """
        if self.exact:
            return [self.best(feature, other, int(feature in at_least_one))[0] for feature, other in enumerate(beside)]
        return [self._by_steps(feature, other, int(feature in at_least_one)) for feature, other in enumerate(beside)]

    def best(self, feature: int, beside: Parents, least: int = 0) -> tuple[Parents, float]:
        """The best set of classes, and the score of the family."""
        sets = [chosen for k in range(least, self.limit + 1) for chosen in combinations(self.classes, k)]
        values = np.concatenate(
            [
                self.evaluator.locals([(feature, (*beside, *chosen)) for chosen in sets[first : first + BATCH]])
                for first in range(0, len(sets), BATCH)
            ]
        )
        top = float(values.max())
        return sets[int(np.flatnonzero(values >= top - LEAST_GAIN * abs(top))[0])], top

    def _by_steps(self, feature: int, beside: Parents, least: int) -> Parents:
        """Add or remove the class that gains most, as long as it pays."""
        among = np.zeros(len(self.evaluator.names), dtype=bool)
        among[self.n_features :] = True
        chosen: set[int] = set()
        size = abs(self.evaluator.local(feature, beside))
        while True:
            self.evaluator.change({feature: frozenset({*beside, *chosen})})
            gains = self.evaluator.toggles(feature, among)
            for c in self.classes:
                if (len(chosen) == self.limit and c not in chosen) or (len(chosen) == least and c in chosen):
                    gains[c] = -np.inf
            best = int(np.nanargmax(gains))
            if not gains[best] > LEAST_GAIN * size and len(chosen) >= least:
                return tuple(sorted(chosen))
            chosen ^= {best}


def _shapes(space: Space) -> tuple[str, str, str, int | None]:
    """The shapes of the class and feature subgraphs, and the mode and limit of the arcs from classes to features."""
    groups, links = space.groups, space.links
    if len(groups) == 2 and len(links) == 1:
        classes, features = groups
        limit = links[0].max_parents
        plain = mdbnc(
            features.nodes, classes.nodes, class_shape=classes.shape, feature_shape=features.shape,
            bridge=links[0].mode, max_bridge_parents=limit,
        )  # fmt: skip
        if plain == space and links[0].mode != "none":
            return classes.shape, features.shape, links[0].mode, limit
    raise SpaceError("SubgraphSearch needs a space of bntk.spaces.mdbnc without roots or other constraints")


def _tails(gains: NDArray[np.float64], shape: str) -> list[int]:
    """The parent of each node in the best tree or forest, -1 for none; gains by tail and head."""
    others = ~np.eye(len(gains), dtype=bool)
    found: list[int] = best_tree(gains, allowed=others, required=others & False, forest=shape == "forest").tolist()
    return found


def _united(some: list[Parents], more: list[Parents]) -> list[Parents]:
    return [(*u, *v) for u, v in zip(some, more, strict=True)]


class _Run:
    """One search."""

    def __init__(self, evaluator: FamilyEvaluator, space: Space, seed: int) -> None:
        self.began = time.perf_counter()
        self.class_shape, self.feature_shape, self.mode, self.limit = _shapes(space)
        if evaluator.counter.directed:
            raise DataError(
                "SubgraphSearch does not know of variables that were set by an experiment (intervened=): use hc or tabu"
            )
        self.evaluator, self.counter, self.score, self.seed = evaluator, evaluator.counter, evaluator.score, seed
        self.names, self.targets = tuple(space.groups[1].nodes), tuple(space.groups[0].nodes)
        self.n_features = len(self.names)
        self.trace: list[Step] = []
        first = space.start()
        self._among = SearchResult(first.subgraph(self.targets), 0.0, "start")
        self._into = list(first.parent_indices[: self.n_features])

    def result(self) -> SearchResult:
        exact = False
        with BestSoFar(BEST_STRUCTURE) as so_far:
            self._among = self._among_classes()
            self._into, exact = self._into_features(self.feature_shape)
        among_classes, names = self._among, self.counter.names
        arcs = [(names[u], names[v]) for v, chosen in enumerate(self._into) for u in chosen]
        self.evaluator.reset(DAG(names, [*among_classes.dag.arcs, *arcs]))
        score = self.evaluator.total()
        return SearchResult(
            self.evaluator.dag, score, f"classes: {among_classes.search}; features part by part",
            exact and among_classes.exact, so_far.interrupted, self.evaluator.n_evaluated + among_classes.n_evaluated,
            self._seconds(), (*self.trace, Step("all", score, self._seconds())),
        )  # fmt: skip

    def _among_classes(self) -> SearchResult:
        if self.class_shape == "empty":
            return SearchResult(DAG(self.targets, []), 0.0, "no arcs", exact=True)
        # Of very many classes a more thorough search takes fifty times as long and predicts no better.
        search = "hc" if self.class_shape == "dag" and len(self.targets) > MAX_TOGETHER else "auto"
        space = Space(self.targets, groups=[Group(self.targets, self.class_shape)])
        return self._search(self._selected(self.targets), space, search)

    def _search(self, counter: Counter, space: Space, search: str = "auto") -> SearchResult:
        from bntk.learning.learn import learn_structure  # which chooses among all searches

        return learn_structure(counter, self.score, space, search, seed=self.seed)

    def _into_features(self, shape: str) -> tuple[list[Parents], bool]:
        """The best parents found for each feature, and whether none are better."""
        bridge = _Bridge(self.evaluator, self.n_features, self.limit)
        nothing: list[Parents] = [()] * self.n_features
        if shape == "empty" or self.n_features == 1:
            return self._bridge(bridge, nothing), bridge.exact or self.mode == "all"
        if self.mode == "all":
            classes = self._bridge(bridge, nothing)
            return _united(self._among_features(shape, classes), classes), shape in ("tree", "forest")
        if shape in ("tree", "forest") and self.mode == "optional" and bridge.all_pairs_too:
            return self._best_trees(bridge, shape), True
        if shape not in ("tree", "forest") and len(self.counter.names) <= MAX_TOGETHER:
            return self._together(shape), False
        found = [self._by_turns(bridge, shape, nothing)]
        if self.mode == "optional":
            found.append(self._by_turns(bridge, shape, self._among_features(shape, nothing)))
        return max(found, key=self._score_of), False

    def _best_trees(self, bridge: _Bridge, shape: str) -> list[Parents]:
        """The best tree when each feature has the classes that are best beside its parent in the tree."""
        n = self.n_features
        best = {(v, u): bridge.best(v, () if u < 0 else (u,)) for v in range(n) for u in range(-1, n) if u != v}
        gains = np.full((n, n), -np.inf)
        for (v, u), (_, value) in best.items():
            if u >= 0:
                gains[u, v] = value - best[v, -1][1]
        return [(*(() if u < 0 else (u,)), *best[v, u][0]) for v, u in enumerate(_tails(gains, shape))]

    def _together(self, shape: str) -> list[Parents]:
        """Both kinds of arcs into features by one search."""
        space = mdbnc(
            self.names,
            self.targets,
            class_shape="empty",
            feature_shape=shape,
            bridge=self.mode,
            max_bridge_parents=self.limit,
        )
        found = self._search(self.counter, space)
        return list(found.dag.parent_indices[: self.n_features])

    def _by_turns(self, bridge: _Bridge, shape: str, beside: list[Parents]) -> list[Parents]:
        """Arcs from classes given those among features, and the other way round, until nothing is gained."""
        best: list[Parents] = []
        for _ in range(MAX_ROUNDS):
            classes = self._bridge(bridge, beside)
            beside = self._among_features(shape, classes)
            parents = _united(beside, classes)
            value = self._score_of(parents)
            self.trace.append(Step("parents of features", value, self._seconds()))
            if best and not value > self._score_of(best) + LEAST_GAIN * abs(value):
                break
            best = parents
            self._into = max(self._into, best, key=self._score_of)
        return best

    def _score_of(self, parents: list[Parents]) -> float:
        return float(self.evaluator.locals(list(enumerate(parents))).sum())

    def _bridge(self, bridge: _Bridge, beside: list[Parents]) -> list[Parents]:
        if self.mode == "all":
            return [tuple(bridge.classes)] * self.n_features
        linked = {v for v, u in enumerate(beside) if u} | {u for parents in beside for u in parents}
        return bridge.choose(beside, linked if self.mode == "discard" else set())

    def _among_features(self, shape: str, classes: list[Parents]) -> list[Parents]:
        """The arcs among features that are best for these parents among the classes."""
        kept = [v for v in range(self.n_features) if classes[v] or self.mode != "discard"]
        if len(kept) < 2:
            return [()] * self.n_features
        if shape in ("tree", "forest"):
            return self._tree_beside(shape, classes, kept)
        names = tuple(self.counter.names[v] for v in (*kept, *range(self.n_features, len(self.counter.names))))
        features, targets = names[: len(kept)], names[len(kept) :]
        required = [(self.counter.names[c], self.counter.names[v]) for v in kept for c in classes[v]]
        kept_arcs = {*required}
        space = mdbnc(features, targets, class_shape="empty", feature_shape=shape).restrict(
            required=required, forbidden=[(c, v) for c in targets for v in features if (c, v) not in kept_arcs]
        )
        found = self._search(self._selected(names), space).dag
        place = {name: v for v, name in enumerate(self.counter.names)}
        beside: list[Parents] = [()] * self.n_features
        for name in features:
            beside[place[name]] = tuple(place[u] for u in found.parents(name) if place[u] < self.n_features)
        return beside

    def _tree_beside(self, shape: str, classes: list[Parents], kept: list[int]) -> list[Parents]:
        """The best tree over some features; arcs into a feature gain what they do beside its classes."""
        among = np.zeros(len(self.counter.names), dtype=bool)
        among[kept] = True
        gains = np.empty((len(kept), len(kept)))
        for i, v in enumerate(kept):
            self.evaluator.change({v: frozenset(classes[v])})
            gains[:, i] = self.evaluator.toggles(v, among)[kept]
        np.fill_diagonal(gains, -np.inf)
        tails = _tails(gains, shape)
        beside: list[Parents] = [()] * self.n_features
        for i, u in enumerate(tails):
            beside[kept[i]] = () if u < 0 else (kept[u],)
        return beside

    def _selected(self, names: tuple[str, ...]) -> Counter:
        return self.counter if names == self.counter.names else self.counter.select(names)

    def _seconds(self) -> float:
        return time.perf_counter() - self.began

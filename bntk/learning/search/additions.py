"""Searches that only add arcs: greedy additions, with or without superparents, and the best star.

References
----------
E. Keogh and M. Pazzani (2002). Learning the structure of augmented Bayesian classifiers. International Journal on
Artificial Intelligence Tools 11, 587-601.

B. Mihaljević, C. Bielza and P. Larrañaga (2018). bnclassify: learning Bayesian network classifiers. The R Journal 10,
455-468.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk._interrupts import BestSoFar
from bntk.errors import SpaceError
from bntk.graph.dag import DAG
from bntk.learning.moves import ADD, Move, Moves
from bntk.learning.scores.base import Evaluator
from bntk.learning.search.base import BEST_STRUCTURE, Search, SearchResult, Step
from bntk.learning.search.stepwise import Change, Path, StepwiseSearch, first_best

if TYPE_CHECKING:
    from bntk.learning.space import Space


@dataclass(frozen=True, kw_only=True)
class GreedyAdditions(StepwiseSearch):
    """Greedy additions: add the best legal arc, as long as it gains at least ``epsilon``.

    Started from naive Bayes in the space :func:`bntk.spaces.fan`, it is TAN-HC of Keogh and Pazzani (2002); in
    :func:`bntk.spaces.kdb` it is the function ``kdb`` of R's bnclassify.

    Ties go to the first arc in the order of bnclassify: by tail, first the tails that can have no more parents
    themselves; then by head, the heads after the tail before those in front of it.

    Parameters
    ----------
    both_directions : bool
        When False, of the two arcs between nodes that both can have another parent only the one to the node that comes
        first is tried, as in bnclassify's ``tan_hc``: the two are equivalent, and score nearly the same.
    epsilon : float
        The least gain of a step, in units of the score: 0.01 is one row in a hundred for accuracies. With 0, steps
        that neither gain nor lose are taken, too.
    max_iter : int, optional
        The largest number of steps.
    time_budget : float, optional
        Seconds after which the search ends with the structure so far. Only with a time budget can the result depend on
        the machine.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.learn import learn_structure
    >>> table = bntk.datasets.asia().sample(1000, seed=1)
    >>> features = [name for name in table.names if name != "lung"]
    >>> space, score = bntk.spaces.fan(features, "lung"), bntk.scores.Accuracy(target="lung")
    >>> found = learn_structure(table, score, space, GreedyAdditions(epsilon=0.001))
    >>> [step.what for step in found.trace]
    ['start', 'add tub -> either', 'add either -> xray']
    """

    name = "additions"
    both_directions: bool = True

    def _begin(self, evaluator: Evaluator, space: Space, start: DAG | None) -> Path:
        return _Additions(evaluator, space, start, self.both_directions)


@dataclass(frozen=True, kw_only=True)
class SuperparentAdditions(StepwiseSearch):
    """Superparent additions (TAN-HCSP): add the best arc from the best superparent, while it gains ``epsilon``.

    The score of a superparent is that of the structure with all the arcs from it that are legal one by one. Only the
    arc to the child that gains most is then added. So a step evaluates twice as many structures as there are features,
    instead of one per pair (Keogh and Pazzani 2002). Ties go to the first superparent and child in column order.

    Parameters
    ----------
    epsilon : float
        The least gain of a step, in units of the score: 0.01 is one row in a hundred for accuracies. With 0, steps
        that neither gain nor lose are taken, too.
    max_iter : int, optional
        The largest number of steps.
    time_budget : float, optional
        Seconds after which the search ends with the structure so far. Only with a time budget can the result depend on
        the machine.
    """

    name = "superparent"

    def _begin(self, evaluator: Evaluator, space: Space, start: DAG | None) -> Path:
        return _Superparents(evaluator, space, start, both_directions=True)


class _Additions(Path):
    """Arcs that can be added; the walk knows which are legal, the evaluator their scores."""

    def __init__(self, evaluator: Evaluator, space: Space, start: DAG | None, both_directions: bool) -> None:
        self._walk = space.walk(start)
        self._evaluator = evaluator
        self._both_directions = both_directions
        self._moves: Moves = np.empty((0, 3), dtype=np.int64)
        evaluator.reset(self._walk.dag)

    def gains(self) -> NDArray[np.float64]:
        self._moves = self._additions()
        return self._evaluator.gains(self._moves)

    def _additions(self) -> Moves:
        legal = self._walk.masks().add
        tails, heads = np.nonzero(legal)
        opened = ~self._full()
        if not self._both_directions:
            twin = (tails < heads) & opened[tails] & opened[heads] & legal[heads, tails]
            tails, heads = tails[~twin], heads[~twin]
        order = np.lexsort((heads, opened[tails] & (heads < tails), tails, opened[tails]))
        return np.column_stack((np.full(len(order), ADD), tails[order], heads[order]))

    def _full(self) -> NDArray[np.bool_]:
        """The nodes that have as many parents as a rule allows."""
        arcs = self._walk.dag.adjacency()
        full = np.zeros(len(arcs), dtype=bool)
        for quota in self._walk.space.quotas:
            full |= quota.heads & (quota.counts(arcs) >= quota.limits)
        return full

    def describe(self, step: int) -> str:
        return Move(*self._moves[step].tolist()).describe(self._evaluator.names)

    def take(self, step: int) -> None:
        move = Move(*self._moves[step].tolist())
        self._walk.apply(move)
        self._evaluator.apply(move)


class _Superparents(_Additions):
    """Arcs that can be added from the superparent that is best just now."""

    def _additions(self) -> Moves:
        legal, parents = self._walk.masks().add, self._evaluator.parents
        tails = np.flatnonzero(legal.any(axis=1)).tolist()
        children = [np.flatnonzero(legal[tail]).tolist() for tail in tails]
        changes: list[Change] = [
            {head: parents[head] | {tail} for head in heads} for tail, heads in zip(tails, children, strict=True)
        ]
        best = first_best(self._evaluator.change_gains(changes), self._evaluator.total())
        if best is None:
            return np.empty((0, 3), dtype=np.int64)
        return np.array([(ADD, tails[best], head) for head in children[best]], dtype=np.int64)


@dataclass(frozen=True)
class BestStar(Search):
    """The best centre of a star, such as the superparent of a SPODE; exact.

    For spaces with one star, such as :func:`bntk.spaces.spode`. Every legal structure is evaluated; ties go to the
    first centre in column order.
    """

    name = "star"

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search; ``start``, ``seed`` and ``progress`` are ignored, as there is only one step."""
        began = time.perf_counter()
        stars = [group for group in space.groups if group.shape == "star"]
        if len(stars) != 1:
            raise SpaceError(f"BestStar needs a space with one star, such as spaces.spode(...), not {space!r}")
        held = space.start()
        evaluator.reset(held)
        bare = _without(held, stars[0].nodes)
        members = [space.index(name) for name in stars[0].nodes]
        changes: list[Change] = [
            {node: bare[node] if node == centre else bare[node] | {centre} for node in members} for centre in members
        ]
        changes = [change for change in changes if space.allows(_changed(held, change))]
        with BestSoFar(BEST_STRUCTURE) as so_far:
            best = first_best(evaluator.change_gains(changes), evaluator.total())
            held = held if best is None else _changed(held, changes[best])
        interrupted = so_far.interrupted
        evaluator.reset(held)
        score, seconds = evaluator.total(), time.perf_counter() - began
        trace = (Step("start" if interrupted else "best star", score, seconds),)
        return SearchResult(
            held, score, repr(self), not interrupted, interrupted, evaluator.n_evaluated, seconds, trace
        )  # fmt: skip


def _without(dag: DAG, members: Sequence[str]) -> list[frozenset[int]]:
    """The parents of each node but for arcs among the members."""
    inside = frozenset(dag.index(name) for name in members)
    return [frozenset(row) - (inside if node in inside else frozenset()) for node, row in enumerate(dag.parent_indices)]


def _changed(dag: DAG, change: Change) -> DAG:
    rows = [change.get(node, row) for node, row in enumerate(dag.parent_indices)]
    return DAG._trusted(dag.nodes, tuple(tuple(sorted(row)) for row in rows))

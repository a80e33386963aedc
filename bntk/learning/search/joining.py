"""Searches for semi-naive Bayes: features are joined into groups, and left out.

The features of a group depend on each other without restriction: they form a complete graph. Groups are independent of
each other given the class, and features that are left out have no arcs. A group is the same model as one variable whose
states are the combinations of theirs (Pazzani), but for the smoothing of its tables.

References
----------
M. Pazzani (1996). Constructive induction of Cartesian product attributes. Information, Statistics and Induction in
Science, 66-77.

B. Mihaljević, C. Bielza and P. Larrañaga (2018). bnclassify: learning Bayesian network classifiers. The R Journal 10,
455-468.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk.errors import SpaceError
from bntk.graph.dag import DAG
from bntk.learning.scores.base import Evaluator
from bntk.learning.search.stepwise import Change, Path, StepwiseSearch, class_and_features

if TYPE_CHECKING:
    from bntk.learning.space import Space

#: Features of a group, in the order of its arcs: each is the child of all before it.
Group = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class ForwardJoining(StepwiseSearch):
    """Forward sequential selection and joining (FSSJ) for semi-naive Bayes: one more feature per step.

    The search begins without features. A step adds a feature as a group of its own, or to a group (Pazzani 1996). Ties
    go first to steps that join no group, then to the first feature in column order, then to the oldest group.

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

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.learn import learn_structure
    >>> rows = {"a": [0, 0, 1, 1] * 10, "b": [0, 1, 0, 1] * 10, "c": [0, 1] * 20, "xor": [0, 1, 1, 0] * 10}
    >>> space = bntk.spaces.augmented(list("abc"), "xor", "dag", "discard")
    >>> search = ForwardJoining(epsilon=0)
    >>> found = learn_structure(rows, bntk.scores.LOO("xor"), space, search, start="xor -> a; b; c")
    >>> [step.what for step in found.trace][:2]
    ['start', 'join b to a']
    """

    name = "fssj"

    def _begin(self, evaluator: Evaluator, space: Space, start: DAG | None) -> Path:
        return _Inclusions(evaluator, space, space.start() if start is None else start, type(self).__name__)


@dataclass(frozen=True, kw_only=True)
class BackwardJoining(StepwiseSearch):
    """Backward sequential elimination and joining (BSEJ) for semi-naive Bayes: leave out a feature, or join two groups.

    The search begins with naive Bayes (Pazzani 1996). Ties go first to leaving out, then to the first feature in column
    order; a group has the place of its first feature.

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

    name = "bsej"

    def _begin(self, evaluator: Evaluator, space: Space, start: DAG | None) -> Path:
        if start is None:
            target, features = class_and_features(space, type(self).__name__)
            start = DAG(space.nodes, [(space.nodes[target], space.nodes[feature]) for feature in features])
        return _Reductions(evaluator, space, start, type(self).__name__)


class _Step(NamedTuple):
    """A step: the groups after it, the new parents of the features that it concerns, and what to call it."""

    groups: list[Group]
    change: Change
    word: str
    first: Group
    second: Group


class _Joining(Path):
    """Groups of features, and steps that change them."""

    def __init__(self, evaluator: Evaluator, space: Space, start: DAG, search: str) -> None:
        space.walk(start)  # refuses what is not legal
        self._evaluator = evaluator
        self._target, self._features = class_and_features(space, search)
        self._groups = _read_groups(start, self._target, self._features)
        self._steps: list[_Step] = []
        self._possible = [frozenset(np.flatnonzero(column).tolist()) for column in space.allowed.T]
        self._required = [frozenset(np.flatnonzero(column).tolist()) for column in space.required_matrix.T]
        self._limits = space.parent_limits.tolist()
        evaluator.reset(start)

    @abstractmethod
    def _list_steps(self) -> Iterable[_Step]:
        """All steps, in the order in which ties are decided."""

    def gains(self) -> NDArray[np.float64]:
        self._steps = [step for step in self._list_steps() if self._is_legal(step.change)]
        return self._evaluator.change_gains([step.change for step in self._steps])

    def _is_legal(self, change: Change) -> bool:
        return all(
            self._required[node] <= parents <= self._possible[node] and len(parents) <= self._limits[node]
            for node, parents in change.items()
        )

    def describe(self, step: int) -> str:
        chosen = self._steps[step]
        names = [", ".join(self._evaluator.names[v] for v in sorted(part)) for part in (chosen.first, chosen.second)]
        return f"{chosen.word} {names[0]} to {names[1]}" if names[1] else f"{chosen.word} {names[0]}"

    def take(self, step: int) -> None:
        self._groups = self._steps[step].groups
        self._evaluator.change(self._steps[step].change)

    def _parents(self, group: Group, among: Group) -> Change:
        """The parents of some features of a group."""
        return {v: frozenset((self._target, *group[:place])) for place, v in enumerate(group) if v in among}


class _Inclusions(_Joining):
    """Features that are not in yet come in. Groups are in the order in which their first features came."""

    def _list_steps(self) -> Iterable[_Step]:
        groups = self._groups
        inside = {v for group in groups for v in group}
        outside = [v for v in self._features if v not in inside]
        for v in outside:
            yield _Step([*groups, (v,)], self._parents((v,), (v,)), "add", (v,), ())
        for v in outside:
            for place, group in enumerate(groups):
                joined = (*group, v)
                after = [*groups[:place], joined, *groups[place + 1 :]]
                yield _Step(after, self._parents(joined, (v,)), "join", (v,), group)


class _Reductions(_Joining):
    """Features go out, or two groups are joined. Groups are in the order of their first columns."""

    def _list_steps(self) -> Iterable[_Step]:
        groups = self._groups
        where = {v: place for place, group in enumerate(groups) for v in group}
        for v in sorted(where):
            group, place = groups[where[v]], where[v]
            left = tuple(u for u in group if u != v)
            later = group[group.index(v) + 1 :]
            after = sorted([*groups[:place], *([left] if left else []), *groups[place + 1 :]], key=min)
            yield _Step(after, {v: frozenset(), **self._parents(left, later)}, "remove", (v,), ())
        for one, other in combinations(range(len(groups)), 2):
            joined = groups[other] + groups[one]
            after = [*groups[:one], joined, *groups[one + 1 : other], *groups[other + 1 :]]
            yield _Step(after, self._parents(joined, groups[one]), "join", groups[one], groups[other])


def _read_groups(dag: DAG, target: int, features: list[int]) -> list[Group]:
    """The groups of a structure, in the order of their first columns."""
    inside = [v for v in features if target in dag.parent_indices[v]]
    members: dict[frozenset[int], list[int]] = {}
    above = {v: frozenset(dag.parent_indices[v]) - {target} for v in inside}
    below: dict[int, set[int]] = {v: {u for u in inside if v in above[u]} for v in inside}
    for v in inside:
        members.setdefault(above[v] | below[v] | {v}, []).append(v)
    if any(set(found) != group for group, found in members.items()):
        raise SpaceError(
            f"the structure to begin with is not a semi-naive Bayes, in which the features of each group all depend on "
            f"each other: {dag}"
        )
    groups = [tuple(sorted(found, key=lambda v: len(above[v]))) for found in members.values()]
    return sorted(groups, key=min)

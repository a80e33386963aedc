"""Max-min parents and children, and hill climbing among them.

References
----------
I. Tsamardinos, L. E. Brown and C. F. Aliferis (2006). The max-min hill-climbing Bayesian network structure learning
algorithm. Machine Learning 65, 31-78.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from bntk import _checking
from bntk.graph.dag import DAG
from bntk.graph.equivalence import PDAG, cpdag
from bntk.graph.undirected import sorted_rows
from bntk.learning.independence.tests import Answer, Answers
from bntk.learning.scores.base import Evaluator
from bntk.learning.search.base import Search, SearchResult
from bntk.learning.search.blankets import separate
from bntk.learning.search.by_tests import (
    Asking,
    Floats,
    SearchByTests,
    Task,
    names_of,
    question,
    refuse_directed_cycle,
    strongest,
    symmetric,
)
from bntk.learning.search.greedy import HillClimbing
from bntk.learning.search.local import asking_about
from bntk.learning.search.orienting import relaxed_extension

if TYPE_CHECKING:
    from bntk.learning.space import Space


@dataclass(frozen=True, kw_only=True)
class MMPC(SearchByTests):
    """Max-min parents and children: the neighbours of each variable, without directions.

    The next candidate is the one whose weakest dependence on the target, given any of the neighbours found, is the
    strongest (Tsamardinos, Brown and Aliferis 2006). Two variables are joined when each is found for the other. The
    result's ``pdag`` has edges only, but for those that the space directs; its ``dag`` directs them in some acyclic
    way, with few v-structures, which says nothing about causes. For any score, which only says what that DAG is worth.

    Parameters
    ----------
    test : str, IndependenceTest or callable
        The test, as in :func:`bntk.independence`; or a function ``(x, y, given) -> p`` of names.
    alpha : float
        Variables are taken as independent where the p-value is above.
    max_given : int, optional
        The largest number of variables given.

    Examples
    --------
    >>> import bntk
    >>> MMPC().neighbors(bntk.datasets.asia().sample(5000, seed=1), "smoke")
    ('lung', 'bronc')
    """

    name = "mmpc"

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search; ``start`` and ``seed`` are ignored."""
        began = time.perf_counter()
        asking = self._tester(evaluator, space, progress)
        skeleton = joined(asking)
        refuse_directed_cycle(space, skeleton)
        known = [{a for a in row if not space.allowed[b, a]} for b, row in enumerate(skeleton)]
        edges = [{a for a in row if a not in known[b] and b not in known[a]} for b, row in enumerate(skeleton)]
        pdag = PDAG._trusted(space.nodes, sorted_rows(known), sorted_rows(edges))
        return self._result(asking, evaluator, began, relaxed_extension(pdag), pdag)

    def neighbors(self, data: Any, target: str, **options: Any) -> tuple[str, ...]:
        """The neighbours of one variable; it may find more than :meth:`run`, which asks all variables.

        Parameters
        ----------
        data : Table, data frame, mapping of columns, or Counter
            The rows.
        target : str
            The variable.
        **options
            ``variables``, ``weights``, ``numeric``, ``n_bins`` and ``identifiers``, as in :func:`bntk.learn`.

        Returns
        -------
        tuple of str
            In the order of the columns.
        """
        asking, place = asking_about(self, data, target, options)
        (found,) = asking.together([_neighbors(asking, place, asking.affinities_of(place))])
        return names_of(asking.space, found)


@dataclass(frozen=True, kw_only=True)
class MMHC(SearchByTests):
    """Max-min hill climbing: hill climbing among the arcs that MMPC leaves.

    (Tsamardinos, Brown and Aliferis 2006.) For any score, and any space that hill climbing keeps to.

    Parameters
    ----------
    test : str, IndependenceTest or callable
        The test, as in :func:`bntk.independence`; or a function ``(x, y, given) -> p`` of names.
    alpha : float
        Variables are taken as independent where the p-value is above.
    max_given : int, optional
        The largest number of variables given.
    climb : Search
        The search among the arcs that are left.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.learn import learn_structure
    >>> found = learn_structure(bntk.datasets.asia().sample(5000, seed=1), "bic", search=MMHC(alpha=0.01))
    >>> found.separating_sets["xray", "dysp"], found.dag.parents("either")
    (('either',), ('tub', 'lung'))
    """

    name = "mmhc"
    uses_score = True
    climb: Search = field(default_factory=HillClimbing)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.climb, Search):
            raise _checking.wrong("climb", "a search such as HillClimbing()", self.climb)

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search; ``start`` and ``seed`` are those of hill climbing."""
        began = time.perf_counter()
        asking = self._asking(evaluator, space, progress)
        skeleton = joined(asking)
        apart = space.allowed.copy()
        for x, row in enumerate(skeleton):
            apart[x, list(row)] = False
        apart &= ~(space.start().adjacency() if start is None else start.reorder(space.nodes).adjacency())
        found = self.climb.run(evaluator, space._without(apart), start=start, seed=seed, progress=progress)
        names = space.nodes
        above = found.dag.parent_indices
        sets = {
            (names[x], names[y]): names_of(space, z)
            for (x, y), (z, _) in sorted(asking.separators.items())
            if x not in above[y] and y not in above[x]
        }
        return replace(
            found,
            search=repr(self),
            exact=False,
            n_evaluated=found.n_evaluated + asking.tester.n_tests,
            seconds=time.perf_counter() - began,
            pdag=cpdag(found.dag),
            separating_sets=sets,
        )


def joined(asking: Asking) -> list[set[int]]:
    """The neighbours of each variable: those that are found for each other, and the required ones."""
    affinity = asking.affinities()
    return symmetric(asking.together(_neighbors(asking, v, affinity) for v in range(asking.n)))


def _neighbors(asking: Asking, target: int, affinity: Floats) -> Task[set[int]]:
    """Ask for the neighbours of a variable."""
    found = yield from _forward(asking, target)
    required = asking.required_of(target)
    for v in reversed([v for v in found if v not in required]):  # the ones that came last are the weakest
        separator = yield from separate(asking, target, v, set(found) - {v}, affinity)
        if separator is not None:
            asking.separate(target, v, *separator)
            found.remove(v)
    return set(found)


def _forward(asking: Asking, target: int) -> Task[list[int]]:
    """The candidates for neighbours, in the order in which they are found."""
    found = sorted(asking.required_of(target))
    others = sorted(asking.possible_of(target) - set(found))
    if not others:
        return found
    answers = yield [question(target, v, ()) for v in others]
    weakest = dict(zip(others, answers.single(), strict=True))
    for v, answer in weakest.items():
        if answer.p_value > asking.alpha:
            asking.separate(target, v, (), answer.p_value)
    new: Sequence[int] = tuple(found)  # to be given, alone and with others
    while True:
        yield from _weaken(asking, target, weakest, [v for v in found if v not in new], new)
        for v in [v for v, answer in weakest.items() if answer.p_value > asking.alpha]:
            del weakest[v]
        if not weakest:
            return found
        chosen = list(weakest)[strongest(Answers(*np.array([*weakest.values()]).T))]
        del weakest[chosen]
        found.append(chosen)
        new = (chosen,)


def _weaken(asking: Asking, target: int, weakest: dict[int, Answer], old: list[int], new: Sequence[int]) -> Task[None]:
    """Test candidates given every set of variables that has a new one; those found independent are tested no more."""
    pool = [*new, *old]
    live = [v for v, answer in weakest.items() if answer.p_value <= asking.alpha]
    for size in range(1, asking.most_given(len(pool)) + 1):
        for given in combinations(pool, size):
            if not live:
                return
            if set(given).isdisjoint(new):
                continue
            answers = yield [question(target, v, given) for v in live]
            for v, answer in zip(live, answers.single(), strict=True):
                if not answer.is_stronger_than(weakest[v]):
                    weakest[v] = answer
                    if answer.p_value > asking.alpha:
                        asking.separate(target, v, given, answer.p_value)
            live = [v for v in live if weakest[v].p_value <= asking.alpha]

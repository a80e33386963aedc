"""The PC algorithm: which variables are never independent, and from that the equivalence class of the structure.

References
----------
P. Spirtes, C. Glymour and R. Scheines (2000). Causation, Prediction, and Search, 2nd edition. MIT Press.

J. Ramsey, P. Spirtes and J. Zhang (2006). Adjacency-faithfulness and conservative causal inference. UAI 22, 401-408.

D. Colombo and M. H. Maathuis (2014). Order-independent constraint-based causal structure learning. Journal of Machine
Learning Research 15, 3921-3962.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from bntk import _checking
from bntk.graph.dag import DAG
from bntk.learning.scores.base import Evaluator
from bntk.learning.search.base import SearchResult
from bntk.learning.search.blankets import separate_forbidden
from bntk.learning.search.by_tests import Asking, Floats, Pair, SearchByTests, Separator, Task, in_batches, question
from bntk.learning.search.orienting import Collider, Triple, unshielded_triples
from bntk.learning.search.pools import pairs_between

if TYPE_CHECKING:
    from bntk.learning.space import Space


@dataclass(frozen=True, kw_only=True)
class PC(SearchByTests):
    """PC: arcs between variables that no set of neighbours separates, directed by v-structures and Meek's rules.

    The stable form (Colombo and Maathuis 2014): neighbours are taken as they are at the beginning of each level, so
    that the skeleton does not depend on the order of the columns. Separating sets are looked for among the neighbours
    that depend most on both variables first, so that they do not depend on it either but for ties. For any score, which
    only says what the structure found is worth.

    Parameters
    ----------
    test : str, IndependenceTest or callable
        The test, as in :func:`bntk.independence`; or a function ``(x, y, given) -> p`` of names, such as d-separation
        in a known graph.
    alpha : float
        Variables are taken as independent where the p-value is above.
    max_given : int, optional
        The largest number of variables given.
    colliders : {"standard", "conservative", "majority"}
        When the middle of a - c - b, with a and b not adjacent, is a collider: ``"standard"``, when it is not in the
        set that separated them; ``"conservative"``, when it is in none of the sets of neighbours that separate them,
        and no collider when it is in all of them; ``"majority"``, when it is in less than half of these, and none when
        it is in more. Other triples are unclear, and no rule is applied to them.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.learn import learn_structure
    >>> found = learn_structure(bntk.datasets.sprinkler().sample(2000, seed=1), search=PC())
    >>> print(found.pdag)
    sprinkler -> wet; rain -> wet; cloudy -- sprinkler; cloudy -- rain
    >>> found.separating_sets["sprinkler", "rain"], found.dag.is_equivalent(bntk.datasets.sprinkler().dag)
    (('cloudy',), True)
    """

    name = "pc"
    colliders: str = "standard"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checking.one_of("colliders", self.colliders, ("standard", "conservative", "majority"))

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search; ``start`` and ``seed`` are ignored."""
        began = time.perf_counter()
        asking = self._tester(evaluator, space, progress)
        skeleton, level = find_skeleton(asking)
        separate_forbidden(asking, skeleton, asking.affinities())
        if self.colliders == "standard":
            return self._directed(asking, skeleton, evaluator, began)
        level = max(level, *(len(given) for given, _ in asking.separators.values()), 0)
        colliders, unclear = self._by_all_sets(asking, skeleton, level)
        return self._directed(asking, skeleton, evaluator, began, colliders, unclear)

    def _by_all_sets(self, asking: Asking, skeleton: list[set[int]], level: int) -> tuple[list[Collider], list[Triple]]:
        """The colliders by all separating sets of neighbours with up to ``level`` members, and the unclear triples."""
        triples = [(a, c, b) for a, c, b in unshielded_triples(skeleton) if (a, b) in asking.separators]
        pairs = list(dict.fromkeys((a, b) for a, _, b in triples))
        found = dict(zip(pairs, asking.together(all_separators(asking, skeleton, *pair, level) for pair in pairs)))
        colliders, unclear = [], []
        for a, c, b in triples:
            sets = found[a, b]
            share = sum(c in given for given, _ in sets) / len(sets) if sets else 0.5
            limit = 0.0 if self.colliders == "conservative" else 0.5
            if share == 0.0 or share < limit:
                certainty = max(p for given, p in sets if c not in given)
                colliders.append(asking.collider(a, c, b, certainty))
            elif share <= limit or (self.colliders == "conservative" and share < 1.0) or not sets:
                unclear.append((a, c, b))
        return colliders, unclear


def find_skeleton(asking: Asking) -> tuple[list[set[int]], int]:
    """The neighbours of each variable, and how many variables were given at most."""
    adjacent, required = asking.possible(), asking.required()
    affinity = asking.affinities()
    level = 0
    while True:
        pairs = [
            (x, y)
            for x in range(asking.n)
            for y in sorted(adjacent[x])
            if x < y and y not in required[x] and max(len(adjacent[x]), len(adjacent[y])) > level
        ]
        if not pairs or (asking.max_given is not None and level > asking.max_given):
            return adjacent, max(level - 1, 0)
        for (x, y), found in zip(pairs, _separators(asking, adjacent, affinity, pairs, level), strict=True):
            if found is not None:
                asking.separate(x, y, *found)
                adjacent[x].discard(y)
                adjacent[y].discard(x)
        level += 1


def _separators(
    asking: Asking, adjacent: Sequence[set[int]], affinity: Floats, pairs: Sequence[Pair], level: int
) -> list[Separator | None]:
    """For each pair, the first set of so many neighbours of the one, or of the other, that separates the two."""
    if level == 0:
        p_values = asking.tester.p_values([(x, y, ()) for x, y in pairs]).tolist()
        return [((), p) if p > asking.alpha else None for p in p_values]
    parts = pairs_between(adjacent, affinity, pairs, level)
    return [found for part in parts for found in asking.first_separators(part)]


def all_separators(
    asking: Asking, skeleton: Sequence[set[int]], x: int, y: int, level: int
) -> Task[list[tuple[tuple[int, ...], float]]]:
    """Every set of up to so many neighbours of x, or of y, that separates them, with its p-value."""
    found = []
    sets = {
        tuple(sorted(given))
        for pool in (skeleton[x], skeleton[y])
        for size in range(min(level, len(pool)) + 1)
        for given in combinations(pool, size)
    }
    for batch in in_batches(sorted(sets, key=lambda given: (len(given), given)), 256):
        answers = yield [question(x, y, given) for given in batch]
        found += [(given, p) for given, p in zip(batch, answers.p_value.tolist()) if p > asking.alpha]
    return found

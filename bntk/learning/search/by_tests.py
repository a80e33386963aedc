"""What all searches by tests of independence share: options, batches of questions, and how a result is made."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk._progress import progress_bar
from bntk.errors import CycleError, SpaceError, TooLargeError
from bntk.graph.dag import DAG
from bntk.graph.undirected import sorted_rows
from bntk.learning.independence.separating import Pairs
from bntk.learning.independence.tests import Answers, IndependenceTest, IndependenceTester, Question, as_test, log_tail
from bntk.learning.scores.base import Evaluator
from bntk.learning.search.base import Search, SearchResult
from bntk.learning.search.orienting import Collider, Triple, orient, unshielded_triples, warn_of_conflicts

if TYPE_CHECKING:
    from bntk.learning.space import Space

R = TypeVar("R")
Floats = NDArray[np.float64]
#: A piece of a search that asks questions (a batch at a time) and is sent the answers.
Task = Generator[list[Question], Answers, R]
Pair = tuple[int, int]
#: Variables that separate two others, and the p-value of these two being independent given them.
Separator = tuple[tuple[int, ...], float]


def question(x: int, y: int, given: Iterable[int]) -> Question:
    """The question in its one form, so that the same is asked once."""
    return (x, y, tuple(sorted(given))) if x < y else (y, x, tuple(sorted(given)))


@dataclass(frozen=True, kw_only=True)
class SearchByTests(Search):
    """The base of searches that ask which variables are independent given which.

    Parameters
    ----------
    test : str, IndependenceTest or callable
        The test, as in :func:`bntk.independence`; or a function ``(x, y, given) -> p`` of names, such as d-separation
        in a known graph.
    alpha : float
        Variables are taken as independent where the p-value is above.
    max_given : int, optional
        The largest number of variables given.
    """

    uses_score = False
    test: str | IndependenceTest | Callable[..., float] = "mi"
    alpha: float = 0.05
    max_given: int | None = None

    def __post_init__(self) -> None:
        as_test(self.test)
        _checking.number("alpha", self.alpha, 0, 1)
        _checking.optional_whole_number("max_given", self.max_given, least=0)

    def _tester(self, evaluator: Evaluator, space: Space, progress: bool) -> Asking:
        """A tester of the rows of an evaluator; refuses a space that tests cannot keep to."""
        refuse_for_tests(space, type(self).__name__)
        return self._asking(evaluator, space, progress)

    def _asking(self, evaluator: Evaluator, space: Space, progress: bool) -> Asking:
        """The same, in a space that another search keeps to."""
        test = as_test(self.test)
        if isinstance(test, IndependenceTest) and test.form.sequential:
            test = replace(test, alpha=self.alpha)
        return Asking(IndependenceTester(evaluator.counter, test), space, self.alpha, self.max_given, progress)  # type: ignore[attr-defined]

    def _directed(
        self, asking: Asking, skeleton: Sequence[set[int]], evaluator: Evaluator, began: float,
        colliders: Sequence[Collider] | None = None, unclear: Collection[Triple] = (),
    ) -> SearchResult:  # fmt: skip
        """The result for a skeleton: by default, a common neighbour outside of the separating set is a collider."""
        refuse_directed_cycle(asking.space, skeleton)
        if colliders is None:
            colliders = asking.colliders(skeleton)
        unclear = {*unclear, *asking.untold(skeleton)}
        found = orient(evaluator.names, skeleton, colliders, unclear, asking.space.allowed)
        warn_of_conflicts(evaluator.names, found, type(self).__name__)
        return self._result(asking, evaluator, began, found.dag, found.pdag)

    def _result(self, asking: Asking, evaluator: Evaluator, began: float, dag: DAG, pdag: Any) -> SearchResult:
        evaluator.reset(dag)
        try:
            score = evaluator.total()
        except TooLargeError:  # a node with so many parents that its table could not be stored
            score = -math.inf
        names = evaluator.names
        return SearchResult(
            dag=dag,
            score=score,
            search=repr(self),
            n_evaluated=asking.tester.n_tests,
            seconds=time.perf_counter() - began,
            pdag=pdag,
            separating_sets={
                (names[x], names[y]): tuple(names[v] for v in given)
                for (x, y), (given, _) in sorted(asking.separators.items())
            },
        )


@dataclass
class Asking:
    """A search by tests under way: what is asked, and what has been found.

    Attributes
    ----------
    separators : dict
        For pairs (the smaller first) that were separated, by what and with which p-value.
    outside : dict
        The same, of pairs of which one was left out of the Markov blanket of the other.
    """

    tester: IndependenceTester
    space: Space
    alpha: float
    max_given: int | None
    progress: bool
    separators: dict[Pair, Separator] = field(default_factory=dict)
    outside: dict[Pair, Separator] = field(default_factory=dict)
    _affinities: Floats | None = None

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.space.nodes)

    def possible(self) -> list[set[int]]:
        """For each variable, those that an arc may join it with."""
        return [self.possible_of(v) for v in range(self.n)]

    def possible_of(self, v: int) -> set[int]:
        """Those that an arc may join a variable with."""
        return set(np.flatnonzero(self.space.allowed[v] | self.space.allowed[:, v]).tolist())

    def required(self) -> list[set[int]]:
        """For each variable, those that an arc must join it with."""
        return [self.required_of(v) for v in range(self.n)]

    def required_of(self, v: int) -> set[int]:
        """Those that an arc must join a variable with."""
        return set(np.flatnonzero(self.space.required_matrix[v] | self.space.required_matrix[:, v]).tolist())

    def most_given(self, size: int) -> int:
        """How many of so many variables may be given at once."""
        return size if self.max_given is None else min(size, self.max_given)

    def separate(self, x: int, y: int, given: Iterable[int], p: float) -> None:
        """Note that two variables are independent given others; of several such sets, that of the largest p-value.

        Of sets with the same p-value, the smaller one.
        """
        _note(self.separators, x, y, given, p)

    def leave_out(self, target: int, given: Iterable[int], others: Iterable[int], p_values: Iterable[float]) -> None:
        """Note that others are no members of a Markov blanket, as they are independent of the target given these."""
        for v, p in zip(others, p_values):
            _note(self.outside, target, v, given, p)

    def p_value(self, x: int, y: int, given: Iterable[int]) -> float:
        """A single answer."""
        return float(self.tester.p_values([question(x, y, given)])[0])

    def together(self, tasks: Iterable[Task[R]]) -> list[R]:
        """The results of several tasks, whose questions are asked side by side, in batches."""
        running = dict(enumerate(tasks))
        results: dict[int, R] = {}
        bar = progress_bar(self.progress, desc="tests of independence", unit=" tests")
        with bar:
            wanted = {place: self._advance(running, results, place, None) for place in list(running)}
            while running:
                before = self.tester.n_tests
                batch = [each for place in running for each in wanted[place]]  # type: ignore[union-attr]
                answers = self.tester.ask(batch)
                bar.update(self.tester.n_tests - before)
                at = 0
                for place in list(running):
                    size = len(wanted[place])  # type: ignore[arg-type]
                    wanted[place] = self._advance(
                        running, results, place, Answers(*(values[at : at + size] for values in answers))
                    )
                    at += size
        return [results[place] for place in sorted(results)]

    @staticmethod
    def _advance(
        running: dict[int, Task[R]], results: dict[int, R], place: int, answers: Answers | None
    ) -> list[Question] | None:
        """The next batch of questions of a task; None when it has ended."""
        try:
            return running[place].send(answers)  # type: ignore[arg-type]
        except StopIteration as end:
            results[place] = end.value
            del running[place]
            return None

    def first_separators(self, pairs: Pairs) -> list[Separator | None]:
        """For each pair, the first of its sets that separates the two; None where none does."""
        found: list[Separator | None] = [None] * len(pairs)
        done, left = np.zeros(len(pairs), dtype=np.int64), np.arange(len(pairs))
        quick = self.tester.separating(pairs)
        if quick is not None:
            with progress_bar(self.progress, desc="tests of independence", unit=" tests") as bar:
                p_values = quick.run(self.alpha, bar.update)
            for place in np.flatnonzero(p_values > self.alpha).tolist():
                found[place] = quick.given(place), float(p_values[place])
            self.tester.n_tests += quick.n_tests
            done, left = quick.tested, np.flatnonzero(quick.too_large)
        tasks = (first_separator(self, pairs, place, int(done[place])) for place in left.tolist())
        for place, separator in zip(left.tolist(), self.together(tasks), strict=True):
            found[place] = separator
        return found

    def collider(self, a: int, child: int, b: int, p: float) -> Collider:
        """A collider of two variables that are independent with a p-value."""
        affinity = self.affinities()
        return Collider(a, child, b, p, float(min(affinity[a, child], affinity[child, b])))

    def colliders(self, skeleton: Sequence[set[int]]) -> list[Collider]:
        """The common neighbours of separated variables that are not in the separating set."""
        found = []
        for a, child, b in unshielded_triples(skeleton):
            given, p = self.separators.get((a, b), (None, math.nan))
            if given is not None and child not in given:
                found.append(self.collider(a, child, b, p))
        return found

    def untold(self, skeleton: Sequence[set[int]]) -> list[Triple]:
        """The triples of which nothing separates the ends, which only the constraints or ``max_given`` keep apart."""
        return [triple for triple in unshielded_triples(skeleton) if triple[::2] not in self.separators]

    def affinities(self) -> Floats:
        """How strongly each two variables depend on each other, by the statistics of the unconditional tests.

        G2 and X2 are compared with what is expected under independence, so that variables with many states have no
        advantage. All are 0 where a function stands for the test.
        """
        if self._affinities is not None:
            return self._affinities
        found = np.zeros((self.n, self.n))
        pairs = [(x, y, ()) for x in range(self.n) for y in range(x + 1, self.n)]
        if pairs and isinstance(self.tester.test, IndependenceTest):
            x, y = np.array([pair[:2] for pair in pairs]).T
            found[x, y] = found[y, x] = excess(self.tester.ask(pairs))
        self._affinities = found
        return found

    def affinities_of(self, target: int) -> Floats:
        """The same, of one variable with all others; for two of these, the smaller of theirs."""
        found = np.zeros((self.n, self.n))
        others = [v for v in range(self.n) if v != target]
        if others and isinstance(self.tester.test, IndependenceTest):
            own = excess(self.tester.ask([question(target, v, ()) for v in others]))
            found[target, others] = found[others, target] = own
            found[np.ix_(others, others)] = np.minimum(own[:, None], own)
        return found


def _note(noted: dict[Pair, tuple[tuple[int, ...], float]], x: int, y: int, given: Iterable[int], p: float) -> None:
    pair = min(x, y), max(x, y)
    new = tuple(sorted(given)), float(p)
    if pair not in noted or (noted[pair][1], len(new[0])) < (p, len(noted[pair][0])):
        noted[pair] = new


def excess(answers: Answers) -> Floats:
    """By how many standard deviations a statistic is above what is expected under independence; 0 without one."""
    df = np.maximum(np.nan_to_num(answers.df), 1.0)
    return np.nan_to_num((answers.statistic - df) / np.sqrt(2 * df), posinf=np.inf, neginf=-np.inf)


def strongest(answers: Answers) -> int:
    """The first of the smallest p-values; of equal ones, by the logarithm of a chi-squared p-value.

    They are equal where they are too small for a float, and by permutations, where none is smaller than that of one
    permutation.
    """
    p = answers.p_value
    least = float(p.min())
    if least == 1:
        return int(p.argmin())
    tied = np.flatnonzero(p == least).tolist()
    return min(tied, key=lambda k: log_tail(float(answers.statistic[k]), float(answers.df[k])))


def refuse_for_tests(space: Space, search: str) -> None:
    """Refuse rules of a space that tests of independence cannot keep to."""
    odd = [str(rule) for rule in (*space.groups, *space.links)]
    odd += ["max_parents"] if space.quotas and not odd else []
    odd += ["free=False"] if not space.free and not odd else []
    odd += ["arc_weights"] if space.arc_weights else []
    if odd:
        raise SpaceError(
            f"{search} decides by tests of independence, and keeps to required and forbidden arcs and tiers, but not "
            f"to {odd[0]}; use MMHC, GES or HillClimbing"
        )


def refuse_directed_cycle(space: Space, skeleton: Sequence[set[int]]) -> None:
    """Refuse knowledge that directs the arcs that the tests have found in a cycle."""
    parents: list[set[int]] = [
        {a for a in row if space.allowed[a, b] and not space.allowed[b, a]} for b, row in enumerate(skeleton)
    ]
    try:
        DAG._trusted(space.nodes, sorted_rows(parents))._refuse_cycle()
    except CycleError as error:
        raise SpaceError(
            f"the tests find arcs that the constraints direct in a cycle: {' -> '.join(error.cycle)}; "
            "forbid one of them in both directions, or allow the other direction"
        ) from None


def first_separator(asking: Asking, pairs: Pairs, place: int, done: int) -> Task[Separator | None]:
    """The first set of a pair that separates it, after some that do not."""
    x, y = int(pairs.xs[place]), int(pairs.ys[place])
    for batch in in_batches(islice(pairs.sets(place), done, None)):
        answers = yield [question(x, y, given) for given in batch]
        for given, p in zip(batch, answers.p_value.tolist()):
            if p > asking.alpha:
                return given, p
    return None


def in_batches(items: Iterable[R], first: int = 1, largest: int = 256) -> Iterable[list[R]]:
    """Items in lists whose sizes double, so that who stops early has looked at few, and who does not, asks seldom."""
    batch: list[R] = []
    size = first
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch, size = [], min(2 * size, largest)
    if batch:
        yield batch


def symmetric(rows: Sequence[Collection[int]], either: bool = False) -> list[set[int]]:
    """The pairs that are in each other's rows; with ``either``, those where one is in the other's."""
    sets = [set(row) for row in rows]
    if either:
        return [{b for b in range(len(sets)) if b in sets[a] or a in sets[b]} for a in range(len(sets))]
    return [{b for b in row if a in sets[b]} for a, row in enumerate(sets)]


def smaller_first(one: set[int], other: set[int], shared: Floats) -> list[set[int]]:
    """Two sets, the smaller one first; of two that are as large, the one that depends more on both variables."""
    return sorted((one, other), key=lambda pool: (len(pool), sorted(-shared[v] for v in pool), sorted(pool)))


def names_of(space: Space, positions: Iterable[int]) -> tuple[str, ...]:
    """The names at some positions, in the order of the nodes."""
    return tuple(space.nodes[v] for v in sorted(positions))

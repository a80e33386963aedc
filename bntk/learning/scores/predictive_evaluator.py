"""The evaluator of predictive scores: one matrix of class log scores, to which each family adds one term."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from bntk._threads import n_threads, run_parallel
from bntk.errors import DataError, TooLargeError
from bntk.graph.dag import DAG
from bntk.learning.counts import Counter, TableCounter
from bntk.learning.moves import ADD, REVERSE, Move, Moves, as_moves
from bntk.learning.scores import predictive_kernels as kernels
from bntk.learning.scores.base import Evaluator
from bntk.learning.scores.confusion import ConfusionScore
from bntk.learning.scores.families import _checked_weights
from bntk.learning.scores.predictive import PredictiveScore

Family = tuple[int, tuple[int, ...]]
Matrix = NDArray[np.float64]

# With less to do (about a millisecond) a thread costs more than it saves: entries of matrices to fill.
WORTH_A_THREAD = 1 << 18
# Structures that share the work for what they have in common; more would leave threads idle at the end of a batch.
SHARED_BY = 64
# Tables of a family may have so many entries; larger ones are reduced to the configurations that occur, which needs
# parents without missing cells.
MAX_ENTRIES = 1 << 24
ALWAYS_DENSE = 1 << 14


class Axes(NamedTuple):
    """How the rows of a family are found in its table; see :mod:`.predictive_kernels`."""

    parents: NDArray[np.int64]
    strides: NDArray[np.int64]
    missing: NDArray[np.int64]
    n_pa: int
    slots: int
    r: int
    dense: bool


class Task(NamedTuple):
    """Structures that differ in one term: what all of them add to the matrix (or take from it), and each last term.

    When most families change, it is less work to begin with an empty matrix: ``anew``.
    """

    common: list[tuple[Family, float]]
    last: list[Family | None]
    places: list[int]
    anew: bool = False


class Scratch(NamedTuple):
    """What one thread writes to."""

    base: Matrix
    terms: Matrix
    pa: NDArray[np.uint32]
    cell: NDArray[np.uint32]
    counted: NDArray[np.bool_]


class PredictiveEvaluator(Evaluator):
    """A predictive score on the rows of a table, with a structure that changes by moves.

    It holds the matrix S of class log scores, of M rows (times repeats) and K classes: the sum of one term for each
    family that contains the class. What a change of the structure is worth costs O(M K) for each such family that
    changes, whatever the number of variables. S is a function of the structure alone, not of the moves that led to it.

    Parameters
    ----------
    score : PredictiveScore
        Must have a target.
    counter : Counter
        A :class:`TableCounter`: the rows themselves are needed.
    dag : DAG, optional
        The structure to begin with; by default without arcs.
    arc_weights : ndarray of shape (n, n), optional
        Finite numbers that arcs (row: tail, column: head) add to the score when they are there.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.counts import TableCounter
    >>> from bntk.learning.scores import LOO
    >>> rows = bntk.datasets.sprinkler().sample(100, seed=1)
    >>> evaluator = LOO("rain").evaluator(TableCounter(rows))
    >>> rain, wet = (rows.names.index(name) for name in ("rain", "wet"))
    >>> gain = evaluator.change_gains([{wet: frozenset([rain])}])[0]
    >>> before = evaluator.total()
    >>> evaluator.change({wet: frozenset([rain])})
    >>> bool(gain > 0), bool(abs(evaluator.total() - before - gain) < 1e-9)
    (True, True)
    """

    def __init__(
        self,
        score: PredictiveScore,
        counter: Counter,
        dag: DAG | None = None,
        *,
        arc_weights: NDArray[np.float64] | None = None,
    ) -> None:
        self.score = score
        self.counter = counter
        self.names = counter.names
        self.target = _target(score, counter)
        self._arc_weights = _checked_weights(arc_weights, len(self.names))
        self._take_rows(_rows(score, counter))
        self._n_evaluated = 0
        self._scratches: list[Scratch] = []
        self.reset(DAG._trusted(self.names, ((),) * len(self.names)) if dag is None else dag)

    def _take_rows(self, counter: TableCounter) -> None:
        """The rows whose class is known, in the order of the score's plan."""
        table, self._cards = counter.table, counter.cards
        classes = table.codes[self.target]
        kept = classes != self._cards[self.target]
        if not kept.any():
            raise DataError(f"no row has a class: all cells of {self.names[self.target]!r} are missing")
        weights = np.ones(table.n_rows) if counter.weights is None else counter.weights
        if not weights[kept].any():
            raise DataError("all rows whose class is known have the weight 0")
        y = classes[kept].astype(np.int64)
        plan = self.score.plan(y, kept)
        self._scheme, self._starts, self._n_rows = plan.scheme, plan.starts, len(y)
        self._codes = np.ascontiguousarray(table.codes[:, np.flatnonzero(kept)[plan.order]])
        self._y = y[plan.order].astype(np.uint32)
        self._weighted = counter.weighted
        self._weights = weights[kept][plan.order]
        self._row_weights = self.score.row_weights(plan, weights[kept])
        self._holed = [bool((row == card).any()) for row, card in zip(self._codes, self._cards, strict=True)]

    # ---------------------------------------------------------------- the structure

    @property
    def parents(self) -> Sequence[frozenset[int]]:
        """The structure held: the positions of the parents of each node."""
        return self._parents

    @property
    def n_evaluated(self) -> int:
        """How many structures have been evaluated so far; those that predict as the one held are not."""
        return self._n_evaluated

    def reset(self, dag: DAG) -> None:
        """Hold another structure."""
        if set(dag.nodes) != set(self.names):
            differing = sorted(set(dag.nodes) ^ set(self.names))
            raise DataError(f"the structure and the data must have the same variables; they differ in {differing}")
        self._parents = [frozenset(row) for row in dag.reorder(self.names).parent_indices]
        self._forget()

    def apply(self, move: Move) -> None:
        """Make a move. That it keeps the structure acyclic and legal is the caller's business."""
        kind, tail, head = move
        if (tail in self._parents[head]) == (kind == ADD):
            there = "already there" if kind == ADD else "not there"
            raise ValueError(f"cannot {Move(*move).describe(self.names)}: the arc is {there}")
        self.change(self._as_change(kind, tail, head))

    def change(self, change: Mapping[int, frozenset[int]]) -> None:
        """Give some nodes other parents, all at once."""
        if self._touched(change):
            self._forget()
        for node, parents in change.items():
            self._parents[node] = frozenset(parents)

    def _as_change(self, kind: int, tail: int, head: int) -> dict[int, frozenset[int]]:
        change = {head: self._parents[head] ^ {tail}}
        if kind == REVERSE:
            change[tail] = self._parents[tail] | {head}
        return change

    def _forget(self) -> None:
        self._known_scores: Matrix | None = None
        self._known_value: float | None = None

    # ---------------------------------------------------------------- what it is worth

    def total(self) -> float:
        """What the structure held is worth."""
        value = self._value()
        if self._arc_weights is not None:
            value += sum(self._arcs_into(node, parents) for node, parents in enumerate(self._parents))
        return value

    def gains(self, moves: Moves) -> NDArray[np.float64]:
        """What each move alone would add to :meth:`total`."""
        return self.change_gains([self._as_change(*move) for move in as_moves(moves).tolist()])

    def change_gains(self, changes: Sequence[Mapping[int, frozenset[int]]]) -> NDArray[np.float64]:
        """What each change alone would add to :meth:`total`."""
        gains = np.zeros(len(changes))
        tasks = self._tasks(changes)
        if tasks:
            places = [place for task in tasks for place in task.places]
            gains[places] = np.concatenate(self._run(tasks)) - self._value()
        if self._arc_weights is not None:
            for place, change in enumerate(changes):
                for node, parents in change.items():
                    gains[place] += self._arcs_into(node, parents) - self._arcs_into(node, self._parents[node])
        return gains

    def _arcs_into(self, node: int, parents: frozenset[int]) -> float:
        assert self._arc_weights is not None
        return float(self._arc_weights[sorted(parents), node].sum())

    def _value(self) -> float:
        if self._known_value is None:
            (values,) = self._run([Task([], [None], [0])])
            self._known_value = float(values[0])
        return self._known_value

    # ---------------------------------------------------------------- for those who add up families themselves

    @property
    def classes(self) -> NDArray[np.uint32]:
        """The class of each row, in the order of the score's plan."""
        return self._y

    @property
    def row_weights(self) -> NDArray[np.float64]:
        """What each row counts in the score, in the same order."""
        return self._row_weights

    def term(self, child: int, parents: Sequence[int]) -> Matrix:
        """What one family adds to the class log scores of these rows: a line for each class."""
        scratch = self._borrow()
        self._fill(self._family(child, frozenset(parents)), scratch, logs=True)
        terms = scratch.terms.copy()
        self._scratches.append(scratch)
        return terms

    # ---------------------------------------------------------------- tasks

    def _touched(self, change: Mapping[int, frozenset[int]]) -> list[tuple[Family | None, Family | None]]:
        """Families with the class before and after a change, where these differ; None for one without the class."""
        pairs = [(self._family(v, self._parents[v]), self._family(v, change[v])) for v in sorted(change)]
        return [(before, after) for before, after in pairs if before != after]

    def _family(self, node: int, parents: frozenset[int]) -> Family | None:
        return (node, tuple(sorted(parents))) if node == self.target or self.target in parents else None

    def _tasks(self, changes: Sequence[Mapping[int, frozenset[int]]]) -> list[Task]:
        """Changes that matter; those of one and the same family share the work for the other families."""
        tasks: list[Task] = []
        of_one: dict[tuple[Family | None, int], Task] = {}
        held = self._held()
        for place, change in enumerate(changes):
            touched = self._touched(change)
            if not touched:
                continue
            old = {before for before, _ in touched if before is not None}
            new = [after for _, after in touched if after is not None]
            last = new.pop() if new else None
            if len(touched) > 1:
                anew = 2 * len(old) > len(held)
                first = [(f, 1.0) for f in held if f not in old] if anew else [(f, -1.0) for f in sorted(old)]
                tasks.append(Task(first + [(family, 1.0) for family in new], [last], [place], anew))
                continue
            key = (touched[0][0], -1 if last is None else last[0])
            task = of_one.get(key)
            if task is None or len(task.last) == SHARED_BY:
                task = of_one[key] = Task([(family, -1.0) for family in old], [], [])
                tasks.append(task)
            task.last.append(last)
            task.places.append(place)
        return tasks

    def _held(self) -> list[Family]:
        """The families of the structure held that contain the class."""
        families = (self._family(node, parents) for node, parents in enumerate(self._parents))
        return [family for family in families if family is not None]

    def _run(self, tasks: list[Task]) -> list[NDArray[np.float64]]:
        scores = self._class_scores()
        n_terms = sum(len(task.common) + len(task.last) for task in tasks)
        self._n_evaluated += sum(len(task.last) for task in tasks)
        threads = 1 if n_terms * scores.size < WORTH_A_THREAD else n_threads()
        return run_parallel(lambda task: self._measure(task, scores), tasks, threads)

    def _class_scores(self) -> Matrix:
        """S: the sum of the terms of all families that contain the class, always added in the order of the nodes."""
        if self._known_scores is None:
            scratch = self._borrow()
            total = np.zeros_like(scratch.terms)
            for family in self._held():
                self._fill(family, scratch, logs=True)
                kernels.add_terms(total, scratch.terms, 1.0)
            self._scratches.append(scratch)
            self._known_scores = total
        return self._known_scores

    def _measure(self, task: Task, scores: Matrix) -> NDArray[np.float64]:
        """What each structure of a task is worth."""
        scratch = self._borrow()
        base, terms = scratch.base, scratch.terms
        base[:] = 0.0 if task.anew else scores
        for family, sign in task.common:
            self._fill(family, scratch, logs=True)
            kernels.add_terms(base, terms, sign)
        if isinstance(self.score, ConfusionScore):
            confusions = np.zeros((len(task.last), len(base), len(base)))
            for confusion, last in zip(confusions, task.last, strict=True):
                self._fill(last, scratch, logs=True)
                kernels.count_labels(base, terms, self._y, self._row_weights, confusion)
            values = self.score.values(confusions)
        else:
            values = np.empty(len(task.last))
            taken = kernels.exponentiate(base, self._y, self._row_weights)
            for k, last in enumerate(task.last):
                self._fill(last, scratch, logs=False)
                values[k] = kernels.log_score(base, taken, terms, self._y, self._row_weights, self._weighted)
        self._scratches.append(scratch)
        return values

    # ---------------------------------------------------------------- terms

    def _borrow(self) -> Scratch:
        """Arrays to write to, which no other thread has; put them back into ``_scratches``."""
        try:
            return self._scratches.pop()
        except IndexError:
            shape = (self._cards[self.target], len(self._y))
            pa, cell = np.empty((2, len(self._y)), dtype=np.uint32)
            return Scratch(np.empty(shape), np.empty(shape), pa, cell, np.empty(len(self._y), dtype=bool))

    def _fill(self, family: Family | None, scratch: Scratch, logs: bool) -> None:
        """The term of a family into ``scratch.terms``; without a family, the term that changes nothing."""
        if family is None:
            scratch.terms[:] = 0.0 if logs else 1.0
            return
        child = family[0]
        axes = self._axes(family)
        pa, cell, counted = scratch.pa, scratch.cell, scratch.counted
        n_pa = axes.n_pa
        if axes.dense:
            kernels.locate(self._codes, axes.parents, axes.strides, axes.missing, pa, counted)
        else:
            n_pa = self._rank(family, axes, scratch)
        if child == self.target:
            cell = pa
        else:
            kernels.add_child(self._codes[child], axes.r, axes.slots, pa, cell, counted)
        holed = axes.missing >= 0
        kernels.fill_terms(
            self._scheme, self._starts, self._n_rows, self._y, self._weights, self._weighted, pa, cell, counted, n_pa,
            axes.slots, axes.r, float(self.score.alpha), logs, self._codes, axes.parents[holed],
            axes.strides[holed] * axes.slots, axes.missing[holed], scratch.terms,
        )  # fmt: skip

    def _axes(self, family: Family) -> Axes:
        child, parents = family
        features = [v for v in parents if v != self.target]
        sizes = [self._cards[v] + self._holed[v] for v in features]
        missing = [self._cards[v] if self._holed[v] else -1 for v in features]
        r = 0 if child == self.target else self._cards[child]
        slots = 1 if child == self.target else r + self._holed[child]
        K, n_pa = self._cards[self.target], math.prod(sizes)
        n_entries = n_pa * slots * K
        # A table that is much larger than what is looked up in it is reduced to the configurations that occur.
        dense = n_entries <= max(ALWAYS_DENSE, 4 * K * len(self._y))
        if not dense and max(missing, default=-1) >= 0:
            if n_entries > MAX_ENTRIES:
                self._refuse(family, n_entries)
            dense = True
        strides = [math.prod(sizes[a + 1 :]) if dense else 0 for a in range(len(sizes))]
        parents_, strides_, missing_ = (np.array(numbers, dtype=np.int64) for numbers in (features, strides, missing))
        return Axes(parents_, strides_, missing_, n_pa, slots, r, dense)

    def _rank(self, family: Family, axes: Axes, scratch: Scratch) -> int:
        """Number the configurations of the parents that occur, which have no missing cells; how many there are."""
        found, n_found = np.zeros(len(self._y), dtype=np.int64), 1
        for v in axes.parents.tolist():
            found = found * self._cards[v] + self._codes[v]
            _, found = np.unique(found, return_inverse=True)
            n_found = int(found.max()) + 1
        n_entries = n_found * axes.slots * self._cards[self.target]
        if n_entries > max(MAX_ENTRIES, 4 * scratch.terms.size):
            self._refuse(family, n_entries)
        scratch.pa[:] = found
        scratch.counted[:] = True
        return n_found

    def _refuse(self, family: Family, n_entries: int) -> NoReturn:
        child, parents = family
        raise TooLargeError(
            f"the table of {self.names[child]!r} given {[self.names[v] for v in parents]} needs {n_entries:,} entries; "
            f"the limit is {MAX_ENTRIES:,}: limit the number of parents in the space (max_parents)"
        )


def _target(score: PredictiveScore, counter: Counter) -> int:
    name = type(score).__name__
    if score.target is None:
        raise DataError(f"{name} predicts a class and must know which variable it is: {name}(target=...), with the "
                        f"name of a column")  # fmt: skip
    return counter._find(score.target)


def _rows(score: PredictiveScore, counter: Counter) -> TableCounter:
    if not isinstance(counter, TableCounter):
        raise DataError(
            f"{type(score).__name__} predicts single rows, which must be in memory: give a Table or a TableCounter, "
            f"not a {type(counter).__name__}"
        )
    return counter

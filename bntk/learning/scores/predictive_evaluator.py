"""The evaluator of predictive scores: one matrix of class log scores, to which each family adds one term."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._threads import run_parallel, spans
from bntk.errors import DataError
from bntk.graph.dag import DAG
from bntk.learning.counts import Counter, TableCounter
from bntk.learning.moves import ADD, REVERSE, Move, Moves, as_moves
from bntk.learning.scores import predictive_kernels as kernels
from bntk.learning.scores.base import Evaluator
from bntk.learning.scores.confusion import ConfusionScore
from bntk.learning.scores.family_evaluator import checked_arc_weights
from bntk.learning.scores.leaving_out import one_by_one
from bntk.learning.scores.predictive import PredictiveScore
from bntk.learning.scores.predictive_terms import (
    Family,
    LabelledRows,
    Matrix,
    Structure,
    Terms,
    as_ints,
    threads_for,
)

# Structures that share the work for what they have in common.
SHARED_BY = 64
# Rows that one thread looks at; sums over rows are over such pieces first, whatever the number of threads.
ROWS_IN_A_PIECE = 1 << 12


#: What is added to a matrix of class log scores, or taken from it.
Signed = list[tuple[Family | Structure, float]]


class Task(NamedTuple):
    """Structures that differ in one term: what all of them add to the matrix (or take from it), and each last term.

    When most families change, it is less work to begin with an empty matrix: ``anew``.
    """

    common: Signed
    last: list[Family | None]
    places: list[int]
    anew: bool = False


class Block:
    """Tasks that are evaluated together, as arrays for kernels: terms are named by their places in the pool."""

    def __init__(self) -> None:
        self.common: list[int] = []
        self.signs: list[float] = []
        self.common_starts = [0]
        self.last: list[int] = []
        self.last_starts = [0]
        self.anew: list[bool] = []

    def add(self, task: Task, terms: Terms, last_as_logs: bool) -> None:
        """Add a task, for which the terms must have room."""
        self.common.extend([terms.find((family, True)) for family, _ in task.common])
        self.signs.extend([sign for _, sign in task.common])
        self.last.extend([-1 if family is None else terms.find((family, last_as_logs)) for family in task.last])
        self.common_starts.append(len(self.common))
        self.last_starts.append(len(self.last))
        self.anew.append(task.anew)

    def arrays(self) -> tuple[NDArray[np.generic], ...]:
        """The arrays that kernels take."""
        return (
            np.array(self.anew, dtype=bool), as_ints(self.common), np.array(self.signs, dtype=np.float64),
            as_ints(self.common_starts), as_ints(self.last), as_ints(self.last_starts),
        )  # fmt: skip


class PredictiveEvaluator(Evaluator):
    """A predictive score on the rows of a table, with a structure that changes by moves.

    It holds the matrix S of class log scores, of M rows (times repeats) and K classes: the sum of one term for each
    family that contains the class. The score after a change of the structure costs O(M K) for each such family that
    changes, whatever the number of variables. S is a function of the structure alone, not of the moves that led to it.
    Terms are kept in up to 128 MB, so that a later step of a search need not compute them again.

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
        self._class_order = (
            score.class_order(counter.variables[self.target]) if isinstance(score, ConfusionScore) else None
        )
        self._arc_weights = checked_arc_weights(arc_weights, len(self.names))
        self._take_rows(_rows(score, counter))
        self._n_evaluated = 0
        self._most_entries: int | None = None
        self.reset(DAG._trusted(self.names, ((),) * len(self.names)) if dag is None else dag)

    def _take_rows(self, counter: TableCounter) -> None:
        """The rows whose class is known, in the order of the score's plan."""
        table = counter.table
        classes = table.codes[self.target]
        kept = classes != counter.cards[self.target]
        if not kept.any():
            raise DataError(f"no row has a class: all cells of {self.names[self.target]!r} are missing")
        weights = np.ones(table.n_rows) if counter.weights is None else counter.weights
        if not weights[kept].any():
            raise DataError("all rows whose class is known have the weight 0")
        y = classes[kept].astype(np.int64)
        plan = self.score.plan(y, kept)
        codes = np.ascontiguousarray(table.codes[:, np.flatnonzero(kept)[plan.order]])
        cards = np.array(counter.cards, dtype=np.int64)
        self._y = y[plan.order].astype(np.uint32)
        self._row_weights = self.score.row_weights(plan, weights[kept])
        alpha = self.score.pseudo_count
        rows = LabelledRows(
            scheme=plan.scheme,
            starts=plan.starts,
            n_rows=len(y),
            y=self._y,
            weights=weights[kept][plan.order],
            weighted=counter.weighted,
            codes=codes,
            cards=cards,
            has_missing=(codes == cards[:, None]).any(axis=1),
            target=self.target,
            alpha=alpha,
            log_counts=np.log(np.arange(0 if counter.weighted else len(y) + 1) + alpha),
        )
        self._terms = self._make_terms(rows)

    def _make_terms(self, rows: LabelledRows) -> Terms:
        return Terms(rows, self.names)

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

    # ---------------------------------------------------------------- scores

    def total(self) -> float:
        """The score of the structure held."""
        value = self._value()
        if self._arc_weights is not None:
            value += sum(self._arcs_into(node, parents) for node, parents in enumerate(self._parents))
        return value

    def gains(self, moves: Moves) -> NDArray[np.float64]:
        """The gain of each move by itself: the difference it makes to :meth:`total`."""
        return self.change_gains([self._as_change(*move) for move in as_moves(moves).tolist()])

    def change_gains(self, changes: Sequence[Mapping[int, frozenset[int]]]) -> NDArray[np.float64]:
        """The gain of each change by itself."""
        gains = np.zeros(len(changes))
        large = [place for place, change in enumerate(changes) if self._is_too_large(change)]
        if large:
            small = [place for place in range(len(changes)) if place not in {*large}]
            gains[large], gains[small] = -np.inf, self.change_gains([changes[place] for place in small])
            return gains
        tasks = self._tasks(changes)
        if tasks:
            places = [place for task in tasks for place in task.places]
            gains[places] = self._run(tasks) - self._value()
        if self._arc_weights is not None:
            for place, change in enumerate(changes):
                for node, parents in change.items():
                    gains[place] += self._arcs_into(node, parents) - self._arcs_into(node, self._parents[node])
        return gains

    def limit_tables(self, most_entries: int) -> None:
        """Give structures with larger tables the gain -inf, so that no search chooses them."""
        self._most_entries = most_entries

    def allows(self, move: Move) -> bool:
        """Whether a move keeps all tables within the limit of :meth:`limit_tables`."""
        return not self._is_too_large(self._as_change(*move))

    def _is_too_large(self, change: Mapping[int, frozenset[int]]) -> bool:
        """Whether a change makes a table that is over the limit of :meth:`limit_tables`."""
        if self._most_entries is None:
            return False
        cards = self.counter.cards
        for node, parents in change.items():
            if cards[node] * math.prod([cards[v] for v in parents]) > self._most_entries:
                return True
            if not parents <= self._parents[node] and not self._terms.fits((node, parents)):
                return True
        return False

    def _arcs_into(self, node: int, parents: frozenset[int]) -> float:
        assert self._arc_weights is not None
        return float(self._arc_weights[sorted(parents), node].sum())

    def _value(self) -> float:
        if self._known_value is None:
            self._known_value = float(self._run([Task([], [None], [0])])[0])
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
        return self._terms.compute((child, frozenset(parents)))

    def fits(self, child: int, parents: Sequence[int]) -> bool:
        """Whether :meth:`term` can be computed: whether its table is not too large."""
        return self._terms.fits((child, frozenset(parents)))

    # ---------------------------------------------------------------- tasks

    def _touched(self, change: Mapping[int, frozenset[int]]) -> list[tuple[Family | None, Family | None]]:
        """Families with the class before and after a change, where these differ; None for one without the class."""
        pairs = [(self._family(v, self._parents[v]), self._family(v, change[v])) for v in sorted(change)]
        return [(before, after) for before, after in pairs if before != after]

    def _family(self, node: int, parents: frozenset[int]) -> Family | None:
        return (node, parents) if node == self.target or self.target in parents else None

    def _held(self) -> list[Family]:
        """The families of the structure held that contain the class."""
        families = (self._family(node, parents) for node, parents in enumerate(self._parents))
        return [family for family in families if family is not None]

    def _held_terms(self) -> Signed:
        """What the class log scores of the structure held are the sum of."""
        return [(family, 1.0) for family in self._held()]

    def _tasks(self, changes: Sequence[Mapping[int, frozenset[int]]]) -> list[Task]:
        """Changes that matter; those of one and the same family share the work for the other families."""
        tasks: list[Task] = []
        of_one: dict[tuple[Family | None, int], Task] = {}
        held, shared_by = self._held(), min(SHARED_BY, self._terms.n_passing - 1)
        for place, change in enumerate(changes):
            touched = self._touched(change)
            if not touched:
                continue
            old = [before for before, _ in touched if before is not None]
            new = [after for _, after in touched if after is not None]
            last = new.pop() if new else None
            if len(touched) > 1:
                gone = {node for node, _ in old}
                anew = 2 * len(old) > len(held)
                first: Signed = [(f, 1.0) for f in held if f[0] not in gone] if anew else [(f, -1.0) for f in old]
                tasks.append(Task(first + [(family, 1.0) for family in new], [last], [place], anew))
                continue
            key = (touched[0][0], -1 if last is None else last[0])
            task = of_one.get(key)
            if task is None or len(task.last) == shared_by:
                task = of_one[key] = Task([(family, -1.0) for family in old], [], [])
                tasks.append(task)
            task.last.append(last)
            task.places.append(place)
        return tasks

    def _run(self, tasks: list[Task]) -> NDArray[np.float64]:
        """The score of each structure of some tasks, in blocks for which there is room in the pool of terms."""
        scores, terms, as_logs = self._class_scores(), self._terms, isinstance(self.score, ConfusionScore)
        values, block = [], Block()
        terms.begin_batch()
        for task in tasks:
            n_terms = len(task.common) + len(task.last)
            if block.last and n_terms > terms.room:
                values.append(self._measure(block, scores))
                block = Block()
            if n_terms <= terms.room:
                block.add(task, terms, as_logs)
                continue
            base = self._sum(task.common, np.zeros_like(scores) if task.anew else scores.copy())
            block.add(Task([], task.last, task.places), terms, as_logs)
            values.append(self._measure(block, base))
            block = Block()
        if block.last:
            values.append(self._measure(block, scores))
        self._n_evaluated += sum(map(len, values))
        return np.concatenate(values)

    def _class_scores(self) -> Matrix:
        """S: the sum of the terms of all families that contain the class, always added in the order of the nodes."""
        if self._known_scores is None:
            self._terms.begin_batch()
            self._known_scores = self._sum(self._held_terms(), np.zeros(self._terms.shape))
        return self._known_scores

    def _sum(self, signed: Signed, base: Matrix) -> Matrix:
        """Add terms to a matrix, in place, as many at a time as there is room for."""
        terms, at_once = self._terms, self._terms.n_passing
        for start in range(0, len(signed), at_once):
            part = signed[start : start + at_once]
            places = as_ints(terms.find((family, True)) for family, _ in part)
            terms.fill()
            kernels.add_terms(terms.pool, places, np.array([sign for _, sign in part]), 0, len(self._y), base)
            terms.begin_block()
        return base

    def _measure(self, block: Block, scores: Matrix) -> NDArray[np.float64]:
        """The score of each structure of a block; the block is done with then."""
        terms, arrays, n, K = self._terms, block.arrays(), len(block.last), len(scores)
        terms.fill()
        threads = threads_for((len(block.common) + n) * scores.size)
        row_spans = spans(len(self._y), -(-len(self._y) // ROWS_IN_A_PIECE), kernels.ROWS_AT_ONCE)
        task_spans = spans(len(block.anew), threads if len(row_spans) == 1 else 1)
        by_labels = isinstance(self.score, ConfusionScore)
        out = np.zeros((len(row_spans), n, K * K) if by_labels else (len(row_spans), n))

        def measure(piece: tuple[int, tuple[int, int], tuple[int, int]]) -> None:
            part, rows, tasks = piece
            if by_labels:
                kernels.count_labels(
                    scores, terms.pool, *arrays, self._y, self._row_weights, *rows, *tasks, out[part]
                )  # fmt: skip
            else:
                kernels.log_scores(
                    scores, terms.pool, *arrays, self._y, self._row_weights, terms.rows.weighted, *rows, *tasks,
                    out[part],
                )  # fmt: skip

        pieces = [(part, rows, tasks) for part, rows in enumerate(row_spans) for tasks in task_spans]
        run_parallel(measure, pieces, threads)
        terms.begin_block()
        totals: NDArray[np.float64] = out.sum(axis=0)
        if not isinstance(self.score, ConfusionScore):
            return totals
        order = self._class_order
        return self.score.values(totals.reshape(n, K, K)[:, order][:, :, order])


def _target(score: PredictiveScore, counter: Counter) -> int:
    name = type(score).__name__
    if score.target is None:
        raise DataError(f"{name} predicts a class and must know which variable it is: {name}(target=...), with the "
                        f"name of a column")  # fmt: skip
    return counter._find(score.target)


def _rows(score: PredictiveScore, counter: Counter) -> TableCounter:
    if counter.directed:
        raise DataError(
            f"{type(score).__name__} predicts a class in rows as they are observed, and cannot leave out variables "
            "that were set by an experiment (intervened=): use a score that is a sum over families, such as BDeu or BIC"
        )
    if not isinstance(counter, TableCounter):
        raise DataError(
            f"{type(score).__name__} predicts single rows, which must be in memory: give a Table or a TableCounter, "
            f"not a {type(counter).__name__}"
        )
    return one_by_one(counter) if score.divides_rows else counter

"""The interfaces of scores and evaluators.

A score is a formula without data. Its evaluator has the counts of some data and one structure: it returns the score of
the structure and what each of a batch of moves would gain, and makes moves. Searches need nothing else. Scores that are
sums over families are evaluated on many tables at once, a :class:`TableBatch`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk._declared import SCORES
from bntk._threads import n_threads, pieces_for, run_parallel, spans
from bntk.data.variable import Variable
from bntk.errors import DataError, did_you_mean
from bntk.graph.dag import DAG
from bntk.graph.undirected import sorted_rows
from bntk.learning.counts import CompactTable, Counter, PairTables
from bntk.learning.moves import Move, Moves

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bntk.learning.scores.family_evaluator import FamilyEvaluator

# Below this many cells (about a millisecond) a thread costs more than it saves.
WORTH_A_THREAD = 1 << 16
# Larger numbers of parent configurations are taken as this one, so that no formula overflows: it is too many anyway.
MOST_CONFIGURATIONS = 10**100


class Score(ABC):
    """The base of all scores: how good a structure is for data, in natural logarithms; higher is better."""

    #: Its name; the first line of the docstring describes it.
    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()

    def with_target(self, target: str) -> Score:
        """The score for this class variable; the same, unless it depends on the class."""
        return self

    def for_variables(self, variables: Sequence[Variable]) -> Score:
        """The score for data with these variables; the same, unless it depends on their numbers of states."""
        return self

    @abstractmethod
    def evaluator(
        self, counter: Counter, dag: DAG | None = None, *, arc_weights: NDArray[np.float64] | None = None
    ) -> Evaluator:
        """An evaluator of this score on the rows of a counter.

        Parameters
        ----------
        counter : Counter
        dag : DAG, optional
            The structure to begin with, over the counter's variables in their order; by default without arcs.
        arc_weights : ndarray of shape (n, n), optional
            What each arc (row: tail, column: head) adds to the score when it is present: a log prior for each arc.
        """


def by_name(score: str | Score, argument: str = "score") -> Score:
    """A score by its name, in any case and with its default parameters; a score is returned as it is.

    Scores of your own are known by their names, too: a class that derives from one of ours and has a ``name``.

    Parameters
    ----------
    score : str or Score
    argument : str
        What the error for an unknown name calls it.

    Examples
    --------
    >>> from bntk import scores
    >>> scores.by_name("BDeu"), scores.by_name(scores.HGC(alpha=0.5))
    (BDeu(ess=1.0), HGC(alpha=0.5))
    """
    if isinstance(score, Score):
        return score
    found = SCORES.get(score.lower()) if isinstance(score, str) else None
    if found is None:
        raise ValueError(
            f"{argument}={score!r} is not known{did_you_mean(score, SCORES)}"
            f"; the choices are {', '.join(SCORES)}, or a score such as BDeu(ess=10)"
        )
    made: Score = found()
    return made


class Evaluator(ABC):
    """The base of all evaluators: a score on data, with a structure that changes by moves.

    Attributes
    ----------
    names : tuple of str
        The nodes; moves give positions in it.
    """

    names: tuple[str, ...]

    @property
    @abstractmethod
    def parents(self) -> Sequence[frozenset[int]]:
        """The structure held: the positions of the parents of each node."""

    @property
    def dag(self) -> DAG:
        """The structure held, as a DAG."""
        return DAG._trusted(self.names, sorted_rows(self.parents))

    @property
    @abstractmethod
    def n_evaluated(self) -> int:
        """How many families (or, for scores that do not decompose, structures) have been evaluated so far."""

    @abstractmethod
    def total(self) -> float:
        """The score of the structure held."""

    @abstractmethod
    def gains(self, moves: Moves) -> NDArray[np.float64]:
        """The gain of each move by itself: the difference it makes to :meth:`total`."""

    @abstractmethod
    def apply(self, move: Move) -> None:
        """Make a move. That it keeps the structure acyclic and legal is the caller's business."""

    @abstractmethod
    def reset(self, dag: DAG) -> None:
        """Hold another structure; what has been learned about families is kept."""

    def limit_tables(self, most_entries: int) -> None:  # noqa: B027
        """Give families whose tables have more entries the score -inf from now on, so that no search chooses them.

        By default nothing is limited: an evaluator of your own need not have tables.
        """

    def allows(self, move: Move) -> bool:
        """Whether a move keeps all tables within the limit of :meth:`limit_tables`."""
        return True

    def by_family(self, search: str) -> FamilyEvaluator:
        """This evaluator, for a search that needs a score that is a sum over families; others are refused."""
        raise DataError(
            f"{search} needs a score that is a sum over families, such as BIC or BDeu; {type(self).__name__} is of"
            " another kind, and HillClimbing or Tabu take any"
        )

    def change_gains(self, changes: Sequence[Mapping[int, frozenset[int]]]) -> NDArray[np.float64]:
        """The gain of each of some changes by itself; each gives new parents to some nodes at once.

        That a change keeps the structure acyclic and legal is the caller's business.
        """
        held, before = self.dag, self.total()
        gains = np.empty(len(changes))
        for k, change in enumerate(changes):
            self.change(change)
            gains[k] = self.total() - before
            self.reset(held)
        return gains

    def change(self, change: Mapping[int, frozenset[int]]) -> None:
        """Give some nodes other parents, all at once."""
        parents = [change.get(node, held) for node, held in enumerate(self.parents)]
        self.reset(DAG._trusted(self.names, sorted_rows(parents)))


# ---- tables of many families -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableBatch:
    """Tables of families, each of the shape (left, card, right) with the child's states on the middle axis.

    A pair of indices of the outer axes is a parent configuration; a table has all of them, or only those that were
    seen.

    Attributes
    ----------
    flat : ndarray
        All counts.
    begins, lefts, cards, rights : ndarray of int
        Where each table begins in ``flat``, and its shape.
    qs : ndarray of float
        How many parent configurations exist, in the table or not.
    """

    flat: NDArray[Any]
    begins: NDArray[np.int64]
    lefts: NDArray[np.int64]
    cards: NDArray[np.int64]
    rights: NDArray[np.int64]
    qs: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.begins)

    def table(self, f: int) -> NDArray[Any]:
        """One table, of the shape (left, card, right)."""
        shape = (int(self.lefts[f]), int(self.cards[f]), int(self.rights[f]))
        begin = int(self.begins[f])
        return self.flat[begin : begin + math.prod(shape)].reshape(shape)

    def matrix(self, f: int) -> NDArray[Any]:
        """One table with a row for each parent configuration and a column for each state of the child."""
        return self.table(f).swapaxes(1, 2).reshape(-1, int(self.cards[f]))

    def run(self, kernel: Callable[..., None], *arguments: object) -> NDArray[np.float64]:
        """One number per table by a kernel that is called as ``kernel(*fields, *arguments, out)``, over threads."""
        out = np.empty(len(self))

        def piece(span: tuple[int, int]) -> None:
            part = slice(*span)
            shapes = (self.begins[part], self.lefts[part], self.cards[part], self.rights[part], self.qs[part])
            kernel(self.flat, *shapes, *arguments, out[part])

        threads = 1 if len(self.flat) < WORTH_A_THREAD or len(self) < 2 else n_threads()
        pieces = spans(len(self), pieces_for(len(self.flat), 8 * threads if threads > 1 else 1))
        run_parallel(piece, pieces, threads)
        return out


def gather(tables: Sequence[NDArray[Any]], lefts: ArrayLike, cards: ArrayLike, rights: ArrayLike) -> TableBatch:
    """A batch of tables that are in several arrays and have all of their parent configurations."""
    left, card, right = np.empty((3, len(tables)), dtype=np.int64)
    left[:], card[:], right[:] = lefts, cards, rights
    ends = np.cumsum(left * card * right)
    flat = np.concatenate(tables, axis=None)
    return TableBatch(flat, ends - left * card * right, left, card, right, (left * right).astype(np.float64))


def compact_batch(counter: Counter, families: Sequence[tuple[int, tuple[int, ...]]]) -> TableBatch:
    """Families (child, parents) as :meth:`Counter.compact` counts them: only what was seen where tables are large."""
    return gather_compact(counter.compact([(*parents, child) for child, parents in families]))


def gather_compact(tables: Sequence[CompactTable]) -> TableBatch:
    """A batch of compact tables."""
    lefts, cards = np.array([table.counts.shape for table in tables]).T
    batch = gather([table.counts for table in tables], lefts, cards, 1)
    return replace(batch, qs=np.array([float(min(table.q, MOST_CONFIGURATIONS)) for table in tables]))


def dense_batch(counter: Counter, families: Sequence[tuple[int, tuple[int, ...]]]) -> TableBatch:
    """Families (child, parents) as :meth:`Counter.tables` counts them, in the counter's buffer."""
    cards = counter.cards
    flat, plan = counter.flat_tables((), [(*parents, child) for child, parents in families])
    lefts = np.array([math.prod(shape[:-1]) for shape in plan.shapes], dtype=np.int64)
    children = np.array([cards[child] for child, _ in families], dtype=np.int64)
    return TableBatch(flat, plan.offsets[:-1], lefts, children, np.ones_like(lefts), lefts.astype(np.float64))


def extension_batch(counter: Counter, parents: Sequence[int], child: int, others: Sequence[int]) -> TableBatch:
    """A child given its parents and each of some other variables, as :meth:`Counter.extensions` counts them."""
    cards = counter.cards
    flat, plan = counter.extended_tables(parents, child, others)
    lefts, children, rights = np.empty((3, len(others)), dtype=np.int64)
    lefts[:], children[:], rights[:] = math.prod(plan.shapes[0][:-2]), cards[child], [cards[x] for x in others]
    return TableBatch(flat, plan.offsets[:-1], lefts, children, rights, (lefts * rights).astype(np.float64))


def pair_batch(pairs: PairTables) -> tuple[TableBatch, NDArray[np.intp], NDArray[np.intp]]:
    """Every variable given every other (and the target) as a batch on the buffer of the pairs; also tails and heads.

    A pair table of the shape (classes, r_i, r_j) is read twice where it is: with j as the child its left axis is
    (classes, r_i); with i as the child its left axis is the classes and its right axis r_j.
    """
    layout = pairs.layout
    i, j = np.triu_indices(len(pairs.variables), 1)
    classes, r_i, r_j = layout.n_classes, layout.cards[i], layout.cards[j]
    begins = layout.starts[i] + classes * r_i * (layout.columns[j] - layout.columns[i + 1])
    batch = TableBatch(
        pairs.counts,
        begins=np.concatenate([begins, begins]),
        lefts=np.concatenate([classes * r_i, np.full_like(r_i, classes)]),
        cards=np.concatenate([r_j, r_i]),
        rights=np.concatenate([np.ones_like(r_i), r_j]),
        qs=np.concatenate([classes * r_i, classes * r_j]).astype(np.float64),
    )
    return batch, np.concatenate([i, j]), np.concatenate([j, i])


def single_batch(pairs: PairTables) -> TableBatch:
    """Every variable given the target (or nothing) as a batch on the single tables of the pairs."""
    classes, cards = pairs.layout.n_classes, pairs.layout.cards
    return TableBatch(
        pairs.single_counts,
        begins=classes * pairs.layout.columns[:-1],
        lefts=np.full_like(cards, classes),
        cards=cards,
        rights=np.ones_like(cards),
        qs=np.full(len(cards), float(classes)),
    )


def margins(batch: TableBatch) -> TableBatch:
    """Each table of a batch of pairs without its tail, on the rows of the pair: one more batch of the same length.

    The tail is the right axis, or else the fastest part of the left axis.
    """
    n_classes = int(batch.lefts.min())
    tables = []
    for f in range(len(batch)):
        table = batch.table(f)
        left, card, right = table.shape
        tables.append(table.reshape(n_classes, left // n_classes, card, right).sum(axis=(1, 3)))
    return gather(tables, n_classes, batch.cards, 1)

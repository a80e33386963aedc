"""The interfaces of scores and evaluators.

A score is a formula without data. Its evaluator has the counts of some data and one structure: it returns the score of
the structure and what each of a batch of moves would gain, and makes moves. Searches need nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from bntk._declared import SCORES
from bntk.errors import DataError
from bntk.graph.dag import DAG
from bntk.graph.undirected import sorted_rows
from bntk.learning.counts import Counter
from bntk.learning.moves import Move, Moves

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bntk.learning.scores.family_evaluator import FamilyEvaluator


class Score(ABC):
    """The base of all scores: how good a structure is for data, in natural logarithms; higher is better."""

    #: How users name it; the first line of the docstring says what it is.
    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()

    def with_target(self, target: str) -> Score:
        """The score for this class variable; the same, unless it is of predictions and has no target yet."""
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


def by_name(score: str | Score) -> Score:
    """A score by its name, in any case and with its default parameters; a score is returned as it is.

    Scores of your own are known by their names, too: a class that derives from one of ours and has a ``name``.

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
            f"score={score!r} is not known; the choices are {', '.join(SCORES)}, or a score such as BDeu(ess=10)"
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
        """What each move alone would add to :meth:`total`."""

    @abstractmethod
    def apply(self, move: Move) -> None:
        """Make a move. That it keeps the structure acyclic and legal is the caller's business."""

    @abstractmethod
    def reset(self, dag: DAG) -> None:
        """Hold another structure; what has been learned about families is kept."""

    def by_family(self, search: str) -> FamilyEvaluator:
        """This evaluator, for a search that needs a score that is a sum over families; others are refused."""
        raise DataError(
            f"{search} needs a score that is a sum over families, such as BIC or BDeu; {type(self).__name__} is of"
            " another kind, and HillClimbing or Tabu take any"
        )

    def change_gains(self, changes: Sequence[Mapping[int, frozenset[int]]]) -> NDArray[np.float64]:
        """What each of some changes alone would add to :meth:`total`; each gives new parents to some nodes at once.

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

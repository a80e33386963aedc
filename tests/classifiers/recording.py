"""An evaluator that writes down every structure it is asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bntk.graph.dag import DAG
from bntk.learning.moves import ADD, Move, Moves
from bntk.learning.scores.base import Evaluator

Structure = tuple[frozenset[int], ...]


class Recorder(Evaluator):
    """Passes every question on to another evaluator; ``rounds`` has the structures of each and what they are worth."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.names = evaluator.names
        self.rounds: list[tuple[list[Structure], np.ndarray]] = []

    @property
    def parents(self) -> Sequence[frozenset[int]]:
        return self._evaluator.parents

    @property
    def n_evaluated(self) -> int:
        return self._evaluator.n_evaluated

    def total(self) -> float:
        return self._evaluator.total()

    def gains(self, moves: Moves) -> np.ndarray:
        assert (moves[:, 0] == ADD).all()
        gains = self._evaluator.gains(moves)
        self._record([{head: self.parents[head] | {tail}} for _, tail, head in moves.tolist()], gains)
        return gains

    def change_gains(self, changes: Sequence[Mapping[int, frozenset[int]]]) -> np.ndarray:
        gains = self._evaluator.change_gains(changes)
        self._record(changes, gains)
        return gains

    def _record(self, changes: Sequence[Mapping[int, frozenset[int]]], gains: np.ndarray) -> None:
        after = [tuple(change.get(v, held) for v, held in enumerate(self.parents)) for change in changes]
        if after:
            self.rounds.append((after, self.total() + gains))

    def apply(self, move: Move) -> None:
        self._evaluator.apply(move)

    def change(self, change: Mapping[int, frozenset[int]]) -> None:
        self._evaluator.change(change)

    def reset(self, dag: DAG) -> None:
        self._evaluator.reset(dag)

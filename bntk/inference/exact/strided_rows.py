"""Many rows through a junction tree, in pieces; in a large one row by row, as evidence makes its cliques small."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from bntk._threads import run_parallel, spans, stop_if_over
from bntk.inference.engines import Codes, Evidence, Floats, Ints
from bntk.inference.exact.junction import JunctionTree, Output, Scope
from bntk.inference.exact.strided import Room, StridedEngine

#: Numbers that are held at once when the distributions of rows are summed; and the fewest rows of them.
HELD, FEWEST = 1 << 18, 64

Span = tuple[int, int]
Tables = Sequence[tuple[Scope, Floats]]
T = TypeVar("T")


class TreeRows(ABC):
    """A rooted tree with the outputs that are wanted, run for pieces of the rows over threads.

    Parameters
    ----------
    tree : JunctionTree
    factors : sequence of (scope, table)
    root_scope : tuple of int
        The axes of a table over variables of the root that the pass to the root ends in; a single number by default.
    outputs : sequence of Output
        Tables that the pass outwards writes; without any, there is only the pass to the root.
    """

    #: Rows that one piece of work has, whatever the number of threads.
    rows_a_piece: int

    def __init__(
        self, tree: JunctionTree, factors: Tables, root_scope: Scope = (), outputs: Sequence[Output] = ()
    ) -> None:
        self.tree, self.cards = tree, np.array(tree.cards, dtype=np.int64)
        scopes = [output.scope for output in outputs] or [root_scope]
        self._ends = np.cumsum([0, *map(tree.entries, scopes)])
        self._prepare(factors, root_scope, tuple(outputs))

    def run(self, codes: Codes) -> tuple[Floats, Floats]:
        """The normalised outputs of each row side by side (or the root's table), and the log probabilities."""
        out, log_z = np.empty((codes.shape[1], self._ends[-1])), np.empty(codes.shape[1])
        self._in_pieces(codes, lambda span: self._run(codes, span, out, log_z))
        return out, log_z

    def count(self, codes: Codes, weights: Floats) -> tuple[Floats, float]:
        """The sum over rows of the distributions of the outputs, weighted, and the log-likelihood.

        Rows without probability add nothing to the counts.
        """
        width = self._ends[-1]
        step = max(FEWEST, HELD // max(width, 1))

        def work(span: Span) -> tuple[Floats, float]:
            counts, log_likelihood = np.zeros(width), 0.0
            for begin in range(*span, step):
                rows = begin + np.flatnonzero(weights[begin : min(begin + step, span[1])])
                out, log_z = np.empty((rows.size, width)), np.empty(rows.size)
                self._run(np.take(codes, rows, axis=1), (0, rows.size), out, log_z)
                out[log_z == -np.inf] = 0.0
                counts += np.einsum("i,ij->j", weights[rows], out)
                log_likelihood += float(log_z @ weights[rows])
            return counts, log_likelihood

        pieces = self._in_pieces(codes, work)
        counts = np.sum([np.zeros(width), *(piece for piece, _ in pieces)], axis=0)
        return counts, float(sum(log_z for _, log_z in pieces))

    def explain(self, codes: Codes) -> tuple[Codes, Floats]:
        """The most probable states of all variables in each row, and the log of their probability."""
        filled, log_top = codes.copy(), np.empty(codes.shape[1])
        self._in_pieces(codes, lambda span: self._explain(filled, span, log_top))
        return filled, log_top

    def _in_pieces(self, codes: Codes, work: Callable[[Span], T]) -> list[T]:
        n, rows = codes.shape[1], self.rows_a_piece
        return run_parallel(work, spans(n, -(-n // rows), rows))

    def _observed(self, codes: Codes) -> Ints:
        """The states of each row; -1 for missing values."""
        rows = codes.T.astype(np.int64, order="C")  # to the kernels, another order is another type
        return np.where(rows < self.cards, rows, -1)

    @abstractmethod
    def _prepare(self, factors: Tables, root_scope: Scope, outputs: tuple[Output, ...]) -> None: ...

    @abstractmethod
    def _run(self, codes: Codes, span: Span, out: Floats, log_z: Floats) -> None: ...

    @abstractmethod
    def _explain(self, codes: Codes, span: Span, log_top: Floats) -> None: ...


class StridedRows(TreeRows):
    """One row after another, with the strided loops of one evidence set."""

    rows_a_piece = 64

    def _prepare(self, factors: Tables, root_scope: Scope, outputs: tuple[Output, ...]) -> None:
        self._engine = StridedEngine(self.tree, factors, root_scope, outputs)

    def _run(self, codes: Codes, span: Span, out: Floats, log_z: Floats) -> None:
        observed = self._observed(codes[:, slice(*span)])
        if not self._engine.has_large_cliques:
            self._engine.run_rows(observed, out[slice(*span)], log_z[slice(*span)])
            return
        room = Room(self._engine.tables)
        for row, evidence in enumerate(self._evidence(observed), start=span[0]):
            stop_if_over()
            run = self._engine.calibrate(evidence, room)
            log_z[row], out[row] = run.log_z, run.tables if run.log_z > -math.inf else np.nan

    def _explain(self, codes: Codes, span: Span, log_top: Floats) -> None:
        room = Room(self._engine.tables)
        for row, evidence in enumerate(self._evidence(self._observed(codes[:, slice(*span)])), start=span[0]):
            stop_if_over()
            states, log_top[row] = self._engine.mpe(evidence, room)
            codes[:, row] = np.where(states < 0, codes[:, row], states)

    def _evidence(self, observed: Ints) -> Iterator[Evidence]:
        nothing_soft = np.zeros(self.cards.size, dtype=np.bool_)
        return (Evidence({}, row, nothing_soft, {}, 0.0) for row in observed)


def distinct_rows(codes: Codes) -> tuple[Ints, Ints]:
    """One row of each kind, and for every row which of them it is like.

    Rows are told apart by a 64-bit hash; where two different rows share one (which no table is likely to show), all
    rows count as distinct.
    """
    n = codes.shape[1]
    everyone = np.arange(n)
    if n < 2:
        return everyone, everyone
    key = np.zeros(n, dtype=np.uint64)
    for column in codes:
        key = (key ^ column) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    if first.size == n:
        return everyone, everyone
    same = all(np.array_equal(column, column[first[inverse]]) for column in codes)
    return (first, inverse) if same else (everyone, everyone)

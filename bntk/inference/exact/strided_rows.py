"""Many rows through a large program, one by one: evidence makes cliques small, which side by side it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk._threads import run_parallel
from bntk.inference.exact.junction import JunctionTree, Layout, Output, Scope
from bntk.inference.exact.lanes import pieces_of
from bntk.inference.exact.strided import Floats, flat_messages, flat_visits, folded, result_tables

#: Rows that one piece of work has, whatever the number of threads.
ROWS_A_PIECE = 64


class StridedRows:
    """As :class:`bntk.inference.exact.lanes.LaneEngine`, with the strided loops of one evidence set."""

    def __init__(
        self,
        tree: JunctionTree,
        factors: Sequence[tuple[Scope, Floats]],
        root_scope: Scope = (),
        outputs: Sequence[Output] = (),
    ) -> None:
        fixed, tables = folded(tree, factors)
        self._factors = np.concatenate([np.empty(0), *(table.ravel() for table in tables)])
        self._layout = Layout(tree, self._factors.size, root_scope, outputs)
        self._outward = bool(outputs)
        collecting = flat_visits(tree, self._layout.collect(fixed))
        distributing = flat_visits(tree, self._layout.distribute(fixed)) if outputs else collecting
        cards = np.array(tree.cards, dtype=np.int64)
        self._passes = (cards, collecting, distributing, flat_messages(self._layout))

    def run(self, codes: NDArray[Any]) -> tuple[Floats, Floats]:
        """The normalised outputs of each row side by side (or the root's table), and the log probabilities."""
        tables = result_tables(self._layout)
        out = np.empty((codes.shape[1], int(tables[:, 1].sum())))
        log_z = np.empty(codes.shape[1])
        no_weights = np.empty(0)

        def work(span: tuple[int, int]) -> None:
            self._run(codes, span, self._outward, False, tables, no_weights, out, log_z)

        run_parallel(work, pieces_of(codes, ROWS_A_PIECE))
        return out, log_z

    def count(self, codes: NDArray[Any], weights: Floats) -> tuple[Floats, float]:
        """The sum over rows of the distributions of the outputs, weighted, and the log-likelihood."""
        tables = result_tables(self._layout)
        log_z = np.empty(codes.shape[1])

        def work(span: tuple[int, int]) -> Floats:
            counts = np.zeros((1, int(tables[:, 1].sum())))
            self._run(codes, span, True, False, tables, weights, counts, log_z)
            return counts[0]

        pieces = run_parallel(work, pieces_of(codes, ROWS_A_PIECE))
        counts = np.sum([np.zeros(int(tables[:, 1].sum())), *pieces], axis=0)
        used = weights > 0
        return counts, float(log_z[used] @ weights[used])

    def explain(self, codes: NDArray[Any]) -> tuple[NDArray[Any], Floats]:
        """The most probable states of all variables in each row, and the log of their probability."""
        filled, log_top = codes.copy(), np.empty(codes.shape[1])
        nothing, no_tables = np.empty((1, 0)), np.empty((0, 3), dtype=np.int64)

        def work(span: tuple[int, int]) -> None:
            self._run(filled, span, False, True, no_tables, np.empty(0), nothing, log_top)

        run_parallel(work, pieces_of(codes, ROWS_A_PIECE))
        return filled, log_top

    def _run(self, codes: NDArray[Any], span: tuple[int, int], *arguments: Any) -> None:
        from bntk.inference.exact.pass_kernels import run_rows

        data = np.zeros(self._layout.size)
        data[: self._factors.size] = self._factors
        run_rows(codes, *span, *self._passes, *arguments, data)

"""Many rows at once: a junction tree as lists of clique entries, run for rows side by side and over threads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bntk.inference.engines import Codes, Floats, Ints
from bntk.inference.exact.junction import (
    JunctionTree,
    MessageLayout,
    Output,
    Scope,
    Visit,
    clique_products,
    expanded,
)
from bntk.inference.exact.strided import StridedEngine, flat_messages, flat_visits, smallest_products
from bntk.inference.exact.strided_rows import Span, Tables, TreeRows

if TYPE_CHECKING:
    from bntk.inference.exact.lane_kernels import LaneVisits
    from bntk.inference.exact.program_kernels import Messages, Visits


class LaneEngine(TreeRows):
    """Several rows side by side, by :mod:`bntk.inference.exact.lane_kernels`."""

    rows_a_piece = 1024

    def _prepare(self, factors: Tables, root_scope: Scope, outputs: tuple[Output, ...]) -> None:
        entries = _clique_entries(self.tree, factors)
        self._shape = _shape(self.tree, root_scope, outputs, tuple(places.tobytes() for places, _ in entries))
        self._layout, _, inward, outward, messages = self._shape
        values = np.concatenate([np.empty(0), *(values for _, values in entries)])
        vector = np.array([*self._layout.vector, self.cards.sum()], dtype=np.int64)
        # Place, size, column and clique of each output, or of the root's table.
        cliques = [output.clique for output in outputs] or [0]
        results = (self._layout.out or self._layout.up[:1], np.diff(self._ends), self._ends[:-1], cliques)
        self._results = np.array(results, dtype=np.int64).T.copy()
        visits = (inward._replace(values=values), outward._replace(values=values))
        self._passes = (self.cards, vector, *visits, messages, smallest_products(self.tree, factors))
        self._in_logs = partial(StridedEngine, self.tree, factors, root_scope, outputs)

    def _run(self, codes: Codes, span: Span, out: Floats, log_z: Floats) -> None:
        from bntk.inference.exact.lane_kernels import run_block

        run_block(codes, *span, self._passes, bool(self._layout.out), False, self._results, out, log_z, self._work())
        lost = self._lost(log_z, span)
        if lost.size:
            out[lost], _, log_z[lost], *_ = self._log_engine.run_logs(self._observed(codes[:, lost]))

    def _explain(self, codes: Codes, span: Span, log_top: Floats) -> None:
        from bntk.inference.exact.lane_kernels import explain_block

        explain_block(codes, *span, self._passes, False, True, self._trace, log_top, self._work())
        lost = self._lost(log_top, span)
        if lost.size:
            _, states, log_top[lost], *_ = self._log_engine.run_logs(self._observed(codes[:, lost]), maximise=True)
            codes[:, lost] = np.where(states.T < 0, codes[:, lost], states.T)

    def _lost(self, logs: Floats, span: Span) -> Ints:
        """The rows whose numbers were too small."""
        return span[0] + np.flatnonzero(np.isnan(logs[slice(*span)]))

    @cached_property
    def _log_engine(self) -> StridedEngine:
        return self._in_logs()

    def _work(self) -> tuple[Any, ...]:
        """Working memory of one piece."""
        from bntk.inference.exact.lane_kernels import LANES, Ranges

        most_tables = max(int(np.diff(visits.table_start).max()) for visits in self._passes[2:4])
        data = np.empty((self._layout.size, LANES))
        chosen = np.empty((self._layout.size, LANES), dtype=np.int32)
        numbers = (np.empty(LANES), np.empty(LANES), np.empty(LANES))
        by_lane, by_clique = np.empty((4, LANES)), np.empty((3, len(self.tree.cliques), LANES))
        ranges = Ranges._make((*by_lane, np.empty(LANES, np.bool_), *by_clique))
        active, used = np.empty(self.cards.size, np.bool_), np.empty(max(most_tables, 1), np.int64)
        return data, chosen, active, used, *numbers, ranges

    @cached_property
    def _trace(self) -> Visits:
        return flat_visits(self.tree, self._shape.visits)


class Shape(NamedTuple):
    """What an engine has whatever the numbers in its factors are; the values of its passes are empty."""

    layout: MessageLayout
    visits: list[Visit]
    collecting: LaneVisits
    distributing: LaneVisits
    messages: Messages


@lru_cache(maxsize=4)
def _shape(tree: JunctionTree, root_scope: Scope, outputs: tuple[Output, ...], possible: tuple[bytes, ...]) -> Shape:
    """The maps between tables; kept, as they take longer to make than the numbers that change from one step of EM on.

    ``possible`` has the positions of the possible entries of each clique.
    """
    layout = MessageLayout(tree, root_scope=root_scope, outputs=outputs)
    places = [np.frombuffer(positions, dtype=np.int64) for positions in possible]
    none: list[list[Any]] = [[] for _ in tree.cliques]
    visits = layout.collect(none)
    collecting = _lane_visits(tree, visits, places)
    distributing = _lane_visits(tree, layout.distribute(none), places) if outputs else collecting
    return Shape(layout, visits, collecting, distributing, flat_messages(layout))


def _clique_entries(tree: JunctionTree, factors: Tables) -> list[tuple[Ints, Floats]]:
    """For each clique the positions of its possible entries, and the products of its factors there."""
    orders = [tuple(sorted(clique)) for clique in tree.cliques]  # the first of equal entries has the lowest states
    products = [product.ravel() for product in clique_products(tree, orders, factors)]
    return [(positions, product[positions]) for product in products for positions in [np.flatnonzero(product)]]


def _lane_visits(tree: JunctionTree, visits: Sequence[Visit], possible: Sequence[Ints]) -> LaneVisits:
    """The visits as arrays for the kernels, without the values of the possible entries."""
    from bntk.inference.exact.lane_kernels import LaneVisits

    places = []
    for visit in visits:
        clique = tuple(sorted(tree.cliques[visit.clique]))
        for use in visit.uses:
            grid = np.arange(tree.entries(use.scope), dtype=np.int32).reshape([tree.cards[v] for v in use.scope])
            whole = np.broadcast_to(expanded(grid, use.scope, clique), [tree.cards[v] for v in clique])
            places.append(whole.ravel()[possible[visit.clique]] + np.int32(use.offset))
    return LaneVisits(
        np.cumsum([0, *map(len, possible)]),
        np.empty(0),
        np.concatenate(possible),
        np.cumsum([0, *(len(visit.uses) for visit in visits)]),
        np.array([len(visit.reads) for visit in visits]),
        np.array([use.evidence_of for visit in visits for use in visit.uses]),
        np.cumsum([0, *map(len, places)]),
        np.concatenate([np.empty(0, np.int32), *places]),
    )

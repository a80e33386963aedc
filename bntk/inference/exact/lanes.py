"""Many rows at once: a junction tree as lists of clique entries, run for rows side by side and over threads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
from bntk.inference.exact.strided import flat_messages
from bntk.inference.exact.strided_rows import Span, TreeRows

if TYPE_CHECKING:
    from bntk.inference.exact.lane_kernels import LaneVisits
    from bntk.inference.exact.program_kernels import Messages


class Trace(NamedTuple):
    """What tracing a most probable entry back needs: how entries read as states, and how messages lead on."""

    parent: Ints
    place_in_parent: Ints
    entries: Ints
    axis_start: Ints
    axes: Ints
    strides: Ints


class LaneEngine(TreeRows):
    """Several rows side by side, by :mod:`bntk.inference.exact.lane_kernels`."""

    rows_a_piece = 1024

    def __init__(
        self,
        tree: JunctionTree,
        factors: Sequence[tuple[Scope, Floats]],
        root_scope: Scope = (),
        outputs: Sequence[Output] = (),
    ) -> None:
        self.tree = tree
        self.cards = np.array(tree.cards, dtype=np.int64)
        self._entries = _clique_entries(tree, factors)
        shape = _shape(tree, root_scope, tuple(outputs), tuple(places.tobytes() for places, _ in self._entries))
        self.layout, self._collect_visits, self.messages = shape.layout, shape.visits, shape.messages
        values = np.concatenate([np.empty(0), *(values for _, values in self._entries)])
        self.collecting = shape.collecting._replace(values=values)
        self.distributing = shape.distributing._replace(values=values)
        self.outward = bool(outputs)
        vector = np.array([*self.layout.vector, self.cards.sum()], dtype=np.int64)
        self._passes = (self.cards, vector, self.collecting, self.distributing, self.messages)

    def _run(self, codes: Codes, span: Span, tables: Ints, out: Floats, log_z: Floats) -> None:
        from bntk.inference.exact.lane_kernels import run_block

        run_block(codes, *span, self._passes, self.outward, False, tables, out, log_z, self._work())

    def _explain(self, codes: Codes, span: Span, log_top: Floats) -> None:
        from bntk.inference.exact.lane_kernels import explain_block

        explain_block(codes, *span, self._passes, False, True, self._trace, log_top, self._work())

    def _work(self) -> tuple[Any, ...]:
        """Working memory of one piece."""
        from bntk.inference.exact.lane_kernels import LANES

        most_tables = int(np.diff(np.concatenate([self.collecting.table_start, self.distributing.table_start])).max())
        data = np.empty((self.layout.size, LANES))
        chosen = np.empty((self.layout.size, LANES), dtype=np.int32)
        numbers = (np.empty(LANES), np.empty(LANES), np.empty(LANES))
        return data, chosen, np.empty(self.cards.size, np.bool_), np.empty(max(most_tables, 1), np.int64), *numbers

    @cached_property
    def _trace(self) -> Trace:
        place_in_parent = [0] * len(self.tree.cliques)
        for visit in self._collect_visits:
            first = int(self.collecting.table_start[visit.clique])
            for i, use in enumerate(visit.reads):
                if use.evidence_of < 0:
                    child = self.layout.up.index(use.offset)
                    place_in_parent[child] = int(self.collecting.place_start[first + i])
        cliques = [tuple(sorted(clique)) for clique in self.tree.cliques]
        axes = [v for clique in cliques for v in clique]
        strides = [self.tree.entries(clique[i + 1 :]) for clique in cliques for i in range(len(clique))]
        entries = np.concatenate([places for places, _ in self._entries])
        starts = np.cumsum([0, *map(len, self.tree.cliques)])
        columns = (self.tree.parent, place_in_parent, entries, starts, axes, strides)
        return Trace(*(np.array(column, dtype=np.int64) for column in columns))


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


def _clique_entries(tree: JunctionTree, factors: Sequence[tuple[Scope, Floats]]) -> list[tuple[Ints, Floats]]:
    """For each clique the positions of its possible entries, and the products of its factors there."""
    orders = [tuple(sorted(clique)) for clique in tree.cliques]  # the first of equal entries has the lowest states
    products = [product.ravel() for product in clique_products(tree, orders, factors)]
    return [(positions, product[positions]) for product in products for positions in [np.flatnonzero(product)]]


def _lane_visits(tree: JunctionTree, visits: Sequence[Visit], possible: Sequence[Ints]) -> LaneVisits:
    """The visits as arrays for the kernels, without the values of the possible entries."""
    from bntk.inference.exact.lane_kernels import LaneVisits

    places: list[NDArray[np.int32]] = []
    table_start, n_reads, gates, place_start, filled = [0], [], [], [], 0
    for visit in visits:
        clique = tuple(sorted(tree.cliques[visit.clique]))
        uses = visit.reads + visit.writes
        for use in uses:
            grid = np.arange(tree.entries(use.scope), dtype=np.int32).reshape([tree.cards[v] for v in use.scope])
            whole = np.broadcast_to(expanded(grid, use.scope, clique), [tree.cards[v] for v in clique])
            places.append(whole.ravel()[possible[visit.clique]] + np.int32(use.offset))
            gates.append(use.evidence_of)
            place_start.append(filled)
            filled += places[-1].size
        table_start.append(len(gates))
        n_reads.append(len(visit.reads))
    entry_start = np.cumsum([0, *(positions.size for positions in possible)])
    columns = [np.array(column, dtype=np.int64) for column in (table_start, n_reads, gates, place_start)]
    whole_places = np.concatenate([np.empty(0, np.int32), *places])
    return LaneVisits(entry_start, np.empty(0), columns[0], columns[1], columns[2], columns[3], whole_places)

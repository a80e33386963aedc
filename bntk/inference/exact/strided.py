"""One evidence set at a time: a junction tree run by strided loops, whatever the size of its cliques."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bntk._threads import run_parallel, stop_if_over
from bntk.inference import choose
from bntk.inference.engines import Evidence, Floats, Ints
from bntk.inference.exact.junction import JunctionTree, MessageLayout, Output, Scope, Use, Visit, expanded, homes

if TYPE_CHECKING:
    from bntk.inference.exact.pass_kernels import Sources
    from bntk.inference.exact.program_kernels import Messages, Visits

#: Threads beyond which cutting a clique into more pieces is not thought to help; a piece is a state of a variable.
PIECES = 8
#: Entries that a piece may use beside copies of tables.
PIECE_ROOM = 1 << 10

_NO_SCALES: Floats = np.empty(0)
_NOTHING_CHOSEN: Ints = np.zeros(1, dtype=np.int64)


class Room:
    """Memory that begins with the factors of an engine; evidence sets that are run one after another can share it.

    New memory costs more than the messages of a small tree, since the system hands it out page by page.
    """

    def __init__(self, tables: Floats) -> None:
        self._tables, self._data = tables, np.empty(0)

    def take(self, size: int) -> Floats:
        """So many entries; what lies behind the factors is arbitrary."""
        if self._data.size < size:
            choose.refuse_memory(size, "the messages of exact inference", choose.LESS_MEMORY)
            self._data = np.empty(size)
            self._data[: self._tables.size] = self._tables
        return self._data[:size]


@dataclass
class StridedRun:
    """The passes for one evidence set: observed variables take no room in the messages.

    ``places`` has where each message and output begins in ``data``, and at last where they end; behind it there is room
    for copies.
    """

    engine: StridedEngine
    evidence: Evidence
    collecting: Visits
    distributing: Visits
    messages: Messages
    places: Ints
    data: Floats
    log_z: float = math.nan

    @property
    def room(self) -> tuple[int, int]:
        """Which part of the buffer is free."""
        return int(self.places[-1]), self.data.size

    @cached_property
    def tables(self) -> Floats:
        """All tables of the engine, one after another: reading them takes less time than asking for one of them."""
        return self.engine.read_tables(self, np.empty(self.engine.width))

    @cached_property
    def outward(self) -> StridedRun:
        """With the messages outwards as well; they are sent when more than ``log_z`` is needed."""
        self.engine.distribute(self)
        return self

    def marginal(self, variable: int) -> Floats:
        """The posterior of one variable; zeros for a variable that the tree does not have."""
        return self.tables[self.engine.spans[variable]]

    def joint(self, variables: Sequence[int]) -> Floats:
        """The joint distribution of some unobserved variables of one clique, axes in the order given."""
        return self.engine.read_joint(self.outward, tuple(variables))


class StridedEngine:
    """A junction tree with its factors in one buffer, ready for :mod:`bntk.inference.exact.program_kernels`.

    The tables that a run reads are the marginals of all variables (``outputs=None``), or some outputs, or with none of
    these the one over ``root_scope``, for which no messages are sent outwards.
    """

    def __init__(
        self,
        tree: JunctionTree,
        factors: Sequence[tuple[Scope, Floats]],
        root_scope: Scope = (),
        outputs: tuple[Output, ...] | None = None,
    ) -> None:
        self.tree = tree
        self.cards = np.array(tree.cards, dtype=np.int64)
        fixed, tables = folded(tree, factors)
        self._inward_only = outputs == ()
        if outputs is None:
            outputs, sources = _marginal_sources(tree)
        else:
            first = 2 * len(tree.cliques) if outputs else 0  # the outputs, or the message up from the root
            scopes = [output.scope for output in outputs] or [root_scope]
            sources = [(scope, slot, -1) for slot, scope in enumerate(scopes, start=first)]
        self.layout = MessageLayout(tree, sum(table.size for table in tables), root_scope, outputs)
        self.tables = np.concatenate([np.empty(0), *(table.ravel() for table in tables)])
        self._collecting = self.layout.collect(fixed)
        self._distributing = [] if self._inward_only else self.layout.distribute(fixed)
        self._visits = flat_visits(tree, self._collecting), flat_visits(tree, self._distributing)
        self._messages = flat_messages(self.layout)
        self._sources = _flat_sources(self.layout, sources)
        self.width = int(self._sources.starts[-1])
        self.spans = [slice(*span) for span in pairwise(self._sources.starts.tolist())]

    def calibrate(self, evidence: Evidence, room: Room | None = None) -> StridedRun:
        """Send all messages to the root; those outwards are sent when an answer is read."""
        run = self.start(evidence, room)
        run.log_z = evidence.log_weight + self.collect(run)[0]
        if self.layout.slots[0] and run.log_z > -math.inf:
            begin, size = int(run.messages.up[0]), int(run.messages.sizes[0])
            run.log_z += math.log(run.data[begin : begin + size].sum())
        return run

    def mpe(self, evidence: Evidence, room: Room | None = None) -> tuple[Ints, float]:
        """A most probable state of every variable, and the log of its probability; of equals the lowest states."""
        from bntk.inference.exact.pass_kernels import trace_back

        run = self.start(evidence, room)
        log_top, chosen = self.collect(run, maximise=True)
        states = evidence.observed.copy()
        if log_top > -math.inf:
            trace_back(chosen, run.collecting, run.messages, self.cards, states)
        return states, log_top + evidence.log_weight

    # ---- passes ----------------------------------------------------------------------------------------------

    def start(self, evidence: Evidence, room: Room | None = None) -> StridedRun:
        """A buffer with the factors and the evidence, and no messages yet."""
        from bntk.inference.exact.pass_kernels import bind

        fixed = self.layout.up[0]
        bound = bind(*self._visits, self._messages, fixed, self.cards, evidence.observed)
        inward, outward, messages, places, copies = bound
        end = int(places[-1])
        data = (room or Room(self.tables)).take(end + self._spare(int(copies), evidence))
        data[fixed:end] = 0.0
        for variable, vector in evidence.vectors.items():
            begin = self.layout.vector[variable]
            data[begin : begin + vector.size] = vector
        return StridedRun(self, evidence, inward, outward, messages, places, data)

    def collect(self, run: StridedRun, maximise: bool = False) -> tuple[float, Ints]:
        """Send all messages to the root; returns the log of the sum (or maximum) and the choices made."""
        from bntk.inference.exact.pass_kernels import INWARD

        chosen = _NOTHING_CHOSEN
        if maximise:
            choose.refuse_memory(run.data.size, "the choices of the most probable explanation", choose.LESS_MEMORY)
            chosen = np.zeros(run.data.size, dtype=np.int64)
        scales = np.ones(len(self.tree.cliques))
        possible = self._pass(run, run.collecting, INWARD, scales, chosen, maximise)
        return float(np.log(scales).sum()) if possible else -math.inf, chosen

    def distribute(self, run: StridedRun) -> None:
        """Send all messages from the root outwards."""
        from bntk.inference.exact.pass_kernels import OUTWARD

        self._pass(run, run.distributing, OUTWARD)

    def _pass(
        self,
        run: StridedRun,
        visits: Visits,
        phase: int,
        scales: Floats = _NO_SCALES,
        chosen: Ints = _NOTHING_CHOSEN,
        maximise: bool = False,
    ) -> bool:
        """Visit all cliques: stretches of them in one call, and large ones in pieces; False if that is impossible."""
        from bntk.inference.exact.pass_kernels import INWARD, SINGLE, finish, run_pass

        cut = self._collecting if phase == INWARD else self._distributing
        large = [] if maximise or phase == SINGLE else self._open_large(run.evidence)
        edges = sorted({0, visits.n_reads.size, *large, *(k + 1 for k in large)})
        state = (self.cards, run.evidence.observed, run.evidence.soft)
        shifts = np.zeros(visits.offsets.size + 1, np.int64)
        for span in sorted(pairwise(edges), reverse=phase == INWARD):
            stop_if_over()
            if span[0] in large:
                self._visit_in_pieces(run, visits, cut[span[0]])
                possible = finish(run.data, run.messages, span[0], phase, scales)
            else:
                possible = run_pass(
                    run.data, chosen, visits, run.messages, (*span, phase), state, run.room, shifts, scales, maximise
                )
            if not possible:
                return False
        return True

    @property
    def has_large_cliques(self) -> bool:
        """Whether there are cliques that several threads work on, if evidence leaves them large."""
        return bool(self._large)

    @cached_property
    def _large(self) -> list[int]:
        return [k for k, size in enumerate(self.tree.sizes) if choose.splits(size)]

    def _open_large(self, evidence: Evidence) -> list[int]:
        """The cliques that several threads work on, whatever their number, so that sums do not depend on it."""
        return [k for k in self._large if choose.splits(self._open_entries(self.tree.cliques[k], evidence))]

    def _open_entries(self, scope: Scope, evidence: Evidence) -> int:
        return self.tree.entries(v for v in scope if evidence.observed[v] < 0)

    def _visit_in_pieces(self, run: StridedRun, visits: Visits, visit: Visit) -> None:
        """Run a visit over several threads, one state of some variable at a time.

        Tables that have this variable are written in separate places; of the others each piece writes a copy of its
        own at the end of the buffer, and the copies are added in order.
        """
        from bntk.inference.exact.pass_kernels import SINGLE, run_pass

        data, evidence, k = run.data, run.evidence, visit.clique
        cut = self._cut(visit, evidence)
        n_pieces = self.tree.cards[cut]
        first_written = int(visits.table_start[k] + visits.n_reads[k])
        shifts = np.zeros((n_pieces, len(visit.writes)), dtype=np.int64)
        begin, end = run.room
        free = begin
        copied = []
        for i, use in enumerate(visit.writes):
            if cut not in use.scope:
                size, at = self._open_entries(use.scope, evidence), int(visits.offsets[first_written + i])
                shifts[:, i] = free - at + np.arange(n_pieces) * size
                free += n_pieces * size
                copied.append((i, at, size))
        data[begin:free] = 0.0
        room = (end - free) // n_pieces

        def work(state: int) -> None:
            observed = evidence.observed.copy()
            observed[cut] = state
            own = (free + state * room, free + (state + 1) * room)
            ends = ((self.cards, observed, evidence.soft), own, shifts[state], _NO_SCALES, False)
            run_pass(data, _NOTHING_CHOSEN, visits, run.messages, (k, k + 1, SINGLE), *ends)

        run_parallel(work, range(n_pieces))
        for i, at, size in copied:
            for copy in (at + shifts[:, i]).tolist():
                data[at : at + size] += data[copy : copy + size]

    def _cut(self, visit: Visit, evidence: Evidence) -> int:
        """The variable whose states are worked on apart: with enough of them, and few copies of what is written."""
        open_ones = [v for v in self.tree.cliques[visit.clique] if evidence.observed[v] < 0 and self.tree.cards[v] > 1]
        entries = self.tree.entries(open_ones)
        return min(
            open_ones,
            key=lambda v: (self._copies(visit, v, evidence) + entries / min(self.tree.cards[v], PIECES), v),
        )

    def _copies(self, visit: Visit, cut: int, evidence: Evidence) -> int:
        """Entries of all copies of the tables written that lack a variable."""
        lacking = (use.scope for use in visit.writes if cut not in use.scope)
        return self.tree.cards[cut] * sum(self._open_entries(scope, evidence) for scope in lacking)

    def _spare(self, room: int, evidence: Evidence) -> int:
        """Entries behind the tables, for copies of some in another order and of those that pieces write."""
        spare = room
        for k in self._open_large(evidence):
            for visit in (self._collecting[k], *self._distributing[k : k + 1]):
                cut = self._cut(visit, evidence)
                # Of tables without the cut variable every piece may make a copy; these pages are mostly not touched.
                spare = max(spare, self._copies(visit, cut, evidence) + 2 * room + self.tree.cards[cut] * PIECE_ROOM)
        return spare

    # ---- answers ---------------------------------------------------------------------------------------------

    def read_tables(self, run: StridedRun, out: Floats) -> Floats:
        """All tables, one after another."""
        from bntk.inference.exact import pass_kernels as kernels

        run = run if self._inward_only else run.outward
        kernels.read_tables(run.data, run.places, self._sources, self.cards, run.evidence.observed, out)
        return out

    def run_rows(self, observed: Ints, out: Floats, log_z: Floats) -> None:
        """Write all tables of each evidence set, one in each row, and the logs of their probabilities."""
        from bntk.inference.exact import pass_kernels as kernels

        passes = (*self._visits, self._messages)
        kernels.run_rows(observed, passes, self._sources, self.layout.up[0], self.tables, self.cards, out, log_z)

    def read_joint(self, run: StridedRun, scope: Scope) -> Floats:
        """A table over unobserved variables of one clique, from a calibrated buffer."""
        from bntk.inference.exact.pass_kernels import SINGLE, bound

        clique = self.tree.clique_with(scope)
        begin, size = run.room[0], self.tree.entries(scope)
        data = np.concatenate([run.data[:begin], np.zeros(size)])
        visit = Visit(clique, self._distributing[clique].reads, (Use(begin, scope),))
        visits = bound(flat_visits(self.tree, [visit]), run.messages, run.places, self.cards, run.evidence.observed)
        self._pass(replace(run, data=data, places=np.append(run.places, data.size)), visits, SINGLE)
        table = data[begin:].reshape([self.tree.cards[v] for v in scope])
        return table / table.sum()


def folded(tree: JunctionTree, factors: Sequence[tuple[Scope, Floats]]) -> tuple[list[list[Use]], list[Floats]]:
    """The tables that each clique reads: its factors, those within another's scope multiplied into that one."""
    fixed: list[list[Use]] = [[] for _ in tree.cliques]
    tables: list[Floats] = []
    offset = 0
    for clique, members in enumerate(homes(tree, [scope for scope, _ in factors])):
        order, groups = tree.cliques[clique], dict[Scope, Floats]()
        if choose.folds(tree.sizes[clique]) and len(members) > 1:
            groups[order] = np.ones([tree.cards[v] for v in order])
        for member in sorted(members, key=lambda i: -factors[i][1].size):
            scope, values = factors[member]
            own = tuple(v for v in order if v in scope)
            host = next((larger for larger in groups if {*own} <= {*larger}), own)
            values = expanded(values, scope, host)
            groups[host] = groups[host] * values if host in groups else values
        for scope, values in groups.items():
            fixed[clique].append(Use(offset, scope))
            tables.append(values)
            offset += values.size
    return fixed, tables


Source = tuple[Scope, int, int]


def _marginal_sources(tree: JunctionTree) -> tuple[tuple[Output, ...], list[Source]]:
    """The outputs that marginals are read off, and for each variable the one or two tables whose product has it.

    Tables are numbered as the slots of :class:`Use`; -1 for none. They are both messages of the smallest separator, or
    an output where a clique is smaller than that.
    """
    n_cliques = len(tree.cliques)
    best: list[tuple[int, int]] = [(1 << 62, -1)] * len(tree.cards)
    for number, separator in enumerate(tree.separators):
        size = tree.entries(separator)
        for variable in separator:
            best[variable] = min(best[variable], (size, number))
    outputs: list[Output] = []
    sources: list[Source] = []
    for variable, (size, number) in enumerate(best):
        clique, slots = tree.smallest_clique((variable,)), (-1, -1)
        if clique >= 0 and (number < 0 or tree.sizes[clique] < size):
            slots = 2 * n_cliques + len(outputs), -1
            outputs.append(Output((variable,), clique))
        elif number >= 0:
            slots = number, n_cliques + number
        sources.append(((variable,), *slots))
    return tuple(outputs), sources


def _flat_sources(layout: MessageLayout, sources: Sequence[Source]) -> Sources:
    """What tables are read off, as arrays for the kernels."""
    from bntk.inference.exact.pass_kernels import Sources

    held = [scope if slot < 0 else layout.slots[slot] for scope, slot, _ in sources]
    steps = [_strides(layout.tree, scope) for scope, _, _ in sources]
    columns = (
        [slot for _, slot, _ in sources],
        [slot for _, _, slot in sources],
        np.cumsum([0, *(layout.tree.entries(scope) for scope, _, _ in sources)]),
        np.cumsum([0, *map(len, held)]),
        [v for scope in held for v in scope],
        [own.get(v, 0) for own, scope in zip(steps, held, strict=True) for v in scope],
    )
    return Sources(*(np.array(column, dtype=np.int64) for column in columns))


def flat_visits(tree: JunctionTree, visits: Sequence[Visit]) -> Visits:
    """The visits as arrays for the kernels."""
    from bntk.inference.exact.program_kernels import Visits

    orders = [tree.cliques[visit.clique] for visit in visits]
    entries = [_strides(tree, tuple(sorted(v for v in order if v not in tree.known))) for order in orders]
    uses = [use for visit in visits for use in visit.uses]
    strides = [
        [steps.get(v, 0) for use in visit.uses for steps in [_strides(tree, use.scope)] for v in order]
        for visit, order in zip(visits, orders, strict=True)
    ]
    columns = (
        np.cumsum([0, *map(len, orders)]),
        [v for order in orders for v in order],
        [own.get(v, 0) for own, order in zip(entries, orders, strict=True) for v in order],
        np.cumsum([0, *(len(visit.uses) for visit in visits)]),
        [len(visit.reads) for visit in visits],
        [use.offset for use in uses],
        [use.evidence_of for use in uses],
        [use.slot for use in uses],
        np.cumsum([0, *map(len, strides)])[:-1],
        [step for row in strides for step in row],
    )
    return Visits(*(np.array(column, dtype=np.int64) for column in columns))


def _strides(tree: JunctionTree, scope: Scope) -> dict[int, int]:
    steps, step = {}, 1
    for variable in reversed(scope):
        steps[variable] = step
        step *= tree.cards[variable]
    return steps


def flat_messages(layout: MessageLayout) -> Messages:
    """Where the messages of a tree are, and the axes of its slots, as arrays for the kernels."""
    from bntk.inference.exact.program_kernels import Messages

    tree, slots = layout.tree, layout.slots
    columns = (
        layout.up,
        layout.down,
        [tree.entries(scope) for scope in slots[: len(tree.cliques)]],
        np.cumsum([0, *map(len, tree.children)]),
        [child for row in tree.children for child in row],
        np.cumsum([0, *map(len, slots)]),
        [v for scope in slots for v in scope],
    )
    return Messages(*(np.array(column, dtype=np.int64) for column in columns))

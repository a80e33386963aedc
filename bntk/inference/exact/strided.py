"""One evidence set at a time: a junction tree run by strided loops, whatever the size of its cliques."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

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

_NO_RANGES: Floats = np.empty((4, 0))
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
    for copies. ``ranges`` has how large and small the numbers of each clique are.
    """

    engine: StridedEngine
    evidence: Evidence
    collecting: Visits
    distributing: Visits
    messages: Messages
    places: Ints
    data: Floats
    ranges: Floats
    log_z: float = math.nan

    @property
    def room(self) -> tuple[int, int]:
        """Which part of the buffer is free."""
        return int(self.places[-1]), self.data.size

    @cached_property
    def tables(self) -> Floats:
        """All tables of the engine, one after another: reading them takes less time than asking for one of them."""
        out = np.empty(self.engine.width)
        return out if self._is_sure and self.engine.read_tables(self, out) else self.in_logs.tables

    @cached_property
    def _is_sure(self) -> bool:
        """Sends the messages outwards, if there are any; whether no number was too small for them."""
        return self.engine.distribute(self)

    @cached_property
    def in_logs(self) -> LogRun:
        """The same in log space, where numbers are too small."""
        return LogRun(self.engine, self.evidence)

    def marginal(self, variable: int) -> Floats:
        """The posterior of one variable; zeros for a variable that the tree does not have."""
        return self.tables[self.engine.spans[variable]]

    def joint(self, variables: Sequence[int]) -> Floats:
        """The joint distribution of some unobserved variables of one clique, axes in the order given."""
        table = self.engine.read_joint(self, tuple(variables)) if self._is_sure else None
        return self.in_logs.joint(variables) if table is None else table


class LogRun:
    """The passes for one evidence set in log space, where products of numbers would be lost.

    Attributes
    ----------
    log_z : float
        The log of the sum, or with ``maximise`` of the largest product; -inf when the evidence is impossible.
    tables : array
        All tables of the engine, one after another.
    states : array of int
        With ``maximise``, the most probable state of every variable; of equals the lowest ones.
    """

    def __init__(self, engine: StridedEngine, evidence: Evidence, maximise: bool = False) -> None:
        self._engine, self._evidence = engine, evidence
        vectors = np.zeros(engine.layout.up[0] - engine.tables.size)
        for variable in evidence.vectors:
            begin = engine.layout.vector[variable] - engine.tables.size
            numbers = np.asarray(evidence.likelihood[variable], dtype=float)
            vectors[begin : begin + numbers.size] = _log(numbers) - math.log(numbers.max())
        found = engine.run_logs(evidence.observed[None], maximise, vectors, evidence.soft)
        tables, states, log_z, self._data, self._places = found
        self.tables, self.states = tables[0], states[0]
        self.log_z = float(log_z[0]) + evidence.log_weight

    def marginal(self, variable: int) -> Floats:
        """The posterior of one variable; zeros for a variable that the tree does not have."""
        return self.tables[self._engine.spans[variable]]

    def joint(self, variables: Sequence[int]) -> Floats:
        """The joint distribution of some unobserved variables of one clique, axes in the order given."""
        return self._engine.read_log_joint(self._data, self._places, self._evidence, tuple(variables))


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
        fixed, tables = folded(tree, factors, np.multiply)
        self._inward_only = outputs == ()
        if outputs is None:
            outputs, sources = _marginal_sources(tree)
        else:
            first = 2 * len(tree.cliques) if outputs else 0  # the outputs, or the message up from the root
            scopes = [output.scope for output in outputs] or [root_scope]
            sources = [(scope, slot, -1) for slot, scope in enumerate(scopes, start=first)]
        self._factors = factors
        self.floors = smallest_products(tree, factors)
        self.layout = MessageLayout(tree, sum(table.size for table in tables), root_scope, outputs)
        self.tables = np.concatenate([np.empty(0), *(table.ravel() for table in tables)])
        self._collecting = self.layout.collect(fixed)
        self._distributing = [] if self._inward_only else self.layout.distribute(fixed)
        self._visits = flat_visits(tree, self._collecting), flat_visits(tree, self._distributing)
        self._messages = flat_messages(self.layout)
        self._sources = _flat_sources(self.layout, sources)
        self.width = int(self._sources.starts[-1])
        self.spans = [slice(*span) for span in pairwise(self._sources.starts.tolist())]

    def calibrate(self, evidence: Evidence, room: Room | None = None) -> StridedRun | LogRun:
        """Send all messages to the root; those outwards are sent when an answer is read."""
        run = self.start(evidence, room)
        log_total, _ = self.collect(run)
        if math.isnan(log_total):
            return run.in_logs
        run.log_z = evidence.log_weight + log_total
        if self.layout.slots[0] and run.log_z > -math.inf:
            begin, size = int(run.messages.up[0]), int(run.messages.sizes[0])
            run.log_z += math.log(run.data[begin : begin + size].sum())
        return run

    def mpe(self, evidence: Evidence, room: Room | None = None) -> tuple[Ints, float]:
        """A most probable state of every variable, and the log of its probability; of equals the lowest states."""
        from bntk.inference.exact.pass_kernels import trace_back

        run = self.start(evidence, room)
        log_top, chosen = self.collect(run, maximise=True)
        if math.isnan(log_top):
            best = LogRun(self, evidence, maximise=True)
            return best.states, best.log_z
        states = evidence.observed.copy()
        if log_top > -math.inf:
            trace_back(chosen, run.collecting, run.messages, self.cards, states)
        return states, log_top + evidence.log_weight

    # ---- passes ----------------------------------------------------------------------------------------------

    def start(self, evidence: Evidence, room: Room | None = None) -> StridedRun:
        """A buffer with the factors and the evidence, and no messages yet."""
        from bntk.inference.exact.pass_kernels import FLOOR, bind

        fixed = self.layout.up[0]
        bound = bind(*self._visits, self._messages, fixed, self.cards, evidence.observed)
        inward, outward, messages, places, copies = bound
        end = int(places[-1])
        data = (room or Room(self.tables)).take(end + self._spare(int(copies), evidence))
        data[fixed:end] = 0.0
        for variable, vector in evidence.vectors.items():
            begin = self.layout.vector[variable]
            data[begin : begin + vector.size] = vector
        ranges = np.ones((4, len(self.tree.cliques)))
        ranges[FLOOR] = self.floors
        for variable in evidence.vectors:
            home = self.tree.smallest_clique((variable,))
            if home >= 0:
                ranges[FLOOR, home] *= evidence.lowest[variable]
        return StridedRun(self, evidence, inward, outward, messages, places, data, ranges)

    def collect(self, run: StridedRun, maximise: bool = False) -> tuple[float, Ints]:
        """Send all messages to the root; returns the log of the sum (or maximum) and the choices made.

        The log is NaN where numbers are too small to tell.
        """
        from bntk.inference.exact.pass_kernels import IMPOSSIBLE, INWARD, POSSIBLE, TOP

        chosen = _NOTHING_CHOSEN
        if maximise:
            choose.refuse_memory(run.data.size, "the choices of the most probable explanation", choose.LESS_MEMORY)
            chosen = np.zeros(run.data.size, dtype=np.int64)
        found = self._pass(run, run.collecting, INWARD, chosen, maximise)
        if found == POSSIBLE:
            return float(np.log(run.ranges[TOP]).sum()), chosen
        return -math.inf if found == IMPOSSIBLE else math.nan, chosen

    def distribute(self, run: StridedRun) -> bool:
        """Send all messages from the root outwards, if any are wanted; whether no number was too small for that."""
        from bntk.inference.exact.pass_kernels import OUTWARD, POSSIBLE

        return self._inward_only or self._pass(run, run.distributing, OUTWARD) == POSSIBLE

    def _pass(
        self,
        run: StridedRun,
        visits: Visits,
        phase: int,
        chosen: Ints = _NOTHING_CHOSEN,
        maximise: bool = False,
    ) -> int:
        """Visit all cliques: stretches of them in one call, and large ones in pieces; what was found."""
        from bntk.inference.exact.pass_kernels import INWARD, POSSIBLE, SINGLE, finish, run_pass

        cut = self._collecting if phase == INWARD else self._distributing
        large = [] if maximise or phase == SINGLE else self._open_large(run.evidence)
        edges = sorted({0, visits.n_reads.size, *large, *(k + 1 for k in large)})
        state = (self.cards, run.evidence.observed, run.evidence.soft)
        shifts = np.zeros(visits.offsets.size + 1, np.int64)
        for span in sorted(pairwise(edges), reverse=phase == INWARD):
            stop_if_over()
            if span[0] in large:
                self._visit_in_pieces(run, visits, cut[span[0]])
                found = finish(run.data, run.messages, span[0], phase, run.ranges)
            else:
                ends = (run.room, shifts, run.ranges, maximise)
                found = run_pass(run.data, chosen, visits, run.messages, (*span, phase), state, *ends)
            if found != POSSIBLE:
                return int(found)
        return POSSIBLE

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
            ends = ((self.cards, observed, evidence.soft), own, shifts[state], _NO_RANGES, False)
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

    def read_tables(self, run: StridedRun, out: Floats) -> bool:
        """Write all tables, one after another; whether no number was too small for that."""
        from bntk.inference.exact import pass_kernels as kernels

        state = (self.cards, run.evidence.observed, run.ranges)
        return bool(kernels.read_tables(run.data, run.places, self._sources, *state, out) == kernels.POSSIBLE)

    def run_rows(self, observed: Ints, out: Floats, log_z: Floats) -> None:
        """Write all tables of each evidence set, one in each row, and the logs of their probabilities."""
        from bntk.inference.exact import pass_kernels as kernels

        passes, fixed = (*self._visits, self._messages), self.layout.up[0]
        kernels.run_rows(observed, passes, self._sources, fixed, self.tables, self.floors, self.cards, out, log_z)
        lost = np.flatnonzero(np.isnan(log_z))
        if lost.size:
            out[lost], _, log_z[lost], *_ = self.run_logs(observed[lost])

    def read_joint(self, run: StridedRun, scope: Scope) -> Floats | None:
        """A table over unobserved variables of one clique, from a calibrated buffer; None if numbers were too small."""
        from bntk.inference.exact.pass_kernels import FAINT, FLOOR, SINGLE

        clique, begin = self.tree.clique_with(scope), run.room[0]
        data = np.concatenate([run.data[:begin], np.zeros(self.tree.entries(scope))])
        visits = self._joint_visit(clique, scope, begin, run.places, run.evidence)
        self._pass(replace(run, data=data, places=np.append(run.places, data.size)), visits, SINGLE)
        table = data[begin:].reshape([self.tree.cards[v] for v in scope])
        if _lowest(table) < FAINT or (run.ranges[FLOOR, clique] < FAINT and not table.all()):
            return None
        return table / table.sum()

    def _joint_visit(self, clique: int, scope: Scope, begin: int, places: Ints, evidence: Evidence) -> Visits:
        """The visit that writes a table over some variables of a clique to a place of the buffer."""
        from bntk.inference.exact.pass_kernels import bound

        visit = Visit(clique, self._distributing[clique].reads, (Use(begin, scope),))
        return bound(flat_visits(self.tree, [visit]), self._messages, places, self.cards, evidence.observed)

    # ---- in log space ----------------------------------------------------------------------------------------

    @cached_property
    def _log_tables(self) -> Floats:
        logs = [(scope, _log(values)) for scope, values in self._factors]
        return np.concatenate([np.empty(0), *(table.ravel() for table in folded(self.tree, logs, np.add)[1])])

    def run_logs(
        self, observed: Ints, maximise: bool = False, vectors: Floats | None = None, soft: Any = None
    ) -> tuple[Floats, Ints, Floats, Floats, Ints]:
        """The tables, most probable states and logs of evidence sets; the buffer of the last one, and its places."""
        from bntk.inference.exact import log_kernels as kernels

        fixed, n = self.layout.up[0], len(observed)
        vectors = np.zeros(fixed - self.tables.size) if vectors is None else vectors
        soft = np.zeros(self.cards.size, dtype=np.bool_) if soft is None else soft
        out, states, log_z = np.empty((n, self.width)), observed.copy(), np.empty(n)
        passes, shape = (*self._visits, self._messages), (self._sources, fixed, self._log_tables, self.cards)
        found = kernels.run_logs(observed, vectors, soft, passes, *shape, maximise, out, states, log_z)
        return out, states, log_z, *found

    def read_log_joint(self, data: Floats, places: Ints, evidence: Evidence, scope: Scope) -> Floats:
        """As :meth:`read_joint`, from a calibrated buffer of logs."""
        from bntk.inference.exact import log_kernels as kernels

        begin = int(places[-1])
        visits = self._joint_visit(self.tree.clique_with(scope), scope, begin, places, evidence)
        data = np.concatenate([data[:begin], np.full(self.tree.entries(scope), -np.inf)])
        state = (self.cards, evidence.observed, evidence.soft)
        kernels.visit_logs(data, np.zeros(data.size), _NOTHING_CHOSEN, visits, 0, *state, False)
        table = np.exp(data[begin:] - data[begin:].max()).reshape([self.tree.cards[v] for v in scope])
        return np.asarray(table / table.sum())


def folded(
    tree: JunctionTree, factors: Sequence[tuple[Scope, Floats]], product: np.ufunc
) -> tuple[list[list[Use]], list[Floats]]:
    """The tables that each clique reads: its factors, those within another's scope multiplied into that one.

    ``product`` is that of numbers (``np.multiply``), or of their logs (``np.add``).
    """
    fixed: list[list[Use]] = [[] for _ in tree.cliques]
    tables: list[Floats] = []
    offset = 0
    for clique, members in enumerate(homes(tree, [scope for scope, _ in factors])):
        order, groups = tree.cliques[clique], dict[Scope, Floats]()
        if choose.folds(tree.sizes[clique]) and len(members) > 1:
            groups[order] = np.full([tree.cards[v] for v in order], float(product.identity))
        for member in sorted(members, key=lambda i: -factors[i][1].size):
            scope, values = factors[member]
            own = tuple(v for v in order if v in scope)
            host = next((larger for larger in groups if {*own} <= {*larger}), own)
            values = expanded(values, scope, host)
            groups[host] = product(groups[host], values) if host in groups else values
        for scope, values in groups.items():
            fixed[clique].append(Use(offset, scope))
            tables.append(values)
            offset += values.size
    return fixed, tables


def smallest_products(tree: JunctionTree, factors: Sequence[tuple[Scope, Floats]]) -> Floats:
    """For each clique the product of the smallest entries of its factors, zeros left out."""
    lowest = [_lowest(values) for _, values in factors]
    members = homes(tree, [scope for scope, _ in factors])
    return np.array([math.prod(lowest[i] for i in row) for row in members])


def _lowest(values: Floats) -> float:
    """The smallest entry that is not zero."""
    return float(values.min(initial=np.inf, where=values > 0))


def _log(values: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(values)


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
        [layout.clique_of(slot) for _, slot, _ in sources],
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

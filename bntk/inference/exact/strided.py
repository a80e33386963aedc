"""One evidence set at a time: a junction tree run by strided loops, whatever the size of its cliques."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bntk._threads import run_parallel
from bntk.inference import choose
from bntk.inference.engines import Evidence, Floats, Ints
from bntk.inference.exact.junction import JunctionTree, MessageLayout, Output, Scope, Use, Visit, expanded, homes

if TYPE_CHECKING:
    from bntk.inference.exact.program_kernels import Messages, Visits

#: Threads beyond which cutting a clique into more pieces is not thought to help; a piece is a state of a variable.
PIECES = 8
#: Entries that a piece may use beside copies of tables.
PIECE_ROOM = 1 << 10

_NO_SCALES: Floats = np.empty(0)
_NOTHING_CHOSEN: Ints = np.zeros(1, dtype=np.int64)


@dataclass
class StridedRun:
    """The passes for one evidence set: observed variables take no room in the messages.

    Attributes
    ----------
    collecting, distributing : Visits
        The visits inwards and outwards, by clique.
    messages : Messages
    places : array
        Where each message and output begins, and at last where they end; behind it there is room for copies.
    data : array
        The buffer with all tables.
    log_z : float
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
    def marginals(self) -> Floats:
        """Those of all variables, one after another: reading them takes less time than asking for one of them."""
        return self.engine.read_marginals(self.outward)

    @cached_property
    def outward(self) -> StridedRun:
        """With the messages outwards as well; they are sent when more than ``log_z`` is needed."""
        self.engine.distribute(self)
        return self

    def marginal(self, variable: int) -> Floats:
        """The posterior of one variable; zeros for a variable that the tree does not have."""
        begin, end = self.engine.spans[variable]
        return self.marginals[begin:end]

    def joint(self, variables: Sequence[int]) -> Floats:
        """The joint distribution of some unobserved variables of one clique, axes in the order given."""
        return self.engine.read_joint(self.outward, tuple(variables))


class StridedEngine:
    """A junction tree with its factors in one buffer, ready for :mod:`bntk.inference.exact.program_kernels`."""

    def __init__(self, tree: JunctionTree, factors: Sequence[tuple[Scope, Floats]]) -> None:
        self.tree = tree
        self.cards = np.array(tree.cards, dtype=np.int64)
        fixed, tables = folded(tree, factors)
        outputs, *self._marginal_slots = _marginal_slots(tree)
        self.layout = MessageLayout(tree, begin=sum(table.size for table in tables), outputs=outputs)
        self.tables = np.concatenate([np.empty(0), *(table.ravel() for table in tables)])
        self._collecting = self.layout.collect(fixed)
        self._distributing = self.layout.distribute(fixed)
        self._visits = flat_visits(tree, self._collecting), flat_visits(tree, self._distributing)
        self._messages = flat_messages(self.layout)
        self._slots = flat_slots(self.layout)

    def calibrate(self, evidence: Evidence) -> StridedRun:
        """Send all messages to the root; those outwards are sent when an answer is read."""
        run = self.start(evidence)
        run.log_z = evidence.log_weight + self.collect(run)[0]
        return run

    def mpe(self, evidence: Evidence) -> tuple[Ints, float]:
        """A most probable state of every variable, and the log of its probability; of equals the lowest states."""
        from bntk.inference.exact import pass_kernels as kernels

        run = self.start(evidence)
        log_top, chosen = self.collect(run, maximise=True)
        states = evidence.observed.copy()
        if log_top > -math.inf:
            kernels.trace_back(chosen, run.collecting, run.messages, self.cards, states)
        return states, log_top + evidence.log_weight

    # ---- passes ----------------------------------------------------------------------------------------------

    def start(self, evidence: Evidence) -> StridedRun:
        """A buffer with the factors and the evidence, and no messages yet."""
        from bntk.inference.exact.binding_kernels import bind

        fixed = self.layout.up[0]
        inward, outward, messages, places, room = bind(
            *self._visits, self._messages, *self._slots, fixed, self.cards, evidence.observed
        )
        end = int(places[-1])
        data = np.empty(end + self._spare(int(room), evidence))
        data[: self.tables.size] = self.tables
        data[fixed:end] = 0.0
        for variable, vector in evidence.vectors.items():
            begin = self.layout.vector[variable]
            data[begin : begin + vector.size] = vector
        return StridedRun(self, evidence, inward, outward, messages, places, data)

    def collect(self, run: StridedRun, maximise: bool = False) -> tuple[float, Ints]:
        """Send all messages to the root; returns the log of the sum (or maximum) and the choices made."""
        from bntk.inference.exact import pass_kernels as kernels

        chosen = np.zeros(run.data.size if maximise else 1, dtype=np.int64)
        scales = np.ones(len(self.tree.cliques))
        possible = True
        for begin, end, large in self._stretches(run.evidence, reverse=True):
            if large and not maximise:
                self._visit_in_pieces(run, run.collecting, self._collecting[begin])
                at, size = int(run.messages.up[begin]), int(run.messages.sizes[begin])
                scales[begin] = kernels.rescale(run.data, at, size)
                possible = scales[begin] > 0
            else:
                possible = self._run(run, run.collecting, (begin, end, kernels.INWARD), scales, maximise, chosen)
            if not possible:
                return -math.inf, chosen
        return float(np.log(scales).sum()), chosen

    def distribute(self, run: StridedRun) -> None:
        """Send all messages from the root outwards."""
        from bntk.inference.exact import pass_kernels as kernels

        for begin, end, large in self._stretches(run.evidence, reverse=False):
            if large:
                self._visit_in_pieces(run, run.distributing, self._distributing[begin])
                kernels.finish_down(run.data, run.messages, begin)
            else:
                self._run(run, run.distributing, (begin, end, kernels.OUTWARD))

    def _run(
        self,
        run: StridedRun,
        visits: Visits,
        span: tuple[int, int, int],
        scales: Floats = _NO_SCALES,
        maximise: bool = False,
        chosen: Ints = _NOTHING_CHOSEN,
    ) -> bool:
        """One call of the kernel for a span of cliques (first, one past the last, phase)."""
        from bntk.inference.exact.pass_kernels import run_pass

        state = (self.cards, run.evidence.observed, run.evidence.soft)
        shifts = np.zeros(visits.offsets.size + 1, np.int64)
        return bool(run_pass(run.data, chosen, visits, run.messages, span, state, run.room, shifts, scales, maximise))

    def _stretches(self, evidence: Evidence, reverse: bool) -> Iterator[tuple[int, int, bool]]:
        """Stretches of cliques that one call runs, and large cliques alone, in the order of the pass."""
        large = self._open_large(evidence)
        n_cliques = len(self.tree.cliques)
        bounds = [(k, k + 1, True) for k in large]
        gaps = zip([0, *(k + 1 for k in large)], [*large, n_cliques], strict=True)
        bounds += [(begin, end, False) for begin, end in gaps if begin < end]
        return iter(sorted(bounds, reverse=reverse))

    @cached_property
    def _large(self) -> list[int]:
        return [k for k, size in enumerate(self.tree.sizes) if choose.splits(size)]

    def _open_large(self, evidence: Evidence) -> list[int]:
        """The cliques that several threads work on, whatever their number, so that sums do not depend on it."""
        return [k for k in self._large if choose.splits(self._open_entries(self.tree.cliques[k], evidence))]

    def _open_entries(self, scope: Scope, evidence: Evidence) -> int:
        return self.tree.entries(v for v in scope if evidence.observed[v] < 0)

    def _visit_in_pieces(self, run: StridedRun, visits: Visits, visit: Visit) -> None:
        """StridedRun a visit over several threads, one state of some variable at a time.

        Tables that have this variable are written in separate places; of the others each piece writes a copy of its
        own at the end of the buffer, and the copies are added in order.
        """
        from bntk.inference.exact.pass_kernels import SINGLE, add_up, run_pass

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
            for shift in shifts[:, i].tolist():
                add_up(data, at, at + shift, size)

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
            for visit in (self._collecting[k], self._distributing[k]):
                cut = self._cut(visit, evidence)
                # Of tables without the cut variable every piece may make a copy; these pages are mostly not touched.
                spare = max(spare, self._copies(visit, cut, evidence) + 2 * room + self.tree.cards[cut] * PIECE_ROOM)
        return spare

    # ---- answers ---------------------------------------------------------------------------------------------

    def read_marginals(self, run: StridedRun) -> Floats:
        """All marginals, one after another, from a calibrated buffer."""
        from bntk.inference.exact import pass_kernels as kernels

        out = np.empty(int(self.cards.sum()))
        sources = (*self._marginal_slots, *self._slots, run.places)
        starts = np.array([begin for begin, _ in self.spans], dtype=np.int64)
        kernels.read_marginals(run.data, *sources, self.cards, starts, run.evidence.observed, out)
        return out

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Where each variable begins and ends in an array with one entry per state."""
        return list(pairwise(np.cumsum([0, *self.tree.cards]).tolist()))

    def read_joint(self, run: StridedRun, scope: Scope) -> Floats:
        """A table over unobserved variables of one clique, from a calibrated buffer."""
        from bntk.inference.exact.binding_kernels import bound
        from bntk.inference.exact.pass_kernels import SINGLE

        clique = self.tree.clique_with(scope)
        begin, size = run.room[0], self.tree.entries(scope)
        data = np.concatenate([run.data[:begin], np.zeros(size)])
        visit = Visit(clique, self._distributing[clique].reads, (Use(begin, scope),))
        visits = bound(flat_visits(self.tree, [visit]), run.places, self.cards, run.evidence.observed)
        self._run(replace(run, data=data, places=np.append(run.places, data.size)), visits, (0, 1, SINGLE))
        table = data[begin:].reshape([self.tree.cards[v] for v in scope])
        return table / table.sum()


def folded(tree: JunctionTree, factors: Sequence[tuple[Scope, Floats]]) -> tuple[list[list[Use]], list[Floats]]:
    """The tables that each clique reads: its factors, those within another's scope multiplied into that one."""
    fixed: list[list[Use]] = [[] for _ in tree.cliques]
    tables: list[Floats] = []
    offset = 0
    for clique, members in enumerate(homes(tree, [scope for scope, _ in factors])):
        groups: list[tuple[Scope, Floats]] = []
        if choose.folds(tree.sizes[clique]) and len(members) > 1:
            scope = tree.cliques[clique]
            groups.append((scope, np.ones([tree.cards[v] for v in scope])))
        for member in sorted(members, key=lambda i: -factors[i][1].size):
            scope, values = factors[member]
            ordered = tuple(v for v in tree.cliques[clique] if v in scope)
            scope, values = ordered, expanded(values, scope, ordered)
            host = next((i for i, (larger, _) in enumerate(groups) if {*scope} <= {*larger}), -1)
            if host < 0:
                groups.append((scope, values))
            else:
                larger, product = groups[host]
                groups[host] = larger, product * expanded(values, scope, larger)
        for scope, values in groups:
            fixed[clique].append(Use(offset, scope))
            tables.append(values)
            offset += values.size
    return fixed, tables


def _marginal_slots(tree: JunctionTree) -> tuple[list[Output], Ints, Ints]:
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
    slots = np.full((len(tree.cards), 2), -1, dtype=np.int64)
    for variable, (size, number) in enumerate(best):
        clique = tree.smallest_clique((variable,))
        if clique >= 0 and (number < 0 or tree.sizes[clique] < size):
            slots[variable, 0] = 2 * n_cliques + len(outputs)
            outputs.append(Output((variable,), clique))
        elif number >= 0:
            slots[variable] = number, n_cliques + number
    return outputs, slots[:, 0].copy(), slots[:, 1].copy()


def flat_visits(tree: JunctionTree, visits: Sequence[Visit]) -> Visits:
    """The visits as arrays for the kernels."""
    from bntk.inference.exact.program_kernels import Visits

    axis_start, table_start = [0], [0]
    axes: list[int] = []
    places: list[int] = []
    n_reads: list[int] = []
    offsets: list[int] = []
    gates: list[int] = []
    slots: list[int] = []
    stride_start: list[int] = []
    strides: list[int] = []
    for visit in visits:
        order = tree.cliques[visit.clique]
        uses = visit.reads + visit.writes
        own = _strides(tree, tuple(sorted(v for v in order if v not in tree.known)))
        axes += order
        places += [own.get(v, 0) for v in order]
        axis_start.append(len(axes))
        table_start.append(table_start[-1] + len(uses))
        n_reads.append(len(visit.reads))
        stride_start.append(len(strides))
        for use in uses:
            offsets.append(use.offset)
            gates.append(use.evidence_of)
            slots.append(use.slot)
            steps = _strides(tree, use.scope)
            strides += [steps.get(v, 0) for v in order]
    columns = (axis_start, axes, places, table_start, n_reads, offsets, gates, slots, stride_start, strides)
    return Visits(*(np.array(column, dtype=np.int64) for column in columns))


def _strides(tree: JunctionTree, scope: Scope) -> dict[int, int]:
    steps, step = {}, 1
    for variable in reversed(scope):
        steps[variable] = step
        step *= tree.cards[variable]
    return steps


def flat_messages(layout: MessageLayout) -> Messages:
    """Where the messages of a tree are, as arrays for the kernels."""
    from bntk.inference.exact.program_kernels import Messages

    tree = layout.tree
    sizes = [tree.entries(layout.up_scope(number)) for number in range(len(tree.cliques))]
    starts = np.cumsum([0, *map(len, tree.children)])
    children = [child for row in tree.children for child in row]
    columns = (layout.up, layout.down, sizes, starts, children)
    return Messages(*(np.array(column, dtype=np.int64) for column in columns))


def flat_slots(layout: MessageLayout) -> tuple[Ints, Ints]:
    """The axes of each message up, each message down and each output: where they start, and all of them."""
    separators = [layout.up_scope(number) for number in range(len(layout.tree.cliques))]
    scopes = [*separators, *separators, *(output.scope for output in layout.outputs)]
    starts = np.cumsum([0, *map(len, scopes)], dtype=np.int64)
    return starts, np.array([v for scope in scopes for v in scope], dtype=np.int64)


def result_tables(layout: MessageLayout) -> Ints:
    """Place, size and column of each output, or of the root's table when there are no outputs."""
    scopes = [output.scope for output in layout.outputs] or [layout.root_scope]
    sizes = [layout.tree.entries(scope) for scope in scopes]
    columns = np.cumsum([0, *sizes])[:-1]
    return np.array([layout.out or [layout.up[0]], sizes, columns], dtype=np.int64).T.copy()

"""One evidence set at a time: a junction tree run by strided loops, whatever the size of its cliques."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk._threads import run_parallel
from bntk.inference.junction import SPLIT_ENTRIES, JunctionTree, Layout, Output, Scope, Use, Visit, homes

#: Pieces that a large clique is cut into, whatever the number of threads, so that sums do not depend on it.
PIECES = 8
#: The factors of a clique with at most this many entries are multiplied beforehand.
FOLD_ENTRIES = 1 << 12

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_NO_SCALES: Floats = np.empty(0)


@dataclass(frozen=True)
class Evidence:
    """One evidence set: the observed state of each variable or -1, likelihoods of the others, and a constant.

    ``log_weight`` is the logarithm of what the likelihoods were divided by.
    """

    observed: Ints
    soft: NDArray[np.bool_]
    vectors: dict[int, Floats]
    log_weight: float


class StridedEngine:
    """A junction tree with its factors in one buffer, ready for :mod:`bntk.inference.program_kernels`."""

    def __init__(self, tree: JunctionTree, factors: Sequence[tuple[Scope, Floats]]) -> None:
        self.tree = tree
        self.cards = np.array(tree.cards, dtype=np.int64)
        fixed, tables = folded(tree, factors)
        self._sources = _marginal_sources(tree)
        outputs = [source for source in self._sources if isinstance(source, Output)]
        self.layout = Layout(tree, begin=sum(table.size for table in tables), outputs=outputs)
        self.tables = np.concatenate([np.empty(0), *(table.ravel() for table in tables)])
        self._collecting = self.layout.collect(fixed)
        self._distributing = self.layout.distribute(fixed)
        self.collecting = flat_visits(tree, self._collecting)

    @cached_property
    def distributing(self) -> Any:
        """The flat visits of the pass outwards; queries for the probability of the evidence alone do without."""
        return flat_visits(self.tree, self._distributing)

    @cached_property
    def messages(self) -> Any:
        """Where the messages are, as the kernels want it."""
        return flat_messages(self.layout)

    # ---- passes ----------------------------------------------------------------------------------------------

    def load(self, evidence: Evidence) -> Floats:
        """A fresh buffer with the factors and the evidence."""
        data = np.zeros(self.layout.size + self._spare)
        data[: self.tables.size] = self.tables
        for variable, vector in evidence.vectors.items():
            begin = self.layout.vector[variable]
            data[begin : begin + vector.size] = vector
        return data

    def collect(self, data: Floats, evidence: Evidence, maximise: bool = False) -> tuple[float, Ints]:
        """Send all messages to the root; returns the log of the sum (or maximum) and the choices made."""
        from bntk.inference import pass_kernels as kernels

        chosen = np.zeros(data.size if maximise else 1, dtype=np.int64)
        scales = np.ones(len(self.tree.cliques))
        possible = True
        for begin, end, large in self._stretches(evidence, reverse=True):
            if large and not maximise:
                self._visit_in_pieces(data, self.collecting, self._collecting[begin], evidence)
                scales[begin] = kernels.rescale(data, self.layout.up[begin], int(self.messages.sizes[begin]))
                possible = scales[begin] > 0
            else:
                span = (begin, end, kernels.INWARD)
                possible = self._run(data, self.collecting, span, evidence, scales, maximise, chosen)
            if not possible:
                return -math.inf, chosen
        return float(np.log(scales).sum()) + evidence.log_weight, chosen

    def distribute(self, data: Floats, evidence: Evidence) -> None:
        """Send all messages from the root outwards."""
        from bntk.inference import pass_kernels as kernels

        for begin, end, large in self._stretches(evidence, reverse=False):
            if large:
                self._visit_in_pieces(data, self.distributing, self._distributing[begin], evidence)
                kernels.finish_down(data, self.messages, begin)
            else:
                self._run(data, self.distributing, (begin, end, kernels.OUTWARD), evidence)

    def _run(
        self,
        data: Floats,
        visits: Any,
        span: tuple[int, int, int],
        evidence: Evidence,
        scales: Floats = _NO_SCALES,
        maximise: bool = False,
        chosen: Ints | None = None,
        piece: tuple[int, int, Ints] | None = None,
    ) -> bool:
        """One call of the kernel for a span of cliques (first, one past the last, phase)."""
        from bntk.inference.pass_kernels import WHOLE, run_pass

        state = (self.cards, evidence.observed, evidence.soft)
        cut = piece or (0, WHOLE, np.zeros(visits.offsets.size + 1, np.int64))
        chosen = np.zeros(1, np.int64) if chosen is None else chosen
        return bool(run_pass(data, chosen, visits, self.messages, *span, *state, *cut, scales, maximise))

    def _stretches(self, evidence: Evidence, reverse: bool) -> Iterator[tuple[int, int, bool]]:
        """Stretches of cliques that one call runs, and large cliques alone, in the order of the pass."""
        large = [k for k in self._large if self._open_entries(k, evidence) > SPLIT_ENTRIES]
        n_cliques = len(self.tree.cliques)
        bounds = [(k, k + 1, True) for k in large]
        gaps = zip([0, *(k + 1 for k in large)], [*large, n_cliques], strict=True)
        bounds += [(begin, end, False) for begin, end in gaps if begin < end]
        return iter(sorted(bounds, reverse=reverse))

    @cached_property
    def _large(self) -> list[int]:
        return [k for k, size in enumerate(self.tree.sizes) if size > SPLIT_ENTRIES]

    def _open_entries(self, k: int, evidence: Evidence) -> int:
        return self.tree.entries(v for v in self.tree.cliques[k] if evidence.observed[v] < 0)

    def _visit_in_pieces(self, data: Floats, visits: Any, visit: Visit, evidence: Evidence) -> None:
        """Run a visit over several threads, cut at its outermost open variable.

        Tables that have this variable are written in separate places; of the others each piece writes a copy of its
        own at the end of the buffer, and the copies are added in order.
        """
        from bntk.inference.pass_kernels import ALONE, add_up

        k = visit.clique
        axes = visits.axes[visits.axis_start[k] : visits.axis_start[k + 1]].tolist()
        outermost = next(v for v in axes if evidence.observed[v] < 0 and self.cards[v] > 1)
        step = -(-int(self.cards[outermost]) // PIECES)
        firsts = range(0, int(self.cards[outermost]), step)
        shifts = np.zeros((len(firsts), len(visit.writes)), dtype=np.int64)
        free = self.layout.size
        for i, use in enumerate(visit.writes):
            if outermost not in use.scope:
                shifts[:, i] = free - use.offset + np.arange(len(firsts)) * self.tree.entries(use.scope)
                free += len(firsts) * self.tree.entries(use.scope)
        data[self.layout.size : free] = 0.0

        def work(piece: int) -> None:
            cut = (firsts[piece], firsts[piece] + step, shifts[piece])
            self._run(data, visits, (k, k + 1, ALONE), evidence, piece=cut)

        run_parallel(work, range(len(firsts)))
        for i, use in enumerate(visit.writes):
            for shift in shifts[:, i][shifts[:, i] > 0].tolist():
                add_up(data, use.offset, use.offset + shift, self.tree.entries(use.scope))

    @cached_property
    def _spare(self) -> int:
        """Room for a joint, or copies of the tables written by one large clique; untouched pages cost nothing."""
        writes = [self._distributing[k].writes + self._collecting[k].writes for k in self._large]
        copies = PIECES * max((sum(self.tree.entries(use.scope) for use in uses) for uses in writes), default=0)
        return max(copies, min(max(self.tree.sizes), SPLIT_ENTRIES))

    # ---- answers ---------------------------------------------------------------------------------------------

    def marginals(self, data: Floats, evidence: Evidence) -> Floats:
        """All marginals, one after another, from a calibrated buffer."""
        from bntk.inference import pass_kernels as kernels

        out = np.empty(int(self.cards.sum()))
        kernels.read_marginals(data, *self._marginal_tables, self.cards, self.starts, evidence.observed, out)
        return out

    @cached_property
    def starts(self) -> Ints:
        """Where each variable begins in an array with one entry a state."""
        return np.cumsum([0, *self.tree.cards])[:-1]

    @cached_property
    def _marginal_tables(self) -> tuple[Ints, ...]:
        """For each variable: the one or two tables whose product has its marginal, their size, its stride there."""
        rows = []
        outputs = iter(self.layout.out)
        for variable, source in enumerate(self._sources):
            if isinstance(source, Output):
                rows.append((next(outputs), -1, self.tree.cards[variable], 1))
            elif source < 0:
                rows.append((-1, -1, 0, 1))
            else:
                scope = self.tree.separators[source]
                inner = self.tree.entries(scope[scope.index(variable) + 1 :])
                rows.append((self.layout.up[source], self.layout.down[source], self.tree.entries(scope), inner))
        columns = np.array(rows, dtype=np.int64).reshape(-1, 4)
        return tuple(np.ascontiguousarray(column) for column in columns.T)

    def joint(self, data: Floats, evidence: Evidence, clique: int, scope: Scope) -> Floats:
        """The joint distribution of some variables of one clique, axes in the order given."""
        from bntk.inference.pass_kernels import ALONE

        begin, size = self.layout.size, self.tree.entries(scope)
        if begin + size > data.size:
            data = np.concatenate([data[:begin], np.empty(size)])
        data[begin : begin + size] = 0.0
        visits = flat_visits(self.tree, [Visit(clique, self._distributing[clique].reads, (Use(begin, scope),))])
        self._run(data, visits, (0, 1, ALONE), evidence)
        table = data[begin : begin + size].reshape([self.tree.cards[v] for v in scope])
        return table / table.sum()

    def most_probable(self, evidence: Evidence) -> tuple[Ints, float]:
        """A most probable state of every variable, and the log of its probability."""
        from bntk.inference import pass_kernels as kernels

        data = self.load(evidence)
        log_top, chosen = self.collect(data, evidence, maximise=True)
        states = evidence.observed.copy()
        if log_top > -math.inf:
            kernels.trace_back(chosen, self.collecting, self.messages, self.cards, states)
        return states, log_top


def folded(tree: JunctionTree, factors: Sequence[tuple[Scope, Floats]]) -> tuple[list[list[Use]], list[Floats]]:
    """The tables that each clique reads: its factors, those within another's scope multiplied into that one."""
    fixed: list[list[Use]] = [[] for _ in tree.cliques]
    tables: list[Floats] = []
    offset = 0
    for clique, members in enumerate(homes(tree, [scope for scope, _ in factors])):
        groups: list[tuple[Scope, Floats]] = []
        if tree.sizes[clique] <= FOLD_ENTRIES and len(members) > 1:
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


def expanded(values: NDArray[Any], scope: Scope, larger: Scope) -> NDArray[Any]:
    """A table over some of the variables with the axes of a larger scope, of length one where it has none."""
    order = sorted(range(len(scope)), key=lambda a: larger.index(scope[a]))
    shape = [values.shape[scope.index(v)] if v in scope else 1 for v in larger]
    return values.transpose(order).reshape(shape)


def _marginal_sources(tree: JunctionTree) -> list[Output | int]:
    """Where each variable's marginal is read off: a separator (its clique's number), or an output of a clique.

    -1 for a variable that the tree does not have.
    """
    best: list[tuple[int, int]] = [(1 << 62, -1)] * len(tree.cards)
    for number, separator in enumerate(tree.separators):
        size = tree.entries(separator)
        for variable in separator:
            best[variable] = min(best[variable], (size, number))
    sources: list[Output | int] = []
    for variable, (size, number) in enumerate(best):
        clique = tree.smallest_clique((variable,))
        if clique >= 0 and (number < 0 or tree.sizes[clique] < size):
            sources.append(Output((variable,), clique))
        else:
            sources.append(number)
    return sources


def flat_visits(tree: JunctionTree, visits: Sequence[Visit]) -> Any:
    """The visits as arrays for the kernels."""
    from bntk.inference.program_kernels import Visits

    axis_start, table_start = [0], [0]
    axes: list[int] = []
    places: list[int] = []
    n_reads: list[int] = []
    offsets: list[int] = []
    gates: list[int] = []
    stride_start: list[int] = []
    strides: list[int] = []
    for visit in visits:
        order = tree.cliques[visit.clique]
        uses = visit.reads + visit.writes
        own = _strides(tree, tuple(sorted(order)))
        axes += order
        places += [own[v] for v in order]
        axis_start.append(len(axes))
        table_start.append(table_start[-1] + len(uses))
        n_reads.append(len(visit.reads))
        stride_start.append(len(strides))
        for use in uses:
            offsets.append(use.offset)
            gates.append(use.evidence_of)
            steps = _strides(tree, use.scope)
            strides += [steps.get(v, 0) for v in order]
    columns = (axis_start, axes, places, table_start, n_reads, offsets, gates, stride_start, strides)
    return Visits(*(np.array(column, dtype=np.int64) for column in columns))


def _strides(tree: JunctionTree, scope: Scope) -> dict[int, int]:
    steps, step = {}, 1
    for variable in reversed(scope):
        steps[variable] = step
        step *= tree.cards[variable]
    return steps


def flat_messages(layout: Layout) -> Any:
    """Where the messages of a tree are, as arrays for the kernels."""
    from bntk.inference.program_kernels import Messages

    tree = layout.tree
    sizes = [tree.entries(layout.up_scope(number)) for number in range(len(tree.cliques))]
    starts = np.cumsum([0, *map(len, tree.children)])
    children = [child for row in tree.children for child in row]
    columns = (layout.up, layout.down, sizes, starts, children)
    return Messages(*(np.array(column, dtype=np.int64) for column in columns))


def result_tables(layout: Layout) -> Ints:
    """Place, size and column of each output, or of the root's table when there are no outputs."""
    scopes = [output.scope for output in layout.outputs] or [layout.root_scope]
    sizes = [layout.tree.entries(scope) for scope in scopes]
    columns = np.cumsum([0, *sizes])[:-1]
    return np.array([layout.out or [layout.up[0]], sizes, columns], dtype=np.int64).T.copy()

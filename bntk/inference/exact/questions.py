"""One question at a time, without a junction tree: pruning, ordering and summing out by compiled loops.

What a question depends on is found first, and the order of summing out with its cost; then it is run, if
:mod:`bntk.inference.choose` says so. Nothing is kept but the tables of the network as flat arrays, so that the first
question costs as much as the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, overload

import numpy as np

from bntk.inference import choose
from bntk.inference.elimination.flat import flat_tables, network_families
from bntk.inference.engines import Evidence, Floats, Ints
from bntk.inference.plan import Plan

if TYPE_CHECKING:
    from bntk.inference.exact.posteriors import PosteriorProgram
    from bntk.network import BayesianNetwork

_NO_VECTORS: Floats = np.empty(0)
_NO_TARGETS: Ints = np.empty(0, dtype=np.int64)


@dataclass(slots=True)
class SummedOut:
    """The joint posterior of the targets of a question, axes in their order; ``log_z`` is -inf when it is impossible.

    Of findings that the targets do not depend on, ``log_z`` has not the probability, but whether they are possible.
    """

    log_z: float
    entries: int
    values: Floats

    def marginal(self, variable: int) -> Floats:
        """The posterior of the only target."""
        return self.values

    def joint(self, variables: Sequence[int]) -> Floats:
        """The posterior of all targets."""
        return self.values


@dataclass(slots=True)
class AllSummedOut:
    """The posteriors of all variables, one after another."""

    log_z: float
    entries: int
    values: Floats
    spans: list[slice]

    def marginal(self, variable: int) -> Floats:
        """The posterior of a variable."""
        return self.values[self.spans[variable]]


class Questions:
    """A network as the flat arrays that :mod:`bntk.inference.exact.question_kernels` reads."""

    def __init__(self, network: BayesianNetwork) -> None:
        flat, children = network_families(network), network.dag.child_indices
        self.names, self.cards = network.names, flat.cards.tolist()
        self.children = [(cpt.child,) for cpt in network.cpts]
        self._places = [*accumulate(self.cards, initial=0)]
        self._spans = [slice(*span) for span in pairwise(self._places)]
        self._single = np.where(flat.cards == 1, 0, -1)  # a variable with one state is as good as observed
        self._any_single = bool((flat.cards == 1).any())
        self._whole: tuple[int, float, Ints] | None = None
        self._posteriors: PosteriorProgram | None = None
        self._room = 5 * flat.cards.size + 2 * flat.members.size
        tables = flat_tables(network, np.asarray)
        zeros, lows = np.zeros(0, np.bool_), np.zeros(0)
        if tables.size:
            zeros = np.minimum.reduceat(tables, flat.offsets) == 0.0
            lows = np.minimum.reduceat(np.where(tables > 0.0, tables, 1.0), flat.offsets)
        child_starts = np.cumsum([0, *map(len, children)])
        every_child = np.array([child for row in children for child in row], dtype=np.int64)
        self._graph = flat.cards, flat.starts, flat.members, child_starts, every_child, zeros
        self._tables = flat.cards, flat.starts, flat.members, flat.strides, flat.offsets, tables, lows

    @overload
    def ask(self, targets: Sequence[int], evidence: Evidence, limit: int) -> SummedOut | None: ...
    @overload
    def ask(self, targets: None, evidence: Evidence, limit: int) -> AllSummedOut | None: ...
    @overload
    def ask(self, targets: Sequence[int] | None, evidence: Evidence, limit: int) -> SummedOut | AllSummedOut | None: ...
    def ask(self, targets: Sequence[int] | None, evidence: Evidence, limit: int) -> SummedOut | AllSummedOut | None:
        """The joint posterior of unobserved targets, all posteriors, or without targets the probability of findings.

        None if summing out would take more entries than the limit, or if numbers are too small for products.
        """
        from bntk.inference.exact.question_kernels import IMPOSSIBLE, LOST, run_question

        states, vectors = evidence.observed, _NO_VECTORS
        if self._any_single or evidence.vectors:
            states = np.maximum(states, self._single)
        if evidence.vectors:
            if min(evidence.lowest.values()) == 0.0:
                return None
            vectors = self._enter_vectors(states, evidence)
        if targets is None:
            return self._ask_for_all(evidence, states, vectors, limit)
        shape = [self.cards[v] for v in targets]
        if math.prod(shape) > limit:
            return None
        n_targets, m, entries, room, order = self._plan(targets, states, limit)
        if entries > limit:
            return None
        out = np.empty(math.prod(shape) + 1)
        found = run_question(*self._tables, states, vectors, m - n_targets, m, entries, room, order, out)
        if found == LOST:
            return None
        log_z = evidence.log_weight + (-math.inf if found == IMPOSSIBLE else float(out[-1]))
        out.setflags(write=False)
        return SummedOut(log_z, int(entries), out[:-1].reshape(shape))

    def _ask_for_all(self, evidence: Evidence, states: Ints, vectors: Floats, limit: int) -> AllSummedOut | None:
        from bntk.inference.exact.posterior_kernels import FAINT, IMPOSSIBLE, run_posteriors

        entries, order = self._plan_everything(limit)
        if max(entries, self._places[-1]) > limit:
            return None
        if self._posteriors is None:
            from bntk.inference.exact.posteriors import PosteriorProgram

            self._posteriors = PosteriorProgram(self.cards, self._families, order.tolist(), self._places)
        floor = self._posteriors.floor
        if floor < FAINT or (vectors.size and floor * math.prod(evidence.lowest.values()) < FAINT):
            return None
        out = np.empty(self._places[-1] + 1)
        found = run_posteriors(*self._posteriors.arguments, states, vectors, out)
        log_z = evidence.log_weight + (-math.inf if found == IMPOSSIBLE else float(out[-1]))
        out.setflags(write=False)
        return AllSummedOut(log_z, int(entries), out[:-1], self._spans)

    @property
    def _families(self) -> list[tuple[list[int], Floats]]:
        """The variables of each table, and the table."""
        _, starts, members, _, offsets, tables, _ = self._tables
        ends = [*offsets.tolist()[1:], tables.size]
        rows = zip(pairwise(starts.tolist()), offsets.tolist(), ends, strict=True)
        return [(members[a:b].tolist(), tables[begin:end]) for (a, b), begin, end in rows]

    def _enter_vectors(self, states: Ints, evidence: Evidence) -> Floats:
        """All vectors in one, and where each begins among the states."""
        begin = 0
        for v, vector in evidence.vectors.items():
            states[v] = -2 - begin
            begin += vector.size
        return np.concatenate([*evidence.vectors.values()])

    def _plan(self, targets: Sequence[int] | None, states: Ints, limit: int) -> tuple[int, int, float, Ints, Ints]:
        """The number of targets, of open variables and of entries; the memory of the plan, and the order."""
        if targets is None:
            entries, order = self._plan_everything(limit)
            return 0, 0, entries, order, order
        at = np.array([v for v in targets if self.cards[v] > 1], dtype=np.int64) if targets else _NO_TARGETS
        return at.size, *self._ordered(at, False, states, limit)

    def _plan_everything(self, limit: int) -> tuple[float, Ints]:
        """All posteriors need all tables, in an order that is made once; the number of entries, and the order."""
        if self._whole is None or self._whole[0] < min(limit, self._whole[1]):  # not finished, under a lower limit
            m, entries, _, order = self._ordered(_NO_TARGETS, True, self._single, limit)
            self._whole = limit, entries, order[:m]
        _, entries, order = self._whole
        return entries, order

    def _ordered(self, at: Ints, everything: bool, states: Ints, limit: int) -> tuple[int, float, Ints, Ints]:
        from bntk.inference.exact.question_kernels import plan_question

        room, order = np.empty(self._room, np.int64), np.empty(states.size, np.int64)
        m, entries = plan_question(*self._graph, states, at, everything, limit, room, order)
        return m, entries, room, order

    def plan(self, targets: Sequence[int] | None, observed: Ints, limit: int) -> Plan | None:
        """What a question costs, whatever the states that are observed; None if it is over the limit."""
        states = np.maximum(observed, self._single)
        n_targets, m, entries, room, order = self._plan(targets, states, limit)
        if entries > limit or (targets and math.prod(self.cards[v] for v in targets) > limit):
            return None
        members = [row.tolist() for row in np.split(self._graph[2], self._graph[1][1:-1])]
        needed = np.arange(states.size) if targets is None else np.flatnonzero(room[: states.size])
        families = [[v for v in members[f] if states[v] < 0] for f in needed]
        if targets is None:
            order = order[states[order] < 0]
            m = order.size
        cliques, separators = self._steps(order[:m].tolist(), m - n_targets, families)
        sizes = [math.prod(self.cards[v] for v in clique) for clique in cliques] or [1]
        between = sum(math.prod(self.cards[v] for v in separator) for separator in separators)
        tables = sum(math.prod(self.cards[v] for v in family) for family in families)
        largest = max(range(len(sizes)), key=sizes.__getitem__)
        choice = choose.summing_out(len(cliques), sum(sizes))
        return Plan(
            n_variables=m,
            n_cliques=len(cliques),
            total_entries=sum(sizes),
            largest_entries=sizes[largest],
            largest_clique=tuple(self.names[v] for v in sorted(cliques[largest])) if cliques else (),
            separator_entries=between,
            memory=8 * (tables + sum(sizes)),
            operations=2 * sum(sizes) * (1 + max(1, len(families)) // max(1, len(cliques))),
            open_entries=sum(sizes),
            largest_open=sizes[largest],
            engine=choice.engine,
            reason=choice.reason,
        )

    def _steps(
        self, order: list[int], n_steps: int, families: list[list[int]]
    ) -> tuple[list[set[int]], list[set[int]]]:
        """The variables of each product, and of the table that it leaves."""
        place = {v: k for k, v in enumerate(order)}
        buckets: list[set[int]] = [set() for _ in range(n_steps + 1)]
        for family in families:
            if family:
                buckets[min(n_steps, *(place[v] for v in family))].update(family)
        rests = []
        for k, v in enumerate(order[:n_steps]):
            rests.append(buckets[k] - {v})
            if rests[k]:
                buckets[min(n_steps, *(place[u] for u in rests[k]))] |= rests[k]
        return [*filter(None, buckets)], rests


def questions_of(network: BayesianNetwork) -> Questions:
    """The flat arrays of a network, made once."""
    if "questions" not in network._cache:
        network._cache["questions"] = Questions(network)
    found: Questions = network._cache["questions"]
    return found

"""One evidence set on a small junction tree, by numpy alone.

:class:`bntk.inference.exact.strided.StridedEngine` takes over for everything larger; see
:func:`bntk.inference.choose.exact_engine`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bntk.inference.engines import Evidence, Floats, Ints
from bntk.inference.exact.junction import JunctionTree, Scope, clique_products


@dataclass(frozen=True)
class _Separator:
    """How tables over a separator go from a child's axes to its parent's, and back.

    ``child_sums`` and ``parent_sums`` are the axes of either that the separator lacks; ``child_shape`` and
    ``parent_shape`` have length one there. ``order`` brings the separator from the child's order into the parent's,
    and ``back`` the other way.
    """

    parent: int
    child_sums: tuple[int, ...]
    parent_sums: tuple[int, ...]
    child_shape: tuple[int, ...]
    parent_shape: tuple[int, ...]
    shape: tuple[int, ...]
    order: tuple[int, ...]
    back: tuple[int, ...]

    def up(self, table: Floats) -> Floats:
        """A table with the child's axes, with the parent's."""
        return table.reshape(self.shape).transpose(self.order).reshape(self.parent_shape)

    def down(self, table: Floats) -> Floats:
        """The sum of a table over the parent's clique, with the child's axes."""
        return table.sum(self.parent_sums).transpose(self.back).reshape(self.child_shape)


class SmallEngine:
    """A small junction tree with the product of its factors at every clique."""

    def __init__(self, tree: JunctionTree, factors: Sequence[tuple[Scope, Floats]]) -> None:
        self.tree = tree
        self.potentials = clique_products(tree, tree.cliques, factors)
        self.separators = [self._separator(number) for number in range(len(tree.cliques))]
        self.home = [tree.smallest_clique((v,)) if found else -1 for v, found in enumerate(tree.cliques_of)]

    def _separator(self, number: int) -> _Separator | None:
        above = self.tree.parent[number]
        if above < 0:
            return None
        cliques, cards, shared = self.tree.cliques, self.tree.cards, {*self.tree.separators[number]}

        def axes(clique: Scope) -> tuple[tuple[int, ...], tuple[int, ...]]:
            lacking = tuple(a for a, v in enumerate(clique) if v not in shared)
            return lacking, tuple(cards[v] if v in shared else 1 for v in clique)

        own, others = ([v for v in clique if v in shared] for clique in (cliques[number], cliques[above]))
        order, back = tuple(map(own.index, others)), tuple(map(others.index, own))
        (child_sums, child_shape), (parent_sums, parent_shape) = axes(cliques[number]), axes(cliques[above])
        shape = tuple(cards[v] for v in own)
        return _Separator(above, child_sums, parent_sums, child_shape, parent_shape, shape, order, back)

    def calibrate(self, evidence: Evidence) -> SmallRun:
        """Send all messages to the root; those outwards are sent where an answer is read."""
        return SmallRun(self, evidence)

    def mpe(self, evidence: Evidence) -> tuple[Ints, float]:
        """A most probable state of every variable, and the log of its probability; of equals the lowest states."""
        run = SmallRun(self, evidence, maximise=True)
        states = evidence.observed.copy()
        if run.log_z > -math.inf:
            for clique, belief in zip(self.tree.cliques, run.beliefs, strict=True):
                _choose(clique, belief, states)
        return states, run.log_z


class SmallRun:
    """The passes for one evidence set: the belief of each clique, and what each has sent to its parent.

    Of the cliques in ``_final`` the belief is the posterior, up to a factor.
    """

    def __init__(self, engine: SmallEngine, evidence: Evidence, maximise: bool = False) -> None:
        self._engine, self._tree, self._evidence = engine, engine.tree, evidence
        self.beliefs = list(engine.potentials)
        self._final = {0}
        for variable in np.flatnonzero(evidence.observed >= 0).tolist():
            seen = np.zeros(self._tree.cards[variable])
            seen[evidence.observed[variable]] = 1.0
            self._multiply(variable, seen)
        for variable, vector in evidence.vectors.items():
            self._multiply(variable, vector)
        self._ups = [np.ones(())] * len(self.beliefs)
        self.log_z = evidence.log_weight + self._collect(maximise)

    def _multiply(self, variable: int, vector: Floats) -> None:
        home = self._engine.home[variable]
        if home >= 0:
            clique = self._tree.cliques[home]
            self.beliefs[home] = self.beliefs[home] * vector.reshape([-1 if v == variable else 1 for v in clique])

    def _collect(self, maximise: bool) -> float:
        """Send all messages to the root; returns the log of the sum (or maximum)."""
        log_total = 0.0
        for number in range(len(self.beliefs) - 1, -1, -1):
            separator, belief = self._engine.separators[number], self.beliefs[number]
            reduce: Any = belief.max if maximise else belief.sum
            message = reduce(separator.child_sums, keepdims=True) if separator else reduce()
            scale = float(message.max())
            if scale == 0.0:
                return -math.inf
            log_total += math.log(scale)
            if separator:
                self._ups[number] = message = message / scale
                self.beliefs[separator.parent] = self.beliefs[separator.parent] * separator.up(message)
        return log_total

    def _belief(self, number: int) -> Floats:
        """The posterior of a clique up to a factor: its own belief with the message from its parent."""
        separator = self._engine.separators[number]
        if separator and number not in self._final:
            up, shared = self._ups[number], separator.down(self._belief(separator.parent))
            # Where the message up is zero, so is what it was multiplied into.
            ratio = np.divide(shared, up, out=np.zeros_like(up), where=up > 0)
            belief = self.beliefs[number] * ratio
            self.beliefs[number] = belief / belief.max()
            self._final.add(number)
        return self.beliefs[number]

    def marginal(self, variable: int) -> Floats:
        """The posterior of one variable; zeros for a variable that the tree does not have."""
        seen, home = int(self._evidence.observed[variable]), self._engine.home[variable]
        if seen < 0 <= home:
            return self._table(home, (variable,))
        out = np.zeros(self._tree.cards[variable])
        out[seen : seen + 1 if seen >= 0 else 0] = 1.0
        return out

    def joint(self, variables: Sequence[int]) -> Floats:
        """The joint distribution of some unobserved variables of one clique, axes in the order given."""
        return self._table(self._tree.clique_with(variables), variables)

    def _table(self, clique: int, variables: Sequence[int]) -> Floats:
        members = self._tree.cliques[clique]
        table: Floats = self._belief(clique).sum(tuple(a for a, v in enumerate(members) if v not in variables))
        if len(variables) > 1:
            left = [v for v in members if v in variables]
            table = table.transpose([left.index(v) for v in variables])
        return table / table.sum()


def _choose(clique: Scope, belief: Floats, states: Ints) -> None:
    """The best states of the variables that are still open, given the others; the lowest ones of equals."""
    free = [v for v in clique if states[v] < 0]
    table = belief[tuple(slice(None) if states[v] < 0 else int(states[v]) for v in clique)]
    if free:
        ranked = sorted(free)
        table = table.transpose([free.index(v) for v in ranked])
        states[ranked] = np.unravel_index(int(np.argmax(table)), table.shape)

"""One evidence set on a small junction tree, by numpy alone.

For a handful of small cliques, handing arrays over to compiled loops takes longer than the work itself; and a first
question about a textbook network should not have to wait for a compiler. The engine has the methods of
:class:`bntk.inference.exact.strided.StridedEngine`, which takes over for everything larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk.inference.exact.junction import JunctionTree, Scope, homes
from bntk.inference.exact.strided import Evidence, Floats, Ints, expanded

#: Cliques, and entries of all of them together, up to which a tree is small; and what axes numpy's arrays can have.
MOST_CLIQUES, MOST_ENTRIES, MOST_AXES = 16, 1 << 12, 32


def is_small(tree: JunctionTree) -> bool:
    """Whether numpy runs the tree about as fast as compiled loops do, or faster."""
    few = len(tree.cliques) <= MOST_CLIQUES and max(map(len, tree.cliques)) <= MOST_AXES
    return few and sum(tree.sizes) <= MOST_ENTRIES and not tree.known


@dataclass
class SmallRun:
    """The passes for one evidence set: the belief of each clique, and what each has sent to its parent.

    Of the cliques in ``final`` the belief is the posterior, up to a factor.
    """

    evidence: Evidence
    beliefs: list[Floats]
    ups: list[Floats] = field(default_factory=list)
    final: set[int] = field(default_factory=lambda: {0})


@dataclass(frozen=True)
class _Link:
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
    separator_shape: tuple[int, ...]
    order: tuple[int, ...]
    back: tuple[int, ...]

    def up(self, table: Floats) -> Floats:
        """A table with the child's axes, with the parent's."""
        return table.reshape(self.separator_shape).transpose(self.order).reshape(self.parent_shape)

    def down(self, table: Floats) -> Floats:
        """The sum of a table over the parent's clique, with the child's axes."""
        return table.sum(self.parent_sums).transpose(self.back).reshape(self.child_shape)


class SmallEngine:
    """A small junction tree with the product of its factors at every clique."""

    def __init__(self, tree: JunctionTree, factors: Sequence[tuple[Scope, Floats]]) -> None:
        self.tree = tree
        self._potentials = []
        for clique, members in zip(tree.cliques, homes(tree, [scope for scope, _ in factors]), strict=True):
            product = np.ones([tree.cards[v] for v in clique])
            for member in members:
                scope, values = factors[member]
                product *= expanded(values, scope, clique)
            self._potentials.append(product)
        self._links = [self._link(number) for number in range(len(tree.cliques))]
        self._home = [tree.smallest_clique((v,)) if found else -1 for v, found in enumerate(tree.cliques_of)]

    def _link(self, number: int) -> _Link | None:
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
        separator_shape = tuple(cards[v] for v in own)
        return _Link(above, child_sums, parent_sums, child_shape, parent_shape, separator_shape, order, back)

    # ---- passes ----------------------------------------------------------------------------------------------

    def start(self, evidence: Evidence) -> SmallRun:
        """The factors times the evidence, and no messages yet."""
        run = SmallRun(evidence, list(self._potentials))
        for variable in np.flatnonzero(evidence.observed >= 0).tolist():
            seen = np.zeros(self.tree.cards[variable])
            seen[evidence.observed[variable]] = 1.0
            self._multiply(run, variable, seen)
        for variable, vector in evidence.vectors.items():
            self._multiply(run, variable, vector)
        return run

    def _multiply(self, run: SmallRun, variable: int, vector: Floats) -> None:
        home = self._home[variable]
        if home >= 0:
            clique = self.tree.cliques[home]
            run.beliefs[home] = run.beliefs[home] * vector.reshape([-1 if v == variable else 1 for v in clique])

    def collect(self, run: SmallRun, maximise: bool = False) -> tuple[float, None]:
        """Send all messages to the root; returns the log of the sum (or maximum), and no choices."""
        log_total = 0.0
        run.ups = [np.ones(())] * len(self._links)
        for number in range(len(self._links) - 1, -1, -1):
            link, belief = self._links[number], run.beliefs[number]
            reduce: Any = belief.max if maximise else belief.sum
            message = reduce(link.child_sums, keepdims=True) if link else reduce()
            scale = float(message.max())
            if scale == 0.0:
                return -math.inf, None
            log_total += math.log(scale)
            if link:
                run.ups[number] = message = message / scale
                run.beliefs[link.parent] = run.beliefs[link.parent] * link.up(message)
        return log_total, None

    def distribute(self, run: SmallRun) -> None:
        """Nothing is sent outwards but on the way to a clique that an answer is read from, see :meth:`_belief`."""

    def _belief(self, run: SmallRun, number: int) -> Floats:
        """The posterior of a clique up to a factor: its own belief with the message from its parent."""
        link = self._links[number]
        if link and number not in run.final:
            up, shared = run.ups[number], link.down(self._belief(run, link.parent))
            # Where the message up is zero, so is what it was multiplied into.
            ratio = np.divide(shared, up, out=np.zeros_like(up), where=up > 0)
            belief = run.beliefs[number] * ratio
            run.beliefs[number] = belief / belief.max()
            run.final.add(number)
        return run.beliefs[number]

    # ---- answers ---------------------------------------------------------------------------------------------

    def marginal(self, run: SmallRun, variable: int) -> Floats:
        """The posterior of one variable; zeros for a variable that the tree does not have."""
        seen, home = int(run.evidence.observed[variable]), self._home[variable]
        if seen < 0 <= home:
            return self.joint(run, home, (variable,))
        out = np.zeros(self.tree.cards[variable])
        out[seen : seen + 1 if seen >= 0 else 0] = 1.0
        return out

    def joint(self, run: SmallRun, clique: int, scope: Scope) -> Floats:
        """The joint distribution of some unobserved variables of one clique, axes in the order given."""
        members = self.tree.cliques[clique]
        table: Floats = self._belief(run, clique).sum(tuple(a for a, v in enumerate(members) if v not in scope))
        left = [v for v in members if v in scope]
        if len(scope) > 1:
            table = table.transpose([left.index(v) for v in scope])
        return table / table.sum()

    def most_probable(self, evidence: Evidence) -> tuple[Ints, float]:
        """A most probable state of every variable, and the log of its probability."""
        run = self.start(evidence)
        log_top, _ = self.collect(run, maximise=True)
        states = evidence.observed.copy()
        if log_top > -math.inf:
            for clique, belief in zip(self.tree.cliques, run.beliefs, strict=True):
                self._choose(clique, belief, states)
        return states, log_top + evidence.log_weight

    @staticmethod
    def _choose(clique: Scope, belief: NDArray[Any], states: Ints) -> None:
        """The best states of the variables that are still open, given the others; the lowest ones of equals."""
        free = [v for v in clique if states[v] < 0]
        table = belief[tuple(slice(None) if states[v] < 0 else int(states[v]) for v in clique)]
        if free:
            ranked = sorted(free)
            table = table.transpose([free.index(v) for v in ranked])
            states[ranked] = np.unravel_index(int(np.argmax(table)), table.shape)

"""One evidence set on a small junction tree, by numpy alone.

Where numpy reports that a product has become too small for a float, the compiled loops in log space take over.

:class:`bntk.inference.exact.strided.StridedEngine` takes over for everything larger; see
:func:`bntk.inference.choose.exact_engine`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bntk.inference.engines import Evidence, Floats, Ints
from bntk.inference.exact.junction import JunctionTree, Scope, clique_products
from bntk.inference.exact.strided import LogRun, StridedEngine


class _Link(NamedTuple):
    """A clique's parent, the axes of both that their separator lacks, and their shapes with length one there.

    As the axes of all cliques are ascending, a message fits into the other clique by its shape alone.
    """

    parent: int
    sums: tuple[int, ...]
    shape: tuple[int, ...]
    parent_sums: tuple[int, ...]
    parent_shape: tuple[int, ...]


class SmallEngine:
    """A small junction tree with the product of its factors at every clique."""

    def __init__(self, tree: JunctionTree, factors: Sequence[tuple[Scope, Floats]]) -> None:
        self.tree, self.cliques = tree, [tuple(sorted(clique)) for clique in tree.cliques]
        self._factors, self.potentials = factors, list[Floats]()
        with suppress(FloatingPointError), np.errstate(under="raise"):
            self.potentials = clique_products(tree, self.cliques, factors)
        self.links = [
            _Link(above, *self._axes(number, separator), *self._axes(above, separator))
            for number, (above, separator) in enumerate(zip(tree.parent, tree.separators, strict=True))
        ]
        self.home = [tree.smallest_clique((v,)) if found else -1 for v, found in enumerate(tree.cliques_of)]

    def _axes(self, number: int, separator: Scope) -> tuple[tuple[int, ...], tuple[int, ...]]:
        clique = self.cliques[number]
        lacking = tuple(a for a, v in enumerate(clique) if v not in separator)
        return lacking, tuple(self.tree.cards[v] if v in separator else 1 for v in clique)

    @cached_property
    def in_logs(self) -> StridedEngine:
        """What answers where products are too small."""
        return StridedEngine(self.tree, self._factors)

    def calibrate(self, evidence: Evidence) -> SmallRun | LogRun:
        """Send all messages to the root; those outwards are sent where an answer is read."""
        return self._run(evidence) or LogRun(self.in_logs, evidence)

    def _run(self, evidence: Evidence, maximise: bool = False) -> SmallRun | None:
        if self.potentials and min(evidence.lowest.values(), default=1.0) > 0.0:
            with suppress(FloatingPointError), np.errstate(under="raise"):
                return SmallRun(self, evidence, maximise)
        return None

    def mpe(self, evidence: Evidence) -> tuple[Ints, float]:
        """A most probable state of every variable, and the log of its probability; of equals the lowest states."""
        run = self._run(evidence, maximise=True)
        if run is None:
            best = LogRun(self.in_logs, evidence, maximise=True)
            return best.states, best.log_z
        states = evidence.observed.copy()
        if run.log_z > -math.inf:
            for clique, belief in zip(self.cliques, run.beliefs, strict=True):
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
            clique = self._engine.cliques[home]
            self.beliefs[home] = self.beliefs[home] * vector.reshape([-1 if v == variable else 1 for v in clique])

    def _collect(self, maximise: bool) -> float:
        """Send all messages to the root; returns the log of the sum (or maximum)."""
        log_total = 0.0
        for number in range(len(self.beliefs) - 1, -1, -1):
            link, belief = self._engine.links[number], self.beliefs[number]
            message = (belief.max if maximise else belief.sum)(link.sums, keepdims=True)
            scale = float(message.max())
            if scale == 0.0:
                return -math.inf
            log_total += math.log(scale)
            if number:
                self._ups[number] = message = message / scale
                self.beliefs[link.parent] = self.beliefs[link.parent] * message.reshape(link.parent_shape)
        return log_total

    def _belief(self, number: int) -> Floats:
        """The posterior of a clique up to a factor: its own belief with the message from its parent."""
        if number not in self._final:
            link, up = self._engine.links[number], self._ups[number]
            shared = self._belief(link.parent).sum(link.parent_sums).reshape(link.shape)
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
        if clique in self._final:
            return self._sums(clique, variables)
        with suppress(FloatingPointError), np.errstate(under="raise"):
            return self._sums(clique, variables)
        run = LogRun(self._engine.in_logs, self._evidence)
        return run.marginal(variables[0]) if len(variables) == 1 else run.joint(variables)

    def _sums(self, clique: int, variables: Sequence[int]) -> Floats:
        members = self._engine.cliques[clique]
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
        states[free] = np.unravel_index(int(np.argmax(table)), table.shape)

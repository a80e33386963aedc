r"""Adjustment sets: covariates z with :math:`P(y \mid do(x)) = \sum_z P(y \mid x, z) P(z)`.

The criterion is complete (Shpitser, VanderWeele and Robins 2010): z has no descendant of a *causal node*, a node on a
directed path from x to y that leaves x for good, and separates x and y in the *proper back-door graph*, in which the
arcs from x to causal nodes are removed (van der Zander, Liskiewicz and Textor 2019). So the minimal sets are minimal
separators of a moral graph. In an equivalence class, no such path may begin with an undirected edge, and nodes are
forbidden where they are in some DAG of the class (Perkovic, Textor, Kalisch and Maathuis 2018).

References
----------
I. Shpitser, T. VanderWeele and J. M. Robins (2010). On the validity of covariate adjustment for estimating causal
effects. UAI 26, 527-536.

E. Perkovic, J. Textor, M. Kalisch and M. H. Maathuis (2018). Complete graphical characterization and construction of
adjustment sets in Markov equivalence classes of ancestral graphs. JMLR 18(220), 1-62.

B. van der Zander, M. Liskiewicz and J. Textor (2019). Separators and adjustment sets in causal graphs: complete
criteria and an algorithmic framework. Artificial Intelligence 270, 1-40.

L. Henckel, E. Perkovic and M. H. Maathuis (2022). Graphical criteria for efficient total effect estimation via
adjustment in causal linear models. JRSS B 84, 579-599.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

from bntk.causal.arguments import Names, Sides, checked_limit
from bntk.causal.projection import descendants
from bntk.causal.separators import Separators, moral_rows
from bntk.graph.dag import DAG
from bntk.graph.equivalence import PDAG
from bntk.graph.undirected import closure, sorted_rows


@dataclass(frozen=True)
class AdjustmentCheck:
    """Whether some variables are an adjustment set, which is its truth value, and why not.

    Attributes
    ----------
    valid : bool
    reason : str
        What is wrong, or empty.
    forbidden : tuple of str
        The variables that no adjustment set may have: those that the variables on causal paths lead to.
    path : tuple of str
        A path that is not causal and remains open, from x to y.
    """

    valid: bool
    reason: str = ""
    forbidden: tuple[str, ...] = ()
    path: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.valid

    def __str__(self) -> str:
        return "an adjustment set" if self.valid else f"no adjustment set: {self.reason}"


@dataclass(frozen=True)
class OptimalAdjustmentSet:
    """The adjustment set whose estimates vary least in large samples; false where there is none, with the reason.

    It can be used like a tuple of names, as in ``list(found)`` or ``"z" in found``.

    Attributes
    ----------
    names : tuple of str, or None
        The set, which may be empty; None where there is none.
    reason : str
        Why there is none.
    """

    names: tuple[str, ...] | None
    reason: str = ""

    def __bool__(self) -> bool:
        return self.names is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.names or ())

    def __len__(self) -> int:
        return len(self.names or ())

    def __contains__(self, name: object) -> bool:
        return name in (self.names or ())

    def __str__(self) -> str:
        return f"none: {self.reason}" if self.names is None else f"{{{', '.join(self.names)}}}"


def adjustment_sets(
    graph: DAG | PDAG, x: Names, y: Names, latent: Names = (), limit: int | None = None
) -> list[tuple[str, ...]]:
    """See :meth:`bntk.DAG.adjustment_sets`."""
    checked_limit(limit)
    sides = Sides(graph, latent, x=x, y=y)
    problem = _problem(graph, sides)
    if problem.hopeless:
        return []
    separators = problem.minimal_sets(sides.latent)
    found = separators.all() if limit is None else islice(separators.ranked(), limit)
    return [graph._names(nodes) for nodes in found]


def is_adjustment_set(graph: DAG | PDAG, x: Names, y: Names, z: Names = (), latent: Names = ()) -> AdjustmentCheck:
    """See :meth:`bntk.DAG.is_adjustment_set`."""
    observed = Sides(graph, latent, x=x, y=y)
    sides = Sides(graph, x=graph._names(observed["x"]), y=graph._names(observed["y"]), z=z, empty=["z"])
    problem = _problem(graph, sides)
    hidden = observed.latent.intersection(sides["z"])
    if hidden:
        return AdjustmentCheck(False, f"{_listed(graph, hidden)} is latent", graph._names(problem.forbidden))
    return problem.check(set(sides["z"]))


def optimal_adjustment_set(graph: DAG | PDAG, x: Names, y: Names, latent: Names = ()) -> OptimalAdjustmentSet:
    """See :meth:`bntk.DAG.optimal_adjustment_set`."""
    sides = Sides(graph, latent, x=x, y=y)
    return _problem(graph, sides).optimal(sides.latent)


def _problem(graph: DAG | PDAG, sides: Sides) -> Problem:
    x, y = frozenset(sides["x"]), frozenset(sides["y"])
    if isinstance(graph, DAG):
        return Problem(graph, x, y)
    from bntk.causal.classes import class_problem

    return class_problem(graph, x, y)


class Problem:
    """The adjustment sets for the effect of some nodes on others.

    Parameters
    ----------
    dag : DAG
        The graph; of an equivalence class, any DAG.
    x, y : frozenset of int
        Causes and effects.
    forbidden : set of int, optional
        The nodes that no set may have, if they are not those of the DAG alone.
    hopeless : str
        Why there is no set at all.
    """

    def __init__(
        self, dag: DAG, x: frozenset[int], y: frozenset[int], forbidden: set[int] | None = None, hopeless: str = ""
    ) -> None:
        self.dag, self.x, self.y, self.hopeless = dag, x, y, hopeless
        self.causal = causal_nodes(dag, x, y)
        self.forbidden = (descendants(dag, self.causal) if forbidden is None else forbidden) - x - y
        rows = [
            tuple(parent for parent in parents if parent not in x) if node in self.causal else parents
            for node, parents in enumerate(dag.parent_indices)
        ]
        self.back_door = DAG._trusted(dag.nodes, tuple(rows))

    def minimal_sets(self, latent: Collection[int]) -> Separators:
        """The minimal adjustment sets, as separators."""
        parents = self.back_door.parent_indices
        relevant = closure(self.x | self.y, parents)
        allowed = relevant - self.x - self.y - self.forbidden - set(latent)
        return Separators(moral_rows(parents, self.x | self.y), self.x, self.y, allowed)

    def check(self, z: Collection[int]) -> AdjustmentCheck:
        """Whether some nodes are an adjustment set, or why not."""
        names, forbidden = self.dag.nodes, self.dag._names(self.forbidden)
        if self.hopeless:
            return AdjustmentCheck(False, self.hopeless, forbidden)
        wrong = self.forbidden.intersection(z)
        if wrong:
            reason = f"{_listed(self.dag, wrong)} is forbidden, as it lies on a causal path or below one"
            return AdjustmentCheck(False, reason, forbidden)
        path = open_path(self.back_door, self.x, self.y, set(z))
        if path:
            reason = f"the path {path_text(self.back_door, path)} is open"
            return AdjustmentCheck(False, reason, forbidden, tuple(names[node] for node in path))
        return AdjustmentCheck(True, "", forbidden)

    def optimal(self, latent: Collection[int]) -> OptimalAdjustmentSet:
        """The parents of causal nodes, without the causes and forbidden nodes, in the latent projection."""
        if self.hopeless:
            return OptimalAdjustmentSet(None, self.hopeless)
        without = self.y - self.causal
        if without:
            x, y = _listed(self.dag, self.x), _listed(self.dag, without)
            return OptimalAdjustmentSet(None, f"{y} is no effect of {x}, so that there is nothing to adjust for")
        path = open_path(self.back_door, self.x, self.y, self._usable(latent))
        if path:
            route = path_text(self.back_door, path)
            return OptimalAdjustmentSet(None, f"there is no adjustment set, as the path {route} cannot be blocked")
        reduced = without_noise(self.dag, latent)
        around = set().union(*(reduced.parent_indices[node] for node in causal_nodes(reduced, self.x, self.y)))
        best = around - self.causal - self.forbidden - self.x
        missing = best.intersection(latent)
        if missing:
            return OptimalAdjustmentSet(None, f"it would have {_listed(self.dag, missing)}, which is latent")
        return OptimalAdjustmentSet(self.dag._names(best))

    def _usable(self, latent: Collection[int]) -> set[int]:
        """The ancestors that a set may have; all of them block whatever can be blocked."""
        relevant = closure(self.x | self.y, self.back_door.parent_indices)
        return relevant - self.x - self.y - self.forbidden - set(latent)


def without_noise(dag: DAG, latent: Collection[int]) -> DAG:
    """The DAG without the latent nodes that have one child at most: their parents become parents of that child."""
    parents = [set(row) for row in dag.parent_indices]
    children = [set(row) for row in dag.child_indices]
    for node in reversed(dag.topological_indices):
        if node in latent and len(children[node]) <= 1:
            for parent in parents[node]:
                children[parent] = children[parent] - {node} | children[node]
            for child in children[node]:
                parents[child] = parents[child] - {node} | parents[node]
            parents[node], children[node] = set(), set()
    return DAG._trusted(dag.nodes, sorted_rows(parents))


def causal_nodes(dag: DAG, x: Collection[int], y: Iterable[int]) -> set[int]:
    """The nodes on directed paths from x to y that have no node of x but the first, without that."""
    below = closure(x, [tuple(child for child in row if child not in x) for row in dag.child_indices])
    above = closure(y, [tuple(parent for parent in row if parent not in x) for row in dag.parent_indices])
    return below.difference(x) & above


def open_path(dag: DAG, sources: Iterable[int], sinks: Collection[int], given: Collection[int]) -> tuple[int, ...]:
    """A shortest path that some observed nodes leave open, from one set to another; empty if there is none.

    A search over nodes and the direction from which they are reached. Shortest walks do not visit a node twice, since
    what lies between could be left out.
    """
    parents, children = dag.parent_indices, dag.child_indices
    opened = closure(given, parents)  # colliders that are given, or have a descendant that is
    came_from: dict[tuple[int, bool], tuple[int, bool] | None] = {(node, False): None for node in sorted(sources)}
    waiting = deque(came_from)
    while waiting:
        node, downwards = state = waiting.popleft()
        if node in sinks and came_from[state] is not None:
            return tuple(node for node, _ in reversed(_traced(came_from, state)))
        start = came_from[state] is None
        passes = start or node not in given
        following: list[tuple[int, bool]] = []
        if (not downwards and passes) or (downwards and node in opened):
            following += [(parent, False) for parent in parents[node]]
        if passes:
            following += [(child, True) for child in children[node]]
        for other in following:
            if other not in came_from:
                came_from[other] = state
                waiting.append(other)
    return ()


def shortest_directed(
    dag: DAG, sources: Iterable[int], sinks: Collection[int], without: Collection[int]
) -> tuple[int, ...]:
    """A shortest directed path from one set to another that passes none of some nodes; empty if there is none."""
    came_from: dict[int, int | None] = dict.fromkeys(sorted(sources))
    waiting = deque(came_from)
    while waiting:
        node = waiting.popleft()
        for child in dag.child_indices[node]:
            if child not in came_from and child not in without:
                came_from[child] = node
                waiting.append(child)
        if node in sinks:
            path, before = [node], came_from[node]
            while before is not None:
                path.append(before)
                before = came_from[before]
            return tuple(reversed(path))
    return ()


def _traced(
    came_from: dict[tuple[int, bool], tuple[int, bool] | None], state: tuple[int, bool]
) -> list[tuple[int, bool]]:
    path = [state]
    while (before := came_from[path[-1]]) is not None:
        path.append(before)
    return path


def path_text(dag: DAG, path: Iterable[int]) -> str:
    """A path as text: ``x <- z -> y``."""
    nodes = list(path)
    text = [dag.nodes[nodes[0]]]
    for a, b in pairwise(nodes):
        text += ["->" if a in dag.parent_indices[b] else "<-", dag.nodes[b]]
    return " ".join(text)


def _listed(graph: DAG | PDAG, nodes: Iterable[int]) -> str:
    return ", ".join(map(repr, graph._names(nodes)))

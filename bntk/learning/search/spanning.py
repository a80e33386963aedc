"""The best tree or forest: exact, and quick for hundreds of variables.

Where a score is a sum over families and each node has at most one parent that is not settled beforehand, the gain of
every arc is known before the search, and the best structure is a maximum spanning tree when the gain of an arc does not
depend on its direction (Chow and Liu 1968; Friedman, Geiger and Goldszmidt 1997 for trees given the class), else a
maximum spanning arborescence (Chu and Liu 1965; Edmonds 1967).

References
----------
C. K. Chow and C. N. Liu (1968). Approximating discrete probability distributions with dependence trees. IEEE
Transactions on Information Theory 14, 462-467.

J. Edmonds (1967). Optimum branchings. Journal of Research of the National Bureau of Standards 71B, 233-240.

N. Friedman, D. Geiger and M. Goldszmidt (1997). Bayesian network classifiers. Machine Learning 29, 131-163.

R. E. Tarjan (1977). Finding optimum branchings. Networks 7, 25-35.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk._interrupts import BestSoFar
from bntk.errors import GraphError, SpaceError, TooLargeError
from bntk.graph.dag import DAG
from bntk.graph.undirected import sorted_rows
from bntk.learning.scores.base import Evaluator
from bntk.learning.search import kernels
from bntk.learning.search.base import BEST_STRUCTURE, Search, SearchResult, Step

if TYPE_CHECKING:
    from bntk.learning.scores.family_evaluator import FamilyEvaluator
    from bntk.learning.space import Space
    from bntk.learning.space.trees import TreePart, TreeProblem

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Tails = NDArray[np.int64]
Options = list[tuple[int, ...]]

# All subsets of the optional parents of a node are tried; beyond this many parents that is hopeless.
_MOST_OPTIONAL = 12
# Gains that differ by less than this share of the largest are equal: it hides the rounding of scores.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class SpanningTree(Search):
    """Maximum spanning tree: the best Chow-Liu tree, TAN, FAN, or other tree or forest; exact.

    For spaces in which only trees and forests are to be chosen, and scores that are sums over families. Nodes may have
    fixed parents beside the tree (the class), and optional ones, of which the best choice is made for every possible
    parent in the tree (selective structures). The root of a tree is the one that the space names, else the first node
    in column order; where the gain of an arc depends on its direction, the root with the best score. Ties go to the
    first arc in column order.

    With missing values, the weight of an arc is its gain on the rows that are complete in its two nodes and the class.
    So the tree is not the one with the highest sum of available-case scores, which favour parents with many missing
    values.

    Where nodes without the class as parent are discarded from the tree, finding the best tree is hard. Then those nodes
    are kept whose optional parents gain something by themselves, and the best tree over these is found; the result is
    marked as not exact.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.space import named as spaces
    >>> from bntk.learning.learn import learn_structure
    >>> table = bntk.datasets.asia().sample(1000, seed=1)
    >>> found = learn_structure(table, space=spaces.tree(table.names), search=SpanningTree())
    >>> found.exact, found.dag.is_tree
    (True, True)
    """

    name = "spanning_tree"

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search; ``start``, ``seed`` and ``progress`` are ignored, as there is only one step."""
        began = time.perf_counter()
        families = evaluator.by_family("SpanningTree")
        problem = space.tree_problem()
        if problem is None:
            raise SpaceError(
                f"SpanningTree needs a space in which only trees and forests are to be chosen, not {space!r};"
                " HillClimbing and Tabu take any space"
            )
        parents, exact = None, False
        with BestSoFar(BEST_STRUCTURE):
            try:
                parents, exact = _solve(families, problem)
            except GraphError:
                space.check()  # says which rules clash
                raise
        interrupted = parents is None
        parents = list(space.start().parent_indices) if parents is None else parents
        dag = DAG._trusted(space.nodes, sorted_rows(parents))
        families.reset(dag)
        score, seconds = families.total(), time.perf_counter() - began
        return SearchResult(
            dag=dag,
            score=score,
            search=repr(self),
            exact=exact,
            interrupted=interrupted,
            n_evaluated=families.n_evaluated,
            seconds=seconds,
            trace=(Step("start" if interrupted else "best trees", score, seconds),),
        )


def _solve(evaluator: FamilyEvaluator, problem: TreeProblem) -> tuple[list[tuple[int, ...]], bool]:
    """The best parents of every node, and whether no others are better."""
    around = list(zip(problem.fixed_parents, problem.optional_parents, strict=True))
    subsets = {pair: _subsets(*pair) for pair in dict.fromkeys(around)}
    options = [subsets[pair] for pair in around]
    parents = _best_options(evaluator, options)
    exact = True
    for part in problem.parts:
        nodes = [v for v in part.nodes if not (v in problem.discarding and parents[v] == problem.fixed_parents[v])]
        if problem.discarding.intersection(part.nodes):
            exact = exact and not part.connected and len(nodes) == len(part.nodes)
        if len(nodes) > 1:
            _solve_part(evaluator, problem, part, nodes, options, parents)
    return parents, exact


def _solve_part(
    evaluator: FamilyEvaluator,
    problem: TreeProblem,
    part: TreePart,
    nodes: list[int],
    options: list[Options],
    parents: list[tuple[int, ...]],
) -> None:
    """Find the best tree over some nodes of a part, and enter it into ``parents``."""
    kept = [options[v][1:] if v in problem.discarding else options[v] for v in nodes]
    places = np.searchsorted(part.nodes, nodes)
    allowed, required = part.allowed[np.ix_(places, places)], part.required[np.ix_(places, places)]
    choices = _Choices.of(evaluator, nodes, kept, allowed)
    root = nodes.index(part.root) if part.root in nodes else None
    tails = best_tree(choices.gains, allowed=allowed, required=required, root=root, forest=not part.connected)
    for head, tail in enumerate(tails.tolist()):
        if tail < 0:
            parents[nodes[head]] = kept[head][choices.without[head]]
        else:
            parents[nodes[head]] = (*kept[head][choices.chosen[tail, head]], nodes[tail])


@dataclass(frozen=True)
class _Choices:
    """What each arc gains, with the best of the options of its head; and which option that is, with and without it."""

    gains: Floats
    chosen: NDArray[np.int64]
    without: NDArray[np.int64]

    @classmethod
    def of(cls, evaluator: FamilyEvaluator, nodes: list[int], options: list[Options], allowed: Bools) -> _Choices:
        """For the nodes of a tree, each with a list of sets of other parents; rows are tails, columns are heads."""
        m = len(nodes)
        best, chosen = np.full((m, m), -np.inf), np.zeros((m, m), np.int64)
        best_without, without = np.full(m, -np.inf), np.zeros(m, np.int64)
        for k in range(max(map(len, options))):
            heads = np.array([h for h in range(m) if k < len(options[h])])
            others = [options[h][k] for h in heads]
            gains = _arc_gains(evaluator, nodes, heads, others, allowed)  # first: it counts what the bases need, too
            bases = evaluator.locals([(nodes[h], other) for h, other in zip(heads, others, strict=True)])
            better = bases > best_without[heads]
            best_without[heads[better]], without[heads[better]] = bases[better], k
            scores = bases + gains
            improved = scores > best[:, heads]
            best[:, heads] = np.where(improved, scores, best[:, heads])
            chosen[:, heads] = np.where(improved, k, chosen[:, heads])
        return cls(best - best_without, chosen, without)


def _arc_gains(
    evaluator: FamilyEvaluator, nodes: list[int], heads: NDArray[np.int64], others: Options, allowed: Bools
) -> Floats:
    """What each node as one more parent gains each head, beside its other parents; ``-inf`` where not allowed."""
    if len(set(others)) == 1 and len(others[0]) <= 1:
        # On the rows that both families have: else a parent with many missing values would seem to gain a lot.
        weights = evaluator.pair_weights(target=others[0][0] if others[0] else None, among=nodes, same_rows=True)
        return np.where(allowed, weights[np.ix_(nodes, nodes)], -np.inf)[:, heads]
    gains = np.full((len(nodes), len(heads)), -np.inf)
    bases = evaluator.locals([(nodes[h], other) for h, other in zip(heads, others, strict=True)])
    rows, columns = np.nonzero(allowed[:, heads])
    families = [
        (nodes[heads[c]], tuple(sorted((*others[c], nodes[r])))) for r, c in zip(rows.tolist(), columns.tolist())
    ]
    gains[rows, columns] = evaluator.locals(families) - bases[columns]
    return gains


def _best_options(evaluator: FamilyEvaluator, options: list[Options]) -> Options:
    """For each node alone, the option with the highest score, the first of equals."""
    best = [several[0] for several in options]
    choosers = [v for v, several in enumerate(options) if len(several) > 1]
    scores = evaluator.locals([(v, option) for v in choosers for option in options[v]])
    for v, some in zip(choosers, np.split(scores, np.cumsum([len(options[v]) for v in choosers])), strict=False):
        best[v] = options[v][int(np.argmax(some))]
    return best


def _subsets(fixed: tuple[int, ...], optional: tuple[int, ...]) -> Options:
    """The fixed parents with every subset of the optional ones, the smaller first."""
    if len(optional) > _MOST_OPTIONAL:
        raise TooLargeError(
            f"a node has {len(optional)} optional parents beside the tree, more than {_MOST_OPTIONAL}, and all subsets"
            " would be tried; use HillClimbing or Tabu"
        )
    chosen = chain.from_iterable(combinations(optional, k) for k in range(len(optional) + 1))
    return [tuple(sorted((*fixed, *more))) for more in chosen]


# ------------------------------------------------------------------------------------------------ plain matrices


def best_tree(
    weights: ArrayLike, *, allowed: Bools, required: Bools, root: int | None = None, forest: bool = False
) -> Tails:
    """:func:`maximum_spanning_tree` if directions do not matter, else :func:`maximum_arborescence`."""
    gains = _checked(weights, allowed)
    both = allowed.copy()
    if root is not None:
        both[:, root] = both[root]  # nothing points to the root anyway
    mirrored = np.where(both & both.T, gains, 0.0)
    if root is not None:
        mirrored[:, root] = mirrored[root]
    scale = np.abs(mirrored).max(initial=1.0)
    if required.any() or (both != both.T).any() or np.abs(mirrored - mirrored.T).max(initial=0) > _TOLERANCE * scale:
        return maximum_arborescence(gains, allowed=allowed, required=required, root=root, forest=forest)
    return maximum_spanning_tree(mirrored, allowed=both, root=root, forest=forest)


def maximum_spanning_tree(
    weights: ArrayLike,
    *,
    allowed: ArrayLike | None = None,
    required: ArrayLike | None = None,
    root: int | None = None,
    forest: bool = False,
) -> Tails:
    """The undirected spanning tree with the largest sum of weights, directed away from a root; by Prim's algorithm.

    Parameters
    ----------
    weights : array_like of shape (n, n)
        Symmetric; the diagonal is not read. Where it is symmetric only up to rounding, the mean counts.
    allowed, required : array_like of bool, shape (n, n), optional
        Edges that may, and must, be in the tree; marked in either direction.
    root : int, optional
        Node to direct the edges away from. By default, and in the other parts of a forest, the first node of each part.
    forest : bool
        Leave out edges whose weight is not positive, so that the tree may fall into parts.

    Returns
    -------
    ndarray of int
        The parent of each node; -1 for a root. Of edges with equal weights, the first in column order is taken.

    Raises
    ------
    GraphError
        When the allowed edges do not connect all nodes, or the required ones form a cycle.

    Examples
    --------
    >>> maximum_spanning_tree([[0, 3, 1], [3, 0, 2], [1, 2, 0]])
    array([-1,  0,  1])
    >>> maximum_spanning_tree([[0, 3, -1], [3, 0, -2], [-1, -2, 0]], forest=True, root=1)
    array([ 1, -1, -1])
    """
    gains = _checked(weights, None if allowed is None else np.asarray(allowed, bool) | np.asarray(allowed, bool).T)
    gains = (gains + gains.T) / 2
    must = np.zeros_like(gains, dtype=bool) if required is None else np.asarray(required, bool)
    must = must | must.T
    gains[must] = np.inf
    joined = kernels.spanning_tree(gains)
    edges = [(int(tail), head) for head, tail in enumerate(joined.tolist()) if tail >= 0]
    if must[tuple(np.array(edges, np.int64).reshape(-1, 2).T)].sum() < must.sum() // 2:
        raise GraphError("the required edges form a cycle, so no tree holds them all")
    if forest:
        edges = [edge for edge in edges if gains[edge] > 0]
    elif len(edges) < len(gains) - 1:
        raise GraphError("the allowed edges do not connect all nodes, so no tree spans them; allow more, or a forest")
    return _direct(edges, len(gains), root)


def maximum_arborescence(
    weights: ArrayLike,
    *,
    allowed: ArrayLike | None = None,
    required: ArrayLike | None = None,
    root: int | None = None,
    forest: bool = False,
) -> Tails:
    """The directed spanning tree with the largest sum of weights; by Edmonds' algorithm in O(n^2).

    Parameters
    ----------
    weights : array_like of shape (n, n)
        Row: tail, column: head; the diagonal is not read.
    allowed, required : array_like of bool, shape (n, n), optional
        Arcs that may, and must, be in the tree.
    root : int, optional
        The node without a parent. By default the best one; of equals, the first. In a forest, others may have none.
    forest : bool
        Leave out arcs whose weight is not positive, so that the tree may fall into parts.

    Returns
    -------
    ndarray of int
        The parent of each node; -1 for a root.

    Raises
    ------
    GraphError
        When no tree keeps to the allowed and required arcs.

    Examples
    --------
    >>> maximum_arborescence([[0, 1, 5], [4, 0, 2], [3, 1, 0]])
    array([ 1, -1,  0])
    >>> maximum_arborescence([[0, 1, 5], [4, 0, 2], [3, 1, 0]], root=0)
    array([-1,  0,  0])
    """
    gains = _checked(weights, allowed)
    n = len(gains)
    must = np.zeros((n, n), bool) if required is None else np.asarray(required, bool)
    # One node more is the parent of all roots; a tree uses as few of its arcs as possible.
    entering = np.full((n + 1, n + 1), -np.inf)  # row: head, column: tail
    entering[:n, :n] = (np.where(gains > 0, gains, -np.inf) if forest else gains).T
    entering[:n, n] = 0.0
    entering[:n][must.any(axis=0)] = -np.inf
    entering[:n, :n][must.T] = gains.T[must.T]
    if root is not None:
        entering[root, :n] = -np.inf
    feasible = (must.sum(axis=0) <= 1).all()
    tails, found = kernels.arborescence(entering, not forest)
    tails = np.where(tails == n, -1, tails)
    if not found or not feasible or (not forest and (tails < 0).sum() != min(n, 1)):
        raise GraphError("no tree keeps to the required and allowed arcs; allow more, require fewer, or take a forest")
    return tails


def _checked(weights: ArrayLike, allowed: ArrayLike | None) -> Floats:
    """A copy of the weights, ``-inf`` on the diagonal and where an arc is not allowed."""
    gains = np.array(weights, dtype=np.float64)
    if gains.ndim != 2 or gains.shape[0] != gains.shape[1]:
        raise GraphError(f"weights are a square matrix, one row and one column for each node, not {gains.shape}")
    np.fill_diagonal(gains, -np.inf)
    if allowed is not None:
        gains[~np.asarray(allowed, bool)] = -np.inf
    if np.isnan(gains).any():
        tail, head = np.argwhere(np.isnan(gains))[0].tolist()
        raise GraphError(f"the weight of the arc from {tail} to {head} is not a number")
    return gains


def _direct(edges: list[tuple[int, int]], n: int, root: int | None) -> Tails:
    """Direct the edges of a forest away from the first node of each part, or from the root."""
    neighbors: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        neighbors[a].append(b)
        neighbors[b].append(a)
    tails = np.full(n, -1, np.int64)
    seen = [False] * n
    for start in range(n) if root is None else chain([root], range(n)):
        stack = [] if seen[start] else [start]
        seen[start] = True
        while stack:
            node = stack.pop()
            for other in neighbors[node]:
                if not seen[other]:
                    seen[other] = True
                    tails[other] = node
                    stack.append(other)
    return tails

"""Selective trees: which features are children of the class, chosen one by one, and the best tree for each choice.

References
----------
M. Mach and M. Mráz. Quality measures for Bayesian network classifier design, section 3.1.

J. Edmonds (1967). Optimum branchings. Journal of Research of the National Bureau of Standards 71B, 233-240.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk._threads import n_threads, run_parallel, spans
from bntk.errors import SpaceError
from bntk.graph.dag import DAG
from bntk.learning.counts import Counter
from bntk.learning.scores import HGC, DecomposableScore, FamilyEvaluator, LogLikelihood, Score, by_name
from bntk.learning.scores.base import Evaluator
from bntk.learning.search import selective_tree_kernels as kernels
from bntk.learning.search.stepwise import (
    TIE,
    TIE_SHARE,
    Change,
    Path,
    StepwiseSearch,
    class_and_features,
    first_best,
)

if TYPE_CHECKING:
    from bntk.learning.space import Space

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

# Weights that differ by less than this share of N log N, for N rows, are equal. They are sums of terms of the size of
# N log N, whose rounding is some hundred times less; a single row changes a weight by far more.
EQUAL_SHARE = 2.0**-38
# Weights are multiples of the largest over 2 to this power. Sums of so few digits are exact, so that trees whose arcs
# have equal weights are equal in weight.
GRID_BITS = 30
# Trees that a thread makes in one go.
TREES_AT_ONCE = 8
# Equally good trees with which a class arc is tried. Trees of equal weight that are compared for the one that is taken,
# and trees nearby where there are more of them: twice as many as there are features, at least this many.
MOST_TRIED, MOST_COMPARED, MOST_NEARBY = 32, 256, 64
# Rounds of the search among trees of equal weight where there are more of them.
MOST_ROUNDS = 8
# Trees that are compared before the search ends.
MOST_CHECKED = 1024


def check_weights(name: str, weights: str | Score | None) -> None:
    """Refuse what is neither ``"mi"`` or ``"score"`` nor a score."""
    if weights is not None and not (isinstance(weights, str) and weights in ("mi", "score")):
        by_name(weights, name)


@dataclass(frozen=True, kw_only=True)
class SelectiveTrees(StepwiseSearch):
    """Selective trees: add arcs from the class one by one, each with the best tree for them, while the score rises.

    For the spaces :func:`~bntk.spaces.stan`, :func:`~bntk.spaces.stand`, :func:`~bntk.spaces.sfan` and
    :func:`~bntk.spaces.sfand`: in those with discarding, only children of the class are in the tree. It begins without
    class arcs. For each feature that is not yet a child of the class, the structure with one more class arc and the
    tree that is then the best is evaluated; the best of these is taken if its score is higher. The result has at least
    one class arc, even if none raises the score.

    An arc of the tree from A_i to A_j has the weight I(A_i; A_j | C) if A_j is a child of the class, and I(A_i; A_j) if
    not (Chow and Liu), or whatever ``weights`` says. The weight of a tree may depend on its root, which is that of the
    space if this has one and it is in the tree, or else the best: the tree is the heaviest of all roots (Edmonds 1967).

    Several trees may have the same weight; for example, features that all are children of the class, and joined by
    arcs, can be directed from any of them if one of them is the root. Of these trees the one with the highest score is
    taken, and only between equal scores the order of the columns decides:

    - If the score is a sum over families, the tree is the exact optimum, for each class arc that is tried.
    - Else a class arc is tried with the tree of the highest Bayesian score (:class:`~bntk.scores.HGC`), and for the arc
      that is best by then, all heaviest trees are compared. If that arc does not raise the score, this is done for all
      others before the search ends, for the best first, and for 1,024 trees at most (or twice as many as there are
      features). So with fewer trees than that, no class arc with any of its heaviest trees scores higher than the
      result. If more than 256 trees, and more than twice as many as there are features, predict differently, they are
      not listed. For the best class arc, the search then goes from the tree that was tried to the best one nearby, as
      long as that raises the score, at most eight times. Nearby is, for each arc that a heaviest tree can have, the one
      with this arc that has the most other arcs in common. Other class arcs are compared by the trees that were tried.

    Weights that differ by less than 2^-38 N log N, for N rows, are equal: that is some hundred times the rounding of
    the sums that they consist of.

    Parameters
    ----------
    weights : {"mi", "score"}, name of a score, or DecomposableScore, optional
        ``"mi"``: mutual information. Other weights are what an arc gains by a score that is a sum over families;
        ``"score"`` is the one that is maximised: then the tree is the best there is for the class arcs. By
        default mutual information for trees. A forest needs weights that may be negative: by default the score's own,
        or those of BIC where the score is not a sum over families.
    candidates : int, optional
        How many features are tried at each step but the first: those that gained most when they were last tried. The
        others are tried only when none of these raises the score. By default all are tried.
    epsilon : float
        A class arc must gain more than this, in units of the score.
    max_iter : int, optional
        The largest number of class arcs.
    time_budget : float, optional
        Seconds after which the search ends with the structure so far. Only with a time budget can the result depend on
        the machine.

    Examples
    --------
    >>> import bntk
    >>> table = bntk.datasets.asia().sample(1000, seed=1)
    >>> features = [name for name in table.names if name != "lung"]
    >>> space = bntk.spaces.stand(features, "lung").reorder(table.names)
    >>> found = bntk.learn_structure(table, bntk.scores.LOO("lung"), space, SelectiveTrees())
    >>> [step.what for step in found.trace]
    ['start', 'add lung -> either', 'add lung -> tub', 'add lung -> xray', 'add lung -> asia']
    >>> found.dag.parents("either"), found.dag.parents("tub")
    (('lung',), ('lung', 'either'))
    """

    name = "selective_trees"
    epsilon: float = 0.0
    weights: str | Score | None = None
    candidates: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _checking.optional_whole_number("candidates", self.candidates, least=1)
        check_weights("weights", self.weights)

    def _begin(self, evaluator: Evaluator, space: Space, start: DAG | None) -> Path:
        if start is not None:
            raise ValueError("SelectiveTrees begins without class arcs; leave out start")
        problem = _problem(space)
        return _ClassArcs(self, evaluator, problem, self._trees(evaluator, problem))

    def _takes(self, path: Path, gain: float, score: float) -> bool:
        assert isinstance(path, _ClassArcs)
        return not path.linked.any() or self.pays(gain, score)

    def pays(self, gain: float, score: float) -> bool:
        """Whether an arc makes a structure of this score better, beyond rounding."""
        return gain > max(self.epsilon, TIE, TIE_SHARE * abs(score))

    def _trees(self, evaluator: Evaluator, problem: _Problem) -> _Trees:
        """The weights of arcs, and what decides between trees of equal weight: the score, or one that is like it."""
        if evaluator.counter.directed:  # type: ignore[attr-defined]
            raise SpaceError(
                "SelectiveTrees takes the gain of an arc to be the same in both directions, which it is not where "
                "variables were set by an experiment (intervened=): use hc or tabu"
            )
        n, rows = len(problem.features), evaluator.counter.total_weight  # type: ignore[attr-defined]
        weights = _pair_gains(self._weigher(evaluator, problem.forest), problem, rows, GRID_BITS)
        if isinstance(evaluator, FamilyEvaluator):
            values = _pair_gains(evaluator, problem, rows, _value_bits(n), same_rows=False)
        else:
            alpha = getattr(getattr(evaluator, "score", None), "pseudo_count", 1.0)
            values = _pair_gains(self._evaluator(evaluator, HGC(alpha)), problem, rows, _value_bits(n))
        unit = 2.0 ** math.frexp(2 * n * np.abs(values).max(initial=0.0))[1]
        cards = np.array(evaluator.counter.cards)[problem.features]  # type: ignore[attr-defined]
        return _Trees(problem, cards > 1, weights, values, unit, isinstance(evaluator, FamilyEvaluator))

    def _weigher(self, evaluator: Evaluator, forest: bool) -> FamilyEvaluator:
        weights = self.weights
        if weights is None:
            weights = "mi" if not forest else "score" if isinstance(evaluator, FamilyEvaluator) else "bic"
        if weights == "score":
            if not isinstance(evaluator, FamilyEvaluator):
                raise ValueError(
                    'weights="score" needs a score that is a sum over families, such as BIC; for this one give "mi" or '
                    "the name of such a score"
                )
            return evaluator
        score = LogLikelihood() if weights == "mi" else by_name(weights)
        if not isinstance(score, DecomposableScore):
            raise ValueError(f"weights={weights!r} is no score that is a sum over families, such as 'bic', nor 'mi'")
        return self._evaluator(evaluator, score)

    def _evaluator(self, evaluator: Evaluator, score: DecomposableScore) -> FamilyEvaluator:
        """Another score on the same rows."""
        counter: Counter = evaluator.counter  # type: ignore[attr-defined]
        return score.evaluator(counter)


class _Problem(NamedTuple):
    """The rules of a space; the features, and the root among them (or -1), by position."""

    target: int
    features: list[int]
    root: int
    forest: bool
    discard: bool


def _problem(space: Space) -> _Problem:
    target, features = class_and_features(space, "SelectiveTrees")
    (link,), problem = space.links, space.tree_problem()
    free_class_arcs = tuple((target,) if v in features else () for v in range(len(space.nodes)))
    if problem is not None and problem.optional_parents == free_class_arcs and len(problem.parts) == 1:
        (part,) = problem.parts
        free = ~np.eye(len(features), dtype=bool)
        if part.root is not None:
            free[:, features.index(part.root)] = False
        if list(part.nodes) == features and np.array_equal(part.allowed, free) and not part.required.any():
            root = -1 if part.root is None else features.index(part.root)
            return _Problem(target, features, root, not part.connected, link.mode == "discard")
    raise SpaceError(
        "SelectiveTrees needs one of spaces.stan, stand, sfan and sfand, without further required or forbidden arcs; "
        f"not {space!r}"
    )


class _Trees(NamedTuple):
    """The heaviest trees for sets of class arcs; a tree has the tail of the arc into each feature, or -1.

    Attributes
    ----------
    informative : ndarray of bool, of shape (n,)
        Which features have several states; the arcs into the others do not matter for predictions.
    weights, values : ndarray of shape (2, n, n)
        Of arcs (row: head, column: tail) without and with a class arc into the head. The sum of the values decides
        between trees of equal weight.
    unit : float
        More than the difference of any two sums of values.
    exact : bool
        Whether the values are those of the score itself.
    """

    problem: _Problem
    informative: NDArray[np.bool_]
    weights: Floats
    values: Floats
    unit: float
    exact: bool

    def best(self, linked: NDArray[np.bool_], added: Places) -> list[Places]:
        """For each of some more class arcs, the heaviest trees with the largest sum of values; one if that is exact."""
        _, _, *rules = self.problem
        room = 1 if self.exact else MOST_TRIED
        found: list[Places] = [np.empty((0, 0), np.int64)] * len(added)

        def fill(span: tuple[int, int]) -> None:
            some = added[slice(*span)]
            tails, counts = np.empty((len(some), room, len(linked)), np.int64), np.empty(len(some), np.int64)
            weights = (self.weights, self.values, self.unit)
            kernels.trees_with(some, linked, self.informative, *weights, *rules, tails, counts)
            found[slice(*span)] = [trees[:count].copy() for trees, count in zip(tails, counts.tolist(), strict=True)]

        run_parallel(fill, spans(len(added), max(n_threads(), -(-len(added) // TREES_AT_ONCE))))
        return found

    def equal(self, linked: NDArray[np.bool_], added: int) -> Places | None:
        """All heaviest trees with one more class arc that differ in children of the class, or None: too many."""
        _, _, *rules = self.problem
        tails = np.empty((max(MOST_COMPARED, 2 * len(linked)), len(linked)), np.int64)
        count, complete = kernels.equal_trees(added, linked, self.informative, self.weights, *rules, tails)
        return tails[:count] if complete else None

    def nearby(self, linked: NDArray[np.bool_], added: int, held: Places) -> Places:
        """Heaviest trees with another arc into a child of the class, and otherwise most like the one that is held."""
        _, _, *rules = self.problem
        tails = np.empty((max(MOST_NEARBY, 2 * len(linked)), len(linked)), np.int64)
        return tails[: kernels.nearby_trees(added, linked, self.informative, self.weights, *rules, held, tails)]


class _ClassArcs(Path):
    """The features that are children of the class, the tree, and the class arcs that can be added.

    Toggling one class arc changes the weights into one feature only, so that most of the tree stays: only the
    families that change are evaluated.
    """

    def __init__(self, search: SelectiveTrees, evaluator: Evaluator, problem: _Problem, trees: _Trees) -> None:
        self._search, self._evaluator, self._problem, self._trees = search, evaluator, problem, trees
        n = len(problem.features)
        self.linked = np.zeros(n, dtype=bool)
        self._tails = trees.best(self.linked, np.array([-1]))[0][0]
        self._last_gains = np.full(n, np.inf)
        self._steps: dict[int, Places] = {}
        rows: list[tuple[int, ...]] = [()] * len(evaluator.names)
        for v, tail in enumerate(self._tails.tolist()):
            rows[problem.features[v]] = () if tail < 0 else (problem.features[tail],)
        evaluator.reset(DAG._trusted(evaluator.names, tuple(rows)))

    def gains(self) -> Floats:
        left = np.flatnonzero(~self.linked)
        limit = self._search.candidates
        if limit is None or not self.linked.any():
            return self._try(left)
        promising = np.sort(left[np.argsort(-self._last_gains[left], kind="stable")[:limit]])
        gains, score = self._try(promising), self._evaluator.total()
        if len(promising) == len(left) or self._search.pays(gains.max(), score):
            return gains
        return self._try(np.setdiff1d(left, promising))

    def describe(self, step: int) -> str:
        names, (target, features, *_) = self._evaluator.names, self._problem
        return f"add {names[target]} -> {names[features[list(self._steps)[step]]]}"

    def take(self, step: int) -> None:
        feature, tails = list(self._steps.items())[step]
        self._evaluator.change(self._change(feature, tails))
        self._tails = tails
        self.linked[feature] = True

    def _try(self, added: Places) -> Floats:
        """What each of some more class arcs would gain, with the tree that is then the best."""
        self._steps = {}
        gains = self._compare(added, self._trees.best(self.linked, added))
        best = first_best(gains, self._evaluator.total())
        if best is not None and not self._trees.exact:
            if not self._compare_equals(added, gains, [best]):
                gains[best] = self._climb(int(added[best]))
            if not self._search.pays(gains[best], self._evaluator.total()):
                others = np.argsort(-gains, kind="stable")
                self._compare_equals(added, gains, others[others != best].tolist())
        self._last_gains[added] = gains
        return gains

    def _compare(self, added: Places, trees: list[Places]) -> Floats:
        """What each class arc gains with the best of some trees, which are kept."""
        changes = [self._change(v, tails) for v, some in zip(added.tolist(), trees, strict=True) for tails in some]
        each = np.split(self._evaluator.change_gains(changes), np.cumsum([len(some) for some in trees])[:-1])
        score, gains = self._evaluator.total(), np.empty(len(added))
        for k, (v, some) in enumerate(zip(added.tolist(), trees, strict=True)):
            best = (first_best(each[k], score) or 0) if len(some) > 1 else 0
            self._steps[v], gains[k] = some[best], each[k][best]
        return gains

    def _compare_equals(self, added: Places, gains: Floats, which: list[int]) -> bool:
        """Compare the trees of equal weight of some class arcs, and update their gains; False if there are too many."""
        several: dict[int, Places] = {}
        all_listed, left = True, max(MOST_CHECKED, 2 * len(self.linked))
        for k in which:
            trees = self._trees.equal(self.linked, int(added[k]))
            all_listed, left = all_listed and trees is not None, left - (0 if trees is None else len(trees))
            if left < 0:
                break
            if trees is not None and len(trees) > 1:
                several[k] = trees
        if several:
            gains[list(several)] = self._compare(added[list(several)], list(several.values()))
        return all_listed

    def _climb(self, feature: int) -> float:
        """Go to better trees of equal weight nearby; what the class arc gains with the last."""
        gain = -math.inf
        for _ in range(MOST_ROUNDS):
            held = self._steps[feature]
            near = np.vstack([held, self._trees.nearby(self.linked, feature, held)])
            (gain,) = self._compare(np.array([feature]), [near])
            if np.array_equal(self._steps[feature], held):
                break
        return gain

    def _change(self, feature: int, tails: Places) -> Change:
        """The families that differ when one more class arc and another tree are there."""
        target, features, *_ = self._problem
        different = tails != self._tails
        different[feature] = True
        change: Change = {}
        for v in np.flatnonzero(different).tolist():
            parents = [target] if self.linked[v] or v == feature else []
            change[features[v]] = frozenset(parents if tails[v] < 0 else [*parents, features[tails[v]]])
        return change


def _pair_gains(
    evaluator: FamilyEvaluator, problem: _Problem, rows: float, bits: int, same_rows: bool = True
) -> Floats:
    """What arcs gain by a score (row: head, column: tail), without and with a class arc into the head; on a grid.

    By default on the rows that both families have: else a parent with many missing values would seem to gain a lot.
    """
    block = np.ix_(problem.features, problem.features)
    gains = np.array(
        [
            evaluator.pair_weights(target, problem.features, same_rows=same_rows)[block].T
            for target in (None, problem.target)
        ]
    )
    for matrix in gains:
        np.fill_diagonal(matrix, 0.0)
    gains = _levelled(gains, EQUAL_SHARE * rows * math.log(rows + 2.0))
    quantum = 2.0 ** (math.frexp(np.abs(gains).max(initial=0.0))[1] - bits)
    return np.ascontiguousarray(np.round(gains / quantum) * quantum)


def _levelled(numbers: Floats, tolerance: float) -> Floats:
    """Numbers with the least of those instead that are linked to them by gaps up to the tolerance; zero stays zero."""
    flat = np.append(numbers, 0.0)
    order = np.argsort(flat, kind="stable")
    new = np.diff(flat[order], prepend=-np.inf) > tolerance
    group = np.empty(len(flat), dtype=np.intp)
    group[order] = np.cumsum(new) - 1
    level = flat[order][new]
    level[group[-1]] = 0.0
    return level[group[:-1]].reshape(numbers.shape)


def _value_bits(n: int) -> int:
    """How many digits values may have, so that sums of them and of units for each set of a tree are exact."""
    return min(36, 49 - 3 * max(n, 1).bit_length())

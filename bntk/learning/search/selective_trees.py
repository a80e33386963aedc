"""Selective trees: which features are children of the class, chosen one by one, and the best tree for each choice.

References
----------
M. Mach and M. Mráz. Quality measures for Bayesian network classifier design, section 3.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._threads import n_threads, run_parallel, spans
from bntk.errors import SpaceError
from bntk.graph.dag import DAG
from bntk.learning.counts import Counter
from bntk.learning.scores import DecomposableScore, FamilyEvaluator, LogLikelihood, Score, by_name
from bntk.learning.scores.base import Evaluator
from bntk.learning.search import selective_tree_kernels as kernels
from bntk.learning.search.stepwise import TIE, TIE_SHARE, Change, Path, StepwiseSearch, class_and_features

if TYPE_CHECKING:
    from bntk.learning.space import Space

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

# Weights are multiples of the largest over 2 to this power: what differs by less is rounding, and sums of so few digits
# are exact, so that trees of equal weight are equal and the tie is broken by column order.
GRID_BITS = 30
# Trees that a thread makes in one go.
TREES_AT_ONCE = 8


@dataclass(frozen=True, kw_only=True)
class SelectiveTrees(StepwiseSearch):
    """Selective trees: add arcs from the class one by one, each with the best tree for them, while the score rises.

    For the spaces :func:`~bntk.spaces.stan`, :func:`~bntk.spaces.stand`, :func:`~bntk.spaces.sfan` and
    :func:`~bntk.spaces.sfand`: in those with discarding, only children of the class are in the tree. It begins without
    class arcs. For each feature that is not yet a child of the class, the structure with one more class arc and the
    tree that is then the best is evaluated; the best of these is taken if its score is higher. The result has at least
    one class arc, even if none raises the score.

    An arc of the tree from A_i to A_j has the weight I(A_i; A_j | C) if A_j is a child of the class, and I(A_i; A_j) if
    not (Chow and Liu), or whatever ``weights`` says. Its root is that of the space, or else the first feature in the
    tree. Of equal class arcs and trees the first in column order is taken.

    Parameters
    ----------
    weights : {"mi", "score"}, name of a score, or DecomposableScore, optional
        ``"mi"``: mutual information. Other weights are what an arc gains by a score that is a sum over families;
        ``"score"`` is the one that is maximised: then the tree is the best there is for the class arcs and the root. By
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
    ['start', 'add lung -> either', 'add lung -> tub', 'add lung -> xray']
    >>> found.dag.parents("either")
    ('tub', 'lung')
    """

    name = "selective_trees"
    epsilon: float = 0.0
    weights: str | Score | None = None
    candidates: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.candidates is not None and self.candidates < 1:
            raise ValueError(f"candidates is how many features are tried at a step, at least 1; got {self.candidates}")

    def _begin(self, evaluator: Evaluator, space: Space, start: DAG | None) -> Path:
        if start is not None:
            raise ValueError("SelectiveTrees begins without class arcs; leave out start")
        problem = _problem(space)
        return _ClassArcs(self, evaluator, problem, self._tree_weights(evaluator, problem))

    def _takes(self, path: Path, gain: float, score: float) -> bool:
        assert isinstance(path, _ClassArcs)
        return not path.linked.any() or self.pays(gain, score)

    def pays(self, gain: float, score: float) -> bool:
        """Whether an arc makes a structure of this score better, beyond rounding."""
        return gain > max(self.epsilon, TIE, TIE_SHARE * abs(score))

    def _tree_weights(self, evaluator: Evaluator, problem: _Problem) -> tuple[Floats, Floats]:
        """The weights of the arcs (row: head, column: tail) without and with a class arc into the head."""
        weigher = self._weigher(evaluator, problem.forest)
        block = np.ix_(problem.features, problem.features)
        # On the rows that both families have: else a parent with many missing values would seem to gain a lot.
        unlinked, given = (
            _symmetric_if_nearly(weigher.pair_weights(target, problem.features, same_rows=True)[block].T)
            for target in (None, problem.target)
        )
        quantum = _quantum(max(np.abs(w).max(initial=0.0) for w in (unlinked, given)))
        unlinked, given = (np.ascontiguousarray(np.round(w / quantum) * quantum) for w in (unlinked, given))
        return unlinked, given

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


class _ClassArcs(Path):
    """The features that are children of the class, the tree, and the class arcs that can be added.

    Toggling one class arc changes the weights into one feature only, so that most of the tree stays: only the
    families that change are evaluated.
    """

    def __init__(
        self, search: SelectiveTrees, evaluator: Evaluator, problem: _Problem, weights: tuple[Floats, Floats]
    ) -> None:
        self._search, self._evaluator, self._problem = search, evaluator, problem
        self._unlinked, self._given = weights
        n = len(problem.features)
        self.linked = np.zeros(n, dtype=bool)
        self._tails = self._trees(np.array([-1]))[0]
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
        self._steps = dict(zip(added.tolist(), self._trees(added), strict=True))
        gains = self._evaluator.change_gains([self._change(*step) for step in self._steps.items()])
        self._last_gains[added] = gains
        return gains

    def _trees(self, added: Places) -> Places:
        """The best tree with each of some more class arcs: the tail of the arc into each feature, or -1."""
        _, _, root, forest, discard = self._problem
        tails = np.empty((len(added), len(self.linked)), np.int64)

        def fill(span: tuple[int, int]) -> None:
            part, weights = slice(*span), (self._unlinked, self._given)
            kernels.trees_with(added[part], self.linked, *weights, root, forest, discard, tails[part])

        run_parallel(fill, spans(len(added), max(n_threads(), -(-len(added) // TREES_AT_ONCE))))
        return tails

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


def _symmetric_if_nearly(weights: Floats) -> Floats:
    """The mean of both directions where they differ by rounding only; zero on the diagonal."""
    np.fill_diagonal(weights, 0.0)
    scale = np.abs(weights).max(initial=0.0)
    if np.abs(weights - weights.T).max(initial=0.0) > scale * 2.0**-GRID_BITS:
        return weights
    return (weights + weights.T) / 2


def _quantum(largest: float) -> float:
    return 2.0 ** (math.frexp(largest)[1] - GRID_BITS)

"""Selective trees: the class is the parent of those features for which that improves the score (Mach and Mráz)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bntk._checking import Check
from bntk.classifiers.base import NetworkClassifier
from bntk.learning.priors import Prior
from bntk.learning.scores import Score
from bntk.learning.search import SelectiveTrees
from bntk.learning.search.selective_trees import check_weights
from bntk.learning.space import Space
from bntk.learning.space import named as spaces


@dataclass(kw_only=True, eq=False, repr=False)
class STAN(NetworkClassifier):
    """Selective tree-augmented naive Bayes: the features form a tree, and some are children of the class.

    Arcs from the class are added one by one, the best first, as long as the score improves. An arc from A_i to A_j of
    the tree has the weight I(A_i; A_j | C) if A_j is a child of the class, else I(A_i; A_j), and the heaviest tree is
    found for every set of class arcs that is tried. There is at least one class arc.

    The weights depend on the direction of an arc, and the tree is the heaviest of all roots. Of trees of equal weight
    the one with the highest score is taken, see :class:`bntk.search.SelectiveTrees`; the order of the columns decides
    only between equal scores.

    Parameters
    ----------
    criterion : str or Score
        The score that the structure maximises; any score. ``"loo"``, ``"lc"``, ``"cv"`` and ``"accuracy"`` measure how
        well the class is predicted, the others (``"hgc"``, ``"sb"``, ``"bic"``, ``"bdeu"``) how well all variables are
        described. Those of predictions add the number of ``prior`` to every count if they are given by name: with the
        back-off prior its ``alpha``, 1 by default.
    forest : bool
        Leave out arcs of the tree that do not improve the score: selective FAN.
    root : str, optional
        The feature that has no other feature as parent; by default the best one. In STAND it is only the root if it is
        a child of the class. A forest has none.
    weights : {"mi", "score"}, name of a score, or DecomposableScore, optional
        The weights of the tree, see :class:`bntk.search.SelectiveTrees`.
    candidates : int, optional
        The number of features that are tried at each step: those that gained most when they were last tried. This is
        faster where there are hundreds of features. By default all are tried.

    References
    ----------
    M. Mach and M. Mráz. Quality measures for Bayesian network classifier design.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(2000, seed=1).to_pandas()
    >>> stan = bntk.STAN().fit(rows.drop(columns="dysp"), rows["dysp"])
    >>> stan.dag_.children("dysp"), stan.dag_.parents("bronc")
    (('asia', 'lung', 'bronc', 'either', 'xray'), ('dysp',))
    """

    name = "stan"
    _in_passes: ClassVar[bool | str] = True
    criterion: str | Score = "loo"
    forest: bool = False
    root: str | None = None
    weights: str | Score | None = None
    candidates: int | None = None

    _checks: ClassVar[Mapping[str, Check]] = {"weights": check_weights}

    @property
    def search(self) -> SelectiveTrees:
        """The search for the structure."""
        return SelectiveTrees(weights=self.weights, candidates=self.candidates)

    def _space(self, features: tuple[str, ...], target: str) -> Space:
        return self._augmented(features, target, "optional")

    def _augmented(self, features: tuple[str, ...], target: str, class_arcs: str) -> Space:
        if self.forest and self.root is not None:
            raise ValueError(f"root={self.root!r} is for a tree, and a forest has several roots; leave it out")
        return spaces.augmented(features, target, "forest" if self.forest else "tree", class_arcs, root=self.root)


@dataclass(kw_only=True, eq=False, repr=False)
@dataclass(kw_only=True, eq=False, repr=False)
class STAND(STAN):
    """Selective tree-augmented naive Bayes with discarding: only children of the class are in the tree.

    The other features have no arcs and are ignored in predictions. Everything else is as for :class:`STAN`.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(2000, seed=1).to_pandas()
    >>> stand = bntk.STAND().fit(rows.drop(columns="dysp"), rows["dysp"])
    >>> stand.features_in_use_
    ['bronc', 'either', 'xray']
    """

    name = "stand"
    prior: Prior | str | float = 0.5

    def _space(self, features: tuple[str, ...], target: str) -> Space:
        return self._augmented(features, target, "discard")

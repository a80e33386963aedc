"""Semi-naive Bayes: features that depend on each other are joined, and features that do not help are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from bntk.classifiers.stepwise import StepwiseClassifier
from bntk.learning.counts import TableCounter
from bntk.learning.priors import Prior
from bntk.learning.scores import BIC, Score
from bntk.learning.search import BackwardJoining, ForwardJoining, Search
from bntk.learning.space import Space
from bntk.learning.space import named as spaces


@dataclass(kw_only=True, eq=False, repr=False)
class SemiNaiveBayes(StepwiseClassifier):
    """Semi-naive Bayes: groups of features, independent of each other given the class (Pazzani 1996).

    The features of a group depend on each other without restriction, as if they were one feature with the combinations
    of their states. Features may be left out.

    Parameters
    ----------
    search : {"fssj", "bsej", "filter"} or Search
        ``"fssj"`` (forward sequential selection and joining) begins without features and brings in one at each step,
        by itself or as a member of a group. ``"bsej"`` (backward sequential elimination and joining) begins with naive
        Bayes and leaves out a feature, or joins two groups, at each step. Both are wrappers: they predict with each
        structure. ``"filter"`` takes the steps of ``"bsej"`` without predictions: a feature is left out when its mutual
        information with the class does not outweigh the penalty of its parameters, and two groups are joined when their
        mutual information given the class does. The better of the two is done first.
    criterion : str or Score, optional
        The score that steps must improve. By default the accuracy in ten folds; for ``"filter"`` BIC, whose two parts
        are the information and the penalty of parameters.
    epsilon : float
        A step must improve the score by at least this much.
    max_parents : int, optional
        The largest number of parents of a feature, the class included: as many features can be in a group.
    numeric : str or mapping
        How columns of numbers are modelled, see :class:`NaiveBayes`. By default they are cut into ten intervals, which
        are interpolated: finer cuts than those of other classifiers serve here, as few features are taken.

    Examples
    --------
    The class is the exclusive or of two features; the third is noise.

    >>> import bntk, numpy as np
    >>> X = np.random.default_rng(1).integers(2, size=(500, 3))
    >>> y = X[:, 0] ^ X[:, 1]
    >>> semi = bntk.SemiNaiveBayes(search="bsej", numeric="category").fit(X, y)
    >>> [step.what for step in semi.search_.trace]
    ['start', 'join x0 to x1']
    >>> float(semi.score(X, y)), float(bntk.NaiveBayes(numeric="category").fit(X, y).score(X, y)) < 0.7
    (1.0, True)
    """

    name = "semi"
    prior: Prior | str | float = 0.25
    numeric: str | Mapping[str, Any] = "smooth:10"
    _in_passes: ClassVar[bool | str] = "TAN"
    search: str | Search = "fssj"
    max_parents: int | None = None

    def _own_search(self, name: str) -> Search | None:
        if name == "fssj":
            return ForwardJoining(epsilon=self.epsilon)
        return BackwardJoining(epsilon=self.epsilon) if name in ("bsej", "filter") else None

    def _default_score(self, counter: TableCounter) -> Score:
        if isinstance(self.search, str) and self.search == "filter":
            return BIC(missing="average")  # with missing values it is misled less
        return super()._default_score(counter)

    def _space(self, features: tuple[str, ...], target: str) -> Space:
        return spaces.augmented(features, target, "dag", "discard", max_parents=self.max_parents)

"""Classifiers whose features depend on a few others: k-dependence, its selective form, and one superparent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from bntk.classifiers.base import NetworkClassifier
from bntk.classifiers.stepwise import StepwiseClassifier
from bntk.learning.counts import PartitionCounter, TableCounter
from bntk.learning.priors import Prior
from bntk.learning.scores import LOO, LogLikelihood, Score
from bntk.learning.search import GreedyAdditions, KDependence, Search, SearchResult
from bntk.learning.search.k_dependence_selection import SelectiveKDependence
from bntk.learning.search.stepwise import StepwiseSearch
from bntk.learning.space import Space
from bntk.learning.space import named as spaces


@dataclass(kw_only=True, eq=False, repr=False)
class KDB(StepwiseClassifier):
    """K-dependence Bayesian classifier: the class and at most k features are the parents of a feature (Sahami 1996).

    Features are ordered by their mutual information with the class, and each has as parents those k before it with the
    largest conditional mutual information given the class. All of this is computed from the counts of pairs.

    Parameters
    ----------
    k : int
        The largest number of features that are parents of a feature; 0 is naive Bayes.
    search : {"sahami", "hc"} or Search
        ``"sahami"`` is the algorithm above. ``"hc"`` adds arcs to naive Bayes one by one, as long as the score
        improves, as ``kdb`` of R's bnclassify does.
    criterion : str or Score, optional
        The score for ``"hc"``, by default the accuracy in ten folds. Sahami's algorithm ignores it.
    epsilon : float
        For ``"hc"``: an arc must improve the score by at least this much.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(2000, seed=1).to_pandas()
    >>> kdb = bntk.KDB(2).fit(rows.drop(columns="dysp"), rows["dysp"])
    >>> kdb.dag_.parents("either")
    ('smoke', 'lung', 'dysp')
    """

    name = "kdb"
    _in_passes: ClassVar[bool | str] = True
    k: int = field(default=2, kw_only=False)
    search: str | Search = "sahami"

    def _own_search(self, name: str) -> Search | None:
        if name in ("sahami", "auto"):
            return KDependence(self.k)
        return GreedyAdditions(epsilon=self.epsilon) if name == "hc" else None

    def _default_score(self, counter: TableCounter) -> Score:
        if isinstance(self._chosen_search(), StepwiseSearch):
            return super()._default_score(counter)
        return LogLikelihood(missing="average")

    def _space(self, features: tuple[str, ...], target: str) -> Space:
        return spaces.kdb(features, target, self.k)


@dataclass(kw_only=True, eq=False, repr=False)
class SelectiveKDB(NetworkClassifier):
    """Selective k-dependence Bayesian classifier: chooses its features and its k (Martínez, Webb, Chen and Zaidi 2016).

    As in :class:`KDB` the features are ordered by their mutual information with the class. Then each row is predicted
    from all others (leave-one-out) for each number of first features and each k, and the two with the least loss are
    chosen. Nothing is refitted; all of it takes the time of a few predictions.

    Parameters
    ----------
    max_k : int
        The largest k. With features of many states, a k is tried up to the feature whose table would be too large.
    loss : {"rmse", "log", "zero_one"}
        The loss that is minimised in leave-one-out: the root mean squared error of the probability of the true class,
        its mean negative logarithm, or the error rate. Of equal ones, the smaller k is taken, then fewer features.

    Attributes
    ----------
    k_ : int
        The chosen k.
    n_features_used_ : int
        How many features are children of the class; the others have no arcs.

    References
    ----------
    A. M. Martínez, G. I. Webb, S. Chen and N. A. Zaidi (2016). Scalable learning of Bayesian network classifiers.
    Journal of Machine Learning Research 17, 1-35.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(2000, seed=1).to_pandas()
    >>> chosen = bntk.SelectiveKDB(3).fit(rows.drop(columns="dysp"), rows["dysp"])
    >>> chosen.k_, chosen.n_features_used_
    (2, 4)
    """

    name = "skdb"
    prior: Prior | str | float = 0.5
    _in_passes: ClassVar[bool | str] = True
    max_k: int = field(default=5, kw_only=False)
    loss: str = "rmse"

    _state: ClassVar[dict[str, Any]] = {"k_": int}

    def _space(self, features: tuple[str, ...], target: str) -> Space:
        return spaces.augmented(features, target, "kdb", "discard", k=self.max_k)

    def _find_structure(self, counter: TableCounter) -> SearchResult:
        *features, target = counter.names
        score = LOO(target, alpha=self._alpha)
        search = SelectiveKDependence(self.max_k, self.loss)
        space = self._space(tuple(features), target)
        if isinstance(counter, PartitionCounter):
            found = search.run_in_passes(counter, space, self._alpha)
        else:
            found = search.run(score.evaluator(counter), space)
        self.k_ = max((len(row) - 1 for row in found.dag.parent_indices if row), default=0)
        return found

    @property
    def n_features_used_(self) -> int:
        """How many features are children of the class."""
        return sum(1 for row in self.dag_.parent_indices if row)


@dataclass(kw_only=True, eq=False, repr=False)
class SPODE(NetworkClassifier):
    """Superparent one-dependence estimator: the class and one feature are the parents of all other features.

    :class:`AODE` averages over all superparents; this classifier has the best one.

    Parameters
    ----------
    superparent : str, optional
        The feature; by default the best one by ``criterion``, of equal ones the first.
    criterion : str or Score
        The score by which the superparent is chosen; any score. ``"loo"`` is the log-likelihood of the classes in
        leave-one-out.

    Attributes
    ----------
    superparent_ : str or None
        The superparent; None when there is no feature.

    References
    ----------
    E. Keogh and M. Pazzani (2002). Learning the structure of augmented Bayesian classifiers. International Journal on
    Artificial Intelligence Tools 11, 587-601.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(2000, seed=1).to_pandas()
    >>> bntk.SPODE().fit(rows.drop(columns="dysp"), rows["dysp"]).superparent_
    'smoke'
    """

    name = "spode"
    prior: Prior | str | float = 1.0
    _in_passes: ClassVar[bool | str] = True
    superparent: str | None = None
    criterion: str | Score = "loo"
    search = "star"  # there is no other

    def _space(self, features: tuple[str, ...], target: str) -> Space:
        return spaces.spode(features, target, superparent=self.superparent)

    @property
    def superparent_(self) -> str | None:
        """The superparent, which is the only feature without a feature as parent; None when there is no feature."""
        orphans = [name for name in self.dag_.nodes[:-1] if len(self.dag_.parents(name)) == 1]
        return orphans[0] if orphans else None

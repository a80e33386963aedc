"""Augmented naive Bayes: arcs among the features besides those from the class. Each is a space, a score, a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bntk.classifiers.base import NetworkClassifier
from bntk.classifiers.stepwise import StepwiseClassifier
from bntk.learning.priors import Prior
from bntk.learning.scores import DecomposableScore, Score, by_name
from bntk.learning.search import GreedyAdditions, Search, SuperparentAdditions
from bntk.learning.search.stepwise import StepwiseSearch
from bntk.learning.space import Space
from bntk.learning.space import named as spaces


@dataclass(kw_only=True, eq=False, repr=False)
class TAN(StepwiseClassifier):
    """Tree-augmented naive Bayes: every feature has the class and one other feature as parents (Friedman et al. 1997).

    Parameters
    ----------
    criterion : str or Score, optional
        The score that the structure maximises. By default, ``"loglik"`` for the spanning tree (the conditional mutual
        information of Friedman et al.; ``"bdeu"`` gives Bayesian weights), and the accuracy in ten folds for the other
        searches.
    search : {"auto", "hc", "superparent"} or Search
        ``"auto"`` finds the best tree, exactly, as a maximum spanning tree; for a score that is not a sum over families
        it is ``"hc"``. ``"hc"`` and ``"superparent"`` are TAN-HC and TAN-HCSP of Keogh and Pazzani (2002): arcs between
        features are added to naive Bayes one by one as long as the score improves, so that the result is a forest;
        ``"superparent"`` tries fewer arcs.
    epsilon : float
        For ``"hc"`` and ``"superparent"``: an arc must improve the score by at least this much.
    both_directions : bool
        For ``"hc"``: whether every legal arc is tried at each step, as Keogh and Pazzani describe. By default, of the
        two arcs between features that both have no other feature as parent only the one to the feature that comes first
        is tried, as in the function ``tan_hc`` of R's bnclassify. The two describe the same distributions, but with
        smoothed tables their scores differ a little, and so may the arcs that are legal afterwards.
    root : str, optional
        The feature that has no other feature as parent; by default the first one for a spanning tree.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(2000, seed=1).to_pandas()
    >>> X, y = rows.drop(columns="lung"), rows["lung"]
    >>> tan = bntk.TAN(root="smoke").fit(X, y)
    >>> tan.dag_.parents("bronc")
    ('smoke', 'lung')
    >>> stepwise = bntk.TAN(search="hc", epsilon=0.001).fit(X, y)
    >>> [step.what for step in stepwise.search_.trace]
    ['start', 'add either -> tub', 'add tub -> xray']
    >>> stepwise = bntk.TAN(search="hc", epsilon=0.001, both_directions=True).fit(X, y)
    >>> [step.what for step in stepwise.search_.trace]
    ['start', 'add tub -> either', 'add either -> xray']
    """

    name = "tan"
    _in_passes: ClassVar[bool | str] = True
    both_directions: bool = False
    root: str | None = None

    def _own_search(self, name: str) -> Search | None:
        if name == "superparent":
            return SuperparentAdditions(epsilon=self.epsilon)
        is_sum = self.criterion is None or isinstance(by_name(self.criterion, "criterion"), DecomposableScore)
        if name == "hc" or (name == "auto" and not is_sum):
            return GreedyAdditions(epsilon=self.epsilon, both_directions=self.both_directions)
        return None

    def _space(self, features: tuple[str, ...], target: str) -> Space:
        if not isinstance(self._chosen_search(), StepwiseSearch):
            return spaces.tan(features, target, root=self.root)
        forest = spaces.fan(features, target)
        if self.root is None:
            return forest
        return forest.restrict(forbidden=[(name, self.root) for name in features if name != self.root])


@dataclass(kw_only=True, eq=False, repr=False)
class FAN(NetworkClassifier):
    """Forest-augmented naive Bayes: as :class:`TAN`, but only with arcs that improve the score.

    Parameters
    ----------
    criterion : str or Score
        The score that the structure maximises; one that penalises parameters, such as ``"bic"``, ``"aic"`` or
        ``"bdeu"``.
    search : str or Search
        ``"auto"`` finds the best forest, exactly.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(2000, seed=1).to_pandas()
    >>> fan = bntk.FAN().fit(rows.drop(columns="lung"), rows["lung"])
    >>> fan.dag_.parents("bronc"), fan.dag_.parents("asia")
    (('smoke', 'lung'), ('lung',))
    """

    name = "fan"
    prior: Prior | str | float = 0.5
    _in_passes: ClassVar[bool | str] = True
    criterion: str | Score = "bic"
    search: str | Search = "auto"

    def _space(self, features: tuple[str, ...], target: str) -> Space:
        return spaces.fan(features, target)


@dataclass(kw_only=True, eq=False, repr=False)
class BAN(NetworkClassifier):
    """Bayesian network augmented naive Bayes: any DAG among the features (Friedman et al. 1997).

    Parameters
    ----------
    criterion : str or Score
        The score that the structure maximises.
    search : str or Search
        A search by name or as an object; ``"auto"`` chooses one that suits the number of features.
    max_parents : int, optional
        The largest number of parents of a feature, the class included.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(2000, seed=1).to_pandas()
    >>> bntk.BAN(max_parents=2).fit(rows.drop(columns="lung"), rows["lung"]).dag_.parents("dysp")
    ('bronc', 'lung')
    """

    name = "ban"
    _in_passes: ClassVar[bool | str] = True
    criterion: str | Score = "bdeu"
    search: str | Search = "auto"
    max_parents: int | None = 3

    def _space(self, features: tuple[str, ...], target: str) -> Space:
        return spaces.ban(features, target, max_parents=self.max_parents)

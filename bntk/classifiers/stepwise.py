"""Classifiers whose structure can be found by steps that are judged by how well they predict: wrappers."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from bntk.classifiers.base import NetworkClassifier
from bntk.learning.counts import TableCounter
from bntk.learning.learn import learn_structure
from bntk.learning.priors import Backoff, Dirichlet
from bntk.learning.scores import Accuracy, LogLikelihood, Score, by_name
from bntk.learning.search import Search, SearchResult
from bntk.learning.search.stepwise import StepwiseSearch

#: The usual number of folds.
FOLDS = 10


def alpha_of(classifier: NetworkClassifier) -> float:
    """What a predictive score is to add to each count: as the prior of the classifier does, where that is a number."""
    match classifier._prior:
        case Dirichlet(value=float(alpha) | int(alpha)) | Backoff(alpha=alpha) if alpha > 0:
            return float(alpha)
    return 1.0


@dataclass(kw_only=True, eq=False, repr=False)
class StepwiseClassifier(NetworkClassifier):
    """A classifier with searches of its own, and the score that suits each of them.

    Parameters
    ----------
    criterion : str or Score, optional
        The score that the structure maximises. By default :class:`~bntk.scores.Accuracy` in ten stratified folds for
        searches that go by steps, with the classifier's ``prior`` where that is a number, and its ``random_state``.
    search : str or Search
        A search by name or as an object.
    epsilon : float
        For searches that go by steps: a step must improve the score by at least this much.
    """

    criterion: str | Score | None = None
    search: str | Search = "auto"
    epsilon: float = 0.01

    @abstractmethod
    def _own_search(self, name: str) -> Search | None:
        """The search that the classifier has this name for; None if it has no name of its own."""

    def _chosen_search(self) -> str | Search:
        if isinstance(self.search, str):
            return self._own_search(self.search) or self.search
        return self.search

    def _chosen_score(self, counter: TableCounter) -> Score:
        given: str | Score | None = self.criterion
        return self._default_score(counter) if given is None else by_name(given)

    def _default_score(self, counter: TableCounter) -> Score:
        """What suits the search."""
        if not isinstance(self._chosen_search(), StepwiseSearch):
            return LogLikelihood()
        folds = FOLDS if counter.n_rows > FOLDS else "loo"
        return Accuracy(folds=folds, alpha=alpha_of(self), seed=self._seed)

    def _find_structure(self, counter: TableCounter) -> SearchResult:
        *features, target = counter.names
        score, space = self._chosen_score(counter).with_target(target), self._space(tuple(features), target)
        return learn_structure(counter, score, space, self._chosen_search(), seed=self._seed)

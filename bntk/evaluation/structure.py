"""Estimators that keep a structure learned once, while their parameters are fitted again in each split."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone

from bntk._interrupts import raising_interrupts
from bntk.classifiers.averaged import AveragedClassifier
from bntk.classifiers.base import BayesClassifier, NetworkClassifier
from bntk.classifiers.general import BayesNetClassifier, on_columns
from bntk.classifiers.multidim.base import MultiBayesClassifier
from bntk.classifiers.naive import NaiveBayes
from bntk.classifiers.weighted import AWNB
from bntk.learning.search import SearchResult


class KnownStructure(BayesNetClassifier):
    """A classifier with a structure that another one has found, which is nobody's choice to be warned of."""

    _is_compared = False


@dataclass(frozen=True)
class Learner:
    """An estimator to be fitted in each split, and the structure that it keeps there, if it does."""

    estimator: Any
    kept: SearchResult | None = None

    def fresh(self) -> Any:
        """A new estimator, not fitted."""
        estimator = clone(self.estimator)
        if self.kept is not None:
            kept = self.kept
            estimator._find = lambda counter, *_: replace(kept, dag=on_columns(kept.dag, counter.names))
        return estimator


def check_has_structure(name: str, estimator: Any) -> None:
    """Refuse an estimator without a structure that could be kept."""
    last = _last_step(estimator)
    if not isinstance(last, (NetworkClassifier, AveragedClassifier, MultiBayesClassifier)):
        raise ValueError(
            f"relearn='parameters' keeps the structure of a network, and {name} ({type(last).__name__}) has none that "
            "could be kept; evaluate it with relearn='all'"
        )


def keeping_structure(estimator: Any, X: Any, y: Any) -> Learner:
    """The learner with the structure that the estimator finds in all rows.

    That of naive Bayes, of its weighted forms and of averaged one-dependence estimators is the same for all rows.
    """
    last = _last_step(estimator)
    if isinstance(last, (NaiveBayes, AveragedClassifier)):
        return Learner(estimator)
    if isinstance(last, AWNB) and last.estimator is None:
        return Learner(estimator)
    with raising_interrupts():
        fitted = clone(estimator).fit(X, y)
    if isinstance(last, MultiBayesClassifier):
        return Learner(estimator, _last_step(fitted).search_)
    known: Any
    if isinstance(last, AWNB) and last.estimator is not None:  # the weights are parameters
        known = clone(last).set_params(estimator=_with_known_structure(last.estimator, _last_step(fitted)))
    else:
        known = _with_known_structure(last, _last_step(fitted))
    if last is estimator:
        return Learner(known)
    return Learner(clone(estimator).set_params(**{estimator.steps[-1][0]: known}))


def _with_known_structure(estimator: NetworkClassifier, fitted: NetworkClassifier) -> KnownStructure:
    """A classifier with the fitted structure, and all parameters of the estimator that do not find one."""
    own = {"space", "criterion", "search", "structure"}
    if type(estimator)._learn is not NetworkClassifier._learn or type(estimator)._hold is not NetworkClassifier._hold:
        raise ValueError(f"relearn='parameters' cannot keep the structure of {type(estimator).__name__}: use 'all'")
    given = {name: value for name, value in estimator.get_params(deep=False).items() if name not in own}
    shared = BayesNetClassifier().get_params(deep=False).keys() & given.keys()
    return KnownStructure(structure=fitted.dag_, **{name: given[name] for name in sorted(shared)})


def _last_step(estimator: Any) -> Any:
    """The estimator at the end of a pipeline; any other is its own end."""
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if steps and not isinstance(estimator, BayesClassifier) else estimator

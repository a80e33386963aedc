"""Any network as a classifier: the user's own space, score and search, or a structure that is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bntk._checking import Check, instance, wrong
from bntk._warnings import warn
from bntk.classifiers.base import NetworkClassifier
from bntk.classifiers.features import Rows
from bntk.classifiers.held_out import has_enough_rows, held_out
from bntk.errors import DataError, WeakClassifierWarning
from bntk.graph.dag import DAG, as_dag
from bntk.learning.counts import TableCounter
from bntk.learning.learn import learn_structure
from bntk.learning.parameters import fit
from bntk.learning.priors import Prior
from bntk.learning.scores import DecomposableScore, Score, by_name
from bntk.learning.search import Search, SearchResult
from bntk.learning.space import Space
from bntk.learning.space import named as spaces
from bntk.network import BayesianNetwork

#: A log loss that is larger by no more than this is no worse.
TIE = 0.0005


def _check_space(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, Space) and (not callable(value) or isinstance(value, type)):
        raise wrong(name, "a Space, a function of the features and the class that returns one, or None", value)


@dataclass(kw_only=True, eq=False, repr=False)
class BayesNetClassifier(NetworkClassifier):
    """Bayesian network classifier of any structure: a space, score and search of your choice, or a known structure.

    A score such as BDeu rates how well a network describes all variables, among which the class is only one: the best
    DAG may leave it with few arcs, or none. So, without a space, the best DAG is compared with the best forest of
    features that are all children of the class, by the same criterion, and with naive Bayes. The one that predicts the
    class best is taken: by its quadratic loss in five folds of the training rows. (The log loss has no bound for wrong
    predictions that are sure, so that a structure without any class arc may seem better than all others.) In this DAG,
    a variable has at most log2(rows) parents: more of them have more configurations than there are rows. A criterion
    that measures predictions, as ``"loo"``, is about the class already, and finds any DAG. A DAG that makes it
    costly to sum out the missing values of some training row is not taken.

    A :class:`bntk.errors.WeakClassifierWarning` tells of a network that predicts the class worse than naive Bayes with
    the same prior: if its log loss in five folds of the labelled training rows, with the structure as it is, is larger
    by more than 0.0005; or its quadratic loss, by more than the standard error of the difference. Continuous features,
    which both have in common, are left out, and so are rows in which it is costly to sum out missing values.

    Parameters
    ----------
    space : callable or Space, optional
        ``space(features, target)`` gives the legal structures, as the functions of :mod:`bntk.spaces` do, for example
        ``bntk.spaces.tan``; or a :class:`bntk.Space` over the features and the class, by name. By default any DAG over
        features and class, the class anywhere in it, a forest below the class, or naive Bayes, whichever predicts the
        class best; ``search_.search`` says which. For any DAG in any case, give
        ``lambda features, target: bntk.spaces.dag([*features, target])``.
    criterion : str or Score
        The score that the structure maximises.
    search : str or Search
        A search by name or as an object; ``"auto"`` chooses one that suits the space and the number of features. The
        best forest is always the exact one.
    structure : DAG or str, optional
        A known structure, such as ``"class -> a -> b; class -> c"``, instead of a search. Features that are not in it
        are ignored, and so are columns in it that were left out with a warning. The class has the name of ``y``, or
        ``class``.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(2000, seed=1).to_pandas()
    >>> X, y = rows.drop(columns="dysp"), rows["dysp"]
    >>> general = bntk.BayesNetClassifier(criterion="bic").fit(X, y)
    >>> general.features_in_use_
    ['bronc', 'either']
    >>> known = bntk.BayesNetClassifier(structure="bronc -> dysp <- either").fit(X, y)
    >>> bool((known.predict(X) == general.predict(X)).all())
    True
    """

    name = "dag"
    prior: Prior | str | float = 0.5
    _in_passes: ClassVar[bool | str] = "BAN, or a network by bntk.learn"
    space: Callable[[tuple[str, ...], str], Space] | Space | None = None
    criterion: str | Score = "bdeu"
    search: str | Search = "auto"
    structure: DAG | str | None = None

    _checks: ClassVar[Mapping[str, Check]] = {"space": _check_space}
    #: Whether it is compared with naive Bayes when it is fitted.
    _is_compared: ClassVar[bool] = True

    def _structure(self, counter: TableCounter) -> SearchResult:
        if self.structure is not None or isinstance(self.space, Space):  # about all features, constant ones as well
            return self._find_structure(counter)
        return super()._structure(counter)

    def _space(self, features: tuple[str, ...], target: str) -> Space:
        if self.space is None:
            return spaces.general((*features, target), target)
        space = self.space if isinstance(self.space, Space) else self.space(features, target)
        instance("space", space, Space, what="a Space, or a function of the features and the class that returns one")
        if set(space.nodes) != {*features, target}:
            raise DataError(
                f"the space has the nodes {list(space.nodes)}; it needs the features and the class: "
                f"{[*features, target]}"
            )
        return space.reorder((*features, target))

    def _find_structure(self, counter: TableCounter) -> SearchResult:
        if self.structure is not None:
            return self._given_structure(self.structure, counter.names)
        if self.space is None and isinstance(by_name(self.criterion, "criterion"), DecomposableScore):
            return self._best_for_class(counter)
        return super()._find_structure(counter)

    def _given_structure(self, structure: DAG | str, names: tuple[str, ...]) -> SearchResult:
        dag = as_dag(structure, "structure")
        unknown = [name for name in dag.nodes if name not in names and name not in self.features_.unused]
        if unknown:
            raise DataError(f"the structure has {unknown}, which are neither features nor the class: {names}")
        return SearchResult(on_columns(dag, names), float("nan"), "given structure")

    def _best_for_class(self, counter: TableCounter) -> SearchResult:
        """The best forest below the class, naive Bayes or any DAG, whichever predicts the class best in folds."""
        *features, target = counter.names
        score = self._given_score(self.criterion).with_target(target)
        # More binary parents than log2(rows) have more configurations than there are rows.
        most = max(1, int(np.log2(max(counter.total_weight, 1))))
        space = spaces.general(counter.names, target, max_parents=most)
        anywhere = learn_structure(counter, score, space, self._chosen_search(), seed=self._seed)
        found = {
            "a forest below the class": learn_structure(counter, score, spaces.fan(features, target)),
            "naive Bayes": learn_structure(counter, score, spaces.naive_bayes(features, target)),
            "any DAG": anywhere,
        }
        losses = {name: self._loss_in_folds(one.dag, counter) for name, one in found.items()}
        taken = min(losses, key=losses.__getitem__)  # of equals the first one
        figures = ", ".join(f"{name} {loss:.4g}" for name, loss in losses.items())
        return replace(
            found[taken],
            search=f"{found[taken].search}; {taken}, by the quadratic loss of the class in five folds: {figures}",
            interrupted=anywhere.interrupted,
            n_evaluated=sum(one.n_evaluated for one in found.values()),
            seconds=sum(one.seconds for one in found.values()),
        )

    def _loss_in_folds(self, dag: DAG, counter: TableCounter) -> float:
        """The quadratic loss of the class; infinite where it cannot be told, or the structure cannot be taken."""
        is_refused = self._given_class_prior() is not None and dag.parents(counter.names[-1])
        if is_refused or not has_enough_rows(counter):
            return float("inf")
        rows = held_out(dag, counter, self._fitted, whole=True)
        return rows.mean(rows.quadratic_losses) if rows.is_whole else float("inf")

    def _fitted(self, dag: DAG, counter: TableCounter) -> BayesianNetwork:
        """The network with this structure, its tables estimated as those of the classifier are from labelled rows."""
        network = fit(dag, counter, self._prior, missing="available")
        *others, last = network.cpts
        return network._with_cpts([*others, self._with_class_prior(last)])

    # ---------------------------------------------------------------- beside naive Bayes

    def _learn_rows(self, rows: Rows, codes: NDArray[np.int64], weights: NDArray[np.float64] | None) -> None:
        super()._learn_rows(rows, codes, weights)
        counter, labelled = self._counter(rows, codes, weights), np.flatnonzero(codes < len(self.classes_))
        if len(labelled) < len(codes):
            counter = TableCounter(counter.table.take(labelled), None if weights is None else weights[labelled])
        if self._is_compared and not self.search_.interrupted and has_enough_rows(counter):
            self._warn_if_naive_bayes_is_better(counter)

    def _warn_if_naive_bayes_is_better(self, counter: TableCounter) -> None:
        *features, target = counter.names
        naive = DAG(counter.names, [(target, name) for name in features])
        if self.dag_ == naive:
            return
        own, other = (held_out(dag, counter, self._fitted) for dag in (self.dag_, naive))
        more, by_squares = own.log_losses - other.log_losses, own.quadratic_losses - other.quadratic_losses
        if own.mean(more) > TIE:
            name, losses = "log loss", (own.log_losses, other.log_losses)
        elif own.mean(by_squares) > own.standard_error(by_squares):
            name, losses = "quadratic loss", (own.quadratic_losses, other.quadratic_losses)
        else:
            return
        figures = f"its {name} is {own.mean(losses[0]):.4g}, that of naive Bayes {own.mean(losses[1]):.4g}"
        warn(
            lambda _: (
                f"this {type(self).__name__} predicts the class worse than naive Bayes: in five folds of the "
                f"training rows {figures}; its structure may have lost the class. Try bntk.TAN(), bntk.BAN(), "
                'bntk.NaiveBayes(), or criterion="loo", which rates predictions of the class'
            ),
            WeakClassifierWarning,
            [target],
        )


def on_columns(dag: DAG, names: Sequence[str]) -> DAG:
    """A structure over these columns: without those that are left out here, with others that were left out there."""
    return DAG(names, [(tail, head) for tail, head in dag.arcs if tail in names and head in names])

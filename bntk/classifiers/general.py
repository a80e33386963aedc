"""Any network as a classifier: the user's own space, score and search, or a structure that is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from bntk._checking import Check, instance, wrong
from bntk.classifiers.base import NetworkClassifier
from bntk.errors import DataError
from bntk.graph.dag import DAG, as_dag
from bntk.learning.counts import TableCounter
from bntk.learning.scores import Score
from bntk.learning.search import Search, SearchResult
from bntk.learning.space import Space
from bntk.learning.space import named as spaces


def _check_space(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, Space) and (not callable(value) or isinstance(value, type)):
        raise wrong(name, "a Space, a function of the features and the class that returns one, or None", value)


@dataclass(kw_only=True, eq=False, repr=False)
class BayesNetClassifier(NetworkClassifier):
    """Bayesian network classifier of any structure: a space, score and search of your choice, or a known structure.

    Parameters
    ----------
    space : callable or Space, optional
        ``space(features, target)`` gives the legal structures, as the functions of :mod:`bntk.spaces` do, for example
        ``bntk.spaces.tan``; or a :class:`bntk.Space` over the features and the class, by name. By default any DAG over
        features and class, the class anywhere in it.
    criterion : str or Score
        The score that the structure maximises.
    search : str or Search
        A search by name or as an object; ``"auto"`` chooses one that suits the space and the number of features.
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
    space: Callable[[tuple[str, ...], str], Space] | Space | None = None
    criterion: str | Score = "bdeu"
    search: str | Search = "auto"
    structure: DAG | str | None = None

    _checks: ClassVar[Mapping[str, Check]] = {"space": _check_space}

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
        if self.structure is None:
            return super()._find_structure(counter)
        dag = as_dag(self.structure, "structure")
        unknown = [name for name in dag.nodes if name not in counter.names and name not in self.features_.unused]
        if unknown:
            raise DataError(f"the structure has {unknown}, which are neither features nor the class: {counter.names}")
        return SearchResult(on_columns(dag, counter.names), float("nan"), "given structure")


def on_columns(dag: DAG, names: Sequence[str]) -> DAG:
    """A structure over these columns: without those that are left out here, with others that were left out there."""
    return DAG(names, [(tail, head) for tail, head in dag.arcs if tail in names and head in names])

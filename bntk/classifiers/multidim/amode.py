"""Average multi-dimensional one-dependence: one network for each class as the parent of all others, averaged.

References
----------
A. Antonucci, G. Corani, D. Mauá, S. Gabaglio (2013). An ensemble of Bayesian networks for multilabel classification.
IJCAI, 1220-1225.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bntk.classifiers.multidim.base import Floats, MultiBayesClassifier
from bntk.cpt import CPT
from bntk.data.labels import pair_counts
from bntk.data.variable import names_of
from bntk.errors import DataError, TooLargeError
from bntk.graph.dag import DAG
from bntk.inference.elimination.targets import Mixture
from bntk.inference.exact.log_tree import Tables, log
from bntk.learning.counts import Counter, TableCounter
from bntk.learning.parameters import fit
from bntk.learning.priors import posterior_mean
from bntk.learning.scores import Score
from bntk.learning.search import SearchResult
from bntk.learning.space import named as spaces
from bntk.network import BayesianNetwork


def label_pairs(counter: Counter, n_features: int) -> NDArray[np.float64]:
    """How often each two labels occur together, as :func:`bntk.data.labels.pair_counts` has it."""
    if isinstance(counter, TableCounter):
        return pair_counts(counter.table.codes[n_features:], counter.cards[n_features:], counter.weights)
    classes = range(n_features, len(counter.names))
    edges = np.concatenate([[0], np.cumsum(counter.cards[n_features:], dtype=np.int64)])
    found = np.zeros((edges[-1], edges[-1]))
    pairs = [(i, j) for i in classes for j in classes if i < j]
    for scope, table in zip([*pairs, *((i,) for i in classes)], counter.tables([*pairs, *((i,) for i in classes)])):
        i, j = (scope[0] - n_features, scope[-1] - n_features)
        own = np.diag(table) if len(scope) == 1 else table
        found[edges[i] : edges[i + 1], edges[j] : edges[j + 1]] = own
        found[edges[j] : edges[j + 1], edges[i] : edges[i + 1]] = own.T
    return found


#: Joint states of the classes up to which the average of all members is one table.
ONE_TABLE = 1 << 12


@dataclass(kw_only=True, eq=False, repr=False)
class AMODE(MultiBayesClassifier):
    """Average multi-dimensional one-dependence classifier.

    There is one network for each class variable, in which it is the parent of all other classes. The features have the
    same parents among the classes in all of them, chosen by the score, and no arcs among themselves. With classes
    c = (c_1, ..., c_m) and features a,

        P(c, a) = prod_i P(a_i | pa_i)  1/m sum_k P(c_k) prod_{l != k} P(c_l | c_k).

    The parents of a feature depend on its own family alone, so that learning takes time linear in the number of
    features. Given the state of the superparent, the other classes are connected only where they are parents of the
    same feature. So all members, one for each state of each superparent, are answered on one junction tree of these
    connections, exactly where it is small enough; with at most 4,096 combinations of labels, the average over the
    members is one table from the beginning.

    Parameters
    ----------
    criterion : str or Score
        By which the parents of a feature are chosen: ``"bic"``, ``"bdeu"`` or another sum over families.
    max_bridge_parents : int, optional
        Largest number of classes that are parents of one feature. With 1, inference is exact for any number of classes.
    loss : {"hamming", "subset"}
        What predictions minimise: the number of wrong labels (each class variable gets its most probable label), or
        whether any is wrong (all get the labels that are jointly the most probable). ``"subset"`` needs the average of
        the members as one table, so that it is for few classes.

    Attributes
    ----------
    search_ : SearchResult
        The arcs from classes to features, and how they were found.
    inference_ : str
        Whether predictions are exact.
    features_in_use_ : list of str
        The features that have a class as a parent.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(3000, seed=1).to_pandas()
    >>> Y = rows[["tub", "lung", "bronc"]]
    >>> X = rows[["asia", "smoke", "xray", "dysp"]]
    >>> amode = bntk.AMODE().fit(X, Y)
    >>> member = amode.member("lung")
    >>> member.dag.parents("tub"), member.dag.parents("xray"), member.dag.parents("dysp")
    (('lung',), ('tub', 'lung'), ('lung', 'bronc'))
    >>> amode.predict(X.head(3)).values.tolist()
    [['no', 'no', 'yes'], ['no', 'no', 'no'], ['no', 'no', 'yes']]
    """

    name = "amode"
    criterion: str | Score = "bic"
    max_bridge_parents: int | None = 2

    _state: ClassVar[dict[str, Any]] = {
        "_shared": BayesianNetwork,
        "_pairs": NDArray[np.float64],
        "search_": SearchResult,
    }
    _needed_to_predict: ClassVar[tuple[str, ...]] = ("prior",)

    def _learn(self, counter: TableCounter, n_features: int) -> None:
        self._check_size()
        features, classes = counter.names[:n_features], counter.names[n_features:]
        space = spaces.mdbnc(
            features, classes, class_shape="empty", feature_shape="empty", max_bridge_parents=self.max_bridge_parents
        )
        self.search_ = self._find(counter, self.criterion, space, "auto")
        self._shared = fit(self.search_.dag, counter, self._prior)
        self._pairs = label_pairs(counter, n_features)
        self._given_each = [self._conditionals(j) for j in range(len(self.classes_))]

    def _check_size(self) -> None:
        size = math.prod(self.labels_.cards)
        if self.loss == "subset" and size > ONE_TABLE:
            raise TooLargeError(
                f"loss='subset' looks at all {size:,} combinations of labels, more than {ONE_TABLE:,}; MDBNC can do it"
            )

    def _restore(self) -> None:
        super()._restore()
        self._check_size()
        self._check_network(self._shared)
        size = sum(self.labels_.cards)
        if self._pairs.shape != (size, size) or not (self._pairs >= 0).all():
            raise DataError(f"there must be a count for each two of the {size} labels")
        self._given_each = [self._conditionals(j) for j in range(len(self.classes_))]
        self._make_ready()

    def _learned(self) -> tuple[BayesianNetwork, Mixture]:
        n_features = len(self.features_.variables)
        if math.prod(self.labels_.cards) > ONE_TABLE:
            return self._shared, Mixture(*self._components(n_features))
        classes = tuple(range(n_features, len(self._shared.names)))
        return self._shared, Mixture({classes: self._average()[..., None, None]}, np.zeros(1))

    def _average(self) -> Floats:
        """log 1/m sum_k P(c_k) prod_l P(c_l | c_k) for all combinations of labels."""
        m = len(self.classes_)
        total = np.zeros(self.labels_.cards)
        for k in range(m):
            member = np.full([1] * m, 1.0 / m)
            for j in range(m):
                table = self._class_prior(k) if j == k else self._given(j, k)
                shape = [card if i in (j, k) else 1 for i, card in enumerate(self.labels_.cards)]
                member = member * (table.T if j < k else table).reshape(shape)
            total += member
        return log(total)

    def _components(self, n_features: int) -> tuple[Tables, Floats]:
        """A component for each state of each superparent: then the other classes are independent."""
        tables: Tables = {}
        for j, given in enumerate(self._given_each):
            mine = given.copy()
            mine[self._span(j)] = np.eye(given.shape[1])
            tables[n_features + j,] = log(mine).T[:, None, :]
        weights = np.concatenate([self._class_prior(k) for k in range(len(self.classes_))])
        return tables, log(weights / len(self.classes_))

    def _span(self, k: int) -> slice:
        """Where the states of C_k are among those of all classes."""
        return slice(sum(self.labels_.cards[:k]), sum(self.labels_.cards[: k + 1]))

    def _class_prior(self, k: int) -> Floats:
        """P(C_k)."""
        mine = self._span(k)
        return posterior_mean(self._pairs[mine, mine].diagonal(), self._prior.pseudo_count(self._class_variables[k], 1))

    def _given(self, j: int, k: int) -> Floats:
        """P(C_j | C_k), a row for each state of C_k."""
        return self._given_each[j][self._span(k)]

    def _conditionals(self, j: int) -> Floats:
        """P(C_j | C_k), a row for each state of each class C_k."""
        cards, child = self.labels_.cards, self._class_variables[j]
        by_states = {q: np.broadcast_to(self._prior.pseudo_count(child, q), child.n_states) for q in {*cards}}
        alpha = np.repeat([by_states[q] for q in cards], cards, axis=0)
        return posterior_mean(self._pairs[:, self._span(j)], alpha)

    def member(self, name: str) -> BayesianNetwork:
        """The network in which the class variable of this name is the parent of all others."""
        check_is_fitted(self)
        names = names_of(self._class_variables)
        if name not in names:
            raise ValueError(f"{name!r} is no class variable; they are {list(names)}")
        k = names.index(name)
        arcs = [*self._shared.dag.arcs, *((name, other) for other in names if other != name)]
        parent = self._class_variables[k]
        cpts = list(self._shared.cpts[: -len(names)])
        for j, child in enumerate(self._class_variables):
            cpts.append(CPT(child, self._class_prior(k)) if j == k else CPT(child, self._given(j, k), [parent]))
        return BayesianNetwork(DAG(self._shared.names, arcs), cpts)

    @property
    def features_in_use_(self) -> list[str]:
        """The features that have a class as a parent."""
        check_is_fitted(self)
        return [v.name for v in self.features_.variables if self._shared.dag.parents(v.name)]

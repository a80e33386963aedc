"""Multi-dimensional Bayesian network classifiers: one network over features and several classes.

References
----------
L. van der Gaag, P. de Waal (2006). Multi-dimensional Bayesian network classifiers. PGM.

C. Bielza, G. Li, P. Larrañaga (2011). Multi-dimensional classification with Bayesian networks. International Journal of
Approximate Reasoning 52, 705-727.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from bntk import _checking
from bntk.classifiers.multidim.base import MultiBayesClassifier
from bntk.graph.dag import DAG
from bntk.learning.counts import TableCounter
from bntk.learning.parameters import fit
from bntk.learning.scores import Score
from bntk.learning.search import Search, SearchResult
from bntk.learning.space import named as spaces
from bntk.network import BayesianNetwork


@dataclass(kw_only=True, eq=False, repr=False)
class MDBNC(MultiBayesClassifier):
    """Multi-dimensional Bayesian network classifier: class, bridge and feature subgraphs.

    Arcs among the classes are the class subgraph, arcs from classes to features the bridge, and arcs among features the
    feature subgraph; no arc leads from a feature into a class. Two well known kinds are settings:

    - multi-dimensional naive Bayes: ``MDBNC(class_shape="empty", feature_shape="empty")``;
    - multi-dimensional tree-augmented naive Bayes: ``MDBNC(class_shape="tree", feature_shape="tree")``.

    Parameters
    ----------
    class_shape, feature_shape : {"empty", "tree", "forest", "polytree", "dag"}
        Shapes of the class and the feature subgraph. With a tree, a forest or no arcs at all among the classes and
        ``max_bridge_parents=1``, inference is exact for any number of classes.
    bridge : {"discard", "optional", "all"}
        With ``"discard"`` a feature has at least one class as a parent, or no arcs at all: features that no class
        explains are out. With ``"optional"`` any classes may be parents of a feature, or none; a score of the whole
        network then often explains features by one another and leaves little to the classes, so that it predicts worse.
        With ``"all"`` all classes are parents of all features, which is for few classes.
    max_bridge_parents : int, optional
        Largest number of classes that are parents of one feature; without a meaning for ``bridge="all"``.
    criterion : str or Score
        A sum over families, such as ``"bic"`` or ``"bdeu"``. Where cells are missing, BIC and its relatives compare
        averages over complete rows (``missing="average"``).
    search : str or Search
        ``"auto"`` learns part by part: the class subgraph from the classes alone, which loses nothing (a DAG of more
        than 40 classes by hill climbing); the parents of each feature among the classes by trying all sets (or, for
        very many, by the best step at a time); and the feature subgraph given these, by turns until nothing is gained.
        A name or an object is one search in :func:`bntk.spaces.mdbnc`.
    prior : float, "mle", "backoff" or Prior
        The prior of the conditional probability tables. A number is added to every count (the Dirichlet parameter alpha
        of every cell; 1 is Laplace's rule), ``"mle"`` adds nothing. With ``"backoff"``, tables that have features as
        parents are shrunk towards those given the classes alone, see :class:`bntk.priors.Backoff`.
    missing : {"marginal", "em", "state"}
        How missing features are treated. ``"marginal"``: they are summed out in prediction, and a row counts for each
        table in which it is complete. ``"em"``: the same, but the tables are estimated by EM from all observed values.
        ``"state"``: missing is one more state of each feature that has missing values in the training rows. Labels may
        be missing in ``fit``, too: a row then counts for each table in which it is complete.

    Attributes
    ----------
    network_ : BayesianNetwork
        Over the features and then the classes; answers any query.
    dag_ : DAG
    search_ : SearchResult
        How the structure was found.
    features_in_use_ : list of str
        The features on which some class can depend when all others are known.
    inference_ : str
        Whether predictions are exact.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(3000, seed=1).to_pandas()
    >>> Y = rows[["lung", "bronc"]]
    >>> X = rows[["asia", "smoke", "xray", "dysp"]]
    >>> both = bntk.MDBNC(class_shape="tree", feature_shape="empty").fit(X, Y)
    >>> both.dag_.parents("dysp"), both.dag_.parents("xray"), both.dag_.parents("bronc")
    (('lung', 'bronc'), ('lung',), ('lung',))
    >>> both.predict(X.head(3))
      lung bronc
    0   no   yes
    1   no    no
    2   no   yes
    >>> [table.shape for table in both.predict_proba(X)]
    [(3000, 2), (3000, 2)]
    """

    name = "mdbnc"
    class_shape: str = "dag"
    feature_shape: str = "forest"
    bridge: str = "discard"
    max_bridge_parents: int | None = 3
    criterion: str | Score = "bic"
    search: str | Search = "auto"

    _state: ClassVar[dict[str, Any]] = {"network_": BayesianNetwork, "search_": SearchResult}
    _ways_of_missing: ClassVar[tuple[str, ...]] = ("marginal", "em", "state")

    def _check_options(self) -> None:
        _checking.one_of("bridge", self.bridge, ("all", "optional", "discard"))
        super()._check_options()

    def _learn(self, counter: TableCounter, n_features: int) -> None:
        space = spaces.mdbnc(
            counter.names[:n_features],
            counter.names[n_features:],
            class_shape=self.class_shape,
            feature_shape=self.feature_shape,
            bridge=self.bridge,
            max_bridge_parents=None if self.bridge == "all" else self.max_bridge_parents,
        )
        self.search_ = self._find(counter, self.criterion, space, self.search)
        missing = "em" if self.missing == "em" and counter.incomplete else "available"
        network = fit(self.search_.dag, counter, self._prior, missing=missing)
        self.network_ = network._with_report(network.report or self.search_)

    def _learned(self) -> tuple[BayesianNetwork, None]:
        return self.network_, None

    def _restore(self) -> None:
        super()._restore()
        self._check_network(self.network_)
        self.network_ = self.network_._with_report(self.search_)
        self._make_ready()

    @property
    def dag_(self) -> DAG:
        """The structure."""
        check_is_fitted(self)
        return self.network_.dag

    @property
    def features_in_use_(self) -> list[str]:
        """The features on which some class can depend when all other features are known."""
        blankets = {name for variable in self._class_variables for name in self.dag_.markov_blanket(variable.name)}
        return [name for name in self.features_.names if name in blankets]

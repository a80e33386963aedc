"""What all classifiers share: reading X and y, the class prior, and everything that derives from the class log scores.

A classifier says how it learns (:meth:`BayesClassifier._learn`) and what the log joint of each class is in a row
(:meth:`BayesClassifier._log_scores`); labels, probabilities, decisions by cost and the rest are written once, here.
Most are networks, see :class:`NetworkClassifier`: they say which structures are legal, and the rest is a search.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from bntk._threads import using_threads
from bntk.classifiers.densities import Density, Gaussian, Multinomial, OfKernels, check_densities, fit_densities
from bntk.classifiers.features import Features, Rows
from bntk.classifiers.prior_option import backoff_of, dirichlet_of
from bntk.classifiers.unsaved import refuse_unsaved
from bntk.cpt import CPT
from bntk.data.table import Table, Unseen, code_dtype
from bntk.data.variable import Variable, is_missing, plain_state
from bntk.errors import DataError
from bntk.graph.dag import DAG
from bntk.inference.rows import log_joint_rows
from bntk.learning.counts import TableCounter
from bntk.learning.learn import learn_structure
from bntk.learning.parameters import fit, posterior_mean, updated
from bntk.learning.priors import Backoff, Prior
from bntk.learning.scores import Score, by_name
from bntk.learning.search import Search, SearchResult
from bntk.learning.space import Space
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


class ScoreOption:
    """A parameter named ``score`` beside scikit-learn's method of that name.

    ``TAN(score="bic")`` names the score that the structure maximises, and ``tan.score(X, y)`` still measures accuracy,
    as scikit-learn's tools expect: reading the attribute gives the method, and setting it keeps the parameter.
    """

    def __init__(self, default: str | Score | None) -> None:
        self.default = default

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self.default
        method = next(m for base in owner.__mro__ if callable(m := base.__dict__.get("score")))
        return MethodType(method, instance)

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__["score"] = value


class RowReader(ClassifierMixin, BaseEstimator):
    """What every classifier of this package is to scikit-learn: it takes rows of any kind, with missing cells."""

    features_: Features

    #: What a fitted classifier consists of: its attributes that are written to files, and their types. Those whose
    #: type has None may be absent. Classes below add theirs; what can be worked out again (``_restore``) is not named.
    _state: ClassVar[dict[str, Any]] = {"n_features_in_": int, "feature_names_in_": NDArray[np.object_] | None}
    #: Parameters without which it cannot predict; any other that a file cannot hold is left out.
    _needed_to_predict: ClassVar[tuple[str, ...]] = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to one file, ``.json`` or ``.json.gz``; :func:`bntk.load` reads it.

        It then predicts, explains and learns on (``partial_fit``) as before, to the last bit. A crash on the way leaves
        the old file as it was. A parameter that a file cannot hold, such as a score of your own, is left out if it only
        matters for fitting; ``fit`` then asks for it. An ``estimator`` of another package is refused.

        Examples
        --------
        >>> import bntk, tempfile
        >>> rows = bntk.datasets.asia().sample(200, seed=1).to_pandas()
        >>> tan = bntk.TAN().fit(rows.drop(columns="dysp"), rows["dysp"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tan.save(folder + "/tan.json")
        ...     again = bntk.load(folder + "/tan.json")
        >>> bool((again.predict_proba(rows.drop(columns="dysp")) == tan.predict_proba(rows.drop(columns="dysp"))).all())
        True
        """
        from bntk.classifiers.saving import save

        save(self, path)

    def _restore(self) -> None:
        """After a file was read: refuse parts that do not fit together, which kernels would trust; make the rest."""

    def _check_columns(self, names: tuple[str, ...]) -> None:
        """Refuse columns of X, read from a file, other than those that the parts are about."""
        given = getattr(self, "feature_names_in_", None)
        if self.n_features_in_ != len(names) or (given is not None and [str(name) for name in given] != list(names)):
            raise DataError(f"the columns of X are not the {len(names)} features {list(names)[:8]}")

    def _checked_rows(self, X: Any, reset: bool) -> Any:
        """X with its number and names of columns checked; lists as an array, data frames and tables as they are."""
        if reset:
            refuse_unsaved(vars(self))
        if isinstance(X, (Table, Mapping)) and not issparse(X):  # one sparse format is a mapping
            names = list(X.names if isinstance(X, Table) else X)
            if reset:
                self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
            elif names != list(getattr(self, "feature_names_in_", self.features_.names)):
                raise DataError(f"X has the columns {names}; the classifier was fitted with {self.features_.names}")
            return X
        if _is_frame(X):
            validate_data(self, X, skip_check_array=True, reset=reset)
            if not len(X):
                raise ValueError("Found array with 0 sample(s): X has no rows, but a minimum of 1 is required.")
            return X
        X = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=reset)
        return _numbers_where_possible(X)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn defines it."""
        params: dict[str, Any] = super().get_params(deep)
        if "score" in params:  # the parameter, not the method
            params["score"] = self.__dict__["score"]
        return params

    def _repr_html_inner(self) -> str:
        """What scikit-learn shows in a notebook, and below it the network of a fitted classifier."""
        from bntk.viz.notebook import classifier_html

        return str(super()._repr_html_inner()) + classifier_html(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:  # absent where scikit-learn is set to display text
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class BayesClassifier(RowReader):
    """The base of all classifiers with one class variable.

    Parameters
    ----------
    prior : float, "mle", "backoff", Prior or Backoff
        For the parameters: a number is the Dirichlet alpha of every cell of every table. With ``"backoff"``, the
        default of classifiers in which features have features as parents, their tables lean on those given the class
        alone, see :class:`bntk.priors.Backoff`.
    class_prior : {"empirical", "uniform"} or array_like
        The probabilities of the classes: as in the training rows (smoothed by ``prior``), all equal, or given in the
        order of ``classes_``.
    numeric : str or mapping
        What becomes of columns of numbers. ``"mdl"`` cuts them into intervals by the supervised method of Fayyad and
        Irani, ``"width"`` and ``"frequency"`` into ``n_bins`` intervals; ``"category"`` takes each number for a
        state, ``"bernoulli"`` only whether it is above zero. ``"gaussian"`` and ``"kde"`` leave them numbers, with a
        density given the class, ``"multinomial"`` takes them for counts of words. A mapping chooses by column, and
        may give cut points.
    n_bins : int
        Intervals for ``"width"`` and ``"frequency"``.
    missing : {"marginal", "em", "state"}
        What a missing cell means. ``"marginal"``: nothing is known; it is summed out in prediction, and a row counts
        for each table in which it is complete. ``"em"``: the same, but the tables are estimated from all observed
        cells by EM, which is slower and right also where it depends on other cells whether a cell is missing.
        ``"state"``: being missing says something, and is one more state of each feature that has missing cells in the
        training rows; the fastest, and the most accurate where cells are not missing at random.
    unseen : {"missing", "error"}
        What to do with a state that was not seen by ``fit``.
    seed : int
        The same seed gives the same classifier.
    n_jobs : int, optional
        Threads; by default those of :func:`bntk.set_threads`; -1 for all cores.

    Attributes
    ----------
    classes_ : ndarray
    features_ : Features
        How columns become features: their states and cut points.
    """

    prior: Prior | Backoff | str | float = 1.0
    class_prior: str | ArrayLike = "empirical"
    numeric: str | Mapping[str, Any] = "mdl"
    n_bins: int = 10
    missing: str = "marginal"
    unseen: Unseen = "missing"
    seed: int = 0
    n_jobs: int | None = None

    _state: ClassVar[dict[str, Any]] = {
        "classes_": NDArray[Any],
        "features_": Features,
        "densities_": tuple[Gaussian | Multinomial | OfKernels, ...],
        "_class_variable": Variable,
    }

    # ---------------------------------------------------------------- what a classifier has to say

    @abstractmethod
    def _learn(self, counter: TableCounter) -> None:
        """Learn from rows of the discrete features and, last, the class."""

    @abstractmethod
    def _log_scores(self, table: Table) -> Floats:
        """log P(class, discrete features) of rows, shape (N, K)."""

    @abstractmethod
    def _add(self, counter: TableCounter) -> None:
        """Take more rows into account, without looking for another structure."""

    # ---------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows and their classes.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), Table, mapping of columns, or array of shape (n_rows, n_features)
            Missing cells are allowed, see ``missing``.
        y : array_like of shape (n_rows,)
            Labels of any type; none may be missing.
        sample_weight : array_like of shape (n_rows,), optional
            One non-negative number a row; a row of weight 0 is as good as absent, one of weight 2 as two rows.
        """
        with using_threads(self.n_jobs):
            return self._fit(X, y, sample_weight, None)

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from more rows: the counts are added to those so far, exactly as if all rows had come at once.

        The first call is a ``fit``. What it chose (states, cut points, the structure) is kept by the later ones: a
        state that it has not seen is taken as missing, unless the column is categorical and declares it.

        Parameters
        ----------
        classes : array_like, optional
            All the classes that will come, where the first rows do not have them all. Later calls may leave it out.
        """
        with using_threads(self.n_jobs):
            if not hasattr(self, "classes_"):
                return self._fit(X, y, sample_weight, classes)
            if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
                raise ValueError(f"classes={classes!r} differ from those of the first call, {self.classes_.tolist()}")
            X = self._checked_rows(X, reset=False)
            labels, weights = self._checked_labels(X, y, sample_weight)
            rows, codes = self.features_.read(X, self.unseen), self._class_codes(labels)
            more = [density.updated(rows.numbers, codes, weights) for density in self.densities_]
            self._add(self._counter(rows, codes, weights))
            self.densities_: tuple[Density, ...] = tuple(more)
            return self

    def _fit(self, X: Any, y: Any, sample_weight: ArrayLike | None, classes: ArrayLike | None) -> Self:
        X = self._checked_rows(X, reset=True)
        labels, weights = self._checked_labels(X, y, sample_weight)
        if weights is not None and (weights == 0).any():  # as if they were not there, for states and cuts, too
            there = np.flatnonzero(weights)
            X, labels, weights = _rows_of(X, there), labels[there], weights[there]
            if not there.size:
                raise ValueError("every row has the weight 0; at least one must count")
        self.classes_ = np.unique(labels if classes is None else np.asarray(classes))
        if self.missing not in ("marginal", "em", "state"):
            raise ValueError(f"missing must be 'marginal', 'em' or 'state', not {self.missing!r}")
        codes = self._class_codes(labels)
        self.features_, rows = Features.learn(
            X, codes, len(self.classes_), weights, self.numeric, self.n_bins, self.missing == "state"
        )
        self._class_variable = Variable(_class_name(y, self.features_.names), self.classes_.tolist())
        self._learn(self._counter(rows, codes, weights))
        prior = self._dirichlet
        self.densities_ = fit_densities(
            self.features_.continuous, rows.numbers, codes, len(self.classes_), weights, prior
        )
        return self

    def _counter(self, rows: Rows, codes: NDArray[np.int64], weights: Floats | None) -> TableCounter:
        """The rows with their classes, which come last."""
        variables = (*self.features_.variables, self._class_variable)
        both = np.empty((len(variables), len(codes)), dtype=code_dtype(variables))
        both[:-1], both[-1] = rows.table.codes, codes
        return TableCounter(Table._make(both, variables), weights)

    def _class_codes(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        codes = np.searchsorted(self.classes_, labels)
        codes = np.minimum(codes, len(self.classes_) - 1)
        strange = np.flatnonzero(self.classes_[codes] != labels)
        if strange.size:
            row = int(strange[0])
            label, known = plain_state(labels[row]), self.classes_.tolist()
            raise ValueError(f"the class {label!r} in row {row} is none of the known ones: {known}")
        return codes

    def _with_class_prior(self, cpt: CPT) -> CPT:
        """The class's table with the probabilities that ``class_prior`` asks for, and the counts it has."""
        chosen = self.class_prior
        if isinstance(chosen, str) and chosen == "empirical":
            return cpt
        k = len(self.classes_)
        if isinstance(chosen, str) and chosen != "uniform":
            raise ValueError(f"class_prior={chosen!r} is not known; give 'empirical', 'uniform' or {k} probabilities")
        values = np.full(k, 1.0 / k) if isinstance(chosen, str) else np.asarray(chosen, dtype=np.float64)
        if values.shape != (k,) or not (values >= 0).all() or not np.isclose(values.sum(), 1):
            raise ValueError(f"class_prior must be {k} probabilities that sum to 1, one for each class; got {chosen!r}")
        if cpt.parents:
            raise ValueError(
                f"class_prior cannot be given for a class with parents ({', '.join(v.name for v in cpt.parents)})"
            )
        return CPT._trusted(cpt.child, values / values.sum(), (), cpt.counts)

    @property
    def _dirichlet(self) -> Prior:
        """The Dirichlet prior of tables that have no feature as a parent."""
        return dirichlet_of(self.prior)

    @property
    def _backoff(self) -> Backoff | None:
        """How tables with features as parents lean on simpler ones; None if they do not."""
        return backoff_of(self.prior)

    @property
    def target_name_(self) -> str:
        """The name of the class variable: that of ``y`` where it had one, else ``class``."""
        check_is_fitted(self)
        return self._class_variable.name

    def _restore(self) -> None:
        super()._restore()
        self._check_columns(self.features_.names)
        if not np.array_equal(np.unique(self.classes_), self.classes_) or not len(self.classes_):
            raise DataError("the classes are not sorted, or one is there twice")
        if self._class_variable != Variable(self._class_variable.name, self.classes_.tolist()):
            raise DataError(f"the states of the class variable are not the classes {self.classes_.tolist()[:8]}")
        if self._class_variable.name in self.features_.names:
            raise DataError(f"{self._class_variable.name!r} is both a feature and the class")
        check_densities(self.densities_, self.features_.continuous, len(self.classes_))

    # ---------------------------------------------------------------- predicting

    def log_joint(self, X: Any) -> Floats:
        """The log of the joint probability of each class and the observed features of a row, shape (n_rows, n_classes).

        Missing cells are summed out. Where numbers are modelled by densities it is a log density.
        """
        with using_threads(self.n_jobs):
            rows = self._read(X)
            return self._log_scores(rows.table) + self._log_densities(rows)

    def predict_log_proba(self, X: Any) -> Floats:
        """The log of the probability of each class in each row, shape (n_rows, n_classes)."""
        with using_threads(self.n_jobs):
            rows = self._read(X)
            scores = self._log_scores(rows.table) + self._log_densities(rows)
        top = scores.max(axis=1, keepdims=True)
        impossible = ~np.isfinite(top[:, 0])
        if impossible.any():  # a row that no class can explain says nothing about the class
            scores[impossible], top[impossible] = 0.0, 0.0
        scores -= top
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return scores

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class in each row, shape (n_rows, n_classes), in the order of ``classes_``.

        Missing cells are summed out exactly; a row that is impossible in every class gets equal probabilities.
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any, costs: ArrayLike | None = None) -> NDArray[Any]:
        """The most probable class of each row, or the one with the least expected cost.

        Parameters
        ----------
        costs : array_like of shape (n_classes, n_classes), optional
            ``costs[i][j]`` is what it costs to say class j when it is class i, in the order of ``classes_``.

        Returns
        -------
        ndarray of shape (n_rows,)
            Of equally good classes the first one in ``classes_``.
        """
        check_is_fitted(self)
        if costs is None:
            return self.classes_[np.argmax(self.predict_log_proba(X), axis=1)]
        matrix, k = np.asarray(costs, dtype=np.float64), len(self.classes_)
        if matrix.shape != (k, k) or not np.isfinite(matrix).all():
            raise ValueError(f"costs must be a finite array of shape ({k}, {k}), true class by predicted class")
        return self.classes_[np.argmin(self.predict_proba(X) @ matrix, axis=1)]

    def explain(self, X: Any, of: Any = None, against: Any = None) -> pd.DataFrame:
        """What each feature of one row adds to the log odds of one class against another.

        Parameters
        ----------
        X : data of one row
        of, against : labels, optional
            By default the most probable class against the next.

        Returns
        -------
        data frame
            A row for the class prior and one for each feature, with the columns ``state`` and ``log_odds``; these sum
            to the log odds of the two classes. Features that say nothing are left out, the others are sorted by size.
        """
        from bntk.classifiers.explain import explain_row

        return explain_row(self, X, of, against)

    def _log_densities(self, rows: Rows) -> Floats | float:
        return sum((d.log_density(rows.numbers) for d in self.densities_), start=0.0)

    def _read(self, X: Any) -> Rows:
        check_is_fitted(self)
        return self.features_.read(self._checked_rows(X, reset=False), self.unseen)

    # ---------------------------------------------------------------- checking what is given

    def _checked_labels(self, X: Any, y: Any, sample_weight: Any) -> tuple[NDArray[Any], Floats | None]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        labels = column_or_1d(y, warn=True)
        if labels.dtype.kind == "f" and np.isinf(labels).any():
            raise ValueError("Input y contains infinity")
        missing = [row for row, label in enumerate(labels) if is_missing(label)] if labels.dtype.kind in "fO" else []
        if missing:
            raise ValueError(
                f"Input y contains NaN or None: the class of row {missing[0]} is missing; leave such rows out, or "
                "learn from them by EM (bntk.fit_em)"
            )
        check_classification_targets(labels)
        n_rows = X.n_rows if isinstance(X, Table) else _n_rows(X)
        if len(labels) != n_rows:
            raise ValueError(
                f"X has {n_rows:,} rows, but y has {len(labels):,} labels: inconsistent numbers of samples"
            )
        if sample_weight is None:
            return labels, None
        weights = _check_sample_weight(sample_weight, labels, dtype=np.float64, ensure_non_negative=True)
        return labels, weights


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkClassifier(BayesClassifier):
    """A classifier that is one network: a space of legal structures, a score, and a search.

    Attributes
    ----------
    network_ : BayesianNetwork
        Over the discrete features and the class; answers any query, not just of the class.
    dag_ : DAG
    search_ : SearchResult
        How the structure was found.
    features_in_use_ : list of str
        The features on which the class can depend when all others are known, and the continuous ones.
    """

    prior: Prior | Backoff | str | float = "backoff"

    _state: ClassVar[dict[str, Any]] = {
        "network_": BayesianNetwork,
        "search_": SearchResult,
        "_base": BayesianNetwork | None,
    }
    #: Whether the class log scores are those of ``network_``, so that they are a sum over its families.
    _is_additive: ClassVar[bool] = True

    @abstractmethod
    def _space(self, features: tuple[str, ...], target: str) -> Space:
        """Which structures are legal."""

    def _find_structure(self, counter: TableCounter) -> SearchResult:
        """The structure; by default what the search finds in the space by the score."""
        *features, target = counter.names
        score: Score = by_name(self.__dict__.get("score", "loglik"))
        search: str | Search = getattr(self, "search", "auto")
        space = self._space(tuple(features), target)
        return learn_structure(counter, score.with_target(target), space, search, seed=self.seed)

    def _learn(self, counter: TableCounter) -> None:
        self.search_ = self._find_structure(counter)
        dag, rule = self.search_.dag, self._dirichlet
        # EM is only for what it can change.
        missing = "em" if self.missing == "em" and counter.table.has_missing.any() else "available"
        network = fit(dag, counter.table, rule, weights=counter.weights, missing=missing)
        leaning = self._backoff is not None and any(_feature_parents(dag))
        self._base = fit(_without_feature_parents(dag), counter, rule) if leaning else None
        self._hold(self._backed_off(network))

    def _add(self, counter: TableCounter) -> None:
        table, weights = counter.table, counter.weights
        self._base = None if self._base is None else updated(self._base, table, weights)
        self._hold(self._backed_off(updated(self.network_, table, weights)))

    def _backed_off(self, network: BayesianNetwork) -> BayesianNetwork:
        """The network with tables that lean on those without features as parents, if that is asked for."""
        if self._backoff is None or self._base is None:
            return network
        rows = self._backoff.rows
        cpts = [
            cpt if len(cpt.parents) == len(base.parents) else _leaning(cpt, rows * base.values)
            for cpt, base in zip(network.cpts, self._base.cpts, strict=True)
        ]
        return BayesianNetwork(network.dag, cpts, prior=network.prior)

    def _hold(self, network: BayesianNetwork) -> None:
        """Take a fitted network, with the class prior that is asked for."""
        *others, last = network.cpts
        self.network_ = BayesianNetwork(network.dag, [*others, self._with_class_prior(last)], prior=network.prior)

    def _restore(self) -> None:
        super()._restore()
        variables = (*self.features_.variables, self._class_variable)
        self.__dict__.setdefault("_base", None)
        for network in (self.network_, self._base or self.network_):
            if network.variables != variables:
                raise DataError("the variables of the network are not the features and, last, the class")
        if self._base is not None and self._base.dag != _without_feature_parents(self.network_.dag):
            raise DataError("the network that tables lean on has other arcs from the class")

    @property
    def dag_(self) -> DAG:
        """The structure."""
        check_is_fitted(self)
        return self.network_.dag

    @property
    def features_in_use_(self) -> list[str]:
        """The features on which the class depends when all others are known, and the continuous ones."""
        blanket = self.dag_.markov_blanket(self._class_variable.name)
        return [name for name in self.features_.names if name in blanket or name in self.features_.continuous]

    def _log_scores(self, table: Table) -> Floats:
        return log_joint_rows(self.network_, self._with_open_class(table), len(self.network_.cpts) - 1)

    def _with_open_class(self, table: Table) -> NDArray[Any]:
        """The codes of features with the class, missing everywhere, below them."""
        variables = self.network_.variables
        codes = np.empty((len(variables), table.n_rows), dtype=code_dtype(variables))
        codes[:-1], codes[-1] = table.codes, variables[-1].n_states
        return codes


def _feature_parents(dag: DAG) -> list[list[int]]:
    """The parents of each node but the class, which is the last node."""
    target = len(dag.nodes) - 1
    return [[u for u in parents if u != target] for parents in dag.parent_indices]


def _leaning(cpt: CPT, pseudo: Floats) -> CPT:
    """A table with pseudo-counts for its last axes: the class, where it is a parent, is the last one."""
    return CPT._trusted(cpt.child, posterior_mean(cpt.counts, pseudo), cpt.parents, cpt.counts)  # type: ignore[arg-type]


def _without_feature_parents(dag: DAG) -> DAG:
    target = dag.nodes[-1]
    return DAG(dag.nodes, [(tail, head) for tail, head in dag.arcs if tail == target])


# ---- small things about what users give ------------------------------------------------------------------------------


def _is_frame(X: Any) -> bool:
    import narwhals as nw

    return bool(nw.dependencies.is_into_dataframe(X))


def _numbers_where_possible(X: NDArray[Any]) -> NDArray[Any]:
    """An array of objects that are all numbers, as numbers."""
    if X.dtype.kind != "O":
        return X
    for value in X.flat:
        if not isinstance(value, (str, bytes, int, float, bool, np.generic)) and not is_missing(value):
            raise TypeError(f"argument must be a string or a number, not {value!r}: every cell of X is one label")
    try:
        return X.astype(np.float64) if not any(isinstance(value, (str, bytes)) for value in X.flat) else X
    except (TypeError, ValueError):
        return X


def _n_rows(X: Any) -> int:
    return len(next(iter(X.values()))) if isinstance(X, Mapping) else len(X)


def _rows_of(X: Any, rows: NDArray[np.intp]) -> Any:
    if isinstance(X, Table):
        return X.take(rows)
    if isinstance(X, Mapping):
        return {name: _safe_indexing(column, rows) for name, column in X.items()}
    return _safe_indexing(X, rows)


def _class_name(y: Any, features: tuple[str, ...]) -> str:
    """The name of y where it has one, else ``class``."""
    name = getattr(y, "name", None)
    name = name if isinstance(name, str) and name.strip() else "class"
    while name in features:
        name += "_"
    return name

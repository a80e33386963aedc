"""The base of classifiers of several class variables: predictions, their probabilities, and accuracies.

A classifier says how rows are read and what is known about their labels (:class:`MultiTargetClassifier`). Those that
are a network, or an average of networks, say how they learn it and give it as a
:class:`~bntk.inference.elimination.targets.TargetPosterior` (:class:`MultiBayesClassifier`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from bntk import _checking
from bntk._threads import using_threads
from bntk.classifiers.base import RowReader, _n_rows, _rows_of, sample_weights
from bntk.classifiers.features import Features, leaves_states
from bntk.classifiers.random_state import RandomState, seed_of
from bntk.cpt import search_limit
from bntk.data.columns import columns_of
from bntk.data.cuts import joint_cuts
from bntk.data.dask_frames import is_dask_frame
from bntk.data.labels import Labels, read_labels
from bntk.data.numbers import BY_RULE, CONTINUOUS, columns_of_numbers, smooth_way, ways_of
from bntk.data.table import Table, Unseen, code_dtype
from bntk.data.weights import scaled_up
from bntk.errors import DataError, TooLargeError
from bntk.inference.elimination.targets import Mixture, TargetPosterior
from bntk.inference.exact.log_tree import normalised
from bntk.learning.counts import DaskPartitions, PartitionCounter, Partitions, TableCounter
from bntk.learning.learn import learn_structure
from bntk.learning.priors import Prior, as_prior
from bntk.learning.scores import Score, by_name
from bntk.learning.search import Search, SearchResult
from bntk.learning.search.subgraphs import SubgraphSearch, score_for
from bntk.learning.space import Space
from bntk.network import BayesianNetwork

#: Joint states of the classes of which the probabilities are given one by one.
MOST_JOINT_STATES = 1 << 16

Floats = NDArray[np.float64]
Codes = NDArray[Any]


class CountedRows(NamedTuple):
    """Rows that count, which are those of a positive weight.

    Attributes
    ----------
    X : data
    labels : Labels
        The labels that these rows have.
    codes : ndarray of shape (n_targets, n_rows)
    weights : ndarray, optional
        As they were given; None where all rows count once.
    places : ndarray of int, optional
        Where they are among the rows that were given; None where all rows count.
    n_given : int
        The number of rows that were given.
    """

    X: Any
    labels: Labels
    codes: Codes
    weights: Floats | None
    places: NDArray[np.intp] | None
    n_given: int


class MultiTargetClassifier(RowReader):
    """The base of all classifiers with several class variables."""

    n_jobs: int | None
    labels_: Labels
    classes_: list[NDArray[Any]]

    # ---------------------------------------------------------------- what a classifier has to define

    @abstractmethod
    def _read(self, X: Any) -> Any:
        """Rows of X in the form that the methods below take."""

    @abstractmethod
    def _predict(self, rows: Any) -> Codes:
        """The codes of the predicted labels, shape (n_targets, n_rows)."""

    @abstractmethod
    def _probabilities(self, rows: Any) -> list[Floats]:
        """The probabilities of the labels of each class variable."""

    @abstractmethod
    def _joint(self, rows: Any) -> Floats:
        """The probabilities of all combinations of labels, shape (n_rows, n_combinations)."""

    # ---------------------------------------------------------------- learning

    def _counted(self, X: Any, Y: Any, sample_weight: ArrayLike | None) -> CountedRows:
        """The rows that count and their labels."""
        X = self._checked_rows(X, reset=True)
        if Y is None:
            raise ValueError(f"{type(self).__name__} requires Y to be passed, but the target Y is None")
        n_rows = X.n_rows if isinstance(X, Table) else _n_rows(X)
        labels, codes = read_labels(Y, n_rows, missing=True)
        weights = sample_weights(sample_weight, n_rows)
        if weights is None or weights.all():
            return CountedRows(X, labels, codes, weights, None, n_rows)
        places = np.flatnonzero(weights)
        labels, codes = labels.of_rows(codes, places)
        return CountedRows(_rows_of(X, places), labels, codes[:, places], weights[places], places, n_rows)

    # ---------------------------------------------------------------- predicting

    def predict(self, X: Any) -> Any:
        """The labels of each row.

        Returns
        -------
        ndarray of shape (n_rows, n_targets), or a data frame where ``Y`` was one
            Of equally good labels the first one in ``classes_``.
        """
        check_is_fitted(self, "classes_")
        with using_threads(self.n_jobs):
            return self.labels_.decode(self._predict(self._read(X)), X)

    def predict_proba(self, X: Any) -> list[Floats]:
        """The probability of each label: for each class variable an array of shape (n_rows, n_labels).

        Missing features are summed out; a row that is impossible gets equal probabilities.
        """
        check_is_fitted(self, "classes_")
        with using_threads(self.n_jobs):
            return self._probabilities(self._read(X))

    def predict_joint_proba(self, X: Any) -> Floats:
        """The probability of each combination of labels, shape (n_rows, product of the numbers of labels).

        Combinations are in the order of ``itertools.product(*classes_)``: ``np.unravel_index`` with the numbers of
        labels as the shape finds the labels of a column. Refused where there are more than 65,536.
        """
        check_is_fitted(self, "classes_")
        size = math.prod(self.labels_.cards)
        if size > MOST_JOINT_STATES:
            raise TooLargeError(
                f"the {len(self.classes_)} class variables have {size:,} combinations of labels, more than "
                f"{MOST_JOINT_STATES:,}; use predict_proba, which gives the probabilities of each class variable"
            )
        with using_threads(self.n_jobs):
            return self._joint(self._read(X))

    def score(self, X: Any, Y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows in which every label is right, as scikit-learn defines it for several outputs."""
        check_is_fitted(self, "classes_")
        with using_threads(self.n_jobs):
            predicted = self._predict(self._read(X))
        labels, codes = read_labels(Y, predicted.shape[1])
        if len(labels.names) != len(self.labels_.names):
            raise DataError(f"Y has {len(labels.names)} class variables; expected {len(self.labels_.names)}")
        each = zip(self.classes_, labels.classes, predicted, codes, strict=True)
        right = np.all([ours[p] == theirs[y] for ours, theirs, p, y in each], axis=0)
        return float(np.average(right, weights=_check_sample_weight(sample_weight, right)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_label = True
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class MultiBayesClassifier(MultiTargetClassifier):
    """The base of networks with several class variables.

    Parameters
    ----------
    loss : {"hamming", "subset"}
        What predictions minimise: the number of wrong labels (each class variable gets its most probable label),
        or whether any is wrong (all get the labels that are jointly the most probable).
    prior : float, "mle", "backoff" or Prior
        For the parameters: a number is the Dirichlet alpha of every cell of every table. With ``"backoff"``, tables
        with features as parents are shrunk towards those given the classes alone, see :class:`bntk.priors.Backoff`.
    numeric : str or mapping
        How columns of numbers are modelled. ``"auto"``: at most ten different whole numbers are states as they are;
        other numbers are cut as by ``"mdl"``, the supervised method of Fayyad and Irani, with the cuts of all class
        variables together; ``"width"`` and ``"frequency"`` cut them into ``n_bins`` intervals, ``"category"`` makes
        each number a state, and ``"bernoulli"`` only distinguishes numbers above zero from others. A mapping chooses
        for each column, and may give cut points. A :class:`bntk.Table` has states already, which are left as they are
        by default; where something else is asked for, those that are numbers are numbers.
    n_bins : int
        The number of intervals for ``"width"`` and ``"frequency"``.
    missing : {"marginal", "state"}
        How missing features are treated. ``"marginal"``: they are summed out in prediction, and a row counts for each
        table in which it is complete. ``"state"``: missing is one more state of each feature that has missing values in
        the training rows. Labels may be missing in ``fit``, too: a row then counts for each table in which it is
        complete.
    identifiers : {"drop", "keep"}
        What becomes of columns that identify rows rather than describe them: labels (not numbers) with more states than
        half their rows with a value, from 20 rows on, and dates and times. ``"drop"`` leaves them out, and names them
        in one warning; ``"keep"`` takes each value as a state. A column without any value is always left out.
    unseen : {"missing", "error"}
        Whether a state that did not occur in ``fit`` is treated as a missing value, with a warning, or is an error.
    max_entries : int
        The largest number of table entries per row for exact inference; where it would take more, loopy belief
        propagation is used. ``inference_`` says which.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        Seed of whatever is drawn at random. The same integer gives the same classifier, and None is the same as 0; from
        a generator, a seed is drawn in each ``fit``.
    n_jobs : int, optional
        The number of threads; by default that of :func:`bntk.set_threads`, and -1 for all cores.

    Attributes
    ----------
    classes_ : list of ndarray
        The labels of each class variable, sorted.
    labels_ : Labels
        The class variables: their names and labels.
    features_ : Features
        How columns become features: their states and cut points.
    inference_ : str
        How rows without missing features are answered.
    """

    loss: str = "hamming"
    prior: Prior | str | float = 1.0
    numeric: str | Mapping[str, Any] = "auto"
    n_bins: int = 10
    missing: str = "marginal"
    identifiers: str = "drop"
    unseen: Unseen = "missing"
    max_entries: int = 1 << 20
    random_state: RandomState = 0
    n_jobs: int | None = None

    _state: ClassVar[dict[str, Any]] = {"labels_": Labels, "features_": Features}
    _ways_of_missing: ClassVar[tuple[str, ...]] = ("marginal", "state")

    @abstractmethod
    def _learn(self, counter: TableCounter, n_features: int) -> None:
        """Learn from rows of the features and then the classes."""

    @abstractmethod
    def _learned(self) -> tuple[BayesianNetwork, Mixture | None]:
        """The network of the features and then the classes, and what takes the place of the classes' own tables."""

    # ---------------------------------------------------------------- learning

    def fit(self, X: Any, Y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), Table, mapping of columns, or array of shape (n_rows, n_features)
            Missing cells are allowed, see ``missing``.
        Y : data frame, Table, mapping of columns, or array_like of shape (n_rows, n_targets)
            Labels of any type, a column for each class variable; some may be missing.
        sample_weight : array_like of shape (n_rows,), optional
            One non-negative number per row: how often it counts. A row of weight 0 is as good as not there, and one of
            weight 2 is the row twice. Weights that sum to less than the number of rows (with a positive weight) are
            scaled up to it.
        """
        self._check_options()
        if is_dask_frame(X):
            (X, Y), sample_weight = DaskPartitions.of_classes(X, Y, sample_weight), None
        if isinstance(X, Partitions):
            from bntk.classifiers.streamed import fit_several

            with using_threads(self.n_jobs):
                return fit_several(self, X, Y, sample_weight)
        with using_threads(self.n_jobs):
            X, self.labels_, codes, weights, *_ = self._counted(X, Y, sample_weight)
            weights = None if weights is None else scaled_up(weights)
            self.classes_ = list(self.labels_.classes)
            numeric = _joint_cuts(X, self.numeric, codes, self.labels_, weights)
            nothing = np.zeros(codes.shape[1], dtype=np.int64)
            as_state = self.missing == "state"
            self.features_, rows = Features.learn(
                X, nothing, 1, weights, numeric, self.n_bins, as_state, self.identifiers
            )
            self._class_variables = self.labels_.variables(self.features_.names)
            self._learn(TableCounter(self._with_labels(rows.table, codes), weights), len(self.features_.variables))
            self._make_ready()
        return self

    def _with_labels(self, features: Table, labels: Codes) -> Table:
        """Rows of the features and then the classes."""
        variables = (*self.features_.variables, *self._class_variables)
        codes = np.empty((len(variables), features.n_rows), dtype=code_dtype(variables))
        codes[: len(features.codes)], codes[len(features.codes) :] = features.codes, labels
        return Table._make(codes, variables)

    def _find(self, counter: TableCounter, criterion: str | Score, space: Space, search: str | Search) -> SearchResult:
        """A structure of the space; by default part by part."""
        space.check()
        rule = score_for(by_name(criterion, "criterion"), counter)
        if isinstance(search, str) and search == "auto" and isinstance(counter, PartitionCounter):
            return learn_structure(counter, rule, space, SubgraphSearch(), seed=seed_of(self.random_state))
        if isinstance(search, str) and search == "auto":
            evaluator = rule.evaluator(counter)
            evaluator.limit_tables(search_limit(len(counter.names)))
            return SubgraphSearch().run(evaluator, space, seed=seed_of(self.random_state))
        return learn_structure(counter, rule, space, search, seed=seed_of(self.random_state))

    def _make_ready(self) -> None:
        network, mixture = self._learned()
        classes = range(len(self.features_.variables), len(network.names))
        self._posterior = TargetPosterior(network, classes, self.max_entries, mixture)
        self.inference_ = self._posterior.describe()

    def _restore(self) -> None:
        super()._restore()
        self._check_options()
        self._check_columns(self.features_.names)
        if self.features_.continuous:
            raise DataError("the features of several class variables must be discrete")
        self.classes_ = list(self.labels_.classes)
        self._class_variables = self.labels_.variables(self.features_.names)

    def _check_network(self, network: BayesianNetwork) -> None:
        """Refuse a network that was read from a file if it is about other variables."""
        n_features = len(self.features_.variables)
        if network.variables != (*self.features_.variables, *self._class_variables):
            raise DataError("the variables of the network are not the features and, last, the classes")
        if any(u < n_features for parents in network.dag.parent_indices[n_features:] for u in parents):
            raise DataError("a feature is a parent of a class")

    def _check_options(self) -> None:
        _checking.one_of("missing", self.missing, self._ways_of_missing)
        _checking.one_of("loss", self.loss, ("hamming", "subset"))

    @property
    def _prior(self) -> Prior:
        """The prior of the parameters, which knows the class variables."""
        return as_prior(self.prior).given_class(self._class_variables)

    # ---------------------------------------------------------------- predicting

    def log_joint(self, X: Any, Y: Any) -> Floats:
        """The log of the joint probability of the labels and the observed features of each row.

        Missing features and labels are summed out. By loopy belief propagation it is an estimate, see ``inference_``.
        """
        with using_threads(self.n_jobs):
            features, labels = self._features(X), self.labels_.encode(Y)
            if labels.shape[1] != features.n_rows:
                raise ValueError(f"X has {features.n_rows:,} rows, but Y has {labels.shape[1]:,}")
            return self._posterior.log_likelihood(self._with_labels(features, labels).codes)

    def _features(self, X: Any) -> Table:
        check_is_fitted(self)
        return self.features_.read(self._checked_rows(X, reset=False), self.unseen).table

    def _read(self, X: Any) -> Codes:
        """Codes of the features and then the classes, all of which are missing."""
        return self._with_labels(self._features(X), np.array(self.labels_.cards)[:, None]).codes

    def _predict(self, rows: Codes) -> Codes:
        if self.loss == "subset":
            return self._posterior.most_probable(rows)
        return np.array([table.argmax(axis=1) for table in self._posterior.marginals(rows)])

    def _probabilities(self, rows: Codes) -> list[Floats]:
        return self._posterior.marginals(rows)

    def _joint(self, rows: Codes) -> Floats:
        return normalised(self._posterior.log_joint_table(rows), axis=1)


def refuse_ways_of_one_class(numeric: str | Mapping[str, Any]) -> None:
    """Refuse ways with numbers that are for one class variable."""
    asked = list(numeric.values()) if isinstance(numeric, Mapping) else [numeric]
    kept = [way for way in asked if isinstance(way, str) and (way in (*CONTINUOUS, *BY_RULE) or smooth_way(way))]
    if kept:
        raise ValueError(
            f"numeric={kept[0]!r} is for one class variable; cut the numbers here: 'mdl', 'frequency' or 'width'"
        )


def _joint_cuts(X: Any, numeric: str | Mapping[str, Any], codes: Codes, labels: Labels, weights: Floats | None) -> Any:
    """``numeric`` with the cut points of ``"mdl"`` in place of that word: those of each class variable, together."""
    refuse_ways_of_one_class(numeric)
    if leaves_states(X, numeric) or (isinstance(numeric, str) and numeric not in ("auto", "mdl")):
        return numeric
    columns = columns_of(X)
    numbers = columns_of_numbers(columns)
    ways = ways_of(numeric, columns, numbers, weights=weights)
    names = [name for name, way in ways.items() if isinstance(way, str) and way == "mdl"]
    if not names:
        return ways
    cuts = joint_cuts([numbers[name] for name in names], codes, labels.cards, weights)
    return {**ways, **dict(zip(names, cuts, strict=True))}

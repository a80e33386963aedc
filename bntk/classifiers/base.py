"""The base of all classifiers: reading X and y, the class prior, and everything that derives from the class log scores.

A classifier says how it learns (:meth:`BayesClassifier._learn`) and what the log joint of each class is in a row
(:meth:`BayesClassifier._log_scores`); labels, probabilities, decisions by cost and the rest are written once, here.
Most are networks, see :class:`NetworkClassifier`: they say which structures are legal, and the rest is a search.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from bntk._checking import Check, is_whole, numbers, wrong
from bntk._declared import CLASSIFIERS
from bntk._documenting import complete_docstring
from bntk._interrupts import raising_interrupts
from bntk._memory import says_what_to_do
from bntk._threads import using_threads
from bntk.classifiers.class_weights import refuse_balanced, with_class_weight
from bntk.classifiers.densities import Density, Gaussian, KernelDensities, Multinomial, check_densities, fit_densities
from bntk.classifiers.family_terms import FamilyTerms, family_terms
from bntk.classifiers.features import ClassColumn, Features, Rows, leaves_states
from bntk.classifiers.interpolation import average, interpolated, interpolated_by_terms
from bntk.classifiers.parameters import check_parameters
from bntk.classifiers.partitions import also_lazily
from bntk.classifiers.random_state import RandomState, seed_of
from bntk.classifiers.unlabelled import UnlabelledRows, refuse_parents
from bntk.classifiers.unsaved import Unsaved, refuse_unsaved
from bntk.cpt import CPT
from bntk.data.coding import check_column_names, declared_order
from bntk.data.columns import code_column, named_for_sklearn
from bntk.data.dask_frames import is_dask_frame
from bntk.data.numbers import SMOOTH, averaged_ways
from bntk.data.table import Table, Unseen, code_dtype
from bntk.data.variable import State, Variable, format_states, is_missing, names_of
from bntk.data.weights import checked_weights, scaled_up
from bntk.errors import ArgumentError, DataError
from bntk.graph.dag import DAG
from bntk.inference.rows import log_joint_rows
from bntk.learning.counts import DaskPartitions, Partitions, TableCounter
from bntk.learning.learn import learn_structure
from bntk.learning.parameters import fit, updated
from bntk.learning.priors import Backoff, Dirichlet, Prior, as_prior
from bntk.learning.scores import Accuracy, LogLikelihood, PredictiveScore, Score, by_name
from bntk.learning.scores.leaving_out import one_by_one
from bntk.learning.search import Search, SearchResult
from bntk.learning.search.stepwise import StepwiseSearch
from bntk.learning.space import Space
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

    from bntk.classifiers.explain import Explanations
    from bntk.explore import ExplorerView

Floats = NDArray[np.float64]

#: The number of folds in which a search by steps judges them.
FOLDS = 10
#: What stands for an infinite logarithm where numbers have to be finite.
LARGEST_LOG = 1e10


class RowReader(ClassifierMixin, BaseEstimator):
    """The base of all classifiers: a scikit-learn estimator that takes data of any kind, with missing values."""

    #: Its name in the command; the first line of the docstring describes it. A class with a name can be saved.
    name: ClassVar[str]
    features_: Features
    #: The models that are averaged, where there are several.
    members_: list[Any]

    #: What a fitted classifier consists of: its attributes that are written to files, and their types. Those whose
    #: type has None may be absent. Classes below add theirs; what can be worked out again (``_restore``) is not named.
    _state: ClassVar[dict[str, Any]] = {"n_features_in_": int, "feature_names_in_": NDArray[np.object_] | None}
    #: Parameters without which it cannot predict; any other that a file cannot hold is left out.
    _needed_to_predict: ClassVar[tuple[str, ...]] = ()
    #: What parameters may be, by name, where that is not what :mod:`bntk.classifiers.parameters` has for the name.
    _checks: ClassVar[Mapping[str, Check]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        complete_docstring(cls)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the fitted classifier to one file, ``.json`` or ``.json.gz``; :func:`bntk.load` reads it.

        What is read back predicts, explains and goes on learning (``partial_fit``) exactly as before. If writing fails,
        a file of that name stays as it was. A parameter that a file cannot hold, such as a score of your own, is left
        out if only ``fit`` needs it; ``fit`` then requires it. An estimator of another package inside the classifier
        is refused, and so is a class of your own without a ``name``.

        Parameters
        ----------
        path : str or path
        force : bool
            Whether a file of more than 100 MB, before it is compressed, is written; by default that is refused, with
            the size and the largest tables.

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

        save(self, path, force=force)

    def plot(self, given: Mapping[str, Any] | None = None, **options: Any) -> Axes:
        """Draw the network of the fitted classifier, with its class in colour; with evidence, also posteriors.

        It is for classifiers that have a ``network_``; others say which of their parts can be drawn.

        Parameters
        ----------
        given : mapping of variable to finding, optional
            Evidence; ``{}`` shows the marginals.
        **options
            Those of :meth:`bntk.BayesianNetwork.plot`, such as ``strengths="mi"``, ``ax`` and ``title``.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> import bntk
        >>> rows = bntk.datasets.asia().sample(200, seed=1).to_pandas()
        >>> axes = bntk.TAN().fit(rows.drop(columns="dysp"), rows["dysp"]).plot(strengths="mi")
        """
        from bntk.viz.classifier import plot_classifier

        return plot_classifier(self, given, **options)

    def explore(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        target: str | None = None,
        given: Mapping[str, Any] | None = None,
        soft: Mapping[str, Any] | None = None,
        title: str | None = None,
        max_entries: int | None = None,
    ) -> ExplorerView | Path:
        """The network of the fitted classifier as a page to ask, with its class as the target.

        It is for classifiers whose predictions are the posteriors of one network (``network_``). Features that were
        numbers take numbers in the page.

        Parameters
        ----------
        path : str or path, optional
            The file to write, ``.html``; without one, the page is shown in a notebook.
        target : str, optional
            Another target than the class; of several classes, the first is the default.
        given, soft : mapping, optional
            The findings to begin with, see :meth:`bntk.BayesianNetwork.query`.
        title : str, optional
            The title of the page.
        max_entries : int, optional
            See :meth:`bntk.BayesianNetwork.explore`.

        Returns
        -------
        bntk.explore.ExplorerView, or with a path the path

        Examples
        --------
        >>> import bntk
        >>> rows = bntk.datasets.asia().sample(200, seed=1).to_pandas()
        >>> bntk.TAN().fit(rows.drop(columns="dysp"), rows["dysp"]).explore(given={"lung": "yes"})
        Explorer of 8 variables, given lung='yes'
        """
        from bntk.explore.explorer import explore_classifier

        options = {"target": target, "given": given, "soft": soft, "title": title, "max_entries": max_entries}
        found: ExplorerView | Path = explore_classifier(self, path, options)
        return found

    def _restore(self) -> None:
        """After a file was read: refuse parts that do not fit together, which kernels would trust; make the rest."""

    def _check_columns(self, names: tuple[str, ...]) -> None:
        """Refuse columns of X, read from a file, other than those that the parts are about."""
        given = getattr(self, "feature_names_in_", names)  # columns of an array have none
        if self.n_features_in_ != len(names) or given is None or [str(name) for name in given] != list(names):
            raise DataError(f"the columns of X are not the {len(names)} features {list(names)[:8]}")

    def _checked_rows(self, X: Any, reset: bool) -> Any:
        """X with its number and names of columns checked; lists as an array, data frames and tables as they are."""
        if reset and Unsaved in map(type, vars(self).values()):
            refuse_unsaved(vars(self))
        if reset:
            check_parameters(self)
        if is_dask_frame(X):
            raise DataError(
                f"{type(self).__name__} takes rows in memory here, not a Dask DataFrame: give it X.compute(), or one "
                "partition after the other"
            )
        if isinstance(X, Partitions):
            self._refuse_scan(reset)
        if isinstance(X, (Table, Mapping)) and not issparse(X):  # one sparse format is a mapping
            names = list(X.names if isinstance(X, Table) else X)
            if reset:
                self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
            elif names != list(getattr(self, "feature_names_in_", self.features_.names)):
                raise DataError(f"X has the columns {names}; the classifier was fitted with {self.features_.names}")
            return X
        if _is_frame(X):
            if hasattr(X, "iloc"):  # other libraries have no frames with two columns of one name
                check_column_names([str(name) for name in X.columns])
            validate_data(self, named_for_sklearn(X), skip_check_array=True, reset=reset)
            if not len(X):
                raise ValueError("Found array with 0 sample(s): X has no rows, but a minimum of 1 is required.")
            return X
        if issparse(X):
            return self._checked_sparse(X, reset)
        X = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=reset)
        return _numbers_where_possible(X)

    def _checked_sparse(self, X: Any, reset: bool) -> Any:
        """A sparse matrix with its number of columns checked, by rows; most classifiers refuse it."""
        from bntk.classifiers.sparse import refuse_sparse

        raise refuse_sparse(X, type(self).__name__, getattr(self, "numeric", None))

    def _refuse_scan(self, reset: bool) -> None:
        """Refuse rows that are read in passes."""
        from bntk.learning.search.in_passes import needs_rows

        if reset:
            raise needs_rows(type(self).__name__, "NaiveBayes, TAN, KDB or AODE, and of several classes MDBNC or AMODE")
        raise ArgumentError(
            "predictions and partial_fit look at single rows, which a scan does not keep in memory: give them batch by "
            "batch"
        )

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


class CountedRows(NamedTuple):
    """Rows that count, which are those of a positive weight.

    Attributes
    ----------
    X : data
    labels : ClassColumn
    weights : ndarray, optional
        None where all rows count once.
    places : ndarray of int, optional
        Where they are among the rows that were given; None where all rows count.
    n_given : int
        The number of rows that were given.
    """

    X: Any
    labels: ClassColumn
    weights: Floats | None
    places: NDArray[np.intp] | None
    n_given: int

    def take(self, rows: NDArray[np.intp]) -> CountedRows:
        """Some of these rows, as if no others had been given; a row may be taken more than once."""
        weights = None if self.weights is None else self.weights[rows]
        return CountedRows(_rows_of(self.X, rows), self.labels.take(rows), weights, None, len(rows))


@dataclass(kw_only=True, eq=False, repr=False)
class BayesClassifier(RowReader):
    """The base of all classifiers with one class variable.

    Parameters
    ----------
    prior : float, "mle", "backoff" or Prior
        The prior of the conditional probability tables. A number is added to every count (the Dirichlet parameter alpha
        of every cell; 1 is Laplace's rule), ``"mle"`` adds nothing. With ``"backoff"``, tables that have features as
        parents are shrunk towards those given the class alone, see :class:`bntk.priors.Backoff`; with ``"hdp"`` all
        tables are smoothed along the chain of their parents, the class first, see :class:`bntk.priors.HDP`. Where the
        structure is
        found by a score of predictions that is given by its name (``criterion="loo"``), this score adds the same number
        to every count: the ``alpha`` of a ``Backoff``, and 1 for priors without one. It does not shrink tables.
    class_prior : {"empirical", "uniform"}, array_like or mapping
        The probabilities of the classes: as in the training rows (smoothed by ``prior``), all equal, or given: in the
        order of ``classes_``, or by label.
    class_weight : "balanced", mapping or None
        How often a row of each class counts, by label; one that is not named counts once. It multiplies
        ``sample_weight``. ``"balanced"`` gives all classes the same sum of weights, and keeps the sum over all rows;
        ``partial_fit`` refuses it. Rows of a :func:`bntk.scan` or Dask DataFrame have a column of weights instead. If
        only the probabilities of the classes are to be others, and not how much their rows tell about the features,
        choose ``class_prior``; if errors cost differently, ``costs`` in ``predict``.
    numeric : str or mapping
        How columns of numbers are modelled. ``"auto"``: at most ten different whole numbers are states as they are;
        other numbers are cut and interpolated, as by ``"smooth"``. ``"smooth"`` cuts numbers into five intervals with
        about as many rows in each, and interpolates: probabilities of a number between the centres of two intervals are
        between theirs, and do not jump at a cut. ``"smooth:8"`` has eight intervals, ``"smooth:joint"`` those of
        ``"joint"``. ``"averaged"`` is the mean of three such models, with coarser and finer cuts. ``"mdl"`` cuts into
        intervals by the supervised method of Fayyad and Irani, ``"width"`` and ``"frequency"`` cut into ``n_bins``
        intervals, ``"joint"`` cuts at the thresholds of a decision tree over all columns, so that a column is also
        cut where it matters only together with others, and ``"hartemink"`` into ``n_bins`` intervals that keep much of
        the mutual information between the columns and the class (:func:`bntk.cuts.hartemink_cuts`); these five do not
        interpolate. ``"category"`` makes each number a state, and ``"bernoulli"`` only distinguishes numbers above zero
        from others. Given for all columns, ``"joint"``, ``"hartemink"``, ``"smooth"`` and ``"averaged"`` leave at most
        ten different whole numbers states, as ``"auto"``.
        ``"gaussian"`` and ``"kde"`` estimate a density given the class, ``"multinomial"`` treats the columns as counts
        of words. A mapping chooses for each column, and may give cut points. A :class:`bntk.Table` has states already,
        which are left as they are by default; where something else is asked for, those that are numbers are numbers.
    n_bins : int
        The number of intervals for ``"width"``, ``"frequency"`` and ``"hartemink"``.
    missing : {"marginal", "em", "state"}
        How missing values are treated. ``"marginal"``: they are summed out in prediction, and a row counts for each
        table in which it is complete. ``"em"``: the same, but the tables are estimated by EM from all observed values,
        which is slower, and unbiased also where it depends on other columns whether a value is missing. ``"state"``:
        missing is one more state of each feature that has missing values in the training rows; this is the fastest,
        and the most accurate where it is informative that a value is missing. Where labels are missing, too,
        ``"marginal"`` is the same as ``"em"``.
    identifiers : {"drop", "keep"}
        What becomes of columns that identify rows rather than describe them: labels (not numbers) with more states than
        half their rows with a value, from 20 rows on, and dates and times. ``"drop"`` leaves them out, and names them
        in one warning; ``"keep"`` takes each value as a state. A column without any value is always left out.
    unseen : {"missing", "error"}
        Whether a state that did not occur in ``fit`` is treated as a missing value, with a warning, or is an error.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        Seed of whatever is drawn at random. The same integer gives the same classifier, and None is the same as 0; from
        a generator, a seed is drawn in each ``fit``.
    n_jobs : int, optional
        The number of threads; by default that of :func:`bntk.set_threads`, and -1 for all cores.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted; the order of probabilities, costs and ``class_prior``.
    class_order_ : ndarray of shape (n_classes,)
        The class labels in the order that ``y`` declares, the lowest first: that of ordered categories (pandas), an
        Enum (polars) or an ordered variable (:class:`bntk.Table`). The same as ``classes_`` where none is declared. The
        states of the class variable in ``network_`` are in this order.
    features_ : Features
        How columns become features: their states and cut points.
    feature_importances_ : ndarray of shape (n_features,)
        How much each column of X tells about the class: numbers from 0 that sum to one.
    n_features_in_ : int
        The number of columns that ``fit`` was given.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of these columns, where they have names.
    members_ : list of classifiers
        With ``numeric="averaged"``, and numbers that are cut: the fitted classifiers whose probabilities are averaged.
        All other attributes are those of the first. Absent otherwise.
    """

    prior: Prior | str | float = 0.5
    class_prior: str | ArrayLike | Mapping[Any, float] = "empirical"
    class_weight: str | Mapping[Any, float] | None = None
    numeric: str | Mapping[str, Any] = "auto"
    n_bins: int = 10
    missing: str = "marginal"
    identifiers: str = "drop"
    unseen: Unseen = "missing"
    random_state: RandomState = 0
    n_jobs: int | None = None

    _state: ClassVar[dict[str, Any]] = {
        "classes_": NDArray[Any],
        "features_": Features,
        "densities_": tuple[Gaussian | Multinomial | KernelDensities, ...],
        "_class_variable": Variable,
        "members_": list[RowReader] | None,
    }
    #: Whether it learns from rows without a label.
    _takes_unlabelled: ClassVar[bool] = False
    #: Whether counts are all that it learns from, so that rows may be read in passes; else what to take then.
    _in_passes: ClassVar[bool | str] = "NaiveBayes, TAN, KDB or AODE"
    #: What ``numeric="auto"`` does with numbers that are not states.
    _cutting: ClassVar[str] = SMOOTH

    # ---------------------------------------------------------------- what a classifier has to define

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

    @says_what_to_do("take fewer columns or join rare states; NaiveBayes takes the least memory")
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows and their classes.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), Table, mapping of columns, or array of shape (n_rows, n_features)
            Missing values are allowed, see ``missing``. Rows that do not fit into memory are given by
            :func:`bntk.scan`, features and class together, or as a Dask DataFrame.
        y : array_like of shape (n_rows,)
            For a scan, the name of the column of classes; for a Dask DataFrame this, or a Dask Series with the same
            partitions.
            Labels of any type. The order that ordered categories declare is kept, see ``class_order_``. A network
            classifier takes rows whose label is missing (None, NaN, a null), too: its structure is found on the
            labelled rows, and its parameters are estimated by EM from all rows. Others refuse them. None if it has
            ``n_classes`` and no row has a label.
        sample_weight : array_like of shape (n_rows,), optional
            One non-negative number per row: how often it counts. A row of weight 0 is as good as not there, and one of
            weight 2 is the row twice. Weights that sum to less than the number of rows (with a positive weight) are
            scaled up to it. For a Dask DataFrame, the name of a column or a Dask Series.
        """
        with using_threads(self.n_jobs):
            if is_dask_frame(X):
                (X, y), sample_weight = DaskPartitions.of_classes(X, y, sample_weight), None
            if isinstance(X, Partitions):
                from bntk.classifiers.streamed import fit_one

                return fit_one(self, X, y, sample_weight)
            return self._fit_each(X, y, sample_weight, None)

    @says_what_to_do("take fewer columns or join rare states; NaiveBayes takes the least memory")
    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from more rows: their counts are added, exactly as if all rows had been given at once.

        The first call is a ``fit``. The states, the cut points and the structure that it found are kept by later calls:
        a state that did not occur in it is treated as missing, unless the column is categorical and declares it.
        Every row must have a label, and a classifier that was fitted by EM takes no more rows.

        Parameters
        ----------
        classes : array_like, optional
            All classes, where the rows of the first call do not have them all. Later calls may leave it out.
        sample_weight : array_like of shape (n_rows,), optional
            One non-negative number per row: how often it counts. Weights are never scaled here, unlike in ``fit``, as
            the sum over all calls is not known: weights that sum to one add a single row.
        """
        with using_threads(self.n_jobs):
            if not hasattr(self, "classes_"):
                return self._fit_each(X, y, sample_weight, classes, for_more=True)
            if "members_" in vars(self):
                for i, member in enumerate(self.members_):
                    with _telling_once(quiet=i > 0):
                        member.partial_fit(X, y, classes, sample_weight)
                return self._take_over(self.members_[0])
            if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
                raise ValueError(f"classes={classes!r} differ from those of the first call, {self.classes_.tolist()}")
            X = self._checked_rows(X, reset=False)
            X, labels, weights, *_ = self._counted(X, y, sample_weight, self.classes_, for_more=True)
            if labels.order is not None and self._ordered_classes(labels.order) != list(self._class_variable.states):
                raise ValueError(
                    f"y declares the order {format_states(labels.order)} of the classes, but in the first call it was "
                    f"{format_states(self._class_variable.states)}"
                )
            rows, codes = self._rows(X), self._sorted_states[labels.among(self.classes_)]
            more = [density.updated(rows.numbers, codes, weights) for density in self.densities_]
            self._add_rows(rows, codes, weights)
            self.densities_: tuple[Density, ...] = tuple(more)
            return self

    def _fit_each(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, classes: ArrayLike | None, for_more: bool = False
    ) -> Self:
        """Learn one model, or where ``numeric`` asks for several that are averaged, each of them."""
        self.__dict__.pop("members_", None)
        numeric = self._numeric_of(X)
        ways = averaged_ways(numeric) if isinstance(numeric, (str, Mapping)) else []
        if not ways:
            return self._fit(X, y, sample_weight, classes, for_more)
        seed = self._seed
        members: list[BayesClassifier] = []
        for numeric in ways:
            with _telling_once(quiet=bool(members)):
                member = clone(self).set_params(numeric=numeric, random_state=seed)
                members.append(member._fit(X, y, sample_weight, classes, for_more))
            if not member.features_.centres:  # no number is cut: the others would be the same
                return self._take_over(member)
        self._take_over(members[0]).members_ = members
        return self

    def _take_over(self, member: BayesClassifier) -> Self:
        """Take what a classifier of the same kind has learned."""
        own = {*self.get_params(deep=False)}
        self.__dict__.update({name: value for name, value in vars(member).items() if name not in own})
        return self

    def _fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, classes: ArrayLike | None, for_more: bool = False
    ) -> Self:
        """Learn; ``for_more`` says that rows are to be added later, which must be possible."""
        rows = self._counted(self._checked_rows(X, reset=True), y, sample_weight, classes, for_more)
        return self._fit_rows(rows, y, classes)

    def _fit_rows(self, counted: CountedRows, y: Any, classes: ArrayLike | None) -> Self:
        """Learn from the rows that count; their labels were read from ``y``, which has the name of the class."""
        X, labels, weights, *_ = counted
        self.classes_ = self._classes_of(labels) if classes is None else np.unique(np.asarray(classes))
        codes = labels.among(self.classes_)
        self.features_, rows = self._learn_features(X, codes, weights)
        order = labels.order if classes is None else declared_order(code_column("classes", classes)) or labels.order
        states = self.classes_.tolist() if order is None else self._ordered_classes(order)
        self._class_variable = Variable(_class_name(y, self.features_.names), states, ordered=order is not None)
        codes = np.append(self._sorted_states, len(self.classes_))[codes]
        self._learn_rows(rows, codes, weights)
        return self

    def _learn_features(self, X: Any, codes: NDArray[Any], weights: Floats | None) -> tuple[Features, Rows]:
        """What the columns are, and the rows read."""
        return Features.learn(
            X, codes, len(self.classes_), weights, self._numeric_of(X), self.n_bins, self.missing == "state",
            self.identifiers, self._cutting,
        )  # fmt: skip

    def _numeric_of(self, X: Any) -> Any:
        """What becomes of numbers in X: of those in a table, nothing by default."""
        return "auto" if leaves_states(X, self.numeric, type(self).numeric) else self.numeric

    def _classes_of(self, labels: ClassColumn) -> NDArray[Any]:
        """The classes: the labels that occur."""
        return labels.labels

    def _learn_rows(self, rows: Rows, codes: NDArray[np.int64], weights: Floats | None) -> None:
        """Learn from features and classes, by their codes among the states of the class variable."""
        self._learn(self._counter(rows, codes, weights))
        self.densities_ = ()
        if self.features_.continuous:
            self.densities_ = fit_densities(
                self.features_.continuous, rows.numbers, codes, len(self.classes_), weights, self._prior
            )

    def _add_rows(self, rows: Rows, codes: NDArray[np.int64], weights: Floats | None) -> None:
        """Take more features and classes into account."""
        self._add(self._counter(rows, codes, weights))

    def _counter(self, rows: Rows, codes: NDArray[np.int64], weights: Floats | None) -> TableCounter:
        """The rows with their classes, which come last."""
        variables = (*self.features_.variables, self._class_variable)
        both = np.empty((len(variables), len(codes)), dtype=code_dtype(variables))
        both[:-1], both[-1] = rows.table.codes, codes
        return TableCounter(Table._make(both, variables), weights)

    def _ordered_classes(self, order: Sequence[State]) -> list[State]:
        """The classes in a declared order, which may have others, too."""
        classes = self.classes_.tolist()
        unknown = [label for label in classes if label not in order]
        if unknown:
            raise ValueError(
                f"the class {unknown[0]!r} is not in the declared order of the classes, {format_states(order)}; declare"
                " all of them"
            )
        return [label for label in order if label in classes]

    @property
    def _sorted_states(self) -> NDArray[np.intp]:
        """The state of the class variable that each of ``classes_`` is.

        Whatever is learned has the classes in the order of the states of their variable, the declared one. What users
        give and get has them in the order of ``classes_``, as scikit-learn's scorers assume.
        """
        if not self._class_variable.ordered:
            return np.arange(len(self.classes_))
        return np.array([self._class_variable.code(label) for label in self.classes_.tolist()], dtype=np.intp)

    def _with_class_prior(self, cpt: CPT) -> CPT:
        """The class's table with the probabilities that ``class_prior`` sets, and the counts it has."""
        values = self._given_class_prior()
        if values is None:
            return cpt
        refuse_parents(names_of(cpt.parents))
        return CPT._trusted(cpt.child, values, (), cpt.counts)

    def _given_class_prior(self) -> Floats | None:
        """The probabilities that ``class_prior`` sets, in the order of the states; None for those of the rows."""
        chosen = self.class_prior
        if isinstance(chosen, str) and chosen == "empirical":
            return None
        k = len(self.classes_)
        if isinstance(chosen, str) and chosen != "uniform":
            raise ValueError(f"class_prior={chosen!r} is not known; give 'empirical', 'uniform' or {k} probabilities")
        if isinstance(chosen, Mapping):
            chosen = self._by_class("class_prior", chosen)
        values = np.full(k, 1.0 / k) if isinstance(chosen, str) else numbers("class_prior", chosen)
        if values.shape != (k,) or not (values >= 0).all() or not np.isclose(values.sum(), 1):
            raise ValueError(f"class_prior must be {k} probabilities that sum to 1, one for each class; got {chosen!r}")
        by_state = values[np.argsort(self._sorted_states)]
        return np.asarray(by_state / by_state.sum())

    def _by_class(self, what: str, given: Mapping[Any, Any]) -> list[Any]:
        """The values of a mapping from the classes, in the order of ``classes_``."""
        classes = self.classes_.tolist()
        unknown = [label for label in given if label not in classes]
        lacking = [label for label in classes if label not in given]
        if unknown or lacking:
            wrong = f"{unknown[0]!r} is no class" if unknown else f"{lacking[0]!r} is lacking"
            raise ValueError(f"{what}: {wrong}; give a value for each of {format_states(classes)}")
        return [given[label] for label in classes]

    @property
    def _prior(self) -> Prior:
        """The prior of the parameters, which knows the class variable."""
        return as_prior(self.prior).given_class((self._class_variable,))

    @property
    def _seed(self) -> int:
        """The seed of whatever is drawn."""
        given = self.random_state
        return given if type(given) is int and given >= 0 else seed_of(given)

    @property
    def target_name_(self) -> str:
        """The name of the class variable: that of ``y`` where it had one, else ``class``."""
        check_is_fitted(self)
        return self._class_variable.name

    @property
    def class_order_(self) -> NDArray[Any]:
        """The class labels in the order that ``y`` declares, the lowest first; by default that of ``classes_``."""
        check_is_fitted(self)
        return self.classes_[np.argsort(self._sorted_states)]

    def _restore(self) -> None:
        super()._restore()
        self._check_columns(self.features_.names)
        if not np.array_equal(np.unique(self.classes_), self.classes_) or not len(self.classes_):
            raise DataError("the classes are not sorted, or one is there twice")
        variable, place = self._class_variable, {label: k for k, label in enumerate(self.classes_.tolist())}
        states = sorted(variable.states, key=lambda s: place.get(s, -1)) if variable.ordered else variable.states
        if Variable(variable.name, states) != Variable(variable.name, place):
            raise DataError(f"the states of the class variable are not the classes {self.classes_.tolist()[:8]}")
        if self._class_variable.name in self.features_.names:
            raise DataError(f"{self._class_variable.name!r} is both a feature and the class")
        check_densities(self.densities_, self.features_.continuous, len(self.classes_))
        if "members_" in vars(self):
            self._check_members(self.members_)

    def _check_members(self, members: Sequence[Any]) -> None:
        """Refuse models, read from a file, that have no mean."""
        if not members or {type(member) for member in members} != {type(self)}:
            raise DataError(f"the models that are averaged are not all of the class {type(self).__name__}")
        for member in members:
            check_is_fitted(member)
            same = member.features_.names == self.features_.names and member._class_variable == self._class_variable
            if "members_" in vars(member) or not same or not np.array_equal(member.classes_, self.classes_):
                raise DataError("the models that are averaged have other features or classes")

    # ---------------------------------------------------------------- predicting

    @also_lazily
    def log_joint(self, X: Any) -> Floats:
        """The log of the joint probability of each class and the observed features of a row, shape (n_rows, n_classes).

        Missing values are summed out. Where numbers are modelled by densities it is a log density. Where they are
        interpolated or averaged, it is the log of P(class | features), as ``predict_proba`` has it, times the mean of
        P(features).
        """
        with using_threads(self.n_jobs):
            return self._class_scores(X)

    def _class_scores(self, X: Any) -> Floats:
        """The log joint in the order of ``classes_``."""
        scores = self._state_scores(X)
        return scores[:, self._sorted_states] if self._class_variable.ordered else scores

    def _state_scores(self, X: Any) -> Floats:
        """The log joint in the order of the states of the class variable."""
        scores = [model._row_scores(rows) for model, rows in self._readings(X)]
        return scores[0] if len(scores) == 1 else average(scores)

    def _readings(self, X: Any) -> list[tuple[BayesClassifier, Rows]]:
        """The models whose probabilities are averaged, or the only one, and the rows as each of them reads them."""
        found: list[tuple[BayesClassifier, Rows]] = []
        for model in vars(self).get("members_", [self]):
            with _telling_once(quiet=bool(found)):
                found.append((model, model._read(X)))
        return found

    def _row_scores(self, rows: Rows) -> Floats:
        """The log joint of rows that are read, with numbers between intervals interpolated."""
        densities = self._log_densities(rows)
        if rows.places is None:
            return np.asarray(self._log_scores(rows.table) + densities)
        return self._between_intervals(rows, densities)

    def _between_intervals(self, rows: Rows, added: Floats | float) -> Floats:
        """The log joint of rows with numbers between intervals, to which something may be added."""
        return interpolated(self._log_scores, rows, added)

    @also_lazily
    @says_what_to_do("predict fewer rows at a time")
    def predict_log_proba(self, X: Any) -> Floats:
        """The log of the probability of each class in each row, shape (n_rows, n_classes)."""
        with using_threads(self.n_jobs):
            scores = self._class_scores(X)
        top = scores.max(axis=1, keepdims=True)
        impossible = ~np.isfinite(top[:, 0])
        if impossible.any():  # a row that no class can explain says nothing about the class
            scores[impossible], top[impossible] = 0.0, 0.0
        scores -= top
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return scores

    @also_lazily
    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class in each row, shape (n_rows, n_classes), in the order of ``classes_``.

        Missing values are summed out exactly; a row that is impossible in every class gets equal probabilities. All
        methods that predict give for a Dask DataFrame a lazy one with its index and partitions, whose columns are the
        classes; ``predict`` gives a Series.
        """
        return np.exp(self.predict_log_proba(X))

    @also_lazily
    def decision_function(self, X: Any) -> Floats:
        """Of two classes the log odds of the second one, shape (n_rows,); of others the log of each probability.

        The log odds are ``log P(classes_[1] | row) - log P(classes_[0] | row)``: above 0 where ``predict`` gives the
        second class, and not rounded where the probability is nearly 1, unlike those made of ``predict_proba``. What is
        infinite, because a probability is 0, is 1e10 with its sign: scikit-learn's scores refuse infinity.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            In the order of ``classes_``.
        """
        log_proba = self.predict_log_proba(X)
        values = log_proba[:, 1] - log_proba[:, 0] if len(self.classes_) == 2 else log_proba
        return np.clip(values, -LARGEST_LOG, LARGEST_LOG)

    @also_lazily
    def predict(self, X: Any, costs: ArrayLike | Mapping[Any, Mapping[Any, float]] | None = None) -> NDArray[Any]:
        """The most probable class of each row, or the one with the least expected cost.

        Parameters
        ----------
        costs : array_like of shape (n_classes, n_classes), or mapping, optional
            ``costs[i][j]`` is the cost of predicting class j where class i is true, in the order of ``classes_``; or
            by labels, as in ``{"ill": {"ill": 0, "well": 5}, "well": {"ill": 1, "well": 0}}``.

        Returns
        -------
        ndarray of shape (n_rows,)
            Ties are broken by the order of ``classes_``.
        """
        check_is_fitted(self)
        if costs is None:
            return self.classes_[np.argmax(self.predict_log_proba(X), axis=1)]
        if isinstance(costs, Mapping):
            rows = self._by_class("costs", costs)
            if not all(isinstance(row, Mapping) for row in rows):
                raise ValueError("costs by labels are a mapping of each true class to a mapping of predicted ones")
            costs = [
                self._by_class(f"costs of the true class {c!r}", r) for c, r in zip(self.classes_, rows, strict=True)
            ]
        matrix, k = numbers("costs", costs, "a table of numbers, true class by predicted class"), len(self.classes_)
        if matrix.shape != (k, k) or not np.isfinite(matrix).all():
            raise ValueError(f"costs must be a finite array of shape ({k}, {k}), true class by predicted class")
        return self.classes_[np.argmin(self.predict_proba(X) @ matrix, axis=1)]

    @property
    def feature_importances_(self) -> Floats:
        """How much each column of X tells about the class: numbers from 0 that sum to one, shape (n_features,).

        They are shares of mutual information: of a column and the class given the column's other parents, in the fitted
        model. See the page on scikit-learn for what this is where the class has parents, and for averages of networks.
        Columns that the model does not use have 0; if none tells anything, all have. The information of a column does
        not depend on the order of columns, and two copies of a column have the same, unless one is a parent of the
        other.
        """
        from bntk.classifiers.importances import mean_of, normalised

        check_is_fitted(self)
        models = vars(self).get("members_", [self])
        with using_threads(self.n_jobs):
            found = [model._information() for model in models]
        return normalised(mean_of(found, np.ones(len(models))), self.features_.names)

    def _information(self) -> dict[str, float]:
        """What each feature tells about the class, in nats; those that are not named tell nothing."""
        raise AttributeError(f"{type(self).__name__} does not define _information, how much each feature tells")

    def explain(self, X: Any, of: Any = None, against: Any = None) -> pd.DataFrame:
        """The contribution of each feature of one row to the log odds of one class against another.

        Parameters
        ----------
        X : data of one row
            Also a row of a data frame, ``frame.iloc[i]``.
        of, against : labels, optional
            By default the most probable class against the next.

        Returns
        -------
        data frame
            A row for the class prior and one for each feature, with the columns ``state`` and ``log_odds``; these sum
            to the log odds of the two classes. Features without effect are left out, the others are sorted by size.
        """
        from bntk.classifiers.explain import explain_row

        return explain_row(self, X, of, against)

    def explain_rows(self, X: Any, of: Any = None, against: Any = None) -> Explanations:
        """The contributions of each feature to the log odds of one class against another, for many rows at once.

        Each row is explained as :meth:`explain` does.

        Parameters
        ----------
        X : data
        of, against : labels, optional
            By default, in each row, its most probable class against the next. To compare rows, name one or both.

        Returns
        -------
        bntk.classifiers.explain.Explanations
            With ``log_odds`` and ``states``, a row for each row of X and a column for each feature, ``row(i)``,
            ``to_frame()``, ``mean_abs`` and ``plot()``.

        Examples
        --------
        >>> import bntk
        >>> rows = bntk.datasets.asia().sample(200, seed=1).to_pandas()
        >>> X, y = rows.drop(columns="dysp"), rows["dysp"]
        >>> bntk.TAN().fit(X, y).explain_rows(X.head(3), of="yes").log_odds[["dysp", "bronc"]].round(2)
           dysp  bronc
        0 -0.18   2.09
        1 -0.18  -2.16
        2 -0.18   2.09
        """
        from bntk.classifiers.explain import explain_rows

        return explain_rows(self, X, of, against)

    def _log_densities(self, rows: Rows) -> Floats | float:
        return sum((d.log_density(rows.numbers) for d in self.densities_), start=0.0)

    def _read(self, X: Any) -> Rows:
        check_is_fitted(self)
        return self._rows(self._checked_rows(X, reset=False))

    def _rows(self, X: Any) -> Rows:
        """Rows of X, which is checked already, as codes and numbers."""
        return self.features_.read(X, self.unseen)

    # ---------------------------------------------------------------- checking what is given

    def _counted(
        self, X: Any, y: Any, sample_weight: Any, classes: ArrayLike | None = None, for_more: bool = False
    ) -> CountedRows:
        """The rows that count and their labels, of which there may be more ``classes`` in other rows.

        ``for_more`` says that rows may be added, so that weights are taken as they are.
        """
        labels, n_rows = self._read_labels(X, y), _n_rows(X)
        if len(labels) != n_rows:
            raise ValueError(
                f"X has {n_rows:,} rows, but y has {len(labels):,} labels: inconsistent numbers of samples"
            )
        weights = self._times_class_weight(labels, sample_weights(sample_weight, n_rows), classes, for_more)
        weights = weights if weights is None or for_more else scaled_up(weights)
        places = None if weights is None or weights.all() else np.flatnonzero(weights)
        if weights is not None and places is not None:  # as if the others were not there, for states and cuts, too
            X, labels, weights = _rows_of(X, places), labels.take(places), weights[places]
        if not labels.is_complete and (for_more or not self._takes_unlabelled):
            row = int(np.argmin(labels.known))
            raise _missing_label(self, row if places is None else int(places[row]), for_more)
        return CountedRows(X, labels, weights, places, n_rows)

    @property
    def _class_weight(self) -> str | Mapping[Any, float] | None:
        """The weights of classes that count, which may be those of an estimator inside."""
        return self.class_weight

    def _times_class_weight(
        self, labels: ClassColumn, weights: Floats | None, classes: ArrayLike | None, for_more: bool
    ) -> Floats | None:
        given = self._class_weight
        if for_more:
            refuse_balanced(given)
        others = [] if classes is None else np.asarray(classes).tolist()
        return with_class_weight(given, labels.labels.tolist(), labels.codes, weights, others)

    def _read_labels(self, X: Any, y: Any) -> ClassColumn:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        return ClassColumn.read(y)


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkClassifier(BayesClassifier):
    """A classifier that is one Bayesian network: a space of legal structures, a score, and a search.

    A class that derives from it says which structures are legal, in ``_space(features, target)``, and may have the
    parameters ``criterion`` and ``search``.

    Parameters
    ----------
    n_classes : int, optional
        The number of classes where no row has a label (``y`` is None, or all of its labels are missing): the classes
        0, 1, ... are then found by EM, which makes the classifier a cluster model. Not needed where ``y`` declares its
        classes, as categories do.

    Attributes
    ----------
    network_ : BayesianNetwork
        The network over the discrete features and the class; it answers any query, not only for the class. If labels
        were missing, its ``report`` is the :class:`~bntk.learning.em.EMResult`, with the iterations of EM.
    dag_ : DAG
        The structure of ``network_``.
    search_ : SearchResult
        How the structure was found, and its score.
    features_in_use_ : list of str
        The features on which the class depends when all others are known, and the continuous ones.
    target_name_ : str
        The name of the class variable: that of ``y`` where it has one, else ``class``.
    """

    prior: Prior | str | float = "backoff"
    n_classes: int | None = None

    _takes_unlabelled: ClassVar[bool] = True
    _state: ClassVar[dict[str, Any]] = {
        "network_": BayesianNetwork,
        "search_": SearchResult,
    }
    #: Whether the class log scores are those of ``network_``, so that they are a sum over its families.
    _is_additive: ClassVar[bool] = True

    @abstractmethod
    def _space(self, features: tuple[str, ...], target: str) -> Space:
        """Which structures are legal."""

    def _own_search(self, name: str) -> Search | None:
        """The search that the classifier has this name for; None if it has no name of its own."""
        return None

    def _chosen_search(self) -> str | Search:
        search: str | Search = getattr(self, "search", "auto")
        return self._own_search(search) or search if isinstance(search, str) else search

    def _default_score(self, counter: TableCounter) -> Score:
        """The score that suits the search: accuracy in folds where it goes by steps, which it judges well."""
        if not isinstance(self._chosen_search(), StepwiseSearch):
            return LogLikelihood()
        folds = FOLDS if one_by_one(counter).n_rows > FOLDS else "loo"
        return Accuracy(folds=folds, prior=self._alpha, seed=self._seed)

    def _given_score(self, criterion: str | Score) -> Score:
        """The criterion; a predictive score that is given by its name has the pseudo-count of the classifier."""
        score = by_name(criterion, "criterion")
        if isinstance(criterion, str) and isinstance(score, PredictiveScore):
            return replace(score, **{score._pseudo_count_field: self._alpha})  # type: ignore[type-var]
        return score

    @property
    def _alpha(self) -> float:
        """The pseudo-count of a predictive score: that of the prior, where it has one number for all cells, else 1."""
        match self._prior:
            case Dirichlet(value=float(alpha) | int(alpha)) | Backoff(alpha=alpha) if alpha > 0:
                return float(alpha)
        return 1.0

    def _find_structure(self, counter: TableCounter) -> SearchResult:
        """The structure; by default what the search finds in the space by the score."""
        *features, target = counter.names
        given: str | Score | None = getattr(self, "criterion", None)
        score = self._default_score(counter) if given is None else self._given_score(given)
        space = self._space(tuple(features), target)
        return learn_structure(counter, score.with_target(target), space, self._chosen_search(), seed=self._seed)

    def _structure(self, counter: TableCounter) -> SearchResult:
        """The structure that is found for features with several states; the others have no arcs."""
        *features, target = counter.variables
        varied = [v.name for v in features if v.n_states > 1]
        if len(varied) == len(features) or not varied:
            return self._find_structure(counter)
        found = self._find_structure(counter.select([*varied, target.name]))
        return replace(found, dag=DAG(counter.names, found.dag.arcs))

    def _learn(self, counter: TableCounter) -> None:
        self.search_ = self._structure(counter)
        # EM is only for what it can change.
        missing = "em" if self.missing == "em" and counter.incomplete else "available"
        with raising_interrupts(self.search_.interrupted):  # a second one always raises
            network = fit(self.search_.dag, counter, self._prior, missing=missing)
        self._hold(network)

    def _learn_rows(self, rows: Rows, codes: NDArray[np.int64], weights: Floats | None) -> None:
        if codes.max(initial=0) < len(self.classes_):
            super()._learn_rows(rows, codes, weights)
            return
        table, continuous = self._counter(rows, codes, weights).table, self.features_.continuous
        unlabelled = UnlabelledRows(table, rows.numbers, weights, continuous, self._prior, self._given_class_prior())
        with raising_interrupts():  # EM, a search, and EM again
            self.search_, learned = unlabelled.learn(self._structure, self._seed)
        self._hold(learned.network)
        self.densities_ = learned.densities

    def _read_labels(self, X: Any, y: Any) -> ClassColumn:
        if y is None and self.n_classes is not None:
            return ClassColumn.unlabelled(_n_rows(X))
        return super()._read_labels(X, y)

    def _classes_of(self, labels: ClassColumn) -> NDArray[Any]:
        """The labels that occur; without any, those that ``y`` declares, or numbers."""
        k, found = self.n_classes, labels.labels if len(labels.labels) else labels.declared
        if found is None:
            if k is None:
                raise ValueError(
                    "Input y contains NaN or None in every row: no row has a class. To look for classes, give their "
                    f"number, {type(self).__name__}(n_classes=2), or declare them: pd.Categorical(y, ['a', 'b'])"
                )
            return np.arange(k)
        if k is not None and k != len(found):
            raise ValueError(
                f"n_classes={k}, but y has {len(found)} classes: {format_states(found.tolist())}; n_classes is for "
                "rows without any label: leave it out"
            )
        return found

    def _add(self, counter: TableCounter) -> None:
        if self.network_.prior is None:
            raise ValueError(
                f"this {type(self).__name__} was fitted by EM, because labels or cells were missing: more rows would "
                "change what is expected of the earlier ones; fit all rows together"
            )
        self._hold(updated(self.network_, counter))

    def _hold(self, network: BayesianNetwork) -> None:
        """Take a fitted network, with the class prior that ``class_prior`` sets."""
        *others, last = network.cpts
        network = network._with_cpts([*others, self._with_class_prior(last)])
        self.network_ = network._with_report(network.report or self.search_)

    def _restore(self) -> None:
        super()._restore()
        variables = (*self.features_.variables, self._class_variable)
        if self.network_.variables != variables:
            raise DataError("the variables of the network are not the features and, last, the class")
        self.network_ = self.network_._with_report(self.search_)

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

    def _information(self) -> dict[str, float]:
        from bntk.classifiers.importances import in_densities, in_network

        network, target = self._informing_network(), self._class_variable.name
        found = in_network(network, network.dag.index(target))
        return found | (in_densities(self.densities_, network.query(target).values) if self.densities_ else {})

    def _informing_network(self) -> BayesianNetwork:
        """The network that says how much features tell about the class."""
        return self.network_

    def _log_scores(self, table: Table) -> Floats:
        return log_joint_rows(self.network_, self._with_open_class(table), len(self.network_.cpts) - 1)

    def _between_intervals(self, rows: Rows, added: Floats | float) -> Floats:
        return interpolated_by_terms(self._family_terms(), self._log_scores, rows, added)

    def _family_terms(self) -> FamilyTerms | None:
        """The terms whose sum is what :meth:`_log_scores` gives for a row; None where it is no such sum.

        A class that has its own log scores has its own terms as well, or none.
        """
        return family_terms(self.network_)

    def _with_open_class(self, table: Table) -> NDArray[Any]:
        """The codes of features with the class, missing everywhere, below them."""
        variables = self.network_.variables
        codes = np.empty((len(variables), table.n_rows), dtype=code_dtype(variables))
        codes[:-1], codes[-1] = table.codes, variables[-1].n_states
        return codes


@contextmanager
def _telling_once(quiet: bool) -> Iterator[None]:
    """Do not repeat for the second of several models the warnings about X and y that the first has given."""
    with catch_warnings() if quiet else nullcontext():
        if quiet:
            simplefilter("ignore", UserWarning)
        yield


# ---- small things about what users give ------------------------------------------------------------------------------


def _is_frame(X: Any) -> bool:
    import narwhals as nw

    return bool(nw.dependencies.is_into_dataframe(X))


def _numbers_where_possible(X: NDArray[Any]) -> NDArray[Any]:
    """An array of objects that are all numbers, as numbers."""
    if X.dtype.kind != "O":
        return X
    for value in X.flat:
        plain = isinstance(value, (str, bytes, int, float, bool, np.generic)) or hasattr(value, "isoformat")  # a date
        if not plain and not is_missing(value):
            raise ArgumentError(f"argument must be a string or a number, not {value!r}: every cell of X is one label")
    if any(isinstance(value, (str, bytes)) for value in X.flat) or _have_equal_floats(X):
        return X
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError):
        return X


def _have_equal_floats(X: NDArray[Any]) -> bool:
    """Whether two labels may be one float: of truth values and numbers, or of whole numbers beyond 2**53."""
    if any(is_whole(value) and abs(int(value)) > 2**53 for value in X.flat):
        return True
    kinds = [{isinstance(value, (bool, np.bool_)) for value in column if not is_missing(value)} for column in X.T]
    return any(len(of_column) > 1 for of_column in kinds)


def _missing_label(classifier: BayesClassifier, row: int, for_more: bool) -> ValueError:
    """The error for a row without a label, where every row must have one."""
    start = f"Input y contains NaN or None: the class of row {row} is missing; "
    leave = "leave such rows out (known = ~pd.isna(y); X[known], y[known])"
    if classifier._takes_unlabelled and for_more:
        return ValueError(start + f"partial_fit adds the counts of labelled rows: {leave}, or fit all rows together")
    able = [name for name, cls in CLASSIFIERS.load().items() if cls._takes_unlabelled]
    return ValueError(
        start + f"{type(classifier).__name__} learns from labelled rows only: {leave}, or use a classifier that learns "
        f"from them by EM: {', '.join(able)}"
    )


def sample_weights(given: Any, n_rows: int) -> Floats | None:
    """The weights of rows that an estimator was given, checked."""
    if given is None:
        return None
    given = numbers("sample_weight", given, "numbers, one for each row")
    weights = _check_sample_weight(given, np.empty((n_rows, 1)), dtype=np.float64, ensure_non_negative=True)
    weights = checked_weights(weights, n_rows, "sample_weight")
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number: a row of weight 0 is not there.")
    return weights


def _n_rows(X: Any) -> int:
    if issparse(X):
        return int(X.shape[0])
    first = next(iter(X.values()), ()) if isinstance(X, Mapping) else X
    if not hasattr(first, "__len__"):
        raise wrong("X", "a table of rows: a data frame, an array, a mapping of columns or a Table", X, DataError)
    return len(first)


def _rows_of(X: Any, rows: NDArray[np.intp]) -> Any:
    if isinstance(X, Table):
        return X.take(rows)
    if isinstance(X, Mapping):
        return {name: _rows_of(column, rows) for name, column in X.items()}
    if type(X).__module__.partition(".")[0] == "pyarrow":  # some versions of scikit-learn do not know it
        return X.take(rows)
    return _safe_indexing(X if hasattr(X, "__getitem__") else np.asarray(X), rows)


def _class_name(y: Any, features: tuple[str, ...]) -> str:
    """The name of y where it has one, else ``class``."""
    name = y.names[0] if isinstance(y, Table) else getattr(y, "name", None)
    name = name if isinstance(name, str) and name.strip() else "class"
    while name in features:
        name += "_"
    return name

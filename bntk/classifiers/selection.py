"""Selecting the features that matter for a target: its Markov blanket, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bntk import _checking
from bntk._memory import says_what_to_do
from bntk._warnings import warn
from bntk.classifiers.base import _is_frame, _numbers_where_possible, _rows_of
from bntk.classifiers.features import ClassColumn, Features
from bntk.classifiers.parameters import PARAMETERS
from bntk.data.columns import named_for_sklearn
from bntk.data.cuts import code_columns, learn_cuts
from bntk.data.table import Table
from bntk.data.variable import Variable
from bntk.data.weights import checked_weights, scaled_up
from bntk.learning.counts import TableCounter
from bntk.learning.independence import IndependenceTest
from bntk.learning.independence.tests import Oracle
from bntk.learning.search.blankets import GS, IAMB
from bntk.learning.search.mmpc import MMPC

_METHODS = ("iamb", "inter-iamb", "iamb-fdr", "gs", "mmpc")
# Numbers in y that are classes as they are: so many different whole ones.
_MOST_CLASSES = 10


class MarkovBlanketSelector(SelectorMixin, BaseEstimator):
    """Selects the Markov blanket of the target: given these features, all others are independent of it.

    A transformer that works in a pipeline before any estimator. Data frames stay data frames, with the columns that are
    selected; labels and missing values are allowed. For the tests, columns of numbers are cut as those of classifiers
    are; what is returned are the columns as they were given.

    Parameters
    ----------
    method : {"iamb", "inter-iamb", "iamb-fdr", "gs", "mmpc"}
        How the blanket is found: by one of the forms of :class:`bntk.search.IAMB`, by :class:`bntk.search.GS`, or, with
        ``"mmpc"`` (:class:`bntk.search.MMPC`), only the neighbours of the target.
    test : str, IndependenceTest or callable
        The test of independence, as in :func:`bntk.independence`.
    alpha : float
        A feature is taken as independent of the target where the p-value is above.
    max_given : int, optional
        The largest number of features given in a test.
    numeric : str or mapping
        How columns of numbers are cut, as for classifiers: by default, at most ten different whole numbers are states
        as they are, and others are cut by the method of Fayyad and Irani.
    n_bins : int
        The number of intervals where these have a fixed number, and of those of a target that is a number.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Which columns are selected.
    n_features_in_ : int
        The number of columns that ``fit`` was given.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where they have names.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(5000, seed=1).to_pandas()
    >>> selector = bntk.MarkovBlanketSelector(alpha=0.01).fit(rows.drop(columns="bronc"), rows["bronc"])
    >>> selector.get_feature_names_out().tolist()
    ['smoke', 'either', 'dysp']
    """

    def __init__(
        self,
        method: str = "iamb",
        test: str | IndependenceTest | Oracle = "mi",
        alpha: float = 0.05,
        max_given: int | None = None,
        numeric: str | Mapping[str, Any] = "auto",
        n_bins: int = 10,
    ) -> None:
        self.method = method
        self.test = test
        self.alpha = alpha
        self.max_given = max_given
        self.numeric = numeric
        self.n_bins = n_bins

    @says_what_to_do("take fewer columns or join rare states")
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MarkovBlanketSelector:
        """Find the Markov blanket of the target.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), Table, mapping of columns, or array of shape (n_rows, n_features)
            The features.
        y : array_like of shape (n_rows,)
            The target: labels, or numbers, of which more than ten different ones, or ones that are not whole, are cut
            into intervals with about the same number of rows. Rows without it are left out.
        sample_weight : array_like of shape (n_rows,), optional
            How often each row counts. Weights that sum to less than the number of rows (with a positive weight) are
            scaled up to it.
        """
        search = self._search()
        for name in ("numeric", "n_bins"):
            PARAMETERS[name](name, getattr(self, name))
        X = self._checked(_as_frame(X), reset=True)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X, y, weights = _counted(X, y if hasattr(y, "__len__") else np.asarray(y), sample_weight)
        codes, n_classes = _target(y, self.n_bins, weights)
        if (codes == n_classes).all():
            raise ValueError("the target y has no value in any row, so that no feature can be told to depend on it")
        features, rows = Features.learn(X, codes, n_classes, weights, self.numeric, self.n_bins, identifiers="keep")
        table, target = _with_target(rows.table, codes, n_classes)
        counter = TableCounter(table, weights)
        find = search.neighbors if isinstance(search, MMPC) else search.markov_blanket
        found = set(find(counter, target))
        self.support_ = np.array([name in found for name in features.names], dtype=bool)
        return self

    def _search(self) -> GS | IAMB | MMPC:
        """The search that finds the blanket."""
        _checking.one_of("method", self.method, _METHODS)
        options: dict[str, Any] = {"test": self.test, "alpha": self.alpha, "max_given": self.max_given}
        if self.method == "gs":
            return GS(**options)
        if self.method == "mmpc":
            return MMPC(**options)
        return IAMB(form={"iamb": "iamb", "inter-iamb": "inter", "iamb-fdr": "fdr"}[self.method], **options)

    def _checked(self, X: Any, reset: bool) -> Any:
        """X with its number and names of columns checked; data frames as they are."""
        if _is_frame(X):
            validate_data(self, named_for_sklearn(X), skip_check_array=True, reset=reset)
            if not len(X):
                raise ValueError("Found array with 0 sample(s): X has no rows, but a minimum of 1 is required.")
            return X
        return _numbers_where_possible(validate_data(self, X, dtype=None, ensure_all_finite=False, reset=reset))

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def transform(self, X: Any) -> Any:
        """The columns that are selected.

        Parameters
        ----------
        X : data frame, Table, mapping of columns or array
            With the columns that ``fit`` has seen.

        Returns
        -------
        data frame or array, as ``X``
            A data frame of pandas for a table or a mapping; ``set_output`` chooses another one.
        """
        import narwhals as nw

        check_is_fitted(self)
        X, kept = _as_frame(X), np.flatnonzero(self.support_).tolist()
        if not kept:
            warn(
                "No features were selected: all are independent of the target by the test; a larger alpha takes more, "
                "and other tests may find what this one misses",
                UserWarning,
                ["alpha", "test"],
            )
        if not _is_frame(X):
            return validate_data(self, X, dtype=None, ensure_all_finite=False, reset=False)[:, kept]
        validate_data(self, named_for_sklearn(X), skip_check_array=True, reset=False)
        if hasattr(X, "iloc"):  # names of columns need not be text, and the index stays where no column does
            return X.iloc[:, kept]
        return nw.from_native(X, eager_only=True)[:, kept].to_native()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags


def _as_frame(X: Any) -> Any:
    """A table, or a mapping of columns, as a data frame; other data as they are."""
    if isinstance(X, Table):
        return X.to_pandas()
    if isinstance(X, Mapping) and not issparse(X):
        import pandas as pd

        return pd.DataFrame(X)
    return X


def _counted(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, NDArray[np.float64] | None]:
    """The rows that count: those of a positive weight, with their weights."""
    n_rows = len(X)
    if len(y) != n_rows:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[n_rows, len(y)]}")
    if sample_weight is None:
        return X, y, None
    weights = checked_weights(sample_weight, n_rows, "sample_weight")
    if not weights.any():
        raise ValueError("all sample weights are zero, so that there are no rows to learn from")
    places = np.flatnonzero(weights)
    return _rows_of(X, places), np.asarray(y)[places], scaled_up(weights[places])


def _target(y: Any, n_bins: int, weights: NDArray[np.float64] | None) -> tuple[NDArray[np.int64], int]:
    """The target as codes, with the number of its states, which is also the code of a missing one."""
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 1 and values.dtype.kind in "iuf":
        known = values[np.isfinite(values)]
        if len(np.unique(known)) > _MOST_CLASSES or (known % 1).any():
            numbers = np.where(np.isfinite(values), values, np.nan).astype(np.float64)
            (cuts,) = learn_cuts([numbers], "frequency", weights=weights, n_bins=n_bins)
            (codes,) = code_columns([numbers], [cuts])
            return codes.astype(np.int64), len(cuts) + 1
    column = ClassColumn.read(y)
    return np.asarray(column.codes, dtype=np.int64), len(column.labels)


def _with_target(features: Table, codes: NDArray[np.int64], n_classes: int) -> tuple[Table, str]:
    """The features with the target as last column, and the name that it has there."""
    name = "target"
    while name in features.names:
        name += "_"
    variable = Variable(name, [str(code) for code in range(max(n_classes, 1))])
    variables = (*features.variables, variable)
    width = np.uint8 if max(v.n_states for v in variables) < 255 else np.uint32
    return Table.from_codes(np.vstack((features.codes, codes[None])).astype(width), variables), name

"""Discretisation as a scikit-learn transformer, for data frames and arrays."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bntk import _checking
from bntk.data.coding import reason_left_out
from bntk.data.columns import code_column, named_for_sklearn, refuse_rows_elsewhere
from bntk.data.cuts import MARGINAL, METHODS, MOST_BINS, checked_cuts, code_columns, hartemink_cuts, learn_cuts
from bntk.data.numbers import assembled, colliding_numbers, variables_of
from bntk.data.table import Table
from bntk.data.variable import Variable, format_states
from bntk.data.weights import checked_weights, scaled_up
from bntk.errors import DataError


class Discretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Discretise numeric columns into ordered states, by cut points that are learned in ``fit``.

    A data frame (pandas, polars, pyarrow) gives a frame of the same kind, in which the numeric columns have become
    categorical, with states such as ``"<= 2.5"``, ``"(2.5, 4]"``, ``"> 4"`` in order (pandas: ordered categories;
    polars: an Enum); ``bntk.Table.from_frame`` takes it as it is. Columns that are not numeric pass through
    unchanged, and so do those that are not among ``columns``. An array gives an array of floats with the number of the
    state, 0, 1, 2 ..., as scikit-learn's ``KBinsDiscretizer(encode="ordinal")`` does. A missing value stays missing.

    Parameters
    ----------
    method : {"mdl", "width", "frequency", "hartemink"}
        ``"mdl"`` is the supervised method of Fayyad and Irani, which needs the classes ``y``; a column that is not
        related to them gets the single state ``"all"``. ``"width"`` makes intervals of the same width,
        ``"frequency"`` intervals with about the same number of rows. ``"hartemink"`` makes many intervals, and merges
        neighbours so that the columns keep as much mutual information with one another as possible, see
        :func:`bntk.cuts.hartemink_cuts`; columns of labels and those with given ``cuts`` count, too.
    n_bins : int
        The number of intervals, except for ``"mdl"``.
    columns : list of names, or of positions for an array, optional
        Only these columns, instead of all numeric ones.
    cuts : mapping from a name (or position) to cut points, optional
        Given cut points, for columns whose cuts are not to be learned.
    initial_bins : int, optional
        The number of intervals that ``"hartemink"`` begins with; by default four times ``n_bins``.
    initial_method : {"frequency", "width"}
        How ``"hartemink"`` makes them.

    Attributes
    ----------
    cuts_ : dict from name (or position) to ndarray
        The cut points of each column that is discretised. A value equal to a cut lies on its left.
    variables_ : tuple of Variable
        The discretised columns as variables.
    n_features_in_ : int
        The number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, if ``X`` was a data frame.

    Examples
    --------
    >>> import bntk, pandas as pd
    >>> frame = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6, 7, None], "z": list("abababab")})
    >>> discretizer = bntk.Discretizer().fit(frame, y=[0, 0, 0, 1, 1, 1, 1, 1])
    >>> discretizer.cuts_
    {'x': array([3.5])}
    >>> discretizer.transform(frame).tail(3)
           x  z
    5  > 3.5  b
    6  > 3.5  a
    7    NaN  b
    """

    def __init__(
        self,
        method: str = "mdl",
        n_bins: int = 10,
        columns: Sequence[Any] | None = None,
        cuts: Mapping[Any, Any] | None = None,
        initial_bins: int | None = None,
        initial_method: str = "frequency",
    ) -> None:
        self.method = method
        self.n_bins = n_bins
        self.columns = columns
        self.cuts = cuts
        self.initial_bins = initial_bins
        self.initial_method = initial_method

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Discretizer:
        """Learn the cut points.

        Parameters
        ----------
        X : data frame, or array of shape (n_rows, n_columns)
            The rows.
        y : array of classes, optional
            The class of each row. Needed for ``method="mdl"``. Rows whose class is missing are left out.
        sample_weight : array, optional
            How often each row counts: one of weight 2 is the row twice, one of weight 0 is not there. Weights that sum
            to less than the number of rows (with a positive weight) are scaled up to it.
        """
        _checking.one_of("method", self.method, (*METHODS, "hartemink"))
        _checking.optional_whole_number("initial_bins", self.initial_bins, 1, MOST_BINS)
        _checking.one_of("initial_method", self.initial_method, MARGINAL)
        if self.cuts is not None:
            _checking.mapping("cuts", self.cuts, "{column: cut points}")
        source = _Source(self, X, reset=True)
        if sample_weight is not None:
            weights = checked_weights(sample_weight, source.n_rows, "sample_weight")
            if not weights.any():
                raise ValueError("all sample weights are zero, so that there are no rows to learn from")
            sample_weight = scaled_up(weights)
        given = {key: checked_cuts(cuts, f"the cuts of column {key!r}") for key, cuts in (self.cuts or {}).items()}
        chosen = self._chosen(source, given)
        to_learn = [key for key in chosen if key not in given]
        known = dict(given)
        if to_learn:
            columns = [source.numbers(key) for key in to_learn]
            if self.method == "hartemink":
                learned = hartemink_cuts(
                    columns, self.n_bins, sample_weight, self.initial_bins, self.initial_method, source.others(given)
                )
            else:
                classes = _classes(y) if self.method == "mdl" else None
                learned = learn_cuts(columns, self.method, classes, sample_weight, self.n_bins)
            known.update(zip(to_learn, learned, strict=True))
        self._positions = [source.keys.index(key) for key in chosen]
        self.cuts_ = {key: known[key] for key in chosen}
        self.variables_ = tuple(
            Variable.of_intervals(name, cuts)
            for name, cuts in zip(source.names(chosen), self.cuts_.values(), strict=True)
        )
        return self

    def transform(self, X: Any) -> Any:
        """Discretise rows.

        Parameters
        ----------
        X : data frame, or array of shape (n_rows, n_columns)
            With the columns that ``fit`` has seen.

        Returns
        -------
        data frame or array, as ``X``
            The same rows with states in place of numbers.
        """
        check_is_fitted(self)
        source = _Source(self, X, reset=False)
        keys = [source.keys[position] for position in self._positions]  # names and order are as they were in fit
        columns = [source.numbers(key) for key in keys]
        if not columns:
            return source.replaced({}, ())
        codes = code_columns(columns, list(self.cuts_.values()))
        return source.replaced(dict(zip(keys, codes, strict=True)), self.variables_)

    def _chosen(self, source: _Source, given: Mapping[Any, Any]) -> list[Any]:
        """The columns to discretise, in the order of the data."""
        wanted = source.numeric() if self.columns is None else _checking.several("columns", self.columns)
        for key in (*wanted, *given):
            if not isinstance(key, Hashable) or key not in source.keys:
                raise DataError(f"the data has no column {key!r}; it has {format_states(source.keys)}")
        return [key for key in source.keys if key in wanted or key in given]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self.method == "mdl"
        return tags


class _Source:
    """The columns of a data frame or an array by their keys: names, or positions in an array."""

    def __init__(self, estimator: Discretizer, X: Any, reset: bool) -> None:
        import narwhals as nw

        refuse_rows_elsewhere(X)
        if nw.dependencies.is_polars_lazyframe(X):
            X = X.collect()
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        self.frame = frame if isinstance(frame, nw.DataFrame) else None
        if self.frame is not None:
            validate_data(estimator, named_for_sklearn(X), reset=reset, skip_check_array=True)
            self.keys: list[Any] = list(self.frame.columns)
        else:
            self.array = validate_data(estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
            self.given = np.asarray(X)
            self.keys = list(range(self.array.shape[1]))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.array if self.frame is None else self.frame)

    def numeric(self) -> list[Any]:
        """The keys of the numeric columns; truth values are no numbers."""
        if self.frame is None:
            return self.keys
        return [name for name, dtype in self.frame.schema.items() if dtype.is_numeric()]

    def names(self, keys: Sequence[Any]) -> list[str]:
        """The names of columns; those of an array are called x0, x1 ..., as in scikit-learn."""
        return [f"x{key}" if self.frame is None else str(key) for key in keys]

    def others(self, given: Mapping[Any, np.ndarray]) -> Table | None:
        """The columns that have states without learning any: those with given cuts, and labels that tell of rows."""
        cuts = dict(zip(self.names([*given]), given.values(), strict=True))
        numbers = {name: self.numbers(key) for name, key in zip(cuts, given, strict=True)}
        labelled = []
        if self.frame is not None:
            columns = [code_column(name, self.frame.get_column(name).to_native()) for name in self._labelled_names()]
            labelled = [column for column in columns if reason_left_out(column) is None]
        labels = Table._from_coded(labelled, None, "missing") if labelled else None
        variables = variables_of([*cuts, *(column.name for column in labelled)], labels, cuts)
        if not variables:
            return None
        return Table._make(assembled(variables, labels, numbers, cuts, self.n_rows), variables)

    def _labelled_names(self) -> list[str]:
        """The columns that are no numbers."""
        numeric = self.numeric()
        return [name for name in self.keys if name not in numeric]

    def numbers(self, key: Any) -> np.ndarray:
        """A column as floats, if these can tell its numbers apart."""
        import narwhals as nw

        if self.frame is None:
            column: np.ndarray = self.array[:, key]
            self._refuse_colliding(key, column, self.given[:, key])
            return column
        series = self.frame.get_column(key)
        if not series.dtype.is_numeric():
            raise DataError(f"column {key!r} holds values of the type {series.dtype}, not numbers; convert it first")
        column = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        self._refuse_colliding(key, column, series.to_native())
        return column

    def _refuse_colliding(self, key: Any, numbers: np.ndarray, given: Any) -> None:
        (name,) = self.names([key])
        colliding = colliding_numbers(name, numbers, given)
        if colliding:
            raise DataError(
                f"column {name!r} holds whole numbers beyond 2**53, such as {max(colliding, key=abs)}, some of which "
                "are the same as floats: subtract a number from all of them"
            )

    def replaced(self, codes: Mapping[Any, np.ndarray], variables: Sequence[Variable]) -> Any:
        """The data with states in the place of some columns."""
        if self.frame is None:
            array = self.array.copy()
            for (key, column), variable in zip(codes.items(), variables, strict=True):
                array[:, key] = np.where(column == variable.n_states, np.nan, column)
            return array
        columns = [
            self._labelled(key, column, variable)
            for (key, column), variable in zip(codes.items(), variables, strict=True)
        ]
        return self.frame.with_columns(*columns).to_native() if columns else self.frame.to_native()

    def _labelled(self, key: Any, codes: np.ndarray, variable: Variable) -> Any:
        """A categorical column of the library that the frame is of."""
        import narwhals as nw

        assert self.frame is not None
        frame, missing = self.frame.to_native(), codes == variable.n_states
        states = [str(state) for state in variable.states]
        if nw.dependencies.is_polars_dataframe(frame):
            import polars as pl

            column = pl.Series(key, [*states, None], dtype=pl.Enum(states)).gather(codes)
        elif nw.dependencies.is_pyarrow_table(frame):
            import pyarrow as pa

            indices = pa.array(codes, mask=missing)
            column = pa.chunked_array([pa.DictionaryArray.from_arrays(indices, states, ordered=True)])
        else:
            import pandas as pd

            categories = pd.Categorical.from_codes(
                np.where(missing, -1, codes.astype(np.int64)), pd.Index(states), True
            )
            column = pd.Series(categories, index=frame.index)
        return nw.from_native(column, series_only=True).alias(key)


def _classes(y: Any) -> Any:
    """The class of each row; measurements are refused."""
    if y is None:
        raise ValueError(
            'requires y to be passed, but the target y is None; method="mdl" needs the classes, "width" and '
            '"frequency" do without'
        )
    classes = np.asarray(y)
    if classes.ndim == 2 and classes.shape[1] == 1:
        classes = classes[:, 0]
    if classes.ndim != 1:
        raise DataError(f"y must have one dimension, not the shape {classes.shape}")
    if classes.dtype.kind == "f" and (classes[np.isfinite(classes)] % 1).any():
        raise DataError(
            "Unknown label type: y holds numbers that are not whole, such as "
            f'{classes[np.isfinite(classes) & (classes % 1 != 0)][0]}; method="mdl" needs classes, '
            '"width" and "frequency" do without'
        )
    return classes

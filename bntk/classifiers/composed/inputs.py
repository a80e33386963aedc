"""Rows of X for classifiers of one class variable, with other class variables as further columns.

A classifier of this package gets them as discrete features with their labels as states. Any other gets numbers: a class
variable with two labels is one column of 0 and 1, one with more labels a column of 0 and 1 for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bntk.classifiers.base import BayesClassifier, _n_rows, _rows_of
from bntk.classifiers.features import Rows, leaves_states
from bntk.data.coding import has_states
from bntk.data.columns import columns_of, mapping_columns, numbers_of
from bntk.data.table import Table, code_dtype
from bntk.data.variable import Variable

if TYPE_CHECKING:
    from bntk.classifiers.naive import NaiveBayes

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Inputs:
    """Rows of X, read once for all classifiers; make them with :func:`read_inputs`.

    Attributes
    ----------
    data : Table, dict of columns, data frame or array
        In the form that the classifiers take.
    discrete : bool
        Whether labels are added as discrete features, not as numbers.
    targets : tuple of Variable
        The class variables; their names are none of the features'.
    """

    data: Any
    n_rows: int
    discrete: bool
    targets: tuple[Variable, ...]
    _scores: dict[int, Floats] = field(default_factory=dict, repr=False)
    _read: dict[int, Rows] = field(default_factory=dict, repr=False)

    def take(self, rows: NDArray[np.intp]) -> Inputs:
        """These rows only; a row may be taken more than once."""
        scores = {model: of[rows] for model, of in self._scores.items()}
        read = {model: of.take(rows) for model, of in self._read.items()}
        return replace(self, data=_rows_of(self.data, rows), n_rows=len(rows), _scores=scores, _read=read)

    def given(self, parents: Sequence[int], codes: Codes) -> Any:
        """X with the labels of some class variables, codes of shape (n_parents, n_rows), behind its columns."""
        if not parents:
            return self.data
        variables = [self.targets[j] for j in parents]
        if not self.discrete:
            named = [column for v, row in zip(variables, codes, strict=True) for column in _as_numbers(v, row)]
            return _with_numbers(self.data, dict(named))
        if isinstance(self.data, Table):
            both = (*self.data.variables, *variables)
            together = np.vstack([self.data.codes, codes]).astype(code_dtype(both), copy=False)
            return Table._make(together, both)
        return {**self.data, **{v.name: _as_categories(v, row) for v, row in zip(variables, codes, strict=True)}}

    def log_joint(self, model: NaiveBayes) -> Floats:
        """The log joint of the classes of a model and X, worked out once for each model."""
        if id(model) not in self._scores:
            self._scores[id(model)] = model.log_joint(self.data)
        return self._scores[id(model)]

    def read(self, model: NaiveBayes) -> Rows:
        """X as a model reads it, once for each model."""
        if id(model) not in self._read:
            self._read[id(model)] = model._read(self.data)
        return self._read[id(model)]


def read_inputs(X: Any, prototype: Any, targets: tuple[Variable, ...]) -> Inputs:
    """Rows of X for a kind of classifier; X is checked already."""
    discrete = isinstance(prototype, BayesClassifier)
    n_rows = X.n_rows if isinstance(X, Table) else _n_rows(X)
    if not discrete:
        return Inputs(_plain(X), n_rows, discrete, targets)
    data = _columns(X)
    if isinstance(data, Table) and not leaves_states(data, prototype.numeric, type(prototype).numeric):
        data = {name: _uncoded(data, name) for name in data.names}
    return Inputs(data, n_rows, discrete, targets)


def _uncoded(table: Table, name: str) -> Any:
    """A column of a table as numbers, where it holds numbers, or as categories, as those of class variables are."""
    variable, codes = table.variable(name), table.column(name)
    values = np.array([*variable.states, None], dtype=object)[codes]
    return _as_categories(variable, codes.astype(np.int64)) if numbers_of(values) is None else values


def _columns(X: Any) -> Any:
    """X as a table where every column has labels, else as its columns: either is quicker to read many times.

    A column of numbers has no labels, nor has one without a value: only fitted classifiers know its states.
    """
    if isinstance(X, Table):
        return X
    columns = dict(columns_of(X))
    columns = {name: _without_pandas(column) for name, column in columns.items()}
    if any(numbers_of(column) is not None for column in columns.values()):
        return columns
    coded = list(mapping_columns(columns))
    return Table._from_coded(coded, None, "missing") if all(map(has_states, coded)) else columns


def _without_pandas(column: Any) -> Any:
    """A column of plain numbers as an array."""
    dtype = getattr(column, "dtype", None)
    plain = hasattr(column, "iloc") and isinstance(dtype, np.dtype) and dtype.kind in "iuf"
    return column.to_numpy() if plain else column


def _as_categories(variable: Variable, codes: Codes) -> Any:
    import pandas as pd

    as_pandas = np.where(codes == variable.n_states, -1, codes)
    return pd.Series(pd.Categorical.from_codes(as_pandas, categories=pd.Index(variable.states)))


# ---- for classifiers of other packages -------------------------------------------------------------------------------


def _plain(X: Any) -> Any:
    """X as a data frame or an array."""
    import pandas as pd

    if isinstance(X, Table):
        return X.to_pandas()
    return pd.DataFrame(X) if isinstance(X, Mapping) else X


def _as_numbers(variable: Variable, codes: Codes) -> list[tuple[str, Floats]]:
    """Columns of 0 and 1, NaN where the label is missing: one for two labels, else one for each label."""
    missing = codes == variable.n_states
    if variable.n_states <= 2:
        return [(variable.name, np.where(missing, np.nan, codes))]
    return [
        (f"{variable.name}={state}", np.where(missing, np.nan, codes == k)) for k, state in enumerate(variable.states)
    ]


def _with_numbers(X: Any, columns: dict[str, Floats]) -> Any:
    if isinstance(X, np.ndarray):
        return np.column_stack([X, *columns.values()])
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    frame = frame.rename({name: str(name) for name in frame.columns if not isinstance(name, str)})
    added = [nw.new_series(name, column, backend=frame.implementation) for name, column in columns.items()]
    return frame.with_columns(*added).to_native()

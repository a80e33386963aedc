"""Missing values for complete data: completely at random, at random, and not at random.

References
----------
D. B. Rubin (1976). Inference and missing data. Biometrika 63, 581-592.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.data.table import Table
from bntk.data.variable import format_states
from bntk.datasets.drawn import MOST_STRENGTH, checked_seed
from bntk.datasets.logit import expit, threshold
from bntk.errors import DataError, UnknownNameError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

Data = TypeVar("Data", Table, "pd.DataFrame")
MECHANISMS = ("mcar", "mar", "mnar")


def with_missing(
    data: Data,
    share: float,
    mechanism: Literal["mcar", "mar", "mnar"] = "mcar",
    *,
    given: str | None = None,
    columns: Iterable[str] | None = None,
    strength: float = 2.0,
    seed: int = 0,
) -> Data:
    """The data with a share of its values made missing.

    Parameters
    ----------
    data : Table or pandas.DataFrame
        The rows; values that are missing already stay so.
    share : float
        The probability that an observed cell is removed, on average over the rows; from 0 to 1.
    mechanism : {"mcar", "mar", "mnar"}
        ``"mcar"``, completely at random: each cell with the same probability. ``"mar"``, at random: with a
        probability that depends on the row's state of ``given``. ``"mnar"``, not at random: with a probability that
        depends on the state of the cell itself.
    given : str, optional
        For ``"mar"``: a column without missing values. Nothing is removed from it.
    columns : iterable of str, optional
        The columns to remove values from; all by default.
    strength : float
        For ``"mar"`` and ``"mnar"``: the log odds of removal rise by this for each standard deviation of the state's
        number (in the order of the states, or of the values of a column of numbers); if negative, low states are
        removed more often. The probability is expit(a + strength z), with a such that its mean over the rows is the
        share.
    seed : int
        The same seed removes the same cells.

    Returns
    -------
    Table or pandas.DataFrame, as given

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(10_000, seed=1)
    >>> gone = with_missing(rows, 0.2, "mar", given="smoke", columns=["lung"], seed=1)
    >>> missing = gone.to_pandas()["lung"].isna()
    >>> missing.groupby(rows.to_pandas()["smoke"], observed=True).mean().round(1)
    smoke
    no     0.0
    yes    0.4
    Name: lung, dtype: float64
    """
    _checking.one_of("mechanism", mechanism, MECHANISMS)
    share = _checking.number("share", share, 0, 1)
    strength = _checking.number("strength", strength, -MOST_STRENGTH, MOST_STRENGTH)
    if not isinstance(data, Table) and not (hasattr(data, "columns") and hasattr(data, "mask")):
        raise _checking.wrong("data", "a Table or a pandas DataFrame", data, DataError)
    if (mechanism == "mar") != (given is not None):
        raise DataError("give the column that removal depends on, given=..., for mechanism='mar' and no other")
    names = list(data.names if isinstance(data, Table) else data.columns)
    chosen = _checked(names if columns is None else columns, names)
    probability = share if given is None else _removal(_complete(data, *_checked([given], names)), share, strength)
    rng = np.random.default_rng(checked_seed(seed))
    removed = np.zeros((len(names), len(data)), dtype=bool)
    for i in sorted({names.index(name) for name in chosen if name != given}):
        if mechanism == "mnar":
            probability = _removal(_codes(data, names[i]), share, strength)
        removed[i] = rng.random(len(data)) < probability
    if isinstance(data, Table):
        codes = np.where(removed, data.cards[:, None].astype(data.codes.dtype), data.codes)
        return Table._make(codes, data.variables, data._sources)
    return data.mask(removed.T)


def _removal(codes: NDArray[np.float64], share: float, strength: float) -> NDArray[np.float64]:
    """The probability of each cell to be removed, whose mean over the observed ones is the share; NaN is missing."""
    observed = ~np.isnan(codes)
    if not 0 < share < 1 or not observed.any():
        return np.full(len(codes), share)
    seen, counts = np.unique(codes[observed], return_counts=True)
    weights = counts / counts.sum()
    centred = seen - weights @ seen
    scores = -strength * centred / max(np.sqrt(weights @ centred**2), 1e-300)
    odds = np.zeros(len(codes))
    odds[observed] = expit(threshold(scores, weights, share) - scores)[np.searchsorted(seen, codes[observed])]
    return odds


def _codes(data: Table | pd.DataFrame, name: str) -> NDArray[np.float64]:
    """The numbers of the states of a column, NaN where missing."""
    if not isinstance(data, Table) and data[name].dtype.kind in "iuf":  # any number of different ones
        values = data[name].to_numpy(dtype=float, na_value=np.nan)
        return np.where(np.isnan(values), np.nan, np.searchsorted(np.unique(values), values))
    table = data if isinstance(data, Table) else Table.from_frame(data, only=[name])
    codes = table.column(name).astype(float)
    codes[codes == table.variable(name).n_states] = np.nan
    return codes


def _complete(data: Table | pd.DataFrame, name: str) -> NDArray[np.float64]:
    codes = _codes(data, name)
    if np.isnan(codes).any():
        raise DataError(f"given={name!r} has missing values itself; removal at random depends on observed ones only")
    return codes


def _checked(chosen: Iterable[str], names: list[str]) -> list[str]:
    chosen = _checking.names("columns", chosen, "names of columns", DataError)
    for name in chosen:
        if not isinstance(name, Hashable) or name not in names:
            raise UnknownNameError(
                f"the data has no column {name!r}{did_you_mean(name, names)}; it has {format_states(names)}"
            )
    return chosen

"""Statistical tests of differences between classifiers: on one data set over splits, and over several data sets.

Tables of several classifiers have one row per data set and one column per classifier. Ranks are from 1, the best;
equal values share the mean of their ranks. The tests and their use are described by J. Demšar (2006), Statistical
comparisons of classifiers over multiple data sets, Journal of Machine Learning Research 7, 1-30.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


# ---- two classifiers -------------------------------------------------------------------------------------------------


#: Of more, no table of the studentized range tells.
MOST_CLASSIFIERS = 100_000


@dataclass(frozen=True, eq=False)
class PairedTest:
    """The result of a test of two classifiers on the same splits or the same data sets.

    Attributes
    ----------
    name : str
        The test.
    mean : float
        The mean of the differences, first - second.
    standard_error : float
        The standard error of the mean, as the test assumes it; NaN for a test of ranks.
    statistic : float
        The statistic of the test.
    p : float
        The two-sided p value: the probability of differences as large as these if there were none.
    n : int
        The number of pairs.
    """

    name: str
    mean: float
    standard_error: float
    statistic: float
    p: float
    n: int

    def __eq__(self, other: object) -> bool:
        """Whether all is the same, NaN included: from Python 3.13 on, dataclasses with NaN would not be equal."""
        if not isinstance(other, PairedTest):
            return NotImplemented
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        numbers = (self.mean, self.standard_error, self.statistic, self.p)
        return self.name, self.n, *(None if math.isnan(number) else number for number in numbers)

    def __repr__(self) -> str:
        error = "" if math.isnan(self.standard_error) else f" +- {self.standard_error:.4f}"
        return f"{self.name}: difference {self.mean:+.4f}{error}, p = {self.p:.3g} ({self.n} pairs)"


def paired_t(first: ArrayLike, second: ArrayLike) -> PairedTest:
    """Student's t test of the mean of paired differences.

        t = mean / sqrt(s² / n), with n - 1 degrees of freedom.

    It assumes that differences are independent. Those of folds are not, since training rows overlap: it then finds
    too many differences significant (Dietterich 1998), and :func:`corrected_t` is the test to use.

    Parameters
    ----------
    first, second : array_like of shape (n,)
        The measure of two classifiers on the same splits or data sets.

    Examples
    --------
    >>> paired_t([0.82, 0.75, 0.91, 0.84], [0.80, 0.70, 0.90, 0.85])
    paired t: difference +0.0175 +- 0.0125, p = 0.256 (4 pairs)
    """
    differences = _differences(first, second)
    return _t_test("paired t", differences, 1 / len(differences))


def corrected_t(first: ArrayLike, second: ArrayLike, n_train: ArrayLike, n_test: ArrayLike) -> PairedTest:
    """Corrected resampled t test of two classifiers on the same splits of one data set (Nadeau and Bengio 2003).

        t = mean / sqrt((1 / n + n_test / n_train) s²), with n - 1 degrees of freedom,

    where n is the number of splits. The second term corrects for training rows that the splits have in common.

    Parameters
    ----------
    first, second : array_like of shape (n_splits,)
        The measure of two classifiers on the same splits.
    n_train, n_test : int or array_like of shape (n_splits,)
        The numbers of training and test rows; of several, their means are used.

    References
    ----------
    C. Nadeau and Y. Bengio (2003). Inference for the generalization error. Machine Learning 52, 239-281.

    Examples
    --------
    >>> corrected_t([0.82, 0.75, 0.91, 0.84], [0.80, 0.70, 0.90, 0.85], n_train=90, n_test=30)
    corrected t: difference +0.0175 +- 0.0191, p = 0.427 (4 pairs)
    """
    differences = _differences(first, second)
    ratio = _mean_count("n_test", n_test) / _mean_count("n_train", n_train)
    return _t_test("corrected t", differences, 1 / len(differences) + ratio)


def wilcoxon(first: ArrayLike, second: ArrayLike) -> PairedTest:
    """Wilcoxon's signed-rank test of two classifiers on several data sets.

    The differences are ranked by their size, and the statistic is the smaller one of the sums of ranks of positive and
    negative differences. It needs no normal distribution, and large differences on few data sets do not dominate.
    Differences of 0 are left out; without others, p is 1. p is exact for up to 50 differences without ties.

    Parameters
    ----------
    first, second : array_like of shape (n,)
        The measure of two classifiers on the same data sets.

    Examples
    --------
    >>> wilcoxon([0.82, 0.75, 0.93, 0.84, 0.7], [0.80, 0.70, 0.90, 0.85, 0.6])
    Wilcoxon: difference +0.0380, p = 0.125 (5 pairs)
    """
    differences = _differences(first, second)
    mean, n = float(differences.mean()), len(differences)
    if not differences.any():
        return PairedTest("Wilcoxon", mean, math.nan, 0.0, 1.0, n)
    from scipy.stats import wilcoxon as signed_rank

    found = signed_rank(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))
    return PairedTest("Wilcoxon", mean, math.nan, float(found.statistic), float(found.pvalue), n)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjustment of p values of several tests, which keeps the chance of any false rejection at its level.

    The i-th smallest of m p values is multiplied by m - i + 1, and is at least the one before it.

    Parameters
    ----------
    p_values : array_like of shape (m,)
        The p values of the tests.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = _checking.numbers("p_values", p_values, "numbers from 0 to 1", DataError)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise _checking.wrong("p_values", "a list of numbers from 0 to 1", p_values, DataError)
    order = np.argsort(p, kind="stable")
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty(len(p))
    found[order] = np.minimum(adjusted, 1.0)
    return found


def _differences(first: ArrayLike, second: ArrayLike) -> Floats:
    a, b = (_checking.numbers("a classifier's values", each, error=DataError) for each in (first, second))
    if a.ndim != 1 or a.shape != b.shape:
        raise DataError(f"the two classifiers need one value each per split or data set, not {a.shape} and {b.shape}")
    if len(a) < 2:
        raise DataError("a test needs at least two splits or data sets")
    if not (np.isfinite(a) & np.isfinite(b)).all():
        raise DataError(
            f"the value of pair {int(np.argmin(np.isfinite(a) & np.isfinite(b)))} is missing or infinite; leave it out"
        )
    return a - b


def _mean_count(name: str, counts: ArrayLike) -> float:
    """The mean of numbers of rows."""
    rows = _checking.numbers(name, counts, "a number of rows, or one for each split", DataError)
    if not rows.size or not (np.isfinite(rows) & (rows >= 1)).all():
        raise _checking.wrong(name, "numbers of rows, from 1", counts, DataError)
    return float(rows.mean())


def _t_test(name: str, differences: Floats, factor: float) -> PairedTest:
    """Student's t with the variance of the mean ``factor`` s²; without variance, p is 1 or, if they differ, 0."""
    from scipy.special import stdtr

    n, mean = len(differences), float(differences.mean())
    spread = float(differences.std(ddof=1))
    error = spread * math.sqrt(factor) if np.ptp(differences) > 0 else 0.0
    if error == 0:
        return PairedTest(name, mean, 0.0, math.copysign(math.inf, mean) if mean else 0.0, float(mean == 0), n)
    return PairedTest(name, mean, error, mean / error, 2 * float(stdtr(n - 1, -abs(mean) / error)), n)


# ---- several classifiers on several data sets ------------------------------------------------------------------------


@dataclass(frozen=True)
class Friedman:
    """The result of Friedman's test; see :func:`friedman`.

    Attributes
    ----------
    statistic, df, p : float
        Friedman's chi-squared with correction for ties, its degrees of freedom, and the p value.
    f_statistic, f_df, f_p : float
        The F of Iman and Davenport, which is less conservative, its two degrees of freedom, and the p value.
    ranks : Series
        The mean rank of each classifier.
    n : int
        The number of data sets.
    """

    statistic: float
    df: int
    p: float
    f_statistic: float
    f_df: tuple[int, int]
    f_p: float
    ranks: pd.Series
    n: int

    def __repr__(self) -> str:
        low, high = self.f_df
        return (
            f"Friedman: chi² = {self.statistic:.4g} ({self.df} df), p = {self.p:.3g}; Iman-Davenport: "
            f"F = {self.f_statistic:.4g} ({low}, {high} df), p = {self.f_p:.3g}; {self.n} data sets"
        )


@dataclass(frozen=True)
class Nemenyi:
    """The result of Nemenyi's test of all pairs; see :func:`nemenyi`.

    Attributes
    ----------
    ranks : Series
        The mean rank of each classifier.
    p : DataFrame
        The p value of each pair.
    critical_difference : float
        Mean ranks that differ by as much are significantly different.
    alpha : float
        The level of the test.
    n : int
        The number of data sets.
    """

    ranks: pd.Series
    p: pd.DataFrame
    critical_difference: float
    alpha: float
    n: int

    @cached_property
    def groups(self) -> list[list[str]]:
        """The largest groups of classifiers of which no two differ significantly, the best first.

        Groups of one are left out: that classifier differs from all others.
        """
        order = self.ranks.sort_values(kind="stable")
        values, names = order.to_numpy(), [str(name) for name in order.index]
        ends = [int(np.searchsorted(values, value + self.critical_difference, side="left")) for value in values]
        spans = [(i, end) for i, end in enumerate(ends) if end - i > 1 and (i == 0 or ends[i - 1] < end)]
        return [names[start:end] for start, end in spans]

    def plot(self, **options: Any) -> Axes:
        """Draw the critical-difference diagram; the options are those of :func:`bntk.viz.plot_critical_difference`."""
        from bntk.viz.evaluation import plot_critical_difference

        return plot_critical_difference(self, **options)

    def __repr__(self) -> str:
        lines = [f"Nemenyi: critical difference {self.critical_difference:.4g} at {self.alpha:g}, {self.n} data sets"]
        lines += [f"  {rank:6.3f}  {name}" for name, rank in self.ranks.sort_values(kind="stable").items()]
        lines += [f"  no significant difference: {', '.join(group)}" for group in self.groups]
        return "\n".join(lines)


def ranks(table: Any, *, greater_is_better: bool = True) -> pd.DataFrame:
    """The rank of each classifier on each data set: 1 is the best, and equal values share the mean of their ranks.

    Parameters
    ----------
    table : data frame, or array_like of shape (n_datasets, n_classifiers)
        The measure of each classifier (column) on each data set (row).
    greater_is_better : bool
        Whether the largest value gets rank 1.

    Examples
    --------
    >>> ranks([[0.9, 0.8, 0.8], [0.7, 0.9, 0.8]])
         0    1    2
    0  1.0  2.5  2.5
    1  3.0  1.0  2.0
    """
    frame = _table(table)
    return (-frame if _checking.flag("greater_is_better", greater_is_better) else frame).rank(axis=1, method="average")


def mean_ranks(table: Any, *, greater_is_better: bool = True) -> pd.Series:
    """The mean rank of each classifier over data sets; 1 is the best.

    Parameters
    ----------
    table : data frame, or array_like of shape (n_datasets, n_classifiers)
        The measure of each classifier (column) on each data set (row).
    greater_is_better : bool
        Whether the largest value gets rank 1.

    Examples
    --------
    >>> mean_ranks([[0.9, 0.8, 0.8], [0.7, 0.9, 0.8]]).tolist()
    [2.0, 1.75, 2.25]
    """
    return ranks(table, greater_is_better=greater_is_better).mean()


def friedman(table: Any, *, greater_is_better: bool = True) -> Friedman:
    """Friedman's test that all classifiers are equally good, by their ranks on several data sets.

    With the mean ranks R_j of k classifiers on N data sets,

        chi² = 12 N / (k (k + 1)) [sum_j R_j² - k (k + 1)² / 4] / C,    F = (N - 1) chi² / (N (k - 1) - chi²),

    with k - 1, and with k - 1 and (k - 1) (N - 1) degrees of freedom. C = 1 - sum (t³ - t) / (N (k³ - k)) corrects for
    ties, over all groups of t equal values. F, of Iman and Davenport (1980), is the better approximation; it
    is infinite where all data sets have the same order. Where all values are equal, both p are 1.

    Parameters
    ----------
    table : data frame, or array_like of shape (n_datasets, n_classifiers)
        The measure of each classifier (column) on each data set (row).
    greater_is_better : bool
        Whether the largest value gets rank 1.

    Examples
    --------
    >>> friedman([[0.9, 0.8, 0.7], [0.8, 0.9, 0.7], [0.9, 0.8, 0.6], [0.7, 0.6, 0.5]])
    Friedman: chi² = 6.5 (2 df), p = 0.0388; Iman-Davenport: F = 13 (2, 6 df), p = 0.00659; 4 data sets
    """
    from scipy.special import chdtrc, fdtrc

    placed = ranks(table, greater_is_better=greater_is_better)
    n, k = placed.shape
    sizes = np.concatenate([np.unique(row, return_counts=True)[1] for row in placed.to_numpy()])
    untied = 1 - float((sizes**3 - sizes).sum()) / (n * (k**3 - k))
    mean = placed.mean()
    spread = 12 * n / (k * (k + 1)) * (float((mean**2).sum()) - k * (k + 1) ** 2 / 4)
    chi2 = max(0.0, spread / untied) if untied > 0 else 0.0
    rest = n * (k - 1) - chi2
    f = (n - 1) * chi2 / rest if rest > 1e-12 * n * k else math.inf
    df, f_df = k - 1, (k - 1, (k - 1) * (n - 1))
    f_p = float(fdtrc(*f_df, f)) if math.isfinite(f) else 0.0
    return Friedman(chi2, df, float(chdtrc(df, chi2)), f, f_df, f_p, mean, n)


def nemenyi(table: Any, *, greater_is_better: bool = True, alpha: float = 0.05) -> Nemenyi:
    """Nemenyi's test of all pairs of classifiers by their mean ranks, after Friedman's test has rejected equality.

    Two classifiers differ significantly if their mean ranks differ by the critical difference, see
    :func:`critical_difference`. The p value of a pair is that of abs(R_i - R_j) / sqrt(k (k + 1) / (12 N)) in the
    distribution of the studentised range of k values.

    Parameters
    ----------
    table : data frame, or array_like of shape (n_datasets, n_classifiers)
        The measure of each classifier (column) on each data set (row).
    greater_is_better : bool
        Whether the largest value gets rank 1.
    alpha : float
        The level of the critical difference.

    Examples
    --------
    >>> nemenyi([[0.9, 0.8, 0.7], [0.8, 0.9, 0.7], [0.9, 0.8, 0.6], [0.7, 0.6, 0.5]])
    Nemenyi: critical difference 1.657 at 0.05, 4 data sets
       1.250  0
       1.750  1
       3.000  2
      no significant difference: 0, 1
      no significant difference: 1, 2
    """
    import pandas as pd
    from scipy.stats import studentized_range

    placed = ranks(table, greater_is_better=greater_is_better)
    n, k = placed.shape
    mean = placed.mean()
    gaps = np.abs(mean.to_numpy()[:, None] - mean.to_numpy())
    p = np.clip(studentized_range.sf(gaps / math.sqrt(k * (k + 1) / (12 * n)), k, np.inf), 0.0, 1.0)
    np.fill_diagonal(p, 1.0)
    found = pd.DataFrame(p, index=mean.index, columns=mean.index)
    return Nemenyi(mean, found, critical_difference(k, n, alpha), alpha, n)


def critical_difference(n_classifiers: int, n_datasets: int, alpha: float = 0.05) -> float:
    """Nemenyi's critical difference: mean ranks that differ by as much are significantly different.

        CD = q sqrt(k (k + 1) / (6 N)),

    with q the quantile of the studentised range of k values, divided by sqrt(2) (Demšar 2006, section 3.2.2).

    Parameters
    ----------
    n_classifiers : int
        The number k of classifiers.
    n_datasets : int
        The number N of data sets.
    alpha : float
        The level of the test.

    Examples
    --------
    >>> round(critical_difference(7, 23), 2)
    1.88
    """
    from scipy.stats import studentized_range

    _checking.whole_number("n_classifiers", n_classifiers, 2, MOST_CLASSIFIERS)
    _checking.whole_number("n_datasets", n_datasets, 1, _checking.MOST)
    if not _checking.is_number(alpha) or not 0 < alpha < 1:
        raise _checking.wrong("alpha", "a number above 0 and below 1", alpha)
    q = studentized_range.ppf(1 - alpha, n_classifiers, np.inf) / math.sqrt(2)
    return float(q * math.sqrt(n_classifiers * (n_classifiers + 1) / (6 * n_datasets)))


def _table(table: Any) -> pd.DataFrame:
    """A table of data sets by classifiers, checked."""
    import pandas as pd

    numbers = _checking.numbers("table", table, "a table of numbers, data sets by classifiers", DataError)
    if numbers.ndim != 2:
        raise _checking.wrong("table", "a table of numbers, data sets by classifiers", table, DataError)
    frame = (table if isinstance(table, pd.DataFrame) else pd.DataFrame(numbers)).astype(np.float64)
    if frame.shape[1] < 2 or not len(frame):
        raise DataError(f"ranks need two classifiers or more on a data set or more; the table has shape {frame.shape}")
    missing = np.argwhere(frame.isna().to_numpy())
    if missing.size:
        row, column = missing[0]
        raise DataError(
            f"the value of {frame.columns[column]!r} on {frame.index[row]!r} is missing; leave that data set out"
        )
    return frame

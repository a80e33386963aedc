"""Comparison of estimators over several data sets: means, ranks, times, tests and their pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from bntk import _checking
from bntk._progress import progress_bar
from bntk.errors import ArgumentError, DataError, UnknownNameError, did_you_mean
from bntk.evaluation.cache import folder_of
from bntk.evaluation.measure_table import canonical
from bntk.evaluation.plan import Plan, check_errors, named_estimators
from bntk.evaluation.result import COSTS, CrossValidation, left_aligned
from bntk.evaluation.significance import Friedman, Nemenyi, friedman, holm, nemenyi, paired_t, ranks, wilcoxon

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Digits of means to which they are compared: sums of the same numbers in another order are equal.
DIGITS = 12


def compare(
    estimators: Any,
    datasets: Mapping[str, tuple[Any, Any] | Callable[[], tuple[Any, Any]]],
    *,
    cv: Any = 10,
    repeats: int = 1,
    scoring: Any = None,
    relearn: str = "all",
    unlabelled: str = "error",
    errors: str = "raise",
    n_jobs: int | None = None,
    progress: bool = False,
    cache: str | os.PathLike[str] | None = None,
    random_state: int = 0,
) -> Comparison:
    """Compare estimators over several data sets, each by cross-validation on the same splits.

    Parameters
    ----------
    estimators : estimator, or mapping of name to estimator
        Classifiers of this package or of scikit-learn, pipelines too.
    datasets : mapping of name to (X, y), or to a callable that returns it
        Features and labels, see :func:`cross_validate`. A callable is called when it is the turn of its data set, so
        that only one of them is in memory.
    cv : int, float, "holdout", splitter or iterable
        A number of stratified folds, ``"holdout"`` (70 % training, 30 % test rows), a share of test rows, or a splitter
        of scikit-learn.
    repeats : int
        How many times folds or hold-out are drawn.
    scoring : str, callable, or sequence or mapping of these, optional
        What is measured, see :func:`cross_validate`. The first measure is the one that estimators are compared by;
        :meth:`Comparison.by` chooses another.
    relearn : {"all", "parameters"}
        Whether structures are learned in each split, or once from all rows, which is optimistic.
    unlabelled : {"error", "drop", "train"}
        What happens to rows without a label: an error, they are left out, or they are training rows of every split.
    errors : {"raise", "record"}
        Whether an estimator that fails in a split is an error, which names data set, estimator and split, or is
        recorded in ``failures``, with NaN in ``frame``. A data set that cannot be read or split is an error.
    n_jobs : int, optional
        The number of processes (joblib); None is 1, and -1 is all cores.
    progress : bool
        Whether to show a progress bar.
    cache : path, optional
        A folder in which each finished cell, an estimator in a split of a data set, is kept as a JSON file, so that a
        run that was stopped continues where it was. A cell is known by the data, the estimator and its parameters, the
        split, the measures and the version of bntk; if one of these changes, it is computed again.
    random_state : int
        Seed of the splits.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import bntk
    >>> def rows(name):
    ...     sample = bntk.datasets.network(name).sample(200, seed=1).to_pandas()
    ...     return sample.iloc[:, :-1], sample.iloc[:, -1]
    >>> datasets = {name: rows(name) for name in ("asia", "cancer", "survey", "earthquake")}
    >>> estimators = {"nb": bntk.NaiveBayes(), "tan": bntk.TAN(), "aode": bntk.AODE()}
    >>> result = bntk.evaluation.compare(estimators, datasets, cv=3, scoring=["log_loss", "accuracy"])
    >>> result.ranks.loc["survey"].to_dict()
    {'nb': 1.0, 'tan': 3.0, 'aode': 2.0}
    >>> result.friedman.n, result.nemenyi.ranks.idxmin()
    (4, 'aode')
    """
    chosen = named_estimators(estimators)
    check_errors(errors)
    n_jobs = _checking.jobs(n_jobs)
    if not isinstance(datasets, Mapping) or not datasets:
        raise ValueError("datasets must be a mapping of name to (X, y), or to a callable that returns it")
    folder = None if cache is None else folder_of(cache)
    found: dict[str, CrossValidation] = {}
    with progress_bar(_checking.flag("progress", progress), total=0, unit="fit", leave=False) as bar:
        for name, given in datasets.items():
            X, y = _read(name, given)
            try:
                plan = Plan.make(chosen, X, y, cv, repeats, scoring, relearn, unlabelled, None, random_state)
            except ValueError as error:
                raise DataError(f"data set {name!r}: {error}") from error
            bar.total = (bar.total or 0) + plan.n_cells
            found[str(name)] = plan.run(folder, n_jobs, errors, bar, str(name))
    return Comparison.of(found)


def _read(name: Any, given: Any) -> tuple[Any, Any]:
    pair = given() if callable(given) else given
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ArgumentError(f"data set {name!r} must be a pair (X, y), or a callable that returns one")
    return pair[0], pair[1]


@dataclass(frozen=True)
class RankCorrelation:
    """How far two measures rank estimators alike; see :meth:`Comparison.rank_correlation`.

    Attributes
    ----------
    by_dataset : Series
        Spearman's rank correlation over the estimators on each data set; NaN where one measure does not vary.
    mean : float
        The mean of these.
    pooled : float
        Spearman's rank correlation over all estimators and data sets, each value less the mean of its data set.
    """

    by_dataset: pd.Series
    mean: float
    pooled: float

    def __repr__(self) -> str:
        return (
            f"rank correlation: {self.mean:+.3f} (mean over {self.by_dataset.notna().sum()} data sets), "
            f"{self.pooled:+.3f} (all together)"
        )


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of :func:`compare`.

    Means, ranks and tests are by one measure, the first one; :meth:`by` gives the same result by another.

    Attributes
    ----------
    frame : DataFrame
        One row per data set, estimator and split: ``dataset``, ``estimator``, ``repeat``, ``fold`` (from 0), one
        column per measure, ``fit_seconds``, ``predict_seconds``, ``n_train`` and ``n_test``.
    measures : dict of str to bool
        The measures that all data sets have, and whether larger values are better.
    measure : str
        The one that estimators are compared by.
    failures : DataFrame
        The cells that failed, with ``errors="record"``: ``dataset``, ``estimator``, ``repeat``, ``fold``, ``error``.
    n_computed : int
        How many cells were computed, and not taken from the cache.
    """

    frame: pd.DataFrame
    measures: dict[str, bool]
    measure: str
    failures: pd.DataFrame
    n_computed: int

    @classmethod
    def of(cls, results: Mapping[str, CrossValidation]) -> Comparison:
        """The comparison that consists of results on several data sets, by name.

        Parameters
        ----------
        results : mapping of str to CrossValidation
            The results of :func:`cross_validate`, with the same estimators and a measure in common.
        """
        import pandas as pd

        if not _checking.mapping("results", results, "{data set: CrossValidation}"):
            raise DataError("there are no results to compare; give those of one data set or more")
        for name, result in results.items():
            _checking.text("the name of each data set", name)
            _checking.instance(f"the result on {name!r}", result, CrossValidation)
        frames = [result.frame.assign(dataset=name) for name, result in results.items()]
        failures = [result.failures.assign(dataset=name) for name, result in results.items()]
        first = next(iter(results.values()))
        common = {m: up for m, up in first.measures.items() if all(m in r.measures for r in results.values())}
        if not common:
            raise DataError("the data sets have no measure in common")
        whole = pd.concat(frames, ignore_index=True)
        measures = list(dict.fromkeys(m for r in results.values() for m in r.measures))
        whole = whole[["dataset", "estimator", "repeat", "fold", *measures, *COSTS]]
        failed = pd.concat(failures, ignore_index=True)[["dataset", "estimator", "repeat", "fold", "error"]]
        n_computed = sum(result.n_computed for result in results.values())
        return cls(whole, common, next(iter(common)), failed, n_computed)

    def by(self, measure: str) -> Comparison:
        """The same result, compared by another measure.

        Parameters
        ----------
        measure : str
            One of ``measures``.
        """
        return replace(self, measure=self._known(measure))

    @property
    def datasets(self) -> list[str]:
        """The names of the data sets."""
        return list(dict.fromkeys(self.frame["dataset"]))

    @property
    def estimators(self) -> list[str]:
        """The names of the estimators."""
        return list(dict.fromkeys(self.frame["estimator"]))

    # ---------------------------------------------------------------- tables

    @cached_property
    def means(self) -> pd.DataFrame:
        """The mean over the splits of each estimator (column) on each data set (row)."""
        return self._table(self.measure, "mean")

    @cached_property
    def deviations(self) -> pd.DataFrame:
        """The standard deviation over the splits of each estimator (column) on each data set (row)."""
        return self._table(self.measure, "std")

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """The rank of each estimator on each data set by its mean: 1 is the best, equal ones share their ranks.

        Data sets on which an estimator failed, or the measure is not defined, are left out.
        """
        return ranks(self._complete, greater_is_better=self.measures[self.measure])

    @property
    def times(self) -> pd.DataFrame:
        """The mean seconds of ``fit`` and of ``predict`` in a split, indexed by data set and estimator."""
        grouped = self.frame.groupby(["dataset", "estimator"], sort=False)
        return grouped[["fit_seconds", "predict_seconds"]].mean()

    def summary(self) -> pd.DataFrame:
        """One row per estimator: means over the data sets of all measures and of the seconds, mean rank, and wins.

        Returns
        -------
        data frame
            Indexed by estimator, the best mean rank first; ``wins`` counts the data sets on which an estimator has the
            best mean, alone or with others.
        """
        grouped = self.frame.groupby(["dataset", "estimator"], sort=False)
        means = grouped[[*self.measures, "fit_seconds", "predict_seconds"]].mean()
        table = means.groupby("estimator", sort=False).mean()
        table.insert(0, "wins", (self.ranks.eq(self.ranks.min(axis=1), axis=0)).sum().reindex(table.index))
        table.insert(0, "mean_rank", self.ranks.mean().reindex(table.index))
        return table.sort_values("mean_rank", kind="stable")

    def _table(self, measure: str, how: str) -> pd.DataFrame:
        grouped = self.frame.groupby(["dataset", "estimator"], sort=False)[measure]
        table = grouped.agg(how).unstack("estimator")
        return table.reindex(index=self.datasets, columns=self.estimators)

    @cached_property
    def _complete(self) -> pd.DataFrame:
        """The means on data sets that have all of them, rounded so that equal ones are."""
        if len(self.estimators) < 2:
            raise DataError(f"there is one estimator, {self.estimators[0]!r}; a comparison needs two or more")
        found = self.means.dropna()
        if found.empty:
            raise DataError(f"no data set has {self.measure} of all estimators")
        return found.apply(lambda column: column.map(_rounded))

    # ---------------------------------------------------------------- tests

    @cached_property
    def friedman(self) -> Friedman:
        """Friedman's test that all estimators are equally good, see :func:`friedman`."""
        return friedman(self._several_sets(), greater_is_better=self.measures[self.measure])

    @cached_property
    def nemenyi(self) -> Nemenyi:
        """Nemenyi's test of all pairs at the level 0.05, see :func:`nemenyi`."""
        return nemenyi(self._several_sets(), greater_is_better=self.measures[self.measure])

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Tests of all pairs of estimators over the data sets.

        Indexed by ``first`` and ``second``: ``difference`` (the mean of first - second over data sets), ``wins``,
        ``ties`` and ``losses`` of the first one, and the p values ``paired_t``, ``wilcoxon``, ``wilcoxon_holm`` (of
        all pairs, adjusted by :func:`holm`) and ``nemenyi``. For one data set see :meth:`differences`.
        """
        import pandas as pd

        table, sign = self._several_sets(), 1 if self.measures[self.measure] else -1
        rows = {}
        for a, b in combinations(table.columns, 2):
            gap = sign * (table[a] - table[b])
            rows[a, b] = {
                "difference": (table[a] - table[b]).mean(),
                "wins": int((gap > 0).sum()),
                "ties": int((gap == 0).sum()),
                "losses": int((gap < 0).sum()),
                "paired_t": paired_t(table[a], table[b]).p,
                "wilcoxon": wilcoxon(table[a], table[b]).p,
            }
        found = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["first", "second"])
        found["wilcoxon_holm"] = holm(found["wilcoxon"])
        p = self.nemenyi.p.to_numpy()
        found["nemenyi"] = [p[i, j] for i, j in combinations(range(len(p)), 2)]
        return found

    def differences(self, a: str, b: str) -> pd.DataFrame:
        """Compare two estimators on each data set, split by split.

        Parameters
        ----------
        a, b : str
            The names of two estimators.

        Returns
        -------
        data frame
            Indexed by data set: ``difference`` (the mean of a - b over the splits), ``standard_error`` (corrected), and
            the p values ``corrected_t`` (see :func:`corrected_t`) and ``paired_t``.
        """
        import pandas as pd

        rows = {}
        for name, part in self.frame.groupby("dataset", sort=False):
            one = CrossValidation(part, self.measures, self.failures, 0)
            corrected = one.difference(a, b, self.measure)
            rows[name] = {
                "difference": corrected.mean,
                "standard_error": corrected.standard_error,
                "corrected_t": corrected.p,
                "paired_t": one.difference(a, b, self.measure, test="paired").p,
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("dataset")

    def rank_correlation(self, x: str = "log_loss", y: str = "accuracy") -> RankCorrelation:
        """Whether estimators that are better by one measure are better by another, too.

        Values are taken so that larger is better; so with ``x="log_loss"`` (or ``"log_likelihood"``, where it is
        measured) this tells whether likelihood and accuracy go together.

        Parameters
        ----------
        x, y : str
            Two of ``measures``.
        """
        import pandas as pd

        first, second = self._oriented(x), self._oriented(y)
        each = {name: _spearman(first.loc[name], second.loc[name]) for name in first.index}
        by_dataset = pd.Series(each, dtype=np.float64).rename_axis("dataset")
        centred = [table.sub(table.mean(axis=1), axis=0).to_numpy().ravel() for table in (first, second)]
        return RankCorrelation(by_dataset, float(by_dataset.mean()), _spearman(*centred))

    def _oriented(self, measure: str) -> pd.DataFrame:
        """The means by a measure, those of losses with the opposite sign."""
        name = self._known(measure)
        return self._table(name, "mean") * (1 if self.measures[name] else -1)

    def _several_sets(self) -> pd.DataFrame:
        if len(self._complete) < 2:
            raise DataError(
                "a test over data sets needs two or more on which all estimators have a value; for one data set, "
                "compare splits: differences(a, b)"
            )
        return self._complete

    def _known(self, measure: str) -> str:
        for name in (measure, canonical(measure)):
            if name in self.measures:
                return name
        raise UnknownNameError(
            f"there is no measure {measure!r} in this result{did_you_mean(measure, self.measures)}"
            f"; it has {list(self.measures)}"
        )

    # ---------------------------------------------------------------- pictures

    def plot(self, **options: Any) -> Axes:
        """Draw the critical-difference diagram; the options are those of :func:`bntk.viz.plot_critical_difference`."""
        return self.nemenyi.plot(**options)

    def plot_scatter(self, x: str = "log_loss", y: str = "accuracy", **options: Any) -> Axes:
        """Draw one measure against another, by default accuracy against likelihood; see :func:`bntk.viz.plot_scatter`.

        Parameters
        ----------
        x, y : str
            Two of ``measures``.
        **options
            ``ax``, ``title``, ``figsize`` and ``font_size``, as in :func:`bntk.viz.plot_scatter`.
        """
        from bntk.viz.evaluation import plot_scatter

        return plot_scatter(self, x, y, **options)

    def __repr__(self) -> str:
        table = self.summary().drop(columns=["predict_seconds"])
        shown = table.apply(lambda column: column.map(lambda v: f"{v:d}" if column.name == "wins" else f"{v:.4f}"))
        n = len(self.estimators)
        head = f"Comparison of {n} estimators on {len(self.datasets)} data sets by {self.measure}"
        failed = f"\n{len(self.failures)} cells failed, see .failures" if len(self.failures) else ""
        test = f"\n{self.friedman}" if len(self._complete) > 1 and n > 1 else ""
        return f"{head}\n{left_aligned(shown)}{test}{failed}"

    def _repr_html_(self) -> str:
        return f"<p>by {self.measure}</p>{self.summary().to_html(float_format='{:.4f}'.format)}"


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _spearman(first: Any, second: Any) -> float:
    """Spearman's rank correlation of what both have; NaN where one does not vary."""
    from scipy.stats import spearmanr

    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    there = np.isfinite(a) & np.isfinite(b)
    a, b = (np.array([_rounded(v) for v in part[there]]) for part in (a, b))
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(spearmanr(a, b).statistic)

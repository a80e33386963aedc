"""The result of cross-validation: one labelled table, and what is read off it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bntk import _checking
from bntk.errors import UnknownNameError, did_you_mean
from bntk.evaluation.measure_table import canonical
from bntk.evaluation.significance import PairedTest, corrected_t, paired_t, wilcoxon

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: The columns of a result before and after those of the measures.
PLACE, COSTS = ("estimator", "repeat", "fold"), ("fit_seconds", "predict_seconds", "n_train", "n_test")


@dataclass(frozen=True, repr=False)
class CrossValidation:
    """The result of :func:`cross_validate`.

    Attributes
    ----------
    frame : DataFrame
        One row per estimator and split: ``estimator``, ``repeat``, ``fold`` (from 0), one column per measure (by
        class, one per class, such as ``precision[yes]``), ``fit_seconds`` and ``predict_seconds`` (elapsed time of
        ``fit`` and of ``predict``), ``n_train`` and ``n_test``.
    measures : dict of str to bool
        The columns that are measures, and whether larger values are better. The first one is the default of methods.
    failures : DataFrame
        The cells that failed, with ``errors="record"``: ``estimator``, ``repeat``, ``fold`` and ``error``.
    n_computed : int
        How many cells were computed, and not taken from the cache.
    """

    frame: pd.DataFrame
    measures: dict[str, bool]
    failures: pd.DataFrame
    n_computed: int

    @property
    def estimators(self) -> list[str]:
        """The names of the estimators."""
        return list(dict.fromkeys(self.frame["estimator"]))

    def summary(self) -> pd.DataFrame:
        """The mean of each measure over the splits, its standard deviation and its standard error.

        Returns
        -------
        data frame
            Indexed by ``estimator`` and ``measure`` (seconds included), with the columns ``mean``, ``std``, ``sem``
            (standard error, std / sqrt(n)) and ``n``, the number of splits in which the measure is defined; the
            others, such as the area under the curve without rows of both classes, are left out. Training rows of
            splits overlap, so that the standard error is a description, not a test: see :meth:`difference`.
        """
        columns = [*self.measures, "fit_seconds", "predict_seconds"]
        grouped = self.frame.groupby("estimator", sort=False)[columns]
        parts = {name: grouped.agg(how) for name, how in [("mean", "mean"), ("std", "std"), ("n", "count")]}
        found = {name: part.stack(future_stack=True) for name, part in parts.items()}
        import pandas as pd

        table = pd.DataFrame(found).rename_axis(["estimator", "measure"])
        table.insert(2, "sem", table["std"] / np.sqrt(table["n"]))
        return table

    def values(self, estimator: str, measure: str | None = None) -> pd.Series:
        """The values of a measure of one estimator in all splits, indexed by repeat and fold.

        Parameters
        ----------
        estimator : str
            Its name.
        measure : str, optional
            By default the first one.
        """
        if not isinstance(estimator, str) or estimator not in self.estimators:
            raise UnknownNameError(
                f"there is no estimator {estimator!r}{did_you_mean(estimator, self.estimators)}"
                f"; there are {self.estimators}"
            )
        own = self.frame[self.frame["estimator"] == estimator].set_index(["repeat", "fold"])
        return own[self._column(measure)]

    def difference(self, a: str, b: str, measure: str | None = None, *, test: str = "corrected") -> PairedTest:
        """Compare two estimators split by split: the mean of a - b, its standard error, and a test of no difference.

        Parameters
        ----------
        a, b : str
            The names of two estimators.
        measure : str, optional
            By default the first one.
        test : {"corrected", "paired", "wilcoxon"}
            :func:`corrected_t`, which allows for training rows that splits have in common, :func:`paired_t` or
            :func:`wilcoxon`, which do not. Splits in which the measure is not defined are left out.
        """
        _checking.one_of("test", test, ("corrected", "paired", "wilcoxon"))
        first, second = self.values(a, measure), self.values(b, measure)
        there = (first.notna() & second.notna()).to_numpy()
        pair = first.to_numpy()[there], second.to_numpy()[there]
        if test == "corrected":
            sizes = self.frame[self.frame["estimator"] == a].iloc[np.flatnonzero(there)]
            return corrected_t(*pair, sizes["n_train"].to_numpy(), sizes["n_test"].to_numpy())
        return (paired_t if test == "paired" else wilcoxon)(*pair)

    def plot(self, measure: str | None = None, **options: Any) -> Axes:
        """Draw the values of a measure in all splits as boxes, see :func:`bntk.viz.plot_folds`.

        Parameters
        ----------
        measure : str, optional
            By default the first one.
        **options
            ``ax``, ``title``, ``figsize`` and ``font_size``, as in :func:`bntk.viz.plot_folds`.
        """
        from bntk.viz.evaluation import plot_folds

        return plot_folds(self, measure, **options)

    def _column(self, measure: str | None) -> str:
        if measure is None:
            return next(iter(self.measures))
        for name in (measure, canonical(measure)):
            if name in self.measures or name in COSTS:
                return name
        raise UnknownNameError(
            f"there is no measure {measure!r} in this result{did_you_mean(measure, self.measures)}; it has "
            f"{list(self.measures)}"
        )

    def _splits(self) -> str:
        """How the rows were split, in words."""
        one = self.frame[self.frame["estimator"] == self.estimators[0]]
        repeats, folds = one["repeat"].nunique(), one["fold"].nunique()
        many = f"{folds} folds" + (f", {repeats} times" if repeats > 1 else "") if folds > 1 else f"{repeats} splits"
        many = "one split" if repeats == folds == 1 else many
        return f"{many}, {one['n_train'].mean():,.0f} training and {one['n_test'].mean():,.0f} test rows"

    def _table(self) -> pd.DataFrame:
        """Means and standard errors as texts; measures are the rows where there are many."""
        import pandas as pd

        told = self.summary()
        cells = {
            measure: [with_error(*told.loc[(name, measure), ["mean", "sem"]]) for name in self.estimators]
            for measure in self.measures
        }
        table = pd.DataFrame(cells, index=self.estimators)
        return table.T if len(self.measures) > 4 else table

    def __repr__(self) -> str:
        n = len(self.estimators)
        head = f"CrossValidation: {n} estimator{'s' if n > 1 else ''}, {self._splits()}"
        failed = f"\n{len(self.failures)} cells failed, see .failures" if len(self.failures) else ""
        return f"{head}\n{left_aligned(self._table())}{failed}"

    def _repr_html_(self) -> str:
        return f"<p>{self._splits()}</p>{self._table().to_html()}"


def with_error(mean: float, error: float) -> str:
    """A mean with its standard error, where there is one."""
    if math.isnan(mean):
        return "-"
    return f"{mean:.4f}" if math.isnan(error) else f"{mean:.4f} +- {error:.4f}"


def left_aligned(table: pd.DataFrame) -> str:
    """A table of texts; the first column is the index."""
    header = ["", *map(str, table.columns)]
    rows = [header, *([str(name), *row] for name, row in zip(table.index, table.to_numpy().tolist(), strict=True))]
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    lines = (
        "  ".join([row[0].ljust(widths[0]), " ".join(c.ljust(w) for c, w in zip(row[1:], widths[1:]))]) for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)

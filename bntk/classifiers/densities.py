"""Densities of features that stay numbers, given the class: each adds its log to the class log scores.

A density keeps what it has counted, so that more rows can be added exactly; a missing number adds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from bntk._threads import n_threads, pieces_for, run_parallel, spans
from bntk.classifiers.kde import KernelDensity
from bntk.data.variable import Variable
from bntk.errors import DataError
from bntk.learning.priors import Prior, posterior_mean

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Rows whose scores are in the cache together.
ROWS_AT_ONCE = 4096
LARGEST = float(np.finfo(np.float64).max)
#: The share of the largest variance that is added to all variances, as in scikit-learn's GaussianNB.
VARIANCE_FLOOR = 1e-9


class Density(Protocol):
    """A model of some continuous features given the class."""

    def log_density(self, numbers: Floats) -> Floats:
        """The log density of each row in each class, shape (n_rows, n_classes); a missing number adds nothing."""

    def updated(self, numbers: Floats, classes: Ints, weights: Floats | None) -> Density:
        """The same with more rows taken into account."""


def fit_densities(
    continuous: Mapping[str, str], numbers: Floats, classes: Ints, n_classes: int, weights: Floats | None, prior: Prior
) -> tuple[Density, ...]:
    """One density for each kind that is needed."""
    empty = empty_densities(continuous, n_classes, prior)
    return tuple([density.updated(numbers, classes, weights) for density in empty])


def empty_densities(
    continuous: Mapping[str, str], n_classes: int, prior: Prior
) -> tuple[Gaussian | KernelDensities | Multinomial, ...]:
    """One density for each kind that is needed, without rows."""
    found: list[Gaussian | KernelDensities | Multinomial] = []
    for kind, columns in _columns_by_kind(continuous):
        if kind == "multinomial":
            found.append(Multinomial(columns, prior, np.zeros((len(columns.names), n_classes))))
        elif kind == "gaussian":
            found.append(Gaussian.empty(columns, n_classes))
        else:
            found.append(KernelDensities(columns, tuple(KernelDensity.empty(n_classes) for _ in columns.names)))
    return tuple(found)


def check_densities(densities: Sequence[Any], continuous: Mapping[str, str], n_classes: int) -> None:
    """Refuse densities, read from a file, other than those that the features need."""
    expected = _columns_by_kind(continuous)
    if [type(density) for density in densities] != [_KINDS[kind] for kind, _ in expected]:
        raise DataError("the densities are not those of the continuous features")
    for density, (_, columns) in zip(densities, expected, strict=True):
        if density.columns.names != columns.names or not np.array_equal(density.columns.rows, columns.rows):
            raise DataError(f"the density of {list(columns.names)[:8]} is about other features")
        if density.n_classes != n_classes:
            raise DataError(f"the density of {list(columns.names)[:8]} is not for {n_classes} classes")


def _columns_by_kind(continuous: Mapping[str, str]) -> list[tuple[str, Columns]]:
    """The features of each kind of density."""
    found = []
    for kind in _KINDS:
        chosen = [(name, row) for row, (name, way) in enumerate(continuous.items()) if way == kind]
        if chosen:
            found.append((kind, Columns(tuple(name for name, _ in chosen), np.array([row for _, row in chosen]))))
    return found


class Columns(NamedTuple):
    """The features of a density: their names, and their rows among all numbers."""

    names: tuple[str, ...]
    rows: NDArray[np.intp]

    def of(self, numbers: Floats, low: float = -LARGEST) -> Floats:
        """Their numbers, if all are finite and from ``low``."""
        from bntk.classifiers.density_kernels import first_beyond

        own = numbers if len(self.rows) == len(numbers) else numbers[self.rows]
        f, row = first_beyond(own, low, LARGEST)
        if f >= 0:
            raise self.beyond(f, row, own[f, row], low)
        return own

    def beyond(self, f: int, row: int, number: float, low: float) -> DataError:
        """The error for a number that is not finite, or below ``low``."""
        why = "multinomial counts are finite numbers from 0" if low == 0 else "densities are of finite numbers"
        start = "Negative values in data: " if low == 0 and number < 0 else ""  # as scikit-learn's checks expect it
        return DataError(f"{start}column {self.names[f]!r} holds {number:g} in row {row}; {why}")

    def refuse_overflow(self, sums: Floats, what: str) -> None:
        """Refuse features whose numbers, times their weights, have sums that are no floats."""
        wrong = np.flatnonzero(~np.isfinite(sums))
        if wrong.size:
            raise DataError(
                f"column {self.names[wrong[0]]!r} holds numbers so large that their {what} sum to {sums[wrong[0]]:g}; "
                "divide them by a number, or cut them into intervals (numeric='mdl')"
            )


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A normal distribution for each feature and class: weights, means and sums of squared deviations, (F, K) each.

    All variances are raised by 1e-9 of the largest variance of a feature, as scikit-learn's GaussianNB does; the
    variance is that of all rows so far, with their weights. A class without numbers has the distribution of all rows.
    """

    columns: Columns
    totals: Floats
    means: Floats
    squares: Floats

    @classmethod
    def empty(cls, columns: Columns, n_classes: int) -> Gaussian:
        """Without rows."""
        return cls(columns, *np.zeros((3, len(columns.names), n_classes)))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.totals.shape[1]

    def _check(self) -> None:
        for part in (self.totals, self.means, self.squares):
            if part.shape != (len(self.columns.names), self.totals.shape[-1]) or not np.isfinite(part).all():
                raise DataError("the moments must be finite, a row for each feature and a column for each class")
        if (self.totals < 0).any() or (self.squares < 0).any():
            raise DataError("weights and squared deviations are not negative")
        self._refuse_overflow()

    def _refuse_overflow(self) -> None:
        """Refuse features whose squared deviations, over all classes together, are no float."""
        with np.errstate(over="ignore", invalid="ignore"):
            # A variance is a sum of squared deviations over their weight, which may be below 1; it has a floor, too.
            sums = [self.squares.sum(axis=1), self.of_all()[2][:, 0], np.nansum(self.parameters()[1], axis=1)]
        self.columns.refuse_overflow(np.maximum.reduce(sums), "squared deviations")

    def updated(self, numbers: Floats, classes: Ints, weights: Floats | None) -> Gaussian:
        """The moments of two sets of rows, merged by the formula of Chan, Golub and LeVeque (1979)."""
        from bntk.classifiers.density_kernels import add_moments

        own = self.columns.of(numbers)
        weights = np.ones(len(classes)) if weights is None else weights
        more, means, squares = np.zeros((3, *self.totals.shape))
        pieces = spans(len(own), pieces_for(own.size, n_threads()))
        run_parallel(lambda span: add_moments(own, classes, weights, *span, more, means, squares), pieces)
        with np.errstate(over="ignore", invalid="ignore"):
            merged = _merged((self.totals, self.means, self.squares), (more, means, squares))
        updated = Gaussian(self.columns, *merged)
        updated._refuse_overflow()
        return updated

    def of_all(self) -> Moments:
        """Weight, mean and squared deviations of all classes together, shape (F, 1) each."""
        whole: Moments = tuple(part[:, :1] for part in (self.totals, self.means, self.squares))
        for k in range(1, self.totals.shape[1]):
            whole = _merged(whole, tuple(part[:, k : k + 1] for part in (self.totals, self.means, self.squares)))
        return whole

    def with_prior(self, rows: float, spread: Floats) -> Gaussian:
        """As if each class had so many more rows with its mean, and with the variances ``spread`` around it, (F, 1).

        Without them, a class of few rows, or of rows with equal numbers, has a variance near zero, and EM takes it to
        an arbitrarily high likelihood. Means are not changed; a class without numbers has the mean of all rows.
        """
        total, mean, _ = self.of_all()
        more = np.where(total > 0, rows, 0.0)
        means = np.where(self.totals > 0, self.means, mean)
        return Gaussian(self.columns, self.totals + more, means, self.squares + more * np.nan_to_num(spread))

    def parameters(self) -> tuple[Floats, Floats]:
        """The means and variances, (F, K) each; NaN for a feature without any number."""
        total, mean, squares = self.of_all()
        of_all = np.divide(squares, total, out=np.full_like(total, np.nan), where=total > 0)
        variances = np.divide(
            self.squares, self.totals, out=np.repeat(of_all, self.totals.shape[1], 1), where=self.totals > 0
        )
        largest = np.nanmax(of_all, initial=0.0)
        # Where all numbers are alike, any positive variance says the same of every class.
        floor = max(VARIANCE_FLOOR * (largest or 1.0), 1e-300)
        return np.where(self.totals > 0, self.means, mean), variances + floor

    def log_density(self, numbers: Floats) -> Floats:
        """The sum of the log densities of the features."""
        from bntk.classifiers.density_kernels import add_gaussian

        own = self.columns.of(numbers)
        means, variances = self.parameters()
        known = np.isfinite(variances)
        precisions = np.where(known, 0.5 / variances, 0.0)
        constants = np.where(known, -0.5 * (np.log(2.0 * np.pi) + np.log(variances)), 0.0)
        out = np.zeros((means.shape[1], own.shape[1]))
        run_parallel(lambda span: add_gaussian(own, means, precisions, constants, *span, out), _row_spans(own))
        return out.T


Moments = tuple[Floats, ...]


def _merged(ours: Moments, theirs: Moments) -> Moments:
    """Weight, mean and squared deviations of two sets of rows together."""
    (n, mean, squares), (m, other, more) = ours, theirs
    total = n + m
    share = np.divide(m, total, out=np.zeros_like(total), where=total > 0)
    apart = other - mean
    return total, mean + share * apart, squares + more + n * share * apart * apart


@dataclass(frozen=True, eq=False)
class Multinomial:
    """Counts of words in a bag, all features together: P(word | class), from the counts (F, K) and the Dirichlet prior.

    The length of a bag says nothing about the class, and its multinomial coefficient, which is the same for all
    classes, is left out. A missing count is as good as none: the word was not drawn.
    """

    columns: Columns
    prior: Prior
    counts: Floats

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.counts.shape[1]

    def _check(self) -> None:
        if self.counts.ndim != 2 or len(self.counts) != len(self.columns.names):
            raise DataError("the counts must have a row for each feature and a column for each class")
        if not ((self.counts >= 0) & np.isfinite(self.counts)).all():
            raise DataError("counts are finite numbers from 0")
        with np.errstate(all="ignore"):
            if np.isnan(self.log_probabilities()).any():
                raise DataError("the counts are too large to be added up")

    def updated(self, numbers: Any, classes: Ints, weights: Floats | None) -> Multinomial:
        """The counts of more rows added; they may be a sparse matrix."""
        from bntk.classifiers.density_kernels import add_counts
        from bntk.classifiers.sparse import sums_by_class

        counts = self.counts.copy()
        if issparse(numbers):
            counts += sums_by_class(self._words(numbers), classes, self.n_classes, weights)
        else:
            own = self.columns.of(numbers, low=0.0)
            weights = np.ones(len(classes)) if weights is None else weights
            pieces = spans(len(own), pieces_for(own.size, n_threads()))
            run_parallel(lambda span: add_counts(own, classes, weights, *span, counts), pieces)
        with np.errstate(over="ignore"):
            self.columns.refuse_overflow(np.cumsum(counts.sum(axis=1)), "counts")
        return Multinomial(self.columns, self.prior, counts)

    def pseudo_count(self, prior: Prior) -> float | Floats:
        """The pseudo-count of each word, or one per word."""
        return prior.pseudo_count(Variable("word", self.columns.names), self.counts.shape[1])

    def log_probabilities(self) -> Floats:
        """log P(word | class), shape (F, K)."""
        with np.errstate(divide="ignore"):
            return np.log(posterior_mean(self.counts.T, self.pseudo_count(self.prior))).T

    def _words(self, rows: Any) -> Any:
        """The counts above 0 of a sparse matrix; a missing one is none."""
        found = rows.copy()
        found.data[np.isnan(found.data)] = 0.0
        found.eliminate_zeros()
        wrong = np.flatnonzero(~((found.data > 0) & (found.data <= LARGEST)))
        if wrong.size:
            row = int(np.searchsorted(found.indptr, wrong[0], side="right")) - 1
            raise self.columns.beyond(int(found.indices[wrong[0]]), row, found.data[wrong[0]], 0.0)
        return found

    def log_density(self, numbers: Any) -> Floats:
        """The log probability of the words of each row, but for its multinomial coefficient."""
        from bntk.classifiers.density_kernels import add_words

        if issparse(numbers):
            return np.asarray(self._words(numbers) @ self.log_probabilities())
        own, log_p = self.columns.of(numbers, low=0.0), np.ascontiguousarray(self.log_probabilities())
        out = np.zeros((log_p.shape[1], own.shape[1]))
        run_parallel(lambda span: add_words(own, log_p, *span, out), _row_spans(own))
        return out.T


@dataclass(frozen=True, eq=False)
class KernelDensities:
    """A kernel density for each feature."""

    columns: Columns
    features: tuple[KernelDensity, ...]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.features[0].n_classes

    def _check(self) -> None:
        sizes = {feature.n_classes for feature in self.features}
        if len(self.features) != len(self.columns.names) or len(sizes) != 1:
            raise DataError("there must be a density for each feature, all for the same classes")

    def updated(self, numbers: Floats, classes: Ints, weights: Floats | None) -> KernelDensities:
        """The points of more rows added."""
        own = self.columns.of(numbers)
        more = run_parallel(
            lambda pair: pair[0].updated(pair[1], classes, weights), zip(self.features, own, strict=True)
        )
        with np.errstate(over="ignore"):
            ranges = [np.ptp(density.points) if len(density.points) else 0.0 for density in more]
            self.columns.refuse_overflow(np.square(ranges) * [density.weights.sum() for density in more], "squares")
        return KernelDensities(self.columns, tuple(more))

    def log_density(self, numbers: Floats) -> Floats:
        """The sum of the log densities of the features."""
        own = self.columns.of(numbers)
        out = np.zeros((self.n_classes, own.shape[1]))
        for feature, column in zip(self.features, own, strict=True):
            feature.add_log_density(column, out)
        return out.T


def _row_spans(numbers: Floats) -> list[tuple[int, int]]:
    return spans(numbers.shape[1], -(-numbers.shape[1] // ROWS_AT_ONCE))


#: What ``numeric`` calls the densities, in the order in which a classifier has them.
_KINDS = {"gaussian": Gaussian, "kde": KernelDensities, "multinomial": Multinomial}

"""Rows without a class: the tables and densities of a network classifier by EM, from labelled and unlabelled rows.

With x_i the features of row i, and c_i its class where it has one, EM climbs on

    sum over labelled rows of log P(c_i, x_i)  +  sum over the others of log sum_c P(c, x_i)

plus the logarithm of the prior. The E-step divides each unlabelled row among the classes in proportion to P(c | x_i),
and the M-step estimates as from rows with these weights. Missing cells of discrete features are summed out in the same
E-step.

References
----------
K. Nigam, A. K. McCallum, S. Thrun and T. Mitchell (2000). Text classification from labeled and unlabeled documents
using EM. Machine Learning 39, 103-134.

T. Benaglia, D. Chauveau and D. R. Hunter (2009). An EM-like algorithm for semi- and nonparametric estimation in
multivariate mixtures. Journal of Computational and Graphical Statistics 18, 505-526.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk.classifiers.densities import (
    Density,
    Gaussian,
    KernelDensities,
    Multinomial,
    empty_densities,
    fit_densities,
)
from bntk.cpt import CPT
from bntk.data.table import Table
from bntk.data.weights import copies_of
from bntk.errors import DataError
from bntk.graph.dag import DAG
from bntk.inference.rows import log_joint_rows
from bntk.learning.counts import TableCounter
from bntk.learning.em import IncompleteRows, best_climb, log_product, with_random_tables
from bntk.learning.parameters import fit, sized_families
from bntk.learning.priors import BDeu, MaximumLikelihood, Prior
from bntk.learning.search import SearchResult
from bntk.network import BayesianNetwork

Floats = NDArray[np.float64]
Densities = tuple[Density, ...]
AnyDensity = Gaussian | KernelDensities | Multinomial

#: Where no row has a class, EM begins at so many random tables; after so many iterations, only the best goes on.
N_STARTS = 10
FIRST_ITERATIONS = 30
MAX_ITERATIONS = 500
#: EM ends when an iteration raises the objective by no more than this share of it.
TOLERANCE = 1e-7


class Model(NamedTuple):
    """The parameters of a classifier: the tables of its network, and the densities of its continuous features."""

    tables: list[Floats]
    densities: Densities


class Learned(NamedTuple):
    """What EM has found."""

    network: BayesianNetwork
    densities: Densities


@dataclass(frozen=True, eq=False)
class UnlabelledRows:
    """Training rows in which the class may be missing.

    Attributes
    ----------
    table : Table
        The discrete features and, last, the class.
    numbers : ndarray of shape (n_continuous, n_rows)
    weights : ndarray, optional
    continuous : mapping
        The continuous features, and how they are modelled.
    prior : Prior
    class_table : ndarray, optional
        The probabilities of the classes where they are given, not estimated.
    """

    table: Table
    numbers: Floats
    weights: Floats | None
    continuous: Mapping[str, str]
    prior: Prior
    class_table: Floats | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.table.variables[-1].n_states

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """The rows that have a class."""
        return np.asarray(self.table.codes[-1] < self.n_classes)

    def _check(self) -> None:
        """Refuse numbers that densities do not take, and labels that the given probabilities of the classes exclude."""
        for density in empty_densities(self.continuous, self.n_classes, self.prior):
            density.log_density(self.numbers)
        if self.class_table is None:
            return
        impossible = np.flatnonzero(np.append(self.class_table, 1.0)[self.table.codes[-1]] == 0)
        if impossible.size:
            label = self.table.variables[-1].states[self.table.codes[-1, impossible[0]]]
            raise ValueError(
                f"class_prior gives the class {label!r} the probability 0, but row {impossible[0]} has it; EM needs a "
                "positive one"
            )

    @cached_property
    def row_weights(self) -> Floats:
        """The weight of each row."""
        return np.ones(self.table.n_rows) if self.weights is None else self.weights

    def labelled(self) -> UnlabelledRows:
        """The rows that have a class."""
        known = np.flatnonzero(self.known)
        weights = None if self.weights is None else self.weights[known]
        return replace(self, table=self.table.take(known), numbers=self.numbers[:, known], weights=weights)

    def with_classes(self, codes: NDArray[Any]) -> UnlabelledRows:
        """The rows with these classes in place of their own."""
        own = np.concatenate([self.table.codes[:-1], codes[None].astype(self.table.codes.dtype)])
        return replace(self, table=Table._make(own, self.table.variables))

    def counter(self) -> TableCounter:
        """The counter of the discrete features and the class."""
        return TableCounter(self.table, self.weights)

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of each continuous feature in all rows, shape (n_continuous, 1); NaN without numbers."""
        there = ~np.isnan(self.numbers)
        weights = np.where(there, self.row_weights, 0.0)
        totals = weights.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = (weights * np.where(there, self.numbers, 0.0)).sum(axis=1, keepdims=True) / totals
            squares = (weights * np.where(there, self.numbers - means, 0.0) ** 2).sum(axis=1, keepdims=True)
            return means, squares / totals

    def spread(self, density: AnyDensity) -> Floats:
        """The variances, in all rows, of the features of a density, shape (n_features, 1)."""
        return self.moments[1][density.columns.rows]

    # ---------------------------------------------------------------- starts

    def start(self, dag: DAG, labelled: UnlabelledRows) -> Model:
        """The estimates from labelled rows: what EM begins with.

        Where tables would have zeros, so that rows could be impossible, one row is spread over the cells of each. The
        variance of a class is estimated with one more row, whatever the prior: few rows may have none.
        """
        counter = labelled.counter()
        tables = [cpt.values for cpt in fit(dag, counter, self.prior, missing="available").cpts]
        if any((table == 0).any() for table in tables):
            tables = [cpt.values for cpt in fit(dag, counter, BDeu(1.0), missing="available").cpts]
        classes = labelled.table.codes[-1].astype(np.int64)
        densities = fit_densities(
            self.continuous, labelled.numbers, classes, self.n_classes, labelled.weights, self.prior
        )
        return Model(self._with_class_table(tables), tuple(map(self._without_zeros, densities)))

    def _without_zeros(self, density: Density) -> Density:
        if isinstance(density, Gaussian):
            return density.with_prior(1.0, self.spread(density))
        if isinstance(density, Multinomial) and not np.isfinite(density.log_probabilities()).all():
            return replace(density, prior=BDeu(1.0))
        return density

    def random_starts(self, dag: DAG, seed: int) -> Iterator[Model]:
        """Random tables of the families that have the class in them, and densities around rows drawn at random."""
        rng, target = np.random.default_rng(seed), len(dag.nodes) - 1
        families = sized_families(dag, self.table.variables, np.iinfo(np.int64).max)
        uniform = [np.full([v.n_states for v in family], 1.0 / family[-1].n_states) for family in families]
        children = [node for node, parents in enumerate(dag.parent_indices) if target in parents]
        copies = None if self.weights is None else copies_of(self.weights)
        n_rows = self.table.n_rows if copies is None else len(copies)
        for _ in range(N_STARTS):
            tables = with_random_tables(uniform, children, rng)
            seeds = rng.choice(n_rows, self.n_classes, replace=n_rows < self.n_classes)
            yield Model(self._with_class_table(tables), tuple(self._around(seeds if copies is None else copies[seeds])))

    def _around(self, seeds: NDArray[np.int64]) -> Iterator[Density]:
        """Densities of classes, each around one row; a normal distribution where a kernel density is to come."""
        for empty in empty_densities(self.continuous, self.n_classes, self.prior):
            own = self.numbers[empty.columns.rows]
            if isinstance(empty, Multinomial):
                words = np.nan_to_num(own)
                everywhere, there = words @ self.row_weights, words[:, seeds]
                shares = there / np.maximum(there.sum(axis=0), 1e-300) * everywhere.sum()
                yield replace(empty, counts=(everywhere[:, None] + shares) / (2 * self.n_classes))
                continue
            mean, spread = self.moments[0][empty.columns.rows], self.spread(empty)
            means = np.nan_to_num(np.where(np.isnan(own[:, seeds]), mean, own[:, seeds]))
            totals = np.repeat(np.where(np.isnan(spread), 0.0, 1.0), self.n_classes, axis=1)
            yield Gaussian(empty.columns, totals, means, totals * np.nan_to_num(spread))

    def _with_class_table(self, tables: list[Floats]) -> list[Floats]:
        return tables if self.class_table is None else [*tables[:-1], self.class_table]

    # ---------------------------------------------------------------- EM

    def learn(self, find_structure: Callable[[TableCounter], SearchResult], seed: int) -> tuple[SearchResult, Learned]:
        """A structure, found on the labelled rows, and its parameters by EM from all rows.

        Where no row has a class, naive Bayes finds some by EM from random starts, and the most probable ones take the
        place of labels: for the structure, and for the estimates that EM begins with.
        """
        self._check()
        if self.known.any():
            labelled, learned = self.labelled(), None
        else:
            *features, target = self.table.names
            naive = DAG(self.table.names, [(target, name) for name in features])
            learned = self.climb(naive, self.random_starts(naive, seed))
            labelled = self.with_classes(self.most_probable(learned))
        found = find_structure(labelled.counter())
        if self.class_table is not None:
            refuse_parents(found.dag.parents(self.table.names[-1]))
        if learned is None or found.dag != learned.network.dag:
            learned = self.climb(found.dag, [self.start(found.dag, labelled)])
        return found, learned

    def climb(self, dag: DAG, starts: Iterable[Model]) -> Learned:
        """EM from each start, for some iterations, and from the best to the end; the network has the report."""
        rows = ClassExpectation(dag, self)
        first, tried = best_climb(rows, starts, self.prior, max_iter=FIRST_ITERATIONS, tolerance=TOLERANCE)
        best, report = first, tried
        if not first.converged:
            best, report = best_climb(
                rows, [first.parameters], self.prior, max_iter=MAX_ITERATIONS - FIRST_ITERATIONS, tolerance=TOLERANCE
            )
            report = report.after(tried)
        network = rows.discrete.network(dag, best.statistics.tables)
        return Learned(network._with_report(report), best.parameters.densities)

    def most_probable(self, learned: Learned) -> NDArray[np.intp]:
        """The most probable class of each row, whatever its own."""
        return np.argmax(log_scores(learned.network, self.table, self.numbers, learned.densities), axis=1)


def refuse_parents(parents: Sequence[str]) -> None:
    """Refuse a class with parents, for which ``class_prior`` does not say enough."""
    if parents:
        raise ValueError(f"class_prior cannot be given for a class with parents ({', '.join(parents)})")


def log_scores(network: BayesianNetwork, table: Table, numbers: Floats, densities: Densities) -> Floats:
    """log P(class, features) of each row, shape (n_rows, n_classes)."""
    scores = log_joint_rows(network, table.codes, len(network.cpts) - 1)
    return np.asarray(sum((density.log_density(numbers) for density in densities), start=scores))


class ClassExpectation:
    """The E-step and the M-step for rows whose class may be missing, see :class:`bntk.learning.em.Expectation`.

    The discrete features alone are a network with missing values, for which EM counts. A continuous feature depends on
    the class only; so each unlabelled row is counted once for every class, with the probability of the class as its
    weight.

    Parameters
    ----------
    dag : DAG
        Over the discrete features and, last, the class.
    rows : UnlabelledRows
    """

    is_complete = False

    def __init__(self, dag: DAG, rows: UnlabelledRows) -> None:
        self.dag, self.rows = dag, rows
        self._empty = empty_densities(rows.continuous, rows.n_classes, rows.prior)
        fixed = {} if rows.class_table is None else {len(dag.nodes) - 1: rows.class_table}
        table, weights = rows.table, rows.weights
        if self._empty:
            self._given_classes = table.codes[-1].astype(np.int64)
            self._owners, self._classes = self._completions()
            codes = table.codes[:, self._owners]
            codes[-1] = self._classes
            table, weights = Table._make(codes, table.variables), None
        self.discrete = IncompleteRows(dag, table, weights, rows.prior, fixed=fixed)
        # Maximum likelihood is what it says; any other prior has one row for the variance of a class, too.
        self._more_rows = 0.0 if isinstance(rows.prior, MaximumLikelihood) else 1.0

    def _completions(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Each labelled row once, with its class, and each unlabelled one with every class."""
        known, K = self.rows.known, self.rows.n_classes
        labelled, unlabelled = np.flatnonzero(known), np.flatnonzero(~known)
        classes = self.rows.table.codes[-1, labelled].astype(np.int64)
        return (
            np.concatenate([labelled, np.repeat(unlabelled, K)]),
            np.concatenate([classes, np.tile(np.arange(K), len(unlabelled))]),
        )

    def expect(self, model: Model) -> tuple[Model, float]:
        """Expected counts, and the densities of rows weighted by the probabilities of their classes."""
        if not self._empty:
            counts, log_likelihood = self.discrete.expect(model.tables)
            return Model(counts, ()), log_likelihood
        shares, log_likelihood = self._shares(model)
        completed = self.discrete.with_weights(shares[self._owners, self._classes])
        densities = [self._weighted(empty, shares) for empty in self._empty]
        return Model(completed.expect(model.tables)[0], tuple(densities)), log_likelihood

    def _shares(self, model: Model) -> tuple[Floats, float]:
        """The weight of each row in each class, shape (n_rows, n_classes), and the log-likelihood."""
        from bntk.classifiers.unlabelled_kernels import divide_rows

        rows = self.rows
        parts = zip(self.discrete.families, model.tables, strict=True)
        network = BayesianNetwork._trusted(self.dag, [CPT._trusted(f[-1], values, f[:-1]) for f, values in parts])
        scores = log_scores(network, rows.table, rows.numbers, model.densities)
        log_likelihood, impossible = divide_rows(scores, self._given_classes, rows.row_weights)
        if impossible >= 0:
            raise DataError(
                f"row {impossible} has probability zero in every class that it may have; take a prior that leaves "
                "nothing impossible, such as prior=1"
            )
        return scores, float(log_likelihood)

    def _weighted(self, empty: Density, shares: Floats) -> Density:
        for k, weights in enumerate(shares.T):
            empty = empty.updated(self.rows.numbers, np.full(len(weights), k), np.ascontiguousarray(weights))
        return empty

    def maximise(self, expected: Model) -> Model:
        """The tables for expected counts, and the densities under their prior."""
        return Model(self.discrete.maximise(expected.tables), tuple(map(self._with_prior, expected.densities)))

    def _with_prior(self, density: Density) -> Density:
        if isinstance(density, Gaussian) and self._more_rows:
            return density.with_prior(self._more_rows, self.rows.spread(density))
        return density

    def log_prior(self, model: Model) -> float:
        """That of the tables, of words, and of variances v: -(log v + spread / v) / 2 for one row."""
        total = self.discrete.log_prior(model.tables)
        for density in model.densities:
            if isinstance(density, Gaussian) and self._more_rows:
                variances, spread = density.parameters()[1], self.rows.spread(density)
                total -= 0.5 * self._more_rows * float(np.nansum(np.log(variances) + spread / variances))
            elif isinstance(density, Multinomial):
                words = np.exp(density.log_probabilities().T)
                total += log_product([np.broadcast_to(density.pseudo_count(self.rows.prior), words.shape)], [words])
        return total

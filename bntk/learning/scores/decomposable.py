"""Scores that are sums over families: each is one formula of the counts of a child given its parents.

Notation, as in the papers: N_ijk rows have child i in state k and its parents in configuration j; N_ij = sum_k N_ijk;
r states of the child, q parent configurations (seen or not), N rows. Natural logarithms; higher is better.

Missing values: a row counts for a family when it is complete in it (available cases). Families are then scored on
different rows, and one with few complete rows scores better than it should, because there is less to explain. Where
many values are missing, take ``missing="average"``, which LogLikelihood, AIC and BIC offer.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk.data.variable import Variable
from bntk.errors import DataError
from bntk.graph.dag import DAG
from bntk.learning.counts import Counter
from bntk.learning.priors import check_pseudo_count, class_among, sample_size
from bntk.learning.scores import kernels
from bntk.learning.scores.base import Score, TableBatch

if TYPE_CHECKING:
    from bntk.learning.scores.explain import ScoreTerms
    from bntk.learning.scores.family_evaluator import FamilyEvaluator

Missing = Literal["available", "average"]


class Reach(NamedTuple):
    """For a batch of families, what is known about all families that contain each of them.

    From this a score derives upper bounds for the larger families.

    Attributes
    ----------
    tables : callable
        Returns the tables N_ijk of the families themselves; rows are read only when it is called.
    cards, qs : ndarray of shape (f,)
        Number of states r of each child, and of its parent configurations q.
    n : float
        Rows of the data.
    ceilings : ndarray of shape (f,)
        The log-likelihood of each child given all other variables, which no set of parents exceeds.
    most_configurations, most_seen : ndarray of shape (f,)
        How many parent configurations there can be, and how many of them can have been seen.
    whole : bool
        True when no cell is missing and no row is weighted, so that the tables of larger families refine these.
    """

    tables: Callable[[], TableBatch]
    cards: NDArray[np.int64]
    qs: NDArray[np.float64]
    n: float
    ceilings: NDArray[np.float64]
    most_configurations: NDArray[np.float64]
    most_seen: NDArray[np.float64]
    whole: bool


class DecomposableScore(Score):
    """The base of scores that are sums over families, each a function of the counts of a child given its parents.

    A score of your own needs only ``name`` and :meth:`family`; everything else follows from it.

    Examples
    --------
    >>> import numpy as np
    >>> from bntk.learning import scores
    >>> class Rows(scores.DecomposableScore):
    ...     name = "rows"
    ...     def family(self, counts, q=None, n=None):
    ...         return float(np.sum(counts))
    >>> scores.score("a -> b", {"a": [0, 1], "b": [1, 1]}, Rows())
    4.0
    """

    _equivalent: ClassVar[bool] = False

    @property
    def equivalent(self) -> bool:
        """True when Markov-equivalent DAGs have the same score on complete data."""
        return self._equivalent

    @abstractmethod
    def family(self, counts: ArrayLike, q: float | None = None, n: float | None = None) -> float:
        """The score of one family.

        Parameters
        ----------
        counts : array_like of shape (m, r)
            N_ijk with one row for each parent configuration: all of them, or those that were seen. A vector is a
            child without parents.
        q : float, optional
            Number of parent configurations that exist; by default the number of rows of ``counts``.
        n : float, optional
            Number of rows of the data, for penalties; by default the sum of the counts.
        """

    def for_variables(self, variables: Sequence[Variable]) -> DecomposableScore:
        """The score for data with these variables; the same, unless it depends on their numbers of states."""
        return self

    def terms(self, counts: ArrayLike, q: float | None = None, n: float | None = None) -> tuple[float, float]:
        """Fit and penalty of one family; the score is their difference."""
        return self.family(counts, q, n), 0.0

    def evaluate(self, batch: TableBatch, n: float) -> NDArray[np.float64]:
        """The score of each family of a batch; ``n`` is the number of rows of the data."""
        return np.array([self.family(batch.matrix(f), float(batch.qs[f]), n) for f in range(len(batch))])

    def bounds(self, reach: Reach) -> NDArray[np.float64]:
        """For each family of a batch, a number that no family containing it exceeds; infinite when none is known."""
        return np.full(len(reach.cards), np.inf)

    def evaluator(
        self, counter: Counter, dag: DAG | None = None, *, arc_weights: NDArray[np.float64] | None = None
    ) -> FamilyEvaluator:
        """An evaluator of this score on the rows of a counter; see :meth:`Score.evaluator`."""
        from bntk.learning.scores.family_evaluator import FamilyEvaluator

        return FamilyEvaluator(self, counter, dag, arc_weights=arc_weights)

    def explain(self, data: Any, child: str, parents: Any = ()) -> ScoreTerms:
        """The terms of one family; see :func:`bntk.scores.explain`."""
        from bntk.learning.scores.explain import explain

        return explain(self, data, child, parents)


class Rule(NamedTuple):
    """A score as plain numbers, in the order in which kernels take them; see :mod:`.kernels`."""

    formula: int
    spread: int = kernels.EACH_CELL
    alpha: float = 0.0
    penalty: float = 0.0
    average: bool = False


class KernelScore(DecomposableScore):
    """A score whose formula is one of those in :mod:`.kernels`, chosen by a :class:`Rule`."""

    @abstractmethod
    def _rule(self, n: float) -> Rule:
        """The rule for data of n rows."""

    def family(self, counts: ArrayLike, q: float | None = None, n: float | None = None) -> float:
        """The score of one family; see :meth:`DecomposableScore.family`."""
        fit, penalty = self.terms(counts, q, n)
        return fit - penalty

    def terms(self, counts: ArrayLike, q: float | None = None, n: float | None = None) -> tuple[float, float]:
        """Fit and penalty of one family; the score is their difference."""
        table = _as_table(counts)
        n = float(table.sum()) if n is None else _checking.number("n", n, 0)
        q = float(len(table)) if q is None else _checking.number("q", q, 0, above=True)
        return kernels.table_terms(table, q, *self._rule(n), n)

    def evaluate(self, batch: TableBatch, n: float) -> NDArray[np.float64]:
        """The score of each family of a batch; ``n`` is the number of rows of the data."""
        return batch.run(kernels.score_tables, *self._rule(n), n)

    def bounds(self, reach: Reach) -> NDArray[np.float64]:
        """For each family of a batch, what no family that contains it exceeds.

        - Likelihood: L - penalty(q), where L is the log-likelihood given all other variables (at most 0); the penalty
          grows with q (de Campos and Ji 2011, "Efficient structure learning of Bayesian networks using constraints").
          The fit of SB is no larger than the log-likelihood.
        - Dirichlet: the smaller of L, since a marginal likelihood is no larger than the maximum, and
          sum_jk log G(ra) G(a + N_ijk) / (G(ra + N_ijk) G(a)), which further parents reach when they tell the states of
          the child apart, with the smallest pseudo-count a that they can lead to. For a -> 0 each cell that was seen
          adds -log r; de Campos and Ji count configurations instead of cells.
        - fNML: L - sum_j log C(N_ij, r), since C(n + m, r) <= C(n, r) C(m, r).
        - qNML: L - log C(N, q r) + log C(N, q). C is a polynomial in its number of cells with no negative coefficient,
          so that the difference grows with q.

        The last three need whole rows; otherwise only L is left.
        """
        rule, r = self._rule(reach.n), reach.cards
        if rule.formula == kernels.LIKELIHOOD:
            return reach.ceilings - rule.penalty * (r - 1) * reach.qs
        if not reach.whole:
            return reach.ceilings
        if rule.formula == kernels.DIRICHLET:
            spread_over = reach.most_configurations if rule.spread == kernels.ALL_CELLS else reach.most_seen
            tables = replace(reach.tables(), qs=spread_over)
            return np.minimum(reach.ceilings, tables.run(kernels.pure_dirichlets, rule.alpha, rule.spread))
        if rule.formula == kernels.FNML:
            return reach.ceilings - reach.tables().run(kernels.factored_regrets)
        return reach.ceilings - kernels.log_regrets(reach.n, reach.qs * r) + kernels.log_regrets(reach.n, reach.qs)


@dataclass(frozen=True)
class LogLikelihood(KernelScore):
    """Maximum log-likelihood: sum_jk N_ijk log(N_ijk / N_ij), without a penalty.

    It never falls when a parent is added.

    Parameters
    ----------
    missing : {"available", "average"}
        The score of a family with missing values. ``"available"``: the sum over the rows that are complete in it.
        ``"average"``: the mean over these rows times the number of all rows, N LL_i / N_i (node-average likelihood,
        Balov 2013, "Consistent model selection of discrete Bayesian networks from incomplete data"); for a family
        without any complete row, the log-likelihood of the uniform distribution, -N log r.

    Examples
    --------
    >>> LogLikelihood().family([[2, 2], [0, 3]])
    -2.772588722239781
    """

    missing: Missing = "available"
    name = "loglik"
    aliases = ("ll",)
    _equivalent = True

    def __post_init__(self) -> None:
        _check_missing(self.missing)

    def _rule(self, n: float) -> Rule:
        return Rule(kernels.LIKELIHOOD, average=self.missing == "average")


@dataclass(frozen=True)
class AIC(KernelScore):
    """Akaike information criterion: the log-likelihood minus the number of free parameters, LL - (r - 1) q.

    (Akaike 1974.) All parent configurations count, seen or not. R's bnlearn has the same scale (-1/2 times the
    classical one).

    Parameters
    ----------
    missing : {"available", "average"}
        With missing values, the log-likelihood of a family is the sum over the rows that are complete in it, or the
        mean over these rows times the number of all rows; see :class:`LogLikelihood`.
    """

    missing: Missing = "available"
    name = "aic"
    _equivalent = True

    def __post_init__(self) -> None:
        _check_missing(self.missing)

    def _rule(self, n: float) -> Rule:
        return Rule(kernels.LIKELIHOOD, penalty=1.0, average=self.missing == "average")


@dataclass(frozen=True)
class BIC(KernelScore):
    """Bayesian information criterion, also known as MDL: LL - (r - 1) q log(N) / 2 (Schwarz 1978).

    N is the number of all rows (or the sum of their weights), whatever is missing. All parent configurations count,
    seen or not. R's bnlearn has the same scale (-1/2 times the classical one).

    Parameters
    ----------
    missing : {"available", "average"}
        With missing values, the log-likelihood of a family is the sum over the rows that are complete in it, or the
        mean over these rows times the number of all rows; see :class:`LogLikelihood`.
    """

    missing: Missing = "available"
    name = "bic"
    _equivalent = True

    def __post_init__(self) -> None:
        _check_missing(self.missing)

    def _rule(self, n: float) -> Rule:
        return Rule(kernels.LIKELIHOOD, penalty=_half_log(n), average=self.missing == "average")


@dataclass(frozen=True)
class BDeu(KernelScore):
    """Bayesian Dirichlet equivalent uniform: the log marginal likelihood with alpha_ijk = ess / (q r).

        sum_j [log G(ess / q) / G(ess / q + N_ij) + sum_k log G(alpha_ijk + N_ijk) / G(alpha_ijk)]

    (Buntine 1991; Heckerman, Geiger and Chickering 1995), with G the gamma function.

    Parameters
    ----------
    ess : float
        Equivalent sample size: the prior counts as much as this number of rows, spread evenly over all cells.
    """

    ess: float = 1.0
    name = "bdeu"
    _equivalent = True

    def __post_init__(self) -> None:
        check_pseudo_count(self.ess, "the equivalent sample size ess", positive=True)

    @classmethod
    def per_class(cls, alpha: float, n_classes: int | None = None, *, target: str | None = None) -> BDeu | BDeuPerClass:
        """The score whose families have an equivalent sample of ``alpha`` rows *in each class*: :class:`BDeuPerClass`.

        Parameters
        ----------
        alpha : float
            Equivalent sample size of each class. Numbers from 1 to 5 are usual.
        n_classes : int, optional
            The number of classes, if it is known: the score is ``BDeu(alpha * n_classes)``.
        target : str, optional
            The class variable. Classifiers fill it in.

        Examples
        --------
        >>> BDeu.per_class(2.0), BDeu.per_class(2.0, n_classes=3)
        (BDeuPerClass(alpha=2.0, target=None), BDeu(ess=6.0))
        """
        return BDeuPerClass(alpha, target) if n_classes is None else cls(sample_size(alpha, n_classes))

    def _rule(self, n: float) -> Rule:
        return Rule(kernels.DIRICHLET, kernels.ALL_CELLS, float(self.ess))


@dataclass(frozen=True)
class BDeuPerClass(DecomposableScore):
    """BDeu with the same equivalent sample size in each class: ``ess`` is ``alpha`` times the number of classes.

    A feature x_i with the class and a feature x_j as parents has alpha_{x_i x_j | c} = alpha / (r_i r_j), the
    class-conditional equivalent sample size of Mauá's lecture, section 3; the class itself has alpha for each of its
    states. A family without the class has all rows of the sample: alpha K / (q r) per cell, with K classes. So it is
    :class:`BDeu`, Markov-equivalent structures have the same score, and the weight of a pair of features given the
    class does not depend on the direction of the arc.

    Parameters
    ----------
    alpha : float
        Equivalent sample size of each class. Numbers from 1 to 5 are usual.
    target : str, optional
        The class variable. Classifiers fill it in.

    Examples
    --------
    >>> import bntk
    >>> data = {"fruit": ["apple", "pear", "fig"], "colour": ["red", "green", "green"]}
    >>> rule = BDeuPerClass(2, target="fruit")
    >>> bntk.score("fruit -> colour", data, rule) == bntk.score("fruit -> colour", data, BDeu(2 * 3))
    True
    """

    alpha: float = 1.0
    target: str | None = None
    name = "bdeu_per_class"
    _equivalent = True

    def __post_init__(self) -> None:
        check_pseudo_count(self.alpha, "the equivalent sample size alpha of a class", positive=True)
        if self.target is not None:
            _checking.text("target", self.target, "the name of a variable, or None")

    def with_target(self, target: str) -> BDeuPerClass:
        """The same score of another class variable."""
        return replace(self, target=target)

    def for_variables(self, variables: Sequence[Variable]) -> BDeu:
        """``BDeu(alpha * K)``, with the number K of states of the class variable."""
        return BDeu(sample_size(self.alpha, class_among(variables, self.target, self).n_states))

    def family(self, counts: ArrayLike, q: float | None = None, n: float | None = None) -> float:
        """Refused: the counts of a family do not tell the number of classes."""
        raise DataError(
            f"{self!r} depends on the number of classes, which a family alone does not tell; give it: "
            f"BDeu.per_class({self.alpha!r}, n_classes=...)"
        )

    def evaluator(
        self, counter: Counter, dag: DAG | None = None, *, arc_weights: NDArray[np.float64] | None = None
    ) -> FamilyEvaluator:
        """An evaluator of ``BDeu(alpha * K)`` on the rows of a counter; see :meth:`Score.evaluator`."""
        return self.for_variables(counter.variables).evaluator(counter, dag, arc_weights=arc_weights)


@dataclass(frozen=True)
class BDs(KernelScore):
    """Bayesian Dirichlet sparse: BDeu with the prior spread over the parent configurations that were observed.

    alpha_ijk = ess / (q' r), with q' the number of configurations with N_ij > 0 (Scutari 2016, "An empirical-Bayes
    score for discrete Bayesian networks"). Equivalent DAGs have the same score only where all configurations were
    observed.

    Parameters
    ----------
    ess : float
        Equivalent sample size: the prior counts as much as this number of rows.
    """

    ess: float = 1.0
    name = "bds"

    def __post_init__(self) -> None:
        check_pseudo_count(self.ess, "the equivalent sample size ess", positive=True)

    def _rule(self, n: float) -> Rule:
        return Rule(kernels.DIRICHLET, kernels.SEEN_CELLS, float(self.ess))


@dataclass(frozen=True)
class HGC(KernelScore):
    """Bayesian Dirichlet score of Heckerman, Geiger and Chickering with the same alpha for every cell.

        Q_HGC = sum_j [log G(alpha_ij) / G(alpha_ij + N_ij) + sum_k log G(alpha_ijk + N_ijk) / G(alpha_ijk)],

    alpha_ij = r alpha (Mach and Mraz, "Quality measures for Bayesian network classifier design", eq. 3). The prior over
    structures is uniform and left out.

    Parameters
    ----------
    alpha : float
        Pseudo-count of each cell; 1 is the K2 score, 0.5 Jeffreys' prior.
    """

    alpha: float = 1.0
    name = "hgc"

    def __post_init__(self) -> None:
        check_pseudo_count(self.alpha, "the pseudo-count alpha", positive=True)

    def _rule(self, n: float) -> Rule:
        return Rule(kernels.DIRICHLET, kernels.EACH_CELL, float(self.alpha))


@dataclass(frozen=True)
class K2(KernelScore):
    """K2 score of Cooper and Herskovits (1992): the log marginal likelihood with alpha = 1 for every cell.

        sum_j [log (r - 1)! / (N_ij + r - 1)! + sum_k log N_ijk!]

    It is :class:`HGC` with alpha = 1, and has no parameters.
    """

    name = "k2"

    def _rule(self, n: float) -> Rule:
        return Rule(kernels.DIRICHLET, kernels.EACH_CELL, 1.0)


@dataclass(frozen=True)
class SB(KernelScore):
    """Standard Bayesian measure: posterior of structure and parameters at their mode, with the penalty of BIC.

        Q_SB = sum_jk (N_ijk + alpha - 1) log((N_ijk + alpha - 1) / (N_ij + r alpha - r)) - (r - 1) q log(N) / 2

    (Mach and Mraz, "Quality measures for Bayesian network classifier design", eq. 8, with alpha_ijk = alpha for every
    cell). Configurations without rows contribute too when alpha > 1. With alpha = 1 it is BIC.

    Parameters
    ----------
    alpha : float
        Dirichlet parameter of each cell, at least 1: below that the density of the parameters has no mode inside, and a
        cell without rows would be the logarithm of a negative number.
    """

    alpha: float = 2.0
    name = "sb"

    def __post_init__(self) -> None:
        if not (_checking.is_number(self.alpha) and 1 <= self.alpha < math.inf):
            raise ValueError(
                f"SB needs a finite alpha of at least 1, not {self.alpha!r}: below 1 the posterior of the parameters "
                "has no mode (eq. 8 takes logarithms of N_ijk + alpha - 1)"
            )

    @property
    def equivalent(self) -> bool:
        """True for alpha = 1, where it is BIC."""
        return self.alpha == 1

    def _rule(self, n: float) -> Rule:
        return Rule(kernels.LIKELIHOOD, alpha=self.alpha - 1.0, penalty=_half_log(n))


@dataclass(frozen=True)
class FNML(KernelScore):
    """Factorised normalised maximum likelihood: LL - sum_j log C(N_ij, r).

    (Silander, Roos, Kontkanen and Myllymaki 2008.) C(n, r) is the sum of the maximum likelihoods of all sequences of n
    rows over r states. The score has no parameters. C is computed exactly for every n (R's bnlearn approximates it for
    n > 1000).
    """

    name = "fnml"

    def _rule(self, n: float) -> Rule:
        return Rule(kernels.FNML)


@dataclass(frozen=True)
class QNML(KernelScore):
    """Quotient normalised maximum likelihood: LL - log C(N, q r) + log C(N, q).

    (Silander, Leppa-aho, Jaasaari and Roos 2018, "Quotient normalized maximum likelihood criterion for learning
    Bayesian network structures".) C as in :class:`FNML`, computed exactly; R's bnlearn approximates it for N > 1000 or
    more than 100 cells.
    """

    name = "qnml"
    _equivalent = True

    def _rule(self, n: float) -> Rule:
        return Rule(kernels.QNML)


def _as_table(counts: ArrayLike) -> NDArray[Any]:
    """Counts as an array of the shape (m, r, 1) of one of the two types that kernels are compiled for."""
    numbers = _checking.numbers("counts", counts, "a table of numbers")
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise _checking.wrong("counts", "finite numbers from 0", counts)
    whole = np.asarray(counts).dtype.kind in "biu"
    table = np.atleast_2d(np.asarray(counts) if whole else numbers)
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"counts must have the shape (configurations, states), not {numbers.shape}")
    kind = np.float64 if table.dtype.kind == "f" else np.int64
    return np.array(table, dtype=kind, order="C")[:, :, None]  # a copy: kernels would be compiled anew for a view


def _half_log(n: float) -> float:
    return 0.5 * math.log(max(n, 1.0))


def _check_missing(missing: str) -> None:
    _checking.one_of("missing", missing, ("available", "average"))

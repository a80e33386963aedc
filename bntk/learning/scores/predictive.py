"""Scores of a structure as a classifier: how well the class of a row is predicted from rows that are not that row.

They look at log p(c | a, D', S): the class c of a row given its other cells a, with the parameters
theta_ijk = (N_ijk + alpha) / (N_ij + r alpha) counted on rows D' that the row is not among. The scores differ in D'.
Only the families that contain the class matter, and the counts of the rows that are left out are subtracted from the
tables: nothing is refitted. The class may be anywhere in the DAG; it may have parents.

Weights: whole ones are repetitions. Where rows are divided into folds, or come one after the other, a row of weight 2
is two rows, which may be in different folds. Rows with other weights, and those of more than 2^22 (4 million) in all,
are not split: each is left out as a whole. Folds that are given are those of rows with all their weight.

Missing cells: rows whose class is missing are left out entirely. A row counts for a family when it is complete in it
(available cases). What a row with missing cells is predicted by is a choice, the parameter ``missing``:

- ``"approximate"``: by the families one by one. A family whose child is missing adds nothing, which is exact for a
  child without children; where feature parents are missing, theta is that of the table summed over these parents.
- ``"exact"``: by the network, p(c | observed cells) with the missing cells summed out, as a classifier predicts that is
  fitted to the other rows. The families of a row are tied together then, so that each structure takes sums over the
  missing cells of the rows that a move changes. See :mod:`.missing_sums`. For a tree over asia and 300 rows with a
  tenth of their cells missing, a structure takes 0.2 ms (LOO, LC) to 0.3 ms (CV in ten folds) instead of 0.01 ms; for
  30 variables and 1000 rows, 1.1 ms and 2.2 ms instead of 0.02 ms. Complete rows cost the same.

References
----------
M. Mach and M. Mráz. Quality measures for Bayesian network classifier design, eqs. 10 to 13.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.graph.dag import DAG
from bntk.learning.counts import Counter
from bntk.learning.scores import leaving_out
from bntk.learning.scores.base import Score

if TYPE_CHECKING:
    from bntk.learning.scores.predictive_evaluator import PredictiveEvaluator

# Beyond these, products of ratios of probabilities could overflow.
LEAST_ALPHA, MOST_ALPHA = 1e-30, 1e30


Missing = Literal["approximate", "exact"]


class PredictiveScore(Score):
    """The base of scores that predict the class of each row from other rows.

    Every such score is a frozen dataclass with at least these fields.

    Attributes
    ----------
    target : str or None
        The class variable. None is filled in by classifiers; see :meth:`with_target`.
    alpha : float
        Pseudo-count that is added to each count; above zero. A :class:`ConfusionScore` calls it ``prior``.
    missing : {"approximate", "exact"}
        What a row with missing cells is predicted by: the families one by one, or the network, with these cells summed
        out. ``"approximate"`` for scores without this field.
    """

    target: str | None
    missing: Missing = "approximate"

    #: The field with the pseudo-count.
    _pseudo_count_field: ClassVar[str] = "alpha"

    @property
    def divides_rows(self) -> bool:
        """Whether the plan depends on where rows are, so that a row of weight 2 is to be two rows, one by one."""
        return False

    def __post_init__(self) -> None:
        given = getattr(self, self._pseudo_count_field)
        if not (_checking.is_number(given) and LEAST_ALPHA <= given <= MOST_ALPHA):
            raise ValueError(
                f"{self._pseudo_count_field} must be a number above 0 (from {LEAST_ALPHA:g} to {MOST_ALPHA:g}), not "
                f"{given!r}: a prediction must not be impossible because some rows were left out"
            )
        _checking.one_of("missing", self.missing, get_args(Missing))
        if self.target is not None:
            _checking.text("target", self.target, "the name of a variable, or None")

    @property
    def pseudo_count(self) -> float:
        """What is added to each count."""
        return float(getattr(self, self._pseudo_count_field))

    def with_target(self, target: str) -> Self:
        """The same score of another class variable.

        >>> LOO(alpha=0.5).with_target("class")
        LOO(target='class', alpha=0.5, missing='approximate')
        """
        return replace(self, target=target)  # type: ignore[type-var]  # every subclass is a dataclass

    @abstractmethod
    def plan(self, y: NDArray[np.int64], kept: NDArray[np.bool_]) -> leaving_out.HoldoutPlan:
        """Which rows are left out together, for the classes ``y`` of the rows that are ``kept``."""

    def row_weights(self, plan: leaving_out.HoldoutPlan, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each row of the plan counts in the value; ``weights`` are those of the data."""
        return weights[plan.order]

    def evaluator(
        self, counter: Counter, dag: DAG | None = None, *, arc_weights: NDArray[np.float64] | None = None
    ) -> PredictiveEvaluator:
        """An evaluator of this score on the rows of a counter, which must be in memory; see :meth:`Score.evaluator`."""
        from bntk.learning.scores.exact_evaluator import ExactPredictiveEvaluator
        from bntk.learning.scores.predictive_evaluator import PredictiveEvaluator

        if self.missing == "exact":
            return ExactPredictiveEvaluator(self, counter, dag, arc_weights=arc_weights)
        return PredictiveEvaluator(self, counter, dag, arc_weights=arc_weights)


@dataclass(frozen=True)
class LOO(PredictiveScore):
    """Leave-one-out log-likelihood of the class: sum_i log p(c_i | a_i, D without row i, S).

    Mach and Mráz, eq. 12. A row of weight w counts as w rows, of which one is left out; with a weight below 1, all of
    it.

    Parameters
    ----------
    target : str, optional
        The class variable.
    alpha : float
        Pseudo-count that is added to each count.
    missing : {"approximate", "exact"}
        What a row with missing cells is predicted by. ``"approximate"``: the families one by one, with parents that are
        missing summed out of each; quick, but some percent off. ``"exact"``: the network, with the missing cells summed
        out, as a classifier with this prior predicts that is fitted to the other rows; 20 to 100 times slower where
        half of the rows or more have missing cells.

    Examples
    --------
    >>> import bntk
    >>> data = {"fruit": ["apple", "pear", "pear"], "colour": ["red", "green", "green"]}
    >>> round(bntk.score("fruit; colour", data, LOO("fruit")), 4)  # log(1/4) + 2 log(1/2)
    -2.7726
    >>> round(bntk.score("fruit -> colour", data, LOO("fruit")), 4)  # log(2/5) + 2 log(2/3)
    -1.7272
    """

    target: str | None = None
    alpha: float = 1.0
    missing: Missing = field(default="approximate", kw_only=True)
    name = "loo"

    def plan(self, y: NDArray[np.int64], kept: NDArray[np.bool_]) -> leaving_out.HoldoutPlan:
        """Each row alone is left out."""
        return leaving_out.leave_one_out(y)


@dataclass(frozen=True)
class LC(PredictiveScore):
    """Local criterion (prequential log-likelihood of the class): sum_i log p(c_i | a_i, rows before i, S).

    Mach and Mráz, eq. 11. The order of the rows matters; by default it is that of the table. Use ``shuffle`` where rows
    are sorted by class, or come from a process that changes.

    Parameters
    ----------
    target : str, optional
        The class variable.
    alpha : float
        Pseudo-count that is added to each count.
    shuffle : int, optional
        The seed of a random order.
    missing : {"approximate", "exact"}
        What a row with missing cells is predicted by. ``"approximate"``: the families one by one, with parents that are
        missing summed out of each; quick, but some percent off. ``"exact"``: the network, with the missing cells summed
        out, as a classifier with this prior predicts that is fitted to the other rows; 20 to 100 times slower where
        half of the rows or more have missing cells.

    Examples
    --------
    >>> import bntk
    >>> data = {"fruit": ["apple", "pear", "pear"], "colour": ["red", "green", "green"]}
    >>> round(bntk.score("fruit; colour", data, LC("fruit")), 4)  # log(1/2) + log(1/3) + log(2/4)
    -2.4849
    """

    target: str | None = None
    alpha: float = 1.0
    shuffle: int | None = None
    missing: Missing = field(default="approximate", kw_only=True)
    name = "lc"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checking.optional_whole_number("shuffle", self.shuffle, least=0)

    @property
    def divides_rows(self) -> bool:
        """Each row is predicted from those before it."""
        return True

    def plan(self, y: NDArray[np.int64], kept: NDArray[np.bool_]) -> leaving_out.HoldoutPlan:
        """Each row and all after it are left out."""
        return leaving_out.one_after_the_other(y, self.shuffle)


class FoldScore(PredictiveScore):
    """A predictive score that leaves out folds; its fields are those of :class:`CV`."""

    folds: Any
    repeats: int
    seed: int

    def __post_init__(self) -> None:
        super().__post_init__()
        _checking.whole_number("seed", self.seed, least=0)
        folds, repeats = leaving_out.check_folds(self.folds, self.repeats)
        object.__setattr__(self, "folds", folds)
        object.__setattr__(self, "repeats", repeats)

    @property
    def divides_rows(self) -> bool:
        """Whether folds are made, not given."""
        return isinstance(self.folds, int)

    def plan(self, y: NDArray[np.int64], kept: NDArray[np.bool_]) -> leaving_out.HoldoutPlan:
        """Each fold is left out, in each repeat."""
        if self.folds == "loo":
            return leaving_out.leave_one_out(y)
        return leaving_out.in_folds(leaving_out.fold_numbers(self.folds, self.repeats, y, kept, self.seed))


@dataclass(frozen=True)
class CV(FoldScore):
    """Cross-validated log-likelihood of the class: the sum over rows of log p(c_l | a_l, the other folds, S).

    The sum is over all repeats, folds and rows l of a fold; Mach and Mráz, eq. 13. With as many folds as rows it is
    :class:`LOO`.

    Parameters
    ----------
    folds : int, integer array of shape (rows,) or (repeats, rows), or "loo"
        The number of folds, which are stratified: each has the same number of rows of a class, or one more. Or the
        fold of each row of the data. ``"loo"`` leaves out one row at a time.
    repeats : int
        Number of times that the rows are divided into folds.
    target : str, optional
        The class variable.
    alpha : float
        Pseudo-count that is added to each count.
    seed : int
        The same seed gives the same folds.
    missing : {"approximate", "exact"}
        What a row with missing cells is predicted by. ``"approximate"``: the families one by one, with parents that are
        missing summed out of each; quick, but some percent off. ``"exact"``: the network, with the missing cells summed
        out, as a classifier with this prior predicts that is fitted to the other rows; 20 to 100 times slower where
        half of the rows or more have missing cells.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.sprinkler().sample(200, seed=1)
    >>> score = CV(folds=5, target="rain")
    >>> wet, sprinkler = (bntk.score(f"rain -> {x}", rows, score) for x in ("wet", "sprinkler"))
    >>> wet > sprinkler
    True
    """

    folds: Any = 10
    repeats: int = 1
    target: str | None = None
    alpha: float = 1.0
    seed: int = 0
    missing: Missing = field(default="approximate", kw_only=True)
    name = "cv"

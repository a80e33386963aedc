"""An ensemble of selective k-dependence classifiers that differ by cuts, orders and parents drawn at random.

How the members are drawn is in :mod:`bntk.classifiers.drawing`, their tables are in :mod:`bntk.classifiers.chains`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bntk import _checking
from bntk._checking import Check
from bntk._threads import run_parallel, spans, stop_if_over
from bntk.classifiers.base import BayesClassifier
from bntk.classifiers.chains import ChainTables, Member, TrainingRows, smoothing_of
from bntk.classifiers.combining import member_weights, temperature, tempered
from bntk.classifiers.drawing import LOSSES, draw_members, some_rows
from bntk.classifiers.features import Rows
from bntk.classifiers.importances import mean_of
from bntk.classifiers.interpolation import interpolated
from bntk.data.numbers import DRAWN
from bntk.data.table import Table
from bntk.data.variable import Variable
from bntk.errors import ArgumentError, DataError
from bntk.learning.counts import TableCounter
from bntk.learning.priors import HDP, Prior
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

#: Rows that are predicted at once; fixed, so that answers do not depend on the number of threads.
ROWS = 256
#: Training rows on which a member says how much its features tell.
INFORMED_ROWS = 256


@dataclass(kw_only=True, eq=False, repr=False)
class EnsembleKDB(BayesClassifier):
    """Ensemble of selective k-dependence classifiers, drawn at random and averaged (Zhang, Petitjean, Buntine 2020).

    Each member is a network like that of :class:`SelectiveKDB`: the class and some features before it in an order are
    the parents of a feature. The order is drawn with probabilities in proportion to the square root of the features'
    mutual information with the class, parents in proportion to their mutual information with the feature given the
    class. Numbers are cut anew for each member, into two to six intervals, at random cuts of which the more telling
    ones are taken. The number of features and of parents is chosen by leave-one-out, in one pass over the rows, and of
    all members that are drawn, those with the least loss in it are kept.

    Tables are shrunk towards those with one parent less, all the way to P(feature | class). The members' probabilities
    are averaged, with weights that raise the likelihood of the classes in leave-one-out, and their mean is raised to a
    power that does the same, because a mean of many networks is too careful: so probabilities are calibrated without
    rows that are held out.

    A row in which a parent is missing is predicted with the parents before it in the chain, and a missing feature is
    left out. The classifier keeps its training rows, and so does a file of it. All rows are counted in tables; where
    they are more than 2,048, as many drawn at random are predicted in leave-one-out and tell the information of
    features. ``partial_fit`` adds rows to the tables, and leaves the members, their weights and the power as they are.

    Parameters
    ----------
    n_members : int
        The number of networks.
    candidates : int
        How many networks are drawn for each that is kept; those with the least loss in leave-one-out are kept.
    max_k : int
        The largest number of features that are parents of a feature.
    loss : {"rmse", "log", "zero_one"}
        The loss in leave-one-out by which the number of features and of parents of a member is chosen: the root mean
        squared error of the probability of the true class, its mean negative logarithm, or the error rate.
    bootstrap : bool
        Whether the tables of each member are counted on rows drawn with replacement, instead of all rows. All copies of
        a row are then left out together. Rows that ``partial_fit`` adds count once in each member.
    prior : "backoff", Backoff, HDP, or float
        How tables are smoothed. :class:`bntk.priors.Backoff` shrinks each towards the one with a parent less, which
        counts for ``rows`` rows; ``alpha`` is added to the cells of P(feature | class). :class:`bntk.priors.HDP` draws
        from a hierarchical Dirichlet process over the same chain, which takes much longer. A number is added to every
        cell, and nothing is shrunk.
    numeric : str or mapping
        ``"auto"``: at most ten different whole numbers are states as they are; other numbers are cut anew for each
        member. ``"drawn"`` cuts all columns of numbers in this way. ``"mdl"``, ``"joint"``, ``"width"``,
        ``"frequency"``, ``"smooth"``, ``"averaged"``, ``"category"`` and ``"bernoulli"`` give all members the same
        states, as in other classifiers. A mapping chooses for each column, and may give cut points.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        The weight of each member.
    temperature_ : float
        The power that the mean is raised to: above 1 where it was too careful.
    n_features_used_ : ndarray of shape (n_members,)
        The number of features that each member uses.
    k_ : ndarray of shape (n_members,)
        The largest number of parents, without the class, that a feature of each member has.
    features_in_use_ : list of str
        The features that some member uses.

    References
    ----------
    H. Zhang, F. Petitjean and W. Buntine (2020). Bayesian network classifiers using ensembles and smoothing. Knowledge
    and Information Systems 62, 3457-3480.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(500, seed=1).to_pandas()
    >>> X, y = rows.drop(columns="dysp"), rows["dysp"]
    >>> ensemble = bntk.EnsembleKDB(n_members=5).fit(X, y)
    >>> ensemble.predict_proba(X.iloc[:2]).shape, ensemble.member(0).dag.nodes[-1]
    ((2, 2), 'dysp')
    """

    name = "ekdb"
    _in_passes: ClassVar[bool | str] = "SelectiveKDB"
    prior: Prior | str | float = "backoff"
    n_members: int = field(default=50, kw_only=False)
    candidates: int = 3
    max_k: int = 6
    loss: str = "rmse"
    bootstrap: bool = False

    _checks: ClassVar[Mapping[str, Check]] = {
        "n_members": partial(_checking.whole_number, least=1, most=100_000),
        "candidates": partial(_checking.whole_number, least=1, most=100_000),
        "loss": partial(_checking.one_of, choices=tuple(LOSSES)),
        "bootstrap": _checking.flag,
    }
    _state: ClassVar[dict[str, Any]] = {
        "_training": TrainingRows,
        "_members": tuple[Member, ...],
        "weights_": NDArray[np.float64],
        "temperature_": float,
    }
    _needed_to_predict: ClassVar[tuple[str, ...]] = ("prior", "class_prior")
    _cutting: ClassVar[str] = DRAWN

    # ---------------------------------------------------------------- learning

    def _learn(self, counter: TableCounter) -> None:
        table = counter.table
        features = Table._make(table.codes[:-1], table.variables[:-1])
        nothing = np.empty((0, table.n_rows))
        self._learn_rows(Rows(features, nothing), table.codes[-1].astype(np.int64), counter.weights)

    def _learn_rows(self, rows: Rows, codes: NDArray[np.int64], weights: Floats | None) -> None:
        self._check_ways()
        self.densities_ = ()
        self._training = TrainingRows.make(self._states(rows.table), rows.numbers, codes, weights)
        smoothing, class_prior = smoothing_of(self._prior), self._given_class_prior()
        drawn = draw_members(
            self._training, self._columns, len(self.classes_), smoothing, class_prior, self.n_members, self.candidates,
            self.max_k, self.loss, self.bootstrap, self._seed,
        )  # fmt: skip
        self._members = drawn.members
        self.weights_ = member_weights(drawn.true_proba, drawn.judged_weights)
        mean = np.tensordot(self.weights_, drawn.proba, 1)
        self.temperature_ = temperature(mean, drawn.judged_classes, drawn.judged_weights)
        self._prepare()

    def _check_ways(self) -> None:
        """Refuse ways with numbers that this classifier has no part for."""
        continuous, smooth = self.features_.continuous, [*self.features_.centres]
        densities = [name for name, way in continuous.items() if way != DRAWN]
        if densities:
            raise ArgumentError(
                f"EnsembleKDB has no densities (numeric={self.numeric!r}, column {densities[0]!r}): leave "
                "numeric='auto', or choose a way to cut numbers"
            )
        if smooth and continuous:
            raise ArgumentError(
                f"EnsembleKDB interpolates all columns of numbers that it cuts, or none: {smooth[0]!r} is to be "
                f"interpolated, but {min(continuous)!r} is cut anew for each member; choose a way for it in numeric="
            )

    def _add(self, counter: TableCounter) -> None:
        table = counter.table
        features = Table._make(table.codes[:-1], table.variables[:-1])
        nothing = np.empty((0, table.n_rows))
        self._add_rows(Rows(features, nothing), table.codes[-1].astype(np.int64), counter.weights)

    def _add_rows(self, rows: Rows, codes: NDArray[np.int64], weights: Floats | None) -> None:
        more = TrainingRows.make(self._states(rows.table), rows.numbers, codes, weights)
        self._training = self._training + more
        self._prepare()

    def _prepare(self) -> None:
        """Make the tables of the members, which are not written to files."""
        smoothing, hdp, given = smoothing_of(self._prior), self._hdp, self._given_class_prior()

        def tables(member: Member) -> ChainTables:
            stop_if_over()
            return ChainTables.make(member, self._training, self._columns, len(self.classes_), smoothing, given, hdp)

        self._tables = run_parallel(tables, self._members)

    def _states(self, table: Table) -> NDArray[np.uint16]:
        return table.codes.astype(np.uint16)

    @property
    def _hdp(self) -> HDP | None:
        return self._prior if isinstance(self._prior, HDP) else None

    @property
    def _columns(self) -> list[Variable | str]:
        """The features in the order of X: a variable, or the name of a column of numbers that is cut anew."""
        found: dict[str, Variable | str] = {v.name: v for v in self.features_.variables}
        found |= {name: name for name in self.features_.continuous}
        return [found[name] for name in self.features_.names if name in found]

    @property
    def _names_of_columns(self) -> list[str]:
        return [str(getattr(column, "name", column)) for column in self._columns]

    def _restore(self) -> None:
        super()._restore()
        self._check_ways()
        self._training.check(self._columns, len(self.classes_))
        if len(self._members) != len(self.weights_) or not len(self._members):
            raise DataError("there is not one weight for each of the members, one or more")
        if not (np.isfinite(self.weights_) & (self.weights_ >= 0)).all() or not 0 < self.temperature_ < np.inf:
            raise DataError("the weights of the members are not numbers from 0, or the temperature is not above 0")
        for member in self._members:
            member.check(self._columns, self._training.n_rows)
        self._prepare()

    # ---------------------------------------------------------------- predicting

    def _log_scores(self, table: Table) -> Floats:
        n_drawn = len(self.features_.continuous)
        return self._row_scores(Rows(table, np.full((n_drawn, table.n_rows), np.nan)))

    def _row_scores(self, rows: Rows) -> Floats:
        """The log of the averaged P(class | features), and of the mean of P(features) of the members."""
        if rows.places is not None:
            return interpolated(self._log_scores, rows, 0.0)
        codes, n = self._states(rows.table), rows.table.n_rows
        found = np.empty((n, len(self.classes_)))

        def predict(span: tuple[int, int]) -> None:
            stop_if_over()
            part = slice(*span)
            mean, log_evidence = 0.0, -np.inf
            for tables, weight in zip(self._tables, self.weights_.tolist(), strict=True):
                proba, evidence = tables.predict(codes[:, part], rows.numbers[:, part])
                mean = mean + weight * proba
                with np.errstate(divide="ignore"):
                    log_evidence = np.logaddexp(log_evidence, np.log(weight) + evidence)
            found[part] = tempered(np.asarray(mean), self.temperature_) + np.asarray(log_evidence)[:, None]

        run_parallel(predict, spans(n, -(-n // ROWS)))
        return found

    def member_proba(self, X: Any) -> Floats:
        """The probabilities that each member gives, shape (n_members, n_rows, n_classes).

        Their mean by ``weights_``, raised to the power ``temperature_`` and normalised, is ``predict_proba``; but where
        numbers are interpolated (``numeric="smooth"``), members take each as in its interval here, and with
        ``numeric="averaged"`` they are those of ``members_[0]``.
        """
        rows = self._read(X)
        codes = self._states(rows.table)
        found = np.array(run_parallel(lambda tables: tables.predict(codes, rows.numbers)[0], self._tables))
        return found[:, :, self._sorted_states]

    # ---------------------------------------------------------------- looking inside

    def _information(self) -> dict[str, float]:
        """The mean over the members, by their weights, each on some of the training rows."""
        names = self._names_of_columns

        def of_member(i: int) -> dict[str, float]:
            stop_if_over()
            tables = self._tables[i]
            rows = some_rows(self._training.n_rows, INFORMED_ROWS, np.random.default_rng([0, i]))
            told = tables.informations(rows).tolist()
            return {names[v]: value for v, value in zip(tables.member.features.tolist(), told, strict=True)}

        return mean_of(run_parallel(of_member, range(len(self._tables))), self.weights_)

    def member(self, i: int) -> BayesianNetwork:
        """The network of a member, from 0; its variables have the states that this member cuts numbers into.

        On complete rows, its P(class | features) is what :meth:`member_proba` gives.
        """
        check_is_fitted(self)
        i = _checking.whole_number("i", i, 0, len(self._members) - 1)
        return self._tables[i].network(self._class_variable)

    @property
    def n_features_used_(self) -> NDArray[np.int64]:
        """The number of features that each member uses."""
        check_is_fitted(self)
        return np.array([len(member.features) for member in self._members])

    @property
    def k_(self) -> NDArray[np.int64]:
        """The largest number of parents, without the class, that a feature of each member has."""
        check_is_fitted(self)
        return np.array([max(map(len, member.parents), default=0) for member in self._members])

    @property
    def features_in_use_(self) -> list[str]:
        """The features that some member uses."""
        check_is_fitted(self)
        used = {place for member in self._members for place in member.features.tolist()}
        return [name for place, name in enumerate(self._names_of_columns) if place in used]

    def plot_members(self, X: Any, of: Any = None, **options: Any) -> Axes:
        """A picture of how the members agree: the probability of a class that each gives to each row, and their mean.

        Parameters
        ----------
        X : data
            Rows, at most 200 of which are drawn, in the order of their probabilities.
        of : label, optional
            The class; by default the last of ``classes_``.
        **options
            ``ax``, ``title``, ``figsize`` and ``font_size``, see :func:`bntk.viz.plot_members`.
        """
        from bntk.viz.members import plot_members

        return plot_members(self, X, of, **options)

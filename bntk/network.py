"""A Bayesian network: a DAG and one local distribution for every node."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.cpt import CPT, LocalDistribution
from bntk.data.variable import State, Variable, format_states
from bntk.errors import DataError, NetworkError, UnknownNameError, did_you_mean
from bntk.graph.dag import DAG, as_dag

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from bntk.causal.counterfactuals import Counterfactual
    from bntk.causal.formula import Formula
    from bntk.causal.identification import Hedge
    from bntk.causal.results import Effect
    from bntk.data.table import Table
    from bntk.explore import ExplorerView
    from bntk.inference.choose import EngineName, Options
    from bntk.inference.decisions import Sensitivity
    from bntk.inference.plan import Plan
    from bntk.inference.query import ConditionedNetwork
    from bntk.inference.results import Distribution, Explanation, Marginals
    from bntk.learning.em import EMResult
    from bntk.learning.priors import Prior
    from bntk.learning.search.base import SearchResult
    from bntk.learning.structural_em import StructuralEMResult

    Report: TypeAlias = SearchResult | EMResult | StructuralEMResult


class BayesianNetwork:
    """A Bayesian network: a DAG with a conditional probability table for every node.

    A network cannot be changed; methods such as :meth:`update`, :meth:`add_arc` and :meth:`with_cpt` return new ones.

    Parameters
    ----------
    dag : DAG or str
        The structure; a string is read by :meth:`DAG.parse`.
    cpts : iterable or mapping of CPT
        One local distribution per node (:class:`CPT`, or anything with a method ``to_cpt``, such as
        :class:`NoisyOr`). Parent axes may come in any order; they are put in the order of the nodes.
    prior : Prior, optional
        The prior that the parameters were estimated with; :meth:`update` uses it again.
    prior_counts : mapping, optional
        Counts that this prior needs in addition to those of the families, by the names of their variables; for
        :meth:`update`.
    positions : mapping, optional
        Where nodes are drawn, ``{name: (x, y)}``, in the units of the file or program that they come from.
    labels : mapping, optional
        What variables are called for readers, ``{name: text}``, where that is not their name.

    Examples
    --------
    >>> rain, wet = Variable("rain", ["no", "yes"]), Variable("wet", ["no", "yes"])
    >>> bn = BayesianNetwork("rain -> wet", [CPT(rain, [0.8, 0.2]), CPT(wet, [[0.9, 0.1], [0.2, 0.8]], [rain])])
    >>> bn
    BayesianNetwork: 2 variables, 1 arc, 3 parameters
      rain (2 states)
      wet (2 states) <- rain
    >>> round(bn.log_likelihood({"rain": ["yes", "no"], "wet": ["yes", "no"]}), 4)
    -2.1611
    """

    _report: Report | None = None
    _labels: Mapping[str, str] = {}

    def __init__(
        self,
        dag: DAG | str,
        cpts: Iterable[LocalDistribution] | Mapping[str, LocalDistribution],
        *,
        prior: Prior | None = None,
        prior_counts: Mapping[tuple[str, ...], NDArray[Any]] | None = None,
        positions: Mapping[str, Sequence[float]] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self._dag = as_dag(dag)
        self._cpts = _ordered_cpts(self._dag, cpts)
        self._prior, self._prior_counts = _checked_prior(prior), _checked_counts(self._dag, prior_counts)
        self._positions = None if positions is None else _checked_positions(self._dag, positions)
        self._labels = {} if labels is None else _checked_labels(self._dag, labels)
        # Forms that other modules derive from this network, by keys of their own; they can be computed again.
        self._cache: dict[Any, Any] = {}

    @classmethod
    def _trusted(cls, dag: DAG, cpts: Iterable[CPT], **parts: Any) -> BayesianNetwork:
        """A network of tables that are known to fit the structure, in the order of its nodes."""
        network = object.__new__(cls)
        network._dag, network._cpts, network._cache = dag, tuple(cpts), {}
        network._prior, network._prior_counts = parts.get("prior"), dict(parts.get("prior_counts") or {})
        network._positions, network._report = parts.get("positions"), parts.get("report")
        network._labels = dict(parts.get("labels") or {})
        return network

    @classmethod
    def _of_families(cls, cpts: Sequence[CPT]) -> BayesianNetwork:
        """The network of tables whose variables are known to be each other's; a cycle is refused."""
        places = {cpt.name: place for place, cpt in enumerate(cpts)}
        given = [[places[parent.name] for parent in cpt.parents] for cpt in cpts]
        dag = DAG._trusted(tuple(places), tuple([tuple(sorted(row)) for row in given]))
        dag._refuse_cycle()
        ordered = [
            cpt if tuple(row) == sorted_row else cpt.reorder([dag.nodes[place] for place in sorted_row])
            for cpt, row, sorted_row in zip(cpts, given, dag.parent_indices, strict=True)
        ]
        return cls._trusted(dag, ordered)

    def _with_cpts(self, cpts: Iterable[CPT]) -> BayesianNetwork:
        """This network with other numbers in its tables, which have the same variables."""
        parts = {"prior": self._prior, "prior_counts": self._prior_counts, "positions": self._positions}
        return BayesianNetwork._trusted(self._dag, cpts, **parts, labels=self._labels, report=self._report)

    @classmethod
    def from_cpts(cls, cpts: Iterable[LocalDistribution]) -> BayesianNetwork:
        """The network whose structure follows from its tables; nodes are in the order of the tables.

        Parameters
        ----------
        cpts : iterable of CPT
            One local distribution per node; the parents of its table are the parents of the node.

        Examples
        --------
        >>> a, b = Variable("a", [0, 1]), Variable("b", [0, 1])
        >>> BayesianNetwork.from_cpts([CPT(a, [0.5, 0.5]), CPT(b, [[0.1, 0.9], [0.3, 0.7]], [a])]).dag.arcs
        (('a', 'b'),)
        """
        tables = [_as_cpt(local) for local in _checking.several("cpts", cpts, "CPT objects", NetworkError)]
        arcs = [(parent.name, cpt.name) for cpt in tables for parent in cpt.parents]
        return cls(DAG([cpt.name for cpt in tables], arcs), tables)

    # ---- parts -----------------------------------------------------------------------------------------------

    @property
    def dag(self) -> DAG:
        """The structure."""
        return self._dag

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in order."""
        return self._dag.nodes

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in the order of the nodes."""
        found: tuple[Variable, ...] | None = self._cache.get("variables")
        if found is None:
            found = self._cache["variables"] = tuple([cpt.child for cpt in self._cpts])
        return found

    @property
    def cpts(self) -> tuple[CPT, ...]:
        """The tables, in the order of the nodes; parent axes are in the order of the nodes, too."""
        return self._cpts

    @property
    def prior(self) -> Prior | None:
        """The prior behind the estimates, or None."""
        return self._prior

    @property
    def prior_counts(self) -> Mapping[tuple[str, ...], NDArray[Any]]:
        """The counts that the prior needs in addition to those of the families, by the names of their variables."""
        return self._prior_counts

    @property
    def positions(self) -> dict[str, tuple[float, float]] | None:
        """Where nodes are drawn, (x, y) by name, as read from a file; some nodes may lack one. None if unknown."""
        return None if self._positions is None else dict(self._positions)

    @property
    def labels(self) -> dict[str, str]:
        """What variables are called for readers, as read from a file; those called by their name are left out."""
        return dict(self._labels)

    @property
    def report(self) -> Report | None:
        """How the network was learned, or None if it was not, or only by counting (:func:`bntk.fit`).

        - from :func:`bntk.learn`, a :class:`~bntk.search.SearchResult`: score, trace, families evaluated, seconds;
        - from :func:`bntk.fit_em`, an ``EMResult``: log-likelihood, iterations, convergence;
        - from :func:`bntk.structural_em`, a ``StructuralEMResult``: objective, rounds, and the report of its last EM.

        It is that of the call that made this network. So a structure that was found by a search and then fitted by EM
        has the report of EM, and the report of the search stays with the network that the search returned. Networks
        that methods derive from this one, such as :meth:`update`, have none. It is kept by pickling, not by
        :meth:`save`.

        Examples
        --------
        >>> import bntk
        >>> found = bntk.learn(bntk.datasets.sprinkler().sample(500, seed=1), "bic")
        >>> found.report.exact, bntk.datasets.sprinkler().report
        (True, None)
        """
        return self._report

    def _with_report(self, report: Report) -> BayesianNetwork:
        """The same network, with a report of how it was learned."""
        twin = copy.copy(self)
        twin._report = report
        return twin

    def variable(self, name: str) -> Variable:
        """The variable of that name."""
        return self.cpt(name).child

    def cpt(self, name: str) -> CPT:
        """The conditional probability table P(name | its parents)."""
        return self._cpts[self._dag.index(name)]

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, the sum of q (r - 1) over the nodes."""
        return sum(cpt.n_parameters for cpt in self._cpts)

    # ---- data ------------------------------------------------------------------------------------------------

    def log_likelihood(
        self, data: Any, *, engine: EngineName = "exact", max_entries: int | None = None, **settings: Any
    ) -> float:
        """The log-likelihood of the data: the sum over the rows of log P(row), in nats.

        Parameters
        ----------
        data : Table, data frame, mapping of columns
            One case per row, with a column for every variable of the network; other columns are ignored. Missing
            values are summed out, so that P(row) is the probability of the observed values.
        engine : {"exact", "auto", "loopy", "weighting", "gibbs"}
            For rows with missing values, see :meth:`query`. Gibbs sampling cannot compute probabilities of rows.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.
        **settings
            Options of an approximate engine, see :meth:`query`.
        """
        return float(self.row_log_likelihood(data, engine=engine, max_entries=max_entries, **settings).sum())

    def row_log_likelihood(
        self, data: Any, *, engine: EngineName = "exact", max_entries: int | None = None, **settings: Any
    ) -> NDArray[np.float64]:
        """The log-likelihood of each row: the log probability of its observed values; -inf where that is zero.

        Parameters
        ----------
        data : Table, data frame, mapping of columns
            One case per row, with a column for every variable of the network; other columns are ignored.
        engine : {"exact", "auto", "loopy", "weighting", "gibbs"}
            For rows with missing values, see :meth:`query`. Gibbs sampling cannot compute probabilities of rows.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.
        **settings
            Options of an approximate engine, see :meth:`query`.

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> import bntk
        >>> rows = {"cloudy": ["yes", None], "sprinkler": ["no", "no"], "rain": ["yes", None], "wet": ["yes", None]}
        >>> np.exp(bntk.datasets.sprinkler().row_log_likelihood(rows)).round(3)
        array([0.324, 0.7  ])
        """
        from bntk.inference.rows import row_log_likelihood

        return row_log_likelihood(self, data, _options(engine, max_entries, settings))

    def posterior(
        self,
        data: Any,
        targets: str | Sequence[str],
        *,
        engine: EngineName = "exact",
        max_entries: int | None = None,
        **settings: Any,
    ) -> pd.DataFrame | dict[str, pd.DataFrame]:
        """The posterior of each target for every row of a table, given the observed values of the row.

        Any values may be missing. A target's own column is ignored, so that complete rows can be classified as they
        are; the columns of other targets are evidence like any other. Columns that the data does not have are missing
        everywhere, columns that the network does not have are ignored.

        Parameters
        ----------
        data : Table, data frame, mapping of columns
            One case per row. A Dask DataFrame is not computed: the result is one, too, with the same partitions.
        targets : str or sequence of str
            The variables whose posteriors are computed.
        engine : {"exact", "auto", "loopy", "weighting", "gibbs"}
            See :meth:`query`. The engines that sample draw anew for each distinct row, which takes time.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.
        **settings
            Options of an approximate engine, see :meth:`query`.

        Returns
        -------
        DataFrame, or dict of DataFrame by target when several are named
            One row per row of the data, with its index if it is a pandas data frame, and one column per state of the
            target. Rows whose evidence has probability zero are NaN, with one warning.

        Examples
        --------
        >>> import bntk
        >>> rows = {"xray": ["yes", "yes", None], "smoke": ["yes", "no", None]}
        >>> bntk.datasets.asia().posterior(rows, "lung").round(3)
        lung     no    yes
        0     0.354  0.646
        1     0.858  0.142
        2     0.945  0.055
        """
        from bntk.inference.rows import posterior

        return posterior(self, data, targets, _options(engine, max_entries, settings))

    def impute(
        self,
        data: Any,
        how: Literal["mpe", "mode", "sample"] = "mpe",
        seed: int = 0,
        *,
        engine: EngineName = "exact",
        max_entries: int | None = None,
        **settings: Any,
    ) -> Table:
        """The data with every missing value filled in, given the observed values of its row.

        Parameters
        ----------
        data : Table, data frame, mapping of columns
            One case per row. Columns that the data does not have are filled in as well; those that the network does
            not have are dropped.
        how : {"mpe", "mode", "sample"}
            "mpe": the most probable joint completion of the row. "mode": the most probable state of each missing
            value by itself; these states may be improbable together. "sample": a draw from the joint posterior of the
            missing values.
        seed : int
            For "sample": the same seed gives the same draws.
        engine : {"exact", "auto", "loopy", "weighting", "gibbs"}
            See :meth:`query`. The engines that sample cannot compute the most probable completion.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.
        **settings
            Options of an approximate engine, see :meth:`query`.

        Returns
        -------
        Table
            Over the variables of the network. Rows that are impossible stay as they are, with one warning.

        Examples
        --------
        >>> import bntk
        >>> rows = {"cloudy": ["yes", None], "sprinkler": [None, "yes"], "rain": [None, None], "wet": ["yes", "yes"]}
        >>> bntk.datasets.sprinkler().impute(rows).to_pandas()
          cloudy sprinkler rain  wet
        0    yes        no  yes  yes
        1     no       yes   no  yes
        """
        from bntk.inference.rows import impute

        return impute(self, data, how, seed, _options(engine, max_entries, settings))

    def sample(
        self,
        n: int,
        seed: int = 0,
        given: Mapping[str, Any] | None = None,
        soft: Mapping[str, Any] | None = None,
    ) -> Table:
        """Draw independent rows from the network, or from its posterior given evidence.

        The rows follow the exact distribution. Without evidence, or with observed variables whose parents are all
        observed, rows are drawn forward. Otherwise the network is calibrated once, and rows are drawn clique by clique.

        Parameters
        ----------
        n : int
            The number of rows.
        seed : int
            The same seed gives the same rows, whatever the number of threads; a shorter sample is the beginning of a
            longer one.
        given : mapping, optional
            Evidence: a state, several states or likelihoods per variable, see :meth:`query`.
        soft : mapping, optional
            Likelihoods per variable, see :meth:`query`.

        Raises
        ------
        TooLargeError
            When the tables of the cliques are too large; :func:`bntk.inference.likelihood_weighting` and
            :func:`bntk.inference.gibbs` need no such tables.

        Examples
        --------
        >>> import bntk
        >>> table = bntk.datasets.asia().sample(1000, seed=1, given={"dysp": "yes"})
        >>> set(table.to_pandas()["dysp"])
        {'yes'}
        """
        from bntk.inference.approximate.sampling import sample

        return sample(self, n, seed, given, soft)

    def update(self, data: Any, *, intervened: Any = None) -> BayesianNetwork:
        """A new network that has also learned from further rows: their counts are added, the prior stays.

        The result equals that of fitting all rows at once. Only a fitted network has counts.

        Parameters
        ----------
        data : Table, data frame, mapping of columns
            The further rows.
        intervened : optional
            Which variables were set by an experiment in which of these rows; see :func:`bntk.fit`.
        """
        from bntk.learning.parameters import updated

        return updated(self, data, intervened=intervened)

    # ---- queries ---------------------------------------------------------------------------------------------

    def query(
        self,
        targets: str | Sequence[str],
        given: Mapping[str, Any] | None = None,
        soft: Mapping[str, Any] | None = None,
        *,
        engine: EngineName = "exact",
        max_entries: int | None = None,
        **settings: Any,
    ) -> Distribution:
        """The joint posterior of one or several variables.

        Parameters
        ----------
        targets : str or sequence of str
            The variables to query, which are the axes of the result, in this order. The posterior of a target that
            is also in ``given`` includes this evidence: all probability is on an observed state.
        given : mapping, optional
            For a variable: a state; a set, list or tuple of states, any of which it may be; or a mapping with a
            likelihood for each state (virtual evidence). None and NaN are ignored.
        soft : mapping, optional
            For a variable: a likelihood for each state, as a mapping or as an array in the order of the states. Only
            ratios matter for posteriors.
        engine : {"exact", "auto", "loopy", "weighting", "gibbs"}
            "exact" is exact inference. "auto" is the same where ``max_entries`` allows it, else "loopy". "loopy" is
            loopy belief propagation, which finds a joint distribution of several targets by the chain rule.
            "weighting" is likelihood weighting and "gibbs" Gibbs sampling. ``report`` of the result tells whether an
            approximation converged, or how large its standard errors are.
        max_entries : int, optional
            The largest number of clique entries that exact inference may run through, given the evidence; 2**31 by
            default, which takes a few seconds. See :meth:`plan`.
        **settings
            Options of an approximate engine: ``damping``, ``max_iter``, ``tolerance``, ``schedule`` for "loopy"
            (:meth:`LoopyProgram.calibrate <bntk.inference.LoopyProgram.calibrate>`); ``n``, ``seed`` for "weighting";
            ``n``, ``seed``, ``burn_in``, ``chains``, ``thin`` for "gibbs" (:func:`bntk.inference.gibbs`).

        Raises
        ------
        ImpossibleEvidence
            When the evidence has probability zero; the message names findings that contradict each other. Where it
            would take very long to find out for findings that the targets do not depend on, ``report`` says so.
        TooLargeError
            When exact inference would exceed ``max_entries``; raised before anything large is allocated.

        Examples
        --------
        >>> import bntk
        >>> asia = bntk.datasets.asia()
        >>> asia.query("bronc", {"dysp": "yes", "smoke": "no"})
        P(bronc | dysp='yes', smoke='no')
        no   0.2461  #####
        yes  0.7539  ###############
        >>> asia.query(["lung", "tub"], soft={"xray": [1, 5]})
        P(lung, tub | xray ~ [1, 5])
        lung  tub
        no    no   0.7787  ################
        no    yes  0.0336  #
        yes   no   0.1858  ####
        yes   yes  0.0020
        """
        return self._conditioned(given, soft, engine, max_entries, settings).query(targets)

    def marginals(
        self,
        given: Mapping[str, Any] | None = None,
        soft: Mapping[str, Any] | None = None,
        *,
        engine: EngineName = "exact",
        max_entries: int | None = None,
        **settings: Any,
    ) -> Marginals:
        """The posterior of every variable that is not observed, by name.

        Parameters
        ----------
        given : mapping, optional
            Evidence: a state, several states or likelihoods per variable, see :meth:`query`.
        soft : mapping, optional
            Likelihoods per variable, see :meth:`query`.
        engine : {"exact", "auto", "loopy", "weighting", "gibbs"}
            See :meth:`query`. The result of an approximate engine has standard errors, or tells whether it converged.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.
        **settings
            Options of an approximate engine, see :meth:`query`.

        Returns
        -------
        bntk.inference.Marginals
            A mapping from names to distributions.

        Examples
        --------
        >>> import bntk
        >>> bntk.datasets.sprinkler().marginals({"wet": "yes"})
        3 marginals
        cloudy     no 0.4242  yes 0.5758
        sprinkler  no 0.5702  yes 0.4298
        rain       no 0.2921  yes 0.7079
        """
        return self._conditioned(given, soft, engine, max_entries, settings).marginals()

    def probability(
        self,
        given: Mapping[str, Any] | None = None,
        soft: Mapping[str, Any] | None = None,
        *,
        engine: EngineName = "exact",
        max_entries: int | None = None,
        **settings: Any,
    ) -> float:
        """The probability of the evidence; with likelihoods, their expected product.

        Parameters
        ----------
        given : mapping, optional
            Evidence: a state, several states or likelihoods per variable, see :meth:`query`.
        soft : mapping, optional
            Likelihoods per variable, see :meth:`query`.
        engine : {"exact", "auto", "loopy", "weighting", "gibbs"}
            See :meth:`query`. Gibbs sampling cannot compute the probability of evidence.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.
        **settings
            Options of an approximate engine, see :meth:`query`.

        Examples
        --------
        >>> import bntk
        >>> round(bntk.datasets.asia().probability({"xray": "yes", "dysp": "yes"}), 4)
        0.0707
        """
        log_p = self.log_probability(given, soft, engine=engine, max_entries=max_entries, **settings)
        try:
            return math.exp(log_p)
        except OverflowError:
            raise DataError(
                f"the expected product of the likelihoods is exp({log_p:.6g}), too large for a float: give smaller "
                "likelihoods (only their ratios matter for posteriors), or use log_probability"
            ) from None

    def log_probability(
        self,
        given: Mapping[str, Any] | None = None,
        soft: Mapping[str, Any] | None = None,
        *,
        engine: EngineName = "exact",
        max_entries: int | None = None,
        **settings: Any,
    ) -> float:
        """The logarithm of :meth:`probability`, with the same parameters; -inf when the evidence is impossible.

        Parameters
        ----------
        given : mapping, optional
            Evidence: a state, several states or likelihoods per variable, see :meth:`query`.
        soft : mapping, optional
            Likelihoods per variable, see :meth:`query`.
        engine : {"exact", "auto", "loopy", "weighting"}
            See :meth:`query`.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.
        **settings
            Options of an approximate engine, see :meth:`query`.
        """
        return self._conditioned(given, soft, engine, max_entries, settings).log_probability()

    def mpe(
        self,
        given: Mapping[str, Any] | None = None,
        soft: Mapping[str, Any] | None = None,
        *,
        engine: EngineName = "exact",
        max_entries: int | None = None,
        **settings: Any,
    ) -> Explanation:
        """The most probable explanation: the most probable joint state of all variables that are not observed.

        The most probable state of each variable by itself (:meth:`marginals`) may differ from it.

        Parameters
        ----------
        given : mapping, optional
            Evidence: a state, several states or likelihoods per variable, see :meth:`query`.
        soft : mapping, optional
            Likelihoods per variable, see :meth:`query`.
        engine : {"exact", "auto", "loopy", "weighting", "gibbs"}
            See :meth:`query`. "loopy" is max-product propagation, which is exact in networks without loops. The engines
            that sample cannot compute explanations.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.
        **settings
            Options of an approximate engine, see :meth:`query`.

        Returns
        -------
        bntk.inference.Explanation
            A dict of states, with the attributes ``probability`` and ``log_probability``: that of all these states
            together, given the evidence.

        Examples
        --------
        >>> import bntk
        >>> bntk.datasets.sprinkler().mpe({"wet": "yes", "sprinkler": "yes"})
        {'cloudy': 'no', 'rain': 'no'} with probability 0.6472
        """
        return self._conditioned(given, soft, engine, max_entries, settings).mpe()

    def map(
        self,
        targets: str | Sequence[str],
        given: Mapping[str, Any] | None = None,
        soft: Mapping[str, Any] | None = None,
        *,
        engine: EngineName = "exact",
        max_entries: int | None = None,
        **settings: Any,
    ) -> Explanation:
        """The most probable joint state of some variables, all others summed out (marginal MAP).

        Where other variables have to be summed out, the joint states of the targets are compared one by one, up to
        2**24 of them.

        Parameters
        ----------
        targets : str or sequence of str
            The variables to maximise over; observed ones are left out of the result.
        given : mapping, optional
            Evidence: a state, several states or likelihoods per variable, see :meth:`query`.
        soft : mapping, optional
            Likelihoods per variable, see :meth:`query`.
        engine : {"exact", "auto", "loopy", "weighting", "gibbs"}
            See :meth:`query`.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.
        **settings
            Options of an approximate engine, see :meth:`query`.

        Returns
        -------
        bntk.inference.Explanation
            A dict of states, with the attributes ``probability`` and ``log_probability``.

        Examples
        --------
        >>> import bntk
        >>> bntk.datasets.asia().map(["lung", "bronc"], {"dysp": "yes"})
        {'lung': 'no', 'bronc': 'yes'} with probability 0.7689
        """
        return self._conditioned(given, soft, engine, max_entries, settings).map(targets)

    def jeffrey(
        self,
        targets: str | Sequence[str],
        beliefs: Mapping[str, Any],
        given: Mapping[str, Any] | None = None,
        *,
        engine: EngineName = "exact",
        max_entries: int | None = None,
        **settings: Any,
    ) -> Distribution:
        """The posterior of the targets once the belief about other variables has changed: Jeffrey's rule.

        Afterwards the posterior of each variable in ``beliefs`` *is* the distribution given there, while virtual
        evidence (``soft``) only weights the states. For one variable x with the new distribution q the answer is
        the sum over x of P(targets | x, given) q(x). For several variables all beliefs hold at the same time: of the
        distributions with these marginals it is the one nearest to the old one (iterative proportional fitting).

        Parameters
        ----------
        targets : str or sequence of str
            The variables to query.
        beliefs : mapping
            For a variable, a probability for each state: a mapping, or an array in the order of the states.
        given : mapping, optional
            Evidence on other variables, see :meth:`query`.
        engine : {"exact", "auto", "loopy", "weighting", "gibbs"}
            See :meth:`query`. Beliefs about several variables need exact inference.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.
        **settings
            Options of an approximate engine, see :meth:`query`.

        Examples
        --------
        >>> import bntk
        >>> bntk.datasets.asia().jeffrey("smoke", {"lung": {"no": 0.3, "yes": 0.7}})
        P(smoke | lung := [0.3, 0.7])
        no   0.2208  ####
        yes  0.7792  ################

        References
        ----------
        R. C. Jeffrey (1965). The Logic of Decision. McGraw-Hill.
        """
        return self._conditioned(given, None, engine, max_entries, settings).jeffrey(targets, beliefs)

    def plan(
        self,
        targets: str | Sequence[str] | None = None,
        given: Mapping[str, Any] | Iterable[str] | None = None,
        *,
        max_entries: int | None = None,
    ) -> Plan:
        """The cost of a query, and the engine that will run it: cliques, table sizes, memory, operations.

        Parameters
        ----------
        targets : str or sequence of str, optional
            The variables to query. Without any, the plan is for :meth:`marginals`, :meth:`mpe` and tables of rows: it
            has the sizes of the junction tree, and the engine of :meth:`marginals`.
        given : mapping, or names of the observed variables, optional
            The evidence, which makes tables smaller: the plan has their sizes with and without it.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`. The plan tells whether it is
            possible within this limit.

        Examples
        --------
        >>> import bntk
        >>> bntk.datasets.asia().plan().n_cliques
        6
        >>> plan = bntk.datasets.asia().plan(given={"smoke": "yes", "bronc": "no"})
        >>> plan.total_entries, plan.open_entries, plan.engine
        (40, 26, 'numpy')
        """
        if given is not None and not isinstance(given, Mapping):
            names = _checking.names("given", given, "names of variables", DataError)
            given = {name: self.variable(name).states[0] for name in names}
        return self._conditioned(given, None, "exact", max_entries, {}).plan(targets)

    def _conditioned(
        self,
        given: Mapping[str, Any] | None,
        soft: Mapping[str, Any] | None,
        engine: EngineName,
        max_entries: int | None,
        settings: dict[str, Any],
    ) -> ConditionedNetwork:
        from bntk.inference.choose import options
        from bntk.inference.query import ConditionedNetwork

        return ConditionedNetwork(self, given, soft, options(engine, max_entries, settings))

    # ---- decisions -------------------------------------------------------------------------------------------

    def value_of_information(
        self,
        target: str,
        given: Mapping[str, Any] | None = None,
        candidates: Iterable[str] | None = None,
        *,
        engine: EngineName = "exact",
        max_entries: int | None = None,
        **settings: Any,
    ) -> pd.DataFrame:
        """The information that observing each further variable is expected to give about the target.

        The value is the expected reduction of the target's entropy by observing the variable: their mutual
        information given the evidence, I(target; variable | given), in nats (Jensen and Nielsen 2007, chapter 11). It
        takes one calibration for each state of the target.

        Parameters
        ----------
        target : str
            The variable of interest.
        given : mapping, optional
            Evidence, see :meth:`query`.
        candidates : iterable of str, optional
            The variables that could be observed; all others by default.
        engine : {"exact", "auto", "loopy", "weighting", "gibbs"}
            See :meth:`query`. The engines that sample are refused, since samples are too noisy.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.
        **settings
            Options of an approximate engine, see :meth:`query`.

        Returns
        -------
        DataFrame
            One row per variable, the most informative first, with the columns ``information`` and ``share``, its part
            of the target's entropy.

        Examples
        --------
        >>> import bntk
        >>> bntk.datasets.asia().value_of_information("lung", {"dysp": "yes"}, ["xray", "bronc", "asia"]).round(4)
                  information   share
        variable
        xray           0.2092  0.6317
        bronc          0.0138  0.0416
        asia           0.0000  0.0000
        """
        from bntk.inference.decisions import value_of_information

        conditioned = self._conditioned(given, None, engine, max_entries, settings)
        return value_of_information(conditioned, target, candidates)

    def relevant_findings(
        self,
        target: str,
        given: Mapping[str, Any],
        *,
        engine: EngineName = "exact",
        max_entries: int | None = None,
        **settings: Any,
    ) -> pd.DataFrame:
        """The effect of each finding on the posterior of the target, given all other findings.

        Parameters
        ----------
        target : str
            The variable of interest.
        given : mapping
            The findings, see :meth:`query`.
        engine : {"exact", "auto", "loopy", "weighting", "gibbs"}
            See :meth:`query`. The engines that sample are refused, since samples are too noisy.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.
        **settings
            Options of an approximate engine, see :meth:`query`.

        Returns
        -------
        DataFrame
            One row per finding, the most relevant first, with the columns ``finding``, ``divergence`` (the
            Kullback-Leibler divergence, in nats, of the posterior from the one without this finding) and ``change``
            (the largest change of a probability).

        Examples
        --------
        >>> import bntk
        >>> bntk.datasets.asia().relevant_findings("lung", {"xray": "yes", "smoke": "yes", "dysp": "no"}).round(3)
                 finding  divergence  change
        variable
        xray         yes       0.732   0.394
        dysp          no       0.093   0.212
        smoke        yes       0.078   0.181
        """
        from bntk.inference.decisions import relevant_findings

        return relevant_findings(self._conditioned(given, None, engine, max_entries, settings), target, given)

    def sensitivity(
        self,
        target: str,
        state: State,
        given: Mapping[str, Any] | None = None,
        *,
        table: str,
        entry: State,
        parents: Mapping[str, State] | None = None,
    ) -> Sensitivity:
        """A posterior as a function of one entry of one table, the rest of its row changing in proportion.

        Both P(target = state, given) and P(given) are linear in the entry (Coupé and van der Gaag 2002), so that two
        calibrations, with the entry at 0 and at 1, determine the function. Where the entry is 1 at present, the others
        have no proportions and share the rest equally.

        Parameters
        ----------
        target : str
            The variable of the posterior P(target = state | given).
        state : state
            Its state.
        given : mapping, optional
            Evidence, see :meth:`query`.
        table : str
            The variable whose table has the entry.
        entry : state
            The state of this variable.
        parents : mapping, optional
            A state for each of its parents.

        Examples
        --------
        >>> import bntk
        >>> found = bntk.datasets.asia().sensitivity("lung", "yes", table="smoke", entry="yes")
        >>> round(found.posterior, 4), round(found.derivative, 4)
        (0.055, 0.09)
        """
        from bntk.inference.decisions import sensitivity

        conditioned = self._conditioned(given, None, "exact", None, {})
        return sensitivity(conditioned, target, state, table, entry, parents)

    def sensitivities(self, target: str, state: State, given: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """The derivative of a posterior with respect to every entry of every table, as :meth:`sensitivity` defines it.

        All come from two calibrations, by dP(given) / dtheta = P(child, parents, given) / theta. Entries that are 0 or
        1 are left out, since the derivative at them cannot be computed from the posterior.

        Parameters
        ----------
        target : str
            The variable of the posterior P(target = state | given).
        state : state
            Its state.
        given : mapping, optional
            Evidence, see :meth:`query`.

        Returns
        -------
        DataFrame
            The columns ``variable``, ``given`` (its parents), ``state``, ``p`` and ``derivative``; the largest
            derivatives, of either sign, first.

        Examples
        --------
        >>> import bntk
        >>> bntk.datasets.asia().sensitivities("lung", "yes", {"xray": "yes"}).head(4).round(4)
          variable      given state     p  derivative
        0     xray  either=no   yes  0.05     -4.1439
        1     xray  either=no    no  0.95      4.1439
        2      tub    asia=no   yes  0.01     -3.8554
        3      tub    asia=no    no  0.99      3.8554
        """
        from bntk.inference.decisions import sensitivities

        return sensitivities(self._conditioned(given, None, "exact", None, {}), target, state)

    def entropy(self, *, max_entries: int | None = None) -> float:
        """The entropy of the joint distribution, in nats: the sum over the variables of H(variable | its parents).

        The entropy of a posterior is ``bn.query(...).entropy()``.

        Parameters
        ----------
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.

        Examples
        --------
        >>> import bntk
        >>> round(bntk.datasets.sprinkler().entropy(), 4)
        1.9093
        """
        from bntk.inference.divergence import entropy

        return entropy(self, max_entries)

    def divergence(self, other: BayesianNetwork, *, max_entries: int | None = None) -> pd.DataFrame:
        """The Kullback-Leibler divergence of another network from this one, variable by variable, in nats.

        The sum of the column ``divergence`` is KL(P || Q), the expected value of log P(row) - log Q(row) under this
        network P, with Q the other one. Each variable adds the difference of the expected logarithms of its entries in
        the two networks. Where it has the same parents in both, that is the mean divergence of the rows of its table,
        and not negative; otherwise it may be, since what one variable explains less another may explain more.

        Parameters
        ----------
        other : BayesianNetwork
            A network over the same variables with the same states, in any order.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.

        Returns
        -------
        DataFrame
            One row per variable, the largest divergence first: ``divergence``, infinite where the other network rules
            out what is possible, and ``difference``, the largest one of two entries (NaN if the parents are others).

        Examples
        --------
        >>> import bntk
        >>> bn = bntk.datasets.sprinkler()
        >>> found = bn.divergence(bn.remove_arc("cloudy", "rain"))
        >>> found.round(4)
                   divergence  difference
        variable
        rain           0.1927         NaN
        cloudy         0.0000         0.0
        sprinkler      0.0000         0.0
        wet            0.0000         0.0
        """
        from bntk.inference.divergence import divergence

        return divergence(self, other, max_entries)

    def do(self, interventions: Mapping[str, Any]) -> BayesianNetwork:
        """The network after an intervention that sets some variables, whatever their parents (Pearl's do-operator).

        The arcs into these variables are removed, and their tables put all probability on the state. So
        ``bn.do({"x": "yes"}).query("y")`` is P(y | do(x = yes)).

        Parameters
        ----------
        interventions : mapping
            For a variable, the state that it is set to.

        Examples
        --------
        Observing that the sprinkler is on makes a clouded sky unlikely; turning it on has no effect on the sky.

        >>> import bntk
        >>> bn = bntk.datasets.sprinkler()
        >>> round(bn.query("cloudy", {"sprinkler": "yes"})["yes"], 3)
        0.167
        >>> bn.do({"sprinkler": "yes"}).query("cloudy")["yes"]
        0.5
        """
        _checking.mapping("interventions", interventions, "{variable: state}", NetworkError)
        set_to = {self._dag.index(name): self.variable(name).code(state) for name, state in interventions.items()}
        cpts = [
            CPT(cpt.child, np.eye(1, cpt.child.n_states, set_to[node])[0]) if node in set_to else cpt
            for node, cpt in enumerate(self._cpts)
        ]
        dag = self._dag.do(*interventions)
        return BayesianNetwork(dag, cpts, positions=self._positions, labels=self._labels)

    # ---- edits -----------------------------------------------------------------------------------------------

    def with_cpt(self, table: str | LocalDistribution, values: Any = None) -> BayesianNetwork:
        """A new network in which a variable has another table.

        Parameters
        ----------
        table : CPT, other local distribution, or str
            The new table. Its parents become the parents of the variable, so that arcs may come and go. Or the name of
            the variable, with ``values`` for the parents that it has.
        values : array_like, mapping or DataFrame, optional
            With a name: probabilities as :class:`CPT` takes them, with the parents in the order of the nodes; nested
            mappings (:meth:`CPT.from_dict`); a data frame with one row per entry, or with one row per parent
            configuration and one column per state (:meth:`CPT.from_frame`); or a local distribution.

        Notes
        -----
        A table of your own has no counts unless it brings them, so that :meth:`update` is refused afterwards. All
        edits drop ``report``, and keep positions, the prior and the counts that they leave true.

        Examples
        --------
        >>> import bntk
        >>> bn = bntk.datasets.sprinkler()
        >>> bn.with_cpt("rain", {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.4, "yes": 0.6}}).cpt("rain")
        P(rain | cloudy)
        cloudy | no  yes
        no     | 0.9 0.1
        yes    | 0.4 0.6
        >>> bn.with_cpt(bntk.CPT(bn.variable("rain"), [0.7, 0.3])).dag.parents("rain")
        ()
        """
        from bntk.editing import with_cpt

        return with_cpt(self, table, values)

    def with_rows(
        self, name: str, probabilities: Any, given: Mapping[str, State | Sequence[State]] | None = None
    ) -> BayesianNetwork:
        """A new network with other numbers in some rows of a table: what an expert says about a few cases.

        Parameters
        ----------
        name : str
            The variable whose table it is.
        probabilities : mapping or array_like
            A probability for one state or several. States that are not named share what is left in the proportions
            that they have now; equally, if they have none. Or numbers for all states.
        given : mapping, optional
            Which rows: for some parents a state, or several. Parents that are not named may have any state.

        Examples
        --------
        >>> import bntk
        >>> bn = bntk.datasets.sprinkler()
        >>> bn.with_rows("wet", {"yes": 0.95}, {"rain": "yes"}).cpt("wet")
        P(wet | sprinkler, rain)
        sprinkler rain | no   yes
        no        no   | 1    0
        no        yes  | 0.05 0.95
        yes       no   | 0.1  0.9
        yes       yes  | 0.05 0.95
        """
        from bntk.editing import with_rows

        return with_rows(self, name, probabilities, given)

    def add_arc(self, tail: str, head: str) -> BayesianNetwork:
        """A new network with one more arc, which has no influence yet.

        The table of ``head`` gets an axis for ``tail``, along which its rows are repeated. So the joint distribution
        is as before until other numbers are given, by :meth:`with_rows` or :meth:`with_cpt`.

        Parameters
        ----------
        tail, head : str
            The variables that the arc leads from and to.

        Examples
        --------
        >>> import bntk
        >>> bn = bntk.datasets.sprinkler().add_arc("cloudy", "wet")
        >>> bn.with_rows("wet", {"yes": 0.2}, {"cloudy": "yes", "rain": "no", "sprinkler": "no"}).n_parameters
        13
        """
        from bntk.editing import add_arc

        return add_arc(self, tail, head)

    def remove_arc(self, tail: str, head: str, *, max_entries: int | None = None) -> BayesianNetwork:
        """A new network with one arc less; the removed parent is averaged out of the table of ``head``.

        The new table is P(head | other parents) in this network: the rows are averaged with the weights
        P(tail | other parents), which exact inference computes. Where the other parents are impossible together, the
        weights are P(tail).

        Parameters
        ----------
        tail, head : str
            The variables that the arc leads from and to.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`. Where that is too few, give
            a table without this parent to :meth:`with_cpt`.

        Examples
        --------
        >>> import bntk
        >>> bn = bntk.datasets.sprinkler()
        >>> bn.remove_arc("cloudy", "rain").cpt("rain").values, bn.query("rain").values
        (array([0.5, 0.5]), array([0.5, 0.5]))
        """
        from bntk.editing import remove_arc

        return remove_arc(self, tail, head, max_entries=max_entries)

    def reverse_arc(self, tail: str, head: str) -> BayesianNetwork:
        """A new network in which one arc points the other way, with the same joint distribution (Shachter 1986).

        Both variables inherit each other's parents, since the distribution could not stay the same without them.

        Parameters
        ----------
        tail, head : str
            The variables that the arc leads from and to.

        Examples
        --------
        >>> import bntk
        >>> asia = bntk.datasets.asia()
        >>> turned = asia.reverse_arc("lung", "either")
        >>> turned.dag.parents("lung"), turned.dag.parents("either")
        (('tub', 'smoke', 'either'), ('tub', 'smoke'))

        References
        ----------
        R. D. Shachter (1986). Evaluating influence diagrams. Operations Research 34, 871-882.
        """
        from bntk.editing import reverse_arc

        return reverse_arc(self, tail, head)

    def add_variable(
        self, table: Variable | LocalDistribution, position: Sequence[float] | None = None
    ) -> BayesianNetwork:
        """A new network with one more variable, the last.

        Parameters
        ----------
        table : CPT, other local distribution, or Variable
            The table of the new variable; its parents must be variables of the network. A variable by itself has a
            uniform table and no parents.
        position : pair of numbers, optional
            Where it is drawn, in the units of ``positions``.

        Examples
        --------
        >>> import bntk
        >>> bn, slips = bntk.datasets.sprinkler(), bntk.Variable("slips", ["no", "yes"])
        >>> bn.add_variable(bntk.CPT(slips, [[0.99, 0.01], [0.9, 0.1]], [bn.variable("wet")])).dag.parents("slips")
        ('wet',)
        """
        from bntk.editing import add_variable

        return add_variable(self, table, position)

    def remove_variable(self, names: str | Iterable[str], *, max_entries: int | None = None) -> BayesianNetwork:
        """A new network without some variables, and without their arcs.

        The tables of their children become P(child | other parents) in this network, as for :meth:`remove_arc`. What
        the others have to do with each other only through a removed variable is lost; :meth:`sum_out` keeps it.

        Parameters
        ----------
        names : str or iterable of str
            The variables to remove.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.

        Examples
        --------
        >>> import bntk
        >>> bntk.datasets.sprinkler().remove_variable("cloudy")
        BayesianNetwork: 3 variables, 2 arcs, 6 parameters
          sprinkler (2 states)
          rain (2 states)
          wet (2 states) <- sprinkler, rain
        """
        from bntk.editing import remove_variable

        return remove_variable(self, names, max_entries=max_entries)

    def sum_out(self, names: str | Iterable[str]) -> BayesianNetwork:
        """A new network of the other variables, with the joint distribution that they have in this one.

        The arcs from the variable are reversed one by one (:meth:`reverse_arc`), until nothing depends on it. So its
        children become dependent on each other, and tables grow.

        Parameters
        ----------
        names : str or iterable of str
            The variables to sum out.

        Examples
        --------
        >>> import bntk
        >>> print(bntk.datasets.sprinkler().sum_out("cloudy").dag)
        sprinkler -> rain -> wet <- sprinkler
        """
        from bntk.editing import sum_out

        return sum_out(self, names)

    def rename(self, names: Mapping[str, str]) -> BayesianNetwork:
        """A new network with other names for some variables, each in its old place.

        Parameters
        ----------
        names : mapping of str to str
            Old names to new ones.

        Examples
        --------
        >>> import bntk
        >>> bntk.datasets.sprinkler().rename({"wet": "wet grass"}).names
        ('cloudy', 'sprinkler', 'rain', 'wet grass')
        """
        from bntk.editing import rename

        return rename(self, names)

    def rename_states(self, name: str, states: Mapping[State, State]) -> BayesianNetwork:
        """A new network with other labels for some states of a variable.

        Parameters
        ----------
        name : str
            The variable.
        states : mapping
            Old labels to new ones.

        Examples
        --------
        >>> import bntk
        >>> bntk.datasets.sprinkler().rename_states("rain", {"no": "dry"}).variable("rain").states
        ('dry', 'yes')
        """
        from bntk.editing import rename_states

        return rename_states(self, name, states)

    def add_state(
        self, name: str, state: State, *, at: int | None = None, like: State | None = None
    ) -> BayesianNetwork:
        """A new network in which a variable has one more state, of probability zero until other numbers are given.

        Parameters
        ----------
        name : str
            The variable.
        state : state
            The label of the new state.
        at : int, optional
            Its place among the states, from 0; the last by default.
        like : state, optional
            The state whose rows it has in the tables of the children; by default these rows are uniform.

        Examples
        --------
        >>> import bntk
        >>> bn = bntk.datasets.sprinkler().add_state("rain", "snow", like="yes")
        >>> bn.with_rows("rain", {"snow": 0.1}, {"cloudy": "yes"}).cpt("rain")
        P(rain | cloudy)
        cloudy | no   yes  snow
        no     | 0.8  0.2  0
        yes    | 0.18 0.72 0.1
        """
        from bntk.editing import add_state

        return add_state(self, name, state, at=at, like=like)

    def remove_state(self, name: str, state: State) -> BayesianNetwork:
        """A new network in which a variable has one state less.

        What is left of each row of its table is divided by its sum; the children lose the rows of the state.

        Parameters
        ----------
        name : str
            The variable.
        state : state
            The state to remove.

        Examples
        --------
        >>> import bntk
        >>> bn = bntk.datasets.sprinkler().add_state("rain", "snow")
        >>> bn.remove_state("rain", "snow") == bntk.datasets.sprinkler()
        True
        """
        from bntk.editing import remove_state

        return remove_state(self, name, state)

    def merge_states(
        self, name: str, states: Iterable[State], into: State | None = None, *, max_entries: int | None = None
    ) -> BayesianNetwork:
        """A new network in which several states of a variable are one.

        In its own table their probabilities are added. In the table of a child their rows are averaged with the
        weights P(state | the child's other parents, one of these states), which exact inference computes; so the
        new tables are the conditional probabilities of the merged variable. Counts are added.

        Parameters
        ----------
        name : str
            The variable.
        states : iterable of states
            The states to merge; the new one has the place of the first.
        into : state, optional
            Its label; by default the old ones with "or", or the interval that neighbouring intervals make.
        max_entries : int, optional
            The clique entries that exact inference may run through, see :meth:`query`.

        Examples
        --------
        >>> import bntk
        >>> weather, walk = bntk.Variable("weather", ["sun", "rain", "snow"]), bntk.Variable("walk", ["no", "yes"])
        >>> cpts = [bntk.CPT(weather, [0.6, 0.3, 0.1]), bntk.CPT(walk, [[0.1, 0.9], [0.6, 0.4], [0.8, 0.2]], [weather])]
        >>> bntk.BayesianNetwork.from_cpts(cpts).merge_states("weather", ["rain", "snow"], "wet").cpt("walk")
        P(walk | weather)
        weather | no   yes
        sun     | 0.1  0.9
        wet     | 0.65 0.35
        """
        from bntk.editing import merge_states

        return merge_states(self, name, states, into, max_entries=max_entries)

    # ---- causal questions ------------------------------------------------------------------------------------

    def identify(
        self,
        y: str | Iterable[str],
        do: str | Iterable[str],
        given: str | Iterable[str] = (),
        latent: str | Iterable[str] = (),
    ) -> Formula | Hedge:
        """The effect of an intervention as a formula of the observed variables, or why there is none.

        See :meth:`bntk.DAG.identify`; only the structure of the network is used.

        Parameters
        ----------
        y, do, given, latent : str or iterable of str
            The targets, the variables that are set, those that are observed after that, and nodes that are never
            observed.

        Examples
        --------
        >>> import bntk
        >>> bn = bntk.datasets.sprinkler()
        >>> formula = bn.identify("wet", do="sprinkler", latent="cloudy")
        >>> print(formula)
        P(wet | do(sprinkler)) = sum_{rain} P(rain) P(wet | sprinkler, rain)
        >>> print(formula.evaluate(bn))
        P(wet | do(sprinkler))
        wet           no    yes
        sprinkler
        no         0.550  0.450
        yes        0.055  0.945
        """
        return self._dag.identify(y, do, given, latent)

    def effect(
        self,
        y: str | Iterable[str],
        do: Mapping[str, Any] | str | Iterable[str],
        given: Mapping[str, Any] | None = None,
        *,
        versus: Mapping[str, Any] | None = None,
        by: str | Iterable[str] = (),
        values: Any = None,
    ) -> Effect:
        """The distribution of an outcome after other variables were set, and how it differs from another setting.

        The network is taken to be causal: its arcs lead from causes to effects, and nothing else is a common cause.
        From rows, with intervals and with latent variables, see :func:`bntk.causal.estimate_effect`. The controlled
        direct effect of x with m held fixed is that of ``do={"x": 1, "m": 0}`` versus ``{"x": 0, "m": 0}``.

        Parameters
        ----------
        y : str or iterable of str
            The outcome, or several, whose joint distribution is wanted.
        do : mapping, or names
            The state that each variable is set to; or names, for all of their states in turn.
        given : mapping, optional
            States that are observed after that.
        versus : mapping, optional
            The setting to compare with: differences and ratios of probabilities and, for numbers, of expected values.
        by : str or iterable of str
            Variables whose states are strata, with an effect in each.
        values : mapping or sequence, optional
            The number that each state of the outcome stands for; by default the states, if they are numbers.

        Returns
        -------
        Effect

        Examples
        --------
        >>> import bntk
        >>> bn = bntk.datasets.sprinkler()
        >>> print(bn.effect("wet", {"rain": "yes"}, versus={"rain": "no"}))
        P(wet | do(rain='yes')), versus do(rain='no')
        rain wet     p  difference  ratio
         yes  no 0.073      -0.657 0.1000
         yes yes 0.927       0.657 3.4333
          no  no 0.730       0.000 1.0000
          no yes 0.270       0.000 1.0000
        exact, from the network
        """
        from bntk.causal.effects import effect

        return effect(self, y, do, given, versus=versus, by=by, values=values)

    def path_effect(
        self,
        y: str,
        do: Mapping[str, Any],
        versus: Mapping[str, Any],
        given: Mapping[str, Any] | None = None,
        *,
        along: Any = None,
        through: str | Iterable[str] = (),
        by: str | Iterable[str] = (),
        values: Any = None,
    ) -> Effect:
        """The effect of one variable on another along some of the paths between them.

        Along these paths the variable seems to be set as in ``do``, along all others as in ``versus``; the result
        compares the outcome with ``versus`` everywhere. So ``along="x -> y"`` is the natural direct effect, and
        ``through=`` the variables between the two is the natural indirect effect (Pearl 2001). In a network without
        further common causes it is identified if and only if all paths that begin with the same arc are taken, or none
        (Avin, Shpitser and Pearl 2005); else it is refused, and the recanting witness is named.

        Parameters
        ----------
        y : str
            The outcome.
        do, versus : mapping
            The state that the variable is set to, and the one that it is compared with.
        given : mapping, optional
            States that are observed, of variables that are not effects of the one that is set.
        along : path or list of paths, optional
            Paths, each as ``"x -> m -> y"`` or a list of names.
        through : str or iterable of str
            Instead: all paths through one of these variables.
        by, values
            As for :meth:`effect`.

        Returns
        -------
        Effect

        Examples
        --------
        >>> import bntk
        >>> bn = bntk.datasets.sprinkler()
        >>> by_rain = bn.path_effect("wet", {"cloudy": "yes"}, {"cloudy": "no"}, through="rain")
        >>> round(by_rain.difference["yes"], 4)
        0.297
        """
        from bntk.causal.effects import path_effect

        return path_effect(self, y, do, versus, given, along=along, through=through, by=by, values=values)

    def counterfactual(
        self,
        y: str | Iterable[str],
        do: Mapping[str, Any],
        given: Mapping[str, Any] | None = None,
        *,
        coupling: Literal["monotone", "independent"] = "monotone",
        bounds: bool = False,
    ) -> Counterfactual:
        """What an outcome would have been if other variables had been set, given what was observed.

        In a twin network, what was and what would have been share the noise of each table. The table does not tell how
        its states go together for different parents, so that this is an assumption, ``coupling``; ``bounds=True`` gives
        the smallest and the largest probability over all of them (with the noise of different variables independent).
        Without observations it is the effect, and where what is set is what was observed, it is what was observed.

        Parameters
        ----------
        y : str or iterable of str
            The outcome, or several, whose joint distribution is wanted.
        do : mapping
            The state that each variable would have been set to.
        given : mapping, optional
            What was observed, before anything was set: also of the outcome, and of what is set.
        coupling : {"monotone", "independent"}
            ``"monotone"``: a variable is where its uniform noise falls among the probabilities of its states, in their
            order, whatever the parents. ``"independent"``: for different parents its states are independent.
        bounds : bool
            Also the bounds over all couplings, by linear programming; for small tables.

        Returns
        -------
        Counterfactual

        Examples
        --------
        The grass was wet after rain. Would it have been, without rain? The probability of "no" is that of necessity.

        >>> import bntk
        >>> bn = bntk.datasets.sprinkler()
        >>> print(bn.counterfactual("wet", {"rain": "no"}, {"rain": "yes", "wet": "yes"}, bounds=True))
        P(wet | do(rain='no'); observed rain='yes', wet='yes')
        wet      p  lower  upper
         no 0.8232 0.8232 0.8251
        yes 0.1768 0.1749 0.1768
        coupling: monotone, of wet; lower and upper: over all couplings
        """
        from bntk.causal.counterfactuals import counterfactual

        return counterfactual(self, y, do, given, coupling=coupling, bounds=bounds)

    # ---- views -----------------------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """All tables as one tidy data frame with the columns ``variable``, ``given``, ``state`` and ``p``."""
        import pandas as pd

        if not self._cpts:
            return pd.DataFrame(columns=["variable", "given", "state", "p"])
        return pd.concat([_tidy(cpt) for cpt in self._cpts], ignore_index=True)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the network to a file, in the format that its suffix names; see :func:`bntk.io.save`.

        Parameters
        ----------
        path : str or path
            The file, which is replaced if it exists; ``.gz`` after the suffix compresses.
        force : bool
            Whether a file of more than 100 MB, before it is compressed, is written; by default that is refused.
        """
        from bntk.io import save

        save(self, path, force=force)

    def plot(
        self,
        given: Mapping[str, Any] | None = None,
        *,
        target: str | Iterable[str] = (),
        strengths: Any = None,
        arc_labels: Any = None,
        bars: bool | Iterable[str] | None = None,
        highlight: str | Iterable[str] = (),
        ax: Any = None,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        font_size: float | None = None,
        layout: str = "auto",
    ) -> Any:
        """Draw the network; with evidence, the posterior of every variable as bars inside its node.

        Parameters
        ----------
        given : mapping of variable to finding, optional
            Evidence, see :meth:`query`. Its nodes are grey; ``{}`` shows the marginals.
        target, highlight : str or iterable of str
            Nodes to colour: class variables, and others.
        strengths : "mi", mapping of (parent, child) to number, or bootstrap strengths, optional
            Strong arcs are drawn wide, see :func:`bntk.viz.plot_network`.
        arc_labels : True, mapping of (parent, child) to number or text, or as ``strengths``, optional
            What to write beside arcs; ``True`` writes their strengths.
        bars : bool or iterable of str, optional
            Which nodes have bars: by default all if there is evidence, else none.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure of the size that the network needs.
        title : str, optional
            The title of the picture.
        figsize : (float, float), optional
            Width and height of the new figure in inches, which the picture is fitted into.
        font_size : float, optional
            Size of the names in points, 10 by default.
        layout : {"auto", "layered", "graphviz"}
            How nodes are placed, see :func:`bntk.viz.plot_dag`.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> import bntk
        >>> axes = bntk.datasets.asia().plot({"xray": "yes"}, target="lung", title="asia")
        """
        from bntk.viz.network import plot_network

        return plot_network(
            self,
            given,
            target=target,
            strengths=strengths,
            arc_labels=arc_labels,
            bars=bars,
            highlight=highlight,
            ax=ax,
            title=title,
            figsize=figsize,
            font_size=font_size,
            layout=layout,
        )

    def explore(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        target: str | None = None,
        given: Mapping[str, Any] | None = None,
        soft: Mapping[str, Any] | None = None,
        title: str | None = None,
        max_entries: int | None = None,
    ) -> ExplorerView | Path:
        """The network as a page to ask: nodes hold bars, and a click on a state changes all others at once.

        The page is one HTML file that holds everything, computes exact posteriors by itself, and needs no connection.
        Without a path it is shown in a notebook, where it stays alive without a kernel.

        Parameters
        ----------
        path : str or path, optional
            The file to write, ``.html``, which is replaced if it exists. The same network gives the same file.
        target : str, optional
            The variable of interest: what moved it, and what to observe next.
        given, soft : mapping, optional
            The findings to begin with, see :meth:`query`.
        title : str, optional
            The title of the page.
        max_entries : int, optional
            The clique entries that the page may run through at a click; 4,000,000 by default
            (``bntk.explore.MAX_ENTRIES``), which takes a browser some tenths of a second.

        Returns
        -------
        bntk.explore.ExplorerView, or with a path the path
            The view tells the findings of the page where a kernel runs: ``view.given``.

        Raises
        ------
        TooLargeError
            When the cliques of the network are too large for a page; nothing is written.

        Examples
        --------
        >>> import bntk, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     bntk.datasets.asia().explore(folder + "/asia.html", target="lung").name
        'asia.html'
        >>> bntk.datasets.asia().explore(given={"xray": "yes"})
        Explorer of 8 variables, given xray='yes'
        """
        from bntk.explore.explorer import explore

        return explore(self, path, target=target, given=given, soft=soft, title=title, max_entries=max_entries)

    def _repr_svg_(self) -> str | None:
        from bntk.viz.notebook import structure_svg

        return structure_svg(self._dag)

    def is_close(self, other: BayesianNetwork, tolerance: float = 1e-9) -> bool:
        """True when variables and arcs agree, and no probability differs by more than ``tolerance``.

        Parameters
        ----------
        other : BayesianNetwork
            The network to compare with.
        tolerance : float
            The largest difference of two probabilities.
        """
        a_network(other, "other")
        tolerance = _checking.number("tolerance", tolerance, 0)
        return (
            self.variables == other.variables
            and self._dag == other._dag
            and all(
                np.allclose(a.values, b.values, rtol=0, atol=tolerance)
                for a, b in zip(self._cpts, other._cpts, strict=True)
            )
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BayesianNetwork):
            return NotImplemented
        return self._dag == other._dag and self._cpts == other._cpts

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}  # what can be computed again is not kept

    def __repr__(self) -> str:
        def plural(n: int, word: str) -> str:
            return f"{n:,} {word}" + ("" if n == 1 else "s")

        head = (
            f"BayesianNetwork: {plural(len(self._cpts), 'variable')}, {plural(self._dag.n_arcs, 'arc')}, "
            f"{plural(self.n_parameters, 'parameter')}"
        )
        most = 30
        lines = [
            f"  {cpt.name} ({plural(cpt.child.n_states, 'state')})"
            + (f" <- {', '.join(p.name for p in cpt.parents)}" if cpt.parents else "")
            for cpt in self._cpts[:most]
        ]
        hidden = len(self._cpts) - most
        return "\n".join([head, *lines, *([f"  ... {hidden:,} more variables"] if hidden > 0 else [])])


def a_network(network: BayesianNetwork, argument: str = "network") -> BayesianNetwork:
    """A network as it is; anything else is refused."""
    return _checking.instance(argument, network, BayesianNetwork, error=NetworkError)


def _checked_positions(dag: DAG, positions: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, float]]:
    found = {}
    for name, place in _checking.mapping("positions", positions, "{name: (x, y)}", NetworkError).items():
        dag.index(name)
        what, expected = f"the position of {name!r}", "two finite numbers, x and y"
        numbers = _checking.numbers(what, place, expected, NetworkError)
        if numbers.shape != (2,) or not np.isfinite(numbers).all():
            raise _checking.wrong(what, expected, place, NetworkError)
        found[name] = float(numbers[0]), float(numbers[1])
    return {name: found[name] for name in dag.nodes if name in found}


def _checked_labels(dag: DAG, labels: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for name, text in _checking.mapping("labels", labels, "{name: text}", NetworkError).items():
        dag.index(name)
        found[name] = _checking.text(f"the label of {name!r}", text, error=NetworkError)
    return {name: found[name] for name in dag.nodes if name in found and found[name] != name}


def _checked_prior(prior: Prior | None) -> Prior | None:
    if prior is not None and not hasattr(prior, "pseudo_counts"):
        raise _checking.wrong("prior", "a Prior such as bntk.priors.Dirichlet(), or None", prior, NetworkError)
    return prior


def _checked_counts(
    dag: DAG, counts: Mapping[tuple[str, ...], NDArray[Any]] | None
) -> dict[tuple[str, ...], NDArray[Any]]:
    if counts is None:
        return {}
    what = "{(name, ...): table of counts}"
    for names, table in _checking.mapping("prior_counts", counts, what, NetworkError).items():
        for name in _checking.several("each key of prior_counts", names, error=NetworkError):
            dag.index(name)
        _checking.numbers(f"prior_counts of {names}", table, "a table of numbers", NetworkError)
    return dict(counts)


def _options(engine: EngineName, max_entries: int | None, settings: dict[str, Any]) -> Options:
    from bntk.inference.choose import options

    return options(engine, max_entries, settings)


def _as_cpt(local: LocalDistribution) -> CPT:
    if isinstance(local, CPT):  # a protocol takes far longer to check
        return local.to_cpt()
    if not isinstance(local, LocalDistribution):
        raise NetworkError(f"expected a CPT or another local distribution (with to_cpt), got {_checking.shown(local)}")
    return _checking.instance("what to_cpt returns", local.to_cpt(), CPT, error=NetworkError)


def _ordered_cpts(dag: DAG, cpts: Iterable[LocalDistribution] | Mapping[str, LocalDistribution]) -> tuple[CPT, ...]:
    """One table per node, in node order, after checking that families and states agree."""
    by_name: dict[str, CPT] = {}
    given = cpts.values() if isinstance(cpts, Mapping) else _checking.several("cpts", cpts, "CPT objects", NetworkError)
    for local in given:
        cpt = _as_cpt(local)
        if cpt.name in by_name:
            raise NetworkError(f"two tables are given for {cpt.name!r}")
        by_name[cpt.name] = cpt
    if isinstance(cpts, Mapping):
        for key, cpt in zip(cpts, by_name.values(), strict=True):
            if key != cpt.name:
                raise NetworkError(f"the table given for {key!r} is {cpt.heading}")
    absent = [name for name in dag.nodes if name not in by_name]
    if absent:
        raise NetworkError(f"no table is given for {absent}")
    nodes = set(dag.nodes)
    unknown = [name for name in by_name if name not in nodes]
    if unknown:
        raise UnknownNameError(
            f"tables are given for {unknown}, which are not nodes{did_you_mean(unknown[0], dag.nodes)}"
            f"; the nodes are {list(dag.nodes)}"
        )
    return tuple(_checked(dag, by_name, name) for name in dag.nodes)


def _checked(dag: DAG, by_name: Mapping[str, CPT], name: str) -> CPT:
    cpt, expected = by_name[name], dag.parents(name)
    got = [p.name for p in cpt.parents]
    if set(got) != set(expected):
        raise NetworkError(f"{name!r} has the parents {list(expected)} in the graph, but its table is {cpt.heading}")
    for parent in cpt.parents:
        own = by_name[parent.name].child
        if own.states != parent.states:
            raise NetworkError(
                f"{cpt.heading}: {parent.name!r} has the states {format_states(parent.states)} here, "
                f"but {format_states(own.states)} in its own table"
            )
    return cpt.reorder(expected)


def _tidy(cpt: CPT) -> pd.DataFrame:
    import itertools

    import pandas as pd

    from bntk.data.columns import state_index

    configurations = itertools.product(*(p.states for p in cpt.parents))
    given = [", ".join(f"{p.name}={s}" for p, s in zip(cpt.parents, states, strict=True)) for states in configurations]
    states = state_index(cpt.child).to_numpy(dtype=object)
    return pd.DataFrame(
        {
            "variable": cpt.name,
            "given": np.repeat(np.array(given, dtype=object), len(states)),
            "state": np.tile(states, len(given)),
            "p": cpt.values.ravel(),
        }
    )

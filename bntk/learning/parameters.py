"""Parameters of a known structure: counts plus prior, normalised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk._memory import says_what_to_do
from bntk.cpt import CPT, MAX_TABLE_ENTRIES, check_table_size
from bntk.data.dask_frames import is_dask_frame
from bntk.data.numbers import N_BINS, Reading
from bntk.data.variable import Variable, checked_variables, names_of
from bntk.errors import NetworkError
from bntk.graph.dag import DAG, as_dag
from bntk.learning.counts import Counter, DaskPartitions, as_counter
from bntk.learning.counts.base import check_same_variables
from bntk.learning.priors import Family, Prior, Tables, as_prior, n_configurations
from bntk.network import BayesianNetwork


@says_what_to_do("leave out arcs, or join rare states, so that tables have fewer entries")
def fit(
    dag: DAG | str,
    data: Any,
    prior: Prior | str | float | Mapping[str, ArrayLike] = "mle",
    *,
    weights: ArrayLike | None = None,
    intervened: Any = None,
    variables: Sequence[Variable] | None = None,
    numeric: str | Mapping[str, Any] = "auto",
    n_bins: int = N_BINS,
    missing: str = "auto",
    max_entries: int = MAX_TABLE_ENTRIES,
) -> BayesianNetwork:
    """Estimate the tables of a network with a known structure.

    With N_ijk the number of rows with the child in state k and the parents in configuration j,

        theta_ijk = (N_ijk + alpha_ijk) / sum_k (N_ijk + alpha_ijk),

    and uniform where that is 0 / 0. A row with missing values counts for each family in which it is complete
    (available cases), unless EM is chosen. The network keeps its counts, so that :meth:`BayesianNetwork.update` is
    exact.

    Parameters
    ----------
    dag : DAG or str
        The structure; a string is read by :meth:`DAG.parse`.
    data : Table, data frame, mapping of columns, Counter, or Scan
        Must have a column for each node; others are ignored. Rows that do not fit into memory are given by
        :func:`bntk.scan`.
    prior : "mle", "backoff", "hdp", float, mapping, or Prior
        A number is the Dirichlet alpha of every cell; a mapping gives it by variable (a number, or one per state);
        ``bntk.priors.BDeu(ess)`` spreads an equivalent sample size, ``BDeu.per_class(alpha, target=...)`` one of each
        class; ``"backoff"`` shrinks each table towards P(child), see :class:`bntk.priors.Backoff`; ``"hdp"`` smooths it
        along the chain of its parents, see :class:`bntk.priors.HDP`.
    weights : array_like, optional
        One non-negative number per row: how often it counts. Weights are not scaled.
    intervened : sequence, frame, mapping, array, or str, optional
        Which variables were set by an experiment in which rows: one entry per row (None, a name, or several); a frame
        or mapping from names to booleans (a mapping also to positions of rows); an array of booleans with the columns
        of the data; or the name of a column with such entries. A row does not count for the family of a variable that
        was set in it (Cooper and Yoo 1999).
    variables : sequence of Variable, optional
        Declared states, where the data may not show all of them.
    numeric : str or mapping
        What becomes of columns of numbers in a data frame or mapping. ``"auto"``: at most ten different whole numbers
        are states as they are; others are cut into ``n_bins`` intervals with about the same number of rows, and a
        warning names them. ``"frequency"`` and ``"width"`` cut them into intervals with the same number of rows or of
        the same width, ``"hartemink"`` into intervals that keep much of the mutual information between the columns
        (:func:`bntk.cuts.hartemink_cuts`), ``"category"`` makes each number a state, and ``"bernoulli"`` only
        distinguishes numbers above zero from others. A mapping chooses for each column, and may give cut points. A
        :class:`bntk.Table` has states already, and ``"auto"`` leaves them as they are.
    n_bins : int
        The number of intervals.
    missing : {"auto", "available", "em"}
        ``"available"``: each family is estimated from the rows that are complete in it, which is fast and exact to
        update; right when cells are missing completely at random. ``"em"``: every observed cell is used, by
        :func:`bntk.learning.em.fit_em`, whose options this has at their defaults. ``"auto"``: available cases, but EM
        where a declared variable has no column in the data and so is hidden.
    max_entries : int
        A table with more entries, or tables that have more together, are refused before they are allocated.

    Examples
    --------
    >>> bn = fit("rain -> wet", {"rain": ["no", "no", "yes"], "wet": ["no", "no", "yes"]}, prior=1)
    >>> bn.cpt("wet")
    P(wet | rain)
    rain | no     yes
    no   | 0.75   0.25
    yes  | 0.3333 0.6667
    """
    dag, max_entries = as_dag(dag), _checking.limit("max_entries", max_entries)
    variables = None if variables is None else checked_variables(variables)
    if is_dask_frame(data):
        data, weights = DaskPartitions.of(data, weights), None
    if _needs_em(missing, dag, data, variables):
        from bntk.learning.em import fit_em

        return fit_em(
            dag, data, prior, weights=weights, intervened=intervened, variables=variables, numeric=numeric,
            n_bins=n_bins, max_entries=max_entries,
        )  # fmt: skip
    reading = Reading(numeric, n_bins)
    counter = as_counter(
        data, variables=variables, weights=weights, intervened=intervened, only=dag.nodes, reading=reading
    )
    rule = as_prior(prior).for_variables(counter.variables)
    if not isinstance(data, Counter):  # classifiers give one, and a prior for the features of several of them
        rule.check_names(dag.nodes)
    families = sized_families(dag, counter.variables, max_entries)
    wanted = [*families, *rule.needed(families)]
    counts = counter.tables(map(names_of, wanted), max_entries=max_entries)
    return estimated(dag, families, counts[: len(families)], rule, _by_names(wanted, counts, len(families)))


@says_what_to_do("leave out arcs, or join rare states, so that tables have fewer entries")
def updated(
    network: BayesianNetwork, data: Any, weights: ArrayLike | None = None, intervened: Any = None
) -> BayesianNetwork:
    """The network with the counts of more rows added; see :meth:`BayesianNetwork.update`."""
    without = [cpt.name for cpt in network.cpts if cpt.counts is None]
    if without:
        raise NetworkError(
            f"this network has no counts to add to (for {without}); only a fitted network can be updated: use bntk.fit"
        )
    if network.prior is None:
        raise NetworkError(
            "this network has no prior to go with its counts; if EM made it, more rows would change what is expected "
            "of the earlier ones: fit all rows again, with this network as the start (bntk.learning.em.fit_em)"
        )
    states = None if isinstance(data, Counter) else network.variables
    counter = as_counter(data, variables=states, weights=weights, intervened=intervened, only=network.names)
    check_same_variables(network.variables, [counter.variables[counter._positions[name]] for name in network.names])
    families = [cpt.family for cpt in network.cpts]
    wanted = [*families, *network.prior.needed(families)]
    lacking = [names_of(f) for f in wanted[len(families) :] if names_of(f) not in network.prior_counts]
    if lacking:
        raise NetworkError(
            f"this network lacks the counts of {lacking} that its prior {network.prior!r} needs: fit all rows again"
        )
    more = counter.tables(map(names_of, wanted))
    beside = [network.prior_counts[names_of(family)] for family in wanted[len(families) :]]
    kept = [*(np.asarray(cpt.counts) for cpt in network.cpts), *beside]
    with np.errstate(over="ignore"):
        counts = [np.add(old, new) for old, new in zip(kept, more, strict=True)]
        for family, table in zip(wanted, counts, strict=True):
            if not np.isfinite(table.sum()):
                raise NetworkError(f"the counts of {list(names_of(family))} sum to {table.sum():g}: fit all rows again")
    own, prior_counts = counts[: len(families)], _by_names(wanted, counts, len(families))
    parts = {"positions": network.positions, "labels": network.labels}
    return estimated(network.dag, families, own, network.prior, prior_counts, **parts)


def _by_names(families: Sequence[Family], counts: Sequence[NDArray[Any]], first: int) -> Tables:
    """The tables from the ``first`` on, by the names of their variables."""
    return {names_of(family): table for family, table in zip(families[first:], counts[first:], strict=True)}


def estimated(
    dag: DAG,
    families: Sequence[Family],
    counts: Sequence[NDArray[Any]],
    prior: Prior,
    prior_counts: Tables,
    **parts: Any,
) -> BayesianNetwork:
    """The network with the estimates from counts: one table per family, and those that the prior needs beside."""
    cpts = [
        CPT._trusted(family[-1], values, family[:-1], table)
        for family, values, table in zip(families, prior.estimates(families, counts, prior_counts), counts, strict=True)
    ]
    return BayesianNetwork._trusted(dag, cpts, prior=prior, prior_counts=prior_counts, **parts)


def _needs_em(missing: str, dag: DAG, data: Any, variables: Sequence[Variable] | None) -> bool:
    _checking.one_of("missing", missing, ("auto", "available", "em"))
    if missing != "auto" or variables is None:
        return missing == "em"
    from bntk.learning.em import hidden_names

    return bool(hidden_names(dag.nodes, data, variables))


def sized_families(dag: DAG, variables: Sequence[Variable], max_entries: int) -> list[Family]:
    """(parents..., child) for each node; all sizes are checked before anything is counted."""
    by_name = {v.name: v for v in variables}
    nodes = [by_name[name] for name in dag.nodes]
    families = [tuple([nodes[v] for v in (*parents, node)]) for node, parents in enumerate(dag.parent_indices)]
    for family in families:
        if n_configurations(family) * family[-1].n_states > max_entries:
            check_table_size(family[-1], family[:-1], max_entries)
    return families

"""Parameters of a known structure: counts plus prior, normalised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk.cpt import CPT, MAX_TABLE_ENTRIES, check_table_size
from bntk.data.table import as_table
from bntk.data.variable import Variable
from bntk.errors import DataError, NetworkError
from bntk.graph.dag import DAG
from bntk.learning.counts import Counter, TableCounter
from bntk.learning.priors import Prior, as_prior
from bntk.network import BayesianNetwork


def fit(
    dag: DAG | str,
    data: Any,
    prior: Prior | str | float | Mapping[str, ArrayLike] = "mle",
    *,
    weights: ArrayLike | None = None,
    variables: Sequence[Variable] | None = None,
    missing: str = "auto",
    max_entries: int = MAX_TABLE_ENTRIES,
) -> BayesianNetwork:
    """Estimate the tables of a network with a known structure.

    With N_ijk the number of rows with the child in state k and the parents in configuration j,

        theta_ijk = (N_ijk + alpha_ijk) / sum_k (N_ijk + alpha_ijk),

    and uniform where that is 0 / 0. A row with missing cells counts for each family in which it is complete
    (available cases), unless EM is asked for. The network keeps its counts, so that :meth:`BayesianNetwork.update` is
    exact.

    Parameters
    ----------
    dag : DAG or str
        The structure; a string is read by :meth:`DAG.parse`.
    data : Table, data frame, mapping of columns, or Counter
        Must have a column for each node; others are ignored.
    prior : "mle", float, mapping, or Prior
        A number is the Dirichlet alpha of every cell; a mapping gives it by variable (a number, or one a state);
        ``bntk.priors.BDeu(ess)`` spreads an equivalent sample size.
    weights : array_like, optional
        One non-negative number a row.
    variables : sequence of Variable, optional
        Declared states, where the data may not show all of them.
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
    dag = DAG.parse(dag) if isinstance(dag, str) else dag
    if _needs_em(missing, dag, data, variables):
        from bntk.learning.em import fit_em

        return fit_em(dag, data, prior, weights=weights, variables=variables, max_entries=max_entries)
    rule = as_prior(prior)
    counter = _counter(dag, data, weights, variables)
    families = sized_families(dag, counter.variables, max_entries)
    indices = [[counter.names.index(v.name) for v in family] for family in families]
    counts = counter.tables(indices, max_entries=max_entries)
    return BayesianNetwork(dag, [_estimate(f, c, rule) for f, c in zip(families, counts, strict=True)], prior=rule)


def updated(network: BayesianNetwork, data: Any, weights: ArrayLike | None = None) -> BayesianNetwork:
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
    counter = TableCounter(
        as_table(data, variables=network.variables), None if weights is None else np.asarray(weights)
    )
    families = [cpt.family for cpt in network.cpts]
    more = counter.tables([[v.name for v in family] for family in families])
    cpts = [
        _estimate(family, np.add(cpt.counts, counts), network.prior)  # type: ignore[arg-type]
        for family, cpt, counts in zip(families, network.cpts, more, strict=True)
    ]
    return BayesianNetwork(network.dag, cpts, prior=network.prior, positions=network.positions)


def _needs_em(missing: str, dag: DAG, data: Any, variables: Sequence[Variable] | None) -> bool:
    if missing not in ("auto", "available", "em"):
        raise ValueError(f"missing must be 'auto', 'available' or 'em', not {missing!r}")
    if missing != "auto" or variables is None:
        return missing == "em"
    from bntk.learning.em import hidden_names

    return bool(hidden_names(dag.nodes, data, variables))


def _counter(dag: DAG, data: Any, weights: ArrayLike | None, variables: Sequence[Variable] | None) -> Counter:
    if isinstance(data, Counter):
        if weights is not None or variables is not None:
            raise DataError("a Counter has its weights and variables already; give them where it is made")
        counter = data
    else:
        table = as_table(data, variables=variables, only=dag.nodes)
        counter = TableCounter(table, None if weights is None else np.asarray(weights))
    absent = [name for name in dag.nodes if name not in counter.names]
    if absent:
        raise DataError(f"the data have no column for {absent}; they have {list(counter.names)}")
    return counter


def sized_families(dag: DAG, variables: Sequence[Variable], max_entries: int) -> list[tuple[Variable, ...]]:
    """(parents..., child) for each node; all sizes are checked before anything is counted."""
    by_name = {v.name: v for v in variables}
    families = []
    for name in dag.nodes:
        parents = [by_name[p] for p in dag.parents(name)]
        check_table_size(by_name[name], parents, max_entries)
        families.append((*parents, by_name[name]))
    return families


def _estimate(family: tuple[Variable, ...], counts: NDArray[Any], prior: Prior) -> CPT:
    """The table of a family with its counts."""
    *parents, child = family
    q = counts.size // child.n_states
    return CPT._trusted(child, posterior_mean(counts, prior.alpha(child, q)), tuple(parents), counts)


def posterior_mean(counts: NDArray[Any], alpha: ArrayLike) -> NDArray[np.float64]:
    """Counts plus prior, normalised over the last axis; uniform where there is neither data nor prior."""
    values = counts + np.asarray(alpha, dtype=np.float64)
    totals = values.sum(axis=-1, keepdims=True)
    uniform = np.full(values.shape, 1.0 / values.shape[-1])
    return np.divide(values, totals, out=uniform, where=totals > 0)

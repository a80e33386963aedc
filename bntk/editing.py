"""Networks changed by hand: tables, arcs, variables and states; each edit returns a new network.

An edit keeps everything that it is not about. Where a table loses an axis, or states of a parent become one, rows are
averaged with the weights that the network itself gives them, by exact inference. Counts stay with the tables for which
they are still the counts, and so does the prior; how the network was learned (``report``) is not kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.cpt import CPT, LocalDistribution, check_table_size, empty_table, row_text
from bntk.data.intervals import interval_names
from bntk.data.variable import State, Variable, format_states, state_text
from bntk.errors import CycleError, NetworkError
from bntk.graph.dag import DAG
from bntk.network import BayesianNetwork

#: The old codes that each new state stands for.
Groups = Sequence[Sequence[int]]
#: Numbers of an expert may exceed 1 in sum by so much, from rounding.
ROUNDING = 1e-9


# ---- tables ----------------------------------------------------------------------------------------------------


def with_cpt(network: BayesianNetwork, table: str | LocalDistribution, values: Any = None) -> BayesianNetwork:
    """Another table for a variable; see :meth:`BayesianNetwork.with_cpt`."""
    cpt = _given_table(network, table, values)
    network.dag.index(cpt.name)
    beside = {key: counts for key, counts in network.prior_counts.items() if key[-1] != cpt.name}
    return _assembled(network, {cpt.name: cpt}, prior_counts=beside)


def _given_table(network: BayesianNetwork, table: str | LocalDistribution, values: Any) -> CPT:
    if isinstance(table, str):
        old = network.cpt(table)
        if isinstance(values, LocalDistribution):
            cpt = values.to_cpt()
            if cpt.name != table:
                raise NetworkError(f"the table given for {table!r} is {cpt.heading}")
            return cpt
        if hasattr(values, "columns") and hasattr(values, "to_numpy"):
            return CPT.from_frame(old.child, values, old.parents)
        if isinstance(values, Mapping):
            return CPT.from_dict(old.child, values, old.parents)
        return CPT(old.child, values, old.parents)
    if values is not None or not isinstance(table, LocalDistribution):
        expected = "the name of a variable, with its values, or a CPT (without values)"
        raise _checking.wrong("table", expected, table, NetworkError)
    return _checking.instance("what to_cpt returns", table.to_cpt(), CPT, error=NetworkError)


def with_rows(network: BayesianNetwork, name: str, probabilities: Any, given: Any = None) -> BayesianNetwork:
    """Other numbers in some rows of a table; see :meth:`BayesianNetwork.with_rows`."""
    old = network.cpt(name)
    where = np.ix_(*_chosen_rows(old, given))
    values = old.values.copy()
    rows = values[where] if old.parents else values
    changed = _with_numbers(old, rows, probabilities)
    if old.parents:
        values[where] = changed
    else:
        values = changed
    return _assembled(network, {name: CPT(old.child, values, old.parents)})


def _chosen_rows(cpt: CPT, given: Any) -> list[list[int]]:
    """The codes that each parent may have."""
    given = {} if given is None else _checking.mapping("given", given, "{parent: state or states}", NetworkError)
    parents = {parent.name: parent for parent in cpt.parents}
    for name in given:
        if name not in parents:
            known = f"its parents are {list(parents)}" if parents else "it has no parents"
            raise NetworkError(f"given names {name!r}, which is no parent of {cpt.name!r}; {known}")
    chosen = []
    for name, parent in parents.items():
        state = given.get(name, parent.states)
        if not isinstance(state, (list, tuple, set, frozenset)) or state in parent.states:
            state = [state]
        codes = sorted({parent.code(each) for each in state})
        if not codes:
            raise NetworkError(f"given has no state of {name!r}; leave it out for all of its states")
        chosen.append(codes)
    return chosen


def _with_numbers(cpt: CPT, rows: NDArray[np.float64], numbers: Any) -> NDArray[np.float64]:
    """Rows with the numbers of an expert; the states that are not named share the rest as they did before."""
    child = cpt.child
    if not isinstance(numbers, Mapping):
        what = f"probabilities of {child.name!r}"
        row = _checking.numbers(
            what, numbers, "a mapping {state: probability}, or numbers for all states", NetworkError
        )
        if row.shape != (child.n_states,):
            raise NetworkError(
                f"{what}: {row.size} numbers for {child.n_states} states; give one for each of "
                f"{format_states(child.states)}, or a mapping {{state: probability}}"
            )
        numbers = dict(zip(child.states, row.tolist(), strict=True))
    codes = {child.code(state): _probability(child, state, p) for state, p in numbers.items()}
    if not codes or len(codes) < len(numbers):
        raise NetworkError(f"probabilities of {child.name!r}: give a number for one state or more, each of them once")
    total, others = math.fsum(codes.values()), [c for c in range(child.n_states) if c not in codes]
    if others and total > 1 + ROUNDING:
        raise NetworkError(f"probabilities of {child.name!r}: {dict(numbers)} sum to {total:g}, which is more than 1")
    found = rows.copy()
    if others:
        found[..., others] = _shares(rows[..., others]) * max(1 - total, 0.0)
    for code, p in codes.items():
        found[..., code] = p
    return found


def _shares(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers divided by the sum of their row; equal ones where that is zero."""
    sums = parts.sum(-1, keepdims=True)
    return np.where(sums > 0, parts / np.where(sums > 0, sums, 1), 1 / parts.shape[-1])


def _probability(child: Variable, state: State, p: Any) -> float:
    if not _checking.is_number(p) or not 0 <= p <= 1:
        raise _checking.wrong(f"P({child.name}={state!r})", "a number from 0 to 1", p, NetworkError)
    return float(p)


# ---- arcs ------------------------------------------------------------------------------------------------------


def add_arc(network: BayesianNetwork, tail: str, head: str) -> BayesianNetwork:
    """One more arc, without influence yet; see :meth:`BayesianNetwork.add_arc`."""
    dag = network.dag.add_arc(tail, head)
    old, parents = network.cpt(head), tuple(network.variable(name) for name in dag.parents(head))
    values = empty_table(old.child, parents)
    values[...] = np.expand_dims(old.values, [p.name for p in parents].index(tail))
    return _assembled(network, {head: CPT._trusted(old.child, values, parents)})


def remove_arc(network: BayesianNetwork, tail: str, head: str, *, max_entries: int | None = None) -> BayesianNetwork:
    """One arc less, its parent summed out; see :meth:`BayesianNetwork.remove_arc`."""
    network.dag.remove_arc(tail, head)
    return _assembled(network, {head: _without_parents(network, network.cpt(head), {tail}, max_entries)})


def _without_parents(network: BayesianNetwork, cpt: CPT, gone: set[str], max_entries: int | None) -> CPT:
    """P(child | kept parents): the rows averaged by P(removed parents | kept parents)."""
    kept = tuple(p for p in cpt.parents if p.name not in gone)
    removed = tuple(p for p in cpt.parents if p.name in gone)
    order = [cpt.parents.index(p) for p in (*kept, *removed)]
    shape = [p.n_states for p in kept]
    values = cpt.values.transpose([*order, len(order)]).reshape(*shape, -1, cpt.child.n_states)
    weights = _conditional(network, removed, kept, max_entries).reshape(*shape, -1)
    table = np.matmul(weights[..., None, :], values)[..., 0, :]
    return CPT(cpt.child, _rounded(table, values), kept)


def _rounded(table: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """An average of rows, kept within them, so that equal rows have themselves as their average."""
    return np.clip(table, rows.min(axis=-2), rows.max(axis=-2))


def _conditional(
    network: BayesianNetwork, variables: Sequence[Variable], given: Sequence[Variable], max_entries: int | None
) -> NDArray[np.float64]:
    """P(variables | given), one axis for each of ``given`` first; P(variables) where what is given is impossible."""
    names = [v.name for v in variables]
    marginal = network.query(names, max_entries=max_entries).values
    if not given:
        return marginal
    joint = network.query([*(v.name for v in given), *names], max_entries=max_entries).values
    sums = joint.sum(axis=tuple(range(len(given), joint.ndim)), keepdims=True)
    return np.where(sums > 0, joint / np.where(sums > 0, sums, 1), marginal)


def reverse_arc(network: BayesianNetwork, tail: str, head: str) -> BayesianNetwork:
    """One arc turned round, the joint distribution as before; see :meth:`BayesianNetwork.reverse_arc`."""
    try:
        network.dag.reverse_arc(tail, head)
    except CycleError as error:
        raise NetworkError(
            f"the arc {tail!r} -> {head!r} cannot be reversed: there is another directed path between them, "
            f"{' -> '.join(error.cycle)} would be a cycle"
        ) from None
    above, below = network.cpt(tail), network.cpt(head)
    shared = {p.name for p in (*above.parents, *below.parents)} - {tail}
    others = tuple(v for v in network.variables if v.name in shared)
    check_table_size(above.child, [*others, below.child])
    axes = [*(v.name for v in others), head, tail]
    joint = _aligned(above, axes) * _aligned(below, axes)
    upper = joint.sum(-1)
    lower = np.where(
        upper[..., None] > 0,
        joint / np.where(upper > 0, upper, 1)[..., None],
        np.broadcast_to(_aligned(above, axes), joint.shape),
    )
    first = CPT(below.child, upper, others)
    return _assembled(network, {head: first, tail: CPT(above.child, lower, (*others, below.child))})


def _aligned(cpt: CPT, axes: Sequence[str]) -> NDArray[np.float64]:
    """The table as an array with these axes, of length one where the table does not depend on them."""
    names = [v.name for v in cpt.family]
    order = sorted(range(len(names)), key=lambda i: axes.index(names[i]))
    sizes = {v.name: v.n_states for v in cpt.family}
    return cpt.values.transpose(order).reshape([sizes.get(name, 1) for name in axes])


# ---- variables -------------------------------------------------------------------------------------------------


def add_variable(
    network: BayesianNetwork, table: Variable | LocalDistribution, position: Sequence[float] | None = None
) -> BayesianNetwork:
    """One more variable, the last; see :meth:`BayesianNetwork.add_variable`."""
    if isinstance(table, Variable):
        cpt = CPT.uniform(table)
    elif isinstance(table, LocalDistribution):
        cpt = _checking.instance("what to_cpt returns", table.to_cpt(), CPT, error=NetworkError)
    else:
        raise _checking.wrong("table", "a Variable or a CPT", table, NetworkError)
    if cpt.name in network.names:
        raise NetworkError(f"there already is a variable {cpt.name!r}; with_cpt gives it another table")
    dag = network.dag.add_node(cpt.name)
    for parent in cpt.parents:
        dag = dag.add_arc(parent.name, cpt.name)
    positions = network.positions
    if position is not None:
        positions = {**(positions or {}), cpt.name: position}  # type: ignore[dict-item]
    return BayesianNetwork(
        dag,
        [*network.cpts, cpt],
        prior=network.prior,
        prior_counts=network.prior_counts,
        positions=positions,
        labels=network.labels,
    )


def remove_variable(
    network: BayesianNetwork, names: str | Iterable[str], *, max_entries: int | None = None
) -> BayesianNetwork:
    """Some variables less, their children's tables averaged; see :meth:`BayesianNetwork.remove_variable`."""
    gone = {*_known(network, names)}
    changed = {
        cpt.name: _without_parents(network, cpt, gone, max_entries)
        for cpt in network.cpts
        if cpt.name not in gone and any(p.name in gone for p in cpt.parents)
    }
    return _assembled(network, changed, gone=gone)


def sum_out(network: BayesianNetwork, names: str | Iterable[str]) -> BayesianNetwork:
    """The network of the other variables, with their joint distribution; see :meth:`BayesianNetwork.sum_out`."""
    for name in _known(network, names):
        # The child that is first in topological order has no other path from the variable.
        while network.dag.children(name):
            first = next(node for node in network.dag.topological_order if name in network.dag.parents(node))
            network = reverse_arc(network, name, first)
        network = _assembled(network, {}, gone={name})
    return network


def _known(network: BayesianNetwork, names: str | Iterable[str]) -> list[str]:
    found = _checking.names("names", names, "names of variables", NetworkError)
    for name in found:
        network.dag.index(_checking.text("each of names", name, "the name of a variable", NetworkError))
    return [*dict.fromkeys(found)]


def rename(network: BayesianNetwork, names: Mapping[str, str]) -> BayesianNetwork:
    """Other names for variables; see :meth:`BayesianNetwork.rename`."""
    dag = network.dag.relabel(_checking.mapping("names", names, "{old name: new name}", NetworkError))
    fresh = {v.name: _named(v, new) for v, new in zip(network.variables, dag.nodes, strict=True)}
    cpts = [_with_variables(cpt, fresh) for cpt in network.cpts]
    old = network.positions
    new_names = {name: variable.name for name, variable in fresh.items()}
    return BayesianNetwork(
        dag,
        cpts,
        prior=None if network.prior is None else network.prior.for_edited(new_names),
        prior_counts={tuple(new_names[n] for n in key): table for key, table in network.prior_counts.items()},
        positions=None if old is None else {new_names[name]: place for name, place in old.items()},
        labels={new_names[name]: text for name, text in network.labels.items()},
    )


def _named(variable: Variable, name: str) -> Variable:
    return variable if name == variable.name else Variable(name, variable.states, variable.ordered, variable.cuts)


def _with_variables(cpt: CPT, fresh: Mapping[str, Variable]) -> CPT:
    """The same numbers under other variables of the same sizes."""
    return CPT._trusted(fresh[cpt.name], cpt.values, tuple(fresh[p.name] for p in cpt.parents), cpt.counts)


# ---- states ----------------------------------------------------------------------------------------------------


def rename_states(network: BayesianNetwork, name: str, states: Mapping[State, State]) -> BayesianNetwork:
    """Other labels for states; see :meth:`BayesianNetwork.rename_states`."""
    old = network.variable(name)
    given = _checking.mapping("states", states, "{old state: new state}", NetworkError)
    labels = list(old.states)
    for state, label in given.items():
        labels[old.code(state)] = label
    variable = Variable(name, labels, old.ordered, old.cuts)
    fresh = {v.name: variable if v.name == name else v for v in network.variables}
    return BayesianNetwork(
        network.dag,
        [_with_variables(cpt, fresh) for cpt in network.cpts],
        prior=network.prior,
        prior_counts=network.prior_counts,
        positions=network.positions,
        labels=network.labels,
    )


def add_state(
    network: BayesianNetwork, name: str, state: State, *, at: int | None = None, like: State | None = None
) -> BayesianNetwork:
    """One more state, of probability zero; see :meth:`BayesianNetwork.add_state`."""
    old = network.variable(name)
    place = old.n_states if at is None else _checking.whole_number("at", at, 0, old.n_states)
    if old.find(state) is not None:
        raise NetworkError(f"variable {name!r} already has the state {old.states[old.code(state)]!r}")
    copied = None if like is None else old.code(like)
    labels = [*old.states[:place], state, *old.states[place:]]
    further = place == old.n_states and old.cuts is not None and len(old.cuts) + 1 == old.n_states
    variable = Variable(name, labels, old.ordered, old.cuts if further else None)
    groups: list[list[int]] = [[code] for code in range(old.n_states)]
    groups.insert(place, [])

    def extended(cpt: CPT, axis: int) -> NDArray[np.float64]:
        row = 1 / cpt.child.n_states if copied is None else cpt.values.take(copied, axis)
        return np.insert(cpt.values, place, row, axis)

    for cpt in network.cpts:
        check_table_size(*_swapped(cpt, variable))
    return _restated(network, variable, groups, extended)


def remove_state(network: BayesianNetwork, name: str, state: State) -> BayesianNetwork:
    """One state less; see :meth:`BayesianNetwork.remove_state`."""
    cpt = network.cpt(name)
    old, code = cpt.child, cpt.child.code(state)
    if old.n_states == 1:
        raise NetworkError(f"{state!r} is the only state of {name!r}; remove_variable takes the variable away")
    certain = np.argwhere(np.delete(cpt.values, code, -1).sum(-1) <= 0)
    if len(certain):
        row = row_text(old, cpt.parents, certain[0].tolist())
        raise NetworkError(
            f"{row} has all its probability on {state!r}, so that nothing would be left of it; give this row other "
            "numbers first (with_rows), or merge the state with another one (merge_states)"
        )
    labels = [label for label in old.states if label != old.states[code]]
    further = old.cuts is not None and len(old.cuts) + 2 == old.n_states and code == old.n_states - 1
    variable = Variable(name, labels, old.ordered, old.cuts if further else None)
    groups = [[other] for other in range(old.n_states) if other != code]
    seen = any(_rows_of(table, axis, code) for table, axis in _tables_with(network, name))
    return _restated(network, variable, groups, lambda cpt, axis: np.delete(cpt.values, code, axis), seen)


def _tables_with(network: BayesianNetwork, name: str) -> list[tuple[NDArray[Any], int]]:
    """All counts that have the variable, and its axis in them."""
    families = [([v.name for v in cpt.family], cpt.counts) for cpt in network.cpts]
    families += [([*key], table) for key, table in network.prior_counts.items()]
    return [(table, names.index(name)) for names, table in families if table is not None and name in names]


def _rows_of(table: NDArray[Any], axis: int, code: int) -> bool:
    return bool(table.take(code, axis).any())


def merge_states(
    network: BayesianNetwork,
    name: str,
    states: Iterable[State],
    into: State | None = None,
    *,
    max_entries: int | None = None,
) -> BayesianNetwork:
    """Several states made one; see :meth:`BayesianNetwork.merge_states`."""
    old = network.variable(name)
    codes = sorted({old.code(s) for s in _checking.several("states", states, "states", NetworkError)})
    if len(codes) < 2:
        raise NetworkError(f"merge_states needs two states of {name!r} or more; got {_checking.shown(states)}")
    groups = [[code] for code in range(old.n_states) if code not in codes]
    groups.insert(codes[0], codes)
    variable = _merged(old, groups, codes, into)

    def averaged(cpt: CPT, axis: int) -> NDArray[np.float64]:
        parts = [_average(network, cpt, axis, group, max_entries) for group in groups]
        return np.stack(parts, axis)

    return _restated(network, variable, groups, averaged)


def _merged(old: Variable, groups: Groups, codes: Sequence[int], into: State | None) -> Variable:
    """The variable with some of its states made one, which stands where the first of them stood."""
    adjacent = codes == [*range(codes[0], codes[-1] + 1)]
    cuts = old.cuts if adjacent and old.cuts is not None and len(old.cuts) + 1 == old.n_states else None
    if cuts is not None:
        cuts = tuple(cut for i, cut in enumerate(cuts) if not codes[0] <= i < codes[-1])
    if into is None:
        own_names = old.cuts is not None and tuple(old.states) == tuple(interval_names(old.cuts))
        if cuts is not None and own_names:
            into = interval_names(cuts)[codes[0]]
        else:
            into = " or ".join(state_text(old.states[code]) for code in codes)
    return Variable(old.name, [into if group == codes else old.states[group[0]] for group in groups], old.ordered, cuts)


def _average(
    network: BayesianNetwork, cpt: CPT, axis: int, group: Sequence[int], max_entries: int | None
) -> NDArray[np.float64]:
    """The rows of some states of a parent made one: weighted by P(state | the other parents, one of these states)."""
    rows = np.moveaxis(cpt.values.take(group, axis), axis, -2)
    if len(group) == 1:
        return rows[..., 0, :]
    parent, others = cpt.parents[axis], tuple(p for i, p in enumerate(cpt.parents) if i != axis)
    own = network.query(parent.name, max_entries=max_entries).values[group]
    weights = _conditional(network, [parent], others, max_entries)[..., group]
    sums = weights.sum(-1, keepdims=True)
    weights = np.where(sums > 0, weights / np.where(sums > 0, sums, 1), _shares(own))
    return _rounded(np.matmul(weights[..., None, :], rows)[..., 0, :], rows)


def _restated(
    network: BayesianNetwork,
    variable: Variable,
    groups: Groups,
    rows: Callable[[CPT, int], NDArray[np.float64]],
    forget_counts: bool = False,
) -> BayesianNetwork:
    """A network in which a variable has other states; ``rows`` makes the tables of its children."""
    changed = {}
    for cpt in network.cpts:
        names = [v.name for v in cpt.family]
        if variable.name not in names:
            continue
        axis = names.index(variable.name)
        values = _own_table(cpt.values, groups) if variable.name == cpt.name else rows(cpt, axis)
        counts = None if cpt.counts is None or forget_counts else _grouped(cpt.counts, axis, groups)
        child, parents = _swapped(cpt, variable)
        changed[cpt.name] = CPT(child, values, parents, counts=counts)
    beside = {
        key: _grouped(table, key.index(variable.name), groups) if variable.name in key else table
        for key, table in network.prior_counts.items()
        if not (forget_counts and variable.name in key)
    }
    return _assembled(network, changed, prior_counts=beside, restated=variable.name)


def _own_table(values: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    """The variable's own table: probabilities are added, and normalised again where some are left out."""
    table = _grouped(values, -1, groups)
    left_out = [*{*range(values.shape[-1])} - {code for group in groups for code in group}]
    lost = values[..., left_out].any(-1, keepdims=True)
    return np.where(lost, _shares(table), table)


def _grouped(table: NDArray[Any], axis: int, groups: Groups) -> NDArray[Any]:
    """The table with the sums of some of its slices."""
    return np.stack([table.take(group, axis).sum(axis) for group in groups], axis)


def _swapped(cpt: CPT, variable: Variable) -> tuple[Variable, tuple[Variable, ...]]:
    """Child and parents with a variable in the place of the one of its name."""
    child, *parents = [variable if v.name == variable.name else v for v in (cpt.child, *cpt.parents)]
    return child, tuple(parents)


# ---- all of it -------------------------------------------------------------------------------------------------


def _assembled(
    network: BayesianNetwork,
    changed: Mapping[str, CPT],
    *,
    gone: set[str] | frozenset[str] = frozenset(),
    prior_counts: Mapping[tuple[str, ...], NDArray[Any]] | None = None,
    restated: str | None = None,
) -> BayesianNetwork:
    """The network with other tables, whose parents say what the structure is, and without some variables."""
    cpts = [changed.get(cpt.name, cpt) for cpt in network.cpts if cpt.name not in gone]
    names = [cpt.name for cpt in cpts]
    for cpt in changed.values():
        for parent in cpt.parents:
            network.dag.index(parent.name)
    dag = DAG(names, [(parent.name, cpt.name) for cpt in cpts for parent in cpt.parents])
    kept = network.prior_counts if prior_counts is None else prior_counts
    prior, positions = network.prior, network.positions
    if prior is not None and (gone or restated is not None):
        prior = prior.for_edited({n: None if n in gone or n == restated else n for n in network.names})
    return BayesianNetwork(
        dag,
        cpts,
        prior=prior,
        prior_counts={key: table for key, table in kept.items() if not gone.intersection(key)},
        positions=None if positions is None else {n: place for n, place in positions.items() if n not in gone},
        labels={n: text for n, text in network.labels.items() if n not in gone},
    )

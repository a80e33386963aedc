"""Effects in a network: distributions after variables were set, and along some of the paths.

References
----------
J. Pearl (2001). Direct and indirect effects. UAI 17, 411-420.

C. Avin, I. Shpitser and J. Pearl (2005). Identifiability of path-specific effects. IJCAI 19, 357-363.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.causal.questions import Names, Question, Setting, numbers_of, read_question, refuse_descendants
from bntk.causal.results import Effect
from bntk.cpt import CPT
from bntk.errors import DataError, ImpossibleEvidence
from bntk.graph.dag import DAG
from bntk.network import BayesianNetwork

Floats = NDArray[np.float64]


def effect(
    network: BayesianNetwork,
    y: Names,
    do: Any,
    given: Mapping[str, Any] | None = None,
    *,
    versus: Mapping[str, Any] | None = None,
    by: Names = (),
    values: Any = None,
) -> Effect:
    """The distribution of an outcome after variables were set; see :meth:`bntk.BayesianNetwork.effect`."""
    question = read_question(_variables(network), y, do, versus, given, by)
    numbers = numbers_of(question.outcome, values)

    def answer(setting: Setting) -> tuple[BayesianNetwork, Setting]:
        return network.do(setting), {}

    return _answered(question, numbers, answer, "exact, from the network")


def path_effect(
    network: BayesianNetwork,
    y: str,
    do: Mapping[str, Any],
    versus: Mapping[str, Any],
    given: Mapping[str, Any] | None = None,
    *,
    by: Names = (),
    values: Any = None,
    along: Any = None,
    through: Names = (),
) -> Effect:
    """The effect along some of the paths; see :meth:`bntk.BayesianNetwork.path_effect`."""
    question = read_question(_variables(network), y, do, versus, given, by)
    if len(question.set_names) > 1 or question.versus is None or len(question.outcome) > 1:
        raise DataError(
            "effects along paths are those of one variable on another: do and versus set one variable, each to a state"
        )
    x, outcome = question.set_names[0], question.outcome[0].name
    known = [*question.given, *(variable.name for variable in question.by)]
    why = "what is observed after the change would belong to two worlds at once; give what comes before"
    refuse_descendants(network.dag, known, [x], "given or by", why)
    chosen = carrying_children(network.dag, x, outcome, along=along, through=through)
    numbers = numbers_of(question.outcome, values)
    (setting,), against = question.settings, question.versus

    def answer(asked: Setting) -> tuple[BayesianNetwork, Setting]:
        children = network.dag.children(x)
        if asked is against:
            return with_inputs(network, x, dict.fromkeys(children, against[x])), {}
        inputs = {child: setting[x] if child in chosen else against[x] for child in children}
        return with_inputs(network, x, inputs), {}

    paths = ", ".join(f"{x} -> {child} ..." if child != outcome else f"{x} -> {outcome}" for child in sorted(chosen))
    method = f"along {paths or 'no path'}; all other paths carry {x}={against[x]!r}; exact, from the network"
    return _answered(question, numbers, answer, method)


def _variables(network: BayesianNetwork) -> dict[str, Any]:
    return dict(zip(network.names, network.variables, strict=True))


def _answered(question: Question, values: Floats | None, answer: Any, method: str) -> Effect:
    """Ask the network of each setting for the outcome, in each stratum that is possible."""
    networks = [answer(setting) for setting in question.all_settings]
    names = [variable.name for variable in question.outcome]
    strata, rows, notes = [], [], []
    for stratum in question.strata():
        found = [_asked(network, names, {**question.given, **stratum}) for network, _ in networks]
        if any(p is None for p in found) and question.by:
            where = ", ".join(f"{name}={state!r}" for name, state in stratum.items())
            notes.append(f"the stratum {where} is impossible, and left out")
            continue
        if found[0] is None or any(p is None for p in found):
            networks[[p is None for p in found].index(True)][0].query(names, {**question.given, **stratum})
        strata.append(stratum)
        rows.append(np.array(found).reshape(len(found), -1))
    if not strata:
        raise ImpossibleEvidence([f"{name}={state!r}" for name, state in question.given.items()] or ["all strata"])
    return Effect(question, strata, np.array(rows), values, method=method, notes=tuple(notes))


def _asked(network: BayesianNetwork, names: list[str], given: Setting) -> Floats | None:
    try:
        return np.asarray(network.query(names, given).values)
    except ImpossibleEvidence:
        return None


# ---- paths -----------------------------------------------------------------------------------------------------


def with_inputs(network: BayesianNetwork, x: str, inputs: Mapping[str, Any]) -> BayesianNetwork:
    """The network in which each of the children of a variable sees a state of it that is given, not its own."""
    dag, cpts = network.dag, []
    for cpt in network.cpts:
        if cpt.name in inputs:
            axis = [parent.name for parent in cpt.parents].index(x)
            code = cpt.parents[axis].code(inputs[cpt.name])
            others = cpt.parents[:axis] + cpt.parents[axis + 1 :]
            cpts.append(CPT._trusted(cpt.child, np.take(cpt.values, code, axis=axis).copy(), others))
        else:
            cpts.append(cpt)
    for child in inputs:
        dag = dag.remove_arc(x, child)
    return BayesianNetwork(dag, cpts)


def carrying_children(dag: DAG, x: str, y: str, *, along: Any = None, through: Names = ()) -> frozenset[str]:
    """The children of ``x`` that see the new state, when the change is carried along some paths to ``y`` alone.

    The effect along a set of paths is identified when all paths to ``y`` that begin with the same arc are in the set,
    or none is. A child where they part is a recanting witness (Avin, Shpitser and Pearl 2005): it would have to see
    both states of ``x`` at the same time.

    Parameters
    ----------
    dag : DAG
    x, y : str
    along : path or list of paths, optional
        Paths from ``x`` to ``y``, each as ``"x -> m -> y"`` or a list of names.
    through : str or iterable of str
        Instead: all paths that pass through one of these variables.

    Examples
    --------
    >>> carrying_children(DAG.parse("x -> m -> y; x -> y"), "x", "y", through="m")
    frozenset({'m'})
    """
    if (along is None) == (not _checking.names("through", through)):
        raise DataError(
            'say which paths: along="x -> m -> y" (one path, or a list), or through="m" (all paths through variables)'
        )
    to_y = {*dag.ancestors(y), y}
    active = [child for child in dag.children(x) if child in to_y]
    if along is None:
        passing = _checking.names("through", through)
        for name in passing:
            dag.index(name)
            if name in (x, y):
                raise DataError(f"through names {name!r}, where all paths begin or end; name what lies between")
        kept = _through(dag, y, active, set(passing), to_y)
    else:
        kept = _along(dag, x, y, active, along, to_y)
    for child, (some, all_) in kept.items():
        if some and not all_:
            raise DataError(
                f"the effect along these paths is not identified: {child!r} is a recanting witness, from which paths "
                f"to {y!r} go on both inside and outside of the set; take all paths that begin with {x} -> {child}, or "
                "none"
            )
    return frozenset(child for child, (some, _) in kept.items() if some)


def _through(dag: DAG, y: str, active: list[str], passing: set[str], to_y: set[str]) -> dict[str, tuple[bool, bool]]:
    """For each child: whether some, and whether all paths from it to ``y`` pass through the variables."""
    above = {name for name in passing if name in to_y}
    kept = {}
    for child in active:
        below = {*dag.descendants(child), child}
        around = [name for name in dag.nodes if name not in passing]
        avoids = child not in passing and y in {*dag.subgraph(around).descendants(child), child}
        kept[child] = (bool(below & above), not avoids)
    return kept


def _along(dag: DAG, x: str, y: str, active: list[str], along: Any, to_y: set[str]) -> dict[str, tuple[bool, bool]]:
    """For each child: whether some, and whether all paths from it to ``y`` are among the given ones."""
    given = {_path(dag, x, y, path) for path in _paths(along)}
    kept = {}
    for child in active:
        n_given = sum(path[1] == child for path in given)
        kept[child] = (n_given > 0, n_given == _n_paths(dag, child, y, to_y))
    return kept


def _paths(along: Any) -> list[Any]:
    if isinstance(along, str):
        return [along]
    listed = _checking.several("along", along, "paths")
    return [listed] if listed and all(isinstance(part, str) and "->" not in part for part in listed) else listed


def _path(dag: DAG, x: str, y: str, path: Any) -> tuple[str, ...]:
    nodes = [part.strip() for part in path.split("->")] if isinstance(path, str) else _checking.several("along", path)
    for node in nodes:
        dag.index(node)
    if len(nodes) < 2 or nodes[0] != x or nodes[-1] != y:
        raise DataError(f"a path along which the change is carried leads from {x!r} to {y!r}; got {path!r}")
    for tail, head in pairwise(nodes):
        if not dag.has_arc(tail, head):
            raise DataError(f"the path {' -> '.join(nodes)} needs the arc {tail} -> {head}, which the graph has not")
    return tuple(nodes)


def _n_paths(dag: DAG, child: str, y: str, to_y: Iterable[str]) -> int:
    """How many directed paths lead from one node to another."""
    kept, counts = set(to_y), {y: 1}
    for node in reversed(dag.topological_order):
        if node in kept and node != y:
            counts[node] = sum(counts.get(other, 0) for other in dag.children(node))
    return counts.get(child, 0)


def mediators_of(dag: DAG, x: str, y: str) -> Sequence[str]:
    """The variables between ``x`` and ``y``: on directed paths from one to the other."""
    return [name for name in dag.descendants(x) if name in dag.ancestors(y)]

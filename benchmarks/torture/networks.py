"""Random networks for the attacks: odd names and states, zeros, ones, tiny probabilities, noisy-OR, lonely nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import bntk
from benchmarks.torture.case import Case
from bntk.inference import choose

NAMES = [
    "a b", "x=y", "x = yes", "class", "lambda", "None", "nan", "0", "1.5", "-", "é", "Straße", "变量", "a->b", "[A|B]",
    "a;b", "a,b", '"', "'", "\\", "\\n", "{", "}", "%", "#", "<x>", "&amp;", "p", "_", " lead", "trail ", "a\tb",
    "a\nb", "node", "table", "probability", "x" * 300, "ß\u0301", "\u202eabc", "🂡", "__class__", "given", "variable",
    "state", "index", "self",
]  # fmt: skip
TEXTS = [
    "yes", "no", "True", "nan", "None", "", " ", "1", "1.0", "01", "-1", "a b", "x=y", "é", "变", '"', "'", "\\",
    "<= 2", "> 2", "?", "NA", ",", ";", "{}", "#", "a\nb", "*", "state0", "inf", "1e5", "(1, 2]", "&", "<", "🂡",
]  # fmt: skip
OTHERS: list[Any] = [
    0, 1, 2, -1, 10**20, 1.5, 0.1, -0.0, 1e300, 5e-324, float("inf"), -float("inf"), True, False, (1, 2), ("a", 1.5),
    ((),),
]  # fmt: skip
TABLES = ("plain", "plain", "plain", "zeros", "deterministic", "skewed", "tiny", "mixed", "noisy")


def names(case: Case, n: int) -> list[str]:
    """Plain names mostly; sometimes odd ones, all different."""
    if case.chance(0.85):
        return [f"x{i}" for i in range(n)]
    odd = [name for name in case.some(NAMES, n) if name.strip()][:n]
    return odd + [f"y{i}" for i in range(n - len(odd))]


def states(case: Case, n: int) -> list[Any]:
    """Labels: text mostly; sometimes numbers, booleans, tuples, odd text or all of them mixed; all different."""
    way = case.rng.integers(12)
    if way == 0:
        return list(range(n))
    if way == 1:
        return [i + 0.5 for i in range(n)]
    if way in (2, 3):
        found: list[Any] = []
        for label in [*case.some(TEXTS, n), *(case.some(OTHERS) if way == 3 else [])]:
            if label not in found:
                found.append(label)
        found = case.some(found, n)[:n]
        return found + [f"s{i}" for i in range(n - len(found))]
    return [f"s{i}" for i in range(n)]


def variable(case: Case, name: str, n: int) -> bntk.Variable:
    """A variable with so many states; now and then ordered, or of intervals."""
    if n > 1 and case.chance(0.03):
        return bntk.Variable.of_intervals(name, np.sort(case.rng.choice(1000, n - 1, replace=False)) / 7)
    return bntk.Variable(name, states(case, n), ordered=case.chance(0.2))


def rows_of_table(case: Case, way: str, q: int, r: int) -> np.ndarray:
    """Distributions, one a row: of the way that is named, or each of another one."""
    if way == "mixed":
        return np.concatenate([rows_of_table(case, case.pick(TABLES[:7]), 1, r) for _ in range(q)])
    rng = case.rng
    values = rng.dirichlet(np.ones(r), size=q)
    if way == "zeros":
        values = np.where(rng.random((q, r)) < 0.4, 0.0, values)
    elif way == "deterministic":
        values = np.eye(r)[rng.integers(r, size=q)]
    elif way == "skewed":
        values = rng.random((q, r)) ** 30
    elif way == "tiny":
        values = np.where(rng.random((q, r)) < 0.6, 10.0 ** -rng.uniform(5, 300, size=(q, r)), values)
        values[np.arange(q), rng.integers(r, size=q)] = 1.0
    totals = values.sum(axis=1, keepdims=True)
    values = np.where(totals > 0, values, 1.0)
    return values / values.sum(axis=1, keepdims=True)


def network(case: Case, most: int = 8, entries: int = 6000, tables: tuple[str, ...] = TABLES) -> bntk.BayesianNetwork:
    """A random network whose joint distribution has at most so many entries; its nodes are in any order."""
    rng = case.rng
    n = int(rng.integers(1, most + 1))
    cards: list[int] = []
    for _ in range(n):
        room = entries // max(1, int(np.prod(cards)))
        cards.append(int(min(room, rng.choice([1, 2, 2, 2, 3, 3, 4, 5]))) or 1)
    variables = [variable(case, name, card) for name, card in zip(names(case, n), cards, strict=True)]
    order, way, degree = rng.permutation(n), case.pick(tables), int(rng.integers(0, 4))
    locals_: list[Any] = []
    for position, i in enumerate(order):
        k = int(rng.integers(0, min(position, degree) + 1))
        parents = [variables[p] for p in rng.choice(order[:position], size=k, replace=False)]
        locals_.append(local(case, way, variables[i], parents))
    tables_ = [each.to_cpt() for each in locals_]
    dag = bntk.DAG([v.name for v in variables], [(p.name, c.name) for c in tables_ for p in c.parents])
    found = bntk.BayesianNetwork(dag, locals_)
    case.note(network=found, tables=way)
    return found


def local(case: Case, way: str, child: bntk.Variable, parents: list[bntk.Variable]) -> Any:
    """A table, or a noisy-OR where all have two states."""
    if way == "noisy":
        if child.n_states == 2 and parents and all(p.n_states == 2 for p in parents):
            strengths = np.where(case.rng.random(len(parents)) < 0.3, 1.0, case.rng.random(len(parents)))
            leak = float(case.pick([0.0, 0.0, 0.1, 1.0]))
            return bntk.NoisyOr(child, dict(zip(parents, map(float, strengths), strict=True)), leak)
        way = "plain"
    shape = [p.n_states for p in parents]
    values = rows_of_table(case, way, int(np.prod(shape)), child.n_states)
    return bntk.CPT(child, values.reshape([*shape, child.n_states]), parents)


def again(found: bntk.BayesianNetwork) -> bntk.BayesianNetwork:
    """The same network without anything that was compiled for it."""
    return bntk.BayesianNetwork(found.dag, found.cpts)


# ---- every engine on small networks ----------------------------------------------------------------------------------

#: Thresholds that send small networks to the engines of large ones.
TREE = {"QUESTION_ENTRIES": -1, "POSTERIORS_ENTRIES": -1}
LOOPS = {"NUMPY_CLIQUES": 0, **TREE}
ROUTES: dict[str, dict[str, float]] = {
    "as it is": {},
    "summed out": {"NUMPY_VARIABLES": -1},
    "compiled loops": LOOPS,
    "compiled loops, factors apart": {**LOOPS, "FOLD_ENTRIES": 0},
    "compiled loops in threads": {**LOOPS, "SPLIT_ENTRIES": 1},
    "a program for each query": {"WHOLE_ENTRIES": 0, "MEDIUM_ENTRIES": 0, **TREE},
    "a program for each query, compiled loops": {"WHOLE_ENTRIES": 0, "MEDIUM_ENTRIES": 0, **LOOPS},
    "recompiled given evidence": {**LOOPS, "RECOMPILE_ENTRIES": 0},
    "rows by a junction tree": {"QUICK": 0, "MOST": 0},
    "rows one by one": {"QUICK": 0, "MOST": 0, "LANE_ENTRIES": 0},
    "rows by elimination": {"QUICK": 1 << 18},
    "each cell alone": {"BOTH_WAYS": 1 << 40},
}


@contextmanager
def route(name: str) -> Iterator[None]:
    """With the thresholds of a route; :mod:`bntk.inference.choose` has them all."""
    kept = {key: getattr(choose, key) for key in ROUTES[name] if hasattr(choose, key)}
    try:
        for key in kept:
            setattr(choose, key, ROUTES[name][key])
        yield
    finally:
        for key, value in kept.items():
            setattr(choose, key, value)

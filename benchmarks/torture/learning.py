"""Learning against counting by hand, formulas written out in extended precision, and lists of all structures."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

import bntk
from benchmarks.torture import networks
from benchmarks.torture.case import Case, kind, log
from benchmarks.torture.reference import Joint
from bntk.learning.em import fit_em

SCORES: tuple[Any, ...] = (
    bntk.scores.LogLikelihood(), bntk.scores.AIC(), bntk.scores.BIC(), bntk.scores.BDeu(1), bntk.scores.BDeu(0.01),
    bntk.scores.BDeu(100), bntk.scores.BDs(2), bntk.scores.K2(), bntk.scores.HGC(0.5), bntk.scores.SB(1.5),
    bntk.scores.FNML(), bntk.scores.QNML(),
)  # fmt: skip


def rows(case: Case, n_variables: int, missing: float) -> tuple[np.ndarray, list[bntk.Variable]]:
    """Codes of random rows, dependent or not, and their variables; some states may not occur."""
    rng, n = case.rng, int(case.pick([1, 2, 5, 20, 60]))
    cards = [int(rng.choice([1, 2, 2, 3, 4])) for _ in range(n_variables)]
    hidden = rng.integers(6, size=n)
    codes = np.array([np.where(rng.random(n) < 0.6, hidden % card, rng.integers(card, size=n)) for card in cards])
    codes = np.where(rng.random(codes.shape) < missing, np.array(cards)[:, None], codes)
    variables = [bntk.Variable(f"x{i}", [f"s{k}" for k in range(card)]) for i, card in enumerate(cards)]
    return codes, variables


def counted(codes: np.ndarray, cards: Sequence[int], family: Sequence[int], weights: np.ndarray) -> np.ndarray:
    """The counts of a family, one axis a variable, of the rows that are complete in it; by hand."""
    table = np.zeros([cards[v] for v in family], dtype=np.longdouble)
    for row, weight in zip(codes.T, weights, strict=True):
        if all(row[v] < cards[v] for v in family):
            table[tuple(row[v] for v in family)] += weight
    return table


def random_dag(case: Case, names: Sequence[str]) -> bntk.DAG:
    """A structure over some names."""
    order = case.rng.permutation(len(names))
    pairs = [(order[i], order[j]) for i in range(len(order)) for j in range(i + 1, len(order))]
    return bntk.DAG(names, [(names[a], names[b]) for a, b in pairs if case.chance(0.4)])


# ---- parameters ------------------------------------------------------------------------------------------------------


@kind("parameters", 1)
def parameters(case: Case) -> None:
    """fit, update and weights against counting by hand; EM never lowers its objective, and tells its likelihood."""
    codes, variables = rows(case, int(case.rng.integers(1, 6)), case.pick([0.0, 0.0, 0.3]))
    dag, cards = random_dag(case, [v.name for v in variables]), [v.n_states for v in variables]
    weights = case.pick(
        [None, case.rng.integers(0, 4, codes.shape[1]).astype(float), case.rng.random(codes.shape[1]) * 3]
    )
    prior = case.pick(["mle", 0.5, 1.0, bntk.priors.BDeu(3.0)])
    case.note(dag=str(dag), codes=codes, weights=weights, prior=prior)
    table = bntk.Table.from_codes(codes, variables)
    each = np.ones(codes.shape[1]) if weights is None else weights
    network = case.answer("fit", lambda: bntk.fit(dag, table, prior, weights=weights, missing="available"))
    if network is None:
        return
    for node, (cpt, parents) in enumerate(zip(network.cpts, dag.parent_indices, strict=True)):
        counts = counted(codes, cards, [*parents, node], each)
        alpha = 0 if prior == "mle" else prior if isinstance(prior, float) else np.longdouble(prior.ess) / counts.size
        total = (counts + alpha).sum(axis=-1, keepdims=True)
        uniform = np.full(counts.shape, np.longdouble(1) / counts.shape[-1])
        case.close("fit", cpt.values, np.divide(counts + alpha, total, out=uniform, where=total > 0))
        case.close("fit: counts", cpt.counts, counts)
    updated(case, dag, table, codes, variables, prior)
    expectation(case, dag, table, codes, weights, prior)


def updated(
    case: Case, dag: bntk.DAG, table: bntk.Table, codes: np.ndarray, variables: list[bntk.Variable], prior: Any
) -> None:
    """Rows in two parts give the same bits as all at once; so do rows repeated and weighted."""
    cut = int(case.rng.integers(codes.shape[1] + 1))
    parts = [bntk.Table.from_codes(part, variables) for part in (codes[:, :cut], codes[:, cut:])]
    whole = bntk.fit(dag, table, prior, missing="available")
    both = bntk.fit(dag, parts[0], prior, missing="available").update(parts[1])
    times = case.rng.integers(0, 4, codes.shape[1])
    again = bntk.fit(dag, bntk.Table.from_codes(np.repeat(codes, times, axis=1), variables), prior, missing="available")
    weighted = bntk.fit(dag, table, prior, missing="available", weights=times.astype(float))
    for one, two, three, four in zip(whole.cpts, both.cpts, again.cpts, weighted.cpts, strict=True):
        case.same("update", two.values, one.values)
        case.close("weight is repetition", four.values, three.values)


def expectation(case: Case, dag: bntk.DAG, table: bntk.Table, codes: np.ndarray, weights: Any, prior: Any) -> None:
    """The objective of EM never falls; its likelihood is that of the network that it returns."""
    if not case.chance(0.4) or (weights is not None and not weights.any()):
        return
    network = case.answer("fit_em", lambda: fit_em(dag, table, prior, weights=weights, max_iter=30))
    if network is None:
        return
    climb = np.array(network.report.objectives)
    room = 1e-9 * np.maximum(1, np.abs(climb[:-1]))
    case.check("EM: the objective never falls", (np.diff(climb) >= -room).all(), lambda: climb)
    joint, each = Joint.of(network), np.ones(codes.shape[1]) if weights is None else weights
    order = [network.names.index(v.name) for v in table.variables]
    found = [log(joint.row(row[np.argsort(order)]).total) for row in codes.T]
    expected = sum(weight * value for weight, value in zip(each, found, strict=True) if weight > 0)
    case.logs("EM: the log-likelihood", network.report.log_likelihood, expected)


# ---- scores and structures -------------------------------------------------------------------------------------------


@kind("structures", 2)
def structures(case: Case) -> None:
    """Scores against their formulas in extended precision; exact search against the list of all structures."""
    n = int(case.pick([2, 3, 3, 4]))
    missing = case.pick([0.0, 0.0, 0.0, 0.2])
    codes, variables = rows(case, n, missing)
    table, cards = bntk.Table.from_codes(codes, variables), [v.n_states for v in variables]
    case.note(codes=codes, cards=cards)
    names, score = [v.name for v in variables], case.pick(SCORES)
    case.note(score=score)
    value = _family_scores(score, codes, cards)
    dag = random_dag(case, names)
    for rule in SCORES:
        own = _family_scores(rule, codes, cards)
        expected = sum(own(v, parents) for v, parents in enumerate(dag.parent_indices))
        answer = case.answer(f"score {rule}", lambda rule=rule: bntk.score(dag, table, rule))
        case.logs(f"score {rule}", answer, expected)
    search = case.pick(["exact", "auto"])
    found = case.answer("learn", lambda: bntk.learn(table, score, search=search))
    if found is None:
        return
    totals = [sum(value(v, parents) for v, parents in enumerate(each)) for each in all_dags(n)]
    case.close("the best structure", found.report.score, max(totals), smallest=1e-9)
    own = sum(value(v, parents) for v, parents in enumerate(found.dag.parent_indices))
    case.close("the score of the structure", own, max(totals), smallest=1e-9)
    climbed = case.answer("learn by hill climbing", lambda: bntk.learn(table, score, search="hc"))
    if climbed is not None:
        own = sum(value(v, parents) for v, parents in enumerate(climbed.dag.parent_indices))
        case.close("the score of the structure by hill climbing", climbed.report.score, own, smallest=1e-9)
        case.check(
            "no search is better than the best", own <= max(totals) + 1e-9 * abs(max(totals)) + 1e-9, lambda: own
        )


def _family_scores(score: Any, codes: np.ndarray, cards: list[int]) -> Any:
    """The score of a family by its formula, kept for when it is asked for again."""

    @cache
    def value(child: int, parents: tuple[int, ...]) -> Any:
        counts = counted(codes, cards, [*parents, child], np.ones(codes.shape[1]))
        return family_score(score, counts.reshape(-1, cards[child]), codes.shape[1])

    return lambda child, parents: value(child, tuple(sorted(parents)))


def family_score(score: Any, counts: np.ndarray, n: int) -> Any:
    """The score of one family, written out; ``counts`` has all configurations, ``n`` is the number of rows."""
    q, r = counts.shape
    name, totals = score.name, counts.sum(axis=1)
    half_log = log(max(n, 1)) / 2
    if name in ("bdeu", "bds", "k2", "hgc"):
        seen = max(1, int((totals > 0).sum()))
        alpha = {
            "bdeu": lambda: np.longdouble(score.ess) / (q * r),
            "bds": lambda: np.longdouble(score.ess) / (seen * r),
            "k2": lambda: np.longdouble(1),
            "hgc": lambda: np.longdouble(score.alpha),
        }[name]()
        return sum(
            sum(rising(alpha, int(c)) for c in row) - rising(alpha * r, int(total))
            for row, total in zip(counts, totals)
        )
    if name == "sb":
        shifted = counts + (np.longdouble(score.alpha) - 1)
        return entropy(shifted) - (r - 1) * q * half_log
    fit = entropy(counts)
    if name == "aic":
        return fit - (r - 1) * q
    if name == "bic":
        return fit - (r - 1) * q * half_log
    if name == "fnml":
        return fit - sum(log(regret(int(total), r)) for total in totals)
    if name == "qnml":
        complete = int(totals.sum())
        return fit - log(regret(complete, q * r)) + log(regret(complete, q))
    return fit


def rising(alpha: Any, n: int) -> Any:
    """log G(alpha + n) / G(alpha): a sum, as n is whole."""
    return log(alpha + np.arange(n, dtype=np.longdouble)).sum()


def entropy(counts: np.ndarray) -> Any:
    """sum_jk N_ijk log(N_ijk / N_ij)."""
    totals = np.broadcast_to(counts.sum(axis=1, keepdims=True), counts.shape)
    used = counts > 0
    return (counts[used] * (log(counts[used]) - log(totals[used]))).sum()


@cache
def regret(n: int, r: int) -> Any:
    """C(n, r): the sum of the maximum likelihoods of all sequences of n rows over r states."""
    if n == 0 or r == 1:
        return np.longdouble(1)
    h = np.arange(n + 1, dtype=np.longdouble)
    factorial = np.concatenate([[np.longdouble(0)], np.cumsum(log(h[1:]))])
    power = np.where(h > 0, h * log(np.maximum(h, 1) / n), 0) + np.where(
        h < n, (n - h) * log(np.maximum(n - h, 1) / n), 0
    )
    before, now = np.longdouble(1), np.exp(factorial[-1] - factorial - factorial[::-1] + power).sum()
    for states in range(1, r - 1):
        before, now = now, now + np.longdouble(n) / states * before
    return now


@cache
def all_dags(n: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """The parents of each node in every DAG over n nodes: 3, 25 or 543 of them for 2, 3 or 4 nodes."""
    choices = [
        [s for k in range(n) for s in itertools.combinations([u for u in range(n) if u != v], k)] for v in range(n)
    ]
    return tuple(parents for parents in itertools.product(*choices) if _is_acyclic(parents))


def _is_acyclic(parents: Sequence[tuple[int, ...]]) -> bool:
    placed: set[int] = set()
    while len(placed) < len(parents):
        ready = {v for v, above in enumerate(parents) if v not in placed and placed.issuperset(above)}
        if not ready:
            return False
        placed |= ready
    return True


# ---- noisy tables ----------------------------------------------------------------------------------------------------


@kind("noisy", 0.5)
def noisy(case: Case) -> None:
    """NoisyOr and NoisyMax against their definitions, summed over what each cause does by itself."""
    rng, k = case.rng, int(case.rng.integers(1, 5))
    r = int(case.pick([2, 2, 3, 4]))
    child = bntk.Variable("c", range(r), ordered=True)
    parents = [bntk.Variable(f"p{i}", range(int(case.pick([1, 2, 2, 3])))) for i in range(k)]
    effects = [
        networks.rows_of_table(case, case.pick(["plain", "zeros", "deterministic"]), p.n_states, r) for p in parents
    ]
    leak = networks.rows_of_table(case, case.pick(["plain", "zeros", "deterministic"]), 1, r)[0]
    case.note(effects=effects, leak=leak)
    made = bntk.NoisyMax(child, dict(zip(parents, effects, strict=True)), leak).to_cpt().values
    for states in itertools.product(*(range(p.n_states) for p in parents)):
        causes = [effect[s] for effect, s in zip(effects, states, strict=True)] + [leak]
        expected = np.zeros(r, dtype=np.longdouble)
        for levels in itertools.product(range(r), repeat=k + 1):
            expected[max(levels)] += np.prod([np.longdouble(c[level]) for c, level in zip(causes, levels, strict=True)])
        case.close("NoisyMax", made[states], expected, smallest=1e-12)
    strengths = {bntk.Variable(f"p{i}", ["off", "on"]): float(case.pick([0.0, 1.0, rng.random()])) for i in range(k)}
    level = float(case.pick([0.0, 1.0, rng.random()]))
    table = bntk.NoisyOr(bntk.Variable("c", ["off", "on"]), strengths, level).to_cpt().values
    for states in itertools.product((0, 1), repeat=k):
        off = (1 - np.longdouble(level)) * np.prod(
            [1 - np.longdouble(p) for p, s in zip(strengths.values(), states, strict=True) if s] + [np.longdouble(1)]
        )
        case.close("NoisyOr", table[states], [off, 1 - off], smallest=1e-12)

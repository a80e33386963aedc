"""Networks too large to enumerate, against sums of products that their shape allows: chains, and one cause of many."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import bntk
from benchmarks.torture import networks
from benchmarks.torture.case import Case, kind, log
from bntk.errors import ImpossibleEvidence


def scaled(vector: Any) -> tuple[Any, Any]:
    """A vector divided by its sum, and the log of that; zeros stay."""
    total = vector.sum()
    return (vector / total if total > 0 else vector), log(total)


@kind("chains", 1)
def chains(case: Case) -> None:
    """A hidden Markov chain of up to a thousand steps, with tiny entries: forward and backward sums."""
    rng = case.rng
    steps, r, s = int(case.pick([1, 2, 10, 100, 1000])), int(case.pick([1, 2, 3])), int(case.pick([1, 2, 4]))
    way = case.pick(["plain", "plain", "zeros", "skewed", "tiny"])
    hidden = [bntk.Variable(f"h{i}", range(r)) for i in range(steps)]
    seen = [bntk.Variable(f"v{i}", range(s)) for i in range(steps)]
    first = networks.rows_of_table(case, way, 1, r)[0]
    moves, shows = networks.rows_of_table(case, way, r, r), networks.rows_of_table(case, way, r, s)
    cpts = [bntk.CPT(hidden[0], first)]
    cpts += [bntk.CPT(b, moves, [a]) for a, b in pairwise(hidden)]
    cpts += [bntk.CPT(b, shows, [a]) for a, b in zip(hidden, seen, strict=True)]
    network = bntk.BayesianNetwork.from_cpts(cpts)
    codes = np.where(rng.random(steps) < case.pick([0.0, 0.3, 1.0]), s, rng.integers(s, size=steps))
    case.note(steps=steps, first=first, moves=moves, shows=shows, codes=codes, tables=way)
    likely = [np.ones(r, dtype=np.longdouble) if c == s else shows[:, c].astype(np.longdouble) for c in codes]
    forward, backward, total = [], [np.ones(r, dtype=np.longdouble)], np.longdouble(0)
    message = first.astype(np.longdouble)
    for each in likely:
        message, size = scaled(message * each)
        total += size
        forward.append(message)
        message = message @ moves.astype(np.longdouble)
    for each in likely[:0:-1]:
        backward.insert(0, scaled(moves.astype(np.longdouble) @ (each * backward[0]))[0])
    given = {f"v{i}": int(c) for i, c in enumerate(codes) if c < s}
    case.logs("log_probability", case.answer("log_probability", lambda: network.log_probability(given)), total)
    row = {**{f"h{i}": [None] for i in range(steps)}, **{f"v{i}": [given.get(f"v{i}")] for i in range(steps)}}
    table = bntk.Table.from_columns(row, variables=network.variables)
    case.logs("row_log_likelihood", case.answer("rows", lambda: network.row_log_likelihood(table)), [total])
    at = int(rng.integers(steps))
    if total == -np.inf:
        case.refused("query, impossible", lambda: network.query(f"h{at}", given), ImpossibleEvidence)
        case.refused("marginals, impossible", lambda: network.marginals(given), ImpossibleEvidence)
        return
    expected = scaled(forward[at] * backward[at])[0]
    answer = case.answer("query", lambda: network.query(f"h{at}", given))
    if answer is not None:
        case.close("query", answer.values, expected)
    posteriors = case.answer("marginals", lambda: network.marginals(given))
    for i in range(0, steps, 1 + steps // 20) if posteriors is not None else ():
        case.close("marginals", posteriors[f"h{i}"].values, scaled(forward[i] * backward[i])[0])
    frame = case.answer("posterior", lambda: network.posterior(table, f"h{at}"))
    if frame is not None:
        case.close("posterior", frame.to_numpy()[0], expected)


@kind("stars", 1)
def stars(case: Case) -> None:
    """One cause of up to three thousand observed effects, with tiny entries: the sum of logarithms."""
    rng, r, way = case.rng, int(case.pick([1, 2, 5])), case.pick(["plain", "zeros", "skewed", "tiny"])
    # Which of thousands of findings exclude each other is looked for at length; fewer where they are likely to.
    n = int(case.pick([1, 10, 300, 300 if way == "zeros" else 3000]))
    cause, effects = bntk.Variable("c", range(r)), [bntk.Variable(f"x{i}", ["a", "b", "d"]) for i in range(n)]
    prior = networks.rows_of_table(case, way, 1, r)[0]
    tables = [networks.rows_of_table(case, way, r, 3) for _ in range(n)]
    network = bntk.BayesianNetwork.from_cpts(
        [bntk.CPT(cause, prior), *(bntk.CPT(x, t, [cause]) for x, t in zip(effects, tables, strict=True))]
    )
    codes = rng.integers(4, size=(n, 5))
    case.note(prior=prior, effects=tables, codes=codes, tables=way)
    logs = log(prior)[None, :] + np.zeros((5, r), dtype=np.longdouble)
    for table, row in zip(tables, codes, strict=True):
        logs += np.concatenate([log(table), np.zeros((r, 1), dtype=np.longdouble)], axis=1).T[row]
    top = logs.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        sums = np.where(np.isfinite(top), np.exp(logs - top), 0).sum(axis=1, keepdims=True)
        totals = (top + log(sums))[:, 0]
        expected = np.where(np.isfinite(top), np.exp(logs - top) / sums, np.nan)
    totals[~np.isfinite(top[:, 0])] = -np.inf
    whole = np.vstack([np.full((1, 5), r), codes])
    table = bntk.Table.from_codes(whole, network.variables)
    case.logs("row_log_likelihood", case.answer("rows", lambda: network.row_log_likelihood(table)), totals)
    frame = case.answer("posterior", lambda: network.posterior(table, "c"))
    if frame is not None:
        case.close("posterior", frame.to_numpy(), expected)
    given = {f"x{i}": "abd"[code] for i, code in enumerate(codes[:, 0]) if code < 3}
    case.logs("log_probability", case.answer("log_probability", lambda: network.log_probability(given)), totals[0])
    if totals[0] == -np.inf:
        case.refused("query, impossible", lambda: network.query("c", given), ImpossibleEvidence)
        return
    answer = case.answer("query", lambda: network.query("c", given))
    if answer is not None:
        case.close("query", answer.values, expected[0])

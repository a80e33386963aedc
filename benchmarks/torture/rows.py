"""Whole tables of rows with missing cells, against the enumerated joint distribution; a row alone and among others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

import bntk
from benchmarks.torture import networks
from benchmarks.torture.case import Case, kind, log
from benchmarks.torture.reference import Joint


@kind("rows", 6)
def rows(case: Case) -> None:
    """Posteriors, log-likelihoods and imputed cells of rows with missing cells, by every engine for rows."""
    network = networks.network(case, entries=3000)
    codes = random_rows(case, network)
    joint, cards = Joint.of(network), [v.n_states for v in network.variables]
    route = case.pick(networks.ROUTES)
    case.note(route=route, codes=codes)
    table = bntk.Table.from_codes(codes, network.variables)
    found = [joint.row(row) for row in codes.T]
    possible = np.array([row.total > 0 for row in found])
    with networks.route(route):
        network = networks.again(network)
        ours = case.answer("row_log_likelihood", lambda: network.row_log_likelihood(table))
        if ours is not None:
            case.logs("row_log_likelihood", ours, [log(row.total) for row in found])
        posteriors(case, network, table, codes, joint)
        imputed(case, network, table, codes, found, possible, cards)
        alone(case, network, table, codes)
        containers(case, network, table)


def random_rows(case: Case, network: bntk.BayesianNetwork) -> np.ndarray:
    """Codes of rows: drawn uniformly or from the network, some twice, with missing cells."""
    cards = np.array([v.n_states for v in network.variables])
    n = int(case.pick([1, 2, 7, 40, 70]))
    codes = np.array([case.rng.integers(card, size=n) for card in cards]).reshape(len(cards), n)
    if case.chance(0.5):
        codes = network.sample(n, seed=case.number).codes.astype(np.int64)
    codes = np.where(case.rng.random(codes.shape) < case.pick([0.0, 0.2, 0.6, 1.0]), cards[:, None], codes)
    if n > 8:
        codes[:, n // 2 : n // 2 + 4] = codes[:, :4]
    return codes


def posteriors(case: Case, network: bntk.BayesianNetwork, table: bntk.Table, codes: np.ndarray, joint: Joint) -> None:
    """Of every variable in every row, its own cell left out; NaN, and a warning, where the rest is impossible."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", bntk.errors.ImpossibleRowsWarning)
        answer = case.answer("posterior", lambda: network.posterior(table, list(network.names)))
    if answer is None:
        return
    undefined = False
    for v, name in enumerate(network.names):
        rest = codes.copy()
        rest[v] = network.variables[v].n_states
        tables = [joint.row(row).onto([v]) for row in rest.T]
        expected = [one / one.sum() if one.sum() > 0 else np.full(one.shape, np.nan) for one in tables]
        undefined |= any(np.isnan(one).any() for one in expected)
        case.close("posterior", answer[name].to_numpy(), expected)
    warned = any(issubclass(each.category, bntk.errors.ImpossibleRowsWarning) for each in caught)
    case.check("posterior: a warning where rows are impossible", warned == undefined, f"{warned} {undefined}")


def imputed(
    case: Case,
    network: bntk.BayesianNetwork,
    table: bntk.Table,
    codes: np.ndarray,
    found: list[Joint],
    possible: np.ndarray,
    cards: list[int],
) -> None:
    """Every cell that was missing has a state that is right; all others stay, and so do impossible rows."""
    missing = codes == np.array(cards)[:, None]
    for how in ("mpe", "mode", "sample"):
        answer = case.answer(f"impute {how}", lambda how=how: network.impute(table, how, seed=case.number))
        if answer is None:
            continue
        filled = answer.codes.astype(np.int64)
        case.same(f"impute {how}: what was there", filled[:, ~possible], codes[:, ~possible])
        case.same(f"impute {how}: what was there", filled[~missing], codes[~missing])
        for i in np.flatnonzero(possible & missing.any(axis=0)):
            where = tuple(0 if s == 1 else int(c) for s, c in zip(found[i].table.shape, filled[:, i], strict=True))
            if not case.check(f"impute {how}: filled", (filled[:, i] < cards).all(), f"row {i}: {filled[:, i]}"):
                continue
            case.comparisons += int(missing[:, i].sum()) - 1
            if how == "mode":
                for v in np.flatnonzero(missing[:, i]):
                    belief = found[i].onto([int(v)])
                    case.close("impute mode", belief[filled[v, i]], belief.max(), smallest=0.0)
            elif how == "mpe":
                case.close("impute mpe", found[i].table[where], found[i].table.max(), smallest=0.0)
            else:
                case.check("impute sample: possible", found[i].table[where] > 0, f"row {i}: {filled[:, i]}")


def alone(case: Case, network: bntk.BayesianNetwork, table: bntk.Table, codes: np.ndarray) -> None:
    """A row alone, and among others, gives the same bits, in small networks."""
    chosen = sorted({int(case.rng.integers(codes.shape[1])) for _ in range(3)})
    names = list(network.names)
    together = case.answer("posterior", lambda: network.posterior(table, names))
    logs = case.answer("row_log_likelihood", lambda: network.row_log_likelihood(table))
    filled = case.answer("impute", lambda: network.impute(table))
    # Programs for parts of a network, which large ones have, depend on the variables that any of the rows has.
    equal = case.close if "a program for each query" in case.notes["route"] else case.same
    for i in chosen:
        one = bntk.Table.from_codes(codes[:, [i]], network.variables)
        if together is not None:
            single = network.posterior(one, names)
            for name in names:
                equal("a row alone: posterior", single[name].to_numpy()[0], together[name].to_numpy()[i])
        if logs is not None:
            equal("a row alone: row_log_likelihood", network.row_log_likelihood(one)[0], logs[i])
        if filled is not None:
            case.same("a row alone: impute", network.impute(one).codes[:, 0], filled.codes[:, i])


def containers(case: Case, network: bntk.BayesianNetwork, table: bntk.Table) -> None:
    """The same rows in any container give the same bits."""
    if not case.chance(0.3) or not all(isinstance(s, str) and s.strip() for v in network.variables for s in v.states):
        return
    if any(v.cuts is not None for v in network.variables):
        return
    expected = network.row_log_likelihood(table)
    columns: dict[str, list[Any]] = {}
    for variable, codes in zip(network.variables, table.codes, strict=True):
        labels = [*variable.states, None]
        columns[variable.name] = [labels[int(code)] for code in codes]
    for what, made in in_containers(columns).items():
        ours = case.answer(f"rows as {what}", lambda made=made: network.row_log_likelihood(made))
        if ours is not None:
            case.same(f"rows as {what}", ours, expected)


def in_containers(columns: dict[str, list[Any]]) -> dict[str, Any]:
    """Columns of text in every container that is installed."""
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    made: dict[str, Any] = {
        "a mapping": columns,
        "objects": frame,
        "categories": frame.astype("category"),
        "a mapping of arrays": {name: np.array(values, dtype=object) for name, values in columns.items()},
    }
    try:
        import polars
        import pyarrow
    except ImportError:
        return made
    made["polars"] = polars.DataFrame(
        {name: polars.Series(values, dtype=polars.String) for name, values in columns.items()}
    )
    made["pyarrow"] = pyarrow.table({name: pyarrow.array(values, pyarrow.string()) for name, values in columns.items()})
    return made

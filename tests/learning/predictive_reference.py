"""What the predictive scores are, said slowly: refit for each prediction, in plain Python."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import bntk


def refitted_posterior(dag: bntk.DAG, train: bntk.Table, row: bntk.Table, target: str, alpha: float) -> np.ndarray:
    """p(class | the other cells of one complete row) by a network whose parameters are learned from other rows."""
    network = bntk.fit(dag, train, prior=bntk.priors.Dirichlet(alpha))
    labels = row.to_pandas().iloc[0]
    given = {name: labels[name] for name in row.names if name != target}
    posterior = network.query([target], given)
    return np.asarray(posterior.values, dtype=float)


def ruled_posterior(
    dag: bntk.DAG, table: bntk.Table, train: list[int], i: int, target: str, alpha: float, weights: np.ndarray
) -> np.ndarray:
    """p(class | row i) by the rule for missing cells, from the weighted counts of the training rows."""
    cards, codes = dict(zip(table.names, table.cards.tolist())), {n: table.column(n).tolist() for n in table.names}
    result = np.ones(cards[target])
    for c in range(cards[target]):
        for child in dag.nodes:
            parents = dag.parents(child)
            family = [*parents, child]
            if target not in family:
                continue
            seen = {v: c if v == target else codes[v][i] for v in family}
            if seen[child] == cards[child]:
                continue  # a child that is not known says nothing
            known = [v for v in parents if seen[v] < cards[v]]
            complete = [t for t in train if all(codes[v][t] < cards[v] for v in family)]
            match = [t for t in complete if all(codes[v][t] == seen[v] for v in known)]
            n = sum(weights[t] for t in match if codes[child][t] == seen[child])
            result[c] *= (n + alpha) / (sum(weights[t] for t in match) + cards[child] * alpha)
    return result / result.sum()


def random_table(
    seed: int, cards: list[int], n: int, missing: float = 0.0, missing_class: float = 0.0, target: int = 0
) -> bntk.Table:
    """Columns v0, v1, ... that depend on each other a little; every state is declared."""
    rng = np.random.default_rng(seed)
    codes = np.empty((len(cards), n), dtype=np.int64)
    for k, card in enumerate(cards):
        noise = rng.integers(card, size=n)
        codes[k] = np.where(rng.random(n) < 0.5, noise, (codes[k - 1] if k else noise) % card)
    variables = [bntk.Variable(f"v{k}", [f"s{j}" for j in range(card)]) for k, card in enumerate(cards)]
    for k, card in enumerate(cards):
        codes[k, rng.random(n) < (missing_class if k == target else missing)] = card
    return bntk.Table.from_codes(codes, variables)


def structures(names: tuple[str, ...], target: str) -> dict[str, bntk.DAG]:
    """Kinds of classifiers over at least four variables."""
    features = [n for n in names if n != target]
    naive = [(target, f) for f in features]
    first, second, third, *_ = features
    return {
        "no arcs": bntk.DAG(names, []),
        "naive": bntk.DAG(names, naive),
        "tree": bntk.DAG(names, naive + list(pairwise(features))),
        "class with parents": bntk.DAG(names, [(first, target), (second, target), (target, third)]),
        "general": bntk.DAG(
            names, [(first, target), (target, third), (second, third), (first, third), (first, second)]
        ),
    }

"""Tables smoothed by a hierarchical Dirichlet process are posterior means, wherever parameters are estimated."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import cache
from math import exp, lgamma

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import random_network

import bntk
from bntk.errors import ArgumentError
from bntk.io import json_network
from bntk.learning import hdp
from bntk.learning.hdp import chain_of, estimate_trees
from bntk.learning.priors import HDP, Backoff

QUICK = HDP(iterations=40, burn_in=10)


# ---- the posterior by enumeration ------------------------------------------------------------------------------------


@cache
def stirling(n: int, t: int) -> int:
    """Unsigned Stirling numbers of the first kind."""
    if n == 0 or t == 0:
        return int(n == t)
    return stirling(n - 1, t - 1) + (n - 1) * stirling(n - 1, t)


def all_table_counts(parent: list[int], counts: np.ndarray, node: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(n, t) of all nodes for every choice of table counts, from ``node`` up; nodes after it are chosen already."""
    if node < 0:
        yield counts, np.zeros(counts.shape, dtype=int)
        return
    for choice in np.ndindex(*np.maximum(counts[node], 1)):
        t = np.where(counts[node] > 0, np.array(choice) + 1, 0)
        more = counts.copy()
        if parent[node] >= 0:
            more[parent[node]] += t
        for n, others in all_table_counts(parent, more, node - 1):
            yield n, others + np.where(np.arange(len(n))[:, None] == node, t, 0)


def by_enumeration(parent: list[int], alpha: list[float], own: np.ndarray) -> tuple[np.ndarray, float]:
    """The posterior mean of theta for given concentrations of nodes, and the probability of what was counted."""
    own, k = np.asarray(own), np.shape(own)[1]
    mean, total = np.zeros(own.shape), 0.0
    for n, t in all_table_counts(parent, own.copy(), len(parent) - 1):
        weight, theta = 1.0, np.zeros(own.shape)
        for u, above in enumerate(parent):
            weight *= alpha[u] ** t[u].sum() * exp(lgamma(alpha[u]) - lgamma(alpha[u] + n[u].sum()))
            weight *= np.prod([float(stirling(n[u, s], t[u, s])) for s in range(k)])
            weight *= (1 / k) ** t[u].sum() if above < 0 else 1.0
            base = theta[above] if above >= 0 else np.full(k, 1 / k)
            theta[u] = (n[u] + alpha[u] * base) / (n[u].sum() + alpha[u])
        mean += weight * theta
        total += weight
    return mean / total, total


TREES = {
    "two leaves": ([-1, 0, 0], [0, 1, 1], [[0, 0], [4, 1], [1, 0]]),
    "an only child": ([-1, 0], [0, 1], [[0, 0], [5, 3]]),
    "three states": ([-1, 0, 0], [0, 1, 1], [[0, 0, 0], [2, 0, 2], [1, 3, 0]]),
    "three levels": ([-1, 0, 0, 1, 1, 2], [0, 1, 1, 2, 2, 2], [[0, 0], [0, 0], [0, 0], [3, 0], [1, 1], [0, 4]]),
    "four levels": ([-1, 0, 1, 2, 2], [0, 1, 2, 3, 3], [[0, 0], [0, 0], [0, 0], [3, 1], [2, 0]]),
    "rows at inner nodes": ([-1, 0, 0], [0, 1, 1], [[1, 2], [3, 0], [0, 2]]),
    "two trees": ([-1, -1, 0, 1], [0, 0, 1, 1], [[0, 0], [0, 0], [3, 1], [0, 5]]),
}


@pytest.mark.parametrize("concentration", [0.2, 1.0, 6.0])
@pytest.mark.parametrize("name", TREES)
def test_sampled_means_equal_enumeration_over_all_table_counts(name, concentration):
    parent, level, own = TREES[name]
    exact, _ = by_enumeration(parent, [concentration] * len(parent), own)
    rule = HDP(iterations=40_000, burn_in=100, concentration=concentration, seed=1)
    found = estimate_trees(np.array(parent), np.array(level), np.array(own), rule)
    # The largest error over four other seeds was 0.0009.
    np.testing.assert_allclose(found.theta, exact, atol=0.0025)


def test_sampled_concentrations_equal_numerical_integration():
    parent, level, own = [-1, 0, 0], [0, 1, 1], np.array([[0, 0], [3, 0], [1, 3]])
    shape, rate = 2.0, 0.5
    # A grid over both concentrations by their quantiles would be finer where the prior is; logs do as well.
    grid = np.exp(np.linspace(np.log(1e-3), np.log(60), 60))
    density = grid**shape * np.exp(-rate * grid)  # of log alpha
    mean, alphas, total = np.zeros(own.shape), np.zeros(2), 0.0
    for a, p in zip(grid, density, strict=True):
        for b, q in zip(grid, density, strict=True):
            theta, evidence = by_enumeration(parent, [a, b, b], own)
            mean, alphas, total = (
                mean + p * q * evidence * theta,
                alphas + p * q * evidence * np.array([a, b]),
                total + p * q * evidence,
            )
    rule = HDP(iterations=200_000, burn_in=1000, shape=shape, rate=rate, seed=3)
    found = estimate_trees(np.array(parent), np.array(level), own, rule)
    np.testing.assert_allclose(found.theta, mean / total, atol=0.004)
    np.testing.assert_allclose(found.concentrations, alphas / total, rtol=0.02)

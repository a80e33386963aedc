"""The sampler of hierarchical Dirichlet processes over trees: what ``bntk.priors.HDP`` and others run.

A tree is a list of nodes, parents before children; several trees side by side are one list with several roots. Every
node u has a distribution theta_u over K states, drawn around that of its parent,

    theta_u ~ Dirichlet(alpha theta_parent),    theta_root ~ Dirichlet(alpha / K, ..., alpha / K),

with one concentration alpha for all nodes of a level. With all theta integrated out, there remain the *table counts*
t_uk of the Chinese restaurant franchise: how many of the n_uk rows with state k at u are passed on to the parent, where
n is what the node itself has counted plus the t of its children. Their posterior is

    P(t | n) ~ prod_u [ alpha^t_u. Gamma(alpha) / Gamma(alpha + n_u.) prod_k S(n_uk, t_uk) ] prod_roots,k K^-t_uk

with the unsigned Stirling numbers S of the first kind (Teh et al. 2006; Petitjean, Buntine, Webb and Zaidi 2018).

The sampler moves from one (t, alpha) to the next. theta is integrated out of the estimates, of the concentrations,
and of a node's own t; only the theta of *inner* nodes is drawn in between, from its distribution given t, and is
forgotten afterwards. This is a partially collapsed Gibbs sampler (van Dyk and Park 2008) with exactly the posterior
above as its stationary distribution. Given theta of the parent, t_uk is the number of tables that n_uk customers open,
a sum of independent indicators with probabilities a / (a + i), a = alpha theta_parent,k, i = 0, ..., n_uk - 1 (Antoniak
1974). So all nodes of a level are drawn at once, there are no tables of Stirling numbers and no largest count: the
cost grows much more slowly than the rows, since stretches without a new table are skipped.

A sweep draws theta of inner nodes from the root down, then t from the leaves up (each given theta of the parent, the
node's own being integrated out), then the concentrations. The estimate of a sweep is E[theta_u | t, alpha],

    theta_uk = (n_uk + alpha theta_parent,k) / (n_u. + alpha).

Counts need not be whole numbers: the last row of a node then weighs less than 1, and opens so much of a table. For
whole numbers this is the posterior; between them it is an interpolation.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs

from __future__ import annotations

import math

import numpy as np

from bntk._kernels import njit, part

#: From this row of a node on, 1 / (alpha + i) is not drawn for each i, but for all that follow at once.
_TOGETHER = 16
#: Rows from which on stretches without a new table are skipped.
_SKIPPING = 8
#: The smallest concentration, so that an empty root has a distribution.
_LEAST = 1e-9


def _steps(parent, level, own, divides, shape, rate, sweeps, *rest):
    return 2.5 * sweeps * own.size + 20.0 * sweeps * level.size


@njit(cache=True, nogil=True, steps=lambda parent, own, *rest: 2 * own.size)
def begin_trees(parent, own, counts, divides):
    """Fill ``counts`` with one table for each state that a node has, and ``divides`` as :func:`sweep_trees` has it."""
    n_nodes, n_states = own.shape
    totals = own.copy()
    counts[:] = own
    for node in range(n_nodes - 1, -1, -1):
        above = parent[node]
        if above >= 0:
            for k in range(n_states):
                counts[above, k] += min(counts[node, k], 1.0)
                totals[above, k] += totals[node, k]
                if totals[node, k] > 1:
                    divides[above] = True


@njit(cache=True, nogil=True, steps=_steps)
def sweep_trees(
    parent, level, own, divides, shape, rate, sweeps, keep, random, alpha, counts, theta, mean_theta, mean_alpha
):
    """Some sweeps over all trees; adds the estimates of each to ``mean_theta`` and ``mean_alpha`` if ``keep``.

    Parameters
    ----------
    parent, level : int64 arrays of shape (N,)
        The parent of each node, before it in the list, or -1; and which concentration it has.
    own : float64 array of shape (N, K)
        What is counted at the nodes themselves, usually at the leaves only.
    divides : bool array of shape (N,)
        The inner nodes whose theta is needed: those with a child where more than one row has the same state.
    shape, rate : float
        The Gamma prior of the concentrations; with the shape 0, they stay as they are.
    sweeps : int
    keep : bool
    random : int64 array of shape (6,)
        The state of the generator, changed.
    alpha : float64 array of shape (L,)
        The concentrations, changed.
    counts, theta : float64 arrays of shape (N, K)
        n_uk, changed: with ``alpha`` and ``random`` all that the next sweeps need; and space to work in.
    mean_theta, mean_alpha : float64 arrays of shapes (N, K) and (L,)
        Sums of estimates, changed.
    """
    n_nodes = len(parent)
    tables = np.zeros(n_nodes)  # t_u.
    rows = np.zeros(n_nodes)  # n_u.
    for _ in range(sweeps):
        for node in range(n_nodes):
            if divides[node]:
                _draw_theta(node, parent[node], alpha[level[node]], counts, theta, random)
        _draw_tables(parent, level, own, random, alpha, counts, theta, tables, rows)
        if shape > 0:
            _draw_concentrations(level, shape, rate, random, alpha, tables, rows)
        if keep:
            _add_estimates(parent, level, alpha, counts, rows, theta, mean_theta)
            for group in range(len(alpha)):
                mean_alpha[group] += alpha[group]


@part
def _draw_theta(node, above, alpha, counts, theta, random):
    """Draw theta of an inner node: only of the states that its children have, as no others are asked for."""
    n_states = counts.shape[1]
    total, rest = 0.0, 1.0
    for k in range(n_states):
        if counts[node, k] > 0:
            base = theta[above, k] if above >= 0 else 1.0 / n_states
            theta[node, k] = _gamma(counts[node, k] + alpha * base, random)
            total += theta[node, k]
            rest -= base
    if rest > 1e-12:
        total += _gamma(alpha * rest, random)
    for k in range(n_states):
        if counts[node, k] > 0:
            theta[node, k] /= total


@part
def _draw_tables(parent, level, own, random, alpha, counts, theta, tables, rows):
    """Draw all t_uk from the leaves up; what the children of a node pass on is counted there before its turn."""
    n_nodes, n_states = own.shape
    for node in range(n_nodes):
        for k in range(n_states):
            counts[node, k] = own[node, k]
    for node in range(n_nodes - 1, -1, -1):
        above = parent[node]
        passed_on, here = 0.0, 0.0
        for k in range(n_states):
            n = counts[node, k]
            if n > 0:
                t = n
                if n > 1:
                    base = theta[above, k] if above >= 0 else 1.0 / n_states
                    t = _n_tables(n, alpha[level[node]] * base, random)
                here += n
                passed_on += t
                if above >= 0:
                    counts[above, k] += t
        tables[node], rows[node] = passed_on, here


@part
def _n_tables(n, a, random):
    """How many tables n > 1 customers open: 1 + sum_{i=1}^{n-1} [u_i < a / (a + i)], the last one by its weight.

    From some i on, the next indicator that may be 1 is found by a geometric step with the largest probability of the
    stretch [i, 2 i), and is 1 in truth with the share of that probability that it has itself: at least a half of it.
    """
    t, i = 1.0, 1.0
    while i < n and (i < _SKIPPING or a > i):
        if _uniform(random) * (a + i) < a:
            t += min(1.0, n - i)
        i += 1.0
    while i < n and a > 1e-200:
        first, end = a + i, min(2.0 * i, math.ceil(n))
        log_none = -math.log1p(a / i)
        while True:
            skipped = math.log(_uniform(random)) / log_none
            if skipped >= end - i:
                break
            i += math.floor(skipped)
            if _uniform(random) * (a + i) < first:
                t += min(1.0, n - i)
            i += 1.0
        i = end
    return t


@part
def _draw_concentrations(level, shape, rate, random, alpha, tables, rows):
    """Draw the concentration of each level from its distribution given all table counts.

    A node counts as alpha^(t - 1) prod_{i=1}^{n-1} 1 / (alpha + i). An exponential variable s with rate alpha + i for
    each factor 1 / (alpha + i) makes that of alpha a Gamma distribution: the s of all nodes of a level have a sum that
    is Gamma distributed for each i. Where a node has many rows, its last factors are Gamma(alpha + m) / Gamma(alpha +
    n), and s = -log q, q ~ Beta(alpha + m, n - m), stands for all of them (Escobar and West 1995).
    """
    n_levels = len(alpha)
    opened = np.zeros(n_levels)
    factors = np.zeros((n_levels, _TOGETHER))
    rates = np.full(n_levels, rate)
    for node in range(len(level)):
        n, group = rows[node], level[node]
        if n > 1:
            opened[group] += tables[node] - 1.0
            i = 1
            while i < _TOGETHER and i < n:
                factors[group, i] += min(1.0, n - i)
                i += 1
            if n > _TOGETHER:
                x = _gamma(alpha[group] + _TOGETHER, random)
                rates[group] += math.log(1.0 + _gamma(n - _TOGETHER, random) / x)
    for group in range(n_levels):
        for i in range(1, _TOGETHER):
            if factors[group, i] > 0:
                rates[group] += _gamma(factors[group, i], random) / (alpha[group] + i)
        alpha[group] = max(_gamma(shape + opened[group], random) / rates[group], _LEAST)


@part
def _add_estimates(parent, level, alpha, counts, rows, theta, mean_theta):
    """E[theta | t, alpha] of all nodes, from the root down."""
    n_nodes, n_states = counts.shape
    for node in range(n_nodes):
        above, concentration = parent[node], alpha[level[node]]
        for k in range(n_states):
            base = theta[above, k] if above >= 0 else 1.0 / n_states
            theta[node, k] = (counts[node, k] + concentration * base) / (rows[node] + concentration)
            mean_theta[node, k] += theta[node, k]


# ---- random numbers ------------------------------------------------------------------------------------------------


@part
def _uniform(random):
    """A number between 0 and 1 by MRG32k3a (L'Ecuyer 1999), whose products are exact in 64 bits."""
    one = (1403580 * random[1] - 810728 * random[0]) % 4294967087
    random[0], random[1], random[2] = random[1], random[2], one
    other = (527612 * random[5] - 1370589 * random[3]) % 4294944443
    random[3], random[4], random[5] = random[4], random[5], other
    difference = (one - other) % 4294967087
    return (difference if difference > 0 else 4294967087) * 2.328306549295728e-10


@part
def _normal(random):
    """A standard normal deviate, by the polar method."""
    while True:
        x, y = 2.0 * _uniform(random) - 1.0, 2.0 * _uniform(random) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


@part
def _gamma(shape, random):
    """A Gamma deviate with rate 1 (Marsaglia and Tsang 2000)."""
    d = (shape if shape >= 1.0 else shape + 1.0) - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = _normal(random)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u = _uniform(random)
            if math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
                break
    if shape >= 1.0:
        return d * v
    return d * v * math.exp(math.log(_uniform(random)) / shape)

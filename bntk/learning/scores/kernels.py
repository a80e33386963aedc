"""The formulas of the decomposable scores, each written once, on tables of counts.

A table has the shape (A, r, B): the child's r states are the middle axis, and a pair of indices of the two outer axes
is a parent configuration j. So one kernel reads a plain table of (parents, child), where B is 1, and a table of
(parents, child, one more parent) as it was counted, without moving anything. Configurations are always visited in
the same order, so both give the same bits.

Every formula gives two numbers, fit and penalty; the score is their difference. Kernels trust their arguments and
release the GIL.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np

from bntk._kernels import lgamma, njit, part

# Formulas.
LIKELIHOOD, DIRICHLET, FNML, QNML = 0, 1, 2, 3
# How alpha becomes the pseudo-count of a cell: as it is, spread over all cells, or over those of seen configurations.
EACH_CELL, ALL_CELLS, SEEN_CELLS = 0, 1, 2

# From here on the series of C(n, 2) is exact to rounding: the first term left out is below 2e-14 of the sum.
SERIES_FROM = 1000.0
# Up to this many cells the recurrence is quick; above it the sum around its largest term is.
RECURRENCE_UP_TO = 1000.0


@part
def binary_normaliser(n):
    """C(n, 2) = sum over k of n (n - 1) ... (n - k + 1) / n^k (Mononen and Myllymaki 2008).

    It is one more than Ramanujan's Q(n), whose asymptotic series (Flajolet, Grabner, Kirschenhofer and Prodinger 1995)
    takes over for large n. A weight n that is not whole is allowed; the sum ends where its terms would turn negative.
    """
    if n < 1:
        return 1.0 + n
    if n >= SERIES_FROM:
        root = math.sqrt(math.pi / (2 * n))
        even = root * (n + 1 / 12 + 1 / (288 * n) - 139 / (51840 * n * n))
        return 2 / 3 + even - 4 / (135 * n) + 8 / (2835 * n * n)
    total, term, k = 2.0, 1.0, 1.0
    while k < n and term > 1e-18 * total:
        term *= (n - k) / n
        total += term
        k += 1
    return total


@part
def log_rising(z, k):
    """log z (z + 1) ... (z + k - 1), by Stirling's series for large z, where two log gammas would cancel."""
    if z < 100:
        return math.lgamma(z + k) - math.lgamma(z)
    end = z + k
    a, b = 1 / end, 1 / z
    correction = (a - b) / 12 - (a * a * a - b * b * b) / 360 + (a * a * a * a * a - b * b * b * b * b) / 1260
    return (z - 0.5) * math.log1p(k / z) + k * (math.log(end) - 1) + correction


@part
def central_normaliser(n, cells):
    """log C(n, K) = log sum over k of binomial(n, k) (K - 1) K ... (K + k - 2) / n^k, from the largest term outwards.

    All terms are positive (Mononen and Myllymaki 2008), and neighbours differ by the factor
    (n - k) (K - 1 + k) / (n (k + 1)), which falls with k: it passes one at the largest term.
    """
    half = (cells - 1) / 2
    # (n - k) (K - 1 + k) = n (k + 1), so k^2 + (K - 1) k - n (K - 2) = 0; written so that large K do not cancel.
    peak = math.floor(max(0.0, n * (cells - 2) / (half + math.sqrt(half * half + n * (cells - 2)))))
    peak = min(peak, math.floor(n))
    log_largest = math.lgamma(n + 1) - math.lgamma(n - peak + 1) - math.lgamma(peak + 1) - peak * math.log(n)
    log_largest += log_rising(cells - 1, peak)
    total, term, k = 1.0, 1.0, peak
    while k < n and term > 1e-18 * total:
        term *= (n - k) * (cells - 1 + k) / (n * (k + 1))
        total += term
        k += 1
    term, k = 1.0, peak
    while k > 0 and term > 1e-18 * total:
        k -= 1
        term *= n * (k + 1) / ((n - k) * (cells - 1 + k))
        total += term
    return log_largest + math.log(total)


@part
def log_regret(n, cells):
    """log C(n, K), the normalising sum of the multinomial maximum likelihood of n rows over K cells.

    Up to 1,000 cells by the recurrence C(n, K + 2) = C(n, K + 1) + n / K C(n, K) (Kontkanen and Myllymaki 2007), on
    ratios of neighbours so that nothing overflows; above by the positive sum. Both are exact but for rounding.
    """
    if n <= 0 or cells <= 1:
        return 0.0
    if cells > RECURRENCE_UP_TO:
        return central_normaliser(n, cells)
    ratio = binary_normaliser(n)
    result, product = 0.0, ratio
    for k in range(1, int(cells) - 1):
        ratio = 1.0 + n / (k * ratio)
        product *= ratio
        if product > 1e200:
            result += math.log(product)
            product = 1.0
    return result + math.log(product)


@part
def configuration_total(table, i, j):
    """N_ij: the rows of one parent configuration."""
    total = 0.0
    for k in range(table.shape[1]):
        total += table[i, k, j]
    return total


@part
def extent(table):
    """The rows of a table, and how many of its parent configurations were seen."""
    rows, seen = 0.0, 0.0
    for i in range(table.shape[0]):
        for j in range(table.shape[2]):
            total = configuration_total(table, i, j)
            rows += total
            if total > 0:
                seen += 1
    return rows, seen


def configurations(table):
    """The counts of each parent configuration, in the order in which kernels visit them; for Python."""
    return (counts for rows in table.tolist() for counts in zip(*rows, strict=True))


def log_likelihood_plainly(table, a, unseen):
    """:func:`log_likelihood` by Python."""
    r, result = table.shape[1], 0.0
    for counts in configurations(table):
        total = sum(counts)
        if total > 0:
            for count in counts:
                if count + a > 0:
                    result += (count + a) * math.log((count + a) / (total + r * a))
        elif a > 0:
            unseen += 1
    return result - max(0.0, unseen) * r * a * math.log(r) if a > 0 else result


@part(plain=log_likelihood_plainly)
def log_likelihood(table, a, unseen):
    """sum_jk (N_ijk + a) log((N_ijk + a) / (N_ij + r a)); ``unseen`` configurations are not in the table."""
    r = table.shape[1]
    result = 0.0
    for i in range(table.shape[0]):
        for j in range(table.shape[2]):
            total = configuration_total(table, i, j)
            if total > 0:
                for k in range(r):
                    count = table[i, k, j] + a
                    if count > 0:
                        result += count * math.log(count / (total + r * a))
            elif a > 0:
                unseen += 1
    return result - max(0.0, unseen) * r * a * math.log(r) if a > 0 else result


def log_dirichlet_plainly(table, a):
    """:func:`log_dirichlet` by Python."""
    r, result = table.shape[1], 0.0
    log_gamma_a, log_gamma_ra = lgamma(a), lgamma(r * a)
    for counts in configurations(table):
        total = sum(counts)
        if total > 0:
            part = log_gamma_ra - lgamma(r * a + total)
            for count in counts:
                if count > 0:
                    part += lgamma(a + count) - log_gamma_a
            result += part
    return result


@part(plain=log_dirichlet_plainly)
def log_dirichlet(table, a):
    """sum_j log G(r a) / G(r a + N_ij) + sum_k log G(a + N_ijk) / G(a); unseen configurations contribute nothing."""
    r = table.shape[1]
    log_gamma_a, log_gamma_ra = math.lgamma(a), math.lgamma(r * a)
    result = 0.0
    for i in range(table.shape[0]):
        for j in range(table.shape[2]):
            total = configuration_total(table, i, j)
            if total > 0:
                part = log_gamma_ra - math.lgamma(r * a + total)
                for k in range(r):
                    count = table[i, k, j]
                    if count > 0:
                        part += math.lgamma(a + count) - log_gamma_a
                result += part
    return result


@part
def factored_regret(table):
    """sum_j log C(N_ij, r)."""
    result = 0.0
    for i in range(table.shape[0]):
        for j in range(table.shape[2]):
            result += log_regret(configuration_total(table, i, j), float(table.shape[1]))
    return result


@part
def pseudo_count(table, q, spread, alpha):
    """The alpha_ijk of a cell."""
    r = table.shape[1]
    if spread == EACH_CELL:
        return alpha
    if spread == ALL_CELLS:
        return alpha / (q * r)
    _, seen = extent(table)
    return alpha / (max(1.0, seen) * r)


@njit(cache=True, nogil=True, steps=lambda table, *rest: 10 + table.size)
def table_terms(table, q, formula, spread, alpha, penalty, average, n):
    """Fit and penalty of one table.

    ``q`` is the number of parent configurations that exist, ``penalty`` what each free parameter costs, ``n`` the rows
    of the data. With ``average`` the log-likelihood is that of an average row, times n; without any complete row it is
    that of the uniform distribution.
    """
    r = table.shape[1]
    if formula == DIRICHLET:
        return log_dirichlet(table, pseudo_count(table, q, spread, alpha)), 0.0
    fit = log_likelihood(table, alpha, q - table.shape[0] * table.shape[2])
    if average:
        rows, _ = extent(table)
        fit = fit * n / rows if rows > 0 else -n * math.log(r)
    if formula == FNML:
        return fit, factored_regret(table)
    if formula == QNML:
        rows, _ = extent(table)
        return fit, log_regret(rows, q * r) - log_regret(rows, q)
    return fit, penalty * (r - 1) * q if penalty > 0 else 0.0


@njit(cache=True, nogil=True, steps=lambda flat, begins, *rest: 6 * begins.size + 0.3 * flat.size)
def score_tables(flat, begins, lefts, cards, rights, qs, formula, spread, alpha, penalty, average, n, out):
    """The score of each table of a batch; table f begins at ``begins[f]`` and has the shape (left, card, right)."""
    for f in range(begins.size):
        size = lefts[f] * cards[f] * rights[f]
        table = flat[begins[f] : begins[f] + size].reshape((lefts[f], cards[f], rights[f]))
        fit, cost = table_terms(table, qs[f], formula, spread, alpha, penalty, average, n)
        out[f] = fit - cost


@part
def pure_dirichlet(table, r, a):
    """sum_jk log G(r a) G(a + N_ijk) / (G(r a + N_ijk) G(a)): as if further parents told the states apart."""
    constant = math.lgamma(r * a) - math.lgamma(a)
    result = 0.0
    for count in table:
        if count > 0:
            result += constant + math.lgamma(a + count) - math.lgamma(r * a + count)
    return result


@njit(cache=True, nogil=True, steps=lambda flat, begins, *rest: 20 * begins.size + 2 * flat.size)
def pure_dirichlets(flat, begins, lefts, cards, rights, qs, alpha, spread, out):
    """:func:`pure_dirichlet` of each table of a batch; unless each cell has alpha, it is spread over q r cells."""
    for f in range(begins.size):
        size = lefts[f] * cards[f] * rights[f]
        a = alpha if spread == EACH_CELL else alpha / (cards[f] * qs[f])
        out[f] = pure_dirichlet(flat[begins[f] : begins[f] + size], cards[f], a)


@njit(cache=True, nogil=True, steps=lambda flat, begins, *rest: 20 * begins.size + 2 * flat.size)
def factored_regrets(flat, begins, lefts, cards, rights, qs, out):
    """:func:`factored_regret` of each table of a batch."""
    for f in range(begins.size):
        size = lefts[f] * cards[f] * rights[f]
        out[f] = factored_regret(flat[begins[f] : begins[f] + size].reshape((lefts[f], cards[f], rights[f])))


@njit(cache=True, nogil=True, steps=lambda n, cells: 50 * cells.size)
def log_regrets(n, cells):
    """:func:`log_regret` for each number of cells."""
    out = np.empty(cells.size)
    for f in range(cells.size):
        out[f] = log_regret(n, cells[f])
    return out

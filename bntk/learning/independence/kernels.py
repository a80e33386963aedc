"""Statistics of conditional independence from tables of counts, and permuted tables with the same margins.

A table is a run of m strata (configurations of the given variables) with one row for each state of x and one column for
each state of y. The kernels trust their arguments.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np

from bntk._kernels import njit, part

# Which statistic: G2, Pearson's X2, G2 of shrunk probabilities, and the Bayes factor of BDeu.
G2, X2, SHRUNK, BAYES = range(4)


@part
def stratum_margins(table, at, rx, ry, rows, columns):
    """Sums over the rows and the columns of one stratum; returns its total."""
    total = 0.0
    for y in range(ry):
        columns[y] = 0.0
    for x in range(rx):
        rows[x] = 0.0
        for y in range(ry):
            count = table[at + x * ry + y]
            rows[x] += count
            columns[y] += count
        total += rows[x]
    return total


@part
def stratum_statistic(table, at, rx, ry, rows, columns, total, pearson):
    """Half of G2, or X2, of one stratum with these margins."""
    found = 0.0
    for x in range(rx):
        if rows[x] > 0.0:
            for y in range(ry):
                if columns[y] > 0.0:
                    expected = rows[x] * columns[y] / total
                    count = table[at + x * ry + y]
                    if pearson:
                        found += (count - expected) * (count - expected) / expected
                    elif count > 0.0:
                        found += count * math.log(count / expected)
    return found


@part
def plain_statistic(table, m, rx, ry, rows, columns, pearson):
    """G2 or X2 of a table, and the degrees of freedom that are left where margins are zero."""
    found = 0.0
    adjusted = 0.0
    for z in range(m):
        at = z * rx * ry
        total = stratum_margins(table, at, rx, ry, rows, columns)
        if total > 0.0:
            seen_x = 0
            for x in range(rx):
                seen_x += rows[x] > 0.0
            seen_y = 0
            for y in range(ry):
                seen_y += columns[y] > 0.0
            adjusted += (seen_x - 1) * (seen_y - 1)
            found += stratum_statistic(table, at, rx, ry, rows, columns, total, pearson)
    return (found if pearson else 2.0 * found), adjusted


@part
def shrunk_statistic(table, m, rx, ry, q, rows, columns):
    """G2 of probabilities that are shrunk towards 1 / (q rx ry); strata that are not listed are empty."""
    n = 0.0
    for cell in range(m * rx * ry):
        n += table[cell]
    if n <= 0.0:
        return 0.0
    target = 1.0 / (q * rx * ry)
    squares = 0.0
    distance = (q - m) * rx * ry * target * target
    for cell in range(m * rx * ry):
        p = table[cell] / n
        squares += p * p
        distance += (target - p) * (target - p)
    shrinkage = 1.0
    if distance > 0.0 and n > 1.0:
        shrinkage = min(1.0, max(0.0, (1.0 - squares) / ((n - 1.0) * distance)))
    found = 0.0
    cells = np.empty(rx * ry)
    for z in range(m):
        for cell in range(rx * ry):
            cells[cell] = shrinkage * target + (1.0 - shrinkage) * table[z * rx * ry + cell] / n
        total = stratum_margins(cells, 0, rx, ry, rows, columns)
        if total > 0.0:
            found += stratum_statistic(cells, 0, rx, ry, rows, columns, total, False)
    return 2.0 * n * found


@part
def bayes_factor(table, m, rx, ry, q, ess, rows, columns):
    """Log of the marginal likelihood of x given z and y over that of x given z, under BDeu."""
    a_cell, a_column = ess / (q * rx * ry), ess / (q * ry)
    a_row, a_total = ess / (q * rx), ess / q
    found = 0.0
    for z in range(m):
        at = z * rx * ry
        total = stratum_margins(table, at, rx, ry, rows, columns)
        if total > 0.0:
            for x in range(rx):
                for y in range(ry):
                    count = table[at + x * ry + y]
                    if count > 0.0:
                        found += math.lgamma(a_cell + count) - math.lgamma(a_cell)
                if rows[x] > 0.0:
                    found -= math.lgamma(a_row + rows[x]) - math.lgamma(a_row)
            for y in range(ry):
                if columns[y] > 0.0:
                    found -= math.lgamma(a_column + columns[y]) - math.lgamma(a_column)
            found += math.lgamma(a_total + total) - math.lgamma(a_total)
    return found


def _steps_of_statistics(flat, offsets, strata, *rest):
    """About how many microseconds :func:`statistics` takes without the compiler."""
    return 10 * strata.size + flat.size


@njit(cache=True, nogil=True, steps=_steps_of_statistics)
def statistics(flat, offsets, strata, rxs, rys, qs, kind, ess, found, adjusted, totals):
    """The statistic of each table of a batch, its adjusted degrees of freedom, and the rows that it counts.

    The table of test t has ``strata[t]`` strata from ``flat[offsets[t]]`` on, of ``qs[t]`` that exist.
    """
    largest_x, largest_y = 1, 1
    for t in range(rxs.size):
        largest_x, largest_y = max(largest_x, rxs[t]), max(largest_y, rys[t])
    rows, columns = np.empty(largest_x), np.empty(largest_y)
    for t in range(rxs.size):
        m, rx, ry = strata[t], rxs[t], rys[t]
        table = flat[offsets[t] : offsets[t] + m * rx * ry]
        total = 0.0
        for cell in range(table.size):
            total += table[cell]
        totals[t] = total
        if kind == SHRUNK:
            found[t] = shrunk_statistic(table, m, rx, ry, qs[t], rows, columns)
        elif kind == BAYES:
            found[t] = bayes_factor(table, m, rx, ry, qs[t], ess, rows, columns)
        else:
            found[t], adjusted[t] = plain_statistic(table, m, rx, ry, rows, columns, kind == X2)


@njit(cache=True, nogil=True)
def permuted_exceedances(table, m, rx, ry, pearson, observed, states, draws, enough):
    """How often a table whose y is permuted within the strata has at least the observed statistic.

    ``table`` holds whole numbers; ``states`` is the generator: its one word is changed. Ends after so many draws, or
    sooner when ``enough`` of them reached the statistic; returns both numbers.
    """
    size = rx * ry
    rows, columns = np.empty((m, rx)), np.empty((m, ry))
    totals = np.empty(m)
    largest = 0
    counts = table.astype(np.float64)
    for z in range(m):
        totals[z] = stratum_margins(counts, z * size, rx, ry, rows[z], columns[z])
        largest = max(largest, np.int64(totals[z]))
    values = np.empty(largest, np.int64)
    drawn = np.empty(size)
    slack = 1e-10 * max(1.0, abs(observed))  # equal tables may differ by rounding
    word = states[0]
    reached = 0
    done = 0
    while done < draws and reached < enough:
        total = 0.0
        for z in range(m):
            n = np.int64(totals[z])
            if n == 0:
                continue
            place = 0
            for y in range(ry):
                for _ in range(np.int64(columns[z, y])):
                    values[place] = y
                    place += 1
            drawn[:] = 0.0
            left = n
            for x in range(rx):
                for _ in range(np.int64(rows[z, x])):
                    # One step of Fisher and Yates: any of the values that are left is next.
                    word += np.uint64(0x9E3779B97F4A7C15)
                    mixed = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                    mixed = mixed ^ (mixed >> np.uint64(31))
                    chosen = np.int64((np.float64(mixed >> np.uint64(11)) / 9007199254740992.0) * left)
                    left -= 1
                    drawn[x * ry + values[chosen]] += 1.0
                    values[chosen] = values[left]
            total += stratum_statistic(drawn, 0, rx, ry, rows[z], columns[z], totals[z], pearson)
        if not pearson:
            total *= 2.0
        done += 1
        reached += total >= observed - slack
    states[0] = word
    return reached, done

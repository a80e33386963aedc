"""All posteriors of a small network by one kernel: products and sums that were planned once, there and back.

What is planned does not depend on findings. An observed variable is summed over its one state when its turn comes, so
that nothing has to be planned, read or copied for a set of findings. All arrays are trusted.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np

from bntk._kernels import njit
from bntk.inference.exact.pass_kernels import FAINT, IMPOSSIBLE, POSSIBLE
from bntk.inference.exact.vector_kernels import INNER

# What the program has of a product, in this order: how many tables are multiplied and how many loops there are; the
# variable that is summed over (-1: none), how many states it has and where its posterior is; where the product is
# written, and its entries. Then where each table begins, whether it is a product itself (1) or one of the network, the
# length of each loop, and for each loop the step of each table.
N_TABLES, N_LOOPS, VARIABLE, N_STATES, PLACE, BEGIN, SIZE = 0, 1, 2, 3, 4, 5, 6
N_NUMBERS = 7
__all__ = ["FAINT", "IMPOSSIBLE", "run_posteriors"]

#: Tables that are multiplied at once, and loops, of which each has two states or more.
MOST_TABLES, MOST_LOOPS = 8, 64


@njit(**INNER)
def _begin(program, head, observed, at):
    """Go to the first entry of a product: which states are summed, and where the vector of weights is (-1: none)."""
    for j in range(program[head + N_TABLES]):
        at[j] = program[head + N_NUMBERS + j]
    first, last, vector = np.int64(0), program[head + N_STATES], np.int64(-1)
    if program[head + VARIABLE] >= 0:
        state = observed[program[head + VARIABLE]]
        if state >= 0:
            first, last = state, state + 1
        elif state < -1:
            vector = -2 - state
    return first, last, vector


@njit(inline="always", **INNER)  # called, it would take more time than what it is called for
def _advance(program, lengths, steps, n_tables, n_loops, at, counters):
    """Go to the next entry of a product, whose loops the program has at two places; after the last, to the first."""
    level = n_loops - 1
    while level >= 0:
        counters[level] += 1
        is_over = counters[level] == program[lengths + level]
        back = program[lengths + level] - 1 if is_over else -1
        for j in range(n_tables):
            at[j] -= back * program[steps + level * n_tables + j]
        if not is_over:
            break
        counters[level] = 0
        level -= 1


@njit(**INNER)
def _multiply(program, head, first, last, vector, likelihood, at, counters, data):
    """Write the sums over the states first..last of the products of some tables, weighted by a vector (-1: none)."""
    n_tables, n_loops = program[head + N_TABLES], program[head + N_LOOPS]
    lengths = head + N_NUMBERS + 2 * n_tables
    steps = lengths + n_loops
    begin = program[head + BEGIN]
    for entry in range(begin, begin + program[head + SIZE]):
        total = 0.0
        one, two = at[0], at[1]
        if n_tables == 1:
            for s in range(first, last):
                product = data[one + s]
                total += product if vector < 0 else product * likelihood[vector + s]
        elif n_tables == 2:
            for s in range(first, last):
                product = data[one + s] * data[two + s]
                total += product if vector < 0 else product * likelihood[vector + s]
        else:
            for s in range(first, last):
                product = data[one + s] * data[two + s]
                for j in range(2, n_tables):
                    product *= data[at[j] + s]
                total += product if vector < 0 else product * likelihood[vector + s]
        data[entry] = total
        _advance(program, lengths, steps, n_tables, n_loops, at, counters)


@njit(**INNER)
def _spread(program, head, first, last, vector, likelihood, at, counters, data, beliefs, out):
    """From the belief in a product to those in the products among its tables, and in the variable summed over.

    Each term has its share of the sum.
    """
    n_tables, n_loops = program[head + N_TABLES], program[head + N_LOOPS]
    lengths = head + N_NUMBERS + 2 * n_tables
    steps = lengths + n_loops
    begin, place, variable = program[head + BEGIN], program[head + PLACE], program[head + VARIABLE]
    kinds = head + N_NUMBERS + n_tables
    for entry in range(begin, begin + program[head + SIZE]):
        if beliefs[entry] > 0.0:
            share = beliefs[entry] / data[entry]
            for s in range(first, last):
                product = share if vector < 0 else share * likelihood[vector + s]
                for j in range(n_tables):
                    product *= data[at[j] + s]
                for j in range(n_tables):
                    if program[kinds + j]:
                        beliefs[at[j] + s] += product
                if variable >= 0:
                    out[place + s] += product
        _advance(program, lengths, steps, n_tables, n_loops, at, counters)


def _steps(program, heads, tables, room, *rest):
    return 20 * heads.size + 8 * room


@njit(cache=True, nogil=True, error_model="numpy", steps=_steps)
def run_posteriors(program, heads, tables, room, roots, places, observed, likelihood, out):
    """The posteriors of all variables in ``out``, one after another, and behind them the log probability of findings.

    Product p is described in ``program`` from ``heads[p]`` on; ``roots`` are the products without axes, whose product
    is the probability of the findings. The posterior of variable v begins at ``places[v]``. ``observed`` has the state
    of a variable, -1 for an open one, and for one with an uncertain finding -2 less where its vector begins in
    ``likelihood``. Products are not too small for floats. ``room`` is the number of entries of all tables and products.
    """
    data = np.empty(room)
    for i in range(tables.size):
        data[i] = tables[i]
    at, counters = np.zeros(MOST_TABLES, np.int64), np.zeros(MOST_LOOPS, np.int64)
    for p in range(heads.size):
        head = heads[p]
        first, last, vector = _begin(program, head, observed, at)
        _multiply(program, head, first, last, vector, likelihood, at, counters, data)
    log_z = 0.0
    for k in range(roots.size):
        if data[roots[k]] == 0.0:
            return IMPOSSIBLE
        log_z += np.log(data[roots[k]])
    for i in range(out.size - 1):
        out[i] = 0.0
    out[out.size - 1] = log_z
    beliefs = np.zeros(room)
    for k in range(roots.size):
        beliefs[roots[k]] = 1.0
    for step in range(heads.size):
        head = heads[heads.size - 1 - step]
        first, last, vector = _begin(program, head, observed, at)
        _spread(program, head, first, last, vector, likelihood, at, counters, data, beliefs, out)
    for v in range(observed.size):
        if observed[v] >= 0:  # without rounding, also of variables with one state
            for i in range(places[v], places[v + 1]):
                out[i] = 0.0
            out[places[v] + observed[v]] = 1.0
    return POSSIBLE

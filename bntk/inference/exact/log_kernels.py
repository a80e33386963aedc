"""Kernels of a program in log space, for the few evidence sets whose numbers are too small for products.

The passes are those of :mod:`bntk.inference.exact.pass_kernels`, over the same visits and with the same places in one
buffer, which has logs instead of numbers. An entry costs an exponential, so that they run only where the others have
found that something may be lost. All arrays are trusted.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np

from bntk._kernels import njit
from bntk.inference.exact.pass_kernels import INWARD, Sources, bind, read_tables, trace_back
from bntk.inference.exact.vector_kernels import INNER


@njit(cache=True, nogil=True, steps=lambda data, *rest: 20 * data.size)
def visit_logs(data, sums, chosen, visits, s, cards, observed, soft, maximise):
    """Run one visit: the tables written take the log of the sum of the products, or with ``maximise`` of the largest.

    They are -inf before, and ``sums``, which is as long as the buffer, is zero.
    """
    begin, n_axes = visits.axis_start[s], visits.axis_start[s + 1] - visits.axis_start[s]
    first, end = visits.table_start[s], visits.table_start[s + 1]
    at, steps = np.empty(end - first + 1, np.int64), np.zeros((end - first + 1, n_axes + 1), np.int64)
    lengths, counters = np.ones(n_axes + 1, np.int64), np.zeros(n_axes + 1, np.int64)
    n_reads, n, n_open = 0, 0, 0
    for a in range(n_axes):
        if observed[visits.axes[begin + a]] < 0:
            lengths[n_open] = cards[visits.axes[begin + a]]
            n_open += 1
    for t in range(first, end + 1):  # the last is the index of an entry in the clique
        if t < end and visits.gates[t] >= 0 and not soft[visits.gates[t]]:
            continue
        at[n] = visits.offsets[t] if t < end else 0
        j = 0
        for a in range(n_axes):
            state = observed[visits.axes[begin + a]]
            step = visits.places[begin + a]
            if t < end:
                step = visits.strides[visits.stride_start[s] + (t - first) * n_axes + a]
            if state < 0:
                steps[n, j] = step
                j += 1
            else:
                at[n] += state * step
        n_reads += t < first + visits.n_reads[s]
        n += t < end
    for summing in range(1 if maximise else 2):  # the largest terms first, and then all terms beside these
        level = 0
        while level >= 0:
            term = 0.0
            for t in range(n_reads):
                term += data[at[t]]
            if term > -np.inf:
                for t in range(n_reads, n):
                    place = at[t]
                    if summing:
                        sums[place] += np.exp(term - data[place])
                    elif term > data[place]:
                        data[place] = term
                        if maximise:
                            chosen[place] = at[n]
                    elif maximise and term == data[place]:
                        chosen[place] = min(chosen[place], at[n])
            level = n_open - 1
            while level >= 0:
                counters[level] += 1
                back = counters[level] == lengths[level]
                for t in range(n + 1):
                    at[t] += steps[t, level] * (1 - lengths[level] if back else 1)
                if not back:
                    break
                counters[level] = 0
                level -= 1
    if not maximise:
        _add_sums(data, sums, visits, s, cards, observed)


@njit(**INNER)
def _add_sums(data, sums, visits, s, cards, observed):
    """Add the logs of the sums to the tables that a visit has written, which lie side by side in memory."""
    begin, end = visits.axis_start[s], visits.axis_start[s + 1]
    row = visits.stride_start[s] + visits.n_reads[s] * (end - begin)
    for t in range(visits.table_start[s] + visits.n_reads[s], visits.table_start[s + 1]):
        at, size = visits.offsets[t], 1
        for a in range(begin, end):
            if visits.strides[row] > 0 and observed[visits.axes[a]] < 0:
                size *= cards[visits.axes[a]]
            row += 1
        for i in range(at, at + size):
            if sums[i] > 0.0:
                data[i] += np.log(sums[i])
                sums[i] = 0.0


@njit(**INNER)
def _lowered(data, at, size):
    """Make the largest log of a table 0; what it was."""
    top = -np.inf
    for i in range(at, at + size):
        top = max(top, data[i])
    if top > -np.inf:
        for i in range(at, at + size):
            data[i] -= top
    return top


@njit(cache=True, nogil=True)
def pass_logs(data, sums, chosen, visits, messages, state, phase, maximise):
    """Visit all cliques and send their messages; returns the log of what those up were divided by, or -inf."""
    cards, observed, soft = state
    n, total = messages.up.size, 0.0
    for step in range(n):
        k = n - 1 - step if phase == INWARD else step
        visit_logs(data, sums, chosen, visits, k, cards, observed, soft, maximise)
        if phase == INWARD:
            total += _lowered(data, messages.up[k], messages.sizes[k])
            if total == -np.inf:
                break
            continue
        for i in range(messages.child_start[k], messages.child_start[k + 1]):
            child = messages.children[i]
            up, down, size = messages.up[child], messages.down[child], messages.sizes[child]
            for j in range(size):
                data[down + j] -= data[up + j] if data[up + j] > -np.inf else 0.0
            _lowered(data, down, size)
    return total


@njit(cache=True, nogil=True)
def read_logs(data, places, sources, cards, observed, out):
    """Write the tables of the sources, normalised, as :func:`read_tables` does."""
    n = sources.first.size
    begins, size = np.zeros(n + 1, np.int64), 0
    for k in range(n):
        if sources.first[k] >= 0:
            size += places[sources.first[k] + 1] - places[sources.first[k]]
        begins[k + 1] = size
    numbers, which = np.empty(size), np.full(n, -1)
    for k in range(n):
        if sources.first[k] < 0:
            continue
        which[k] = k
        one, at = places[sources.first[k]], begins[k]
        for i in range(begins[k + 1] - at):
            numbers[at + i] = data[one + i]
            if sources.second[k] >= 0:
                numbers[at + i] += data[places[sources.second[k]] + i]
        _lowered(numbers, at, begins[k + 1] - at)
    plain = Sources(
        which, np.full(n, -1), sources.starts, sources.axis_start, sources.axes, sources.steps, np.full(n, -1)
    )
    for i in range(size):
        numbers[i] = np.exp(numbers[i])
    read_tables(numbers, begins, plain, cards, observed, np.ones((4, 1)), out)


def _steps_of_logs(observed, vectors, soft, passes, *rest):
    """About how many microseconds Python takes."""
    return observed.shape[0] * 5 * (passes[0].strides.size + rest[2].size)


@njit(cache=True, nogil=True, steps=_steps_of_logs)
def run_logs(observed, vectors, soft, passes, sources, fixed, tables, cards, maximise, out, states, log_z):
    """All evidence sets (rows of ``observed``): tables and logs of probabilities, or with ``maximise`` the best states.

    ``vectors`` are the logs of the likelihoods of all variables, of which those count that are ``soft``. Returns the
    buffer and the places of the last one, for more questions about it.
    """
    n_vectors, shift = vectors.size, fixed - vectors.size
    data, places = np.empty(0), np.empty(0, np.int64)
    for row in range(observed.shape[0]):
        state = (cards, observed[row], soft)
        inward, outward, messages, places, _ = bind(passes[0], passes[1], passes[2], fixed, cards, observed[row])
        data = np.empty(places[-1])
        for i in range(data.size):  # not by slices, for which the compiler takes a second
            data[i] = tables[i] if i < shift else vectors[i - shift] if i < shift + n_vectors else -np.inf
        sums, chosen = np.zeros(data.size), np.zeros(data.size if maximise else 1, np.int64)
        total = 0.0
        for phase in range(1 if maximise or passes[1].n_reads.size == 0 else 2):
            if total > -np.inf:
                visits = inward if phase == INWARD else outward
                total += pass_logs(data, sums, chosen, visits, messages, state, phase, maximise)
        log_z[row] = total
        if total == -np.inf:
            for i in range(out.shape[1]):
                out[row, i] = np.nan
        elif maximise:
            trace_back(chosen, inward, messages, cards, states[row])
        else:
            root = 0.0
            for i in range(messages.up[0], messages.up[0] + messages.sizes[0]):
                root += np.exp(data[i])
            log_z[row] += np.log(root)
            read_logs(data, places, sources, cards, observed[row], out[row])
    return data, places

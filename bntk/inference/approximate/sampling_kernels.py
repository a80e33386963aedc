# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
"""Numba kernels of sampling. Arrays are trusted: callers have checked them.

Random numbers are functions of a key and a counter (SplitMix64), not of what was drawn before: cells can be drawn in
any order and by any number of threads. Families are laid out as in :mod:`bntk.inference.elimination.flat`.
"""

from __future__ import annotations

import numpy as np

from bntk._kernels import njit, part

#: Products that are smaller may have lost digits.
FAINT = 1e-290
BLOCK = 2048  # rows whose numbers stay in the first-level cache
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@part
def _uniform(key, counter):
    """A number from 0 up to 1 (SplitMix64, Steele, Lea and Flood 2014)."""
    z = key + counter * GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.float64(np.int64(z >> np.uint64(11))) * (1.0 / 9007199254740992.0)


def _steps_of_sampling(codes, order, *rest):
    """About how many microseconds :func:`forward_sample_plainly` takes."""
    return order.size * (100 + (rest[-1] - rest[-2]) / 5)


def forward_sample_plainly(codes, order, starts, members, strides, offsets, cards, cumulative, keys, begin, end):
    """:func:`forward_sample` by numpy, for few rows."""
    counters = np.arange(begin + 1, end + 1).astype(np.uint64)
    for f in order.tolist():
        first, last = starts[f], starts[f + 1] - 1
        with np.errstate(over="ignore"):
            uniform = _uniform.py_func(keys[f], counters)
        index = np.full(end - begin, offsets[f], np.int64)
        for m in range(first, last):
            index += codes[members[m], begin:end].astype(np.int64) * strides[m]
        drawn = np.zeros(end - begin, np.int64)
        for state in range(cards[f] - 1):
            drawn += uniform >= cumulative[index + state]
        codes[members[last], begin:end] = drawn


@njit(cache=True, nogil=True, steps=_steps_of_sampling, plain=forward_sample_plainly)
def forward_sample(codes, order, starts, members, strides, offsets, cards, cumulative, keys, begin, end):
    """Fill rows begin..end of ``codes``, parents before children.

    The tables hold cumulative probabilities over the child's states, the innermost axis; the state drawn is the number
    of them that the random number reaches. Few states are compared without a branch, which no processor could predict;
    many are searched. The loops are apart from each other so that the compiler makes vector instructions of each.
    """
    index = np.empty(BLOCK, dtype=np.int64)
    uniform = np.empty(BLOCK)
    drawn = np.empty(BLOCK, dtype=np.int64)
    for row in range(begin, end, BLOCK):
        n = min(BLOCK, end - row)
        for f in order:
            first, last = starts[f], starts[f + 1] - 1  # the last member is the child itself
            key, counter = keys[f], np.uint64(row + 1)
            for k in range(n):
                uniform[k] = _uniform(key, counter + np.uint64(k))
                index[k] = offsets[f]
                drawn[k] = 0
            for m in range(first, last):
                column, stride = codes[members[m]], strides[m]
                for k in range(n):
                    index[k] += np.int64(column[row + k]) * stride
            column = codes[members[last]]
            if cards[f] <= 8:
                for state in range(cards[f] - 1):
                    for k in range(n):
                        drawn[k] += uniform[k] >= cumulative[index[k] + state]
            else:
                for k in range(n):
                    low, high = 0, cards[f] - 1
                    while low < high:
                        middle = (low + high) // 2
                        if uniform[k] >= cumulative[index[k] + middle]:
                            low = middle + 1
                        else:
                            high = middle
                    drawn[k] = low
            for k in range(n):
                column[row + k] = drawn[k]


@part
def _conditional(states, v, starts, members, strides, offsets, tables, near, likelihood, weights):
    """weights[s] = P(v = s | all others) up to a factor: the tables of v and of its children; their sum.

    Where a product becomes too small, all are made anew from logs.
    """
    card = likelihood.size
    for in_logs in range(2):
        for s in range(card):
            weights[s] = np.log(likelihood[s]) if in_logs else likelihood[s]
        least = 1.0
        for f in near:
            base, step = offsets[f], 0
            for m in range(starts[f], starts[f + 1]):
                if members[m] == v:
                    step = strides[m]
                else:
                    base += states[members[m]] * strides[m]
            for s in range(card):
                entry, before = tables[base + s * step], weights[s]
                weights[s] = before + np.log(entry) if in_logs else before * entry
                if before > 0.0 and entry > 0.0:
                    least = min(least, weights[s])
        if in_logs or least >= FAINT:
            break
    total = 0.0
    top = np.max(weights[:card]) if in_logs else 0.0
    for s in range(card):
        if in_logs:
            weights[s] = np.exp(weights[s] - top)
        total += weights[s]
    return total


@njit(cache=True, nogil=True)
def gibbs_chain(
    states, free, starts, members, strides, offsets, cards, tables, near_start, near, state_start, likelihood, keys,
    chain, burn_in, thin, codes, begin, first, last,
):  # fmt: skip
    """Run the sweeps first..last of a chain from ``states``, and write its samples to ``codes``, from row begin.

    A sweep draws every free variable once given all others. One row is kept of every ``thin`` sweeps.
    """
    weights = np.empty(likelihood.size)
    for sweep in range(first, last):
        counter = (np.uint64(chain) << np.uint64(40)) + np.uint64(sweep + 1)
        for v in free:
            around = near[near_start[v] : near_start[v + 1]]
            own = likelihood[state_start[v] : state_start[v] + cards[v]]
            total = _conditional(states, v, starts, members, strides, offsets, tables, around, own, weights)
            left = _uniform(keys[v], counter) * total
            for s in range(cards[v]):
                if weights[s] > 0.0:
                    states[v] = s  # so that rounding at the end can only give a possible state
                    left -= weights[s]
                    if left < 0.0:
                        break
        kept = sweep - burn_in
        if kept >= 0 and kept % thin == thin - 1:
            for v in range(cards.size):
                codes[v, begin + kept // thin] = states[v]

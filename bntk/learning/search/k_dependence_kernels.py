"""The loop over rows of the selective k-dependence search."""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

from bntk._kernels import njit

SQUARED, LOG, ZERO_ONE = 0, 1, 2
# Classes whose log scores differ by less are equally probable, and the first is the label.
TIE = 1e-9


@njit(cache=True, nogil=True, steps=lambda scores, *rest: 2 * scores.size)
def add_and_measure(scores, terms, y, weights, loss):
    """Add the term of one more family to the class log scores (a line for each class); the sum of losses after it."""
    K, M = scores.shape
    total = 0.0
    for i in range(M):
        top = -math.inf
        for c in range(K):
            scores[c, i] += terms[c, i]
            top = max(top, scores[c, i])
        if loss == ZERO_ONE:
            label = 0
            while scores[label, i] < top - TIE:
                label += 1
            total += weights[i] * (label != y[i])
            continue
        others, own = 0.0, scores[y[i], i]
        for c in range(K):
            if c != y[i]:
                others += math.exp(scores[c, i] - top)
        whole = others + math.exp(own - top)
        if loss == SQUARED:
            total += weights[i] * (others / whole) ** 2
        else:
            total += weights[i] * (math.log(whole) + top - own)
    return total

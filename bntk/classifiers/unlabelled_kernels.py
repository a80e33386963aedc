"""The kernel of the E-step over classes. It trusts its arguments."""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np

from bntk._kernels import njit


@njit(cache=True, nogil=True)
def divide_rows(scores, classes, weights):
    """Divide the weight of each row among the classes by their log scores, in place: w_i P(c | x_i).

    A row with a class has all of its weight there. Returns the log-likelihood, the sum of w_i times the log of what the
    row's class, or all classes together, have; and the first row for which that is log 0, or -1.
    """
    total, n_classes = 0.0, scores.shape[1]
    for i in range(scores.shape[0]):
        own = classes[i]
        top = -np.inf
        for k in range(n_classes):
            if k == own or own == n_classes:
                top = max(top, scores[i, k])
        if not math.isfinite(top):
            return total, i
        summed = 0.0
        for k in range(n_classes):
            scores[i, k] = math.exp(scores[i, k] - top) if k == own or own == n_classes else 0.0
            summed += scores[i, k]
        for k in range(n_classes):
            scores[i, k] *= weights[i] / summed
        total += weights[i] * (top + math.log(summed))
    return total, -1

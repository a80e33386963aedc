"""The kernel of numbers between intervals, where the log joint is a sum of terms. It trusts its arguments."""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

from bntk._kernels import njit


def _steps(codes, shares, order, features, terms, scores, begin, stop, *scratch):
    return (stop - begin) * (len(terms.touched) + 2 * scores.shape[1] * (len(features) + len(terms.starts)))


@njit(cache=True, nogil=True, steps=_steps)
def mean_over_codings(codes, shares, order, features, terms, scores, begin, stop, offsets, own, powers):
    """The log joint of the rows from ``begin`` to ``stop``, in the place of the terms that were added to ``scores``.

    ``codes`` has the lower state of each feature, row by row; ``shares`` how far the ``features`` that are interpolated
    have gone to the next one, and ``order`` those that have gone farthest first. They move in this order: each move
    exchanges the terms of the families that the feature is in.
    """
    n_classes = scores.shape[1]
    for i in range(begin, stop):
        for f in range(offsets.size):
            offsets[f] = terms.starts[f]
        for v in range(codes.shape[1]):
            for t in range(terms.touched_starts[v], terms.touched_starts[v + 1]):
                offsets[terms.touched[t]] += codes[i, v] * terms.steps[t]
        for c in range(n_classes):
            own[c] = scores[i, c]
            scores[i, c] = 0.0
        for f in range(offsets.size):
            for c in range(n_classes):
                own[c] += terms.tables[offsets[f] + c]
        possible = False
        for c in range(n_classes):
            possible |= own[c] > -math.inf
        if not possible:  # what is added rules out every class
            for c in range(n_classes):
                scores[i, c] = -math.inf
            continue
        left, top, evidence = 1.0, -math.inf, 0.0
        for k in range(features.size + 1):
            after = shares[i, order[i, k]] if k < features.size else 0.0
            if left > after:
                largest, total = own[0], 0.0
                for c in range(1, n_classes):
                    largest = max(largest, own[c])
                for c in range(n_classes):
                    powers[c] = math.exp(own[c] - largest)
                    total += powers[c]
                for c in range(n_classes):
                    scores[i, c] += (left - after) * powers[c] / total
                log_evidence = largest + math.log(total)
                if log_evidence > top:
                    evidence = evidence * math.exp(top - log_evidence) + (left - after)
                    top = log_evidence
                else:
                    evidence += (left - after) * math.exp(log_evidence - top)
            if after == 0.0:
                break
            left = after
            v = features[order[i, k]]
            for t in range(terms.touched_starts[v], terms.touched_starts[v + 1]):
                f, step = terms.touched[t], terms.steps[t]
                for c in range(n_classes):
                    own[c] += terms.tables[offsets[f] + step + c] - terms.tables[offsets[f] + c]
                offsets[f] += step
        for c in range(n_classes):
            scores[i, c] = math.log(scores[i, c]) + math.log(evidence) + top

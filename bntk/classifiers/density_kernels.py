"""Kernels of densities. They trust their arguments.

Numbers have one row per feature, log densities one row per class, so that the innermost loops run over neighbours. NaN
is a missing value.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np

from bntk._kernels import njit, part

#: Points whose share of a sum is below exp(-NEGLIGIBLE) are left out.
NEGLIGIBLE = 38.0
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


@njit(cache=True, nogil=True)
def add_moments(numbers, classes, weights, start, stop, totals, means, squares):
    """Weight, mean and sum of squared deviations of the features ``start`` to ``stop`` in each class, in two passes.

    Means are counted from the first number of the class, so that equal numbers have a variance of exactly zero.
    """
    firsts = np.empty(totals.shape[1])
    for f in range(start, stop):
        for i in range(classes.shape[0] - 1, -1, -1):
            if numbers[f, i] == numbers[f, i]:
                firsts[classes[i]] = numbers[f, i]
        for i in range(classes.shape[0]):
            x = numbers[f, i]
            if x == x:
                totals[f, classes[i]] += weights[i]
                means[f, classes[i]] += weights[i] * (x - firsts[classes[i]])
        for k in range(totals.shape[1]):
            if totals[f, k] > 0.0:
                means[f, k] = firsts[k] + means[f, k] / totals[f, k]
        for i in range(classes.shape[0]):
            x = numbers[f, i]
            if x == x:
                deviation = x - means[f, classes[i]]
                squares[f, classes[i]] += weights[i] * deviation * deviation


@njit(cache=True, nogil=True)
def add_gaussian(numbers, means, precisions, constants, start, stop, out):
    """Add the log densities constants - (x - mean)^2 precisions of the rows ``start`` to ``stop``."""
    for f in range(numbers.shape[0]):
        for k in range(out.shape[0]):
            mean, precision, constant = means[f, k], precisions[f, k], constants[f, k]
            for i in range(start, stop):
                deviation = numbers[f, i] - mean
                term = constant - deviation * deviation * precision
                out[k, i] += term if term == term else 0.0


@njit(cache=True, nogil=True)
def first_beyond(numbers, low, high):
    """The first feature and row whose number is below ``low`` or above ``high``; (-1, -1) if there is none."""
    for f in range(numbers.shape[0]):
        for i in range(numbers.shape[1]):
            if numbers[f, i] < low or numbers[f, i] > high:
                return f, i
    return -1, -1


@njit(cache=True, nogil=True)
def add_counts(numbers, classes, weights, start, stop, counts):
    """Add the numbers of the features ``start`` to ``stop``, times the weights of rows, to the counts of each class."""
    for f in range(start, stop):
        for i in range(classes.shape[0]):
            if numbers[f, i] == numbers[f, i]:
                counts[f, classes[i]] += weights[i] * numbers[f, i]


@njit(cache=True, nogil=True)
def add_words(numbers, log_p, start, stop, out):
    """Add numbers times log probabilities of the rows ``start`` to ``stop``; a word that is not there adds nothing."""
    for f in range(numbers.shape[0]):
        for k in range(out.shape[0]):
            for i in range(start, stop):
                out[k, i] += numbers[f, i] * log_p[f, k] if numbers[f, i] > 0.0 else 0.0


@njit(cache=True, nogil=True)
def expand_boxes(points, weights, width, origin, step, moments):
    """Add the moments sum_j w_j t_j^m / m! of boxes of points, with t the distance from the centre over sqrt(2) h."""
    for j in range(points.shape[0]):
        box = min(int((points[j] - origin) / step), moments.shape[0] - 1)
        t = (points[j] - origin - (box + 0.5) * step) / (math.sqrt(2.0) * width)
        term = weights[j]
        for m in range(moments.shape[1]):
            moments[box, m] += term
            term *= t / (m + 1)


@part
def _sum_of_boxes(x, width, origin, step, moments, reach):
    """sum_j w_j exp(-(x - x_j)^2 / 2 h^2) over the boxes within ``reach`` of x.

    With y and t the distances of x and of a point from the centre of its box, over sqrt(2) h, each summand is
    exp(-y^2) sum_m H_m(y) t^m / m!, where H_m are the Hermite polynomials.
    """
    first = max(0, int((x - reach - origin) / step))
    last = min(moments.shape[0] - 1, int((x + reach - origin) / step))
    summed = 0.0
    for box in range(first, last + 1):
        y = (x - origin - (box + 0.5) * step) / (math.sqrt(2.0) * width)
        before, hermite, series = 0.0, 1.0, 0.0
        for m in range(moments.shape[1]):
            series += hermite * moments[box, m]
            before, hermite = hermite, 2.0 * (y * hermite - m * before)
        summed += math.exp(-y * y) * series
    return summed


@part
def _sum_of_points(x, points, weights, right, least, furthest, scale):
    """sum_j w_j exp(least - (x - x_j)^2 scale), outwards from x until the exponents are beyond ``furthest``."""
    summed = 0.0
    for j in range(right - 1, -1, -1):
        exponent = (x - points[j]) * (x - points[j]) * scale
        if exponent > furthest:
            break
        summed += weights[j] * math.exp(least - exponent)
    for j in range(right, points.shape[0]):
        exponent = (x - points[j]) * (x - points[j]) * scale
        if exponent > furthest:
            break
        summed += weights[j] * math.exp(least - exponent)
    return summed


@njit(cache=True, nogil=True)
def add_kernel_density(numbers, points, weights, total, width, origin, step, moments, start, stop, k, out):
    """Add to row ``k`` the log of the weighted mean of normal densities around sorted points.

    The nearest point is taken out of the sum, so that nothing underflows far away. Near the points, where many of them
    matter, the sum is over boxes if there are any.
    """
    scale = 0.5 / (width * width)
    constant = math.log(total * width) + LOG_SQRT_2PI
    for i in range(start, stop):
        x = numbers[i]
        if x != x:
            continue
        right = np.searchsorted(points, x)
        if right == points.shape[0] or (right > 0 and x - points[right - 1] < points[right] - x):
            nearest = right - 1
        else:
            nearest = right
        least = (x - points[nearest]) * (x - points[nearest]) * scale
        furthest = least + NEGLIGIBLE + math.log(total / weights[nearest])
        if moments.shape[0] > 0 and least < 1.0:
            summed = _sum_of_boxes(x, width, origin, step, moments, math.sqrt(furthest / scale))
            out[k, i] += math.log(summed) - constant
        else:
            summed = _sum_of_points(x, points, weights, right, least, furthest, scale)
            out[k, i] += math.log(summed) - least - constant

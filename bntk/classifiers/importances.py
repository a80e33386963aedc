"""How much each feature tells about the class in a fitted classifier: what ``feature_importances_`` is made of.

Of a network it is the mutual information of the feature and the class given the feature's other parents,

    I(X; C | parents) = sum P(parents, c, x) log( P(x | parents, c) / P(x | parents) ),

with all probabilities those of the network. If the class has parents, they share I(C; parents of C). A parent of a
child of the class that has no arc from or to the class itself has a share of what the child tells. Shares are the mean
over all orders of what each adds (Shapley 1953).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bntk.classifiers.densities import Gaussian, KernelDensities, Multinomial
from bntk.classifiers.kde import KernelDensity
from bntk.classifiers.shares import shared
from bntk.errors import TooLargeError
from bntk.learning.counts import TableCounter
from bntk.learning.information import conditional_information

if TYPE_CHECKING:
    from bntk.network import BayesianNetwork

Floats = NDArray[np.float64]

#: Information below this is rounding.
NOTHING = 1e-12
#: Entries of cliques up to which the distribution of parents is exact; else it is that of so many rows that are drawn.
MOST_ENTRIES, DRAWN_ROWS = 1 << 20, 100_000
#: A normal distribution is integrated at so many standard scores, up to this one.
SCORES = np.linspace(-9, 9, 721)
#: The points of a kernel density of a class that stand for all of them.
QUANTILES = 512


def normalised(information: Mapping[str, float], names: Sequence[str]) -> Floats:
    """One number for each column, 0 where nothing is known of it; they sum to one, unless no column tells anything."""
    values = np.array([information.get(name, 0.0) for name in names], dtype=np.float64)
    values[~(values > NOTHING)] = 0.0
    total = values.sum()
    return values / total if total > 0 else values


def mean_of(parts: Sequence[Mapping[str, float]], weights: Sequence[float] | Floats) -> dict[str, float]:
    """The mean of what several models say."""
    total = float(sum(weights))
    found: dict[str, float] = {}
    for part, weight in zip(parts, weights, strict=True):
        for name, value in part.items():
            found[name] = found.get(name, 0.0) + value * float(weight) / total
    return found


# ---- a network -------------------------------------------------------------------------------------------------------


def in_network(network: BayesianNetwork, target: int) -> dict[str, float]:
    """The information of each feature of a network about the variable at ``target``."""
    dag, joints = network.dag, _Joints(network)
    above, below = dag.parent_indices[target], dag.child_indices[target]
    found = dict.fromkeys(network.names, 0.0)
    if above:
        of_class, place = joints.of_family(target), len(above)
        for axis, share in shared(range(place), lambda sets: _each(of_class, sets, place)).items():
            found[network.names[above[axis]]] += max(0.0, float(share))
    around = {target, *above, *below}
    for child in below:
        family, joint = (*dag.parent_indices[child], child), joints.of_family(child)
        apart = [axis for axis, v in enumerate(family[:-1]) if v not in around]
        for axis, share in _shares_of_child(joint, family.index(target), apart).items():
            found[network.names[family[axis]]] += max(0.0, float(share))
    return found


def _each(joint: Floats, sets: Sequence[Sequence[int]], target: int) -> Floats:
    """The information of each set of axes about the one of the class."""
    return np.array([conditional_information(joint, some, [target]) for some in sets])


def _shares_of_child(joint: Floats, target: int, apart: Sequence[int]) -> dict[int, Floats]:
    """Who tells what a child says about the class: itself, the last axis, and parents that are apart from the class."""
    child = joint.ndim - 1
    beside = [axis for axis in range(child) if axis != target and axis not in apart]
    if not apart:
        return {child: np.asarray(conditional_information(joint, [child], [target], beside))}

    def told(sets: Sequence[Sequence[int]]) -> Floats:
        given = [[*beside, *(axis for axis in some if axis != child)] for some in sets]
        return np.array([
            conditional_information(joint, [child], [target], known) if child in some else 0.0
            for some, known in zip(sets, given, strict=True)
        ])  # fmt: skip

    return shared([*apart, child], told)


class _Joints:
    """The joint distributions of the families of a network."""

    def __init__(self, network: BayesianNetwork) -> None:
        self.network = network
        self._of_parents: dict[tuple[int, ...], Floats] = {}
        self._drawn: TableCounter | None = None

    def of_family(self, v: int) -> Floats:
        """P(parents, child), one axis per parent and the last one for the child."""
        parents = self.network.dag.parent_indices[v]
        if parents not in self._of_parents:
            self._of_parents[parents] = self._joint([self.network.names[p] for p in parents])
        return np.asarray(self._of_parents[parents][..., None] * self.network.cpts[v].values)

    def _joint(self, names: list[str]) -> Floats:
        try:
            return self.network.query(names, max_entries=MOST_ENTRIES).values
        except TooLargeError:
            if self._drawn is None:
                self._drawn = TableCounter(self.network.sample(DRAWN_ROWS, seed=0))
            (counts,) = self._drawn.tables([tuple(names)])
            return np.asarray(counts / counts.sum())


# ---- densities -------------------------------------------------------------------------------------------------------


def in_densities(densities: Sequence[Any], class_probabilities: Floats) -> dict[str, float]:
    """The information of each feature that has a density given the class; of counts of words, that of one word."""
    found: dict[str, float] = {}
    for density in densities:
        if isinstance(density, Multinomial):
            values = _of_words(density, class_probabilities)
        elif isinstance(density, Gaussian):
            values = _of_normals(density, class_probabilities)
        elif isinstance(density, KernelDensities):
            values = [_of_points(feature, class_probabilities) for feature in density.features]
        found.update(zip(density.columns.names, values, strict=True))
    return found


def _of_words(density: Multinomial, shares: Floats) -> list[float]:
    """sum_c P(c) P(word | c) log( P(word | c) / P(word) ) of each word."""
    log_p = density.log_probabilities()
    p = np.exp(log_p)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * (log_p - np.log(p @ shares)[:, None]), 0.0)
    return (terms @ shares).tolist()


def _of_normals(density: Gaussian, shares: Floats) -> list[float]:
    means, variances = density.parameters()
    weights = np.exp(-0.5 * SCORES**2)
    weights /= weights.sum()
    found = []
    for mean, variance in zip(means, variances, strict=True):
        if not np.isfinite(variance).all():  # no number was seen
            found.append(0.0)
            continue
        points = mean[:, None] + np.sqrt(variance)[:, None] * SCORES
        apart = points[None] - mean[:, None, None]
        log_f = -0.5 * (apart**2 / variance[:, None, None] + np.log(2 * np.pi * variance)[:, None, None])
        found.append(_expected(log_f, weights[None], shares))
    return found


def _of_points(density: KernelDensity, shares: Floats) -> float:
    """Each point of a class is spread by its kernel; of many points, those at as many quantiles stand for all."""
    if not len(density.points):
        return 0.0
    kernel, kernel_weights = np.polynomial.hermite_e.hermegauss(8)
    every, of_all = [], density.of_all()
    for k, width in enumerate(density.widths().tolist()):
        points, weights = density.of_class(k)
        points, weights = (points, weights) if len(points) else of_all
        if len(points) > QUANTILES:
            below = np.cumsum(weights)
            places = np.searchsorted(below, (np.arange(QUANTILES) + 0.5) / QUANTILES * below[-1])
            points, weights = points[places], np.ones(QUANTILES)
        spread = points[:, None] + width * kernel
        every.append((spread.ravel(), (weights[:, None] * kernel_weights).ravel()))
    n = max(len(points) for points, _ in every)
    numbers, weights = np.zeros((2, len(shares), n))
    for k, (points, own) in enumerate(every):
        numbers[k, : len(points)], weights[k, : len(points)] = points, own / own.sum()
    log_f = np.zeros((len(shares), numbers.size))
    density.add_log_density(numbers.ravel(), log_f)
    return _expected(log_f.reshape(len(shares), *numbers.shape), weights, shares)


def _expected(log_f: Floats, weights: Floats, shares: Floats) -> float:
    """sum_c P(c) E[log f(x | c) - log f(x) | c]: ``log_f[a, c]`` are those of class a at the points of class c."""
    k = len(shares)
    with np.errstate(divide="ignore"):
        log_mixed = np.logaddexp.reduce(log_f + np.log(shares)[:, None, None], axis=0)
    own = log_f[np.arange(k), np.arange(k)]
    there = (shares > 0)[:, None] & (weights > 0)
    gained = np.where(there, own - np.where(there, log_mixed, 0.0), 0.0)
    return max(0.0, float(shares @ (gained * weights).sum(axis=1)))

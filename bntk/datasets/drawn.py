"""Rows and the network that they were drawn from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bntk import _checking
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas as pd


class Drawn(NamedTuple):
    """Rows drawn from a network: unpack it as ``X, y, network``.

    Attributes
    ----------
    X : pandas.DataFrame
        The features, as categories.
    y : pandas.Series, or pandas.DataFrame with one column per label
        The class, as categories; labels as 0 and 1.
    network : BayesianNetwork
        The network that the rows were drawn from.
    """

    X: pd.DataFrame
    y: Any
    network: BayesianNetwork

    def bayes_accuracy(self) -> float:
        """The expected accuracy of the Bayes classifier on these features, mean_x max_c P(c | x).

        With several labels, the mean over the labels. No classifier has a higher expected accuracy.

        Examples
        --------
        >>> import bntk
        >>> drawn = bntk.datasets.make_ordinal(2000, n_classes=3, seed=1)
        >>> guess = drawn.network.posterior(drawn.X, "class").idxmax(axis=1)
        >>> bool(abs(drawn.bayes_accuracy() - (guess == drawn.y).mean()) < 0.03)
        True
        """
        beliefs = [self.network.posterior(self.X, target) for target in np.atleast_1d(self._targets)]
        return float(np.mean([np.asarray(belief).max(axis=1) for belief in beliefs]))

    def fresh(self, n_rows: int, seed: int) -> Drawn:
        """Other rows of the same network, for example to test a classifier that was learned from these.

        Examples
        --------
        >>> import bntk
        >>> X, y, network = bntk.datasets.make_ordinal(100, seed=1).fresh(5000, seed=2)
        >>> len(X), network.n_parameters
        (5000, 124)
        """
        return draw(self.network, self._targets, n_rows, seed)

    @property
    def _targets(self) -> Any:
        return self.y.name if self.y.ndim == 1 else list(self.y.columns)


#: More variables, states or classes than anybody draws, and stronger effects: tables of zeros and ones.
MOST_THINGS, MOST_STRENGTH = 100_000, 1000.0


def check_counts(**numbers: tuple[Any, int]) -> None:
    """Check whole numbers, given by name as the number and the least that it may be."""
    for name, (number, least) in numbers.items():
        _checking.whole_number(name, number, least, MOST_THINGS)


def checked_seed(seed: int) -> int:
    """A seed that numpy takes."""
    return _checking.whole_number("seed", seed, least=0)


def row_seed(rng: np.random.Generator) -> int:
    """A seed for rows, drawn after the network."""
    return int(rng.integers(2**32))


def draw(network: BayesianNetwork, targets: str | list[str], n_rows: int, seed: int) -> Drawn:
    """Rows as categories, with all states in order; labels as numbers."""
    import pandas as pd

    table = network.sample(_checking.whole_number("n_rows", n_rows, 0, _checking.MOST), seed=seed)
    columns = {
        v.name: pd.Categorical.from_codes(codes.astype(int), categories=pd.Index(v.states), ordered=v.ordered)
        for v, codes in zip(table.variables, table.codes)
    }
    frame = pd.DataFrame(columns)
    y = frame[targets] if isinstance(targets, str) else frame[targets].astype(int)
    return Drawn(frame.drop(columns=targets), y, network)

"""Chains in several orders, averaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bntk._checking import whole_number
from bntk.classifiers.composed.base import ComposedClassifier
from bntk.classifiers.composed.chains import ClassifierChain
from bntk.classifiers.composed.inputs import Codes, Floats, Inputs
from bntk.classifiers.composed.links import LinkMaker
from bntk.classifiers.random_state import RandomState, seed_of
from bntk.errors import DataError

#: More chains are taken for a mistake.
MOST_CHAINS = 1_000_000


@dataclass(kw_only=True, eq=False, repr=False)
class ChainEnsemble(ComposedClassifier):
    """Classifier chains in random orders; their probabilities are averaged (Read et al. 2011).

    Each class variable gets the label with the highest mean probability.

    Parameters
    ----------
    n_chains : int
        The number of chains.
    search : {"greedy", "beam", "exact"}
        How each chain finds the labels of a row, see :class:`ClassifierChain`.
    beam : int
        How many combinations of labels the beam of each chain keeps.
    proba : {"auto", "path", "exact", "sampling"}
        Which probabilities of each chain are averaged, see :class:`ClassifierChain`; by default those along greedy
        paths.
    n_samples : int
        How many combinations of labels each chain draws for each row with ``proba="sampling"``.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        Seed of the orders. The same integer gives the same classifier, and None is the same as 0.

    Attributes
    ----------
    chains_ : list of ClassifierChain

    Notes
    -----
    Naive Bayes is learned once for each class variable, whatever the number of chains: labels as features only add
    their terms to those of X.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(1000, seed=1).to_pandas()
    >>> Y = rows[["lung", "tub", "bronc"]]
    >>> X = rows.drop(columns=Y.columns)
    >>> ensemble = bntk.ChainEnsemble(n_chains=5).fit(X, Y)
    >>> [probabilities.shape for probabilities in ensemble.predict_proba(X)]
    [(1000, 2), (1000, 2), (1000, 2)]
    """

    name = "ecc"
    n_chains: int = 10
    search: str = "greedy"
    beam: int = 5
    proba: str = "auto"
    n_samples: int = 100
    random_state: RandomState = 0

    _state: ClassVar[dict[str, Any]] = {"chains_": list[ClassifierChain]}

    def _learn(self, maker: LinkMaker) -> None:
        whole_number("n_chains", self.n_chains, 1, MOST_CHAINS)
        generator = np.random.default_rng(seed_of(self.random_state))
        m = len(self.labels_.names)
        self.chains_ = [self._chain(generator.permutation(m).tolist()) for _ in range(self.n_chains)]
        for chain in self.chains_:
            chain._adopt(self)
            chain._learn(maker)

    def _restore(self) -> None:
        super()._restore()
        if not self.chains_:
            raise DataError("there is no chain")
        for chain in self.chains_:
            if chain._names != self._names or chain._variables != self._variables:
                raise DataError("a chain is about other features or labels")

    def _chain(self, order: list[int]) -> ClassifierChain:
        return ClassifierChain(
            self.estimator, order=order, search=self.search, beam=self.beam, proba=self.proba,
            n_samples=self.n_samples, random_state=self.random_state, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _predict(self, inputs: Inputs) -> Codes:
        return np.array([np.argmax(p, axis=1) for p in self._probabilities(inputs)])

    def _probabilities(self, inputs: Inputs) -> list[Floats]:
        of_chains = zip(*(chain._probabilities(inputs) for chain in self.chains_), strict=True)
        return [np.mean(members, axis=0) for members in of_chains]

    def _joint(self, inputs: Inputs) -> Floats:
        return np.mean([chain._joint(inputs) for chain in self.chains_], axis=0)

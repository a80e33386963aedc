"""The reference for networks: the full joint distribution by enumeration, in extended precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import bntk

Exact = np.ndarray[Any, np.dtype[np.longdouble]]


def precision() -> str:
    """How exact the reference is on this machine."""
    bits = np.finfo(np.longdouble).nmant + 1
    smallest = np.format_float_scientific(np.finfo(np.longdouble).tiny, 1)
    if bits <= 53:
        return (
            f"numpy.longdouble has {bits} bits here, no more than a double: the reference is not more exact than bntk"
        )
    return f"numpy.longdouble has {bits} bits here (a double has 53), and goes down to {smallest}"


def has_extended_precision() -> bool:
    """Whether ``longdouble`` has more bits and a larger range than ``double`` here."""
    extended = np.finfo(np.longdouble)
    return bool(extended.nmant > 52 and extended.minexp < -8000)


class Joint:
    """The joint distribution of a network, one axis a variable, perhaps times likelihoods; and all that follows."""

    def __init__(self, table: Exact) -> None:
        self.table = table

    @classmethod
    def of(cls, network: bntk.BayesianNetwork) -> Joint:
        """By plain multiplication of the tables of a network."""
        cards = [variable.n_states for variable in network.variables]
        whole = np.ones(cards, dtype=np.longdouble)
        for node, (cpt, parents) in enumerate(zip(network.cpts, network.dag.parent_indices, strict=True)):
            axes = [*parents, node]
            shape = [cards[a] if a in axes else 1 for a in range(len(cards))]
            whole *= cpt.values.astype(np.longdouble).transpose(np.argsort(axes)).reshape(shape)
        return cls(whole)

    def times(self, likelihood: Mapping[int, Any]) -> Joint:
        """With evidence: a number for each state of some variables."""
        table = self.table
        for v, vector in likelihood.items():
            numbers = np.asarray(vector, dtype=np.longdouble)
            table = table * numbers.reshape([-1 if a == v else 1 for a in range(table.ndim)])
        return Joint(table)

    @property
    def total(self) -> Any:
        """The probability of the evidence."""
        return self.table.sum()

    def onto(self, variables: Sequence[int]) -> Exact:
        """Summed over all other variables, axes in the order given; not divided by anything."""
        kept = sorted(variables)
        table = self.table.sum(axis=tuple(a for a in range(self.table.ndim) if a not in kept))
        return np.asarray(table).transpose([kept.index(v) for v in variables])

    def posterior(self, variables: Sequence[int]) -> Exact:
        """The distribution of some variables given the evidence."""
        return np.asarray(self.onto(variables) / self.total)

    def row(self, codes: Sequence[int]) -> Joint:
        """Given the observed cells of a row; a missing one has the number of states as its code."""
        table = self.table
        for v, code in enumerate(codes):
            if code < table.shape[v]:
                table = np.take(table, [int(code)], axis=v)
        return Joint(table)


def fitted_beliefs(joint: Joint, beliefs: Mapping[int, Exact], rounds: int = 3000) -> Joint | None:
    """The distribution nearest to a joint one with these marginals, by proportional fitting; None if none is found."""
    table = joint.table / joint.total
    for _ in range(rounds):
        gap = np.longdouble(0)
        for v, wanted in beliefs.items():
            now = Joint(table).onto([v])
            if ((now == 0) & (wanted > 0)).any():
                return None
            gap = max(gap, np.abs(now - wanted).max())
            ratio = np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)
            table = table * ratio.reshape([-1 if a == v else 1 for a in range(table.ndim)])
        if gap < 1e-15:
            return Joint(table)
    return None

"""Local distributions with few parameters that expand to a table: noisy-OR and noisy-MAX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk.cpt import CPT, MAX_TABLE_ENTRIES, check_table_size, normalised
from bntk.data.variable import Variable
from bntk.errors import NetworkError


class NoisyMax:
    """Noisy-MAX: each parent by itself raises the child to some state, and the child takes the highest of them.

    With the states of the child in ascending order, the first meaning "absent", and independent causes,

        P(C <= c | parents) = L(c) * prod_i P_i(C <= c | parent_i)

    where ``L`` is the cumulative leak (Diez 1993, "Parameter adjustment in Bayes networks: the generalized
    noisy OR-gate"; Henrion 1989 for the leak). The number of parameters grows with the sum of the parents'
    states rather than with their product.

    Parameters
    ----------
    child : Variable
        States in ascending order.
    effects : mapping of Variable to array_like
        For each parent a matrix of shape ``(r_parent, r_child)``: the distribution of the child if this parent
        were the only cause. A parent's "absent" state usually has the row ``[1, 0, ..., 0]``.
    leak : array_like, optional
        Distribution of the child when no parent acts; by default the first state has probability one.

    Examples
    --------
    >>> flu, cold = Variable("flu", ["no", "yes"]), Variable("cold", ["no", "yes"])
    >>> fever = Variable("fever", ["none", "mild", "high"], ordered=True)
    >>> noisy = NoisyMax(fever, {flu: [[1, 0, 0], [0.1, 0.3, 0.6]], cold: [[1, 0, 0], [0.6, 0.3, 0.1]]})
    >>> noisy.to_cpt().row({"flu": "yes", "cold": "yes"}).round(3)
    array([0.06, 0.3 , 0.64])
    """

    def __init__(self, child: Variable, effects: Mapping[Variable, ArrayLike], leak: ArrayLike | None = None) -> None:
        self.child = _variable(child)
        self.parents = tuple(map(_variable, _checking.mapping("effects", effects, "{parent: matrix}", NetworkError)))
        self.effects = tuple(_distributions(child, parent, table) for parent, table in effects.items())
        absent = np.eye(1, child.n_states)[0]
        self.leak = _leak(child, absent if leak is None else leak)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, before expansion: those of each effect and of the leak."""
        return (sum(p.n_states for p in self.parents) + 1) * (self.child.n_states - 1)

    def to_cpt(self, max_entries: int = MAX_TABLE_ENTRIES) -> CPT:
        """Expand to the full table; refused before it is allocated when it has more than ``max_entries``.

        Parameters
        ----------
        max_entries : int
            The largest number of entries of the table.
        """
        check_table_size(self.child, self.parents, _checking.limit("max_entries", max_entries))
        values = self.leak
        for effect in self.effects:
            # The highest so far is c and this effect not above, or this effect is c and all others are below: sums of
            # products, where differences of the cumulative products would lose small probabilities.
            below = np.cumsum(values, axis=-1) * (np.arange(self.child.n_states) < self.child.n_states - 1)
            values = (
                values[..., None, :] * np.cumsum(effect, axis=1) + np.roll(below, 1, axis=-1)[..., None, :] * effect
            )
        return CPT(self.child, values, self.parents)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.child.name} | {', '.join(p.name for p in self.parents)})"


class NoisyOr(NoisyMax):
    """Noisy-OR: each parent that is present turns the child on with some probability, independently of the others.

        P(child off | parents) = (1 - leak) * prod over present parents i of (1 - p_i)

    (Pearl 1988). The first state of every variable means "off", the second "on".

    Parameters
    ----------
    child : Variable
        With two states, off and on.
    probabilities : mapping of Variable to float
        For each parent, the probability that it turns the child on by itself.
    leak : float
        Probability that the child is on when no parent is.

    Examples
    --------
    >>> flu, cold = Variable("flu", ["no", "yes"]), Variable("cold", ["no", "yes"])
    >>> fever = Variable("fever", ["no", "yes"])
    >>> cpt = NoisyOr(fever, {flu: 0.8, cold: 0.4}, leak=0.1).to_cpt()
    >>> round(cpt.probability("yes", {"flu": "yes", "cold": "yes"}), 3)
    0.892
    """

    def __init__(self, child: Variable, probabilities: Mapping[Variable, float], leak: float = 0.0) -> None:
        parents = _checking.mapping("probabilities", probabilities, "{parent: probability}", NetworkError)
        for variable in map(_variable, (child, *parents)):
            if variable.n_states != 2:
                raise NetworkError(
                    f"noisy-OR needs variables with two states (off, on); {variable.name!r} has "
                    f"{variable.n_states}: use NoisyMax"
                )
        for parent, p in probabilities.items():
            _probability(f"noisy-OR for {child.name!r}: the probability of {parent.name!r}", p)
        _probability(f"noisy-OR for {child.name!r}: the leak", leak)
        effects = {parent: [[1.0, 0.0], [1.0 - p, p]] for parent, p in probabilities.items()}
        super().__init__(child, effects, [1.0 - leak, leak])

    @property
    def n_parameters(self) -> int:
        """One probability for each parent, and the leak."""
        return len(self.parents) + 1


def _variable(given: Variable) -> Variable:
    return _checking.instance("the child or parent of a noisy distribution", given, Variable, error=NetworkError)


def _probability(name: str, p: float) -> None:
    if not _checking.is_number(p) or not 0 <= p <= 1:
        raise _checking.wrong(name, "a number from 0 to 1", p, NetworkError)


def _distributions(child: Variable, parent: Variable, table: ArrayLike) -> NDArray[np.float64]:
    what = f"noisy-MAX for {child.name!r}: the effect of {parent.name!r}"
    matrix = np.array(_checking.numbers(what, table, "a matrix of numbers", NetworkError))
    shape = (parent.n_states, child.n_states)
    if matrix.shape != shape:
        raise NetworkError(
            f"noisy-MAX for {child.name!r}: the effect of {parent.name!r} has shape {matrix.shape}, expected {shape}"
        )
    return normalised(child, [parent], matrix)[0]


def _leak(child: Variable, leak: ArrayLike | Sequence[float]) -> NDArray[np.float64]:
    what = f"noisy-MAX for {child.name!r}: the leak"
    vector = np.array(_checking.numbers(what, leak, "a list of numbers", NetworkError))
    if vector.shape != (child.n_states,):
        raise NetworkError(
            f"noisy-MAX for {child.name!r}: the leak has shape {vector.shape}, expected ({child.n_states},)"
        )
    return normalised(child, [], vector)[0]

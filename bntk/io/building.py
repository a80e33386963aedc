"""Shared parts of the readers and writers of network files: collecting variables and tables, and naming states."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from bntk._warnings import warn
from bntk.cpt import CPT, EXACT, ROUNDING, TOLERANCE, family_text, normalised, warn_normalised
from bntk.data.variable import State, Variable, state_text
from bntk.errors import BntkError, DataError, NetworkError, NormalisationWarning, ParseError
from bntk.network import BayesianNetwork

Place = tuple[int, int]  # line and column, from 1; 0 when not known
NOWHERE: Place = (0, 0)

#: What to do about rows that could be divided by their sums.
WAY_OUT = "; load(..., normalize=True) divides each row by its sum (at the command line: bntk convert --normalize)"

_MAX_PARENTS = 31  # numpy's axes, less the child's


class NetworkBuilder:
    """The variables and tables of a file; what does not fit is refused with the place where it is written.

    Parameters
    ----------
    source : str
        The file, for messages.
    kind : str
        The name of the format, for messages.
    normalize : bool
        Whether rows of tables are divided by their sums, whatever these are.
    within : float
        Rows whose sums are so near to one are treated as without ``normalize``.
    """

    def __init__(self, source: str, kind: str, normalize: bool = False, within: float = EXACT) -> None:
        self.source, self.kind, self.normalize, self.within = source, kind, normalize, within
        self.variables: dict[str, Variable] = {}
        self._cpts: dict[str, CPT] = {}
        self._positions: dict[str, tuple[float, float]] = {}
        self._labels: dict[str, str] = {}
        self._off = 0.0

    def fail(self, message: str, place: Place = NOWHERE) -> NoReturn:
        """Raise the error."""
        raise ParseError(message, source=self.source, line=place[0], column=place[1]) from None

    def add_variable(
        self,
        name: str,
        states: Iterable[State],
        place: Place,
        ordered: bool = False,
        cuts: Sequence[float] | None = None,
    ) -> None:
        """Declare a variable."""
        if name in self.variables:
            self.fail(f"variable {name!r} is declared twice", place)
        try:
            self.variables[name] = Variable(name, states, ordered, cuts)
        except DataError as error:
            self.fail(str(error), place)

    def variable(self, name: str, place: Place) -> Variable:
        """A variable that has been declared."""
        if name not in self.variables:
            self.fail(f"variable {name!r} is not declared", place)
        return self.variables[name]

    def add_table(
        self,
        name: str,
        parents: Sequence[str],
        numbers: Sequence[float] | NDArray[np.float64],
        place: Place,
        counts: Sequence[float] | None = None,
    ) -> None:
        """The table of a variable; the child's states change fastest, then those of the last parent."""
        child = self.variable(name, place)
        if name in self._cpts:
            self.fail(f"a second table for {name!r}", place)
        given = tuple(self.variable(parent, place) for parent in parents)
        if len({name, *parents}) <= len(parents):
            self.fail(f"the family of {name!r} has a variable twice: {list(parents)[:8]}", place)
        if len(parents) > _MAX_PARENTS:
            self.fail(f"{name!r} has {len(parents)} parents; at most {_MAX_PARENTS} can be held", place)
        entries = child.n_states
        for parent in given:
            entries *= parent.n_states
        if len(numbers) != entries:
            self.fail(f"the table of {name!r} needs {entries:,} numbers, got {len(numbers):,}", place)
        shape = [v.n_states for v in (*given, child)]
        try:
            table = np.array(numbers, dtype=np.float64).reshape(shape)
            table, off = divided(child, given, table, self.normalize, self.within)
            kept = None if counts is None else np.array(counts).reshape(shape)
            self._cpts[name] = CPT._trusted(child, table, given, kept)
        except (NetworkError, ValueError) as error:
            self.fail(str(error), place)
        self._off = max(self._off, off)

    def add_position(self, name: str, numbers: Sequence[str]) -> None:
        """Where a variable is drawn, if the words are two finite numbers; others are ignored."""
        try:
            x, y = (float(number) for number in numbers)
        except ValueError:
            return
        if math.isfinite(x) and math.isfinite(y):
            self._positions[name] = x, y

    def add_label(self, name: str, text: str) -> None:
        """What a variable is called for readers; nothing, or its own name, is ignored."""
        if text.strip() and text != name:
            self._labels[name] = text

    def numbers(self, text: str, place: Place) -> list[float]:
        """The numbers in a text, separated by blanks."""
        try:
            return [float(word) for word in text.split()]
        except ValueError as error:
            self.fail(f"not a list of numbers: {error}", place)

    def network(self) -> BayesianNetwork:
        """The network, when every variable has its table and the arcs form no cycle; it may be empty."""
        absent = [name for name in self.variables if name not in self._cpts]
        if absent:
            self.fail(f"no table is given for {absent[:5]}")
        try:
            network = BayesianNetwork._of_families([self._cpts[name] for name in self.variables])
        except BntkError as error:  # a cycle, say
            self.fail(str(error))
        if self._off > ROUNDING:
            warn_normalised(f"{self.source or self.kind + ' text'}: rows", self._off)
        if not self._positions and not self._labels:
            return network
        positions = self._positions or None
        return BayesianNetwork(network.dag, network.cpts, positions=positions, labels=self._labels)


def divided(
    child: Variable,
    parents: Sequence[Variable],
    table: NDArray[np.float64],
    normalize: bool,
    within: float = EXACT,
) -> tuple[NDArray[np.float64], float]:
    """The table with rows that sum to one, as :func:`bntk.cpt.normalised`; with ``normalize``, whatever they sum to."""
    if normalize:
        table = by_sums(table, within)
    try:
        return normalised(child, parents, table)
    except NetworkError as error:
        with np.errstate(all="ignore"):
            helps = not normalize and (table >= 0).all() and (np.abs(by_sums(table).sum(-1) - 1) <= EXACT).all()
        raise NetworkError(f"{error}{WAY_OUT if helps else ''}") from None


def by_sums(table: NDArray[np.float64], within: float = EXACT) -> NDArray[np.float64]:
    """The rows divided by their sums; those that sum to one, or cannot be divided, stay as they are."""
    with np.errstate(all="ignore"):
        largest = table.max(axis=-1, keepdims=True, initial=0)
        parts = table / largest  # so that no sum overflows
        shares = parts / parts.sum(axis=-1, keepdims=True)
        kept = np.abs(table.sum(axis=-1, keepdims=True) - 1) <= within
        good = np.isfinite(shares).all(axis=-1, keepdims=True) & (table >= 0).all(axis=-1, keepdims=True)
    found: NDArray[np.float64] = np.where(good & ~kept, shares, table)
    return found


def tell_divided(what: str, child: Variable, parents: Sequence[Variable], table: NDArray[np.float64], who: str) -> bool:
    """Warn where rows are far from summing to one, and were divided by their sums as the program of a format does."""
    with np.errstate(all="ignore"):
        sums = table.sum(axis=-1).ravel()
        off = np.abs(sums - 1) > TOLERANCE
    if not off.any():
        return False
    first = float(sums[int(np.argmax(off))])
    warn(
        f"{what}: rows that do not sum to 1 were divided by their sums, as {who} does; the first of "
        f"{family_text(child, parents)} sums to {first:g}",
        NormalisationWarning,
        [what],
    )
    return True


def state_texts(variable: Variable, kind: str) -> list[str]:
    """The states as a file of text writes them; refused when two of them would be the same."""
    texts = [state_text(state) for state in variable.states]
    if len(set(texts)) < len(texts):
        raise DataError(
            f"variable {variable.name!r} has two states that are written alike; {kind} cannot hold them, .json can"
        )
    return texts


def position_texts(network: BayesianNetwork, name: str) -> list[str]:
    """The two numbers of a position with all their digits, whole ones without a point; none where there is none."""
    place = (network.positions or {}).get(name, ())
    return [repr(int(number)) if number.is_integer() else repr(number) for number in place]


def number_texts(row: Iterable[float]) -> str:
    """Numbers with all their digits, separated by blanks."""
    return " ".join(map(repr, row))


def printable(name: str) -> str:
    """A name as a picture shows it: what cannot be printed, nor be written in every file, is a blank."""
    return "".join(c if c.isprintable() else " " for c in name)


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """For each name an identifier of ASCII letters, digits and underscores: itself, where it is one.

    Examples
    --------
    >>> identifiers(["a", "a b", "a_b", "5"])
    {'a': 'a', 'a b': 'a_b_2', 'a_b': 'a_b', '5': 'x5'}
    """
    listed = list(names)
    chosen = {name: name for name in listed if _is_identifier(name)}
    taken, last = set(chosen), dict[str, int]()
    for name in listed:
        if name in chosen:
            continue
        stem = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
        stem = stem if stem and stem[0].isalpha() else "x" + stem
        unique, n = stem, last.get(stem, 1)
        while unique in taken:
            n += 1
            unique = f"{stem}_{n}"
        last[stem] = n
        taken.add(unique)
        chosen[name] = unique
    return {name: chosen[name] for name in listed}


def _is_identifier(name: str) -> bool:
    return name.isascii() and name.isidentifier()

"""Discrete variables: a name and its states."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from operator import attrgetter

import numpy as np

from bntk import _checking
from bntk.data.intervals import cuts_of_names, increasing_numbers, interval_names, interval_of, number_in
from bntk.errors import DataError, UnknownNameError, did_you_mean

State = Hashable

_NAME, _N_STATES = attrgetter("name"), attrgetter("n_states")
_DIGITS = re.compile(r"(\d+)")
_NUMERAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE)


class Variable:
    """A discrete variable: a name and an ordered tuple of distinct states.

    Parameters
    ----------
    name : str
        The name of the variable, not empty.
    states : iterable of hashable
        The labels of the states, in order; at least one. Numpy scalars become plain Python values.
    ordered : bool
        True when the order of the states means something (low < medium < high).
    cuts : sequence of numbers, optional
        If the states are the intervals of a number: the points between them, increasing. A number is then taken as
        the interval that has it. Without them, states that are named as intervals, as ``"<= 2.5"`` and ``"> 2.5"``,
        have the cut points in their names. A state more than the intervals is allowed at the end.

    Attributes
    ----------
    name, states, ordered
        As given; the states as a tuple.
    cuts : tuple of float, or None
        The cut points of a variable whose states are intervals.
    n_states : int
        Number of states.

    Examples
    --------
    >>> rain = Variable("rain", ["no", "yes"])
    >>> rain.n_states, rain.code("yes")
    (2, 1)
    >>> rain
    Variable('rain', ['no', 'yes'])
    >>> age = Variable.of_intervals("age", [17.5, 64.5])
    >>> age.states, age.code(40)
    (('<= 17.5', '(17.5, 64.5]', '> 64.5'), 1)
    """

    __slots__ = ("__dict__", "_given_cuts", "n_states", "name", "ordered", "states")

    name: str
    states: tuple[State, ...]
    ordered: bool
    n_states: int
    _given_cuts: tuple[float, ...] | None

    def __init__(
        self, name: str, states: Iterable[State], ordered: bool = False, cuts: Sequence[float] | None = None
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise DataError(f"a variable needs a name, a string that is not blank; got {name!r}")
        if not isinstance(states, (list, tuple)):
            states = _checking.several(f"variable {name!r}: the states", states, "labels", DataError)
        labels = tuple(plain_states(states))
        if not labels:
            raise DataError(f"variable {name!r} has no states; give at least one")
        seen: set[State] = set()
        plain = {*map(type, labels)} <= NEVER_MISSING and len(set(labels)) == len(labels)
        for label in () if plain else labels:
            if not isinstance(label, Hashable):
                raise DataError(f"variable {name!r}: a state is one label, such as a string; got {label!r}")
            if is_missing(label):
                raise DataError(f"variable {name!r}: {label!r} marks a missing cell and cannot be a state")
            if label in seen:
                raise DataError(f"variable {name!r}: state {label!r} is given twice")
            seen.add(label)
        if ordered is not False:
            ordered = _checking.flag(f"variable {name!r}: ordered", ordered)
        self._fill(name, labels, ordered, None if cuts is None else _checked_cuts(name, cuts, len(labels)))

    def _fill(self, name: str, states: tuple[State, ...], ordered: bool, cuts: tuple[float, ...] | None = None) -> None:
        fill = object.__setattr__
        fill(self, "name", name)
        fill(self, "states", states)
        fill(self, "ordered", ordered)
        fill(self, "n_states", len(states))
        fill(self, "_given_cuts", cuts)

    @classmethod
    def of_intervals(cls, name: str, cuts: Sequence[float]) -> Variable:
        """An ordered variable whose states are the intervals between cut points; they include their upper ends.

        Parameters
        ----------
        name : str
            The name of the variable.
        cuts : sequence of numbers
            The cut points, increasing; without any, the variable has the single state ``"all"``.
        """
        points = _cut_points(name, cuts)
        return cls(name, interval_names(points), ordered=True, cuts=points)

    @cached_property
    def cuts(self) -> tuple[float, ...] | None:
        """The cut points of a variable whose states are intervals: those given, or the numbers in their names."""
        if self._given_cuts is not None:
            return self._given_cuts
        first = self.states[0]
        return cuts_of_names(self.states) if isinstance(first, str) and first.startswith("<= ") else None

    @classmethod
    def _trusted(cls, name: str, states: Iterable[State], ordered: bool = False) -> Variable:
        """A variable whose states are known to be distinct, not missing, and plain Python values."""
        variable = object.__new__(cls)
        variable._fill(name, tuple(states), ordered)
        return variable

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a Variable cannot be changed; make a new one with another {attribute}")

    @cached_property
    def _codes(self) -> dict[State, int]:
        return {state: code for code, state in enumerate(self.states)}

    @cached_property
    def _codes_by_text(self) -> dict[str, int]:
        """Codes by how a state is written; states that are written alike are left out."""
        codes: dict[str, int] = {}
        for code, state in enumerate(self.states):
            for text in _spellings(state):
                codes[text] = -1 if text in codes else code
        return codes

    def find(self, state: State) -> int | None:
        """Code of a state, or None. A label also matches a state of another type that is written the same.

        So ``1``, ``1.0`` and ``"1"`` all find the state ``"1"`` of a network read from a file of text, and ``True``
        finds ``"true"``. A number finds the interval that has it. A missing value is no state, whatever it is written
        like.
        """
        try:
            code = self._codes.get(state)
        except TypeError:  # unhashable
            return None
        if code is not None:
            return code
        if is_missing(state):
            return None
        plain = plain_state(state)
        for text in _spellings(plain):
            code = self._codes_by_text.get(text, -1)
            if code >= 0:
                return code
        if self.cuts is not None and (number := number_in(plain)) is not None:
            return interval_of(number, self.cuts)
        return None

    def code(self, state: State) -> int:
        """Code (position) of a state; an unknown one is an error that lists the known ones."""
        found = self.find(state)
        if found is None:
            raise UnknownNameError(
                f"variable {self.name!r} has no state {state!r}{did_you_mean(state, self.states)}; its states are "
                f"{format_states(self.states)}"
            )
        return found

    def _key(self) -> tuple[object, ...]:
        return self.name, self.states, tuple(map(type, self.states)), self.ordered, self.cuts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variable):
            return NotImplemented
        return self is other or self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.name, self.states))

    def __reduce__(self) -> tuple[object, ...]:
        return Variable, (self.name, self.states, self.ordered, self._given_cuts)

    def __repr__(self) -> str:
        ordered = ", ordered=True" if self.ordered else ""
        return f"Variable({self.name!r}, {format_states(self.states)}{ordered})"


def _checked_cuts(name: str, cuts: Sequence[float], n_states: int) -> tuple[float, ...]:
    points = _cut_points(name, cuts)
    if n_states - len(points) not in (1, 2):
        raise DataError(
            f"variable {name!r}: {len(points)} cut points make {len(points) + 1} intervals, but there are {n_states} "
            "states"
        )
    return points


def _cut_points(name: str, cuts: Sequence[float]) -> tuple[float, ...]:
    return tuple(increasing_numbers(f"variable {name!r}: the cut points", cuts))


def checked_variables(variables: Iterable[Variable], argument: str = "variables") -> tuple[Variable, ...]:
    """Variables as a tuple; anything else is refused."""
    given = tuple(_checking.several(argument, variables, "Variable objects", DataError))
    if not all(isinstance(variable, Variable) for variable in given):
        first = next(variable for variable in given if not isinstance(variable, Variable))
        raise _checking.wrong(f"each of {argument}", "a Variable", first, DataError)
    return given


def names_of(variables: Iterable[Variable]) -> tuple[str, ...]:
    """The names of variables."""
    return tuple(map(_NAME, variables))


def cards_of(variables: Iterable[Variable]) -> tuple[int, ...]:
    """The numbers of states of variables."""
    return tuple(map(_N_STATES, variables))


def format_states(states: Sequence[State], most: int = 12) -> str:
    """A list of states for a message, shortened in the middle when long."""
    if len(states) <= most:
        return "[" + ", ".join(repr(s) for s in states) + "]"
    head = ", ".join(repr(s) for s in states[: most - 2])
    return f"[{head}, ..., {states[-1]!r}] ({len(states)} states)"


def is_missing(value: object) -> bool:
    """True for None, NaN, NaT and pandas' NA."""
    if value is None:
        return True
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    return type(value).__name__ in {"NAType", "NaTType"} or (
        isinstance(value, (np.datetime64, np.timedelta64)) and bool(np.isnat(value))
    )


def state_text(state: State) -> str:
    """How a state is written in text files: whole floats without a point."""
    if isinstance(state, float) and state.is_integer():
        return str(int(state))
    return str(state)


def state_texts(variable: Variable) -> list[str]:
    """The states of a variable as distinct texts: those that would be written alike, as in Python.

    >>> state_texts(Variable("x", [1, "1", 2.0]))
    ['1', "'1'", '2']
    """
    texts = [state_text(state) for state in variable.states]
    several = {text for text, count in Counter(texts).items() if count > 1}
    found = [repr(state) if text in several else text for state, text in zip(variable.states, texts, strict=True)]
    # A text may look like the representation of another state; then the number of the state tells them apart.
    return found if len({*found}) == len(found) else [f"{code}: {text}" for code, text in enumerate(found)]


def _spellings(state: State) -> tuple[str, ...]:
    """The ways in which text files write a state."""
    if isinstance(state, bool):
        return str(state), str(state).lower(), str(state).upper()
    return (state_text(state),)


def natural_order(states: Iterable[State]) -> list[State]:
    """Sort labels as people do: numbers by value, digits inside text by value, numbers before text.

    >>> natural_order(["x10", "x9", "x1"])
    ['x1', 'x9', 'x10']
    >>> natural_order(["10", "9", "-1", "2.5"])
    ['-1', '2.5', '9', '10']
    """
    labels = list(states)
    numbers = [_number(label) for label in labels]
    if all(number is not None for number in numbers):
        pairs = zip(numbers, labels, strict=True)
        return [label for _, label in sorted(pairs, key=lambda pair: (pair[0], str(pair[1])))]
    if len({type(label) for label in labels}) == 1 and not isinstance(labels[0], (str, bytes, frozenset)):
        try:
            return sorted(labels)  # type: ignore[type-var]
        except TypeError:
            pass
    return sorted(labels, key=_natural_key)


def _natural_key(label: State) -> tuple[object, ...]:
    if isinstance(label, (int, float)):
        return (0, label, str(label))
    text = str(label)
    chunks = tuple(_digits(c) if c.isdecimal() else (1, 0, c) for c in _DIGITS.split(text) if c)
    return (1, chunks, text)


def _digits(text: str) -> tuple[int, int, str]:
    """Digits in the order of their value, however many they are."""
    significant = text.lstrip("0")
    return 0, len(significant), significant


def _number(label: State) -> int | float | None:
    if isinstance(label, (int, float)):
        return label
    if isinstance(label, str) and _NUMERAL.fullmatch(label):
        return float(label)
    return None


#: Types of which no value marks a missing cell.
NEVER_MISSING = frozenset({str, int, bool})


def plain_states(states: Sequence[State]) -> list[State]:
    """:func:`plain_state` of each."""
    return list(states) if {*map(type, states)} <= NEVER_MISSING else [plain_state(state) for state in states]


def plain_state(state: State) -> State:
    """A numpy scalar as the plain Python value that it holds."""
    if isinstance(state, np.generic) and not isinstance(state, (np.datetime64, np.timedelta64)):
        return state.item()
    return state

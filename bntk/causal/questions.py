"""What is asked of an effect: the outcome, how variables are set, and what is known; checked once."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.cpt import MAX_TABLE_ENTRIES
from bntk.data.variable import State, Variable, is_missing
from bntk.errors import DataError, TooLargeError, UnknownNameError, did_you_mean
from bntk.graph.dag import DAG

Names = str | Iterable[str]
Setting = dict[str, State]
Floats = NDArray[np.float64]

#: Joint states of the variables that are set, or of those that define strata.
MOST_SETTINGS = 10_000


@dataclass(frozen=True)
class Question:
    """An effect that is asked for.

    Attributes
    ----------
    outcome : tuple of Variable
    settings : tuple of dict
        How the variables are set, once or in several ways.
    versus : dict or None
        The setting that the others are compared with.
    given : dict
        What is observed.
    by : tuple of Variable
        The variables whose joint states are the strata.
    """

    outcome: tuple[Variable, ...]
    settings: tuple[Setting, ...]
    versus: Setting | None
    given: dict[str, State]
    by: tuple[Variable, ...]

    @property
    def set_names(self) -> tuple[str, ...]:
        """The variables that are set."""
        return tuple(self.settings[0])

    @property
    def all_settings(self) -> tuple[Setting, ...]:
        """The settings, and at the end the one that they are compared with."""
        return self.settings if self.versus is None else (*self.settings, self.versus)

    def strata(self) -> list[Setting]:
        """The joint states of the variables in ``by``, the last one fastest; one empty stratum without any."""
        names = [variable.name for variable in self.by]
        return [
            dict(zip(names, states, strict=True))
            for states in itertools.product(*(variable.states for variable in self.by))
        ]


def read_question(
    variables: Mapping[str, Variable],
    y: Names,
    do: Any,
    versus: Any = None,
    given: Mapping[str, Any] | None = None,
    by: Names = (),
) -> Question:
    """The arguments of an effect, with names and states that exist and sets that do not overlap."""
    outcome = [_known(name, variables, "y") for name in _listed("y", y)]
    if not outcome:
        raise DataError("y is empty; give the outcome, a variable or several")
    settings = _settings(variables, do)
    known = read_states(variables, {} if given is None else given, "given")
    groups = [_known(name, variables, "by") for name in _listed("by", by)]
    against = None
    if versus is not None:
        against = read_states(variables, versus, "versus")
        if set(against) != set(settings[0]):
            raise DataError(
                f"versus must set the same variables as do, {sorted(settings[0])}; it sets {sorted(against)}"
            )
        against = {name: against[name] for name in settings[0]}
    roles = {"do": list(settings[0]), "y": _names(outcome), "given": list(known), "by": _names(groups)}
    _refuse_overlap(roles)
    return Question(tuple(outcome), tuple(settings), against, known, tuple(groups))


def _settings(variables: Mapping[str, Variable], do: Any) -> list[Setting]:
    """The settings: one, of a mapping; or all joint states of variables that are named."""
    if isinstance(do, Mapping):
        if not do:
            raise DataError("do is empty; give {variable: state}, or the variables whose states are all to be set")
        return [read_states(variables, do, "do")]
    named = [_known(name, variables, "do") for name in _listed("do", do)]
    if not named:
        raise DataError("do is empty; give {variable: state}, or the variables whose states are all to be set")
    n = int(np.prod([float(variable.n_states) for variable in named]))
    if n > MOST_SETTINGS:
        raise TooLargeError(
            f"do has {n:,} joint states, more than {MOST_SETTINGS:,}: name single ones, {{variable: state}}"
        )
    names = _names(named)
    return [dict(zip(names, states, strict=True)) for states in itertools.product(*(v.states for v in named))]


def read_states(variables: Mapping[str, Variable], given: Any, argument: str) -> Setting:
    """A state for each of some variables; missing values are ignored."""
    found: Setting = {}
    for name, state in _checking.mapping(argument, given, "{variable: state}", DataError).items():
        variable = _known(name, variables, argument)
        if is_missing(state):
            continue
        code = variable.code(state)
        found[name] = variable.states[code]
    return found


def _known(name: Any, variables: Mapping[str, Variable], argument: str) -> Variable:
    if not isinstance(name, str) or name not in variables:
        raise UnknownNameError(
            f"{argument}: there is no variable {name!r}{did_you_mean(name, variables)}; the variables are "
            f"{', '.join(map(repr, list(variables)[:12]))}{', ...' if len(variables) > 12 else ''}"
        )
    return variables[name]


def _listed(argument: str, names: Any) -> list[Any]:
    found = _checking.names(argument, names, "names of variables")
    for name in found:
        if not isinstance(name, str):
            raise _checking.wrong(f"each of {argument}", "the name of a variable", name)
    for name in found:
        if found.count(name) > 1:
            raise DataError(f"{argument} names {name!r} twice")
    return found


def _names(variables: Iterable[Variable]) -> list[str]:
    return [variable.name for variable in variables]


def _refuse_overlap(roles: Mapping[str, Sequence[str]]) -> None:
    why = {
        ("do", "y"): "what is set has no effect on itself to ask for",
        ("do", "given"): "a variable is either set or observed",
        ("do", "by"): "what is set is the same in all rows, and cannot define strata",
    }
    for (one, names), (other, others) in itertools.combinations(roles.items(), 2):
        both = [name for name in names if name in others]
        if both:
            reason = why.get((one, other), "each variable can have one part only")
            raise DataError(f"{both[0]!r} is in {one} and in {other}: {reason}")


def refuse_descendants(dag: DAG, names: Iterable[str], of: Iterable[str], argument: str, why: str) -> None:
    """Refuse names that are effects of what is set."""
    below = set(dag.descendants(list(of)))
    late = [name for name in names if name in below]
    if late:
        raise DataError(f"{argument} names {late[0]!r}, a descendant of {', '.join(map(repr, of))}: {why}")


def numbers_of(outcome: Sequence[Variable], values: Any) -> Floats | None:
    """The numbers that the states of the outcome stand for; None where they are no numbers, and none are given."""
    if len(outcome) > 1:
        if values is not None:
            raise DataError("values are for one outcome; several have joint states, which are no numbers")
        return None
    (variable,) = outcome
    if values is None:
        numeric = all(isinstance(state, (bool, int, float)) for state in variable.states)
        return np.array([float(state) for state in variable.states]) if numeric else None  # type: ignore[arg-type]
    if isinstance(values, Mapping):
        lacking = [state for state in variable.states if state not in values]
        for state in values:
            variable.code(state)
        if lacking:
            raise DataError(f"values lacks the state {lacking[0]!r} of {variable.name!r}; give a number for each state")
        values = [values[state] for state in variable.states]
    found = _checking.numbers("values", values, f"a number for each state of {variable.name!r}", DataError)
    if found.shape != (variable.n_states,) or not np.isfinite(found).all():
        raise DataError(
            f"values must have a finite number for each of the {variable.n_states} states of {variable.name!r}; got "
            f"{_checking.shown(values)}"
        )
    return found


def refuse_large(
    names: Sequence[str], cards: Sequence[int], what: str, way_out: str, limit: int = MAX_TABLE_ENTRIES
) -> None:
    """Refuse a table over many variables before it is made."""
    size = 1
    for card in cards:
        size *= card
    if size > limit:
        raise TooLargeError(
            f"{what} would have {size:,} entries (over {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}); the "
            f"limit is {limit:,}: {way_out}"
        )

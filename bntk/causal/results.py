"""The result of asking for an effect: distributions of the outcome, and how they differ."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bntk.causal.questions import Question, Setting
from bntk.data.variable import State, state_text
from bntk.errors import DataError
from bntk.inference.results import Distribution

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EmptyStratum:
    """Rows that an estimate needs and the data do not have.

    Attributes
    ----------
    states : dict
        The states that no row has together, among them those that are set.
    rows : float
        The weight of the rows that have these states but for those that are set: those to which the estimate does not
        apply.
    done : str
        What was done about it.
    """

    states: dict[str, State]
    rows: float
    done: str

    def __str__(self) -> str:
        where = ", ".join(f"{name}={state!r}" for name, state in self.states.items())
        about = f" ({self.rows:,.6g} rows with these states otherwise)" if self.rows else ""
        return f"no row has {where}{about}: {self.done}"


@dataclass(frozen=True, eq=False)
class Effect:
    """The distribution of an outcome under one or more settings of other variables, in one or more strata.

    Attributes
    ----------
    question : Question
        What was asked for.
    strata : list of dict
        The strata, ``[{}]`` when there is only the whole population.
    p : ndarray of shape (n_strata, n_settings, n_outcomes)
        Probabilities of the states of the outcome; with ``versus``, the last setting is that.
    values : ndarray or None
        The numbers that the states stand for.
    draws : ndarray or None
        The same as ``p`` for each bootstrap sample, on a further first axis.
    level : float
        The probability of the intervals, which are from quantiles of the draws.
    method : str
        How it was found.
    empty : tuple of EmptyStratum
        What the rows lack.
    notes : tuple of str
        What else is to be known.
    """

    question: Question
    strata: list[Setting]
    p: Floats
    values: Floats | None = None
    draws: Floats | None = None
    level: float = 0.95
    method: str = ""
    empty: tuple[EmptyStratum, ...] = ()
    notes: tuple[str, ...] = ()
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    # ---- single numbers --------------------------------------------------------------------------------------

    @property
    def distribution(self) -> Distribution:
        """The distribution of the outcome under the only setting, in the only stratum."""
        where = self._only(also_setting=True)
        shape = [variable.n_states for variable in self.question.outcome]
        return Distribution(self.question.outcome, self.p[where].reshape(shape), self._condition(*where), self.method)

    def __getitem__(self, state: State) -> float:
        """The probability of a state of the outcome under the only setting, in the only stratum."""
        return self.distribution[state]

    @property
    def difference(self) -> dict[Any, float]:
        """By how much the probability of each state is higher than under ``versus``."""
        return self._by_state(self._against(self.p, np.subtract))

    @property
    def ratio(self) -> dict[Any, float]:
        """How many times the probability of each state is that under ``versus``."""
        return self._by_state(self._against(self.p, _divided))

    @property
    def mean(self) -> float:
        """The expected value of the outcome under the only setting, in the only stratum."""
        return float(self._means(self.p)[self._only(also_setting=True)])

    @property
    def average(self) -> float:
        """The average effect: the difference of the expected values of the outcome."""
        return float(self._against(self._means(self.p)[..., None], np.subtract)[self._only(also_setting=True)][0])

    @property
    def average_ratio(self) -> float:
        """The ratio of the expected values of the outcome."""
        return float(self._against(self._means(self.p)[..., None], _divided)[self._only(also_setting=True)][0])

    def interval(self, of: str | State = "average") -> tuple[float, float]:
        """The bootstrap interval of a number.

        Parameters
        ----------
        of : str or state
            ``"average"``, ``"mean"`` or ``"average_ratio"``, or a state of the outcome, for the difference of its
            probability (its probability, without ``versus``).
        """
        if self.draws is None:
            raise DataError("there are no bootstrap samples: effects from rows have intervals when resamples > 0")
        where = self._only(also_setting=True)
        named = of if isinstance(of, str) else None
        if named == "mean":
            numbers = self._means(self.draws)[:, where[0], where[1]]
        elif named in ("average", "average_ratio"):
            compare = np.subtract if named == "average" else _divided
            numbers = self._against(self._means(self.draws)[..., None], compare)[:, where[0], where[1], 0]
        else:
            shown = self.draws if self.question.versus is None else self._against(self.draws, np.subtract)
            numbers = shown[:, where[0], where[1], self._outcomes().index(self._as_key(of))]
        low, high = self._quantiles(numbers)
        return float(low), float(high)

    # ---- tables ----------------------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """One row per stratum, setting and state of the outcome, with probabilities, differences and ratios.

        Where there are bootstrap samples, each number has ``_low`` and ``_high``.
        """
        columns: dict[str, tuple[Floats, Floats | None]] = {"p": self._with_draws(lambda p: p)}
        if self.question.versus is not None:
            columns["difference"] = self._with_draws(lambda p: self._against(p, np.subtract, whole=True))
            columns["ratio"] = self._with_draws(lambda p: self._against(p, _divided, whole=True))
        names = [variable.name for variable in self.question.outcome]
        outcomes = [dict(zip(names, states, strict=True)) for states in self._outcomes()]
        return self._frame(columns, outcomes)

    def means(self) -> pd.DataFrame:
        """One row per stratum and setting, with the expected value of the outcome, and differences and ratios of it."""

        def mean(p: Floats) -> Floats:
            return self._means(p)[..., None]

        columns: dict[str, tuple[Floats, Floats | None]] = {"mean": self._with_draws(mean)}
        if self.question.versus is not None:
            columns["difference"] = self._with_draws(lambda p: self._against(mean(p), np.subtract, whole=True))
            columns["ratio"] = self._with_draws(lambda p: self._against(mean(p), _divided, whole=True))
        return self._frame(columns, [{}])

    def _frame(self, columns: dict[str, tuple[Floats, Floats | None]], outcomes: Sequence[Setting]) -> pd.DataFrame:
        import pandas as pd

        settings = self.question.all_settings
        labels = [{**s, **x, **y} for s, x, y in itertools.product(self.strata, settings, outcomes)]
        names = [*dict.fromkeys(name for label in labels for name in label)]
        frame = pd.DataFrame({name: [label[name] for label in labels] for name in names})
        for name, (values, draws) in columns.items():
            column = f"{name}_" if name in names else name
            frame[column] = values.reshape(-1)
            if draws is not None:
                low, high = self._quantiles(draws)
                frame[f"{column}_low"], frame[f"{column}_high"] = low.reshape(-1), high.reshape(-1)
        return frame

    def _with_draws(self, number: Any) -> tuple[Floats, Floats | None]:
        return number(self.p), None if self.draws is None else number(self.draws)

    # ---- showing ---------------------------------------------------------------------------------------------

    @property
    def heading(self) -> str:
        """What was asked for."""
        question = self.question
        names = ", ".join(variable.name for variable in question.outcome)
        one = len(question.settings) == 1
        setting = _listed(question.settings[0]) if one else ", ".join(question.set_names)
        given = "".join(f", {name}={state!r}" for name, state in question.given.items())
        strata = "".join(f", {variable.name}" for variable in question.by)
        against = "" if question.versus is None else f", versus do({_listed(question.versus)})"
        return f"P({names} | do({setting}){given}{strata}){against}"

    def __repr__(self) -> str:
        lines = [self.heading, self.to_frame().round(4).to_string(index=False)]
        if self.values is not None and self.question.versus is not None:
            lines += ["expected value:", self.means().round(4).to_string(index=False)]
        return "\n".join([*lines, *self._remarks()])

    def _repr_html_(self) -> str:
        parts = [f"<p>{escape(self.heading)}</p>", self.to_frame().round(4).to_html(index=False)]
        if self.values is not None and self.question.versus is not None:
            parts += ["<p>expected value</p>", self.means().round(4).to_html(index=False)]
        return "".join([*parts, *(f"<p>{escape(remark)}</p>" for remark in self._remarks())])

    def _remarks(self) -> list[str]:
        remarks = [self.method] if self.method else []
        if self.draws is not None:
            remarks.append(f"intervals: {self.level:.0%} of {len(self.draws):,} bootstrap samples")
        remarks += [str(lack) for lack in self.empty[:8]]
        if len(self.empty) > 8:
            remarks.append(f"... and {len(self.empty) - 8} more combinations without rows, see .empty")
        return [*remarks, *self.notes]

    # ---- helpers ---------------------------------------------------------------------------------------------

    def _only(self, *, also_setting: bool) -> tuple[int, ...]:
        if len(self.strata) > 1 or (also_setting and len(self.question.settings) > 1):
            raise DataError(
                f"there are {len(self.strata)} strata and {len(self.question.settings)} settings, so that one number "
                "is not enough: see to_frame() and means()"
            )
        return (0, 0) if also_setting else (0,)

    def _outcomes(self) -> list[tuple[State, ...]]:
        return list(itertools.product(*(variable.states for variable in self.question.outcome)))

    def _as_key(self, state: Any) -> tuple[State, ...]:
        if len(self.question.outcome) == 1:
            (variable,) = self.question.outcome
            return (variable.states[variable.code(state)],)
        return tuple(v.states[v.code(s)] for v, s in zip(self.question.outcome, state, strict=True))

    def _by_state(self, numbers: Floats) -> dict[Any, float]:
        row = numbers[self._only(also_setting=True)]
        keys = [states[0] if len(states) == 1 else states for states in self._outcomes()]
        return dict(zip(keys, row.tolist(), strict=True))

    def _means(self, p: Floats) -> Floats:
        if self.values is None:
            names = ", ".join(repr(variable.name) for variable in self.question.outcome)
            cut = [variable for variable in self.question.outcome if variable.cuts is not None]
            how = f', or numeric={{{cut[0].name!r}: "category"}} where rows are read' if cut else ""
            raise DataError(
                f"the states of {names} are no numbers, so that there is no expected value: give "
                f"values={{state: number}}{how}"
            )
        return p @ self.values

    def _against(self, p: Floats, compare: Any, whole: bool = False) -> Floats:
        if self.question.versus is None:
            raise DataError("there is nothing to compare with: ask with versus={variable: state}")
        with np.errstate(divide="ignore", invalid="ignore"):
            compared: Floats = compare(p, p[..., -1:, :])
        return compared if whole else compared[..., :-1, :]

    def _quantiles(self, draws: Floats) -> tuple[Floats, Floats]:
        """The interval of each number from the samples in which it is defined; NaN where there are none."""
        tail = (1 - self.level) / 2
        flat = draws.reshape(len(draws), -1)
        found = np.full((2, flat.shape[1]), np.nan)
        for column, numbers in enumerate(flat.T):
            defined = numbers[~np.isnan(numbers)]
            if defined.size:
                found[:, column] = np.quantile(defined, [tail, 1 - tail], method="closest_observation")
        low, high = found.reshape((2, *draws.shape[1:]))
        return low, high

    def _condition(self, stratum: int, setting: int) -> str:
        states = {**self.question.given, **self.strata[stratum]}
        done = f"do({_listed(self.question.all_settings[setting])})"
        return ", ".join([done, *(f"{name}={state!r}" for name, state in states.items())])


def _listed(states: Setting) -> str:
    return ", ".join(
        f"{name}={state_text(state)!r}" if isinstance(state, str) else f"{name}={state}"
        for name, state in states.items()
    )


def _divided(p: Floats, q: Floats) -> Floats:
    return np.where((p == 0) & (q == 0), np.nan, np.divide(p, q))

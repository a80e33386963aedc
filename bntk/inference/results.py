"""Labelled results of inference: a joint distribution, all marginals, a most probable explanation."""

from __future__ import annotations

import math
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from html import escape
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk.data.variable import State, Variable, checked_variables, format_states, state_text
from bntk.errors import DataError, UnknownNameError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

_BAR = 20  # characters of the bar of a probability of one
_MOST_ROWS = 16  # rows of a table that are printed


class Distribution:
    """A joint distribution of one or several variables, labelled by their states.

    Attributes
    ----------
    variables : tuple of Variable
    values : ndarray, read-only
        One axis per variable, in the order of its states.
    given : str
        The evidence that it is conditioned on, as text; equality ignores it.
    report : str
        How it was computed: ``"exact"``, or the approximation with its convergence or standard error.

    Examples
    --------
    >>> import bntk
    >>> lung = bntk.datasets.asia().query("lung", {"xray": "yes"})
    >>> lung
    P(lung | xray='yes')
    no   0.5113  ##########
    yes  0.4887  ##########
    >>> round(lung["yes"], 4), lung.mode()
    (0.4887, {'lung': 'no'})
    """

    __slots__ = ("given", "report", "values", "variables")

    variables: tuple[Variable, ...]
    values: NDArray[np.float64]
    given: str
    report: str

    def __init__(
        self, variables: Iterable[Variable], values: ArrayLike, given: str = "", report: str = "exact"
    ) -> None:
        try:
            self.variables = tuple(variables)
            expected = tuple([variable.n_states for variable in self.variables])
            self.values = np.array(values, dtype=float)
        except (AttributeError, TypeError, ValueError):
            checked_variables(variables)
            raise _checking.wrong("values", "numbers, one for each joint state", values, DataError) from None
        self.given, self.report = given, report
        if self.values.shape != expected:
            raise DataError(f"{self.heading}: the values have shape {self.values.shape}, expected {expected}")
        self.values.setflags(write=False)

    @staticmethod
    def _trusted(
        variables: tuple[Variable, ...], values: NDArray[np.float64], given: str, report: str = "exact"
    ) -> Distribution:
        """A distribution of values that have the right shape and are read-only."""
        made = object.__new__(Distribution)
        made.variables = variables
        made.values = values
        made.given = given
        made.report = report
        return made

    @staticmethod
    def _builder(
        variables: Sequence[tuple[Variable]], values: NDArray[np.float64], spans: Sequence[slice], given: str
    ) -> Callable[[int], Distribution]:
        """:meth:`_trusted` for the posteriors of many variables, which are parts of one array."""
        new = object.__new__

        def build(v: int) -> Distribution:
            made = new(Distribution)
            made.variables = variables[v]
            made.values = values[spans[v]]
            made.given = given
            made.report = "exact"
            return made

        return build

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables, in the order of the axes."""
        return tuple(variable.name for variable in self.variables)

    # ---- looking up ------------------------------------------------------------------------------------------

    def probability(self, states: Mapping[str, State]) -> float:
        """The probability of a state for each of some variables; the others are summed out.

        Examples
        --------
        >>> import bntk
        >>> both = bntk.datasets.asia().query(["lung", "bronc"])
        >>> round(both.probability({"lung": "yes"}), 6), round(both.p(lung="yes", bronc="yes"), 6)
        (0.055, 0.0315)
        """
        where: list[Any] = [slice(None)] * len(self.variables)
        for name, state in _checking.mapping("states", states, "{variable: state}", DataError).items():
            axis = self._axis(name)
            where[axis] = self.variables[axis].code(state)
        return float(self.values[tuple(where)].sum())

    def p(self, **states: State) -> float:
        """:meth:`probability` with names as keywords: ``d.p(rain="yes")``."""
        return self.probability(states)

    def __getitem__(self, state: State) -> float:
        """The probability of a state of a single variable, or of a tuple with a state for each variable."""
        if len(self.variables) == 1:
            return float(self.values[self.variables[0].code(state)])
        if not isinstance(state, tuple) or len(state) != len(self.variables):
            raise DataError(f"{self.heading} is looked up by a state for each variable, as in d[a, b]; got {state!r}")
        return self.probability(dict(zip(self.names, state, strict=True)))

    __iter__ = None  # looking up by state must not be taken for a sequence

    def mode(self) -> dict[str, State]:
        """The most probable joint state; of equals, the first."""
        where = np.unravel_index(int(np.argmax(self.values)), self.values.shape)
        return {v.name: v.states[int(i)] for v, i in zip(self.variables, where, strict=True)}

    def entropy(self) -> float:
        """The entropy in nats."""
        positive = self.values[self.values > 0]
        return max(0.0, -float(positive @ np.log(positive)))

    def marginal(self, names: str | Sequence[str]) -> Distribution:
        """The distribution of some of the variables, axes in the order given.

        Examples
        --------
        >>> import bntk
        >>> bntk.datasets.asia().query(["lung", "bronc"]).marginal("bronc")
        P(bronc)
        no   0.5500  ###########
        yes  0.4500  #########
        """
        wanted = _checking.names("names", names, "names of variables", DataError)
        axes = [self._axis(name) for name in wanted]
        kept = sorted(set(axes))
        if len(kept) < len(axes):
            raise DataError(f"a variable is named twice in {wanted}")
        if not axes:
            raise DataError("no variable is named; give the name of one, or several")
        table = self.values.sum(axis=tuple(a for a in range(self.values.ndim) if a not in kept))
        table = table.transpose([kept.index(axis) for axis in axes])
        return Distribution([self.variables[axis] for axis in axes], table, self.given, self.report)

    def _axis(self, name: str) -> int:
        if not isinstance(name, str) or name not in self.names:
            raise UnknownNameError(
                f"{self.heading} is not about {name!r}{did_you_mean(name, self.names)}; its variables are "
                f"{format_states(self.names)}"
            )
        return self.names.index(name)

    # ---- views -----------------------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """A tidy data frame: one row per joint state, a categorical column per variable, and ``p``.

        Where a variable is named ``p``, the column of probabilities is ``p_``.
        """
        from bntk.data.columns import tidy_frame

        return tidy_frame(self.variables, self.values)

    def to_series(self) -> pd.Series:
        """The probabilities by state; by a tuple of states (a MultiIndex) when there are several variables."""
        import pandas as pd

        from bntk.data.columns import state_index

        levels = [state_index(variable) for variable in self.variables]
        index = levels[0] if len(levels) == 1 else pd.MultiIndex.from_product(levels, names=self.names)
        return pd.Series(self.values.ravel(), index=index, name="p")

    def to_dict(self) -> dict[Any, float]:
        """The probabilities by state, or by tuple of states when there are several variables.

        Examples
        --------
        >>> import bntk
        >>> {state: round(p, 3) for state, p in bntk.datasets.asia().query("bronc").to_dict().items()}
        {'no': 0.55, 'yes': 0.45}
        """
        rows = zip(self._joint_states(), self.values.ravel().tolist(), strict=True)
        return {states[0] if len(states) == 1 else states: number for states, number in rows}

    def is_close(self, other: Distribution, tolerance: float = 1e-9) -> bool:
        """True when the variables agree and no probability differs by more than ``tolerance``."""
        _checking.instance("other", other, Distribution, error=DataError)
        tolerance = _checking.number("tolerance", tolerance, 0)
        return self.variables == other.variables and bool(
            np.allclose(self.values, other.values, rtol=0, atol=tolerance)
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Distribution):
            return NotImplemented
        return self.variables == other.variables and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    def _joint_states(self) -> Iterator[tuple[State, ...]]:
        for where in np.ndindex(*self.values.shape):
            yield tuple(v.states[i] for v, i in zip(self.variables, where, strict=True))

    @property
    def heading(self) -> str:
        """What the distribution is: ``P(targets | evidence)``."""
        names = ", ".join(self.names)
        return f"P({names} | {self.given})" if self.given else f"P({names})"

    def __repr__(self) -> str:
        rows = [
            [*map(state_text, states), _number(p), "#" * round(_BAR * p)]
            for states, p in zip(self._joint_states(), self.values.ravel()[:_MOST_ROWS].tolist(), strict=False)
        ]
        head = [[*self.names, "", ""]] if len(self.variables) > 1 else []
        return "\n".join([self.heading, *_aligned(head + rows), *_more(self.values.size)])

    def _repr_html_(self) -> str:
        title = f'<caption style="text-align:left">{escape(self.heading)}</caption>'
        names = "".join(f'<th style="text-align:left;padding:1px 0.6em">{escape(name)}</th>' for name in self.names)
        head = f"<thead><tr>{names}<th></th><th></th></tr></thead>" if len(self.variables) > 1 else ""
        rows = zip(self._joint_states(), self.values.ravel()[: 4 * _MOST_ROWS].tolist(), strict=False)
        body = "".join(_html_row(states, p) for states, p in rows)
        width = len(self.variables) + 2
        more = "".join(f"<tr><td colspan={width}>{line}</td></tr>" for line in _more(self.values.size, 4 * _MOST_ROWS))
        return f"<table>{title}{head}<tbody>{body}{more}</tbody></table>"


class Marginals(Mapping[str, Distribution]):
    """The posterior of every unobserved variable, by name, all from one propagation.

    Attributes
    ----------
    log_probability : float
        The log of P(given); with uncertain evidence, of its expected likelihood. NaN for Gibbs sampling.
    engine : str
        ``"exact"``, ``"loopy"``, ``"weighting"`` or ``"gibbs"``.
    report : str
        How they were computed, and the estimated error if it is known.
    settings : dict
        The options of the engine as they were given.
    standard_errors : dict of str to ndarray, or None
        The standard error of each state of each variable, when the engine samples.
    converged : bool or None
        Whether loopy belief propagation has converged; None for other engines.

    Examples
    --------
    >>> import bntk
    >>> posterior = bntk.datasets.asia().marginals({"xray": "yes", "smoke": "no"})
    >>> posterior["tub"]
    P(tub | xray='yes', smoke='no')
    no   0.8520  #################
    yes  0.1480  ###
    >>> len(posterior), round(posterior.log_probability, 4)
    (6, -3.3686)
    """

    def __init__(
        self,
        distributions: Mapping[str, Distribution | int],
        log_probability: float,
        engine: str = "exact",
        report: str = "exact",
        *,
        settings: Mapping[str, Any] | None = None,
        standard_errors: dict[str, NDArray[np.float64]] | None = None,
        converged: bool | None = None,
        build: Callable[[int], Distribution] | None = None,
    ) -> None:
        # A number stands for a distribution that is built from it when it is looked at.
        self._distributions, self._build = {**distributions}, build
        self.log_probability, self.engine, self.report = log_probability, engine, report
        self.settings, self.standard_errors, self.converged = {**(settings or {})}, standard_errors, converged

    def __getitem__(self, name: str) -> Distribution:
        found = self._distributions.get(name) if isinstance(name, str) else None
        if type(found) is int and self._build is not None:
            found = self._distributions[name] = self._build(found)
        if not isinstance(found, Distribution):
            raise UnknownNameError(
                f"there is no marginal of {name!r}: it is observed or unknown{did_you_mean(name, self)}; there are "
                f"{format_states([*self])}"
            )
        return found

    def _built(self) -> dict[str, Distribution]:
        """All of them, which takes less time than one by one."""
        if self._build is not None:
            build, found = self._build, self._distributions
            for name, place in found.items():
                if type(place) is int:
                    found[name] = build(place)
            self._build = None
        return cast("dict[str, Distribution]", self._distributions)

    def values(self) -> ValuesView[Distribution]:
        """All distributions."""
        return self._built().values()

    def items(self) -> ItemsView[str, Distribution]:
        """All names with their distributions."""
        return self._built().items()

    def __getstate__(self) -> dict[str, Any]:
        self._built()
        return self.__dict__

    def __iter__(self) -> Iterator[str]:
        return iter(self._distributions)

    def __len__(self) -> int:
        return len(self._distributions)

    def to_frame(self) -> pd.DataFrame:
        """A tidy data frame with the columns ``variable``, ``state`` and ``p``."""
        import pandas as pd

        rows = [(name, state, p) for name, d in self.items() for state, p in zip(d.variables[0].states, d.values)]
        return pd.DataFrame(rows, columns=["variable", "state", "p"])

    def __repr__(self) -> str:
        def cells(distribution: Distribution) -> str:
            shown = zip(distribution.variables[0].states[:8], distribution.values.tolist(), strict=False)
            text = "  ".join(f"{state_text(state)} {_number(p)}" for state, p in shown)
            return text + ("  ..." if distribution.values.size > 8 else "")

        lines = _aligned([[name, cells(distribution)] for name, distribution in self.items()])
        how = [] if self.engine == "exact" else [self.report]
        return "\n".join([f"{len(self):,} marginals", *lines, *how])

    def _repr_html_(self) -> str:
        tables = "".join(distribution._repr_html_() for distribution in self.values())
        return f'<div style="display:flex;flex-wrap:wrap;gap:0 2em;align-items:flex-start">{tables}</div>'


class Explanation(dict[str, State]):
    """States by variable, and how probable they are together given the evidence.

    Attributes
    ----------
    log_probability, probability : float
        P(these states | given), and its log.

    Examples
    --------
    >>> import bntk
    >>> best = bntk.datasets.sprinkler().mpe({"wet": "yes"})
    >>> best
    {'cloudy': 'yes', 'sprinkler': 'no', 'rain': 'yes'} with probability 0.5007
    >>> best["rain"]
    'yes'
    """

    def __init__(self, states: Mapping[str, State], log_probability: float) -> None:
        super().__init__(states)
        self.log_probability = min(0.0, log_probability)

    @property
    def probability(self) -> float:
        """P(these states | given)."""
        return math.exp(self.log_probability)

    def __reduce__(self) -> tuple[Any, ...]:
        return Explanation, (dict(self), self.log_probability)

    def __repr__(self) -> str:
        return f"{super().__repr__()} with probability {_number(self.probability)}"


def _number(p: float) -> str:
    """Four decimals; more digits where these would all be zero."""
    return f"{p:.1e}" if 0 < p < 5e-5 else f"{p:.4f}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return ["  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def _more(size: int, most: int = _MOST_ROWS) -> list[str]:
    return [f"... {size - most:,} more joint states"] if size > most else []


def _html_row(states: Sequence[State], p: float) -> str:
    """Labels, the number, and a bar in a colour that shows on light and on dark pages; text has the page's own."""
    texts = (escape(state_text(state)) for state in states)
    labels = "".join(f'<td style="text-align:left;padding:1px 0.6em">{text}</td>' for text in texts)
    width = 0.0 if math.isnan(p) else 100 * min(max(p, 0.0), 1.0)
    bar = f'<div style="background:#4a90c4;width:{width:.4g}%;height:0.8em"></div>'
    track = f'<div style="width:9em;background:rgba(128,128,128,0.18)">{bar}</div>'
    return f'<tr>{labels}<td style="text-align:right;padding:1px 0.6em">{_number(p)}</td><td>{track}</td></tr>'

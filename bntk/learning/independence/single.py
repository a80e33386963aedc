"""One test of conditional independence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from bntk import _checking
from bntk._memory import says_what_to_do
from bntk.data.numbers import N_BINS, Reading
from bntk.data.variable import Variable
from bntk.errors import DataError, UnknownNameError, did_you_mean
from bntk.learning.counts import Counter, as_counter
from bntk.learning.independence.tests import IndependenceTest, IndependenceTester, Oracle, Question


@dataclass(frozen=True)
class Independence:
    """The result of a test whether two variables are independent given others.

    Attributes
    ----------
    x, y : str
        The two variables.
    given : tuple of str
        The others.
    test : str
        The test, by name.
    statistic : float
        G2, X2 or the log Bayes factor in favour of dependence; NaN where a function of the user stands for the test.
    df : int or None
        Degrees of freedom; None where the p-value is not that of a chi-squared distribution.
    p_value : float
        The probability of such a statistic, or a larger one, under independence; of ``"bdeu"``, the posterior
        probability of independence when both are equally likely before.
    """

    x: str
    y: str
    given: tuple[str, ...]
    test: str
    statistic: float
    df: int | None
    p_value: float

    def __str__(self) -> str:
        given = f" | {', '.join(self.given)}" if self.given else ""
        parts = [] if math.isnan(self.statistic) else [f"{self._symbol} = {self.statistic:.6g}"]
        parts += [] if self.df is None else [f"df = {self.df}"]
        label = "P(independent)" if self.test == "bdeu" else "p"
        parts.append(f"{label} = {self.p_value:.4g}")
        return f"{self.x} independent of {self.y}{given}? {self.test}: {', '.join(parts)}"

    @property
    def _symbol(self) -> str:
        if self.test == "bdeu":
            return "log Bayes factor"
        return "X2" if "x2" in self.test else "G2"

    __repr__ = __str__


@says_what_to_do("take fewer variables to be given, or join rare states")
def independence(
    data: Any,
    x: str,
    y: str,
    given: str | Iterable[str] = (),
    test: str | IndependenceTest | Oracle = "mi",
    *,
    n_permutations: int = 5000,
    ess: float = 1.0,
    seed: int = 0,
    variables: Sequence[Variable] | None = None,
    weights: ArrayLike | None = None,
    numeric: str | Mapping[str, Any] = "auto",
    n_bins: int = N_BINS,
) -> Independence:
    """Test whether two variables are independent given others.

    Rows that are complete in these variables count. Degrees of freedom are (r_x - 1) (r_y - 1) q, with r the numbers of
    states and q all configurations of the given variables, seen or not; those of the tests with ``-adf`` are summed
    over these configurations, without states that do not occur there, and their statistic is 0 where there are fewer
    than five rows for each cell of the table: both as R's bnlearn has it.

    Parameters
    ----------
    data : Table, data frame, mapping of columns, or Counter
        The rows.
    x, y : str
        The two variables.
    given : str or iterable of str
        The variables given which they may be independent.
    test : str, IndependenceTest or callable
        ``"mi"`` (the likelihood ratio G2, 2 N times the mutual information in nats), ``"x2"`` (Pearson's), ``"mi-adf"``
        and ``"x2-adf"`` (with adjusted degrees of freedom), ``"mi-sh"`` (G2 of shrunk probabilities), ``"mc-mi"``,
        ``"smc-mi"`` and ``"mc-x2"`` (by permutations of y for each configuration of the given variables), or ``"bdeu"``
        (the log Bayes factor as statistic, the posterior probability of independence as p-value). Or a function
        ``(x, y, given) -> p``.
    n_permutations : int
        The number of permutations.
    ess : float
        The equivalent sample size of ``"bdeu"``.
    seed : int
        Of the permutations.
    variables : sequence of Variable, optional
        Variables with all their states, where the data may not show all of them.
    weights : array_like of shape (n_rows,), optional
        One non-negative number per row; not with permutations.
    numeric : str or mapping
        What becomes of columns of numbers; see :func:`bntk.learn`.
    n_bins : int
        The number of intervals.

    Returns
    -------
    Independence
        With ``statistic``, ``df`` and ``p_value``.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(5000, seed=1)
    >>> bntk.independence(rows, "lung", "bronc")
    lung independent of bronc? mi: G2 = 26.9522, df = 1, p = 2.085e-07
    >>> bntk.independence(rows, "lung", "bronc", "smoke").p_value > 0.05
    True
    """
    x, y = _checking.text("x", x, "the name of a variable"), _checking.text("y", y, "the name of a variable")
    others = [_checking.text("each of given", name, "a name") for name in _checking.names("given", given)]
    wanted = (x, y, *others)
    twice = next((name for name in wanted if wanted.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"x, y and given must be different variables; {twice!r} is there more than once")
    if isinstance(test, str):
        test = IndependenceTest(name=test, n_permutations=n_permutations, ess=ess, seed=seed)
    reading = Reading(numeric, n_bins, None)
    in_memory = isinstance(data, Counter)
    if in_memory:
        _refuse_unknown(wanted, data.names)
    counter = as_counter(
        data, variables=variables, weights=weights, only=None if in_memory or variables is not None else sorted(wanted),
        require_rows=True, reading=reading,
    )  # fmt: skip
    _refuse_unknown(wanted, counter.names)
    tester = IndependenceTester(counter, test)
    answers = tester.ask([question(counter, x, y, others)])
    statistic, df, p = (float(values[0]) for values in answers)
    by_chi_squared = isinstance(test, IndependenceTest) and not test.form.permuted and not math.isnan(df)
    name = test.name if isinstance(test, IndependenceTest) else getattr(test, "__name__", "function")
    return Independence(x, y, tuple(others), name, statistic, int(df) if by_chi_squared else None, p)


def question(counter: Counter, x: str, y: str, given: Iterable[str]) -> Question:
    """A question in positions, as a :class:`IndependenceTester` takes it."""
    first, second = sorted(counter._find(name) for name in (x, y))
    return first, second, tuple(sorted(counter._find(name) for name in given))


def _refuse_unknown(wanted: Iterable[str], names: Sequence[str]) -> None:
    for name in wanted:
        if name not in names:
            raise UnknownNameError(
                f"there is no variable {name!r}{did_you_mean(name, names)}; there are {', '.join(names[:20])}"
            )

r"""The expression of an identified effect: sums, products and fractions of probabilities of observed variables.

An expression has free variables, and its value is an array with one axis for each of them. A sum binds the variables
that it runs over: the same name outside of the sum is another thing, which is written without the prime that the
bound one gets, as :math:`x'` in the front-door formula

.. math:: \sum_z P(z \mid x) \sum_{x'} P(y \mid x', z)\, P(x').

Values are found from anything that has the two methods of :class:`Probabilities`. A conditional probability given
something impossible is undefined (NaN). A product with a factor of zero is zero, even if another factor is undefined:
all factors are probabilities, which are bounded, so that zero is the limit from positive distributions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.data.variable import Variable
from bntk.errors import ArgumentError, DataError, TooLargeError, UnknownNameError, did_you_mean
from bntk.inference.results import Distribution
from bntk.network import BayesianNetwork

Names = tuple[str, ...]
#: The largest table that evaluation makes, and how many variables numpy arrays of all supported versions can have.
MOST_ENTRIES = 2**25
_MOST_AXES = 32
#: How bound variables are written: with a prime where the same name means something else outside of the sum.
Written = Mapping[str, str]


@runtime_checkable
class Probabilities(Protocol):
    """What formulas are evaluated on."""

    def variable(self, name: str) -> Variable:
        """The variable of a name."""

    def conditional(self, variables: Names, given: Names) -> NDArray[np.float64]:
        """P(variables | given): an axis per name, in the order ``(*variables, *given)``; NaN where P(given) is zero."""


class Labelled(NamedTuple):
    """An array with a name for each axis."""

    names: Names
    values: NDArray[np.float64]

    def aligned(self, names: Sequence[str]) -> NDArray[np.float64]:
        """The values with the axes in another order; names that are missing get an axis of length one."""
        kept = [name for name in names if name in self.names]
        values = self.values.transpose([self.names.index(name) for name in kept])
        return values.reshape([values.shape[kept.index(name)] if name in kept else 1 for name in names])


# ---- expressions -----------------------------------------------------------------------------------------------


class Expression(ABC):
    """A part of a formula; parts are equal when they are written in the same way."""

    @property
    @abstractmethod
    def free(self) -> frozenset[str]:
        """The variables that the value depends on."""

    @property
    @abstractmethod
    def variables_needed(self) -> frozenset[str]:
        """The variables whose probabilities are needed, with those that are summed over."""

    @abstractmethod
    def evaluate(self, source: Probabilities) -> Labelled:
        """The value for all states of the free variables."""

    @abstractmethod
    def _text(self, written: Written, used: frozenset[str], style: _Style) -> str:
        """How it is written; ``used`` has the names that a sum may not take for its variables."""

    @property
    def text(self) -> str:
        """The expression as plain text."""
        return self._text({}, self.free, _PLAIN)

    @property
    def latex(self) -> str:
        """The expression in LaTeX, for mathematical mode."""
        return self._text({}, self.free, _LATEX)

    def __str__(self) -> str:
        return self.text

    def _repr_latex_(self) -> str:
        return f"${self.latex}$"


@dataclass(frozen=True)
class Probability(Expression):
    """P(variables | given) of observed variables.

    Attributes
    ----------
    variables, given : tuple of str
        The names before and after the bar.

    Examples
    --------
    >>> print(Probability(("y",), ("x", "z")))
    P(y | x, z)
    """

    variables: Names
    given: Names = ()

    @property
    def free(self) -> frozenset[str]:
        """The variables that the value depends on."""
        return frozenset(self.variables) | frozenset(self.given)

    @property
    def variables_needed(self) -> frozenset[str]:
        """The variables whose probabilities are needed."""
        return self.free

    def evaluate(self, source: Probabilities) -> Labelled:
        """The value for all states of the free variables."""
        return Labelled((*self.variables, *self.given), source.conditional(self.variables, self.given))

    def _text(self, written: Written, used: frozenset[str], style: _Style) -> str:
        return style.probability(
            [style.name(written.get(name, name)) for name in self.variables],
            [style.name(written.get(name, name)) for name in self.given],
        )


@dataclass(frozen=True)
class Product(Expression):
    """The product of some factors; of none, one.

    Attributes
    ----------
    factors : tuple of Expression

    Examples
    --------
    >>> print(Product((Probability(("y",), ("x",)), Probability(("x",)))))
    P(y | x) P(x)
    """

    factors: tuple[Expression, ...]

    @cached_property
    def free(self) -> frozenset[str]:
        """The variables that the value depends on."""
        return frozenset().union(*(factor.free for factor in self.factors))

    @property
    def variables_needed(self) -> frozenset[str]:
        """The variables whose probabilities are needed, with those that are summed over."""
        return frozenset().union(*(factor.variables_needed for factor in self.factors))

    def evaluate(self, source: Probabilities) -> Labelled:
        """The value for all states of the free variables."""
        return reduce(_times, (factor.evaluate(source) for factor in self.factors), Labelled((), np.ones(())))

    def _text(self, written: Written, used: frozenset[str], style: _Style) -> str:
        if not self.factors:
            return "1"
        parts = [factor._text(written, used, style) for factor in self.factors]
        # A sum reaches to the end of what is written, so that only the last factor needs no parentheses.
        last = len(parts) - 1
        return style.times.join(
            style.parentheses(part) if isinstance(factor, Sum) and place < last else part
            for place, (part, factor) in enumerate(zip(parts, self.factors))
        )


@dataclass(frozen=True)
class Sum(Expression):
    """The sum of an expression over all states of some variables.

    Attributes
    ----------
    over : tuple of str
        The variables that are summed over.
    body : Expression

    Examples
    --------
    >>> print(Sum(("z",), Product((Probability(("y",), ("x", "z")), Probability(("z",))))))
    sum_{z} P(y | x, z) P(z)
    """

    over: Names
    body: Expression

    @cached_property
    def free(self) -> frozenset[str]:
        """The variables that the value depends on."""
        return self.body.free.difference(self.over)

    @property
    def variables_needed(self) -> frozenset[str]:
        """The variables whose probabilities are needed, with those that are summed over."""
        return self.body.variables_needed

    def evaluate(self, source: Probabilities) -> Labelled:
        """The value for all states of the free variables."""
        factors = self.body.factors if isinstance(self.body, Product) else (self.body,)
        arrays = [factor.evaluate(source) for factor in factors]
        left = list(self.over)
        while left:  # one variable at a time, the one whose factors have the smallest product
            name = min(left, key=lambda name: (_size([a for a in arrays if name in a.names]), left.index(name)))
            left.remove(name)
            touching = [array for array in arrays if name in array.names]
            arrays = [array for array in arrays if name not in array.names]
            if touching:
                arrays.append(_summed(reduce(_times, touching), name))
            else:  # a constant is summed once per state
                arrays.append(Labelled((), np.array(float(source.variable(name).n_states))))
        return reduce(_times, arrays)

    def _text(self, written: Written, used: frozenset[str], style: _Style) -> str:
        renamed = dict(written)
        taken = set(used)
        for name in self.over:
            bound = name
            while bound in taken:
                bound += "'"
            renamed[name] = bound
            taken.add(bound)
        body = self.body._text(renamed, frozenset(taken), style)
        return style.sum([style.name(renamed[name]) for name in self.over], body)


@dataclass(frozen=True)
class Fraction(Expression):
    """One expression divided by another; undefined where the denominator is zero.

    Attributes
    ----------
    numerator, denominator : Expression

    Examples
    --------
    >>> print(Fraction(Probability(("y", "x")), Probability(("x",))))
    [P(y, x)] / [P(x)]
    """

    numerator: Expression
    denominator: Expression

    @cached_property
    def free(self) -> frozenset[str]:
        """The variables that the value depends on."""
        return self.numerator.free | self.denominator.free

    @property
    def variables_needed(self) -> frozenset[str]:
        """The variables whose probabilities are needed, with those that are summed over."""
        return self.numerator.variables_needed | self.denominator.variables_needed

    def evaluate(self, source: Probabilities) -> Labelled:
        """The value for all states of the free variables."""
        above, below = self.numerator.evaluate(source), self.denominator.evaluate(source)
        names = (*above.names, *(name for name in below.names if name not in above.names))
        divisor = below.aligned(names)
        defined = np.where(divisor > 0, divisor, np.nan)
        return Labelled(names, above.aligned(names) / defined)

    def _text(self, written: Written, used: frozenset[str], style: _Style) -> str:
        return style.fraction(self.numerator._text(written, used, style), self.denominator._text(written, used, style))


def _size(arrays: Sequence[Labelled]) -> int:
    """How many entries the product of some arrays has."""
    return math.prod({name: n for array in arrays for name, n in zip(array.names, array.values.shape)}.values())


def _summed(array: Labelled, name: str) -> Labelled:
    left = tuple(other for other in array.names if other != name)
    return Labelled(left, array.values.sum(axis=array.names.index(name)))


def _times(a: Labelled, b: Labelled) -> Labelled:
    names = (*a.names, *(name for name in b.names if name not in a.names))
    size = _size([a, b])
    if size > MOST_ENTRIES or len(names) > _MOST_AXES:
        raise TooLargeError(
            f"the formula needs a table of {len(names)} variables with {size:,} entries ({', '.join(names[:12])}"
            f"{', ...' if len(names) > 12 else ''}); the limit is {MOST_ENTRIES:,} entries and {_MOST_AXES} variables"
        )
    first, second = np.broadcast_arrays(a.aligned(names), b.aligned(names))
    return Labelled(names, np.where((first == 0) | (second == 0), 0.0, first * second))


# ---- writing ---------------------------------------------------------------------------------------------------


class _Style:
    """How the parts of a formula are written: as plain text."""

    times = " "

    def name(self, name: str) -> str:
        return name

    def probability(self, variables: Sequence[str], given: Sequence[str]) -> str:
        return f"P({', '.join(variables)}{' | ' + ', '.join(given) if given else ''})"

    def do(self, names: Sequence[str]) -> str:
        return f"do({', '.join(names)})"

    def parentheses(self, text: str) -> str:
        return f"({text})"

    def sum(self, names: Sequence[str], body: str) -> str:
        return f"sum_{{{', '.join(names)}}} {body}"

    def fraction(self, above: str, below: str) -> str:
        return f"[{above}] / [{below}]"


class _Latex(_Style):
    times = r"\, "

    def name(self, name: str) -> str:
        plain = name.rstrip("'")
        primes = name[len(plain) :]
        letter, digits = plain[:1], plain[1:]
        if letter.isascii() and letter.isalpha() and (not digits or (digits.isascii() and digits.isdigit())):
            return f"{letter}{primes}" + (f"_{{{digits}}}" if digits else "")
        return rf"\mathrm{{{''.join(_LATEX_CHARACTERS.get(c, c) for c in plain)}}}{primes}"

    def probability(self, variables: Sequence[str], given: Sequence[str]) -> str:
        behind = rf" \mid {', '.join(given)}" if given else ""
        return f"P({', '.join(variables)}{behind})"

    def do(self, names: Sequence[str]) -> str:
        return rf"\mathit{{do}}({', '.join(names)})"

    def parentheses(self, text: str) -> str:
        return rf"\left({text}\right)"

    def sum(self, names: Sequence[str], body: str) -> str:
        return rf"\sum_{{{', '.join(names)}}} {body}"

    def fraction(self, above: str, below: str) -> str:
        return rf"\frac{{{above}}}{{{below}}}"


#: Characters that mean something else in mathematical mode; these commands are known to LaTeX, MathJax and KaTeX.
_LATEX_CHARACTERS = {
    "\\": r"\backslash ", "{": r"\{", "}": r"\}", "_": r"\_", "^": r"\hat{\ }", "$": r"\$", "%": r"\%", "&": r"\&",
    "#": r"\#", "~": r"\sim ", " ": r"\ ", "\t": r"\ ", "\n": r"\ ", "-": r"\text{-}", "'": r"{'}", "<": r"\lt ",
    ">": r"\gt ",
}  # fmt: skip
_PLAIN, _LATEX = _Style(), _Latex()


def effect_text(y: Sequence[str], do: Sequence[str], given: Sequence[str] = (), style: _Style = _PLAIN) -> str:
    """How an effect is written: "P(y | do(x), z)"."""
    behind = [style.do([style.name(name) for name in do])] if do else []
    return style.probability([style.name(name) for name in y], [*behind, *(style.name(name) for name in given)])


# ---- the formula of an effect ----------------------------------------------------------------------------------


class Formula:
    """An effect P(y | do(x), given), expressed by probabilities of observed variables; it is true as a condition.

    Attributes
    ----------
    y, do, given : tuple of str
        The effect: targets, variables that are set, and variables that are observed after that.
    expression : Expression
        What the effect equals.
    any_value : tuple of str
        Further variables that the expression depends on as written, though its value is the same for all their
        states, as far as it is defined. Evaluation takes the mean over their states, weighted by their probabilities.

    Examples
    --------
    >>> import bntk
    >>> formula = bntk.DAG.parse("z -> x -> y <- z").identify("y", do="x")
    >>> print(formula)
    P(y | do(x)) = sum_{z} P(z) P(y | z, x)
    >>> formula.latex
    'P(y \\\\mid \\\\mathit{do}(x)) = \\\\sum_{z} P(z)\\\\, P(y \\\\mid z, x)'
    """

    __slots__ = ("any_value", "do", "expression", "given", "y")

    y: Names
    do: Names
    given: Names
    expression: Expression
    any_value: Names

    def __init__(self, y: Names, do: Names, given: Names, expression: Expression) -> None:
        self.y, self.do, self.given, self.expression = tuple(y), tuple(do), tuple(given), expression
        self.any_value = tuple(sorted(expression.free.difference(self.y, self.do, self.given)))

    def __bool__(self) -> bool:
        return True

    @property
    def effect(self) -> str:
        """The effect as text: ``"P(y | do(x))"``."""
        return effect_text(self.y, self.do, self.given)

    @property
    def text(self) -> str:
        """The equation as plain text."""
        return f"{self.effect} = {self._right(_PLAIN)}"

    @property
    def latex(self) -> str:
        """The equation in LaTeX, for mathematical mode."""
        return f"{effect_text(self.y, self.do, self.given, _LATEX)} = {self._right(_LATEX)}"

    def _right(self, style: _Style) -> str:
        # The variables of the effect are taken, whether the expression depends on them or not.
        used = self.expression.free.union(self.y, self.do, self.given)
        return self.expression._text({}, used, style)

    def evaluate(self, source: Any) -> EffectTable:
        """The effect for all states of the variables that are set or given.

        Parameters
        ----------
        source : BayesianNetwork, Distribution or Probabilities
            What the probabilities of the observed variables are taken from: a network that has them (edges of the
            network play no part), their joint distribution, or an object with the methods of :class:`Probabilities`.

        Returns
        -------
        EffectTable
            NaN where the effect is not defined: for states that are impossible together.

        Examples
        --------
        >>> import bntk
        >>> bn = bntk.datasets.sprinkler()
        >>> table = bn.identify("wet", do="sprinkler").evaluate(bn)
        >>> round(table.at({"sprinkler": "yes"})["yes"], 4)
        0.945
        """
        found = self.expression.evaluate(probabilities := as_probabilities(source))
        conditions = (*self.do, *self.given)
        values = found.aligned((*conditions, *self.y, *self.any_value))
        variables = [probabilities.variable(name) for name in (*conditions, *self.y)]
        if self.any_value:
            values = self._mean_over_any_value(values, probabilities)
        values = np.broadcast_to(values, [variable.n_states for variable in variables])
        return EffectTable(self, variables[: len(conditions)], variables[len(conditions) :], values)

    def _mean_over_any_value(self, values: NDArray[np.float64], source: Probabilities) -> NDArray[np.float64]:
        """The mean over the last axes, weighted by P(any_value), of what is defined."""
        weights = source.conditional(self.any_value, ())
        axes = tuple(range(values.ndim - len(self.any_value), values.ndim))
        defined = ~np.isnan(values)
        total = np.where(defined, weights, 0.0).sum(axis=axes)
        weighted = np.where(defined, values, 0.0) * weights
        return weighted.sum(axis=axes) / np.where(total > 0, total, np.nan)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Formula):
            return NotImplemented
        mine, theirs = (self.y, self.do, self.given), (other.y, other.do, other.given)
        return mine == theirs and self.expression == other.expression

    def __hash__(self) -> int:
        return hash((self.y, self.do, self.given, self.expression))

    def __str__(self) -> str:
        if not self.any_value:
            return self.text
        return f"{self.text}, for any value of {', '.join(self.any_value)}"

    def __repr__(self) -> str:
        return f"<Formula: {self}>"

    def _repr_latex_(self) -> str:
        free = ", ".join(map(_LATEX.name, self.any_value))
        return f"${self.latex}" + (rf"\quad\text{{for any }} {free}$" if free else "$")


class EffectTable:
    """P(y | do(x), given) for all states of x and of the given variables.

    Attributes
    ----------
    formula : Formula
    conditions : tuple of Variable
        The variables that are set, then those that are given.
    targets : tuple of Variable
    values : ndarray, read-only
        One axis per condition, then one per target.
    """

    __slots__ = ("conditions", "formula", "targets", "values")

    def __init__(
        self,
        formula: Formula,
        conditions: Iterable[Variable],
        targets: Iterable[Variable],
        values: NDArray[np.float64],
    ) -> None:
        self.formula, self.conditions, self.targets = formula, tuple(conditions), tuple(targets)
        self.values = np.array(values, dtype=float)
        self.values.setflags(write=False)

    def at(self, states: Mapping[str, Any]) -> Distribution:
        """The distribution of the targets for one state of each variable that is set or given.

        Parameters
        ----------
        states : mapping of str to state
            A state for each of these variables.
        """
        names = [variable.name for variable in self.conditions]
        for name in _checking.mapping("states", states, "{variable: state}", DataError):
            if name not in names:
                hint = did_you_mean(name, names)
                raise UnknownNameError(f"{self.formula.effect} is not given {name!r}{hint}; states are set for {names}")
        missing = [name for name in names if name not in states]
        if missing:
            raise DataError(f"{self.formula.effect} needs a state of {', '.join(map(repr, missing))}, too")
        where = tuple(variable.code(states[variable.name]) for variable in self.conditions)
        done, seen = ([f"{n}={states[n]!r}" for n in part] for part in (self.formula.do, self.formula.given))
        given = ", ".join([*([f"do({', '.join(done)})"] if done else []), *seen])
        return Distribution(self.targets, self.values[where], given, f"by the formula {self.formula}")

    def to_frame(self) -> Any:
        """A tidy data frame: one row per joint state of all variables, and ``p``."""
        from bntk.data.columns import tidy_frame

        return tidy_frame((*self.conditions, *self.targets), self.values)

    def __repr__(self) -> str:
        frame = self.to_frame()
        value = frame.columns[-1]
        conditions, targets = ([v.name for v in part] for part in (self.conditions, self.targets))
        if conditions:
            frame = frame.set_index([*conditions, *targets])[value].unstack(targets)
        return f"{self.formula.effect}\n{frame.round(4).to_string()}"


# ---- sources ---------------------------------------------------------------------------------------------------


class JointProbabilities:
    """Probabilities from anything that knows the joint distribution of some variables."""

    def __init__(self, source: BayesianNetwork | Distribution) -> None:
        self._source = source
        self._variables = {variable.name: variable for variable in source.variables}
        self._joints: dict[Names, NDArray[np.float64]] = {}

    def variable(self, name: str) -> Variable:
        """The variable of a name."""
        if name not in self._variables:
            hint = did_you_mean(name, self._variables)
            raise UnknownNameError(
                f"the formula needs {name!r}, which the probabilities do not have{hint}; they are of "
                f"{', '.join(map(repr, self._variables))}"
            )
        return self._variables[name]

    def joint(self, names: Names) -> NDArray[np.float64]:
        """P(names), one axis per name."""
        ordered = tuple(sorted(names))
        if ordered not in self._joints:
            for name in ordered:
                self.variable(name)
            asked = self._source
            answer = asked.query(ordered) if isinstance(asked, BayesianNetwork) else asked.marginal(ordered)
            self._joints[ordered] = np.asarray(answer.values, dtype=float)
        return self._joints[ordered].transpose([ordered.index(name) for name in names])

    def conditional(self, variables: Names, given: Names) -> NDArray[np.float64]:
        """P(variables | given), NaN where P(given) is zero."""
        joint = self.joint((*variables, *given)) if variables or given else np.ones(())
        if not given:
            return joint
        below = joint.sum(axis=tuple(range(len(variables))))
        return joint / np.where(below > 0, below, np.nan)


def as_probabilities(source: Any) -> Probabilities:
    """Anything that formulas can be evaluated on."""
    if isinstance(source, (BayesianNetwork, Distribution)):
        return JointProbabilities(source)
    if isinstance(source, Probabilities):
        return source
    raise _checking.wrong(
        "source", "a BayesianNetwork, a Distribution, or an object with methods variable and conditional", source,
        ArgumentError,
    )  # fmt: skip

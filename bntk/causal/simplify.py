"""Shorter forms of an expression: sums that need not be taken, conditions without influence, fractions that cancel.

The independences that a DAG implies for the observed variables are used, so that the result equals what is given for
every distribution that has them, but not for others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from bntk.causal.formula import Expression, Fraction, Probability, Product, Sum
from bntk.graph.dag import DAG
from bntk.graph.separation import bayes_ball


class Simplifier:
    """Simplifies expressions by the independences of a DAG."""

    def __init__(self, dag: DAG) -> None:
        self._dag, self._place = dag, dag._positions
        self._separated = lru_cache(maxsize=None)(self._found_separated)

    # ---- probabilities --------------------------------------------------------------------------------------------

    def probability(self, variables: Collection[str], given: Iterable[str] = ()) -> Probability:
        """P(variables | given) without the conditions that have no influence; names in the order of the nodes."""
        known = {self._place[name] for name in given}
        _, _, visited = bayes_ball(self._dag, [self._place[name] for name in variables], known)
        return Probability(self.ordered(variables), self._dag._names(visited & known))

    def ordered(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names in the order of the nodes."""
        return tuple(sorted(names, key=self._place.__getitem__))

    def independent(self, a: Iterable[str], b: Iterable[str], given: Iterable[str]) -> bool:
        """Whether the DAG separates two sets of variables."""
        return self._separated(frozenset(a), frozenset(b), frozenset(given))

    def _found_separated(self, a: frozenset[str], b: frozenset[str], given: frozenset[str]) -> bool:
        place = self._place
        _, reached, _ = bayes_ball(self._dag, [place[name] for name in a], {place[name] for name in given})
        return reached.isdisjoint([place[name] for name in b])

    # ---- expressions ----------------------------------------------------------------------------------------------

    def __call__(self, expression: Expression) -> Expression:
        """The expression in its shorter form."""
        if isinstance(expression, Probability):
            return self.probability(expression.variables, expression.given)
        if isinstance(expression, Product):
            return product(self._joined(_factors([self(factor) for factor in expression.factors])))
        if isinstance(expression, Sum):
            return self._sum(expression)
        if isinstance(expression, Fraction):
            return self._fraction(self(expression.numerator), self(expression.denominator))
        return expression

    def _sum(self, expression: Sum) -> Expression:
        over, body = list(expression.over), expression.body
        while isinstance(body, Sum):
            over += body.over
            body = body.body
        parts = body.factors if isinstance(body, Product) else (body,)
        factors = _factors([self(factor) for factor in parts])
        left = []
        for name in reversed(self.ordered(over)):
            shorter = self._summed_out(name, factors)
            if shorter is None:
                left.append(name)
            else:
                factors = shorter
        return product(self._in_groups(left, factors))

    def _in_groups(self, over: Collection[str], factors: list[Expression]) -> list[Expression]:
        """The factors outside of the sum, then one sum for each group of factors that share summed variables."""
        outside = [factor for factor in factors if factor.free.isdisjoint(over)]
        groups: list[tuple[set[str], list[Expression]]] = []
        for factor in factors:
            bound = set(factor.free.intersection(over))
            if not bound:
                continue
            touching = [group for group in groups if group[0] & bound]
            members = [member for group in touching for member in group[1]] + [factor]
            groups = [group for group in groups if group not in touching]
            groups.append((bound.union(*(group[0] for group in touching)), members))
        place = {id(factor): i for i, factor in enumerate(factors)}
        groups = [(bound, sorted(members, key=lambda f: place[id(f)])) for bound, members in groups]
        groups.sort(key=lambda group: place[id(group[1][0])])
        sums: list[Expression] = [Sum(self.ordered(bound), product(self._joined(members))) for bound, members in groups]
        return self._joined(outside) + sums

    def _summed_out(self, name: str, factors: list[Expression]) -> list[Expression] | None:
        """The factors after a sum over one variable, if it can be written without the sum."""
        touching = [factor for factor in factors if name in factor.free]
        if not all(isinstance(factor, Probability) for factor in touching):
            return None
        own = [factor for factor in touching if isinstance(factor, Probability) and name in factor.variables]
        if len(own) != 1:
            return None
        merged: Probability = own[0]
        for other in touching:
            if isinstance(other, Probability) and other is not own[0]:
                found = self._merged(merged, other)
                if found is None:
                    return None
                merged = found
        rest = [variable for variable in merged.variables if variable != name]
        replaced = [self.probability(rest, merged.given)] if rest else []
        place = factors.index(touching[-1])
        before, after = factors[:place], factors[place + 1 :]
        return [f for f in before if f not in touching] + replaced + [f for f in after if f not in touching]

    def _merged(self, first: Probability, second: Probability) -> Probability | None:
        """P(B | C) P(A | D) as P(A, B | C and D without B), where independences allow to condition on all of that."""
        b, c, a, d = set(first.variables), set(first.given), set(second.variables), set(second.given)
        given = (c | d) - b
        if a & (b | c) or not self.independent(b, given - c, c) or not self.independent(a, (given | b) - d, d):
            return None
        return Probability(self.ordered(a | b), self.ordered(given))

    def _joined(self, factors: list[Expression]) -> list[Expression]:
        """The factors, with P(B | C) P(A | B, C) written as P(A, B | C)."""
        for i, first in enumerate(factors):
            for j, second in enumerate(factors):
                both = self._chained(first, second)
                if both is not None:
                    rest = [factor for k, factor in enumerate(factors) if k not in (i, j)]
                    rest.insert(min(i, j), both)
                    return self._joined(rest)
        return factors

    def _chained(self, first: Expression, second: Expression) -> Probability | None:
        if not (isinstance(first, Probability) and isinstance(second, Probability)):
            return None
        if set(second.given) != {*first.variables, *first.given}:
            return None
        return Probability(self.ordered((*first.variables, *second.variables)), first.given)

    def _fraction(self, above: Expression, below: Expression) -> Expression:
        numerator, denominator = _factors([above]), _factors([below])
        for factor in list(denominator):
            if factor in numerator:
                numerator.remove(factor)
                denominator.remove(factor)
        for part in list(denominator):
            for place, whole in enumerate(numerator):
                quotient = self._quotient(whole, part)
                if quotient is not None:
                    numerator[place] = quotient
                    denominator.remove(part)
                    break
        return Fraction(product(numerator), product(denominator)) if denominator else product(numerator)

    def _quotient(self, whole: Expression, part: Expression) -> Probability | None:
        """P(A, B | C) / P(B | C), which is P(A | B, C)."""
        if not (isinstance(whole, Probability) and isinstance(part, Probability)) or whole.given != part.given:
            return None
        rest = set(whole.variables) - set(part.variables)
        if len(rest) + len(part.variables) != len(whole.variables):
            return None
        return self.probability(rest, (*part.variables, *part.given))


def product(factors: Sequence[Expression]) -> Expression:
    """The product; a single factor stays as it is."""
    return factors[0] if len(factors) == 1 else Product(tuple(factors))


def _factors(parts: Iterable[Expression]) -> list[Expression]:
    """The factors of all parts, without products within products."""
    found: list[Expression] = []
    for part in parts:
        if isinstance(part, Product):
            found += _factors(part.factors)
        elif not (isinstance(part, Probability) and not part.variables):
            found.append(part)
    return found

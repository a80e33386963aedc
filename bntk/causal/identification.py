r"""Identification of effects with latent variables: the algorithms ID and IDC of Shpitser and Pearl (2006).

Both work on the latent projection of the DAG. ID finds :math:`P(y \mid do(x))` from the distribution of the observed
variables, or the *hedge* for which there are two models that agree on that distribution and not on the effect. IDC
moves what is observed after the intervention into the intervention, as far as the second rule of do-calculus allows,
and divides by the probability of the rest.

References
----------
I. Shpitser and J. Pearl (2006). Identification of joint interventional distributions in recursive semi-Markovian causal
models. AAAI 21, 1219-1226.

I. Shpitser and J. Pearl (2006). Identification of conditional interventional distributions. UAI 22, 437-444.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from bntk.causal.adjustment import Problem
from bntk.causal.arguments import Names, Sides
from bntk.causal.formula import Expression, Formula, Fraction, Product, Sum, effect_text
from bntk.causal.projection import Projection, mutilated
from bntk.causal.simplify import Simplifier, product
from bntk.graph.dag import DAG
from bntk.graph.separation import bayes_ball

Arc = tuple[str, str]


@dataclass(frozen=True)
class CForest:
    """A C-forest: nodes that form one C-component, of which each has one child at most.

    Attributes
    ----------
    nodes, roots : tuple of str
        Its nodes, and those of them that have no child in it.
    arcs : tuple of (from, to)
        The arcs of the latent projection that are kept, one from every node that is no root.
    confounded : tuple of pairs
        The pairs that have a latent common cause; they connect all nodes.
    """

    nodes: tuple[str, ...]
    roots: tuple[str, ...]
    arcs: tuple[Arc, ...]
    confounded: tuple[Arc, ...]

    def __str__(self) -> str:
        arcs = [f"{a} -> {b}" for a, b in self.arcs] + [f"{a} <-> {b}" for a, b in self.confounded]
        return "; ".join(arcs) or ", ".join(self.nodes)


@dataclass(frozen=True)
class Hedge:
    """Why an effect cannot be identified: two C-forests with the same roots (Shpitser and Pearl 2006); it is false.

    One has variables that are set, the other, which is a part of it, has none; the roots are ancestors of the targets
    without passing what is set. Such a pair exists for an effect of these variables exactly where there are two models
    with the same distribution of the observed variables and with different effects.

    Attributes
    ----------
    y, do, given : tuple of str
        The effect that was asked for.
    outer, inner : CForest
        The two C-forests.
    effect_y, effect_do : tuple of str
        The effect that the hedge is about. With ``given``, some of these are among the targets here, and others among
        the variables that are set, where that makes no difference.

    Examples
    --------
    >>> import bntk
    >>> hedge = bntk.DAG.parse("u -> x -> y <- u").identify("y", do="x", latent="u")
    >>> bool(hedge), hedge.outer.nodes, hedge.inner.nodes, hedge.roots
    (False, ('x', 'y'), ('y',), ('y',))
    >>> print(hedge)
    P(y | do(x)) is not identified: the C-forests {x, y} and {y}, both with the roots {y}, form a hedge
    """

    y: tuple[str, ...]
    do: tuple[str, ...]
    given: tuple[str, ...]
    outer: CForest
    inner: CForest
    effect_y: tuple[str, ...]
    effect_do: tuple[str, ...]

    def __bool__(self) -> bool:
        return False

    @property
    def roots(self) -> tuple[str, ...]:
        """The common roots of the two C-forests."""
        return self.inner.roots

    def __str__(self) -> str:
        asked = effect_text(self.y, self.do, self.given)
        sets = [f"{{{', '.join(names)}}}" for names in (self.outer.nodes, self.inner.nodes, self.roots)]
        effect = effect_text(self.effect_y, self.effect_do)
        about = "" if effect == asked else f" for {effect}"
        return (
            f"{asked} is not identified: the C-forests {sets[0]} and {sets[1]}, both with the roots {sets[2]}, "
            f"form a hedge{about}"
        )

    def __repr__(self) -> str:
        return f"<Hedge: {self}>"


def identify(dag: DAG, y: Names, do: Names, given: Names = (), latent: Names = ()) -> Formula | Hedge:
    """See :meth:`bntk.DAG.identify`."""
    sides = Sides(dag, latent, y=y, do=do, given=given, empty=["given"])
    question = _Question(dag, sides.latent)
    asked = dag._names(sides["y"]), dag._names(sides["do"]), dag._names(sides["given"])
    try:
        expression = question.conditional(set(sides["y"]), set(sides["do"]), set(sides["given"]))
    except _HedgeFound as found:
        outer, inner = (_forest(question.projection, nodes, found.inner) for nodes in (found.outer, found.inner))
        effect_y, effect_do = map(dag._names, found.effect)
        return Hedge(*asked, outer, inner, effect_y, effect_do)
    return Formula(*asked, question.simplify(expression))


class _HedgeFound(Exception):  # noqa: N818
    def __init__(self, outer: set[int], inner: set[int]) -> None:
        self.outer, self.inner = outer, inner
        self.effect: tuple[set[int], set[int]] = set(), set()


def _forest(projection: Projection, nodes: set[int], inner: set[int]) -> CForest:
    """The C-forest on some nodes: each keeps one child, the first in node order, in the inner forest if it is there."""
    names = projection.dag.nodes
    arcs, roots = [], []
    for node in sorted(nodes):
        below = projection.children[node] & (inner if node in inner else nodes)
        if below:
            arcs.append((names[node], names[min(below)]))
        else:
            roots.append(names[node])
    pairs = [(names[a], names[b]) for a in sorted(nodes) for b in sorted(projection.spouses[a] & nodes) if a < b]
    return CForest(projection.dag._names(nodes), tuple(roots), tuple(arcs), tuple(pairs))


# ---- distributions that the algorithm is given -----------------------------------------------------------------


class _Law(ABC):
    """A distribution of some observed variables, known as an expression."""

    nodes: tuple[int, ...]  # in topological order

    @abstractmethod
    def marginal(self, kept: Collection[int]) -> _Law:
        """The distribution of some of the variables."""

    @abstractmethod
    def joint(self) -> Expression:
        """The probability of all variables."""

    @abstractmethod
    def conditional(self, node: int) -> Expression:
        """The probability of a variable given those before it."""


class _Observational(_Law):
    """The distribution of the observed variables themselves; of an ancestral set of them, for conditionals."""

    def __init__(self, question: _Question, nodes: tuple[int, ...]) -> None:
        self.nodes, self._question = nodes, question

    def marginal(self, kept: Collection[int]) -> _Law:
        return _Observational(self._question, tuple(node for node in self.nodes if node in kept))

    def joint(self) -> Expression:
        return self._question.simplify.probability([self._question.name(node) for node in self.nodes])

    def conditional(self, node: int) -> Expression:
        # Of the variables before a node, it depends on its C-component among them, and on the parents of that.
        projection, name = self._question.projection, self._question.name
        district = projection.district(node, set(self.nodes[: self.nodes.index(node) + 1]))
        around = district.union(*(projection.parents[member] for member in district)) - {node}
        return self._question.simplify.probability([name(node)], map(name, around))


class _Factored(_Law):
    """A product with a factor for each variable, its probability given earlier ones, some of them summed out."""

    def __init__(self, question: _Question, factors: dict[int, Expression], nodes: tuple[int, ...]) -> None:
        self.nodes, self._question, self._factors = nodes, question, dict(factors)
        summed = [node for node in factors if node not in nodes]
        for node in reversed(summed):  # the factor of a variable sums to one
            name = question.name(node)
            if not any(name in factor.free for other, factor in self._factors.items() if other != node):
                del self._factors[node]

    def marginal(self, kept: Collection[int]) -> _Law:
        return _Factored(self._question, self._factors, tuple(node for node in self.nodes if node in kept))

    def joint(self) -> Expression:
        summed = [self._question.name(node) for node in self._factors if node not in self.nodes]
        whole = product(list(self._factors.values()))
        return Sum(tuple(summed), whole) if summed else whole

    def conditional(self, node: int) -> Expression:
        if self._factors.keys() == set(self.nodes):
            return self._factors[node]
        before = self.nodes[: self.nodes.index(node)]
        return Fraction(self.marginal((*before, node)).joint(), self.marginal(before).joint())


# ---- the algorithms --------------------------------------------------------------------------------------------


class _Question:
    """ID and IDC on the latent projection of a DAG."""

    def __init__(self, dag: DAG, latent: Collection[int]) -> None:
        self.projection, self.simplify, self.name = Projection(dag, latent), Simplifier(dag), dag.nodes.__getitem__
        self._dag = dag

    def conditional(self, y: set[int], x: set[int], z: set[int]) -> Expression:
        """IDC: P(y | do(x), z)."""
        for node in sorted(z):
            if self._can_be_set(node, y, x, z - {node}):
                return self.conditional(y, x | {node}, z - {node})
        law = _Observational(self, self.projection.observed)
        try:
            joint = self.effect(y | z, x, law)
        except _HedgeFound as found:
            found.effect = (y | z, x)
            raise
        joint = self._shorter(self.simplify(joint), y | z, x)
        return Fraction(joint, Sum(tuple(map(self.name, sorted(y))), joint)) if z else joint

    def _shorter(self, found: Expression, y: set[int], x: set[int]) -> Expression:
        """The expression, or that of the smallest adjustment set if it has fewer variables."""
        problem = Problem(self._dag, frozenset(x), frozenset(y))
        smallest = next(problem.minimal_sets(self.projection.latent).ranked(), None)
        if smallest is None:
            return found
        y_named, x_named, z_named = ([self.name(node) for node in sorted(nodes)] for nodes in (y, x, smallest))
        inside = [self.simplify.probability(z_named), self.simplify.probability(y_named, [*x_named, *z_named])]
        other = self.simplify(Sum(tuple(z_named), Product(tuple(inside)))) if z_named else inside[1]
        return other if len(other.variables_needed) < len(found.variables_needed) else found

    def _can_be_set(self, node: int, y: set[int], x: set[int], others: set[int]) -> bool:
        """The second rule of do-calculus: y and the node are separated without the arcs into x and out of the node."""
        cut = mutilated(self._dag, into=x, out_of={node})
        _, reached, _ = bayes_ball(cut, [node], x | others)
        return reached.isdisjoint(y)

    def effect(self, y: set[int], x: set[int], law: _Law) -> Expression:
        """ID: P(y | do(x)) in the projection on the variables of a law; numbers of lines as published."""
        projection, nodes = self.projection, set(law.nodes)
        if not x:  # line 1
            return law.marginal(y).joint()
        ancestors = projection.ancestors(y, nodes)
        if ancestors != nodes:  # line 2
            return self.effect(y, x & ancestors, law.marginal(ancestors))
        without_effect = nodes - x - projection.ancestors(y, nodes, cut=x)
        if without_effect:  # line 3
            return self.effect(y, x | without_effect, law)
        parts = projection.districts(nodes - x)
        if len(parts) > 1:  # line 4
            factors = [self.effect(part, nodes - part, law) for part in parts]
            return self._sum(nodes - y - x, factors)
        part = parts[0]
        around = projection.district(min(part), nodes)
        if around == nodes:  # line 5
            raise _HedgeFound(nodes, part)
        factored = {node: law.conditional(node) for node in law.nodes if node in around}
        if around == part:  # line 6
            return self._sum(part - y, list(factored.values()))
        inside = _Factored(self, factored, tuple(factored))  # line 7
        return self.effect(y, x & around, inside)

    def _sum(self, over: Iterable[int], factors: list[Expression]) -> Expression:
        names = tuple(map(self.name, sorted(over)))
        return Sum(names, Product(tuple(factors))) if names else Product(tuple(factors))

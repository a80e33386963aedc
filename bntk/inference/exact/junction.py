"""Junction trees over variable positions, and what a pass over one reads and writes.

A pass visits the cliques one after another. At each it multiplies some tables (factors, likelihoods of the evidence,
messages) over all states of the clique and sums the product into others (messages, marginals). Both engines, one
evidence set with strided loops and many rows side by side, are built from these visits.

References
----------
F. V. Jensen, S. L. Lauritzen and K. G. Olesen (1990). Bayesian updating in causal probabilistic networks by local
computations. Computational Statistics Quarterly 4, 269-282.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk.graph.triangulation import best_elimination_order, clique_tree
from bntk.graph.undirected import UndirectedGraph
from bntk.inference.engines import Floats

#: Children of a clique after which a further one hangs on a sibling, even on a larger one. The product of very many
#: messages at one clique would underflow; along a chain they are rescaled one by one.
MOST_CHILDREN = 8

#: What starting an inner loop costs, in multiplications.
SHORT_LOOP = 12

Scope = tuple[int, ...]


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of variable positions, each after its parent, with the running intersection property.

    The variables of a clique are in the order of the loops over it, outermost first; those of a separator in the order
    of its axes in memory. Variables that are ``known`` are observed in every run, and are not in separators.
    """

    cards: tuple[int, ...]
    cliques: tuple[Scope, ...]
    parent: tuple[int, ...]
    separators: tuple[Scope, ...]
    known: frozenset[int] = frozenset()

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each clique."""
        rows: list[list[int]] = [[] for _ in self.cliques]
        for child, parent in enumerate(self.parent):
            if parent >= 0:
                rows[parent].append(child)
        return tuple(map(tuple, rows))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of entries of each clique."""
        return tuple(self.entries(clique) for clique in self.cliques)

    @cached_property
    def cliques_of(self) -> tuple[frozenset[int], ...]:
        """The cliques that contain each variable; none for a variable that the tree does not have."""
        rows: list[set[int]] = [set() for _ in self.cards]
        for number, clique in enumerate(self.cliques):
            for variable in clique:
                rows[variable].add(number)
        return tuple(map(frozenset, rows))

    def entries(self, scope: Iterable[int]) -> int:
        """The number of joint states of some variables."""
        return math.prod(self.cards[variable] for variable in scope)

    def open_sizes(self, known: Container[int]) -> list[int]:
        """The number of entries of each clique when some variables are known; none where all are."""
        open_ones = ([v for v in clique if v not in known] for clique in self.cliques)
        return [self.entries(clique) if clique else 0 for clique in open_ones]

    def with_known(self, scopes: Iterable[Scope], known: frozenset[int]) -> JunctionTree:
        """This tree of the other variables, with known ones added to the cliques so that these have the scopes.

        Observed variables have no loops and take no room, so that it need not matter where they are.
        """
        added: list[set[int]] = [set() for _ in self.cliques]
        for scope in scopes:
            home = self.smallest_clique(tuple(v for v in scope if v not in known))
            added[home].update(v for v in scope if v in known)
        cliques = tuple((*sorted(more), *clique) for more, clique in zip(added, self.cliques, strict=True))
        return replace(self, cliques=cliques, known=known)

    def smallest_clique(self, scope: Scope) -> int:
        """The clique with the fewest entries that contains all of the variables; -1 when there is none."""
        if not scope:
            return 0
        found = frozenset.intersection(*(self.cliques_of[variable] for variable in scope))
        return min(found, key=lambda number: (self.sizes[number], number), default=-1)

    def clique_with(self, variables: Sequence[int]) -> int:
        """As :meth:`smallest_clique`, for variables that must share one."""
        clique = self.smallest_clique(tuple(variables))
        if clique < 0:
            scope = tuple(variables)
            raise ValueError(f"the variables {scope} share no clique; compile with must_share=[{scope}]")
        return clique

    def rooted_at(self, root: int) -> JunctionTree:
        """The same tree with another root, and so with other clique numbers."""
        if root == 0:
            return self
        order, parent_of = [root], {root: -1}
        for number in order:  # grows while it runs
            above = () if self.parent[number] < 0 else (self.parent[number],)
            for other in (*above, *self.children[number]):
                if other not in parent_of:
                    parent_of[other] = number
                    order.append(other)
        place = {number: i for i, number in enumerate(order)}
        parent = tuple(place.get(parent_of[number], -1) for number in order)
        cliques = tuple(self.cliques[number] for number in order)
        return JunctionTree(self.cards, cliques, parent, _separators(cliques, parent, self.cards))


def junction_tree(
    scopes: Iterable[Scope],
    cards: Sequence[int],
    variables: Sequence[int],
    heuristics: Sequence[str] = ("min_fill", "weighted_min_fill", "min_weight"),
    tries: int = 4,
    seed: int = 0,
) -> JunctionTree:
    """A tree over some of the variables in which every scope lies within a clique."""
    scopes = list(scopes)
    place = {variable: i for i, variable in enumerate(variables)}
    neighbors: list[set[int]] = [set() for _ in variables]
    for scope in scopes:
        for variable in scope:
            neighbors[place[variable]].update(place[other] for other in scope if other != variable)
    names = tuple(map(str, range(len(variables))))
    graph = UndirectedGraph._trusted(names, tuple(tuple(sorted(row)) for row in neighbors))
    weights = np.log([cards[variable] for variable in variables])
    found = clique_tree(graph, best_elimination_order(graph, weights, heuristics, tries, seed))
    sets = [tuple(sorted(variables[i] for i in clique)) for clique in found.clique_indices] or [()]
    parent = _rehung(sets, found.parent or (-1,), cards)
    plain = JunctionTree(tuple(cards), tuple(sets), parent, _separators(sets, parent, cards))
    cliques = _loop_orders(plain, scopes)
    return JunctionTree(tuple(cards), cliques, parent, _separators(cliques, parent, cards))


def _separators(cliques: Sequence[Scope], parent: Sequence[int], cards: Sequence[int]) -> tuple[Scope, ...]:
    """What each clique shares with its parent, in the order that the larger of the two has."""
    sizes = [math.prod(cards[variable] for variable in clique) for clique in cliques]
    result: list[Scope] = []
    for number, above in enumerate(parent):
        shared = () if above < 0 else {*cliques[number]} & {*cliques[above]}
        larger = number if sizes[number] > sizes[above] else above
        result.append(tuple(variable for variable in cliques[larger] if variable in shared))
    return tuple(result)


def _loop_orders(tree: JunctionTree, scopes: Iterable[Scope]) -> tuple[Scope, ...]:
    """The variables of each clique, outermost first; axes in memory follow the loops, as large tables need it."""
    tables = [[{*tree.separators[child]} for child in children] for children in tree.children]
    for number, separator in enumerate(tree.separators):
        tables[number].append({*separator})
    for scope in scopes:
        tables[tree.smallest_clique(scope)].append({*scope})
    return tuple(_loop_order(clique, sets, tree.cards) for clique, sets in zip(tree.cliques, tables, strict=True))


def _loop_order(clique: Scope, tables: Sequence[set[int]], cards: Sequence[int]) -> Scope:
    """An order in which few tables are touched in the inner loops, and these are not too short.

    Innermost are variables that occur in the same tables, for they can be run through as if they were one. Then,
    greedily from the inside, comes the variable in the fewest tables that no inner variable has brought there yet; of
    equals the one with most states.
    """
    alike: dict[tuple[bool, ...], list[int]] = {}
    for variable in clique:
        alike.setdefault(tuple(variable in table for table in tables), []).append(variable)

    def cost(kind: tuple[bool, ...]) -> float:
        return sum(kind) + SHORT_LOOP / math.prod(cards[variable] for variable in alike[kind])

    order = sorted(alike[min(alike, key=cost)], key=lambda v: -cards[v]) if alike else []
    left = [variable for variable in clique if variable not in order]
    while left:
        waiting = [table for table in tables if table.isdisjoint(order)]
        key = {v: (sum(v in table for table in waiting), -cards[v]) for v in left}
        order.append(min(left, key=key.__getitem__))
        left.remove(order[-1])
    return tuple(reversed(order))


def _rehung(cliques: Sequence[Scope], parent: Sequence[int], cards: Sequence[int]) -> tuple[int, ...]:
    """Parents such that a message goes to a small clique: a child may as well hang on a sibling with its separator.

    That saves the large parent a factor in every one of its entries, and long stars become chains.
    """
    sizes = [math.prod(cards[variable] for variable in clique) for clique in cliques]
    n_children = [0] * len(cliques)
    below: list[dict[frozenset[int], int]] = [{} for _ in cliques]  # per parent: the latest child by its separator
    result = []
    for child, above in enumerate(parent):
        if above < 0:
            result.append(-1)
            continue
        separator = frozenset(cliques[child]) & frozenset(cliques[above])
        hosts = [host for shared, host in below[above].items() if separator <= shared]
        best = min(hosts, key=lambda host: (n_children[host] >= MOST_CHILDREN, sizes[host], -host), default=above)
        crowded = n_children[above] >= MOST_CHILDREN > n_children[best]
        chosen = best if sizes[best] <= sizes[above] or crowded else above
        n_children[chosen] += 1
        below[above][separator] = child
        result.append(chosen)
    return tuple(result)


# ---- visits ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Use:
    """A table that a visit reads or writes: where it begins, its axes, and the variable whose evidence it holds.

    Messages up, messages down and outputs are numbered as ``slot``; other tables have -1.
    """

    offset: int
    scope: Scope
    evidence_of: int = -1
    slot: int = -1


@dataclass(frozen=True)
class Visit:
    """One clique of a pass: the product of the tables read is summed into the tables written."""

    clique: int
    reads: tuple[Use, ...]
    writes: tuple[Use, ...]

    @property
    def uses(self) -> tuple[Use, ...]:
        """All tables, those read first."""
        return self.reads + self.writes


@dataclass(frozen=True)
class Output:
    """A table that a pass has to write: its axes, and the clique that it is summed from."""

    scope: Scope
    clique: int


class MessageLayout:
    """Where each table of a tree begins in one buffer: likelihood vectors, messages up and down, outputs.

    ``begin`` leaves room for other tables in front. The message up from the root has the scope ``root_scope``.
    ``slots`` are the scopes of the messages up, the messages down and the outputs.
    """

    def __init__(
        self, tree: JunctionTree, begin: int = 0, root_scope: Scope = (), outputs: Sequence[Output] = ()
    ) -> None:
        self.tree, self.size, self.outputs = tree, begin, outputs
        separators, n = (root_scope, *tree.separators[1:]), len(tree.cliques)
        self.slots = (*separators, *separators, *(output.scope for output in outputs))
        self.vector = self._place([(variable,) for variable in range(len(tree.cards))])
        self._begins = self._place(self.slots)
        self.up, self.down, self.out = self._begins[:n], self._begins[n : 2 * n], self._begins[2 * n :]
        present = [v for v, cliques in enumerate(tree.cliques_of) if cliques]
        self._at_home = [[present[i] for i in row] for row in homes(tree, [(v,) for v in present])]

    def _place(self, scopes: Iterable[Scope]) -> list[int]:
        places = []
        for scope in scopes:
            places.append(self.size)
            self.size += self.tree.entries(scope)
        return places

    def collect(self, fixed: Sequence[Sequence[Use]]) -> list[Visit]:
        """The visits of the pass towards the root, by clique; ``fixed`` are the factors at each."""
        return [Visit(k, self._reads(k, fixed), (self._slot(k),)) for k in range(len(self.tree.cliques))]

    def distribute(self, fixed: Sequence[Sequence[Use]]) -> list[Visit]:
        """The visits of the pass from the root outwards; a clique without anything to write has an empty visit.

        What is written for a child is the belief over its separator; divided by the message up it is the one down.
        """
        n = len(self.tree.cliques)
        writes = [[self._slot(n + child) for child in children] for children in self.tree.children]
        for slot, output in enumerate(self.outputs, start=2 * n):
            writes[output.clique].append(self._slot(slot))
        above = [(), *((self._slot(n + k),) for k in range(1, n))]
        return [Visit(k, (*self._reads(k, fixed), *above[k]), tuple(writes[k])) for k in range(n)]

    def clique_of(self, slot: int) -> int:
        """The clique whose message or output a slot is; -1 for a message of the root, and for no slot."""
        n = len(self.tree.cliques)
        if slot >= 2 * n:
            return self.outputs[slot - 2 * n].clique
        return slot % n or -1 if slot >= 0 else -1

    def _reads(self, number: int, fixed: Sequence[Sequence[Use]]) -> tuple[Use, ...]:
        """The factors at a clique, the variables whose evidence enters there, the messages from its children."""
        vectors = [Use(self.vector[variable], (variable,), variable) for variable in self._at_home[number]]
        return (*fixed[number], *vectors, *map(self._slot, self.tree.children[number]))

    def _slot(self, slot: int) -> Use:
        return Use(self._begins[slot], self.slots[slot], slot=slot)


def homes(tree: JunctionTree, scopes: Iterable[Scope]) -> list[list[int]]:
    """For each clique, which of the scopes it is the smallest clique for."""
    rows: list[list[int]] = [[] for _ in tree.cliques]
    for position, scope in enumerate(scopes):
        rows[tree.smallest_clique(scope)].append(position)
    return rows


def clique_products(
    tree: JunctionTree, orders: Iterable[Scope], factors: Sequence[tuple[Scope, Floats]]
) -> list[Floats]:
    """The product of the factors at each clique, with axes in the orders given."""
    products = []
    for clique, members in zip(orders, homes(tree, [scope for scope, _ in factors]), strict=True):
        product = np.ones([tree.cards[v] for v in clique])
        for member in members:
            product *= expanded(factors[member][1], factors[member][0], clique)
        products.append(product)
    return products


def expanded(values: NDArray[Any], scope: Scope, larger: Scope) -> NDArray[Any]:
    """A table over some of the variables with the axes of a larger scope, of length one where it has none."""
    order = sorted(range(len(scope)), key=lambda a: larger.index(scope[a]))
    shape = [values.shape[scope.index(v)] if v in scope else 1 for v in larger]
    return values.transpose(order).reshape(shape)

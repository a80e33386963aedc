"""All posteriors of a small network: which products and sums there are, planned once whatever the findings."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bntk.inference.engines import Floats
from bntk.inference.exact.posterior_kernels import MOST_TABLES

#: A table or product: where it begins, its variables, the first to be summed over innermost, and whether a product.
Held = tuple[int, tuple[int, ...], int]


class PosteriorProgram:
    """The flat program that :func:`bntk.inference.exact.posterior_kernels.run_posteriors` runs.

    Parameters
    ----------
    cards : sequence of int
        The number of states of each variable.
    families : sequence of (members, table)
        The variables of each table, one for each axis.
    order : sequence of int
        The variables with several states as they are summed out.
    places : sequence of int
        Where the posterior of each variable begins, and where the last one ends.

    Attributes
    ----------
    arguments : tuple
        The first arguments of the kernel.
    floor : float
        A bound from below on products that are not zero.
    """

    def __init__(
        self,
        cards: Sequence[int],
        families: Sequence[tuple[Sequence[int], Floats]],
        order: Sequence[int],
        places: Sequence[int],
    ) -> None:
        self._cards, self._places = cards, places
        self._rank = {v: k for k, v in enumerate(order)}
        self._numbers: list[int] = []
        self._heads: list[int] = []
        roots: list[int] = []
        flat, buckets = self._read(families, len(order))
        self._end = sum(table.size for table in flat)
        for k, v in enumerate(order):
            held = buckets[k]
            while len(held) > MOST_TABLES:
                held = [*held[MOST_TABLES:], self._product(held[:MOST_TABLES], -1)]
            found = self._product(held, v)
            if found[1]:
                buckets[self._turn(found[1])].append(found)
            else:
                roots.append(found[0])
        tables = np.concatenate([np.empty(0), *flat])
        as_ints = (np.array(row, dtype=np.int64) for row in (self._numbers, self._heads, roots))
        numbers, heads, ends = as_ints
        self.arguments = (numbers, heads, tables, self._end, ends, np.array(places, dtype=np.int64))
        lows = [float(table.min(initial=1.0, where=table > 0)) for table in flat]
        self.floor = math.prod(lows)

    def _turn(self, axes: Sequence[int]) -> int:
        """When the first of some variables is summed out."""
        return min(self._rank[v] for v in axes)

    def _sorted(self, variables: set[int]) -> tuple[int, ...]:
        return tuple(sorted(variables, key=lambda v: -self._rank[v]))

    def _read(
        self, families: Sequence[tuple[Sequence[int], Floats]], n_steps: int
    ) -> tuple[list[Floats], list[list[Held]]]:
        """The tables of the network, their axes in order, and those of each step."""
        buckets: list[list[Held]] = [[] for _ in range(n_steps)]
        flat: list[Floats] = []
        end = 0
        for members, table in families:
            open_ones = [v for v in members if v in self._rank]
            if not open_ones:
                continue
            axes = self._sorted({*open_ones})
            values = table.reshape([self._cards[v] for v in open_ones])
            flat.append(values.transpose([open_ones.index(v) for v in axes]).ravel())
            buckets[self._turn(axes)].append((end, axes, 0))
            end += table.size
        return flat, buckets

    def _product(self, held: Sequence[Held], summed: int) -> Held:
        """Add a product to the program; -1 for one that is not summed over a variable."""
        axes = self._sorted({v for _, own, _ in held for v in own} - {summed})
        rows = [[self._steps(own).get(v, 0) for _, own, _ in held] for v in axes]
        lengths: list[int] = []
        steps: list[list[int]] = []
        for v, row in zip(axes, rows, strict=True):
            card = self._cards[v]
            if steps and steps[-1] == [step * card for step in row]:  # the next axis of all tables, or of none
                lengths[-1] *= card
                steps[-1] = row
            else:
                lengths.append(card)
                steps.append(row)
        size = math.prod(self._cards[v] for v in axes)
        states = 1 if summed < 0 else self._cards[summed]
        place = 0 if summed < 0 else self._places[summed]
        self._heads.append(len(self._numbers))
        self._numbers += [len(held), len(lengths), summed, states, place, self._end, size]
        self._numbers += [begin for begin, _, _ in held]
        self._numbers += [is_product for _, _, is_product in held]
        self._numbers += [*lengths, *(step for row in steps for step in row)]
        self._end += size
        return self._end - size, axes, 1

    def _steps(self, axes: Sequence[int]) -> dict[int, int]:
        """How far apart neighbouring states of each variable are in a table."""
        found, step = {}, 1
        for v in reversed(axes):
            found[v] = step
            step *= self._cards[v]
        return found

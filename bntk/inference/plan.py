"""The cost of exact inference, before anything is allocated for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bntk.inference.exact.junction import JunctionTree, Scope


@dataclass(frozen=True)
class Plan:
    """The cost of a query, and the engine that runs it.

    Attributes
    ----------
    n_variables, n_cliques : int
        The number of variables and of cliques in the junction tree.
    total_entries, largest_entries : int
        Entries of all cliques together, and of the largest.
    largest_clique : tuple of str
        The variables of the largest clique.
    separator_entries : int
        Entries of all separators; a message in each direction is stored.
    memory : int
        Bytes of the buffer that one run needs, with copies of the tables of one clique; cliques themselves are
        not stored.
    operations : int
        Multiplications and additions for all marginals, at most: entries times tables, in both passes.
    open_entries, largest_open : int
        Entries of all cliques together, and of the largest, that are left to run through given the evidence.
    engine, reason : str
        The engine for one evidence set, and why. Exact: ``"numpy"`` or ``"strided"`` (compiled loops) on a junction
        tree, or ``"elimination"``, which sums out variable by variable: then a clique is what one step multiplies, and
        a separator what it leaves. Where numbers are too small for products, logarithms on a junction tree take over.
        ``"loopy"`` when exact inference is over the limit: it is refused, and ``engine="auto"`` takes loopy belief
        propagation.
    rows : str
        The engine for tables of rows.
    """

    n_variables: int
    n_cliques: int
    total_entries: int
    largest_entries: int
    largest_clique: tuple[str, ...]
    separator_entries: int
    memory: int
    operations: int
    open_entries: int
    largest_open: int
    engine: str = "strided"
    reason: str = ""
    rows: str = ""

    def __str__(self) -> str:
        names = ", ".join(self.largest_clique[:8]) + (", ..." if len(self.largest_clique) > 8 else "")
        return (
            f"{self.n_variables:,} variables in {self.n_cliques:,} cliques with {self.total_entries:,} entries\n"
            f"  largest clique: {self.largest_entries:,} entries ({names})\n"
            f"  memory: {_bytes(self.memory)} for messages over {self.separator_entries:,} separator entries\n"
            f"  operations: at most {self.operations:,} for all marginals"
        ) + "".join(f"\n  {line}" for line in self._more())

    def _more(self) -> Iterator[str]:
        if self.open_entries != self.total_entries:
            yield f"with the evidence: {self.open_entries:,} entries, the largest clique {self.largest_open:,}"
        if self.reason:
            how = "approximate" if self.engine == "loopy" else "exact"
            yield f"engine: {self.engine} ({how}): {self.reason}"
        if self.rows:
            yield f"whole tables: {self.rows}"

    __repr__ = __str__


def plan_of(tree: JunctionTree, scopes: Iterable[Scope], names: Sequence[str] | None) -> Plan:
    """The plan of a tree that factors with the given scopes are run on."""
    largest = max(range(len(tree.cliques)), key=lambda number: tree.sizes[number])
    separators = [tree.entries(separator) for separator in tree.separators]
    tables = [2 * len(children) + 2 for children in tree.children]
    for scope in scopes:
        tables[tree.smallest_clique(scope)] += 1
    around = [separators[k] + 2 * sum(separators[c] for c in children) for k, children in enumerate(tree.children)]
    for scope in scopes:
        around[tree.smallest_clique(scope)] += tree.entries(scope)
    factor_entries = sum(tree.entries(scope) for scope in scopes)
    return Plan(
        n_variables=sum(map(bool, tree.cliques_of)),
        n_cliques=len(tree.cliques),
        total_entries=sum(tree.sizes),
        largest_entries=tree.sizes[largest],
        largest_clique=tuple(str(v) if names is None else names[v] for v in sorted(tree.cliques[largest])),
        separator_entries=sum(separators),
        memory=8 * (2 * sum(separators) + factor_entries + 2 * sum(tree.cards) + 2 * max(around)),
        operations=2 * sum(size * n for size, n in zip(tree.sizes, tables, strict=True)),
        open_entries=sum(tree.sizes),
        largest_open=tree.sizes[largest],
    )


def _bytes(number: int) -> str:
    power = min(max(number.bit_length() - 1, 0) // 10, 4)
    return f"{number / 1024**power:,.{min(power, 1)}f} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"

"""Random tables for the tests of counting, and brute force to hold against it."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from bntk import Table, Variable

CARDS = (1, 2, 3, 4, 17)


def make_table(seed: int, cards, n_rows: int, missing: float = 0.0, skew: float = 1.0) -> Table:
    """A random table; each variable but the last has missing cells with some chance when ``missing`` is positive."""
    rng = np.random.default_rng(seed)
    columns = []
    for card in cards:
        column = rng.choice(card, n_rows, p=rng.dirichlet(np.full(card, skew)))
        if missing and rng.random() < 0.6:
            column = np.where(rng.random(n_rows) < missing, card, column)
        columns.append(column)
    codes = np.array(columns, dtype=np.int64).reshape(len(cards), n_rows)
    return Table.from_codes(codes, [Variable(f"v{k}", range(card)) for k, card in enumerate(cards)])


def count_slowly(table: Table, family, weights=None) -> np.ndarray:
    """Contingency table by adding row after row."""
    cards = [table.variables[v].n_states for v in family]
    counts = np.zeros(cards, dtype=np.int64 if weights is None else np.float64)
    for row in range(table.n_rows):
        cell = tuple(int(table.codes[v, row]) for v in family)
        if all(code < card for code, card in zip(cell, cards, strict=True)):
            counts[cell] += 1 if weights is None else weights[row]
    return counts


@st.composite
def tables(draw, max_variables: int = 5, max_rows: int = 60, cards=CARDS) -> Table:
    """Small tables with missing cells and odd cardinalities; no rows and no missing cells are among them."""
    chosen = draw(st.lists(st.sampled_from(cards), min_size=1, max_size=max_variables))
    n_rows = draw(st.integers(0, max_rows))
    missing = draw(st.sampled_from([0.0, 0.2, 1.0]))
    return make_table(draw(st.integers(0, 2**32 - 1)), chosen, n_rows, missing)

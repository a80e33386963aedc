"""Every limit at its value and one above: the one works, the other is refused with the figure."""

from __future__ import annotations

import numpy as np
import pytest

import bntk
from bntk import Table, Variable
from bntk.cpt import check_table_size, search_limit
from bntk.data.coding import MOST_FLOATS, MOST_STATES
from bntk.errors import DataError, TooLargeError
from bntk.learning.counts import TableCounter


def _labels(n):
    return [f"s{i}" for i in range(n)]


@pytest.mark.parametrize("read", ["columns", "csv"])
def test_states_of_a_column(read, tmp_path):
    for n, fits in ((MOST_STATES, True), (MOST_STATES + 1, False)):
        if read == "csv":
            (tmp_path / "x.csv").write_text("\n".join(["a", *_labels(n)]))

        def call(n=n):
            return bntk.read_table(tmp_path / "x.csv") if read == "csv" else Table.from_columns({"a": _labels(n)})

        if fits:
            assert call().cards.tolist() == [n]
        else:
            with pytest.raises(DataError, match=f"'a' holds more than {MOST_STATES:,} distinct values"):
                call()


def test_floats_of_a_column():
    assert Table.from_columns({"a": np.arange(MOST_FLOATS) + 0.5}).cards.tolist() == [MOST_FLOATS]
    with pytest.raises(DataError, match=f"{MOST_FLOATS + 1:,} distinct floats"):
        Table.from_columns({"a": np.arange(MOST_FLOATS + 1) + 0.5})


def test_entries_of_a_table():
    child, parent = Variable("a", _labels(4)), Variable("b", _labels(5))
    check_table_size(child, [parent], 20)
    with pytest.raises(TooLargeError, match="20 entries"):
        check_table_size(child, [parent], 19)


def test_entries_of_counts():
    counter = TableCounter(Table.from_columns({"a": [0, 1, 2], "b": [0, 1, 1], "c": ["x", "y", "z"]}))
    assert counter.tables([["a", "b"], ["c"]], max_entries=9)[0].size == 6
    with pytest.raises(TooLargeError, match="max_entries"):
        counter.tables([["a", "b"], ["c"]], max_entries=8)
    assert counter.pairs("c", max_entries=18).counts.size == 18
    with pytest.raises(TooLargeError, match="max_entries"):
        TableCounter(counter.table).pairs("c", max_entries=17)


def test_entries_of_cliques():
    network = bntk.datasets.random_network(12, treewidth=4, seed=3)
    entries = network.plan().total_entries
    assert network.marginals(max_entries=entries)["x1"].values.sum() == pytest.approx(1)
    with pytest.raises(TooLargeError, match=f"more than the {entries - 1:,} clique entries"):
        network.marginals(max_entries=entries - 1)


def test_tables_that_a_search_may_choose(monkeypatch):
    """At the limit the table of both parents is found, below it the search does with fewer."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, (2, 2000))
    rows = {"a": a, "b": b, "c": (a + b) % 3}
    assert search_limit(3) >= 27
    for limit, n_parents in ((27, 2), (26, 1)):
        monkeypatch.setattr("bntk.learning.learn.search_limit", lambda n, limit=limit: limit)
        found = bntk.learn(rows, search="exact").dag
        assert max(len(found.parents(name)) for name in rows) <= n_parents
        assert (max(len(found.parents(name)) for name in rows) == 2) == (limit == 27)

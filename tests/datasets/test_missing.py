from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bntk
from bntk.datasets import with_missing
from bntk.errors import DataError, UnknownNameError

N = 40_000


@pytest.fixture(scope="module")
def rows() -> bntk.Table:
    a, b = bntk.Variable("a", ["low", "mid", "high"], ordered=True), bntk.Variable("b", ["n", "y"])
    c = bntk.Variable("c", ["p", "q"])
    network = bntk.BayesianNetwork.from_cpts(
        [
            bntk.CPT(a, [0.5, 0.3, 0.2]),
            bntk.CPT(b, [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]], [a]),
            bntk.CPT(c, [[0.7, 0.3], [0.2, 0.8]], [b]),
        ]
    )
    return network.sample(N, seed=11)


def gone(table: bntk.Table, name: str) -> np.ndarray:
    return table.column(name) == table.variable(name).n_states


def assert_near(found: float, expected: float, n: float) -> None:
    assert abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / n)


def log_odds(p: float) -> float:
    return np.log(p / (1 - p))


def test_completely_at_random_does_not_depend_on_any_value(rows: bntk.Table) -> None:
    table = with_missing(rows, 0.3, seed=1)
    for name in rows.names:
        for other in rows.variables:
            for code in range(other.n_states):
                chosen = rows.column(other.name) == code
                assert_near(gone(table, name)[chosen].mean(), 0.3, chosen.sum())
    for one, two in (("a", "b"), ("b", "c")):  # nor on what else is missing
        assert_near((gone(table, one) & gone(table, two)).mean(), 0.09, N)


def test_at_random_depends_on_the_named_column_and_on_nothing_else(rows: bntk.Table) -> None:
    table = with_missing(rows, 0.3, "mar", given="a", seed=1)
    assert not gone(table, "a").any()
    rates = []
    for code in range(3):
        chosen = rows.column("a") == code
        rates.append(gone(table, "b")[chosen].mean())
        for name in ("b", "c"):
            for own in range(2):
                cells = chosen & (rows.column(name) == own)
                assert_near(gone(table, name)[cells].mean(), rates[-1], cells.sum() / 2)
    assert rates[0] < rates[1] < rates[2]
    assert_near(gone(table, "b").mean(), 0.3, N)


@pytest.mark.parametrize(("mechanism", "given"), [("mar", "a"), ("mnar", None)])
@pytest.mark.parametrize("strength", [-1.0, 0.5, 2.0])
def test_the_log_odds_of_removal_rise_by_the_strength(rows: bntk.Table, mechanism, given, strength: float) -> None:
    target = "b" if given else "a"
    table = with_missing(rows, 0.25, mechanism, given=given, columns=[target], strength=strength, seed=3)
    codes = rows.column("a").astype(float)
    z = (np.arange(3) - codes.mean()) / codes.std()
    rates = [gone(table, target)[codes == code].mean() for code in range(3)]
    for low, high in ((0, 1), (1, 2)):
        assert log_odds(rates[high]) - log_odds(rates[low]) == pytest.approx(strength * (z[high] - z[low]), abs=0.3)
    assert_near(gone(table, target).mean(), 0.25, N)


def test_not_at_random_depends_on_the_cell_itself(rows: bntk.Table) -> None:
    table = with_missing(rows, 0.3, "mnar", seed=2)
    for name in rows.names:
        low, high = (gone(table, name)[rows.column(name) == code].mean() for code in (0, 1))
        assert high > low + 0.05
        assert_near(gone(table, name).mean(), 0.3, N)
        within = rows.column("a") == 1  # given the cell, other columns say nothing
        if name == "b":
            cells = within & (rows.column("b") == 1)
            assert_near(gone(table, "b")[cells].mean(), high, cells.sum() / 2)


@given(
    st.floats(0, 1),
    st.sampled_from(["mcar", "mar", "mnar"]),
    st.integers(0, 2**32 - 1),
    st.sets(st.sampled_from(["a", "b", "c"])),
)
def test_only_chosen_cells_go_and_the_others_stay_as_they_were(share, mechanism, seed, columns) -> None:
    table = bntk.datasets.random_network(list("abc"), n_states=3, seed=1).sample(50, seed=2)
    options = {"given": "a" if mechanism == "mar" else None, "columns": columns, "seed": seed}
    holed = with_missing(table, share, mechanism, **options)
    assert holed.variables == table.variables
    for name in table.names:
        kept = ~gone(holed, name)
        np.testing.assert_array_equal(holed.column(name)[kept], table.column(name)[kept])
        if name not in columns or name == options["given"]:
            assert kept.all()
        elif share in (0, 1):
            assert kept.all() == (share == 0)
            assert kept.any() == (share == 0)
    assert holed == with_missing(table, share, mechanism, **options)


@pytest.mark.parametrize(("mechanism", "given"), [("mcar", None), ("mar", "a"), ("mnar", None)])
def test_a_frame_loses_the_cells_that_its_table_loses(rows: bntk.Table, mechanism, given) -> None:
    frame = rows.take(slice(500)).to_pandas()
    table = with_missing(bntk.Table.from_frame(frame), 0.4, mechanism, given=given, seed=6)
    holed = with_missing(frame, 0.4, mechanism, given=given, seed=6)
    assert bntk.Table.from_frame(holed, variables=table.variables) == table
    assert not frame.isna().any(axis=None)


def test_a_table_remembers_what_its_columns_were_made_of() -> None:
    table = bntk.Table.from_columns({"flag": [True, False] * 50, "count": [1, 2] * 50})
    dtypes = with_missing(table, 0.5, columns=["count"]).to_pandas().dtypes
    assert [str(dtype) for dtype in dtypes] == ["bool", "Int64"]


def test_cells_that_are_missing_stay_so_and_do_not_count(rows: bntk.Table) -> None:
    once = with_missing(rows, 0.5, columns=["a"], seed=1)
    twice = with_missing(once, 0.3, "mnar", columns=["a"], seed=2)
    before, after = gone(once, "a"), gone(twice, "a")
    assert (after | ~before).all()
    assert_near(after[~before].mean(), 0.3, (~before).sum())


@pytest.mark.parametrize("dtype", ["float64", "Float64", "Int64"])
def test_columns_of_numbers_go_by_their_rank(dtype: str) -> None:
    values = pd.Series(np.random.default_rng(0).lognormal(8, 2, size=5000).round()).astype(dtype)
    frame = pd.DataFrame({"x": values.mask(np.arange(5000) % 7 == 0), "n": np.arange(5000)})
    holed = with_missing(frame, 0.3, "mnar", columns=["x"], strength=2)
    missing = holed["x"].isna()[frame["x"].notna()]
    ranks = frame["x"].dropna().rank(method="dense")
    z = (ranks - ranks.mean()) / ranks.std()
    assert_near(missing.mean(), 0.3, len(missing))
    top, bottom = missing[z > 1], missing[z < -1]
    assert log_odds(top.mean()) - log_odds(bottom.mean()) == pytest.approx(
        2 * (z[z > 1].mean() - z[z < -1].mean()), rel=0.25
    )
    assert holed["n"].equals(frame["n"])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"share": 1.5}, ValueError, "share must be a number from 0 to 1, not 1.5"),
        ({"mechanism": "nmar"}, ValueError, "mechanism must be 'mcar', 'mar' or 'mnar', not 'nmar'"),
        ({"mechanism": "mar"}, DataError, "give the column that removal depends on"),
        ({"given": "a"}, DataError, "for mechanism='mar' and no other"),
        ({"mechanism": "mar", "given": "z"}, UnknownNameError, "the data has no column 'z'"),
        ({"columns": ["a", "z"]}, UnknownNameError, "the data has no column 'z'"),
        ({"mechanism": "mar", "given": "b"}, DataError, "given='b' has missing values itself"),
    ],
)
def test_what_cannot_be_removed_is_refused_with_the_reason(rows: bntk.Table, options, error, message) -> None:
    table = with_missing(rows.take(slice(50)), 0.5, columns=["b"])
    with pytest.raises(error, match=message):
        with_missing(table, **{"share": 0.1, **options})

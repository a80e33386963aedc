"""Tests by bit planes: the same as without, set by set in the same order, whatever the number of threads."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from cases import every
from scipy import stats

import bntk
from bntk._kernels import compiling_all
from bntk.learning.counts import TableCounter, as_counter
from bntk.learning.independence import IndependenceTest, IndependenceTester, kernels, plane_kernels
from bntk.learning.independence.separating import Pairs, Separating, upper_tail
from bntk.learning.search import by_tests, pools


def some_rows(seed: int) -> bntk.Table:
    """Variables of 1 to 5 states, in every third case with missing cells, of rows that do and do not fill words."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 64, 100, 700, 40_000] if seed % 10 == 0 else [1, 64, 100, 700]))
    cards = rng.integers(1, 6, 6)
    codes = np.array([rng.integers(card, size=n) for card in cards], dtype=np.uint8)
    codes[1] = np.where(rng.random(n) < 0.7, codes[0] % cards[1], codes[1])
    variables = [bntk.Variable(f"x{k}", [f"s{i}" for i in range(card)]) for k, card in enumerate(cards)]
    table = bntk.Table.from_codes(codes, variables)
    return bntk.datasets.with_missing(table, 0.1, seed=seed) if seed % 3 == 0 else table


class Unplaned(TableCounter):
    """A counter without bit planes."""

    planes = None


@pytest.mark.parametrize("seed", every(20, range(200)))
@pytest.mark.parametrize("name", ["mi", "x2", "mi-adf", "x2-adf"])
def test_planes_give_the_same_bits_as_tables(seed, name):
    rows = some_rows(seed)
    questions = [
        (x, y, given)
        for x, y in combinations(range(6), 2)
        for size in range(4)
        for given in combinations([v for v in range(6) if v not in (x, y)], size)
    ]
    by_planes, by_tables = (IndependenceTester(kind(rows), name) for kind in (TableCounter, Unplaned))
    with compiling_all():
        found = by_planes.ask(questions)
    np.testing.assert_array_equal(np.array(found), np.array(by_tables.ask(questions)))


@pytest.mark.parametrize("seed", every(20, range(200)))
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.999, 1.0])
def test_the_first_set_that_separates_is_found(seed, alpha):
    """Those of the first pool by size, beside them those of the second that are not parts of the first."""
    rng = np.random.default_rng(seed)
    rows = some_rows(seed)
    counter = as_counter(rows)
    ends = np.array(list(combinations(range(6), 2)))
    members, lengths = np.zeros((len(ends), 2, 4), dtype=np.int64), rng.integers(0, 5, (len(ends), 2))
    for p, (x, y) in enumerate(ends):
        members[p] = [rng.permutation([v for v in range(6) if v not in (x, y)]) for _ in range(2)]
    least = rng.integers(0, 3, len(ends))
    pairs = Pairs(ends[:, 0], ends[:, 1], members, lengths, least, least + rng.integers(0, 3, len(ends)))
    quick = Separating(counter.planes, counter.n_rows, pairs, kernels.G2, -1.0)
    p_values = quick.run(alpha, lambda done: None)
    assert not quick.too_large.any()
    tester = IndependenceTester(Unplaned(rows))
    for p, (x, y) in enumerate(ends.tolist()):
        sets = [tuple(sorted(given)) for given in pairs.sets(p)]
        known = tester.p_values([(x, y, given) for given in sets]).tolist()
        first = next((k for k, value in enumerate(known) if value > alpha), None)
        if first is None:
            assert np.isnan(p_values[p])
            assert quick.tested[p] >= len(sets)
        else:
            assert (quick.given(p), p_values[p]) == (sets[first], known[first])


def test_sets_of_two_pools():
    size = np.array([1]), np.array([2])
    pairs = Pairs(np.array([0]), np.array([1]), np.array([[[4, 2, 0], [2, 3, 4]]]), np.array([[2, 3]]), *size)
    assert list(pairs.sets(0)) == [(4,), (2,), (3,), (4, 2), (2, 3), (3, 4)]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.filterwarnings("ignore::bntk.errors.StructureWarning")
def test_the_number_of_threads_does_not_matter(threads):
    rows = bntk.datasets.random_network(30, n_arcs=50, max_parents=3, seed=1).sample(20_000, seed=0)
    expected = bntk.learn_structure(rows, search="pc")
    bntk.set_threads(threads)
    try:
        found = bntk.learn_structure(rows, search="pc")
    finally:
        bntk.set_threads(None)
    assert (found.pdag, found.separating_sets, found.n_evaluated) == (
        expected.pdag, expected.separating_sets, expected.n_evaluated
    )  # fmt: skip


@pytest.mark.parametrize("df", [1, 2, 3, 10, 101, 4000, 10**6])
def test_the_tail_of_kernels_is_that_of_chi_squared(df):
    """As far as it is needed to decide: p-values nearer to alpha are computed by scipy."""
    levels = np.array([1 - 1e-9, 0.999, 0.5, 0.05, 1e-3, 1e-12, 1e-100])
    statistics = stats.chi2.isf(levels, df)
    found = [plane_kernels.upper_tail.py_func(float(s), float(df)) for s in statistics]
    np.testing.assert_allclose(found, upper_tail(statistics, np.full(len(levels), float(df))), rtol=1e-7)


@pytest.mark.parametrize("seed", every(20, range(200)))
def test_pools_of_many_pairs_are_those_of_one(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    joined = np.triu(rng.random((n, n)) < 0.7, 1)
    adjacent = [set(np.flatnonzero(row).tolist()) for row in joined | joined.T]
    affinity = rng.choice([0.0, 1.5, -2.0, np.inf, 3.0], (n, n))
    affinity = np.maximum(affinity, affinity.T)
    ends = [tuple(pair) for pair in np.argwhere(joined).tolist()]
    parts = list(pools.pairs_between(adjacent, affinity, ends, 1)) if ends else []
    at = 0
    for part in parts:
        for p in range(len(part)):
            x, y = ends[at]
            shared = np.minimum(affinity[x], affinity[y])
            wanted = by_tests.smaller_first(adjacent[x] - {y}, adjacent[y] - {x}, shared)
            ranked = [sorted(pool, key=lambda v: (-shared[v], v)) for pool in wanted]
            assert [part.pools[p, k, : part.lengths[p, k]].tolist() for k in range(2)] == ranked
            at += 1
    assert at == len(ends)


def test_with_no_fewest_rows_every_table_is_tested():
    """Degrees of freedom and statistic are sums over the strata, without states that do not occur there."""
    rows = bntk.datasets.asia().sample(300, seed=3)
    for x, y, given in [("dysp", "bronc", ["either", "smoke"]), ("xray", "lung", ["either"]), ("smoke", "bronc", [])]:
        found = bntk.independence(rows, x, y, given, IndependenceTest(name="mi-adf", fewest_rows=0))
        statistic = df = 0.0
        frame = rows.to_pandas().astype(str)
        for _, part in frame.groupby(given) if given else [((), frame)]:
            table = part.groupby([x, y]).size().unstack(fill_value=0).to_numpy()
            if min(table.shape) > 1:
                g2, _, own, _ = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
                statistic, df = statistic + g2, df + own
        assert found.statistic == pytest.approx(statistic, rel=1e-9, abs=1e-9)
        assert found.df == df
        assert found.p_value == pytest.approx(stats.chi2.sf(statistic, df) if df else 1.0)

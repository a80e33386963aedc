"""No larger set of parents is worth more than the bound says."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from counts.samples import make_table
from hypothesis import given, settings
from hypothesis import strategies as st

from bntk import Table, Variable
from bntk.learning.counts import TableCounter
from bntk.learning.scores import AIC, BIC, FNML, HGC, K2, QNML, SB, BDeu, BDs, LogLikelihood

ALL = [
    LogLikelihood(), BIC(), BIC("average"), AIC(), BDeu(0.1), BDeu(50), BDs(2), K2(), HGC(0.1), HGC(5), SB(2), FNML(),
    QNML(),
]  # fmt: skip


def subsets(items):
    return chain.from_iterable(combinations(items, k) for k in range(len(items) + 1))


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    cards=st.lists(st.integers(1, 4), min_size=2, max_size=5),
    n_rows=st.integers(0, 60),
    missing=st.sampled_from([0.0, 0.0, 0.3]),
    weighted=st.booleans(),
    with_arc_weights=st.booleans(),
    rule=st.sampled_from(ALL),
)
def test_bounds_hold_for_every_superset(seed, cards, n_rows, missing, weighted, with_arc_weights, rule):
    rng = np.random.default_rng(seed)
    table = make_table(seed, cards, n_rows, missing, skew=0.7)
    counter = TableCounter(table, rng.random(n_rows) * 3 if weighted else None)
    arc_weights = rng.normal(size=(len(cards),) * 2) if with_arc_weights else None
    evaluator = rule.evaluator(counter, arc_weights=arc_weights)
    families = list(subsets(range(1, len(cards))))
    local = dict(zip(families, evaluator.locals([(0, f) for f in families])))
    for family, bound in zip(families, evaluator.bounds([(0, f) for f in families])):
        assert bound == evaluator.bound(0, family)
        assert bound >= max(local[f] for f in families if set(f) >= set(family))


@pytest.mark.parametrize("rule", [AIC(), BIC(), K2(), BDeu(1), FNML(), QNML()], ids=repr)
def test_bounds_prune_something(rule):
    """No three parents can explain a nearly constant variable better than none, whatever else is added to them."""
    codes = np.random.default_rng(0).integers(0, 4, (5, 60))
    codes[0] = np.arange(60) % 20 == 0
    evaluator = rule.evaluator(TableCounter(Table.from_codes(codes, [Variable(f"v{k}", range(4)) for k in range(5)])))
    assert all(evaluator.bound(0, three) < evaluator.local(0, ()) for three in combinations(range(1, 5), 3))


WITHOUT_MISSING = [BDeu(1), BDs(1), K2(), HGC(0.1), FNML(), QNML()]


@pytest.mark.parametrize("rule", WITHOUT_MISSING, ids=repr)
def test_bounds_allow_for_parents_that_leave_one_complete_row(rule):
    codes = np.array([np.arange(100) % 2, np.full(100, 2)])
    codes[1, 0] = 0
    evaluator = rule.evaluator(TableCounter(Table.from_codes(codes, [Variable(name, ["a", "b"]) for name in "xy"])))
    assert evaluator.local(0, [1]) == pytest.approx(-np.log(2))
    assert evaluator.bound(0, ()) >= evaluator.local(0, [1])


@pytest.mark.parametrize("rule", WITHOUT_MISSING, ids=repr)
def test_bounds_allow_for_rows_of_little_weight(rule):
    table = make_table(0, [2, 4, 4], 100)
    evaluator = rule.evaluator(TableCounter(table, np.full(100, 0.01)))
    for parents in subsets([1, 2]):
        assert evaluator.bound(0, ()) >= evaluator.local(0, parents)

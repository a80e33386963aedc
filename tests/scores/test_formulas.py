"""Each score equals its formula, written out with loops; parameters, names and explanations."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import inf, lgamma, log, nan

import numpy as np
import pytest
from counts.samples import make_table
from hypothesis import given
from hypothesis import strategies as st

import bntk
from bntk.errors import DataError
from bntk.learning import scores
from bntk.learning.counts import TableCounter
from bntk.learning.scores import AIC, BIC, FNML, HGC, K2, QNML, SB, BDeu, BDs, LogLikelihood, kernels

ALL = [LogLikelihood(), AIC(), BIC(), BDeu(3), BDs(3), K2(), HGC(0.5), SB(1.5), FNML(), QNML()]


def families():
    """Tables of counts with one row a parent configuration."""
    return st.integers(1, 4).flatmap(
        lambda r: st.lists(st.lists(st.integers(0, 40), min_size=r, max_size=r), min_size=1, max_size=6)
    )


def dirichlet(counts, alpha):
    total = 0.0
    for row in counts:
        total += lgamma(alpha * len(row)) - lgamma(alpha * len(row) + sum(row))
        for count in row:
            total += lgamma(alpha + count) - lgamma(alpha)
    return total


def likelihood(counts, shift=0.0):
    total = 0.0
    for row in counts:
        for count in row:
            if count + shift > 0:
                total += (count + shift) * log((count + shift) / (sum(row) + len(row) * shift))
    return total


def size(counts):
    return len(counts), len(counts[0]), sum(map(sum, counts))


@given(families(), st.floats(0.05, 20))
def test_hgc_is_equation_3_of_mach_and_mraz(counts, alpha):
    assert HGC(alpha).family(counts) == pytest.approx(dirichlet(counts, alpha), rel=1e-9, abs=1e-9)


@given(families(), st.floats(1, 20))
def test_sb_is_equation_8_of_mach_and_mraz(counts, alpha):
    q, r, n = size(counts)
    expected = likelihood(counts, alpha - 1) - 0.5 * (r - 1) * q * log(max(n, 1))
    assert SB(alpha).family(counts) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(families(), st.floats(0.01, 100))
def test_other_scores_are_their_formulas(counts, ess):
    q, r, n = size(counts)
    seen = sum(sum(row) > 0 for row in counts)
    ll = likelihood(counts)
    expected = {
        LogLikelihood(): ll,
        AIC(): ll - (r - 1) * q,
        BIC(): ll - 0.5 * (r - 1) * q * log(max(n, 1)),
        K2(): dirichlet(counts, 1),
        BDeu(ess): dirichlet(counts, ess / (q * r)),
        BDs(ess): dirichlet(counts, ess / (max(1, seen) * r)),
        FNML(): ll - sum(_regret(float(sum(row)), float(r)) for row in counts),
        QNML(): ll - _regret(float(n), float(q * r)) + _regret(float(n), float(q)),
    }
    for rule, value in expected.items():
        assert rule.family(counts) == pytest.approx(value, rel=1e-9, abs=1e-9), rule


@pytest.mark.parametrize("rule", ALL, ids=repr)
@given(counts=families())
def test_configurations_that_were_not_seen_may_be_left_out(rule, counts):
    seen = [row for row in counts if sum(row)] or counts[:1]
    n = float(sum(map(sum, counts)))
    whole = rule.family(counts, n=n)
    assert rule.family(seen, q=len(counts), n=n) == pytest.approx(whole, rel=1e-12, abs=1e-9)
    assert rule.family(np.array(counts, dtype=float)) == pytest.approx(whole, rel=1e-12, abs=1e-9)


def test_average_likelihood_scales_to_all_rows():
    counts = [[3, 1], [2, 2]]
    ll = likelihood(counts)
    assert LogLikelihood("average").family(counts, n=20) == pytest.approx(20 * ll / 8)
    assert AIC("average").family(counts, n=20) == pytest.approx(20 * ll / 8 - 2)
    assert BIC("average").family(counts, n=20) == pytest.approx(20 * ll / 8 - log(20))
    assert BIC("average").family([[0, 0]], n=20) == pytest.approx(-20 * log(2) - 0.5 * log(20))


# ---------------------------------------------------------------- the normalising sum of NML


def exact_regret(n: int, cells: int) -> float:
    """log C(n, K) by the recurrence from the sum for two cells, with fifty digits."""
    with localcontext() as context:
        context.prec = 50
        ratio, total = Decimal(1), Decimal(0)
        for k in range(n + 1):
            total += ratio
            ratio *= Decimal(n - k) / n
        last, current = Decimal(1), total
        for k in range(1, cells - 1):
            last, current = current, current + Decimal(n) / k * last
        return float(current.ln())


def _regret(n: float, cells: float) -> float:
    return float(kernels.log_regrets(n, np.array([cells]))[0])


@pytest.mark.parametrize("n", [1, 2, 7, 100, 999, 1000, 5000])
@pytest.mark.parametrize("cells", [2, 3, 12, 1000, 1001, 3000])
def test_regret_is_exact(n, cells):
    assert _regret(float(n), float(cells)) == pytest.approx(exact_regret(n, cells), rel=2e-13)


def test_binary_regret_is_the_sum_of_the_maximum_likelihoods():
    n = 9
    total = sum(
        np.exp(lgamma(n + 1) - lgamma(h + 1) - lgamma(n - h + 1)) * (h / n) ** h * ((n - h) / n) ** (n - h)
        for h in range(n + 1)
    )
    assert _regret(9.0, 2.0) == pytest.approx(log(total), rel=1e-13)


@pytest.mark.parametrize("n", [1.0, 30.0, 4000.0])
def test_regret_of_very_many_cells_is_that_of_distinct_rows(n):
    """C(n, K) / K^n tends to n! ... / n^n: all rows in cells of their own, each with likelihood n^-n."""
    assert _regret(n, 1e40) == pytest.approx(n * log(1e40) - n * log(n), rel=1e-12)


# ---------------------------------------------------------------- parameters, names, explanations


@pytest.mark.parametrize("make", [BDeu, BDs, HGC])
@pytest.mark.parametrize("value", [0, -1, nan, inf])
def test_priors_must_be_positive(make, value):
    with pytest.raises(ValueError, match="must be a positive number"):
        make(value)


def test_sb_says_why_alpha_below_one_will_not_do():
    with pytest.raises(ValueError, match="no mode"):
        SB(0.5)
    counts = [[3, 0], [0, 2]]
    assert SB(1.0).family(counts) == pytest.approx(BIC().family(counts))
    assert SB(1.0).equivalent
    assert not SB(2.0).equivalent


def test_unknown_treatment_of_missing_cells_is_refused():
    with pytest.raises(ValueError, match="'available' or 'average'"):
        BIC(missing="drop")


def test_counts_of_a_wrong_shape_are_refused():
    with pytest.raises(ValueError, match="shape"):
        BIC().family(np.zeros((2, 2, 2)))


def test_names_are_found_in_any_case_and_the_error_lists_the_choices():
    assert scores.by_name("BIC") == BIC()
    assert scores.by_name("ll") == scores.by_name("LogLik") == LogLikelihood()
    assert {scores.by_name(rule.name).name for rule in ALL} == {rule.name for rule in ALL}
    own = BDeu(7)
    assert scores.by_name(own) is own
    for wrong in ("bdue", 3):
        with pytest.raises(ValueError, match="accuracy, aic, bdeu, bdeu_per_class, bds, bic"):
            scores.by_name(wrong)


def test_explanation_adds_up_and_reads_well():
    table = make_table(1, [2, 3, 4], 50)
    for rule in ALL:
        terms = rule.explain(table, "v2", ["v0", "v1"])
        (compact,) = TableCounter(table).compact([(0, 1, 2)])
        assert terms.fit - terms.penalty == terms.total == pytest.approx(rule.family(compact.counts))
        assert (terms.n_parameters, terms.configurations, terms.rows_used) == (18, 6, 50)
        assert repr(rule) in repr(terms)
    assert "v2 given v0" in repr(scores.explain("bic", table, "v2", "v0"))
    with pytest.raises(TypeError, match="sums over families"):
        scores.explain(Constant(), table, "v2")


class Constant(scores.Score):
    name = "constant"

    def evaluator(self, counter, dag=None, *, arc_weights=None):
        return ConstantEvaluator()


class ConstantEvaluator(scores.Evaluator):
    names = parents = n_evaluated = gains = apply = reset = None

    def total(self):
        return 42.0


def test_scores_that_do_not_decompose_have_a_total_only():
    data = {"a": [0, 1], "b": [1, 1]}
    assert scores.score("a -> b", data, Constant()) == 42.0
    with pytest.raises(TypeError, match="not a sum over families"):
        scores.score_by_node("a -> b", data, Constant())


def test_score_ignores_columns_that_the_dag_does_not_have():
    table = make_table(3, [2, 3, 2, 4], 80, missing=0.2)
    dag = bntk.DAG(["v3", "v0"], [("v3", "v0")])
    small = scores.score(dag, table.select(["v0", "v3"]))
    assert scores.score(dag, table) == pytest.approx(small)
    assert scores.score(dag, TableCounter(table)) == pytest.approx(small)
    assert scores.score("v3 -> v0", table) == pytest.approx(small)
    assert sum(scores.score_by_node(dag, TableCounter(table)).values()) == pytest.approx(small)
    with pytest.raises(DataError, match="v9"):
        scores.score("v9 -> v0", TableCounter(table))

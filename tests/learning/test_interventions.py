"""Rows in which some variables were set by an experiment: a row does not count for the family of what was set in it."""

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bntk
from bntk.errors import DataError, ExperimentWarning, SpaceError, UnknownNameError
from bntk.graph import interventional_cpdag
from bntk.learning.counts import ExperimentCounter, TableCounter
from bntk.learning.em import fit_em

NAMES = ("a", "b", "c")


def some_rows(seed, n=60, n_variables=3, missing=0.0, set_share=0.3):
    """A table, the mask of what was set in it, and weights."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 4, n_variables)
    variables = [bntk.Variable("abcdefgh"[v], [f"s{k}" for k in range(cards[v])]) for v in range(n_variables)]
    codes = np.array([rng.integers(card, size=n) for card in cards])
    codes = np.where(rng.random(codes.shape) < missing, cards[:, None], codes)
    table = bntk.Table.from_codes(codes, variables)
    mask = rng.random((n, n_variables)) < set_share
    return table, mask, rng.integers(1, 4, n).astype(float)


def counted_by_hand(table, mask, weights, parents, child):
    """N_ijk, row by row."""
    family = [*parents, child]
    counts = np.zeros([table.cards[v] for v in family])
    for row in range(table.n_rows):
        codes = [int(table.codes[v, row]) for v in family]
        if not mask[row, child] and all(code < table.cards[v] for code, v in zip(codes, family)):
            counts[tuple(codes)] += weights[row]
    return counts


def families_of(n):
    for child in range(n):
        others = [v for v in range(n) if v != child]
        for k in range(n):
            yield from ((list(parents), child) for parents in itertools.combinations(others, k))


@given(st.integers(0, 10_000), st.booleans(), st.booleans())
@settings(max_examples=25, deadline=None)
def test_tables_equal_counting_row_by_row(seed, missing, weighted):
    table, mask, weights = some_rows(seed, missing=0.2 * missing)
    counter = ExperimentCounter(table, mask, weights if weighted else None)
    own = weights if weighted else np.ones(table.n_rows)
    families = list(families_of(3))
    tables = counter.tables([(*parents, child) for parents, child in families])
    compact = counter.compact([(*parents, child) for parents, child in families])
    for (parents, child), counts, rows in zip(families, tables, compact):
        expected = counted_by_hand(table, mask, own, parents, child)
        assert np.array_equal(counts, expected)
        assert np.array_equal(rows.counts, expected.reshape(-1, expected.shape[-1]))


def test_large_tables_have_the_parents_that_were_seen_in_rows_that_count():
    rng = np.random.default_rng(2)
    variables = [bntk.Variable(name, ["s0", "s1", "s2", "s3"]) for name in "abcdefgh"]
    table = bntk.Table.from_codes(rng.integers(4, size=(8, 50)), variables)
    mask = rng.random((50, 8)) < 0.4
    family = [*range(7), 7]
    (found,) = ExperimentCounter(table, mask).compact([family])
    (expected,) = TableCounter(table.take(~mask[:, 7])).compact([family])
    assert found.configurations is not None
    assert np.array_equal(found.configurations, expected.configurations)
    assert np.array_equal(found.counts, expected.counts)


def test_extensions_have_the_child_last_as_tables_have():
    table, mask, _ = some_rows(3)
    counter = ExperimentCounter(table, mask)
    for one, other in zip(counter.extensions(["a"], ["b", "c"]), counter.tables([("a", "b"), ("a", "c")])):
        assert np.array_equal(one, other)


def test_counters_add_up_whether_rows_were_set_or_not():
    (one, mask, weights), (other, _, _) = some_rows(1), some_rows(1, n=60)
    observed = TableCounter(other)
    both = ExperimentCounter(one, mask) + observed
    for total, part, more in zip(
        both.tables([("a", "b"), ("b", "a"), ("c",)]),
        ExperimentCounter(one, mask).tables([("a", "b"), ("b", "a"), ("c",)]),
        observed.tables([("a", "b"), ("b", "a"), ("c",)]),
    ):
        assert np.array_equal(total, part + more)
    turned = observed + ExperimentCounter(one, mask, weights)
    assert turned.weighted
    assert turned.total_weight == pytest.approx(60 + weights.sum())
    assert np.array_equal(turned.intervened[60:], mask)


def test_nothing_set_is_plain_counting():
    table, *_ = some_rows(5)
    for nothing in (None, [None] * 60, {}, np.zeros((60, 3), dtype=bool)):
        assert bntk.score("a -> b; c", table, intervened=nothing) == bntk.score("a -> b; c", table)


# ---- the forms of intervened -----------------------------------------------------------------------------------------


def test_all_forms_say_the_same():
    table, mask, _ = some_rows(7)
    frame = table.to_pandas()
    entries = [tuple(np.array(NAMES)[row]) or None for row in mask]
    forms = [
        mask,
        entries,
        pd.Series(entries, index=range(100, 160)),
        pd.DataFrame(mask, columns=list(NAMES)),
        pl.DataFrame(mask, schema=list(NAMES)),
        pd.DataFrame(mask.astype(int), columns=list(NAMES)),
        {name: mask[:, v] for v, name in enumerate(NAMES)},
        {name: np.flatnonzero(mask[:, v]) for v, name in enumerate(NAMES)},
    ]
    scores = {bntk.score("a -> b -> c", frame, "bdeu", intervened=form) for form in forms}
    assert scores == {bntk.score("a -> b -> c", ExperimentCounter(table, mask), "bdeu")}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, bntk.Table.from_columns])
def test_a_column_may_say_what_was_set_and_is_no_variable(make):
    data = {"a": [0, 0, 1, 1, 0, 1], "b": [0, 1, 1, 1, 0, 0], "INT": [None, "a", "a", None, "b", None]}
    plain = {name: column for name, column in data.items() if name != "INT"}
    found = bntk.learn(make(data), intervened="INT", numeric="category")
    assert found.names == ("a", "b")
    expected = bntk.learn(plain, intervened=data["INT"], numeric="category")
    assert found.is_close(expected)


@pytest.mark.parametrize(
    ("intervened", "error", "message"),
    [
        ("INTT", UnknownNameError, "did you mean 'INT'"),
        (["A"] * 4, UnknownNameError, "did you mean 'a'"),
        (["a"] * 3, DataError, "each of the 4 rows; got 3"),
        ([1, None, None, None], DataError, "the entry of row 0 is 1"),
        ([True, False, True, False], DataError, "the entry of row 0 is True"),
        (np.ones((4, 7), dtype=bool), DataError, "4 rows and the 3 columns"),
        (np.ones((4, 3)), DataError, "array of booleans"),
        ({"b": [0, 1, 1, 0]}, DataError, "positions of rows"),
        ({"b": [4]}, DataError, "from 0 to 3"),
        ({"b": [0.5]}, DataError, "booleans, one for each of the 4 rows"),
        ({"z": [1]}, UnknownNameError, "'z', which is not a column"),
        (pd.DataFrame({"a": ["x"] * 4}), DataError, "must be booleans"),
        (3, ValueError, "intervened"),
    ],
)
def test_wrong_forms_are_refused_with_what_is_wrong(intervened, error, message):
    data = {"a": [0, 0, 1, 1], "b": [0, 1, 1, 1], "INT": [None, "a", "b", None]}
    with pytest.raises(error, match=message):
        bntk.fit("a -> b", data, intervened=intervened)


def test_a_variable_that_was_set_in_every_row_is_named():
    data = {"a": [0, 0, 1, 1], "b": [0, 1, 1, 1]}
    with pytest.warns(ExperimentWarning, match="'a'.* was set in every row"):
        bn = bntk.fit("a -> b", data, intervened=["a"] * 4)
    assert bn.cpt("a").values.tolist() == [0.5, 0.5]
    assert bn.cpt("b").values.tolist() == [[0.5, 0.5], [0.0, 1.0]]


# ---- parameters, scores and searches ---------------------------------------------------------------------------------


def test_fit_estimates_each_table_from_the_rows_in_which_it_was_at_work():
    table, mask, weights = some_rows(11)
    bn = bntk.fit("a -> b; a -> c; b -> c", table, prior=1, weights=weights, intervened=mask)
    for child, parents in enumerate(((), (0,), (0, 1))):
        counts = counted_by_hand(table, mask, weights, parents, child) + 1
        assert np.allclose(bn.cpts[child].values, counts / counts.sum(axis=-1, keepdims=True))
    assert (
        bntk.fit(bn.dag, table.take(range(30)), 1, intervened=mask[:30])
        .update(table.take(range(30, 60)), intervened=mask[30:])
        .is_close(bntk.fit(bn.dag, table, 1, intervened=mask))
    )


@pytest.mark.parametrize("prior", ["backoff", "hdp", bntk.priors.BDeu(2)])
def test_priors_that_look_at_other_counts_take_those_of_the_same_child(prior):
    table, mask, _ = some_rows(12)
    bn = bntk.fit("a -> c; b -> c", table, prior, intervened=mask)
    free = ~mask[:, 2]
    alone = bntk.fit("a -> c; b -> c", table.take(free), prior)
    assert np.allclose(bn.cpt("c").values, alone.cpt("c").values)


DECOMPOSABLE = ["loglik", "aic", "bic", "bdeu", "bds", "k2", "hgc", "sb", "fnml", "qnml"]


@pytest.mark.parametrize("score", DECOMPOSABLE)
def test_scores_of_families_are_those_of_the_rows_that_count(score):
    table, mask, _ = some_rows(13)
    rule = bntk.scores.by_name(score)
    total = 0.0
    for child, parents in enumerate(((1,), (2,), ())):
        counts = counted_by_hand(table, mask, np.ones(60), parents, child)
        total += rule.family(counts.reshape(-1, counts.shape[-1]), n=60)
    assert bntk.score("b -> a; c -> b", table, score, intervened=mask) == pytest.approx(total)
    by_node = bntk.scores.score_by_node("b -> a; c -> b", table, score, intervened=mask)
    assert sum(by_node.values()) == pytest.approx(total)
    terms = bntk.scores.explain(rule, table, "a", ["b"], intervened=mask)
    assert terms.total == pytest.approx(by_node["a"])


def all_dags(names):
    pairs = list(itertools.combinations(names, 2))
    for choice in itertools.product((None, 0, 1), repeat=len(pairs)):
        arcs = [pair if way == 0 else pair[::-1] for pair, way in zip(pairs, choice) if way is not None]
        try:
            yield bntk.DAG(names, arcs)
        except bntk.errors.CycleError:
            continue


@pytest.mark.parametrize("score", DECOMPOSABLE)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_exact_search_finds_the_best_of_all_dags(score, missing):
    table, mask, weights = some_rows(17, n=80, missing=missing)
    if score == "fnml" or score == "qnml":
        weights = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bntk.errors.MissingValuesWarning)
        found = bntk.learn_structure(table, score, search="exact", weights=weights, intervened=mask)
        best = max(bntk.score(dag, table, score, weights=weights, intervened=mask) for dag in all_dags(NAMES))
    assert found.score == pytest.approx(best)


@pytest.mark.parametrize("search", ["hc", "tabu", "order", "auto"])
def test_searches_report_the_score_of_what_they_return(search):
    table, mask, _ = some_rows(19, n=200, n_variables=5)
    found = bntk.learn_structure(table, "bdeu", search=search, intervened=mask)
    assert found.score == pytest.approx(bntk.score(found.dag, table, "bdeu", intervened=mask))


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_spanning_trees_take_directions_into_account(missing):
    table, mask, _ = some_rows(23, n=80, missing=missing)
    found = bntk.learn_structure(table, "loglik", bntk.spaces.tree(NAMES), "spanning_tree", intervened=mask)
    trees = [dag for dag in all_dags(NAMES) if dag.is_tree]
    if not missing:
        best = max(bntk.score(dag, table, "loglik", intervened=mask) for dag in trees)
        assert found.score == pytest.approx(best)
    assert found.dag.is_tree


def experiment(n=2000, seed=0):
    """x -> y; in half of the rows x was set by a coin, in a quarter y was."""
    rng = np.random.default_rng(seed)
    was_set = rng.choice(["", "x", "y"], p=[0.4, 0.3, 0.3], size=n)
    x = (rng.random(n) < np.where(was_set == "x", 0.5, 0.3)).astype(int)
    y = np.where(was_set == "y", rng.random(n) < 0.5, rng.random(n) < np.where(x == 1, 0.8, 0.3)).astype(int)
    return {"y": y, "x": x}, [name or None for name in was_set]


@pytest.mark.parametrize("score", ["bdeu", "bic", "k2"])
def test_experiments_direct_the_arc_that_observations_cannot(score):
    data, was_set = experiment()
    observed = {name: column[[w is None for w in was_set]] for name, column in data.items()}
    assert bntk.score("x -> y", observed, "bdeu") == pytest.approx(bntk.score("y -> x", observed, "bdeu"))
    assert bntk.learn_structure(data, score, intervened=was_set).dag.arcs == (("x", "y"),)
    ahead = bntk.score("x -> y", data, score, intervened=was_set)
    assert ahead > bntk.score("y -> x", data, score, intervened=was_set) + 10


def test_a_chain_is_directed_by_one_experiment_on_its_middle():
    truth = bntk.DAG.parse("x -> y -> z")
    rng = np.random.default_rng(2)
    n, was_set = 3000, np.arange(3000) % 2 == 0
    x = rng.random(n) < 0.4
    y = np.where(was_set, rng.random(n) < 0.5, rng.random(n) < np.where(x, 0.9, 0.2))
    z = rng.random(n) < np.where(y, 0.7, 0.1)
    found = bntk.learn({"z": z, "y": y, "x": x}, intervened={"y": was_set})
    assert set(found.dag.arcs) == set(truth.arcs)


def test_bootstrap_keeps_the_directions_that_experiments_tell():
    data, was_set = experiment()
    found = bntk.bootstrap_strengths(data, n=10, intervened=was_set)
    frame = found.to_frame().set_index(["from", "to"])
    assert frame.loc[("x", "y"), "direction"] == 1
    observed = bntk.bootstrap_strengths(data, n=10)
    assert observed.to_frame()["direction"].tolist() == [0.5, 0.5]


def test_what_experiments_tell_apart_equals_enumeration():
    """Two DAGs are told apart by targets when they are after cutting the arcs into each target (Hauser, Bühlmann)."""
    names = ("a", "b", "c", "d")
    dags = list(all_dags(names))
    rng = np.random.default_rng(0)
    for number in rng.choice(len(dags), 40, replace=False):
        dag = dags[number]
        targets = [list(rng.choice(names, rng.integers(1, 3), replace=False)) for _ in range(rng.integers(1, 3))]
        alike = [
            other
            for other in dags
            if other.is_equivalent(dag) and all(other.do(*t).is_equivalent(dag.do(*t)) for t in targets)
        ]
        found = interventional_cpdag(dag, targets)
        always = set.intersection(*({*other.arcs} for other in alike))
        assert set(found.directed) == always


# ---- what cannot honour it is refused --------------------------------------------------------------------------------


def test_what_needs_all_rows_for_both_directions_is_refused_by_name():
    table, mask, _ = some_rows(29)
    space = bntk.spaces.stan(["a", "b"], "c")
    for score in (bntk.scores.LOO("c"), bntk.scores.Accuracy(target="c"), bntk.scores.LOO("c", missing="exact")):
        with pytest.raises(DataError, match=f"{type(score).__name__} predicts a class.*set by an experiment"):
            bntk.score("c -> a; c -> b", table, score, intervened=mask)
    with pytest.raises(DataError, match="average over complete rows"):
        bntk.score("c -> a; c -> b", table, bntk.scores.BIC(missing="average"), intervened=mask)
    with pytest.raises((SpaceError, DataError), match="set by an experiment"):
        bntk.learn_structure(table, "bic", space, "selective_trees", intervened=mask)
    with pytest.raises(DataError, match="different rows count"):
        ExperimentCounter(table, mask).pairs()
    with pytest.raises(DataError, match="already"):
        bntk.fit("a -> b", ExperimentCounter(table, mask), intervened=mask)


# ---- EM --------------------------------------------------------------------------------------------------------------


def log_likelihood_by_hand(bn, table, mask, weights):
    """The sum over rows of log sum over completions of the product of the tables of what was not set."""
    total = 0.0
    for row in range(table.n_rows):
        codes = table.codes[:, row]
        options = [range(card) if code == card else [int(code)] for code, card in zip(codes, table.cards)]
        p = 0.0
        for full in itertools.product(*options):
            factor = 1.0
            for v, cpt in enumerate(bn.cpts):
                if not mask[row, v]:
                    parents = bn.dag.parent_indices[v]
                    factor *= cpt.values[tuple(full[u] for u in (*parents, v))]
            p += factor
        total += weights[row] * np.log(p)
    return total


@pytest.mark.parametrize("weighted", [False, True])
def test_em_climbs_the_likelihood_of_what_was_not_set(weighted):
    table, mask, weights = some_rows(31, n=50, missing=0.25)
    mask &= (table.codes != table.cards[:, None]).T
    own = weights if weighted else np.ones(50)
    bn = fit_em(
        "a -> b; a -> c; b -> c", table, weights=weights if weighted else None, intervened=mask, tolerance=1e-10
    )
    assert bn.report.log_likelihood == pytest.approx(log_likelihood_by_hand(bn, table, mask, own))
    assert np.all(np.diff(bn.report.objectives) > -1e-9)
    # A stationary point: no table can be bettered by mixing a little of another one in.
    rng = np.random.default_rng(0)
    for _ in range(20):
        drawn = [rng.dirichlet(np.ones(c.values.shape[-1]), c.values.shape[:-1]) for c in bn.cpts]
        tables = [
            bntk.CPT(c.family[-1], 0.999 * c.values + 0.001 * other, c.family[:-1]) for c, other in zip(bn.cpts, drawn)
        ]
        other = bntk.BayesianNetwork(bn.dag, tables)
        assert log_likelihood_by_hand(other, table, mask, own) <= bn.report.log_likelihood + 1e-5


def test_em_of_complete_rows_is_fit():
    table, mask, weights = some_rows(37)
    dag = "a -> b; a -> c"
    em = fit_em(dag, table, 1, weights=weights, intervened=mask)
    assert em.is_close(bntk.fit(dag, table, 1, weights=weights, intervened=mask))


def test_em_with_a_hidden_variable_and_an_experiment():
    rng = np.random.default_rng(3)
    h = rng.random(400) < 0.5
    was_set = rng.random(400) < 0.5
    a = np.where(was_set, rng.random(400) < 0.5, rng.random(400) < np.where(h, 0.9, 0.1))
    b = rng.random(400) < np.where(h, 0.8, 0.2)
    hidden = bntk.Variable("h", [0, 1])
    bn = bntk.fit("h -> a; h -> b", {"a": a, "b": b}, variables=[hidden], intervened={"a": was_set}, missing="auto")
    mask = np.column_stack([np.zeros(400, dtype=bool), was_set, np.zeros(400, dtype=bool)])
    table = bntk.Table.from_codes(np.array([np.full(400, 2), a, b]), bn.variables)
    assert bn.report.log_likelihood == pytest.approx(log_likelihood_by_hand(bn, table, mask, np.ones(400)))


def test_em_refuses_a_value_that_was_set_but_is_missing():
    data = {"a": [0, None, 1], "b": [0, 1, 1]}
    with pytest.raises(DataError, match="row 1: 'a' was set by an experiment, but its value is missing"):
        fit_em("a -> b", data, intervened=[None, "a", None])


@pytest.mark.parametrize("method", ["soft", "hard"])
def test_structural_em_directs_what_experiments_tell(method):
    data, was_set = experiment(1500)
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(data).astype(object)
    frame.loc[(rng.random(1500) < 0.1) & (np.array(was_set) != "x"), "x"] = None
    frame["INT"] = was_set
    bn = bntk.structural_em(frame, method=method, intervened="INT", numeric="category")
    assert bn.dag.arcs == (("x", "y"),)


def test_structural_em_of_complete_rows_is_learn():
    table, mask, _ = some_rows(41, n=150)
    bn = bntk.structural_em(table, intervened=mask)
    assert bn.is_close(bntk.learn(table, intervened=mask), 1e-6)
    assert bn.report.objective == pytest.approx(bntk.learn(table, intervened=mask).report.score)

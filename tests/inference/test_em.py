"""EM: expected counts, the climb, hidden variables."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import joint, networks, random_network

import bntk
from bntk import DAG, Table, Variable
from bntk.errors import DataError, InterruptedWarning, NetworkError
from bntk.learning import em
from bntk.learning.counts import TableCounter
from bntk.learning.em import fit_em


def with_holes(table: Table, share: float, seed: int = 0) -> Table:
    holes = np.random.default_rng(seed).random(table.codes.shape) < share
    return Table.from_codes(np.where(holes, table.cards[:, None], table.codes), table.variables)


def observed_log_likelihood(network: bntk.BayesianNetwork, table: Table) -> float:
    """By summing the joint over the missing cells of each row."""
    whole = joint(network)
    total = 0.0
    for row in table.codes.T:
        index = tuple(slice(None) if code == card else int(code) for code, card in zip(row, table.cards))
        total += math.log(whole[index].sum())
    return total


def by_hand(dag: DAG, table: Table, alpha: float, tables: dict[str, dict], iterations: int) -> dict[str, dict]:
    """EM in plain Python: each table maps (parent codes..., child code) to a probability."""
    cards = dict(zip(table.names, table.cards.tolist()))
    for _ in range(iterations):
        counts = {name: dict.fromkeys(tables[name], alpha) for name in dag.nodes}
        for row in table.codes.T.tolist():
            options = [[c] if c < cards[n] else range(cards[n]) for n, c in zip(table.names, row)]
            completions = {}
            for states in itertools.product(*options):
                codes = dict(zip(table.names, states))
                keys = {n: (*(codes[p] for p in dag.parents(n)), codes[n]) for n in dag.nodes}
                completions[states] = keys, math.prod(tables[n][keys[n]] for n in dag.nodes)
            total = sum(p for _, p in completions.values())
            for keys, p in completions.values():
                for n, key in keys.items():
                    counts[n][key] += p / total
        for n in dag.nodes:
            for key in counts[n]:
                row_total = sum(counts[n][(*key[:-1], k)] for k in range(cards[n]))
                tables[n][key] = counts[n][key] / row_total if row_total > 0 else 1 / cards[n]
    return tables


def assert_close(one: bntk.BayesianNetwork, other: bntk.BayesianNetwork, tolerance: float = 1e-9) -> None:
    for a, b in zip(one.cpts, other.cpts, strict=True):
        np.testing.assert_allclose(a.values, b.values, atol=tolerance, rtol=0, err_msg=a.name)


# ---- the algorithm -----------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(networks(max_states=3), st.sampled_from(["mle", 0.3, bntk.priors.BDeu(2)]), st.integers(0, 10**6))
def test_the_objective_never_falls_and_is_the_one_documented(network, prior, seed):
    table = with_holes(network.sample(40, seed=seed), 0.3, seed)
    found = fit_em(network.dag, table, prior, max_iter=12, tolerance=0)
    result = found.report
    steps = np.diff(result.objectives)
    assert (steps >= -1e-9 * abs(result.objectives[-1])).all()
    assert result.log_likelihood == pytest.approx(observed_log_likelihood(found, table), abs=1e-8)
    rule = bntk.priors.as_prior(prior)
    log_prior = 0.0
    for cpt in found.cpts:
        alpha = np.broadcast_to(rule.pseudo_count(cpt.child, cpt.values.size // cpt.child.n_states), cpt.values.shape)
        log_prior += float((alpha[alpha > 0] * np.log(cpt.values[alpha > 0])).sum())
    assert result.objectives[-1] == pytest.approx(result.log_likelihood + log_prior, abs=1e-8)


@settings(max_examples=30, deadline=None)
@given(networks(max_states=3), st.sampled_from(["mle", 0.5]))
def test_on_complete_data_one_step_is_fit(network, prior):
    table = network.sample(50, seed=1)
    found, expected = fit_em(network.dag, table, prior), bntk.fit(network.dag, table, prior)
    assert found.report.iterations == 1
    assert found.report.converged
    assert_close(found, expected, 1e-12)
    for a, b in zip(found.cpts, expected.cpts, strict=True):
        np.testing.assert_array_equal(a.counts, b.counts)


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(4))
def test_iterations_equal_em_by_hand(alpha, seed):
    network = random_network(seed, n=4, max_states=3)
    table = with_holes(network.sample(25, seed=seed), 0.35, seed)
    start = bntk.fit(network.dag, with_holes(network.sample(30, seed=9), 0.1), prior=1)
    tables = {cpt.name: dict(np.ndenumerate(cpt.values)) for cpt in start.cpts}
    found = fit_em(network.dag, table, alpha or "mle", start=start, max_iter=5, tolerance=-1)
    assert found.report.iterations == 5
    for name, expected in by_hand(network.dag, table, alpha, tables, 5).items():
        for key, p in expected.items():
            assert found.cpt(name).values[key] == pytest.approx(p, abs=1e-9)


def test_tables_are_the_estimate_from_the_expected_counts_they_keep():
    network = random_network(5)
    table = with_holes(network.sample(200, seed=0), 0.2)
    found = fit_em(network.dag, table, 0.5)
    for cpt in found.cpts:
        values = cpt.counts + 0.5
        np.testing.assert_allclose(cpt.values, values / values.sum(-1, keepdims=True))
        assert cpt.counts.sum() == pytest.approx(200)


def test_parameters_are_recovered_with_a_fifth_of_the_cells_missing():
    true = bntk.datasets.sprinkler()
    table = with_holes(true.sample(20_000, seed=3), 0.2)
    found = fit_em(true.dag, table)
    assert found.report.converged
    assert_close(found, true, 0.04)
    assert found.report.log_likelihood >= observed_log_likelihood(true, table)


def test_em_uses_what_available_cases_cannot():
    """With cells missing at random, but not completely so, available cases are biased and EM is not."""
    a, b = Variable("a", [0, 1]), Variable("b", [0, 1])
    true = bntk.BayesianNetwork("a -> b", [bntk.CPT(a, [0.5, 0.5]), bntk.CPT(b, [[0.9, 0.1], [0.1, 0.9]], [a])])
    codes = true.sample(10_000, seed=0).codes.copy()
    codes[0, codes[1] == 1] = np.where(np.random.default_rng(0).random((codes[1] == 1).sum()) < 0.8, 2, codes[0, codes[1] == 1])  # fmt: skip # noqa: E501
    table = Table.from_codes(codes, [a, b])
    assert abs(bntk.fit("a -> b", table, missing="available").cpt("a").values[1] - 0.5) > 0.1
    assert fit_em("a -> b", table, tolerance=1e-9).cpt("a").values[1] == pytest.approx(0.5, abs=0.03)


# ---- weights, threads, order -------------------------------------------------------------------------------------


def test_weights_are_repetitions():
    network = random_network(11)
    table = with_holes(network.sample(60, seed=2), 0.3)
    times = np.random.default_rng(0).integers(0, 4, 60)
    weighted = fit_em(network.dag, table, max_iter=8, tolerance=0, weights=times)
    repeated = fit_em(network.dag, table.take(np.repeat(np.arange(60), times)), max_iter=8, tolerance=0)
    assert_close(weighted, repeated)
    assert weighted.report.log_likelihood == pytest.approx(repeated.report.log_likelihood)


def test_threads_change_nothing():
    network = random_network(3, n=6)
    table = with_holes(network.sample(6000, seed=0), 0.3)
    try:
        results = []
        for threads in (1, 3):
            bntk.set_threads(threads)
            results.append(fit_em(network.dag, table, max_iter=3))
    finally:
        bntk.set_threads(None)
    assert results[0] == results[1]


def test_the_same_seed_gives_the_same_network():
    rows = {"a": [0, 0, 1, 1, 0], "b": [0, 1, 1, 1, 0]}
    hidden = [Variable("h", ["x", "y"])]
    one, same, other = (fit_em("h -> a; h -> b", rows, variables=hidden, seed=s, max_iter=3) for s in (1, 1, 2))
    assert one == same
    assert one != other


# ---- hidden variables, semi-supervised ---------------------------------------------------------------------------


def naive_bayes(n_features: int = 5) -> bntk.BayesianNetwork:
    kind = Variable("kind", ["one", "other"])
    features = [Variable(f"f{i}", [0, 1]) for i in range(n_features)]
    cpts = [bntk.CPT(kind, [0.4, 0.6]), *(bntk.CPT(f, [[0.85, 0.15], [0.2, 0.8]], [kind]) for f in features)]
    return bntk.BayesianNetwork.from_cpts(cpts)


def test_a_hidden_class_reaches_the_likelihood_of_the_true_parameters():
    true = naive_bayes()
    table = true.sample(2000, seed=0)
    features = table.select(table.names[1:])
    found = bntk.fit(true.dag, features, variables=true.variables)
    hidden = Table.from_codes(np.vstack([np.full(2000, 2), features.codes]), true.variables)
    assert found.report.log_likelihood >= observed_log_likelihood(true, hidden)
    accuracy = (found.cpt("f0").values[0, 0] > 0.5, found.cpt("f0").values[1, 0] > 0.5)
    assert sorted(accuracy) == [False, True]


def test_more_starts_are_never_worse():
    true = random_network(1, n=5, max_states=3)
    table = true.sample(300, seed=0)
    columns = table.to_pandas().drop(columns=["x1"])
    results = [fit_em(true.dag, columns, variables=true.variables, n_starts=n, max_iter=30).report for n in (1, 4)]
    assert results[1].starts[0] == results[0].objectives[-1]
    assert results[1].objectives[-1] == max(results[1].starts) >= results[0].objectives[-1]


def test_rows_without_a_class_help_to_learn():
    true = naive_bayes(8)
    table = true.sample(1500, seed=4)
    codes = table.codes.copy()
    codes[0, 15:] = 2
    partly = Table.from_codes(codes, table.variables)
    few, all_rows = bntk.fit(true.dag, table.take(slice(15)), prior=1), fit_em(true.dag, partly, prior=1)

    def error(network: bntk.BayesianNetwork) -> float:
        return max(np.abs(a.values - b.values).max() for a, b in zip(network.cpts, true.cpts, strict=True))

    assert error(all_rows) < error(few)
    assert error(all_rows) < 0.1


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "mapping", "table"])
def test_a_hidden_variable_may_be_declared_alone_for_any_kind_of_data(kind):
    frame = pd.DataFrame({"a": ["x", "y", "x", "y"], "b": ["u", "v", "u", "v"], "other": [1, 2, 3, 4]})
    data = {"pandas": frame, "mapping": dict(frame), "table": Table.from_frame(frame)}
    if kind in ("polars", "pyarrow"):
        library = pytest.importorskip(kind)
        data[kind] = library.DataFrame(dict(frame)) if kind == "polars" else library.Table.from_pandas(frame)
    network = bntk.fit("h -> a; h -> b", data[kind], variables=[Variable("h", [0, 1, 2])])
    assert network.names == ("h", "a", "b")
    assert network.cpt("h").counts.sum() == pytest.approx(4)


# ---- fit, and what is refused ------------------------------------------------------------------------------------


def test_fit_takes_available_cases_unless_asked():
    network = random_network(2)
    table = with_holes(network.sample(200, seed=0), 0.2)
    assert bntk.fit(network.dag, table) == bntk.fit(network.dag, table, missing="available")
    assert bntk.fit(network.dag, table, missing="em") == fit_em(network.dag, table)
    assert bntk.fit(network.dag, table).report is None
    with pytest.raises(ValueError, match="available"):
        bntk.fit(network.dag, table, missing="drop")
    with pytest.raises(DataError, match="no_column"):
        bntk.fit("a -> no_column", {"a": [0, 1]}, missing="em")


def test_expected_counts_are_not_updated():
    network = fit_em("a -> b", {"a": [0, 1, None], "b": [0, 1, 1]})
    with pytest.raises(NetworkError, match="EM"):
        network.update({"a": [0], "b": [1]})


def test_a_start_must_fit():
    rows = {"a": [0, 1, None], "b": [0, 1, 1]}
    with pytest.raises(DataError, match="structure"):
        fit_em("a -> b", rows, start=bntk.fit("b -> a", rows))
    with pytest.raises(DataError, match="states"):
        fit_em("a -> b", rows, start=bntk.fit("a -> b", {"a": [0, 2], "b": [0, 1]}))
    impossible = bntk.fit("a -> b", {"a": [0, 1], "b": [1, 0]})
    with pytest.raises(DataError, match="probability zero"):
        fit_em("a -> b", rows, start=impossible)


def test_a_start_with_other_order_of_nodes_is_the_same_start():
    rows = with_holes(bntk.datasets.sprinkler().sample(100, seed=0), 0.2)
    true = bntk.datasets.sprinkler()
    dag = DAG(true.names[::-1], true.dag.arcs)
    start = bntk.fit(dag, rows.select(dag.nodes), prior=1)
    mirrored = fit_em(true.dag, rows, start=start, max_iter=4)
    plain = fit_em(true.dag, rows, start=bntk.fit(true.dag, rows, prior=1), max_iter=4)
    assert_close(mirrored, plain)


def test_counters_of_tables_are_taken_and_other_arguments_checked():
    table = with_holes(bntk.datasets.sprinkler().sample(100, seed=0), 0.2)
    dag = bntk.datasets.sprinkler().dag
    weights = np.linspace(0, 2, 100)
    assert fit_em(dag, TableCounter(table, weights)) == fit_em(dag, table, weights=weights)
    with pytest.raises(DataError, match="weights"):
        fit_em(dag, table, weights=[1, 2])
    with pytest.raises(DataError, match="single rows"):
        fit_em(dag, TableCounter(table) + TableCounter(table))
    with pytest.raises(ValueError, match="max_iter"):
        fit_em(dag, table, max_iter=0)


def test_an_interrupt_returns_the_last_network(monkeypatch):
    table = with_holes(bntk.datasets.sprinkler().sample(100, seed=0), 0.3)
    dag = bntk.datasets.sprinkler().dag
    plain = em.IncompleteRows.expect
    calls = []

    def interrupted(self, tables):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return plain(self, tables)

    monkeypatch.setattr(em.IncompleteRows, "expect", interrupted)
    with pytest.warns(InterruptedWarning, match="the last iteration of EM"):
        found = fit_em(dag, table, n_starts=3)
    monkeypatch.undo()
    assert found.report.interrupted
    assert not found.report.converged
    assert found == fit_em(dag, table, max_iter=3)


def test_the_trace_is_a_frame_and_progress_shows(capsys):
    found = fit_em("a -> b", {"a": [0, 1, None], "b": [0, 1, 1]}, progress=True)
    assert "EM" in capsys.readouterr().err
    frame = found.report.trace_frame()
    assert list(frame.columns) == ["objective", "log_likelihood"]
    assert len(frame) == found.report.iterations + 1


def test_a_row_with_nothing_observed_changes_nothing_in_the_end():
    table = with_holes(bntk.datasets.sprinkler().sample(200, seed=0), 0.2)
    empty = Table.from_codes(np.repeat(table.cards[:, None], 3, axis=1), table.variables)
    dag = bntk.datasets.sprinkler().dag
    one = fit_em(dag, table, tolerance=1e-12, max_iter=2000)
    other = fit_em(dag, Table.concat([table, empty]), tolerance=1e-12, max_iter=2000)
    assert one.report.log_likelihood == pytest.approx(other.report.log_likelihood, abs=1e-4)

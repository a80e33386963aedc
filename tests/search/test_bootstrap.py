"""Arc strengths: shares of structures, their threshold and the averaged network."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_networks import random_network
from strategies import dags

import bntk
from bntk.graph.dag import DAG
from bntk.learning.counts import TableCounter
from bntk.learning.learn import learn_structure
from bntk.learning.search import HillClimbing, Tabu
from bntk.learning.search.bootstrap import ArcStrengths, bootstrap_strengths, row_weights
from bntk.learning.space import Space


@pytest.fixture(scope="module")
def strengths() -> ArcStrengths:
    return bootstrap_strengths(bntk.datasets.asia().sample(400, seed=1), "bic", n=15, seed=3)


def test_strengths_are_shares_of_the_resamples(strengths: ArcStrengths) -> None:
    assert strengths.nodes == bntk.datasets.asia().names
    assert ((strengths.strength >= 0) & (strengths.strength <= 1)).all()
    assert np.allclose(strengths.strength * strengths.n_structures, np.rint(strengths.strength * 15))
    assert np.allclose(strengths.strength, strengths.strength.T)
    joined = strengths.strength > 0
    assert np.allclose((strengths.direction + strengths.direction.T)[joined], 1)
    assert (np.diag(strengths.arcs) == 0).all()


def test_strengths_are_those_of_the_resampled_rows(strengths: ArcStrengths) -> None:
    table = bntk.datasets.asia().sample(400, seed=1)
    found = []
    for k in range(15):
        times = row_weights(400, 3, k).astype(int)
        assert times.sum() == 400
        found.append(learn_structure(table.take(np.repeat(np.arange(400), times)), "bic", search="hc").dag)
    assert np.allclose(strengths.arcs, ArcStrengths.of(found, cpdag=True).arcs)


def test_a_seed_gives_one_result_and_the_first_resamples_do_not_depend_on_their_number() -> None:
    table = random_network(1, 4).sample(200, seed=0)
    one = bootstrap_strengths(table, n=4, seed=5)
    assert np.array_equal(one.arcs, bootstrap_strengths(table, n=4, seed=5).arcs)
    dags = [learn_structure(TableCounter(table, row_weights(200, 5, k)), search="hc").dag for k in range(4)]
    assert np.allclose(one.arcs, ArcStrengths.of(dags, cpdag=True).arcs)


@given(st.data())
def test_the_averaged_network_is_a_dag_of_frequent_arcs(data: st.DataObject) -> None:
    first = data.draw(dags(min_nodes=1, max_nodes=6))
    others = data.draw(st.lists(st.permutations(first.nodes), max_size=5))
    # The same arcs among other nodes: many cycles when they are put together.
    copies = [first.relabel(dict(zip(first.nodes, nodes))).reorder(first.nodes) for nodes in others]
    for cpdag in (False, True):
        found = ArcStrengths.of([first, *copies], cpdag=cpdag)
        averaged = found.averaged(data.draw(st.sampled_from([None, 0.0, 0.3])))
        assert DAG(averaged.nodes, averaged.arcs) == averaged  # the constructor refuses cycles
        for tail, head in np.argwhere(averaged.adjacency()):
            assert found.arcs[tail, head] >= found.arcs[head, tail]
        assert len(found.to_frame()) == 2 * np.count_nonzero(np.triu(found.strength))


@given(dags(min_nodes=1, max_nodes=6))
def test_the_average_of_one_structure_is_that_structure(dag: DAG) -> None:
    found = ArcStrengths.of([dag])
    assert found.averaged() == dag
    assert ArcStrengths.of([dag, dag, dag], cpdag=True).averaged().cpdag().skeleton() == dag.cpdag().skeleton()


def test_an_arc_that_closes_a_cycle_gives_way_to_stronger_ones() -> None:
    structures = [
        DAG.parse(text, nodes=["A", "B", "C"])
        for text in ("A -> B -> C", "B -> C -> A", "A -> B; C -> A", "A -> B -> C")
    ]
    found = ArcStrengths.of(structures)
    assert found.to_frame()["strength"].tolist() == [0.75] * 4 + [0.5] * 2
    assert set(found.averaged(0.1).arcs) == {("A", "B"), ("B", "C")}


def test_a_direction_that_is_a_toss_up_follows_the_nodes_or_avoids_a_cycle() -> None:
    arcs = np.zeros((3, 3))
    arcs[0, 1] = arcs[1, 0] = 0.4
    assert ArcStrengths(("A", "B", "C"), arcs, 5).averaged().arcs == (("A", "B"),)
    arcs[1, 2] = arcs[2, 0] = 1.0
    assert set(ArcStrengths(("A", "B", "C"), arcs, 5).averaged().arcs) == {("B", "C"), ("C", "A"), ("B", "A")}


def l1_threshold(values: np.ndarray) -> float:
    """The rule as it is written in the paper: search over t, then the quantile."""
    grid = np.linspace(0, 1, 20_001)
    F = (values <= grid[:, None]).mean(axis=1)
    t = min(np.unique(F), key=lambda t: np.abs(F - t).mean())
    return 0.0 if t == 0 else float(np.sort(values)[int(np.ceil(t * len(values) - 1e-9)) - 1])


@pytest.mark.parametrize("seed", range(4))
def test_the_threshold_is_nearest_in_the_l1_norm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # The example of Scutari and Nagarajan: their threshold is 0.3921.
    values = (
        rng.beta(0.4, 0.4, size=10).round(3) if seed else np.array([0.0460, 0.2242, 0.3921, 0.7689, 0.8935, 0.9439])
    )
    n = 5 if seed else 4
    arcs = np.zeros((n, n))
    arcs[np.triu_indices(n, 1)] = values
    found = ArcStrengths(tuple("ABCDE"[:n]), arcs, 100)
    assert found.threshold() == pytest.approx(l1_threshold(values), abs=1e-9)
    assert found.averaged().n_arcs == (values > found.threshold()).sum()
    if not seed:
        assert found.threshold() == pytest.approx(0.3921)


def test_many_rows_make_the_network_sure() -> None:
    truth = bntk.datasets.sprinkler()
    found = bootstrap_strengths(truth.sample(3000, seed=0).to_pandas(), "bic", n=10, search=Tabu())
    assert found.averaged().is_equivalent(truth.dag)
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["from", "to", "strength", "direction"]
    assert frame["strength"].is_monotonic_decreasing


def test_spaces_bind_every_resample() -> None:
    table = bntk.datasets.sprinkler().sample(300, seed=0)
    space = Space(table.names, forbidden=[("rain", "wet"), ("wet", "rain")])
    found = bootstrap_strengths(table, "bic", space, n=5, cpdag=False)
    assert found.strength[table.index("rain"), table.index("wet")] == 0


def test_a_search_that_runs_out_of_time_counts_with_what_it_has() -> None:
    table = bntk.datasets.sprinkler().sample(100, seed=0)
    hurried = bootstrap_strengths(table, n=3, search=HillClimbing(time_budget=0.0))
    assert hurried.n_structures == 3
    assert not hurried.arcs.any()


def test_progress_and_wrong_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    table = bntk.datasets.sprinkler().sample(50, seed=0)
    bootstrap_strengths(table, n=2, progress=True)
    assert "bootstrap" in capsys.readouterr().err
    with pytest.raises(ValueError, match="a whole number from 1, not 0"):
        bootstrap_strengths(table, n=0)
    with pytest.raises(ValueError, match="at least one"):
        ArcStrengths.of([])

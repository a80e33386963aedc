"""Learning from Dask data frames gives what learning from their rows in memory gives, whatever happens to workers."""

from __future__ import annotations

import logging
import os
import signal
import time

import numpy as np
import pandas as pd
import pytest
import sklearn.base

import bntk
from bntk.errors import DataError, UnseenStateWarning
from bntk.learning.counts import TableCounter
from bntk.learning.counts.dask_partitions import DaskPartitions

dd = pytest.importorskip("dask.dataframe", reason="needs Dask: pip install 'bntk[dask]'")
distributed = pytest.importorskip("distributed", reason="needs Dask's workers: pip install 'bntk[dask]'")

pytestmark = pytest.mark.filterwarnings(
    "ignore::bntk.errors.ColumnWarning", "ignore::bntk.errors.MissingValuesWarning", "ignore:The inplace keyword"
)


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes of one thread, and a client of them."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=logging.CRITICAL
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


@pytest.fixture(params=["threads", "processes"])
def engine(request):
    """Dask with threads of this process, and with worker processes."""
    if request.param == "processes":
        request.getfixturevalue("cluster")
        yield
        return
    import dask

    with dask.config.set(scheduler="threads"):
        yield


def messy_rows(n: int = 600) -> pd.DataFrame:
    """Text, categories that are declared, whole numbers, measurements and truth values, with missing cells."""
    generator = np.random.default_rng(3)
    frame = bntk.datasets.asia().sample(n, seed=4).to_pandas()[["smoke", "lung", "bronc", "dysp", "xray"]]
    for name in ("smoke", "bronc"):
        frame[name] = frame[name].astype(str)
    frame["xray"] = frame["xray"].cat.add_categories(["unclear"])
    frame["age"] = generator.normal(50, 12, n).round(1) + 10 * (frame["lung"] == "yes")
    frame["visits"] = generator.integers(0, 4, n)
    frame["retired"] = frame["age"] > 65
    frame = frame.mask(pd.DataFrame(generator.random(frame.shape) < 0.05, columns=frame.columns))
    frame["dysp"] = frame["dysp"].fillna("no")
    frame["visits"], frame["retired"] = frame["visits"].astype("Int64"), frame["retired"].astype("boolean")
    frame.index = pd.Index(np.arange(n) * 3, name="patient")
    return frame


def with_empty_partitions(frame: pd.DataFrame, sizes=(0, 250, 1, 0, 349, 0)):
    """A Dask data frame of these partitions; the rows are not in the order of the frame."""
    mixed = frame.sample(frac=1, random_state=0)
    ends = np.cumsum(sizes)
    parts = [mixed.iloc[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    return dd.from_map(lambda part: part, parts, meta=frame.iloc[:0])


def assert_same_network(one: bntk.BayesianNetwork, other: bntk.BayesianNetwork) -> None:
    assert one.dag == other.dag
    assert one.variables == other.variables
    for left, right in zip(one.cpts, other.cpts, strict=True):
        np.testing.assert_array_equal(left.counts, right.counts)
        np.testing.assert_array_equal(left.values, right.values)


# -------------------------------------------------------------------- learning


def test_structures_and_parameters_equal_those_in_memory(engine):
    frame = messy_rows()
    dask_frame = with_empty_partitions(frame)
    expected = bntk.learn(frame, "bic")
    assert_same_network(bntk.learn(dask_frame, "bic"), expected)
    assert (
        bntk.learn_structure(dask_frame, "bic", search="hc").dag == bntk.learn_structure(frame, "bic", search="hc").dag
    )
    known = frame[["smoke", "lung", "bronc"]]
    dag = bntk.DAG(known.columns, [("smoke", "lung"), ("smoke", "bronc")])
    assert_same_network(bntk.fit(dag, dd.from_pandas(frame, npartitions=9)), bntk.fit(dag, frame))


def test_weights_are_a_column_or_a_series():
    frame = messy_rows()[["smoke", "lung", "bronc"]]
    weights = pd.Series(np.random.default_rng(5).integers(0, 4, len(frame)), index=frame.index, name="w")
    dag = bntk.DAG(frame.columns, [("smoke", "lung"), ("smoke", "bronc")])
    expected = bntk.fit(dag, frame, weights=weights)
    series = dd.from_pandas(weights, npartitions=4)
    assert_same_network(bntk.fit(dag, dd.from_pandas(frame, npartitions=4), weights=series), expected)
    assert_same_network(bntk.fit(dag, dd.from_pandas(frame.assign(w=weights), npartitions=7), weights="w"), expected)


@pytest.mark.parametrize("convert", [None, "categories of each partition", "object"])
def test_text_of_any_kind_has_the_same_states(convert):
    frame = messy_rows()[["smoke", "bronc", "lung"]].astype("str")
    dask_frame = dd.from_pandas(frame, npartitions=5, sort=False)
    if convert == "object":
        dask_frame = dd.from_map(
            lambda part: part.astype(object), [frame.iloc[:10], frame.iloc[10:]], meta=frame.iloc[:0].astype(object)
        )
    elif convert is not None:
        dask_frame = dask_frame.astype("category")
        assert not dask_frame["smoke"].cat.known
    assert_same_network(bntk.learn(dask_frame, "bic"), bntk.learn(frame, "bic"))


def test_only_the_columns_that_are_needed_are_read(tmp_path):
    frame = messy_rows()
    frame["note"] = [f"patient {i}" for i in range(len(frame))]
    with_note = dd.from_pandas(frame, npartitions=5)
    source = DaskPartitions(with_note)
    counter = source.counter(only=["smoke", "lung"])
    (table,) = counter.tables([["smoke", "lung"]])
    expected = TableCounter(bntk.Table.from_frame(frame, only=["smoke", "lung"])).tables([["smoke", "lung"]])[0]
    np.testing.assert_array_equal(table, expected)
    frame.to_parquet(tmp_path / "rows.parquet")
    lazy = DaskPartitions(dd.read_parquet(tmp_path / "rows.parquet"))
    graph = lazy._narrowed(["smoke", "lung"]).optimize()
    assert sorted(graph.expr.columns) == ["lung", "smoke"]
    assert "note" not in str(graph.expr)


CLASSIFIERS = (bntk.NaiveBayes(), bntk.TAN(), bntk.KDB(k=2), bntk.AODE(), bntk.FAN(criterion="bic"))


def assert_same_classifier(one, other, X: pd.DataFrame) -> None:
    assert type(one) is type(other)
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.target_name_ == other.target_name_
    assert one.feature_names_in_.tolist() == other.feature_names_in_.tolist() == X.columns.tolist()
    np.testing.assert_array_equal(one.predict_log_proba(X), other.predict_log_proba(X))


def test_classifiers_equal_those_in_memory(engine, request):
    frame = messy_rows()
    X, y, dask_frame = frame.drop(columns="dysp"), frame["dysp"], with_empty_partitions(frame)
    few = CLASSIFIERS[1:3] if "processes" in request.node.name else CLASSIFIERS
    for model in few:
        expected = sklearn.base.clone(model).fit(X, y)
        named = sklearn.base.clone(model).fit(dask_frame, "dysp")
        assert_same_classifier(named, expected, X)
        series = sklearn.base.clone(model).fit(dask_frame.drop(columns="dysp"), dask_frame["dysp"])
        assert_same_classifier(series, expected, X)


def test_classifiers_take_weights_that_are_a_column_or_a_series():
    frame = messy_rows()
    X, y = frame.drop(columns="dysp"), frame["dysp"]
    weights = pd.Series(np.random.default_rng(5).integers(0, 4, len(frame)), index=frame.index, name="w")
    expected = bntk.TAN().fit(X, y, sample_weight=weights)
    rows, series = dd.from_pandas(frame, npartitions=4), dd.from_pandas(weights, npartitions=4)
    assert_same_classifier(bntk.TAN().fit(rows, "dysp", sample_weight=series), expected, X)
    assert_same_classifier(bntk.TAN().fit(rows.assign(w=series), "dysp", sample_weight="w"), expected, X)


def test_several_classes_equal_those_in_memory():
    frame = messy_rows().dropna()
    X, Y, rows = frame.drop(columns=["dysp", "lung"]), frame[["dysp", "lung"]], dd.from_pandas(frame, npartitions=4)
    expected = bntk.MDBNC().fit(X, Y)
    for found in (
        bntk.MDBNC().fit(rows, ["dysp", "lung"]),
        bntk.MDBNC().fit(rows[X.columns.tolist()], rows[["dysp", "lung"]]),
    ):
        assert_same_network(found.network_, expected.network_)
        pd.testing.assert_frame_equal(found.predict(X), pd.DataFrame(expected.predict(X)))


def test_em_equals_that_in_memory():
    frame = messy_rows()[["smoke", "lung", "bronc"]]
    frame.loc[frame["lung"] == "yes", "smoke"] = None
    dag = bntk.DAG(frame.columns, [("smoke", "lung"), ("smoke", "bronc")])
    found = bntk.fit(dag, with_empty_partitions(frame), missing="em")
    for left, right in zip(found.cpts, bntk.fit(dag, frame, missing="em").cpts, strict=True):
        np.testing.assert_allclose(left.values, right.values, rtol=0, atol=1e-9)


def test_scan_takes_a_dask_frame_with_declared_states():
    frame = messy_rows()[["smoke", "lung", "bronc"]]
    variables = [bntk.Variable("smoke", ["yes", "no", "never"]), bntk.Variable("lung", ["no", "yes"])]
    source = bntk.scan(dd.from_pandas(frame, npartitions=3), variables=variables)
    dag = bntk.DAG(["smoke", "lung"], [("smoke", "lung")])
    assert_same_network(bntk.fit(dag, source), bntk.fit(dag, frame, variables=variables))


# -------------------------------------------------------------------- workers that are lost


def loader(frame: pd.DataFrame, folder: str, victim: int, kills: tuple[int, ...], n: int):
    """A function that gives a partition, and kills its worker when it loads one for the first time, the third ..."""

    def load(number: int) -> pd.DataFrame:
        if number == victim:
            loads = len(os.listdir(folder)) + 1
            open(os.path.join(folder, str(loads)), "w").close()
            if loads in kills:
                os.kill(os.getpid(), signal.SIGKILL)
        return frame.iloc[number::n]

    return load


def test_a_worker_that_is_killed_in_a_pass_changes_nothing(cluster, tmp_path):
    frame, n = messy_rows(), 8
    load = loader(frame, str(tmp_path), victim=3, kills=(1, 3), n=n)  # as states are found, and as tables are counted
    dag = bntk.DAG(frame.columns, [("lung", "dysp"), ("bronc", "dysp"), ("age", "retired")])
    found = bntk.fit(dag, dd.from_map(load, range(n), meta=frame.iloc[:0]))
    assert len(os.listdir(tmp_path)) == 4
    assert_same_network(found, bntk.fit(dag, frame))
    wait_for_workers(cluster)


def test_persisted_partitions_that_are_lost_are_made_again(cluster):
    frame = messy_rows()
    persisted = dd.from_pandas(frame, npartitions=6).persist()
    distributed.wait(persisted)
    source = DaskPartitions(persisted)
    counter = source.counter()
    before = counter.tables([["smoke", "lung", "bronc"]])[0]
    (one, *_) = [worker["pid"] for worker in cluster.run(lambda: {"pid": os.getpid()}).values()]
    os.kill(one, signal.SIGKILL)
    np.testing.assert_array_equal(counter.tables([["smoke", "lung", "bronc"]])[0], before)
    wait_for_workers(cluster)


def wait_for_workers(client) -> None:
    for _ in range(200):
        if len(client.scheduler_info(n_workers=-1)["workers"]) == 2:
            return
        time.sleep(0.05)


# -------------------------------------------------------------------- predictions


def test_predictions_are_lazy_and_partitioned(engine):
    frame = messy_rows()
    X, y = frame.drop(columns="dysp"), frame["dysp"]
    model = bntk.TAN().fit(X, y)
    dask_X = dd.from_pandas(X, npartitions=4)
    for method in ("predict", "predict_proba", "predict_log_proba", "log_joint"):
        lazy = getattr(model, method)(dask_X)
        assert type(lazy).__module__.startswith("dask")
        assert (lazy.npartitions, lazy.divisions) == (dask_X.npartitions, dask_X.divisions)
        found = lazy.compute()
        np.testing.assert_array_equal(found.to_numpy(), getattr(model, method)(X))
        pd.testing.assert_index_equal(found.index, X.index)
        if method == "predict":
            assert (found.dtype, found.name) == (lazy.dtype, lazy.name) == (lazy._meta.dtype, "dysp")
        else:
            assert list(lazy.columns) == list(found.columns) == model.classes_.tolist()
            pd.testing.assert_series_equal(found.dtypes, lazy.dtypes)
    empty = model.predict_proba(with_empty_partitions(X)).compute()
    pd.testing.assert_index_equal(empty.sort_index().index, X.index)
    costs = [[0, 1], [9, 0]]
    np.testing.assert_array_equal(model.predict(dask_X, costs=costs).compute(), model.predict(X, costs=costs))


def test_posteriors_are_lazy_and_partitioned(engine):
    frame = messy_rows()[["smoke", "bronc", "xray"]]
    frame["xray"] = frame["xray"].astype(str).where(frame["xray"].notna(), None)
    network, rows = bntk.datasets.asia(), dd.from_pandas(frame, npartitions=3)
    lazy = network.posterior(rows, "lung")
    pd.testing.assert_frame_equal(lazy.compute(), network.posterior(frame, "lung"))
    pd.testing.assert_series_equal(lazy.dtypes, lazy.compute().dtypes)
    several = network.posterior(rows, ["lung", "tub"])
    assert list(several) == ["lung", "tub"]
    pd.testing.assert_frame_equal(several["tub"].compute(), network.posterior(frame, "tub"))
    pd.testing.assert_frame_equal(network.posterior(with_empty_partitions(frame), "lung").compute().sort_index(),
                                  network.posterior(frame, "lung"))  # fmt: skip


def test_a_new_state_in_a_partition_is_missing_or_refused():
    frame = messy_rows()[["smoke", "bronc", "lung"]].astype("str")
    model = bntk.NaiveBayes().fit(frame.drop(columns="lung"), frame["lung"])
    other = frame.drop(columns="lung").iloc[:20].copy()
    other.iloc[15, 0] = "sometimes"
    rows = dd.from_pandas(other, npartitions=4)
    with pytest.warns(UnseenStateWarning, match="sometimes"):
        found = model.predict_proba(rows).compute(scheduler="sync")
    blank = other.copy()
    blank.iloc[15, 0] = None
    np.testing.assert_array_equal(found, model.predict_proba(blank))
    strict = bntk.NaiveBayes(unseen="error").fit(frame.drop(columns="lung"), frame["lung"])
    with pytest.raises(DataError, match=r"partition 3 of the Dask data frame: column 'smoke', row 0: 'sometimes'"):
        strict.predict(rows).compute(scheduler="sync")


# -------------------------------------------------------------------- partitions that do not agree


def changed(frame: pd.DataFrame, number: int, change):
    parts = [frame.iloc[k::6] for k in range(6)]
    parts[number] = change(parts[number])
    return dd.from_map(lambda part: part, parts, meta=frame.iloc[:0], enforce_metadata=False)


def test_a_column_that_is_missing_in_a_partition_is_named_with_it(engine):
    frame = messy_rows()[["smoke", "lung", "bronc"]]
    rows = changed(frame, 4, lambda part: part.drop(columns="lung"))
    with pytest.raises(DataError, match="partition 4 of the Dask data frame: the column 'lung' is lacking"):
        bntk.learn(rows)
    model = bntk.NaiveBayes().fit(frame, messy_rows()["dysp"])
    with pytest.raises(DataError, match="partition 4 of the Dask data frame: the column 'lung' is lacking"):
        model.predict(rows).compute()


def test_a_column_of_another_kind_in_a_partition_is_named_with_it(engine):
    frame = messy_rows()[["smoke", "age"]]
    rows = changed(frame, 3, lambda part: part.assign(age="old"))
    with pytest.raises(DataError, match=r"partitions 0 to 2 and partition 3 .* column 'age' holds numbers in some"):
        bntk.learn(rows)


def test_whole_numbers_that_are_floats_in_some_partitions_are_the_same_numbers():
    frame = messy_rows()[["smoke", "visits"]]
    frame["visits"] = frame["visits"].fillna(0).astype("int64")
    rows = changed(frame, 2, lambda part: part.assign(visits=part["visits"].astype("float64")))
    found = bntk.learn(rows, "bic")
    assert [variable.n_states for variable in found.variables] == [2, 4]
    np.testing.assert_array_equal(found.cpt("visits").counts, bntk.learn(frame, "bic").cpt("visits").counts)


def test_what_cannot_be_used_is_refused_before_anything_runs():
    frame = messy_rows()[["smoke", "lung", "bronc"]]
    rows = dd.from_pandas(frame, npartitions=3)
    with pytest.raises(DataError, match="weights has 2 partitions, and the data frame has 3"):
        bntk.learn(rows, weights=dd.from_pandas(messy_rows()["visits"], npartitions=2))
    with pytest.raises(DataError, match="no column 'weight'"):
        bntk.learn(rows, weights="weight")
    with pytest.raises(DataError, match="weights must be a Dask Series, or the name of a column"):
        bntk.learn(rows, weights=np.ones(len(frame)))
    with pytest.raises(DataError, match="has no rows"):
        bntk.learn(dd.from_pandas(frame.iloc[:0], npartitions=1))
    with pytest.raises(DataError, match="y must be a Dask Series, or the name of a column of the data frame"):
        bntk.TAN().fit(rows, frame["lung"])
    with pytest.raises(DataError, match="no column 'lungs'; did you mean 'lung'"):
        bntk.TAN().fit(rows, "lungs")
    model = bntk.NaiveBayes().fit(frame.drop(columns="lung"), frame["lung"].astype(str))
    with pytest.raises(DataError, match="NaiveBayes takes rows in memory here, not a Dask DataFrame"):
        model.partial_fit(rows, "lung")
    with pytest.raises(DataError, match="this takes rows in memory, not a Dask DataFrame"):
        bntk.datasets.asia().impute(rows)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(rows[["smoke"]])

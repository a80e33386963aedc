"""Whatever the source, batches and order: the states and tables of a scan are those of the rows in memory."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streams.samples import messy, scan_of, shuffled, sources

import bntk
from bntk.data.numbers import Reading
from bntk.learning.counts import as_counter
from bntk.learning.streams import csv_source

pytestmark = pytest.mark.filterwarnings("ignore::bntk.errors.BntkWarning")


def same_counts(one, other) -> None:
    assert one.variables == other.variables
    names = one.names
    assert np.array_equal(one.pairs().counts, other.pairs().counts)
    assert np.array_equal(one.pairs(names[-1]).counts, other.pairs(names[-1]).counts)
    families = [names[:3], names[-2:], names[1:2]]
    for a, b in zip(one.tables(families), other.tables(families), strict=True):
        assert np.array_equal(a, b)
    for a, b in zip(one.compact([names]), other.compact([names]), strict=True):
        assert np.array_equal(a.counts, b.counts)
    assert one.n_rows == other.n_rows
    assert one.incomplete == other.incomplete


@pytest.fixture(scope="module")
def all_sources(tmp_path_factory):
    frame = messy()
    return frame, sources(frame, tmp_path_factory.mktemp("rows"))


KINDS = [
    "a folder of Parquet", "a pattern", "a list of files", "CSV", "a dataset", "a dataset in memory", "a lazy frame",
    "frames of pandas", "frames of polars", "batches of Arrow", "a relation of DuckDB",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_states_and_counts_of_rows_in_memory(all_sources, kind):
    frame, found = all_sources
    if kind not in found:
        pytest.skip("duckdb is not installed")
    stream = bntk.scan(found[kind]())
    reading = Reading(identifiers="drop")
    same_counts(stream.counter(reading), as_counter(frame, reading=reading))


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_classifier_and_network(all_sources, kind):
    frame, found = all_sources
    if kind not in found:
        pytest.skip("duckdb is not installed")
    X, y = frame.drop(columns="kind"), frame["kind"]
    stream = bntk.scan(found[kind]())
    tan = bntk.TAN().fit(stream, "kind")
    here = bntk.TAN().fit(X, y)
    assert tan.features_.variables == here.features_.variables
    assert tan.dag_ == here.dag_
    assert np.array_equal(tan.predict_proba(X), here.predict_proba(X))
    assert stream.passes == 2
    learned = bntk.learn(stream, "bic", search="hc")
    assert learned.dag == bntk.learn(frame, "bic", search="hc").dag


@given(sizes=st.lists(st.integers(0, 90), min_size=1, max_size=6), seed=st.integers(0, 5), data=st.data())
def test_batches_and_order_never_matter(sizes, seed, data):
    frame = messy(max(40, sum(sizes)), seed)
    order = data.draw(st.permutations(range(len(frame))))
    edges = np.minimum(np.cumsum([0, *sizes, len(frame)]), len(frame))
    pieces = [frame.iloc[list(order[a:b])] for a, b in pairwise(edges)]
    stream = bntk.scan(lambda: iter(pieces))
    reading = Reading(identifiers="drop")
    same_counts(stream.counter(reading), as_counter(frame, reading=reading))


@pytest.mark.parametrize("numeric", ["auto", "frequency", "width", "category", "bernoulli", {"measured": [0.5, 1.5]}])
def test_numbers_become_the_states_that_they_become_in_memory(numeric):
    frame = messy()
    reading = Reading(numeric, 4, "drop")
    chosen = frame if numeric != "category" else frame.assign(measured=frame["measured"].round())
    same_counts(scan_of(chosen).counter(reading), as_counter(chosen, reading=reading))


def test_warnings_name_the_columns_that_they_name_in_memory():
    frame = messy()

    def said(data) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bntk.learn(data, "bic", search="hc")
        return sorted(str(warning.message) for warning in caught)

    assert said(scan_of(frame)) == said(frame)


def test_weights_are_a_column():
    frame = messy()
    frame["w"] = np.random.default_rng(1).integers(0, 4, len(frame))
    stream = scan_of(frame, weights="w")
    own = frame.drop(columns="w")
    counter = stream.counter(Reading(identifiers="drop"))
    here = as_counter(own, weights=frame["w"], reading=Reading(identifiers="drop"))
    same_counts(counter, here)
    assert counter.total_weight == here.total_weight


def test_fractional_weights_differ_by_rounding_alone():
    frame = messy()
    frame["w"] = np.random.default_rng(1).random(len(frame))
    reading = Reading({"many": [10], "measured": [0]}, identifiers="drop")
    counter = scan_of(frame, weights="w").counter(reading)
    here = as_counter(frame.drop(columns="w"), weights=frame["w"], reading=reading)
    assert counter.variables == here.variables
    assert np.allclose(counter.pairs().counts, here.pairs().counts, rtol=1e-9, atol=0)


def test_weights_of_a_csv_file(tmp_path):
    frame = messy()[["few", "kind"]]
    frame.assign(w=1.5).to_csv(tmp_path / "rows.csv", index=False)
    counter = bntk.scan(tmp_path / "rows.csv", weights="w").counter()
    assert np.array_equal(counter.pairs().counts, as_counter(frame, weights=np.full(len(frame), 1.5)).pairs().counts)


def test_partitions_and_filters_of_a_dataset_are_kept(tmp_path):
    import pyarrow as pa
    from pyarrow import dataset, parquet

    frame = messy()[["few", "colour", "kind"]]
    parquet.write_to_dataset(pa.Table.from_pandas(frame, preserve_index=False), tmp_path, partition_cols=["kind"])
    rows = dataset.dataset(tmp_path, partitioning="hive")
    same_counts(bntk.scan(rows).counter(), as_counter(frame, reading=Reading()))
    some = bntk.scan(rows.filter(dataset.field("few") > 2))
    same_counts(some.counter(), as_counter(frame[frame["few"] > 2], reading=Reading()))


def test_given_states_need_no_pass_to_find_them():
    frame = messy()[["few", "colour", "kind"]]
    variables = bntk.Table.from_frame(frame).variables
    stream = bntk.scan(shuffled(frame), variables=variables)
    assert np.array_equal(stream.counter().pairs().counts, as_counter(frame).pairs().counts)
    assert stream.passes == 1


def test_only_the_columns_that_are_needed_are_read():
    frame = messy()
    read: list[list[str]] = []
    stream = scan_of(frame)
    batches = stream.source.batches
    stream.source.batches = lambda columns: read.append(list(columns)) or batches(columns)
    bntk.fit("kind -> colour", stream)
    assert {name for columns in read for name in columns} == {"kind", "colour"}


def test_categories_are_declared_and_their_order_is_kept():
    frame = messy()[["kind", "colour"]]
    frame["kind"] = pd.Categorical(frame["kind"], ["none", "low", "mid", "high"], ordered=True)
    pieces = [frame.iloc[:300], frame.iloc[300:]]
    counter = bntk.scan(lambda: iter(pieces)).counter()
    assert counter.variables == as_counter(frame, reading=Reading()).variables
    nb = bntk.NaiveBayes().fit(bntk.scan(lambda: iter(pieces)), "kind")
    here = bntk.NaiveBayes().fit(frame[["colour"]], frame["kind"])
    assert nb.class_order_.tolist() == here.class_order_.tolist()


def test_a_csv_file_is_read_as_read_table_reads_it(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    cells = (f'{k % 7:03d},"a, ""{k % 3}""\nb",{k % 2 == 0},{k % 5}.50' for k in range(400))
    path.write_text("\n".join(["code,text,truth,number", *cells, ",,,"]) + "\n")
    monkeypatch.setattr(csv_source, "BLOCK", 300)
    table = bntk.read_table(path)
    counter = bntk.scan(path).counter(Reading("category"))
    assert counter.variables == table.variables
    assert np.array_equal(counter.pairs().counts, as_counter(table).pairs().counts)


def test_a_gzipped_csv_file_with_other_separators(tmp_path):
    frame = messy()[["few", "measured", "kind"]]
    path = tmp_path / "rows.csv.gz"
    frame.to_csv(path, index=False, sep=";", na_rep="NA")
    counter = bntk.scan(path, missing=["", "NA"]).counter()
    assert counter.variables == as_counter(frame, reading=Reading()).variables


def test_hidden_files_are_left_out_and_folders_below_are_read(tmp_path):
    frame = messy()[["few", "kind"]]
    (tmp_path / "below").mkdir()
    frame.to_parquet(tmp_path / "below" / "a.parquet")
    for name in ("_SUCCESS", ".hidden.parquet"):
        (tmp_path / name).write_text("nothing")
    assert len(bntk.scan(tmp_path)) == len(frame)


def test_an_index_without_a_name_is_no_column(tmp_path):
    from pyarrow import dataset

    frame = messy()[["few", "kind"]]
    frame.iloc[:300].to_parquet(tmp_path / "a.parquet", index=False)
    frame.iloc[300:].set_index(np.arange(400)[::-1] ** 2).to_parquet(tmp_path / "b.parquet")
    for source in (tmp_path, [tmp_path / "b.parquet", tmp_path / "a.parquet"], dataset.dataset(tmp_path / "b.parquet")):
        assert bntk.scan(source).names == bntk.scan(source).counter().names == ("few", "kind")


def test_len_and_repr(tmp_path):
    frame = messy()
    frame.to_parquet(tmp_path / "rows.parquet")
    stream = bntk.scan(tmp_path / "rows.parquet")
    assert len(stream) == 700
    assert stream.passes == 0
    assert repr(stream).startswith("Scan: 700 rows x 9 columns of ")
    assert len(bntk.scan(lambda: iter([frame]))) == 700

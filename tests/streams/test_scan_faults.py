"""What goes wrong on the way from rows to counts is an error that names the place, or changes nothing."""

from __future__ import annotations

import os
import shutil
import signal
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from streams.samples import messy, scan_of, shuffled

import bntk
from bntk.data.numbers import Reading
from bntk.errors import BntkError, DataError, InterruptedWarning, ParseError
from bntk.learning.counts import as_counter
from bntk.learning.streams.reader import ahead

pytestmark = pytest.mark.filterwarnings("ignore::bntk.errors.ColumnWarning", "ignore::bntk.errors.MissingValuesWarning")

CHOSEN = ["few", "colour", "flag", "kind"]


@pytest.fixture
def folder(tmp_path):
    frame = messy()[CHOSEN]
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_parquet(tmp_path / f"p{number}.parquet", row_group_size=100)
    return tmp_path


@pytest.mark.parametrize("kept", [0, 3, 100, 0.5, 0.9, -1])
def test_a_truncated_file_is_refused_by_name(folder, kept):
    path = folder / "p1.parquet"
    whole = path.read_bytes()
    size = kept if kept > 1 or kept == 0 else len(whole) - 1 if kept < 0 else int(kept * len(whole))
    path.write_bytes(whole[:size])
    with pytest.raises(ParseError, match=r"p1\.parquet"):
        bntk.learn(bntk.scan(folder), "bic", search="hc")


def test_bytes_that_are_damaged_give_an_error_or_the_right_counts(folder):
    path, rng = folder / "p1.parquet", np.random.default_rng(0)
    whole = path.read_bytes()
    right = as_counter(messy()[CHOSEN], reading=Reading())
    for _ in range(30):
        damaged = bytearray(whole)
        for place in rng.integers(4, len(whole) - 8, 4):
            damaged[place] = rng.integers(256)
        path.write_bytes(bytes(damaged))
        try:
            stream = bntk.scan(folder)
            counter = stream.counter()
            counter.pairs()
        except BntkError:
            continue
        assert counter.n_rows == right.n_rows
    path.write_bytes(whole)
    assert np.array_equal(bntk.scan(folder).counter().pairs().counts, right.pairs().counts)


def test_a_file_that_breaks_between_passes(folder):
    stream = bntk.scan(folder)
    counter = stream.counter()
    path = folder / "p2.parquet"
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(DataError, match=r"p2\.parquet: the file has changed"):
        counter.pairs()


def test_a_column_is_missing_in_one_file(folder):
    messy()[["few", "colour", "kind"]].to_parquet(folder / "p3.parquet")
    with pytest.raises(DataError, match=r"p3\.parquet: .*no column 'flag'"):
        bntk.scan(folder)


def test_a_column_is_of_another_type_in_one_file(folder):
    frame = messy()[CHOSEN]
    frame.assign(few=frame["few"].astype(str)).to_parquet(folder / "p3.parquet")
    with pytest.raises(DataError, match=r"p3\.parquet: column 'few' holds text .*in .*p0\.parquet numbers"):
        bntk.scan(folder)


def test_a_column_of_wider_numbers_or_only_missing_cells_is_right(folder):
    frame = messy()[CHOSEN]
    schema = pa.schema([("few", pa.int8()), ("colour", pa.null()), ("flag", pa.bool_()), ("kind", pa.large_string())])
    other = pa.table({**{name: frame[name].tolist() for name in CHOSEN}, "colour": [None] * len(frame)}, schema=schema)
    parquet.write_table(other, folder / "p3.parquet")
    both = pd.concat([frame, frame.assign(colour=None)], ignore_index=True)
    counter = bntk.scan(folder).counter()
    here = as_counter(both, reading=Reading())
    assert counter.variables == here.variables
    assert np.array_equal(counter.pairs().counts, here.pairs().counts)


def test_a_file_of_columns_in_another_order_and_with_one_more_is_right(folder):
    frame = messy()[CHOSEN]
    frame[CHOSEN[::-1]].assign(more=1).to_parquet(folder / "p3.parquet")
    counter = bntk.scan(folder).counter()
    assert counter.n_rows == 2 * len(frame)


@pytest.mark.parametrize("changed", ["a new state", "another number of rows", "other values"])
def test_rows_that_change_between_passes(changed):
    frame = messy()[CHOSEN]
    another = "low" if frame["kind"][300] != "low" else "mid"
    others = {
        "a new state": frame.assign(colour=frame["colour"].where(frame.index != 300, "green")),
        "another number of rows": frame.iloc[:-1],
        "other values": frame.assign(kind=frame["kind"].where(frame.index != 300, another)),
    }
    given = [frame]
    stream = bntk.scan(lambda: iter([given[0].iloc[:200], given[0].iloc[200:]]))
    counter = stream.counter()
    if changed == "other values":
        counter.pairs()
    given[0] = others[changed]
    expected = {
        "a new state": "data frame 1: .*row 100: 'green' is not a known state",
        "another number of rows": "had 700 rows in the first pass, but 699",
        "other values": "column 'kind' holds other values than in an earlier pass",
    }
    with pytest.raises(DataError, match=expected[changed]):
        counter.tables([["kind", "colour", "flag"]])


def test_a_value_that_is_none_of_the_given_states_is_missing_with_a_warning():
    frame = messy()[CHOSEN]
    variables = [bntk.Variable("colour", ["red", "blue"]), bntk.Variable("kind", ["low", "mid", "high"])]
    with pytest.warns(bntk.errors.UnseenStateWarning, match="x10"):
        there = bntk.fit("kind -> colour", bntk.scan(shuffled(frame), variables=variables))
    with pytest.warns(bntk.errors.UnseenStateWarning):
        here = bntk.fit("kind -> colour", frame, variables=variables)
    assert all(np.array_equal(a.counts, b.counts) for a, b in zip(here.cpts, there.cpts, strict=True))


def test_numbers_in_one_frame_and_labels_in_another():
    frames = [pd.DataFrame({"a": [1, 2, 3]}), pd.DataFrame({"a": ["x", "y", "z"]})]
    with pytest.raises(DataError, match="column 'a' holds numbers in some partitions and labels in others"):
        bntk.scan(lambda: iter(frames)).counter()


def test_a_frame_lacks_a_column():
    frames = [pd.DataFrame({"a": [1, 2], "b": [1, 2]}), pd.DataFrame({"a": [1, 2]})]
    with pytest.raises(DataError, match="data frame 1: the data has no column 'b'"):
        bntk.scan(lambda: iter(frames)).counter()


def test_a_function_that_raises():
    def give():
        yield messy()[CHOSEN]
        raise RuntimeError("the connection was lost")

    with pytest.raises(RuntimeError, match="the connection was lost"):
        bntk.scan(give).counter()


def test_a_bad_weight_is_named_with_its_place():
    frame = messy()[CHOSEN].assign(w=1.0)
    frame.loc[555, "w"] = -1
    with pytest.raises(DataError, match=r"data frame 1: weights \(column 'w'\): the weight of row 355"):
        bntk.scan(lambda: iter([frame.iloc[:200], frame.iloc[200:]]), weights="w").counter()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (lambda: iter([]), "gives no data frame"),
        (lambda: messy(), "must give an iterator of data frames"),
        (messy(), "is in memory already"),
        (3, "source must be"),
        ([], "source must be"),
        ("nowhere.parquet", "no file"),
        ("nowhere/*.parquet", "no file matches"),
    ],
)
def test_what_is_no_source(source, message):
    with pytest.raises((BntkError, FileNotFoundError), match=message):
        bntk.scan(source)


def test_files_of_several_formats(folder):
    (folder / "more.csv").write_text("few,colour,flag,kind\n1,red,True,low\n")
    with pytest.raises(DataError, match="several formats, csv, parquet"):
        bntk.scan(folder)
    (folder / "rows.arff").write_text("@relation r")
    with pytest.raises(DataError, match="read other files with bntk.read_table"):
        bntk.scan(folder / "rows.arff")


def test_a_ragged_line_of_a_csv_file_is_named(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "1,2\n" * 50 + "1\n")
    with pytest.raises(ParseError, match="line 52|:52"):
        bntk.scan(path).counter()


def test_no_rows(tmp_path):
    messy()[CHOSEN].iloc[:0].to_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError, match="no rows"):
        bntk.learn(bntk.scan(tmp_path / "none.parquet"))


def test_without_pyarrow_an_error_says_what_to_install(monkeypatch, folder):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "bntk\[arrow\]"'):
        bntk.scan(folder)


# ---- Ctrl-C ----------------------------------------------------------------------------------------------------------


def test_an_interrupt_between_passes_keeps_the_best_structure_so_far():
    rows = bntk.datasets.asia().sample(3000, seed=1).to_pandas()
    stream = scan_of(rows)
    batches, begun = stream.source.batches, []

    def interrupted(columns):
        begun.append(columns)
        if len(begun) == 3:  # states, pairs, and then the families that the search asks for
            signal.raise_signal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else os.kill(
                os.getpid(), signal.SIGINT
            )
        return batches(columns)

    stream.source.batches = interrupted
    with pytest.warns(InterruptedWarning):
        network = bntk.learn(stream, "bic", search="hc")
    assert network.report.interrupted
    assert network.dag.arcs


def test_an_interrupt_of_the_first_pass_is_raised():
    stream = scan_of(messy())

    def interrupted(columns):
        raise KeyboardInterrupt

    stream.source.batches = interrupted
    with pytest.raises(KeyboardInterrupt):
        bntk.learn(stream, "bic", search="hc")


def test_the_reader_ends_with_the_pass_and_reads_no_more_than_a_few_batches_ahead():
    made = []

    def items():
        for k in range(100):
            made.append(k)
            yield k

    reader = ahead(items())
    assert next(reader) == 0
    reader.close()
    assert len(made) <= 5
    assert not [thread for thread in threading.enumerate() if thread.name == "bntk reader"]


def test_a_folder_that_is_moved(folder, tmp_path):
    stream = bntk.scan(folder)
    shutil.move(folder / "p1.parquet", folder / "p1.moved")
    with pytest.raises(DataError, match=r"p1\.parquet: the file cannot be read"):
        stream.counter()

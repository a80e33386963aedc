"""Parquet files, through pyarrow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bntk import Table, Variable, read_table
from bntk.errors import DataError, ParseError

pytest.importorskip("pyarrow")

FRAME = pd.DataFrame(
    {
        "text": ["x10", "x9", None, "x9"],
        "size": pd.Categorical(["large", "small", None, "large"], ["small", "large", "huge"], ordered=True),
        "n": [3, 1, 2, 3],
        "flag": [True, False, True, True],
    }
)


@pytest.fixture
def path(tmp_path):
    FRAME.to_parquet(tmp_path / "x.parquet", row_group_size=2)
    return tmp_path / "x.parquet"


def test_a_file_gives_the_table_of_its_frame(path):
    assert read_table(path) == Table.from_frame(FRAME)


def test_an_index_without_a_name_is_no_column(tmp_path):
    FRAME.set_index(pd.Index([7, 3, 9, 4])).to_parquet(tmp_path / "x.parquet")
    assert read_table(tmp_path / "x.parquet") == Table.from_frame(FRAME)
    assert read_table(tmp_path / "x.parquet", columns=["__index_level_0__"]).names == ("__index_level_0__",)
    FRAME.set_index(pd.Index([7, 3, 9, 4], name="key")).to_parquet(tmp_path / "x.parquet")
    assert read_table(tmp_path / "x.parquet").names == ("text", "size", "n", "flag", "key")


def test_columns_can_be_chosen(path):
    assert read_table(path, columns=["n", "text"]).names == ("n", "text")
    assert read_table(path, variables=[Variable("n", ["1", "2", "3"])]).codes.tolist() == [[2, 0, 1, 2]]
    with pytest.raises(DataError, match="no column 'm'"):
        read_table(path, columns=["m"])


def test_damaged_files_are_refused(path, tmp_path):
    content, rng, refused = path.read_bytes(), np.random.default_rng(0), 0
    for _ in range(300):
        place = int(rng.integers(len(content)))
        damaged = tmp_path / "damaged.parquet"
        damaged.write_bytes(content[:place] + bytes([int(rng.integers(256))]) + content[place + 1 :])
        try:
            read_table(damaged)
        except (ParseError, DataError):
            refused += 1
    assert refused


def test_other_files_are_refused(tmp_path):
    (tmp_path / "x.parquet").write_text("a,b\n")
    with pytest.raises(ParseError, match=r"x\.parquet: not a Parquet file"):
        read_table(tmp_path / "x.parquet")
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "nowhere.parquet")


def test_without_pyarrow_the_error_says_what_to_install(path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "bntk\[arrow\]"'):
        read_table(path)

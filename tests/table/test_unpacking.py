"""Small files that unpack to huge tables are refused before they fill the memory, and read where that is allowed."""

from __future__ import annotations

import gzip
import math

import pytest

import bntk
from bntk.cli import main
from bntk.data import text_files
from bntk.errors import ParseError

HEADER = b"@relation r\n@attribute a {0,1}\n@attribute b {0,1}\n"
N_ROWS = 3000


@pytest.fixture(autouse=True)
def _small_limit(monkeypatch):
    monkeypatch.setattr(text_files, "_LEAST_UNPACKED", 1000)
    monkeypatch.setattr(text_files, "_TIMES_UNPACKED", 2)


def packed(folder, name):
    """A file of 3000 equal rows that is much smaller than they are."""
    path = folder / name
    if name.endswith(".parquet"):
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pa.table({"a": ["0"] * N_ROWS, "b": ["1"] * N_ROWS}), path)
    elif name == "sparse.arff":
        many = b"".join(b"@attribute x%d {0,1}\n" % i for i in range(50))
        path.write_bytes(HEADER + many + b"@data\n" + b"{}\n" * N_ROWS)
    else:
        text = {"x.csv.gz": b"a,b\n", "x.tsv.gz": b"a\tb\n", "x.arff.gz": HEADER + b"@data\n"}[name]
        row = b"0\t1\n" if ".tsv" in name else b"0,1\n"
        path.write_bytes(gzip.compress(text + row * N_ROWS))
    return path


@pytest.mark.parametrize("name", ["x.csv.gz", "x.tsv.gz", "x.arff.gz", "x.parquet", "sparse.arff"])
def test_refused_or_allowed(tmp_path, name):
    path = packed(tmp_path, name)
    with pytest.raises(ParseError, match=r"more than [\d,]+ bytes; .*max_unpacked=.*--max-unpacked") as refused:
        bntk.read_table(path)
    assert name in str(refused.value)
    assert bntk.read_table(path, max_unpacked=math.inf).n_rows == N_ROWS
    assert bntk.read_table(path, max_unpacked=10**6).n_rows == N_ROWS
    with pytest.raises(ParseError, match="more than 100 bytes"):
        bntk.read_table(path, max_unpacked=100)


def test_exactly_at_the_limit(tmp_path):
    path = packed(tmp_path, "x.csv.gz")
    size = len(gzip.decompress(path.read_bytes()))
    assert bntk.read_table(path, max_unpacked=size).n_rows == N_ROWS
    with pytest.raises(ParseError):
        bntk.read_table(path, max_unpacked=size - 1)


def test_plain_text_of_any_size(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"a,b\n" + b"0,1\n" * N_ROWS)
    assert bntk.read_table(tmp_path / "x.csv").n_rows == N_ROWS


def test_labels_of_several_classes(tmp_path):
    path = tmp_path / "x.arff.gz"
    path.write_bytes(gzip.compress(HEADER + b"@data\n" + b"0,1\n" * N_ROWS))
    with pytest.raises(ParseError, match="max_unpacked"):
        bntk.read_multilabel(path, n_labels=1)
    assert len(bntk.read_multilabel(path, n_labels=1, max_unpacked=math.inf)[0]) == N_ROWS
    labels = tmp_path / "x.xml.gz"
    labels.write_bytes(gzip.compress(b"<labels>" + b" " * 5000 + b'<label name="a"/></labels>'))
    with pytest.raises(ParseError, match="unpack it yourself"):
        bntk.read_multilabel(path, labels, max_unpacked=math.inf)


def test_in_the_command(tmp_path, capsys):
    path = str(packed(tmp_path, "x.csv.gz"))
    assert main(["info", path]) != 0
    assert "--max-unpacked" in capsys.readouterr().err
    assert main(["info", path, "--max-unpacked", "1e6"]) == 0
    assert f"{N_ROWS:,}" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [-1, math.nan, "many", True])
def test_wrong_limits(tmp_path, wrong):
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(ValueError, match="max_unpacked must be a number of bytes"):
        bntk.read_table(tmp_path / "x.csv", max_unpacked=wrong)

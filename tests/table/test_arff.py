"""ARFF files: declared states, quotes, comments, sparse rows; scipy and real files as references."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from bntk import Table, Variable, read_table
from bntk.data.arff import read_arff
from bntk.errors import DataError, ParseError

MULTILABEL = Path(__file__).parents[3] / "shared" / "data" / "multilabel"

WEATHER = """% a comment
@RELATION 'the weather'

@attribute outlook {sunny, overcast, rainy}
@Attribute 'wind speed' NUMERIC
  @attribute "it's windy" {TRUE,FALSE}
@attribute note string
@attribute day date "yyyy-MM-dd"
@DATA
sunny, 10, TRUE, 'calm, mostly', "2020-01-01"
% another comment
rainy,9,FALSE,?,2020-01-02

  ?  ,  9  ,FALSE , "it\\"s 50%", ?
"""


def read(tmp_path, text, **options):
    path = tmp_path / "x.arff"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path, **options)


def test_every_kind_of_attribute(tmp_path):
    table = read(tmp_path, WEATHER)
    assert table.variables == (
        Variable("outlook", ["sunny", "overcast", "rainy"]),
        Variable("wind speed", [9, 10]),
        Variable("it's windy", ["TRUE", "FALSE"]),
        Variable("note", ["calm, mostly", 'it"s 50%']),
        Variable("day", ["2020-01-01", "2020-01-02"]),
    )
    assert table.codes.tolist() == [[0, 2, 3], [1, 0, 0], [0, 1, 1], [0, 2, 1], [0, 1, 2]]
    (tmp_path / "y.arff").write_text(WEATHER)
    assert read_arff(tmp_path / "y.arff").relation == "the weather"


def test_sparse_rows_leave_out_zeros_and_first_states(tmp_path):
    header = "@relation r\n@attribute a {no,yes}\n@attribute n numeric\n@attribute s string\n@data\n"
    table = read(tmp_path, header + "{0 yes, 1 2.5}\n{}\n% comment\n{2 'x, y',1 ?}\n")
    assert [v.states for v in table.variables] == [("no", "yes"), (0.0, 2.5), ("0", "x, y")]
    assert table.codes.tolist() == [[1, 0, 0], [1, 0, 2], [0, 0, 1]]
    assert read(tmp_path, header + "{1 3, 2 x}\n{1 4}\n").variable("n").states == (3, 4)


def test_columns_and_known_variables_can_be_chosen(tmp_path):
    assert read(tmp_path, WEATHER, columns=["note", "outlook"]).names == ("note", "outlook")
    known = [Variable("outlook", ["rainy", "sunny"])]
    assert read(tmp_path, WEATHER, variables=known).codes.tolist() == [[1, 0, 2]]


def test_scipy_reads_the_same(tmp_path):
    arff = pytest.importorskip("scipy.io.arff")
    rng = np.random.default_rng(1)
    rows = [
        f"{rng.integers(5)},'{rng.choice(['a', 'b c'])}',{rng.choice(['x', '?'])},{rng.integers(9) / 4}"
        for _ in range(50)
    ]
    header = (
        "@relation r\n@attribute n integer\n@attribute s {'b c', a}\n@attribute t {x,y}\n@attribute f real\n@data\n"
    )
    text = header + "\n".join(rows) + "\n"
    expected, meta = arff.loadarff(io.StringIO(text))
    table = read(tmp_path, text)
    for name, (kind, states) in ((n, meta[n]) for n in meta.names()):
        labels = [*table.variable(name).states, "?"]
        ours = [labels[code] for code in table.column(name)]
        theirs = [cell.decode() if kind == "nominal" else float(cell) for cell in expected[name]]
        assert ours == theirs
        if kind == "nominal":
            assert table.variable(name).states == tuple(states)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("@relation r\n@attribute a {x,y}\n@data\nx\n\nz\n", 6, r"attribute 'a': 'z' is none of \['x', 'y'\]"),
        ("@relation r\n@attribute a {x,y}\n@data\n'x'\n\nz\n", 6, r"attribute 'a': 'z' is none of"),
        ("@relation r\n@attribute a {x,y}\n@data\n{0 x}\n{0 z}\n", 5, r"attribute 'a': 'z' is none of"),
        ("@relation r\n@attribute n numeric\n@data\n1\nten\n", 5, "attribute 'n': 'ten' is not a number"),
        (
            "@relation r\n@attribute a {x}\n@attribute b {x}\n@data\nx,x\nx\n",
            6,
            "1 field in this record, but 2 columns",
        ),
        ("@relation r\n@attribute a {x}\n@attribute b {x}\n@data\n'x',x\n\nx\n", 7, "1 field"),
        ("@relation r\n@attribute a {x}\n@data\n'x\n", 4, "never ends"),
        ("@relation r\n@attribute a {x}\n@data\n'x' y\n", 4, "expected a comma, not 'y'"),
        ("@relation r\n@attribute a {x}\n@data\n'x'\n{0 x}\n", 5, "a sparse row among dense ones"),
        ("@relation r\n@attribute a {x}\n@data\n{0 x}\nx\n", 5, "must be in braces"),
        (
            "@relation r\n@attribute a {x}\n@data\n{1 x}\n",
            4,
            "'1 x' does not start with the index of an attribute, from 0 to 0",
        ),
        ("@relation r\n@attribute a {x}\n@data\n{0 x,}\n", 4, "'' does not start with the index"),
        ("@relation r\n@attribute a {x\n@data\n", 2, "attribute 'a': the states have no closing brace"),
        ("@relation r\n@attribute a {x,x}\n@data\n", 2, "attribute 'a': states that repeat"),
        ("@relation r\n@attribute a {}\n@data\n", 2, "attribute 'a': states that repeat, or none"),
        ("@relation r\n@attribute a relational\n@data\n", 2, "attribute 'a' is of the type 'relational'"),
        ("@relation r\n@attribute\n@data\n", 2, "without a name"),
        ("@relation r\nnonsense\n@data\n", 2, "expected @relation, @attribute or @data, not 'nonsense'"),
        ("@relation r\n@attribute a {x}\n", 0, "no @data"),
        ("@relation r\n@data\nx\n", 3, "no @attribute"),
        (b"@relation r\n@attribute a {\xff}\n@data\n", 2, "not UTF-8"),
        (b"@relation r\n@attribute a string\n@data\nx\n\xff\n", 5, "not UTF-8"),
        (b"@relation r\n@attribute a string\n@data\n'x'\n\xff\n", 5, "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_that_names_the_line(tmp_path, text, line, message):
    with pytest.raises(ParseError, match=message) as caught:
        read(tmp_path, text)
    assert caught.value.line == line


def test_names_must_differ(tmp_path):
    with pytest.raises(DataError, match="columns 1 and 2 are both named 'a'"):
        read(tmp_path, "@relation r\n@attribute a {x}\n@attribute a {x}\n@data\nx,x\n")


@pytest.mark.skipif(not MULTILABEL.is_dir(), reason="the multi-label files are not beside the repository")
def test_real_files_have_the_rows_and_attributes_that_their_index_says():
    with open(MULTILABEL / "INDEX.csv", newline="") as file:
        index = [row for row in csv.DictReader(file) if row["name"] in ("flags", "emotions", "medical", "slashdot")]
    assert index
    for row in index:
        suffix = "" if row["part"] == "all" else f"-{row['part']}"
        arff = read_arff(MULTILABEL / f"{row['name']}{suffix}.arff.gz", most=1 << 20)
        kinds = [attribute.kind for attribute in arff.attributes]
        assert len(arff.columns[0].codes) == int(row["instances"])
        assert len(kinds) == sum(int(row[f"{k}"]) for k in ("nominal_attributes", "numeric_attributes", "labels"))
        for i, kind in enumerate(kinds):
            if kind == "numeric":
                assert not np.isnan(arff.numbers(i)).any()


@pytest.mark.skipif(not MULTILABEL.is_dir(), reason="the multi-label files are not beside the repository")
def test_scipy_reads_the_same_numbers_from_a_real_file():
    arff_module = pytest.importorskip("scipy.io.arff")
    import gzip

    path = MULTILABEL / "emotions-test.arff.gz"
    ours = read_arff(path)
    with gzip.open(path, "rt") as file:
        theirs, meta = arff_module.loadarff(file)
    for i, name in enumerate(meta.names()):
        if ours.attributes[i].kind == "numeric":
            assert np.array_equal(ours.numbers(i), theirs[name])
        else:
            states = ours.columns[i].labels
            assert [states[code] for code in ours.columns[i].codes] == [cell.decode() for cell in theirs[name]]


def test_a_table_of_nominal_data_is_a_table(tmp_path):
    assert isinstance(read(tmp_path, WEATHER), Table)

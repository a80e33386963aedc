"""CSV files: what pandas and Python's csv module write and read, we read too; what is wrong is named."""

from __future__ import annotations

import csv
import gzip
import io

import numpy as np
import pandas as pd
import pytest
from cases import examples
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import bntk
from bntk import Table, Variable, read_table, set_threads
from bntk.data import tokens
from bntk.data.csv_files import _numbers_rows
from bntk.errors import ColumnWarning, DataError, ParseError, UnseenStateWarning


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("csv")


def read(folder, text, **options):
    path = folder / options.pop("name", "x.csv")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path, **options)


def cells(table: Table) -> list[list[object]]:
    """Labels by column, None for a missing one."""
    return [[[*v.states, None][code] for code in row] for v, row in zip(table.variables, table.codes, strict=True)]


nasty = st.text(st.sampled_from('ab,";\n\r \t|é\x00€012345678'), max_size=12)


@given(
    st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(nasty, min_size=n, max_size=n), min_size=1, max_size=9)),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(",;\t|"),
)
@example([["a\r", "b"]], "\n", csv.QUOTE_ALL, ",")
@settings(max_examples=examples(100, 300))
def test_what_the_csv_module_writes_reads_back(folder, rows, end, quoting, sep):
    # Before "\n", some versions of the module leave a carriage return without quotes, as if it ended the line.
    assume(end == "\r\n" or quoting == csv.QUOTE_ALL or not any("\r" in cell for row in rows for cell in row))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator=end, quoting=quoting, delimiter=sep)
    names = [f"c{i}" for i in range(len(rows[0]))]
    writer.writerow(names)
    writer.writerows(rows)
    text = stream.getvalue()
    for ending in (text, text.removesuffix(end)) if rows[-1][-1] or len(names) > 1 else (text,):
        known = [Variable(name, dict.fromkeys([*(row[i] for row in rows), "x"])) for i, name in enumerate(names)]
        table = read(folder, ending, sep=sep, types=str, missing=(), variables=known, unseen="error")
        assert cells(table) == [list(column) for column in zip(*rows, strict=True)]


plain = st.text(st.sampled_from('ab,"\n é€0123456789'), max_size=10).filter(lambda text: text.strip(" ") == text)


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(plain, min_size=n, max_size=n), min_size=1, max_size=9)))
@settings(max_examples=examples(60, 150))
def test_what_pandas_writes_reads_back_as_pandas_reads_it(folder, rows):
    frame = pd.DataFrame(rows, columns=[f"c{i}" for i in range(len(rows[0]))])
    path = folder / "pandas.csv"
    frame.to_csv(path, index=False)
    expected = pd.read_csv(path, dtype=str, keep_default_na=False)
    filled = [name for name in frame if (expected[name] != "").any()]
    if filled:
        table = read_table(path, types=str, columns=filled)
        assert [[cell or "" for cell in column] for column in cells(table)] == [
            expected[name].tolist() for name in filled
        ]


@given(st.lists(st.tuples(nasty, nasty), min_size=1, max_size=40), st.integers(1, 64), st.integers(1, 3))
@settings(max_examples=examples(60, 150))
def test_neither_threads_nor_spans_change_the_result(folder, rows, span, threads):
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([("a", "b"), *rows])
    with pytest.MonkeyPatch.context() as patch:
        whole = read(folder, stream.getvalue(), types=str, missing=["\x01"])
        patch.setattr(tokens, "SPAN", span)
        set_threads(threads)
        try:
            assert read(folder, stream.getvalue(), types=str, missing=["\x01"]) == whole
        finally:
            set_threads(None)


@pytest.mark.parametrize("n_labels", [15, 40, 255, 256, 257, 3000, 65_535])
def test_dictionaries_grow_with_the_number_of_labels(folder, n_labels):
    labels = [f"label{i}" if i % 2 else f"l{i}" for i in range(n_labels)]
    order = np.random.default_rng(0).permutation(np.tile(np.arange(n_labels), 2))
    text = "a,b\n" + "".join(f"{labels[i]},{i % 3}\n" for i in order)
    known = [Variable("a", labels), Variable("b", [0, 1, 2])]
    table = read(folder, text, variables=known, unseen="error")
    assert table.codes.tolist() == [order.tolist(), (order % 3).tolist()]


@pytest.mark.parametrize(
    ("values", "states"),
    [
        (["10", "9", "-1"], (-1, 9, 10)),
        (["007", "1", "2"], ("1", "2", "007")),
        (["1", "1.5", "1.0"], (1.0, 1.5)),
        (["1e3", "-.5"], (-0.5, 1000.0)),
        (["TRUE", "false", "True"], (False, True)),
        (["yes", "no"], ("no", "yes")),
        (["1", "x"], ("1", "x")),
        (["nan", "NA", "None", "1"], ("1", "NA", "nan", "None")),
        (["12345678901234567890", "12345678901234567891"], ("12345678901234567890", "12345678901234567891")),
        (["1e999", "2"], ("2", "1e999")),
        (["1_000", "2"], ("1_000", "2")),
    ],
)
def test_types_are_told_from_the_labels(folder, values, states):
    [variable] = read(folder, "x\n" + "\n".join(values)).variables
    assert sorted(map(repr, variable.states)) == sorted(map(repr, states))


def test_types_can_be_given(folder):
    text = "a,b,c\n1,1,1\n2,0,2\n"
    table = read(folder, text, types={"a": str, "c": float})
    assert [v.states for v in table.variables] == [("1", "2"), (0, 1), (1.0, 2.0)]
    assert type(table.variables[2].states[0]) is float
    with pytest.raises(DataError, match="column 'a': '1' is not of the type bool"):
        read(folder, text, types={"a": bool})
    with pytest.raises(ValueError, match="str, int, float or bool, not 'int'"):
        read(folder, text, types={"a": "int"})
    with pytest.raises(DataError, match="no column 'z'"):
        read(folder, text, types={"z": int})


def test_only_the_empty_cell_is_missing_unless_told_otherwise(folder):
    text = 'a,b\nNA,1\n,2\n"",3\n?,4\n'
    assert cells(read(folder, text))[0] == ["NA", None, None, "?"]
    assert cells(read(folder, text, missing=("", "NA", "?"), variables=[Variable("a", ["x"])])) == [[None] * 4]


def test_labels_are_compared_with_known_states_as_they_are_written(folder):
    known = [Variable("a", ["true", "false"]), Variable("b", ["1", "01"]), Variable("c", [1, 2])]
    assert read(folder, "a,b,c\ntrue,01,1.0\nfalse,1,2\n", variables=known).codes.tolist() == [[0, 1], [1, 0], [0, 1]]
    with pytest.warns(UnseenStateWarning, match=r"column 'c': \[7\] in 1 row"):
        read(folder, "a,b,c\ntrue,01,7\n", variables=known)
    with pytest.raises(DataError, match="column 'c', row 1: 7"):
        read(folder, "a,b,c\ntrue,1,1\ntrue,01,7\n", variables=known, unseen="error")


def test_columns_that_are_not_asked_for_are_not_coded(folder):
    text = "id,a\n" + "".join(f"row{i},{i % 2}\n" for i in range(70_000))
    assert read(folder, text, columns=["a"]).cards.tolist() == [2]
    with pytest.raises(DataError, match="column 'id' holds more than 65,535 distinct values, such as 'row0'"):
        read(folder, text)
    with pytest.raises(DataError, match=r"no column 'b'; it has \['id', 'a'\]"):
        read(folder, text, columns=["b"])
    with pytest.raises(DataError, match="columns 1 and 2 are both named 'a'"):
        read(folder, text, columns=["a", "a"])
    with pytest.raises(DataError, match="name at least one"):
        read(folder, text, columns=[])


@pytest.mark.parametrize("n", [300, 70_000])
def test_measurements_are_refused(folder, n):
    with pytest.raises(DataError, match=r"column 'x' holds .* distinct floats.*bntk\.Discretizer"):
        read(folder, "x\n" + "".join(f"{i}.5\n" for i in range(n)))


def test_blank_lines_byte_order_marks_and_line_ends_do_not_matter(folder):
    table = read(folder, "a,b\nx,1\ny,2\n")
    for text in ("\ufeffa,b\nx,1\ny,2", "\r\na,b\r\nx,1\r\n\r\ny,2\r\n\r\n", "\n\na,b\n\n\nx,1\ny,2\n\n\n"):
        assert read(folder, text) == table


def test_separators_are_told_from_the_suffix_and_the_header(folder):
    table = read(folder, "a,b\nx,1\n")
    assert read(folder, "a;b\nx;1\n") == table
    assert read(folder, "a\tb\nx\t1\n", name="x.tsv") == table
    assert read(folder, "a|b\nx|1\n", name="x.txt") == table
    assert read(folder, "a b\nx 1\n", sep=" ") == table
    with pytest.raises(ValueError, match="one ASCII character"):
        read(folder, "a,b\n", sep=",,")


def test_gzipped_files_are_unpacked(folder):
    assert read(folder, gzip.compress(b"a,b\nx,1\n"), name="x.csv.gz") == read(folder, "a,b\nx,1\n")
    for broken in (b"a,b\nx,1\n", gzip.compress(b"a,b\nx,1\n")[:-5]):
        with pytest.raises(ParseError, match=r"broken.csv.gz: not a whole gzip file"):
            read(folder, broken, name="broken.csv.gz")


def test_a_header_may_hold_quotes_and_line_ends(folder):
    assert read(folder, 'height 5",b\n1,2\n').names == ('height 5"', "b")
    assert read(folder, '"a ""1""\nx",b\n1,2\n').names == ('a "1"\nx', "b")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a,b\nx,1\ny\n", 3, "1 field in this record, but 2 columns"),
        ("a,b\nx,1,2\n", 2, "3 fields in this record, but 2 columns"),
        ('a,b\n"x\n\n",1\ny,2,3\n', 5, "3 fields"),
        ('a,b\nx,1\n"y,2\n\n', 3, "a quoted field starts here and never ends"),
        ('a,b\nx,1\n"y"z,2\n', 3, "text after the closing quote"),
        ('a,b\nx,"1"\rz\n', 2, "text after the closing quote"),
        ("", 0, "the file is empty"),
        ("\n\n", 0, "the file is empty"),
        (b"a,b\nx,1\n\xff\xfe,2\n", 3, "not UTF-8"),
        (b"a,\xe9\nx,1\n", 1, "not UTF-8"),
        ('a,"b\nx,1\n', 1, "header"),
        ('a,"b"c\nx,1\n', 1, "header"),
        ("a,b\rx,1\r", 1, "lines must end with a line feed"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_that_names_the_line(folder, text, line, message):
    with pytest.raises(ParseError, match=message) as caught:
        read(folder, text)
    assert caught.value.line == line
    assert caught.value.source == str(folder / "x.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,,c\n1,2,3\n", "column 2 has no name"),
        ("a,b,a\n1,2,3\n", "columns 1 and 3 are both named 'a'"),
        ("a,b\n1,\n2,\n", "column 'b' has no states: every cell is missing"),
        ("a,b\n", "column 'a' has no states: there are no rows"),
    ],
)
def test_columns_that_cannot_be_variables_are_refused(folder, text, message):
    with pytest.raises(DataError, match=message):
        read(folder, text)


def test_a_file_without_rows_is_a_table_when_the_states_are_known(folder):
    assert read(folder, "a,b\n", variables=[Variable("b", ["x"])]).n_rows == 0


def test_files_that_are_not_there_or_not_known(folder):
    with pytest.raises(FileNotFoundError):
        read_table(folder / "nowhere.csv")
    with pytest.raises(
        DataError, match=r"x.xlsx' from its suffix; the known ones are .csv, .tsv, .txt, .arff, .parquet"
    ):
        read_table(folder / "x.xlsx")
    with pytest.raises(DataError, match="suffix"):
        read_table(folder / "x.parquet.gz")
    with pytest.raises(ValueError, match="'csv', 'arff' or 'parquet'"):
        read_table(folder / "x.csv", format="excel")
    with pytest.raises(ValueError, match="for CSV"):
        read_table(folder / "x.arff", sep=",")
    assert read(folder, "a\nx\n", name="plain", format="csv").names == ("a",)


def test_a_mistake_in_a_later_span_is_reported_with_its_line(folder, monkeypatch):
    monkeypatch.setattr(tokens, "SPAN", 16)
    rows = [f"{i % 3},x" for i in range(100)]
    rows[77] = "1"
    with pytest.raises(ParseError, match="1 field") as caught:
        read(folder, "\n".join(["a,b", *rows]))
    assert caught.value.line == 79


# ---- files as other programs write them ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [1, 2, 9, 10, 11, 100, 1001])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_the_index_that_pandas_and_r_write_is_left_out(tmp_path, n_rows, first, quoting):
    frame = pd.DataFrame({"a": [f"x{i % 3}" for i in range(n_rows)], "b": [i % 2 for i in range(n_rows)]})
    frame.index += first
    frame.to_csv(tmp_path / "rows.csv", quoting=quoting)
    with pytest.warns(ColumnWarning, match="numbers the rows"):
        table = bntk.read_table(tmp_path / "rows.csv")
    assert table.names == ("a", "b")
    assert table.to_pandas()["a"].tolist() == frame["a"].tolist()


def test_an_index_beside_labels_with_line_ends_is_left_out(tmp_path):
    frame = pd.DataFrame({"text": ["one\ntwo", 'a "quoted" word', "plain"]})
    frame.to_csv(tmp_path / "rows.csv")
    with pytest.warns(ColumnWarning, match="numbers the rows"):
        assert bntk.read_table(tmp_path / "rows.csv").to_pandas()["text"].tolist() == frame["text"].tolist()


@pytest.mark.parametrize("numbers", [[2, 3], [0, 2], [0, 0], [1, 3], ["a", "b"], [10, 11], ["00", "01"], ["0x", "1"]])
def test_a_column_without_a_name_that_numbers_nothing_is_refused_unless_others_are_named(tmp_path, numbers):
    path = tmp_path / "rows.csv"
    path.write_text(f",a\n{numbers[0]},x\n{numbers[1]},y\n")
    with pytest.raises(DataError, match=r"column 1 has no name.*columns="):
        bntk.read_table(path)
    assert bntk.read_table(path, columns=["a"]).variable("a").states == ("x", "y")


@given(st.lists(st.integers(0, 12), min_size=1, max_size=30))
def test_only_consecutive_numbers_number_the_rows(numbers):
    text = "".join(f"{number},x\n" for number in numbers).encode()
    counts = numbers in ([*range(len(numbers))], [*range(1, len(numbers) + 1)])
    assert _numbers_rows(np.frombuffer(text, np.uint8), 0, ",") == counts


def test_other_encodings_are_read_and_suggested(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes("Stadt,n\nKöln,1\nUlm,2\n".encode("latin-1"))
    with pytest.raises(ParseError, match=r"line 2: not UTF-8.*latin-1"):
        bntk.read_table(path)
    assert bntk.read_table(path, encoding="latin-1").variable("Stadt").states == ("Köln", "Ulm")
    path.write_text("Stadt,n\nKöln,1\n", encoding="utf-16")
    assert bntk.read_table(path, encoding="utf-16").variable("Stadt").states == ("Köln",)
    path.write_text("Stadt\nKöln\n", encoding="utf-8")
    with pytest.raises(ParseError, match="not ascii text"):
        bntk.read_table(path, encoding="ascii")
    with pytest.raises(ValueError, match="klingon"):
        bntk.read_table(path, encoding="klingon")


def test_decimal_commas_are_read_and_suggested(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a;b;c\n1,5;x,1;2\n-2;y;3\n;y;4\n")
    with pytest.warns(ColumnWarning, match=r"\['a'\].*decimal"):
        assert set(bntk.read_table(path).variable("a").states) == {"-2", "1,5"}
    table = bntk.read_table(path, decimal=",")
    assert table.variable("a").states == (-2.0, 1.5)
    assert table.variable("b").states == ("x,1", "y")
    assert table.variable("c").states == (2, 3, 4)
    with pytest.raises(ValueError, match="both ','"):
        bntk.read_table(path, sep=",", decimal=",")
    with pytest.raises(ValueError, match=r"'\.' or ','"):
        bntk.read_table(path, decimal=";")

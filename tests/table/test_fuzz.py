"""Any bytes give a table or one of our errors; never a crash, a hang or another error."""

from __future__ import annotations

import gzip

import pytest
from cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from bntk import Table, read_table
from bntk.data import tokens
from bntk.errors import BntkError, ColumnWarning, ParseError

CSV = b'a,b,c\nx,1,"q, r"\ny,2,"say ""hi"""\r\n\xc3\xa9t\xc3\xa9,3,long enough for two words\n,,z\n'
ARFF = (
    b"% c\n@relation r\n@attribute a {x,'y z'}\n@attribute n numeric\n@attribute s string\n@data\n"
    b'x,1,foo\n\'y z\',2.5,"b\\"ar"\n?, ?,?\n'
)
SPARSE = b"@relation r\n@attribute a {x,'y z'}\n@attribute n numeric\n@data\n{0 'y z', 1 2}\n{}\n{1 ?}\n"


@st.composite
def mutated(draw, *originals):
    """A valid file with a few bytes replaced, removed, repeated or inserted."""
    data = bytearray(draw(st.sampled_from(originals)))
    pieces = st.sampled_from([b",", b'"', b"\n", b"\r", b"'", b"{", b"}", b"\\", b"%", b"\xff", b"\0", b"?", b" "])
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        removed = draw(st.integers(0, 5))
        data[at : at + removed] = draw(pieces | st.binary(max_size=4))
    return bytes(data)


def read_or_refused(path, data):
    path.write_bytes(data)
    try:
        return read_table(path)
    except (BntkError, ColumnWarning) as error:  # warnings are errors here
        return error


@pytest.mark.parametrize("span", [8 << 20, 7])
@pytest.mark.parametrize("name", ["x.csv", "x.arff"])
def test_any_bytes(tmp_path, name, span, monkeypatch):
    monkeypatch.setattr(tokens, "SPAN", span)
    valid = [CSV] if name == "x.csv" else [ARFF, SPARSE]
    header = b"a,b\n" if name == "x.csv" else b"@relation r\n@attribute a {x}\n@attribute b string\n@data\n"

    @given(
        mutated(*valid)
        | st.binary(max_size=60)
        | st.builds(
            lambda tail: header + tail, st.text(st.sampled_from("ab,\"\n\r '{}?0\\"), max_size=40).map(str.encode)
        )
    )
    @settings(max_examples=examples(100, 400))
    def check(data):
        assert isinstance(read_or_refused(tmp_path / name, data), (Table, BntkError, ColumnWarning))

    check()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("original", [CSV, ARFF, SPARSE], ids=["csv", "arff", "sparse"])
def test_every_cut_and_every_flip(tmp_path, original, packed):
    """Every length that a file may be cut at, and a flip of each bit of each byte: a table or one of our errors."""
    path = tmp_path / ("x.csv" if original is CSV else "x.arff")
    if packed:
        path, original = path.with_name(path.name + ".gz"), gzip.compress(original, mtime=0)
    for length in range(len(original)):
        assert isinstance(read_or_refused(path, original[:length]), (Table, BntkError, ColumnWarning))
    for at in range(len(original)):
        for bit in range(8):
            flipped = bytearray(original)
            flipped[at] ^= 1 << bit
            assert isinstance(read_or_refused(path, bytes(flipped)), (Table, BntkError, ColumnWarning))


def test_a_cut_gzip_file_is_never_a_table(tmp_path):
    whole = gzip.compress(CSV, mtime=0)
    for length in range(len(whole)):
        with pytest.raises(ParseError, match="gzip|empty"):
            read_table(_written(tmp_path / "x.csv.gz", whole[:length]))


def _written(path, data):
    path.write_bytes(data)
    return path

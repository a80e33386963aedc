"""Any bytes give a network or one ParseError; never a crash, a hang or another error."""

from __future__ import annotations

import gzip
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bntk
from bntk import CPT, BayesianNetwork, Variable
from bntk.classifiers import saving
from bntk.errors import NormalisationWarning, ParseError
from bntk.io import bif, dsl, json_network, net, uai, xdsl, xmlbif

MODULES = {".bif": bif, ".xmlbif": xmlbif, ".net": net, ".xdsl": xdsl, ".dsl": dsl, ".uai": uai, ".json": json_network}
PIECES = {
    ".bif": ["{", "}", "(", ")", ";", "|", '"', "//", "/*", "table", "default", "nan"],
    ".xmlbif": [
        "<",
        ">",
        "&",
        "/",
        "<!--",
        "]]>",
        "<!DOCTYPE BIF [",
        "<NAME>",
        "</NAME>",
        "&#0;",
        "<?x?>",
        "nan",
        "1e999",
    ],
    ".net": ["{", "}", "(", ")", "=", ";", "|", '"', "%", "\\", "node", "potential", "data", "nan", "-1"],
    ".xdsl": ["<", ">", "&", "/", '<property id="bntk_position">x</property>', "<state/>", "<parents>", "bntk_name"],
    ".dsl": [
        "{",
        "}",
        "(",
        ")",
        "=",
        ";",
        ",",
        '"',
        "/*",
        "//",
        "node x",
        "submodel",
        "PARENTS",
        "TYPE",
        "TRUTHTABLE",
        "nan",
    ],
    ".uai": ["0", "1", "-1", "99999999999", "1e999", "nan", "#", "BAYES", "MARKOV"],
    ".json": [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"',
        "null",
        "1e999",
        "NaN",
        "{}",
        "[]",
        "true",
        "-1",
        '"prior"',
        "\\ud800",
    ],
}


def small() -> BayesianNetwork:
    a, b = Variable("a", ["no", "yes"]), Variable("b c", ["<5", "é", "z"])
    network = BayesianNetwork.from_cpts([CPT(b, [[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]], [a]), CPT(a, [0.25, 0.75])])
    return bntk.fit(network.dag, network.sample(20, seed=0), prior=1)


@st.composite
def mutated(draw, original, pieces):
    """A valid file cut short, or with pieces replaced, repeated, moved or put in."""
    data = bytearray(original)
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        how = draw(st.sampled_from(["cut", "remove", "repeat", "move", "put", "bytes"]))
        if how == "cut":
            del data[start:]
        elif how == "remove":
            del data[start:end]
        elif how == "repeat":
            data[start:start] = data[start:end]
        elif how == "move":
            piece = data[start:end]
            del data[start:end]
            at = draw(st.integers(0, len(data)))
            data[at:at] = piece
        elif how == "put":
            data[start : start + draw(st.integers(0, 4))] = draw(st.sampled_from(pieces)).encode()
        else:
            data[start:end] = draw(st.binary(max_size=4))
    return bytes(data)


def read_or_refused(path, data):
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NormalisationWarning)
        try:
            return bntk.load(path)
        except ParseError as error:
            return error


@pytest.mark.parametrize("suffix", MODULES)
def test_any_bytes(tmp_path, suffix):
    original = MODULES[suffix].dump(small()).encode()
    seen = set()

    @given(mutated(original, PIECES[suffix]) | st.binary(max_size=60))
    @settings(max_examples=200)
    def check(data):
        outcome = read_or_refused(tmp_path / f"x{suffix}", data)
        assert isinstance(outcome, (BayesianNetwork, ParseError))
        seen.add(type(outcome))

    check()
    assert seen == {BayesianNetwork, ParseError}


def test_any_bytes_of_a_classifier(tmp_path):
    rows = bntk.datasets.sprinkler().sample(30, seed=0).to_pandas()
    original = saving.dump(bntk.TAN().fit(rows[["cloudy", "rain"]], rows["wet"])).encode()
    seen = set()

    @given(mutated(original, [*PIECES[".json"], '"object"', '"unsaved"', '"variable": 1']))
    @settings(max_examples=150)
    def check(data):
        outcome = read_or_refused(tmp_path / "x.json", data)
        assert isinstance(outcome, (bntk.TAN, ParseError))
        seen.add(type(outcome))

    check()
    assert ParseError in seen


def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(tmp_path):
    (tmp_path / "x.json.gz").write_bytes(gzip.compress(b" " * ((1 << 26) + 1), compresslevel=1))
    with pytest.raises(ParseError, match="unpacks to more than 67,108,864 bytes"):
        bntk.load(tmp_path / "x.json.gz")


@pytest.mark.parametrize("suffix", [".xmlbif", ".net", ".xdsl", ".dsl", ".uai", ".json"])
@pytest.mark.parametrize(
    "text",
    ['"' * 50_000, "<a>" * 50_000, "<!DOCTYPE a [" + "(" * 50_000, "%" * 50_000, "(" * 50_000, "node a {" * 10_000]
    + [
        "net { a = " + "(" * 50_000,
        "BAYES " + "1 " * 50_000,
        "<a b='" + "x" * 1_000_000,
        "/*" * 50_000,
        "net a {" * 50_000,
        "net a { b = " + "(" * 50_000,
        '"' + "\\" * 50_000,
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_is_refused_in_linear_time(suffix, text):
    with pytest.raises(ParseError):
        MODULES[suffix].parse(text)

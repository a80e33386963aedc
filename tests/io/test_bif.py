import csv
import gzip
import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import networks
from references import ORACLE, shared, true_network

import bntk
from bntk import CPT, BayesianNetwork, Variable
from bntk.errors import BntkError, DataError, NormalisationWarning, ParseError
from bntk.io import bif

TINY = """network tiny { property author someone; }
variable a { type discrete [ 2 ] { no, yes }; }
variable b { type discrete [ 3 ] { <5, 5-12, Asy/Patch }; }
probability ( a ) { table 0.25, 0.75; }
probability ( b | a ) {
  (no) 0.5, 0.25, 0.25;
  (yes) 0.125, 0.125, 0.75;
}
"""

names = st.text(min_size=1, max_size=8).filter(lambda s: s.strip() and '"' not in s and "\n" not in s)


@settings(max_examples=60)
@given(networks(), st.data())
def test_what_is_written_reads_back_to_the_last_bit(network, data):
    renamed = data.draw(st.lists(names, min_size=len(network.names), max_size=len(network.names), unique=True))
    states = [
        data.draw(st.lists(names, min_size=v.n_states, max_size=v.n_states, unique=True)) for v in network.variables
    ]
    variables = {v.name: Variable(n, s) for v, n, s in zip(network.variables, renamed, states, strict=True)}
    cpts = [CPT(variables[c.name], c.values, [variables[p.name] for p in c.parents]) for c in network.cpts]
    odd = BayesianNetwork.from_cpts(cpts)
    assert bif.parse(bif.dump(odd)) == odd


def test_the_reference_file_is_the_reference_network():
    network = bntk.load(ORACLE / "net8_true.bif")
    assert network == true_network("net8")


def repository() -> list[dict[str, str]]:
    try:
        index = shared("data/networks/INDEX.csv")
    except pytest.skip.Exception:
        return []
    return list(csv.DictReader(index.read_text().splitlines()))


@pytest.mark.parametrize("entry", repository(), ids=lambda entry: entry["name"])
def test_every_network_of_the_repository_is_read_and_written(entry):
    path = shared(f"data/networks/{entry['name']}.bif.gz")
    network = bntk.load(path)
    assert len(network.names) == int(entry["nodes"])
    assert network.dag.n_arcs == int(entry["arcs"])
    assert network.n_parameters == int(entry["parameters"])
    assert max(v.n_states for v in network.variables) == int(entry["max_states"])
    assert bif.parse(bif.dump(network)) == network


def test_repository_numbers_equal_pgmpy_s():
    readwrite = pytest.importorskip("pgmpy.readwrite", reason="pgmpy (the extra [pgmpy]) is not installed")
    text = gzip.decompress(shared("data/networks/insurance.bif.gz").read_bytes()).decode()
    theirs, ours = readwrite.BIFReader(string=text).get_model(), bif.parse(text)
    for cpd in theirs.get_cpds():
        cpt = ours.cpt(cpd.variable).reorder(cpd.variables[1:])
        np.testing.assert_allclose(np.moveaxis(cpd.values, 0, -1), cpt.values, atol=1e-9)


def test_state_names_with_odd_characters():
    network = bif.parse(TINY)
    assert network.variable("b").states == ("<5", "5-12", "Asy/Patch")
    assert network.cpt("b").probability("Asy/Patch", {"a": "yes"}) == 0.75


def test_the_forms_found_in_the_wild():
    text = """// a comment with { braces }
    network "dog problem" { }
    /* another
       one */
    variable "light on" { property "position = (1, 2)"; type discrete[2] { "tr,ue" "f}alse" }; property x; }
    variable family-out { type discrete [2] { true false } ; }
    probability ( family-out ) { table 0.15 0.85 ; } // trailing
    probability ( "light on" family-out ) { table 0.6 0.05 0.4 0.95 ; }
    """
    network = bif.parse(text)
    assert network.dag.arcs == (("family-out", "light on"),)
    # In a table list the child changes slowest, as JavaBayes writes it.
    assert network.cpt("light on").probability("tr,ue", {"family-out": "true"}) == 0.6
    assert network.cpt("light on").probability("f}alse", {"family-out": "false"}) == 0.95


def test_default_rows_fill_what_is_not_given():
    text = TINY.replace("(no) 0.5, 0.25, 0.25;", "default 0.5, 0.25, 0.25;")
    assert bif.parse(text) == bif.parse(TINY)


def test_windows_line_ends_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "tiny.bif"
    path.write_bytes(b"\xef\xbb\xbf" + TINY.replace("\n", "\r\n").encode())
    assert bntk.load(path) == bif.parse(TINY)


def test_rows_off_by_rounding_give_one_message():
    text = TINY.replace("0.25, 0.75;", "0.2501, 0.75;").replace("(no) 0.5,", "(no) 0.5004,")
    with pytest.warns(NormalisationWarning, match="within 0.0004") as caught:
        network = bif.parse(text)
    assert len(caught) == 1
    np.testing.assert_allclose(network.cpt("b").values.sum(-1), 1, rtol=1e-15)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("variable a {", "variabel a {", 2, "expected a block"),
        ("variable b {", "variable a {", 3, "'a' is declared twice"),
        ("[ 3 ]", "[ 4 ]", 3, "4 ] states are announced, 3 are listed"),
        ("{ no, yes }", "{ no, no }", 2, "'no' is given twice"),
        ("type discrete", "type continuous", 2, "type discrete"),
        ("( b | a )", "( b | z )", 5, "'z' is not declared"),
        ("( b | a )", "( b | b )", 5, "each once"),
        ("(no) 0.5", "(maybe) 0.5", 6, "'a' has no state 'maybe'"),
        ("(no) 0.5", "(yes) 0.5", 7, "is given twice"),
        ("(no) 0.5", "(no, no) 0.5", 6, "2 states for the 1 parents"),
        ("0.5, 0.25, 0.25", "0.5, 0.5", 6, "has 3 states, but the row has 2 numbers"),
        ("0.5, 0.25, 0.25", "0.5, x, 0.25", 6, "not a list of numbers"),
        ("0.5, 0.25, 0.25", "0.9, 0.25, 0.25", 6, "sums to 1.4"),
        ("0.5, 0.25, 0.25", "-1e999, 0.25, 1e999", 6, "sums to nan"),
        ("0.5, 0.25, 0.25", "1e308, 1e308, 0", 6, "sums to inf"),
        ("table 0.25, 0.75", "table 0.25, 0.25, 0.5", 4, "needs 2 numbers"),
        ("  (no) 0.5, 0.25, 0.25;\n", "", 6, "2 parent configurations, but 1 rows"),
        ("probability ( a ) { table 0.25, 0.75; }\n", "", 8, r"no probability block for \['a'\]"),
        ("0.75;\n}", "0.75;\n", 5, "not closed"),
        ("( a )", "( a | b )", 4, "needs 6 numbers"),
    ],
)
def test_an_error_says_where_and_what(old, new, line, message):
    assert old in TINY
    with pytest.raises(ParseError, match=message) as error:
        bif.parse(TINY.replace(old, new, 1), source="tiny.bif")
    assert error.value.line == line
    assert error.value.column >= 1
    assert str(error.value).startswith(f"tiny.bif, line {line}, column ")


def test_a_cycle_is_named():
    text = TINY.replace("probability ( a ) { table 0.25, 0.75; }", "probability ( a | b ) { default 0.25, 0.75; }")
    with pytest.raises(ParseError, match="cycle: a -> b -> a"):
        bif.parse(text)


def test_a_short_file_cannot_ask_for_a_huge_table():
    parents = [f"p{i}" for i in range(60)]
    text = "".join(f"variable {p} {{ type discrete [ 2 ] {{ 0, 1 }}; }}\n" for p in ["c", *parents])
    text += "".join(f"probability ( {p} ) {{ table 0.5, 0.5; }}\n" for p in parents)
    for row in ("default 0.5, 0.5;", ""):
        with pytest.raises(ParseError, match="entries|configurations"):
            bif.parse(f"{text}probability ( c | {', '.join(parents)} ) {{ {row} }}")


PIECES = ["{", "}", "(", ")", ";", ",", "|", '"', "//", "/*", "*/", "table", "default", "nan", "1e999", "\0", "\ue000"]
TWO_PARENTS = (
    TINY
    + """variable c { type discrete [ 2 ] { x y, z }; }
probability ( c | b, a ) {
  (<5, no) 0.5, 0.5;
  (5-12, no) 0.25, 0.75;
  (Asy/Patch, no) 1.0, 0.0;
  (<5, yes) 0.125, 0.875;
  (5-12, yes) 0, 1;
  (Asy/Patch, yes) 0.0625, 0.9375;
}
variable d { type discrete [ 2 ] { 0, 1 }; }
probability ( d | c, a ) { (x y, no) 1, 0; (z, no) 0, 1; (x y, yes) .5, .5; (z, yes) 1, 0; }
"""
)


def outcome_of(text: str) -> BayesianNetwork | str:
    """The network, or what is wrong and where."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bif, "warn_normalised", lambda *_: None)
        try:
            return bif.parse(text)
        except ParseError as error:
            return str(error)


def mutations(text: str, n: int) -> Iterator[str]:
    rng = random.Random(0)
    for _ in range(n):
        changed = list(text)
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(changed))
            changed[at : at + rng.randrange(3)] = rng.choice([*PIECES, "", rng.choice(text)])
        yield "".join(changed)


def test_mutated_files_give_a_network_or_one_error():
    outcomes = [type(outcome_of(text)) for text in mutations(TINY, 1500)]
    assert min(outcomes.count(BayesianNetwork), outcomes.count(str)) > 50


def test_tables_read_as_a_whole_are_those_read_row_by_row(monkeypatch):
    texts = [TINY, TWO_PARENTS, *mutations(TINY, 1500), *mutations(TWO_PARENTS, 3000)]
    as_a_whole = [outcome_of(text) for text in texts]
    assert isinstance(as_a_whole[1], BayesianNetwork)
    monkeypatch.setattr(bif._Reader, "_written_out", lambda *_: None)
    row_by_row = [outcome_of(text) for text in texts]
    assert as_a_whole == row_by_row
    assert sum(isinstance(each, BayesianNetwork) for each in row_by_row) > 100


def test_one_parent_s_state_with_a_blank_needs_quotes():
    text = TWO_PARENTS + "variable e { type discrete [ 1 ] { 0 }; }\nprobability ( e | c ) { (x y) 1; (z) 1; }"
    with pytest.raises(ParseError, match="2 states for the 1 parents"):
        bif.parse(text)
    assert bif.parse(text.replace("(x y) 1", '("x y") 1')).cpt("e").values.tolist() == [[1.0], [1.0]]


@settings(max_examples=200)
@given(st.text(alphabet=st.sampled_from('variable probability type discrete [2]{}()|,;"/*\n01.a'), max_size=80))
def test_any_text_gives_a_network_or_one_error(text):
    try:
        outcome = bif.parse(text)
    except ParseError as error:
        outcome = error
    assert isinstance(outcome, BayesianNetwork) or outcome.line >= 1


@pytest.mark.parametrize("text", ['"' * 50_000, "/*" * 50_000, "{" * 50_000, "variable a {" * 5_000, "(" * 50_000])
def test_hostile_text_is_refused_in_linear_time(text):
    with pytest.raises(ParseError):
        bif.parse(text)


# ---- files ---------------------------------------------------------------------------------------------------


def test_files_are_compressed_by_suffix_and_the_same_every_time(tmp_path):
    network = bntk.datasets.asia()
    for name in ("asia.bif", "asia.bif.gz", "ASIA.BIF"):
        network.save(tmp_path / name)
        assert bntk.load(tmp_path / name) == network
    first = (tmp_path / "asia.bif.gz").read_bytes()
    assert gzip.decompress(first) == (tmp_path / "asia.bif").read_bytes()
    network.save(tmp_path / "asia.bif.gz")
    assert (tmp_path / "asia.bif.gz").read_bytes() == first


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "asia.bif"
    bntk.datasets.asia().save(path)
    before = path.read_bytes()
    quote = BayesianNetwork.from_cpts([CPT(Variable('say "no"', ["a", "b"]), [0.5, 0.5])])
    with pytest.raises(DataError, match="BIF cannot hold the variable name"):
        quote.save(path)

    def crash(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", crash)
    with pytest.raises(OSError, match="disk full"):
        bntk.datasets.sprinkler().save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["asia.bif"]


def test_states_written_alike_are_refused():
    network = BayesianNetwork.from_cpts([CPT(Variable("a", [1, "1"]), [0.5, 0.5])])
    with pytest.raises(DataError, match="'a' has two states that are written alike"):
        bif.dump(network)


def test_integer_states_become_text_that_still_matches_integers():
    network = BayesianNetwork.from_cpts([CPT(Variable("a", [1, 2]), [0.25, 0.75])])
    again = bif.parse(bif.dump(network))
    assert again.variable("a").states == ("1", "2")
    assert again.log_likelihood({"a": [1, 2]}) == network.log_likelihood({"a": [1, 2]})


def test_unreadable_files_are_told(tmp_path):
    with pytest.raises(DataError, match=r"'.docx' is no known network format; known are \['.bif'"):
        bntk.load(tmp_path / "x.docx")
    with pytest.raises(FileNotFoundError):
        bntk.load(tmp_path / "absent.bif")
    (tmp_path / "bad.bif.gz").write_bytes(b"not gzip")
    with pytest.raises(ParseError, match=r"bad.bif.gz: not a whole gzip file"):
        bntk.load(tmp_path / "bad.bif.gz")
    (tmp_path / "latin.bif").write_bytes(b"network x {\n}\nvariable \xe9 {")
    with pytest.raises(ParseError, match=r"line 3: not UTF-8"):
        bntk.load(tmp_path / "latin.bif")
    assert issubclass(ParseError, BntkError)

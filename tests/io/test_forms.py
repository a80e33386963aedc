"""Forms of files that other programs write or accept, beside the plainest one of each format."""

import numpy as np
import pytest

import bntk
from bntk import CPT, BayesianNetwork, Variable
from bntk.errors import DataError, NormalisationWarning, ParseError
from bntk.io import FORMATS, bif, dsl, net, uai, xdsl, xmlbif

A = Variable("a", ["no", "yes"])
TINY = BayesianNetwork.from_cpts(
    [CPT(A, [0.25, 0.75]), CPT(Variable("b", ["x", "y"]), [[0.5, 0.5], [0.125, 0.875]], [A])]
)


# ---- rows that do not sum to one -------------------------------------------------------------------------------


def counted(suffix: str) -> str:
    """The file of a network with 0.25, 0.75 written as 10, 30."""
    text = FORMATS[suffix].dump(TINY)
    for old, new in (("0.25", "10"), ("0.75", "30")):
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("suffix", [s for s in FORMATS if s != ".net"])
def test_an_unnormalised_table_is_refused_with_the_way_out_which_works(suffix, tmp_path):
    path = tmp_path / f"x{suffix}"
    path.write_text(counted(suffix))
    with pytest.raises(ParseError, match=r"sums to 40; .*load\(\.\.\., normalize=True\) divides each row"):
        bntk.load(path)
    found = bntk.load(path, normalize=True)
    assert [np.array_equal(c.values, d.values) for c, d in zip(found.cpts, TINY.cpts, strict=True)] == [True, True]


def test_hugin_s_tables_are_normalised_with_one_message(tmp_path):
    path = tmp_path / "x.net"
    path.write_text(counted(".net"))
    with pytest.warns(NormalisationWarning, match=r"as Hugin does; the first of P\(a\) sums to 40") as caught:
        assert bntk.load(path) == TINY
    assert len(caught) == 1
    assert bntk.load(path, normalize=True) == TINY


@pytest.mark.parametrize("row", ["0, 0", "-1, 2", "nan, 1", "inf, 1"])
def test_rows_that_cannot_be_divided_are_refused_and_no_way_out_is_promised(row):
    text = bif.dump(TINY).replace("0.25, 0.75", row)
    for normalize in (False, True):
        with pytest.raises(ParseError, match=r"P\(a\): the row") as error:
            bif.parse(text, normalize=normalize)
        assert "normalize" not in str(error.value)


def test_what_sums_to_one_keeps_every_bit_and_large_numbers_do_not_overflow():
    values = np.random.default_rng(0).dirichlet([1] * 7, size=50)
    parent = Variable("p", range(50))
    network = BayesianNetwork.from_cpts([CPT.uniform(parent), CPT(Variable("c", range(7)), values, [parent])])
    text = uai.dump(network)
    assert uai.parse(text, normalize=True).cpt("x1").values.tobytes() == uai.parse(text).cpt("x1").values.tobytes()
    large = uai.parse("BAYES 1 2 1 1 0 2 1e308 1e308", normalize=True)
    np.testing.assert_array_equal(large.cpt("x0").values, [0.5, 0.5])


class Own:
    """A format of one's own, whose ``parse`` knows nothing of rows that do not sum to one."""

    reads_bytes = False

    @staticmethod
    def parse(text, source=""):
        return TINY


def test_a_format_of_one_s_own_without_normalize_says_so(tmp_path, monkeypatch):
    path = tmp_path / "x.own"
    path.write_text("x")
    monkeypatch.setattr(bntk.io, "format_of", lambda path: Own)
    assert bntk.load(path) == TINY
    with pytest.raises(DataError, match=r"the format Own cannot be read with normalize=True"):
        bntk.load(path, normalize=True)


# ---- UAI, BIF, XMLBIF ------------------------------------------------------------------------------------------


def test_comments_in_uai_files_are_skipped_and_lines_are_still_counted():
    text = "BAYES # kind\n2\n2 2\n2\n1 0 # the first\n2 0 1# the second\n\n2\n 0.25 0.75\n4\n"
    text += " 0.5 0.5 # 3 4\n 0.125 0.875\n"
    assert uai.parse(text).cpt("x1").values.tolist() == [[0.5, 0.5], [0.125, 0.875]]
    with pytest.raises(ParseError, match="line 12: .* is not a number"):
        uai.parse(text.replace("0.125", "y"))
    assert uai.parse_model("# nothing before\nMARKOV 1 2 1 1 0 2 3 4 #").tables[0].tolist() == [3, 4]


def test_uai_without_variables():
    assert uai.parse("BAYES\n") == uai.parse("BAYES 0 0") == BayesianNetwork(bntk.DAG([]), [])


@pytest.mark.parametrize(
    "text",
    [
        "network n { property version 1.0; }\n",
        "net n {};",
        "net {}",
        "<BIF><NETWORK><NAME>n</NAME></NETWORK></BIF>",
        "<smile><nodes></nodes></smile>",
    ],
)
def test_a_network_without_variables(text):
    module = {"net": net, "<BI": xmlbif, "<sm": xdsl}[text[:3]]
    module = bif if text.startswith("network") else dsl if text.startswith("net n") else module
    assert module.parse(text).names == ()


def test_rows_of_bif_may_be_separated_by_blanks():
    text = """network n { property author someone; }
    variable a { type discrete[2] {no yes}; }  variable b { type discrete [ 3 ] { x, y z }; }
    probability (a) { default 0.25 0.75; }
    probability (b | a) { (no) 0.5, 0.25 0.25; (yes) 0.125 0.125 0.75; }"""
    text = text.replace("x, y z", "x y z")
    found = bif.parse(text)
    assert found.cpt("b").values.tolist() == [[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]]
    two = text + "variable c { type discrete [2] {u, v}; } probability (c | a b) { default 0.5 0.5; (yes z) 1 0; }"
    assert bif.parse(two).cpt("c").values[1, 2].tolist() == [1, 0]
    with pytest.raises(ParseError, match="not a list of numbers"):
        bif.parse(text.replace("0.5, 0.25 0.25", "0.5,, 0.25 0.25"))


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_blanks_before_the_xml_declaration(encoding, tmp_path):
    bn = TINY.rename({"a": "café"})
    text = "\n \n" + xmlbif.dump(bn).replace("UTF-8", encoding)
    path = tmp_path / "x.xmlbif"
    path.write_bytes(text.encode(encoding))
    assert bntk.load(path) == bn
    path.write_bytes(text.replace("<FOR>b<", "<FOR>q<").encode(encoding))
    with pytest.raises(ParseError) as error:
        bntk.load(path)
    lines = text.split("\n")
    assert "TABLE" in lines[error.value.line - 1]
    xml = tmp_path / "x.xdsl"
    xml.write_text("\n" + xdsl.dump(TINY))
    assert bntk.load(xml) == TINY


def test_a_comment_with_one_hyphen_gets_a_hint():
    text = xmlbif.dump(TINY).replace("<NETWORK>", "<!- a network ->\n<NETWORK>")
    with pytest.raises(ParseError, match=r"a comment is written <!-- \.\.\. -->"):
        xmlbif.parse(text)
    with pytest.raises(ParseError) as error:
        xmlbif.parse(xmlbif.dump(TINY).replace("<FOR>", "<FOR", 1))
    assert "comment" not in str(error.value)


# ---- DSL -------------------------------------------------------------------------------------------------------

GENIE = """net Unnamed
{
 HEADER = { ID = Unnamed; NAME = "Unnamed"; };
 CREATION = { };
 NUMSAMPLES = 1000;
 SCREEN = { POSITION = { CENTER_X = 0; CENTER_Y = 0; WIDTH = 76; HEIGHT = 36; }; COLOR = 16250597; };
 DOCUMENTATION = { };  // nothing
 submodel Inner {
  HEADER = { ID = Inner; NAME = "Inside"; };
  node cause {
   TYPE = CPT;
   HEADER = { ID = cause; NAME = "The \\"cause\\" of it"; };
   SCREEN = { POSITION = { CENTER_X = 168; CENTER_Y = 229; WIDTH = 72; HEIGHT = 48; }; FONT = 1; };
   PARENTS = ();
   DEFINITION = { NAMESTATES = (none, little, much); PROBABILITIES = (0.5, 0.25, /* rest */ 0.25); };
   EXTRA_DEFINITION = { FAULT_NAMES = ("", "", ""); DOCUMENTATION = { }; DOCUMENTATION = { }; QUESTION = ""; };
  };
 };
 node alarm {
  TYPE = TRUTHTABLE;
  HEADER = { ID = alarm; NAME = "alarm"; };
  PARENTS = (cause, shield);
  DEFINITION = { NAMESTATES = (off, on); RESULTINGSTATES = (off, off, on, off, on, on); };
 };
 node shield {
  TYPE = CPT;
  HEADER = { ID = shield; NAME = "shield"; };
  PARENTS = ();
  DEFINITION = { NAMESTATES = (down, up); PROBABILITIES = (0.1, 0.9); };
 };
 OBSERVATION_COST = { node cause { PARENTS = (); COSTS = (0.00000000); }; };
};
"""


def test_a_file_as_genie_writes_it():
    found = dsl.parse(GENIE)
    assert found.names == ("cause", "alarm", "shield")
    assert found.dag.arcs == (("cause", "alarm"), ("shield", "alarm"))
    assert found.cpt("alarm").probability("on", {"cause": "little", "shield": "down"}) == 1
    assert found.cpt("alarm").probability("on", {"cause": "little", "shield": "up"}) == 0
    assert found.positions == {"cause": (168.0, 229.0)}
    assert found.labels == {"cause": 'The "cause" of it'}
    assert dsl.parse(dsl.dump(found)) == found


def test_dsl_files_may_be_latin_1(tmp_path):
    path = tmp_path / "x.dsl"
    path.write_bytes(GENIE.replace("The ", "Thé ").encode("latin-1"))
    assert bntk.load(path).labels == {"cause": 'Thé "cause" of it'}
    path.write_bytes(GENIE.replace("The ", "Thé ").encode("utf-8-sig"))
    assert bntk.load(path).labels == {"cause": 'Thé "cause" of it'}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("TYPE = TRUTHTABLE", "TYPE = LIST", "'alarm' has the TYPE LIST; only tables"),
        ("RESULTINGSTATES = (off", "RESULTINGSTATES = (of", "'alarm' has no state 'of'"),
        ("PROBABILITIES = (0.1", "COSTS = (0.1", "'shield' has no PROBABILITIES"),
        ("net Unnamed", "network Unnamed", "expected 'net NAME {'"),
        ("};\n}", "};\n}};", "expected the end of the file"),
        ('"Inside"', '"Inside', "a quote that is not closed|expected"),
        ("CREATION = { }", "CREATION = " + "{ a = " * 60, "blocks are more than 50 deep"),
    ],
)
def test_what_is_wrong_in_a_dsl_file_is_told_with_its_line(old, new, message):
    assert old in GENIE
    with pytest.raises(ParseError, match=message) as error:
        dsl.parse(GENIE.replace(old, new, 1) if not old.startswith("};") else GENIE + "x")
    assert error.value.line >= 1


# ---- labels ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".json", ".net", ".xdsl", ".dsl"])
def test_the_text_of_a_node_is_its_label_and_survives(suffix, tmp_path):
    labelled = BayesianNetwork(TINY.dag, TINY.cpts, labels={"a": 'Was it a <very> "long" day?', "b": "b"})
    assert labelled.labels == {"a": 'Was it a <very> "long" day?'}
    for network in (labelled, labelled.rename({"b": "b c"}), TINY):
        path = tmp_path / f"x{suffix}"
        network.save(path)
        again = bntk.load(path)
        assert again == network
        assert again.labels == network.labels


def test_labels_of_files_of_genie_and_hugin():
    text = xdsl.dump(TINY).replace("<name>a</name>", "<name>Visit to Asia (within a year)</name>")
    assert xdsl.parse(text).labels == {"a": "Visit to Asia (within a year)"}
    text = net.dump(TINY).replace("node a\n{\n", 'node a\n{\n  label = "Visit to Asia";\n')
    assert net.parse(text).labels == {"a": "Visit to Asia"}
    assert net.parse(text.replace('"Visit to Asia"', '""')).labels == {}


def test_labels_stay_with_networks_that_are_made_of_one():
    bn = bntk.fit(TINY.dag, TINY.sample(20, seed=0), variables=TINY.variables, prior=1)
    bn = BayesianNetwork(bn.dag, bn.cpts, prior=bn.prior, labels={"a": "first"})
    for other in (bn.update(TINY.sample(5)), bn.do({"b": "x"}), bn.add_state("b", "z"), bn.remove_arc("a", "b")):
        assert other.labels == {"a": "first"}
    assert bn.rename({"a": "c"}).labels == {"c": "first"}
    assert bn.remove_variable("a").labels == {}
    with pytest.raises(bntk.errors.NetworkError, match="the label of 'a' must be"):
        BayesianNetwork(TINY.dag, TINY.cpts, labels={"a": 3})
    with pytest.raises(bntk.errors.UnknownNameError, match="'q'"):
        BayesianNetwork(TINY.dag, TINY.cpts, labels={"q": "x"})

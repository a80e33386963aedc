"""Every format holds what it says it holds, and reads what other software writes."""

from __future__ import annotations

import functools
import gzip
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import networks
from references import SHARED

import bntk
from bntk import CPT, BayesianNetwork, NoisyOr, Variable
from bntk.errors import DataError, NetworkError, NormalisationWarning, ParseError, UnknownNameError
from bntk.io import bif, dsl, from_pgmpy, json_network, net, to_pgmpy, uai, xdsl, xmlbif

WRITTEN = Path(__file__).parent / "written"
NAMED = [xmlbif, net, xdsl, dsl, json_network]
SUFFIXES = [".json", ".xmlbif", ".bifxml", ".xml", ".net", ".xdsl", ".dsl"]
REPOSITORY = sorted((SHARED / "data/networks").glob("*.bif.gz"))


@functools.lru_cache(maxsize=1)  # for the formats, which are tried one after the other
def from_repository(path):
    if path is None:
        pytest.skip("../shared/data/networks is not here")
    return bntk.load(path)


def short(module):
    return module.__name__.rpartition(".")[2]


def renamed(network, names, states):
    """The network with other names and, in the order of its variables, other states."""
    new = {v.name: Variable(n, s) for v, n, s in zip(network.variables, names, states, strict=True)}
    cpts = [CPT(new[c.name], c.values, [new[p.name] for p in c.parents]) for c in network.cpts]
    return BayesianNetwork.from_cpts(cpts)


# ---- there and back ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", NAMED, ids=short)
@pytest.mark.parametrize("path", REPOSITORY or [None], ids=lambda p: p.name if p else "absent")
def test_every_network_of_the_repository_survives(module, path):
    network = from_repository(path)
    assert module.parse(module.dump(network)) == network


@pytest.mark.parametrize("path", REPOSITORY or [None], ids=lambda p: p.name if p else "absent")
def test_uai_keeps_the_structure_and_the_numbers(path):
    network = from_repository(path)
    again = uai.parse(uai.dump(network))
    assert again.dag.parent_indices == network.dag.parent_indices
    assert all(np.array_equal(a.values, b.values) for a, b in zip(again.cpts, network.cpts, strict=True))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["asia", "sprinkler"])
def test_files_are_read_and_written_by_their_suffix(tmp_path, suffix, name):
    network = getattr(bntk.datasets, name)()
    for path in (tmp_path / f"x{suffix}", tmp_path / f"x{suffix.upper()}.gz"):
        network.save(path)
        assert bntk.load(path) == network
    assert gzip.decompress(path.read_bytes()) == (tmp_path / f"x{suffix}").read_bytes()


any_text = st.text(min_size=1, max_size=6)
odd = st.sampled_from(
    [
        "a b",
        " a",
        "a ",
        '"',
        "'",
        "\\",
        "\\n",
        "a\nb",
        "\t",
        "<5",
        ">=5",
        "a&b",
        "&amp;",
        "]]>",
        "<!--",
        "%",
        "1",
        "0.5",
    ]
    + ["-1", "Straße", "日本", "(", ")", "{", "};", "=", "|", "x,y", "data", "node", "net", "5", "_", "\u2028", "😀"]
)
in_xml = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=[*map(chr, range(32)), "\ufffe", "\uffff"]),
    min_size=1,
    max_size=6,
)
in_utf8 = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
texts = {xmlbif: in_xml, net: in_utf8, xdsl: any_text, dsl: any_text, json_network: any_text}


@pytest.mark.parametrize("module", NAMED, ids=short)
def test_any_name_survives(module, tmp_path):
    names = texts[module] | odd
    path = tmp_path / f"x.{ {'json_network': 'json'}.get(short(module), short(module)) }"

    @settings(max_examples=80)
    @given(networks(), st.data())
    def check(network, data):
        n = len(network.names)
        # XML readers cut blanks off what is not marked; a name of blanks alone is refused by Variable itself.
        name_list = data.draw(st.lists(names.filter(str.strip), min_size=n, max_size=n, unique=True))
        states = [
            data.draw(st.lists(names, min_size=v.n_states, max_size=v.n_states, unique=True)) for v in network.variables
        ]
        network = renamed(network, name_list, states)
        network.save(path)
        assert bntk.load(path) == network

    check()


@pytest.mark.parametrize("module", NAMED, ids=short)
def test_a_noisy_node_is_written_as_its_table(module):
    rain, wet = Variable("rain", ["no", "yes"]), Variable("wet", ["no", "yes"])
    network = BayesianNetwork.from_cpts([CPT(rain, [0.8, 0.2]), NoisyOr(wet, {rain: 0.9}, leak=0.01)])
    assert module.parse(module.dump(network)) == network


@pytest.mark.parametrize("module", [bif, xmlbif, net, xdsl, dsl], ids=short)
def test_numbers_as_states_become_text_that_still_finds_them(module):
    network = BayesianNetwork.from_cpts([CPT(Variable("a", [1, 2.5, "x"]), [0.25, 0.25, 0.5])])
    again = module.parse(module.dump(network))
    assert again.variable("a").states == ("1", "2.5", "x")
    assert again.log_likelihood({"a": [1, 2.5]}) == network.log_likelihood({"a": [1, 2.5]})


@pytest.mark.parametrize("module", [bif, xmlbif, net, xdsl, dsl], ids=short)
def test_states_written_alike_are_refused(module):
    network = BayesianNetwork.from_cpts([CPT(Variable("a", [1, "1"]), [0.5, 0.5])])
    with pytest.raises(DataError, match="'a' has two states that are written alike"):
        module.dump(network)


def test_what_a_format_cannot_hold_is_refused_and_the_old_file_stays(tmp_path):
    bell = BayesianNetwork.from_cpts([CPT(Variable("a\x07", ["x", "y"]), [0.5, 0.5])])
    half = BayesianNetwork.from_cpts([CPT(Variable("a\ud800", ["x", "y"]), [0.5, 0.5])])
    for network, name in ((bell, "a.xmlbif"), (half, "a.xmlbif"), (half, "a.net"), (half, "a.bif")):
        bntk.datasets.asia().save(tmp_path / name)
        with pytest.raises(DataError, match="rename it"):
            network.save(tmp_path / name)
        assert bntk.load(tmp_path / name) == bntk.datasets.asia()


# ---- other software ------------------------------------------------------------------------------------------

ROWS = [[0.5, 0.25, 0.25], [0.125, 0.125, 0.75], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.05, 0.9, 0.05], [0.6, 0.15, 0.25]]


@pytest.mark.parametrize("path", sorted(WRITTEN.iterdir()), ids=lambda path: path.name)
def test_files_written_by_others(path):
    """The same network written by pgmpy 1.1.2 and pyAgrum 3.3.1."""
    network = bntk.load(path)
    assert {v.name: v.states for v in network.variables} == {
        "a": ("no", "yes"),
        "b": ("x1", "x2", "x3"),
        "c": ("low", "mid", "high"),
    }
    np.testing.assert_array_equal(network.cpt("a").values, [0.25, 0.75])
    np.testing.assert_array_equal(network.cpt("c").values, [0.2, 0.3, 0.5])
    np.testing.assert_array_equal(network.cpt("b").reorder(["a", "c"]).matrix, ROWS)


def test_rows_in_an_order_that_is_not_known_are_refused():
    text = (WRITTEN / "pyagrum.xdsl").read_text()
    with pytest.raises(ParseError, match="line 17.*in which order aGrUM 4 writes rows is not known"):
        xdsl.parse(text.replace("aGrUM 3.3.1", "aGrUM 4.0"))


# ---- positions -----------------------------------------------------------------------------------------------

POSITIONS = {"rain": (10.0, -20.0), "wet": (0.5, 1e-3)}


@pytest.mark.parametrize("suffix", ["json", "net", "xmlbif"])
def test_positions_survive_to_the_last_bit(suffix, tmp_path):
    sprinkler = bntk.datasets.sprinkler()
    assert sprinkler.positions is None
    drawn = BayesianNetwork(sprinkler.dag, sprinkler.cpts, positions=POSITIONS)
    drawn.save(tmp_path / f"x.{suffix}")
    again = bntk.load(tmp_path / f"x.{suffix}")
    assert again.positions == POSITIONS
    assert again == drawn == sprinkler
    sprinkler.save(tmp_path / f"x.{suffix}")
    assert bntk.load(tmp_path / f"x.{suffix}").positions is None


def test_xdsl_keeps_positions_in_whole_points():
    sprinkler = bntk.datasets.sprinkler()
    drawn = BayesianNetwork(sprinkler.dag, sprinkler.cpts, positions={"rain": (100, 200), "wet": (0.4, -7.6)})
    assert xdsl.parse(xdsl.dump(drawn)).positions == {"rain": (100.0, 200.0), "wet": (0.0, -8.0)}
    genie = bntk.load(WRITTEN / "pgmpy.xdsl").positions
    assert genie == {"a": (98.0, 59.0), "c": (63.0, 124.0), "b": (92.0, 120.0)}


def test_positions_of_other_programs():
    text = net.dump(TINY).replace('states = ("no" "yes");', 'states = ("no" "yes"); position = (10 20.5);')
    assert net.parse(text).positions == {"a": (10.0, 20.5)}
    assert net.parse(text.replace("20.5", "20.5 7")).positions is None  # no position: a picture is not worth an error
    text = xmlbif.dump(TINY).replace("<OUTCOME>x", "<PROPERTY>position = (73, 165)</PROPERTY><OUTCOME>x")
    assert xmlbif.parse(text).positions == {"b": (73.0, 165.0)}
    assert xmlbif.parse(text.replace("165", "inf")).positions is None


def test_positions_stay_when_a_network_learns_more_and_are_checked():
    asia = bntk.datasets.asia()
    fitted = bntk.fit(asia.dag, asia.sample(20, seed=0), prior=1)
    fitted = BayesianNetwork(fitted.dag, fitted.cpts, prior=fitted.prior, positions={"lung": (1, 2)})
    assert fitted.update(asia.sample(5, seed=1)).positions == {"lung": (1.0, 2.0)}
    assert fitted.do({"lung": "yes"}).positions == {"lung": (1.0, 2.0)}
    with pytest.raises(NetworkError, match="position of 'lung' must be two finite numbers"):
        BayesianNetwork(asia.dag, asia.cpts, positions={"lung": (1, float("nan"))})
    with pytest.raises(UnknownNameError, match="liver"):
        BayesianNetwork(asia.dag, asia.cpts, positions={"liver": (1, 2)})


def test_xmlbif_as_weka_writes_it():
    """With the document type inside, properties, and names from a data set."""
    text = """<?xml version="1.0"?>
<!-- DTD for the XMLBIF 0.3 format -->
<!DOCTYPE BIF [
    <!ELEMENT BIF ( NETWORK )*>
          <!ATTLIST BIF VERSION CDATA #REQUIRED>
    <!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )>
    <!ELEMENT NAME (#PCDATA)>
    <!ELEMENT VARIABLE ( NAME, ( OUTCOME |  PROPERTY )* ) >
          <!ATTLIST VARIABLE TYPE (nature|decision|utility) "nature">
    <!ELEMENT OUTCOME (#PCDATA)>
    <!ELEMENT DEFINITION ( FOR | GIVEN | TABLE | PROPERTY )* >
    <!ELEMENT FOR (#PCDATA)>
    <!ELEMENT GIVEN (#PCDATA)>
    <!ELEMENT TABLE (#PCDATA)>
    <!ELEMENT PROPERTY (#PCDATA)>
]>
<BIF VERSION="0.3">
<NETWORK>
<NAME>iris</NAME>
<VARIABLE TYPE="nature">
<NAME>petal</NAME>
<OUTCOME>&apos;\\&apos;(-inf-2.45]\\&apos;&apos;</OUTCOME>
<OUTCOME>&apos;\\&apos;(2.45-inf)\\&apos;&apos;</OUTCOME>
<PROPERTY>position = (0,0)</PROPERTY>
</VARIABLE>
<VARIABLE>
<NAME> class </NAME>
<OUTCOME>setosa</OUTCOME>
<OUTCOME>other</OUTCOME>
</VARIABLE>
<DEFINITION>
<FOR>petal</FOR>
<GIVEN>class</GIVEN>
<TABLE>
0.75 <!-- a comment --> 0.25
0.125 0.875
</TABLE>
</DEFINITION>
<DEFINITION><FOR>class</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>
</NETWORK>
</BIF>"""
    network = xmlbif.parse(text)
    assert network.dag.arcs == (("class", "petal"),)
    assert network.cpt("petal").probability(r"'\'(2.45-inf)\''", {"class": "other"}) == 0.875


def test_the_document_says_how_it_is_encoded(tmp_path):
    text = '<?xml version="1.0" encoding="{}"?>\n' + "\n".join(xmlbif.dump(bntk.datasets.asia()).splitlines()[1:])
    text = text.replace("smoke", "rauchtäglich")
    for encoding in ("utf-8", "iso-8859-1", "utf-16"):
        path = tmp_path / "x.xmlbif"
        path.write_bytes(text.format(encoding).encode(encoding))
        assert "rauchtäglich" in bntk.load(path).names
        assert "rauchtäglich" in xmlbif.parse(text.format(encoding)).names


def test_net_as_hugin_writes_it():
    text = """% made by hand
    class_free = 1;
    """
    with pytest.raises(ParseError, match="expected net, node or potential"):
        net.parse(text)
    text = """net
    {
        node_size = (80 40);  % a comment; with } and "
        HR_Color = "a \\"quoted\\" word";
    }
    discrete node smoker
    {
        label = "Does the patient smoke?";
        position = (10 20);
        states = ("no" "yes, daily");
        subtype = boolean;
    }
    node cough { states = (no yes); HR_State_0 = ""; }
    potential (smoker) { data = (0.75 0.25); }
    potential (cough | smoker)
    {
        experience = (1 2);
        data = ((0.9 0.1)   % smoker=no
                (0.5 0.5)); % smoker=yes, daily; really
    }"""
    network = net.parse(text)
    assert network.cpt("cough").probability("yes", {"smoker": "no"}) == 0.1
    assert network.variable("smoker").states == ("no", "yes, daily")


def test_nodes_that_xdsl_cannot_give_as_tables_are_named():
    text = '<smile><nodes><noisymax id="n"><state id="a"/><state id="b"/></noisymax></nodes></smile>'
    with pytest.raises(ParseError, match="'n' is a noisy-MAX node"):
        xdsl.parse(text)


def test_pgmpy_reads_what_we_write(tmp_path):
    readwrite = pytest.importorskip("pgmpy.readwrite", reason="pgmpy (the extra [pgmpy]) is not installed")
    ours = bntk.datasets.asia()
    readers = {"xmlbif": readwrite.XMLBIFReader, "net": readwrite.NETReader, "xdsl": readwrite.XDSLReader}
    for suffix, reader in readers.items():
        ours.save(tmp_path / f"asia.{suffix}")
        theirs = from_pgmpy(reader(str(tmp_path / f"asia.{suffix}")).get_model())
        for cpt in ours.cpts:
            again = theirs.cpt(cpt.name).reorder([p.name for p in cpt.parents])
            np.testing.assert_allclose(again.values, cpt.values, rtol=0, atol=1e-12)


def test_pyagrum_reads_what_we_write(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one that becomes an error while its extension is loaded ends the process
        import pyagrum

    ours = bntk.datasets.asia()
    for suffix in ("bifxml", "net"):
        ours.save(tmp_path / f"asia.{suffix}")
        theirs = pyagrum.loadBN(str(tmp_path / f"asia.{suffix}"))
        for cpt in ours.cpts:
            for index in np.ndindex(*cpt.values.shape):
                cell = {v.name: int(i) for v, i in zip(cpt.family, index, strict=True)}
                assert theirs.cpt(cpt.name)[cell] == pytest.approx(cpt.values[index], abs=1e-6)


def test_pgmpy_models_are_bridged_both_ways():
    pytest.importorskip("pgmpy", reason="pgmpy (the extra [pgmpy]) is not installed")
    for network in (bntk.datasets.asia(), bntk.datasets.sprinkler()):
        model = to_pgmpy(network)
        assert model.check_model()
        assert from_pgmpy(model) == network


# ---- errors --------------------------------------------------------------------------------------------------

TINY = BayesianNetwork.from_cpts(
    [
        CPT(a := Variable("a", ["no", "yes"]), [0.25, 0.75]),
        CPT(Variable("b", ["x", "y", "z"]), [[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]], [a]),
    ]
)


@pytest.mark.parametrize(
    ("module", "old", "new", "where", "message"),
    [
        (xmlbif, "<BIF ", "<SMILE ", "</BIF>", "not well-formed XML: mismatched tag"),
        (xmlbif, "<NAME>b", "<NAME>a", "<VARIABLE", "'a' is declared twice"),
        (xmlbif, "<OUTCOME>x", "<OUTCOME>y", "<VARIABLE", "'y' is given twice"),
        (xmlbif, "<GIVEN>a", "<GIVEN>q", "<TABLE>", "'q' is not declared"),
        (xmlbif, "<GIVEN>a", "<GIVEN>b", "<TABLE>", "has a variable twice"),
        (xmlbif, "0.5 0.25 0.25\n", "0.5 0.25 0.5\n", "<TABLE>", "sums to 1.25"),
        (xmlbif, "0.5 0.25 0.25\n", "0.5 0.5\n", "<TABLE>", "needs 6 numbers, got 5"),
        (xmlbif, "0.5 0.25 0.25\n", "0.5 x 0.25\n", "<TABLE>", "not a list of numbers"),
        (xmlbif, "<FOR>b</FOR>", "", "<DEFINITION>", "expected one <FOR>"),
        (xmlbif, '"nature">\n  <NAME>b', '"decision">\n  <NAME>b', "<VARIABLE", "TYPE nature"),
        (net, "node b", "nodule b", "nodule", "expected net, node or potential, found 'nodule'"),
        (net, "node b", "node a", "node a", "'a' is declared twice"),
        (net, "node b", "continuous node b", "continuous", "not 'continuous'"),
        (net, '"z")', '"z)', '"z)', "a quote that is not closed"),
        (net, '  states = ("x" "y" "z");\n', "", "node b", "'b' has no states"),
        (net, "(b | a)", "(b | q)", "data", "'q' is not declared"),
        (net, "((0.5 ", "((x ", "data", "not a list of numbers"),
        (net, "((0.5 ", "((-1 ", "data", "sums to -0.5"),
        (net, "  data = ((0.5", "  info = ((0.5", "potential (b", "'b' has no data"),
        (net, "0.75));", "0.75))", "data", "expected 'data"),
        (net, "  data = ((0.5", "  model_data = ((0.5", "model_data", "is an expression"),
        (xdsl, "<parents>a<", "<parents>q<", "<parents>", "the parent 'q' is no node"),
        (xdsl, ">0.5 0.25", ">0.75 0.25", '<cpt id="b"', "sums to 1.25"),
        (xdsl, 'id="b"', 'id="a"', '<cpt id="a"', "'a' is declared twice"),
        (xdsl, '<cpt id="b"', "<decision id='d'/><cpt id='b'", "<decision", "'d' is a decision"),
        (dsl, "ID = b", "ID = a", "{\n  TYPE = CPT;\n  HEADER =\n  {\n   ID = a", "'a' is declared twice"),
        (dsl, "PARENTS = (a)", "PARENTS = (q)", "PARENTS = (q)", "the parent 'q' is no node"),
        (dsl, "(0.5, 0.25", "(0.75, 0.25", "PROBABILITIES = (0.75", "sums to 1.25"),
        (dsl, "(0.5, 0.25", "(x, 0.25", "PROBABILITIES = (x", "not a list of numbers"),
        (dsl, "node a", "nodule a", "a\n {\n  TYPE", "expected '=' after 'nodule'"),
        (dsl, "TYPE = CPT", "TYPE = NOISY_MAX", "{\n  TYPE = NOISY_MAX", "has the TYPE NOISY_MAX"),
        (json_network, '"bntk network"', '"model"', None, "found 'model'"),
        (json_network, '"version": 1', '"version": 2', None, "version 2 of the format is not known"),
        (json_network, '["no", "yes"]', '["no", "yes"', '"yes"', "not JSON"),
        (json_network, '["no", "yes"]', '["no", null]', None, "None is no state"),
        (json_network, "[0.25, 0.75]", "[0.25, NaN]", '{"format', "NaN is no JSON"),
        (json_network, "[0.25, 0.75]", '[0.25, "0.75"]', None, "the table of 'a': values must be a list of finite"),
        (json_network, "[0.25, 0.75]", "[0.25, 1e999]", None, "finite numbers"),
        (uai, "BAYES", "MARKOV", "MARKOV", "a MARKOV model is not a Bayesian network"),
        (uai, "0.25 0.75\n", "0.25 0.5\n", None, "sums to 0.75"),
        (uai, "2 0 1\n", "2 1 0\n", None, "a second table for 'x0'"),
    ],
    ids=lambda value: short(value) if hasattr(value, "parse") else None,
)
def test_an_error_says_where_and_what(module, old, new, where, message):
    """``where`` is last found in the line that the error names; None where the format cannot say."""
    text = module.dump(TINY)
    assert old in text
    text = text.replace(old, new, 1)
    with pytest.raises(ParseError, match=message) as error:
        module.parse(text, source="tiny")
    assert error.value.line == (0 if where is None else text.count("\n", 0, text.rindex(where)) + 1)
    assert str(error.value).startswith("tiny")


@pytest.mark.parametrize("module", [*NAMED, uai], ids=short)
def test_a_cycle_is_named(module):
    b = Variable("b", ["x", "y"])
    text = module.dump(BayesianNetwork.from_cpts([CPT(b, [0.5, 0.5]), CPT(a, np.full((2, 2), 0.5), [b])]))
    one, two = np.full((2, 2), 0.5).tolist()
    looped = {
        xmlbif: ("<FOR>b</FOR>\n  <TABLE>\n0.5 0.5", "<FOR>b</FOR><GIVEN>a</GIVEN>\n  <TABLE>\n0.5 0.5 0.5 0.5"),
        net: ("potential (b)\n{\n  data = (0.5 0.5)", "potential (b | a)\n{\n  data = ((0.5 0.5) (0.5 0.5))"),
        xdsl: (
            '<state id="y" />\n      <probabilities>0.5 0.5',
            '<state id="y" /><parents>a</parents><probabilities>0.5 0.5 0.5 0.5',
        ),
        dsl: (
            "PARENTS = ();\n  DEFINITION =\n  {\n   NAMESTATES = (x, y);\n   PROBABILITIES = (0.5, 0.5)",
            "PARENTS = (a);\n  DEFINITION =\n  {\n   NAMESTATES = (x, y);\n   PROBABILITIES = (0.5, 0.5, 0.5, 0.5)",
        ),
        json_network: (
            '"child": "b", "values": [0.5, 0.5]',
            f'"child": "b", "parents": ["a"], "values": {[*one, *two]}',
        ),
        uai: ("\n1 0\n2 0 1\n\n2\n0.5 0.5\n", "\n2 1 0\n2 0 1\n\n4\n0.5 0.5 0.5 0.5\n"),
    }[module]
    assert looped[0] in text
    with pytest.raises(ParseError, match="the arcs form a cycle"):
        module.parse(text.replace(*looped))


@pytest.mark.parametrize("module", [*NAMED, uai], ids=short)
def test_rows_off_by_rounding_give_one_message(module):
    text = module.dump(TINY).replace("0.75", "0.7504")
    with pytest.warns(NormalisationWarning, match="within 0.0004") as caught:
        network = module.parse(text)
    assert len(caught) == 1
    np.testing.assert_allclose(network.cpts[1].values.sum(-1), 1, rtol=1e-15)


BOMB = """<!DOCTYPE BIF [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<BIF VERSION="0.3"><NETWORK><NAME>&b;</NAME></NETWORK></BIF>"""
EXTERNAL = """<!DOCTYPE BIF [<!ENTITY a SYSTEM "file:///etc/hostname">]>
<BIF VERSION="0.3"><NETWORK><NAME>&a;</NAME></NETWORK></BIF>"""
DEFAULTS = "<!DOCTYPE BIF [<!ATTLIST V a CDATA '" + "x" * 5000 + "'>]>\n<BIF>" + "<V/>" * 1000 + "</BIF>"


@pytest.mark.parametrize("text", [BOMB, EXTERNAL], ids=["entities", "external"])
def test_entities_are_refused(text):
    for module in (xmlbif, xdsl):
        with pytest.raises(ParseError, match="entities and external files are not read") as error:
            module.parse(text)
        assert error.value.line == 1


def test_an_external_document_type_is_not_looked_for():
    text = xmlbif.dump(TINY).replace("<BIF ", '<!DOCTYPE BIF SYSTEM "http://127.0.0.1:1/bif.dtd">\n<BIF ', 1)
    assert xmlbif.parse(text) == TINY
    with pytest.raises(ParseError, match="the entity &q; is not declared"):
        xmlbif.parse(text.replace("<NAME>a<", "<NAME>&q;<"))


def test_default_values_of_a_document_type_cannot_multiply():
    with pytest.raises(ParseError, match="too many default values"):
        xmlbif.parse(DEFAULTS)


@pytest.mark.parametrize("module", [bif, *NAMED, uai], ids=short)
def test_more_parents_than_an_array_has_axes_are_refused(module):
    """Parents with one state make a table that is small but has too many axes."""
    parents = [f"p{i}" for i in range(70)]
    text = {
        bif: "".join(
            f"variable {p} {{ type discrete [ 1 ] {{ s }}; }}\nprobability ( {p} ) {{ table 1; }}\n" for p in parents
        )
        + "variable c { type discrete [ 1 ] { s }; }\n"
        + f"probability ( c | {', '.join(parents)} ) {{ table 1; }}",
        net: "".join(f"node {p} {{ states = (s); }} potential ({p}) {{ data = (1); }}\n" for p in parents)
        + f"node c {{ states = (s); }} potential (c | {' '.join(parents)}) {{ data = (1); }}",
        xmlbif: "<BIF><NETWORK>"
        + "".join(f"<VARIABLE><NAME>{p}</NAME><OUTCOME>s</OUTCOME></VARIABLE>" for p in [*parents, "c"])
        + "".join(f"<DEFINITION><FOR>{p}</FOR><TABLE>1</TABLE></DEFINITION>" for p in parents)
        + "<DEFINITION><FOR>c</FOR>"
        + "".join(f"<GIVEN>{p}</GIVEN>" for p in parents)
        + "<TABLE>1</TABLE></DEFINITION></NETWORK></BIF>",
        dsl: "net n {"
        + "".join(f"node {p} {{ DEFINITION = {{ NAMESTATES = (s); PROBABILITIES = (1); }}; }};" for p in parents)
        + f"node c {{ PARENTS = ({', '.join(parents)});"
        + " DEFINITION = { NAMESTATES = (s); PROBABILITIES = (1); }; }; };",
        xdsl: "<smile><nodes>"
        + "".join(f'<cpt id="{p}"><state id="s"/><probabilities>1</probabilities></cpt>' for p in parents)
        + f'<cpt id="c"><state id="s"/><parents>{" ".join(parents)}</parents><probabilities>1</probabilities></cpt>'
        + "</nodes></smile>",
        json_network: '{"format": "bntk network", "version": 1, "variables": ['
        + ",".join(f'{{"name": "{p}", "states": ["s"]}}' for p in [*parents, "c"])
        + '], "tables": ['
        + "".join(f'{{"child": "{p}", "values": [1]}},' for p in parents)
        + f'{{"child": "c", "parents": {parents}, "values": [1]}}'.replace("'", '"')
        + "]}",
        uai: f"BAYES 71 {'1 ' * 71} 71 "
        + " ".join(f"1 {i}" for i in range(70))
        + f" 71 {' '.join(map(str, range(71)))} {'1 1 ' * 71}",
    }[module]
    with pytest.raises(ParseError, match="at most 3[12] can be held"):
        module.parse(text)


def test_a_short_file_cannot_ask_for_a_huge_table():
    states = "".join(f'<state id="s{i}"/>' for i in range(3000))
    results = f"<resultingstates>{'s0 ' * 3000}</resultingstates>"
    node = f'<deterministic id="d">{states}<parents>p</parents>{results}</deterministic>'
    root = f'<cpt id="p">{states}<probabilities>{"0 " * 2999} 1</probabilities></cpt>'
    with pytest.raises(ParseError, match="the table of 'd' would have 9,000,000 entries"):
        xdsl.parse(f"<smile><nodes>{root}{node}</nodes></smile>")
    with pytest.raises(ParseError, match="more states than the file has characters"):
        uai.parse("BAYES 1 4000000000 0")

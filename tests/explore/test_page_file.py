"""The file of a page: what is inside, what is not, and that nothing in it can be taken for something else."""

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from references import shared

import bntk
from bntk.errors import BntkError, ColumnWarning, DataError, NetworkError, TooLargeError, UnknownNameError
from bntk.explore import MAX_ENTRIES, html

NASTY = [
    "</script>", "<script>alert(1)</script>", "<!--", "-->", "<img src=x onerror=alert(1)>", "x\u2028\u2029",
    "'\"`${x}", "\\u003c", "]]>", "&lt;b&gt;", "</SCRIPT ", "{title}", "é 变 🂡", "\x00\x07",
]  # fmt: skip


class Parts(HTMLParser):
    """The elements of a page, and the text in each script and style."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.attributes = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append(dict(attrs))

    def handle_data(self, data):
        if self.tags and self.tags[-1] in ("script", "style", "title") and data.strip():
            self.texts.append((self.tags[-1], self.attributes[-1], data))


def parts(path):
    return Parts(path.read_text(encoding="utf-8"))


def model_in(path):
    [text] = [text for _, attributes, text in parts(path).texts if attributes.get("type") == "application/json"]
    return json.loads(text)


def script_in(page):
    """The script that is packed in a page, by Python's own unpacker."""
    [(size, packed)] = [(a["data-size"], text) for _, a, text in page.texts if a.get("id") == "bntk-script"]
    raw = zlib.decompress(base64.b64decode(packed), -15)
    assert len(raw) == int(size)
    return raw.decode()


def hashed(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def nasty_network():
    variables = [bntk.Variable(name, [name, "other " + name]) for name in NASTY]
    first, *others = variables
    cpts = [bntk.CPT(first, [0.4, 0.6]), *(bntk.CPT(v, [[0.1, 0.9], [0.5, 0.5]], [first]) for v in others)]
    return bntk.BayesianNetwork.from_cpts(cpts)


# ---- what is in the file ---------------------------------------------------------------------------------------------


def test_the_same_network_gives_the_same_file(tmp_path):
    first = bntk.datasets.asia().explore(tmp_path / "a.html", target="lung", given={"xray": "yes"})
    second = bntk.datasets.asia().explore(tmp_path / "b.html", target="lung", given={"xray": "yes"})
    assert first == tmp_path / "a.html"
    assert first.read_bytes() == second.read_bytes()


def test_the_model_has_the_tables_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    a, b = bntk.Variable("a", range(30)), bntk.Variable("b", range(20))
    tables = [rng.dirichlet(np.ones(30)), rng.dirichlet(np.ones(20), size=30)]
    network = bntk.BayesianNetwork.from_cpts([bntk.CPT(a, tables[0]), bntk.CPT(b, tables[1], [a])])
    found = model_in(network.explore(tmp_path / "x.html"))
    for written, v in zip(found["tables"], found["table"], strict=True):
        numbers = np.frombuffer(base64.b64decode(written), "<f8") if isinstance(written, str) else np.array(written)
        assert (numbers == network.cpts[v].values.ravel()).all()
    assert found["variables"][0]["literals"] == [str(k) for k in range(30)]


def test_equal_tables_are_there_once(tmp_path):
    rain = [bntk.Variable(f"rain {day}", ["no", "yes"]) for day in range(9)]
    table = np.array([[1 / 3, 2 / 3], [1 / 7, 6 / 7]])
    cpts = [bntk.CPT(rain[0], [0.5, 0.5]), *(bntk.CPT(b, table, [a]) for a, b in pairwise(rain))]
    found = model_in(bntk.BayesianNetwork.from_cpts(cpts).explore(tmp_path / "x.html"))
    assert len(found["tables"]) == 2


@pytest.mark.parametrize(("name", "limit"), [("asia", 120_000), ("alarm", 220_000)])
def test_files_are_small(tmp_path, name, limit):
    network = bntk.load(shared(f"data/networks/{name}.bif.gz"))
    assert network.explore(tmp_path / "x.html").stat().st_size < limit


def test_the_findings_to_begin_with_are_in_the_file(tmp_path):
    asia = bntk.datasets.asia()
    given = {"xray": "yes", "dysp": {"no": 0.25, "yes": 1}, "smoke": ["yes"], "lung": ["no", "yes"]}
    found = model_in(asia.explore(tmp_path / "x.html", given=given, soft={"asia": [0, 2]}, target="bronc"))
    assert found["case"] == {
        "observed": {"xray": "yes", "smoke": "yes"},
        "excluded": {},
        "likelihood": {"dysp": [0.25, 1], "asia": [0, 2]},
        "intervened": {},
    }
    assert found["target"] == asia.dag.index("bronc")


# ---- safety ----------------------------------------------------------------------------------------------------------


def test_no_name_can_leave_its_place(tmp_path):
    network = nasty_network()
    path = network.explore(tmp_path / "x.html", title="".join(NASTY[:5]), target=NASTY[0], given={NASTY[1]: NASTY[1]})
    plain = bntk.datasets.asia().explore(tmp_path / "y.html", title="asia")
    assert parts(path).tags == parts(plain).tags
    found = model_in(path)
    assert [variable["name"] for variable in found["variables"]] == NASTY
    assert found["title"] == "".join(NASTY[:5])
    text = path.read_text(encoding="utf-8")
    assert text.count("</script>") == 3
    assert "<!--" not in text
    assert "\u2028" not in text


def test_the_policy_allows_the_scripts_of_the_file_and_nothing_else(tmp_path):
    page = parts(bntk.datasets.asia().explore(tmp_path / "x.html"))
    [policy] = [a["content"] for a in page.attributes if a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert set(rules) == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}
    assert rules["img-src"] == "data: blob:"
    [style] = [text for tag, _, text in page.texts if tag == "style"]
    [script] = [text for tag, attributes, text in page.texts if tag == "script" and not attributes]
    assert rules["style-src"] == hashed(style)
    assert rules["script-src"] == f"{hashed(script)} {hashed(script_in(page))}"
    names = {name for attributes in page.attributes for name in attributes}
    assert not {name for name in names if name.startswith("on") or name == "style"}


def test_no_address_is_in_the_file_but_namespaces(tmp_path):
    path = bntk.datasets.asia().explore(tmp_path / "x.html")
    text = path.read_text(encoding="utf-8") + script_in(parts(path))
    addresses = set(re.findall(r"[a-z]+://[^\s\"'`)<>]*", text, re.IGNORECASE))
    assert {address for address in addresses if not address.startswith("http://www.w3.org/")} == set()
    assert not re.search(r"(src|href)=[\"'](?!data:)", text)


def test_half_of_a_surrogate_pair_is_no_obstacle(tmp_path, interpreter):
    variable = bntk.Variable("x\ud800", ["a", "\udc00b"])
    network = bntk.BayesianNetwork.from_cpts([bntk.CPT(variable, [0.25, 0.75])])
    found = model_in(network.explore(tmp_path / "x.html", title="\ud800", target="x\ud800"))
    assert found["variables"] == [{"name": "x\ud800", "states": ["a", "\udc00b"]}]
    interpreter.ask("model", found)
    assert interpreter.call("posterior", {}, 0) == [0.25, 0.75]
    assert interpreter.call("decodeCase", interpreter.call("encodeCase", {"observed": {0: 1}}))["problems"]


# ---- what is refused -------------------------------------------------------------------------------------------------


def wide(n):
    """A node with n parents of two states, and so a clique of 2^(n + 1) entries."""
    parents = [bntk.Variable(f"x{i}", ["no", "yes"]) for i in range(n)]
    child = bntk.Variable("y", ["no", "yes"])
    table = np.full((2,) * n + (2,), 0.5)
    cpts = [*(bntk.CPT(parent, [0.5, 0.5]) for parent in parents), bntk.CPT(child, table, parents)]
    return bntk.BayesianNetwork.from_cpts(cpts)


def test_cliques_that_are_too_large_are_refused_before_anything_is_written(tmp_path):
    path = tmp_path / "x.html"
    path.write_text("before")
    with pytest.raises(TooLargeError, match=r"4,194,304 entries together.* may run through 4,000,000"):
        wide(21).explore(path)
    assert MAX_ENTRIES == 4_000_000
    with pytest.raises(TooLargeError, match="40 entries together, and a page may run through 39"):
        bntk.datasets.asia().explore(path, max_entries=39)
    with pytest.raises(TooLargeError):
        bntk.datasets.asia().explore(max_entries=39)
    assert path.read_text() == "before"
    assert bntk.datasets.asia().explore(path, max_entries=40) == path


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"path": "x.txt"}, DataError, r"x.txt: the explorer writes .html"),
        ({"path": 3}, BntkError, "path"),
        ({"path": "no/such/folder/x.html"}, OSError, "no/such/folder"),
        ({"target": "lnug"}, UnknownNameError, "did you mean 'lung'"),
        ({"target": 3}, BntkError, "target"),
        ({"given": {"lung": "maybe"}}, UnknownNameError, "has no state 'maybe'"),
        ({"given": ["lung"]}, DataError, "given must map"),
        ({"soft": {"lung": [1]}}, DataError, "must be 2 numbers"),
        ({"title": 3}, BntkError, "title"),
        ({"max_entries": -1}, BntkError, "max_entries"),
    ],
)
def test_bad_arguments_are_named(tmp_path, monkeypatch, options, error, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=words):
        bntk.datasets.asia().explore(**options)
    assert list(tmp_path.iterdir()) == []


def test_a_network_without_variables_is_refused():
    with pytest.raises(NetworkError, match="no variables"):
        bntk.BayesianNetwork(bntk.DAG([], []), []).explore()


# ---- classifiers -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flowers():
    from sklearn.datasets import load_iris

    return load_iris(as_frame=True, return_X_y=True)


@pytest.mark.parametrize("model", [bntk.NaiveBayes(), bntk.TAN(), bntk.KDB(k=2), bntk.TAN(missing="state")])
def test_a_classifier_is_explored_with_its_class_as_target(tmp_path, interpreter, flowers, model):
    X, y = flowers
    model.set_params(numeric="mdl")
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    model = model.fit(X, y)
    found = model_in(model.explore(tmp_path / "x.html"))
    assert found["variables"][found["target"]]["name"] == "target"
    interpreter.ask("model", found)
    for row in (0, 60, 140):
        cells = X.iloc[row].dropna()
        numbers = {name: interpreter.call("variableOf", name) for name in cells.index}
        case = {
            "observed": {v: interpreter.call("stateOf", v, repr(float(cells[name]))) for name, v in numbers.items()}
        }
        own = X.iloc[[row]]
        if model.missing == "state":
            for name in own.columns[own.isna().iloc[0]]:
                v = interpreter.call("variableOf", name)
                case["observed"][v] = found["variables"][v]["states"].index("missing")
        posterior = interpreter.call("posterior", case, found["target"])
        np.testing.assert_allclose(posterior, model.predict_proba(own)[0], rtol=1e-9)


def test_a_classifier_with_several_classes_has_the_first_as_target(tmp_path):
    rows = bntk.datasets.asia().sample(300, seed=1).to_pandas()
    both = bntk.MDBNC().fit(rows[["asia", "smoke", "xray", "dysp"]], rows[["lung", "bronc"]])
    found = model_in(both.explore(tmp_path / "x.html"))
    assert found["variables"][found["target"]]["name"] == "lung"
    found = model_in(both.explore(tmp_path / "x.html", target="bronc"))
    assert found["variables"][found["target"]]["name"] == "bronc"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (bntk.AODE(), "not a single network"),
        (bntk.NaiveBayes(numeric="gaussian"), "have densities"),
        (bntk.TAN(numeric="averaged"), "mean of several models"),
    ],
)
def test_classifiers_that_are_not_one_network_say_which_are(tmp_path, flowers, model, words):
    with pytest.raises(DataError, match=words):
        model.fit(*flowers).explore(tmp_path / "x.html")
    assert list(tmp_path.iterdir()) == []


def test_a_classifier_that_interpolates_is_explored_by_its_intervals(tmp_path, flowers):
    model = bntk.TAN().fit(*flowers)
    with pytest.warns(ColumnWarning, match="this TAN interpolates between the intervals of"):
        found = model_in(model.explore(tmp_path / "x.html"))
    assert {each["name"] for each in found["variables"]} == {*model.network_.names}


def test_a_classifier_that_is_not_fitted_is_refused(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        bntk.TAN().explore(tmp_path / "x.html")


# ---- sources ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [*html.ENGINE, html.START, html.UNPACK, *html._page_files(".js"), *html._page_files(".css")]
)
def test_sources_keep_the_rules_by_which_they_are_shortened(name):
    html.shortened(html._source(name))


@pytest.mark.parametrize(
    "source",
    [
        "let a = `one",
        "let a = `one ${b",
        "let a = 'one\\\n'",
        "let a = 1; /* about\n it */",
        "/* a */ let b = 1;",
        "`\\``",
    ],
)
def test_sources_that_cannot_be_shortened_safely_are_refused(source):
    with pytest.raises(ValueError, match="several lines|must end its line"):
        html.shortened(source)


@pytest.mark.parametrize("level", [0, 1, 9])
@pytest.mark.parametrize("strategy", [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY])
def test_what_is_packed_is_unpacked(interpreter, level, strategy):
    rng = np.random.default_rng(3)
    texts = [b"", b"a", b"ab" * 40_000, html.scripts().encode(), rng.bytes(90_000), bytes(70_000)]
    for text in texts:
        packer = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
        packed = base64.b64encode(packer.compress(text) + packer.flush()).decode()
        source = f"{html._source(html.UNPACK)}\nreturn Buffer.from(inflate(Buffer.from(given[0], 'base64'), given[1]))"
        found = interpreter.ask("evaluate", {"source": source + ".toString('base64')", "given": [packed, len(text)]})
        assert base64.b64decode(found) == text

"""The view in a notebook: findings here and there, the frame, and the bridge between them."""

import html
import json
import re

import pytest

import bntk
from bntk.errors import DataError, UnknownNameError
from bntk.explore import ExplorerView
from bntk.explore.view import _BRIDGE


@pytest.fixture
def asia():
    return bntk.datasets.asia()


def case_in(view):
    """The case in the page of a view's frame."""
    [page] = re.findall(r'srcdoc="([^"]*)"', view._repr_html_())
    [model] = re.findall(r'id="bntk-model">(.*?)</script>', html.unescape(page))
    return json.loads(model)["case"]


# ---- findings --------------------------------------------------------------------------------------------------------


def test_a_view_has_the_findings_that_it_began_with(asia):
    view = asia.explore(given={"xray": "yes", "asia": ["no"]}, soft={"dysp": [1, 3]})
    assert isinstance(view, ExplorerView)
    assert view.given == {"asia": "no", "xray": "yes"}
    assert view.soft == {"dysp": [1, 3]}
    assert view.interventions == {}
    assert repr(view) == "Explorer of 8 variables, given asia='no', xray='yes', dysp ~ [1.0, 3.0]"


def test_findings_that_are_assigned_are_in_the_page(asia):
    view = asia.explore()
    view.given = {"xray": "yes"}
    view.soft = {"dysp": {"no": 0.5, "yes": 1}}
    view.interventions = {"smoke": "no"}
    assert view.given == {"xray": "yes"}
    assert case_in(view) == view.case
    assert view.case == {
        "observed": {"xray": "yes"}, "excluded": {}, "likelihood": {"dysp": [0.5, 1]}, "intervened": {"smoke": "no"},
    }  # fmt: skip
    changed = asia.do(view.interventions)
    assert 0 < changed.query("lung", view.given, view.soft)["yes"] < 1


def test_excluded_states_are_those_that_are_not_given():
    network = bntk.datasets.survey()
    name = next(variable.name for variable in network.variables if variable.n_states > 2)
    states = list(network.variable(name).states)
    view = network.explore(given={name: states[1:]})
    assert view.case["excluded"] == {name: [states[0]]}
    assert view.given == {name: states[1:]}


def test_labels_keep_their_types():
    variable = bntk.Variable("x", [0, 1, "1", 2.5, "x"])
    network = bntk.BayesianNetwork.from_cpts([bntk.CPT(variable, [0.2] * 5)])
    for code, state in enumerate(variable.states):
        view = network.explore(given={"x": state})
        assert view.given == {"x": state}
        assert type(view.given["x"]) is type(state)
        view.case = view.case
        assert network.variable("x").code(view.given["x"]) == code


@pytest.mark.parametrize(
    ("case", "error", "words"),
    [
        ({"seen": {}}, DataError, "no part 'seen'"),
        ({"observed": {"lnug": "yes"}}, UnknownNameError, "did you mean 'lung'"),
        ({"observed": {"lung": "maybe"}}, UnknownNameError, "no state 'maybe'"),
        ({"likelihood": {"lung": [0, 0]}}, DataError, "not all zero"),
        ({"excluded": {"lung": "yes"}}, DataError, "excluded states"),
        ([], DataError, "case"),
    ],
)
def test_cases_that_do_not_fit_are_refused(asia, case, error, words):
    view = asia.explore(given={"lung": "no"})
    with pytest.raises(error, match=words):
        view.case = case
    assert view.given == {"lung": "no"}


# ---- display ---------------------------------------------------------------------------------------------------------


def test_the_frame_has_no_rights(asia):
    text = asia.explore()._repr_html_()
    assert text.startswith("<iframe")
    assert text.endswith("</iframe>")
    assert text.count("<") == 2
    assert re.search(r'sandbox="allow-scripts allow-downloads"', text)


def test_without_a_kernel_a_view_shows_the_page_alone(asia, monkeypatch):
    shown = displayed(asia.explore(), monkeypatch)
    [(bundle, options)] = shown
    assert options == {"raw": True}
    assert set(bundle) == {"text/html", "text/plain"}
    assert "data-bntk" not in bundle["text/html"]


def displayed(view, monkeypatch):
    """What a view displays."""
    display = pytest.importorskip("IPython.display")
    shown = []
    monkeypatch.setattr(display, "display", lambda thing, **options: shown.append((thing, options)))
    view._ipython_display_()
    return shown


def test_with_a_kernel_a_bridge_passes_findings_both_ways(asia, monkeypatch):
    pytest.importorskip("anywidget")
    monkeypatch.setattr("bntk.explore.view._has_kernel", lambda: True)
    view = asia.explore(given={"xray": "yes"})
    (page, _), (bridge, _) = displayed(view, monkeypatch)
    assert f'data-bntk="{bridge.token}"' in page["text/html"]
    assert bridge.case["observed"] == {"xray": "yes"}
    bridge.case = {"observed": {"dysp": "no"}, "excluded": {}, "likelihood": {}, "intervened": {"smoke": "yes"}}
    assert view.given == {"dysp": "no"}
    assert view.interventions == {"smoke": "yes"}
    view.given = {"lung": "yes"}
    assert bridge.case["observed"] == {"lung": "yes"}
    assert bridge.case["intervened"] == {"smoke": "yes"}
    assert len(displayed(view, monkeypatch)) == 2


def test_the_bridge_shows_nothing_where_no_kernel_runs(asia, monkeypatch):
    pytest.importorskip("anywidget")
    monkeypatch.setattr("bntk.explore.view._has_kernel", lambda: True)
    (_, (bridge, _)) = displayed(asia.explore(), monkeypatch)
    found = bridge._repr_mimebundle_()
    bundle = found[0] if isinstance(found, tuple) else found
    assert bundle["text/html"] == bundle["text/plain"] == ""
    assert "application/vnd.jupyter.widget-view+json" in bundle


#: A front end with two frames of the view and one of another page: what the bridge does, step by step.
FRONT_END = """
const told = [];
const frame = (name) => ({ name, contentWindow: { postMessage: (message) => told.push([name, message]) } });
const [first, second, other] = [frame("first"), frame("second"), frame("other")];
const wanted = [];
globalThis.document = { querySelectorAll: (selector) => (wanted.push(selector), [first, second]) };
const listeners = new Set();
globalThis.window = {
  addEventListener: (_, f) => listeners.add(f),
  removeEventListener: (_, f) => listeners.delete(f),
};
const send = (from, data) => listeners.forEach((f) => f({ source: from.contentWindow, data }));
const values = { token: "t", case: "a" };
const changed = new Set();
const set = (key, value) => {
  values[key] = value;
  changed.forEach((f) => f());
};
let saved = 0;
const on = (_, f) => changed.add(f);
const model = { get: (key) => values[key], set, save_changes: () => saved++, on, off: (_, f) => changed.delete(f) };
const steps = [];
const plain = ([name, { bntk, case: given }]) => [name, bntk, given];
const step = () => steps.push([told.splice(0).map(plain), values.case]);
const end = bridge.render({ model });
step();
send(first, { bntk: "case", case: "b" });
step();
send(other, { bntk: "case", case: "c" });
send(first, null);
send(first, { other: 1 });
step();
send(second, { bntk: "ready" });
step();
model.set("case", "d");
step();
end();
send(first, { bntk: "case", case: "e" });
model.set("case", "f");
step();
return { steps, saved, wanted: wanted[0], left: listeners.size + changed.size };
"""


def test_the_bridge_passes_messages_between_the_frames_of_its_view_and_the_kernel(interpreter):
    source = _BRIDGE.replace("export default", "const bridge =", 1) + FRONT_END
    found = interpreter.ask("evaluate", {"source": source, "given": None})
    both = [["first", "setCase"], ["second", "setCase"]]
    assert found["steps"] == [
        [[[*one, "a"] for one in both], "a"],  # shown for the first time
        [[["second", "setCase", "b"]], "b"],  # the other frame follows, not the one that it comes from
        [[], "b"],  # messages of others are none of its business
        [[["second", "setCase", "b"]], "b"],  # a page that was loaded later
        [[[*one, "d"] for one in both], "d"],  # from the kernel
        [[], "f"],  # taken away
    ]
    assert found["saved"] == 1
    assert found["wanted"] == 'iframe[data-bntk="t"]'
    assert found["left"] == 0


def test_a_notebook_keeps_the_page_and_the_kernel_knows_its_findings(tmp_path):
    """Runs a notebook, in which a message of the page's bridge is what the front end would send."""
    pytest.importorskip("ipykernel")
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    cells = ["import bntk\nview = bntk.datasets.asia().explore(given={'xray': 'yes'})\nview", "print(view.given)"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute(cwd=str(tmp_path))
    first, second = book.cells
    assert first.outputs[0].data["text/html"].startswith("<iframe")
    assert second.outputs[0].text == "{'xray': 'yes'}\n"

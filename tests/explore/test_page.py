"""The page of the explorer in a real browser: what a person does, and what the page then shows, against Python."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explore.browser import Page
from references import shared

import bntk
from benchmarks.explorer.chromium import NoBrowserError, chromium, resize


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    try:
        driver = chromium()
    except NoBrowserError as error:
        pytest.skip(str(error))
    with tempfile.TemporaryDirectory() as folder:
        yield Page(driver, Path(folder))
    driver.quit()


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    """The browser; afterwards its console has to be empty, and nothing may have been asked for."""
    browser.complaints()
    yield browser
    assert browser.complaints() == []


@pytest.fixture
def asia(page: Page) -> Page:
    page.open(bntk.datasets.asia(), title="asia")
    return page


def random_case(network: bntk.BayesianNetwork, rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Findings that are possible: some variables of a random row."""
    row = network.sample(1, seed=int(rng.integers(1000))).to_pandas().iloc[0]
    return {name: row[name] for name in rng.choice(network.dag.nodes, n, replace=False)}


# ---- findings --------------------------------------------------------------------------------------------------------


def test_a_click_observes_and_another_one_frees(asia: Page) -> None:
    asia.assert_shows()
    asia.click(asia.row("xray", "yes"))
    asia.assert_shows({"xray": "yes"})
    assert asia.row("xray", "yes").get_attribute("aria-pressed") == "true"
    assert "xray" in asia.text("#panel-findings li")
    asia.click(asia.row("xray", "no"))
    asia.assert_shows({"xray": "no"})
    asia.click(asia.row("xray", "no"))
    asia.assert_shows()


def test_shift_click_excludes(page: Page) -> None:
    page.open(bntk.BayesianNetwork.from_cpts(_chain()))
    page.click(page.row("b", "mid"), "shift")
    page.assert_shows({"b": ["low", "high"]})
    assert "excluded" in page.row("b", "mid").get_attribute("aria-label")
    page.click(page.row("b", "low"), "shift")
    page.assert_shows({"b": ["high"]})
    page.click(page.row("b", "mid"), "shift")
    page.assert_shows({"b": ["mid", "high"]})


def _chain() -> list[bntk.CPT]:
    a, b = bntk.Variable("a", ["no", "yes"]), bntk.Variable("b", ["low", "mid", "high"])
    return [bntk.CPT(a, [0.3, 0.7]), bntk.CPT(b, [[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]], [a])]


def test_ctrl_click_intervenes_and_is_drawn_differently(asia: Page) -> None:
    asia.click(asia.row("dysp", "yes"))
    asia.click(asia.row("lung", "yes"), "ctrl")
    asia.assert_shows({"dysp": "yes"}, do={"lung": "yes"})
    assert "intervened" in asia.node("lung").get_attribute("class")
    assert len(asia.all(".arc.cut")) == 1
    asia.click(asia.row("lung", "yes"), "ctrl")
    asia.assert_shows({"dysp": "yes"})


@pytest.mark.parametrize("wanted", [0.3, 0.8])
def test_a_dragged_bar_follows_the_pointer_and_is_a_likelihood(asia: Page, wanted: float) -> None:
    asia.click(asia.row("xray", "yes"))
    track = asia.part(asia.row("bronc", "yes"), ".track")
    width = asia.box(track)["width"]
    now = asia.shown()["bronc"][1]
    asia.drag(track, round((wanted - now) * width), start=(round((now - 0.5) * width), 0))
    assert abs(asia.shown()["bronc"][1] - wanted) < 3 / width
    asia.assert_shows({"xray": "yes"}, soft_of(asia))
    assert "likelihood" in asia.text("#panel-findings .list")
    asia.press("ctrl", "z")
    asia.assert_shows({"xray": "yes"})


def soft_of(page: Page) -> dict[str, list[float]]:
    """The likelihoods in the address of the page."""
    from urllib.parse import unquote

    page.settle()
    words = [unquote(word) for word in page.driver.current_url.partition("#")[2].split("&")]
    pairs = [word[2:].partition("=") for word in words if word.startswith("l.")]
    return {name: [float(x) for x in numbers.split(",")] for name, _, numbers in pairs}


def test_likelihoods_as_numbers(asia: Page) -> None:
    asia.click(asia.part(asia.node("dysp"), ".more"))
    menu_item(asia, "Likelihood").click()
    fields = asia.all("dialog input")
    for field, number in zip(fields, ("0.2", "0.6"), strict=True):
        field.clear()
        field.send_keys(number)
    asia.press("ENTER")
    asia.assert_shows(soft={"dysp": [1, 3]})
    asia.click(asia.part(asia.node("dysp"), ".more"))
    menu_item(asia, "Likelihood").click()
    field = asia.all("dialog input")[0]
    field.clear()
    field.send_keys("-1")
    asia.press("ENTER")
    assert "at least 0" in asia.text("dialog .problem")
    asia.press("ESCAPE")


def menu_item(page: Page, words: str) -> Any:
    """An item of the open menu, by its words or its label."""
    for item in page.all(".menu button"):
        if words in (item.get_attribute("aria-label") or "") or words in item.text:
            return item
    raise AssertionError(f"no {words} in the menu")


def test_the_menu_does_what_clicks_do(asia: Page) -> None:
    def act(name: str, words: str) -> None:
        asia.click(asia.part(asia.node(name), ".more"))
        menu_item(asia, words).click()

    act("tub", "exclude: \u2068no\u2069")
    asia.assert_shows({"tub": ["yes"]})
    act("tub", "observe: \u2068no\u2069")
    act("smoke", "do: \u2068yes\u2069")
    asia.assert_shows({"tub": "no"}, do={"smoke": "yes"})
    act("smoke", "Free")
    asia.assert_shows({"tub": "no"})


def test_a_long_press_opens_the_menu(asia: Page) -> None:
    box = asia.box(asia.row("bronc", "yes"))
    point = [{"x": box["x"] + 30, "y": box["y"] + box["height"] / 2}]

    def touch(kind: str, points: list[dict[str, float]]) -> None:
        asia.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", point)
    asia.wait(lambda: asia.all(".menu"), "the menu")
    touch("touchEnd", [])
    menu_item(asia, "do: \u2068yes\u2069").click()
    asia.assert_shows(do={"bronc": "yes"})
    touch("touchStart", point)  # a tap observes
    touch("touchEnd", [])
    asia.wait(lambda: "observed" in asia.node("bronc").get_attribute("class"), "the observation")
    asia.assert_shows({"bronc": "yes"})


def test_undo_redo_and_clear(asia: Page) -> None:
    asia.click(asia.row("xray", "yes"))
    asia.click(asia.row("smoke", "no"))
    asia.one("button[aria-label^=Undo]").click()
    asia.assert_shows({"xray": "yes"})
    asia.press("ctrl", "z")
    asia.assert_shows()
    asia.one("button[aria-label^=Redo]").click()
    asia.press("ctrl", "y")
    asia.assert_shows({"xray": "yes", "smoke": "no"})
    asia.one("button[aria-label^=Clear]").click()
    asia.assert_shows()
    asia.press("ctrl", "z")
    asia.assert_shows({"xray": "yes", "smoke": "no"})


def test_findings_that_contradict_are_said_and_the_page_goes_on(asia: Page) -> None:
    asia.click(asia.row("smoke", "yes"))
    asia.click(asia.row("tub", "yes"))
    before = asia.shown()
    asia.click(asia.row("either", "no"))
    words = asia.wait(lambda: asia.text("#panel-findings [role=alert]"), "the words")
    assert "tub" in words
    assert "either" in words
    assert "smoke" not in words
    assert "contradiction" in asia.text(".toolbar output")
    assert all(np.array_equal(before[name], values) for name, values in asia.shown().items())
    assert len(asia.all(".node.clash")) == 2
    asia.click(asia.row("tub", "yes"))
    asia.assert_shows({"smoke": "yes", "either": "no"})


def test_conflict_is_that_of_the_formula(asia: Page) -> None:
    network = bntk.datasets.asia()
    given = {"xray": "yes", "smoke": "no", "dysp": "no"}
    for name, state in given.items():
        asia.click(asia.row(name, state))
    single = sum(network.log_probability({name: state}) for name, state in given.items())
    asia.settle()
    shown = asia.wait(lambda: asia.js("return document.querySelector('dd.conflict')?.dataset.conflict"), "the conflict")
    assert abs(float(shown) - (single - network.log_probability(given))) < 1e-9


def test_the_most_probable_explanation_is_switched_on_and_off(asia: Page) -> None:
    asia.click(asia.row("dysp", "yes"))
    asia.one("button[aria-label^='Most probable']").click()
    best = asia.network.mpe({"dysp": "yes"})
    starred = {row.get_attribute("data-variable"): row for row in asia.all(".state.best")}
    for i, name in enumerate(asia.network.dag.nodes):
        if name != "dysp":
            assert int(starred[str(i)].get_attribute("data-state")) == asia.network.variable(name).states.index(
                best[name]
            )
    shown = asia.wait(lambda: asia.js("return document.querySelector('[data-mpe]')?.dataset.mpe"), "its probability")
    assert abs(float(shown) - best.log_probability) < 1e-9
    asia.press("e")
    assert asia.all(".state.best") == []


# ---- the target ------------------------------------------------------------------------------------------------------


def test_what_moved_a_target_and_what_would_tell_most(asia: Page) -> None:
    given = {"xray": "yes", "dysp": "yes"}
    for name, state in given.items():
        asia.click(asia.row(name, state))
    asia.tab("target")
    lung = asia.network.dag.index("lung")
    asia.one(f"#target option[value='{lung}']").click()
    moved = asia.network.relevant_findings("lung", given)
    asia.wait(lambda: asia.all("[data-divergence]"), "the influence")
    shown = asia.numbers("[data-divergence]", "variable", "divergence", "change")
    names = asia.network.dag.nodes
    assert [names[int(i)] for i in shown[:, 0]] == list(moved.index)
    np.testing.assert_allclose(shown[:, 1:], moved[["divergence", "change"]].to_numpy(), atol=1e-9)
    value = asia.network.value_of_information("lung", given)
    told = asia.numbers("[data-information]", "variable", "information")
    assert [names[int(i)] for i in told[:, 0]] == list(value.index[: len(told)])
    assert len(told) == min(15, int((value.information > 1e-12).sum()))
    np.testing.assert_allclose(told[:, 1], value.information.to_numpy()[: len(told)], atol=1e-9)


def test_the_table_of_a_variable_is_behind_a_click_on_its_name(asia: Page) -> None:
    asia.click(asia.part(asia.node("dysp"), ".title"))
    asia.wait(lambda: asia.all("#panel-table td"), "the table")
    shown = asia.numbers("#panel-table td", "p")
    np.testing.assert_array_equal(shown[:, 0], asia.network.cpt("dysp").values.ravel())
    assert "either" in asia.text("#panel-table h3")


def test_what_is_irrelevant_to_the_target_is_hidden(asia: Page) -> None:
    asia.click(asia.row("smoke", "yes"))
    asia.row("lung", "no").send_keys("t")
    asia.press("h")
    network = asia.network
    hidden = {network.dag.nodes[int(node.get_attribute("data-variable"))] for node in asia.all(".node.irrelevant")}
    expected = {
        v for v in network.dag.nodes if v not in ("lung", "smoke") and network.dag.d_separated("lung", v, "smoke")
    }
    assert hidden == expected
    assert expected
    asia.press("h")
    assert asia.all(".node.irrelevant") == []


def test_search_finds_a_variable_by_its_name(asia: Page) -> None:
    asia.press("/")
    asia.press(*"TUB", "ENTER")
    assert asia.js("return document.activeElement.dataset.variable") == str(asia.network.dag.index("tub"))


# ---- the drawing -----------------------------------------------------------------------------------------------------


def test_nodes_are_dragged_and_the_paper_is_moved_zoomed_and_fitted(asia: Page) -> None:
    title = asia.part(asia.node("xray"), ".title")
    before, start = asia.box(asia.node("xray")), asia.js("return document.querySelector('.world').style.transform")
    asia.drag(title, 60, 40)
    after = asia.box(asia.node("xray"))
    assert abs(after["x"] - before["x"] - 60) < 1.5
    assert abs(after["y"] - before["y"] - 40) < 1.5
    asia.assert_shows()
    paper = asia.one(".paper")
    asia.drag(paper, 50, 20, start=(-350, 250))
    assert abs(asia.box(asia.node("xray"))["x"] - after["x"] - 50) < 1.5
    width = asia.box(asia.node("xray"))["width"]
    asia.one("button[aria-label^='Zoom in']").click()
    assert asia.box(asia.node("xray"))["width"] > 1.2 * width
    asia.actions.scroll_from_origin(_origin(paper), 0, 300).perform()
    asia.wait(lambda: asia.box(asia.node("xray"))["width"] < 1.2 * width, "the wheel")
    asia.press("0")
    assert asia.js("return document.querySelector('.world').style.transform") != start  # the moved node counts
    inside = asia.box(paper)
    for node in asia.all(".node"):
        assert inside["x"] <= asia.box(node)["x"]
        assert asia.box(node)["x"] + asia.box(node)["width"] <= inside["x"] + inside["width"]


def _origin(element: Any) -> Any:
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    return ScrollOrigin.from_element(element)


def test_two_cases_side_by_side(asia: Page) -> None:
    asia.click(asia.row("smoke", "yes"))
    asia.one("button[aria-label^='Put this case']").click()
    asia.click(asia.row("xray", "yes"))
    asia.assert_shows({"smoke": "yes", "xray": "yes"})
    asia.assert_shows({"smoke": "yes"}, other=True)
    asia.press("1")
    next(b for b in asia.all("#panel-findings button") if b.text == "Swap").click()
    asia.assert_shows({"smoke": "yes"})
    asia.assert_shows({"smoke": "yes", "xray": "yes"}, other=True)
    asia.press("b")
    assert asia.all(".world.two") == []


# ---- cases -----------------------------------------------------------------------------------------------------------


DROP = """
const [name, text] = arguments;
const data = new DataTransfer();
data.items.add(new File([text], name, {type: 'text/csv'}));
for (const kind of ['dragover', 'drop']) {
  const event = new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true});
  document.querySelector('.paper').dispatchEvent(event);
}
"""


def drop(page: Page, name: str, text: str) -> None:
    """Drop a file on the page."""
    page.js(DROP, name, text)
    seen = "#panel-cases:not([hidden]) :is(.cases, .problem)"
    page.wait(lambda: page.all(seen), "the cases")
    page.settle()


def test_a_case_is_saved_and_shown_again(asia: Page) -> None:
    asia.click(asia.row("xray", "yes"))
    asia.press("s")
    asia.press("shift", "DELETE")
    asia.assert_shows()
    asia.tab("cases")
    asia.settle()
    asia.one("#panel-cases tbody .link").click()
    asia.assert_shows({"xray": "yes"})


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_rows_of_a_csv_file_become_cases(asia: Page, separator: str) -> None:
    lines = [
        ["xray", '"smoke"', "height", "dysp"],
        ["yes", '"no"', '"1;2,""3"""', ""],
        ["", "NA", "x", '"maybe"'],
        ["no", "yes", "1", "yes"],
    ]
    drop(asia, "rows.csv", "\ufeff" + "\r\n".join(separator.join(line) for line in lines) + "\r\n")
    words = asia.text("#panel-cases .problem")
    assert "height" in words
    assert "dysp" in words
    assert "maybe" in words
    found = asia.numbers(".cases td[data-log-probability]", "logProbability")
    rows = [{"xray": "yes", "smoke": "no"}, {}, {"xray": "no", "smoke": "yes", "dysp": "yes"}]
    np.testing.assert_allclose(found[:, 0], [asia.network.log_probability(row) for row in rows], atol=1e-9)
    asia.all("#panel-cases tbody .link")[2].click()
    asia.assert_shows(rows[2])
    asia.all("#panel-cases [aria-label^=Put]")[0].click()
    asia.assert_shows(rows[0], other=True)


def test_numbers_of_a_csv_file_fall_into_intervals(page: Page) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    import pandas as pd

    tan = bntk.TAN(numeric="mdl").fit(
        pd.DataFrame({"x": y + rng.normal(0, 0.4, 300), "z": rng.normal(0, 1, 300) - y}), y
    )
    page.open(tan.network_, target=tan.network_.dag.nodes[-1])
    variable = tan.network_.variable("x")
    values = [*variable.cuts, -100.0, 100.0, 0.3]
    drop(page, "numbers.csv", "x\n" + "\n".join(repr(float(v)) for v in values) + "\n")
    found = page.numbers(".cases td[data-log-probability]", "logProbability")
    rest = dict.fromkeys(v for v in tan.network_.dag.nodes if v != "x")
    expected = [tan.network_.log_likelihood({"x": [v], **{name: [None] for name in rest}}) for v in values]
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-9)


def test_a_number_of_a_csv_file_may_have_a_decimal_comma(page: Page) -> None:
    variable = bntk.Variable("x", [0.5, 1.5])
    page.open(bntk.BayesianNetwork.from_cpts([bntk.CPT(variable, [0.3, 0.7])]))
    drop(page, "comma.csv", "x;y\n1,5;2\n0.50;3\n")
    found = page.numbers(".cases td[data-log-probability]", "logProbability")
    np.testing.assert_allclose(found[:, 0], np.log([0.7, 0.3]), atol=1e-9)


def test_what_a_file_may_hold(asia: Page) -> None:
    drop(asia, "empty.csv", "")
    assert "empty" in asia.text("#panel-cases .problem")
    drop(asia, "other.csv", "a,b\n1,2\n")
    assert "No column" in asia.text("#panel-cases .problem")
    drop(asia, "names.csv", "xray,smoke\n")
    assert "no rows" in asia.text("#panel-cases .problem")
    drop(asia, "open.csv", 'xray,smoke\n"yes,no\n')
    drop(asia, "ragged.csv", "xray,xray,smoke\nyes\nno,yes,no,no\n")
    assert "More than one column" in asia.text("#panel-cases .problem")


# ---- sharing ---------------------------------------------------------------------------------------------------------


def test_python_of_the_case_gives_what_the_page_shows(asia: Page) -> None:
    asia.click(asia.row("xray", "yes"))
    asia.click(asia.row("smoke", "no"), "ctrl")
    asia.one("button[aria-label^=Copy]").click()
    menu_item(asia, "Python").click()
    code = asia.js("return document.querySelector('dialog textarea').value")
    asia.press("ESCAPE")
    marginals = eval(code, {"bn": asia.network})
    for name in ("asia", "tub", "lung", "bronc", "either", "dysp"):
        np.testing.assert_allclose(asia.shown()[name], marginals[name].values, atol=1e-9)


def test_a_link_shows_the_case_again(asia: Page) -> None:
    asia.click(asia.row("xray", "yes"))
    asia.click(asia.row("tub", "yes"), "shift")
    asia.click(asia.row("smoke", "yes"), "ctrl")
    asia.one("button[aria-label^=Copy]").click()
    menu_item(asia, "link").click()
    link = asia.js("return document.querySelector('dialog textarea').value")
    asia.goto(link.partition("#")[2])
    asia.assert_shows({"xray": "yes", "tub": ["no"]}, do={"smoke": "yes"})


HOSTILE = [
    "%", "o.", "o.xray", "o.xray=%E0%A4%A", "l.xray=NaN,1", "l.xray=1e999,1", "l.xray=0,0", "x.xray=yes&x.xray=no",
    "t=%", "t=nobody", "o.__proto__=yes", "o.constructor=x", "<script>alert(1)</script>", "&&&=", "\x00",
    "o.xray=<img src=x onerror=alert(1)>", "o.xray=yes&" * 500, "d.xray=yes&o.xray=no",
    "l.xray=1,2&x.xray=yes&o.xray=no",
]  # fmt: skip


def test_whatever_the_fragment_holds_the_page_goes_on(asia: Page) -> None:
    for fragment in HOSTILE:
        asia.goto(fragment)
        assert len(asia.all(".node")) == 8, fragment
        asia.js("location.hash = arguments[0]", fragment + "&")
        asia.press("shift", "DELETE")
        asia.wait(lambda: asia.text(".toolbar output") == "no findings", fragment)
        asia.assert_shows()


def test_pictures_are_saved(asia: Page, tmp_path: Path) -> None:
    asia.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    asia.click(asia.row("xray", "yes"))
    for suffix in ("SVG", "PNG"):
        asia.one("button[aria-label^=Copy]").click()
        menu_item(asia, suffix).click()
        asia.wait((tmp_path / f"asia.{suffix.lower()}").exists, suffix)
    import xml.etree.ElementTree as ElementTree

    words = [
        element.text for element in ElementTree.parse(tmp_path / "asia.svg").iter() if element.tag.endswith("text")
    ]
    assert {*asia.network.dag.nodes} <= {*words}
    assert (tmp_path / "asia.png").read_bytes().startswith(b"\x89PNG")
    import matplotlib.image

    pixels = matplotlib.image.imread(tmp_path / "asia.png")
    assert pixels.shape[0] > 500
    assert pixels[..., :3].std() > 0.05


# ---- everyone --------------------------------------------------------------------------------------------------------


def test_the_keyboard_alone_suffices(asia: Page) -> None:
    asia.press("n")
    assert asia.js("return document.activeElement.className.startsWith('state')")
    assert len(asia.all(".state[tabindex='0']")) == 1
    asia.press("HOME")
    first = asia.js("return +document.activeElement.dataset.variable")
    name = asia.network.dag.nodes[first]
    states = asia.network.variable(name).states
    asia.press("ARROW_DOWN")
    asia.press("ENTER")
    asia.assert_shows({name: states[1]})
    asia.press("ENTER")
    asia.press("x")
    asia.assert_shows({name: [states[0]]})
    asia.press("x")
    asia.press("d")
    asia.assert_shows(do={name: states[1]})
    asia.press("DELETE")
    asia.assert_shows()
    asia.press("]")
    asia.assert_shows(soft=soft_of(asia))
    assert soft_of(asia)
    asia.press("DELETE")
    asia.press("c")
    child = asia.network.dag.nodes[asia.js("return +document.activeElement.dataset.variable")]
    assert child in asia.network.dag.children(name)
    asia.press("m")
    assert asia.js("return document.activeElement.getAttribute('role')").startswith("menuitem")
    asia.press("ESCAPE")
    assert asia.js("return document.activeElement.className.startsWith('state')")
    asia.press("?")
    assert "observe the state" in asia.text("dialog")
    asia.press("ESCAPE")
    assert asia.js("return document.activeElement.className.startsWith('state')")
    asia.press("ENTER")
    assert asia.text("[aria-live]")


NAMELESS = """
const label = (e) => e.getAttribute("aria-label") || e.ariaLabelledByElements?.length;
const named = (e) => label(e) || e.textContent.trim() || e.labels?.length;
const all = Array.from(document.querySelectorAll('button, input, select, [role]'));
return all.filter((e) => !named(e)).map((e) => e.outerHTML);
"""


def test_everything_has_a_role_and_a_name(asia: Page) -> None:
    nameless = asia.js(NAMELESS)
    assert [html for html in nameless if "aria-live" not in html] == []
    tree = asia.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    names = [node["name"]["value"] for node in tree if node.get("name") and node["role"]["value"] == "button"]
    assert any("yes" in name and "11.0%" in name for name in names)


NAMES = [
    "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "a\"b'c`", "שלום עולם", "\u202egnol",
    "🙂 family 👩‍👩‍👧", "\u200b", "__proto__", "constructor", "${1+1}", "&lt;b&gt;", "<!--", "a" * 300,
]  # fmt: skip
TITLES = """
const title = (node) => node.querySelector('.title').textContent;
return Array.from(document.querySelectorAll('.node'), (node) => [+node.dataset.variable, title(node)]);
"""


def test_hostile_names_are_text(page: Page) -> None:
    variables = [bntk.Variable(name, [name, "</style><b>", "\\u003c"]) for name in NAMES]
    cpts = [bntk.CPT(variables[0], [0.2, 0.3, 0.5])]
    cpts += [bntk.CPT(v, [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], [u]) for u, v in pairwise(variables)]
    page.open(bntk.BayesianNetwork.from_cpts(cpts), title="</title><script>alert(2)</script>")
    titles = page.js(TITLES)
    for i, text in titles:
        expected = NAMES[i] if NAMES[i].strip(" \u200b") else text
        assert text == expected
        assert text.strip(" \u200b")
    assert page.js("return document.querySelectorAll('#bntk img, #bntk script, #bntk b').length") == 0
    page.do(NAMES[0], NAMES[0])
    page.assert_shows({NAMES[0]: NAMES[0]})
    page.do(NAMES[1], NAMES[1], "ctrl")
    page.assert_shows({NAMES[0]: NAMES[0]}, do={NAMES[1]: NAMES[1]})
    for tab in ("target", "table", "cases", "findings"):
        page.tab(tab)
    page.press("s")
    fragment = page.js("return new Promise(done => setTimeout(() => done(location.hash.slice(1)), 50))")
    page.goto(fragment)
    page.assert_shows({NAMES[0]: NAMES[0]}, do={NAMES[1]: NAMES[1]})


def test_numbers_are_written_as_the_locale_does(page: Page) -> None:
    page.driver.execute_cdp_cmd("Emulation.setLocaleOverride", {"locale": "de-DE"})
    page.driver.execute_cdp_cmd("Emulation.setUserAgentOverride", {"userAgent": "test", "acceptLanguage": "de-DE"})
    try:
        page.open(bntk.datasets.asia())
        assert (
            page.js("return arguments[0].querySelector('.figure').textContent", page.row("xray", "yes")) == "11,0\xa0%"
        )
    finally:
        page.driver.execute_cdp_cmd("Emulation.setLocaleOverride", {})
        page.driver.execute_cdp_cmd("Emulation.setUserAgentOverride", {"userAgent": "", "acceptLanguage": "en-US"})


def test_light_dark_and_phone_width(asia: Page) -> None:
    ground = lambda: asia.js("return getComputedStyle(document.body).backgroundColor")  # noqa: E731
    light = ground()
    resize(asia.driver, 1280, 860, dark=True)
    assert ground() != light
    asia.one("button[aria-label^='Light']").click()
    assert ground() == light
    resize(asia.driver, 390, 844, phone=True)
    try:
        asia.goto()
        assert asia.js("return document.documentElement.scrollWidth") <= 390
        for button in asia.all(".toolbar button"):
            assert asia.box(button)["right"] <= 390
        asia.click(asia.row("xray", "yes"))
        asia.assert_shows({"xray": "yes"})
    finally:
        resize(asia.driver, 1280, 860)


OUTER = """
<script>told = []; onmessage = ({data}) => data.bntk === 'case' && told.push(data.case.observed);</script>
<iframe sandbox="allow-scripts allow-downloads" width="1200" height="800" srcdoc="SOURCE"></iframe>
"""


def test_inside_of_another_page_it_lives_and_tells_its_findings(asia: Page) -> None:
    """As in a notebook: a frame without an origin, whose address, clipboard and storage may not be used."""
    path = asia.folder / "outer.html"
    path.write_text(OUTER.replace("SOURCE", escape(asia.source)), encoding="utf-8")
    asia.driver.get(path.as_uri())
    asia.driver.switch_to.frame(0)
    try:
        asia.click(asia.row("xray", "yes"))
        asia.assert_shows({"xray": "yes"})
        asia.driver.switch_to.default_content()
        assert asia.wait(lambda: asia.js("return told"), "the case") == [{"xray": "yes"}]
        case = {"observed": {"smoke": "no"}, "intervened": {"tub": "yes"}}
        asia.js("frames[0].postMessage({bntk: 'setCase', case: arguments[0]}, '*')", case)
        asia.driver.switch_to.frame(0)
        asia.wait(lambda: "intervened" in asia.node("tub").get_attribute("class"), "the case from outside")
        asia.assert_shows({"smoke": "no"}, do={"tub": "yes"})
    finally:
        asia.driver.switch_to.default_content()
    assert asia.js("return told.length") == 1


# ---- larger networks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["alarm", "hailfinder", "win95pts", "andes", "pigs"])
def test_random_findings_in_larger_networks(page: Page, name: str) -> None:
    network = bntk.load(shared(f"data/networks/{name}.bif.gz"))
    rng = np.random.default_rng(len(name))
    page.open(network, title=name)
    case = random_case(network, rng, 3)
    for variable, state in case.items():
        page.do(variable, state)
    page.assert_shows(case)
    (variable,) = rng.choice([v for v in network.dag.nodes if v not in case], 1)
    state = network.variable(variable).states[int(rng.integers(network.variable(variable).n_states))]
    page.do(variable, state, "ctrl")
    page.assert_shows(case, do={variable: state})
    assert math.isfinite(float(page.one(".toolbar output").get_attribute("data-log-probability")))
    assert json.loads(page.js("return document.getElementById('bntk-model').textContent"))["variables"]

"""A person at the page of the explorer: a real Chromium, driven by Selenium."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bntk

#: What the page shows: the probability of each state, without rounding.
READ = """
const of = (key) => Array.from(document.querySelectorAll('.node'), (node) => [
  Number(node.dataset.variable),
  Array.from(node.querySelectorAll('.state'), (row) => row.dataset[key] ? Number(row.dataset[key]) : null),
]);
return [of('p'), of('otherP')];
"""


class Page:
    """The explorer of a network in a browser, and what a person does there."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver, self.folder = driver, folder
        self.count = 0

    def open(
        self, network: bntk.BayesianNetwork, target: str | None = None, fragment: str = "", title: str = ""
    ) -> None:
        """Write the page of a network and open it."""
        self.network, self.count = network, self.count + 1
        path = self.folder / f"page{self.count}.html"
        network.explore(path, target=target, title=title or None)
        self.url, self.source = path.as_uri(), path.read_text(encoding="utf-8")
        self.goto(fragment)

    def goto(self, fragment: str = "") -> None:
        """Open the page anew, with a fragment."""
        self.driver.get("about:blank")
        self.driver.get(self.url + (f"#{fragment}" if fragment else ""))

    def js(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def one(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def text(self, selector: str) -> str:
        return self.js("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def wait(self, condition: Callable[[], Any], what: str = "the page") -> Any:
        """Wait until something is so."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(0.01)
        raise AssertionError(f"waited in vain for {what}")

    def box(self, element: Any) -> dict[str, float]:
        """Where an element is in the window, as it is drawn."""
        return self.js("return arguments[0].getBoundingClientRect().toJSON()", element)

    def numbers(self, selector: str, *keys: str) -> np.ndarray:
        """The numbers that elements hold as data, one row for each element."""
        code = (
            "return Array.from(document.querySelectorAll(arguments[0]), (e) => arguments[1].map((k) => +e.dataset[k]))"
        )
        return np.array(self.js(code, selector, keys)).reshape(-1, len(keys))

    def part(self, element: Any, selector: str) -> Any:
        """An element inside of another one."""
        return element.find_element("css selector", selector)

    def settle(self) -> None:
        """Let the panels catch up with the network."""
        self.js("return new Promise((done) => setTimeout(done, 40))")

    # ---- what a person does -----------------------------------------------------------------------------------------

    @property
    def actions(self) -> Any:
        from selenium.webdriver import ActionChains

        return ActionChains(self.driver, duration=0)

    def press(self, *keys: str, on: Any = None) -> None:
        """Press keys where the focus is; the first ones are held."""
        from selenium.webdriver.common.keys import Keys

        names = {"ctrl": Keys.CONTROL, "shift": Keys.SHIFT, "alt": Keys.ALT}
        chain, held = self.actions, [names[key] for key in keys if key in names]
        for key in held:
            chain = chain.key_down(key)
        for key in keys:
            if key not in names:
                chain = chain.send_keys(getattr(Keys, key) if len(key) > 1 and key.isupper() else key)
        for key in held:
            chain = chain.key_up(key)
        chain.perform()

    def row(self, name: str, state: Any) -> Any:
        i = self.network.dag.index(name)
        s = self.network.variable(name).states.index(state)
        return self.one(f'.state[data-variable="{i}"][data-state="{s}"]')

    def node(self, name: str) -> Any:
        return self.one(f'.node[data-variable="{self.network.dag.index(name)}"]')

    def click(self, element: Any, *held: str) -> None:
        from selenium.webdriver.common.keys import Keys

        chain, keys = self.actions, [{"ctrl": Keys.CONTROL, "shift": Keys.SHIFT}[key] for key in held]
        for key in keys:
            chain = chain.key_down(key)
        chain = chain.click(element)
        for key in keys:
            chain = chain.key_up(key)
        chain.perform()

    def find(self, name: str) -> None:
        """Search a variable by its name, which brings it into view."""
        field = self.one(".search input")
        field.clear()
        field.send_keys(name)
        found = f"[...document.querySelectorAll('.found li')].findIndex(li => li.textContent === {json.dumps(name)})"
        place = self.wait(lambda: self.js(f"return {found} + 1"), f"{name} to be found") - 1
        for _ in range(place):
            self.press("ARROW_DOWN")
        self.press("ENTER")

    def do(self, name: str, state: Any, *held: str) -> None:
        """Search a variable and click one of its states."""
        self.find(name)
        self.click(self.row(name, state), *held)

    def drag(self, element: Any, dx: int, dy: int = 0, start: tuple[int, int] = (0, 0)) -> None:
        """Drag from a point of an element, seen from its centre."""
        chain = self.actions.move_to_element_with_offset(element, *start).click_and_hold()
        chain.move_by_offset(dx // 2, dy // 2).move_by_offset(dx - dx // 2, dy - dy // 2).release().perform()

    def tab(self, name: str) -> None:
        self.one(f"#tab-{name}").click()

    # ---- what the page shows ----------------------------------------------------------------------------------------

    def shown(self, other: bool = False) -> dict[str, np.ndarray]:
        """The probabilities of all states, by variable."""
        names = self.network.dag.nodes
        return {names[i]: np.array(values, dtype=float) for i, values in self.js(READ)[int(other)]}

    def assert_shows(self, given: Any = None, soft: Any = None, do: Any = None, other: bool = False) -> None:
        """The bars are Python's posteriors, and the probability of the findings is Python's."""
        network, shown, given = self.network.do(do) if do else self.network, self.shown(other), given or {}
        expected = posteriors(network, {**given, **(do or {})}, soft)
        for name in network.dag.nodes:
            np.testing.assert_allclose(shown[name], expected[name], atol=1e-9, rtol=0, err_msg=name)
        if not other and not soft:
            log_p = float(self.one(".toolbar output").get_attribute("data-log-probability"))
            assert abs(log_p - network.log_probability(given)) < 1e-9 * max(1.0, abs(log_p))

    def complaints(self) -> list[str]:
        """What the console holds, and which addresses the page asked for."""
        console = [entry["message"] for entry in self.driver.get_log("browser")]
        asked = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"])
        return console + [url for url in asked if not url.startswith(("file:", "data:", "about:", "blob:"))]


def posteriors(network: bntk.BayesianNetwork, given: Any, soft: Any = None) -> dict[str, np.ndarray]:
    """Python's posterior of every variable, also of those with findings; a list leaves several states."""
    states = {name: network.variable(name).states for name in given}
    given = {name: left[0] if isinstance(left, list) and len(left) == 1 else left for name, left in given.items()}
    several = {name: np.isin(states[name], left) * 1.0 for name, left in given.items() if isinstance(left, list)}
    hard = {name: state for name, state in given.items() if name not in several}
    marginals = network.marginals(hard, {**several, **(soft or {})})
    points = {name: np.equal(states[name], state) * 1.0 for name, state in hard.items()}
    return {name: points[name] if name in points else marginals[name].values for name in network.dag.nodes}

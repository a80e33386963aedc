"""The explorer in a notebook: a page in a frame and, where a kernel runs, a bridge between it and Python.

The page is the same as in a file, in a frame without rights, so that it stays alive without a kernel. The bridge is a
widget of ``anywidget`` that shows nothing: it passes the findings of the page on to the kernel, and back.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from bntk.data.variable import State
from bntk.explore.case import Case, case_of, checked_case, given_of, labels_of
from bntk.inference.evidence import read_findings

if TYPE_CHECKING:
    from bntk.explore.explorer import Page

_HEIGHT = 640  # pixels

#: Passes messages between the frames of a view and its model in the kernel.
_BRIDGE = """
export default {
  render({ model }) {
    const frames = () => [...document.querySelectorAll(`iframe[data-bntk="${model.get("token")}"]`)];
    const show = (frame) => frame.contentWindow.postMessage({ bntk: "setCase", case: model.get("case") }, "*");
    let from = null;
    const listen = (event) => {
      const frame = frames().find((own) => own.contentWindow === event.source);
      if (!frame || !event.data) return;
      if (event.data.bntk === "ready") show(frame);
      if (event.data.bntk === "case") {
        from = frame;
        model.set("case", event.data.case);
        model.save_changes();
        from = null;
      }
    };
    const changed = () => frames().filter((frame) => frame !== from).forEach(show);
    window.addEventListener("message", listen);
    model.on("change:case", changed);
    changed();
    return () => {
      window.removeEventListener("message", listen);
      model.off("change:case", changed);
    };
  },
};
"""


class ExplorerView:
    """A network that is shown in a notebook, to be asked there; :meth:`bntk.BayesianNetwork.explore` makes it.

    Where a kernel runs and ``anywidget`` is installed (the extra ``notebook``), ``given``, ``soft``, ``interventions``
    and ``case`` are the findings that the page has at the moment, and assigning to them changes the page. Without
    either the page is alive all the same, and they are the findings that it began with.

    Examples
    --------
    >>> import bntk
    >>> asia = bntk.datasets.asia()
    >>> view = asia.explore(target="lung", given={"xray": "yes"})
    >>> view.given
    {'xray': 'yes'}
    >>> view.given = {"dysp": "no"}                # the page follows
    >>> asia.query("lung", view.given)["yes"] < 0.03
    True
    """

    def __init__(self, page: Page) -> None:
        self._page, self._network = page, page.network
        self._bridge: Any = None
        self._case = page.case

    # ---- findings --------------------------------------------------------------------------------------------

    @property
    def case(self) -> Case:
        """All findings by name, states as text, in the parts observed, excluded, likelihood and intervened."""
        return checked_case(self._network, self._case if self._bridge is None else self._bridge.case)

    @case.setter
    def case(self, case: Mapping[str, Mapping[str, Any]]) -> None:
        self._case = checked_case(self._network, case)
        if self._bridge is not None:
            self._bridge.case = self._case

    @property
    def given(self) -> dict[str, Any]:
        """What is observed: a state, or the list of those that are not excluded; for ``bn.query(..., given)``."""
        return given_of(self._network, self.case)

    @given.setter
    def given(self, given: Mapping[str, Any] | None) -> None:
        found = case_of(self._network, read_findings(self._network, given))
        kept = self.case["likelihood"] if not found["likelihood"] else {}
        self.case = {**found, "likelihood": {**kept, **found["likelihood"]}, "intervened": self.case["intervened"]}

    @property
    def soft(self) -> dict[str, list[float]]:
        """The likelihoods, in the order of the states; for ``bn.query(..., soft=...)``."""
        return dict(self.case["likelihood"])

    @soft.setter
    def soft(self, soft: Mapping[str, Any] | None) -> None:
        vectors = read_findings(self._network, None, soft).vectors
        self.case = {**self.case, "likelihood": {self._network.names[v]: list(x) for v, x in vectors.items()}}

    @property
    def interventions(self) -> dict[str, State]:
        """The variables that are set from outside, and to which state; for ``bn.do(...)``."""
        return labels_of(self._network, self.case, "intervened")

    @interventions.setter
    def interventions(self, interventions: Mapping[str, Any]) -> None:
        self.case = {**self.case, "intervened": dict(interventions)}

    # ---- display ---------------------------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        """The page in a frame."""
        token = "" if self._bridge is None else f' data-bntk="{self._bridge.token}"'
        return (
            f'<iframe{token} srcdoc="{escape(self._page.html(self.case))}" title="Explorer of a Bayesian network" '
            f'sandbox="allow-scripts allow-downloads" allow="clipboard-write" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'
        )

    def _ipython_display_(self) -> None:
        """The page, and the bridge to it where a kernel runs."""
        from IPython.display import display

        if self._bridge is None and _has_kernel():
            kind = _bridge_class()
            self._bridge = kind and kind(token=uuid.uuid4().hex, case=self._case)
        display({"text/html": self._repr_html_(), "text/plain": repr(self)}, raw=True)
        if self._bridge is not None:
            display(self._bridge)

    def __repr__(self) -> str:
        n = len(self._network.names)
        findings = [f"{name}={state!r}" for name, state in self.given.items()]
        findings += [f"{name} ~ {numbers}" for name, numbers in self.soft.items()]
        findings += [f"do({name}={state!r})" for name, state in self.interventions.items()]
        more = f", ... ({len(findings) - 6} more)" if len(findings) > 6 else ""
        given = f", given {', '.join(findings[:6])}{more}" if findings else ""
        return f"Explorer of {n} variable{'s' * (n != 1)}{given}"


def _has_kernel() -> bool:
    from IPython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


@cache
def _bridge_class() -> Any:
    """The class of bridges; None without ``anywidget``."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        return None

    class Bridge(anywidget.AnyWidget):
        """Findings of a page, here and there."""

        _esm = _BRIDGE
        token = traitlets.Unicode().tag(sync=True)
        case = traitlets.Dict().tag(sync=True)

        def _repr_mimebundle_(self, **options: Any) -> Any:
            """Nothing to see where no kernel runs."""
            found = super()._repr_mimebundle_(**options)
            bundle = found[0] if isinstance(found, tuple) else found
            bundle = {**(bundle or {}), "text/plain": "", "text/html": ""}
            return (bundle, *found[1:]) if isinstance(found, tuple) else bundle

    return Bridge

"""What is compiled, when, and what somebody who waits for it is told."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import run_python

from bntk import _kernels
from bntk._kernels import MOST_STEPS, compiling_all, njit
from bntk.cli import main
from bntk.warming import warm_up

WATCH = """
import warnings
warnings.simplefilter("ignore")
from numba.core import event

class Watch(event.Listener):
    def __init__(self):
        self.names = []
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        self.names.append(f"{function.__module__}.{function.__name__}")
    def on_end(self, event):
        pass

watch = Watch()
event.register("numba:compile", watch)
import numpy as np, bntk
asia = bntk.datasets.asia()
rows = asia.sample(200)
holes = bntk.datasets.with_missing(rows, 0.1)
X, y = rows.select([n for n in rows.names if n != "dysp"]), rows.to_pandas()["dysp"]
numbers, kinds = np.random.default_rng(0).normal(size=(150, 4)), np.arange(150) % 3
"""
REPORT = """
print(*sorted(set(watch.names)))
"""


def compiled_by(code: str, cache: Path | None = None) -> list[str]:
    """The kernels that a new process compiles."""
    place = "" if cache is None else f"import numba; numba.config.CACHE_DIR = {str(cache)!r}\n"
    done = run_python(place + WATCH + code + REPORT)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    "code",
    [
        "bntk.fit(asia.dag, holes); asia.log_likelihood(rows)",
        "bntk.datasets.random_network(40, max_parents=3, seed=1).query('x3', {'x20': 0})",
        "bntk.datasets.random_network(40, max_parents=3, seed=1).marginals()",
        "asia.posterior(holes, 'lung'); bntk.fit(asia.dag, holes, missing='em')",
        "bntk.NaiveBayes().fit(X, y).predict(X)",
        "bntk.TAN().fit(X, y).predict(bntk.datasets.with_missing(X, 0.1))",
        "bntk.TAN(criterion='loo').fit(X, y)",
        "bntk.KDB().fit(X, y).predict(X); bntk.SelectiveKDB().fit(X, y)",
        "bntk.TAN().fit(numbers, kinds).predict(numbers)",
        "bntk.learn(rows, search='hc')",
    ],
)
def test_small_data_compile_nothing(code: str, tmp_path: Path) -> None:
    assert compiled_by(code, tmp_path) == []


def test_after_warming_up_first_calls_compile_nothing() -> None:
    done = warm_up()
    assert done.seconds > 0
    code = """
from bntk._kernels import compiling_all
with compiling_all():
    asia.query("lung", {"dysp": "yes"}); asia.mpe({"dysp": "yes"}); asia.impute(holes)
    asia.posterior(holes, "lung"); asia.log_likelihood(rows); bntk.fit(asia.dag, holes, missing="em")
    asia.query("lung", {"dysp": "yes"}, engine="loopy")
    bntk.learn(rows); bntk.learn(rows, "bic", search="hc"); bntk.learn(rows, search="tabu")
    for model in (bntk.NaiveBayes, bntk.TAN, bntk.KDB, bntk.AODE, bntk.A2DE, bntk.STAN, bntk.BAN, bntk.SelectiveKDB):
        model().fit(X, y).predict(bntk.datasets.with_missing(X, 0.1))
    bntk.TAN(criterion="loo").fit(X, y)
    bntk.TAN().fit(numbers, kinds).predict(numbers)
"""
    assert compiled_by(code) == []


def test_warm_up_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warm-up"]) == 0
    out = capsys.readouterr().out
    assert "compiled" in out
    assert "kept in" in out


def test_work_adds_up_to_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kernels, "_light", True)

    @njit(nogil=True, steps=lambda n: n)
    def double(n: int) -> int:
        return 2 * n

    share = MOST_STEPS // 2
    assert [double(share), double(share)] == [2 * share, 2 * share]
    assert not double.kernel.overloads
    assert double(1) == 2
    assert double.kernel.overloads


def test_a_kernel_can_call_a_light_one() -> None:
    @njit(nogil=True, steps=lambda n: n)
    def double(n: int) -> int:
        return 2 * n

    @njit(nogil=True)
    def fourfold(n: int) -> Any:
        return double(double(n))

    with compiling_all():
        assert fourfold(3) == 12
    assert _kernels.interpreted(fourfold)(3) == 12


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_who_waits_at_a_terminal_is_told_once(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(_kernels, "PATIENCE", 0.0)
    monkeypatch.setattr(_kernels._teller, "is_done", True)  # that of this process, which may have told nothing yet
    teller = _kernels._Teller()
    _kernels.event.register("numba:compile", teller)
    try:
        for k in range(3):

            @njit(nogil=True)
            def add(x: float) -> float:
                return x + k  # noqa: B023

            add(1.0)
    finally:
        _kernels.event.unregister("numba:compile", teller)
    assert stream.getvalue() == (_kernels.TOLD + "\n") * terminal


def test_who_ignores_warnings_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import warnings

    monkeypatch.setattr(sys, "stderr", Terminal())
    assert _kernels.is_watched()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not _kernels.is_watched()

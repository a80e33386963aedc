"""Memory limits: what does not fit is refused with its size and a way out, before it is allocated if that is known."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest
from processes import run_python

import bntk
from bntk import _memory
from bntk.errors import TooLargeError
from bntk.inference.exact.program import compile_network


def _limited(monkeypatch, n_bytes):
    monkeypatch.setattr(_memory, "available", lambda: _memory.Room(n_bytes, "a limit"))
    monkeypatch.setattr(_memory, "LOOKED_AT", 0)


def test_at_the_limit_and_one_above(monkeypatch):
    _limited(monkeypatch, 1000)
    _memory.require(1000, "a table", "take a smaller one")
    with pytest.raises(TooLargeError, match=r"a table would take 1,001 bytes, and 1,000 bytes .* \(a limit\); take"):
        _memory.require(1001, "a table", "take a smaller one")


def test_nothing_is_refused_where_the_system_does_not_tell(monkeypatch):
    monkeypatch.setattr(_memory, "available", lambda: None)
    _memory.require(1 << 60, "a table", "take a smaller one")


def test_what_is_left_is_no_more_than_the_machine_has():
    room = _memory.available()
    if room is not None:
        assert 0 < room.n_bytes < 1 << 50


# ---- limits of control groups ----------------------------------------------------------------------------------------


def _write(folder, **numbers):
    folder.mkdir(parents=True, exist_ok=True)
    for name, number in numbers.items():
        (folder / f"memory.{name}").write_text(f"{number}\n")


def test_groups_of_version_2(tmp_path):
    """The tightest of a group and those around it; copies of files are given back when they are needed."""
    (tmp_path / "cgroup").write_text("0::/outer/inner\n")
    root = tmp_path / "fs"
    _write(root / "outer" / "inner", max="max", current=500)
    _write(root / "outer", max=2000, current=1500, stat="anon 900\ninactive_file 200\nactive_file 100")
    (room,) = _memory._of_group(tmp_path / "cgroup", root)
    assert room.n_bytes == 2000 - 1500 + 300
    _write(root / "outer" / "inner", max=600, current=500)
    assert min(_memory._of_group(tmp_path / "cgroup", root)).n_bytes == 100


def test_groups_of_version_1(tmp_path):
    (tmp_path / "cgroup").write_text("9:name=systemd:/\n7:cpu,memory:/box\n3:pids:/box\n")
    root = tmp_path / "fs"
    _write(root / "memory" / "box", limit_in_bytes=1000, usage_in_bytes=400, stat="total_inactive_file 50")
    _write(root / "memory", limit_in_bytes=2**63 - 4096, usage_in_bytes=10**9)
    (room,) = _memory._of_group(tmp_path / "cgroup", root)
    assert room.n_bytes == 650


@pytest.mark.parametrize("text", ["", "garbage", "0::", "1:memory", "::::\n\0"])
def test_other_groups_say_nothing(tmp_path, text):
    (tmp_path / "cgroup").write_text(text)
    assert list(_memory._of_group(tmp_path / "cgroup", tmp_path / "none")) == []


# ---- what asks before it allocates -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wide():
    return bntk.datasets.random_network(30, treewidth=10, seed=1)


def test_the_plan_tells_what_one_run_takes(wide, monkeypatch):
    """Half of what the plan says is refused with the figure, and twice that is enough."""
    memory = wide.plan().memory
    expected = wide.marginals()
    _limited(monkeypatch, memory // 2)
    wide._cache.clear()
    with pytest.raises(TooLargeError, match=r"the messages of exact inference would take [\d.]+ KiB.*engine="):
        wide.marginals()
    _limited(monkeypatch, 2 * memory)
    found = wide.marginals()
    for name in wide.names:
        np.testing.assert_array_equal(found[name].values, expected[name].values)


def test_the_most_probable_explanation(wide, monkeypatch):
    expected = wide.mpe()
    program = compile_network(wide)
    _limited(monkeypatch, program.plan.memory // 8)
    with pytest.raises(TooLargeError, match=r"would take .*engine="):
        wide.mpe()
    _limited(monkeypatch, 2 * program.plan.memory)
    assert wide.mpe() == expected


def test_rows(monkeypatch):
    asia = bntk.datasets.asia()
    rows = asia.sample(1000, seed=1)
    _limited(monkeypatch, 8 * 1000 * 4)
    assert len(asia.posterior(rows, ["lung", "xray"])) == 2
    with pytest.raises(TooLargeError, match=r"the posteriors of 1,000 rows would take .*fewer rows"):
        asia.posterior(rows, ["lung", "xray", "dysp"])
    _limited(monkeypatch, 8 * 1000)
    assert asia.sample(1000).n_rows == 1000
    with pytest.raises(TooLargeError, match=r"1,001 rows of 8 variables would take .*fewer rows"):
        asia.sample(1001)


def test_searches(monkeypatch):
    rows = bntk.datasets.asia().sample(200, seed=1)
    for search in ("hc", "spanning_tree", "exact"):
        _limited(monkeypatch, 50)
        space = bntk.spaces.tree(rows.names) if search == "spanning_tree" else None
        with pytest.raises(TooLargeError, match=r"a search for a structure over 8 variables.*NaiveBayes"):
            bntk.learn(rows, search=search, space=space)
        monkeypatch.undo()
        assert bntk.learn(rows, search=search, space=space).names == rows.names


# ---- where it runs out all the same ----------------------------------------------------------------------------------


def test_doors_say_what_to_do(monkeypatch, tmp_path):
    """A MemoryError in the depths is a TooLargeError at every door, and the next call works."""
    asia = bntk.datasets.asia()
    rows = asia.sample(100, seed=1)
    frame = rows.to_pandas()
    frame.to_csv(tmp_path / "x.csv", index=False)
    asia.save(tmp_path / "x.json")
    model = bntk.NaiveBayes().fit(frame[["smoke", "xray"]], frame["lung"])
    doors = {
        "bntk.inference.query.positions": lambda: asia.query("lung"),
        "bntk.inference.query.ConditionedNetwork.explanation": asia.mpe,
        "bntk.inference.query.ConditionedNetwork.posterior": asia.marginals,
        "bntk.inference.rows.read_rows": lambda: asia.posterior(rows, "lung"),
        "bntk.inference.rows.as_table": lambda: asia.row_log_likelihood(rows),
        "bntk.inference.approximate.sampling.forward_sample": lambda: asia.sample(3),
        "bntk.learning.learn._search": lambda: bntk.learn(rows),
        "bntk.learning.parameters.as_counter": lambda: bntk.fit(asia.dag, rows),
        "bntk.classifiers.features.Features.learn": lambda: bntk.NaiveBayes().fit(frame[["smoke"]], frame["lung"]),
        "bntk.classifiers.base.BayesClassifier._class_scores": lambda: model.predict_proba(frame[["smoke", "xray"]]),
        "bntk.data.csv_files.read_bytes": lambda: bntk.read_table(tmp_path / "x.csv"),
        "bntk.io.files.read_bytes": lambda: bntk.load(tmp_path / "x.json"),
    }
    for depth, door in doors.items():
        with monkeypatch.context() as patched:

            def fail(*args, **kwargs):
                raise MemoryError("Unable to allocate 941. MiB for an array")

            patched.setattr(depth, fail)
            with pytest.raises(TooLargeError, match=r"memory ran out.*941\. MiB.*; \w+"):
                door()
        door()


def test_our_own_errors_are_not_changed():
    @_memory.says_what_to_do("nothing")
    def fail():
        raise TooLargeError("as it is")

    with pytest.raises(TooLargeError, match=r"^as it is$"):
        fail()


PROGRAM = """
    import resource, sys
    import numpy as np, pandas as pd
    import bntk
    from bntk.errors import TooLargeError
    asia = bntk.datasets.asia()
    wide = bntk.datasets.random_network(32, treewidth=20, seed=1)
    asia.marginals(), asia.sample(10), asia.posterior(asia.sample(3), "lung")
    small = bntk.datasets.random_network(30, treewidth=10, seed=1)
    small.marginals(), small.mpe()
    with open("/proc/self/statm") as file:
        used = 4096 * int(file.read().split()[{place}])
    resource.setrlimit(resource.{name}, (used + (300 << 20),) * 2)
    calls = [
        lambda: asia.sample(10**9),
        lambda: asia.posterior(bntk.Table.from_codes(np.zeros((8, 10**7), np.uint8), asia.variables), asia.names),
        wide.marginals,
        wide.mpe,
        lambda: bntk.inference.approximate.sampling.gibbs(asia, n=10**9),
    ]
    for call in calls:
        try:
            call()
        except TooLargeError as error:
            assert "{name}" in str(error), error
        else:
            raise AssertionError("it fits")
        small._cache.clear()
        small.marginals(), small.mpe(), asia.query("lung")
    print("done")
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
@pytest.mark.parametrize(("name", "place"), [("RLIMIT_AS", 0), ("RLIMIT_DATA", 5)])
def test_limits_of_the_process(name, place):
    """Under a limit of 300 MiB more than is in use, everything larger is refused in our words, and all else works."""
    pytest.importorskip("resource")
    program = textwrap.dedent(PROGRAM).format(name=name, place=place)
    found = run_python(program)
    assert found.stdout == "done\n", found.stderr

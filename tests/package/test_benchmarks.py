"""The frame of the benchmarks, on toy sections; no times are asserted."""

import importlib
import math
import time
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.__main__ import MODULES, page, run
from benchmarks.measure import LeftOut, Options, PeerRun, Ratio, Time, best, repeated, run_peer
from benchmarks.report import Section

FOLDER = Path(report.__file__).parent


def toy(_: Options) -> Section:
    section = Section("Toy", "What is measured.", ["case", "ours", "theirs", "ratio"], axes=("rows", "seconds"))
    for n, theirs in ((10, Time(0.5)), (100, Time(60.0, at_least=True)), (1000, Time(note="not installed"))):
        ours = Time(0.001 * n)
        section.add(f"{n:,}", ours, theirs, section.ratio(str(n), "peer", theirs, ours))
        section.point("ours", n, ours)
    return section


def needy(options: Options) -> Section:
    options.folder("absent")
    raise AssertionError("unreachable")


def broken(_: Options) -> Section:
    raise ValueError("wrong")


def test_a_table_shows_times_ratios_limits_and_missing_peers():
    lines = [line.split("|")[1:-1] for line in str(toy(Options())).splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line] for line in lines]
    assert cells[0] == ["case", "ours", "theirs", "ratio"]
    assert cells[2:] == [
        ["10", "10 ms", "500 ms", "50"],
        ["100", "100 ms", "over 60 s", "over 600"],
        ["1,000", "1.0 s", "not installed", "-"],
    ]
    assert len({len(line) for line in str(toy(Options())).splitlines() if line.startswith("|")}) == 1


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (Time(0.0000042), "4.2 us"),
        (Time(0.0123), "12 ms"),
        (Time(1234.5), "1,234 s"),
        (Time(2.0).scaled(3), "6.0 s *"),
        (Time(2.0).scaled(1), "2.0 s"),
        (Time(note="died"), "died"),
        (Ratio("", "", Time(0.3), Time(1.0)), "0.3"),
        (Ratio("", "", Time(note="died"), Time(1.0)), "-"),
    ],
)
def test_times_and_ratios_are_short(shown, text):
    assert str(shown) == text


def test_best_repeats_and_gives_the_result():
    calls = []
    seconds, result = best(lambda: calls.append(1) or len(calls), 4)
    assert result == 4
    assert seconds.seconds >= 0


def test_a_peer_that_is_not_installed_is_said_to_be():
    peer = run_peer("no_such_package", 1, repeated, 1, abs, -1)
    assert (peer.marks, str(peer.shortest())) == ([], "not installed")


def test_a_peer_ends_at_its_limit_fails_or_answers():
    slow = run_peer("bntk", 0.2, repeated, 1, time.sleep, 600)
    assert str(slow.shortest()) == "over 200 ms"
    assert str(slow.total()) == str(slow.mean()) == "over 200 ms"
    assert str(run_peer("bntk", 60, repeated, 1, int, "x").shortest()) == "fails: ValueError"
    done = run_peer("bntk", 60, repeated, 3, abs, -7)
    assert done.answers == [7, 7, 7]
    assert math.isfinite(done.mean().seconds)
    assert done.shortest().seconds <= done.total().seconds


def test_a_step_that_the_limit_did_not_allow_is_not_said_to_take_the_limit():
    stopped = PeerRun([(1.5, "read"), (1.0, "read")], Time(60.0, at_least=True))
    assert str(stopped.part(lambda answer: answer == "read").shortest()) == "1.0 s"
    assert str(stopped.part(lambda answer: answer == "written").shortest()) == "not reached"


def test_a_part_that_cannot_run_does_not_stop_the_others(capsys):
    found = dict(report.run_parts({"needy": needy, "broken": broken, "toy": toy}, Options()))
    assert found["needy"].startswith("left out: needs a folder `absent`")
    assert found["broken"] == "failed: ValueError: wrong"
    assert isinstance(found["toy"], Section)
    assert "ValueError: wrong" in capsys.readouterr().err


def test_the_page_holds_sections_and_pictures(tmp_path):
    found = {"First": {"toy": toy(Options()), "needy": "left out: needs more"}}
    text = page(found, "# Head", tmp_path)
    assert text.index("# Head") < text.index("## First") < text.index("### Toy") < text.index("`needy` left out")
    for name in ("overview", "toy-growth"):
        assert f"(benchmarks-{name}.svg)" in text
        assert (tmp_path / f"benchmarks-{name}.svg").read_text().rstrip().endswith("</svg>")
    assert "svg" not in page(found, "# Head", None)


def test_every_benchmark_is_registered_and_its_parts_have_names_of_their_own():
    modules = {name: importlib.import_module(f"benchmarks.{name}") for name in MODULES}
    with_parts = {path.stem for path in FOLDER.glob("*.py") if "\nPARTS = {" in path.read_text(encoding="utf-8")}
    assert with_parts == set(MODULES)
    parts = [part for module in modules.values() for part in module.PARTS]
    assert len(set(parts)) == len(parts)
    assert len({module.TITLE for module in modules.values()}) == len(modules)


def test_an_unknown_benchmark_or_part_is_refused():
    with pytest.raises(SystemExit, match="there is no benchmark 'nothing'"):
        run(["nothing"], Options())
    with pytest.raises(SystemExit, match="there is no part 'nothing'"):
        run(["counting.nothing"], Options())


def test_networks_come_from_the_data_folder_first(tmp_path):
    (tmp_path / "networks").mkdir()
    (tmp_path / "networks" / "alarm.bif.gz").touch()
    options = Options(data=tmp_path)
    assert options.network("alarm").parent == tmp_path / "networks"
    with pytest.raises(LeftOut, match="link"):
        options.network("link")

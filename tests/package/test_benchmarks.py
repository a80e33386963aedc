"""The frame of the benchmarks, on toy sections; no times are asserted."""

import importlib
import math
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import report, reproduce_information_measure, reproduce_multilabel
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


# ---- the information measure -----------------------------------------------------------------------------------------


def test_a_quick_run_of_the_information_measure_writes_its_page_and_goes_on_where_it_was(tmp_path, capsys):
    page_file, cache = tmp_path / "page.md", tmp_path / "cache"
    command = ["--quick", "--sets", "blanket-01", "blanket-09", "car", "--cache", str(cache), "--write", str(page_file)]
    reproduce_information_measure.main(command)
    assert "car left out: --data is not given" in capsys.readouterr().out
    text = page_file.read_text(encoding="utf-8")
    assert "2 artificial sets, 1 permutation of 5 folds, at most 250 rows of each" in text
    assert "| blanket-01 | 250 | 2 |" in text
    kept = sorted(cache.iterdir())
    assert [path.name for path in kept] == ["blanket-01-250-0.json", "blanket-09-250-0.json"]
    before = [path.stat().st_mtime_ns for path in kept]
    kept[1].unlink()
    reproduce_information_measure.main(command)
    assert kept[0].stat().st_mtime_ns == before[0]  # read, not made again
    again = page_file.read_text(encoding="utf-8")
    assert again[again.index("## Table 1") :] == text[text.index("## Table 1") :]


def test_the_table_of_several_labels_goes_on_where_it_was_and_replaces_the_one_in_the_page(
    tmp_path, monkeypatch, capsys
):
    X, Y = reproduce_multilabel.generate(3, 6, 90)
    X["number"] = np.random.default_rng(0).normal(size=90)
    monkeypatch.setattr(reproduce_multilabel, "read_set", lambda folder, name: (X, Y))
    measured, plain = [], reproduce_multilabel.measure

    def counted(make, *rest):
        measured.append(make)
        return plain(make, *rest)

    monkeypatch.setattr(reproduce_multilabel, "measure", counted)
    labels = ["BR-NB", "ECC-J48", "MDBNC"]
    part = reproduce_multilabel.table_of(tmp_path, ["scene"], labels[:2], 2, tmp_path / "kept")
    whole = reproduce_multilabel.table_of(tmp_path, ["scene"], labels, 2, tmp_path / "kept")
    assert len(measured) == 3  # those of the first call were kept
    assert whole[: len(part)] == part
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in whole[2:]]
    assert [(line[0], line[3], line[6]) for line in cells] == [
        ("scene", "BR-NB", "82.6"), ("", "ECC-J48", "88.3"), ("", "MDBNC", "best: 88.3 (ECC-J48)")
    ]  # fmt: skip
    page = tmp_path / "page.md"
    page.write_text("\n".join(["before", "", *part, "", "after", ""]))
    reproduce_multilabel.write_table(page, whole)
    assert page.read_text() == "\n".join(["before", "", *whole, "", "after", ""])


def test_sets_of_uci_are_read_with_the_order_of_their_classes(tmp_path):
    rows = pd.DataFrame(
        {"doors": [2, 3, None, 4], "weight": [1.5, 2.5, 3.5, 4.5], "class": ["good", "acc", "acc", "unacc"]}
    )
    rows.to_csv(tmp_path / "car.csv.gz", index=False)
    assert "ATTRIBUTES.csv.gz not in" in reproduce_information_measure.why_left_out("car", tmp_path)
    types = {"dataset": "car", "attribute": rows.columns, "type": ["nominal", "numeric", "nominal"]}
    pd.DataFrame(types).to_csv(tmp_path / "ATTRIBUTES.csv.gz", index=False)
    assert reproduce_information_measure.why_left_out("car", tmp_path) is None
    X, y, n_classes = reproduce_information_measure.read_uci(tmp_path, "car")
    assert (y.tolist(), y.cat.ordered, n_classes) == ([2, 1, 0], True, 4)  # without the row with a missing value
    assert [str(dtype) for dtype in X.dtypes] == ["category", "float64"]


def test_the_baselines_predict_ordered_classes():
    level = np.repeat(np.arange(3), 40)
    X = pd.DataFrame({"x": level + np.tile(np.linspace(-0.4, 0.4, 40), 3)})
    for kind in (reproduce_information_measure.OrdinalRegression, reproduce_information_measure.CostSensitiveTree):
        y = reproduce_information_measure.ordered(pd.Series(level), 4)  # the highest class does not occur
        assert (kind(4).fit(X, y).predict(X) == level).all()


def test_a_tree_avoids_severe_errors():
    """In one leaf of 4, 3 and 4 rows the rarest class has the least cost: 8 log 2, not 3 log 2 + 4 log 3."""
    y = reproduce_information_measure.ordered(pd.Series([0] * 4 + [1] * 3 + [2] * 4), 3)
    X = pd.DataFrame({"x": np.zeros(11)})
    assert (reproduce_information_measure.CostSensitiveTree(3).fit(X, y).predict(X) == 1).all()


def test_ranks_and_critical_differences_are_those_of_demsar():
    """J. Demšar (2006). Statistical comparisons of classifiers over multiple data sets: Table 5(a), section 3.2.2."""
    for n_classifiers, q in ((2, 1.960), (4, 2.569), (7, 2.949), (10, 3.164)):
        expected = q * math.sqrt(n_classifiers * (n_classifiers + 1) / (6 * 14))
        assert reproduce_information_measure.critical_difference(n_classifiers, 14) == pytest.approx(expected, abs=2e-3)
    values = pd.DataFrame({"a": [90.0, 80.0], "b": [90.0, 70.0], "c": [50.0, 75.0]})
    assert reproduce_information_measure.mean_ranks(values).to_dict() == {"a": 1.25, "b": 2.25, "c": 2.5}

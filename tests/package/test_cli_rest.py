"""The commands bootstrap, compare, explain, impute, discretize and completion."""

import json
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

import bntk
from bntk.cli.entry import COMMANDS, parser


def test_bootstrap_prints_what_the_library_finds(terminal, folder):
    code, out, err = terminal("bntk bootstrap asia.csv -n 5 --seed 3 --network averaged.json --prior 1 --json")
    assert code == 0, err
    found = bntk.bootstrap_strengths(bntk.read_table(folder / "asia.csv"), n=5, seed=3)
    document = json.loads(out)
    assert document["strengths"] == found.to_frame().to_dict("records")
    assert document["threshold"] == found.threshold()
    assert bntk.load(folder / "averaged.json").dag == found.averaged()
    code, out, err = terminal("bntk bootstrap asia.csv -n 5 --seed 3 -o strengths.csv --threshold 0.9")
    assert code == 0
    assert "threshold         0.9000" in out
    assert len(pd.read_csv(folder / "strengths.csv")) == len(found.to_frame())


def test_bootstrap_says_what_to_do_about_missing_values(terminal):
    code, _, err = terminal("bntk bootstrap incomplete.csv -n 2")
    assert code == 0
    assert "--missing drop" in err
    assert "--missing em" not in err
    code, _, err = terminal("bntk bootstrap incomplete.csv -n 2 --missing drop")
    assert code == 0
    assert "are left out" in err


def test_compare_counts_arcs_and_sums_the_divergence(terminal, folder):
    asia = bntk.load(folder / "asia.bif")
    other = asia.remove_arc("smoke", "bronc").add_arc("asia", "xray").with_rows("xray", {"yes": 0.9}, {"either": "yes"})
    other.save(folder / "other.json")
    code, out, err = terminal("bntk compare asia.bif other.json --json")
    assert code == 0, err
    document = json.loads(out)
    assert document["arcs_of_first"] == [["smoke", "bronc"]]
    assert document["arcs_of_second"] == [["asia", "xray"]]
    assert document["hamming_distance"] == asia.dag.shd(other.dag)
    assert document["divergence"] == pytest.approx(asia.divergence(other)["divergence"].sum(), rel=1e-12)
    code, out, _ = terminal("bntk compare asia.bif asia")
    assert code == 0
    assert "all tables are the same" in out
    assert "KL(first || second)  0.0000" in out


def test_compare_networks_with_other_variables(terminal, folder):
    bntk.load(folder / "asia.bif").remove_variable("xray").rename_states("lung", {"no": "none"}).save(folder / "x.json")
    code, out, err = terminal("bntk compare asia x.json")
    assert code == 0
    assert "only in the first" in out
    assert "xray" in out
    assert "with other states" in out
    assert "KL" not in out
    assert "the distributions are not compared" in err
    code, _, err = terminal("bntk compare asia nothing.bif")
    assert code == 1
    assert "nothing.bif" in err


def test_impute_fills_the_gaps_and_leaves_the_rest(terminal, folder):
    rows = pd.read_csv(folder / "incomplete.csv", dtype=object)
    rows.insert(0, "note", np.where(np.arange(len(rows)) % 2, "a, b", None))
    rows.to_csv(folder / "more.csv", index=False)
    code, _, err = terminal("bntk impute asia.bif more.csv -o complete.csv")
    assert code == 0
    assert "missing values were filled in" in err
    filled = pd.read_csv(folder / "complete.csv", dtype=object)
    assert filled["note"].isna().sum() == rows["note"].isna().sum()
    known = rows.drop(columns="note").notna()
    there = filled.drop(columns="note")
    assert there.notna().all().all()
    assert (there.where(known) == rows.drop(columns="note").where(known)).where(known, True).all().all()
    expected = bntk.load(folder / "asia.bif").impute(rows.drop(columns="note")).to_pandas()
    assert (there[list(expected)] == expected.astype(object)).all().all()


def test_impute_draws_by_the_seed_and_adds_variables(terminal):
    one, two = (terminal("bntk impute asia new.csv --how sample --seed 4 --add")[1] for _ in range(2))
    assert one == two
    assert "dysp" in one.splitlines()[0]
    assert "dysp" not in terminal("bntk impute asia new.csv")[1].splitlines()[0]
    code, _, err = terminal("bntk impute asia new.csv --how best")
    assert code == 2
    assert "'best' is none of mpe, mode, sample" in err


def test_explain_tells_what_the_classifier_tells(terminal, folder):
    code, out, err = terminal("bntk explain dysp.json new.csv --rows 1 4 --json")
    assert code == 0, err
    X = pd.read_csv(folder / "new.csv", dtype=object)
    model = bntk.load(folder / "dysp.json")
    for entry, row in zip(json.loads(out)["rows"], (0, 3), strict=True):
        expected = model.explain(X.iloc[[row]])
        assert [part["log_odds"] for part in entry["parts"]] == pytest.approx(expected["log_odds"].tolist())
        assert [part["part"] for part in entry["parts"]] == list(expected.index)
    code, _, err = terminal("bntk explain dysp.json new.csv --rows 9999")
    assert code == 1
    assert "there is no row 9,999" in err
    code, _, err = terminal("bntk explain dysp.json new.csv --of maybe")
    assert code == 1
    assert "no state 'maybe'" in err
    code, _, err = terminal("bntk explain asia new.csv")
    assert code == 2
    assert "--target NAME" in err


def test_explain_of_a_network_is_that_of_its_findings(terminal, folder):
    code, out, err = terminal("bntk explain asia incomplete.csv --target lung --rows 3 --json")
    assert code == 0, err
    row = pd.read_csv(folder / "incomplete.csv", dtype=object).iloc[2].dropna().drop("lung", errors="ignore")
    expected = bntk.datasets.asia().relevant_findings("lung", row.to_dict())
    [entry] = json.loads(out)["rows"]
    assert [part["divergence"] for part in entry["parts"]] == pytest.approx(expected["divergence"].tolist())


def test_discretize_cuts_as_the_library_does(terminal, folder):
    code, out, err = terminal("bntk discretize measured.csv --target kind -o cut.csv --json")
    assert code == 0, err
    frame = pd.read_csv(folder / "measured.csv")
    expected = bntk.Discretizer("mdl").fit(frame[["weight", "height"]], frame["kind"])
    assert json.loads(out)["cuts"] == {name: cuts.tolist() for name, cuts in expected.cuts_.items()}
    cut = pd.read_csv(folder / "cut.csv", dtype=object)
    assert list(cut) == list(frame)
    assert (cut["colour"] == frame["colour"]).all()
    assert (cut["height"].isna() == frame["height"].isna()).all()
    assert set(cut["weight"]) <= set(expected.variables_[0].states)


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("bntk discretize measured.csv --method mdl", 2, "needs the class: --target COLUMN"),
        ("bntk discretize measured.csv --columns colour", 1, "the column 'colour' does not hold numbers"),
        ("bntk discretize measured.csv --columns colours", 1, "did you mean 'colour'"),
        ("bntk discretize measured.csv --json", 2, "-o FILE"),
        ("bntk discretize measured.csv --target weight --columns weight", 1, "is the target"),
    ],
)
def test_discretize_refuses_what_it_cannot_do(terminal, line, code, message):
    found, _, err = terminal(line)
    assert found == code
    assert message in err


def test_discretize_without_numbers_leaves_the_rows(terminal):
    code, out, err = terminal("bntk discretize asia.csv")
    assert code == 0
    assert "no column of numbers" in err
    assert len(out.splitlines()) == 601


def test_unnormalised_tables_are_converted_when_told_so(terminal, folder):
    code, _, err = terminal("bntk convert counts.bif fine.bif")
    assert code == 1
    assert "--normalize divides each row by its sum" in err
    code, _, err = terminal("bntk convert counts.bif fine.bif --normalize")
    assert code == 0
    assert bntk.load(folder / "fine.bif").cpt("a").values.tolist() == [0.75, 0.25]


# ---- completion --------------------------------------------------------------------------------------------------

ASKED = {
    "inf": {"info"},
    "learn x.csv --max": {"--max-parents", "--max-unpacked"},
    "learn x.csv --score bd": {"bdeu", "bdeu_per_class", "bds"},
    "info as": {"asia", "asia.bif", "asia.csv"},
    "evaluate x.csv --model nb ta": {"tan"},
    "impute asia x.csv --how s": {"sample"},
    "completion f": {"fish"},
    "fit asia --missing e": {"em"},
    "plot asia -o pic": {"picture.png"},
    "query spr": {"sprinkler"},
}
BASH = """source ./bntk.bash
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bntk; printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """compdef() { : }
compadd() { local word; for word in "${@[2,-1]}"; do [[ $word == ${words[CURRENT]}* ]] && print -r -- $word; done }
_files() { compadd -- *(N) }
source ./bntk.zsh
typeset -a words; words=("$@"); CURRENT=$#; _bntk; true
"""


def completed(shell, words, folder):
    if shell == "fish":
        line = "bntk " + words
        run = ["fish", "--no-config", "-c", "source ./bntk.fish; complete -C $argv[1]", line]
    else:
        script = {"bash": BASH, "zsh": ZSH}[shell]
        quiet = ["--norc"] if shell == "bash" else ["-f"]
        run = [shell, *quiet, "-c", script, shell, "bntk", *words.split()]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return {line.split("\t")[0] for line in done.stdout.splitlines() if line}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes_commands_options_and_their_words(shell, terminal, folder):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (folder / "picture.png").touch()
    code, out, err = terminal(f"bntk completion {shell}")
    assert code == 0, err
    (folder / f"bntk.{shell}").write_text(out)
    for words, expected in ASKED.items():
        assert completed(shell, words, folder) == expected, words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_option_of_every_command_is_in_the_script(shell, terminal):
    out = terminal(f"bntk completion {shell}")[1]
    for command in COMMANDS:
        assert command in out
        [several] = [a for a in parser(command)._actions if hasattr(a, "choices") and isinstance(a.choices, dict)]
        for action in several.choices[command]._actions:
            for flag in action.option_strings:
                assert (
                    flag if shell != "fish" else f" {flag[1:] if flag[1] != '-' else '-l ' + flag[2:]} ".strip()
                ) in out

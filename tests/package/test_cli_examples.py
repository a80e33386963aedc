"""Every line for the terminal in help texts and in the how-to page runs."""

import json
import re
from pathlib import Path

import pytest

from bntk.cli.entry import COMMANDS, EXAMPLES, load, main

PAGE = Path(__file__).parents[2] / "docs" / "command.md"


def every_example():
    named = [("bntk", example) for example in EXAMPLES]
    return named + [(name, example) for name in COMMANDS for example in load(name).examples]


@pytest.mark.parametrize("line", dict.fromkeys(example.line for _, example in every_example()))
def test_an_example_of_a_help_text_runs(line, terminal):
    code, out, err = terminal(line)
    assert code == 0, err
    assert out or " -o " in line or line.startswith(("bntk convert", "bntk plot"))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_its_examples(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([name, "--help"]) == 0
    text = capsys.readouterr().out
    examples = [example for of, example in every_example() if of == name]
    assert examples
    for example in examples:
        assert str(example) in text


def test_the_help_lists_all_commands_in_order(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert re.findall(r"^    ([\w-]+)  ", text, flags=re.MULTILINE) == list(COMMANDS)
    for example in EXAMPLES:
        assert str(example) in text


def lines_of_the_page():
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def test_the_lines_of_the_page_run_one_after_the_other(folder, terminal):
    for path in folder.iterdir():  # the page makes its files itself, but for two
        if path.name not in ("measured.csv", "costs.csv"):
            path.unlink()
    assert (folder / "costs.csv").read_text() in PAGE.read_text()
    lines = lines_of_the_page()
    assert {line.split("bntk ", 1)[1].split()[0] for line in lines} >= set(COMMANDS) - {"demo", "warm-up"}
    for line in lines:
        code, _, err = terminal(line)
        assert code == 0, f"{line}: {err}"


def test_the_page_names_every_key_of_the_json_documents(terminal):
    text = PAGE.read_text()
    for line in (
        "bntk info asia --json",
        "bntk info asia.csv --json",
        "bntk info dysp.json --json",
        "bntk learn asia.csv --json",
        "bntk learn asia.csv --target dysp --json",
        "bntk fit asia asia.csv --json",
        "bntk predict dysp.json new.csv --json",
        "bntk bootstrap asia.csv -n 3 --json",
        "bntk compare asia asia.bif --json",
        "bntk explain dysp.json new.csv --json",
        "bntk explain asia new.csv --target lung --json",
        "bntk discretize measured.csv -o cut.csv --json",
        "bntk query asia lung --json",
        "bntk query asia --json",
        "bntk query asia --mpe --json",
        "bntk query asia --probability --given lung=yes --json",
        "bntk evaluate asia.csv --target dysp --model nb tan --folds 3 --json",
        "bntk evaluate asia.csv incomplete.csv --target dysp --model nb tan --folds 3 --json",
    ):
        code, out, err = terminal(line)
        assert code == 0, err
        document = json.loads(out)
        keys = set(document) | {key for part in document.get("models", []) for key in part}
        keys |= {
            key
            for name in ("answers", "comparisons", "families", "strengths")
            for part in document.get(name, [])
            for key in part
        }
        for key in keys:
            assert f"`{key}`" in text, (line, key)

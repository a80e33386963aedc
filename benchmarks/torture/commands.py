"""Command lines, right and wrong: an exit code of 0, or of 1 or 2 with one line that says why; never a traceback."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import bntk
from benchmarks.torture.case import Case, kind
from bntk.cli import main
from bntk.cli.entry import COMMANDS

#: Command lines that work; FOLDER is a folder with the files of :func:`files`.
LINES = [
    "info asia", "info FOLDER/rows.csv", "info FOLDER/tan.json", "info FOLDER/asia.bif --json",
    "query asia lung --given xray=yes smoke=yes", "query asia lung tub --soft xray=1,5",
    "query asia --mpe --given dysp=yes", "query asia --probability --given xray=yes,no",
    "query FOLDER/asia.bif either --engine auto",
    "learn FOLDER/rows.csv --target dysp --model tan -o FOLDER/out.json",
    "learn FOLDER/rows.csv --score bic --required smoke->lung --forbidden lung->smoke -o FOLDER/out.bif",
    "learn FOLDER/rows.csv --tiers smoke,asia lung,tub --ignore xray,either,dysp,bronc -o FOLDER/out.json",
    "fit FOLDER/asia.bif FOLDER/rows.csv -o FOLDER/out.bif",
    "fit FOLDER/asia.bif FOLDER/rows.csv --prior bdeu:3 --missing em -o FOLDER/out.net",
    "evaluate FOLDER/rows.csv --target dysp --model nb --folds 2",
    "evaluate FOLDER/rows.csv --target dysp --model nb --holdout 0.3 --metrics accuracy",
    "predict FOLDER/tan.json FOLDER/rows.csv", "predict FOLDER/tan.json FOLDER/rows.csv --proba -o FOLDER/out.csv",
    "predict FOLDER/asia.bif FOLDER/rows.csv --target lung --keep smoke", "convert FOLDER/asia.bif FOLDER/out.xdsl",
    "bootstrap FOLDER/rows.csv -n 2 --network FOLDER/out.bif", "compare asia FOLDER/asia.bif",
    "explain FOLDER/tan.json FOLDER/rows.csv --rows 1 2", "explain asia FOLDER/rows.csv --target lung",
    "impute asia FOLDER/rows.csv --how sample", "discretize FOLDER/rows.csv", "completion bash",
    "convert FOLDER/asia.bif FOLDER/out.dsl --normalize", "convert asia FOLDER/out.uai", "sample asia -n 5",
    "sample asia --rows 4 --missing 0.5 --seed 3 -o FOLDER/out.csv", "sample asia --rows 4 --given xray=yes",
]  # fmt: skip
ODD = [
    "", "-", "--", "=", "a=b=c", "lung=", "=yes", "xray=maybe", "xray=yes,,no", "xray=yes,yes", "nobody", "-1", "0",
    "nan", "1e999", "99999999999999999999", "é", "\udc80", "\0", "a\nb", "FOLDER", "FOLDER/absent.csv",
    "FOLDER/rows.csv", "FOLDER/asia.bif", "FOLDER/tan.json", "FOLDER/empty.csv", "FOLDER/empty.json",
    "FOLDER/noise.bif", "FOLDER/noise.json", "FOLDER/ragged.csv", "FOLDER/x.unknown", "/dev/null", "--help", "--json",
    "--debugging", "--given", "--target", "-o", "--model", "tan", "xyz", "bdeu:", "bdeu:-1", "lung->lung", "a->",
    "->", "lung,lung", "x" * 5000, "--seed", "--folds", "1", "2", "0.5", "-0.5", "either=yes", "tub=no", "*", "~",
    "${HOME}", "asia", "xray=1,1,1",
]  # fmt: skip


@cache
def _contents() -> dict[str, bytes]:
    """The files to work on, made once in a process."""
    with tempfile.TemporaryDirectory(prefix="torture") as name:
        folder, asia = Path(name), bntk.datasets.asia()
        rows = asia.sample(60, seed=1).to_pandas()
        rows.to_csv(folder / "rows.csv", index=False)
        asia.save(folder / "asia.bif")
        bntk.TAN().fit(rows.drop(columns="dysp"), rows["dysp"]).save(folder / "tan.json")
        made = {path.name: path.read_bytes() for path in folder.iterdir()}
    bad = {
        "empty.csv": b"",
        "empty.json": b"",
        "noise.bif": b"{{{",
        "noise.json": b"[1",
        "ragged.csv": b"a,b\n1\n1,2,3\n",
    }
    return made | bad


@contextlib.contextmanager
def files() -> Iterator[str]:
    """A folder with the files, which a command may overwrite."""
    contents = _contents()
    with tempfile.TemporaryDirectory(prefix="torture") as folder:
        for name, raw in contents.items():
            Path(folder, name).write_bytes(raw)
        yield folder


@kind("commands", 1.5)
def commands(case: Case) -> None:
    """Command lines with words changed, left out, repeated and put in."""
    for _ in range(5):
        words = case.pick(LINES).split()
        right = case.chance(0.1)
        if not right:
            for _ in range(int(case.pick([1, 1, 2, 4]))):
                words = changed(case, words)
        if case.chance(0.5):
            words.append("-q")
        case.note(words=words)
        with files() as folder:
            told(case, words, *run([word.replace("FOLDER", folder) for word in words]), right)


def changed(case: Case, words: list[str]) -> list[str]:
    """A word replaced, removed, repeated, put in, or with a character changed."""
    words, at = list(words), int(case.rng.integers(len(words) + 1))
    way = case.pick(["replace", "remove", "repeat", "put", "put", "character", "command"])
    if way == "replace":
        words[at : at + 1] = [case.pick(ODD)]
    elif way == "remove":
        del words[at : at + 1]
    elif way == "repeat":
        words[at:at] = words[at : at + 2]
    elif way == "put":
        words.insert(at, case.pick(ODD))
    elif way == "command" and words:
        words[0] = case.pick(COMMANDS)
    elif way == "character" and at < len(words) and words[at]:
        place = int(case.rng.integers(len(words[at])))
        words[at] = words[at][:place] + case.pick("=,.-é '\"") + words[at][place + 1 :]
    return words


@contextlib.contextmanager
def elsewhere() -> Iterator[None]:
    """In a folder where files may be written."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="torture") as place:
        os.chdir(place)
        try:
            yield
        finally:
            os.chdir(before)


def run(words: list[str]) -> tuple[Any, str, str]:
    """The exit code, or what was raised, and what was printed."""
    out, err = io.StringIO(), io.StringIO()
    with elsewhere(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code: Any = main(words)
        except BaseException as error:
            code = error
    return code, out.getvalue(), err.getvalue()


def told(case: Case, words: list[str], code: Any, out: str, err: str, right: bool) -> None:
    """Whether the command said what it must."""
    command = words[0] if words and words[0] in COMMANDS else "bntk"
    if not case.check(f"{command}: an exit code", code in (0, 1, 2) and not isinstance(code, bool), repr(code)):
        return
    case.check(f"{command}: no fault of its own", "fault of bntk" not in err and "Traceback" not in err, err[-500:])
    if right:
        case.check(f"{command}: works", code == 0, err)
    if code:
        lines = err.strip().splitlines()
        helped = not words or "usage:" in out  # without words it prints its help
        case.check(f"{command}: one line", helped or (lines and lines[-1].startswith("bntk")), err)
        if "-q" in words or "--quiet" in words:
            case.check(f"{command}: no more than one line", helped or len(lines) == 1, err)


@kind("options", 0.3)
def options(case: Case) -> None:
    """An option given twice means what it means given once with all of its values."""
    chosen = case.some(["xray=yes", "smoke=yes", "dysp=no", "asia=no", "bronc=yes"], 2)
    once = run(["query", "asia", "lung", "--json", "--given", *chosen])
    twice = run(["query", "asia", "lung", "--json", *[word for each in chosen for word in ("--given", each)]])
    case.note(given=chosen)
    case.check("--given twice", once[:2] == twice[:2], f"{once} {twice}")
    clash = run(["query", "asia", "lung", "--given", "xray=yes", "--given", "xray=no"])
    case.check("--given that contradicts", clash[0] in (1, 2) and "xray" in clash[2], clash)

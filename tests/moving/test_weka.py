"""The lines of docs/from-weka.md beside what Weka printed.

``tests/oracle/weka.json`` has the output of each line. ``python tests/moving/test_weka.py`` writes it again, where
Debian's package ``weka`` is installed.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from moving.pages import Page, same_network
from references import ORACLE, oracle_table

import bntk

PAGE = Page("from-weka.md")
STORED = ORACLE / "weka.json"
JAR = Path("/usr/share/java/weka.jar")
CLASSES = ["u", "w", "v"]  # as declared; ours are sorted


def write_arff(frame: pd.DataFrame, kinds: dict[str, str], path: Path) -> None:
    head = [f"@attribute {name} {kind}" for name, kind in kinds.items()]
    rows = frame.to_csv(index=False, header=False, na_rep="?", lineterminator="\n")
    path.write_text("\n".join(["@relation rows", *head, "@data", rows]), encoding="utf-8")


def write_data(folder: Path) -> Path:
    table = oracle_table("mixed")
    kinds = {v.name: f"{{{','.join(v.states)}}}" for v in table.variables}
    frame = table.to_pandas()
    write_arff(frame[:300], kinds, folder / "train.arff")
    write_arff(frame[300:], kinds, folder / "test.arff")
    iris = load_iris(as_frame=True).frame.set_axis(["sl", "sw", "pl", "pw", "class"], axis=1)
    iris["class"] = iris["class"].map(lambda k: "abc"[k])
    kinds = dict.fromkeys(["sl", "sw", "pl", "pw"], "numeric") | {"class": "{a,b,c}"}
    write_arff(iris[::2], kinds, folder / "iris-train.arff")
    write_arff(iris[1::2], kinds, folder / "iris-test.arff")
    return folder


def printed(folder: Path) -> dict[str, str]:
    """What Weka prints for each row; of a model that is saved first, what it predicts then."""
    outputs = {}
    for task in SAME:
        text = (PAGE.path.read_text(encoding="utf-8")).split(f"| {task} | ")[1].split(" | ")[0]
        for line in re.findall("`([^`]+)`", text):
            command = f"java -cp {JAR} {line.partition(' > ')[0]}"
            done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=True)
        outputs[task] = re.sub(r"(?m)^Time taken.*\n|[ \t]+$", "", done.stdout).strip()
    return outputs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("weka"))


@pytest.fixture(scope="module")
def ours(folder) -> dict[str, Any]:
    return PAGE.ours(folder)


@pytest.fixture(scope="module")
def theirs() -> dict[str, str]:
    return json.loads(STORED.read_text(encoding="utf-8"))


def distribution(text: str) -> np.ndarray:
    """The printed probabilities, which have three digits; classes in sorted order."""
    rows = [line.split()[-1].replace("*", "").split(",") for line in text.splitlines() if re.match(r" *\d+ ", line)]
    found = np.array(rows, dtype=float)
    return found[:, np.argsort(CLASSES)] if ":u" in text else found


def predicted(text: str) -> list[str]:
    return re.findall(r"(?m)^ *\d+ +\S+ +\d+:(\w)", text)


def same_probabilities(text: str, ours: np.ndarray) -> None:
    np.testing.assert_allclose(ours, distribution(text), rtol=0, atol=5.01e-4)


def nearly_same_probabilities(text: str, ours: np.ndarray) -> None:
    np.testing.assert_allclose(ours, distribution(text), rtol=0, atol=0.01)
    assert (ours.argmax(axis=1) == distribution(text).argmax(axis=1)).all()


def equivalent(text: str, ours: bntk.DAG) -> None:
    assert ours.is_equivalent(of_weka(text).dag.reorder(ours.nodes))


def same_arcs(text: str, ours: bntk.DAG) -> None:
    assert {*ours.arcs} == {*of_weka(text).dag.arcs}


def of_weka(text: str) -> bntk.BayesianNetwork:
    return bntk.io.FORMATS[".xmlbif"]().parse(text[text.index("<?xml") :], "Weka")


def number(pattern: str, scale: float, digits: float) -> Any:
    def compare(text: str, ours: float) -> None:
        assert ours == pytest.approx(float(re.search(pattern, text)[1]) / scale, abs=digits)

    return compare


def same_confusion(text: str, ours: np.ndarray) -> None:
    rows = re.findall(r"(?m)^ +((?:\d+ +)+)\| +\w = ", text)
    assert ours.tolist() == [[int(n) for n in row.split()] for row in rows]


def same_labels(text: str, ours: np.ndarray) -> None:
    assert [*ours] == predicted(text)


def same_summary(text: str, ours: bntk.Table) -> None:
    assert ours.n_rows == int(re.search(r"Num Instances: +(\d+)", text)[1])
    assert len(ours.names) == int(re.search(r"Num Attributes: +(\d+)", text)[1])


def same_gains(text: str, ours: dict[str, float]) -> None:
    gains = {name: float(gain) for gain, name in re.findall(r"(?m)^ *([\d.]+) +\d+ (f\d)", text)}
    assert {name: gain / np.log(2) for name, gain in ours.items()} == pytest.approx(gains, abs=5.01e-5)


def same_cuts(text: str, ours: dict[str, np.ndarray]) -> None:
    for name, states in re.findall(r"@attribute (\w+) \{(.*)\}", text)[:-1]:
        np.testing.assert_allclose(ours[name], [float(cut) for cut in re.findall(r"-([\d.]+)\]", states)], rtol=1e-9)


SAME = {
    "naive Bayes": same_probabilities,
    "TAN": same_probabilities,
    "a forest by MDL": equivalent,
    "K2, two parents": same_arcs,
    "hill climbing, two parents": equivalent,
    "a general network": equivalent,
    "the score of a network": number(r"LogScore Bayes: (\S+)", 1, 1e-9),
    "AODE": nearly_same_probabilities,
    "more rows, one by one": same_probabilities,
    "costs": same_labels,
    "accuracy": number(r"test data(?s:.*?)Correctly Classified Instances +\d+ +([\d.]+)", 100, 1e-6),
    "kappa": number(r"test data(?s:.*?)Kappa statistic +([\d.]+)", 1, 5.01e-5),
    "a confusion matrix": same_confusion,
    "a model saved, and used": same_labels,
    "a network to a file and back": lambda text, ours: same_network(of_weka(text), ours),
    "a look at a file": same_summary,
    "information gain": same_gains,
    "supervised cuts (MDL)": same_cuts,
    "naive Bayes on cut numbers": same_probabilities,
}
ONLY_RUN = {"equal frequencies", "normal densities", "kernel densities", "cross-validation"}


def test_every_row_is_compared_or_said_to_be_only_run():
    assert {*PAGE.pairs} == {*SAME} | ONLY_RUN


@pytest.mark.parametrize("task", SAME)
def test_our_line_gives_what_weka_gives(task, theirs, ours):
    SAME[task](theirs[task], ours[task])


@pytest.mark.skipif(not (JAR.exists() and shutil.which("java")), reason="Weka (Debian's package weka) is not installed")
def test_weka_prints_what_is_stored(theirs, folder):
    assert printed(folder) == theirs


if __name__ == "__main__":
    import tempfile

    STORED.write_text(json.dumps(printed(write_data(Path(tempfile.mkdtemp()))), indent=1) + "\n", encoding="utf-8")

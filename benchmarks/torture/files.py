"""Files: written and read back to the same bits; damaged ones give a result that makes sense or a documented error."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bntk
from benchmarks.torture import fits, networks, tables
from benchmarks.torture.case import DOCUMENTED, Case, kind
from bntk._declared import CLASSIFIERS, MULTI_CLASSIFIERS
from bntk.classifiers.saving import dump, parse
from bntk.data.variable import state_text
from bntk.errors import BntkError, DataError, ParseError
from bntk.io import FORMATS

#: Pieces that mean something in one of the formats.
PIECES = [
    b"{", b"}", b"(", b")", b"[", b"]", b"<", b">", b"</", b"&", b";", b"|", b",", b":", b'"', b"'", b"\\", b"=",
    b"%", b"#", b"/*", b"//", b"<!--", b"]]>", b"nan", b"inf", b"-1", b"1e999", b"1e308", b"0", b"null", b"true",
    b"99999999999999999999", b"\0", b"\xff", b"\xef\xbb\xbf", b"\n", b"\r", b"\t", b"@data", b"@attribute", b"?",
    b"table", b"BAYES", b"\\ud800", b"{}", b"[]", b"0.5",
]  # fmt: skip
#: What takes the place of a value in a file of JSON.
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 0.5, -0.5, 1e308, -1e308, 1e-320, 2**53, 2**63, 10**30, "", "x", "nan", "inf", [],
    {}, [0], [[]], {"": 0}, {"float": "nan"}, {"float": "inf"}, "\ud800", [1, 2, 3], "TAN", {"object": "x"},
    float("nan"), float("inf"),
]  # fmt: skip


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="torture") as path:
        yield Path(path)


def damaged(case: Case, raw: bytes) -> bytes:
    """Bytes flipped, cut off, removed, repeated or put in."""
    data = bytearray(raw)
    for _ in range(int(case.pick([1, 1, 1, 2, 5]))):
        at = int(case.rng.integers(len(data) + 1))
        way = case.pick(["flip", "cut", "remove", "repeat", "put", "put", "bytes"])
        if way == "flip" and at < len(data):
            data[at] ^= 1 << int(case.rng.integers(8))
        elif way == "cut":
            del data[at:]
        elif way == "remove":
            del data[at : at + int(case.rng.integers(1, 30))]
        elif way == "repeat":
            data[at:at] = data[at : at + int(case.rng.integers(1, 30))]
        elif way == "put":
            data[at : at + int(case.rng.integers(4))] = case.pick(PIECES)
        else:
            data[at : at + 1] = case.rng.bytes(int(case.rng.integers(1, 4)))
    return bytes(data)


# ---- networks --------------------------------------------------------------------------------------------------------


@kind("networks", 2)
def network_files(case: Case) -> None:
    """Networks in every format: read back to the same bits; damaged files give a network or a ParseError."""
    network = networks.network(case, entries=500)
    if case.chance(0.3):
        network = bntk.fit(network.dag, network.sample(10, seed=case.number), prior=1.0, variables=network.variables)
    suffixes = sorted({form.names[0] for form in FORMATS.classes.values()})
    suffix = suffixes[case.number % len(suffixes)]
    case.note(network=network, suffix=suffix)
    with folder() as place:
        path = place / (f"x{suffix}.gz" if case.chance(0.2) else f"x{suffix}")
        if case.answer(f"save {suffix}", lambda: (network.save(path), 1), DataError) is None:
            return
        again = case.answer(f"load {suffix}", lambda: bntk.load(path))
        if again is not None:
            read_back(case, network, again, suffix)
        raw = path.read_bytes()
        for _ in range(25):
            data = damaged(case, raw)
            if path.suffix == ".gz" and case.chance(0.7):
                data = gzip.compress(damaged(case, gzip.decompress(raw)))
            path.write_bytes(data)
            case.note(data=data)
            loaded(case, suffix, path)


def read_back(case: Case, network: bntk.BayesianNetwork, again: bntk.BayesianNetwork, suffix: str) -> None:
    """Structure, names and states as the format keeps them, and numbers to the last bit."""
    form = FORMATS[suffix]
    case.check(f"{suffix}: structure", again.dag.parent_indices == network.dag.parent_indices, lambda: str(again.dag))
    for ours, old in zip(again.cpts, network.cpts, strict=True):
        case.same(f"{suffix}: numbers", ours.values, old.values)
        if form.has_names:
            case.check(f"{suffix}: names", ours.name == old.name, lambda ours=ours: ours.name)
            texts = [state_text(state) for state in old.child.states]
            found = [state_text(state) for state in ours.child.states]
            case.check(f"{suffix}: states", found == texts, lambda found=found, texts=texts: f"{found} {texts}")
        if suffix == ".json":
            case.check(f"{suffix}: variables", ours.child == old.child, lambda ours=ours: ours.child)
            if old.counts is not None:
                case.same(f"{suffix}: counts", ours.counts, old.counts)


def loaded(case: Case, suffix: str, path: Path) -> None:
    """A damaged file: refused by a ParseError, or a network that answers."""
    found = case.answer(f"load a damaged {suffix}", lambda: bntk.load(path), ParseError)
    if not isinstance(found, bntk.BayesianNetwork):
        return
    case.comparisons += 1
    if found.names and max(v.n_states for v in found.variables) < 1000:
        answer = case.answer(f"query a damaged {suffix}", lambda: found.marginals())
        for distribution in (answer or {}).values():
            case.close(f"marginals of a damaged {suffix}", distribution.values.sum(), 1.0, relative=1e-6)
            return


# ---- classifiers -----------------------------------------------------------------------------------------------------


@kind("models", 3)
def classifier_files(case: Case) -> None:
    """Files of classifiers with values replaced: a ParseError, or a classifier whose probabilities make sense."""
    declared = case.pick([CLASSIFIERS, CLASSIFIERS, MULTI_CLASSIFIERS])
    names = list(declared.helps)
    name, n = names[case.number % len(names)], 12
    X = tables.features(case, n, ("text", "floats with nan", "integers", "categories", "booleans"))
    y: Any = tables.labels(case, n)
    if declared is MULTI_CLASSIFIERS:
        y = pd.concat([y, tables.labels(case, n, "other")], axis=1)
    made = fits.classifier(case, name, declared)
    if case.answer("fit", lambda: made.fit(X, y), DOCUMENTED) is None:
        return
    text = case.answer("save", lambda: dump(made), DataError)
    if text is None:
        return
    document = json.loads(text)
    places = list(leaves(document))
    for _ in range(30):
        place, value = case.pick(places), case.pick(VALUES)
        edited = replaced(json.loads(text), place, value)
        case.note(place=place, value=value, X=X.to_dict("list"))
        again = case.answer("load an edited file", lambda edited=edited: parse(edited), ParseError)
        if again is None:
            continue
        tables_ = case.answer("predict after editing", lambda again=again: fits.predicted(again, X), DOCUMENTED)
        for table in tables_ or ():
            case.check("finite after editing", np.isfinite(table).all(), lambda table=table: table)
            case.close("sums to one after editing", table.sum(axis=1), np.ones(n), relative=1e-6)


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every value of a document is, those that hold others included."""
    if place:
        yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from leaves(inner, (*place, key))


def replaced(document: Any, place: tuple[Any, ...], value: Any) -> str:
    """The text of a document with another value at one place."""
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return json.dumps(document)


# ---- tables ----------------------------------------------------------------------------------------------------------


@kind("tables", 2)
def table_files(case: Case) -> None:
    """CSV, ARFF and Parquet: labels read back as they were; damaged files give a table or one of our errors."""
    n = int(case.pick([1, 3, 20]))
    labels = [text for text in networks.TEXTS if text.strip() == text and text not in ("", "?")]
    columns = {
        name: [case.pick([*case.some(labels, 3)[:3], None]) for _ in range(n)]
        for name in networks.names(case, case.pick([1, 2, 4]))
    }
    frame = pd.DataFrame(columns, dtype=object)
    case.note(columns=columns)
    suffix = (".csv", ".tsv", ".arff", ".parquet")[case.number % 4]
    with folder() as place:
        path = place / f"x{suffix}"
        if suffix == ".parquet":
            frame.to_parquet(path)
        elif suffix == ".arff":
            path.write_text(arff(columns), encoding="utf-8")
        else:
            frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",", lineterminator="\n")
        told = {"types": str} if suffix in (".csv", ".tsv") else {}
        table = case.answer(f"read {suffix}", lambda: bntk.read_table(path, **told), DataError)
        if table is not None:
            for name, values in columns.items():
                if name.strip() == name:
                    ours = [None if pd.isna(cell) else cell for cell in table.to_pandas()[name].tolist()]
                    case.check(f"{suffix}: labels", ours == values, lambda ours=ours, values=values: f"{ours} {values}")
                    case.comparisons += n - 1
        raw = path.read_bytes()
        for _ in range(25):
            data = damaged(case, raw)
            path.write_bytes(data)
            case.note(data=data)
            found = case.answer(f"read a damaged {suffix}", lambda: bntk.read_table(path), BntkError)
            case.check(f"read a damaged {suffix}", found is None or found.codes.shape[0] == len(found.variables))


def arff(columns: dict[str, list[Any]]) -> str:
    """Columns of text as ARFF."""

    def quoted(text: str) -> str:
        escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
        return f"'{escaped}'"

    head = [f"@attribute {quoted(name)} string" for name in columns]
    body = [
        ",".join("?" if cell is None else quoted(cell) for cell in row) for row in zip(*columns.values(), strict=True)
    ]
    return "\n".join(["@relation r", *head, "@data", *body, ""])

"""A row alone and among others gives the same bits, whatever container the rows come in."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from inference.extended import tiny_network
from random_networks import random_network

import bntk
from bntk._declared import CLASSIFIERS, MULTI_CLASSIFIERS

pytestmark = pytest.mark.filterwarnings("ignore::bntk.errors.ImpossibleRowsWarning")


def _polars(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("polars").DataFrame({name: frame[name].tolist() for name in frame.columns})


def _arrow(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("pyarrow").table({name: frame[name].tolist() for name in frame.columns})


CONTAINERS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": _polars,
    "pyarrow": _arrow,
    "dict": lambda frame: {name: frame[name].tolist() for name in frame.columns},
}


def _networks() -> list[tuple[str, bntk.BayesianNetwork]]:
    wide = bntk.datasets.random_network(40, seed=3)
    return [
        ("small", random_network(1, 6)),
        ("zeros", random_network(8, 6, zeros=True)),
        ("tiny", tiny_network(5, 7)),
        ("wide", wide if isinstance(wide, bntk.BayesianNetwork) else wide[0]),
    ]


NETWORKS = dict(_networks())


def _rows(bn: bntk.BayesianNetwork, n: int = 150) -> bntk.Table:
    """Rows with few and with many missing cells, some of them alike."""
    rng = np.random.default_rng(0)
    codes = np.array([rng.integers(v.n_states, size=n) for v in bn.variables])
    cards = np.array([v.n_states for v in bn.variables])[:, None]
    codes = np.where(rng.random(codes.shape) < rng.choice([0.0, 0.1, 0.6], size=n), cards, codes)
    codes[:, :5] = codes[:, 5:10]
    return bntk.Table.from_codes(codes, bn.variables)


METHODS: dict[str, Callable[[bntk.BayesianNetwork, Any], np.ndarray]] = {
    "posterior": lambda bn, rows: bn.posterior(rows, bn.names[1]).to_numpy(),
    "row_log_likelihood": lambda bn, rows: bn.row_log_likelihood(rows),
    "impute mpe": lambda bn, rows: bn.impute(rows).codes.T,
    "impute mode": lambda bn, rows: bn.impute(rows, "mode").codes.T,
}


@cache
def _rows_and_frame(name: str) -> tuple[bntk.Table, pd.DataFrame]:
    rows = _rows(NETWORKS[name])
    return rows, rows.to_pandas().astype(object).where(lambda f: f.notna(), None)


@cache
def _answers(name: str, method: str) -> np.ndarray:
    """The answers to all rows together, once for all containers."""
    return METHODS[method](NETWORKS[name], _rows_and_frame(name)[0])


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("container", [*CONTAINERS, "Table", "array"])
def test_a_row_alone_and_among_others_gives_the_same_bits(name: str, method: str, container: str) -> None:
    bn, ask, together = NETWORKS[name], METHODS[method], _answers(name, method)
    rows, frame = _rows_and_frame(name)

    def given(part: slice) -> Any:
        if container == "Table":
            return bntk.Table.from_codes(rows.codes[:, part], bn.variables)
        if container == "array":
            return frame[part].to_numpy()
        return CONTAINERS[container](frame[part])

    assert ask(bn, given(slice(0, 150))).tobytes() == together.tobytes()
    for part in (*(slice(i, i + 1) for i in range(0, 150, 29)), slice(60, 64), slice(7, 140)):
        assert ask(bn, given(part)).tobytes() == np.ascontiguousarray(together[part]).tobytes()


@pytest.mark.parametrize("make", [bntk.NaiveBayes, bntk.TAN, bntk.KDB, bntk.AODE], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("container", ["pandas", "polars", "pyarrow", "array"])
def test_a_classifier_gives_a_row_alone_the_same_bits(make: Any, container: str) -> None:
    data = NETWORKS["small"].sample(300, seed=1).to_pandas().astype(object)
    y = data.pop(data.columns[0]).tolist()
    model = make().fit(data, y)
    rng = np.random.default_rng(2)
    holes = data.mask(rng.random(data.shape) < rng.choice([0.0, 0.3], size=(len(data), 1)), None)
    together = model.predict_proba(holes)

    def given(part: slice) -> Any:
        frame = holes[part]
        return frame.to_numpy() if container == "array" else CONTAINERS[container](frame)

    if container == "array":
        model = make().fit(data.to_numpy(), y)
        together = model.predict_proba(holes.to_numpy())
    for part in (*(slice(i, i + 1) for i in range(0, 300, 41)), slice(100, 103), slice(9, 250)):
        assert model.predict_proba(given(part)).tobytes() == np.ascontiguousarray(together[part]).tobytes()


@pytest.mark.parametrize("name", [*CLASSIFIERS, *MULTI_CLASSIFIERS])
def test_every_classifier_gives_a_row_alone_the_same_bits(name: str) -> None:
    several = name in MULTI_CLASSIFIERS
    rows = bntk.datasets.asia().sample(300, seed=1).to_pandas()
    targets = ["lung", "bronc"] if several else "lung"
    X, Y = rows.drop(columns=targets), rows[targets]
    model = (MULTI_CLASSIFIERS if several else CLASSIFIERS)[name]().fit(X, Y)
    rng = np.random.default_rng(2)
    holes = X.astype(object).mask(rng.random(X.shape) < rng.choice([0.0, 0.3, 0.9], size=(len(X), 1)), None)

    def ask(part: slice) -> np.ndarray:
        found = model.predict_proba(holes[part])
        return np.hstack(found) if several else found

    together = ask(slice(0, 300))
    for part in (*(slice(i, i + 1) for i in range(0, 300, 13)), slice(100, 103), slice(9, 250)):
        assert ask(part).tobytes() == np.ascontiguousarray(together[part]).tobytes()

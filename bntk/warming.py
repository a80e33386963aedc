"""The work of ``bntk warm-up``: small calls that need every kernel, so that all of them are compiled and kept."""

from __future__ import annotations

import contextlib
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bntk
from bntk._declared import CLASSIFIERS, MULTI_CLASSIFIERS
from bntk._kernels import CompilationCounter, cache_folder, compiling_all, tell_nothing
from bntk._progress import progress_bar
from bntk.data.numbers import Reading
from bntk.errors import BntkError
from bntk.learning.counts.compact import number_configurations


class WarmUp(NamedTuple):
    """How many kernels were compiled, how long all of it took, and the folder in which they are kept."""

    n_compiled: int
    seconds: float
    folder: str


def warm_up(progress: bool = False) -> WarmUp:
    """Compile what the package uses, unless the cache has it."""
    tell_nothing()
    started, work = time.perf_counter(), calls()
    with CompilationCounter() as compiled, compiling_all(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tiny data
        with progress_bar(progress, total=len(work), desc="compiling", unit="call") as bar:
            for call in work:
                call()
                bar.update()
    return WarmUp(compiled.count, time.perf_counter() - started, cache_folder())


def calls() -> list[Callable[[], Any]]:
    """Calls that need every kernel, on small data."""
    return [*_of_networks(), *_of_learning(), *_of_classifiers()]


def _of_networks() -> Iterator[Callable[[], Any]]:
    asia, large = bntk.datasets.asia(), _large_network()
    names = large.names
    rows, given = asia.sample(200), {"dysp": "yes"}
    holes = bntk.datasets.with_missing(rows, 0.2)
    some = {names[-1]: large.variables[-1].states[0]}
    yield lambda: asia.sample(10)
    yield lambda: asia.query("lung", given)
    yield lambda: asia.mpe(given)
    yield lambda: large.query(names[0], some)
    yield lambda: large.marginals(some)
    yield lambda: large.mpe(some)
    yield lambda: large.map(names[:2], some)
    yield lambda: large.query(list(names[:2]), some)
    for engine in ("loopy", "gibbs", "weighting"):
        yield partial(asia.query, "lung", given, engine=engine)
    yield lambda: asia.posterior(holes, "lung")
    yield lambda: asia.posterior(rows, "lung")
    yield lambda: asia.posterior(holes, "lung", engine="loopy")
    yield lambda: asia.log_likelihood(holes)
    for how in ("mpe", "mode", "sample"):
        yield partial(asia.impute, holes, how)
        yield partial(large.impute, bntk.datasets.with_missing(large.sample(20), 0.5), how)
    yield _read_rows
    yield _scan_rows
    yield lambda: bntk.fit(asia.dag, holes)
    yield lambda: bntk.fit(asia.dag, holes, weights=np.ones(200))
    yield lambda: bntk.fit(asia.dag, holes, missing="em", prior=1.0)
    yield lambda: bntk.fit(asia.dag, rows, prior=bntk.priors.HDP(2, 1))


def _read_rows() -> None:
    """Read a table from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_text("a,b\n" + "x,1\ny,2\n" * 50)
        bntk.read_table(path)


def _scan_rows() -> None:
    """Learn from rows that are read in passes."""
    try:
        import pyarrow as pa
    except ImportError:
        return
    text, wide = pa.array(["x", "y", None] * 50).dictionary_encode(), pa.array(range(150))
    for number in (pa.int8(), pa.int16(), pa.int32(), pa.int64()):
        batch = pa.table(
            {"a": text, "b": pa.array([1, 2, 3] * 50, type=number), "c": pa.array([1.5, 2.5] * 75), "d": wide}
        )
        rows = bntk.scan(lambda batch=batch: iter([batch]))
        rows.counter(Reading("frequency")).pairs()
        bntk.SelectiveKDB(1).fit(rows, "b")


def _large_network() -> bntk.BayesianNetwork:
    """A network beyond what numpy does alone."""
    return bntk.datasets.random_network(40, max_parents=3, seed=1)


def _of_learning() -> Iterator[Callable[[], Any]]:
    from bntk.learning import search

    large_names = _large_network().names

    rows = bntk.datasets.asia().sample(300)
    holes = bntk.datasets.with_missing(rows, 0.1)
    for name in search.NAMES:
        yield partial(_if_possible, bntk.learn, rows, search=name)
    yield lambda: bntk.independence(rows, "lung", "bronc", test="mc-mi")
    for score in ("ll", "aic", "bic", "bdeu", "bds", "k2", "fnml", "qnml"):
        yield partial(_if_possible, bntk.learn, rows, score)
    yield lambda: bntk.learn(holes, "bic")
    yield lambda: bntk.learn(rows, weights=np.ones(300))
    yield lambda: number_configurations(rows.codes, rows.cards.tolist())
    yield lambda: bntk.learn(rows, search="hc", weights=np.ones(300))
    yield lambda: bntk.cuts.hartemink_cuts([np.arange(10.0), np.arange(10.0)], 2, initial_bins=4)
    yield lambda: bntk.learn(_large_network().sample(50, seed=0).select(large_names[:14]), "bdeu", search="exact")


def _of_classifiers() -> Iterator[Callable[[], Any]]:
    rows = bntk.datasets.asia().sample(300)
    X, y = rows.select([name for name in rows.names if name != "dysp"]), rows.to_pandas()["dysp"]
    holes = bntk.datasets.with_missing(X, 0.2)
    both = rows.to_pandas()[["dysp", "xray"]]
    rng = np.random.default_rng(0)
    kinds = np.arange(300) % 3
    numbers = rng.normal(size=(300, 3)) + kinds[:, None]
    frame = holes.to_pandas()

    def use(model: Any, data: Any, classes: Any) -> None:
        fitted = model().fit(data, classes)
        fitted.predict_proba(data)
        fitted.predict(holes if data is X else data)

    for model in (getattr(bntk, name) for name in (*CLASSIFIERS.classes, *MULTI_CLASSIFIERS.classes)):
        yield partial(_if_possible, use, model, X, y)
        yield partial(_if_possible, use, model, frame, y)
        yield partial(_if_possible, use, model, X, both)
    for criterion in ("loo", "cv", "lc", "accuracy", "k2"):
        for model in (bntk.TAN, bntk.BAN, bntk.STAN):
            yield partial(_if_possible, use, partial(model, criterion=criterion), X, y)
    for numeric in ("mdl", "gaussian", "kde", "frequency"):
        yield partial(use, partial(bntk.NaiveBayes, numeric=numeric), numbers, kinds)
    yield partial(use, partial(bntk.NaiveBayes, numeric="multinomial"), np.abs(numbers).round(), kinds)
    yield partial(use, partial(bntk.NaiveBayes, numeric="kde"), np.tile(numbers, (20, 1)), np.tile(kinds, 20))
    some = y.mask(np.arange(300) % 5 == 0)
    yield partial(_if_possible, use, bntk.TAN, X, some)
    yield partial(_if_possible, use, partial(bntk.TAN, criterion="loo"), holes, y)
    yield lambda: bntk.TAN().fit(X, y, sample_weight=np.ones(300)).predict(X)


def _if_possible(call: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """What does not apply to the data says so, and there is nothing to compile for it."""
    with contextlib.suppress(BntkError, ValueError, TypeError):
        call(*arguments, **options)

"""The peers of benchmarks.inference, each run in a process of its own that ends at its time or memory limit."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import multiprocessing
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bntk

MEMORY = 14 * 2**30  # of a peer's process
Marks = list[tuple[float, Any]]  # seconds and answer of each piece of work that was finished


def network_path(name: str) -> Path:
    """A network among the files of an installed pgmpy."""
    found = importlib.util.find_spec("pgmpy")
    if found is None or not found.submodule_search_locations:
        raise SystemExit('this benchmark reads networks from pgmpy: pip install "bntk[bench]"')
    return Path(found.submodule_search_locations[0]) / "utils" / "example_models" / f"{name}.bif.gz"


def installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def finished_within(seconds: float, work: Callable[..., Iterator[Any]], *arguments: Any) -> Marks:
    """What a generator yields in a process of its own, with the seconds for each; cut off at the limit.

    The first value says that the preparation is over; the clock of the limit starts there, and it is not returned.
    """
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(send, work, arguments), daemon=True)
    process.start()
    send.close()
    marks: Marks = []
    with contextlib.suppress(EOFError):
        if receive.poll(120):
            receive.recv()
            end = time.perf_counter() + seconds
            while receive.poll(max(0.0, end - time.perf_counter())):
                marks.append(receive.recv())
    process.kill()
    process.join()
    return marks


def _child(send: Any, work: Callable[..., Iterator[Any]], arguments: tuple[Any, ...]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    steps = work(*arguments)
    while True:
        start = time.perf_counter()
        try:
            answer = next(steps)
        except (StopIteration, MemoryError):
            break
        send.send((time.perf_counter() - start, answer))
    send.close()


# ---- pyAgrum ---------------------------------------------------------------------------------------------------------


def as_pyagrum(network: bntk.BayesianNetwork) -> Any:
    """The network with states by number: pyAgrum's reader of BIF refuses some labels."""
    import pyagrum

    peer = pyagrum.BayesNet()
    for variable in network.variables:
        peer.add(pyagrum.LabelizedVariable(variable.name, variable.name, variable.n_states))
    for arc in network.dag.arcs:
        peer.addArc(*arc)
    for cpt in network.cpts:
        axes = [v.name for v in cpt.family]
        order = [axes.index(name) for name in reversed(peer.cpt(cpt.name).names)]  # first axis changes fastest there
        peer.cpt(cpt.name).fillWith(cpt.values.transpose(order).ravel().tolist())
    return peer


def pyagrum_marginals(name: str, evidence: list[dict[str, int]]) -> Iterator[Any]:
    """All posteriors of each evidence set, one after another in one array."""
    import pyagrum

    network = bntk.load(network_path(name))
    engine = pyagrum.LazyPropagation(as_pyagrum(network))
    yield None
    for findings in evidence:
        engine.setEvidence(findings)
        engine.makeInference()
        yield np.concatenate([engine.posterior(v).toarray() for v in network.names])


def pyagrum_rows(name: str, codes: np.ndarray, target: int, chunk: int) -> Iterator[Any]:
    """The posterior of one variable for rows of codes, some rows at a time."""
    import pyagrum

    network = bntk.load(network_path(name))
    engine = pyagrum.LazyPropagation(as_pyagrum(network))
    engine.addTarget(network.names[target])
    cards = [v.n_states for v in network.variables]
    yield None
    for begin in range(0, codes.shape[1], chunk):
        answers = []
        for row in codes[:, begin : begin + chunk].T:
            engine.setEvidence({network.names[v]: int(s) for v, s in enumerate(row) if s < cards[v]})
            engine.makeInference()
            answers.append(engine.posterior(network.names[target]).toarray())
        yield np.array(answers)


def pyagrum_em(name: str, frame: pd.DataFrame, iterations: int) -> Iterator[Any]:
    """The number of iterations that EM has run; it is allowed so many."""
    import pyagrum

    network = bntk.load(network_path(name))
    template = pyagrum.BayesNet()
    for variable in network.variables:
        template.add(pyagrum.LabelizedVariable(variable.name, variable.name, [str(s) for s in variable.states]))
    for arc in network.dag.arcs:
        template.addArc(*arc)
    learner = pyagrum.BNLearner(frame, template, ["?"])
    learner.useSmoothingPrior(1.0)
    learner.useEM(1e-9)
    learner.EMsetMaxIter(iterations)
    yield None
    learner.learnParameters(template.dag())
    yield learner.EMnbrIterations()


# ---- pgmpy and pybnesian ---------------------------------------------------------------------------------------------


def pgmpy_marginals(name: str, evidence: list[dict[str, int]]) -> Iterator[Any]:
    """All posteriors of each evidence set by variable elimination, asked for at once."""
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    network = bntk.load(network_path(name))
    text = bntk.io.files.read_text(network_path(name))
    model = BIFReader(string=text).get_model()
    engine = VariableElimination(model)
    yield None
    for findings in evidence:
        known = {v: str(network.variable(v).states[s]) for v, s in findings.items()}
        rest = [v for v in network.names if v not in known]
        for variable in rest:
            engine.query([variable], known, show_progress=False)
        yield None


def pybnesian_sample(name: str, n: int, repeats: int) -> Iterator[Any]:
    """The number of rows drawn, after each draw."""
    from pybnesian import DiscreteBN

    from benchmarks.parameters import with_plain_labels

    network = bntk.load(network_path(name))
    peer = DiscreteBN(list(network.names), list(network.dag.arcs))
    peer.fit(with_plain_labels(network.sample(50_000, seed=1).to_pandas()))
    yield None
    for seed in range(repeats):
        yield peer.sample(n, seed).num_rows

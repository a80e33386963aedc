"""The peers of benchmarks.inference and benchmarks.questions: generators for :func:`benchmarks.measure.run_peer`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bntk
from benchmarks.parameters import with_plain_labels
from bntk.io.files import read_text

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


def pyagrum_marginals(path: Path, evidence: list[dict[str, int]]) -> Iterator[Any]:
    """All posteriors of each evidence set, one after another in one array."""
    import pyagrum

    network = bntk.load(path)
    engine = pyagrum.LazyPropagation(as_pyagrum(network))
    yield None
    for findings in evidence:
        engine.setEvidence(findings)
        engine.makeInference()
        yield np.concatenate([engine.posterior(v).toarray() for v in network.names])


def pyagrum_queries(path: Path, wanted: list[tuple[str, dict[str, int]]], fresh: bool) -> Iterator[Any]:
    """The posterior of one variable for each query; by a new engine for each, or by one for all."""
    import pyagrum

    network = as_pyagrum(bntk.load(path))
    engine = pyagrum.LazyPropagation(network)
    yield None
    for target, findings in wanted:
        if fresh:
            engine = pyagrum.LazyPropagation(network)
        engine.setEvidence(findings)
        engine.setTargets({target})
        engine.makeInference()
        yield engine.posterior(target).toarray()


def pyagrum_posteriors(path: Path, evidence: list[dict[str, int]]) -> Iterator[Any]:
    """The posteriors of all unobserved variables, one after another in one array."""
    import pyagrum

    network = bntk.load(path)
    engine = pyagrum.LazyPropagation(as_pyagrum(network))
    yield None
    for findings in evidence:
        engine.setEvidence(findings)
        engine.makeInference()
        yield np.concatenate([engine.posterior(v).toarray() for v in network.names if v not in findings])


def pyagrum_rows(path: Path, codes: np.ndarray, target: int, chunk: int) -> Iterator[Any]:
    """The posterior of one variable for rows of codes, some rows at a time."""
    import pyagrum

    network = bntk.load(path)
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


def pyagrum_em(path: Path, frame: pd.DataFrame, iterations: int) -> Iterator[Any]:
    """The number of iterations that EM has run; it is allowed so many."""
    import pyagrum

    network = bntk.load(path)
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


def pgmpy_engine(path: Path) -> Any:
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    return VariableElimination(BIFReader(string=read_text(path)).get_model())


def pgmpy_marginals(path: Path, evidence: list[dict[str, int]]) -> Iterator[Any]:
    """All posteriors of each evidence set by variable elimination, one after another."""
    network = bntk.load(path)
    engine = pgmpy_engine(path)
    yield None
    for findings in evidence:
        known = {v: str(network.variable(v).states[s]) for v, s in findings.items()}
        for variable in network.names:
            if variable not in known:
                engine.query([variable], known, show_progress=False)
        yield None


def pgmpy_queries(path: Path, wanted: list[tuple[str, dict[str, int]]]) -> Iterator[Any]:
    """The posterior of one variable for each query, in the order of our states."""
    network = bntk.load(path)
    engine = pgmpy_engine(path)
    yield None
    for target, findings in wanted:
        known = {v: str(network.variable(v).states[s]) for v, s in findings.items()}
        found = engine.query([target], known, show_progress=False)
        states = [found.state_names[target].index(str(state)) for state in network.variable(target).states]
        yield found.values[states]


def pybnesian_sample(path: Path, n: int, repeats: int) -> Iterator[Any]:
    """The number of rows drawn, after each draw."""
    from pybnesian import DiscreteBN

    network = bntk.load(path)
    peer = DiscreteBN(list(network.names), list(network.dag.arcs))
    peer.fit(with_plain_labels(network.sample(50_000, seed=1).to_pandas()))
    yield None
    for seed in range(repeats):
        yield peer.sample(n, seed).num_rows

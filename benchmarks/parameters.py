"""Parameters of alarm from 1,000,000 rows: bntk compared with pybnesian, pgmpy and pyAgrum.

python -m benchmarks.parameters [--quick]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

import bntk
from benchmarks import report
from benchmarks.measure import Options, best, run_peer
from benchmarks.report import Section

TITLE = "Parameters"


def with_plain_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with categories of plain Python strings: pybnesian refuses the string type of pandas 3."""
    plain = {}
    for name, column in frame.items():
        labels = pd.Index(column.cat.categories.tolist(), dtype=object)
        plain[name] = pd.Categorical.from_codes(column.cat.codes, labels)
    return pd.DataFrame(plain)


# ---- peers: after each fit, something to compare ---------------------------------------------------------------------


def fit_pybnesian(dag: bntk.DAG, frame: pd.DataFrame) -> Iterator[Any]:
    from pybnesian import DiscreteBN

    frame = with_plain_labels(frame)
    yield None
    for _ in range(3):
        network = DiscreteBN(list(dag.nodes), list(dag.arcs))
        network.fit(frame)
        yield None
    yield network.slogl(frame)


def fit_pgmpy(dag: bntk.DAG, frame: pd.DataFrame) -> Iterator[Any]:
    from pgmpy.models import DiscreteBayesianNetwork

    frame = with_plain_labels(frame)
    yield None
    network = DiscreteBayesianNetwork(list(dag.arcs))
    network.fit(frame)
    yield [(cpd.variables, cpd.state_names, cpd.values) for cpd in network.get_cpds()]


def fit_pyagrum(dag: bntk.DAG, frame: pd.DataFrame) -> Iterator[Any]:
    import pyagrum

    template = pyagrum.BayesNet()
    for name in dag.nodes:
        template.add(pyagrum.LabelizedVariable(name, name, [str(c) for c in frame[name].cat.categories]))
    for arc in dag.arcs:
        template.addArc(*arc)
    yield None
    pyagrum.BNLearner(frame, template).learnParameters(template.dag())
    yield None


def difference(tables: list[Any], ours: bntk.BayesianNetwork) -> float:
    """Largest difference of an entry from pgmpy's, which may order states its own way."""
    worst = 0.0
    for names, states, values in tables:
        cpt = ours.cpt(names[0]).reorder(names[1:])
        order = [[v.states.index(s) for s in states[v.name]] for v in cpt.family]
        worst = max(worst, float(np.abs(np.moveaxis(values, 0, -1) - cpt.values[np.ix_(*order)]).max()))
    return worst


def alarm_parameters(options: Options) -> Section:
    rows = options.pick(1_000_000, 20_000)
    truth = bntk.load(options.network("alarm"))
    table = truth.sample(rows, seed=0)
    frame, dag = table.to_pandas(), truth.dag
    section = Section(
        "Parameters of alarm",
        f"The 37 tables of alarm from {rows:,} rows, without smoothing. All get a pandas frame of categorical "
        "columns; bntk is measured from its own coded table, too. pgmpy and pyAgrum run once.",
        ["", "time", "/ bntk, from the frame", "from the coded table"],
    )
    bntk.fit(dag, table.take(slice(1000)))  # compiles
    coded, ours = best(lambda: bntk.fit(dag, table), 9)
    framed, _ = best(lambda: bntk.fit(dag, frame), 5)
    section.add("bntk, coded table", coded, "", "")
    section.add("bntk, pandas frame", framed, "", "")
    for name, fit in (("pybnesian", fit_pybnesian), ("pgmpy", fit_pgmpy), ("pyAgrum", fit_pyagrum)):
        peer = run_peer(name, 60, fit, dag, frame)
        time = peer.part(lambda answer: not isinstance(answer, float)).shortest()
        if name == "pybnesian" and len(peer.marks) == 4:
            off = abs(peer.answers[-1] / ours.log_likelihood(table) - 1)
            section.remarks.append(f"The log-likelihood is pybnesian's to a relative {off:.0e}.")
        if name == "pgmpy" and peer.answers:
            section.remarks.append(
                f"Largest difference from an entry of pgmpy's tables: {difference(peer.answers[0], ours):.0e}."
            )
        section.add(
            name, time, section.ratio("alarm", name, time, framed), section.ratio("alarm, coded", name, time, coded)
        )
    return section


PARTS = {"parameters": alarm_parameters}

if __name__ == "__main__":
    report.main()

"""Other forms of the same thing: text of structures, tables as frames, pickles, sensitivities, samples."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

import bntk
from benchmarks.torture import networks
from benchmarks.torture.case import Case, kind
from benchmarks.torture.evidence import evidence
from benchmarks.torture.reference import Joint
from bntk.data.table import as_table
from bntk.errors import DataError, GraphError, ParseError


@kind("views", 1)
def views(case: Case) -> None:
    """A network as text, frames and pickles comes back as it was; its reports print whatever the names are."""
    network = networks.network(case, entries=500)
    text = str(network.dag)
    again = case.answer("DAG.parse", lambda: bntk.DAG.parse(text), (ParseError, GraphError))
    if again is not None:
        same = set(again.nodes) == set(network.names) and set(again.arcs) == set(network.dag.arcs)
        case.check("the text of a structure", same, lambda: f"{text!r} is read as {again!r}")
    for what, twin in (("pickle", pickle.loads(pickle.dumps(network))), ("copy", copy.deepcopy(network))):
        case.check(what, twin == network and twin.variables == network.variables, repr(twin))
    for cpt in network.cpts:
        frame = case.answer("CPT.to_frame", cpt.to_frame)
        made = None if frame is None else case.answer(
            "CPT.from_frame", lambda cpt=cpt, frame=frame: bntk.CPT.from_frame(cpt.child, frame, cpt.parents)
        )  # fmt: skip
        if made is not None:
            case.same("CPT.from_frame", made.values, cpt.values)
    for what, call in (
        ("repr", lambda: repr(network) + repr(network.cpts[0]) + repr(network.variables)),
        ("to_frame", lambda: network.to_frame()),
        ("html", lambda: network.query(network.names[0])._repr_html_() + network.cpts[0]._repr_html_()),
        ("marginals", lambda: repr(network.marginals()) + str(network.marginals().to_frame())),
        ("to_series", lambda: network.query(list(network.names[:2])).to_series()),
        ("distribution to_frame", lambda: network.query(list(network.names[:2])).to_frame()),
        ("networkx", lambda: bntk.DAG.from_networkx(network.dag.to_networkx())),
        ("to_pandas", lambda: network.sample(5).to_pandas()),
    ):
        case.check(what, case.answer(what, call) is not None)
    frames(case, network)


def frames(case: Case, network: bntk.BayesianNetwork) -> None:
    """Rows of labels of any type, coded against the network, have the codes that they were made of."""
    table = network.sample(6, seed=case.number)
    columns = {
        v.name: [v.states[int(code)] for code in codes] for v, codes in zip(network.variables, table.codes, strict=True)
    }
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    for what, made in (("a mapping", columns), ("a frame", frame), ("to_pandas", table.to_pandas())):
        read = case.answer(f"{what} of any labels", lambda made=made: as_table(made, variables=network.variables))
        if read is not None:
            case.same(f"{what} of any labels", read.codes, table.codes)


@kind("sensitivities", 0.5)
def sensitivities(case: Case) -> None:
    """The posterior as a function of an entry, its derivatives, and the effect of each finding, by changed tables."""
    network = networks.network(case, entries=800, tables=("plain", "zeros", "skewed"))
    found = evidence(case, network, only_given=True)
    joint = Joint.of(network).times(found.vectors)
    if joint.total == 0:
        return
    target = int(case.rng.integers(len(network.names)))
    name, code = network.names[target], int(case.rng.integers(network.variables[target].n_states))
    state = network.variables[target].states[code]
    posterior = joint.posterior([target])
    node = int(case.rng.integers(len(network.names)))
    cpt, given = network.cpts[node], found.given
    case.note(target=name, state=state, table=cpt.name)
    if cpt.child.n_states > 1:
        place = tuple(int(case.rng.integers(p.n_states)) for p in cpt.parents)
        parents = {p.name: p.states[i] for p, i in zip(cpt.parents, place, strict=True)}
        entry = int(case.rng.integers(cpt.child.n_states))
        answer = case.answer(
            "sensitivity",
            lambda: network.sensitivity(
                name, state, given, table=cpt.name, entry=cpt.child.states[entry], parents=parents
            ),
        )
        for x in (0.0, 0.3, 1.0) if answer is not None else ():
            changed = Joint.of(with_entry(network, node, place, entry, x)).times(found.vectors)
            if changed.total > 0:
                case.close("sensitivity", answer(x), changed.posterior([target])[code], relative=1e-6, smallest=1e-9)
    findings = case.answer("relevant_findings", lambda: network.relevant_findings(name, given))
    for other, row in findings.iterrows() if findings is not None else ():
        v = network.dag.index(str(other))
        rest = Joint.of(network).times({u: vector for u, vector in found.vectors.items() if u != v}).posterior([target])
        used = posterior > 0
        expected = (posterior[used] * (np.log(posterior[used]) - np.log(rest[used]))).sum()
        case.close("relevant_findings", row["divergence"], expected, relative=1e-7, smallest=1e-9)
        case.close("relevant_findings: change", row["change"], np.abs(posterior - rest).max(), smallest=1e-12)


def with_entry(network: bntk.BayesianNetwork, node: int, place: Any, entry: int, x: float) -> bntk.BayesianNetwork:
    """With another number in a table, the rest of its row in proportion (or equal, where it is all zero)."""
    cpt = network.cpts[node]
    values = cpt.values.copy()
    row = values[place].copy()
    others = np.delete(row, entry)
    total = others.sum()
    rest = (1 - x) * (others / total if total > 0 else np.full(len(others), 1 / len(others)))
    values[place] = np.insert(rest, entry, x)
    cpts = [bntk.CPT(c.child, values if v == node else c.values, c.parents) for v, c in enumerate(network.cpts)]
    return bntk.BayesianNetwork(network.dag, cpts)


@kind("samples", 0.5)
def samples(case: Case) -> None:
    """Samples, with and without evidence, and imputed draws have their distribution: chi-square at one in a billion."""
    network = networks.network(case, entries=60, tables=("plain", "zeros", "noisy"))
    found = evidence(case, network)
    joint = Joint.of(network).times(found.vectors)
    if joint.total == 0:
        return
    n, expected = 2000, (joint.table / joint.total).astype(np.float64)
    rows = case.answer("sample", lambda: network.sample(n, case.number, found.given, found.soft))
    if rows is not None:
        fits(case, "sample", rows.codes, expected, n)
    if not found.soft and not found.open_sets:
        observed = {v: int(np.argmax(vector)) for v, vector in found.vectors.items()}
        codes = np.array([np.full(n, observed.get(v, x.n_states)) for v, x in enumerate(network.variables)])
        table = bntk.Table.from_codes(codes, network.variables)
        drawn = case.answer("impute sample", lambda: network.impute(table, "sample", seed=case.number), DataError)
        if drawn is not None:
            fits(case, "impute sample", drawn.codes, expected, n)


def fits(case: Case, what: str, codes: np.ndarray, expected: np.ndarray, n: int) -> None:
    """Rows drawn against their distribution; what is impossible is never drawn."""
    counts = np.zeros(expected.shape)
    np.add.at(counts, tuple(codes.astype(np.int64)), 1)
    case.check(f"{what}: possible", not counts[expected == 0].any())
    often = expected * n >= 5
    seen, hoped = np.append(counts[often], counts[~often].sum()), np.append(expected[often], expected[~often].sum()) * n
    used = hoped > 0
    if used.sum() > 1:
        value = ((seen[used] - hoped[used]) ** 2 / hoped[used]).sum()
        case.check(f"{what}: chi-square", stats.chi2.sf(value, used.sum() - 1) > 1e-9, value)

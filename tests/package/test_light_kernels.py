"""Kernels that are not compiled for little work: what Python or numpy does in their place, to the same bits."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bntk
from bntk._kernels import Allowance, LightKernel
from bntk.learning.counts import TableCounter
from bntk.learning.independence import IndependenceTester, kernels
from bntk.learning.independence.separating import Pairs, Separating


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let no light kernel be called compiled; the names of those that are called instead."""
    called: list[str] = []

    def call(self: LightKernel, *arguments: Any) -> Any:
        assert 0 <= self._steps(*arguments) < np.inf
        called.append(self.__name__)
        return self.without_compiler(*arguments)

    monkeypatch.setattr(LightKernel, "__call__", call)
    monkeypatch.setattr(Allowance, "pays", lambda self, steps: False)
    return called


ASIA = bntk.datasets.asia()
CAR = bntk.datasets.network("car")


def holes(network: bntk.BayesianNetwork, rows: int = 60, seed: int = 0) -> bntk.Table:
    return bntk.datasets.with_missing(network.sample(rows, seed=seed), 0.25, seed=seed)


def arrays(network: bntk.BayesianNetwork) -> list[np.ndarray]:
    return [cpt.values for cpt in network.cpts]


def weights(rows: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).exponential(size=rows)


def classified(classifier: Any) -> Callable[[], Any]:
    def work() -> Any:
        table = CAR.sample(150, seed=2)
        X, y = table.select(table.names[:-1]), table.to_pandas()[table.names[-1]]
        return classifier.fit(X, y).predict_proba(bntk.datasets.with_missing(X, 0.2, seed=1))

    return work


def numbers(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of numbers, some repeated and some missing, and classes that depend on them."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, 120)
    columns = rng.normal(size=(120, 4)) + classes[:, None]
    columns[:, 1] = columns[:, 1].round()
    columns[rng.random(columns.shape) < 0.1] = np.nan
    return columns, classes


def merged_cuts(rows: np.ndarray | None) -> list[np.ndarray]:
    return [cuts for seed in range(3) for cuts in bntk.cuts.hartemink_cuts(numbers(seed)[0].T, 3, rows, 8)]


def many_states() -> bntk.BayesianNetwork:
    """A network with zeros, with a variable of more than eight states, and with tables of small numbers."""
    rng = np.random.default_rng(3)
    rows = bntk.Table.from_columns(
        {"a": rng.integers(0, 12, 200), "b": rng.integers(0, 3, 200), "c": rng.integers(0, 2, 200)}
    )
    return bntk.fit("a -> b -> c; a -> c", rows)


def questions(network: bntk.BayesianNetwork) -> list[np.ndarray]:
    """Posteriors of one variable, of two, of all, and the probability of findings, certain and uncertain ones."""
    rows = network.sample(5, seed=3).to_pandas()
    found: list[np.ndarray] = []
    for i in range(5):
        targets, seen = list(network.names[i : i + 2]), network.names[8 + i : 30 : 5]
        given = dict(rows.loc[i, list(seen)])
        soft = {network.names[3]: [0.2] + [0.7] * (network.variable(network.names[3]).n_states - 1)} if i % 2 else None
        found += [
            network.query(targets[0], given, soft=None if network.names[3] in targets else soft).values,
            network.query(targets, given).values, *(d.values for d in network.marginals(given).values()),
            np.array(network.log_probability(given)),
        ]  # fmt: skip
    return found


def explained(network: bntk.BayesianNetwork) -> list[Any]:
    """Most probable explanations with their probabilities, certain and uncertain findings given."""
    found: list[Any] = []
    for i, row in network.sample(4, seed=3).to_pandas().iterrows():
        soft = {network.names[3]: [0.2] + [0.7] * (network.variable(network.names[3]).n_states - 1)} if i else None
        best = network.mpe(dict(row[list(network.names[8 + i : 30 : 5])]), soft=soft)
        found += [[*best.values()], best.log_probability]
    return found


def derivatives(network: bntk.BayesianNetwork) -> np.ndarray:
    """Of a posterior to all entries of all tables: all posteriors of families, by a junction tree."""
    target, seen = network.variables[0], network.variables[-1]
    frame = network.sensitivities(target.name, target.states[0], {seen.name: seen.states[0]})
    return frame["derivative"].to_numpy()


def nearly_certain() -> bntk.BayesianNetwork:
    """A network whose tables have numbers so small that their products are lost."""
    network = bntk.datasets.random_network(12, max_parents=2, seed=3)
    tables = [cpt.values**80 for cpt in network.cpts]
    cpts = [
        bntk.CPT(cpt.child, table / table.sum(axis=-1, keepdims=True), cpt.parents)
        for cpt, table in zip(network.cpts, tables, strict=True)
    ]
    return bntk.BayesianNetwork(network.dag, cpts)


def drawn_evenly(network: bntk.BayesianNetwork) -> bntk.Table:
    """Rows that a network hardly ever gives, with missing cells."""
    cards = [variable.n_states for variable in network.variables]
    codes = np.random.default_rng(0).integers(0, np.array(cards)[:, None] + 1, size=(len(cards), 30))
    return bntk.Table.from_codes(codes, network.variables)


def read_text(text: str) -> list[Any]:
    """The codes and states of a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_text(text, encoding="utf-8")
        table = bntk.read_table(path)
    return [table.codes, *(np.array(variable.states, dtype=object) for variable in table.variables)]


def some_text(end: str) -> str:
    """Fields short and long, quoted and not, with doubled quotes, missing ones and many different ones."""
    rng = np.random.default_rng(0)
    fields = ["a", "bcdefgh", "a longer text, quoted", 'with "quotes" in it', "", "ü", "x" * 40, "12.5"]
    quoted = [f'"{field.replace(chr(34), chr(34) * 2)}"' if {*',"'} & {*field} else field for field in fields]
    rows = [[*rng.choice(quoted, 3), f"label {i % 90}", f"{i % 7}"] for i in range(300)]
    return end.join([",".join(row) for row in [["first", "second", "third", "fourth", "fifth"], *rows]])


def separated() -> list[np.ndarray]:
    """What the first sets that separate all pairs are, of complete rows and others, by two tests."""
    found: list[np.ndarray] = []
    for table in (CAR.sample(300, seed=2), holes(CAR, 200), many_states().sample(150, seed=1)):
        counter = TableCounter(table)
        n = len(counter.names)
        ends = [(x, y) for x in range(n) for y in range(x + 1, n)]
        pools = [[v for v in range(n) if v not in pair][:3] for pair in ends]
        sizes = np.zeros(len(ends), dtype=np.int64), np.full(len(ends), 2)
        pairs = Pairs.of_pools([x for x, _ in ends], [y for _, y in ends], pools, *sizes)
        for kind, fewest in ((kernels.G2, -1.0), (kernels.X2, 5.0)):
            quick = Separating(counter.planes, counter.n_rows, pairs, kind, fewest)
            found += [quick.run(0.05, lambda done: None), quick.statistic, quick.df, quick.progress, quick.places]
    return found


def answers_of_tests() -> list[np.ndarray]:
    """Statistics of all kinds, of rows with weights."""
    counter = TableCounter(CAR.sample(200), weights=weights(200))
    questions = [(0, 1, ()), (0, 2, (1,)), (2, 4, (0, 5)), (1, 3, (0, 2, 4))]
    return [np.array(IndependenceTester(counter, name).ask(questions)) for name in ("mi", "x2-adf", "mi-sh", "bdeu")]


WORK: dict[str, Callable[[], Any]] = {
    "code_fields": lambda: [*read_text(some_text("\n")), *read_text(some_text("\r\n"))],
    "translate": lambda: read_text(some_text("\n") + "\n"),
    "run_logs": lambda: [nearly_certain().impute(drawn_evenly(nearly_certain()), how).codes for how in ("mode", "mpe")],
    "bind": lambda: explained(bntk.datasets.random_network(40, max_parents=3, seed=1)),
    "run_pass": lambda: explained(bntk.datasets.random_network(45, max_parents=3, concentration=0.1, seed=2)),
    "trace_back": lambda: explained(bntk.datasets.random_network(40, max_parents=4, seed=5)),
    "read_tables": lambda: derivatives(bntk.datasets.random_network(40, max_parents=3, seed=1)),
    "bound": lambda: derivatives(bntk.datasets.random_network(45, max_parents=3, concentration=0.1, seed=2)),
    "plan_question": lambda: questions(bntk.datasets.random_network(40, max_parents=3, seed=1)),
    "run_posteriors": lambda: questions(bntk.datasets.random_network(35, max_parents=3, seed=8)),
    "run_question": lambda: questions(bntk.datasets.random_network(45, max_parents=3, concentration=0.1, seed=2)),
    "forward_sample": lambda: [ASIA.sample(300, seed=4).codes, many_states().sample(300, seed=1).codes],
    "look_up_rows": lambda: [ASIA.posterior(ASIA.sample(100), "lung"), ASIA.log_likelihood(ASIA.sample(100))],
    "score_rows": lambda: [
        np.asarray(network.posterior(holes(network, 60, seed), target))
        for network, target in [(ASIA, "lung"), (CAR, "safety"), (many_states(), "c")]
        for seed in range(2)
    ],
    "count_rows": lambda: arrays(bntk.fit(ASIA.dag, holes(ASIA, 40), missing="em", prior=1.0)),
    "count_families": lambda: [
        *arrays(bntk.fit(CAR.dag, holes(CAR))),
        *arrays(bntk.fit(CAR.dag, holes(CAR, 3000), weights=weights(3000), prior=1.0)),
        TableCounter(holes(CAR)).pairs("class").counts,
    ],
    "begin_trees": lambda: arrays(bntk.fit(CAR.dag, CAR.sample(40), prior=bntk.priors.HDP(3, 2))),
    "sweep_trees": lambda: [
        *arrays(bntk.fit(ASIA.dag, ASIA.sample(3000), prior=bntk.priors.HDP(20, 10))),
        *arrays(bntk.fit(CAR.dag, CAR.sample(300), prior=bntk.priors.HDP(6, 2, concentration=0.3))),
        *arrays(bntk.fit(CAR.dag, CAR.sample(300), weights=weights(300), prior=bntk.priors.HDP(6, 2))),
    ],
    "score_tables": lambda: [
        bntk.score(CAR.dag, CAR.sample(500), score) for score in ("bic", "bdeu", "k2", "fnml", "qnml", "bds")
    ],
    "trees_with": classified(bntk.STAN()),
    "equal_trees": classified(bntk.STAND()),
    "arborescence": classified(bntk.TAN(criterion="k2")),
    "add_and_measure": classified(bntk.SelectiveKDB()),
    "spanning_tree": lambda: sorted(
        bntk.TAN().fit(CAR.sample(90).to_pandas().iloc[:, :-1], np.arange(90) % 2).dag_.arcs
    ),
    "pure_dirichlets": lambda: sorted(bntk.learn(ASIA.sample(200), "bdeu").dag.arcs),
    "factored_regrets": lambda: sorted(bntk.learn(ASIA.sample(200), "fnml").dag.arcs),
    "log_regrets": lambda: sorted(bntk.learn(ASIA.sample(200), "qnml").dag.arcs),
    "run_block": lambda: [network.impute(holes(network, 30), "mode").codes for network in (ASIA, CAR)],
    "explain_block": lambda: [network.impute(holes(network, 30)).codes for network in (ASIA, CAR, many_states())],
    "run": lambda: [
        np.asarray(ASIA.query("lung", given={"dysp": "yes"}, engine="loopy", schedule=schedule, damping=damping).values)
        for schedule in ("residual", "flooding", "sweeping")
        for damping in (0.0, 0.3)
    ],
    "separate_pairs": separated,
    "statistics": answers_of_tests,
    "score_toggles": lambda: sorted(bntk.learn(ASIA.sample(200), search="hc").dag.arcs),
    "first_best": lambda: sorted(bntk.learn(CAR.sample(100), "bic", search="tabu").dag.arcs),
    "part_ancestors": lambda: sorted(bntk.learn(CAR.sample(100), "aic", search="tabu").dag.arcs),
    "fill_pool": classified(bntk.TAN(criterion="loo")),
    "mdl_kernel": lambda: [
        column
        for seed in range(4)
        for column in bntk.TAN(numeric="mdl").fit(*numbers(seed)).predict_proba(numbers(seed)[0])
    ],
    "count_with_later": lambda: merged_cuts(weights(120)),
    "merge_kernel": lambda: merged_cuts(None),
    "code_kernel": lambda: [bntk.NaiveBayes(numeric="frequency").fit(*numbers(0)).predict_proba(numbers(0)[0])],
    "mean_over_codings": lambda: [
        model.fit(*numbers(seed)).log_joint(numbers(seed)[0])
        for seed in range(3)
        for model in (
            bntk.NaiveBayes(),
            bntk.TAN(numeric="smooth:8"),
            bntk.KDB(numeric={"x0": "smooth", "x1": "smooth"}),
        )
    ],
    "log_scores": classified(bntk.BAN(criterion="cv")),
    "count_labels": classified(bntk.STAN(criterion="accuracy")),
    "add_terms": classified(bntk.BAN(criterion="lc")),
    "add_log_terms": classified(bntk.NaiveBayes()),
    "spread_pairs": classified(bntk.AODE()),
    "counts_to_logs": classified(bntk.AODE(prior=0.5)),
    "spread_triples": classified(bntk.A2DE()),
}


@pytest.mark.parametrize("kernel", WORK)
def test_python_gives_the_bits_of_the_compiled_kernel(kernel: str, request: pytest.FixtureRequest) -> None:
    compiled = WORK[kernel]()
    called = request.getfixturevalue("without_compiler")
    plain = WORK[kernel]()
    assert kernel in called
    assert str(type(compiled)) == str(type(plain))
    for one, other in zip(compiled, plain, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other), strict=True)

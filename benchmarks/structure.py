"""Learning structures: bntk compared with pybnesian, pyAgrum, pgmpy and causal-learn.

python -m benchmarks.structure [--quick] [--data FOLDER]
    [--only searches by_tests adjusted samples trees exact variables large_trees]

All parts but ``large_trees`` take about ten minutes on an idle machine with two cores.

The score of every result, and of the true structure, is computed by bntk: the same definition for all. Peers get a
pandas frame of categorical columns; bntk its own coded table, and where it says so the same frame.
``large_trees``, with minutes of the peers, runs only if named by ``--only``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import bntk
from benchmarks import report
from benchmarks.measure import Options, PeerRun, Time, best, run_peer
from benchmarks.parameters import with_plain_labels
from benchmarks.report import Section
from bntk.errors import GraphError, StructureWarning
from bntk.graph.dag import DAG
from bntk.graph.equivalence import PDAG, consistent_extension, shd
from bntk.learning.independence import IndependenceTest
from bntk.learning.learn import learn_structure
from bntk.learning.scores import BIC, BDeu, Score, score
from bntk.learning.search import GES, GS, IAMB, MMHC, MMPC, PC, Exact, HillClimbing, Search, SearchResult, Tabu
from bntk.learning.space import named as spaces

TITLE = "Structure"
# Every table is tested, with the degrees of freedom of what occurs in it.
ADJUSTED = IndependenceTest(name="mi-adf", fewest_rows=0)
SCORES: dict[str, Score] = {"BDeu(10)": BDeu(10), "BIC": BIC()}


# ---- peers: the arcs after each run ----------------------------------------------------------------------------------


def climb_pybnesian(repeats: int, frame: pd.DataFrame, ess: float | None) -> Iterator[Any]:
    import pybnesian

    frame = with_plain_labels(frame)
    yield None
    for _ in range(repeats):
        judge = pybnesian.BDe(frame, iss=ess) if ess else pybnesian.BIC(frame)
        start = pybnesian.DiscreteBN(list(frame.columns))
        yield list(pybnesian.GreedyHillClimbing().estimate(pybnesian.ArcOperatorSet(), judge, start).arcs())


def climb_pyagrum(repeats: int, frame: pd.DataFrame, ess: float | None) -> Iterator[Any]:
    import pyagrum

    yield None
    for _ in range(repeats):
        learner = pyagrum.BNLearner(frame)
        learner.useGreedyHillClimbing()
        if ess:
            learner.useScoreBDeu()  # its equivalent sample size cannot be chosen
        else:
            learner.useScoreBIC()
        names = learner.names()
        yield [(names[tail], names[head]) for tail, head in learner.learnDAG().arcs()]


def climb_pgmpy(repeats: int, frame: pd.DataFrame, ess: float | None) -> Iterator[Any]:
    from pgmpy import estimators

    yield None
    judge = estimators.BDeu(frame, equivalent_sample_size=ess) if ess else estimators.BIC(frame)
    yield list(estimators.HillClimbSearch(frame).estimate(scoring_method=judge, show_progress=False).edges())


def tree_pyagrum(frame: pd.DataFrame, target: str | None) -> Iterator[Any]:
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    method = "Chow-Liu" if target is None else "TAN"
    classifier = BNClassifier(learningMethod=method, type_processor=DiscreteTypeProcessor())
    chosen = target or str(frame.columns[-1])
    yield None
    classifier.fit(frame.drop(columns=chosen), frame[chosen])
    network = classifier.bn_
    yield [(network.variable(tail).name(), network.variable(head).name()) for tail, head in network.arcs()]


def tree_pgmpy(frame: pd.DataFrame, target: str | None) -> Iterator[Any]:
    from pgmpy.estimators import TreeSearch

    yield None
    search = TreeSearch(frame, root_node=str(frame.columns[0]), n_jobs=1)
    kind = "chow-liu" if target is None else "tan"
    yield list(search.estimate(kind, class_node=target, show_progress=False).edges())


def climb(package: str, work: Callable[..., Iterator[Any]], repeats: int, frame: pd.DataFrame, rule: Score) -> PeerRun:
    return run_peer(package, 60, work, repeats, frame, rule.ess if isinstance(rule, BDeu) else None)


def peer_score(peer: PeerRun, table: bntk.Table, rule: Score | str) -> float:
    return score(DAG(table.names, peer.answers[-1]), table, rule) if peer.marks else float("nan")


# ---- peers: searches by tests and over equivalence classes: (directed, undirected) after each run --------------------


def pc_pgmpy(frame: pd.DataFrame) -> Iterator[Any]:
    from pgmpy.estimators import PC

    yield None
    found = PC(frame).estimate(
        variant="stable", ci_test="g_sq", significance_level=0.05, max_cond_vars=8, n_jobs=1, show_progress=False
    )
    yield list(found.directed_edges), list(found.undirected_edges)


def ges_pgmpy(frame: pd.DataFrame) -> Iterator[Any]:
    from pgmpy.estimators import GES

    yield None
    found = GES(frame).estimate(scoring_method="bic-d")
    yield list(found.directed_edges), list(found.undirected_edges)


def pc_pyagrum(repeats: int, frame: pd.DataFrame) -> Iterator[Any]:
    import pyagrum

    yield None
    for _ in range(repeats):
        learner = pyagrum.BNLearner(frame)
        learner.usePC()
        learner.useG2Test()
        names = learner.names()
        found = learner.learnPDAG()
        yield [(names[a], names[b]) for a, b in found.arcs()], [(names[a], names[b]) for a, b in found.edges()]


def causal_learn(repeats: int, frame: pd.DataFrame, name: str) -> Iterator[Any]:
    codes, names = np.column_stack([frame[column].cat.codes for column in frame]).astype(np.int64), list(frame.columns)
    if name == "pc":
        from causallearn.search.ConstraintBased.PC import pc
    else:
        from causallearn.search.ScoreBased.GES import ges
    yield None
    for _ in range(repeats):
        if name == "pc":
            found = pc(codes, 0.05, "gsq", show_progress=False).G.graph
        else:
            found = ges(codes, "local_score_BDeu")["G"].graph
        # Row and column: 1 at a head of an edge, -1 at a tail.
        arcs = [(names[b], names[a]) for a, b in np.argwhere((found == 1) & (found.T == -1)).tolist()]
        edges = [(names[a], names[b]) for a, b in np.argwhere((found == -1) & (found.T == -1)).tolist() if a < b]
        yield arcs, edges


def by_tests_pybnesian(repeats: int, frame: pd.DataFrame, name: str) -> Iterator[Any]:
    import pybnesian

    frame = with_plain_labels(frame)
    yield None
    for _ in range(repeats):
        test = pybnesian.ChiSquare(frame)
        if name == "pc":
            found = pybnesian.PC().estimate(test, alpha=0.05)
            yield list(found.arcs()), list(found.edges())
        else:
            discrete = pybnesian.DiscreteBNType()
            found = pybnesian.MMHC().estimate(
                test, pybnesian.ArcOperatorSet(), pybnesian.BIC(frame), bn_type=discrete, alpha=0.05
            )
            yield list(found.arcs()), []


def by_tests(options: Options) -> Section:
    rows = options.pick(20_000, 2_000)
    truth = bntk.load(options.network("alarm"))
    table = truth.sample(rows, seed=0)
    frame, own = table.to_pandas(), score(truth.dag, table, "bic")
    section = Section(
        "Searches by tests and over equivalence classes",
        f"Alarm, {rows:,} rows, alpha 0.05, G2 (pybnesian: X2), BIC. The distance is that of the equivalence classes "
        "(SHD) to the true one; the score is that of a DAG of the class, less that of the true structure. pgmpy runs "
        "once, with at most 8 variables given; it and causal-learn adjust the degrees of freedom as "
        '`IndependenceTest(name="mi-adf", fewest_rows=0)`, in the rows "adjusted", does. '
        "The mark is 5 times the speed of the fastest. R's bnlearn 5.2.1, "
        "measured apart on 20,000 rows: pc.stable 1.0 s, gs 1.1 s, iamb 0.42 s, mmpc 0.56 s, mmhc 0.57 s.",
        ["search", "package", "time", "/ bntk", "SHD", "less true, in nats"],
    )
    ours: dict[str, Search] = {
        "pc": PC(), "pc, adjusted": PC(test=ADJUSTED), "gs": GS(), "iamb": IAMB(), "mmpc": MMPC(), "mmhc": MMHC(),
        "mmhc, adjusted": MMHC(test=ADJUSTED), "ges": GES(),
    }  # fmt: skip
    limit, for_classes = options.pick(60, 20), 20  # no peer's search over classes has ended in a minute
    peers: dict[str, list[tuple[str, Callable[[], PeerRun]]]] = {
        "pc": [
            ("pyAgrum", lambda: run_peer("pyAgrum", limit, pc_pyagrum, 3, frame)),
            ("pgmpy", lambda: run_peer("pgmpy", limit, pc_pgmpy, frame)),
            ("causal-learn", lambda: run_peer("causallearn", limit, causal_learn, 2, frame, "pc")),
            ("pybnesian", lambda: run_peer("pybnesian", limit, by_tests_pybnesian, 3, frame, "pc")),
        ],
        "mmhc": [("pybnesian", lambda: run_peer("pybnesian", limit, by_tests_pybnesian, 3, frame, "mmhc"))],
        "ges": [
            ("pgmpy", lambda: run_peer("pgmpy", for_classes, ges_pgmpy, frame)),
            ("causal-learn", lambda: run_peer("causallearn", for_classes, causal_learn, 1, frame, "ges")),
        ],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StructureWarning)
        for name, search in ours.items():
            learn_structure(table.take(slice(500)), "bic", search=search)  # compiles
            time, found = best(lambda search=search: learn_structure(table, "bic", search=search), 5)
            section.add(name, "bntk", time, "", found.dag.shd(truth.dag), f"{found.score - own:+,.0f}")
            for package, run in peers.get(name, []):
                peer = run()
                ratio = section.ratio(name, package, peer.shortest(), time)
                section.add(name, package, peer.shortest(), ratio, *against_truth(peer, table, truth.dag, own))
    return section


def against_truth(peer: PeerRun, table: bntk.Table, truth: DAG, own: float) -> tuple[Any, str]:
    """The distance of a peer's class to the true one, and the score of a DAG of it where there is one."""
    if not peer.marks:
        return "", ""
    try:
        pdag = PDAG(table.names, *peer.answers[-1])
    except GraphError:
        return "", "no PDAG"
    try:
        less = f"{score(consistent_extension(pdag), table, 'bic') - own:+,.0f}"
    except GraphError:
        less = "no DAG"
    return shd(pdag, truth), less


# ---- which degrees of freedom ----------------------------------------------------------------------------------------


def adjusted(options: Options) -> Section:
    n = options.pick(5, 2)
    section = Section(
        "Degrees of freedom of tests",
        f"PC and MMHC with alpha 0.05 on {n} samples: the F1 of the skeleton and the distance of the equivalence class "
        '(SHD), on average, with G2 and the degrees of freedom of all cells (`"mi"`), of what occurs in the sample '
        '(`"mi-adf"`, which takes variables with fewer than five rows for each cell of the table as independent), and '
        "of what occurs, in every table (`fewest_rows=0`). At most eight variables are given.",
        ["network", "rows", "search", "mi", "mi-adf", "fewest_rows=0", "SHD: mi", "mi-adf", "fewest_rows=0"],
    )
    tests: tuple[str | IndependenceTest, ...] = ("mi", "mi-adf", ADJUSTED)
    for network in options.pick(("alarm", "child", "hailfinder", "insurance", "water", "win95pts"), ("alarm",)):
        truth = bntk.load(options.network(network))
        for rows in options.pick((500, 2_000, 5_000, 20_000), (500,)):
            tables = [truth.sample(rows, seed=seed) for seed in range(n)]
            for kind in (PC, MMHC):
                f1, distances = np.zeros((2, len(tests), n))
                for t, test in enumerate(tests):
                    for k, table in enumerate(tables):
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore", StructureWarning)
                            found = learn_structure(table, "bic", search=kind(test=test, max_given=8))
                        f1[t, k] = bntk.compare_structures(found, truth).skeleton.f1
                        distances[t, k] = shd(found.pdag or found.dag, truth.dag)
                means = [f"{value:.3f}" for value in f1.mean(axis=1)], [f"{d:.1f}" for d in distances.mean(axis=1)]
                section.add(network, f"{rows:,}", kind.name, *means[0], *means[1])
    return section


# ---- searches on alarm -----------------------------------------------------------------------------------------------


def searches(options: Options) -> Section:
    truth = bntk.load(options.network("alarm"))
    learn_structure(truth.sample(2000, seed=1), search="auto")  # compiles
    section = Section(
        "Searches on samples of alarm",
        '"Less true" is the score of what was found minus that of the true structure on the same rows, in nats; '
        "above zero is better than the truth. The ratio is to the time of bntk's hill climbing. pgmpy is run on "
        "5,000 rows, once; pyAgrum's equivalent sample size cannot be chosen. The result of a single run of hill "
        "climbing varies between samples: see below.",
        ["rows", "score", "search", "time", "/ hill climbing", "less true"],
    )
    for rows in options.pick((5_000, 100_000), (5_000,)):
        table = truth.sample(rows, seed=0)
        for name, rule in SCORES.items():
            compare_searches(
                section, table, name, rule, score(truth.dag, table, rule), slow=rows <= 5_000 and not options.quick
            )
    return section


def compare_searches(section: Section, table: bntk.Table, name: str, rule: Score, own: float, slow: bool) -> None:
    frame, rows = table.to_pandas(), f"{table.n_rows:,}"
    ours: dict[str, tuple[str | Search, Any]] = {
        "hill climbing": ("hc", table),
        "hill climbing, from the frame": ("hc", frame),
        "tabu": ("tabu", table),
        "hill climbing, 20 restarts": (HillClimbing(restarts=20), table),
        "tabu, 20 restarts": (Tabu(restarts=20), table),
        "default": ("auto", table),
    }
    climbing = Time()
    for label, (search, data) in ours.items():
        time, found = best(lambda data=data, search=search: learn_structure(data, rule, search=search), 9)
        climbing = time if search == "hc" and data is table else climbing
        section.add(rows, name, f"bntk, {label}", time, "", f"{found.score - own:+,.0f}")
    peers: list[tuple[str, Callable[..., Iterator[Any]]]] = [("pybnesian", climb_pybnesian), ("pyAgrum", climb_pyagrum)]
    for package, work in [*peers, *([("pgmpy", climb_pgmpy)] if slow else [])]:
        peer = climb(package, work, 5 if table.n_rows <= 5_000 else 2, frame, rule)
        ratio = section.ratio(f"{rows} rows, {name}", package, peer.shortest(), climbing)
        less = f"{peer_score(peer, table, rule) - own:+,.0f}" if peer.marks else ""
        section.add(rows, name, f"{package}, hill climbing", peer.shortest(), ratio, less)


def samples(options: Options) -> Section:
    truth = bntk.load(options.network("alarm"))
    n = options.pick(8, 2)
    section = Section(
        "Hill climbing on several samples",
        f"Hill climbing without restarts on {n} samples of 5,000 rows of alarm, compared with pybnesian: the "
        "difference of the scores, in nats, and the ratio of the times.",
        ["score", "ours less theirs", "mean", "times as long", "median"],
    )
    for name, rule in SCORES.items():
        ahead, ratios = [], []
        for seed in range(n):
            table = truth.sample(5_000, seed=seed)
            learn_structure(table.take(slice(500)), rule, search="hc")  # compiles
            time, found = best(lambda table=table, rule=rule: learn_structure(table, rule, search="hc"), 9)
            peer = climb("pybnesian", climb_pybnesian, 9, table.to_pandas(), rule)
            ahead.append(found.score - peer_score(peer, table, rule))
            ratios.append(section.ratio(name, "pybnesian", peer.shortest(), time))
        median = float(np.median([ratio.value for ratio in ratios]))
        section.add(
            name, " ".join(f"{x:+.0f}" for x in ahead), f"{np.mean(ahead):+.0f}", " ".join(map(str, ratios)), median
        )
    return section


# ---- trees -----------------------------------------------------------------------------------------------------------


def chained_rows(rows: int, columns: int, states: int) -> bntk.Table:
    """Columns that each repeat one of the earlier ones with probability 0.4; the last is the class."""
    rng = np.random.default_rng(0)
    codes = rng.integers(states, size=(columns, rows), dtype=np.uint8)
    for k in range(1, columns):
        same = rng.random(rows) < 0.4
        codes[k, same] = codes[rng.integers(k), same]
    variables = [bntk.Variable(f"x{k}", [f"s{i}" for i in range(states)]) for k in range(columns)]
    return bntk.Table.from_codes(codes, variables)


def own_tree(table: bntk.Table, target: str | None) -> SearchResult:
    space = spaces.tree(table.names) if target is None else spaces.tan(table.names[:-1], target)
    return learn_structure(table, "loglik", space)


def trees(options: Options) -> Section:
    small = (10_000, 50, 3)
    sizes = options.pick([small, (100_000, 100, 4), (1_000_000, 50, 3)], [small])
    return compare_trees(sizes, {small}, options.pick(60, 10))


def large_trees(options: Options) -> Section:
    """Minutes of the peers."""
    sizes = options.pick([(100_000, 100, 4), (1_000_000, 50, 3)], [(20_000, 50, 3)])
    return compare_trees(sizes, set(sizes), options.pick(600, 30))


def compare_trees(sizes: list[tuple[int, int, int]], with_peers: set[tuple[int, int, int]], limit: float) -> Section:
    section = Section(
        "Trees",
        "Chow-Liu trees and tree-augmented naive Bayes by log-likelihood. The peers run once, and not on data that "
        "take them more than a minute. pyAgrum is its classifier, which fits the tables, too.",
        ["data", "tree", "bntk", "pyAgrum", "pgmpy", "pyAgrum / bntk", "pgmpy / bntk", "likelihood, less theirs"],
    )
    for size in sizes:
        rows, columns, states = size
        table = chained_rows(*size)
        for kind in ("Chow-Liu", "TAN"):
            target = table.names[-1] if kind == "TAN" else None
            case = f"{rows:,} x {columns}, {states} states"
            own_tree(table.take(slice(500)), target)  # compiles
            ours, found = best(lambda table=table, target=target: own_tree(table, target))
            if size not in with_peers:
                section.add(case, kind, ours, "not run", "not run", "", "", "")
                continue
            agrum = run_peer("pyAgrum", limit, tree_pyagrum, table.to_pandas(), target)
            pgmpy = run_peer("pgmpy", limit, tree_pgmpy, table.to_pandas(), target)
            ahead = [found.score - peer_score(peer, table, "loglik") for peer in (agrum, pgmpy) if peer.marks]
            section.add(
                case,
                kind,
                ours,
                agrum.shortest(),
                pgmpy.shortest(),
                section.ratio(f"{case}, {kind}", "pyAgrum", agrum.shortest(), ours),
                section.ratio(f"{case}, {kind}", "pgmpy", pgmpy.shortest(), ours),
                " ".join(f"{x:+.1f}" for x in ahead),
            )
    return section


# ---- exact search ----------------------------------------------------------------------------------------------------


def exact(options: Options) -> Section:
    limit = options.pick(300, 10)
    section = Section(
        "Exact search",
        "The best of all structures, without a limit on parents, for the first variables of alarm, 10,000 rows, one "
        f"run each; stopped after {limit} s, the gap says how much better, in nats, the best structure can be at the "
        "most. Families are parent sets that were looked at, of BDeu all. Beside it the default search, which "
        "is not guaranteed to find it, and by how much it falls short.",
        ["variables", "score", "exact", "gap", "families", "GB at the most", "default", "below, in nats"],
        axes=("variables", "seconds"),
    )
    table = bntk.load(options.network("alarm")).sample(10_000, seed=0)
    for rule in SCORES.values():
        learn_structure(table.take(slice(100)).select(table.names[:14]), rule, search=Exact())  # compiles
    learn_structure(table.take(slice(100)), "bic")
    for n in options.pick((14, 18, 22, 26), (12, 14)):
        some = table.select(table.names[:n])
        for name, rule in SCORES.items():
            search = Exact(time_budget=limit)
            time, found = best(
                lambda some=some, rule=rule, search=search: learn_structure(some, rule, search=search), 1
            )
            default, other = best(lambda some=some, rule=rule: learn_structure(some, rule), 1)
            below = f"{found.score - other.score:.3f}" if found.exact else ""
            section.add(
                n, name, time if found.exact else f"over {limit} s", f"{found.gap:.3g}", f"{found.n_evaluated:,}",
                Exact.gigabytes(n, rule), default, below,
            )  # fmt: skip
            if found.exact:
                section.point(name, n, time)
    return section


# ---- growth with the number of variables -----------------------------------------------------------------------------


def variables(options: Options) -> Section:
    longest = options.pick(45.0, 2.0)
    section = Section(
        "Growth with the number of variables",
        "Random networks of binary variables with two arcs each, at most four parents, 5,000 rows, BIC, alpha 0.01; F1 "
        f"of the skeleton. A search is not run where it would take more than {longest:.0f} s if its time grew with the "
        "square of the number of variables.",
        ["variables", "search", "time", "F1", "SHD", "less true, in nats"],
        axes=("variables", "seconds"),
    )
    searches: dict[str, str | Search] = {
        "default": "auto", "hill climbing": "hc", "pc": PC(alpha=0.01), "iamb": IAMB(alpha=0.01),
        "mmhc": MMHC(alpha=0.01), "ges": GES(),
    }  # fmt: skip
    before: dict[str, float] = {}
    sizes = options.pick((50, 100, 200, 500, 1000), (20, 40))
    for n, smaller in zip(sizes, (sizes[0], *sizes), strict=False):
        truth = bntk.datasets.random_network(n, n_states=2, n_arcs=2 * n, treewidth=None, max_parents=4, seed=n)
        table = truth.sample(5_000, seed=0)
        own = score(truth.dag, table, "bic")
        for name, search in searches.items():
            if before.get(name, 0.0) * (n / smaller) ** 2 > longest:
                before[name] = np.inf
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StructureWarning)
                learn_structure(table.take(slice(200)).select(table.names[:10]), "bic", search=search)  # compiles
                time, found = best(lambda table=table, search=search: learn_structure(table, "bic", search=search), 1)
            f1 = bntk.compare_structures(found, truth).skeleton.f1
            section.add(n, name, time, f1, found.dag.shd(truth.dag), f"{found.score - own:+,.0f}")
            section.point(name, n, time)
            before[name] = time.seconds
    return section


PARTS = {
    "searches": searches,
    "by_tests": by_tests,
    "adjusted": adjusted,
    "samples": samples,
    "trees": trees,
    "exact": exact,
    "variables": variables,
}
EXTRA = {"large_trees": large_trees}

if __name__ == "__main__":
    report.main()

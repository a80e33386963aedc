"""What bntk, pgmpy and pyAgrum can do, found out by trying: ``python -m benchmarks.features``.

Every cell of the table is the outcome of a check: a public name is looked for, or a small task is done and its result
looked at. ``--write docs/comparison.md`` puts the outcomes into the first three columns of the page, beside those of R
and Java packages, which cannot be run from here. Some modules of pyAgrum need IPython.
"""

from __future__ import annotations

import argparse
import importlib
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pgmpy
import pyagrum as gum
from pgmpy.base import DAG as PgmpyDAG  # noqa: N811
from pgmpy.base import PDAG as PgmpyPDAG  # noqa: N811
from pgmpy.estimators import ExpectationMaximization, TreeSearch
from pgmpy.factors.discrete import TabularCPD
from pgmpy.identification import Adjustment
from pgmpy.inference import VariableElimination
from pgmpy.models import DiscreteBayesianNetwork, NaiveBayes
from pgmpy.parameter_estimator import DiscreteEM
from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
from pyagrum.skbn import BNClassifier
from sklearn.model_selection import cross_val_score

import bntk

# A pattern of names, or a task that gives something true.
Check = str | Callable[[], Any]

# Where names are looked for: modules, and classes whose methods are the features.
HOMES = {
    "bntk": (
        "bntk bntk:scores bntk:search bntk.classifiers bntk.graph bntk.io bntk.inference bntk.causal "
        "bntk:BayesianNetwork bntk:DAG bntk:Space bntk:cuts bntk.explore bntk.viz bntk.learning.independence"
    ),
    "pgmpy": (
        "pgmpy.models pgmpy.estimators pgmpy.inference pgmpy.sampling pgmpy.readwrite pgmpy.factors.discrete "
        "pgmpy.metrics pgmpy.causal_discovery pgmpy.prediction pgmpy.identification pgmpy.structure_score "
        "pgmpy.models:DiscreteBayesianNetwork pgmpy.inference:CausalInference pgmpy.ci_tests pgmpy.base"
    ),
    "pyAgrum": (
        "pyagrum pyagrum:BayesNet pyagrum:BNLearner pyagrum:LazyPropagation pyagrum.skbn pyagrum.clg pyagrum.causal "
        "pyagrum.influence_diagram pyagrum.ktbn pyagrum.ctbn pyagrum.markov_random_field pyagrum.credal_net "
        "pyagrum:CausalModel pyagrum.bnmixture pyagrum.lib.dynamicBN pyagrum.causalEffectEstimation pyagrum.explain "
        "pyagrum.prm"
    ),
}


def names(package: str, pattern: str) -> list[str]:
    """Public names of a package that match, in the order of their homes."""
    found: dict[str, None] = {}
    for place in HOMES[package].split():
        module, _, attribute = place.partition(":")
        home = importlib.import_module(module)
        home = getattr(home, attribute) if attribute else home
        found |= dict.fromkeys(name for name in dir(home) if not name.startswith("_") and re.search(pattern, name))
    return list(found)


def outcome(package: str, check: Check) -> str:
    """The first names that match, or whether the task can be done."""
    if isinstance(check, str):
        return ", ".join(f"`{name}`" for name in names(package, check)[:2]) or "no"
    try:
        return "yes" if check() else "no"
    except Exception:
        return "no"


# Small data: x -> z <- y, and the same with missing values


def rows(missing: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x, y = rng.integers(2, size=(2, 300))
    frame = pd.DataFrame({"x": x, "y": y, "z": np.where(rng.random(300) < 0.1, 1 - (x | y), x | y)}).astype(str)
    return frame.mask(rng.random(frame.shape) < 0.2) if missing else frame


NUMBERS = pd.DataFrame(
    {"x": np.linspace(0, 1, 100), "w": ["p", "q"] * 50, "y": np.where(np.linspace(0, 1, 100) > 0.5, "b", "a")}
)

# Kept, since pyAgrum does not keep a network alive for its parts; nodes in the order of the columns, by which it goes.
PATTERN = gum.fastBN("x;y;z;x->z;y->z")
X, Y, INCOMPLETE = rows()[["x", "y"]], rows()["z"], rows(missing=True)


def ours() -> bntk.BayesianNetwork:
    return bntk.fit("x -> z <- y", rows(), prior=1)


def of_pgmpy() -> Any:
    return DiscreteBayesianNetwork([("x", "z"), ("y", "z")]).fit(rows())


def of_pyagrum() -> Any:
    return gum.BNLearner(rows()).useSmoothingPrior().learnParameters(PATTERN.dag())


def valid(table: Any) -> bool:
    """300 rows of probabilities without missing values."""
    values = np.asarray(table, dtype=float)
    return len(values) == 300 and bool(np.isfinite(values).all()) and bool(np.allclose(values.sum(axis=1), 1))


# Tasks that need more than a line

NAPKIN = "w -> z -> x -> y; a -> w; a -> x; b -> w; b -> y"


def minimal_sets(found: Any) -> bool:
    """Of x <- a -> b -> y <- x, the sets {a} and {b}, and no others."""
    return {frozenset(names) for names in found} == {frozenset("a"), frozenset("b")}


def pgmpy_adjustment_sets() -> bool:
    graph = PgmpyDAG([("a", "x"), ("a", "b"), ("b", "y"), ("x", "y")], roles={"exposures": "x", "outcomes": "y"})
    found, _ = Adjustment(variant="all").identify(graph)
    return minimal_sets(dag.get_role("adjustment") for dag in found)


def pyagrum_identifies() -> bool:
    network = gum.fastBN("w->z->x->y")
    model = gum.CausalModel(network, [("a", ["w", "x"]), ("b", ["w", "y"])], True)
    return bool(gum.causalImpact(model, on="y", doing="x")[0].toLatex())


def pgmpy_em() -> bool:
    """Whether rows with missing values count: the table of x must be that of all observed values, as by EM."""
    model = DiscreteBayesianNetwork([("x", "z"), ("y", "z")])
    former = {c.variable: c for c in ExpectationMaximization(model, INCOMPLETE).get_parameters(show_progress=False)}
    now = model.fit(INCOMPLETE, estimator=DiscreteEM()).get_cpds("x")
    return any(uses_all_cells(table.get_values().ravel()) for table in (former["x"], now))


def pyagrum_em() -> bool:
    learner = gum.BNLearner(INCOMPLETE.fillna("?"), ["?"])
    learner.useEM(1e-6)
    network = learner.learnParameters(PATTERN.dag())
    return uses_all_cells(np.array(network.cpt("x").tolist()))


def uses_all_cells(table_of_x: Any) -> bool:
    """EM adds what z tells about the missing values of x, so that more than the complete rows count."""
    exact = bntk.fit_em("x -> z <- y", INCOMPLETE).cpt("x").values
    complete = INCOMPLETE.dropna()["x"].value_counts(normalize=True).sort_index().to_numpy()
    return bool(abs(table_of_x - exact).max() < abs(complete - exact).max() / 4)


def pgmpy_virtual() -> bool:
    finding = TabularCPD("z", 2, [[0.25], [0.75]], state_names={"z": ["0", "1"]})
    answer = VariableElimination(of_pgmpy()).query(["x"], virtual_evidence=[finding], show_progress=False)
    return bool(abs(answer.values[1] - expected_by_virtual()) < 0.02)


def pyagrum_virtual() -> bool:
    network = of_pyagrum()
    engine = gum.LazyPropagation(network)
    engine.setEvidence({"z": [1, 3]})
    engine.makeInference()
    return bool(abs(engine.posterior("x")[1] - expected_by_virtual()) < 0.02)


def expected_by_virtual() -> float:
    joint = rows().groupby("x")["z"].value_counts(normalize=True).unstack() @ np.array([1, 3])
    weighed = joint * rows()["x"].value_counts(normalize=True)
    return float(weighed["1"] / weighed.sum())


def set_by_experiment() -> float:
    return bntk.score("x -> z", rows(), intervened={"x": [0, 1, 2]})


def pgmpy_naive_bayes() -> bool:
    model = NaiveBayes()
    model.fit(rows(), "z")
    return valid(model.predict_probability(X))


def pyagrum_classifier(method: str = "TAN") -> Any:
    return BNClassifier(type_processor=DiscreteTypeProcessor(), learningMethod=method)


def pyagrum_cuts(method: str) -> Callable[[], bool]:
    """Whether a classifier cuts numbers by that method where the class changes."""

    def task() -> bool:
        processor = DiscreteTypeProcessor(defaultDiscretizationMethod=method, discretizationThreshold=5)
        classifier = BNClassifier(type_processor=processor, learningMethod="NaiveBayes")
        classifier.fit(X=NUMBERS[["x", "w"]], y=NUMBERS["y"])
        return bool((classifier.predict(NUMBERS[["x", "w"]]) == NUMBERS["y"]).all())

    return task


def our_densities() -> bool:
    model = bntk.NaiveBayes(numeric="kde").fit(NUMBERS[["x"]], NUMBERS["y"])
    return model.predict([[0.1], [0.9]]).tolist() == ["a", "b"]


def pyagrum_files(suffix: str) -> Callable[[], bool]:
    def task() -> bool:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / f"net.{suffix}")
            gum.saveBN(of_pyagrum(), path)
            return bool(gum.loadBN(path).size() == 3)

    return task


# A network whose x and y are dependent, z = x whatever y is: without the arc from x, P(z | y) must be P(x | y).
LINKED = "x -> y -> z <- x"


def ours_without_arc() -> bool:
    return keeps_conditional(linked().remove_arc("x", "z").cpt("z").values)


def pgmpy_without_node() -> bool:
    model = DiscreteBayesianNetwork([("x", "y"), ("x", "z"), ("y", "z")])
    model.add_cpds(
        TabularCPD("x", 2, [[0.5], [0.5]]),
        TabularCPD("y", 2, [[0.9, 0.2], [0.1, 0.8]], ["x"], [2]),
        TabularCPD("z", 2, [[1, 1, 0, 0], [0, 0, 1, 1]], ["x", "y"], [2, 2]),
    )
    model.remove_node("x")
    return keeps_conditional(model.get_cpds("z").values.T)


def pyagrum_without_arc() -> bool:
    network = gum.fastBN("x->y->z<-x")
    network.cpt("x").fillWith([0.5, 0.5])
    network.cpt("y").fillWith([0.9, 0.1, 0.2, 0.8])
    for x in (0, 1):
        for y in (0, 1):
            network.cpt("z")[{"x": x, "y": y}] = [1 - x, x]
    network.eraseArc("x", "z")
    return keeps_conditional([network.cpt("z")[{"y": y}] for y in (0, 1)])


def linked() -> bntk.BayesianNetwork:
    x, y, z = (bntk.Variable(name, ["0", "1"]) for name in "xyz")
    copied = [[[1, 0], [1, 0]], [[0, 1], [0, 1]]]
    tables = [bntk.CPT(x, [0.5, 0.5]), bntk.CPT(y, [[0.9, 0.1], [0.2, 0.8]], [x]), bntk.CPT(z, copied, [x, y])]
    return bntk.BayesianNetwork(bntk.DAG.parse(LINKED, nodes=["x", "y", "z"]), tables)


def keeps_conditional(table: Any) -> bool:
    """P(z = 1 | y), by Bayes' rule."""
    return bool(np.allclose(np.asarray(table)[:, 1], [0.2 / 1.1, 0.8 / 0.9]))


NONE = r"^\b$"  # a pattern that no name matches: nothing of the kind was found by reading the documentation either

FEATURES: dict[str, dict[str, tuple[Check, Check, Check]]] = {
    "Models": {
        "noisy-OR": ("^NoisyOr$", "^NoisyORCPD$", "^addNoisyOR$"),
        "noisy-MAX": ("^NoisyMax$", "Max(CPD)?$", "^addNoisyMAX"),
        "linear Gaussian or mixed networks": ("Gaussian|CLG", "^LinearGaussianBayesianNetwork$", "^CLG$"),
        "dynamic networks": ("Dynamic|TBN", "^DynamicBayesianNetwork$", "^KTBN$|^CTBN$"),
        "influence diagrams": ("Influence", "Influence", "^InfluenceDiagram$"),
        "Markov networks": ("Markov(Net|Random)", "^DiscreteMarkovNetwork$", "^MarkovRandomField$"),
        "credal networks": ("Credal", "Credal", "^CredalNet$"),
        "continuous time": ("CTBN", "CTBN|[Cc]ontinuousTime", "^CTBN$"),
        "relational models (O3PRM)": ("PRM", "PRM|Relational", "^PRMexplorer$"),
        "mixtures of networks": ("Mixture", "Mixture", "^BNMixture$"),
        "structural equations, functions as nodes": ("SEM|Functional", "^SEM|^Functional", "SEM|Functional"),
        "tables by a logistic or another function": ("[Ll]ogit|Aggregat", "[Ll]ogit|Aggregat", "^addLogit$|^addSUM$"),
    },
    "Structure": {
        "hill climbing": ("^HillClimbing$", "^HillClimbSearch$", "^useGreedyHillClimbing$"),
        "tabu": ("^Tabu$", "^HillClimbSearch$", "^useLocalSearchWithTabuList$"),
        "exact search": ("^Exact$", "^ExhaustiveSearch$|AStar", "Exhaustive(?!Sep)|AStar"),
        "search over orders": ("^OrderSearch$", "Order(Search|MCMC)", "^useOrder"),
        "by independence tests (PC, MIIC ...)": ("^PC$|MIIC", "^PC$", "^usePC$|^useMIIC$"),
        "by Markov blankets (GS, IAMB, MMPC), MMHC": ("^(GS|IAMB|MMPC|MMHC)$", "^MmhcEstimator$", "IAMB|MMPC|MMHC"),
        "with latent variables (FCI, MIIC)": ("^FCI$|MIIC|^PAG$", "^FCI$", "^useFCI$|^useMIIC$"),
        "tests for columns of numbers": ("[Pp]earson|FisherZ", "^FisherZ$|^Pearsonr$", "[Pp]earson|FisherZ"),
        "GES": ("^GES$", "^GES$", "GES$"),
        "simulated annealing, genetic search": ("[Aa]nneal|Genetic", "[Aa]nneal|Genetic", "[Aa]nneal|Genetic"),
        "a person or a language model asked for arcs": ("ExpertInLoop", "^ExpertInLoop$", "ExpertInLoop|LLM"),
        "required and forbidden arcs, tiers": ("^Space$", "^ExpertKnowledge$", "^addMandatoryArc$|^setSliceOrder$"),
        "shapes (tree, forest, kDB ...) for groups": ("^Group$", NONE, NONE),
        "structures from bootstrap samples": ("^bootstrap_strengths$", "[Bb]ootstrap", "^BNMBootstrapLearner$"),
        "structural EM": ("^structural_em$", "[Ss]tructuralEM", "[Ss]tructuralEM"),
    },
    "Parameters": {
        "Dirichlet and BDeu priors": ("^priors$", "^BayesianEstimator$", "^useBDeuPrior$|^useDirichletPrior$"),
        "EM from rows with missing values": (
            lambda: uses_all_cells(bntk.fit_em("x -> z <- y", INCOMPLETE).cpt("x").values),
            pgmpy_em,
            pyagrum_em,
        ),
        "rows that do not fit into memory, Dask": ("^scan$", "scan|chunk|[Dd]ask", "scan|chunk|[Dd]ask"),
        "new rows added to a fitted network": ("^update$", "^fit_update$", "^update(Param|CPT)|^partial_fit$"),
        "rows in which variables were set by an experiment": (
            lambda: set_by_experiment() != bntk.score("x -> z", rows()),
            "[Ii]nterventional|[Mm]ixed[Dd]ata",
            "[Ii]nterventional(Data|Rows)|^setInterven",
        ),
    },
    "Numbers": {
        "cut where the class changes (MDL)": ("^mdl_cuts$", "[Mm]dl|MDL", pyagrum_cuts("MDLP")),
        "cut together with other columns (Hartemink)": ("^hartemink_cuts$", "[Hh]artemink", "[Hh]artemink"),
        "cut by CAIM, NML, k-means": ("[Cc]aim|[Nn]ml_cuts|kmeans", "[Cc]aim|kmeans", pyagrum_cuts("CAIM")),
        "interpolated, or as densities, in classifiers": (
            our_densities,
            "[Kk]ernel[Dd]ens|GaussianNB",
            "[Kk]ernel[Dd]ens|GaussianNB",
        ),
    },
    "Editing": {
        "an arc removed, tables averaged by the network's own weights": (
            ours_without_arc,
            pgmpy_without_node,
            pyagrum_without_arc,
        ),
        "an arc reversed, the joint distribution as before": ("^reverse_arc$", "[Rr]everse_?[Aa]rc", "^reverseArc$"),
        "variables and states renamed": ("^rename_states$", "rename|relabel", "^changeVariableLabel$"),
        "states merged": ("^merge_states$", "merge_?[Ss]tates", "[Mm]erge(Label|State|Modalit)"),
    },
    "Inference": {
        "exact posteriors": ("^query$", "^VariableElimination$", "^LazyPropagation$"),
        "posteriors of a table with missing values, in one call": (
            lambda: valid(ours().posterior(INCOMPLETE[["x", "y"]], "z")),
            lambda: valid(of_pgmpy().predict_probability(INCOMPLETE[["x", "y"]])),
            "^posterior.*(Table|Frame|Rows)|^batch",
        ),
        "virtual evidence": (
            lambda: abs(ours().query("x", soft={"z": [1, 3]})["1"] - expected_by_virtual()) < 0.02,
            pgmpy_virtual,
            pyagrum_virtual,
        ),
        "Jeffrey's rule": ("^jeffrey$", "[Jj]effrey", "[Jj]effrey"),
        "most probable explanation": (
            lambda: ours().mpe({"z": "1"}),
            lambda: VariableElimination(of_pgmpy()).map_query(["x", "y"], {"z": "1"}, show_progress=False),
            "MPE|[Mm]ostProbable|^map",
        ),
        "loopy belief propagation": (
            "^LoopyProgram$",
            "^BeliefPropagationWithMessagePassing$",
            "^LoopyBeliefPropagation$",
        ),
        "sampling given evidence": (
            "^likelihood_weighting$|^gibbs$",
            "^BayesianModelSampling$|^GibbsSampling$",
            "^(Weighted|Gibbs)Sampling$",
        ),
        "what a query costs, before it runs": ("^plan$", "^plan$|[Qq]ueryCost", "^JunctionTreeGenerator$"),
        "interventions": ("^do$", "^do$", "^CausalModel$"),
        "adjustment sets": ("^adjustment_sets$", "^Adjustment$", "^backDoor$"),
        "all minimal adjustment sets": (
            lambda: minimal_sets(bntk.DAG.parse("x <- a -> b -> y <- x").adjustment_sets("x", "y")),
            pgmpy_adjustment_sets,
            "[Aa]djustment[Ss]ets|backDoors$",
        ),
        "adjustment sets of an equivalence class": (
            lambda: bntk.DAG.parse("a -> x -> y <- b -> x").cpdag().adjustment_sets("x", "y") == [("b",)],
            lambda: hasattr(PgmpyPDAG, "adjustment_sets"),
            "[Aa]djustment.*[Cc]lass",
        ),
        "front door": ("^front_door_sets$", "^Frontdoor$", "^frontDoor$"),
        "instruments": ("^instruments$", "^get_ivs$", "[Ii]nstrument"),
        "identification by do-calculus (ID)": (
            lambda: bntk.DAG.parse(NAPKIN).identify("y", do="x", latent=["a", "b"]),
            "^ID$|^IDC$|[Ii]dentify[Ee]ffect",
            pyagrum_identifies,
        ),
        "estimation of effects from rows": (
            "^estimate_effect$",
            "^DoubleMLRegressor$|^estimate_ate$",
            "^CausalEffectEstimation$",
        ),
        "effects along paths (natural direct and indirect)": (
            "^path_effect$",
            "[Mm]ediation|[Pp]ath_?[Ss]?pecific",
            "[Mm]ediation|[Pp]ath_?[Ss]pecific",
        ),
        "possible effects in an equivalence class (IDA)": ("^possible_effects$", "^IDA$|[Pp]ossible_?[Ee]ff", "^IDA$"),
        "counterfactuals": ("^counterfactual$", "[Cc]ounterfactual", "^counterfactual$"),
        "value of information, sensitivity": (
            "^value_of_information$|^sensitivity$",
            "[Ss]ensitivity|[Vv]alue_?[Oo]f",
            "^InformationTheory$|[Ss]ensitivity",
        ),
        "Shapley values": ("[Ss]hap", "[Ss]hap", "^ConditionalShapValues$"),
        "Kullback-Leibler divergence of two networks": (
            "^divergence$",
            "[Kk]ullback|^kl_|^divergence$",
            "^ExactBNdistance$",
        ),
    },
    "Classifiers": {
        "naive Bayes": ("^NaiveBayes$", pgmpy_naive_bayes, lambda: pyagrum_classifier("NaiveBayes").fit(X=X, y=Y)),
        "TAN": (
            "^TAN$",
            lambda: len(TreeSearch(rows(), root_node="x").estimate("tan", "z", show_progress=False).edges()) == 3,
            lambda: pyagrum_classifier("TAN").fit(X=X, y=Y),
        ),
        "FAN, kDB, AODE": ("^(KDB|AODE)$", "^(KDB|AODE|Kdb|Aode)", "^(KDB|AODE|Kdb|Aode)"),
        "semi-naive, averaged, weighted": ("^(SemiNaiveBayes|MANB)$", "SemiNaive|MANB|AWNB", "SemiNaive|MANB|AWNB"),
        "structures searched by prediction": ("^(LOO|CV)$", "^(LOO|LeaveOneOut|CV)$", "^useScore(LOO|CV)"),
        "several class variables": ("^(MDBNC|AMODE)$", "[Mm]ulti([Dd]im|[Ll]abel)", "[Mm]ultiLabel|MultiTarget"),
        "in scikit-learn's `cross_val_score`": (
            lambda: np.isfinite(cross_val_score(bntk.TAN(), X, Y, cv=3)).all(),
            lambda: np.isfinite(cross_val_score(NaiveBayes(), X, Y, cv=3)).all(),
            lambda: np.isfinite(cross_val_score(pyagrum_classifier(), X, Y, cv=3)).all(),
        ),
        "labels of rows with missing values": (
            lambda: len(bntk.TAN().fit(X, Y).predict(INCOMPLETE[["x", "y"]])) == 300,
            lambda: len(of_pgmpy().predict(INCOMPLETE[["x", "y"]])["z"].dropna()) == 300,
            lambda: len(pyagrum_classifier().fit(X=X, y=Y).predict(INCOMPLETE[["x", "y"]])) == 300,
        ),
        "their probabilities": (
            lambda: valid(bntk.TAN().fit(X, Y).predict_proba(INCOMPLETE[["x", "y"]])),
            lambda: valid(of_pgmpy().predict_probability(INCOMPLETE[["x", "y"]])),
            lambda: valid(pyagrum_classifier().fit(X=X, y=Y).predict_proba(INCOMPLETE[["x", "y"]])),
        ),
    },
    "Files": {
        "BIF": (lambda: ".bif" in bntk.io.FORMATS, "^BIFReader$", pyagrum_files("bif")),
        "XMLBIF": (lambda: ".xmlbif" in bntk.io.FORMATS, "^XMLBIFReader$", pyagrum_files("bifxml")),
        "Hugin NET": (lambda: ".net" in bntk.io.FORMATS, "^NETReader$", pyagrum_files("net")),
        "GeNIe DSL": (lambda: ".dsl" in bntk.io.FORMATS, "^DSLReader$", pyagrum_files("dsl")),
        "GeNIe XDSL": (lambda: ".xdsl" in bntk.io.FORMATS, "^XDSLReader$", pyagrum_files("xdsl")),
        "XBN, PomdpX": ("XBN|PomdpX", "^XBNReader$|^PomdpXReader$", "XBN|PomdpX"),
        "R's model strings": ("^to_modelstring$", "modelstring", "modelstring"),
        "text of dagitty, lavaan": ("dagitty|lavaan", "^from_dagitty$|^from_lavaan$", "dagitty|lavaan"),
        "UAI": (lambda: ".uai" in bntk.io.FORMATS, "^UAIReader$", pyagrum_files("uai")),
        "a page (HTML) that answers by itself": ("^explore$", "^explore|[Hh]tml|HTML", "^explore|[Hh]tml|HTML"),
    },
}


def table() -> Iterator[str]:
    """The lines of the table, in Markdown."""
    versions = (bntk.__version__, pgmpy.__version__, gum.__version__)
    yield "| | " + " | ".join(f"{n} {v}" for n, v in zip(HOMES, versions, strict=True)) + " |"
    yield "|---|---|---|---|"
    for group, features in FEATURES.items():
        yield f"| **{group}** | | | |"
        for feature, checks in features.items():
            yield f"| {feature} | " + " | ".join(map(outcome, HOMES, checks)) + " |"


MARKS = {"no": "–"}


def written(page: str) -> str:
    """The page with our outcomes in its first three columns; a feature that it does not have is an error."""
    lines = page.splitlines(keepends=True)
    places = {line.split("|")[1].strip(): k for k, line in enumerate(lines) if line.startswith("| ")}
    for features in FEATURES.values():
        for feature, checks in features.items():
            if feature not in places:
                raise SystemExit(f"the page has no row for {feature!r}: add one, with what R and Java packages have")
            cells = lines[places[feature]].split("|")
            cells[2:5] = [f" {MARKS.get(found, '✓')} " for found in map(outcome, HOMES, checks)]
            lines[places[feature]] = "|".join(cells)
    return "".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="PAGE", type=Path, help="put the outcomes into the table of this page")
    page = parser.parse_args().write
    warnings.simplefilter("ignore")
    if page:
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        for line in table():
            print(line, flush=True)

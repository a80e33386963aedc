"""The public callables of bntk with arguments that work, for attacks with bad ones."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from bad_calls import Door, door

import bntk
from bntk import causal, cuts, datasets, evaluation, explore, graph, inference, io, priors, scores, search, spaces, viz
from bntk._declared import CLASSIFIERS, MULTI_CLASSIFIERS, SCORES, SEARCHES
from bntk.data.table import Table
from bntk.learning.counts import ExperimentCounter

A, B, C = (bntk.Variable(name, ["no", "yes"]) for name in "abc")
DAG = bntk.DAG(["a", "b", "c"], [("a", "b"), ("b", "c")])
NETWORK = datasets.sprinkler()
GIVEN = {"wet": "yes"}
ROWS = NETWORK.sample(40, seed=1)
FRAME = ROWS.to_pandas()


def methods(name: str, thing: Any, **arguments: dict[str, Any]) -> Iterator[Door]:
    """A door for each method."""
    for method, good in arguments.items():
        yield door(f"{name}.{method}", getattr(thing, method), None, **good)


def _data(folder: Path) -> Iterator[Door]:
    yield door("Variable", bntk.Variable, None, name="a", states=["no", "yes"])
    yield from methods(
        "Variable",
        bntk.Variable("a", ["no", "yes"]),
        code={"state": "no"},
        find={"state": "no"},
        of_intervals={"name": "a", "cuts": [1.0, 2.0]},
    )
    columns = {"a": ["x", "y", None], "b": [1, 2, 1]}
    variables = [bntk.Variable("a", ["x", "y"]), bntk.Variable("b", [1, 2])]
    table = Table.from_columns(columns)
    yield from methods(
        "Table",
        Table,
        from_columns={"columns": columns, "variables": variables, "only": ["a"]},
        from_frame={"frame": pd.DataFrame(columns), "variables": variables, "only": ["a"]},
        from_numpy={"array": np.array([["x", 1], ["y", 2]], dtype=object), "names": ["a", "b"]},
        from_codes={"codes": np.array([[0, 1], [1, 0]]), "variables": variables},
        concat={"tables": [table, table]},
    )
    yield from methods(
        "Table",
        table,
        column={"name": "a"},
        index={"name": "a"},
        variable={"name": "a"},
        select={"names": ["a"]},
        take={"rows": [0, 1]},
        recode={"variables": variables},
    )
    path = folder / "rows.csv"
    FRAME.to_csv(path, index=False)
    yield door(
        "read_table", bntk.read_table, None, path=path, missing=["", "?"], columns=["rain", "wet"], types={"rain": str}
    )
    yield door("scan", bntk.scan, None, source=path, columns=["rain", "wet"], missing=["", "?"], variables=None)
    arff = folder / "rows.arff"
    arff.write_text("@relation r\n@attribute a {x,y}\n@attribute b {0,1}\n@data\nx,1\ny,0\n")
    yield door("read_multilabel", bntk.read_multilabel, None, arff=arff, n_labels=1)
    discretizer = functools.partial(_fitted, bntk.Discretizer, pd.DataFrame({"u": [1.0, 2.0, 3.0, 4.0]}), None)
    selector = functools.partial(_fitted, bntk.MarkovBlanketSelector, FRAME.drop(columns="rain"), FRAME["rain"])
    yield door("MarkovBlanketSelector", selector, bntk.MarkovBlanketSelector)
    yield door("Discretizer", discretizer, bntk.Discretizer, method="frequency", columns=["u"])
    yield door("set_threads", _set_threads, bntk.set_threads, n=None)


def _set_threads(n: Any) -> None:
    try:
        bntk.set_threads(n)
    finally:
        bntk.set_threads(None)


def _graphs(folder: Path) -> Iterator[Door]:
    import networkx

    yield door("DAG", bntk.DAG, None, nodes=["a", "b"], arcs=[("a", "b")])
    yield from methods(
        "DAG",
        bntk.DAG,
        parse={"text": "a -> b", "nodes": ["a", "b"]},
        from_adjacency={"matrix": [[0, 1], [0, 0]], "nodes": ["a", "b"]},
        from_networkx={"graph": networkx.DiGraph([("a", "b")])},
    )
    name = {"name": "a"}
    yield from methods(
        "DAG",
        DAG,
        add_arc={"tail": "a", "head": "c"},
        add_node={"name": "d"},
        adjustment_sets={"x": ["a"], "y": ["c"], "latent": ["b"], "limit": 2},
        ancestors={"names": ["c"]},
        children=name,
        compare={"reference": DAG},
        d_separated={"x": ["a"], "y": ["c"], "given": ["b"]},
        descendants={"names": ["a"]},
        front_door_sets={"x": ["a"], "y": ["c"], "latent": [], "limit": 2},
        has_arc={"tail": "a", "head": "b"},
        identify={"y": ["c"], "do": ["a"], "given": ["b"], "latent": []},
        index=name,
        instruments={"x": "b", "y": "c", "latent": [], "limit": 2},
        is_adjustment_set={"x": ["a"], "y": ["c"], "z": ["b"], "latent": []},
        is_equivalent={"other": DAG},
        markov_blanket=name,
        optimal_adjustment_set={"x": ["a"], "y": ["c"], "latent": ["b"]},
        parents=name,
        relabel={"mapping": {"a": "z"}},
        remove_arc={"tail": "a", "head": "b"},
        reorder={"nodes": ["c", "b", "a"]},
        reverse_arc={"tail": "a", "head": "b"},
        shd={"other": DAG},
        subgraph={"nodes": ["a", "b"]},
    )
    yield door("DAG.do", lambda nodes: DAG.do(nodes), None, nodes="a")
    pdag, moral = DAG.cpdag(), DAG.moral_graph()
    yield door("graph.PDAG", graph.PDAG, None, nodes=["a", "b", "c"], directed=[("a", "b")], undirected=[("b", "c")])
    yield from methods(
        "graph.PDAG",
        pdag,
        adjustment_sets={"x": ["a"], "y": ["c"], "latent": ["b"], "limit": 2},
        children=name,
        index=name,
        is_adjustment_set={"x": ["a"], "y": ["c"], "z": ["b"], "latent": []},
        neighbors=name,
        optimal_adjustment_set={"x": ["a"], "y": ["c"], "latent": ["b"]},
        parents=name,
    )
    formula = NETWORK.identify("wet", do="sprinkler")
    yield door("causal.Formula.evaluate", formula.evaluate, None, source=NETWORK)
    yield door("causal.EffectTable.at", formula.evaluate(NETWORK).at, None, states={"sprinkler": "yes"})
    yield door(
        "BayesianNetwork.identify", NETWORK.identify, None, y=["wet"], do=["sprinkler"], given=["rain"], latent=[]
    )
    yield door("graph.UndirectedGraph", graph.UndirectedGraph, None, nodes=["a", "b"], edges=[("a", "b")])
    yield from methods(
        "graph.UndirectedGraph",
        moral,
        has_edge={"a": "a", "b": "b"},
        index=name,
        neighbors=name,
        subgraph={"nodes": ["a"]},
    )
    tree = graph.clique_tree(moral, ["a", "b", "c"])
    weights = {"a": 2, "b": 2, "c": 2}
    yield from methods(
        "graph.CliqueTree",
        tree,
        containing={"names": ["a"]},
        log_sizes={"weights": weights},
        log_total_size={"weights": weights},
    )
    yield from methods(
        "graph",
        graph,
        best_elimination_order={"graph": moral, "weights": weights, "heuristics": ["min_fill"]},
        clique_tree={"graph": moral, "order": ["a", "b", "c"]},
        compare={"learned": DAG, "reference": DAG},
        consistent_extension={"pdag": pdag},
        cpdag={"dag": DAG},
        d_separated={"dag": DAG, "xs": ["a"], "ys": ["c"]},
        elimination_order={"graph": moral, "weights": weights},
        hamming={"a": DAG, "b": DAG},
        is_equivalent={"a": DAG, "b": DAG},
        interventional_cpdag={"dag": DAG, "targets": [["a"], "b"]},
        meek={"pdag": pdag},
        minimal_separator={"dag": DAG, "x": "a", "y": "c"},
        reachable={"dag": DAG, "sources": ["a"]},
        relevant_evidence={"dag": DAG, "targets": ["a"], "given": ["b"]},
        relevant_nodes={"dag": DAG, "targets": ["a"]},
        shd={"a": DAG, "b": DAG},
        triangulate={"graph": moral, "order": ["a", "b", "c"]},
        v_structures={"dag": DAG},
    )


def _tables(folder: Path) -> Iterator[Door]:
    values = [[0.9, 0.1], [0.2, 0.8]]
    yield door("CPT", bntk.CPT, None, child=B, values=values, parents=[A], counts=[[9.0, 1.0], [2.0, 8.0]])
    frame = pd.DataFrame({"a": ["no", "no", "yes", "yes"], "b": ["no", "yes"] * 2, "p": [0.9, 0.1, 0.2, 0.8]})
    yield from methods(
        "CPT",
        bntk.CPT,
        from_dict={
            "child": B,
            "table": {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.2, "yes": 0.8}},
            "parents": [A],
        },
        from_frame={"child": B, "frame": frame, "parents": [A]},
        uniform={"child": B, "parents": [A]},
    )
    cpt = bntk.CPT(B, values, [A])
    yield from methods(
        "CPT",
        cpt,
        probability={"state": "no", "given": {"a": "yes"}},
        reorder={"parents": ["a"]},
        row={"given": {"a": "yes"}},
    )
    noisy = bntk.NoisyOr(C, {A: 0.5, B: 0.5})
    yield door("NoisyMax", bntk.NoisyMax, None, child=B, effects={A: [[1.0, 0.0], [0.5, 0.5]]}, leak=[1.0, 0.0])
    yield door("NoisyOr", bntk.NoisyOr, None, child=B, probabilities={A: 0.5})
    yield from methods("NoisyOr", noisy, to_cpt={})


def _networks(folder: Path) -> Iterator[Door]:
    a, b = bntk.CPT(A, [0.5, 0.5]), bntk.CPT(B, [[0.9, 0.1], [0.2, 0.8]], [A])
    yield door(
        "BayesianNetwork",
        bntk.BayesianNetwork,
        None,
        dag="a -> b",
        cpts=[a, b],
        positions={"a": (0.0, 1.0)},
        prior=None,
        prior_counts={("a", "b"): np.ones((2, 2))},
    )
    yield door("BayesianNetwork(cpts by name)", bntk.BayesianNetwork, None, dag="a -> b", cpts={"a": a, "b": b})
    yield door("BayesianNetwork.from_cpts", bntk.BayesianNetwork.from_cpts, None, cpts=[a, b])
    one = {"targets": "rain", "given": GIVEN}
    fitted = bntk.fit(NETWORK.dag, ROWS, 1.0)
    rows = {"rain": ["yes", None], "wet": ["yes", "no"], "sprinkler": ["no", None], "cloudy": [None, None]}
    yield from methods(
        "BayesianNetwork",
        NETWORK,
        cpt={"name": "rain"},
        variable={"name": "rain"},
        do={"interventions": {"rain": "yes"}},
        divergence={"other": NETWORK},
        explore={"path": folder / "n.html", "target": "rain", "given": GIVEN, "soft": {"rain": [0.5, 1.0]}},
        impute={"data": rows},
        is_close={"other": NETWORK},
        jeffrey={"targets": "rain", "beliefs": {"wet": [0.5, 0.5]}},
        log_likelihood={"data": rows},
        row_log_likelihood={"data": rows},
        posterior={"data": rows, "targets": "rain"},
        log_probability={"given": GIVEN},
        probability={"given": GIVEN, "soft": {"rain": [0.5, 1.0]}},
        map=one,
        marginals={"given": GIVEN},
        mpe={"given": GIVEN},
        plan=one,
        query=one,
        relevant_findings={"target": "rain", "given": GIVEN},
        sample={"n": 3, "given": GIVEN},
        save={"path": folder / "n.bif"},
        sensitivities={"target": "rain", "state": "yes", "given": GIVEN},
        sensitivity={
            "target": "rain",
            "state": "yes",
            "given": GIVEN,
            "table": "sprinkler",
            "entry": "yes",
            "parents": {"cloudy": "yes"},
        },
        value_of_information={"target": "rain", "given": GIVEN, "candidates": ["cloudy"]},
    )
    yield from methods("BayesianNetwork", fitted, update={"data": ROWS})
    arc = {"tail": "cloudy", "head": "rain"}
    yield from methods(
        "BayesianNetwork",
        NETWORK,
        with_cpt={"table": "rain", "values": [[0.5, 0.5], [0.1, 0.9]]},
        with_rows={"name": "rain", "probabilities": {"yes": 0.2}, "given": {"cloudy": "no"}},
        add_arc={"tail": "cloudy", "head": "wet"},
        remove_arc=arc,
        reverse_arc=arc,
        add_variable={"table": a, "position": (0.0, 1.0)},
        remove_variable={"names": ["rain"]},
        sum_out={"names": "rain"},
        rename={"names": {"rain": "snow"}},
        rename_states={"name": "rain", "states": {"no": "dry"}},
        add_state={"name": "rain", "state": "snow", "at": 1, "like": "yes"},
        remove_state={"name": "rain", "state": "no"},
        merge_states={"name": "rain", "states": ["no", "yes"], "into": "any"},
    )
    loopy = {"damping": 0.0, "max_iter": 100, "tolerance": 1e-9, "schedule": "residual"}
    sampling = {"n": 100, "seed": 1}
    for engine, settings in [
        ("loopy", loopy),
        ("weighting", sampling),
        ("gibbs", {**sampling, "burn_in": 10, "chains": 2, "thin": 1}),
    ]:
        yield door(f"BayesianNetwork.query({engine})", NETWORK.query, None, **one, engine=engine, **settings)
        yield door(
            f"BayesianNetwork.posterior({engine})",
            NETWORK.posterior,
            None,
            data=rows,
            targets="rain",
            engine=engine,
            **settings,
        )
    found = NETWORK.query(["rain", "cloudy"])
    yield door("Distribution", inference.Distribution, None, variables=[A], values=[0.5, 0.5])
    yield from methods(
        "Distribution",
        found,
        is_close={"other": found},
        marginal={"names": ["rain"]},
        probability={"states": {"rain": "yes", "cloudy": "no"}},
    )
    yield door("Distribution.p", lambda rain, cloudy: found.p(rain=rain, cloudy=cloudy), None, rain="yes", cloudy="no")
    yield door("Distribution[]", lambda key: found[key], None, key=("yes", "no"))
    yield door("Marginals[]", lambda key: NETWORK.marginals()[key], None, key="rain")
    yield from methods(
        "Sensitivity",
        NETWORK.sensitivity("rain", "yes", table="sprinkler", entry="yes", parents={"cloudy": "yes"}),
        admissible={},
    )


def _inference(folder: Path) -> Iterator[Door]:
    yield from methods(
        "inference",
        inference,
        forward_sample={"network": NETWORK, "n": 3, "seed": 0},
        gibbs={"network": NETWORK, "given": GIVEN, "n": 100, "chains": 2},
        sample={"network": NETWORK, "n": 3, "given": GIVEN},
        likelihood_weighting={"network": NETWORK, "given": GIVEN, "n": 100},
        loopy_network={"network": NETWORK},
        compile_network={"network": NETWORK, "targets": [0], "evidence": [1]},
        LoopySettings={},
    )
    for kind, drawn in [
        ("WeightedSample", inference.likelihood_weighting(NETWORK, GIVEN, 100)),
        ("ChainSample", inference.gibbs(NETWORK, GIVEN, 100, chains=2)),
    ]:
        yield from methods(f"inference.{kind}", drawn, marginal={"name": "rain"}, standard_error={"name": "rain"})


def _learning(folder: Path) -> Iterator[Door]:
    variables = list(NETWORK.variables)
    weights = [1.0] * 40
    yield from methods(
        "",
        bntk,
        fit={"dag": NETWORK.dag, "data": ROWS, "prior": 1.0, "weights": weights, "variables": variables},
        fit_em={"dag": NETWORK.dag, "data": ROWS, "prior": {"rain": 1.0}, "weights": weights, "variables": variables},
        structural_em={"data": ROWS, "weights": weights, "variables": variables, "max_rounds": 1},
        learn={"data": ROWS, "weights": weights, "variables": variables, "start": NETWORK.dag},
        learn_structure={"data": ROWS, "weights": weights, "variables": variables},
        bootstrap_strengths={"data": ROWS, "n": 2, "variables": variables},
        score={"dag": NETWORK.dag, "data": ROWS},
        arc_strength={"structure": NETWORK.dag, "data": ROWS, "weights": weights},
        independence={
            "data": ROWS,
            "x": "rain",
            "y": "wet",
            "given": ["cloudy"],
            "test": "mc-mi",
            "n_permutations": 20,
            "weights": None,
            "variables": variables,
        },
        IndependenceTest={},
        compare_structures={"learned": NETWORK, "reference": NETWORK.dag},
    )
    blankets = search.IAMB()
    yield from methods("search.IAMB", blankets, markov_blanket={"data": ROWS, "target": "rain"})
    yield from methods("search.MMPC", search.MMPC(), neighbors={"data": ROWS, "target": "rain"})
    yield from methods(
        "scores",
        scores,
        score_by_node={"dag": NETWORK.dag, "data": ROWS},
        by_name={"score": "bic"},
        explain={"score": "bic", "data": ROWS, "child": "rain", "parents": ["cloudy"]},
    )
    yield from methods("search", search, by_name={"name": "hc"})


def _experiments(folder: Path) -> Iterator[Door]:
    was_set = {"intervened": [None, "rain", ["rain", "wet"], None] * 10}
    yield from methods(
        "",
        bntk,
        fit={"dag": NETWORK.dag, "data": ROWS, **was_set},
        fit_em={"dag": NETWORK.dag, "data": ROWS, **was_set},
        structural_em={"data": ROWS, "max_rounds": 1, **was_set},
        learn={"data": ROWS, **was_set},
        learn_structure={"data": ROWS, **was_set},
        bootstrap_strengths={"data": ROWS, "n": 2, **was_set},
        score={"dag": NETWORK.dag, "data": ROWS, **was_set},
        arc_strength={"structure": NETWORK.dag, "data": ROWS, **was_set},
    )
    mask = np.zeros((40, len(NETWORK.names)), dtype=bool)
    yield door("counts.ExperimentCounter", ExperimentCounter, None, table=ROWS, intervened=mask, weights=[1.0] * 40)
    yield door("scores.explain", scores.explain, None, score="bic", data=ROWS, child="rain", **was_set)


def _effects(folder: Path) -> Iterator[Door]:
    rain, none = {"rain": "yes"}, {"rain": "no"}
    question = {"y": "wet", "do": rain, "versus": none}
    yield from methods(
        "BayesianNetwork",
        NETWORK,
        effect={**question, "given": {"cloudy": "no"}, "by": ["sprinkler"], "values": [0, 1]},
        path_effect={**question, "along": "rain -> wet", "values": [0, 1]},
        counterfactual={"y": "wet", "do": rain, "given": {"rain": "no", "wet": "no"}, "bounds": True},
    )
    few = {"resamples": 2, "variables": list(NETWORK.variables), "weights": [1.0] * 40}
    yield from methods(
        "causal",
        causal,
        estimate_effect={"graph": NETWORK.dag, "data": ROWS, **question, "latent": [], "adjust": ["cloudy"], **few},
        estimate_path_effect={"dag": NETWORK.dag, "data": ROWS, **question, "along": "rain -> wet", **few},
        possible_effects={"graph": NETWORK.dag.cpdag(), "source": ROWS, **question, **few},
        possible_parents={"graph": NETWORK.dag, "x": "rain"},
    )
    found = NETWORK.effect("wet", rain, versus=none, values=[0, 1])
    drawn = causal.estimate_effect(NETWORK.dag, ROWS, "wet", rain, versus=none, resamples=2, values=[0, 1])
    yield door("causal.Effect.interval", drawn.interval, None, of="average")
    yield door("causal.Effect[]", found.__getitem__, None, state="no")
    would = NETWORK.counterfactual("wet", rain, none, bounds=True)
    yield door("causal.Counterfactual.bounds", would.bounds, None, state="no")


def _scores(folder: Path) -> Iterator[Door]:
    counts = [[3.0, 4.0], [1.0, 2.0]]
    for name, cls in SCORES.load().items():
        yield door(f"scores.{name}", cls, None)
        if hasattr(cls, "family") and name != "BDeuPerClass":
            yield from methods(
                f"scores.{name}",
                cls(),
                explain={"data": ROWS, "child": "rain", "parents": ["cloudy"]},
                family={"counts": counts, "q": 2.0, "n": 10.0},
                terms={"counts": counts, "q": 2.0, "n": 10.0},
            )
    yield from methods("scores.BDeu", scores.BDeu, per_class={"alpha": 1.0, "n_classes": 2})
    yield from methods("scores.LOO", scores.LOO(), with_target={"target": "rain"})


def _searches(folder: Path) -> Iterator[Door]:
    found = {**SEARCHES.load(), "SelectiveKDependence": search.SelectiveKDependence}
    for name, cls in found.items():
        extra = {"order": list(NETWORK.names)} if name == "K2Search" else {}
        yield door(f"search.{name}", cls, None, **extra)
    order = functools.partial(_with_order, ROWS)
    yield door("learn(K2Search)", order, None, order=list(NETWORK.names))
    yield from methods("search.Exact", search.Exact, gigabytes={"n": 5})


def _with_order(rows: Any, order: Any) -> Any:
    return bntk.learn(rows, "bic", search=search.K2Search(order=order))


def _spaces(folder: Path) -> Iterator[Door]:
    nodes, arc = ["a", "b", "c"], [("a", "b")]
    both = {"features": ["a", "b"], "target": "c"}
    several = {"features": ["a", "b"], "targets": ["c", "d"]}
    yield door(
        "Space",
        bntk.Space,
        None,
        nodes=nodes,
        required=arc,
        forbidden=[("c", "a")],
        tiers=[["a"], ["b", "c"]],
        max_parents={"a": 1},
        groups=[],
        links=[],
        arc_weights={("a", "b"): 1.0},
    )
    yield door("Group", bntk.Group, None, nodes=nodes, shape="tree")
    yield door("Link", bntk.Link, None, tails=["a"], heads=["b"])
    space = spaces.dag(nodes)
    yield from methods(
        "Space",
        space,
        allows={"dag": DAG},
        index={"name": "a"},
        reorder={"nodes": ["c", "b", "a"]},
        restrict={"required": arc, "forbidden": [("c", "a")], "max_parents": {"a": 1}},
        violations={"dag": DAG},
        walk={"dag": DAG},
        with_weights={"arc_weights": {("a", "b"): 1.0}},
    )
    given = {
        "dag": {"nodes": nodes, "required": arc, "max_parents": 2},
        "forest": {"nodes": nodes},
        "general": {"nodes": nodes, "target": "c", "forbidden": arc},
        "polytree": {"nodes": nodes},
        "tree": {"nodes": nodes},
        "kdb": {**both, "k": 2},
        "mdbnc": several,
        "multi_naive_bayes": several,
        "multi_tan": several,
        "multi_one_dependence": {**several, "superparent": "c"},
    }
    for name in spaces.__all__:
        yield door(f"spaces.{name}", getattr(spaces, name), None, **given.get(name, both))


def _priors(folder: Path) -> Iterator[Door]:
    for name in ("BDeu", "BDeuPerClass", "Backoff", "HDP"):
        yield door(f"priors.{name}", getattr(priors, name), None)
    yield door("priors.Dirichlet", priors.Dirichlet, None, value={"a": [1.0, 1.0]})
    yield door("priors.ExpertCounts", priors.ExpertCounts, None, tables={"a": [1.0, 1.0]})
    for number in ("ess", "rows"):
        yield door(f"priors.PriorNetwork({number})", priors.PriorNetwork, None, network=NETWORK, **{number: 2.0})
    yield door("priors.as_prior", priors.as_prior, None, prior={"a": [1.0, 1.0]})
    yield from methods("priors.BDeu", priors.BDeu, per_class={"alpha": 1.0, "n_classes": 2})


def _datasets(folder: Path) -> Iterator[Door]:
    few = {"n_rows": 20}
    yield from methods(
        "datasets",
        datasets,
        make_blanket={**few, "class_shares": [0.25] * 4},
        make_imbalanced={**few, "class_shares": [0.9, 0.1]},
        make_multilabel=few,
        make_ordinal=few,
        geometric_shares={"n_classes": 3, "ratio": 2.0},
        monks={},
        network={"name": "asia"},
        random_dag={"nodes": 5},
        random_network={"nodes": 5},
        with_missing={"data": FRAME, "share": 0.2, "columns": ["rain"]},
        fetch={"name": "nothing", "data_home": folder},
    )
    yield door("datasets.random_network(names)", datasets.random_network, None, nodes=["a", "b", "c"], treewidth=1)
    yield door(
        "datasets.with_missing(mar)", datasets.with_missing, None, data=FRAME, share=0.2, mechanism="mar", given="wet"
    )
    yield from methods("datasets.Drawn", datasets.make_ordinal(20), fresh={"n_rows": 5, "seed": 1})


def _evaluation(folder: Path) -> Iterator[Door]:
    y, other = ["a", "b", "a", "b"], ["a", "b", "b", "b"]
    pair = {"y_true": y, "y_pred": other}
    several = {"Y_true": [[0, 1], [1, 0]], "Y_pred": [[0, 1], [1, 1]]}
    table = pd.DataFrame({"one": [0.5, 0.6, 0.7], "two": [0.6, 0.7, 0.9]})
    X, target = FRAME.drop(columns="rain"), FRAME["rain"]
    estimators = {"nb": bntk.NaiveBayes(), "tan": bntk.TAN()}
    result = evaluation.cross_validate(estimators, X, target, cv=3)
    compared = evaluation.compare(estimators, {"sprinkler": (X, target)}, cv=3)
    numbers = {"first": [0.5, 0.6, 0.8], "second": [0.4, 0.6, 0.7]}
    chances = {"y_true": y, "probabilities": [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.1, 0.9]], "classes": ["a", "b"]}
    yield from methods(
        "evaluation",
        evaluation,
        MultilabelStratifiedKFold={},
        calibration_error=chances,
        confusion_entropy=pair,
        corrected_t={**numbers, "n_train": [20, 20, 20], "n_test": [5, 5, 5]},
        critical_difference={"n_classifiers": 3, "n_datasets": 5},
        compare={
            "estimators": {"nb": bntk.NaiveBayes()},
            "datasets": {"d": (X, target)},
            "cv": 2,
            "scoring": ["accuracy"],
        },
        cross_validate={"estimators": {"nb": bntk.NaiveBayes()}, "X": X, "y": target, "cv": 2, "scoring": ["accuracy"]},
        f1=several,
        friedman={"table": table},
        global_accuracy=several,
        holm={"p_values": [0.1, 0.2]},
        information_measure=pair,
        jaccard=several,
        mean_absolute_error=pair,
        mean_accuracy=several,
        mean_ranks={"table": table},
        nemenyi={"table": table},
        paired_t=numbers,
        ranks={"table": table},
        wilcoxon=numbers,
    )
    yield from methods(
        "evaluation.CrossValidation", result, difference={"a": "nb", "b": "tan"}, values={"estimator": "nb"}
    )
    yield from methods(
        "evaluation.Comparison",
        compared,
        by={"measure": "accuracy"},
        differences={"a": "nb", "b": "tan"},
        rank_correlation={},
    )
    yield door("evaluation.Comparison.of", evaluation.Comparison.of, None, results={"d": result})
    labels = pd.DataFrame({"u": [0, 1, 0, 1], "v": [1, 1, 0, 0]})
    yield door(
        "evaluation.MultilabelStratifiedKFold.split",
        lambda X, y, n_splits: list(evaluation.MultilabelStratifiedKFold(n_splits).split(X, y)),
        None,
        X=labels,
        y=labels,
        n_splits=2,
    )


def _files(folder: Path) -> Iterator[Door]:
    NETWORK.save(folder / "good.bif")
    yield door("load", bntk.load, None, path=folder / "good.bif")
    yield from methods(
        "io",
        io,
        save={"network": NETWORK, "path": folder / "n.bif"},
        format_of={"path": "n.bif"},
    )
    yield from methods("explore", explore, explore={"network": NETWORK, "path": folder / "n.html", "target": "rain"})


def _pgmpy(folder: Path) -> Iterator[Door]:
    yield door("io.to_pgmpy", io.to_pgmpy, None, network=NETWORK)
    yield door("io.from_pgmpy", io.from_pgmpy, None, model=io.to_pgmpy(NETWORK))


def _closing(call: Callable[..., Any]) -> Callable[..., Any]:
    """A plot that is closed again."""

    @functools.wraps(call)
    def closed(*given: Any, **options: Any) -> None:
        from matplotlib import pyplot

        try:
            call(*given, **options)
        finally:
            pyplot.close("all")

    return closed


def _plots(folder: Path) -> Iterator[Door]:
    y, other = ["a", "b", "a", "b"], ["a", "b", "b", "b"]
    result = evaluation.cross_validate(
        {"nb": bntk.NaiveBayes(), "tan": bntk.TAN()}, FRAME.drop(columns="rain"), FRAME["rain"], cv=3
    )
    nemenyi = evaluation.nemenyi(pd.DataFrame({"one": [0.5, 0.6, 0.7], "two": [0.6, 0.7, 0.9]}))
    compared = evaluation.Comparison.of({"d": result})
    ensemble = bntk.EnsembleKDB(3).fit(FRAME.drop(columns="rain"), FRAME["rain"])
    shown = {"target": "rain", "highlight": ["wet"]}
    drawn = {**shown, "strengths": {("cloudy", "rain"): 1.0}, "arc_labels": {("cloudy", "rain"): 1.0}}
    bootstrap = bntk.bootstrap_strengths(ROWS, n=3)
    sized = {"figsize": (4.0, 3.0), "font_size": 9.0}
    explained = ensemble.explain_rows(FRAME.drop(columns="rain"))
    given: dict[str, dict[str, Any]] = {
        "arc_information": {"network": NETWORK},
        "plot_comparison": {"learned": DAG, "reference": DAG},
        "plot_confusion": {"y_true": y, "y_pred": other, "labels": ["a", "b"]},
        "plot_cpt": {"cpt": NETWORK.cpt("rain")},
        "plot_critical_difference": {"result": nemenyi},
        "plot_dag": {"dag": NETWORK.dag, **drawn},
        "plot_explanations": {"explanations": explained, "most": 3, "title": "why"},
        "plot_folds": {"result": result},
        "plot_importances": {"classifier": ensemble, "most": 2, "title": "what tells"},
        "plot_members": {"classifier": ensemble, "X": FRAME.drop(columns="rain"), "of": FRAME["rain"].iloc[0]},
        "plot_network": {"network": NETWORK, "given": GIVEN, "bars": ["rain"], **drawn},
        "plot_node_scores": {"scores": {"rain": -1.0, "wet": -2.0}, "order": "score"},
        "plot_pdag": {"pdag": NETWORK.dag.cpdag(), **shown},
        "plot_space": {"space": bntk.Space(NETWORK.names, required=[("cloudy", "rain")]), **shown},
        "plot_strengths": {"strengths": bootstrap, "structure": NETWORK.dag, "threshold": 0.5, **shown},
        "plot_table": {"table": ROWS, "names": ["rain"]},
        "plot_threshold": {"strengths": bootstrap, "threshold": 0.5},
        "plot_reliability": {
            "y_true": y,
            "probabilities": [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.1, 0.9]],
            "classes": ["a", "b"],
        },
        "reliability": {
            "y_true": y,
            "probabilities": [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.1, 0.9]],
            "classes": ["a", "b"],
        },
        "plot_scatter": {"result": compared},
        "plot_search": {"result": bntk.learn_structure(ROWS, "bic", search="hc")},
    }
    for name, good in given.items():
        call = getattr(viz, name)
        yield door(f"viz.{name}", _closing(call), call, **good, **(sized if name.startswith("plot_") else {}))


def _fitted(cls: Any, X: Any, y: Any, **parameters: Any) -> Any:
    return cls(**parameters).fit(X, y)


def _estimators(folder: Path) -> Iterator[Door]:
    X = FRAME.drop(columns="rain").assign(u=np.linspace(0, 1, 40))
    for name, cls in CLASSIFIERS.load().items():
        good: dict[str, Any] = {}
        yield door(name, functools.partial(_fitted, cls, X, FRAME["rain"]), cls, **good)
    Y = FRAME[["rain", "wet"]]
    for name, cls in MULTI_CLASSIFIERS.load().items():
        yield door(name, functools.partial(_fitted, cls, FRAME.drop(columns=["rain", "wet"]), Y), cls)
    plain = bntk.NaiveBayes().fit(X, FRAME["rain"])
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        yield door(f"NaiveBayes.{method}", getattr(plain, method), None, X=X)
    yield door("NaiveBayes.explain_rows", plain.explain_rows, None, X=X, of=FRAME["rain"].iloc[0])
    yield door("NaiveBayes.fit", bntk.NaiveBayes().fit, None, X=X, y=FRAME["rain"], sample_weight=[1.0] * 40)
    chain = bntk.ClassifierChain().fit(FRAME.drop(columns=["rain", "wet"]), Y)
    yield door("ClassifierChain.predict", chain.predict, None, X=FRAME.drop(columns=["rain", "wet"]))


def _cuts(folder: Path) -> Iterator[Door]:
    values, classes = [1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1]
    yield from methods(
        "cuts",
        cuts,
        checked_cuts={"cuts": [1.0, 2.0]},
        code_columns={"columns": [values], "cuts": [[2.5]]},
        cut_codes={"values": values, "cuts": [2.5]},
        frequency_cuts={"values": values, "n_bins": 2},
        hartemink_cuts={"columns": [values, values[::-1]], "n_bins": 2},
        interval_cuts={"names": ["<= 1", "> 1"]},
        interval_names={"cuts": [1.0, 2.0]},
        joint_cuts={"columns": [values], "classes": [classes], "n_classes": [2]},
        learn_cuts={"columns": [values], "classes": classes},
        mdl_cuts={"values": values, "classes": classes},
        width_cuts={"values": values, "n_bins": 2},
    )


#: The doors of each part; what makes them takes a folder for files.
GROUPS: dict[str, Callable[[Path], Iterator[Door]]] = {
    "data": _data,
    "graphs": _graphs,
    "tables": _tables,
    "networks": _networks,
    "inference": _inference,
    "learning": _learning,
    "experiments": _experiments,
    "effects": _effects,
    "scores": _scores,
    "searches": _searches,
    "spaces": _spaces,
    "priors": _priors,
    "datasets": _datasets,
    "evaluation": _evaluation,
    "files": _files,
    "pgmpy": _pgmpy,
    "plots": _plots,
    "estimators": _estimators,
    "cuts": _cuts,
}

"""What the commands do is what the same calls do in Python."""

import csv
import gzip
import io
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

import bntk
from bntk._declared import CLASSIFIERS, MULTI_CLASSIFIERS


@pytest.fixture
def ask(terminal):
    """The JSON document that a line prints."""

    def run(line):
        code, out, err = terminal(f"{line} --json")
        assert code == 0, err
        return json.loads(out)

    return run


@pytest.fixture
def asia():
    return bntk.datasets.asia()


def frame_of(text):
    """CSV text as a data frame, probabilities to the last bit."""
    frame = pd.DataFrame(list(csv.DictReader(io.StringIO(text))))
    return frame.astype({name: float for name in frame.columns if name.startswith("p_")})


# ---- info ------------------------------------------------------------------------------------------------------------


def test_info_tells_what_a_network_is(ask, asia):
    found = ask("bntk info asia.bif")
    assert found["kind"] == "network"
    assert [v["name"] for v in found["variables"]] == list(asia.names)
    assert [tuple(v["parents"]) for v in found["variables"]] == [asia.dag.parents(name) for name in asia.names]
    assert [tuple(arc) for arc in found["arcs"]] == list(asia.dag.arcs)
    assert found["parameters"] == asia.n_parameters
    assert found["treewidth"] == 2  # of the chest clinic, known from the literature
    assert found["rows_counted"] is None
    assert ask("bntk info asia") == {**found, "file": "asia"}


def test_info_tells_that_a_fitted_network_has_counts(ask, terminal):
    assert terminal("bntk fit asia asia.csv -o fitted.json")[0] == 0
    assert ask("bntk info fitted.json")["rows_counted"] == 600


def test_info_tells_what_rows_are(ask):
    frame = pd.read_csv("measured.csv")
    found = ask("bntk info measured.csv")
    columns = {column["name"]: column for column in found["columns"]}
    assert found["rows"] == len(frame)
    assert {name: column["kind"] for name, column in columns.items()} == {
        **{"weight": "numbers", "height": "numbers"},
        **{"colour": "labels", "kind": "labels"},
    }
    assert {name: column["missing"] for name, column in columns.items()} == frame.isna().sum().to_dict()
    assert columns["weight"]["states"] == sorted(set(frame["weight"]))
    assert found["complete_rows"] == len(frame.dropna())
    assert found["missing_cells"] == frame.isna().sum().sum()


def test_info_tells_what_a_classifier_is(ask):
    found = ask("bntk info dysp.json")
    loaded = bntk.load("dysp.json")
    assert (found["model"], found["targets"]) == ("TAN", {"dysp": ["no", "yes"]})
    assert found["features"] == ["asia", "tub", "smoke", "lung", "bronc", "either", "xray"]
    assert [tuple(arc) for arc in found["arcs"]] == list(loaded.dag_.arcs)


def test_a_file_goes_before_an_embedded_network_of_its_name(folder, terminal):
    Path("asia").mkdir()
    code, _, err = terminal("bntk info asia")
    assert (code, err.count("\n")) == (1, 1)


@pytest.mark.parametrize("name", bntk.datasets.names())
def test_every_embedded_network_has_an_info(name, ask):
    assert len(ask(f"bntk info {name}")["variables"]) == len(bntk.datasets.network(name).names)


# ---- learn and predict -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_saved_classifier_predicts_as_the_same_one_in_python(name, terminal):
    assert terminal(f"bntk learn asia.csv --target dysp --model {name} -o model.json")[0] == 0
    code, out, err = terminal("bntk predict model.json incomplete.csv --proba")
    assert code == 0, err
    train, new = pd.read_csv("asia.csv"), pd.read_csv("incomplete.csv")
    model = CLASSIFIERS[name]().fit(train.drop(columns="dysp"), train["dysp"])
    found = frame_of(out)
    X = new.drop(columns="dysp")
    assert found["predicted_dysp"].tolist() == model.predict(X).tolist()
    np.testing.assert_array_equal(found[["p_no", "p_yes"]], model.predict_proba(X))
    known = new["dysp"].notna()
    right = (found["predicted_dysp"] == new["dysp"])[known]
    assert f"{right.sum()} of {len(right)} labels are right" in err


@pytest.mark.parametrize("name", MULTI_CLASSIFIERS)
def test_a_saved_classifier_of_two_classes_predicts_as_the_same_one_in_python(name, ask, terminal):
    assert terminal(f"bntk learn asia.csv --target lung,bronc --model {name} -o model.json")[0] == 0
    found = ask("bntk predict model.json incomplete.csv --proba")
    train, new = pd.read_csv("asia.csv"), pd.read_csv("incomplete.csv")
    targets = ["lung", "bronc"]
    kind = MULTI_CLASSIFIERS[name]
    model = kind(bntk.TAN()) if "estimator" in kind().get_params() else kind()
    model.fit(train.drop(columns=targets), train[targets])
    X = new.drop(columns=targets)
    assert [answer["target"] for answer in found["answers"]] == targets
    labels = np.array([answer["labels"] for answer in found["answers"]]).T
    assert labels.tolist() == np.asarray(model.predict(X)).tolist()
    for answer, p in zip(found["answers"], model.predict_proba(X), strict=True):
        np.testing.assert_array_equal(answer["probabilities"], p)


@pytest.mark.parametrize(
    "numeric", ["mdl", "width", "frequency", "gaussian", "kde", "smooth", "smooth:8", "smooth:joint", "averaged"]
)
def test_numbers_are_learned_and_predicted_as_in_python(numeric, ask, terminal):
    assert terminal(f"bntk learn measured.csv --target kind --model nb --numeric {numeric} -o model.json")[0] == 0
    frame = pd.read_csv("measured.csv")
    X, y = frame.drop(columns="kind"), frame["kind"]
    model = bntk.NaiveBayes(numeric=numeric).fit(X, y)
    [answer] = ask("bntk predict model.json measured.csv --proba")["answers"]
    np.testing.assert_array_equal(answer["probabilities"], model.predict_proba(X))
    assert answer["accuracy"] == model.score(X, y)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--numeric mdl", None),
        ("--numeric smooth", "interpolated between the intervals of"),
        ("--numeric averaged", "the mean of several models"),
        ("--numeric gaussian", "have densities"),
    ],
)
def test_a_query_of_a_classifier_tells_where_predictions_are_others(options, said, terminal):
    assert terminal(f"bntk learn measured.csv --target kind --model nb {options} -o model.json")[0] == 0
    code, _, err = terminal("bntk query model.json kind")
    assert code == 0
    assert (said in err and "predictions (NaiveBayes) may be others" in err) if said else not err


def test_truth_values_of_options_may_be_written_in_any_case(terminal):
    for word in ("true", "True", "TRUE"):
        code, _, err = terminal(
            f"bntk learn asia.csv --target dysp --model ekdb:n_members=2,bootstrap={word} -o m.json"
        )
        assert (code, err) == (0, "")
        assert bntk.load("m.json").bootstrap is True


@pytest.mark.parametrize(
    ("labels", "classes"), [("01", [0, 1]), (["false", "true"], [False, True]), ("ab", ["a", "b"])]
)
def test_classes_may_be_numbers_and_truth_values(labels, classes, folder, ask):
    rows = [f"u,{labels[0]}", f"v,{labels[1]}"] * 4 + ["u,", f",{labels[1]}"]
    Path("rows.csv").write_text("x,c\n" + "\n".join(rows) + "\n")
    assert ask("bntk learn rows.csv --target c --model nb -o model.json")["targets"] == {"c": classes}
    [answer] = ask("bntk predict model.json rows.csv")["answers"]
    assert answer["labels"][:4] == classes * 2
    assert answer["accuracy"] == 1
    accuracy = ask("bntk evaluate rows.csv --target c --model nb --folds 2")["models"][0]["metrics"]["accuracy"]
    assert accuracy["mean"] > 0.5


def test_columns_of_very_many_numbers_are_read(folder, ask):
    numbers = np.arange(70_000)  # more than a variable may have states
    pd.DataFrame({"x": numbers, "y": numbers / 7, "c": numbers > 35_000}).to_csv("many.csv", index=False)
    columns = ask("bntk info many.csv")["columns"]
    assert [len(column["states"]) for column in columns] == [70_000, 70_000, 2]
    [answer] = _predicted(ask, "many.csv")
    assert answer["accuracy"] > 0.9999


def _predicted(ask, name):
    ask(f"bntk learn {name} --target c --model nb -o model.json")
    return ask(f"bntk predict model.json {name}")["answers"]


def test_options_reach_the_classifier(ask):
    line = "bntk learn asia.csv --target dysp --prior bdeu:3 --missing state --seed 4 -o model.json --model"
    ask(f"{line} kdb:k=1")
    options = ask("bntk info model.json")["options"]
    assert (options["k"], options["missing"], options["random_state"]) == (1, "state", 4)
    assert options["prior"] == repr(bntk.priors.BDeu(3.0))
    ask("bntk learn asia.csv --target dysp --prior hdp -o model.json --model kdb")
    assert ask("bntk info model.json")["options"]["prior"] == repr(bntk.priors.HDP())
    ask("bntk learn asia.csv --target dysp --model ban --score bdeu:7 --max-parents 1 --prior 0 -o model.json")
    options = ask("bntk info model.json")["options"]
    assert (options["criterion"], options["max_parents"], options["prior"]) == (repr(bntk.scores.BDeu(7.0)), 1, 0)
    ask("bntk learn asia.csv --target lung,bronc --model br --base nb --prior 2 -o model.json")
    assert bntk.load("model.json").estimator.get_params()["prior"] == 2
    ask("bntk learn asia.csv --target dysp --model awnb:n_trees=2 --base fan --score aic --prior 2 -o model.json")
    weighted = bntk.load("model.json")
    assert (weighted.n_trees, weighted.prior, weighted.estimator.criterion, weighted.estimator.prior) == (
        2,
        0.25,
        "aic",
        2,
    )
    assert isinstance(weighted.estimator, bntk.FAN)


def test_constraints_hold_for_a_classifier_that_is_any_dag(ask):
    found = ask("bntk learn asia.csv --target dysp --model dag --required 'asia->dysp' --max-parents 1 -o model.json")
    heads = [head for _, head in found["arcs"]]
    assert ["asia", "dysp"] in found["arcs"]
    assert len(heads) == len(set(heads))


def test_rows_come_in_their_order_whatever_columns_are_there(terminal):
    frame = pd.read_csv("new.csv")
    whole = terminal("bntk predict dysp.json new.csv --proba")[1].splitlines()
    shuffled = np.random.default_rng(0).permutation(len(frame))
    frame.iloc[shuffled, ::-1].to_csv("shuffled.csv", index=False)
    lines = terminal("bntk predict dysp.json shuffled.csv --proba")[1].splitlines()
    assert lines[1:] == [whole[1 + row] for row in shuffled]


def test_a_column_that_is_not_there_is_missing_in_every_row(terminal):
    frame = pd.read_csv("new.csv")
    frame.assign(bronc=np.nan).to_csv("empty.csv", index=False)
    frame.drop(columns="bronc").to_csv("narrow.csv", index=False)
    _, empty, quiet = terminal("bntk predict dysp.json empty.csv --proba")
    _, narrow, err = terminal("bntk predict dysp.json narrow.csv --proba")
    assert empty == narrow
    assert quiet == ""
    assert "'bronc'" in err


def test_costs_are_matched_by_name(terminal):
    frame = pd.read_csv("new.csv")
    model = bntk.load("dysp.json")
    Path("costs.csv").write_text("true,yes,no\nno,1,0\nyes,0,5\n")  # not in the order of the classes
    _, out, _ = terminal("bntk predict dysp.json new.csv --costs costs.csv")
    assert out.split()[1:] == model.predict(frame, costs=[[0, 1], [5, 0]]).tolist()
    assert out.split()[1:] != model.predict(frame).tolist()


def test_a_network_predicts_a_target(terminal, asia):
    frame = pd.read_csv("incomplete.csv")
    _, out, _ = terminal("bntk predict asia.bif incomplete.csv --target lung --proba")
    found = frame_of(out)
    expected = asia.posterior(frame.drop(columns="lung"), "lung")
    np.testing.assert_array_equal(found[["p_no", "p_yes"]], expected)
    assert found["predicted_lung"].tolist() == expected.idxmax(axis=1).tolist()


def test_a_network_of_intervals_cuts_numbers_by_itself(terminal):
    assert terminal("bntk learn measured.csv --numeric frequency --bins 3 --missing drop -o model.bif")[0] == 0
    frame = pd.read_csv("measured.csv")
    complete = frame.dropna()
    discretizer = bntk.Discretizer("frequency", n_bins=3).fit(frame.drop(columns="kind"))
    expected = bntk.learn(discretizer.transform(complete.drop(columns="kind")).assign(kind=complete["kind"]))
    assert bntk.load("model.bif").dag == expected.dag
    posterior = expected.posterior(discretizer.transform(frame.drop(columns="kind")), "kind")
    _, out, _ = terminal("bntk predict model.bif measured.csv --target kind")
    assert out.split()[1:] == posterior.idxmax(axis=1).tolist()


def test_predictions_stand_beside_columns_of_the_data(terminal):
    assert terminal("bntk predict dysp.json incomplete.csv --keep all -o all.csv")[0] == 0
    kept, frame = pd.read_csv("all.csv"), pd.read_csv("incomplete.csv")
    pd.testing.assert_frame_equal(kept.drop(columns="predicted_dysp"), frame)
    assert kept["predicted_dysp"].tolist() == bntk.load("dysp.json").predict(frame.drop(columns="dysp")).tolist()
    _, out, _ = terminal("bntk predict dysp.json incomplete.csv --keep xray,dysp")
    assert out.splitlines()[0] == "xray,dysp,predicted_dysp"
    code, _, err = terminal("bntk predict dysp.json all.csv --keep all")
    assert code == 2
    assert "'predicted_dysp'" in err or "predicted_dysp:" in err


def test_rows_without_a_class_are_left_out(ask, terminal):
    frame = pd.read_csv("incomplete.csv")
    _, _, err = terminal("bntk learn incomplete.csv --target dysp")
    assert f"{frame['dysp'].isna().sum()} rows without a class" in err
    assert ask("bntk learn incomplete.csv --target dysp")["rows"] == frame["dysp"].notna().sum()


def test_learning_a_network_is_what_it_is_in_python(ask):
    found = ask(
        "bntk learn asia.csv --score bic --max-parents 2 --required 'xray->dysp' --forbidden 'bronc->dysp' "
        "--tiers smoke,asia lung,tub,bronc --prior 0.5 -o found.json"
    )
    rows = bntk.read_table("asia.csv")
    rules = {"required": [("xray", "dysp")], "forbidden": [("bronc", "dysp")], "max_parents": 2}
    space = bntk.Space(rows.names, tiers=[["smoke", "asia"], ["lung", "tub", "bronc"]], **rules)
    expected = bntk.learn(rows, "bic", space, prior=0.5)
    assert bntk.load("found.json") == expected
    assert [tuple(arc) for arc in found["arcs"]] == list(expected.dag.arcs)
    assert found["score"] == bntk.score(expected.dag, rows, "bic") == expected.report.score
    assert (found["score_name"], found["exact"], found["file"]) == ("bic", True, "found.json")


@pytest.mark.parametrize(
    ("words", "search"),
    [
        ("pc", bntk.search.PC()),
        ("pc:alpha=0.001,test=x2,colliders=majority", bntk.search.PC(alpha=0.001, test="x2", colliders="majority")),
        ("iamb:form=fdr,max-given=2", bntk.search.IAMB(form="fdr", max_given=2)),
        ("hc:restarts=2", bntk.search.HillClimbing(restarts=2)),
    ],
)
def test_a_search_with_options_is_what_it_is_in_python(words, search, ask, terminal):
    learned = ask(f"bntk learn asia.csv --search {words}")
    found = bntk.learn(bntk.read_table("asia.csv"), search=search).report
    assert learned["search"] == repr(search)
    assert learned["arcs"] == [list(arc) for arc in found.dag.arcs]
    assert learned["pdag"] == (None if found.pdag is None else str(found.pdag))
    out = terminal(f"bntk learn asia.csv --search {words}")[1]
    assert (f"pdag        {found.pdag}" in out) == (found.pdag is not None)


def test_wrong_options_of_a_search_are_named(terminal):
    for words, message in [
        ("pc:alpa=1", "the search pc has no option 'alpa'; did you mean 'alpha'?"),
        ("pc:alpha=2", "alpha must be a number from 0 to 1, not 2"),
        ("pc:test=chi2", "test='chi2' is not known"),
        ("pc:alpha", "expected options as in pc:alpha=0.01"),
        ("auto:alpha=1", "auto chooses a search"),
    ]:
        code, _, err = terminal(f"bntk learn asia.csv --search {words}")
        assert code in (1, 2)
        assert message in err.replace("\n", " "), err
    assert "MMHC\n" in terminal("bntk learn asia.csv --search mmhc")[1]
    assert terminal("bntk bootstrap asia.csv -n 2 --search pc:alpha=0.01")[0] == 0


@pytest.mark.parametrize(("shape", "most"), [("tree", 1), ("forest", 1), ("polytree", 7)])
def test_shapes_of_networks(shape, most, ask):
    found = ask(f"bntk learn asia.csv --model {shape} --score bic")
    heads = [head for _, head in found["arcs"]]
    assert max(heads.count(head) for head in heads) <= most
    assert len(found["arcs"]) <= 7  # eight nodes without a cycle
    assert shape != "tree" or len(found["arcs"]) == 7


def test_missing_cells_in_a_network(ask, terminal):
    _, _, err = terminal("bntk learn incomplete.csv")
    assert err.count("\n") == 1
    assert "--missing em" in err
    assert terminal("bntk learn incomplete.csv --missing available")[2] == ""
    rows = bntk.read_table("incomplete.csv")
    assert ask("bntk learn incomplete.csv --missing drop")["rows"] == rows.drop_missing().n_rows
    assert ask("bntk learn incomplete.csv --missing em -o em.json")["search"] == "structural EM"
    assert bntk.load("em.json").is_close(bntk.structural_em(rows), 0.0)


def test_fitting_is_what_it_is_in_python(terminal, ask, asia):
    rows = pd.read_csv("asia.csv")
    found = ask("bntk fit asia.bif asia.csv --prior 0.5 -o fitted.json")
    expected = bntk.fit(asia.dag, rows, prior=0.5, variables=asia.variables)
    assert bntk.load("fitted.json") == expected
    assert found["log_likelihood"] == expected.log_likelihood(rows)
    assert terminal("bntk fit 'smoke -> lung; smoke -> bronc' asia.csv -o small.json")[0] == 0
    assert bntk.load("small.json") == bntk.fit("smoke -> lung; smoke -> bronc", rows)


def test_fitting_by_em_is_what_it_is_in_python(terminal, ask, asia):
    rows = pd.read_csv("incomplete.csv")
    found = ask("bntk fit asia incomplete.csv --missing em --prior 1 -o em.json")
    expected = bntk.fit_em(asia.dag, rows, 1, variables=asia.variables)
    assert bntk.load("em.json").is_close(expected, 0.0)
    assert found["converged"]
    assert found["log_likelihood"] == pytest.approx(expected.log_likelihood(rows))
    rows.drop(columns="either").to_csv("hidden.csv", index=False)
    assert terminal("bntk fit asia hidden.csv --prior 1 --seed 3 -o hidden.json")[0] == 0
    hidden = bntk.fit_em(asia.dag, rows.drop(columns="either"), 1, variables=asia.variables, seed=3)
    assert bntk.load("hidden.json").is_close(hidden, 0.0)


# ---- evaluate --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "scoring", "sign"),
    [
        ("accuracy", "accuracy", 1),
        ("balanced-accuracy", "balanced_accuracy", 1),
        ("f1", "f1_macro", 1),
        ("mcc", "matthews_corrcoef", 1),
        ("auc", "roc_auc_ovr", 1),
        ("log-loss", "neg_log_loss", -1),
    ],
)
def test_cross_validation_is_that_of_scikit_learn(metric, scoring, sign, ask):
    found = ask(
        f"bntk evaluate measured.csv --target kind --model nb --folds 4 --repeats 2 --seed 3 --metrics {metric}"
    )
    frame = pd.read_csv("measured.csv")
    folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=3)
    X, y = frame.drop(columns="kind"), frame["kind"]
    expected = sign * cross_val_score(bntk.NaiveBayes(), X, y, cv=folds, scoring=scoring)
    of = found["models"][0]["metrics"][metric]
    np.testing.assert_allclose(of["folds"], expected, rtol=1e-12)
    assert of["mean"] == pytest.approx(expected.mean(), rel=1e-12)
    assert of["standard_error"] == pytest.approx(expected.std(ddof=1) / np.sqrt(8), rel=1e-12)


def test_the_brier_score_of_two_classes_is_twice_that_of_scikit_learn(ask):
    found = ask("bntk evaluate asia.csv --target dysp --model nb --folds 4 --seed 3 --metrics brier")
    frame = pd.read_csv("asia.csv")
    folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=1, random_state=3)
    X, y = frame.drop(columns="dysp"), frame["dysp"] == "yes"
    expected = -2 * cross_val_score(bntk.NaiveBayes(), X, y, cv=folds, scoring="neg_brier_score")
    np.testing.assert_allclose(found["models"][0]["metrics"]["brier"]["folds"], expected, rtol=1e-10)


def test_models_are_compared_fold_by_fold(ask):
    found = ask("bntk evaluate asia.csv --target dysp --model nb tan --folds 5")
    first, second = (np.array(model["metrics"]["accuracy"]["folds"]) for model in found["models"])
    differences = second - first
    assert found["models"][0]["difference"] is None
    compared = found["models"][1]["difference"]
    assert compared["mean"] == pytest.approx(differences.mean())
    # Nadeau and Bengio: with 5 folds, test rows are a quarter of training rows
    assert compared["standard_error"] == pytest.approx(differences.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4))
    assert 0 <= compared["p"] <= 1


def test_several_classes_are_measured_by_the_measures_of_the_package(ask):
    found = ask("bntk evaluate asia.csv --target lung,bronc --model br --base nb --folds 3 --metrics mean-accuracy")
    frame = pd.read_csv("asia.csv")
    Y, X = frame[["lung", "bronc"]], frame.drop(columns=["lung", "bronc"])
    expected = []
    for train, test in bntk.evaluation.MultilabelStratifiedKFold(3, seed=0).split(X, Y):
        model = bntk.BinaryRelevance(bntk.NaiveBayes()).fit(X.iloc[train], Y.iloc[train])
        expected.append(bntk.evaluation.mean_accuracy(Y.iloc[test], model.predict(X.iloc[test])))
    assert found["models"][0]["metrics"]["mean-accuracy"]["folds"] == pytest.approx(expected)


def test_a_class_that_some_folds_have_not_seen_is_counted_as_wrong(folder, ask):
    rows = ["a,u", "a,u", "b,v", "b,v", "a,u", "b,w"]
    Path("rare.csv").write_text("x,c\n" + "\n".join(rows) + "\n")
    found = ask("bntk evaluate rare.csv --target c --model nb --folds 2 --metrics accuracy log-loss brier auc")
    metrics = found["models"][0]["metrics"]
    assert metrics["accuracy"]["mean"] < 1
    assert all(np.isfinite(metrics[name]["mean"]) for name in ("log-loss", "brier"))


def test_the_command_prints_what_the_library_computes(ask):
    found = ask("bntk evaluate asia.csv --target dysp --model nb tan --holdout 0.25 --repeats 3 --metrics all --seed 2")
    frame = pd.read_csv("asia.csv")
    models = {"nb": bntk.NaiveBayes(random_state=2), "tan": bntk.TAN(random_state=2)}
    X, y = frame.drop(columns="dysp"), frame["dysp"]
    result = bntk.evaluation.cross_validate(models, X, y, cv=0.25, repeats=3, scoring="all", random_state=2)
    assert (found["folds"], found["holdout"], found["repeats"]) == (None, 0.25, 3)
    assert [name.replace("-", "_") for name in found["metrics"]] == list(result.measures)
    for model in found["models"]:
        for name, of in model["metrics"].items():
            values = result.values(model["model"], name)
            np.testing.assert_allclose(of["folds"], values, rtol=1e-12)
            assert of["mean"] == pytest.approx(values.mean())
    test = result.difference("tan", "nb")
    assert found["models"][1]["difference"] == pytest.approx(
        {"mean": test.mean, "standard_error": test.standard_error, "p": test.p}
    )


def test_a_kept_structure_is_that_of_the_library(ask):
    found = ask("bntk evaluate asia.csv --target dysp --model tan --folds 3 --relearn parameters --metrics log-loss")
    frame = pd.read_csv("asia.csv")
    X, y = frame.drop(columns="dysp"), frame["dysp"]
    result = bntk.evaluation.cross_validate(bntk.TAN(), X, y, cv=3, relearn="parameters", scoring="log_loss")
    assert found["relearn"] == "parameters"
    np.testing.assert_allclose(found["models"][0]["metrics"]["log-loss"]["folds"], result.values("TAN"), rtol=1e-12)


def test_models_are_compared_over_several_files(folder, ask, terminal):
    line = "bntk evaluate asia.csv incomplete.csv --target dysp --model nb tan aode --folds 3 --metrics brier accuracy"
    found = ask(line)
    models = {"nb": bntk.NaiveBayes(), "tan": bntk.TAN(), "aode": bntk.AODE()}
    data = {name: pd.read_csv(name).dropna(subset="dysp") for name in ("asia.csv", "incomplete.csv")}
    datasets = {name: (frame.drop(columns="dysp"), frame["dysp"]) for name, frame in data.items()}
    result = bntk.evaluation.compare(models, datasets, cv=3, scoring=["brier", "accuracy"])
    assert found["files"] == list(data)
    for part, measure in zip(found["comparisons"], ("brier", "accuracy"), strict=True):
        by = result.by(measure)
        assert part["metric"] == measure
        assert part["means"]["asia.csv"] == pytest.approx(by.means.loc["asia.csv"].to_dict())
        assert part["ranks"] == pytest.approx(by.ranks.mean().to_dict())
        assert part["friedman"]["p"] == pytest.approx(by.friedman.p)
        assert part["nemenyi"]["critical_difference"] == pytest.approx(by.nemenyi.critical_difference)
    code, out, _ = terminal(line)
    assert code == 0
    assert "mean rank" in out
    assert "Friedman" in out


def test_pictures_of_folds_and_of_ranks_are_written(folder, terminal):
    for line in (
        "bntk evaluate asia.csv --target dysp --model nb tan --folds 2 --plot folds.png",
        "bntk evaluate asia.csv incomplete.csv --target dysp --model nb tan --folds 2 --plot ranks.svg",
    ):
        assert terminal(line)[0] == 0
    assert Path("folds.png").read_bytes()[1:4] == b"PNG"
    assert "<svg" in Path("ranks.svg").read_text()
    assert terminal("bntk evaluate asia.csv --target dysp --plot absent/x.png")[0] == 1


def test_a_cache_of_the_command_is_that_of_the_library(folder, ask):
    line = "bntk evaluate asia.csv --target dysp --model nb tan --folds 3 --metrics accuracy --cache cells --jobs 2"
    first, again = ask(line), ask(line)
    assert len(list(Path("cells").iterdir())) == 6
    assert first == again  # the seconds, too


def test_the_help_lists_every_measure(terminal):
    from bntk.evaluation.measure_table import MEASURES

    code, out, _ = terminal("bntk evaluate --help")
    assert code == 0
    for measure in MEASURES.values():
        assert f"  {measure.name.replace('_', '-')} " in out


# ---- query, plot, convert, sample ------------------------------------------------------------------------------------


def test_queries_are_answered_as_in_python(ask, asia):
    joint = ask("bntk query asia.bif lung tub --given xray=yes smoke=no --soft dysp=0.2,0.8")
    expected = asia.query(["lung", "tub"], {"xray": "yes", "smoke": "no"}, {"dysp": [0.2, 0.8]})
    assert joint["targets"] == ["lung", "tub"]
    assert {tuple(row["states"].values()): row["p"] for row in joint["distribution"]} == expected.to_dict()
    marginals = ask("bntk query asia --given xray=yes")["marginals"]
    assert marginals == {name: of.to_dict() for name, of in asia.marginals({"xray": "yes"}).items()}
    explanation = ask("bntk query asia --mpe --given dysp=yes")
    assert explanation["states"] == dict(asia.mpe({"dysp": "yes"}))
    assert ask("bntk query asia lung smoke --mpe --given dysp=yes")["states"] == dict(
        asia.map(["lung", "smoke"], {"dysp": "yes"})
    )
    evidence = ask("bntk query asia --probability --given dysp=yes xray=no")
    assert evidence["probability"] == asia.probability({"dysp": "yes", "xray": "no"})
    [first, _] = ask("bntk query asia lung --given dysp=yes --engine loopy")["distribution"]
    assert first["p"] == asia.query("lung", {"dysp": "yes"}, engine="loopy")["no"]
    assert ask("bntk info asia")["engine"] == asia.plan().engine


def test_evidence_may_be_one_of_several_states(folder, ask):
    rows = {"size": ["s", "m", "l", "a,b"] * 5, "x=y": [1, 2] * 10}
    network = bntk.fit(bntk.DAG(["size", "x=y"], [("size", "x=y")]), rows, prior=1)
    network.save("sizes.json")
    [row, _] = ask("bntk query sizes.json x=y --given size=s,m")["distribution"]
    assert row["p"] == network.query("x=y", {"size": ["s", "m"]})[1]
    [row, _] = ask("bntk query sizes.json x=y --given size=a,b")["distribution"]
    assert row["p"] == network.query("x=y", {"size": "a,b"})[1]
    [first, *_] = ask("bntk query sizes.json size --given x=y=2")["distribution"]
    assert first["p"] == network.query("size", {"x=y": 2})[first["states"]["size"]]


@pytest.mark.parametrize("suffix", ["bif", "json", "xmlbif", "net", "xdsl", "dsl", "bif.gz"])
def test_converting_keeps_the_network(suffix, terminal, asia):
    assert terminal(f"bntk convert asia.bif there.{suffix}")[0] == 0
    assert terminal(f"bntk convert there.{suffix} back.json")[0] == 0
    assert bntk.load("back.json") == asia


def test_converting_tells_what_is_lost(terminal):
    terminal("bntk fit asia asia.csv -o fitted.json")
    assert "names" in terminal("bntk convert asia asia.uai")[2]
    assert "counts" in terminal("bntk convert fitted.json fitted.bif")[2]
    assert terminal("bntk convert asia asia2.bif")[2] == ""


def test_sampling_is_reproducible_and_that_of_python(terminal, asia):
    _, first, _ = terminal("bntk sample asia -n 50 --seed 3 --given xray=yes")
    assert terminal("bntk sample asia.bif -n 50 --seed 3 --given xray=yes")[1] == first
    assert terminal("bntk sample asia -n 50 --seed 4 --given xray=yes")[1] != first
    expected = asia.sample(50, seed=3, given={"xray": "yes"}).to_pandas()
    assert frame_of(first).to_numpy().tolist() == expected.to_numpy().tolist()


def test_sampling_leaves_cells_out(terminal):
    terminal("bntk sample asia -n 2000 --missing 0.25 -o incomplete.csv")
    assert pd.read_csv("incomplete.csv").isna().to_numpy().mean() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.parquet", "rows.csv.gz"])
def test_rows_are_written_in_the_format_of_the_suffix(name, terminal, ask, asia):
    assert terminal(f"bntk sample asia -n 40 --seed 1 -o {name}")[0] == 0
    table = bntk.read_table(name, variables=asia.variables)
    assert np.array_equal(table.codes, asia.sample(40, seed=1).codes)
    assert ask(f"bntk info {name}")["rows"] == 40


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_pictures_are_drawn_the_same_twice(suffix, start, terminal):
    texts = []
    for _ in range(2):
        assert terminal(f"bntk plot asia --given xray=yes --target lung -o x.{suffix}")[0] == 0
        texts.append(Path(f"x.{suffix}").read_bytes())
    assert texts[0].startswith(start)
    assert texts[0] == texts[1]


# ---- files -----------------------------------------------------------------------------------------------------------


def test_rows_come_from_standard_input(folder, ask, give_input):
    expected = ask("bntk info asia.csv")
    give_input(Path("asia.csv").read_bytes())
    assert ask("bntk info -") == {**expected, "file": "standard input"}


def test_an_error_in_standard_input_says_so(folder, terminal, give_input):
    give_input(b"a,b\n1,2\n3\n")
    assert terminal("bntk info -")[2].startswith("bntk: standard input, line 3: ")


def test_separators_and_ways_to_write_missing_cells(folder, ask):
    Path("x.csv").write_text("a b;c\n1;?\nNA;yes\n")
    found = ask("bntk info x.csv --na ?,NA --sep ';'")
    assert [(column["name"], column["missing"], column["states"]) for column in found["columns"]] == [
        ("a b", 1, [1]),
        ("c", 1, ["yes"]),
    ]


def test_columns_are_left_out(ask):
    assert "lung" not in ask("bntk learn asia.csv --target dysp --ignore lung,xray")["features"]


def test_gzipped_and_arff_rows(folder, ask):
    Path("x.csv.gz").write_bytes(gzip.compress(b"a\n1\n2\n"))
    assert ask("bntk info x.csv.gz")["rows"] == 2
    Path("x.arff").write_text("@relation r\n@attribute c {u,v,w}\n@attribute x numeric\n@data\nu,1.5\nv,?\n")
    found = ask("bntk info x.arff")
    assert [column["states"] for column in found["columns"]] == [["u", "v", "w"], [1.5]]
    assert ask("bntk learn x.arff --target c --model nb")["targets"] == {"c": ["u", "v"]}


def test_a_file_is_replaced_and_keeps_its_permissions(folder, terminal):
    Path("found.bif").write_text("old")
    os.chmod("found.bif", 0o640)
    assert terminal("bntk convert asia found.bif")[0] == 0
    assert bntk.load("found.bif") == bntk.datasets.asia()
    assert Path("found.bif").stat().st_mode & 0o777 == 0o640
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_a_link_stays_a_link(folder, terminal):
    Path("link.bif").symlink_to("there.bif")
    assert terminal("bntk convert asia link.bif")[0] == 0
    assert Path("link.bif").is_symlink()
    assert bntk.load("there.bif") == bntk.datasets.asia()


def test_json_has_null_where_a_number_is_not_finite():
    from bntk.cli.output import json_text

    document = {"a": np.nan, "b": np.inf, "c": [np.float64(0.1), np.int64(3), np.array([1.5])], 1: (True, None)}
    text = json_text(document)
    assert json.loads(text) == {"a": None, "b": None, "c": [0.1, 3, [1.5]], "1": [True, None]}


# ---- ordered classes -------------------------------------------------------------------------------------------------


@pytest.fixture
def harm(folder):
    """Rows of a Parquet file whose class has ordered categories."""
    rng = np.random.default_rng(4)
    severity = rng.integers(3, size=120)
    order = ["slight", "severe", "fatal"]
    frame = pd.DataFrame(
        {
            "speed": np.array(["low", "mid", "high", "top"])[severity + rng.integers(2, size=120)],
            "belt": np.where(rng.random(120) < 0.3 + 0.2 * severity, "no", "yes"),
            "harm": pd.Categorical.from_codes(severity, order, ordered=True),
        }
    )
    frame.to_parquet("harm.parquet")
    return frame


def test_classes_are_shown_in_their_declared_order(harm, terminal, ask):
    order = ["slight", "severe", "fatal"]
    code, _, err = terminal("bntk learn harm.parquet --target harm --model tan -o harm.json")
    assert code == 0, err
    model = bntk.load("harm.json")
    assert model.class_order_.tolist() == order
    assert ask("bntk info harm.json")["targets"] == {"harm": order}
    X = harm.drop(columns="harm")
    [answer] = ask("bntk predict harm.json harm.parquet --proba")["answers"]
    assert answer["classes"] == order
    np.testing.assert_allclose(answer["probabilities"], model.predict_proba(X)[:, [2, 1, 0]], rtol=1e-12)
    assert answer["labels"] == model.predict(X).tolist()
    assert answer["accuracy"] == model.score(X, harm["harm"])
    code, out, _ = terminal("bntk predict harm.json harm.parquet --proba")
    assert code == 0
    assert out.splitlines()[0] == "predicted_harm,p_slight,p_severe,p_fatal"
    Path("costs.csv").write_text("true,slight,fatal,severe\nslight,0,1,1\nsevere,3,0,0\nfatal,9,0,2\n")
    [answer] = ask("bntk predict harm.json harm.parquet --costs costs.csv")["answers"]
    assert answer["labels"] == model.predict(X, costs=[[0, 2, 9], [0, 0, 3], [1, 1, 0]]).tolist()


def test_measures_of_ordered_classes_are_those_of_python(harm, terminal, ask):
    found = ask(
        "bntk evaluate harm.parquet --target harm --model tan:search=hc --score im --folds 4 --metrics im mae cen"
    )
    folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=1, random_state=0)
    X, y = harm.drop(columns="harm"), harm["harm"]
    measures = {
        "im": bntk.evaluation.information_measure,
        "mae": bntk.evaluation.mean_absolute_error,
        "cen": bntk.evaluation.confusion_entropy,
    }
    for name, measure in measures.items():
        expected = []
        for train, test in folds.split(X, y):
            tan = bntk.TAN(search="hc", criterion="im").fit(X.iloc[train], y.iloc[train])
            expected.append(measure(y.iloc[test], tan.predict(X.iloc[test])))
        np.testing.assert_allclose(found["models"][0]["metrics"][name]["folds"], expected, rtol=1e-12)
    harm.astype(str).to_csv("plain.csv", index=False)
    code, _, err = terminal("bntk evaluate plain.csv --target harm --model nb --folds 4 --metrics accuracy mae")
    assert code != 0
    assert "mae needs ordered classes" in err
    assert terminal("bntk evaluate plain.csv --target harm --model nb --folds 4 --metrics cen")[0] == 0
    for score in ("im:4", "accuracy:0.5"):
        line = f"bntk learn harm.parquet --target harm --model tan:search=hc --score {score} -o scored.json"
        assert terminal(line)[0] == 0
    assert bntk.load("scored.json").criterion == bntk.scores.Accuracy(prior=0.5)


@pytest.mark.parametrize("line", ["info", "query", "query --mpe", "query --probability", "info --json"])
def test_a_network_without_variables_is_told_of_as_any_other(line, terminal):
    bntk.BayesianNetwork(bntk.DAG([]), []).save("none.json")
    command, *options = line.split()
    assert terminal("bntk convert none.json none.bif.gz")[0] == 0
    code, out, err = terminal(f"bntk {command} none.bif.gz {' '.join(options)}")
    assert (code, bool(out), err) == (0, True, "")


def test_large_files_are_written_with_force_only(terminal, folder, monkeypatch):
    monkeypatch.setattr("bntk.io.sizes.LARGEST", 500)
    before = sorted(folder.iterdir())
    for line in ("convert asia x.bif", "fit asia asia.csv -o x.json", "learn asia.csv -o x.json",
                 "learn asia.csv --target dysp -o x.json"):  # fmt: skip
        code, _, err = terminal(f"bntk {line}")
        assert code == 1
        assert "--force writes it" in err
        assert "force=True" not in err
        assert sorted(folder.iterdir()) == before
        assert terminal(f"bntk {line} --force")[0] == 0
        assert terminal(f"bntk info {line.split()[-1]}")[0] == 0
        (folder / line.split()[-1]).unlink()


def test_columns_that_identify_rows_are_left_out_of_networks_too(ask, terminal, folder):
    rows = pd.read_csv("asia.csv").assign(id=[f"row {i}" for i in range(600)], day="2024-01-02", none=None)
    rows.to_csv("messy.csv", index=False)
    found = ask("bntk learn messy.csv")
    assert found["arcs"] == ask("bntk learn asia.csv")["arcs"]
    code, _, err = terminal("bntk learn messy.csv")
    assert (code, err.count("note")) == (0, 1)
    assert all(name in err for name in ("'id'", "'day'", "'none'", "--identifiers keep"))
    kept = ask("bntk learn messy.csv --identifiers keep --max-parents 1")
    assert {"id", "day"} < {*kept["variables"]}
    pd.DataFrame({"id": rows["id"]}).to_csv("ids.csv", index=False)
    assert "left to learn from" in terminal("bntk learn ids.csv")[2]


# ---- explore ---------------------------------------------------------------------------------------------------------


def test_a_page_is_that_of_python_by_the_name_of_the_network(folder, terminal, asia, tmp_path_factory):
    expected = tmp_path_factory.mktemp("pages") / "expected.html"
    asia.explore(expected, title="asia")
    assert terminal("bntk explore asia")[:2] == (0, "asia.html\n")
    assert (folder / "asia.html").read_bytes() == expected.read_bytes()
    assert terminal("bntk explore asia.bif -o from_file.htm")[0] == 0
    assert (folder / "from_file.htm").read_bytes() == expected.read_bytes()
    asia.explore(expected, title="A", target="lung", given={"xray": "yes"}, soft={"dysp": [0.2, 0.8]})
    line = "bntk explore asia --title A --target lung --given xray=yes --soft dysp=0.2,0.8 -o x.html"
    assert terminal(line)[0] == 0
    assert (folder / "x.html").read_bytes() == expected.read_bytes()


def test_a_classifier_is_explored_with_its_class_as_target(folder, terminal, tmp_path_factory):
    expected = tmp_path_factory.mktemp("pages") / "expected.html"
    assert terminal("bntk learn asia.csv --target dysp --model tan -o tan.json")[0] == 0
    assert terminal("bntk explore tan.json --given smoke=yes")[0] == 0
    bntk.load("tan.json").explore(expected, title="tan", given={"smoke": "yes"})
    assert (folder / "tan.html").read_bytes() == expected.read_bytes()
    assert terminal("bntk learn asia.csv --target dysp --model aode -o aode.json")[0] == 0
    code, _, err = terminal("bntk explore aode.json")
    assert code == 1
    assert "not a single network" in err


def test_a_page_is_opened_in_a_browser_if_that_is_asked_for(folder, terminal, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert terminal("bntk explore asia -o y.html")[0] == 0
    assert opened == []
    assert terminal("bntk explore asia -o y.html --open")[0] == 0
    assert opened == [(folder / "y.html").resolve().as_uri()]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("-o x.pdf", "the choices are .html, .htm"),
        ("-o no/x.html", "there is no folder 'no'"),
        ("--target lnug", "did you mean 'lung'"),
        ("--given xray=maybe", "has no state 'maybe'"),
        ("--max-entries 39", "40 entries together, and a page may run through 39"),
    ],
)
def test_pages_that_cannot_be_made_are_refused_before_anything_is_written(folder, terminal, words, error):
    before = sorted(folder.iterdir())
    code, out, err = terminal(f"bntk explore asia {words}")
    assert (code, out) == (1, "")
    assert error in err
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == before

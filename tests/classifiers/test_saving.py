"""A classifier in a file predicts as before, to the last bit; a manipulated file is refused or harmless."""

from __future__ import annotations

import contextlib
import copy
import json
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from cases import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import bntk
from bntk import classifiers
from bntk.classifiers.base import BayesClassifier, RowReader
from bntk.classifiers.saving import dump, parse
from bntk.classifiers.saving.kinds import classifier_classes, kinds, state_types
from bntk.errors import BntkWarning, DataError, ParseError
from bntk.learning.independence import IndependenceTest

#: All that a user can make and fit; a new one is in the tests below without a change here.
PUBLIC = sorted({*classifiers.__all__} - {"BayesClassifier", "NetworkClassifier"})


@cache
def rows(n: int = 150) -> pd.DataFrame:
    """States of several kinds, a column of numbers, missing cells, and three classes."""
    generator = np.random.default_rng(7)
    frame = bntk.datasets.asia().sample(n, seed=3).to_pandas()[["smoke", "lung", "bronc", "dysp"]].astype(object)
    frame["number"] = generator.normal(size=n).round(2) + (frame["dysp"] == "yes")
    frame["count"] = generator.integers(0, 5, size=n)
    frame.loc[::7, "smoke"] = None
    frame.loc[::11, "number"] = np.nan
    frame["kind"] = np.where(frame["number"] > 0.5, "high", np.where(frame["bronc"] == "yes", "low", "middle"))
    return frame


FEATURES = ["smoke", "lung", "number", "count"]
TARGETS = ["bronc", "dysp", "kind"]


def made(name: str) -> RowReader:
    """One with its default parameters; but the default measure of RMCV needs classes with an order."""
    return getattr(classifiers, name)(**({"criterion": "accuracy"} if name == "RMCV" else {}))


def is_single(classifier: RowReader) -> bool:
    return isinstance(classifier, BayesClassifier)


def fitted(classifier: RowReader) -> RowReader:
    data = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BntkWarning)  # of a score that does not like missing cells
        return classifier.fit(data[FEATURES], data["kind"] if is_single(classifier) else data[TARGETS])


def again(classifier: RowReader) -> RowReader:
    return parse(dump(classifier))


def assert_same(one, other) -> None:
    """Equal to the last bit, types included."""
    assert type(one) is type(other)
    if isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    elif isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other


def assert_predicts_the_same(one: RowReader, other: RowReader, X) -> None:
    assert_same(one.predict(X), other.predict(X))
    assert_same(one.predict_proba(X), other.predict_proba(X))
    assert_same(one.classes_, other.classes_)
    if is_single(one):
        assert_same(one.log_joint(X), other.log_joint(X))


VARIANTS = [
    *(made(name) for name in PUBLIC),
    bntk.RMCV(criterion=bntk.scores.MCC(folds=3), start="kind -> lung", search=bntk.search.Tabu(), max_parents=2),
    *(bntk.NaiveBayes(numeric=way) for way in ("gaussian", "kde", "bernoulli", "width", "frequency", "category")),
    bntk.NaiveBayes(numeric={"number": "kde", "count": "multinomial"}, prior="mle", class_prior="uniform"),
    *(bntk.TAN(numeric=way, missing="state") for way in ("joint", "smooth", "averaged")),
    bntk.AWNB(numeric="averaged", n_trees=3),
    bntk.A2DE(numeric={"number": "averaged", "count": "frequency"}),
    bntk.BinaryRelevance(bntk.NaiveBayes(numeric="averaged")),
    bntk.ClassifierChain(bntk.NaiveBayes(numeric="smooth")),
    bntk.NaiveBayes(numeric={"number": [0.0, 1.0], "count": "gaussian"}, missing="state", class_prior=[0.5, 0.2, 0.3]),
    bntk.TAN(criterion=bntk.scores.BDeu(ess=2), prior=bntk.priors.BDeu(4), missing="em", numeric="width", n_bins=3),
    bntk.TAN(root="lung", prior=bntk.priors.Backoff(rows=2, alpha=0.5), missing="state"),
    bntk.KDB(2, prior=bntk.priors.HDP(iterations=20, burn_in=5, seed=3)),
    bntk.BAN(search=bntk.search.Tabu(restarts=1), max_parents=None),
    bntk.KDB(1, search="hc", criterion=bntk.scores.LOO()),
    bntk.STAN(weights=bntk.scores.BIC(), forest=True, criterion="bic"),
    bntk.AODE(weights="mi", m=0),
    bntk.AODE(count="class", m=5),
    bntk.A2DE(m=30, prior=bntk.priors.BDeu(1.0)),
    bntk.MANB(arc_prior={"smoke": 0.1, "lung": 0.5, "number": 0.5, "count": 0.5}),
    bntk.AWNB(weights=[1.0, 0.5, 0.0, 2.0]),
    bntk.AWNB(bntk.TAN(root="lung", missing="state", class_prior=[0.5, 0.2, 0.3]), n_trees=3),
    bntk.AWNB(bntk.MANB()),
    bntk.AWNB(bntk.BAN(criterion=bntk.scores.BIC(), prior=bntk.priors.BDeu(2)), weights=0.5),
    bntk.BayesNetClassifier(structure="kind -> smoke -> lung; kind -> number"),
    bntk.BayesNetClassifier(space=bntk.spaces.tan, criterion="bic"),
    bntk.BayesNetClassifier(space=bntk.spaces.naive_bayes(FEATURES, "kind"), search="hc"),
    bntk.MDBNC(loss="subset", feature_shape="dag", prior=1.0, missing="em"),
    bntk.AMODE(loss="subset"),
    bntk.BinaryRelevance(bntk.TAN()),
    bntk.LabelPowerset(bntk.AODE()),
    bntk.ClassifierChain(bntk.NaiveBayes(missing="state"), order=["kind", "dysp", "bronc"], search="exact"),
    bntk.ClassifierChain(search="beam", proba="sampling", n_samples=7, order="random", random_state=3),
    bntk.BayesianChain(bntk.KDB(1), structure="dag", criterion=bntk.scores.BIC()),
    bntk.ChainEnsemble(bntk.FAN(), n_chains=3),
]


@pytest.mark.parametrize("classifier", VARIANTS, ids=lambda c: str(c).replace("\n", "")[:50])
def test_every_classifier_comes_back_from_its_file(classifier, tmp_path):
    one = fitted(clone(classifier))
    one.save(tmp_path / "it.json.gz")
    other = bntk.load(tmp_path / "it.json.gz")
    data = rows()
    assert type(other) is type(one)
    assert_predicts_the_same(one, other, data[FEATURES])
    assert dump(other) == dump(one)
    assert str(other.get_params()) == str(one.get_params())
    assert str(clone(other)) == str(clone(one))
    for name in vars(type(one)).keys() | {"inference_", "features_in_use_", "order_", "superparents_"}:
        if isinstance(getattr(type(one), name, None), property) and name.endswith("_") and name != "estimators_":
            assert str(getattr(other, name)) == str(getattr(one, name))
    if hasattr(one, "network_"):
        assert other.network_ == one.network_
        assert other.dag_ == one.dag_
    if is_single(one):
        for row in (0, 1):
            assert_same(one.explain(data[FEATURES].iloc[[row]]), other.explain(data[FEATURES].iloc[[row]]))
    if is_single(one) and one.missing != "em":  # EM cannot add rows
        more = data.iloc[40:90]
        for each in (one, other):
            each.partial_fit(more[FEATURES], more["kind"])
        assert_predicts_the_same(one, other, data[FEATURES])
        assert dump(other) == dump(one)


def test_every_public_classifier_is_known_and_names_its_whole_state():
    assert {*classifier_classes()} >= {*PUBLIC}  # other tests define some of their own
    for name in PUBLIC:
        one = fitted(made(name))
        other = again(one)
        learned = {*vars(one)} - {*one.get_params(deep=False)}
        assert learned <= {*vars(other)} | {"_metadata_request"}, name
        assert all(attribute.startswith("_") or attribute.endswith("_") for attribute in learned), name
        assert {*state_types(type(one))} & learned, name


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["b", "a", "c"], "U"), ([3, 1, 2], "i"), ([True, False, True], "b"), ([1.0, 2.0, 5.0], "f"),
        (np.array([3, 1, 2], dtype=np.uint8), "u"), (np.array(["b", "a", "longer"], dtype=object), "O"),
        (np.array(["b", "a", "c"], dtype="U7"), "U"), (np.array([1, 2, 3], dtype=np.int16), "i"),
    ],
)  # fmt: skip
def test_labels_and_names_keep_their_types(labels, kind):
    y = np.repeat(np.asarray(labels), 20)
    X = np.column_stack([np.arange(60) % 3, np.repeat([0, 1, 2], 20)])
    one = bntk.NaiveBayes(numeric="category").fit(X, y)
    other = again(one)
    assert other.predict(X).dtype.kind == kind
    assert_predicts_the_same(one, other, X)
    Y = np.column_stack([y, y[::-1]])
    several = bntk.ClassifierChain(bntk.NaiveBayes(numeric="category")).fit(X, Y)
    assert_predicts_the_same(several, again(several), X)


@pytest.mark.parametrize("kind", ["pandas", "polars", "table", "mapping", "array"])
def test_any_kind_of_rows(kind):
    import polars

    data = rows().drop(columns=["number", "count"]).fillna("?")
    X = {
        "pandas": data[["smoke", "lung"]],
        "polars": polars.from_pandas(data[["smoke", "lung"]].astype(str)),
        "table": bntk.Table.from_frame(data[["smoke", "lung"]].astype(str)),
        "mapping": {"smoke": data["smoke"].tolist(), "lung": data["lung"].tolist()},
        "array": data[["smoke", "lung"]].to_numpy(),
    }[kind]
    for one in (bntk.TAN().fit(X, data["kind"]), bntk.BinaryRelevance().fit(X, data[["bronc", "kind"]])):
        assert_predicts_the_same(one, again(one), X)


def test_the_name_of_the_target_survives():
    assert again(fitted(bntk.TAN())).target_name_ == "kind"
    assert again(bntk.TAN().fit(rows()[["smoke", "lung"]], rows()["kind"].tolist())).target_name_ == "class"
    assert again(fitted(bntk.MDBNC())).labels_.names == tuple(TARGETS)


def test_parts_that_classifiers_share_are_written_once():
    ensemble = fitted(bntk.ChainEnsemble(n_chains=10))
    written = [entry["class"] for entry in json.loads(dump(ensemble))["classifiers"]]
    assert written.count("NaiveBayes") == 3
    chains = again(ensemble).chains_
    assert len({id(link.features_only) for chain in chains for link in chain._links}) == 3


def test_without_features_and_with_one_class():
    X = rows()[["smoke", "lung"]]
    assert_predicts_the_same(one := bntk.TAN().fit(X, ["a"] * len(X)), again(one), X)
    numbers = rows()[["count"]]
    one = bntk.NaiveBayes(numeric="gaussian").fit(numbers, rows()["kind"])
    assert_predicts_the_same(one, again(one), numbers)


# ---- what cannot be written ------------------------------------------------------------------------------------------


class MyScore(bntk.scores.BIC):
    """A score that no file knows."""


class MyPrior(bntk.priors.Prior):
    def pseudo_count(self, child, q):
        return 0.5

    def __repr__(self):
        return "MyPrior()"


def test_a_score_of_your_own_is_left_out_and_asked_for_by_fit():
    data = rows()
    one = fitted(bntk.FAN(criterion=MyScore()))
    other = again(one)
    assert_predicts_the_same(one, other, data[FEATURES])
    other.partial_fit(data[FEATURES], data["kind"])
    for each in (other, clone(other), again(other)):
        with pytest.raises(DataError, match=r"criterion was MyScore\(.*set_params\(criterion=...\)"):
            each.fit(data[FEATURES], data["kind"])
    other.set_params(criterion="bic").fit(data[FEATURES], data["kind"])


def test_a_function_of_your_own_is_left_out_and_asked_for_by_fit():
    other = again(fitted(bntk.BayesNetClassifier(space=lambda features, target: bntk.spaces.tan(features, target))))
    with pytest.raises(DataError, match="space was <function"):
        fitted(other)


def test_a_prior_of_your_own_is_left_out_where_it_only_matters_for_fitting():
    data = rows()
    one = fitted(bntk.TAN(prior=MyPrior()))
    other = again(one)
    assert_predicts_the_same(one, other, data[FEATURES])
    with pytest.raises(DataError, match=r"the prior was MyPrior\(\).*more rows cannot be added"):
        other.partial_fit(data[FEATURES], data["kind"])
    with pytest.raises(DataError, match=r"prior=.*MyPrior\(\), which a file cannot hold"):
        dump(fitted(bntk.AODE(prior=MyPrior())))
    with pytest.raises(DataError, match=r"MyPrior\(\), which a file cannot hold"):
        dump(bntk.NaiveBayes(numeric="multinomial", prior=MyPrior()).fit(data[["count"]], data["kind"]))


def test_a_base_of_another_package_is_refused():
    data = rows()
    chain = bntk.ClassifierChain(LogisticRegression()).fit(data[["count"]], data[TARGETS])
    with pytest.raises(DataError, match=r"ClassifierChain\(estimator=...\) is LogisticRegression\(\).*joblib"):
        dump(chain)


def test_a_subclass_is_refused(tmp_path):
    class TAN(bntk.TAN):
        pass

    with pytest.raises(DataError, match="TAN is no classifier of this package"):
        fitted(TAN()).save(tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


class MyTAN(bntk.TAN):
    """A tree of my own."""

    name = "my-tan"


def test_a_subclass_with_a_name_of_its_own_is_saved():
    one, data = fitted(MyTAN(prior=2.0)), rows()
    other = again(one)
    assert type(other) is MyTAN
    assert_predicts_the_same(one, other, data[FEATURES])


def test_a_class_that_nobody_has_defined_is_not_looked_for():
    text = dump(fitted(bntk.TAN())).replace('"class": "TAN"', '"class": "os.system"')
    with pytest.raises(ParseError, match="os.system"):
        parse(text)


def test_only_fitted_classifiers_and_only_json(tmp_path):
    with pytest.raises(NotFittedError):
        bntk.TAN().save(tmp_path / "x.json")
    with pytest.raises(DataError, match="written as .json"):
        fitted(bntk.TAN()).save(tmp_path / "x.bif")
    bytes_as_states = rows()[["smoke"]].assign(raw=np.array([b"a", b"b"] * 75, dtype=object))
    with pytest.raises(DataError, match="'raw' has the state b'a' of type bytes"):
        dump(bntk.NaiveBayes().fit(bytes_as_states, rows()["kind"]))


# ---- what must not be read -------------------------------------------------------------------------------------------


def changed(classifier: RowReader, change) -> str:
    document = json.loads(dump(fitted(classifier)))
    change(document, document["classifiers"][-1]["params"], document["classifiers"][-1]["fitted"])
    return json.dumps(document)


def network(document):
    return document["classifiers"][-1]["fitted"]["network_"]["network"]


@pytest.mark.parametrize(
    ("classifier", "change", "message"),
    [
        (bntk.TAN(), lambda d, p, f: d.update(version=99), "version 99 of the format is not known"),
        (bntk.TAN(), lambda d, p, f: d.update(format="bntk clown"), "bntk clown"),
        (bntk.TAN(), lambda d, p, f: d.pop("classifiers"), "classifiers: expected a list"),
        (bntk.TAN(), lambda d, p, f: d["classifiers"][0].update({"class": "os.system"}), "'os.system' is not known"),
        (bntk.TAN(), lambda d, p, f: d["classifiers"][0].update({"class": "NetworkClassifier"}), "is not known"),
        (bntk.TAN(), lambda d, p, f: p.update(search={"object": "os.system", "parts": {}}), "params.search"),
        (bntk.TAN(), lambda d, p, f: p.update(n_bins="many"), r"params.n_bins: 'many' is not .* int"),
        (bntk.TAN(), lambda d, p, f: p.update(predict=1), "'predict' is not known"),
        (bntk.TAN(), lambda d, p, f: f.update(predict=1), "fitted: 'predict' is not known"),
        (bntk.TAN(), lambda d, p, f: f.pop("network_"), "'network_' is missing"),
        (bntk.TAN(), lambda d, p, f: f.update(network_=f["search_"]), "fitted.network_: .* is not what belongs there"),
        (bntk.TAN(), lambda d, p, f: network(d)["tables"][0]["values"].pop(), r"network_: the table of .*: counts"),
        (bntk.TAN(), lambda d, p, f: network(d)["variables"][0]["states"].append("x"), "network_: the table of"),
        (bntk.TAN(), lambda d, p, f: f["classes_"].update(shape=[2]), "the shape .2. is not that of 3 values"),
        (bntk.TAN(), lambda d, p, f: f["classes_"].update(array="U999999"), "not texts of up to 999999 characters"),
        (bntk.TAN(), lambda d, p, f: f["classes_"]["values"].reverse(), "the classes are not sorted"),
        (bntk.TAN(), lambda d, p, f: f["n_features_in_"].__class__, None),
        (bntk.TAN(), lambda d, p, f: f.update(n_features_in_=5), "the columns of X are not the 4 features"),
        (bntk.TAN(), lambda d, p, f: f.update(feature_names_in_=None), "the columns of X are not the 4 features"),
        (bntk.TAN(), lambda d, p, f: f.update(_class_variable={"variable": 99}), "no variable 99"),
        (bntk.TAN(), lambda d, p, f: f.update(_class_variable={"variable": 0}), "states of the class variable"),
        (bntk.NaiveBayes(), lambda d, p, f: f.update(f=0), "'f' is not known"),
        (bntk.AODE(), lambda d, p, f: f["_counts"]["parts"]["pairs"]["parts"]["counts"]["values"].pop(), "the shape"),
        (bntk.AODE(), lambda d, p, f: p.update(prior={"unsaved": "x"}), "params.prior"),
        (
            bntk.AWNB(),
            lambda d, p, f: f["weights_"]["series"].__setitem__(0, "\ud800"),
            "weights_: the index|names|one number for each of the features",
        ),
        (bntk.AMODE(), lambda d, p, f: f["_pairs"].update(shape=[49]), "a count for each two of the 7 labels"),
    ],
)
def test_what_does_not_fit_together_is_refused(classifier, change, message):
    text = changed(classifier, change)
    if message is None:
        parse(text)
        return
    with pytest.raises(ParseError, match=message):
        parse(text)


def test_a_network_that_is_not_naive_is_refused():
    text = dump(fitted(bntk.TAN())).replace('"class": "TAN"', '"class": "NaiveBayes"')
    document = json.loads(text)
    for name in {*bntk.TAN().get_params()} - {*bntk.NaiveBayes().get_params()}:
        del document["classifiers"][0]["params"][name]
    with pytest.raises(ParseError, match="is not naive"):
        parse(json.dumps(document))


def test_bad_syntax_has_a_line_and_a_column(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(dump(fitted(bntk.TAN()))[:-10])
    with pytest.raises(ParseError, match="line [0-9]+, column [0-9]+: not JSON"):
        bntk.load(path)


def test_tables_of_one_feature_with_many_states_are_not_made_for_a_small_file():
    X = pd.DataFrame({"a": [f"s{i}" for i in range(20_000)]})
    text = dump(bntk.NaiveBayes(identifiers="keep").fit(X, [0, 1] * 10_000))
    one = json.loads(dump(bntk.AODE().fit(X.iloc[:4], [0, 1] * 2)))
    variable = json.loads(text)["variables"][0]
    one["variables"][0] = variable
    pairs = one["classifiers"][0]["fitted"]["_counts"]["parts"]["pairs"]["parts"]
    pairs["single_counts"] = {"array": "int64", "shape": [40_000], "values": [1] * 40_000}
    with pytest.raises(ParseError, match="800,000,000 entries"):
        parse(json.dumps(one))


# ---- any change of a file --------------------------------------------------------------------------------------------

SCALARS = [
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, 10**30, 0.5, -1.5, 1e308, "", "x", "smoke", "kind", "inf",
    "nan", "int8", "object", "float64", "U1", "marginal", "mle", [], {}, [[]], {"float": "nan"}, {"float": "-inf"},
    {"tuple": []}, {"variable": 0}, {"variable": 1}, {"classifier": 0}, {"object": "graph.DAG", "parts": {}},
    {"array": "float64", "shape": [0], "values": []}, {"array": "int64", "shape": [1], "values": [5]},
    {"unsaved": "x"}, {"function": "spaces.tan"},
]  # fmt: skip
#: Parameters that say how much work a prediction is; a file may ask for as much as a user may.
AMOUNTS = {"n_samples", "beam", "max_iter", "n_chains", "max_entries"}


def places(value, path=()):
    """All places in a tree of lists and objects."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        if key in AMOUNTS:
            continue
        yield (*path, key)
        yield from places(inner, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


@st.composite
def mutations(draw, document):
    tree = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        # By depth first: most places are deep inside of tables.
        by_depth: dict[int, list] = {}
        for place in places(tree):
            by_depth.setdefault(len(place), []).append(place)
        if not by_depth:
            break
        place = draw(st.sampled_from(by_depth[draw(st.sampled_from(sorted(by_depth)))]))
        holder, key = at(tree, place[:-1]), place[-1]
        how = draw(st.sampled_from(["delete", "replace", "replace", "number", "double", "copy"]))
        if how == "delete":
            del holder[key]
        elif how == "replace":
            holder[key] = copy.deepcopy(draw(st.sampled_from(SCALARS)))
        elif how == "number" and isinstance(holder[key], (int, float)):
            holder[key] = draw(st.integers(-3, 300) | st.floats(allow_nan=False, allow_infinity=False))
        elif how == "double" and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        else:
            other = draw(st.sampled_from(by_depth[draw(st.sampled_from(sorted(by_depth)))]))
            holder[key] = copy.deepcopy(at(tree, other))
    return tree


FUZZED = [
    bntk.NaiveBayes(), bntk.NaiveBayes(numeric={"number": "kde", "count": "multinomial"}), bntk.TAN(),
    bntk.NaiveBayes(numeric="gaussian", missing="state"), bntk.KDB(2), bntk.AODE(), bntk.A2DE(), bntk.MANB(),
    bntk.WANBIA(), bntk.MDBNC(), bntk.AMODE(), bntk.BinaryRelevance(bntk.TAN()), bntk.LabelPowerset(),
    bntk.ClassifierChain(search="exact"), bntk.BayesianChain(), bntk.CircularChain(), bntk.ChainEnsemble(n_chains=2),
]  # fmt: skip


@pytest.mark.parametrize("classifier", FUZZED, ids=lambda c: type(c).__name__)
def test_any_change_of_a_file_is_refused_or_harmless(classifier):
    data = rows(40)
    one = clone(classifier).fit(data[FEATURES], data["kind"] if is_single(classifier) else data[TARGETS])
    document = json.loads(dump(one))

    @given(mutations(document))
    @settings(max_examples=examples(20, 60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    def check(tree):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rows that do not sum to one, of names that are not there any more
            try:
                other = parse(json.dumps(tree))
            except ParseError:
                return
            with contextlib.suppress(ValueError):  # a feature that holds text, or an option that is not known
                found = other.predict_proba(data[FEATURES])
                for table in found if isinstance(found, list) else [found]:
                    assert len(table) == len(data)
                assert len(other.predict(data[FEATURES])) == len(data)

    check()


@pytest.mark.parametrize("number", [1e308, 1e160, 5e-324])
@pytest.mark.parametrize(
    "classifier",
    [
        bntk.NaiveBayes(numeric={"number": "kde", "count": "multinomial"}),
        bntk.NaiveBayes(numeric="gaussian"),
        bntk.WANBIA(),
        bntk.AODE(),
    ],
    ids=lambda c: repr(c)[:40],
)
def test_numbers_that_cannot_be_added_up_are_refused_or_harmless(classifier, number):
    data = rows(40)
    document = json.loads(dump(clone(classifier).fit(data[FEATURES], data["kind"])))
    learned = document["classifiers"][-1]["fitted"]
    numeric = [place for place in places(learned) if type(at(learned, place)) is float]
    assert numeric
    for place in numeric[:: max(1, len(numeric) // 40)]:
        holder, key = at(learned, place[:-1]), place[-1]
        kept, holder[key] = holder[key], number
        with contextlib.suppress(ParseError):
            assert np.isfinite(parse(json.dumps(document)).predict_proba(data[FEATURES])).all()  # without a warning
        holder[key] = kept


def test_weights_of_kernels_whose_sum_is_no_number_are_refused():
    data = rows(40)
    naive = bntk.NaiveBayes(numeric="kde").fit(data[["number"]], data["kind"])
    document = json.loads(dump(naive))
    weights = document["classifiers"][-1]["fitted"]["densities_"]["tuple"][0]["parts"]["features"]["tuple"][0]["parts"]
    weights["weights"]["values"] = [1e308] * len(weights["weights"]["values"])
    with pytest.raises(ParseError, match="too large to be added up"):
        parse(json.dumps(document))


def test_every_kind_of_option_comes_back():
    """Those that can be made without arguments; the others are in the files above."""
    found = [bntk.scores.CV(folds=[0, 1] * 75), bntk.search.K2Search(order=["lung", "smoke"])]
    for name, kind in kinds().items():
        if name.split(".")[0] in ("priors", "scores", "search"):
            with contextlib.suppress(TypeError):
                found.append(kind.cls())
    assert {"BDeu", "LOO", "CV", "Accuracy", "Tabu", "OrderSearch", "Exact"} <= {type(each).__name__ for each in found}
    tan = fitted(bntk.TAN())
    for option in found:
        family = type(option).__module__.split(".")[2]
        parameter = {"priors": "prior", "scores": "criterion", "search": "search"}[family]
        back = again(clone_with(tan, parameter, option)).get_params()[parameter]
        assert type(back) is type(option)
        assert back == option


@pytest.mark.parametrize("search", ["pc", "mmhc", "ges", bntk.search.IAMB(test=IndependenceTest(name="x2"))], ids=repr)
def test_what_a_search_by_tests_or_over_classes_found_comes_back(search):
    rows = bntk.datasets.asia().sample(1000, seed=1).to_pandas()
    tree = bntk.BayesNetClassifier(search=search).fit(rows.drop(columns="lung"), rows["lung"])
    found = again(tree).search_
    assert found.pdag is not None
    assert found.pdag.directed
    assert found == tree.search_
    assert found.separating_sets == tree.search_.separating_sets
    assert again(tree).search == search


def clone_with(classifier: RowReader, parameter: str, value: object) -> RowReader:
    """The same fitted classifier with another parameter."""
    return copy.copy(classifier).set_params(**{parameter: value})

"""Every learner that needs only counts finds in a scan what it finds in memory; others say so before a row is read."""

from __future__ import annotations

import numpy as np
import pytest
from streams.samples import messy, scan_of

import bntk
from bntk.errors import ArgumentError, BntkError
from bntk.learning import em_in_passes
from bntk.learning.learn import learn_structure

pytestmark = pytest.mark.filterwarnings("ignore::bntk.errors.BntkWarning")

CLASSIFIERS = {
    "NaiveBayes": bntk.NaiveBayes,
    "TAN": bntk.TAN,
    "TAN of BDeu": lambda: bntk.TAN(criterion="bdeu", root="colour"),
    "TAN with missing as a state": lambda: bntk.TAN(missing="state"),
    "TAN, interpolated": lambda: bntk.TAN(numeric="smooth"),
    "TAN, some columns cut otherwise": lambda: bntk.TAN(numeric={"measured": "frequency", "many": [100]}, n_bins=3),
    "TAN by EM": lambda: bntk.TAN(missing="em", numeric="frequency", n_bins=3),
    "FAN": bntk.FAN,
    "FAN, hdp": lambda: bntk.FAN(prior="hdp"),
    "BAN": bntk.BAN,
    "KDB": bntk.KDB,
    "KDB by hill climbing": lambda: bntk.KDB(1, search="tabu", criterion="bic"),
    "AODE": bntk.AODE,
    "AODE, weighted": lambda: bntk.AODE(weights="mi"),
    "SPODE": lambda: bntk.SPODE(criterion="bic"),
    "STAN": lambda: bntk.STAN(criterion="bdeu"),
    "STAND": lambda: bntk.STAND(criterion="hgc"),
    "SelectiveKDB": bntk.SelectiveKDB,
    "SelectiveKDB, log loss": lambda: bntk.SelectiveKDB(2, loss="log"),
}


def probabilities(classifier, X) -> np.ndarray:
    found = classifier.predict_proba(X)
    return np.concatenate([np.asarray(table) for table in found], axis=1) if isinstance(found, list) else found


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("weights", [None, "w"])
def test_a_classifier_is_the_one_of_rows_in_memory(name, weights):
    frame = messy()
    if weights:
        frame["w"] = np.random.default_rng(1).integers(0, 3, len(frame))
    own = frame.drop(columns=["kind", *([weights] if weights else [])])
    here = CLASSIFIERS[name]().fit(own, frame["kind"], None if weights is None else frame[weights])
    there = CLASSIFIERS[name]().fit(scan_of(frame, weights=weights), "kind")
    assert there.features_.variables == here.features_.variables
    assert there.features_.unused == here.features_.unused
    assert there.classes_.tolist() == here.classes_.tolist()
    assert there.target_name_ == here.target_name_
    if hasattr(here, "dag_"):
        assert there.dag_ == here.dag_
    assert np.allclose(probabilities(there, own), probabilities(here, own), rtol=0, atol=1e-9)
    if "EM" not in name:
        assert np.array_equal(probabilities(there, own), probabilities(here, own))


@pytest.mark.parametrize(
    "make", [bntk.MDBNC, bntk.AMODE, lambda: bntk.MDBNC(class_shape="tree", feature_shape="empty")]
)
def test_classifiers_of_several_classes(make):
    frame = messy()
    targets = ["kind", "flag"]
    here = make().fit(frame.drop(columns=targets), frame[targets])
    there = make().fit(scan_of(frame), targets)
    assert there.features_.variables == here.features_.variables
    assert [c.tolist() for c in there.classes_] == [c.tolist() for c in here.classes_]
    X = frame.drop(columns=targets)
    assert np.array_equal(probabilities(there, X), probabilities(here, X))
    assert there.predict(X).equals(here.predict(X))


def test_a_classifier_of_a_scan_can_be_saved_and_goes_on_learning(tmp_path):
    frame = messy()
    X, y = frame.drop(columns="kind"), frame["kind"]
    nb = bntk.NaiveBayes().fit(scan_of(frame), "kind")
    nb.save(tmp_path / "nb.json")
    again = bntk.load(tmp_path / "nb.json").partial_fit(X, y)
    assert np.array_equal(again.predict_proba(X), bntk.NaiveBayes().fit(X, y).partial_fit(X, y).predict_proba(X))


# ---- structures ------------------------------------------------------------------------------------------------------

SEARCHES = ["auto", "hc", "tabu", "order", "exact", "k2", bntk.search.HillClimbing(restarts=3)]


@pytest.mark.parametrize("search", SEARCHES, ids=str)
@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_a_search_finds_the_structure_and_score_of_rows_in_memory(search, score):
    rows = bntk.datasets.asia().sample(2000, seed=3)
    here = learn_structure(rows, score, search=search, seed=4)
    there = learn_structure(scan_of(rows.to_pandas()), score, search=search, seed=4)
    assert there.dag == here.dag
    assert there.score == pytest.approx(here.score, rel=1e-12)
    assert there.exact == here.exact


@pytest.mark.parametrize("score", ["aic", "k2", "loglik", "bds", bntk.scores.BIC(missing="average")], ids=str)
def test_other_scores_and_missing_cells(score):
    frame = messy()[["few", "colour", "flag", "kind", "measured"]]
    here = bntk.learn(frame, score, search="hc")
    there = bntk.learn(scan_of(frame), score, search="hc")
    assert there.dag == here.dag
    assert all(np.array_equal(a.values, b.values) for a, b in zip(here.cpts, there.cpts, strict=True))


def test_trees_constraints_and_a_start():
    rows = bntk.datasets.asia().sample(2000, seed=3)
    space = bntk.Space(rows.names, forbidden=[("smoke", "lung")], max_parents=2)
    for options in ({"space": bntk.spaces.tree(rows.names)}, {"space": space, "search": "hc"}):
        assert bntk.learn(scan_of(rows.to_pandas()), "bic", **options).dag == bntk.learn(rows, "bic", **options).dag
    start = bntk.datasets.asia().dag
    here, there = (bntk.learn(data, "bic", search="hc", start=start) for data in (rows, scan_of(rows.to_pandas())))
    assert here.dag == there.dag


def test_wide_tables_are_counted_sparsely_in_both():
    rng = np.random.default_rng(0)
    frame = messy(400)[["kind"]].assign(**{f"x{k}": rng.integers(0, 9, 400) for k in range(4)})
    here, there = (bntk.learn(data, "loglik", search="hc") for data in (frame, scan_of(frame)))
    assert here.dag == there.dag


def test_passes_are_few():
    rows = bntk.datasets.asia().sample(5000, seed=1).to_pandas()
    stream = scan_of(rows)
    bntk.learn(stream, "bic", search="hc")
    assert stream.passes <= 5
    for make, most in ((bntk.NaiveBayes, 2), (bntk.TAN, 2), (bntk.AODE, 2), (bntk.FAN, 2)):
        stream = scan_of(rows)
        make().fit(stream, "dysp")
        assert stream.passes == most


def test_without_a_sample_a_search_finds_the_same(monkeypatch):
    rows = bntk.datasets.asia().sample(2000, seed=3)
    monkeypatch.setattr("bntk.learning.counts.partitions._some", lambda codes: codes[:, :0])
    there = bntk.learn(scan_of(rows.to_pandas()), "bic", search="hc")
    assert there.dag == bntk.learn(rows, "bic", search="hc").dag


# ---- parameters ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [None, 1.0, "backoff", "mle"])
def test_fit_is_that_of_rows_in_memory(prior):
    frame = messy()
    dag = "kind -> colour; kind -> many; colour -> many; flag"
    options = {} if prior is None else {"prior": prior}
    here, there = bntk.fit(dag, frame, **options), bntk.fit(dag, scan_of(frame), **options)
    for one, other in zip(here.cpts, there.cpts, strict=True):
        assert np.array_equal(one.values, other.values)
        assert np.array_equal(one.counts, other.counts)


@pytest.mark.parametrize("most", [1 << 26, 50], ids=["one pass", "a pass for each iteration"])
@pytest.mark.parametrize("weights", [None, "w"])
def test_em_is_that_of_rows_in_memory(monkeypatch, most, weights):
    monkeypatch.setattr(em_in_passes, "MOST_BYTES", most)
    net = bntk.datasets.asia()
    frame = bntk.datasets.with_missing(net.sample(600, seed=1).to_pandas(), 0.2, seed=2)
    frame["w"] = np.random.default_rng(0).integers(0, 4, len(frame)) / 2
    given = None if weights is None else frame["w"]
    here = bntk.fit_em(net.dag, frame, 1.0, weights=given, n_starts=2, max_iter=6)
    stream = scan_of(frame, weights=weights, columns=net.names)
    there = bntk.fit_em(net.dag, stream, 1.0, n_starts=2, max_iter=6)
    for one, other in zip(here.cpts, there.cpts, strict=True):
        assert np.allclose(one.values, other.values, rtol=1e-9, atol=1e-12)
    assert there.report.log_likelihood == pytest.approx(here.report.log_likelihood, rel=1e-9)


def test_em_with_a_hidden_variable():
    frame = messy()[["few", "colour", "kind"]]
    hidden = [bntk.Variable("type", ["one", "other"])]
    dag = "type -> few; type -> colour; type -> kind"
    here = bntk.fit(dag, frame, variables=hidden)
    there = bntk.fit(dag, scan_of(frame), variables=hidden)
    for one, other in zip(here.cpts, there.cpts, strict=True):
        assert np.allclose(one.values, other.values, rtol=1e-9)


# ---- what needs rows -------------------------------------------------------------------------------------------------

NEAREST = {
    bntk.A2DE: "AODE",
    bntk.WANBIA: "NaiveBayes",
    bntk.MANB: "NaiveBayes",
    bntk.AWNB: "NaiveBayes",
    bntk.EnsembleKDB: "SelectiveKDB",
    bntk.SemiNaiveBayes: "TAN",
    bntk.RMCV: "TAN",
    bntk.BayesNetClassifier: "BAN",
    bntk.STAN: "criterion='bic'",
    bntk.SPODE: "criterion='bic'",
}


@pytest.mark.parametrize("make", NEAREST, ids=lambda kind: kind.__name__)
def test_a_learner_that_needs_rows_says_so_before_one_is_read(make):
    stream = scan_of(messy())
    with pytest.raises(ArgumentError, match="looks at single rows") as refused:
        make().fit(stream, "kind")
    assert NEAREST[make] in str(refused.value)
    assert stream.passes == 0


def test_the_parameters_that_need_rows():
    stream = scan_of(messy())
    for call in (
        lambda: bntk.TAN(search="hc").fit(stream, "kind"),
        lambda: bntk.TAN(numeric="averaged").fit(stream, "kind"),
        lambda: bntk.learn(stream, "loo"),
        lambda: bntk.KDB(search="hc").fit(stream, "kind"),
    ):
        with pytest.raises(ArgumentError, match="looks at single rows"):
            call()
    assert stream.passes == 0
    for numeric in ("joint", "gaussian", "kde", "smooth:joint"):
        with pytest.raises(BntkError, match="rows"):
            bntk.NaiveBayes(numeric=numeric).fit(stream, "kind")


def test_whatever_else_needs_rows_says_so_too():
    frame, stream = messy(), scan_of(messy())
    nb = bntk.NaiveBayes().fit(frame.drop(columns="kind"), frame["kind"])
    calls = {
        "bntk.learn, and bntk.fit_em": lambda: bntk.structural_em(stream),
        "bntk.learn;": lambda: bntk.bootstrap_strengths(stream),
        "MDBNC": lambda: bntk.BinaryRelevance().fit(stream, ["kind", "flag"]),
        "batch by batch": lambda: nb.predict(stream),
        "bntk.fit_em, and classifiers": lambda: bntk.Table.from_frame(stream),
        "bntk.fit, bntk.fit_em": lambda: bntk.Discretizer("frequency").fit(stream),
    }
    for instead, call in calls.items():
        with pytest.raises(BntkError, match="single rows") as refused:
            call()
        assert instead in str(refused.value)
    assert stream.passes == 0


def test_a_network_takes_more_rows_from_a_scan():
    frame = messy()
    bn = bntk.fit("kind -> colour", frame)
    assert np.array_equal(
        bn.update(scan_of(frame)).cpt("colour").counts, bn.update(frame[["kind", "colour"]]).cpt("colour").counts
    )


def test_what_is_given_with_a_scan():
    stream = scan_of(messy())
    with pytest.raises(ArgumentError, match="name of the column of classes"):
        bntk.TAN().fit(stream, messy()["kind"])
    with pytest.raises(BntkError, match="no column 'kin'.*did you mean 'kind'"):
        bntk.TAN().fit(stream, "kin")
    with pytest.raises(BntkError, match="weights="):
        bntk.TAN().fit(stream, "kind", np.ones(700))
    with pytest.raises(BntkError, match="weights="):
        bntk.learn(stream, weights=np.ones(700))
    with pytest.raises(ValueError, match="have no class in the column 'colour'"):
        bntk.TAN().fit(stream, "colour")

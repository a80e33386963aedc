"""States and labels that are dates, times or intervals are read back as they were, from networks and classifiers."""

import datetime as dt
import json
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

import bntk
from bntk.errors import ParseError

BERLIN = ZoneInfo("Europe/Berlin")
PAIRS = [
    (dt.date(2024, 2, 29), dt.date(2025, 1, 1)),
    (dt.time(3, 4), dt.time(5, 6, 7, 8)),
    (dt.datetime(2024, 1, 1, 3), dt.datetime(2024, 1, 1, 3, 0, 0, 1)),
    (dt.datetime(2024, 7, 1, tzinfo=BERLIN), dt.datetime(2024, 1, 1, tzinfo=BERLIN)),
    (dt.timedelta(3), dt.timedelta(-5, 6, 7)),
    (pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-01 00:00:00.123456789")),
    (pd.Timestamp("2024-07-01", tz="Europe/Berlin"), pd.Timestamp("2024-01-01", tz="Europe/Berlin")),
    (pd.Timestamp("2024-01-01", tz="UTC"), pd.Timestamp("2024-01-02", tz="UTC")),
    (pd.Timedelta(1, "m"), pd.Timedelta(90, "s")),
    (pd.Period("2024-01", "M"), pd.Period("2024-02", "M")),
    (pd.Interval(-1, 0.5), pd.Interval(0.5, 2, closed="right")),
    (pd.Interval(pd.Timestamp("2024-01-01"), pd.Timestamp("2024-02-01")),
     pd.Interval(pd.Timestamp("2024-02-01"), pd.Timestamp("2024-03-01"))),
    (np.datetime64("2024-01-01"), np.datetime64("2024-01-01T01", "h")),
    (np.timedelta64(1, "D"), np.timedelta64(5, "D")),
    ((dt.date(2024, 1, 1), 1), (dt.date(2024, 1, 1), 2)),
]  # fmt: skip


@pytest.mark.parametrize("states", PAIRS, ids=lambda pair: repr(pair[0])[:40])
def test_states_come_back_from_the_file_of_a_network(states, tmp_path):
    network = bntk.BayesianNetwork.from_cpts([bntk.CPT(bntk.Variable("when", states), [0.25, 0.75])])
    network.save(tmp_path / "x.json")
    again = bntk.load(tmp_path / "x.json")
    assert again == network
    assert again.variable("when").states == states
    assert [*map(repr, again.variable("when").states)] == [*map(repr, states)]


COLUMNS = {
    "timestamps": pd.to_datetime(["2024-01-01", "2024-05-05"]),
    "nanoseconds": pd.to_datetime(["2024-01-01 00:00:00.123456789", "2024-05-05"], format="ISO8601"),
    "differences": pd.to_timedelta([1, 90], unit="m"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_classifiers_of_timestamps_come_back(name, tmp_path):
    places = np.random.default_rng(0).integers(0, 2, 40)
    when = pd.Series(COLUMNS[name][places], name="when")
    X = pd.DataFrame({"a": np.where(places ^ (np.arange(40) % 5 == 0), "x", "y"), "when": when})
    y = pd.Series(np.where(places, "p", "q"), name="y")
    fits = [
        (bntk.NaiveBayes(identifiers="keep").fit(X, y), X),
        (bntk.TAN(identifiers="keep", numeric="category").fit(X, y), X),
        (bntk.NaiveBayes().fit(X[["a"]], when), X[["a"]]),
        (bntk.BinaryRelevance(bntk.NaiveBayes()).fit(X[["a"]], pd.concat([when, y], axis=1)), X[["a"]]),
    ]
    for classifier, rows in fits:
        classifier.save(tmp_path / "x.json")
        again = bntk.load(tmp_path / "x.json")
        assert np.array_equal(np.asarray(again.predict(rows)), np.asarray(classifier.predict(rows)))
        assert np.array_equal(again.predict_proba(rows), classifier.predict_proba(rows))


@pytest.mark.parametrize(
    "label",
    [
        ["datetime.date", "2024-13-01"], ["datetime.date", "20240101"], ["pandas.Timestamp", "now", None, "us"],
        ["pandas.Timestamp", "2024-01-01T00:00:00", "../../etc", "us"], ["os.system", "ls"], ["datetime.date"], [],
        ["datetime.timedelta", 10**30], ["pandas.Interval", 2, 1, "right"], ["numpy.datetime64", 5, "x"], [[], 3],
        ["pandas.Interval", {"label": ["datetime.date"]}, 1, "right"], ["datetime.date", "9" * 10_000],
    ],
    ids=lambda label: str(label)[:40],
)  # fmt: skip
def test_what_nobody_has_written_is_refused(label):
    document = {"format": "bntk network", "version": 1, "variables": [{"name": "a", "states": [{"label": label}, 1]}]}
    document["tables"] = [{"child": "a", "values": [0.5, 0.5]}]
    with pytest.raises(ParseError, match="'a'"):
        bntk.io.FORMATS[".json"].parse(json.dumps(document))

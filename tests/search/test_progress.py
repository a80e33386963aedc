"""Progress bars of searches, which write to standard error alone."""

from __future__ import annotations

import bntk
from bntk._progress import showing_progress
from bntk.learning.learn import learn_structure


def test_a_classifier_shows_the_progress_of_its_search_when_asked_to(capsys):
    rows = bntk.datasets.asia().sample(200, seed=1).to_pandas()
    X, y = rows.drop(columns="lung"), rows["lung"]
    bntk.TAN(search="hc").fit(X, y)
    assert capsys.readouterr() == ("", "")
    with showing_progress():
        bntk.TAN(search="hc").fit(X, y)
    shown = capsys.readouterr()
    assert "GreedyAdditions" in shown.err
    assert shown.out == ""
    bntk.TAN(search="hc").fit(X, y)
    assert capsys.readouterr().err == ""


def test_exact_search_says_what_it_will_take_where_progress_is_shown(capsys):
    learn_structure(bntk.datasets.asia().sample(100, seed=1), "bic", search="exact", progress=True)
    shown = capsys.readouterr()
    assert "256 sets" in shown.err
    assert shown.out == ""

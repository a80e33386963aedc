"""A warning is shown once for each cause and line of the program; a new cause is shown; who asks for all gets all."""

import re
import textwrap
import warnings

import numpy as np
import pandas as pd
import pytest
from processes import run_python

import bntk
from bntk._warnings import causes_of
from bntk.errors import ColumnWarning, UnseenStateWarning

TABLE = """
import numpy as np, pandas as pd, bntk
from sklearn.model_selection import GridSearchCV, cross_val_score

generator, n = np.random.default_rng(1), 200
X = pd.DataFrame({"a": generator.choice(list("xyz"), n), "b": generator.choice(list("pq"), n)})
X["id"] = [f"row {i}" for i in range(n)]
X.loc[5, "a"], X.loc[77, "b"], X.loc[150, "a"] = "rare", "strange", "odd"
X.loc[generator.random(n) < 0.1, "b"] = None
y = generator.random(n) < 0.5
"""


def shown(lines):
    """The warnings that a script prints, without the lines that they are about."""
    script = TABLE + textwrap.dedent(lines)
    done = run_python(script)
    assert done.returncode == 0, done.stderr
    return re.findall(r"(\w+Warning): (.*)", done.stderr)


@pytest.mark.parametrize(
    "line",
    [
        "GridSearchCV(bntk.NaiveBayes(), {'prior': [1, 2, 5]}, cv=4, scoring=['accuracy', 'neg_log_loss'], refit=False)"
        ".fit(X, y)",
        "cross_val_score(bntk.NaiveBayes(), X, y, cv=4)",
        "for fold in [0, 1, 2, 3] * 2:\n    rows = np.arange(n) % 4 == fold\n    "
        "bntk.NaiveBayes().fit(X[~rows], y[~rows]).predict(X[rows])",
    ],
    ids=["grid search", "cross-validation", "loop"],
)
def test_a_script_shows_each_cause_once(line):
    found = shown(line)
    left = [text for kind, text in found if kind == "ColumnWarning"]
    unseen = [text for kind, text in found if kind == "UnseenStateWarning"]
    assert len(found) == len(left) + len(unseen)
    assert len(left) == 1
    assert "'id'" in left[0]
    for value in ("rare", "strange", "odd"):
        assert sum(f"'{value}'" in re.sub(r"\(known.*?\)", "", text) for text in unseen) == 1


def test_scores_and_missing_values_are_a_cause_in_terms_of_a_classifier():
    found = shown("cross_val_score(bntk.BAN(criterion='bic', missing='em'), X[['a', 'b']], y, cv=4)")
    [text] = [text for kind, text in found if kind == "MissingValuesWarning"]
    assert "criterion" in text
    assert "drop_missing" not in text


def test_another_line_and_another_table_are_told_of():
    found = shown("bntk.NaiveBayes().fit(X, y)\nX['more'] = X['id'] + '!'\nbntk.NaiveBayes().fit(X, y)")
    assert [text.count("identifies rows") for _, text in found] == [1, 2]


def test_workers_show_a_cause_once_each():
    found = shown("cross_val_score(bntk.NaiveBayes(), X, y, cv=4, n_jobs=2)")
    assert 1 <= sum(kind == "ColumnWarning" for kind, _ in found) <= 2


@pytest.fixture
def model():
    X = pd.DataFrame({"a": list("xyxy"), "b": list("ppqq")})
    return bntk.NaiveBayes().fit(X, [0, 1, 0, 1])


STRANGE = pd.DataFrame({"a": ["new"], "b": ["p"]})


def test_filters_mean_what_they_say(model):
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.predict(STRANGE)
            model.predict(STRANGE)
        assert [each.category for each in caught] == [UnseenStateWarning] * 2
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UnseenStateWarning):
                model.predict(STRANGE)
        with pytest.warns(UnseenStateWarning):
            model.predict(STRANGE)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", "values that are not", UnseenStateWarning)
            model.predict(STRANGE)
        assert caught == []


def test_only_causes_that_were_not_shown_are_named():
    found = shown("""
        import warnings
        from bntk._warnings import warn
        for causes in [("first",), ("first", "second"), ("second",), ("third", "first")]:
            warn(lambda names: f"told of {', '.join(names)}", UserWarning, causes)
    """)
    assert [text for _, text in found] == ["told of first", "told of second", "told of third"]


def test_an_evaluation_names_all_models_that_met_a_cause():
    generator, n = np.random.default_rng(0), 90
    X = pd.DataFrame({"a": generator.choice(list("xy"), n), "id": [f"row {i}" for i in range(n)]})
    y = generator.choice(list("pq"), n)
    models = {"nb": bntk.NaiveBayes(), "tan": bntk.TAN(), "kept": bntk.NaiveBayes(identifiers="keep")}
    with pytest.warns(ColumnWarning) as caught:
        bntk.evaluation.cross_validate(models, X, y, cv=[(np.arange(i, n), np.arange(i)) for i in (20, 30, 45)])
    [warning] = caught
    assert str(warning.message).startswith("nb, tan: columns that are left out: 'id'")
    with pytest.warns(ColumnWarning) as caught:
        bntk.evaluation.compare(models, {"one": (X, y), "two": (X, y)}, cv=3)
    assert [re.findall("on '(.*?)'", str(each.message)) for each in caught] == [["one"], ["two"]]


def test_the_command_shows_a_cause_once_and_in_its_own_words(folder, terminal):
    rows = bntk.datasets.asia().sample(300, seed=1).to_pandas().astype(object)
    rows["id"] = [f"row {i}" for i in range(300)]
    rows.loc[::7, "smoke"] = None
    rows.to_csv("messy.csv", index=False)
    code, _, err = terminal("bntk evaluate messy.csv --target dysp --model nb ban --score bic --folds 5")
    notes = err.splitlines()
    assert code == 0
    assert len(notes) == 2
    assert "--identifiers keep uses them" in notes[0]
    assert "--missing state" in notes[1]
    assert terminal("bntk evaluate messy.csv --target dysp --folds 3 --identifiers keep")[2] == ""
    code, _, err = terminal("bntk evaluate messy.csv messy.csv.gz --target dysp --folds 3")
    assert code == 1
    rows.to_csv("other.csv", index=False)
    code, _, err = terminal("bntk evaluate messy.csv other.csv --target dysp --folds 3")
    assert [line.split()[2] for line in err.splitlines()] == ["messy.csv:", "other.csv:"]


def test_warnings_of_others_are_their_texts():
    assert causes_of(UserWarning("x")) == {"x"}

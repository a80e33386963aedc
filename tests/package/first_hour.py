"""The first hour of four users with a messy table, printed as they see it: ``python tests/package/first_hour.py``.

The table has an id, a date, free text, whole numbers, a column without a value, and rows whose class is missing. The
users: one who knows scikit-learn, one who knows R's bnlearn and bnclassify, one in a notebook, and one at the command
line. ``test_first_hour.py`` runs this script and checks what each of them gets to see.
"""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline

import bntk
from bntk.cli.entry import main as command


def messy_table(n: int = 600, seed: int = 1) -> pd.DataFrame:
    """Customers of a shop, and whether they stay."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 85, n)
    visits = rng.integers(0, 6, n)
    income = rng.lognormal(8, 0.4, n).round(2)
    region = rng.choice(["north", "south", "east", "west"], n, p=[0.4, 0.3, 0.2, 0.1])
    plan = np.where(rng.random(n) < 0.3 + 0.4 * (income > 3000), "premium", "basic")
    log_odds = -1.5 + 0.6 * visits + 1.2 * (plan == "premium") - 0.9 * (age > 60)
    frame = pd.DataFrame(
        {
            "customer": [f"C-{i:05d}" for i in rng.permutation(n)],
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1500, n), unit="D"),
            "comment": [f"called {i} times, order {rng.integers(10**6)}" for i in range(n)],
            "age": age,
            "visits": visits,
            "income": income,
            "region": region,
            "plan": plan,
            "fax": np.full(n, np.nan),
            "stays": np.where(rng.random(n) < 1 / (1 + np.exp(-log_odds)), "yes", "no"),
        }
    )
    frame.loc[rng.random(n) < 0.1, "region"] = None
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    frame.loc[rng.choice(n, 12, replace=False), "stays"] = None
    return frame


# ---- what they see ---------------------------------------------------------------------------------------------------


def show(words: str, value: Any = None) -> None:
    """What was typed, and what came back."""
    print(f">>> {words}")
    if value is not None:
        print(value)


@contextlib.contextmanager
def seen() -> Iterator[None]:
    """Warnings as a script shows them, one line each."""
    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter("default")
        warnings.showwarning = lambda message, category, *_: print(f"{category.__name__}: {message}")  # type: ignore[assignment]
        yield


# ---- four users ------------------------------------------------------------------------------------------------------


def scikit_learn_user(table: pd.DataFrame) -> None:
    """Fit, predict, cross-validate, search a grid, put it into ensembles."""
    print("\n===== knows scikit-learn\n")
    X, y = table.drop(columns="stays"), table["stays"]
    show("tan = bntk.TAN().fit(X, y)")
    tan = bntk.TAN().fit(X, y)
    show("tan.features_in_use_", tan.features_in_use_)
    show("tan.predict_proba(X.head(2)).round(3)", tan.predict_proba(X.head(2)).round(3))
    show("tan.explain(X.head(1))", tan.explain(X.head(1)))
    show("bntk.AODE().fit(X, y)")
    try:
        bntk.AODE().fit(X, y)
    except ValueError as error:
        print(f"ValueError: {error}")
    known = y.notna()
    X, y = X[known], y[known]
    show("cross_val_score(bntk.AODE(), X, y)", cross_val_score(bntk.AODE(), X, y).round(3))
    grid = {"k": [1, 2], "prior": ["backoff", 1]}
    show(
        f"GridSearchCV(bntk.KDB(), {grid}).fit(X, y).best_params_",
        GridSearchCV(bntk.KDB(), grid).fit(X, y).best_params_,
    )
    train, test, of_train, of_test = train_test_split(X, y, random_state=0)
    for words, model in {
        "bntk.SelectiveKDB()": bntk.SelectiveKDB(),
        "make_pipeline(bntk.NaiveBayes())": make_pipeline(bntk.NaiveBayes()),
        "BaggingClassifier(bntk.TAN(), 5)": BaggingClassifier(bntk.TAN(), 5, random_state=0),
        "CalibratedClassifierCV(bntk.NaiveBayes())": CalibratedClassifierCV(bntk.NaiveBayes()),
        "StackingClassifier([('nb', bntk.NaiveBayes()), ('tan', bntk.TAN())])": StackingClassifier(
            [("nb", bntk.NaiveBayes()), ("tan", bntk.TAN())], LogisticRegression()
        ),
    }.items():
        show(f"{words}.fit(train, ...).score(test, ...)", round(model.fit(train, of_train).score(test, of_test), 3))
    complete = ["age", "visits", "plan"]  # boosting of scikit-learn refuses missing values
    boosted = AdaBoostClassifier(bntk.NaiveBayes(), n_estimators=10).fit(train[complete], of_train)
    show("AdaBoostClassifier(bntk.NaiveBayes()).fit(...).score(...)", round(boosted.score(test[complete], of_test), 3))
    show(
        "print(tan.network_.query('stays', {'age': 30, 'visits': 5}))",
        tan.network_.query("stays", {"age": 30, "visits": 5}),
    )


def r_user(table: pd.DataFrame, folder: Path) -> None:
    """Learn a structure by BIC, look at scores and strengths, fit, query, save."""
    print("\n===== knows bnlearn and bnclassify\n")
    show('bn = bntk.learn(table, "bic", search="hc")')
    bn = bntk.learn(table, "bic", search="hc")
    show("print(bn.dag)", bn.dag)
    show("bn.report.score", round(bn.report.score, 3))
    show('bntk.learn(table, numeric="width", n_bins=4).variable("income")',
         bntk.learn(table, numeric="width", n_bins=4, search="hc").variable("income"))  # fmt: skip
    known = table[["age", "visits", "plan", "stays"]].dropna()
    strengths = bntk.bootstrap_strengths(known, "bic", n=10, numeric="frequency")
    show("bntk.bootstrap_strengths(known, 'bic', n=10)", strengths)
    fitted = bntk.fit("visits -> stays <- plan", table, prior=1)
    show("print(bntk.fit('visits -> stays <- plan', table, prior=1).cpt('stays'))", fitted.cpt("stays"))
    show("print(fitted.query('stays', {'visits': 5}))", fitted.query("stays", {"visits": 5}))
    show("fitted.query('stays', {'plan': 'Premium'})")
    try:
        fitted.query("stays", {"plan": "Premium"})
    except KeyError as error:
        print(f"{type(error).__name__}: {error}")
    fitted.save(folder / "stays.bif")
    show("bntk.load('stays.bif')", bntk.load(folder / "stays.bif"))


def notebook_user(table: pd.DataFrame, folder: Path) -> None:
    """Look at pictures and tables."""
    print("\n===== in a notebook\n")
    known = table[table["stays"].notna()]
    nb = bntk.NaiveBayes(numeric={"age": [30, 60]}).fit(known.drop(columns="stays"), known["stays"])
    show(
        "nb", f"({len(nb._repr_html_inner()):,} characters of HTML, with a picture: {'<svg' in nb._repr_html_inner()})"
    )
    bn = nb.network_
    show("bn.query('stays', {'age': 70})", bn.query("stays", {"age": 70}))
    html = bn.query("stays", {"age": 70})._repr_html_()
    show("(in the notebook)", f"({len(html):,} characters of HTML)")
    bn.plot({"age": 70}, target="stays").figure.savefig(folder / "network.png")
    show("bn.plot({'age': 70}, target='stays')", f"(a picture of {(folder / 'network.png').stat().st_size > 5000})")
    show("bn.posterior(table.head(3), 'stays').round(2)", bn.posterior(table.head(3), "stays").round(2))


def command_user(table: pd.DataFrame, folder: Path) -> None:
    """The file as pandas writes it, and the commands of the README."""
    print("\n===== at the command line\n")
    table.to_csv(folder / "customers.csv")
    for line in (
        "bntk info customers.csv",
        "bntk learn customers.csv --target stays -o stays.json",
        "bntk info stays.json",
        "bntk evaluate customers.csv --target stays --model nb tan aode --folds 5",
        "bntk predict stays.json customers.csv --proba --keep all -o labelled.csv",
        "bntk query stays.json stays --given visits=5 age=30",
        "bntk query stays.json stays --given plan=Premium",
        "bntk query stays.json stays --given plan=basic plan=premium",
        "bntk learn customers.csv -o network.json",
        "bntk learn customers.csv --target income --target-bins 3 --model nb -o income.json",
        "bntk learn customers.csv --target income",
        "bntk plot stays.json -o stays.png",
    ):
        print(f"$ {line}")
        run(line, folder)
    labelled = pd.read_csv(folder / "labelled.csv")
    show("pd.read_csv('labelled.csv').columns.tolist()", labelled.columns.tolist())


def run(line: str, folder: Path) -> int:
    """A command in the folder; both of its streams are printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command(shlex.split(line)[1:])
    print(out.getvalue() + err.getvalue(), end="")
    if code:
        print(f"(exit code {code})")
    return code


def main() -> None:
    """All four."""
    table = messy_table()
    with tempfile.TemporaryDirectory() as name, seen():
        folder = Path(name)
        print(table.head(3).to_string())
        scikit_learn_user(table)
        r_user(table, folder)
        notebook_user(table, folder)
        command_user(table, folder)


if __name__ == "__main__":
    sys.exit(main())

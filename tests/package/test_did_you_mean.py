"""A name or state in another case, or misspelt, is asked back for in Python as in the command."""

import pandas as pd
import pytest

import bntk
from bntk.errors import BntkError, did_you_mean

ASIA = bntk.datasets.asia()
ROWS = ASIA.sample(50, seed=0)
FRAME = ROWS.to_pandas()

CALLS = [
    ("yes", lambda: ASIA.variable("lung").code("YES")),
    ("yes", lambda: ASIA.query("lung", {"xray": "Yes"})),
    ("yes", lambda: ASIA.query("lung", {"xray": ["Yes", "no"]})),
    ("yes", lambda: ASIA.marginals({"xray": "yess"})),
    ("yes", lambda: ASIA.mpe({"xray": "Yes"})),
    ("yes", lambda: ASIA.map("lung", {"xray": " yes"})),
    ("yes", lambda: ASIA.probability({"xray": "Yes"})),
    ("yes", lambda: ASIA.do({"xray": "Yes"})),
    ("yes", lambda: ASIA.sample(3, given={"xray": "Yes"})),
    ("yes", lambda: ASIA.query("lung")["Yes"]),
    ("yes", lambda: ASIA.cpt("lung").probability("Yes", {"smoke": "no"})),
    ("yes", lambda: ASIA.cpt("lung").probability("yes", {"smoke": "Yes"})),
    ("smoke", lambda: ASIA.cpt("lung").probability("yes", {"Smoke": "yes"})),
    ("lung", lambda: ASIA.query("Lung")),
    ("lung", lambda: ASIA.query(["xray", "lugn"])),
    ("lung", lambda: ASIA.map("Lung")),
    ("xray", lambda: ASIA.query("lung", {"XRAY": "yes"})),
    ("xray", lambda: ASIA.query("lung", soft={"Xray": [0.2, 0.8]})),
    ("xray", lambda: ASIA.do({"Xray": "yes"})),
    ("lung", lambda: ASIA.cpt("Lung")),
    ("lung", lambda: ASIA.variable("Lung")),
    ("lung", lambda: ASIA.marginals()["Lung"]),
    ("lung", lambda: ASIA.posterior(ROWS, "Lung")),
    ("lung", lambda: ASIA.dag.parents("Lung")),
    ("lung", lambda: ASIA.dag.d_separated("Lung", "asia")),
    ("lung", lambda: bntk.DAG(["smoke", "lung"], [("smoke", "Lung")])),
    ("lung", lambda: ROWS.column("Lung")),
    ("lung", lambda: ROWS.select(["Lung"])),
    ("Lung", lambda: bntk.Table.from_frame(FRAME.rename(columns={"lung": "Lung"}), variables=ASIA.variables)),
    ("Lung", lambda: bntk.fit(ASIA.dag, FRAME.rename(columns={"lung": "Lung"}))),
    ("yes", lambda: bntk.Table.from_frame(
        pd.DataFrame({"lung": ["Yes"]}), variables=[ASIA.variable("lung")], unseen="error")),
    ("lung", lambda: bntk.NaiveBayes(numeric={"Lung": "mdl"}).fit(FRAME[["lung"]], FRAME["xray"])),
    ("asia", lambda: bntk.datasets.network("Asia")),
    ("bic", lambda: bntk.learn(ROWS, score="BICC")),
    ("lung", lambda: ASIA.plot(target="Lung")),
]  # fmt: skip


@pytest.mark.parametrize(("meant", "call"), CALLS)
def test_the_name_that_may_be_meant_is_asked_for(meant, call):
    with pytest.raises((BntkError, ValueError)) as caught:
        call()
    assert f"did you mean '{meant}'?" in str(caught.value)


def test_nothing_is_asked_for_where_nothing_is_alike():
    assert did_you_mean("zebra", ["no", "yes"]) == ""
    assert did_you_mean(3, ["three"]) == ""
    assert did_you_mean("x", []) == ""
    assert did_you_mean("LOW", [1, "low"]) == "; did you mean 'low'?"
    assert did_you_mean("a", ["A", "a "]) == "; did you mean 'A'?"

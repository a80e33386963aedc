"""Make the pictures of the documentation: ``python docs/make_pictures.py`` writes them to ``docs/pictures``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import matplotlib
import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import bntk
from bntk.evaluation import Nemenyi, critical_difference
from bntk.viz.bootstrap import strengths_picture
from bntk.viz.columns import table_scene
from bntk.viz.comparison import comparison_scene
from bntk.viz.evaluation import critical_difference_scene
from bntk.viz.network import dag_scene, network_scene
from bntk.viz.scene import Scene
from bntk.viz.space import space_scene
from bntk.viz.style import CYCLE
from bntk.viz.svg import to_svg

# Of the picture of unlabelled rows.
LABELLED, UNLABELLED, TESTED, SEEDS = (10, 20, 50, 100, 200, 500, 1000), 2000, 2000, 20

Rows = Callable[[int, int], tuple[bntk.Table, np.ndarray]]


def scenes() -> dict[str, tuple[Scene, str]]:
    """The pictures by name, each with the words that describe it."""
    asia = bntk.datasets.asia()
    learned = bntk.learn_structure(asia.sample(400, seed=2), "bic", search="hc").dag
    tan = wine_tan()
    return {
        "asia": (network_scene(asia), "The network asia"),
        "asia-given": (
            network_scene(asia, {"xray": "yes", "smoke": "no"}, target="lung"),
            "Posterior bars in the nodes of asia, given a positive x-ray of someone who does not smoke",
        ),
        "tan": (
            network_scene(tan.network_, target="cultivar", strengths="mi"),
            "A tree-augmented naive Bayes classifier of wines, arcs as wide as they are strong",
        ),
        "strengths": (
            strengths_picture(bntk.bootstrap_strengths(asia.sample(500, seed=1), "bic", n=200)).scene(),
            "Bootstrap strengths: lines from the threshold up, arrow heads as large as the shares of their directions",
        ),
        "table": (table_scene(incomplete_cars()), "The variables of a table: states with their shares, missing cells"),
        "space": (space_scene(tiers()), "A space: tiers, a required arc, forbidden arcs, an arc with a weight"),
        "comparison": (comparison_scene(learned, asia), "A learned structure against the true one"),
        "critical-difference": (
            critical_difference_scene(published_ranks()),
            "Mean ranks of seven measures over 23 data sets, and which of them do not differ significantly",
        ),
        "rooms": (dag_scene(rooms()), "The packages of bntk; an arrow leads from a package to one that uses it"),
    }


def rooms() -> bntk.DAG:
    """The packages and modules at the top of bntk; an arc leads to each that uses another.

    Read off the sources, in the order of the contract of imports: what lower layers import when they are called, to
    forward to an upper one, does not count, and neither do arcs that follow from others.
    """
    root = Path(bntk.__file__).parent
    contract = tomllib.loads((root.parent / "pyproject.toml").read_text(encoding="utf-8"))
    layers = contract["tool"]["importlinter"]["contracts"][0]["layers"][::-1]
    level = {name.strip().removeprefix("bntk."): k for k, layer in enumerate(layers) for name in layer.split("|")}
    names = [name for name in level if not name.startswith("_") and name not in ("errors", "noisy", "demo", "warming")]
    uses: set[tuple[str, str]] = set()
    for path in root.rglob("*.py"):
        user = path.relative_to(root).parts[0].removesuffix(".py")
        for used in re.findall(r"(?:from|import) bntk\.(\w+)", path.read_text(encoding="utf-8")):
            if {user, used} <= {*names} and level[used] < level[user]:
                uses.add((used, user))
    return bntk.DAG(names, nx.transitive_reduction(nx.DiGraph(uses)).edges)


def incomplete_cars() -> bntk.Table:
    """The attributes of cars, one in twenty missing."""
    return bntk.datasets.with_missing(bntk.Table.from_frame(bntk.datasets.car()[0]), 0.05, seed=1)


def tiers() -> bntk.Space:
    """What someone may know about asia before any data."""
    return bntk.Space(
        bntk.datasets.asia().names,
        required=["smoke -> lung"],
        forbidden=["tub -> bronc", "bronc -> tub"],
        tiers=[["asia", "smoke"], ["tub", "lung", "bronc", "either"], ["xray", "dysp"]],
        max_parents=2,
        arc_weights={("asia", "tub"): 5.0},
    )


def published_ranks() -> Nemenyi:
    """Mean ranks by accuracy on 23 artificial sets (Halbersberg and Lerner 2016, Table 2)."""
    ranks = {"IM": 3.2, "IMα": 1.6, "MI": 4.7, "CEN": 6.9, "MCC": 3.9, "MAE": 3.8, "ACC": 3.8}
    return Nemenyi(pd.Series(ranks), pd.DataFrame(), critical_difference(7, 23), 0.05, 23)


def wine_tan() -> bntk.TAN:
    """TAN on the wines of scikit-learn."""
    from sklearn.datasets import load_wine

    wine = load_wine(as_frame=True)
    cultivar = wine.target.map(lambda k: "ABC"[k]).rename("cultivar")
    return bntk.TAN(numeric="mdl").fit(wine.data, cultivar)


# ---- with and without unlabelled rows --------------------------------------------------------------------------------


def independent_rows(n: int, seed: int) -> tuple[bntk.Table, np.ndarray]:
    """Rows of a naive Bayes model: eight features with three states each, and three classes."""
    rng, theta = np.random.default_rng(seed), np.random.default_rng(7).dirichlet(np.ones(3), size=(8, 3))
    y = rng.integers(3, size=n)
    return _table((rng.random((8, n, 1)) > theta[:, y].cumsum(axis=-1)).sum(axis=-1), 3), y


def grouped_rows(n: int, seed: int) -> tuple[bntk.Table, np.ndarray]:
    """Four features that tell of the class, and four that tell more clearly of something else."""
    rng = np.random.default_rng(seed)
    y, other = rng.integers(2, size=(2, n))
    columns = [np.where(rng.random(n) < 0.7, y, 1 - y) for _ in range(4)]
    columns += [np.where(rng.random(n) < 0.85, other, 1 - other) for _ in range(4)]
    return _table(np.array(columns), 2), y


def _table(codes: np.ndarray, n_states: int) -> bntk.Table:
    return bntk.Table.from_codes(codes, [bntk.Variable(f"x{i}", range(n_states)) for i in range(len(codes))])


def accuracies(rows: Rows, classifier: type, unlabelled: bool) -> list[float]:
    """The mean accuracy on new rows for each number of labelled rows."""
    found = []
    for n in LABELLED:
        right = []
        for seed in range(SEEDS):
            X, y = rows(n + UNLABELLED, seed)
            X_new, y_new = rows(TESTED, 1000 + seed)
            there = n + UNLABELLED if unlabelled else n
            shown = np.where(np.arange(there) < n, y[:there], np.nan)
            model = classifier().fit(X.take(np.arange(there)), shown)
            right.append(float(np.mean(model.predict(X_new) == y_new)))
        found.append(float(np.mean(right)))
    return found


def unlabelled_figure() -> Figure:
    """Accuracy against the number of labelled rows: a model that is right, and one that is wrong."""
    figure = Figure(figsize=(8.4, 3.3), layout="constrained")
    panels = figure.subplots(1, 2)
    cases: list[tuple[str, Rows]] = [
        ("naive Bayes is right", independent_rows),
        ("naive Bayes is wrong", grouped_rows),
    ]
    lines = [
        ("naive Bayes, labelled rows only", bntk.NaiveBayes, False, "o-"),
        (f"naive Bayes, and {UNLABELLED:,} unlabelled rows", bntk.NaiveBayes, True, "s--"),
        (f"TAN, and {UNLABELLED:,} unlabelled rows", bntk.TAN, True, "^:"),
    ]
    for panel, (title, rows) in zip(panels, cases, strict=True):
        for colour, (label, classifier, unlabelled, style) in zip(CYCLE, lines, strict=False):
            found = accuracies(rows, classifier, unlabelled)
            panel.plot(LABELLED, found, style, color=colour, label=label)
            print(f"{title}; {label}: {dict(zip(LABELLED, np.round(found, 3).tolist(), strict=True))}")
        _finish(panel, title)
    panels[0].set_ylabel(f"accuracy (mean of {SEEDS} samples)")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=8
    )
    return figure


def _finish(panel: Axes, title: str) -> None:
    panel.set(xscale="log", xlabel="labelled rows")
    panel.set_title(title, fontsize=10)
    panel.set_xticks(LABELLED, [f"{n:,}" for n in LABELLED])
    panel.minorticks_off()
    panel.grid(alpha=0.3)


# ---- calibration -----------------------------------------------------------------------------------------------------


def calibration_figure() -> Figure:
    """Reliability diagrams of classifiers of handwritten digits, each row predicted by a model that has not seen it."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    X, y = load_digits(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    classifiers = {
        "NaiveBayes": bntk.NaiveBayes(), "TAN": bntk.TAN(), "EnsembleKDB": bntk.EnsembleKDB(),
        "random forest": RandomForestClassifier(300, random_state=0),
    }  # fmt: skip
    figure = Figure(figsize=(9.0, 4.6), layout="constrained")
    proba = {}
    for name, classifier in classifiers.items():
        proba[name] = cross_val_predict(classifier, X, y, cv=folds, method="predict_proba")
        true = np.maximum(proba[name][np.arange(len(y)), y], 1e-6)
        figures = f"accuracy {np.mean(proba[name].argmax(1) == y):.3f}, log loss {-np.log(true).mean():.3f}"
        print(f"{name}: {figures}, calibration error {bntk.evaluation.calibration_error(y, proba[name]):.3f}")
    names = [*classifiers]
    for panel, pair in zip(figure.subplots(1, 2), (names[:2], names[2:]), strict=True):
        bntk.viz.plot_reliability(y, {name: proba[name] for name in pair}, ax=panel)
    return figure


def importances_figure() -> Figure:
    """How much each column of the wines tells."""
    return bntk.viz.plot_importances(wine_tan(), most=10).figure  # type: ignore[return-value]


def explanations_figure() -> Figure:
    """What features add to the log odds of a cultivar in all wines."""
    from sklearn.datasets import load_wine

    told = wine_tan().explain_rows(load_wine(as_frame=True).data, of="B", against="A")
    return told.plot(most=10).figure  # type: ignore[return-value]


def main() -> None:
    """Write all pictures."""
    folder = Path(__file__).parent / "pictures"
    folder.mkdir(exist_ok=True)
    for name, (scene, words) in scenes().items():
        (folder / f"{name}.svg").write_text(to_svg(scene, words) + "\n", encoding="utf-8")
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "bntk"}):  # the same figure, the same file
        figures = {
            "unlabelled": unlabelled_figure, "calibration": calibration_figure,
            "importances": importances_figure, "explanations": explanations_figure,
        }  # fmt: skip
        for name, make in figures.items():
            make().savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()

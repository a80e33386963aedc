"""Make the pictures of the documentation: ``python docs/make_pictures.py`` writes them to ``docs/pictures``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import networkx as nx
import pandas as pd

import bntk
from bntk.evaluation import Nemenyi, critical_difference
from bntk.viz.comparison import comparison_scene
from bntk.viz.evaluation import critical_difference_scene
from bntk.viz.network import dag_scene, network_scene
from bntk.viz.scene import Scene
from bntk.viz.svg import to_svg


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
    names = [name for name in level if not name.startswith("_") and name not in ("errors", "noisy", "demo")]
    uses: set[tuple[str, str]] = set()
    for path in root.rglob("*.py"):
        user = path.relative_to(root).parts[0].removesuffix(".py")
        for used in re.findall(r"(?:from|import) bntk\.(\w+)", path.read_text(encoding="utf-8")):
            if {user, used} <= {*names} and level[used] < level[user]:
                uses.add((used, user))
    return bntk.DAG(names, nx.transitive_reduction(nx.DiGraph(uses)).edges)


def published_ranks() -> Nemenyi:
    """Mean ranks by accuracy on 23 artificial sets (Halbersberg and Lerner 2016, Table 2)."""
    ranks = {"IM": 3.2, "IMα": 1.6, "MI": 4.7, "CEN": 6.9, "MCC": 3.9, "MAE": 3.8, "ACC": 3.8}
    return Nemenyi(pd.Series(ranks), pd.DataFrame(), critical_difference(7, 23), 0.05, 23)


def wine_tan() -> bntk.TAN:
    """TAN on the wines of scikit-learn."""
    from sklearn.datasets import load_wine

    wine = load_wine(as_frame=True)
    cultivar = wine.target.map(lambda k: "ABC"[k]).rename("cultivar")
    return bntk.TAN().fit(wine.data, cultivar)


def main() -> None:
    """Write all pictures."""
    folder = Path(__file__).parent / "pictures"
    folder.mkdir(exist_ok=True)
    for name, (scene, words) in scenes().items():
        (folder / f"{name}.svg").write_text(to_svg(scene, words) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""What ``bntk demo`` shows: learning tables from incomplete rows, and comparing structures on fresh ones."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import numpy as np

import bntk
from bntk.graph.dag import DAG
from bntk.network import BayesianNetwork
from bntk.table import Table


def run(rows: int, missing: float, seed: int, picture: Path) -> None:
    """Print the comparison and save the picture."""
    truth = bntk.datasets.asia()
    training = with_holes(truth.sample(rows, seed=seed), missing, seed)
    fresh = truth.sample(10_000, seed=seed + 1)
    print(f"{rows:,} rows drawn from 'asia' ({len(truth.names)} variables), {missing:.0%} of the cells removed.")
    started = time.perf_counter()
    bntk.fit(truth.dag, training.take(slice(10)))
    print(
        f"Counting is ready after {time.perf_counter() - started:.1f} s (compiled the first time, then kept on disk).\n"
    )

    started = time.perf_counter()
    models = {name: bntk.fit(dag, training, prior=bntk.priors.BDeu(1)) for name, dag in structures(truth).items()}
    seconds = time.perf_counter() - started
    print(f"Tables of {len(models)} structures, learned in {seconds:.2f} s (BDeu prior, available cases),")
    print(f"and the log-likelihood that they give to {fresh.n_rows:,} fresh rows:\n")
    print(f"  {'structure':<28}{'arcs':>6}{'parameters':>12}{'nats a row':>12}")
    for name, model in {**models, "the network itself": truth}.items():
        nats = model.log_likelihood(fresh) / fresh.n_rows
        print(f"  {name:<28}{model.dag.n_arcs:>6}{model.n_parameters:>12}{nats:>12.4f}")

    learned, true = models["asia's arcs"].cpt("dysp"), truth.cpt("dysp")
    print(f"\n{true}, learned and true (shortness of breath given bronchitis, and cancer or tuberculosis):\n")
    table = true.to_frame().rename(columns={"p": "true"})
    table.insert(len(table.columns) - 1, "learned", learned.values.ravel().round(3))
    print(table[table["dysp"] == "yes"].to_string(index=False))

    save_picture(truth.dag, picture)
    print(f"\nThe network is drawn in {picture}.")


def structures(truth: BayesianNetwork) -> dict[str, DAG]:
    """Structures to compare: no arcs, a star, a chain, and the true one."""
    names = truth.names
    others = [name for name in names if name != "dysp"]
    return {
        "no arcs": DAG(names),
        "a chain in column order": DAG(names, pairwise(names)),
        "dysp -> all (naive Bayes)": DAG(names, [("dysp", name) for name in others]),
        "asia's arcs": truth.dag,
    }


def with_holes(table: Table, share: float, seed: int) -> Table:
    """The table with a share of its cells, chosen at random, missing."""
    holes = np.random.default_rng(seed).random(table.codes.shape) < share
    codes = np.where(holes, table.cards[:, None], table.codes)
    return Table.from_codes(codes, table.variables)


def save_picture(dag: DAG, path: Path) -> None:
    """Draw without a screen, whatever matplotlib is set up for."""
    import matplotlib

    matplotlib.use("Agg")
    axes = dag.plot(highlight=["dysp"], title="asia")
    axes.figure.savefig(path, dpi=150)

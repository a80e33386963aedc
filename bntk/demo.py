"""The work of ``bntk demo``: a structure, tables and classifiers learned from incomplete rows, and compared."""

from __future__ import annotations

import io
import sys
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np

import bntk
from bntk._kernels import tell_nothing
from bntk.data.table import Table
from bntk.errors import BntkWarning
from bntk.graph.dag import DAG
from bntk.io.files import write_bytes
from bntk.learning.search import SearchResult
from bntk.network import BayesianNetwork


def run(rows: int, missing: float, seed: int, picture: Path) -> None:
    """Print the comparison and save the picture."""
    truth = bntk.datasets.asia()
    training = bntk.datasets.with_missing(truth.sample(rows, seed=seed), missing, seed=seed)
    fresh = truth.sample(10_000, seed=seed + 1)
    print(f"{rows:,} rows drawn from 'asia' ({len(truth.names)} variables), {missing:.0%} of the cells removed.")
    warm_up(training.take(slice(100)), fresh)
    found = find_structure(training)
    compare(truth, {**structures(truth), "the arcs found": found.dag}, training, fresh)
    print_table(truth, bntk.fit(found.dag, training, prior=bntk.priors.BDeu(1)))
    compare_classifiers(training, fresh)
    save_picture(found.dag, picture)
    print(f"\nThe structure found is drawn in {picture}.")


def warm_up(table: Table, fresh: Table) -> None:
    """Compile or load what is used below, so that its times are those of the work."""
    started = time.perf_counter()
    print(
        "Loading the compiled kernels (the first time on a machine they are compiled, which takes a while) ...", end=""
    )
    sys.stdout.flush()
    tell_nothing()
    bntk.learn(table.drop_missing(), "bic")
    names, y = [name for name in table.names if name != "dysp"], np.arange(table.n_rows) % 2
    X, new = table.select(names), bntk.datasets.with_missing(fresh.select(names), 0.2)
    bntk.AODE().fit(X, y).predict(new)
    bntk.TAN().fit(X, y).predict(new)
    print(f" {time.perf_counter() - started:.1f} s\n")


def find_structure(training: Table) -> SearchResult:
    """Search on the rows without missing values, since scores favour parents that have some."""
    complete = training.drop_missing()
    found = bntk.learn_structure(complete, "bic")
    kind = "the best of all structures" if found.exact else "a structure"
    print(f"From the {complete.n_rows:,} complete rows, {kind} by BIC, in {found.seconds:.2f} s:")
    print(f"  {found.dag}\n")
    return found


def compare(truth: BayesianNetwork, dags: dict[str, DAG], training: Table, fresh: Table) -> None:
    """Learn the tables of each structure from all rows, and see what likelihood they give to fresh ones."""
    started = time.perf_counter()
    models = {name: bntk.fit(dag, training, prior=bntk.priors.BDeu(1)) for name, dag in dags.items()}
    seconds = time.perf_counter() - started
    print(
        f"Tables of {len(models)} structures, learned from all rows in {seconds:.2f} s (BDeu prior, available cases),"
    )
    print(f"their distance from the true structure, and the log-likelihood of {fresh.n_rows:,} fresh rows:\n")
    print(f"  {'structure':<28}{'arcs':>6}{'distance':>10}{'parameters':>12}{'nats per row':>14}")
    for name, model in {**models, "the network itself": truth}.items():
        nats, distance = model.log_likelihood(fresh) / fresh.n_rows, model.dag.shd(truth.dag)
        print(f"  {name:<28}{model.dag.n_arcs:>6}{distance:>10}{model.n_parameters:>12}{nats:>14.4f}")


def compare_classifiers(training: Table, fresh: Table) -> None:
    """The accuracy of classifiers of shortness of breath, on complete rows and with missing values."""
    classifiers = [bntk.NaiveBayes(), bntk.TAN(), bntk.AODE(), bntk.BayesNetClassifier(space=bntk.spaces.ban)]
    known = training.take(training.column("dysp") < 2)
    X, y = known.select([n for n in known.names if n != "dysp"]), known.to_pandas()["dysp"]
    new, truth = fresh.select(X.names), fresh.to_pandas()["dysp"]
    print("\nClassifiers of dysp, learned from the same rows; fresh rows with a fifth of the cells missing, too:\n")
    print(f"  {'classifier':<28}{'accuracy':>10}{'incomplete':>12}{'time':>10}")
    for classifier in classifiers:
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BntkWarning)  # of scores of rows with missing values; see the guide
            classifier.fit(X, y)
        incomplete = bntk.datasets.with_missing(new, 0.2, seed=5)
        accuracies = classifier.score(new, truth), classifier.score(incomplete, truth)
        seconds = time.perf_counter() - started
        print(f"  {type(classifier).__name__:<28}{accuracies[0]:>10.3f}{accuracies[1]:>12.3f}{seconds:>8.2f} s")


def print_table(truth: BayesianNetwork, learned: BayesianNetwork) -> None:
    """One table beside the true one, where the structure has the same parents."""
    true = truth.cpt("dysp")
    if set(learned.dag.parents("dysp")) != {p.name for p in true.parents}:
        return
    print(f"\n{true.heading}, learned and true (shortness of breath given bronchitis, and cancer or tuberculosis):\n")
    table = true.to_frame().rename(columns={"p": "true"})
    values = learned.cpt("dysp").reorder([p.name for p in true.parents]).values
    table.insert(len(table.columns) - 1, "learned", values.ravel().round(3))
    print(table[table["dysp"] == "yes"].to_string(index=False))


def structures(truth: BayesianNetwork) -> dict[str, DAG]:
    """Structures to compare: no arcs, a star, a chain, and the true one."""
    names = truth.names
    others = [name for name in names if name != "dysp"]
    return {
        "no arcs": DAG(names),
        "a chain in column order": DAG(names, pairwise(names)),
        "dysp -> all (naive Bayes)": DAG(names, [("dysp", name) for name in others]),
        "asia's own arcs": truth.dag,
    }


def save_picture(dag: DAG, path: Path) -> None:
    """Draw without a screen, whatever matplotlib is set up for."""
    import matplotlib

    matplotlib.use("Agg")
    axes = dag.plot(highlight=["dysp"], title="asia")
    drawn = io.BytesIO()
    axes.figure.savefig(drawn, format=path.suffix[1:].lower(), dpi=150)
    write_bytes(path, drawn.getvalue())

"""Coverage-guided fuzzing of every parser with atheris; not part of the test run.

    python tests/io/fuzz_atheris.py bif -max_total_time=120
    python tests/io/fuzz_atheris.py all -max_total_time=60     # each format in turn

Options are those of libFuzzer. Any bytes must give what the file describes or one error of the package; anything else,
more than a gigabyte or more than twenty seconds stops the run and leaves the input in ``crash-*``. Such an input, made
small, then becomes a case of ``test_fuzz.py``.
"""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import atheris

INSTRUMENTED = [
    "bntk.io", "bntk.data", "bntk.cpt", "bntk.network", "bntk.graph",
    "bntk.classifiers.saving", "defusedxml", "json",
]  # fmt: skip

with atheris.instrument_imports(include=INSTRUMENTED):
    import numpy as np

    import bntk
    from bntk.errors import BntkError, ParseError
    from bntk.io import bif, dsl, json_file, json_network, net, uai, xdsl, xmlbif

warnings.simplefilter("ignore")

WRITTEN = Path(__file__).parent / "written"


def small() -> bntk.BayesianNetwork:
    a, b = bntk.Variable("a", ["no", "yes"]), bntk.Variable("b c", ["<5", "é", "z"])
    cpts = [bntk.CPT(b, [[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]], [a]), bntk.CPT(a, [0.25, 0.75])]
    network = bntk.BayesianNetwork.from_cpts(cpts)
    return bntk.fit(network.dag, network.sample(20, seed=0), prior=1)


def of_network(module: object, suffix: str) -> tuple[list[bytes], Callable[[bytes], object]]:
    seeds = [module.dump(network).encode() for network in (small(), bntk.datasets.sprinkler())]
    seeds += [path.read_bytes() for path in WRITTEN.glob(f"*{suffix}") if path.stat().st_size < 20_000]
    as_bytes = bntk.io.FORMATS[suffix].reads_bytes
    return seeds, lambda data: module.parse(data if as_bytes else data.decode("utf-8", "surrogateescape"))


def of_bif() -> tuple[list[bytes], Callable[[bytes], object]]:
    seeds, read = of_network(bif, ".bif")
    seeds.append(
        b"network x { property a; }\nvariable a { property p = (1, 2); type discrete [2] {0, \"x y\"}; } // c\n"
        b"probability ( a ) { default 0.5 0.5; }\nvariable b { type discrete [2] {u, v}; }\n"
        b"probability ( b | a ) { table 0.1, 0.2, 0.9, 0.8; /* c */ }"
    )  # fmt: skip
    return seeds, read


def of_evidence() -> tuple[list[bytes], Callable[[bytes], object]]:
    return [b"2 4 0 17 1", b"1\n1 2 0", b""], lambda data: uai.parse_evidence(data.decode("utf-8", "replace"))


def of_table(suffix: str, seeds: Iterable[bytes]) -> tuple[list[bytes], Callable[[bytes], object]]:
    path = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)) / f"x{suffix}"

    def read(data: bytes) -> object:
        path.write_bytes(data)
        return bntk.read_table(path)

    return list(seeds), read


def of_csv() -> tuple[list[bytes], Callable[[bytes], object]]:
    return of_table(".csv", [b'a,b\n1,x\n2,"y,z"\n,w\n', b"a;b\r\n1.5;yes\r\n-2;no\r\n", b"\xef\xbb\xbfa\n1\n"])


def of_arff() -> tuple[list[bytes], Callable[[bytes], object]]:
    head = b"@relation 'r r'\n% c\n@attribute a {x, 'y z', \"q\"}\n@attribute b numeric\n@attribute c string\n@data\n"
    return of_table(".arff", [head + b"x, 1.5, 'a b'\n'y z', ?, t\n", head + b"{0 'y z', 2 u}\n{}\n{1 3}\n"])


def of_classifier() -> tuple[list[bytes], Callable[[bytes], object]]:
    """Reading a classifier, and predicting with what was read."""
    from bntk.classifiers import saving

    rows = bntk.datasets.asia().sample(60, seed=1).to_pandas()[["asia", "smoke", "lung", "bronc", "dysp"]]
    rows["n"] = np.arange(60) % 7 + (rows["dysp"] == "yes")
    X, y, Y = rows[["smoke", "lung", "n"]], rows["dysp"], rows[["bronc", "dysp"]]
    one = [
        bntk.NaiveBayes(numeric={"n": "kde"}), bntk.NaiveBayes(numeric="gaussian"),
        bntk.NaiveBayes(numeric="multinomial"), bntk.TAN(), bntk.AODE(), bntk.A2DE(), bntk.WANBIA(),
    ]  # fmt: skip
    several = [bntk.MDBNC(), bntk.AMODE(), bntk.ClassifierChain(), bntk.LabelPowerset(bntk.TAN())]
    fitted = [c.fit(X, y) for c in one] + [c.fit(X, Y) for c in several]

    def read(data: bytes) -> object:
        classifier = json_file.parse(data.decode("utf-8", "replace"))
        if isinstance(classifier, bntk.BayesianNetwork):
            return classifier
        names = classifier.feature_names_in_ if hasattr(classifier, "feature_names_in_") else []
        if len(names) <= 20:
            with contextlib.suppress(ValueError, TypeError, BntkError):  # columns of another kind
                classifier.predict_proba({name: [1, None, 3] for name in names})
        return classifier

    return [saving.dump(c).encode() for c in fitted], read


FORMATS: dict[str, Callable[[], tuple[list[bytes], Callable[[bytes], object]]]] = {
    "bif": of_bif,
    "xmlbif": lambda: of_network(xmlbif, "xml*"),
    "net": lambda: of_network(net, ".net"),
    "dsl": lambda: of_network(dsl, ".dsl"),
    "xdsl": lambda: of_network(xdsl, ".xdsl"),
    "uai": lambda: of_network(uai, ".uai"),
    "evidence": of_evidence,
    "json": lambda: of_network(json_network, ".json"),
    "classifier": of_classifier,
    "arff": of_arff,
    "csv": of_csv,
}


def places(value: object, path: tuple[object, ...] = ()) -> Iterable[tuple[object, ...]]:
    """All places in a tree of lists and objects."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def mutate_tree(data: bytes, max_size: int, seed: int) -> bytes:
    """JSON with one value taken out, doubled, or put in the place of another; other bytes as libFuzzer does it."""
    generator = random.Random(seed)
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        tree = None
    found = list(places(tree))
    if not found or generator.random() < 0.3:
        return atheris.Mutate(data, max_size)
    (*above, key), (*others, other) = generator.choice(found), generator.choice(found)
    holder, source = tree, tree
    for step in above:
        holder = holder[step]
    for step in others:
        source = source[step]
    how = generator.choice(["delete", "copy", "near", "double", "plain"])
    if how == "delete":
        del holder[key]
    elif how == "near" and isinstance(holder[key], (int, float)):
        holder[key] += generator.choice([-1, 1, 0.5])
    elif how == "double" and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif how == "plain":
        holder[key] = generator.choice([None, True, 0, 1, -1, 2**40, 0.5, "", "inf", "object", [], {}])
    else:
        holder[key] = json.loads(json.dumps(source[other]))
    return json.dumps(tree).encode()[:max_size]


def fuzz(name: str, options: list[str]) -> None:
    seeds, read = FORMATS[name]()
    allowed = BntkError if name in ("arff", "csv") else ParseError
    corpus = Path(tempfile.mkdtemp())
    for number, seed in enumerate(seeds):
        (corpus / str(number)).write_bytes(seed)
        read(seed)  # what has to be compiled is not counted as the time of an input

    def one_input(data: bytes) -> None:
        try:
            read(data)
        except allowed as error:
            str(error)

    limits = ["-rss_limit_mb=2048", "-malloc_limit_mb=1024", "-timeout=20", "-max_len=20000"]
    mutator = {"custom_mutator": mutate_tree} if name in ("json", "classifier") else {}
    atheris.Setup([sys.argv[0], *limits, *options, str(corpus)], one_input, **mutator)
    atheris.Fuzz()


def main() -> None:
    name, *options = sys.argv[1:]
    if name != "all":
        fuzz(name, options)
        return
    for each in FORMATS:
        subprocess.run([sys.executable, __file__, each, *options], check=True)


if __name__ == "__main__":
    main()

"""Reading and writing network files in BIF, compared with pyAgrum and pgmpy.

python -m benchmarks.files [--quick] [--data FOLDER]
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bntk
from benchmarks import report
from benchmarks.measure import Options, PeerRun, Time, best, run_peer
from benchmarks.report import Section
from bntk.io.files import read_text

TITLE = "Network files"
NETWORKS = ("asia", "alarm", "insurance", "hailfinder", "win95pts", "andes", "link", "munin1", "munin", "diabetes")
QUICK = ("alarm", "munin1")


def pyagrum_files(path: Path, repeats: int, target: Path) -> Iterator[Any]:
    """The number of variables after each reading; then "written" after each writing."""
    import pyagrum

    yield None
    for _ in range(repeats):
        network = pyagrum.loadBN(str(path))
        yield network.size()
    for _ in range(repeats):
        network.saveBIF(str(target))
        yield "written"


def pgmpy_files(path: Path, repeats: int, target: Path) -> Iterator[Any]:
    from pgmpy.readwrite import BIFReader, BIFWriter

    yield None
    for _ in range(repeats):
        network = BIFReader(str(path)).get_model()
        yield len(network)
    for _ in range(repeats):
        BIFWriter(network).write(str(target))
        yield "written"


def split(peer: PeerRun) -> tuple[Time, Time]:
    """Time to read and to write."""
    return peer.part(lambda done: done != "written").shortest(), peer.part(lambda done: done == "written").shortest()


def network_files(options: Options) -> Section:
    section = Section(
        "Reading and writing network files",
        "Unpacked BIF files, read into a complete network and written again: text parsed, tables checked and stored. "
        "The shortest of five runs; pgmpy once for files over 100 kB.",
        ["network", "variables", "kB", "bntk reads", "pyAgrum", "pgmpy", "pyAgrum / bntk", "pgmpy / bntk",
         "bntk writes", "pyAgrum", "pgmpy"],
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for name in options.pick(NETWORKS, QUICK):
            path, target = Path(folder, f"{name}.bif"), Path(folder, "written.bif")
            path.write_text(read_text(options.network(name)), encoding="utf-8")
            network = bntk.load(path)
            reads, _ = best(lambda: bntk.load(path))  # noqa: B023
            writes, _ = best(lambda: network.save(target))  # noqa: B023
            assert bntk.load(target).is_close(network, 0.0), f"{name} does not read back"
            size = path.stat().st_size
            agrum = split(run_peer("pyAgrum", 30, pyagrum_files, path, 5, target))
            pgmpy = split(run_peer("pgmpy", 60, pgmpy_files, path, 5 if size < 100_000 else 1, target))
            section.add(
                name,
                len(network.names),
                f"{size / 1e3:,.0f}",
                reads,
                agrum[0],
                pgmpy[0],
                section.ratio(f"{name}, reading", "pyAgrum", agrum[0], reads),
                section.ratio(f"{name}, reading", "pgmpy", pgmpy[0], reads),
                writes,
                agrum[1],
                pgmpy[1],
            )
            section.ratio(f"{name}, writing", "pyAgrum", agrum[1], writes)
            section.ratio(f"{name}, writing", "pgmpy", pgmpy[1], writes)
    return section


PARTS = {"files": network_files}

if __name__ == "__main__":
    report.main()

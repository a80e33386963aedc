"""The machine and the versions that figures belong to."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

import bntk

PACKAGES = (
    "numpy", "scipy", "numba", "pandas", "scikit-learn", "pyAgrum", "pgmpy", "pybnesian", "causal-learn", "polars",
    "pyarrow",
)  # fmt: skip


def described() -> list[str]:
    """Sentences on processor, memory, system and threads; then the versions."""
    cores, system = os.cpu_count() or 1, f"{platform.system()} {platform.release().split('-')[0]}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return [
        f"Machine: {processor()}, {cores} logical cores, {memory()}; {system}.",
        f"bntk uses {bntk.n_threads()} threads where a table does not say otherwise; peers use what they choose.",
        f"{python}, bntk {bntk.__version__}, {', '.join(map(version, PACKAGES))}.",
    ]


def version(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return f"{package} not installed"


def processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB of memory"
    except (AttributeError, ValueError):
        return "memory unknown"


def load() -> str:
    """How busy the machine has been over the last one, five and fifteen minutes."""
    return " ".join(f"{x:.1f}" for x in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"

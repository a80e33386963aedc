"""Whether bntk can be installed: the wheel and the sdist, the lowest versions that are declared, other Pythons.

python -m benchmarks.installing package                  # builds both, looks into them, installs each alone, uses it
python -m benchmarks.installing lowest [PYTEST ...]      # the suite with the lowest version of each dependency
python -m benchmarks.installing python 3.13 [PYTEST ...] # the suite, or some tests, with another Python

All happens in a temporary folder, on a copy of the files that git knows; the tree stays as it is. It needs
git and the registry of packages: build and uv are installed for the time being. The suite is run without pgmpy, which
brings PyTorch. With the lowest versions, warnings are no errors: many have been mended in those packages since.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from shutil import copy2

ROOT = Path(__file__).resolve().parent.parent
#: In the repository, and of no use in an sdist.
NOT_SHIPPED = (".ci/", ".github/", ".pre-commit-config.yaml")
#: The extras whose lowest versions are tried; pgmpy's is too large.
EXTRAS = ("arrow", "dask", "notebook")
LEFT_OUT = ("pgmpy",)


def run(*words: str | Path, folder: Path = ROOT, **variables: str) -> None:
    """Run a program; stop with its exit code when it fails."""
    print("+", *words, flush=True)
    # What this process has on its path would be found in the new environment, too.
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    code = subprocess.run([*map(str, words)], cwd=folder, env={**kept, **variables}, check=False).returncode
    if code:
        sys.exit(code)


def python_of(home: Path) -> Path:
    """The Python of a virtual environment."""
    return home / ("Scripts" if os.name == "nt" else "bin") / "python"


def tools(folder: Path) -> Path:
    """The Python of an environment with build and uv."""
    venv.create(folder / "tools", with_pip=True)
    python = python_of(folder / "tools")
    run(python, "-m", "pip", "install", "--quiet", "build", "uv")
    return python


def environment(tool: Path, home: Path, python: str, *wanted: str | Path, folder: Path = ROOT) -> Path:
    """The Python of a new environment, with these packages and what they need."""
    run(tool, "-m", "uv", "venv", "--quiet", "--python", python, home)
    run(tool, "-m", "uv", "pip", "install", "--quiet", "--python", python_of(home), *wanted, folder=folder)
    return python_of(home)


def known_files() -> list[str]:
    """The files that git knows, and new ones that it does not ignore."""
    found = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [name for name in found.stdout.split("\0") if name and (ROOT / name).is_file()]


def copied(folder: Path) -> Path:
    """A copy of these files."""
    for name in known_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        copy2(ROOT / name, folder / name)
    return folder


def built(tool: Path, folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is made from it."""
    run(tool, "-m", "build", "--outdir", folder / "dist", copied(folder / "source"))
    (sdist,), (wheel,) = (folder / "dist").glob("*.tar.gz"), (folder / "dist").glob("*.whl")
    return sdist, wheel


def check_contents(sdist: Path, wheel: Path) -> None:
    """Refuse archives that hold more or less than they should."""
    known = known_files()
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    compare("the wheel", inside, {name for name in known if name.startswith("bntk/")})
    with tarfile.open(sdist) as archive:
        members = [PurePosixPath(member.name) for member in archive.getmembers() if member.isfile()]
    inside = {str(PurePosixPath(*member.parts[1:])) for member in members} - {"PKG-INFO"}
    compare("the sdist", inside, {name for name in known if not name.startswith(NOT_SHIPPED)})
    for path in (sdist, wheel):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB", flush=True)


def compare(what: str, found: set[str], expected: set[str]) -> None:
    if found != expected:
        sys.exit(f"{what} lacks {sorted(expected - found)[:9]} and has {sorted(found - expected)[:9]} too many")


def package(folder: Path, arguments: Sequence[str]) -> None:
    """Build the wheel and the sdist; install each in an empty environment, and use it there."""
    tool = tools(folder)
    sdist, wheel = built(tool, folder)
    check_contents(sdist, wheel)
    for kind, archive in (("wheel", wheel), ("sdist", sdist)):
        python = environment(tool, folder / kind, sys.executable, archive)
        run(python, "-I", copied_smoke(folder), ROOT, folder=folder)


def copied_smoke(folder: Path) -> Path:
    """The script apart from the sources."""
    return Path(copy2(ROOT / "benchmarks" / "smoke.py", folder / "smoke.py"))


def requirements(extras: Sequence[str]) -> list[str]:
    """What pyproject.toml asks for, with some extras, without what is too large."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    return [line for line in wanted if not line.startswith(LEFT_OUT)]


def suite(folder: Path, python: str, lowest: bool, arguments: Sequence[str]) -> None:
    """The tests, from an unpacked sdist, in an environment with another Python or the lowest versions."""
    tool = tools(folder)
    sdist, _ = built(tool, folder)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (source,) = (folder / "unpacked").iterdir()
    own, others = folder / "own.txt", folder / "dev.txt"
    own.write_text("\n".join(requirements(EXTRAS)))
    others.write_text("\n".join(requirements(["dev"])))
    limits: list[str | Path] = []
    if lowest:
        pins = folder / "lowest.txt"
        run(
            tool, "-m", "uv", "pip", "compile", "--quiet", "--resolution", "lowest-direct", "--python", python, own,
            "--no-annotate", "--output-file", pins, folder=folder,
        )  # fmt: skip
        limits = ["--constraint", pins]
    home = environment(tool, folder / "suite", python, *limits, "-r", own, "-r", others)
    run(tool, "-m", "uv", "pip", "install", "--quiet", "--python", home, "--no-deps", "--editable", source)
    run(home, "-I", copied_smoke(folder), folder=folder)
    mild = ["-o", "filterwarnings=default", "--disable-warnings"] if lowest else []
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    run(home, "-m", "pytest", "-n", "auto", *mild, *arguments, folder=source, **one_thread)


def lowest(folder: Path, arguments: Sequence[str]) -> None:
    """The suite with the lowest version of each dependency, with the lowest Python."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    suite(folder, project["requires-python"].removeprefix(">="), True, arguments)


def other_python(folder: Path, arguments: Sequence[str]) -> None:
    """The suite with another Python, a version or a path: python 3.13 tests/graph."""
    if not arguments:
        sys.exit("which Python? python -m benchmarks.installing python 3.13 [PYTEST ...]")
    suite(folder, arguments[0], False, arguments[1:])


TASKS = {"package": package, "lowest": lowest, "python": other_python}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in TASKS:
        sys.exit(__doc__)
    before = known_files()
    with tempfile.TemporaryDirectory() as scratch:
        TASKS[sys.argv[1]](Path(scratch), sys.argv[2:])
    compare("the tree afterwards", {*known_files()}, {*before})

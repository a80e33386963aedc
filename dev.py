"""Set-up and chores in one place: ``python3 dev.py demo | test | check | docs``.

Needs Python 3.11 or newer and nothing else. It makes a virtual environment in ``.venv`` (kept for the next time),
installs what the chore needs into it, and runs the chore there.
"""

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
HOME = ROOT / ".venv"
BIN = HOME / ("Scripts" if os.name == "nt" else "bin")


def run(program: str, *arguments: str, **variables: str) -> None:
    """Run a program of the environment in the project's folder; stop with its exit code when it fails."""
    print("+", program, *arguments, flush=True)
    environment = {**os.environ, **variables}
    code = subprocess.run([str(BIN / program), *arguments], cwd=ROOT, env=environment, check=False).returncode
    if code:
        sys.exit(code)


def install(extras: str) -> None:
    """Install the project, unless this pyproject.toml has been installed with these extras before."""
    mark = HOME / f"installed-{extras or 'plain'}"
    state = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    if not BIN.exists():
        venv.create(HOME, with_pip=True)
    if not mark.exists() or mark.read_text() != state:
        run("python", "-m", "pip", "install", "--quiet", "--editable", f".[{extras}]" if extras else ".")
        mark.write_text(state)


def demo(*arguments: str) -> None:
    """Learn from embedded data, print a comparison, save a picture."""
    install("")
    run("bntk", "demo", *arguments)


def test(*arguments: str) -> None:
    """Run the tests and the examples in the docstrings, on all cores (``-n 0``: in one process)."""
    install("dev")
    # One process per core; the threads of scikit-learn's linear algebra would wait for each other.
    chosen = any(word.startswith(("-n", "--numprocesses", "--pdb")) for word in arguments)
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    # Many tests start processes, which read the bytecode of the package, if it may be written.
    run("pytest", *(() if chosen else ("-n", "auto")), *arguments, **one_thread, PYTHONDONTWRITEBYTECODE="")


def check() -> None:
    """Lint, formatting, types, the import contract, the examples in the documentation, and its site."""
    install("dev")
    run("ruff", "check", ".")
    run("ruff", "format", "--check", ".")
    run("mypy")
    run("lint-imports")
    run("pytest", "--doctest-glob=*.md", "README.md", "CONTRIBUTING.md", "docs")
    docs()


def docs(*arguments: str) -> None:
    """Build the documentation in docs/_build/html; a warning is an error."""
    install("dev")
    strict = ("--fail-on-warning", "--keep-going", "--fresh-env", "--quiet")
    run("sphinx-build", *strict, *arguments, "docs", "docs/_build/html")


CHORES = {"demo": demo, "test": test, "check": check, "docs": docs}

if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit(f"bntk needs Python 3.11 or newer; this is {sys.version.split()[0]}")
    if len(sys.argv) < 2 or sys.argv[1] not in CHORES:
        sys.exit("usage: python3 dev.py CHORE\n\n" + "\n".join(f"  {k:<7}{f.__doc__}" for k, f in CHORES.items()))
    CHORES[sys.argv[1]](*sys.argv[2:])

"""The tests with all the cases of which they run a sample by default, and many times as many random examples.

python -m benchmarks.all_cases [ARGUMENTS OF PYTEST]
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Run pytest in the folder of the project; its exit code."""
    environment = {**os.environ, "BNTK_ALL_CASES": "1"}
    project = Path(__file__).parent.parent
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], env=environment, cwd=project).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

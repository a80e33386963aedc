"""The interpreter of the explorer in a process of Node that answers one request after another."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Self

from bntk.explore.html import engine_script

#: What Node is called here; None without one.
NODE = shutil.which("node") or shutil.which("nodejs")


class Interpreter:
    """A process of Node with the interpreter loaded; use it as a context."""

    def __enter__(self) -> Self:
        assert NODE is not None
        command = [NODE, str(Path(__file__).with_name("node.js"))]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8")
        self.ask("script", engine_script())
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()  # type: ignore[union-attr]

    def ask(self, what: str, argument: Any) -> Any:
        """What the interpreter answers; an error of JavaScript is raised with its stack."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([what, argument]) + "\n")
        self._process.stdin.flush()
        found = json.loads(self._process.stdout.readline())
        if "error" in found:
            raise RuntimeError(found["error"])
        return found["answer"]

    def call(self, method: str, *args: Any) -> Any:
        """A method of the engine of the present model."""
        return self.ask("call", {"method": method, "args": list(args)})

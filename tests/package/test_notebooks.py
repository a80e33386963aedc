"""The notebooks run from top to bottom, and show what is stored in them."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    pytest.importorskip("nbclient", reason="nbclient (the extra [notebook]) is not installed")
    spec = importlib.util.spec_from_file_location("execute_notebooks", FOLDER / "execute.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def kernel(tool: ModuleType) -> Iterator[Any]:
    """One kernel for all: what others' packages take to be imported would be most of the time of some notebooks."""
    from jupyter_client.manager import AsyncKernelManager

    manager = AsyncKernelManager(kernel_name="python3")
    yield manager
    if manager.has_kernel:
        asyncio.run(manager.shutdown_kernel(now=True))


def test_all_nine_are_there():
    assert [path.name[0] for path in NOTEBOOKS] == list("123456789")


@pytest.mark.filterwarnings("ignore")  # of the kernel's own machinery; what a cell warns of is in its output
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_is_stored(path, tool, kernel):
    import nbformat

    stored = nbformat.read(path, as_version=4)
    for cell, fresh, kept in zip(
        (cell for cell in stored.cells if cell.cell_type == "code"),
        tool.texts(tool.executed(path, kernel)),
        tool.texts(stored),
        strict=True,
    ):
        assert fresh == kept, f"run notebooks/execute.py {path.name}; this cell shows something else:\n{cell.source}"

"""Run the notebooks and store them with their outputs: python notebooks/execute.py [NAME.ipynb ...]"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
#: What a kernel that is used again runs first: no name is left, bntk is imported as if for the first time, and nothing
#: is said of compiling, which depends on what the cache has.
BEFORE = """
import sys
for name in [name for name in sys.modules if name.partition(".")[0] == "bntk"]:
    if name == "bntk._kernels":
        sys.modules[name].tell_nothing()
    del sys.modules[name]
from bntk._kernels import tell_nothing
tell_nothing()
%reset -f
"""


def executed(path: Path, kernel: Any = None) -> Any:
    """The notebook with fresh outputs; raises an error of nbclient when a cell does.

    ``kernel`` is the manager of a kernel that may have run other notebooks; by default, the notebook has its own.
    """
    notebook = nbformat.read(path, as_version=4)
    folder = {"metadata": {"path": str(HERE)}}
    client = NotebookClient(notebook, km=kernel, timeout=600, kernel_name="python3", resources=folder)
    if kernel is not None:
        notebook.cells.insert(0, nbformat.v4.new_code_cell(BEFORE))
    client.execute()
    if kernel is not None:
        del notebook.cells[0]
        client.kc.stop_channels()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata = {}
    return notebook


def texts(notebook: Any) -> list[list[str]]:
    """What each code cell has printed or shown as text; white space does not count, nor the sizes of figures."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            streams = "".join(o.text for o in cell.outputs if o.output_type == "stream")
            shown = [o.data.get("text/plain", "") for o in cell.outputs if "data" in o]
            found.append([" ".join(text.split()) for text in (streams, *shown) if not text.startswith("<Figure")])
    return found


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(path.name for path in HERE.glob("*.ipynb")):
        print(name, flush=True)
        nbformat.write(executed(HERE / name), HERE / name)

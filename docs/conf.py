"""How the documentation is built: ``python3 dev.py docs``. Nothing is fetched and no notebook is run."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import bntk

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

project = "bntk"
author = copyright = "the bntk developers"
version = release = bntk.__version__
language = "en"

extensions = [
    "myst_nb",
    "mathml",
    "names",
    "numpydoc",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]

# Pages are Markdown, with formulas between dollar signs; notebooks show the outputs that are stored in them.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"
nb_merge_streams = True

# The reference is written from the docstrings.
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
python_display_short_literal_types = True
maximum_signature_line_length = 88
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
toc_object_entries_show_parents = "hide"

nitpicky = True

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"bntk {release}"
html_static_path = ["_static"]
html_css_files = ["bntk.css"]
html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Packages that are public under a shorter name than that of their module.
SHORT_NAMES = ("cuts", "priors", "scores", "search", "spaces")


def setup(app: Any) -> None:
    """Let the reference find names where users do, and put the notebooks beside the pages."""
    for name in SHORT_NAMES:
        sys.modules[f"bntk.{name}"] = getattr(bntk, name)
    app.connect("source-read", _close_examples)
    app.connect("config-inited", lambda app, config: _copy_notebooks())
    app.connect("build-finished", _write_explorer)


def _write_explorer(app: Any, problem: Exception | None) -> None:
    """The network asia as a page that answers by itself, for the frame on the first page."""
    if problem is None and app.builder.format == "html":
        folder = Path(app.outdir, "_static")
        folder.mkdir(exist_ok=True)
        bntk.datasets.asia().explore(folder / "explorer-asia.html", target="lung", given={"xray": "yes"}, title="asia")


def _close_examples(app: Any, page: str, source: list[str]) -> None:
    """Take away the empty line that ends the last output of an example for doctest."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def _copy_notebooks() -> None:
    target = HERE / "notebooks"
    target.mkdir(exist_ok=True)
    kept = set()
    for notebook in sorted((HERE.parent / "notebooks").glob("*.ipynb")):
        copy = target / notebook.name
        kept.add(copy)
        if not copy.exists() or copy.read_bytes() != notebook.read_bytes():
            shutil.copyfile(notebook, copy)
    for old in set(target.glob("*.ipynb")) - kept:
        old.unlink()

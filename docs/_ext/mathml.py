"""Formulas as MathML, which browsers show by themselves: nothing is fetched, and wrong LaTeX is a warning."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


def write(translator: Any, node: Any) -> None:
    """Write a formula, inline or as a block."""
    block = isinstance(node, nodes.math_block)
    try:
        formula = tex2mathml(node.astext(), as_block=block)
    except Exception as error:
        LOGGER.warning("this formula is not understood: %s", error, location=node)
        formula = translator.encode(node.astext())
    # A function and its argument stand apart, unless there are brackets between them.
    formula = re.sub(r"(<mo>&ApplyFunction;</mo>)(?!\s*<mo[^>]*>\()", r'\1<mspace width="0.17em"/>', formula)
    translator.body.append(f'<div class="math">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (write, None), (write, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

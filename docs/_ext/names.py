"""A directive for the reference: a table of names of a module, then what the docstring of each says.

.. code-block:: rst

   .. names:: bntk.scores

      score
      explain

   .. names:: bntk.scores
      :declared: bntk.scores.DecomposableScore

With ``declared`` the names are those of the classes that derive from that class and declare a name of their own.

References in docstrings may be short, or name the module in which an object is defined: ``:class:`BIC``` and
``:class:`bntk.learning.scores.decomposable.BIC``` both lead to the entry of ``bntk.scores.BIC``.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any, ClassVar

from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

import bntk

# Classes whose members are described once, with them, and not again with every class that derives from them.
COMMON = (
    "RowReader, BayesClassifier, NetworkClassifier, MultiTargetClassifier, MultiBayesClassifier, "
    "ComposedClassifier, "
    "Score, DecomposableScore, KernelScore, PredictiveScore, FoldScore, ConfusionScore, Evaluator, Search, Counter, "
    "BaseEstimator, ClassifierMixin, TransformerMixin, BaseCrossValidator, "
    "BntkError, BntkWarning, Exception, Mapping, Protocol, dict, tuple"
)


class Names(SphinxDirective):
    """The entries of some names of one module."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"declared": str}

    def run(self) -> list[Any]:
        """The table and the entries, as nodes."""
        module, names = self.arguments[0], [line.strip() for line in self.content if line.strip()]
        if "declared" in self.options:
            names += declared(module, self.options["declared"])
        lines = [f".. currentmodule:: {module}", "", ".. autosummary::", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in names] + [""]
        for name in names:
            kind = _kind(f"{module}.{name}")
            lines += [f".. auto{kind}:: {module}.{name}"]
            if kind in ("class", "exception"):
                lines += ["   :members:", f"   :inherited-members: {COMMON}"]
            lines += [""]
        return self.parse_text_to_nodes("\n".join(lines))


class Formats(SphinxDirective):
    """The suffixes of network files, and what each format is."""

    def run(self) -> list[Any]:
        """A list, as nodes."""
        kinds = bntk.io.FORMATS.classes.values()
        lines = [f"- {', '.join(f'``{suffix}``' for suffix in kind.names)}: {kind.help}" for kind in kinds]
        return self.parse_text_to_nodes("\n".join(lines))


def locate(path: str) -> Any:
    """The object that a user reaches by that path, or None."""
    parts = path.split(".")
    found = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part) if hasattr(found, part) else importlib.import_module(".".join(parts[:i]))
        except ImportError:
            return None
    return found


def declared(module: str, base: str) -> list[str]:
    """The public classes of a module that derive from a class and declare a name, in the order of these names."""
    offered, kind = locate(module), locate(base)
    found = [getattr(offered, name) for name in offered.__all__]
    classes = [cls for cls in found if inspect.isclass(cls) and issubclass(cls, kind) and _declared_name(cls)]
    return [cls.__name__ for cls in sorted(classes, key=_declared_name)]


def _declared_name(cls: Any) -> str:
    return vars(cls).get("name") or next(iter(vars(cls).get("suffixes", ())), "")


def _kind(path: str) -> str:
    obj = locate(path)
    if obj is None:
        raise ValueError(f"the reference names {path}, which does not exist")
    if inspect.isclass(obj):
        return "exception" if issubclass(obj, BaseException) else "class"
    return "function" if inspect.isroutine(obj) else "data"


def resolve(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Where a reference leads that is short, or names the module in which the object is defined."""
    if node.get("refdomain") != "py":
        return None
    target, objects = node["reftarget"], env.get_domain("py").objects
    if target.startswith("bntk."):
        meant = locate(target)
        found = [name for name in objects if meant is not None and locate(name) is meant]
    else:
        found = [name for name in objects if name.endswith(f".{target}")]
    if not found:
        return None
    entry = objects[min(found, key=lambda name: (name.count("."), name))]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, target)


def skip(app: Any, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool:
    """Leave out what scikit-learn adds to every estimator, and attributes that are a word or a parameter."""
    from_sklearn = name == "get_metadata_routing" or re.fullmatch("set_.*_(request|output)|set_output", name)
    return bool(skipped or from_sklearn or isinstance(obj, str))


def unlink(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Take away links of attributes in the lists of numpydoc: most are described where they are inherited from."""
    lines[:] = [re.sub(r":obj:`(\w+) <\.\1>`", r"**\1**", line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Register the directive and the references."""
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.autosummary")
    app.add_directive("names", Names)
    app.add_directive("formats", Formats)
    app.connect("missing-reference", resolve)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", unlink, priority=600)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}

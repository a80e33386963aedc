"""The page as one file: styles, scripts and the model inside, and a policy that forbids everything else.

The scripts are packed (unpack.js) rather than minified: with all of them the page of asia takes less than 80 kB, so
that nothing has to be renamed or rewritten, and what runs is what the sources say, without their comments.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

#: The scripts of the interpreter, which share a scope of their own; of it the page sees ``createEngine`` alone.
ENGINE = ("engine.js", "decisions.js", "cases.js")
#: The page's own scripts and styles are all files of this folder, by name; then the page is started.
PAGE, START, UNPACK = "page", "boot.js", "unpack.js"

_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<div id="bntk"></div>
<noscript>This page computes its answers by itself, and needs JavaScript for it.</noscript>
<script type="application/json" id="bntk-model">{model}</script>
<script type="text/plain" id="bntk-script" data-size="{size}">{packed}</script>
<script>{unpacking}</script>
</body>
</html>
"""


def html_of(model: dict[str, Any], title: str) -> str:
    """The page that shows a model; the same model gives the same text."""
    style, script, unpacking = styles(), scripts(), unpacking_script()
    # Half of a surrogate pair, which no file can hold, becomes a question mark.
    shown = escape(title.encode("utf-8", "replace").decode())
    # Pictures of the page itself, for saving as PNG, are the only other thing that it loads.
    policy = (
        f"default-src 'none'; script-src '{_hash(unpacking)}' '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return _TEMPLATE.format(
        policy=escape(policy, quote=False),
        title=shown,
        style=style,
        model=json_for_html(model),
        size=len(script.encode()),
        packed=packed(script),
        unpacking=unpacking,
    )


def json_for_html(value: Any) -> str:
    """JSON that ends no element and begins no comment, whatever names it holds; ASCII only."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def packed(text: str) -> str:
    """A text as unpack.js reads it: UTF-8, deflated, in base64."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base64.b64encode(packer.compress(text.encode()) + packer.flush()).decode()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# ---- sources ---------------------------------------------------------------------------------------------------------


@cache
def styles() -> str:
    """All styles."""
    return "\n".join(shortened(_source(name)) for name in _page_files(".css"))


@cache
def scripts() -> str:
    """All scripts, as one function that is called."""
    engine = engine_script()
    page = "\n".join(shortened(_source(name)) for name in (*_page_files(".js"), START))
    return f'(()=>{{"use strict";\nconst createEngine={engine};\n{page}\n}})();'


@cache
def engine_script() -> str:
    """The interpreter as an expression of JavaScript whose value is ``createEngine``."""
    source = "\n".join(shortened(_source(name)) for name in ENGINE)
    return f"(()=>{{\n{source}\nreturn createEngine;\n}})()"


@cache
def unpacking_script() -> str:
    """The script that unpacks the others."""
    return f'(()=>{{"use strict";\n{shortened(_source(UNPACK))}\nunpack("bntk-script");\n}})();'


def _page_files(suffix: str) -> list[str]:
    folder = files(__package__) / PAGE
    return sorted(f"{PAGE}/{entry.name}" for entry in folder.iterdir() if entry.name.endswith(suffix))


def _source(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def shortened(source: str) -> str:
    r"""A source without indentation, blank lines, and comments that have lines of their own.

    Line ends stay, so that no statement changes. This is right for sources in which no string or template goes over
    several lines, and a comment of several lines begins and ends on lines of its own; others are refused.

    >>> shortened("/* about\n   it */\nlet a = 1; // one\n  // two\n  let b = 2;\n")
    'let a = 1; // one\nlet b = 2;'
    """
    kept, comment = [], False
    for line in map(str.strip, source.splitlines()):
        if comment or line.startswith("/*"):
            comment = "*/" not in line
            if not comment and not line.endswith("*/"):
                raise ValueError(f"a comment must end its line: {line}")
            continue
        if not line or line.startswith("//") or line == '"use strict";':
            continue
        if _goes_on(line):
            raise ValueError(f"a template, a string or a comment goes over several lines: {line}")
        kept.append(line)
    return "\n".join(kept)


def _goes_on(line: str) -> bool:
    """Whether a template, a string or a comment may go on in the next line; rather too often than too seldom."""
    unpaired = line.count("`") % 2 > 0 or "\\`" in line or ("`" in line and line.count("${") > line.count("}"))
    comment = "/*" in line and "*/" not in line[line.rindex("/*") :]
    return unpaired or comment or line.endswith("\\")

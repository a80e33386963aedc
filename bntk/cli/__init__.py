"""The ``bntk`` command: one short module per command; ``options``, ``inputs`` and ``output`` are shared."""

from __future__ import annotations

from bntk.cli.entry import main

__all__ = ["main"]

"""The explorer: a network in one HTML file that answers by itself, and its view in notebooks."""

from __future__ import annotations

from bntk.explore.explorer import MAX_ENTRIES, explore
from bntk.explore.view import ExplorerView

__all__ = ["MAX_ENTRIES", "ExplorerView", "explore"]

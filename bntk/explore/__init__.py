"""The explorer: a network in one HTML file that answers by itself, and its view in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bntk.explore.limits import MAX_ENTRIES as MAX_ENTRIES

if TYPE_CHECKING:
    from bntk.explore.explorer import explore
    from bntk.explore.view import ExplorerView

__all__ = ["ExplorerView", "explore"]


def __getattr__(name: str) -> object:
    """Import what is heavy when it is used: the command asks for a limit alone."""
    if name == "explore":
        from bntk.explore.explorer import explore

        return explore
    if name == "ExplorerView":
        from bntk.explore.view import ExplorerView

        return ExplorerView
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

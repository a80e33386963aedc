"""What a page may be, for those who ask before anything is imported."""

from __future__ import annotations

#: The clique entries that a page may run through at a click, which takes a browser some tenths of a second, and may
#: keep in memory a few times.
MAX_ENTRIES = 4_000_000
#: The suffixes of pages.
SUFFIXES = (".html", ".htm")

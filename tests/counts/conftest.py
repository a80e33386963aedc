from __future__ import annotations

from collections.abc import Iterator

import pytest

import bntk
from bntk.learning.counts import families, planes


@pytest.fixture(autouse=True)
def default_threads() -> Iterator[None]:
    """Restore the number of threads after each test."""
    yield
    bntk.set_threads(None)


@pytest.fixture
def eager_threads(monkeypatch) -> None:
    """Use threads however little there is to do."""
    monkeypatch.setattr(families, "WORTH_A_THREAD", 0)
    monkeypatch.setattr(planes, "WORTH_A_THREAD", 0)

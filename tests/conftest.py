"""Settings for all tests."""

import pytest
from hypothesis import settings

# The first call of a kernel compiles it, and the machine may be busy: a slow example says nothing.
settings.register_profile("bntk", deadline=None)
settings.load_profile("bntk")


@pytest.fixture(autouse=True)
def forgotten_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests are no loop over searches, though pytest calls all of them from the same place."""
    monkeypatch.setattr("bntk._interrupts._cut_off", None)

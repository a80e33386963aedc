"""Settings for all tests."""

import gc
from collections.abc import Generator, Iterator

import pytest
from cases import examples
from hypothesis import settings

from bntk._kernels import compiling_all

# The first call of a kernel compiles it, and the machine may be busy: a slow example says nothing.
settings.register_profile("bntk", deadline=None, max_examples=examples(40, 100))
settings.load_profile("bntk")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay until the end: the garbage collector does not look at them, now or during the tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def forgotten_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests are no loop over searches, though pytest calls all of them from the same place."""
    monkeypatch.setattr("bntk._interrupts._cut_off", None)


@pytest.fixture(autouse=True, scope="session")
def compiled_kernels() -> Iterator[None]:
    """Tests are of compiled kernels, whatever is in the cache; what is done without them is compared with these."""
    with compiling_all():
        yield

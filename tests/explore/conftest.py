import pytest

from benchmarks.explorer.node import NODE, Interpreter


@pytest.fixture(scope="session")
def interpreter():
    """The interpreter of the page in one process of Node."""
    if NODE is None:
        pytest.skip("Node is not installed; it runs the interpreter of the explorer")
    with Interpreter() as running:
        yield running

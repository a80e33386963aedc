"""The examples of the pages are run as tests; their pictures are closed after each page."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _figures_are_closed() -> Iterator[None]:
    import matplotlib.pyplot as plt

    with plt.rc_context({"figure.max_open_warning": 0}):  # a page about pictures has many
        yield
    plt.close("all")

import matplotlib as mpl
import pytest

mpl.use("Agg")


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")

"""A network without variables is a network, in every format; an empty file is none."""

import pytest

import bntk
from bntk.errors import ParseError
from bntk.io import FORMATS

EMPTY = bntk.BayesianNetwork(bntk.DAG([]), [])


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("suffix", FORMATS)
def test_an_empty_network_is_read_back(suffix, packed, tmp_path):
    path = tmp_path / f"empty{suffix}{packed}"
    EMPTY.save(path)
    assert bntk.load(path) == EMPTY


@pytest.mark.parametrize("text", ["", " \n\n"])
@pytest.mark.parametrize("suffix", FORMATS)
def test_an_empty_file_is_no_network(suffix, text, tmp_path):
    path = tmp_path / f"empty{suffix}"
    path.write_text(text)
    with pytest.raises(ParseError, match=f"empty{suffix}"):
        bntk.load(path)


def test_an_empty_network_has_an_empty_frame_of_tables():
    assert EMPTY.to_frame().empty
    assert list(EMPTY.to_frame().columns) == list(bntk.datasets.asia().to_frame().columns)

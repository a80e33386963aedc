"""A file over 100 MB is written only if that is asked for, and is refused before its text is made."""

import numpy as np
import pandas as pd
import pytest

import bntk
from bntk.errors import TooLargeError
from bntk.io import FORMATS, sizes


def large(n_states=45):
    names = ["a", "b", "wide"]
    variables = [bntk.Variable(name, range(n_states)) for name in names]
    numbers = np.random.default_rng(0).dirichlet(np.ones(n_states), size=(n_states, n_states))
    even = np.full(n_states, 1 / n_states)
    cpts = [bntk.CPT(variables[0], even), bntk.CPT(variables[1], even), bntk.CPT(variables[2], numbers, variables[:2])]
    return bntk.BayesianNetwork.from_cpts(cpts)


@pytest.fixture
def small_limit(monkeypatch):
    monkeypatch.setattr(sizes, "LARGEST", 1_000_000)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("suffix", FORMATS.helps)
def test_a_large_network_needs_force_in_every_format(suffix, packed, tmp_path, monkeypatch, small_limit):
    network, path = large(), tmp_path / f"large{suffix}{packed}"
    with monkeypatch.context() as patch:
        patch.setattr(FORMATS[suffix], "dump", staticmethod(lambda _: pytest.fail("the text was made")))
        with pytest.raises(
            TooLargeError, match=r"about \d MB, more than 1 MB.*P\(wide \| a, b\) with \d MB.*force=True"
        ):
            network.save(path)
    assert list(tmp_path.iterdir()) == []
    network.save(path, force=True)
    assert len(bntk.load(path).cpts) == 3


def test_the_estimate_is_near_the_size(tmp_path):
    network = large(40)
    told = sum(sizes._sizes(sizes.tables_of(network, counts=True)).values())
    network.save(tmp_path / "x.json")
    assert 0.8 < told / (tmp_path / "x.json").stat().st_size < 1.1


def test_a_text_that_turns_out_too_long_is_refused(tmp_path, monkeypatch):
    variable = bntk.Variable("long", ["x" * 500 + str(i) for i in range(100)])
    network = bntk.BayesianNetwork.from_cpts([bntk.CPT(variable, np.full(100, 0.01))])
    monkeypatch.setattr(sizes, "LARGEST", 20_000)
    with pytest.raises(TooLargeError, match="more than"):
        network.save(tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("classifier", [bntk.TAN(), bntk.AODE(), bntk.NaiveBayes(numeric="kde")], ids=repr)
def test_a_large_classifier_needs_force(classifier, tmp_path, monkeypatch):
    monkeypatch.setattr(sizes, "LARGEST", 100_000)
    generator, n = np.random.default_rng(0), 10_000
    if classifier.numeric == "kde":
        X = pd.DataFrame({"number": generator.normal(size=n)})
    else:
        X = pd.DataFrame({name: generator.integers(0, 200, n).astype(str) for name in ("one", "two")})
    fitted = classifier.fit(X, generator.integers(0, 2, n))
    with pytest.raises(TooLargeError, match="force=True") as caught:
        fitted.save(tmp_path / "x.json")
    assert any(name in str(caught.value) for name in ("P(one", "P(two", "AODE", "densities_"))
    assert list(tmp_path.iterdir()) == []
    fitted.save(tmp_path / "x.json", force=True)
    np.testing.assert_array_equal(bntk.load(tmp_path / "x.json").predict_proba(X[:50]), fitted.predict_proba(X[:50]))

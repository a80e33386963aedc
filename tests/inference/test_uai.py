"""UAI files: what they say is read, what they cannot mean is refused by line, and their answers are ours."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from references import shared

from bntk.errors import ParseError
from bntk.inference.approximate.loopy import LoopyProgram
from bntk.inference.exact.program import Factor, compile_factors
from bntk.io import uai

MODEL = """MARKOV
3
2 2 3
3
1 0
2 0 1
0

2
 0.5 1.5
4
 1 2
 3 4
1 7
"""


def test_a_model_is_read_as_it_is_written():
    model = uai.parse_model(MODEL)
    assert model.cards == (2, 2, 3)
    assert model.scopes == ((0,), (0, 1), ())
    np.testing.assert_array_equal(model.tables[1], [[1, 2], [3, 4]])
    program = compile_factors(map(Factor, model.scopes, model.tables), model.cards)
    assert program.calibrate().log_z == pytest.approx(math.log(7 * 3 * (0.5 * 3 + 1.5 * 7)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("MARKOV", "GAUSS", "line 1.*MARKOV or BAYES"),
        ("2 2 3", "2 0 3", "line 3.*no states"),
        ("2 2 3", "2 x 3", "line 3.*whole number.*'x'"),
        ("2 0 1\n", "2 0 3\n", "line 6.*no variable 3"),
        ("2 0 1\n", "2 1 1\n", "line 6.*twice"),
        ("4\n 1", "5\n 1", "line 11.*4 entries, not 5"),
        ("3 4", "3 -4", "line 13.*not negative"),
        ("3 4", "3 four", "line 13.*not a number"),
        ("3 4", "3 nan", "line 13.*finite"),
        ("1 7", "1", "line 14.*only 0 words"),
        ("1 7", "1 7 8", "line 14.*too many"),
        ("3\n2 2 3", "99999999999999 2 2 3", "line 2.*only"),
    ],
)
def test_what_a_model_cannot_mean_is_refused_by_line(old, new, message):
    with pytest.raises(ParseError, match=f"file, {message}"):
        uai.parse_model(MODEL.replace(old, new, 1), "file")


@drawn(st.text(alphabet="MARKOVBYES 0123456789.-e\n", max_size=60))
def test_any_text_is_a_model_or_a_parse_error(text):
    for parse, kind in ((uai.parse_model, uai.UAIModel), (uai.parse_evidence, dict)):
        try:
            outcome = parse(text)
        except ParseError as error:
            outcome = error
        assert isinstance(outcome, (kind, ParseError))


def test_evidence_is_read_with_and_without_the_number_of_sets():
    assert uai.parse_evidence("") == uai.parse_evidence("0") == {}
    assert uai.parse_evidence("2 4 0 17 1") == uai.parse_evidence("1\n2 4 0 17 1") == {4: 0, 17: 1}
    assert uai.parse_evidence("1 3 1") == uai.parse_evidence("1 1 3 1") == {3: 1}
    with pytest.raises(ParseError, match="ends"):
        uai.parse_evidence("2 4 0")


def instance(name: str) -> tuple[uai.UAIModel, list[Factor], dict[int, np.ndarray]]:
    model = uai.read_model(shared(f"data/uai/{name}.uai.gz"))
    evidence = uai.read_evidence(shared(f"data/uai/{name}.uai.evid.gz"))
    factors = [Factor(scope, table) for scope, table in zip(model.scopes, model.tables, strict=True)]
    return model, factors, {v: np.eye(model.cards[v])[state] for v, state in evidence.items()}


@pytest.mark.parametrize("name", ["CSP_12", "Grids_12", "Pedigree_13", "Promedus_13", "Promedus_24", "Segmentation_12"])
def test_exact_answers_are_the_published_ones(name):
    model, factors, likelihood = instance(name)
    found = compile_factors(factors, model.cards, max_entries=1 << 27).calibrate(likelihood)
    log10 = uai.read_partition(shared(f"data/uai/{name}.uai.PR.gz"))
    assert found.log_z / math.log(10) == pytest.approx(log10, rel=5e-6)  # printed with six digits
    for v, expected in enumerate(uai.read_marginals(shared(f"data/uai/{name}.uai.MAR.gz"))):
        np.testing.assert_allclose(found.marginal(v), expected, atol=1e-6)


@pytest.mark.parametrize(("name", "error"), [("ObjectDetection_14", 0.03), ("Promedus_19", 0.003)])
def test_loopy_propagation_comes_close_where_cliques_are_large(name, error):
    model, factors, likelihood = instance(name)
    found = LoopyProgram(factors, model.cards).calibrate(likelihood)
    assert found.convergence.converged
    log10 = uai.read_partition(shared(f"data/uai/{name}.uai.PR.gz"))
    assert found.log_z / math.log(10) == pytest.approx(log10, abs=0.3)
    for v, expected in enumerate(uai.read_marginals(shared(f"data/uai/{name}.uai.MAR.gz"))):
        np.testing.assert_allclose(found.marginal(v), expected, atol=error)

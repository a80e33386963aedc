"""The interpreter of the page, under Node, against Python and against brute force."""

import itertools
import math

import numpy as np
import pytest
from cases import examples
from references import shared

import bntk
from benchmarks.explorer.against_python import Question, differences, model, random_case, random_network
from bntk.data.variable import state_texts

NOTHING = {"observed": {}, "excluded": {}, "likelihood": {}, "intervened": {}}


def asked(interpreter, network, cases, target=0):
    interpreter.ask("model", model(network))
    return interpreter.ask("cases", {"cases": cases, "target": target})


def loaded(name):
    return bntk.load(shared(f"data/networks/{name}.bif.gz"))


# ---- against Python --------------------------------------------------------------------------------------------------


def test_random_findings_in_random_networks_have_the_answers_of_python(interpreter):
    impossible = 0
    for seed in range(examples(40, 2500)):
        network, rng = random_network(seed), np.random.default_rng(seed)
        target = int(rng.integers(len(network.names)))
        cases = [random_case(network, rng) for _ in range(3)]
        for case, found in zip(cases, asked(interpreter, network, cases, target), strict=True):
            question = Question(network, case, target)
            assert list(differences(question, found)) == [], (seed, case)
            impossible += question.log_z == -math.inf
    assert impossible


@pytest.mark.parametrize("name", ["asia", "cancer", "fire", "monty_hall", "slippery", "student", "survey"])
def test_random_findings_in_textbook_networks_have_the_answers_of_python(interpreter, name):
    network, rng = bntk.datasets.network(name), np.random.default_rng(5)
    cases = [random_case(network, rng) for _ in range(4)]
    for case, found in zip(cases, asked(interpreter, network, cases, 1), strict=True):
        assert list(differences(Question(network, case, 1), found)) == [], case


@pytest.mark.parametrize("name", ["alarm", "hailfinder", "win95pts", "andes", "pigs"])
def test_findings_in_large_networks_have_the_answers_of_python(interpreter, name):
    network, rng = loaded(name), np.random.default_rng(2)
    rows = network.sample(2, seed=1)
    cases = [random_case(network, rng, 0.05), *({**NOTHING, "observed": observed(rows, k, rng)} for k in range(2))]
    interpreter.ask("model", model(network))
    for case, found in zip(cases, interpreter.ask("runs", cases), strict=True):
        question = Question(network, case, 0)
        assert float(found["logProbability"]) == pytest.approx(question.log_z, rel=1e-12, abs=1e-9)
        if question.log_z == -math.inf:
            continue
        for own, expected in zip(found["marginals"], question.marginals(), strict=True):
            np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-15)


def observed(rows, row, rng):
    return {int(v): int(rows.codes[v, row]) for v in np.flatnonzero(rng.random(len(rows.names)) < 0.2)}


def test_noisy_or_nodes_answer_by_their_tables(interpreter):
    causes = [bntk.Variable(f"cause {k}", ["no", "yes"]) for k in range(5)]
    effect = bntk.NoisyOr(bntk.Variable("effect", ["no", "yes"]), dict(zip(causes, [0.9, 0.5, 1.0, 0.2, 0.7])), 0.05)
    network = bntk.BayesianNetwork.from_cpts([*(bntk.CPT(cause, [0.8, 0.2]) for cause in causes), effect])
    case = {**NOTHING, "observed": {5: 1, 0: 0}}
    assert list(differences(Question(network, case, 1), asked(interpreter, network, [case], 1)[0])) == []


# ---- against brute force ---------------------------------------------------------------------------------------------


def brute_force(network, vectors):
    """The joint probability of each state of all variables with the evidence, by the definition."""
    cards = [variable.n_states for variable in network.variables]
    joint = np.zeros(cards)
    for states in itertools.product(*map(range, cards)):
        p = 1.0
        for v, cpt in enumerate(network.cpts):
            p *= cpt.values[(*(states[u] for u in network.dag.parent_indices[v]), states[v])]
        for v, vector in vectors.items():
            p *= vector[states[v]]
        joint[states] = p
    return joint


@pytest.mark.parametrize("seed", range(12))
def test_posteriors_and_the_best_explanation_are_those_of_brute_force(interpreter, seed):
    network, rng = random_network(seed + 900), np.random.default_rng(seed)
    case = {**random_case(network, rng), "intervened": {}}
    joint = brute_force(network, Question(network, case, 0).vectors)
    found = asked(interpreter, network, [case])[0]
    assert found["run"]["possible"] == (joint.sum() > 0)
    if joint.sum() > 1e-250:
        for v, own in enumerate(found["run"]["marginals"]):
            others = tuple(axis for axis in range(joint.ndim) if axis != v)
            np.testing.assert_allclose(own, joint.sum(axis=others) / joint.sum(), rtol=1e-9, atol=1e-200)
        assert joint[tuple(found["mpe"]["states"])] == pytest.approx(joint.max(), rel=1e-9)


# ---- small numbers, many findings ------------------------------------------------------------------------------------


def chain(n, stay=0.9, tiny=0.3):
    """A hidden Markov model: hidden h0 -> h1 -> ..., each with an observation."""
    hidden = [bntk.Variable(f"h{i}", ["a", "b"]) for i in range(n)]
    seen = [bntk.Variable(f"o{i}", ["a", "b"]) for i in range(n)]
    move = [[stay, 1 - stay], [1 - stay, stay]]
    cpts = [bntk.CPT(hidden[0], [0.5, 0.5]), *(bntk.CPT(hidden[i], move, [hidden[i - 1]]) for i in range(1, n))]
    cpts += [bntk.CPT(seen[i], [[1 - tiny, tiny], [tiny, 1 - tiny]], [hidden[i]]) for i in range(n)]
    return bntk.BayesianNetwork.from_cpts(cpts)


@pytest.mark.parametrize("tiny", [1e-12, 1e-200])
def test_thousands_of_findings_do_not_underflow(interpreter, tiny):
    network, n = chain(700, tiny=tiny), 700
    rng = np.random.default_rng(0)
    case = {**NOTHING, "observed": {n + i: int(rng.integers(2)) for i in range(n)}}
    interpreter.ask("model", model(network))
    found = interpreter.call("run", case)
    expected = Question(network, case, 0)
    assert found["logProbability"] == pytest.approx(expected.log_z, rel=1e-12)
    assert found["logProbability"] < -750  # no float holds the probability
    for own, other in zip(found["marginals"], expected.marginals(), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-290)


def test_a_star_of_many_unlikely_findings_does_not_underflow(interpreter):
    centre = bntk.Variable("centre", ["a", "b"])
    leaves = [bntk.Variable(f"x{i}", ["a", "b"]) for i in range(400)]
    table = [[1 - 1e-9, 1e-9], [1 - 3e-9, 3e-9]]
    network = bntk.BayesianNetwork.from_cpts(
        [bntk.CPT(centre, [0.999, 0.001]), *(bntk.CPT(leaf, table, [centre]) for leaf in leaves)]
    )
    interpreter.ask("model", model(network))
    found = interpreter.call("run", {"observed": {i + 1: 1 for i in range(400)}})
    # P(e | b) / P(e | a) = 3^400
    odds = math.log(0.001 / 0.999) + 400 * math.log(3)
    assert math.log(found["marginals"][0][0]) == pytest.approx(-odds, rel=1e-12)
    assert found["logProbability"] == pytest.approx(math.log(0.001) + 400 * math.log(3e-9), rel=1e-12)


def test_likelihoods_of_any_size_are_taken(interpreter):
    network = bntk.datasets.asia()
    for numbers in ([1e-300, 3e-300], [1e300, 3e300], [5e-324, 0.0]):
        case = {**NOTHING, "likelihood": {3: numbers, 6: [1e-200, 1.0]}}
        assert list(differences(Question(network, case, 2), asked(interpreter, network, [case], 2)[0])) == []


# ---- what was asked before does not matter ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_answers_do_not_depend_on_what_was_asked_before(interpreter, seed):
    network, rng = random_network(seed + 40), np.random.default_rng(seed)
    cases = [random_case(network, rng) for _ in range(12)]
    interpreter.ask("model", model(network))
    one_after_another = interpreter.ask("runs", cases)
    for case, found in zip(cases, one_after_another, strict=True):
        interpreter.ask("model", model(network))
        assert interpreter.call("run", case) == found


def test_rows_have_the_answers_of_single_cases(interpreter):
    network, rng = bntk.datasets.asia(), np.random.default_rng(3)
    cases = [random_case(network, rng) for _ in range(8)]
    interpreter.ask("model", model(network))
    runs = interpreter.ask("runs", cases)
    for targets in (None, [2], [3, 5]):
        for row, run in zip(interpreter.ask("rows", {"cases": cases, "targets": targets}), runs, strict=True):
            assert row["logProbability"] == run["logProbability"]
            wanted = range(8) if targets is None else targets
            assert row["marginals"] == ([[v, run["marginals"][v]] for v in wanted] if run["possible"] else [])


def test_findings_that_contradict_after_an_intervention_name_it(interpreter):
    network = bntk.datasets.asia()
    tub, lung, either = (network.dag.index(name) for name in ("tub", "lung", "either"))
    case = {**NOTHING, "intervened": {tub: 1}, "observed": {either: 0, lung: 0}}
    interpreter.ask("model", model(network))
    assert interpreter.call("contradiction", case) == {"findings": [either], "interventions": [tub]}


# ---- cases from outside ----------------------------------------------------------------------------------------------

HOSTILE = [
    None, 0, 1.5, "text", [], [1, 2], True, {"observed": 3}, {"observed": [1]}, {"observed": {"lung": {}}}, {"x": {}},
    {"observed": {"lung": ["yes"]}}, {"observed": {"lung": "maybe"}}, {"observed": {"": "yes"}},
    {"__proto__": {"lung": "yes"}}, {"observed": {"__proto__": "yes"}}, {"observed": {"constructor": "yes"}},
    {"excluded": {"lung": "yes"}}, {"excluded": {"lung": [None, {}, [], "no"]}}, {"likelihood": {"lung": [1]}},
    {"likelihood": {"lung": [-1, 1]}}, {"likelihood": {"lung": [0, 0]}}, {"likelihood": {"lung": ["1", "2"]}},
    {"likelihood": {"lung": {"length": 2}}}, {"intervened": {"lung": 7}}, {"toString": {"lung": "no"}},
]  # fmt: skip


def is_sound(found):
    """Whether it is a case of asia that the engine can run."""
    case = found["case"]
    assert set(case) == set(NOTHING)
    for part in ("observed", "intervened"):
        assert all(0 <= int(v) < 8 and state in (0, 1) for v, state in case[part].items())
    for states in case["excluded"].values():
        assert states
        assert set(states) <= {0, 1}
    for numbers in case["likelihood"].values():
        assert len(numbers) == 2
        assert min(numbers) >= 0 < max(numbers)
    return all(isinstance(problem, str) and len(problem) < 300 for problem in found["problems"])


def test_whatever_is_read_as_a_case_becomes_one(interpreter):
    interpreter.ask("model", model(bntk.datasets.asia()))
    for given in HOSTILE:
        for method in ("readCase", "checkedCase"):
            found = interpreter.call(method, given)
            assert is_sound(found)
            interpreter.call("run", found["case"])
    assert interpreter.call("readCase", {"observed": {"lung": "maybe"}})["problems"] == ["“lung” has no state “maybe”."]


def test_whatever_is_in_a_fragment_becomes_a_case(interpreter):
    interpreter.ask("model", model(bntk.datasets.asia()))
    rng = np.random.default_rng(7)
    pieces = [
        "o.", "x.", "l.", "d.", "lung", "xray", "=", "&", "yes", "no", "%", "%41", "%zz", "%F0%9F", "1,2", "1e999,1",
        "NaN,1", ",", "#", "__proto__", "\ud800", "\u2028", "<script>", "'", '"', " ", "o.lung=yes", "l.dysp=0.2,0.8",
    ]  # fmt: skip
    texts = ["".join(rng.choice(pieces, size=int(rng.integers(0, 12)))) for _ in range(300)]
    for text in [*texts, "&" * 100_000, "o.lung=" * 10_000, *(f"o.{name}=1" for name in dir(object))]:
        found = interpreter.call("decodeCase", text)
        assert is_sound(found), text
        interpreter.call("run", found["case"])
    assert interpreter.call("decodeCase", "#o.lung=yes&l.dysp=0.25,0.75&x.asia=no&d.smoke=yes")["case"] == {
        "observed": {"3": 1}, "likelihood": {"7": [0.25, 0.75]}, "excluded": {"0": [0]}, "intervened": {"2": 1},
    }  # fmt: skip


def test_python_code_of_a_case_asks_the_same(interpreter):
    interpreter.ask("model", model(bntk.datasets.asia()))
    case = {"observed": {6: 1}, "excluded": {7: [0]}, "likelihood": {0: [0.2, 0.8]}, "intervened": {2: 0}}
    assert interpreter.call("python", case, 3) == (
        """bn.do({"smoke": "no"}).query("lung", {"xray": "yes", "dysp": ["yes"]}, soft={"asia": [0.2, 0.8]})"""
    )
    assert interpreter.call("python", {}, None) == "bn.marginals()"


@pytest.mark.parametrize(
    ("states", "texts"),
    [
        (["no", "yes"], ["no", "yes", "No", " yes", ""]),
        ([0, 1, 2], ["0", "1", "1.0", "2e0", "3", "x"]),
        ([False, True], ["True", "true", "FALSE", "1"]),
        ([0.5, 1.0], ["0.5", ".5", "1", "1.0"]),
        ([1, "1", 2], ["2", "1"]),
    ],
)
def test_a_text_is_the_state_that_it_is_read_as(interpreter, states, texts):
    variable = bntk.Variable("x", states)
    network = bntk.BayesianNetwork.from_cpts([bntk.CPT(variable, np.full(len(states), 1 / len(states)))])
    interpreter.ask("model", model(network))
    for code, text in enumerate(state_texts(variable)):
        assert interpreter.call("stateOf", 0, text) == code
    for text in texts:
        found, expected = interpreter.call("stateOf", 0, text), variable.find(text)
        as_number = variable.find(float(text)) if text.replace(".", "").replace("e", "").isdigit() else None
        assert found in (-1 if expected is None else expected, as_number), text


def test_a_number_is_the_interval_that_has_it(interpreter):
    variable = bntk.Variable.of_intervals("x", [-1.5, 2.0, 7.25])
    network = bntk.BayesianNetwork.from_cpts([bntk.CPT(variable, np.full(4, 0.25))])
    interpreter.ask("model", model(network))
    for number in (-1e300, -1.5, -1.4999, 0, 2, 2.0000001, 7.25, 8, 1e300):
        assert interpreter.call("stateOf", 0, repr(number)) == variable.find(number)
    assert interpreter.call("stateOf", 0, "seven") == -1

"""Small networks, written by hand from the figures in which they were published.

References
----------
S. L. Lauritzen and D. J. Spiegelhalter (1988). Local computations with probabilities on graphical structures and their
application to expert systems. Journal of the Royal Statistical Society B 50, 157-224.

G. F. Cooper (1984). NESTOR: a computer-based medical diagnostic aid that integrates causal and probabilistic knowledge.
PhD thesis, Stanford University.

E. Charniak (1991). Bayesian networks without tears. AI Magazine 12(4), 50-63.

D. Poole, A. Mackworth and R. Goebel (1998). Computational Intelligence: a logical approach. Oxford University Press.

D. Koller and N. Friedman (2009). Probabilistic Graphical Models. MIT Press.

A. Darwiche (2009). Modeling and Reasoning with Bayesian Networks. Cambridge University Press.

K. B. Korb and A. E. Nicholson (2010). Bayesian Artificial Intelligence, 2nd edition. CRC Press.

M. Scutari and J.-B. Denis (2014). Bayesian Networks: with examples in R. CRC Press.

S. Russell and P. Norvig (2021). Artificial Intelligence: a modern approach, 4th edition. Pearson.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bntk.cpt import CPT
from bntk.data.variable import Variable
from bntk.network import BayesianNetwork

_NO_YES = ("no", "yes")


def asia() -> BayesianNetwork:
    """Chest clinic: eight yes/no variables (Lauritzen and Spiegelhalter 1988, table 1).

    A visit to Asia makes tuberculosis likelier, smoking lung cancer and bronchitis; an X-ray does not tell
    tuberculosis from cancer, and both, as bronchitis, cause shortness of breath (dysp).

    Examples
    --------
    >>> asia().dag.parents("dysp")
    ('bronc', 'either')
    """
    asia, tub, smoke, lung, bronc, either, xray, dysp = _yes_no(
        "asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"
    )
    return BayesianNetwork.from_cpts(
        [
            _yes(asia, 0.01),
            _yes(tub, [0.01, 0.05], asia),
            _yes(smoke, 0.5),
            _yes(lung, [0.01, 0.1], smoke),
            _yes(bronc, [0.3, 0.6], smoke),
            _yes(either, [[0, 1], [1, 1]], tub, lung),
            _yes(xray, [0.05, 0.98], either),
            _yes(dysp, [[0.1, 0.7], [0.8, 0.9]], bronc, either),
        ]
    )


def burglary() -> BayesianNetwork:
    """The burglar alarm, with the probabilities of Russell and Norvig (2021, the figure of a typical network).

    Burglaries and earthquakes set off the alarm, on which two neighbours call. :func:`earthquake` is the same with
    likelier causes.

    Examples
    --------
    >>> burglary().query("burglary", {"john_calls": "yes", "mary_calls": "yes"}).values.round(3)
    array([0.716, 0.284])
    """
    return _burglar_alarm(0.001, 0.002)


def cancer() -> BayesianNetwork:
    """Lung cancer, its causes pollution and smoking, an X-ray and dyspnoea (Korb and Nicholson 2010, figure 2.1).

    Examples
    --------
    >>> round(cancer().query("cancer")["yes"], 4)
    0.0116
    """
    pollution = Variable("pollution", ("low", "high"), ordered=True)
    smoker, cancer, dyspnoea = _yes_no("smoker", "cancer", "dyspnoea")
    xray = Variable("xray", ("negative", "positive"))
    return BayesianNetwork.from_cpts(
        [
            _yes(pollution, 0.1),
            _yes(smoker, 0.3),
            _yes(cancer, [[0.001, 0.03], [0.02, 0.05]], pollution, smoker),
            _yes(xray, [0.2, 0.9], cancer),
            _yes(dyspnoea, [0.3, 0.65], cancer),
        ]
    )


def coma() -> BayesianNetwork:
    """Metastatic cancer, which raises serum calcium and may cause a brain tumour (Cooper 1984).

    Either of the two may bring on a coma; the tumour also makes headaches likelier.

    Examples
    --------
    >>> round(coma().query("coma")["yes"], 3)
    0.32
    """
    metastasis, calcium, tumour, coma, headache = _yes_no("metastasis", "calcium", "tumour", "coma", "headache")
    return BayesianNetwork.from_cpts(
        [
            _yes(metastasis, 0.2),
            _yes(calcium, [0.2, 0.8], metastasis),
            _yes(tumour, [0.05, 0.2], metastasis),
            _yes(coma, [[0.05, 0.8], [0.8, 0.8]], calcium, tumour),
            _yes(headache, [0.6, 0.8], tumour),
        ]
    )


def dog() -> BayesianNetwork:
    """Whether the family is out, with a light and a barking dog as evidence (Charniak 1991, figure 2).

    Examples
    --------
    >>> round(dog().query("family_out", {"light_on": "yes", "hear_bark": "no"})["yes"], 3)
    0.501
    """
    family_out, bowel_problem, light_on, dog_out, hear_bark = _yes_no(
        "family_out", "bowel_problem", "light_on", "dog_out", "hear_bark"
    )
    return BayesianNetwork.from_cpts(
        [
            _yes(family_out, 0.15),
            _yes(bowel_problem, 0.01),
            _yes(light_on, [0.05, 0.6], family_out),
            _yes(dog_out, [[0.3, 0.97], [0.9, 0.99]], family_out, bowel_problem),
            _yes(hear_bark, [0.01, 0.7], dog_out),
        ]
    )


def earthquake() -> BayesianNetwork:
    """The burglar alarm, with the probabilities of Korb and Nicholson (2010, figure 2.8).

    Examples
    --------
    >>> print(earthquake().dag)
    burglary; earthquake -> alarm <- burglary; alarm -> john_calls; alarm -> mary_calls
    """
    return _burglar_alarm(0.01, 0.02)


def _burglar_alarm(p_burglary: float, p_earthquake: float) -> BayesianNetwork:
    burglary, earthquake, alarm, john_calls, mary_calls = _yes_no(
        "burglary", "earthquake", "alarm", "john_calls", "mary_calls"
    )
    return BayesianNetwork.from_cpts(
        [
            _yes(burglary, p_burglary),
            _yes(earthquake, p_earthquake),
            _yes(alarm, [[0.001, 0.29], [0.94, 0.95]], burglary, earthquake),
            _yes(john_calls, [0.05, 0.9], alarm),
            _yes(mary_calls, [0.01, 0.7], alarm),
        ]
    )


def fire() -> BayesianNetwork:
    """A fire alarm that may have been tampered with, and people leaving (Poole, Mackworth and Goebel 1998, chapter 10).

    Examples
    --------
    >>> fire().query("tampering", {"report": "yes", "smoke": "no"}).values.round(3)
    array([0.499, 0.501])
    """
    tampering, fire, alarm, smoke, leaving, report = _yes_no("tampering", "fire", "alarm", "smoke", "leaving", "report")
    return BayesianNetwork.from_cpts(
        [
            _yes(tampering, 0.02),
            _yes(fire, 0.01),
            _yes(alarm, [[0.0001, 0.99], [0.85, 0.5]], tampering, fire),
            _yes(smoke, [0.01, 0.9], fire),
            _yes(leaving, [0.001, 0.88], alarm),
            _yes(report, [0.01, 0.75], leaving),
        ]
    )


def monty_hall() -> BayesianNetwork:
    """The Monty Hall problem: the host opens a door that neither is the guest's nor hides the prize.

    Examples
    --------
    >>> print(monty_hall().query("prize", {"guest": "a", "host": "b"}).values.round(3))
    [0.333 0.    0.667]
    """
    guest, prize, host = (Variable(name, ["a", "b", "c"]) for name in ("guest", "prize", "host"))
    closed = np.ones((3, 3, 3))
    for door in range(3):
        closed[door, :, door] = closed[:, door, door] = 0
    return BayesianNetwork.from_cpts(
        [
            CPT(guest, np.full(3, 1 / 3)),
            CPT(prize, np.full(3, 1 / 3)),
            CPT(host, closed / closed.sum(-1, keepdims=True), [guest, prize]),
        ]
    )


def slippery() -> BayesianNetwork:
    """Winter, sprinkler, rain, wet grass and a slippery road (Darwiche 2009, figure 4.1).

    Examples
    --------
    >>> round(slippery().query("wet")["yes"], 4)
    0.6995
    """
    winter, sprinkler, rain, wet, slippery = _yes_no("winter", "sprinkler", "rain", "wet", "slippery")
    return BayesianNetwork.from_cpts(
        [
            _yes(winter, 0.6),
            _yes(sprinkler, [0.75, 0.2], winter),
            _yes(rain, [0.1, 0.8], winter),
            _yes(wet, [[0, 0.8], [0.9, 0.95]], sprinkler, rain),
            _yes(slippery, [0, 0.7], rain),
        ]
    )


def sprinkler() -> BayesianNetwork:
    """Cloudy, sprinkler, rain, wet grass (Russell and Norvig, the figure of multiply connected networks).

    Examples
    --------
    >>> sprinkler().cpt("wet").probability("yes", {"sprinkler": "yes", "rain": "yes"})
    0.99
    """
    cloudy, sprinkler, rain, wet = _yes_no("cloudy", "sprinkler", "rain", "wet")
    return BayesianNetwork.from_cpts(
        [
            _yes(cloudy, 0.5),
            _yes(sprinkler, [0.5, 0.1], cloudy),
            _yes(rain, [0.2, 0.8], cloudy),
            _yes(wet, [[0, 0.9], [0.9, 0.99]], sprinkler, rain),
        ]
    )


def student() -> BayesianNetwork:
    """A student's grade, test score and letter of recommendation (Koller and Friedman 2009, figure 3.4).

    Examples
    --------
    >>> round(student().query("intelligence", {"grade": "c"})["high"], 3)
    0.079
    """
    difficulty = Variable("difficulty", ("easy", "hard"), ordered=True)
    intelligence = Variable("intelligence", ("low", "high"), ordered=True)
    grade = Variable("grade", ("a", "b", "c"), ordered=True)
    sat = Variable("sat", ("low", "high"), ordered=True)
    letter = Variable("letter", ("weak", "strong"), ordered=True)
    grades = [[[0.3, 0.4, 0.3], [0.05, 0.25, 0.7]], [[0.9, 0.08, 0.02], [0.5, 0.3, 0.2]]]
    return BayesianNetwork.from_cpts(
        [
            _yes(difficulty, 0.4),
            _yes(intelligence, 0.3),
            CPT(grade, grades, [intelligence, difficulty]),
            _yes(sat, [0.05, 0.8], intelligence),
            _yes(letter, [0.9, 0.6, 0.01], grade),
        ]
    )


def survey() -> BayesianNetwork:
    """A survey of the means of transport that people use (Scutari and Denis 2014, figure 1.2).

    Examples
    --------
    >>> print(survey().query("transport", {"residence": "big"}).values.round(3))
    [0.586 0.238 0.175]
    """
    age = Variable("age", ("young", "adult", "old"), ordered=True)
    sex = Variable("sex", ("male", "female"))
    education = Variable("education", ("high", "university"), ordered=True)
    occupation = Variable("occupation", ("employed", "self-employed"))
    residence = Variable("residence", ("small", "big"), ordered=True)
    transport = Variable("transport", ("car", "train", "other"))
    ways = [[[0.48, 0.42, 0.10], [0.58, 0.24, 0.18]], [[0.56, 0.36, 0.08], [0.70, 0.21, 0.09]]]
    return BayesianNetwork.from_cpts(
        [
            CPT(age, [0.3, 0.5, 0.2]),
            _yes(sex, 0.4),
            _yes(education, [[0.25, 0.36], [0.28, 0.30], [0.12, 0.10]], age, sex),
            _yes(occupation, [0.04, 0.08], education),
            _yes(residence, [0.75, 0.8], education),
            CPT(transport, ways, [occupation, residence]),
        ]
    )


def _yes_no(*names: str) -> list[Variable]:
    return [Variable(name, _NO_YES) for name in names]


def _yes(child: Variable, p: ArrayLike, *parents: Variable) -> CPT:
    """The table of a variable with two states, from the probability of the second."""
    second = np.asarray(p, dtype=float)
    first = np.round(1 - second, 12)  # the figure's number, 0.01 and not 0.010000000000000009
    return CPT(child, np.stack([first, second], axis=-1), parents)

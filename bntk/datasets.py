"""Small networks, written from the figures in which they were published."""

from __future__ import annotations

from bntk.cpt import CPT
from bntk.network import BayesianNetwork
from bntk.variable import Variable

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
    names = ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")
    v = {name: Variable(name, _NO_YES) for name in names}
    return BayesianNetwork.from_cpts(
        [
            CPT(v["asia"], [0.99, 0.01]),
            CPT(v["tub"], [[0.99, 0.01], [0.95, 0.05]], [v["asia"]]),
            CPT(v["smoke"], [0.5, 0.5]),
            CPT(v["lung"], [[0.99, 0.01], [0.9, 0.1]], [v["smoke"]]),
            CPT(v["bronc"], [[0.7, 0.3], [0.4, 0.6]], [v["smoke"]]),
            CPT(v["either"], [[[1, 0], [0, 1]], [[0, 1], [0, 1]]], [v["tub"], v["lung"]]),
            CPT(v["xray"], [[0.95, 0.05], [0.02, 0.98]], [v["either"]]),
            CPT(v["dysp"], [[[0.9, 0.1], [0.3, 0.7]], [[0.2, 0.8], [0.1, 0.9]]], [v["bronc"], v["either"]]),
        ]
    )


def sprinkler() -> BayesianNetwork:
    """Cloudy, sprinkler, rain, wet grass (Russell and Norvig, "Artificial Intelligence", the figure of multiply
    connected networks).

    Examples
    --------
    >>> sprinkler().cpt("wet").probability("yes", {"sprinkler": "yes", "rain": "yes"})
    0.99
    """
    v = {name: Variable(name, _NO_YES) for name in ("cloudy", "sprinkler", "rain", "wet")}
    return BayesianNetwork.from_cpts(
        [
            CPT(v["cloudy"], [0.5, 0.5]),
            CPT(v["sprinkler"], [[0.5, 0.5], [0.9, 0.1]], [v["cloudy"]]),
            CPT(v["rain"], [[0.8, 0.2], [0.2, 0.8]], [v["cloudy"]]),
            CPT(v["wet"], [[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]], [v["sprinkler"], v["rain"]]),
        ]
    )

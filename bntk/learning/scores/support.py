"""How much each arc of a structure adds to its score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bntk.graph.dag import DAG

if TYPE_CHECKING:
    import pandas as pd

Arc = tuple[str, str]


class ArcSupport(Mapping[Arc, float]):
    """The support of each arc of a structure: by how much its score falls when the arc is taken away.

    A mapping from arcs (parent, child) to numbers in nats. An arc with a negative number is one that the score would
    rather do without. R's bnlearn writes the same numbers with the opposite sign.

    Attributes
    ----------
    dag : DAG
    score : str
        The name of the score.

    Examples
    --------
    >>> found = ArcSupport(DAG.parse("rain -> wet <- hose"), "bic", {("rain", "wet"): 12.5, ("hose", "wet"): -0.5})
    >>> found
    <ArcSupport: 2 arcs by bic, 1 of them below 0>
    >>> found["rain", "wet"]
    12.5
    >>> found.to_frame()
       from   to  strength
    0  rain  wet      12.5
    1  hose  wet      -0.5
    """

    def __init__(self, dag: DAG, score: str, values: Mapping[Arc, float]) -> None:
        self.dag, self.score = dag, score
        self._values = {arc: float(values[arc]) for arc in dag.arcs}

    @property
    def what(self) -> str:
        """The numbers in words, for legends."""
        return f"fall of {self.score} without the arc"

    def __getitem__(self, arc: Arc) -> float:
        return self._values[arc]

    def __iter__(self) -> Iterator[Arc]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def to_frame(self) -> pd.DataFrame:
        """A data frame with the columns ``from``, ``to`` and ``strength``, the strongest arc first."""
        import pandas as pd

        ranked = sorted(self._values.items(), key=lambda item: -item[1])
        return pd.DataFrame([(*arc, value) for arc, value in ranked], columns=["from", "to", "strength"])

    def plot(self, **options: Any) -> Any:
        """Draw the structure, arcs as wide as they are strong; the options are those of :func:`bntk.viz.plot_dag`.

        Arcs below 0 are dashed. Returns matplotlib Axes.
        """
        return self.dag.plot(**({"strengths": self} | options))

    def __repr__(self) -> str:
        against = sum(value < 0 for value in self._values.values())
        return f"<ArcSupport: {len(self)} arcs by {self.score}, {against} of them below 0>"

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format="{:.4g}".format)

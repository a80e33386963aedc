"""The strength of arcs: structures learned from bootstrap samples of the rows, and their average.

References
----------
N. Friedman, M. Goldszmidt and A. Wyner (1999). Data analysis with Bayesian networks: a bootstrap approach. UAI 15,
196-205.

M. Scutari and R. Nagarajan (2013). Identifying significant edges in graphical models of molecular networks.
Artificial Intelligence in Medicine 57, 207-217.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk._interrupts import raising_interrupts
from bntk._progress import progress_bar
from bntk.data.numbers import N_BINS, Reading
from bntk.data.variable import Variable
from bntk.errors import DataError
from bntk.graph.dag import DAG
from bntk.graph.equivalence import interventional_cpdag
from bntk.learning.counts import Counter, ExperimentCounter, Partitions, TableCounter, as_counter
from bntk.learning.learn import learn_structure
from bntk.learning.scores.base import Score
from bntk.learning.search.base import Search
from bntk.learning.search.in_passes import needs_rows

if TYPE_CHECKING:
    import pandas as pd

    from bntk.learning.space import Space


@dataclass(frozen=True, eq=False)
class ArcStrengths:
    """The frequencies of arcs in many structures over the same nodes.

    Attributes
    ----------
    nodes : tuple of str
    arcs : ndarray of shape (n, n)
        Share of the structures with an arc from the node of the row to that of the column. An edge without a
        direction, in an equivalence class, counts one half each way.
    n_structures : int

    Examples
    --------
    >>> found = ArcStrengths.of([DAG.parse("A -> B <- C"), DAG.parse("A -> B; C"), DAG.parse("B -> A; C")])
    >>> found.to_frame()
      from to  strength  direction
    0    A  B  1.000000   0.666667
    1    B  A  1.000000   0.333333
    2    C  B  0.333333   1.000000
    3    B  C  0.333333   0.000000
    >>> print(found.averaged(threshold=0.5))
    A -> B; C
    """

    nodes: tuple[str, ...]
    arcs: NDArray[np.float64]
    n_structures: int

    @classmethod
    def of(cls, dags: Iterable[DAG], *, cpdag: bool = False, targets: Iterable[Iterable[str]] = ()) -> ArcStrengths:
        """The strengths in some DAGs, or in their equivalence classes; all have the nodes of the first.

        ``targets`` are the variables that each of some experiments set, which tell more structures apart.
        """
        targets = list(targets)
        total, n, nodes = np.zeros((0, 0)), 0, None
        for dag in dags:
            if nodes is None:
                nodes, total = dag.nodes, np.zeros((dag.n_nodes, dag.n_nodes))
            dag = dag if dag.nodes == nodes else dag.reorder(nodes)
            total += _arc_shares(dag, targets) if cpdag else dag.adjacency()
            n += 1
        if nodes is None:
            raise ValueError("there are no structures to average; give at least one")
        return cls(nodes, total / n, n)

    @property
    def strength(self) -> NDArray[np.float64]:
        """Share of the structures in which two nodes are joined, whatever the direction; symmetric."""
        return self.arcs + self.arcs.T

    @property
    def direction(self) -> NDArray[np.float64]:
        """Of the structures in which two nodes are joined, the share with this direction; 0 where there are none."""
        strength = self.strength
        return np.divide(self.arcs, strength, out=np.zeros_like(self.arcs), where=strength > 0)

    def to_frame(self) -> pd.DataFrame:
        """A data frame with one row for each direction of every pair that was ever joined, strongest first."""
        import pandas as pd

        tails, heads = np.array(list(self._ranked(0.0)), dtype=np.intp).reshape(-1, 2).T
        names = np.array(self.nodes, dtype=object)
        columns = {
            "from": names[tails],
            "to": names[heads],
            "strength": self.strength[tails, heads],
            "direction": self.direction[tails, heads],
        }
        return pd.DataFrame(columns)

    def threshold(self) -> float:
        """The strength that separates true arcs from noise, by Scutari and Nagarajan (2013).

        Were there no noise, a share t of all pairs would have strength 0 and the others strength 1. They take the t
        whose distribution function is nearest in the L1 norm to that of the strengths, F; pairs with a strength above
        the t-quantile of F are significant. That t is the median of F over [0, 1], and since F never falls, it is
        F(1/2): so the threshold is the largest strength up to one half, and significant are the pairs that are joined
        in more than half of the structures.
        """
        strength = self.strength.round(12)
        return float(strength[strength <= 0.5].max(initial=0.0))

    def averaged(self, threshold: float | None = None) -> DAG:
        """The DAG of the arcs stronger than a threshold, each in its more frequent direction.

        Arcs enter strongest first, and one that would close a cycle is left out. Where both directions are equally
        frequent, that from the first node in order is taken, or the other if the first would close a cycle.

        Parameters
        ----------
        threshold : float, optional
            By default :meth:`threshold`.
        """
        limit = self.threshold() if threshold is None else threshold
        above: list[set[int]] = [{i} for i in range(len(self.nodes))]  # ancestors, and the node itself
        parents: list[set[int]] = [set() for _ in self.nodes]
        for tail, head in self._ranked(limit):
            joined = tail in parents[head] or head in parents[tail]
            if self.arcs[tail, head] < self.arcs[head, tail] or joined or head in above[tail]:
                continue
            parents[head].add(tail)
            for row in above:
                if head in row:
                    row |= above[tail]
        return DAG._trusted(self.nodes, tuple(tuple(sorted(row)) for row in parents))

    def _ranked(self, limit: float) -> Iterator[tuple[int, int]]:
        """Arcs of pairs stronger than a limit: by strength, then frequency of the direction, then position."""
        # Sums of shares are rounded, so that equal strengths can differ in the last bits.
        strength, arcs = self.strength.round(12), self.arcs.round(12)
        tails, heads = np.nonzero(strength > limit)
        first, last = np.minimum(tails, heads), np.maximum(tails, heads)
        order = np.lexsort((tails, -arcs[tails, heads], last, first, -strength[tails, heads]))
        yield from zip(tails[order].tolist(), heads[order].tolist(), strict=True)

    def plot(self, structure: Any = None, **options: Any) -> Any:
        """Draw the averaged structure, or another: lines from the threshold up, heads as certain as their directions.

        The options are those of :func:`bntk.viz.plot_strengths`. Returns matplotlib Axes.
        """
        from bntk.viz.bootstrap import plot_strengths

        return plot_strengths(self, structure, **options)

    def plot_threshold(self, **options: Any) -> Any:
        """Draw the distribution of the strengths and the threshold; see :func:`bntk.viz.plot_threshold`.

        Returns matplotlib Axes.
        """
        from bntk.viz.bootstrap import plot_threshold

        return plot_threshold(self, **options)

    def _repr_svg_(self) -> str | None:
        from bntk.viz.notebook import strengths_svg

        return strengths_svg(self)

    def __repr__(self) -> str:
        n_joined = int(np.count_nonzero(np.triu(self.strength)))
        return (
            f"<ArcStrengths: {self.n_structures} structures over {len(self.nodes)} nodes, {n_joined} pairs ever "
            f"joined, {self.averaged().n_arcs} arcs over the threshold {self.threshold():.3g}>"
        )


def bootstrap_strengths(
    data: Any,
    score: str | Score = "bdeu",
    space: Space | None = None,
    search: str | Search = "hc",
    *,
    n: int = 100,
    cpdag: bool = True,
    variables: Sequence[Variable] | None = None,
    intervened: Any = None,
    numeric: str | Mapping[str, Any] = "auto",
    n_bins: int = N_BINS,
    identifiers: str = "drop",
    seed: int = 0,
    progress: bool = False,
) -> ArcStrengths:
    """Arc strengths by bootstrap: how often each arc is in the structures learned from ``n`` resamples of the rows.

    A resample has as many rows as the data, drawn with replacement; each row is weighted by the number of times that it
    was drawn.

    Parameters
    ----------
    data : Table, data frame, or mapping of columns
        One case per row.
    score : str or Score
        The score to maximise: a name such as ``"bdeu"`` or ``"bic"``, or an object such as ``bntk.scores.BDeu(10)``.
    space : Space, optional
        Which structures are legal; by default any DAG over the columns.
    search : str or Search
        A name such as ``"hc"`` or ``"auto"``, or an object such as ``bntk.search.Tabu(restarts=20)``.
    n : int
        Number of resamples.
    cpdag : bool
        Compare equivalence classes: an arc that could point either way counts one half each way. Scores that do not
        distinguish these directions would otherwise seem certain of one of them.
    variables : sequence of Variable, optional
        Variables with all their states, where the data may not show all of them.
    intervened : sequence, frame, mapping, array, or str, optional
        Which variables were set by an experiment in which rows: one entry per row (None, a name, or several); a frame
        or mapping from names to booleans (a mapping also to positions of rows); an array of booleans with the columns
        of the data; or the name of a column with such entries. A row does not count for the family of a variable that
        was set in it (Cooper and Yoo 1999). With
        ``cpdag``, what the experiments tell apart is directed: see :func:`bntk.graph.interventional_cpdag`.
    numeric : str or mapping
        What becomes of columns of numbers in a data frame or mapping. ``"auto"``: at most ten different whole numbers
        are states as they are; others are cut into ``n_bins`` intervals with about the same number of rows, and a
        warning names them. ``"frequency"`` and ``"width"`` cut them into intervals with the same number of rows or of
        the same width, ``"hartemink"`` into intervals that keep much of the mutual information between the columns
        (:func:`bntk.cuts.hartemink_cuts`), ``"category"`` makes each number a state, and ``"bernoulli"`` only
        distinguishes numbers above zero from others. A mapping chooses for each column, and may give cut points. A
        :class:`bntk.Table` has states already, and ``"auto"`` leaves them as they are.
    n_bins : int
        The number of intervals.
    identifiers : {"drop", "keep"}
        Without a ``space``, what becomes of columns of a data frame or mapping that identify rows rather than describe
        them: labels (not numbers) with more states than half their rows with a value, from 20 rows on, dates and times,
        and columns without a value. ``"drop"`` leaves them out, and names them in one warning.
    seed : int
        Seed of the resamples; the same seed gives the same strengths.
    progress : bool
        Show a progress bar.

    Returns
    -------
    ArcStrengths

    Examples
    --------
    >>> import bntk
    >>> truth = bntk.datasets.sprinkler()
    >>> found = bootstrap_strengths(truth.sample(1000, seed=0), n=20)
    >>> found.averaged().cpdag() == truth.dag.cpdag()
    True
    """
    n, seed = _checking.whole_number("n", n, 1, _checking.MOST), _checking.whole_number("seed", seed, least=0)
    _checking.flag("cpdag", cpdag)
    _checking.flag("progress", progress)
    if isinstance(data, Partitions):
        raise needs_rows("the bootstrap, which draws rows,", "bntk.learn")
    reading = Reading(numeric, n_bins, identifiers if space is None else None)
    if isinstance(data, Counter):
        raise DataError("bootstrap_strengths draws rows: give it a table, not a counter")
    counter = as_counter(data, variables=variables, intervened=intervened, require_rows=True, reading=reading)
    table = counter.table  # type: ignore[attr-defined]
    mask = counter.intervened if isinstance(counter, ExperimentCounter) else None
    resamples: Iterable[NDArray[np.float64]] = (row_weights(table.n_rows, seed, k) for k in range(n))
    shown = progress_bar(progress, resamples, total=n, desc="bootstrap")
    counters: Iterator[Counter]
    if mask is None:
        targets, counters = [], (TableCounter(table, weights) for weights in shown)
    else:
        targets = [[table.names[v] for v in np.flatnonzero(row)] for row in np.unique(mask, axis=0)]
        counters = (ExperimentCounter(table, mask, weights) for weights in shown)
    with raising_interrupts():
        found = (learn_structure(c, score, space, search, seed=seed).dag for c in counters)
        return ArcStrengths.of(found, cpdag=cpdag, targets=targets)


def row_weights(n_rows: int, seed: int, resample: int) -> NDArray[np.float64]:
    """How often each row is drawn; every resample has its own random numbers, so its rows do not depend on ``n``."""
    drawn = np.random.default_rng([seed, resample]).integers(n_rows, size=n_rows)
    return np.bincount(drawn, minlength=n_rows).astype(np.float64)


def _arc_shares(dag: DAG, targets: Sequence[Iterable[str]]) -> NDArray[np.float64]:
    """The adjacency of the equivalence class, one half each way for an edge without a direction."""
    pattern = interventional_cpdag(dag, targets) if targets else dag.cpdag()
    shares = np.zeros((dag.n_nodes, dag.n_nodes))
    for head, parents in enumerate(pattern.parent_indices):
        shares[list(parents), head] = 1.0
    for node, neighbors in enumerate(pattern.neighbor_indices):
        shares[list(neighbors), node] = 0.5
    return shares

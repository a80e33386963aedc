"""A Bayesian network: a DAG and one local distribution for every node."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bntk.cpt import CPT, LocalDistribution
from bntk.errors import NetworkError, UnknownNameError
from bntk.graph.dag import DAG
from bntk.variable import Variable, format_states

if TYPE_CHECKING:
    import pandas as pd

    from bntk.learning.priors import Prior
    from bntk.table import Table


class BayesianNetwork:
    """A DAG with a conditional probability table for every node. It never changes; methods return new ones.

    Parameters
    ----------
    dag : DAG or str
        The structure; a string is read by :meth:`DAG.parse`.
    cpts : iterable or mapping of CPT
        One local distribution for each node (:class:`CPT`, or anything with ``to_cpt``, such as
        :class:`NoisyOr`). Parent axes may come in any order; they are put in the order of the nodes.
    prior : Prior, optional
        What the parameters were estimated with; kept for :meth:`update`.

    Examples
    --------
    >>> rain, wet = Variable("rain", ["no", "yes"]), Variable("wet", ["no", "yes"])
    >>> bn = BayesianNetwork("rain -> wet", [CPT(rain, [0.8, 0.2]), CPT(wet, [[0.9, 0.1], [0.2, 0.8]], [rain])])
    >>> bn
    BayesianNetwork: 2 variables, 1 arc, 3 parameters
      rain (2 states)
      wet (2 states) <- rain
    >>> round(bn.log_likelihood({"rain": ["yes", "no"], "wet": ["yes", "no"]}), 4)
    -2.1611
    """

    def __init__(
        self,
        dag: DAG | str,
        cpts: Iterable[LocalDistribution] | Mapping[str, LocalDistribution],
        *,
        prior: Prior | None = None,
    ) -> None:
        self._dag = DAG.parse(dag) if isinstance(dag, str) else dag
        self._cpts = _ordered_cpts(self._dag, cpts)
        self._prior = prior
        # What upper layers derive from this network and want to keep, by their own keys.
        self._cache: dict[Any, Any] = {}

    @classmethod
    def from_cpts(cls, cpts: Iterable[LocalDistribution]) -> BayesianNetwork:
        """The network whose structure is read off the tables; nodes in the order of the tables.

        Examples
        --------
        >>> a, b = Variable("a", [0, 1]), Variable("b", [0, 1])
        >>> BayesianNetwork.from_cpts([CPT(a, [0.5, 0.5]), CPT(b, [[0.1, 0.9], [0.3, 0.7]], [a])]).dag.arcs
        (('a', 'b'),)
        """
        tables = [_as_cpt(local) for local in cpts]
        arcs = [(parent.name, cpt.name) for cpt in tables for parent in cpt.parents]
        return cls(DAG([cpt.name for cpt in tables], arcs), tables)

    # ---- parts -----------------------------------------------------------------------------------------------

    @property
    def dag(self) -> DAG:
        """The structure."""
        return self._dag

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in order."""
        return self._dag.nodes

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in the order of the nodes."""
        return tuple(cpt.child for cpt in self._cpts)

    @property
    def cpts(self) -> tuple[CPT, ...]:
        """The tables, in the order of the nodes; parent axes are in the order of the nodes, too."""
        return self._cpts

    @property
    def prior(self) -> Prior | None:
        """The prior behind the estimates, or None."""
        return self._prior

    def variable(self, name: str) -> Variable:
        """The variable of that name."""
        return self.cpt(name).child

    def cpt(self, name: str) -> CPT:
        """The table P(name | its parents)."""
        return self._cpts[self._dag.index(name)]

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, the sum of q (r - 1) over the nodes."""
        return sum(cpt.n_parameters for cpt in self._cpts)

    # ---- data ------------------------------------------------------------------------------------------------

    def log_likelihood(self, data: Any) -> float:
        """Sum over the rows of log P(row), in nats.

        Parameters
        ----------
        data : Table, data frame, mapping of columns
            Coded against this network's states; columns that the network does not have are ignored. Rows must
            be complete.
        """
        return float(self.row_log_likelihood(data).sum())

    def row_log_likelihood(self, data: Any) -> NDArray[np.float64]:
        """log P(row) for each row of the data; -inf where a row is impossible."""
        from bntk.inference.likelihood import complete_log_likelihood

        return complete_log_likelihood(self, data)

    def sample(self, n: int, seed: int = 0) -> Table:
        """Draw ``n`` rows; the same seed gives the same rows, whatever the number of threads.

        Examples
        --------
        >>> import bntk
        >>> bntk.datasets.asia().sample(1000, seed=1).n_rows
        1000
        """
        from bntk.inference.sampling import forward_sample

        return forward_sample(self, n, seed)

    def update(self, data: Any) -> BayesianNetwork:
        """A new network that has also learned from ``data``: the counts are added, the prior stays.

        The result is the one that fitting all rows at once gives. Only a fitted network has counts.
        """
        from bntk.learning.parameters import updated

        return updated(self, data)

    # ---- views -----------------------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """All tables as one tidy data frame with the columns ``variable``, ``given``, ``state`` and ``p``."""
        import pandas as pd

        return pd.concat([_tidy(cpt) for cpt in self._cpts], ignore_index=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file; the suffix says which format (``.bif``), ``.gz`` after it compresses."""
        from bntk.io import save

        save(self, path)

    def plot(self, **options: Any) -> Any:
        """Draw the structure; see :func:`bntk.viz.plot_dag` for the options. Returns matplotlib Axes."""
        from bntk.viz.network import plot_dag

        return plot_dag(self._dag, **options)

    def is_close(self, other: BayesianNetwork, tolerance: float = 1e-9) -> bool:
        """True when variables and arcs agree, and no probability differs by more than ``tolerance``."""
        return (
            self.variables == other.variables
            and self._dag == other._dag
            and all(
                np.allclose(a.values, b.values, rtol=0, atol=tolerance)
                for a, b in zip(self._cpts, other._cpts, strict=True)
            )
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BayesianNetwork):
            return NotImplemented
        return self._dag == other._dag and self._cpts == other._cpts

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}

    def __repr__(self) -> str:
        def plural(n: int, word: str) -> str:
            return f"{n:,} {word}" + ("" if n == 1 else "s")

        head = (
            f"BayesianNetwork: {plural(len(self._cpts), 'variable')}, {plural(self._dag.n_arcs, 'arc')}, "
            f"{plural(self.n_parameters, 'parameter')}"
        )
        most = 30
        lines = [
            f"  {cpt.name} ({plural(cpt.child.n_states, 'state')})"
            + (f" <- {', '.join(p.name for p in cpt.parents)}" if cpt.parents else "")
            for cpt in self._cpts[:most]
        ]
        hidden = len(self._cpts) - most
        return "\n".join([head, *lines, *([f"  ... {hidden:,} more variables"] if hidden > 0 else [])])


def _as_cpt(local: LocalDistribution) -> CPT:
    if not isinstance(local, LocalDistribution):
        raise NetworkError(f"expected a CPT or another local distribution (with to_cpt), got {local!r}")
    return local.to_cpt()


def _ordered_cpts(dag: DAG, cpts: Iterable[LocalDistribution] | Mapping[str, LocalDistribution]) -> tuple[CPT, ...]:
    """One table a node, in node order, after checking that families and states agree."""
    by_name: dict[str, CPT] = {}
    for local in cpts.values() if isinstance(cpts, Mapping) else cpts:
        cpt = _as_cpt(local)
        if cpt.name in by_name:
            raise NetworkError(f"two tables are given for {cpt.name!r}")
        by_name[cpt.name] = cpt
    if isinstance(cpts, Mapping):
        for key, cpt in zip(cpts, by_name.values(), strict=True):
            if key != cpt.name:
                raise NetworkError(f"the table given for {key!r} is {cpt!s}")
    absent = [name for name in dag.nodes if name not in by_name]
    if absent:
        raise NetworkError(f"no table is given for {absent}")
    unknown = [name for name in by_name if name not in dag.nodes]
    if unknown:
        raise UnknownNameError(f"tables are given for {unknown}, which are not nodes; the nodes are {list(dag.nodes)}")
    return tuple(_checked(dag, by_name, name) for name in dag.nodes)


def _checked(dag: DAG, by_name: Mapping[str, CPT], name: str) -> CPT:
    cpt, expected = by_name[name], dag.parents(name)
    got = [p.name for p in cpt.parents]
    if set(got) != set(expected):
        raise NetworkError(f"{name!r} has the parents {list(expected)} in the graph, but its table is {cpt!s}")
    for parent in cpt.parents:
        own = by_name[parent.name].child
        if own.states != parent.states:
            raise NetworkError(
                f"{cpt!s}: {parent.name!r} has the states {format_states(parent.states)} here, "
                f"but {format_states(own.states)} in its own table"
            )
    return cpt.reorder(expected)


def _tidy(cpt: CPT) -> pd.DataFrame:
    import itertools

    import pandas as pd

    configurations = itertools.product(*(p.states for p in cpt.parents))
    given = [", ".join(f"{p.name}={s}" for p, s in zip(cpt.parents, states, strict=True)) for states in configurations]
    r = cpt.child.n_states
    return pd.DataFrame(
        {
            "variable": cpt.name,
            "given": np.repeat(np.array(given, dtype=object), r),
            "state": np.array([*cpt.child.states] * len(given), dtype=object),
            "p": cpt.values.ravel(),
        }
    )

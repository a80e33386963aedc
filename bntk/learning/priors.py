"""Priors of parameters: how tables are estimated from counts.

Most priors are pseudo-counts that are added to the counts of a family before both are normalised, by
:func:`posterior_mean`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk.cpt import entries_of_frame, family_text
from bntk.data.variable import Variable, cards_of, format_states, names_of, plain_state
from bntk.data.weights import LEAST, MOST
from bntk.errors import ArgumentError, BntkError, DataError, UnknownNameError, did_you_mean
from bntk.network import BayesianNetwork

__all__ = [
    "HDP", "BDeu", "BDeuPerClass", "Backoff", "Dirichlet", "ExpertCounts", "MaximumLikelihood", "Prior", "PriorNetwork",
    "as_prior",
]  # fmt: skip

#: The column of the counts in a frame that has a row per cell.
COUNT = "count"
#: The variables of a family: the parents, then the child.
Family = tuple[Variable, ...]
#: Contingency tables by the names of their variables, which are in the order of the axes.
Tables = Mapping[tuple[str, ...], NDArray[Any]]


class Prior(ABC):
    """The base of all priors: pseudo-counts alpha_ijk for families, or another way to estimate their tables.

    A prior of your own derives from this class. Most need only :meth:`pseudo_count`.

    Examples
    --------
    >>> import bntk
    >>> class Half(bntk.priors.Prior):
    ...     def pseudo_count(self, child, q):
    ...         return 0.5
    >>> bntk.fit("a", {"a": [0, 0, 1]}, prior=Half()).cpt("a").values
    array([0.625, 0.375])
    """

    @abstractmethod
    def pseudo_count(self, child: Variable, q: int) -> float | NDArray[np.float64]:
        """Pseudo-count of each cell of a family's table: one number, or one per state of the child.

        Parameters
        ----------
        child : Variable
        q : int
            The number of parent configurations.
        """

    def pseudo_counts(self, families: Sequence[Family], tables: Tables) -> list[float | NDArray[np.float64]]:
        """The pseudo-counts of several families, each of a shape that broadcasts to the family's table.

        Parameters
        ----------
        families : sequence of tuples of Variable
            The parents, then the child.
        tables : mapping
            The counts that :meth:`needed` named, by the names of their variables.
        """
        found = [self.of_family(family) for family in families]
        for alpha in found:
            _check_cells(alpha if isinstance(alpha, float) else float(np.max(alpha)))
        return found

    def of_family(self, family: Family) -> float | NDArray[np.float64]:
        """The pseudo-counts of a family as far as they do not depend on counts: :meth:`pseudo_count` of its child.

        Parameters
        ----------
        family : tuple of Variable
            The parents, then the child.
        """
        return self.pseudo_count(family[-1], n_configurations(family))

    def estimates(
        self, families: Sequence[Family], counts: Sequence[NDArray[Any]], tables: Tables
    ) -> list[NDArray[np.float64]]:
        """The tables of several families: their counts plus the pseudo-counts, normalised.

        Parameters
        ----------
        families : sequence of tuples of Variable
            The parents, then the child.
        counts : sequence of arrays
            The counts of each family, one axis per variable.
        tables : mapping
            The counts that :meth:`needed` named, by the names of their variables.
        """
        alphas = self.pseudo_counts(families, tables)
        return [posterior_mean(table, alpha) for table, alpha in zip(counts, alphas, strict=True)]

    def needed(self, families: Sequence[Family]) -> list[Family]:
        """The families whose counts :meth:`pseudo_counts` depends on; none for most priors."""
        return []

    def within_em(self) -> Prior:
        """The prior that the iterations of EM have; tables are estimated by the whole prior at the end."""
        return self

    def given_class(self, variables: Sequence[Variable]) -> Prior:
        """The prior as a classifier uses it, which has these class variables."""
        return self

    def for_variables(self, variables: Sequence[Variable]) -> Prior:
        """The prior of a network with these variables; the same, unless it depends on their numbers of states."""
        return self

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse a prior that names a variable which is none of these."""
        return

    def for_edited(self, names: Mapping[str, str | None]) -> Prior | None:
        """The prior of a network whose variables were renamed; None if it says something about one that is no more.

        Parameters
        ----------
        names : mapping
            The new name of each variable; None for one that was removed, or whose states are others now.
        """
        return self


@dataclass(frozen=True)
class MaximumLikelihood(Prior):
    """No prior: relative frequencies. Parent configurations without data get the uniform distribution."""

    def pseudo_count(self, child: Variable, q: int) -> float:
        """Zero."""
        return 0.0


@dataclass(frozen=True)
class Dirichlet(Prior):
    """A Dirichlet prior with the same pseudo-count for every cell (1 is Laplace's rule, 0.5 Jeffreys').

    Parameters
    ----------
    value : float, or mapping of variable name to float or array
        With a mapping, each variable has its own number, or one per state; variables that are not named have
        ``default``.
    default : float
        The pseudo-count of variables that a mapping does not name.
    """

    value: float | Mapping[str, ArrayLike] = 1.0
    default: float = 1.0

    def __post_init__(self) -> None:
        given = self.value.items() if isinstance(self.value, Mapping) else [("every variable", self.value)]
        for name, number in [*given, ("the default", self.default)]:
            found = _checking.numbers(f"the Dirichlet prior of {name}", number, "finite numbers from 0")
            for each in np.ravel(found).tolist():
                check_pseudo_count(each, f"the Dirichlet prior of {name}")
        for name, number in [("value", self.value), ("default", self.default)]:
            if not isinstance(number, Mapping):
                _checking.number(name, number, 0)

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse a name that is none of these."""
        _check_known(self.value if isinstance(self.value, Mapping) else (), names)

    def for_edited(self, names: Mapping[str, str | None]) -> Prior | None:
        """The same numbers under the new names."""
        if not isinstance(self.value, Mapping):
            return self
        renamed = [(names.get(name, name), number) for name, number in self.value.items()]
        kept = {name: number for name, number in renamed if name is not None}
        return replace(self, value=kept) if len(kept) == len(renamed) else None

    def pseudo_count(self, child: Variable, q: int) -> float | NDArray[np.float64]:
        """The pseudo-count of the child's cells."""
        if not isinstance(self.value, Mapping):
            return float(self.value)
        alpha = np.asarray(self.value.get(child.name, self.default), dtype=np.float64)
        if alpha.shape not in ((), (child.n_states,)):
            raise ValueError(
                f"the prior of {child.name!r} has shape {alpha.shape}; give one number, or one for each of its "
                f"{child.n_states} states; bntk.priors.ExpertCounts has one for each cell"
            )
        return alpha


@dataclass(frozen=True)
class BDeu(Prior):
    """The BDeu prior: an equivalent sample of ``ess`` rows, spread evenly, alpha_ijk = ess / (q r) (Buntine 1991).

    Parameters
    ----------
    ess : float
        The equivalent sample size, positive.
    """

    ess: float = 1.0

    def __post_init__(self) -> None:
        check_pseudo_count(self.ess, "ess, the equivalent sample size,", positive=True)

    @classmethod
    def per_class(cls, alpha: float, n_classes: int | None = None, *, target: str | None = None) -> BDeu | BDeuPerClass:
        """The prior with an equivalent sample of ``alpha`` rows *in each class*: :class:`BDeuPerClass`.

        Parameters
        ----------
        alpha : float
            Equivalent sample size of each class. Numbers from 1 to 5 are usual.
        n_classes : int, optional
            The number of classes, if it is known: the prior is ``BDeu(alpha * n_classes)``.
        target : str, optional
            The class variable. Classifiers fill it in.

        Examples
        --------
        >>> BDeu.per_class(2.0), BDeu.per_class(2.0, n_classes=3)
        (BDeuPerClass(alpha=2.0, target=None), BDeu(ess=6.0))
        """
        return BDeuPerClass(alpha, target) if n_classes is None else cls(sample_size(alpha, n_classes))

    def pseudo_count(self, child: Variable, q: int) -> float:
        """``ess / (q r)``."""
        return self.ess / (q * child.n_states)


@dataclass(frozen=True)
class BDeuPerClass(Prior):
    """The BDeu prior with the same equivalent sample size in each class: ``alpha`` times the number of classes in all.

    A family with the class among its variables has, for each class, ``alpha`` rows spread evenly over the states of
    its other variables: alpha_{x_i x_j | c} = alpha / (r_i r_j) for a feature x_i with the class and a feature x_j as
    parents, and alpha for each state of the class itself (Mauá's lecture, section 3). A family without the class has
    all rows of the sample, alpha K / (q r) per cell with K classes. So it is ``BDeu(alpha * K)``, which a network that
    was fitted with it has as its ``prior``.

    Parameters
    ----------
    alpha : float
        Equivalent sample size of each class. Numbers from 1 to 5 are usual.
    target : str, optional
        The class variable. Classifiers fill it in.

    Examples
    --------
    >>> import bntk
    >>> rows = {"fruit": ["apple", "pear", "fig"], "colour": ["red", "green", "green"]}
    >>> bn = bntk.fit("fruit -> colour", rows, prior=bntk.priors.BDeu.per_class(2, target="fruit"))
    >>> bn.cpt("colour").probability("red", {"fruit": "apple"}), bn.prior  # (1 + 2 / 2) / (1 + 2)
    (0.6666666666666666, BDeu(ess=6))
    """

    alpha: float = 1.0
    target: str | None = None

    def __post_init__(self) -> None:
        check_pseudo_count(self.alpha, "alpha, the equivalent sample size of a class,", positive=True)
        if self.target is not None:
            _checking.text("target", self.target, "the name of a variable, or None")

    def given_class(self, variables: Sequence[Variable]) -> BDeu:
        """``BDeu(alpha * K)``; with several class variables there is no one number of classes."""
        if len(variables) != 1:
            raise DataError(
                f"{self!r} is a prior of one class variable, not of {len(variables)}: {list(names_of(variables))}; "
                "give BDeu(ess)"
            )
        return BDeu(sample_size(self.alpha, variables[0].n_states))

    def for_variables(self, variables: Sequence[Variable]) -> BDeu:
        """``BDeu(alpha * K)``, with the number K of states of the class variable."""
        return self.given_class([class_among(variables, self.target, self)])

    def pseudo_count(self, child: Variable, q: int) -> float:
        """``alpha`` for each state of the class itself; for other variables the class must be known."""
        return self.for_variables([child]).pseudo_count(child, q)


@dataclass(frozen=True)
class Backoff(Prior):
    """Tables are shrunk towards simpler ones: a family with fewer parents, or with none.

    With theta0_k = P(child = k | some of the parents) estimated under a Dirichlet prior, and N_ijk counted as always,

        theta_ijk = (N_ijk + rows * theta0_k) / (N_ij + rows).

    So a parent configuration with little or no data gets the probabilities of the simpler table instead of uniform
    ones. By default that table is P(child), as in Friedman, Geiger and Goldszmidt (1997), who use 5 rows. In a
    classifier it is P(child | class): a configuration without data then has the probabilities of naive Bayes.
    Shrinking towards tables with one feature less at a time was less accurate in trials on the UCI sets.

    Parameters
    ----------
    rows : float
        How many rows the simpler table counts for.
    alpha : float
        The Dirichlet prior of each cell of the simpler table, and of tables that are not shrunk because they have no
        other parents than those in ``given``.
    given : sequence of str
        The parents that the simpler table keeps. A classifier fills in its class variables.

    Examples
    --------
    >>> import bntk
    >>> rows = {"a": ["x", "x", "y"], "b": [0, 0, 1]}
    >>> bntk.fit("a -> b", rows, prior=bntk.priors.Backoff(rows=1, alpha=0)).cpt("b")
    P(b | a)
    a | 0      1
    x | 0.8889 0.1111
    y | 0.3333 0.6667
    """

    rows: float = 5.0
    alpha: float = 1.0
    given: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, number in (("rows", self.rows), ("alpha", self.alpha)):
            check_pseudo_count(number, f"{name} of a Backoff")
        given = _checking.several("given of a Backoff", self.given, "names of variables")
        object.__setattr__(self, "given", tuple(_checking.text("each of given", name) for name in given))

    def given_class(self, variables: Sequence[Variable]) -> Backoff:
        """Shrunk towards the tables given the class variables alone, unless ``given`` says otherwise."""
        return self if self.given else replace(self, given=names_of(variables))

    def for_edited(self, names: Mapping[str, str | None]) -> Prior | None:
        """The same, with the new names in ``given``."""
        return _with_given(self, names)

    def pseudo_count(self, child: Variable, q: int) -> float:
        """``alpha``, that of the tables that are not shrunk."""
        return self.alpha

    def needed(self, families: Sequence[Family]) -> list[Family]:
        """The simpler families."""
        return list({names_of(smaller): smaller for smaller in self._simpler(families) if smaller}.values())

    def pseudo_counts(self, families: Sequence[Family], tables: Tables) -> list[float | NDArray[np.float64]]:
        """``rows`` times theta0_k, or ``alpha`` for families that are not shrunk."""
        found: list[float | NDArray[np.float64]] = []
        for family, smaller in zip(families, self._simpler(families), strict=True):
            if smaller is None:
                found.append(self.alpha)
                continue
            theta0 = posterior_mean(tables[names_of(smaller)], self.alpha)
            kept = names_of(smaller)
            found.append(self.rows * theta0.reshape([v.n_states if v.name in kept else 1 for v in family]))
        return found

    def _simpler(self, families: Sequence[Family]) -> list[Family | None]:
        """What each family is shrunk towards; None if it has no other parents than those in ``given``."""
        kept, found = frozenset(self.given), []
        for *parents, child in families:
            simple = kept.issuperset(names_of(parents))
            found.append(None if simple else (*[parent for parent in parents if parent.name in kept], child))
        return found


@dataclass(frozen=True)
class HDP(Prior):
    """Tables are smoothed along the chain of their parents, by a hierarchical Dirichlet process.

    With the parents u_1, ..., u_d of a child x in the order of the chain, each distribution is drawn around the one
    with a parent less, and all of a level have the same concentration:

        theta(x) ~ Dirichlet(alpha_0 / r, ..., alpha_0 / r),
        theta(x | u_1) ~ Dirichlet(alpha_1 theta(x)),
        theta(x | u_1, u_2) ~ Dirichlet(alpha_2 theta(x | u_1)), ...,    alpha_l ~ Gamma(shape, rate).

    The estimate is the posterior mean, by Gibbs sampling over the table counts of the Chinese restaurant franchise and
    the concentrations (Petitjean, Buntine, Webb and Zaidi 2018): in each sweep theta is computed from the root down as

        theta(x | u_1, ..., u_l) = (n_x + alpha_l theta(x | u_1, ..., u_l-1)) / (n + alpha_l),

    and these are averaged. So how much each level counts is learned for each table; a parent configuration without
    data has the estimate of the level above. It pays where tables have several parents. It takes time: all sweeps over
    the configurations with data of each table.

    The chain begins with the parents in ``given``; the others follow by falling mutual information with the child given
    these, in the family's own counts, equal ones in the order of the variables.

    The estimates depend on the counts and the seed only. So :meth:`bntk.BayesianNetwork.update` equals fitting all
    rows. Counts that are not whole numbers, by weights of rows or by EM, are taken as rows of which the last one of a
    cell weighs less. EM itself runs with one row added to each cell, and the tables are smoothed at the end.
    Classifiers that add pseudo-counts themselves (AODE, A2DE, MANB, AMODE, and words by ``numeric="multinomial"``) do
    not take this prior.

    Parameters
    ----------
    iterations : int
        The number of sweeps whose estimates are averaged.
    burn_in : int
        The number of sweeps before them.
    shape, rate : float
        The Gamma prior of the concentrations, with mean ``shape / rate``. The default has the mean 50. With TAN
        and kDB on twelve UCI sets, its log loss was smaller than those of means of 10 and 200; where there is little
        noise, a smaller mean may be better, such as 10 by ``rate=0.1``.
    concentration : float, optional
        A fixed concentration of all levels, instead of the prior.
    seed : int
        Seed of the sampling.
    given : sequence of str
        The parents that come first in the chain, from the root. A classifier fills in its class variables.

    Examples
    --------
    >>> import bntk
    >>> rows = {"a": list("xxxxyyyz"), "b": list("ppqqpqqp"), "c": list("00010111")}
    >>> table = bntk.fit("a -> c; b -> c", rows, prior=bntk.priors.HDP()).cpt("c")
    >>> round(table.probability("1", {"a": "x", "b": "p"}), 2)
    0.39
    """

    iterations: int = 500
    burn_in: int = 100
    shape: float = 1.0
    rate: float = 0.02
    concentration: float | None = None
    seed: int = 0
    given: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _checking.whole_number("iterations of an HDP", self.iterations, 1, _checking.MOST)
        _checking.whole_number("burn_in of an HDP", self.burn_in, 0, _checking.MOST)
        _checking.whole_number("seed of an HDP", self.seed, 0)
        # A node takes up to as many steps as its concentration, so that larger ones would not end.
        for name in ("shape", "rate", *(() if self.concentration is None else ("concentration",))):
            _checking.number(f"{name} of an HDP", getattr(self, name), 1e-6, 1e6)
        given = _checking.several("given of an HDP", self.given, "names of variables")
        object.__setattr__(self, "given", tuple(_checking.text("each of given", name) for name in given))

    def given_class(self, variables: Sequence[Variable]) -> HDP:
        """The chain begins with the class variables, unless ``given`` says otherwise."""
        return self if self.given else replace(self, given=names_of(variables))

    def within_em(self) -> Prior:
        """One row added to each cell."""
        return Dirichlet(1.0)

    def for_edited(self, names: Mapping[str, str | None]) -> Prior | None:
        """The same, with the new names in ``given``."""
        return _with_given(self, names)

    def pseudo_count(self, child: Variable, q: int) -> float:
        """Refused: what is added to a count depends on all counts of the table."""
        raise ArgumentError(
            f"{self!r} has no pseudo-counts: it smooths whole tables, in bntk.fit and in classifiers that are one "
            "network; give a number or bntk.priors.Backoff() here"
        )

    def estimates(
        self, families: Sequence[Family], counts: Sequence[NDArray[Any]], tables: Tables
    ) -> list[NDArray[np.float64]]:
        """The posterior means."""
        from bntk.learning.hdp import estimate_tables

        return estimate_tables(families, counts, self)


@dataclass(frozen=True, repr=False)
class ExpertCounts(Prior):
    """Pseudo-counts that an expert gives for single tables: so many rows of each kind were seen, or imagined, before.

    The count alpha_ijk of parent configuration j and state k is added to N_ijk, so that the sum of a row of counts says
    how sure the expert is: after as many rows of data, these weigh as much as the expert. That is what pgmpy's
    ``pseudo_counts`` and the experience tables of Hugin do.

    Parameters
    ----------
    tables : mapping of variable name to counts
        For each variable whose table the expert knows:

        - a data frame, or mapping of columns, with a column per parent, and one per state of the variable that has its
          counts, which make a row per parent configuration; or with a column per variable of the family and one named
          ``count``, which make a row per cell. Rows and columns may be in any order, see :meth:`bntk.CPT.from_frame`;
        - an array with the axes of the variable's table, one per parent in the order of the network's nodes, and one
          for its states (``CPT.values``);
        - one number per state, for every parent configuration; or one number for every cell.
    default : float
        The pseudo-count of each cell of the other tables.

    Examples
    --------
    >>> import bntk
    >>> wet = {"rain": ["no", "yes"], "dry": [9, 1], "wet": [1, 9]}  # ten rows with rain, ten without
    >>> prior = bntk.priors.ExpertCounts({"grass": wet}, default=0)
    >>> rows = {"rain": ["no", "yes", "no", "no"], "grass": ["dry", "wet", "wet", "dry"]}
    >>> bntk.fit("rain -> grass", rows, prior=prior).cpt("grass")  # (2 + 9) / (3 + 10), ...
    P(grass | rain)
    rain | dry     wet
    no   | 0.8462  0.1538
    yes  | 0.09091 0.9091
    """

    tables: Mapping[str, Any]
    default: float = 1.0

    def __post_init__(self) -> None:
        tables = _checking.mapping("tables of ExpertCounts", self.tables, "{variable: counts}")
        object.__setattr__(self, "tables", {_known_name(n): _plain_counts(n, own) for n, own in tables.items()})
        check_pseudo_count(self.default, "the default of ExpertCounts")

    def __repr__(self) -> str:
        return f"ExpertCounts(counts of {format_states([*self.tables])}, default={self.default!r})"

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse a name that is none of these."""
        _check_known(self.tables, names)

    def for_edited(self, names: Mapping[str, str | None]) -> Prior | None:
        """The same counts under the new names; None if a table may be of something that is no more."""
        gone = {name for name, new in names.items() if new is None}
        frames = [own for own in self.tables.values() if isinstance(own, Mapping)]
        if gone & {*self.tables, *(column for own in frames for column in own)}:
            return None
        if gone and any(np.ndim(own) > 1 for own in self.tables.values() if not isinstance(own, Mapping)):
            return None  # an array does not say what its axes are
        renamed = {
            names.get(name) or name: own
            if not isinstance(own, Mapping)
            else {names.get(column) or column: cells for column, cells in own.items()}
            for name, own in self.tables.items()
        }
        return replace(self, tables=renamed)

    def pseudo_count(self, child: Variable, q: int) -> float:
        """Refused where the expert has a table: its counts depend on the states of the parents, not on their number."""
        if child.name not in self.tables:
            return float(self.default)
        raise ArgumentError(
            f"{self!r} has a count for each cell of a table, in bntk.fit and in classifiers that are one network; "
            "give a number here"
        )

    def of_family(self, family: Family) -> float | NDArray[np.float64]:
        """The expert's counts, with the axes of the family."""
        child, parents = family[-1], family[:-1]
        own = self.tables.get(child.name)
        if own is None:
            return float(self.default)
        if not isinstance(own, Mapping):
            counts = np.asarray(own, dtype=np.float64)
            shape = tuple(cards_of(family))
            if counts.shape not in ((), shape[-1:], shape):
                raise DataError(
                    f"the prior has counts of {child.name!r} with the shape {counts.shape}; "
                    f"{family_text(child, parents)} needs {shape}, {_axes(family)}, or one number per state"
                )
            return counts if counts.ndim else float(counts)
        import pandas as pd

        try:
            counts = entries_of_frame(child, pd.DataFrame(own), parents, COUNT)
        except BntkError as error:
            raise DataError(
                f"the prior's counts of {child.name!r} do not fit: {error} (states that do not occur in the data are "
                "declared by variables=)"
            ) from None
        _check_counts(child.name, counts)
        return counts


@dataclass(frozen=True, repr=False)
class PriorNetwork(Prior):
    """A network that says what is believed before any data, and how many rows that belief is worth.

    With ``ess``, the network counts for so many rows in all, which are spread as its joint distribution says:
    alpha_ijk = ess * P(x_i = k, parents of x_i = j), the prior of Heckerman, Geiger and Chickering (1995), by exact
    inference. So the parents may be others than in the network, and all structures have the same prior knowledge; that
    of a network with uniform tables is :class:`BDeu`. With ``rows``, each parent configuration counts for so many rows,
    likely or not: alpha_ijk = rows * P(x_i = k | parents of x_i = j), as by equal numbers in Hugin's experience tables.

    Parameters
    ----------
    network : BayesianNetwork
        It has all variables of the network that is fitted, with the same states in any order.
    ess : float, optional
        The equivalent sample size, positive.
    rows : float, optional
        The rows of each parent configuration; give this or ``ess``.

    Examples
    --------
    >>> import bntk
    >>> asia = bntk.datasets.asia()
    >>> few = asia.sample(20, seed=1)
    >>> fitted = bntk.fit(asia.dag, few, prior=bntk.priors.PriorNetwork(asia, rows=50), variables=asia.variables)
    >>> fitted.cpt("either").probability("yes", {"tub": "yes", "lung": "no"})
    1.0
    """

    network: BayesianNetwork
    ess: float | None = None
    rows: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.network, BayesianNetwork):
            raise _checking.wrong("network of a PriorNetwork", "a BayesianNetwork", self.network)
        if (self.ess is None) == (self.rows is None):
            raise ArgumentError(
                "a PriorNetwork has either ess, how many rows the network counts for, or rows, how many each parent "
                "configuration counts for"
            )
        name, number = ("ess", self.ess) if self.rows is None else ("rows", self.rows)
        check_pseudo_count(number, f"{name} of a PriorNetwork", positive=True)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        number = f"rows={self.rows!r}" if self.ess is None else f"ess={self.ess!r}"
        return f"PriorNetwork(network of {len(self.network.names)} variables, {number})"

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse a variable that is not in the network."""
        lacking = [name for name in names if name not in self.network.names]
        if lacking:
            raise UnknownNameError(
                f"the prior network has no variable {lacking[0]!r}{did_you_mean(lacking[0], self.network.names)}; it "
                f"has {format_states(self.network.names)}"
            )

    def for_edited(self, names: Mapping[str, str | None]) -> Prior | None:
        """The same beliefs under the new names."""
        own = {name: new for name, new in names.items() if name in self.network.names and new != name}
        if None in own.values():
            return None
        return replace(self, network=self.network.rename(own)) if own else self  # type: ignore[arg-type]

    def pseudo_count(self, child: Variable, q: int) -> float | NDArray[np.float64]:
        """Those of a variable without parents; for others, their states matter, not their number."""
        if q == 1:
            return self.of_family((child,))
        raise ArgumentError(
            f"{self!r} has a count for each cell of a table, in bntk.fit and in classifiers that are one network; "
            "give a number here"
        )

    def of_family(self, family: Family) -> NDArray[np.float64]:
        """``ess`` times the joint distribution, or ``rows`` times the conditional one, with the axes of the family."""
        self.check_names(names_of(family))
        found = self.network.query(names_of(family))
        joint = found.values.transpose([names_of(found.variables).index(v.name) for v in family])
        for axis, variable in enumerate(family):
            known = self.network.variable(variable.name)
            if {*known.states} != {*variable.states}:
                raise DataError(
                    f"variable {variable.name!r} has the states {format_states(known.states)} in the prior network, "
                    f"but {format_states(variable.states)} in the data; give all states by variables= (those of the "
                    "prior network are its variables)"
                )
            joint = joint.take([known.code(state) for state in variable.states], axis)
        if self.ess is not None:
            return np.asarray(joint * self.ess)
        return np.asarray(posterior_mean(joint, 0.0) * float(self.rows or 0.0))


def _check_known(given: Iterable[str], names: Iterable[str]) -> None:
    """Refuse a prior of variables that are not there."""
    known = [*names]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise UnknownNameError(
            f"the prior names {unknown[0]!r}{did_you_mean(unknown[0], known)}; the variables are {format_states(known)}"
        )


def _known_name(name: Any) -> str:
    return _checking.text("each key of the tables of ExpertCounts", name, "the name of a variable")


def _plain_counts(name: str, given: Any) -> Any:
    """Counts as tuples of numbers, those of a frame as a mapping of columns."""
    if not isinstance(given, Mapping) and not hasattr(given, "columns"):
        counts = _checking.numbers(f"the prior's counts of {name!r}", given, "counts from 0")
        _check_counts(name, counts)
        return _tuples(counts.tolist())
    columns = list(given) if isinstance(given, Mapping) else list(given.columns)
    if len({*columns}) < len(columns):
        raise DataError(f"the prior's counts of {name!r} have several columns with the same name: {columns}")
    cells = {
        plain_state(column): tuple(map(plain_state, _checking.several(f"column {column!r}", given[column])))
        for column in columns
    }
    lengths = {column: len(own) for column, own in cells.items()}
    if len({*lengths.values()}) > 1:
        raise DataError(f"the prior's counts of {name!r} have columns of different lengths: {lengths}")
    return cells


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _check_counts(name: str, counts: NDArray[np.float64]) -> None:
    for number in np.unique(counts).tolist():
        check_pseudo_count(number, f"a count of the prior for {name!r}")


def _axes(family: Family) -> str:
    """What the axes of a family's table are."""
    return "one axis for each of " + ", ".join(f"{v.name!r} ({v.n_states} states)" for v in family)


def sample_size(alpha: float, n_classes: int) -> float:
    """The equivalent sample size of all classes, for ``alpha`` rows in each."""
    _checking.number("alpha", alpha, 0, above=True)
    return alpha * _checking.whole_number("n_classes", n_classes, least=1)


def class_among(variables: Sequence[Variable], target: str | None, rule: object) -> Variable:
    """The class variable that a prior or score depends on; refused if none is named, or there is no such variable."""
    if target is None:
        raise DataError(
            f"{rule!r} has an equivalent sample for each class and must know the class variable: "
            "BDeu.per_class(alpha, target=...) with its name, or BDeu(ess) for all rows; classifiers fill it in"
        )
    found = [variable for variable in variables if variable.name == target]
    if not found:
        raise DataError(f"the class {target!r} of {rule!r} is not among the variables {list(names_of(variables))}")
    return found[0]


def _with_given(prior: Backoff | HDP, names: Mapping[str, str | None]) -> Backoff | HDP | None:
    """The prior with new names in ``given``; None if one of them is no more."""
    given = [names.get(name, name) for name in prior.given]
    kept = tuple(name for name in given if name is not None)
    return replace(prior, given=kept) if len(kept) == len(given) else None


def n_configurations(family: Family) -> int:
    """The number q of parent configurations."""
    return math.prod(cards_of(family[:-1]))


def check_pseudo_count(number: float, what: str, positive: bool = False) -> None:
    """Refuse a number that cannot be added to counts: not finite, negative, or so large or small that sums are off."""
    _checking.number(what, number, 0, above=positive)
    if number > MOST or 0 < number < LEAST:
        raise ValueError(
            f"{what} is {number:g}: pseudo-counts count as rows, and sums of them would not be exact; give a number "
            f"from {LEAST:g} to {MOST:g}"
        )


def _check_cells(alpha: ArrayLike) -> None:
    """Refuse pseudo-counts that a prior of the user's own gives, if they would overflow; arrays are trusted here."""
    if isinstance(alpha, float) and not alpha <= MOST:
        raise ValueError(f"the prior gives a cell the pseudo-count {alpha:g}; give finite numbers, up to {MOST:g}")


def posterior_mean(counts: NDArray[Any], alpha: ArrayLike) -> NDArray[np.float64]:
    """Counts plus pseudo-counts, normalised over the last axis; uniform where there are neither."""
    _check_cells(alpha)
    values = counts + np.asarray(alpha, dtype=np.float64)
    totals = values.sum(axis=-1, keepdims=True)
    if totals.min(initial=1.0) > 0:
        return np.asarray(np.divide(values, totals, out=values))
    uniform = np.full(values.shape, 1.0 / values.shape[-1])
    return np.divide(values, totals, out=uniform, where=totals > 0)


#: The priors that have a name.
_BY_NAME: dict[str, type[Prior]] = {"mle": MaximumLikelihood, "backoff": Backoff, "hdp": HDP}


def as_prior(prior: Prior | str | float | Mapping[str, ArrayLike]) -> Prior:
    """A prior from what users write: a name, a number (the Dirichlet alpha of each cell), a mapping, or the prior.

    The names are ``"mle"``, ``"backoff"`` and ``"hdp"``.

    Examples
    --------
    >>> as_prior("mle"), as_prior(0.5)
    (MaximumLikelihood(), Dirichlet(value=0.5, default=1.0))
    """
    if isinstance(prior, Prior):
        return prior
    if isinstance(prior, str) and prior in _BY_NAME:
        return _BY_NAME[prior]()
    if isinstance(prior, Mapping) or (isinstance(prior, (int, float, np.number)) and not isinstance(prior, bool)):
        return Dirichlet(prior if isinstance(prior, Mapping) else float(prior))
    raise ValueError(
        f"prior={prior!r} is not known; give 'mle', 'backoff', 'hdp', a number (Dirichlet alpha of every cell), a "
        "mapping of variable name to numbers, or a prior such as bntk.priors.BDeu(10)"
    )

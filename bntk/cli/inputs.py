"""The inputs of the command: networks, classifiers, structures, evidence. Unknown names are refused by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bntk
from bntk.cli.command import UsageError
from bntk.cli.output import note, shortened, suffix_of
from bntk.errors import DataError, UnknownNameError, did_you_mean

if TYPE_CHECKING:
    from bntk.data.variable import Variable
    from bntk.graph.dag import DAG
    from bntk.network import BayesianNetwork

NO_VARIABLE = "the network has no variable"
DATA_SUFFIXES = (".csv", ".tsv", ".txt", ".arff", ".parquet", ".pq")


# ---- networks, classifiers, structures -----------------------------------------------------------------------------


def embedded() -> tuple[str, ...]:
    """The names of the networks that come with the package."""
    from bntk import datasets

    return tuple(datasets.names())


def load_model(source: str, normalize: bool = False) -> Any:
    """A network or a classifier from a file, or an embedded network; a file goes before an embedded name."""
    if not Path(source).exists():
        if source in embedded():
            from bntk import datasets

            return datasets.network(source)
        if not Path(source).suffix:
            raise DataError(
                f"{source!r} is neither a file nor an embedded network ({shortened(embedded(), 20)})"
                + did_you_mean(source, embedded())
            )
    return bntk.load(source, normalize=normalize)


def is_network(model: Any) -> bool:
    """Whether it is a network, and no classifier."""
    from bntk.network import BayesianNetwork

    return isinstance(model, BayesianNetwork)


def load_network(source: str, normalize: bool = False, to_ask: bool = False) -> BayesianNetwork:
    """A network; of a classifier, the network that it has learned.

    ``to_ask`` says that its posteriors will be shown: a note tells if predictions of the classifier are others.
    """
    model = load_model(source, normalize)
    if to_ask and not is_network(model):
        _tell_of_other_predictions(source, model)
    if is_network(model):
        return model
    network = getattr(model, "network_", None)
    if network is None:
        raise DataError(f"{source} is a classifier ({type(model).__name__}) that is not a single network")
    return network


def _tell_of_other_predictions(source: str, classifier: Any) -> None:
    from bntk.explore.explorer import other_than_network

    interpolated = list(getattr(getattr(classifier, "features_", None), "centres", ()))
    why = other_than_network(classifier)
    if why is None and interpolated:
        why = f"they are interpolated between the intervals of {shortened(interpolated, 5)}"
    if why is not None:
        note(f"{source}: this is what the network says; predictions ({type(classifier).__name__}) may be others: {why}")


def load_structure(source: str) -> tuple[DAG, BayesianNetwork | None]:
    """A structure from a network, which comes along, or from text such as ``a -> b <- c``."""
    if ("->" in source or "<-" in source or source.lstrip().startswith("[")) and not Path(source).exists():
        from bntk.graph.dag import DAG

        return DAG.parse(source), None
    network = load_network(source)
    return network.dag, network


def spreadsheet_advice(source: str) -> str:
    """What to do with the file of a spreadsheet program; empty for other files."""
    is_sheet = suffix_of(source) in (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
    return "; save the sheet as CSV in the spreadsheet program, and give that file" if is_sheet else ""


# ---- evidence ------------------------------------------------------------------------------------------------------


def check_names(names: Iterable[str], known: Sequence[str], no_such: str) -> None:
    """Refuse names that are not known."""
    for name in names:
        if name not in known:
            raise unknown_name(name, known, no_such)


def unknown_name(name: str, known: Sequence[Any], no_such: str) -> UnknownNameError:
    """The error for a name that is not known, in the words given, with the one that may be meant."""
    return UnknownNameError(f"{no_such} {name!r}{did_you_mean(name, known)} (it has {shortened(known, 12)})")


def given(network: BayesianNetwork, words: Sequence[str]) -> dict[str, Any]:
    """Findings such as ``xray=yes``; ``size=small,middle`` is one of the two."""
    found: dict[str, Any] = {}
    for name, value in _named(network, "--given", words, "STATE"):
        variable = network.variable(name)
        if variable.find(value) is not None:
            found[name] = variable.states[variable.code(value)]
        else:
            found[name] = [_state(variable, part.strip()) for part in value.split(",")]
            found[name] = found[name][0] if len(found[name]) == 1 else found[name]
    return found


def soft(network: BayesianNetwork, words: Sequence[str]) -> dict[str, list[float]]:
    """Likelihoods such as ``xray=0.2,0.8``."""
    found: dict[str, list[float]] = {}
    for name, value in _named(network, "--soft", words, "NUMBERS"):
        variable = network.variable(name)
        try:
            found[name] = [float(part) for part in value.split(",")]
        except ValueError:
            found[name] = []
        if len(found[name]) != variable.n_states:
            raise DataError(
                f"--soft {name}={value}: give a number for each state of {name!r}, in the order "
                f"{shortened(variable.states, 12)}"
            )
    return found


def _named(network: BayesianNetwork, option: str, words: Sequence[str], value: str) -> Iterable[tuple[str, str]]:
    """The name and value of each word; a name that is there twice is refused."""
    found: dict[str, str] = {}
    for word in words:
        name, text = _split(network, word, value)
        if name in found:
            raise UsageError(
                f"{option} has {name!r} twice, {name}={found[name]} and {name}={text}; give one finding per variable "
                f"({name}=A,B means one of the two)"
            )
        found[name] = text
    return found.items()


def _split(network: BayesianNetwork, word: str, value: str) -> tuple[str, str]:
    """Name and value; a name may itself have an equals sign in it."""
    if "=" not in word:
        raise DataError(f"expected NAME={value}, got {word!r}")
    pieces = word.split("=")
    for k in range(1, len(pieces)):
        if "=".join(pieces[:k]) in network.names:
            return "=".join(pieces[:k]), "=".join(pieces[k:])
    raise unknown_name(pieces[0], network.names, NO_VARIABLE)


def _state(variable: Variable, text: str) -> Any:
    code = variable.find(text)
    if code is None:
        raise unknown_name(text, variable.states, f"{variable.name!r} has no state")
    return variable.states[code]

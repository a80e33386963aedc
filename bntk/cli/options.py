"""The options that commands share, and how their words are read. Nothing here imports what is slow to import."""

from __future__ import annotations

import ast
import math
import re
import textwrap
from argparse import Action, ArgumentError, ArgumentParser, ArgumentTypeError, Namespace, _ArgumentGroup
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from bntk._declared import CLASSIFIERS, FORMATS, MULTI_CLASSIFIERS, SCORES, SEARCHES, Declared
from bntk.errors import did_you_mean

DEFAULT, DEFAULT_MULTI = "tan", "mdbnc"
_WIDTH = 100  # of lines of help
#: Shapes of networks that are learned without a target.
SHAPES = ("dag", "tree", "forest", "polytree")
NUMERIC = (
    "auto", "mdl", "joint", "smooth", "averaged", "width", "frequency", "hartemink", "category", "bernoulli",
    "gaussian", "kde", "multinomial",
)  # fmt: skip
CUTTING = ("mdl", "joint", "width", "frequency", "hartemink")
MISSING = ("marginal", "em", "state", "available", "drop")
IDENTIFIERS = ("drop", "keep")
#: Options of the command line, and the parameters of classifiers that they are.
SHARED = {
    "score": "criterion",
    "search": "search",
    "max_parents": "max_parents",
    "prior": "prior",
    "numeric": "numeric",
    "bins": "n_bins",
    "missing": "missing",
    "identifiers": "identifiers",
    "base": "estimator",
}


# ---- repeated options ----------------------------------------------------------------------------------------------


class Stored(Action):
    """What becomes of the words after an option. Lists of a repeated option add up; what has one value is given once.

    Lists are options that take several words (``nargs``), and words that are read as several names.
    """

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Keep the values, after those that were given before."""
        given: dict[str, Any] = vars(namespace).setdefault("_given", {})
        if self.option_strings and self.dest in given:
            values = self._added(given[self.dest], values)
        given[self.dest] = values
        setattr(namespace, self.dest, values)

    def _added(self, before: Any, values: Any) -> Any:
        if isinstance(values, (list, tuple)):
            return before + values
        raise ArgumentError(self, f"given twice, {_word(before)} and {_word(values)}; it can have one value only")


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


# ---- groups of options ---------------------------------------------------------------------------------------------


def add_common(parser: ArgumentParser) -> None:
    """The options of every command."""
    group = parser.add_argument_group("for every command")
    group.add_argument("-q", "--quiet", action="store_true", help="no notes and no progress bar on standard error")
    group.add_argument("--debug", action="store_true", help="show where in the program an error happened")


def add_json(parser: ArgumentParser) -> None:
    """The choice of output for programs."""
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")


def add_output(parser: ArgumentParser, what: str, *, required: bool = False) -> None:
    """Where the result goes."""
    parser.add_argument("-o", "--output", metavar="FILE", required=required, help=f"{what}; a file there is replaced")


def add_force(parser: ArgumentParser) -> None:
    """Leave to write large files."""
    parser.add_argument("--force", action="store_true", help="write the file also if it is larger than 100 MB")


def add_network(parser: ArgumentParser, name: str = "network") -> None:
    """A network as the first word."""
    parser.add_argument(
        name,
        metavar="NETWORK",
        help=f"a file ({suffixes()}, also .gz), the file of a classifier, or the name of an embedded network as asia",
    )


def add_data(parser: ArgumentParser, *, several: bool = False) -> None:
    """A file of rows, or several, and options of reading them."""
    parser.add_argument(
        "data", metavar="DATA", **({"nargs": "+"} if several else {}),  # type: ignore[arg-type]
        help="rows with a header: .csv .tsv .txt .arff .parquet, also .gz; - is standard input"
        + ("; several files, a folder or a quoted pattern" if several else ""),
    )  # fmt: skip
    add_data_options(parser)
    if several:
        parser.add_argument(
            "--stream", action="store_true",
            help="read the rows in passes, batch by batch (default: where they would take much of the memory)",
        )  # fmt: skip


def add_data_options(parser: ArgumentParser) -> None:
    """Options of reading a file of rows."""
    group = parser.add_argument_group("how rows are read")
    group.add_argument(
        "--na", metavar="TEXT,...", type=names, default=(), help="further texts that mean a missing value, as --na NA,?"
    )
    group.add_argument("--sep", metavar="CHARACTER", help="the separator of a CSV file (default: guessed)")
    group.add_argument("--encoding", metavar="NAME", help="of a CSV file, as latin-1 (default: utf-8)")
    group.add_argument("--decimal", metavar="MARK", choices=(".", ","), help="the decimal mark of a CSV file, . or ,")
    group.add_argument(
        "--max-unpacked", metavar="BYTES", type=float,
        help="what a packed file may become (default: 64 MiB, or 200 times its size)",
    )  # fmt: skip
    group.add_argument("--ignore", metavar="COLUMN,...", type=names, default=(), help="columns to leave out")


def add_target(parser: ArgumentParser, *, required: bool = False) -> None:
    """The class variables."""
    parser.add_argument(
        "--target", metavar="COLUMN", type=names, required=required, default=(),
        help="the class; several, separated by commas, for models with several classes",
    )  # fmt: skip


def add_evidence(parser: ArgumentParser) -> None:
    """Evidence about variables."""
    parser.add_argument(
        "--given", metavar="NAME=STATE", nargs="+", default=[], help="evidence; NAME=A,B means one of the two"
    )
    parser.add_argument(
        "--soft", metavar="NAME=NUMBERS", nargs="+", default=[],
        help="a likelihood for each state, in their order, as xray=0.2,0.8",
    )  # fmt: skip


def add_model_options(parser: ArgumentParser) -> _ArgumentGroup:
    """Options of models and of learning them, shared by learn and evaluate."""
    group = parser.add_argument_group("the model")
    group.add_argument("--score", type=score, help=f"the score of structures: {_listed(SCORES)}; bdeu:10 sets ess")
    group.add_argument(
        "--search", type=search,
        help=f"the search for a structure: {_listed(('auto', *SEARCHES))}; pc:alpha=0.01,test=x2 has options",
    )  # fmt: skip
    group.add_argument("--max-parents", type=natural, metavar="K", help="the largest number of parents of a variable")
    group.add_argument(
        "--prior",
        type=prior,
        help="prior of the probabilities: mle, a number for each cell, bdeu:ESS, backoff:ROWS, hdp",
    )
    add_numeric(group)
    group.add_argument(
        "--missing", type=one_of(MISSING),
        help="how missing values are treated: marginal, em, state (classifiers); available, drop, em (networks)",
    )  # fmt: skip
    group.add_argument(
        "--identifiers", type=one_of(IDENTIFIERS),
        help="columns of labels that identify rows, dates and times are left out with a note (drop, the default), or "
        "used as they are (keep)",
    )  # fmt: skip
    group.add_argument(
        "--base", type=model, metavar="MODEL", help="the model of one class in models of several classes, or in awnb"
    )
    add_seed(group)
    return group


def add_numeric(parser: ArgumentParser | _ArgumentGroup) -> None:
    """What becomes of columns of numbers."""
    parser.add_argument(
        "--numeric", type=numeric_way(NUMERIC),
        help=f"how columns of numbers are modelled: {_listed(NUMERIC)} (auto: at most ten whole numbers are states, "
        "others are cut into intervals; smooth interpolates between intervals, smooth:8 between eight, smooth:joint "
        "between those of joint; averaged is the mean over several cuts)",
    )  # fmt: skip
    parser.add_argument("--bins", type=positive, metavar="N", help="intervals for --numeric width and frequency")


def add_target_cuts(parser: ArgumentParser) -> None:
    """What becomes of a class that is a number."""
    cutting = parser.add_mutually_exclusive_group()
    cutting.add_argument(
        "--target-bins", type=positive, metavar="N", help="cut a target of numbers into N classes of about equal size"
    )
    cutting.add_argument(
        "--target-cuts", type=numbers, metavar="NUMBER,...", help="cut a target of numbers here, as 18,65"
    )


def add_seed(parser: ArgumentParser | _ArgumentGroup) -> None:
    """The seed of whatever is drawn."""
    parser.add_argument("--seed", type=natural, default=0, help="the same seed gives the same result (default 0)")


def model_help() -> str:
    """All models, for a description."""

    def lines(models: Declared) -> str:
        return "\n".join(
            textwrap.fill(f"{name:<9} {what}", _WIDTH, initial_indent="  ", subsequent_indent=" " * 12)
            for name, what in models.helps.items()
        )

    return (
        f"Models of one class (by default {DEFAULT}):\n{lines(CLASSIFIERS)}\n\nModels of several classes, as --target "
        f"a,b (by default {DEFAULT_MULTI}):\n{lines(MULTI_CLASSIFIERS)}\n\nOptions of a model follow its name, as in "
        "kdb:k=3 and aode:m=5."
    )


def in_options(text: str, known: Container[str]) -> str:
    """A message of the library with arguments such as ``force=True`` written as the options that a command has."""

    def option(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        name = next((option for option, parameter in SHARED.items() if parameter == name), name)
        if name not in known:
            return match[0]
        return f"--{name.replace('_', '-')}" + ("" if value is None else f" {value}")

    return _ARGUMENT.sub(option, text)


# Also the whole of a call with nothing else in it, as load(..., normalize=True).
_ARGUMENT = re.compile(
    r'(?P<call>(?<!\w)[a-z_]+\(\.\.\., )?(?<!\w)(?<!\w\()(?P<name>[a-z_]+)=(?:"(?P<value>[^" ]+)"|True\b)(?(call)\))'
)


def suffixes() -> str:
    """The suffixes of network files, the usual one of each format."""
    return " ".join(FORMATS.helps)


# ---- words ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelSpec:
    """A model with options of its own, as ``kdb:k=3`` names it."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    text: str = ""

    def __str__(self) -> str:
        return self.text or self.name


@dataclass(frozen=True)
class ScoreSpec:
    """A score, perhaps with its parameter, as ``bdeu:10`` names it."""

    name: str
    parameter: float | None = None

    def __str__(self) -> str:
        return self.name if self.parameter is None else f"{self.name}:{self.parameter:g}"

    def make(self) -> Any:
        """The name alone, or the score with its parameter."""
        if self.parameter is None:
            return self.name
        from bntk.learning import scores

        kind: Any = type(scores.by_name(self.name))
        field_name = next((name for name in ("ess", "alpha", "prior") if name in kind.__dataclass_fields__), None)
        if field_name is None:
            raise ValueError(f"the score {self.name} takes no number; leave out :{self.parameter:g}")
        return kind(**{field_name: self.parameter})


@dataclass(frozen=True)
class SearchSpec:
    """A search with options of its own, as ``pc:alpha=0.01`` names it."""

    name: str
    options: dict[str, Any]
    text: str

    def __str__(self) -> str:
        return self.text

    def make(self) -> Any:
        """The search."""
        from bntk.learning.search import NAMES

        kind: Any = NAMES[self.name]
        for name in self.options:
            if name not in kind.__dataclass_fields__:
                raise ValueError(
                    f"the search {self.name} has no option {name!r}{did_you_mean(name, kind.__dataclass_fields__)}"
                )
        return kind(**self.options)


@dataclass(frozen=True)
class PriorSpec:
    """A prior with a number, as ``bdeu:1`` or ``backoff:5`` names it, or ``hdp``; without one, its default counts."""

    name: str
    number: float | None = None

    def __str__(self) -> str:
        return self.name if self.number is None else f"{self.name}:{self.number:g}"

    def make(self) -> Any:
        """The prior."""
        from bntk.learning.priors import HDP, Backoff, BDeu

        if self.name == "hdp":
            if self.number is not None:
                raise ValueError(f"the prior hdp takes no number; leave out :{self.number:g}")
            return HDP()
        kind = BDeu if self.name == "bdeu" else Backoff
        return kind() if self.number is None else kind(self.number)


def made(value: Any) -> Any:
    """The value that an option stands for."""
    return value.make() if isinstance(value, (ScoreSpec, SearchSpec, PriorSpec)) else value


def names(text: str) -> tuple[str, ...]:
    """Names between commas."""
    found = tuple(name.strip() for name in text.split(","))
    if not all(found):
        raise ArgumentTypeError(f"expected names between commas, got {text!r}")
    return found


def natural(text: str) -> int:
    """A whole number from 0."""
    return _whole(text, 0)


def positive(text: str) -> int:
    """A whole number from 1."""
    return _whole(text, 1)


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise ArgumentTypeError(f"expected a whole number from {least}, got {text}")
    return number


def share(text: str) -> float:
    """A number from 0 to below 1."""
    value = number(text)
    if not 0 <= value < 1:
        raise ArgumentTypeError(f"expected a share from 0 to below 1, got {text}")
    return value


def number(text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentTypeError(f"expected a number, got {text!r}")
    return value


def numbers(text: str) -> tuple[float, ...]:
    """Increasing numbers between commas."""
    found = tuple(number(part) for part in text.split(","))
    if list(found) != sorted(set(found)):
        raise ArgumentTypeError(f"expected increasing numbers between commas, got {text!r}")
    return found


class one_of:  # noqa: N801 - reads as a word where options are declared
    """One of some words; a class, so that argparse shows a name for it."""

    def __init__(self, choices: Any) -> None:
        self.choices = tuple(choices)

    def __call__(self, text: str) -> str:
        """The word, if it is one of the choices."""
        word = text.lower()
        if word not in self.choices:
            raise ArgumentTypeError(f"{text!r} is none of {_listed(self.choices)}{did_you_mean(word, self.choices)}")
        return word


class numeric_way(one_of):  # noqa: N801 - as above
    """What becomes of numbers; ``smooth`` may name how it cuts, or into how many intervals."""

    def __call__(self, text: str) -> str:
        """The word, with what follows a colon."""
        name, colon, cutting = text.lower().partition(":")
        if name != "smooth" or not colon:
            return super().__call__(text)
        if cutting not in CUTTING:
            positive(cutting)
        return f"{name}:{cutting}"


def score(text: str) -> ScoreSpec:
    """A score, as ``bic`` or ``bdeu:10``."""
    name, colon, parameter = text.partition(":")
    return ScoreSpec(one_of(SCORES)(name), number(parameter) if colon else None)


def prior(text: str) -> str | float | PriorSpec:
    """A prior, as ``mle``, ``0.5``, ``bdeu:1``, ``backoff``, ``backoff:5`` or ``hdp``."""
    name, colon, parameter = text.lower().partition(":")
    if name in ("bdeu", "backoff", "hdp"):
        return PriorSpec(name, number(parameter) if colon else None)
    if text.lower() == "mle":
        return "mle"
    try:
        alpha = number(text)
    except ArgumentTypeError:
        alpha = -1.0
    if alpha < 0:
        raise ArgumentTypeError(f"expected mle, a number from 0, bdeu:ESS, backoff:ROWS or hdp, got {text!r}")
    return alpha


def arc(text: str) -> tuple[str, str]:
    """An arc, as ``a->b``."""
    tail, arrow, head = (part.strip() for part in text.partition("->"))
    if not (tail and arrow and head) or "->" in head:
        raise ArgumentTypeError(f"expected one arc in quotes, as 'a->b', got {text!r}")
    return tail, head


def model(text: str) -> ModelSpec:
    """A model with its options, as ``tan`` or ``kdb:k=3``."""
    word = text.partition(":")[0]
    kind = one_of(dict.fromkeys((*CLASSIFIERS, *MULTI_CLASSIFIERS, *SHAPES)))(word)
    return ModelSpec(kind, _own_options(text, "kdb:k=3"), text)


def search(text: str) -> str | SearchSpec:
    """A search with its options, as ``hc`` or ``pc:alpha=0.01``."""
    word, colon, _ = text.partition(":")
    name = one_of(("auto", *SEARCHES))(word)
    if colon and name == "auto":
        raise ArgumentTypeError(f"auto chooses a search, and has no options; got {text!r}")
    return SearchSpec(name, _own_options(text, "pc:alpha=0.01"), text) if colon else name


def _own_options(text: str, example: str) -> dict[str, Any]:
    """What follows the name of a model or of a search."""
    _, colon, rest = text.partition(":")
    options: dict[str, Any] = {}
    for part in rest.split(",") if colon else ():
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise ArgumentTypeError(f"expected options as in {example}, got {text!r}")
        name = key.replace("-", "_")
        if name in options:
            raise ArgumentTypeError(f"{text!r} gives {key} twice; it can have one value only")
        options[name] = _literal(value)
    return options


def _literal(text: str) -> Any:
    """A number, True, False or None where the text is one, else the text."""
    text = text.capitalize() if text.lower() in ("true", "false") else text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if value is None or isinstance(value, (bool, int, float)) else text


def _listed(words: Any) -> str:
    return ", ".join(words)

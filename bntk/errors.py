"""Every error and warning that bntk raises on purpose.

All errors derive from :class:`BntkError`, and also from the built-in error that a caller would expect
(``ValueError``, ``KeyError`` ...), so both ``except BntkError`` and ``except ValueError`` work.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "ArgumentError",
    "BntkError",
    "BntkWarning",
    "CacheWarning",
    "ColumnWarning",
    "CycleError",
    "DataError",
    "EvaluationError",
    "ExperimentWarning",
    "GraphError",
    "ImpossibleEvidence",
    "ImpossibleRowsWarning",
    "InterruptedWarning",
    "MissingValuesWarning",
    "NetworkError",
    "NormalisationWarning",
    "ParseError",
    "SpaceError",
    "StructureWarning",
    "TooLargeError",
    "UnknownNameError",
    "UnseenStateWarning",
    "WeakClassifierWarning",
]


#: Names among which one that is much like another is looked for.
_MOST_NAMES = 5_000


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """``"; did you mean 'x'?"`` where one of the known names is much like this one, as in another case, else nothing.

    Examples
    --------
    >>> did_you_mean("Yes", ["no", "yes"])
    "; did you mean 'yes'?"
    """
    import difflib

    if not isinstance(name, str):
        return ""
    folded = {str(other).strip().casefold(): other for other in reversed([*known])}
    wanted = name.strip().casefold()
    near = [wanted] if wanted in folded else difflib.get_close_matches(wanted, [*folded][-_MOST_NAMES:], n=1)
    return f"; did you mean {folded[near[0]]!r}?" if near else ""


class BntkError(Exception):
    """The base of all errors of this package."""


class ArgumentError(BntkError, ValueError, TypeError):
    """An argument of the wrong kind or out of its range; the message names it and says what it may be."""


class DataError(BntkError, ValueError):
    """Data that cannot be used as given: names, states, missing values or shapes are wrong."""


class GraphError(BntkError, ValueError):
    """Nodes or arcs that do not form a valid graph."""


class CycleError(GraphError):
    """Arcs that close a directed cycle; ``cycle`` lists its nodes, the first one repeated at the end."""

    def __init__(self, cycle: tuple[str, ...]) -> None:
        self.cycle = cycle
        super().__init__(f"the arcs form a cycle: {' -> '.join(cycle)}; remove or reverse one of them")

    def __reduce__(self) -> tuple[type[CycleError], tuple[tuple[str, ...]]]:
        return type(self), (self.cycle,)


class SpaceError(GraphError):
    """Constraints on a structure that contradict each other, or a structure or move that they do not allow."""


class NetworkError(BntkError, ValueError):
    """A probability table or network whose parts do not agree."""


class EvaluationError(BntkError, RuntimeError):
    """An estimator that failed in cross-validation; the message names the estimator, the split and the cause."""


class TooLargeError(BntkError, MemoryError):
    """Something that would need more memory than the stated limit; raised before it is allocated."""


class ImpossibleEvidence(BntkError, ValueError):  # noqa: N818
    """Findings that have probability zero together; ``findings`` lists them as text.

    ``minimal`` says whether the others would be possible if any one of them were left out.
    """

    def __init__(self, findings: Iterable[str], minimal: bool = True) -> None:
        self.findings, self.minimal = tuple(findings), minimal
        together = "have probability zero together" if len(self.findings) > 1 else "has probability zero"
        hint = " (perhaps fewer of them clash already)" if not minimal and len(self.findings) > 1 else ""
        super().__init__(f"the evidence is impossible: {', '.join(self.findings)} {together}{hint}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.findings, self.minimal)


class UnknownNameError(BntkError, KeyError):
    """A variable or state that does not exist; the message lists those that do."""

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0]) if self.args else ""


class ParseError(BntkError, ValueError):
    """A file or text that cannot be read; ``line`` and ``column`` (from 1) say where, when known."""

    def __init__(self, message: str, *, source: str = "", line: int = 0, column: int = 0) -> None:
        self.message, self.source, self.line, self.column = message, source, line, column
        place = ", ".join(
            part for part in (source, f"line {line}" if line else "", f"column {column}" if column else "") if part
        )
        super().__init__(f"{place}: {message}" if place else message)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_parse_error, (self.message, self.source, self.line, self.column)


def _rebuild_parse_error(message: str, source: str, line: int, column: int) -> ParseError:
    return ParseError(message, source=source, line=line, column=column)


class BntkWarning(UserWarning):
    """The base of all warnings of this package."""


class CacheWarning(BntkWarning):
    """Compiled kernels that cannot be read from their cache on disk, or not be kept there."""


class ColumnWarning(BntkWarning):
    """A column that is left out, or that looks like something else than what it is read as."""


class ExperimentWarning(BntkWarning):
    """Rows that do not tell what is asked of them: a variable that was set in all, or a stratum that has none."""


class UnseenStateWarning(BntkWarning):
    """A value that is not a known state was taken as missing."""


class MissingValuesWarning(BntkWarning):
    """Variables with missing values, by which the score of structures is misled."""


class ImpossibleRowsWarning(BntkWarning):
    """Rows of a table that have probability zero."""


class InterruptedWarning(BntkWarning):
    """A search, or EM, was ended by Ctrl-C; its result is the best so far, and its report says ``interrupted``."""


class NormalisationWarning(BntkWarning):
    """Probabilities that did not sum to one were normalised."""


class StructureWarning(BntkWarning):
    """Tests of independence contradict each other, so that no structure agrees with all of them."""


class WeakClassifierWarning(BntkWarning):
    """A classifier that predicts the class of training rows that are held out worse than naive Bayes does."""

"""Learning from data: counts, priors, parameters, scores, spaces of structures and searches, each a module here.

What is used most is also at the top: ``bntk.fit``, ``bntk.learn``, ``bntk.priors``, ``bntk.scores``, ``bntk.spaces``,
``bntk.search``. Modules are imported when they are first used.
"""

__all__ = ["counts", "em", "learn", "parameters", "priors", "scores", "search", "space", "structural_em"]


def __getattr__(name: str) -> object:
    import importlib

    if name not in __all__:
        raise AttributeError(f"module 'bntk.learning' has no attribute {name!r}")
    return importlib.import_module(f"bntk.learning.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)

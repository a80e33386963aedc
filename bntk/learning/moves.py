"""Moves: the steps by which a search changes a structure. Batches of moves are plain integer arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Kinds of moves.
ADD, DELETE, REVERSE = 0, 1, 2

#: A batch of moves: an integer array of shape (m, 3) with the columns kind, tail, head.
Moves = NDArray[np.int64]

_WORDS = ("add", "delete", "reverse")


class Move(NamedTuple):
    """One change of an arc ``tail -> head``, given by the positions of the two nodes.

    Reversing ``tail -> head`` leaves ``head -> tail``.
    """

    kind: int
    tail: int
    head: int

    def describe(self, names: tuple[str, ...]) -> str:
        """The move in words.

        >>> Move(ADD, 0, 1).describe(("rain", "wet"))
        'add rain -> wet'
        """
        return f"{_WORDS[self.kind]} {names[self.tail]} -> {names[self.head]}"


def as_moves(moves: Moves | list[Move]) -> Moves:
    """A batch of moves as an array of shape (m, 3)."""
    return np.asarray(moves, dtype=np.int64).reshape(-1, 3)

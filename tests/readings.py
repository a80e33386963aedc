"""A counter that notes how often the rows are read."""

from __future__ import annotations

from bntk.learning.counts import TableCounter


class ReadCounter(TableCounter):
    """A counter of the rows of a table; ``n_readings`` says how often they have been read."""

    n_readings = 0

    def _blocks(self):
        self.n_readings += 1
        return super()._blocks()

"""Contingency tables: the only code that reads rows for learning. All counters derive from :class:`Counter`."""

from bntk.data.table import column_names
from bntk.learning.counts.base import MAX_ENTRIES, Counter, SumCounter
from bntk.learning.counts.compact import CompactTable
from bntk.learning.counts.experiments import ExperimentCounter
from bntk.learning.counts.memory import TableCounter, as_counter
from bntk.learning.counts.pairs import PairLayout, PairTables

__all__ = [
    "MAX_ENTRIES",
    "CompactTable",
    "Counter",
    "ExperimentCounter",
    "PairLayout",
    "PairTables",
    "SumCounter",
    "TableCounter",
    "as_counter",
    "column_names",
]

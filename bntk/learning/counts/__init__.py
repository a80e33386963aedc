"""Contingency tables: the only code that reads rows for learning. All counters derive from :class:`Counter`."""

from bntk.data.found_states import variables_of_summary
from bntk.data.summaries import Summary, add_summaries, summarise_partition
from bntk.data.table import column_names
from bntk.learning.counts.base import MAX_ENTRIES, Counter, SumCounter
from bntk.learning.counts.compact import CompactTable
from bntk.learning.counts.dask_partitions import DaskPartitions
from bntk.learning.counts.experiments import ExperimentCounter
from bntk.learning.counts.memory import TableCounter, as_counter
from bntk.learning.counts.pairs import PairLayout, PairTables
from bntk.learning.counts.partitions import (
    Coding,
    PartitionCounter,
    Partitions,
    PartitionTables,
    Request,
    add_tables,
    count_partition,
)

__all__ = [
    "MAX_ENTRIES",
    "Coding",
    "CompactTable",
    "Counter",
    "DaskPartitions",
    "ExperimentCounter",
    "PairLayout",
    "PairTables",
    "PartitionCounter",
    "PartitionTables",
    "Partitions",
    "Request",
    "SumCounter",
    "Summary",
    "TableCounter",
    "add_summaries",
    "add_tables",
    "as_counter",
    "column_names",
    "count_partition",
    "summarise_partition",
    "variables_of_summary",
]

"""Memory that runs out at any allocation of a read, a load or a count in blocks: our error, and no half state."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import bntk
from bntk.errors import TooLargeError
from bntk.learning.counts import TableCounter

ALLOCATING = ("empty", "zeros", "ones", "full", "concatenate", "frombuffer", "array", "arange", "empty_like", "stack")


def _failing_at(k, monkeypatch):
    """From now on, the k-th allocation by numpy fails, once; returns how many there were."""
    count = [0]

    def failing(allocate):
        def call(*args, **kwargs):
            count[0] += 1
            if count[0] == k:
                raise MemoryError("Unable to allocate 941. MiB")
            return allocate(*args, **kwargs)

        return call

    for name in ALLOCATING:
        monkeypatch.setattr(np, name, failing(getattr(np, name)))
    return count


def _check_every_allocation(call, same, monkeypatch):
    """For each k, the failure of the k-th is told, and the next call gives what an undisturbed one gives."""
    expected = call()  # modules are imported, kernels compiled
    with monkeypatch.context() as patched:
        n = _failing_at(0, patched)
        call()
    assert n[0] > 0
    for k in range(1, n[0] + 1):
        with monkeypatch.context() as patched:
            _failing_at(k, patched)
            with pytest.raises(TooLargeError, match=r"memory ran out.*941"):
                call()
        assert same(call(), expected), k


@pytest.fixture
def files(tmp_path):
    rows = bntk.datasets.asia().sample(60, seed=1)
    text = rows.to_pandas().to_csv(index=False)
    (tmp_path / "x.csv").write_text(text)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(text.encode()))
    declared = "".join(f"@attribute {name} {{no,yes}}\n" for name in rows.names)
    (tmp_path / "x.arff").write_text(f"@relation r\n{declared}@data\n" + text.partition("\n")[2])
    for suffix in ("json", "bif", "json.gz"):
        bntk.datasets.asia().save(tmp_path / f"n.{suffix}")
    return tmp_path


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.arff"])
def test_reading_a_table(files, name, monkeypatch):
    _check_every_allocation(lambda: bntk.read_table(files / name), lambda a, b: a == b, monkeypatch)


@pytest.mark.parametrize("name", ["n.json", "n.bif", "n.json.gz"])
def test_loading_a_network(files, name, monkeypatch):
    _check_every_allocation(lambda: bntk.load(files / name), lambda a, b: a == b, monkeypatch)


def test_counting_block_by_block(files, monkeypatch):
    """The counter itself is kept between the calls, so that what it remembers is tested, too."""
    rows = bntk.read_table(files / "x.csv")
    blocks = [TableCounter(rows.take(np.arange(60) % 3 == part)) for part in range(3)]
    counter, dag = blocks[0] + blocks[1] + blocks[2], bntk.datasets.asia().dag

    space = bntk.spaces.tree(rows.names)

    def call():
        return bntk.learn(counter, space=space), bntk.fit(dag, counter, prior=1.0)

    _check_every_allocation(call, lambda a, b: a == b, monkeypatch)

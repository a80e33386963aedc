"""A file is written whole or not at all: every call that can fail does so once, and processes are killed."""

import errno
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import textwrap

import pytest

import bntk
from bntk.io import FORMATS, files

ASIA = bntk.datasets.asia()
NAMES = [f"net{suffix}{packed}" for suffix in FORMATS.helps for packed in ("", ".gz")]
CALLS = ["open", "write", "fsync", "chmod", "replace", "fstat", "stat"]
REASONS = {"no space": errno.ENOSPC, "quota": errno.EDQUOT, "too big": errno.EFBIG, "read only": errno.EROFS}


class Fault:
    """Lets one call of a function fail, the n-th that concerns a folder or an open file; counts them all."""

    def __init__(self, monkeypatch, name, reason, which=None):
        self.n, self.which, self.reason = 0, which, reason
        self.original = getattr(os, name)
        monkeypatch.setattr(files.os, name, self)

    def __call__(self, *arguments, **settings):
        self.n += 1
        if self.n - 1 == self.which:
            raise OSError(self.reason, os.strerror(self.reason))
        return self.original(*arguments, **settings)


def count(monkeypatch, name, save):
    with monkeypatch.context() as patch:
        fault = Fault(patch, name, 0)
        save()
        return fault.n


def failure_of(network, path):
    try:
        network.save(path)
    except OSError as error:
        return error
    return None


@pytest.mark.parametrize("reason", REASONS.values(), ids=REASONS)
@pytest.mark.parametrize("name", NAMES)
def test_a_failure_at_any_call_leaves_the_old_file_and_nothing_else(name, reason, tmp_path, monkeypatch):
    path = tmp_path / name
    bntk.datasets.network("sprinkler").save(path)
    before = path.read_bytes()
    n_failed = 0
    for call in CALLS:
        for which in range(count(monkeypatch, call, lambda: bntk.datasets.network("sprinkler").save(path))):
            with monkeypatch.context() as patch:
                Fault(patch, call, reason, which)
                error = failure_of(ASIA, path)
            assert os.listdir(tmp_path) == [name]
            if error is None:  # nothing depended on that call, such as the look for what others left behind
                assert bntk.load(path).dag.n_arcs == ASIA.dag.n_arcs
                bntk.datasets.network("sprinkler").save(path)
            else:
                n_failed += 1
                assert (error.errno, error.filename) == (reason, str(path))
            assert path.read_bytes() == before
    assert n_failed >= 5


@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace"])
def test_a_failure_leaves_no_new_file(call, tmp_path, monkeypatch):
    for which in range(3 if call == "open" else 1):
        with monkeypatch.context() as patch:
            Fault(patch, call, errno.ENOSPC, which)
            error = failure_of(ASIA, tmp_path / "new.json")
        if error is None:
            (tmp_path / "new.json").unlink()
        assert os.listdir(tmp_path) == []


def test_a_failed_save_of_a_classifier_keeps_the_old_one(tmp_path, monkeypatch):
    rows = ASIA.sample(100, seed=1).to_pandas()
    naive = bntk.NaiveBayes().fit(rows[["lung", "smoke"]], rows["xray"])
    naive.save(tmp_path / "naive.json.gz")
    before = (tmp_path / "naive.json.gz").read_bytes()
    with monkeypatch.context() as patch:
        Fault(patch, "fsync", errno.ENOSPC, 0)
        with pytest.raises(OSError, match=r"naive\.json\.gz"):
            naive.save(tmp_path / "naive.json.gz")
    assert (tmp_path / "naive.json.gz").read_bytes() == before
    assert os.listdir(tmp_path) == ["naive.json.gz"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_device_is_named(tmp_path):
    (tmp_path / "full.bif").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"full\.bif") as caught:
        ASIA.save(tmp_path / "full.bif")
    assert caught.value.errno == errno.ENOSPC
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "bntk", "sample", "asia"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "bntk: standard output: No space left on device\n")


def test_writing_in_pieces_writes_everything(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os, "write", lambda handle, rest, write=os.write: write(handle, rest[:7]))
    files.write_bytes(tmp_path / "x", bytes(range(100)))
    assert (tmp_path / "x").read_bytes() == bytes(range(100))


def test_permissions_are_those_of_the_old_file_or_of_any_new_one(tmp_path):
    mask = os.umask(0o027)
    try:
        ASIA.save(tmp_path / "new.bif")
        (tmp_path / "old.bif").touch()
        (tmp_path / "old.bif").chmod(0o606)
        ASIA.save(tmp_path / "old.bif")
    finally:
        os.umask(mask)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("new.bif", "old.bif")]
    assert modes == [0o640, 0o606]


# ---- processes that are killed, and processes that write at the same time -------------------------------------------

needs_locks = pytest.mark.skipif(files.fcntl is None, reason="needs locks of files")


def killed_save(path, call):
    """A process that is killed when its save comes to a call."""
    code = f"""
        import os, signal, bntk
        os.{call} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        bntk.datasets.asia().save({str(path)!r})
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)])
    assert done.returncode == -signal.SIGKILL


@needs_locks
@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_the_next_save_removes_what_a_killed_one_left(call, tmp_path):
    path = tmp_path / "s.json"
    (tmp_path / ".s.json.mine").touch()
    (tmp_path / ".t.json.0.bntk").touch()  # of another file
    killed_save(path, call)
    assert len(os.listdir(tmp_path)) == 3
    ASIA.save(path)
    assert sorted(os.listdir(tmp_path)) == [".s.json.mine", ".t.json.0.bntk", "s.json"]
    assert bntk.load(path) == ASIA


@needs_locks
def test_what_several_killed_saves_left_is_removed(tmp_path):
    for place in range(3):
        (tmp_path / f".s.json.{place}.bntk").write_text("half")
    ASIA.save(tmp_path / "s.json")
    assert os.listdir(tmp_path) == ["s.json"]


@needs_locks
def test_a_file_that_is_being_written_is_left_alone(tmp_path):
    path = tmp_path / "s.json"
    handle, temporary = files._temporary(path, 0o600)
    ASIA.save(path)
    assert sorted(os.listdir(tmp_path)) == [temporary.name, "s.json"]
    os.close(handle)
    ASIA.save(path)
    assert os.listdir(tmp_path) == ["s.json"]


@needs_locks
def test_a_link_in_place_of_the_temporary_file_is_not_followed(tmp_path):
    (tmp_path / "other").write_text("mine")
    (tmp_path / ".s.json.0.bntk").symlink_to(tmp_path / "other")
    ASIA.save(tmp_path / "s.json")
    assert (tmp_path / "other").read_text() == "mine"
    assert not (tmp_path / "s.json").is_symlink()


def _save_often(path, number):
    for _ in range(40):
        files.write_bytes(path, bytes([number]) * 10_000)


def test_of_processes_that_write_at_the_same_time_one_wins_with_a_whole_file(tmp_path):
    path = tmp_path / "x"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_save_often, args=(path, number)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    found = path.read_bytes()
    assert (len(found), len(set(found))) == (10_000, 1)
    assert os.listdir(tmp_path) == ["x"]

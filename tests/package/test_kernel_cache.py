"""The cache of compiled kernels: no fault of a disk stops a call, changes an answer, or is told more than once."""

from __future__ import annotations

import ast
import errno
import importlib.util
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import caching

import bntk
from bntk import _kernels
from bntk._interrupts import interrupts_while_compiling
from bntk.errors import CacheWarning

CALLER = """
from bntk._kernels import njit
from callee_of_the_cache_test import FACTOR, plus

@njit(cache=True)
def twice(x):
    return FACTOR * plus(x)
"""
CALLEE = """
from bntk._kernels import njit

FACTOR = {factor}

@njit(nogil=True)
def plus(x):
    return x + {term}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module with one kernel, which uses another module, and an empty cache."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path)
    yield tmp_path
    sys.modules.pop("callee_of_the_cache_test", None)


def write(folder: Path, factor: int = 2, term: int = 1) -> None:
    (folder / "caller.py").write_text(CALLER)
    (folder / "callee_of_the_cache_test.py").write_text(CALLEE.format(factor=factor, term=term))


def fresh(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module as a new process would have it."""
    monkeypatch.setattr(_kernels, "_noted", False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    _kernels._digest_of_file.cache_clear()
    sys.modules.pop("callee_of_the_cache_test", None)
    importlib.invalidate_caches()
    spec = importlib.util.spec_from_file_location("caller", folder / "caller.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hits(kernel: Any) -> int:
    return sum(kernel.stats.cache_hits.values())


def files(folder: Path, suffix: str) -> list[Path]:
    return sorted((folder / "cache").rglob(f"*{suffix}"))


def answers_with_one_note(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One call is right, and so is a second of another signature; both together say once what is wrong, and where."""
    kernel = fresh(folder, monkeypatch).twice
    with pytest.warns(CacheWarning, match="cannot be (read|kept) in") as caught:
        assert (kernel(3), kernel(3.5)) == (8, 9.0)
    assert len(caught) == 1
    assert str(folder) in str(caught[0].message)
    assert "NUMBA_CACHE_DIR" in str(caught[0].message)


def test_what_is_kept_is_used_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fresh(folder, monkeypatch).twice
    assert (first(3), first(3.5), hits(first)) == (8, 9.0, 0)
    again = fresh(folder, monkeypatch).twice
    assert (again(3), again(3.5), hits(again)) == (8, 9.0, 2)


def _cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: rng.integers(len(content))]


def _flip(content: bytes, rng: np.random.Generator) -> bytes:
    garbled = bytearray(content)
    garbled[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    return bytes(garbled)


def _clear(content: bytes, rng: np.random.Generator) -> bytes:
    start = int(rng.integers(len(content)))
    return content[:start] + bytes(len(content) - start)


DAMAGES: list[Callable[[bytes, np.random.Generator], bytes]] = [
    lambda content, rng: b"",
    lambda content, rng: rng.bytes(500),
    lambda content, rng: b"garbage",
    lambda content, rng: pickle.dumps(numba.__version__) + pickle.dumps(3),
    _cut, _cut, _cut, _flip, _flip, _flip, _clear, _clear,
]  # fmt: skip


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_damaged_files_are_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    """Whatever the damage, the answer is right, there is at most one note, and the next process finds a sound cache."""
    fresh(folder, monkeypatch).twice(3)
    (file,) = files(folder, suffix)
    sound, rng = file.read_bytes(), np.random.default_rng(0)
    for damage in DAMAGES:
        file.write_bytes(damage(sound, rng))
        kernel = fresh(folder, monkeypatch).twice
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert kernel(3) == 8
        assert [warning.category for warning in caught] in ([], [CacheWarning])
        if suffix == ".nbc":  # in the index, a flip may be of the version, or of a signature
            assert len(caught) == 1
            assert hits(kernel) == 0
        again = fresh(folder, monkeypatch).twice
        assert (again(3), hits(again)) == (8, 1)


def test_folders_where_files_should_be(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh(folder, monkeypatch).twice(3)
    for file in [*files(folder, ".nbi"), *files(folder, ".nbc")]:
        file.unlink()
        file.mkdir()
    answers_with_one_note(folder, monkeypatch)


def test_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Any, mode: str = "r") -> Any:
        if "w" in mode:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return open(path, mode)

    monkeypatch.setattr(caching, "open", full, raising=False)
    answers_with_one_note(folder, monkeypatch)
    monkeypatch.undo()


def test_disk_that_fills_up_between_two_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever write fails, code that was compiled from an older source is not taken for the new one."""
    for failing in range(3):
        write(folder, term=1)
        fresh(folder, monkeypatch).twice(3)
        write(folder, term=5)
        with monkeypatch.context() as patched:
            writes = iter(range(10))

            def full(path: Any, mode: str = "r", writes: Iterator[int] = writes, failing: int = failing) -> Any:
                if "w" in mode and next(writes) == failing:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
                return open(path, mode)

            patched.setattr(caching, "open", full, raising=False)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CacheWarning)
                assert fresh(folder, patched).twice(3) == 16
        assert fresh(folder, monkeypatch).twice(3) == 16


def test_no_folder_that_can_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the named folder, nor one beside the module, nor one of the user."""
    blocked = folder / "blocked"
    blocked.write_text("a file, so that no folder of this name can be made")
    (folder / "__pycache__").write_text("likewise")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(blocked / "cache"))
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(blocked))
    with pytest.warns(CacheWarning, match="cannot be kept in .*blocked") as caught:
        assert fresh(folder, monkeypatch).twice(3) == 8
    assert len(caught) == 1


def test_named_folder_that_cannot_be_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then kernels are kept beside the package, as they are without a name."""
    (folder / "blocked").write_text("a file")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder / "blocked" / "cache"))
    assert fresh(folder, monkeypatch).twice(3) == 8
    again = fresh(folder, monkeypatch).twice
    assert (again(3), hits(again)) == (8, 1)


def test_cache_of_another_version_of_numba(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is replaced without a word."""
    with monkeypatch.context() as patched:
        patched.setattr(numba, "__version__", "0.0.1")
        fresh(folder, patched).twice(3)
    kernel = fresh(folder, monkeypatch).twice
    assert (kernel(3), hits(kernel)) == (8, 0)
    again = fresh(folder, monkeypatch).twice
    assert (again(3), hits(again)) == (8, 1)


def test_changes_in_other_modules(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel is compiled again when a kernel or a constant that it uses has changed."""
    assert fresh(folder, monkeypatch).twice(3) == 8
    write(folder, factor=10)
    assert fresh(folder, monkeypatch).twice(3) == 40
    write(folder, factor=10, term=2)
    assert fresh(folder, monkeypatch).twice(3) == 50


def test_two_writers_of_two_signatures(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the order of their steps, a reader finds what belongs to its key, or nothing."""
    path = folder / "cache"
    path.mkdir()
    one, other, reader = (_kernels._KernelFile(str(path), "kernel", "source") for _ in range(3))
    index = one._load_index()
    monkeypatch.setattr(one, "_load_index", lambda: index)  # read before the other wrote
    other.save("other key", "other code")
    one.save("one key", "one code")
    assert reader.load("one key") == "one code"
    assert reader.load("other key") in (None, "other code")
    other.save("other key", "other code")
    assert (reader.load("one key"), reader.load("other key")) == ("one code", "other code")


def test_processes_at_once(folder: Path) -> None:
    """Processes that fill one cache together, each with its own hash seed, and then all of them with what they left."""
    program = textwrap.dedent("""
        import sys, warnings
        warnings.simplefilter("error")
        import caller
        for argument in sys.argv[1:]:
            assert caller.twice(eval(argument)) == eval(argument) * 2 + 2
        print(sum(caller.twice.stats.cache_hits.values()))
    """)

    def start(seed: int, *arguments: str) -> subprocess.Popen[str]:
        environment = {
            **os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONHASHSEED": str(seed),
            "PYTHONPATH": os.pathsep.join([str(folder), str(Path(bntk.__file__).parents[1])]),
        }  # fmt: skip
        command = [sys.executable, "-c", program, *arguments]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    together = [start(1, "3", "3.5"), start(2, "3.5", "3"), start(3, "True", "3j")]
    for process in together:
        process.communicate(timeout=120)
        assert process.returncode == 0
    for seed, least in ((4, 0), (5, 4)):  # what one of them dropped from the index is kept by the next
        process = start(seed, "3", "3.5", "True", "3j")
        found, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert int(found) >= least


def test_every_kernel_has_this_decorator() -> None:
    package = Path(bntk.__file__).parent
    for file in package.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name == "_kernels.py" or "numba" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module == "numba":
                raise AssertionError(f"{file} imports {[alias.name for alias in node.names]} from numba")
            if isinstance(node, ast.Import) and any(alias.name == "numba" for alias in node.names):
                raise AssertionError(f"{file} imports numba")


@pytest.mark.skipif(os.name == "nt", reason="signals as of POSIX")
@pytest.mark.parametrize("hook", ["_object_cache_notify", "_object_cache_getbuffer"])
@pytest.mark.parametrize("kept", [False, True])
def test_ctrl_c_while_llvm_calls_back_is_raised(
    folder: Path, monkeypatch: pytest.MonkeyPatch, hook: str, kept: bool
) -> None:
    """Python sees a signal that came while LLVM compiled in a function that LLVM calls, which cannot raise."""
    if kept:
        fresh(folder, monkeypatch).twice(3)
    kernel = fresh(folder, monkeypatch).twice
    engine = kernel.targetctx.codegen()._engine._ee
    was, seen = getattr(engine, hook), []

    def interrupted(*args: Any) -> Any:
        if not seen:
            seen.append(args)
            signal.raise_signal(signal.SIGINT)
        return was(*args)

    monkeypatch.setattr(engine, hook, interrupted)
    if kept and hook == "_object_cache_notify":  # nothing is compiled
        assert (kernel(3), seen) == (8, [])
        return
    with pytest.raises(KeyboardInterrupt):
        kernel(3)
    assert (kernel(3), kernel(3.5)) == (8, 9.0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_anywhere_else_while_compiling_is_raised_at_once() -> None:
    reached = []

    @interrupts_while_compiling()
    def compiled() -> None:
        signal.raise_signal(signal.SIGINT)
        reached.append(1)

    with pytest.raises(KeyboardInterrupt):
        interrupts_while_compiling()(compiled)()
    assert not reached

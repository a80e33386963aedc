"""The decorator of all kernels: numba's, with a cache on disk that can neither stop nor mislead a call.

Numba raises what the disk raises: a full one, a cut-off or garbled file, a folder that cannot be written. Here a kernel
that cannot be read from the cache is compiled, and one that cannot be kept is used all the same, with one note. Three
more things that numba does not look at would give another kernel than the one asked for, without a word:

* code damaged within its file: each file ends with a digest of what it holds and of what it was compiled from and for;
* two processes that keep two signatures under the same number: the number is derived from the signature;
* a kernel or constant of another module that has changed since: these are part of what a kernel was compiled from.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher

from bntk._interrupts import interrupts_while_compiling
from bntk.errors import CacheWarning

__all__ = ["njit"]

_DIGEST = hashlib.sha256().digest_size
_noted = False


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` with the options given; with ``cache``, kept on disk where that is possible."""
    compiled = numba.njit(**options)

    def decorate(function: Callable[..., Any]) -> Any:
        kernel: Any = compiled(function)
        if not numba.extending.is_jitted(kernel):  # NUMBA_DISABLE_JIT leaves the function as it is
            return kernel
        kernel.compiled_from = _compiled_from(function, options)
        kernel.compile = interrupts_while_compiling()(kernel.compile)
        if cache:
            try:
                kernel._cache = _KernelCache(kernel)
            except Exception as error:  # there is no folder that can be written
                beside = Path(function.__code__.co_filename).parent / "__pycache__"
                _note("be kept", numba.config.CACHE_DIR or beside, error)
        return kernel

    return decorate


def _compiled_from(function: Callable[..., Any], options: dict[str, Any]) -> str:
    """A digest of all that a kernel is compiled from: its file, its options, and the kernels and constants it names."""
    digest = hashlib.sha256(_digest_of_file(function.__code__.co_filename))
    for name, value in sorted(options.items()):
        digest.update(f"{name} {sorted(value) if isinstance(value, set) else value}\n".encode())
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, Dispatcher):
            digest.update(f"{name} {getattr(value, 'compiled_from', '')}\n".encode())
        elif isinstance(value, bool | int | float | str | tuple | np.generic):
            digest.update(f"{name} {value!r}\n".encode())
        elif isinstance(value, np.ndarray):
            digest.update(f"{name} {value.dtype} {value.shape} ".encode() + value.tobytes())
    return digest.hexdigest()


@functools.cache
def _digest_of_file(path: str) -> bytes:
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest()
    except OSError:  # within an archive, say: numba's own stamp is in the index all the same
        return b""


class _KernelCache(FunctionCache):
    """Numba's cache of one kernel, where whatever goes wrong is a miss."""

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel.py_func)
        stamp = f"{kernel.compiled_from} {self._impl.locator.get_source_stamp()!r}"
        self._cache_file = _KernelFile(self.cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel of a signature, or None."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # reading garbage may raise anything
            _note("be read", self.cache_path, error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled kernel of a signature, if possible."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _note("be kept", self.cache_path, error)


class _KernelFile(IndexDataCacheFile):
    """The files of one kernel: an index, and for each signature its code, which a digest seals."""

    def load(self, key: Any) -> Any:
        """What is kept for a key, or None."""
        name = self._load_index().get(key)
        if name is None:
            return None
        try:
            content = Path(self._data_path(name)).read_bytes()
        except FileNotFoundError:  # removed since the index was written
            return None
        data = content[:-_DIGEST]
        if content[-_DIGEST:] != self._digest(key, data):
            raise ValueError(f"{name} is damaged")
        return pickle.loads(data)

    def save(self, key: Any, data: Any) -> None:
        """Keep data for a key: the data first, so that the index never names what is not there yet."""
        name = self._data_name(int.from_bytes(self._digest(key, b"")[:6], "big"))
        sealed = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(sealed + self._digest(key, sealed))
        try:
            index = dict(self._load_index())
        except Exception:  # a garbled index is replaced
            index = {}
        if index.get(key) != name:
            self._save_index({**index, key: name})

    def _digest(self, key: Any, data: bytes) -> bytes:
        return hashlib.sha256(repr((key, self._source_stamp)).encode() + data).digest()


def _note(verb: str, folder: object, error: Exception) -> None:
    """Say once in a process that there is no use of the cache, and what to do."""
    global _noted
    if _noted:
        return
    _noted = True
    reason = (error.strerror if isinstance(error, OSError) else str(error)) or type(error).__name__
    warnings.warn(
        f"compiled kernels cannot {verb} in {folder} ({reason}), so they are compiled again, which takes seconds; "
        "make space there, allow writing, delete *.nbi and *.nbc files that are damaged, or name another folder in the "
        "environment variable NUMBA_CACHE_DIR",
        CacheWarning,
        stacklevel=2,
    )

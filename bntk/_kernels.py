"""The decorator of all kernels: numba's, with a cache on disk that can neither stop nor mislead a call.

Numba raises what the disk raises: a full one, a cut-off or garbled file, a folder that cannot be written. Here a kernel
that cannot be read from the cache is compiled, and one that cannot be kept is used all the same, with one note. Three
more things that numba does not look at would give another kernel than the one asked for, without a word:

* code damaged within its file: each file ends with a digest of what it holds and of what it was compiled from and for;
* two processes that keep two signatures under the same number: the number is derived from the signature;
* a kernel or constant of another module that has changed since: these are part of what a kernel was compiled from.

Processes that need a kernel at the same time, as those of joblib do, wait for the first of them to compile it.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import math
import os
import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher
from numba.extending import _Intrinsic, typeof_impl

from bntk._interrupts import interrupts_while_compiling
from bntk.errors import CacheWarning

__all__ = [
    "Allowance",
    "CompilationCounter",
    "LightKernel",
    "cache_folder",
    "compiling_all",
    "interpreted",
    "lgamma",
    "njit",
    "part",
    "tell_nothing",
]

_DIGEST = hashlib.sha256().digest_size
_noted = False


def njit(
    *,
    cache: bool = False,
    steps: Any = None,  # a callable or None; dictionaries of options are unpacked here
    plain: Any = None,
    **options: Any,
) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` with the options given, and two more.

    Parameters
    ----------
    cache : bool
        Keep the kernel on disk where that is possible.
    steps : callable, optional
        About how many microseconds a call with these arguments takes without the compiler. A kernel that has neither
        been compiled nor kept does so little work as it is written, by Python; see :class:`LightKernel`.
    plain : callable, optional
        What does that work instead, with the same arguments and to the same bits; also for a kernel that only others
        call, when Python runs these.
    **options
        Of numba. With ``no_cpython_wrapper`` only other kernels can call it: it is compiled as a part of each of these,
        and never kept by itself.
    """
    options["no_cfunc_wrapper"] = True  # nobody calls kernels from C
    if options.get("no_cpython_wrapper"):
        options["pipeline_class"], cache = _PartCompiler, False
    compiled = numba.njit(**options)

    def decorate(function: Callable[..., Any]) -> Any:
        kernel: Any = compiled(function)
        if not numba.extending.is_jitted(kernel):  # NUMBA_DISABLE_JIT leaves the function as it is
            return kernel
        kernel.compiled_from, kernel.plain = _compiled_from(function, options), plain
        kernel.compile = _once_by_all_processes(kernel, interrupts_while_compiling()(kernel.compile))
        if cache:
            try:
                kernel._cache = _KernelCache(kernel)
            except Exception as error:  # there is no folder that can be written
                beside = Path(function.__code__.co_filename).parent / "__pycache__"
                _note("be kept", numba.config.CACHE_DIR or beside, error)
        return kernel if steps is None else LightKernel(kernel, steps)

    return decorate


# ---- little work -----------------------------------------------------------------------------------------------------

#: Microseconds of work, all calls of a kernel in a process together, that are done without compiling it.
MOST_STEPS = 500_000


def _log_gamma() -> Any:
    """The log gamma function of the C library, which compiled code calls; that of Python differs in the last bits."""
    try:
        found = ctypes.CDLL(None).lgamma
    except (AttributeError, OSError, TypeError):  # not in this process, as on Windows
        return None
    found.argtypes, found.restype = [ctypes.c_double], ctypes.c_double
    return found


_LGAMMA = _log_gamma()
#: What stands for ``math.lgamma`` in compiled code, for functions that do its work.
lgamma = _LGAMMA or math.lgamma
#: Whether little work may be done without the compiler.
_light = _LGAMMA is not None


@contextmanager
def compiling_all() -> Iterator[None]:
    """Compile whatever is called within, however little the work."""
    global _light
    before, _light = _light, False
    try:
        yield
    finally:
        _light = before


class Allowance:
    """How much work may be done without a kernel before it is compiled.

    Parameters
    ----------
    kernel : dispatcher of numba
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel, self._left = kernel, float(MOST_STEPS)
        self._is_kept: bool | None = None  # whether the cache had the kernel when it was first asked for

    def pays(self, steps: float) -> bool:
        """Whether so much work is for compiled code; if not, it is counted as done without."""
        if not _light or self._kernel.overloads or self._left < 0:
            return True
        if self._is_kept is None:
            self._is_kept = isinstance(self._kernel._cache, _KernelCache) and self._kernel._cache.has_any()
        if self._is_kept:
            return True
        self._left -= steps
        return self._left < 0


class LightKernel:
    """A kernel that is compiled only when there is work for it: that takes as long as 100,000 rows or more.

    Before that Python runs it as it is written, which gives the same bits: compiled code does not reorder
    floating-point operations unless it is told to (``fastmath``), and such kernels cannot be light. So it does not
    matter who does what, and a kernel that is at hand is always used.
    """

    def __init__(self, kernel: Any, steps: Callable[..., float]) -> None:
        functools.update_wrapper(self, kernel.py_func)
        self.kernel, self._allowance = kernel, Allowance(kernel)
        self._steps = steps

    def __call__(self, *arguments: Any) -> Any:
        if self.kernel.overloads or self._allowance.pays(self._steps(*arguments)):
            return self.kernel(*arguments)
        return self.without_compiler(*arguments)

    def without_compiler(self, *arguments: Any) -> Any:
        """What the kernel returns, and does to its arguments."""
        with np.errstate(all="ignore"):
            return interpreted(self.kernel)(*arguments)


@typeof_impl.register(LightKernel)
def _type_of_light_kernel(value: LightKernel, context: Any) -> Any:
    """To other kernels it is a kernel like any other."""
    return typeof_impl(value.kernel, context)


def interpreted(kernel: Any) -> Callable[..., Any]:
    """A kernel as Python runs it, with all kernels that it calls."""
    if kernel.plain is not None:
        return kernel.plain
    function = kernel.py_func
    names = _names_without_compiler(function.__globals__)
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)


_names: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}


def _names_without_compiler(names: dict[str, Any]) -> dict[str, Any]:
    """The names of a module, with functions that Python runs in the place of kernels."""
    if id(names) not in _names:
        found = dict(names)
        _names[id(names)] = names, found  # first, since kernels name each other
        for name, value in names.items():
            if isinstance(value, Dispatcher | LightKernel):
                found[name] = interpreted(getattr(value, "kernel", value))
            elif isinstance(value, _Intrinsic):
                found[name] = value.plain
            elif value is np:
                found[name] = _ScalarNumpy()
            elif value is math:
                found[name] = _ScalarMath()
    return _names[id(names)][1]


class _ScalarMath:
    """The module math as compiled code knows it: the same functions, which raise nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(math, name)

    @staticmethod
    def log(x: float) -> float:
        """The logarithm; of zero it is minus infinity."""
        return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan

    lgamma = staticmethod(lgamma)

    @staticmethod
    def exp(x: float) -> float:
        """The exponential; infinity where it is too large."""
        return math.exp(x) if x < 709.0 else float(np.exp(x))


class _ScalarNumpy:
    """Numpy as compiled code knows it: logarithms and exponentials are those of the C library, number by number."""

    log, exp = staticmethod(_ScalarMath.log), staticmethod(_ScalarMath.exp)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


# ---- what a kernel is compiled from ----------------------------------------------------------------------------------


def _compiled_from(function: Callable[..., Any], options: dict[str, Any]) -> str:
    """A digest of all that a kernel is compiled from: its file, its options, and the kernels and constants it names."""
    digest = hashlib.sha256(_digest_of_file(function.__code__.co_filename))
    for name, value in sorted(options.items()):
        digest.update(f"{name} {sorted(value) if isinstance(value, set) else value}\n".encode())
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        value = getattr(value, "kernel", value) if isinstance(value, LightKernel) else value
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


# ---- parts of kernels ------------------------------------------------------------------------------------------------


class _PartLibrary(JITCodeLibrary):
    """The code of a kernel that is a part of others: optimised and made machine code only within these.

    Numba does both for every function and again for each that calls it: half of the compiler's time.
    """

    @property
    def codegen(self) -> Any:
        """As ever, but it has no environment of this function to set: there is none before there is machine code."""
        return _WithoutEnvironment(self._codegen)

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is nothing to be called from outside."""
        self._ensure_finalized()
        return 0


class _WithoutEnvironment:
    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, env_name: str, env: Any) -> None:
        pass


class _PartCompiler(Compiler):
    """Numba's compiler for a kernel that is a part of others."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function into a library of parts."""
        if self.state.library is None:
            self.state.library = _PartLibrary(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


# ---- telling ---------------------------------------------------------------------------------------------------------

#: Seconds of compiling after which somebody who waits is told, once in a process.
PATIENCE = 1.0
TOLD = (
    "bntk: compiling kernels for this machine; they are kept, so that it happens once (bntk warm-up compiles all of "
    "them)"
)


class _Teller(event.Listener):
    """Says that the compiler is at work, when that has taken a while and somebody can see it."""

    def __init__(self) -> None:
        self._spent, self._began, self._depth = 0.0, 0.0, 0
        self._timer: threading.Timer | None = None
        self.is_done = False

    def on_start(self, event: Any) -> None:
        """A kernel begins to be compiled; the parts of it are within."""
        if self.is_done or not hasattr(event.data["dispatcher"], "compiled_from"):
            return
        self._depth += 1  # numba compiles under a lock, so that this is one thread at a time
        if self._depth == 1 and is_watched():
            self._began = time.perf_counter()
            self._timer = threading.Timer(max(0.0, PATIENCE - self._spent), self.tell)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """It has ended, or failed."""
        if self._depth == 0 or not hasattr(event.data["dispatcher"], "compiled_from"):
            return
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._spent += time.perf_counter() - self._began

    def tell(self) -> None:
        """Say it, unless it has been said."""
        if not self.is_done:
            self.is_done = True
            print(TOLD, file=sys.stderr, flush=True)


_teller = _Teller()
event.register("numba:compile", _teller)


def tell_nothing() -> None:
    """Say nothing of compiling in this process: whoever calls this does."""
    _teller.is_done = True


def is_watched() -> bool:
    """Whether standard error is a terminal or a notebook, of somebody who does not ignore all warnings."""
    for action, message, category, module, _ in warnings.filters:
        if message is None and module is None and issubclass(UserWarning, category):
            if action == "ignore":
                return False
            break
    in_notebook = type(sys.stderr).__module__.startswith("ipykernel")
    return in_notebook or (hasattr(sys.stderr, "isatty") and sys.stderr.isatty())


class CompilationCounter(event.Listener):
    """Counts the kernels that are compiled within a ``with`` block, each with its parts as one."""

    def __init__(self) -> None:
        self.count, self._depth = 0, 0

    def __enter__(self) -> CompilationCounter:
        event.register("numba:compile", self)
        return self

    def __exit__(self, *exception: object) -> None:
        event.unregister("numba:compile", self)

    def on_start(self, event: Any) -> None:
        """A kernel begins to be compiled."""
        self.count += self._depth == 0
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """It has ended, or failed."""
        self._depth -= 1


# ---- the cache -------------------------------------------------------------------------------------------------------


class _KernelCache(FunctionCache):
    """Numba's cache of one kernel, where whatever goes wrong is a miss."""

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel.py_func)
        stamp = f"{kernel.compiled_from} {self._impl.locator.get_source_stamp()!r}"
        self._cache_file = _KernelFile(self.cache_path, self._impl.filename_base, stamp)
        self.turn = _Turn(f"{self._cache_file._index_path}.lock")

    def has_any(self) -> bool:
        """Whether something is kept, for whatever signature."""
        try:
            return bool(self._cache_file._load_index())
        except Exception:
            return False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel of a signature, or None; then other processes wait until it is compiled here."""
        found = self._load(sig, target_context)
        if found is None and self.turn.take():
            found = self._load(sig, target_context)  # by now another process may have kept it
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
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


#: Seconds after which a process that waits for another one to compile a kernel does it by itself.
LONGEST_TURN = 60.0


class _Turn:
    """The turn of this process to compile a kernel: a lock on a file beside what is kept, where the system has such."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: int | None = None

    def take(self) -> bool:
        """Wait for the turn; False where there is no such file, or it took too long."""
        try:
            import fcntl

            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        except (ImportError, OSError):
            return False
        last = time.monotonic() + LONGEST_TURN
        try:
            while self._file is None and time.monotonic() < last:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    self._file = file
                except BlockingIOError:
                    time.sleep(0.02)
                except OSError:  # a file system without locks
                    return False
        finally:
            if self._file is None:
                os.close(file)
        return self._file is not None

    def end(self) -> None:
        """Let others compile the kernel, or read it."""
        file, self._file = self._file, None
        if file is not None:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_UN)  # also for processes that were forked meanwhile
            os.close(file)


def _once_by_all_processes(kernel: Any, compile_: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel, and end the turn that was taken when the cache did not have it."""

    @functools.wraps(compile_)
    def compiled(*arguments: Any) -> Any:
        try:
            return compile_(*arguments)
        finally:
            if isinstance(kernel._cache, _KernelCache):
                kernel._cache.turn.end()

    return compiled


def cache_folder() -> str:
    """Where kernels are kept: the folder that the environment names, or beside the modules of the package."""
    return str(numba.config.CACHE_DIR or Path(__file__).parent)


def part(function: Callable[..., Any] | None = None, *, plain: Any = None) -> Any:
    """The decorator of functions that only kernels call; ``plain`` as for :func:`njit`."""
    decorate = njit(nogil=True, no_cpython_wrapper=True, plain=plain)
    return decorate if function is None else decorate(function)


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

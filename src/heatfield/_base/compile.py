"""How functions are compiled: one decorator, one place for the cache.

Machine code is kept on disk, so that only the very first call waits for the compiler. Numba compares one
file with what it kept, and so does not notice that a function in another file has changed. The folder of
the cache therefore carries a hash of all source that the function can depend on, which is its own part of the
package and the parts before it: after an update nothing old is run, a change in the command line compiles
nothing, nor does another installation of the same source. The folder lies in ``NUMBA_CACHE_DIR``
where that is set, else in the user's cache; where that cannot be written (a read-only image, a cluster
node), a private folder in the temporary directory serves.
"""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import llvmlite.binding
import numba
from numba.core import config
from numba.core.registry import CPUDispatcher
from numba.core.types.misc import unliteral

from . import announce, interrupts
from .files import user_cache

F = TypeVar("F", bound=Callable[..., Any])

# Sums may be reordered and contracted so that they vectorise. Never "fast":
# that would also let the compiler assume away NaN and rewrite the exponential.
SUMS = {"contract", "reassoc", "nsz", "arcp"}
EXACT = {"contract"}

# The parts of the package in the order of imports: a part imports only itself and those before it.
PARTS = (
    "_base", "_cloud", "_sums", "_signatures", "_field", "_features", "sampling", "io", "nn", "_classifier",
    "_search", "_points", "datasets", "cluster", "patterns", "plot", "view", "report", "cli",
)  # fmt: skip

_setting = threading.Lock()
_MONTH = 30 * 24 * 3600.0


@cache
def source_digest(part: str) -> str:
    """A hash of numba's version and of all source that compiled code of this part can depend on."""
    root = Path(__file__).parents[1]
    number = PARTS.index(part)
    digest = hashlib.sha256((source_digest(PARTS[number - 1]) if number else numba.__version__).encode())
    for path in sorted((root / part).rglob("*.py")):
        digest.update(f"\0{path.relative_to(root).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _part(module: str) -> str:
    """The part of the package that a module belongs to; the last one for a module of somebody else."""
    part = module.partition(".")[2].split(".")[0]
    return part if part in PARTS else PARTS[-1]


def _private_cache() -> Path | None:
    """A cache folder under the temporary directory that only this user can write."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    try:
        return _own_folder(Path(tempfile.gettempdir()) / f"heatfield-cache-{user}")
    except OSError:
        return None


def _own_folder(folder: Path) -> Path | None:
    """The folder, made if need be, if only this user can write it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat(follow_symlinks=False)
    except OSError:
        return None
    # The cache is unpickled when read: a folder that someone else prepared is not used.
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        return None
    return folder if os.access(folder, os.W_OK) else None


@cache
def _folders(part: str) -> tuple[Path, ...]:
    """Where compiled code of this part may be kept, best first."""
    name = f"compiled-{source_digest(part)}"
    # Not where numba has it from a file in the current folder: what lies in the cache is unpickled.
    if "NUMBA_CACHE_DIR" in os.environ and config.CACHE_DIR:
        return (Path(config.CACHE_DIR) / name,)
    places = [p for p in (_own_folder(user_cache() / "machine-code"), _private_cache()) if p is not None]
    for place in places[:1]:
        _forget_old(place, name)
    return tuple(place / name for place in places)


def _forget_old(place: Path, name: str) -> None:
    """Remove the code of sources that were not used for a month."""
    try:
        (place / name).mkdir(mode=0o700, exist_ok=True)
        os.utime(place / name)
        for folder in place.glob("compiled-" + 16 * "[0-9a-f]"):
            if time.time() - folder.stat().st_mtime > _MONTH:
                shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return


def _set_compiler_options() -> None:
    """Options of LLVM that hold for the whole process, before its first compilation.

    A remainder loop that is vectorised again when a function is linked into its caller changes the order
    of single-precision sums, so that a process that compiles and one that loads from the cache differ in the
    last bits (seen with AVX-512). Older LLVM takes an option that is given twice for an error, so the mark
    that it was given lies in the module of LLVM, which stays when this package is imported anew.
    """
    with _setting:
        if not hasattr(llvmlite.binding, "_heatfield_options_set"):
            llvmlite.binding._heatfield_options_set = True
            llvmlite.binding.set_option("heatfield", "-enable-epilogue-vectorization=false")


@contextmanager
def _without_collector() -> Iterator[None]:
    """No search for garbage, which takes a tenth of the compiler's time: most of its objects stay."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Compiled(CPUDispatcher):
    """A compiled function that is compiled once per type of its arguments, not once per constant.

    Numba compiles a function anew for a constant in a call (``select(values, None, 0, hi, k)``), and for a
    variable that holds one before a loop changes it. Where a constant would help, LLVM finds it by itself.
    """

    def compile(self, sig: Any) -> Any:
        with _without_collector():
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        plain = [unliteral(argument) for argument in args]
        return super().get_call_template(plain, {name: unliteral(kind) for name, kind in kws.items()})


class _Inner(_Compiled):
    """A compiled function without the code that takes its arguments out of Python's objects."""

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        # Without this the process would jump to an address that is not there.
        raise TypeError(f"{self.py_func.__qualname__} can only be called by compiled code")


def compiled(fastmath: set[str] | None = None, inline: bool = False, inner: bool = False) -> Callable[[F], F]:
    """Compile for this machine's own instructions, without the GIL, cached on disk.

    ``inline`` is for short functions in inner loops: the compiler's own choice depends on everything else
    that is linked into the caller. ``inner`` is for functions that only compiled code calls: code that
    unpacks Python's objects takes as long to compile as a short function.

    Not for functions that are made by a function. Numba tells those of one name apart by a number that holds
    in one process only: code of two of them that two processes kept can carry the same symbol, and
    whoever loads both runs the first for the second. And where they hold intrinsics, nothing kept is found.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath or False}
    options["forceinline"] = inline
    options["no_cpython_wrapper"] = inner
    options["no_cfunc_wrapper"] = True  # serves functions that are passed as arguments: there are none

    def decorate(function: F) -> F:
        if "<locals>" in function.__qualname__ and function.__module__.startswith("heatfield."):
            raise TypeError(f"{function.__qualname__} is made by a function: it cannot be kept")
        _set_compiler_options()
        announce.listen()
        interrupts.guard_loading()
        for folder in _folders(_part(function.__module__)):
            try:
                with _setting:  # read by numba while it decorates; other functions of the user keep theirs
                    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
                    try:
                        return _as_ours(numba.njit(cache=True, **options)(function), inner)
                    finally:
                        config.CACHE_DIR = before
            except (RuntimeError, OSError):  # numba cannot write there
                continue
        return _as_ours(numba.njit(**options)(function), inner)

    return decorate


def _as_ours(dispatcher: Any, inner: bool) -> Any:
    if isinstance(dispatcher, CPUDispatcher):  # not where NUMBA_DISABLE_JIT leaves plain functions
        dispatcher.__class__ = _Inner if inner else _Compiled
    return dispatcher

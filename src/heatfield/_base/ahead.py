"""Compile in a second process what will be needed next, while this one compiles what it needs now.

The compiler holds the interpreter, so that threads would wait for each other. Machine code that one process
has kept is found by every other one: the first call then loads what was compiled beside it. Where a function
is not ready yet, both compile it, and nothing is lost but the time of a core that had nothing to do.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

from .check import thread_count
from .children import python

_TABLE, _CUBE, _ROW, _PLACES = "f8[:,::1]", "f8[:,:,::1]", "f8[::1]", "i8[::1]"
_SPECTRUM = (
    ("_signatures.eigenvalues.eigenvalues_up_to_3", (_TABLE, _TABLE)),
    ("_signatures.equations._scaled_covariance", (_CUBE, _TABLE, "i8")),
    ("_signatures.equations.heat_dimension_spectrum", (_TABLE, _TABLE, _ROW, "f8")),
)
_DENSE = (
    (
        "_sums.dense_kernels.dense_sums",
        (_TABLE, _CUBE, _ROW, _TABLE, "i8", "i8", "f8", "b1", "b1", _ROW, _CUBE),
    ),
)
_WEIGHTS = "Array(f8, 3, 'C', True)"  # read-only
_FAST = (
    (
        "_sums.near.near_sums",
        (
            _TABLE, _PLACES, _ROW, _ROW, _TABLE, _ROW, _CUBE, _CUBE, _PLACES, _PLACES, "i8", "i8", "f8",
            "f8", "f8", "b1", "b1", "b1", _ROW, "none", _TABLE,
        ),
    ),
    (
        "_sums.fourier.interpolate._interpolate",
        (_CUBE, _WEIGHTS, "i8", _TABLE, _ROW, _ROW, _TABLE, "UniTuple(i8, 12)"),
    ),
    (
        "_sums.fourier.upsampled_grid._apply",
        (
            "c16[:,:,::1]", "c16[:,:,::1]", *3 * (f"UniTuple({_ROW}, 3)",), "i8", "f8", "i8", "b1",
            "c16[:,:,::1]", _TABLE,
        ),
    ),
)  # fmt: skip
_ROWS = (
    (
        "_features.small_clouds._rows",
        (
            _ROW, _ROW, _PLACES, _TABLE, _TABLE, _CUBE, _TABLE, "f8", _ROW, "b1", _ROW, "f8", _PLACES, "none",
            _TABLE,
        ),
    ),
)  # fmt: skip
Kernels = tuple[tuple[str, tuple[str, ...]], ...]
# When the compiler starts with the first, the others follow. Types are those of double precision, which is
# what a first call uses; a test sees that they are the ones that the call asks for.
FOLLOWING: dict[str, Kernels] = {
    "_cloud.arrange.arrange": _SPECTRUM,
    "_cloud.nearest.nearest_distinct": _DENSE,
    "_cloud.box_tree.grow": _FAST,
    "_features.small_clouds._geometry": _ROWS,
}

# Seconds that the second process waits for more to do, before it gives its memory back.
_PATIENCE = 20.0

_started: set[str] = set()
_nested = 0
_process: subprocess.Popen[str] | None = None


def begins(function: Any) -> None:
    """To be called when the compiler starts with a function of this package."""
    global _nested
    _nested += 1
    name = f"{function.__module__}.{function.__qualname__}".partition(".")[2]
    if _nested == 1 and name in FOLLOWING and name not in _started and _useful():
        _started.add(name)
        _ask_for(FOLLOWING[name])


def stay_alone() -> None:
    """Start no second process: this one is one of several already."""
    _started.update(FOLLOWING)


def ends() -> None:
    """To be called when the compiler has finished with a function of this package."""
    global _nested
    _nested -= 1


def _useful() -> bool:
    """Whether a core is free, and this is the user's own process and an ordinary interpreter."""
    return (
        thread_count(-1) > 1
        and multiprocessing.parent_process() is None
        and bool(sys.executable)
        and not getattr(sys, "frozen", False)
    )


def _ask_for(kernels: Kernels) -> None:
    global _process
    if _process is not None and _process.poll() is not None:  # it had nothing to do for a while
        _stop(os.getpid())
        _process = None
    try:
        if _process is None:
            program = f"import sys; sys.path.insert(0, sys.argv[1]); import {__name__} as m; m.main()"
            _process = subprocess.Popen(
                python("-c", program, str(Path(__file__).parents[2])),
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
            threading.Thread(target=_process.wait, daemon=True).start()  # so that nothing of it stays
            atexit.unregister(_stop)
            atexit.register(_stop, os.getpid())
        assert _process.stdin is not None
        _process.stdin.write("".join(f"{name}\n" for name, _ in kernels))
        _process.stdin.flush()
    except OSError:  # no process can be had, or it has just ended: everything is compiled here
        return


def _stop(owner: int) -> None:
    """End it, whatever it is doing: this process has had the code by then."""
    if _process is not None and os.getpid() == owner:
        _process.kill()
        _process.wait()
        assert _process.stdin is not None
        with contextlib.suppress(OSError):  # what it did not read is of no use now
            _process.stdin.close()


def main() -> None:
    """What the second process does: compile the functions that it is told, and keep them on disk."""
    from numba.core.sigutils import normalize_signature

    stay_alone()
    types = {name: signature for kernels in FOLLOWING.values() for name, signature in kernels}
    idle = None
    for line in sys.stdin:
        if idle is not None:
            idle.cancel()
        name = line.strip()
        module, _, function = name.rpartition(".")
        kernel = getattr(import_module(f"heatfield.{module}"), function)
        # As a call would: numba keeps what was asked for by a string apart.
        kernel.compile(normalize_signature(f"({', '.join(types[name])})")[0])
        idle = threading.Timer(_PATIENCE, os._exit, (0,))
        idle.daemon = True
        idle.start()

"""What all of the bench uses: compiled functions, and libraries of its extras."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any, TypeVar

import numba

from heatfield._base import optional

F = TypeVar("F", bound=Callable[..., Any])

# What an extra brings: the modules that must be importable.
EXTRAS = {"torch": ("torch",), "open3d": ("open3d",), "persistence": ("gudhi", "multipers", "xgboost")}


def compiled(function: F) -> F:
    """Compiled at the first call, and found on disk afterwards."""
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)


def install(extras: str) -> str:
    """The command that installs these extras, separated by commas."""
    return f"pip install 'heatfield-bench[{extras}]'"


def need(module: str, purpose: str, extra: str = "persistence", *, name: str | None = None) -> Any:
    """The module, or an ImportError of one sentence that says what to install, as heatfield has it."""
    # multipers loads pykeops, which would print a notice that there is no GPU.
    os.environ.setdefault("KEOPS_VERBOSE", "0")
    return optional.need(module, purpose, name=name, verb="needs", command=install(extra))


def missing(extras: tuple[str, ...]) -> list[str]:
    """Modules of extras (or modules themselves) that cannot be imported here."""
    return [m for extra in extras for m in EXTRAS.get(extra, (extra,)) if not _is_there(m)]


def _is_there(module: str) -> bool:
    """Whether a module can be imported; a ValueError where that is no name of a module."""
    if not all(part.isidentifier() for part in module.split(".")):
        raise ValueError(f"extras must be names of extras or of modules, got {module!r}")
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of a dotted name, the package
        return False

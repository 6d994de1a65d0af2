"""How functions of the bench are compiled: Numba, without the interpreter's lock, kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])

# Sums may be reordered and contracted so that they vectorise. Never "fast": that would assume NaN away.
SUMS = {"contract", "reassoc", "nsz", "arcp"}


def compiled(fastmath: set[str] | None = None) -> Callable[[F], F]:
    """A decorator that compiles at the first call and finds the result on disk afterwards."""
    return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=fastmath or False)

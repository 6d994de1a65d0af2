"""How functions are compiled: one decorator, one place for the cache.

Machine code is kept on disk, so that only the very first call on a machine
waits for the compiler. Numba looks for a writable folder beside the source and
then in the user's cache; where neither can be written (a read-only image, a
cluster node), a private folder in the temporary directory serves.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config

F = TypeVar("F", bound=Callable[..., Any])

# Sums may be reordered and contracted so that they vectorise. Never "fast":
# that would also let the compiler assume away NaN and rewrite the exponential.
SUMS = {"contract", "reassoc", "nsz", "arcp"}
EXACT = {"contract"}


def _private_cache() -> Path | None:
    """A cache folder under the temporary directory that only this user can write."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    try:
        folder = Path(tempfile.gettempdir()) / f"heatfield-cache-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.stat(follow_symlinks=False)
    except OSError:
        return None
    # The cache is unpickled when read: a folder that someone else prepared is not used.
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        return None
    return folder if os.access(folder, os.W_OK) else None


def compiled(fastmath: set[str] | None = None) -> Callable[[F], F]:
    """Compile for this machine's own instructions, without the GIL, cached on disk."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath or False}

    def decorate(function: F) -> F:
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # numba found no place for its cache
            folder = _private_cache()
            if folder is None:
                return numba.njit(**options)(function)
            config.CACHE_DIR = str(folder)
            return numba.njit(cache=True, **options)(function)

    return decorate

"""Memory that a training uses again and again stays with the process.

By default the C library of Linux gives large blocks back to the system as soon as they are free, and gets
them again, page by page and filled with zeros, for the next batch: up to half of the time of an epoch.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

# Parameters of mallopt(3): the size from which blocks are mapped on their own, and how much free memory at
# the end of the heap is kept. Its values are C integers.
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
_LARGEST = 2**31 - 1


@cache
def keep_memory() -> bool:
    """Once per process, with the C library of GNU only; whoever has set its variables is left alone."""
    if sys.platform != "linux" or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    if "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return False
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018
        set_option = library.mallopt
    except (OSError, AttributeError):  # another C library
        return False
    set_option.argtypes, set_option.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
    return bool(set_option(_MMAP_THRESHOLD, _LARGEST) and set_option(_TRIM_THRESHOLD, _LARGEST))

"""Large arrays of one call, used again from scale to scale.

The system gives a fresh array of many megabytes page by page, which takes as long as computing with it; so
the grids and tables of one scale serve the next one too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

# A free array serves where it is at most this many times as large as what is asked for.
_LARGER = 4


class Buffers:
    """Arrays that are free to be used again; any number of threads may take and return them.

    Examples
    --------
    >>> buffers = Buffers()
    >>> with buffers.take((2, 3)) as table:
    ...     table[:] = 1.0
    >>> with buffers.take((3, 2)) as other:
    ...     bool(np.shares_memory(table, other))
    True
    """

    def __init__(self) -> None:
        self._free: list[np.ndarray] = []
        self._guard = Lock()

    def borrow(self, shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
        """An array with any numbers in it, for `give_back` later."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        with self._guard:
            fitting = [i for i, raw in enumerate(self._free) if size <= raw.size <= _LARGER * size]
            if fitting:
                raw = self._free.pop(min(fitting, key=lambda i: self._free[i].size))
            else:
                # One that is a little too small is let go: otherwise both would stay in memory.
                smaller = [i for i, raw in enumerate(self._free) if _LARGER * raw.size > size > raw.size]
                if smaller:
                    self._free.pop(max(smaller, key=lambda i: self._free[i].size))
                raw = np.empty(size, np.uint8)
        return raw[:size].view(dtype).reshape(shape)

    def give_back(self, array: np.ndarray) -> None:
        """Nobody uses this array any longer."""
        raw = array
        while isinstance(raw.base, np.ndarray):
            raw = raw.base
        if raw.size:
            with self._guard:
                self._free.append(raw)

    @contextmanager
    def take(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Iterator[np.ndarray]:
        """An array with any numbers in it, free again after the block."""
        array = self.borrow(shape, dtype)
        try:
            yield array
        finally:
            self.give_back(array)

"""LZF, the compression inside PCD: literal runs and copies of what came before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._base.compile import compiled


@compiled()
def unpack_lzf(packed: NDArray[np.uint8], out: NDArray[np.uint8]) -> int:
    """Unpack into ``out``; the number of bytes written, or -1 where the stream is unsound."""
    i = 0
    o = 0
    while i < len(packed):
        control = int(packed[i])
        i += 1
        if control < 32:  # a run of control + 1 literals
            n = control + 1
            if i + n > len(packed) or o + n > len(out):
                return -1
            for k in range(n):
                out[o + k] = packed[i + k]
            i += n
            o += n
            continue
        n = control >> 5
        if n == 7:
            if i >= len(packed):
                return -1
            n += int(packed[i])
            i += 1
        if i >= len(packed):
            return -1
        back = o - ((control & 31) << 8) - int(packed[i]) - 1
        i += 1
        n += 2
        if back < 0 or o + n > len(out):
            return -1
        for k in range(n):  # source and target may overlap: byte by byte
            out[o + k] = out[back + k]
        o += n
    return o

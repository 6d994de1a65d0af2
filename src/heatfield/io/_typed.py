"""Numbers that were written as text, brought into the type that the header names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._source import Source


def to_type(source: Source, values: NDArray[np.float64], kind: str, what: str) -> NDArray[Any]:
    """``values`` as ``kind``; a value that the type cannot hold is an error, not a wrap-around."""
    if kind[0] == "f":
        with np.errstate(over="ignore"):
            return values.astype(kind)
    info = np.iinfo(kind)
    # The bounds of 64-bit integers are not floats; the nearest floats beyond them are excluded.
    good = (values >= info.min) & (values < float(info.max) + 1.0) & (values == np.rint(values))
    if not good.all():
        row = int(np.argmin(good))
        raise source.error(f"{what} is {values[row]:g}, which is no {np.dtype(kind).name}", f"point {row}")
    return values.astype(kind)

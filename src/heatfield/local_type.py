"""What kind of place a point is: a point, on a filament, a surface, in a volume, or at a junction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._base.check import Array

# In this order everywhere; the code of a type is its position. The last is for what cannot be determined.
LOCAL_TYPES = ("point", "filament", "surface", "volume", "junction", "undefined")
# What a column of codes is, its unit, what a high value means.
WORDS = (
    f"code of the local type: {', '.join(f'{k} {name}' for k, name in enumerate(LOCAL_TYPES))}",
    "pure number",
    "a code, not a quantity",
)
JUNCTION = LOCAL_TYPES.index("junction")
UNDEFINED = LOCAL_TYPES.index("undefined")

# Chosen on trees of other seeds than those that docs/guide/local_type.md reports.
LEAST_VARIANCE = 0.1  # across the main direction, in units of 2t, beyond what thickness explains
MOST_DIMENSION = 1.35  # above it a place that extends in two directions is a poorly sampled surface


def local_type_codes(dimension: Array, transition: Array, spectrum: Array) -> NDArray[np.uint8]:
    """The place in `LOCAL_TYPES` of each element, from arrays (...), (...) and (..., n).

    v_k = 1 + 2t lambda_k is the variance of the heat-weighted neighbours along the k-th main direction in
    units of 2t: 1 along a flat part, 0 across it.

    * d < 0.5: *point*. Else round(d) = 1, 2, 3: *filament*, *surface*, *volume*.
    * *junction*: a place of dimension 1 (0.5 <= d < 1.35) that nevertheless extends across its main
      direction, v_2 + ... + v_n > 0.1 + abs(tau). Where three straight arms meet d is exactly 1, since each
      is a line, but the arms share the variance among two directions. A thick filament also extends across
      itself, but its dimension falls with the scale exactly as fast: for a small variance q across it,
      tau = -q. So abs(tau) is taken off. A place whose dimension still rises fast has too few neighbours
      to tell, and is kept out by the same term.
    """
    codes = np.full(dimension.shape, UNDEFINED, np.uint8)
    known = np.isfinite(dimension)
    codes[known] = np.clip(np.rint(dimension[known]), 0, 3)
    with np.errstate(invalid="ignore"):
        codes[known & (dimension < 0.5)] = 0  # rint takes a half to the even side
        across = (1.0 + spectrum[..., 1:]).sum(axis=-1)
        forked = (dimension >= 0.5) & (dimension < MOST_DIMENSION)
        codes[forked & (across > LEAST_VARIANCE + np.abs(transition))] = JUNCTION
    return codes

"""Sums over gathered neighbours of one target: the innermost loops of the near path.

``columns`` holds sources side by side, one row per axis, relative to a centre close to the targets; a last
row holds square roots of weights. Differences are taken in the loops, without a table of them
in memory. Up to three dimensions there are always three axes; those that a cloud does not have are zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import EXACT, SUMS, compiled
from .._base.exp2 import exp2
from .columns import FIRST, FOURTH, ROOT_SQUARE, ROOT_WEIGHT, SQUARE, WEIGHT

# Sources summed in single precision before their sum is added in double precision, which bounds its error.
RUN = 256


@compiled(EXACT, inner=True)
def _heat(x: Any, y: Any, z: Any, at: Any, rate: Any, root: Any) -> None:
    """g = 2**(rate * D**2)."""
    ax, ay, az = at[0], at[1], at[2]
    for j in range(root.shape[0]):
        dx, dy, dz = x[j] - ax, y[j] - ay, z[j] - az
        root[j] = exp2((dx * dx + dy * dy + dz * dz) * rate)


@compiled(SUMS, inner=True)
def _radial(x: Any, y: Any, z: Any, at: Any, root: Any, zero: Any) -> tuple[Any, Any, Any, Any]:
    """The sums of w, w D**2, g, g D**2."""
    ax, ay, az = at[0], at[1], at[2]
    weight = weight_square = root_weight = root_square = zero
    for j in range(root.shape[0]):
        dx, dy, dz = x[j] - ax, y[j] - ay, z[j] - az
        g = root[j]
        h = g * (dx * dx + dy * dy + dz * dz)
        weight += g * g
        weight_square += g * h
        root_weight += g
        root_square += h
    return weight, weight_square, root_weight, root_square


@compiled(SUMS, inner=True)
def _fourth(x: Any, y: Any, z: Any, at: Any, root: Any, zero: Any) -> Any:
    """The sum of w D**4."""
    ax, ay, az = at[0], at[1], at[2]
    total = zero
    for j in range(root.shape[0]):
        dx, dy, dz = x[j] - ax, y[j] - ay, z[j] - az
        h = root[j] * (dx * dx + dy * dy + dz * dz)
        total += h * h
    return total


@compiled(SUMS, inner=True)
def _directions(x: Any, y: Any, z: Any, at: Any, root: Any, zero: Any) -> Any:
    """The sums of g, g D**2, w, w r and w r r'; that of w D**2 is the trace of the last."""
    ax, ay, az = at[0], at[1], at[2]
    root_weight = root_square = weight = zero
    sx = sy = sz = zero
    xx = xy = xz = yy = yz = zz = zero
    for j in range(root.shape[0]):
        dx, dy, dz = x[j] - ax, y[j] - ay, z[j] - az
        g = root[j]
        root_weight += g
        root_square += g * (dx * dx + dy * dy + dz * dz)
        w = g * g
        weight += w
        wx, wy, wz = w * dx, w * dy, w * dz
        sx += wx
        sy += wy
        sz += wz
        xx += wx * dx
        xy += wx * dy
        xz += wx * dz
        yy += wy * dy
        yz += wy * dz
        zz += wz * dz
    return root_weight, root_square, weight, sx, sy, sz, xx, xy, xz, yy, yz, zz


@compiled(inner=True)
def add_columns(
    columns: Any, count: int, at: Any, n: int, rate: Any, weighted: bool, directions: bool,
    fourth_moment: bool,
    root: Any, row: Any,
) -> None:  # fmt: skip
    """Add the first ``count`` columns, as seen from ``at``, to a row of sums; up to three dimensions."""
    zero = rate - rate
    for first in range(0, count, RUN):
        last = min(count, first + RUN)
        x, y, z = columns[0, first:last], columns[1, first:last], columns[2, first:last]
        g = root[: last - first]
        _heat(x, y, z, at, rate, g)
        if weighted:
            roots = columns[3, first:last]
            for j in range(g.shape[0]):
                g[j] *= roots[j]
        if fourth_moment:
            row[FOURTH] += _fourth(x, y, z, at, g, zero)
        if not directions:
            weight, weight_square, root_weight, root_square = _radial(x, y, z, at, g, zero)
            row[SQUARE] += weight_square
        else:
            found = _directions(x, y, z, at, g, zero)
            root_weight, root_square, weight = found[0], found[1], found[2]
            row[SQUARE] += found[6] + found[9] + found[11]
            _add_directions(row, found, n)
        row[WEIGHT] += weight
        row[ROOT_WEIGHT] += root_weight
        row[ROOT_SQUARE] += root_square


@compiled(inner=True)
def _add_directions(row: Any, found: Any, n: int) -> None:
    """Those of the nine sums that n dimensions have."""
    if n == 3:
        for c in range(9):
            row[FIRST + c] += found[3 + c]
    elif n == 2:
        row[FIRST] += found[3]
        row[FIRST + 1] += found[4]
        row[FIRST + 2] += found[6]
        row[FIRST + 3] += found[7]
        row[FIRST + 4] += found[9]
    else:
        row[FIRST] += found[3]
        row[FIRST + 1] += found[6]


@compiled(inner=True)
def add_columns_any_dimension(
    columns: Any, count: int, at: Any, n: int, rate: Any, weighted: bool, directions: bool,
    fourth_moment: bool,
    root: Any, row: Any,
) -> None:  # fmt: skip
    """The same in any dimension, source by source; the last row of ``columns`` holds the roots."""
    r = np.empty(n, root.dtype)
    for j in range(count):
        square = rate - rate
        for k in range(n):
            r[k] = columns[k, j] - at[k]
            square += r[k] * r[k]
        g = exp2(square * rate)
        if weighted:
            g *= columns[n, j]
        w = g * g
        row[WEIGHT] += w
        row[SQUARE] += w * square
        row[ROOT_WEIGHT] += g
        row[ROOT_SQUARE] += g * square
        if fourth_moment:
            row[FOURTH] += w * square * square
        if not directions:
            continue
        c = FIRST + n
        for k in range(n):
            row[FIRST + k] += w * r[k]
            for l in range(k, n):
                row[c] += w * r[k] * r[l]
                c += 1

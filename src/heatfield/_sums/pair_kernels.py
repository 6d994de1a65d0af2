"""Sums over one tile of neighbours of one point: the innermost loops of the heat field.

A tile is a table whose rows hold, for up to `TILE` neighbours j of a point i, the
coordinates of r = x_j - x_i, then the squared distance D**2, then g = exp(-D**2 / 8t).
Its square w = g**2 is the weight of the paper; g itself serves the energy E2.
The exponential and the sums are separate loops, because together they need
more registers than the processor has and run at half the speed.
"""

from __future__ import annotations

from typing import Any

from .._base.compile import EXACT, SUMS, compiled
from .._base.exp2 import exp2

TILE = 512


@compiled(EXACT, inner=True)
def fill(tile: Any, column: int, sources: Any, start: int, count: int, target: Any) -> None:
    """Write ``count`` sources as seen from the target into the tile, from ``column`` on.

    Differences are taken in double precision and then stored in the tile's own, so
    that single precision costs digits of r, never of the position.
    """
    n = sources.shape[0]
    square = tile[n, column : column + count]
    # One array written per loop: with more, the compiler cannot prove that they do not overlap
    # and generates no vector code. Squares are written once, at the end: stores are what this loop waits for.
    for k in range(n):
        row = tile[k, column : column + count]
        source = sources[k, start : start + count]
        at = target[k]
        for j in range(count):
            row[j] = source[j] - at
    x = tile[0, column : column + count]
    if n == 1:
        for j in range(count):
            square[j] = x[j] * x[j]
        return
    y = tile[1, column : column + count]
    if n == 2:
        for j in range(count):
            square[j] = x[j] * x[j] + y[j] * y[j]
        return
    z = tile[2, column : column + count]
    for j in range(count):
        square[j] = x[j] * x[j] + y[j] * y[j] + z[j] * z[j]
    for k in range(3, n):
        row = tile[k, column : column + count]
        for j in range(count):
            square[j] += row[j] * row[j]


@compiled(EXACT)
def heat(square: Any, root: Any, count: int, rate: Any) -> None:
    """g = 2**(rate * D**2) into ``root``, with rate = -log2(e) / 8t."""
    for j in range(count):
        root[j] = exp2(square[j] * rate)


@compiled(SUMS, inner=True)
def radial(square: Any, root: Any, count: int, zero: Any) -> tuple[Any, Any, Any, Any]:
    """The sums of w, w D**2, g, g D**2."""
    weight = weight_square = root_weight = root_square = zero
    for j in range(count):
        d = square[j]
        g = root[j]
        w = g * g
        weight += w
        weight_square += w * d
        root_weight += g
        root_square += g * d
    return weight, weight_square, root_weight, root_square


@compiled(SUMS, inner=True)
def fourth(square: Any, root: Any, count: int, zero: Any) -> Any:
    """The sum of w D**4."""
    total = zero
    for j in range(count):
        h = root[j] * square[j]
        total += h * h
    return total


@compiled(SUMS, inner=True)
def directions3(x: Any, y: Any, z: Any, root: Any, count: int, zero: Any) -> Any:
    """The sums of w r and w r r' in space."""
    sx = sy = sz = zero
    xx = xy = xz = yy = yz = zz = zero
    for j in range(count):
        g = root[j]
        w = g * g
        rx, ry, rz = x[j], y[j], z[j]
        wx, wy, wz = w * rx, w * ry, w * rz
        sx += wx
        sy += wy
        sz += wz
        xx += wx * rx
        xy += wx * ry
        xz += wx * rz
        yy += wy * ry
        yz += wy * rz
        zz += wz * rz
    return sx, sy, sz, xx, xy, xz, yy, yz, zz


@compiled(SUMS, inner=True)
def directions2(x: Any, y: Any, root: Any, count: int, zero: Any) -> Any:
    """The sums of w r and w r r' in the plane."""
    sx = sy = zero
    xx = xy = yy = zero
    for j in range(count):
        g = root[j]
        w = g * g
        rx, ry = x[j], y[j]
        wx, wy = w * rx, w * ry
        sx += wx
        sy += wy
        xx += wx * rx
        xy += wx * ry
        yy += wy * ry
    return sx, sy, xx, xy, yy


@compiled(SUMS, inner=True)
def directions1(x: Any, root: Any, count: int, zero: Any) -> Any:
    """The sums of w r and w r r on the line."""
    sx = xx = zero
    for j in range(count):
        w = root[j] * root[j]
        wx = w * x[j]
        sx += wx
        xx += wx * x[j]
    return sx, xx

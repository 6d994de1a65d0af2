"""The backward pass over pairs: from gradients with respect to the sums to gradients with respect to points.

Every sum over neighbours is linear in terms w f(r), so a loss L depends on the pair (i, j) at one time by

    w q(r),  q(r) = h + h1.r + r' h2 r  (+ h4 |r|**4),

where each h is the coefficient of point i plus that of point j, the odd one minus it, as r changes its sign
with the side. The sum of w |r|**2 counts as the multiple of the identity in h2. The gradient at x_i is minus
the sum over j of

    w (h1 + 2 h2 r - q r / 2t).

Each row of points is summed on its own, so the result is the same to the bit for any number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import EXACT, SUMS, compiled
from .._base.exp2 import LOG2_E
from .._cloud.arrange import BLOCK
from .._sums.dense_kernels import _cutoff, find_runs, gaps_to_blocks
from .._sums.pair_kernels import TILE, fill, heat


@compiled(EXACT)
def _square(root: Any, weight: Any, count: int) -> None:
    for j in range(count):
        weight[j] = root[j] * root[j]


@compiled(SUMS)
def _space(tile: Any, h: Any, own: Any, at: int, count: int, rate: Any) -> Any:
    """Sums over a tile in space, of the three coordinates and of w q |r|**2; ``rate`` is 1 / 2t."""
    x, y, z, square, weight = tile[0], tile[1], tile[2], tile[3], tile[5]
    # Slices first: an index at + j might be negative for all that the compiler knows, and is not vector code.
    end = at + count
    h0, hx, hy, hz = h[0, at:end], h[1, at:end], h[2, at:end], h[3, at:end]
    hxx, hxy, hxz = h[4, at:end], h[5, at:end], h[6, at:end]
    hyy, hyz, hzz = h[7, at:end], h[8, at:end], h[9, at:end]
    i0, ix, iy, iz = own[0], own[1], own[2], own[3]
    ixx, ixy, ixz, iyy, iyz, izz = own[4], own[5], own[6], own[7], own[8], own[9]
    gx = gy = gz = gt = rate - rate
    for j in range(count):
        rx, ry, rz = x[j], y[j], z[j]
        xy, xz, yz = ixy + hxy[j], ixz + hxz[j], iyz + hyz[j]
        vx = (ixx + hxx[j]) * rx + xy * ry + xz * rz
        vy = xy * rx + (iyy + hyy[j]) * ry + yz * rz
        vz = xz * rx + yz * ry + (izz + hzz[j]) * rz
        bx, by, bz = ix - hx[j] + vx, iy - hy[j] + vy, iz - hz[j] + vz
        q = i0 + h0[j] + bx * rx + by * ry + bz * rz
        w = weight[j]
        s = q * rate
        gx += w * (bx + vx - s * rx)
        gy += w * (by + vy - s * ry)
        gz += w * (bz + vz - s * rz)
        gt += w * q * square[j]
    return gx, gy, gz, gt


@compiled(SUMS)
def _plane(tile: Any, h: Any, own: Any, at: int, count: int, rate: Any) -> Any:
    x, y, square, weight = tile[0], tile[1], tile[2], tile[4]
    end = at + count
    h0, hx, hy = h[0, at:end], h[1, at:end], h[2, at:end]
    hxx, hxy, hyy = h[3, at:end], h[4, at:end], h[5, at:end]
    i0, ix, iy, ixx, ixy, iyy = own[0], own[1], own[2], own[3], own[4], own[5]
    gx = gy = gt = rate - rate
    for j in range(count):
        rx, ry = x[j], y[j]
        xy = ixy + hxy[j]
        vx = (ixx + hxx[j]) * rx + xy * ry
        vy = xy * rx + (iyy + hyy[j]) * ry
        bx, by = ix - hx[j] + vx, iy - hy[j] + vy
        q = i0 + h0[j] + bx * rx + by * ry
        w = weight[j]
        s = q * rate
        gx += w * (bx + vx - s * rx)
        gy += w * (by + vy - s * ry)
        gt += w * q * square[j]
    return gx, gy, gt


@compiled(SUMS)
def _line(tile: Any, h: Any, own: Any, at: int, count: int, rate: Any) -> Any:
    x, square, weight = tile[0], tile[1], tile[3]
    end = at + count
    h0, hx, hxx = h[0, at:end], h[1, at:end], h[2, at:end]
    i0, ix, ixx = own[0], own[1], own[2]
    gx = gt = rate - rate
    for j in range(count):
        rx = x[j]
        vx = (ixx + hxx[j]) * rx
        bx = ix - hx[j] + vx
        q = i0 + h0[j] + bx * rx
        w = weight[j]
        gx += w * (bx + vx - q * rate * rx)
        gt += w * q * square[j]
    return gx, gt


@compiled(SUMS)
def _distance(tile: Any, h: Any, own: Any, at: int, count: int, rate: Any) -> Any:
    """Where no direction enters: q = h + h2 |r|**2. Writes the factor of r, returns the sum of w q |r|**2."""
    n = tile.shape[0] - 3
    square, factor, weight = tile[n], tile[n + 1], tile[n + 2]
    h0, h2 = h[0, at : at + count], h[1, at : at + count]
    i0, i2 = own[0], own[1]
    gt = rate - rate
    for j in range(count):
        a = i2 + h2[j]
        q = i0 + h0[j] + a * square[j]
        gt += weight[j] * q * square[j]
    for j in range(count):
        a = i2 + h2[j]
        q = i0 + h0[j] + a * square[j]
        factor[j] = weight[j] * (a + a - q * rate)
    return gt


@compiled(SUMS)
def _fourth(tile: Any, h4: Any, own: Any, count: int, rate: Any) -> Any:
    """The part of h4 |r|**4, in the same way."""
    n = tile.shape[0] - 3
    square, factor, weight = tile[n], tile[n + 1], tile[n + 2]
    gt = rate - rate
    for j in range(count):
        d = square[j]
        gt += weight[j] * (own + h4[j]) * d * d * d
    four = np.float32(4.0)
    for j in range(count):
        d = square[j]
        factor[j] = weight[j] * (own + h4[j]) * d * (four - d * rate)
    return gt


@compiled(SUMS)
def _energy(tile: Any, weight: Any, square: Any, count: int, rate: Any) -> Any:
    """The part of g (h + h2 |r|**2), which is the same from both sides; ``rate`` is 1 / 4t.

    The factor of r, in place of g, and the sum of g q |r|**2 from one side.
    """
    n = tile.shape[0] - 3
    d2, root = tile[n], tile[n + 1]
    gt = rate - rate
    for j in range(count):
        gt += root[j] * (weight + square * d2[j]) * d2[j]
    two = np.float32(2.0)
    for j in range(count):
        root[j] = two * root[j] * (two * square - (weight + square * d2[j]) * rate)
    return gt


@compiled(SUMS)
def _along(row: Any, factor: Any, count: int, zero: Any) -> Any:
    total = zero
    for j in range(count):
        total += factor[j] * row[j]
    return total


@compiled()
def _add_by_factor(tile: Any, count: int, zero: Any, out: Any) -> None:
    """Add the sums of factor times r."""
    n = tile.shape[0] - 3
    for k in range(n):
        out[k] += _along(tile[k], tile[n + 1], count, zero)


@compiled()
def _add_tile(
    tile: Any, h: Any, h4: Any, energy: Any, own: Any, own4: Any, at: int, count: int, rates: Any, out: Any
) -> None:
    """Add one filled tile at one time to the row of one point; its columns are those of ``h`` from ``at`` on.

    ``rates`` are log2(e) / 8t and 1 / 2t. ``out``: minus the gradient, then the sum of w q |r|**2, then
    that of g q |r|**2.
    """
    n = tile.shape[0] - 3
    half = rates[1]
    zero = half - half
    heat(tile[n], tile[n + 1], count, -rates[0])
    _square(tile[n + 1], tile[n + 2], count)
    if energy.shape[0]:
        out[n + 1] += _energy(tile, energy[0], energy[1], count, half * np.float32(0.5))
        _add_by_factor(tile, count, zero, out)
    if h4.shape[0]:
        out[n] += _fourth(tile, h4, own4, count, half)
        _add_by_factor(tile, count, zero, out)
    if h.shape[0] == 2:
        out[n] += _distance(tile, h, own, at, count, half)
        _add_by_factor(tile, count, zero, out)
    elif n == 3:
        in_space = _space(tile, h, own, at, count, half)
        for k in range(4):
            out[k] += in_space[k]
    elif n == 2:
        in_plane = _plane(tile, h, own, at, count, half)
        for k in range(3):
            out[k] += in_plane[k]
    else:
        on_line = _line(tile, h, own, at, count, half)
        for k in range(2):
            out[k] += on_line[k]


@compiled()
def reaches(nearest: Any, scales: Any, log_accuracy: float) -> Any:
    """Squared distances (T, blocks) beyond which no point of a block counts a neighbour."""
    m, steps = nearest.shape[0], scales.shape[0]
    blocks = (m + BLOCK - 1) // BLOCK
    out = np.zeros((steps, blocks))
    for b in range(blocks):
        for i in range(b * BLOCK, min(m, (b + 1) * BLOCK)):
            for a in range(steps):
                out[a, b] = max(out[a, b], _cutoff(scales[a], nearest[i], log_accuracy, m))
    return out


@compiled()
def _join(begins: Any, ends: Any, runs: int) -> int:
    """Runs with little between them as one: the pairs between add nothing, and one long loop is faster."""
    joined = 0
    for r in range(runs):
        if joined > 0 and begins[r] - ends[joined - 1] <= 2 * BLOCK:
            ends[joined - 1] = ends[r]
        else:
            begins[joined], ends[joined] = begins[r], ends[r]
            joined += 1
    return joined


@compiled()
def pair_gradients(
    sources: Any,
    boxes: Any,
    reach: Any,
    scales: Any,
    h: Any,
    h4: Any,
    energy: Any,
    first: int,
    last: int,
    out: Any,
) -> None:
    """Fill ``out[first:last]`` (T, n + 2): see `_add_tile`.

    ``scales`` (T,) increase. ``h`` (T, coefficients, m) is in the precision to sum in: h, h1 and the upper
    triangle of h2, or h and the multiple of the identity alone. ``h4`` is (T, m) or (T, 0), ``energy``
    (T, 2) or (T, 0).
    """
    n, m = sources.shape
    steps, coefficients = h.shape[0], h.shape[1]
    blocks = boxes.shape[2]
    tile = np.zeros((n + 3, TILE + 24), h.dtype)
    own = np.empty(coefficients, h.dtype)
    own4 = h[0, 0, 0]
    rates = np.empty((steps, 2), h.dtype)
    for a in range(steps):
        rates[a, 0] = LOG2_E / (8.0 * scales[a])
        rates[a, 1] = 0.5 / scales[a]
    gaps = np.empty(blocks)
    excess = np.empty(blocks)
    begins = np.empty(blocks, np.int64)
    ends = np.empty(blocks, np.int64)
    kept = np.empty(steps, np.int64)
    for i in range(first, last):
        target = sources[:, i].copy()
        gaps_to_blocks(target, boxes, gaps)
        here = i // BLOCK
        for a in range(steps):
            kept[a] = 0
            for b in range(blocks):
                kept[a] += gaps[b] <= max(reach[a, here], reach[a, b])
        coarse = steps - 1
        while coarse >= 0:
            for b in range(blocks):
                excess[b] = gaps[b] - max(reach[coarse, here], reach[coarse, b])
            runs = _join(begins, ends, find_runs(excess, 0.0, m, begins, ends))
            fine = coarse
            while fine > 0 and kept[fine - 1] > 0.75 * kept[coarse]:
                fine -= 1
            for r in range(runs):
                for at in range(begins[r], ends[r], TILE):
                    count = min(ends[r] - at, TILE)
                    fill(tile, 0, sources, at, count, target)
                    for a in range(fine, coarse + 1):
                        for c in range(coefficients):
                            own[c] = h[a, c, i]
                        if h4.shape[1]:
                            own4 = h4[a, i]
                        _add_tile(
                            tile, h[a], h4[a, at : at + count], energy[a],
                            own, own4, at, count, rates[a], out[i, a],
                        )  # fmt: skip
            coarse = fine - 1

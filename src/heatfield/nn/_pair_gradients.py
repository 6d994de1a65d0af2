"""The backward pass over pairs: from gradients with respect to the sums to gradients with respect to points.

Every sum over neighbours is linear in terms w f(r), so a loss L depends on the pair (i, j) at one time by

    w q(r),  q(r) = h + h1.r + r' h2 r  (+ h4 |r|**4),

where each h is the coefficient of point i plus that of point j, the odd one minus it, as r changes its sign
with the side. The sum of w |r|**2 counts as a multiple of the identity in h2. The gradient at x_j is the
sum of

    w (h1 + 2 h2 r - q r / 2t),

that at x_i minus it: a pair is visited once and serves both. Rows are cut into pieces by their number alone,
each with its own table of gradients, so the result is the same to the bit for any number of threads.

Neighbours come in lanes of a fixed number of columns. Loops of a fixed length over two arrays, with all that
they write in one of them, are what the compiler turns into vector code without further proof.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import EXACT, SUMS, compiled
from .._base.exp2 import LOG2_E, exp2
from .._sums.dense_kernels import _cutoff

LANES = 64
# Places in a tile, each of LANES numbers: r, |r|**2, g, w, and the gradient.
_Y, _Z, _SQUARE, _ROOT, _WEIGHT = LANES, 2 * LANES, 3 * LANES, 4 * LANES, 5 * LANES
_GX, _GY, _GZ, _END = 6 * LANES, 7 * LANES, 8 * LANES, 9 * LANES


@compiled(EXACT)
def _fill(tile: Any, columns: Any, start: int, target: Any) -> None:
    """r and |r|**2 of one block of columns as seen from the target; no gradient yet."""
    x, y, z = (
        columns[0, start : start + LANES],
        columns[1, start : start + LANES],
        columns[2, start : start + LANES],
    )
    at_x, at_y, at_z = target[0], target[1], target[2]
    for j in range(LANES):
        tile[j] = x[j] - at_x
    for j in range(LANES):
        tile[_Y + j] = y[j] - at_y
    for j in range(LANES):
        tile[_Z + j] = z[j] - at_z
    for j in range(LANES):
        tile[_SQUARE + j] = tile[j] * tile[j] + tile[_Y + j] * tile[_Y + j] + tile[_Z + j] * tile[_Z + j]
    for j in range(_GX, _END):
        tile[j] = 0.0


@compiled(EXACT)
def _heat(tile: Any, rate: Any, low: int, high: int) -> None:
    """g and w of the tile; 0 for columns before ``low`` and from ``high`` on, which do not count."""
    for j in range(LANES):
        tile[_ROOT + j] = exp2(tile[_SQUARE + j] * rate)
    for j in range(low):
        tile[_ROOT + j] = 0.0
    for j in range(high, LANES):
        tile[_ROOT + j] = 0.0
    for j in range(LANES):
        tile[_WEIGHT + j] = tile[_ROOT + j] * tile[_ROOT + j]


@compiled(SUMS)
def _space(tile: Any, h: Any, own: Any, rate: Any) -> Any:
    """Add the gradient in space; returns the sum of w q |r|**2. ``rate`` is 1 / 2t."""
    i0, ix, iy, iz = own[0], own[1], own[2], own[3]
    ixx, ixy, ixz, iyy, iyz, izz = own[4], own[5], own[6], own[7], own[8], own[9]
    gt = rate - rate
    for j in range(LANES):
        rx, ry, rz = tile[j], tile[_Y + j], tile[_Z + j]
        xy, xz, yz = ixy + h[5 * LANES + j], ixz + h[6 * LANES + j], iyz + h[8 * LANES + j]
        vx = (ixx + h[4 * LANES + j]) * rx + xy * ry + xz * rz
        vy = xy * rx + (iyy + h[7 * LANES + j]) * ry + yz * rz
        vz = xz * rx + yz * ry + (izz + h[9 * LANES + j]) * rz
        bx, by, bz = ix - h[LANES + j] + vx, iy - h[2 * LANES + j] + vy, iz - h[3 * LANES + j] + vz
        q = i0 + h[j] + bx * rx + by * ry + bz * rz
        w = tile[_WEIGHT + j]
        s = q * rate
        tile[_GX + j] += w * (bx + vx - s * rx)
        tile[_GY + j] += w * (by + vy - s * ry)
        tile[_GZ + j] += w * (bz + vz - s * rz)
        gt += w * q * tile[_SQUARE + j]
    return gt


@compiled(SUMS)
def _plane(tile: Any, h: Any, own: Any, rate: Any) -> Any:
    """The same in the plane, and on the line with a second coordinate of 0."""
    i0, ix, iy, ixx, ixy, iyy = own[0], own[1], own[2], own[3], own[4], own[5]
    gt = rate - rate
    for j in range(LANES):
        rx, ry = tile[j], tile[_Y + j]
        xy = ixy + h[4 * LANES + j]
        vx = (ixx + h[3 * LANES + j]) * rx + xy * ry
        vy = xy * rx + (iyy + h[5 * LANES + j]) * ry
        bx, by = ix - h[LANES + j] + vx, iy - h[2 * LANES + j] + vy
        q = i0 + h[j] + bx * rx + by * ry
        w = tile[_WEIGHT + j]
        s = q * rate
        tile[_GX + j] += w * (bx + vx - s * rx)
        tile[_GY + j] += w * (by + vy - s * ry)
        gt += w * q * tile[_SQUARE + j]
    return gt


@compiled(SUMS)
def _distance(tile: Any, h: Any, own: Any, rate: Any) -> Any:
    """The same where no direction enters: q = h + h2 |r|**2."""
    i0, i2 = own[0], own[1]
    gt = rate - rate
    for j in range(LANES):
        a = i2 + h[LANES + j]
        q = i0 + h[j] + a * tile[_SQUARE + j]
        w = tile[_WEIGHT + j]
        factor = w * (a + a - q * rate)
        tile[_GX + j] += factor * tile[j]
        tile[_GY + j] += factor * tile[_Y + j]
        tile[_GZ + j] += factor * tile[_Z + j]
        gt += w * q * tile[_SQUARE + j]
    return gt


@compiled(SUMS)
def _fourth(tile: Any, h4: Any, own: Any, rate: Any) -> Any:
    """The part of h4 |r|**4."""
    gt = rate - rate
    four = np.float32(4.0)
    for j in range(LANES):
        d = tile[_SQUARE + j]
        part = tile[_WEIGHT + j] * (own + h4[j]) * d
        factor = part * (four - d * rate)
        tile[_GX + j] += factor * tile[j]
        tile[_GY + j] += factor * tile[_Y + j]
        tile[_GZ + j] += factor * tile[_Z + j]
        gt += part * d * d
    return gt


@compiled(SUMS)
def _energy(tile: Any, weight: Any, square: Any, rate: Any) -> Any:
    """The part of g (h + h2 |r|**2), with the same h for all; both sides together are twice one."""
    gt = rate - rate
    two = np.float32(2.0)
    half = rate * np.float32(0.5)
    for j in range(LANES):
        d = tile[_SQUARE + j]
        g, q = tile[_ROOT + j], weight + square * d
        factor = two * g * (two * square - q * half)
        tile[_GX + j] += factor * tile[j]
        tile[_GY + j] += factor * tile[_Y + j]
        tile[_GZ + j] += factor * tile[_Z + j]
        gt += g * q * d
    return gt


@compiled(SUMS)
def _hand_out(tile: Any, start: int, i: int, gradients: Any) -> None:
    """The gradient of a tile to both sides."""
    for k in range(gradients.shape[0]):
        row = gradients[k, start : start + LANES]
        part = tile[_GX + k * LANES : _GX + (k + 1) * LANES]
        total = 0.0
        for j in range(LANES):
            total += part[j]
        for j in range(LANES):
            row[j] += part[j]
        gradients[k, i] -= total


@compiled()
def boxes_and_reaches(columns: Any, nearest: Any, scales: Any, log_accuracy: float) -> tuple[Any, Any]:
    """Corners (2, 3, blocks) of every block, and squared distances (T, blocks) beyond which none of its
    points counts a neighbour."""
    m, steps = nearest.shape[0], scales.shape[0]
    blocks = columns.shape[1] // LANES
    boxes, reach = np.empty((2, 3, blocks)), np.zeros((steps, blocks))
    for b in range(blocks):
        for k in range(3):
            block = columns[k, b * LANES : (b + 1) * LANES]
            boxes[0, k, b], boxes[1, k, b] = block.min(), block.max()
        far = 0.0
        for i in range(b * LANES, min(m, (b + 1) * LANES)):
            far = max(far, nearest[i])
        for a in range(steps):
            near = _cutoff(scales[a], nearest[b * LANES : (b + 1) * LANES].min(), log_accuracy, m)
            reach[a, b] = max(near, _cutoff(scales[a], far, log_accuracy, m))
    return boxes, reach


@compiled()
def pair_gradients(
    columns: Any,
    m: int,
    boxes: Any,
    reach: Any,
    scales: Any,
    h: Any,
    h4: Any,
    energy: Any,
    first: int,
    last: int,
    gradients: Any,
    by_time: Any,
) -> None:
    """Add the pairs of points first..last with later ones to ``gradients`` (n, columns) and ``by_time`` (T,).

    ``columns`` (3, blocks * LANES) are the m points and what fills up. ``scales`` (T,) increase. ``h``
    (T, blocks, coefficients * LANES) is in the precision to sum in: h, h1 and the upper triangle of h2 in
    space or in the plane, or h and the multiple of the identity alone; ``h4`` is (T, blocks, LANES) or
    (T, blocks, 0), ``energy`` (T, 2) or (T, 0). Times get the sums of w q |r|**2 and of g q |r|**2.
    """
    steps, blocks = h.shape[0], h.shape[1]
    coefficients = h.shape[2] // LANES
    tile = np.zeros(_END, h.dtype)
    own = np.empty((steps, coefficients), h.dtype)
    own4 = np.empty(steps, h.dtype)
    rates = np.empty((steps, 2), h.dtype)
    for a in range(steps):
        rates[a, 0] = -LOG2_E / (8.0 * scales[a])
        rates[a, 1] = 0.5 / scales[a]
    for i in range(first, last):
        target = columns[:, i].copy()
        here = i // LANES
        lane = i - here * LANES
        for a in range(steps):
            for c in range(coefficients):
                own[a, c] = h[a, here, c * LANES + lane]
            if h4.shape[2]:
                own4[a] = h4[a, here, lane]
        for b in range(here, blocks):
            gap = 0.0
            for k in range(3):
                step = max(0.0, max(boxes[0, k, b] - target[k], target[k] - boxes[1, k, b]))
                gap += step * step
            fine = steps
            while fine > 0 and gap <= max(reach[fine - 1, here], reach[fine - 1, b]):
                fine -= 1
            if fine == steps:
                continue
            start = b * LANES
            _fill(tile, columns, start, target)
            low, high = lane + 1 if b == here else 0, min(LANES, m - start)
            for a in range(fine, steps):
                rate = rates[a, 1]
                _heat(tile, rates[a, 0], low, high)
                if energy.shape[1]:
                    by_time[a] += _energy(tile, energy[a, 0], energy[a, 1], rate)
                if h4.shape[2]:
                    by_time[a] += _fourth(tile, h4[a, b], own4[a], rate)
                if coefficients == 10:
                    by_time[a] += _space(tile, h[a, b], own[a], rate)
                elif coefficients == 6:
                    by_time[a] += _plane(tile, h[a, b], own[a], rate)
                else:
                    by_time[a] += _distance(tile, h[a, b], own[a], rate)
            _hand_out(tile, start, i, gradients)

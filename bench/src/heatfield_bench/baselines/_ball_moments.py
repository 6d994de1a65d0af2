"""Count, mean and covariance of the points within balls of several radii around every point, compiled.

One walk through the tree of boxes serves all radii. A box that lies wholly between two radii is added by its
own moments, so that the work grows with the surface of a ball and not with its volume.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heatfield.core.arrange import BLOCK

from .._compile import compiled

# Columns of a table of moments: count, sums of x y z, sums of xx xy xz yy yz zz.
COLUMNS = 10
# Deeper than any tree: the number of blocks halves at every level.
DEPTH = 64


@compiled()
def _gap_and_reach_squared(at: Any, node: Any) -> Any:
    """Smallest and largest squared distance of a place to a box (2, 3)."""
    low = high = 0.0
    for k in range(3):
        step = max(0.0, max(node[0, k] - at[k], at[k] - node[1, k]))
        low += step * step
        step = max(at[k] - node[0, k], node[1, k] - at[k])
        high += step * step
    return low, high


@compiled()
def node_moments(sources: Any, begin: Any, size: Any) -> Any:
    """Count, mean and sums of products of deviations from the mean, for each node (count, 10)."""
    m = sources.shape[1]
    out = np.zeros((begin.shape[0], COLUMNS))
    for i in range(begin.shape[0] - 1, -1, -1):  # children come behind their parents
        # Only the very last block may be short.
        count = min(m, (begin[i] + size[i]) * BLOCK) - begin[i] * BLOCK
        out[i, 0] = count
        if size[i] == 1:
            first = begin[i] * BLOCK
            for k in range(3):
                for j in range(first, first + count):
                    out[i, 1 + k] += sources[k, j]
                out[i, 1 + k] /= count
            for j in range(first, first + count):
                _add_product(
                    out[i],
                    1.0,
                    sources[0, j] - out[i, 1],
                    sources[1, j] - out[i, 2],
                    sources[2, j] - out[i, 3],
                )
            continue
        left, right = i + 1, i + 2 * ((size[i] + 1) // 2)
        share = out[right, 0] / count
        x = out[right, 1] - out[left, 1]
        y = out[right, 2] - out[left, 2]
        z = out[right, 3] - out[left, 3]
        out[i, 1] = out[left, 1] + share * x
        out[i, 2] = out[left, 2] + share * y
        out[i, 3] = out[left, 3] + share * z
        for c in range(4, COLUMNS):
            out[i, c] = out[left, c] + out[right, c]
        _add_product(out[i], out[left, 0] * share, x, y, z)
    return out


@compiled()
def _add_product(row: Any, weight: float, x: float, y: float, z: float) -> None:
    row[4] += weight * x * x
    row[5] += weight * x * y
    row[6] += weight * x * z
    row[7] += weight * y * y
    row[8] += weight * y * z
    row[9] += weight * z * z


@compiled()
def ball_moments(
    sources: Any,
    nodes: Any,
    begin: Any,
    size: Any,
    moments: Any,
    squares: Any,
    first: int,
    last: int,
    out: Any,
) -> None:
    """Write covariances of the points within each ball around the points first..last of an arranged cloud.

    ``squares`` are squared radii, ascending; ``out`` is (m, radii, 7): count and the upper triangle of the
    covariance (divided by count - 1), NaN of fewer than two points.
    """
    m, radii = sources.shape[1], squares.shape[0]
    stack = np.empty(DEPTH, np.int64)
    table = np.empty((radii, COLUMNS))
    at = np.empty(3)
    for i in range(first, last):
        for k in range(3):
            at[k] = sources[k, i]
        table[:] = 0.0
        stack[0] = 0
        top = 1
        while top:
            top -= 1
            b = stack[top]
            low, high = _gap_and_reach_squared(at, nodes[b])
            if low > squares[radii - 1]:
                continue
            a = 0
            while a < radii and high > squares[a]:
                a += 1
            if a < radii and (a == 0 or low > squares[a - 1]):  # the whole box belongs to this shell
                count = moments[b, 0]
                x, y, z = moments[b, 1] - at[0], moments[b, 2] - at[1], moments[b, 3] - at[2]
                row = table[a]
                row[0] += count
                row[1] += count * x
                row[2] += count * y
                row[3] += count * z
                for c in range(4, COLUMNS):
                    row[c] += moments[b, c]
                _add_product(row, count, x, y, z)
            elif size[b] == 1:
                for j in range(begin[b] * BLOCK, min(m, (begin[b] + 1) * BLOCK)):
                    x, y, z = sources[0, j] - at[0], sources[1, j] - at[1], sources[2, j] - at[2]
                    square = x * x + y * y + z * z
                    if square > squares[radii - 1]:
                        continue
                    a = 0
                    while square > squares[a]:
                        a += 1
                    row = table[a]
                    row[0] += 1.0
                    row[1] += x
                    row[2] += y
                    row[3] += z
                    _add_product(row, 1.0, x, y, z)
            else:
                stack[top] = b + 2 * ((size[b] + 1) // 2)
                stack[top + 1] = b + 1
                top += 2
        _finish(table, out[i])


@compiled()
def _finish(table: Any, out: Any) -> None:
    """Add up the shells, and turn sums into covariances."""
    for a in range(table.shape[0]):
        if a > 0:
            for c in range(COLUMNS):
                table[a, c] += table[a - 1, c]
        count = table[a, 0]
        out[a, 0] = count
        if count < 2.0:
            out[a, 1:] = np.nan
            continue
        c = 0
        for k in range(3):
            for l in range(k, 3):
                out[a, 1 + c] = (table[a, 4 + c] - table[a, 1 + k] * table[a, 1 + l] / count) / (count - 1.0)
                c += 1

"""The native kernels on random clouds, each compared with a few lines of NumPy; run by tools/test_native.sh.

    python tools/random_clouds.py FOLDER COUNT      # FOLDER holds the native module

Clouds of 0 to 5,000 points in 1 to 8 dimensions, with copies of places, extreme extents, lines and lattices.
Needs NumPy and the module alone, so that it runs under a sanitizer.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

BLOCK = 16
ALL_PAIRS = 600  # points up to which neighbours and the diameter are compared with all pairs


def cloud(rng: np.random.Generator) -> np.ndarray:
    """One of many kinds."""
    m = int(rng.choice([0, 1, 2, 15, 16, 17, int(rng.integers(0, 400)), int(rng.integers(0, 5001))]))
    n = int(rng.integers(1, 9))
    points = rng.normal(size=(m, n))
    kind = rng.integers(8)
    if kind == 1:
        points = np.round(points, 1)
    elif kind == 2:
        points[:] = points[:1] if m else 0.0
    elif kind == 3 and m:
        points = points[rng.integers(0, max(1, m // 10), m)]
    elif kind == 4:
        points *= np.arange(n) == 0
    elif kind == 5:
        points = points * 2.0 ** rng.integers(-1000, 1000) if rng.integers(2) else points * 1e-300
    elif kind == 6:
        points = points + 5e6
    elif kind == 7:
        points = rng.integers(0, 5, (m, n)).astype(float)
    return np.ascontiguousarray(points)


def check(core: Any, rng: np.random.Generator) -> None:
    """Arrange a cloud and ask everything of it."""
    points = cloud(rng)
    m, n = points.shape
    blocks = -(-m // BLOCK)
    origin, order, keys = np.empty(n), np.arange(m), np.empty(m)
    exponent = core.origin(points, origin)
    core.sort(points, order, keys, 0, m)
    assert sorted(order) == list(range(m))
    sources, boxes = np.empty((n, m)), np.empty((2, n, blocks))
    core.gather(points, order, origin, math.ldexp(1.0, -exponent), 0, m, sources)
    np.testing.assert_array_equal(sources, ((points[order] - origin) * math.ldexp(1.0, -exponent)).T)
    core.boxes(sources, boxes)
    for b in range(blocks):
        own = sources[:, b * BLOCK : (b + 1) * BLOCK]
        np.testing.assert_array_equal(boxes[:, :, b], [own.min(axis=1), own.max(axis=1)])
    count = max(0, 2 * blocks - 1)
    nodes, begin, size = np.empty((count, 2, n)), np.empty(count, np.int64), np.empty(count, np.int64)
    core.grow(boxes, nodes, begin, size)
    found = [(np.empty(m), np.empty(m, np.int64)) for _ in range(2)]
    core.nearest(sources, boxes, *found[0])
    core.nearest_by_tree(sources, nodes, begin, size, 0, blocks, *found[1])
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    square = core.diameter(sources, boxes)
    direction_boxes, radius = np.empty((count, 2, n)), np.empty(count)
    core.directions(sources, nodes, begin, size, direction_boxes, radius)
    best = core.distant_pair(sources)
    tree = (nodes, begin, size, direction_boxes, radius)
    assert core.farthest_by_tree(sources, *tree, 0, count, best) == square
    if m <= ALL_PAIRS:
        squares = np.zeros((m, m))
        for axis in sources:
            squares += np.subtract.outer(axis, axis) ** 2
        assert square == squares.max(initial=0.0)
        np.testing.assert_array_equal(found[0][1], (squares == 0).sum(axis=1))
        elsewhere = np.where(squares > 0, squares, np.inf)
        np.testing.assert_array_equal(found[0][0], elsewhere.min(axis=1, initial=np.inf))
    targets = np.ascontiguousarray(rng.normal(size=(n, 9)))
    near, which = np.empty(9), np.empty(9, np.int64)
    core.nearest_source(targets, sources, nodes, begin, size, near, which)
    assert (which >= 0).all() == (m > 0)
    flat, flat_boxes = np.empty(n * m), np.empty(boxes.size)
    nearest, extents, exponents = np.empty(m), np.empty((1, 2)), np.empty(1, np.int64)
    core.clouds(points, np.array([m]), flat, flat_boxes, nearest, extents, exponents)
    np.testing.assert_array_equal(flat.reshape(n, m), sources)
    spacing = math.ldexp(core.spacing(*found[0]), exponent) if m > 1 else math.nan
    np.testing.assert_array_equal(extents[0, 0], spacing if spacing > 0 else math.nan)


def main() -> int:
    """Clouds by number, so that one that fails can be made again."""
    folder, count = sys.argv[1], int(sys.argv[2])
    sys.path.insert(0, folder)
    import _core  # type: ignore[import-not-found]

    for number in range(count):
        try:
            check(_core, np.random.default_rng(number))
        except AssertionError:
            print(f"cloud {number} failed", file=sys.stderr)
            raise
    print(f"{count} clouds with {_core.isa()}: as NumPy has them")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

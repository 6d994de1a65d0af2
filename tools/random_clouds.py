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
    if m:
        check_walks(core, rng, sources, boxes, (nodes, begin, size))
        check_plan(core, rng, sources, (nodes, begin, size))
        check_near(core, rng, sources, boxes, (nodes, begin, size))
        check_field(core, rng, sources, boxes, (nodes, begin, size))


def check_walks(core: Any, rng: np.random.Generator, sources: Any, boxes: Any, tree: Any) -> None:
    """Blocks within a distance of a box, about how many points, and a plan that holds every block once."""
    """Blocks within a distance of a box, and about how many points."""
    n, m = sources.shape
    low, cut = rng.normal(size=n), 10.0 ** rng.uniform(-4, 2)
    high, found = low + rng.random(n), np.empty(boxes.shape[2], np.int64)
    apart = np.maximum(0.0, np.maximum(boxes[0] - high[:, None], low[:, None] - boxes[1]))
    within = core.blocks_within(*tree, low, high, cut, found)
    squares = np.zeros(boxes.shape[2])
    for step in apart:
        squares += step * step
    np.testing.assert_array_equal(found[:within], np.flatnonzero(squares <= cut))
    assert 0 <= core.estimate_within(*tree, low, high, cut, m) <= m
    assert core.estimate_within(*tree, low, high, 1e6, m) == m


def check_plan(core: Any, rng: np.random.Generator, sources: Any, tree: Any) -> None:
    """A plan whose parts hold every block once, in order."""
    n, m = sources.shape
    _, begin, size = tree
    blocks = -(-m // BLOCK)
    chosen, corners, eps = np.empty(blocks, np.int64), np.empty((blocks, 2, n)), np.empty(blocks)
    call, t = 10.0 ** rng.uniform(-7, -3), 10.0 ** rng.uniform(-5, 0)
    fourth = bool(rng.integers(2))
    prices = np.array([2e-9, 1e-9, 1e-9, 4e-7, 1e-9, call, 4e-10, 1e-8, 1.25, 1e-9, 1e8])
    price, count = core.plan(
        sources, *tree, np.empty(0), m, *tree, 5.0, 18.0, 1e-7, 1e-13, n <= 3,
        t, 30.0, fourth, prices, chosen, corners, eps,
    )  # fmt: skip
    assert price > 0.0
    held = [b for i in chosen[:count] for b in range(begin[i], begin[i] + size[i])]
    assert held == list(range(blocks))


def check_near(core: Any, rng: np.random.Generator, sources: Any, boxes: Any, tree: Any) -> None:
    """All sums at some of the points, to a tolerance."""
    n, m = sources.shape
    columns = np.sort(rng.integers(0, m, min(m, 70)))
    targets = np.ascontiguousarray(sources[:, columns])
    q, none, kind = columns.size, np.empty(0), rng.integers(2, size=8).astype(bool)
    directions, fourth, energy, single, weighted, own, grouped, off = kind
    if off:
        targets += rng.normal(size=targets.shape) * 0.01
    times = 10.0 ** (rng.uniform(-4, 0) + (rng.uniform(-0.5, 0.5, q) if own and q > 1 else np.zeros(1)))
    roots = np.sqrt(rng.uniform(0.5, 1.0, m)) if weighted else none
    r = sources[:, None, :] - targets[:, :, None]
    square = (r * r).sum(axis=0)
    offsets = square.min(axis=1) if off else none
    tol, t = 1e-3 if single else 10.0 ** rng.uniform(-11, -3), times[:, None]
    g = np.exp(-square / (8.0 * t)) * (roots if weighted else 1.0)
    w = g * g
    sums = np.full((q, 5 + (n + n * (n + 1) // 2 if directions else 0)), np.nan)
    reach = math.log(1.0 / tol) + 4.0
    half = BLOCK * int(rng.integers(0, q // BLOCK + 1)) if not grouped else 0
    for first, last in ((0, half), (half, q)):
        core.near(
            targets, columns if grouped else columns[:0], times, offsets, sources, roots, boxes, *tree,
            max(0.0, 8.0 - math.log(tol)) / 3.0, reach, 2.0 * reach + 2.0 * math.log(m + 1.0), tol,
            bool(directions), bool(fourth), bool(energy), bool(single), first, last, sums,
        )  # fmt: skip
    whole, unit = w.sum(axis=1), 2.0 * times * (1.0 + (offsets / (2.0 * times) if off else 0.0))
    exact = {0: w, 1: w * square, 4: w * square**2} if fourth else {0: w, 1: w * square}
    for c, terms in exact.items():
        scale = whole * {0: 1.0, 1: 4.0 * unit, 4: 16.0 * unit**2}[c]
        assert (np.abs(sums[:, c] - terms.sum(axis=1)) <= 2.0 * tol * scale).all(), c
    if energy and not weighted:
        for c, terms in ((2, g), (3, g * square / (4.0 * unit[:, None]))):
            found = sums[:, c] / (1.0 if c == 2 else 4.0 * unit)
            assert (np.abs(found - terms.sum(axis=1)) <= 4.0 * tol * g.sum(axis=1)).all(), c
    if directions:
        i, j = np.triu_indices(n)
        moments = [*(r * w).sum(axis=2), *(r[i] * r[j] * w).sum(axis=2)]
        for k, moment in enumerate(moments):
            scale = whole * (np.sqrt(unit) if k < n else unit)
            assert (np.abs(sums[:, 5 + k] - moment) <= 16.0 * tol * scale).all(), k


def check_field(core: Any, rng: np.random.Generator, sources: Any, boxes: Any, tree: Any) -> None:
    """Log sum, mean and covariance at places near and far, with weights, on both paths."""
    n, m = sources.shape
    q, moments = 5, bool(rng.integers(2))
    places = rng.normal(size=(q, n)) * 10.0 ** rng.uniform(-2, 1, (q, 1))
    logs = rng.uniform(-3.0, 0.0, m) if rng.integers(2) else np.zeros(m)
    heaviest = np.maximum.reduceat(logs, np.arange(0, m, BLOCK))
    of_nodes = np.empty(len(tree[1]))
    core.heaviest(*tree, heaviest, of_nodes)
    times = 10.0 ** rng.uniform(-3, 0, 2)
    out = np.full((q, 2, 1 + n + n * (n + 1) // 2 if moments else 1), np.nan)
    core.field(sources, boxes, logs, heaviest, times, places, 0, q, 37.0, moments, out)
    by_tree = np.full_like(out[:, 0], np.nan)
    unknown = np.full(q, -1)
    core.field_by_tree(
        sources, logs, *tree, of_nodes, times[0], places, unknown, 0, q, 37.0, moments, by_tree
    )
    np.testing.assert_allclose(by_tree, out[:, 0], rtol=1e-9, atol=1e-9)
    r = sources[:, None, :] - places.T[:, :, None]
    for a, t in enumerate(times):
        exponent = 2.0 * math.log(2.0) * logs - (r * r).sum(axis=0) / (4.0 * t)
        top = exponent.max(axis=1, keepdims=True)
        w = np.exp(exponent - top)
        whole = w.sum(axis=1)
        np.testing.assert_allclose(out[:, a, 0], top[:, 0] + np.log(whole), rtol=1e-11, atol=1e-11)
        if moments:
            mean = (r * w).sum(axis=2) / whole
            np.testing.assert_allclose(out[:, a, 1 : 1 + n], mean.T, rtol=1e-8, atol=1e-8)
            i, j = np.triu_indices(n)
            d = r - mean[:, :, None]
            np.testing.assert_allclose(
                out[:, a, 1 + n :], ((d[i] * d[j] * w).sum(axis=2) / whole).T, atol=1e-8
            )


def check_sums(core: Any, rng: np.random.Generator) -> None:
    """The dense sums of a batch of clouds, and what is pooled from them."""
    n = int(rng.integers(1, 9))
    clouds = [rng.normal(size=(int(rng.integers(0, 90)), n)) for _ in range(int(rng.integers(1, 5)))]
    if rng.integers(3) == 0:
        clouds = [np.round(points) for points in clouds]
    sizes = np.array([len(points) for points in clouds])
    ends, total, blocks = np.cumsum(sizes), int(sizes.sum()), int((-(-sizes // BLOCK)).sum())
    sources, boxes, nearest = np.empty(n * total), np.empty(2 * n * blocks), np.empty(total)
    extents, exponents = np.empty((len(clouds), 2)), np.empty(len(clouds), np.int64)
    core.clouds(np.concatenate(clouds), ends, sources, boxes, nearest, extents, exponents)
    times = np.geomspace(10.0 ** rng.uniform(-4, 0), 10.0, 4)[:, None] * np.ones(len(clouds))
    fourth, directions, single = (bool(rng.integers(2)) for _ in range(3))
    sums = np.full((5 + (n + n * (n + 1) // 2) * directions, 4, total), np.nan)
    half = int(rng.integers(0, total + 1))
    options = (nearest, times, n, 17.0 if single else 37.0, single, fourth, directions)
    core.dense(sources, boxes, ends, *options, 0, half, sums)
    core.dense(sources, boxes, ends, *options, half, total, sums)
    values = rng.normal(size=(2, 4, total))
    steps = np.full((2, 2, 1, total), np.nan)
    pair = np.array([0]), np.array([2])
    core.differences(sources, boxes, ends, times, n, options[3], single, values, *pair, 0, total, steps)
    upper = np.triu_indices(n)
    tolerance = 2e-5 if single else 1e-12
    for c, m in enumerate(sizes):
        here = slice(ends[c] - m, ends[c])
        x = sources[n * (ends[c] - m) : n * ends[c]].reshape(n, m)
        r = x[:, None, :] - x[:, :, None]  # (n, i, j)
        square = (r * r).sum(axis=0)
        for a, t in enumerate(times[:, c]):
            w, g = np.exp(-square / (4 * t)), np.exp(-square / (8 * t))
            expected = [w, w * square, g, g * square, w * square**2 if fourth else 0 * w]
            if directions:
                expected += [*(w * r), *(w * r[upper[0]] * r[upper[1]])]
            found = np.array([e.sum(axis=1) for e in expected])
            scale = 1.0 + np.array([np.abs(e).sum(axis=1) for e in expected])
            assert (np.abs(sums[:, a, here] - found) <= tolerance * scale).all()
            if a == 2:
                step = values[:, 0, here][:, None, :] - values[:, 0, here][:, :, None]
                found = np.stack([(w * step).sum(axis=2), (w * step * step).sum(axis=2)])
                assert np.allclose(
                    steps[:, :, 0, here], found, rtol=1e-4 if single else 1e-10, atol=1e-4 * single + 1e-9
                )
    if n <= 3:
        check_back(core, rng, (sources, boxes, ends), options)
    check_segments(core, rng, ends)
    check_neighbours(core, rng, np.concatenate(clouds), ends)


def check_back(core: Any, rng: np.random.Generator, batch: tuple, options: tuple) -> None:
    """From gradients of the sums to those of points and times."""
    (sources, _, ends), (_, times, n, _, single, fourth, directions) = batch, options
    total, tables, energy = int(ends[-1]), int(rng.integers(1, 4)), bool(rng.integers(2))
    sizes = np.diff(ends, prepend=0)
    given = rng.normal(size=(5 + (n + n * (n + 1) // 2) * directions, 4, total))
    given[2:4] *= energy
    given[4] *= fourth
    rows = np.maximum(1, -(-sizes // tables))
    by_points, by_times = np.zeros((tables, n, total)), np.zeros((tables, *times.shape))
    half = int(rng.integers(0, total + 1))
    for first, last in ((0, half), (half, total)):
        core.dense_back(
            *batch, *options[:5], given, fourth, directions, energy, rows, first, last, by_points, by_times
        )
    tolerance = 1e-4 if single else 1e-11
    for c, m in enumerate(sizes):
        here = slice(ends[c] - m, ends[c])
        x = sources[n * (ends[c] - m) : n * ends[c]].reshape(n, m)
        r = x[:, None, :] - x[:, :, None]
        d, slope, size = (r * r).sum(axis=0), np.zeros((n, m)), np.ones((n, m))
        for a, t in enumerate(times[:, c]):
            weight, square, root, root_square, far = given[:5, a, here, None]
            w, g = np.exp(-d / (4 * t)), np.exp(-d / (8 * t))
            q, along = weight + square * d + far * d**2, 2 * square * r + 4 * far * d * r
            if directions:
                first, upper = given[5 : 5 + n, a, here], np.zeros((n, n, m))
                upper[np.triu_indices(n)] = given[5 + n :, a, here]
                both = upper + upper.swapaxes(0, 1)
                turned = (both[..., None] * r).sum(axis=1)
                q, along = (
                    q + (first[..., None] * r).sum(axis=0) + (turned * r).sum(axis=0) / 2,
                    along + turned,
                )
                along = along + first[..., None]
            p = root + root_square * d
            part = w * (along - q * r / (2 * t)) + g * (2 * root_square * r - p * r / (4 * t))
            slope += part.sum(axis=1) - part.sum(axis=2)
            size += np.abs(part).sum(axis=1) + np.abs(part).sum(axis=2)
            time = (w * q + g * p / 2) * d
            assert abs(by_times[:, a, c].sum() - time.sum()) <= tolerance * (1.0 + np.abs(time).sum())
        assert (np.abs(by_points.sum(axis=0)[:, here] - slope) <= tolerance * size).all()


def check_neighbours(core: Any, rng: np.random.Generator, points: np.ndarray, ends: np.ndarray) -> None:
    """Nearest and farthest points, and lists of the nearest, by their places."""
    total, k, kind = len(points), int(rng.integers(1, 40)), (np.float32, np.float64)[int(rng.integers(2))]
    near, far, longest = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total)
    half = int(rng.integers(0, total + 1))
    core.extremes(points, ends, 0, half, near, longest, far)
    core.extremes(points, ends, half, total, near, longest, far)
    most = int(np.diff(ends, prepend=0).max())
    distances, lists = np.zeros((len(ends), most, most), kind), np.full((total, k), -1)
    for c, end in enumerate(ends):
        begin = ends[c - 1] if c else 0
        here, m = slice(begin, end), end - begin
        squares = np.zeros((m, m))
        for axis in points[here].T:
            squares += np.subtract.outer(axis, axis) ** 2
        distances[c, :m, :m] = squares
        if m == 0:
            continue
        apart = np.where(squares > 0, squares, np.inf)
        lonely = np.isinf(apart.min(axis=1)) | ((squares == 0).argmax(axis=1) < np.arange(m))
        np.testing.assert_array_equal(near[here], np.where(lonely, -1, apart.argmin(axis=1)))
        np.testing.assert_array_equal(longest[here], squares.max(axis=1))
        np.testing.assert_array_equal(far[here], squares.argmax(axis=1))
    starts = np.r_[0, ends]
    for begin in range(0, most, 50):
        core.smallest(np.ascontiguousarray(distances[:, begin : begin + 50]), starts, begin, lists)
    for c, end in enumerate(ends):
        m = end - starts[c]
        order = np.argsort(distances[c, :m, :m], axis=1, kind="stable")[:, :k]
        own = np.repeat(np.arange(m)[:, None], k - order.shape[1], axis=1)
        np.testing.assert_array_equal(
            lists[starts[c] : end] - starts[c], np.concatenate([order, own], axis=1)
        )


def check_segments(core: Any, rng: np.random.Generator, ends: np.ndarray) -> None:
    """Statistics of segments, shares, and the linear algebra of small matrices."""
    total = int(ends[-1])
    values = rng.normal(size=(3, total))
    if rng.integers(3) == 0:
        values = np.round(values)
    pooled, sums = np.empty((len(ends), 3, 5)), np.empty((len(ends), 3))
    correlations = np.empty((len(ends), 2))
    core.pool(values, ends, pooled)
    core.segment_sums(values, ends, sums)
    core.correlate(values, ends, np.array([[0, 1], [2, 2]]), 1e-6, correlations)
    for c, end in enumerate(ends):
        part = values[:, ends[c - 1] if c else 0 : end]
        assert np.allclose(sums[c], part.sum(axis=1), atol=1e-12)
        if part.shape[1] == 0:
            assert np.isnan(pooled[c]).all()
            continue
        statistics = [part.mean(axis=1), part.std(axis=1), *np.percentile(part, [10, 50, 90], axis=1)]
        assert np.allclose(pooled[c], np.transpose(statistics), atol=1e-12)
        known = part.std(axis=1) > 1e-6
        if known[:2].all():
            assert np.isclose(correlations[c, 0], np.corrcoef(part[:2])[0, 1], atol=1e-12)
        assert np.isclose(correlations[c, 1], 1.0) if known[2] else np.isnan(correlations[c, 1])
    logs = rng.normal(size=(3, total)) * 100
    shares = logs.copy()
    core.shares(shares)
    expected = np.exp(logs - logs.max(axis=0, initial=-np.inf))
    assert np.allclose(shares, expected / expected.sum(axis=0), atol=1e-15)
    for n in (1, 2, 3, 4):
        matrices = rng.normal(size=(total, n, n)) * 10.0 ** rng.integers(-3, 3, (total, 1, n))
        matrices = matrices + matrices.transpose(0, 2, 1)
        packed = np.ascontiguousarray(matrices[:, *np.triu_indices(n)].T)
        exact, frames = np.linalg.eigvalsh(matrices)[:, ::-1].T, np.empty((n, n, total))
        core.eigenvectors(packed, frames)
        size = np.abs(exact).max(axis=0, initial=0.0)
        turned = np.einsum("kai,iab,lbi->kli", frames, matrices, frames)
        assert (np.abs(turned - np.eye(n)[:, :, None] * exact) <= 1e-13 * size).all()
        if n < 4:
            values = np.empty((n, total))
            core.eigenvalues(packed, values)
            assert (np.abs(values - exact) <= 1e-14 * size).all()
            back = np.empty_like(packed)
            core.eigenvalues_back(
                packed, np.ascontiguousarray(exact**2), back
            )  # of the trace of the cube, over 3
            double = 2 - np.eye(n)[np.triu_indices(n)]
            squares = (matrices @ matrices)[:, *np.triu_indices(n)].T * double[:, None]
            assert (np.abs(back - squares) <= 1e-12 * size**2).all()


def check_misc(core: Any, rng: np.random.Generator) -> None:
    """What is about no cloud, or about its points as they come."""
    packed, plain = packed_bytes(rng)
    room = np.zeros(len(plain), np.uint8)
    assert core.unpack_lzf(packed, room) == len(plain)
    assert room.tobytes() == bytes(plain)
    packed[rng.integers(0, len(packed), 3)] = rng.integers(0, 256, 3)
    core.unpack_lzf(packed[: rng.integers(0, len(packed) + 1)], room)  # must stay within its arrays
    sources = np.ascontiguousarray(cloud(rng)[:2000].T)
    m = sources.shape[1]
    if m:
        rows, nearest = np.zeros(min(m, 20), np.int64), np.full(m, np.inf)
        rows[0] = rng.integers(m)
        found = core.farthest(sources, nearest, rows, 0, len(rows) - 1)
        distance = np.full(m, np.inf)
        for k in range(found):
            assert k == 0 or rows[k] == distance.argmax()
            square = np.zeros(m)
            for axis in sources:
                with np.errstate(over="ignore"):
                    square += (axis - axis[rows[k]]) ** 2
            distance = np.where(square < distance, square, distance)
        assert found == len(rows) or distance.max() == 0.0
    sizes = 2 * rng.integers(0, 4, int(rng.integers(1, 9))) + 1
    starts = np.r_[0, np.cumsum(sizes)]
    own = np.concatenate([np.arange(size) for size in sizes])
    left = np.where(own + 2 < np.repeat(sizes, sizes), own + 1, -1).astype(np.int32)
    right = np.where(left < 0, -1, own + 2).astype(np.int32)
    features = rng.choice([np.nan, -1.0, 0.0, 1.0], (30, 4)).astype(np.float32)
    feature, threshold = rng.integers(0, 4, len(own), dtype=np.int32), rng.integers(-1, 2, len(own)) / 2.0
    missing, value = rng.random(len(own)) < 0.5, rng.normal(size=len(own))
    margins, expected = np.zeros((30, 3)), np.zeros((30, 3))
    core.walk(features, starts, feature, threshold, left, right, missing, value, margins)
    for t, root in enumerate(starts[:-1]):
        for row, x in enumerate(features):
            node = root
            while left[node] >= 0:
                v = x[feature[node]]
                to_left = missing[node] if np.isnan(v) else v <= threshold[node]
                node = root + (left if to_left else right)[node]
            expected[row, t % 3] += value[node]
    np.testing.assert_array_equal(margins, expected)
    state, places = np.array([rng.integers(2**63)], np.uint64), np.empty((2, 300))
    again, parts = state.copy(), places.copy()
    count = core.strauss(state, 50.0, 0.4, 0.1, 300, 0, places)
    first = core.strauss(again, 50.0, 0.4, 0.1, 100, 0, parts)
    assert core.strauss(again, 50.0, 0.4, 0.1, 200, first, parts) == count
    np.testing.assert_array_equal(parts[:, :count], places[:, :count])
    assert ((places[:, :count] >= 0) & (places[:, :count] < 1)).all()


def packed_bytes(rng: np.random.Generator) -> tuple[np.ndarray, bytearray]:
    """A stream of LZF, and what it unpacks to."""
    packed, plain = bytearray(), bytearray()
    for _ in range(int(rng.integers(1, 60))):
        if not plain or rng.integers(2):
            run = rng.integers(0, 256, int(rng.integers(1, 33))).astype(np.uint8).tobytes()
            packed += bytes([len(run) - 1]) + run
            plain += run
            continue
        back, length = int(rng.integers(0, min(len(plain), 8192))), int(rng.integers(1, 263))
        packed.append((min(length, 7) << 5) | (back >> 8))
        packed += bytes([length - 7] if length >= 7 else []) + bytes([back & 255])
        for _ in range(length + 2):
            plain.append(plain[-1 - back])
    return np.frombuffer(bytes(packed), np.uint8).copy(), plain


def check_grid(core: Any, rng: np.random.Generator) -> None:
    """Points spread with random kernels, a field read with its derivatives, factors on modes."""
    n, width, p = int(rng.integers(1, 4)), int(rng.integers(4, 17)), int(rng.choice([0, 1, 3, 30]))
    lanes, shape = -(-width // 4) * 4, [1] * (3 - n) + rng.integers(width, width + 9, n).tolist()
    table = np.zeros((int(rng.integers(1, 9)), lanes))
    table[:, :width] = rng.normal(size=(len(table), width))
    points = (rng.normal(size=(n, p + 3)) * rng.choice([0.0, 1.0, 50.0]))[:, :p]  # columns of a larger array
    center, steps, weights = rng.normal(size=n), 0.1 + 3.0 * rng.random(n), rng.normal(size=p)
    edge = (points - center[:, None]) * steps[:, None] - 0.5 * width
    start = np.ceil(edge)
    kernels = np.ones((3, 3, p, width))  # (axis, order, point, grid point); slopes fall as z grows
    for order in range(3):
        one = [np.polyder(np.poly1d(table[:, j]), order) for j in range(width)]
        for k in range(n):
            x = 2.0 * (start[k] - edge[k]) - 1.0
            kernels[3 - n + k, order] = (-2.0) ** order * np.array([f(x) for f in one]).T
    axes = [np.zeros((p, 1), np.int64)] * (3 - n)
    axes += [(start[k].astype(np.int64)[:, None] + np.arange(width)) % shape[3 - n + k] for k in range(n)]

    def around(i: int, orders: list[int]) -> tuple[Any, np.ndarray]:
        z, y, x = (kernels[k, orders[k], i, : axes[k].shape[1]] for k in range(3))
        return np.ix_(*(at[i] for at in axes)), z[:, None, None] * y[:, None] * x

    plain, whole = np.zeros(shape), np.zeros((*shape[:2], shape[2] + 3))
    for i in range(p):
        place, values = around(i, [0, 0, 0])
        plain[place] += weights[i] * values
    boxes = np.empty((p, 8), np.int64)
    boxes = boxes[: core.boxes_of_runs(points, width, center, steps, 0, p, boxes)]
    grids = np.empty(int((boxes[:, 5] * boxes[:, 6] * (boxes[:, 7] + lanes - width)).sum()))
    core.spread(points, weights, table, width, center, steps, boxes, grids)
    core.add_boxes(boxes, lanes - width, grids, shape[2], whole)
    size = 1e-9 * (1.0 + np.abs(plain).max(initial=0.0))
    np.testing.assert_allclose(whole[..., : shape[2]], plain, atol=size)
    assert not whole[..., shape[2] :].any()

    field = rng.normal(size=shape)
    at = [1 << 2 * k for k in range(3 - n, 3)]  # two bits for the order along each axis
    codes = [0, *at, *(at[a] + at[b] for a in range(n) for b in range(a, n))]
    found = np.zeros((p, len(codes)))
    for i in range(p):
        for d, code in enumerate(codes):
            place, values = around(i, [code >> 2 * k & 3 for k in range(3)])
            found[i, d] = (field[place] * values).sum()
    matrix, sums = rng.normal(size=(len(codes), 2)), np.zeros((p, 4))
    longer = np.concatenate([field] + [field] * -(-lanes // shape[2]), axis=2)[..., : shape[2] + lanes].copy()
    stencil = (longer, table, width, center, steps, points, 0, p)
    largest = core.interpolate(*stencil, matrix, 1, sums)
    size = 1e-9 * (1.0 + np.abs(found).max(initial=0.0))
    np.testing.assert_allclose(sums[:, 1:3], found @ matrix, atol=20.0 * size)
    np.testing.assert_allclose(largest, found[:, 0].max(initial=-np.inf), atol=size)
    core.interpolate(*stencil, np.full((1, 1), 2.0), 3, sums)
    np.testing.assert_allclose(sums[:, 3], 2.0 * found[:, 0], atol=2.0 * size)
    assert not sums[:, 0].any()

    modes, other = rng.normal(size=(2, *shape[:2], 2 * shape[2]))
    factors = [rng.random((3, count)) for count in modes.shape]
    heat, root = (np.einsum("i,j,k", *(f[row] for f in factors)) for row in (0, 1))
    square = np.add.outer(np.add.outer(factors[0][2], factors[1][2]), factors[2][2])
    powers, fourth, totals = rng.normal(size=3), np.empty(modes.shape), np.zeros((shape[1], 2))
    applied = modes.copy()
    core.apply_heat(applied, other, *factors, powers, fourth, totals)
    power = modes * other * root
    np.testing.assert_allclose(totals, np.array([power, power * square]).sum(axis=(1, 3)).T, atol=1e-9)
    np.testing.assert_allclose(applied, modes * heat, atol=1e-12)
    np.testing.assert_allclose(fourth, modes * heat * np.polyval(powers[::-1], square), atol=1e-9)


def main() -> int:
    """Clouds by number, so that one that fails can be made again."""
    folder, count = sys.argv[1], int(sys.argv[2])
    sys.path.insert(0, folder)
    import _core  # type: ignore[import-not-found]

    for number in range(count):
        try:
            check(_core, np.random.default_rng(number))
            check_sums(_core, np.random.default_rng(number))
            if number % 4 == 0:
                check_misc(_core, np.random.default_rng(number))
            check_grid(_core, np.random.default_rng(number))
        except AssertionError:
            print(f"cloud {number} failed", file=sys.stderr)
            raise
    print(f"{count} clouds with {_core.isa()}: as NumPy has them")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

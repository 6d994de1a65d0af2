"""Features of the points of one cloud, at all of them or at some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array
from .._features.describe import deviation_at_points
from .._signatures import shape
from ..core.cloud import ArrangedCloud
from ..core.evaluate import evaluate
from ..core.moments import Request
from ..core.outputs import Outputs
from ..core.targets import Targets
from .settings import SHAPE, PointFeatureSettings

# Points whose outputs, eigenvectors among them, are in memory together.
_TOGETHER = 1_000_000
# Of the points in a cell so many parts lie below its floor: single points under the ground are no floor.
_BELOW_FLOOR = 0.01

Features = NDArray[np.float32]


def point_features(
    points: Array,
    settings: PointFeatureSettings,
    columns: Mapping[str, Any] | None = None,
    rows: NDArray[np.int64] | None = None,
    n_threads: int = 1,
) -> Features:
    """Features (q, F) at the chosen rows of a cloud, None for all; NaN where they are not defined."""
    m = len(points)
    wanted = np.arange(m) if rows is None else np.asarray(rows, dtype=np.int64)
    out = np.empty((len(wanted), len(settings.names)), np.float32)
    if len(wanted) == 0:
        return out
    cloud = ArrangedCloud.of(points, n_threads)
    assert settings.blocks is not None
    place = 0
    for block, names in settings.columns_of_blocks():
        here = slice(place, place + len(names))
        if block == "height":
            out[:, here] = height_above_floor(points, float(settings.cell or 0.0))[wanted, None]
        elif block.startswith("column "):
            out[:, here] = _column(columns, names[0], m)[wanted, None]
        place = here.stop
    local = [b for b in settings.blocks if b != "height"]
    if local:
        _local_blocks(cloud, settings, wanted, out, n_threads)
    return out


def _local_blocks(
    cloud: ArrangedCloud,
    settings: PointFeatureSettings,
    wanted: NDArray[np.int64],
    out: Features,
    n_threads: int,
) -> None:
    """Write all blocks that are read off the heat field."""
    m, n = cloud.order.size, settings.n_dims
    times = np.square(settings.lengths)[None, :]
    assert settings.blocks is not None
    request = Request(
        tol=settings.tol,
        directions=bool(
            {"spectrum", "shape", "direction", "gradient", "neighbourhood"} & set(settings.blocks)
        ),
        fourth_moment=False,
        energy=False,
        gradient="gradient" in settings.blocks,
        method="auto",
        dtype=np.dtype(np.float64),
        n_threads=n_threads,
    )
    if "fine" in settings.blocks:
        _fine_block(cloud, settings, wanted, out, replace(request, directions=True, gradient=True))
    if not {*settings.blocks} - {"fine", "height"}:
        return
    vectors = bool({"shape", "direction"} & {*settings.blocks})
    whole = "neighbourhood" in settings.blocks or (len(wanted) > m // 2 and m <= _TOGETHER)
    if whole:
        found = evaluate(cloud, None, times, request, vectors=vectors)
        second = None
        if "neighbourhood" in settings.blocks:
            second = np.empty((m, len(dict(settings.columns_of_blocks())["neighbourhood"])), np.float32)
            second[cloud.order] = deviation_at_points(cloud, times, found, request).T
            second = second[wanted]
        found.local.turn_round(found.rows, n_threads)
        _write(found.local, settings, n, out, wanted, second)
        return
    for first in range(0, len(wanted), _TOGETHER):
        some = wanted[first : first + _TOGETHER]
        targets = Targets.at_indices(cloud, some)
        found = evaluate(cloud, targets, times, request, vectors=vectors)
        found.local.turn_round(found.rows, n_threads)
        _write(found.local, settings, n, out[first : first + len(some)], np.arange(len(some)))


def _fine_block(
    cloud: ArrangedCloud,
    settings: PointFeatureSettings,
    wanted: NDArray[np.int64],
    out: Features,
    request: Request,
) -> None:
    """Write the block "fine": all that is known at one length, a finer one."""
    names = [name for block, own in settings.columns_of_blocks() if block == "fine" for name in own]
    first = settings.names.index(names[0])
    times = np.full((1, 1), settings.fine_length**2)
    for start in range(0, len(wanted), _TOGETHER):
        targets = Targets.at_indices(cloud, wanted[start : start + _TOGETHER])
        found = evaluate(cloud, targets, times, request, vectors=True)
        found.local.turn_round(found.rows, request.n_threads)
        parts = [
            _block(found.local, block, settings.n_dims, settings.tol) for block in settings.fine_blocks()
        ]
        rows = slice(start, start + _TOGETHER)
        out[rows, first : first + len(names)] = np.concatenate(
            [part.reshape(part.shape[0], -1) for part in parts], axis=1
        )


def _write(
    found: Outputs,
    settings: PointFeatureSettings,
    n: int,
    out: Features,
    rows: NDArray[np.int64],
    second: Features | None = None,
) -> None:
    """Blocks of outputs into their columns; ``rows`` of the outputs are those of ``out``."""
    place = 0
    for block, names in settings.columns_of_blocks():
        here = slice(place, place + len(names))
        place = here.stop
        if block == "neighbourhood":
            out[:, here] = second
        elif block not in ("height", "fine") and not block.startswith("column "):
            out[:, here] = _block(found, block, n, settings.tol)[rows].reshape(len(rows), -1)


def _block(found: Outputs, block: str, n: int, tol: float) -> Array:
    """One block (q, T) or (q, T, columns)."""
    if block == "density":
        return np.log(found.density)
    if block == "shape":
        read = [getattr(shape, name)(found) for name in SHAPE if n == 3 or name != "planarity"]
        return np.stack(read, axis=2)
    if block == "direction":
        assert found.directions is not None
        assert found.spectrum is not None
        # Where the two largest extents are equal within the tolerance there is no such direction.
        known = found.spectrum[:, :, 0] - found.spectrum[:, :, 1] > tol
        return np.where(known, np.abs(found.directions[:, :, 0, -1]), np.nan)
    values = getattr(found, block)
    assert values is not None
    return values


def _column(columns: Mapping[str, Any] | None, name: str, m: int) -> Array:
    """A column of the file as numbers."""
    if columns is None or name not in columns:
        known = ", ".join(map(repr, columns or {})) or "none"
        raise ValueError(f"the cloud has no column {name!r}; it has {known}")
    found = np.asarray(columns[name])
    if found.shape != (m,) or found.dtype.kind not in "fiub":
        raise ValueError(f"column {name!r} must hold {m} numbers, got {found.dtype} of shape {found.shape}")
    return found.astype(np.float64)


def height_above_floor(points: Array, cell: float) -> Array:
    """Last coordinate above the floor of the point's cell, a square column of side ``cell``.

    The floor is the lowest point, but for the lowest hundredth of the cell: in large cells a few points under
    the ground do not count. Cells are counted from the smallest coordinates of the cloud.

    Examples
    --------
    >>> height_above_floor(np.array([[0.0, 0, 5], [0.5, 0, 7], [9.0, 0, 3]]), cell=2.0).tolist()
    [0.0, 2.0, 0.0]
    """
    base = np.floor((points[:, :-1] - points[:, :-1].min(axis=0)) / cell)
    _, label = np.unique(base, axis=0, return_inverse=True)
    label = label.ravel()
    order = np.lexsort((points[:, -1], label))
    counts = np.bincount(label)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    floor = points[order[starts + (_BELOW_FLOOR * counts).astype(np.int64)], -1]
    return points[:, -1] - floor[label]

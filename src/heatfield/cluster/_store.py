"""The points of a tile in kd order on disk, so that any part of them is read without the rest.

The kd order halves the points again and again, so every run of `RUN` rows is compact: the points around a
place are those of a few runs, found by their boxes.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._base.arrays import read_arrays
from .._base.check import Array
from .._base.files import open_atomically, write_atomically
from ..core.arrange import kd_order
from ._settings import Job

RUN = 1024


@dataclass(frozen=True, eq=False)
class Meta:
    """What is known of a tile without its points."""

    count: int  # points that it owns
    in_file: int
    low: Array
    high: Array
    run_boxes: Array  # (runs, 2, n)
    problem: tuple[str, str] = ("", "")

    @property
    def sound(self) -> bool:
        """Whether the tile could be read and owns any points."""
        return not self.problem[1] and self.count > 0


def write_tile(job: Job, number: int, points: Array, rows: np.ndarray, in_file: int, stage: str = "") -> None:
    """Keep points (m, n), which are these rows of their file.

    ``stage`` is "read" for a tile of which another task keeps the points that it owns. What is known of the
    tile is written last: where that is found, all is complete.
    """
    order = kd_order(points) if len(points) else np.empty(0, np.int64)
    points = np.ascontiguousarray(points[order])
    starts = np.arange(0, len(points), RUN)
    boxes = np.empty((starts.size, 2, points.shape[1]))
    if starts.size:
        boxes[:, 0] = np.minimum.reduceat(points, starts, axis=0)
        boxes[:, 1] = np.maximum.reduceat(points, starts, axis=0)
    save_array(job.file(stage + "points", number, "npy"), points)
    save_array(job.file(stage + "rows", number, "npy"), rows[order])
    nothing = np.full(points.shape[1], np.nan)
    low, high = (boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)) if starts.size else (nothing, nothing)
    save_arrays(
        job.file(stage + "tile", number), count=len(points), in_file=in_file, low=low, high=high,
        run_boxes=boxes, problem=np.array(["", ""]),
    )  # fmt: skip


def write_problem(job: Job, number: int, problem: tuple[str, str], stage: str = "") -> None:
    """Keep why a tile is left out."""
    none = np.empty(0)
    save_arrays(
        job.file(stage + "tile", number), count=0, in_file=-1, low=none, high=none,
        run_boxes=np.empty((0, 2, 0)), problem=np.array(problem, dtype=str),
    )  # fmt: skip


def read_meta(job: Job, number: int, stage: str = "") -> Meta | None:
    """What is known of a tile; None where it was not read yet."""
    names = ("count", "in_file", "low", "high", "run_boxes", "problem")
    data = load_arrays(job.file(stage + "tile", number), names)
    if data is None:
        return None
    place, problem = (str(word) for word in data["problem"])
    return Meta(
        int(data["count"]), int(data["in_file"]), data["low"], data["high"], data["run_boxes"],
        (place, problem),
    )  # fmt: skip


def tile_points(job: Job, number: int, stage: str = "") -> Array:
    """All points of a tile (m, n), mapped from the file."""
    return np.load(job.file(stage + "points", number, "npy"), mmap_mode="r", allow_pickle=False)


def tile_rows(job: Job, number: int, stage: str = "") -> np.ndarray:
    """The row of each of its points in the tile's file."""
    return np.load(job.file(stage + "rows", number, "npy"), allow_pickle=False)


def gap_squared(low: Array, high: Array, boxes: Array) -> Array:
    """Squared distance between a box and boxes (k, 2, n)."""
    step = np.maximum(0.0, np.maximum(boxes[:, 0] - high, low - boxes[:, 1]))
    return np.asarray((step * step).sum(axis=1))


def count_around(meta: Meta, low: Array, high: Array, reach: float) -> int:
    """At most how many points of a tile lie within reach of a box."""
    if not meta.sound:
        return 0
    near = gap_squared(low, high, meta.run_boxes) <= reach * reach
    return min(meta.count, RUN * int(near.sum()))


def points_around(job: Job, number: int, meta: Meta, low: Array, high: Array, reach: float) -> Array:
    """The points of a tile within reach of the box (low, high)."""
    n = len(low)
    if not meta.sound or gap_squared(low, high, np.stack([meta.low, meta.high])[None])[0] > reach * reach:
        return np.empty((0, n))
    near = gap_squared(low, high, meta.run_boxes) <= reach * reach
    runs = np.flatnonzero(near)
    if not runs.size:
        return np.empty((0, n))
    stored = tile_points(job, number)
    found = []
    for piece in np.split(runs, np.flatnonzero(np.diff(runs) > 1) + 1):
        part = np.asarray(stored[piece[0] * RUN : (piece[-1] + 1) * RUN])
        inside = gap_squared(low, high, np.stack([part, part], axis=1)) <= reach * reach
        found.append(part[inside])
    return np.concatenate(found)


def halo(job: Job, metas: Iterable[Meta], own: int, low: Array, high: Array, reach: float) -> Array:
    """The points of all other tiles within reach of the box, tile by tile in their order."""
    parts = [
        points_around(job, number, meta, low, high, reach)
        for number, meta in enumerate(metas)
        if number != own
    ]
    return np.concatenate([part for part in parts if len(part)] or [np.empty((0, len(low)))])


def save_array(path: Path, values: np.ndarray) -> None:
    """An array in one step, without a copy of it in memory."""
    with open_atomically(path) as file:
        np.save(file, values, allow_pickle=False)


def save_arrays(path: Path, **values: Any) -> None:
    """Small arrays in one step."""
    buffer = io.BytesIO()
    np.savez(buffer, **values)
    write_atomically(path, buffer.getvalue())


def load_arrays(path: Path, names: tuple[str, ...]) -> dict[str, np.ndarray] | None:
    """Arrays that `save_arrays` wrote; None where they are missing or damaged."""
    try:
        return read_arrays(path, names)
    except (OSError, ValueError):
        return None

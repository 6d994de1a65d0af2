"""Tiles: what is asked of them, where each is written, its points on disk, and what lies around a box.

The points of a tile are kept in kd order, which halves them again and again, so every run of `RUN` rows is
compact: the points around a place are those of a few runs, found by their boxes, and read without the rest.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .. import channels as registry
from .._base.check import Array, as_points, check_choice
from .._base.files import read_arrays, write_array, write_atomically
from ..core.clouds import kd_order
from ..core.planner import COSTS, Costs, Request
from ..io import Cloud, file_stamp, is_remote, read_cloud
from ..jobs import key_of
from ..options import Features, PointFiles, Spectrum, Tiling
from ..scales import SignatureSettings
from ..workflows.files import FileError, target_names

RUN = 1024
# Options of the groups that a survey has no use for: its sums are always to a tolerance.
LEFT_OUT = ("variant", "blocks", "isolated", "method", "dtype")
CHANNELS = tuple(channel.name for channel in registry.table_channels())


@dataclass(frozen=True)
class SurveySettings(SignatureSettings):
    """The options of signatures, those of tiles, and the costs by which all workers plan."""

    _: KW_ONLY
    channels: tuple[str, ...] = CHANNELS
    point_dtype: str = PointFiles.point_dtype
    invalid: str = Tiling.invalid
    max_bytes: int | None = None
    costs: Costs = COSTS

    @classmethod
    def of(
        cls, n_dims: int, features: Features, spectrum: Spectrum, points: PointFiles, tiling: Tiling
    ) -> SurveySettings:
        """From options as a user gives them; a ValueError repeats a wrong one."""
        own = {name: value for name, value in vars(features).items() if name not in LEFT_OUT}
        return cls(
            n_dims, **own, **vars(spectrum), method="fast", channels=_channels(points.point_channels),
            point_dtype=points.point_dtype, invalid=tiling.invalid, max_bytes=tiling.max_bytes,
        )  # fmt: skip

    @property
    def with_spectrum(self) -> bool:
        """Whether the directions are summed."""
        needed = {c.name for c in registry.CHANNELS if c.with_spectrum} | {"local_type"}
        return not needed.isdisjoint(self.channels)

    def sums(self, n_threads: int, *, energy: bool) -> Request:
        """What to sum, to the tolerance, at costs that do not depend on the machine."""
        channels = registry.computed(with_spectrum=self.with_spectrum)
        return replace(self.request(channels, energy=energy, n_threads=n_threads), costs=self.costs)


def _channels(asked: Sequence[str] | None) -> tuple[str, ...]:
    """Names of channels in their order; those that need directions are not among them."""
    possible = [c.name for c in registry.CHANNELS if c.in_table and not c.with_directions] + ["local_type"]
    for name in asked or ():
        check_choice(name, "point_channels", possible)
    return CHANNELS if asked is None else tuple(name for name in possible if name in asked)


@dataclass(frozen=True)
class Context:
    """What every task is told: the options, and where passes leave what later ones need."""

    settings: SurveySettings
    folder: str
    digest: str  # of all options and tiles

    def file(self, *words: Any, suffix: str = "npy") -> Path:
        """A file of the folder: its name says what it depends on."""
        return Path(self.folder) / f"{self.digest}.{'-'.join(map(str, words))}.{suffix}"


# --- files ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """One file, and where its points go with their signatures."""

    path: str
    target: str  # below the folder of the survey
    stamp: tuple[Any, ...]
    key: str  # of the points that are read from it


def sources_of(paths: Sequence[str], folder: Path, tiling: Tiling) -> list[Source]:
    """The files as they are now."""
    paths = [path if is_remote(path) else os.path.abspath(path) for path in paths]
    found, las = [], re.compile(r"\.(las|laz)(\.gz)?$", re.I)
    kinds = {path: match[1].lower() for path in paths if (match := las.search(path))}
    targets = target_names(paths, lambda path: tiling.format or kinds.get(path, "parquet"))
    for path, target in zip(paths, targets, strict=True):
        inside = os.path.realpath(folder / target)
        if not Path(inside).is_relative_to(os.path.realpath(folder)):
            raise ValueError(f"{path!r} would be written to {inside!r}, outside of {str(folder)!r}")
        stamp = file_stamp(path)
        found.append(Source(path, target, stamp, key_of(path, stamp, tiling.invalid, tiling.max_bytes)))
    return found


def read_source(source: Source, settings: SurveySettings) -> Cloud:
    """The cloud of a file; a `ChangedError` where it is not the file that it was at first."""
    options: dict[str, Any] = {"invalid": settings.invalid, "max_bytes": settings.max_bytes, "nodes": True}
    try:
        return read_cloud(source.path, **options)
    finally:
        if file_stamp(source.path) != source.stamp:
            raise ChangedError(source.path)


class ChangedError(ValueError):
    """A tile that is no longer what it was when it was read: the survey would mix both."""

    def __init__(self, path: str) -> None:
        super().__init__(f"the tile {path!r} changed while the survey ran; run it again")


# --- their points on disk ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tile:
    """What is known of a tile without its points."""

    key: str  # of the files that hold its points
    count: int  # points that it owns
    in_file: int
    low: Array
    high: Array
    run_boxes: Array  # (runs, 2, n)
    problem: tuple[str, str] = ("", "")  # where in the file, and what

    @property
    def sound(self) -> bool:
        """Whether the tile could be read and owns any points."""
        return not self.problem[1] and self.count > 0

    @property
    def box(self) -> Array:
        """(1, 2, n)."""
        return np.stack([self.low, self.high])[None]

    @classmethod
    def of(cls, key: str, found: dict[str, Any]) -> Tile:
        """From the result of `read_tile` or `keep_owned`."""
        count, in_file = found["counts"].tolist()
        boxes, (place, problem) = found["run_boxes"], map(str, found["problem"])
        nothing = np.full(boxes.shape[2], np.nan)
        low, high = (boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)) if len(boxes) else (nothing, nothing)
        return cls(key, count, in_file, low, high, boxes, (place, problem))


def read_tile(load: tuple[Context, Source], n_threads: int) -> dict[str, Any]:
    """Read one tile and keep its points; what is wrong with it costs this tile only."""
    context, source = load
    try:
        points = as_points(read_source(source, context.settings).points)
        if not len(points):
            raise ValueError("it holds no points")
    except ChangedError:
        raise
    except Exception as error:  # whatever a file does, it costs that file only
        problem = np.array(FileError.of(source.path, error).words)
        return {"counts": np.array([0, -1]), "run_boxes": np.empty((0, 2, 0)), "problem": problem}
    return _store(context, source.key, points, np.arange(len(points)), n_threads)


def _store(context: Context, key: str, points: Array, rows: np.ndarray, n_threads: int) -> dict[str, Any]:
    """Keep points (m, n), which are these rows of their file."""
    order = kd_order(points, n_threads) if len(points) else np.empty(0, np.int64)
    points = np.ascontiguousarray(points[order])
    starts = np.arange(0, len(points), RUN)
    boxes = np.empty((starts.size, 2, points.shape[1]))
    if starts.size:
        boxes[:, 0] = np.minimum.reduceat(points, starts, axis=0)
        boxes[:, 1] = np.maximum.reduceat(points, starts, axis=0)
    write_array(points_file(context, key), points)
    write_array(points_file(context, key, "rows"), rows[order])
    return {"counts": np.full(2, len(points)), "run_boxes": boxes, "problem": np.array(["", ""])}


def keep_owned(load: tuple[Context, int, str], n_threads: int) -> dict[str, Any]:
    """Keep the points of a tile that belong to it, under another key.

    Where the boxes of tiles overlap, a point belongs to the tile whose box it lies in and whose centre is
    nearest (the largest difference along an axis counts); of equally near ones to the first. Tiles of
    one size on a grid, with borders of one width, thus own half-open cells.
    """
    context, number, key = load
    tiles = load_tiles(context, "read")
    own = tiles[number]
    points, rows = (np.array(points_of(context, own, kind)) for kind in ("points", "rows"))
    mine = _centre_distance(points, own)
    kept = np.ones(len(points), bool)
    for other, tile in enumerate(tiles):
        if other == number or not tile.sound or gap_squared(own.low, own.high, tile.box)[0] > 0.0:
            continue
        inside = np.flatnonzero(((points >= tile.low) & (points <= tile.high)).all(axis=1))
        theirs = _centre_distance(points[inside], tile)
        kept[inside[theirs <= mine[inside] if other < number else theirs < mine[inside]]] = False
    found = _store(context, key, points[kept], rows[kept], n_threads)
    return found | {"counts": np.array([kept.sum(), own.in_file])}


def _centre_distance(points: Array, tile: Tile) -> Array:
    return np.abs(points - 0.5 * (tile.low + tile.high)).max(axis=1) if len(points) else np.empty(0)


def points_file(context: Context, key: str, kind: str = "points") -> Path:
    """Where the points of a tile are kept, or their rows in its file."""
    return Path(context.folder) / f"{key}.{kind}.npy"


def points_of(context: Context, tile: Tile, kind: str = "points") -> np.ndarray:
    """All points of a tile (m, n), or their rows in its file (m,), mapped from disk."""
    return np.load(points_file(context, tile.key, kind), mmap_mode="r", allow_pickle=False)


# --- what is known of all tiles ------------------------------------------------------


def save_tiles(context: Context, tiles: Sequence[Tile], stage: str = "owned") -> None:
    """All tiles in one file: every task needs them, and a thousand files are slow to read."""
    n = context.settings.n_dims
    buffer = io.BytesIO()
    np.savez(
        buffer,
        key=np.array([tile.key for tile in tiles], dtype=str),
        counts=np.array([[tile.count, tile.in_file] for tile in tiles]),
        runs=np.array([len(tile.run_boxes) for tile in tiles]),
        run_boxes=np.concatenate([tile.run_boxes.reshape(-1, 2, n) for tile in tiles]),
        problem=np.array([tile.problem for tile in tiles], dtype=str),
    )
    write_atomically(context.file("tiles", stage, suffix="npz"), buffer.getvalue())


def load_tiles(context: Context, stage: str = "owned") -> list[Tile]:
    """As `save_tiles` kept them; read once per process."""
    path = context.file("tiles", stage, suffix="npz")
    return _load_tiles(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _load_tiles(path: Path, _written: int) -> list[Tile]:
    data = read_arrays(path, ("key", "counts", "runs", "run_boxes", "problem"))
    parts = np.split(data["run_boxes"], np.cumsum(data["runs"])[:-1])
    return [
        Tile.of(str(key), {"counts": counts, "run_boxes": boxes, "problem": problem})
        for key, counts, boxes, problem in zip(
            data["key"], data["counts"], parts, data["problem"], strict=True
        )
    ]


def gap_squared(low: Array, high: Array, boxes: Array) -> Array:
    """Squared distance between a box and boxes (k, 2, n)."""
    step = np.maximum(0.0, np.maximum(boxes[:, 0] - high, low - boxes[:, 1]))
    return np.asarray((step * step).sum(axis=1))


def points_around(context: Context, tile: Tile, low: Array, high: Array, reach: float) -> Array:
    """The points of a tile within reach of the box (low, high)."""
    runs = np.empty(0, np.int64)
    if tile.sound and gap_squared(low, high, tile.box)[0] <= reach * reach:
        runs = np.flatnonzero(gap_squared(low, high, tile.run_boxes) <= reach * reach)
    if not runs.size:
        return np.empty((0, len(low)))
    stored = points_of(context, tile)
    found = []
    for piece in np.split(runs, np.flatnonzero(np.diff(runs) > 1) + 1):
        part = np.asarray(stored[piece[0] * RUN : (piece[-1] + 1) * RUN])
        found.append(part[gap_squared(low, high, np.stack([part, part], axis=1)) <= reach * reach])
    return np.concatenate(found)


def halo(context: Context, tiles: Iterable[Tile], own: int, low: Array, high: Array, reach: float) -> Array:
    """The points of all other tiles within reach of the box, tile by tile in their order."""
    parts = [
        points_around(context, tile, low, high, reach) for number, tile in enumerate(tiles) if number != own
    ]
    return np.concatenate([part for part in parts if len(part)] or [np.empty((0, len(low)))])

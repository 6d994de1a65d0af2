"""Pass 1: every tile read once and kept in kd order; ownership; hull vertices; nearest neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._base.check import Array, as_points
from .._signatures.scales import geometric
from ..core.cloud import ArrangedCloud
from ..io import ReadError, read_cloud
from ._hull import hull_vertices
from ._metas import all_metas
from ._settings import Job
from ._spacing import spacing_sums
from ._store import (
    Meta,
    load_arrays,
    read_meta,
    save_arrays,
    tile_points,
    tile_rows,
    write_problem,
    write_tile,
)


def read_tile(task: tuple[Job, int], n_threads: int) -> None:  # noqa: ARG001
    """Read one tile and keep its points; what is wrong with it costs this tile only."""
    job, number = task
    stage = first_stage(job)
    if read_meta(job, number, stage) is not None:
        return
    try:
        points = read_points_of(job, number)
    except Exception as error:  # whatever a file does, it costs that file only
        write_problem(job, number, problem_of(error), stage)
        return
    write_tile(job, number, points, np.arange(len(points)), len(points), stage)


def first_stage(job: Job) -> str:
    """Where a tile is kept as it was read: under another name where it may own only some of its points."""
    return "read" if job.settings.overlap == "drop" else ""


def read_points_of(job: Job, number: int) -> Array:
    """The points of a tile's file."""
    settings = job.settings
    cloud = read_cloud(job.tiles[number].path, invalid=settings.invalid, max_bytes=settings.max_bytes)  # type: ignore[arg-type]
    points = as_points(cloud.points)
    if not len(points):
        raise ValueError("it holds no points")
    if points.shape[1] != settings.n_dims:
        raise ValueError(f"its points have {points.shape[1]} coordinates, {settings.n_dims} are expected")
    return points


def problem_of(error: Exception) -> tuple[str, str]:
    """Where in a file and what."""
    if isinstance(error, ReadError):
        return error.place, error.problem
    text = " ".join(str(error).split())
    named = isinstance(error, (OSError, ValueError))
    return "", text if named and text else f"{type(error).__name__}: {text}"


def keep_owned(task: tuple[Job, int, list[tuple[int, Array, Array]]], n_threads: int) -> None:  # noqa: ARG001
    """Drop the points of a tile that belong to another one.

    Where the boxes of tiles overlap, a point belongs to the tile whose box it lies in and whose centre is
    nearest (the largest difference along an axis counts); of equally near ones to the first. Tiles of
    one size on a grid, with borders of one width, thus own half-open cells.
    """
    job, number, boxes = task
    if read_meta(job, number) is not None:
        return
    meta = read_meta(job, number, "read")
    assert meta is not None
    if not meta.sound:
        write_problem(job, number, meta.problem)
        return
    points, rows = np.array(tile_points(job, number, "read")), tile_rows(job, number, "read")
    own = {k: (low, high) for k, low, high in boxes}
    mine = _centre_distance(points, *own[number])
    kept = np.ones(len(points), bool)
    for other, (low, high) in own.items():
        if other == number:
            continue
        inside = ((points >= low) & (points <= high)).all(axis=1)
        theirs = _centre_distance(points[inside], low, high)
        nearer = theirs <= mine[inside] if other < number else theirs < mine[inside]
        kept[np.flatnonzero(inside)[nearer]] = False
    write_tile(job, number, points[kept], rows[kept], meta.in_file)


def _centre_distance(points: Array, low: Array, high: Array) -> Array:
    return np.abs(points - 0.5 * (low + high)).max(axis=1) if len(points) else np.empty(0)


def measure_tile(task: tuple[Job, int], n_threads: int) -> None:
    """Hull vertices of a tile, and the distances of its places to their nearest neighbours."""
    job, number = task
    if load_arrays(job.file("measured", number), ("vertices", "spacing")) is not None:
        return
    metas = all_metas(job)
    vertices = hull_vertices(np.array(tile_points(job, number)))
    spacing = (0.0, 0.0) if job.settings.scales is not None else spacing_sums(job, number, metas, n_threads)
    save_arrays(job.file("measured", number), vertices=vertices, spacing=np.array(spacing))


@dataclass(frozen=True, eq=False)
class Whole:
    """The cloud that the tiles are together."""

    count: int
    low: Array
    high: Array
    spacing: float  # r_nn; NaN where the scales were given
    diameter: float
    scales: Array  # (T,) absolute times


def whole_cloud(job: Job, metas: Sequence[Meta]) -> Whole:
    """Extent, exact diameter, mean spacing and scales, from what was measured of the tiles."""
    settings = job.settings
    sound = [k for k, meta in enumerate(metas) if meta.sound]
    measured = [load_arrays(job.file("measured", k), ("vertices", "spacing")) for k in sound]
    parts = [part for part in measured if part is not None]
    vertices = np.concatenate([part["vertices"] for part in parts])
    total, places = np.sum([part["spacing"] for part in parts], axis=0)
    spacing = float(total / places) if places > 0 else float("nan")
    diameter = ArrangedCloud.of(vertices).diameter
    if settings.scales is not None:
        scales = np.array(settings.scales)
    elif not np.isfinite(spacing) or not diameter > 0.0:
        raise ValueError("the tiles hold fewer than two distinct points in all: there are no scales for them")
    else:
        scales = geometric(settings.c_min * spacing**2, settings.c_max * diameter**2, settings.n_scales)
    return Whole(
        sum(metas[k].count for k in sound),
        np.min([metas[k].low for k in sound], axis=0),
        np.max([metas[k].high for k in sound], axis=0),
        spacing,
        diameter,
        scales,
    )

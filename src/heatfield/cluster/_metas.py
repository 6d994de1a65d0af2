"""What is known of all tiles, in one file: every task needs it, and a thousand files are slow to read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from ._settings import Job
from ._store import Meta, load_arrays, read_meta, save_arrays

_NAMES = ("count", "in_file", "low", "high", "runs", "run_boxes", "problem")


def write_metas(job: Job, metas: Sequence[Meta]) -> None:
    """Keep what pass 1 found of all tiles."""
    n = job.settings.n_dims
    none = np.full(n, np.nan)
    save_arrays(
        job.file("metas", 0),
        count=[meta.count for meta in metas],
        in_file=[meta.in_file for meta in metas],
        low=np.array([meta.low if meta.sound else none for meta in metas]),
        high=np.array([meta.high if meta.sound else none for meta in metas]),
        runs=[len(meta.run_boxes) for meta in metas],
        run_boxes=np.concatenate([meta.run_boxes.reshape(-1, 2, n) for meta in metas]),
        problem=np.array([meta.problem for meta in metas], dtype=str),
    )


def all_metas(job: Job) -> list[Meta]:
    """What pass 1 found of every tile, as `write_metas` kept it; read once per process."""
    path = job.file("metas", 0)
    try:
        return _read(path, path.stat().st_mtime_ns)
    except OSError:
        raise OSError(f"work files are missing in {job.folder!r}; run the command again") from None


@lru_cache(maxsize=2)
def _read(path: Path, _written: int) -> list[Meta]:
    data = load_arrays(path, _NAMES)
    if data is None:
        raise OSError(f"{str(path)!r} is damaged")
    metas = []
    for k, end in enumerate(np.cumsum(data["runs"])):
        place, problem = map(str, data["problem"][k])
        boxes = data["run_boxes"][end - data["runs"][k] : end]
        count, in_file = int(data["count"][k]), int(data["in_file"][k])
        metas.append(Meta(count, in_file, data["low"][k], data["high"][k], boxes, (place, problem)))
    return metas


def read_metas(job: Job, stage: str = "") -> list[Meta]:
    """The same from the files of the tiles."""
    found = [read_meta(job, tile.number, stage) for tile in job.tiles]
    missing = [tile.path for tile, meta in zip(job.tiles, found, strict=True) if meta is None]
    if missing:
        raise OSError(f"the work file of {missing[0]!r} is missing; run the command again")
    return [meta for meta in found if meta is not None]

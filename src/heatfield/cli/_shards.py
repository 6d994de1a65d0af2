"""Work cut into shards that are finished one by one, so that stopping loses little and changes nothing.

A shard's result lies in a file whose name carries a hash of all that it depends on: the
library and its schema, every option, and name, size and time of its files. What is found under
the right name is right, and is not computed again.
"""

from __future__ import annotations

import hashlib
import io
import json
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from .._base.arrays import read_arrays
from .._base.check import HeatFieldWarning, OutOfRangeError, as_points
from .._base.files import remove_unfinished, write_atomically
from .._base.threads import stop_if_asked
from .._features.descriptor import HFSDescriptor
from .._features.layout import SCHEMA
from ..core.costs import costs_from, fixed_costs
from ..io import Cloud, file_stamp, read_cloud
from ._per_point import write_per_point
from ._reading import file_problem


@dataclass(frozen=True)
class Settings:
    """All that the result depends on, besides the files."""

    descriptor: dict[str, Any]  # arguments of HFSDescriptor
    reading: dict[str, Any]  # arguments of read_cloud
    per_point: str = ""  # suffix of per-point files, "" for none
    point_channels: tuple[str, ...] | None = None
    point_dtype: str = "float64"
    prices: dict[str, float] | None = None  # of the plan of the fast path; None: this machine's
    schema: int = SCHEMA
    version: str = __version__

    def describe(self) -> dict[str, Any]:
        """As it is written into the result."""
        return asdict(self)


@dataclass(frozen=True)
class Shard:
    """Some files, and where their result goes."""

    number: int
    files: tuple[str, ...]
    settings: Settings
    folder: str
    point_targets: tuple[str, ...]  # per-point files, one per file, or none

    @property
    def bytes(self) -> int:
        """What its files hold, packed as they are."""
        return sum(max(0, size) for _, size, _ in self._stamps())

    @property
    def path(self) -> Path:
        """The result: its name says what it depends on."""
        text = json.dumps([self.settings.describe(), self._stamps(), self.point_targets], sort_keys=True)
        return Path(self.folder) / f"{self.number:06d}-{hashlib.sha256(text.encode()).hexdigest()[:24]}.npz"

    def _stamps(self) -> list[list[Any]]:
        """Name, size and time of its files."""
        return [[file, *file_stamp(file)] for file in self.files]


@dataclass
class Result:
    """Rows of one shard: features where a file could be described, a reason where not."""

    counts: NDArray[np.int64]  # (k, 3): points in the file, points described, dimension; -1 where unreadable
    features: list[NDArray[np.float64]]  # one per file, empty where unreadable
    problems: list[tuple[str, str]]  # place and problem, ("", "") where fine
    extents: NDArray[np.float64]  # (k, 2): mean distance to the nearest other point, diameter; NaN if unknown
    seconds: tuple[float, float] = (0.0, 0.0)  # reading, describing; not stored


def run_shard(shard: Shard) -> tuple[float, float]:
    """Read, describe, store; the seconds spent reading and describing."""
    with conditions(shard.settings):
        return run_under_conditions(shard)


@contextmanager
def conditions(settings: Settings) -> Iterator[None]:
    """The prices of the task, and no warnings of single clouds; of the whole process, so once for threads."""
    with (
        warnings.catch_warnings(),
        fixed_costs(costs_from(settings.prices)) if settings.prices else nullcontext(),
    ):
        warnings.simplefilter("ignore", HeatFieldWarning)  # rows of NaN are counted at the end
        yield


def run_under_conditions(shard: Shard) -> tuple[float, float]:
    """`run_shard` in the block of `conditions`; several threads may do so side by side."""
    started = time.perf_counter()
    path = shard.path  # of the files as they are before they are read
    k = len(shard.files)
    result = Result(np.full((k, 3), -1, np.int64), [np.empty(0)] * k, [("", "")] * k, np.full((k, 2), np.nan))
    clouds = {}
    for i, file in enumerate(shard.files):
        stop_if_asked()
        try:
            cloud = read_cloud(file, **shard.settings.reading)
            as_points(cloud.points)
            clouds[i] = cloud
            in_file = cloud.notes.get("points_in_file", len(cloud.points))
            result.counts[i] = in_file, len(cloud.points), cloud.points.shape[1]
        except Exception as error:  # whatever a file does, it costs that file only
            result.problems[i] = file_problem(error)
    reading = time.perf_counter() - started
    for n in sorted({cloud.points.shape[1] for cloud in clouds.values()}):
        rows = [i for i, cloud in clouds.items() if cloud.points.shape[1] == n]
        _describe_rows(shard.settings.descriptor, rows, clouds, result)
    if shard.settings.per_point:
        for i, cloud in clouds.items():
            try:
                write_per_point(
                    cloud, shard.point_targets[i], shard.settings.descriptor,
                    channels=shard.settings.point_channels, dtype=shard.settings.point_dtype,
                )  # fmt: skip
            except (ValueError, OSError) as error:
                result.problems[i] = ("per-point file", file_problem(error)[1])
    Path(shard.folder).mkdir(parents=True, exist_ok=True)
    write_atomically(path, _pack(result))
    return reading, time.perf_counter() - started - reading


def _describe_rows(
    descriptor: dict[str, Any], rows: list[int], clouds: dict[int, Cloud], result: Result
) -> None:
    """Features of some clouds of one dimension; what cannot be described costs that cloud only."""
    points = [clouds[i].points for i in rows]
    extents = np.full((len(rows), 2), np.nan)
    try:
        fitted = HFSDescriptor(**descriptor)._fit_dims(points[0].shape[1])
        table = fitted._compute(points, extents=extents)
        for i, row in zip(rows, table, strict=True):
            result.features[i] = row
        result.extents[rows] = extents
    except (ValueError, MemoryError) as error:
        if len(rows) == 1:
            result.problems[rows[0]] = file_problem(
                ValueError(error.problem) if isinstance(error, OutOfRangeError) else error
            )
            return
        for i in rows:
            _describe_rows(descriptor, [i], clouds, result)


def leave_with_parent(stop: Connection) -> None:
    """In a worker: end at once when the command that started it is killed or closes its end of ``stop``.

    Ctrl-C on a terminal reaches the workers as well; that is for the command to hear.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([stop, parent.sentinel])
        remove_unfinished()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def load_shard(path: Path, files: int | None = None) -> Result | None:
    """A stored result of so many files; None where there is none, or where it is damaged."""
    try:
        data = read_arrays(path, ("counts", "widths", "values", "problems", "extents"))
        counts, widths = data["counts"].astype(np.int64), data["widths"].astype(np.int64)
        k = len(counts) if files is None else files
        whole = counts.shape == (k, 3) and data["problems"].shape == (k, 2) and data["values"].ndim == 1
        whole = whole and data["extents"].shape == (k, 2)
        if not whole or widths.shape != (k,) or (widths < 0).any() or widths.sum() != len(data["values"]):
            return None
        problems = [(str(a), str(b)) for a, b in data["problems"]]
        rows = np.split(data["values"].astype(float), np.cumsum(widths)[:-1])
        return Result(counts, rows, problems, data["extents"].astype(float))
    except (OSError, ValueError):
        return None


def _pack(result: Result) -> bytes:
    buffer = io.BytesIO()
    np.savez(
        buffer,
        counts=result.counts,
        widths=np.array([len(row) for row in result.features]),
        values=np.concatenate(result.features),
        problems=np.array(result.problems, dtype=str).reshape(-1, 2),
        extents=result.extents,
    )
    return buffer.getvalue()

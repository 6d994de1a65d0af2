"""`survey`: one cloud from many tiles, larger than memory, on this machine or over a cluster.

Three passes of tasks, run by `heatfield.jobs`; large arrays go from task to task as files of its folder::

    files ─► read_tile ─► keep_owned ─► measure_tile ─► whole_cloud ─► make_plan                    pass 1
             (tiles)      (overlap)     (plan)          scales         local or coarse (plan)
                                                                         │           │
                             spread_batch ─► make_field ─► find_isolated ◄───────────┘              pass 2
                             (grid)      a field per coarse scale │      │
                                                        sum_directly     │
                                                                  └──────▼
             every tile with its signatures ◄─ finish_tile: tile and halo, fields read off          pass 3
             Survey ◄─ whole_result ◄─ statistics that merge (finish)

The result of every task has a key, a hash of all it depends on, so that the same call goes on after a stop.
Every point has the signatures that it would have in one cloud of all tiles, to the tolerance, and the same
bits whoever computed what.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .._base.summary import plural
from ..jobs import Job, Task, key_of
from ..options import Features, PointFiles, Run, Spectrum, Tiling, takes
from ..workflows.files import (
    FileError,
    PathLike,
    check_folder,
    find_files,
    most_common,
    other_dimension,
    own_folder,
    write_errors,
)
from .finish import Survey, finish_tile, is_written, whole_result, write_survey
from .grid import Field, coarse_fields
from .plan import MEASURE_BYTES, SurveyPlan, make_plan, measure_tile, whole_cloud
from .tiles import (
    LEFT_OUT,
    Context,
    Source,
    SurveySettings,
    Tile,
    keep_owned,
    points_file,
    read_tile,
    save_tiles,
    sources_of,
)

__all__ = ["Survey", "survey"]

MARK = ".heatfield-survey"
ERRORS = "survey.errors.csv"
# Bytes of memory for each byte of a file while it is read: as it is, and packed.
_READ_BYTES, _UNPACK_BYTES = 20, 100


@takes(Features, Spectrum, Tiling, PointFiles, Run, leave_out=LEFT_OUT)
def survey(
    tiles: PathLike | Sequence[PathLike],
    out: PathLike,
    *,
    features: Features,
    spectrum: Spectrum,
    tiling: Tiling,
    pointfiles: PointFiles,
    run: Run,
) -> Survey:
    """Signatures of one cloud that lies in many files and need not fit into memory.

    Every tile is written again to ``out`` with its signatures as further columns, and ``survey.json`` with
    those of the whole. Stopped at any time, the same call goes on; what is finished is kept in the folder
    OUT.parts until then.

    Guide: ``heatfield docs guide/survey``.

    Parameters
    ----------
    tiles : path-like, or a sequence of them
        LAS, LAZ, COPC, Parquet or any other files of points; folders, patterns or URLs.
    out : path-like
        A folder, which all workers must see under the same name. It may not hold anything else. Tiles that
        could not be read or written are named in survey.errors.csv.
    point_channels : sequence of str, optional
        Which signatures to write: density, dimension, transition, spectrum (the default), linearity,
        planarity, sphericity, local_type. Without those from the spectrum on the work is less.
    {options}

    Returns
    -------
    survey : Survey
        With ``errors`` for the tiles that could not be read or written.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> points = np.random.default_rng(0).random((3000, 3)) * [2, 1, 0.1]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hf.write_points(f"{folder}/west.parquet", points[points[:, 0] < 1])
    ...     hf.write_points(f"{folder}/east.parquet", points[points[:, 0] >= 1])
    ...     s = hf.survey(folder, f"{folder}/out")
    ...     columns = hf.read_cloud(f"{folder}/out/west.parquet").columns
    >>> s.points, len(columns), bool(np.allclose(s.scales, hf.scale_schedule(points)))
    (3000, 48, True)
    """
    groups = (features, spectrum, pointfiles, tiling)
    settings = SurveySettings.of(3, *groups)  # of 3 dimensions until the tiles are read
    folder = Path(os.path.abspath(out))
    check_folder(folder, MARK)
    paths = find_files(tiles, leave_out=[folder]).paths
    with Job(folder, run=run) as job:
        own_folder(folder, MARK)
        sources = sources_of(paths, folder, tiling)
        asked = {name: value for group in groups for name, value in vars(group).items()}
        asked = {name: value for name, value in asked.items() if name not in ("memory", *LEFT_OUT)}
        digest = key_of(asked, [[source.key, source.target] for source in sources])
        found = _finished(folder, digest)
        if found is None:
            found = _Passes(job, folder, sources, tiling).all(
                Context(settings, str(job.folder), digest), asked
            )
            write_survey(found, folder)
            write_errors(folder / ERRORS, found.errors)
        return found


def _finished(folder: Path, digest: str) -> Survey | None:
    """The survey that a folder holds, if it is the one that is asked for and nothing was removed."""
    try:
        found = Survey.read(folder)
        there = all(is_written(folder, tile["target"], tile["size"]) for tile in found.tiles)
        return found if found.digest == digest and there else None
    except (ValueError, KeyError, TypeError):
        return None


class _Passes:
    """One survey in progress."""

    def __init__(self, job: Job, folder: Path, sources: Sequence[Source], tiling: Tiling) -> None:
        self.job, self.folder, self.sources, self.tiling = job, folder, sources, tiling
        self.memory = job.workers().memory if tiling.memory is None else tiling.memory * 2.0**30
        self.bytes = 1.0  # that a task takes
        self.seconds: dict[str, float] = {}

    def all(self, context: Context, asked: dict[str, Any]) -> Survey:
        """All passes; what was finished before is not done again."""
        started = time.perf_counter()
        context, tiles = self._read(context)
        sound = [k for k, tile in enumerate(tiles) if tile.sound]
        if not sound:
            problem = next((tile.problem[1] for tile in tiles if tile.problem[1]), "they own no points")
            raise ValueError(f"none of the {len(tiles)} tiles can be used: {problem}")
        save_tiles(context, tiles)
        self.bytes = MEASURE_BYTES * float(max(tile.count for tile in tiles))
        measured = self.run("neighbours", measure_tile, [(context, k) for k in sound], "tiles measured")
        whole = whole_cloud(context.settings, tiles, measured)
        plan = make_plan(whole, tiles, context.settings, self.memory)
        self.bytes = plan.bytes
        plan, fields = coarse_fields(context, plan, sound, self.run, self.memory)
        self.bytes = plan.bytes
        loads = [
            (context, plan, k, self.sources[k], self.folder, {a: f.of_tile(i) for a, f in fields.items()})
            for i, k in enumerate(sound)
        ]
        results = self.run(
            "tiles", finish_tile, loads, "tiles",
            lambda load, kept: is_written(self.folder, load[3].target, int(kept["size"])),
        )  # fmt: skip
        problems = [tile.problem for tile in tiles]
        sizes = [-1] * len(tiles)
        steps: dict[str, float] = {}
        for k, result in zip(sound, results, strict=True):
            sizes[k], (place, problem) = int(result["size"]), map(str, result["problem"])
            problems[k] = place, problem
            for step, seconds in zip(result["steps"], result["seconds"], strict=True):
                steps[str(step)] = steps.get(str(step), 0.0) + float(seconds)
        if max(sizes) < 0:
            raise ValueError(f"no tile could be written: {problems[sound[0]][1]}")
        self.seconds["all"] = time.perf_counter() - started
        errors = zip(self.sources, problems, strict=True)
        return Survey(
            **whole_result(context.settings, plan, results, fields),
            scales=whole.scales,
            spacing=whole.spacing,
            diameter=whole.diameter,
            plan=[_entry(a, plan, fields, results) for a in range(len(whole.scales))],
            tiles=[
                {"path": source.path, "target": source.target, "points": tile.count, "in_file": tile.in_file,
                 "size": size}
                for source, tile, size in zip(self.sources, tiles, sizes, strict=True)
            ],
            errors=[FileError(source.path, *problem) for source, problem in errors if problem[1]],
            settings=asked,
            digest=context.digest,
            version=__version__,
            seconds=self.seconds,
            steps=steps,
        )  # fmt: skip

    def _read(self, context: Context) -> tuple[Context, list[Tile]]:
        """Every tile read once, its points kept in kd order; those of other tiles left out if asked for."""
        for source in self.sources:
            packed = source.path.lower().endswith((".laz", ".gz", ".parquet", ".npz"))
            self.bytes = max(self.bytes, source.stamp[0] * (_UNPACK_BYTES if packed else _READ_BYTES))
        keys = [source.key for source in self.sources]
        found = self.run(
            "reading", read_tile, [(context, source) for source in self.sources], "tiles read",
            lambda load, kept: not kept["counts"][0] or points_file(context, load[1].key).exists(), keys,
        )  # fmt: skip
        tiles = [Tile.of(key, result) for key, result in zip(keys, found, strict=True)]
        n = most_common([len(tile.low) for tile in tiles if tile.sound])
        if n > 3:
            raise ValueError(f"the tiles have points in {n} dimensions; a survey takes at most 3")
        context = replace(context, settings=replace(context.settings, n_dims=n))
        for k, tile in enumerate(tiles):
            if tile.sound and len(tile.low) != n:
                problem = "", other_dimension(len(tile.low), n, fixed=True)
                tiles[k] = replace(tile, run_boxes=np.empty((0, 2, n)), problem=problem)
        if self.tiling.overlap == "drop":
            save_tiles(context, tiles, "read")
            sound = [k for k, tile in enumerate(tiles) if tile.sound]
            loads = [(context, k, key_of(context.digest, "owned", k)) for k in sound]
            for load, result in zip(
                loads, self.run("ownership", keep_owned, loads, "tiles owned"), strict=True
            ):
                tiles[load[1]] = Tile.of(load[2], result)
        return context, tiles

    def run(
        self, name: str, work: Any, loads: Sequence[Any], unit: str,
        valid: Callable[[Any, dict[str, Any]], bool] = lambda _load, _kept: True,
        keys: Sequence[str] | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """The results of all loads, in their order; as many at a time as fit into memory."""
        started = time.perf_counter()
        others = (Context, SurveyPlan, Source, Path)  # the same for all, or in the digest
        known = [[part for part in load if not isinstance(part, others)] for load in loads]
        keys = keys or [key_of(load[0].digest, name, part) for load, part in zip(loads, known, strict=True)]
        tasks = [Task(key, load) for key, load in zip(keys, loads, strict=True)]
        most = max(1, int(self.memory // self.bytes))
        results = self.job.run(
            work, tasks, unit=unit, at_once=most, valid=lambda task, kept: valid(task.load, kept)
        )
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started
        return results


def _entry(
    a: int, plan: SurveyPlan, fields: dict[int, Field], results: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """How one scale was computed."""
    entry: dict[str, Any] = {"scale": a, "length": float(np.sqrt(plan.whole.scales[a]))}
    if a in plan.coarse:
        eps, isolated = fields[a].eps, sum(fields[a].isolated)
        reason = f"one common grid to {eps:.1e}, {isolated:,} isolated points summed directly"
        return {**entry, "method": "common grid", "eps": eps, "isolated": isolated, "reason": reason}
    methods, counts = np.unique([str(result["methods"][a]) for result in results], return_counts=True)
    how = ", ".join(
        f"{method} in {plural(int(count), 'tile')}" for method, count in zip(methods, counts, strict=True)
    )
    reach = float(plan.halos[a])
    return {**entry, "method": "tile and halo", "halo": reach, "reason": f"halo of {reach:.4g}; {how}"}

"""The three passes of a survey, one after the other, over any executor."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from .. import __version__
from .._base.progress import progress_bar
from .._base.summary import plural
from ._clock import added
from ._executor import Executor, Work
from ._first_pass import first_stage, keep_owned, measure_tile, read_tile, whole_cloud
from ._metas import read_metas, write_metas
from ._plan import Plan, make_plan
from ._pooled import PERCENTILE_ERROR
from ._second_pass import Fields, coarse_fields
from ._settings import Job
from ._store import Meta, load_arrays
from ._summary import Survey
from ._third_pass import finish_tile, is_finished
from ._tile_result import load_result, whole_result


class Run:
    """One survey in progress."""

    def __init__(self, job: Job, executor: Executor, quiet: bool, memory: float | None) -> None:
        self.job, self.executor, self.quiet = job, executor, quiet
        self.memory = executor.memory() if memory is None else float(memory)
        self.seconds: dict[str, float] = {}

    def each(self, work: Work, tasks: Sequence[Any], what: str) -> list[Any]:
        """Run all tasks, with a bar; their results in the order of the tasks."""
        started = time.perf_counter()
        results: list[Any] = [None] * len(tasks)
        with progress_bar(total=len(tasks), unit="tasks", desc=what, quiet=self.quiet, keep=True) as bar:
            for number, result in self.executor.map(work, tasks):
                results[number] = result
                bar.update(1)
        self.seconds[what] = self.seconds.get(what, 0.0) + time.perf_counter() - started
        return results

    def everything(self) -> Survey:
        """All passes; what was finished before is not done again."""
        metas = self._first_pass()
        sound = [k for k, meta in enumerate(metas) if meta.sound]
        if not sound:
            raise ValueError(f"none of the {len(metas)} tiles can be used: {_first_problem(metas)}")
        job = self.job
        self.each(measure_tile, [(job, k) for k in sound], "neighbours")
        plan = make_plan(whole_cloud(job, metas), metas, job.settings, self.memory)
        fields = Fields()
        unfinished = [k for k in sound if not is_finished(job, k)]
        fields = coarse_fields(job, plan, sound, self.each, self.memory)
        self.each(finish_tile, [(job, plan, k, fields.eps) for k in unfinished], "tiles")
        return self._result(metas, sound, plan, fields)

    def _first_pass(self) -> list[Meta]:
        job = self.job
        self.each(read_tile, [(job, tile.number) for tile in job.tiles], "reading")
        if first_stage(job):
            read = read_metas(job, first_stage(job))
            boxes = [(k, meta.low, meta.high) for k, meta in enumerate(read) if meta.sound]
            self.each(keep_owned, [(job, tile.number, boxes) for tile in job.tiles], "ownership")
        metas = read_metas(job)
        write_metas(job, metas)
        return metas

    def _result(self, metas: Sequence[Meta], sound: Sequence[int], plan: Plan, fields: Fields) -> Survey:
        job = self.job
        errors = [
            (tile.path, *meta.problem) for tile, meta in zip(job.tiles, metas, strict=True) if meta.problem[1]
        ]
        results = []
        for k in sound:
            result = load_result(job, k)
            if result is None:
                failed = load_arrays(job.file("failed", k), ("problem",))
                place, problem = ("", "was not written") if failed is None else map(str, failed["problem"])
                errors.append((job.tiles[k].path, place, problem))
            else:
                results.append(result)
        if not results:
            raise OSError(f"no tile could be written: {errors[0][2]}")
        found = whole_result(job, plan, results, fields.totals)
        settings = {**job.settings.identity(), "costs": asdict(job.settings.costs)}
        return Survey(
            **found,
            scales=plan.whole.scales,
            spacing=plan.whole.spacing,
            diameter=plan.whole.diameter,
            plan=[_entry(a, plan, fields, results) for a in range(len(plan.whole.scales))],
            tiles=[
                {"path": tile.path, "target": tile.target, "points": meta.count, "in_file": meta.in_file}
                for tile, meta in zip(job.tiles, metas, strict=True)
            ],
            errors=errors,
            settings=settings,
            digest=job.digest,
            version=__version__,
            percentile_error=PERCENTILE_ERROR,
            seconds=self.seconds,
            steps=added(results),
        )


def _entry(a: int, plan: Plan, fields: Fields, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How one scale was computed."""
    entry: dict[str, Any] = {"scale": a, "t": float(plan.whole.scales[a])}
    if a in plan.coarse:
        isolated = fields.isolated.get(a, 0)
        reason = f"one common grid to {fields.eps[a]:.1e}, {isolated:,} isolated points summed directly"
        return {
            **entry,
            "method": "common grid",
            "eps": fields.eps[a],
            "isolated": isolated,
            "reason": reason,
        }
    methods, counts = np.unique([str(result["methods"][a]) for result in results], return_counts=True)
    how = ", ".join(
        f"{method} in {plural(int(count), 'tile')}" for method, count in zip(methods, counts, strict=True)
    )
    reach = float(plan.halos[a])
    return {**entry, "method": "tile and halo", "halo": reach, "reason": f"halo of {reach:.4g}; {how}"}


def _first_problem(metas: Sequence[Meta]) -> str:
    return next((meta.problem[1] for meta in metas if meta.problem[1]), "they own no points")

"""Pass 3: the signatures of one tile, from its points, its halo and the fields of coarse scales."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .._base.check import Array
from .._signatures.signatures import HeatDimensionSpectrum, Signatures
from ..core.cloud import ArrangedCloud
from ..core.evaluate import read_off_scale
from ..core.moments import ROOT_SQUARE, ROOT_WEIGHT
from ..core.one_scale import scale_sums
from ..core.outputs import Outputs, fill_transition, heat_dimension_spectrum
from ..core.targets import Targets
from ..io import Cloud, read_cloud, write_signatures
from ._clock import Clock
from ._common_grid import coarse_sums
from ._first_pass import problem_of
from ._isolated import isolated_sums
from ._metas import all_metas
from ._plan import Plan
from ._settings import Job, SurveySettings
from ._store import halo, load_arrays, save_arrays, tile_points, tile_rows
from ._tile_result import pack_result


@dataclass(frozen=True, eq=False)
class Local:
    """A tile with its halo, arranged: the targets are its own points."""

    cloud: ArrangedCloud
    targets: ArrangedCloud


def finish_tile(task: tuple[Job, Plan, int, dict[int, float]], n_threads: int) -> None:
    """Compute and write one tile; the statistics of its points are kept in the work folder."""
    job, plan, number, eps = task
    if is_finished(job, number):
        return
    tile, settings, clock = job.tiles[number], job.settings, Clock()
    points = np.array(tile_points(job, number))
    out, totals, order, reports = _outputs(job, plan, number, eps, points, n_threads, clock=clock)
    rows = tile_rows(job, number)[order]  # of the file, for each row of the outputs
    owned = np.sort(rows)
    if not out.exact:
        fill_transition(out, np.log(plan.whole.scales)[:, None], n_threads)
    s = _signatures(plan, out, np.searchsorted(owned, rows), settings, n_threads)
    clock.note("signatures")
    packed = pack_result(s, totals, reports, settings)
    del out, points
    clock.note("statistics")
    s = _as_written(s, settings.point_dtype)
    try:
        _write_tile(job, number, s, owned)
    except Exception as error:  # a full disk, or a file that changed meanwhile
        save_arrays(job.file("failed", number), problem=np.array(problem_of(error), dtype=str))
        return
    clock.note("writing")
    job.file("failed", number).unlink(missing_ok=True)
    size = os.stat(tile.target).st_size
    save_arrays(job.file("done", number), size=size, **packed, **clock.packed())


def is_finished(job: Job, number: int) -> bool:
    """Whether a tile was written for this configuration, and is still there."""
    found = load_arrays(job.file("done", number), ("size",))
    try:
        return found is not None and os.stat(job.tiles[number].target).st_size == int(found["size"])
    except OSError:
        return False


def _outputs(
    job: Job, plan: Plan, number: int, eps: dict[int, float], points: Array, n_threads: int, *, clock: Clock
) -> tuple[Outputs, Array, np.ndarray, list[str]]:
    """Local outputs at all scales, totals of g and g D**2 over local scales, the row of each output."""
    settings, n, steps = job.settings, points.shape[1], len(plan.whole.scales)
    m = len(points)
    request = settings.fast_request(n_threads, energy=True)
    out = Outputs.empty(n, steps, m, request)
    local = _local(job, plan, number, points, n_threads) if plan.local else None
    order = np.arange(m) if local is None else local.targets.order
    totals = np.zeros((steps, 2))
    reports = [""] * steps
    places = plan.frame.places(points[order]) if plan.coarse else np.empty((n, 0))
    clock.note("halo")
    for a, time in enumerate(plan.whole.scales):
        if a in plan.coarse:
            unit = plan.frame.unit(float(time))
            table = coarse_sums(job, plan, a, eps[a], places, n_threads)
            rows, sums = isolated_sums(job, a, eps[a], number)
            if rows.size:
                column = np.empty(m, np.int64)
                column[order] = np.arange(m)
                table[column[rows]] = sums
            clock.note("coarse")
        else:
            assert local is not None
            exponent = local.cloud.exponent
            unit = float(np.ldexp(time, -2 * exponent))
            table, report = scale_sums(local.targets, local.cloud, np.array([unit]), request)
            reports[a] = report.method
            totals[a] = table[:, ROOT_WEIGHT].sum(), np.ldexp(table[:, ROOT_SQUARE].sum(), 2 * exponent)
            clock.note(report.method)
        read_off_scale(table, np.array([unit]), np.array([time]), a, n, out, n_threads)
        del table
        clock.note("signatures")
    return out, totals, order, reports


def _local(job: Job, plan: Plan, number: int, points: Array, n_threads: int) -> Local:
    reach = float(plan.halos[list(plan.local)].max())
    metas = all_metas(job)
    around = halo(job, metas, number, metas[number].low, metas[number].high, reach)
    cloud = ArrangedCloud.of(np.concatenate([points, around]), n_threads)
    return Local(cloud, Targets.at_indices(cloud, np.arange(len(points))).places)


def _signatures(
    plan: Plan, out: Outputs, rows: np.ndarray, settings: SurveySettings, n_threads: int
) -> Signatures:
    """As `signatures` gives them, each point in its row; what belongs to the whole is NaN."""
    centers, sigma = settings.centers, settings.hds_sigma
    shares = heat_dimension_spectrum(
        out.density, out.dimension, np.array([rows.size]), centers, sigma, n_threads
    )
    out.turn_round(rows, n_threads)
    unknown = np.full(len(plan.whole.scales), np.nan)
    return Signatures(
        scales=plan.whole.scales,
        density=out.density,
        dimension=out.dimension,
        transition=out.transition,
        spectrum=out.spectrum,
        energy=unknown,
        response=unknown,
        roughness=unknown,
        relative_roughness=unknown,
        hds=HeatDimensionSpectrum(shares[0][0].T, shares[1][0].T, centers, sigma),
    )


def _as_written(s: Signatures, dtype: str) -> Signatures:
    """The same in the precision of the columns, so that the file is made in less memory."""
    spectrum = None if s.spectrum is None else s.spectrum.astype(dtype)
    return replace(
        s, density=s.density.astype(dtype), dimension=s.dimension.astype(dtype),
        transition=s.transition.astype(dtype), spectrum=spectrum,
    )  # fmt: skip


def _write_tile(job: Job, number: int, s: Signatures, owned: np.ndarray) -> None:
    """The tile again, with the signatures of the points that it owns."""
    tile, settings = job.tiles[number], job.settings
    cloud = read_cloud(tile.path, invalid=settings.invalid, max_bytes=settings.max_bytes)  # type: ignore[arg-type]
    if all_metas(job)[number].in_file != len(cloud.points):
        raise ValueError("the file changed while the survey ran; run the command again")
    if owned.size < len(cloud.points):
        cloud = cloud.take(owned)
    cloud = Cloud(cloud.points, cloud.columns, cloud.format, notes=cloud.notes)
    Path(tile.target).parent.mkdir(parents=True, exist_ok=True)
    write_signatures(
        tile.target, cloud, s, channels=settings.channels, dtype=settings.point_dtype,
        note=f"\nconfiguration: {job.digest}",
    )  # fmt: skip

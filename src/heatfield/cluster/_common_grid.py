"""Pass 2, coarse scales: tiles spread to one grid, the kernel applied once, the field kept for all.

Spreading is additive. Tiles are added in their order within fixed batches, and batches in their order, so the
field has the same bits whoever computed what, and however many workers there were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._base.check import Array
from ..core.box_transform import SAFETY
from ..core.moments import WEIGHT, column_count
from ._plan import Plan
from ._settings import Job
from ._store import load_arrays, save_array, save_arrays, tile_points

# Tiles are added up in at most so many batches, which can be worked on side by side, and whose grids take at
# most so many bytes on disk.
_BATCHES = 32
_DISK = 4e9
# Points whose sums are looked at together.
_PIECE = 1 << 20
# The share of tol that the transform's error may take, as in `box_transform`.
_SHARE = 0.8


@dataclass(frozen=True)
class Field:
    """The field of one coarse scale, as it is kept."""

    eps: float
    largest: float  # the largest sum of w anywhere
    totals: tuple[float, float]  # of g and g D**2 over all pairs, in the common coordinates

    def least(self, tol: float) -> float:
        """The smallest sum at which the tolerance holds."""
        return SAFETY * self.eps * self.largest / (_SHARE * tol)


def batches(tiles: Sequence[int], grid: float) -> list[tuple[int, ...]]:
    """Runs of tiles that are added up by one task, for a grid of so many points.

    They do not depend on the workers, so that the order of additions does not either.

    Examples
    --------
    >>> batches([0, 1, 2, 4, 5], 2e8)
    [(0, 1, 2), (4, 5)]
    """
    most = max(1, min(_BATCHES, int(_DISK / (8.0 * grid))))
    size = -(-len(tiles) // most)
    return [tuple(tiles[first : first + size]) for first in range(0, len(tiles), size)]


def code(a: int, eps: float) -> str:
    """Part of a file's name: the scale, and the accuracy of its grid."""
    return f"{a:03d}-{eps:.2e}"


def spread_batch(task: tuple[Job, Plan, int, float, int, tuple[int, ...]], n_threads: int) -> None:
    """Add some tiles to a grid of one scale."""
    job, plan, a, eps, number, tiles = task
    target = job.file(f"grid-{code(a, eps)}", number, "npy")
    if target.exists() or read_field(job, a, eps) is not None:
        return
    upsampled = plan.grid(a, eps, job.settings, n_threads)
    total = np.zeros(upsampled.sizes)
    for tile in tiles:
        points = tile_points(job, tile)
        for first in range(0, len(points), _PIECE):
            places = plan.frame.places(np.asarray(points[first : first + _PIECE]))
            upsampled.spread(places, None, total)
    save_array(target, total)


def make_field(task: tuple[Job, Plan, int, float, int], n_threads: int) -> None:
    """Add up the batches of one scale, apply the kernel, keep the field."""
    job, plan, a, eps, count = task
    if read_field(job, a, eps) is not None:
        return
    parts = [job.file(f"grid-{code(a, eps)}", number, "npy") for number in range(count)]
    upsampled = plan.grid(a, eps, job.settings, n_threads)
    total = np.zeros(upsampled.sizes)
    for part in parts:
        total += np.load(part, mmap_mode="r", allow_pickle=False)
    t = plan.frame.unit(float(plan.whole.scales[a]))
    modes = upsampled.transform(total)
    del total
    fourth = np.empty_like(modes) if job.settings.exact else None
    totals = upsampled.apply_heat(modes, t, fourth=fourth)
    if fourth is not None:
        save_array(job.file(f"fourth-{code(a, eps)}", 0, "npy"), upsampled.field(fourth))
        del fourth
    values = upsampled.field(modes)
    save_array(job.file(f"values-{code(a, eps)}", 0, "npy"), values)
    largest = max(upsampled.largest_sum(values), 1.0)
    save_arrays(
        job.file(f"field-{code(a, eps)}", 0), eps=eps, largest=largest, totals=np.array(totals, dtype=float)
    )
    for part in parts:
        part.unlink(missing_ok=True)


def read_field(job: Job, a: int, eps: float) -> Field | None:
    """What is known of the field of a scale; None where it is not made yet."""
    found = load_arrays(job.file(f"field-{code(a, eps)}", 0), ("eps", "largest", "totals"))
    if found is None:
        return None
    totals = found["totals"].tolist()
    return Field(float(found["eps"]), float(found["largest"]), (totals[0], totals[1]))


def field_values(job: Job, a: int, eps: float, kind: str = "values") -> Array:
    """The grid of kernels, mapped from its file: processes of one machine share its memory."""
    mapped = np.load(job.file(f"{kind}-{code(a, eps)}", 0, "npy"), mmap_mode="r", allow_pickle=False)
    return np.asarray(mapped)


def coarse_sums(job: Job, plan: Plan, a: int, eps: float, places: Array, n_threads: int) -> Array:
    """The table of sums at places (n, q) in the common coordinates, read off the field."""
    upsampled = plan.grid(a, eps, job.settings, n_threads)
    t = plan.frame.unit(float(plan.whole.scales[a]))
    directions = job.settings.with_spectrum
    sums = np.empty((places.shape[1], column_count(len(places), directions)))
    upsampled.read_sums(field_values(job, a, eps), places, t, directions, sums)
    if job.settings.exact:
        upsampled.read_fourth_moment(field_values(job, a, eps, "fourth"), places, t, sums)
    return sums


def find_isolated(
    task: tuple[Job, Plan, int, tuple[tuple[int, float], ...], int], n_threads: int
) -> dict[int, int]:
    """How many points of a tile have sums too small for the error of the field, by scale.

    Their rows are kept, unless they are more than the last argument says.
    """
    job, plan, number, scales, most = task
    points = tile_points(job, number)
    counts = {}
    for a, eps in scales:
        target = job.file(f"isolated-{code(a, eps)}", number)
        known = load_arrays(target, ("count", "rows"))
        if known is not None:
            counts[a] = int(known["count"])
            continue
        field = read_field(job, a, eps)
        assert field is not None
        least, found = field.least(job.settings.tolerance), []
        upsampled, values = plan.grid(a, eps, job.settings, n_threads), field_values(job, a, eps)
        t = plan.frame.unit(float(plan.whole.scales[a]))
        for first in range(0, len(points), _PIECE):
            places = plan.frame.places(np.asarray(points[first : first + _PIECE]))
            sums = np.empty((places.shape[1], column_count(len(places), False)))
            upsampled.read_sums(values, places, t, False, sums)
            found.append(first + np.flatnonzero(~(sums[:, WEIGHT] >= least)))
        rows = np.concatenate(found)
        counts[a] = rows.size
        kept = rows if rows.size <= most else rows[:0]
        save_arrays(target, count=rows.size, rows=kept)
    return counts

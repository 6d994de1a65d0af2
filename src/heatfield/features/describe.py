"""Descriptors of clouds: signatures, and their pooling into one row per cloud.

Small clouds are described in ragged batches, by the dense path; clouds that may be large one after the other,
with all threads. Both give their channels to the same `_rows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.check import Array, OutOfRangeError, as_clouds, check_times, time_range, warn_caller
from .._base.threads import run_pieces
from ..core import formulas
from ..core.clouds import ArrangedCloud, Batch, Buffers
from ..core.evaluate import Outputs, evaluate, fill_differences, signatures_from_sums, totals
from ..core.moments import ROOT_SQUARE, ROOT_WEIGHT, WEIGHT, Sums
from ..core.planner import SMALL, Request, always_dense
from ..core.sums import dense_sums, sums_shape
from ..options import Features, Spectrum, Threads, takes
from ..scales import SignatureSettings, geometric
from .around import Around
from .blocks import Found, logarithm, registry
from .layout import DescriptorSettings, FeatureSettings

# Points of one batch: its tables stay in the processor's cache.
_BATCH = 2048
# A channel whose standard deviation over the points is below this, in its natural unit, has no
# correlation with anything: its variation is rounding, not geometry.
_LEAST_DEVIATION = 1e-6
# On the fast path a channel whose standard deviation is below this many tol may as well be constant.
_LEAST_IN_TOL = 100.0


@takes(Features, Spectrum, Threads)
def describe(
    clouds: Sequence[ArrayLike], *, features: Features, spectrum: Spectrum, threads: Threads
) -> Array:
    """The descriptor of every cloud, one row each: what `HFSDescriptor` computes, without scikit-learn.

    Guide: ``heatfield docs guide/describe``.

    Parameters
    ----------
    clouds : sequence of array_like (m_i, n)
    {options}

    Returns
    -------
    features : (N, columns)
        Their names: ``HFSDescriptor(variant, n_dims=n).get_feature_names_out()``. A cloud of fewer than two
        distinct points has a row of NaN, with a warning that names it.

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> rng = np.random.default_rng(0)
    >>> hf.describe([rng.normal(size=(m, 3)) for m in (40, 50)]).shape
    (2, 744)
    """
    checked = as_clouds(clouds)
    chosen = vars(features) | vars(spectrum) | vars(threads)
    if features.lengths == "shared":
        own = DescriptorSettings(checked[0].shape[1], **chosen | {"lengths": None})
        chosen["lengths"] = shared_lengths(own_ends(checked, own, own.n_threads), own.n_scales)
    settings = DescriptorSettings(checked[0].shape[1], **chosen)
    rows = describe_clouds(checked, settings, n_threads=settings.n_threads)
    warn_of_empty(rows, "their descriptors are NaN")
    return rows


def own_ends(clouds: Sequence[Array], settings: FeatureSettings, n_threads: int = 1) -> Array:
    """First and last length (N, 2) of each cloud's own schedule; NaN for fewer than two distinct points."""
    out = np.empty((len(clouds), 2))

    def work(first: int, last: int) -> None:
        batch = Batch.of(clouds[first:last], drop=settings.drops_isolated)
        out[first:last] = np.sqrt(_times(batch, range(first, last), settings)[[0, -1]].T)

    run_pieces(work, _batches([len(cloud) for cloud in clouds], n_threads), n_threads)
    return out


def shared_lengths(ends: Array, n_scales: int) -> tuple[float, ...]:
    """Lengths for all clouds, with equal ratios between the medians of `own_ends`.

    Medians, so that a few clouds of another size, or in another unit, do not count.
    """
    known = ends[np.isfinite(ends).all(axis=1)]
    if not len(known):
        raise ValueError("lengths='shared' are learnt from clouds, but none has two distinct points")
    low, high = np.median(known, axis=0) ** 2
    return tuple(np.sqrt(geometric(low, high, n_scales)).tolist())


def describe_clouds(
    clouds: Sequence[Array], settings: DescriptorSettings, extents: Array | None = None, *, n_threads: int = 1
) -> Array:
    """Rows (N, columns) of checked clouds; NaN for fewer than two distinct points.

    ``extents`` (N, 3), if given, gets the mean spacing, the diameter, and how many isolated points were left
    out, of each cloud.
    """
    n = settings.n_dims
    rows = np.empty((len(clouds), settings.columns.width))
    found = np.full((len(clouds), 3), np.nan)
    dense = [always_dense(settings.method, len(points), n) for points in clouds]
    batched = [i for i, points in enumerate(clouds) if dense[i] and len(points) <= SMALL]
    alone = sorted({*range(len(clouds))} - {*batched})

    buffers = Buffers()

    def work(first: int, last: int) -> None:
        chosen = batched[first:last]
        some = [clouds[i] for i in chosen]
        rows[chosen], found[chosen] = _describe_batch(some, chosen, settings, buffers)

    run_pieces(work, _batches([len(clouds[i]) for i in batched], n_threads), n_threads, progress="clouds")
    for i in alone:
        try:
            rows[i] = _describe_one(clouds[i], settings, found[i], n_threads)
        except OutOfRangeError as error:
            raise OutOfRangeError(error.problem, i) from None
    if extents is not None:
        extents[:] = found
    return rows


def _batches(sizes: Sequence[int], n_threads: int) -> list[tuple[int, int]]:
    """Runs of clouds of up to `_BATCH` points; smaller ones where the threads would have none."""
    most = min(_BATCH, max(1, sum(sizes) // (2 * n_threads))) if n_threads > 1 else _BATCH
    ranges, start, points = [], 0, 0
    for i, m in enumerate(sizes):
        if points and points + m > most:
            ranges.append((start, i))
            start, points = i, 0
        points += m
    return [*ranges, (start, len(sizes))] if sizes else []


# --- signatures of a batch, or of one cloud ------------------------------------------


def _request(settings: DescriptorSettings, n_threads: int) -> Request:
    needs = {need for block in settings.blocks for need in registry()[block].needs}
    channels = [
        "density",
        "dimension",
        "transition",
        *needs,
        *(["spectrum"] if settings.with_spectrum else []),
    ]
    return settings.request(channels, energy="energy" in needs, n_threads=n_threads)


def _describe_batch(
    clouds: Sequence[Array], names: Sequence[int], settings: DescriptorSettings, buffers: Buffers
) -> tuple[Array, Array]:
    """Rows, and extents as of `describe_clouds`; ``names`` are the numbers of the clouds in errors."""
    n, request = settings.n_dims, _request(settings, 1)
    batch = Batch.of(clouds, drop=settings.drops_isolated)
    times = _times(batch, names, settings)
    unit = np.ldexp(times, -2 * batch.exponents)
    shape = sums_shape(batch, len(unit), request)
    channels = (3 + n * request.directions, *shape[1:])
    with buffers.take(shape) as sums, buffers.take(channels) as block:
        dense_sums(batch, unit, request, sums)
        energy = response = np.empty((len(clouds), 0))
        if request.energy:
            both = totals(sums[ROOT_WEIGHT : ROOT_SQUARE + 1], batch.ends)
            with np.errstate(invalid="ignore", divide="ignore"):
                energy = formulas.energy(both[:, 0], formulas.heat_factor(2.0 * times.T, n))
                response = formulas.response(both[:, 0], both[:, 1], unit.T, n)
        own = {"transition": block[0], "dimension": block[2], "spectrum": block[3:]}
        if request.directions:  # where they are asked for, they take the place of their sums
            own |= {"covariance": Sums(sums, n).second, "slopes": Sums(sums, n).first}
        out = Outputs.empty(n, *shape[1:], request, own)
        signatures_from_sums(
            sums, batch.at_points(unit), batch.at_points(formulas.heat_factor(times, n)), n, out
        )
        fill_differences(out, batch.at_points(np.log(times)))

        around = Around(batch, unit, lambda: sums[WEIGHT], request, buffers)
        rows = _rows(settings, block, out, batch.ends, times, (energy, response), around)
    rows[~(times[0] > 0.0)] = np.nan
    left_out = [len(cloud) for cloud in clouds] - batch.sizes
    return rows, np.column_stack([batch.extents, left_out])


def _times(batch: Batch, names: Sequence[int], settings: SignatureSettings) -> Array:
    """The times (T, N) of every cloud, NaN for fewer than two distinct points; an error names the cloud."""
    if settings.lengths is not None:
        times = np.repeat(np.square(settings.lengths)[None, :], len(batch.ends), axis=0)
        times[np.isnan(batch.extents[:, 0])] = np.nan
    else:
        low, high = (
            c * batch.extents[:, k, None] ** 2 for k, c in enumerate((settings.c_min, settings.c_max))
        )
        times = geometric(low, high, settings.n_scales)
    least, most = time_range(batch.sizes, settings.n_dims)
    for i in np.flatnonzero((times.min(axis=1) < least) | (times.max(axis=1) > most)).tolist():
        try:
            check_times(times[i], int(batch.sizes[i]), settings.n_dims)
        except OutOfRangeError as error:
            raise OutOfRangeError(error.problem, names[i]) from None
    return np.ascontiguousarray(times.T)


def _describe_one(points: Array, settings: DescriptorSettings, extents: Array, n_threads: int) -> Array:
    """The row of a cloud that may be large, and its extents."""
    cloud = ArrangedCloud.of(points, n_threads, drop=settings.drops_isolated)
    if len(points) < 2 or not cloud.spacing > 0.0:
        extents[2] = 0
        return np.full(settings.columns.width, np.nan)
    extents[:] = cloud.spacing, cloud.diameter, len(points) - cloud.order.size
    times = settings.times(cloud)
    request = _request(settings, n_threads)
    found = evaluate(cloud, None, times, request)
    out = found.local
    block = np.stack([out.transition, out.density, out.dimension, *out.get("spectrum", ())])
    around = Around.of(cloud, times, found, request)
    both = found.energy[None], found.response[None]
    return _rows(settings, block, out, np.array([cloud.order.size]), times.T, both, around)[0]


def _rows(
    settings: DescriptorSettings,
    channels: Array,
    local: Outputs,
    ends: np.ndarray,
    times: Array,
    both: tuple[Array, Array],
    around: Around,
) -> Array:
    """All blocks (N, columns); ``channels``: transition, density, dimension, spectrum; ``both``: E2, C2."""
    channels[1] = logarithm(local.density) if settings.joint else local.density
    is_dense = isinstance(around.places, Batch)
    least = _LEAST_DEVIATION if is_dense else max(_LEAST_DEVIATION, _LEAST_IN_TOL * settings.tolerance)
    found = Found(
        local, channels, ends, times, *both, least, around,
        settings.joint, settings.centers, settings.hds_sigma,
    )  # fmt: skip
    rows = np.empty((len(ends), settings.columns.width))
    for block, here in settings.columns.columns.items():
        rows[:, here] = registry()[block].values(found)
    return rows


def warn_of_empty(table: NDArray[Any], consequence: str) -> None:
    """Name the clouds that have no scale schedule, and so no number in their row of ``table``."""
    found = np.flatnonzero(np.isnan(table).all(axis=1))
    if found.size:
        shown = ", ".join(map(str, found[:10])) + (", ..." if found.size > 10 else "")
        warn_caller(
            f"{found.size} of {len(table)} clouds have fewer than two distinct points, "
            f"so {consequence}: clouds {shown}"
        )

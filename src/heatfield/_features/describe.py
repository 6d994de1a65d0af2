"""Descriptors of clouds: signatures, and their pooling into one row per cloud.

Small clouds are described in ragged batches, by the dense path; clouds that may be large one after the other,
with all threads. Both give their channels to the same `_rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._base.check import LEAST_TOL, Array, OutOfRangeError, as_clouds, check_times, time_range
from .._base.progress import Bar, progress_bar
from .._base.threads import run_pieces
from .._signatures.scales import geometric
from ..core import formulas
from ..core.buffers import Buffers
from ..core.cloud import ArrangedCloud
from ..core.dense import Batch, dense_sums, difference_sums, sums_shape
from ..core.dense_or_fast import SMALL, surely_dense
from ..core.evaluate import Evaluation, evaluate
from ..core.moments import ROOT_SQUARE, ROOT_WEIGHT, WEIGHT, Request
from ..core.one_scale import scale_sums
from ..core.outputs import Outputs, fill_transition, heat_dimension_spectrum, read_off, totals
from ..options import Features, Spectrum, Threads, takes
from .layout import STATISTICS, kept_statistics, scale_pairs
from .schedule import warn_of_empty
from .settings import DescriptorSettings

# Points of one batch: its tables stay in the processor's cache.
_BATCH = 2048
# A channel whose standard deviation over the points is below this, in its natural unit, has no
# correlation with anything: its variation is rounding, not geometry.
_LEAST_DEVIATION = 1e-6
# On the fast path a channel whose standard deviation is below this many tol may as well be constant.
_LEAST_IN_TOL = 100.0


@dataclass(frozen=True, eq=False)
class _Found:
    """The signatures of N clouds whose points stand side by side."""

    local: Outputs
    ends: np.ndarray  # (N,)
    times: Array  # (T, N)
    energy: Array  # (N, T)
    response: Array
    least: float  # standard deviation below which a channel counts as constant
    deviations: Callable[[Array], Iterator[tuple[slice, Array]]]  # of fields (F, T, total): see `_rows`
    buffers: Buffers


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
    settings = DescriptorSettings(checked[0].shape[1], **vars(features), **vars(spectrum), **vars(threads))
    rows = describe_clouds(checked, settings, n_threads=settings.n_threads)
    warn_of_empty(rows, "their descriptors are NaN")
    return rows


def describe_clouds(
    clouds: Sequence[Array], settings: DescriptorSettings, extents: Array | None = None, *, n_threads: int = 1
) -> Array:
    """Rows (N, columns) of checked clouds; NaN for fewer than two distinct points.

    ``extents`` (N, 2), if given, gets the mean spacing and the diameter of each cloud.
    """
    n = settings.n_dims
    rows = np.empty((len(clouds), settings.columns.width))
    found = np.full((len(clouds), 2), np.nan)
    dense = [surely_dense(settings.method, len(points), n) for points in clouds]
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
    columns = settings.columns.columns
    return settings.request(
        directions=settings.with_spectrum,
        energy="global" in columns,
        gradient="gradient" in columns,
        n_threads=n_threads,
    )


def _describe_batch(
    clouds: Sequence[Array], names: Sequence[int], settings: DescriptorSettings, buffers: Buffers
) -> tuple[Array, Array]:
    """Rows, and spacing and diameter; ``names`` are the numbers of the clouds in errors."""
    n, request = settings.n_dims, _request(settings, 1)
    batch = Batch.of(clouds)
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
        out = Outputs.empty(n, *shape[1:], request, block=block)
        read_off(sums, batch.at_points(unit), batch.at_points(formulas.heat_factor(times, n)), n, out)
        if not out.exact:
            fill_transition(out, batch.at_points(np.log(times)))

        def deviations(fields: Array) -> Iterator[tuple[slice, Array]]:
            return _dense_deviations(batch, unit, sums[WEIGHT], fields, settings.precision, buffers)

        found = _Found(out, batch.ends, times, energy, response, _LEAST_DEVIATION, deviations, buffers)
        rows = _rows(found, settings, block)
    rows[~(times[0] > 0.0)] = np.nan
    return rows, batch.extents


def _times(batch: Batch, names: Sequence[int], settings: DescriptorSettings) -> Array:
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
    """The row of a cloud that may be large, and its spacing and diameter."""
    cloud = ArrangedCloud.of(points, n_threads)
    if len(points) < 2 or not cloud.spacing > 0.0:
        return np.full(settings.columns.width, np.nan)
    extents[:] = cloud.spacing, cloud.diameter
    times = settings.times(cloud)
    request = _request(settings, n_threads)
    found = evaluate(cloud, None, times, request)
    is_dense = found.plan.tol is None
    least = _LEAST_DEVIATION if is_dense else max(_LEAST_DEVIATION, _LEAST_IN_TOL * settings.tolerance)

    def deviations(fields: Array) -> Iterator[tuple[slice, Array]]:
        return _deviations(cloud, times, found, fields, request)

    out = found.local
    block = np.stack(
        [out.transition, out.density, out.dimension, *(() if out.spectrum is None else out.spectrum)]
    )
    ends = np.array([len(points)])
    all_of = _Found(
        out, ends, times.T, found.energy[None], found.response[None], least, deviations, Buffers()
    )
    return _rows(all_of, settings, block)[0]


# --- from signatures to rows ---------------------------------------------------------


def _rows(found: _Found, settings: DescriptorSettings, channels: Array) -> Array:
    """All blocks of the layout, (N, columns).

    ``channels`` are transition, density, dimension and spectrum, (3 or 3+n, T, total); they are used up.
    """
    out, ends = found.local, found.ends
    n, steps = settings.n_dims, len(found.times)
    columns, width = settings.columns.columns, settings.columns.width
    rows = np.empty((len(ends), width))
    if "global" in columns:
        rows[:, columns["global"]] = global_block(
            found.energy, found.response, found.times.T, log=settings.joint
        )
    if "hds" in columns:
        with found.buffers.take((len(settings.centers), *out.density.shape)) as members:
            parts = heat_dimension_spectrum(
                out.density, out.dimension, ends, settings.centers, settings.hds_sigma, members=members
            )
        rows[:, columns["hds"]] = np.concatenate(parts, axis=1).reshape(len(ends), -1)
    if settings.joint:
        channels[1] = _log(channels[1])
    local = {"density": (1, 2), "dimension": (2, 3), "transition": (0, 1), "spectrum": (3, 3 + n)}
    for block, (first, last) in local.items():
        if block in columns:
            rows[:, columns[block]] = pooled(channels[first:last], ends)
    if "gradient" in columns:
        assert out.gradient is not None
        rows[:, columns["gradient"]] = pooled(out.gradient[None], ends)
    flat = channels.reshape(len(channels) * steps, channels.shape[2])
    for block, pairs in (("correlation", _correlated), ("coupling", _coupled)):
        if block in columns:
            asked = pairs(len(channels), steps)
            values = np.empty((len(ends), len(asked)))
            _core.correlate(flat, ends, asked, found.least, values)
            rows[:, columns[block]] = values
    if "neighbourhood" in columns:
        fields = channels[1:]  # all but the transition
        statistics = np.empty((len(ends), len(fields) * len(scale_pairs(steps)), len(STATISTICS)))
        for here, deviation in found.deviations(fields):
            some = np.empty((len(ends), len(deviation), len(STATISTICS)))
            _core.pool(deviation, ends, some)
            statistics[:, here] = some
        kept = statistics.reshape(len(ends), -1)[:, _kept(len(fields), steps)]
        rows[:, columns["neighbourhood"]] = kept
    return rows


def global_block(energy: Array, response: Array, times: Array, *, log: bool) -> Array:
    """E2, C2, Dirichlet energy and its ratio to E2, (..., 4 T); on demand the logarithms of all but C2."""
    with np.errstate(invalid="ignore", divide="ignore"):
        dirichlet = formulas.roughness(energy, response, times)
        relative = formulas.relative_roughness(energy, dirichlet)
    if log:
        energy, dirichlet, relative = _log(energy), _log(dirichlet), _log(relative)
    return np.concatenate([energy, response, dirichlet, relative], axis=-1)


def _log(values: Array) -> Array:
    """Logarithm of positive numbers; NaN elsewhere."""
    return np.log(np.where(values > 0.0, values, np.nan))


def pooled(channels: Array, ends: np.ndarray) -> Array:
    """Channel by channel, statistic by statistic, scale by scale, (N, ...)."""
    count, steps, total = channels.shape
    out = np.empty((len(ends), count * steps, len(STATISTICS)))
    _core.pool(channels.reshape(count * steps, total), ends, out)
    return out.reshape(len(ends), count, steps, -1).swapaxes(2, 3).reshape(len(ends), -1)


def _order(channels: int) -> list[int]:
    """Where density, dimension, transition and spectrum stand, as the layout has them."""
    return [1, 2, 0, *range(3, channels)]


@cache
def _correlated(channels: int, steps: int) -> np.ndarray:
    """Every pair of channels at the same scale, as rows of (channels, scales)."""
    pairs = [
        (p * steps + a, q * steps + a)
        for i, p in enumerate(_order(channels))
        for q in _order(channels)[i + 1 :]
        for a in range(steps)
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


@cache
def _coupled(channels: int, steps: int) -> np.ndarray:
    """Each channel with itself one and two scales further."""
    pairs = [
        (p * steps + a, p * steps + a + step)
        for p in _order(channels)
        for step in (1, 2)
        for a in range(steps - step)
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


@cache
def _kept(fields: int, steps: int) -> np.ndarray:
    """Which statistics (fields, pairs, `STATISTICS`), flat, the neighbourhood block keeps."""
    pairs = scale_pairs(steps)
    kept = [
        (f * len(pairs) + p) * len(STATISTICS) + STATISTICS.index(name)
        for f in range(fields)
        for p, (_, b) in enumerate(pairs)
        for name in kept_statistics(b)
    ]
    return np.array(kept, dtype=np.int64)


# --- the second layer: how much a signature varies around each point ------------------
#
# For a field f known at every point at scale a, its deviation around point i at a coarser scale b is the
# standard deviation of f_a under the weights exp(-D**2 / 4 t_b).


def deviation_at_points(cloud: ArrangedCloud, times: Array, found: Evaluation, request: Request) -> Array:
    """Deviation (fields x pairs of scales, m) of log u, d_heat and 2t lambda_k around each point.

    All is in kd order.
    """
    out = found.local
    assert out.spectrum is not None
    fields = np.stack([np.log(out.density), out.dimension, *out.spectrum])
    return np.concatenate([rows for _, rows in _deviations(cloud, times, found, fields, request)])


def _deviations(
    cloud: ArrangedCloud, times: Array, found: Evaluation, fields: Array, request: Request
) -> Iterator[tuple[slice, Array]]:
    """Rows (fields x pairs of scales, m) of all deviations, some at a time, by the path of the signatures."""
    unit = np.ldexp(times, -2 * cloud.exponent)
    weight = found.local.density / formulas.heat_factor(times.T, len(cloud.points))
    if found.plan.tol is None:
        batch, n_threads = Batch.one(cloud), request.n_threads
        yield from _dense_deviations(batch, unit.T, weight, fields, request.dtype, Buffers(), n_threads)
    else:
        yield from _deviations_to_tolerance(cloud, unit[0], weight, fields, request)


def _dense_deviations(
    batch: Batch,
    unit: Array,
    weight: Array,
    fields: Array,
    dtype: np.dtype,
    buffers: Buffers,
    n_threads: int = 1,
) -> Iterator[tuple[slice, Array]]:
    """Field by field, from differences to the point's own value, which do not cancel."""
    pairs = scale_pairs(len(unit))
    own = weight[pairs[:, 1]]
    with buffers.take((2, len(fields), len(pairs), batch.total)) as sums:
        difference_sums(batch, unit, fields, pairs, dtype, sums, n_threads)
        for f, (step, step_squared) in enumerate(zip(*sums, strict=True)):
            with np.errstate(invalid="ignore", divide="ignore"):
                found = formulas.deviation(own, step, step_squared)
            yield slice(f * len(pairs), (f + 1) * len(pairs)), found


def _deviations_to_tolerance(
    cloud: ArrangedCloud, unit: Array, weight: Array, fields: Array, request: Request
) -> Iterator[tuple[slice, Array]]:
    """On large clouds: one field and pair of scales at a time, from weighted sums of the fast path.

    With the weights w at a point, deviation**2 = sum w f**2 / W - (sum w f / W)**2: two more sets of sums
    with f and f**2 as the heat of the sources. Heat is positive, so f is moved and scaled to lie between 1/2
    and 3/2. Each sum is right to ``tol`` relative to itself, and so the *square* of the deviation to 16 tol
    times the square of the field's range (`bounds.DEVIATION_SQUARED`). It remains a difference of nearly
    equal sums: where the field hardly varies around a point, the deviation has only 4 sqrt(tol) of the range
    for certain.
    """
    # Deviations need no moments, single precision would leave nothing of a difference, and a root follows.
    request = replace(
        request,
        tol=max(LEAST_TOL[np.dtype(np.float64)], 0.01 * request.tol),
        directions=False,
        fourth_moment=False,
        energy=False,
        gradient=False,
        dtype=np.dtype(np.float64),
    ).priced(cloud.order.size)
    pairs = scale_pairs(unit.size)
    total = 2 * cloud.order.size * fields.shape[0] * pairs.shape[0]
    with progress_bar(total=total, unit="sums", unit_scale=True) as bar:
        for f, field in enumerate(fields):
            for p, (a, b) in enumerate(pairs):
                row = _deviation(cloud, float(unit[b]), weight[b], field[a], request, bar)
                yield slice(f * len(pairs) + p, f * len(pairs) + p + 1), row[None]


def _deviation(
    cloud: ArrangedCloud, t: float, weight: Array, field: Array, request: Request, bar: Bar
) -> Array:
    """The deviation of one field around every point."""
    low, high = float(field.min()), float(field.max())
    if not high > low:  # constant, or NaN
        bar.update(2 * field.size)
        return np.full(field.size, high - low)
    heat = 1.0 + (field - 0.5 * (low + high)) / (high - low)
    time = np.array([t])
    means = []
    for weights in (heat, heat * heat):
        sums, _ = scale_sums(cloud, cloud, time, request, weights=weights, advance=bar.update)
        means.append(sums[:, WEIGHT] / weight)
    return (high - low) * np.sqrt(np.maximum(means[1] - means[0] ** 2, 0.0))

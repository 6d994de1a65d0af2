"""Signatures of one cloud: at every point and scale, and of the cloud as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ._base.check import (
    Array,
    as_lengths,
    as_points,
    as_scales,
    check_choice,
    check_count,
    check_range,
    check_targets,
    check_tol,
)
from ._base.summary import (
    MOST_ROWS,
    Summarised,
    Summary,
    band,
    chosen_columns,
    number,
    plural,
    quantiles,
    shape,
)
from .channels import CHANNELS, Channel, computed, point_names, point_table, values_of
from .core import formulas
from .core.clouds import ArrangedCloud, Targets
from .core.evaluate import evaluate, heat_dimension_spectrum
from .core.planner import (
    Plan,
    Request,
    always_dense,
    dense_plan,
    dense_seconds,
    fast_seconds,
    plan_words,
    use_dense,
)
from .local_type import LOCAL_TYPES, local_type_codes
from .options import Scales, Spectrum, Sums, Threads, choices_of
from .scales import SignatureSettings, schedule_of


@dataclass(frozen=True, repr=False)
class HeatDimensionSpectrum(Summarised):
    """How the points of a cloud divide among dimensions, scale by scale: ``s.hds``.

    Guide: ``heatfield docs theory/signatures``.

    Attributes
    ----------
    composition : (T, K)
        p_geo, the share of the points at each dimension.
    contrast : (T, K)
        delta p, how that share differs where heat concentrates.
    centers : (K,)
        The dimensions.
    sigma : float
        How far a dimension may be from a centre and still count.

    Examples
    --------
    >>> import heatfield as hf
    >>> s = hf.signatures(hf.datasets.make_mixed_shape()[0][:500])
    >>> s.hds.centers.tolist(), bool(abs(s.hds.composition.sum(axis=1) - 1).max() < 1e-12)
    ([0.0, 1.0, 2.0, 3.0], True)
    """

    composition: Array
    contrast: Array
    centers: Array
    sigma: float

    def _summary(self) -> Summary:
        return _summary_of_hds(self)


@dataclass(frozen=True, repr=False)
class Signatures(Summarised):
    """Heat Field Signatures of one cloud of m points in n dimensions, at T scales.

    Guide: ``heatfield docs theory/signatures``.

    Attributes
    ----------
    scales : (T,), or (m, T) where every point has its own
    density : (m, T)
        u(x_i, t), the heat field at the points.
    dimension : (m, T)
        d_heat, about 1 on a filament, 2 on a surface, 3 in a volume, 0 at an isolated point.
    transition : (m, T)
        tau, how fast the dimension changes with log t.
    spectrum : (m, T, n)
        2t times the eigenvalues of the log-Hessian, largest first: about 0 along the
        data, -1 across. None if it was not asked for.
    energy, response, roughness, relative_roughness : (T,)
        E2, C2, the Dirichlet energy and its ratio to E2; NaN with per-point scales.
    hds : HeatDimensionSpectrum
    directions : (m, T, n, n)
        Unit eigenvectors of the log-Hessian: row k belongs to ``spectrum[..., k]``, so the first rows lie
        along the data (tangents) and the last across (normals). An eigenvector has no sign: the last
        coordinate that is not 0 is positive. Where two eigenvalues are equal, their directions are any pair
        that spans the same plane. None unless it was asked for.
    local : dict of str to ndarray
        Density, dimension, transition, spectrum and directions by name, as far as they were asked for.
    plan : Plan
        What was chosen for each scale and why; None where nothing could be computed.

    Examples
    --------
    >>> import heatfield as hf
    >>> points, _ = hf.datasets.make_mixed_shape()
    >>> s = hf.signatures(points[:500])
    >>> s.dimension.shape, s.energy.shape, s.hds.composition.shape
    ((500, 8), (8,), (8, 4))
    >>> s.per_point().shape, s.per_point(["linearity"]).shape
    ((500, 48), (500, 8))
    """

    scales: Array
    local: Mapping[str, Array]
    energy: Array
    response: Array
    roughness: Array
    relative_roughness: Array
    hds: HeatDimensionSpectrum
    plan: Plan | None = None

    def _summary(self) -> Summary:
        return _summary_of(self)

    @property
    def lengths(self) -> Array:
        """sqrt(t) of every scale, in the unit of the points."""
        return np.sqrt(self.scales)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Array:
            """Columns of the registry, which become properties below."""

    def per_point(self, channels: Sequence[str] | None = None) -> Array:
        """phi(x_i): density, dimension, transition and spectrum, scale by scale, (m, (3+n) T).

        Parameters
        ----------
        channels : sequence of str, optional
            These instead, of `heatfield.io.channel_names`; "normal" and "verticality" need the directions.

        Returns
        -------
        table : (m, columns)
            Their names: `get_feature_names_out`.
        """
        return point_table(self, channels)

    def get_feature_names_out(self, channels: Sequence[str] | None = None) -> np.ndarray:
        """Names of the columns of `per_point`: ``dimension_s0``, ``spectrum1_s0``, ...

        Parameters
        ----------
        channels : sequence of str, optional
            As of `per_point`.

        Returns
        -------
        names : (columns,) array of str

        Examples
        --------
        >>> import heatfield as hf
        >>> s = hf.signatures([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], lengths=[1, 2])
        >>> s.get_feature_names_out(["dimension", "linearity"]).tolist()
        ['dimension_s0', 'linearity_s0', 'dimension_s1', 'linearity_s1']
        """
        return np.array(point_names(self, channels), dtype=object)

    def local_type(self, scale: int) -> np.ndarray:
        """What kind of place each point is at one scale, as words (m,).

        "point" where the heat dimension d is below 0.5, else "filament", "surface" or "volume" by the
        nearest of 1, 2, 3; "junction" where filaments meet: 0.5 <= d < 1.35, and yet the neighbours extend
        across their main direction by more than thickness explains,
        sum_{k>1} (1 + 2t lambda_k) > 0.1 + abs(tau). "undefined" where there is no dimension.

        Junctions are those at this scale: within about sqrt(2t) of a fork. The scale should be several times
        the thickness of the filaments and well below the distance between forks.

        Parameters
        ----------
        scale : int
            Which scale, by index; negative ones count from the coarsest.

        Returns
        -------
        types : (m,) array of str

        Examples
        --------
        >>> import numpy as np, heatfield as hf
        >>> arm = np.linspace(0, 1, 100)[:, None]
        >>> star = np.concatenate([arm * [np.cos(a), np.sin(a)] for a in (0.5, 2.6, 4.7)])
        >>> s = hf.signatures(star)
        >>> s.local_type(4)[[0, 60]].tolist()
        ['junction', 'filament']
        """
        if self.spectrum is None:
            raise ValueError("local_type needs the spectrum; compute signatures with with_spectrum=True")
        steps = self.dimension.shape[1]
        if isinstance(scale, bool) or not isinstance(scale, (int, np.integer)) or not -steps <= scale < steps:
            raise ValueError(f"scale must be an index from {-steps} to {steps - 1}, got {scale!r}")
        codes = local_type_codes(self.dimension[:, scale], self.transition[:, scale], self.spectrum[:, scale])
        return np.array(LOCAL_TYPES)[codes]


def _property(channel: Channel) -> property:
    what, _, high = channel.words
    axes = ", n" * len(channel.shape(1))
    stored = channel.read is None
    found = property(lambda s: s.local.get(channel.name) if stored else values_of(channel.name, s))
    found.__doc__ = f"(m, T{axes}): {what}. {high[0].upper()}{high[1:]}."
    return found


for _channel in CHANNELS:
    if _channel.in_table or _channel.frame:
        setattr(Signatures, _channel.attribute or _channel.name, _property(_channel))


def signatures(
    points: ArrayLike,
    scales: ArrayLike | None = None,
    *,
    n_scales: int = Scales.n_scales,
    c_min: float = Scales.c_min,
    c_max: float = Scales.c_max,
    lengths: ArrayLike | None = None,
    transition: str | None = None,
    with_spectrum: bool = True,
    with_directions: bool = False,
    hds_centers: ArrayLike | None = None,
    hds_sigma: float = Spectrum.hds_sigma,
    method: str = Sums.method,
    tol: float | None = Sums.tol,
    targets: ArrayLike | None = None,
    dtype: str = Sums.dtype,
    n_jobs: int | None = Threads.n_jobs,
) -> Signatures:
    """Local, global and distributional signatures of a point cloud.

    Guide: ``heatfield docs theory/signatures``.

    Parameters
    ----------
    points : array_like (m, n)
    scales : array_like (T,) or (m, T), optional
        Increasing diffusion times; the default is `scale_schedule` with ``n_scales``,
        ``c_min`` and ``c_max``. A table (m, T), for instance from `adaptive_scales`,
        gives every point its own times.
    n_scales, c_min, c_max :
        Of that schedule.
    lengths : array_like (T,), optional
        Instead: the same times as lengths sqrt(t) in the unit of the points, so that columns of two
        clouds mean the same.
    transition : "difference" or "exact", optional
        tau by finite differences in log t, as in the paper and by default, or in closed form.
    with_spectrum : bool
        Without the spectrum the work is about two thirds.
    with_directions : bool
        Also the eigenvectors of the spectrum: ``s.directions``, ``s.normals``, ``s.verticality``.
    hds_centers, hds_sigma : array_like (K,), float
        Centres (default 0..n) and width of the heat dimension spectrum.
    method : "auto", "dense" or "fast"
        Dense sums every pair that can change a digit of the result. Fast sums neighbours or
        takes Fourier transforms, whichever is cheaper for each scale and part of the
        cloud. Auto takes dense where that is cheaper, which it is for small clouds.
    tol : float, optional
        What the fast path promises at *every* point: the density to ``tol`` relative to itself,
        dimension to 4 tol, spectrum and closed-form transition to 16 tol absolute, energy to tol.
        Default 1e-6, in single precision 1e-5.
    targets : array_like of int (q,) or of float (q, n), optional
        Evaluate only at these points of the cloud, or at these places. The local outputs and the HDS
        then have q rows; energy, response and roughness belong to all points and are NaN. A place so far
        away that its weights sum to less than 1e-300 (some 52 sqrt(t)) has density 0 and no dimension;
        `HeatField` is right there too.
    dtype : "float64" or "float32"
        Precision of the sums over pairs, where the time goes. Results are float64.
    n_jobs : int
        Threads over the points; -1 for all cores. The result has the same bits for any number of them.

    Returns
    -------
    s : Signatures
        Density, dimension, transition and spectrum at every point and scale; energies and the heat dimension
        spectrum of the cloud.

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    >>> circle = np.c_[np.cos(angle), np.sin(angle), 0 * angle]
    >>> s = hf.signatures(circle)
    >>> s.dimension.shape, s.spectrum.shape, round(float(s.dimension[0, 3]), 2)
    ((400, 8), (400, 8, 3), 1.0)
    """
    checked = as_points(points)
    m, n = checked.shape
    if lengths is not None:
        if scales is not None:
            raise ValueError("give scales or lengths, not both: lengths are sqrt(scales)")
        scales = np.square(as_lengths(lengths))  # type: ignore[arg-type]  # not None
    settings = SignatureSettings(
        n,
        n_scales=n_scales,
        c_min=c_min,
        c_max=c_max,
        transition=transition,
        hds_centers=hds_centers,  # type: ignore[arg-type]  # checked there, as are all options
        hds_sigma=hds_sigma,
        method=method,
        tol=tol,
        dtype=dtype,
        n_jobs=n_jobs,
    )
    n_threads, centers, sigma = settings.n_threads, settings.centers, settings.hds_sigma
    cloud = ArrangedCloud.of(checked, n_threads)
    if scales is None:
        times = settings.times(cloud)
    else:
        times = as_scales(scales, m)
        if times.shape[1] < 2 and not settings.exact:
            raise ValueError(
                "scales must hold at least 2 times for transition='difference', got 1; "
                "use transition='exact' for a single time"
            )
    if with_directions and not with_spectrum:
        raise ValueError("with_directions=True needs with_spectrum=True: they are its eigenvectors")
    where = check_targets(targets, m, n)
    own = scales is not None and np.ndim(scales) == 2
    shown = times if own else times[0]
    rows = m if where is None else where.shape[0]
    energy = where is None and not own  # E2 belongs to all points and one time for them
    channels = computed(with_spectrum=with_spectrum, asked=["directions"] if with_directions else [])
    request = settings.request(channels, energy=energy, n_threads=n_threads)
    if rows == 0 or m == 0 or not np.isfinite(times).all():
        line, table = np.full(shown.shape[-1], np.nan), np.full((shown.shape[-1], centers.size), np.nan)
        local = {c.name: np.full((rows, line.size, *c.shape(n)), np.nan) for c in request.channels}
        hds = HeatDimensionSpectrum(table, table, centers, sigma)
        return Signatures(shown, local, line, line, line, line, hds)

    chosen, times = _chosen_targets(cloud, where, times, method)
    found = evaluate(cloud, chosen, times, request)
    out, plan = found.local, found.plan
    shares = heat_dimension_spectrum(out.density, out.dimension, np.array([rows]), centers, sigma, n_threads)
    out.turn_round(found.rows, n_threads)
    dirichlet = formulas.roughness(found.energy, found.response, times[0])
    return Signatures(
        scales=times if own else times[0],
        local=dict(out),
        energy=found.energy,
        response=found.response,
        roughness=dirichlet,
        relative_roughness=formulas.relative_roughness(found.energy, dirichlet),
        hds=HeatDimensionSpectrum(shares[0][0].T, shares[1][0].T, centers, sigma),
        plan=dense_plan(times) if plan.tol is None else plan,
    )


def _chosen_targets(
    cloud: ArrangedCloud, where: np.ndarray | None, times: Array, method: str
) -> tuple[Targets | None, Array]:
    """The targets that were asked for, and the times that belong to them."""
    if where is None:
        return None, times
    if method == "dense":
        raise ValueError("targets needs method='fast' or 'auto', got method='dense'")
    if where.ndim == 1:
        return Targets.at_indices(cloud, where), times[where] if times.shape[0] > 1 else times
    if times.shape[0] > 1:
        raise ValueError("scales of shape (m, T) belong to points, not to places; give targets as indices")
    return Targets.at_query_points(cloud, where), times


# --- the time it would take -----------------------------------------------------------

# Beyond three dimensions: seconds per pair and scale, and per product of two of
# its coordinates. Fitted to 4, 5, 10 and 30 dimensions relative to a pair in three dimensions.
_PAIR_BEYOND = 2.5e-8
_PRODUCT_BEYOND = 3.3e-10


@dataclass(frozen=True)
class Forecast:
    """Seconds on one core, and which path takes them: "dense" or "fast"."""

    seconds: float
    path: str


def expected_seconds(
    points: ArrayLike,
    scales: ArrayLike | None = None,
    *,
    n_scales: int = Scales.n_scales,
    c_min: float = Scales.c_min,
    c_max: float = Scales.c_max,
    method: str = Sums.method,
    tol: float | None = Sums.tol,
) -> Forecast:
    """What `signatures` with these arguments would take on one core.

    It is the cost that the choice between dense and fast compares, and the sum of
    ``s.plan.scales[...].expected_seconds`` on the fast path; on a common machine, since nothing is measured.

    Returns
    -------
    forecast : Forecast
        NaN seconds where there are no scales: of fewer than two distinct points.
    """
    checked = as_points(points)
    m, n = checked.shape
    cloud = ArrangedCloud.of(checked)
    if scales is None:
        count = check_count(n_scales, "n_scales", 2)
        times = schedule_of(cloud, count, *check_range(c_min, c_max))[None, :]
    else:
        times = as_scales(scales, m)
    request = Request(
        tol=check_tol(tol, np.dtype(np.float64)),
        directions=True,
        energy=times.shape[0] == 1,
        method=check_choice(method, "method", choices_of(Sums, "method")),
    )
    if m == 0 or not np.isfinite(times).all():
        return Forecast(float("nan"), "dense")
    always = always_dense(method, m, n)
    if always and n > 3:  # every pair, by matrix products
        return Forecast(m * m * times.shape[1] * (_PAIR_BEYOND + _PRODUCT_BEYOND * n * n), "dense")
    own = times[cloud.order] if times.shape[0] > 1 else times
    unit = np.ldexp(own, -2 * cloud.exponent)
    if always or use_dense(cloud, unit, request):
        return Forecast(dense_seconds(cloud, unit, request), "dense")
    return Forecast(fast_seconds(cloud, unit, request), "fast")


# --- summaries ------------------------------------------------------------------------


def _summary_of(s: Signatures) -> Summary:
    """Points, scales, shapes, the median dimension, and what was chosen."""
    m, steps = s.dimension.shape
    n = None if s.spectrum is None else s.spectrum.shape[-1]
    space = "" if n is None else f" in {plural(n, 'dimension')}"
    title = f"Signatures at {plural(m, 'point')}{space}, {plural(steps, 'scale')}"
    own = s.scales.ndim == 2
    with np.errstate(invalid="ignore"):
        lengths = np.sqrt(quantiles(s.scales, [0.5])[0] if own else s.scales)
    low, middle, high = quantiles(s.dimension, [0.1, 0.5, 0.9])
    columns = chosen_columns(steps)
    unit = "in the unit of the points" + (", median: each point has its own" if own else "")
    of = "median" if m <= MOST_ROWS else f"median of every {1 + (m - 1) // MOST_ROWS}th point"
    lines: list[tuple[str, str | list[str]]] = [
        ("scale", [*map(str, columns), ""]),
        ("sqrt(t)", [*(number(float(lengths[a])) for a in columns), unit]),
        ("dimension", [*(number(float(middle[a])) for a in columns), of]),
    ]
    for dims, names in _by_shape(s).items():
        lines.append(("per point", f"{dims}  {', '.join(names)}"))
    if s.directions is not None:
        lines.append(("per point", f"{shape(s.directions)}  directions; normals, verticality"))
    lines.append(("as a whole", f"{shape(s.energy)}  energy, response, roughness, relative_roughness"))
    lines.append(("hds", _shares(s.hds)))
    chosen = (
        "nothing could be computed: two distinct points are needed" if s.plan is None else plan_words(s.plan)
    )
    lines.append(("chosen", chosen))
    drawing = band(
        lengths, low, middle, high, top=3.0 if n is None else float(n),
        title="dimension: median, 10 to 90 % of the points", below="sqrt(t), in the unit of the points",
    )  # fmt: skip
    return Summary(title, lines, drawing)


def _summary_of_hds(hds: HeatDimensionSpectrum) -> Summary:
    """Shares of the dimensions, scale by scale."""
    steps, count = hds.composition.shape
    columns = chosen_columns(steps)
    lines: list[tuple[str, str | list[str]]] = [("scale", [*map(str, columns), ""])]
    remark = "composition: share of the points"
    for k in chosen_columns(count, 10):
        cells = [number(float(hds.composition[a, k])) for a in columns]
        lines.append((f"d = {hds.centers[k]:g}", [*cells, remark if k == 0 else ""]))
    lines.append(("arrays", f"{shape(hds.composition)}  composition, contrast; sigma {hds.sigma:g}"))
    return Summary(f"Heat dimension spectrum at {plural(steps, 'scale')}", lines)


def _shares(hds: HeatDimensionSpectrum) -> str:
    centers = ", ".join(f"{c:g}" for c in hds.centers[:6]) + (", ..." if len(hds.centers) > 6 else "")
    return f"{shape(hds.composition)}  composition, contrast, at dimension {centers}"


def _by_shape(s: Signatures) -> dict[str, list[str]]:
    """Names of the local signatures by the shape of their arrays."""
    found: dict[str, list[str]] = {}
    for channel in CHANNELS:
        values = None if channel.on_request else channel.values(s)
        if values is not None:
            unit = "" if channel.words[1] == "pure number" else f" [{channel.words[1]}]"
            found.setdefault(shape(values), []).append(channel.name + unit)
    return found

"""Heat field signatures for torch: `HeatFeatures` with gradients, `ClosedFormFeatures` with a cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .._base.check import (
    LEAST_LENGTH,
    OutOfRangeError,
    as_points,
    check_choice,
    check_count,
    check_dimension,
    check_extent,
    check_number,
    check_range,
    check_times,
)
from .._base.files import open_regular, write_atomically
from ..channels import Channel, computed, request_for, table_channels
from ..core import formulas
from ..core.evaluate import Outputs
from ..features.layout import SCHEMA
from ..features.points import PointSettings, features_of
from ..options import Scales
from .sums import can_compute, energy_sums, heat, is_known, local_sums, neighbours, neighbours_by_torch

Powers = NDArray[np.int64]


def pad_clouds(clouds: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Clouds (m_i, n) as one tensor (B, m, n) filled up with zeros, and the mask (B, m) of real points.

    Guide: ``heatfield docs guide/learning``.

    Parameters
    ----------
    clouds : sequence of tensors (m_i, n)

    Returns
    -------
    points : (B, m, n)
    mask : (B, m) bool

    Examples
    --------
    >>> import torch
    >>> from heatfield.nn import pad_clouds
    >>> points, mask = pad_clouds([torch.ones(2, 3), torch.ones(4, 3)])
    >>> points.shape, mask.sum(dim=1).tolist()
    (torch.Size([2, 4, 3]), [2, 4])
    """
    if not clouds:
        raise ValueError("clouds is empty: at least one cloud is needed")
    for i, cloud in enumerate(clouds):
        if not isinstance(cloud, Tensor):
            raise ValueError(f"clouds[{i}] must be a tensor, got {type(cloud).__name__}")
        if cloud.ndim != 2 or cloud.shape[1] != clouds[0].shape[-1]:
            raise ValueError(
                f"clouds[{i}] must have shape (m, {clouds[0].shape[-1]}), got {tuple(cloud.shape)}"
            )
    points = nn.utils.rnn.pad_sequence(list(clouds), batch_first=True)
    sizes = torch.tensor([len(cloud) for cloud in clouds], device=points.device)
    return points, torch.arange(points.shape[1], device=points.device) < sizes[:, None]


class HeatFeatures(nn.Module):
    """Per-point heat field signatures of a batch of clouds, differentiable, on any device.

    phi(x_i) = [u, d_heat, tau, 2t lambda_1..n] at each of T scales: what
    ``heatfield.signatures(points).per_point()`` gives, in the tensor's own precision. There is
    nothing to learn: the module holds no parameters.

    The range of lengths is declared as for `heatfield.signatures`: times at which the density, or an energy
    of `global_features`, is no number of the tensor's precision are a ValueError that names the cloud.

    Guide: ``heatfield docs guide/learning``.

    On the processor the compiled core computes them and, up to three dimensions, their gradient, in
    `torch.get_num_threads` threads and with the same bits for any number of them. Elsewhere,
    and for forward derivatives, torch does. Second derivatives are refused.

    Parameters
    ----------
    n_scales, c_min, c_max :
        The scale schedule of every cloud, see `heatfield.scale_schedule`.
    transition : "difference" or "exact"
        See `heatfield.signatures`.
    with_spectrum : bool
        Without it, three numbers per point and scale.
    log_density : bool
        log u in place of u, which spans many decades.
    fixed_schedule : bool
        Whether the times count as constants in the gradient. Otherwise it flows through the
        spacing and the diameter too: the whole derivative.
    memory : float, optional
        GiB that the tables of pairs may take at once where torch computes; a quarter. Rows are computed in
        pieces of this size, and again in the backward pass instead of being kept.

    Examples
    --------
    >>> import torch
    >>> from heatfield.nn import HeatFeatures
    >>> points = torch.randn(2, 50, 3, requires_grad=True)
    >>> features = HeatFeatures()(points)
    >>> features.shape
    torch.Size([2, 50, 48])
    >>> features.sum().backward()
    >>> points.grad.shape
    torch.Size([2, 50, 3])
    >>> HeatFeatures(n_scales=4).global_features(points).shape  # 4 * 4 numbers, 2 * 4 * 4 of the spectrum
    torch.Size([2, 48])
    >>> HeatFeatures(n_scales=4).extra_repr().split(",")[0]
    'n_scales=4'
    """

    def __init__(
        self,
        n_scales: int = Scales.n_scales,
        *,
        c_min: float = Scales.c_min,
        c_max: float = Scales.c_max,
        transition: str = "difference",
        with_spectrum: bool = True,
        log_density: bool = False,
        fixed_schedule: bool = False,
        memory: float | None = None,
    ) -> None:
        super().__init__()
        self.n_scales = check_count(n_scales, "n_scales", 2)
        self.c_min, self.c_max = check_range(c_min, c_max)
        self.transition = check_choice(transition, "transition", ("difference", "exact"))
        self.with_spectrum = bool(with_spectrum)
        self.log_density = bool(log_density)
        self.fixed_schedule = bool(fixed_schedule)
        self.memory = check_number(0.25 if memory is None else memory, "memory", above=0)

    def extra_repr(self) -> str:
        """The settings, as torch prints them.

        Returns
        -------
        str
        """
        schedule = f"n_scales={self.n_scales}, c_min={self.c_min}, c_max={self.c_max}"
        return f"{schedule}, transition={self.transition!r}"

    def forward(
        self, points: Tensor | Sequence[Tensor], mask: Tensor | None = None, scales: Tensor | None = None
    ) -> Any:
        """Features (B, m, (3 + n) T) of points (B, m, n).

        Parameters
        ----------
        points : (B, m, n), one cloud (m, n), or a list of clouds (m_i, n)
            A list is answered by a list.
        mask : (B, m) bool, optional
            False where a row only fills up: it does not count for the others, and its features are 0.
        scales : (T,) or (B, T), optional
            Diffusion times, in place of the schedule.

        Returns
        -------
        features : (B, m, (3 + n) T)
            A cloud of fewer than two distinct points has no schedule: its features are NaN.
        """
        if isinstance(points, Sequence):
            padded, mask = pad_clouds(points)
            table = self(padded, mask, scales)
            return [row[: len(cloud)] for row, cloud in zip(table, points, strict=True)]
        if isinstance(points, Tensor) and points.ndim == 2:
            return self(points[None], None if mask is None else mask[None], scales)[0]
        points, mask, counted = _checked(points, mask)
        found, *_, defined = self._local(points, counted, scales, self.with_spectrum)
        columns = []
        for channel in table_channels():
            values = channel.values(found)
            if values is not None:
                values = torch.log(values) if channel.log and self.log_density else values
                columns.append(values if channel.per_axis else values[..., None])
        table = torch.where(defined[:, None, None], torch.cat(columns, dim=3).flatten(2), torch.nan)
        return torch.where(mask[:, :, None], table, 0.0).to(points.dtype)

    def global_features(
        self,
        points: Tensor | Sequence[Tensor],
        mask: Tensor | None = None,
        scales: Tensor | None = None,
        *,
        hds_sigma: float = 0.5,
    ) -> Tensor:
        """The global and HDS blocks of each cloud, (B, 4T + 2 (n + 1) T), in the descriptor's order.

        E2, C2, the Dirichlet energy and its ratio to E2; then composition and contrast of the
        heat dimension spectrum. Differentiable like the rest.

        Parameters
        ----------
        points, mask, scales :
            As of `forward`.
        hds_sigma : float
            Width of the heat dimension spectrum.

        Returns
        -------
        whole : (B, 4T + 2 (n + 1) T)
        """
        if isinstance(points, Sequence):
            points, mask = pad_clouds(points)
        if isinstance(points, Tensor) and points.ndim == 2:
            return self.global_features(
                points[None], None if mask is None else mask[None], scales, hds_sigma=hds_sigma
            )[0]
        points, mask, counted = _checked(points, mask)
        found, heat_sums, weight, square, times, defined = self._local(
            points, counted, scales, spectrum=False, energy=True
        )
        n = points.shape[2]
        energy = formulas.energy(weight, heat_factor(2.0 * times, n))
        response = n / 2 - square / weight
        roughness = formulas.roughness(energy, response, times)
        relative = formulas.relative_roughness(energy, roughness)
        hds = dimension_spectrum(heat_sums, found["dimension"], counted, n, hds_sigma)
        table = torch.cat([energy, response, roughness, relative, hds], dim=1)
        return torch.where((defined & mask.any(dim=1))[:, None], table, torch.nan).to(points.dtype)

    def _local(
        self, points: Tensor, mask: Tensor, scales: Tensor | None, spectrum: bool, energy: bool = False
    ) -> tuple[Any, ...]:
        """Channels by name, the density in another unit, sums of g and g D**2 / 8t, times, which have times.

        Clouds are summed in a unit of their own. On the processor by compiled code, in double precision;
        elsewhere by torch, in the precision of the points.
        """
        n = points.shape[2]
        compiled, known = can_compute(points, scales), is_known(points)
        scaled, powers = in_unit(points) if known else (points, np.zeros(len(points), np.int64))
        inner = scaled.double() if compiled else scaled
        request = request_for(
            computed(with_spectrum=spectrum), exact=self.transition == "exact", tol=0.0, energy=True,
            method="dense", dtype=np.dtype(np.float32 if points.dtype == torch.float32 else np.float64),
            n_threads=torch.get_num_threads(),
        )  # fmt: skip
        if scales is None:
            rows = self._rows(points, self.n_scales)
            with torch.set_grad_enabled(torch.is_grad_enabled() and not self.fixed_schedule):
                times, defined = schedule(inner, mask, self.n_scales, self.c_min, self.c_max, rows)
        else:
            least = 1 if request.fourth_moment else 2
            times = by_power(_checked_scales(scales, inner, least), -2 * powers)
            rows = self._rows(points, times.shape[1])
            defined = mask.any(dim=1)
        if known:
            single = points.dtype == torch.float32
            check_times_of(times, powers, mask, defined, n, single=single, energy=energy)
        own_times = by_power(times, 2 * powers)
        channels = [channel for channel in request.channels if channel.formula is not None]
        if compiled:
            *values, weight, square = heat(scaled, mask, times, request)
        else:
            *values, weight, square = self._by_torch(scaled, mask, times, rows, channels, energy)
        found = Outputs((channel.name, value) for channel, value in zip(channels, values, strict=True))
        sums = found["density"]
        if compiled:
            found["density"] = by_power(sums, -n * powers)
        else:
            found["density"] = formulas.density(sums, heat_factor(own_times[:, None, :], n))
        for channel in request.channels:
            if channel.formula is None:
                found[channel.name] = transition_by_difference(found[channel.differences], times)
        return found, sums, weight, square, own_times, defined

    def _by_torch(
        self, points: Tensor, mask: Tensor, times: Tensor, rows: int, channels: list[Channel], energy: bool
    ) -> list[Tensor]:
        """The channels and energies without the compiled core: on any device, for any derivative."""
        m, local, weight = points.shape[1], [], torch.zeros_like(times)
        square = weight
        for first in range(0, m, rows):
            last = min(m, first + rows)
            local.append(_again(local_sums, points, mask, times, first, last, channels))
            if energy:
                part = _again(energy_sums, points, mask, times, first, last)
                weight, square = weight + part[0], square + part[1]
        values = [torch.cat(parts, dim=1) for parts in zip(*local, strict=True)]
        return [*values, weight, square / (8.0 * times)]

    def _rows(self, points: Tensor, n_scales: int) -> int:
        """How many rows fit: differences and D2 of a pair, and what each scale keeps to go back."""
        batch, m, n = points.shape
        row = batch * m * points.element_size() * (n + 1 + n_scales * (6 + 2 * n))
        return max(1, int(self.memory * 2**30) // max(1, row))


class _Again(torch.autograd.Function):
    """A function whose tables are not kept for the backward pass but computed again in it."""

    @staticmethod
    def forward(
        ctx: Any, function: Callable[..., Any], points: Tensor, mask: Tensor, times: Tensor, *rest: Any
    ) -> Any:
        ctx.function, ctx.rest = function, rest
        ctx.save_for_backward(points, mask, times)
        return function(points, mask, times, *rest)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *given: Tensor) -> tuple[Any, ...]:
        points, mask, times = ctx.saved_tensors
        inputs = [t.detach().requires_grad_() for t in (points, times)]
        with torch.autocast(points.device.type, enabled=False):
            with torch.enable_grad():
                outputs = ctx.function(inputs[0], mask, inputs[1], *ctx.rest)
            used = [(o, g) for o, g in zip(outputs, given, strict=True) if o.requires_grad]
            found = torch.autograd.grad([o for o, _ in used], inputs, [g for _, g in used])
        return None, found[0], None, found[1], *(None for _ in ctx.rest)


def _again(function: Callable[..., Any], points: Tensor, mask: Tensor, times: Tensor, *rest: Any) -> Any:
    if torch.is_grad_enabled() and (points.requires_grad or times.requires_grad):
        return _Again.apply(function, points, mask, times, *rest)
    return function(points, mask, times, *rest)


def _checked(points: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Points, the mask, and which rows are counted: the mask with one row of every cloud that has none."""
    if not isinstance(points, Tensor):
        raise ValueError(f"points must be a tensor or a list of tensors, got {type(points).__name__}")
    if points.ndim != 3 or points.shape[1] == 0 or points.shape[2] == 0:
        raise ValueError(f"points must have shape (B, m, n), got {tuple(points.shape)}")
    check_dimension(points.shape[1], points.shape[2], "each cloud of points")
    if points.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"points must be float32 or float64, got {points.dtype}")
    if mask is None:
        mask = torch.ones(points.shape[:2], dtype=torch.bool, device=points.device)
    elif mask.shape != points.shape[:2] or mask.dtype != torch.bool:
        raise ValueError(
            f"mask must be bool of shape {tuple(points.shape[:2])}, got {mask.dtype} of {tuple(mask.shape)}"
        )
    # A cloud without points, a sum over nothing, would be 0 / 0: it gets one at the origin, left out after.
    empty = ~mask.any(dim=1)
    counted = torch.cat([mask[:, :1] | empty[:, None], mask[:, 1:]], dim=1)
    # Rows that only fill up are copies of a real point: far from all of them, 0 / 0 would spoil gradients.
    first = mask.to(torch.uint8).argmax(dim=1)
    copied = points[torch.arange(len(points), device=points.device), first]
    copied = torch.where(empty[:, None], 0.0, copied)[:, None, :]
    points = torch.where(mask[:, :, None], points, copied)
    broken = ~torch.isfinite(points.detach()).all(dim=2)
    if broken.any():
        cloud, row = broken.nonzero()[0].tolist()
        raise ValueError(f"points is not finite in cloud {cloud}, row {row}: {points[cloud, row].tolist()}")
    return points, mask, counted


def _checked_scales(scales: Tensor, points: Tensor, least: int) -> Tensor:
    """Diffusion times (B, T), positive and at least so many."""
    times = torch.atleast_2d(torch.as_tensor(scales, dtype=points.dtype, device=points.device))
    if times.ndim != 2 or times.shape[0] not in (1, points.shape[0]):
        raise ValueError(f"scales must have shape (T,) or ({points.shape[0]}, T), got {tuple(times.shape)}")
    if times.shape[1] < least:
        raise ValueError(
            f"scales must hold at least {least} times, got {times.shape[1]}"
            + ("; use transition='exact' for a single time" if least == 2 else "")
        )
    if not ((times > 0.0) & torch.isfinite(times)).all():
        raise ValueError(f"scales must be positive and finite, got {times.detach().flatten().tolist()[:8]}")
    return times.expand(points.shape[0], -1)


# --- the schedule, and what follows from several scales or points ----------------------


def schedule(
    points: Tensor, mask: Tensor, n_scales: int, c_min: float, c_max: float, rows: int
) -> tuple[Tensor, Tensor]:
    """Diffusion times (B, T) from c_min r_nn**2 to c_max diam**2, evenly in log t; which clouds have them.

    Which point is the nearest neighbour of each, and which two are farthest apart, is found without
    gradients; the distances themselves have them. A cloud of fewer than two distinct points has no
    schedule: its times are 1, and the second result is False.
    """
    fixed = points.detach()
    found = neighbours(fixed, mask) if can_compute(fixed) else neighbours_by_torch(fixed, mask, rows)
    nearest, distinct, ends = found
    at = nearest[:, :, None].expand(-1, -1, points.shape[2])
    gaps = torch.where(distinct[:, :, None], points - points.gather(1, at), 1.0)
    lengths = torch.where(distinct, gaps.square().sum(dim=2).sqrt(), 0.0)
    defined = distinct.any(dim=1)
    spacing = lengths.sum(dim=1) / distinct.sum(dim=1).clamp(min=1)
    farthest = points.gather(1, ends[:, :, None].expand(-1, -1, points.shape[2]))
    diameter2 = (farthest[:, 0] - farthest[:, 1]).square().sum(dim=1)
    # Numbers that are masked out must still be finite, or their gradients would be NaN.
    spacing, diameter2 = torch.where(defined, spacing, 1.0), torch.where(defined, diameter2, 1.0)
    low, high = torch.log(c_min * spacing.square()), torch.log(c_max * diameter2)
    steps = torch.linspace(0.0, 1.0, n_scales, dtype=points.dtype, device=points.device)
    return torch.exp(low[:, None] + steps * (high - low)[:, None]), defined


def transition_by_difference(dimensions: Tensor, times: Tensor) -> Tensor:
    """tau (B, m, T) by differences of d_heat across the scales (B, T)."""
    d, log_t = dimensions.movedim(2, 0), torch.log(times).T[:, :, None]  # the scales first
    return torch.cat(formulas.transition_by_difference(d, log_t)).movedim(0, 2)


def dimension_spectrum(heat: Tensor, d: Tensor, mask: Tensor, n: int, sigma: float) -> Tensor:
    """p_geo and delta p, (B, 2 (n + 1) T), each centre by centre, scale by scale.

    ``heat`` is the density up to a factor of each cloud and scale.
    """
    logs = [formulas.log_membership(d, center, sigma) for center in range(n + 1)]
    eta = torch.softmax(torch.stack(logs, dim=1), dim=1)
    counted = mask[:, None, :, None]
    heat = torch.where(counted[:, 0], heat, 0.0)
    plain, weighted = (
        torch.where(counted, part, 0.0).sum(dim=2) for part in (eta, heat[:, None] * eta)
    )  # (B, n + 1, T)
    composition = formulas.composition(plain, mask.sum(dim=1)[:, None, None])
    contrast = formulas.contrast(weighted, heat.sum(dim=1)[:, None], composition)
    return torch.cat([composition.flatten(1), contrast.flatten(1)], dim=1)


# --- the unit in which clouds are summed, and the declared range -----------------------


def in_unit(points: Tensor) -> tuple[Tensor, Powers]:
    """Points (B, m, n) over powers of two, so that each cloud spans between 1 and 2; and these powers (B,).

    Distances are then squared, and squared again, within the range of single precision, and a power of two
    rounds nothing. A cloud that spans no length of the declared range is an OutOfRangeError.
    """
    low, high = (_numbers(corner(points.detach(), dim=1)) for corner in (torch.amin, torch.amax))
    for i in range(len(low)):
        _named(lambda i=i: check_extent(low[i], high[i], least=LEAST_LENGTH), i, len(low))  # type: ignore[misc]
    extent = (high - low).max(axis=1)
    powers = np.where(extent > 0.0, np.frexp(extent)[1] - 1, 0).astype(np.int64)
    return by_power(points, -powers), powers


def by_power(values: Tensor, powers: Powers) -> Tensor:
    """``values`` (B, ...) times 2**powers, cloud by cloud."""
    shape = (-1,) + (1,) * (values.ndim - 1)
    # In two steps: the whole power may leave the range of single precision.
    for part in (powers // 2, powers - powers // 2):
        factor = torch.as_tensor(np.ldexp(1.0, part), dtype=values.dtype, device=values.device)
        values = values * factor.reshape(shape)
    return values


def heat_factor(times: Tensor, n: int) -> Tensor:
    """`formulas.heat_factor`; its derivative is this factor over t, since one power more may be no number."""
    growth = torch.log(times) - torch.log(times.detach())  # 0, with the derivative of the logarithm
    return formulas.heat_factor(times.detach(), n) * torch.exp(-n / 2 * growth)


def check_times_of(
    times: Tensor, powers: Powers, mask: Tensor, defined: Tensor, n: int, *, single: bool, energy: bool
) -> None:
    """`check_times` for every cloud that has times; ``times`` (B, T) in the unit of `in_unit`.

    ``single``: results are in single precision, whatever the precision of the times.
    """
    table = np.ldexp(_numbers(times), 2 * powers[:, None])
    counts = mask.sum(dim=1).tolist()
    for i in np.flatnonzero(_numbers(defined)).tolist():
        _named(
            lambda i=i: check_times(table[i], counts[i], n, single=single, energy=energy),  # type: ignore[misc]
            i, len(table),
        )  # fmt: skip


def _named(check: Callable[[], None], cloud: int, clouds: int) -> None:
    """Run a check; where there are several clouds, its error names the one."""
    try:
        check()
    except OutOfRangeError as error:
        raise OutOfRangeError(error.problem, cloud if clouds > 1 else None) from None


def _numbers(values: Tensor) -> NDArray[np.float64]:
    return values.detach().cpu().to(torch.float64).numpy()


# --- without gradients, with a cache ---------------------------------------------------


class ClosedFormFeatures:
    """From one cloud (m, n) to its point features (m, F) and whole features (W,), by the compiled core.

    For clouds whose coordinates need no gradients; what was computed can be kept in files. Use it
    as the ``transform`` of a torch data set; it may be copied to DataLoader workers.

    Guide: ``heatfield docs guide/learning``.

    Parameters
    ----------
    blocks : sequence of str, optional
        Some of "global", "log_global", "hds" (of the whole cloud) and "density", "log_density",
        "dimension", "transition", "spectrum", "gradient", "neighbourhood" (of each point). The default is the
        paper's.
    cache : path-like, optional
        A folder that keeps the features of every cloud, under a hash of its points and of the settings.
    dtype : torch.dtype
        Of the tensors that are returned; the sums are in double precision.
    **options
        ``n_scales, c_min, c_max, transition, method`` as of `heatfield.signatures`.

    Examples
    --------
    >>> import numpy as np
    >>> from heatfield.nn import ClosedFormFeatures
    >>> rows, whole = ClosedFormFeatures()(np.random.default_rng(0).normal(size=(60, 3)))
    >>> rows.shape, whole.shape
    (torch.Size([60, 48]), torch.Size([96]))
    """

    def __init__(
        self,
        blocks: Iterable[str] | None = None,
        *,
        cache: str | Path | None = None,
        dtype: torch.dtype = torch.float32,
        **options: Any,
    ) -> None:
        self.blocks = blocks if blocks is None or isinstance(blocks, str) else tuple(blocks)
        self.options: dict[str, Any] = {"blocks": self.blocks, **options}
        self.cache = None if cache is None else Path(cache)
        self.dtype = dtype
        PointSettings(3, **self.options)  # raises an error here, not in a worker

    def __call__(self, points: Any) -> tuple[Tensor, Tensor]:
        """Features of one cloud, an array or a tensor."""
        cloud = as_points(points.detach().cpu().numpy() if isinstance(points, Tensor) else points)
        recipe = PointSettings(cloud.shape[1], **self.options)
        rows, whole = self._kept(cloud, recipe) if self.cache is not None else features_of(cloud, recipe)
        return torch.from_numpy(rows).to(self.dtype), torch.from_numpy(whole).to(self.dtype)

    def _kept(self, cloud: np.ndarray, recipe: PointSettings) -> tuple[np.ndarray, np.ndarray]:
        assert self.cache is not None
        text = json.dumps([SCHEMA, recipe.identity(), cloud.shape], sort_keys=True).encode()
        place = self.cache / f"{hashlib.sha256(text + cloud.tobytes()).hexdigest()[:32]}.safetensors"
        try:
            with open_regular(place) as file:
                found = load(file.read())
            rows, whole = found["rows"], found["whole"]
            shape = (max(1, len(cloud)), len(recipe.point_names))
            fits = rows.shape == shape and whole.shape == (len(recipe.whole_names),)
            if fits and rows.dtype == whole.dtype == np.float64:
                return rows, whole
        # Missing, damaged because the disk was full, or of a type that numpy does not have.
        except (OSError, SafetensorError, LookupError, TypeError, AttributeError):
            pass
        rows, whole = features_of(cloud, recipe)
        self.cache.mkdir(parents=True, exist_ok=True)
        write_atomically(place, save({"rows": np.ascontiguousarray(rows), "whole": whole}))
        return rows, whole

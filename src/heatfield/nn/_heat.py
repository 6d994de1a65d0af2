"""The paper's sums over pairs in torch: some rows of a batch of clouds at a time.

Squared distances come from differences, never from |a|**2 + |b|**2 - 2ab, which cancels.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ._compiled_heat import can_compute
from ._neighbours import neighbours


def squared_distances(points: Tensor, first: int, last: int) -> tuple[Tensor, Tensor]:
    """r[b, i, j] = x_j - x_i for rows first..last, and D2 = |r|**2."""
    r = points[:, None, :, :] - points[:, first:last, None, :]
    return r, (r * r).sum(dim=3)


def schedule(
    points: Tensor, mask: Tensor, n_scales: int, c_min: float, c_max: float, rows: int
) -> tuple[Tensor, Tensor]:
    """Diffusion times (B, T) from c_min r_nn**2 to c_max diam**2, evenly in log t; which clouds have them.

    Which point is the nearest neighbour of each, and which two are farthest apart, is found without
    gradients; the distances themselves have them. A cloud of fewer than two distinct points has no
    schedule: its times are 1, and the second result is False.
    """
    fixed = points.detach()
    compiled = can_compute(fixed)
    nearest, distinct, ends = neighbours(fixed, mask) if compiled else _neighbours(fixed, mask, rows)
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


@torch.no_grad()
def _neighbours(points: Tensor, mask: Tensor, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Nearest distinct point (B, m); which points count (first of their place, B, m); the farthest two."""
    batch, m, _ = points.shape
    nearest = torch.zeros((batch, m), dtype=torch.long, device=points.device)
    distinct = torch.zeros((batch, m), dtype=torch.bool, device=points.device)
    best = torch.full((batch,), -1.0, dtype=points.dtype, device=points.device)
    ends = torch.zeros((batch, 2), dtype=torch.long, device=points.device)
    place = torch.arange(m, device=points.device)
    for first in range(0, m, rows):
        last = min(m, first + rows)
        _, d2 = squared_distances(points, first, last)
        both = mask[:, None, :] & mask[:, first:last, None]
        same = both & (d2 == 0.0)
        gaps = torch.where(both & ~same, d2, torch.inf)
        shortest, nearest[:, first:last] = gaps.min(dim=2)
        earlier = (same & (place[None, None, :] < place[None, first:last, None])).any(dim=2)
        distinct[:, first:last] = mask[:, first:last] & ~earlier & torch.isfinite(shortest)
        longest, at = torch.where(both, d2, -1.0).flatten(1).max(dim=1)
        better = longest > best
        best = torch.where(better, longest, best)
        found = torch.stack([first + at // m, at % m], dim=1)
        ends = torch.where(better[:, None], found, ends)
    return nearest, distinct, ends


def local_sums(
    points: Tensor, mask: Tensor, times: Tensor, first: int, last: int, exact: bool, spectrum: bool
) -> tuple[Tensor, ...]:
    """W, d_heat, tau (empty unless ``exact``) (B, rows, T) and 2t lambda (B, rows, T, n).

    W is the sum of w = exp(-D**2 / 4t); the density is (4 pi t)**(-n/2) W.
    """
    # Where a network runs in mixed precision, its matrix products are in half: too few digits for a spectrum.
    with torch.autocast(points.device.type, enabled=False):
        return _local_sums(points, mask, times, first, last, exact, spectrum)


def _local_sums(
    points: Tensor, mask: Tensor, times: Tensor, first: int, last: int, exact: bool, spectrum: bool
) -> tuple[Tensor, ...]:
    r, d2 = squared_distances(points, first, last)
    counted = mask[:, None, :]
    columns: list[list[Tensor]] = [[], [], [], []]
    for t in times.unbind(dim=1):
        t = t[:, None]  # (B, 1): over the rows
        w = torch.where(counted, torch.exp(-d2 / (4.0 * t[:, :, None])), 0.0)
        weight_sum = w.sum(dim=2)
        mean_d2 = (w * d2).sum(dim=2) / weight_sum
        d = mean_d2 / (2.0 * t)
        columns[0].append(weight_sum)
        columns[1].append(d)
        if exact:  # two passes: a difference of means would cancel in single precision
            variance = (w * (d2 - mean_d2[:, :, None]).square()).sum(dim=2) / weight_sum
            columns[2].append(variance / (8.0 * t.square()) - d)
        if spectrum:
            weighted = w[:, :, None, :] @ r / weight_sum[:, :, None, None]  # <r>, (B, rows, 1, n)
            second = (w[:, :, :, None] * r).transpose(2, 3) @ r / weight_sum[:, :, None, None]
            covariance = second - weighted.transpose(2, 3) * weighted
            # Eigenvalues alone have the gradient V diag(g) V', finite also where they coincide.
            values = torch.linalg.eigvalsh(covariance / (2.0 * t[:, :, None, None]))
            columns[3].append(values.flip(-1) - 1.0)
    empty = points.new_zeros(0)
    return tuple(torch.stack(c, dim=2) if c else empty for c in columns)


def energy_sums(points: Tensor, mask: Tensor, times: Tensor, first: int, last: int) -> tuple[Tensor, Tensor]:
    """The sums over pairs of g = exp(-D**2 / 8t) and of D**2 g, (B, T), of some rows."""
    _, d2 = squared_distances(points, first, last)
    both = mask[:, None, :] & mask[:, first:last, None]
    weights, squares = [], []
    for t in times.unbind(dim=1):
        g = torch.where(both, torch.exp(-d2 / (8.0 * t[:, None, None])), 0.0)
        weights.append(g.sum(dim=(1, 2)))
        squares.append((g * d2).sum(dim=(1, 2)))
    return torch.stack(weights, dim=1), torch.stack(squares, dim=1)


def transition_by_difference(dimensions: Tensor, times: Tensor) -> Tensor:
    """tau = d(d_heat) / d(log t), (B, m, T): second-order differences, one-sided at both ends."""
    gaps = torch.diff(torch.log(times), dim=1)[:, None, :]
    slopes = torch.diff(dimensions, dim=2) / gaps
    before, after = gaps[:, :, :-1], gaps[:, :, 1:]
    inner = (before * slopes[:, :, 1:] + after * slopes[:, :, :-1]) / (before + after)
    return torch.cat([slopes[:, :, :1], inner, slopes[:, :, -1:]], dim=2)


def dimension_spectrum(heat: Tensor, d: Tensor, mask: Tensor, centers: Tensor, sigma: float) -> Tensor:
    """p_geo and delta p, (B, 2 K T): composition and then contrast, each centre by centre, scale by scale.

    ``heat`` is the density up to a factor of each cloud and scale.
    """
    eta = torch.softmax(-(d[..., None] - centers).square() / (2.0 * sigma**2), dim=3)
    counted = mask[:, :, None, None]
    composition = torch.where(counted, eta, 0.0).sum(dim=1) / mask.sum(dim=1)[:, None, None]
    heat = torch.where(mask[:, :, None], heat, 0.0)
    weighted = torch.where(counted, heat[..., None] * eta, 0.0).sum(dim=1) / heat.sum(dim=1)[..., None]
    parts = [part.transpose(1, 2).flatten(1) for part in (composition, weighted - composition)]
    return torch.cat(parts, dim=1)

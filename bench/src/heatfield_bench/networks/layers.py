"""What several networks are put together from: shared layers over rows, and which points a layer sees.

Farthest points, balls and nearest points of clouds of one size, (B, m, n): single precision on a processor is
compiled, one pass per cloud; elsewhere torch's own operations do the same for all clouds of the batch at
once. Squared distances are sums of squared differences in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from heatfield._base.check import check_count

from .._tools import compiled


def checked_widths(widths: Sequence[int], name: str) -> list[int]:
    """Widths of layers, at least one."""
    found = [check_count(width, name, 1) for width in widths]
    if not found:
        raise ValueError(f"{name} is empty: at least one layer is needed")
    return found


def shared_layers(before: int, widths: Sequence[int], name: str) -> nn.Sequential:
    """Linear, batch norm and ReLU, over rows (P, before). Biases before the norm as published."""
    layers: list[nn.Module] = []
    for after in checked_widths(widths, name):
        layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU(inplace=True)]
        before = after
    return nn.Sequential(*layers)


def read_out(before: int, widths: Sequence[int], n_classes: int, dropout: float) -> nn.Sequential:
    """Linear, batch norm, ReLU and dropout a hidden layer, then the classes."""
    layers: list[nn.Module] = []
    for after in checked_widths(widths, "head"):
        layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU(inplace=True)]
        layers.append(nn.Dropout(dropout))
        before = after
    return nn.Sequential(*layers, nn.Linear(before, n_classes))


def over_rows(layers: nn.Module, values: Tensor) -> Tensor:
    """Layers over the last axis of values (..., C): all other axes are rows to them."""
    return layers(values.reshape(-1, values.shape[-1])).view(*values.shape[:-1], -1)


class _CountedNorm(torch.autograd.Function):
    """(x - mean) / sqrt(variance + eps), mean and variance over rows that count ``often`` times."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, often: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        share = often / often.sum()
        mean = share @ rows
        scaled = rows - mean
        variance = share @ scaled.square()
        factor = torch.rsqrt(variance + eps)
        scaled *= factor
        ctx.save_for_backward(scaled, factor, share)
        ctx.mark_non_differentiable(mean, variance)
        return scaled, mean, variance

    @staticmethod
    def backward(ctx: Any, given: Tensor, *_: Tensor) -> tuple[Tensor, None, None]:
        scaled, factor, share = ctx.saved_tensors
        along = (given * scaled).sum(dim=0)
        back = torch.addcmul(given.sum(dim=0), scaled, along).mul_(share[:, None])
        return torch.sub(given, back).mul_(factor), None, None


def counted_norm(norm: nn.BatchNorm1d, rows: Tensor, often: Tensor) -> Tensor:
    """``norm`` over rows (P, C) as if each stood there ``often`` times; only one of them is returned."""
    if not norm.training:
        return norm(rows)
    scaled, mean, variance = _CountedNorm.apply(rows, often, norm.eps)
    with torch.no_grad():
        count = float(often.sum())
        norm.running_mean.lerp_(mean, norm.momentum)
        norm.running_var.lerp_(variance * (count / max(1.0, count - 1.0)), norm.momentum)
        norm.num_batches_tracked += 1
    return torch.addcmul(norm.bias, scaled, norm.weight)


def _is_compiled(points: Tensor) -> bool:
    return points.device.type == "cpu" and points.dtype == torch.float32


def _array(tensor: Tensor) -> Any:
    return tensor.detach().contiguous().numpy()


@torch.no_grad()
def farthest_points(points: Tensor, count: int) -> Tensor:
    """Indices (B, count) of points that are far from each other: farthest-point sampling.

    The first is the one farthest from the mean of the cloud, each further one that farthest from all before;
    of equals the first. The published codes begin at the first point of the file, or at a random
    one; this choice does not depend on the order of the points.
    """
    batch, m, _ = points.shape
    if not 1 <= count <= m:
        raise ValueError(f"count must lie between 1 and the {m} points, got {count}")
    out = torch.empty((batch, count), dtype=torch.int64, device=points.device)
    centre = points.mean(dim=1)
    if _is_compiled(points):
        _farthest(_array(points), _array(centre), out.numpy())
        return out
    gaps = (points - centre[:, None]).square().sum(dim=2)
    out[:, 0] = gaps.argmax(dim=1)
    rows = torch.arange(batch, device=points.device)
    gaps.fill_(torch.inf)
    for place in range(1, count):
        last = points[rows, out[:, place - 1]]
        gaps = torch.minimum(gaps, (points - last[:, None]).square().sum(dim=2))
        out[:, place] = gaps.argmax(dim=1)
    return out


@compiled()
def _farthest(points: Any, centre: Any, out: Any) -> None:
    batch, m, n = points.shape
    gaps = np.empty(m, np.float32)
    for b in range(batch):
        last = centre[b]
        for place in range(out.shape[1]):
            best, at = np.float32(-1.0), 0
            for i in range(m):
                gap = np.float32(0.0)
                for c in range(n):
                    step = points[b, i, c] - last[c]
                    gap += step * step
                if place > 1 and gaps[i] < gap:  # the distance from the mean chose the first, and no more
                    gap = gaps[i]
                gaps[i] = gap
                if gap > best:
                    best, at = gap, i
            out[b, place] = at
            last = points[b, at]


@torch.no_grad()
def in_ball(centres: Tensor, points: Tensor, radius: float, count: int) -> tuple[Tensor, Tensor]:
    """Indices (B, q, count) of points nearer than ``radius`` to each centre, and how many differ (B, q).

    Where more than ``count`` are, every so manyth by distance is taken, so that they reach from the centre to
    the rim. (The published codes take those that come first in the file: an arbitrary part of the ball, too,
    but one that depends on the order of the points.) Where fewer are, the nearest comes first and fills up
    what is left; the published codes fill up with the first of the file. A ball without points gives the
    nearest point.
    """
    shape = (*centres.shape[:2], count)
    if _is_compiled(points):
        out, sizes = torch.empty(shape, dtype=torch.int64), torch.empty(shape[:2], dtype=torch.int64)
        _ball(_array(centres), _array(points), np.float32(radius) ** 2, out.numpy(), sizes.numpy())
        return out, sizes
    gaps, order = _gaps(centres, points).sort(dim=2, stable=True)
    found = (gaps < radius**2).sum(dim=2, keepdim=True).clamp(min=1)
    place = torch.arange(count, device=points.device).expand(shape)
    spread = place * found // count
    chosen = order.gather(2, torch.where(found > count, spread, place.where(place < found, 0)))
    return chosen, found[:, :, 0].clamp(max=count)


@compiled()
def _ball(centres: Any, points: Any, limit: Any, out: Any, sizes: Any) -> None:
    batch, m, n = points.shape
    count = out.shape[2]
    gaps, at = np.empty(m, np.float32), np.empty(m, np.int64)
    for b in range(batch):
        for q in range(centres.shape[1]):
            found, best, nearest, place = 0, np.float32(np.inf), 0, 0
            for i in range(m):
                gap = np.float32(0.0)
                for c in range(n):
                    step = points[b, i, c] - centres[b, q, c]
                    gap += step * step
                if gap < best:
                    best, nearest, place = gap, i, found
                if gap < limit:
                    gaps[found], at[found] = gap, i
                    found += 1
            mine = out[b, q]
            if found > count:
                order = np.argsort(gaps[:found], kind="mergesort")
                for turn in range(count):
                    mine[turn] = at[order[turn * found // count]]
            else:
                if found > 0:
                    at[place] = at[0]
                    mine[1:found] = at[1:found]
                mine[0] = nearest
                mine[max(1, found) :] = nearest
            sizes[b, q] = min(max(1, found), count)


@torch.no_grad()
def nearest_points(centres: Tensor, points: Tensor, k: int) -> Tensor:
    """Indices (B, q, min(k, m)) of the points nearest to each centre, nearest first."""
    k = min(k, points.shape[1])
    if not _is_compiled(points):
        return _gaps(centres, points).topk(k, dim=2, largest=False).indices
    out = torch.empty((*centres.shape[:2], k), dtype=torch.int64)
    _nearest(_array(centres), _array(points), out.numpy())
    return out


@compiled()
def _nearest(centres: Any, points: Any, out: Any) -> None:
    batch, m, n = points.shape
    k = out.shape[2]
    best = np.empty(k, np.float32)
    for b in range(batch):
        for q in range(centres.shape[1]):
            mine = out[b, q]
            best[:] = np.inf
            mine[:] = 0
            for i in range(m):
                gap = np.float32(0.0)
                for c in range(n):
                    step = points[b, i, c] - centres[b, q, c]
                    gap += step * step
                if gap < best[k - 1]:
                    place = k - 1
                    while place > 0 and gap < best[place - 1]:
                        best[place], mine[place] = best[place - 1], mine[place - 1]
                        place -= 1
                    best[place], mine[place] = gap, i


def _gaps(centres: Tensor, points: Tensor) -> Tensor:
    """Squared distances (B, q, m), by differences: no digits are lost where points are close."""
    return (centres[:, :, None] - points[:, None]).square().sum(dim=3)


def taken(values: Tensor, at: Tensor) -> Tensor:
    """Rows of values (B, m, C) at indices (B, ...) of their own cloud, (B, ..., C)."""
    batch, m, width = values.shape
    offset = torch.arange(batch, device=at.device).mul_(m).view(-1, *[1] * (at.dim() - 1))
    rows = values.reshape(batch * m, width).index_select(0, (at + offset).flatten())
    return rows.view(*at.shape, width)

"""What several networks are put together from: shared layers over rows, and which points a layer sees.

Farthest points and balls of clouds of one size, (B, m, n), are found on the processor, cloud by cloud, by
sums of squared differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from heatfield import _core
from heatfield._base.check import check_count
from heatfield.nn.dgcnn import nearest

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


def read_out(
    before: int, widths: Sequence[int], n_classes: int, dropout: float, activation: nn.Module | None = None
) -> nn.Sequential:
    """Linear, batch norm, ReLU (or another) and dropout a hidden layer, then the classes."""
    layers: list[nn.Module] = []
    for after in checked_widths(widths, "head"):
        layers += [nn.Linear(before, after), nn.BatchNorm1d(after), activation or nn.ReLU(inplace=True)]
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


def starts_of(points: Tensor) -> Tensor:
    """Where the clouds of (B, m, n) begin if their points are put in one table, (B + 1,)."""
    return torch.arange(points.shape[0] + 1, device=points.device) * points.shape[1]


def _array(tensor: Tensor) -> Any:
    return tensor.detach().cpu().float().contiguous().numpy()


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
    out = np.empty((batch, count), np.int64)
    for rows, cloud in zip(out, _array(points).astype(np.float64), strict=True):
        sources = np.ascontiguousarray((cloud - cloud.mean(axis=0)).T)
        rows[0] = (sources**2).sum(axis=0).argmax()
        found = _core.farthest(sources, np.full(m, np.inf), rows, 0, count - 1)
        rows[found:] = rows[0]  # only copies of chosen points are left
    return torch.from_numpy(out).to(points.device)


@torch.no_grad()
def in_ball(centres: Tensor, points: Tensor, radius: float, count: int) -> tuple[Tensor, Tensor]:
    """Indices (B, q, count) of points nearer than ``radius`` to each centre, and how many differ (B, q).

    Where more than ``count`` are, every k-th by distance is taken, so that they reach from the centre to
    the rim. (The published codes take those that come first in the file: an arbitrary part of the ball, too,
    but one that depends on the order of the points.) Where fewer are, the nearest comes first and fills up
    what is left; the published codes fill up with the first of the file. A ball without points gives the
    nearest point.
    """
    shape = (*centres.shape[:2], count)
    out, sizes = torch.empty(shape, dtype=torch.int64), torch.empty(shape[:2], dtype=torch.int64)
    _ball(_array(centres), _array(points), np.float32(radius) ** 2, out.numpy(), sizes.numpy())
    return out.to(points.device), sizes.to(points.device)


@compiled
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
def nearest_points(points: Tensor, k: int) -> Tensor:
    """Indices (B, m, min(k, m)) of the points nearest to each point, itself included."""
    batch, m, _ = points.shape
    rows = nearest(points.flatten(0, 1), starts_of(points), min(k, m), exact=True)
    return rows.view(batch, m, -1) - starts_of(points)[:-1, None, None]


def taken(values: Tensor, at: Tensor) -> Tensor:
    """Rows of values (B, m, C) at indices (B, ...) of their own cloud, (B, ..., C)."""
    batch, m, width = values.shape
    offset = torch.arange(batch, device=at.device).mul_(m).view(-1, *[1] * (at.dim() - 1))
    rows = values.reshape(batch * m, width).index_select(0, (at + offset).flatten())
    return rows.view(*at.shape, width)

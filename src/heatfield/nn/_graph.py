"""Nearest neighbours within each cloud of a packed batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._jit import compiled
from ._segments import owners


@compiled()
def _smallest(distances: Any, starts: Any, k: int, out: Any) -> None:
    """The k nearest of every point, nearest first, as rows of the packed table; itself where too few."""
    best = np.empty(k, np.float32)
    for b in range(starts.shape[0] - 1):
        first, size = starts[b], starts[b + 1] - starts[b]
        found = min(k, size)
        for i in range(size):
            row, mine = distances[b, i], out[first + i]
            best[:] = np.inf
            mine[:] = first + i
            for j in range(size):
                if row[j] < best[found - 1]:
                    place = found - 1
                    while place > 0 and row[j] < best[place - 1]:
                        best[place], mine[place] = best[place - 1], mine[place - 1]
                        place -= 1
                    best[place], mine[place] = row[j], first + j


@torch.no_grad()
def nearest(values: Tensor, starts: Tensor, k: int, *, exact: bool) -> Tensor:
    """Rows of the k nearest points of the same cloud, (P, k), each point itself included.

    ``exact`` takes differences, as coordinates need; otherwise |a|**2 + |b|**2 - 2ab, which is one
    matrix product and good enough for features of order one. Clouds of fewer than k points
    repeat the point itself.
    """
    owner, sizes = owners(starts, values.shape[0])
    most = int(sizes.max())
    place = torch.arange(values.shape[0], device=values.device) - starts[owner]
    padded = values.new_zeros((len(sizes), most, values.shape[1]))
    padded[owner, place] = values
    if exact:
        distances = torch.cdist(padded, padded, compute_mode="donot_use_mm_for_euclid_dist")
    else:
        norms = padded.square().sum(dim=2)
        distances = torch.baddbmm(
            norms[:, None, :] + norms[:, :, None], padded, padded.transpose(1, 2), alpha=-2.0
        )
    if values.device.type == "cpu" and values.dtype == torch.float32:
        out = torch.empty((values.shape[0], k), dtype=torch.int64)
        _smallest(distances.numpy(), starts.numpy(), k, out.numpy())
        return out
    beyond = torch.arange(most, device=values.device) >= sizes[:, None]
    distances = distances.masked_fill(beyond[:, None, :], torch.inf)
    gaps, at = distances.topk(min(k, most), dim=2, largest=False)
    mine = torch.arange(most, device=values.device)[None, :, None]
    at = torch.where(torch.isfinite(gaps), at, mine)
    at = torch.cat([at, mine.expand(len(sizes), most, k - at.shape[2])], dim=2)
    return at[owner, place] + starts[owner][:, None]

"""Nearest neighbours within each cloud of a packed batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._base.compile import compiled
from ._segments import checked_edges

# Distances that are held at once: a batch of 32 clouds of 1024 points, 128 MiB in single precision.
_PAIRS = 1 << 25


@compiled()
def _smallest(distances: Any, starts: Any, begin: int, k: int, out: Any) -> None:
    """The k nearest of every point, nearest first, as rows of the packed table; itself where too few.

    ``distances`` are those of the rows of each cloud from ``begin`` on.
    """
    best = np.empty(k, np.float32)
    for b in range(starts.shape[0] - 1):
        first, size = starts[b], starts[b + 1] - starts[b]
        found = min(k, size)
        for i in range(begin, min(size, begin + distances.shape[1])):
            row, mine = distances[b, i - begin], out[first + i]
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
    edges = checked_edges(starts, values.shape[0])
    sizes = np.diff(edges)
    values = values if values.dtype == torch.float64 else values.float()
    out = torch.empty((values.shape[0], k), dtype=torch.int64, device=values.device)
    for first, last, begin, end in _pieces(sizes.tolist()):
        some = starts[first : last + 1]
        padded = torch.nn.utils.rnn.pad_sequence(
            [values[edges[b] : edges[b + 1]] for b in range(first, last)], batch_first=True
        )
        with torch.autocast(values.device.type, enabled=False):  # half precision is too coarse for distances
            distances = _distances(padded[:, begin:end], padded, exact)
        if values.device.type == "cpu" and values.dtype == torch.float32:
            _smallest(distances.numpy(), some.numpy(), begin, k, out.numpy())
        else:
            _smallest_by_torch(distances, some, begin, k, out)
    return out


def _pieces(sizes: list[int]) -> Iterator[tuple[int, int, int, int]]:
    """Clouds first..last that fit together, and which of their rows: all, but where one is too large."""
    first = 0
    while first < len(sizes):
        last, most = first + 1, sizes[first]
        while last < len(sizes) and (last + 1 - first) * max(most, sizes[last]) ** 2 <= _PAIRS:
            most = max(most, sizes[last])
            last += 1
        step = most if most**2 <= _PAIRS else max(1, _PAIRS // most)
        for begin in range(0, most, step):
            yield first, last, begin, min(most, begin + step)
        first = last


def _distances(rows: Tensor, padded: Tensor, exact: bool) -> Tensor:
    """(B, rows, m); squared unless ``exact``."""
    if exact:
        return torch.cdist(rows, padded, compute_mode="donot_use_mm_for_euclid_dist")
    norms = padded.square().sum(dim=2)[:, None, :] + rows.square().sum(dim=2)[:, :, None]
    return torch.baddbmm(norms, rows, padded.transpose(1, 2), alpha=-2.0)


def _smallest_by_torch(distances: Tensor, starts: Tensor, begin: int, k: int, out: Tensor) -> None:
    """What `_smallest` does, on any device."""
    sizes = torch.diff(starts)[:, None]
    most = distances.shape[2]
    place = torch.arange(most, device=distances.device)
    gaps, at = distances.masked_fill((place >= sizes)[:, None, :], torch.inf).topk(
        min(k, most), dim=2, largest=False
    )
    mine = place[None, begin : begin + distances.shape[1], None]
    at = torch.where(torch.isfinite(gaps), at, mine)
    at = torch.cat([at, mine.expand(*at.shape[:2], k - at.shape[2])], dim=2)
    real = mine[:, :, 0] < sizes
    out[(mine[:, :, 0] + starts[:-1, None])[real]] = (at + starts[:-1, None, None])[real]

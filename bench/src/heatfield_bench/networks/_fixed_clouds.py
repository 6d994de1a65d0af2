"""Clouds of any size brought to one number of points, as these networks need them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heatfield._base.check import Array
from heatfield._features.unit_ball import unit_ball

# Points that are classified together; the tables of a batch of PointNet2 (MSG) take about a gigabyte then.
_POINTS = 1 << 14


def drawn_rows(size: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """``count`` rows of a cloud of ``size`` points, in order.

    Of a larger cloud without replacement; of a smaller one all points equally often, up to one.
    """
    whole, rest = divmod(count, size)
    extra = rng.choice(size, rest, replace=False)
    return np.sort(np.concatenate([np.tile(np.arange(size), whole), extra]))


class FixedClouds:
    """Clouds in space with ``n_points`` points each, centred and scaled to the unit ball after the draw.

    The draw depends on the seed and on the size of a cloud alone: it is the same in training and
    prediction, whichever clouds are beside it, and however the cloud is turned.
    """

    def __init__(
        self, clouds: Sequence[Array], n_points: int, seed: int, device: torch.device, *, keep: bool = False
    ) -> None:
        self.n_points, self.device = n_points, device
        rows: dict[int, NDArray[np.int64]] = {}
        points = np.zeros((len(clouds), n_points, 3), np.float32)
        self.whole: list[NDArray[np.float32]] = []
        for i, cloud in enumerate(clouds):
            size, n_dims = cloud.shape
            if keep:
                self.whole.append(np.zeros((max(1, size), 3), np.float32))
            if size == 0:  # a single point in the middle
                continue
            if size not in rows:
                rows[size] = drawn_rows(size, n_points, np.random.default_rng([seed, size, n_points]))
            points[i, :, :n_dims] = unit_ball(cloud[rows[size]])
            if keep:
                self.whole[-1][:, :n_dims] = unit_ball(cloud)
        self.points = torch.from_numpy(points)

    def __len__(self) -> int:
        return len(self.points)

    def batch(
        self, clouds: NDArray, points: int | None = None, rng: np.random.Generator | None = None
    ) -> tuple[Tensor, ...]:
        """Coordinates (B, n_points, 3); with ``points``, so many, drawn anew."""
        if points is None or rng is None:
            return (self.points[torch.from_numpy(np.asarray(clouds))].to(self.device),)
        drawn = [self.whole[i][drawn_rows(len(self.whole[i]), points, rng)] for i in clouds]
        found = torch.from_numpy(np.stack([unit_ball(cloud) for cloud in drawn]))
        return (found.to(self.device),)

    def pieces(self) -> Iterator[NDArray]:
        """All clouds in order, in runs that fit into memory together."""
        step = max(1, _POINTS // self.n_points)
        for first in range(0, len(self), step):
            yield np.arange(first, min(len(self), first + step))

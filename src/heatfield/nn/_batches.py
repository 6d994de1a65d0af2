"""Batches of packed clouds: the points of some clouds, one cloud after the other, standardised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .._base.check import Array
from .._features.point_table import PointTable, packed


@dataclass(frozen=True)
class Scaling:
    """Means and standard deviations of the training set; features constant up to round-off become 0."""

    mean: Array
    scale: Array
    constant: NDArray[np.bool_]

    @classmethod
    def of_points(cls, table: PointTable, tolerance: float) -> Scaling:
        """Of the point features of a table, in their own unit."""
        count, total, squares = 0, 0.0, 0.0
        low, high = np.inf, -np.inf
        for first in range(0, len(table.rows), 1 << 16):  # in double precision, a piece at a time
            piece = table.rows[first : first + (1 << 16)].astype(np.float64)
            piece = piece[np.isfinite(piece).all(axis=1)]
            if len(piece):
                count, total = count + len(piece), total + piece.sum(axis=0)
                squares = squares + (piece**2).sum(axis=0)
                low, high = np.minimum(low, piece.min(axis=0)), np.maximum(high, piece.max(axis=0))
        if count == 0:
            raise ValueError("no training cloud has two distinct points: there is nothing to learn from")
        mean = total / count
        deviation = np.sqrt(np.maximum(0.0, squares / count - mean**2)) * table.unit
        ends = [np.abs(table.shift + table.unit * end) for end in (low, high)]
        return cls._of(
            table.shift + table.unit * mean,
            deviation,
            np.maximum(*ends),
            table.recipe.magnitudes()[0],
            tolerance,
        )

    @classmethod
    def of_whole(cls, table: PointTable, tolerance: float) -> Scaling:
        """Of the features of whole clouds; gaps do not count."""
        finite = np.where(np.isfinite(table.whole), table.whole, np.nan)
        known = np.isfinite(finite).any(axis=0)
        mean, deviation, largest = np.zeros((3, finite.shape[1]))
        mean[known], deviation[known] = (
            np.nanmean(finite[:, known], axis=0),
            np.nanstd(finite[:, known], axis=0),
        )
        largest[known] = np.nanmax(np.abs(finite[:, known]), axis=0)
        return cls._of(mean, deviation, largest, table.recipe.magnitudes()[1], tolerance)

    @classmethod
    def _of(
        cls, mean: Array, deviation: Array, largest: Array, magnitude: Array, tolerance: float
    ) -> Scaling:
        constant = deviation <= tolerance * np.maximum(largest, magnitude)
        return cls(mean, np.where(constant, 1.0, deviation), constant)

    def apply(self, values: Array) -> Array:
        """Standardised; gaps and constants become 0."""
        scaled = (values - self.mean) / self.scale
        return np.where(self.constant | ~np.isfinite(scaled), 0.0, scaled)


# Standardised features are cut off here. Clouds in another unit are that far off: there is a warning, and
# their numbers stay finite in single precision.
_FAR = 1e6


class Packed:
    """A table made ready for one network: where batches of its clouds come from."""

    def __init__(self, table: PointTable, points: Scaling, whole: Scaling, device: torch.device) -> None:
        self.table, self.device = table, device
        scaled = np.clip(whole.apply(table.whole), -_FAR, _FAR).astype(np.float32)
        self.whole = torch.from_numpy(scaled).to(device)
        keep = ~points.constant
        self.factor = torch.from_numpy((keep * table.unit / points.scale).astype(np.float32)).to(device)
        offset = keep * (table.shift - points.mean) / points.scale
        self.offset = torch.from_numpy(offset.astype(np.float32)).to(device)
        ends = [table.rows.max(initial=0.0), -table.rows.min(initial=0.0)]  # NaN if there is one
        self.gaps = not max(ends) * max(1.0, float(self.factor.max())) < _FAR

    def batch(
        self, clouds: NDArray, points: int | None = None, rng: np.random.Generator | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Point features (P, F), whole features (B, W), coordinates (P, n) and starts (B + 1,).

        With ``points``, at most so many points of each cloud, drawn without replacement.
        """
        if points is None or rng is None:
            at, starts = packed(self.table.starts, clouds)
        else:
            at, starts = _drawn(self.table.starts, clouds, points, rng)
        rows = torch.from_numpy(self.table.rows[at]).to(self.device)
        rows = torch.addcmul(self.offset, rows, self.factor)
        if self.gaps:
            rows = torch.nan_to_num(rows, nan=0.0).clamp(-_FAR, _FAR)
        coordinates = torch.from_numpy(self.table.coordinates[at]).to(self.device)
        chosen = torch.from_numpy(np.asarray(clouds)).to(self.device)
        return rows, self.whole[chosen], coordinates, torch.from_numpy(starts).to(self.device)

    def pieces(self, most: int = 1 << 16) -> Iterator[NDArray]:
        """All clouds in order, in runs of at most so many points (or of one cloud)."""
        starts, first, count = self.table.starts, 0, len(self.table)
        while first < count:
            last = int(np.searchsorted(starts, starts[first] + most, side="right")) - 1
            last = min(count, max(last, first + 1))
            yield np.arange(first, last)
            first = last


def _drawn(
    starts: NDArray[np.int64], clouds: NDArray, points: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Some rows of each cloud, by the smallest of random keys."""
    sizes = np.diff(starts)[clouds]
    most = int(sizes.max())
    if most <= points:
        return packed(starts, clouds)
    keys = rng.random((len(clouds), most), np.float32)
    keys[np.arange(most) >= sizes[:, None]] = 2.0
    chosen = np.sort(np.argpartition(keys, points - 1, axis=1)[:, :points], axis=1)
    real = np.take_along_axis(keys, chosen, axis=1) < 2.0
    at = (chosen + starts[clouds][:, None])[real]
    return at, np.concatenate([[0], np.cumsum(real.sum(axis=1))])

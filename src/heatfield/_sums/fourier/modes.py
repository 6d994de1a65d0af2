"""Which Fourier modes a sum of Gaussians needs for a given error, and on which period."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._base.check import Array
from ..._base.compile import compiled
from ..buffers import Buffers
from ..columns import column_count


@compiled()
def log_accuracy_for(eps: float, fourth_moment: bool) -> float:
    """t k**2 at the highest frequency: log(1 / eps), plus a margin for tail and derivatives."""
    return math.log(1.0 / eps) + (8.0 if fourth_moment else 4.0)


@dataclass(frozen=True)
class ModeGrid:
    """Period, centre and number of modes along each axis."""

    period: Array
    center: Array
    modes: tuple[int, ...]

    @classmethod
    def over(
        cls,
        low: Array,
        high: Array,
        source_low: Array,
        source_high: Array,
        t: float,
        log_accuracy: float,
        image: float,
    ) -> ModeGrid:
        """For targets and sources in their boxes; ``image``: squared distance that images must keep.

        The series ends where exp(-t k**2) = exp(-log_accuracy).
        """
        span = np.maximum(source_high - low, high - source_low)
        period = span + math.sqrt(max(image, 4.0 * t * log_accuracy))
        highest = math.sqrt(log_accuracy / t)
        half = np.ceil(highest * period / (2.0 * math.pi))
        center = 0.5 * (np.minimum(low, source_low) + np.maximum(high, source_high))
        return cls(period, center, tuple(int(min(2 * h + 1, 1e9)) for h in half))

    @property
    def size(self) -> float:
        """How many modes there are in all."""
        return math.prod(float(count) for count in self.modes)

    def angles(self, places: Array, dtype: Any) -> list[np.ndarray]:
        """Coordinates (n, m) as angles in (-pi, pi), one array per axis."""
        turn = 2.0 * math.pi / self.period
        return [
            ((places[k] - self.center[k]) * turn[k]).astype(dtype, copy=False) for k in range(len(places))
        ]

    def frequencies(self) -> list[np.ndarray]:
        """k along each axis, shaped to broadcast."""
        n = len(self.modes)
        out = []
        for axis, count in enumerate(self.modes):
            k = (np.arange(count) - count // 2) * (2.0 * math.pi / self.period[axis])
            out.append(k.reshape([-1 if axis == a else 1 for a in range(n)]))
        return out

    def heat(self, t: float, frequencies: list[np.ndarray]) -> np.ndarray:
        """G(k), the Fourier coefficients of exp(-r**2 / 4t)."""
        out = np.array(1.0)
        for k, period in zip(frequencies, self.period, strict=True):
            out = out * (math.sqrt(4.0 * math.pi * t) / period * np.exp(-t * k * k))
        return out


@dataclass(frozen=True, kw_only=True)
class FourierTask:
    """One scale's sums at targets (n, q) of sources (n, p), to ``eps`` times the largest sum."""

    targets: Array
    sources: Array
    weights: Array | None
    grid: ModeGrid
    t: float
    eps: float
    directions: bool
    fourth_moment: bool
    energy: bool  # the total over the targets of the sums of g, into the first row
    same: bool  # targets and sources are the same points, which saves a transform
    dtype: np.dtype
    n_threads: int
    out: Array | None = None  # the table to fill, where there is one
    buffers: Buffers = field(default_factory=Buffers)

    def table(self) -> Array:
        """The table of sums to fill, (q, columns), with any numbers in it."""
        n, q = self.targets.shape
        return np.empty((q, column_count(n, self.directions))) if self.out is None else self.out

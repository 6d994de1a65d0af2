"""Means and standard deviations of fields around every point, weighted by heat.

For a field f known at every point at scale a, they are those of f_a under the weights exp(-D**2 / 4 t_b) at a
scale b.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from .._base.check import LEAST_TOL, Array
from .._base.progress import progress_bar
from ..core import formulas
from ..core.clouds import ArrangedCloud, Batch, Buffers
from ..core.evaluate import Evaluation
from ..core.moments import WEIGHT
from ..core.planner import Request
from ..core.sums import difference_sums, scale_sums


@cache
def scale_pairs(n_scales: int, steps: tuple[int, ...]) -> np.ndarray:
    """All (a, a + step) as rows, by step and then by scale."""
    found = [(a, a + step) for step in steps for a in range(n_scales - step)]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class Around:
    """What sums around the points need."""

    places: Batch | ArrangedCloud  # a batch: every pair; one cloud: to the tolerance of the request
    unit: Array  # (T, N) times in the unit of each cloud
    weight: Callable[[], Array]  # (T, total) sums of w
    request: Request
    buffers: Buffers

    @classmethod
    def of(cls, cloud: ArrangedCloud, times: Array, found: Evaluation, request: Request) -> Around:
        """The points of one cloud, by the path of its signatures at the times (1, T)."""
        return cls(
            Batch.one(cloud) if found.plan.tol is None else cloud,
            np.ldexp(times, -2 * cloud.exponent).T,
            lambda: found.local.density / formulas.heat_factor(times.T, len(cloud.points)),
            request,
            Buffers(),
        )

    def means(self, fields: Array, pairs: np.ndarray) -> Iterator[Array]:
        """Of fields (F, T, total), pair by pair (a, b) of scales: (F, total)."""
        weight = self.weight()
        if isinstance(self.places, Batch):
            with self.buffers.take((1, len(fields), len(pairs), self.places.total)) as sums:
                self._differences(fields, pairs, sums)
                for p, (a, b) in enumerate(pairs):
                    yield fields[:, a] + sums[0, :, p] / weight[b]
            return
        with progress_bar(total=len(pairs) * fields[:, 0].size, unit="sums", unit_scale=True) as bar:
            for a, b in pairs:
                out = np.empty((len(fields), weight.shape[1]))
                for row, field in zip(out, fields[:, a], strict=True):
                    middle, spread, (mean,) = self._to_tolerance(
                        self.places, b, weight[b], field, 1, self.request, bar.update
                    )
                    row[:] = middle + spread * (mean - 1.0)
                yield out

    def deviations(self, fields: Array, pairs: np.ndarray) -> Iterator[tuple[slice, Array]]:
        """Rows (fields x pairs, total) of the standard deviations of fields (F, T, total), some at a time."""
        weight = self.weight()
        if isinstance(self.places, Batch):
            own = weight[pairs[:, 1]]
            with self.buffers.take((2, len(fields), len(pairs), self.places.total)) as sums:
                self._differences(fields, pairs, sums)
                for f, (step, step_squared) in enumerate(zip(*sums, strict=True)):
                    with np.errstate(invalid="ignore", divide="ignore"):
                        found = formulas.deviation(own, step, step_squared)
                    yield slice(f * len(pairs), (f + 1) * len(pairs)), found
            return
        # Single precision would leave nothing of a difference, and a root follows.
        request = replace(
            self.request,
            tol=max(LEAST_TOL[np.dtype(np.float64)], 0.01 * self.request.tol),
            dtype=np.dtype(np.float64),
        )
        total = 2 * len(pairs) * fields[:, 0].size
        with progress_bar(total=total, unit="sums", unit_scale=True) as bar:
            for f, field in enumerate(fields):
                for p, (a, b) in enumerate(pairs):
                    _, spread, means = self._to_tolerance(
                        self.places, b, weight[b], field[a], 2, request, bar.update
                    )
                    row = spread * np.sqrt(np.maximum(means[1] - means[0] ** 2, 0.0))
                    yield slice(f * len(pairs) + p, f * len(pairs) + p + 1), row[None]

    def _differences(self, fields: Array, pairs: np.ndarray, sums: Array) -> None:
        """Sums of differences to the point's own value, which do not cancel."""
        assert isinstance(self.places, Batch)
        request = self.request
        difference_sums(self.places, self.unit, fields, pairs, request.dtype, sums, request.n_threads)

    def _to_tolerance(
        self,
        cloud: ArrangedCloud,
        b: int,
        weight: Array,
        field: Array,
        powers: int,
        request: Request,
        advance: Callable[[int], object],
    ) -> tuple[float, float, list[Array]]:
        """Middle and range of a field (m,), and the means of the first powers of 1 + (f - middle) / range.

        These are sums of the fast path with the powers as the heat of the sources, which has to be positive:
        here it lies between 1/2 and 3/2. Each sum is right to ``tol`` relative to itself, and so a mean to
        4 tol of the range (`bounds.MEAN`), the *square* of a deviation to 16 tol of its square
        (`bounds.DEVIATION_SQUARED`). That remains a difference of nearly equal sums: where the field hardly
        varies around a point, the deviation has only 4 sqrt(tol) of the range for certain.
        """
        low, high = float(field.min()), float(field.max())
        middle, spread = 0.5 * (low + high), high - low
        if not spread > 0.0:  # constant, or NaN
            advance(powers * field.size)
            return middle, spread, [np.ones(field.size)] * powers
        request = replace(request, directions=False, fourth_moment=False, energy=False, channels=())
        heat, means = 1.0 + (field - middle) / spread, []
        for power in range(1, powers + 1):
            sums, _ = scale_sums(
                cloud, cloud, self.unit[b], request,
                weights=heat**power, advance=advance, buffers=self.buffers,
            )  # fmt: skip
            means.append(sums[:, WEIGHT] / weight)
        return middle, spread, means

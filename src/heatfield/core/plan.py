"""What was done at each scale and why: what the user sees as ``s.plan``.

The text of ``reason`` is made where the choice is known: in `one_scale._explain`, for points with times of
their own in `own_times.adaptive_sums`, for the dense path in `dense_plan` below.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._base.check import Array
from .._base.summary import Summarised, Summary
from .plan_summary import summary_of_plan


@dataclass
class ScalePlan:
    """How the sums of one scale were taken."""

    t: float
    method: str  # "dense", "near", "fourier", "boxes" (transforms of parts, the rest near) or "interpolated"
    transforms: int = 0  # boxes transformed
    largest_grid: tuple[int, ...] = ()
    points_transformed: int = 0
    points_near: int = 0
    points_checked: int = 0  # transformed, but then summed directly: too isolated for the transform's error
    expected_seconds: float = float("nan")  # on one core
    reason: str = ""

    def __str__(self) -> str:
        return f"t={self.t:.4g}: {self.method} ({self.reason})"


@dataclass(repr=False)
class Plan(Summarised):
    """What was chosen for each scale and why; ``print(s.plan)`` shows it."""

    tol: float | None
    scales: list[ScalePlan] = field(default_factory=list)

    @property
    def methods(self) -> list[str]:
        """One word per scale."""
        return [scale.method for scale in self.scales]

    def __str__(self) -> str:
        head = "exact to rounding" if self.tol is None else f"tol={self.tol:g}"
        return "\n".join([head, *map(str, self.scales)])

    def _summary(self) -> Summary:
        return summary_of_plan(self)


def dense_plan(times: Array) -> Plan:
    """The plan of the dense path at times (1, T) or (q, T)."""
    shown = np.median(times, axis=0).tolist()
    return Plan(None, [ScalePlan(t, "dense", reason="every pair that can change a digit") for t in shown])

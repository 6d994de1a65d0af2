"""Which way to take for which points, scale by scale: the cheapest cut through the tree of boxes.

For every node of the tree three prices are compared: sum its points' neighbours directly, take
one transform over its box with a halo, or leave it to its two halves. The cheapest choice from
the leaves up is the plan of that scale. A cloud that fills its extent ends as one
transform over everything, fine scales as direct sums, and a tight cluster in a wide
extent as transforms over the boxes that need them; no choice is ever quadratic.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._arrange import BLOCK
from ._jit import compiled
from ._tree import estimate_within, points_in

# Blocks of the smallest nodes that are priced.
LEAF = 64
# Points of the fine grid that fit into the memory given to one transform (16 bytes each).
GRID_LIMIT = 1.2e8
SPLIT, DIRECT, TRANSFORM = 0, 1, 2
# Places of the prices in `Costs.as_array`; those of the three zones stand side by side.
PAIR, TARGET, SPREAD, FOURIER, CALL = 0, 3, 4, 5, 6


@dataclass
class ScalePlan:
    """How the sums of one scale were taken."""

    t: float
    method: str  # "dense", "near", "fourier", or "boxes" (transforms of parts, the rest near)
    transforms: int = 0  # boxes transformed
    largest_grid: tuple[int, ...] = ()
    points_transformed: int = 0
    points_near: int = 0
    points_checked: int = 0  # transformed, but then summed directly: too lonely for the transform's error
    expected_seconds: float = float("nan")  # on one core
    reason: str = ""

    def __str__(self) -> str:
        return f"t={self.t:.4g}: {self.method} ({self.reason})"


@dataclass
class Plan:
    """What was chosen for each scale and why; ``print(s.plan)`` shows it."""

    tol: float | None
    scales: list[ScalePlan] = field(default_factory=list)

    @property
    def methods(self) -> list[str]:
        """One word a scale."""
        return [scale.method for scale in self.scales]

    def __str__(self) -> str:
        head = "exact to rounding" if self.tol is None else f"tol={self.tol:g}"
        return "\n".join([head, *map(str, self.scales)])


@compiled()
def transform_cost(
    low: Any, high: Any, root: Any, halo: float, images: float, highest: float,
    p: float, q: float, width: float, outputs: int, prices: Any,
) -> float:  # fmt: skip
    """Seconds for one box: ``halo`` and ``images`` are lengths, ``highest`` the last frequency kept."""
    n = low.shape[0]
    grid = 1.0
    kernel = 1.0
    for k in range(n):
        span = max(min(high[k] + halo, root[1, k]) - low[k], high[k] - max(low[k] - halo, root[0, k]))
        grid *= 2.0 * (2.0 * np.ceil(highest * (span + images) / (2.0 * np.pi)) + 1.0)
        kernel *= width
    if grid > GRID_LIMIT:
        return np.inf
    # Type 1 for the sources, and again for the targets where they are not the same (the energy).
    through = p + q * outputs + (q if p > q else 0.0)
    return (
        prices[CALL] * (1 + outputs)
        + prices[FOURIER] * grid * np.log2(grid) * (1 + outputs)
        + prices[SPREAD] * kernel * through
    )


@compiled()
def price_scale(
    targets: Any, nodes: Any, begin: Any, size: Any, offsets: Any, m: int, around: Any, around_begin: Any,
    around_size: Any, t: float, double: float, full: float, wide: float, halo: float, images: float, highest: float,
    width: float, outputs: int, prices: Any, allowed: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """For every node of the targets' tree the cheapest choice and its price.

    ``around`` and what follows it is the tree of the m sources.
    """
    n, q_all = targets.shape
    count = nodes.shape[0]
    choice = np.full(count, DIRECT, np.int8)
    best = np.zeros(count)
    asked = np.zeros(count, np.bool_)
    asked[0] = True
    for i in range(count):
        if asked[i] and size[i] > LEAF:
            asked[i + 1] = asked[i + 2 * ((size[i] + 1) // 2)] = True
    at = np.empty(n)
    for i in range(count - 1, -1, -1):
        if not asked[i]:
            continue
        q = points_in(begin[i], size[i], q_all)
        if size[i] <= LEAF:
            middle = begin[i] * BLOCK + q // 2
            for k in range(n):
                at[k] = targets[k, middle]
            extra = offsets[middle] if offsets.shape[0] > 0 else 0.0
            before = 0
            best[i] = q * prices[TARGET]
            for zone in range(3):
                reach = double if zone == 0 else full if zone == 1 else wide
                within = estimate_within(
                    around, around_begin, around_size, at, at, extra + 4.0 * t * reach, m
                )
                best[i] += q * prices[PAIR + zone] * (within - before)
                before = within
        else:
            left, right = i + 1, i + 2 * ((size[i] + 1) // 2)
            best[i] = best[left] + best[right]
            if choice[left] != DIRECT or choice[right] != DIRECT:
                choice[i] = SPLIT
        if not allowed or best[i] < prices[CALL]:
            continue
        p = 0
        for turn in range(2):
            # First without the halo's points: a bound from below, found without counting.
            if turn == 1:
                p = estimate_within(
                    around, around_begin, around_size, nodes[i, 0], nodes[i, 1], halo * halo, m
                )
            cost = transform_cost(
                nodes[i, 0], nodes[i, 1], around[0], halo, images, highest, p, q, width, outputs, prices
            )
            if cost >= best[i]:
                break
            if turn == 1:
                best[i] = cost
                choice[i] = TRANSFORM
    return choice, best


@compiled()
def chosen_nodes(choice: Any, size: Any) -> tuple[Any, Any]:
    """The nodes at which the plan stops, and whether each is a transform; in the order of their points."""
    nodes = np.empty(choice.shape[0], np.int64)
    transform = np.empty(choice.shape[0], np.bool_)
    count = 0
    i = 0
    while i < choice.shape[0]:
        if choice[i] == SPLIT:
            i += 1
            continue
        nodes[count], transform[count] = i, choice[i] == TRANSFORM
        count += 1
        i += 2 * size[i] - 1  # past the whole subtree
    return nodes[:count], transform[:count]

"""Which method for which points, scale by scale: the cheapest cut through the tree of boxes.

For every node of the tree three prices are compared: sum its points' neighbours directly, take one
transform over the box of its crowded points with a halo and sum the others directly, or leave it to its two
halves. The cheapest choice from the leaves up is the plan of that scale. A cloud that fills its
extent ends as one transform over everything, fine scales as direct sums, and a tight cluster in a
wide extent as a transform over the cluster alone; no choice is ever quadratic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import compiled
from .._cloud.arrange import BLOCK
from .._cloud.box_tree import estimate_within, points_in
from .fourier.kernel import GRID_EPS, UPSAMPLING, width_for
from .fourier.modes import log_accuracy_for

# Blocks of the smallest nodes that are priced.
LEAF = 16
# Points of the fine grid that fit into the memory given to one transform (16 bytes each).
GRID_LIMIT = 1.2e8
SPLIT, DIRECT, TRANSFORM = 0, 1, 2
# Sums below this share of the largest are expected to be too small for a transform's error.
ISOLATED = 0.25
# Positions of the prices in `Costs.as_array`; those of the three zones follow each other.
PAIR, TARGET, SPREAD, FOURIER, CALL, READ, MODES = 0, 3, 4, 5, 6, 7, 8


@compiled()
def transform_cost(
    low: Any, high: Any, whole: Any, t: float, energy_cutoff: float, eps: float, p: float, q: float,
    fields: int, fourth_moment: bool, double_precision: bool, prices: Any,
) -> float:  # fmt: skip
    """Seconds for one transform to ``eps`` over a box with p sources in its halo and q targets.

    ``whole`` is the box of all sources, ``fields`` the number of packed transforms where no grid is read.
    """
    n = low.shape[0]
    log_accuracy = log_accuracy_for(eps, fourth_moment)
    halo, images = np.sqrt(4.0 * t * energy_cutoff), np.sqrt(4.0 * t * max(energy_cutoff, log_accuracy))
    grid = 1.0
    for k in range(n):
        span = max(min(high[k] + halo, whole[1, k]) - low[k], high[k] - max(low[k] - halo, whole[0, k]))
        grid *= 2.0 * np.ceil(np.sqrt(log_accuracy / t) * (span + images) / (2.0 * np.pi)) + 1.0
    # Points come in once, and the targets once more where they are not the same (for the energy).
    kinds = 1.0 if p <= q else 2.0
    through = p + (q if p > q else 0.0)
    if double_precision and eps >= GRID_EPS:
        width = width_for(eps)
        grid *= UPSAMPLING**n
        outputs = 2.0 if fourth_moment else 1.0
        fourier = 0.5 * prices[FOURIER] * grid * np.log2(grid)  # real
        cost = prices[READ] * max(width, 8.0) * width ** (n - 1.0) * (through + q * outputs)
    else:
        grid *= 2.0**n
        outputs = fields
        fourier = prices[FOURIER] * grid * np.log2(grid)
        cost = prices[SPREAD] * (np.ceil(np.log10(1.0 / eps)) + 1.0) ** n * (through + q * outputs)
    if grid > GRID_LIMIT:
        return np.inf
    cost += (prices[CALL] + fourier + prices[MODES] * grid) * (kinds + outputs)
    return cost


@compiled()
def price_scale(
    targets: Any, nodes: Any, begin: Any, size: Any, offsets: Any, m: int, around: Any, around_begin: Any,
    around_size: Any, t: float, double_precision_cutoff: float, weight_cutoff: float, energy_cutoff: float,
    eps: float, least: float,
    fields: int, fourth_moment: bool, double_precision: bool, prices: Any, allowed: bool,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """For every node of the targets' tree the cheapest choice, its price, and its transform's box and eps.

    ``around`` and what follows it is the tree of the m sources. A transform covers only those points of a
    node that have many neighbours, and their box; the others are summed directly. ``eps`` is enough
    where all sums are of one size; a transform over points of very different surroundings either has
    more digits, down to ``least``, or leaves the isolated ones to be summed directly too.
    """
    n, q_all = targets.shape
    count = nodes.shape[0]
    choice = np.full(count, DIRECT, np.int8)
    best = np.zeros(count)
    direct = np.zeros(count)  # of leaves
    start_eps = np.full(count, eps)
    # The points with many neighbours: how many, their box, and about the largest and smallest sum of w.
    crowded = np.zeros(count)
    boxes = np.empty((count, 2, n))
    for i in range(count):
        for k in range(n):
            boxes[i, 0, k], boxes[i, 1, k] = np.inf, -np.inf
    largest, smallest = np.zeros(count), np.full(count, np.inf)
    cheap = np.zeros(count)  # the price of the other points
    asked = np.zeros(count, np.bool_)
    asked[0] = True
    for i in range(count):
        if asked[i] and size[i] > LEAF:
            asked[i + 1] = asked[i + 2 * ((size[i] + 1) // 2)] = True
    # What one more point costs in a transform: points whose neighbours cost less stay out of it.
    point = transform_cost(
        around[0, 0], around[0, 0], around[0], t, energy_cutoff, eps, 1e6, 1e6, fields, fourth_moment,
        double_precision, prices,
    ) / 1e6  # fmt: skip
    at = np.empty(n)
    for i in range(count - 1, -1, -1):
        if not asked[i]:
            continue
        q = points_in(begin[i], size[i], q_all)
        if size[i] <= LEAF:
            middle = begin[i] * BLOCK + q // 2
            diagonal = 0.0
            for k in range(n):
                at[k] = targets[k, middle]
                diagonal += (nodes[i, 1, k] - nodes[i, 0, k]) ** 2
            extra = offsets[middle] if offsets.shape[0] > 0 else 0.0
            before = 0
            best[i] = q * prices[TARGET]
            for zone in range(3):
                cutoff = (
                    double_precision_cutoff if zone == 0 else weight_cutoff if zone == 1 else energy_cutoff
                )
                within = estimate_within(
                    around, around_begin, around_size, at, at, extra + 4.0 * t * cutoff, m
                )
                best[i] += q * prices[PAIR + zone] * (within - before)
                before = within
            direct[i] = best[i]
            if best[i] <= q * point:
                cheap[i] = best[i]
            else:
                crowded[i] = q
                close = estimate_within(around, around_begin, around_size, at, at, extra + 4.0 * t, m)
                largest[i] = smallest[i] = 1.0 + 0.6 * close
                # A leaf of large extent would enlarge the box: those of its points that lie in
                # the box of the others are transformed all the same.
                if diagonal <= 4.0 * t * energy_cutoff:
                    for k in range(n):
                        boxes[i, 0, k], boxes[i, 1, k] = nodes[i, 0, k], nodes[i, 1, k]
        else:
            left, right = i + 1, i + 2 * ((size[i] + 1) // 2)
            best[i] = best[left] + best[right]
            cheap[i] = cheap[left] + cheap[right]
            crowded[i] = crowded[left] + crowded[right]
            largest[i] = max(largest[left], largest[right])
            smallest[i] = min(smallest[left], smallest[right])
            for k in range(n):
                boxes[i, 0, k] = min(boxes[left, 0, k], boxes[right, 0, k])
                boxes[i, 1, k] = max(boxes[left, 1, k], boxes[right, 1, k])
            if choice[left] != DIRECT or choice[right] != DIRECT:
                choice[i] = SPLIT
        if not allowed or best[i] < prices[CALL] or boxes[i, 0, 0] > boxes[i, 1, 0]:
            continue
        p = 0.0
        finer = max(least, min(eps, 2.0 * eps * smallest[i] / largest[i]))
        # Digits for most points; for all that a grid can give; for all.
        tries = (eps, eps, max(finer, min(eps, GRID_EPS)), finer)
        for turn in range(4):
            # First without the halo's points: a bound from below, found without counting.
            if turn == 1:
                p = float(
                    estimate_within(
                        around, around_begin, around_size, boxes[i, 0], boxes[i, 1], 4.0 * t * energy_cutoff,
                        m,
                    )
                )  # fmt: skip
            chosen = tries[turn]
            cost = cheap[i] + transform_cost(
                boxes[i, 0], boxes[i, 1], around[0], t, energy_cutoff, chosen, p, crowded[i], fields,
                fourth_moment,
                double_precision, prices,
            )  # fmt: skip
            if turn < 2 and cost >= best[i]:
                break
            if turn == 0:
                continue
            cost += _isolated_seconds(i, size, largest, direct, ISOLATED * chosen / eps)
            if cost < best[i]:
                best[i] = cost
                choice[i] = TRANSFORM
                start_eps[i] = chosen
    return choice, best, boxes, start_eps


@compiled(inner=True)
def _isolated_seconds(node: int, size: Any, weight: Any, direct: Any, share: float) -> float:
    """Seconds for summing directly the points of a node whose sums are too small for its transform."""
    total = 0.0
    i = node
    while i < node + 2 * size[node] - 1:
        if size[i] <= LEAF:
            if 0.0 < weight[i] < share * weight[node]:
                total += direct[i]
            i += 2 * size[i] - 1
        else:
            i += 1
    return total


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

"""Timing the real kernels of the fast path once per machine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import fields

import finufft
import numpy as np

from .._cloud.arrange import BLOCK, arrange
from .._cloud.box_tree import grow
from .costs import Costs
from .fourier.interpolate import interpolate
from .fourier.kernel import lanes_for
from .near import near_sums


def _best(work: Callable[[], object], repeats: int = 3) -> float:
    work()  # compiles, and warms the caches
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def measured_costs() -> Costs:
    """Time the real kernels on a small cloud; a value far from the default is discarded."""
    sources, boxes, *_ = arrange(np.random.default_rng(0).random((4096, 3)))
    tree = grow(boxes)
    m, none = sources.shape[1], np.empty(0)
    sums = np.empty((m, 14))

    def near(t: float, weight_cutoff: float, energy_cutoff: float, tol: float) -> float:
        one = np.array([t])
        return _best(
            lambda: near_sums(
                sources, np.empty(0, np.int64), one, none, sources, none, boxes, *tree, 0, 32 * BLOCK,
                weight_cutoff,
                energy_cutoff, tol,
                True, False, False, none, None, sums,
            )
        )  # fmt: skip

    rows = 32 * BLOCK
    target = near(1e-9, 1.0, 1.0, 1.0) / rows
    pair = near(1e3, 1.0, 1.0, 1e-12) / (rows * m)  # everything is close: double precision
    single = near(1e3, 1.0, 1.0, 1.0) / (rows * m)  # a tolerance of 1 allows single precision everywhere
    ring = near(1e3, 0.0, 1.0, 1.0) / (rows * m)

    angles = [np.ascontiguousarray(axis) for axis in sources * 1.5]
    ones = np.ones(m, np.complex128)

    def transform(modes: int) -> float:
        plan = finufft.Plan(1, (modes,) * 3, eps=1e-7, nthreads=1, upsampfac=2.0)
        plan.setpts(*angles)
        return _best(lambda: plan.execute(ones))

    small, large = transform(4), transform(40)
    values, found = np.ones((32, 32, 32 + lanes_for(10))), np.empty((m, 10))
    centre, steps = np.zeros(3), np.full(3, 16.0)
    read = _best(lambda: interpolate(values, 10, sources, centre, steps, found)) / (m * 10**3)
    grid = 80.0**3
    measured = Costs(
        pair=pair,
        single=single,
        ring=ring,
        target=target,
        spread=small / (m * 8**3),
        fourier=max(large - small, 1e-9) / (grid * math.log2(grid)),
        call=Costs.call,
        read=read,
        modes=Costs.modes,
    )
    # Within a factor of ten of the defaults; anything else was disturbed by another process.
    kept = {
        field.name: getattr(measured, field.name)
        for field in fields(Costs)
        if 0.1 < getattr(measured, field.name) / getattr(Costs, field.name) < 10.0
    }
    return Costs(**kept)

"""Timing the real kernels of the fast path once per machine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import fields

import numpy as np
from scipy.fft import fftn

from .. import _core
from .arrange import BLOCK, arrange
from .box_tree import grow
from .costs import Costs
from .fourier import ModeGrid, UpsampledGrid
from .near import double_precision_cutoff


def _best(work: Callable[[], object], repeats: int = 3) -> float:
    work()  # warms the caches
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
    sums, rows = np.empty((m, 14)), 32 * BLOCK

    def near(t: float, weight_cutoff: float, energy_cutoff: float, tol: float) -> float:
        one = np.array([t])
        return _best(
            lambda: _core.near(
                sources, np.empty(0, np.int64), one, none, sources, none, boxes, *tree,
                double_precision_cutoff(tol, False), weight_cutoff, energy_cutoff, tol,
                True, False, False, False, 0, rows, sums,
            )
        )  # fmt: skip

    target = near(1e-9, 1.0, 1.0, 1.0) / rows
    pair = near(1e3, 1.0, 1.0, 1e-12) / (rows * m)  # everything is close: double precision
    single = near(1e3, 1.0, 1.0, 1.0) / (rows * m)  # a tolerance of 1 allows single precision everywhere
    ring = near(1e3, 0.0, 1.0, 1.0) / (rows * m)

    upsampled = UpsampledGrid(ModeGrid(np.full(3, 2.0), np.zeros(3), (25, 25, 25)), 1e-7, 1)
    values, width = np.ones(upsampled.padded), upsampled.width
    read = _best(lambda: upsampled.read_sums(values, sources, 1.0, True, sums)) / (m * width**3)
    grid = np.ones((80, 80, 80), np.complex128)
    fourier = _best(lambda: fftn(grid)) / (grid.size * math.log2(grid.size))
    measured = Costs(
        pair=pair,
        single=single,
        ring=ring,
        target=target,
        fourier=fourier,
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

"""Blocks of local signatures, pooled over the points."""

from __future__ import annotations

from collections.abc import Iterator

from ..._base.check import Array
from ...channels import words_of
from . import (
    ALL,
    BEYOND_PAPER,
    STATISTIC,
    STATISTICS,
    WITH_SPECTRUM,
    Block,
    Found,
    Meaning,
    Shape,
    pooled,
    scale_words,
)


def _names(shape: Shape) -> Iterator[str]:
    return (f"{s}_s{a}" for s in STATISTICS for a in range(shape.n_scales))


def _density_names(shape: Shape) -> Iterator[str]:
    return (f"{'log_' * shape.joint}{name}" for name in _names(shape))


def _spectrum_names(shape: Shape) -> Iterator[str]:
    return (f"{k + 1}_{name}" for k in range(shape.n) for name in _names(shape))


def _gradient_values(found: Found) -> Array:
    return pooled(found.local.gradient[None], found.ends)


def _meaning(block: str, s: str, a: str, log: str | None = None, k: str = "") -> Meaning:
    what, unit, high = words_of(f"{log or ''}{block}{k}")
    if s == "std":
        high = f"the cloud is uneven in it: {what.split(',')[0]} differs much from point to point"
    return Meaning(block, what, STATISTICS[s], scale_words(a), unit, high)


_EACH = rf"{STATISTIC}_s(?P<a>\d+)"
BLOCKS = (
    Block(
        "density",
        2,
        ALL,
        "heat field u at the points, pooled over them (joint: its logarithm)",
        _density_names,
        lambda found: pooled(found.channels[1:2], found.ends),
        (f"(?P<log>log_)?{_EACH}", _meaning),
    ),
    Block(
        "dimension",
        3,
        ALL,
        "heat dimension: 1 on a filament, 2 on a surface, 3 in a volume",
        _names,
        lambda found: pooled(found.channels[2:3], found.ends),
        (_EACH, _meaning),
    ),
    Block(
        "transition",
        4,
        ALL,
        "tau, how fast the dimension changes with log t",
        _names,
        lambda found: pooled(found.channels[0:1], found.ends),
        (_EACH, _meaning),
        order_one=True,
    ),
    Block(
        "spectrum",
        5,
        WITH_SPECTRUM,
        "2t times an eigenvalue of the log-Hessian: 0 along the data, -1 across",
        _spectrum_names,
        lambda found: pooled(found.channels[3:], found.ends),
        (rf"(?P<k>\d+)_{_EACH}", _meaning),
        order_one=True,
        needs=("spectrum",),
    ),
    Block(
        "gradient",
        6,
        BEYOND_PAPER,
        "sqrt(2t) |grad log u|: how far to one side the neighbours lie",
        _names,
        _gradient_values,
        (_EACH, _meaning),
        order_one=True,
        needs=("gradient",),
    ),
)

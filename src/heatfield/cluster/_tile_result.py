"""What is kept of a finished tile, and what all tiles give together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._base.check import Array
from .._features.layout import layout
from .._signatures.signatures import Signatures
from ..core import formulas
from ._plan import Plan
from ._pooled import Channel, merge, statistics
from ._settings import Job, SurveySettings
from ._store import load_arrays

_BLOCKS = ("density", "dimension", "transition", "spectrum")


def pack_result(s: Signatures, totals: Array, reports: list[str], settings: SurveySettings) -> dict[str, Any]:
    """Arrays for `save_arrays`: all that the tile adds to the whole."""
    m = len(s.density)
    density = s.density.sum(axis=0)
    shares = s.hds.composition * m
    weighted = (s.hds.contrast + s.hds.composition) * density[:, None]
    channels = [Channel.of(values) for values in _channels(s, settings)]
    return {
        "count": m,
        "totals": totals,
        "density": density,
        "shares": shares,
        "weighted": weighted,
        "moments": np.array([[c.mean, c.std] for c in channels]),
        "widths": np.array([c.keys.size for c in channels]),
        "keys": np.concatenate([c.keys for c in channels]),
        "counts": np.concatenate([c.counts for c in channels]),
        "methods": np.array(reports, dtype=str),
    }


_NAMES = (
    "count", "totals", "density", "shares", "weighted", "moments", "widths", "keys", "counts", "methods",
    "steps", "step_seconds",
)  # fmt: skip


def _channels(s: Signatures, settings: SurveySettings) -> list[Array]:
    """Columns of numbers in the order of the descriptor: channel by channel, scale by scale."""
    tables = [s.density, s.dimension, s.transition]
    if s.spectrum is not None and settings.with_spectrum:
        tables += [s.spectrum[:, :, k] for k in range(s.spectrum.shape[2])]
    return [table[:, a] for table in tables for a in range(table.shape[1])]


def load_result(job: Job, number: int) -> dict[str, Array] | None:
    """What was kept of a finished tile."""
    return load_arrays(job.file("done", number), _NAMES)


def whole_result(
    job: Job, plan: Plan, results: Sequence[dict[str, Array]], coarse_totals: dict[int, tuple[float, float]]
) -> dict[str, Any]:
    """Global signatures, heat dimension spectrum and pooled descriptor of the whole cloud."""
    settings, n, scales = job.settings, job.settings.n_dims, plan.whole.scales
    totals = np.sum([result["totals"] for result in results], axis=0)
    for a, (power, square) in coarse_totals.items():
        totals[a] = power, np.ldexp(square, 2 * plan.frame.exponent)
    energy = formulas.energy(totals[:, 0], formulas.heat_factor(2.0 * scales, n))
    response = formulas.response(totals[:, 0], totals[:, 1], scales, n)
    roughness = formulas.roughness(energy, response, scales)
    relative = formulas.relative_roughness(energy, roughness)
    count = sum(int(result["count"]) for result in results)
    composition = np.sum([result["shares"] for result in results], axis=0) / count
    density = np.sum([result["density"] for result in results], axis=0)
    contrast = np.sum([result["weighted"] for result in results], axis=0) / density[:, None] - composition
    steps = len(scales)
    pooled = np.array([statistics(merge(parts)) for parts in _merged_parts(results)])
    pooled = pooled.reshape(-1, steps, 5).transpose(0, 2, 1)  # channel, statistic, scale
    blocks = ("global", "hds", *(_BLOCKS if settings.with_spectrum else _BLOCKS[:-1]))
    columns = layout("desc", blocks, n, steps, tuple(settings.centers.tolist()))
    values = np.concatenate(
        [energy, response, roughness, relative, composition.T.ravel(), contrast.T.ravel(), pooled.ravel()]
    )
    return {
        "points": count,
        "energy": energy,
        "response": response,
        "roughness": roughness,
        "relative_roughness": relative,
        "hds": {
            "centers": settings.centers, "sigma": settings.hds_sigma, "composition": composition,
            "contrast": contrast,
        },
        "descriptor": dict(zip(columns.names, values.tolist(), strict=True)),
    }  # fmt: skip


def _merged_parts(results: Sequence[dict[str, Array]]) -> list[list[Channel]]:
    """For every channel and scale its parts, one per tile."""
    out: list[list[Channel]] = [[] for _ in results[0]["widths"]]
    for result in results:
        ends = np.cumsum(result["widths"])
        for c, end in enumerate(ends):
            rows = slice(end - result["widths"][c], end)
            mean, std = result["moments"][c]
            out[c].append(
                Channel(int(result["count"]), mean, std, result["keys"][rows], result["counts"][rows])
            )
    return out

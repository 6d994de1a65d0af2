"""How the cost of a survey grows, and what it would be elsewhere: what was measured, and the model."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.lib.terrain import DENSITY
from heatfield._survey.plan import (
    GRIDS,
    SurveyPlan,
    Whole,
    grid_points,
    grid_seconds,
    tile_grids,
    tile_seconds,
)
from heatfield._survey.tiles import SurveySettings, Tile
from heatfield.core.planner import Costs
from heatfield.scales import geometric

# What the model has prices for: the sums. All else is taken from what was measured.
PRICED = ("spreading", "fields", "checking", "isolated points")
UNPRICED_STEPS = ("halo", "signatures", "statistics", "writing")
HEIGHT = 200.0  # metres between the ground and the highest bird
TILE = 1_562_500  # points per tile of the model: those of 1e8 points in 64 tiles


def surveys(runs: dict[str, Any], jobs: int) -> list[dict[str, Any]]:
    """The finished surveys with so many workers, the largest last."""
    found = [r for key, r in runs.items() if key.startswith("survey/") and r.get("jobs") == jobs]
    sound = [r for r in found if "failed" not in r and r["costs"].keys() == asdict(Costs()).keys()]
    return sorted(sound, key=lambda r: r["points"])


def exponent(sizes: list[float], seconds: list[float]) -> float | None:
    """p of seconds ~ m**p by least squares; None for fewer than two sizes."""
    good = [(m, s) for m, s in zip(sizes, seconds, strict=True) if s > 0.0]
    if len(good) < 2:
        return None
    m, s = np.log(np.array(good)).T
    return float(np.polyfit(m, s, 1)[0])


def growth(runs: dict[str, Any], jobs: int) -> dict[str, Any]:
    """Exponents of the whole, of each pass and of each step of the last pass."""
    cases = surveys(runs, jobs)
    sizes = [run["points"] for run in cases]
    out: dict[str, Any] = {"sizes": sizes, "all": exponent(sizes, [run["seconds"] for run in cases])}
    for kind in ("passes", "steps"):
        names = sorted({name for run in cases for name in run[kind]})
        out[kind] = {name: exponent(sizes, [r[kind].get(name, 0.0) for r in cases]) for name in names}
    return out


def model(runs: dict[str, Any], jobs: int, m: float = 1e9, workers: int = 64) -> dict[str, Any] | None:
    """Seconds of m points on so many workers of one core, by the prices of the cost model.

    Sums by the prices: near sums over the points of a column of the landscape, which holds those of a ball;
    transforms over a tile with its halo; one common grid; whichever is the cheapest. Passes over tiles
    divide among the workers. The transforms of the common grids do not: one task does one scale, so the
    longest of them counts.
    What has no price, reading, neighbours, writing, is that of the largest case, point by point.
    """
    cases = surveys(runs, jobs)
    if not cases:
        return None
    largest = cases[-1]
    settings = SurveySettings(3, tol=largest["tol"], costs=Costs(**largest["costs"]))
    side = math.sqrt(m / DENSITY)
    low, high = np.zeros(3), np.array([side, side, HEIGHT])
    diameter, spacing = float(np.sqrt(((high - low) ** 2).sum())), largest["spacing"]
    scales = geometric(settings.c_min * spacing**2, settings.c_max * diameter**2, settings.n_scales)
    whole = Whole(int(m), low, high, spacing, diameter, scales)
    plan = SurveyPlan.bare(whole, settings)
    tiles, width = m / TILE, math.sqrt(TILE / DENSITY)
    middle = np.array([(side - width) / 2, (side - width) / 2, 0.0])
    tile = Tile("", TILE, TILE, middle, middle + np.array([width, width, HEIGHT]), np.empty((0, 2, 3)))
    over_tiles, transforms, kinds = 0.0, 0.0, []
    for a, reach in enumerate(plan.halos):
        size = grid_points(plan, a, settings)
        common = grid_seconds(plan, size, settings)
        inside = min(side, width + 2.0 * reach) ** 2 * DENSITY
        local = tiles * tile_seconds(
            tile_grids(plan, a, [tile], settings), np.array([inside]), np.array([TILE]), settings
        )
        pairs = min(m, math.pi * 4.0 * float(scales[a]) * plan.cutoffs[1] * DENSITY)
        near = m * (settings.costs.target + settings.costs.pair * pairs)
        if common < min(local, near):
            once = size * (settings.costs.fourier * math.log2(size) + settings.costs.modes)
            over_tiles, transforms = over_tiles + common - once, max(transforms, once)
            kinds.append({"scale": a, "way": "common grid", "seconds": common, "bytes": 8.0 * size * GRIDS})
        else:
            way = "near sums" if near < local else "transforms"
            over_tiles += min(local, near)
            kinds.append({"scale": a, "way": way, "seconds": min(local, near), "halo": float(reach)})
    per_point = m / largest["points"] * jobs
    unpriced = {name: s * per_point for name, s in largest["passes"].items() if name not in PRICED}
    done = sum(largest["steps"].values())
    share = sum(s for name, s in largest["steps"].items() if name in UNPRICED_STEPS) / done if done else 1.0
    unpriced["tiles"] = unpriced.get("tiles", 0.0) * share
    core = over_tiles + sum(unpriced.values())
    return {
        "points": m, "workers": workers, "from": largest["points"], "scales": kinds,
        "core_seconds": {"sums": over_tiles, **unpriced}, "longest_transform": transforms,
        "seconds": core / workers + transforms,
    }  # fmt: skip

"""A landscape with trees in map coordinates, cut into tiles: any number of points, made tile by tile.

Then: a survey beside one machine, its picture, how its cost grows, and what it would be elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import heatfield as hf
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
from heatfield.channels import BOUNDS, RELATIVE
from heatfield.core import bounds
from heatfield.core.planner import Costs
from heatfield.scales import geometric

ORIGIN = np.array([412_000.0, 5_318_000.0, 600.0])
DENSITY = 8.0  # points per square metre, half of them on trees
TREE = 300  # points per tree
WIDEST = 2.5  # metres from the foot of a tree to its outermost point
SIDE = 8  # tiles along each side
_TREES_AT_ONCE = 500  # as many as a processor's cache holds
_GROUND, _FEET, _EDGE, _INSIDE = range(4)  # streams of random numbers of a tile


def tile_size(m: int) -> float:
    """Metres along a tile's side."""
    return float(np.sqrt(m / DENSITY)) / SIDE


def _stream(m: int, row: int, column: int, kind: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence([m, row, column, kind])))


def trees_of(m: int, row: int, column: int, *, edge_only: bool) -> Iterator[np.ndarray]:
    """The points (k, 3) of the trees that stand in a tile; only of those that may reach over its border.

    Trees near the border have random numbers of their own, so that a neighbour makes these alone.
    """
    if not (0 <= row < SIDE and 0 <= column < SIDE):
        return
    size = tile_size(m)
    rng = _stream(m, row, column, _FEET)
    count = max(1, round(0.5 * m / SIDE**2 / TREE))
    feet, heights, radii = (
        rng.random((count, 2)) * size,
        8 + 12 * rng.random(count),
        1 + 1.5 * rng.random(count),
    )
    edge = (np.minimum(feet, size - feet) < WIDEST).any(axis=1)
    feet += size * np.array([column, row])
    for kind, chosen in ((_EDGE, edge), (_INSIDE, ~edge)):
        if kind == _INSIDE and edge_only:
            continue
        rng, rows = _stream(m, row, column, kind), np.flatnonzero(chosen)
        for first in range(0, rows.size, _TREES_AT_ONCE):
            some = rows[first : first + _TREES_AT_ONCE]
            yield _trees(rng, feet[some], heights[some], radii[some])


def _trees(rng: np.random.Generator, feet: np.ndarray, heights: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Crowns that are filled ellipsoids, each with a trunk below."""
    shape = (len(feet), TREE)
    turn, level = 2 * np.pi * rng.random(shape), 2 * rng.random(shape) - 1
    out = np.cbrt(rng.random(shape))  # evenly in the volume
    wide = out * np.sqrt(1 - level * level)
    trunk = rng.random(shape) < 0.15
    wide = np.where(trunk, 0.2, wide * radii[:, None])
    up = heights[:, None] * np.where(trunk, 0.3 * (level + 1), 0.65 + 0.35 * out * level)
    plane = np.stack([wide * np.cos(turn), wide * np.sin(turn)], axis=2) + feet[:, None, :]
    plane = plane.reshape(-1, 2)
    return np.c_[plane, up.ravel() + ground(plane)]


def ground(plane: np.ndarray) -> np.ndarray:
    """Hills of some metres."""
    x, y = plane[:, 0], plane[:, 1]
    return 5.0 * np.sin(x / 61.0) * np.cos(y / 47.0) + 1.5 * np.sin((x + 2 * y) / 19.0)


def make_tile(m: int, row: int, column: int) -> np.ndarray:
    """The points of one tile of a landscape of about m points, rounded to millimetres."""
    size, low = tile_size(m), tile_size(m) * np.array([column, row])
    rng = _stream(m, row, column, _GROUND)
    plane = low + rng.random((round(0.5 * m / SIDE**2), 2)) * size
    parts = [np.c_[plane, ground(plane) + 0.02 * rng.normal(size=len(plane))]]
    for r in (row - 1, row, row + 1):
        for c in (column - 1, column, column + 1):
            for trees in trees_of(m, r, c, edge_only=(r, c) != (row, column)):
                inside = ((trees[:, :2] >= low) & (trees[:, :2] < low + size)).all(axis=1)
                parts.append(trees[inside])
    parts.append(np.c_[low + rng.random((2, 2)) * size, 80 + 100 * rng.random(2)])  # birds
    return np.round(np.concatenate(parts), 3) + ORIGIN


def tile_paths(folder: Path) -> list[Path]:
    """Where the tiles are, or will be."""
    return [folder / f"tile_{row}_{column}.las" for row in range(SIDE) for column in range(SIDE)]


def make_tiles(folder: Path, m: int, say: Callable[[str], object] = lambda _: None) -> list[Path]:
    """All tiles as LAS files, those that are not there yet; ``say`` hears how far it is."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = tile_paths(folder)
    for number, path in enumerate(paths):
        if not path.exists():
            notes = {"scales": np.full(3, 1e-3), "offsets": ORIGIN}
            hf.write_points(path, make_tile(m, *divmod(number, SIDE)), notes=notes)
            say(f"tile {number + 1} of {len(paths)} made")
    return paths


def read_all(out: Path, paths: list[Path], names: list[str]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Points and some columns of all tiles, tile by tile."""
    points: list[np.ndarray] = []
    columns: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for path in paths:
        cloud = hf.read_cloud(out / path.name)
        points.append(cloud.points)
        for name in names:
            columns[name].append(np.asarray(cloud.columns[name], dtype=float))
    return np.concatenate(points), {name: np.concatenate(parts) for name, parts in columns.items()}


def difficult(points: np.ndarray, density: np.ndarray, count: int = 200) -> np.ndarray:
    """Points nearest to corners of tiles, the most isolated, the densest, and some at random."""
    low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
    step = (high - low) / SIDE
    offset = (points[:, :2] - low) / step
    corner = (np.abs(offset - np.round(offset)) * step).max(axis=1)
    order = np.argsort(density, kind="stable")
    rng = np.random.default_rng(0)
    nearest = np.argpartition(corner, count)[:count]
    return np.unique(
        np.concatenate([nearest, order[:count], order[-count:], rng.integers(len(points), size=count)])
    )


def compare(paths: list[Path], out: Path, s: Any, tol: float) -> dict[str, Any]:
    """Worst errors in units of what is promised, and whether every point was written once.

    Columns are float32, which adds 6e-8 of the value.
    """
    steps = len(s.scales)
    channels = ["density", "dimension", "spectrum1", "spectrum2", "spectrum3"]
    points, columns = read_all(out, paths, [f"{name}_s{a}" for name in channels for a in range(steps)])
    chosen = difficult(points, columns["density_s1"])
    exact = hf.signatures(points, s.scales, targets=chosen, tol=1e-2 * tol, method="fast", n_jobs=-1)
    worst = {}
    for name in channels:
        got = np.stack([columns[f"{name}_s{a}"][chosen] for a in range(steps)], axis=1)
        if name.startswith("spectrum"):
            assert exact.spectrum is not None
            wanted, unit, allowed = exact.spectrum[:, :, int(name[-1]) - 1], 1.0, bounds.SPECTRUM
        else:
            wanted = getattr(exact, name)
            unit = wanted if name in RELATIVE else 1.0
            allowed = BOUNDS[name]
        worst[name] = float((np.abs(got - wanted) / unit).max() / (allowed * tol))
    in_files = sum(len(hf.read_points(path)) for path in paths)
    return {"targets": int(chosen.size), "worst": worst, "written": len(points), "in_files": in_files}


def draw(out: Path, picture: Path, scale: int = 3) -> None:
    """Points from above, coloured by dimension, with the borders of tiles: a seam would show along them.

    On the left all tiles, on the right the four around the corner in the middle.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from PIL import Image

    paths = sorted(out.glob("tile_*.las"))
    points, columns = read_all(out, paths, [f"dimension_s{scale}"])
    low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
    values, plane, size = columns[f"dimension_s{scale}"], points[:, :2] - low, high - low
    ends = np.percentile(values, [2, 98])
    figure, axes = plt.subplots(1, 2, figsize=(15, 7), layout="constrained")
    for axis, width, dot in ((axes[0], SIDE, 0.6), (axes[1], 2, 4.0)):
        middle = 0.5 * size
        inside = (np.abs(plane - middle) <= 0.5 * width / SIDE * size * 1.001).all(axis=1)
        rows = np.flatnonzero(inside)
        rows = rows[np.argsort(points[rows, 2], kind="stable")]
        drawn = axis.scatter(
            *plane[rows].T, c=values[rows], s=dot, vmin=ends[0], vmax=ends[1], cmap="viridis", linewidths=0
        )
        for k in range(-(width // 2), width // 2 + 1):
            at = middle + size * k / SIDE
            axis.axvline(at[0], color="red", lw=0.5)
            axis.axhline(at[1], color="red", lw=0.5)
        axis.set_aspect("equal")
        axis.margins(0.01)
        axis.set_title(f"heat dimension at scale {scale}, {rows.size:,} points in {width**2} tiles")
    figure.colorbar(drawn, ax=axes, shrink=0.7)
    figure.savefig(picture, dpi=80)
    plt.close(figure)
    with Image.open(picture) as full:
        small = full.convert("RGB").quantize(48)
    small.save(picture, optimize=True)  # a third of the bytes


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

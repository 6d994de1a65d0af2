"""What a survey wrote, compared with `signatures` at difficult points, and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import heatfield as hf
from benchmarks.lib.terrain import SIDE
from heatfield.core import bounds


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
            unit = wanted if name in bounds.RELATIVE else 1.0
            allowed = bounds.SIGNATURES[name]
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

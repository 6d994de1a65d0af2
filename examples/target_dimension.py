"""Points that arrange themselves: the gradient of heat dimension makes shells and filaments of a ball.

    python examples/target_dimension.py [--out docs/guide/target_dimension.png]

Every point of a solid ball is asked to see the dimension 2, or 1, around it at three scales. The log density
is held where it was, so that the points can neither fly apart nor fall together. Needs torch and matplotlib.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
import torch

from heatfield.nn import HeatFeatures

mpl.use("Agg")
TIMES = torch.tensor([0.02, 0.035, 0.06], dtype=torch.float64)


def solid_ball(count: int, seed: int = 0) -> torch.Tensor:
    """Points spread evenly in the unit ball."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return torch.tensor(points * rng.random((count, 1)) ** (1 / 3))


def read(points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Log density and heat dimension at the points, (m, T) each."""
    features = HeatFeatures(transition="exact", with_spectrum=False, log_density=True)
    table = features(points, scales=TIMES).unflatten(1, (len(TIMES), 3))
    return table[:, :, 0], table[:, :, 1]


def arrange(start: torch.Tensor, target: float, steps: int) -> tuple[torch.Tensor, list[float]]:
    """Move the points until the dimension around each of them is near the target."""
    points = start.clone().requires_grad_()
    heat = read(start)[0].mean(dim=0)
    optimizer = torch.optim.Adam([points], lr=0.01)
    course = []
    for _ in range(steps):
        log_density, dimension = read(points)
        loss = (dimension - target).square().mean() + (log_density - heat).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        course.append(float(dimension.detach().mean()))
    return points.detach(), course


def main() -> None:
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parents[1] / "docs/guide/target_dimension.png"
    )
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--steps", type=int, default=150)
    options = parser.parse_args()

    start = solid_ball(options.points)
    figure = plt.figure(figsize=(9.0, 3.4), layout="constrained")
    found = [("a solid ball", start)]
    for target, name in ((2.0, "asked for 2: a shell"), (1.0, "asked for 1: filaments")):
        points, course = arrange(start, target, options.steps)
        print(f"target {target:g}: mean dimension {course[0]:.2f} -> {course[-1]:.2f}")
        found.append((name, points))
    for place, (name, points) in enumerate(found):
        axis = figure.add_subplot(1, 3, place + 1, projection="3d")
        dimension = read(points)[1].mean(dim=1)
        shown = axis.scatter(*points.T, c=dimension, s=7, cmap="viridis", vmin=0.8, vmax=3.0, linewidths=0)
        axis.set_box_aspect((1, 1, 1), zoom=1.5)
        axis.set_axis_off()
        axis.set_title(f"{name}\nmean dimension {dimension.mean():.2f}", fontsize=10)
    figure.colorbar(shown, ax=figure.axes, label="heat dimension", shrink=0.75)
    figure.savefig(options.out, dpi=90)
    print(f"picture in {options.out}")


if __name__ == "__main__":
    main()

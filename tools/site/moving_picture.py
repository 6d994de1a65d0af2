"""The moving picture of the start page: one cloud from fine to coarse scales, coloured by heat dimension."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np


def write(path: Path, *, n_scales: int = 14, seconds: float = 0.45) -> None:
    """Draw the mixed shape once per scale, forth and back, as a GIF."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    import heatfield as hf
    from heatfield.plot._style import DIMENSION_COLORS, draw_cloud, ramp

    points, _ = hf.datasets.make_mixed_shape(random_state=0)
    s = hf.signatures(points, np.geomspace(0.01, 0.7, n_scales) ** 2)
    colors = ramp("dimension", DIMENSION_COLORS)
    frames = []
    for a in range(n_scales):
        figure = Figure(figsize=(5.6, 2.8), dpi=100)
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1), projection="3d")
        draw_cloud(axes, points, s.dimension[:, a], colors, 0, 3, zoom=2.1)
        figure.text(0.5, 0.03, f"√t = {s.scales[a] ** 0.5:.2g}", ha="center", fontsize=12)
        picture = io.BytesIO()
        figure.savefig(picture, format="png")
        frames.append(Image.open(picture).convert("RGB").quantize(96, dither=Image.Dither.NONE))
    order = [*frames, *frames[-2:0:-1]]
    path.parent.mkdir(exist_ok=True)
    order[0].save(path, save_all=True, append_images=order[1:], duration=int(1000 * seconds), loop=0)

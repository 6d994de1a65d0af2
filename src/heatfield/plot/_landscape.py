"""The heat landscape of a cloud in the plane, from fine to coarse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._base.check import as_points, check_count
from ..field import HeatField
from ..scales import scale_schedule
from ._style import HEAT_COLORS, at_length, pyplot, ramp


def heat_landscape(
    points: ArrayLike,
    scales: Sequence[float] | None = None,
    *,
    resolution: int = 90,
    unit: str | None = None,
) -> Any:
    """The field F(y, t) = sum_i exp(-|y - x_i|**2 / 4t) over the plane as a landscape, one picture per time.

    Fine scales show neighbourhoods, middle ones branches and junctions, coarse ones the whole. F is u without
    its factor, so that the heights compare.

    Guide: ``heatfield docs guide/plots``.

    Parameters
    ----------
    points : array_like (m, 2)
    scales : sequence of float, optional
        Diffusion times; four from the middle of the cloud's own schedule if not given.
    resolution : int
        Nodes of the surface along the longer side.
    unit : str, optional
        Of the coordinates, for the titles.

    Returns
    -------
    axes : ndarray of matplotlib 3-D axes

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> angle = np.linspace(0, 2 * np.pi, 60)
    >>> hf.plot.heat_landscape(np.c_[np.cos(angle), np.sin(angle)], [0.01, 0.1], resolution=20).shape
    (2,)
    """
    checked = as_points(points)
    if checked.shape[1] != 2:
        raise ValueError(f"for a landscape points must have 2 coordinates, got {checked.shape[1]}")
    nodes = check_count(resolution, "resolution", 8)
    times = scale_schedule(checked, 9)[[2, 4, 5, 6]] if scales is None else np.asarray(scales, dtype=float)
    low, high = checked.min(axis=0), checked.max(axis=0)
    margin = 0.12 * float((high - low).max())
    step = (float((high - low).max()) + 2 * margin) / (nodes - 1)
    x, y = (np.arange(low[k] - margin, high[k] + margin + 0.5 * step, step) for k in (0, 1))
    grid = np.stack([g.ravel() for g in np.meshgrid(x, y)], axis=1)
    heights = HeatField(checked).value(grid, times) * (4 * np.pi * times)
    _, axes = pyplot().subplots(
        1,
        len(times),
        figsize=(3.4 * len(times), 3.3),
        squeeze=False,
        subplot_kw={"projection": "3d"},
        layout="constrained",
    )
    flat_x, flat_y = np.meshgrid(x, y)
    for ax, t, height in zip(axes[0], times, heights.T, strict=True):
        top = float(height.max())
        surface = height.reshape(flat_x.shape)
        ax.plot_surface(
            flat_x, flat_y, surface, cmap=ramp("heat", HEAT_COLORS), vmin=0, vmax=top,
            rcount=nodes, ccount=nodes, linewidth=0, antialiased=False,
        )  # fmt: skip
        ax.set_zlim(0, top)
        ax.set_box_aspect((x[-1] - x[0], y[-1] - y[0], 0.6 * (x[-1] - x[0])), zoom=1.25)
        ax.view_init(elev=38, azim=-62)
        ax.set_axis_off()
        ax.set_title(at_length(np.sqrt(t), unit), fontsize=10)
    return axes[0]

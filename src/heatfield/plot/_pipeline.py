"""The whole way of a cloud in one picture: points, heat field, local signatures, spectrum, vector."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..features.descriptor import HFSDescriptor
from ..heat_signatures import signatures
from ._style import (
    DIMENSION_COLORS,
    HEAT_COLORS,
    at_length,
    dimension_name,
    draw_cloud,
    drawable_points,
    pyplot,
    ramp,
    scale_axis,
    tidy,
)


def pipeline(
    points: ArrayLike, *, n_scales: int = 8, unit: str | None = None, title: str | None = None
) -> Any:
    """From points to a vector, step by step, for one cloud.

    The points, their heat field at a middle scale, their heat dimension at three scales, the heat dimension
    spectrum, the global response, and the descriptor.

    Guide: ``heatfield docs guide/plots``.

    Parameters
    ----------
    points : array_like (m, 2) or (m, 3)
        Seen along its shortest side.
    n_scales : int
    unit : str, optional
        Of the coordinates, for titles and axes.
    title : str, optional

    Returns
    -------
    axes : ndarray (2, 4) of matplotlib axes

    Examples
    --------
    >>> import heatfield as hf
    >>> points, _ = hf.datasets.make_mixed_shape(200)
    >>> hf.plot.pipeline(points).shape
    (2, 4)
    """
    checked = drawable_points(points)
    s = signatures(checked, n_scales=n_scales)
    vector = HFSDescriptor("desc", n_scales=n_scales).fit_transform([checked])[0]
    n = checked.shape[1]
    # A flat picture is easier to read than a projection at an angle: look along the shortest side.
    along = int(np.argmin(np.ptp(checked, axis=0))) if n == 3 else 2
    flat = np.delete(checked, along, axis=1) if n == 3 else checked
    figure, axes = pyplot().subplots(2, 4, figsize=(12.4, 6.6), layout="constrained")
    size = float(np.clip(5000 / len(flat), 0.4, 8))
    colors = ramp("dimension", DIMENSION_COLORS[: n + 1])
    draw_cloud(axes[0, 0], flat, np.zeros(len(flat)), ramp("plain", ("#4d4d4d", "#4d4d4d")), 0, 1, s=size)
    axes[0, 0].set_title(f"1  points ({len(flat):,})", fontsize=10)
    fine, middle, coarse = (round(f * (n_scales - 1)) for f in (0.15, 0.43, 0.65))
    lengths = np.sqrt(s.scales)
    heat = np.log(s.density[:, middle])
    ends = np.percentile(heat, [2, 98])
    draw_cloud(axes[0, 1], flat, heat, ramp("heat", HEAT_COLORS[1:]), *ends, s=size)
    axes[0, 1].set_title(f"2  heat field, {at_length(lengths[middle], unit)}", fontsize=10)
    for ax, a in ((axes[0, 2], fine), (axes[0, 3], middle), (axes[1, 0], coarse)):
        shown = draw_cloud(ax, flat, s.dimension[:, a], colors, 0, n, s=size)
        ax.set_title(f"3  heat dimension, {at_length(lengths[a], unit)}", fontsize=10)
    bar = figure.colorbar(shown, ax=axes[0, 3], fraction=0.05, pad=0.02, aspect=20)
    bar.set_ticks(range(n + 1), labels=[dimension_name(d) for d in range(n + 1)])
    bar.ax.tick_params(labelsize=8)
    steps = np.arange(n_scales)
    shades = [DIMENSION_COLORS[min(k, 3)] for k in range(n + 1)]
    axes[1, 1].stackplot(steps, 100 * s.hds.composition.T, colors=shades, alpha=0.9, linewidth=0)
    axes[1, 1].set(ylim=(0, 100), ylabel="share of points, %")
    tidy(axes[1, 1], "4  heat dimension spectrum")
    axes[1, 2].plot(steps, s.response, "o-", color="#3b528b", markersize=4)
    axes[1, 2].set(ylabel="response $C_2$")
    tidy(axes[1, 2], "5  global response")
    for ax in axes[1, 1:3]:
        scale_axis(ax, n_scales, lengths, unit, every=2)  # the panel is narrow
    compressed = np.arcsinh(np.nan_to_num(vector))
    axes[1, 3].bar(np.arange(len(vector)), compressed, width=1.0, color="#3b528b")
    axes[1, 3].set(xlim=(0, len(vector)), xlabel="feature", ylabel="arsinh of the value")
    tidy(axes[1, 3], f"6  descriptor: {len(vector)} numbers")
    if title:
        figure.suptitle(title, fontsize=12)
    return axes

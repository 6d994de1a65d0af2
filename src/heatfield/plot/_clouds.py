"""Pictures of points: dimension, local signatures, the heat landscape, and the whole method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._base.check import Array, as_points, check_count
from ..channels import drawn_columns
from ..features.descriptor import HFSDescriptor
from ..field import HeatField
from ..heat_signatures import Signatures, signatures
from ..scales import scale_schedule
from ._style import (
    DIMENSION_COLORS,
    HEAT_COLORS,
    RAMPS,
    at_length,
    dimension_name,
    draw_cloud,
    drawable_points,
    lengths_of,
    pyplot,
    ramp,
    scale_axis,
    tidy,
)


def dimension_over_scales(
    points: ArrayLike,
    signatures: Signatures,
    *,
    scales: Sequence[int] | None = None,
    columns: int = 4,
    unit: str | None = None,
    title: str | None = None,
) -> Any:
    """The cloud once for each scale, coloured by heat dimension; 2-D or 3-D.

    Guide: ``heatfield docs guide/plots``.

    Parameters
    ----------
    points : array_like (m, 2) or (m, 3)
    signatures : Signatures
        Of these points.
    scales : sequence of int, optional
        Which scales, by index; all of them otherwise.
    columns : int
        Pictures per row.
    unit : str, optional
        Of the coordinates, for the titles.
    title : str, optional

    Returns
    -------
    axes : ndarray of matplotlib axes, one per scale

    Examples
    --------
    >>> import heatfield as hf
    >>> points, _ = hf.datasets.make_mixed_shape(300)
    >>> hf.plot.dimension_over_scales(points, hf.signatures(points), scales=[2, 4]).shape
    (2,)
    """
    plt = pyplot()
    checked = drawable_points(points, signatures)
    n = checked.shape[1]
    chosen = list(range(signatures.dimension.shape[1])) if scales is None else list(scales)
    columns = min(columns, len(chosen))
    rows = -(-len(chosen) // columns)
    colors = ramp("dimension", DIMENSION_COLORS[: n + 1])
    extent = np.ptp(checked, axis=0)
    # A flat, wide cloud gets flat, wide pictures. The view is from above at an angle, so
    # the height holds the vertical extent and part of the depth.
    tall = extent[-1] + 0.4 * extent[1] if n == 3 else extent[1]
    ratio = float(np.clip(tall / max(extent[0], 1e-12), 0.4, 1.3))
    figure = plt.figure(figsize=(3.3 * columns, 3.3 * ratio * rows + 1.3), layout="constrained")
    lengths = lengths_of(signatures)
    axes = []
    for position, a in enumerate(chosen):
        axis = figure.add_subplot(rows, columns, position + 1, projection="3d" if n == 3 else None)
        values = signatures.dimension[:, a]
        shown = draw_cloud(axis, checked, values, colors, 0, n, zoom=1.2 / ratio**0.5)
        axis.set_title(at_length(lengths[a], unit, a), fontsize=10)
        axes.append(axis)
    bar = figure.colorbar(shown, ax=axes, orientation="horizontal", fraction=0.05, pad=0.02, aspect=50)
    bar.set_ticks(range(n + 1), labels=[dimension_name(d) for d in range(n + 1)])
    bar.set_label("heat dimension")
    figure.suptitle(title or "What each point's neighbourhood looks like, from fine to coarse", fontsize=12)
    return np.array(axes)


def local_signatures(
    points: ArrayLike,
    signatures: Signatures,
    scales: Sequence[int] | None = None,
    *,
    unit: str | None = None,
) -> Any:
    """All local signatures of a cloud: one row per quantity, one column per scale.

    Guide: ``heatfield docs guide/plots``.

    Parameters
    ----------
    points : array_like (m, 2) or (m, 3)
    signatures : Signatures of these points
    scales : sequence of int, optional
        See `dimension_over_scales`.
    unit : str, optional
        Of the coordinates, for the titles.

    Returns
    -------
    axes : ndarray (quantities, scales) of matplotlib axes

    Examples
    --------
    >>> import heatfield as hf
    >>> points, _ = hf.datasets.make_mixed_shape(300)
    >>> hf.plot.local_signatures(points, hf.signatures(points), scales=[1, 3, 5]).shape
    (6, 3)
    """
    checked = drawable_points(points, signatures)
    chosen = list(range(signatures.dimension.shape[1])) if scales is None else list(scales)
    rows = _rows(signatures, checked.shape[1])
    figure, axes = pyplot().subplots(
        len(rows),
        len(chosen),
        figsize=(1.5 * len(chosen) + 1.6, 1.45 * len(rows) + 0.4),
        squeeze=False,
        layout="constrained",
        subplot_kw={"projection": "3d"} if checked.shape[1] == 3 else None,
    )
    lengths = lengths_of(signatures)
    size = float(np.clip(1500 / len(checked), 0.2, 5))
    for k, (name, values, colors, low, high) in enumerate(rows):
        line = axes[k]
        for ax, a in zip(line, chosen, strict=True):
            ends = np.nanpercentile(values[:, a], [2, 98]) if low is None else (low, high)
            shown = draw_cloud(ax, checked, values[:, a], ramp(name, colors), *ends, s=size)
            if k == 0:
                ax.set_title(at_length(lengths[a], unit, a), fontsize=8)
        bar = figure.colorbar(shown, ax=list(line), fraction=0.03, pad=0.01, aspect=12)
        bar.set_label(name, fontsize=8)
        bar.ax.tick_params(labelsize=7)
        if low is None:
            bar.set_ticks([shown.norm.vmin, shown.norm.vmax], labels=["low", "high"])
    return axes


def _rows(s: Signatures, n: int) -> list[tuple[str, Array, tuple[str, ...], float | None, float | None]]:
    """Name, values, colours and ends of the ramp; no ends where every scale has its own."""
    rows: list[tuple[str, Array, tuple[str, ...], float | None, float | None]] = []
    for column in drawn_columns(s):
        channel = column.channel
        values = np.log(column.values) if channel.log else column.values
        low, high = (None, None) if channel.ends is None else channel.ends(values, n)
        colors = DIMENSION_COLORS[: n + 1] if channel.ramp == "dimension" else RAMPS[channel.ramp]
        rows.append((column.title, values, colors, low, high))
    return rows


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

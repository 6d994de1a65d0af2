"""Local signatures over scales, as small multiples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._base.check import Array
from ..channels import drawn_columns
from ..heat_signatures import Signatures
from ._style import (
    DIMENSION_COLORS,
    RAMPS,
    at_length,
    draw_cloud,
    drawable_points,
    lengths_of,
    pyplot,
    ramp,
)


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

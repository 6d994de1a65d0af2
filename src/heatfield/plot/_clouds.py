"""Clouds coloured by the heat dimension at each point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..heat_signatures import Signatures
from ._style import (
    DIMENSION_COLORS,
    at_length,
    dimension_name,
    draw_cloud,
    drawable_points,
    lengths_of,
    pyplot,
    ramp,
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
    for place, a in enumerate(chosen):
        axis = figure.add_subplot(rows, columns, place + 1, projection="3d" if n == 3 else None)
        values = signatures.dimension[:, a]
        shown = draw_cloud(axis, checked, values, colors, 0, n, zoom=1.2 / ratio**0.5)
        axis.set_title(at_length(lengths[a], unit, a), fontsize=10)
        axes.append(axis)
    bar = figure.colorbar(shown, ax=axes, orientation="horizontal", fraction=0.05, pad=0.02, aspect=50)
    bar.set_ticks(range(n + 1), labels=[dimension_name(d) for d in range(n + 1)])
    bar.set_label("heat dimension")
    figure.suptitle(title or "What each point's neighbourhood looks like, from fine to coarse", fontsize=12)
    return np.array(axes)

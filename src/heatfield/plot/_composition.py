"""The heat dimension spectrum of one cloud, stacked to one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..heat_signatures import Signatures
from ._style import DIMENSION_COLORS, dimension_name, lengths_of, own_axes, scale_axis, tidy


def dimension_spectrum(signatures: Signatures, ax: Any = None, *, unit: str | None = None) -> Any:
    """Which share of the points looks like which dimension, stacked, from fine to coarse scales.

    Guide: ``heatfield docs guide/plots``.

    Parameters
    ----------
    signatures : Signatures
    ax : matplotlib axes, optional
    unit : str, optional
        Of the coordinates, for the axis.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With one area per dimension.

    Examples
    --------
    >>> import heatfield as hf
    >>> points, _ = hf.datasets.make_mixed_shape(300)
    >>> hf.plot.dimension_spectrum(hf.signatures(points)).get_ylabel()
    'share of points, %'
    """
    shares = 100 * signatures.hds.composition
    ax = own_axes(ax, (5.2, 3.2))
    centers = signatures.hds.centers
    colors = [DIMENSION_COLORS[min(k, 3)] for k in range(len(centers))]
    names = [dimension_name(center) for center in centers]
    ax.stackplot(np.arange(len(shares)), shares.T, colors=colors, labels=names, alpha=0.9, linewidth=0)
    scale_axis(ax, len(shares), lengths_of(signatures), unit)
    ax.set(ylim=(0, 100), ylabel="share of points, %")
    handles, words = ax.get_legend_handles_labels()
    ax.legend(
        handles[::-1], words[::-1], loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9
    )
    return tidy(ax, "Heat dimension spectrum")

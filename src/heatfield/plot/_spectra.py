"""Heat dimension spectra: which share of a cloud is point, filament, surface, volume."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._style import CLASS_COLORS, dimension_name, pyplot


def spectra_by_class(
    compositions: ArrayLike,
    labels: Sequence[Any],
    *,
    centers: ArrayLike | None = None,
    names: dict[Any, str] | None = None,
    title: str | None = None,
) -> Any:
    """Heat dimension spectra of the classes: one picture a dimension, one curve a class.

    A curve is the median over the clouds of a class of the share of their points that
    look like this dimension; its band holds the middle half of the clouds.

    Parameters
    ----------
    compositions : array_like (N, T, K)
        ``s.hds.composition`` of N clouds.
    labels : sequence of N labels
    centers : array_like (K,), optional
        The dimensions; 0..K-1 otherwise.
    names : dict, optional
        What to call each label.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    plt = pyplot()
    shares = np.asarray(compositions, dtype=float)
    if shares.ndim != 3 or shares.shape[0] != len(labels):
        raise ValueError(
            f"compositions must have shape (N, T, K) for N = {len(labels)} labels, got {shares.shape}"
        )
    values = np.arange(shares.shape[2]) if centers is None else np.asarray(centers)
    figure, axes = plt.subplots(
        1, len(values), figsize=(3.6 * len(values) + 1.4, 3.3), squeeze=False, layout="constrained"
    )
    steps = np.arange(shares.shape[1])
    for axis, value, k in zip(axes[0], values, range(len(values)), strict=True):
        for c, label in enumerate(dict.fromkeys(labels)):
            own = shares[[other == label for other in labels], :, k]
            low, middle, high = np.nanpercentile(own, [25, 50, 75], axis=0)
            color = CLASS_COLORS[c % len(CLASS_COLORS)]
            axis.fill_between(steps, low, high, color=color, alpha=0.22, linewidth=0)
            name = names.get(label, str(label)) if names else str(label)
            axis.plot(steps, middle, color=color, linewidth=1.8, marker="o", markersize=3, label=name)
        axis.set_title(f"dimension {dimension_name(value)}", fontsize=10)
        axis.set(xlim=(0, steps[-1]), ylim=(0, None), xlabel="scale, fine to coarse", xticks=steps)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("share of the points")
    handles, words = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside right center", frameon=False, title="class")
    figure.suptitle(title or "Heat dimension spectra by class", fontsize=12)
    return figure

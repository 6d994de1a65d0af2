"""Classes compared scale by scale: medians and bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._style import class_color, class_line, own_axes, scale_axis, tidy


def class_curves(
    values: ArrayLike,
    labels: Sequence[Any],
    ax: Any = None,
    *,
    lengths: ArrayLike | None = None,
    unit: str | None = None,
    ylabel: str = "",
    title: str | None = None,
) -> Any:
    """A quantity over the scales, class by class: the median, and a band that holds the middle half.

    Guide: ``heatfield docs guide/plots``.

    Parameters
    ----------
    values : array_like (N, T)
        One row per cloud, for instance the mean heat dimension at each scale.
    labels : sequence of N labels
    ax : matplotlib axes, optional
    lengths : array_like (T,) or (N, T), optional
        Lengths sqrt(t) of the scales, for the axis: the same for all clouds, or of each (medians are shown).
    unit : str, optional
        Their unit.
    ylabel, title : str, optional

    Returns
    -------
    ax : matplotlib.axes.Axes
        With one line per class.

    Examples
    --------
    >>> import heatfield as hf
    >>> ax = hf.plot.class_curves([[1, 2], [1, 3], [2, 2]], ["a", "a", "b"])
    >>> [line.get_label() for line in ax.lines]
    ['a (2)', 'b (1)']
    """
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or table.shape[0] != len(labels):
        raise ValueError(f"values must have shape (N, T) for N = {len(labels)} labels, got {table.shape}")
    # A long legend needs a tall figure.
    ax = own_axes(ax, (5.6, max(3.4, 0.5 + 0.22 * len(set(labels)))))
    steps = np.arange(table.shape[1])
    for k, label in enumerate(dict.fromkeys(labels)):
        own = table[[other == label for other in labels]]
        low, middle, high = np.nanpercentile(own, [25, 50, 75], axis=0)
        ax.fill_between(steps, low, high, color=class_color(k), alpha=0.2, linewidth=0)
        name = f"{label} ({len(own)})"
        ax.plot(steps, middle, color=class_color(k), linewidth=1.8, markersize=3, label=name, **class_line(k))
    scale_axis(ax, table.shape[1], lengths, unit)
    ax.set_ylabel(ylabel)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    return tidy(ax, title)

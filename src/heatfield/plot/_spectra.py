"""Heat dimension spectra: which share of a cloud is point, filament, surface, volume."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._style import class_color, class_line, dimension_name, pyplot, scale_axis


def spectra_by_class(
    compositions: ArrayLike,
    labels: Sequence[Any],
    *,
    centers: ArrayLike | None = None,
    names: dict[Any, str] | None = None,
    lengths: ArrayLike | None = None,
    unit: str | None = None,
    title: str | None = None,
) -> Any:
    """How the heat dimension spectra of classes differ: one picture per dimension, one curve per class.

    Above, the share of the points of a cloud that look like this dimension, on average
    over all clouds. Below, by how much the clouds of a class have more or fewer of them:
    their median, and a band that holds the middle half of them.

    Guide: ``heatfield docs guide/plots``.

    Parameters
    ----------
    compositions : array_like (N, T, K)
        ``s.hds.composition`` of N clouds.
    labels : sequence of N labels
    centers : array_like (K,), optional
        The dimensions; 0..K-1 otherwise.
    names : dict, optional
        What to call each label.
    lengths, unit : optional
        Lengths sqrt(t) of the scales and their unit, for the axes; see `class_curves`.
    title : str, optional

    Returns
    -------
    axes : ndarray (2, K) of matplotlib axes

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> shares = np.random.default_rng(0).dirichlet([1, 1, 1], size=(6, 8))
    >>> hf.plot.spectra_by_class(shares, ["a", "b"] * 3).shape
    (2, 3)
    """
    plt = pyplot()
    shares = np.asarray(compositions, dtype=float)
    if shares.ndim != 3 or shares.shape[0] != len(labels):
        raise ValueError(
            f"compositions must have shape (N, T, K) for N = {len(labels)} labels, got {shares.shape}"
        )
    values = np.arange(shares.shape[2]) if centers is None else np.asarray(centers)
    longest = max((len(str((names or {}).get(label, label))) for label in labels), default=0)
    figure, axes = plt.subplots(
        2,
        len(values),
        figsize=(3.6 * len(values) + 0.8 + 0.09 * longest, 4.6),
        squeeze=False,
        sharex=True,
        sharey="row",
        height_ratios=(1, 2),
        layout="constrained",
    )
    steps = np.arange(shares.shape[1])
    average = np.nanmean(shares, axis=0)
    for k, value in enumerate(values):
        above, below = axes[:, k]
        above.fill_between(steps, 100 * average[:, k], color="#d9d9d9", linewidth=0)
        above.plot(steps, 100 * average[:, k], color="#4d4d4d", linewidth=1.5)
        above.set_title(f"dimension {dimension_name(value)}", fontsize=10)
        above.set(ylim=(0, 100))
        below.axhline(0.0, color="#4d4d4d", linewidth=0.8)
        for c, label in enumerate(dict.fromkeys(labels)):
            own = 100 * (shares[[other == label for other in labels], :, k] - average[:, k])
            low, middle, high = np.nanpercentile(own, [25, 50, 75], axis=0)
            color = class_color(c)
            below.fill_between(steps, low, high, color=color, alpha=0.2, linewidth=0)
            name = names.get(label, str(label)) if names else str(label)
            below.plot(steps, middle, color=color, linewidth=1.8, markersize=3, label=name, **class_line(c))
        scale_axis(below, len(steps), lengths, unit)
        for axis in (above, below):
            axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("share of points, %")
    axes[1, 0].set_ylabel("difference from the\naverage, % of points")
    handles, words = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside right center", frameon=False, title="class")
    figure.suptitle(title or "Heat dimension spectra by class", fontsize=12)
    return axes

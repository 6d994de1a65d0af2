"""Classes beside each other: their curves and spectra, accuracy, confusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._style import (
    class_color,
    class_line,
    dimension_name,
    legend_beside,
    own_axes,
    pyplot,
    ramp,
    scale_axis,
    tidy,
)


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
    legend_beside(ax)
    return tidy(ax, title)


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


def accuracy_by_scales(
    counts: Sequence[int], accuracies: Mapping[str, ArrayLike], ax: Any = None, *, chance: float | None = None
) -> Any:
    """Accuracy against the number of scales, one curve per method, with the standard deviation over splits.

    Guide: ``heatfield docs guide/plots``.

    Parameters
    ----------
    counts : sequence of C numbers of scales
    accuracies : mapping from a name to an array_like (C,) or (C, splits)
        Shares between 0 and 1. With splits, the mean is drawn in a band of one standard deviation.
    ax : matplotlib axes, optional
    chance : float, optional
        Drawn as a dotted line.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With one line per name.

    Examples
    --------
    >>> import heatfield as hf
    >>> ax = hf.plot.accuracy_by_scales([2, 4, 8], {"desc": [0.7, 0.8, 0.85]}, chance=0.2)
    >>> [float(y) for y in ax.lines[0].get_ydata()]
    [70.0, 80.0, 85.0]
    """
    ax = own_axes(ax, (5.2, 3.2))
    for k, (name, given) in enumerate(accuracies.items()):
        table = 100 * np.asarray(given, dtype=float)
        if table.ndim not in (1, 2) or table.shape[0] != len(counts):
            raise ValueError(
                f"accuracies[{name!r}] must have {len(counts)} rows, one per number of scales, "
                f"got shape {table.shape}"
            )
        mean = table if table.ndim == 1 else table.mean(axis=1)
        ax.plot(counts, mean, color=class_color(k), linewidth=1.8, markersize=4, label=name, **class_line(k))
        if table.ndim == 2:
            deviation = table.std(axis=1)
            band = (mean - deviation, mean + deviation)
            ax.fill_between(counts, *band, color=class_color(k), alpha=0.2, linewidth=0)
    if chance is not None:
        ax.axhline(100 * chance, color="#4d4d4d", linewidth=1, linestyle=":", label="chance")
    ax.set_xscale("log", base=2)
    ax.set_xticks(list(counts), labels=[str(c) for c in counts])
    ax.minorticks_off()
    ax.set(xlabel="number of scales", ylabel="accuracy, %")
    ax.legend(frameon=False, fontsize=9)
    return tidy(ax)


def confusion_matrix(matrix: ArrayLike, labels: Sequence[Any], ax: Any = None) -> Any:
    """A confusion matrix as a picture: rows are the true classes, columns the predicted ones.

    Colour is the share of the row, the numbers are those of the matrix.

    Guide: ``heatfield docs guide/plots``.

    Parameters
    ----------
    matrix : array_like (K, K)
        Counts or shares, not negative.
    labels : sequence of K labels
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib.axes.Axes
        With one image, and one text per cell.

    Examples
    --------
    >>> import heatfield as hf
    >>> ax = hf.plot.confusion_matrix([[8, 2], [1, 9]], ["oak", "pine"])
    >>> [text.get_text() for text in ax.texts]
    ['8', '2', '1', '9']
    """
    table = np.asarray(matrix, dtype=float)
    count = len(labels)
    if table.shape != (count, count):
        raise ValueError(f"matrix must have shape ({count}, {count}) for {count} labels, got {table.shape}")
    if not (np.isfinite(table) & (table >= 0)).all():
        raise ValueError("matrix must hold counts or shares, got a number that is negative or not finite")
    names = [str(label) for label in labels]
    longest = max((len(name) for name in names), default=0)  # takes space beside and, slanted, below
    ax = own_axes(ax, (1.6 + 0.55 * count + 0.11 * longest, 1.4 + 0.5 * count + 0.08 * longest))
    sums = table.sum(axis=1, keepdims=True)
    shares = np.divide(table, sums, out=np.zeros_like(table), where=sums > 0)
    ax.imshow(
        shares, cmap=ramp("confusion", ("#ffffff", "#9fb0d8", "#3b528b")), vmin=0, vmax=1, aspect="auto"
    )
    size = float(np.clip(90 / max(count, 1), 5, 10))
    for i, j in np.ndindex(count, count):
        if table[i, j]:
            shown = f"{table[i, j]:.2g}" if table[i, j] % 1 else f"{table[i, j]:.0f}"
            color = "white" if shares[i, j] > 0.55 else "#1d1d1f"
            ax.text(j, i, shown, ha="center", va="center", color=color, fontsize=size)
    ax.set_xticks(range(count), names, rotation=40, ha="right", rotation_mode="anchor", fontsize=size + 1)
    ax.set_yticks(range(count), names, fontsize=size + 1)
    ax.set(xlabel="predicted", ylabel="true")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    right = float(np.trace(table) / table.sum()) if table.sum() else float("nan")
    ax.set_title(f"{100 * right:.1f} % right", fontsize=10)
    return ax

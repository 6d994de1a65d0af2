"""How many scales are enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._style import class_color, class_line, own_axes, tidy


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

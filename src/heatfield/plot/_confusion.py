"""Which class is taken for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._style import own_axes, ramp


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

"""Which classes are taken for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._style import pyplot


def confusion_matrix(matrix: ArrayLike, labels: Sequence[Any], ax: Any = None) -> Any:
    """Counts of clouds by true class (rows) and predicted class (columns), coloured by share of the row.

    Parameters
    ----------
    matrix : array_like (K, K)
    labels : sequence of K names
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib.axes.Axes

    Examples
    --------
    >>> import heatfield as hf
    >>> ax = hf.plot.confusion_matrix([[8, 2], [1, 9]], ["oak", "pine"])
    >>> [text.get_text() for text in ax.texts]
    ['8', '2', '1', '9']
    """
    plt = pyplot()
    counts = np.asarray(matrix)
    if counts.ndim != 2 or counts.shape != (len(labels), len(labels)):
        raise ValueError(f"matrix must have shape (K, K) for K = {len(labels)} labels, got {counts.shape}")
    names = [str(label) for label in labels]
    if ax is None:
        side = 2.2 + 0.5 * len(names)
        _, ax = plt.subplots(figsize=(side + 1.0, side), layout="constrained")
    shares = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
    ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    for i, j in np.argwhere(counts > 0):
        ax.text(
            j, i, f"{counts[i, j]:g}", ha="center", va="center", fontsize=8,
            color="white" if shares[i, j] > 0.5 else "black",
        )  # fmt: skip
    ax.set_xticks(range(len(names)), names, rotation=45, ha="right")
    ax.set_yticks(range(len(names)), names)
    ax.set(xlabel="predicted", ylabel="true")
    return ax

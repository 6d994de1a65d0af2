"""The figures of a report as PNG in text form."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np

from ..plot import confusion_matrix, spectra_by_class
from ..plot._style import DIMENSION_COLORS, dimension_name, own_axes, pyplot, scale_axis, tidy
from ._collection import Collection
from ._separation import Separation

MEDIA = {"png": "png", "svg": "svg+xml"}


def as_data(axes: Any, kind: str = "png") -> str:
    """A figure as the address of an image that needs no file: "png", or "svg" for print."""
    figure = np.atleast_1d(np.asarray(axes, dtype=object)).flat[0].figure
    buffer = io.BytesIO()
    metadata = {"Software": None} if kind == "png" else {"Creator": "heatfield", "Date": None}
    figure.savefig(buffer, dpi=110, format=kind, metadata=metadata)
    pyplot().close(figure)
    return f"data:image/{MEDIA[kind]};base64," + base64.b64encode(buffer.getvalue()).decode()


def plain(name: str) -> str:
    """A name that matplotlib takes as it is: a dollar sign would start a formula."""
    shown = name if len(name) <= 32 else name[:29] + "..."
    return shown.replace("$", r"\$")


def spectra(collection: Collection, kind: str = "png") -> str:
    """Heat dimension spectra by class; without labels, the average of all."""
    shares = collection.composition()
    if collection.labels and len(collection.classes) > 1:
        names = [plain(label) for label in collection.labels]
        return as_data(spectra_by_class(shares, names), kind)
    mean = 100 * np.nanmean(shares, axis=0)
    ax = own_axes(None, (6.4, 3.2))
    names = [dimension_name(k) for k in range(mean.shape[1])]
    colors = [DIMENSION_COLORS[min(k, 3)] for k in range(mean.shape[1])]
    ax.stackplot(np.arange(len(mean)), mean.T, colors=colors, labels=names, alpha=0.9, linewidth=0)
    scale_axis(ax, len(mean))
    ax.set(ylim=(0, 100), ylabel="share of points, %")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    return as_data(tidy(ax, "Heat dimension spectrum, average of all clouds"), kind)


def confusion(separation: Separation, kind: str = "png") -> str:
    """Which class is taken for which, over all folds."""
    if separation.matrix is None:
        return ""
    names = [plain(name) for name in separation.classes]
    return as_data(confusion_matrix(separation.matrix, names), kind)

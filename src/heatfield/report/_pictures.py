"""The figures of a report: each drawn by name, as an image in the page or as a file."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

from ..plot import confusion_matrix, spectra_by_class
from ..plot._style import (
    DIMENSION_COLORS,
    as_image,
    class_color,
    class_marker,
    dimension_name,
    escaped,
    own_axes,
    scale_axis,
    tidy,
)
from ._collection import Collection
from ._map import Map
from ._separation import Separation

MEDIA = {"png": "png", "svg": "svg+xml"}


def as_data(axes: Any, kind: str = "png") -> str:
    """A figure as the address of an image that needs no file: "png", or "svg" for print."""
    return f"data:image/{MEDIA[kind]};base64," + base64.b64encode(as_image(axes, kind)).decode()


def plain(name: str) -> str:
    """A name of bearable length that matplotlib takes as it is."""
    return escaped(name if len(name) <= 32 else name[:29] + "...")


def figures(collection: Collection, found: Map, separation: Separation) -> dict[str, Callable[[], Any]]:
    """What there is to draw, by name: "map", "spectra", "confusion", "blocks", "scales"."""
    out: dict[str, Callable[[], Any]] = {}
    if found.method != "none":
        out["map"] = lambda: cloud_map(collection, found)
    out["spectra"] = lambda: spectra(collection)
    if separation.matrix is not None:
        out["confusion"] = lambda: confusion(separation)
        out["blocks"] = lambda: losses(separation.blocks, "block of the descriptor")
        out["scales"] = lambda: losses(separation.scales, "scale and its length √t")
    return out


def spectra(collection: Collection) -> Any:
    """Heat dimension spectra by class; without labels, the average of all."""
    shares = collection.composition()
    lengths, unit = collection.length_table(), collection.unit or None
    if collection.labels and len(collection.classes) > 1:
        names = [plain(label) for label in collection.labels]
        return spectra_by_class(shares, names, lengths=lengths, unit=unit)
    mean = 100 * np.nanmean(shares, axis=0)
    ax = own_axes(None, (6.4, 3.2))
    names = [dimension_name(k) for k in range(mean.shape[1])]
    colors = [DIMENSION_COLORS[min(k, 3)] for k in range(mean.shape[1])]
    ax.stackplot(np.arange(len(mean)), mean.T, colors=colors, labels=names, alpha=0.9, linewidth=0)
    scale_axis(ax, len(mean), lengths, unit)
    ax.set(ylim=(0, 100), ylabel="share of points, %")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    return tidy(ax, "Heat dimension spectrum, average of all clouds")


def confusion(separation: Separation) -> Any:
    """Which class is taken for which, over all folds."""
    assert separation.matrix is not None
    return confusion_matrix(separation.matrix, [plain(name) for name in separation.classes])


def cloud_map(collection: Collection, found: Map) -> Any:
    """The clouds as dots, one colour and, for every eight classes, one shape per class."""
    ax = own_axes(None, (7.6, 4.8))
    labels = np.array(collection.labels or [""] * len(collection.files), dtype=object)
    for k, name in enumerate(collection.classes or [""]):
        own = found.places[labels == name]
        style = {"color": class_color(k), "marker": class_marker(k), "linewidths": 0, "s": 22}
        ax.scatter(own[:, 0], own[:, 1], label=f"{plain(name)} ({len(own)})", **style)
    ax.set(xticks=[], yticks=[], xlabel=f"{found.method} 1", ylabel=f"{found.method} 2")
    if collection.classes:
        columns = 1 + (len(collection.classes) - 1) // 20
        ax.legend(
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
            frameon=False,
            fontsize=8,
            ncols=columns,
            title="class",
        )
    return tidy(ax, f"{len(collection.files):,} clouds of {plain(collection.name)}")


def losses(rows: tuple[tuple[str, float, float], ...], title: str) -> Any:
    """Accuracy that is lost where a group of columns is shuffled, with its deviation over the shuffles."""
    ax = own_axes(None, (5.6, 0.9 + 0.28 * len(rows)))
    places = np.arange(len(rows))[::-1]
    ax.barh(places, [100 * loss for _, loss, _ in rows], color=class_color(0), height=0.7)
    ax.errorbar(
        [100 * loss for _, loss, _ in rows], places, xerr=[100 * spread for *_, spread in rows],
        fmt="none", ecolor="#1d1d1f", elinewidth=1,
    )  # fmt: skip
    ax.set_yticks(places, [plain(name) for name, *_ in rows], fontsize=8)
    ax.axvline(0.0, color="#4d4d4d", linewidth=0.8)
    ax.set_xlabel("accuracy lost when shuffled, points of percent")
    return tidy(ax, title)

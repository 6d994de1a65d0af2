"""The report as a page."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import __version__
from .._base.check import check_choice
from .._base.html import assemble, safe_json
from .._search.sketch import in_bytes
from ..plot._style import as_image, class_color
from ._collection import Collection
from ._map import Map, make_map
from ._pictures import MEDIA, as_data
from ._pictures import figures as pictures
from ._separation import Separation, separate


def report_page(
    collection: Collection,
    *,
    folds: int = 5,
    head: str = "lda",
    embedding: str = "auto",
    seed: int = 0,
    figures: str = "png",
    tick: Callable[[int, int], object] | None = None,
    save_figure: Callable[[str, bytes], object] | None = None,
) -> str:
    """A page of HTML about a collection, with nothing to load from elsewhere.

    Guide: ``heatfield docs guide/report``.

    Parameters
    ----------
    collection : Collection
    folds : int
        Of the cross-validation; fewer where a class has fewer clouds.
    head : str
        See `HFSClassifier`.
    embedding : "auto", "pca" or "umap"
        Auto takes UMAP where the library umap is installed.
    figures : "png" or "svg"
        Form of the two figures.
    tick : callable
        Called after every fold, with the number of folds that are done and of all folds.
    save_figure : callable
        Called with the name of each figure ("map", "spectra", "confusion", "blocks", "scales") and its SVG.
    seed : int
        Of folds and map.

    Returns
    -------
    page : str

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=4, n_points=60)
    >>> descriptor = hf.HFSDescriptor("simple")
    >>> rows, files = descriptor.fit_transform(clouds), [f"{i}.csv" for i in range(20)]
    >>> words = [f"class {label}" for label in labels]
    >>> orbits = hf.report.Collection("orbits", files, np.full(20, 60), rows, descriptor, 2, words, clouds)
    >>> hf.report.report_page(orbits, folds=2, embedding="pca").startswith("<!doctype html>")
    True
    """
    check_choice(figures, "figures", tuple(MEDIA))
    found = make_map(collection.features, collection.descriptor, embedding, seed)
    separation = separate(collection, folds, head, seed, tick)
    drawn = pictures(collection, found, separation)
    for name, draw in drawn.items() if save_figure is not None else ():
        save_figure(name, as_image(draw(), "svg"))  # type: ignore[misc]  # not None here
    header = {
        "name": collection.name,
        "stamp": stamp(),
        "facts": _facts(collection),
        "files": collection.files,
        "points": collection.points.tolist(),
        "labels": collection.labels,
        "classes": collection.classes,
        "map": {
            "places": np.round(found.places, 4).tolist(),
            "method": found.method,
            "words": found.words,
        },
        "neighbours": found.neighbours.tolist(),
        "outliers": _outliers(found, collection, separation),
        "separation": _separation(separation, head),
        "broken": collection.broken,
        "sketches": [packed(one) for one in collection.sketches],
        "spectra": as_data(drawn["spectra"](), figures),
        "confusion": as_data(drawn["confusion"](), figures) if "confusion" in drawn else "",
        "colours": [class_color(k) for k in range(max(1, len(collection.classes)))],
    }
    scripts = ("common.js", "report.js")
    return assemble(__package__, "report.html", scripts, "report.css", {"HEADER": safe_json(header)})


def stamp() -> str:
    """Which version made a page, and when."""
    return f"heatfield {__version__}, {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC"


def packed(sketch: np.ndarray) -> str:
    """Points of a thumbnail, one byte per coordinate."""
    drawn = sketch if sketch.dtype == np.uint8 else in_bytes(sketch)
    return base64.b64encode(drawn.tobytes()).decode()


def _facts(collection: Collection) -> list[tuple[str, str]]:
    """What is in the folder, in a few lines."""
    points = collection.points
    files = f"{len(collection.files):,} described"
    if collection.broken:
        files += f", {len(collection.broken):,} not (listed at the end)"
    facts = [("files", files)]
    if collection.labels:
        counts = {name: collection.labels.count(name) for name in collection.classes}
        shown = ", ".join(f"{name} ({count})" for name, count in counts.items())
        facts.append(("classes", f"{len(counts)}: {shown}"))
    else:
        facts.append(("classes", "none: the files carry no labels"))
    facts.append(
        ("points per cloud", f"{points.min():,} to {points.max():,}, median {int(np.median(points)):,}")
    )
    facts.append(("coordinates", str(collection.dims)))
    d = collection.descriptor
    facts.append(
        ("descriptor", f"{d.variant}, {collection.features.shape[1]} numbers at {collection.steps} scales")
    )
    if collection.length_words():
        facts.append(("lengths", collection.length_words()))
    copies = len(collection.features) - len(np.unique(collection.features.round(9), axis=0))
    if copies:
        facts.append(("copies", f"{copies} clouds have the same descriptor as another"))
    return facts


def _outliers(found: Map, collection: Collection, separation: Separation) -> list[dict[str, Any]]:
    """Clouds far from all others, and clouds whose neighbours and prediction agree on another class."""
    out = [
        {
            "i": i,
            "why": f"far from all others: {score} deviations beyond the usual distance to its neighbours",
        }
        for i, score in found.outliers
    ]
    labels = collection.labels
    if labels and separation.rows is not None and separation.predicted is not None:
        for i, predicted in zip(separation.rows.tolist(), separation.predicted, strict=True):
            near = [labels[j] for j in found.neighbours[i]]
            if predicted != labels[i] and near and all(other == predicted for other in near):
                why = f"labelled {labels[i]}, but predicted {predicted} like its {len(near)} neighbours"
                out.append({"i": i, "why": why})
    return out[:60]


def _separation(separation: Separation, head: str) -> dict[str, Any]:
    if separation.reason:
        return {"reason": separation.reason}
    mean, deviation = np.mean(separation.folds), np.std(separation.folds)
    heads = sorted(set(separation.heads))
    return {
        "reason": "",
        "words": f"{100 * mean:.1f} % ± {100 * deviation:.1f} mean accuracy over classes "
        f"in {len(separation.folds)} folds "
        f"({100 * separation.accuracy:.1f} % of all clouds; chance {100 / len(separation.classes):.1f} %). "
        f"Read-out: {', '.join(heads)}{', chosen on the training part of each fold' * (head == 'auto')}.",
        "blocks": separation.blocks,
        "scales": separation.scales,
    }

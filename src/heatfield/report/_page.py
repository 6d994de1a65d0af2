"""Pages about many clouds: the report of a folder with its figures, and what a search found."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import __version__
from .._base.files import assemble, safe_json
from .._base.summary import plural
from ..models.index import in_bytes
from ..models.retrieval import Hits
from ..options import Head, Report, takes
from ..plot import confusion_matrix, spectra_by_class
from ..plot._style import (
    as_image,
    class_color,
    class_marker,
    escaped,
    legend_beside,
    own_axes,
    stack_shares,
    tidy,
)
from ._collection import Collection, Map, Separation, make_map

FIGURES = ("map", "spectra", "confusion", "blocks", "scales")  # without classes some are not drawn


@takes(Report)
def report_page(
    collection: Collection,
    separation: Separation,
    *,
    save_figure: Callable[[str, bytes], object] | None = None,
    random_state: int | None = Head.random_state,
    report: Report,
) -> str:
    """A page of HTML about a collection.

    ``save_figure`` is called with name and SVG of each figure; ``random_state`` is the seed of the map.
    """
    found = make_map(collection.features, collection.descriptor, report.embedding, random_state)
    drawn = _pictures(collection, found, separation)
    if save_figure is not None:
        for name, draw in drawn.items():
            save_figure(name, as_image(draw(), "svg"))
    header = {
        "name": collection.name,
        "stamp": _stamp(),
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
        "separation": _separation(separation),
        "broken": collection.broken,
        "sketches": [_packed(one) for one in collection.sketches],
        "spectra": _as_data(drawn["spectra"]()),
        "confusion": _as_data(drawn["confusion"]()) if "confusion" in drawn else "",
        "colours": [class_color(k) for k in range(max(1, len(collection.classes)))],
    }
    scripts = ("common.js", "report.js")
    return assemble(__package__, "report.html", scripts, "report.css", {"HEADER": safe_json(header)})


def _stamp() -> str:
    """Which version made a page, and when."""
    return f"heatfield {__version__}, {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC"


def _packed(sketch: np.ndarray) -> str:
    """Points of a thumbnail, one byte per coordinate."""
    return base64.b64encode(in_bytes(sketch).tobytes()).decode()


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
        facts.append(("copies", f"{plural(copies, 'cloud')} with the same descriptor as another"))
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


def _separation(separation: Separation) -> dict[str, Any]:
    if separation.reason:
        return {"reason": separation.reason}
    mean, deviation = np.mean(separation.folds), np.std(separation.folds)
    heads = sorted(set(separation.heads))
    chosen = ", chosen on the training part of each fold" * (separation.head == "auto")
    whole = " No group is split between folds." * separation.grouped
    return {
        "reason": "",
        "words": f"{100 * mean:.1f} % ± {100 * deviation:.1f} mean accuracy over classes "
        f"in {len(separation.folds)} folds "
        f"({100 * separation.accuracy:.1f} % of all clouds; chance {100 / len(separation.classes):.1f} %). "
        f"Read-out: {', '.join(heads)}{chosen}.{whole}",
        "blocks": separation.blocks,
        "scales": separation.scales,
    }


def _as_data(axes: Any) -> str:
    """A figure as the address of an image that needs no file."""
    return "data:image/png;base64," + base64.b64encode(as_image(axes, "png")).decode()


def _plain(name: str) -> str:
    """A name of bearable length that matplotlib takes as it is."""
    return escaped(name if len(name) <= 32 else name[:29] + "...")


def _pictures(collection: Collection, found: Map, separation: Separation) -> dict[str, Callable[[], Any]]:
    """What there is to draw, by name: "map", "spectra", "confusion", "blocks", "scales"."""
    out: dict[str, Callable[[], Any]] = {}
    if found.method != "none":
        out["map"] = lambda: _cloud_map(collection, found)
    out["spectra"] = lambda: _spectra(collection)
    if separation.matrix is not None:
        out["confusion"] = lambda: _confusion(separation)
        out["blocks"] = lambda: _losses(separation.blocks, "block of the descriptor")
        out["scales"] = lambda: _losses(separation.scales, "scale and its length √t")
    return out


def _spectra(collection: Collection) -> Any:
    """Heat dimension spectra by class; without labels, the average of all."""
    shares = collection.composition()
    lengths, unit = collection.length_table(), collection.unit or None
    if collection.labels and len(collection.classes) > 1:
        names = [_plain(label) for label in collection.labels]
        return spectra_by_class(shares, names, lengths=lengths, unit=unit)
    ax = own_axes(None, (6.4, 3.2))
    stack_shares(ax, np.nanmean(shares, axis=0), np.arange(shares.shape[2]), lengths, unit)
    return tidy(ax, "Heat dimension spectrum, average of all clouds")


def _confusion(separation: Separation) -> Any:
    """Which class is taken for which, over all folds."""
    assert separation.matrix is not None
    return confusion_matrix(separation.matrix, [_plain(name) for name in separation.classes])


def _cloud_map(collection: Collection, found: Map) -> Any:
    """The clouds as dots, one colour and, for every eight classes, one shape per class."""
    ax = own_axes(None, (7.6, 4.8))
    labels = np.array(collection.labels or [""] * len(collection.files), dtype=object)
    for k, name in enumerate(collection.classes or [""]):
        own = found.places[labels == name]
        style = {"color": class_color(k), "marker": class_marker(k), "linewidths": 0, "s": 22}
        ax.scatter(own[:, 0], own[:, 1], label=f"{_plain(name)} ({len(own)})", **style)
    ax.set(xticks=[], yticks=[], xlabel=f"{found.method} 1", ylabel=f"{found.method} 2")
    if collection.classes:
        columns = 1 + (len(collection.classes) - 1) // 20
        legend_beside(ax, 8, ncols=columns, title="class")
    return tidy(ax, f"{plural(len(collection.files), 'cloud')} of {_plain(collection.name)}")


def _losses(rows: tuple[tuple[str, float, float], ...], title: str) -> Any:
    """Accuracy that is lost where a group of columns is shuffled, with its deviation over the shuffles."""
    ax = own_axes(None, (5.6, 0.9 + 0.28 * len(rows)))
    places = np.arange(len(rows))[::-1]
    ax.barh(places, [100 * loss for _, loss, _ in rows], color=class_color(0), height=0.7)
    ax.errorbar(
        [100 * loss for _, loss, _ in rows], places, xerr=[100 * spread for *_, spread in rows],
        fmt="none", ecolor="#1d1d1f", elinewidth=1,
    )  # fmt: skip
    ax.set_yticks(places, [_plain(name) for name, *_ in rows], fontsize=8)
    ax.axvline(0.0, color="#4d4d4d", linewidth=0.8)
    ax.set_xlabel("accuracy lost when shuffled, points of percent")
    return tidy(ax, title)


def hits_page(
    name: str,
    queries: Sequence[str],
    hits: Hits,
    *,
    query_sketches: Sequence[np.ndarray],
    hit_sketches: Mapping[int, np.ndarray],
    facts: Sequence[tuple[str, str]] = (),
) -> str:
    """A page of HTML about what a search found; ``name`` is that of the index.

    ``hit_sketches`` are thumbnails by the row of a hit, one without gets an empty picture; ``facts`` are
    pairs of a key and its words, for the head of the page.
    """
    position: dict[int, int] = {}  # of each hit among the pictures, those of the queries come first
    names, labels = list(queries), [""] * len(queries)
    sketches = [_packed(one) for one in query_sketches]
    found: list[dict[str, Any]] = []
    for i in range(len(hits)):
        entries = []
        for j, row in enumerate(hits.rows[i].tolist()):
            if row not in position:
                position[row] = len(names)
                names.append(hits.names[i][j])
                label = hits.labels[i][j]
                labels.append("" if label is None else str(label))
                sketches.append(_packed(hit_sketches[row]) if row in hit_sketches else "")
            differences = [None if np.isnan(v) else round(float(v), 3) for v in hits.differences[i, j]]
            entries.append([position[row], f"{hits.distances[i, j]:.4g}", differences])
        found.append({"i": i, "hits": entries})
    header = {
        "name": name,
        "stamp": _stamp(),
        "facts": list(facts),
        "files": names,
        "labels": labels,
        "classes": sorted({"", *labels}),
        "sketches": sketches,
        "blocks": list(hits.blocks),
        "queries": found,
    }
    scripts = ("common.js", "hits.js")
    return assemble(__package__, "hits.html", scripts, "report.css", {"HEADER": safe_json(header)})

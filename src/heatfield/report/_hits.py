"""What a search found, as a page: every query with its hits as thumbnails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._base.html import assemble, safe_json
from .._search.hits import Hits
from ._page import packed, stamp


def hits_page(
    name: str,
    queries: Sequence[str],
    hits: Hits,
    *,
    query_sketches: Sequence[np.ndarray],
    hit_sketches: Mapping[int, np.ndarray],
    facts: Sequence[tuple[str, str]] = (),
) -> str:
    """A page of HTML, with nothing to load from elsewhere.

    Guide: ``heatfield docs guide/search``.

    Parameters
    ----------
    name : str
        Of the index.
    queries : names of the q queries
    hits : Hits
    query_sketches : one array (k, 2) per query
    hit_sketches : arrays (k, 2) by the row of a hit
        A hit without one gets an empty picture.
    facts : pairs of a key and its words, for the head of the page

    Returns
    -------
    html : str

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=2, n_points=60)
    >>> index = hf.HFSIndex("simple").build(clouds, labels=labels)
    >>> hits = index.query(clouds[:1], k=2)
    >>> thumbnails = {row: clouds[row] for row in hits.rows[0]}
    >>> page = hf.report.hits_page(
    ...     "orbits", ["new"], hits, query_sketches=clouds[:1], hit_sketches=thumbnails
    ... )
    >>> page.startswith("<!doctype html>")
    True
    """
    if len(queries) != len(hits) or len(query_sketches) != len(hits):
        raise ValueError(
            f"{len(hits)} queries need as many names and sketches, "
            f"got {len(queries)} and {len(query_sketches)}"
        )
    place: dict[int, int] = {}  # of each hit among the pictures, those of the queries come first
    names, labels = list(queries), [""] * len(queries)
    sketches = [packed(one) for one in query_sketches]
    found: list[dict[str, Any]] = []
    for i in range(len(hits)):
        entries = []
        for j, row in enumerate(hits.rows[i].tolist()):
            if row not in place:
                place[row] = len(names)
                names.append(hits.names[i][j])
                label = hits.labels[i][j]
                labels.append("" if label is None else str(label))
                sketches.append(packed(hit_sketches[row]) if row in hit_sketches else "")
            differences = [None if np.isnan(v) else round(float(v), 3) for v in hits.differences[i, j]]
            entries.append([place[row], f"{hits.distances[i, j]:.4g}", differences])
        found.append({"i": i, "hits": entries})
    header = {
        "name": name,
        "stamp": stamp(),
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

"""Put the page together: template, styles, scripts and data in one file that loads nothing else."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.check import Array, as_points, check_choice, check_count, check_range
from .._base.html import assemble, safe_json
from .._signatures.channels import reordered
from .._signatures.local_type import LOCAL_TYPES
from .._signatures.scales import scale_schedule
from .._signatures.signatures import signatures
from ..io import points_of_file
from ._payload import FINE_POINTS, drawable, pack

MOST_POINTS = 200_000
# What is drawn has three digits; a looser tolerance of the fast path makes large clouds quick.
_TOL = 1e-5
_SCRIPTS = (
    "data.js", "colours.js", "camera.js", "scene.js", "body.js", "charts.js", "controls.js", "main.js",
)  # fmt: skip


def view_page(
    points: ArrayLike,
    *,
    name: str = "points",
    columns: Mapping[str, NDArray[Any]] | None = None,
    n_scales: int = 8,
    c_min: float = 0.05,
    c_max: float = 0.25,
    lengths: ArrayLike | None = None,
    most_points: int = MOST_POINTS,
    unit: str = "",
    upright: bool = False,
    theme: str = "auto",
    n_jobs: int | None = 1,
) -> str:
    """A page of HTML that shows a cloud and its signatures, with nothing to load from elsewhere.

    Guide: ``heatfield docs guide/view``.

    Parameters
    ----------
    points : array_like (m, n), or a path
        In one to three dimensions; beyond, their first three principal components are drawn.
    name : str
        The title. Any text: it is shown as text.
    columns : mapping of (m,) arrays, optional
        More to colour by: the first six columns of numbers.
    n_scales, c_min, c_max, lengths, n_jobs
        See `heatfield.signatures`.
    most_points : int
        Of larger clouds a random choice of so many is drawn. Their signatures are those in the whole cloud.
    unit : str
        Of the coordinates, shown with every length; "" where it is not known.
    upright : bool
        Whether the third axis points up, as in laser scans. Otherwise the cloud is first shown from where
        it is widest.
    theme : "auto", "dark" or "light"

    Returns
    -------
    page : str

    Examples
    --------
    >>> import heatfield as hf
    >>> points, _ = hf.datasets.make_mixed_shape(200)
    >>> page = hf.view.view_page(points, name="<b>mixed</b>")
    >>> page.startswith("<!doctype html>"), "<b>mixed" in page
    (True, False)
    """
    checked = as_points(points_of_file(points))
    limit = check_count(most_points, "most_points", 1)
    count = check_count(n_scales, "n_scales", 2)
    low, high = check_range(c_min, c_max)
    check_choice(theme, "theme", ("auto", "dark", "light"))
    m, n = checked.shape
    if m < 2 or not np.ptp(checked, axis=0).any():
        raise ValueError(
            f"{name} has fewer than two distinct points ({m} in all): there are no scales to show"
        )
    # In random order, so that the first k are a fair sample of the whole.
    rows = np.random.default_rng(0).permutation(m)[:limit]
    options: dict[str, Any] = {"n_scales": count, "c_min": low, "c_max": high, "lengths": lengths}
    options |= {"tol": _TOL, "n_jobs": n_jobs}
    if limit < m:
        s = signatures(checked, targets=rows, **options)
    else:
        s = reordered(signatures(checked, **options), rows)
    chosen = drawable({key: np.asarray(column)[rows] for key, column in (columns or {}).items()})
    drawn, centre, half, projected = _places(checked, rows)
    payload = pack(drawn, rows, s, chosen)
    ends = s.scales if lengths is None else scale_schedule(checked, 2, c_min=low, c_max=high)
    nearest, diameter = float(np.sqrt(ends[0] / low)), float(np.sqrt(ends[-1] / high))
    header = {
        "name": name,
        "facts": _facts(m, n, list(columns or {}), list(chosen)),
        "notes": _notes(m, len(rows), projected, n),
        "theme": theme,
        "types": LOCAL_TYPES,
        "dims": n,
        "points": m,
        "shown": len(rows),
        "projected": projected,
        "scales": s.scales.tolist(),
        "start": round(0.4 * (len(s.scales) - 1)),
        "hds": s.hds.composition.tolist(),
        "unit": unit,
        "most": n,
        "nearest": nearest,
        "diameter": diameter,
        "centre": centre.tolist(),
        "half": half,
        "radius": float(np.sqrt((drawn**2).sum(axis=1).max())) or 1.0,
        # A random choice leaves gaps; points drawn a little larger close them.
        "spacing": nearest / half * (m / len(rows)) ** 0.5,
        "least": float(np.clip(9.0 - 1.5 * np.log10(len(rows)), 1.5, 5.0)),  # pixels of a point, at least
        "largest": 9.0 * max(1.0, (2000 / len(rows)) ** 0.35),  # and at most, until one zooms in
        "axes": _axes(np.ptp(drawn, axis=0), upright and n == 3),
        "top": payload.top,
        "arrays": payload.arrays,
        "quantities": payload.quantities,
    }
    packed = gzip.compress(b"".join(payload.parts), 6, mtime=0)
    fields = {"HEADER": safe_json(header), "ARRAYS": base64.b64encode(packed).decode()}
    return assemble(__package__, "page.html", _SCRIPTS, "page.css", fields)


def _places(points: Array, rows: NDArray[np.int64]) -> tuple[Array, Array, float, bool]:
    """The chosen points in three coordinates from -1 to 1, and what that took."""
    n = points.shape[1]
    if n > 3:
        centred = points - points.mean(axis=0)
        _, axes = np.linalg.eigh(centred.T @ centred)
        points = centred @ axes[:, ::-1][:, :3]
    centre = np.zeros(3)
    centre[: points.shape[1]] = 0.5 * (points.min(axis=0) + points.max(axis=0))
    half = 0.5 * float(np.ptp(points, axis=0).max())
    out = np.zeros((len(rows), 3))
    out[:, : points.shape[1]] = (points[rows] - centre[: points.shape[1]]) / half
    return out, centre, half, n > 3


def _axes(extent: Array, upright: bool) -> list[list[int]]:
    """Which way is right, up and towards the eye at first: one looks along the shortest side."""
    views = {0: ([0, 1, 0], [0, 0, 1], [1, 0, 0]), 1: ([1, 0, 0], [0, 0, 1], [0, -1, 0])}
    along = int(np.argmin(extent[:2] if upright else extent[::-1]))
    along = along if upright else 2 - along
    return [list(row) for row in views.get(along, ([1, 0, 0], [0, 1, 0], [0, 0, 1]))]


def _facts(m: int, n: int, columns: list[str], chosen: list[str]) -> str:
    others = [name for name in columns if name not in chosen]
    words = f"{m:,} points in {n} dimension{'s' * (n > 1)}."
    if others:
        words += f" Columns not shown: {', '.join(others[:12])}{', …' if len(others) > 12 else ''}."
    return words


def _notes(m: int, shown: int, projected: bool, n: int) -> list[str]:
    """What the page leaves out."""
    notes = []
    if shown < m:
        notes.append(
            f"Shown are {shown:,} of {m:,} points, a random choice in which every point had the same chance. "
            "Their signatures are those in the whole cloud; the shares of dimensions are of those shown."
        )
    if projected:
        notes.append(f"The {n}-dimensional points are drawn by their first three principal components.")
    digits = "65,534" if shown <= FINE_POINTS else "254"
    notes.append(f"Values are stored to 1/{digits} of their range at each scale.")
    notes.append(
        "While the view moves, a slow machine draws a random part of the points; at rest all are drawn."
    )
    return notes

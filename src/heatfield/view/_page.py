"""Put the page together: template, styles, scripts and data in one file that loads nothing else."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.check import Array, as_points, check_range
from .._base.files import assemble, safe_json
from .._base.summary import plural
from ..channels import Column, drawn_columns, reordered
from ..heat_signatures import Signatures, signatures
from ..io import points_of_file
from ..local_type import LOCAL_TYPES, local_type_codes
from ..options import Scales, Threads, View, takes
from ..scales import scale_schedule

# Numbers take two bytes each up to so many points, then one: 200,000 points at 8 scales make about 10 MB.
_FINE_POINTS = 50_000
_MOST_COLUMNS = 6
_MOST_AXES = 3
# What is drawn has three digits; a looser tolerance of the fast path makes large clouds quick.
_TOL = 1e-5
_SCRIPTS = (
    "data.js", "colours.js", "camera.js", "scene.js", "body.js", "charts.js", "controls.js", "main.js",
)  # fmt: skip


@takes(Scales, View, Threads)
def view_page(
    points: ArrayLike,
    *,
    name: str = "points",
    columns: Mapping[str, NDArray[Any]] | None = None,
    unit: str = "",
    upright: bool = False,
    scales: Scales,
    view: View,
    threads: Threads,
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
    unit : str
        Of the coordinates, shown with every length; "" where it is not known.
    upright : bool
        Whether the third axis points up, as in laser scans. Otherwise the cloud is first shown from where
        it is widest.
    {options}

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
    low, high = check_range(scales.c_min, scales.c_max)
    m, n = checked.shape
    if m < 2 or not np.ptp(checked, axis=0).any():
        raise ValueError(
            f"{name} has fewer than two distinct points ({m} in all): there are no scales to show"
        )
    # In random order, so that the first k are a fair sample of the whole.
    rows = np.random.default_rng(0).permutation(m)[: view.most_points]
    options: dict[str, Any] = {**vars(scales), **vars(threads), "tol": _TOL}
    if view.most_points < m:
        s = signatures(checked, targets=rows, **options)
    else:
        s = reordered(signatures(checked, **options), rows)
    chosen = _drawable({key: np.asarray(column)[rows] for key, column in (columns or {}).items()})
    drawn, centre, half, projected = _places(checked, rows)
    payload = _pack(drawn, rows, s, chosen)
    ends = s.scales if scales.lengths is None else scale_schedule(checked, 2, c_min=low, c_max=high)
    nearest, diameter = float(np.sqrt(ends[0] / low)), float(np.sqrt(ends[-1] / high))
    header = {
        "name": name,
        "facts": _facts(m, n, list(columns or {}), list(chosen)),
        "notes": _notes(m, len(rows), projected, n),
        "theme": view.theme,
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
    words = f"{plural(m, 'point')} in {plural(n, 'dimension')}."
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
    digits = "65,534" if shown <= _FINE_POINTS else "254"
    notes.append(f"Values are stored to 1/{digits} of their range at each scale.")
    notes.append(
        "While the view moves, a slow machine draws a random part of the points; at rest all are drawn."
    )
    return notes


class _Payload:
    """Arrays one after the other, and where each begins."""

    def __init__(self, codes: type[np.unsignedinteger]) -> None:
        self.parts: list[bytes] = []
        self.arrays: list[tuple[str, str, int, int]] = []
        self.quantities: dict[str, dict[str, Any]] = {}
        self.size = 0
        self.codes = codes
        self.top = int(np.iinfo(codes).max) - 1  # the largest code says that there is no value

    def add(self, name: str, values: NDArray[Any]) -> None:
        """An array as it is, aligned to four bytes."""
        kind = {"f": "f", "u": "u"}[values.dtype.kind] + str(values.dtype.itemsize)
        data = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        self.arrays.append((name, kind, self.size, int(values.size)))
        data += bytes(-len(data) % 4)
        self.parts.append(data)
        self.size += len(data)

    def add_quantity(self, name: str, label: str, kind: str, values: Array, colours: Array) -> None:
        """Values (m, T), each scale over its own range; ``colours`` (T, 2) are the ends of the ramp."""
        codes = np.full(values.T.shape, self.top + 1, self.codes)
        lows, highs = [], []
        for row, column in zip(codes, values.T, strict=True):
            known = np.isfinite(column)
            low, high = (
                (float(column[known].min()), float(column[known].max())) if known.any() else (0.0, 0.0)
            )
            share = (column[known] - low) / ((high - low) or 1.0)
            row[known] = np.rint(share * self.top).astype(self.codes)
            lows.append(low)
            highs.append(high)
        self.add(name, codes)
        self._describe(name, label, kind, lows, highs, colours)

    def add_types(self, codes: NDArray[np.uint8]) -> None:
        """Local types (m, T)."""
        self.add("type", np.ascontiguousarray(codes.T))
        steps = codes.shape[1]
        last = len(LOCAL_TYPES) - 1.0
        ends = np.tile([0.0, last], (steps, 1))
        self._describe("type", "local type", "type", [0.0] * steps, [last] * steps, ends)

    def _describe(
        self, name: str, label: str, kind: str, lows: list[float], highs: list[float], colours: Array
    ) -> None:
        self.quantities[name] = {
            "label": label,
            "kind": kind,
            "array": name,
            "steps": len(lows),
            "low": lows,
            "high": highs,
            "first": colours[:, 0].tolist(),
            "last": colours[:, 1].tolist(),
        }


def _pack(
    places: Array, rows: NDArray[np.int64], s: Signatures, columns: Mapping[str, NDArray[Any]]
) -> _Payload:
    """Everything that is drawn: places (q, 3) in units of the page, their rows in the file, signatures."""
    assert s.spectrum is not None
    n = s.spectrum.shape[2]
    out = _Payload(np.uint16 if len(places) <= _FINE_POINTS else np.uint8)
    out.add("points", places.astype(np.float32))
    out.add("rows", rows.astype(np.uint32))

    for shown in sorted(drawn_columns(s), key=lambda column: column.channel.menu):
        if shown.axis is None or shown.axis < _MOST_AXES:
            _add_signature(out, shown, n)
        if shown.name == "dimension":
            out.add_types(local_type_codes(s.dimension, s.transition, s.spectrum))
    for k, (name, column) in enumerate(columns.items()):
        values = column.astype(np.float64)[:, None]
        values[~np.isfinite(values)] = np.nan
        ends = np.nanpercentile(values, [1, 99], axis=0).T
        out.add_quantity(f"column{k}", f"column {name}", "column", values, ends)
    return out


def _add_signature(out: _Payload, shown: Column, n: int) -> None:
    """One signature with its colours; the logarithm to the base 10 of what spans decades."""
    channel, values, label = shown.channel, shown.values, shown.label
    if channel.log:
        with np.errstate(divide="ignore"):
            values = np.log10(values)
        # The page itself shows powers of ten for the ramp of the density.
        label = label if channel.ramp == "density" else f"log₁₀ {label}"
    if channel.ends is None:
        ends = np.nanpercentile(np.where(np.isfinite(values), values, np.nan), [2, 98], axis=0).T
    else:
        ends = np.tile(channel.ends(values, n), (values.shape[1], 1))
    out.add_quantity(shown.name, label, channel.ramp, values, ends)


def _drawable(columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The first columns of numbers that are not all the same."""
    kept: dict[str, NDArray[Any]] = {}
    for name, column in columns.items():
        if column.ndim != 1 or column.dtype.kind not in "fiub" or len(kept) == _MOST_COLUMNS:
            continue
        known = column[np.isfinite(column)] if column.dtype.kind == "f" else column
        if len(known) and known.min() < known.max():
            kept[name] = column
    return kept

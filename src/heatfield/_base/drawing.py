"""Small drawings as SVG, without a plotting library: for the summaries in notebooks.

They take the notebook's own text colour and background, so they can be read on light and on dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from .check import Array
from .summary import number, plain, shortened

_COLOR = "#3b6fd4"  # visible on black and on white
_MOST_DOTS = 400


def band(x: Array, low: Array, middle: Array, high: Array, *, top: float, title: str, below: str) -> str:
    """A curve between two others over log x, with whole numbers on the other axis, up to ``top``.

    Columns that are not finite are left out; with fewer than two there is no drawing.
    """
    good = np.isfinite(x) & (x > 0.0) & np.isfinite(low) & np.isfinite(middle) & np.isfinite(high)
    x, low, middle, high = (np.asarray(v, dtype=float)[good] for v in (x, low, middle, high))
    if x.size < 2 or not x[0] < x[-1]:
        return ""
    width, height, left, right, above, under = 340, 150, 26, 10, 20, 30
    most = max(float(top), float(high.max()), 1.0)
    least = min(0.0, float(low.min()))
    log = np.log(x)
    across = left + (width - left - right) * (log - log[0]) / (log[-1] - log[0])

    def up(value: Array | float) -> Array:
        return np.asarray(above + (height - above - under) * (1.0 - (value - least) / (most - least)))

    parts = [_text(left, 12, title, bold=True)]
    step = max(1, int(np.ceil(top / 6)))
    for tick in range(0, int(most) + 1, step):
        y = float(up(tick))
        parts.append(
            f'<line x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" '
            'stroke-opacity="0.2"/>' + _text(left - 5, y + 4, str(tick), anchor="end")
        )
    ring = [*zip(across, up(high), strict=True), *reversed([*zip(across, up(low), strict=True)])]
    line = [*zip(across, up(middle), strict=True)]
    parts.append(f'<polygon points="{_path(ring)}" fill="{_COLOR}" fill-opacity="0.25"/>')
    parts.append(f'<polyline points="{_path(line)}" fill="none" stroke="{_COLOR}" stroke-width="2"/>')
    parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5" fill="{_COLOR}"/>' for a, b in line]
    parts.append(_text(left, height - 16, number(float(x[0]))))
    parts.append(_text(width - right, height - 16, number(float(x[-1])), anchor="end"))
    parts.append(_text((left + width - right) / 2, height - 4, below, anchor="middle"))
    return _sheet(width, height, title, parts)


def dots(points: Array, title: str) -> str:
    """Some of the points, seen along the axis in which they extend least."""
    finite = points[np.isfinite(points).all(axis=1)] if points.size else points
    if len(finite) == 0:
        return ""
    some = finite[np.unique(np.linspace(0, len(finite) - 1, _MOST_DOTS).astype(int))]
    low, high = finite.min(axis=0), finite.max(axis=0)
    sides = 0.5 * high - 0.5 * low  # halves, so that nothing overflows
    axes = np.sort(np.argsort(-sides, kind="stable")[:2])
    width, tallest, edge = 240, 160, 8
    side = sides[axes] if axes.size > 1 else np.array([sides[0], 0.0])
    side = side / (float(side.max()) or 1.0)  # before dividing by it: it may be tiny
    half = np.array([width, tallest]) / 2 - edge
    unit = float((half / np.maximum(side, 1e-9)).min()) / (float(sides.max()) or 1.0)
    height = round(2 * float(sides[axes[-1]] if axes.size > 1 else 0.0) * unit) + 2 * edge
    places = (some[:, axes] - (0.5 * low + 0.5 * high)[axes]) * unit
    across, up = places[:, 0], places[:, 1] if axes.size > 1 else np.zeros(len(places))
    marks = [
        f'<circle cx="{width / 2 + a:.1f}" cy="{height / 2 - b:.1f}" r="1.6"/>'
        for a, b in zip(across, up, strict=True)
    ]
    return _sheet(width, height, title, [f'<g fill="{_COLOR}" fill-opacity="0.7">{"".join(marks)}</g>'])


def bars(names: Sequence[str], counts: Sequence[int], title: str, most: int = 12) -> str:
    """Counts as bars, with their names; those beyond ``most`` as one."""
    entries = [(shortened(plain(name), 22), int(count)) for name, count in zip(names, counts, strict=True)]
    if len(entries) > most:
        rest = entries[most - 1 :]
        entries = [*entries[: most - 1], (f"{len(rest)} others", sum(count for _, count in rest))]
    if not entries:
        return ""
    largest = max(1, *(count for _, count in entries))
    width, left, step = 340, 150, 17
    parts = [_text(0, 12, title, bold=True)]
    for k, (name, count) in enumerate(entries):
        y = 20 + step * k
        long = (width - left - 60) * count / largest
        parts.append(
            _text(left - 6, y + 11, name, anchor="end")
            + f'<rect x="{left}" y="{y + 1}" width="{long:.1f}" height="{step - 4}" '
            f'fill="{_COLOR}"/>' + _text(left + long + 5, y + 11, f"{count:,}")
        )
    return _sheet(width, 24 + step * len(entries), title, parts)


def _text(x: float, y: float, words: str, *, anchor: str = "start", bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight} font-size="11" '
        f'fill="currentColor">{escape(words)}</text>'
    )


def _path(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in places)


def _sheet(width: int, height: int, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}" '
        f'font-family="sans-serif">{"".join(parts)}</svg>'
    )

"""The summaries of a heat field and of a heat body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._base.drawing import dots
from .._base.summary import Summary, extent, number, plural, shape

if TYPE_CHECKING:
    from .field import HeatField
    from .heat_body import HeatBody


def summary_of_field(field: HeatField) -> Summary:
    """Points, extent, weights, method, and the methods to call."""
    m, n = field.points.shape
    low, high = float(field.weights.min()), float(field.weights.max())
    same = f"all {number(low)}" if low == high else f"from {number(low)} to {number(high)}"
    lines: list[tuple[str, str | list[str]]] = [
        ("extent", f"{extent(field.points)}, in the unit of the points"),
        ("weights", f"{same}, {number(float(field.weights.sum()))} in all"),
        (
            "method",
            f"{field._method}, tol {field._tol:g} where it is fast, {plural(field._n_threads, 'thread')}",
        ),
        ("at (q, n), t", "value, log_value, gradient, hessian, log_hessian, dimension"),
        ("t, alpha", "heat_body"),
    ]
    title = f"HeatField of {plural(m, 'point')} in {plural(n, 'dimension')}"
    return Summary(title, lines, [dots(field.points, title)])


def summary_of_body(body: HeatBody) -> Summary:
    """Level, size, grid and surface."""
    n = body.mask.ndim
    size = {1: "length", 2: "area", 3: "volume"}.get(n, "volume")
    level = (
        f"u >= {number(body.level)}, {number(body.alpha)} of the largest on the data, t = {number(body.t)}"
    )
    lines: list[tuple[str, str | list[str]]] = [
        ("level", level),
        (size, number(body.volume)),
        ("mask", f"{shape(body.mask)} nodes, {int(body.mask.sum()):,} of them in the body"),
    ]
    if body.vertices is not None and body.faces is not None:
        lines.append(("surface", f"vertices {shape(body.vertices)}, faces {shape(body.faces)}"))
    if body.contours is not None:
        lines.append(("contours", plural(len(body.contours), "closed curve")))
    if body.intervals is not None:
        lines.append(("intervals", shape(body.intervals)))
    return Summary(f"HeatBody in {plural(n, 'dimension')}", lines)

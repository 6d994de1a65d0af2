"""Heat bodies: where the heat field is at least a given share of its largest value on the data."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from ._base.check import Array, HeatFieldWarning, check_count
from ._base.optional import need

if TYPE_CHECKING:
    from .field import HeatField

# Grid cells along the longest side, by dimension, and the most nodes that a grid may have (256 MB).
RESOLUTION = {1: 1024, 2: 256, 3: 96}
_MOST_NODES = 2**25

# Nodes evaluated at a time.
_SLAB = 2**18

# A vertex lies on the surface when u is this close to the level, relatively; at most so many Newton steps.
_SETTLED = 1e-12
_STEPS = 6


@dataclass(frozen=True, repr=False)
class HeatBody:
    """The superlevel set {u(y, t) >= level} of a heat field, from `HeatField.heat_body`.

    Guide: ``heatfield docs theory/signatures``.

    Attributes
    ----------
    t, alpha, level : float
        level = alpha max_i u(x_i, t).
    axes : tuple of n arrays
        Coordinates of the grid's nodes along each axis. The body lies inside the grid.
    mask : bool array, one element per node
        Which nodes belong to the body.
    volume : float
        Volume in space, area in the plane, length on the line, from the surface, not from the mask.
    vertices, faces : (v, 3) and (f, 3) arrays, or None unless n = 3
        The surface as triangles, seen counter-clockwise from outside; vertices lie on u = level.
    contours : tuple of (k, 2) arrays, or None unless n = 2
        Closed curves, the last vertex equal to the first; counter-clockwise around the
        body, clockwise around its holes.
    intervals : (k, 2) array, or None unless n = 1

    Examples
    --------
    >>> import heatfield as hf
    >>> hf.HeatField([[0.0], [4.0]]).heat_body(t=0.25, alpha=0.5).intervals.round(3).tolist()
    [[-0.833, 0.833], [3.167, 4.833]]
    """

    t: float
    alpha: float
    level: float
    axes: tuple[Array, ...]
    mask: NDArray[np.bool_]
    volume: float
    vertices: Array | None = None
    faces: NDArray[np.int64] | None = None
    contours: tuple[Array, ...] | None = None
    intervals: Array | None = None

    def __repr__(self) -> str:
        n = self.mask.ndim
        size = ("length", "area", "volume")[n - 1]
        nodes = " x ".join(map(str, self.mask.shape))
        where = f"u >= {self.level:.4g} at t = {self.t:g}"
        return f"HeatBody in {n}D: {where}, {size} {self.volume:.4g}, {nodes} nodes"


class _Excess:
    """log(u / level) around a field: positive inside the body, 0 on its surface."""

    def __init__(self, field: HeatField, t: float, alpha: float) -> None:
        self.field, self.t = field, t
        peak = float(field.log_value(field.points, t).max())
        self.log_level = peak + math.log(alpha)
        # At distance s from the nearest point u <= (4 pi t)**(-n/2) sum(omega) exp(-s**2 / 4t),
        # which falls below the level at this distance: the body reaches no farther.
        n = field.points.shape[1]
        log_total_weight = field._log_unit + math.log(float((field.weights / field.weights.max()).sum()))
        log_bound = log_total_weight - 0.5 * n * math.log(4.0 * math.pi * t)
        self.reach = math.sqrt(4.0 * t * max(0.0, log_bound - self.log_level))

    def __call__(self, at: Array) -> Array:
        return self.field.log_value(at, self.t) - self.log_level

    def on_grid(self, axes: tuple[Array, ...], cell: float) -> Array:
        """The excess at every node, slab by slab; -inf where the body cannot be near."""
        shape = tuple(axis.size for axis in axes)
        n = len(axes)
        tree = KDTree(self.field.points)
        # Nodes beside the body are needed as well, or the surface could not be placed between them.
        near = (self.reach + math.sqrt(n) * cell) * (1.0 + 1e-9)
        out = np.full(math.prod(shape), -np.inf)
        for start in range(0, out.size, _SLAB):
            nodes = np.arange(start, min(start + _SLAB, out.size))
            places = np.stack(
                [axis[i] for axis, i in zip(axes, np.unravel_index(nodes, shape), strict=True)], 1
            )
            distance, _ = tree.query(places, distance_upper_bound=near)
            kept = np.isfinite(distance)
            out[nodes[kept]] = self(places[kept])
        return out.reshape(shape)

    def settle(self, vertices: Array, cell: float) -> tuple[Array, Array]:
        """Move vertices onto the surface by Newton steps along the gradient, and give the outer normals."""
        vertices = vertices.copy()
        # A field known to a tolerance has no finer surface.
        settled = max(_SETTLED, self.field._error(vertices.shape[0]))
        value, slope = self._with_slope(vertices)
        moving = np.flatnonzero(np.abs(value) > settled)
        for _ in range(_STEPS):
            if moving.size == 0:
                break
            squared = np.maximum((slope[moving] ** 2).sum(axis=1), 1e-300)
            # Near a saddle of u the slope vanishes; a vertex stays in the neighbourhood of its cell.
            step = value[moving] / squared
            step *= np.minimum(1.0, 0.5 * cell / np.maximum(np.abs(step) * np.sqrt(squared), 1e-300))
            moved = vertices[moving] - step[:, None] * slope[moving]
            there, slope_there = self._with_slope(moved)
            better = np.abs(there) < np.abs(value[moving])
            moving = moving[better]
            vertices[moving], value[moving], slope[moving] = moved[better], there[better], slope_there[better]
            moving = moving[np.abs(value[moving]) > settled]
        size = np.sqrt((slope**2).sum(axis=1, keepdims=True))
        return vertices, -slope / np.where(size > 0.0, size, 1.0)

    def _with_slope(self, at: Array) -> tuple[Array, Array]:
        log_value, slope = self.field._log_value_and_gradient(at, self.t)
        return log_value - self.log_level, slope


def heat_body(field: HeatField, t: Any, alpha: Any, resolution: int | None) -> HeatBody:
    """See `HeatField.heat_body`."""
    n = field.points.shape[1]
    if n > 3:
        raise ValueError(f"heat_body draws bodies in 1, 2 or 3 dimensions, got points in {n}")
    if isinstance(t, bool) or not isinstance(t, (int, float, np.integer, np.floating)):
        raise ValueError(f"t must be one number for heat_body, got {t!r}")
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float, np.integer, np.floating)):
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}")
    cells = RESOLUTION[n] if resolution is None else check_count(resolution, "resolution", 8)
    measure = _scikit_image(n) if n > 1 else None
    excess = _Excess(field, float(t), float(alpha))
    axes, cell = _grid(field.points, excess.reach, cells)
    if cell > math.sqrt(t):
        warnings.warn(
            f"the grid's cells, {cell:.3g} wide, are coarser than sqrt(t) = {math.sqrt(t):.3g}: parts of the "
            f"body may be missed; a resolution of {math.ceil(cells * cell / math.sqrt(t))} resolves them",
            HeatFieldWarning,
            stacklevel=3,
        )
    table = excess.on_grid(axes, cell)
    mask = table >= 0.0
    if not mask.any():
        raise ValueError(
            f"no node of the grid lies in the heat body: with resolution={cells} its cells are {cell:.3g} "
            f"wide, and sqrt(t) is {math.sqrt(t):.3g}; use a larger resolution"
        )
    table[~np.isfinite(table)] = -1e30  # never next to the surface, but interpolation needs numbers
    start = np.array([axis[0] for axis in axes])
    surface: dict[str, Any] = {}
    if n == 1:
        surface["intervals"], volume = _intervals(excess, axes[0], mask)
    elif n == 2:
        surface["contours"], volume = _contours(measure, excess, table, start, cell)
    else:
        surface["vertices"], surface["faces"], volume = _mesh(measure, excess, table, start, cell)
    level = float(np.exp(excess.log_level))
    return HeatBody(float(t), float(alpha), level, axes, mask, volume, **surface)


def _grid(points: Array, reach: float, cells: int) -> tuple[tuple[Array, ...], float]:
    """Axes of a grid of cubic cells that holds all within ``reach`` of the points, and a cell more."""
    low, high = points.min(axis=0) - reach, points.max(axis=0) + reach
    sides = high - low
    # Two cells of margin on the whole: the body touches no face of the grid.
    cell = float(sides.max()) / (cells - 2)
    counts = np.ceil(sides / cell - 1e-9).astype(int) + 2
    nodes = math.prod(int(c) + 1 for c in counts)
    if nodes > _MOST_NODES:
        raise ValueError(
            f"resolution={cells} makes a grid of {' x '.join(str(c + 1) for c in counts)} nodes, "
            f"more than {_MOST_NODES}; use a smaller one"
        )
    start = low - 0.5 * (counts * cell - sides)
    return tuple(start[k] + cell * np.arange(counts[k] + 1) for k in range(points.shape[1])), cell


def _scikit_image(n: int) -> Any:
    purpose = f"heat_body in {n} dimensions"
    return need("skimage.measure", purpose, "show", name="scikit-image", verb="needs")


def _intervals(excess: _Excess, axis: Array, mask: NDArray[np.bool_]) -> tuple[Array, float]:
    """The ends between nodes in and out of the body, by bisection."""
    at = np.flatnonzero(mask[1:] != mask[:-1])
    inside = np.where(mask[at], axis[at], axis[at + 1])
    outside = np.where(mask[at], axis[at + 1], axis[at])
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        within = excess(middle[:, None]) >= 0.0
        inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
    ends = inside.reshape(-1, 2)
    return ends, float((ends[:, 1] - ends[:, 0]).sum())


def _contours(
    measure: Any, excess: _Excess, table: Array, start: Array, cell: float
) -> tuple[tuple[Array, ...], float]:
    """Curves through the zeros of the table, and the area that they enclose."""
    curves = []
    area = 0.0
    # "high" with rows along the first axis: counter-clockwise around the body, as x and y are drawn.
    for raw in measure.find_contours(table, 0.0, positive_orientation="high"):
        curve, normal = excess.settle(start + cell * raw[:-1], cell)
        curve, normal = np.vstack([curve, curve[:1]]), np.vstack([normal, normal[:1]])
        edge, turn = np.diff(curve, axis=0), np.diff(normal, axis=0)
        shifted = curve - start
        area += 0.5 * float((shifted[:-1, 0] * edge[:, 1] - shifted[:-1, 1] * edge[:, 0]).sum())
        # Between a chord and its arc, l**2 theta / 12: a turn of the normal along the edge bulges outwards.
        area += float((np.hypot(*edge.T) * (edge * turn).sum(axis=1)).sum()) / 12.0
        curves.append(curve)
    return tuple(curves), area


def _mesh(
    measure: Any, excess: _Excess, table: Array, start: Array, cell: float
) -> tuple[Array, NDArray[np.int64], float]:
    """Triangles by marching cubes, and the volume inside by the divergence theorem."""
    raw, faces, _, _ = measure.marching_cubes(table, 0.0, gradient_direction="ascent")
    vertices, normals = excess.settle(start + cell * raw.astype(np.float64), cell)
    faces = faces.astype(np.int64)
    a, b, c = (vertices - start)[faces].transpose(1, 0, 2)
    across = np.cross(b - a, c - a)
    volume = float((a * across).sum()) / 6.0
    # Between a triangle and the curved surface over it the height is sum over the edges of
    # (e . dn) l_a l_b / 2 in barycentric coordinates, and the mean of l_a l_b is 1/12.
    p, q, r = normals[faces].transpose(1, 0, 2)
    bulge = ((b - a) * (q - p) + (c - b) * (r - q) + (a - c) * (p - r)).sum(axis=1)
    volume += float((0.5 * np.sqrt((across**2).sum(axis=1)) * bulge).sum()) / 24.0
    return vertices, faces, volume

"""Where a pattern was observed, and random patterns in the same window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.check import Array, as_points
from .._base.summary import plural

Intensity = Callable[[Array], Any]
_PROBES = 16_384  # places at which the largest intensity is sought: narrower peaks are not seen
_MOST_ROUNDS = 10_000
_MOST_PIECES = 1 << 24  # trapezoids of a polygon, which has at most a few per edge unless it is a comb
_ROUNDING = 1e-12  # of the extent of a polygon


class Box:
    """A rectangle, or a box in any dimension.

    Guide: ``heatfield docs guide/patterns``.

    Parameters
    ----------
    low, high : sequences of n numbers
        Opposite corners.

    Examples
    --------
    >>> from heatfield.patterns import Box
    >>> box = Box([0, 0], [2, 1])
    >>> box.volume, box.contains([[0.5, 0.5], [0.5, 3.0]]).tolist()
    (2.0, [True, False])
    >>> import numpy as np
    >>> box.sample(np.random.default_rng(0), 5).shape
    (5, 2)
    """

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        try:
            self.low, self.high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"a box needs two corners of numbers, got {low!r} and {high!r}") from None
        if self.low.ndim != 1 or self.low.shape != self.high.shape or self.low.size == 0:
            raise ValueError(f"a box needs two corners of as many numbers, got {low!r} and {high!r}")
        if not (np.isfinite([self.low, self.high]).all() and (self.low < self.high).all()):
            raise ValueError(f"the low corner must be below the high one, got {low!r} and {high!r}")

    @property
    def n_dims(self) -> int:
        """Coordinates of a point."""
        return self.low.size

    @property
    def volume(self) -> float:
        """Length, area or volume."""
        return float(np.prod(self.high - self.low))

    @property
    def shortest(self) -> float:
        """The shortest side."""
        return float((self.high - self.low).min())

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Which points lie in the window, its boundary included.

        Parameters
        ----------
        points : array_like (m, n)

        Returns
        -------
        inside : (m,) bool
        """
        places = _places(points, self.n_dims)
        return np.asarray(((places >= self.low) & (places <= self.high)).all(axis=1))

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Points drawn uniformly.

        Parameters
        ----------
        rng : numpy Generator
        count : int

        Returns
        -------
        points : (count, n)
        """
        return rng.uniform(self.low, self.high, size=(count, self.n_dims))

    def __repr__(self) -> str:
        return f"Box({self.low.tolist()}, {self.high.tolist()})"

    def __str__(self) -> str:
        low, high = ([float(f"{value:.6g}") for value in corner] for corner in (self.low, self.high))
        return f"Box({low}, {high})"


class Polygon:
    """A polygon in the plane, perhaps with holes.

    Guide: ``heatfield docs guide/patterns``.

    Parameters
    ----------
    vertices : (k, 2)
        In order, either way round; the last is joined to the first.
    holes : sequence of (k, 2)

    Examples
    --------
    >>> from heatfield.patterns import Polygon
    >>> triangle = Polygon([[0, 0], [2, 0], [0, 2]])
    >>> triangle.volume, triangle.contains([[0.5, 0.5], [1.5, 1.5]]).tolist()
    (2.0, [True, False])
    >>> import numpy as np
    >>> bool(triangle.contains(triangle.sample(np.random.default_rng(0), 50)).all())
    True
    """

    n_dims = 2

    def __init__(self, vertices: ArrayLike, holes: Sequence[ArrayLike] = ()) -> None:
        self.rings = [_ring(vertices, "vertices"), *(_ring(h, f"holes[{i}]") for i, h in enumerate(holes))]
        outer = self.rings[0]
        self._bounds = Box(outer.min(axis=0), outer.max(axis=0))
        self._strips = _Strips(self.rings)
        self.volume = float(self._strips.areas.sum())
        areas = [abs(_signed_area(ring)) for ring in self.rings]
        expected = areas[0] - sum(areas[1:])
        # What lies inside an odd number of rings, and the outer ring less its holes: equal if all is sound.
        if not abs(self.volume - expected) <= 1e-9 * self.volume + _ROUNDING * self._bounds.volume:
            problem = "holes must lie inside the polygon and apart from each other"
            raise ValueError(problem if len(areas) > 1 else "vertices enclose a part of the area twice")

    @property
    def shortest(self) -> float:
        """The shorter side of the bounding box."""
        return self._bounds.shortest

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Which points lie in the window: a ray from them crosses its boundary an odd number of times.

        Points on the boundary itself may count as inside or not.

        Parameters
        ----------
        points : array_like (m, 2)

        Returns
        -------
        inside : (m,) bool
        """
        places = _places(points, 2)
        inside = np.zeros(len(places), dtype=bool)
        for ring in self.rings:
            for (ax, ay), (bx, by) in zip(ring, np.roll(ring, -1, axis=0), strict=True):
                crosses = (ay > places[:, 1]) != (by > places[:, 1])
                if crosses.any():
                    at = ax + (places[crosses, 1] - ay) * (bx - ax) / (by - ay)
                    inside[crosses] ^= places[crosses, 0] < at
        return inside

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Points drawn uniformly, however thin the polygon is.

        Parameters
        ----------
        rng, count : as of `Box.sample`

        Returns
        -------
        points : (count, 2)
        """
        return self._strips.sample(rng, count) + self._bounds.low

    def __repr__(self) -> str:
        holes = f" and {plural(len(self.rings) - 1, 'hole')}" if len(self.rings) > 1 else ""
        return f"Polygon of {len(self.rings[0])} vertices{holes}"


class _Strips:
    """A polygon as trapezoids with horizontal sides, relative to the low corner of its first ring.

    Between two neighbouring y of vertices no edge ends, so the edges there have an order from left to right,
    unless two of them cross: a ValueError.
    """

    def __init__(self, rings: Sequence[Array]) -> None:
        origin, extent = rings[0].min(axis=0), np.ptp(rings[0], axis=0)
        starts = np.concatenate(rings) - origin
        ends = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings]) - origin
        ring_of = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])
        slanting = starts[:, 1] != ends[:, 1]
        starts, ends, ring_of = starts[slanting], ends[slanting], ring_of[slanting]
        levels = np.unique(np.concatenate([starts[:, 1], ends[:, 1]]))
        first, last = np.sort(np.searchsorted(levels, [starts[:, 1], ends[:, 1]]), axis=0)
        if (last - first).sum() > _MOST_PIECES:
            raise ValueError(f"the polygon's {len(starts)} edges make more than {_MOST_PIECES} trapezoids")
        edge = np.repeat(np.arange(len(starts)), last - first)
        strip = np.arange(edge.size) - np.repeat(np.cumsum(last - first) - last, last - first)

        def x_at(y: Array) -> Array:
            (ax, ay), (bx, by) = starts[edge].T, ends[edge].T
            return np.where(y == by, bx, ax + (y - ay) / (by - ay) * (bx - ax))

        low, high = x_at(levels[strip]), x_at(levels[strip + 1])
        order = np.lexsort([low + high, strip])
        low, high, strip, edge = low[order], high[order], strip[order], edge[order]
        same = strip[1:] == strip[:-1]
        back = np.minimum(np.diff(low), np.diff(high))
        crossing = same & (back < -_ROUNDING * extent.max())
        if crossing.any():
            at = int(crossing.argmax())
            names = ["vertices" if k == 0 else f"holes[{k - 1}]" for k in ring_of[edge[at : at + 2]]]
            other = "itself" if names[0] == names[1] else names[1]
            up = (low[at + 1] - low[at]) / (low[at + 1] - low[at] - high[at + 1] + high[at])
            y = levels[strip[at]] + up * (levels[strip[at] + 1] - levels[strip[at]])
            x, y = np.array([low[at] + up * (high[at] - low[at]), y]) + origin
            raise ValueError(f"the ring of {names[0]} crosses {other} near ({x:.6g}, {y:.6g})")
        self._left = low[::2], high[::2]
        self._widths = np.maximum(low[1::2] - low[::2], 0.0), np.maximum(high[1::2] - high[::2], 0.0)
        self._bottom, self._height = levels[strip[::2]], np.diff(levels)[strip[::2]]
        self.areas = 0.5 * self._height * (self._widths[0] + self._widths[1])

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Points (count, 2), uniform over all trapezoids."""
        share, u, v = rng.uniform(size=(3, count))
        total = np.cumsum(self.areas)
        one = np.searchsorted(total, share * total[-1], side="right").clip(max=total.size - 1)
        a, b = self._widths[0][one], self._widths[1][one]
        # The height below which a share u of the trapezoid lies, from 0 to 1.
        up = u * (a + b) / (a + np.sqrt(a * a + u * (b * b - a * a)))
        left = self._left[0][one] + up * (self._left[1][one] - self._left[0][one])
        return np.stack([left + v * (a + up * (b - a)), self._bottom[one] + up * self._height[one]], axis=1)


Window = Box | Polygon


def as_window(window: Any, points: Array) -> Window:
    """The window that was given, or the bounding box; a ValueError where a point lies outside."""
    n = points.shape[1]
    if window is None:
        low, high = points.min(axis=0), points.max(axis=0)
        if not (low < high).all():
            raise ValueError(f"points have no extent along axis {int(np.argmin(high - low))}; give a window")
        return Box(low, high)
    if not isinstance(window, (Box, Polygon)):
        raise ValueError(f"window must be a patterns.Box or patterns.Polygon, got {window!r}")
    if window.n_dims != n:
        raise ValueError(f"points have {n} coordinates, but the window {window.n_dims}")
    outside = ~window.contains(points)
    if outside.any():
        row = int(outside.argmax())
        raise ValueError(
            f"{int(outside.sum())} of {len(points)} points lie outside of the window, "
            f"the first in row {row}: {points[row].tolist()}"
        )
    return window


def _places(points: ArrayLike, n: int) -> Array:
    places = as_points(points)
    if places.shape[1] != n:
        raise ValueError(f"points have {places.shape[1]} coordinates, but the window {n}")
    return places


def _ring(vertices: ArrayLike, name: str) -> Array:
    ring = as_points(vertices, name)
    if len(ring) > 1 and (ring[0] == ring[-1]).all():
        ring = ring[:-1]  # closed explicitly, as in many files
    if ring.shape[1] != 2 or len(ring) < 3:
        raise ValueError(f"{name} must be at least three points in the plane, got shape {ring.shape}")
    if _signed_area(ring) == 0.0:
        raise ValueError(f"{name} enclose no area")
    return ring


def _signed_area(ring: Array) -> float:
    x, y = (ring - ring[0]).T
    return 0.5 * float(np.dot(x, np.roll(y, -1)) - np.dot(np.roll(x, -1), y))


# --- simulations ---------------------------------------------------------------------


class Simulator:
    """Draws patterns of ``count`` points, uniform or by an intensity; the i-th is always the same."""

    def __init__(self, window: Window, count: int, intensity: Intensity | None, seed: int) -> None:
        self.window, self.count, self.intensity, self.seed = window, count, intensity, seed
        if intensity is not None:
            probes = window.sample(np.random.default_rng([seed]), _PROBES)
            self._most = 1.2 * float(self._values(probes).max())
            if self._most == 0.0:
                raise ValueError(f"intensity is 0 at all of {_PROBES} places in the window")

    def pattern(self, number: int, most: float | None = None) -> Array:
        """One pattern; drawn again where the intensity is above ``most`` somewhere."""
        rng = np.random.default_rng([self.seed, 1, number])
        if self.intensity is None:
            return self.window.sample(rng, self.count)
        most, kept = self._most if most is None else most, np.empty((0, self.window.n_dims))
        for _ in range(_MOST_ROUNDS):
            places = self.window.sample(rng, 2 * self.count + 16)
            values = self._values(places)
            if values.max() > most:
                return self.pattern(number, 1.2 * float(values.max()))
            kept = np.concatenate([kept, places[rng.uniform(size=len(places)) * most < values]])
            if len(kept) >= self.count:
                return kept[: self.count]
        raise ValueError("intensity is so uneven that hardly any point can be drawn by it")

    def _values(self, places: Array) -> NDArray[np.float64]:
        assert self.intensity is not None
        try:
            values = np.asarray(self.intensity(places), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"intensity cannot be evaluated at places (q, {places.shape[1]}): {error}"
            ) from None
        if values.shape != (len(places),):
            raise ValueError(
                f"intensity must give one number per point, got shape {values.shape} for {len(places)} points"
            )
        bad = ~(np.isfinite(values) & (values >= 0.0))
        if bad.any():
            row = int(bad.argmax())
            raise ValueError(f"intensity must be 0 or more, got {values[row]} at {places[row].tolist()}")
        return values

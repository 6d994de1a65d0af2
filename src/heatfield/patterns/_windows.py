"""Where a pattern was observed, and random patterns in the same window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.check import Array, as_points

Intensity = Callable[[Array], Any]
_PROBES = 16_384  # places at which the largest intensity is sought: narrower peaks are not seen
_MOST_ROUNDS = 10_000


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
        areas = [abs(_signed_area(ring)) for ring in self.rings]
        self.volume = areas[0] - sum(areas[1:])
        if self.volume <= 0.0:
            raise ValueError(f"the polygon has the area {self.volume:.3g}; its holes must lie inside of it")
        outer = self.rings[0]
        self._bounds = Box(outer.min(axis=0), outer.max(axis=0))

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
        """Points drawn uniformly: those of the bounding box that lie inside.

        Parameters
        ----------
        rng, count : as of `Box.sample`

        Returns
        -------
        points : (count, 2)
        """
        share = self.volume / self._bounds.volume
        found: list[Array] = []
        have = 0
        while have < count:
            drawn = self._bounds.sample(rng, int(1.2 * (count - have) / share) + 16)
            found.append(drawn[self.contains(drawn)])
            have += len(found[-1])
        return np.concatenate(found)[:count] if found else np.empty((0, 2))

    def __repr__(self) -> str:
        holes = f" and {len(self.rings) - 1} holes" if len(self.rings) > 1 else ""
        return f"Polygon of {len(self.rings[0])} vertices{holes}"


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
                f"intensity must give one number per place, got shape {values.shape} for {len(places)} places"
            )
        bad = ~(np.isfinite(values) & (values >= 0.0))
        if bad.any():
            row = int(bad.argmax())
            raise ValueError(f"intensity must be 0 or more, got {values[row]} at {places[row].tolist()}")
        return values

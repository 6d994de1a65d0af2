"""Patterns under the hypothesis: as many points as observed, in the same window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array
from ._windows import Window

Intensity = Callable[[Array], Any]
_PROBES = 16_384  # places at which the largest intensity is sought: narrower peaks are not seen
_MOST_ROUNDS = 10_000


class Simulator:
    """Draws patterns of ``count`` points, uniform or by an intensity; the i-th is always the same."""

    def __init__(self, window: Window, count: int, intensity: Intensity | None, seed: int) -> None:
        self.window, self.count, self.intensity, self.seed = window, count, intensity, seed
        self._most = 0.0
        if intensity is not None:
            self._most = 1.2 * float(
                self._values(window.sample(np.random.default_rng([seed]), _PROBES)).max()
            )
            if self._most == 0.0:
                raise ValueError(f"intensity is 0 at all of {_PROBES} places in the window")

    def pattern(self, number: int) -> Array:
        """One pattern."""
        most = self._most
        while True:
            found = self._draw(np.random.default_rng([self.seed, 1, number]), most)
            if not isinstance(found, float):
                return found
            most = found

    def _draw(self, rng: np.random.Generator, most: float) -> Array | float:
        """A pattern; or a higher limit, where the intensity is above ``most`` at a place that was drawn."""
        if self.intensity is None:
            return self.window.sample(rng, self.count)
        kept: list[Array] = []
        have = 0
        for _ in range(_MOST_ROUNDS):
            places = self.window.sample(rng, 2 * self.count + 16)
            values = self._values(places)
            if values.max() > most:
                return 1.2 * float(values.max())
            chosen = places[rng.uniform(size=len(places)) * most < values]
            kept.append(chosen)
            have += len(chosen)
            if have >= self.count:
                return np.concatenate(kept)[: self.count]
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

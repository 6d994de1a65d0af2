"""What training clouds were like, and a word when others arrive: mostly another unit or another sampling."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._check import Array, HeatFieldWarning

# Clouds may be this many times smaller or larger than any of the training set.
_MARGIN = 4.0


@dataclass(frozen=True)
class InputRange:
    """Smallest and largest radius and number of points of the training clouds."""

    radius: tuple[float, float]
    points: tuple[float, float]

    @classmethod
    def of(cls, clouds: Sequence[Array]) -> InputRange:
        """The range of some clouds; those without extent do not count."""
        radii = _radii(clouds)
        known = radii[radii > 0.0] if (radii > 0.0).any() else np.array([0.0])
        sizes = [len(cloud) for cloud in clouds]
        return cls((float(known.min()), float(known.max())), (float(min(sizes)), float(max(sizes))))

    def warn(self, clouds: Sequence[Array]) -> None:
        """Warn of clouds far outside."""
        radii = _radii(clouds)
        self._say(radii, radii > 0.0, self.radius, "radius", "are they in another unit?")
        sizes = np.array([float(len(cloud)) for cloud in clouds])
        self._say(sizes, sizes > 1, self.points, "number of points", "signatures depend on the sampling")

    def _say(self, values: Array, counts: Array, known: tuple[float, float], what: str, hint: str) -> None:
        odd = np.flatnonzero(counts & ((values < known[0] / _MARGIN) | (values > known[1] * _MARGIN)))
        if odd.size and known[1] > 0.0:
            first = int(odd[0])
            warnings.warn(
                f"{odd.size} of {len(values)} clouds are unlike the training set: clouds[{first}] has a {what} of "
                f"{values[first]:.4g}, training had {known[0]:.4g} to {known[1]:.4g}; {hint}",
                HeatFieldWarning,
                stacklevel=4,
            )


def _radii(clouds: Sequence[Array]) -> Array:
    """Root mean square distance from the centre: the same however a cloud is turned."""
    return np.array([np.sqrt(((c - c.mean(axis=0)) ** 2).sum(axis=1).mean()) if len(c) else 0.0 for c in clouds])

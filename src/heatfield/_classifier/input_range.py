"""The range of the training clouds, and a warning for others: often another unit or sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._base.check import Array
from .._base.warn import warn_caller

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

    def unlike(self, clouds: Sequence[Array]) -> list[tuple[int, str]]:
        """Clouds far outside, by index, and what is unusual about each."""
        found = []
        for i, (radius, cloud) in enumerate(zip(_radii(clouds), clouds, strict=True)):
            if radius > 0.0 and _outside(radius, self.radius):
                found.append((i, _text("radius", radius, self.radius, "is it in another unit?")))
            elif len(cloud) > 1 and _outside(len(cloud), self.points):
                hint = "signatures depend on the sampling"
                found.append((i, _text("number of points", len(cloud), self.points, hint)))
        return found

    def warn(self, clouds: Sequence[Array]) -> None:
        """Warn of clouds far outside."""
        odd = self.unlike(clouds)
        if odd:
            warn_caller(
                f"{len(odd)} of {len(clouds)} clouds are unlike the training set: "
                f"clouds[{odd[0][0]}] {odd[0][1]}"
            )


def _outside(value: float, known: tuple[float, float]) -> bool:
    return known[1] > 0.0 and not known[0] / _MARGIN <= value <= known[1] * _MARGIN


def _text(what: str, value: float, known: tuple[float, float], hint: str) -> str:
    return f"has a {what} of {value:.4g}, training had {known[0]:.4g} to {known[1]:.4g}; {hint}"


def _radii(clouds: Sequence[Array]) -> Array:
    """Root mean square distance from the centre: the same however a cloud is turned."""
    return np.array(
        [np.sqrt(((c - c.mean(axis=0)) ** 2).sum(axis=1).mean()) if len(c) else 0.0 for c in clouds]
    )

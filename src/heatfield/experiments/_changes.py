"""What is done to test clouds to see how well a method stands it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from .._base.check import Array


@dataclass(frozen=True)
class Change:
    """A change of clouds, and how strong it is.

    ``rotation``: each cloud by its own rotation (Haar measure). ``noise``: Gaussian, with the level times the
    root mean square distance from the centroid as standard deviation. ``missing``: the level is the
    share of points that is left out at random. ``outliers``: so many points, as a share, are added uniformly
    in the box of the cloud. ``none``: as it is.
    """

    name: str
    level: float = 0.0

    @property
    def label(self) -> str:
        """As records and tables name it."""
        return self.name if self.level == 0.0 else f"{self.name} {self.level:g}"


NONE = Change("none")
ROTATION = Change("rotation")
ROBUSTNESS = (
    *(Change("noise", level) for level in (0.01, 0.03, 0.1)),
    *(Change("missing", level) for level in (0.25, 0.5, 0.75)),
    *(Change("outliers", level) for level in (0.01, 0.05, 0.2)),
)


def changed(clouds: list[Array], change: Change) -> list[Array]:
    """The clouds after the change; that of a cloud depends on its number alone.

    Examples
    --------
    >>> import numpy as np
    >>> cloud = np.random.default_rng(0).normal(size=(40, 3))
    >>> turned, = changed([cloud], ROTATION)
    >>> bool(np.allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(cloud, axis=1)))
    True
    >>> [len(changed([cloud], Change(*c))[0]) for c in (("missing", 0.25), ("outliers", 0.05))]
    [30, 42]
    """
    if change.name == "none":
        return clouds
    make = _MAKERS[change.name]
    seed = zlib.crc32(change.label.encode())
    return [
        make(cloud, change.level, np.random.default_rng(np.random.SeedSequence([seed, number])))
        for number, cloud in enumerate(clouds)
    ]


def haar_rotation(n: int, rng: Generator) -> Array:
    """A rotation of n dimensions, uniform by the Haar measure: the paper's recipe."""
    q, r = np.linalg.qr(rng.normal(size=(n, n)))
    q = q * np.sign(np.diag(r))
    if np.linalg.det(q) < 0:
        q[:, 0] = -q[:, 0]
    return q


def _rotated(cloud: Array, _: float, rng: Generator) -> Array:
    return cloud @ haar_rotation(cloud.shape[1], rng).T


def _noisy(cloud: Array, level: float, rng: Generator) -> Array:
    size = np.sqrt(((cloud - cloud.mean(axis=0)) ** 2).sum(axis=1).mean())
    return cloud + level * size * rng.normal(size=cloud.shape)


def _thinned(cloud: Array, level: float, rng: Generator) -> Array:
    kept = max(1, round((1.0 - level) * len(cloud)))
    return cloud[np.sort(rng.permutation(len(cloud))[:kept])]


def _with_outliers(cloud: Array, level: float, rng: Generator) -> Array:
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    return np.concatenate([cloud, rng.uniform(low, high, size=(round(level * len(cloud)), cloud.shape[1]))])


_MAKERS: dict[str, Any] = {
    "rotation": _rotated,
    "noise": _noisy,
    "missing": _thinned,
    "outliers": _with_outliers,
}


def alignment(clouds: list[Array]) -> float:
    """The norm of the mean principal axis: 1 where all clouds point the same way, near 0 where none do.

    The sign of each axis is that with a positive last coordinate (the up axis of scans); the paper fixes
    a hemisphere without saying which.
    """
    axes = []
    for cloud in clouds:
        if len(cloud) < 2:
            continue
        _, vectors = np.linalg.eigh(np.cov(cloud.T))
        axis = vectors[:, -1]
        axes.append(axis if axis[-1] >= 0 else -axis)
    return float(np.linalg.norm(np.mean(axes, axis=0)))

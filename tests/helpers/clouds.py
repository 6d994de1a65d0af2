"""Named clouds for the tests, from easy to difficult; the same points for the same name and dimension."""

import zlib
from collections.abc import Callable

import numpy as np


def sphere(rng, n, m=240):
    points = rng.normal(size=(m, n))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def curve(rng, n, m=240):
    """A smooth filament, unevenly sampled."""
    s = np.sort(rng.random(m)) * 2 * np.pi
    return np.stack([np.sin((k + 1) * s + k) / (k + 1) for k in range(n)], axis=1)


def ball(rng, n, m=240):
    return sphere(rng, n, m) * rng.random((m, 1)) ** (1 / n)


def clusters(rng, n, m=240):
    """Three tight groups, and outliers so far away that their heat dimension is anything from 1 to 1e-300."""
    centres = rng.normal(size=(3, n))
    points = centres[rng.integers(3, size=m)] + 0.03 * rng.normal(size=(m, n))
    far = sphere(rng, n, 12) * np.geomspace(2, 300, 12)[:, None]
    return np.concatenate([points, far])


def duplicates(rng, n, m=240):
    """Few places, many points on each."""
    return ball(rng, n, m // 4)[rng.integers(m // 4, size=m)]


def map_coordinates(rng, n, m=240):
    """Metres, five thousand kilometres from the origin."""
    return 5e6 + 100 * ball(rng, n, m)


def lattice(rng, n, m=240):
    """Whole numbers: every distance occurs many times."""
    side = {1: 240, 2: 15, 3: 6}.get(n, 3)
    points = np.stack(np.meshgrid(*[np.arange(side)] * n), axis=-1).reshape(-1, n)
    return rng.permutation(points)[:m].astype(float)


def collinear(rng, n, m=240):
    return rng.random((m, 1)) * np.linspace(1, 2, n)


def tiny(rng, n, m=240):
    """The unit is as small as the density allows: t**(-n/2 - 1) must not overflow."""
    return curve(rng, n, m) * (1e-50 if n <= 3 else 1e-40)


def huge(rng, n, m=240):
    return clusters(rng, n, m) * (1e50 if n <= 3 else 1e40)


CLOUDS: dict[str, Callable] = {
    make.__name__: make
    for make in (
        sphere,
        curve,
        ball,
        clusters,
        duplicates,
        map_coordinates,
        lattice,
        collinear,
        tiny,
        huge,
    )
}


def cloud(name, n=3, m=240):
    """The cloud of that name in n dimensions, about m points, in an order without meaning."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), n, m])
    return rng.permutation(CLOUDS[name](rng, n, m))


def on_grid(points):
    """Coordinates rounded to multiples of 2**-20, so that adding 5e6 to them is exact."""
    return np.round(points * 2**20) / 2**20


def rotation(n, seed=0):
    """A random orthogonal matrix with determinant 1."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))
    q *= np.sign(np.diag(r))
    q[:, 0] *= np.sign(np.linalg.det(q))
    return q

"""Patterns in the unit square: point processes, disks and annuli, orbits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _core
from .._base.check import Array, check_choice, check_count, check_number, thread_count
from .._base.threads import pieces, run_pieces
from ..options import Threads

_TOGETHER = 50  # clouds that one piece of work holds
_STEP, _MASK = 0x9E3779B97F4A7C15, 2**64 - 1


class Stream:
    """Numbers in [0, 1) by splitmix64 (Steele, Lea & Flood 2014), one after the other or many at once."""

    def __init__(self, *seeds: int) -> None:
        self._state = int(np.random.SeedSequence(seeds).generate_state(1, np.uint64)[0])
        self._ahead: list[float] = []  # the next ones, the last first

    @property
    def state(self) -> int:
        """After which number it is."""
        self._move(-len(self._ahead))
        self._ahead.clear()
        return self._state

    def one(self) -> float:
        """The next number."""
        if not self._ahead:
            self._ahead = self.draw(64)[::-1].tolist()
        return self._ahead.pop()

    def draw(self, *shape: int) -> Array:
        """The next numbers."""
        count = math.prod(shape)
        z: Any = self.state + _STEP * np.arange(1, count + 1, dtype=np.uint64)
        self._move(count)
        z = (z ^ (z >> 30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> 27)) * np.uint64(0x94D049BB133111EB)
        return (((z ^ (z >> 31)) >> 11) * 2.0**-53).reshape(shape)

    def poisson(self, mean: float) -> int:
        """A Poisson number: how many exponential waits fit into ``mean``."""
        total, count = 0.0, 0
        if mean < 20.0:
            while (total := total - math.log(1.0 - self.one())) < mean:
                count += 1
            return count
        while True:
            drawn = 8 + min(2**20, int(mean - total + 4.0 * math.sqrt(mean)))
            waits = -np.log(1.0 - self.draw(drawn))
            waits[0] += total
            ends = np.cumsum(waits)
            fit = int(np.searchsorted(ends, mean))
            count += fit
            if fit < drawn:
                self._move(fit + 1 - drawn)  # what was drawn too much
                return count
            total = float(ends[-1])

    def _move(self, count: int) -> None:
        self._state = (self._state + count * _STEP) & _MASK


def clouds_by_class(
    make: Callable[[int, Stream], Array],
    classes: int,
    n_per_class: int,
    random_state: int,
    n_jobs: int | None,
) -> tuple[list[Array], np.ndarray]:
    """``make(label, stream)`` for every cloud of every class, class by class, and the labels."""
    count = check_count(n_per_class, "n_per_class", 1)
    seed = check_count(random_state, "random_state", 0)
    labels = np.repeat(np.arange(classes), count)
    clouds: list[Array] = [np.empty((0, 2))] * labels.size

    def work(first: int, last: int) -> None:
        for i in range(first, last):
            label = int(labels[i])
            clouds[i] = make(label, Stream(seed, label, i - label * count))

    run_pieces(work, pieces(labels.size, _TOGETHER), thread_count(n_jobs), progress="clouds")
    return clouds, labels


# --- point processes -----------------------------------------------------------------


PROCESS_CLASSES = ("Poisson", "Matern cluster", "Strauss", "Baddeley-Silverman")
_DISTANCES = 2 * 10**7  # distances that one call computes: a few hundredths of a second


def make_processes(
    n_per_class: int = 1000,
    *,
    intensity: float = 200.0,
    parents: float = 40.0,
    children: float = 5.0,
    cluster_radius: float = 0.1,
    strauss_intensity: float = 200.0,
    strauss_interaction: float = 0.5,
    strauss_radius: float = 0.02,
    strauss_steps: int = 20_000,
    cells: int = 14,
    random_state: int = 0,
    n_jobs: int | None = Threads.n_jobs,
) -> tuple[list[Array], np.ndarray]:
    """Clouds of four point processes and their labels 0..3, class by class: a reconstruction.

    The benchmark's own parameters are not published. These are the round numbers that give the published
    point counts (105 to 321, mean 194), with one intensity for all classes; no accuracy was used. The
    defaults have 105 to 310 points, 194 on average. Both ends belong to the Matérn clusters and vary with
    ``random_state``: over twelve of them the least is 80 to 115, the most 300 to 346.

    0. Poisson: N ~ Poisson(``intensity``), uniform.
    1. Matérn cluster: Poisson(``parents``) per unit of area on the square enlarged by R =
       ``cluster_radius``; Poisson(``children``) uniform in the disk of radius R about each; what lies
       inside the square is kept, parents are not.
    2. Strauss: density ~ beta^n gamma^(pairs closer than R), with beta, gamma, R =
       ``strauss_intensity``, ``strauss_interaction``, ``strauss_radius``, by ``strauss_steps`` steps
       of birth-death Metropolis-Hastings from the empty square.
    3. Baddeley-Silverman: ``cells`` x ``cells`` cells, each with 0, 1 or 10 points with probability
       1/10, 8/9, 1/90: its pair statistics are those of Poisson.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    n_per_class : int
    random_state, n_jobs : int
        See `make_disks_annuli`.
    intensity, parents, children, cluster_radius : float
        Of the classes 0 and 1, see above.
    strauss_intensity, strauss_interaction, strauss_radius : float
    strauss_steps : int
        Of class 2.
    cells : int
        Of class 3.

    Returns
    -------
    clouds : list of arrays (m_i, 2)
    labels : (N,) int array

    Examples
    --------
    >>> from heatfield.datasets import make_processes
    >>> clouds, labels = make_processes(n_per_class=2, strauss_steps=8000)
    >>> labels.tolist(), clouds[0].shape[1]
    ([0, 0, 1, 1, 2, 2, 3, 3], 2)
    """
    steps = check_count(strauss_steps, "strauss_steps", 1)
    side = check_count(cells, "cells", 1)
    numbers = {
        "intensity": intensity, "parents": parents, "children": children, "cluster_radius": cluster_radius,
        "strauss_intensity": strauss_intensity, "strauss_radius": strauss_radius,
    }  # fmt: skip
    for name, value in numbers.items():
        check_number(value, name, above=0, below=1e6)
    if not 0.0 <= strauss_interaction <= 1.0:
        raise ValueError(f"strauss_interaction must lie in [0, 1], got {strauss_interaction!r}")

    def make(label: int, stream: Stream) -> Array:
        if label == 0:
            return stream.draw(stream.poisson(intensity), 2)
        if label == 1:
            return _matern(stream, parents, children, cluster_radius)
        if label == 2:
            return _strauss(stream, strauss_intensity, strauss_interaction, strauss_radius, steps)
        return _cell(stream, side)

    return clouds_by_class(make, 4, n_per_class, random_state, n_jobs)


def _matern(stream: Stream, parents: float, children: float, radius: float) -> Array:
    side = 1.0 + 2.0 * radius
    found = []
    for _ in range(stream.poisson(parents * side * side)):
        px, py = side * stream.one() - radius, side * stream.one() - radius
        for _ in range(stream.poisson(children)):
            r, angle = radius * math.sqrt(stream.one()), 2.0 * math.pi * stream.one()
            x, y = px + r * math.cos(angle), py + r * math.sin(angle)
            if 0.0 <= x < 1.0 and 0.0 <= y < 1.0:
                found.append((x, y))
    return np.array(found).reshape(-1, 2)


def _strauss(stream: Stream, beta: float, gamma: float, radius: float, steps: int) -> Array:
    """Each step depends on the one before it: the one generator in C++."""
    state = np.array([stream.state], np.uint64)
    found, m = np.empty((2, 0)), 0
    while steps > 0:
        some = min(steps, _DISTANCES // (m + 1000) + 1)
        found = np.concatenate([found[:, :m], np.empty((2, some))], axis=1)
        m = _core.strauss(state, beta, gamma, radius, some, m, found)
        steps -= some
    return np.ascontiguousarray(found[:, :m].T)


def _cell(stream: Stream, side: int) -> Array:
    found = []
    for i in range(side):
        for j in range(side):
            u = stream.one()
            count = 0 if u < 0.1 else (10 if u >= 1.0 - 1.0 / 90.0 else 1)
            found += [((i + stream.one()) / side, (j + stream.one()) / side) for _ in range(count)]
    return np.array(found).reshape(-1, 2)


# --- disks and annuli ----------------------------------------------------------------


Interval = tuple[float, float]

# Radius and background of each form: chosen so that the counts are near the published 874 to 2,717.
_FORMS: dict[str, tuple[Interval, Interval]] = {
    "pairs": ((0.10, 0.23), (870.0, 1380.0)),
    "annuli": ((0.08, 0.16), (800.0, 1200.0)),
    "balanced": ((0.10, 0.18), (660.0, 1250.0)),
}
_PAIRS = ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2))  # disks, annuli


def make_disks_annuli(
    n_per_class: int = 1000,
    form: str = "pairs",
    *,
    radius: Sequence[float] | None = None,
    inner: Sequence[float] = (0.4, 0.6),
    background: Sequence[float] | None = None,
    density: Sequence[float] = (2.4, 4.8),
    gap: float = 0.01,
    random_state: int = 0,
    n_jobs: int | None = Threads.n_jobs,
) -> tuple[list[Array], np.ndarray]:
    """Clouds of five classes in the unit square and their labels 0..4: a reconstruction.

    Known of the original are five classes of dense disks or annuli in uniform noise, an object density of
    2.4 to 4.8 times that of the background, and 874 to 2,717 points, which vary with the sampled areas and
    densities of objects and background. The rest is a guess, in three forms: radii and background were
    chosen by the counts, and no accuracy was used.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    n_per_class : int
    form : {"pairs", "annuli", "balanced"}
        "pairs": one disk; one annulus; two disks; one of each; two annuli. "annuli": class c has c + 1 annuli
        and 1 to 5 disks (the number of points partly reveals the label). "balanced": c + 1 annuli and
        4 - c disks.
    radius, inner : (low, high)
        Outer radius, and inner radius as a share of it, uniform between the two.
    background : (low, high)
        Intensity of the noise, uniform between the two.
    density : (low, high)
        Intensity inside an object, the noise included, as a multiple of that of the noise: uniform between
        the two, for each object.
    gap : float
        Objects keep this distance from each other.
    random_state : int
        Cloud i of a class is the same whatever the number of clouds and threads.
    n_jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    clouds : list of (m_i, 2) arrays
    labels : (N,) int array

    Examples
    --------
    >>> from heatfield.datasets import make_disks_annuli
    >>> clouds, labels = make_disks_annuli(n_per_class=1)
    >>> labels.tolist(), clouds[0].shape[1]
    ([0, 1, 2, 3, 4], 2)
    """
    defaults = _FORMS[check_choice(form, "form", tuple(_FORMS))]
    sizes = _interval(defaults[0] if radius is None else radius, "radius", 0.5)
    hole = _interval(inner, "inner", 1.0)
    noise = _interval(defaults[1] if background is None else background, "background", 1e6)
    times = _interval(density, "density", 1e6, least=1.0)
    check_number(gap, "gap", least=0, below=0.5)

    def make(label: int, stream: Stream) -> Array:
        disks, annuli = _PAIRS[label]
        if form == "annuli":
            disks, annuli = 1 + min(4, int(5 * stream.one())), label + 1
        elif form == "balanced":
            disks, annuli = 4 - label, label + 1
        shapes = _shapes(stream, disks, annuli, sizes, hole, float(gap))
        intensity = _between(noise, stream)
        parts = [stream.draw(stream.poisson(intensity), 2)]
        squares = [(inner * inner, outer * outer) for _, _, outer, inner in shapes]
        # To the noise, which is there too.
        added = [intensity * (_between(times, stream) - 1.0) for _ in shapes]
        counts = [
            stream.poisson(more * math.pi * (high - low))
            for more, (low, high) in zip(added, squares, strict=True)
        ]
        for (x, y, _, _), (low, high), count in zip(shapes, squares, counts, strict=True):
            drawn = stream.draw(count, 2)
            r = np.sqrt(low + (high - low) * drawn[:, 0])
            angles = (2.0 * math.pi * drawn[:, 1]).tolist()
            # The functions of C: NumPy's round otherwise on some machines.
            parts.append(np.c_[x + r * [*map(math.cos, angles)], y + r * [*map(math.sin, angles)]])
        return np.concatenate(parts)

    return clouds_by_class(make, 5, n_per_class, random_state, n_jobs)


def _interval(value: Sequence[float], name: str, most: float, *, least: float = 0.0) -> Interval:
    try:
        low, high = (float(v) for v in value)
    except (TypeError, ValueError):
        low = high = np.nan
    if not least <= low <= high < most or not low > 0.0:
        limit = f"{least:g} <= low" if least else "0 < low"
        raise ValueError(f"{name} must be (low, high) with {limit} <= high < {most:g}, got {value!r}")
    return low, high


def _between(interval: Interval, stream: Stream) -> float:
    low, high = interval
    return low + (high - low) * stream.one()


def _shapes(
    stream: Stream, disks: int, annuli: int, sizes: Interval, holes: Interval, gap: float
) -> list[tuple[float, float, float, float]]:
    """x, y, outer and inner radius of objects inside the square and apart; a ValueError after 1,000 tries."""
    for _ in range(1000):
        radii = []
        for i in range(disks + annuli):
            outer = _between(sizes, stream)
            radii.append((outer, outer * _between(holes, stream) if i >= disks else 0.0))
        placed: list[tuple[float, float, float, float]] = []
        for r, inner in sorted(radii, key=lambda pair: -pair[0]):  # largest first: the hardest to place
            for _ in range(200):
                x, y = r + (1.0 - 2.0 * r) * stream.one(), r + (1.0 - 2.0 * r) * stream.one()
                if all(
                    (x - a) * (x - a) + (y - b) * (y - b) >= (r + other + gap) * (r + other + gap)
                    for a, b, other, _ in placed
                ):
                    placed.append((x, y, r, inner))
                    break
            else:
                break
        else:
            return placed
    raise ValueError(f"{disks + annuli} objects of radius {sizes} do not fit into the square")


# --- orbits --------------------------------------------------------------------------


_STEPS = 16


def make_orbit5k(
    n_per_class: int = 1000,
    n_points: int = 1000,
    *,
    parameters: Sequence[float] = (2.5, 3.5, 4.0, 4.1, 4.3),
    random_state: int = 0,
) -> tuple[list[Array], np.ndarray]:
    """Clouds of Orbit5k and their labels 0..4, class by class.

    An orbit starts at a uniform point of the unit square, which is its first point, and
    follows x' = x + r y (1 - y) mod 1, then y' = y + r x' (1 - x') mod 1.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    n_per_class, n_points : int
        The benchmark has 1,000 clouds of 1,000 points per class.
    parameters : sequence of float
        r of each class.
    random_state : int
        Cloud i of a class is the same whatever the number of clouds.

    Returns
    -------
    clouds : list of (n_points, 2) arrays
    labels : (N,) int array

    Examples
    --------
    >>> from heatfield.datasets import make_orbit5k
    >>> clouds, labels = make_orbit5k(n_per_class=2, n_points=100)
    >>> len(clouds), clouds[0].shape, labels.tolist()
    (10, (100, 2), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    """
    count = check_count(n_per_class, "n_per_class", 1)
    length = check_count(n_points, "n_points", 1)
    seed = check_count(random_state, "random_state", 0)
    rates = np.array([float(r) for r in parameters])
    if rates.size == 0 or not np.isfinite(rates).all():
        raise ValueError(f"parameters must be finite numbers, one per class, got {parameters!r}")
    labels = np.repeat(np.arange(rates.size), count)
    starts = [
        np.random.default_rng([seed, c, i]).uniform(size=2) for c in range(rates.size) for i in range(count)
    ]
    (x, y), rate = np.array(starts).T.copy(), rates[labels]
    out = np.empty((labels.size, length, 2))
    block = np.empty((min(_STEPS, length), 2, labels.size))  # turned in blocks: single numbers lie far apart
    for first in range(0, length, _STEPS):
        some = block[: length - first]
        # The orbits are chaotic: another order of operations makes other ones.
        for step in some:
            step[0], step[1] = x, y
            for moved, other in ((x, y), (y, x)):
                moved += rate * other * (1.0 - other)
                moved -= np.floor(moved)
        out[:, first : first + len(some)] = some.transpose(2, 0, 1)
    return list(out), labels

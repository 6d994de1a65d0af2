"""DisksAnnuli: dense disks and annuli in uniform noise; the class is which and how many there are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._base.check import Array, check_choice
from ..options import Threads
from ._random import Stream, clouds_by_class

Interval = tuple[float, float]

# radius, background and objects of each form: chosen so that the counts are near the published 874 to 2,717.
_FORMS: dict[str, tuple[Interval, Interval, float]] = {
    "pairs": ((0.10, 0.23), (750.0, 1500.0), 3600.0),
    "annuli": ((0.08, 0.16), (650.0, 1300.0), 3120.0),
    "balanced": ((0.10, 0.18), (500.0, 1000.0), 2400.0),
}
_PAIRS = ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2))  # disks, annuli


def make_disks_annuli(
    n_per_class: int = 1000,
    form: str = "pairs",
    *,
    radius: Sequence[float] | None = None,
    inner: Sequence[float] = (0.4, 0.6),
    background: Sequence[float] | None = None,
    objects: float | None = None,
    gap: float = 0.01,
    random_state: int = 0,
    n_jobs: int | None = Threads.n_jobs,
) -> tuple[list[Array], np.ndarray]:
    """Clouds of five classes in the unit square and their labels 0..4: a reconstruction.

    Known of the original are five classes of dense disks or annuli in uniform noise, an object
    density of 2.4 to 4.8 times the background, and 874 to 2,717 points. The rest is a guess, in
    three forms; results on them are no evidence for the published ones.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    n_per_class : int
    form : {"pairs", "annuli", "balanced"}
        "pairs": one disk; one annulus; two disks; one of each; two annuli. Its counts and difficulty
        come nearest to the published ones. "annuli": class c has c + 1 annuli and 1 to 5 disks (the
        number of points partly reveals the label). "balanced": c + 1 annuli and 4 - c disks.
    radius, inner : (low, high)
        Outer radius, and inner radius as a share of it, uniform between the two.
    background : (low, high)
        Intensity of the noise, uniform between the two.
    objects : float
        Intensity on the objects, on top of the noise.
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
    density = float(defaults[2] if objects is None else objects)
    if not 0.0 <= density < 1e6 or not 0.0 <= gap < 0.5:
        raise ValueError(f"objects and gap must not be negative, got {objects!r} and {gap!r}")

    def make(label: int, stream: Stream) -> Array:
        disks, annuli = _PAIRS[label]
        if form == "annuli":
            disks, annuli = 1 + min(4, int(5 * stream.one())), label + 1
        elif form == "balanced":
            disks, annuli = 4 - label, label + 1
        cloud = _cloud(stream, disks, annuli, sizes, hole, noise, density, float(gap))
        if cloud is None:
            raise ValueError(f"{disks + annuli} objects of radius {sizes} do not fit into the square")
        return cloud

    return clouds_by_class(make, 5, n_per_class, random_state, n_jobs)


def _interval(value: Sequence[float], name: str, most: float) -> Interval:
    try:
        low, high = (float(v) for v in value)
    except (TypeError, ValueError):
        low = high = np.nan
    if not 0.0 < low <= high < most:
        raise ValueError(f"{name} must be (low, high) with 0 < low <= high < {most:g}, got {value!r}")
    return low, high


def _cloud(
    stream: Stream, disks: int, annuli: int, sizes: Interval, holes: Interval, noise: Interval,
    density: float, gap: float,
) -> Array | None:  # fmt: skip
    """One cloud, or None where its objects do not fit."""
    shapes = _shapes(stream, disks, annuli, sizes, holes, gap)
    if shapes is None:
        return None
    background = stream.poisson(_between(noise, stream))
    squares = [(inner * inner, outer * outer) for _, _, outer, inner in shapes]
    counts = [stream.poisson(density * math.pi * (high - low)) for low, high in squares]
    parts = [stream.draw(background, 2)]
    for (x, y, _, _), (low, high), count in zip(shapes, squares, counts, strict=True):
        drawn = stream.draw(count, 2)
        r = np.sqrt(low + (high - low) * drawn[:, 0])
        angles = (2.0 * math.pi * drawn[:, 1]).tolist()
        # The functions of C: NumPy's round otherwise on some machines.
        parts.append(np.stack([x + r * [*map(math.cos, angles)], y + r * [*map(math.sin, angles)]], axis=1))
    return np.concatenate(parts)


def _between(interval: Interval, stream: Stream) -> float:
    low, high = interval
    return low + (high - low) * stream.one()


def _shapes(
    stream: Stream, disks: int, annuli: int, sizes: Interval, holes: Interval, gap: float
) -> list[tuple[float, float, float, float]] | None:
    """x, y, outer and inner radius of objects inside the square and apart; None after 1,000 tries."""
    for _ in range(1000):
        radii = []
        for i in range(disks + annuli):
            outer = _between(sizes, stream)
            radii.append((outer, outer * _between(holes, stream) if i >= disks else 0.0))
        placed: list[tuple[float, float, float, float]] = []
        for r, inner in sorted(radii, key=lambda pair: -pair[0]):  # largest first: the hardest to place
            for _ in range(200):
                x, y = r + (1.0 - 2.0 * r) * stream.one(), r + (1.0 - 2.0 * r) * stream.one()
                if all(_apart(x - a, y - b, r + other + gap) for a, b, other, _ in placed):
                    placed.append((x, y, r, inner))
                    break
            else:
                break
        else:
            return placed
    return None


def _apart(dx: float, dy: float, least: float) -> bool:
    return dx * dx + dy * dy >= least * least

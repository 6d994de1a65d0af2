"""DisksAnnuli: dense disks and annuli in uniform noise; the class is which and how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._base.check import Array, check_choice
from .._base.compile import compiled
from ._random import clouds_by_class, poisson, uniform

# radius, background and objects of each form: chosen so that the counts are near the published 874 to 2,717.
_FORMS: dict[str, tuple[tuple[float, float], tuple[float, float], float]] = {
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
    n_jobs: int | None = 1,
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
        Threads.

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

    def make(label: int, state: Any) -> Array:
        disks, annuli = _PAIRS[label]
        if form == "annuli":
            disks, annuli = 1 + min(4, int(5 * uniform(state))), label + 1
        elif form == "balanced":
            disks, annuli = 4 - label, label + 1
        cloud = _cloud(state, disks, annuli, *sizes, *hole, *noise, density, float(gap))
        if len(cloud) == 0:
            raise ValueError(f"{disks + annuli} objects of radius {sizes} do not fit into the square")
        return cloud

    return clouds_by_class(make, 5, n_per_class, random_state, n_jobs)


def _interval(value: Sequence[float], name: str, most: float) -> tuple[float, float]:
    try:
        low, high = (float(v) for v in value)
    except (TypeError, ValueError):
        low = high = np.nan
    if not 0.0 < low <= high < most:
        raise ValueError(f"{name} must be (low, high) with 0 < low <= high < {most:g}, got {value!r}")
    return low, high


@compiled()
def _cloud(
    state: Any, disks: int, annuli: int, r_low: float, r_high: float, h_low: float, h_high: float,
    b_low: float, b_high: float, density: float, gap: float,
) -> Array:  # fmt: skip
    k = disks + annuli
    shapes = np.empty((k, 4))  # x, y, outer, inner
    placed = False
    for _ in range(1000):
        for i in range(k):
            shapes[i, 2] = r_low + (r_high - r_low) * uniform(state)
            shapes[i, 3] = 0.0
            if i >= disks:
                shapes[i, 3] = shapes[i, 2] * (h_low + (h_high - h_low) * uniform(state))
        shapes = shapes[np.argsort(-shapes[:, 2])]  # largest first: they are the hardest to place
        placed = _place(state, shapes, gap)
        if placed:
            break
    if not placed:
        return np.empty((0, 2))
    noise = poisson(state, b_low + (b_high - b_low) * uniform(state))
    counts = np.empty(k, np.int64)
    for i in range(k):
        counts[i] = poisson(state, density * np.pi * (shapes[i, 2] ** 2 - shapes[i, 3] ** 2))
    out = np.empty((noise + counts.sum(), 2))
    for m in range(noise):
        out[m, 0], out[m, 1] = uniform(state), uniform(state)
    m = noise
    for i in range(k):
        low, high = shapes[i, 3] ** 2, shapes[i, 2] ** 2
        for _ in range(counts[i]):
            r, angle = np.sqrt(low + (high - low) * uniform(state)), 2.0 * np.pi * uniform(state)
            out[m, 0], out[m, 1] = shapes[i, 0] + r * np.cos(angle), shapes[i, 1] + r * np.sin(angle)
            m += 1
    return out


@compiled()
def _place(state: Any, shapes: Any, gap: float) -> bool:
    """Centres so that all shapes lie inside the square and apart; False after 200 tries for one."""
    for i in range(shapes.shape[0]):
        r = shapes[i, 2]
        found = False
        for _ in range(200):
            x, y = r + (1.0 - 2.0 * r) * uniform(state), r + (1.0 - 2.0 * r) * uniform(state)
            free = True
            for j in range(i):
                apart = r + shapes[j, 2] + gap
                if (x - shapes[j, 0]) ** 2 + (y - shapes[j, 1]) ** 2 < apart * apart:
                    free = False
            if free:
                shapes[i, 0], shapes[i, 1] = x, y
                found = True
                break
        if not found:
            return False
    return True

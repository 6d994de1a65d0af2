"""Which points are learnt from and which are tested on, and lengths that suit them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array
from ..core.cloud import ArrangedCloud

_STEPS = 6  # lengths that are proposed
_FINEST, _WIDEST, _SHARE = 1.5, 40.0, 1 / 8


def balanced_rows(
    labels: Sequence[NDArray], classes: NDArray, per_class: int, seed: int
) -> list[NDArray[np.int64]]:
    """At most ``per_class`` points of every class over all clouds, drawn evenly from them, sorted.

    A cloud that has fewer of a class than its share leaves the rest to the others.
    """
    rng = np.random.default_rng(seed)
    chosen: list[list[NDArray[np.int64]]] = [[] for _ in labels]
    for label in classes:
        found = [np.flatnonzero(np.asarray(own) == label) for own in labels]
        left = per_class
        # The smallest first, so that what they leave is known.
        order = sorted(range(len(labels)), key=lambda i: (len(found[i]), i))
        for done, i in enumerate(order):
            take = min(len(found[i]), left // (len(labels) - done))
            chosen[i].append(rng.choice(found[i], take, replace=False) if take < len(found[i]) else found[i])
            left -= take
    return [np.sort(np.concatenate(parts)).astype(np.int64) for parts in chosen]


def even_rows(known: NDArray[np.bool_], most: int, seed: int) -> NDArray[np.int64]:
    """At most so many of the points that have a label, each with the same chance, sorted."""
    rows = np.flatnonzero(known)
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
    return rows


def propose_lengths(clouds: Sequence[Array], n_threads: int = 1) -> tuple[float, ...]:
    """Six lengths for clouds of one kind, of two digits each, with equal ratios.

    The finest is 1.5 times the middle of the clouds' mean distances to the nearest neighbour, the coarsest 40
    times that, or an eighth of the middle diameter where that is less.

    Examples
    --------
    >>> grid = np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0)), axis=-1).reshape(-1, 2)
    >>> propose_lengths([grid])
    (1.5, 1.9, 2.5, 3.1, 4.0, 5.1)
    """
    spacing, diameter = [], []
    for points in clouds:
        if len(points) < 2:
            continue
        arranged = ArrangedCloud.of(points, n_threads)
        if arranged.spacing > 0.0:
            spacing.append(arranged.spacing)
            diameter.append(arranged.diameter)
    if not spacing:
        raise ValueError("no cloud has two distinct points: there are no lengths to propose; give lengths")
    low = _FINEST * float(np.median(spacing))
    high = max(min(_WIDEST * low, _SHARE * float(np.median(diameter))), 1.5 * low)
    found = np.geomspace(low, high, _STEPS)
    short = tuple(float(f"{v:.2g}") for v in found)
    return short if (np.diff(short) > 0).all() else tuple(found.tolist())

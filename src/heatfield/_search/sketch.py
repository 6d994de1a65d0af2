"""Thumbnails: a few points of a cloud in the plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array


def sketch(points: Array, count: int = 160) -> Array:
    """Some of the points in their plane of greatest variance, in -1..1."""
    rows = np.random.default_rng(0).permutation(len(points))[:count]
    centred = points - points.mean(axis=0)
    if points.shape[1] == 1:
        flat = np.c_[centred, np.zeros(len(centred))]
    elif points.shape[1] == 2:
        flat = centred
    else:
        _, axes = np.linalg.eigh(centred.T @ centred)
        flat = centred @ axes[:, [-2, -1]]  # the longest direction upright
    middle = 0.5 * (flat.min(axis=0) + flat.max(axis=0))
    half = 0.5 * float(np.ptp(flat, axis=0).max()) or 1.0
    return (flat[rows] - middle) / half


def in_bytes(drawn: Array) -> NDArray[np.uint8]:
    """A sketch with one byte per coordinate."""
    return np.rint(127.5 + 127.5 * np.clip(drawn, -1, 1)).astype(np.uint8)

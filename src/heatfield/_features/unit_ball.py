"""Clouds in the unit ball, as networks see them."""

from __future__ import annotations

import numpy as np

from .._base.check import Array


def unit_ball(points: Array) -> Array:
    """Centred, and scaled so that the farthest point has length 1."""
    centred = points - points.mean(axis=0)
    radius = np.sqrt((centred**2).sum(axis=1).max())
    return centred / radius if radius > 0.0 else centred

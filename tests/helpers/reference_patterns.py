"""Curves and rank envelopes of point patterns in plain NumPy."""

import numpy as np


def response(points, r):
    """C2 = n/2 - sum D^2/8t g / sum g over all ordered pairs, own pairs included, at r = 2 sqrt(t)."""
    t = r * r / 4
    square = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    g = np.exp(-square / (8 * t))
    return points.shape[1] / 2 - (square * g).sum() / (8 * t) / g.sum()


def log_pairs(points, r):
    """The logarithm of the mean of exp(-D^2 / 2 r^2) over pairs of different points."""
    square = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    different = ~np.eye(len(points), dtype=bool)
    return np.log(np.exp(-square[different] / (2 * r * r)).mean())


def extreme_rank_lengths(curves):
    """Sorted two-sided ranks of each curve, for comparison as tuples; equal values share their mean rank."""
    count = len(curves)
    out = []
    for curve in curves:
        ranks = []
        for j, value in enumerate(curve):
            below = sum(other[j] < value for other in curves)
            equal = sum(other[j] == value for other in curves)
            low = below + (equal + 1) / 2
            ranks.append(min(low, count + 1 - low))
        out.append(tuple(sorted(ranks)))
    return out

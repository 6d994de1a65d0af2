"""Points along the branches of a tree, uniform by arc length."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def sample_skeleton(
    nodes: Array, parents: NDArray[np.int64], budget: int, rng: np.random.Generator
) -> tuple[Array, NDArray[np.int64], Array]:
    r"""Points at uniform arc length along the segments node--parent.

    The total length L is cut into ``budget`` equal stretches and one point is drawn in each,
    s_k = (k + U_k) L / budget: uniform by arc length, and evener than independent draws.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    nodes : (m, n) array
    parents : (m,) int array
        The row of each node's parent, -1 for a root.
    budget : int
    rng : numpy.random.Generator

    Returns
    -------
    points : (budget, n) array
        The nodes themselves, without repeats, where no segment has a length.
    segment : (budget,) int array
        The node at whose segment each point lies.
    share : (budget,) array
        Where on it: 0 at the parent, 1 at the node.

    Examples
    --------
    >>> nodes, parents = np.array([[0.0, 0, 0], [3.0, 0, 0], [3.0, 1, 0]]), np.array([-1, 0, 1])
    >>> points, segment, share = sample_skeleton(nodes, parents, 400, np.random.default_rng(0))
    >>> int((segment == 1).sum()), int((segment == 2).sum())
    (300, 100)
    """
    ends = np.flatnonzero(parents >= 0)
    start = nodes[parents[ends]]
    lengths = np.sqrt(((nodes[ends] - start) ** 2).sum(axis=1))
    reach = np.cumsum(lengths)
    if not len(ends) or reach[-1] <= 0.0:
        _, rows = np.unique(nodes, axis=0, return_index=True)
        rows = np.sort(rows)[:budget]
        return nodes[rows], rows.astype(np.int64), np.ones(len(rows))
    at = (np.arange(budget) + rng.random(budget)) * (reach[-1] / budget)
    # side="right" never lands on a segment without length.
    slot = np.minimum(np.searchsorted(reach, at, side="right"), np.flatnonzero(lengths > 0)[-1])
    share = np.clip((at - (reach[slot] - lengths[slot])) / lengths[slot], 0.0, 1.0)
    points = start[slot] + share[:, None] * (nodes[ends[slot]] - start[slot])
    return points, ends[slot], share

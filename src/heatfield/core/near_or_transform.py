"""Which method for which points, scale by scale: the cheapest cut through the tree of boxes.

For every node of the tree three prices are compared: sum its points' neighbours directly, take one
transform over the box of its crowded points with a halo and sum the others directly, or leave it to its two
halves. The cheapest choice from the leaves up is the plan of that scale. A cloud that fills its
extent ends as one transform over everything, fine scales as direct sums, and a tight cluster in a
wide extent as a transform over the cluster alone; no choice is ever quadratic.

A transform covers only those points of a node that have many neighbours, and their box. The error asked
of it is enough where all sums are of one size; over points of very different surroundings it either has
more digits or leaves the isolated ones to be summed directly too. The choice is made in cpp/tree.cpp.
"""

from __future__ import annotations

import numpy as np

from .._base.check import Array
from .costs import Costs
from .fourier.kernel import GRID_EPS, UPSAMPLING

# Points of the fine grid that fit into the memory given to one transform (16 bytes each).
GRID_LIMIT = 1.2e8


def prices_of(costs: Costs) -> Array:
    """What the planner knows of this machine and of transforms: ``Prices`` of cpp/core.hpp."""
    return np.array([*costs.as_array(), UPSAMPLING, GRID_EPS, GRID_LIMIT])

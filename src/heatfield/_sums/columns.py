"""The table of sums: its columns, and the request that says which of them are needed and how accurately.

With r = x_j - x_i, D = |r|, w = exp(-D**2 / 4t) and its root g = exp(-D**2 / 8t), so that w = g**2, the
columns are the sums over j of

    w, w D**2, g, g D**2, w D**4, w r (n of them), w r r' (the upper triangle, row by row).

The paper has x_i - x_j for r; no signature depends on the sign.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._base.compile import compiled
from .costs import Costs, costs

WEIGHT, SQUARE, ROOT_WEIGHT, ROOT_SQUARE, FOURTH, FIRST = 0, 1, 2, 3, 4, 5

# Accuracies are natural logarithms, log(1 / error), called log_accuracy everywhere. At these a pair is left
# out: below the rounding of either precision.
LOG_ACCURACY = {np.dtype(np.float64): 37.0, np.dtype(np.float32): 17.0}

_DOUBLE = np.dtype(np.float64)
# Points from which a measurement of this machine's costs is worth half a second.
MEASURE = 50_000


@compiled()
def column_count(n: int, directions: bool) -> int:
    """How many sums are kept: the radial ones, then w r and the upper triangle of w r r'."""
    return FIRST + n + n * (n + 1) // 2 if directions else FIRST


# Until they are asked for; one instance, since there is a request per cloud.
_NO_COSTS = Costs()


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to sum, and how accurately."""

    tol: float
    directions: bool = False  # the sums of w r and w r r', from which the spectrum is computed
    fourth_moment: bool = False  # the sum of w D**4, from which the closed-form transition is computed
    energy: bool = False  # the totals of g and g D**2, for E2 and C2; only where the targets are the sources
    gradient: bool = False  # also compute the length of grad log u; needs the directions
    method: str = "auto"  # "dense", "fast" or "auto"
    dtype: np.dtype = _DOUBLE
    n_threads: int = 1
    costs: Costs = _NO_COSTS

    def priced(self, m: int) -> Request:
        """The same with this machine's costs, which are worth measuring for many points only."""
        return replace(self, costs=costs(measure=m > MEASURE))

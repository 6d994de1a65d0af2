"""The near path: for every target, the sources close enough to count, found through the tree.

Three zones around a target, by the weight w = exp(-D**2 / 4t) of a source.

1. Near, every sum is taken in double precision.
2. Further out w is small, and single precision is enough as long as that zone holds only a small
   share of the target's sums. That share is known afterwards: where it is too large, the
   zone is summed again in double precision.
3. In the ring beyond ``weight_cutoff`` w is below the tolerance, but not yet g = sqrt(w), which the energy E2
   needs: there only the radial sums are taken, which cost least, w and w D**2 among them. What the
   directions miss is known too, since |sum w r r'| <= sum w D**2 over the ring: where that is too much,
   they are added.

What remains outside weighs less than tol even if the whole cloud lay there. The sums themselves are in
cpp/near.cpp, which sources belong to which zone in cpp/tree.cpp.
"""

from __future__ import annotations

import math

from .._core import SINGLE_ERROR, TOTAL_ERROR

# Above log(1 / tol): the tail of a smooth cloud weighs a few times its weight at the cut-off.
MARGIN = 4.0


def cutoffs(tol: float, m: int, energy: bool, fourth_moment: bool = False) -> tuple[float, float]:
    """The cut-offs for w and for g (see above).

    All cut-offs of the near path, also `double_precision_cutoff`, are squared distances in units of 4t: at
    D**2 = 4t * cutoff the weight is w = exp(-cutoff).

    Beyond a squared distance R in these units, all m sources together weigh at most m exp(-R). In the
    dimension each counts 2R times, in the fourth moment 2R**2 times in its unit; what is promised for these
    is 4 and 16 tol (`bounds`), of which half may be left out.
    """
    log_accuracy = math.log(1.0 / tol)
    reach = log_accuracy + math.log(max(m, 2)) + 2.0
    margin = math.log(0.25 * reach * reach) if fourth_moment else math.log(reach)
    energy_cutoff = reach + max(0.0, margin - 2.0)
    return log_accuracy + MARGIN, max(energy_cutoff, (2.0 if energy else 1.0) * (log_accuracy + MARGIN))


def double_precision_cutoff(tol: float, energy: bool) -> float:
    """The cut-off (see `cutoffs`) beyond which single precision is tried.

    In a smooth cloud the shares beyond it are then a quarter of what is allowed.
    """
    cutoff = 1.5 - math.log(0.5 * tol / SINGLE_ERROR)
    if energy:
        cutoff = max(cutoff, 2.0 * (1.5 - math.log(0.5 * tol / TOTAL_ERROR)))
    return max(0.0, cutoff)

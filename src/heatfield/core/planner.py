"""The planner: dense, near or transform, what each would cost, and the record of what was done (``s.plan``).

First dense or fast, for a whole cloud (`use_dense`). On the fast path `split_scale` then chooses, scale by
scale and for each part of the cloud, between near sums and a transform, and `sums` whether a transform was
good enough. The costs are constants, so a plan, and with it every digit of a result, depends on the cloud and
the request alone, not on the machine.

Near sums have three zones around a target, by the weight w = exp(-D**2 / 4t) of a source.

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
from dataclasses import astuple, dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._base.check import Array
from .._base.summary import Summarised, Summary, number, plural
from .clouds import BLOCK, ArrangedCloud
from .fourier import GRID_EPS, GRID_LIMIT, UPSAMPLING
from .moments import LOG_ACCURACY

if TYPE_CHECKING:
    from ..channels import Channel

# Up to this many points nothing is planned: the dense path, exact to rounding, is as fast or faster
# (benchmarks/crossing.py: even with the fast one at 2,500 to 5,300 points).
SMALL = 3_600
# Above it the cost of the dense path is not even estimated.
LARGE = 200_000
# Query points times sources from which the fast path of `HeatField` pays.
MANY_PAIRS = 1e8
# Above log(1 / tol): the tail of a smooth cloud weighs a few times its weight at the cut-off.
_MARGIN = 4.0
# eps of the first try, in units of tol: the largest sum may be this many times (over 2) the own one.
_FIRST_TRY = 0.1
# The smallest error that is asked of any transform.
LEAST_EPS = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-6}

_DOUBLE = np.dtype(np.float64)
_NONE = np.empty(0)


@dataclass(frozen=True)
class Costs:
    """Seconds per step on one core of a common machine; the plan compares them, so only ratios matter."""

    pair: float = 2.4e-9  # all sums of one pair
    single: float = 1.1e-9  # the same in single precision
    ring: float = 0.8e-9  # the radial sums alone, in single precision
    target: float = 4e-7  # finding the neighbours of one target
    fourier: float = 1.2e-9  # one point of the fine grid, times log2 of their number
    call: float = 1e-3  # planning a transform
    read: float = 4e-10  # one grid point of one target's kernel
    modes: float = 1e-8  # factors on the modes of one grid point


COSTS = Costs()


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to sum, and how accurately."""

    tol: float
    directions: bool = False  # the sums of w r and w r r', from which the spectrum is computed
    fourth_moment: bool = False  # the sum of w D**4, from which the closed-form transition is computed
    energy: bool = False  # the totals of g and g D**2, for E2 and C2; only where the targets are the sources
    method: str = "auto"  # "dense", "fast" or "auto"
    channels: tuple[Channel, ...] = ()  # which local signatures to compute of the sums
    dtype: np.dtype = _DOUBLE
    n_threads: int = 1
    costs: Costs = field(default_factory=lambda: COSTS)


# --- dense or fast -------------------------------------------------------------------


def always_dense(method: str, m: int, n: int) -> bool:
    """Whether m points in n dimensions take the dense path whatever the costs are."""
    return method == "dense" or (method == "auto" and (m <= SMALL or n > 3))


def use_dense(cloud: ArrangedCloud, unit: Array, request: Request) -> bool:
    """Whether the dense path is asked for, or is the cheaper one."""
    n, m = cloud.points.shape
    if request.method == "fast" or always_dense(request.method, m, n):
        return request.method != "fast"
    if m > LARGE:
        return False
    return dense_seconds(cloud, unit, request) <= fast_seconds(cloud, unit, request)


def field_uses_fast(method: str, m: int, n: int, q: int) -> bool:
    """Whether a heat field of m sources in n dimensions takes the fast path at q query points."""
    return method == "fast" or (not always_dense(method, m, n) and float(m) * q > MANY_PAIRS)


def fast_seconds(cloud: ArrangedCloud, unit: Array, request: Request) -> float:
    """What the fast path would take on one core."""
    columns = (np.ascontiguousarray(unit[:, a]) for a in range(unit.shape[1]))
    return sum(split_scale(cloud, cloud, t, request)[1] for t in columns)


def dense_seconds(cloud: ArrangedCloud, unit: Array, request: Request) -> float:
    """What the dense path would take on one core, from the neighbours of a few points."""
    n, m = cloud.points.shape
    log_reach = LOG_ACCURACY[request.dtype] + math.log(m)
    total = 0.0
    sample = np.unique(np.linspace(0, m - 1, 64).astype(int))
    for i in sample:
        at = np.ascontiguousarray(cloud.points[:, i])
        for t in unit[i if unit.shape[0] > 1 else 0]:
            pairs = _core.estimate_within(*cloud.tree, at, at, 8.0 * t * log_reach, m)
            total += pairs * request.costs.pair + request.costs.target + m / BLOCK * 2e-9 * n
    return total * m / sample.size


# --- near sums or transforms ---------------------------------------------------------


def cutoffs(tol: float, m: int, energy: bool, fourth_moment: bool = False) -> tuple[float, float]:
    """The cut-offs for w and for g (see above).

    All cut-offs of the near path, also `double_precision_cutoff`, are squared distances in units of 4t: at
    D**2 = 4t * cutoff the weight is w = exp(-cutoff).

    Beyond a squared distance R in these units, all m sources together weigh at most m exp(-R). In the
    dimension each counts 2R times, in the fourth moment 2R**2 times in its unit; the bound for these
    is 4 and 16 tol (`bounds`), of which half may be left out.
    """
    log_accuracy = math.log(1.0 / tol)
    reach = log_accuracy + math.log(max(m, 2)) + 2.0
    margin = math.log(0.25 * reach * reach) if fourth_moment else math.log(reach)
    energy_cutoff = reach + max(0.0, margin - 2.0)
    return log_accuracy + _MARGIN, max(energy_cutoff, (2.0 if energy else 1.0) * (log_accuracy + _MARGIN))


def double_precision_cutoff(tol: float, energy: bool) -> float:
    """The cut-off (see `cutoffs`) beyond which single precision is tried.

    In a smooth cloud the shares beyond it are then a quarter of what is allowed.
    """
    cutoff = 1.5 - math.log(0.5 * tol / _core.SINGLE_ERROR)
    if energy:
        cutoff = max(cutoff, 2.0 * (1.5 - math.log(0.5 * tol / _core.TOTAL_ERROR)))
    return max(0.0, cutoff)


@dataclass(frozen=True, eq=False)
class Part:
    """A run of targets; those in the box (low, high) by transform to ``eps``, the others directly."""

    first: int
    last: int
    node: int  # of the tree of targets
    low: Array | None = None
    high: Array | None = None
    eps: float = 0.0


# What is done with which targets, and the seconds that takes on one core.
ScaleParts = tuple[list[Part], float]


def split_scale(
    targets: ArrangedCloud,
    sources: ArrangedCloud,
    t: Array,
    request: Request,
    *,
    offsets: Array = _NONE,
    limits: tuple[float, float] | None = None,
) -> ScaleParts:
    """What to do with which targets at one scale, and its cost: the cheapest cut through the tree.

    For every node three costs are compared (cpp/tree.cpp): sum its points' neighbours directly, take one
    transform over the box of its crowded points with a halo and sum the others directly, or leave it to its
    two halves. A cloud that fills its extent ends as one transform, fine scales as direct sums, a tight
    cluster in a wide extent as a transform over the cluster alone; nothing is ever quadratic. A transform
    over points of very different surroundings has more digits, or leaves the isolated ones to direct sums.
    ``limits`` are the `cutoffs`, where they are not those of equal weights.
    """
    n, m = sources.points.shape
    weight_cutoff, energy_cutoff = limits or cutoffs(request.tol, m, request.energy, request.fourth_moment)
    least = LEAST_EPS[request.dtype]
    _, begin, size = targets.tree
    blocks = (len(begin) + 1) // 2
    chosen, boxes, eps = np.empty(blocks, np.int64), np.empty((blocks, 2, n)), np.empty(blocks)
    seconds, count = _core.plan(
        targets.points, *targets.tree, offsets, m, *sources.tree,
        double_precision_cutoff(request.tol, request.energy), weight_cutoff,
        max(least, _FIRST_TRY * request.tol), least, n <= 3 and t.shape[0] == 1,
        chosen=chosen, boxes=boxes, epss=eps, **_transform_terms(float(t.mean()), energy_cutoff, request),
    )  # fmt: skip
    parts = []
    for i, (low, high), error in zip(
        chosen[:count].tolist(), boxes[:count], eps[:count].tolist(), strict=True
    ):
        first = int(begin[i]) * BLOCK
        last = min(targets.points.shape[1], int(begin[i] + size[i]) * BLOCK)
        # Copies: the whole table of boxes would stay in memory.
        if error:
            parts.append(Part(first, last, i, low.copy(), high.copy(), error))
        else:
            parts.append(Part(first, last, i))
    return parts, seconds


def transform_seconds(
    box: tuple[Array, Array, Array],
    t: float,
    energy_cutoff: float,
    request: Request,
    *,
    eps: float,
    p: int,
    q: int,
) -> float:
    """The cost of one transform with p sources and q targets; ``box``: low, high, and all sources' box."""
    return _core.transform_cost(*box, eps=eps, p=p, q=q, **_transform_terms(t, energy_cutoff, request))


def _transform_terms(t: float, energy_cutoff: float, request: Request) -> dict[str, Any]:
    """What the cost of a transform depends on: ``TransformCosts`` of cpp/core.hpp."""
    return {
        "t": t,
        "energy_cutoff": energy_cutoff,
        "fourth": request.fourth_moment,
        "prices": np.array([*astuple(request.costs), UPSAMPLING, GRID_EPS, GRID_LIMIT]),
    }


# --- what was done -------------------------------------------------------------------


@dataclass
class ScalePlan:
    """How the sums of one scale were taken."""

    t: float
    method: str  # "dense", "near", "fourier", "boxes" (transforms of parts, the rest near) or "interpolated"
    transforms: int = 0  # boxes transformed
    largest_grid: tuple[int, ...] = ()
    points_transformed: int = 0
    points_near: int = 0
    points_checked: int = 0  # transformed, but then summed directly: too isolated for the transform's error
    expected_seconds: float = float("nan")  # on one core
    reason: str = ""

    def __str__(self) -> str:
        return f"t={self.t:.4g}: {self.method} ({self.reason})"


@dataclass(repr=False)
class Plan(Summarised):
    """How the sums were taken at each scale, and why: ``s.plan``.

    Guide: ``heatfield docs theory/fast``.

    Attributes
    ----------
    tol : float or None
        The tolerance of the fast path; None where all sums are exact to rounding.
    scales : list
        For each scale its time ``t``, ``method``, ``reason``, ``expected_seconds`` on one core, and how many
        points were transformed or summed directly.

    Examples
    --------
    >>> import heatfield as hf
    >>> s = hf.signatures([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], scales=[1.0, 2.0])
    >>> print(s.plan)
    exact to rounding
    t=1: dense (every pair that can change a digit)
    t=2: dense (every pair that can change a digit)
    """

    tol: float | None
    scales: list[ScalePlan] = field(default_factory=list)

    @property
    def methods(self) -> list[str]:
        """One word per scale."""
        return [scale.method for scale in self.scales]

    def __str__(self) -> str:
        head = "exact to rounding" if self.tol is None else f"tol={self.tol:g}"
        return "\n".join([head, *map(str, self.scales)])

    def _summary(self) -> Summary:
        """A line per run of scales."""
        lines: list[tuple[str, str | list[str]]] = []
        for method, first, last in _runs(self):
            scales = self.scales[first : last + 1]
            where = f"{first} to {last}" if last > first else str(first)
            times = number(scales[0].t) + (f" to {number(scales[-1].t)}" if last > first else "")
            lines.append((f"scale {where}", f"{method}, t = {times}: {_reason(scales)}"))
        return Summary(f"Plan of {plural(len(self.scales), 'scale')}, {_accuracy(self)}", lines)


def dense_plan(times: Array) -> Plan:
    """The plan of the dense path at times (1, T) or (q, T)."""
    shown = np.median(times, axis=0).tolist()
    return Plan(None, [ScalePlan(t, "dense", reason="every pair that can change a digit") for t in shown])


def plan_words(plan: Plan) -> str:
    """``near at 0 to 4, fourier at 5 to 7; tol 1e-08``."""
    runs = _runs(plan)
    if not runs:
        return "nothing"
    if len(runs) == 1:
        found = f"{runs[0][0]} at every scale"
    else:
        found = ", ".join(
            f"{method} at {first}" + (f" to {last}" if last > first else "") for method, first, last in runs
        )
    return f"{found}; {_accuracy(plan)}"


def _reason(scales: list[ScalePlan]) -> str:
    """The reason, where all scales of a run have the same; otherwise what they took at most."""
    if len({scale.reason for scale in scales}) == 1:
        return scales[0].reason
    grid = " x ".join(map(str, max((scale.largest_grid for scale in scales), key=math.prod)))
    transforms, checked = (max(getattr(s, name) for s in scales) for name in ("transforms", "points_checked"))
    most = f"at most {plural(transforms, 'transform')} of {grid} modes per scale"
    return f"{most}, at most {plural(checked, 'point')} too isolated for its error and summed directly"


def _runs(plan: Plan) -> list[tuple[str, int, int]]:
    """Method, first and last scale of each run."""
    runs = []
    for method, group in groupby(enumerate(plan.methods), key=lambda pair: pair[1]):
        places = [a for a, _ in group]
        runs.append((method, places[0], places[-1]))
    return runs


def _accuracy(plan: Plan) -> str:
    return "exact to rounding" if plan.tol is None else f"tol {plan.tol:g}"

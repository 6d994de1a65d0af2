"""The summary of a plan: runs of scales that were summed in the same way."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING

from .._base.summary import Summary, number, plural

if TYPE_CHECKING:
    from .plan import Plan, ScalePlan


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
    return f"{found}; {_promise(plan)}"


def summary_of_plan(plan: Plan) -> Summary:
    """A line per run of scales."""
    lines: list[tuple[str, str | list[str]]] = []
    for method, first, last in _runs(plan):
        scales = plan.scales[first : last + 1]
        where = f"{first} to {last}" if last > first else str(first)
        times = number(scales[0].t) + (f" to {number(scales[-1].t)}" if last > first else "")
        lines.append((f"scale {where}", f"{method}, t = {times}: {_reason(scales)}"))
    return Summary(f"Plan of {plural(len(plan.scales), 'scale')}, {_promise(plan)}", lines)


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


def _promise(plan: Plan) -> str:
    return "exact to rounding" if plan.tol is None else f"tol {plan.tol:g}"

"""A randomised search for clouds that break a promise of the fast path.

    python -m tools.search_promises --seconds 1800      # -> tools/results/promises.json

Each seed draws a cloud, the way it is evaluated (all points, some of them, places off the data, times of each
point's own, the heat field with weights), costs that favour transforms or neighbours, a tolerance and a
precision, and compares with the dense path. The worst ratio to each promise is kept with its seed; a run goes
on from the seeds that the result file has seen.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import heatfield as hf
from benchmarks.lib.machine import machine
from heatfield._base.files import write_atomically
from heatfield.channels import BOUNDS, RELATIVE
from heatfield.core import bounds, planner
from heatfield.core.planner import Costs

OUTPUT = Path(__file__).parent / "results" / "promises.json"
COSTS = {
    "transforms": Costs(pair=6e-8, single=4e-8, ring=3e-8, call=1e-6),
    "neighbours": Costs(call=1e3),
    "default": Costs(),
}
WAYS = ("all", "some", "places", "own times", "field")


@contextmanager
def fixed_costs(costs: Costs) -> Iterator[None]:
    """Plan with these costs."""
    kept, planner.COSTS = planner.COSTS, costs
    try:
        yield
    finally:
        planner.COSTS = kept


def draw_cloud(rng: np.random.Generator, n: int) -> np.ndarray:
    """Points of one of the families that have broken something before, or might."""
    m = int(10 ** rng.uniform(0.5, 3.1))
    kind = rng.integers(9)
    if kind == 0:  # tight clusters in a wide cloud
        width = 10.0 ** rng.uniform(-6, 0)
        centres = rng.random((1 + rng.integers(5), n))
        points = centres[rng.integers(len(centres), size=m)] + width * rng.normal(size=(m, n))
        points = np.concatenate([points, rng.random((1 + m // 10, n))])
    elif kind == 1:  # a line, perhaps with noise
        points = np.outer(np.sort(rng.random(m)), rng.normal(size=n))
        points += 10.0 ** rng.uniform(-9, -1) * rng.normal(size=(m, n)) * rng.integers(2)
    elif kind == 2:  # a plane
        points = rng.random((m, min(2, n))) @ rng.normal(size=(min(2, n), n))
    elif kind == 3:  # a lattice
        side = max(2, round(m ** (1 / n)))
        points = np.stack(np.meshgrid(*[np.arange(float(side))] * n), axis=-1).reshape(-1, n)
    elif kind == 4:  # duplicates
        points = rng.normal(size=(1 + m // 5, n))[rng.integers(1 + m // 5, size=m)]
    elif kind == 5:  # far outliers
        points = np.concatenate([rng.random((m, n)), 10.0 ** rng.uniform(0, 6) * rng.normal(size=(2, n))])
    elif kind == 6:  # a sphere
        points = rng.normal(size=(m, n))
        points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-9)
    elif kind == 7:  # density over many decades
        points = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-5, 0, size=(m, 1))
    else:
        points = rng.normal(size=(m, n))
    points = points * 10.0 ** rng.uniform(-20, 20) if rng.random() < 0.1 else points
    return points + 5e6 if rng.random() < 0.1 else points


def attack(seed: int) -> dict[str, Any]:
    """One draw: the ratio of the error to each promise, and what was drawn."""
    rng = np.random.default_rng([seed, 12])
    n = int(rng.choice([1, 2, 2, 3, 3, 3, 4, 6]))
    way = WAYS[rng.integers(len(WAYS))]
    points = draw_cloud(rng, n)
    dtype = "float32" if rng.random() < 0.25 and way != "field" else "float64"
    tol = 10.0 ** rng.uniform(-5, -3) if dtype == "float32" else 10.0 ** rng.uniform(-11, -3)
    name = list(COSTS)[rng.integers(len(COSTS))]
    drawn = {"seed": seed, "way": way, "n": n, "m": len(points), "dtype": dtype, "tol": tol, "costs": name}
    scales = hf.scale_schedule(points, 4)
    if not np.isfinite(scales).all():
        return {**drawn, "ratios": {}}
    with fixed_costs(COSTS[name]):
        compare = _field if way in ("places", "field") else _signatures
        ratios = compare(rng, points, scales, {"tol": tol, "dtype": dtype}, way)
    return {**drawn, "ratios": ratios}


def _signatures(
    rng: np.random.Generator, points: np.ndarray, scales: np.ndarray, options: dict[str, Any], way: str
) -> dict[str, float]:
    """All points, some of them, or times of each point's own, beside the dense path."""
    rows = np.arange(len(points))
    if way == "own times":
        k = min(8, len(points) - 1)
        try:
            scales = hf.adaptive_scales(points, 3, k=k)
        except ValueError:  # too many copies of one point
            return {}
    exact = hf.signatures(points, scales, method="dense", transition="exact")
    if way == "some":
        rows = rng.integers(len(points), size=1 + len(points) // 3)
        options = {**options, "targets": rows}
    found = hf.signatures(points, scales, method="fast", transition="exact", **options)
    ratios = {}
    for name, factor in BOUNDS.items():
        one, other = getattr(found, name), getattr(exact, name)
        if np.ndim(other) > 1:
            other = other[rows]
        elif way != "all":
            continue
        error = np.abs(one - other) / (np.abs(other) if name in RELATIVE else 1.0)
        ratios[name] = float(np.max(error, initial=0.0) / (factor * options["tol"]))
    return ratios


def _field(
    rng: np.random.Generator, points: np.ndarray, scales: np.ndarray, options: dict[str, Any], way: str
) -> dict[str, float]:
    """Places on, near and far from the data, by `signatures` or by a weighted `HeatField`."""
    extent = float(np.ptp(points, axis=0).max()) or 1.0
    reach = np.sqrt(scales[rng.integers(len(scales))]) if rng.random() < 0.5 else extent
    at = points[rng.integers(len(points), size=40)] + 10.0 ** rng.uniform(-3, 1) * reach * rng.normal(
        size=(40, points.shape[1])
    )
    tol = options["tol"]
    if way == "field":
        weights = 10.0 ** rng.uniform(-12, 0, size=len(points)) if rng.random() < 0.7 else None
        exact = hf.HeatField(points, weights, method="dense")
        fast = hf.HeatField(points, weights, method="fast", tol=tol)
        d = exact.dimension(at, scales)
        log_error = np.abs(fast.log_value(at, scales) - exact.log_value(at, scales))
        dimension_error = np.abs(fast.dimension(at, scales) - d) / (1.0 + d)
    else:
        exact = hf.HeatField(points, method="dense")
        found = hf.signatures(points, scales, method="fast", targets=at, **options)
        d = exact.dimension(at, scales)
        log_u = exact.log_value(at, scales)
        # Where the sum of weights is below 1e-300, signatures say 0 and NaN.
        log_weight = log_u + 0.5 * points.shape[1] * np.log(4.0 * np.pi * scales)
        seen = (log_u > -680.0) & (log_weight > -680.0)
        log_error = np.abs(np.log(found.density[seen]) - log_u[seen])
        dimension_error = (np.abs(found.dimension - d) / (1.0 + d))[seen]
    return {
        "density": float(np.max(log_error, initial=0.0) / (bounds.DENSITY * tol)),
        "dimension": float(np.max(dimension_error, initial=0.0) / (bounds.DIMENSION * tol)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    state: dict[str, Any] = {"seeds": 0, "seconds": 0.0, "worst": {}, "broken": []}
    if options.output.exists():
        state = json.loads(options.output.read_text())
    options.output.parent.mkdir(exist_ok=True)
    started, before, seed = time.monotonic(), state["seconds"], state["seeds"]
    warnings.simplefilter("ignore")
    while time.monotonic() - started < options.seconds:
        drawn = attack(seed)
        ratios = drawn.pop("ratios")
        for name, ratio in ratios.items():
            place = f"{drawn['way']}: {name}"
            if not ratio <= state["worst"].get(place, {}).get("ratio", -1.0):
                state["worst"][place] = {"ratio": ratio, **drawn}
            if not ratio <= 1.0:
                state["broken"].append({"promise": name, "ratio": ratio, **drawn})
                print("broken:", state["broken"][-1], flush=True)
        seed += 1
        if seed % 100 == 0 or time.monotonic() - started >= options.seconds:
            state.update(machine(), seeds=seed, seconds=round(before + time.monotonic() - started, 1))
            write_atomically(options.output, (json.dumps(state, indent=1) + "\n").encode())
            top = max((w["ratio"] for w in state["worst"].values()), default=0.0)
            print(f"{seed} clouds, worst ratio {top:.3g}, {len(state['broken'])} broken", flush=True)


if __name__ == "__main__":
    main()

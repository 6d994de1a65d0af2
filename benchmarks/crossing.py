"""From which size the fast path is faster than the dense one, and where `auto` switches.

    python -m benchmarks.crossing      # writes benchmarks/results/crossing.json, a few minutes

For each cloud of `lib/clouds.py` both paths are timed side by side at growing sizes, the best of many; the
crossing is found between two sizes in the logarithm of their ratio. `auto` should switch
within a factor of 1.5 of it.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import heatfield as hf
from benchmarks.lib.clouds import LARGE_CLOUDS, make_large_cloud
from benchmarks.lib.machine import machine
from benchmarks.lib.race import best_of
from benchmarks.lib.results import RESULTS, write

OUTPUT = RESULTS / "crossing.json"
SCALES = 8
SIZES = (1500, 2200, 3200, 4600, 6800, 10_000, 15_000, 22_000, 32_000)


def seconds(points: np.ndarray, method: str, tol: float, jobs: int) -> float:
    """The best of many calls: at these sizes one takes milliseconds."""

    def call() -> hf.Signatures:
        return hf.signatures(points, n_scales=SCALES, method=method, tol=tol, n_jobs=jobs)

    return best_of(call, least=5, most=25, total=1.5)[0]


def crossing(sizes: list[int], ratios: list[float]) -> float | None:
    """Where dense / fast passes 1 for good, by interpolation in both logarithms."""
    for k in range(len(sizes) - 1, 0, -1):
        low, high = math.log(ratios[k - 1]), math.log(ratios[k])
        if low < 0.0 <= high:
            share = -low / (high - low)
            return math.exp(math.log(sizes[k - 1]) * (1 - share) + math.log(sizes[k]) * share)
    return None


def change_over(name: str, tol: float, jobs: int) -> float | None:
    """The size from which `auto` takes the fast path, to five per cent."""
    low, high = SIZES[0], 4 * SIZES[-1]

    def is_fast(m: int) -> bool:
        plan = hf.signatures(make_large_cloud(name, m), n_scales=SCALES, tol=tol, n_jobs=jobs).plan
        return plan is not None and "dense" not in plan.methods

    if is_fast(low) or not is_fast(high):
        return None
    while high > 1.05 * low:
        middle = round(math.sqrt(low * high))
        low, high = (low, middle) if is_fast(middle) else (middle, high)
    return math.sqrt(low * high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    found: dict = {"tol": options.tol, "jobs": options.jobs, "clouds": {}}
    for method in ("dense", "fast"):
        hf.signatures(make_large_cloud("sphere", 3000), method=method, tol=options.tol)  # compiles
    for name in LARGE_CLOUDS:
        times: dict[str, list[float]] = {"dense": [], "fast": []}
        sizes: list[int] = []
        for m in SIZES:
            points = make_large_cloud(name, m)
            sizes.append(m)
            for method, mine in times.items():
                mine.append(seconds(points, method, options.tol, options.jobs))
            if times["dense"][-1] > 2.0 * times["fast"][-1]:
                break
        ratios = [d / f for d, f in zip(times["dense"], times["fast"], strict=True)]
        crossed, changed = crossing(sizes, ratios), change_over(name, options.tol, options.jobs)
        off = None if crossed is None or changed is None else max(crossed / changed, changed / crossed)
        found["clouds"][name] = {
            "sizes": sizes, **times, "crossing": crossed, "auto_changes_at": changed, "off_by": off,
        }  # fmt: skip
        print(
            name,
            [round(r, 2) for r in ratios],
            "crossing",
            crossed,
            "auto",
            changed,
            "off by",
            off,
            flush=True,
        )
        write(OUTPUT, {**machine(), **found})


if __name__ == "__main__":
    main()

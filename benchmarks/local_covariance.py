"""LocalCovariance beside jakteristics: the same features of the same points, turn by turn, as a ratio.

python -m benchmarks.local_covariance            # writes benchmarks/results/local_covariance.json

Each case is a cloud with some radii, chosen so that a ball holds a number of neighbours on average. Both
compute the same eleven features and the number of neighbours, on one thread; jakteristics has one call
for each radius. A round takes one turn of either, in alternating order; the figure is the median over rounds
of their ratio. What differs: jakteristics returns single precision.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from jakteristics import compute_features

from benchmarks.lib.machine import machine
from benchmarks.lib.rivals import radius_of
from heatfield_bench.baselines import LocalCovariance
from heatfield_bench.baselines.local_covariance import FEATURES

OUTPUT = Path(__file__).parent / "results" / "local_covariance.json"
# Points, and neighbours in a ball of each radius on average.
CASES = (
    (1_000, (30,)),
    (1_000, (10, 30, 100, 300)),
    (20_000, (30,)),
    (20_000, (10, 30, 100, 300)),
    (200_000, (30,)),
    (200_000, (10, 30, 100, 300)),
)


def surface(m: int) -> np.ndarray:
    """Points on a sphere with a little noise: what a scanner sees."""
    rng = np.random.default_rng(m)
    points = rng.normal(size=(m, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True) + 1e-3 * rng.normal(size=(m, 3))


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(m: int, neighbours: tuple[int, ...], rounds: int) -> dict[str, object]:
    """Times of both, their ratio by round, and how far their values are apart."""
    points = surface(m)
    # Radii that single precision holds exactly, since jakteristics keeps them so.
    radii = [float(np.float32(radius_of(points, k))) for k in neighbours]
    descriptor = LocalCovariance(radii=radii, normalize=False, n_jobs=1)

    def ours() -> np.ndarray:
        return descriptor.per_point(points).T.reshape(len(FEATURES), len(radii), m)

    def theirs() -> np.ndarray:
        found = [compute_features(points, r, num_threads=1, feature_names=[*FEATURES]).T for r in radii]
        return np.stack(found, axis=1)

    one, other = ours(), theirs()  # compiled, and compared
    enough = one[-1] >= 5
    apart = {
        name: float(np.abs(a - b)[enough].max()) for name, a, b in zip(FEATURES, one, other, strict=True)
    }
    times: list[tuple[float, float]] = []
    for turn in range(rounds):
        if turn % 2:
            second = seconds(theirs)
            times.append((seconds(ours), second))
        else:
            first = seconds(ours)
            times.append((first, seconds(theirs)))
    return {
        "points": m,
        "neighbours": list(neighbours),
        "heatfield_s": round(statistics.median(a for a, _ in times), 4),
        "jakteristics_s": round(statistics.median(b for _, b in times), 4),
        "jakteristics_over_heatfield": round(statistics.median(b / a for a, b in times), 2),
        "ratios": [round(b / a, 2) for a, b in times],
        "largest_difference": apart,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="the small clouds only, nothing written")
    options = parser.parse_args()
    result = {**machine(), "rounds": options.rounds, "cases": []}
    for m, neighbours in CASES:
        if options.quick and m > 1_000:
            continue
        row = measure(m, neighbours, options.rounds)
        result["cases"].append(row)
        print({k: v for k, v in row.items() if k != "largest_difference"}, flush=True)
    if not options.quick:
        OUTPUT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

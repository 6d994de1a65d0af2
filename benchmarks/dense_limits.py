"""What could make the dense path faster at a thousand points, and by how much.

    python -m benchmarks.dense_limits            # writes benchmarks/results/dense_limits.json

For each scale of the schedule: the share of pairs that the lists of blocks keep, from
coarse to fine; the share that would be kept with a list of points; the time in both
precisions, with and without lists; and the numerical rank of the kernel, which bounds what
any low-rank expansion can save (rank * 12 products per point instead of m * 24).

The floor is the time of the multiplications alone: those of one pair at one scale (`PRODUCTS`: of the
exponential and of the sums), at the rate at which this processor multiplies and adds, measured beside.
"""

from __future__ import annotations

import numpy as np

from benchmarks.lib.machine import machine
from benchmarks.lib.race import best_of
from benchmarks.lib.results import RESULTS, write
from heatfield._base.compile import SUMS, compiled
from heatfield._cloud.cloud import ArrangedCloud
from heatfield._signatures.scales import schedule_of
from heatfield._sums.columns import LOG_ACCURACY, column_count
from heatfield._sums.dense_kernels import _cutoff, dense_sums, gaps_to_blocks

OUTPUT = RESULTS / "dense_limits.json"
M = 1024
# Multiplications, fused with an addition or not, per pair and scale in space: the scaled square and a
# polynomial of degree 10 or 5; g*g, w D**2, g D**2, three of w r, six of w r r'.
PRODUCTS = {"float64": 11 + 12, "float32": 6 + 12}


@compiled(SUMS)
def _eight_sums(x: np.ndarray, zero: float) -> float:
    """Eight products per number, in eight sums, so that no sum waits for itself."""
    a = b = c = d = e = f = g = h = zero
    y = x[0]
    for j in range(x.shape[0]):
        v = x[j]
        a += v * v
        b += v * y
        c += v * (y + 1)
        d += v * (y + 2)
        e += v * (y + 3)
        f += v * (y + 4)
        g += v * (y + 5)
        h += v * (y + 6)
    return a + b + c + d + e + f + g + h


@compiled()
def _many_times(x: np.ndarray, zero: float, times: int) -> float:
    total = 0.0
    for i in range(times):
        x[1] = i
        total += _eight_sums(x, zero)
    return total


def nanoseconds_per_product(dtype: np.dtype) -> float:
    """Of one number in a vector; eight sums of 512 numbers, which lie in the first cache."""
    x, times = np.ones(512, dtype), 20_000
    return (
        1e9 * best_of(lambda: _many_times(x, dtype.type(0), times), least=8, most=8)[0] / (8 * x.size * times)
    )


def best_ms(
    cloud: ArrangedCloud, unit: np.ndarray, log_accuracy: float, dtype: np.dtype, rounds: int = 15
) -> float:
    """Time of all sums, best of several."""
    sums = np.zeros((M, unit.shape[1], column_count(3, True)))

    def call() -> None:
        dense_sums(
            cloud.points,
            cloud.boxes,
            cloud.nearest,
            unit,
            0,
            M,
            log_accuracy,
            True,
            False,
            np.empty(0, dtype),
            sums,
        )

    return round(1e3 * best_of(call, least=rounds, most=rounds)[0], 3)


def clouds() -> dict[str, np.ndarray]:
    """A surface, a volume, a filament."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(M, 3))
    s = np.sort(rng.uniform(0, 10, M))
    return {
        "sphere": normal / np.linalg.norm(normal, axis=1, keepdims=True),
        "ball": normal / np.linalg.norm(normal, axis=1, keepdims=True) * rng.random((M, 1)) ** (1 / 3),
        "curve": np.c_[np.cos(s), np.sin(s), s / 3],
    }


def main() -> None:
    result = {**machine(), "m": M, "clouds": {}}
    result["products_per_pair"] = PRODUCTS
    result["ns_per_product"] = {d.name: round(nanoseconds_per_product(d), 5) for d in LOG_ACCURACY}
    for name, points in clouds().items():
        cloud = ArrangedCloud.of(points)
        unit = cloud.unit_scales(schedule_of(cloud, 8, 0.05, 0.25)[None, :])
        square = ((cloud.points[:, :, None] - cloud.points[:, None, :]) ** 2).sum(axis=0)
        entry: dict = {"scales": []}
        for a, t in enumerate(unit[0]):
            row: dict = {"scale": a}
            kernel = np.linalg.svd(np.exp(-square / (4 * t)), compute_uv=False)
            for dtype, log_accuracy in LOG_ACCURACY.items():
                cuts = np.array([_cutoff(t, near, log_accuracy, M) for near in cloud.nearest])
                gaps = np.empty(cloud.boxes.shape[2])
                kept = []
                for i in range(M):
                    gaps_to_blocks(cloud.points[:, i].copy(), cloud.boxes, gaps)
                    kept.append((gaps <= cuts[i]).mean())
                row[dtype.name] = {
                    "kept_by_blocks": round(float(np.mean(kept)), 3),
                    "kept_by_points": round(float((square <= cuts[:, None]).mean()), 3),
                    "rank": int((kernel > np.exp(-log_accuracy) * kernel[0]).sum()),
                }
            entry["scales"].append(row)
        for dtype, log_accuracy in LOG_ACCURACY.items():
            entry[f"{dtype.name}_ms"] = best_ms(cloud, unit, log_accuracy, dtype)
            entry[f"{dtype.name}_all_pairs_ms"] = best_ms(cloud, unit, 1e9, dtype)
            products = M * M * PRODUCTS[dtype.name] * result["ns_per_product"][dtype.name]
            kept = sum(row[dtype.name]["kept_by_blocks"] for row in entry["scales"])
            entry[f"{dtype.name}_floor_ms"] = round(1e-6 * products * kept, 3)
            entry[f"{dtype.name}_all_pairs_floor_ms"] = round(1e-6 * products * unit.shape[1], 3)
        result["clouds"][name] = entry
        print(name, {k: v for k, v in entry.items() if k != "scales"})
        for row in entry["scales"]:
            print("  ", row)
    write(OUTPUT, result)
    print(f"results in {OUTPUT.name}")


if __name__ == "__main__":
    main()

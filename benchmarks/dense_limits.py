"""What could make the dense path faster at a thousand points, and by how much.

    python -m benchmarks.dense_limits            # writes benchmarks/results/dense_limits.json

For each scale of the schedule: the share of pairs that the lists of blocks keep, from
coarse to fine; the share that would be kept with a list of points; the time in both
precisions, with and without lists; and the numerical rank of the kernel, which bounds what
any low-rank expansion can save (rank * 12 products per point instead of m * 24).
"""

from __future__ import annotations

import numpy as np

from benchmarks.lib.machine import machine
from benchmarks.lib.race import best_of
from benchmarks.lib.results import RESULTS, write
from heatfield._cloud.cloud import ArrangedCloud
from heatfield._signatures.scales import schedule_of
from heatfield._sums.columns import LOG_ACCURACY
from heatfield._sums.dense_kernels import _cutoff, column_count, dense_sums, gaps_to_blocks

OUTPUT = RESULTS / "dense_limits.json"
M = 1024


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
        result["clouds"][name] = entry
        print(name, {k: v for k, v in entry.items() if k != "scales"})
        for row in entry["scales"]:
            print("  ", row)
    write(OUTPUT, result)
    print(f"results in {OUTPUT.name}")


if __name__ == "__main__":
    main()

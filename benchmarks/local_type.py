"""How well `Signatures.local_type` finds the forks of trees, and what it says elsewhere.

python -m benchmarks.local_type       # writes benchmarks/results/local_type.json

Precision: of the points called junction, the share within 2 sqrt(2t) of a fork. Recall: of the points within
sqrt(2t)/2 of a fork, the share called junction. Forks found: those with a point called junction within
sqrt(2t). The rule's two thresholds were chosen on seeds 0 to 5; these are seeds 100 to 119.
"""

from __future__ import annotations

import numpy as np

import heatfield as hf
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, write

OUTPUT = RESULTS / "local_type.json"
SEEDS = range(100, 120)
NOISES = (0.0, 0.01, 0.03)
LENGTHS = (0.05, 0.1, 0.2, 0.4)  # sqrt(2t); branches are 1 to 2 long


def fork_counts(noise: float, seed: int) -> np.ndarray:
    """(lengths, 6): called, called rightly, to be called, called of those, forks, forks found."""
    points, forks = hf.datasets.make_branching_tree(3000, noise=noise, random_state=seed)
    s = hf.signatures(points, [length**2 / 2 for length in LENGTHS])
    distance = np.sqrt(((points[:, None] - forks[None]) ** 2).sum(axis=2))
    nearest = distance.min(axis=1)
    rows = []
    for a, length in enumerate(LENGTHS):
        called = s.local_type(a) == "junction"
        wanted = nearest < length / 2
        found = (called[:, None] & (distance < length)).any(axis=0)
        right = called & (nearest < 2 * length)
        rows.append(
            [called.sum(), right.sum(), wanted.sum(), (called & wanted).sum(), len(forks), found.sum()]
        )
    return np.array(rows)


def main() -> None:
    result = {**machine(), "seeds": [SEEDS.start, SEEDS.stop], "points": 3000, "trees": [], "mixed_shape": []}
    for noise in NOISES:
        total = sum(fork_counts(noise, seed) for seed in SEEDS)
        for length, (called, right, wanted, met, forks, found) in zip(LENGTHS, total.tolist(), strict=True):
            row = {
                "noise": noise,
                "sqrt_2t": length,
                "precision": round(right / called, 3),
                "recall": round(met / wanted, 3),
                "forks_found": round(found / forks, 3),
            }
            result["trees"].append(row)
            print(row, flush=True)
    points, parts = hf.datasets.make_mixed_shape(4000)
    s = hf.signatures(points)
    for a in range(2, 6):
        types = s.local_type(a)
        shares = {}
        for part in hf.datasets.MIXED_SHAPE_PARTS:
            own = types[parts == part]
            shares[part] = {name: round(float((own == name).mean()), 3) for name in sorted(set(own.tolist()))}
        result["mixed_shape"].append(
            {"scale": a, "sqrt_2t": round(float(np.sqrt(2 * s.scales[a])), 3), "shares": shares}
        )
        print(a, shares)
    write(OUTPUT, result)


if __name__ == "__main__":
    main()

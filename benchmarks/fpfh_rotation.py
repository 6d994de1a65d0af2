"""How much a rotation changes FPFH, without and with oriented normals.

python -m benchmarks.fpfh_rotation       # writes benchmarks/results/fpfh_rotation.json

The change is that of the pooled row, in the Euclidean norm and relative to the row's own.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import special_ortho_group

from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, write
from heatfield_bench.baselines import FPFH

OUTPUT = RESULTS / "fpfh_rotation.json"
TURNS = 10


def clouds(m: int) -> dict[str, np.ndarray]:
    """A surface, a curve, a volume, and tight clusters far apart."""
    rng = np.random.default_rng(m)
    sphere = rng.normal(size=(m, 3))
    angle = np.sort(rng.uniform(0.0, 4 * np.pi, m))
    ball = rng.normal(size=(m, 3))
    centres = rng.normal(size=(m // 8, 3))
    return {
        "sphere": sphere / np.linalg.norm(sphere, axis=1, keepdims=True),
        "curve": np.c_[np.cos(angle), np.sin(angle), angle / 8],
        "ball": ball / np.linalg.norm(ball, axis=1, keepdims=True) * rng.random((m, 1)) ** (1 / 3),
        "clusters of eight": np.repeat(centres, 8, axis=0) + 0.01 * rng.normal(size=(len(centres) * 8, 3)),
    }


def changes(points: np.ndarray, orient: bool) -> list[float]:
    """Least and largest relative change over the rotations."""
    turned = [points @ special_ortho_group.rvs(3, random_state=k).T for k in range(TURNS)]
    own, *rows = FPFH(orient=orient).fit_transform([points, *turned])
    apart = [float(np.linalg.norm(row - own) / np.linalg.norm(own)) for row in rows]
    return [min(apart), max(apart)]


def main() -> None:
    rows = []
    for m in (240, 1000):
        for name, points in clouds(m).items():
            row = {"cloud": name, "points": len(points)}
            row |= {"plain": changes(points, False), "oriented": changes(points, True)}
            rows.append(row)
            print(row, flush=True)
    write(OUTPUT, {**machine(), "turns": TURNS, "rows": rows})


if __name__ == "__main__":
    main()

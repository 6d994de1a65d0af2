"""How far the Fourier path is off, in units of its eps times the largest sum.

    python -m benchmarks.grid_error      # writes benchmarks/results/grid_error.json, half a minute

Sums of uniform points, one heavy place, a tight cluster and a lattice in one to three dimensions, at coarse
and fine scales, beside plain sums. The fast path counts on these factors (docs/theory/fast.md).
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, write
from heatfield.core.fourier import FourierTask, ModeGrid, fourier_sums, log_accuracy_for
from heatfield.core.moments import FIRST, FOURTH, ROOT_SQUARE, ROOT_WEIGHT, SQUARE, WEIGHT

OUTPUT = RESULTS / "grid_error.json"
KINDS = ("uniform", "place", "cluster", "lattice")
EPS = {"coarse": tuple(10.0**-k for k in range(3, 10)), "fine": tuple(10.0**-k for k in range(10, 14))}


def make(kind: str, n: int, m: int = 400) -> np.ndarray:
    """Points (n, m) in the unit cube."""
    x = np.random.default_rng([n, len(kind)]).random((n, m))
    if kind == "place":
        x[:, : 3 * m // 4] = x[:, :1]
    elif kind == "cluster":
        x[:, : m // 2] = 0.5 + 0.01 * x[:, : m // 2]
    elif kind == "lattice":
        x = np.floor(6.0 * x) / 6.0
    return x


def factors(x: np.ndarray, t: float, eps: float) -> dict[str, float]:
    """Errors of the sums in their natural units, over eps times the largest sum of w."""
    n = len(x)
    r = x[:, None, :] - x[:, :, None]
    D2 = (r**2).sum(axis=0)
    w, g = np.exp(-D2 / (4.0 * t)), np.exp(-D2 / (8.0 * t))
    image = 8.0 * t * (math.log(1.0 / eps) + 4.0)
    grid = ModeGrid.over(x.min(1), x.max(1), x.min(1), x.max(1), t, log_accuracy_for(eps, True), image)
    task = FourierTask(
        targets=x, sources=x, weights=None, grid=grid, t=t, eps=eps,
        directions=True, fourth_moment=True, energy=True, same=True, n_threads=1,
    )  # fmt: skip
    sums, _ = fourier_sums(task)
    pairs = [(a, b) for a in range(n) for b in range(a, n)]
    second = np.array([(w * r[a] * r[b]).sum(axis=1) for a, b in pairs])
    unit = eps * w.sum(axis=1).max()
    return {
        "weight": np.abs(sums[:, WEIGHT] - w.sum(axis=1)).max() / unit,
        "first": np.abs(sums[:, FIRST : FIRST + n].T - (w * r).sum(axis=2)).max()
        / (unit * math.sqrt(2.0 * t)),
        "second": np.abs(sums[:, FIRST + n :].T - second).max() / (unit * 2.0 * t),
        "square": np.abs(sums[:, SQUARE] - (w * D2).sum(axis=1)).max() / (unit * 2.0 * t),
        "fourth": np.abs(sums[:, FOURTH] - (w * D2**2).sum(axis=1)).max() / (unit * 8.0 * t * t),
        "energy": abs(sums[0, ROOT_WEIGHT] / g.sum() - 1.0) / eps,
        "response": abs(sums[0, ROOT_SQUARE] - (g * D2).sum()) / (eps * g.sum() * 8.0 * t),
    }


def main() -> None:
    worst: dict[str, dict[str, float]] = {}
    for way, all_eps in EPS.items():
        for n in (1, 2, 3):
            for kind in KINDS:
                for t in (0.5, 0.05, 0.01):
                    for eps in all_eps:
                        for name, factor in factors(make(kind, n), t, eps).items():
                            mine = worst.setdefault(way, {})
                            mine[name] = max(mine.get(name, 0.0), float(factor))
    for way, found in worst.items():
        print(way, {name: round(factor, 3) for name, factor in found.items()})
    write(OUTPUT, {**machine(), "worst": worst}, indent=2)


if __name__ == "__main__":
    main()

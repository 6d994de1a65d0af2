"""`HeatFeatures` beside the compiled core and beside its own torch path: forward, and forward with backward.

    python -m benchmarks.heat_features       # writes benchmarks/results/heat_features.json

The core is `heatfield.signatures` of the same clouds in the same precision, one after the other, with as many
threads. All take turns in one process; the best of several rounds counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import torch

import heatfield as hf
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, write
from heatfield.nn import HeatFeatures

OUTPUT = RESULTS / "heat_features.json"
CASES = ((8, 1024, 3, "float64"), (8, 1024, 3, "float32"), (64, 128, 3, "float64"), (8, 1024, 2, "float64"))
ROUNDS = 4


def by_torch(call: Callable[[], object]) -> Callable[[], object]:
    """The same without compiled code."""

    def slow() -> None:
        with patch("heatfield.nn.heat.can_compute", lambda *_: False):
            call()

    return slow


def contenders(clouds: int, m: int, n: int, dtype: str, threads: int) -> dict[str, Callable[[], object]]:
    points = np.random.default_rng(0).normal(size=(clouds, m, n))
    given = torch.tensor(points, dtype=getattr(torch, dtype))
    module = HeatFeatures()
    weights = torch.randn(clouds, m, (3 + n) * 8, dtype=given.dtype)

    def core() -> None:
        for cloud in points:
            hf.signatures(cloud, dtype=dtype, n_jobs=threads).per_point()

    def forward() -> None:
        with torch.no_grad():
            module(given)

    def back() -> None:
        own = given.clone().requires_grad_()
        (module(own) * weights).sum().backward()

    return {
        "core": core,
        "forward": forward,
        "forward and backward": back,
        "torch, forward": by_torch(forward),
        "torch, forward and backward": by_torch(back),
    }


def main() -> None:
    result = {**machine(), "rounds": ROUNDS, "rows": {}}
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for case in CASES if threads == 1 else CASES[:1]:
            name = "{} clouds of {} points in {} dimensions, {}".format(*case) + f", threads: {threads}"
            best: dict[str, float] = {}
            shots = contenders(*case, threads)
            for turn in range(ROUNDS + 1):
                for way, shot in shots.items():
                    if way.startswith("torch") and turn != 1:
                        continue  # it compiles nothing and takes seconds: once is enough
                    start = time.perf_counter()
                    shot()
                    if turn:
                        best[way] = min(best.get(way, np.inf), time.perf_counter() - start)
            result["rows"][name] = {
                "milliseconds": {way: round(1e3 * seconds, 1) for way, seconds in best.items()},
                "over_core": {way: round(seconds / best["core"], 2) for way, seconds in best.items()},
            }
            print(name, result["rows"][name], flush=True)
    write(OUTPUT, result)


if __name__ == "__main__":
    main()
